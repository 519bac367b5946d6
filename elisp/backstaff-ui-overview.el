;;; backstaff-ui-overview.el --- A project on one page  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-overview' shows the page that a model gets about a project: the files
;; to read first, those that build it, those edited lately, and a map of the most
;; important directories, one line for each.  The names in it are buttons.

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
Interactively this is the root of the project; with a prefix argument, ask."
  (interactive (list (backstaff-read-directory "Overview of directory: "
                                               #'backstaff-command-project)))
  (let ((root (backstaff-command-root (file-name-as-directory directory))))
    (backstaff-view-open 'backstaff-overview-mode root "workspace/project_overview"
                         ;; This is about one page.
                         (list :path (backstaff-view-relative root directory) :max_tokens 1000))))

(defun backstaff-overview--draw (reply)
  "Draw the overview in REPLY: its text, with buttons on the names."
  (let ((data (plist-get reply :data)))
    (insert (substring-no-properties (plist-get reply :text))
            (mapconcat (lambda (warning) (concat (backstaff-names-text warning) "\n"))
                       (plist-get reply :warnings) ""))
    (goto-char (point-min))
    (forward-line)
    (while (looking-at "\\([a-z ]+:\\) ")
      (put-text-property (point) (match-end 1) 'face 'backstaff-note)
      (dolist (file (plist-get data (pcase (match-string 1)
                                      ("read first:" :read-first) ("edited lately:" :edited)
                                      ("build:" :build))))
        (backstaff-overview--make-button file :file))
      (forward-line))
    (save-excursion (insert "\n"))
    (pcase-dolist ((map :path :names :links :collapsed) (plist-get data :map))
      (forward-line)
      (backstaff-overview--make-button path :directory "")
      (dolist (name names)
        (backstaff-overview--make-button (string-remove-prefix "./" (concat path "/" name))
                                         (if (member name links) :symlink :file) path))
      (dolist (directory collapsed)
        (backstaff-overview--make-button directory :directory path)))
    (put-text-property (point-min) (point-max) 'wrap-prefix "    ")))

(defun backstaff-overview--make-button (path kind &optional directory)
  "Make a button of the name of PATH, a file of KIND, in the rest of the line.
It is below DIRECTORY, or below the root if that is nil, and may be missing."
  (let ((name (string-remove-prefix (concat (or directory ".") "/") path)))
    (when (re-search-forward
           ;; A name that would look like something else stands in quotes.
           (concat "\\(?:^\\| \\)\\("
                   (regexp-opt (list name (backstaff-names-show name) (format "\"%s\"" name)))
                   (pcase kind (:directory "/") (:symlink "@")) "\\)\\(?:[ (]\\|$\\)")
           (line-end-position) t)
      (goto-char (match-end 1))
      (replace-match (backstaff-view-button (match-string-no-properties 1) path kind) t t nil 1))))

(provide 'backstaff-ui-overview)
;;; backstaff-ui-overview.el ends here
