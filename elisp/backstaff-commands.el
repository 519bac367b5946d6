;;; backstaff-commands.el --- Commands written in Markdown  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Commands are Markdown files that agents and people share, in a folder of the
;; project or wherever the server's settings say.  `backstaff-list-commands'
;; lists them page by page and searches them; `backstaff-find-command' completes
;; the name of one.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-table)
(require 'backstaff-view)

(defcustom backstaff-commands-page-size 50
  "How many commands a page has, from 1 to 100."
  :type 'integer
  :group 'backstaff)


;;; Listing

(defvar backstaff-commands-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'backstaff-commands-open)
    (define-key map (kbd "o") #'backstaff-commands-visit-other-window)
    (define-key map (kbd "n") #'backstaff-commands-next-line)
    (define-key map (kbd "p") #'backstaff-commands-previous-line)
    (define-key map (kbd "N") #'backstaff-commands-next-page)
    (define-key map (kbd "P") #'backstaff-commands-previous-page)
    (define-key map (kbd "]") #'backstaff-commands-next-page)
    (define-key map (kbd "[") #'backstaff-commands-previous-page)
    (define-key map (kbd "s") #'backstaff-commands-search)
    (define-key map (kbd "^") #'backstaff-commands-all)
    (define-key map (kbd "w") #'backstaff-view-copy-path)
    (define-key map (kbd "S") #'backstaff-table-sort)
    (define-key map [remap keyboard-quit] #'backstaff-view-quit)
    map)
  "Keymap of `backstaff-commands-mode'.")

(defconst backstaff-commands--page-format
  `[("Name" 20 backstaff-table-name-less-p)
    ("Size" 8 ,(backstaff-table-less-p :size) :right-align t :pad-right 2)
    ("Modified" 16 ,(backstaff-table-less-p :modified-epoch) :pad-right 2)
    ("Description" 40 t)]
  "The columns of a page of commands.")

(defconst backstaff-commands--search-format
  `[("Name" 20 backstaff-table-name-less-p)
    ("Score" 6 ,(backstaff-table-less-p :score) :right-align t :pad-right 2)
    ("Found in" 16 t :pad-right 2)
    ("Description" 40 t)]
  "The columns of what a search found.")

(defconst backstaff-commands--other-columns 49
  "How much of a line is not the name's, if it shows some of the description.")

(define-derived-mode backstaff-commands-mode tabulated-list-mode "Commands"
  "Major mode for a page of commands, or what a search for some found.
On the last line \\<backstaff-commands-mode-map>\\[backstaff-commands-next-line]\
 goes on to the next page, on the first
\\[backstaff-commands-previous-line] goes back to the one before.

\\{backstaff-commands-mode-map}"
  :group 'backstaff
  (backstaff-view-setup :request #'backstaff-commands--request
                        :draw #'backstaff-commands--draw
                        :title #'backstaff-commands--title)
  (backstaff-table-setup backstaff-commands--page-format))

;;;###autoload
(defun backstaff-list-commands ()
  "List the commands of the project."
  (interactive)
  (backstaff-view-open 'backstaff-commands-mode
                       (list :root (backstaff-command-root) :path "." :tool nil)
                       (list :page 1)))

(defun backstaff-commands--title (state)
  "Return the name of a buffer that shows STATE."
  (backstaff-view-title "commands" state))

(defun backstaff-commands--request (state)
  "Return the tool and the arguments that STATE stands for."
  (if (plist-get state :query)
      (list "commands/search_commands" (list :query (plist-get state :query)
                                             :max_results 100))
    (list "commands/list_commands" (list :page (plist-get state :page)
                                         :page_size
                                         backstaff-commands-page-size))))


;;; Drawing

(defun backstaff-commands--draw (reply)
  "Draw the page of commands, or what was found, that is in REPLY."
  (let* ((data (plist-get reply :data))
         (search (plist-get backstaff-view-state :query))
         (entries (plist-get data (if search :results :commands)))
         (rows (mapcar (if search #'backstaff-commands--found-row
                         #'backstaff-commands--row)
                       entries)))
    (setq tabulated-list-format (if search backstaff-commands--search-format
                                  backstaff-commands--page-format)
          ;; Here is no order like the one in which they come.
          tabulated-list-sort-key nil)
    (backstaff-table-set-width
     0 (backstaff-table-fitting-width
        (mapcar (lambda (row) (aref (cadr row) 0)) rows)
        20 backstaff-commands--other-columns))
    (backstaff-table-draw rows)
    (backstaff-commands--tell data rows (plist-get reply :warnings))))

(defun backstaff-commands--row (entry)
  "Return the row of a page that stands for ENTRY."
  (list entry
        (vector (backstaff-commands--name entry)
                (backstaff-table-size (plist-get entry :size))
                (backstaff-table-time (plist-get entry :modified-epoch))
                (backstaff-names-prose (plist-get entry :description)))))

(defun backstaff-commands--found-row (entry)
  "Return the row that stands for ENTRY, which a search found."
  (list entry
        (vector (backstaff-commands--name entry)
                (format "%.2f" (plist-get entry :score))
                (mapconcat (lambda (place) (substring (symbol-name place) 1))
                           (plist-get entry :matched-in) " ")
                (backstaff-names-prose (plist-get entry :description)))))

(defun backstaff-commands--name (entry)
  "Return the name of the command ENTRY as the table shows it."
  (propertize (backstaff-names-show (plist-get entry :name))
              'face 'font-lock-function-name-face
              'backstaff-name t))

(defun backstaff-commands--tell (data rows warnings)
  "Tell around ROWS what DATA say of the whole, and WARNINGS."
  (let ((query (plist-get backstaff-view-state :query))
        (pages (plist-get data :pagination)))
    (if query
        (backstaff-view-set-header
         "." (format "%d found for %s" (length rows)
                     (backstaff-names-show query))
         (format "%d searched" (plist-get data :searched)))
      (backstaff-view-set-header
       "." (or (backstaff-view-count (plist-get pages :total)
                                     "command" "commands")
               "no command")
       (format "page %d of %d" (plist-get pages :page)
               (max 1 (plist-get pages :total-pages)))))
    (backstaff-view-set-notes
     (append (backstaff-commands--notes query pages rows) warnings))))

(defun backstaff-commands--notes (query pages rows)
  "Return what to say below ROWS, found for QUERY or on one of PAGES."
  (let ((note (cond (query "\\[backstaff-commands-all] lists all again")
                    ((plist-get pages :has-next)
                     "\\[backstaff-commands-next-page] shows the next page")
                    ((null rows) "There are no commands"))))
    (and note (list (substitute-command-keys note)))))


;;; Pages

(defun backstaff-commands--turn (step &optional focus)
  "Show the page STEP pages on; FOCUS is where point shall be on it."
  (let ((pages (plist-get (plist-get backstaff-view-reply :data) :pagination)))
    (unless (plist-get pages (if (> step 0) :has-next :has-prev))
      (user-error (if (> step 0) "This is the last page"
                    "This is the first page")))
    (backstaff-view-ask
     (backstaff-view-with :page (+ step (plist-get pages :page))
                          :focus focus))))

(defun backstaff-commands-next-page ()
  "Show the next page."
  (interactive nil backstaff-commands-mode)
  (backstaff-commands--turn 1))

(defun backstaff-commands-previous-page ()
  "Show the page before."
  (interactive nil backstaff-commands-mode)
  (backstaff-commands--turn -1))

(defun backstaff-commands-next-line ()
  "Go to the next command, which may be on the next page."
  (interactive nil backstaff-commands-mode)
  (forward-line)
  (if (not (eobp))
      (backstaff-view-go-to-name)
    (forward-line -1)
    (backstaff-view-go-to-name)
    (backstaff-commands--turn 1)))

(defun backstaff-commands-previous-line ()
  "Go to the command before, which may be on the page before."
  (interactive nil backstaff-commands-mode)
  (let ((start (point)))
    (forward-line -1)
    (if (backstaff-view-entry)
        (backstaff-view-go-to-name)
      (goto-char start)
      (backstaff-commands--turn -1 'last))))

(defun backstaff-commands-search (query)
  "Show the commands that QUERY, some words, is about."
  (interactive (list (read-string "Search commands for: "))
               backstaff-commands-mode)
  (backstaff-view-ask (backstaff-view-with :query query)))

(defun backstaff-commands-all ()
  "List all commands again, after a search."
  (interactive nil backstaff-commands-mode)
  (unless (plist-get (backstaff-view-latest-state) :query)
    (user-error "All are listed"))
  (backstaff-view-ask (backstaff-view-with :query nil)))

(defun backstaff-commands-open ()
  "Show the command at point."
  (interactive nil backstaff-commands-mode)
  (backstaff-command-open (plist-get backstaff-view-state :root)
                          (plist-get (backstaff-view-some-entry) :name)))

(defun backstaff-commands-visit-other-window ()
  "Visit the file of the command at point in another window."
  (interactive nil backstaff-commands-mode)
  (backstaff-view-visit (plist-get (backstaff-view-some-entry) :path)
                        :file t))


;;; One command

(defvar backstaff-command-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'backstaff-command-visit)
    (define-key map (kbd "o") #'backstaff-command-visit-other-window)
    (define-key map (kbd "^") #'backstaff-list-commands)
    (define-key map (kbd "w") #'backstaff-view-copy-path)
    (define-key map [remap keyboard-quit] #'backstaff-view-quit)
    map)
  "Keymap of `backstaff-command-mode'.")

(define-derived-mode backstaff-command-mode special-mode "Command"
  "Major mode for a command.
What is invisible in it is written as an escape; its file has it as it is.

\\{backstaff-command-mode-map}"
  :group 'backstaff
  (backstaff-view-setup :request #'backstaff-command--request
                        :draw #'backstaff-command--draw
                        :title #'backstaff-command--title
                        :wrap t))

(defun backstaff-command-open (root name)
  "Show the command NAME of the project ROOT."
  (backstaff-view-open 'backstaff-command-mode
                       (list :root root :path "." :tool name)))

(defun backstaff-command--title (state)
  "Return the name of a buffer that shows STATE."
  (format "*backstaff command: %s*"
          (backstaff-names-show (plist-get state :tool))))

(defun backstaff-command--request (state)
  "Return the tool and the arguments that STATE stands for."
  (list "commands/get_command" (list :command_name (plist-get state :tool))))

(defun backstaff-command--draw (reply)
  "Draw the command in REPLY."
  (let ((file (backstaff-command--file)))
    (insert (propertize (substring-no-properties (plist-get reply :text))
                        'backstaff-entry (list :path file)))
    (backstaff-view-set-header file)))

(defun backstaff-command--file ()
  "Return the file of the command that the buffer shows."
  (or (plist-get (plist-get (plist-get backstaff-view-reply :data) :metadata)
                 :path)
      (user-error "There is no such command")))

(defun backstaff-command-visit (&optional other-window)
  "Visit the file of the command, in another window if OTHER-WINDOW is non-nil."
  (interactive nil backstaff-command-mode)
  (backstaff-view-visit (backstaff-command--file) :file other-window))

(defun backstaff-command-visit-other-window ()
  "Visit the file of the command in another window."
  (interactive nil backstaff-command-mode)
  (backstaff-command-visit t))


;;; Completion

(defvar backstaff-commands--history nil
  "The commands that were asked for by name.")

;;;###autoload
(defun backstaff-find-command (name &optional root)
  "Show the command NAME of the project ROOT.
Interactively complete the name; the first completion asks the server."
  (interactive (let ((root (backstaff-command-root)))
                 (list (backstaff-commands--read root) root)))
  (backstaff-command-open (or root (backstaff-command-root)) name))

(defun backstaff-commands--read (root)
  "Ask for the name of a command of the project ROOT and return it."
  (let* ((entries nil)
         (problem nil)
         (table (backstaff-commands--table
                 (lambda ()
                   (condition-case refusal
                       (or entries
                           (setq entries (backstaff-commands--fetch root)))
                     (user-error
                      (setq problem (error-message-string refusal))
                      (signal (car refusal) (cdr refusal)))))))
         (shown (completing-read "Command: " table nil t nil
                                 'backstaff-commands--history)))
    (when (string-empty-p shown)
      (user-error "%s" (or problem "No command was named; \
M-x backstaff-list-commands tells what there are")))
    (plist-get (gethash shown (or entries (backstaff-commands--fetch root)))
               :name)))

(defun backstaff-commands--table (entries)
  "Return a completion table of what the function ENTRIES returns.
It is called when completions are wanted, not before, so that the prompt
appears at once."
  (lambda (string predicate action)
    (if (eq action 'metadata)
        `(metadata (category . backstaff-command)
                   (annotation-function
                    . ,(backstaff-commands--annotator entries)))
      (complete-with-action action (funcall entries) string predicate))))

(defun backstaff-commands--annotator (entries)
  "Return a function that annotates names in what the function ENTRIES returns."
  (lambda (name)
    (when-let ((entry (gethash name (funcall entries))))
      (concat (make-string (max 2 (- 32 (string-width name))) ?\s)
              (propertize (backstaff-names-prose
                           (plist-get entry :description))
                          'face 'completions-annotations)))))

(defun backstaff-commands--fetch (root)
  "Return the commands of the project ROOT, by their names as they are shown.
A quit, or a key that the user hits meanwhile, ends the wait."
  (let ((table (make-hash-table :test #'equal))
        (page 0))
    (while page
      (let ((reply (backstaff-call "commands/list_commands"
                                   (list :page (1+ page) :page_size 100)
                                   (list :root root))))
        (unless (plist-get reply :ok)
          (user-error "%s" (plist-get reply :text)))
        (dolist (entry (plist-get (plist-get reply :data) :commands))
          (puthash (backstaff-names-show (plist-get entry :name)) entry table))
        (setq page (and (plist-get (plist-get (plist-get reply :data)
                                              :pagination)
                                   :has-next)
                        (1+ page)))))
    table))

(provide 'backstaff-commands)
;;; backstaff-commands.el ends here
