;;; backstaff-ui-view.el --- Buffers that show replies of tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A view is a buffer with a state, such as (:root "/home/me/a/" :path "src").  The
;; mode turns a state into a call of a tool, which returns at once.  When the reply
;; comes, the buffer takes the new state and draws the reply.  Until then, and if the
;; call fails, it keeps the old ones, so commands act on the text that the user sees.
;; A project has one buffer of each mode.
;;
;; A name of a file is a button with the text property `backstaff-entry', for example
;; (:path "src/a.c" :kind :file).  Paths are below the root and have the file's exact bytes.

;;; Code:

;; The file of each view requires this one, and gets these libraries with it.
(require 'button)
(require 'cl-lib)
(require 'map)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-prompt)

(defvar ffap-alist)
(defvar thing-at-point-provider-alist)
(declare-function bookmark-prop-get "bookmark" (bookmark property))
(declare-function dired-get-filename "dired" (&optional localp no-error-if-not-filep))

(defcustom backstaff-show-hidden nil
  "Whether a new tree shows files whose names start with a dot.
\\`.' shows or hides them in a buffer."
  :type 'boolean :group 'backstaff :package-version '(backstaff . "0.1.0"))

(defface backstaff-directory '((t :inherit font-lock-function-name-face))
  "Face of the names of directories." :group 'backstaff)

(defface backstaff-symlink '((t :inherit font-lock-keyword-face))
  "Face of the names of symbolic links." :group 'backstaff)

(defface backstaff-heading '((t :inherit bold))
  "Face of headings, such as the name of a file above its matches." :group 'backstaff)

(defface backstaff-note '((t :inherit shadow))
  "Face of explanations in a view, such as counts." :group 'backstaff)

;;; State

(defvar-local backstaff-view-state nil
  "The state of the buffer, a plist such as (:root \"/home/me/a/\" :path \"src\").
`:root' is the absolute name of the project's root, and `:path' is a directory
or file below the root.")

(defconst backstaff-view--transient '(:focus nil :status nil :most nil)
  "Parts of a state that another request does not keep, and their values in it.")

(defvar-local backstaff-view-reply nil
  "The reply that the buffer shows.")

(defvar-local backstaff-view--requested nil
  "The state for which the buffer awaits a reply, or nil.")

(defvar-local backstaff-view--functions nil
  "The arguments of `backstaff-view-setup', a plist.")

(defun backstaff-view-keymap (&rest bindings)
  "Return a keymap of BINDINGS, keys for `kbd' and commands in turn.
It also has the keys of all views."
  (let ((map (make-sparse-keymap)))
    (cl-loop for (key command) on `("?" backstaff-view-keys ,@bindings) by #'cddr
             do (define-key map (kbd key) command))
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    map))

(defvar backstaff-view-map
  (backstaff-view-keymap "RET" #'backstaff-view-visit "o" #'backstaff-view-visit-other-window
                         "w" #'backstaff-view-copy-path "l" #'backstaff-view-dired
                         "=" #'backstaff-file-info "n" #'next-line "p" #'previous-line)
  "Keymap of the views that show names of files.")

(defvar backstaff-view-mode-map
  (make-composed-keymap backstaff-view-map special-mode-map)
  "Keymap of `backstaff-view-mode'.")

(define-derived-mode backstaff-view-mode special-mode "View"
  "Parent of the major modes that show names of files."
  :group 'backstaff)

(cl-defun backstaff-view-setup (&rest functions &key wrap &allow-other-keys)
  "Make the current buffer a view.  FUNCTIONS is a plist:
`:request' turns a state into a list (TOOL ARGUMENTS [CONTEXT]).
`:again' gets a state and its reply.  It returns changes if the reply is of no
  use before another call, or nil (optional).
`:draw' draws a successful reply into the empty buffer.
`:draw-failures' is non-nil if `:draw' draws the other replies as well.  If not,
  a buffer with a text keeps it, and the failure is a message.
`:open' is called with the entry of a directory to show it (optional).
`:wrap', WRAP, is non-nil if long lines wrap, in narrow windows as well."
  (setq truncate-lines (not wrap) word-wrap t
        buffer-undo-list t buffer-read-only t
        bidi-paragraph-direction 'left-to-right
        fringe-indicator-alist (cons '(continuation nil nil) fringe-indicator-alist)
        mode-line-process '("" backstaff-request-indicator)
        backstaff-view--functions functions)
  (add-hook 'file-name-at-point-functions #'backstaff-view--file-name nil t)
  (setq-local truncate-partial-width-windows nil
              ffap-alist (list (cons major-mode (lambda (_) (backstaff-view--file-name))))
              thing-at-point-provider-alist
              '((filename . backstaff-view--file-name)
                (existing-filename . backstaff-view--file-name))
              backstaff-request-cancelled-function #'backstaff-view--cancelled
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

(defun backstaff-view-root ()
  "Return the root of the buffer's project."
  (or (backstaff-view-get :root) (user-error "This buffer is no view of Backstaff")))

(defun backstaff-view--title (mode state &optional whole)
  "Return the title of a buffer in MODE with STATE, such as \"tree: caddy\".
If WHOLE is non-nil, the title tells apart the states of a project:
\"tree: caddy/src/\", or \"search: run in caddy\"."
  (pcase-let (((map :root :path :tool) state))
    (concat (string-remove-prefix "backstaff-" (string-remove-suffix "-mode" (symbol-name mode)))
            ": " (and whole tool (format "%s in " (backstaff-names-prose tool)))
            ;; Of "/" there is no last part.
            (let ((name (file-name-nondirectory (directory-file-name root))))
              (concat (if (equal name "") root (backstaff-names-show name))
                      (and (file-remote-p root) (concat "@" (file-remote-p root 'host)))))
            (and whole (not (member path '(nil "."))) (concat "/" (backstaff-names-show path))))))

(defun backstaff-view-open (mode state)
  "Show STATE in the project's buffer in major mode MODE, and return the buffer.
A view opens another one in the same window."
  (funcall (if backstaff-view--functions #'pop-to-buffer-same-window #'pop-to-buffer)
           (backstaff-view--buffer mode state)))

(defun backstaff-view-open-directory (mode directory &rest state)
  "Show DIRECTORY in major mode MODE; STATE is the rest of the state.
Point goes to the file that the user comes from, if the view shows it."
  (let* ((directory (file-name-as-directory directory))
         (root (backstaff-command-root directory))
         (name (backstaff-view-file-at-point)))
    (backstaff-view-open
     mode `( :root ,root :path ,(backstaff-path-relative root directory)
             ;; To resolve the links of another host takes round trips.
             :focus ,(and name (or (string-prefix-p root name) (not (file-remote-p root)))
                          (backstaff-path-relative root name))
             ,@state))))

(defun backstaff-view-file-at-point ()
  "Return the file that the buffer visits, or that point is on, or nil."
  (cond (buffer-file-name)
        (backstaff-view--functions (backstaff-view--file-name))
        ((derived-mode-p 'dired-mode) (dired-get-filename nil t))))

(defun backstaff-view--buffer (mode state)
  "Request STATE in a buffer in major mode MODE, and return the buffer.
Use the buffer that shows the same project in this mode, if there is one."
  (with-current-buffer
      (or (cl-find-if (lambda (buffer)
                        (and (eq mode (buffer-local-value 'major-mode buffer))
                             (equal (plist-get state :root)
                                    (with-current-buffer buffer (backstaff-view-get :root)))))
                      (buffer-list))
          (generate-new-buffer (format "*backstaff %s*" (backstaff-view--title mode state))))
    (unless (eq major-mode mode)
      (funcall mode))
    (apply #'backstaff-view-change state)
    (current-buffer)))

(defun backstaff-view-change (&rest changes)
  "Request the latest state with CHANGES, a plist.
If the tool fails, keep the text of the buffer, and show the failure in the echo
area.  A changed state is shown from its top, but if CHANGES have a `:focus', a
path that the view shows, point goes there.  An equal one leaves point alone."
  (unless backstaff-view--functions
    (user-error "This buffer is no view of Backstaff"))
  (let ((state (map-merge 'plist (backstaff-view-latest-state) backstaff-view--transient changes)))
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
  (pcase-let* (((map :root :path) state) ((map :ok :text) reply)
               (draws (or ok (plist-get backstaff-view--functions :draw-failures)))
               (changed (not (equal (map-merge 'plist backstaff-view-state backstaff-view--transient)
                                    (map-merge 'plist state backstaff-view--transient)))))
    (if (not (or draws (not (plist-get backstaff-view-reply :ok))))
        (message "%s" text)
      (setq backstaff-view-state state
            backstaff-view-reply reply
            truncate-lines (not (plist-get backstaff-view--functions :wrap))
            default-directory (backstaff-path-file-name
                               (backstaff-path-absolute root (if ok (or path ".") ".") t) root))
      (backstaff-view--redraw (lambda ()
                               (if draws (backstaff-view--call :draw reply)
                                 (setq header-line-format nil)
                                 (backstaff-view--insert-text text 'error)))
                             changed))))

(defun backstaff-view--redraw (draw &optional top)
  "Erase the buffer, and call DRAW to draw it.
In the buffer and in each of its windows, point goes to the `:focus' of the
state, or to the first line if TOP is non-nil, or else to the same entry, or
the line of the same number."
  (let* ((inhibit-read-only t)
         (focus (plist-get backstaff-view-state :focus))
         (places (mapcar (lambda (window)
                           (save-excursion
                             (when window (goto-char (window-point window)))
                             (list window (plist-get (backstaff-view-entry) :path)
                                   (line-number-at-pos) (current-column)
                                   (and window (line-number-at-pos (window-start window))))))
                         (cons nil (get-buffer-window-list nil t t)))))
    (with-silent-modifications
      (erase-buffer)
      (remove-overlays)
      (funcall draw))
    (pcase-dolist (`(,window ,path ,line ,column ,start) (reverse places))
      (goto-char (point-min))
      (cond ((and focus (backstaff-view-go-to focus)))
            (top (setq start 1))
            (t (unless (and path (backstaff-view-go-to path))
                 (forward-line (1- line)))
               (move-to-column column)))
      (when window
        (set-window-point window (point))
        (save-excursion
          (goto-char (point-min))
          (forward-line (1- start))
          (set-window-start window (point) t))))))

(defun backstaff-view--cancelled ()
  "Show that the user has cancelled what the buffer waited for."
  (if backstaff-view-state (setq backstaff-view--requested nil)
    (backstaff-view--redraw (lambda () (backstaff-view--insert-text "Cancelled" 'shadow)))))

(defun backstaff-view--insert-text (text face)
  "Insert TEXT in FACE, in place of a reply."
  (setq truncate-lines nil)
  (insert (propertize (substring-no-properties text) 'face face)
          (substitute-command-keys "\n\nType \\[revert-buffer] to ask again.\n")))

(defun backstaff-view-set-header (&rest strings)
  "Make the header line of STRINGS, in which a % stands for itself."
  (setq header-line-format (string-replace "%" "%%" (apply #'concat " " strings))))

(defun backstaff-view-globs (text)
  "Return the globs in TEXT.  One without a slash counts in any directory.
Blanks and commas stand between globs, but a comma in braces is the glob's own:
\"*.{c,h} docs/**\"."
  (let ((globs nil) (start 0))
    (while (string-match "\\(?:{[^{}]*}\\|[^ ,]\\)+" text start)
      (setq start (match-end 0))
      (let ((glob (match-string 0 text)))
        (push (if (string-search "/" glob) glob (concat "**/" glob)) globs)))
    (nreverse globs)))

(defconst backstaff-view--button-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mouse-2] #'push-button)
    map)
  "Keymap of names.  From Emacs 29 on, that of other buttons has a TAB of its own.")

(defun backstaff-view-button (name path kind)
  "Return NAME as a button for PATH, a file of KIND, such as `:directory'."
  (make-text-button name nil
                    'face (pcase kind (:directory 'backstaff-directory) (:symlink 'backstaff-symlink))
                    'action (lambda (_) (backstaff-view-visit)) 'follow-link t
                    'help-echo nil 'keymap backstaff-view--button-map
                    'backstaff-entry (list :path path :kind kind)))

;;; Places

(defun backstaff-view-entry (&optional required)
  "Return the entry at point, just before it, or else of the line, or nil.
If REQUIRED is non-nil, signal a `user-error' instead of returning nil."
  (let ((here (point)))
    (or (get-text-property here 'backstaff-entry)
        ;; A search stops behind the name.
        (and (> here (point-min)) (get-text-property (1- here) 'backstaff-entry))
        (save-excursion
          (move-beginning-of-line 1)
          (or (get-text-property (point) 'backstaff-entry)
              (get-text-property (next-single-property-change (point) 'backstaff-entry nil
                                                              (line-end-position))
                                 'backstaff-entry)))
        (and required (user-error "There is no file on this line")))))

(defun backstaff-view--path ()
  "Return the path of the file at point, or else of the buffer's state."
  (or (plist-get (backstaff-view-entry) :path) (backstaff-view-get :path)
      (user-error "This buffer shows no file")))

(defun backstaff-view--file-name ()
  "Return the name with which Emacs visits the file at point, or nil."
  (when-let ((entry (backstaff-view-entry)) (root (backstaff-view-get :root)))
    (backstaff-path-file-name (backstaff-path-absolute root (plist-get entry :path)) root)))

(defun backstaff-view-go-to (path)
  "Go to the name of PATH, and return non-nil; stay if there is none."
  (let ((place (point-min)))
    (while (not (or (null place)
                    (equal path (plist-get (get-text-property place 'backstaff-entry) :path))))
      (setq place (next-single-property-change place 'backstaff-entry)))
    (when place (goto-char place))))

(defun backstaff-view--bookmark ()
  "Return a bookmark of the buffer's mode and state."
  (let* ((state (backstaff-view-latest-state))
         (root (plist-get state :root)))
    `(,(backstaff-view--title major-mode state t)
      (location . ,(backstaff-path-shown
                    (backstaff-path-absolute root (or (plist-get state :path) ".") t)))
      (backstaff-mode . ,major-mode)
      (backstaff-state . ,(map-merge 'plist state backstaff-view--transient
                                     (list :focus (plist-get (backstaff-view-entry) :path))))
      (handler . backstaff-view-jump))))

;;;###autoload
(defun backstaff-view-jump (bookmark)
  "Show the state in BOOKMARK in a buffer of its mode."
  (set-buffer (backstaff-view--buffer (bookmark-prop-get bookmark 'backstaff-mode)
                                     (bookmark-prop-get bookmark 'backstaff-state))))

;;; Commands

(defun backstaff-view-visit (&optional other-window)
  "Visit the file at point, or show the directory at point.
Do so in another window if OTHER-WINDOW is non-nil; then Dired shows a
directory."
  (interactive nil backstaff-view-mode)
  (let* ((entry (backstaff-view-entry t)) (root (backstaff-view-get :root))
         (name (backstaff-path-absolute root (plist-get entry :path)))
         (open (plist-get backstaff-view--functions :open)))
    (cond ((and open (not other-window) (eq (plist-get entry :kind) :directory))
           (funcall open entry))
          ((backstaff-path-visit name root other-window))
          (t (funcall (if other-window #'dired-other-window #'dired)
                      (backstaff-path-file-name name root))))))

(defun backstaff-view-visit-other-window ()
  "Visit the file at point, or show the directory at point, in another window."
  (interactive nil backstaff-view-mode)
  (backstaff-view-visit t))

(defun backstaff-view-dired ()
  "Show the file or directory at point with Dired."
  (interactive nil backstaff-view-mode)
  (let* ((root (backstaff-view-root)) (entry (backstaff-view-entry))
         (name (backstaff-path-file-name (backstaff-path-absolute root (backstaff-view--path)) root)))
    (if (memq (plist-get entry :kind) '(nil :directory)) (dired name)
      (dired-jump nil name))))

(defun backstaff-view-up ()
  "Show the parent directory, up to the project's root."
  (interactive nil backstaff-view-mode)
  (let ((root (backstaff-view-root)) (path (or (backstaff-view-get :path) ".")))
    (backstaff-view-change :path (or (backstaff-path-parent path)
                                     (user-error "This is the root of the project, %s"
                                                 (backstaff-path-shown root)))
                           :focus path)))

(defun backstaff-view-copy-path (relative)
  "Copy the absolute name of the file at point.
With a prefix argument RELATIVE, copy its path below the project's root."
  (interactive "P" backstaff-view-mode)
  (let* ((root (backstaff-view-root)) (path (backstaff-view--path))
         (name (if relative path (backstaff-path-absolute root path))))
    (kill-new name)
    (message "Copied %s" (backstaff-names-show name))))

(defun backstaff-view-keys ()
  "Show the keys of this buffer that it does not share with other packages."
  (interactive)
  (let ((keys nil) (mode major-mode))
    (dolist (map (cons (intern (format "%s-map" mode))
                       (and (derived-mode-p 'backstaff-view-mode) '(backstaff-view-map))))
      (map-keymap-internal
       (lambda (event command)
         (when (and (symbolp command) (not (assq event keys)) (integerp event)
                    (not (memq event '(?g ?q))))
           ;; The words of a command of another file come with that file.
           (autoload-do-load (symbol-function command) command)
           (push (list event (car (split-string (documentation command) "\n"))) keys)))
       (symbol-value map)))
    (with-help-window (help-buffer)
      (princ (format "Keys of %s; C-h m shows all\n\n" mode))
      (pcase-dolist (`(,event ,text) (sort keys #'car-less-than-car))
        (princ (format "%-6s %s\n" (key-description (vector event)) text)))
      (princ "g      Ask again and keep the place.\nq      Close the view.\n"))))

(provide 'backstaff-ui-view)
;;; backstaff-ui-view.el ends here
