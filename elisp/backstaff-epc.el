;;; backstaff-epc.el --- The EPC protocol over a process  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; EPC carries calls between two programs, in the messages of backstaff-message.el.  Each
;; call ends once, with its value or with a condition below `backstaff-error'.  The function
;; that is called then may wait for another call, but must not exit by an error or a `throw',
;; because the calls after it would not end.  After the first byte out of order nobody knows
;; where the next frame begins, so the connection breaks, and all its calls end.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-message)

;;; Conditions

(define-error 'backstaff-connection-lost "Backstaff connection lost" 'backstaff-error)
(define-error 'backstaff-timeout "Backstaff call timed out" 'backstaff-error)
(define-error 'backstaff-remote-error "Backstaff call refused" 'backstaff-error)
(define-error 'backstaff-cancelled "Backstaff call cancelled" 'backstaff-error)

(defun backstaff-epc-error-text (condition)
  "Return the text of CONDITION, which `condition-case' bound.
`error-message-string' would quote the text of a `backstaff-error'."
  (if (and (memq 'backstaff-error (get (car condition) 'error-conditions))
           (stringp (cadr condition)))
      (format "%s: %s" (get (car condition) 'error-message) (cadr condition))
    (error-message-string condition)))

;;; Connections

(cl-defstruct (backstaff-epc-connection
               (:constructor backstaff-epc-make-connection)
               (:conc-name backstaff-epc--)
               (:copier nil))
  "A process that speaks EPC, and the calls that it has not answered.
NAME is the peer's in messages.  REMOTE is non-nil if a network lies between.
LOG-FUNCTION is called with lines for the log.  STDERR-FUNCTION is called when
the connection breaks; it returns the last lines from standard error, or nil.

BUFFER has the bytes of the next frames, and PENDING maps uids to calls.
TIMER is nil or the last timer that looks for calls whose time is up.
CLOSED is nil or the condition that broke the connection."
  process (name "the server") remote (log-function #'ignore) (stderr-function #'ignore)
  buffer (pending (make-hash-table) :read-only t) (last-uid 0) (silent-timeouts 0) closed timer)

(cl-defstruct (backstaff-epc--call (:constructor backstaff-epc--make-call) (:copier nil))
  "A call in flight.
SUCCESS-FN or ERROR-FN is called when it ends.  Its TIMEOUT in seconds is up at
DEADLINE, nil if it may take any time.  LOOKED is non-nil if Emacs has read from
the peer since.  SENT is nil while its request is being sent."
  method success-fn error-fn timeout deadline looked sent)

(defun backstaff-epc-connect (connection &optional output)
  "Let CONNECTION read from its process, after OUTPUT that came before; return it."
  (let ((process (backstaff-epc--process connection))
        (buffer (generate-new-buffer " *backstaff frames*" t)))
    (setf (backstaff-epc--buffer connection) buffer)
    (with-current-buffer buffer (set-buffer-multibyte nil))
    (set-process-coding-system process 'binary 'binary)
    (set-process-query-on-exit-flag process nil)
    ;; Any thread may call, so any thread may have to read.
    (set-process-thread process nil)
    (backstaff-epc--listen connection)
    (set-process-sentinel
     process
     (lambda (process _event)
       (unless (process-live-p process)
         (backstaff-epc-close connection (backstaff-epc--end-text connection)))))
    (when output (backstaff-epc--receive connection output))
    connection))

(defun backstaff-epc--end-text (connection)
  "Return how the process of CONNECTION ended."
  (let ((process (backstaff-epc--process connection)))
    (format (pcase (process-status process)
              ('exit "%s exited with status %d")
              ('signal "%s was killed by signal %d")
              ('stop "%s is stopped and takes no more requests")
              (_ "%s closed the connection"))
            (backstaff-epc--name connection) (process-exit-status process))))

(defun backstaff-epc--listen (connection)
  "Let Emacs read from the process of CONNECTION."
  (set-process-filter (backstaff-epc--process connection)
                      (lambda (_process chunk)
                        (backstaff-epc--receive connection chunk))))

(defun backstaff-epc-live-p (connection)
  "Return non-nil if CONNECTION can carry a call."
  (and (not (backstaff-epc--closed connection))
       (process-live-p (backstaff-epc--process connection))))

(defun backstaff-epc-unresponsive-p (connection)
  "Return non-nil if the peer of CONNECTION let two calls time out in silence."
  (>= (backstaff-epc--silent-timeouts connection) 2))

(defun backstaff-epc-close (connection reason &optional symbol advice)
  "Close CONNECTION and end its calls, for REASON, a string.
SYMBOL is the condition, `backstaff-connection-lost' by default.  The peer's
last words are added to REASON.  ADVICE is a string for the user, or nil."
  (unless (backstaff-epc--closed connection)
    (let ((condition `(,(or symbol 'backstaff-connection-lost) ,reason
                        ,@(and advice (list advice)))))
      (setf (backstaff-epc--closed connection) condition)
      (delete-process (backstaff-epc--process connection))
      (when (backstaff-epc--timer connection)
        (cancel-timer (backstaff-epc--timer connection)))
      (let ((words (string-trim (or (funcall (backstaff-epc--stderr-function connection)) ""))))
        (unless (equal words "") (setf (cadr condition) (format "%s:\n%s" reason words))))
      (funcall (backstaff-epc--log-function connection) (cadr condition))
      (kill-buffer (backstaff-epc--buffer connection))
      (dolist (uid (hash-table-keys (backstaff-epc--pending connection)))
        (when-let ((call (backstaff-epc--pop-call connection uid)))
          (funcall (backstaff-epc--call-error-fn call) condition))))))

(defconst backstaff-epc--slice 0.05 "Seconds between two looks at the peer.")

;;; Frames from the peer

(defvar backstaff-epc--innermost nil
  "The innermost wait: a cons of its connection and its outcome, or nil.")

(defun backstaff-epc--break-wait (connection)
  "If the innermost wait has its outcome, leave CONNECTION unread for a moment.
`accept-process-output' does not return while there is something to read:
always, if the peer floods.  In Emacs 28 a peer that has closed its output and
lives on is like that."
  (let ((process (backstaff-epc--process connection)))
    ;; Emacs reads the rest from a process that has ended, and would call t with it.
    (when (and (eq connection (car backstaff-epc--innermost)) (cdr backstaff-epc--innermost)
               (process-live-p process))
      (set-process-filter process t))))

(defun backstaff-epc--receive (connection chunk)
  "Take CHUNK from the peer of CONNECTION and deliver the complete messages."
  (backstaff-epc--break-wait connection)
  (let ((buffer (backstaff-epc--buffer connection)) (message nil))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (let ((inhibit-modification-hooks t))
          (goto-char (point-max))
          (insert chunk))))
    (condition-case problem
        (while (setq message (and (buffer-live-p buffer)
                                  (with-current-buffer buffer (backstaff-message-next))))
          (backstaff-epc--deliver connection message))
      (backstaff-protocol-error
       (backstaff-epc-close connection (cadr problem) (car problem))))))

(defun backstaff-epc--deliver (connection message)
  "End the call over CONNECTION that MESSAGE answers."
  (setf (backstaff-epc--silent-timeouts connection) 0)
  (pcase message
    (`(,(and kind (or 'return 'return-error 'epc-error))
       ,(and uid (or (pred integerp) 'nil)) ,value)
     (if-let ((call (backstaff-epc--pop-call connection uid)))
         (if (eq kind 'return) (funcall (backstaff-epc--call-success-fn call) value)
           (funcall (backstaff-epc--call-error-fn call)
                    (list 'backstaff-remote-error
                          (if (stringp value) value (format "%S" value)))))
       (funcall (backstaff-epc--log-function connection)
                (format "dropped a late or stray answer: %s %s" kind uid))))
    (_ (backstaff-message-refuse
        "an answer has not the form (return UID VALUE): %s"
        (truncate-string-to-width (format "%S" message) 200 nil nil t)))))

(defun backstaff-epc--pop-call (connection uid)
  "Remove the call UID from those over CONNECTION; return nil if there is none."
  (prog1 (gethash uid (backstaff-epc--pending connection))
    (remhash uid (backstaff-epc--pending connection))))

;;; Calls

(defconst backstaff-epc--max-remote-request (* 64 1024)
  "Maximum number of bytes of a request over a network, as a pipe takes no more.")

(defvar backstaff-epc-sending nil
  "The call whose request is being sent, the innermost of several.
It is nil inside of a wait for an answer.")

(cl-defun backstaff-epc-call-async
    (connection method args &key (success-fn #'ignore) (error-fn #'ignore) (timeout 15))
  "Call METHOD with the list ARGS over CONNECTION and return at once.
METHOD is a symbol or a string.  SUCCESS-FN is called with the value, or
ERROR-FN with a condition as `condition-case' binds it: one of them, once, in a
process filter or a timer.  No answer within TIMEOUT seconds (nil: wait for
ever) is also a condition.

Return a handle for `backstaff-epc-cancel'.  A call that cannot be sent
signals an error here, and neither function is called.  Emacs waits while the
pipe is full, for TIMEOUT or 5 seconds at most.  A request that is not sent as a
whole ends the connection, because nobody knows which part of it is under way."
  (backstaff-epc--check-open connection)
  (let* ((uid (cl-incf (backstaff-epc--last-uid connection)))
         (process (backstaff-epc--process connection))
         (frame (backstaff-message-frame
                 (list 'call uid (if (stringp method) (make-symbol method) method) args)
                 (if (backstaff-epc--remote connection) backstaff-epc--max-remote-request
                   backstaff-message-largest-frame)))
         (call (backstaff-epc--make-call :method method :timeout timeout
                                         :success-fn success-fn :error-fn error-fn))
         (problem "the last one was cut short") (ended nil))
    (unwind-protect
        (catch call
          (puthash uid call (backstaff-epc--pending connection))
          (backstaff-epc--set-deadline connection call (or timeout 5))
          (condition-case failure
              (let ((backstaff-epc-sending call))
                (process-send-string process frame)
                (unless timeout (setf (backstaff-epc--call-deadline call) nil))
                (setf (backstaff-epc--call-sent call) t))
            (error (setq problem (error-message-string failure)))))
      (unless (backstaff-epc--call-sent call)
        ;; If the connection broke meanwhile, ERROR-FN has been called.
        (setq ended (not (backstaff-epc--pop-call connection uid)))
        (backstaff-epc-close
         connection (if (memq (process-status process) '(exit signal stop))
                        (backstaff-epc--end-text connection)
                      (format "%s takes no more requests (%s)"
                              (backstaff-epc--name connection) (string-trim problem))))))
    (unless (or (backstaff-epc--call-sent call) ended)
      (backstaff-epc--check-open connection))
    uid))

(defun backstaff-epc--check-open (connection)
  "Signal the condition that broke CONNECTION, if one did."
  (when-let ((condition (backstaff-epc--closed connection)))
    (signal (car condition) (cdr condition))))

(defun backstaff-epc--set-deadline (connection call seconds)
  "Let the time of CALL over CONNECTION be up after SECONDS.
With a timer for each call, 100 calls took six times as long."
  (setf (backstaff-epc--call-deadline call) (+ (float-time) seconds))
  (unless (memq (backstaff-epc--timer connection) timer-list)
    (setf (backstaff-epc--timer connection)
          (run-at-time backstaff-epc--slice nil #'backstaff-epc--check-deadlines connection))))

(defun backstaff-epc--check-deadlines (connection)
  "End the calls over CONNECTION whose time is up."
  (let ((now (float-time)) (late nil) (sending nil))
    (maphash (lambda (uid call)
               (when-let ((deadline (backstaff-epc--call-deadline call)))
                 (cond ((> deadline now)
                        (backstaff-epc--set-deadline connection call (- deadline now)))
                       ((eq call backstaff-epc-sending) (setq sending call))
                       ;; If Emacs was suspended meanwhile, the answer may lie in the pipe.  If
                       ;; another request is being sent in the midst of this one, a throw would
                       ;; cut that caller's work in two.
                       ((not (and (backstaff-epc--call-looked call)
                                  (backstaff-epc--call-sent call)))
                        (setf (backstaff-epc--call-looked call) t)
                        (backstaff-epc--set-deadline connection call backstaff-epc--slice))
                       (t (push uid late)))))
             (backstaff-epc--pending connection))
    (dolist (uid (nreverse late))
      (when-let ((call (gethash uid (backstaff-epc--pending connection))))
        (cl-incf (backstaff-epc--silent-timeouts connection))
        (backstaff-epc--drop
         connection uid 'backstaff-timeout
         (format "%s did not answer %s within %s seconds%s" (backstaff-epc--name connection)
                 (backstaff-epc--call-method call) (backstaff-epc--call-timeout call)
                 (if (backstaff-epc--remote connection)
                     "; the network may be down, or that host asleep" "")))))
    ;; A timer may wait, in another way, inside a wait that has its outcome.
    (if (eq (process-filter (backstaff-epc--process connection)) t)
        (backstaff-epc--listen connection)
      (backstaff-epc--break-wait connection))
    (when sending (throw sending nil))))

(defun backstaff-epc--drop (connection uid symbol text)
  "End call UID over CONNECTION with the condition SYMBOL and TEXT.
The peer learns that nobody waits any more.  Return nil if the call had ended."
  (when-let ((call (backstaff-epc--pop-call connection uid)))
    (funcall (backstaff-epc--call-error-fn call) (list symbol text))
    (when (backstaff-epc-live-p connection)
      (let ((inhibit-quit t))
        ;; The process's sentinel or the next call says why nothing can be sent.
        (ignore-errors
          (backstaff-epc-call-async connection 'cancel (list uid) :timeout nil))))
    t))

(defun backstaff-epc-cancel (connection handle)
  "Cancel the call HANDLE over CONNECTION; return nil if it had ended before.
The call ends with a `backstaff-cancelled' condition, and the peer stops."
  (when-let ((call (gethash handle (backstaff-epc--pending connection))))
    (backstaff-epc--drop connection handle 'backstaff-cancelled
                         (format "%s was cancelled" (backstaff-epc--call-method call)))))

;;; Waiting

(defun backstaff-epc-await (connection start)
  "Call START, wait for the outcome, and return the value.
START begins one or more calls over CONNECTION.  Its arguments are two
functions: the first takes the value, and the second takes a condition, which
this function signals.  START returns a function that cancels the calls.

Timers run meanwhile.  For the first tenth of a second, in which most answers
come, Emacs reads only from the peer, so that no filter of another package
interrupts the caller; for a peer on another host it does so throughout, because
TRAMP would wait for ever for output that was read here.

A quit ends the wait and cancels the call, even where `inhibit-quit' is non-nil,
as in another process's filter."
  (let* ((begun (float-time))
         ;; With the usual 800 kB an answer of 13 MB brings on 16 collections of garbage.  With
         ;; 128 MB a single one took Emacs 28 half a minute.
         (gc-cons-threshold (max gc-cons-threshold (* 16 1024 1024)))
         (read-process-output-max (max read-process-output-max 65536))
         (process (backstaff-epc--process connection))
         ;; If the caller interrupts the sending of a request, its wait is not cut short.
         (backstaff-epc-sending nil)
         (wait (list connection))       ; its outcome is (VALUE) or (nil . CONDITION)
         (backstaff-epc--innermost wait)
         (cancel (funcall start
                          (lambda (value) (setcdr wait (list value)))
                          (lambda (condition) (setcdr wait (cons nil condition))))))
    (unwind-protect
        (while (not (cdr wait))
          (if (eq (process-status process) 'stop)
              ;; `accept-process-output' returns at once if the process is stopped, so
              ;; without a pause the loop would take all of a processor.
              (sleep-for backstaff-epc--slice)
            (let ((live (process-live-p process)))
              (accept-process-output
               (and live process) backstaff-epc--slice nil
               (and live (or (backstaff-epc--remote connection)
                             (< (- (float-time) begun) 0.1))))))
          ;; The flag is still set, so `inhibit-quit' is non-nil.
          (when (eq quit-flag t)
            (setq quit-flag nil)
            (signal 'quit nil)))
      (backstaff-epc--listen connection)
      (unless (cdr wait) (funcall cancel)))
    (pcase-let ((`(,_ ,value . ,condition) wait))
      (when condition (signal (car condition) (cdr condition)))
      value)))

(cl-defun backstaff-epc-call (connection method args &key (timeout 15))
  "Call METHOD with the list ARGS over CONNECTION and return its value.
TIMEOUT is as in `backstaff-epc-call-async', and the wait in
`backstaff-epc-await'.  Signal a `backstaff-error' if no value comes."
  (backstaff-epc-await
   connection
   (lambda (success-fn error-fn)
     (let ((uid (backstaff-epc-call-async connection method args :success-fn success-fn
                                          :error-fn error-fn :timeout timeout)))
       (lambda () (backstaff-epc-cancel connection uid))))))

(provide 'backstaff-epc)
;;; backstaff-epc.el ends here
