;;; backstaff-ui-search.el --- Search the text of files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-search' shows the lines that match a regular expression in a buffer of
;; `grep-mode', so `next-error', RET and wgrep work there.  `backstaff-codebase-search' shows
;; the best places for a question there.  `next-error' needs the file's name on each line, so
;; each line of a match begins with it, invisibly.

;;; Code:

(require 'grep)
(require 'backstaff-ui-view)

(declare-function consult--grep-state "ext:consult" t)
(declare-function consult--prefix-group "ext:consult" t)

(defconst backstaff-search--milliseconds 30000
  "Maximum milliseconds of one call.  Nobody waits for it, and it can be cancelled.")

(defvar-local backstaff-search--counts '(0 0)
  "A list of the number of matches and of files, the last file, and its definition.")

(defvar backstaff-search-mode-map
  (backstaff-view-keymap "g" #'revert-buffer)
  "Keymap of `backstaff-search-mode'.")

(define-derived-mode backstaff-search-mode grep-mode "Search"
  "Major mode for the lines that match a pattern or answer a question."
  :group 'backstaff
  (backstaff-view-setup :arguments #'backstaff-search--arguments
                        :context (list :deadline-ms (+ backstaff-search--milliseconds 1000))
                        :draw (lambda (reply)
                                (compilation-forget-errors)
                                (setq backstaff-search--counts '(0 0))
                                (backstaff-search--add reply))
                        :draw-failures t)
  ;; The names before the lines are for `next-error', not for who copies the lines.
  (add-function :filter-return (local 'filter-buffer-substring-function)
                (lambda (text) (replace-regexp-in-string "^[^\0\n]*\0" "" text)))
  (setq-local
   ;; `recompile' would run the shell command of the last compilation.  It calls this for the
   ;; name of a buffer.  It need save nothing before, as unsaved text is searched as well.
   compilation-save-buffers-predicate #'ignore
   compilation-arguments (list "" major-mode (lambda (_)
                                               (revert-buffer)
                                               (user-error "Searching again")))
   ;; `next-error' goes to the first place in a line that has the face of a match.
   grep-highlight-matches t)
  ;; Wgrep binds its key in the local map, which must not be that of the mode.
  (use-local-map (make-composed-keymap nil (current-local-map)))
  (run-hooks 'grep-setup-hook)
  ;; Wgrep looks in a command's words for the end of a file's name, and takes the first
  ;; four lines for a head.
  (set (make-local-variable 'wgrep-line-file-regexp) "^\\(?1:[^\0\n]+\\)\0\\(?3:[0-9]+\\):")
  (set (make-local-variable 'wgrep-header&footer-parser)
       (lambda ()
         (goto-char (point-min))
         (add-text-properties (point) (line-beginning-position 2) '(read-only t wgrep-header t))
         (goto-char (point-max))
         (when (re-search-backward "^$" nil t)
           (add-text-properties (point) (point-max) '(read-only t wgrep-footer t))))))

;;;###autoload
(defun backstaff-search (pattern)
  "Show the lines that match PATTERN in the files of the project.
PATTERN is a regular expression of Python, in which ( and | need no backslash.

With Consult the matches appear as you type, and text behind a second # filters
them; see `backstaff-use-consult'.  Else, and with a prefix argument, they are
in the project's buffer of searches.

Case counts only if PATTERN has a capital letter.  Files that git ignores are
left out.  The last lines count the files that were not searched.  A key in the
buffer edits the search.  Modified buffers are searched as they are."
  ;; If the host is out of reach, this says so before the question.
  (interactive (let ((root (backstaff-command-root)))
                 (list (if (and (not current-prefix-arg) (backstaff-view-consult-p))
                           (let ((default-directory root))
                             (backstaff-view-with-consult
                              "Search for Python regexp: "
                              (lambda (input) (backstaff-search--candidates input root))
                              :history 'grep-regexp-history :category 'consult-grep
                              :state (consult--grep-state) :group #'consult--prefix-group)
                             nil)
                         (backstaff-search--read "Search for Python regexp"
                                                 #'backstaff-view-quote-regexp)))))
  (when pattern (backstaff-search--open "workspace/regexp_search" (list :pattern pattern))))

;;;###autoload
(defun backstaff-codebase-search (question)
  "Show the best places in the project's code for QUESTION, the best file first.
QUESTION is in plain words, such as \"how are connections closed\", or a name.
The buffer is the one of `backstaff-search'."
  (interactive (progn (backstaff-command-root)
                      (list (backstaff-search--read "Ask about the code" #'identity))))
  (backstaff-search--open "workspace/codebase_search" (list :query question)))

(defun backstaff-search--read (prompt quote)
  "Read with PROMPT what to search for; the default is passed to QUOTE."
  (let* ((text (backstaff-view-default-input)) (default (and text (funcall quote text)))
         (input (read-string (format-prompt prompt default) nil 'grep-regexp-history default)))
    (if (string-blank-p input) (user-error "Type what to search for") input)))

(defun backstaff-search--open (tool arguments)
  "Show the answer of TOOL to ARGUMENTS in the buffer of searches."
  ;; C-g cancels where the matches are to come.
  (setq next-error-last-buffer
        (backstaff-view-open 'backstaff-search-mode (backstaff-command-root) tool arguments)))

(defun backstaff-search--arguments (arguments)
  "Return ARGUMENTS, and the default of each argument that they lack."
  (pcase-let (((map :pattern :literal) arguments))
    (map-merge 'plist
               (if (not pattern) '(:max_results 30)
                 (list :flags (if (isearch-no-upper-case-p (format "%s" pattern) (not literal))
                                  "i" "")
                       ;; Emacs draws 300 matches in less than a tenth of a second.
                       :context_lines 0 :max_results 300
                       :timeout_ms backstaff-search--milliseconds))
               arguments)))

(defun backstaff-search--add (reply)
  "Insert the matches in REPLY, and ask for more, or insert the notes."
  (pcase-let* (((map :data :error) reply) ((map :next-offset :items :files) data))
    (backstaff-search--insert-matches
     (or items (mapcan #'backstaff-search--places files)))
    (backstaff-view-set-header (apply #'format "Matches: %d, files: %d" backstaff-search--counts))
    (if next-offset
        (backstaff-view-call
         "workspace/regexp_search"
         (map-merge 'plist (backstaff-view-get :arguments) (list :offset next-offset))
         (lambda (reply)
           (with-silent-modifications
             (save-excursion
               (goto-char (point-max))
               (backstaff-search--add reply)))))
      (insert (propertize
               (concat (if (or error (> (car backstaff-search--counts) 0)) "\n" "No matches\n\n")
                       (backstaff-search--notes reply)
                       (if error "\nSearch failed\n" "\nSearch finished\n"))
               'font-lock-face (if error 'error 'backstaff-note))))))

(defun backstaff-search--places (file)
  "Return the places in FILE, which answers a question, as if they were matches."
  (pcase-let (((map :path :definitions) file))
    (or (mapcar (lambda (definition)
                  (pcase-let (((map :line :qualified (:best-line best)) definition))
                    (list :path path :enclosing definition :line (or (plist-get best :line) line)
                          :line-text (or (plist-get best :text) qualified))))
                definitions)
        (list (list :path path :line 1 :line-text "")))))

(defun backstaff-search--notes (reply)
  "Return the error, or the notes and warnings of REPLY.
They name arguments as \\`e' edits them: \":literal t\", not \"literal=true\"."
  (pcase-let* (((map :text :error :data :warnings) reply) ((map :problem :remedy) error))
    (cl-flet ((typed (remedy)
                (cl-loop for (regexp . form) in '(("\\([a-z_]+\\)=true\\>" . ":\\1 t")
                                                  ("\\([a-z_]+\\)=false\\>" . ":\\1 :false")
                                                  ("\\([a-z_]+\\)=\\([0-9]+\\)" . ":\\1 \\2")
                                                  ("\\([a-z_]+\\)=\\([a-z]+\\)" . ":\\1 \"\\2\""))
                         do (setq remedy (replace-regexp-in-string regexp form remedy t)))
                remedy))
      (cond ((and problem remedy) (format "%s; %s" problem (typed remedy)))
            (error text)
            (t (mapconcat (lambda (words) (format "[%s]" (string-join (remove "" words) ", ")))
                          (append (mapcar (pcase-lambda ((map :text :remedy))
                                            (list text (typed remedy)))
                                          (plist-get data :notes))
                                  (mapcar #'list warnings))
                          "\n"))))))

(defun backstaff-search--lines (items)
  "Return lists of (PATH . LINE) and the matches among ITEMS there."
  (seq-group-by (lambda (item) (cons (plist-get item :path) (plist-get item :line))) items))

(defun backstaff-search--insert-matches (items)
  "Insert ITEMS, the matches of an answer, those of a file below its name."
  (pcase-dolist (`((,path . ,line) . ,items) (backstaff-search--lines items))
    (pcase-let* ((`(,matches ,files ,last ,around) backstaff-search--counts)
                 (same (equal path last))
                 ((map :enclosing :line-text) (car items))
                 (name (plist-get enclosing :qualified)) (text (copy-sequence line-text)))
      (setq backstaff-search--counts
            (list (+ matches (length items)) (if same files (1+ files)) path name))
      (unless same
        (insert (propertize (concat (backstaff-names-show path) "\n") 'font-lock-face 'backstaff-heading)))
      ;; The line of a definition says its name itself.
      (unless (or (equal name (and same around)) (equal (plist-get enclosing :line) line))
        (insert (propertize (if name (format "in %s\n" (backstaff-names-text name)) "at top level\n")
                            'font-lock-face 'backstaff-note)))
      (pcase-dolist ((map :column :match) items)
        (let ((start (1- (or column 1))))
          ;; Of a long line, the text is a part.
          (when (and match (<= start (length text)) (eql (string-search match text start) start))
            (put-text-property start (+ start (length match)) 'font-lock-face grep-match-face text))))
      (insert
       ;; With the character NUL `grep-mode' knows where a name ends.
       (propertize (concat (if (string-search "\n" path) (backstaff-names-show path) path) "\0")
                   'invisible t)
       (format "%d:" line) (propertize text 'mouse-face 'highlight) "\n"))))

;;; Consult

(defun backstaff-search--candidates (input root)
  "Return at most 300 matches of INPUT in the project ROOT, as `consult-grep' does.
Faces tell Consult and Embark the parts of \"src/a.py:4:TEXT\".  Return a message
while INPUT is no regular expression."
  (pcase-let (((map :ok :data :error :text)
               (backstaff-view-wait-for
                "workspace/regexp_search" (backstaff-search--arguments (list :pattern input)) root)))
    (if (not ok) (or (plist-get error :problem) text)
      (cl-loop for ((path . line) item) in (backstaff-search--lines (plist-get data :items))
               unless (string-search "\n" path)
               collect (concat (propertize path 'face 'consult-file 'consult--prefix-group path) ":"
                               (propertize (number-to-string line) 'face 'consult-line-number) ":"
                               (backstaff-names-text (plist-get item :line-text)))))))

(provide 'backstaff-ui-search)
;;; backstaff-ui-search.el ends here
