;;; backstaff-ui-commands.el --- Commands written in Markdown  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Commands are Markdown files that agents and people share.  They are in a directory
;; of the project or in the directories of the server's settings.  Where these say
;; `sources', skills and prompts stand among them, each with its kind and its folder.
;; All commands are in one buffer, a line for each.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'subr-x)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defvar backstaff-commands--history nil
  "The names that the user typed for commands.")

(defvar backstaff-commands-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'backstaff-commands-open)
    (define-key map (kbd "s") #'backstaff-commands-search)
    (define-key map (kbd "^") #'backstaff-commands-all)
    map)
  "Keymap of `backstaff-commands-mode'.")

;;;###autoload
(define-derived-mode backstaff-commands-mode backstaff-view-mode "Commands"
  "Major mode for the commands of a project or the results of a search.

\\{backstaff-commands-mode-map}"
  :group 'backstaff
  (backstaff-view-setup
   :request (lambda (state)
              (if-let ((query (plist-get state :query)))
                  (list "commands/search_commands" (list :query query :max_results 100))
                (list "commands/list_commands"
                      (list :page (or (plist-get state :page) 1) :page_size 100))))
   :draw #'backstaff-commands--draw
   :draw-failure #'backstaff-commands--draw-failure
   :title (apply-partially #'backstaff-view-title "commands")))

;;;###autoload
(defun backstaff-list-commands ()
  "List the commands of the project."
  (interactive)
  (backstaff-view-open 'backstaff-commands-mode
                       (list :root (backstaff-command-root) :path ".")))

(defun backstaff-commands--draw (reply)
  "Draw the first hundred commands or the results of a search in REPLY."
  (let* ((data (plist-get reply :data))
         (query (plist-get backstaff-view-state :query))
         (count (if query (length (plist-get data :results))
                  (plist-get (plist-get data :pagination) :total))))
    (backstaff-view-set-header
     "." (concat (or (backstaff-view-count count "command" "commands") "no command")
                 (if query (format " of %d for %s" (plist-get data :searched)
                                   (backstaff-names-show query)))))
    (backstaff-commands--insert reply)
    (backstaff-view-set-notes
     (when query (substitute-command-keys "\\[backstaff-commands-all] lists all commands"))
     (when (and (zerop count) (not query)) "There are no commands")
     (when-let ((nested (plist-get data :nested)))
       (format "%s%s in %s: not read unless the settings have sources under [tools.list_commands]"
               (if (plist-get nested :more) "at least " "")
               (backstaff-view-count (plist-get nested :files) "file" "files")
               (backstaff-view-count (plist-get nested :folders)
                                     "sub-folder" "sub-folders"))))))

(defun backstaff-commands--insert (reply)
  "Insert a line for each command in REPLY, and request the next hundred."
  (let* ((data (plist-get reply :data))
         (pages (plist-get data :pagination)) (start (point)) (inhibit-read-only t))
    (with-silent-modifications
      (save-excursion
        (goto-char (point-max))
        (dolist (command (or (plist-get data :results) (plist-get data :commands)))
          (let ((line (point))
                (name (backstaff-view-label (plist-get command :name)))
                (by (plist-get command :shadowed-by)))
            (insert (propertize name 'face 'font-lock-function-name-face 'backstaff-name t)
                    (make-string (max 2 (- 22 (string-width name))) ?\s)
                    (propertize (backstaff-commands--details command) 'face 'backstaff-detail)
                    (backstaff-view-label (plist-get command :description)) "\n")
            (put-text-property
             line (point) 'backstaff-entry
             ;; A shadowed command is known by its path alone.
             (append (list :path (backstaff-commands--below (plist-get command :path)) :kind :file
                           :command (plist-get command (if by :path :name)))
                     command))))))
    (backstaff-view-seek start)
    (when (plist-get pages :has-next)
      (backstaff-view-call
       (append (list :page (1+ (plist-get pages :page))) backstaff-view-state)
       (lambda (reply)
         (backstaff-names-labels reply backstaff-view-labels)
         (backstaff-commands--insert reply))))))

(defun backstaff-commands--details (command)
  "Return what there is to say of COMMAND before its description.
These are its kind and folder if the settings have sources, the command that
shadows it, its problems and the hint for its arguments."
  (let ((kind (plist-get command :kind)) (by (plist-get command :shadowed-by))
        (hint (plist-get command :argument-hint)))
    (concat (and kind (format "%s in %s; " (substring (symbol-name kind) 1)
                              (backstaff-view-label (plist-get command :folder))))
            (and by (format "shadowed by %s; "
                            (backstaff-view-label (backstaff-commands--below by))))
            (mapconcat (lambda (problem) (concat (backstaff-view-label problem) "; "))
                       (plist-get command :problems) "")
            (and hint (concat (backstaff-view-label hint) " ")))))

(defun backstaff-commands--draw-failure (reply)
  "Draw REPLY, a failure; without a directory of commands, say how to make one."
  (let ((missing (equal (plist-get (plist-get reply :error) :code) "DIRECTORY_NOT_FOUND")))
    (backstaff-view-set-header "." (if missing "no command" "failed"))
    (backstaff-view-insert-text
     (if missing "There are no commands here.  Put Markdown files into .claude/commands, or
name other directories under [tools.list_commands] in the settings."
       (plist-get reply :text))
     (if missing 'backstaff-detail 'backstaff-failure))))

(defun backstaff-commands--below (file)
  "Return the path of FILE, below the root if it lies there."
  (backstaff-path-relative (file-local-name (backstaff-view-get :root)) file))

(defun backstaff-commands-search (query)
  "Show the commands that match QUERY, some words."
  (interactive
   (progn (unless (or (backstaff-view-get :query) (backstaff-view-entry))
            (user-error "There are no commands to search"))
          (list (read-string "Search commands for: ")))
   backstaff-commands-mode)
  (backstaff-view-change :query query))

(defun backstaff-commands-all ()
  "List all commands, after a search."
  (interactive nil backstaff-commands-mode)
  (unless (backstaff-view-get :query)
    (user-error "All commands are listed"))
  (backstaff-view-change :query nil))


;;; One command

(defvar backstaff-command-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "^") #'backstaff-list-commands)
    map)
  "Keymap of `backstaff-command-mode'.")

;;;###autoload
(define-derived-mode backstaff-command-mode backstaff-view-mode "Command"
  "Major mode for a command.
Invisible characters are written as escapes.  RET visits the file itself.

\\{backstaff-command-mode-map}"
  :group 'backstaff
  (backstaff-view-setup
   :request (lambda (state)
              (list "commands/get_command" (list :command_name (plist-get state :tool))))
   :draw (lambda (reply)
           (insert (substring-no-properties (plist-get reply :text)))
           (let ((file (backstaff-commands--below
                        (plist-get (plist-get (plist-get reply :data) :metadata) :path))))
             (setq backstaff-view-subject (list :path file :kind :file))
             (backstaff-view-set-header file)))
   :title (lambda (state)
            (format "*backstaff command: %s*"
                    (backstaff-names-show (plist-get state :tool))))
   :wrap t))

(defun backstaff-commands-open ()
  "Show the command at point."
  (interactive nil backstaff-commands-mode)
  (backstaff-find-command (plist-get (backstaff-view-entry-at-point) :command)
                          (backstaff-view-get :root)))

;;;###autoload
(defun backstaff-find-command (name &optional root)
  "Show the command NAME of the project ROOT.
Interactively, complete the name."
  (interactive
   (let* ((root (backstaff-command-root))
          (commands (backstaff-commands--fetch root))
          (annotate (lambda (label)
                      (concat (make-string (max 2 (- 32 (string-width label))) ?\s)
                              (nth 2 (assoc label commands)))))
          (label (minibuffer-with-setup-hook (:append #'backstaff-prompt-allow-blanks)
                   (completing-read
                    "Command: "
                    (lambda (string predicate action)
                      (if (eq action 'metadata)
                          `(metadata (category . backstaff-command)
                                     (annotation-function . ,annotate))
                        (complete-with-action action commands string predicate)))
                    nil t nil 'backstaff-commands--history))))
     (when (string-empty-p label)
       (user-error "Type a name; M-x backstaff-list-commands lists all"))
     (list (nth 1 (assoc label commands)) root)))
  (backstaff-view-open 'backstaff-command-mode
                       (list :root (or root (backstaff-command-root)) :path "."
                             :tool name)))

(defun backstaff-commands--fetch (root)
  "Return the commands of the project ROOT, each as (LABEL NAME DESCRIPTION).
This waits for the server."
  (cl-loop
   for page from 1
   for reply = (backstaff-prompt-call-tool "commands/list_commands"
                                           (list :page page :page_size 100) (list :root root))
   for labels = (backstaff-names-labels reply)
   for data = (plist-get reply :data)
   unless (plist-get reply :ok)
   do (user-error
       "%s" (if (equal (plist-get (plist-get reply :error) :missing) '(".claude/commands"))
                "No commands here yet: each is a Markdown file in the project's .claude/commands"
              (plist-get reply :text)))
   append (cl-loop for entry in (plist-get data :commands)
                   for name = (plist-get entry :name)
                   for description = (plist-get entry :description)
                   unless (plist-get entry :shadowed-by)
                   collect (list (gethash name labels name) name
                                 (gethash description labels description)))
   into commands
   while (plist-get (plist-get data :pagination) :has-next)
   finally return (or commands (user-error "There are no commands"))))

(provide 'backstaff-ui-commands)
;;; backstaff-ui-commands.el ends here
