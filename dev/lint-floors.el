;;; lint-floors.el --- Check the layers of the Elisp  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make lint' runs this.  Each file of the package belongs to a floor, which its name
;; begins with.  A file may import its own floor and lower ones.  There are four kinds
;; of findings:
;;
;; private   A file uses a private name of another, such as
;;           `backstaff-epc--process' outside of backstaff-epc.el.
;; upward    A file imports one on a higher floor.
;; cycle     Files import each other in a circle.
;; unused    No other file uses a public name, and no document mentions it.
;;
;; These forms import a file, at any place: `require',
;; `declare-function', and a `defvar' without a value for its variable.  An
;; `autoload' does not.  The byte compiler warns of any other use of a function
;; or variable that the file does not define.
;;
;;   emacs -Q --batch -l dev/lint-floors.el -f lint-floors-batch [REPOSITORY]

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defvar lint-floors '("backstaff" "backstaff-emacs"
                      ("backstaff-agent" "backstaff-gptel" "backstaff-llm" "backstaff-mcp"
                       "backstaff-listen")
                      "backstaff-ui" "backstaff-remote")
  "The floors, the lowest first, each by one or more beginnings of file names.
For example, backstaff-ui-tree.el is on the floor \"backstaff-ui\".  A file
whose name begins like no other floor is on the first one.")

(defconst lint-floors--repository
  (expand-file-name "../" (file-name-directory (or load-file-name buffer-file-name)))
  "The repository that this file is in.")

(cl-defstruct (lint-floors--file (:constructor lint-floors--make-file) (:copier nil))
  "A file called NAME, without its suffix.
SYMBOLS are all symbols in it.  DEFINED are the names it defines, and PUBLIC
those of them that need a use.  DEFAULTS are the functions that its options
have by default.  IMPORTS are the names of files, and BORROWED the variables
that it declares without a value."
  name (symbols (make-hash-table)) defined public defaults imports borrowed)


;;; Reading

(defun lint-floors--read (path)
  "Return the file at PATH."
  (let ((file (lint-floors--make-file :name (file-name-base path))))
    (with-temp-buffer
      (insert-file-contents path)
      (condition-case nil
          (while t
            (let ((form (read (current-buffer))))
              (lint-floors--note-definition file form)
              (lint-floors--note-uses file form)))
        (end-of-file file)))))

(defun lint-floors--note-definition (file form)
  "Note the name that FORM, at the top level of FILE, defines, if any.
Users call commands and modes, set options and bind keymaps, so their names
need no other use."
  (pcase form
    (`(,(and definer (guard (string-match-p "\\`\\(cl-\\)?def" (symbol-name definer))))
       ,(or (and (pred symbolp) name) `',name `(,name . ,_)) ,value . ,body)
     (push name (lint-floors--file-defined file))
     (when (pcase definer
             ((or 'defun 'cl-defun 'defmacro 'cl-defmacro 'defsubst)
              (not (assq 'interactive body)))
             ('defalias t)
             ((or 'defvar 'defvar-local 'defconst)
              (not (string-suffix-p "-map" (symbol-name name))))
             ;; The default of an option is a function for users.
             ('defcustom (when (eq (car-safe value) 'function)
                           (push (cadr value) (lint-floors--file-defaults file)))
                         nil))
       (push name (lint-floors--file-public file))))))

(defun lint-floors--note-uses (file form)
  "Note the symbols in FORM, a part of FILE, and the files that it imports."
  (pcase form
    (`(require ',library . ,_)
     (push (symbol-name library) (lint-floors--file-imports file)))
    (`(declare-function ,_ ,library . ,_)
     (push library (lint-floors--file-imports file)))
    (`(defvar ,variable)
     (push variable (lint-floors--file-borrowed file))))
  (while (consp form)
    (lint-floors--note-uses file (pop form)))
  (cond ((vectorp form)
         (mapc (apply-partially #'lint-floors--note-uses file) form))
        ((symbolp form)
         (puthash form t (lint-floors--file-symbols file)))))


;;; Judging

(defun lint-floors--graph (files)
  "Return an alist of the names of FILES and of the other FILES each imports."
  (let ((names (mapcar #'lint-floors--file-name files)))
    (mapcar
     (lambda (file)
       (let ((owners (cl-loop for variable in (lint-floors--file-borrowed file)
                              for owner = (cl-find-if
                                           (lambda (other)
                                             (memq variable (lint-floors--file-defined other)))
                                           files)
                              when owner collect (lint-floors--file-name owner))))
         (cons (lint-floors--file-name file)
               (cl-loop for name in (sort (delete-dups
                                           (append owners (lint-floors--file-imports file)))
                                          #'string<)
                        when (and (member name names)
                                  (not (equal name (lint-floors--file-name file))))
                        collect name))))
     files)))

(defun lint-floors--names-p (file prefix)
  "Return non-nil if PREFIX begins the private names of FILE.
It is the file's name, with or without its floor: \"backstaff-ui-tree\" and
\"backstaff-tree\" begin those of backstaff-ui-tree.el."
  (let ((name (lint-floors--file-name file)))
    (or (equal prefix name)
        (equal prefix (string-replace "backstaff-ui-" "backstaff-" name)))))

(defun lint-floors--private-uses (file)
  "Return findings for the private names of other files that FILE uses."
  (cl-loop for symbol in (sort (hash-table-keys (lint-floors--file-symbols file)) #'string<)
           for name = (symbol-name symbol)
           when (and (string-match "\\`\\(backstaff[^:]*?\\)--" name)
                     (not (lint-floors--names-p file (match-string 1 name)))
                     (not (memq symbol (lint-floors--file-defined file))))
           collect (list 'private (lint-floors--file-name file) name)))

(defun lint-floors--level (name)
  "Return the number of the floor that the file NAME stands on."
  (or (cl-position-if (lambda (floor)
                        (cl-some (lambda (prefix) (string-prefix-p (concat prefix "-")
                                                                   (concat name "-")))
                                 (ensure-list floor)))
                      lint-floors :start 1)
      0))

(defun lint-floors--upward-imports (graph)
  "Return findings for the imports in GRAPH that go up."
  (cl-loop for (name . imports) in graph
           append (cl-loop for import in imports
                           when (> (lint-floors--level import) (lint-floors--level name))
                           collect (list 'upward name import))))

(defun lint-floors--cycle (name graph)
  "Return the shortest path from the file NAME back to it in GRAPH, or nil."
  (let ((paths (list (list name)))
        (seen nil)
        (cycle nil))
    (while (and paths (not cycle))
      (let ((path (pop paths)))
        (dolist (next (cdr (assoc (car path) graph)))
          (cond ((equal next name)
                 (setq cycle (reverse (cons next path))))
                ((not (member next seen))
                 (push next seen)
                 (setq paths (append paths (list (cons next path)))))))))
    cycle))

(defun lint-floors--cycles (graph)
  "Return findings for the cycles in GRAPH, each once."
  (cl-loop for (name) in graph
           for cycle = (lint-floors--cycle name graph)
           for members = (sort (delete-dups (copy-sequence cycle)) #'string<)
           when (and cycle (not (member members known)))
           collect members into known
           and collect (list 'cycle name (string-join cycle " -> "))))

(defun lint-floors--unused (file files documents)
  "Return findings for the public names of FILE that nobody uses.
FILES are all files, and DOCUMENTS is the text of the documents."
  (with-syntax-table emacs-lisp-mode-syntax-table
    (cl-loop for symbol in (reverse (lint-floors--file-public file))
             for name = (symbol-name symbol)
             unless (or (string-search "--" name)
                        (memq symbol (lint-floors--file-defaults file))
                        (cl-some (lambda (other)
                                   (and (not (eq other file))
                                        (gethash symbol (lint-floors--file-symbols other))))
                                 files)
                        (string-match-p (format "\\_<%s\\_>" (regexp-quote name)) documents))
             collect (list 'unused (lint-floors--file-name file) name))))

(defun lint-floors--documents (root)
  "Return the text of the documents in the repository ROOT."
  (with-temp-buffer
    (dolist (file (append (file-expand-wildcards (expand-file-name "*.md" root))
                          (file-expand-wildcards (expand-file-name "docs/*.md" root))
                          (file-expand-wildcards (expand-file-name "docs/*.org" root))))
      (insert-file-contents file))
    (buffer-string)))

(defun lint-floors-findings (root)
  "Return the findings in the repository ROOT.
Each is a list (KIND FILE WHAT), such as
  (private \"backstaff-doctor\" \"backstaff-server--facts\")."
  (let* ((files (mapcar #'lint-floors--read
                        (directory-files (expand-file-name "elisp" root) t "\\`[^.].*\\.el\\'")))
         (graph (lint-floors--graph files))
         (documents (lint-floors--documents root)))
    (append (cl-mapcan #'lint-floors--private-uses files)
            (lint-floors--upward-imports graph)
            (lint-floors--cycles graph)
            (cl-loop for file in files
                     append (lint-floors--unused file files documents)))))

(defun lint-floors-batch ()
  "Print the findings in the repository on the command line (default: this one).
The exit code is 1 if there is any."
  (let ((findings (lint-floors-findings
                   (file-name-as-directory
                    (expand-file-name (or (pop command-line-args-left)
                                          lint-floors--repository))))))
    (pcase-dolist (`(,kind ,file ,what) findings)
      (message "elisp/%s.el: %s" file
               (format (pcase kind
                         ('private "uses %s, a private name of another file")
                         ('upward "imports %s, which is on a higher floor")
                         ('cycle "imports itself: %s")
                         ('unused "no other file uses the public %s and no document mentions it"))
                       what)))
    (message "floors: %s"
             (if findings
                 (mapconcat (lambda (kind)
                              (format "%d %s" (cl-count kind findings :key #'car) kind))
                            '(private upward cycle unused) ", ")
               "nothing found"))
    (kill-emacs (if findings 1 0))))

(provide 'lint-floors)
;;; lint-floors.el ends here
