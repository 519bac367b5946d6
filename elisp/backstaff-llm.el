;;; backstaff-llm.el --- The tools for the llm library  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; llm hands over nil for false and for a missing argument alike, so that false
;; would be lost where an argument is true by default.  A model sees such a
;; parameter as one of the words true and false, which the server takes.

;;; Code:

(require 'backstaff-agent)

(declare-function llm-make-tool "ext:llm" (&rest slots))

;;;###autoload
(defun backstaff-llm-tools (&optional toolsets)
  "Return the tools of TOOLSETS as a fresh list of objects for llm.
TOOLSETS is the name of a toolset or tool, a list of names, or nil for all.
Tools that the server's policy denies are left out.  Answers name only tools
of this list, so give all of them to the model.

Never signal an error: where there are no tools, warn and return nil."
  (backstaff-agent-or-warn
   'llm "call `backstaff-llm-tools' again."
   (lambda ()
     (let* ((tools (backstaff-agent-tools toolsets))
            (offer (mapcar (lambda (tool) (plist-get tool :id)) tools)))
       (cl-loop
        for tool in tools
        collect (llm-make-tool
                 :name (copy-sequence (plist-get tool :name))
                 :description (copy-sequence (plist-get tool :description))
                 :args (cl-loop
                        for parameter in (plist-get tool :arguments)
                        for published in (backstaff-agent-parameters tool)
                        if (and (eq (plist-get parameter :type) :boolean)
                                (eq (plist-get parameter :default) t))
                        collect `(,@(plist-put published :type 'string) :enum ["true" "false"])
                        else collect published)
                 :function (backstaff-agent-function tool offer "llm")
                 :async t))))))

(provide 'backstaff-llm)
;;; backstaff-llm.el ends here
