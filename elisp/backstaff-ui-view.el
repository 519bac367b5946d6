;;; backstaff-ui-view.el --- Buffers that show replies of tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A view is a buffer with a state, such as (:root "/home/me/a/" :path "src").  The
;; mode turns a state into a call of a tool, which returns at once.  When the reply
;; comes, the buffer draws it.  If the call fails, the buffer keeps its text, and goes
;; back to the state before.  A project has one buffer of each mode.  The buffer owns its
;; calls: C-g cancels them, also on the server, and so does killing the buffer.
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

(declare-function dired-get-filename "dired" (&optional localp no-error-if-not-filep))

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
or file below the root.  `:focus' is a path to put point on, in one request.")

(defvar-local backstaff-view--shown nil
  "The state that the buffer shows.
A call that fails or is cancelled leads back to it.")

(defvar-local backstaff-view--reply nil
  "The reply that the buffer shows.")

(defvar-local backstaff-view--functions nil
  "The arguments of `backstaff-view-setup', a plist.")

(defun backstaff-view-keymap (&rest bindings)
  "Return a keymap of BINDINGS, keys for `kbd' and commands in turn.
It also has the keys of all views."
  (let ((map (make-sparse-keymap)))
    (cl-loop for (key command) on `("?" backstaff-view-keys ,@bindings) by #'cddr
             do (define-key map (kbd key) command))
    (define-key map [remap keyboard-quit] #'backstaff-view-quit)
    map))

(defvar backstaff-view-mode-map
  (backstaff-view-keymap "RET" #'backstaff-view-visit "o" #'backstaff-view-visit-other-window
                         "w" #'backstaff-view-copy-path "n" #'next-line "p" #'previous-line)
  "Keymap of the views that show names of files.")

(define-derived-mode backstaff-view-mode special-mode "View"
  "Parent of the major modes that show names of files."
  :group 'backstaff)

(defun backstaff-view-setup (&rest functions)
  "Make the current buffer a view.  FUNCTIONS is a plist:
`:request' turns a state into a list (TOOL ARGUMENTS [CONTEXT]).
`:draw' draws a successful reply into the empty buffer.
`:draw-failures' is non-nil if `:draw' draws the other replies as well.  If not,
  a buffer with a text keeps it, and the failure is a message.
`:then' gets the reply instead of `backstaff-view-show' (optional).
`:open' is called with the entry of a directory to show it (optional)."
  (setq truncate-lines nil word-wrap t
        buffer-undo-list t buffer-read-only t
        bidi-paragraph-direction 'left-to-right
        fringe-indicator-alist (cons '(continuation nil nil) fringe-indicator-alist)
        mode-line-process '("" (backstaff-view--calls " waiting, C-g cancels"))
        backstaff-view--functions functions)
  (setq-local truncate-partial-width-windows nil
              revert-buffer-function (lambda (&rest _) (backstaff-view-change)))
  (add-hook 'kill-buffer-hook #'backstaff-view--cancel nil t)
  (add-hook 'change-major-mode-hook #'backstaff-view--cancel nil t))

(defun backstaff-view-get (key)
  "Return the value of KEY in the state."
  (plist-get backstaff-view-state key))

(defun backstaff-view-open (mode state)
  "Show STATE in the project's buffer in major mode MODE, and return the buffer.
A view opens another one in the same window.  Buffers have short names, such as
\"*backstaff tree: caddy@host*\"."
  (let* ((root (plist-get state :root))
         (kind (string-remove-prefix "backstaff-" (string-remove-suffix "-mode" (symbol-name mode))))
         (name (file-name-nondirectory (directory-file-name root))) ; of "/" it is empty
         (host (file-remote-p root 'host))
         (buffer (or (cl-find-if (lambda (buffer)
                                   (with-current-buffer buffer
                                     (and (eq mode major-mode)
                                          (equal root (backstaff-view-get :root)))))
                                 (buffer-list))
                     (generate-new-buffer
                      (format "*backstaff %s: %s%s*" kind
                              (if (equal name "") root (backstaff-names-show name))
                              (if host (concat "@" host) ""))))))
    (with-current-buffer buffer
      (unless (eq major-mode mode)
        (funcall mode))
      (apply #'backstaff-view-change state))
    (funcall (if backstaff-view--functions #'pop-to-buffer-same-window #'pop-to-buffer) buffer)
    buffer))

(defun backstaff-view-file-at-point ()
  "Return the file that the buffer visits, or that point is on, or nil."
  (cond (buffer-file-name)
        ((derived-mode-p 'dired-mode) (dired-get-filename nil t))
        (t (when-let ((entry (and backstaff-view--functions (backstaff-view-entry)))
                      (root (backstaff-view-get :root)))
             (backstaff-path-absolute root (plist-get entry :path))))))

(defun backstaff-view-change (&rest changes)
  "Request the state with CHANGES, a plist.
If the tool fails, keep the text of the buffer, and show the failure in the echo
area.  A changed state is shown from its top, but if CHANGES have a `:focus', a
path that the view shows, point goes there.  An equal one leaves point alone."
  (unless backstaff-view--functions
    (user-error "This buffer is no view of Backstaff"))
  (backstaff-prompt-connect (or (plist-get changes :root) (backstaff-view-get :root)))
  (backstaff-view--cancel)
  (setq backstaff-view-state (map-merge 'plist backstaff-view-state '(:focus nil) changes))
  (backstaff-view-call backstaff-view-state (or (plist-get backstaff-view--functions :then)
                                                #'backstaff-view-show)))

(defun backstaff-view-add (changes draw)
  "Call the tool for the state with CHANGES, and later DRAW with the reply.
DRAW inserts at the end of the buffer.  Points stay where they are."
  (backstaff-view-call (append changes backstaff-view-state)
                       (lambda (reply)
                         (with-silent-modifications
                           (save-excursion
                             (goto-char (point-max))
                             (funcall draw reply))))))

;;; Calls

(defvar-local backstaff-view--calls nil
  "The calls that have no reply yet, each a list of its handle.")

(defun backstaff-view-call (state callback)
  "Call the tool for STATE, and return at once.
CALLBACK gets the reply, in this buffer, unless the user cancels the call.  It
decides whether the state of the buffer changes.  The user made the call, so no
policy stops it."
  (pcase-let* ((`(,id ,arguments ,context) (funcall (plist-get backstaff-view--functions :request) state))
               (buffer (current-buffer)) (call (list nil))
               (answer (lambda (reply)
                         (when (buffer-live-p buffer)
                           (with-current-buffer buffer
                             (when (memq call backstaff-view--calls)
                               (backstaff-view--forget call)
                               ;; A quit while a server starts cancels all that wait for it.
                               (if (equal (plist-get (plist-get reply :error) :code) "CANCELLED")
                                   (backstaff-view--cancelled)
                                 (funcall callback reply))))))))
    (push call backstaff-view--calls)
    (force-mode-line-update)
    ;; This can be quit: sending takes long if the server does not read.
    (unwind-protect
        (setcar call (backstaff-call-async
                      id arguments answer
                      `(:person t :root ,(plist-get state :root) ,@context)))
      (unless (car call)
        (backstaff-view--forget call)))))

(defun backstaff-view--forget (call)
  "Let the current buffer no longer wait for CALL."
  (setq backstaff-view--calls (delq call backstaff-view--calls))
  (force-mode-line-update))

(defun backstaff-view--cancel ()
  "Cancel the calls of the current buffer; return nil if there are none."
  (let ((calls backstaff-view--calls))
    (setq backstaff-view--calls nil)
    (mapc #'backstaff-cancel (remq nil (mapcar #'car calls)))
    (and calls t)))

(defun backstaff-view-quit ()
  "Cancel the calls of the view, or quit as usual if there are none."
  (interactive)
  (if (backstaff-view--cancel) (backstaff-view--cancelled)
    (keyboard-quit)))

(defun backstaff-view--cancelled ()
  "Show that the user has cancelled what the buffer waited for."
  (if backstaff-view--reply (setq backstaff-view-state backstaff-view--shown)
    (backstaff-view--redraw (lambda () (backstaff-view--insert-text "Cancelled" 'shadow))))
  (message "%s" (substitute-command-keys "Cancelled; \\[revert-buffer] asks again")))

;;; Drawing

(defun backstaff-view-show (reply)
  "Draw REPLY, or say that the call failed.
A buffer with a text keeps it then, unless its mode draws failures."
  (pcase-let* (((map :root :path) backstaff-view-state) ((map :ok :text) reply)
               (draws (or ok (plist-get backstaff-view--functions :draw-failures)))
               (old (map-merge 'plist backstaff-view--shown '(:focus nil)))
               (top (not (equal old (map-merge 'plist backstaff-view-state '(:focus nil))))))
    (if (and (not draws) (plist-get backstaff-view--reply :ok))
        (progn (setq backstaff-view-state backstaff-view--shown)
               (message "%s" text))
      (setq backstaff-view--reply reply
            backstaff-view--shown backstaff-view-state
            default-directory (backstaff-path-file-name
                               (backstaff-path-absolute root (if ok (or path ".") ".") t) root))
      (backstaff-view--redraw (lambda ()
                               (if draws (funcall (plist-get backstaff-view--functions :draw) reply)
                                 (setq header-line-format nil)
                                 (backstaff-view--insert-text text 'error)))
                             top))))

(defun backstaff-view--redraw (draw &optional top)
  "Erase the buffer, and call DRAW to draw it.
In the buffer and in each of its windows, point goes to the `:focus' of the
state, or to the first line if TOP is non-nil, or else to the line of the same
number."
  (let* ((inhibit-read-only t)
         (focus (plist-get backstaff-view-state :focus))
         (places (mapcar (lambda (window)
                           (save-excursion
                             (when window (goto-char (window-point window)))
                             (list window (line-number-at-pos) (current-column))))
                         (cons nil (get-buffer-window-list nil t t)))))
    (with-silent-modifications
      (erase-buffer)
      (remove-overlays)
      (funcall draw))
    (pcase-dolist (`(,window ,line ,column) (reverse places))
      (goto-char (point-min))
      (unless top
        (forward-line (1- line))
        (move-to-column column))
      (when focus (backstaff-view-go-to focus))
      (when window (set-window-point window (point))))))

(defun backstaff-view--insert-text (text face)
  "Insert TEXT in FACE, in place of a reply."
  (insert (propertize (substring-no-properties text) 'face face)
          (substitute-command-keys "\n\nType \\[revert-buffer] to ask again.\n")))

(defun backstaff-view-set-header (&rest strings)
  "Make the header line of STRINGS, in which a % stands for itself."
  (setq header-line-format (string-replace "%" "%%" (apply #'concat " " strings))))

(defun backstaff-view-read-globs (prompt globs)
  "Ask with PROMPT for globs such as \"*.{c,h} docs/**\"; GLOBS are there to edit.
One without a slash counts in any directory."
  (mapcar (lambda (glob) (if (string-search "/" glob) glob (concat "**/" glob)))
          (split-string (read-string (concat prompt " files (such as *.{c,h} docs/**): ")
                                     (string-join globs " ")))))

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

(defun backstaff-view-go-to (path)
  "Go to the name of PATH, and return non-nil; stay if there is none."
  (let ((place (point-min)))
    (while (not (or (null place)
                    (equal path (plist-get (get-text-property place 'backstaff-entry) :path))))
      (setq place (next-single-property-change place 'backstaff-entry)))
    (when place (goto-char place))))

;;; Commands

(defun backstaff-view-visit (&optional other-window)
  "Visit the file at point, or show the directory at point.
Do so in another window if OTHER-WINDOW is non-nil; then Dired shows a
directory."
  (interactive nil backstaff-view-mode)
  (let ((entry (backstaff-view-entry t)) (open (plist-get backstaff-view--functions :open)))
    (if (and open (not other-window) (eq (plist-get entry :kind) :directory))
        (funcall open entry)
      (backstaff-path-visit (plist-get entry :path) (backstaff-view-get :root) other-window))))

(defun backstaff-view-visit-other-window ()
  "Visit the file or the directory at point in another window."
  (interactive nil backstaff-view-mode)
  (backstaff-view-visit t))

(defun backstaff-view-copy-path (relative)
  "Copy the absolute name of the file at point.
With a prefix argument RELATIVE, copy its path below the project's root."
  (interactive "P" backstaff-view-mode)
  (let ((path (plist-get (backstaff-view-entry t) :path)))
    (kill-new (if relative path (backstaff-view-file-at-point)))
    (message "Copied %s" (backstaff-names-show (current-kill 0)))))

(defun backstaff-view-keys ()
  "Show the keys of this view on one page."
  (interactive)
  (let ((keys nil))
    (map-keymap (lambda (event command)
                  (when (and (integerp event) (symbolp command)
                             (string-prefix-p "backstaff-" (symbol-name command))
                             (eq command (key-binding (vector event))))
                    (push (list event (car (split-string (documentation command) "\n"))) keys)))
                (current-local-map))
    (with-help-window (help-buffer)
      (princ (format "Keys of %s; C-h m shows all\n\n" mode-name))
      (pcase-dolist (`(,event ,text) (sort (delete-dups keys) #'car-less-than-car))
        (princ (format "%-6s %s\n" (key-description (vector event)) text)))
      (princ "g      Ask again and keep the place.\nq      Close the view.\n"))))

(provide 'backstaff-ui-view)
;;; backstaff-ui-view.el ends here
