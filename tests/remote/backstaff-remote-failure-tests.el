;;; backstaff-remote-failure-tests.el --- Tests of lost connections and of quits  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-remote-support)


(defmacro backstaff-remote-tests-quit-in (function &rest body)
  "Run BODY with a quit typed when FUNCTION is called; check that it quits."
  (declare (indent 1) (debug t))
  `(let ((quitter (lambda (&rest _) (setq quit-flag t))))
     (advice-add ,function :before quitter)
     (should (equal (unwind-protect
                        (backstaff-test-condition ,@body)
                      (advice-remove ,function quitter))
                    '(quit)))))

(ert-deftest backstaff-remote-quit-ends-a-start-and-leaves-nothing ()
  (backstaff-remote-test-both-ways
    (backstaff-remote-test-list far)
    (backstaff-stop)
    (dolist (inhibit-quit '(nil t))
      (backstaff-remote-tests-quit-in 'backstaff-remote--await
        (backstaff-remote-test-list far))
      (should-not (backstaff-remote-test-ours))
      (should-not (backstaff-remote-test-server far)))
    (should (backstaff-remote-test-list far))))

(ert-deftest backstaff-remote-quit-ends-an-upload-and-leaves-nothing ()
  (backstaff-remote-test-both-ways
    (delete-directory (backstaff-remote-test-cache) t)
    (let* ((sent 0)
          (half (lambda (send process bytes)
                  (backstaff-remote-test-tell "stop")
                  (funcall send process (substring bytes 0 (/ (length bytes) 2)))
                  (setq sent (length bytes)
                        quit-flag t))))
      (advice-add 'process-send-string :around
                  (lambda (send process bytes)
                    (if (< (length bytes) 9000) (funcall send process bytes)
                      (funcall half send process bytes)))
                  '((name . half)))
      (should (equal (unwind-protect
                         (backstaff-test-condition (backstaff-remote-test-list far))
                       (advice-remove 'process-send-string 'half))
                     '(quit)))
      (should (> sent 100000)))
    (should-not (cl-remove-if-not #'backstaff-test--ours-p (process-list)))
    (backstaff-remote-test-tell "go")
    (should-not (directory-files (backstaff-remote-test-cache) nil "[0-9a-f]"))
    (should (backstaff-remote-test-list far))
    (should (equal (backstaff-remote-test-sources far) "sent"))))

(ert-deftest backstaff-remote-quit-ends-a-call-and-the-next-one-works ()
  (backstaff-remote-test-both-ways
    (let ((pid (backstaff-remote-test-pid far)))
      (backstaff-remote-test-tell "stop")
      (backstaff-remote-tests-quit-in 'accept-process-output
        (backstaff-remote-test-list far))
      (backstaff-remote-test-tell "go")
      (should (backstaff-remote-test-list far))
      (should (equal (backstaff-remote-test-pid far) pid)))))

(ert-deftest backstaff-remote-quit-in-a-sending-closes-the-connection ()
  (backstaff-remote-test-both-ways
    (let* ((pid (backstaff-remote-test-pid far))
           (connection (backstaff-remote-test-server far)))
      (advice-add 'process-send-string :around
                  (lambda (send process bytes)
                    (funcall send process (substring bytes 0 (/ (length bytes) 2)))
                    (signal 'quit nil))
                  '((name . half)))
      (should (equal (unwind-protect
                         (backstaff-test-condition
                           (backstaff-epc-call connection 'workspace/tree
                                               (list (list :path (make-string 60000 ?x)))))
                       (advice-remove 'process-send-string 'half))
                     '(quit)))
      (should-not (backstaff-epc-live-p connection))
      (should (backstaff-remote-test-list far))
      (should-not (equal (backstaff-remote-test-pid far) pid)))))

(ert-deftest backstaff-remote-server-that-died-is-started-by-the-next-call ()
  (backstaff-remote-test-both-ways
    (let ((pid (backstaff-remote-test-pid far)) (replies nil))
      (should (backstaff-remote-test-list far))
      (signal-process pid 'STOP)
      (backstaff-call-async "agent-q/list_directory" '(:path ".")
                            (lambda (reply) (push reply replies)) (list :root far))
      (signal-process pid 'KILL)
      (backstaff-test-wait-for replies)
      ;; A shell there may say that it was killed, which is no frame.
      (should (member (plist-get (plist-get (car replies) :error) :code)
                      '("CONNECTION_LOST" "PROTOCOL_ERROR")))
      (should (backstaff-remote-test-list far))
      (should-not (equal (backstaff-remote-test-pid far) pid)))))

(ert-deftest backstaff-remote-connection-that-is-cut-is-a-clear-error ()
  (backstaff-remote-test-both-ways
    (backstaff-remote-test-list far)
    (let ((replies nil))
      (backstaff-remote-test-tell "stop")
      (backstaff-call-async "agent-q/list_directory" '(:path ".")
                            (lambda (reply) (push reply replies)) (list :root far))
      (backstaff-remote-test-tell "cut")
      (backstaff-remote-test-tell "go")
      (backstaff-test-wait-for replies)
      (should (equal (plist-get (plist-get (car replies) :error) :code) "CONNECTION_LOST"))
      (should (string-match-p "the server on /ssh:host: " (plist-get (car replies) :text)))
      (backstaff-test-wait-for (not (backstaff-server-connected-p far)))
      (backstaff-test-should-fail 'backstaff-remote-directory "not connected"
        (backstaff-remote-test-list far))
      (backstaff-remote-test-connect (file-remote-p far))
      (should (backstaff-remote-test-list far)))))

(ert-deftest backstaff-remote-call-on-a-dead-network-ends-at-its-limit ()
  (backstaff-remote-test-both-ways
    (let ((pid (backstaff-remote-test-pid far)))
      (backstaff-remote-test-list far)
      (backstaff-remote-test-tell "stop")
      (backstaff-test-should-fail 'backstaff-timeout
          "/ssh:host: did not answer .* the network may be down, or that host asleep"
        (backstaff-remote-test-list far 0.5))
      (backstaff-remote-test-tell "go")
      (should (backstaff-remote-test-list far))
      (should (equal (backstaff-remote-test-pid far) pid)))))

(ert-deftest backstaff-remote-start-on-a-dead-network-ends-at-its-limit ()
  (backstaff-remote-test-both-ways
    (let ((backstaff-remote-start-limit 1))
      (backstaff-remote-test-tell "stop")
      (backstaff-test-should-fail 'backstaff-connection-lost
          "cannot start its server: on /ssh:host:, .*within 1 seconds"
        (backstaff-remote-test-list far))
      (should-not (cl-remove-if-not #'backstaff-test--ours-p (process-list)))
      (backstaff-remote-test-tell "go"))
    (backstaff-remote-test-connect (file-remote-p far))
    (should (backstaff-remote-test-list far))))

(ert-deftest backstaff-remote-search-for-the-root-ends-at-its-limit ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((backstaff-remote-start-limit 1))
      (backstaff-remote-test-tell "stop")
      (backstaff-test-should-fail 'backstaff-timeout "find the project's root on /ssh:host:"
        (backstaff-root (concat far "src/")))
      (backstaff-remote-test-tell "go"))
    (backstaff-remote-test-connect (file-remote-p far))
    (should (backstaff-root (concat far "src/")))))

(defun backstaff-remote-tests-child (far form)
  "Start an Emacs that has a server for FAR, and return its process.
It has printed the server's id, evaluates FORM, and waits."
  (let* ((output "")
         (child
          (make-process
           :name "backstaff-child" :connection-type 'pipe :noquery t
           :filter (lambda (process text)
                     (setq output (concat output text))
                     (process-put process 'output output))
           :command
           (list (expand-file-name invocation-name invocation-directory)
                 "-Q" "--batch" "-L" (expand-file-name "elisp" backstaff-test-repository)
                 "-L" (expand-file-name "tests/el" backstaff-test-repository)
                 "-L" (expand-file-name "tests/remote" backstaff-test-repository)
                 "-l" "backstaff-remote-support"
                 "--eval"
                 (format "%S"
                         `(progn
                            (setq backstaff-server-command ',(backstaff-test-command)
                                  tramp-connection-properties ',tramp-connection-properties)
                            (backstaff-remote-test-connect ,(file-remote-p far))
                            (message "pid %d" (backstaff-remote-test-pid ,far))
                            ,form
                            (while t (accept-process-output nil 1))))))))
    (backstaff-test-wait-for (or (string-match "pid \\([0-9]+\\)\n" output)
                                 (not (process-live-p child))))
    (should-not (string-match-p "rror" output))
    (process-put child 'server (string-to-number (match-string 1 output)))
    child))

(ert-deftest backstaff-remote-server-ends-when-emacs-is-killed ()
  (backstaff-remote-test-both-ways
    (let* ((child (backstaff-remote-tests-child far nil))
           (pid (process-get child 'server)))
      (should (process-attributes pid))
      (signal-process child 'KILL)
      (backstaff-test-wait-for (backstaff-test-gone-p pid)))))

(ert-deftest backstaff-remote-emacs-ends-though-its-host-is-dead ()
  "Emacs runs its hooks before it ends.
It ends by itself here, and not by a signal: Emacs runs the hooks in the
signal's handler, and waits for ever if the signal comes while it allocates
memory."
  (backstaff-remote-test-both-ways
    (let* ((end (concat root "end"))
           (child (backstaff-remote-tests-child
                   far `(progn
                          (run-at-time 0.5 0.5 (lambda ()
                                                 (backstaff-call-async
                                                  "agent-q/list_directory" '(:path ".")
                                                  #'ignore (list :root ,far))))
                          (message "calling")
                          (while (not (file-exists-p ,end))
                            (accept-process-output nil 0.1))
                          (kill-emacs)))))
      (backstaff-test-wait-for (string-search "calling" (process-get child 'output)))
      (backstaff-remote-test-tell "stop")
      (write-region "" nil end nil 'silent)
      (backstaff-test-wait-for (not (process-live-p child)))
      (backstaff-remote-test-tell "go"))))

;;; backstaff-remote-failure-tests.el ends here
