;;; backstaff-epc.el --- The EPC protocol over a process  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; EPC carries calls between two programs as s-expressions.  This file has the
;; connections, the calls under way over them, and the waiting for answers.  How
;; a message looks is backstaff-message.el's; what it is for is the callers'.
;;
;; `backstaff-epc-connect' makes a connection of a process.  Then
;; `backstaff-epc-call' waits for an answer, `backstaff-epc-call-async' does
;; not; whatever happens, a call ends once: with its value, or with one of
;; the conditions below `backstaff-error'.
;;
;; What keeps it sound:
;;
;; - A frame is parsed when all of it has come, and is taken off the buffer
;;   before anybody hears of it.  So a continuation may wait for another call.
;; - After the first byte out of order there is no telling where the next
;;   frame begins: the connection breaks, and all that waits is told why.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-message)


;;; Conditions

(define-error 'backstaff-connection-lost "Backstaff connection lost"
  'backstaff-error)
(define-error 'backstaff-timeout "Backstaff call timed out" 'backstaff-error)
(define-error 'backstaff-remote-error "Backstaff call refused" 'backstaff-error)
(define-error 'backstaff-cancelled "Backstaff call cancelled" 'backstaff-error)

(defun backstaff-epc-error-text (condition)
  "Return the text of CONDITION, for people and models to read.
CONDITION is what `condition-case' binds.  The text of a `backstaff-error'
comes as it is, where `error-message-string' quotes it; where the condition
has no message of its own, that is all."
  (let ((data (cdr condition))
        (message (get (car condition) 'error-message)))
    (if (and (memq 'backstaff-error (get (car condition) 'error-conditions))
             (stringp (car data)))
        (if (equal message "") (car data)
          (format "%s: %s" message (car data)))
      (error-message-string condition))))


;;; Connections

(cl-defstruct (backstaff-epc-connection
               (:constructor backstaff-epc--make-connection)
               (:conc-name backstaff-epc--)
               (:copier nil))
  "A process that speaks EPC, and what it has not answered."
  (process nil :read-only t)
  (name nil :read-only t)
  (buffer nil :read-only t)
  (position 1)
  (pending (make-hash-table) :read-only t)
  (last-uid 0)
  (in-flight 0)
  (held-back nil)
  (sent 0)
  (read 0)
  (silent-timeouts 0)
  (closed nil)
  (alarm nil)
  (remote nil :read-only t)
  (log-function nil :read-only t)
  (stderr-function nil :read-only t))

(cl-defstruct (backstaff-epc--call
               (:constructor backstaff-epc--make-call)
               (:copier nil))
  "A call under way.
FRAME is what is to be sent, or nil once it is; then END is how many bytes
the peer has read when it has read that.  SETTLE is nil once it was called."
  (method nil :read-only t)
  (settle nil)
  (timeout nil :read-only t)
  (frame nil)
  (end 0)
  (deadline nil))

(cl-defun backstaff-epc-connect
    (process &key (name "the server") (log-function #'ignore) stderr-function
             remote)
  "Return a connection that speaks EPC over PROCESS.
PROCESS loses the filter and the sentinel that it has.  NAME is what
people are told about when something fails.

LOG-FUNCTION is called with one line of text for what is worth a note but
is nobody's failure.  STDERR-FUNCTION is called without arguments when the
connection breaks, and returns what PROCESS last wrote to its standard
error, or nil.

REMOTE is non-nil if a network lies between: then a request may not be
large, and one whose sending is cut short ends the connection."
  (let ((connection
         (backstaff-epc--make-connection
          :process process :name name :remote remote
          :buffer (generate-new-buffer " *backstaff frames*" t)
          :log-function log-function :stderr-function stderr-function)))
    (with-current-buffer (backstaff-epc--buffer connection)
      (set-buffer-multibyte nil)
      (buffer-disable-undo))
    (set-process-coding-system process 'binary 'binary)
    (set-process-query-on-exit-flag process nil)
    ;; Any thread may call, so any thread may have to read.
    (set-process-thread process nil)
    (set-process-filter
     process (lambda (_process chunk)
               (backstaff-epc--receive connection chunk)))
    (set-process-sentinel
     process (lambda (process _event)
               (unless (process-live-p process)
                 (backstaff-epc--break-ended connection))))
    connection))

(defun backstaff-epc-live-p (connection)
  "Return non-nil if CONNECTION can carry a call."
  (and (not (backstaff-epc--closed connection))
       (process-live-p (backstaff-epc--process connection))))

(defun backstaff-epc-unresponsive-p (connection)
  "Return non-nil if the peer of CONNECTION seems to be stuck for good.
It let two calls time out and gave no sign of life between, although it
was told each time that nobody waits for the answer any more."
  (>= (backstaff-epc--silent-timeouts connection) 2))

(defun backstaff-epc-close (connection reason &optional symbol)
  "Close CONNECTION and fail what is under way, for REASON, a string.
SYMBOL is the condition, `backstaff-connection-lost' by default."
  (backstaff-epc--break connection (or symbol 'backstaff-connection-lost)
                        reason))

(defun backstaff-epc--break-ended (connection)
  "Close CONNECTION because its process has ended."
  (let* ((process (backstaff-epc--process connection))
         (status (process-exit-status process)))
    (backstaff-epc--break
     connection 'backstaff-connection-lost
     (format (pcase (process-status process)
               ('exit "%s exited with status %d")
               ('signal "%s was killed by signal %d")
               (_ "%s closed the connection"))
             (backstaff-epc--name connection) status))))

(defun backstaff-epc--break (connection symbol reason)
  "Close CONNECTION and fail what is under way with condition SYMBOL.
REASON and the peer's last words are the text of the condition."
  (unless (backstaff-epc--closed connection)
    (setf (backstaff-epc--closed connection) t)
    (delete-process (backstaff-epc--process connection))
    (let ((condition (list symbol reason)))
      (unwind-protect
          (setf (cadr condition)
                (backstaff-epc--with-last-words connection reason))
        (setf (backstaff-epc--closed connection) condition)
        (backstaff-epc--tell-closed connection condition)))))

(defun backstaff-epc--tell-closed (connection condition)
  "Note that CONNECTION closed with CONDITION, and tell all that is under way."
  (unwind-protect
      (progn (backstaff-epc--log connection "%s" (cadr condition))
             (backstaff-epc--fail-pending connection condition))
    (kill-buffer (backstaff-epc--buffer connection))))

(defun backstaff-epc--with-last-words (connection reason)
  "Return REASON, followed by what the peer of CONNECTION said last."
  (let* ((function (backstaff-epc--stderr-function connection))
         (words (and function (string-trim (or (funcall function) "")))))
    (if (member words '(nil "")) reason (format "%s:\n%s" reason words))))

(defun backstaff-epc--fail-pending (connection condition)
  "End all that is under way over CONNECTION with CONDITION, oldest first.
One that is told may leave by a `throw'; those behind it are not forgotten."
  (let ((done nil))
    (unwind-protect
        (progn
          (dolist (uid (backstaff-epc--uids connection))
            (when-let ((call (backstaff-epc--pop-call connection uid)))
              (backstaff-epc--settle connection call nil condition)))
          (setq done t))
      (unless done
        (run-at-time 0 nil #'backstaff-epc--fail-pending
                     connection condition)))))

(defun backstaff-epc--uids (connection)
  "Return the uids of what is under way over CONNECTION, oldest first."
  (sort (hash-table-keys (backstaff-epc--pending connection)) #'<))

(defun backstaff-epc--log (connection format-string &rest arguments)
  "Note FORMAT-STRING with ARGUMENTS in the log of CONNECTION."
  (funcall (backstaff-epc--log-function connection)
           (apply #'format format-string arguments)))


;;; Frames from the peer

(defconst backstaff-epc--slack (* 1024 1024)
  "How many bytes of frames that are done may stay before those to come.")

(defun backstaff-epc--receive (connection chunk)
  "Take CHUNK from the peer of CONNECTION and deliver what is complete."
  (if (not (buffer-live-p (backstaff-epc--buffer connection)))
      (backstaff-epc-close connection "the buffer of its answers was killed")
    (with-current-buffer (backstaff-epc--buffer connection)
      (let ((inhibit-modification-hooks t))
        (goto-char (point-max))
        (insert chunk)))
    (backstaff-epc--dispatch connection)))

(defun backstaff-epc--dispatch (connection)
  "Deliver the messages that have come over CONNECTION.
A continuation may leave by a `throw'; those behind it are not forgotten."
  (let ((done nil))
    (unwind-protect
        (condition-case problem
            (let (message)
              (while (setq message (backstaff-epc--next-message connection))
                (backstaff-epc--deliver connection message))
              (setq done t))
          (backstaff-protocol-error
           (setq done t)
           (backstaff-epc--break connection (car problem) (cadr problem))))
      (unless done
        (run-at-time 0 nil #'backstaff-epc--dispatch connection)))))

(defun backstaff-epc--next-message (connection)
  "Take the next message off the buffer of CONNECTION; nil if there is none.
Signal a `backstaff-protocol-error' if it is not a message."
  (when (buffer-live-p (backstaff-epc--buffer connection))
    (with-current-buffer (backstaff-epc--buffer connection)
      (let* ((start (backstaff-epc--position connection))
             (end (backstaff-message-frame-end start)))
        (when end
          (setf (backstaff-epc--position connection) end)
          (prog1 (backstaff-message-read-frame
                  (+ start backstaff-message-header-size) end)
            (backstaff-epc--discard-done connection)))))))

(defun backstaff-epc--discard-done (connection)
  "Delete the frames that are done from the current buffer, CONNECTION's.
Deleting moves all that stands behind them, so mostly nothing must."
  (let ((position (backstaff-epc--position connection))
        (inhibit-modification-hooks t))
    (cond ((= position (point-max))
           (erase-buffer)
           (setf (backstaff-epc--position connection) (point-min)))
          ((> position backstaff-epc--slack)
           (delete-region (point-min) position)
           (setf (backstaff-epc--position connection) (point-min))))))

(defun backstaff-epc--deliver (connection message)
  "Give MESSAGE, which came over CONNECTION, to the call it answers."
  (setf (backstaff-epc--silent-timeouts connection) 0)
  (pcase message
    (`(,(and kind (or 'return 'return-error 'epc-error))
       ,(and uid (or (pred integerp) 'nil)) ,value)
     (if-let ((call (backstaff-epc--pop-call connection uid)))
         (backstaff-epc--answer connection call kind value)
       (backstaff-epc--log connection "dropped a late or stray answer: %s %s"
                           kind uid)))
    (_ (backstaff-message-refuse
        "an answer has not the form (return UID VALUE): %s"
        (truncate-string-to-width (format "%S" message) 200 nil nil t)))))

(defun backstaff-epc--answer (connection call kind value)
  "End CALL over CONNECTION with VALUE, which came in an answer of KIND."
  (setf (backstaff-epc--read connection)
        (max (backstaff-epc--read connection) (backstaff-epc--call-end call)))
  (if (eq kind 'return)
      (backstaff-epc--settle connection call value nil)
    (backstaff-epc--settle
     connection call nil
     (list 'backstaff-remote-error
           (if (stringp value) value (format "%S" value))))))

(defun backstaff-epc--pop-call (connection uid)
  "Take the call UID off those under way over CONNECTION; nil if there is none."
  (when-let ((call (gethash uid (backstaff-epc--pending connection))))
    (remhash uid (backstaff-epc--pending connection))
    (unless (backstaff-epc--call-frame call)
      (cl-decf (backstaff-epc--in-flight connection))
      (when (backstaff-epc--held-back connection)
        (run-at-time 0 nil #'backstaff-epc--send-held-back connection)))
    (when (zerop (hash-table-count (backstaff-epc--pending connection)))
      (backstaff-epc--set-alarm connection nil))
    call))

(defun backstaff-epc--settle (connection call value condition)
  "Tell CALL, made over CONNECTION, its VALUE, or CONDITION if that is non-nil.
It is told once.  An error in the caller's function is the caller's alone."
  (condition-case problem
      (when-let ((settle (backstaff-epc--call-settle call)))
        (setf (backstaff-epc--call-settle call) nil)
        (funcall settle value condition))
    ((error quit)
     (let ((text (format "error in what waited for %s: %s"
                         (backstaff-epc--call-method call)
                         (error-message-string problem))))
       (backstaff-epc--log connection "%s" text)
       (message "Backstaff: %s" text)))))


;;; Messages to the peer

(defconst backstaff-epc--largest-remote-frame (* 64 1024)
  "The largest length of a request that goes over a network.")

(defun backstaff-epc--room (connection)
  "Return the largest length that a request over CONNECTION may have."
  (if (backstaff-epc--remote connection) backstaff-epc--largest-remote-frame
    backstaff-message-largest-frame))

(defvar backstaff-epc--most-in-flight 200
  "How many calls may be under way at once; more are held back.
A server refuses calls when 256 of them wait.")

(defconst backstaff-epc--pipe-size 16384
  "How many bytes surely fit in a pipe that nobody reads.")

(defun backstaff-epc--unread (connection)
  "Return how many bytes the peer of CONNECTION may not have read yet."
  (- (backstaff-epc--sent connection) (backstaff-epc--read connection)))

(defun backstaff-epc--send (connection uid call)
  "Send CALL, which has UID, over CONNECTION; give up after its time.
Emacs waits while the pipe is full, for ever if need be, so that only what
surely fits is sent without a guard.  What has not gone out then stays in
Emacs's own queue, and the next frame follows it: none is ever torn."
  (let ((process (backstaff-epc--process connection))
        (frame (backstaff-epc--call-frame call))
        (timeout (backstaff-epc--call-timeout call))
        (left (backstaff-epc--time-left call)))
    (cl-incf (backstaff-epc--in-flight connection))
    (setf (backstaff-epc--call-frame call) nil
          (backstaff-epc--call-end call)
          (cl-incf (backstaff-epc--sent connection) (length frame)))
    (condition-case problem
        (if (and left (> (backstaff-epc--unread connection)
                         backstaff-epc--pipe-size))
            (with-timeout (left (backstaff-epc--give-up-sending
                                 connection timeout))
              (process-send-string process frame))
          (process-send-string process frame))
      (backstaff-timeout (signal (car problem) (cdr problem)))
      (error
       ;; Each call is told once: this one by the error that is signalled
       ;; here, unless the connection broke before and told it with the rest.
       (let ((untold (backstaff-epc--pop-call connection uid)))
         (backstaff-epc--break
          connection 'backstaff-connection-lost
          (format "%s takes no more requests (%s)"
                  (backstaff-epc--name connection)
                  (if (eq (process-status process) 'stop) "it is stopped"
                    (error-message-string problem))))
         (when untold
           (backstaff-epc--check-open connection)))))))

(defun backstaff-epc--time-left (call)
  "Return how many seconds there are for CALL, nil if it may wait for ever.
Some have gone by already if it was held back."
  (if-let ((deadline (backstaff-epc--call-deadline call)))
      (max 0 (- deadline (float-time)))
    (backstaff-epc--call-timeout call)))

(defun backstaff-epc--give-up-sending (connection timeout)
  "Signal that the peer of CONNECTION read nothing for TIMEOUT seconds."
  (cl-incf (backstaff-epc--silent-timeouts connection))
  (signal 'backstaff-timeout
          (list (backstaff-epc--slowness
                 connection "took no request" timeout))))

(defun backstaff-epc--slowness (connection failure timeout)
  "Say that the peer of CONNECTION showed FAILURE for TIMEOUT seconds."
  (format "%s %s within %s seconds%s" (backstaff-epc--name connection)
          failure timeout
          (if (backstaff-epc--remote connection)
              "; the network may be down, or that host asleep"
            "")))

(defun backstaff-epc--check-open (connection)
  "Signal the condition that broke CONNECTION, if one did."
  (pcase (backstaff-epc--closed connection)
    ('nil nil)
    (`(,symbol . ,data) (signal symbol data))
    ;; Still breaking: its last words are being read further up the stack.
    (_ (signal 'backstaff-connection-lost
               (list (format "%s has just ended"
                             (backstaff-epc--name connection)))))))

(defun backstaff-epc--begin (connection method args settle timeout)
  "Send a call of METHOD with ARGS over CONNECTION; return its uid.
SETTLE is called with a value and nil, or with nil and a condition, when
the call ends, but not if this function signals an error.  TIMEOUT limits
the sending."
  (backstaff-epc--check-open connection)
  (let* ((uid (cl-incf (backstaff-epc--last-uid connection)))
         (symbol (if (stringp method) (make-symbol method) method))
         (call (backstaff-epc--make-call
                :method method :settle settle :timeout timeout
                :deadline (and timeout (+ (float-time) timeout))
                :frame (backstaff-message-frame
                        (list 'call uid symbol args)
                        (backstaff-epc--room connection)))))
    (puthash uid call (backstaff-epc--pending connection))
    (if (and (>= (backstaff-epc--in-flight connection)
                 backstaff-epc--most-in-flight)
             (not (eq method 'cancel)))
        (setf (backstaff-epc--held-back connection)
              (nconc (backstaff-epc--held-back connection) (list uid)))
      (backstaff-epc--transmit connection uid call))
    uid))

(defun backstaff-epc--send-held-back (connection)
  "Send the calls over CONNECTION that were held back, as many as may go.
One that is told of a failure may leave by a `throw'; then it is the others'
turn at once."
  (cl-flet ((ready ()
              (and (backstaff-epc--held-back connection)
                   (not (backstaff-epc--closed connection))
                   (< (backstaff-epc--in-flight connection)
                      backstaff-epc--most-in-flight))))
    (unwind-protect
        (while (ready)
          (let* ((uid (pop (backstaff-epc--held-back connection)))
                 (call (gethash uid (backstaff-epc--pending connection))))
            (when call
              (backstaff-epc--send-in-line connection uid call))))
      (when (ready)
        (run-at-time 0 nil #'backstaff-epc--send-held-back connection)))))

(defun backstaff-epc--transmit (connection uid call)
  "Send CALL, which has UID, over CONNECTION; forget it if that fails.
Signal why, unless CALL was told of its end meanwhile."
  (let ((sent nil))
    (condition-case problem
        (unwind-protect
            (progn (backstaff-epc--send connection uid call)
                   (setq sent t))
          (unless sent
            (backstaff-epc--pop-call connection uid)
            (when (backstaff-epc--remote connection)
              ;; Half of it may be under way, and nobody knows which half.
              (backstaff-epc-close connection
                                   "the sending of a request was cut short"))))
      (backstaff-error
       (when (backstaff-epc--call-settle call)
         (signal (car problem) (cdr problem)))))))

(defun backstaff-epc--send-in-line (connection uid call)
  "Send CALL, which has UID and was held back, over CONNECTION.
There is nobody to signal an error to, so the call is told."
  (condition-case problem
      (backstaff-epc--transmit connection uid call)
    (backstaff-error (backstaff-epc--settle connection call nil problem))
    (quit (backstaff-epc--settle
           connection call nil (backstaff-epc--cancellation call))
          (signal (car problem) (cdr problem)))))

(defun backstaff-epc--tell-cancelled (connection uid)
  "Tell the peer of CONNECTION that nobody waits for call UID any more.
It is not worth waiting for: a peer that does not read is not told."
  (when (and (backstaff-epc-live-p connection)
             (< (backstaff-epc--unread connection)
                (/ backstaff-epc--pipe-size 2)))
    (let ((inhibit-quit t))
      ;; The call has ended here already; a peer that is gone needs no word.
      (ignore-errors
        (backstaff-epc--begin connection 'cancel (list uid) #'ignore nil)))))

(defun backstaff-epc--cancellation (call)
  "Return the condition that CALL was cancelled."
  (list 'backstaff-cancelled
        (format "%s was cancelled" (backstaff-epc--call-method call))))


;;; Calls

(defconst backstaff-epc--slice 0.05
  "For how many seconds to wait before looking at the clock and the peer.")

(defconst backstaff-epc--grace 0.5
  "How many seconds after its limit a call that waits ends in any case.")

(defconst backstaff-epc--undisturbed 0.1
  "For how many seconds a call that waits keeps other processes waiting too.")

(cl-defun backstaff-epc-call (connection method args &key (timeout 15))
  "Call METHOD with the list ARGS over CONNECTION and return its value.
METHOD is a symbol or a string.  Signal a `backstaff-error' if there is no
value within TIMEOUT seconds (nil: wait for ever), if the peer refuses, or
if the connection breaks.

For the first tenth of a second, in which most answers come, nothing but
the peer is read: no other package's filter runs in the middle of the
caller's work.  After that all processes are served, so that none starves;
but not where the peer is on another host, as TRAMP, in the midst of a
command, would wait for ever for what was read here.  Timers run throughout.

A quit (\\[keyboard-quit]) ends the wait, and the peer is told.  That holds
also where `inhibit-quit' is non-nil, as in another process's filter: the
caller is sent a `quit', once."
  (let* ((outcome nil)
         (start (float-time))
         (last start)
         (read-process-output-max (max read-process-output-max 65536))
         (uid (backstaff-epc--begin
               connection method args
               (lambda (value condition)
                 (setq outcome (cons value condition)))
               timeout))
         ;; `accept-process-output' does not return while there is always
         ;; something to read: a peer that floods, or the end of a pipe whose
         ;; process lives.  Timers run inside of it.
         (guard (and timeout
                     (run-at-time (+ timeout backstaff-epc--grace) nil
                                  #'backstaff-epc--end-flood
                                  connection uid timeout))))
    (unwind-protect
        (while (not outcome)
          (let ((now (float-time)))
            ;; The clock was set back: the time before does not count twice.
            (when (< now last)
              (cl-decf start (- last now)))
            (setq last now)
            (backstaff-epc--wait connection uid (- now start) timeout)))
      (when guard
        (cancel-timer guard))
      (unless outcome
        (backstaff-epc--pop-call connection uid)
        (backstaff-epc--tell-cancelled connection uid)))
    (pcase-let ((`(,value . ,condition) outcome))
      (when condition
        (signal (car condition) (cdr condition)))
      value)))

(defun backstaff-epc--wait (connection uid elapsed timeout)
  "Wait a little for call UID over CONNECTION, made ELAPSED seconds ago.
End it if it has had TIMEOUT seconds, or if the peer has died."
  (let* ((process (backstaff-epc--process connection))
         (undisturbed (or (backstaff-epc--remote connection)
                          (< elapsed backstaff-epc--undisturbed))))
    (cond
     ((and timeout (>= elapsed timeout))
      ;; If Emacs was suspended meanwhile, the answer may lie in the pipe.
      (when (> elapsed (+ timeout (* 4 backstaff-epc--slice)))
        (accept-process-output process 0 nil t))
      (backstaff-epc--time-out connection uid timeout))
     ((eq (process-status process) 'stop)
      ;; `accept-process-output' does not wait for a process that is stopped.
      (sleep-for backstaff-epc--slice))
     ((process-live-p process)
      (accept-process-output
       process
       (if timeout (min backstaff-epc--slice (- timeout elapsed))
         backstaff-epc--slice)
       nil undisturbed))
     (t
      ;; The answer may be among its last words.
      (accept-process-output process 0 nil t)
      (backstaff-epc--break-ended connection)))
    ;; Set and still unheeded, so `inhibit-quit' is non-nil.
    (when (eq quit-flag t)
      (setq quit-flag nil)
      (signal 'quit nil))))

(defun backstaff-epc--end-flood (connection uid timeout)
  "Close CONNECTION: Emacs reads and reads, past the TIMEOUT of call UID."
  (when (gethash uid (backstaff-epc--pending connection))
    (backstaff-epc-close
     connection
     (format "%s sent no answer within %s seconds, but kept Emacs reading"
             (backstaff-epc--name connection) timeout))))

(defun backstaff-epc--time-out (connection uid timeout)
  "End call UID over CONNECTION, which was not answered in TIMEOUT seconds."
  (when-let ((call (backstaff-epc--pop-call connection uid)))
    (unless (backstaff-epc--call-frame call)
      (cl-incf (backstaff-epc--silent-timeouts connection))
      (backstaff-epc--tell-cancelled connection uid))
    (backstaff-epc--settle
     connection call nil
     (list 'backstaff-timeout
           (backstaff-epc--slowness
            connection
            (format "did not answer %s" (backstaff-epc--call-method call))
            timeout)))))

(defun backstaff-epc--set-alarm (connection time)
  "Have the clock looked at for CONNECTION at TIME and not before; nil: never.
One timer does for all calls: Emacs keeps timers in a list, and a hundred
calls in flight would each have to be sorted into it."
  (when-let ((alarm (backstaff-epc--alarm connection)))
    (cancel-timer (cdr alarm)))
  (setf (backstaff-epc--alarm connection)
        (and time
             (cons time (run-at-time (max 0 (- time (float-time))) nil
                                     #'backstaff-epc--look-at-clock
                                     connection)))))

(defun backstaff-epc--limit-call (connection call)
  "End CALL over CONNECTION if it is not answered by its deadline."
  (let ((deadline (backstaff-epc--call-deadline call))
        (alarm (backstaff-epc--alarm connection)))
    (unless (and alarm (<= (car alarm) deadline))
      (backstaff-epc--set-alarm connection deadline))))

(defun backstaff-epc--look-at-clock (connection)
  "End the calls over CONNECTION whose time is up.
One that is told may leave by a `throw'; then it is the others' turn at once."
  (backstaff-epc--set-alarm connection nil)
  (unwind-protect
      ;; A timer may be early by less than a clock can tell.
      (pcase-dolist (`(,uid . ,timeout)
                     (backstaff-epc--due connection (+ (float-time) 0.001)))
        (backstaff-epc--time-out connection uid timeout))
    (let ((deadlines (delq nil (mapcar #'backstaff-epc--call-deadline
                                       (hash-table-values
                                        (backstaff-epc--pending connection))))))
      (when deadlines
        (backstaff-epc--set-alarm connection (apply #'min deadlines))))))

(defun backstaff-epc--due (connection now)
  "Return a (UID . TIMEOUT) for each call over CONNECTION that is due by NOW."
  (cl-loop for uid in (backstaff-epc--uids connection)
           for call = (gethash uid (backstaff-epc--pending connection))
           for deadline = (backstaff-epc--call-deadline call)
           when (and deadline (<= deadline now))
           collect (cons uid (backstaff-epc--call-timeout call))))

(cl-defun backstaff-epc-call-async
    (connection method args &key success-fn error-fn (timeout 15))
  "Call METHOD with the list ARGS over CONNECTION and return at once.
SUCCESS-FN is called with the value, or ERROR-FN with a condition such as
`condition-case' binds: one of them, once.  No answer within TIMEOUT
seconds (nil: wait for ever) is a condition, too.  Both run in a process
filter or a timer, and an error in them goes no further than the log.

Return a handle for `backstaff-epc-cancel'.  A call that cannot be sent at
all is an error here, and neither function is called."
  (let ((uid (backstaff-epc--begin
              connection method args
              (lambda (value condition)
                (if condition
                    (when error-fn (funcall error-fn condition))
                  (when success-fn (funcall success-fn value))))
              timeout)))
    (when timeout
      (when-let ((call (gethash uid (backstaff-epc--pending connection))))
        (backstaff-epc--limit-call connection call)))
    uid))

(defun backstaff-epc-cancel (connection handle)
  "Cancel the asynchronous call HANDLE over CONNECTION.
The peer is told, and the call ends with a `backstaff-cancelled' condition.
Return nil if it had ended before."
  (when-let ((call (backstaff-epc--pop-call connection handle)))
    (unless (backstaff-epc--call-frame call)
      (backstaff-epc--tell-cancelled connection handle))
    (backstaff-epc--settle connection call nil
                           (backstaff-epc--cancellation call))
    t))

(provide 'backstaff-epc)
;;; backstaff-epc.el ends here
