;;; backstaff-list.el --- What people see of a directory or a file  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-list-directory' and `backstaff-file-info' show the text of the
;; tools of the same names, each in a buffer of its own, where `g' asks again.
;; Neither makes Emacs wait.

;;; Code:

(require 'backstaff)

(defvar-local backstaff-list--request nil
  "What the buffer shows, as a list of a tool's id, its arguments and context.")

(defvar-local backstaff-list--call nil
  "The call under way for this buffer, as `backstaff-call-async' returned it.")

(defvar-local backstaff-list--progress nil
  "The timer that will say that the call under way takes its time.")

(define-derived-mode backstaff-list-mode special-mode "Backstaff"
  "Major mode for what a Backstaff tool has to say.
\\<backstaff-list-mode-map>\\[revert-buffer] asks again."
  :group 'backstaff
  (setq truncate-lines t
        buffer-undo-list t
        bidi-paragraph-direction 'left-to-right)
  (setq-local revert-buffer-function #'backstaff-list--revert)
  (add-hook 'kill-buffer-hook #'backstaff-list--cancel nil t)
  (add-hook 'change-major-mode-hook #'backstaff-list--cancel nil t))

;;;###autoload
(defun backstaff-list-directory (directory)
  "Show the files and directories in DIRECTORY.
Nothing is followed out of the project that DIRECTORY is in."
  (interactive (list (read-directory-name "List directory: " nil nil t)))
  (backstaff--check-local directory)
  (backstaff-list--show "agent-q/list_directory" directory
                        (file-name-as-directory directory)))

;;;###autoload
(defun backstaff-file-info (file)
  "Show the size, the times and the permissions of FILE."
  (interactive (list (read-file-name "Describe file: " nil buffer-file-name t)))
  (backstaff--check-local file)
  (backstaff-list--show "agent-q/get_file_info" file
                        (file-name-directory (directory-file-name file))))

(defun backstaff-list--show (id path directory)
  "Show the text of the tool ID for PATH, in the project DIRECTORY is in."
  (let* ((directory (expand-file-name directory))
         (root (backstaff-root directory))
         (path (file-name-unquote (expand-file-name path)))
         (buffer (get-buffer-create (format "*backstaff %s: %s*"
                                            (file-name-nondirectory id)
                                            (backstaff--visible-name path)))))
    (with-current-buffer buffer
      (unless (derived-mode-p 'backstaff-list-mode)
        (backstaff-list-mode))
      (setq default-directory directory
            backstaff-list--request `(,id (:path ,path) (:root ,root)))
      (revert-buffer))
    (pop-to-buffer buffer)))

(defun backstaff-list--revert (&rest _)
  "Ask again for the text of the current buffer."
  (backstaff-list--cancel)
  (let ((buffer (current-buffer)))
    (pcase-let ((`(,id ,args ,context) backstaff-list--request))
      (setq backstaff-list--progress
            (run-at-time 0.5 nil
                         #'message "Waiting for %s…" (plist-get args :path))
            backstaff-list--call
            (backstaff-call-async
             id args (lambda (reply) (backstaff-list--receive buffer reply))
             context)))))

(defun backstaff-list--receive (buffer reply)
  "Show REPLY in BUFFER, unless that has lost interest."
  (let ((code (plist-get (plist-get reply :error) :code)))
    (when (and (buffer-live-p buffer) (not (equal code "CANCELLED")))
      (with-current-buffer buffer
        (when (derived-mode-p 'backstaff-list-mode)
          (backstaff-list--end-progress)
          (setq backstaff-list--call nil)
          (backstaff-list--insert (plist-get reply :text)))))))

(defun backstaff-list--insert (text)
  "Replace the current buffer's text with TEXT; stay on the same line."
  (let ((inhibit-read-only t)
        (line (line-number-at-pos)))
    (erase-buffer)
    (insert (substring-no-properties text))
    (goto-char (point-min))
    (forward-line (1- line))
    (dolist (window (get-buffer-window-list nil nil t))
      (set-window-point window (point)))))

(defun backstaff-list--cancel ()
  "Cancel the call that is under way for the current buffer, if any."
  (backstaff-list--end-progress)
  (when backstaff-list--call
    (backstaff-cancel (prog1 backstaff-list--call
                        (setq backstaff-list--call nil)))))

(defun backstaff-list--end-progress ()
  "Say no more that the current buffer is waiting."
  (when backstaff-list--progress
    (cancel-timer backstaff-list--progress)
    (setq backstaff-list--progress nil)))

(provide 'backstaff-list)
;;; backstaff-list.el ends here
