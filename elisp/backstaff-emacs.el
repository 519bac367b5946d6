;;; backstaff-emacs.el --- Common parts of the toolset emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tools `emacs/…' show a model facts that only Emacs knows: buffers and their texts,
;; the findings of checkers, the places of a symbol.  They look and do nothing else: no tool
;; visits a file, runs a mode or a hook, starts a process, connects to a host, moves point
;; or changes a window.
;;
;; The wall around the project is here.  A buffer belongs to the root of a call if the true
;; name of its file is below it.  A buffer without a file belongs where its
;; `default-directory' is.  Some buffers belong nowhere: those whose names begin with a
;; blank, minibuffers (so passwords, too), and those with credentials.
;;
;; Names are compared as strings.  A primitive for file names could call a handler, which
;; starts a program or asks another host, and a path of a model's may be "/ssh:host:/".

;;; Code:

(require 'backstaff-lisp-tools)
(require 'backstaff-names)
(require 'backstaff-unsaved)

;;; The time

(defvar backstaff-emacs-cut nil
  "Non-nil if a tool has looked at less than all, because its time was up.")

(defun backstaff-emacs-late-p ()
  "Return non-nil after `backstaff-unsaved-deadline', and note that a tool is cut.
An agent outside Emacs gets some milliseconds, so that it never holds Emacs up."
  (and (backstaff-unsaved-late-p) (setq backstaff-emacs-cut t)))

;;; The wall

(defun backstaff-emacs-hidden-p (buffer)
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

(defun backstaff-emacs-file-p (buffer)
  "Return non-nil if BUFFER, or its base buffer, visits a file."
  (buffer-local-value 'buffer-file-name (or (buffer-base-buffer buffer) buffer)))

(defun backstaff-emacs-path (buffer roots)
  "Return the path below one of ROOTS of the file that BUFFER visits.
It is nil if there is none, if no tool may show BUFFER, and if the file may hold
secrets."
  (when-let ((names (backstaff-unsaved-file-names (or (buffer-base-buffer buffer) buffer))))
    (and (not (backstaff-emacs-hidden-p buffer))
         (not (backstaff-emacs-secret-p names roots))
         (backstaff-unsaved-below (car names) roots))))

(defun backstaff-emacs-directory (buffer roots)
  "Return the directory below one of ROOTS of BUFFER, which visits no file.
It ends with a slash, or is \"\" for the root.  It is nil for the same reasons
as a `backstaff-emacs-path'."
  (when-let ((directory (and (not (backstaff-emacs-file-p buffer))
                             (not (backstaff-emacs-hidden-p buffer))
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
           until (backstaff-emacs-late-p)
           for path = (and (not (buffer-base-buffer buffer))
                           (backstaff-emacs-path buffer roots))
           when path collect (cons path buffer)))

(defun backstaff-emacs-argument-path (path roots)
  "Return PATH, an argument of a model's, as it is below one of ROOTS: \"src/a.c\".
The root itself is \"\".  Fail if PATH leads out of it."
  (let* ((relative (if (string-prefix-p "/" path)
                       (or (backstaff-unsaved-below path roots) "..")
                     path))
         (names (remove "." (split-string relative "/" t))))
    (if (member ".." names)
        (backstaff-lisp-tools-fail "SANDBOX_VIOLATION" "Path %s is outside the workspace"
                                   (backstaff-emacs-quote path))
      (string-join names "/"))))

(defun backstaff-emacs-quote (text)
  "Return TEXT from a model, quoted for a message."
  (let ((shown (backstaff-names-show (truncate-string-to-width text 200 nil nil t))))
    (if (string-prefix-p "\"" shown) shown (format "'%s'" shown))))

;;; Positions and texts

(defmacro backstaff-emacs-in (buffer &rest body)
  "Run BODY in BUFFER, widened, and leave point and narrowing as they are."
  (declare (indent 1) (debug t))
  `(with-current-buffer ,buffer
     (save-excursion
       (save-restriction
         (widen)
         ;; With its cache of newlines, Emacs takes 2 s for a million lines; without, 50 ms.
         (let ((cache-long-scans nil) (inhibit-field-text-motion t) (case-fold-search nil))
           ,@body)))))

(defun backstaff-emacs-plural (count noun)
  "Return COUNT with its NOUN: \"1 line\", \"2 lines\"."
  (format "%d %s%s" count noun (if (= count 1) "" "s")))

;;; Results

(defun backstaff-emacs-listed (paths limit)
  "Return the first PATHS that take LIMIT bytes, and the number of the others.
For example \"a.c, b.c and 2 more\"."
  (let* ((names (mapcar #'backstaff-names-show paths))
         (shown (backstaff-lisp-tools-fitting (mapcar (lambda (name) (concat ", " name)) names)
                                              limit))
         (left (- (length names) (length shown))))
    (concat (if shown (substring (string-join shown) 2) "none with a short name")
            (if (> left 0) (format " and %d more" left) ""))))

(cl-defun backstaff-emacs-answer (limit rows render
                                     &key (most 1000) (total (length rows)) from-end)
  "Return a tool's result: a first line, ROWS and notes, in LIMIT bytes.
ROWS are conses of a line and a value.  At most MOST are shown, the first ones,
or with FROM-END the last ones; one is always shown.  TOTAL is the number that
there are, if ROWS are not all of them.

The function RENDER is called with the values of the rows that are shown and the
number of the others.  It returns the list (HEAD NOTES DATA).  HEAD is the first
line, and NOTES, of which some may be nil, stand in brackets at the end.  DATA
is the result's data."
  (let* ((rows (seq-take (if from-end (reverse rows) rows) most))
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

(provide 'backstaff-emacs)
;;; backstaff-emacs.el ends here
