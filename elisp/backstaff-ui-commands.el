;;; backstaff-ui-commands.el --- Commands written in Markdown  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Commands are Markdown files that agents and people share.  They are in a directory
;; of the project or in the directories of the server's settings.  Where these say
;; `sources', skills and prompts stand among them, each with its kind and its folder.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-ui-table)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defcustom backstaff-commands-page-size 50
  "Number of commands on a page, from 1 to 100."
  :type 'integer :group 'backstaff)

(defvar backstaff-commands--history nil
  "The names that the user typed for commands.")

(defvar backstaff-commands-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map backstaff-table-map)
    (define-key map (kbd "RET") #'backstaff-commands-open)
    (define-key map (kbd "n") #'backstaff-commands-next-line)
    (define-key map (kbd "p") #'backstaff-commands-previous-line)
    (define-key map (kbd "N") #'backstaff-commands-next-page)
    (define-key map (kbd "P") #'backstaff-commands-previous-page)
    (define-key map (kbd "]") #'backstaff-commands-next-page)
    (define-key map (kbd "[") #'backstaff-commands-previous-page)
    (define-key map (kbd "s") #'backstaff-commands-search)
    (define-key map (kbd "^") #'backstaff-commands-all)
    map)
  "Keymap of `backstaff-commands-mode'.")

;;;###autoload
(define-derived-mode backstaff-commands-mode tabulated-list-mode "Commands"
  "Major mode for a page of commands or for the results of a search.
\\<backstaff-commands-mode-map>\\[backstaff-commands-next-line] on the last line\
 shows the next page, and \\[backstaff-commands-previous-line] on the first
line the previous one.

\\{backstaff-commands-mode-map}"
  :group 'backstaff
  (backstaff-table-setup
   :request (lambda (state)
              (if-let ((query (plist-get state :query)))
                  (list "commands/search_commands" (list :query query :max_results 100))
                (list "commands/list_commands"
                      (list :page (plist-get state :page)
                            :page_size backstaff-commands-page-size))))
   :draw #'backstaff-commands--draw
   :draw-failure #'backstaff-commands--draw-failure
   :title (apply-partially #'backstaff-view-title "commands")
   :defaults (lambda () (list :page 1))))

;;;###autoload
(defun backstaff-list-commands ()
  "List the commands of the project."
  (interactive)
  (backstaff-view-open 'backstaff-commands-mode
                       (list :root (backstaff-command-root) :path ".")))

(defun backstaff-commands--draw (reply)
  "Draw the page of commands or the results of a search in REPLY."
  (let* ((data (plist-get reply :data))
         (query (plist-get backstaff-view-state :query))
         (pages (plist-get data :pagination))
         (entries (plist-get data (if query :results :commands)))
         ;; Only where the settings name more sources do entries have a kind.
         (kinds (plist-get (car entries) :kind))
         (further (if kinds 2 0)))
    ;; The server sorts the results of a search.  Pages keep the user's order.
    (when (or query (not (assoc (car tabulated-list-sort-key)
                                (append '(("Name") ("Size") ("Modified") ("Description"))
                                        (and kinds '(("Kind") ("From")))))))
      (setq tabulated-list-sort-key nil))
    (backstaff-table-draw
     `[("Name" 20 backstaff-table-name-less-p)
       ,@(and kinds
              `(("Kind" 8 ,(backstaff-table-text-less-p 1))
                ("From" 20 ,(backstaff-table-text-less-p 2))))
       ,@(if query
             `(("Score" 6 ,(backstaff-table-less-p
                            (lambda (row) (plist-get (backstaff-table-row-more row) :score)))
                :right-align t :pad-right 2)
               ("Found in" 16 ,(backstaff-table-text-less-p (+ 2 further)) :pad-right 2))
           `(("Size" 8 ,(backstaff-table-less-p #'backstaff-table-row-size)
              :right-align t :pad-right 2)
             ("Modified" 16 ,(backstaff-table-less-p #'backstaff-table-row-modified)
              :pad-right 2)))
       ("Description" 20 ,(backstaff-table-text-less-p (+ 3 further)))]
     (lambda (row)
       (let ((more (backstaff-table-row-more row)))
         `(,(backstaff-table-name (backstaff-table-row-name row)
                                  'font-lock-function-name-face)
           ,@(and kinds (list (substring (symbol-name (plist-get more :kind)) 1)
                              (backstaff-view-label (plist-get more :folder))))
           ,@(if query
                 (list (format "%.2f" (plist-get more :score))
                       (mapconcat (lambda (place) (substring (symbol-name place) 1))
                                  (plist-get more :matched-in) " "))
               (list (backstaff-table-size (backstaff-table-row-size row))
                     (backstaff-table-time (backstaff-table-row-modified row))))
           ,(backstaff-commands--description more))))
     (mapcar (lambda (entry)
               (make-backstaff-table-row
                :name (plist-get entry :name) :kind :file :size (plist-get entry :size)
                :modified (plist-get entry :modified-epoch)
                ;; The path of a shadowed one is a name for it, and the view wants another.
                :more `( :path ,(backstaff-commands--path entry)
                         :command ,(plist-get entry
                                              (if (plist-get entry :shadowed-by) :path :name))
                         ,@entry)))
             entries))
    (if query
        (backstaff-view-set-header
         "." (format "%d found for %s" (length entries) (backstaff-names-show query))
         (format "%d searched" (plist-get data :searched)))
      (backstaff-view-set-header
       "." (or (backstaff-view-count (plist-get pages :total) "command" "commands")
               "no command")
       (format "page %d of %d" (plist-get pages :page)
               (max 1 (plist-get pages :total-pages)))))
    (backstaff-view-set-notes
     (when query (substitute-command-keys "\\[backstaff-commands-all] lists all commands"))
     (when (plist-get pages :has-next)
       (substitute-command-keys "\\[backstaff-commands-next-page] shows the next page"))
     (unless (or query entries) "There are no commands")
     (when-let ((nested (plist-get data :nested)))
       (format "%s%s in %s: not read unless the settings have sources under [tools.list_commands]"
               (if (plist-get nested :more) "at least " "")
               (backstaff-view-count (plist-get nested :files) "file" "files")
               (backstaff-view-count (plist-get nested :folders)
                                     "sub-folder" "sub-folders"))))))

(defun backstaff-commands--description (entry)
  "Return the description of ENTRY, behind what else there is to say of it."
  (let ((by (plist-get entry :shadowed-by))
        (hint (plist-get entry :argument-hint)))
    (concat (propertize
             (concat (and by (format "shadowed by %s; "
                                     (backstaff-view-label (backstaff-commands--below by))))
                     (mapconcat (lambda (problem) (concat (backstaff-view-label problem) "; "))
                                (plist-get entry :problems) "")
                     (and hint (concat (backstaff-view-label hint) " ")))
             'face 'backstaff-detail)
            (backstaff-view-label (plist-get entry :description)))))

(defun backstaff-commands--draw-failure (reply)
  "Draw REPLY, a failure; without a directory of commands, say how to make one."
  (let ((missing (equal (plist-get (plist-get reply :error) :code) "DIRECTORY_NOT_FOUND")))
    (backstaff-view-set-header "." (if missing "no command" "failed"))
    (backstaff-view-insert-text
     (if missing "There are no commands here.  Put Markdown files into .claude/commands, or
name other directories under [tools.list_commands] in the settings."
       (plist-get reply :text))
     (if missing 'backstaff-detail 'backstaff-failure))))

(defun backstaff-commands--path (command)
  "Return the path of COMMAND's file, below the root if it lies there."
  (backstaff-commands--below (plist-get command :path)))

(defun backstaff-commands--below (file)
  "Return the path of FILE, below the root if it lies there."
  (backstaff-path-relative (file-local-name (backstaff-view-get :root)) file))

(defun backstaff-commands--turn (step &optional focus)
  "Show the page STEP pages further, with point on FOCUS."
  (let ((pages (plist-get (plist-get backstaff-view-reply :data) :pagination)))
    (unless (plist-get pages (if (> step 0) :has-next :has-prev))
      (user-error (if (> step 0) "This is the last page" "This is the first page")))
    (backstaff-view-change :page (+ step (plist-get pages :page)) :focus focus)))

(defun backstaff-commands-next-page ()
  "Show the next page."
  (interactive nil backstaff-commands-mode)
  (backstaff-commands--turn 1))

(defun backstaff-commands-previous-page ()
  "Show the previous page."
  (interactive nil backstaff-commands-mode)
  (backstaff-commands--turn -1))

(defun backstaff-commands-next-line ()
  "Go to the next command, on the next page if necessary."
  (interactive nil backstaff-commands-mode)
  (if (save-excursion (forward-line) (eobp))
      (backstaff-commands--turn 1)
    (forward-line)
    (backstaff-view-go-to-name)))

(defun backstaff-commands-previous-line ()
  "Go to the previous command, on the previous page if necessary."
  (interactive nil backstaff-commands-mode)
  (if (not (save-excursion (forward-line -1) (backstaff-view-entry)))
      (backstaff-commands--turn -1 'last)
    (forward-line -1)
    (backstaff-view-go-to-name)))

(defun backstaff-commands-search (query)
  "Show the commands that match QUERY, some words."
  (interactive
   (let ((data (plist-get backstaff-view-reply :data)))
     (unless (or (backstaff-view-get :query)
                 (> (or (plist-get (plist-get data :pagination) :total) 0) 0))
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
           (let ((file (backstaff-commands--path
                        (plist-get (plist-get reply :data) :metadata))))
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
                              (propertize (nth 2 (assoc label commands))
                                          'face 'completions-annotations))))
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
