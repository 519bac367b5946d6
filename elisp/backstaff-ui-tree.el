;;; backstaff-ui-tree.el --- Trees of directories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each line of a tree is a heading of `outline-minor-mode', which folds directories.
;; TAB folds a directory or opens it by one level; below the depth of the tree it asks
;; the server.  Directories stay opened and folded when the tree is requested again.  A
;; new tree opens as many levels as fit the window, and the way to the file that the
;; user comes from.
;;
;; The entry of a line is a node of the reply, a plist with `:children'.  A node that
;; was cut at the depth has `:truncated' and gets `:count', the number of names in it.
;; One whose tree was cut at the limit of entries gets `:limited'.
;;
;; Names stand in the order of listings: directories first, and case counts only
;; between names that are equal otherwise.  An agent gets them in the contract's order.

;;; Code:

(require 'cl-lib)
(require 'outline)
(require 'subr-x)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defvar revert-buffer-restore-functions)

(defgroup backstaff-tree nil
  "Trees of directories."
  :group 'backstaff :prefix "backstaff-tree-")

(defcustom backstaff-tree-max-entries 400
  "Number of entries in a new tree, from 1 to 1000.
\\<backstaff-tree-mode-map>\\[backstaff-tree-more] doubles it in a buffer."
  :type 'integer)

(defcustom backstaff-tree-depth 3
  "Depth of a new tree, from 0 to 12." :type 'integer)

(defcustom backstaff-tree-files t
  "Whether a new tree shows files and links besides directories."
  :type 'boolean)

(defcustom backstaff-tree-exclude nil
  "Globs of the files and directories that a new tree leaves out.
They apply to paths below the project's root: \"*.log\" leaves out files in
the root itself, \"**/*.log\" those at any depth."
  :type '(repeat (string :tag "Glob")))

(defcustom backstaff-tree-leave-out 'contract
  "The names that a new tree leaves out.
`contract' is the choice for agents: .git, node_modules, dist, build, target,
.vscode and .DS_Store are missing.  `ignored' leaves out the files that git
ignores, and `nothing' shows everything.  \\<backstaff-tree-mode-map>\\[backstaff-tree-leave-out] changes it in a buffer."
  :type '(choice (const contract) (const ignored) (const nothing)))

(defconst backstaff-tree--most-entries 1000
  "Maximum number of entries that the tool allows.")

(defvar-local backstaff-tree--folds nil
  "A hash table from the paths of directories to `folded' or `open'.
Those that the user opened below the tree's depth are `open'.")

(defvar-local backstaff-tree--fitted nil
  "The root and path of the tree that was fitted to the window.")

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
TAB opens and closes a directory; \"src/ … 12\" is a closed one with 12 entries.

\\{backstaff-tree-mode-map}"
  :group 'backstaff-tree
  (backstaff-view-setup
   :request (lambda (state)
              (list "workspace/tree"
                    (list :path (plist-get state :path)
                          :entry_kind (if (plist-get state :files) "all" "directory")
                          :max_depth (plist-get state :depth)
                          :max_entries (plist-get state :max)
                          :include_hidden (plist-get state :hidden)
                          :exclude (plist-get state :exclude))
                    (list :left-out (symbol-name (plist-get state :left-out))
                          :count-closed t)))
   :before-draw #'backstaff-tree--note-folds
   :draw #'backstaff-tree--draw
   :title (apply-partially #'backstaff-view-title "tree")
   :defaults (lambda () (list :hidden backstaff-show-hidden
                              :files backstaff-tree-files
                              :depth backstaff-tree-depth
                              :max backstaff-tree-max-entries
                              :left-out backstaff-tree-leave-out
                              :exclude backstaff-tree-exclude))
   :open (lambda (entry)
           (let ((path (plist-get entry :path)))
             (if (eq (plist-get entry :kind) :symlink)
                 (list 'backstaff-list-mode :path path)
               ;; A focus below the directory unfolds it.
               (list major-mode :path path :focus (concat path "/"))))))
  (setq backstaff-tree--folds (make-hash-table :test #'equal))
  (setq-local outline-regexp "."
              ;; The lines of a failure have no level.
              outline-level (lambda () (or (get-text-property (line-beginning-position)
                                                              'backstaff-level)
                                           1))
              outline-isearch-open-invisible-function #'backstaff-tree--reveal
              outline-minor-mode-cycle nil
              ;; Each drawing moves the markers of an index to the first line.
              imenu-auto-rescan t
              imenu-auto-rescan-maxout most-positive-fixnum
              imenu-prev-index-position-function
              (lambda () (zerop (forward-line (if (bolp) -1 0))))
              imenu-extract-index-name-function
              (lambda ()
                (let ((node (get-text-property (point) 'backstaff-entry)))
                  (and (eq (plist-get node :kind) :directory)
                       (backstaff-view-label (plist-get node :path))))))
  ;; Emacs 29 calls the hook obsolete, has no other for this, and still runs it.
  (with-suppressed-warnings ((obsolete outline-view-change-hook))
    (add-hook 'outline-view-change-hook #'backstaff-tree--count-folded nil t))
  (add-hook 'imenu-after-jump-hook #'backstaff-tree--reveal nil t)
  (add-hook 'imenu-after-jump-hook #'backstaff-view-go-to-name 50 t)
  (outline-minor-mode)
  ;; Emacs 30 would fold the old text before the reply comes, and move point.
  (setq-local revert-buffer-restore-functions nil)
  ;; A count stands for a folded text, in place of an ellipsis.
  (remove-from-invisibility-spec '(outline . t))
  (add-to-invisibility-spec 'outline))

;;;###autoload
(defun backstaff-tree (directory)
  "Show the files and directories below DIRECTORY as a tree.
Interactively this is the root of the project; with a prefix argument, ask."
  (interactive (list (if current-prefix-arg
                         (backstaff-read-directory "Tree of directory: ")
                       (backstaff-command-root))))
  (backstaff-view-open-directory 'backstaff-tree-mode directory))


;;; Drawing

(defun backstaff-tree--nodes (&optional node)
  "Return NODE, by default the root, and all nodes below it."
  (let ((node (or node (plist-get (plist-get backstaff-view-reply :data) :root))))
    (cons node (mapcan #'backstaff-tree--nodes (copy-sequence (plist-get node :children))))))

(defun backstaff-tree--unread-p (node)
  "Return non-nil if the children of NODE were not requested yet."
  (and (plist-get node :truncated) (not (plist-get node :children))))

(defun backstaff-tree--prepare (node data)
  "Sort the nodes below NODE, and add the counts of DATA to them.
DATA is the tree of NODE.  If it was cut, NODE gets the number of missing names,
and each closed directory gets the number of names in it."
  (let ((counts (make-hash-table :test #'equal)))
    (dolist (closed (plist-get data :closed))
      (puthash (plist-get closed :path) (plist-get closed :count) counts))
    (dolist (one (backstaff-tree--nodes node))
      (plist-put one :count (gethash (plist-get one :path) counts))
      (plist-put one :children
                 (cl-sort (plist-get one :children) #'string<
                          ;; Directories come first, and case counts only between equal names.
                          :key (lambda (child)
                                 (let ((name (plist-get child :name)))
                                   (concat (if (eq (plist-get child :kind) :directory) "a" "b")
                                           (upcase name) "\0" name)))))))
  (plist-put node :limited (plist-get data :limit-reached))
  (plist-put node :missing
             (cl-loop for one in (plist-get data :missing)
                      when (equal (plist-get one :path) (plist-get node :path))
                      return (plist-get one :count))))

(defun backstaff-tree--draw (reply)
  "Draw the tree in REPLY.  If it was cut, request one with a level less."
  (let* ((data (plist-get reply :data)) (root (plist-get data :root))
         (depth (backstaff-view-get :depth)) (focus (backstaff-view-get :focus))
         (again (and (plist-get data :missing) (> depth 1))))
    (backstaff-tree--prepare root data)
    (unless again
      (backstaff-tree--fit)
      (while (setq focus (and focus (backstaff-path-parent focus)))
        (puthash focus 'open backstaff-tree--folds)))
    (backstaff-tree--insert-all)
    ;; A level less shows all siblings before anything below them.
    (if again
        (backstaff-view-change
         :depth (1- depth) :wanted (or (backstaff-view-get :wanted) depth))
      (backstaff-tree--open-again root))))

(defun backstaff-tree--fit ()
  "Fold a new tree below the levels that the window has room for."
  (let ((place (list (backstaff-view-get :root) (backstaff-view-get :path)))
        (room (window-body-height (get-buffer-window nil t)))
        (level (list (plist-get (plist-get backstaff-view-reply :data) :root))) (depth 0))
    (unless (equal place backstaff-tree--fitted)
      (setq backstaff-tree--fitted place)
      (while level
        (cl-decf room (length level))
        (setq level (cl-loop for node in level append (plist-get node :children)))
        (cl-incf depth)
        ;; The first level is seen in any case.
        (when (and (> depth 1) (< room (length level)))
          (setq room -1)
          (dolist (node level)
            (puthash (backstaff-path-parent (plist-get node :path)) 'folded
                     backstaff-tree--folds)))))))

(defun backstaff-tree--insert (node before branch level)
  "Insert NODE and its children at LEVEL, folded as they were.
The line starts with BEFORE and BRANCH, such as \"│  \" and \"├─ \"."
  (unless (bobp)
    (insert "\n"))
  (let* ((start (point))
         (kind (plist-get node :kind))
         (children (plist-get node :children))
         (root (file-name-nondirectory (directory-file-name (backstaff-view-get :root))))
         (name (cond ((not (equal (plist-get node :path) "."))
                      (backstaff-view-label (plist-get node :name)))
                     ;; The name of the root "/" is empty; its slash follows.
                     ((equal root "") "")
                     (t (backstaff-names-show root)))))
    (insert (propertize (concat before branch) 'face 'shadow)
            (propertize (bidi-string-mark-left-to-right name)
                        'face (backstaff-view-kind-face kind) 'backstaff-name t)
            (backstaff-view-kind-suffix kind)
            (if (backstaff-tree--unread-p node)
                (backstaff-tree--count (plist-get node :count))
              ""))
    (add-text-properties start (point) `(backstaff-entry ,node backstaff-level ,level))
    (setq before (concat before (pcase branch ("" "") ("├─ " "│  ") (_ "   ")))
          start (point))
    (while children
      (backstaff-tree--insert (pop children) before (if children "├─ " "└─ ") (1+ level)))
    (when (and (> (point) start)
               (eq (gethash (plist-get node :path) backstaff-tree--folds) 'folded))
      (outline-flag-region start (point) t))))

(defun backstaff-tree--count (count)
  "Return the text behind a closed directory with COUNT names; nil is unknown."
  (if (eql count 0) ""
    (propertize (if count (format " … %d" count) " …") 'face 'shadow)))

(defun backstaff-tree--insert-all ()
  "Insert the tree, its counts in the header, and a note if it was cut."
  (backstaff-tree--insert (car (backstaff-tree--nodes)) "" "" 1)
  (backstaff-tree--count-folded)
  (let* ((nodes (cdr (backstaff-tree--nodes)))
         (exclude (backstaff-view-get :exclude))
         (limit (backstaff-view-get :max))
         (limited (backstaff-tree--limited))
         (left-out (plist-get (plist-get backstaff-view-reply :data) :left-out))
         (names (and left-out (concat ": " (truncate-string-to-width
                                            (string-join left-out " ") 24 nil nil "…")))))
    (cl-flet ((count (kind one many)
                (backstaff-view-count (cl-count kind nodes :key (lambda (it) (plist-get it :kind)))
                                      one many)))
      (backstaff-view-set-header
       (backstaff-view-get :path)
       (and limited "CUT")
       ;; A narrow window cuts off the end, so the names that are left out come first.
       (and exclude (format "without %s" (string-join exclude " ")))
       (pcase (backstaff-view-get :left-out)
         ('nothing "nothing left out")
         ('ignored (concat "ignored left out" names))
         (_ (and names (concat "left out" names))))
       (string-join (delq nil (list (count :directory "directory" "directories")
                                    (count :file "file" "files")
                                    (count :symlink "link" "links")))
                    ", ")
       (concat (format "depth %d" (backstaff-view-get :depth))
               (and (backstaff-view-get :wanted)
                    (format " of %d" (backstaff-view-get :wanted))))
       (if (backstaff-view-get :hidden) "hidden shown" "hidden off")))
    (backstaff-view-set-notes
     (and limited
          (concat
           (format "… stopped at %d entries%s%s: " limit
                   (if (plist-get limited :missing)
                       (format ", with %d more" (plist-get limited :missing))
                     "")
                   (if (equal (plist-get limited :path) (backstaff-view-get :path)) ""
                     (format " in %s/" (backstaff-view-label (plist-get limited :path)))))
           ;; A path may look like a key.
           (substitute-command-keys
            (concat (if (< limit backstaff-tree--most-entries)
                        "\\[backstaff-tree-more] shows more"
                      "\\[backstaff-view-visit] on a directory starts there")
                    ", \\[backstaff-tree-set-depth] and \\[backstaff-tree-add-exclude]\
 make the tree smaller")))))))

(defun backstaff-tree--limited ()
  "Return the first node whose tree was cut at the limit of entries, or nil."
  (cl-find-if (lambda (node) (plist-get node :limited)) (backstaff-tree--nodes)))


;;; Folding

(defun backstaff-tree--count-folded ()
  "Show behind each folded directory how many names are in it."
  (dolist (overlay (overlays-in (point-min) (point-max)))
    (when (eq (overlay-get overlay 'invisible) 'outline)
      (let ((node (get-text-property (max (point-min) (1- (overlay-start overlay)))
                                     'backstaff-entry)))
        (overlay-put overlay 'before-string
                     (backstaff-tree--count (length (plist-get node :children))))))))

(defun backstaff-tree--note-folds ()
  "Note which visible directories are folded; return non-nil if any is."
  (let ((any nil))
    (outline-map-region
     (lambda ()
       (let* ((node (get-text-property (point) 'backstaff-entry)) (path (plist-get node :path)))
         (when (and (plist-get node :children) (not (outline-invisible-p)))
           (cond ((outline-invisible-p (line-end-position))
                  (puthash path 'folded backstaff-tree--folds)
                  (setq any t))
                 ((gethash path backstaff-tree--folds)
                  (puthash path 'open backstaff-tree--folds))))))
     (point-min) (point-max))
    any))

(defun backstaff-tree--reveal (&rest _)
  "Unfold the directories around point."
  (save-excursion
    (when (outline-invisible-p (line-beginning-position))
      (outline-up-heading 1 t)
      (backstaff-tree--reveal)
      (outline-show-children))))

(defun backstaff-tree-toggle ()
  "Fold the directory at point, or open it by one level.
If its children were not requested yet, request them."
  (interactive nil backstaff-tree-mode)
  (let ((node (backstaff-view-entry-at-point)))
    (cond ((not (eq (plist-get node :kind) :directory))
           (user-error "This is not a directory"))
          ((plist-get node :children)
           (backstaff-view-go-to (plist-get node :path)) ; point may be in the fold
           (outline-toggle-children))
          (t (backstaff-tree--load (plist-get node :path))))))

(defun backstaff-tree-toggle-all ()
  "Fold all directories below the first, or unfold all if one is folded."
  (interactive nil backstaff-tree-mode)
  (if (backstaff-tree--note-folds)
      (outline-show-all)
    (outline-hide-sublevels 2)
    (outline-back-to-heading)
    (backstaff-view-go-to-name)))

(defun backstaff-tree--load (path &optional again)
  "Request the children of the directory PATH and draw them.
AGAIN is non-nil if the user opened it before."
  (backstaff-view-call
   `(:path ,path :depth 1 ,@backstaff-view-state)
   (lambda (reply)
     (let ((data (plist-get reply :data))
           (node (cl-find path (backstaff-tree--nodes) :test #'equal
                          :key (lambda (it) (plist-get it :path)))))
       (cond ((not (plist-get reply :ok)) (message "%s" (plist-get reply :text)))
             (node
              (backstaff-names-labels reply backstaff-view-labels)
              (plist-put node :children (plist-get (plist-get data :root) :children))
              (plist-put node :truncated nil)
              (backstaff-tree--prepare node data)
              (backstaff-tree--note-folds)
              (puthash path 'open backstaff-tree--folds)
              (unless (or again (plist-get node :children))
                (message "%s/ has no entries to show" (backstaff-view-label path)))
              (backstaff-view-redraw #'backstaff-tree--insert-all)
              (backstaff-view-seek (point-min))
              (backstaff-tree--open-again node)))))))

(defun backstaff-tree--open-again (node)
  "Request the children of the directories below NODE that the user opened."
  (dolist (one (backstaff-tree--nodes node))
    (when (and (backstaff-tree--unread-p one)
               (eq (gethash (plist-get one :path) backstaff-tree--folds) 'open))
      (backstaff-tree--load (plist-get one :path) t))))


;;; Choosing the files

(defun backstaff-tree-toggle-files ()
  "Show or hide files and links."
  (interactive nil backstaff-tree-mode)
  (backstaff-view-change :files (not (backstaff-view-get :files))))

(defun backstaff-tree-set-depth (depth)
  "Show the tree to DEPTH levels."
  (interactive
   (list (if current-prefix-arg
             (prefix-numeric-value current-prefix-arg)
           (read-number "Depth (0 to 12): " (backstaff-view-get :depth))))
   backstaff-tree-mode)
  (clrhash backstaff-tree--folds)
  (outline-show-all)
  (backstaff-view-change :depth depth :wanted nil))

(defun backstaff-tree-add-exclude (glob)
  "Also exclude files and directories that match GLOB.
If GLOB is nil, which is the prefix argument, exclude nothing."
  (interactive
   (list (and (not current-prefix-arg)
              (read-string "Exclude (such as *.log, **/*.log, docs/**): ")))
   backstaff-tree-mode)
  (when (equal glob "")
    (user-error "Type a glob, such as *.log"))
  (backstaff-view-change
   :exclude (and glob (append (backstaff-view-get :exclude) (list glob)))))

(defun backstaff-tree-leave-out (names)
  "Leave NAMES out of the tree: `contract', `nothing' or `ignored'.
Interactively, go from each of these to the next."
  (interactive (list (pcase (backstaff-view-get :left-out)
                       ('contract 'nothing) ('nothing 'ignored) (_ 'contract)))
               backstaff-tree-mode)
  (backstaff-view-change :left-out names)
  (message "%s" (pcase names
                  ('contract "The tree is that of agents: it leaves out .git, build and such")
                  ('nothing "The tree leaves out only hidden names")
                  (_ "The tree leaves out the files that git ignores"))))

(defun backstaff-tree-more ()
  "Request twice as many entries, up to 1000."
  (interactive nil backstaff-tree-mode)
  (let ((limit (backstaff-view-get :max)))
    (cond ((not (or (backstaff-view-get :wanted) (backstaff-tree--limited)))
           (user-error "The tree is complete to its depth; %s changes that"
                       (substitute-command-keys "\\[backstaff-tree-set-depth]")))
          ((>= limit backstaff-tree--most-entries)
           (user-error "A tree has at most %d entries" limit)))
    (backstaff-view-change :max (min (* 2 limit) backstaff-tree--most-entries)
                           :depth (or (backstaff-view-get :wanted) (backstaff-view-get :depth))
                           :wanted nil)))

(provide 'backstaff-ui-tree)
;;; backstaff-ui-tree.el ends here
