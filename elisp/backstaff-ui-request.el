;;; backstaff-ui-request.el --- Calls that belong to a buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A buffer that shows an answer owns the call for it.  This form returns at once;
;; `my-draw' gets the reply later, with the same buffer current:
;;
;;   (backstaff-request "workspace/tree" '(:path ".") #'my-draw)
;;
;; After half a second the mode line and the echo area say that the buffer waits.
;; C-g cancels the call, also on the server, and killing the buffer or changing its
;; major mode does the same.  A cancelled request never calls back.  A new request
;; leaves older ones alone; call `backstaff-request-cancel' first to replace them.

;;; Code:

(require 'backstaff)
(require 'backstaff-names)

(defvar-local backstaff-request-cancelled-function #'ignore
  "Function to call after the user has cancelled the buffer's requests.")

(defvar-local backstaff-request-indicator nil
  "Text for the mode line while the buffer has been waiting for long, or nil.")
(put 'backstaff-request-indicator 'risky-local-variable t)

(defvar-local backstaff-request--pending nil
  "The requests without an answer, each a list of the function that cancels it.")

(defvar-local backstaff-request--timer nil
  "The timer that will show that the buffer waits.")

(defun backstaff-request (id args callback &optional context)
  "Call the tool ID with ARGS for the current buffer, and return at once.
CALLBACK gets the reply, in this buffer, unless the request is cancelled.
ID, ARGS and CONTEXT are as in `backstaff-call', and no policy stops the call,
as the user made it."
  (backstaff-request-start
   (lambda (answer)
     (let ((call (backstaff-call-async id args answer `(:person t ,@context))))
       (lambda () (backstaff-cancel call))))
   (lambda (reply)
     ;; A quit while a server starts cancels all calls that wait for the start.
     (if (equal (plist-get (plist-get reply :error) :code) "CANCELLED")
         (backstaff-request--report-cancelled)
       (funcall callback reply)))))

(defun backstaff-request-start (start callback)
  "Call START and let the current buffer wait for an answer.
START gets a function of one argument, which it must call with the answer
later, not before it returns.  START returns a function without arguments
that cancels the request.  CALLBACK gets the answer, in this buffer, unless
the request is cancelled."
  (let ((buffer (current-buffer)) (request (list #'ignore)) (started nil))
    (add-hook 'kill-buffer-hook #'backstaff-request-cancel nil t)
    (add-hook 'change-major-mode-hook #'backstaff-request-cancel nil t)
    (push request backstaff-request--pending)
    (unless backstaff-request--timer
      (setq backstaff-request--timer
            (run-at-time 0.5 nil #'backstaff-request--show-progress buffer)))
    ;; START can be quit: sending takes long if the server does not read.
    (unwind-protect
        (setf (car request)
              (funcall start (lambda (value)
                               (when (buffer-live-p buffer)
                                 (with-current-buffer buffer
                                   (when (memq request backstaff-request--pending)
                                     (backstaff-request--forget request)
                                     (funcall callback value))))))
              started t)
      (unless started
        (backstaff-request--forget request)))))

(defun backstaff-request-cancel ()
  "Cancel the requests of the current buffer; return nil if there are none."
  (let ((requests backstaff-request--pending))
    (mapc #'backstaff-request--forget requests)
    (dolist (request requests)
      (funcall (car request)))
    (and requests t)))

(defun backstaff-request-quit ()
  "Cancel the requests of the buffer, or quit as usual if there are none."
  (interactive)
  (if (backstaff-request-cancel)
      (backstaff-request--report-cancelled)
    (keyboard-quit)))

(defun backstaff-request--forget (request)
  "Remove REQUEST from the current buffer, and the progress after the last."
  (setq backstaff-request--pending (delq request backstaff-request--pending))
  (unless backstaff-request--pending
    (when backstaff-request--timer
      (cancel-timer backstaff-request--timer))
    (when (and backstaff-request-indicator
               (string-prefix-p "Waiting for " (or (current-message) "")))
      (message nil))
    (setq backstaff-request--timer nil
          backstaff-request-indicator nil)
    (force-mode-line-update)))

(defun backstaff-request--show-progress (buffer)
  "Show that BUFFER waits, in its mode line and if possible in the echo area."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq backstaff-request-indicator " waiting")
      (force-mode-line-update)
      (unless (or (active-minibuffer-window) (current-message))
        (message "Waiting for %s… (C-g cancels)" (backstaff-names-show (buffer-name)))
        (redisplay)))))

(defun backstaff-request--report-cancelled ()
  "Tell the user that the requests of the buffer were cancelled."
  (funcall backstaff-request-cancelled-function)
  (message "%s" (substitute-command-keys "Cancelled; \\[revert-buffer] asks again")))

(provide 'backstaff-ui-request)
;;; backstaff-ui-request.el ends here
