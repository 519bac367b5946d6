;;; backstaff-promises-tests.el --- Promises that every view keeps  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A table of views, and the promises that each of them keeps.

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-changes)
(require 'backstaff-ui-inspector)
(require 'backstaff-ui-overview)
(require 'backstaff-ui-search)
(require 'backstaff-ui-tree)

(defconst backstaff-promises-tests-tree
  '(("src" ("deep" ("er" ("d.c" . ""))) ("a.c" . "a") ("b.c" . "b")) (".hidden" . "")
    (".claude" ("commands" ("go.md" . "Go"))) ("README" . "read me"))
  "A project.")

;; `:open' shows the view.  `:file' is a file that it shows at first.
(defconst backstaff-promises-tests-views
  `((:open ,#'backstaff-tree :file "README")
    (:open ,#'backstaff-overview :file "README")
    (:open ,#'backstaff-file-info)
    (:open ,(lambda (_) (backstaff-list-commands)))
    (:open ,(lambda (_) (backstaff-search "read")))
    (:open ,(lambda (_) (backstaff-changes)))
    (:open ,(lambda (_) (backstaff-run-tool "workspace/tree" '(:path ".")))))
  "The views.")

(defmacro backstaff-promises-tests-each (property &rest body)
  "Run BODY in each view, `view', that has PROPERTY; nil stands for all."
  (declare (indent 1) (debug t))
  `(dolist (view (cl-remove-if-not (lambda (view) (or (null ,property) (plist-get view ,property)))
                                   backstaff-promises-tests-views))
     (ert-info ((format "%S" view))
       (backstaff-view-test-project backstaff-promises-tests-tree
         (backstaff-view-test-open (plist-get view :open) root)
         ,@body))))

(ert-deftest backstaff-promises-customize-mode-offers-the-options ()
  (backstaff-promises-tests-each nil
    (should (eq (custom-group-of-mode major-mode) 'backstaff))))

(ert-deftest backstaff-promises-other-window-visits-the-file-at-point ()
  (backstaff-promises-tests-each :file
    (let ((window (selected-window)) (file (plist-get view :file)))
      (goto-char (point-max))
      (search-backward (file-name-nondirectory file))
      (execute-kbd-macro (kbd "C-x 4 4 RET"))
      (should-not (eq (selected-window) window))
      (should (equal (buffer-file-name (window-buffer)) (concat root file))))))

(ert-deftest backstaff-promises-command-starts-at-the-root ()
  (dolist (command '("backstaff-tree" "backstaff-overview"))
    (ert-info (command)
      (backstaff-view-test-project backstaff-promises-tests-tree
        (setq default-directory (expand-file-name "src/"))
        (execute-kbd-macro (kbd (format "M-x %s RET" command)))
        (backstaff-view-test-settle)
        (should (equal (plist-get backstaff-view-state :root) root))
        (should (equal (plist-get (backstaff-view-get :arguments) :path) "."))))))

(provide 'backstaff-promises-tests)
;;; backstaff-promises-tests.el ends here
