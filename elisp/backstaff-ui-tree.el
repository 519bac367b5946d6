;;; backstaff-ui-tree.el --- Trees of directories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Directories stay open and closed when the tree is requested again.  The entry of a
;; line is a node of the reply, a plist with `:children'.  The names in a closed
;; directory are in the buffer as well, but invisible, so a search finds them.

;;; Code:

(require 'backstaff-ui-view)

(defcustom backstaff-tree-depth 3
  "Depth of a new tree, from 0 to 12." :type 'integer :group 'backstaff)

(defcustom backstaff-tree-leave-out 'contract
  "The names that a new tree leaves out.
`contract' is the choice for agents: .git, node_modules, dist, build, target,
.vscode and .DS_Store are missing.  `ignored' leaves out the files that git
ignores, and `nothing' shows everything.  \\<backstaff-tree-mode-map>\\[backstaff-tree-leave-out] changes it in a buffer."
  :type '(choice (const contract) (const ignored) (const nothing)) :group 'backstaff)

(defconst backstaff-tree--entries 400
  "Number of entries in a new tree, which + doubles.")

(defvar-local backstaff-tree--folds nil
  "Hash table from the path of each directory that the user folded to its state.
The state is `open' or `closed'.  A request also asks for the names in an open
directory that is deeper than the tree's depth.")

(defvar-local backstaff-tree--counts nil
  "A hash table from the paths of directories to numbers of names without a line.")

(defvar-local backstaff-tree--fitted nil
  "The name of the buffer whose tree was fitted to the window.")

(defvar backstaff-tree-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "TAB") #'backstaff-tree-toggle)
    (define-key map (kbd "<backtab>") #'backstaff-tree-toggle-all)
    (define-key map (kbd ".") #'backstaff-view-toggle-hidden)
    (define-key map (kbd "e") #'backstaff-tree-toggle-files)
    (define-key map (kbd "d") #'backstaff-tree-set-depth)
    (define-key map (kbd "x") #'backstaff-tree-add-exclude)
    (define-key map (kbd "G") #'backstaff-tree-leave-out)
    (define-key map (kbd "+") #'backstaff-tree-more)
    (define-key map (kbd "t") #'backstaff-view-list-or-tree)
    (define-key map (kbd "l") #'backstaff-view-list)
    map)
  "Keymap of `backstaff-tree-mode'.")

;;;###autoload
(define-derived-mode backstaff-tree-mode backstaff-view-mode "Tree"
  "Major mode for the tree of a directory.
TAB opens and closes a directory; \"src/ … 12\" is a closed one with 12 entries."
  (backstaff-view-setup
   :request (lambda (state)
              (pcase-let (((map :path :files :depth :max :hidden :exclude :left-out) state))
                (list "workspace/tree"
                      (list :path path :entry_kind (if files "all" "directory") :max_depth depth
                            :max_entries max :include_hidden hidden :exclude exclude)
                      (list :left-out (symbol-name left-out) :count-closed t))))
   ;; A level less shows all siblings before anything below them.
   :again (lambda (state reply)
            (pcase-let (((map :depth :wanted :focus) state))
              (when (and (plist-get (plist-get reply :data) :missing) (> depth 1))
                (list :depth (1- depth) :wanted (or wanted depth) :focus focus))))
   :draw #'backstaff-tree--draw
   :defaults (lambda () (list :hidden backstaff-show-hidden :files t :depth backstaff-tree-depth
                              :max backstaff-tree--entries :left-out backstaff-tree-leave-out))
   :open (lambda (entry)
           (let ((path (plist-get entry :path)))
             (if (eq (plist-get entry :kind) :symlink)
                 (list 'backstaff-list-mode :path path)
               ;; A focus below the directory opens it.
               (list major-mode :path path :focus (concat path "/"))))))
  (setq backstaff-tree--folds (make-hash-table :test #'equal)
        backstaff-tree--counts (make-hash-table :test #'equal))
  (setq-local imenu-auto-rescan t
              imenu-create-index-function
              (lambda ()
                (cl-loop for node in (backstaff-tree--nodes)
                         when (eq (plist-get node :kind) :directory)
                         collect (list (backstaff-names-show (plist-get node :path)) 1
                                       (lambda (_name _position path)
                                         (backstaff-tree--open-way path)
                                         (backstaff-view-redraw #'backstaff-tree--insert-all path))
                                       (plist-get node :path))))))

;;;###autoload
(defun backstaff-tree (directory)
  "Show the files and directories below DIRECTORY as a tree.
Interactively this is the root of the project; with a prefix argument, ask."
  (interactive (list (backstaff-read-directory "Tree of directory: " #'backstaff-command-root)))
  (backstaff-view-open-directory 'backstaff-tree-mode directory))

;;; Drawing

(defun backstaff-tree--nodes (&optional node)
  "Return NODE, by default the root, and all nodes below it."
  (let ((node (or node (plist-get (plist-get backstaff-view-reply :data) :root))))
    (cons node (mapcan #'backstaff-tree--nodes (copy-sequence (plist-get node :children))))))

(defun backstaff-tree--count (data)
  "Keep the numbers of names that DATA, a tree, has no lines for."
  (pcase-dolist ((map :path :count) (append (plist-get data :closed) (plist-get data :missing)))
    (puthash path count backstaff-tree--counts)))

(defun backstaff-tree--missing (node)
  "Return the number of names in NODE that have no line, or t if it is unknown."
  (gethash (plist-get node :path) backstaff-tree--counts (if (plist-get node :truncated) t 0)))

(defun backstaff-tree--cut-p ()
  "Return non-nil if a directory has lines for some of its names alone."
  (cl-loop for node in (backstaff-tree--nodes)
           thereis (and (plist-get node :children) (/= 0 (backstaff-tree--missing node)))))

(defun backstaff-tree--draw (reply)
  "Draw the tree in REPLY, with the way to the file that point goes to."
  (let ((root (plist-get (plist-get reply :data) :root))
        (place (backstaff-view-name major-mode backstaff-view-state)))
    (clrhash backstaff-tree--counts)
    (backstaff-tree--count (plist-get reply :data))
    (unless (equal place backstaff-tree--fitted)
      (setq backstaff-tree--fitted place)
      ;; Close the directories below the levels that fit the window.
      (let* ((room (window-body-height (get-buffer-window nil t)))
             (level (plist-get root :children)) (used (length level)))
        (while (setq level (cl-loop for node in level append (plist-get node :children)))
          (when (> (cl-incf used (length level)) (1- room))
            (dolist (node level)
              (puthash (backstaff-path-parent (plist-get node :path)) 'closed
                       backstaff-tree--folds))))))
    (backstaff-tree--open-way (backstaff-view-get :focus))
    (backstaff-tree--load root)
    (backstaff-tree--insert-all)))

(defun backstaff-tree--open-way (path)
  "Open the directories around PATH."
  (while (setq path (and path (backstaff-path-parent path)))
    (puthash path 'open backstaff-tree--folds)))

(defun backstaff-tree--insert (node before branch)
  "Insert NODE and its children.
The line starts with BEFORE and BRANCH, such as \"│  \" and \"├─ \"."
  (unless (bobp)
    (insert "\n"))
  (pcase-let* (((map :path :name :kind :children) node)
               (name (if (equal path ".") (file-name-nondirectory
                                           (directory-file-name (backstaff-view-get :root)))
                       name))
               (`(,face ,suffix) (backstaff-view-kind kind))
               (missing (backstaff-tree--missing node))
               (start (point)))
    (insert (propertize (concat before branch) 'face 'shadow)
            ;; The name of the root "/" is empty; its slash follows.
            (propertize (if (equal name "") ""
                          (bidi-string-mark-left-to-right (backstaff-names-show name)))
                        'face face 'backstaff-name t)
            suffix (if children "" (backstaff-tree--ellipsis missing)))
    (put-text-property start (point) 'backstaff-entry node)
    (setq before (concat before (pcase branch ("" "") ("├─ " "│  ") (_ "   ")))
          start (point))
    (cl-loop for (child . more) on children
             do (backstaff-tree--insert child before (if (or more (/= missing 0)) "├─ " "└─ ")))
    (unless (or (null children) (= missing 0))
      (insert (propertize (format "\n%s└─ … %d more" before missing)
                          'face 'shadow 'backstaff-entry node)))
    (when (and children (eq (gethash path backstaff-tree--folds) 'closed))
      ;; A string at an end of the fold would be seen at the end of a fold around it, too.
      (let ((count (make-overlay (1- start) start)) (fold (make-overlay start (point))))
        (overlay-put count 'display
                     (concat suffix (backstaff-tree--ellipsis (+ missing (length children)))))
        (overlay-put fold 'invisible t)
        (overlay-put fold 'isearch-open-invisible
                     (lambda (_)
                       (puthash path 'open backstaff-tree--folds)
                       (delete-overlay count)
                       (delete-overlay fold)))))))

(defun backstaff-tree--ellipsis (count)
  "Return the text behind a closed directory with COUNT names; t is unknown."
  (propertize (pcase count ('t " …") (0 "") (_ (format " … %d" count))) 'face 'shadow))

(defun backstaff-tree--insert-all ()
  "Insert the tree, and describe it in the header line."
  (backstaff-tree--insert (car (backstaff-tree--nodes)) "" "")
  (pcase-let* (((map :depth :wanted :exclude :hidden :left-out) backstaff-view-state)
               (names (plist-get (plist-get backstaff-view-reply :data) :left-out))
               (number (length (cdr (backstaff-tree--nodes)))) (cut (backstaff-tree--cut-p)))
    (backstaff-view-set-header
     (if cut " CUT · " " ")
     (format "%d %s to depth %d" number (ngettext "name" "names" number) depth)
     (and wanted (format " of %d" wanted))
     (and exclude (concat " · without " (string-join exclude " ")))
     (if hidden " · hidden shown" " · hidden off")
     (cond ((eq left-out 'nothing) " · nothing left out")
           ((or names (eq left-out 'ignored))
            (concat (if (eq left-out 'ignored) " · ignored left out" " · left out")
                    (and names ": ") (string-join names " ")))))
    (backstaff-view-set-notes
     (and cut (substitute-command-keys
               "\\[backstaff-tree-more] shows more, \\[backstaff-tree-set-depth] and\
 \\[backstaff-tree-add-exclude] make the tree smaller")))))

;;; Opening and closing

(defun backstaff-tree-toggle ()
  "Close the directory at point, or open it.
If the names in it were not requested yet, request them."
  (interactive nil backstaff-tree-mode)
  (let* ((node (backstaff-view-entry-at-point)) (path (plist-get node :path)))
    (cond ((not (eq (plist-get node :kind) :directory))
           (user-error "This is not a directory"))
          ((plist-get node :children)
           (puthash path (if (eq (gethash path backstaff-tree--folds) 'closed) 'open 'closed)
                    backstaff-tree--folds)
           (backstaff-view-redraw #'backstaff-tree--insert-all))
          ((eql (backstaff-tree--missing node) 0)
           (message "%s/ has no entries to show" (backstaff-names-show path)))
          (t (puthash path 'open backstaff-tree--folds)
             (backstaff-tree--load node)))))

(defun backstaff-tree-toggle-all ()
  "Close all directories below the first, or open all if one is closed."
  (interactive nil backstaff-tree-mode)
  (let* ((paths (or (cl-loop for node in (cdr (backstaff-tree--nodes))
                             when (plist-get node :children) collect (plist-get node :path))
                    (user-error "No directory can be closed")))
         (open (cl-loop for path in paths
                        thereis (eq (gethash path backstaff-tree--folds) 'closed))))
    (dolist (path paths)
      (puthash path (if open 'open 'closed) backstaff-tree--folds))
    (backstaff-view-redraw #'backstaff-tree--insert-all)))

(defun backstaff-tree--load (node)
  "Request the names in NODE, and in those below it, that are open without them."
  (dolist (one (backstaff-tree--nodes node))
    (pcase-let (((map :path :children) one))
      (when (and (eq (gethash path backstaff-tree--folds) 'open)
                 (not (or children (eql (backstaff-tree--missing one) 0))))
        (backstaff-view-call
         `(:path ,path :depth 1 ,@backstaff-view-state)
         (pcase-lambda ((map :ok :text :data))
           (if (not ok) (message "%s" text)
             (plist-put one :children (plist-get (plist-get data :root) :children))
             (plist-put one :truncated nil)
             (remhash path backstaff-tree--counts)
             (backstaff-tree--count data)
             (backstaff-view-redraw #'backstaff-tree--insert-all)
             (backstaff-tree--load one))))))))

;;; Choosing the files

(defun backstaff-tree-toggle-files ()
  "Show or hide files and links."
  (interactive nil backstaff-tree-mode)
  (backstaff-view-change :files (not (backstaff-view-get :files))))

(defun backstaff-tree-set-depth (depth)
  "Show the tree to DEPTH levels."
  (interactive (list (if current-prefix-arg (prefix-numeric-value current-prefix-arg)
                       (read-number "Depth (0 to 12): " (backstaff-view-get :depth))))
               backstaff-tree-mode)
  (clrhash backstaff-tree--folds)
  (backstaff-view-change :depth depth :wanted nil))

(defun backstaff-tree-add-exclude (globs)
  "Also exclude files and directories that match GLOBS, such as \"*.log docs/**\".
A glob without a slash counts in any directory.  If GLOBS is nil or blank, or
with a prefix argument, exclude nothing."
  (interactive (list (unless current-prefix-arg
                       (read-string "Exclude (such as *.log docs/**, empty for nothing): ")))
               backstaff-tree-mode)
  (let ((globs (backstaff-view-globs (or globs ""))))
    (backstaff-view-change :exclude (and globs (append (backstaff-view-get :exclude) globs)))))

(defun backstaff-tree-leave-out (names)
  "Leave NAMES out of the tree: `contract', `nothing' or `ignored'.
Interactively, go from each of these to the next."
  (interactive (list (pcase (backstaff-view-get :left-out)
                       ('contract 'nothing) ('nothing 'ignored) (_ 'contract)))
               backstaff-tree-mode)
  (backstaff-view-change :left-out names))

(defun backstaff-tree-more ()
  "Request twice as many entries, up to 1000."
  (interactive nil backstaff-tree-mode)
  (let ((limit (backstaff-view-get :max)) (most 1000)) ; the tool allows no more
    (cond ((not (or (backstaff-view-get :wanted) (backstaff-tree--cut-p)))
           (user-error "The tree is complete to its depth; %s changes that"
                       (substitute-command-keys "\\[backstaff-tree-set-depth]")))
          ((>= limit most)
           (user-error "A tree has at most %d entries; RET on a directory starts there" limit)))
    (backstaff-view-change :max (min (* 2 limit) most)
                           :depth (or (backstaff-view-get :wanted) (backstaff-view-get :depth))
                           :wanted nil)))

(provide 'backstaff-ui-tree)
;;; backstaff-ui-tree.el ends here
