;;; backstaff-ui-inspector.el --- Run a tool and see its answer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-run-tool' asks for a tool and for its arguments.  It shows the text that an
;; agent gets, with its bytes and an estimate of its tokens, and the data below it.
;; The commands for some tools show only the text.

;;; Code:

(require 'pp)
(require 'backstaff-ui-view)

(defvar backstaff-inspector--history nil
  "The tools and the arguments that the user typed.")

;;; Reading a tool and its arguments

(defun backstaff-inspector--tools ()
  "Return an alist of all tools, by id; a failure is a `user-error' with advice."
  (condition-case problem
      (mapcar (lambda (tool) (cons (plist-get tool :id) tool)) (backstaff-tools))
    ;; The command loop would quote the text and the advice.
    (backstaff-error (user-error "%s.  %s" (backstaff-epc-error-text problem)
                                 (backstaff-server-advice problem)))))

(defun backstaff-inspector--read-tool ()
  "Ask for a tool and return its definition; a part of its name is enough."
  (let* ((tools (backstaff-inspector--tools))
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
  "Return a plist of the arguments that TOOL needs, to edit.
If TOOL reads files, the path is that of the current file below ROOT."
  (cl-loop for definition in (plist-get tool :arguments)
           for name = (plist-get definition :name)
           for file = (and (equal name "path") (plist-get tool :reads-content) buffer-file-name)
           when (or file (plist-get definition :required))
           append (list (intern (concat ":" name))
                        (cond (file (backstaff-path-relative root file))
                              ((equal name "path") ".")
                              (t (pcase (plist-get definition :type)
                                   (:boolean t) (:array '("")) ((or :number :integer) 1)
                                   (_ "")))))))

(defun backstaff-inspector--read-arguments (tool current)
  "Read the arguments of TOOL, a definition: a plist or an object of JSON.
CURRENT, a plist or a string, is there to edit."
  (let* ((form (if (stringp current) current (format "%S" current)))
         (text (read-from-minibuffer
                (format "%s (%s): " (plist-get tool :id)
                        (mapconcat (lambda (definition) (concat ":" (plist-get definition :name)))
                                   (plist-get tool :arguments) " "))
                ;; Point is in the first string that is still to be typed.
                (if (string-match "\"\"" form) (cons form (match-end 0)) form)
                nil nil 'backstaff-inspector--history)))
    (if (string-match-p "\\`[ \t]*{" text) text
      (condition-case nil
          (pcase-let* ((form (if (string-blank-p text) "nil" text))
                       (`(,arguments . ,end) (read-from-string form)))
            (unless (and (cl-evenp (length arguments)) (string-blank-p (substring form end)))
              (error "No plist"))
            arguments)
        (error (user-error "%s is no plist such as (:path \"src\"), nor JSON" text))))))

;;; Running it

;;;###autoload
(defun backstaff-run-tool (id arguments &optional root text-only)
  "Run the tool ID with ARGUMENTS, and show its reply: the text and the data.
ARGUMENTS is a plist such as (:path \"src\"), or an object of JSON as a string.
Interactively, ask for the tool, and for the arguments with those in place that
the tool needs.  Tools see the files below ROOT, by default the project of the
current directory.  If TEXT-ONLY is non-nil, show the text alone."
  (interactive
   (let* ((tool (backstaff-inspector--read-tool)) (root (backstaff-command-root)))
     (list (plist-get tool :id)
           (backstaff-inspector--read-arguments tool (backstaff-inspector--template tool root))
           root)))
  (backstaff-view-open 'backstaff-inspector-mode
                       (list :root (or root (backstaff-command-root)) :tool id
                             :arguments arguments :text-only text-only)))

(defun backstaff-inspector--show-file (id file)
  "Show the text of the tool ID for FILE."
  (let* ((name (expand-file-name file))
         ;; The root of a project belongs to it, not to a project around it.
         (root (backstaff-command-root (if (and (not (file-remote-p name)) (file-directory-p name))
                                           (file-name-as-directory name)
                                         (file-name-directory name)))))
    (backstaff-run-tool id (list :path (backstaff-path-relative root name)) root t)))

;;;###autoload
(defun backstaff-list-directory (directory)
  "Show the files and directories in DIRECTORY as Agent-Q gets them.
Interactively it is the current directory; with a prefix argument, ask."
  (interactive (list (backstaff-read-directory "List directory: " #'backstaff-directory)))
  (backstaff-inspector--show-file "agent-q/list_directory" directory))

;;;###autoload
(defun backstaff-list-entries (directory)
  "Show the entries of DIRECTORY as JSON, by the tool forge/list_directory.
Interactively it is the current directory; with a prefix argument, ask."
  (interactive (list (backstaff-read-directory "List directory: " #'backstaff-directory)))
  (backstaff-inspector--show-file "forge/list_directory" directory))

;;;###autoload
(defun backstaff-file-info (file)
  "Show the type, size, times and permissions of FILE.
Interactively this is the file of the buffer or at point; with a prefix
argument, ask."
  (interactive
   (list (or (and (not current-prefix-arg) (backstaff-view-file-at-point))
             (read-file-name "Describe file: " (backstaff-directory)))))
  (backstaff-inspector--show-file "agent-q/get_file_info" file))

;;;###autoload
(defun backstaff-list-commands ()
  "Show the slash commands for agents that the project and you have."
  (interactive)
  (backstaff-run-tool "commands/list_commands" '(:page_size 100) nil t))

(defun backstaff-inspector-edit ()
  "Edit the arguments of the call and run it again."
  (interactive nil backstaff-inspector-mode)
  (let ((tool (cdr (assoc (backstaff-view-get :tool) (backstaff-inspector--tools)))))
    (backstaff-view-change
     :arguments (backstaff-inspector--read-arguments tool (backstaff-view-get :arguments))
     :text-only nil)))

;;; Showing the reply

(defvar backstaff-inspector-mode-map
  (backstaff-view-keymap "e" #'backstaff-inspector-edit)
  "Keymap of `backstaff-inspector-mode'.")

(define-derived-mode backstaff-inspector-mode special-mode "Tool"
  "Major mode for the reply of a Backstaff tool."
  :group 'backstaff
  (let ((start 0))
    (backstaff-view-setup
     :request (lambda (state)
                (setq start (float-time))
                (list (plist-get state :tool) (plist-get state :arguments)))
     :draw (lambda (reply) (backstaff-inspector--draw reply (* 1e3 (- (float-time) start))))
     :draw-failures t)))

(defun backstaff-inspector--draw (reply milliseconds)
  "Draw REPLY, which took MILLISECONDS, and its call, or only the text."
  (pcase-let* (((map :text :data :error :truncated :elapsed-ms :warnings) reply)
               ((map :tool :arguments :root :text-only) backstaff-view-state)
               (print-length nil) (print-level nil) (print-escape-newlines t)
               (bytes (string-bytes text)))
    (unless text-only
      (insert (format "(backstaff-call %S %s%S)\n\n" tool (if (consp arguments) "'" "") arguments)
              (format "Root      %s\n" (backstaff-path-shown root))
              (format "Reply     %s\n" (cond (error (concat "failed: " (plist-get error :code)))
                                             (truncated "truncated") (t "complete")))
              (format "Time      %s ms in the server, %.1f ms there and back\n" elapsed-ms milliseconds)
              ;; English prose has about 4 bytes a token.  Names and numbers, of which most
              ;; replies consist, have about 2.5.
              (format "Length    %d bytes, roughly %d to %d tokens\n"
                      bytes (/ (+ bytes 3) 4) (ceiling bytes 2.5)))
      (dolist (warning warnings)
        (insert "Warning   " (backstaff-names-prose (format "%s" warning)) "\n"))
      (insert "\n"))
    (insert (substring-no-properties text))
    (when (and data (not text-only))
      (let ((form (prin1-to-string data)))
        (insert "\n" (propertize "Data" 'face 'backstaff-heading) "\n\n"
                (if (<= (length form) 15000) (pp-to-string data)
                  (format "%d characters, which are too many to show\n" (length form))))))))

(provide 'backstaff-ui-inspector)
;;; backstaff-ui-inspector.el ends here
