;;; backstaff-llm.el --- The tools for the llm library  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-llm-tools' returns the tools as the llm library wants them:
;;
;;   (llm-chat-async provider
;;                   (llm-make-chat-prompt "What is in this project?"
;;                                         :tools (backstaff-llm-tools))
;;                   #'success #'failure)
;;
;; To a tool, llm hands over nil for false and for a missing argument alike.
;; Where an argument is true by default, false would go unheard.  A model is
;; told of such a parameter that it is one of the words true and false.

;;; Code:

(require 'backstaff-agent)

(declare-function llm-make-tool "ext:llm" (&rest slots))

;;;###autoload
(defun backstaff-llm-tools (&optional toolsets)
  "Return the tools of TOOLSETS as a fresh list of objects for llm.
TOOLSETS is the name of a toolset, a list of names, or nil for all.  Tools
that the server's policy denies are left out."
  (unless (require 'llm nil t)
    (user-error "Install llm first: it cannot be found"))
  (mapcar #'backstaff-llm--make-tool (backstaff-agent-tools toolsets)))

(defun backstaff-llm--make-tool (tool)
  "Return TOOL, of `backstaff-agent-tools', as llm's object."
  (llm-make-tool
   :name (copy-sequence (plist-get tool :name))
   :description (copy-sequence (plist-get tool :description))
   :args (cl-mapcar #'backstaff-llm--parameter
                    (plist-get tool :arguments)
                    (backstaff-agent-parameters tool))
   :function (backstaff-llm--function tool)
   :async t))

(defun backstaff-llm--function (tool)
  "Return the function that llm calls for TOOL."
  (let ((function (backstaff-agent-function tool))
        (parameters (plist-get tool :arguments)))
    (lambda (callback &rest values)
      (apply function callback
             (cl-mapcar #'backstaff-llm--value parameters values)))))

(defun backstaff-llm--true-by-default-p (parameter)
  "Return non-nil if PARAMETER, as the server described it, is true unless said."
  (and (eq (plist-get parameter :type) :boolean)
       (eq (plist-get parameter :default) t)))

(defun backstaff-llm--parameter (parameter published)
  "Return PUBLISHED, made of PARAMETER, as a model of llm's shall see it."
  (if (backstaff-llm--true-by-default-p parameter)
      `(,@(plist-put published :type 'string) :enum ["true" "false"])
    published))

(defun backstaff-llm--value (parameter value)
  "Return VALUE of PARAMETER, as llm hands it over, as the server takes it."
  (if (backstaff-llm--true-by-default-p parameter)
      (pcase value ("true" t) ("false" :false) (_ value))
    value))

(provide 'backstaff-llm)
;;; backstaff-llm.el ends here
