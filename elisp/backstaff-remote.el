;;; backstaff-remote.el --- Projects on other hosts  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; For a project on another host a server runs there, over a connection of TRAMP's, so that
;; a call costs one round trip.  It starts unasked only if TRAMP is connected already;
;; otherwise a command asks first.  One server serves all roots, because ssh allows ten
;; sessions in a connection.
;;
;; The host needs a Python and nothing else.  A small program on its command line runs the
;; sources that the last start left there, or asks for them: see py_backend/backstaff_remote.

;;; Code:

(require 'tramp)
(require 'tramp-sh)
(require 'backstaff-names)
(require 'backstaff-server)

(defvar tramp-dont-suspend-timers)

(defcustom backstaff-remote-python "python3"
  "The Python that runs the server on another host, 3.11 or newer.
A connection-local value counts for one host."
  :type 'string :group 'backstaff :risky t :package-version '(backstaff . "0.1.0"))

(defcustom backstaff-remote-start-limit 10
  "Maximum number of seconds for TRAMP to start a process, and for it to be ready.
Each may take so long.  Emacs waits meanwhile; \\[keyboard-quit] ends that."
  :type '(number :tag "Seconds") :group 'backstaff :package-version '(backstaff . "0.1.0"))

;;; Hosts

;;;###autoload (add-hook 'backstaff-server-host-functions #'backstaff-remote-operate)

;;;###autoload
(defun backstaff-remote-operate (operation &rest arguments)
  "Do OPERATION with ARGUMENTS, as `backstaff-server-host-functions' describes."
  (pcase (cons operation arguments)
    ;; A server needs TRAMP to use a shell there.
    (`(shell-p ,directory)
     (and (tramp-tramp-file-p directory)
          (tramp-sh-file-name-handler-p (tramp-dissect-file-name directory))))
    (`(start ,host) (backstaff-remote--start host))
    (`(look-up ,function ,directory)
     (backstaff-server-check-host directory)
     (backstaff-server-once
      (cons function directory)
      (lambda ()
        (backstaff-remote--by-tramp
         directory (concat "find the project's root on " (file-remote-p directory))
         (lambda () (funcall function (expand-file-name directory)))))))))

;;; TRAMP

(defconst backstaff-remote--network-advice
  "The network may be down, or that host asleep: see by ssh or ping; then visit a file there"
  "Advice for a user about a host that is silent.")

(defun backstaff-remote--limited (late function)
  "Return the value of FUNCTION, or after the limit that of LATE.
No other timer runs meanwhile: it might start a server.  The time to type a
password does not count."
  (let ((limit backstaff-remote-start-limit)
        (timer-list nil) (timer-idle-list nil) (tramp-dont-suspend-timers t))
    (with-timeout (limit (funcall late))
      (funcall function))))

(defun backstaff-remote--by-tramp (directory purpose function)
  "Return the value of FUNCTION, which uses TRAMP on DIRECTORY's host for PURPOSE.
After the limit end TRAMP's connection, which broke off in a command."
  (backstaff-remote--limited
   (lambda ()
     (when-let ((process (tramp-get-connection-process (tramp-dissect-file-name directory))))
       (delete-process process))
     (signal 'backstaff-timeout
             (list (format "TRAMP could not %s within %s seconds" purpose
                           backstaff-remote-start-limit)
                   backstaff-remote--network-advice)))
   function))

;;; Start

(defun backstaff-remote--one-line (text)
  "Return the end of TEXT, bytes that a program wrote, on one line."
  (let ((bytes (encode-coding-string (string-limit text 1000 t) 'utf-8)))
    (string-limit (backstaff-names-prose (decode-coding-string bytes 'utf-8)) 300 t)))

(defun backstaff-remote--make-bundle ()
  "Return what this machine makes for a host: (PROGRAM ARGUMENTS PAYLOADS).
PAYLOADS is an alist of hashes and Base64."
  (backstaff-server-with-own-environment (backstaff-server-sources)
    (with-temp-buffer
      (let* ((command (append (backstaff-server-program) '("bundle")))
             (status (apply #'call-process (car command) nil t nil (cdr command))))
        (goto-char (point-min))
        ;; Warnings may stand before it.
        (if (and (eql status 0) (re-search-forward "^(\"" nil t))
            (read (progn (goto-char (match-beginning 0)) (current-buffer)))
          (signal 'backstaff-start-error
                  (list (concat "The command bundle failed on this machine: "
                                (backstaff-remote--one-line (buffer-string)))
                        "Update the server's program, or set `backstaff-server-command' to nil")))))))

(defun backstaff-remote--start (host)
  "Start a server on HOST, to which Emacs must be connected."
  (with-temp-message (format "Starting a server on %s… (C-g cancels)" host)
    (let* ((inhibit-quit nil)
           (file (backstaff-server-settings-file-name))
           ;; They go along: a policy counts wherever the tools look.
           (settings (if (or backstaff-server-settings-file (file-exists-p file))
                         (with-temp-buffer
                           (insert-file-contents-literally file)
                           (buffer-string))
                       ""))
           (bundle (backstaff-server-once 'bundle #'backstaff-remote--make-bundle))
           (python (with-temp-buffer
                     (setq default-directory (concat host "/"))
                     (with-connection-local-variables backstaff-remote-python))))
      ;; TRAMP would connect by itself.
      (backstaff-server-check-host (concat host "/"))
      (backstaff-server-note (format "starting on %s" host))
      (condition-case problem
          (backstaff-remote--open-session host bundle python settings)
        (error
         (signal 'backstaff-start-error
                 (list (format "on %s, %s" host
                               (if (memq (car problem) '(backstaff-start-error backstaff-timeout))
                                   (cadr problem)
                                 (backstaff-epc-error-text problem)))
                       (nth 2 problem))))))))

(defun backstaff-remote--open-session (host bundle python settings)
  "Start a server by PYTHON on HOST; return the plist of `backstaff-remote--start'.
The host is sent parts of BUNDLE, and SETTINGS, the bytes of the user's file."
  (pcase-let*
      ((`(,program ,arguments ,payloads) bundle)
       (begun (float-time)) (output "") (process nil) (case-fold-search nil)
       (buffer (generate-new-buffer " *backstaff-remote*" t))
       ;; A word that nobody else says.  The host says it backwards, so that an
       ;; echo of the command line does not look like an answer.
       (nonce (format "n%08x%08x" (random #xffffffff) (random #xffffffff)))
       (answer (format "BS-\\(NEED\\|READY\\|FAIL\\):%s:\\([^\r\n]*\\)\r?\n" (reverse nonce)))
       (failure nil) (late nil))
    (cl-labels
        ;; An error means that the process has ended, which its sentinel reports.
        ((send (bytes) (ignore-errors (process-send-string process bytes) nil))
         ;; Do the step that the next line from the host asks for; return its last words.
         (step ()
           (when (string-match answer output)
             (let ((word (match-string 1 output)) (rest (match-string 2 output)))
               (setq output (substring output (match-end 0)))
               (pcase word
                 ("NEED" (send (base64-decode-string (alist-get rest payloads "" nil #'equal))))
                 ("READY" (send settings)
                          (and (process-live-p process) (split-string rest " ")))
                 (_ (setq failure rest)))))))
      (unwind-protect
          (progn
            (let ((default-directory (concat host "/"))
                  ;; TRAMP sends the host the difference from this, for all to see.
                  (process-environment
                   (copy-sequence (default-toplevel-value 'process-environment))))
              (setq process
                    (backstaff-remote--by-tramp
                     default-directory "start a process"
                     (lambda ()
                       (make-process
                        :name "backstaff-remote" :buffer buffer :file-handler t :noquery t
                        :connection-type 'pipe :coding 'binary :sentinel #'ignore
                        :filter (lambda (process text)
                                  (setq output (concat output text))
                                  (when (> (length output) 65536) ; before it is ready
                                    (delete-process process)))
                        :command `(,python "-I" "-S" "-X" "utf8" "-c" ,program ,nonce ,@arguments
                                           ,(number-to-string (length settings))))))))
            ;; TRAMP gives a process on a terminal the coding of text.
            (set-process-coding-system process 'binary 'binary)
            (pcase (backstaff-remote--await process #'step (lambda () (setq late t)))
              ((and `(,sources ,version) (guard (not failure)))
               (set-process-buffer process nil)
               (list :process process :output output
                     :text (format "Python %s, sources %s, started in %.2f s"
                                   version sources (- (float-time) begun))))
              (_ (signal 'backstaff-start-error
                         (backstaff-remote--failure process python late failure output)))))
        (when-let ((process (get-buffer-process buffer)))
          (delete-process process))
        (kill-buffer buffer)))))

(defun backstaff-remote--await (process step late)
  "Call STEP again and again while PROCESS runs, and return its non-nil value.
After the limit call LATE and kill PROCESS."
  (backstaff-remote--limited
   (lambda () (funcall late) (delete-process process) nil)
   (lambda ()
     (let ((value nil))
       (while (and (not (setq value (funcall step)))
                   ;; No other process is read: TRAMP would miss the output of a command.
                   (let ((live (process-live-p process)))
                     (or (accept-process-output process 0.02 nil t) live))))
       value))))

(defun backstaff-remote--failure (process python late failure output)
  "Return a text and an advice about the start of PYTHON on a host by PROCESS.
LATE says that the time was up.  FAILURE is nil or why the host refuses, and
OUTPUT is the end of its output."
  (let* ((status (process-exit-status process))
         (said (backstaff-remote--one-line (or failure output)))
         (said (concat "; the host said: " (if (string-empty-p said) "nothing" said))))
    (cond ((or (eql status 127) (string-prefix-p "it is Python " (or failure "")))
           (list (format "%s is no Python 3.11 or newer%s" python said)
                 "Install one on that host; if it is there by another name, customize\
 `backstaff-remote-python'"))
          (late
           (list (format "it was not ready within %s seconds%s" backstaff-remote-start-limit said)
                 backstaff-remote--network-advice))
          (t (list (format "the process there ended with status %s before it was ready%s"
                           status said))))))

(provide 'backstaff-remote)
;;; backstaff-remote.el ends here
