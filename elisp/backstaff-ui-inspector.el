;;; backstaff-ui-inspector.el --- Run a tool and see its answer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-run-tool' asks for a tool and for its arguments.  It shows the reply as
;; text, plist and JSON, with the bytes and an estimate of the tokens that each costs
;; an agent.  A long form is cut on the screen but measured in full.
;; The commands for some tools show only the text.

;;; Code:

(require 'json)
(require 'outline)
(require 'pp)
(require 'backstaff-ui-view)

(defconst backstaff-inspector--most-characters 15000
  "Maximum number of characters to show of each form of a reply.")

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
                  (concat "  " (replace-regexp-in-string
                                "\\.[ \n].*\\(?:\n.*\\)*\\'" "."
                                (plist-get (cdr (assoc id tools)) :description)))))))
    (or (cdr (assoc (completing-read "Run tool: " tools nil t nil 'backstaff-inspector--history)
                    tools))
        (user-error "Choose a tool"))))

(defun backstaff-inspector--template (tool root)
  "Return a plist of the arguments that TOOL needs, to edit.
If TOOL reads files, the path is that of the current file below ROOT."
  (cl-loop for definition in (plist-get tool :arguments)
           for name = (plist-get definition :name)
           for path = (and (equal name "path") buffer-file-name (plist-get tool :reads-content))
           when (or path (plist-get definition :required))
           append (list (intern (concat ":" name))
                        (cond (path (backstaff-path-relative root buffer-file-name))
                              ((equal name "path") ".")
                              (t (pcase (plist-get definition :type)
                                   (:boolean t) (:array '("")) ((or :number :integer) 1)
                                   (_ "")))))))

(defun backstaff-inspector--read-arguments (tool current)
  "Read the arguments of TOOL, a definition: a plist or an object of JSON.
CURRENT, a plist or a string, is there to edit.  TAB completes keywords, and
shows their descriptions."
  (let* ((words (mapcar (lambda (definition)
                          (cons (concat ":" (plist-get definition :name))
                                (plist-get definition :description)))
                        (plist-get tool :arguments)))
         (complete (lambda ()
                     (when-let ((bounds (with-syntax-table emacs-lisp-mode-syntax-table
                                          (bounds-of-thing-at-point 'symbol))))
                       (list (car bounds) (cdr bounds) words
                             :annotation-function
                             (lambda (word) (concat "  " (cdr (assoc word words))))))))
         (map (make-sparse-keymap))
         (text (minibuffer-with-setup-hook
                   (lambda ()
                     (define-key map (kbd "TAB") #'completion-at-point)
                     (add-hook 'completion-at-point-functions complete nil t))
                 (read-from-minibuffer
                  (format "%s (%s): " (plist-get tool :id) (mapconcat #'car words " "))
                  ;; Point is in the first string that is still to be typed.
                  (let ((form (if (stringp current) current (format "%S" current))))
                    (if (string-match "\"\"" form) (cons form (match-end 0)) form))
                  (make-composed-keymap map minibuffer-local-map)
                  nil 'backstaff-inspector--history))))
    (if (string-match-p "\\`[ \t]*{" text) text
      (condition-case nil
          (pcase-let* ((form (if (string-blank-p text) "nil" text))
                       (`(,arguments . ,end) (read-from-string form)))
            (if (and (cl-evenp (length arguments)) (string-blank-p (substring form end)))
                arguments
              (error "No plist")))
        (error (user-error "%s is no plist such as (:path \"src\"), nor JSON" text))))))

;;; Running it

;;;###autoload
(defun backstaff-run-tool (id arguments &optional root)
  "Run the tool ID with ARGUMENTS, and show its reply in all forms.
ARGUMENTS is a plist such as (:path \"src\"), or an object of JSON as a string.
Interactively, ask for the tool, and for the arguments with those in place that
the tool needs.  Tools see the files below ROOT, by default the project of the
current directory."
  (interactive
   (let* ((tool (backstaff-inspector--read-tool)) (root (backstaff-command-root)))
     (list (plist-get tool :id)
           (backstaff-inspector--read-arguments tool (backstaff-inspector--template tool root))
           root)))
  (backstaff-inspector--show root id arguments nil))

(defun backstaff-inspector--show (root id arguments text-only)
  "Show the reply to a call of the tool ID with ARGUMENTS in the project ROOT.
If TEXT-ONLY is non-nil, show its text alone."
  (backstaff-view-open 'backstaff-inspector-mode
                       (list :root (or root (backstaff-command-root)) :tool id
                             :arguments arguments :text-only text-only)))

(defun backstaff-inspector--show-file (id file &rest arguments)
  "Show the text of the tool ID for FILE, with more ARGUMENTS."
  (let* ((name (expand-file-name file))
         ;; The root of a project belongs to it, not to a project around it.
         (root (backstaff-command-root (if (and (not (file-remote-p name)) (file-directory-p name))
                                           (file-name-as-directory name)
                                         (file-name-directory name)))))
    (backstaff-inspector--show root id `(:path ,(backstaff-path-relative root name) ,@arguments) t)))

;;;###autoload
(defun backstaff-list-directory (directory)
  "Show the files and directories in DIRECTORY as Agent-Q gets them.
Interactively it is the current directory; with a prefix argument, ask."
  (interactive (list (backstaff-read-directory "List directory: " #'backstaff-directory)))
  (backstaff-inspector--show-file "agent-q/list_directory" directory))

;;;###autoload
(defun backstaff-list-entries (directory &optional recursive)
  "Show the entries of DIRECTORY as JSON, by the tool forge/list_directory.
If RECURSIVE is non-nil, also show those of the directories below; this is
the prefix argument, with which the command asks for the directory.  The
server's settings limit their number and depth."
  (interactive (list (backstaff-read-directory "List directory: " #'backstaff-directory)
                     current-prefix-arg))
  (backstaff-inspector--show-file "forge/list_directory" directory :recursive (and recursive t)))

;;;###autoload
(defun backstaff-file-info (file)
  "Show the type, size, times and permissions of FILE.
Interactively this is the file of the buffer or at point; with a prefix
argument, ask."
  (interactive
   (list (let ((file (backstaff-view-file-at-point)))
           (if (and file (not current-prefix-arg)) file
             (read-file-name "Describe file: " (backstaff-directory) file t)))))
  (backstaff-inspector--show-file "agent-q/get_file_info" file))

;;;###autoload
(defun backstaff-list-commands ()
  "Show the slash commands for agents that the project and you have."
  (interactive)
  (backstaff-inspector--show nil "commands/list_commands" '(:page_size 100) t))

(defun backstaff-inspector-edit ()
  "Edit the arguments of the call and run it again."
  (interactive nil backstaff-inspector-mode)
  (let ((tool (cdr (assoc (backstaff-view-get :tool) (backstaff-inspector--tools)))))
    (backstaff-view-change
     :arguments (backstaff-inspector--read-arguments tool (backstaff-view-get :arguments))
     :text-only nil)))

(defun backstaff-inspector--lisp ()
  "Return the call that the buffer shows as a Lisp expression."
  (let ((print-length nil) (print-level nil) (print-escape-newlines t)
        (arguments (backstaff-view-get :arguments)))
    (format "(backstaff-call %S %s%S)" (backstaff-view-get :tool)
            (if (consp arguments) "'" "") arguments)))

(defun backstaff-inspector-copy (json)
  "Copy the call as Lisp, or with a prefix argument JSON its arguments as JSON."
  (interactive "P" backstaff-inspector-mode)
  (let ((json-false :false) (arguments (backstaff-view-get :arguments)))
    (kill-new (cond ((not json) (backstaff-inspector--lisp))
                    ((stringp arguments) arguments)
                    (t (json-encode (or arguments (make-hash-table)))))))
  (message "Copied: %s" (current-kill 0)))

;;; Showing the reply

(defvar backstaff-inspector-mode-map
  (backstaff-view-keymap "e" #'backstaff-inspector-edit "TAB" #'outline-cycle
                         "w" #'backstaff-inspector-copy
                         "n" #'outline-next-visible-heading "p" #'outline-previous-visible-heading)
  "Keymap of `backstaff-inspector-mode'.")

;;;###autoload
(define-derived-mode backstaff-inspector-mode special-mode "Tool"
  "Major mode for the reply of a Backstaff tool."
  :group 'backstaff
  (let ((start 0))
    (backstaff-view-setup
     :request (lambda (state)
                (setq start (float-time))
                (list (plist-get state :tool) (plist-get state :arguments) '(:json t)))
     :draw (lambda (reply) (backstaff-inspector--draw reply (* 1e3 (- (float-time) start))))
     :draw-failures t
     :wrap t))
  (setq-local outline-regexp "\\* \\(?:Text\\|Plist\\|JSON\\)$"
              outline-level (lambda () 1))
  (add-to-invisibility-spec '(outline . t)))

(defun backstaff-inspector--draw (reply milliseconds)
  "Draw REPLY, which took MILLISECONDS, and its call, or only the text."
  (pcase-let* (((map :text :data :json :error :truncated :elapsed-ms :warnings) reply)
               (print-length nil) (print-level nil) (print-escape-newlines t)
               (forms (cl-remove nil `(("Text" . ,text)
                                       ("Plist" . ,(and data (prin1-to-string data)))
                                       ("JSON" . ,json))
                                 :key #'cdr)))
    (if (backstaff-view-get :text-only)
        (insert (string-limit text backstaff-inspector--most-characters))
      (cl-flet ((line (label text &optional face)
                  (insert (propertize (format "%-11s" label) 'face 'backstaff-note)
                          (propertize text 'face face) "\n")))
        (insert (backstaff-inspector--lisp) "\n\n")
        (line "Root" (backstaff-path-shown (backstaff-view-root)))
        (if error
            (line "Failure" (format "%s" (plist-get error :code)) 'error)
          (line "Success" (if truncated "but truncated" "and complete")))
        (line "Time" (format "%s ms in the server, %.1f ms there and back"
                             elapsed-ms milliseconds))
        (dolist (warning warnings)
          (line "Warning" (backstaff-names-prose (format "%s" warning)) 'warning))
        (insert "\n")
        ;; English prose has about 4 bytes a token.  Names and numbers, of which most
        ;; replies consist, have about 2.5.
        (line "Form" "       bytes   tokens, roughly: bytes/4 to /2.5" 'backstaff-note)
        (pcase-dolist (`(,name . ,form) forms)
          (let ((bytes (length (encode-coding-string form 'utf-8-unix t))))
            (insert (format "%-10s %12d   %d to %d\n" name bytes
                            (/ (+ bytes 3) 4) (ceiling bytes 2.5))))))
      (pcase-dolist (`(,name . ,form) forms)
        (insert "\n" (propertize (concat "* " name) 'face 'backstaff-heading) "\n")
        (if (> (length form) backstaff-inspector--most-characters)
            (insert (string-limit form backstaff-inspector--most-characters)
                    (format "\n… and %d more characters\n"
                            (- (length form) backstaff-inspector--most-characters)))
          (let ((start (point)))
            (insert (if (equal name "Plist") (pp-to-string data) form))
            (when (equal name "JSON")
              (json-pretty-print start (point)))
            (unless (bolp) (insert "\n"))))))))

(provide 'backstaff-ui-inspector)
;;; backstaff-ui-inspector.el ends here
