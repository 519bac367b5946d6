;;; backstaff-ui-changes.el --- Changes since the last commit  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-changes' lists the changed and untracked files of a work tree, and shows the
;; changes below as `diff-mode' does.  No program that a repository names is run.

;;; Code:

(require 'diff-mode)
(require 'backstaff-ui-view)

(defvar backstaff-changes-mode-map
  (let ((map (backstaff-view-keymap "RET" #'backstaff-changes-visit "<mouse-2>" #'push-button
                                    "g" #'revert-buffer "q" #'quit-window)))
    (set-keymap-parent map (make-composed-keymap diff-mode-shared-map diff-mode-map))
    map)
  "Keymap of `backstaff-changes-mode'.")

(define-derived-mode backstaff-changes-mode diff-mode "Changes"
  "Major mode for the changes of a work tree.
A listed file has the letters of git's status, such as ?? for untracked."
  :group 'backstaff
  (backstaff-view-setup
   ;; Emacs reads and draws a page of this size in less than a tenth of a second.
   :context '(:max-output-bytes 100000)
   :then (lambda (reply)
           (backstaff-view-call "workspace/git_status_summary" nil
                                (lambda (status) (backstaff-view-show `(:status ,status ,@reply)))))
   :draw #'backstaff-changes--draw)
  (setq-local minor-mode-overriding-map-alist nil ; keys of `diff-mode' that this map has
              ;; To highlight as in the files, or within lines, would run programs.
              diff-font-lock-syntax nil
              diff-refine nil))

;;;###autoload
(defun backstaff-changes ()
  "Show the changes of the project since its last commit.
Unsaved text counts, and untracked files are only listed.  The key \\`e' edits
the base, which may be a commit, a branch, a tag, or \"index\"."
  (interactive)
  (setq next-error-last-buffer
        (backstaff-view-open 'backstaff-changes-mode (backstaff-command-root)
                             "workspace/git_diff" '(:base "HEAD"))))

(defun backstaff-changes--draw (reply)
  "Draw the files of REPLY's `:status' as a list, and its own files as a diff."
  (pcase-let* (((map (:status (map (:data (map :repository-root :raw :unsaved))))
                     (:data (map :files :next-offset)))
                reply)
               (lines (cdr (split-string (or raw "") "\n" t)))) ; the first one is the branch
    (cl-flet ((list-file (letters name path)
                (insert letters (backstaff-view-button (backstaff-names-show name) path :file) "\n")))
      ;; Emacs draws 1000 lines in less than a tenth of a second.
      (dolist (line (seq-take lines 1000))
        ;; A line is "?? new.txt" or "R  old.txt -> \"a b.txt\"".
        (let* ((start (string-match "\\(?:\"\\(?:[^\"\\]\\|\\\\.\\)*\"\\|[^ ]+\\)\\'" line 3))
               (name (substring line start))
               (path (if (string-prefix-p "\"" name) (car (read-from-string name)) name)))
          (list-file (substring line 0 start) path (concat repository-root "/" path))))
      (when (nthcdr 1000 lines) (insert (format "[%d more files]\n" (- (length lines) 1000))))
      (dolist (path unsaved) (list-file "not saved: " path path)))
    (insert (propertize (format "%s since %s:\n" (if files "Changes" "No changes")
                                (plist-get (backstaff-view-get :arguments) :base))
                        'font-lock-face 'backstaff-note))
    (pcase-dolist ((map :path :patch) files)
      (insert (propertize
               (if patch
                   ;; A carriage return before each line end would hide the lines.
                   (backstaff-names-text (replace-regexp-in-string "\r$" "" patch))
                 (format "[%s: no lines are shown: they may be secret, too many, or no text]\n"
                         (backstaff-names-show path)))
               'backstaff-entry (list :path path))))
    (when next-offset
      (insert (format "[more files: type e and add :offset %d]\n" next-offset)))))

(defun backstaff-changes-visit ()
  "Visit the line at point in its file."
  (interactive nil backstaff-changes-mode)
  (let ((entry (backstaff-view-entry t)) (root (backstaff-view-get :root)))
    (if (not (save-excursion
               (end-of-line)
               (and (re-search-backward "^@@" nil t) (equal entry (backstaff-view-entry)))))
        (backstaff-view-visit-file (plist-get entry :path) root)
      ;; This asks before a link is followed out of the project.
      (backstaff-view-file-buffer (concat root (plist-get entry :path)) root)
      (diff-goto-source))))

(provide 'backstaff-ui-changes)
;;; backstaff-ui-changes.el ends here
