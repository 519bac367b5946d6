;;; backstaff-ui-inspector.el --- Run a tool and see all forms of its reply  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-run-tool' asks for a tool and for its arguments.  It shows the reply as
;; text, plist and JSON, with the bytes and an estimate of the tokens that each costs
;; an agent.  A long form is cut on the screen but measured in full.
;;
;; The value of an argument is a string, a number, t or `:false', or a list of strings.
;; Paths are plain strings here, which the server checks, so a typed path reaches no
;; handler of file names.

;;; Code:

(require 'json)
(require 'outline)
(require 'backstaff-ui-find)
(require 'backstaff-ui-view)

(defconst backstaff-inspector--most-characters 30000
  "Maximum number of characters to show of each form of a reply.")

(defvar backstaff-inspector--history nil
  "The tools and the values that the user typed.")

;;; Reading a tool and its arguments

(defun backstaff-inspector--tools ()
  "Return the definitions of all tools; a failure is a `user-error' with advice."
  (condition-case problem
      (backstaff-tools)
    ;; The command loop would quote the text and the advice.
    (backstaff-error
     (user-error "%s.  %s" (backstaff-epc-error-text problem)
                 (backstaff-server-advice problem)))))

(defun backstaff-inspector--read-tool ()
  "Ask for a tool and return its definition."
  (or (backstaff-prompt-choose
       "Run tool: "
       (mapcar (pcase-lambda ((and tool (map :id :description)))
                 ;; The first sentence.
                 (list id tool (replace-regexp-in-string "\\.[ \n].*\\(?:\n.*\\)*\\'" "."
                                                         description)))
               (backstaff-inspector--tools))
       'backstaff-inspector--history)
      (user-error "Choose a tool")))

(defun backstaff-inspector--text (value)
  "Return VALUE of an argument as the user types it, such as \"yes\" for t."
  (pcase value
    ('t "yes")
    (:false "no")
    ((pred consp) (combine-and-quote-strings value))
    (_ (format "%s" (or value "")))))

(defun backstaff-inspector--read-arguments (tool &optional current)
  "Read the arguments of TOOL, a definition, and return them as a plist.
CURRENT is a plist of values to edit.  Lists of objects are not asked for."
  (cl-loop for definition in (plist-get tool :arguments)
           for keyword = (intern (concat ":" (plist-get definition :name)))
           for old = (plist-get current keyword)
           for value = (if (eq (plist-get definition :items) :object) old
                         (backstaff-inspector--read-argument definition old))
           when value append (list keyword value)))

(defun backstaff-inspector--read-argument (definition current)
  "Read a value for the argument of DEFINITION; nil omits it.
CURRENT is the value to edit, or nil.  The items of a list have blanks between:
*.log \"a b\".  The server judges the value."
  (cl-destructuring-bind (&key name type enum required description
                               (default nil default-p) &allow-other-keys)
      definition
    (let* ((choices (if (eq type :boolean) '("yes" "no") enum))
           (prompt (concat (propertize (concat description "\n") 'face 'shadow) name " ("
                           (cond (required "required")
                                 (default-p (concat "default " (backstaff-inspector--text
                                                                (or default :false))))
                                 (t "optional"))
                           (pcase type
                             (:boolean ", yes or no")
                             (:array ", several with blanks between"))
                           "): "))
           (current (backstaff-inspector--text current))
           (text (substring-no-properties
                  (minibuffer-with-setup-hook (:append #'backstaff-prompt-allow-blanks)
                    ;; With an empty default, Vertico preselects no choice.
                    (completing-read prompt choices nil (and choices t) current
                                     'backstaff-inspector--history "")))))
      (cond ((string-empty-p text) (and required (equal name "path") "."))
            ((eq type :boolean) (if (equal text "yes") t :false))
            ((eq type :array) (split-string-and-unquote text))
            ((and (memq type '(:number :integer))
                  (string-match-p "\\`[ \t]*-?[0-9]+\\(?:\\.[0-9]+\\)?[ \t]*\\'" text))
             (string-to-number text))
            (t text)))))

;;; Running it

;;;###autoload
(defun backstaff-run-tool (id arguments &optional root)
  "Run the tool ID with ARGUMENTS, a plist, and show its reply in all forms.
Interactively, ask for the tool and for each argument; an empty argument is
omitted.  The visited file is suggested to a tool that reads files.  Tools see
the files below ROOT, by default the project of the current directory."
  (interactive
   (let* ((tool (backstaff-inspector--read-tool)) (root (backstaff-command-root))
          (path (and buffer-file-name (plist-get tool :reads-content)
                     (backstaff-path-relative root buffer-file-name))))
     (list (plist-get tool :id)
           (backstaff-inspector--read-arguments tool (list :path path)))))
  (backstaff-view-open 'backstaff-inspector-mode
                       (list :root (or root (backstaff-command-root)) :path "." :tool id
                             :arguments arguments :text-only nil)))

;;;###autoload
(defun backstaff-file-info (file &optional root)
  "Show the type, size, times and permissions of FILE in the project ROOT.
Interactively this is the current file; with a prefix argument, ask."
  (interactive
   (list (or (and (not current-prefix-arg) buffer-file-name)
             (read-file-name "Describe file: " (backstaff-directory) buffer-file-name t))))
  (let* ((name (expand-file-name file))
         (root (or root
                   ;; The root of a project belongs to it, not to a project around it.
                   (backstaff-command-root
                    (if (and (not (file-remote-p name)) (file-directory-p name))
                        (file-name-as-directory name)
                      (file-name-directory name))))))
    (backstaff-view-open 'backstaff-inspector-mode
                         (list :root root :path "." :tool "agent-q/get_file_info" :text-only t
                               :arguments (list :path (backstaff-path-relative root name))))))

;;;###autoload
(defun backstaff-list-entries (directory &optional recursive)
  "Show the entries of DIRECTORY as Forge's tool gives them to a model.
If RECURSIVE is non-nil, also show those of the directories below; this is
the prefix argument, with which the command asks for the directory.  The
server's settings limit their number and depth."
  (interactive (list (backstaff-read-directory "List directory: " #'backstaff-directory)
                     current-prefix-arg))
  (let ((root (backstaff-command-root (file-name-as-directory directory))))
    (backstaff-run-tool "forge/list_directory"
                        `( :path ,(backstaff-path-relative root directory)
                           ,@(and recursive '(:recursive t)))
                        root)))

(defun backstaff-inspector-edit ()
  "Edit the arguments of the call and run it again."
  (interactive nil backstaff-inspector-mode)
  (let ((tool (cl-find (backstaff-view-get :tool) (backstaff-inspector--tools)
                       :key (lambda (tool) (plist-get tool :id)) :test #'equal)))
    (backstaff-view-change
     :arguments (backstaff-inspector--read-arguments tool (backstaff-view-get :arguments)))))

(defun backstaff-inspector--lisp ()
  "Return the call that the buffer shows as a Lisp expression."
  (let ((print-length nil) (print-level nil) (print-escape-newlines t)
        (arguments (backstaff-view-get :arguments)))
    (format "(backstaff-call %S %s%S)" (backstaff-view-get :tool)
            (if arguments "'" "") arguments)))

(defun backstaff-inspector-copy-lisp ()
  "Copy the call as Lisp."
  (interactive nil backstaff-inspector-mode)
  (kill-new (backstaff-inspector--lisp))
  (message "Copied: %s" (current-kill 0)))

(defun backstaff-inspector-copy-json ()
  "Copy the arguments of the call as JSON."
  (interactive nil backstaff-inspector-mode)
  (let ((json-false :false))
    (kill-new (if-let ((arguments (backstaff-view-get :arguments))) (json-encode arguments)
                "{}")))
  (message "Copied: %s" (current-kill 0)))

;;; Showing the reply

(defvar backstaff-inspector-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "e" #'backstaff-inspector-edit)
    (define-key map "w" #'backstaff-inspector-copy-lisp)
    (define-key map "W" #'backstaff-inspector-copy-json)
    (define-key map "n" #'outline-next-visible-heading)
    (define-key map "p" #'outline-previous-visible-heading)
    (define-key map (kbd "TAB") #'outline-cycle)
    (define-key map (kbd "<backtab>") #'outline-cycle-buffer)
    map)
  "Keymap of `backstaff-inspector-mode'.")

;;;###autoload
(define-derived-mode backstaff-inspector-mode backstaff-view-mode "Backstaff Run"
  "Major mode for the reply of a Backstaff tool, in all its forms."
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
                  (insert (propertize (format "%-11s" label) 'face 'shadow)
                          (propertize text 'face face) "\n")))
        (insert (backstaff-inspector--lisp) "\n\n")
        (line "Root" (backstaff-path-shown (backstaff-view-get :root)))
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
        (line "Form" "       bytes   tokens, roughly: bytes/4 to /2.5" 'shadow)
        (pcase-dolist (`(,name . ,form) forms)
          (let ((bytes (length (encode-coding-string form 'utf-8-unix t))))
            (insert (format "%-10s %12d   %d to %d\n" name bytes
                            (/ (+ bytes 3) 4) (ceiling bytes 2.5))))))
      (pcase-dolist (`(,name . ,form) forms)
        (insert "\n" (propertize (concat "* " name) 'face 'outline-1) "\n")
        (backstaff-inspector--insert-form form (not (equal name "Text")))))))

(defun backstaff-inspector--insert-form (form structured)
  "Insert FORM of a reply, a string, or so much of it as there is room for.
If STRUCTURED is non-nil, it is a plist or JSON.  A line begins at each pair
and each object, by its depth, even if the form was cut."
  (let ((start (point)) (depth 0)
        (left (- (length form) backstaff-inspector--most-characters)))
    (insert (string-limit form backstaff-inspector--most-characters))
    (when structured
      (save-restriction
        (narrow-to-region start (point))
        (goto-char start)
        ;; In this order: a string such as "a.c", a key with a value such as ":kind :file",
        ;; an opening or closing bracket, and the blank or comma where a line ends.
        (while (re-search-forward
                "\"[^\"\\]*\\(?:\\\\.[^\"\\]*\\)*\"\\|:[a-z][-a-z0-9_]*\\(?: [^ ()\"]+\\)?\\|\
\\(?2:[[({]\\)\\|\\(?3:[])}]\\)\\|\\(?1: \\)\\(?::[a-z]\\|([(:]\\)\\|\\(?1:,\\)" nil 'move)
          (cond ((match-beginning 1)
                 (replace-match (concat (string-trim (match-string 1)) "\n"
                                        (make-string (max 0 depth) ?\s))
                                t t nil 1))
                ((match-beginning 2) (cl-incf depth))
                ((match-beginning 3) (cl-decf depth))))))
    (unless (bolp) (insert "\n"))
    (when (> left 0)
      (insert (propertize (format "\n… and %d more characters\n" left) 'face 'shadow)))))

(provide 'backstaff-ui-inspector)
;;; backstaff-ui-inspector.el ends here
