;;; backstaff-menu.el --- A menu of all that Backstaff can do  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; M-x backstaff opens a menu: the views, the server, and every tool that the
;; server has.  The tools come from its own description of them, so that a new
;; one is in the menu without a line of Lisp.  Choosing a tool opens a second
;; menu with its arguments, from which it is run or its call is copied.
;;
;; Fixed entries have a small letter each.  A tool has two letters: the first
;; of its toolset, as a capital, and the first of its own name that no tool
;; before it has.  An argument has a dash and a letter of its name.
;;
;; A server that cannot be reached takes nothing away but the tools: the menu
;; says why, and the log and the doctor are a key away.

;;; Code:

(require 'cl-lib)
(require 'eieio)
(require 'subr-x)
(require 'transient)
(require 'backstaff)
(require 'backstaff-arguments)
(require 'backstaff-inspector)


;;; Keys

(defun backstaff-menu--keys (prefixes names)
  "Return a key for each of NAMES, all different; PREFIXES starts each.
A key is its prefix and the first character of the name that is free: of
its words' first letters, then of all its letters, then of a to z and 0
to 9.  Names further on never change the key of one."
  (let ((keys nil))
    (cl-loop for prefix in prefixes
             for name in names
             do (push (or (cl-loop
                           for char across (backstaff-menu--candidates name)
                           for key = (concat prefix (string char))
                           unless (member key keys) return key)
                          (format "%s%d" prefix (length keys)))
                      keys))
    (nreverse keys)))

(defun backstaff-menu--candidates (name)
  "Return the characters to try as a key of NAME, the best first."
  (let ((words (split-string (downcase name) "[^a-z0-9]+" t)))
    (concat (mapconcat (lambda (word) (substring word 0 1)) words "")
            (string-join words)
            "abcdefghijklmnopqrstuvwxyz0123456789")))

(defun backstaff-menu--toolset-key (tool)
  "Return the capital letter with which the keys of TOOL's toolset start."
  (let ((id (upcase (plist-get tool :id))))
    (if (string-match "[A-Z]" id) (match-string 0 id) "X")))

(defun backstaff-menu--tool-name (tool)
  "Return the name of TOOL within its toolset."
  (let ((id (plist-get tool :id)))
    (substring id (if (string-match "/" id) (match-end 0) 0))))

(defun backstaff-menu--tools-with-keys (tools)
  "Return an alist of keys and TOOLS, sorted by id."
  (let ((tools (sort (copy-sequence tools)
                     (lambda (a b) (string< (plist-get a :id)
                                            (plist-get b :id))))))
    (cl-mapcar #'cons
               (backstaff-menu--keys
                (mapcar #'backstaff-menu--toolset-key tools)
                (mapcar #'backstaff-menu--tool-name tools))
               tools)))

(defun backstaff-menu--arguments-with-keys (tool)
  "Return an alist of keys and definitions of the arguments of TOOL."
  (let ((definitions (plist-get tool :arguments)))
    (cl-mapcar #'cons
               (backstaff-menu--keys
                (mapcar (lambda (_) "-") definitions)
                (mapcar (lambda (definition) (plist-get definition :name))
                        definitions))
               definitions)))


;;; What the server has

(defconst backstaff-menu--patience 2
  "For how many seconds the menu waits for the tools before it opens.")

(defvar backstaff-menu--tools nil
  "The tools that the menu offers.")

(defvar backstaff-menu--problem nil
  "Why the menu offers no tools, or nil.")

(defun backstaff-menu--learn ()
  "Learn what tools there are, in little time; a quit ends the wait.
An answer that comes later is at hand when the menu is opened again."
  (setq backstaff-menu--tools nil
        backstaff-menu--problem "The server has not answered yet")
  (let ((deadline (+ (float-time) backstaff-menu--patience))
        (answered nil))
    (condition-case problem
        (backstaff-server-tools-async
         :timeout backstaff-call-timeout
         :success-fn (lambda (tools)
                       (setq answered t)
                       (backstaff-menu--take tools))
         :error-fn (lambda (condition)
                     (setq answered t
                           backstaff-menu--problem
                           (backstaff-epc-error-text condition))))
      (backstaff-error
       (setq answered t
             backstaff-menu--problem (backstaff-epc-error-text problem))))
    (while (and (not answered) (< (float-time) deadline))
      (accept-process-output nil 0.05))))

(defun backstaff-menu--tool-p (tool)
  "Return non-nil if TOOL is the definition of a tool."
  ;; `plist-get' signals, in Emacs 28, on what is no list.
  (and (proper-list-p tool)
       (stringp (plist-get tool :id))
       (cl-every (lambda (definition)
                   (stringp (ignore-errors (plist-get definition :name))))
                 (plist-get tool :arguments))))

(defun backstaff-menu--take (tools)
  "Offer TOOLS, as the server described them."
  (setq backstaff-menu--tools
        (and (proper-list-p tools)
             (cl-remove-if-not #'backstaff-menu--tool-p tools))
        backstaff-menu--problem
        (and (null backstaff-menu--tools) "The server has no tools")))


;;; Entries made while the menu opens

(defun backstaff-menu--entry (prefix key description command &rest slots)
  "Return an entry of PREFIX as transient keeps it.
KEY, DESCRIPTION, COMMAND and SLOTS are as in a definition of a menu."
  ;; The version that Emacs 28 has offers no public name for this.
  (funcall (if (fboundp 'transient-parse-suffix) 'transient-parse-suffix
             'transient--parse-suffix)
           prefix (append (list key description command) slots)))

(defun backstaff-menu--command (name function documentation)
  "Make FUNCTION a command called NAME, with DOCUMENTATION, and return it.
It makes sense within the menu alone, so it is not offered elsewhere."
  (let ((symbol (intern (concat "backstaff-menu:" name))))
    (defalias symbol
      (lambda () (interactive) (funcall function))
      documentation)
    (put symbol 'completion-predicate #'ignore)
    symbol))

(defun backstaff-menu--tool-entries (_)
  "Return an entry for each tool."
  (cl-loop for (key . tool) in (backstaff-menu--tools-with-keys
                                backstaff-menu--tools)
           collect (backstaff-menu--tool-entry key tool)))

(defun backstaff-menu--tool-entry (key tool)
  "Return the entry that KEY chooses TOOL with."
  (backstaff-menu--entry
   'backstaff key (backstaff-menu--tool-title tool)
   (backstaff-menu--command
    (plist-get tool :id)
    (lambda () (backstaff-menu-tool tool))
    (format "Choose arguments for the tool %s." (plist-get tool :id)))
   ;; Quitting the second menu comes back to the first.
   :transient (if (fboundp 'transient--do-stack) 'transient--do-stack
                'transient--do-replace)))

(defun backstaff-menu--tool-title (tool)
  "Return the line that stands for TOOL."
  (concat (plist-get tool :id)
          (pcase (plist-get tool :policy)
            (:deny (propertize " denied" 'face 'warning))
            (:prompt (propertize " asks first" 'face 'warning)))))

(defun backstaff-menu--argument-entries (_)
  "Return an entry for each argument of the tool that was chosen."
  (let* ((tool (oref transient--prefix scope))
         (arguments (backstaff-menu--arguments-with-keys tool))
         (width (apply #'max 0 (mapcar (lambda (argument)
                                         (length (plist-get (cdr argument)
                                                            :name)))
                                       arguments))))
    (cl-loop for (key . definition) in arguments
             collect (backstaff-menu--entry
                      'backstaff-menu-tool key
                      (backstaff-menu--argument-title definition width)
                      (backstaff-menu--argument-command tool definition)))))

(defun backstaff-menu--argument-title (definition width)
  "Return the name of the argument of DEFINITION, WIDTH columns wide."
  (string-pad (plist-get definition :name) width))

(defun backstaff-menu--argument-command (tool definition)
  "Return a command that sets the argument of DEFINITION of TOOL."
  (let ((symbol (intern (format "backstaff-menu:%s:%s" (plist-get tool :id)
                                (plist-get definition :name)))))
    ;; The macro is the one way to make such a command that is the same in all
    ;; versions of transient.
    (eval `(transient-define-infix ,symbol ()
             ,(format "Set the argument %s of the tool %s."
                      (plist-get definition :name) (plist-get tool :id))
             :class 'backstaff-menu-argument
             :tool-argument ',definition)
          t)
    (put symbol 'completion-predicate #'ignore)
    symbol))


;;; Arguments

(defclass backstaff-menu-argument (transient-infix)
  ((tool-argument :initarg :tool-argument)
   (format :initform " %k %d  %v")
   (unsavable :initform t)
   (always-read :initform t))
  "An argument of a tool; `tool-argument' is its definition.")

(cl-defmethod transient-init-value ((obj backstaff-menu-argument))
  "Start with what the prefix says for OBJ, or with nothing."
  (oset obj value
        (alist-get (backstaff-arguments-keyword (oref obj tool-argument))
                   (oref transient--prefix value))))

(cl-defmethod transient-infix-read ((obj backstaff-menu-argument))
  "Toggle OBJ if it is a boolean, else read its new value."
  (let ((definition (oref obj tool-argument))
        (overriding-terminal-local-map nil))
    (if (eq (plist-get definition :type) :boolean)
        (backstaff-menu--toggle definition (oref obj value))
      (condition-case nil
          (backstaff-arguments-read-one
           (plist-put (copy-sequence definition) :required nil)
           (backstaff-menu--root) (oref obj value))
        (quit (oref obj value))))))

(cl-defmethod transient-infix-value ((obj backstaff-menu-argument))
  "Return the keyword and the value of OBJ, or nil if it has no value."
  (when-let ((value (oref obj value)))
    (cons (backstaff-arguments-keyword (oref obj tool-argument)) value)))

(cl-defmethod transient-format-value ((obj backstaff-menu-argument))
  "Return what OBJ is set to, or else what it is by default."
  (let ((value (oref obj value))
        (definition (oref obj tool-argument)))
    (cond (value
           (propertize (backstaff-arguments-value-text value)
                       'face 'transient-value))
          ((plist-get definition :required)
           (propertize "required" 'face 'warning))
          (t
           (propertize (backstaff-arguments-default-text definition)
                       'face 'transient-inactive-value)))))

(defun backstaff-menu--toggle (definition value)
  "Return what follows on VALUE of the boolean argument of DEFINITION.
Where it has a default there is but one other value."
  (pcase value
    ('nil (if (plist-get definition :default) :false t))
    ('t (if (plist-member definition :default) nil :false))))

(defun backstaff-menu--root ()
  "Return the root of the project that the menu was opened in."
  (with-current-buffer (or transient--original-buffer (current-buffer))
    (backstaff-root)))

(defun backstaff-menu--initial-arguments (tool)
  "Return an alist of what TOOL's arguments are likely to be.
That is the current file for what describes a file, else the directory."
  (let ((definition (cl-find-if #'backstaff-arguments-path-p
                                (plist-get tool :arguments)))
        ;; Where there is no root, as on another machine, nothing is likely.
        (root (ignore-errors (backstaff-root))))
    (and definition root
         `((,(backstaff-arguments-keyword definition)
            . ,(backstaff-menu--path-here
                root (and (eq (plist-get tool :result-kind) :file-info)
                          buffer-file-name)))))))

(defun backstaff-menu--path-here (root file)
  "Return the path of FILE, or of the current directory, below ROOT."
  (let ((path (expand-file-name (or file default-directory))))
    (if (string-prefix-p root path)
        (let ((path (directory-file-name (substring path (length root)))))
          (if (string-empty-p path) "." path))
      ".")))


;;; Running

(defun backstaff-menu--chosen-tool ()
  "Return the tool whose menu was left."
  (oref transient-current-prefix scope))

(defun backstaff-menu--chosen-arguments ()
  "Return the arguments chosen in the menu that was left, as a plist."
  (cl-loop for (keyword . value) in (transient-args 'backstaff-menu-tool)
           append (list keyword value)))

(defun backstaff-menu--complete-arguments (tool)
  "Return the arguments chosen for TOOL; ask for what is required and missing."
  (let ((arguments (backstaff-menu--chosen-arguments)))
    (cl-loop for definition in (backstaff-arguments-missing tool arguments)
             append (list (backstaff-arguments-keyword definition)
                          (backstaff-arguments-read-one
                           definition (backstaff-root) nil))
             into missing
             finally return (append arguments missing))))

(defun backstaff-menu--run (&optional forms)
  "Run the chosen tool and show its reply in FORMS, by default in all."
  (let ((tool (backstaff-menu--chosen-tool)))
    (backstaff-command-root)
    (backstaff-inspector-show (plist-get tool :id)
                              (backstaff-menu--complete-arguments tool)
                              forms)))

(transient-define-suffix backstaff-menu-run ()
  "Run the chosen tool and show its reply in all forms."
  :description "Run, show text, plist and JSON"
  (interactive)
  (backstaff-menu--run))

(transient-define-suffix backstaff-menu-show-text ()
  "Run the chosen tool and show the text of its reply and nothing else."
  :description "Run, show the text alone"
  (interactive)
  (backstaff-menu--run '(text)))

(transient-define-suffix backstaff-menu-copy-lisp ()
  "Copy the call of the chosen tool, as Lisp."
  :description "Copy the call as Lisp"
  :transient t
  (interactive)
  (backstaff-inspector--copy
   (backstaff-arguments-lisp (plist-get (backstaff-menu--chosen-tool) :id)
                             (backstaff-menu--chosen-arguments))))

(transient-define-suffix backstaff-menu-copy-json ()
  "Copy the arguments of the chosen tool, as JSON."
  :description "Copy the arguments as JSON"
  :transient t
  (interactive)
  (backstaff-inspector--copy
   (backstaff-arguments-json (backstaff-menu--chosen-arguments))))


;;; Menus

(defun backstaff-menu--heading ()
  "Return what stands above the menu."
  (let ((root (condition-case problem
                  (abbreviate-file-name (backstaff-root))
                (error (backstaff-epc-error-text problem)))))
    (concat (propertize "Backstaff " 'face 'transient-heading)
            (propertize root 'face 'shadow)
            (and backstaff-menu--problem
                 (concat "\n" (propertize backstaff-menu--problem
                                          'face 'error))))))

(defun backstaff-menu--tool-heading ()
  "Return what stands above the menu of a tool."
  (let ((tool (oref transient--prefix scope)))
    (concat (propertize (plist-get tool :id) 'face 'transient-heading)
            (propertize (concat "  " (plist-get tool :description))
                        'face 'shadow))))

(defun backstaff-menu-again ()
  "Ask the server again for its tools and open the menu anew."
  (interactive)
  (backstaff))

;;;###autoload (autoload 'backstaff "backstaff-menu" nil t)
(transient-define-prefix backstaff ()
  "Look around the current project, with Backstaff."
  [:description
   backstaff-menu--heading
   ("g" "Ask for the tools again" backstaff-menu-again)
   ("x" "Run a tool, asking for all" backstaff-run-tool)]
  [["Look"
    ("l" "List a directory" backstaff-list-directory
     :if (lambda () (fboundp 'backstaff-list-directory)))
    ("e" "List entries below" backstaff-list-entries
     :if (lambda () (fboundp 'backstaff-list-entries)))
    ("o" "Overview" backstaff-overview
     :if (lambda () (fboundp 'backstaff-overview)))
    ("f" "Find a file" backstaff-find-file
     :if (lambda () (fboundp 'backstaff-find-file)))
    ("t" "Tree" backstaff-tree
     :if (lambda () (fboundp 'backstaff-tree)))
    ("i" "File info" backstaff-file-info
     :if (lambda () (fboundp 'backstaff-file-info)))
    ("c" "Commands" backstaff-list-commands
     :if (lambda () (fboundp 'backstaff-list-commands)))
    ("k" "Find a command" backstaff-find-command
     :if (lambda () (fboundp 'backstaff-find-command)))]
   ["Tools"
    :class transient-column
    :setup-children backstaff-menu--tool-entries]
   ["Server"
    ("r" "Restart" backstaff-restart)
    ("s" "Stop" backstaff-stop)
    ("v" "View the log" backstaff-show-log)
    ("d" "Doctor" backstaff-doctor)
    ("n" "Install" backstaff-install-server)]]
  (interactive)
  (backstaff-menu--learn)
  (transient-setup 'backstaff))

(transient-define-prefix backstaff-menu-tool (tool)
  "Choose arguments for TOOL, a definition, and run it."
  [:description
   backstaff-menu--tool-heading
   :class transient-column
   :setup-children backstaff-menu--argument-entries]
  ["Do"
   ("RET" backstaff-menu-run)
   ("t" backstaff-menu-show-text)
   ("w" backstaff-menu-copy-lisp)
   ("j" backstaff-menu-copy-json)]
  (interactive (list (backstaff-inspector--read-tool)))
  (transient-setup 'backstaff-menu-tool nil nil
                   :scope tool
                   :value (backstaff-menu--initial-arguments tool)))

(provide 'backstaff-menu)
;;; backstaff-menu.el ends here
