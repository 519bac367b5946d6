;;; backstaff-view.el --- Buffers that show what a tool answers  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A view is a buffer with a state, such as (:root "/home/me/a/" :path "src").
;; A request turns a state into a call of a tool and returns at once.  When the
;; answer comes, the state becomes the buffer's and the answer is drawn; until then
;; nothing changes, so a command on what is shown means what is shown.  One view
;; leads to another by the name of its mode and a state: none needs to know another.
;;
;; Each line that stands for a file has an entry, a plist: `:path', below the root
;; and with its exact bytes, `:kind', and what else the mode knows.  It is the text
;; property `backstaff-entry', or in a table the id of the row.  Of a line with
;; several names each can have its own, as `backstaff-place'.  The text property
;; `backstaff-name' marks the name, where point goes.
;;
;; Nothing here touches a file before the user asks to visit it.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-request)

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
  "Face for the names of fifos, sockets, devices and the like.")

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

(defvar-local backstaff-view-labels nil
  "A hash table of the labels of names, as `backstaff-names-labels' makes it.")

(defvar-local backstaff-view-subject nil
  "The entry of the whole buffer, where lines have none of their own, or nil.")

(defvar-local backstaff-view--requested nil
  "The state that was requested last, nil once the buffer shows it.")

(defvar-local backstaff-view--functions nil
  "A plist of what the mode gave `backstaff-view-setup'.")

(defvar-local backstaff-view--places nil
  "Where point was before the buffer showed a failure.")

(defvar-local backstaff-view--header nil
  "What the header line shows, as (PATH . FACTS), two strings.")

(defvar-local backstaff-view--notes nil
  "The overlay at the end of the buffer that says what is not shown.")

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
  "Keymap of all views, a parent of their own.")

(defvar backstaff-view-mode-map
  (make-composed-keymap backstaff-view-map special-mode-map)
  "Keymap of `backstaff-view-mode'.")

(define-derived-mode backstaff-view-mode special-mode "View"
  "Parent of the major modes that show what a tool answers, but for tables.

\\{backstaff-view-mode-map}"
  :group 'backstaff)

(cl-defun backstaff-view-setup (&rest functions &key wrap bookmark &allow-other-keys)
  "Make the current buffer a view.  FUNCTIONS is a plist:
`:request' turns a state into a list: a tool's id, arguments, a context.
`:before-draw', if there, is called before the text is erased.
`:draw' draws a successful reply into the empty buffer.
`:draw-failure', if there, draws any other reply.
`:title' returns the name of a buffer with a certain state.
`:defaults' returns the rest of the state with which a buffer was opened.
`:open' shows an entry that is no file to visit.
`:wrap', WRAP, is non-nil if long lines are continued.
`:bookmark', BOOKMARK, is the name of a function that jumps to a bookmark."
  (setq truncate-lines (not wrap)
        word-wrap t
        buffer-undo-list t
        buffer-read-only t
        bidi-paragraph-direction 'left-to-right
        header-line-format '(:eval (backstaff-view--header-line))
        mode-line-process '(backstaff-request-indicator)
        backstaff-request-cancelled-function #'backstaff-view--show-cancelled
        backstaff-view-labels (make-hash-table :test #'equal)
        backstaff-view--functions
        (append functions (list :draw-failure #'backstaff-view--draw-failure)))
  (setq-local revert-buffer-function (lambda (&rest _) (backstaff-view-change)))
  (when bookmark
    (setq-local bookmark-make-record-function
                (apply-partially #'backstaff-view--bookmark bookmark))))

(defun backstaff-view--call (key &rest arguments)
  "Call the function that the mode gave under KEY, if any, with ARGUMENTS."
  (when-let ((function (plist-get backstaff-view--functions key)))
    (apply function arguments)))

(defun backstaff-view-get (key)
  "Return the value of KEY in the state that was requested last."
  (plist-get (or backstaff-view--requested backstaff-view-state) key))

(defun backstaff-view-open (mode state)
  "Show STATE in a buffer in major mode MODE, in a window; return the buffer.
From one view to the next the window stays the same."
  (let ((at-home backstaff-view--functions)
        (buffer (backstaff-view-buffer mode state)))
    (if at-home
        (pop-to-buffer-same-window buffer)
      (pop-to-buffer buffer))))

(defun backstaff-view-open-file (mode file &rest state)
  "Show FILE in major mode MODE, with the rest of the STATE, a plist.
A directory's name ends with a slash.  In that of the file that the current
buffer visits, point goes to this file."
  (let* ((root (backstaff-command-root (file-name-directory file)))
         (here (equal (expand-file-name file)
                      (and buffer-file-name (file-name-directory buffer-file-name)))))
    (backstaff-view-open mode `(:root ,root :path ,(backstaff-view-relative root file)
                                ,@(and here (list :focus (backstaff-view-relative
                                                          root buffer-file-name)))
                                ,@state))))

(defun backstaff-view-switch (mode path &rest state)
  "Show PATH of this project in major mode MODE, with the rest of the STATE.
Point stays on the same file."
  (backstaff-view-open mode `(:root ,(backstaff-view-get :root) :path ,path
                              :focus ,(backstaff-view--path) ,@state)))

(defun backstaff-view-buffer (mode state)
  "Return a buffer in major mode MODE for which STATE is requested.
That is a new one unless a buffer of this mode has the same root, path and,
if STATE has one, tool."
  (let* ((same-p (lambda (buffer)
                   (with-current-buffer buffer
                     (and (eq major-mode mode)
                          (cl-loop for key in '(:root :path :tool)
                                   for value = (backstaff-view-get key)
                                   always (or (not (plist-member state key))
                                              (equal (plist-get state key) value)))))))
         (found (cl-find-if same-p (buffer-list))))
    (with-current-buffer (or found (generate-new-buffer "*backstaff*"))
      (unless found
        (funcall mode)
        (setq backstaff-view--requested (backstaff-view--call :defaults)))
      (apply #'backstaff-view-change state)
      (current-buffer))))

(defun backstaff-view-change (&rest changes)
  "Request the latest state with CHANGES, a plist.
If they have a non-nil `:try' and the tool fails, change nothing, but say
why in the echo area."
  (let* ((latest (or backstaff-view--requested backstaff-view-state))
         (state (map-merge 'plist latest changes))
         (try (plist-get state :try)))
    (backstaff-approach (plist-get state :root))
    (backstaff-request-cancel)
    (setq backstaff-view--requested (if (and try backstaff-view-state) nil state))
    (unless try
      (backstaff-view--rename latest state))
    (backstaff-view-call state (lambda (reply)
                                 (if (and try (not (plist-get reply :ok)))
                                     (message "%s" (plist-get reply :text))
                                   (backstaff-view--show state reply))))))

(defun backstaff-view-call (state callback)
  "Call the tool that STATE stands for, and CALLBACK later with the reply.
This requests nothing: what the buffer shows is left to CALLBACK."
  (pcase-let ((`(,id ,args ,context) (backstaff-view--call :request state)))
    (backstaff-request id args callback `(:root ,(plist-get state :root) ,@context))))

(defun backstaff-view--show-cancelled ()
  "Show that nothing is awaited any more, if there is nothing else to show."
  (if (null backstaff-view-state)
      (backstaff-view--draw
       (lambda () (backstaff-view--insert-text "Cancelled" 'backstaff-detail)))
    (backstaff-view--rename backstaff-view--requested backstaff-view-state)
    (setq backstaff-view--requested nil)))

(defun backstaff-view--rename (old state)
  "Give the buffer the name that belongs to STATE, if OLD had another one."
  (let ((title (backstaff-view--call :title state)))
    (unless (and (plist-get old :root)
                 (equal title (backstaff-view--call :title old)))
      (rename-buffer title t))))


;;; Drawing

(defun backstaff-view--show (state reply)
  "Make STATE and REPLY the buffer's and draw them, with point in its place."
  (let* ((ok (plist-get reply :ok))
         (path (plist-get state :path))
         (focus (and ok (plist-get state :focus)))
         (moved (cl-loop for key in '(:path :page :query)
                         thereis (not (equal (plist-get state key)
                                             (plist-get backstaff-view-state key)))))
         (places (or backstaff-view--places (backstaff-view--places))))
    (backstaff-view--rename (or backstaff-view--requested backstaff-view-state) state)
    (setq backstaff-view-state state
          backstaff-view-reply reply
          backstaff-view-labels (backstaff-names-labels reply)
          backstaff-view--requested nil
          backstaff-view--places (unless (or ok moved) places))
    (backstaff-view--draw
     (lambda () (backstaff-view--call (if ok :draw :draw-failure) reply)))
    (when ok
      (setq backstaff-view-state (map-merge 'plist state '(:focus nil :try nil))))
    (setq default-directory
          (backstaff-view-file-name
           (backstaff-view--absolute
            ;; A directory that cannot be shown may be none, or lead elsewhere.
            (cond ((not ok) ".")
                  ((memq (plist-get backstaff-view-subject :kind) '(nil :directory)) path)
                  (t (or (backstaff-view-parent path) ".")))
            'directory)))
    (if (and ok (not moved) (not focus))
        (backstaff-view--restore places)
      (backstaff-view--go-to-start focus)
      (dolist (window (get-buffer-window-list nil t t))
        (set-window-start window (point-min) t)
        (set-window-point window (point))))))

(defun backstaff-view--draw (function)
  "Replace the text of the buffer by what FUNCTION inserts."
  (let ((inhibit-read-only t)
        ;; Else collecting garbage takes most of the time.
        (gc-cons-threshold (max gc-cons-threshold (* 64 1024 1024))))
    (when backstaff-view--notes
      (overlay-put backstaff-view--notes 'after-string nil))
    (setq truncate-lines (not (plist-get backstaff-view--functions :wrap))
          backstaff-view-subject nil)
    (backstaff-view--call :before-draw)
    (with-silent-modifications
      (erase-buffer)
      (funcall function))))

(defun backstaff-view-redraw (function)
  "Replace the text by what FUNCTION inserts, with point in its place."
  (let ((places (backstaff-view--places)))
    (backstaff-view--draw function)
    (backstaff-view--restore places)))

(defun backstaff-view--insert-text (text face)
  "Insert TEXT in FACE, in place of an answer."
  (setq truncate-lines nil)
  (insert (propertize (substring-no-properties text) 'face face)
          (substitute-command-keys "\n\nType \\[revert-buffer] to ask again.\n")))

(defun backstaff-view--draw-failure (reply)
  "Draw REPLY, of a tool that failed."
  (backstaff-view-set-header (backstaff-view-get :path) "failed")
  (backstaff-view--insert-text (plist-get reply :text) 'backstaff-failure))

(defun backstaff-view-label (name)
  "Return NAME, from the reply that is shown, as it stands in text."
  (gethash name backstaff-view-labels name))

(defun backstaff-view-set-header (path &rest facts)
  "Let the header line show PATH, below the root, and FACTS, strings or nil."
  (setq backstaff-view--header
        (cons (backstaff-names-show (backstaff-view--absolute path))
              (string-join (remove nil facts) " · "))))

(defun backstaff-view--header-line ()
  "Return the header line; a path too long for the window loses its start."
  (when backstaff-view--header
    (pcase-let* ((`(,path . ,facts) backstaff-view--header)
                 (room (max 12 (- (window-width) (string-width facts) 4))))
      (when (> (string-width path) room)
        (setq path (concat "…" (string-limit path (1- room) t))))
      (replace-regexp-in-string
       "%" "%%"
       (concat " " (propertize (bidi-string-mark-left-to-right path)
                               'face 'backstaff-path)
               "  " facts)))))

(defun backstaff-view-set-notes (&rest notes)
  "Let NOTES, strings or nil, stand below the last line, then all warnings.
They are an overlay, so they stay there when a table is sorted."
  (unless (overlayp backstaff-view--notes)
    (setq backstaff-view--notes (make-overlay 1 1 nil nil t)))
  (move-overlay backstaff-view--notes (point-max) (point-max))
  (let* ((width (max 20 (- (window-body-width (get-buffer-window nil t)) 2)))
         (lines (mapcar (lambda (note) (concat (string-fill note width) "\n"))
                        (append (remove nil notes)
                                (plist-get backstaff-view-reply :warnings))))
         (start (if (memq (char-before (point-max)) '(nil ?\n)) "" "\n")))
    (overlay-put backstaff-view--notes 'after-string
                 (and lines (propertize (apply #'concat start lines)
                                        'face 'backstaff-note)))))

(defun backstaff-view-title (verb state)
  "Return a name for a buffer that shows STATE, with VERB for what is shown."
  (let* ((root (plist-get state :root))
         (path (plist-get state :path))
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
    (:directory 'backstaff-directory)
    (:symlink 'backstaff-symlink)
    (:file 'default)
    (_ 'backstaff-special)))

(defun backstaff-view-kind-suffix (kind)
  "Return the character behind names of files of KIND, as a string."
  (pcase kind (:directory "/") (:symlink "@") (_ "")))

(defun backstaff-view-count (number one many)
  "Return NUMBER with ONE or MANY for what is counted; nil if it is zero."
  (unless (zerop number)
    (format "%d %s" number (if (= number 1) one many))))


;;; Places

(defun backstaff-view--line-entry ()
  "Return the entry that the line at point stands for, or nil."
  (or (get-text-property (line-beginning-position) 'backstaff-entry)
      (get-text-property (line-beginning-position) 'tabulated-list-id)))

(defun backstaff-view-entry ()
  "Return the entry that point is at, or nil."
  (or (get-text-property (point) 'backstaff-place)
      (backstaff-view--line-entry)
      backstaff-view-subject))

(defun backstaff-view-entry-at-point ()
  "Return the entry at point; it is the user's mistake if there is none."
  (or (backstaff-view-entry)
      (user-error "There is nothing on this line")))

(defun backstaff-view--path ()
  "Return the path of the file at point, or else of what the buffer shows."
  (or (plist-get (backstaff-view-entry) :path) (backstaff-view-get :path)))

(defun backstaff-view-directory ()
  "Return the path of the directory at point, or of the one around the file."
  (if (memq (plist-get (backstaff-view-entry) :kind) '(nil :directory))
      (backstaff-view--path)
    (or (backstaff-view-parent (backstaff-view--path)) ".")))

(defun backstaff-view-go-to-name ()
  "Go to the name on the line at point."
  (beginning-of-line)
  (unless (get-text-property (point) 'backstaff-name)
    (goto-char (next-single-property-change
                (point) 'backstaff-name nil (line-end-position)))))

(defun backstaff-view-go-to (path)
  "Go to the line that stands for PATH and return non-nil; or stay."
  (let ((start (point))
        (found nil))
    (goto-char (point-min))
    (while (not (or (setq found (equal path (plist-get (backstaff-view--line-entry) :path)))
                    (eobp)))
      (forward-line))
    (if found (backstaff-view-go-to-name) (goto-char start))
    found))

(defun backstaff-view--go-to-start (focus)
  "Go to the line that stands for the path FOCUS, or to the first line.
FOCUS may be `last' for the last line."
  (goto-char (if (eq focus 'last) (1- (point-max)) (point-min)))
  (unless (or (eq focus 'last) (and focus (backstaff-view-go-to focus)))
    (while (not (or (backstaff-view--line-entry) (eobp)))
      (forward-line)))
  (if (eobp) (goto-char (point-min)) (backstaff-view-go-to-name)))

(defun backstaff-view--places ()
  "Return where point is, in the buffer and in each window that shows it.
This is a list of (WINDOW PATH LINE COLUMN ABOVE).  WINDOW is nil for the
buffer, PATH that of the entry, and ABOVE the number of lines that the
window shows above, nil if these are all there are."
  (mapcar
   (lambda (window)
     (save-excursion
       (when window
         (goto-char (window-point window)))
       (list window
             (plist-get (backstaff-view--line-entry) :path)
             (line-number-at-pos)
             (current-column)
             (and window
                  (> (window-start window) (point-min))
                  (- (line-number-at-pos) (line-number-at-pos (window-start window)))))))
   (cons nil (get-buffer-window-list nil t t))))

(defun backstaff-view--restore (places)
  "Bring point back to PLACES, which `backstaff-view--places' returned."
  (pcase-dolist (`(,window ,path ,line ,column ,above) (reverse places))
    (unless (and path (backstaff-view-go-to path))
      (goto-char (point-min))
      (forward-line (1- line)))
    (move-to-column column)
    (when (and (window-live-p window) (eq (window-buffer window) (current-buffer)))
      (set-window-point window (point))
      (set-window-start
       window (if above (line-beginning-position (- 1 above)) (point-min)) t))))

(defun backstaff-view--absolute (path &optional directory)
  "Return the absolute name of PATH, which is below the buffer's root.
It ends with a slash if DIRECTORY is non-nil."
  (let ((root (backstaff-view-get :root)))
    (cond ((equal path ".") (if directory root (directory-file-name root)))
          ;; The host's own name for it, whatever that looks like here.
          ((string-prefix-p "/" path) (concat (file-remote-p root) path))
          (t (concat root path (and directory "/"))))))

(defun backstaff-view-relative (root file)
  "Return the name of FILE, below ROOT, as the tools take it.
If it is not below, return it as it is: a tool will say so."
  (let ((name (directory-file-name (file-name-unquote (expand-file-name file)))))
    (cl-flet ((below (root name)
                (cond ((equal (file-name-as-directory name) root) ".")
                      ((string-prefix-p root name) (substring name (length root))))))
      (or (below root name)
          (below (file-truename root) (file-truename name))
          name))))

(defun backstaff-view-parent (path)
  "Return the path of the directory that PATH is in, or nil for the root."
  (cond ((or (equal path ".") (string-prefix-p "/" path)) nil)
        ((string-match "/[^/]*\\'" path) (substring path 0 (match-beginning 0)))
        (t ".")))

(defun backstaff-view-child (directory name)
  "Return the path of the file NAME in DIRECTORY, a path too."
  (if (equal directory ".") name (concat directory "/" name)))

(defun backstaff-view-file-name (name &optional root)
  "Return NAME, an absolute file name below ROOT, so that it has one meaning.
A directory called \"ssh:host:\" or \"a.zip\" would lead to another machine or
into an archive, and so would \"/ssh:host:\" after a newline.  Handlers of the
file itself, such as decompression, do their work.  ROOT is the buffer's by
default.  If it is on another host, NAME starts with the name of that host."
  (let* ((host (or (file-remote-p (or root (backstaff-view-get :root))) ""))
         (local (string-remove-prefix host name))
         (directory (substring local 0 (1+ (string-match "/[^/]*\\'" local)))))
    (if (or (string-match-p "^/[^/]*:" local)
            (not (eq (find-file-name-handler (concat host directory) 'expand-file-name)
                     (and (not (equal host ""))
                          (find-file-name-handler host 'expand-file-name)))))
        (concat host "/:" local)
      name)))

(defun backstaff-view-visit-file (file &optional other-window root)
  "Visit FILE, an absolute name, in another window if OTHER-WINDOW is non-nil.
ROOT is as in `backstaff-view-file-name'.  Return nil if it is a directory
or a link to one, and is not visited."
  (let* ((name (backstaff-view-file-name file root))
         ;; In Emacs 28 `file-regular-p' misses a name that cannot be decoded.
         (attributes (file-attributes (file-truename name))))
    (pcase (and attributes (aref (file-attribute-modes attributes) 0))
      (?d nil)
      (?- (if other-window (find-file-other-window name) (find-file name))
          t)
      ;; To open a fifo may take for ever, a device may do anything.
      (_ (user-error "%s is no file that can be visited"
                     (backstaff-names-show file))))))

(defun backstaff-view--bookmark (handler)
  "Return a bookmark of what the buffer shows, for HANDLER to jump to."
  (let* ((state (or backstaff-view-state (user-error "There is nothing to mark yet")))
         (name (backstaff-names-show
                (backstaff-view--absolute (plist-get state :path) 'directory)))
         (focus (list :focus (plist-get (backstaff-view-entry) :path))))
    `(,name (location . ,name)
            (backstaff-state . ,(map-merge 'plist state focus))
            (handler . ,handler))))

(defun backstaff-view-jump (mode bookmark)
  "Show what BOOKMARK stands for in a buffer in major mode MODE."
  (set-buffer (backstaff-view-buffer mode (alist-get 'backstaff-state (cdr bookmark)))))


;;; Commands

(defun backstaff-view-visit (&optional other-window)
  "Visit the file at point, or show the directory at point.
Visit it in another window if OTHER-WINDOW is non-nil."
  (interactive)
  (let ((entry (backstaff-view-entry-at-point)))
    (or (and (not (eq (plist-get entry :kind) :directory))
             (backstaff-view-visit-file
              (backstaff-view--absolute (plist-get entry :path)) other-window))
        (backstaff-view--call :open entry))))

(defun backstaff-view-visit-other-window ()
  "Visit the file at point in another window."
  (interactive)
  (backstaff-view-visit t))

(defun backstaff-view-up ()
  "Show the directory above this one, but nothing above the project's root."
  (interactive)
  (let ((path (backstaff-view-get :path)))
    (backstaff-view-change :path (or (backstaff-view-parent path)
                                     (user-error "This is the root of the project"))
                           :focus path)))

(defun backstaff-view-toggle-hidden ()
  "Show files whose names start with a dot, or show them no longer."
  (interactive)
  (backstaff-view-change :hidden (not (backstaff-view-get :hidden))))

(defun backstaff-view-copy-path (relative)
  "Copy the absolute name of the file at point.
With a prefix argument RELATIVE copy its path below the project's root."
  (interactive "P")
  (let ((name (if relative (backstaff-view--path)
                (backstaff-view--absolute (backstaff-view--path)))))
    (kill-new name)
    (message "Copied %s" (backstaff-names-show name))))

(defun backstaff-view-info ()
  "Show what is known of the file at point, or of the directory shown."
  (interactive)
  (backstaff-view-switch 'backstaff-info-mode (backstaff-view--path)))

(provide 'backstaff-view)
;;; backstaff-view.el ends here
