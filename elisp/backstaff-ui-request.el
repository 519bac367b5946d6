;;; backstaff-ui-request.el --- Calls that belong to a buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A buffer that shows an answer owns the call for it.  This form returns at once;
;; `my-draw' gets the reply later, with the same buffer current:
;;
;;   (backstaff-request "workspace/tree" '(:path ".") #'my-draw)
;;
;; The mode line says that the buffer waits.  C-g cancels the call, also on the server,
;; and killing the buffer or changing its major mode does the same.  A cancelled request
;; never calls back.  A new request leaves older ones alone; call
;; `backstaff-request-cancel' first to replace them.

;;; Code:

(require 'backstaff)

(defvar-local backstaff-request-cancelled-function #'ignore
  "Function to call after the user has cancelled the buffer's requests.")

(defvar-local backstaff-request--pending nil
  "The requests without an answer, each a list of the function that cancels it.")

(defvar backstaff-request-indicator '(backstaff-request--pending " waiting, C-g cancels")
  "Mode line construct, shown while the buffer's requests wait for an answer.")

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
  (let ((buffer (current-buffer)) (request (list nil)))
    (add-hook 'kill-buffer-hook #'backstaff-request-cancel nil t)
    (add-hook 'change-major-mode-hook #'backstaff-request-cancel nil t)
    (push request backstaff-request--pending)
    (force-mode-line-update)
    ;; START can be quit: sending takes long if the server does not read.
    (unwind-protect
        (setcar request
                (funcall start (lambda (value)
                                 (when (buffer-live-p buffer)
                                   (with-current-buffer buffer
                                     (when (memq request backstaff-request--pending)
                                       (backstaff-request--forget request)
                                       (funcall callback value)))))))
      (unless (car request)
        (backstaff-request--forget request)))))

(defun backstaff-request-cancel ()
  "Cancel the requests of the current buffer; return nil if there are none."
  (let ((requests backstaff-request--pending))
    (mapc #'backstaff-request--forget requests)
    (dolist (request requests)
      (funcall (or (car request) #'ignore)))
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
  "Tell the user that the requests of the buffer were cancelled."
  (funcall backstaff-request-cancelled-function)
  (message "%s" (substitute-command-keys "Cancelled; \\[revert-buffer] asks again")))

(provide 'backstaff-ui-request)
;;; backstaff-ui-request.el ends here
