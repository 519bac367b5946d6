;;; backstaff-ui-prompt.el --- Where a command looks, and the calls it makes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A command that a person types may ask: for a directory, whether to connect to
;; a host.  Calls of agents never ask.
;;
;; A buffer that shows an answer owns the call for it: see `backstaff-request'.  C-g
;; cancels the call, also on the server, and so does killing the buffer.

;;; Code:

(require 'thingatpt)
(require 'backstaff)

(defcustom backstaff-use-consult t
  "Whether commands show their candidates with Consult, if it is installed.
`backstaff-search' then shows the matches as you type, and
`backstaff-find-definition' the definitions, each in its file."
  :type 'boolean :group 'backstaff :package-version '(backstaff . "0.1.0"))


;;; Directories and hosts

(defun backstaff-command-root (&optional directory)
  "Return the root for a command that the user typed in DIRECTORY.
This is `backstaff-root' with a question: whether to connect to the host, if
Emacs is not connected.  A root that is out of reach, or is not there, is a
`user-error'."
  (backstaff-prompt-connect (or backstaff-root-directory directory (backstaff-directory)))
  (let ((root (condition-case problem
                  (backstaff-root directory)
                ;; The command loop would quote the text of any other condition.
                (backstaff-remote-directory
                 (user-error "%s" (backstaff-epc-error-text problem))))))
    (unless (or (file-remote-p root) (file-directory-p root))
      (user-error "There is no directory %s.  %s" (abbreviate-file-name root)
                  (if backstaff-root-directory "Customize `backstaff-root-directory'"
                    "Type M-x cd to go to another one")))
    root))

(defvar backstaff-prompt--roots nil
  "The directories outside of projects where the user has let commands look.
Models may not look there because of that: see `backstaff--root-answers'.")

(defun backstaff-command-project ()
  "Return the `backstaff-command-root' for a command that looks at all below it.
Outside of a project, where that may be all files there are, ask first."
  (let ((root (backstaff-command-root)))
    (unless (or noninteractive (backstaff-project-p root)
                (member root backstaff-prompt--roots))
      (unless (y-or-n-p (format "No project is here.  Look at all below %s? "
                                (abbreviate-file-name root)))
        (user-error "Nothing was looked at; start in a directory of a project"))
      (push root backstaff-prompt--roots))
    root))

(defun backstaff-read-directory (prompt &optional default)
  "Ask for a directory with PROMPT and return it.
If DEFAULT is given, call it without arguments for the directory instead,
unless the user typed a prefix argument.  On another host any name will do: to
look there TRAMP would connect unasked."
  (if (and default (not current-prefix-arg)) (funcall default)
    (let ((directory (backstaff-directory)))
      ;; Without a default it would be the file that the buffer visits.
      (read-file-name prompt directory directory t nil
                      #'backstaff-prompt--perhaps-directory-p))))

(defun backstaff-prompt--perhaps-directory-p (name)
  "Return non-nil if NAME, typed or a completion, may be a directory."
  (cond ((file-remote-p name) t)
        ((and (file-remote-p default-directory) (not (file-name-absolute-p name)))
         (directory-name-p name))
        (t (file-directory-p name))))

(defun backstaff-prompt-open-host (host)
  "Connect to HOST, which may ask for a password; return non-nil if that works."
  ;; TRAMP does not connect where it believes that nobody waits for it.
  (let ((non-essential nil))
    (and (file-exists-p (concat host "/")) (backstaff-server-connected-p host))))

(defun backstaff-prompt-connect (directory)
  "Ask whether to connect to DIRECTORY's host, if Emacs is not connected to it.
Do not ask where no server could be started."
  (let ((host (file-remote-p directory)))
    (when (and host (not noninteractive) (not inhibit-quit)
               (not (backstaff-server-connected-p directory))
               (backstaff-server-on-host 'shell-p directory)
               (y-or-n-p (format "Connect to %s? " host)))
      (backstaff-prompt-open-host host))))


;;; Text that the user types

(defun backstaff-prompt-default ()
  "Return the text in the region, if it is on one line, or the symbol at point."
  (let ((text (and (use-region-p)
                   (buffer-substring-no-properties (region-beginning) (region-end)))))
    (if (or (null text) (string-blank-p text) (string-search "\n" text))
        (thing-at-point 'symbol t)
      text)))

(defun backstaff-prompt-quote-regexp (text)
  "Return the regular expression of Python that matches TEXT."
  (replace-regexp-in-string "[^[:alnum:]_]" "\\\\\\&" text))

(defun backstaff-prompt-allow-blanks ()
  "Let a blank and a ? be typed in the minibuffer, where they would complete."
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "SPC") #'self-insert-command)
    (define-key map (kbd "?") #'self-insert-command)
    (use-local-map (make-composed-keymap map (current-local-map)))))

(defun backstaff-prompt-consult-p ()
  "Return non-nil if a command is to use Consult; see `backstaff-use-consult'."
  (and backstaff-use-consult (require 'consult nil t)))


;;; Calls that the user waits for

(defun backstaff-prompt-call-tool (id args &optional context)
  "Return the reply to a call of the tool ID that the user made by a command.
ID, ARGS and CONTEXT are as in `backstaff-call', but no policy stops the call.
Wait for the reply until \\[keyboard-quit]; under `while-no-input', until the user types."
  ;; While `throw-on-input' is set, Emacs on a text terminal drops all but two of several
  ;; keys that arrive together.
  (let ((tag throw-on-input) (throw-on-input nil)
        (late (+ (float-time) 0.5)) (reply nil) (call nil))
    (unwind-protect
        (progn
          (setq call (backstaff-call-async id args (lambda (it) (setq reply it))
                                           `(:person t ,@context)))
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


;;; Calls that belong to a buffer

(defvar-local backstaff-request-cancelled-function #'ignore
  "Function to call after the user has cancelled the buffer's requests.")

(defvar-local backstaff-request--pending nil
  "The requests without an answer, each a list of the handle of its call.")

(defvar backstaff-request-indicator '(backstaff-request--pending " waiting, C-g cancels")
  "Mode line construct, shown while the buffer's requests wait for an answer.")

(defun backstaff-request (id args callback &optional context)
  "Call the tool ID with ARGS for the current buffer, and return at once.
CALLBACK gets the reply, in this buffer, unless the request is cancelled.  Older
requests go on.  ID, ARGS and CONTEXT are as in `backstaff-call', and no policy
stops the call, as the user made it."
  (let* ((buffer (current-buffer)) (request (list nil))
         (answer (lambda (reply)
                   (when (buffer-live-p buffer)
                     (with-current-buffer buffer
                       (when (memq request backstaff-request--pending)
                         (backstaff-request--forget request)
                         ;; A quit while a server starts cancels all calls that wait for the start.
                         (if (equal (plist-get (plist-get reply :error) :code) "CANCELLED")
                             (backstaff-request--report-cancelled)
                           (funcall callback reply))))))))
    (add-hook 'kill-buffer-hook #'backstaff-request-cancel nil t)
    (add-hook 'change-major-mode-hook #'backstaff-request-cancel nil t)
    (push request backstaff-request--pending)
    (force-mode-line-update)
    ;; This can be quit: sending takes long if the server does not read.
    (unwind-protect
        (setcar request (backstaff-call-async id args answer `(:person t ,@context)))
      (unless (car request)
        (backstaff-request--forget request)))))

(defun backstaff-request-cancel ()
  "Cancel the requests of the current buffer; return nil if there are none."
  (let ((requests backstaff-request--pending))
    (mapc #'backstaff-request--forget requests)
    (dolist (request requests)
      (when (car request)
        (backstaff-cancel (car request))))
    (and requests t)))

(defun backstaff-request-quit ()
  "Cancel the requests of the buffer, or quit as usual if there are none."
  (interactive)
  (if (backstaff-request-cancel)
      (backstaff-request--report-cancelled)
    (keyboard-quit)))

(defun backstaff-request--forget (request)
  "Let the current buffer no longer wait for REQUEST."
  (setq backstaff-request--pending (delq request backstaff-request--pending))
  (force-mode-line-update))

(defun backstaff-request--report-cancelled ()
  "Say that the requests of the buffer were cancelled."
  (funcall backstaff-request-cancelled-function)
  (message "%s" (substitute-command-keys "Cancelled; \\[revert-buffer] asks again")))

(provide 'backstaff-ui-prompt)
;;; backstaff-ui-prompt.el ends here
