;;; backstaff-remote-start-tests.el --- Tests of how a server starts elsewhere  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-remote-support)
(require 'backstaff-ui-tree)


;;; Start

(ert-deftest backstaff-remote-nothing-starts-where-emacs-is-not-connected ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-remote-test--reset)
    (let ((default-directory far))
      (backstaff-test-should-fail 'backstaff-remote-directory "visit a file there"
        (backstaff-call "agent-q/list_directory" '(:path ".")))
      (backstaff-test-should-fail 'backstaff-remote-directory "not connected"
        (backstaff-call "agent-q/list_directory" '(:path ".") (list :root far)))
      (should (string-match-p "Error: .*not connected"
                              (backstaff-call-text "agent-q/list_directory" '(:path ".")))))
    (should-not (backstaff-server-connected-p far))
    (should-not (delq nil (mapcar #'car backstaff-server--servers)))))

(ert-deftest backstaff-remote-command-asks-before-it-connects ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-remote-test--reset)
    (let ((default-directory far) (noninteractive nil) (questions nil) (answer nil))
      (cl-letf (((symbol-function 'y-or-n-p)
                 (lambda (prompt) (push prompt questions) answer)))
        ;; The command loop shows a `user-error' as it is, others with quotes.
        (should (string-match-p
                 "\\`[^\"]*/ is on another machine, and Emacs is not connected to it[^\"]*\\'"
                 (error-message-string
                  (should-error (backstaff-command-root) :type 'user-error))))
        (should (equal questions '("Connect to /ssh:host:? ")))
        (should-not (backstaff-server-connected-p far))
        (setq answer t)
        (should (equal (backstaff-command-root) far))
        (should (backstaff-server-connected-p far))))))


(ert-deftest backstaff-remote-sources-are-sent-once ()
  (backstaff-remote-test-both-ways
    (delete-directory (backstaff-remote-test-cache) t)
    (backstaff-remote-test-list far)
    (should (equal (backstaff-remote-test-sources far) "sent"))
    (should (= (file-modes (backstaff-remote-test-cache)) #o700))
    (backstaff-stop)
    (backstaff-remote-test-list far)
    (should (equal (backstaff-remote-test-sources far) "cached"))))

(ert-deftest backstaff-remote-cache-of-others-is-not-used ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-remote-test-list far)
    (backstaff-stop)
    (set-file-modes (backstaff-remote-test-cache) #o770)
    (unwind-protect
        (progn (should (backstaff-remote-test-list far))
               (should (equal (backstaff-remote-test-sources far)
                              "uncached")))
      (set-file-modes (backstaff-remote-test-cache) #o700))))

(defconst backstaff-remote-tests-noise
  "printf '\\000\\377\\r\\nWelcome to \\033[1mhost\\033[0m\\n'
echo '00000a(return 1 t)'
echo 'BS-READY:0123456789abcdef0n:cached 3.11'
echo 'a warning' >&2
"
  "What a noisy login prints.")

(ert-deftest backstaff-remote-noise-of-a-login-does-no-harm ()
  (backstaff-remote-test-both-ways
    (backstaff-remote-test-write "noise" backstaff-remote-tests-noise)
    (should (string-match-p "a.txt" (backstaff-remote-test-list far)))))

(ert-deftest backstaff-remote-endless-noise-ends-the-start ()
  (backstaff-remote-test-both-ways
    (backstaff-remote-test-write "noise" "while echo 0123456789abcdef; do :; done\n")
    ;; TRAMP waits as long as it may; else too much noise is the end.
    (let* ((backstaff-remote-start-limit (if (eq way 'direct) 60 2))
           (problem (backstaff-test-condition (backstaff-remote-test-list far))))
      (should (string-match-p (if (eq way 'direct) "status 9 before it was ready; the host said: .*abcdef"
                                "TRAMP could not start a process within 2 seconds")
                              (backstaff-epc-error-text problem))))
    (should-not (backstaff-remote-test-ours))))

(ert-deftest backstaff-remote-login-shells-do ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((tried nil))
      (dolist (name '("bash" "dash" "ksh" "mksh" "tcsh" "zsh" "fish"))
        (when-let ((program (executable-find name)))
          (push name tried)
          (backstaff-stop)
          (backstaff-remote-test-write "shell" (format "#!/bin/sh\nexec %s \"$@\"\n" program))
          (ert-info (name)
            (should (string-match-p "a.txt" (backstaff-remote-test-list far))))))
      (should tried))))

(ert-deftest backstaff-remote-host-without-python-is-a-clear-error ()
  (backstaff-remote-test-both-ways
    (let* ((backstaff-remote-python "python-that-is-not-there")
           (text (backstaff-call-text "agent-q/list_directory" '(:path ".") (list :root far))))
      (should (string-match-p
               "\\`Error: Backstaff cannot start its server: on /ssh:host:, python-that-is-not-there is no Python 3\\.11 or newer; the host said: .*\\(not found\\|[Nn]o such file\\)"
               text))
      (should (string-match-p "Install one on that host" text))
      (should (= (backstaff-remote-test-starts) 1)))))

(ert-deftest backstaff-remote-python-may-be-a-hosts-own ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((backstaff-remote-python "python-that-is-not-there")
          (profiles (default-toplevel-value 'connection-local-profile-alist))
          (criteria (default-toplevel-value 'connection-local-criteria-alist)))
      (connection-local-set-profile-variables
       'backstaff-remote-test `((backstaff-remote-python . ,(backstaff-test-python))))
      (connection-local-set-profiles '(:application tramp :machine "host") 'backstaff-remote-test)
      ;; Since Emacs 29 they set the value outside of a `let'.
      (unwind-protect (should (string-match-p "a.txt" (backstaff-remote-test-list far)))
        (set-default-toplevel-value 'connection-local-profile-alist profiles)
        (set-default-toplevel-value 'connection-local-criteria-alist criteria)))))

(defun backstaff-remote-tests-wrap (name before)
  "Return a Python called NAME on the host whose programs start with BEFORE."
  (backstaff-remote-test-write
   name
   (format "#!/bin/sh\nshift 5\nprogram=$1\nshift\nexec %s -I -S -X utf8 -c \"%s$program\" \"$@\"\n"
           (backstaff-test-python) before))
  (backstaff-remote-test-file name))

(ert-deftest backstaff-remote-python-that-is-too-old-fails-at-once ()
  (backstaff-remote-test-both-ways
    (let ((backstaff-remote-python
           (backstaff-remote-tests-wrap "old-python"
                                        "import sys;sys.version_info=(3,9,2);")))
      (backstaff-test-should-fail 'backstaff-start-error
          "on /ssh:host:, [^:]*old-python is no Python 3\\.11 or newer; the host said: it is Python 3\\.9"
        (backstaff-remote-test-list far))
      (should (= (backstaff-remote-test-starts) 1)))))

(ert-deftest backstaff-remote-python-of-another-bytecode-gets-sources ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((backstaff-remote-python
           (backstaff-remote-tests-wrap
            "other-python" "import importlib.util as u;u.MAGIC_NUMBER=b'zzzz';")))
      (should (string-match-p "a.txt" (backstaff-remote-test-list far))))))

(ert-deftest backstaff-remote-secrets-of-a-buffer-stay-here ()
  (backstaff-remote-test-both-ways
    (let ((seen (backstaff-remote-test-file "environment")))
      (backstaff-remote-test-write
       "spy-python" (format "#!/bin/sh\nenv >%s\nexec %s \"$@\"\n" seen
                                (backstaff-test-python)))
      (let ((backstaff-remote-python (backstaff-remote-test-file "spy-python"))
            (process-environment (cons "SECRET_TOKEN=hush" process-environment)))
        (should (backstaff-remote-test-list far)))
      (with-temp-buffer
        (insert-file-contents seen)
        (should (search-forward "INSIDE_EMACS" nil t))
        (goto-char (point-min))
        (should-not (search-forward "SECRET_TOKEN" nil t))))))

(ert-deftest backstaff-remote-start-from-a-timer-lets-tramp-go-on ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((text nil))
      (backstaff-remote-test-tell "delay 0.005")
      (run-at-time 0 nil (lambda () (setq text (backstaff-remote-test-list far))))
      (should (equal (length (directory-files-recursively far "")) 4))
      (backstaff-test-wait-for text)
      (should (string-match-p "a.txt" text)))))


;;; While it starts

(defmacro backstaff-remote-tests-when-asked (action &rest body)
  "Run BODY, where ACTION is done each time that a start waits for the host."
  (declare (indent 1) (debug t))
  `(let ((acting (lambda (&rest _) ,action)))
     (advice-add 'backstaff-remote--await :before acting)
     (unwind-protect (progn ,@body)
       (advice-remove 'backstaff-remote--await acting))))

(ert-deftest backstaff-remote-all-calls-use-the-server-that-one-has-started ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (should-not (backstaff-test-code (backstaff-test-call-later "agent-q/list_directory" '(:path ".") (list :root far))))
    (should (backstaff-remote-test-list far))
    (should-not (backstaff-test-code (backstaff-test-call-later "agent-q/list_directory" '(:path ".") (list :root far))))
    (should (= (backstaff-remote-test-starts) 1))))

(ert-deftest backstaff-remote-failure-of-a-start-is-a-reply ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let* ((backstaff-remote-python "python-that-is-not-there")
           (reply (backstaff-test-call-later "agent-q/list_directory" '(:path ".") (list :root far))))
      (should (equal (backstaff-test-code reply) "CONNECTION_LOST"))
      (should (string-match-p "is no Python 3\\.11 or newer" (plist-get reply :text))))
    (should-not (backstaff-remote-test-ours))
    (should-not (backstaff-remote-test-server far))))

(ert-deftest backstaff-remote-bundle-that-cannot-be-made-is-a-clear-error ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((backstaff-server--known (make-hash-table :test #'equal))
          (backstaff-server-command (list "sh" "-c" "echo nothing to send >&2; exit 3")))
      (backstaff-test-should-fail 'backstaff-start-error
          "The command bundle failed on this machine: nothing to send"
        (backstaff-remote-test-list far))
      (should (= (backstaff-remote-test-starts) 0))
      (should-not (backstaff-remote-test-ours)))))

(ert-deftest backstaff-remote-program-without-a-bundle-is-a-clear-error ()
  (backstaff-remote-test-on "/fake::"
    (let ((backstaff-server--known (make-hash-table :test #'equal))
          (backstaff-server-command (list "sh" "-c" "echo something else")))
      (backstaff-test-should-fail 'backstaff-start-error "The command bundle failed on this machine: something else"
        (backstaff-remote-test-list far)))))

(ert-deftest backstaff-remote-missing-environment-of-this-machine-is-a-clear-error ()
  (backstaff-remote-test-on "/fake::"
    (let ((backstaff-server--known (make-hash-table :test #'equal)) (backstaff-server-command nil)
          (backstaff-server-package-directory nil) (path exec-path))
      (unwind-protect
          (progn (setq-default exec-path nil)
                 (backstaff-test-should-fail 'backstaff-start-error
                     "there is no program backstaff"
                   (backstaff-remote-test-list far)))
        (setq-default exec-path path)))))

(ert-deftest backstaff-remote-throw-ends-the-start-and-leaves-nothing ()
  (backstaff-remote-test-on "/fake::"
    (should (eq 'left (catch 'backstaff-test-left
                        (backstaff-remote-tests-when-asked (throw 'backstaff-test-left 'left)
                          (backstaff-remote-test-list far)))))
    (should-not (backstaff-remote-test-ours))
    (should-not (backstaff-remote-test-server far))
    (should (string-match-p "a.txt" (backstaff-remote-test-list far)))))

(ert-deftest backstaff-remote-host-that-ends-when-ready-is-a-clear-error ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((backstaff-server-settings-file (concat root "policy.toml"))
          (backstaff-remote-python
           (backstaff-remote-tests-wrap "short-lived-python"
                                        "import os,sys;os.write(1,('BS-READY:%s:sent 3.11\\n' % sys.argv[1][::-1]).encode());sys.exit('no room left');")))
      (write-region "" nil backstaff-server-settings-file nil 'silent)
      ;; Its last words come before its end, and if Emacs reads them first, they are no answer.
      (backstaff-test-should-fail 'backstaff-error "no room left"
        (backstaff-remote-test-list far)))))

(ert-deftest backstaff-remote-host-that-is-ready-and-says-nonsense-is-a-clear-error ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((backstaff-remote-python
           (backstaff-remote-tests-wrap "odd-python"
                                        "import os,sys,time;os.write(1,('BS-READY:%s:sent 3.11\\nHello!' % sys.argv[1][::-1]).encode());time.sleep(60);")))
      (backstaff-test-should-fail 'backstaff-protocol-error "got \"Hello!"
        (backstaff-remote-test-list far)))))

(ert-deftest backstaff-remote-host-that-closes-its-output-ends-at-the-limit ()
  (backstaff-remote-test-both-ways
    (let ((backstaff-remote-start-limit 1) (problem nil))
      (backstaff-remote-test-write "closed-python" "#!/bin/sh\nexec >&- 2>&-\nexec sleep 60\n")
      (let ((backstaff-remote-python (backstaff-remote-test-file "closed-python")))
        ;; Without the limit of 1 s, the end of the program would be awaited for 60 s.
        (should (< (backstaff-test-seconds
                     (setq problem (backstaff-test-condition (backstaff-remote-test-list far))))
                   30)))
      (should (eq (car problem) 'backstaff-start-error)))
    (should-not (backstaff-remote-test-ours))))

(defun backstaff-remote-tests-view (far action)
  "Return the text of a tree of FAR, asked for while ACTION advises the start."
  (with-current-buffer (let ((inhibit-message t))
                         (backstaff-remote-tests-when-asked (funcall action)
                           (backstaff-tree far)))
    (backstaff-test-wait-for (string-match-p "Cancelled" (buffer-string)))
    (should-not backstaff-view--call)
    (should-not (backstaff-remote-test-server far))
    (revert-buffer)
    (backstaff-remote-test-shown (current-buffer))))

(ert-deftest backstaff-remote-quit-of-a-start-cancels-the-view ()
  (backstaff-remote-test-both-ways
    (backstaff-remote-tests-view far (lambda () (setq quit-flag t)))))

(ert-deftest backstaff-remote-quit-while-tramp-logs-in-ends-the-start ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-remote-test-list far)
    (backstaff-stop)
    (let ((quitter (lambda (&rest _) (setq quit-flag t))))
      (advice-add 'tramp-accept-process-output :before quitter)
      (should (eq (car (unwind-protect
                           (backstaff-test-condition (backstaff-remote-test-list far))
                         (advice-remove 'tramp-accept-process-output quitter)))
                  'quit)))
    (should-not (backstaff-remote-test-ours))
    (should-not (backstaff-remote-test-server far))
    ;; In Emacs 30 TRAMP gives up its connection, too.
    (backstaff-remote-test-connect (file-remote-p far))
    (should (backstaff-remote-test-list far))))

(provide 'backstaff-remote-start-tests)
;;; backstaff-remote-start-tests.el ends here
