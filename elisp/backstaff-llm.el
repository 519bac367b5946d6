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
;; llm hands over nil for false and for a missing argument alike, so that false
;; would be lost where an argument is true by default.  A model sees such a
;; parameter as one of the words true and false.

;;; Code:

(require 'backstaff-agent)

(declare-function llm-make-tool "ext:llm" (&rest slots))

;;;###autoload
(defun backstaff-llm-tools (&optional toolsets)
  "Return the tools of TOOLSETS as a fresh list of objects for llm.
TOOLSETS is the name of a toolset, a list of names, or nil for all.  Tools
that the server's policy denies are left out.

Never signal an error: where there are no tools, warn and return nil."
  (cl-flet ((word-p (parameter)
              (and (eq (plist-get parameter :type) :boolean)
                   (eq (plist-get parameter :default) t))))
    (backstaff-agent-or-warn
     'llm "call `backstaff-llm-tools' again."
     (lambda ()
       (cl-loop
        for tool in (backstaff-agent-tools toolsets)
        for parameters = (plist-get tool :arguments)
        collect
        (let ((function (backstaff-agent-function tool nil "llm")) (parameters parameters))
          (llm-make-tool
           :name (copy-sequence (plist-get tool :name))
           :description (copy-sequence (plist-get tool :description))
           :args (cl-mapcar (lambda (parameter published)
                              (if (word-p parameter)
                                  `(,@(plist-put published :type 'string) :enum ["true" "false"])
                                published))
                            parameters (backstaff-agent-parameters tool))
           :function (lambda (callback &rest values)
                       (apply function callback
                              (cl-mapcar (lambda (parameter value)
                                           (if (word-p parameter)
                                               (pcase value ("true" t) ("false" :false) (_ value))
                                             value))
                                         parameters values)))
           :async t)))))))

(provide 'backstaff-llm)
;;; backstaff-llm.el ends here
