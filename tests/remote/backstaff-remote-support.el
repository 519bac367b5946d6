;;; backstaff-remote-support.el --- A host for the tests of Backstaff  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make test-el' runs Emacs below tests/remote/host.py, which provides a
;; host.  Without an sshd there is none, and the tests that need one are
;; skipped; a method of TRAMP's own that runs a shell here, and su, stand
;; in for others.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-remote)
(require 'backstaff-ui-view)
(require 'tramp)
(require 'tramp-sh)
(require 'tramp-cmds)

(setq tramp-persistency-file-name nil
      tramp-verbose 1)

(defconst backstaff-remote-test-place (getenv "BACKSTAFF_TEST_HOST")
  "The folder of the host, or nil if there is no host.")

(defconst backstaff-remote-test-ssh "/ssh:host:"
  "How TRAMP names the host.")

;; A login that is none: a shell of this user's, on this machine.
(add-to-list 'tramp-methods
             '("fake"
               (tramp-login-program "/bin/sh")
               (tramp-login-args (("-i")))
               (tramp-remote-shell "/bin/sh")
               (tramp-remote-shell-args ("-c"))
               (tramp-connection-timeout 10)))

(defun backstaff-remote-test-tell (command)
  "Tell the proxy before the host COMMAND, and return when it is done."
  (let* ((answer "")
         (process (make-network-process
                   :name "proxy-control" :host "127.0.0.1" :noquery t
                   :service (string-to-number (getenv "BACKSTAFF_TEST_CONTROL"))
                   :filter (lambda (_ text) (setq answer (concat answer text))))))
    (process-send-string process (concat command "\n"))
    (while (string-empty-p answer)
      (accept-process-output process 0.05 nil t))
    (delete-process process)))

(defun backstaff-remote-test-file (name)
  "Return the file called NAME of the host's folder."
  (expand-file-name name backstaff-remote-test-place))

(defun backstaff-remote-test-write (name text)
  "Let the file called NAME of the host hold TEXT, and be a program."
  (let ((file (backstaff-remote-test-file name))
        (coding-system-for-write 'no-conversion))
    (write-region text nil file nil 'silent)
    (set-file-modes file #o700)))

(defun backstaff-remote-test-cache ()
  "Return the cache directory of the host's user."
  (backstaff-remote-test-file "home/.cache/backstaff"))

(defun backstaff-remote-test-connect (host)
  "Let TRAMP connect to HOST."
  (should (file-exists-p (concat host "/"))))

(defun backstaff-remote-test--reset ()
  "Let the host be as it was, and Emacs be connected to none."
  (when backstaff-remote-test-place
    (backstaff-remote-test-tell "go")
    (backstaff-remote-test-tell "delay 0")
    (dolist (name '("noise" "shell"))
      (ignore-errors ; as it need not be there
        (delete-file (backstaff-remote-test-file name)))))
  (let ((message-log-max nil) (inhibit-message t))
    (tramp-cleanup-all-connections))
  ;; One of them says how TRAMP starts processes there.
  (tramp-flush-connection-properties
   (tramp-dissect-file-name (concat backstaff-remote-test-ssh "/"))))

(defun backstaff-remote-test-needs-host ()
  "Skip the test where there is no host, for the reason that host.py gives."
  (backstaff-test-needs (or (getenv "BACKSTAFF_TEST_HOST_NEEDS") "a host")
                        backstaff-remote-test-place))

(defun backstaff-remote-test-call (host body)
  "Call BODY with a tree on HOST, to which Emacs is connected, then clean up."
  (when (string-prefix-p backstaff-remote-test-ssh host)
    (backstaff-remote-test-needs-host))
  (let ((backstaff-server-command (backstaff-test-command))
        (backstaff-call-timeout 20)
        (backstaff-server-settings-file nil))
    (backstaff-test-with-tree '(("a.txt" . "alpha")
                                ("src" ("b.py" . "") ("deep" ("c" . "c\n")))
                                (".claude" ("commands" ("go.md" . "---\ndescription: Go there\n---\n# Go\n"))))
      (backstaff-test-clean
       (unwind-protect
           (progn
             (when host
               (backstaff-remote-test-connect host))
             (funcall body root (concat host root)))
         (backstaff-server--stop "the test is over")
         (backstaff-remote-test--reset))))))

(defmacro backstaff-remote-test-on (host &rest body)
  "Run BODY with `root', a tree, and `far', its name on HOST, connected."
  (declare (indent 1) (debug t))
  `(backstaff-remote-test-call ,host (lambda (root far) (ignore root far) ,@body)))

(defmacro backstaff-remote-test-both-ways (&rest body)
  "Run BODY once for each way in which TRAMP starts a process on the host.
One is `login', on a terminal.  The other is `direct', for users that have set
it; in Emacs 30 that is a terminal, too."
  (declare (indent 0) (debug t))
  `(dolist (way (if (< emacs-major-version 30) '(login direct) '(login)))
     (ert-info ((format "way: %s" way))
       (let ((tramp-connection-properties
              (append (and (eq way 'direct)
                           (list (list (regexp-quote backstaff-remote-test-ssh)
                                       "direct-async-process" t)))
                      tramp-connection-properties)))
         (backstaff-remote-test-on backstaff-remote-test-ssh ,@body)))))

(defun backstaff-remote-test-list (far &optional timeout)
  "Return the text of the listing of FAR, within TIMEOUT seconds."
  (let ((backstaff-call-timeout (or timeout backstaff-call-timeout)))
    (plist-get (backstaff-call "agent-q/list_directory" '(:path ".")
                               (list :root far))
               :text)))

(defun backstaff-remote-test-server (far)
  "Return the server for FAR."
  (cdr (assoc (file-remote-p far) backstaff-server--servers)))

(defun backstaff-remote-test-start-text (far)
  "Return the message to people that the server for FAR was started."
  (plist-get (backstaff-server-start-info (backstaff-remote-test-server far)) :text))

(defun backstaff-remote-test-sources (far)
  "Return where the sources of the server for FAR came from."
  (let ((text (backstaff-remote-test-start-text far)))
    (should (string-match "\\`Python 3\\.[0-9]+, sources \\([a-z]+\\), started in [0-9.]+ s\\'"
                          text))
    (match-string 1 text)))

(defun backstaff-remote-test-pid (far)
  "Return the process id of the server for FAR, over there."
  (plist-get (backstaff-epc-call
              (backstaff-server-ensure (file-remote-p far))
              'hello '((:client "test")))
             :pid))

(defun backstaff-remote-test-starts ()
  "Return how often the log says that a server was being started elsewhere."
  (let ((start 0) (count 0) (log (backstaff-test--log)))
    (while (string-match "Emacs: starting on " log start)
      (setq start (match-end 0))
      (cl-incf count))
    count))

(defun backstaff-remote-test-ours ()
  "Return the processes, buffers and timers of a start that there are."
  (cl-remove-if (lambda (thing) (equal (format "%s" thing) "*backstaff log*"))
                (backstaff-test--remains)))

(defun backstaff-remote-test-shown (buffer)
  "Return BUFFER once it shows an answer."
  (with-current-buffer buffer
    (backstaff-test-wait-for (and backstaff-view--reply (not backstaff-view--call)))
    (should (plist-get backstaff-view--reply :ok))
    buffer))

(provide 'backstaff-remote-support)
;;; backstaff-remote-support.el ends here
