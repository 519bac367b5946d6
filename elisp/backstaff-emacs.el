;;; backstaff-emacs.el --- Tools for facts that only Emacs knows  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These tools look and do nothing else: none visits a file, runs a mode or a hook, starts a
;; process, connects to a host, moves point or changes a window.
;;
;; A buffer belongs to the root of a call if the true name of its file is below it, and
;; without a file, where its `default-directory' is.  Buffers whose names begin with a blank,
;; minibuffers (so passwords, too), and those with credentials belong nowhere.
;;
;; Names are compared as strings.  A primitive for file names could call a handler, which
;; starts a program or asks another host, and a path of a model's may be "/ssh:host:/".

;;; Code:

(require 'flymake)
(require 'map)
(require 'backstaff-lisp-tools)
(require 'backstaff-names)
(require 'backstaff-unsaved)

;;; The time

(defvar backstaff-emacs-cut nil
  "Non-nil if a tool has looked at less than all, because its time was up.")

(defun backstaff-emacs--late-p ()
  "Return non-nil after `backstaff-unsaved-deadline', and note that a tool is cut."
  (and (backstaff-unsaved-late-p) (setq backstaff-emacs-cut t)))

;;; The wall

(defun backstaff-emacs--hidden-p (buffer)
  "Return non-nil if no tool may show BUFFER, wherever it belongs."
  (let ((base (or (buffer-base-buffer buffer) buffer)))
    (or (minibufferp buffer)
        (cl-some (lambda (name)
                   (or (string-prefix-p " " name)
                       (backstaff-unsaved-secret-p
                        (replace-regexp-in-string "<[^<>]*>\\'" "" name))))
                 (cl-list* (buffer-name buffer) (buffer-name base)
                        (backstaff-unsaved-file-names base))))))

(defvar backstaff-emacs-more-secrets nil
  "Globs of files that may hold secrets, besides `backstaff-server-secrets'.")

(defvar backstaff-emacs--secrets '(unknown)
  "All these globs, and two regexps for paths between slashes.
The first matches exceptions, and the second all files that may hold secrets.")

(defun backstaff-emacs-secret-p (names roots)
  "Return non-nil if the file with NAMES, below ROOTS, may hold secrets.
The server's fs/secrets.py defines the globs."
  (let ((globs (append backstaff-emacs-more-secrets backstaff-server-secrets)) (case-fold-search t))
    (unless (equal (car backstaff-emacs--secrets) globs)
      (setq backstaff-emacs--secrets
            (cons globs
                  (cl-loop
                   for excepted in '(t nil)
                   for regexps = (cl-loop
                                  for glob in globs
                                  when (eq excepted (string-prefix-p "!" glob))
                                  collect (concat
                                           (string-replace
                                            "[^\0]" "[^/]"
                                            (substring (wildcard-to-regexp (string-trim glob "!" "/"))
                                                       2 -2))
                                           (if (string-suffix-p "/" glob) "/[^/]" "/")
                                           (and excepted "\\'")))
                   ;; One regexp for all takes a tenth of the time of one for each.
                   collect (if regexps (format "/\\(?:%s\\)" (string-join regexps "\\|"))
                             regexp-unmatchable)))))
    (cl-some (lambda (name)
               (or (backstaff-unsaved-secret-p name)
                   (when-let ((path (backstaff-unsaved-below
                                     (backstaff-unsaved-plain-name name) roots)))
                     (pcase-let ((`(,_ ,excepted ,secret) backstaff-emacs--secrets)
                                 (path (concat "/" path "/")))
                       (and (string-match-p secret path) (not (string-match-p excepted path)))))))
             names)))

(defun backstaff-emacs--file-p (buffer)
  "Return non-nil if BUFFER, or its base buffer, visits a file."
  (buffer-local-value 'buffer-file-name (or (buffer-base-buffer buffer) buffer)))

(defun backstaff-emacs--path (buffer roots)
  "Return the path below one of ROOTS of the file that BUFFER visits.
Return nil if there is none, or if no tool may show it."
  (when-let ((names (backstaff-unsaved-file-names (or (buffer-base-buffer buffer) buffer))))
    (and (not (backstaff-emacs--hidden-p buffer))
         (not (backstaff-emacs-secret-p names roots))
         (backstaff-unsaved-below (car names) roots))))

(defun backstaff-emacs--directory (buffer roots)
  "Return the directory below one of ROOTS of BUFFER, which visits no file.
It ends with a slash, or is \"\" for the root.  It may be nil as well."
  (when-let ((directory (and (not (backstaff-emacs--file-p buffer))
                             (not (backstaff-emacs--hidden-p buffer))
                             (buffer-local-value 'default-directory buffer))))
    (if (file-remote-p directory)
        (backstaff-unsaved-below directory roots)
      ;; Only a directory that seems to be below the root is looked at on the disk: it may
      ;; be a link that leads out of it.
      (let ((file-name-handler-alist nil))
        (and (backstaff-unsaved-below (expand-file-name directory) roots)
             (backstaff-unsaved-below (file-name-as-directory (file-truename directory))
                                    roots))))))

(defun backstaff-emacs-buffers (roots)
  "Return an alist of paths below ROOTS and the buffers that visit them.
The buffers are in the order of `buffer-list', without indirect ones."
  (cl-loop for buffer in (buffer-list)
           until (backstaff-emacs--late-p)
           for path = (and (not (buffer-base-buffer buffer))
                           (backstaff-emacs--path buffer roots))
           when path collect (cons path buffer)))

(defun backstaff-emacs--quote (text)
  "Return TEXT from a model, quoted for a message."
  (let ((shown (backstaff-names-show (truncate-string-to-width text 200 nil nil t))))
    (if (string-prefix-p "\"" shown) shown (format "'%s'" shown))))

;;; Positions and texts

(defmacro backstaff-emacs--in (buffer &rest body)
  "Run BODY in BUFFER, widened, and leave point and narrowing as they are."
  (declare (indent 1) (debug t))
  `(with-current-buffer ,buffer
     (save-excursion
       (save-restriction
         (widen)
         ;; With its cache of newlines, Emacs takes 2 s for a million lines; without, 50 ms.
         (let ((cache-long-scans nil) (inhibit-field-text-motion t) (case-fold-search nil))
           ,@body)))))

;;; Results

(defun backstaff-emacs--listed (names limit)
  "Return the first NAMES that take LIMIT bytes: \"a.c, b.c and 2 more\"."
  (let* ((names (mapcar #'backstaff-names-show names))
         (shown (backstaff-lisp-tools-fitting (mapcar (lambda (name) (concat ", " name)) names)
                                              limit))
         (left (- (length names) (length shown))))
    (concat (if shown (substring (string-join shown) 2) "none with a short name")
            (if (> left 0) (format " and %d more" left) ""))))

(defun backstaff-emacs--answer (limit rows total render &optional from-end)
  "Return a tool's result: a first line, ROWS and notes, in LIMIT bytes.
ROWS are conses of a line and a value, of TOTAL that there are.  The first ones
are shown, or with FROM-END the last ones; one always is.  RENDER is called with
their values and the number of the others, and returns (HEAD NOTES DATA).  HEAD
is the first line.  NOTES, of which some may be nil, stand in brackets."
  (let* ((rows (if from-end (reverse rows) rows))
         (around (lambda (rows)
                   (pcase-let ((`(,head ,notes ,data)
                                (funcall render
                                         (mapcar #'cdr (if from-end (reverse rows) rows))
                                         (- total (length rows)))))
                     (list (concat head "\n")
                           (mapconcat (lambda (note) (format "[%s]\n" note))
                                      (remq nil notes) "")
                           data))))
         (all (funcall around rows))
         (lines (mapcar (lambda (row) (concat (car row) "\n")) rows))
         ;; With fewer rows there may be one more note.
         (lines (or (backstaff-lisp-tools-fitting
                     lines (- limit (string-bytes (car all)) (string-bytes (cadr all)) 60))
                    (seq-take lines 1))))
    (pcase-let ((`(,head ,notes ,data) (funcall around (seq-take rows (length lines)))))
      (list :text (concat head (string-join (if from-end (reverse lines) lines)) notes)
            :truncated (< (length lines) total)
            :data data))))

;;; emacs/context

(defconst backstaff-emacs-context
  '(:id "emacs/context"
    :description "Tells where the user is in Emacs: the selected file, line and region, the files that are visible or not saved yet, and the buffers without a file, such as a compilation. Use it when the user says 'here' or 'this'."
    :arguments nil
    :categories (:emacs :buffers))
  "The definition of the tool emacs/context.")

(defun backstaff-emacs-context (_arguments context)
  "Do the work of emacs/context in CONTEXT."
  (let* ((roots (backstaff-unsaved-roots (plist-get context :root)))
         (files (backstaff-emacs-buffers roots))
         (selected (window-buffer (or (minibuffer-selected-window) (selected-window))))
         (path (backstaff-emacs--path selected roots))
         (other (and (not path) (backstaff-emacs--directory selected roots)
                     (substring-no-properties (buffer-name selected))))
         (last (if path (cons path selected) (car files)))
         (visible (cl-loop for (path . buffer) in files
                           when (get-buffer-window buffer 'visible) collect path))
         (modified (cl-loop for (path . buffer) in files
                            when (buffer-modified-p buffer) collect path))
         (others (cl-loop for buffer in (buffer-list)
                          until (backstaff-emacs--late-p)
                          when (backstaff-emacs--directory buffer roots)
                          collect (substring-no-properties (buffer-name buffer))))
         (listed (lambda (title names)
                   (concat title (if names (backstaff-emacs--listed names 250) "none") "\n"))))
    (list :text (concat (cond (path "Selected: ")
                              (other (format "Selected: %s, which visits no file\n"
                                             (backstaff-names-show other)))
                              (t "Selected: nothing below the root\n"))
                        (if (and last (not path)) "Last selected file: " "")
                        (if last (backstaff-emacs-context--place (car last) (cdr last)) "")
                        (funcall listed "Visible files: " visible)
                        (funcall listed "Not saved yet: " modified)
                        (funcall listed "Buffers without a file: " others))
          :data (list :selected path :last-selected (caar files) :selected-buffer other
                      :visible visible :modified modified :buffers others))))

(defun backstaff-emacs-context--place (path buffer)
  "Return lines about the place in BUFFER, which visits PATH, and its region."
  (backstaff-emacs--in buffer
    ;; Each window has a point of its own.
    (let* ((window (get-buffer-window buffer 'visible))
           (point (if window (window-point window) (point)))
           (mark (and transient-mark-mode mark-active (mark t)))
           (start (min point (or mark point))) (end (max point (or mark point))))
      (format "%s, line %d of %d%s\n%s" (backstaff-names-show path)
              (line-number-at-pos point) (line-number-at-pos (point-max))
              (if (buffer-modified-p) ", not saved yet" "")
              (if (= start end) ""
                (format "Region: lines %d-%d\n" (line-number-at-pos start)
                        (line-number-at-pos end)))))))

;;; emacs/read_buffer

(defconst backstaff-emacs-read-buffer
  '(:id "emacs/read_buffer"
    :description "Shows lines of an Emacs buffer that visits no file, such as a compilation, a shell or a log, as it is now. emacs/context names buffers. For files, also with text that is not saved yet, use workspace/read_file."
    :arguments
    ((:name "buffer" :type :string :required t
      :description "Name of the buffer, such as '*compilation*'.")
     (:name "start_line" :type :integer :minimum 1
      :description "The first line to show, counted from 1; without it, the last lines are shown.")
     (:name "max_lines" :type :integer :default 100 :minimum 1 :maximum 500
      :description "How many lines to show."))
    :categories (:emacs :buffers))
  "The definition of the tool emacs/read_buffer.")

(defun backstaff-emacs-read-buffer (arguments context)
  "Do the work of emacs/read_buffer with ARGUMENTS in CONTEXT."
  (let* ((roots (backstaff-unsaved-roots (plist-get context :root)))
         (name (plist-get arguments :buffer))
         (buffer (get-buffer name))
         (directory (and buffer (backstaff-emacs--directory buffer roots)))
         (fail (lambda (code format)
                 (backstaff-lisp-tools-fail code format (backstaff-emacs--quote name)))))
    (cond ((null buffer)
           (funcall fail "NOT_FOUND"
                    (concat "There is no buffer %s"
                            (backstaff-lisp-tools-hint "; %s names buffers" "emacs/context")
                            (backstaff-lisp-tools-hint "; %s reads files" "workspace/read_file"))))
          ((or (backstaff-emacs--hidden-p buffer)
               (not (or directory (backstaff-emacs--file-p buffer))))
           (funcall fail "SANDBOX_VIOLATION"
                    "Buffer %s is outside the workspace, Emacs's own, or holds secrets"))
          ((null directory)
           (funcall fail "INVALID_ARGUMENT"
                    (concat "Buffer %s visits a file"
                            (backstaff-lisp-tools-hint
                             ": read the file with %s, which also has unsaved text"
                             "workspace/read_file"))))
          ((not (plist-get context :approved))
           (funcall fail "APPROVAL_REQUIRED"
                    "Buffer %s visits no file: a person has to approve first")))
    (backstaff-emacs--in buffer
      (let* ((count (plist-get arguments :max-lines))
             (start (plist-get arguments :start-line))
             (total (if (zerop (buffer-size)) 0 (line-number-at-pos (point-max))))
             (first (or start (max 1 (- total count -1))))
             (size 2000))               ; maximum number of characters of a line
        (goto-char (point-min))
        (forward-line (1- first))
        (backstaff-emacs--answer
         (plist-get context :limit)
         (cl-loop for number from first to (min total (+ first count -1))
                  for end = (line-end-position) for length = (- end (point))
                  for text = (buffer-substring-no-properties (point) (min end (+ (point) size)))
                  collect (list (format "%d\t%s%s" number (backstaff-names-text text)
                                        (if (<= length size) ""
                                          (format "[+%d characters]" (- length size))))
                                number text)
                  do (forward-line))
         (- total (if start (1- first) 0))
         (lambda (lines _)
           (let ((top (caar lines)) (last (caar (last lines))))
             (list (format "%s in %s: %s" (backstaff-names-show name)
                           (backstaff-names-show (concat "./" directory))
                           (cond ((zerop total) "empty, 0 lines")
                                 (lines (format "lines %d-%d of %d" top last total))
                                 (t (format "no line %d of %d" first total))))
                   (list (and (process-live-p (get-buffer-process buffer)) "a process is running")
                         (and lines (not start) (> top 1)
                              (format "earlier: start_line=%d" (max 1 (- top count))))
                         (and lines (< last total) (format "more: start_line=%d" (1+ last))))
                   (list :buffer name :content (mapconcat #'cadr lines "\n")
                         :first-line top :last-line last :line-count total))))
         (not start))))))

;;; emacs/diagnostics

;; Flymake also has the findings of language servers.  No checker is started.
;; "No problems" is said only if a check has ended.

(defconst backstaff-emacs-diagnostics
  '(:id "emacs/diagnostics"
    :description "Shows the problems that Emacs's checkers (Flymake, with eglot and lsp-mode) have found in the files that are open, also in text that is not saved yet. Files that are not open are not checked."
    :arguments
    ((:name "path" :type :string
      :description "File or directory; without it, all of the project.")
     (:name "max_results" :type :integer :default 100 :minimum 1 :maximum 500
      :description "How many problems to show."))
    :categories (:emacs :diagnostics))
  "The definition of the tool emacs/diagnostics.")

(defun backstaff-emacs-diagnostics (arguments context)
  "Do the work of emacs/diagnostics with ARGUMENTS in CONTEXT."
  (let* ((roots (backstaff-unsaved-roots (plist-get context :root)))
         (limit (plist-get context :limit))
         (path (or (plist-get arguments :path) ""))
         ;; As it is below the root, which itself is "".
         (names (remove "." (split-string (if (not (string-prefix-p "/" path)) path
                                            (or (backstaff-unsaved-below path roots) ".."))
                                          "/" t)))
         (scope (string-join names "/"))
         (within (lambda (path) (or (equal scope "") (equal path scope)
                                    (string-prefix-p (concat scope "/") path))))
         (states nil) (rows nil))
    (when (member ".." names)
      (backstaff-lisp-tools-fail "SANDBOX_VIOLATION" "Path %s is outside the workspace"
                                 (backstaff-emacs--quote path)))
    (pcase-dolist (`(,path . ,buffer) (backstaff-emacs-buffers roots))
      (when (and (funcall within path) (not (backstaff-emacs--late-p)))
        (pcase-let ((`(,state . ,found) (backstaff-emacs-diagnostics--of-buffer path buffer)))
          (push path (alist-get state states))
          (setq rows (append found rows)))))
    (setq rows (cl-sort rows #'string< :key (pcase-lambda ((map :path :line :column))
                                              (format "%s\0%9d%9d" path line column))))
    (let ((head (cond (rows (format "Problems: %d" (length rows)))
                      ((and (alist-get 'checked states) (not backstaff-emacs-cut)) "No problems")
                      (t "Not checked")))
          (notes (cl-loop for (state . text) in '((failed . "a checker has failed in")
                                                  (unchecked . "no checker runs in")
                                                  (waiting . "a check is under way in"))
                          for paths = (alist-get state states)
                          when paths
                          collect (format "%s: %s" text
                                          (backstaff-emacs--listed (reverse paths)
                                                                   (min 500 (/ limit 4)))))))
      (backstaff-emacs--answer
       limit
       (mapcar (lambda (row)
                 (pcase-let (((map :path :line :column :severity :message) row))
                   (cons (format "%s:%d:%d %s %s" (backstaff-names-show path) line column
                                 (substring (symbol-name severity) 1) message)
                         row)))
               (seq-take rows (plist-get arguments :max-results)))
       (length rows)
       (lambda (shown left)
         (list head
               `(,(and (> left 0) (format "%d more: give a path, or raise max_results" left))
                 ,@notes "only files that are open in Emacs are checked")
               (list :problems shown :problems-total (length rows)
                     :unchecked (alist-get 'unchecked states)
                     :waiting (alist-get 'waiting states)
                     :failed (alist-get 'failed states))))))))

(defun backstaff-emacs-diagnostics--of-buffer (path buffer)
  "Return (STATE . PROBLEMS) of BUFFER, which visits PATH.
STATE is `unchecked' if no checker runs there, `failed' if one has failed,
`waiting' if one has not reported yet, or `checked'."
  (backstaff-emacs--in buffer
    (if (not (bound-and-true-p flymake-mode)) '(unchecked)
      (cons
       ;; Flymake no longer asks a checker that has signalled an error.
       (let ((running (flymake-running-backends)))
         (cond ((flymake-disabled-backends) 'failed)
               ((null running) 'unchecked)
               ((cl-set-difference running (flymake-reporting-backends)) 'waiting)
               (t 'checked)))
       (cl-loop
        for diagnostic in (flymake-diagnostics)
        for start = (flymake-diagnostic-beg diagnostic)
        for type = (flymake-diagnostic-type diagnostic)
        until (backstaff-emacs--late-p)
        when (integer-or-marker-p start)
        collect (progn
                  (goto-char start)
                  (list :path path :line (line-number-at-pos)
                        :column (1+ (- (point) (line-beginning-position)))
                        :severity (or (car (memq type '(:error :warning :note)))
                                      (pcase (get type 'flymake-category)
                                        ('flymake-warning :warning) ('flymake-note :note)
                                        (_ :error)))
                        :message (backstaff-names-prose
                                  (truncate-string-to-width
                                   (or (flymake-diagnostic-text diagnostic) "") 500 nil nil t)))))))))

(provide 'backstaff-emacs)
;;; backstaff-emacs.el ends here
