;;; backstaff-ui-overview.el --- A project on one page  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-overview' shows the page that a model gets about a project: the files
;; to read first, those that build it, those edited lately, and a map of the most
;; important directories, one line for each.  The names in it are buttons.  The notes
;; in brackets at its end are for models; people get notes that name keys instead.

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
   :request (pcase-lambda ((map :path)) ; 1000 tokens are about one page
              (list "workspace/project_overview" (list :path path :max_tokens 1000)))
   :draw #'backstaff-overview--draw
   :open (lambda (entry) (backstaff-tree (concat (backstaff-view-get :root) (plist-get entry :path))))))

;;;###autoload
(defun backstaff-overview (directory)
  "Show DIRECTORY on one page: the files to read first, and those edited lately.
Interactively this is the root of the project; with a prefix argument, ask."
  (interactive (list (backstaff-read-directory "Overview of directory: "
                                               #'backstaff-command-project)))
  (let ((root (backstaff-command-root (file-name-as-directory directory))))
    (backstaff-view-open 'backstaff-overview-mode
                         (list :root root :path (backstaff-path-relative root directory)))))

(defun backstaff-overview--draw (reply)
  "Draw the overview in REPLY: its text, with buttons on the names."
  (let* ((data (plist-get reply :data))
         (files (plist-get data :files)) (named (plist-get data :named)))
    (insert (substring-no-properties (plist-get reply :text)))
    (goto-char (point-min))
    ;; No other line starts with a bracket, as such a name stands in quotes.
    (flush-lines "^\\[")
    (forward-line)
    (while (looking-at "\\([a-z ]+:\\) ")
      (put-text-property (point) (match-end 1) 'face 'backstaff-note)
      (pcase (match-string 1)
        ("test:" (backstaff-overview--make-buttons
                  (mapcar (lambda (test) (plist-get test :path)) (plist-get data :tests))
                  :directory))
        (label (backstaff-overview--make-buttons
                (plist-get data (pcase label ("read first:" :read-first) ("edited lately:" :edited)
                                  ("build:" :build) ("start:" :start)))
                :file)))
      (forward-line))
    (insert "\n")
    (dolist (line (plist-get data :map))
      (let ((path (plist-get line :path)))
        (backstaff-overview--make-buttons (list path) :directory "")
        (dolist (name (plist-get line :names))
          (backstaff-overview--make-buttons
           (list (string-remove-prefix "./" (concat path "/" name)))
           (if (member name (plist-get line :links)) :symlink :file) path))
        (backstaff-overview--make-buttons (plist-get line :collapsed) :directory path)
        (forward-line)))
    (put-text-property (point-min) (point-max) 'wrap-prefix "    ")
    (goto-char (point-max))
    (dolist (note (append (and (< named files)
                               (list (format (substitute-command-keys "%d of %d files named:\
 dir/(900) holds 900 files, +9 are 9 more.  \\[backstaff-view-visit] on a directory shows its tree")
                                             named files)))
                          (mapcar (lambda (note) (plist-get note :text)) (plist-get data :notes))
                          (plist-get reply :warnings)))
      (insert (propertize (backstaff-names-text note) 'face 'backstaff-note) "\n"))))

(defun backstaff-overview--make-buttons (paths kind &optional directory)
  "Make buttons of the names of PATHS, files of KIND, in the rest of the line.
The names stand there in this order, and the last ones may be missing.  They
are below DIRECTORY, or below the root if that is nil."
  (dolist (path paths)
    (let ((name (string-remove-prefix (concat (or directory ".") "/") path)))
      (when (re-search-forward
             ;; A name that would look like something else stands in quotes.
             (concat "\\(?:^\\| \\)\\("
                     (regexp-opt (list name (backstaff-names-show name) (format "\"%s\"" name)))
                     (pcase kind (:directory "/") (:symlink "@")) "\\)\\(?:[ (]\\|$\\)")
             (line-end-position) t)
        (goto-char (match-end 1))
        (replace-match (backstaff-view-button (match-string-no-properties 1) path kind) t t nil 1)))))

(provide 'backstaff-ui-overview)
;;; backstaff-ui-overview.el ends here
