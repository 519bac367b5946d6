;;; coverage.el --- The share of the Elisp that the tests run  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `dev/coverage' loads this before the tests.  Emacs's own testcover marks each form of the
;; package, and notes which forms were evaluated.

;;; Code:

(require 'testcover)
(require 'cl-lib)

(defvar coverage-forms 0
  "The number of forms that can be evaluated, which leaves out constants.")

(defun coverage-unknown ()
  "Return the number of forms that were not evaluated."
  (let ((count 0))
    (mapatoms
     (lambda (symbol)
       (when (string-prefix-p "backstaff" (symbol-name symbol))
         (cl-incf count (cl-count-if (lambda (form) (memq form '(edebug-unknown unknown)))
                                     (or (get symbol 'edebug-coverage) []))))))
    count))

(defun coverage-begin ()
  "Load the whole package, with each form marked."
  (let ((edebug-inhibit-emacs-lisp-mode-bindings t)
        (inhibit-message t))
    (dolist (file (directory-files (expand-file-name "elisp") t "\\`backstaff.*\\.el\\'"))
      (unless (string-suffix-p "-loaddefs.el" file)
        (testcover-start file))))
  (setq coverage-forms (coverage-unknown)))

(defun coverage-end ()
  "Print the share of forms that were evaluated."
  (let ((evaluated (- coverage-forms (coverage-unknown))))
    (message "coverage: %d of %d forms of Elisp were evaluated, %d %%"
             evaluated coverage-forms (/ (* 100 evaluated) coverage-forms))))

(add-hook 'kill-emacs-hook #'coverage-end)
(coverage-begin)

(provide 'coverage)
;;; coverage.el ends here
