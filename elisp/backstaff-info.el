;;; backstaff-info.el --- Type, size and times of a file  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-file-info' shows the type, size, times and permissions of a file or
;; directory, and whether a buffer has unsaved changes of it.

;;; Code:

(require 'subr-x)
(require 'backstaff-view)

(defvar backstaff-info-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "^") #'backstaff-info-list)
    map)
  "Keymap of `backstaff-info-mode'.")

(define-derived-mode backstaff-info-mode backstaff-view-mode "File-Info"
  "Major mode for the type, size and times of a file or directory.

\\{backstaff-info-mode-map}"
  :group 'backstaff
  (backstaff-view-setup
   :request (lambda (state)
              (list "agent-q/get_file_info" (list :path (plist-get state :path))))
   :draw (lambda (reply)
           (insert (substring-no-properties (plist-get reply :text)))
           (goto-char (point-min))
           (while (re-search-forward "^[A-Z][a-z]+:" nil t)
             (put-text-property (match-beginning 0) (match-end 0) 'face 'backstaff-path))
           (let ((path (plist-get backstaff-view-state :path)))
             (setq backstaff-view-subject
                   (list :path path :kind (plist-get (plist-get reply :data) :kind)))
             (backstaff-view-set-header path)))
   :title (apply-partially #'backstaff-view-title "info")
   :open (lambda (entry)
           (backstaff-view-switch 'backstaff-list-mode (plist-get entry :path)))))

;;;###autoload
(defun backstaff-file-info (file)
  "Show the type, size, times and permissions of FILE."
  (interactive
   (list (read-file-name
          (format-prompt "Describe file"
                         (and buffer-file-name
                              (backstaff-names-show
                               (file-name-nondirectory buffer-file-name))))
          (backstaff-directory) buffer-file-name t)))
  (let ((name (expand-file-name file)))
    ;; The root of a project belongs to it, not to a project around it.
    (backstaff-view-open-file 'backstaff-info-mode
                              (if (and (not (file-remote-p name)) (file-directory-p name))
                                  (file-name-as-directory name)
                                name))))

(defun backstaff-info-list ()
  "List the directory of the file."
  (interactive nil backstaff-info-mode)
  (backstaff-view-switch 'backstaff-list-mode
                         (or (backstaff-view-parent (backstaff-view-get :path)) ".")))

(provide 'backstaff-info)
;;; backstaff-info.el ends here
