;;; backstaff-request.el --- Calls that a buffer waits for  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A buffer that shows an answer owns the call for it.  This returns at once, and
;; later draws the reply in the same buffer:
;;
;;   (backstaff-request "workspace/tree" '(:path ".") #'my-draw-function)
;;
;; After half a second the mode line and the echo area say that the buffer waits.
;; C-g takes the call back, on the server too, and so does the death of the
;; buffer or another major mode.  An answer to a request that was cancelled is
;; dropped: cancel the older one before a newer.

;;; Code:

(require 'backstaff)
(require 'backstaff-names)

(defvar-local backstaff-request-cancelled-function #'ignore
  "Function to call after the user has cancelled what the buffer waited for.")

(defvar-local backstaff-request-indicator nil
  "Text for the mode line while the buffer has been waiting for long, or nil.")
(put 'backstaff-request-indicator 'risky-local-variable t)

(defvar-local backstaff-request--pending nil
  "The requests that the buffer waits for.
Each is a list of one function, which takes the request back.")

(defvar-local backstaff-request--timer nil
  "The timer that tells the user of the wait.")

(defun backstaff-request (id args callback &optional context)
  "Call the tool ID with ARGS for the current buffer, and return at once.
CALLBACK is called with the reply, in this buffer, unless the request is
cancelled before.  ID, ARGS and CONTEXT are as in `backstaff-call'."
  (backstaff-request-start
   (lambda (answer)
     (let ((call (backstaff-call-async id args answer context)))
       (lambda () (backstaff-cancel call))))
   (lambda (reply)
     ;; Whoever cancels what several calls wait for, such as the start of a
     ;; server on another host, cancels each of them.
     (if (equal (plist-get (plist-get reply :error) :code) "CANCELLED")
         (backstaff-request--tell-cancelled)
       (funcall callback reply)))))

(defun backstaff-request-start (start callback)
  "Call START, and let the current buffer wait for the answer.
START is called with a function.  It must return at once, call that function
later with the answer, and return a function without arguments that takes the
request back.  CALLBACK is called with the answer, in this buffer, unless the
request is cancelled before."
  (let ((buffer (current-buffer))
        (request (list #'ignore))
        (started nil))
    (add-hook 'kill-buffer-hook #'backstaff-request-cancel nil t)
    (add-hook 'change-major-mode-hook #'backstaff-request-cancel nil t)
    (push request backstaff-request--pending)
    (unless backstaff-request--timer
      (setq backstaff-request--timer
            (run-at-time 0.5 nil #'backstaff-request--tell-progress buffer)))
    (unwind-protect
        (setf (car request) (funcall start
                                     (lambda (answer)
                                       (when (buffer-live-p buffer)
                                         (with-current-buffer buffer
                                           (when (memq request backstaff-request--pending)
                                             (backstaff-request--forget request)
                                             (funcall callback answer))))))
              started t)
      ;; Sending takes long if the server does not read, and can be quit.
      (unless started
        (backstaff-request--forget request)))))

(defun backstaff-request-pending-p ()
  "Return non-nil if the current buffer waits for an answer."
  (and backstaff-request--pending t))

(defun backstaff-request-cancel ()
  "Cancel what the current buffer waits for; return nil if that is nothing."
  (let ((requests backstaff-request--pending))
    (mapc #'backstaff-request--forget requests)
    (mapc (lambda (request) (funcall (car request))) requests)
    (and requests t)))

(defun backstaff-request-quit ()
  "Cancel what the buffer waits for; quit as usual if that is nothing."
  (interactive)
  (if (backstaff-request-cancel)
      (backstaff-request--tell-cancelled)
    (keyboard-quit)))

(defun backstaff-request-wait ()
  "Let Emacs wait until the current buffer does not, or until a key is hit.
Within `while-no-input' a key ends that form, as it would anywhere in it."
  (let ((tag throw-on-input)
        ;; While this is non-nil, Emacs on a text terminal keeps no more than
        ;; two of several keys that come at once.
        (throw-on-input nil))
    (while (and backstaff-request--pending (not (input-pending-p)))
      (accept-process-output nil 0.02))
    (when (and backstaff-request--pending tag)
      (throw tag t))))

(defun backstaff-request--forget (request)
  "Let the current buffer no longer wait for REQUEST."
  (setq backstaff-request--pending (delq request backstaff-request--pending))
  (unless (or backstaff-request--pending (null backstaff-request--timer))
    (cancel-timer backstaff-request--timer)
    (when (and backstaff-request-indicator
               (or (minibufferp) (equal (current-message) (backstaff-request--text))))
      (message nil))
    (setq backstaff-request--timer nil
          backstaff-request-indicator nil)
    (force-mode-line-update)))

(defun backstaff-request--text ()
  "Return what the echo area says of the wait."
  (format "Waiting for %s… (C-g cancels)"
          (if (minibufferp) "an answer" (backstaff-names-show (buffer-name)))))

(defun backstaff-request--tell-progress (buffer)
  "Tell the user that BUFFER is waiting for an answer."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq backstaff-request-indicator " waiting")
      (force-mode-line-update)
      (when (or (minibufferp) (not (or (active-minibuffer-window) (current-message))))
        (message "%s" (backstaff-request--text))
        (redisplay)))))

(defun backstaff-request--tell-cancelled ()
  "Tell the user that the current buffer no longer waits."
  (funcall backstaff-request-cancelled-function)
  (message "%s" (substitute-command-keys "Cancelled; \\[revert-buffer] asks again")))

(provide 'backstaff-request)
;;; backstaff-request.el ends here
