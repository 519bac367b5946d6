;;; backstaff-ui-inspector.el --- Run a tool and see all forms of its reply  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-run-tool' asks for a tool and for its arguments.  It shows the reply as
;; text, plist and JSON, with the bytes and an estimate of the tokens that each costs
;; an agent.  A long form is cut on the screen but measured in full.  The state of the
;; view names the forms; where that is the text alone, nothing else is shown.
;;
;; The questions come from the tool's definition, as `backstaff-tools' returns it.  The
;; value of an argument is a string, a number, t or `:false', or a list of strings; nil
;; omits the argument from the call.  Paths are plain strings here, which the server
;; checks and completes, so a typed path reaches no handler of file names.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'outline)
(require 'subr-x)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defcustom backstaff-inspector-max-characters 100000
  "Maximum number of characters to show of each form of a reply."
  :type 'natnum :group 'backstaff)

(defvar backstaff-inspector--history nil
  "The tools and the values that the user typed.")


;;; Reading a tool and its arguments

(defun backstaff-inspector--tools ()
  "Return an alist of ids and definitions of tools."
  (mapcar (lambda (tool) (cons (plist-get tool :id) tool))
          (backstaff-prompt-call #'backstaff-tools)))

(defun backstaff-inspector--read-tool ()
  "Ask for a tool and return its definition.  A part of the id is enough."
  (let* ((tools (backstaff-inspector--tools))
         (annotate (lambda (id)
                     ;; The first sentence.
                     (concat "  " (replace-regexp-in-string
                                   "\\.[ \n].*\\(?:\n.*\\)*\\'" "."
                                   (plist-get (cdr (assoc id tools)) :description)))))
         (completion-category-defaults
          (cons '(backstaff-tool (styles basic substring)) completion-category-defaults))
         (id (completing-read
              "Run tool: "
              (lambda (string predicate action)
                (if (eq action 'metadata)
                    `(metadata (category . backstaff-tool) (annotation-function . ,annotate))
                  (complete-with-action action tools string predicate)))
              nil t nil 'backstaff-inspector--history)))
    (or (cdr (assoc id tools)) (user-error "There is no tool %s" id))))

(defun backstaff-inspector--path-p (definition)
  "Return non-nil if the argument of DEFINITION is a path below the root."
  (and (equal (plist-get definition :name) "path") (eq (plist-get definition :type) :string)))

(defun backstaff-inspector--text (value)
  "Return VALUE of an argument as the user types it, such as \"yes\" for t."
  (pcase value
    ('t "yes")
    (:false "no")
    ((pred consp) (combine-and-quote-strings value))
    (_ (format "%s" (or value "")))))

(defun backstaff-inspector--read-arguments (tool root &optional current)
  "Read the arguments of TOOL, a definition, and return them as a plist.
Paths are below ROOT.  CURRENT is a plist of values to edit.  Lists of objects
are not asked for."
  (cl-loop for definition in (plist-get tool :arguments)
           for keyword = (intern (concat ":" (plist-get definition :name)))
           for value = (if (eq (plist-get definition :items) :object)
                           (plist-get current keyword)
                         (backstaff-inspector--read-argument
                          definition root (plist-get current keyword)))
           when value append (list keyword value)))

(defun backstaff-inspector--read-argument (definition root current)
  "Read a value for the argument of DEFINITION; nil omits it.
A path is below ROOT.  CURRENT is the value to edit, or nil.  The items of a
list have blanks between: *.log \"a b\".  The server judges the value."
  (cl-destructuring-bind (&key name type enum required description
                               (default nil default-p) &allow-other-keys)
      definition
    (let* ((path (backstaff-inspector--path-p definition))
           (choices (cond (enum)
                          (path (backstaff-inspector--path-table root))
                          ((eq type :boolean) '("yes" "no"))))
           (rule (cond ((and path required) "empty is the root")
                       (required "required")
                       (default-p (concat "default " (if default (backstaff-inspector--text default)
                                                       "no")))
                       (t "optional")))
           (prompt (concat (propertize (concat description "\n") 'face 'shadow)
                           name " (" rule
                           (pcase type
                             (:boolean ", yes or no")
                             (:array ", several with blanks between"))
                           "): "))
           (current (backstaff-inspector--text current))
           (text (substring-no-properties
                  (if choices (completing-read prompt choices nil (not path) current
                                               'backstaff-inspector--history
                                               ;; Vertico then preselects no choice.
                                               "")
                    (read-from-minibuffer prompt current nil nil 'backstaff-inspector--history)))))
      (cond ((string-empty-p text) (and path required "."))
            ((eq type :boolean) (if (equal text "yes") t :false))
            ((eq type :array) (split-string-and-unquote text))
            ((and (memq type '(:number :integer))
                  (string-match-p "\\`[ \t]*-?[0-9]+\\(?:\\.[0-9]+\\)?[ \t]*\\'" text))
             (string-to-number text))
            (t text)))))

(defun backstaff-inspector--path-table (root)
  "Return a completion table of the paths below ROOT.
The server lists the directory that was typed so far."
  (completion-table-dynamic
   (lambda (path)
     (unless (string-prefix-p "/" path)
       (let* ((directory (replace-regexp-in-string "[^/]*\\'" "" path))
              (backstaff-approval-function (lambda (&rest _) :unasked))
              (reply (ignore-error backstaff-error
                       (backstaff-call "agent-q/list_directory"
                                       (list :path (concat "./" directory) :show_hidden t)
                                       (list :root root :person t)))))
         (mapcar (lambda (entry)
                   (concat directory (plist-get entry :name)
                           (and (eq (plist-get entry :kind) :directory) "/")))
                 (plist-get (plist-get reply :data) :entries)))))))

(defun backstaff-inspector--suggestion (tool root)
  "Return the arguments of TOOL, a definition, that the current buffer suggests.
If TOOL describes or reads a file, suggest the visited one, below ROOT."
  (when-let* ((definition (cl-find-if #'backstaff-inspector--path-p
                                      (plist-get tool :arguments)))
              ((or (eq (plist-get tool :result-kind) :file-info)
                   (plist-get tool :reads-content)))
              (file buffer-file-name)
              (path (backstaff-path-relative root file)))
    (unless (file-name-absolute-p path)
      (list :path path))))


;;; Running it

;;;###autoload
(defun backstaff-run-tool (id arguments)
  "Run the tool ID with ARGUMENTS, a plist, and show its reply in all forms.
Interactively, ask for the tool and for each argument; an empty argument is
omitted.  Tools see the project of the current directory."
  (interactive
   (let ((tool (backstaff-inspector--read-tool)) (root (backstaff-command-root)))
     (list (plist-get tool :id)
           (backstaff-inspector--read-arguments
            tool root (backstaff-inspector--suggestion tool root)))))
  (pop-to-buffer-same-window
   (backstaff-view-buffer 'backstaff-inspector-mode
                          (list :root (backstaff-command-root) :path "." :tool id
                                :arguments arguments :forms '(text plist json)))))

(defun backstaff-inspector-edit ()
  "Edit the arguments of the call and run it again."
  (interactive nil backstaff-inspector-mode)
  (let* ((id (backstaff-view-get :tool))
         (tool (or (cdr (assoc id (backstaff-inspector--tools)))
                   (user-error "The server has no tool %s" id)))
         (arguments (backstaff-inspector--read-arguments
                     tool (backstaff-view-get :root) (backstaff-view-get :arguments))))
    ;; Who gives other arguments wants to see the answer.
    (outline-show-all)
    (backstaff-view-change :arguments arguments)))

(defun backstaff-inspector--lisp ()
  "Return the call that the buffer shows as a Lisp expression."
  (let ((print-length nil) (print-level nil) (print-escape-newlines t)
        (arguments (backstaff-view-get :arguments)))
    (format "(backstaff-call %S %s%S)" (backstaff-view-get :tool)
            (if arguments "'" "") arguments)))

(defun backstaff-inspector--json (arguments)
  "Return ARGUMENTS, a plist, as a JSON object."
  (if (null arguments) "{}"
    (json-encode (cl-loop for (keyword value) on arguments by #'cddr
                          collect (cons (substring (symbol-name keyword) 1)
                                        (pcase value
                                          (:false :json-false)
                                          ((pred listp) (vconcat value))
                                          (_ value)))))))

(defun backstaff-inspector-copy-lisp ()
  "Copy the call as Lisp."
  (interactive nil backstaff-inspector-mode)
  (backstaff-inspector--copy (backstaff-inspector--lisp)))

(defun backstaff-inspector-copy-json ()
  "Copy the arguments of the call as JSON."
  (interactive nil backstaff-inspector-mode)
  (backstaff-inspector--copy (backstaff-inspector--json (backstaff-view-get :arguments))))

(defun backstaff-inspector--copy (text)
  "Put TEXT into the kill ring and say so."
  (kill-new text)
  (message "Copied: %s" text))


;;; Showing the reply

(defvar-local backstaff-inspector--start nil
  "The time of the last call.")

(defvar-local backstaff-inspector--folded nil
  "The headings that were folded at the last drawing.")

(defvar backstaff-inspector-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map special-mode-map)
    (define-key map "e" #'backstaff-inspector-edit)
    (define-key map "w" #'backstaff-inspector-copy-lisp)
    (define-key map "W" #'backstaff-inspector-copy-json)
    (define-key map "n" #'outline-next-visible-heading)
    (define-key map "p" #'outline-previous-visible-heading)
    (define-key map (kbd "TAB") #'outline-cycle)
    (define-key map (kbd "<backtab>") #'outline-cycle-buffer)
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    map)
  "Keymap of `backstaff-inspector-mode'.")

;;;###autoload
(define-derived-mode backstaff-inspector-mode special-mode "Backstaff Run"
  "Major mode for the reply of a Backstaff tool, in all its forms.

\\{backstaff-inspector-mode-map}"
  :group 'backstaff
  (backstaff-view-setup
   :request (lambda (state)
              (setq backstaff-inspector--start (float-time))
              (list (plist-get state :tool) (plist-get state :arguments) '(:json t)))
   :before-draw #'backstaff-inspector--note-folds
   :draw #'backstaff-inspector--draw
   :draw-failures t
   :title (lambda (state) (format "*backstaff run: %s*" (plist-get state :tool)))
   :wrap t)
  (setq-local outline-regexp "\\* \\(?:Text\\|Plist\\|JSON\\)$"
              outline-level (lambda () 1))
  (add-to-invisibility-spec '(outline . t)))

(defun backstaff-inspector--note-folds ()
  "Note which headings are folded."
  (setq backstaff-inspector--folded nil)
  (outline-map-region (lambda ()
                        (when (outline-invisible-p (line-end-position))
                          (push (buffer-substring-no-properties (point) (line-end-position))
                                backstaff-inspector--folded)))
                      (point-min) (point-max)))

(defun backstaff-inspector--draw (reply)
  "Draw REPLY and its call; for the text alone, nothing else."
  (let ((forms (backstaff-view-get :forms))
        (seconds (- (float-time) backstaff-inspector--start))
        (print-length nil) (print-level nil) (print-escape-newlines t))
    (if (equal forms '(text))
        (insert (string-limit (plist-get reply :text) backstaff-inspector-max-characters))
      (insert (backstaff-inspector--lisp) "\n\n")
      (cl-flet ((line (label text &optional face)
                  (insert (propertize (format "%-10s" label) 'face 'shadow)
                          " " (if face (propertize text 'face face) text) "\n")))
        (line "Root" (backstaff-names-show (abbreviate-file-name (backstaff-view-get :root))))
        (if (plist-get reply :error)
            (line "Failure" (format "%s" (plist-get (plist-get reply :error) :code))
                  'error)
          (line "Success" (if (plist-get reply :truncated) "but truncated" "and complete")))
        (line "Time" (format "%s ms in the server, %.1f ms there and back"
                             (plist-get reply :elapsed-ms) (* 1e3 seconds)))
        (dolist (warning (plist-get reply :warnings))
          (line "Warning" (backstaff-names-prose (format "%s" warning)) 'warning)))
      (let ((texts (cl-loop
                    with data = (plist-get reply :data)
                    for (name form text) in `(("Text" text ,(plist-get reply :text))
                                              ("Plist" plist ,(and data (prin1-to-string data)))
                                              ("JSON" json ,(plist-get reply :json)))
                    ;; A failure has a text and nothing else.
                    when (and (memq form forms) (or text (plist-get reply :ok)))
                    collect (list name form text))))
        ;; English prose has about 4 bytes a token.  Names and numbers, of which most
        ;; replies consist, have about 2.5.
        (insert (propertize (format "\n%-10s %12s   %s\n" "Form" "bytes"
                                    "tokens, roughly: bytes/4 to /2.5")
                            'face 'shadow))
        (pcase-dolist (`(,name ,_ ,text) texts)
          (when-let ((bytes (and text (length (encode-coding-string text 'utf-8-unix t)))))
            (insert (format "%-10s %12s   %s to %s\n" name (backstaff-view-number bytes)
                            (backstaff-view-number (/ (+ bytes 3) 4))
                            (backstaff-view-number (ceiling bytes 2.5))))))
        (pcase-dolist (`(,name ,form ,text) texts)
          (backstaff-inspector--draw-form name form text)))
      (dolist (heading backstaff-inspector--folded)
        (goto-char (point-min))
        (when (re-search-forward (concat "^" (regexp-quote heading) "$") nil t)
          (outline-hide-subtree))))))

(defun backstaff-inspector--draw-form (name form text)
  "Draw FORM of a reply, the string TEXT or nil, below a heading with NAME."
  (insert "\n" (propertize (concat "* " name) 'face 'outline-1) "\n")
  (let ((start (point)) (long (> (length text) backstaff-inspector-max-characters)))
    (insert (if text (string-limit text backstaff-inspector-max-characters)
              (propertize "The reply has no such form.\n" 'face 'shadow)))
    (cond ((or (null text) (eq form 'text)))
          ((or long (eq form 'plist)) (backstaff-inspector--break-lines start))
          (t (json-pretty-print start (point))))
    (unless (bolp) (insert "\n"))
    (when long
      (insert (propertize
               (format "\n… and more: %s has %s characters, see `%s'.\n" name
                       (backstaff-view-number (length text))
                       'backstaff-inspector-max-characters)
               'face 'shadow)))))

(defun backstaff-inspector--break-lines (start)
  "Begin a line at each pair and each object from START to point, by its depth.
This is for plists, and for JSON that was cut, which cannot be parsed."
  (save-restriction
    (narrow-to-region start (point))
    (goto-char start)
    (let ((depth 0))
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
              ((match-beginning 3) (cl-decf depth)))))))

(provide 'backstaff-ui-inspector)
;;; backstaff-ui-inspector.el ends here
