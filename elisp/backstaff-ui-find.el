;;; backstaff-ui-find.el --- Find a file by parts of its path  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server finds the candidates for the input and ranks them, so a completion style of our
;; own passes them on unchanged.  Vertico, icomplete and fido show them as you type, and a
;; key ends the wait for the answer to the old input.  Without these, TAB lists them.

;;; Code:

(require 'backstaff-ui-view)

(defvar backstaff-find--history nil "The inputs of `backstaff-find-file'.")

(cl-defun backstaff-find-read (prompt default answer history category &key annotate state)
  "Ask with PROMPT for a candidate that the server finds, and return it.
ANSWER is called with the input, and returns a list of candidates, the best
first, or a string that says why there is none.  RET after other input returns
the best candidate, or is a `user-error' if there is none.  DEFAULT is the input
that an empty one stands for.  HISTORY is a variable, and CATEGORY that of the
completions, beside which ANNOTATE, a function, writes.  If STATE is not nil,
Consult asks, and calls STATE to show a candidate."
  (let ((input nil) (found nil))
    (cl-labels
        ((chosen (text) (and (listp found) (car (member text found))))
         (candidates (text)
           (unless (equal text input)
             (let ((chosen (chosen text)))
               (setq input nil found (funcall answer text) input text)
               ;; The name of a candidate may not find itself.
               (when (and chosen (not (chosen text))) (setq found (list chosen))))
             ;; An error would throw away the keys that were typed behind it.
             (when (stringp found) (message "%s" found)))
           ;; TAB takes the properties off the string that it inserts.
           (and (listp found) (mapcar #'copy-sequence found)))
         (table (text _predicate action)
           (pcase action
             ('metadata `(metadata (category . ,category) (annotation-function . ,annotate)
                                   (display-sort-function . identity)
                                   (cycle-sort-function . identity)))
             ('t (candidates text))
             ('lambda (and (chosen text) t))))
         (all (text table predicate _point)
           ;; icomplete passes a list of completions, which match already.
           (all-completions (if (functionp table) text "") table predicate))
         (try (text &rest arguments)
           (pcase (apply #'all text arguments)
             ('nil nil)
             (`(,(pred (equal text))) t)
             (`(,only) (cons only (length only)))
             (_ (cons text (length text)))))
         (set-up ()
           (setq-local completion-styles '(backstaff)
                       completion-category-defaults nil
                       completion-category-overrides nil
                       ;; [No match] would cover the reason.
                       completion-fail-discreetly t
                       ;; <down> would insert a candidate that does not match.
                       minibuffer-default-add-function nil)
           ;; A blank and a ? are text, and would complete.
           (let ((map (make-sparse-keymap)))
             (define-key map (kbd "SPC") #'self-insert-command)
             (define-key map (kbd "?") #'self-insert-command)
             (use-local-map (make-composed-keymap map (current-local-map))))))
      (if state
          (or (backstaff-view-with-consult prompt answer :history history :category category
                                           :annotate annotate :state state)
              ;; RET without input.
              default (user-error "Type a part of the name"))
        (let* ((completion-styles-alist
                `((backstaff ,#'try ,#'all "All that the server finds.") ,@completion-styles-alist))
               (text (minibuffer-with-setup-hook (:append #'set-up)
                       ;; Ivy and Helm would match anew, and need all candidates for that.
                       (completing-read-default prompt #'table nil nil nil history default))))
          (or (chosen text)
              (if (string-blank-p text) (user-error "Type a part of the name")
                (car (candidates text)))
              (user-error "%s" found)))))))

;;; Files

;;;###autoload
(defun backstaff-find-file (file)
  "Visit FILE, a path below the project's root.
Interactively, find it by a part of its name.  The completions are the files
that match, the best first; files that git ignores are omitted.  Other letters
may stand between those of a word, and words may come in any order: \"sfp\"
finds search_files.py.  If few files match, similar names follow.  RET after
input that is not a file's name visits the best match."
  (interactive (list (backstaff-find--read-file (backstaff-command-root))))
  (backstaff-view-visit-file file (backstaff-command-root)))

(defun backstaff-find--read-file (root)
  "Read a file of the project ROOT and return its path."
  (get-text-property
   0 'backstaff-path
   (backstaff-find-read
    "Find file: " nil
    (lambda (input)
      (pcase-let* ((blank (string-blank-p input))
                   ((map :ok :text (:data (map :files :notes)))
                    (backstaff-view-wait-for
                     "workspace/search_files"
                     (list :query (if blank "**" input) :kind (if blank "glob" "fuzzy")
                           :max_results 100)
                     root)))
        (cond (files
               (mapcar (lambda (file)
                         (propertize (backstaff-names-show file) 'backstaff-path file))
                       files))
              ;; The remedy of a note names an argument for models.
              (ok (mapconcat (lambda (note) (plist-get note :text))
                             (cons '(:text "No file matches") notes) "; "))
              (t (string-remove-prefix "Error: " text)))))
    'backstaff-find--history 'project-file)))

(provide 'backstaff-ui-find)
;;; backstaff-ui-find.el ends here
