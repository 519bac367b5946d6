;;; backstaff-approval.el --- Ask before a tool may run  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A model's call may need a yes of the user's: the server's policy says so, the file
;; may hold secrets, or the root is no project's.
;;
;; The question comes while the user does something else, and takes no key typed for that.
;; It waits until the user has typed nothing for half a second.  Then the echo area shows it
;; for half a second; a key that comes meanwhile goes where the user is.  Then it is a prompt
;; in the minibuffer, and takes the word "yes" or "no" with RET.
;;
;; `yes-or-no-p' may be a dialog or a menu with "Yes" selected, or take a single key, as
;; `use-dialog-box', `use-short-answers' and an alias in the user's init file say.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-names)

(defcustom backstaff-approval-function #'backstaff-approval-ask
  "The function that decides on a call that needs a person's approval.
It is called with a tool's id and the arguments, while
`backstaff-approval-question' is the question.  It returns:

nil          to refuse the call;
`:unasked'   if there was nobody to ask;
`:busy'      to be called again a tenth of a second later;
`:late'      if the user gave no answer in time, which refuses the call;
anything else to let the call run."
  :type 'function :group 'backstaff :risky t :package-version '(backstaff . "0.1.0"))

(defvar backstaff-approval-question nil
  "The question that `backstaff-approval-function' decides, a string.")

(defvar backstaff-approval-deadline nil
  "The end of the time for `backstaff-approval-function', a `float-time' or nil.")

(defvar backstaff-approval-caller-waits nil
  "Non-nil if Emacs only waits for the call that needs approval.
Then no command of the user's can end before an answer, so nobody is asked.")

(defconst backstaff-approval--quiet-seconds 0.5
  "Seconds without a key before a question is shown, and again before it reads one.")

(defvar backstaff-approval--reading-seconds 0.5
  "Seconds after which a yes counts: nobody has read the question before.")

(defun backstaff-approval-ask (id args)
  "Ask the user whether the tool ID may run with ARGS.
Return t or nil, or `:unasked', `:busy' or `:late' as described for
`backstaff-approval-function'.  Nobody can be asked in batch, in a daemon
without a frame, or where the caller waits, as that of `backstaff-call' does."
  (let ((question (or backstaff-approval-question
                      (format "Let %s run with %s? " id (backstaff-approval--shown args)))))
    (cond ((or noninteractive backstaff-approval-caller-waits
               (and (daemonp) (null (cdr (frame-list)))))
           :unasked)
          ((and backstaff-approval-deadline (> (float-time) backstaff-approval-deadline)) :late)
          ((or (backstaff-approval--typing-p)
               ;; A key that comes meanwhile ends the wait at once, and stays in the queue.
               (let ((message-log-max nil))
                 (message "In a moment: %s" question)
                 (prog1 (not (sit-for backstaff-approval--quiet-seconds))
                   (message nil))))
           :busy)
          (t (backstaff-approval--read question)))))

(defvar backstaff-approval--last-key '(nil . 0)
  "The number of keys that Emacs has read, and the time since when.
`current-idle-time' is nil after a question, until the next key.")

(defun backstaff-approval--typing-p ()
  "Return non-nil if the user types, or the next keys belong to something else."
  (unless (eql (car backstaff-approval--last-key) num-nonmacro-input-events)
    (setq backstaff-approval--last-key (cons num-nonmacro-input-events (float-time))))
  (or (< (- (float-time) (cdr backstaff-approval--last-key)) backstaff-approval--quiet-seconds)
      prefix-arg (input-pending-p)
      ;; The keys of the command, or those so far of a longer sequence, such as C-x.
      (not (equal (this-single-command-keys) []))
      (> (minibuffer-depth) 0) executing-kbd-macro defining-kbd-macro
      (bound-and-true-p isearch-mode) cursor-in-echo-area
      ;; Such a map reads the next key, as `repeat-mode' and transient menus do.
      overriding-local-map overriding-terminal-local-map))

(defun backstaff-approval--read (question)
  "Return t or nil, the user's answer to QUESTION, or `:late'."
  (let* ((throw-on-input nil) (read-minibuffer-restore-windows nil)
         ;; A timer asks.  Until now a quit is none of the question's, but the user's next command.
         (inhibit-quit nil)
         (tag (make-symbol "late"))
         (prompt (concat question "(yes or no) "))
         (timer (and backstaff-approval-deadline
                     (run-at-time (max 0 (- backstaff-approval-deadline (float-time))) 0.1
                                  (lambda (depth)
                                    ;; Wait while a command or a minibuffer of the user's is on top.
                                    (when (and (= (minibuffer-depth) depth)
                                               (equal (this-single-command-keys) []))
                                      (throw tag :late)))
                                  (1+ (minibuffer-depth)))))
         (answer nil))
    (unwind-protect
        (setq answer (catch tag
                       (while (let ((shown (float-time)))
                                (setq answer (read-from-minibuffer prompt nil nil nil t))
                                (if (equal answer "yes")
                                    (< (- (float-time) shown) backstaff-approval--reading-seconds)
                                  (not (equal answer "no"))))
                         (message (if (equal answer "yes")
                                      "That yes came with the question: please read it first"
                                    "Please type the whole word yes or no, then RET"))
                         ;; The next prompt would hide the message.  A key ends the wait.
                         (sit-for 1))
                       (equal answer "yes")))
      (when timer (cancel-timer timer))
      ;; The last key was part of the answer, and of no command.
      (clear-this-command-keys t))
    (when (eq answer :late)
      (message "The question had no answer in time; the call is refused"))
    answer))

(defun backstaff-approval-question-about (let-it id args secret root)
  "Return the question whether the tool ID may run with ARGS, or read SECRET.
LET-IT is its beginning, such as \"Let\".  The call is about ROOT."
  (format (if secret "%s %s read %s in %s, which may hold secrets? " "%s %s run with %s in %s? ")
          let-it id (backstaff-approval--shown (or secret args)) (backstaff-names-show-file root)))

(defun backstaff-approval--shown (value)
  "Return VALUE, which a model chose, so that it passes for no other question."
  (let ((print-escape-newlines t) (print-escape-control-characters t) (print-escape-multibyte t))
    (truncate-string-to-width (prin1-to-string value) 300 nil nil t)))

(provide 'backstaff-approval)
;;; backstaff-approval.el ends here
