;;; coverage.el --- The share of the Elisp that the tests run  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `dev/coverage' loads this before the tests.  Emacs's own testcover marks each form of the
;; package, and notes which forms were evaluated.

;;; Code:

(require 'testcover)
(require 'cl-lib)

(defun coverage-begin ()
  "Load the whole package, with each form marked."
  (let ((edebug-inhibit-emacs-lisp-mode-bindings t)
        (inhibit-message t))
    (dolist (file (directory-files (expand-file-name "elisp") t "\\`backstaff.*\\.el\\'"))
      (require (intern (file-name-base file))))
    (dolist (file (directory-files (expand-file-name "elisp") t "\\`backstaff.*\\.el\\'"))
      (unless (string-suffix-p "-loaddefs.el" file)
        (testcover-start file)))))

(defun coverage-end ()
  "Print the share of forms that were evaluated."
  (let ((all 0) (evaluated 0))
    (mapatoms
     (lambda (symbol)
       (when (string-prefix-p "backstaff" (symbol-name symbol))
         (cl-loop for form across (or (get symbol 'edebug-coverage) [])
                  do (cl-incf all)
                  unless (memq form '(edebug-unknown unknown)) do (cl-incf evaluated)))))
    (message "coverage: %d of %d forms of Elisp were evaluated, %.0f %%"
             evaluated all (/ (* 100.0 evaluated) (max all 1)))))

(add-hook 'kill-emacs-hook #'coverage-end)
(coverage-begin)

(provide 'coverage)
;;; coverage.el ends here
