;;; backstaff-ui-search.el --- Search the text of files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-search' shows the lines that match a regular expression in a buffer of
;; `grep-mode', so `next-error', RET and wgrep work there.  It returns at once; C-g in
;; the buffer cancels the search, and g makes it again.  Each file has a heading, and each
;; definition around matches has one.  The file's name also begins each of its lines, but
;; invisible.  The last lines count the files that were not searched: ignored, binary
;; or large ones.
;;
;; If Consult is loaded, the command shows the matches as you type instead, and the place
;; of the chosen one.  Text behind a second # filters them, as in `consult-grep'.

;;; Code:

(require 'cl-lib)
(require 'grep)
(require 'map)
(require 'subr-x)
(require 'thingatpt)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-prompt)
(require 'backstaff-ui-request)

(declare-function consult--dynamic-collection "ext:consult" t t)
(declare-function consult--grep-state "ext:consult" t)
(declare-function consult--lookup-member "ext:consult" t)
(declare-function consult--read "ext:consult" t)

(defconst backstaff-search--pages '(100 500)
  "Number of matches that the first call asks for, and each later one.")

(defconst backstaff-search--most-candidates 200
  "Maximum number of matches that Consult shows.")

(defconst backstaff-search--milliseconds 30000
  "Maximum milliseconds of one call.  Nobody waits for it, and it can be cancelled.")

(defconst backstaff-search--remedies
  '((:case . "c searches so") (:ignored . "i searches them") (:literal . "t searches so")
    (:not-searched . "d searches one directory")
    (TIMEOUT . "d searches one directory; or give a simpler pattern"))
  "The remedy for a person, by the kind of a note or the code of an error.")

(defface backstaff-search-file '((t :inherit bold))
  "Face for the name of a file above its matches."
  :group 'backstaff)

(defvar backstaff-search--history nil
  "The patterns of `backstaff-search'.")

(defvar-local backstaff-search--arguments nil
  "The arguments of the search in this buffer, a plist.")

(defvar-local backstaff-search--counts nil
  "A list of the number of matches, the number of files, and the last file.")

(defvar backstaff-search-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    (define-key map (kbd "RET") #'backstaff-search-visit)
    (define-key map "g" #'revert-buffer)
    (define-key map "t" #'backstaff-search-toggle-text)
    (define-key map "i" #'backstaff-search-toggle-ignored)
    (define-key map "c" #'backstaff-search-toggle-case)
    (define-key map "d" #'backstaff-search-in-directory)
    (define-key map "f" #'backstaff-search-in-files)
    (define-key map "e" #'backstaff-search-edit)
    (define-key map "+" #'backstaff-search-more-context)
    (define-key map "-" #'backstaff-search-less-context)
    map)
  "Keymap of `backstaff-search-mode'.")

;;;###autoload
(define-derived-mode backstaff-search-mode grep-mode "Search"
  "Major mode for the lines that match a regular expression.

\\{backstaff-search-mode-map}"
  :group 'backstaff
  (setq-local
   word-wrap t
   ;; `next-error' goes to the first place in a line that has the face of a match.
   grep-highlight-matches t
   ;; A name with a newline stands there as its label.
   compilation-error-regexp-alist
   (let ((hit (copy-sequence (car grep-regexp-alist))))
     (setf (nth 1 hit) (lambda () (or (get-text-property (match-beginning 1) 'backstaff-search-path)
                                      (match-string-no-properties 1))))
     (list hit))
   revert-buffer-function (lambda (&rest _) (backstaff-search--change))
   backstaff-request-cancelled-function
   (lambda () (backstaff-search--insert "\nSearch cancelled\n")))
  (run-hooks 'grep-setup-hook)  ; where wgrep binds its key
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
(defun backstaff-search (pattern &optional directory literal)
  "Show the lines that match PATTERN in the files of the project.
PATTERN is a regular expression of Python, in which ( and | need no backslash.
If LITERAL is non-nil, PATTERN is text; a key in the buffer says so.
With a prefix argument, ask for a DIRECTORY of the project to search below.

If Consult is loaded, the matches appear as you type.  With \\[universal-argument] \\[universal-argument] they
appear in a buffer all the same.

Case counts only if PATTERN has a capital letter.  Files that git ignores are
left out.  The last lines count the files that were not searched.  The buffer
has keys to change the search.  Modified buffers are searched as they are."
  (interactive (let ((directory (and current-prefix-arg (not (equal current-prefix-arg '(16)))
                                     (backstaff-read-directory "Search below directory: "))))
                 ;; If the host is out of reach, this says so before the question.
                 (if directory (backstaff-command-root directory) (backstaff-command-project))
                 (if (and (featurep 'consult) (not (equal current-prefix-arg '(16))))
                     (list nil directory)
                   (list (backstaff-search--read) directory))))
  (let* ((root (file-name-as-directory (backstaff-command-root directory)))
         (arguments (list :pattern pattern :literal (and literal t)
                          :root_path (backstaff-path-relative root (or directory root))
                          :context_lines 0 :timeout_ms backstaff-search--milliseconds)))
    (if (null pattern)
        (backstaff-search--as-you-type root arguments)
      ;; C-g cancels where the matches are to come.
      (pop-to-buffer (backstaff-search--name pattern root))
      (setq default-directory root)
      (backstaff-search-mode)
      (setq next-error-last-buffer (current-buffer)
            backstaff-search--arguments arguments)
      (backstaff-search--change :flags (backstaff-search--flags pattern literal)))))

(defun backstaff-search--name (pattern root)
  "Return the name of the buffer for a search for PATTERN below ROOT.
For example \"*backstaff search: x in ~/src/*\"."
  (format "*backstaff search: %s in %s*" pattern
          (backstaff-path-shown root)))

(defun backstaff-search--flags (pattern literal)
  "Return the flags for PATTERN, which is text if LITERAL is non-nil.
Case counts only if PATTERN has a capital letter."
  (if (isearch-no-upper-case-p pattern (not literal)) "i" ""))

(defun backstaff-search--read (&optional pattern)
  "Read a regular expression; the default is the symbol at point.
PATTERN is an old pattern to edit."
  (let* ((symbol (unless pattern (thing-at-point 'symbol t)))
         (default (and symbol (regexp-quote symbol)))
         (read (read-string (format-prompt "Search for Python regexp" default)
                            pattern 'backstaff-search--history default)))
    (if (string-blank-p read) (user-error "Give a regular expression") read)))

(defun backstaff-search-visit ()
  "Visit the match on this line, or else the next one."
  (interactive)
  (condition-case nil
      (compilation-next-error 0)
    (user-error (compilation-next-error 1)))
  (compile-goto-error))

(defun backstaff-search--toggle (key)
  "Search anew, with the argument KEY turned from nil to t, or back."
  (backstaff-search--change key (not (plist-get backstaff-search--arguments key))))

(defun backstaff-search-toggle-text ()
  "Search for the pattern as text, or as a regular expression again."
  (interactive)
  (backstaff-search--toggle :literal))

(defun backstaff-search-toggle-ignored ()
  "Search the files that git ignores, too, or leave them out again."
  (interactive)
  (backstaff-search--toggle :include_ignored))

(defun backstaff-search-toggle-case ()
  "Distinguish capital and small letters, or treat them alike again."
  (interactive)
  (backstaff-search--change
   :flags (if (equal (plist-get backstaff-search--arguments :flags) "i") "" "i")))

(defun backstaff-search-in-directory (directory)
  "Search below DIRECTORY, which is in the project."
  (interactive (list (backstaff-read-directory "Search below directory: ")))
  (backstaff-search--change
   :root_path (backstaff-path-relative default-directory directory)))

(defun backstaff-search-in-files (globs)
  "Search the files that match GLOBS, such as \"*.el docs/**\"; blank for all.
A glob without a slash counts in any directory."
  (interactive (list (read-string "Search files (such as *.el docs/**, empty for all): "
                                  (string-join (plist-get backstaff-search--arguments :include)
                                               " "))))
  (backstaff-search--change
   :include (mapcar (lambda (glob) (if (string-search "/" glob) glob (concat "**/" glob)))
                    (split-string globs "[ ,]+" t))))

(defun backstaff-search-edit ()
  "Edit the pattern and search again."
  (interactive)
  (let ((pattern (backstaff-search--read (plist-get backstaff-search--arguments :pattern))))
    (rename-buffer (backstaff-search--name pattern default-directory) t)
    (backstaff-search--change
     :pattern pattern
     :flags (backstaff-search--flags pattern (plist-get backstaff-search--arguments :literal)))))

(defun backstaff-search-more-context (lines)
  "Show LINES more lines around each match, by default one."
  (interactive "p")
  (backstaff-search--change
   :context_lines (max 0 (min 10 (+ lines (plist-get backstaff-search--arguments
                                                     :context_lines))))))

(defun backstaff-search-less-context (lines)
  "Show LINES fewer lines around each match, by default one."
  (interactive "p")
  (backstaff-search-more-context (- lines)))

(defun backstaff-search--change (&rest changes)
  "Search anew, with CHANGES of the arguments, a plist."
  (setq backstaff-search--arguments (map-merge 'plist backstaff-search--arguments changes)
        backstaff-search--counts (list 0 0 nil))
  (backstaff-request-cancel)
  (let ((inhibit-read-only t))
    (erase-buffer))
  (compilation-forget-errors)
  (backstaff-search--ask 0 (car backstaff-search--pages)))

(defun backstaff-search--describe (state)
  "Write the number of matches, the search and its keys into the header line.
STATE is the text before them, such as \"Searching: \"."
  (pcase-let (((map :pattern :literal :flags :root_path :include :include_ignored)
               backstaff-search--arguments)
              (`(,matches ,files . ,_) backstaff-search--counts))
    (setq header-line-format
          (string-replace
           "%" "%%"
           (concat
            " " (propertize (format "%s%d %s in %d %s" state matches
                                    (ngettext "match" "matches" matches)
                                    files (ngettext "file" "files" files))
                            'face 'bold)
            (propertize " [e t c f d i + -]" 'face 'shadow 'help-echo
                        "edit, text, case, files, directory, ignored, more and less context")
            (if literal " for the text " " for regexp ")
            ;; As it was typed: a label would double its backslashes.
            (string-replace "\n" "\\n" (backstaff-names-text pattern))
            (unless (equal root_path ".")
              (format " in %s/" (backstaff-names-show root_path)))
            (and include (concat ", files " (string-join include " ")))
            (and (equal flags "i") ", case ignored")
            (and include_ignored ", with ignored files"))))))

(defun backstaff-search--ask (offset most)
  "Ask for at most MOST matches from OFFSET on, and show them when they come."
  (backstaff-search--describe "Searching: ")
  (backstaff-request
   "workspace/regexp_search"
   (append backstaff-search--arguments (list :offset offset :max_results most))
   (lambda (reply)
     (backstaff-search--insert-matches (plist-get reply :data))
     (if-let ((next (plist-get (plist-get reply :data) :next-offset)))
         (backstaff-search--ask next (cadr backstaff-search--pages))
       (backstaff-search--end reply)))
   (list :root default-directory
         :deadline-ms (+ backstaff-search--milliseconds 1000))))

(defun backstaff-search--end (reply)
  "Insert the notes or the error of REPLY, which is the last one."
  (pcase-let* (((map :text :error :data) reply)
               ((map :code :reason :problem) error)
               (advise (lambda (text remedy kind)
                         (if (member remedy '(nil "")) text
                           (format "%s: %s" text (or (alist-get kind backstaff-search--remedies)
                                                     remedy))))))
    (backstaff-search--describe (if error "Search failed: " ""))
    (backstaff-search--insert
     (concat
      (if (or error (> (car backstaff-search--counts) 0)) "\n" "No matches\n\n")
      (cond ((equal code "INVALID_REGEX")
             (format "Not a valid regular expression: %s.  Press t to search for it as plain text."
                     ;; More of Python's reason repeats the first words.
                     (car (split-string reason ", "))))
            (problem (funcall advise (concat "Error: " problem) (plist-get error :remedy)
                              (intern code)))
            (error text)
            (t (mapconcat (pcase-lambda ((map :text :remedy :kind))
                            (format "[%s]" (funcall advise text remedy kind)))
                          (plist-get data :notes) "\n")))
      (if error "\nSearch failed\n" "\nSearch finished\n")))))

(defun backstaff-search--insert-matches (data)
  "Insert the matches in DATA, those of a file below its name."
  (pcase-dolist (`(,path . ,items) (seq-group-by (lambda (item) (plist-get item :path))
                                                 (plist-get data :items)))
    (pcase-let ((`(,matches ,files ,last) backstaff-search--counts)
                (rows (seq-group-by (lambda (item) (plist-get item :line)) items))
                (said nil))
      (setq backstaff-search--counts
            (list (+ matches (length items)) (if (equal path last) files (1+ files)) path))
      (unless (equal path last)
        (backstaff-search--insert (propertize (concat (backstaff-names-show path) "\n")
                                              'font-lock-face 'backstaff-search-file)))
      (dolist (around (plist-get (cl-find path (plist-get data :around) :test #'equal
                                          :key (lambda (one) (plist-get one :path)))
                                 :lines))
        (unless (assoc (plist-get around :line) rows)
          (push (list (plist-get around :line) around) rows)))
      (pcase-dolist (`(,line . ,items) (sort rows #'car-less-than-car))
        (let* ((inner (plist-get (car items) :enclosing)) (name (plist-get inner :qualified)))
          ;; The line of a definition says its name itself.
          (unless (or (plist-get (car items) :text) (equal name said)
                      (prog1 (equal (plist-get inner :line) line) (setq said name)))
            (backstaff-search--insert
             (propertize (if name (format "in %s\n" (backstaff-names-text name)) "at top level\n")
                         'font-lock-face 'shadow))))
        (backstaff-search--insert-line path line items)))))

(defun backstaff-search--insert-line (path line items)
  "Insert the LINE of the file PATH, with the matches ITEMS or beside a match."
  (let* ((context (plist-get (car items) :text))
         (text (copy-sequence (or context (plist-get (car items) :line-text)))))
    (if context
        (put-text-property 0 (length text) 'font-lock-face grep-context-face text)
      (dolist (item items)
        (let* ((start (1- (plist-get item :column)))
               (end (+ start (length (plist-get item :match)))))
          ;; Of a long line, the text is a part.
          (when (and (> end start) (<= end (length text))
                     (equal (substring text start end) (plist-get item :match)))
            (put-text-property start end 'font-lock-face grep-match-face text)))))
    (backstaff-search--insert
     ;; With the character NUL `grep-mode' knows where a name ends.
     (concat (propertize (concat (if (string-search "\n" path) (backstaff-names-show path) path)
                                 "\0")
                         'invisible t 'backstaff-search-path path)
             (format (if context "%d-" "%d:") line) text "\n"))))

(defun backstaff-search--insert (text)
  "Insert TEXT at the end, and leave point where it is."
  (save-excursion
    (goto-char (point-max))
    (let ((inhibit-read-only t))
      (insert text))))


;;; Consult

(defun backstaff-search--as-you-type (root arguments)
  "Visit a match below ROOT; ARGUMENTS are those of the search, without a pattern."
  (let ((default-directory root))
    (consult--read
     (consult--dynamic-collection
      (lambda (input) (backstaff-search--candidates input root arguments)))
     :prompt "Search for Python regexp: "
     :category 'consult-grep
     :require-match t
     :sort nil
     :lookup #'consult--lookup-member
     :group (lambda (candidate transform)
              (let ((file (get-text-property 0 'consult--prefix-group candidate)))
                (if transform (substring candidate (1+ (length file))) file)))
     :state (consult--grep-state)
     :add-history (thing-at-point 'symbol)
     :history 'backstaff-search--history)))

(defun backstaff-search--candidates (input root arguments)
  "Return the matches of INPUT below ROOT as lines of a grep.
ARGUMENTS are those of the search.  There are none while INPUT is no regular
expression."
  (let ((reply (backstaff-prompt-call-tool
                "workspace/regexp_search"
                `(:pattern ,input :flags ,(backstaff-search--flags input nil)
                  :max_results ,backstaff-search--most-candidates ,@(cddr arguments))
                (list :root root)))
        (last nil))
    (cl-loop for item in (plist-get (plist-get reply :data) :items)
             for path = (plist-get item :path)
             for place = (cons path (plist-get item :line))
             unless (or (equal place last) (string-search "\n" path))
             collect (concat (propertize path 'face 'consult-file 'consult--prefix-group path)
                             ":"
                             (propertize (number-to-string (cdr place))
                                         'face 'consult-line-number)
                             ":" (backstaff-names-text (plist-get item :line-text)))
             do (setq last place))))

(provide 'backstaff-ui-search)
;;; backstaff-ui-search.el ends here
