;;; backstaff-ui-find.el --- Find files, definitions and commands by name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-find-file' is a `completing-read'.  The server finds the files that match
;; the input and ranks them, so a completion style of our own passes its answer on
;; unchanged.  Vertico, icomplete and fido show the files as you type; a key ends the wait
;; for the files of the old input.  Without these, TAB lists the files.
;;
;; `backstaff-find-definition' finds definitions in the text of the files, unsaved text
;; included.  `backstaff-find-command' offers the commands for agents, Markdown files in
;; the project or in the directories of the server's settings.

;;; Code:

(require 'thingatpt)
(require 'xref)
(require 'backstaff-ui-view)

(defconst backstaff-find--limit 100
  "Maximum number of files that `backstaff-find-file' offers.")

(defconst backstaff-find--guesses
  '( :same "In another case" :case "In another case" :spelling "Spelt in another way"
     :folder "In another directory" :words "With some of the words")
  "The title above the files that do not match, by the way they were found.")

(defvar backstaff-find--history nil
  "The inputs of `backstaff-find-file'.")

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
                 (list (backstaff-find--read root) root)))
  (let* ((root (or root (backstaff-command-root)))
         (name (concat root file)))
    ;; The server also finds links to directories.
    (or (backstaff-path-visit name root)
        (dired (backstaff-path-file-name name root)))))

(defun backstaff-find--read (root)
  "Read a file of the project ROOT and return its path."
  (let ((recent (backstaff-find--recent root))
        (paths (make-hash-table :test #'equal))  ; by label
        (answered nil) (found nil) (total 0) (problem nil))
    (cl-labels
        ((files (input)
           (unless (equal input answered)
             (setq answered nil)
             (let* ((query (gethash input paths input)) ; a file need not match its own label
                    (blank (string-blank-p query))
                    (reply (backstaff-prompt-call-tool
                            "workspace/search_files"
                            (list :query (if blank "**" query) :kind (if blank "glob" "fuzzy")
                                  :max_results backstaff-find--limit)
                            (list :root root)))
                    (data (plist-get reply :data))
                    (lately (and blank recent)))
               (setq total (or (plist-get data :total) 0)
                     found (cl-loop for file in (append lately (seq-difference
                                                                (plist-get data :files) lately))
                                    for label = (backstaff-names-show file)
                                    do (puthash label file paths)
                                    collect label))
               (cl-loop for label in found for how across (vconcat (plist-get data :how))
                        do (put-text-property 0 1 'backstaff-how how label))
               (setq problem
                     (cond (found nil)
                           ((not (plist-get reply :ok))
                            (string-remove-prefix "Error: " (plist-get reply :text)))
                           ;; The remedy of a note names an argument for models.
                           (t (mapconcat (lambda (note) (plist-get note :text))
                                         (cons '(:text "No file matches") (plist-get data :notes))
                                         "; "))))
               (tell)
               (setq answered input)))
           (copy-sequence found))
         (tell ()
           ;; An error would throw away the keys that were typed behind it.
           (when problem (ignore (message "%s" problem))))
         (group (label transform)
           (cond (transform label)
                 ((plist-get backstaff-find--guesses
                             (get-text-property 0 'backstaff-how label)))
                 ((> total backstaff-find--limit)
                  (format "The first %d of %d" backstaff-find--limit total))))
         (table (string _predicate action)
           (pcase action
             ('metadata `(metadata (category . project-file)
                                   (group-function . ,#'group)
                                   (display-sort-function . identity)
                                   (cycle-sort-function . identity)))
             (`(boundaries . ,_) nil)
             ('t (files string))
             ;; RET takes any input that some file matches.  After such an input the first TAB
             ;; would list nothing.
             ('lambda (and (not (string-blank-p string))
                           (not (eq this-command 'completion-at-point)) ; TAB
                           (if (files string) t (tell))))
             (_ (and (files string) string))))
         (set-up ()
           (setq-local completion-styles '(backstaff-find)
                       completion-category-defaults nil
                       completion-category-overrides nil
                       completions-group t
                       ;; [No match] would cover the reason.
                       completion-fail-discreetly t
                       ;; <down> would insert a file that does not match.
                       minibuffer-default-add-function nil)
           (backstaff-prompt-allow-blanks)))
      (let ((text (minibuffer-with-setup-hook (:append #'set-up)
                    ;; Ivy and Helm would match the files anew, and need all of them for that.
                    (completing-read-default
                     (if (or (bound-and-true-p vertico-mode) (bound-and-true-p icomplete-mode)
                             (bound-and-true-p fido-mode))
                         "Find file: "
                       (format-prompt "Find file; TAB lists" (car recent)))
                     #'table nil t nil 'backstaff-find--history))))
        (when (and (string-blank-p text) (null recent))
          (user-error "Type a part of the name, or choose a file"))
        (or (gethash text paths)
            (gethash (car (files text)) paths))))))

(defun backstaff-find--recent (root)
  "Return the paths of the last 20 files visited below ROOT.
The current file is not one of them."
  (seq-take
   (delete-dups
    (cl-loop for name in (append (mapcar #'buffer-file-name (buffer-list))
                                 (bound-and-true-p recentf-list))
             for file = (and name (if (string-prefix-p "~" name) (expand-file-name name) name))
             when (and file (string-prefix-p root file) (not (equal file buffer-file-name))
                       ;; Another host would take long to look.
                       (or (file-remote-p root) (file-exists-p file)))
             collect (substring file (length root))))
   20))

(add-to-list 'completion-styles-alist
             '(backstaff-find backstaff-find--try backstaff-find--all
                              "All files that the server of Backstaff finds."))

(defun backstaff-find--all (string table predicate _point)
  "Return all completions of STRING in TABLE that satisfy PREDICATE."
  ;; icomplete passes a list of completions, which match already.
  (all-completions (if (functionp table) string "") table predicate))

(defun backstaff-find--try (string table predicate point)
  "Complete STRING in TABLE if one file matches and satisfies PREDICATE.
POINT is as in `completion-try-completion'."
  (pcase (backstaff-find--all string table predicate point)
    ('nil nil)
    (`(,(pred (equal string))) t)
    (`(,only) (cons only (length only)))
    (_ (cons string (length string)))))


;;; Definitions

(defvar backstaff-find--definition-history nil
  "The names that `backstaff-find-definition' was asked for.")

;;;###autoload
(defun backstaff-find-definition (name)
  "Visit the definition in the project that has NAME in its name.
Of several words in NAME, the last is in the name itself, and the others may be
in the names around it: \"server run\" finds Server.run.  If there are several
definitions, choose one by completion; its file and line stand beside it.  Case
counts only if NAME has a capital letter.  The place that you leave is kept as
xref keeps it."
  (interactive
   (let ((symbol (thing-at-point 'symbol t)))
     (backstaff-command-project)
     (list (read-string (format-prompt "Definition" symbol) nil
                        'backstaff-find--definition-history symbol))))
  (when (string-blank-p name)
    (user-error "Type a part of the name"))
  (pcase-let* ((root (backstaff-command-root))
               (flags (if (isearch-no-upper-case-p name nil) "i" ""))
               (words (split-string name))
               ((map :ok :text :data)
                (backstaff-prompt-call-tool
                 "workspace/regexp_search"
                 (list :pattern (car (last words)) :literal t :definitions t :context_lines 0
                       :flags flags :max_results 500)
                 (list :root root)))
               (found (cl-loop for item in (plist-get data :items)
                               for path = (plist-get item :path)
                               for line = (plist-get item :line)
                               for full = (plist-get (plist-get item :enclosing) :qualified)
                               ;; Other words of the line may match, such as a parameter.
                               when (let ((case-fold-search (equal flags "i")))
                                      (cl-loop for word in words
                                               always (string-match-p (regexp-quote word) full)))
                               collect (list (format "%s  %s:%d" full (backstaff-names-show path)
                                                     line)
                                             path line)))
               (label (if (cdr found) (completing-read
                                       (format "%d definitions (TAB lists them): " (length found))
                                       found nil t)
                        (caar found)))
               (`(,_ ,path ,line) (assoc label found)))
    (unless found
      (user-error "%s" (if ok (format "No definition in the project has %s in its name"
                                      (string-join words " and "))
                         (string-remove-prefix "Error: " text))))
    (xref-push-marker-stack)
    (backstaff-path-visit (concat root path) root nil line)
    (back-to-indentation)))


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
