;;; backstaff-lisp-tools.el --- Tools whose work Emacs does  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A tool in Lisp is a constant, its definition, and a function of the same name.  The server
;; describes it beside its own tools, checks the arguments of each call in the same words, and
;; decides by the same policy.  Then Emacs calls the function.  docs/add-a-tool.md makes one.

;;; Code:

(require 'backstaff-server)

(defvar backstaff-lisp-tools
  '(("emacs/context" backstaff-emacs backstaff-emacs-context)
    ("emacs/diagnostics" backstaff-emacs backstaff-emacs-diagnostics)
    ("emacs/read_buffer" backstaff-emacs backstaff-emacs-read-buffer))
  "The tools in Lisp: lists of an id, a library, and a symbol that it defines.
The policy in the server's settings may name these ids.")

(define-error 'backstaff-lisp-tools-failure "A tool failed")

(defun backstaff-lisp-tools-fail (code format &rest values)
  "End the call of a tool with CODE and a message, FORMAT with VALUES."
  (signal 'backstaff-lisp-tools-failure (list code (apply #'format format values))))

(defvar backstaff-lisp-tools--context nil
  "The context of the call for which the function of a tool runs.")

(defun backstaff-lisp-tools-hint (format id)
  "Return FORMAT with the name of the tool ID for the reader of a text.
People read the id, models read their own name for the tool.  Return nil if
the reader has no such tool by `:offer' in the context of the call."
  (let ((name (backstaff-server-model-name id))
        (offer (plist-get backstaff-lisp-tools--context :offer)))
    (when (or (null offer) (member id offer) (member name offer))
      (format format (if (plist-get backstaff-lisp-tools--context :text-only) name id)))))

(defun backstaff-lisp-tools-find (id)
  "Return the symbol of the tool ID, or nil if Lisp has none of that id."
  (pcase (assoc id backstaff-lisp-tools)
    (`(,_ ,library ,tool)
     (require library)
     tool)))

(defun backstaff-lisp-tools-definitions ()
  "Return the definitions of all tools in Lisp as the server wants them."
  (cl-loop for (id) in backstaff-lisp-tools
           collect (symbol-value (backstaff-lisp-tools-find id))))

(defun backstaff-lisp-tools--room (context)
  "Return the number of bytes of text that CONTEXT allows, by default 24576."
  (apply #'min (or (delq nil (list (plist-get context :max-output-bytes)
                                   (plist-get context :available-capacity-bytes)))
                   '(24576))))

(defun backstaff-lisp-tools-check (tool args context)
  "Return the arguments of the server's method `check' for a call of TOOL.
ARGS and CONTEXT are as in `backstaff-call'."
  (list (symbol-value tool) args
        (list :approved (plist-get context :approved) :person (plist-get context :person)
              :for-model (plist-get context :text-only)
              :max-output-bytes (backstaff-lisp-tools--room context))))

(defun backstaff-lisp-tools-run (tool checked context)
  "Run TOOL and return the reply.
CHECKED is the server's answer to `check'.  CONTEXT is as in `backstaff-call'."
  (let* ((begun (float-time)) (id (plist-get (symbol-value tool) :id))
         (backstaff-lisp-tools--context context)
         ;; A last line for a model about arguments that were ignored, or empty.
         (note (plist-get checked :text))
         (limit (- (backstaff-lisp-tools--room context) (string-bytes note)))
         (code nil)
         (result
          (condition-case problem
              (funcall tool (plist-get checked :data)
                       (list :root (plist-get context :root) :limit limit
                             :approved (or (plist-get context :person)
                                           (plist-get context :approved))))
            (backstaff-lisp-tools-failure
             (setq code (nth 1 problem))
             (list :text (nth 2 problem)))
            (error
             (backstaff-server-note (format "bug in the tool %s: %S" id problem))
             (setq code "INTERNAL")
             (list :text (format "The tool failed unexpectedly: %S" problem)))))
         (message (plist-get result :text))
         (text (backstaff-lisp-tools--clipped (if code (concat "Error: " message) message) limit)))
    `(:ok ,(not code) :tool ,id
      :text ,(if (or code (string-empty-p note)) text
               (concat (string-remove-suffix "\n" text) note))
      :data ,(and (not (plist-get context :text-only)) (plist-get result :data))
      ,@(and code `(:error (:code ,code :message ,message)))
      :truncated ,(or (plist-get result :truncated) (not (string-suffix-p message text)))
      :warnings ,(plist-get checked :warnings)
      :elapsed-ms ,(round (* 1000 (- (float-time) begun))))))

(defun backstaff-lisp-tools-fitting (lines limit)
  "Return the first of LINES that take LIMIT bytes together."
  (cl-loop for line in lines
           while (>= (cl-decf limit (string-bytes line)) 0)
           collect line))

(defun backstaff-lisp-tools--clipped (text limit)
  "Return TEXT, or its first lines in LIMIT bytes and \"[cut to LIMIT bytes]\".
The limit is at least 64."
  (let* ((limit (max 64 limit)) (note (format "[cut to %d bytes]\n" limit)))
    (if (<= (string-bytes text) limit) text
      (let ((kept (decode-coding-string
                   (string-limit text (- limit (string-bytes note) (string-bytes "…\n"))
                                 nil 'utf-8-emacs)
                   'utf-8-emacs)))
        (concat (if (string-match "\n[^\n]*\\'" kept) (substring kept 0 (1+ (match-beginning 0)))
                  (concat kept "…\n"))
                note)))))

(provide 'backstaff-lisp-tools)
;;; backstaff-lisp-tools.el ends here
