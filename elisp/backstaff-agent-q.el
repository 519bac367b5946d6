;;; backstaff-agent-q.el --- The tools for Agent-Q  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Agent-Q is an agent that lives in a Lisp image and looks at files through Emacs, to which
;; SLY or SLIME connects it.  M-x backstaff-agent-q-setup loads backstaff-agent-q.lisp there.
;; A call then goes from the Lisp to `backstaff-agent-q-call' in Emacs, as Agent-Q's own do,
;; from there to the server, and back as one string.  Emacs must let the Lisp evaluate forms.
;; That lets the Lisp do anything in Emacs, so it is not set here.

;;; Code:

(require 'backstaff-agent)

(defun backstaff-agent-q--tools ()
  "Return the tools for Agent-Q, as in `backstaff-agent-definitions'."
  (seq-filter (lambda (tool)
                (or (equal (plist-get tool :toolset) "agent-q")
                    ;; It supersedes Agent-Q's own directory_tree.
                    (equal (plist-get tool :id) "workspace/tree")
                    (memq :essential (plist-get tool :categories))))
              (backstaff-agent-definitions)))

;;;###autoload
(defun backstaff-agent-q-call (name arguments root)
  "Call the tool that Agent-Q has as NAME below ROOT and return its text.
ARGUMENTS is the model's, a string of JSON; ROOT, an absolute name, is
Agent-Q's.  Never signal anything: an error or a quit is a text that
starts with \"Error: \".  This is called in SLY's or SLIME's filter."
  (save-match-data
    (let ((debug-on-signal nil)
          ;; A message of 16 MiB would cost the connection, and an answer may take twice its size
          ;; on the way.
          (most (min (* 1024 1024) backstaff-agent-max-output-bytes)) (id nil))
      (condition-case problem
          (let ((ids (mapcar (lambda (tool) (cons (plist-get tool :name) (plist-get tool :id)))
                             (backstaff-agent-q--tools))))
            ;; Nobody knows which directory is current in a filter.
            (unless (and (stringp root) (file-name-absolute-p root))
              (error "Agent-Q's project root is not absolute: %S" root))
            (setq id (or (cdr (assoc name ids)) (error "Agent-Q has no tool %s" name)))
            (backstaff-agent-count
             id (backstaff-call
                 id arguments
                 (list :text-only t :agent t :offer (mapcar #'cdr ids)
                       ;; The Lisp runs on this machine, so ROOT names no host.
                       :root (file-name-quote (substring-no-properties root) t)
                       :max-output-bytes most))))
        ((error quit)
         (backstaff-agent-count (or id "agent-q") (list :text (backstaff-error-text problem))))))))

;;;###autoload
(defun backstaff-agent-q-definitions ()
  "Return the definitions for Agent-Q, as its `define-tool' takes them.
An error is a text that starts with \"Error: \": SLIME would let a user debug
it, and the Lisp wait meanwhile.  A tool that the server's policy denies is
among them, and answers that it is denied."
  (let ((debug-on-signal nil))
    (condition-case problem
        (cl-loop
         for tool in (backstaff-agent-q--tools)
         collect
         `(:parameters
           ,(cl-loop for parameter in (plist-get tool :arguments)
                     for items = (plist-get parameter :items)
                     collect (append
                              (cl-loop for key in '(:name :type :description :enum)
                                       for value = (plist-get parameter key)
                                       when value append (list key value))
                              (and items `(:items (:type ,items)))))
           ,@(cl-loop for key in '(:name :description :required :safety-level :categories)
                      append (list key (plist-get tool key)))))
      ((error quit) (backstaff-error-text problem)))))

;;;###autoload
(defun backstaff-agent-q-setup ()
  "Make the Agent-Q in the connected Lisp call Backstaff's tools.
Agent-Q must be loaded there, and Emacs must let the Lisp evaluate forms."
  (interactive)
  (pcase-let ((`(,_ ,option ,evaluate ,grab)
               (or (cl-find-if (lambda (connected) (and (fboundp connected) (funcall connected)))
                               '((sly-connected-p sly-enable-evaluate-in-emacs
                                  sly-eval-async slynk:eval-and-grab-output)
                                 (slime-connected-p slime-enable-evaluate-in-emacs
                                  slime-eval-async swank:eval-and-grab-output))
                               :key #'car)
                   (user-error "No Lisp is connected, neither by SLY nor by SLIME"))))
    (unless (and (boundp option) (symbol-value option))
      (user-error "The Lisp may not evaluate in Emacs, so that a tool of Agent-Q would\
 wait for ever; set `%s' to t to let it do anything in Emacs" option))
    (funcall evaluate
             (list grab (format "(handler-case (progn (load %S) (funcall (intern \"INSTALL\"\
 \"BACKSTAFF-AGENT-Q\"))) (error (problem) (format nil \"Error: ~A\" problem)))"
                                (expand-file-name "backstaff-agent-q.lisp"
                                                  backstaff-server-package-directory)))
             ;; The result is a list: the output of the form, and its value.
             (pcase-lambda (`(,_ ,value))
               (message (if (string-prefix-p "\"Error: " value) "Agent-Q is as it was: %s"
                          "Agent-Q calls Backstaff for: %s")
                        value)))))

(provide 'backstaff-agent-q)
;;; backstaff-agent-q.el ends here
