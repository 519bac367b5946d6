;;; backstaff-ui-search.el --- Search what is in files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-search' shows the lines that match a regular expression in a buffer of
;; `grep-mode', so `next-error', RET and wgrep work there.  It returns at once; C-g in
;; the buffer cancels the search, and g makes it again.  The last line counts what was
;; not searched: ignored, binary or large files.

;;; Code:

(require 'cl-lib)
(require 'grep)
(require 'subr-x)
(require 'thingatpt)
(require 'backstaff-names)
(require 'backstaff-ui-prompt)
(require 'backstaff-ui-request)

(defconst backstaff-search--pages '(100 500)
  "How many matches the first call asks for, and each later one.")

(defconst backstaff-search--few 10
  "How many matches to ask for where more take too long.")

(defconst backstaff-search--milliseconds 30000
  "How long one call may take; nobody waits for it, and it can be cancelled.")

(defconst backstaff-search--remedies
  '((:case . "c searches so") (:ignored . "i searches them") (:literal . "t searches so")
    (:not-searched . "d searches one directory")
    (TIMEOUT . "d searches one directory; or give a simpler pattern")
    (INVALID_REGEX . "write it for Python's re, or t, which looks for the text"))
  "The remedy for a person, by the kind of a note or the code of an error.")

(defvar backstaff-search--history nil
  "The patterns of `backstaff-search'.")

(defvar-local backstaff-search--arguments nil
  "The arguments of the search in this buffer, a plist.")

(defvar backstaff-search-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    (define-key map (kbd "RET") #'backstaff-search-visit)
    (define-key map "g" #'revert-buffer)
    (define-key map "t" #'backstaff-search-toggle-text)
    (define-key map "i" #'backstaff-search-toggle-ignored)
    (define-key map "c" #'backstaff-search-toggle-case)
    (define-key map "d" #'backstaff-search-in-directory)
    map)
  "Keymap of `backstaff-search-mode'.")

;;;###autoload
(define-derived-mode backstaff-search-mode grep-mode "Search"
  "Major mode for the lines that match a regular expression.

\\{backstaff-search-mode-map}"
  :group 'backstaff
  ;; `next-error' goes to the first place in a line that has the face of a match.
  (setq-local grep-highlight-matches t
              revert-buffer-function (lambda (&rest _) (backstaff-search--start))
              backstaff-request-cancelled-function
              (lambda () (backstaff-search--insert "\nSearch cancelled\n")))
  (run-hooks 'grep-setup-hook)  ; where wgrep binds its key
  (when (boundp 'wgrep-line-file-regexp)
    ;; Wgrep looks in a command's words for what ends the name of a file.
    (set (make-local-variable 'wgrep-line-file-regexp) "^\\(?1:[^\0\n]+\\)\0\\(?3:[0-9]+\\):")))

;;;###autoload
(defun backstaff-search (pattern &optional directory literal)
  "Show the lines that match PATTERN in the files of the project.
PATTERN is a regular expression of Python, in which ( and | need no backslash.
If LITERAL is non-nil, PATTERN is text; a key in the prompt says so.
With a prefix argument, ask for a DIRECTORY of the project to search below.

Case counts only where PATTERN has a capital letter.  Files that git ignores
are left out; the last line counts what was not searched.  In the buffer, t, i,
c and d change how it was searched.  Modified buffers are searched as they are."
  (interactive (let ((directory (and current-prefix-arg
                                     (backstaff-read-directory "Search below directory: "))))
                 ;; A host that is out of reach is told before the question.
                 (if directory (backstaff-command-root directory) (backstaff-command-project))
                 (cl-destructuring-bind (pattern . literal) (backstaff-search--read)
                   (list pattern directory literal))))
  (let* ((root (file-name-as-directory (backstaff-command-root directory)))
         (buffer (backstaff-search--buffer pattern root)))
    (with-current-buffer buffer
      (setq default-directory root)
      (backstaff-search-mode)
      (setq backstaff-search--arguments
            (list :pattern pattern
                  :flags (if (isearch-no-upper-case-p pattern (not literal)) "i" "")
                  :literal (and literal t)
                  :root_path (backstaff-search--below directory root)
                  :context_lines 0
                  :timeout_ms backstaff-search--milliseconds))
      (setq next-error-last-buffer buffer)
      (backstaff-search--start))
    ;; C-g cancels where the matches are to come.
    (pop-to-buffer buffer)))

(defun backstaff-search--buffer (pattern root)
  "Return the buffer for a search for PATTERN below ROOT, made if there is none.
Its name holds PATTERN and the name of ROOT, such as
\"*backstaff search: x in src*\"."
  (let* ((host (file-remote-p root 'host))
         (name (format "*backstaff search: %s in %s%s*" pattern
                       (backstaff-names-show
                        (file-name-nondirectory (directory-file-name root)))
                       (if host (concat "@" (backstaff-names-show host)) ""))))
    (or (cl-find-if (lambda (buffer)
                      (and (string-prefix-p name (buffer-name buffer))
                           (provided-mode-derived-p
                            (buffer-local-value 'major-mode buffer) 'backstaff-search-mode)
                           (equal root (buffer-local-value 'default-directory buffer))))
                    (buffer-list))
        (generate-new-buffer name))))

(defun backstaff-search--below (directory root)
  "Return DIRECTORY as a path from ROOT; nil is ROOT."
  (if directory
      (directory-file-name (file-relative-name (expand-file-name directory) root))
    "."))

(defun backstaff-search--read ()
  "Read a pattern; return it and whether it is text.
The default is the symbol at point, but not what a search says of itself."
  (let* ((symbol (and (or (not (derived-mode-p 'backstaff-search-mode))
                          (backstaff-search--match-p))
                      (thing-at-point 'symbol t)))
         (default (and symbol (regexp-quote symbol)))
         (literal nil)
         (prompt (lambda ()
                   (if literal (format-prompt "Search for text (M-r: Python regexp)" symbol)
                     (format-prompt "Search for Python regexp (M-r: text)" default))))
         (map (make-sparse-keymap)))
    (set-keymap-parent map minibuffer-local-map)
    (define-key map (kbd "M-r")
                (lambda ()
                  (interactive)
                  (setq literal (not literal))
                  (remove-overlays (point-min) (minibuffer-prompt-end) 'backstaff-prompt t)
                  (let ((overlay (make-overlay (point-min) (minibuffer-prompt-end))))
                    (overlay-put overlay 'backstaff-prompt t)
                    (overlay-put overlay 'display
                                 (propertize (funcall prompt)
                                             'face 'minibuffer-prompt)))))
    (let ((pattern (read-from-minibuffer
                    (funcall prompt) nil map nil 'backstaff-search--history default)))
      (when (string-empty-p pattern)
        (setq pattern (or (if literal symbol default) "")))
      (when (string-blank-p pattern)
        (user-error "Give a regular expression"))
      (cons pattern literal))))

(defun backstaff-search--match-p ()
  "Return non-nil if the line at point shows a match."
  (compilation--ensure-parse (line-end-position))
  (text-property-not-all (line-beginning-position) (line-end-position)
                         'compilation-message nil))

(defun backstaff-search-visit ()
  "Visit the match on this line, or else the next one."
  (interactive)
  (unless (backstaff-search--match-p)
    (condition-case nil
        (compilation-next-error 1)
      (user-error (user-error "No match is on this line or below it"))))
  (compile-goto-error))

(defun backstaff-search-toggle-text ()
  "Search for the pattern as text, or as a regular expression again."
  (interactive)
  (backstaff-search--change :literal (not (plist-get backstaff-search--arguments :literal))))

(defun backstaff-search-toggle-ignored ()
  "Search the files that git ignores, too, or leave them out again."
  (interactive)
  (backstaff-search--change
   :include_ignored (not (plist-get backstaff-search--arguments :include_ignored))))

(defun backstaff-search-toggle-case ()
  "Heed the case of letters, or do so no more."
  (interactive)
  (backstaff-search--change
   :flags (if (equal (plist-get backstaff-search--arguments :flags) "i") "" "i")))

(defun backstaff-search-in-directory (directory)
  "Search below DIRECTORY, which is in the project."
  (interactive (list (backstaff-read-directory "Search below directory: ")))
  (backstaff-search--change
   :root_path (backstaff-search--below directory default-directory)))

(defun backstaff-search--change (key value)
  "Search again, with VALUE for the argument KEY."
  (setq backstaff-search--arguments (plist-put backstaff-search--arguments key value))
  (backstaff-search--start))

(defun backstaff-search--start ()
  "Search anew, and show the first matches when they come."
  (backstaff-request-cancel)
  (let ((inhibit-read-only t))
    (erase-buffer))
  (compilation-forget-errors)
  (cl-destructuring-bind (&key pattern flags literal root_path include_ignored &allow-other-keys)
      backstaff-search--arguments
    ;; Wgrep takes the first four lines for the head.
    (backstaff-search--insert
     (format "Search for the %s %s in %s%s%s\n%s\n\n\n"
             (if literal "text" "Python regexp")
             ;; As it was typed: a label would double its backslashes.
             (string-replace "\n" "\\n" (backstaff-names-text pattern))
             (backstaff-names-show
              (abbreviate-file-name (expand-file-name root_path default-directory)))
             (if (equal flags "i") ", in any case" "")
             (if include_ignored ", with what git ignores" "")
             (substitute-command-keys
              (concat "\\<backstaff-search-mode-map>\\[backstaff-search-toggle-text] text,"
                      " \\[backstaff-search-toggle-ignored] ignored files,"
                      " \\[backstaff-search-toggle-case] case,"
                      " \\[backstaff-search-in-directory] directory,"
                      " \\[revert-buffer] again")))))
  (backstaff-search--ask 0 (car backstaff-search--pages)))

(defun backstaff-search--ask (offset most)
  "Ask for at most MOST matches from OFFSET on."
  (backstaff-request
   "workspace/regexp_search"
   (append backstaff-search--arguments (list :offset offset :max_results most))
   (lambda (reply) (backstaff-search--show reply offset most))
   (list :root default-directory
         :deadline-ms (+ backstaff-search--milliseconds 1000))))

(defun backstaff-search--show (reply offset most)
  "Insert the matches of REPLY, the answer for OFFSET and MOST; ask for the next."
  (let* ((data (plist-get reply :data))
         (items (append (plist-get data :items) nil))
         (next (plist-get data :next-offset)))
    (cond
     ((plist-get reply :ok)
      (backstaff-search--insert-matches items)
      (unless (or items (> offset 0))
        (backstaff-search--insert "No matches\n"))
      (if next
          (backstaff-search--ask next (cadr backstaff-search--pages))
        (backstaff-search--end
         (mapconcat (lambda (note)
                      (format "\n[%s]" (backstaff-search--told note (plist-get note :kind))))
                    (plist-get data :notes) ""))))
     ;; A file in which matching takes for ever costs none of the matches before it.
     ((and (equal (plist-get (plist-get reply :error) :code) "TIMEOUT")
           (> most backstaff-search--few))
      (backstaff-search--ask offset backstaff-search--few))
     (t (let ((problem (plist-get reply :error)))
          (backstaff-search--end
           (concat "\n" (if (plist-get problem :problem)
                            (backstaff-search--told
                             (list :text (concat "Error: " (plist-get problem :problem))
                                   :remedy (plist-get problem :remedy))
                             (intern (plist-get problem :code)))
                          (plist-get reply :text)))
           "failed"))))))

(defun backstaff-search--told (note kind)
  "Return the text of NOTE with its remedy; a person has another one for KIND."
  (let ((remedy (plist-get note :remedy)))
    (if (member remedy '(nil "")) (plist-get note :text)
      (format "%s: %s" (plist-get note :text)
              (or (alist-get kind backstaff-search--remedies) remedy)))))

(defun backstaff-search--end (text &optional outcome)
  "Insert TEXT, which ends the search.
The last line says OUTCOME, by default \"finished\"."
  (backstaff-search--insert (format "%s\nSearch %s\n" text (or outcome "finished"))))

(defun backstaff-search--insert-matches (items)
  "Insert a line for the ITEMS in it, a list in order."
  (while items
    (let* ((item (car items))
           (path (plist-get item :path))
           (line (plist-get item :line))
           (text (copy-sequence (plist-get item :line-text))))
      (while (and items (equal path (plist-get (car items) :path))
                  (equal line (plist-get (car items) :line)))
        (backstaff-search--highlight text (pop items)))
      (backstaff-search--insert
       (if (string-search "\n" path)
           (format "%s line %d: %s\n" (backstaff-names-show path) line text)
         ;; With this character `grep-mode' knows where any name ends.
         (concat path "\0" (format "%d:" line) text "\n"))))))

(defun backstaff-search--highlight (text item)
  "Give the match of ITEM the face of a match in TEXT, its line."
  (let* ((start (1- (plist-get item :column)))
         (end (+ start (length (plist-get item :match)))))
    ;; Of a long line, the text is a part.
    (when (and (> end start) (<= end (length text))
               (equal (substring text start end) (plist-get item :match)))
      (put-text-property start end 'font-lock-face grep-match-face text))))

(defun backstaff-search--insert (text)
  "Insert TEXT at the end, and leave point where it is."
  (save-excursion
    (goto-char (point-max))
    (let ((inhibit-read-only t))
      (insert text))))

(provide 'backstaff-ui-search)
;;; backstaff-ui-search.el ends here
