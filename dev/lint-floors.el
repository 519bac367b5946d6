;;; lint-floors.el --- Check the layers of the Elisp  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make lint' runs this.  Each file of the package belongs to a floor, which its name
;; begins with.  A file may import its own floor and lower ones.  There are three kinds
;; of findings:
;;
;; private   A file uses a private name of another, such as
;;           `backstaff-epc--process' outside of backstaff-epc.el.
;; upward    A file imports one on a higher floor, by `require', by
;;           `declare-function', or by a `defvar' without a value.
;; unused    No other file uses a public name, and no document mentions it.

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

(defconst lint-floors--definition
  "^(\\(?1:\\(?:cl-\\)?def[a-z-]+\\) '?(?\\(?2:backstaff[^][ \n()\"';]*\\)\\(?3:)\\)?"
  "Matches a definition: the macro, the name, and `)' if there is no value.")

(defun lint-floors--level (name)
  "Return the number of the floor that the file NAME stands on."
  (or (cl-position-if (lambda (floor)
                        (cl-some (lambda (prefix) (string-prefix-p (concat prefix "-")
                                                                   (concat name "-")))
                                 (ensure-list floor)))
                      lint-floors :start 1)
      0))

(defun lint-floors--matches (regexp)
  "Return the groups of all matches of REGEXP in the code of this buffer, as lists."
  (goto-char (point-min))
  (cl-loop while (re-search-forward regexp nil t)
           unless (save-excursion (save-match-data (nth 8 (syntax-ppss (match-beginning 0)))))
           collect (mapcar #'match-string '(0 1 2 3))))

(defun lint-floors--read (path)
  "Return (NAME DEFINED BORROWED IMPORTS SYMBOLS PUBLIC) of the file at PATH.
DEFINED and BORROWED are variables and functions, with a value and without;
PUBLIC are those of DEFINED that a use must follow."
  (with-temp-buffer
    (insert-file-contents path)
    (emacs-lisp-mode)
    (let* ((definitions (lint-floors--matches lint-floors--definition))
           (borrowed (cl-remove-if-not #'cl-fourth definitions))
           (defined (cl-remove-if #'cl-fourth definitions)))
      (list (file-name-base path) (mapcar #'cl-third defined) (mapcar #'cl-third borrowed)
            (append (mapcar #'cl-second (lint-floors--matches "(require '\\(backstaff[-a-z]*\\)"))
                    (mapcar #'cl-second
                            (lint-floors--matches
                             "(declare-function [^ ]+ \"\\(backstaff[-a-z]*\\)\"")))
            (delete-dups (mapcar #'car (lint-floors--matches "\\_<backstaff[^][ \n()\"';,`]*")))
            (cl-loop for (_ macro name) in defined
                     unless (or (string-search "--" name)
                                (string-suffix-p "-map" name)
                                (not (string-match-p "\\(?:un\\|var\\|macro\\|const\\|local\\)\\'"
                                                     macro))
                                (lint-floors--command-p name))
                     collect name)))))

(defun lint-floors--command-p (name)
  "Return non-nil if this buffer defines NAME as a command."
  (goto-char (point-min))
  (when (re-search-forward (format "^(\\(?:cl-\\)?defun %s " (regexp-quote name)) nil t)
    (search-forward "\n  (interactive" (save-excursion (end-of-defun) (point)) t)))

(defun lint-floors--own-p (file symbol)
  "Return non-nil if SYMBOL, a private name, is one of FILE.
FILE is a list of `lint-floors--read'."
  (let ((prefix (substring symbol 0 (string-search "--" symbol))))
    (or (member symbol (nth 1 file))
        (equal prefix (car file))
        (equal prefix (string-replace "backstaff-ui-" "backstaff-" (car file))))))

(defun lint-floors-findings (root)
  "Return the findings in the package of the repository ROOT.
Each is a list of a kind, the name of a file and a text."
  (let* ((elisp (expand-file-name "elisp/" root))
         (files (mapcar #'lint-floors--read
                        (directory-files elisp t "\\`backstaff.*\\.el\\'")))
         (documents (with-temp-buffer
                      (dolist (glob '("*.md" "docs/*.md" "docs/*.org"))
                        (mapc #'insert-file-contents
                              (file-expand-wildcards (expand-file-name glob root))))
                      (buffer-string))))
    (append
     (cl-loop for file in files
              append (cl-loop for symbol in (sort (copy-sequence (nth 4 file)) #'string<)
                              when (and (string-search "--" symbol)
                                        (not (lint-floors--own-p file symbol)))
                              collect (list 'private (car file) symbol)))
     (cl-loop for file in files
              for owners = (cl-loop for name in (nth 2 file)
                                    for owner = (cl-find-if (lambda (other)
                                                              (member name (nth 1 other)))
                                                            files)
                                    when owner collect (car owner))
              append (cl-loop for import in (delete-dups (append owners (nth 3 file)))
                              when (> (lint-floors--level import) (lint-floors--level (car file)))
                              collect (list 'upward (car file) import)))
     (cl-loop for file in files
              append (cl-loop for name in (nth 5 file)
                              unless (or (string-match-p
                                          (format "\\(?:^\\|[^-a-z]\\)%s\\(?:[^-a-z]\\|$\\)"
                                                  (regexp-quote name))
                                          documents)
                                         (cl-some (lambda (other)
                                                    (and (not (eq other file))
                                                         (member name (nth 4 other))))
                                                  files))
                              collect (list 'unused (car file) name))))))

(defun lint-floors-batch ()
  "Print the findings in this repository and leave Emacs.
Its exit status says whether there are any."
  (let ((findings (lint-floors-findings lint-floors--repository)))
    (pcase-dolist (`(,kind ,file ,text) findings)
      (message "floors: elisp/%s.el: %s %s" file kind text))
    (kill-emacs (if findings 1 0))))

(provide 'lint-floors)
;;; lint-floors.el ends here
