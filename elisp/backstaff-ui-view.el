;;; backstaff-ui-view.el --- Prompts, and buffers that show replies  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A view is a buffer with a call of a tool as its state, such as
;;
;;   (:root "/home/me/a/" :tool "workspace/tree" :arguments (:path "src"))
;;
;; A call returns at once, and the buffer draws the reply when it comes.  A project has one
;; buffer of each mode.  C-g cancels the call, also on the server, and so does killing the buffer.
;;
;; A name of a file is a button with the text property `backstaff-entry', for example
;; (:path "src/a.c" :kind :file).  Paths are below the root and have the file's exact bytes.

;;; Code:

;; The file of each view requires this one, and gets these libraries with it.
(require 'button)
(require 'json)
(require 'map)
(require 'thingatpt)
(require 'backstaff)
(require 'backstaff-names)

(declare-function consult--dynamic-collection "ext:consult" t t)
(declare-function consult--lookup-member "ext:consult" t)
(declare-function consult--read "ext:consult" t)
(declare-function dired-get-filename "dired" (&optional localp no-error-if-not-filep))

(defface backstaff-directory '((t :inherit font-lock-function-name-face))
  "Face of the names of directories." :group 'backstaff)

(defface backstaff-heading '((t :inherit bold))
  "Face of headings, such as the name of a file above its matches." :group 'backstaff)

(defface backstaff-note '((t :inherit shadow))
  "Face of explanations in a view, such as counts." :group 'backstaff)

(defcustom backstaff-use-consult t
  "Whether Consult, if it is installed, shows matches and definitions as you type.
That needs Vertico, icomplete or fido, which keep the candidates on the screen."
  :type 'boolean :group 'backstaff :package-version '(backstaff . "0.1.0"))

;;; Directories and hosts, for commands that a person types; calls of agents never ask

(defun backstaff-command-root (&optional directory)
  "Return the root for a command that the user typed in DIRECTORY.
This is `backstaff-root', but asks whether to connect to a host."
  (backstaff-view--connect (or backstaff-root-directory directory (backstaff-directory)))
  (condition-case problem
      (backstaff-root directory)
    ;; The command loop would quote the text of any other condition.
    (backstaff-remote-directory (user-error "%s" (backstaff-epc-error-text problem)))))

(defun backstaff-view--connect (directory)
  "Ask whether to connect to DIRECTORY's host, if a server could start there."
  (let ((host (file-remote-p directory)))
    (when (and host (not noninteractive) (not inhibit-quit)
               (not (backstaff-server-connected-p directory))
               (backstaff-server-on-host 'shell-p directory)
               (y-or-n-p (format "Connect to %s? " host)))
      ;; TRAMP does not connect where it believes that nobody waits for it.
      (let ((non-essential nil))
        (file-exists-p (concat host "/"))))))


;;; Text that the user types

(defun backstaff-view-default-input ()
  "Return the text in the region, if it is on one line, or the name at point.
A note of a view, such as \"No matches\", has no names."
  (cl-find-if (lambda (text)
                ;; In some modes "//" is a symbol.
                (and text (string-match-p "\\`[^\n]*[[:alnum:]][^\n]*\\'" text)))
              (list (and (use-region-p)
                         (buffer-substring-no-properties (region-beginning) (region-end)))
                    (unless (eq (get-char-property (point) 'font-lock-face) 'backstaff-note)
                      (thing-at-point 'symbol t)))))

(defun backstaff-view-quote-regexp (text)
  "Return the regular expression of Python that matches TEXT."
  (replace-regexp-in-string "[^[:alnum:]_]" "\\\\\\&" text))

;;; Arguments of a tool

(defvar backstaff-view--argument-history nil "The arguments that the user typed.")

(defun backstaff-view-read-arguments (id arguments)
  "Read the arguments of the tool ID, a plist; ARGUMENTS are there to edit.
The user may also type an object of JSON."
  (let* ((form (if arguments (format "%S" arguments) "()"))
         (tool (cl-find-if (lambda (tool) (equal id (plist-get tool :id))) (backstaff-tools)))
         (text (read-from-minibuffer
                (format "%s (%s): " id
                        (mapconcat (lambda (argument) (concat ":" (plist-get argument :name)))
                                   (plist-get tool :arguments) " "))
                ;; Point is where the first value ends.
                (cons form (progn (string-match "\\`(?\\(?:[^ ]+ \"?[^\")]*\\)?" form)
                                  (1+ (match-end 0))))
                nil nil 'backstaff-view--argument-history))
         (json-object-type 'plist) (json-array-type 'list) (json-false :false))
    (condition-case nil
        (if (string-match-p "\\`[ \t]*{" text) (json-read-from-string text)
          (pcase-let ((`(,plist . ,end) (read-from-string text)))
            (unless (and (cl-evenp (length plist)) (string-blank-p (substring text end)))
              (error "No plist"))
            plist))
      (error (user-error "%s is no plist such as (:path \"src\"), nor JSON" text)))))

;;; Consult

(defun backstaff-view-consult-p ()
  "Return non-nil if commands that find text or definitions use Consult."
  (and backstaff-use-consult
       (or (bound-and-true-p vertico-mode) (bound-and-true-p icomplete-mode))
       (require 'consult nil t)))

(defun backstaff-view-with-consult (prompt answer &rest options)
  "Ask with PROMPT for a candidate, and show the place of each meanwhile.
ANSWER is as in `backstaff-find-read', and OPTIONS as in `consult--read';
functions for asynchronous commands have no public names."
  (apply #'consult--read
         (consult--dynamic-collection
          (lambda (input)
            (let ((candidates (funcall answer input)))
              (if (listp candidates) candidates (ignore (message "%s" candidates))))))
         :prompt prompt :require-match t :sort nil :lookup #'consult--lookup-member
         :add-history (backstaff-view-default-input) options))

;;; Calls that the user waits for

(defun backstaff-view-wait-for (id args root)
  "Return the reply to a person's call of the tool ID with ARGS in ROOT.
Wait until \\[keyboard-quit]; under `while-no-input', until the user types."
  ;; While `throw-on-input' is set, Emacs on a text terminal drops all but two of several
  ;; keys that arrive together.
  (let ((tag throw-on-input) (throw-on-input nil)
        (late (+ (float-time) 0.5)) (reply nil) (call nil))
    (unwind-protect
        (progn
          (setq call (backstaff-call-async id args (lambda (it) (setq reply it))
                                           (list :person t :root root)))
          (while (null reply)
            (when (and tag (input-pending-p)) (throw tag t))
            (when (and late (> (float-time) late))
              (setq late nil)
              (message "Waiting for an answer… (C-g cancels)"))
            (accept-process-output nil 0.02))
          (unless late (message nil))
          reply)
      (unless reply (backstaff-cancel call)))))

;;; State

(defvar-local backstaff-view-state nil
  "The state of the buffer, a plist.
`:root' is the absolute name of the project's root, and `:tool' and `:arguments'
are as in `backstaff-call'.  `:focus' is a path to put point on, and `:top' is
non-nil if point goes to the first line, both in one request.")

(defvar-local backstaff-view--reply nil "The reply that the buffer shows.")

(defvar-local backstaff-view--call nil "The call whose reply is to come.")

(defvar-local backstaff-view--functions nil "The arguments of `backstaff-view-setup'.")

(defun backstaff-view-keymap (&rest bindings)
  "Return a keymap of BINDINGS, keys and commands in turn, and of all views' keys."
  (let ((map (make-sparse-keymap)))
    (cl-loop for (key command) on `( "?" backstaff-view-keys "e" backstaff-view-edit ,@bindings)
             by #'cddr
             do (define-key map (kbd key) command))
    (define-key map [remap keyboard-quit] #'backstaff-view-quit)
    map))

(defvar backstaff-view-mode-map
  (backstaff-view-keymap "RET" #'backstaff-view-visit "<mouse-2>" #'push-button
                         "n" #'next-line "p" #'previous-line)
  "Keymap of the views that show names of files.")

(define-derived-mode backstaff-view-mode special-mode "View"
  "Parent of the major modes that show names of files."
  :group 'backstaff)

(defun backstaff-view-setup (&rest functions)
  "Make the current buffer a view.  FUNCTIONS is a plist:
`:draw' draws a successful reply into the empty buffer.
`:draw-failures' is non-nil if `:draw' draws the other replies as well.
`:arguments' returns the arguments to send for those in the state (optional).
`:context' is the context of the call (optional).
`:then' gets the reply instead of `backstaff-view-show' (optional).
`:open' is called with the path of a directory to show it (optional)."
  (setq truncate-lines nil word-wrap t
        buffer-undo-list t buffer-read-only t
        bidi-paragraph-direction 'left-to-right
        fringe-indicator-alist (cons '(continuation nil nil) fringe-indicator-alist)
        mode-line-process '("" (backstaff-view--call " waiting, C-g cancels"))
        backstaff-view--functions functions)
  (setq-local truncate-partial-width-windows nil
              revert-buffer-function (lambda (&rest _) (backstaff-view-change)))
  (add-hook 'kill-buffer-hook #'backstaff-view--cancel nil t)
  (add-hook 'change-major-mode-hook #'backstaff-view--cancel nil t))

(defun backstaff-view-get (key)
  "Return the value of KEY in the state of this buffer, which must be a view."
  (unless backstaff-view--functions (user-error "This buffer is no view of Backstaff"))
  (plist-get backstaff-view-state key))

(defun backstaff-view-open (mode root tool arguments &rest others)
  "Show the reply of TOOL to ARGUMENTS in the buffer of the project ROOT in MODE.
OTHERS are more of the state.  Return the buffer, in the window of a view if
one is selected.  Its name is short: \"*backstaff tree: caddy@host*\"."
  (let* ((kind (nth 1 (split-string (symbol-name mode) "-"))) ; of backstaff-tree-mode, "tree"
         (name (file-name-nondirectory (directory-file-name root))) ; of "/" it is empty
         (host (file-remote-p root 'host))
         (buffer (or (cl-find-if (lambda (buffer)
                                   (with-current-buffer buffer
                                     (and (eq mode major-mode)
                                          (equal root (plist-get backstaff-view-state :root)))))
                                 (buffer-list))
                     (generate-new-buffer
                      (format "*backstaff %s: %s%s*" kind
                              (if (equal name "") root (backstaff-names-show name))
                              (if host (concat "@" host) ""))))))
    (with-current-buffer buffer
      (unless (eq major-mode mode) (funcall mode))
      (apply #'backstaff-view-change :root root :tool tool :arguments arguments others))
    (funcall (if backstaff-view--functions #'pop-to-buffer-same-window #'pop-to-buffer) buffer)
    buffer))

(defun backstaff-view-file-at-point ()
  "Return the file that the buffer visits, or that point is on, or nil."
  (cond (buffer-file-name)
        ((derived-mode-p 'dired-mode) (dired-get-filename nil t))
        (t (when-let ((entry (and backstaff-view--functions (backstaff-view-entry))))
             (backstaff-view--absolute (backstaff-view-get :root) (plist-get entry :path))))))

(defun backstaff-view-change (&rest changes)
  "Request the state with CHANGES; the reply is then shown from its top."
  (backstaff-view--connect (or (plist-get changes :root) (backstaff-view-get :root)))
  (setq backstaff-view-state (map-merge 'plist backstaff-view-state
                                        (list :focus nil :top (and changes t)) changes))
  (backstaff-view-call (backstaff-view-get :tool) (backstaff-view-get :arguments)
                       (or (plist-get backstaff-view--functions :then) #'backstaff-view-show)))

;;; Calls

(defun backstaff-view-call (tool arguments callback)
  "Call TOOL with ARGUMENTS, and return at once; a call that is under way ends.
CALLBACK gets the reply, in this buffer, unless the user cancels the call."
  (backstaff-view--cancel)
  (pcase-let* (((map (:arguments complete) :context) backstaff-view--functions)
               (buffer (current-buffer)) (call nil)
               (answer (lambda (reply)
                         (when (and (buffer-live-p buffer)
                                    (eq call (buffer-local-value 'backstaff-view--call buffer)))
                           (with-current-buffer buffer
                             (setq backstaff-view--call nil)
                             (force-mode-line-update)
                             (if (not (equal (map-nested-elt reply '(:error :code)) "CANCELLED"))
                                 (funcall callback reply)
                               (unless backstaff-view--reply (backstaff-view-show reply))
                               (message "Cancelled")))))))
    (setq call (backstaff-call-async
                tool (if complete (funcall complete arguments) arguments) answer
                `(:person t :root ,(backstaff-view-get :root) ,@context))
          backstaff-view--call call)
    (force-mode-line-update)))

(defun backstaff-view--cancel ()
  "Cancel the call of the current buffer, if there is one, and forget it."
  (when-let ((call backstaff-view--call))
    (setq backstaff-view--call nil)
    (backstaff-cancel call)))

(defun backstaff-view-quit ()
  "Cancel the call of the view, or quit as usual if there is none."
  (interactive)
  (if backstaff-view--call (backstaff-cancel backstaff-view--call)
    (keyboard-quit)))

;;; Drawing

(defun backstaff-view-show (reply)
  "Draw REPLY, or the text of a failure."
  (pcase-let (((map :ok :text) reply) ((map :draw :draw-failures) backstaff-view--functions)
              (root (backstaff-view-get :root)))
    (setq backstaff-view--reply reply
          default-directory (backstaff-view-file-name root root))
    (backstaff-view--redraw (lambda ()
                              (if (or ok draw-failures) (funcall draw reply)
                                (setq header-line-format nil)
                                (insert (propertize (substring-no-properties text) 'face 'error)
                                        (substitute-command-keys
                                         "\n\nType \\[revert-buffer] to ask again, or\
 \\[backstaff-view-edit] to edit the call.\n")))))))

(defun backstaff-view--redraw (draw)
  "Erase the buffer, and call DRAW to draw it.
Point goes where the state says, or else to the line of the same number."
  (let* ((inhibit-read-only t) (window (get-buffer-window nil t))
         ;; Each collection of garbage takes a fiftieth of a second.
         (gc-cons-threshold (max gc-cons-threshold (* 16 1024 1024)))
         (place (save-excursion
                  (when window (goto-char (window-point window)))
                  (list (1- (line-number-at-pos)) (current-column))))
         (focus (backstaff-view-get :focus)))
    (with-silent-modifications
      (erase-buffer)
      (remove-overlays)
      (funcall draw))
    (goto-char (point-min))
    (unless (backstaff-view-get :top)
      (forward-line (car place))
      (move-to-column (cadr place)))
    (when focus (backstaff-view-go-to focus))
    (dolist (window (get-buffer-window-list nil t t)) (set-window-point window (point)))))

(defun backstaff-view-set-header (text)
  "Show TEXT and the arguments of the call in the header line."
  (let ((print-escape-newlines t)
        (arguments (map-filter (lambda (_ value) value) (backstaff-view-get :arguments))))
    (setq header-line-format
          ;; A % stands for itself.
          (string-replace "%" "%%" (concat " " (propertize text 'face 'backstaff-heading)
                                           (propertize "  e edits, ? shows the keys  "
                                                       'face 'backstaff-note)
                                           (format "%S" (map-into arguments 'plist)))))))

(defun backstaff-view-button (name path kind)
  "Return NAME as a button for PATH, a file of KIND, such as `:directory'."
  (make-text-button name nil
                    'face (and (eq kind :directory) 'backstaff-directory)
                    'action (lambda (_) (backstaff-view-visit)) 'follow-link t 'help-echo nil
                    ;; From Emacs 29 on, the keymap of buttons has a TAB of its own.
                    'keymap nil 'backstaff-entry (list :path path :kind kind)))

;;; Places

(defun backstaff-view-entry (&optional required)
  "Return the entry at point, just before it, or else of the line, or nil.
If one is REQUIRED, signal a `user-error' instead of returning nil."
  (let ((start (line-beginning-position)))
    (or (cl-some (lambda (place) (get-text-property place 'backstaff-entry))
                 ;; A search stops behind the name.
                 (list (point) (max start (1- (point))) start
                       (next-single-property-change start 'backstaff-entry nil
                                                    (line-end-position))))
        (and required (user-error "There is no file on this line")))))

(defun backstaff-view-go-to (path)
  "Go to the name of PATH, and return non-nil; stay if there is none."
  (let ((place (point-min)))
    (while (not (or (null place)
                    (equal path (plist-get (get-text-property place 'backstaff-entry) :path))))
      (setq place (next-single-property-change place 'backstaff-entry)))
    (when place (goto-char place))))

;;; Files

(defun backstaff-view-relative (root file)
  "Return the path of FILE below ROOT; else its name, which the tools refuse."
  (let ((name (file-name-as-directory (file-name-unquote (expand-file-name file)))))
    (cl-flet ((below (root name)
                (cond ((equal name root) ".")
                      ((string-prefix-p root name)
                       (directory-file-name (substring name (length root)))))))
      (or (below root name)
          (below (file-truename root) (file-truename name))
          (directory-file-name name)))))

(defun backstaff-view--absolute (root path)
  "Return the absolute name of PATH, a path below ROOT or an absolute name."
  (if (equal path ".") (directory-file-name root)
    ;; An absolute path is as the host has it.
    (concat (if (string-prefix-p "/" path) (file-remote-p root) root) path)))

(defun backstaff-view-file-name (name root)
  "Return NAME, on the host of ROOT, quoted against handlers of its directory.
Otherwise a directory called \"ssh:host:\" or \"a.zip\" would lead to another
machine or into an archive.  Decompression and the like do their work."
  (let* ((host (or (file-remote-p root) ""))
         (local (string-remove-prefix host name))
         (directory (substring local 0 (1+ (string-match "/[^/]*\\'" local)))))
    (if (or (and (equal host "") (string-match-p "^/[^/]*:" local))
            (not (eq (find-file-name-handler (concat host directory) 'expand-file-name)
                     (and (not (equal host ""))
                          (find-file-name-handler host 'expand-file-name)))))
        (concat host "/:" local)
      name)))

(defun backstaff-view-file-buffer (file root)
  "Return the buffer that visits FILE, an absolute name, or nil for a directory.
ROOT is the root of its project.  Ask before a link is followed out of ROOT."
  (let* ((name (backstaff-view-file-name file root))
         (true-name (file-truename name))
         ;; In Emacs 28 `file-regular-p' misses a name that cannot be decoded.
         (attributes (file-attributes true-name)))
    (unless (or (null attributes)
                (file-in-directory-p true-name (backstaff-view-file-name root root))
                (y-or-n-p (format "%s leads out of the project, to %s.  Follow it? "
                                  (backstaff-names-show (file-name-nondirectory file))
                                  (backstaff-names-show (file-name-unquote true-name)))))
      (user-error "The link was not followed"))
    (pcase (and attributes (aref (file-attribute-modes attributes) 0))
      (?d nil)
      ;; Tools also read the text of a new file before it is saved.
      ((or ?- (and 'nil (guard (get-file-buffer name)))) (find-file-noselect name))
      ;; Opening a fifo may block forever, and a device may do anything.
      (type (user-error (if type "%s is not a regular file" "%s does not exist")
                        (backstaff-names-show file))))))

(defun backstaff-view-visit-file (path root)
  "Visit PATH, a path below ROOT; show a directory, or a link to one, with Dired.
Ask before a link is followed out of ROOT."
  (let* ((name (backstaff-view--absolute root path))
         (buffer (backstaff-view-file-buffer name root)))
    (if buffer (pop-to-buffer-same-window buffer)
      (dired (backstaff-view-file-name name root)))))

;;; Commands

(defun backstaff-view-visit ()
  "Visit the file at point, or show the directory at point."
  (interactive nil backstaff-view-mode)
  (let ((entry (backstaff-view-entry t)) (open (plist-get backstaff-view--functions :open)))
    (if (and open (eq (plist-get entry :kind) :directory))
        (funcall open (plist-get entry :path))
      (backstaff-view-visit-file (plist-get entry :path) (backstaff-view-get :root)))))

(defun backstaff-view-edit ()
  "Edit the arguments of the call, and make it again."
  (interactive nil backstaff-view-mode backstaff-search-mode backstaff-changes-mode
               backstaff-inspector-mode)
  (backstaff-view-change :arguments (backstaff-view-read-arguments
                                     (backstaff-view-get :tool) (backstaff-view-get :arguments))))

(defun backstaff-view-keys ()
  "Show the keys of this view on one page."
  (interactive)
  (let ((mode mode-name) (help-window-select t) ; so that q closes the page, not the view
        (lines (cl-loop
                for key in '("RET" "TAB" "<backtab>" "." "n" "p" "N" "P" "e" "g" "q" "?")
                for command = (lookup-key (current-local-map) (kbd key))
                for text = (pcase command
                             ('outline-cycle-buffer "Open or close all that is loaded.")
                             ('revert-buffer "Ask again and keep the place.")
                             ('quit-window "Close the view.")
                             ((and (pred commandp) (guard (not (eq command 'undefined))))
                              (car (split-string (documentation command) "\n"))))
                when text collect (format "%-9s %s\n" key text))))
    (with-help-window (help-buffer)
      (princ (format "Keys of %s; C-h m shows all, C-g cancels\n\n%s" mode (string-join lines))))))

(provide 'backstaff-ui-view)
;;; backstaff-ui-view.el ends here
