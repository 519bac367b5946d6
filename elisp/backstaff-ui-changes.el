;;; backstaff-ui-changes.el --- Changes since the last commit  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-changes' shows the status of a project's work tree, and below it all
;; changes as a diff, with the text of buffers that are not saved.  RET visits the line
;; at point, and g asks again.  The server reads git's files itself: no program that a
;; repository names is run, and no command here changes anything.

;;; Code:

(require 'diff-mode)
(require 'vc)
(require 'backstaff-ui-view)

(defvar-local backstaff-changes--next nil
  "Number of files that the buffer shows if there are more, or nil.")

(defvar backstaff-changes-mode-map
  (let ((map (make-sparse-keymap)))
    ;; The keys of `diff-mode' can change files.
    (set-keymap-parent map special-mode-map)
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    (define-key map (kbd "RET") #'backstaff-changes-visit)
    (define-key map (kbd "o") #'backstaff-changes-visit-other-window)
    (define-key map (kbd "n") #'diff-hunk-next)
    (define-key map (kbd "p") #'diff-hunk-prev)
    (define-key map (kbd "N") #'diff-file-next)
    (define-key map (kbd "P") #'diff-file-prev)
    (define-key map (kbd "+") #'backstaff-changes-more)
    (define-key map (kbd "b") #'backstaff-changes-from)
    map)
  "Keymap of `backstaff-changes-mode'.")

;;;###autoload
(define-derived-mode backstaff-changes-mode diff-mode "Changes"
  "Major mode for the changes of a work tree."
  (backstaff-view-setup
   :request (pcase-lambda ((map :base :offset :status))
              (if status (list "workspace/git_diff" (list :base base :offset (or offset 0)))
                (list "workspace/git_status_summary" nil)))
   :again (lambda (state reply)
            (unless (plist-get state :status) (list :status reply)))
   :draw (lambda (reply)
           (pcase-let (((map :status :base) backstaff-view-state)
                       (files (plist-get (plist-get reply :data) :files)))
             (backstaff-changes--insert
              ;; The last line of a status names a tool for models.
              (replace-regexp-in-string "^\\[.*\\]\n\\'" "" (plist-get status :text))
              (format "\n%s since %s:\n" (if files "Changes" "No changes") base))
             (backstaff-changes--insert-files reply)))
   :wrap t)
  (setq-local minor-mode-overriding-map-alist nil ; more keys of `diff-mode'
              ;; To highlight as in the files, or within lines, would run programs.
              diff-font-lock-syntax nil
              diff-refine nil
              next-error-function
              (lambda (count &optional reset)
                (when reset
                  (goto-char (point-min)))
                (diff-hunk-next count)
                (backstaff-changes-visit-other-window))))

;;;###autoload
(defun backstaff-changes (&optional base)
  "Show the changes of the project since its last commit.
Text that is not saved counts.  With a prefix argument, ask for another commit,
branch or tag, BASE, to compare with; \"index\" stands for the staged changes."
  (interactive (list (and current-prefix-arg (backstaff-changes--read))))
  (setq next-error-last-buffer
        (backstaff-view-open 'backstaff-changes-mode
                             (list :root (backstaff-command-project) :path "."
                                   :base (or base "HEAD")))))

(defun backstaff-changes--read ()
  "Read the commit to compare with; TAB completes branches and tags."
  (let* ((default-directory (backstaff-command-project))
         (base (vc-read-revision (format-prompt "Changes since commit, or \"index\"" "HEAD")
                                 (list default-directory) 'Git "HEAD")))
    (if (string-blank-p base) "HEAD" base)))

(defun backstaff-changes-from (base)
  "Show the changes since BASE, a commit, branch or tag, or \"index\"."
  (interactive (list (backstaff-changes--read)) backstaff-changes-mode)
  (backstaff-view-change :base base))

(defun backstaff-changes--insert-files (reply)
  "Insert the files of REPLY, and say how to see those that have no room."
  (unless (plist-get reply :ok)
    (backstaff-changes--insert (plist-get reply :text) "\n"))
  (dolist (file (plist-get (plist-get reply :data) :files))
    (let ((start (point)))
      (backstaff-changes--insert
       (or (plist-get file :patch)
           (format "[%s: no lines are shown: they may be secret, too many, or no text]\n"
                   (backstaff-names-show (plist-get file :path)))))
      (put-text-property start (point) 'backstaff-file file)))
  (setq backstaff-changes--next (plist-get (plist-get reply :data) :next-offset))
  (when backstaff-changes--next
    (insert (substitute-command-keys "[more files: \\[backstaff-changes-more]]\n"))))

(defun backstaff-changes--insert (&rest texts)
  "Insert TEXTS of files."
  ;; A carriage return before each line end would hide the lines.
  (insert (backstaff-names-text (replace-regexp-in-string "\r$" "" (apply #'concat texts)))))

(defun backstaff-changes-more ()
  "Show more files below those that are shown."
  (interactive nil backstaff-changes-mode)
  (unless backstaff-changes--next
    (user-error "All files are shown"))
  (backstaff-view-add (list :offset backstaff-changes--next) #'backstaff-changes--insert-files))

(defun backstaff-changes-visit (&optional other-window)
  "Visit the line at point in its file, as it is now.
Visit it in another window if OTHER-WINDOW is non-nil."
  (interactive nil backstaff-changes-mode)
  (let* ((file (or (get-text-property (line-beginning-position) 'backstaff-file)
                   (user-error "No file is on this line")))
         (path (plist-get file :path)) (root (backstaff-view-get :root))
         (head "^@@ -[0-9,]+ \\+\\([0-9]+\\)") (line 1))
    (save-excursion
      (forward-line 0)
      (let ((here (point)))
        (when (and (or (looking-at head) (re-search-backward head nil t))
                   (eq file (get-text-property (point) 'backstaff-file)))
          (setq line (+ (string-to-number (match-string 1))
                        ;; A removed line is in the file no more.
                        (if (= (point) here) 0
                          (how-many "^[^-\\]" (line-beginning-position 2) here)))))))
    (unless (backstaff-path-visit (concat root path) root other-window line)
      (user-error "%s is a directory" (backstaff-names-show path)))))

(defun backstaff-changes-visit-other-window ()
  "Visit the line at point in another window."
  (interactive nil backstaff-changes-mode)
  (backstaff-changes-visit t))

(provide 'backstaff-ui-changes)
;;; backstaff-ui-changes.el ends here
