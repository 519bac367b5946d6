;;; backstaff-gptel.el --- The tools for gptel  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-gptel-register' makes the tools known to gptel, where the menu
;; and `gptel-tools' choose among them, together with two presets.  The preset
;; backstaff adds the few tools that a model needs to a request, as each costs
;; tokens in every turn; backstaff-all adds all that were registered:
;;
;;   (backstaff-gptel-register)                    all tools
;;   (backstaff-gptel-register "workspace")        those of one toolset
;;   (backstaff-gptel-register '("forge" "workspace"))
;;
;; A model in a buffer sees the project that the buffer is in.

;;; Code:

(require 'cl-lib)
(require 'backstaff-agent)

(declare-function gptel-make-tool "ext:gptel-request" (&rest slots))
(declare-function gptel-make-preset "ext:gptel" (name &rest keys))
(defvar gptel-confirm-tool-calls)

;;;###autoload
(defun backstaff-gptel-register (&optional toolsets)
  "Make the tools of TOOLSETS known to gptel and return them.
TOOLSETS is the name of a toolset, a list of names, or nil for all.  They
are in the category \"backstaff\".  The preset `backstaff' adds those of
them that are essential, or all if none is; `backstaff-all' adds all.

Tools under the policy `prompt' ask for confirmation in gptel; tools under
`deny' are left out.

Never signal an error: where there are no tools, warn and return nil."
  (interactive)
  (let* ((essential nil)
         (tools (backstaff-agent-or-warn
                 'gptel
                 "evaluate the call again, or type M-x backstaff-gptel-register for all tools."
                 (lambda ()
                   (cl-loop for described in (backstaff-agent-tools toolsets)
                            for tool = (backstaff-gptel--make-tool described)
                            collect tool
                            when (memq :essential (plist-get described :categories))
                            do (push tool essential))))))
    (when (and tools (fboundp 'gptel-make-preset))
      (gptel-make-preset 'backstaff
        :description "Look around the project, change nothing"
        :tools (list :append (or (nreverse essential) tools)))
      (gptel-make-preset 'backstaff-all
        :description "Look around the project with every tool of Backstaff"
        :tools (list :append tools)))
    (when (and tools (called-interactively-p 'interactive))
      (message "gptel has %d tools of Backstaff, and the preset of that name"
               (length tools)))
    tools))

(defun backstaff-gptel--make-tool (tool)
  "Make TOOL, of `backstaff-agent-tools', known to gptel and return gptel's."
  (let ((confirm (eq (plist-get tool :policy) :prompt)))
    (gptel-make-tool
     :name (copy-sequence (plist-get tool :name))
     :description (copy-sequence (plist-get tool :description))
     :args (backstaff-agent-parameters tool)
     :function (backstaff-agent-function
                tool (lambda ()
                       ;; Whether gptel has asked before this call.
                       (pcase (bound-and-true-p gptel-confirm-tool-calls)
                         ('nil nil)
                         ('t t)
                         (_ confirm))))
     :async t
     :category "backstaff"
     :confirm confirm
     ;; A listing is long, and soon out of date: later turns ask again.
     :include 'call)))

(provide 'backstaff-gptel)
;;; backstaff-gptel.el ends here
