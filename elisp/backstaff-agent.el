;;; backstaff-agent.el --- What every agent gets  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent's library wants three things of a tool: a name that no other tool
;; has, a list of arguments, and a function that takes a callback and the
;; arguments by position.  They are made here of what the server says of its
;; tools, so that no adapter knows any tool: `backstaff-agent-tools',
;; `backstaff-agent-parameters' and `backstaff-agent-function'.
;;
;; Such a library waits for the callback of each tool before its model may go
;; on, and few of them catch an error.  So the function never signals one, and
;; the callback is called once, with text, whatever happens.
;;
;; The root is that of the project that the current buffer is in when the model
;; calls.  No argument of the model's can change it.

;;; Code:

(require 'backstaff)


;;; Options

(defcustom backstaff-agent-max-output-bytes 16384
  "How many bytes a tool may answer an agent with.
The server keeps to it, and says what it left out.  If nil, the server's
own settings count."
  :type '(choice (const :tag "The server's settings" nil)
                 (integer :tag "Bytes"))
  :group 'backstaff)


;;; Tools

(defun backstaff-agent-tools (&optional toolsets)
  "Return the tools of TOOLSETS that the server's policy does not deny.
TOOLSETS is the name of a toolset, such as \"forge\", a list of names, or
nil for all.  A tool is a plist as `backstaff-tools' has it, but for its
`:name', which is unlike any other: where two tools share one, the second
goes by its id, as in \"forge_list_directory\"."
  (let ((names nil) (chosen nil))
    (dolist (tool (backstaff-agent--chosen toolsets))
      (unless (eq (plist-get tool :policy) :deny)
        (let ((name (backstaff-agent--name tool names)))
          (push name names)
          (push `(:name ,name ,@tool) chosen))))
    (nreverse chosen)))

(defun backstaff-agent--chosen (toolsets)
  "Return the tools of TOOLSETS, in the order of these; nil stands for all."
  (let ((tools (backstaff-tools)))
    (if (null toolsets) tools
      (cl-loop for toolset in (if (listp toolsets) toolsets (list toolsets))
               append (or (backstaff-agent--of-toolset toolset tools)
                          (backstaff-agent--unknown toolset tools))))))

(defun backstaff-agent--of-toolset (toolset tools)
  "Return those of TOOLS that belong to TOOLSET."
  (cl-remove-if-not (lambda (tool) (equal (plist-get tool :toolset) toolset))
                    tools))

(defun backstaff-agent--unknown (toolset tools)
  "Signal that none of TOOLS belongs to TOOLSET."
  (user-error "There is no toolset %s; there are: %s" toolset
              (string-join
               (delete-dups (mapcar (lambda (tool) (plist-get tool :toolset))
                                    tools))
               ", ")))

(defun backstaff-agent--name (tool taken)
  "Return a name for TOOL that is not in TAKEN and that any model takes."
  (let ((name (plist-get tool :name)))
    (if (member name taken)
        (replace-regexp-in-string "[^a-zA-Z0-9]" "_" (plist-get tool :id))
      name)))


;;; Parameters

(defun backstaff-agent-parameters (tool)
  "Return the parameters of TOOL as gptel and llm want them, as a fresh list.
Both read the same plists: `:name', `:type', a symbol, `:description',
`:enum', a vector, `:items' and `:optional'."
  (mapcar #'backstaff-agent--parameter (plist-get tool :arguments)))

(defun backstaff-agent--parameter (parameter)
  "Return PARAMETER, which the server described, as a fresh plist."
  (let ((description (plist-get parameter :description))
        (enum (plist-get parameter :enum))
        (items (plist-get parameter :items)))
    `(:name ,(copy-sequence (plist-get parameter :name))
      :type ,(backstaff-agent--symbol (plist-get parameter :type))
      ,@(and description (list :description (copy-sequence description)))
      ,@(and enum (list :enum (vconcat (mapcar #'copy-sequence enum))))
      ,@(and items (list :items (list :type (backstaff-agent--symbol items))))
      ,@(and (not (plist-get parameter :required)) (list :optional t)))))

(defun backstaff-agent--symbol (keyword)
  "Return the symbol named as KEYWORD is, but for the colon."
  (intern (substring (symbol-name keyword) 1)))


;;; Calls

(defun backstaff-agent-function (tool &optional approved-function)
  "Return a function that calls TOOL, for a library of agents.
It takes a callback and then a value for each parameter of TOOL, in their
order; nil and `:null' stand for an argument that is missing.

APPROVED-FUNCTION is called without arguments, at each call; if it returns
non-nil, then somebody has approved of that call."
  (let ((id (plist-get tool :id))
        (parameters (plist-get tool :arguments)))
    (lambda (callback &rest values)
      (backstaff-agent-call
       id (backstaff-agent--arguments parameters values) callback
       (and approved-function (funcall approved-function) '(:approved t))))))

(defun backstaff-agent--arguments (parameters values)
  "Return VALUES of PARAMETERS, in the same order, as a plist."
  (cl-loop for parameter in parameters
           for value in values
           append (backstaff-agent--argument parameter value)))

(defun backstaff-agent--argument (parameter value)
  "Return a plist that says that PARAMETER has VALUE, or nil if it is missing."
  (let ((key (intern (concat ":" (plist-get parameter :name)))))
    (cond ((memq value '(:json-false :false)) (list key :false))
          ((not (memq value '(nil :null))) (list key value))
          ;; One that must be there is there: this is what false looks like
          ;; where a library tells it from a missing one no more.
          ((and (plist-get parameter :required)
                (eq (plist-get parameter :type) :boolean))
           (list key :false)))))

(defun backstaff-agent-call (id args callback &optional context)
  "Call the tool ID with ARGS and return at once; never signal anything.
CALLBACK is called exactly once, later, with text, never nil: the tool's,
or what went wrong, after \"Error: \".  ID, ARGS and CONTEXT are as in
`backstaff-call', but the text is no longer than agents shall get."
  (let* ((debug-on-signal nil)
         (answered nil)
         (answer (lambda (text)
                   (unless answered
                     (setq answered t)
                     (funcall callback (backstaff--plain-text text))))))
    (condition-case problem
        (backstaff-call-async
         id args (lambda (reply) (funcall answer (plist-get reply :text)))
         (append context (backstaff-agent-limits) '(:text-only t)))
      ;; A quit may come when the call is on its way already.
      ((error quit)
       (run-at-time 0 nil answer (backstaff--error-text problem))))
    nil))

(defun backstaff-agent-limits ()
  "Return what the context of an agent's call says of the size of the answer."
  (and backstaff-agent-max-output-bytes
       (list :max-output-bytes backstaff-agent-max-output-bytes)))

(provide 'backstaff-agent)
;;; backstaff-agent.el ends here
