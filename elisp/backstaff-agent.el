;;; backstaff-agent.el --- Tools for libraries of agents  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A library of agents needs of a tool a name that no other has, a list of parameters, and a
;; function that takes a callback and the arguments by position.  This file makes them from
;; the server's descriptions.  The root is that of the current buffer when the model calls.

;;; Code:

(require 'map)
(require 'backstaff)

(defcustom backstaff-agent-max-output-bytes 24576
  "Maximum number of bytes of text that an agent gets for a call.
The server cuts a longer text and says so."
  :type 'natnum :group 'backstaff :package-version '(backstaff . "0.1.0"))

(defun backstaff-agent-definitions ()
  "Return all tools as in `backstaff-tools', but with the texts for models.
No two have the same `:name': if toolsets share one it is agent-q's, and the
others go by their ids, as in \"forge_list_directory\".  Descriptions call the
tools by these names.  Arguments that few calls need are left out."
  (cl-loop with limit = (format "%d bytes" backstaff-agent-max-output-bytes)
           for tool in (backstaff-tools)
           for model = (plist-get tool :model)
           collect `(:name ,(plist-get model :name)
                     :description ,(plist-get model :description)
                     :arguments ,(cl-loop for parameter in (plist-get tool :arguments)
                                          for text in (plist-get model :arguments)
                                          unless (plist-get parameter :hidden)
                                          collect `(:description
                                                    ,(string-replace "24576 bytes" limit text)
                                                    ,@parameter))
                     ,@tool)))

(defun backstaff-agent-tools (&optional toolsets)
  "Return the `backstaff-agent-definitions' that the server's policy does not deny.
TOOLSETS is the name of a toolset, such as \"forge\", or of a tool, such as
\"tree\", or a list of names, or nil for all."
  (let ((tools (backstaff-agent-definitions)))
    (seq-remove
     (lambda (tool) (eq (plist-get tool :policy) :deny))
     (if (null toolsets) tools
       (cl-loop for name in (ensure-list toolsets)
                append (or (seq-filter (lambda (tool)
                                         (cl-loop for key in '(:toolset :name :id)
                                                  thereis (equal (plist-get tool key) name)))
                                       tools)
                           (user-error "There is no toolset and no tool %s" name)))))))

(defun backstaff-agent-or-warn (library remedy function)
  "Load LIBRARY, call FUNCTION and return its value.
If an error is signalled, return nil, so that an init file goes on.  A warning
gives the error and REMEDY, which is for when its cause is gone."
  (condition-case problem
      (if (require library nil t)
          (funcall function)
        (user-error "Install %s first: it cannot be found" library))
    (error
     (display-warning 'backstaff (format "%s.\nThen %s" (backstaff-error-text problem) remedy))
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
text of the reply, or of an error, after \"Error: \"."
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
             (funcall callback (backstaff-agent-count id reply))
           (error (message "%s's callback for %s failed: %s" library id
                           (error-message-string problem)))))
       (list :text-only t :agent t :offer (if (functionp offer) (funcall offer) offer)
             :max-output-bytes backstaff-agent-max-output-bytes))
      nil)))

;;; Figures

(defvar backstaff-agent--counts (make-hash-table :test #'equal)
  "The figures by the ids of tools: lists (CALLS BYTES CUT REFUSED).
They are in memory alone.  No argument and no text is kept.")

(defun backstaff-agent-count (id reply)
  "Count an agent's call of the tool ID that got REPLY, and return its text.
Refused is a call that the policy, the user or the sandbox did not allow.  Cut
is an answer that lacks something, for the limit in bytes or another one."
  (let ((text (plist-get reply :text))
        (refused (member (plist-get (plist-get reply :error) :code)
                         '("POLICY_DENIED" "APPROVAL_REQUIRED" "APPROVAL_REFUSED"
                           "SANDBOX_VIOLATION"))))
    (puthash id
             (cl-mapcar #'+ (gethash id backstaff-agent--counts '(0 0 0 0))
                        (list 1 (string-bytes text) (if (plist-get reply :truncated) 1 0)
                              (if refused 1 0)))
             backstaff-agent--counts)
    text))

;;;###autoload
(defun backstaff-usage ()
  "Show how often agents in this Emacs called each tool.
The figures are those of gptel, llm and Agent-Q since Backstaff was loaded."
  (interactive)
  (with-help-window "*backstaff usage*"
    (princ (format "%-30s %6s %9s %6s %8s\n" "tool" "calls" "bytes" "cut" "refused"))
    (dolist (row (sort (map-pairs backstaff-agent--counts)
                       (lambda (one other) (string< (car one) (car other)))))
      (princ (apply #'format "%-30s %6d %9d %6d %8d\n" row)))))

(provide 'backstaff-agent)
;;; backstaff-agent.el ends here
