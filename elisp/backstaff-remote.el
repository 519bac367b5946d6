;;; backstaff-remote.el --- Projects on other hosts  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Which hosts and roots may be looked at, how long TRAMP may take for what it is
;; asked on the way, and how it starts a process; and the options.  How a server
;; comes to run on a host is backstaff-remote-start.el's.
;;
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
;; What TRAMP does on the way may wait for ever in Emacs 30, as no timer runs
;; meanwhile; so all waiting for a host looks at the clock itself.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'tramp)
(require 'backstaff-epc)
(require 'backstaff-server)

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
  "For how many seconds at most each way of starting a server is tried.
There are two.  During the first, a session without a terminal, Emacs is
free.  The second is a login of TRAMP's own: Emacs waits for it, at most as
long as this, and \\[keyboard-quit] ends it.  Hosts that are reached by several
hops, sudo or su know only the second."
  :type '(number :tag "Seconds"))


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
    (condition-case problem
        (message "The server on %s is up, %s" host
                 (backstaff-remote-facts-text (backstaff-remote--facts host)))
      (backstaff-error
       (user-error "%s" (backstaff-epc-error-text problem))))))

(defun backstaff-remote--facts (host)
  "Return the facts of the server on HOST, once it answers."
  (let ((server (backstaff-server-ensure host)))
    (backstaff-epc-call (backstaff-server--connection server) 'ping nil
                        :timeout (backstaff-remote-patience))
    (backstaff-server--facts server)))

(defun backstaff-remote-patience ()
  "Return how many seconds the first answer of a server may take at most.
These are one way, a login, another way, and the answer."
  (* 4 backstaff-remote-start-limit))

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
  "Forget the roots that were found."
  (clrhash backstaff-remote--roots))

(defun backstaff-remote-root (directory)
  "Return the root of the project that DIRECTORY, on another host, is in.
It is looked for once, by TRAMP, and known until `backstaff-restart'."
  (backstaff-remote-check directory)
  (let ((key (cons backstaff-root-function directory)))
    (or (gethash key backstaff-remote--roots)
        (puthash key
                 (backstaff-remote-limited
                  directory "find the project's root"
                  (lambda ()
                    (funcall backstaff-root-function
                             (expand-file-name directory))))
                 backstaff-remote--roots))))


;;; Limits on what TRAMP does

(defun backstaff-remote-limited (directory purpose function)
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


;;; Processes without a login

(defun backstaff-remote-direct-p (host)
  "Return non-nil if HOST can have a process that needs no login of TRAMP's."
  (backstaff-remote-with-direct host t
    (lambda ()
      (let ((default-directory (concat host "/")))
        (tramp-direct-async-process-p)))))

(defun backstaff-remote-with-direct (host direct function)
  "Call FUNCTION while TRAMP shall start processes on HOST in the way DIRECT.
That is non-nil for one without a login, and without a terminal."
  (declare (indent 2))
  (let ((tramp-methods (mapcar #'backstaff-remote--without-tty
                               tramp-methods))
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

(provide 'backstaff-remote)
;;; backstaff-remote.el ends here
