;;; backstaff-floors-tests.el --- The check of the layers finds each fault  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)

(declare-function lint-floors-findings "ext:lint-floors" (root))
(defvar lint-floors)
(load (expand-file-name "dev/lint-floors.el" backstaff-test-repository) nil t)

(defun backstaff-floors-tests-findings (low high &optional document)
  "Return the findings in a repository of two files, LOW below HIGH.
Each is a list of forms.  DOCUMENT is the text of the manual."
  (let ((lint-floors '("backstaff-low" "backstaff-high")))
    (cl-flet ((text (forms) (mapconcat #'prin1-to-string forms "\n")))
      (backstaff-test-with-tree
          `(("elisp" . (("backstaff-low.el" . ,(text low))
                        ("backstaff-high.el" . ,(text high))))
            ("docs" . (("keys.md" . ,(or document "")))))
        (lint-floors-findings root)))))

(ert-deftest backstaff-floors-clean-files-have-no-findings ()
  (should-not (backstaff-floors-tests-findings
               '((defun backstaff-low-show (text) (backstaff-low--draw text))
                 (defun backstaff-low--draw (text) (insert text))
                 (autoload 'backstaff-high-run "backstaff-high" nil t)
                 (defvar backstaff-low-map
                   (let ((map (make-sparse-keymap)))
                     (define-key map "r" #'backstaff-high-run)
                     map))
                 (defcustom backstaff-low-function #'backstaff-low-default "Doc"))
               '((require 'backstaff-low)
                 (defun backstaff-low--helper ())
                 (defun backstaff-low-default ())
                 (defun backstaff-high-run ()
                   (interactive)
                   (backstaff-low--helper)
                   (backstaff-low-show (list "text" backstaff-high-documented)))
                 (defvar backstaff-high-documented 1))
               "Set `backstaff-high-documented' as you like.")))

(ert-deftest backstaff-floors-private-name-of-another-file-is-found ()
  (should (equal (backstaff-floors-tests-findings
                  '((cl-defstruct backstaff-low--thing (name nil)))
                  '((require 'backstaff-low)
                    (mapcar #'backstaff-low--thing-name backstaff-high--things)
                    (let ((backstaff-low--level 1)) (run-hooks 'backstaff-high--hook))))
                 '((private "backstaff-high" "backstaff-low--level")
                   (private "backstaff-high" "backstaff-low--thing-name")))))

(ert-deftest backstaff-floors-import-of-a-higher-floor-is-found ()
  (dolist (import '((require 'backstaff-high)
                    (defun backstaff-low--late () (require 'backstaff-high nil t))
                    (declare-function backstaff-high-run "backstaff-high" ())
                    (defvar backstaff-high-option)))
    (should (equal (backstaff-floors-tests-findings
                    (list import)
                    '((defcustom backstaff-high-option nil "Doc")))
                   '((upward "backstaff-low" "backstaff-high"))))))

(ert-deftest backstaff-floors-public-name-without-use-is-found ()
  (let ((forms '((defun backstaff-low-show () (backstaff-low-show))
                 (defvar backstaff-low-shown nil))))
    (should (equal (backstaff-floors-tests-findings forms nil "backstaff-low-show-all")
                   '((unused "backstaff-low" "backstaff-low-show")
                     (unused "backstaff-low" "backstaff-low-shown"))))
    (should (equal (backstaff-floors-tests-findings
                    forms '((setq backstaff-low-shown t)) "Call `backstaff-low-show'.")
                   nil))))

(ert-deftest backstaff-floors-name-tells-the-floor ()
  (let ((lint-floors '("backstaff" "backstaff-high")))
    (backstaff-test-with-tree
        '(("elisp" . (("backstaff.el" . "(require 'backstaff-high-view)")
                      ("backstaff-higher.el" . "(require 'backstaff-high)")
                      ("backstaff-high.el" . "(require 'backstaff-high-view)")
                      ("backstaff-high-view.el" . "(require 'backstaff-low)")
                      ("backstaff-low.el" . ""))))
      (should (equal (lint-floors-findings root)
                     '((upward "backstaff-higher" "backstaff-high")
                       (upward "backstaff" "backstaff-high-view")))))))

(provide 'backstaff-floors-tests)
;;; backstaff-floors-tests.el ends here
