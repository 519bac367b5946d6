;;; backstaff-ui-overview.el --- A project on one page  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-overview' shows the page that a model gets, with buttons on the names.

;;; Code:

(require 'backstaff-ui-view)

(defvar backstaff-overview-mode-map
  (backstaff-view-keymap "TAB" #'forward-button "<backtab>" #'backward-button)
  "Keymap of `backstaff-overview-mode'.")

(define-derived-mode backstaff-overview-mode backstaff-view-mode "Overview"
  "Major mode for the overview of a directory.
A line shows a directory and names in it.  In \"lib/(900) +4\", lib/ holds 900
files, and 4 more files are beside it."
  :group 'backstaff
  (backstaff-view-setup
   :draw #'backstaff-overview--draw
   :open (lambda (path) (backstaff-tree (concat (backstaff-view-get :root) path)))))

;;;###autoload
(defun backstaff-overview (directory)
  "Show DIRECTORY on one page: the files to read first, and those edited lately.
Interactively this is the root of the project."
  (interactive (list (backstaff-command-root)))
  (let ((root (backstaff-command-root (file-name-as-directory directory))))
    (backstaff-view-open 'backstaff-overview-mode root "workspace/project_overview"
                         ;; This is about one page.
                         (list :path (backstaff-view-relative root directory) :max_tokens 1000))))

(defun backstaff-overview--draw (reply)
  "Draw the overview in REPLY: its text, with buttons on the names."
  (pcase-let (((map :text :data :warnings) reply))
    (insert (substring-no-properties text))
    (dolist (warning warnings) (insert (backstaff-names-text warning) "\n"))
    (goto-char (point-min))
    (forward-line)
    (while (looking-at "\\([a-z ]+:\\) ")
      (put-text-property (point) (match-end 1) 'face 'backstaff-note)
      (goto-char (match-end 1))
      (backstaff-overview--make-buttons
       (mapcar (lambda (item) (if (stringp item) item (plist-get item :path)))
               (plist-get data (pcase (match-string 1)
                                 ("read first:" :read-first) ("edited lately:" :edited)
                                 ("build:" :build) ("start:" :start) ("test:" :tests)))))
      (forward-line))
    (pcase-dolist ((map :path :names :collapsed) (plist-get data :map))
      (backstaff-overview--make-buttons
       `(,path ,@(mapcar (lambda (name) (string-remove-prefix "./" (concat path "/" name))) names)
               ,@collapsed))
      (forward-line))
    (put-text-property (point-min) (point-max) 'wrap-prefix "    ")))

(defun backstaff-overview--make-buttons (paths)
  "Make buttons of the names in the rest of the line, one for each of PATHS.
The last ones may be missing."
  (dolist (path paths)
    ;; A name that would look like something else stands in quotes.  A number may follow it.
    (when (looking-at " ?\\(\"\\(?:[^\"\\]\\|\\\\.\\)*\"[/@]?\\|[^ \n]+?\\)\\((.*?)\\)?\\(?: \\|$\\)")
      (goto-char (match-end 1))
      (let ((name (match-string-no-properties 1)))
        (replace-match (backstaff-view-button name path (pcase (substring name -1)
                                                          ("/" :directory) ("@" :symlink)))
                       t t nil 1))
      (skip-chars-forward "^ \n"))))

(provide 'backstaff-ui-overview)
;;; backstaff-ui-overview.el ends here
