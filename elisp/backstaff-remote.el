;;; backstaff-remote.el --- Projects on other hosts  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; For a project on another host the server runs there, over a connection that
;; TRAMP makes, so that a call costs one round trip.
;;
;; A server starts unasked only if TRAMP is connected already; otherwise a command
;; asks first.  A model cannot choose a host, because Emacs alone chooses the root.
;; Each connection of TRAMP's has one server, because ssh allows ten sessions in a
;; connection, and one for each root would soon be too many.
;;
;; The host needs a Python and nothing else.  A small program on its command
;; line runs the sources that the last start left there if they have the right
;; hash, and asks for them otherwise: see py_backend/backstaff_remote.
;;
;; Emacs waits for a start.  C-g ends that, and so does the limit.

;;; Code:

(require 'tramp)
(require 'tramp-sh)
(require 'backstaff-ui-prompt)

(defvar tramp-dont-suspend-timers)

(defcustom backstaff-remote-python "python3"
  "The Python that runs the server on another host, 3.11 or newer.
A connection-local value counts for one host."
  :type 'string :group 'backstaff :risky t :package-version '(backstaff . "0.1.0"))

(defcustom backstaff-remote-start-limit 10
  "Maximum number of seconds for each way of starting a server.
There are two: a session without a terminal, and a login of TRAMP's own.  The
second is for hosts that are reached by several hops, sudo or su, and for those
where the first one fails.  Emacs waits meanwhile; \\[keyboard-quit] ends that."
  :type '(number :tag "Seconds") :group 'backstaff :package-version '(backstaff . "0.1.0"))

;;; Hosts

;;;###autoload (set 'backstaff-server-host-function #'backstaff-remote-operate)

;;;###autoload
(defun backstaff-remote-operate (operation &rest arguments)
  "Do OPERATION with ARGUMENTS, as `backstaff-server-host-function' describes."
  (apply (pcase operation
           ('shell-p #'backstaff-remote--shell-p)
           ('start #'backstaff-remote--start)
           ('look-up #'backstaff-remote--look-up))
         arguments))

(defun backstaff-remote--shell-p (directory)
  "Return non-nil if TRAMP uses a shell on the host of DIRECTORY.
Servers start on such hosts alone.  This does not connect to the host."
  (and (memq (find-file-name-handler directory 'file-remote-p)
             '(tramp-file-name-handler tramp-autoload-file-name-handler))
       (tramp-tramp-file-p directory)
       (tramp-sh-file-name-handler-p (tramp-dissect-file-name directory))))

;;;###autoload
(defun backstaff-connect ()
  "Connect to the host of the current directory and start the server there."
  (interactive)
  (let ((host (or (file-remote-p default-directory)
                  (user-error "This directory is on this machine"))))
    (unless (backstaff-remote--shell-p default-directory)
      (user-error "TRAMP has no shell on %s" host))
    (unless (backstaff-prompt-open-host host)
      (user-error "There is no connection to %s" host))
    (condition-case problem
        (let ((server (backstaff-server-ensure host)))
          (backstaff-epc-call server 'ping nil)
          (message "The server on %s is up: %s" host
                   (plist-get (backstaff-server-start-info server) :text)))
      (backstaff-error (user-error "%s" (backstaff-epc-error-text problem))))))

(defvar backstaff-remote--roots (make-hash-table :test #'equal)
  "Results of functions that look for a project, by the whole call of each.
To look for one costs TRAMP several round trips.")

(defvar backstaff-remote--bundle nil
  "The program for other hosts, or nil before it was made.
It is a list (PROGRAM ARGUMENTS PAYLOADS): a program and arguments for the
command line there, and an alist of hashes and payloads in Base64.")

(defun backstaff-remote--look-up (function directory &rest more)
  "Return the value of FUNCTION, which looks for a project, for DIRECTORY.
MORE are more arguments for it."
  (backstaff-server-check-host directory)
  (add-hook 'backstaff-server-restart-hook #'backstaff-remote--forget)
  (let* ((key (cl-list* function directory more))
         (known (gethash key backstaff-remote--roots 'unknown)))
    (if (not (eq known 'unknown)) known
      (puthash key
               (backstaff-remote--limited
                directory (concat "find the project's root on " (file-remote-p directory))
                (lambda () (apply function (expand-file-name directory) more)))
               backstaff-remote--roots))))

(defun backstaff-remote--forget ()
  "Forget the roots and the program for hosts."
  (clrhash backstaff-remote--roots)
  (setq backstaff-remote--bundle nil))

;;; TRAMP

(defconst backstaff-remote--network-advice
  "See whether that host is up and the network between is, by ssh or ping; then \
type M-x backstaff-connect in a directory of that host"
  "Advice for a user about a host that is silent.")

(defun backstaff-remote--limited (directory purpose function)
  "Return the value of FUNCTION, which uses TRAMP on DIRECTORY's host.
Signal a `backstaff-timeout' that names PURPOSE if it takes longer than
`backstaff-remote-start-limit', not counting the time to type a password, and
end TRAMP's connection: it broke off in the midst of a command, whose answer
would be taken for that to the next."
  (let ((limit backstaff-remote-start-limit)
        ;; The timer of the limit runs while TRAMP waits, and no other.
        (timer-list nil) (timer-idle-list nil) (tramp-dont-suspend-timers t))
    (with-timeout (limit
                   (when-let ((process (tramp-get-connection-process
                                        (tramp-dissect-file-name directory))))
                     (delete-process process))
                   (signal 'backstaff-timeout
                           (list (format "TRAMP could not %s within %s seconds; the network may be\
 down, or that host asleep" purpose limit)
                                 backstaff-remote--network-advice 'final)))
      (funcall function))))

(defun backstaff-remote--ways (host)
  "Return the ways in which a server may be started on HOST, the best first.
`direct' is a session without a terminal, `tramp' a login of TRAMP's own."
  (let ((name (tramp-dissect-file-name host)))
    (if (and (tramp-get-method-parameter name 'tramp-direct-async)
             (or (not (tramp-multi-hop-p name)) (null (cdr (tramp-compute-multi-hops name)))))
        '(direct tramp)
      '(tramp))))

(defun backstaff-remote--make-process (host way &rest arguments)
  "Let TRAMP start a process on HOST in WAY, which `backstaff-remote--ways' names.
ARGUMENTS are those of `make-process'."
  (let ((default-directory (concat host "/"))
        ;; In Emacs 30 ssh would make a terminal.  That would mix the standard
        ;; error into the frames, and delay small requests as if typed.
        (tramp-methods
         (cl-sublis '(((tramp-direct-async ("-t" "-t")) . (tramp-direct-async t)))
                    tramp-methods :test #'equal))
        ;; TRAMP sends the host the difference from this, for all to see.
        (process-environment (copy-sequence (default-toplevel-value 'process-environment))))
    ;; A private function, because it asks a connection property in Emacs 28 and a connection-local
    ;; variable in Emacs 30; either would count for the user's own processes there, too.
    (cl-letf (((symbol-function 'tramp-direct-async-process-p)
               (lambda (&rest _) (eq way 'direct))))
      (let ((process (apply #'make-process :file-handler t :noquery t
                            :connection-type 'pipe :coding 'binary arguments)))
        (unless (processp process)
          (signal 'backstaff-start-error '("TRAMP started no process")))
        ;; TRAMP gives a process on a terminal the coding of text.
        (set-process-coding-system process 'binary 'binary)
        process))))

(defun backstaff-remote--send (process bytes)
  "Send BYTES to PROCESS, and leave the output of TRAMP's processes unread.
While Emacs waits to send, it reads from all processes.  A command of TRAMP
that is under way would lose that output."
  (let ((filters (cl-loop for connection in (tramp-list-connections)
                          for process = (tramp-get-connection-process connection)
                          when process collect (cons process (process-filter process)))))
    (unwind-protect
        (progn
          (pcase-dolist (`(,process . ,_) filters)
            (set-process-filter process t))
          ;; An error means that the process has ended, which its sentinel reports.
          (ignore-errors
            (process-send-string process bytes)))
      (pcase-dolist (`(,process . ,filter) filters)
        (set-process-filter process filter)))))

;;; Start

(defun backstaff-remote--one-line (text)
  "Return the end of TEXT, bytes that a program wrote, on one line."
  (let ((bytes (encode-coding-string (string-limit text 1000 t) 'utf-8)))
    (string-limit (backstaff-names-prose (decode-coding-string bytes 'utf-8)) 300 t)))

(defun backstaff-remote--make-bundle ()
  "Let the server's Python on this machine make a `backstaff-remote--bundle'."
  (condition-case problem
      (backstaff-python-with-own-environment (backstaff-python-sources)
        (with-temp-buffer
          (let* ((command (append (backstaff-server-program) '("bundle")))
                 (status (apply #'call-process (car command) nil t nil (cdr command))))
            (goto-char (point-min))
            ;; Warnings may stand before it.
            (if (and (eql status 0) (re-search-forward "^(\"" nil t))
                (read (progn (goto-char (match-beginning 0)) (current-buffer)))
              (signal 'backstaff-start-error
                      (list (concat "The command bundle failed: "
                                    (backstaff-remote--one-line (buffer-string)))
                            "Update the server's program, which makes the bundle that runs on a\
 host; or set `backstaff-server-command' to nil"))))))
    (backstaff-start-error
     (signal 'backstaff-start-error
             (list (concat "what goes to a host is made on this machine: " (cadr problem))
                   (backstaff-server-advice problem))))))

(defconst backstaff-remote--python-advice
  "Install one on that host; if it is there by another name, customize \
`backstaff-remote-python'"
  "Advice for a user about a host without a recent Python.")

(defvar backstaff-remote--starting nil
  "The hosts on which a server is being started.")

(defun backstaff-remote--start (host)
  "Start a server on HOST, as `backstaff-server-host-function' describes.
If one way fails, try the next.  Signal a `backstaff-error' if all fail, or if
Emacs is not connected to HOST, such as \"/ssh:host:\"."
  (when (member host backstaff-remote--starting)
    ;; A timer would wait for a start that goes on further up the stack.
    (signal 'backstaff-start-error
            (list (format "it is just being started on %s; try again" host))))
  (with-temp-message (format "Starting a server on %s… (C-g cancels)" host)
    (let* ((backstaff-remote--starting (cons host backstaff-remote--starting))
           (inhibit-quit nil) (problems nil) (started nil)
           (file (backstaff-server-settings-file-name))
           ;; They go along: a policy counts wherever the tools look.
           (settings (if (or backstaff-server-settings-file (file-exists-p file))
                         (with-temp-buffer
                           (insert-file-contents-literally file)
                           (buffer-string))
                       ""))
           (backstaff-remote-python
            (with-temp-buffer
              (setq default-directory (concat host "/"))
              (with-connection-local-variables backstaff-remote-python)))
           (ways (backstaff-remote--ways host)))
      (unless backstaff-remote--bundle
        (add-hook 'backstaff-server-restart-hook #'backstaff-remote--forget)
        (setq backstaff-remote--bundle (backstaff-remote--make-bundle)))
      (while (not started)
        ;; TRAMP would connect by itself.
        (backstaff-server-check-host (concat host "/"))
        (backstaff-server-note (format "starting on %s, %s" host (car ways)))
        (condition-case problem
            (setq started (backstaff-remote--open-session host (pop ways) settings))
          (error
           (pcase-let* ((`(,text ,advice ,final)
                         (if (memq (car problem) '(backstaff-start-error backstaff-timeout))
                             (cdr problem)
                           (list (backstaff-epc-error-text problem))))
                        (needs-python (eq advice backstaff-remote--python-advice)))
             (backstaff-server-note (format "start on %s failed: %s" host text))
             ;; No other failure says more than that a Python is missing.
             (push (cons (if needs-python (format "Python 3.11 or newer is needed: %s\
 (`backstaff-remote-python' may name another)" text)
                           text)
                         advice)
                   problems)
             (when (or final (null ways))
               (let ((best (or (cl-find backstaff-remote--python-advice problems :key #'cdr)
                               (cons (mapconcat #'car (reverse problems) "; then ")
                                     (cl-some #'cdr problems)))))
                 (signal 'backstaff-start-error
                         (list (format "on %s, %s" host (car best)) (cdr best)))))))))
      started)))

(defun backstaff-remote--open-session (host way settings)
  "Start a server on HOST in WAY; return the plist of `backstaff-remote--start'.
The host is sent SETTINGS, the bytes of the user's file.  An error's data are a
text, an advice, and non-nil if no other way could do better."
  (pcase-let*
      ((`(,program ,arguments ,payloads) backstaff-remote--bundle)
       (begun (float-time)) (output "") (process nil) (started nil) (case-fold-search nil)
       (most (* 64 1024))               ; maximum number of bytes before the server is ready
       (buffer (generate-new-buffer " *backstaff-remote*" t))
       (errors (generate-new-buffer " *backstaff-stderr*" t))
       ;; A word that nobody else says.  The host says it backwards, so that an
       ;; echo of the command line does not look like an answer.
       (nonce (format "n%08x%08x" (random #xffffffff) (random #xffffffff)))
       (answer (format "BS-\\(NEED\\|READY\\|FAIL\\):%s:\\([^\r\n]*\\)\r?\n" (reverse nonce))))
    (cl-flet*
        ((fail (text &optional advice final)
           (signal 'backstaff-start-error (list text advice final)))
         ;; Do the step that the next line from the host asks for.
         (step ()
           (when (string-match answer output)
             (let ((word (match-string 1 output)) (rest (match-string 2 output)))
               (setq output (substring output (match-end 0)))
               (pcase word
                 ("NEED" (backstaff-remote--send
                          process (base64-decode-string (alist-get rest payloads "" nil #'equal)))
                         nil)
                 ("READY" (backstaff-remote--send process settings)
                          (and (process-live-p process) (split-string rest " ")))
                 (_ (let ((old (string-prefix-p "it is Python " rest)))
                      (fail (format "%s says that %s" backstaff-remote-python
                                    (backstaff-remote--one-line rest))
                            (and old backstaff-remote--python-advice) old))))))))
      (unwind-protect
          (progn
            (setq process
                  (backstaff-remote--limited
                   (concat host "/") "start a process"
                   (lambda ()
                     (backstaff-remote--make-process
                      host way :name "backstaff-remote" :buffer buffer
                      :stderr (and (eq way 'direct) errors) :sentinel #'ignore
                      :filter (lambda (process text)
                                (setq output (concat output text))
                                (when (> (length output) most)
                                  (delete-process process)))
                      :command `(,backstaff-remote-python
                                 "-I" "-S" "-X" "utf8" "-c" ,program ,nonce ,@arguments
                                 ,(number-to-string (length settings)))))))
            (pcase-let* ((`(,sources ,python)
                          (backstaff-epc-wait process backstaff-remote-start-limit #'step))
                         (stderr (get-buffer-process errors))
                         (said nil))
              (if sources
                  (setq started
                        (list
                         :process process :output output :stderr stderr
                         :text (format "%s, Python %s, sources %s, started in %.2f s"
                                       (if (eq way 'direct) "a session without a terminal"
                                         "a login of TRAMP's on a terminal")
                                       python sources (- (float-time) begun))))
                ;; Its standard error may arrive after its end.
                (when stderr (backstaff-epc-wait stderr 0.2 #'ignore))
                (setq said (backstaff-remote--one-line
                            (concat (with-current-buffer errors (buffer-string)) " " output))
                      said (if (string-empty-p said) "; the host said nothing"
                             (concat "; the host said: " said)))
                (cond
                 ((> (length output) most)
                  (fail (concat "the host says too much and never \"ready\"" said)))
                 ((process-get process 'backstaff-late)
                  (fail (format "it was not ready within %s seconds; the network may be down, or\
 that host asleep%s" backstaff-remote-start-limit said)
                        backstaff-remote--network-advice 'final))
                 ((and (= (process-exit-status process) 127)
                       (string-match-p "not found\\|[Nn]o such file" said))
                  ;; Without a directory it may be in TRAMP's own path alone.
                  (fail (format "there is no %s%s" backstaff-remote-python said)
                        backstaff-remote--python-advice
                        (string-search "/" backstaff-remote-python)))
                 (t (fail (format "the process there ended with status %s before it was ready%s"
                                  (process-exit-status process) said))))))
            (set-process-buffer process nil)
            started)
        (dolist (buffer (list buffer (unless (plist-get started :stderr) errors)))
          (when (buffer-live-p buffer)
            (when-let ((process (get-buffer-process buffer)))
              (set-process-sentinel process #'ignore)
              (delete-process process))
            (kill-buffer buffer)))))))

(provide 'backstaff-remote)
;;; backstaff-remote.el ends here
