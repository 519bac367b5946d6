;;; backstaff-agent.el --- Tools for libraries of agents  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A library of agents needs three things of a tool: a name that no other tool
;; has, a list of parameters, and a function that takes a callback and the
;; arguments by position.  This file makes them from the server's descriptions,
;; so that no adapter knows any tool.
;;
;; A model goes on after the callbacks of all its tools were called, and few
;; libraries catch an error.  Therefore the function never signals one, and it
;; calls the callback once, with text.
;;
;; The root is that of the project that the current buffer is in when the model
;; calls.  No argument of the model can change it.

;;; Code:

(require 'backstaff-agent-usage)
(require 'backstaff-names)

(defcustom backstaff-agent-max-output-bytes 16384
  "Maximum number of bytes of text that an agent gets for a call.
The server cuts a longer text and says so.  If nil, the server's own settings
count."
  :type '(choice (const :tag "The server's settings" nil) (integer :tag "Bytes"))
  :group 'backstaff
  :package-version '(backstaff . "0.1.0"))

(defun backstaff-agent-definitions ()
  "Return all tools as in `backstaff-tools', but with the texts for models.
No two have the same `:name', whichever of them an agent gets: if toolsets
share a name it is agent-q's, and the others go by their ids, as in
\"forge_list_directory\".  Descriptions call the tools by these names, and
that of an argument has its default and limits, and that of some the limit
`backstaff-agent-max-output-bytes'.  Arguments that few calls need are left
out."
  (cl-loop with limit = (format "%d bytes" (or backstaff-agent-max-output-bytes 16384))
           for tool in (backstaff-tools)
           for model = (plist-get tool :model)
           collect `(:name ,(plist-get model :name)
                     :description ,(plist-get model :description)
                     :arguments ,(cl-loop for parameter in (plist-get tool :arguments)
                                          for text in (plist-get model :arguments)
                                          unless (plist-get parameter :hidden)
                                          collect `(:description
                                                    ,(string-replace "16384 bytes" limit text)
                                                    ,@parameter))
                     ,@tool)))

(defun backstaff-agent-tools (&optional toolsets)
  "Return the tools of TOOLSETS that the server's policy does not deny.
TOOLSETS is the name of a toolset, such as \"forge\", or of a tool, such as
\"tree\", or a list of names, or nil for all.  A tool is a plist as in
`backstaff-agent-definitions'."
  (let* ((tools (backstaff-agent-definitions))
         (groups (seq-uniq (mapcar (lambda (tool) (plist-get tool :toolset)) tools))))
    (seq-remove
     (lambda (tool) (eq (plist-get tool :policy) :deny))
     (if (null toolsets) tools
       (cl-loop for name in (ensure-list toolsets)
                append (or (seq-filter (lambda (tool)
                                         (cl-loop for key in '(:toolset :name :id)
                                                  thereis (equal (plist-get tool key) name)))
                                       tools)
                           (user-error "There is no toolset %s; there are: %s" name
                                       (string-join groups ", "))))))))

(defun backstaff-agent-or-warn (library remedy function)
  "Load LIBRARY, call FUNCTION and return its value.
If an error is signalled, return nil, so that an init file goes on.  A warning
gives the error and REMEDY, which is for when its cause is gone."
  (condition-case problem
      (if (require library nil t)
          (funcall function)
        (user-error "Install %s first: it cannot be found" library))
    (error
     (display-warning 'backstaff
                      (concat (backstaff-epc-error-text problem) ".\n"
                              (and (memq 'backstaff-error (get (car problem) 'error-conditions))
                                   (concat (backstaff-server-advice problem) ".\n"))
                              "Then " remedy))
     nil)))

(defun backstaff-agent-parameters (tool)
  "Return the parameters of TOOL as gptel and llm want them, as a fresh list.
Both read the same plists: `:name', `:type', a symbol, `:description',
`:enum', a vector, `:items' and `:optional'.  Items that are objects have
`:properties', which are part of a JSON Schema."
  (cl-flet ((symbol (keyword) (intern (substring (symbol-name keyword) 1)))
            (properties (name)
              (cl-reduce #'plist-get (list :properties (intern (concat ":" name)) :items :properties)
                         :initial-value (plist-get tool :parameters))))
    (cl-loop for parameter in (plist-get tool :arguments)
             collect
             (cl-destructuring-bind (&key name type description enum items required
                                          &allow-other-keys)
                 parameter
               `(:name ,(copy-sequence name) :type ,(symbol type)
                 :description ,(copy-sequence description)
                 ,@(and enum (list :enum (vconcat (mapcar #'copy-sequence enum))))
                 ,@(and items
                        `(:items (:type ,(symbol items)
                                  ,@(when-let ((parts (properties name)))
                                      (list :properties (copy-tree parts))))))
                 ,@(and (not required) (list :optional t)))))))

(defun backstaff-agent-function (tool offer library)
  "Return a function that calls TOOL, for the LIBRARY of agents with that name.
OFFER is a list of the names or ids of all tools that the model has, or a
function that returns one: no answer names another tool.

It takes a callback and then a value for each parameter of TOOL, in their
order; nil and `:null' stand for a missing argument.  It returns at once and
signals nothing.  The callback is called exactly once, later, with a string: the
text of the reply, which `backstaff-agent-max-output-bytes' limits, or of an
error, after \"Error: \".  If the callback signals an error, a message says so."
  (let ((id (plist-get tool :id)) (parameters (plist-get tool :arguments)))
    (lambda (callback &rest values)
      (backstaff-call-async
       id
       (cl-loop for parameter in parameters
                for value in values
                for key = (intern (concat ":" (plist-get parameter :name)))
                append (cond ((memq value '(:json-false :false)) (list key :false))
                             ((not (memq value '(nil :null))) (list key value))))
       (lambda (reply)
         (condition-case problem
             (funcall callback (backstaff-agent-usage-count id reply))
           (error (message "%s's callback for %s failed: %s" library id
                           (error-message-string problem)))))
       `(:text-only t :agent t :offer ,(if (functionp offer) (funcall offer) offer)
         ,@(and backstaff-agent-max-output-bytes
                (list :max-output-bytes backstaff-agent-max-output-bytes))))
      nil)))

;;; Skills

;;;###autoload
(defun backstaff-skills-catalog (&optional root)
  "Return a text for a system prompt about the skills of the project ROOT.
It names each skill that a model may invoke, with its description and its
file, as in \"- pdf: Fills forms (/home/me/.agents/skills/pdf/SKILL.md)\".
Return nil if there is none.

The server lists skills only if a directory under [tools.list_commands]
in its settings holds some.  The description of a skill is text of the
project, or of the skill's author: ask for it only where you trust them.

ROOT is that of `default-directory' by default.  This waits for the server.
Signal a `user-error' if the server lists nothing.  The text has at most
`backstaff-agent-max-output-bytes'."
  (let* ((skills
          (cl-loop
           for page from 1
           for reply = (backstaff-call "commands/list_commands" (list :page page :page_size 100)
                                       (and root (list :root root)))
           for data = (plist-get reply :data)
           for code = (plist-get (plist-get reply :error) :code)
           unless (or (plist-get reply :ok) (equal code "DIRECTORY_NOT_FOUND"))
           do (user-error "%s" (plist-get reply :text))
           append (cl-loop for entry in (plist-get data :commands)
                           when (plist-get entry :model-invocable)
                           collect (format "- %s: %s (%s)\n"
                                           (backstaff-names-show (plist-get entry :name))
                                           (backstaff-names-prose (plist-get entry :description))
                                           (backstaff-names-show (plist-get entry :path))))
           into skills
           while (plist-get (plist-get data :pagination) :has-next)
           finally return skills))
         (head "Skills, each with its file. When a task fits one, first read it with get_command,\
 and do as it says; search_commands finds those that have no room here. The files that a skill names\
 are beside its own; no tool here reads those of a skill outside the project.\n"))
    (and skills
         (backstaff-lisp-tools-clipped (apply #'concat head skills)
                                       (or backstaff-agent-max-output-bytes most-positive-fixnum)))))

(provide 'backstaff-agent)
;;; backstaff-agent.el ends here
