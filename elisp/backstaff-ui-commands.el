;;; backstaff-ui-commands.el --- Commands written in Markdown  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Commands are Markdown files that agents and people share.  They are in a directory
;; of the project or in the directories of the server's settings.  Where these say
;; `sources', skills and prompts stand among them, each with its kind and its folder.
;; You choose one by completion, and a buffer shows it.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'subr-x)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

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
Invisible characters are written as escapes.  RET visits the file itself.

\\{backstaff-command-mode-map}"
  :group 'backstaff
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
                 (list (backstaff-commands--read root) root)))
  (backstaff-view-open 'backstaff-command-mode
                       (list :root (or root (backstaff-command-root)) :path "." :tool name)))

;;;###autoload
(defun backstaff-list-commands ()
  "List the commands of the project, and show the one that you choose."
  (interactive)
  (minibuffer-with-setup-hook
      (:append (lambda ()
                 (unless (bound-and-true-p vertico-mode)
                   (minibuffer-completion-help))))
    (call-interactively #'backstaff-find-command)))

(defun backstaff-commands--read (root)
  "Read the name of a command of the project ROOT."
  (let* ((commands (backstaff-commands--fetch root))
         (completion-extra-properties
          (list :annotation-function
                (lambda (label)
                  (concat (make-string (max 2 (- 24 (string-width label))) ?\s)
                          (nth 2 (assoc label commands))))))
         (label (minibuffer-with-setup-hook (:append #'backstaff-prompt-allow-blanks)
                  (completing-read "Command: " commands nil t nil 'backstaff-commands--history))))
    (or (nth 1 (assoc label commands))
        (user-error "Type the name of a command"))))

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

(provide 'backstaff-ui-commands)
;;; backstaff-ui-commands.el ends here
