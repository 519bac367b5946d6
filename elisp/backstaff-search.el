;;; backstaff-search.el --- Search what is in files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-search' shows the lines that match a regular expression in a buffer of
;; `grep-mode', so `next-error', RET and wgrep work there.  It returns at once; C-g in
;; the buffer cancels the search, and g makes it again.  The last line counts what was
;; not searched: ignored, binary or large files.

;;; Code:

(require 'grep)
(require 'subr-x)
(require 'thingatpt)
(require 'backstaff-prompt)
(require 'backstaff-request)

(defconst backstaff-search--page 500
  "The most matches that the tool returns at once.")

(defvar backstaff-search--history nil
  "The patterns of `backstaff-search'.")

(defvar-local backstaff-search--arguments nil
  "The arguments of the search in this buffer, a plist.")

(defvar backstaff-search-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    (define-key map "g" #'revert-buffer)
    map)
  "Keymap of `backstaff-search-mode'.")

(define-derived-mode backstaff-search-mode grep-mode "Search"
  "Major mode for the lines that match a regular expression.

\\{backstaff-search-mode-map}"
  :group 'backstaff
  (setq-local revert-buffer-function (lambda (&rest _) (backstaff-search--start))
              backstaff-request-cancelled-function
              (lambda () (backstaff-search--insert "\nSearch cancelled\n"))))

;;;###autoload
(defun backstaff-search (pattern &optional root)
  "Show the lines that match PATTERN in the files of the project ROOT.
PATTERN is a regular expression of Python.  Case counts only where PATTERN has
a capital letter.  Files that git ignores are left out, unless there is a
prefix argument; the last line counts what was not searched.  Modified buffers
are searched as they are."
  (interactive (let ((root (backstaff-command-project)))
                 (list (backstaff-search--read) root)))
  (let* ((root (file-name-as-directory (or root (backstaff-command-root))))
         (case-fold-search nil)
         (buffer (get-buffer-create (format "*backstaff search: %s*" pattern))))
    (with-current-buffer buffer
      (setq default-directory root)
      (backstaff-search-mode)
      (setq backstaff-search--arguments
            (list :pattern pattern
                  :flags (if (string-match-p "[[:upper:]]" pattern) "" "i")
                  :max_results backstaff-search--page
                  :context_lines 0
                  :include_ignored (and current-prefix-arg t)))
      (setq next-error-last-buffer buffer)
      (backstaff-search--start))
    (display-buffer buffer)))

(defun backstaff-search--read ()
  "Read a pattern; the default is the symbol at point."
  (let* ((symbol (thing-at-point 'symbol t))
         (default (and symbol (regexp-quote symbol)))
         (pattern (read-string (format-prompt "Search for regexp" default) nil
                               'backstaff-search--history default)))
    (if (string-blank-p pattern) (user-error "Give a regular expression") pattern)))

(defun backstaff-search--start ()
  "Search anew, and show the first matches when they come."
  (backstaff-request-cancel)
  (let ((inhibit-read-only t))
    (erase-buffer))
  (compilation-forget-errors)
  (backstaff-search--insert
   (format "Search for %s in %s\n\n" (plist-get backstaff-search--arguments :pattern)
           (abbreviate-file-name default-directory)))
  (backstaff-search--ask 0))

(defun backstaff-search--ask (offset)
  "Ask for the matches from OFFSET on."
  (backstaff-request "workspace/regexp_search"
                     (append backstaff-search--arguments (list :offset offset))
                     #'backstaff-search--show
                     (list :root default-directory)))

(defun backstaff-search--show (reply)
  "Insert the matches of REPLY, and ask for the next."
  (let* ((data (plist-get reply :data))
         (next (plist-get data :next-offset)))
    (if (not (plist-get reply :ok))
        (backstaff-search--insert (concat (plist-get reply :text) "\n"))
      (let ((last nil))
        (dolist (item (plist-get data :items))
          (let ((place (cons (plist-get item :path) (plist-get item :line))))
            ;; A line with several matches stands once.
            (unless (equal place last)
              (backstaff-search--insert
               (format "%s:%d:%s\n" (car place) (cdr place) (plist-get item :line-text))))
            (setq last place))))
      (if next
          (backstaff-search--ask next)
        (backstaff-search--insert
         (mapconcat (lambda (note) (format "\n[%s]" note)) (plist-get data :notes) ""))
        (backstaff-search--insert "\nSearch finished\n")))))

(defun backstaff-search--insert (text)
  "Insert TEXT at the end, and leave point where it is."
  (save-excursion
    (goto-char (point-max))
    (let ((inhibit-read-only t))
      (insert text))))

(provide 'backstaff-search)
;;; backstaff-search.el ends here
