;;; backstaff-remote-start.el --- Start a server on another host  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How a server comes to run on another host: what goes there, the stages of a
;; start and their processes, and what is heard from them until the server is
;; ready and its connection open.  Which hosts may be looked at, and how long
;; TRAMP may take, is backstaff-remote.el's.  This file is loaded when the first
;; server is started on one.
;;
;; The host needs a Python and nothing else.  A small program on its command
;; line runs what was kept of the last start if that has the right hash, and
;; asks for it otherwise: see py_backend/backstaff_remote.  First a process
;; without a terminal is tried, which shares TRAMP's connection; then, once,
;; one of TRAMP's own on a terminal, which works wherever TRAMP does, and takes
;; a second login.
;;
;; Nobody waits for the first of these: what it says is heard by a filter, a
;; timer looks at the clock, and calls wait in line in the connection.  For the
;; second one Emacs is not free until TRAMP has logged in, as TRAMP knows no
;; other way; C-g ends that, and so does the limit.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'tramp)
(require 'backstaff-epc)
(require 'backstaff-remote)
(require 'backstaff-server)


;;; What goes to a host

(defvar backstaff-remote-start--bundle nil
  "What a start on another host needs, a plist, or nil before it was made.
It has `:program' and `:arguments' for the command line there, and
`:payloads', an alist of (HASH . BYTES).")

(defun backstaff-remote-start-forget ()
  "Forget what goes to a host."
  (setq backstaff-remote-start--bundle nil))

(defconst backstaff-remote-start--bundle-limit 60
  "For how many seconds at most the making of a bundle may take.")

(defun backstaff-remote-start--parse-bundle (text)
  "Return the plist that TEXT, which the command bundle printed, stands for."
  (if (string-match "\\`\\([0-9a-f]+\\) \\([0-9a-f]+\\) \\([0-9]+\\)\
 \\([0-9a-f]+\\) \\([0-9]+\\) \\([^\n]+\\)\n" text)
      (let* ((start (match-end 0))
             (middle (+ start (string-to-number (match-string 3 text)))))
        (list :program (match-string 6 text)
              :arguments (mapcar (lambda (group) (match-string group text))
                                 '(1 2 3 4 5))
              :payloads (list (cons (match-string 2 text)
                                    (substring text start middle))
                              (cons (match-string 4 text)
                                    (substring text middle)))))
    (signal 'backstaff-connection-lost
            (list "the server's program does not know the command bundle;\
 update it"))))

(defun backstaff-remote-start--read-settings ()
  "Return the bytes of the user's settings file; none if there is no file.
They go along: a policy counts wherever the tools look."
  (let ((file (backstaff-server-settings-place)))
    (if (or backstaff-server-settings-file (file-exists-p file))
        (with-temp-buffer
          (set-buffer-multibyte nil)
          (insert-file-contents-literally file)
          (buffer-string))
      "")))


;;; Start

;; Its text is a whole sentence, to come first wherever it is told.
(define-error 'backstaff-remote-refused "" 'backstaff-connection-lost)

(cl-defstruct (backstaff-remote-start
               (:constructor backstaff-remote-start--make)
               (:conc-name backstaff-remote-start--)
               (:copier nil))
  "A start of SERVER on HOST, over as soon as CONNECTION is open or closed.
WAYS are those that are left to be tried.  STAGE is what is under way:
`bundle', or one of the ways, `direct' or `tramp'.  Its PROCESS, which is
nil between stages and has NONCE in its name, writes into HEARD and ERRORS,
and has until DEADLINE.  BUSY is the thread that sees to the start just now,
or nil.  PROBLEMS tell why stages failed; LACK tells that the host has no
Python to speak of."
  (server nil :read-only t)
  (host nil :read-only t)
  (settings nil :read-only t)
  (begun (float-time) :read-only t)
  (connection nil)
  (timer nil)
  (ways nil)
  (stage nil)
  (nonce nil)
  (process nil)
  (errors nil)
  (heard "")
  (deadline nil)
  (busy nil)
  (problems nil)
  (lack nil)
  (sources nil)
  (python nil))

(defconst backstaff-remote-start--slice 0.05
  "How many seconds pass at most until what is due in a start is done.")

(defun backstaff-remote-start-launch (server host)
  "Give SERVER, to be on HOST, its connection, and begin to start it.
Return at once; what is sent over the connection waits in line."
  (backstaff-remote-check (concat host "/"))
  (let ((start (backstaff-remote-start--make
                :server server :host host
                :ways (backstaff-remote-start--ways-to host)
                :settings (backstaff-remote-start--read-settings))))
    (setf (backstaff-remote-start--connection start)
          (backstaff-epc-connect
           nil :name (format "the server on %s" host) :remote t
           :log-function #'backstaff-server--note
           :opening (lambda () (backstaff-remote-start--await start))
           :stderr-function (lambda () (backstaff-remote-start--end start)))
          (backstaff-server--connection server)
          (backstaff-remote-start--connection start))
    (backstaff-remote-start--arm start 0)))

(defun backstaff-remote-start--arm (start seconds)
  "Have the clock looked at for START in some SECONDS.
Each time anew: a timer that repeats is lost if something leaves by a `throw'."
  (when-let ((timer (backstaff-remote-start--timer start)))
    (cancel-timer timer))
  (setf (backstaff-remote-start--timer start)
        (run-at-time seconds nil #'backstaff-remote-start--tick start)))

(defun backstaff-remote-start--tick (start)
  "Do what is due in START, and see to it that it will be done again."
  (when (backstaff-remote-start--opening-p start)
    (backstaff-remote-start--arm start backstaff-remote-start--slice)
    (backstaff-remote-start--go-on start)))

(defun backstaff-remote-start--ways-to (host)
  "Return the ways in which a server may be started on HOST, the best first."
  (if (backstaff-remote-direct-p host) '(direct tramp) '(tramp)))

(defun backstaff-remote-start--opening-p (start)
  "Return non-nil if START is not over."
  (backstaff-epc-opening-p (backstaff-remote-start--connection start)))

(defun backstaff-remote-start--go-on (start)
  "Do what is due in START: see to the stage under way, or begin the next."
  (backstaff-remote-start--do start (if (backstaff-remote-start--process start)
                                        #'backstaff-remote-start--check-stage
                                      #'backstaff-remote-start--next-stage)))

(defun backstaff-remote-start--do (start function)
  "Call FUNCTION with START, unless that is over, or is being seen to already.
An error ends the stage under way, as does a `throw'; a quit ends the start."
  ;; What is done may wait, and then a timer or a filter comes here again.
  (when (and (backstaff-remote-start--opening-p start)
             (not (backstaff-remote-start--busy start)))
    (let ((done nil))
      (setf (backstaff-remote-start--busy start) (current-thread))
      (unwind-protect
          (progn (backstaff-remote-start--guarded start function)
                 (setq done t))
        (unless done
          (backstaff-remote-start--fail-stage
           start '(error "It was left half-way")))
        (setf (backstaff-remote-start--busy start) nil)))))

(defun backstaff-remote-start--guarded (start function)
  "Call FUNCTION with START; an error ends the stage, a quit ends the start."
  (condition-case problem
      (backstaff-remote-start--whatever-is-typed
       (lambda ()
         (let ((inhibit-quit nil))
           (save-match-data (funcall function start)))))
    (quit
     (backstaff-epc-close (backstaff-remote-start--connection start)
                          "the start was cancelled" 'backstaff-cancelled)
     ;; In a filter or a timer it is for Emacs to quit when that is done.
     (if inhibit-quit (setq quit-flag t)
       (signal 'quit nil)))
    (error
     (backstaff-remote-start--fail-stage start problem))))

(defun backstaff-remote-start--whatever-is-typed (function)
  "Call FUNCTION, which only a quit shall end, also within `while-no-input'.
That ends afterwards."
  (let ((typed (and throw-on-input (eq quit-flag throw-on-input))))
    (when typed
      (setq quit-flag nil))
    (unwind-protect
        (let ((throw-on-input nil))
          (funcall function))
      (when typed
        (setq quit-flag throw-on-input)))))

(defun backstaff-remote-start--next-stage (start)
  "Begin the next stage of START, or end it if none is left."
  (cond ((null (backstaff-remote-start--ways start))
         (backstaff-remote-start--give-up start))
        (backstaff-remote-start--bundle
         (backstaff-remote-start--enter
          start (pop (backstaff-remote-start--ways start)))
         (backstaff-remote-start--try start))
        (t
         (backstaff-remote-start--enter start 'bundle)
         (backstaff-remote-start--collect start))))

(defun backstaff-remote-start--enter (start stage)
  "Let STAGE be that of START that is under way."
  (setf (backstaff-remote-start--stage start) stage
        (backstaff-remote-start--nonce start)
        (backstaff-remote-start--new-nonce)))

(defun backstaff-remote-start--check-stage (start)
  "End the stage of START that is under way if its process or its time is over.
Only that of the bundle ends well by that; for the ways, see
`backstaff-remote-start--listen'."
  (let ((process (backstaff-remote-start--process start)))
    (unless (process-live-p process)
      (while (accept-process-output process 0 nil t)))
    (cond ((or (and (process-live-p process)
                    (< (float-time) (backstaff-remote-start--deadline start)))
               ;; Its last words may have ended the stage.
               (not (eq process (backstaff-remote-start--process start))))
           nil)
          ((and (eq (backstaff-remote-start--stage start) 'bundle)
                (eq (process-status process) 'exit)
                (zerop (process-exit-status process)))
           (setq backstaff-remote-start--bundle
                 (backstaff-remote-start--parse-bundle
                  (backstaff-remote-start--heard start)))
           (backstaff-remote-start--clean-up start))
          (t
           (signal (if (process-live-p process) 'backstaff-timeout
                     'backstaff-connection-lost)
                   (list (backstaff-remote-start--failure start process)))))))

(defun backstaff-remote-start--fail-stage (start problem)
  "End the stage of START that is under way, for the condition PROBLEM.
It is the last one if the next would come to no better end: without a
bundle, without a Python in the very place that is named, and where the host
was only silent.  TRAMP would wait in vain as well, and with it Emacs.  But a
Python that is named without a place may be in TRAMP's own path alone."
  (when (backstaff-remote-start--opening-p start)
    (let ((text (backstaff-remote-start--problem-text problem)))
      (backstaff-server--note
       (format "start on %s failed: %s" (backstaff-remote-start--host start)
               text))
      (push text (backstaff-remote-start--problems start)))
    (when (or (null backstaff-remote-start--bundle)
              (and (backstaff-remote-start--lack start)
                   (string-match-p "/" backstaff-remote-python))
              (eq (car problem) 'backstaff-timeout))
      (setf (backstaff-remote-start--ways start) nil))
    (backstaff-remote-start--clean-up start)))

(defun backstaff-remote-start--give-up (start)
  "End START, of which all has failed."
  (if-let ((lack (backstaff-remote-start--lack start)))
      (backstaff-remote-start--refuse start lack)
    (backstaff-epc-close
     (backstaff-remote-start--connection start)
     (format "the server cannot be started on %s: %s"
             (backstaff-remote-start--host start)
             (string-join (reverse (backstaff-remote-start--problems start))
                          "; then ")))))

(defun backstaff-remote-start--refuse (start reason)
  "End START, as the host has no Python that will do, which REASON tells."
  (backstaff-epc-close
   (backstaff-remote-start--connection start)
   (format "Backstaff needs Python 3.11 or newer on %s: %s\
 (`backstaff-remote-python' may name another)"
           (backstaff-remote-start--host start) reason)
   'backstaff-remote-refused))

(defun backstaff-remote-start--await (start)
  "Wait a little for START, and for nothing else; heed a quit.
Other processes must not be served: what is behind them may be TRAMP in the
midst of a command."
  (let ((busy (backstaff-remote-start--busy start)))
    (cond ((eq busy (current-thread))
           ;; That is further up the stack: it waits for us.
           (signal 'backstaff-connection-lost
                   (list (format "the start of the server on %s cannot be\
 awaited in the midst of itself" (backstaff-remote-start--host start)))))
          ;; Another thread sees to it, and its processes are not this one's.
          (busy (sleep-for backstaff-remote-start--slice))
          (t
           (backstaff-remote-start--go-on start)
           (when-let ((process (and (backstaff-remote-start--opening-p start)
                                    (backstaff-remote-start--process start))))
             (accept-process-output process backstaff-remote-start--slice
                                    nil t))))))

(defun backstaff-remote-start--problem-text (problem)
  "Return the text of the condition PROBLEM, without what all of them say."
  (if (memq 'backstaff-error (get (car problem) 'error-conditions))
      (cadr problem)
    (error-message-string problem)))

(defun backstaff-remote-start--new-nonce ()
  "Return a word that nobody else says, and that is another backwards."
  (concat "n" (substring (secure-hash 'sha1 (format "%s %s %s" (random)
                                                    (float-time) (emacs-pid)))
                         0 16)))

(defun backstaff-remote-start--own-p (start process)
  "Return non-nil if PROCESS is that of the stage of START, be it made by halves."
  (and (backstaff-remote-start--nonce start)
       (string-search (backstaff-remote-start--nonce start)
                      (process-name process))))

(defun backstaff-remote-start--clean-up (start)
  "End all that the stage of START under way has made, also by halves."
  (dolist (process (process-list))
    (when (backstaff-remote-start--own-p start process)
      (set-process-sentinel process #'ignore)
      (delete-process process)))
  (let ((errors (backstaff-remote-start--errors start)))
    (when (buffer-live-p errors)
      (kill-buffer errors)))
  (setf (backstaff-remote-start--process start) nil
        (backstaff-remote-start--errors start) nil
        (backstaff-remote-start--heard start) ""))

(defun backstaff-remote-start--end (start)
  "Return what the server of START said last, now that its connection closes.
If it never was ready, let the next call start another one."
  (let ((server (backstaff-remote-start--server start))
        (host (backstaff-remote-start--host start)))
    (if (backstaff-server--facts server)
        (backstaff-server--collect-words server)
      (cancel-timer (backstaff-remote-start--timer start))
      (backstaff-remote-start--clean-up start)
      (backstaff-server--forget server host)
      nil)))


;;; What goes to a host, and how

(defun backstaff-remote-start--collect (start)
  "Let the server's Python on this machine collect what START needs."
  (condition-case problem
      (backstaff-server--with-own-environment (backstaff-server--sources)
        (let ((command (append (backstaff-server--program) '("bundle")))
              (errors (backstaff-remote-start--make-errors start)))
          (backstaff-remote-start--follow
           start
           (make-process
            :name (backstaff-remote-start--process-name start)
            :buffer nil :stderr errors :noquery t
            :command command :connection-type 'pipe :coding 'binary
            :sentinel (lambda (&rest _) (backstaff-remote-start--go-on start))
            :filter (apply-partially #'backstaff-remote-start--keep start))
           backstaff-remote-start--bundle-limit)))
    (error
     (signal 'backstaff-connection-lost
             (list (concat "what goes to a host is collected on this machine: "
                           (backstaff-remote-start--problem-text problem)))))))

(defun backstaff-remote-start--process-name (start)
  "Return the name for the process of the stage of START."
  (concat "backstaff-" (backstaff-remote-start--nonce start)))

(defun backstaff-remote-start--try (start)
  "Have TRAMP start the server of START in the way that its stage names."
  (let ((host (backstaff-remote-start--host start)))
    (backstaff-server--note
     (format "starting on %s, %s" host (backstaff-remote-start--stage start)))
    ;; TRAMP would connect again by itself.
    (backstaff-remote-check (concat host "/"))
    (backstaff-remote-limited
     (concat host "/") "start a process"
     (lambda () (backstaff-remote-start--make-process start)))
    (if (backstaff-remote-start--opening-p start)
        (backstaff-remote-start--listen start)
      (backstaff-remote-start--clean-up start))))

(defun backstaff-remote-start--make-errors (start)
  "Return a buffer for the standard error of the stage of START."
  (setf (backstaff-remote-start--errors start)
        (generate-new-buffer " *backstaff-stderr*" t)))

(defun backstaff-remote-start--follow (start process limit)
  "Let PROCESS be that of the stage of START, for LIMIT seconds."
  (setf (backstaff-remote-start--process start) process
        (backstaff-remote-start--deadline start) (+ (float-time) limit))
  (when-let* ((errors (backstaff-remote-start--errors start))
              (stderr (get-buffer-process errors)))
    (set-process-query-on-exit-flag stderr nil)
    (set-process-sentinel stderr #'ignore)))


;;; The process

(defun backstaff-remote-start--make-process (start)
  "Start the process of START's stage, which runs the bundle's program."
  (let* ((host (backstaff-remote-start--host start))
         (direct (eq (backstaff-remote-start--stage start) 'direct))
         (errors (and direct (backstaff-remote-start--make-errors start))))
    (backstaff-remote-with-direct host direct
      (lambda ()
        (let* ((default-directory (concat host "/"))
               (process
                (make-process
                 :name (backstaff-remote-start--process-name start)
                 :buffer nil :stderr errors :noquery t
                 :connection-type 'pipe :coding 'binary :file-handler t
                 :command (backstaff-remote-start--command start)
                 :sentinel (lambda (&rest _)
                             (backstaff-remote-start--go-on start))
                 :filter (apply-partially #'backstaff-remote-start--hear
                                          start))))
          (unless (processp process)
            (signal 'backstaff-connection-lost '("TRAMP started no process")))
          ;; TRAMP gives one on a terminal the coding of text.
          (set-process-coding-system process 'binary 'binary)
          (set-process-thread process nil)
          (backstaff-remote-start--drop-buffer process)
          (backstaff-remote-start--follow start process
                                          backstaff-remote-start-limit))))))

(defun backstaff-remote-start--drop-buffer (process)
  "Kill the buffer that TRAMP made for PROCESS, unasked."
  (let ((buffer (process-buffer process)))
    (set-process-buffer process nil)
    (when (and (buffer-live-p buffer)
               (string-prefix-p tramp-temp-buffer-name (buffer-name buffer)))
      (kill-buffer buffer))))

(defun backstaff-remote-start--command (start)
  "Return the command that runs the bundle's program on the host of START."
  `(,backstaff-remote-python
    "-I" "-S" "-X" "utf8"
    "-c" ,(plist-get backstaff-remote-start--bundle :program)
    ,(backstaff-remote-start--nonce start)
    ,@(plist-get backstaff-remote-start--bundle :arguments)
    ,(number-to-string (length (backstaff-remote-start--settings start)))))


;;; Until it is ready

(defconst backstaff-remote-start--noise-size (* 64 1024)
  "How many bytes a host may say before the server is ready.")

(defun backstaff-remote-start--keep (start process text)
  "Keep TEXT, which PROCESS printed, if that is the one of START's stage."
  (when (backstaff-remote-start--own-p start process)
    (setf (backstaff-remote-start--heard start)
          (concat (backstaff-remote-start--heard start) text))))

(defun backstaff-remote-start--hear (start process text)
  "Heed TEXT, which PROCESS of START printed; end it if that is far too much.
Emacs would read on and on, whatever the clock says, while there is more."
  (backstaff-remote-start--keep start process text)
  (if (backstaff-remote-start--noisy-p start)
      (delete-process process)
    (backstaff-remote-start--do start #'backstaff-remote-start--listen)))

(defun backstaff-remote-start--noisy-p (start)
  "Return non-nil if the host of START said more than it may before it is ready."
  (> (length (backstaff-remote-start--heard start))
     backstaff-remote-start--noise-size))

(defun backstaff-remote-start--listen (start)
  "Do what the words that the server of START has said ask for."
  (let (word)
    (while (and (backstaff-remote-start--opening-p start)
                (setq word (backstaff-remote-start--next-word start)))
      (pcase word
        (`("NEED" . ,hash)
         (backstaff-remote-start--send
          start
          (or (cdr (assoc hash (plist-get backstaff-remote-start--bundle
                                          :payloads)))
              "")))
        (`("READY" . ,facts)
         (backstaff-remote-start--note-facts start facts)
         (backstaff-remote-start--send start
                                       (backstaff-remote-start--settings start))
         (backstaff-remote-start--check-alive start)
         (backstaff-remote-start--adopt start))
        (`(,_ . ,reason)
         (let ((says (format "%s says that %s" backstaff-remote-python
                             (backstaff-remote-start--one-line reason))))
           (if (string-prefix-p "it is Python " reason)
               (backstaff-remote-start--refuse start says)
             (signal 'backstaff-connection-lost (list says)))))))))

(defun backstaff-remote-start--next-word (start)
  "Take the next word of the server of START off what was heard: (WORD . TEXT)."
  (let ((heard (backstaff-remote-start--heard start))
        (case-fold-search nil))
    (when (string-match (format "BS-\\(NEED\\|READY\\|FAIL\\):%s:\\([^\n]*\\)\n"
                                (reverse (backstaff-remote-start--nonce start)))
                        heard)
      (setf (backstaff-remote-start--heard start)
            (substring heard (match-end 0)))
      (cons (match-string 1 heard)
            (string-trim-right (match-string 2 heard) "\r")))))

(defun backstaff-remote-start--note-facts (start text)
  "Note what TEXT, the server's of START, tells of it."
  (pcase (split-string text " ")
    (`(,sources ,python)
     (setf (backstaff-remote-start--sources start) sources
           (backstaff-remote-start--python start) python))))

(defun backstaff-remote-start--send (start bytes)
  "Send BYTES to the server of START, before the deadline.
Emacs waits here while what lies between is full, as it may be of a bundle
where the network is slow."
  (unless (string-empty-p bytes)
    (let ((process (backstaff-remote-start--process start))
          (left (max 0.1 (- (backstaff-remote-start--deadline start)
                            (float-time)))))
      (condition-case problem
          (with-timeout (left (signal 'backstaff-timeout
                                      (list (backstaff-remote-start--silence
                                             start "took no sources"))))
            (backstaff-remote-start--leaving-tramp-alone
             (lambda () (process-send-string process bytes))))
        (backstaff-timeout (signal (car problem) (cdr problem)))
        (error (backstaff-remote-start--check-alive start)
               (signal (car problem) (cdr problem)))))))

(defun backstaff-remote-start--check-alive (start)
  "Signal what the host of START said last if the process there has ended."
  (let ((process (backstaff-remote-start--process start)))
    (unless (process-live-p process)
      (signal 'backstaff-connection-lost
              (list (backstaff-remote-start--failure start process))))))

(defun backstaff-remote-start--leaving-tramp-alone (function)
  "Call FUNCTION, and read nothing meanwhile that is for TRAMP.
To send, Emacs may have to wait, and then it reads from all processes.
TRAMP, if it is in the midst of a command, would not learn of what came."
  (let ((filters (mapcar (lambda (process)
                           (cons process (process-filter process)))
                         (delq nil (mapcar #'tramp-get-connection-process
                                           (tramp-list-connections))))))
    (unwind-protect
        (progn
          (pcase-dolist (`(,process . ,_) filters)
            (set-process-filter process t))
          (funcall function))
      (pcase-dolist (`(,process . ,filter) filters)
        (set-process-filter process filter)))))

(defun backstaff-remote-start--failure (start process)
  "Return why the stage of START, which PROCESS is for, has failed, as text."
  (cond ((eq (backstaff-remote-start--stage start) 'bundle)
         (concat "what goes to a host cannot be collected on this machine: "
                 (backstaff-remote-start--words start)))
        ((backstaff-remote-start--noisy-p start)
         (concat "the host says too much and never \"ready\""
                 (backstaff-remote-start--said start)))
        ((process-live-p process)
         (backstaff-remote-start--silence start "was not ready"))
        (t (backstaff-remote-start--ending-text start process))))

(defun backstaff-remote-start--ending-text (start process)
  "Return how PROCESS of START ended, and what the host said, as text.
If that is for want of a Python, note it: no other failure tells more."
  (let ((said (backstaff-remote-start--said start))
        (status (process-exit-status process)))
    (when (and (= status 127) (not (backstaff-remote-start--lack start))
               (string-match-p "not found\\|[Nn]o such file" said))
      (setf (backstaff-remote-start--lack start)
            (format "there is no %s%s" backstaff-remote-python said)))
    (format "the process there ended with status %s before it was ready%s"
            status said)))

(defun backstaff-remote-start--silence (start failure)
  "Say that the server of START showed FAILURE for too long."
  (format "it %s within %s seconds; the network may be down, or that host\
 asleep%s"
          failure backstaff-remote-start-limit
          (backstaff-remote-start--said start)))

(defun backstaff-remote-start--said (start)
  "Return what the host of START said, to be put behind a sentence."
  (let ((words (backstaff-remote-start--words start)))
    (if (string-empty-p words) "; the host said nothing"
      (concat "; the host said: " words))))

(defun backstaff-remote-start--words (start)
  "Return what came from the process of the stage of START, on one line.
What it wrote to its standard error may come a little later than its end."
  (let* ((errors (backstaff-remote-start--errors start))
         (stderr (and errors (get-buffer-process errors)))
         (end (+ (float-time) 0.2)))
    (while (and stderr (process-live-p stderr) (< (float-time) end)
                (not (process-live-p (backstaff-remote-start--process start))))
      (accept-process-output stderr 0.02 nil t))
    (backstaff-remote-start--one-line
     (string-trim (concat (and errors (backstaff-remote-start--text errors))
                          " " (backstaff-remote-start--heard start))))))

(defun backstaff-remote-start--text (buffer)
  "Return the text of BUFFER, which a process wrote to."
  (with-current-buffer buffer (buffer-string)))

(defun backstaff-remote-start--one-line (text)
  "Return the end of TEXT, bytes that a host sent, on one line."
  (let ((line (replace-regexp-in-string
               "[[:cntrl:][:space:]]+" " "
               (decode-coding-string (string-to-unibyte
                                      (encode-coding-string text 'utf-8))
                                     'utf-8))))
    (substring line (max 0 (- (length line) 300)))))


;;; When it is ready

(defun backstaff-remote-start--adopt (start)
  "Let the server of START be the one that has said that it is ready."
  (let* ((server (backstaff-remote-start--server start))
         (connection (backstaff-remote-start--connection start))
         (rest (backstaff-remote-start--heard start)))
    (setf (backstaff-server--stderr server)
          (backstaff-remote-start--take-stderr server start)
          (backstaff-server--facts server)
          (list :way (backstaff-remote-start--stage start)
                :sources (backstaff-remote-start--sources start)
                :python (backstaff-remote-start--python start)
                :seconds (- (float-time)
                            (backstaff-remote-start--begun start))))
    (backstaff-epc-open connection (backstaff-remote-start--process start))
    (cancel-timer (backstaff-remote-start--timer start))
    (unless (string-empty-p rest)
      (backstaff-epc--receive connection rest))
    (backstaff-server--greet server)
    (backstaff-epc-flush connection)))

(defun backstaff-remote-start--take-stderr (server start)
  "Return the process with the standard error of START, which is SERVER's now.
Return nil if there is none: on a terminal it says nothing any more."
  (when-let ((errors (backstaff-remote-start--errors start)))
    (let ((text (backstaff-remote-start--text errors))
          (process (get-buffer-process errors)))
      (unless (string-empty-p text)
        (backstaff-server--hear server text))
      (when process
        (set-process-filter process
                            (lambda (_process text)
                              (backstaff-server--hear server text)))
        (set-process-coding-system process 'utf-8-unix 'utf-8-unix)
        (set-process-buffer process nil)
        (set-process-thread process nil))
      (kill-buffer errors)
      process)))

(provide 'backstaff-remote-start)
;;; backstaff-remote-start.el ends here
