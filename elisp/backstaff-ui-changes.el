;;; backstaff-ui-changes.el --- Changes since the last commit  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-changes' shows the status of a project's work tree, and below it all changes
;; as a buffer of `diff-mode', with the text of buffers that are not saved.  The server
;; reads git's files itself, so no program that a repository names is run.

;;; Code:

(require 'diff-mode)
(require 'vc)
(require 'backstaff-ui-view)

(defconst backstaff-changes--most-characters 5000000
  "Length of a diff, in characters, after which no more files are asked for.")

(defvar backstaff-changes-mode-map
  (let ((map (backstaff-view-keymap "RET" #'backstaff-changes-visit "b" #'backstaff-changes-from
                                    "g" #'revert-buffer "q" #'quit-window)))
    (set-keymap-parent map (make-composed-keymap diff-mode-shared-map diff-mode-map))
    map)
  "Keymap of `backstaff-changes-mode'.")

;;;###autoload
(define-derived-mode backstaff-changes-mode diff-mode "Changes"
  "Major mode for the changes of a work tree: `diff-mode' below a list of files."
  :group 'backstaff
  (backstaff-view-setup
   :request (pcase-lambda ((map :base :offset :status))
              ;; Emacs draws a page of this size in less than a tenth of a second.
              (if status (list "workspace/git_diff" (list :base base :offset (or offset 0))
                               '(:max-output-bytes 200000))
                (list "workspace/git_status_summary" nil)))
   :again (lambda (state reply)
            (unless (plist-get state :status) (list :status reply)))
   :draw #'backstaff-changes--draw
   :wrap t)
  (setq-local minor-mode-overriding-map-alist nil ; keys of `diff-mode' that this map has
              ;; To highlight as in the files, or within lines, would run programs.
              diff-font-lock-syntax nil
              diff-refine nil
              next-error-function (lambda (count &optional reset)
                                    (when reset (goto-char (point-min)))
                                    (diff-hunk-next count)
                                    (backstaff-changes-visit))))

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

(defun backstaff-changes--draw (reply)
  "Draw the status of the state, and the files of REPLY as a diff."
  (pcase-let (((map :status :base) backstaff-view-state)
              (files (plist-get (plist-get reply :data) :files)))
    ;; The last line of a status names a tool for models.
    (insert (backstaff-names-text
             (replace-regexp-in-string "^\\[.*\\]\n\\'" "" (plist-get status :text)))
            (format "\n%s since %s:\n" (if files "Changes" "No changes") base))
    (save-excursion
      (while (re-search-backward "^  \\(.+\\)$" nil t)
        (make-text-button (match-beginning 1) (match-end 1) 'face nil 'follow-link t
                          'action (lambda (_) (backstaff-changes-visit)))))
    (backstaff-changes--insert-files reply)))

(defun backstaff-changes--insert-files (reply)
  "Insert the files of REPLY, and ask for those that have no room in it."
  (unless (plist-get reply :ok)
    (insert (backstaff-names-text (plist-get reply :text)) "\n"))
  (pcase-dolist ((map :path :patch) (plist-get (plist-get reply :data) :files))
    (insert (propertize
             (if patch
                 ;; A carriage return before each line end would hide the lines.
                 (backstaff-names-text (replace-regexp-in-string "\r$" "" patch))
               (format "[%s: no lines are shown: they may be secret, too many, or no text]\n"
                       (backstaff-names-show path)))
             'backstaff-path path)))
  (when-let ((next (plist-get (plist-get reply :data) :next-offset)))
    (if (< (buffer-size) backstaff-changes--most-characters)
        (backstaff-view-add (list :offset next) #'backstaff-changes--insert-files)
      (insert "[more files are not shown, because the diff is very long]\n"))))

(defun backstaff-changes--listed-path ()
  "Return the path of the file on this line of the list, or nil.
A line may have letters before the path, and the old path of a renamed file."
  (save-excursion
    (forward-line 0)
    (when (looking-at "  \\(.+\\)$")
      (let ((text (match-string-no-properties 1)) (paths nil) (case-fold-search nil))
        (while (progn
                 (push (or (car (cl-find text (plist-get (backstaff-view-get :status) :labels)
                                         :key #'cadr :test #'equal))
                           text)
                       paths)
                 (string-match "\\`[A-Z?!]+ \\|\\`.*? -> " text))
          (setq text (substring text (match-end 0))))
        (or (cl-find-if (lambda (path)
                          (let ((file (concat (backstaff-view-root) path)))
                            (or (get-file-buffer file) (file-exists-p file))))
                        (reverse paths))
            (car paths))))))

(defun backstaff-changes-visit ()
  "Visit the line at point in its file, or the file at point in the list."
  (interactive nil backstaff-changes-mode)
  (let* ((root (backstaff-view-root))
         (patched (get-text-property (line-beginning-position) 'backstaff-path))
         (name (concat root (or patched (backstaff-changes--listed-path)
                                (user-error "No file is on this line"))))
         (file (backstaff-path-file-name name root)))
    (if (not (and patched (save-excursion
                            (end-of-line)
                            (and (re-search-backward "^@@" nil t)
                                 (equal patched (get-text-property (point) 'backstaff-path))))))
        (or (backstaff-path-visit name root) (dired file))
      ;; This asks before a link is followed out of the project.
      (backstaff-path-buffer name root)
      ;; Where a folder is called "b", "b/x" in the diff could be its file.
      (let ((diff-remembered-defdir default-directory)
            (diff-remembered-files-alist
             (save-excursion
               (diff-beginning-of-file)
               (list (cons (diff-hunk-file-names nil) file) (cons (diff-hunk-file-names t) file)))))
        (diff-goto-source)))))

(provide 'backstaff-ui-changes)
;;; backstaff-ui-changes.el ends here
