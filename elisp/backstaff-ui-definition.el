;;; backstaff-ui-definition.el --- Visit a definition by a part of its name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-find-definition' asks for a part of a name, and goes to the definition in
;; the project that has it.  Of several, the user chooses one by completion.  The server
;; needs no grammar and no index to find them, and looks into unsaved text as well.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'thingatpt)
(require 'xref)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-prompt)

(defconst backstaff-definition--most 500
  "Maximum number of definitions to choose among.")

(defvar backstaff-definition--history nil
  "The names that `backstaff-find-definition' was asked for.")

;;;###autoload
(defun backstaff-find-definition (name)
  "Visit the definition in the project that has NAME in its name.
Of several words in NAME, the last is in the name itself, and the others may be
in the names around it: \"server run\" finds Server.run.  If there are several
definitions, choose one by completion; its file and line stand beside it.  Case
counts only if NAME has a capital letter.  The place that you leave is kept as
xref keeps it."
  (interactive
   (let ((symbol (thing-at-point 'symbol t)))
     (backstaff-command-project)
     (list (read-string (format-prompt "Definition" symbol) nil
                        'backstaff-definition--history symbol))))
  (let* ((root (file-name-as-directory (backstaff-command-root)))
         (found (backstaff-definition--found name root))
         (label (if (cdr found) (completing-read
                                  (format "%d definitions (TAB lists them): " (length found))
                                  found nil t) (caar found))))
    (pcase-let ((`(,_ ,path ,line) (assoc label found)))
      (xref-push-marker-stack)
      (backstaff-path-visit (concat root path) root)
      (widen)
      (goto-char (point-min))
      (forward-line (1- line))
      (back-to-indentation))))

(defun backstaff-definition--found (name root)
  "Return the definitions below ROOT whose full name has the words of NAME.
Each is a list of a label, a path and a line.  Signal an error if there is none."
  (when (string-blank-p name)
    (user-error "Type a part of the name"))
  (let* ((flags (if (isearch-no-upper-case-p name nil) "i" ""))
         (words (split-string name))
         (reply (backstaff-prompt-call-tool
                 "workspace/regexp_search"
                 (list :pattern (car (last words)) :literal t :definitions t :context_lines 0
                       :flags flags :max_results backstaff-definition--most)
                 (list :root root)))
         (case-fold-search (equal flags "i")))
    (unless (plist-get reply :ok)
      (user-error "%s" (string-remove-prefix "Error: " (plist-get reply :text))))
    (or (cl-loop for item in (plist-get (plist-get reply :data) :items)
                 for full = (plist-get (plist-get item :enclosing) :qualified)
                 for path = (plist-get item :path)
                 for line = (plist-get item :line)
                 ;; Other words of the line may match, such as a parameter.
                 when (cl-every (lambda (word) (string-match-p (regexp-quote word) full)) words)
                 collect (list (format "%s  %s:%d" full (backstaff-names-show path) line)
                               path line))
        (user-error "No definition in the project has %s in its name"
                    (string-join words " and ")))))

(provide 'backstaff-ui-definition)
;;; backstaff-ui-definition.el ends here
