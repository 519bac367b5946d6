;;; backstaff-info.el --- What is known of a file  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-file-info' shows the type, size, times and permissions of a file or
;; a directory, and whether a buffer holds changes that are not saved.

;;; Code:

(require 'subr-x)
(require 'backstaff-view)


(defvar backstaff-info-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'backstaff-info-visit)
    (define-key map (kbd "o") #'backstaff-info-visit-other-window)
    (define-key map (kbd "^") #'backstaff-info-list)
    (define-key map (kbd "w") #'backstaff-view-copy-path)
    (define-key map [remap keyboard-quit] #'backstaff-view-quit)
    map)
  "Keymap of `backstaff-info-mode'.")

(define-derived-mode backstaff-info-mode special-mode "File-Info"
  "Major mode for what is known of a file or directory.

\\{backstaff-info-mode-map}"
  :group 'backstaff
  (backstaff-view-setup :request #'backstaff-info--request
                        :draw #'backstaff-info--draw
                        :title (apply-partially #'backstaff-view-title "info")))

(defun backstaff-info--prompt ()
  "Return the prompt for a file, which is the visited one by default."
  (format-prompt "Describe file"
                 (and buffer-file-name
                      (backstaff-names-show
                       (file-name-nondirectory buffer-file-name)))))

;;;###autoload
(defun backstaff-file-info (file)
  "Show the type, the size, the times and the permissions of FILE."
  (interactive (list (read-file-name (backstaff-info--prompt) (backstaff-directory)
                                     buffer-file-name t)))
  (let ((root (backstaff-command-root (file-name-directory
                               (directory-file-name (expand-file-name file))))))
    (backstaff-info-open root (backstaff-view-relative root file))))

(defun backstaff-info-open (root path)
  "Show what is known of PATH below ROOT."
  (backstaff-view-open 'backstaff-info-mode
                       (list :root root :path path
                             :directory (or (backstaff-view-parent path) "."))))

(defun backstaff-info--request (state)
  "Return the tool and the arguments that STATE stands for."
  (list "agent-q/get_file_info" (list :path (plist-get state :path))))

(defun backstaff-info--draw (reply)
  "Draw what REPLY says of the file."
  (let ((start (point)))
    (insert (substring-no-properties (plist-get reply :text)))
    (goto-char start)
    (while (re-search-forward "^[A-Z][a-z]+:" nil t)
      (put-text-property (match-beginning 0) (match-end 0)
                         'face 'backstaff-path)))
  (backstaff-view-set-header (plist-get backstaff-view-state :path)))

(defun backstaff-info--kind ()
  "Return the kind of what the buffer describes."
  (or (plist-get (plist-get backstaff-view-reply :data) :kind)
      (user-error "Nothing is known of it")))

(defun backstaff-info-visit (&optional other-window)
  "Visit the file, or list the directory, that the buffer describes.
Visit it in another window if OTHER-WINDOW is non-nil."
  (interactive nil backstaff-info-mode)
  (let ((path (plist-get backstaff-view-state :path)))
    (or (backstaff-view-visit path (backstaff-info--kind) other-window)
        (backstaff-list-open (plist-get backstaff-view-state :root) path))))

(defun backstaff-info-visit-other-window ()
  "Visit the file in another window."
  (interactive nil backstaff-info-mode)
  (backstaff-info-visit t))

(defun backstaff-info-list ()
  "List the directory that the file is in."
  (interactive nil backstaff-info-mode)
  (let ((path (plist-get (backstaff-view-latest-state) :path)))
    (backstaff-list-open (plist-get (backstaff-view-latest-state) :root)
                         (or (backstaff-view-parent path) ".")
                         :focus path)))

(provide 'backstaff-info)
;;; backstaff-info.el ends here
