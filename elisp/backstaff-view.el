;;; backstaff-view.el --- Buffers that show what a tool answers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What all buffers have in common that show a directory, a tree, a file or
;; commands.  Such a buffer has a state, a plist: the root of a project, a path
;; below it, and whatever else its mode asks for.  `backstaff-view-ask' turns
;; a state into a call, and returns at once.  When the answer has come, the
;; state is the buffer's, and the answer is drawn; until then all stays as it
;; is.  So a command on what is shown always means what is shown.
;;
;; A buffer waits for its own last request alone: a newer one, a quit, another
;; major mode and the death of the buffer cancel what is under way, and the
;; server hears of it.
;;
;; A mode calls `backstaff-view-setup' with two functions.  One turns a state
;; into a call, the other draws a reply.  Each line that stands for a file or
;; the like has the text property `backstaff-entry', a plist: `:path', below the
;; root and with its exact bytes, `:kind', and what else the mode knows.  Of a
;; line with several names each can have its own, as `backstaff-place'.
;;
;; Nothing here touches a file before the user asks to visit it.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)


;;; Options and faces

(defcustom backstaff-show-hidden nil
  "Whether listings and trees show files whose names start with a dot.
This is where a new buffer starts; \\`.' changes it there."
  :type 'boolean
  :group 'backstaff)

(defgroup backstaff-faces nil
  "Faces of Backstaff."
  :group 'backstaff
  :group 'faces)

(defface backstaff-directory '((t :inherit font-lock-function-name-face))
  "Face for the names of directories.")

(defface backstaff-symlink '((t :inherit font-lock-keyword-face))
  "Face for the names of symbolic links.")

(defface backstaff-special '((t :inherit font-lock-variable-name-face))
  "Face for the names of what is no directory, file or link.")

(defface backstaff-detail '((t :inherit shadow))
  "Face for what matters less than the names.")

(defface backstaff-path '((t :inherit bold))
  "Face for the path in the header line.")

(defface backstaff-note '((t :inherit warning))
  "Face for lines that say what is not shown.")

(defface backstaff-failure '((t :inherit error))
  "Face for the reason why nothing can be shown.")


;;; State

(defvar-local backstaff-view-state nil
  "What the buffer shows, a plist.
Its `:root' is the absolute name of a project's root, its `:path' that of a
directory or file below the root.")

(defvar-local backstaff-view-reply nil
  "The reply that the buffer shows.")

(defvar-local backstaff-view--lost nil
  "Where point was before a failure was drawn, for when all is well again.")

(defvar-local backstaff-view--wanted nil
  "The state that was asked for last, if the answer has not come.")

(defvar-local backstaff-view--calls nil
  "The calls under way, each a list of what `backstaff-call-async' returned.")

(defvar-local backstaff-view--progress nil
  "The timer that will say that the calls under way take their time.")

(defvar-local backstaff-view--host nil
  "What the mode line tells of the host that the root is on, or nil.")
(put 'backstaff-view--host 'risky-local-variable t)

(defvar-local backstaff-view--waiting nil
  "What the mode line tells of calls that take their time, or nil.")
(put 'backstaff-view--waiting 'risky-local-variable t)

(defvar-local backstaff-view--told nil
  "What the echo area was told of the calls under way, or nil.")

(defvar-local backstaff-view--soon nil
  "The timer that will go on with drawing the buffer.")

(defvar backstaff-view-awaited-paths nil
  "The paths that must have their lines when a draw function returns.")

(defvar-local backstaff-view--request-function nil
  "The function that turns a state into a list of tool, arguments and context.")

(defvar-local backstaff-view--draw-function nil
  "The function that draws a reply into the empty buffer, and need not return.")

(defvar-local backstaff-view--wrap nil
  "Whether long lines of what is drawn are continued.")

(defvar-local backstaff-view--title-function nil
  "The function that returns the name a buffer with a certain state shall have.")

(defvar-local backstaff-view--title nil
  "The name that the buffer was given last.")

(defvar-local backstaff-view--header nil
  "What the header line tells, as (PATH . FACTS), two strings.")

(defvar-local backstaff-view--notes nil
  "The overlay at the end of the buffer that says what is not shown.")

(cl-defun backstaff-view-setup (&key request draw title wrap)
  "Make the current buffer one that shows what a tool answers.
REQUEST is a function that turns a state into a list of a tool's id, its
arguments and a context.  DRAW is one that draws a successful reply into the
empty buffer, when `backstaff-view-state' is what it answers.  TITLE is one
that returns a buffer's name for a state.  Long lines are cut unless WRAP is
non-nil."
  (setq truncate-lines (not wrap)
        word-wrap t
        buffer-undo-list t
        buffer-read-only t
        bidi-paragraph-direction 'left-to-right
        header-line-format '(:eval (backstaff-view--header-line))
        mode-line-process '(backstaff-view--host backstaff-view--waiting)
        backstaff-view--wrap wrap
        backstaff-view--request-function request
        backstaff-view--draw-function draw
        backstaff-view--title-function title)
  (setq-local revert-buffer-function #'backstaff-view--revert)
  (add-hook 'kill-buffer-hook #'backstaff-view--give-up nil t)
  (add-hook 'change-major-mode-hook #'backstaff-view--give-up nil t))

(defun backstaff-view-latest-state ()
  "Return the state that was asked for last, whether or not it is shown."
  (or backstaff-view--wanted backstaff-view-state))

(defun backstaff-view-with (&rest changes)
  "Return the latest state with CHANGES, a plist, on top."
  (let ((state (copy-sequence (backstaff-view-latest-state))))
    (cl-loop for (key value) on changes by #'cddr
             do (setq state (plist-put state key value)))
    state))

(defun backstaff-view-open (mode state &optional defaults)
  "Show STATE in a buffer in major mode MODE, in a window; return the buffer.
DEFAULTS are as in `backstaff-view-buffer'.  From one such buffer to the
next the window stays the same."
  (let ((at-home backstaff-view--request-function)
        (buffer (backstaff-view-buffer mode state defaults)))
    (if at-home
        (pop-to-buffer-same-window buffer)
      (pop-to-buffer buffer))))

(defun backstaff-view-buffer (mode state &optional defaults)
  "Return a buffer in major mode MODE that asks for STATE.
That is the one that shows the same path already, or else a new one, for
which DEFAULTS, a plist too, hold what STATE leaves open."
  (let ((found (backstaff-view--find mode state)))
    (with-current-buffer (or found (generate-new-buffer "*backstaff*"))
      (unless found
        (funcall mode))
      (backstaff-view-ask (if found
                              (apply #'backstaff-view-with state)
                            (backstaff-view--completed state defaults)))
      (current-buffer))))

(defun backstaff-view--completed (state defaults)
  "Return STATE with what only DEFAULTS hold, both plists."
  (let ((state (copy-sequence state)))
    (cl-loop for (key value) on defaults by #'cddr
             unless (plist-member state key)
             do (setq state (plist-put state key value)))
    state))

(defun backstaff-view--find (mode state)
  "Return a buffer in major mode MODE that shows the same path as STATE."
  (cl-find-if
   (lambda (buffer)
     (with-current-buffer buffer
       (and (eq major-mode mode)
            (cl-loop with shown = (backstaff-view-latest-state)
                     for key in '(:root :path :tool)
                     always (equal (plist-get shown key)
                                   (plist-get state key))))))
   (buffer-list)))


;;; Calls

(defun backstaff-view-ask (state)
  "Ask for STATE and draw it when the answer has come."
  (backstaff-approach (plist-get state :root))
  (backstaff-view-cancel)
  (setq backstaff-view--wanted state)
  (backstaff-view--set-title state)
  (pcase-let ((`(,id ,args ,context)
               (funcall backstaff-view--request-function state)))
    (backstaff-view-call id args context
                         (lambda (reply) (backstaff-view--show state reply)))))

(defun backstaff-view-try (state &optional hint)
  "Ask for STATE and draw it, but leave all as it is if the tool fails.
Then say why in the echo area, followed by HINT."
  (backstaff-view-cancel)
  (pcase-let ((`(,id ,args ,context)
               (funcall backstaff-view--request-function state)))
    (backstaff-view-call
     id args context
     (lambda (reply)
       (if (plist-get reply :ok)
           (backstaff-view--show state reply)
         (message "%s" (concat (plist-get reply :text) hint)))))))

(defun backstaff-view-call (id args context callback)
  "Call the tool ID with ARGS and CONTEXT, for the current buffer.
CALLBACK is called with the reply, in this buffer, unless the buffer is
told to wait no longer.  The root is that of the latest state."
  (let ((buffer (current-buffer))
        (root (plist-get (backstaff-view-latest-state) :root))
        (call (list nil))
        (sent nil))
    (push call backstaff-view--calls)
    (unless backstaff-view--progress
      (setq backstaff-view--progress
            (run-at-time 0.5 nil #'backstaff-view--tell-progress buffer)))
    (unwind-protect
        (progn
          (setcar call (backstaff-call-async
                        id args
                        (lambda (reply)
                          (backstaff-view--receive buffer call callback reply))
                        `(:root ,root ,@context)))
          (setq sent t))
      ;; A peer that does not read is awaited, and the wait may be quit.
      (unless sent
        (backstaff-view--forget call)))))

(defun backstaff-view--forget (call)
  "Wait for CALL no more."
  (setq backstaff-view--calls (delq call backstaff-view--calls))
  (unless backstaff-view--calls
    (backstaff-view--end-progress)))

(defun backstaff-view--receive (buffer call callback reply)
  "Give REPLY to CALLBACK in BUFFER if that still waits for CALL.
If the user has cancelled what all calls wait for, it is as if this one
alone had been."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (when (memq call backstaff-view--calls)
        (backstaff-view--forget call)
        (if (equal (plist-get (plist-get reply :error) :code) "CANCELLED")
            (backstaff-view--cancelled)
          (funcall callback reply))))))

(defun backstaff-view-cancel ()
  "Cancel the calls under way for the current buffer; return nil if none is."
  (backstaff-view--end-progress)
  (when backstaff-view-state
    (setq backstaff-view--wanted nil))
  (when backstaff-view--calls
    (mapc (lambda (call) (backstaff-cancel (car call)))
          (prog1 backstaff-view--calls
            (setq backstaff-view--calls nil)))
    t))

(defun backstaff-view--give-up ()
  "Stop all that is under way for the current buffer."
  (backstaff-view-cancel)
  (backstaff-view--stop-drawing))

(defun backstaff-view-quit ()
  "Cancel what the buffer waits for; quit as usual if that is nothing."
  (interactive)
  (unless (backstaff-view-cancel)
    (keyboard-quit))
  (backstaff-view--cancelled))

(defun backstaff-view--cancelled ()
  "Say that the buffer waits no more, and keep what it shows."
  (if backstaff-view-state
      (setq backstaff-view--wanted nil)
    (backstaff-view--draw-text "Cancelled" 'backstaff-detail))
  (message (substitute-command-keys
            "Cancelled; \\[revert-buffer] asks again")))

(defun backstaff-view--revert (&rest _)
  "Ask again for what the buffer shows, or was to show."
  (backstaff-view-ask (backstaff-view-latest-state)))

(defun backstaff-view--tell-progress (buffer)
  "Say that BUFFER is waiting for an answer."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq backstaff-view--waiting " waiting")
      (force-mode-line-update)
      (unless (or (active-minibuffer-window) (current-message))
        (setq backstaff-view--told
              (message "Waiting for %s… (%s cancels)"
                       (backstaff-names-show (buffer-name))
                       (substitute-command-keys "\\[keyboard-quit]")))))))

(defun backstaff-view--end-progress ()
  "Say no more that the current buffer is waiting."
  (when backstaff-view--progress
    (cancel-timer backstaff-view--progress)
    (when (and backstaff-view--told
               (equal (current-message) backstaff-view--told))
      (message nil))
    (setq backstaff-view--progress nil
          backstaff-view--waiting nil
          backstaff-view--told nil)
    (force-mode-line-update)))


;;; Drawing

(defun backstaff-view--show (state reply)
  "Make STATE the buffer's and draw REPLY, which answers it."
  (let* ((ok (plist-get reply :ok))
         (shown (backstaff-view-places))
         (places (or backstaff-view--lost shown))
         (focus (plist-get state :focus))
         (moved (backstaff-view--moved-p state))
         (backstaff-view-awaited-paths
          (remove nil (cons focus (unless moved
                                    (mapcar #'cadr places))))))
    (backstaff-view--take-over state reply)
    (setq backstaff-view--lost (unless (or ok moved) places))
    (if ok
        (backstaff-view-draw
         (lambda () (funcall backstaff-view--draw-function reply)))
      (backstaff-view-set-header (plist-get state :path) "failed")
      (backstaff-view--draw-text (plist-get reply :text) 'backstaff-failure))
    (if (and ok (not moved) (not focus))
        (backstaff-view-restore places)
      (backstaff-view--go-to-start shown (and ok focus)))))

(defun backstaff-view--moved-p (state)
  "Return non-nil if STATE shows other entries than the buffer does."
  (cl-loop for key in '(:path :page :query)
           thereis (not (equal (plist-get state key)
                               (plist-get backstaff-view-state key)))))

(defun backstaff-view--take-over (state reply)
  "Make STATE and REPLY the buffer's."
  ;; What could not be shown may be shown the next time.
  (setq backstaff-view-state (if (plist-get reply :ok)
                                 (plist-put (copy-sequence state) :focus nil)
                               state)
        backstaff-view-reply reply
        backstaff-view--wanted nil
        ;; A directory that could not be shown may be none, or lead elsewhere.
        default-directory (backstaff-view-file-name
                           (backstaff-view-absolute
                            (if (plist-get reply :ok)
                                (or (plist-get state :directory)
                                    (plist-get state :path))
                              ".")
                            'directory)))
  (backstaff-view--set-title state))

(defconst backstaff-view-gc-threshold (* 64 1024 1024)
  "How much may be allocated while a buffer is drawn.
Else most of the time goes into looking for garbage.")

(defun backstaff-view-draw (function)
  "Replace the text of the buffer by what FUNCTION inserts."
  (let ((inhibit-read-only t)
        (gc-cons-threshold (max gc-cons-threshold
                                backstaff-view-gc-threshold)))
    (backstaff-view-set-notes nil)
    (backstaff-view--stop-drawing)
    (setq truncate-lines (not backstaff-view--wrap))
    (with-silent-modifications
      (erase-buffer)
      (funcall function))))

(defun backstaff-view-soon (function)
  "Call FUNCTION in the current buffer soon, unless that is drawn anew before."
  (setq backstaff-view--soon
        (run-at-time 0.01 nil #'backstaff-view--go-on
                     (current-buffer) function)))

(defun backstaff-view--go-on (buffer function)
  "Call FUNCTION in BUFFER."
  (with-current-buffer buffer
    (setq backstaff-view--soon nil)
    (funcall function)))

(defun backstaff-view--stop-drawing ()
  "Do not go on with drawing the buffer."
  (when backstaff-view--soon
    (cancel-timer backstaff-view--soon)
    (setq backstaff-view--soon nil)))

(defun backstaff-view--draw-text (text face)
  "Replace the text of the buffer by TEXT in FACE."
  (backstaff-view-draw
   (lambda ()
     (insert (propertize (substring-no-properties text) 'face face)
             (substitute-command-keys
              "\n\nType \\[revert-buffer] to ask again.\n"))))
  (setq truncate-lines nil))

(defun backstaff-view-set-header (path &rest facts)
  "Let the header line tell PATH, below the root, and FACTS, strings or nil."
  (setq backstaff-view--header
        (cons (backstaff-names-show (backstaff-view-absolute path))
              (string-join (remove nil facts) " · "))))

(defun backstaff-view--header-line ()
  "Return the header line; a path too long for the window loses its start."
  (when backstaff-view--header
    (pcase-let* ((`(,path . ,facts) backstaff-view--header)
                 (room (- (window-width) (string-width facts) 4))
                 (left-out (- (string-width path) (max room 12))))
      (when (> left-out 0)
        (setq path (concat "…" (substring path (min (1+ left-out)
                                                    (length path))))))
      (replace-regexp-in-string
       "%" "%%"
       (concat " " (propertize (bidi-string-mark-left-to-right path)
                               'face 'backstaff-path)
               "  " facts)))))

(defun backstaff-view-set-notes (notes)
  "Let NOTES, a list of strings, stand below the last line.
They are no part of the text, so they stay when that is sorted."
  (unless (overlayp backstaff-view--notes)
    (setq backstaff-view--notes (make-overlay 1 1 nil nil t)))
  (move-overlay backstaff-view--notes (point-max) (point-max))
  (let ((fill-column (max 20 (- (backstaff-view-width) 2))))
    (overlay-put backstaff-view--notes 'after-string
                 (and notes (propertize
                             (concat (mapconcat (lambda (note) (string-fill note fill-column))
                                        notes "\n") "\n")
                             'face 'backstaff-note)))))

(defun backstaff-view-width ()
  "Return the width of a window that shows the buffer."
  (window-body-width (or (get-buffer-window nil t) (selected-window))))

(defun backstaff-view-title (verb state)
  "Return a name for a buffer that shows STATE, with VERB for what is shown."
  (let* ((root (file-name-nondirectory
                (directory-file-name (plist-get state :root))))
         (path (plist-get state :path))
         (name (cond ((equal path ".") (if (string-empty-p root) "/" root))
                     ((file-name-absolute-p path) path)
                     (t (concat root "/" path)))))
    (format "*backstaff %s: %s%s*" verb (backstaff-names-show name)
            (backstaff-view--at-host (plist-get state :root)))))

(defun backstaff-view--at-host (root)
  "Return \"@\" and the host that ROOT is on; nothing if that is this one."
  (if-let ((host (file-remote-p root 'host)))
      (concat "@" (backstaff-names-show host))
    ""))

(defun backstaff-view--set-title (state)
  "Give the buffer the name that belongs to STATE."
  (let ((title (funcall backstaff-view--title-function state)))
    (setq backstaff-view--host
          (and (file-remote-p (plist-get state :root))
               (concat " " (backstaff-view--at-host (plist-get state :root)))))
    (unless (equal title backstaff-view--title)
      (setq backstaff-view--title title)
      (rename-buffer title t))))

(defun backstaff-view-kind-face (kind)
  "Return the face for names of what is of KIND."
  (pcase kind
    (:directory 'backstaff-directory)
    (:symlink 'backstaff-symlink)
    (:file 'default)
    (_ 'backstaff-special)))

(defun backstaff-view-kind-suffix (kind)
  "Return what stands behind names of what is of KIND."
  (pcase kind (:directory "/") (:symlink "@") (_ "")))

(defun backstaff-view-count (number one many)
  "Return NUMBER with ONE or MANY for what is counted; nil if it is zero."
  (unless (zerop number)
    (format "%d %s" number (if (= number 1) one many))))


;;; Places

(defun backstaff-view-entry ()
  "Return the entry that the text at point or its line stands for, or nil."
  (or (get-text-property (point) 'backstaff-place)
      (get-text-property (line-beginning-position) 'backstaff-entry)))

(defun backstaff-view-entry-path ()
  "Return the path of the file that point is at, or nil."
  (plist-get (backstaff-view-entry) :path))

(defun backstaff-view-some-entry ()
  "Return the entry that the line at point stands for; complain without one."
  (or (backstaff-view-entry)
      (user-error "There is nothing on this line")))

(defun backstaff-view-go-to-name ()
  "Go to the name on the line at point."
  (beginning-of-line)
  (unless (get-text-property (point) 'backstaff-name)
    (goto-char (next-single-property-change
                (point) 'backstaff-name nil (line-end-position)))))

(defun backstaff-view-go-to (path)
  "Go to the line that stands for PATH and return non-nil; or stay."
  (backstaff-view--go-to-line (apply-partially #'equal path)))

(defun backstaff-view--go-to-line (fits)
  "Go to the first line whose path FITS and return non-nil; or stay.
FITS is a function of the path, which is nil on lines without one."
  (let ((start (point))
        (found nil))
    (goto-char (point-min))
    (while (not (or (eobp)
                    (setq found (funcall fits (plist-get (backstaff-view-entry)
                                                         :path)))))
      (forward-line))
    (if found (backstaff-view-go-to-name) (goto-char start))
    found))

(defun backstaff-view-go-to-first ()
  "Go to the first line that stands for something."
  (goto-char (point-min))
  (while (not (or (eobp) (backstaff-view-entry)))
    (forward-line))
  (if (eobp) (goto-char (point-min)) (backstaff-view-go-to-name)))

(defun backstaff-view-places ()
  "Return where point is, in the buffer and in each window that shows it.
This is a list of (WINDOW . PLACE), where WINDOW is nil for the buffer."
  (cons (cons nil (backstaff-view--place nil))
        (mapcar (lambda (window) (cons window (backstaff-view--place window)))
                (get-buffer-window-list nil t t))))

(defun backstaff-view--place (window)
  "Return where point is in WINDOW (nil: in the buffer).
That is a list of the entry's path, the number of the line, the column, and
how many lines are to be seen above it, nil if they are all there are."
  (save-excursion
    (when window
      (goto-char (window-point window)))
    (list (plist-get (backstaff-view-entry) :path)
          (line-number-at-pos)
          (current-column)
          (and window
               (> (window-start window) (point-min))
               (count-lines (min (window-start window) (point))
                            (line-beginning-position))))))

(defun backstaff-view-restore (places)
  "Bring point back to PLACES, which `backstaff-view-places' returned."
  (pcase-dolist (`(,window . (,path ,line ,column ,above)) (reverse places))
    (unless (and path (backstaff-view-go-to path))
      (goto-char (point-min))
      (forward-line (1- line)))
    (move-to-column column)
    (when (and (window-live-p window)
               (eq (window-buffer window) (current-buffer)))
      (backstaff-view--set-window window above))))

(defun backstaff-view--set-window (window above)
  "Let WINDOW show point and ABOVE lines above it; nil means all there are."
  (set-window-point window (point))
  (set-window-start window (if above
                               (line-beginning-position (- 1 above))
                             (point-min))
                    t))

(defun backstaff-view--go-to-start (places focus)
  "Go to the entry FOCUS or to the first one, in the windows of PLACES.
FOCUS may be `last' for the last one."
  (backstaff-view-go-to-first)
  (cond ((eq focus 'last)
         (goto-char (point-max))
         (forward-line -1)
         (backstaff-view-go-to-name))
        (focus (backstaff-view-go-to focus)))
  (pcase-dolist (`(,window . ,_) places)
    (when (window-live-p window)
      (set-window-start window (point-min) t)
      (set-window-point window (point)))))


;;; Paths

(defun backstaff-view-absolute (path &optional directory)
  "Return the absolute name of PATH, which is below the buffer's root.
It ends with a slash if DIRECTORY is non-nil."
  (let ((root (plist-get (backstaff-view-latest-state) :root)))
    (cond ((equal path ".") (if directory root (directory-file-name root)))
          ;; The host's own name for it, whatever that looks like here.
          ((string-prefix-p "/" path) (concat (file-remote-p root) path))
          (t (concat root path (and directory "/"))))))

(defun backstaff-view-relative (root file)
  "Return the name of FILE, below ROOT, as the tools take it.
If it is not below, return it as it is: a tool will say so."
  (let ((name (directory-file-name (file-name-unquote (expand-file-name file)))))
    (or (backstaff-view--below root name)
        (backstaff-view--below (file-truename root) (file-truename name))
        name)))

(defun backstaff-view--below (root name)
  "Return NAME without ROOT, or nil if it is not below that."
  (cond ((equal (file-name-as-directory name) root) ".")
        ((string-prefix-p root name) (substring name (length root)))))

(defun backstaff-view-parent (path)
  "Return the path of the directory that PATH is in, or nil for the root."
  (cond ((or (equal path ".") (string-prefix-p "/" path)) nil)
        ((string-match "/[^/]*\\'" path) (substring path 0 (match-beginning 0)))
        (t ".")))

(defun backstaff-view-child (directory name)
  "Return the path of what is called NAME in DIRECTORY, a path too."
  (if (equal directory ".") name (concat directory "/" name)))

(defun backstaff-view-file-name (name &optional root)
  "Return NAME, of a file below ROOT, so that it can mean nothing else.
ROOT is the buffer's by default.  On another host the name starts with what
names the host, which the root has."
  (let ((host (file-remote-p (or root (plist-get (backstaff-view-latest-state)
                                                 :root)))))
    (if (and host (string-prefix-p host name))
        (if (eq (find-file-name-handler name 'expand-file-name)
                (find-file-name-handler host 'expand-file-name))
            name
          (concat host "/:" (substring name (length host))))
      (backstaff-view-local-name name))))

(defun backstaff-view-local-name (name)
  "Return NAME, absolute and of a local file, so that it can mean nothing else.
A directory called \"ssh:host:\" or \"a.zip\" would lead to another machine
or into an archive, and so would \"/ssh:host:\" after a newline, where
TRAMP's expression matches as well.  What handles the file itself, such as
decompression, does its work."
  (if (or (string-match-p "^/[^/]*:" name)
          (find-file-name-handler
           (substring name 0 (1+ (string-match "/[^/]*\\'" name)))
           'expand-file-name))
      (concat "/:" name)
    name))


;;; Bookmarks

(defun backstaff-view-bookmark (handler)
  "Return a bookmark of what the buffer shows, for HANDLER to jump to."
  (let* ((state (or backstaff-view-state
                    (user-error "There is nothing to mark yet")))
         (path (plist-get (backstaff-view-entry) :path))
         (name (backstaff-view-absolute (plist-get state :path) 'directory)))
    `(,(backstaff-names-show name)
      (location . ,(backstaff-names-show name))
      (backstaff-state . ,(plist-put (copy-sequence state) :focus path))
      (handler . ,handler))))


;;; Commands

(defun backstaff-view-up ()
  "Show the directory above this one, but nothing above the project's root."
  (interactive)
  (let ((path (plist-get (backstaff-view-latest-state) :path)))
    (backstaff-view-ask
     (backstaff-view-with
      :path (or (backstaff-view-parent path)
                (user-error "This is the root of the project"))
      :focus path))))

(defun backstaff-view-toggle-hidden ()
  "Show files whose names start with a dot, or show them no longer."
  (interactive)
  (let ((hidden (not (plist-get (backstaff-view-latest-state) :hidden))))
    (backstaff-view-ask (backstaff-view-with :hidden hidden))))

(defun backstaff-view-copy-path (relative)
  "Copy the absolute name of the file at point.
With a prefix argument RELATIVE copy its path below the project's root."
  (interactive "P")
  (let* ((path (or (backstaff-view-entry-path)
                   (plist-get backstaff-view-state :path)
                   (user-error "There is nothing to copy yet")))
         (name (if relative path (backstaff-view-absolute path))))
    (kill-new name)
    (message "Copied %s" (backstaff-names-show name))))

(defun backstaff-view-info ()
  "Show what is known of the file at point, or of the directory shown."
  (interactive)
  (backstaff-info-open (plist-get backstaff-view-state :root)
                       (or (backstaff-view-entry-path)
                           (plist-get backstaff-view-state :path))))

(defun backstaff-view-enter (path)
  "Show the directory PATH in this buffer."
  (backstaff-view-ask (backstaff-view-with :path path)))

(defun backstaff-view-visit (path kind &optional other-window)
  "Visit the file PATH of KIND, in another window if OTHER-WINDOW is non-nil.
Return nil if it is a directory or a link to one, and is not visited."
  (unless (eq kind :directory)
    (backstaff-view-visit-file (backstaff-view-absolute path) other-window)))

(defun backstaff-view-visit-file (file &optional other-window root)
  "Visit FILE, an absolute name, in another window if OTHER-WINDOW is non-nil.
ROOT is as in `backstaff-view-file-name'.  Return nil if it is a directory
or a link to one, and is not visited."
  (let ((name (backstaff-view-file-name file root)))
    (pcase (backstaff-view--type name)
      (?d nil)
      (?- (if other-window (find-file-other-window name) (find-file name))
          t)
      ;; To open a fifo may take for ever, a device may do anything.
      (_ (user-error "%s is no file that can be visited"
                     (backstaff-names-show file))))))

(defun backstaff-view--type (name)
  "Return the letter for the type of the file NAME, links followed, or nil."
  ;; In Emacs 28 `file-regular-p' misses a name that cannot be decoded.
  (when-let ((attributes (file-attributes (file-truename name))))
    (aref (file-attribute-modes attributes) 0)))

(provide 'backstaff-view)
;;; backstaff-view.el ends here
