;;; backstaff-ui-tree.el --- Trees of directories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each name is a heading of an outline and a button.  A directory that is deeper than the
;; tree's depth is loaded when it is opened.

;;; Code:

(require 'outline)
(require 'backstaff-ui-view)

(defconst backstaff-tree--depth 2
  "Depth of a new tree.  A tree of more than 1000 names gets a smaller one.")

(defvar backstaff-tree-mode-map
  (backstaff-view-keymap "TAB" #'backstaff-tree-toggle "<backtab>" #'outline-cycle-buffer
                         "." #'backstaff-tree-toggle-hidden)
  "Keymap of `backstaff-tree-mode'.")

(define-derived-mode backstaff-tree-mode backstaff-view-mode "Tree"
  "Major mode for the tree of a directory.
In \"src/ …\" the directory src is closed."
  :group 'backstaff
  (backstaff-view-setup
   :arguments (apply-partially #'map-merge 'plist
                               '(:entry_kind "all" :max_entries 1000))
   :draw #'backstaff-tree--draw
   :open #'backstaff-tree-toggle)
  (setq-local outline-regexp " *[^ \n]"
              outline-level (lambda () (1+ (/ (current-indentation) 2)))
              ;; Point stays on its file.
              revert-buffer-function
              (lambda (&rest _)
                (backstaff-view-change :focus (plist-get (backstaff-view-entry) :path)))
              buffer-display-table (make-display-table))
  (set-display-table-slot buffer-display-table 'selective-display (vconcat " …"))
  (outline-minor-mode))

;;;###autoload
(defun backstaff-tree (directory)
  "Show the files and directories below DIRECTORY as a tree.
It opens at the current file.  Interactively DIRECTORY is the project's root."
  (interactive (list (backstaff-command-root)))
  (let ((root (backstaff-command-root (file-name-as-directory directory)))
        (name (backstaff-view-file-at-point)))
    (backstaff-view-open
     'backstaff-tree-mode root "workspace/tree"
     (list :path (backstaff-view-relative root directory) :max_depth backstaff-tree--depth
           :include_hidden nil :exclude nil)
     ;; To resolve the links of another host takes round trips.
     :focus (and name (or (string-prefix-p root name) (not (file-remote-p root)))
                 (backstaff-view-relative root name)))))

(defun backstaff-tree--draw (reply)
  "Draw the tree in REPLY, closed if it is new and the window too low for it."
  (pcase-let* (((map :root :missing :left-out :scanned-entries) (plist-get reply :data))
               (focus (backstaff-view-get :focus)) (arguments (backstaff-view-get :arguments))
               (depth (plist-get arguments :max_depth)))
    (if (and missing (> depth 1))
        ;; A level less shows all siblings before anything below them.
        (backstaff-view-change
         :arguments (map-merge 'plist arguments (list :max_depth (1- depth))) :focus focus)
      (backstaff-tree--insert root 0 missing)
      (when (and (eql depth backstaff-tree--depth)
                 (> (line-number-at-pos) (window-body-height (get-buffer-window nil t))))
        (outline-hide-sublevels 2))
      (when focus (backstaff-tree--reveal focus))
      (backstaff-view-set-header
       (string-join (cons (format "%d names%s" (1- scanned-entries) (if missing ", not all" ""))
                          left-out)
                    ", without ")))))

(defun backstaff-tree--insert (node level counts)
  "Insert NODE, indented by LEVEL, and the nodes below it.
COUNTS are plists (:path :count) of directories whose names are not all there."
  (pcase-let* (((map :path :name :kind :children :truncated) node)
               (missing (cl-loop for one in counts
                                 when (equal path (plist-get one :path)) return (plist-get one :count))))
    ;; A line break at the end of the buffer would be hidden with the last name.
    (insert (if (bobp) "" "\n") (make-string (* 2 level) ?\s)
            (backstaff-view-button
             (concat (bidi-string-mark-left-to-right (backstaff-names-show name))
                     (pcase kind (:directory "/") (:symlink "@")))
             path kind)
            (if (or children missing) (backstaff-tree--count children missing) "")
            (if (and truncated (not children))
                (propertize " …" 'backstaff-unloaded t 'face 'backstaff-note) ""))
    (dolist (child children) (backstaff-tree--insert child (1+ level) counts))))

(defun backstaff-tree--count (children missing)
  "Return the number of CHILDREN and of MISSING ones, for a line."
  (propertize (format " %d" (+ (length children) (or missing 0))) 'face 'backstaff-note))

(defun backstaff-tree--load (path &optional then)
  "If the names in the directory PATH on this line are missing, request them.
Return t then, and call THEN when they are shown."
  (when (get-text-property (1- (line-end-position)) 'backstaff-unloaded)
    (backstaff-view-call
     "workspace/tree" (map-merge 'plist (backstaff-view-get :arguments)
                                 (list :path path :max_depth 1))
     (pcase-lambda ((map :ok :text (:data (map :root :missing))))
       (if (not ok) (message "%s" text)
         (save-excursion
           (with-silent-modifications
             ;; Meanwhile the names may have come for another key.
             (when (and (backstaff-view-go-to path)
                        (get-text-property (1- (line-end-position)) 'backstaff-unloaded))
               (let ((level (1+ (/ (current-indentation) 2)))
                     (children (plist-get root :children)))
                 (end-of-line)
                 (delete-char -2)       ; the ellipsis
                 (insert (backstaff-tree--count children (plist-get (car missing) :count)))
                 (dolist (child children) (backstaff-tree--insert child level missing))))))
         (when then (funcall then)))))
    t))

(defun backstaff-tree--reveal (path)
  "Go to PATH, and open and load what it is in."
  (unless (cl-loop for end = 0 then (string-search "/" path (1+ end))
                   while end
                   for parent = (if (zerop end) "." (substring path 0 end))
                   thereis (and (backstaff-view-go-to parent)
                                (or (backstaff-tree--load
                                     parent (lambda () (backstaff-tree--reveal path)))
                                    (ignore (outline-show-children)))))
    (backstaff-view-go-to path)))

(defun backstaff-tree-toggle (&rest _)
  "Close the directory at point, or open it, and load its names if need be."
  (interactive nil backstaff-tree-mode)
  (or (backstaff-tree--load (plist-get (backstaff-view-entry t) :path))
      (outline-toggle-children)))

(defun backstaff-tree-toggle-hidden ()
  "Show or hide files whose names start with a dot."
  (interactive nil backstaff-tree-mode)
  (let ((arguments (backstaff-view-get :arguments)))
    (backstaff-view-change
     :arguments (map-merge 'plist arguments
                           (list :include_hidden (not (plist-get arguments :include_hidden))))
     :focus (plist-get (backstaff-view-entry) :path))))

(provide 'backstaff-ui-tree)
;;; backstaff-ui-tree.el ends here
