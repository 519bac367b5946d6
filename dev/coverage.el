;;; coverage.el --- The share of the Elisp that the tests run  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `dev/coverage' loads this before the tests.  Edebug finds the forms of the package, and each
;; gets a number.  Below testcover some functions break: it takes a lambda for a part of its caller.

;;; Code:

(require 'edebug)

(defvar coverage-missing (make-hash-table)
  "The numbers of the forms that were not evaluated.")

(defvar coverage-all 0
  "The number of forms.")

(defun coverage-number (form)
  "Return FORM, which Edebug has instrumented, with a number for each form in it."
  (pcase form
    (`(edebug-enter ,_ ,_ ,body) `(funcall ,(coverage-number body)))
    (`(edebug-after ,_ ,_ ,part)
     (puthash (setq coverage-all (1+ coverage-all)) t coverage-missing)
     `(progn (remhash ,coverage-all coverage-missing) ,(coverage-number part)))
    (`(,first . ,rest) (cons (coverage-number first) (coverage-number rest)))
    (_ form)))

(defun coverage-begin ()
  "Load the whole package, with each form numbered."
  (dolist (file (directory-files (expand-file-name "elisp") t "\\`backstaff.*\\.el\\'"))
    (unless (string-suffix-p "-loaddefs.el" file)
      (with-current-buffer (find-file-noselect file)
        (let ((edebug-all-defs t) (edebug-new-definition-function #'ignore)
              (max-lisp-eval-depth 10000) (inhibit-message t) (load-file-name file))
          (while (progn (forward-comment (point-max)) (not (eobp)))
            (eval (coverage-number (edebug-read-and-maybe-wrap-form)) t)))
        (kill-buffer)))))

(defun coverage-end ()
  "Print the share of forms that were evaluated."
  (let ((evaluated (- coverage-all (hash-table-count coverage-missing))))
    (message "coverage: %d of %d forms of Elisp were evaluated, %d %%"
             evaluated coverage-all (/ (* 100 evaluated) coverage-all))))

(add-hook 'kill-emacs-hook #'coverage-end)
(coverage-begin)

(provide 'coverage)
;;; coverage.el ends here
