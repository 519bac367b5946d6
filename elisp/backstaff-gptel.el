;;; backstaff-gptel.el --- The tools for gptel  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-gptel-register' makes the tools known to gptel, where the menu
;; and `gptel-tools' choose among them, together with presets.  The preset
;; backstaff has only the few tools that a model needs, as each costs tokens in
;; every turn.
;;
;; gptel drops arguments that a model made up, so no answer names those.

;;; Code:

(require 'backstaff-agent)

(declare-function gptel-make-tool "ext:gptel-request" (&rest slots))
(declare-function gptel-make-preset "ext:gptel" (name &rest keys))

(defcustom backstaff-gptel-skills nil
  "Whether gptel's preset lists the skills of the project and the user.
If non-nil, the preset adds `backstaff-skills-catalog' to the system message
when it is applied, and the tool get_command, which reads a skill.  It does
neither if the policy denies that tool.  `backstaff-gptel-register' looks at
this option."
  :type 'boolean :group 'backstaff
  :package-version '(backstaff . "0.1.0"))

;;;###autoload
(defun backstaff-gptel-register (&optional toolsets)
  "Make the tools of TOOLSETS known to gptel and return them.
TOOLSETS is the name of a toolset, a list of names, or nil for all.  They
are in the category \"backstaff\".  The preset `backstaff' adds those of
them that are essential, or all if none is; `backstaff-commands' adds those
of that toolset, and there is such a preset for each; `backstaff-all' adds
all.  A prompt may name several of these presets: no tool is added twice.

Tools under the policy `prompt' ask for confirmation in gptel; tools under
`deny' are left out.  A new policy holds from `backstaff-restart' on.  But
gptel has no public way to forget a tool: one that is denied then stays in its
menu, and answers that it is denied, until Emacs is started anew.

Never signal an error: where there are no tools, warn and return nil."
  (interactive)
  (let* ((made (backstaff-agent-or-warn
                'gptel "evaluate the call again, or type M-x backstaff-gptel-register for all tools."
                (lambda ()
                  (mapcar (lambda (described)
                            (cons described (backstaff-gptel--make-tool described)))
                          (backstaff-agent-tools toolsets)))))
         (tools (mapcar #'cdr made))
         (essential (cl-loop for (described . tool) in made
                             when (memq :essential (plist-get described :categories))
                             collect tool))
         ;; The system message lists skills, and `get_command' reads one.
         (reader (and made backstaff-gptel-skills
                      (cl-loop for described in (backstaff-agent-tools)
                               when (equal (plist-get described :id) "commands/get_command")
                               return (or (cdr (assoc described made))
                                          (backstaff-gptel--make-tool described))))))
    (when (and made (fboundp 'gptel-make-preset))
      (pcase-dolist (`(,name ,description ,added ,reads)
                     `((backstaff "Look around the project, change nothing"
                                  ,(or essential tools) ,reader)
                       (backstaff-all "Look around the project with every tool of Backstaff"
                                      ,tools ,reader)
                       ,@(cl-loop
                          for (toolset . entries)
                          in (seq-group-by (lambda (entry) (plist-get (car entry) :toolset)) made)
                          collect (list (intern (concat "backstaff-" toolset))
                                        (format "Look around the project with the tools of %s" toolset)
                                        (mapcar #'cdr entries)))))
        (apply #'gptel-make-preset name :description description
               ;; Several models refuse a request in which a tool stands twice,
               ;; which is so after two presets that share it: gptel only appends.
               :tools (list :append (if reads (cl-adjoin reads added) added)
                            :function #'seq-uniq)
               (and reads (list :system (list :function #'backstaff-gptel--with-skills))))))
    (when (and made (called-interactively-p 'interactive))
      (message "gptel has %d tools of Backstaff, and the preset of that name" (length tools)))
    tools))

(defun backstaff-gptel--with-skills (system)
  "Return SYSTEM, gptel's system message, with the catalog of skills behind it.
A message of another kind than text, and one that has the catalog already, is
returned as it is.  An error is a message: the request goes on without skills."
  (let ((catalog (and (or (null system) (stringp system))
                      (condition-case problem
                          (backstaff-skills-catalog)
                        (error (message "Backstaff lists no skills: %s"
                                        (backstaff-error-text problem))
                               nil)))))
    (cond ((null catalog) system)
          ((string-empty-p (or system "")) catalog)
          ((string-suffix-p catalog system) system)
          (t (concat system "\n\n" catalog)))))

(defun backstaff-gptel--make-tool (tool)
  "Make TOOL, of `backstaff-agent-tools', known to gptel and return gptel's."
  (let* ((id (plist-get tool :id))
         (prompts (eq (plist-get tool :policy) :prompt))
         ;; The policy may be another one by now.  If a new server has not been asked for it,
         ;; gptel does not ask, but the call will.
         (asks (lambda (&rest _) (and prompts (eq (backstaff-server-policy id) :prompt)))))
    (gptel-make-tool
     :name (copy-sequence (plist-get tool :name))
     :description (copy-sequence (plist-get tool :description))
     :args (backstaff-agent-parameters tool)
     :function (backstaff-agent-function
                tool (lambda ()
                       ;; Whether gptel has asked before this call.
                       (when-let ((confirms (bound-and-true-p gptel-confirm-tool-calls)))
                         (or (eq confirms t) (funcall asks))))
                "gptel")
     :async t
     :category "backstaff"
     :confirm (and prompts asks)
     ;; A listing is long, and soon out of date: later turns ask again.
     :include 'call)))

(provide 'backstaff-gptel)
;;; backstaff-gptel.el ends here
