;;; backstaff-tree.el --- Trees of directories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-tree' draws what is below a directory.  TAB folds a directory
;; away and back, and where the tool went no deeper it asks for what is in
;; there.  What was opened so, and what was folded, stays so when the tree is
;; asked for again.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-view)

(declare-function bookmark-prop-get "bookmark" (bookmark-name-or-record prop))


;;; Options

(defgroup backstaff-tree nil
  "Trees of directories."
  :group 'backstaff
  :prefix "backstaff-tree-")

(defconst backstaff-tree--most-entries 1000
  "How many entries a tree can have; the tool knows no more.")

(defconst backstaff-tree--most-depth 12
  "How deep a tree can go; the tool knows no more.")

(defcustom backstaff-tree-max-entries 400
  "How many entries a new tree shows, from 1 to 1000.
\\<backstaff-tree-mode-map>\\[backstaff-tree-more] asks for more of them."
  :type 'integer)

(defcustom backstaff-tree-depth 3
  "How deep a new tree goes, from 0 to 12."
  :type 'integer)

(defcustom backstaff-tree-files t
  "Whether a new tree shows files and links, or directories alone."
  :type 'boolean)

(defcustom backstaff-tree-exclude nil
  "Globs for what a new tree leaves out.
They apply to paths below the project's root: \"*.log\" leaves out what is
right in the root, \"**/*.log\" whatever is called so at any depth."
  :type '(repeat (string :tag "Glob")))

(defface backstaff-tree-guide '((t :inherit shadow))
  "Face for the lines that lead from a directory to what is in it."
  :group 'backstaff-faces)


;;; Mode

(defvar backstaff-tree-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'backstaff-tree-visit)
    (define-key map (kbd "o") #'backstaff-tree-visit-other-window)
    (define-key map (kbd "TAB") #'backstaff-tree-toggle)
    (define-key map (kbd "<backtab>") #'backstaff-tree-toggle-all)
    (define-key map (kbd "n") #'next-line)
    (define-key map (kbd "p") #'previous-line)
    (define-key map (kbd "^") #'backstaff-view-up)
    (define-key map (kbd ".") #'backstaff-view-toggle-hidden)
    (define-key map (kbd "e") #'backstaff-tree-toggle-files)
    (define-key map (kbd "d") #'backstaff-tree-set-depth)
    (define-key map (kbd "x") #'backstaff-tree-add-exclude)
    (define-key map (kbd "+") #'backstaff-tree-more)
    (define-key map (kbd "=") #'backstaff-view-info)
    (define-key map (kbd "t") #'backstaff-tree-list)
    (define-key map (kbd "l") #'backstaff-tree-list)
    (define-key map (kbd "w") #'backstaff-view-copy-path)
    (define-key map [remap keyboard-quit] #'backstaff-view-quit)
    map)
  "Keymap of `backstaff-tree-mode'.")

(defvar-local backstaff-tree--folded nil
  "The paths of the directories that are folded.")

(defvar-local backstaff-tree--opened nil
  "The paths of the directories that were asked for one by one.")

(define-derived-mode backstaff-tree-mode special-mode "Tree"
  "Major mode for the tree of what is below a directory.
A directory with an ellipsis holds more than is shown: TAB shows it.

\\{backstaff-tree-mode-map}"
  :group 'backstaff-tree
  (backstaff-view-setup :request #'backstaff-tree--request
                        :draw #'backstaff-tree--draw
                        :title (apply-partially #'backstaff-view-title "tree"))
  (add-to-invisibility-spec '(backstaff-tree . t))
  (setq-local imenu-create-index-function #'backstaff-tree--index)
  (setq-local bookmark-make-record-function #'backstaff-tree--bookmark))

;;;###autoload
(defun backstaff-tree (directory)
  "Show what is below DIRECTORY as a tree.
Interactively this is the root of the project, or with a prefix argument a
directory that is asked for."
  (interactive
   (list (if current-prefix-arg
             (backstaff-read-directory "Tree of directory: ")
           (backstaff-command-root))))
  (let ((root (backstaff-command-root (file-name-as-directory directory))))
    (backstaff-tree-open root (backstaff-view-relative root directory))))

(defun backstaff-tree-open (root path &rest more)
  "Show the tree of PATH below ROOT; MORE is the rest of the state."
  (backstaff-view-open 'backstaff-tree-mode `(:root ,root :path ,path ,@more)
                       (list :hidden backstaff-show-hidden
                             :files backstaff-tree-files
                             :depth backstaff-tree-depth
                             :max backstaff-tree-max-entries
                             :exclude backstaff-tree-exclude)))

(defun backstaff-tree--request (state)
  "Return the tool and the arguments that STATE stands for."
  (list "workspace/tree"
        (list :path (plist-get state :path)
              :entry_kind (if (plist-get state :files) "all" "directory")
              :max_depth (plist-get state :depth)
              :max_entries (plist-get state :max)
              :include_hidden (plist-get state :hidden)
              :exclude (plist-get state :exclude))))


;;; Drawing

(defun backstaff-tree--root ()
  "Return the node that is the root of what is shown, or nil."
  (plist-get (plist-get backstaff-view-reply :data) :root))

(defun backstaff-tree--draw (reply)
  "Draw the tree in REPLY, and ask again for what had been asked for in it."
  (let ((data (plist-get reply :data)))
    (when (plist-get data :limit-reached)
      (backstaff-tree--set (plist-get data :root) :limited t))
    (backstaff-tree--insert)
    (backstaff-tree--tell data (plist-get reply :warnings)))
  (mapc #'backstaff-tree--open-again backstaff-tree--opened))

(defun backstaff-tree--insert ()
  "Insert the tree, and fold what is folded."
  (backstaff-tree--insert-node (backstaff-tree--root) "" "" 0)
  (mapc #'backstaff-tree--fold-path backstaff-tree--folded))

(defun backstaff-tree--redraw ()
  "Draw the tree anew, with what has come since."
  (let ((places (backstaff-view-places))
        (data (plist-get backstaff-view-reply :data)))
    (backstaff-view-draw #'backstaff-tree--insert)
    (backstaff-tree--tell data (plist-get backstaff-view-reply :warnings))
    (backstaff-view-restore places)))

(defun backstaff-tree--insert-node (node before branch level)
  "Insert NODE and what is below it, at LEVEL.
BEFORE is what stands before its BRANCH."
  (let ((children (plist-get node :children)))
    (backstaff-tree--insert-line node (concat before branch) level)
    (when children
      (let ((before (concat before (backstaff-tree--continuation branch))))
        (while children
          (backstaff-tree--insert-node
           (car children) before
           (if (cdr children) "├─ " "└─ ") (1+ level))
          (setq children (cdr children)))))))

(defun backstaff-tree--continuation (branch)
  "Return what stands below BRANCH on the lines that follow."
  (pcase branch ("" "") ("├─ " "│  ") (_ "   ")))

(defun backstaff-tree--insert-line (node guides level)
  "Insert the line for NODE at LEVEL, which starts with GUIDES."
  (let ((start (point))
        (kind (plist-get node :kind)))
    (insert (propertize guides 'face 'backstaff-tree-guide)
            (propertize (bidi-string-mark-left-to-right
                         (backstaff-tree--name node level))
                        'face (backstaff-view-kind-face kind)
                        'backstaff-name t)
            (backstaff-view-kind-suffix kind)
            (if (backstaff-tree--unread-p node)
                (propertize " …" 'face 'backstaff-detail)
              "")
            "\n")
    (add-text-properties start (point)
                         `(backstaff-entry ,node backstaff-level ,level))))

(defun backstaff-tree--name (node level)
  "Return the name of NODE at LEVEL as the tree shows it."
  (let ((name (if (and (zerop level) (equal (plist-get node :path) "."))
                  (file-name-nondirectory
                   (directory-file-name (plist-get backstaff-view-state :root)))
                (plist-get node :name))))
    ;; What "/" is called stands before the slash that all directories have.
    (if (string-empty-p name) "" (backstaff-names-show name))))

(defun backstaff-tree--unread-p (node)
  "Return non-nil if there is more in NODE than was asked for."
  (and (plist-get node :truncated)
       (not (plist-get node :children))))

(defun backstaff-tree--tell (data warnings)
  "Tell around the tree what DATA say of the whole, and WARNINGS."
  (let ((exclude (plist-get backstaff-view-state :exclude))
        (limited (backstaff-tree--limited (backstaff-tree--root))))
    (backstaff-view-set-header
     (plist-get backstaff-view-state :path)
     (and limited "CUT")
     (backstaff-tree--counts data)
     (format "depth %d" (plist-get backstaff-view-state :depth))
     (if (plist-get backstaff-view-state :hidden) "hidden shown" "hidden off")
     (and exclude (format "without %s" (string-join exclude " "))))
    (backstaff-view-set-notes
     (append (and limited (list (backstaff-tree--limit-note limited)))
             warnings))))

(defun backstaff-tree--counts (data)
  "Return a text that counts what DATA tell of."
  (string-join
   (cl-loop for (key one many) in '((:total-dirs "directory" "directories")
                                    (:total-files "file" "files")
                                    (:total-symlinks "link" "links"))
            for count = (backstaff-view-count (plist-get data key) one many)
            when count collect count)
   ", "))

(defun backstaff-tree--limited (node)
  "Return the first node from NODE on whose tree was cut at the limit, or nil."
  (if (plist-get node :limited)
      node
    (cl-some #'backstaff-tree--limited (plist-get node :children))))

(defun backstaff-tree--limit-note (node)
  "Return a line that says that the tree of NODE was cut, and what helps."
  (let* ((limit (plist-get backstaff-view-state :max))
         (path (plist-get node :path))
         (where (if (eq node (backstaff-tree--root)) ""
                  (format " in %s/" (backstaff-names-show path)))))
    ;; A path can hold what `substitute-command-keys' would put keys for.
    (concat (format "… stopped at %d entries%s: " limit where)
            (substitute-command-keys
             (concat
              (if (< limit backstaff-tree--most-entries)
                  "\\[backstaff-tree-more] shows more"
                "\\[backstaff-tree-visit] on a directory starts there")
              ", \\[backstaff-tree-set-depth] and \\[backstaff-tree-add-exclude]\
 make the tree smaller")))))


;;; Folding

(defun backstaff-tree--level ()
  "Return how deep the node at point is, nil where there is none."
  (get-text-property (line-beginning-position) 'backstaff-level))

(defun backstaff-tree--end-of-node ()
  "Return where the last line ends that is below the node at point."
  (save-excursion
    (let ((level (backstaff-tree--level)))
      (while (and (zerop (forward-line))
                  (> (or (backstaff-tree--level) -1) level)))
      (1- (point)))))

(defun backstaff-tree--fold ()
  "Hide what is below the node at point."
  (let ((start (line-end-position))
        (end (backstaff-tree--end-of-node)))
    (when (and (< start end) (not (backstaff-tree--fold-at-point)))
      (let ((overlay (make-overlay start end)))
        (overlay-put overlay 'invisible 'backstaff-tree)
        (overlay-put overlay 'evaporate t)
        (overlay-put overlay 'isearch-open-invisible
                     #'backstaff-tree--reveal)))))

(defun backstaff-tree--fold-at-point ()
  "Return the overlay that hides what is below the node at point, or nil."
  (let ((start (line-end-position)))
    (cl-find-if (lambda (overlay)
                  (and (eq (overlay-get overlay 'invisible) 'backstaff-tree)
                       (= (overlay-start overlay) start)))
                (overlays-in start (1+ start)))))

(defun backstaff-tree--fold-path (path)
  "Hide what is below the node PATH, if it is there."
  (save-excursion
    (when (backstaff-view-go-to path)
      (backstaff-tree--fold))))

(defun backstaff-tree--set-folded (path folded)
  "Note that PATH is to be FOLDED, or is not, and show it so."
  (setq backstaff-tree--folded (delete path backstaff-tree--folded))
  (save-excursion
    (when (backstaff-view-go-to path)
      (if folded
          (backstaff-tree--fold)
        (when-let ((overlay (backstaff-tree--fold-at-point)))
          (delete-overlay overlay)))))
  (when folded
    (push path backstaff-tree--folded)))

(defun backstaff-tree--reveal (&rest _)
  "Unfold whatever hides point."
  (dolist (overlay (overlays-in (point) (1+ (point))))
    (when (eq (overlay-get overlay 'invisible) 'backstaff-tree)
      (backstaff-tree--set-folded
       (save-excursion
         (goto-char (overlay-start overlay))
         (plist-get (backstaff-view-entry) :path))
       nil))))

(defun backstaff-tree-toggle ()
  "Fold the directory at point, or unfold it.
Where the tree ends at its depth, ask for what is below."
  (interactive nil backstaff-tree-mode)
  (let* ((node (backstaff-view-some-entry))
         (path (plist-get node :path)))
    (cond ((not (eq (plist-get node :kind) :directory))
           (user-error "This is no directory"))
          ((plist-get node :children)
           (backstaff-tree--set-folded
            path (not (backstaff-tree--fold-at-point))))
          (t (backstaff-tree--load path)))))

(defun backstaff-tree-toggle-all ()
  "Fold all directories below the first, or unfold them if one is folded."
  (interactive nil backstaff-tree-mode)
  (let ((paths (backstaff-tree--paths (backstaff-tree--root)))
        (fold (null backstaff-tree--folded)))
    (dolist (path (cdr paths))
      (backstaff-tree--set-folded path fold))
    (unless fold
      (mapc (lambda (path) (backstaff-tree--set-folded path nil))
            backstaff-tree--folded))
    (backstaff-tree--leave-fold)))

(defun backstaff-tree--paths (node)
  "Return the paths of NODE and all nodes below it that have children."
  (when (plist-get node :children)
    (cons (plist-get node :path)
          (mapcan #'backstaff-tree--paths
                  (copy-sequence (plist-get node :children))))))

(defun backstaff-tree--leave-fold ()
  "Go from a place that is hidden to the directory that hides it."
  (while (and (not (bobp)) (invisible-p (line-beginning-position)))
    (forward-line -1))
  (backstaff-view-go-to-name))


;;; Deeper

(defun backstaff-tree--load (path)
  "Ask for what is below the directory PATH and draw it there."
  (let* ((state backstaff-view-state)
         (depth (max 1 (plist-get state :depth))))
    (pcase-let ((`(,id ,args)
                 (backstaff-tree--request
                  (append (list :path path :depth depth) state))))
      (backstaff-view-call id args nil
                           (apply-partially #'backstaff-tree--graft path)))))

(defun backstaff-tree--graft (path reply)
  "Draw what REPLY tells of the directory PATH where that is in the tree."
  (let ((node (backstaff-tree--find path (backstaff-tree--root))))
    (cond ((not (plist-get reply :ok))
           (message "%s" (plist-get reply :text)))
          (node
           (cl-pushnew path backstaff-tree--opened :test #'equal)
           (backstaff-tree--take-over node (plist-get reply :data))
           (backstaff-tree--redraw)
           (dolist (opened backstaff-tree--opened)
             (when (string-prefix-p (concat path "/") opened)
               (backstaff-tree--open-again opened)))))))

(defun backstaff-tree--take-over (node data)
  "Let NODE be what DATA tell of it."
  (let ((children (plist-get (plist-get data :root) :children)))
    (backstaff-tree--set node :children children)
    (backstaff-tree--set node :truncated nil)
    (backstaff-tree--set node :limited (plist-get data :limit-reached))
    (unless children
      (message "%s/ holds nothing to show"
               (backstaff-names-show (plist-get node :path))))))

(defun backstaff-tree--set (node key value)
  "Let KEY of NODE have VALUE, in place."
  (if (plist-member node key)
      (plist-put node key value)
    (nconc node (list key value))))

(defun backstaff-tree--find (path node)
  "Return the node PATH in the tree of NODE, or nil."
  (if (equal path (plist-get node :path))
      node
    (cl-some (apply-partially #'backstaff-tree--find path)
             (plist-get node :children))))

(defun backstaff-tree--open-again (path)
  "Ask for what is below PATH if it is in the tree and was not told."
  (when-let ((node (backstaff-tree--find path (backstaff-tree--root))))
    (when (backstaff-tree--unread-p node)
      (backstaff-tree--load path))))


;;; Commands

(defun backstaff-tree-visit (&optional other-window)
  "Visit the file at point, or show the tree of the directory at point.
Visit it in another window if OTHER-WINDOW is non-nil.  A link to a
directory is shown as a listing."
  (interactive nil backstaff-tree-mode)
  (let* ((entry (backstaff-view-some-entry))
         (path (plist-get entry :path))
         (kind (plist-get entry :kind)))
    (cond ((backstaff-view-visit path kind other-window))
          ((eq kind :symlink)
           (backstaff-list-open (plist-get backstaff-view-state :root) path))
          (t (backstaff-view-ask (backstaff-view-with :path path))))))

(defun backstaff-tree-visit-other-window ()
  "Visit the file at point in another window."
  (interactive nil backstaff-tree-mode)
  (backstaff-tree-visit t))

(defun backstaff-tree-list ()
  "List the directory at point, or the one that the file at point is in."
  (interactive nil backstaff-tree-mode)
  (let* ((entry (backstaff-view-entry))
         (path (or (plist-get entry :path)
                   (plist-get backstaff-view-state :path))))
    (backstaff-list-open (plist-get backstaff-view-state :root)
                         (if (memq (plist-get entry :kind) '(nil :directory))
                             path
                           (or (backstaff-view-parent path) "."))
                         :hidden (plist-get backstaff-view-state :hidden))))

(defun backstaff-tree-toggle-files ()
  "Show directories alone, or files and links as well."
  (interactive nil backstaff-tree-mode)
  (let ((files (not (plist-get (backstaff-view-latest-state) :files))))
    (backstaff-view-ask (backstaff-view-with :files files))))

(defun backstaff-tree-set-depth (depth)
  "Let the tree go DEPTH deep."
  (interactive
   (list (if current-prefix-arg
             (prefix-numeric-value current-prefix-arg)
           (read-number (format "Depth (0 to %d): " backstaff-tree--most-depth)
                        (plist-get (backstaff-view-latest-state) :depth))))
   backstaff-tree-mode)
  (setq backstaff-tree--opened nil)
  (backstaff-view-try (backstaff-view-with :depth depth)))

(defun backstaff-tree-add-exclude (glob)
  "Leave out what matches GLOB, too; nil brings all back.
Interactively ask for it, or with a prefix argument bring all back."
  (interactive
   (list (and (not current-prefix-arg)
              (read-string "Leave out (such as *.log, **/*.log, docs/**): ")))
   backstaff-tree-mode)
  (when (equal glob "")
    (user-error "There is no glob"))
  (backstaff-view-try
   (backstaff-view-with
    :exclude (and glob (append (plist-get (backstaff-view-latest-state)
                                          :exclude)
                               (list glob))))))

(defun backstaff-tree-more ()
  "Ask for more entries, up to a thousand."
  (interactive nil backstaff-tree-mode)
  (let ((limit (plist-get (backstaff-view-latest-state) :max)))
    (unless (< limit backstaff-tree--most-entries)
      (user-error "A tree has at most %d entries" limit))
    (backstaff-view-try
     (backstaff-view-with :max (min (* 2 limit)
                                    backstaff-tree--most-entries)))))


;;; Imenu and bookmarks

(defun backstaff-tree--index ()
  "Return an index of the directories for imenu."
  (let ((index nil))
    (save-excursion
      (goto-char (point-min))
      (while (not (eobp))
        (let ((node (backstaff-view-entry)))
          (when (eq (plist-get node :kind) :directory)
            (push (list (backstaff-names-show (plist-get node :path))
                        (point) #'backstaff-tree--jump)
                  index)))
        (forward-line)))
    (nreverse index)))

(defun backstaff-tree--jump (_name position)
  "Go to POSITION and unfold what hides it."
  (goto-char position)
  (backstaff-tree--reveal)
  (backstaff-view-go-to-name))

(defun backstaff-tree--bookmark ()
  "Return a bookmark of this tree."
  (backstaff-view-bookmark #'backstaff-tree-jump))

;;;###autoload
(defun backstaff-tree-jump (bookmark)
  "Show the tree that BOOKMARK stands for."
  (set-buffer (backstaff-view-buffer
               'backstaff-tree-mode
               (bookmark-prop-get bookmark 'backstaff-state))))

(provide 'backstaff-tree)
;;; backstaff-tree.el ends here
