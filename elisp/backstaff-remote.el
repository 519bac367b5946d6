;;; backstaff-remote.el --- The server on another host  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; For a project on another host the server runs there, over a connection that
;; TRAMP makes, so that a call costs one round trip.  This file is loaded when
;; the first such project is looked at.
;;
;; A server is started unasked only where TRAMP is connected already; else by
;; a command that asks.  Nothing that a model says can lead to a host: the
;; root is Emacs's alone.
;;
;; There is one server for each connection of TRAMP's.  It takes the root with
;; each call, as the one on this host does: one for each root would soon take
;; up all the sessions that an ssh connection may have, which are ten.
;;
;; Start.  The host needs a Python and nothing else.  A small program on its
;; command line runs what was kept of the last start if that has the right
;; hash, and asks for it otherwise: see py_backend/backstaff_remote.  First a
;; process without a terminal is tried, which shares TRAMP's connection; then,
;; once, one of TRAMP's own on a terminal, which works wherever TRAMP does, and
;; takes a second login.
;;
;; What TRAMP does on the way may wait for ever in Emacs 30, as no timer runs
;; meanwhile; so all waiting here looks at the clock itself.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'tramp)
(require 'backstaff-epc)
(require 'backstaff-server)

(defvar backstaff-remote--bundle)
(defvar connection-local-profile-alist)
(defvar connection-local-criteria-alist)
(defvar backstaff-root-function) ; backstaff.el, which loads this file


;;; Options

(defgroup backstaff-remote nil
  "Projects on other hosts."
  :group 'backstaff
  :prefix "backstaff-remote-")

(defcustom backstaff-remote-python "python3"
  "The Python that runs the server on another host, 3.11 or newer."
  :type 'string
  :risky t)

(defcustom backstaff-remote-start-limit 10
  "For how many seconds at most each way of starting a server is tried."
  :type '(number :tag "Seconds"))

(define-error 'backstaff-remote-refused "Backstaff connection lost"
  'backstaff-connection-lost)


;;; Hosts

(defun backstaff-remote-check (directory)
  "Signal a `backstaff-remote-directory' unless DIRECTORY can be looked at.
That is so where TRAMP has a shell on the host, and is connected."
  (cond ((not (backstaff-remote--shell-p directory))
         (signal 'backstaff-remote-directory
                 (list (format "%s is on another machine, which no shell of\
 TRAMP's reaches" directory))))
        ((not (backstaff-server-connected-p directory))
         (signal 'backstaff-remote-directory
                 (list (format "%s is on another machine, and Emacs is not\
 connected to it; M-x backstaff-connect connects" directory))))))

(defun backstaff-remote--shell-p (directory)
  "Return non-nil if TRAMP has, or would have, a shell where DIRECTORY is."
  (and (memq (find-file-name-handler directory 'file-remote-p)
             '(tramp-file-name-handler tramp-autoload-file-name-handler))
       (tramp-tramp-file-p directory)
       (require 'tramp-sh)
       (tramp-sh-file-name-handler-p (tramp-dissect-file-name directory))))

(defun backstaff-remote-approach (directory)
  "Connect to the host that DIRECTORY is on, if the user wants to.
Return non-nil once it is connected."
  (let ((host (file-remote-p directory)))
    (or (backstaff-server-connected-p directory)
        (when (and (backstaff-remote--shell-p directory)
                   (not noninteractive) (not inhibit-quit)
                   (y-or-n-p (format "Connect to %s? " host)))
          (backstaff-remote--connect host)))))

(defun backstaff-remote--connect (host)
  "Connect to HOST, which may ask for a password, and return non-nil."
  ;; TRAMP does not connect where it believes that nobody waits for it.
  (let ((non-essential nil))
    (and (file-exists-p (concat host "/"))
         (backstaff-server-connected-p host))))

;;;###autoload
(defun backstaff-connect ()
  "Connect to the host of the current directory and start the server there."
  (interactive)
  (let ((host (or (file-remote-p default-directory)
                  (user-error "This directory is on this machine"))))
    (unless (backstaff-remote--shell-p default-directory)
      (user-error "TRAMP has no shell on %s" host))
    (or (backstaff-server-connected-p host)
        (backstaff-remote--connect host)
        (user-error "There is no connection to %s" host))
    (let* ((server (backstaff-server-ensure host))
           (facts (backstaff-server--facts server)))
      (message "The server on %s is up, %s" host
               (backstaff-remote-facts-text facts)))))

(defun backstaff-remote-facts-text (facts)
  "Return what FACTS say of a start, as text."
  (format "%s, Python %s, sources %s, started in %.2f s"
          (if (eq (plist-get facts :way) 'direct)
              "a session without a terminal"
            "a login of TRAMP's on a terminal")
          (plist-get facts :python) (plist-get facts :sources)
          (plist-get facts :seconds)))


;;; Roots

(defvar backstaff-remote--roots (make-hash-table :test #'equal)
  "The roots that were found, by (FUNCTION . DIRECTORY).
To look for one costs TRAMP several round trips.")

(defun backstaff-remote-forget ()
  "Forget the roots that were found, and what goes to a host."
  (clrhash backstaff-remote--roots)
  (setq backstaff-remote--bundle nil))

(defun backstaff-remote-root (directory)
  "Return the root of the project that DIRECTORY, on another host, is in.
It is looked for once, by TRAMP, and known until `backstaff-restart'."
  (backstaff-remote-check directory)
  (let ((key (cons backstaff-root-function directory)))
    (or (gethash key backstaff-remote--roots)
        (puthash key
                 (backstaff-remote--limited
                  directory "find the project's root"
                  (lambda ()
                    (funcall backstaff-root-function
                             (expand-file-name directory))))
                 backstaff-remote--roots))))


;;; Limits on what TRAMP does

(defun backstaff-remote--limited (directory purpose function)
  "Return what FUNCTION returns, to which TRAMP on DIRECTORY's host is needed.
PURPOSE is what for.  Signal a `backstaff-timeout' if it takes longer than
`backstaff-remote-start-limit', not counting what the user takes to type."
  (let* ((tag (make-symbol "limit"))
         (limit backstaff-remote-start-limit)
         (deadline (+ (float-time) limit))
         (wait (lambda (accept process &optional timeout)
                 (when (> (float-time) deadline)
                   ;; An error would be caught on the way, and tried again.
                   (throw tag tag))
                 (funcall accept process (or timeout 0.1))))
         (ask (lambda (read &rest arguments)
                (let ((start (float-time)))
                  (unwind-protect (apply read arguments)
                    (cl-incf deadline (- (float-time) start))))))
         value)
    (advice-add 'tramp-accept-process-output :around wait)
    (advice-add 'tramp-read-passwd :around ask)
    (unwind-protect
        (setq value (catch tag (funcall function)))
      (advice-remove 'tramp-accept-process-output wait)
      (advice-remove 'tramp-read-passwd ask))
    (when (eq value tag)
      (backstaff-remote--hang-up directory)
      (signal 'backstaff-timeout
              (list (format "TRAMP could not %s on %s within %s seconds; the\
 network may be down, or that host asleep"
                            purpose (file-remote-p directory) limit))))
    value))

(defun backstaff-remote--hang-up (directory)
  "End TRAMP's connection with the host of DIRECTORY.
It broke off in the midst of a command, whose answer would be taken for
that to the next."
  (when-let ((process (tramp-get-connection-process
                       (tramp-dissect-file-name directory))))
    (delete-process process)))


;;; What goes to a host

(defvar backstaff-remote--bundle nil
  "What a start on another host needs, a plist, or nil before it was made.
It has `:program' and `:arguments' for the command line there, and
`:payloads', an alist of (HASH . BYTES).")

(defun backstaff-remote--bundle ()
  "Return what a start on another host needs; let the server's Python make it."
  (or backstaff-remote--bundle
      (setq backstaff-remote--bundle
            (backstaff-remote--parse-bundle (backstaff-remote--make-bundle)))))

(defconst backstaff-remote--bundle-limit 60
  "For how many seconds at most the making of a bundle may take.")

(defun backstaff-remote--make-bundle ()
  "Return what the server's program prints for the command bundle."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (let* ((output (current-buffer))
           (errors (generate-new-buffer " *backstaff-stderr*" t))
           (process nil)
           (deadline (+ (float-time) backstaff-remote--bundle-limit)))
      (unwind-protect
          (backstaff-server--with-own-environment (backstaff-server--sources)
            (setq process
                  (make-process
                   :name "backstaff-bundle" :buffer output :stderr errors
                   :command (append (backstaff-server--program) '("bundle"))
                   :connection-type 'pipe :coding 'binary :noquery t
                   :sentinel #'ignore))
            (set-process-query-on-exit-flag (get-buffer-process errors) nil)
            (set-process-sentinel (get-buffer-process errors) #'ignore)
            (while (and (process-live-p process) (< (float-time) deadline))
              (backstaff-remote--wait process))
            (dolist (end (list process (get-buffer-process errors)))
              (while (and (accept-process-output end 0.1 nil t)
                          (< (float-time) deadline))))
            (unless (equal (process-exit-status process) 0)
              (signal 'backstaff-connection-lost
                      (list (format "what a start on another host needs cannot\
 be collected: %s" (backstaff-remote--one-line
                    (backstaff-remote--text errors))))))
            (with-current-buffer output (buffer-string)))
        (when process (delete-process process))
        (when-let ((stderr (get-buffer-process errors)))
          (delete-process stderr))
        (kill-buffer errors)))))

(defun backstaff-remote--parse-bundle (text)
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

(defun backstaff-remote--settings ()
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

(cl-defstruct (backstaff-remote--try
               (:constructor backstaff-remote--make-try)
               (:copier nil))
  "A start that is being tried, in the WAY `direct' or `tramp'."
  (host nil :read-only t)
  (way nil :read-only t)
  (nonce nil :read-only t)
  (settings nil :read-only t)
  (before nil :read-only t)
  (start nil :read-only t)
  (process nil)
  (errors nil)
  (heard "")
  (sources nil)
  (python nil))

(defun backstaff-remote-launch (server host)
  "Start SERVER on HOST, and return when it is ready.
Signal a `backstaff-error' if it cannot be started.  A quit ends the wait."
  (backstaff-remote-check (concat host "/"))
  (let ((try (backstaff-remote--start host (backstaff-remote--ways host))))
    (backstaff-remote--adopt server try)))

(defun backstaff-remote--ways (host)
  "Return the ways in which a server may be started on HOST, the best first."
  (if (backstaff-remote--direct-p host) '(direct tramp) '(tramp)))

(defun backstaff-remote--start (host ways)
  "Start a server on HOST in the first of WAYS that works; return the try."
  (let ((problems nil) (try nil)
        (bundle (backstaff-remote--bundle))
        (settings (backstaff-remote--settings)))
    (while (and ways (not try))
      (condition-case problem
          (setq try (backstaff-remote--attempt host (pop ways) bundle settings))
        (backstaff-remote-refused (signal (car problem) (cdr problem)))
        ((backstaff-connection-lost backstaff-timeout file-error)
         (push (backstaff-remote--problem-text problem) problems)
         (backstaff-server--note
          (format "start on %s failed: %s" host (car problems))))))
    (or try
        (signal 'backstaff-connection-lost
                (list (format "the server cannot be started on %s: %s" host
                              (string-join (nreverse problems) "; then ")))))))

(defun backstaff-remote--problem-text (problem)
  "Return the text of the condition PROBLEM, without what all of them say."
  (if (memq 'backstaff-error (get (car problem) 'error-conditions))
      (cadr problem)
    (error-message-string problem)))

(defun backstaff-remote--attempt (host way bundle settings)
  "Try to start a server on HOST in WAY; return the try when it is ready.
BUNDLE and SETTINGS go to it.  Signal a `backstaff-error', or what TRAMP
signals, if it does not work, and a `backstaff-remote-refused' if no other
way could."
  (let* ((nonce (backstaff-remote--nonce))
         (try (backstaff-remote--make-try
               :host host :way way :nonce nonce :settings settings
               :before (process-list) :start (float-time)))
         (ready nil))
    (backstaff-server--note (format "starting on %s, %s" host way))
    (unwind-protect
        (progn
          (backstaff-remote--limited
           (concat host "/") "start a process"
           (lambda ()
             (backstaff-remote--make-process try bundle)))
          (backstaff-remote--await try bundle)
          (setq ready t)
          try)
      (unless ready
        (backstaff-remote--clean-up try)))))

(defun backstaff-remote--nonce ()
  "Return a word that nobody else says, and that is another backwards."
  (concat "n" (substring (secure-hash 'sha1 (format "%s %s %s" (random)
                                                    (float-time) (emacs-pid)))
                         0 16)))

(defun backstaff-remote--clean-up (try)
  "End all processes that TRY started, also those that TRAMP made halfway."
  (dolist (process (process-list))
    (when (and (not (memq process (backstaff-remote--try-before try)))
               (string-prefix-p "backstaff" (process-name process)))
      (set-process-sentinel process #'ignore)
      (delete-process process)))
  (let ((errors (backstaff-remote--try-errors try)))
    (when (buffer-live-p errors)
      (kill-buffer errors))))


;;; The process

(defun backstaff-remote--direct-p (host)
  "Return non-nil if HOST can have a process that needs no login of TRAMP's."
  (backstaff-remote--with-direct host t
    (lambda ()
      (let ((default-directory (concat host "/")))
        (tramp-direct-async-process-p)))))

(defun backstaff-remote--with-direct (host direct function)
  "Call FUNCTION while TRAMP shall start processes on HOST in the way DIRECT.
That is non-nil for one without a login, and without a terminal."
  (declare (indent 2))
  (let ((tramp-methods (mapcar #'backstaff-remote--without-tty tramp-methods))
        (process-environment
         ;; TRAMP sends the host what differs from this, for all to see.
         (copy-sequence (default-toplevel-value 'process-environment))))
    (if (boundp 'tramp-direct-async-process)
        (backstaff-remote--with-variable direct function)
      (backstaff-remote--with-property host direct function))))

(defun backstaff-remote--without-tty (method)
  "Return METHOD, of `tramp-methods', without a terminal for direct processes.
A terminal would mix what goes to the standard error into the frames, and
new versions of ssh delay what is typed on one."
  (mapcar (lambda (parameter)
            (if (and (consp parameter)
                     (eq (car parameter) 'tramp-direct-async)
                     (consp (cadr parameter)))
                '(tramp-direct-async t)
              parameter))
          method))

(defun backstaff-remote--with-variable (direct function)
  "Call FUNCTION with `tramp-direct-async-process' DIRECT on every host."
  (let ((connection-local-profile-alist
         (cons `(backstaff-remote (tramp-direct-async-process . ,direct))
               connection-local-profile-alist))
        (connection-local-criteria-alist
         (cons '((:application tramp) backstaff-remote)
               connection-local-criteria-alist)))
    (funcall function)))

(defun backstaff-remote--with-property (host direct function)
  "Call FUNCTION with the property of TRAMP's that makes HOST DIRECT."
  (let* ((vec (tramp-dissect-file-name host))
         (name "direct-async-process")
         (before (tramp-get-connection-property vec name 'none)))
    (tramp-set-connection-property vec name direct)
    (unwind-protect (funcall function)
      (if (eq before 'none)
          (tramp-flush-connection-property vec name)
        (tramp-set-connection-property vec name before)))))

(defun backstaff-remote--make-process (try bundle)
  "Start the process of TRY, which runs the program in BUNDLE."
  (let* ((host (backstaff-remote--try-host try))
         (direct (eq (backstaff-remote--try-way try) 'direct))
         (errors (and direct (generate-new-buffer " *backstaff-stderr*" t))))
    (setf (backstaff-remote--try-errors try) errors)
    (backstaff-remote--with-direct host direct
      (lambda ()
        (let* ((default-directory (concat host "/"))
               (process
                (make-process
                 :name "backstaff" :buffer nil :stderr errors :noquery t
                 :connection-type 'pipe :coding 'binary :file-handler t
                 :command (backstaff-remote--command try bundle)
                 :sentinel #'ignore
                 :filter (apply-partially #'backstaff-remote--hear try))))
          (unless (processp process)
            (signal 'backstaff-connection-lost '("TRAMP started no process")))
          ;; TRAMP gives one on a terminal the coding of text.
          (set-process-coding-system process 'binary 'binary)
          (set-process-thread process nil)
          (setf (backstaff-remote--try-process try) process)
          (backstaff-remote--drop-buffer process)
          (when errors
            (set-process-query-on-exit-flag (get-buffer-process errors) nil)
            (set-process-sentinel (get-buffer-process errors) #'ignore)))))))

(defun backstaff-remote--drop-buffer (process)
  "Kill the buffer that TRAMP made for PROCESS, unasked."
  (let ((buffer (process-buffer process)))
    (set-process-buffer process nil)
    (when (and (buffer-live-p buffer)
               (string-prefix-p tramp-temp-buffer-name (buffer-name buffer)))
      (kill-buffer buffer))))

(defun backstaff-remote--command (try bundle)
  "Return the command that starts TRY on its host, with BUNDLE's program."
  `(,backstaff-remote-python
    "-I" "-S" "-X" "utf8" "-c" ,(plist-get bundle :program)
    ,(backstaff-remote--try-nonce try)
    ,@(plist-get bundle :arguments)
    ,(number-to-string (length (backstaff-remote--try-settings try)))))


;;; Until it is ready

(defconst backstaff-remote--noise-size (* 64 1024)
  "How many bytes a host may say before the server is ready.")

(defun backstaff-remote--hear (try process text)
  "Keep TEXT, which PROCESS of TRY printed; end it if that is far too much.
Emacs would read on and on, whatever the clock says, while there is more."
  (setf (backstaff-remote--try-heard try)
        (concat (backstaff-remote--try-heard try) text))
  (when (backstaff-remote--noisy-p try)
    (delete-process process)))

(defun backstaff-remote--noisy-p (try)
  "Return non-nil if the host of TRY said more than it may before it is ready."
  (> (length (backstaff-remote--try-heard try)) backstaff-remote--noise-size))

(defun backstaff-remote--await (try bundle)
  "Wait until the server of TRY is ready; send what it needs of BUNDLE."
  (let ((deadline (+ (float-time) backstaff-remote-start-limit))
        (process (backstaff-remote--try-process try))
        (ready nil) word)
    (while (not ready)
      (backstaff-remote--wait process)
      (while (and (not ready) (setq word (backstaff-remote--next-word try)))
        (pcase word
          (`("NEED" . ,hash)
           (backstaff-remote--send
            try (or (cdr (assoc hash (plist-get bundle :payloads))) "")
            deadline))
          (`("READY" . ,facts)
           (backstaff-remote--note-facts try facts)
           (backstaff-remote--send try (backstaff-remote--try-settings try)
                                   deadline)
           (setq ready t))
          (`(,_ . ,reason)
           (signal 'backstaff-remote-refused
                   (list (format "%s on %s cannot run the server: %s"
                                 backstaff-remote-python
                                 (backstaff-remote--try-host try)
                                 (backstaff-remote--one-line reason)))))))
      (unless ready
        (backstaff-remote--check-try try process deadline)))))

(defun backstaff-remote--next-word (try)
  "Take the next word of the server of TRY off what was heard: (WORD . TEXT)."
  (let ((heard (backstaff-remote--try-heard try))
        (case-fold-search nil))
    (when (string-match (format "BS-\\(NEED\\|READY\\|FAIL\\):%s:\\([^\n]*\\)\n"
                                (reverse (backstaff-remote--try-nonce try)))
                        heard)
      (setf (backstaff-remote--try-heard try)
            (substring heard (match-end 0)))
      (cons (match-string 1 heard)
            (string-trim-right (match-string 2 heard) "\r")))))

(defun backstaff-remote--note-facts (try text)
  "Note what TEXT, the server's of TRY, tells of its start."
  (pcase (split-string text " ")
    (`(,sources ,python)
     (setf (backstaff-remote--try-sources try) sources
           (backstaff-remote--try-python try) python))))

(defun backstaff-remote--send (try bytes deadline)
  "Send BYTES to the server of TRY, before DEADLINE."
  (unless (string-empty-p bytes)
    (let ((left (max 0.1 (- deadline (float-time)))))
      (with-timeout (left (signal 'backstaff-timeout
                                  (list (backstaff-remote--silence
                                         try "took no sources"))))
        (process-send-string (backstaff-remote--try-process try) bytes)))))

(defun backstaff-remote--check-try (try process deadline)
  "Signal an error if TRY has failed.
That is if PROCESS has ended, or said far too much, or if DEADLINE is past."
  (cond ((backstaff-remote--noisy-p try)
         (signal 'backstaff-connection-lost
                 (list (format "the host says too much and never \"ready\"%s"
                               (backstaff-remote--said try)))))
        ((not (process-live-p process))
         (while (accept-process-output process 0 nil t))
         (unless (string-match-p "BS-[A-Z]+:"
                                 (backstaff-remote--try-heard try))
           (signal 'backstaff-connection-lost
                   (list (backstaff-remote--ending-text try process)))))
        ((> (float-time) deadline)
         (signal 'backstaff-timeout
                 (list (backstaff-remote--silence try "was not ready"))))))

(defun backstaff-remote--ending-text (try process)
  "Return how PROCESS of TRY ended, and what the host said, as text."
  (let ((said (backstaff-remote--said try)))
    (if (and (= (process-exit-status process) 127)
             (string-match-p "not found\\|[Nn]o such file" said))
        (format "there is no %s on %s, and 3.11 or newer is needed; \
`backstaff-remote-python' may name another%s"
                backstaff-remote-python (backstaff-remote--try-host try) said)
      (format "the process there ended with status %s before it was ready%s"
              (process-exit-status process) said))))

(defun backstaff-remote--silence (try failure)
  "Say that the server of TRY showed FAILURE for too long."
  (format "it %s within %s seconds%s" failure backstaff-remote-start-limit
          (backstaff-remote--said try)))

(defun backstaff-remote--said (try)
  "Return what the host of TRY said, to be put behind a sentence."
  (let* ((errors (backstaff-remote--try-errors try))
         (stderr (and errors (get-buffer-process errors)))
         (end (+ (float-time) 0.2)))
    (while (and stderr (process-live-p stderr) (< (float-time) end)
                (not (process-live-p (backstaff-remote--try-process try))))
      (accept-process-output stderr 0.02 nil t))
    (let ((text (string-trim
                 (concat (and errors (backstaff-remote--text errors))
                         " " (backstaff-remote--try-heard try)))))
      (if (string-empty-p text) "; the host said nothing"
        (concat "; the host said: " (backstaff-remote--one-line text))))))

(defun backstaff-remote--text (buffer)
  "Return the text of BUFFER, which a process wrote to."
  (with-current-buffer buffer (buffer-string)))

(defun backstaff-remote--one-line (text)
  "Return the end of TEXT, bytes that a host sent, on one line."
  (let ((line (replace-regexp-in-string
               "[[:cntrl:][:space:]]+" " "
               (decode-coding-string (string-to-unibyte
                                      (encode-coding-string text 'utf-8))
                                     'utf-8))))
    (substring line (max 0 (- (length line) 300)))))

(defun backstaff-remote--wait (process)
  "Wait a little for PROCESS, and for nothing else; heed a quit.
Other processes must not be served: what is behind them may be TRAMP in the
midst of a command."
  (accept-process-output process 0.1 nil t)
  ;; Set and still unheeded, so `inhibit-quit' is non-nil.
  (when (eq quit-flag t)
    (setq quit-flag nil)
    (signal 'quit nil)))


;;; When it is ready

(defun backstaff-remote--adopt (server try)
  "Let SERVER be the one that TRY started."
  (let* ((host (backstaff-remote--try-host try))
         (process (backstaff-remote--try-process try))
         (rest (backstaff-remote--try-heard try)))
    (setf (backstaff-server--stderr server)
          (backstaff-remote--take-stderr server try)
          (backstaff-server--facts server)
          (list :way (backstaff-remote--try-way try)
                :sources (backstaff-remote--try-sources try)
                :python (backstaff-remote--try-python try)
                :seconds (- (float-time) (backstaff-remote--try-start try)))
          (backstaff-server--connection server)
          (backstaff-epc-connect
           process :name (format "the server on %s" host) :remote t
           :log-function #'backstaff-server--note
           :stderr-function
           (lambda () (backstaff-server--collect-words server))))
    (unless (string-empty-p rest)
      (backstaff-epc--receive (backstaff-server--connection server) rest))))

(defun backstaff-remote--take-stderr (server try)
  "Return the process with the standard error of TRY, which is SERVER's now.
Return nil if there is none: on a terminal it says nothing any more."
  (when-let ((errors (backstaff-remote--try-errors try))
             (process (get-buffer-process errors)))
    (let ((text (backstaff-remote--text errors)))
      (unless (string-empty-p text)
        (backstaff-server--hear server text)))
    (set-process-filter process
                        (lambda (_process text)
                          (backstaff-server--hear server text)))
    (set-process-coding-system process 'utf-8-unix 'utf-8-unix)
    (set-process-buffer process nil)
    (set-process-thread process nil)
    (kill-buffer errors)
    process))

(provide 'backstaff-remote)
;;; backstaff-remote.el ends here
