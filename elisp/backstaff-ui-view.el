;;; backstaff-ui-view.el --- Buffers that show replies of tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A view is a buffer with a state, such as (:root "/home/me/a/" :path "src").  The
;; mode turns a state into a call of a tool, which returns at once.  When the reply
;; comes, the buffer takes the new state and draws the reply.  Until then, and if the
;; call fails, it keeps the old ones, so commands act on the text that the user sees.
;;
;; A file that a line shows has an entry, such as (:path "src/a.c" :kind :file).  Paths
;; are below the root and have the file's exact bytes.  The entry is the id of a line of
;; `tabulated-list-mode', or else the text property `backstaff-entry', of the whole line
;; or of a name in it.  The property `backstaff-name' marks the name, where point goes.

;;; Code:

;; The file of each view requires this one, and gets these libraries with it.
(require 'cl-lib)
(require 'dired)  ; faces
(require 'map)
(require 'subr-x)
(require 'tabulated-list)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-prompt)

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

(defvar-local backstaff-view--requested nil
  "The state for which the buffer awaits a reply, or nil.")

(defvar-local backstaff-view--functions nil
  "The arguments of `backstaff-view-setup', a plist.")

(defvar-local backstaff-view-sought nil
  "Lists (WINDOW PATH LINE) of the places where points go once these are drawn.
The window nil stands for the buffer.  LINE counts while PATH is not drawn;
either can be nil.")

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
  "Parent of the major modes that show replies as text.")

(cl-defun backstaff-view-setup (&rest functions &key wrap &allow-other-keys)
  "Make the current buffer a view.  FUNCTIONS is a plist:
`:request' turns a state into a list (TOOL ARGUMENTS [CONTEXT]).
`:again' gets a state and its reply.  It returns changes if the reply is of no
  use before another call, or nil (optional).
`:draw' draws a successful reply into the empty buffer.
`:draw-failures' is non-nil if `:draw' draws the other replies as well.  If not,
  a buffer with a text keeps it, and the failure is a message.
`:defaults' returns a state that a new buffer starts with (optional).
`:open' returns (MODE . CHANGES), the view that shows an entry which is not a
  regular file (optional).
`:wrap', WRAP, is non-nil if long lines wrap."
  (put major-mode 'custom-mode-group 'backstaff)
  (setq truncate-lines (not wrap) word-wrap t
        buffer-undo-list t buffer-read-only t
        bidi-paragraph-direction 'left-to-right
        fringe-indicator-alist (cons '(continuation nil nil) fringe-indicator-alist)
        mode-line-process '("" backstaff-request-indicator)
        backstaff-request-cancelled-function
        (lambda ()
          (if backstaff-view-state (setq backstaff-view--requested nil)
            (backstaff-view-redraw (lambda () (backstaff-view--insert-text "Cancelled" 'shadow)))))
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

(defun backstaff-view-latest-state ()
  "Return the state that the buffer awaits or has."
  (or backstaff-view--requested backstaff-view-state))

(defun backstaff-view-get (key)
  "Return the value of KEY in the latest state."
  (plist-get (backstaff-view-latest-state) key))

(defun backstaff-view-name (mode state)
  "Return the name of the buffer for STATE in major mode MODE.
For example \"*backstaff tree: ~/project/src/*\"."
  (let ((tool (plist-get state :tool)))
    (format "*backstaff %s: %s%s*"
            (string-remove-prefix "backstaff-" (string-remove-suffix "-mode" (symbol-name mode)))
            (if tool (concat (backstaff-names-prose tool) " in ") "")
            (backstaff-path-shown (backstaff-path-absolute (plist-get state :root)
                                                           (plist-get state :path) t)))))

(defun backstaff-view-open (mode state)
  "Show STATE in a buffer in major mode MODE, and return the buffer.
A view opens another one in the same window."
  (funcall (if backstaff-view--functions #'pop-to-buffer-same-window #'pop-to-buffer)
           (backstaff-view--buffer mode state)))

(defun backstaff-view-open-directory (mode directory)
  "Show DIRECTORY in major mode MODE.
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
                          (backstaff-path-relative root name))))))

(defun backstaff-view--buffer (mode state)
  "Request STATE in a buffer in major mode MODE, and return the buffer.
Use the buffer that shows the same directory in this mode, if there is one."
  (with-current-buffer (get-buffer-create (backstaff-view-name mode state))
    (unless (eq major-mode mode)
      (funcall mode)
      (setq backstaff-view--requested (backstaff-view--call :defaults)))
    (apply #'backstaff-view-change state)
    (current-buffer)))

(defun backstaff-view-change (&rest changes)
  "Request the latest state with CHANGES, a plist.
If the tool fails, keep the text of the buffer, and show the failure in the echo
area."
  (let ((state (map-merge 'plist (backstaff-view-latest-state)
                          '(:focus nil :status nil) changes)))
    (backstaff-prompt-connect (plist-get state :root))
    (backstaff-request-cancel)
    (setq backstaff-view--requested state)
    (backstaff-view-call
     state
     (lambda (reply)
       (if-let ((more (backstaff-view--call :again state reply)))
           (apply #'backstaff-view-change more)
         (setq backstaff-view--requested nil)
         (backstaff-view--show state reply))))))

(defun backstaff-view-call (state callback)
  "Call the tool for STATE, and later CALLBACK with the reply.
CALLBACK decides whether the state of the buffer changes."
  (pcase-let ((`(,id ,args ,context) (backstaff-view--call :request state)))
    (backstaff-request id args callback `(:root ,(plist-get state :root) ,@context))))

(defun backstaff-view-add (changes draw)
  "Call the tool for the state with CHANGES, and later DRAW with the reply.
DRAW inserts at the end of the buffer.  Points stay where they are."
  (backstaff-view-call (append changes backstaff-view-state)
                       (lambda (reply)
                         (with-silent-modifications
                           (save-excursion
                             (goto-char (point-max))
                             (funcall draw reply))))))

;;; Drawing

(defun backstaff-view--show (state reply)
  "Let the buffer have STATE and draw REPLY, or say that the call failed.
A buffer with a text keeps it then, unless its mode draws failures."
  (pcase-let* (((map :root :path :focus) state) ((map :ok :text) reply)
               ((map :draw-failures :wrap) backstaff-view--functions)
               (name (backstaff-view-name major-mode state))
               (old (and backstaff-view-state
                         (backstaff-view-name major-mode backstaff-view-state))))
    (if (not (or ok draw-failures (not (plist-get backstaff-view-reply :ok))))
        (message "%s" text)
      ;; The name may have a number at its end.
      (unless (string-prefix-p name (buffer-name))
        (rename-buffer name t))
      (setq backstaff-view-state state
            backstaff-view-reply reply
            truncate-lines (not wrap)
            default-directory (backstaff-path-file-name
                               (backstaff-path-absolute root (if ok path ".") t) root))
      (backstaff-view-redraw (lambda ()
                               (if (or ok draw-failures) (backstaff-view--call :draw reply)
                                 (setq header-line-format nil)
                                 (backstaff-view--insert-text text 'error)))
                             (and ok focus) (not (equal name old))))))

(defun backstaff-view-redraw (function &optional focus moved)
  "Erase the buffer, call FUNCTION to draw it, and put point back.
In the buffer and in each of its windows, point goes to the path FOCUS, or else
to the same entry, or else to the line of the same number.  If MOVED is non-nil,
the old text was of another directory.  Then point goes to the first name."
  (let ((inhibit-read-only t)
        (places
         (mapcar (lambda (window)
                   (save-excursion
                     (when window (goto-char (window-point window)))
                     (let ((sought (or focus (car (alist-get window backstaff-view-sought)))))
                       (list window
                             (or sought (unless moved (plist-get (backstaff-view--line-entry) :path)))
                             (line-number-at-pos) (unless (or moved sought) (current-column))
                             (and window (> (window-start window) (point-min)) (not moved)
                                  (count-lines (window-start window) (line-beginning-position)))))))
                 (cons nil (get-buffer-window-list nil t t)))))
    (with-silent-modifications
      (erase-buffer)
      (remove-overlays)
      (funcall function))
    (setq backstaff-view-sought nil)
    (pcase-dolist (`(,window ,path ,line ,column ,above) (reverse places))
      (goto-char (point-min))
      (unless (and path (backstaff-view--go-to path))
        ;; The line may be drawn later.
        (push (list window path (and (not moved) line)) backstaff-view-sought)
        (if moved (goto-char (or (text-property-any (point) (point-max) 'backstaff-name t) (point)))
          (forward-line (1- line))))
      (when column (move-to-column column))
      (when window
        (set-window-point window (point))
        (set-window-start window (if above (line-beginning-position (- 1 above)) (point-min)) t)))))

(defun backstaff-view-go-to-sought (start)
  "Move each point that waits for a line to that line, if it is below START."
  (pcase-dolist (`(,window ,path ,line) backstaff-view-sought)
    (when-let ((place (save-excursion
                        (cond ((and path (backstaff-view--go-to path start))
                               (setf (alist-get window backstaff-view-sought nil t) nil)
                               (point))
                              (line (goto-char (point-min))
                                    (and (eq 0 (forward-line (1- line))) (point)))))))
      (cond ((null window) (goto-char place))
            ((eq (window-buffer window) (current-buffer)) (set-window-point window place))))))

(defun backstaff-view--insert-text (text face)
  "Insert TEXT in FACE, in place of a reply."
  (setq truncate-lines nil)
  (insert (propertize (substring-no-properties text) 'face face)
          (substitute-command-keys "\n\nType \\[revert-buffer] to ask again.\n")))

(defun backstaff-view-set-header (&rest strings)
  "Make the header line of STRINGS, in which a % stands for itself."
  (setq header-line-format (string-replace "%" "%%" (apply #'concat strings))))

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

(defun backstaff-view-globs (text)
  "Return the globs in TEXT.  One without a slash counts in any directory."
  (mapcar (lambda (glob) (if (string-search "/" glob) glob (concat "**/" glob)))
          (split-string text "[ ,]+" t)))

(defun backstaff-view-kind (kind)
  "Return the face for names of files of KIND, and their suffix, such as \"/\"."
  (pcase kind
    (:directory '(dired-directory "/"))
    (:symlink '(dired-symlink "@"))
    (:file '(nil ""))
    (_ '(dired-special ""))))

;;; Places

(defun backstaff-view--line-entry ()
  "Return the entry of the line on which the user sees point, or nil."
  (save-excursion
    (move-beginning-of-line 1)
    (or (get-text-property (point) 'backstaff-entry) (tabulated-list-get-id))))

(defun backstaff-view--entry ()
  "Return the entry at point, or nil."
  (or (get-text-property (point) 'backstaff-entry)
      (backstaff-view--line-entry)))

(defun backstaff-view-entry-at-point ()
  "Return the entry at point, or signal a `user-error' if there is none."
  (or (backstaff-view--entry)
      (user-error "There is nothing on this line")))

(defun backstaff-view--path ()
  "Return the path of the file at point, or else of the buffer's state."
  (or (plist-get (backstaff-view--entry) :path) (backstaff-view-get :path)))

(defun backstaff-view--absolute ()
  "Return the absolute name of `backstaff-view--path'."
  (backstaff-path-absolute (backstaff-view-get :root) (backstaff-view--path)))

(defun backstaff-view--file-name ()
  "Return the name with which Emacs visits the file at point, or nil."
  (when (backstaff-view--entry)
    (backstaff-path-file-name (backstaff-view--absolute) (backstaff-view-get :root))))

(defun backstaff-view-directory ()
  "Return the path of the directory at point, or the one of the file at point."
  (if (memq (plist-get (backstaff-view--entry) :kind) '(nil :directory))
      (backstaff-view--path)
    (or (backstaff-path-parent (backstaff-view--path)) ".")))

(defun backstaff-view--go-to (path &optional start)
  "Go to the name on the line of PATH, and return non-nil; stay if there is none.
Look from START on, by default the first line."
  (let ((old (point)) (found nil))
    (goto-char (or start (point-min)))
    (while (not (or (setq found (equal path (plist-get (backstaff-view--line-entry) :path)))
                    (eobp)))
      (forward-line))
    (goto-char (if (not found) old
                 (or (text-property-any (point) (line-end-position) 'backstaff-name t) (point))))
    found))

(defun backstaff-view--bookmark ()
  "Return a bookmark of the buffer's mode and state."
  (pcase-let* ((state (or backstaff-view-state backstaff-view--requested))
               ((map :root :path) state)
               (name (backstaff-names-show (backstaff-path-absolute root path t)))
               ;; A status would be an old one.
               (focus (list :focus (plist-get (backstaff-view--entry) :path) :status nil)))
    `(,name (location . ,name)
            (backstaff-mode . ,major-mode)
            (backstaff-state . ,(map-merge 'plist state focus))
            (handler . backstaff-view-jump))))

;;;###autoload
(defun backstaff-view-jump (bookmark)
  "Show the state in BOOKMARK in a buffer of its mode."
  (set-buffer (backstaff-view--buffer (bookmark-prop-get bookmark 'backstaff-mode)
                                     (bookmark-prop-get bookmark 'backstaff-state))))


;;; Commands

(defun backstaff-view-visit (&optional other-window)
  "Visit the file at point, or show the directory at point.
Do so in another window if OTHER-WINDOW is non-nil."
  (interactive)
  (let* ((entry (backstaff-view-entry-at-point)) (root (backstaff-view-get :root)))
    (unless (and (not (eq (plist-get entry :kind) :directory))
                 (backstaff-path-visit (backstaff-path-absolute root (plist-get entry :path))
                                       root other-window))
      (pcase-let* ((`(,mode . ,changes) (backstaff-view--call :open entry))
                   (same (eq mode major-mode))
                   (state (map-merge 'plist (if same backstaff-view-state `(:root ,root))
                                     '(:focus nil) changes)))
        (cond (other-window
               (switch-to-buffer-other-window (backstaff-view--buffer mode state)))
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
  (let ((name (if relative (backstaff-view--path) (backstaff-view--absolute))))
    (kill-new name)
    (message "Copied %s" (backstaff-names-show name))))

(defun backstaff-view-switch (mode path)
  "Show PATH of this project in major mode MODE, with point on the file at point."
  (backstaff-view-open mode `( :root ,(backstaff-view-get :root) :path ,path
                               :focus ,(backstaff-view--path)
                               ,@(and (plist-member backstaff-view-state :hidden)
                                      (list :hidden (backstaff-view-get :hidden))))))

(defun backstaff-view-list ()
  "List the directory at point, or the one of the file at point."
  (interactive)
  (backstaff-view-switch 'backstaff-list-mode (backstaff-view-directory)))

(defun backstaff-view-list-or-tree ()
  "Show the directory of a listing as a tree, or that of a tree as a listing."
  (interactive)
  (backstaff-view-switch (if (derived-mode-p 'backstaff-tree-mode) 'backstaff-list-mode
                           'backstaff-tree-mode)
                         (backstaff-view-get :path)))

(defun backstaff-view-info ()
  "Show the type, size, times and permissions of the file at point."
  (interactive)
  (let ((root (backstaff-view-get :root)))
    (backstaff-file-info (backstaff-path-file-name (backstaff-view--absolute) root)
                         ;; A command for agents may be in none of the project's directories.
                         (unless (string-prefix-p "/" (backstaff-view--path)) root))))

(provide 'backstaff-ui-view)
;;; backstaff-ui-view.el ends here
