;;; backstaff-ui-tree.el --- Trees of directories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-tree' shows a directory as an outline: each name is a heading, indented by its
;; level, and a button.  A directory that is deeper than the tree's depth is loaded when it is
;; opened.  The names in a closed directory are in the buffer as well, so a search finds them.

;;; Code:

(require 'outline)
(require 'backstaff-ui-view)

(defcustom backstaff-tree-depth 3
  "Depth of a new tree, from 0 to 12.
A tree of more than 1000 names gets a smaller depth."
  :type 'natnum
  :group 'backstaff :package-version '(backstaff . "0.1.0"))

(defcustom backstaff-tree-leave-out 'contract
  "The names that a new tree leaves out.
`contract' is the choice for agents: .git, node_modules, dist, build, target,
.vscode and .DS_Store are missing.  `ignored' leaves out the files that git
ignores, and `nothing' shows everything."
  :type '(choice (const contract) (const ignored) (const nothing))
  :group 'backstaff :package-version '(backstaff . "0.1.0"))

(defvar-local backstaff-tree--closed nil
  "The paths of the directories that were closed before a redraw.")

(defvar backstaff-tree-mode-map
  (backstaff-view-keymap "TAB" #'backstaff-tree-toggle "<backtab>" #'outline-cycle-buffer
                         "." #'backstaff-tree-toggle-hidden "d" #'backstaff-tree-set-depth
                         "x" #'backstaff-tree-exclude
                         "^" #'backstaff-view-up)
  "Keymap of `backstaff-tree-mode'.")

;;;###autoload
(define-derived-mode backstaff-tree-mode backstaff-view-mode "Tree"
  "Major mode for the tree of a directory.
In \"src/ 12 …\" the directory src has 12 entries and is closed."
  :group 'backstaff
  (backstaff-view-setup
   :request (pcase-lambda ((map :path :depth :hidden :exclude :left-out))
              (list "workspace/tree"
                    (list :path path :entry_kind "all" :max_depth depth :max_entries 1000
                          :include_hidden hidden :exclude exclude
                          :left_out (symbol-name left-out) :count_closed t)))
   :again #'backstaff-tree--again
   :draw #'backstaff-tree--draw
   :open #'backstaff-tree-toggle)
  (setq-local outline-regexp " *[^ \n]"
              outline-level (lambda () (1+ (/ (current-indentation) 2)))
              imenu-generic-expression '((nil "^ *\\(.*/\\)\\(?: [0-9]+\\)?\\(?: …\\)?$" 1))
              revert-buffer-function (lambda (&rest _) (backstaff-tree--change))
              buffer-display-table (make-display-table))
  (set-display-table-slot buffer-display-table 'selective-display (vconcat " …"))
  (outline-minor-mode)
  ;; From Emacs 30 on, outline would restore folds before the answer has come.
  (setq-local revert-buffer-restore-functions nil))

;;;###autoload
(defun backstaff-tree (directory)
  "Show the files and directories below DIRECTORY as a tree.
It opens as deep as it fits the window, and at the current file.  Interactively
DIRECTORY is the root of the project; with a prefix argument, ask."
  (interactive (list (backstaff-read-directory "Tree of directory: " #'backstaff-command-root)))
  (backstaff-view-open-directory
   'backstaff-tree-mode directory :most t :hidden backstaff-show-hidden :exclude nil
   :depth (min 12 backstaff-tree-depth) :left-out backstaff-tree-leave-out))

(defun backstaff-tree--again (state reply)
  "Return changes of STATE if REPLY is too long; note which directories are closed."
  (pcase-let (((map :depth :most :focus) state)
              ((map :missing :scanned-entries) (plist-get reply :data)))
    (setq backstaff-tree--closed
          (and (eql depth (plist-get backstaff-view-state :depth))
               (cl-loop for overlay in (overlays-in (point-min) (point-max))
                        when (eq 'outline (overlay-get overlay 'invisible))
                        collect (save-excursion
                                  (goto-char (overlay-start overlay))
                                  (plist-get (backstaff-view-entry) :path)))))
    ;; A level less shows all siblings before anything below them.
    (when (and (> depth 1)
               (or missing (and most scanned-entries
                                (> scanned-entries (window-body-height (get-buffer-window nil t))))))
      (list :depth (1- depth) :most most :focus focus))))

(defun backstaff-tree--draw (reply)
  "Draw the tree in REPLY, with the directories closed that were so."
  (pcase-let (((map :root :closed :missing :left-out :scanned-entries) (plist-get reply :data))
              ((map :depth :hidden :exclude :focus) backstaff-view-state))
    (backstaff-tree--insert root 0 (append closed missing))
    (dolist (path backstaff-tree--closed)
      (when (backstaff-view-go-to path) (outline-hide-subtree)))
    (when focus
      (backstaff-tree--reveal focus))
    (backstaff-view-set-header
     (format "%d %s to depth %d" (1- scanned-entries) (ngettext "name" "names" (1- scanned-entries)) depth)
     (and missing (format " · CUT: %d more" (cl-loop for one in missing sum (plist-get one :count))))
     (if hidden " · with dot files" " · without dot files")
     (string-replace "**/" "" (mapconcat (apply-partially #'concat ", ")
                                         (append left-out exclude) ""))
     (and (eq (backstaff-view-get :left-out) 'ignored) ", ignored files"))))

(defun backstaff-tree--insert (node level counts)
  "Insert NODE, indented by LEVEL, and the nodes below it.
COUNTS are plists (:path :count) of directories whose names are not all there."
  (pcase-let* (((map :path :name :kind :children :truncated) node)
               (missing (plist-get (cl-find path counts :test #'equal
                                            :key (lambda (one) (plist-get one :path)))
                                   :count))
               (name (if (equal path ".") (file-name-nondirectory
                                           (directory-file-name (backstaff-view-root)))
                       name)))
    ;; A line break at the end of the buffer would be hidden with the last name.
    (insert (if (bobp) "" "\n") (make-string (* 2 level) ?\s)
            (backstaff-view-button
             (concat (if (equal name "") "" (bidi-string-mark-left-to-right (backstaff-names-show name)))
                     (pcase kind (:directory "/") (:symlink "@")))
             path kind)
            (propertize (concat (and (or children missing)
                                     (format " %d" (+ (length children) (or missing 0))))
                                (and truncated (not children) (not (eql missing 0))
                                     (propertize " …" 'backstaff-unloaded t)))
                        'face 'backstaff-note))
    (dolist (child children)
      (backstaff-tree--insert child (1+ level) counts))))

(defun backstaff-tree--unloaded-p ()
  "Return non-nil if the names in the directory on this line were not requested."
  (get-text-property (1- (line-end-position)) 'backstaff-unloaded))

(defun backstaff-tree--load (path &optional then)
  "If point is on the directory PATH without its names, request them and return t.
When they are shown, call THEN."
  (when (backstaff-tree--unloaded-p)
    (backstaff-view-call
     `(:path ,path :depth 1 ,@backstaff-view-state)
     (pcase-lambda ((map :ok :text :data))
       (if (not ok) (message "%s" text)
         (save-excursion
           (with-silent-modifications
             ;; Meanwhile the names may have come for another key.
             (when (and (backstaff-view-go-to path) (backstaff-tree--unloaded-p))
               (let ((level (1+ (/ (current-indentation) 2))))
                 (end-of-line)
                 (delete-region (- (point) 2) (point)) ; the ellipsis
                 (dolist (child (plist-get (plist-get data :root) :children))
                   (backstaff-tree--insert child level (append (plist-get data :closed)
                                                               (plist-get data :missing))))))))
         (when then (funcall then)))))
    t))

(defun backstaff-tree--reveal (path)
  "Go to PATH in each window of the tree, and open and load what it is in."
  (let ((parents (cl-loop for parent = (backstaff-path-parent path) then (backstaff-path-parent parent)
                          while parent collect parent)))
    (if (not (backstaff-view-go-to path))
        (when-let ((parent (cl-find-if #'backstaff-view-go-to parents)))
          (backstaff-tree--load parent (lambda () (backstaff-tree--reveal path))))
      (save-excursion
        (dolist (parent parents)
          (when (backstaff-view-go-to parent)
            (outline-show-children)
            (outline-show-entry))))
      (dolist (window (get-buffer-window-list nil nil t))
        (set-window-point window (point))))))

(defun backstaff-tree-toggle (&rest _)
  "Close the directory at point, or open it, and load its names if need be."
  (interactive nil backstaff-tree-mode)
  (pcase-let (((map :path :kind) (backstaff-view-entry t)))
    (unless (eq kind :directory)
      (user-error "This is not a directory"))
    (backstaff-view-go-to path)
    (or (backstaff-tree--load path)
        (outline-toggle-children))))

;;; Choosing the files

(defun backstaff-tree--change (&rest changes)
  "Request the tree with CHANGES; point stays on its file."
  (apply #'backstaff-view-change :focus (plist-get (backstaff-view-entry) :path) changes))

(defun backstaff-tree-toggle-hidden ()
  "Show or hide files whose names start with a dot."
  (interactive nil backstaff-tree-mode)
  (backstaff-tree--change :hidden (not (backstaff-view-get :hidden))))

(defun backstaff-tree-set-depth (depth)
  "Show the tree to DEPTH levels, from 0 to 12."
  (interactive (list (if current-prefix-arg (prefix-numeric-value current-prefix-arg)
                       (read-number "Depth (0 to 12): " (backstaff-view-get :depth))))
               backstaff-tree-mode)
  (unless (<= 0 depth 12)
    (user-error "A tree has a depth from 0 to 12"))
  (backstaff-tree--change :depth depth))

(defun backstaff-tree-exclude (globs)
  "Leave out what matches GLOBS, such as \"*.{o,log} docs/**\"; blank for nothing.
A glob without a slash counts in any directory."
  (interactive (list (read-string "Exclude (such as *.log docs/**, empty for nothing): "
                                  (string-join (backstaff-view-get :exclude) " ")))
               backstaff-tree-mode)
  (backstaff-tree--change :exclude (backstaff-view-globs globs)))

(provide 'backstaff-ui-tree)
;;; backstaff-ui-tree.el ends here
