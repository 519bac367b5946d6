;;; backstaff-ui-menu.el --- A menu of commands and tools  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; M-x backstaff opens a menu of the views, the server, and all tools that the server
;; describes.  Choosing a tool opens a second menu with its arguments.
;;
;; Fixed entries have the key of one small letter.  The key of a tool is the first
;; letter of its toolset, as a capital, and a letter of its name, such as "Al" for
;; agent-q/list_directory.  The key of an argument is a dash and a letter of its name.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'transient)
(require 'backstaff-ui-arguments)
(require 'backstaff-ui-inspector)
(require 'backstaff-ui-path)
(require 'backstaff-ui-prompt)
(require 'backstaff-ui-view)

(defconst backstaff-menu--patience 2
  "Seconds that the menu waits for the tools before it opens.")

(defconst backstaff-menu--gc-cons-threshold (* 32 1024 1024)
  "How much may be allocated for a menu before garbage is collected.")

(defvar backstaff-menu--tools nil
  "The definitions of the tools in the menu.")

(defvar backstaff-menu--problem nil
  "The reason why the menu has no tools, or nil.")

(defvar backstaff-menu--new nil
  "Non-nil if the menu is what started the server.")

(defvar backstaff-menu--letter nil
  "The key of the toolset that the user chose last.")

(defvar backstaff-menu--tool nil
  "The definition of the tool that the user chose last.")

(defvar backstaff-menu--values nil
  "The values of this tool's arguments, an alist by their definitions.")

(defun backstaff-menu--with-keys (items prefix name)
  "Return an alist of keys, all different, and ITEMS.
PREFIX and NAME are functions of an item.  A key is the prefix and the first
free character of these: the initials of the words in the name, all letters of
the name, a to z, 0 to 9.  An item never changes the key of an earlier one."
  (let ((alist nil))
    (dolist (item items (nreverse alist))
      (let ((words (split-string (downcase (funcall name item)) "[^a-z0-9]+" t)))
        (push (cons (or (cl-loop for char across
                                 (concat (mapconcat (lambda (word) (substring word 0 1))
                                                    words "")
                                         (string-join words)
                                         "abcdefghijklmnopqrstuvwxyz0123456789")
                                 for key = (concat (funcall prefix item) (string char))
                                 unless (assoc key alist) return key)
                        (format "%s%d" (funcall prefix item) (length alist)))
                    item)
              alist)))))

(defun backstaff-menu--tools-with-keys (tools)
  "Return an alist of keys and TOOLS, sorted by id."
  (cl-flet ((id (tool) (plist-get tool :id)))
    (backstaff-menu--with-keys
     (cl-sort (copy-sequence tools) #'string< :key #'id)
     (lambda (tool)
       (substring (concat (replace-regexp-in-string "[^A-Z]+" "" (upcase (id tool)) t) "X")
                  0 1))
     (lambda (tool) (replace-regexp-in-string "\\`[^/]*/" "" (id tool))))))

(defun backstaff-menu--entry (prefix key names function &rest slots)
  "Return an entry of the menu PREFIX; KEY calls FUNCTION.
The entry needs a command, which gets a name of the strings NAMES.  SLOTS are
as in the definition of a menu."
  (let ((command (intern (string-join (cons "backstaff-menu" names) ":"))))
    (defalias command (lambda () (interactive) (funcall function))
      "Choose this entry of the menu.")
    ;; The command is useless outside of the menu.
    (put command 'completion-predicate #'ignore)
    ;; The version of transient in Emacs 28 has no public name for this.
    (funcall (if (fboundp 'transient-parse-suffix) 'transient-parse-suffix
               'transient--parse-suffix)
             prefix `(,key ,command ,@slots))))

(defun backstaff-menu--stack ()
  "Return the slots of an entry whose menu returns to this one when it is quit."
  (list :transient (if (fboundp 'transient--do-stack) 'transient--do-stack
                     'transient--do-replace)))

(defun backstaff-menu--toolset-entries (_)
  "Return an entry for each toolset; its key is the first of the keys of its tools."
  (let ((toolsets nil))
    (pcase-dolist (`(,key . ,tool) (backstaff-menu--tools-with-keys backstaff-menu--tools))
      (cl-pushnew (car (split-string (plist-get tool :id) "/"))
                  (alist-get (substring key 0 1) toolsets nil nil #'equal)
                  :test #'equal))
    (mapcar (pcase-lambda (`(,letter . ,names))
              (apply #'backstaff-menu--entry 'backstaff letter (list "toolset" letter)
                     (lambda () (backstaff-menu-toolset letter))
                     :description (string-join (reverse names) ", ")
                     (backstaff-menu--stack)))
            (reverse toolsets))))

(defun backstaff-menu--tool-entries (_)
  "Return an entry for each tool of the chosen toolset."
  (cl-loop for (key . tool) in (backstaff-menu--tools-with-keys backstaff-menu--tools)
           when (string-prefix-p backstaff-menu--letter key)
           collect (let ((tool tool))
                     (apply #'backstaff-menu--entry
                            'backstaff-menu-toolset (substring key 1) (list (plist-get tool :id))
                            (lambda () (backstaff-menu-tool tool))
                            :description
                            (concat (plist-get tool :id)
                                    (pcase (plist-get tool :policy)
                                      (:deny (propertize " denied" 'face 'warning))
                                      (:prompt (propertize " asks first" 'face 'warning))))
                            (backstaff-menu--stack)))))

(defun backstaff-menu--argument-entries (_)
  "Return an entry for each argument of the chosen tool."
  (let* ((arguments (backstaff-menu--with-keys
                     (plist-get backstaff-menu--tool :arguments) (lambda (_) "-")
                     (lambda (definition) (plist-get definition :name))))
         (width (cl-loop for (_ . definition) in arguments
                         maximize (length (plist-get definition :name)))))
    (mapcar (pcase-lambda (`(,key . ,definition))
              (let ((name (plist-get definition :name)))
                (backstaff-menu--entry
                 'backstaff-menu-tool key (list (plist-get backstaff-menu--tool :id) name)
                 (lambda () (backstaff-menu--set definition))
                 :description
                 (lambda ()
                   (concat
                    (string-pad name width) "  "
                    (if-let ((value (alist-get definition backstaff-menu--values)))
                        (propertize (backstaff-arguments-value-text value)
                                    'face 'transient-value)
                      (propertize (backstaff-arguments-default-text definition)
                                  'face (if (plist-get definition :required) 'warning
                                          'transient-inactive-value)))))
                 :transient t)))
            arguments)))

(defun backstaff-menu--set (definition)
  "Toggle the argument of DEFINITION if it is a boolean, else read its value."
  (let ((value (alist-get definition backstaff-menu--values)))
    (setf (alist-get definition backstaff-menu--values)
          (if (eq (plist-get definition :type) :boolean)
              (pcase value
                ('nil (if (plist-get definition :default) :false t))
                ;; With a default there is one other value, else two.
                ('t (if (plist-member definition :default) nil :false)))
            (condition-case nil
                (backstaff-arguments-read-one
                 (plist-put (copy-sequence definition) :required nil)
                 (backstaff-root) value)
              (quit value))))))

(defun backstaff-menu--initial-values (tool)
  "Return an alist of initial values of TOOL's arguments, by their definitions.
A path is the visited file for a tool that describes or reads files, else the
current directory."
  ;; On another machine there may be no root, and then no path.
  (when-let ((definition (cl-find-if #'backstaff-arguments-path-p
                                     (plist-get tool :arguments)))
             (root (ignore-errors (backstaff-root))))
    (let ((path (or (cadr (backstaff-inspector-initial-arguments tool root))
                    (backstaff-path-relative root default-directory))))
      `((,definition . ,(if (file-name-absolute-p path) "." path))))))

(defun backstaff-menu--arguments ()
  "Return the arguments of the chosen tool as a plist."
  (cl-loop for definition in (plist-get backstaff-menu--tool :arguments)
           for value = (alist-get definition backstaff-menu--values)
           when value append (list (backstaff-arguments-keyword definition) value)))

(defun backstaff-menu--run (forms)
  "Run the chosen tool and show its reply in FORMS.
Ask for required arguments without a value."
  (let ((root (backstaff-command-root)))
    (dolist (definition (plist-get backstaff-menu--tool :arguments))
      (when (plist-get definition :required)
        (cl-callf or (alist-get definition backstaff-menu--values)
          (backstaff-arguments-read-one definition root nil))))
    (backstaff-inspector-show (plist-get backstaff-menu--tool :id)
                              (backstaff-menu--arguments) forms)))

(defun backstaff-menu-run ()
  "Run the chosen tool and show its reply in all forms."
  (interactive)
  (backstaff-menu--run '(text plist json)))

(defun backstaff-menu-show-text ()
  "Run the chosen tool and show only the text of its reply."
  (interactive)
  (backstaff-menu--run '(text)))

(defun backstaff-menu-copy-lisp ()
  "Copy the call of the chosen tool as Lisp."
  (interactive)
  (backstaff-inspector-copy
   (backstaff-arguments-lisp (plist-get backstaff-menu--tool :id)
                             (backstaff-menu--arguments))))

(defun backstaff-menu-copy-json ()
  "Copy the arguments of the chosen tool as JSON."
  (interactive)
  (backstaff-inspector-copy (backstaff-arguments-json (backstaff-menu--arguments))))

(defun backstaff-menu--fetch-tools ()
  "Fetch the tools from the server, or note the reason why there are none."
  (condition-case problem
      (let ((tools (let ((backstaff-call-timeout backstaff-menu--patience))
                     ;; To load takes Emacs about as long as the server needs for its start.
                     (backstaff-tools #'backstaff-menu--load))))
        (setq backstaff-menu--tools
              (and (proper-list-p tools)
                   (cl-remove-if-not
                    (lambda (tool)
                      (ignore-errors    ; another server's answer may be no plist
                        (and (stringp (plist-get tool :id))
                             (cl-every (lambda (definition)
                                         (stringp (plist-get definition :name)))
                                       (plist-get tool :arguments)))))
                    tools))
              backstaff-menu--problem
              (unless backstaff-menu--tools "The server has no tools")))
    (backstaff-error
     (setq backstaff-menu--tools nil
           backstaff-menu--problem
           (concat (backstaff-epc-error-text problem) "\n"
                   (backstaff-server-advice problem))))))

(defun backstaff-menu--load ()
  "Load the commands of the menu's entries, which transient would load later."
  (map-keymap (lambda (_ command)
                (when (symbolp command)
                  (autoload-do-load (symbol-function command) command)))
              backstaff-map))

(defun backstaff-menu--title ()
  "Return what stands above the menu: the root, and what to do first."
  (concat (propertize "Backstaff " 'face 'transient-heading)
          (propertize (condition-case problem
                          (abbreviate-file-name (backstaff-root))
                        (error (backstaff-epc-error-text problem)))
                      'face 'shadow)
          (cond (backstaff-menu--problem
                 (concat "\n" (propertize backstaff-menu--problem 'face 'error)
                         "\nThen type g.  d checks everything that Backstaff needs."))
                (backstaff-menu--new
                 "\nNew here?  o shows this project on a page, d checks the installation."))))

(defun backstaff-menu--works-p ()
  "Return non-nil if there are tools, so that looking at things works."
  (not backstaff-menu--problem))

;;;###autoload (autoload 'backstaff "backstaff-ui-menu" nil t)
(transient-define-prefix backstaff ()
  "Look at the current project with Backstaff.
Where the server does not start, say what to do about it."
  ;; All of it has room in 24 lines of 80 columns.
  [:description backstaff-menu--title
   ["Look"
    :if backstaff-menu--works-p
    ("l" "List a directory" backstaff-list-directory)
    ("e" "List, Forge's way" backstaff-list-entries)
    ("o" "Overview" backstaff-overview)
    ("f" "Find a file" backstaff-find-file)
    ("/" "Search in files" backstaff-search)
    ("t" "Tree" backstaff-tree)
    ("=" "Changes since a commit" backstaff-changes)
    ("i" "File info" backstaff-file-info)
    ("c" "Commands" backstaff-list-commands)
    ("k" "Find a command" backstaff-find-command)]
   ["Tools"
    :if backstaff-menu--works-p
    :class transient-column
    :setup-children backstaff-menu--toolset-entries]
   ["Server"
    ("x" "Run a tool" backstaff-run-tool :if backstaff-menu--works-p)
    ("g" "Fetch tools" backstaff)
    ("r" "Restart" backstaff-restart)
    ("s" "Stop" backstaff-stop)
    ("v" "View the log" backstaff-show-log)
    ("d" "Doctor" backstaff-doctor)
    ("n" "Install" backstaff-install-server)
    ("p" "Tools for gptel" backstaff-gptel-register)]]
  (interactive)
  (backstaff-prompt-install)
  (setq backstaff-menu--new (null (backstaff-server-status)))
  ;; The first menu loads a lot, and collecting the garbage of that took a third of Emacs's time.
  (let ((gc-cons-threshold (max gc-cons-threshold backstaff-menu--gc-cons-threshold)))
    (backstaff-menu--fetch-tools)
    (transient-setup 'backstaff)))

(transient-define-prefix backstaff-menu-toolset (letter)
  "Choose a tool of the toolset whose key is LETTER."
  ["Tools"
   :class transient-column
   :setup-children backstaff-menu--tool-entries]
  (interactive (list backstaff-menu--letter))
  (setq backstaff-menu--letter letter)
  (transient-setup 'backstaff-menu-toolset))

(transient-define-prefix backstaff-menu-tool (tool)
  "Choose arguments for TOOL, a definition, and run it."
  ;; What to do stands first, as many arguments do not fit into 24 lines.
  [:description
   (lambda () (propertize (plist-get backstaff-menu--tool :id) 'face 'transient-heading))
   :class transient-row
   ("RET" "Run" backstaff-menu-run)
   ("t" "Run, text alone" backstaff-menu-show-text)
   ("w" "Copy as Lisp" backstaff-menu-copy-lisp :transient t)
   ("j" "Copy arguments as JSON" backstaff-menu-copy-json :transient t)]
  [:description
   (lambda () (propertize (string-fill (plist-get backstaff-menu--tool :description)
                                       (- (frame-width) 2))
                          'face 'shadow))
   :class transient-column
   :setup-children backstaff-menu--argument-entries]
  (interactive (list (backstaff-inspector-read-tool)))
  (setq backstaff-menu--tool tool
        backstaff-menu--values (backstaff-menu--initial-values tool))
  (transient-setup 'backstaff-menu-tool))

(provide 'backstaff-ui-menu)
;;; backstaff-ui-menu.el ends here
