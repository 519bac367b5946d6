;;; backstaff-ui-search.el --- Search what is in files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-search' shows the lines that match a regular expression in a buffer of
;; `grep-mode', so `next-error', RET and wgrep work there.  It returns at once; C-g in
;; the buffer cancels the search, and g makes it again.  Each file has a heading; the
;; name of the file in each of its lines is there as well, but invisible.  The last
;; lines count what was not searched: ignored, binary or large files.
;;
;; Where Consult is loaded, the command shows the matches as you type instead, by
;; backstaff-ui-consult.el.

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

(defconst backstaff-search--pages '(100 500)
  "How many matches the first call asks for, and each later one.")

(defconst backstaff-search--few 10
  "How many matches to ask for where more take too long.")

(defconst backstaff-search--milliseconds 30000
  "How long one call may take; nobody waits for it, and it can be cancelled.")

(defconst backstaff-search--remedies
  '((:case . "c searches so") (:ignored . "i searches them") (:literal . "t searches so")
    (:not-searched . "d searches one directory")
    (TIMEOUT . "d searches one directory; or give a simpler pattern"))
  "The remedy for a person, by the kind of a note or the code of an error.")

(defface backstaff-search-file '((t :inherit bold))
  "Face for the name of a file above its matches."
  :group 'backstaff-faces)

(defvar backstaff-search-history nil
  "The patterns of `backstaff-search'.")

(defvar-local backstaff-search--arguments nil
  "The arguments of the search in this buffer, a plist.")

(defvar-local backstaff-search--counts nil
  "The number of matches and of files that are shown, and the last file, a list.")

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
  ;; `next-error' goes to the first place in a line that has the face of a match.
  (setq-local grep-highlight-matches t
              revert-buffer-function (lambda (&rest _) (backstaff-search--start))
              backstaff-request-cancelled-function
              (lambda () (backstaff-search--insert "\nSearch cancelled\n")))
  (run-hooks 'grep-setup-hook)  ; where wgrep binds its key
  ;; Wgrep looks in a command's words for the end of a file's name, and takes the first
  ;; four lines for a head.
  (set (make-local-variable 'wgrep-line-file-regexp) "^\\(?1:[^\0\n]+\\)\0\\(?3:[0-9]+\\):")
  (set (make-local-variable 'wgrep-header&footer-parser) #'backstaff-search--mark-foot))

(defun backstaff-search--mark-foot ()
  "Mark the first line and those below the matches for wgrep."
  (goto-char (point-min))
  (add-text-properties (point) (line-beginning-position 2) '(read-only t wgrep-header t))
  (goto-char (point-max))
  (when (re-search-backward "^$" nil t)
    (add-text-properties (point) (point-max) '(read-only t wgrep-footer t))))

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
                 (if (featurep 'consult)
                     (list nil directory)
                   (cl-destructuring-bind (pattern . literal) (backstaff-search--read)
                     (list pattern directory literal)))))
  (let* ((root (file-name-as-directory (backstaff-command-root directory)))
         (arguments (list :pattern pattern :literal (and literal t)
                          :root_path (backstaff-search--below directory root)
                          :context_lines 0 :timeout_ms backstaff-search--milliseconds)))
    (if (null pattern)
        (backstaff-consult-search root arguments)
      (backstaff-search-show
       root (append arguments
                    (list :flags (if (isearch-no-upper-case-p pattern (not literal)) "i" "")))))))

(defun backstaff-search-show (root arguments)
  "Show the matches of a search below ROOT with ARGUMENTS in a buffer."
  (let ((buffer (backstaff-search--buffer (plist-get arguments :pattern) root)))
    (with-current-buffer buffer
      (setq default-directory root)
      (backstaff-search-mode)
      (setq backstaff-search--arguments arguments)
      (setq next-error-last-buffer buffer)
      (backstaff-search--start))
    ;; C-g cancels where the matches are to come.
    (pop-to-buffer buffer)))

(defun backstaff-search--name (pattern root)
  "Return the name of the buffer for a search for PATTERN below ROOT.
For example \"*backstaff search: x in src*\"."
  (let ((host (file-remote-p root 'host)))
    (format "*backstaff search: %s in %s%s*" pattern
            (backstaff-names-show (file-name-nondirectory (directory-file-name root)))
            (if host (concat "@" (backstaff-names-show host)) ""))))

(defun backstaff-search--buffer (pattern root)
  "Return the buffer for a search for PATTERN below ROOT, made if there is none."
  (let ((name (backstaff-search--name pattern root)))
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

(defun backstaff-search--read (&optional initial literal)
  "Read a pattern; return it and whether it is text.
The default is the symbol at point, but not what a search says of itself.
INITIAL is a pattern to edit, which is text if LITERAL is non-nil."
  (let* ((symbol (and (or (not (derived-mode-p 'backstaff-search-mode))
                          (backstaff-search--match-p))
                      (thing-at-point 'symbol t)))
         (default (and symbol (regexp-quote symbol)))
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
                    (funcall prompt) initial map nil 'backstaff-search-history default)))
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
  (pcase (get-text-property (point) 'backstaff-search-place)
    ;; `grep-mode' cannot read the name of such a file.
    (`(,path . ,line)
     (backstaff-path-visit (concat default-directory path) default-directory)
     (goto-char (point-min))
     (forward-line (1- line)))
    (_ (unless (backstaff-search--match-p)
         (condition-case nil
             (compilation-next-error 1)
           (user-error (user-error "No match is on this line or below it"))))
       (compile-goto-error))))

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
  (cl-destructuring-bind (pattern . literal)
      (backstaff-search--read (plist-get backstaff-search--arguments :pattern)
                              (plist-get backstaff-search--arguments :literal))
    (rename-buffer (backstaff-search--name pattern default-directory) t)
    (setq backstaff-search--arguments
          (map-merge 'plist backstaff-search--arguments
                     (list :literal literal
                           :flags (if (isearch-no-upper-case-p pattern (not literal)) "i" ""))))
    (backstaff-search--change :pattern pattern)))

(defun backstaff-search-more-context (lines)
  "Show LINES more around each match, by default one."
  (interactive "p")
  (backstaff-search--change
   :context_lines (max 0 (min 10 (+ lines (plist-get backstaff-search--arguments
                                                     :context_lines))))))

(defun backstaff-search-less-context (lines)
  "Show LINES fewer around each match, by default one."
  (interactive "p")
  (backstaff-search-more-context (- lines)))

(defun backstaff-search--change (key value)
  "Search again, with VALUE for the argument KEY."
  (setq backstaff-search--arguments
        (map-merge 'plist backstaff-search--arguments (list key value)))
  (backstaff-search--start))

(defun backstaff-search--start ()
  "Search anew, and show the first matches when they come."
  (backstaff-request-cancel)
  (let ((inhibit-read-only t))
    (erase-buffer))
  (compilation-forget-errors)
  (setq backstaff-search--counts (list 0 0 nil))
  (backstaff-search--describe "Searching")
  (backstaff-search--ask 0 (car backstaff-search--pages)))

(defun backstaff-search--describe (&optional state)
  "Tell in the header line how many matches there are, and of which search.
STATE says how far the search is, if it is not over."
  (pcase-let (((map :pattern :literal :flags :root_path :include :include_ignored)
               backstaff-search--arguments)
              (`(,matches ,files . ,_) backstaff-search--counts))
    (setq header-line-format
          (string-replace
           "%" "%%"
           (concat
            " " (propertize (concat (and state (concat state ": "))
                                    (if (zerop matches) "no matches"
                                      (format "%s in %s"
                                              (if (= matches 1) "1 match"
                                                (format "%d matches" matches))
                                              (if (= files 1) "1 file"
                                                (format "%d files" files)))))
                            'face 'bold)
            (format " for %s %s%s%s%s%s"
                    (if literal "the text" "regexp")
                    ;; As it was typed: a label would double its backslashes.
                    (string-replace "\n" "\\n" (backstaff-names-text pattern))
                    (if (equal root_path ".") ""
                      (format " in %s/" (backstaff-names-show root_path)))
                    (if include (concat ", files " (string-join include " ")) "")
                    (if (equal flags "i") ", in any case" "")
                    (if include_ignored ", with what git ignores" "")))))
    (force-mode-line-update)))

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
  (let* ((data (plist-get reply :data)) (next (plist-get data :next-offset))
         (error (plist-get reply :error)))
    (cond
     ((plist-get reply :ok)
      (backstaff-search--insert-matches data)
      (if next
          (progn (backstaff-search--describe "Searching")
                 (backstaff-search--ask next (cadr backstaff-search--pages)))
        (backstaff-search--end
         (mapconcat (lambda (note)
                      (format "\n[%s]" (backstaff-search--told note (plist-get note :kind))))
                    (plist-get data :notes) ""))))
     ;; A file in which matching takes for ever costs none of the matches before it.
     ((and (equal (plist-get error :code) "TIMEOUT") (> most backstaff-search--few))
      (backstaff-search--ask offset backstaff-search--few))
     ((equal (plist-get error :code) "INVALID_REGEX")
      (backstaff-search--end
       (format "\nNot a valid regular expression: %s.  Press t to search for it as plain text."
               ;; More of Python's reason repeats the first words.
               (car (split-string (or (plist-get error :reason) "it cannot be read") ", ")))
       "failed"))
     (t (backstaff-search--end
         (concat "\n" (if (plist-get error :problem)
                          (backstaff-search--told
                           (list :text (concat "Error: " (plist-get error :problem))
                                 :remedy (plist-get error :remedy))
                           (intern (plist-get error :code)))
                        (plist-get reply :text)))
         "failed")))))

(defun backstaff-search--told (note kind)
  "Return the text of NOTE with its remedy; a person has another one for KIND."
  (let ((remedy (plist-get note :remedy)))
    (if (member remedy '(nil "")) (plist-get note :text)
      (format "%s: %s" (plist-get note :text)
              (or (alist-get kind backstaff-search--remedies) remedy)))))

(defun backstaff-search--end (text &optional outcome)
  "Insert TEXT, which ends the search, and the keys.
The last line says OUTCOME, by default \"finished\"."
  (backstaff-search--describe (and outcome "Search failed"))
  (backstaff-search--insert
   (concat (if (and (zerop (car backstaff-search--counts)) (null outcome)) "No matches\n" "")
           text "\n"
           (substitute-command-keys
            (concat "\\<backstaff-search-mode-map>[keys: \\[backstaff-search-edit] pattern,"
                    " \\[backstaff-search-toggle-text] text,"
                    " \\[backstaff-search-toggle-case] case,"
                    " \\[backstaff-search-in-files] files,"
                    " \\[backstaff-search-in-directory] directory,"
                    " \\[backstaff-search-toggle-ignored] ignored files,"
                    " \\[backstaff-search-more-context] context]\n"))
           (format "Search %s\n" (or outcome "finished")))))

(defun backstaff-search--insert-matches (data)
  "Insert the matches in DATA, those of a file below its name."
  (dolist (group (seq-group-by (lambda (item) (plist-get item :path)) (plist-get data :items)))
    (pcase-let ((`(,path . ,items) group)
                (`(,matches ,files ,last) backstaff-search--counts))
      (setq backstaff-search--counts
            (list (+ matches (length items)) (if (equal path last) files (1+ files)) path))
      (unless (equal path last)
        (backstaff-search--insert (propertize (concat (backstaff-names-show path) "\n")
                                              'font-lock-face 'backstaff-search-file)))
      (let ((rows (seq-group-by (lambda (item) (plist-get item :line)) items)))
        (dolist (around (plist-get (cl-find path (plist-get data :around) :test #'equal
                                            :key (lambda (one) (plist-get one :path)))
                                   :lines))
          (unless (assoc (plist-get around :line) rows)
            (push (list (plist-get around :line) around) rows)))
        (pcase-dolist (`(,line . ,items) (sort rows #'car-less-than-car))
          (backstaff-search--insert-line path line items))))))

(defun backstaff-search--insert-line (path line items)
  "Insert the LINE of the file PATH with the matches ITEMS, or one beside a match."
  (let* ((context (plist-get (car items) :text))
         (text (copy-sequence (or context (plist-get (car items) :line-text)))))
    (if context
        (put-text-property 0 (length text) 'font-lock-face grep-context-face text)
      (dolist (item items)
        (backstaff-search--highlight text item)))
    (backstaff-search--insert
     (if (string-search "\n" path)
         (propertize (format "%d: %s\n" line text) 'backstaff-search-place (cons path line))
       ;; With the character NUL `grep-mode' knows where any name ends.
       (concat (propertize (concat path "\0") 'invisible t)
               (format (if context "%d-" "%d:") line) text "\n")))))

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
