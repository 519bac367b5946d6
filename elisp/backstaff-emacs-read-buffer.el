;;; backstaff-emacs-read-buffer.el --- The tool emacs/read_buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Shows lines of a buffer that visits no file, as workspace/read_file shows those of a file:
;;
;;   *compilation* in ./src/: lines 41-43 of 43
;;   41<TAB>gcc -c a.c
;;   42<TAB>a.c:7: error: expected ';'
;;   43<TAB>make: *** [a.o] Error 1
;;   [earlier: start_line=1]
;;
;; A shell or a log is in no file that the user has put into the project, so the user is
;; asked before one is read.

;;; Code:

(require 'backstaff-emacs)

(defconst backstaff-emacs-read-buffer-tool
  '(:id "emacs/read_buffer"
    :description "Shows lines of an Emacs buffer that visits no file, such as a compilation, a shell or a log, as it is now. emacs/context names buffers. For files, also with text that is not saved yet, use workspace/read_file."
    :arguments
    ((:name "buffer" :type :string :required t
      :description "Name of the buffer, such as '*compilation*'.")
     (:name "start_line" :type :integer :minimum 1
      :description "The first line to show, counted from 1; without it, the last lines are shown.")
     (:name "max_lines" :type :integer :default 100 :minimum 1 :maximum 500
      :description "How many lines to show."))
    :categories (:emacs :buffers)
    :function backstaff-emacs-read-buffer--run)
  "The definition of the tool emacs/read_buffer.")

(defun backstaff-emacs-read-buffer--run (arguments context)
  "Do the work of emacs/read_buffer with ARGUMENTS in CONTEXT."
  (let* ((roots (backstaff-unsaved-roots (plist-get context :root)))
         (limit (plist-get context :limit))
         (name (plist-get arguments :buffer))
         (buffer (get-buffer name))
         (directory (and buffer (backstaff-emacs-directory buffer roots)))
         (quoted (backstaff-emacs-quote name)))
    (cond ((null buffer)
           (backstaff-lisp-tools-fail
            "NOT_FOUND" "There is no buffer %s%s" quoted
            (concat (backstaff-lisp-tools-hint "; %s names buffers" "emacs/context")
                    (backstaff-lisp-tools-hint "; %s reads files" "workspace/read_file"))))
          ((backstaff-emacs-hidden-p buffer)
           (backstaff-lisp-tools-fail
            "SANDBOX_VIOLATION" "Buffer %s is Emacs's own or holds secrets: no tool reads it"
            quoted))
          ((backstaff-emacs-file-p buffer)
           (backstaff-lisp-tools-fail
            "INVALID_ARGUMENT" "Buffer %s visits a file%s" quoted
            (or (backstaff-lisp-tools-hint ": read the file with %s, which shows text that is not\
 saved, too" "workspace/read_file")
                "")))
          ((null directory)
           (backstaff-lisp-tools-fail
            "SANDBOX_VIOLATION" "Buffer %s belongs to a directory outside the workspace" quoted))
          ((not (plist-get context :approved))
           (backstaff-lisp-tools-fail
            "APPROVAL_REQUIRED" "Buffer %s visits no file: a person has to approve first" quoted)))
    (backstaff-emacs-in buffer
      (let* ((count (plist-get arguments :max-lines))
             (start (plist-get arguments :start-line))
             (total (if (zerop (buffer-size)) 0 (line-number-at-pos (point-max))))
             (first (or start (max 1 (- total count -1))))
             ;; Maximum number of characters of a line.  A line that is asked for alone may fill
             ;; the answer.
             (size (if (= count 1) (max 64 (- limit 300)) 2000)))
        (goto-char (point-min))
        (forward-line (1- first))
        (backstaff-emacs-answer
         limit
         (cl-loop for number from first to (min total (+ first count -1))
                  for end = (line-end-position) for length = (- end (point))
                  for text = (buffer-substring-no-properties (point) (min end (+ (point) size)))
                  collect (list (format "%d\t%s%s" number (backstaff-names-text text)
                                        (if (<= length size) ""
                                          (format "[+%d characters]" (- length size))))
                                number text)
                  do (forward-line))
         (lambda (lines _)
           (let ((top (caar lines)) (last (caar (last lines))))
             (list (format "%s in %s%s: %s" (backstaff-names-show (buffer-name))
                           (backstaff-names-show (concat "./" directory))
                           (if (process-live-p (get-buffer-process buffer))
                               ", a process is running" "")
                           (cond ((zerop total) "empty, 0 lines")
                                 (lines (format "lines %d-%d of %d" top last total))
                                 (t (format "no line %d, as there are %s" first
                                            (backstaff-emacs-plural total "line")))))
                   (list (and lines (not start) (> top 1)
                              (format "earlier: start_line=%d" (max 1 (- top count))))
                         (and lines (< last total) (format "more: start_line=%d" (1+ last))))
                   (list :buffer (substring-no-properties (buffer-name))
                         :content (mapconcat #'cadr lines "\n")
                         :first-line top :last-line last :line-count total))))
         :total (- total (if start (1- first) 0)) :from-end (not start))))))

(provide 'backstaff-emacs-read-buffer)
;;; backstaff-emacs-read-buffer.el ends here
