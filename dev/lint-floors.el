;;; lint-floors.el --- Hold the floors of the Elisp  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make lint' runs this.  The files of the package stand on floors, and a file
;; sees only its own floor and those below.  What is a finding:
;;
;; - a private name, `other--name', of another file;
;; - an import of a file on a higher floor;
;; - a circle of imports;
;; - a public name that nothing uses and no document mentions.
;;
;; An import is a `require' or a `declare-function', wherever it stands, and a
;; use of another file's function or variable.  What backstaff.el autoloads may
;; be named anywhere without an import, as in a keymap, a menu or a hook; only a
;; call is one.
;;
;;   emacs -Q --batch -l dev/lint-floors.el -f lint-floors-batch [REPOSITORY]

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defconst lint-floors
  '(("core" "backstaff" "backstaff-epc" "backstaff-message" "backstaff-names"
     "backstaff-python" "backstaff-server")
    ("agents" "backstaff-agent" "backstaff-agent-q" "backstaff-buffer-state"
     "backstaff-gptel" "backstaff-llm")
    ("ui" "backstaff-arguments" "backstaff-commands" "backstaff-doctor"
     "backstaff-find" "backstaff-info" "backstaff-inspector" "backstaff-install"
     "backstaff-list" "backstaff-menu" "backstaff-overview" "backstaff-request"
     "backstaff-search" "backstaff-table" "backstaff-tree" "backstaff-view")
    ("remote" "backstaff-remote" "backstaff-remote-start"))
  "The floors, the lowest first, each with its files.")

(defvar lint-floors-exempt
  '("backstaff" "backstaff-agent" "backstaff-agent-q" "backstaff-doctor"
    "backstaff-epc" "backstaff-install" "backstaff-remote"
    "backstaff-remote-start" "backstaff-server")
  "Files whose findings do not count yet.")

(cl-defstruct (lint-floors--file (:constructor lint-floors--make-file) (:copier nil))
  "A file called NAME, without its suffix.
USES has the symbols in it, each with t if it is called.  PUBLIC are the names
that need a use, IMPORTS the files that it requires or declares functions of.
ENTRIES are the functions that it autoloads, or has as values of options.
STRUCTS are prefixes of the names of its structures' accessors."
  name (uses (make-hash-table)) public imports entries structs)

(defvar lint-floors--owners nil
  "A hash table of the names that files define, with the file of each.")


;;; Reading

(defun lint-floors--define (file symbol &optional public)
  "Note that FILE defines SYMBOL, which needs a use if it is PUBLIC."
  (unless (gethash symbol lint-floors--owners)
    (puthash symbol file lint-floors--owners)
    (when (and public (not (string-match-p "--" (symbol-name symbol))))
      (push symbol (lint-floors--file-public file)))))

(defun lint-floors--definition (file form)
  "Note the names that FORM, at the top level of FILE, defines."
  (pcase form
    (`(,(or 'defun 'cl-defun 'defmacro 'cl-defmacro 'defsubst) ,name ,_ . ,body)
     (lint-floors--define file name (not (assq 'interactive body))))
    (`(,(or 'defvar 'defvar-local 'defconst) ,name ,_ . ,_)
     (lint-floors--define file name (not (string-match-p "-map\\'" (symbol-name name)))))
    (`(defalias ',name . ,_)
     (lint-floors--define file name t))
    (`(defcustom ,name ,value . ,_)
     (lint-floors--define file name)
     (when (eq (car-safe value) 'function)
       (push (cadr value) (lint-floors--file-entries file))))
    (`(,(or 'define-derived-mode 'define-minor-mode 'defclass 'cl-defgeneric
            'transient-define-prefix 'transient-define-suffix 'transient-define-infix)
       ,name . ,_)
     (lint-floors--define file name))
    (`(cl-defstruct ,head . ,_)
     (let* ((name (if (consp head) (car head) head))
            (options (and (consp head) (cdr head)))
            (constructor (cadr (assq :constructor options))))
       (lint-floors--define file name)
       (when constructor
         (lint-floors--define file constructor))
       (push (symbol-name (or (cadr (assq :conc-name options))
                              (intern (format "%s-" name))))
             (lint-floors--file-structs file))))))

(defun lint-floors--walk (file form)
  "Note the names that FORM of FILE uses, and the files that it imports."
  (pcase form
    (`(require ',library . ,_)
     (push (symbol-name library) (lint-floors--file-imports file)))
    (`(declare-function ,_ ,library . ,_)
     (push library (lint-floors--file-imports file)))
    (`(autoload ',name . ,_)
     (push name (lint-floors--file-entries file)))
    (`(defvar ,_))
    (`(quote ,data)
     (lint-floors--name file data))
    (`(,(and function (pred symbolp)) . ,_)
     (puthash function 'called (lint-floors--file-uses file))
     (lint-floors--walk-all file (cdr form)))
    ((pred consp)
     (lint-floors--walk-all file form))
    (_ (lint-floors--name file form))))

(defun lint-floors--walk-all (file forms)
  "Note what FORMS, a list that may end in a dot, of FILE use."
  (while (consp forms)
    (lint-floors--walk file (pop forms)))
  (when forms
    (lint-floors--walk file forms)))

(defun lint-floors--name (file data)
  "Note the symbols in DATA, which FILE names and does not call."
  (cond ((consp data)
         (lint-floors--name file (car data))
         (lint-floors--name file (cdr data)))
        ((vectorp data)
         (mapc (apply-partially #'lint-floors--name file) data))
        ((and data (symbolp data)
              (not (gethash data (lint-floors--file-uses file))))
         (puthash data 'named (lint-floors--file-uses file)))))

(defun lint-floors--read (path)
  "Return the file at PATH."
  (let ((file (lint-floors--make-file :name (file-name-base path))))
    (with-temp-buffer
      (insert-file-contents path)
      (condition-case nil
          (while t
            (let ((form (read (current-buffer))))
              (lint-floors--definition file form)
              (lint-floors--walk file form)))
        (end-of-file file)))))


;;; Judging

(defun lint-floors--private-uses (file files)
  "Return what FILE uses of the private names of other FILES, as texts."
  (let ((found nil))
    (maphash
     (lambda (symbol _)
       (let ((name (symbol-name symbol)))
         (when (string-match-p "\\`backstaff[^:]*--" name)
           (let ((owner (or (gethash symbol lint-floors--owners)
                            (cl-find-if (lambda (other)
                                          (cl-some (lambda (prefix) (string-prefix-p prefix name))
                                                   (lint-floors--file-structs other)))
                                        files))))
             (when (and owner (not (eq owner file)))
               (push (format "uses the private %s of %s" name (lint-floors--file-name owner))
                     found))))))
     (lint-floors--file-uses file))
    (sort found #'string<)))

(defun lint-floors--imports (file files)
  "Return the names of the FILES that FILE imports, without double ones."
  (let ((names (lint-floors--file-imports file))
        (entries (cl-mapcan (lambda (other)
                                (copy-sequence (lint-floors--file-entries other)))
                              files)))
    (maphash
     (lambda (symbol how)
       (let ((owner (gethash symbol lint-floors--owners)))
         (when (and owner
                    (or (eq how 'called) (not (memq symbol entries))))
           (push (lint-floors--file-name owner) names))))
     (lint-floors--file-uses file))
    (sort (cl-intersection (remove (lint-floors--file-name file)
                                   (delete-dups (copy-sequence names)))
                           (mapcar #'lint-floors--file-name files)
                           :test #'equal)
          #'string<)))

(defun lint-floors--level (name)
  "Return the number of the floor of the file NAME, or nil."
  (cl-position-if (lambda (floor) (member name (cdr floor))) lint-floors))

(defun lint-floors--circle (name graph)
  "Return the way that leads from the file NAME back to it in GRAPH, or nil.
GRAPH is an alist of files and those that they import."
  (let ((ways (list (list name)))
        (seen nil)
        (found nil))
    (while (and ways (not found))
      (let ((way (pop ways)))
        (dolist (next (cdr (assoc (car way) graph)))
          (cond ((equal next name) (setq found (reverse (cons next way))))
                ((not (member next seen))
                 (push next seen)
                 (setq ways (append ways (list (cons next way)))))))))
    found))

(defun lint-floors--unused (file files documents)
  "Return the public names of FILE that no other of FILES uses, as texts.
DOCUMENTS is the text of the documents, which may mention them."
  (cl-loop for symbol in (reverse (lint-floors--file-public file))
           unless (or (cl-some (lambda (other)
                                 (or (memq symbol (lint-floors--file-entries other))
                                     (and (not (eq other file))
                                          (gethash symbol (lint-floors--file-uses other)))))
                               files)
                      (string-match-p (format "\\_<%s\\_>" (regexp-quote (symbol-name symbol)))
                                      documents))
           collect (format "has the public %s, which no other file uses and no document mentions"
                           symbol)))

(defun lint-floors--findings (file files graph documents)
  "Return the findings in FILE, one of FILES, as texts.
GRAPH and DOCUMENTS are as in the functions that look for them."
  (let* ((name (lint-floors--file-name file))
         (level (lint-floors--level name))
         (circle (lint-floors--circle name graph)))
    (append
     (unless level
       (list "stands on no floor: give it one in dev/lint-floors.el"))
     (lint-floors--private-uses file files)
     (cl-loop for import in (cdr (assoc name graph))
              when (and level (lint-floors--level import)
                        (> (lint-floors--level import) level))
              collect (format "imports %s, which is on a higher floor" import))
     (and circle
          (list (concat "imports itself: " (string-join circle " -> "))))
     (lint-floors--unused file files documents))))

(defun lint-floors-batch ()
  "Print the findings in this repository or the one on the command line, and exit."
  (let* ((root (file-name-as-directory
                (or (pop command-line-args-left)
                    (expand-file-name ".." (file-name-directory (locate-library "lint-floors"))))))
         (lint-floors--owners (make-hash-table))
         (files (mapcar #'lint-floors--read
                        (directory-files (expand-file-name "elisp" root) t "\\.el\\'")))
         (graph (mapcar (lambda (file)
                          (cons (lint-floors--file-name file)
                                (lint-floors--imports file files)))
                        files))
         (documents (with-temp-buffer
                      (insert-file-contents (expand-file-name "README.md" root))
                      (dolist (file (directory-files (expand-file-name "docs" root) t "\\.md\\'"))
                        (insert-file-contents file))
                      (with-syntax-table emacs-lisp-mode-syntax-table
                        (buffer-string))))
         (count 0))
    (dolist (file files)
      (unless (member (lint-floors--file-name file) lint-floors-exempt)
        (dolist (finding (with-syntax-table emacs-lisp-mode-syntax-table
                           (lint-floors--findings file files graph documents)))
          (cl-incf count)
          (message "elisp/%s.el %s" (lint-floors--file-name file) finding))))
    (when lint-floors-exempt
      (message "floors: not looked at: %s" (string-join lint-floors-exempt " ")))
    (message "floors: %s" (if (zerop count) "nothing found in the others"
                            (format "%d findings" count)))
    (kill-emacs (if (zerop count) 0 1))))

(provide 'lint-floors)
;;; lint-floors.el ends here
