;;; backstaff-ui-view.el --- Buffers that show replies of tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A view is a buffer with a state, such as (:root "/home/me/a/" :path "src").  The
;; mode turns a state into a call of a tool, which returns at once.  When the reply
;; comes, the buffer takes the new state and draws the reply.  Until then, and if the
;; call fails, it keeps the old ones, so commands act on the text that the user sees.
;; A view opens another by its mode and a state, without loading its file.
;;
;; A file that a line shows has an entry, such as (:path "src/a.c" :kind :file :size
;; 12).  Paths are below the root and have the file's exact bytes.  The entry is the
;; id of a line of `tabulated-list-mode', or else the text property `backstaff-entry',
;; of the whole line or of a name in it.  The property `backstaff-name' marks the name,
;; where point goes.  Only the commands that visit a file touch it.

;;; Code:

(require 'cl-lib)
(require 'dired)  ; faces
(require 'map)
(require 'subr-x)
(require 'tabulated-list)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-prompt)
(require 'backstaff-ui-request)

(defvar ffap-alist)
(defvar thing-at-point-provider-alist)
(declare-function bookmark-prop-get "bookmark" (bookmark property))
(declare-function evil-make-overriding-map "ext:evil-core" (keymap &optional state copy))
(declare-function evil-set-initial-state "ext:evil-core" (mode state))

(defcustom backstaff-show-hidden nil
  "Whether new listings and trees show files whose names start with a dot.
\\`.' shows or hides them in a buffer."
  :type 'boolean :group 'backstaff)

;;; State

(defvar-local backstaff-view-state nil
  "The state of the buffer, a plist such as (:root \"/home/me/a/\" :path \"src\").
`:root' is the absolute name of the project's root, and `:path' is a directory
or file below the root.")

(defvar-local backstaff-view-reply nil
  "The reply that the buffer shows.")

(defvar-local backstaff-view-labels nil
  "The hash table of labels that `backstaff-names-labels' made of the reply.")

(defvar-local backstaff-view--requested nil
  "The state for which the buffer awaits a reply, or nil.")

(defvar-local backstaff-view--functions nil
  "The arguments of `backstaff-view-setup', a plist.")

(defvar-local backstaff-view-sought nil
  "The path that point goes to once its line is drawn, or nil.")

(defvar-local backstaff-view--notes nil
  "The overlay with notes at the end of the buffer.")

(defvar backstaff-view-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'backstaff-view-visit)
    (define-key map (kbd "o") #'backstaff-view-visit-other-window)
    (define-key map (kbd "^") #'backstaff-view-up)
    (define-key map (kbd "=") #'backstaff-view-info)
    (define-key map (kbd "w") #'backstaff-view-copy-path)
    (define-key map (kbd "n") #'next-line)
    (define-key map (kbd "p") #'previous-line)
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    map)
  "Keymap of all views.  The keymap of each mode inherits it.")

(defvar backstaff-view-mode-map
  (make-composed-keymap backstaff-view-map special-mode-map)
  "Keymap of `backstaff-view-mode'.")

(define-derived-mode backstaff-view-mode special-mode "View"
  "Parent of the major modes that show replies as text.

\\{backstaff-view-mode-map}"
  :group 'backstaff)

(cl-defun backstaff-view-setup (&rest functions &key wrap &allow-other-keys)
  "Make the current buffer a view.  FUNCTIONS is a plist:
`:request' turns a state into a list (TOOL ARGUMENTS [CONTEXT]).
`:draw' draws a successful reply into the empty buffer.
`:draw-failures' is non-nil if `:draw' draws the other replies as well.  If not,
  a buffer with a text keeps it, and the failure is a message.
`:before-draw' is called before the text is erased (optional).
`:title' returns the buffer's name for a state.
`:defaults' returns a state that a new buffer starts with (optional).
`:open' returns (MODE . CHANGES), the view that shows an entry which is not a
  regular file (optional).
`:wrap', WRAP, is non-nil if long lines wrap."
  (setq truncate-lines (not wrap) word-wrap t
        buffer-undo-list t buffer-read-only t
        bidi-paragraph-direction 'left-to-right
        fringe-indicator-alist (cons '(continuation nil nil) fringe-indicator-alist)
        mode-line-process '("" backstaff-request-indicator)
        backstaff-request-cancelled-function
        (lambda ()
          (if (null backstaff-view-state)
              (backstaff-view--draw
               (lambda () (backstaff-view--insert-text "Cancelled" 'shadow)))
            (setq backstaff-view--requested nil)
            (backstaff-view--rename backstaff-view-state)))
        backstaff-view--functions functions)
  (when (featurep 'evil)
    (evil-set-initial-state major-mode 'motion)
    (evil-make-overriding-map (current-local-map) 'motion))
  ;; A user who does something wants point to stay.
  (add-hook 'pre-command-hook (lambda () (setq backstaff-view-sought nil)) nil t)
  (add-hook 'file-name-at-point-functions #'backstaff-view--file-name nil t)
  (setq-local ffap-alist (list (cons major-mode (lambda (_) (backstaff-view--file-name))))
              thing-at-point-provider-alist
              '((filename . backstaff-view--file-name)
                (existing-filename . backstaff-view--file-name))
              revert-buffer-function (lambda (&rest _) (backstaff-view-change))
              bookmark-make-record-function #'backstaff-view--bookmark))

(defun backstaff-view--call (key &rest arguments)
  "Call the mode's function KEY, if it has one, with ARGUMENTS."
  (when-let ((function (plist-get backstaff-view--functions key)))
    (apply function arguments)))

(defun backstaff-view-get (key)
  "Return the value of KEY in the state that the buffer awaits or has."
  (plist-get (or backstaff-view--requested backstaff-view-state) key))

(defun backstaff-view-open (mode state)
  "Show STATE in a buffer in major mode MODE, and return the buffer.
A view opens another one in the same window."
  (funcall (if backstaff-view--functions #'pop-to-buffer-same-window #'pop-to-buffer)
           (backstaff-view-buffer mode state)))

(defun backstaff-view-open-directory (mode directory &rest state)
  "Show DIRECTORY in major mode MODE; STATE is the rest of the state.
Point goes to the file that the user comes from."
  (let* ((directory (file-name-as-directory directory))
         (root (backstaff-command-root directory))
         (name (cond (buffer-file-name)
                     (backstaff-view--functions (backstaff-view--file-name))
                     ((derived-mode-p 'dired-mode) (dired-get-filename nil t)))))
    (backstaff-view-open
     mode `( :root ,root :path ,(backstaff-path-relative root directory)
             ;; To resolve the links of another host takes round trips.
             :focus ,(and name (or (string-prefix-p root name) (not (file-remote-p root)))
                          (backstaff-path-relative root name))
             ,@state))))

(defun backstaff-view-switch (mode path &rest state)
  "Show PATH of this project in major mode MODE; STATE is the rest of the state.
Point goes to the file at point."
  (backstaff-view-open mode `( :root ,(backstaff-view-get :root) :path ,path
                               :focus ,(backstaff-view--path) ,@state)))

(defun backstaff-view-buffer (mode state)
  "Request STATE in a buffer in major mode MODE, and return the buffer.
A buffer with the same mode, root, path and tool is used again."
  (with-current-buffer
      (or (cl-find-if (lambda (buffer)
                        (with-current-buffer buffer
                          (and (eq major-mode mode)
                               (cl-loop for key in '(:root :path :tool)
                                        always (or (not (plist-member state key))
                                                   (equal (plist-get state key)
                                                          (backstaff-view-get key)))))))
                      (buffer-list))
          (with-current-buffer (generate-new-buffer "*backstaff*")
            (funcall mode)
            (setq backstaff-view--requested (backstaff-view--call :defaults))
            (current-buffer)))
    (apply #'backstaff-view-change state)
    (current-buffer)))

(defun backstaff-view-change (&rest changes)
  "Request the latest state with CHANGES, a plist.
If the tool fails, keep the text of the buffer, and show the failure in the echo
area."
  (let ((state (map-merge 'plist (or backstaff-view--requested backstaff-view-state) changes)))
    (backstaff-prompt-connect (plist-get state :root))
    (backstaff-request-cancel)
    (setq backstaff-view--requested state)
    (backstaff-view--rename state)
    (backstaff-view-call
     state
     (lambda (reply)
       (if (and (plist-get backstaff-view-reply :ok) (not (plist-get reply :ok))
                (not (plist-get backstaff-view--functions :draw-failures)))
           (progn (setq backstaff-view--requested nil)
                  (backstaff-view--rename backstaff-view-state)
                  (message "%s" (plist-get reply :text)))
         (backstaff-view--show state reply))))))

(defun backstaff-view-call (state callback)
  "Call the tool for STATE, and later CALLBACK with the reply.
CALLBACK decides whether the state of the buffer changes."
  (pcase-let ((`(,id ,args ,context) (backstaff-view--call :request state)))
    (backstaff-request id args callback `(:root ,(plist-get state :root) ,@context))))

(defun backstaff-view--rename (state)
  "Name the buffer after STATE, unless it has that name or a variant of it."
  (let ((title (backstaff-view--call :title state)))
    (unless (string-prefix-p title (buffer-name))
      (rename-buffer title t))))


;;; Drawing

(defun backstaff-view--show (state reply)
  "Let the buffer have STATE and draw REPLY, with point in its old place."
  (let* ((ok (plist-get reply :ok))
         (focus (and ok (plist-get state :focus)))
         (moved (cl-loop for key in '(:root :path :tool)
                         thereis (not (equal (plist-get state key)
                                             (plist-get backstaff-view-state key)))))
         (draw (lambda ()
                 (if (or ok (plist-get backstaff-view--functions :draw-failures))
                     (backstaff-view--call :draw reply)
                   (backstaff-view-set-header (plist-get state :path) "failed")
                   (backstaff-view--insert-text (plist-get reply :text) 'error)))))
    (backstaff-view--rename state)
    (backstaff-view--call :before-draw)
    (setq backstaff-view-state state
          backstaff-view-reply reply
          backstaff-view-labels (backstaff-names-labels reply)
          backstaff-view--requested nil
          backstaff-view-sought focus
          truncate-lines (not (plist-get backstaff-view--functions :wrap))
          default-directory (backstaff-path-file-name
                             (backstaff-view--absolute (if ok (plist-get state :path) ".")
                                                       'directory)
                             (plist-get state :root)))
    (if (not (or moved focus))
        (backstaff-view-redraw draw)
      (backstaff-view--draw draw)
      (goto-char (point-min))
      (if (and focus (backstaff-view-go-to focus))
          (setq backstaff-view-sought nil)
        ;; An overview names files above the first line with an entry.
        (while (not (or (eobp) (backstaff-view--line-entry)
                        (text-property-not-all (point) (line-end-position)
                                               'backstaff-entry nil)))
          (forward-line))
        (if (eobp) (goto-char (point-min)) (backstaff-view-go-to-name)))
      (dolist (window (get-buffer-window-list nil t t))
        (set-window-start window (point-min) t)
        (set-window-point window (point))))
    (setq backstaff-view-state (map-merge 'plist backstaff-view-state '(:focus nil)))))

(defun backstaff-view-redraw (function)
  "Call FUNCTION to draw the buffer anew, and keep the places of point.
These are on the line of the same entry, or else on the line of the same number,
in the buffer and in each of its windows."
  (let ((places
         (mapcar (lambda (window)
                   (save-excursion
                     (when window (goto-char (window-point window)))
                     (list window (plist-get (backstaff-view--line-entry) :path)
                           (line-number-at-pos) (current-column)
                           (and window (> (window-start window) (point-min))
                                (count-lines (window-start window) (line-beginning-position))))))
                 (cons nil (get-buffer-window-list nil t t)))))
    (backstaff-view--draw function)
    (pcase-dolist (`(,window ,path ,line ,column ,above) (reverse places))
      (unless (and path (backstaff-view-go-to path))
        (unless (or window backstaff-view-sought) (setq backstaff-view-sought path))
        (goto-char (point-min))
        (forward-line (1- line)))
      (move-to-column column)
      (when window
        (set-window-point window (point))
        (set-window-start window (if above (line-beginning-position (- 1 above)) (point-min))
                          t)))))

(defun backstaff-view--draw (function)
  "Erase the buffer and call FUNCTION to draw it."
  (let ((inhibit-read-only t))
    (with-silent-modifications
      (erase-buffer)
      (remove-overlays)
      (funcall function))))

(defun backstaff-view--insert-text (text face)
  "Insert TEXT in FACE, in place of a reply."
  (setq truncate-lines nil)
  (insert (propertize (substring-no-properties text) 'face face)
          (substitute-command-keys "\n\nType \\[revert-buffer] to ask again.\n"))
  (goto-char (point-min)))

(defun backstaff-view-label (name)
  "Return the label of NAME, a name from the reply that the buffer shows."
  (gethash name backstaff-view-labels name))

(defun backstaff-view-set-header (path &rest facts)
  "Show PATH, below the root, and FACTS in the header line.
Facts are strings; nil is ignored.  Of a long path the end is shown, at least
30 columns."
  (let* ((facts (string-join (remove nil facts) " · "))
         (name (backstaff-names-show (backstaff-view--absolute path)))
         (room (max 30 (- (window-width (get-buffer-window nil t)) (string-width facts) 4))))
    (when (> (string-width name) room)
      (setq name (concat "…" (string-limit name (1- room) t))))
    (setq header-line-format
          (string-replace "%" "%%" (concat " " (propertize (bidi-string-mark-left-to-right name)
                                                           'face 'bold)
                                           "  " facts)))))

(defun backstaff-view-set-notes (&rest notes)
  "Show NOTES and the warnings of the reply below the last line.
Notes are strings; nil is ignored."
  (unless (overlayp backstaff-view--notes)
    (setq backstaff-view--notes (make-overlay 1 1 nil nil t)))
  (move-overlay backstaff-view--notes (point-max) (point-max) (current-buffer))
  (let* ((width (max 20 (- (window-body-width (get-buffer-window nil t)) 2)))
         (lines (mapcar (lambda (note) (concat (string-fill note width) "\n"))
                        (append (remove nil notes)
                                (plist-get backstaff-view-reply :warnings))))
         (start (if (memq (char-before (point-max)) '(nil ?\n)) "" "\n")))
    (overlay-put backstaff-view--notes 'after-string
                 (and lines (propertize (apply #'concat start lines) 'face 'warning)))))

(defun backstaff-view-title (verb state)
  "Return a buffer name for STATE that starts with VERB.
For example \"*backstaff tree: project/src*\"."
  (let* ((root (plist-get state :root)) (path (plist-get state :path))
         (host (file-remote-p root 'host))
         (name (file-name-nondirectory (directory-file-name root))))
    (format "*backstaff %s: %s%s*" verb
            (backstaff-names-show
             (cond ((equal path ".") (if (string-empty-p name) "/" name))
                   ((file-name-absolute-p path) path)
                   (t (concat name "/" path))))
            (if host (concat "@" (backstaff-names-show host)) ""))))

(defun backstaff-view-kind-face (kind)
  "Return the face for names of files of KIND."
  (pcase kind
    (:directory 'dired-directory)
    (:symlink 'dired-symlink)
    (:file nil)
    (_ 'dired-special)))

(defun backstaff-view-kind-suffix (kind)
  "Return the suffix for names of files of KIND, such as \"/\"."
  (pcase kind (:directory "/") (:symlink "@") (_ "")))

(defun backstaff-view-number (number)
  "Return NUMBER as text, with a comma between thousands."
  (let ((text (number-to-string number)))
    (while (string-match "\\`\\([0-9]+\\)\\([0-9]\\{3\\}\\)" text)
      (setq text (replace-match "\\1,\\2" t nil text)))
    text))

(defun backstaff-view-count (number one many)
  "Return NUMBER with its noun, ONE or MANY, such as \"2 files\"; nil for 0."
  (unless (zerop number)
    (format "%d %s" number (if (= number 1) one many))))


;;; Places

(defun backstaff-view--line-entry ()
  "Return the entry of the line on which the user sees point, or nil."
  (save-excursion
    (while (and (zerop (forward-line 0)) (not (bobp)) (invisible-p (point)))
      (goto-char (previous-single-char-property-change (point) 'invisible)))
    (or (get-text-property (point) 'backstaff-entry) (tabulated-list-get-id))))

(defun backstaff-view--entry ()
  "Return the entry at point, or nil."
  (or (get-text-property (point) 'backstaff-entry)
      (backstaff-view--line-entry)))

(defun backstaff-view-entry-at-point ()
  "Return the entry at point, or signal a `user-error' if there is none."
  (or (backstaff-view--entry)
      (user-error "There is nothing on this line")))

(defun backstaff-view--file-name ()
  "Return the absolute name of the file at point, or nil."
  (when-let ((path (plist-get (backstaff-view--entry) :path)))
    (backstaff-path-file-name (backstaff-view--absolute path) (backstaff-view-get :root))))

(defun backstaff-view--path ()
  "Return the path of the file at point, or else of the buffer's state."
  (or (plist-get (backstaff-view--entry) :path) (backstaff-view-get :path)))

(defun backstaff-view-directory ()
  "Return the path of the directory at point, or the one of the file at point."
  (if (memq (plist-get (backstaff-view--entry) :kind) '(nil :directory))
      (backstaff-view--path)
    (or (backstaff-path-parent (backstaff-view--path)) ".")))

(defun backstaff-view-go-to-name ()
  "Go to the name on the line at point."
  (beginning-of-line)
  (goto-char (or (text-property-any (point) (line-end-position) 'backstaff-name t) (point))))

(defun backstaff-view-go-to (path &optional from)
  "Go to the line of PATH and return non-nil, or stay if there is none.
Look from the position FROM on, by default everywhere."
  (let ((start (point)) (found nil))
    (goto-char (or from (point-min)))
    (while (not (or (setq found (equal path (plist-get (backstaff-view--line-entry) :path)))
                    (eobp)))
      (forward-line))
    (if found (backstaff-view-go-to-name) (goto-char start))
    found))

(defun backstaff-view-seek (from)
  "Go to the path that point waits for, if its line is drawn by now.
FROM is the position of the first of the lines that were drawn last."
  (let ((start (point)))
    (when (and backstaff-view-sought (backstaff-view-go-to backstaff-view-sought from))
      (setq backstaff-view-sought nil)
      (dolist (window (get-buffer-window-list nil t t))
        (when (= (window-point window) start)
          (set-window-point window (point)))))))

(defun backstaff-view--absolute (path &optional directory)
  "Return the absolute name of PATH, a path below the buffer's root.
If DIRECTORY is non-nil, the name ends with a slash."
  (let ((root (backstaff-view-get :root)))
    (cond ((equal path ".") (if directory root (directory-file-name root)))
          ;; An absolute path is as the host has it.
          ((string-prefix-p "/" path) (concat (file-remote-p root) path))
          (t (concat root path (and directory "/"))))))

(defun backstaff-view--bookmark ()
  "Return a bookmark of the buffer's mode and state."
  (unless backstaff-view-state
    (user-error "There is nothing to bookmark yet"))
  (let ((name (backstaff-names-show
               (backstaff-view--absolute (backstaff-view-get :path) 'directory)))
        (focus (list :focus (plist-get (backstaff-view--entry) :path))))
    `(,name (location . ,name)
            (backstaff-mode . ,major-mode)
            (backstaff-state . ,(map-merge 'plist backstaff-view-state focus))
            (handler . backstaff-view-jump))))

;;;###autoload
(defun backstaff-view-jump (bookmark)
  "Show the state in BOOKMARK in a buffer of its mode."
  (set-buffer (backstaff-view-buffer (bookmark-prop-get bookmark 'backstaff-mode)
                                     (bookmark-prop-get bookmark 'backstaff-state))))


;;; Commands

(defun backstaff-view-visit (&optional other-window)
  "Visit the file at point, or show the directory at point.
Do so in another window if OTHER-WINDOW is non-nil."
  (interactive)
  (let* ((entry (backstaff-view-entry-at-point)) (root (backstaff-view-get :root)))
    (unless (and (not (eq (plist-get entry :kind) :directory))
                 (backstaff-path-visit (backstaff-view--absolute (plist-get entry :path))
                                       root other-window))
      (pcase-let* ((`(,mode . ,changes) (backstaff-view--call :open entry))
                   (same (eq mode major-mode))
                   (state (map-merge 'plist (if same backstaff-view-state `(:root ,root)) changes)))
        (cond (other-window
               (switch-to-buffer-other-window (backstaff-view-buffer mode state)))
              (same (apply #'backstaff-view-change changes))
              (t (backstaff-view-open mode state)))))))

(defun backstaff-view-visit-other-window ()
  "Visit the file at point, or show the directory at point, in another window."
  (interactive)
  (backstaff-view-visit t))

(defun backstaff-view-up ()
  "Show the parent directory, up to the project's root.
A directory without a project is its own root, and has a parent, too."
  (interactive)
  (let* ((path (backstaff-view-get :path))
         (root (backstaff-view-get :root))
         (name (directory-file-name root))
         (parent (backstaff-path-parent path)))
    (cond (parent (backstaff-view-change :path parent :focus path))
          ((or (file-remote-p root) (backstaff-project-p root))
           (user-error "This is the root of the project, %s" (abbreviate-file-name root)))
          ((equal name "/") (user-error "This is the root of the file system"))
          (t (backstaff-view-change :root (file-name-directory name) :path "."
                                    :focus (file-name-nondirectory name))))))

(defun backstaff-view-toggle-hidden ()
  "Show or hide files whose names start with a dot."
  (interactive)
  (backstaff-view-change :hidden (not (backstaff-view-get :hidden))))

(defun backstaff-view-copy-path (relative)
  "Copy the absolute name of the file at point.
With a prefix argument RELATIVE, copy its path below the project's root."
  (interactive "P")
  (let ((name (if relative (backstaff-view--path)
                (backstaff-view--absolute (backstaff-view--path)))))
    (kill-new name)
    (message "Copied %s" (backstaff-names-show name))))

(defun backstaff-view-list ()
  "List the directory at point, or the one of the file at point."
  (interactive)
  (apply #'backstaff-view-switch 'backstaff-list-mode (backstaff-view-directory)
         (and (plist-member backstaff-view-state :hidden)
              (list :hidden (backstaff-view-get :hidden)))))

(defun backstaff-view-list-or-tree ()
  "Show the directory of a listing as a tree, or that of a tree as a listing."
  (interactive)
  (backstaff-view-switch (if (derived-mode-p 'backstaff-tree-mode) 'backstaff-list-mode
                           'backstaff-tree-mode)
                         (backstaff-view-get :path) :hidden (backstaff-view-get :hidden)))

(defun backstaff-view-info ()
  "Show the type, size, times and permissions of the file at point."
  (interactive)
  (backstaff-view--open-info (backstaff-view-get :root) (backstaff-view--path)))

;;;###autoload
(defun backstaff-file-info (file)
  "Show the type, size, times and permissions of FILE.
Interactively this is the current file; with a prefix argument, ask."
  (interactive
   (list (or (and (not current-prefix-arg) buffer-file-name)
             (read-file-name "Describe file: " (backstaff-directory) buffer-file-name t))))
  (let* ((name (expand-file-name file))
         ;; The root of a project belongs to it, not to a project around it.
         (root (backstaff-command-root
                (if (and (not (file-remote-p name)) (file-directory-p name))
                    (file-name-as-directory name)
                  (file-name-directory name)))))
    (backstaff-view--open-info root (backstaff-path-relative root name))))

(defun backstaff-view--open-info (root path)
  "Show the reply of the tool get_file_info about PATH below ROOT."
  (backstaff-view-open 'backstaff-inspector-mode
                       (list :root root :path "." :tool "agent-q/get_file_info"
                             :arguments (list :path path) :forms '(text))))

(provide 'backstaff-ui-view)
;;; backstaff-ui-view.el ends here
