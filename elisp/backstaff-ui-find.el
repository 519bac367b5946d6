;;; backstaff-ui-find.el --- Find a file by parts of its path  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server finds what matches the input and ranks it, so a completion style of our own
;; passes its answer on unchanged.  Vertico, icomplete and fido show the candidates as you
;; type; a key ends the wait for the answer to the old input.  Without these, TAB lists the
;; candidates.  `backstaff-find-read' is for files and for definitions.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-prompt)
(require 'backstaff-ui-view)

(defconst backstaff-find--limit 100
  "Maximum number of files that `backstaff-find-file' offers.")

(defconst backstaff-find--guesses
  '( :same "In another case" :case "In another case" :spelling "Spelt in another way"
     :folder "In another directory" :words "With some of the words")
  "The title above the files that do not match, by the way they were found.")

(defvar backstaff-find--history nil
  "The inputs of `backstaff-find-file'.")

(defun backstaff-find-read (prompt answer history &rest metadata)
  "Ask with PROMPT for a candidate that the server finds, and return it.
ANSWER is called with the input, and returns a list of candidates, the best
first, or a string that says why there is none.  A candidate is a string.  If
its property `backstaff-query' is not nil, ANSWER gets this instead when the
candidate is the input.  RET after other input returns the best candidate, and
after blank input nil.  HISTORY is the variable of the history.  METADATA are
more completion metadata, such as (category . file)."
  (let ((known (make-hash-table :test #'equal)) (answered nil) (candidates nil) (problem nil))
    (cl-labels
        ((tell ()
           ;; An error would throw away the keys that were typed behind it.
           (when problem (ignore (message "%s" problem))))
         (candidates (input)
           (unless (equal input answered)
             (setq answered nil)
             (let* ((old (gethash input known))
                    (answer (funcall answer (or (and old (get-text-property 0 'backstaff-query old))
                                                input))))
               (setq candidates (and (listp answer) answer)
                     problem (and (stringp answer) answer))
               (dolist (candidate candidates)
                 (puthash (substring-no-properties candidate) candidate known))
               (tell)
               (setq answered input)))
           (copy-sequence candidates))
         (table (string _predicate action)
           (pcase action
             ('metadata `(metadata (display-sort-function . identity)
                                   (cycle-sort-function . identity) ,@metadata))
             (`(boundaries . ,_) nil)
             ('t (candidates string))
             ;; RET takes any input that some candidate matches.  After such an input the first
             ;; TAB would list nothing.
             ('lambda (and (not (string-blank-p string))
                           (not (eq this-command 'completion-at-point)) ; TAB
                           (if (candidates string) t (tell))))
             (_ (and (candidates string) string))))
         (set-up ()
           (setq-local completion-styles '(backstaff-find)
                       completion-category-defaults nil
                       completion-category-overrides nil
                       completions-group t
                       ;; [No match] would cover the reason.
                       completion-fail-discreetly t
                       ;; <down> would insert a candidate that does not match.
                       minibuffer-default-add-function nil)
           (backstaff-prompt-allow-blanks)))
      (let* ((completion-styles-alist
              (cons '(backstaff-find backstaff-find--try backstaff-find--all
                                     "All candidates that the server of Backstaff finds.")
                    completion-styles-alist))
             (text (minibuffer-with-setup-hook (:append #'set-up)
                     ;; Ivy and Helm would match anew, and need all candidates for that.
                     (completing-read-default prompt #'table nil t nil history))))
        (cond ((gethash text known))
              ((not (string-blank-p text)) (car (candidates text))))))))

(defun backstaff-find--all (string table predicate _point)
  "Return all completions of STRING in TABLE that satisfy PREDICATE."
  ;; icomplete passes a list of completions, which match already.
  (all-completions (if (functionp table) string "") table predicate))

(defun backstaff-find--try (string table predicate point)
  "Complete STRING in TABLE if one candidate matches and satisfies PREDICATE.
POINT is as in `completion-try-completion'."
  (pcase (backstaff-find--all string table predicate point)
    ('nil nil)
    (`(,(pred (equal string))) t)
    (`(,only) (cons only (length only)))
    (_ (cons string (length string)))))


;;; Files

;;;###autoload
(defun backstaff-find-file (file &optional root)
  "Visit FILE, a path below the project ROOT.
Interactively, find it by a part of its name.  The completions are the files
that match, the best first; files that git ignores are omitted.  Other letters
may stand between those of a word, and words may come in any order: \"sfp\"
finds search_files.py.  If few files match, similar names follow in groups of
their own.  RET after input that is not a file's name visits the best match.
Before any input, recently visited files come first, and RET visits the last."
  (interactive (let ((root (backstaff-command-project)))
                 (list (backstaff-find--read-file root) root)))
  (let* ((root (or root (backstaff-command-root)))
         (name (concat root file)))
    ;; The server also finds links to directories.
    (or (backstaff-path-visit name root)
        (dired (backstaff-path-file-name name root)))))

(defun backstaff-find--read-file (root)
  "Read a file of the project ROOT and return its path."
  (let* ((recent (backstaff-find--recent root)) (total 0)
         (answer
          (lambda (input)
            (pcase-let*
                ((blank (string-blank-p input))
                 ((map :ok :text :data)
                  (backstaff-prompt-call-tool
                   "workspace/search_files"
                   (list :query (if blank "**" input) :kind (if blank "glob" "fuzzy")
                         :max_results backstaff-find--limit)
                   (list :root root)))
                 ;; The server knows only the files that were saved.
                 (more (cl-loop for file in recent
                                when (or blank (and (get-file-buffer (concat root file))
                                                    (not (file-exists-p (concat root file)))
                                                    (cl-loop for word in (split-string input)
                                                             always (string-search word file))))
                                collect file)))
              (setq total (or (plist-get data :total) 0))
              (or (cl-loop for file in (append more (seq-difference (plist-get data :files) more))
                           for how = (unless more (plist-get data :how)) then (cdr how)
                           collect (propertize (backstaff-names-show file) 'backstaff-query file
                                               'backstaff-how (car how)))
                  (if ok
                      ;; The remedy of a note names an argument for models.
                      (mapconcat (lambda (note) (plist-get note :text))
                                 (cons '(:text "No file matches") (plist-get data :notes)) "; ")
                    (string-remove-prefix "Error: " text))))))
         (group (lambda (label transform)
                  (cond (transform label)
                        ((plist-get backstaff-find--guesses
                                    (get-text-property 0 'backstaff-how label)))
                        ((> total backstaff-find--limit)
                         (format "The first %d of %d" backstaff-find--limit total)))))
         (file (backstaff-find-read
                (if (or (bound-and-true-p vertico-mode) (bound-and-true-p icomplete-mode)
                        (bound-and-true-p fido-mode))
                    "Find file: "
                  (format-prompt "Find file; TAB lists" (car recent)))
                answer 'backstaff-find--history
                '(category . project-file) (cons 'group-function group))))
    (cond (file (get-text-property 0 'backstaff-query file))
          ((car recent))
          (t (user-error "Type a part of the name, or choose a file")))))

(defun backstaff-find--recent (root)
  "Return the paths of the last 20 files visited below ROOT.
The current file is not one of them; a new file that is not saved yet is."
  (seq-take
   (delete-dups
    (cl-loop for name in (append (mapcar #'buffer-file-name (buffer-list))
                                 (bound-and-true-p recentf-list))
             for file = (and name (if (string-prefix-p "~" name) (expand-file-name name) name))
             when (and file (string-prefix-p root file) (not (equal file buffer-file-name))
                       ;; Another host would take long to look.
                       (or (file-remote-p root) (get-file-buffer file) (file-exists-p file)))
             collect (substring file (length root))))
   20))

(defun backstaff-prompt-choose (prompt choices history)
  "Ask with PROMPT for one of CHOICES, lists (LABEL VALUE NOTE); return its value.
A part of the label is enough.  HISTORY is the variable of the history."
  (let* ((completion-styles (append completion-styles '(substring)))
         (completion-extra-properties
          (list :annotation-function
                (lambda (label)
                  (concat (make-string (max 2 (- 24 (string-width label))) ?\s)
                          (nth 2 (assoc label choices))))))
         (label (minibuffer-with-setup-hook (:append #'backstaff-prompt-allow-blanks)
                  (completing-read prompt choices nil t nil history))))
    (nth 1 (assoc label choices))))

;;; Commands for agents

(defvar backstaff-commands--history nil
  "The names that the user typed for commands.")

(defvar backstaff-command-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "^") #'backstaff-list-commands)
    map)
  "Keymap of `backstaff-command-mode'.")

;;;###autoload
(define-derived-mode backstaff-command-mode backstaff-view-mode "Command"
  "Major mode for a command.
Invisible characters are written as escapes.  RET visits the file itself."
  (backstaff-view-setup
   :request (lambda (state)
              (list "commands/get_command" (list :command_name (plist-get state :tool))))
   :draw (lambda (reply)
           (insert (substring-no-properties (plist-get reply :text)))
           (put-text-property
            (point-min) (point-max) 'backstaff-entry
            (list :kind :file
                  :path (backstaff-path-relative
                         (file-local-name (backstaff-view-get :root))
                         (plist-get (plist-get (plist-get reply :data) :metadata) :path)))))
   :wrap t))

;;;###autoload
(defun backstaff-find-command (name &optional root)
  "Show the command NAME of the project ROOT.
Interactively, complete the name."
  (interactive (let ((root (backstaff-command-root)))
                 (list (or (backstaff-prompt-choose "Command: " (backstaff-commands--fetch root)
                                                    'backstaff-commands--history)
                           (user-error "Type the name of a command"))
                       root)))
  (backstaff-view-open 'backstaff-command-mode
                       (list :root (or root (backstaff-command-root)) :path "." :tool name)))

;;;###autoload
(defun backstaff-list-commands ()
  "Show a command of the project, which you choose from a list of all."
  (interactive)
  (minibuffer-with-setup-hook
      (:append (lambda ()
                 (unless (bound-and-true-p vertico-mode)
                   (minibuffer-completion-help))))
    (call-interactively #'backstaff-find-command)))

(defun backstaff-commands--fetch (root)
  "Return the commands of the project ROOT, each as (LABEL NAME ANNOTATION).
A command with the name of another one is known by its path.  This waits for
the server."
  (cl-loop
   for page from 1
   for reply = (backstaff-prompt-call-tool "commands/list_commands"
                                           (list :page page :page_size 100) (list :root root))
   for data = (plist-get reply :data)
   unless (plist-get reply :ok)
   do (user-error
       "%s" (if (equal (plist-get (plist-get reply :error) :missing) '(".claude/commands"))
                "No commands here yet: each is a Markdown file in the project's .claude/commands"
              (plist-get reply :text)))
   append
   (cl-flet ((below (file) (backstaff-path-relative (file-local-name root) file)))
     (mapcar
      (pcase-lambda ((map :name :description :path :kind :folder :shadowed-by :problems
                          :argument-hint))
        (list (backstaff-names-show (if shadowed-by (below path) name))
              (if shadowed-by path name)
              (backstaff-names-prose
               (concat (and kind (format "%s in %s; " (substring (symbol-name kind) 1) folder))
                       (and shadowed-by (format "shadowed by %s; " (below shadowed-by)))
                       (mapconcat (lambda (problem) (concat problem "; ")) problems "")
                       (and argument-hint (concat argument-hint " "))
                       description))))
      (plist-get data :commands)))
   into commands
   while (plist-get (plist-get data :pagination) :has-next)
   finally return
   (or commands
       (user-error "There are no commands%s"
                   (if-let ((nested (plist-get data :nested)))
                       (format "; those in sub-folders (%d) need sources under\
 [tools.list_commands] in the settings" (plist-get nested :files))
                     "")))))

(provide 'backstaff-ui-find)
;;; backstaff-ui-find.el ends here
