;;; backstaff-emacs-read-buffer.el --- The tool emacs/read_buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Shows lines of a buffer as workspace/read_file shows those of a file:
;;
;;   *compilation* in src/, lines 41-43 of 43
;;   41<TAB>gcc -c a.c
;;   42<TAB>a.c:7: error: expected ';'
;;   43<TAB>make: *** [a.o] Error 1
;;   [earlier: start_line=1]
;;
;; A shell or a log is in no file that the user has put into the project, so the user is
;; asked before one is read; see `backstaff-emacs-buffers-without-file'.

;;; Code:

(require 'backstaff-emacs)

(defcustom backstaff-emacs-buffers-without-file 'prompt
  "Whether tools may read buffers below the root that visit no file.
Examples are *compilation*, shells and logs.  The policy in the server's
settings file counts besides."
  :type '(choice (const :tag "Ask each time" prompt)
                 (const :tag "Yes" allow)
                 (const :tag "No" deny))
  :group 'backstaff :risky t
  :package-version '(backstaff . "0.1.0"))

(defconst backstaff-emacs-read-buffer-tool
  '(:id "emacs/read_buffer"
    :description "Shows lines of an Emacs buffer as it is now: of a file, or of a compilation, a shell, a log. emacs/context names buffers. For files that are not open use workspace/read_file."
    :arguments
    ((:name "buffer" :type :string :required t
      :description "Name of the buffer, such as '*compilation*', or path of a file that is open.")
     (:name "start_line" :type :integer :minimum 1
      :description "The first line to show, counted from 1.")
     (:name "max_lines" :type :integer :default 100 :minimum 1 :maximum 500
      :description "How many lines to show.")
     (:name "from_end" :type :boolean :default :false
      :description "Show the last lines. A buffer without a file does so unless start_line is given."))
    :categories (:emacs :buffers)
    :function backstaff-emacs-read-buffer--run)
  "The definition of the tool emacs/read_buffer.")

(defun backstaff-emacs-read-buffer--run (arguments context)
  "Do the work of emacs/read_buffer with ARGUMENTS in CONTEXT."
  (let* ((roots (backstaff-unsaved-roots (plist-get context :root)))
         (buffer (backstaff-emacs-read-buffer--find (plist-get arguments :buffer) roots))
         (path (backstaff-emacs-path buffer roots t))
         (approved (plist-get context :approved)))
    (cond ((not path)
           (pcase backstaff-emacs-buffers-without-file
             ((or 'allow (and 'prompt (guard approved))) nil)
             ('prompt (backstaff-lisp-tools-fail
                       "APPROVAL_REQUIRED"
                       "Buffer %s visits no file: a person has to approve first"
                       (backstaff-names-show (buffer-name buffer))))
             (_ (backstaff-lisp-tools-fail
                 "POLICY_DENIED" "Emacs's user lets no tool read buffers that visit no file"))))
          ((not (or (backstaff-emacs-path buffer roots)
                    (and approved (member (plist-get context :secret) (list nil path)))))
           (signal 'backstaff-lisp-tools-failure
                   (list "APPROVAL_REQUIRED"
                         (format "Buffer %s visits a file that may hold secrets; the user can\
 allow it, or change secrets below [policy] in backstaff's config.toml"
                                 (backstaff-emacs-quote (buffer-name buffer)))
                         path))))
    (backstaff-emacs-in buffer
      (backstaff-emacs-read-buffer--window
       (concat (if path (backstaff-names-show path)
                 (format "%s in %s" (backstaff-names-show (buffer-name))
                         (backstaff-names-show
                          (concat "./" (backstaff-emacs-directory buffer roots)))))
               (and path (buffer-modified-p) ", not saved yet")
               (and (process-live-p (get-buffer-process buffer)) ", a process is running"))
       path (plist-get arguments :start-line) (plist-get arguments :max-lines)
       (or (plist-get arguments :from-end) (not path)) (plist-get context :limit)))))

(defun backstaff-emacs-read-buffer--find (name roots)
  "Return the buffer called NAME, or that visits the file NAME below one of ROOTS.
Fail if there is none, or if it belongs to no root."
  (let ((buffer (or (get-buffer name)
                    (cdr (assoc
                          ;; NAME may be a buffer's and no path at all.
                          (ignore-errors (backstaff-emacs-argument-path name roots))
                          (backstaff-emacs-buffers roots t)))))
        (shown (backstaff-emacs-quote name)))
    (cond ((null buffer)
           (backstaff-lisp-tools-fail
            "NOT_FOUND" "There is no buffer %s, and no buffer visits a file %s below the root%s"
            shown shown
            (concat (backstaff-lisp-tools-hint "; %s names buffers" "emacs/context")
                    (backstaff-lisp-tools-hint "; %s reads files" "workspace/read_file"))))
          ((backstaff-emacs-hidden-p buffer)
           (backstaff-lisp-tools-fail
            "SANDBOX_VIOLATION"
            "Buffer %s is Emacs's own or holds secrets: no emacs tool reads its buffer" shown))
          ((not (or (backstaff-emacs-path buffer roots t)
                    (backstaff-emacs-directory buffer roots)))
           (backstaff-lisp-tools-fail
            "SANDBOX_VIOLATION" (if (backstaff-emacs-file-p buffer)
                                    "Buffer %s visits a file outside the workspace"
                                  "Buffer %s belongs to a directory outside the workspace")
            shown)))
    buffer))

(defun backstaff-emacs-read-buffer--window (name path start count from-end limit)
  "Return COUNT lines of the current buffer from START on, or the last FROM-END.
The text begins with NAME and has at most LIMIT bytes.  PATH is for the data."
  (let* ((total (if (zerop (buffer-size)) 0 (line-number-at-pos (point-max))))
         (backward (and from-end (not start)))
         (first (if backward (max 1 (- total count -1)) (or start 1)))
         ;; Maximum number of characters of a line.  A line that is asked for alone may fill the
         ;; answer.
         (size (if (= count 1) (max 64 (- limit 300)) 2000))
         (texts nil) (rows nil) (shown nil))
    (goto-char (point-min))
    (forward-line (1- first))
    (cl-loop for number from first to (min total (+ first count -1))
             for end = (line-end-position) for length = (- end (point))
             for text = (buffer-substring-no-properties (point) (min end (+ (point) size)))
             do (push text texts)
             (push (format "%d\t%s%s\n" number (backstaff-names-text text)
                           (if (<= length size) "" (format "[+%d characters]" (- length size))))
                   rows)
             (forward-line))
    (unless backward (setq rows (nreverse rows) texts (nreverse texts)))
    ;; The longest head and notes there can be take the rest.  One row is always shown.
    (setq shown (or (backstaff-lisp-tools-fitting rows (- limit (string-bytes name) 160))
                    (seq-take rows 1))
          texts (seq-take texts (length shown)))
    (when backward
      (setq first (- total (length shown) -1) shown (nreverse shown) texts (nreverse texts)))
    (let* ((last (+ first (length shown) -1))
           (earlier (and backward (> first 1)))
           (later (and shown (< last total))))
      (list :text (concat name
                          (cond ((zerop total) ": empty, 0 lines\n")
                                ((null shown) (format ": no line %d, as there are %s\n" first
                                                      (backstaff-emacs-plural total "line")))
                                (t (format ": lines %d-%d of %d\n" first last total)))
                          (string-join shown)
                          (and earlier
                               (format "[earlier: start_line=%d]\n" (max 1 (- first count))))
                          (and later (format "[more: start_line=%d]\n" (1+ last))))
            :truncated (and shown (or later earlier))
            :data (list :buffer (substring-no-properties (buffer-name)) :path path
                        :content (string-join texts "\n") :modified (buffer-modified-p)
                        :first-line first :last-line last :line-count total)))))

(provide 'backstaff-emacs-read-buffer)
;;; backstaff-emacs-read-buffer.el ends here
