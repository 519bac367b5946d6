;;; backstaff-epc.el --- The EPC protocol over a process  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; EPC carries calls between two programs as s-expressions.  A frame is six
;; hex digits, the length of the rest in bytes, and then one message:
;;
;;   00002b(call 7 agent-q/list_directory ((:path ".")))   Emacs asks
;;   000010(return 7 VALUE)                                the peer answers
;;
;; or `return-error' and `epc-error' in place of `return'.  This file knows
;; the messages and nothing of what they are for.
;;
;; `backstaff-epc-connect' makes a connection of a process.  Then
;; `backstaff-epc-call' waits for an answer, `backstaff-epc-call-async' does
;; not; whatever happens, a call ends once: with its value, or with one of
;; the conditions below `backstaff-error'.  A connection may be made before its
;; process is there: calls then wait in line until `backstaff-epc-open'.
;;
;; What keeps it sound:
;;
;; - A frame is parsed when all of it has come, and is taken off the buffer
;;   before anybody hears of it.  So a continuation may wait for another call.
;; - Nothing is read that is not plain data.  `backstaff-epc--scan' goes over
;;   a message before `read' does, and lets through lists, strings, numbers
;;   and symbols: no `#', which a peer writes \u0023 in its strings, and no
;;   nesting that could exhaust the C stack of a recursive reader.
;; - After the first byte out of order there is no telling where the next
;;   frame begins: the connection breaks, and all that waits is told why.

;;; Code:

(require 'cl-lib)
(require 'subr-x)


;;; Conditions

(define-error 'backstaff-error "Backstaff error")
(define-error 'backstaff-connection-lost "Backstaff connection lost"
  'backstaff-error)
(define-error 'backstaff-timeout "Backstaff call timed out" 'backstaff-error)
(define-error 'backstaff-protocol-error "Backstaff protocol error"
  'backstaff-error)
(define-error 'backstaff-remote-error "Backstaff call refused" 'backstaff-error)
(define-error 'backstaff-cancelled "Backstaff call cancelled" 'backstaff-error)
(define-error 'backstaff-argument-error "Backstaff argument not sendable"
  'backstaff-error)

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
  "A process that speaks EPC, and what it has not answered.
OPENING is a function while the process is still to come, and then nil."
  (process nil)
  (opening nil)
  (name nil :read-only t)
  (buffer nil :read-only t)
  (position 1)
  (pending (make-hash-table) :read-only t)
  (last-uid 0)
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
             remote opening)
  "Return a connection that speaks EPC over PROCESS.
PROCESS loses the filter and the sentinel that it has.  NAME is what
people are told about when something fails.

PROCESS is nil if it is still to come, by `backstaff-epc-open'.  Then
OPENING is a function without arguments that waits a little for it, heeds a
quit, and need not succeed; whoever waits for an answer calls it again and
again.  If the last call that waits in line is cancelled before that, the
connection is closed.

LOG-FUNCTION is called with one line of text for what is worth a note but
is nobody's failure.  STDERR-FUNCTION is called without arguments when the
connection breaks, and returns what PROCESS last wrote to its standard
error, or nil.

REMOTE is non-nil if a network lies between: then a request may not be
large, and one whose sending is cut short ends the connection."
  (let ((connection
         (backstaff-epc--make-connection
          :name name :remote remote :opening opening
          :buffer (generate-new-buffer " *backstaff frames*" t)
          :log-function log-function :stderr-function stderr-function)))
    (with-current-buffer (backstaff-epc--buffer connection)
      (set-buffer-multibyte nil)
      (buffer-disable-undo))
    (when process
      (backstaff-epc-open connection process))
    connection))

(defun backstaff-epc-open (connection process)
  "Let CONNECTION be one with PROCESS.
What waits in line is not sent before `backstaff-epc-flush'."
  (setf (backstaff-epc--process connection) process
        (backstaff-epc--opening connection) nil)
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
               (backstaff-epc--break-ended connection)))))

(defun backstaff-epc-opening-p (connection)
  "Return non-nil if the process of CONNECTION is still to come."
  (and (backstaff-epc--opening connection)
       (not (backstaff-epc--closed connection))))

(defun backstaff-epc-live-p (connection)
  "Return non-nil if CONNECTION can carry a call, be it later."
  (and (not (backstaff-epc--closed connection))
       (or (backstaff-epc--opening connection)
           (process-live-p (backstaff-epc--process connection)))))

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
    (when-let ((process (backstaff-epc--process connection)))
      (delete-process process))
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

(defconst backstaff-epc--header-size 6
  "How many hex digits say the length of a frame.")

(defconst backstaff-epc--largest-frame #xffffff
  "The largest length a header can say.")

(defconst backstaff-epc--gc-cons-threshold (* 128 1024 1024)
  "How much may be allocated around an answer before garbage is collected.
With the usual 800 kB a big answer costs half its time in collections.
The largest that there can be takes some 100 MB until it is read.")

(defconst backstaff-epc--slack (* 1024 1024)
  "How many bytes of frames that are done may stay before those to come.")

(defun backstaff-epc--receive (connection chunk)
  "Take CHUNK from the peer of CONNECTION and deliver what is complete."
  (when (buffer-live-p (backstaff-epc--buffer connection))
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
             (end (backstaff-epc--frame-end start)))
        (when end
          (setf (backstaff-epc--position connection) end)
          (prog1 (backstaff-epc--read-frame
                  (+ start backstaff-epc--header-size) end)
            (backstaff-epc--discard-done connection)))))))

(defun backstaff-epc--frame-end (start)
  "Return where the frame at START ends, nil if not all of it has come."
  (let ((body (+ start backstaff-epc--header-size)))
    (goto-char start)
    (skip-chars-forward "0-9a-f" body)
    (cond ((= (point) body)
           (let ((end (+ body (string-to-number
                               (buffer-substring start body) 16))))
             (and (<= end (point-max)) end)))
          ((eobp) nil)
          (t (backstaff-epc--refuse
              "expected the length of a frame, got %S"
              (buffer-substring start (min (point-max) (+ start 200))))))))

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

(defun backstaff-epc--read-frame (start end)
  "Return the message between START and END of the current, unibyte buffer."
  (save-restriction
    (narrow-to-region start end)
    (goto-char start)
    (let ((gc-cons-threshold
           (max gc-cons-threshold backstaff-epc--gc-cons-threshold))
          (ascii (backstaff-epc--scan)))
      (condition-case problem
          ;; A string is read in three quarters of the time that a buffer is.
          (or (if ascii
                  (car (read-from-string (buffer-string)))
                (backstaff-epc--with-stray-bytes
                 (car (read-from-string
                       (decode-coding-string (buffer-string) 'utf-8-unix)))))
              (error "It is empty"))
        (error (backstaff-epc--refuse "a message cannot be read: %s"
                                      (error-message-string problem)))))))

(defun backstaff-epc--with-stray-bytes (value)
  "Return VALUE, changed in place so that all strings in it are multibyte.
To `read' a string is unibyte if all it holds is ASCII and stray bytes,
and then it is not `equal' to the name of the file, as Emacs has it."
  (cond ((stringp value) (string-to-multibyte value))
        ((consp value)
         (let ((tail value))
           (while (consp tail)
             (setcar tail (backstaff-epc--with-stray-bytes (car tail)))
             (setq tail (cdr tail))))
         value)
        ((vectorp value)
         (vconcat (mapcar #'backstaff-epc--with-stray-bytes value)))
        (t value)))

(defconst backstaff-epc--max-depth 100
  "How deep a message may nest.  An honest one needs no more than thirty.")

(defconst backstaff-epc--atom-characters
  " \t\r\n!$%&*+./0-9:<=>@A-Z^_a-z{|}~-"
  "What may stand between parentheses and strings, for `skip-chars-forward'.
No character here means more to `read' than a part of a number or a symbol.")

(defconst backstaff-epc--string-escapes
  (append "\"\\/abdefnrtvxuU01234567" nil)
  "What may follow a backslash in a string.
Left out are modifiers: `read' recurses on each in \\C-\\C-\\C-.")

(defun backstaff-epc--scan ()
  "Check that the accessible part of the buffer is one list of plain data.
Signal a `backstaff-protocol-error' otherwise.  Return non-nil if all is
ASCII and needs no decoding.

This is cheap, as searches for single characters go: less than half of
what `read' costs afterwards."
  (let ((depth 0) (ascii t) char)
    (unless (eq (char-after) ?\()
      (backstaff-epc--refuse-here "a message is not a list"))
    (while (progn (skip-chars-forward backstaff-epc--atom-characters)
                  (setq char (char-after)))
      (forward-char)
      (cond
       ((eq char ?\")
        (while (progn (skip-chars-forward "^\"\\\\#\200-\377")
                      (not (eq (setq char (char-after)) ?\")))
          (cond ((null char)
                 (backstaff-epc--refuse "a string has no end"))
                ((eq char ?#)
                 (backstaff-epc--refuse-here "unexpected text"))
                ((not (eq char ?\\))
                 (setq ascii nil)
                 (skip-chars-forward "\200-\377"))
                ((memq (char-after (1+ (point))) backstaff-epc--string-escapes)
                 (forward-char 2))
                (t (backstaff-epc--refuse-here "unexpected escape"))))
        (forward-char))
       ((or (eq char ?\() (eq char ?\[))
        (when (> (setq depth (1+ depth)) backstaff-epc--max-depth)
          (backstaff-epc--refuse-here "a message nests too deep")))
       ((or (eq char ?\)) (eq char ?\]))
        (when (zerop (setq depth (1- depth)))
          (skip-chars-forward " \t\r\n")
          (unless (eobp)
            (backstaff-epc--refuse-here "text follows a message"))))
       (t (backward-char)
          (backstaff-epc--refuse-here "unexpected text"))))
    (unless (zerop depth)
      (backstaff-epc--refuse "a message has no end"))
    ascii))

(defun backstaff-epc--refuse (format-string &rest arguments)
  "Signal a `backstaff-protocol-error' of FORMAT-STRING with ARGUMENTS."
  (signal 'backstaff-protocol-error
          (list (apply #'format format-string arguments))))

(defun backstaff-epc--refuse-here (problem)
  "Signal a `backstaff-protocol-error' of PROBLEM, quoting what is at point."
  (backstaff-epc--refuse
   "%s: %S" problem
   (buffer-substring (point) (min (point-max) (+ (point) 40)))))

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
    (_ (backstaff-epc--refuse
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

(defvar print-integers-as-characters)

(defvar backstaff-epc--nodes-left nil
  "How many objects may still be found in the argument at hand.")

(defconst backstaff-epc--max-nodes 500000
  "How many objects an argument may hold; a circular list has more.")

(defun backstaff-epc--plain (object &optional depth)
  "Return OBJECT, found DEPTH lists deep, without any text property.
Signal a `backstaff-argument-error' if it is not plain data: strings,
symbols, numbers, and lists and vectors of these."
  (setq depth (or depth 0)
        backstaff-epc--nodes-left (1- backstaff-epc--nodes-left))
  (when (or (< backstaff-epc--nodes-left 0) (> depth backstaff-epc--max-depth))
    (signal 'backstaff-argument-error
            '("an argument is circular or far too big")))
  (cond ((stringp object)
         ;; In a multibyte string `prin1' writes a stray byte as \351.
         (string-to-multibyte (substring-no-properties object)))
        ((or (symbolp object) (numberp object)) object)
        ((consp object) (backstaff-epc--plain-list object (1+ depth)))
        ((vectorp object)
         (vconcat (backstaff-epc--plain-list (append object nil) (1+ depth))))
        (t (signal 'backstaff-argument-error
                   (list (format "an argument is of type %s: %s"
                                 (type-of object)
                                 (truncate-string-to-width
                                  (format "%S" object) 100 nil nil t)))))))

(defun backstaff-epc--plain-list (list depth)
  "Return LIST, found DEPTH lists deep, without any text property in it."
  (let ((items nil))
    (while (consp list)
      (push (backstaff-epc--plain (pop list) depth) items))
    (nconc (nreverse items)
           (and list (backstaff-epc--plain list depth)))))

(defun backstaff-epc--print (object)
  "Return OBJECT as text, the same whatever options the user has."
  (let ((backstaff-epc--nodes-left backstaff-epc--max-nodes)
        (print-length nil) (print-level nil) (print-circle nil)
        (print-gensym nil) (print-quoted nil)
        (print-continuous-numbering nil) (print-number-table nil)
        (print-escape-newlines nil) (print-escape-control-characters nil)
        (print-escape-nonascii nil) (print-escape-multibyte nil)
        (print-integers-as-characters nil) (float-output-format nil))
    (prin1-to-string (backstaff-epc--plain object))))

(defconst backstaff-epc--largest-remote-frame (* 64 1024)
  "The largest length of a request that goes over a network.")

(defun backstaff-epc--room (connection)
  "Return the largest length that a request over CONNECTION may have."
  (if (backstaff-epc--remote connection) backstaff-epc--largest-remote-frame
    backstaff-epc--largest-frame))

(defun backstaff-epc--frame (message &optional room)
  "Return MESSAGE as the bytes that go over the wire, of at most ROOM bytes."
  (let* ((body (encode-coding-string
                (concat (backstaff-epc--print message) "\n")
                'utf-8-unix t))
         (size (length body))
         (room (or room backstaff-epc--largest-frame)))
    (when (> size room)
      (signal 'backstaff-argument-error
              (list (format "the arguments make %d bytes, %d are allowed"
                            size room))))
    (concat (format "%06x" size) body)))

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
Some have gone by already if it waited in line."
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
                :frame (backstaff-epc--frame (list 'call uid symbol args)
                                             (backstaff-epc--room connection)))))
    (puthash uid call (backstaff-epc--pending connection))
    (unless (backstaff-epc--opening connection)
      (backstaff-epc--transmit connection uid call))
    uid))

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

(defun backstaff-epc-flush (connection)
  "Send what waited in line while CONNECTION was not open, oldest first.
There is nobody to signal an error to, so each call is told its own.  One
that is told may leave by a `throw'; those behind it are not forgotten."
  (let ((done nil))
    (unwind-protect
        (progn
          (dolist (uid (backstaff-epc--uids connection))
            (when-let* ((call (gethash uid (backstaff-epc--pending connection)))
                        ((backstaff-epc--call-frame call)))
              (backstaff-epc--send-in-line connection uid call)))
          (setq done t))
      (unless done
        (run-at-time 0 nil #'backstaff-epc-flush connection)))))

(defun backstaff-epc--send-in-line (connection uid call)
  "Send CALL, which has UID and waited in line, over CONNECTION."
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
             (not (backstaff-epc--opening connection))
             (< (backstaff-epc--unread connection)
                (/ backstaff-epc--pipe-size 2)))
    (let ((inhibit-quit t))
      ;; The call has ended here already; a peer that is gone needs no word.
      (ignore-errors
        (backstaff-epc--begin connection 'cancel (list uid) #'ignore nil)))))

(defun backstaff-epc--abandon (connection uid)
  "See to it that no work is done for call UID over CONNECTION any more.
Without any call in line there is no need for a process to come."
  (if (not (backstaff-epc-opening-p connection))
      (backstaff-epc--tell-cancelled connection uid)
    (when (zerop (hash-table-count (backstaff-epc--pending connection)))
      (backstaff-epc-close connection "nobody waits any more"
                           'backstaff-cancelled))))

(defun backstaff-epc--cancellation (call)
  "Return the condition that CALL was cancelled."
  (list 'backstaff-cancelled
        (format "%s was cancelled" (backstaff-epc--call-method call))))


;;; Calls

(defconst backstaff-epc--slice 0.05
  "For how many seconds to wait before looking at the clock and the peer.")

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
         (gc-cons-threshold
          (max gc-cons-threshold backstaff-epc--gc-cons-threshold))
         (read-process-output-max (max read-process-output-max 65536))
         (uid (backstaff-epc--begin
               connection method args
               (lambda (value condition)
                 (setq outcome (cons value condition)))
               timeout)))
    (unwind-protect
        (while (not outcome)
          (backstaff-epc--wait connection uid start timeout))
      (unless outcome
        (backstaff-epc--pop-call connection uid)
        (backstaff-epc--abandon connection uid)))
    (pcase-let ((`(,value . ,condition) outcome))
      (when condition
        (signal (car condition) (cdr condition)))
      value)))

(defun backstaff-epc--wait (connection uid start timeout)
  "Wait a little for call UID over CONNECTION, made at START.
End it if it has had TIMEOUT seconds, or if the peer has died."
  (let* ((process (backstaff-epc--process connection))
         (elapsed (- (float-time) start))
         (undisturbed (or (backstaff-epc--remote connection)
                          (< elapsed backstaff-epc--undisturbed))))
    (cond
     ((and timeout (>= elapsed timeout))
      (backstaff-epc--time-out connection uid timeout))
     ((backstaff-epc--opening connection)
      (funcall (backstaff-epc--opening connection)))
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

(defun backstaff-epc--time-out (connection uid timeout)
  "End call UID over CONNECTION, which was not answered in TIMEOUT seconds."
  (when-let ((call (backstaff-epc--pop-call connection uid)))
    (unless (backstaff-epc--opening connection)
      (cl-incf (backstaff-epc--silent-timeouts connection)))
    ;; What is opening goes on to: the next call may find it open.
    (backstaff-epc--tell-cancelled connection uid)
    (backstaff-epc--settle
     connection call nil
     (list 'backstaff-timeout
           (backstaff-epc--slowness
            connection
            (if (backstaff-epc--opening connection) "was not ready"
              (format "did not answer %s" (backstaff-epc--call-method call)))
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
    (backstaff-epc--abandon connection handle)
    (backstaff-epc--settle connection call nil
                           (backstaff-epc--cancellation call))
    t))

(provide 'backstaff-epc)
;;; backstaff-epc.el ends here
