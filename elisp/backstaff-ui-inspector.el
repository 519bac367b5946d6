;;; backstaff-ui-inspector.el --- Run a tool and see its answer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-run-tool' shows the text that an agent gets, and the data below it.

;;; Code:

(require 'pp)
(require 'backstaff-ui-view)

(defvar backstaff-inspector--history nil "The tools that the user ran.")

(defun backstaff-inspector--read-tool ()
  "Ask for a tool and return its definition; a part of its name is enough."
  (let* ((tools (condition-case problem
                    (mapcar (lambda (tool) (cons (plist-get tool :id) tool)) (backstaff-tools))
                  ;; The command loop would quote the text and the advice.
                  (backstaff-error (user-error "%s.  %s" (backstaff-epc-error-text problem)
                                               (backstaff-server-advice problem)))))
         (completion-styles (append completion-styles '(substring)))
         (completion-extra-properties
          (list :annotation-function
                (lambda (id)
                  ;; The first sentence.
                  (concat "  " (car (split-string (plist-get (cdr (assoc id tools)) :description)
                                                  "\\.[ \n]")))))))
    (or (cdr (assoc (completing-read "Run tool: " tools nil t nil 'backstaff-inspector--history)
                    tools))
        (user-error "Choose a tool"))))

(defun backstaff-inspector--template (tool root)
  "Return a plist of the arguments that TOOL needs below ROOT, to edit."
  (cl-loop for argument in (plist-get tool :arguments)
           for name = (plist-get argument :name)
           for file = (and (equal name "path") (plist-get tool :reads-content)
                           (backstaff-view-file-at-point))
           when (or file (plist-get argument :required))
           append (list (intern (concat ":" name))
                        (cond (file (backstaff-view-relative root file))
                              ((equal name "path") ".")
                              (t "")))))

;;;###autoload
(defun backstaff-run-tool (id arguments &optional root)
  "Run the tool ID with ARGUMENTS, and show its reply: the text and the data.
ARGUMENTS is a plist such as (:path \"src\").
Interactively, ask for the tool, and for the arguments with those in place that
the tool needs.  Tools see the files below ROOT, by default the project of the
current directory."
  (interactive
   (let* ((tool (backstaff-inspector--read-tool)) (root (backstaff-command-root)))
     (list (plist-get tool :id)
           (backstaff-view-read-arguments (plist-get tool :id)
                                          (backstaff-inspector--template tool root))
           root)))
  (backstaff-view-open 'backstaff-inspector-mode (or root (backstaff-command-root)) id arguments))

(defun backstaff-inspector--show-file (id file)
  "Show the reply of the tool ID for FILE, below the root of its directory."
  (let ((root (backstaff-command-root (file-name-directory (expand-file-name file)))))
    (backstaff-run-tool id (list :path (backstaff-view-relative root file)) root)))

;;;###autoload
(defun backstaff-list-directory (directory)
  "Show the files and directories in DIRECTORY as Agent-Q gets them.
Interactively it is the current directory."
  (interactive (list (backstaff-directory)))
  (backstaff-inspector--show-file "agent-q/list_directory" (file-name-as-directory directory)))

;;;###autoload
(defun backstaff-list-entries (directory)
  "Show the entries of DIRECTORY as JSON, by the tool forge/list_directory.
Interactively it is the current directory."
  (interactive (list (backstaff-directory)))
  (backstaff-inspector--show-file "forge/list_directory" (file-name-as-directory directory)))

;;;###autoload
(defun backstaff-file-info (file)
  "Show the type, size, times and permissions of FILE.
Interactively this is the file of the buffer or at point, or else the directory."
  (interactive (list (or (backstaff-view-file-at-point) (backstaff-directory))))
  (backstaff-inspector--show-file "agent-q/get_file_info" file))

;;;###autoload
(defun backstaff-list-commands ()
  "Show the slash commands for agents that the project and you have.
A slash command is a Markdown file with a task for agents: /review is the file
.claude/commands/review.md.  The settings can name other folders."
  (interactive)
  (backstaff-run-tool "commands/list_commands" '(:page_size 100)))

;;; The reply

(defvar backstaff-inspector-mode-map (backstaff-view-keymap)
  "Keymap of `backstaff-inspector-mode'.")

(define-derived-mode backstaff-inspector-mode special-mode "Tool"
  "Major mode for the reply of a Backstaff tool."
  :group 'backstaff
  (backstaff-view-setup :draw #'backstaff-inspector--draw :draw-failures t))

(defun backstaff-inspector--draw (reply)
  "Draw REPLY and its call."
  (pcase-let* (((map :text :data :error :truncated :elapsed-ms :warnings) reply)
               ((map :tool :arguments :root) backstaff-view-state)
               (print-escape-newlines t) (code (plist-get error :code))
               (form (prin1-to-string data)))
    (insert (format "(backstaff-call %S %s%S)\n\n" tool (if arguments "'" "") arguments)
            (format "Root      %s\n" (backstaff-names-show-file root))
            (format "Reply     %s after %s ms\n"
                    (cond (code (concat "failed: " code)) (truncated "truncated") (t "complete"))
                    elapsed-ms)
            (format "Length    %d bytes\n" (string-bytes text))
            (mapconcat (lambda (warning)
                         (format "Warning   %s\n" (backstaff-names-prose (format "%s" warning))))
                       warnings "")
            "\n" (substring-no-properties text))
    (when data
      (insert "\n" (propertize "Data" 'face 'backstaff-heading) "\n\n"
              (if (<= (length form) 15000) (pp-to-string data)
                (format "%d characters, which are too many to show\n" (length form)))))))

(provide 'backstaff-ui-inspector)
;;; backstaff-ui-inspector.el ends here
