;;; backstaff-ui-prompt.el --- Where a command looks, and its questions  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A command that a person types may ask whether to connect to a host.  Calls of
;; agents never ask.

;;; Code:

(require 'json)
(require 'thingatpt)
(require 'backstaff)

(declare-function consult--dynamic-collection "ext:consult" t t)
(declare-function consult--lookup-member "ext:consult" t)
(declare-function consult--read "ext:consult" t)

(defcustom backstaff-use-consult t
  "Whether Consult, if it is installed, shows matches and definitions as you type.
That needs Vertico, icomplete or fido, which keep the candidates on the screen."
  :type 'boolean :group 'backstaff :package-version '(backstaff . "0.1.0"))

;;; Directories and hosts

(defun backstaff-command-root (&optional directory)
  "Return the root for a command that the user typed in DIRECTORY.
This is `backstaff-root' with a question: whether to connect to the host, if
Emacs is not connected.  A host that is out of reach is a `user-error'."
  (backstaff-prompt-connect (or backstaff-root-directory directory (backstaff-directory)))
  (condition-case problem
      (backstaff-root directory)
    ;; The command loop would quote the text of any other condition.
    (backstaff-remote-directory (user-error "%s" (backstaff-epc-error-text problem)))))

(defun backstaff-prompt-connect (directory)
  "Ask whether to connect to DIRECTORY's host, if Emacs is not connected to it.
Do not ask where no server could be started."
  (let ((host (file-remote-p directory)))
    (when (and host (not noninteractive) (not inhibit-quit)
               (not (backstaff-server-connected-p directory))
               (backstaff-server-on-host 'shell-p directory)
               (y-or-n-p (format "Connect to %s? " host)))
      ;; TRAMP does not connect where it believes that nobody waits for it.
      (let ((non-essential nil))
        (file-exists-p (concat host "/"))))))


;;; Text that the user types

(defun backstaff-prompt-default ()
  "Return the text in the region, if it is on one line, or the name at point."
  (cl-find-if (lambda (text)
                ;; In some modes "//" is a symbol.
                (and text (string-match-p "\\`[^\n]*[[:alnum:]][^\n]*\\'" text)))
              (list (and (use-region-p)
                         (buffer-substring-no-properties (region-beginning) (region-end)))
                    (thing-at-point 'symbol t))))

(defun backstaff-prompt-quote-regexp (text)
  "Return the regular expression of Python that matches TEXT."
  (replace-regexp-in-string "[^[:alnum:]_]" "\\\\\\&" text))

;;; Arguments of a tool

(defvar backstaff-prompt--arguments nil
  "The arguments of tools that the user typed.")

(defun backstaff-prompt-read-arguments (id arguments)
  "Read the arguments of the tool ID, a plist; ARGUMENTS are there to edit.
The user may also type an object of JSON."
  (let* ((form (if arguments (format "%S" arguments) "()"))
         (tool (cl-find-if (lambda (tool) (equal id (plist-get tool :id))) (backstaff-tools)))
         (text (read-from-minibuffer
                (format "%s (%s): " id
                        (mapconcat (lambda (argument) (concat ":" (plist-get argument :name)))
                                   (plist-get tool :arguments) " "))
                ;; Point is where the first value ends.
                (cons form (progn (string-match "\\`(?\\(?:[^ ]+ \"?[^\")]*\\)?" form)
                                  (1+ (match-end 0))))
                nil nil 'backstaff-prompt--arguments))
         (json-object-type 'plist) (json-array-type 'list) (json-false :false))
    (condition-case nil
        (if (string-match-p "\\`[ \t]*{" text) (json-read-from-string text)
          (pcase-let ((`(,plist . ,end) (read-from-string text)))
            (unless (and (cl-evenp (length plist)) (string-blank-p (substring text end)))
              (error "No plist"))
            plist))
      (error (user-error "%s is no plist such as (:path \"src\"), nor JSON" text)))))

;;; Consult

(defun backstaff-prompt-consult-p ()
  "Return non-nil if commands that find text or definitions use Consult."
  (and backstaff-use-consult
       (or (bound-and-true-p vertico-mode) (bound-and-true-p icomplete-mode))
       (require 'consult nil t)))

(defun backstaff-prompt-with-consult (prompt answer &rest options)
  "Ask with PROMPT for a candidate, and show the place of each meanwhile.
ANSWER is called with the input, and returns a list of candidates, the best
first, or a string that says why there is none.  OPTIONS are those of
`consult--read'; functions for asynchronous commands have no public names."
  (apply #'consult--read
         (consult--dynamic-collection
          (lambda (input)
            (let ((candidates (funcall answer input)))
              (if (listp candidates) candidates (ignore (message "%s" candidates))))))
         :prompt prompt :require-match t :sort nil :lookup #'consult--lookup-member
         :add-history (backstaff-prompt-default) options))

;;; Calls that the user waits for

(defun backstaff-prompt-call-tool (id args root)
  "Return the reply to a call of the tool ID with ARGS in the project ROOT.
The user made it by a command, so no policy stops it.
Wait for the reply until \\[keyboard-quit]; under `while-no-input', until the user types."
  ;; While `throw-on-input' is set, Emacs on a text terminal drops all but two of several
  ;; keys that arrive together.
  (let ((tag throw-on-input) (throw-on-input nil)
        (late (+ (float-time) 0.5)) (reply nil) (call nil))
    (unwind-protect
        (progn
          (setq call (backstaff-call-async id args (lambda (it) (setq reply it))
                                           (list :person t :root root)))
          (while (null reply)
            (when (and tag (input-pending-p))
              (throw tag t))
            (when (and late (> (float-time) late))
              (setq late nil)
              (message "Waiting for an answer… (C-g cancels)"))
            (accept-process-output nil 0.02))
          (unless late (message nil))
          reply)
      (unless reply (backstaff-cancel call)))))

(provide 'backstaff-ui-prompt)
;;; backstaff-ui-prompt.el ends here
