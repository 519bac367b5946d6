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
(require 'bookmark)

(declare-function ffap-file-at-point "ffap" ())

(defconst backstaff-promises-tests-tree
  '(("src" ("deep" ("er" ("d.c" . ""))) ("a.c" . "a") ("b.c" . "b")) (".hidden" . "")
    (".claude" ("commands" ("go.md" . "Go"))) ("README" . "read me"))
  "A project.")

;; `:open' shows the view.  `:keys' bring it into a state that a bookmark keeps, in which the
;; cursor goes to `:at'.  `:file' is a file that it shows at first.
(defconst backstaff-promises-tests-views
  `((:open ,#'backstaff-tree :keys ("x **/*.c RET" "C-u 4 d" ".") :at "er/" :file "README"
       :directory "deep/")
    (:open ,#'backstaff-overview :file "README" :directory "src/")
    (:open ,#'backstaff-file-info)
    (:open ,(lambda (_) (backstaff-list-commands)))
    (:open ,(lambda (root) (backstaff-search "read" root)))
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

(defun backstaff-promises-tests-seen ()
  "Return what a bookmark has to bring back: all but how long the answer took."
  (list major-mode (cl-remove-if (apply-partially #'string-prefix-p "Time ") (backstaff-view-test-lines))
        (line-number-at-pos)
        (plist-get backstaff-view-state :path) (plist-get backstaff-view-state :hidden)))

(ert-deftest backstaff-promises-bookmark-leads-back ()
  (backstaff-promises-tests-each nil
    (let ((bookmark-alist nil) (bookmark-save-flag nil)
          (bookmark-default-file (expand-file-name "bookmarks" (make-temp-file "backstaff" t)))
          (bookmark-bookmarks-timestamp nil) (bookmark-watch-bookmark-file nil))
      (unwind-protect
          (progn
            (apply #'backstaff-view-test-press (plist-get view :keys))
            (when (plist-get view :at) (backstaff-view-test-go-to (plist-get view :at)))
            (bookmark-set "there")
            (let ((seen (backstaff-promises-tests-seen)))
              (kill-buffer)
              ;; A jump must load the file of the mode.
              (should (memq (car seen) (backstaff-view-test-autoloaded)))
              ;; A later session reads it from the file.
              (bookmark-write-file bookmark-default-file)
              (setq bookmark-alist nil)
              (bookmark-load bookmark-default-file t t)
              (should (string-prefix-p root (expand-file-name (bookmark-location "there"))))
              (bookmark-jump "there")
              (backstaff-view-test-settle)
              (should (equal (backstaff-promises-tests-seen) seen))))
        (delete-directory (file-name-directory bookmark-default-file) t)))))

(ert-deftest backstaff-promises-customize-mode-offers-the-options ()
  (backstaff-promises-tests-each nil
    (should (eq (custom-group-of-mode major-mode) 'backstaff))))

(ert-deftest backstaff-promises-other-window-visits-the-file-at-point ()
  (backstaff-promises-tests-each :file
    (let ((window (selected-window)) (file (plist-get view :file)))
      (goto-char (point-max))
      (search-backward (file-name-nondirectory file))
      (execute-kbd-macro (kbd "o"))
      (should-not (eq (selected-window) window))
      (should (equal (buffer-file-name (window-buffer)) (concat root file))))))

(ert-deftest backstaff-promises-other-window-shows-the-directory-at-point ()
  (backstaff-promises-tests-each :directory
    (let ((here (current-buffer)) (window (selected-window)))
      (goto-char (point-max))
      (search-backward (plist-get view :directory))
      (let ((path (directory-file-name (backstaff-view--file-name))))
        (execute-kbd-macro (kbd "o"))
        (should-not (eq (selected-window) window))
        (should (eq (window-buffer window) here))
        (with-current-buffer (window-buffer)
          (should (eq major-mode 'dired-mode))
          (should (equal (directory-file-name default-directory) path))
          (kill-buffer))))))

(ert-deftest backstaff-promises-file-at-point-is-found-by-other-packages ()
  (require 'ffap)
  (backstaff-promises-tests-each :file
    (let ((file (concat root (plist-get view :file))))
      (goto-char (point-max))
      (search-backward (file-name-nondirectory file))
      (should (equal (run-hook-with-args-until-success 'file-name-at-point-functions) file))
      (dolist (thing '(filename existing-filename))
        (should (equal (thing-at-point thing) file)))
      (should (equal (expand-file-name (ffap-file-at-point)) file)))))

(ert-deftest backstaff-promises-command-starts-at-the-root-or-asks ()
  (dolist (command '("backstaff-tree" "backstaff-overview"))
    (ert-info (command)
      (backstaff-view-test-project backstaff-promises-tests-tree
        (setq default-directory (expand-file-name "src/"))
        (pcase-dolist (`(,keys . ,path) '(("M-x %s RET" . ".") ("C-u M-x %s RET src/deep RET" . "src/deep")))
          (execute-kbd-macro (kbd (format keys command)))
          (backstaff-view-test-settle)
          (should (equal (plist-get backstaff-view-state :root) root))
          (should (equal (plist-get backstaff-view-state :path) path)))))))

(provide 'backstaff-promises-tests)
;;; backstaff-promises-tests.el ends here
