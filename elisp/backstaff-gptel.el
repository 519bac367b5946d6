;;; backstaff-gptel.el --- The tools for gptel  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tools are in gptel's menu, and in presets.  The preset backstaff has only the few
;; tools that a model needs, as each costs tokens in every turn.

;;; Code:

(require 'backstaff-agent)

(declare-function gptel-make-tool "ext:gptel-request" (&rest slots))
(declare-function gptel-make-preset "ext:gptel" (name &rest keys))
(declare-function gptel-tool-name "ext:gptel-request" (tool))

;;;###autoload
(defun backstaff-gptel-register (&optional toolsets)
  "Make the tools of TOOLSETS known to gptel and return them.
TOOLSETS is the name of a toolset or tool, a list of names, or nil for all.
They are in the category \"backstaff\".  The preset `backstaff' adds those of
them that are essential, or all if none is; `backstaff-all' adds all.  A
prompt may name both: no tool is added twice.  Tools under the policy `deny'
are left out.

Never signal an error: where there are no tools, warn and return nil."
  (interactive)
  (let ((made (backstaff-agent-or-warn
               'gptel "evaluate the call again, or type M-x backstaff-gptel-register for all tools."
               (lambda () (backstaff-gptel--register (backstaff-agent-tools toolsets))))))
    (when (and made (called-interactively-p 'interactive))
      (message "gptel has %d tools of Backstaff, and the preset of that name" (length made)))
    made))

(defun backstaff-gptel--register (tools)
  "Make the presets of TOOLS, and then TOOLS, known to gptel; return the latter.
A preset has objects of its own, which know the offer that they are part of.
Those in gptel's menu come last, as gptel keeps the later of one name."
  (when (fboundp 'gptel-make-preset)
    (pcase-dolist (`(,name . ,added)
                   `((backstaff . ,(or (seq-filter (lambda (tool)
                                                     (memq :essential (plist-get tool :categories)))
                                                   tools)
                                       tools))
                     (backstaff-all . ,tools)))
      (gptel-make-preset name
        :description (format "Look around the project with %d tools of Backstaff" (length added))
        ;; Several models refuse a request in which a tool stands twice, which is so after two
        ;; presets that share it: gptel only appends.
        :tools (list :append (backstaff-gptel--make-tools added)
                     :function (lambda (all) (cl-remove-duplicates all :test #'equal
                                                                   :key #'gptel-tool-name))))))
  (backstaff-gptel--make-tools tools t))

(defun backstaff-gptel--make-tools (tools &optional chosen)
  "Make TOOLS, of `backstaff-agent-tools', known to gptel and return gptel's.
A model has all of them or, if CHOSEN, those in the variable `gptel-tools'."
  (cl-loop
   with names = (mapcar (lambda (tool) (plist-get tool :name)) tools)
   for tool in tools
   for name in names
   collect (gptel-make-tool
            :name (copy-sequence name)
            :description (copy-sequence (plist-get tool :description))
            :args (backstaff-agent-parameters tool)
            :function (backstaff-agent-function
                       tool
                       ;; A preset of the user's that the prompt names leaves no trace in the variable.
                       (if (not chosen) names
                         (lambda ()
                           (let ((all (mapcar #'gptel-tool-name (bound-and-true-p gptel-tools))))
                             (if (member name all) all (list name)))))
                       "gptel")
            :async t
            :category "backstaff"
            ;; A listing is long, and soon out of date: later turns ask again.
            :include 'call)))

(provide 'backstaff-gptel)
;;; backstaff-gptel.el ends here
