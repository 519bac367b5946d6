;;; backstaff-emacs-fixtures.el --- Calls of the toolset emacs, for its tests  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A file of its own, because ERT refuses to define the tests of a file twice.

;;; Code:

(require 'backstaff-test-support)

(defvar eglot--servers-by-project)

(defun backstaff-emacs-tests-text (id &rest args)
  "Return the text of the tool ID called with ARGS, which must succeed."
  (let ((reply (backstaff-call (concat "emacs/" id) args)))
    (ert-info ((format "%S" reply))
      (should (plist-get reply :ok)))
    (plist-get reply :text)))

(defun backstaff-emacs-tests-error (id &rest args)
  "Return (CODE MESSAGE) of the error of the tool ID, called with ARGS."
  (let* ((reply (backstaff-call (concat "emacs/" id) args))
         (problem (plist-get reply :error)))
    (ert-info ((format "%S" reply))
      (should-not (plist-get reply :ok))
      (should (equal (plist-get reply :text) (concat "Error: " (plist-get problem :message)))))
    (list (plist-get problem :code) (plist-get problem :message))))

(defun backstaff-emacs-tests-visit (name)
  "Return a buffer that visits the file NAME below the root."
  (find-file-noselect (expand-file-name name backstaff-root-directory)))


;;; Language servers

(defun backstaff-emacs-tests-end-eglot ()
  "End all language servers of eglot at once, and kill the rest."
  (dolist (process (process-list))
    (when (string-prefix-p "EGLOT" (process-name process))
      (set-process-sentinel process #'ignore)
      (delete-process process)))
  (clrhash eglot--servers-by-project)
  (dolist (buffer (buffer-list))
    (when (string-match-p "\\` ?\\*EGLOT" (buffer-name buffer))
      (kill-buffer buffer))))

(provide 'backstaff-emacs-fixtures)
;;; backstaff-emacs-fixtures.el ends here
