;;; backstaff-server-tests.el --- Tests of backstaff-server.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-server)

(defun backstaff-server-tests-pid ()
  "Return the process id of the server that answers."
  (plist-get (plist-get (backstaff-test-call-server 'reply nil :timeout 10) :data) :pid))

(defun backstaff-server-tests-process ()
  "Return the process of the server."
  (backstaff-epc--process (cdr (assoc nil backstaff-server--servers))))

(defmacro backstaff-server-tests-with-path (tree &rest body)
  "Run BODY with TREE planted in a directory, its files programs on the path."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree ,tree
     (dolist (file (directory-files-recursively root ""))
       (set-file-modes file #o755))
     (let ((exec-path (list root))
           (backstaff-server-command nil))
       ,@body)))

(defun backstaff-server-tests-shim ()
  "Return the text of a program that hands over to the Python of the tests."
  (format "#!/bin/sh\nexec '%s' \"$@\"\n" (backstaff-test-python)))


;;; Finding the program

(ert-deftest backstaff-server-command-is-taken-with-its-absolute-name ()
  (backstaff-test-with-tree '(("python" . "#!/bin/sh\n"))
    (set-file-modes "python" #o755)
    (let ((process-environment (cons (concat "HOME=" root) process-environment))
          (backstaff-server-command '("~/python" "-m" "backstaff")))
      (should (equal (backstaff-server-program)
                     (list (expand-file-name "python" root) "-m" "backstaff"))))))

(ert-deftest backstaff-server-sources-are-found-beside-the-library ()
  (backstaff-test-with-tree '(("pkg" ("elisp" ("backstaff-server.el" . ""))
                               ("py_backend" ("backstaff.sh" . "")))
                              ("flat" ("backstaff-server.el" . "")
                               ("py_backend" ("backstaff.sh" . "")))
                              ("links" ("readme" . "")))
    (make-symbolic-link (expand-file-name "pkg/elisp/backstaff-server.el")
                        (expand-file-name "links/backstaff-server.el"))
    (pcase-dolist (`(,loaded . ,sources) '(("pkg/elisp/" . "pkg/py_backend/")
                                           ("flat/" . "flat/py_backend/")
                                           ("links/" . "pkg/py_backend/")
                                           ("." . nil)))
      (let ((backstaff-server-package-directory (expand-file-name loaded))
            (backstaff-server-command nil))
        (should (equal (backstaff-server-sources)
                       (and sources (expand-file-name sources))))
        (when sources
          (should (equal (backstaff-server-program)
                         (list "/bin/sh" (expand-file-name "backstaff.sh"
                                                           (expand-file-name sources))))))))))

(ert-deftest backstaff-server-settings-are-where-the-server-looks-for-them ()
  (pcase-dolist (`(,folder . ,file) '(("/x" . "/x/backstaff/config.toml")
                                      ("" . "~/.config/backstaff/config.toml")
                                      ("relative" . "~/.config/backstaff/config.toml")))
    (let ((backstaff-server-settings-file nil)
          (process-environment (cons (concat "XDG_CONFIG_HOME=" folder) process-environment)))
      (should (equal (backstaff-server-settings-file-name) (expand-file-name file))))))

(defmacro backstaff-server-tests-with-pythons (tree &rest body)
  "Run BODY where the server is started by a Python of TREE, on the path.
The sources are a copy without an environment beside them, and the home is root."
  (declare (indent 1) (debug t))
  `(let ((path exec-path) (home (getenv "HOME")))
     (backstaff-server-tests-with-path ,tree
       (let ((backstaff-server-package-directory (expand-file-name "elisp/")))
         (make-directory "py_backend")
         (dolist (file (directory-files (expand-file-name "py_backend" backstaff-test-repository)
                                        t "\\`[^.]"))
           (if (string-suffix-p ".sh" file) (copy-file file "py_backend/")
             (make-symbolic-link file "py_backend/")))
         (setq-default exec-path (append (list root) (remove "/usr/local/bin" path)))
         (setenv "HOME" root)
         (unwind-protect (backstaff-test-with-server nil ,@body)
           (setenv "HOME" home)
           (setq-default exec-path path))))))

(defconst backstaff-server-tests-others
  (cl-loop for name in '("python3.14" "python3.13" "python3.12" "python3.11")
           collect (cons name "#!/bin/sh\necho nonsense\n"))
  "Programs that hide the Pythons of this machine.")

(defun backstaff-server-tests-list ()
  "Return the reply to a call that the program found answers."
  (backstaff-call "agent-q/list_directory" '(:path ".") (list :root default-directory)))

(ert-deftest backstaff-server-own-environment-comes-first ()
  (backstaff-server-tests-with-pythons `(("python3" . "#!/bin/sh\nexec /bin/sleep 600\n")
                                         (".venv" ("bin" ("python" . ,(backstaff-server-tests-shim)))))
    (should (plist-get (backstaff-server-tests-list) :ok))
    (should-not (string-match-p "python3 says" (backstaff-test--log)))))

(ert-deftest backstaff-server-program-that-is-no-python-is-passed-over ()
  (backstaff-server-tests-with-pythons
      `(("python3" . "#!/bin/sh\nexit 127\n")
        ("python3.14" . "#!/bin/sh\nprintf '3.9.18\\n/bin/sh\\n'\n")
        ;; This one never ends.
        ("python3.13" . "#!/bin/sh\nexec /usr/bin/env yes nonsense\n")
        ("python3.12" . ,(backstaff-server-tests-shim)))
    (should (plist-get (backstaff-server-tests-list) :ok))
    ;; The program's own lines come on another pipe than the answer.
    (backstaff-test-wait-for (string-match-p "/python3.13 does not" (backstaff-test--log)))
    (let ((log (backstaff-test--log)))
      (should (string-match-p "/python3 does not answer as Python does$" log))
      (should (string-match-p "/python3.14 is 3\\.9\\.18 and too old: 3\\.11 or newer is needed$" log))
      (should (string-match-p "/python3.13 does not answer as Python does$" log)))))

(ert-deftest backstaff-server-python-off-the-path-is-found-where-installers-put-it ()
  (dolist (folder '(".local/bin" ".pyenv/shims"))
    (backstaff-server-tests-with-pythons `(("python3" . "#!/bin/sh\nexit 1\n")
                                           ,@backstaff-server-tests-others)
      (make-directory folder t)
      (write-region (backstaff-server-tests-shim) nil (concat folder "/python3") nil 'silent)
      (set-file-modes (concat folder "/python3") #o755)
      (should (plist-get (backstaff-server-tests-list) :ok)))))

(ert-deftest backstaff-server-start-does-not-wait-for-a-python-that-hangs ()
  (backstaff-server-tests-with-pythons
      `(("python3" . "#!/bin/sh\nexec /bin/sleep 600\n")
        ("python3.14" . ,(backstaff-server-tests-shim)))
    (let ((begun (float-time)) (reply nil))
      (backstaff-call-async "agent-q/list_directory" '(:path ".") (lambda (it) (setq reply it))
                            (list :root root))
      (should (< (- (float-time) begun) 3))
      (backstaff-test-wait-for reply)
      (should (plist-get reply :ok))
      (should (>= (- (float-time) begun) 3))
      (should (string-match-p "/python3 says nothing for 3 seconds$" (backstaff-test--log))))))

(ert-deftest backstaff-server-without-a-python-says-what-was-tried-and-what-to-do ()
  (backstaff-server-tests-with-pythons `(("python3" . "#!/bin/sh\nprintf '3.9.18\\n/bin/sh\\n'\n")
                                         ,@backstaff-server-tests-others)
    (let ((text (backstaff-call-text "agent-q/list_directory" '(:path ".") (list :root root))))
      (should (string-match-p "python3 is 3\\.9\\.18 and too old" text))
      (should (string-match-p "there is no Python 3\\.11 or newer: install one, for example" text)))))

(ert-deftest backstaff-server-installed-program-comes-last ()
  (backstaff-server-tests-with-path '(("backstaff" . "#!/bin/sh\n"))
    (let ((backstaff-server-package-directory nil))
      (should (equal (backstaff-server-program)
                     (list (expand-file-name "backstaff")))))))

(ert-deftest backstaff-server-that-is-nowhere-is-a-clear-error ()
  (backstaff-server-tests-with-path nil
    (let ((backstaff-server-package-directory nil))
      (backstaff-test-should-fail 'backstaff-connection-lost
          "there is no program backstaff"
        (backstaff-server-program)))))


;;; Starting

(ert-deftest backstaff-server-starts-and-answers ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (should (integerp (backstaff-server-tests-pid)))
    (should (equal (backstaff-server-tests-pid) (backstaff-server-tests-pid)))))

(ert-deftest backstaff-server-start-does-not-wait ()
  (backstaff-test-with-server (backstaff-test-fake-command "silent")
    (let ((ends nil))
      (backstaff-server-call-async 'reply nil :error-fn (lambda (problem) (push problem ends)))
      ;; A start that waited would have failed at its limit.
      (should-not ends))))

(defun backstaff-server-tests-fails (command symbol regexp)
  "Check that COMMAND ends in SYMBOL and a text like REGEXP."
  (backstaff-test-with-server command
    (let ((ends nil))
      ;; This call may fail at once or later, so its error is ignored; the next call counts.
      (ignore-errors
        (backstaff-server-call-async 'reply nil
                                     :error-fn (lambda (problem) (push problem ends))))
      (backstaff-test-should-fail symbol regexp
        (backstaff-test-call-server 'reply nil :timeout 60))
      (dolist (problem ends)
        (should (string-match-p regexp (backstaff-epc-error-text problem)))))))

(ert-deftest backstaff-server-missing-program-is-a-clear-error ()
  :tags '(check-40)
  (backstaff-server-tests-fails '("/nowhere/python") 'backstaff-connection-lost
                                "cannot start its server: there is no program /nowhere/python"))

(ert-deftest backstaff-server-start-that-fails-or-is-quit-leaves-nothing ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (dolist (condition '((file-error "Doing vfork") (quit)))
      (cl-letf (((symbol-function 'make-process)
                 (lambda (&rest _) (signal (car condition) (cdr condition)))))
        (backstaff-test-condition (backstaff-server-ensure)))
      (should-not (get-process "backstaff-stderr"))
      (should-not (get-buffer "backstaff-stderr")))))

(ert-deftest backstaff-server-missing-module-is-a-clear-error ()
  :tags '(check-40)
  (backstaff-server-tests-fails (backstaff-test-fake-command "fail")
                                'backstaff-connection-lost
                                "status 1:\nModuleNotFoundError: No module"))

(ert-deftest backstaff-server-silent-exit-is-a-clear-error ()
  :tags '(check-40)
  (backstaff-server-tests-fails (backstaff-test-fake-command "exit")
                                'backstaff-connection-lost "exited with status 0"))

(ert-deftest backstaff-server-noise-is-a-clear-error ()
  :tags '(check-40)
  (backstaff-server-tests-fails (backstaff-test-fake-command "noisy")
                                'backstaff-protocol-error "got \"Welcome!"))

(ert-deftest backstaff-server-other-protocol-is-a-clear-error ()
  (backstaff-server-tests-fails
   (backstaff-test-fake-command "other-protocol") 'backstaff-connection-lost
   "0\\.1\\.0 (protocol 1), the server is 0\\.1\\.0 (protocol 2)"))

(ert-deftest backstaff-server-of-another-protocol-error-says-what-to-do ()
  (let ((backstaff-server--protocol 99))
    (backstaff-test-with-server (backstaff-test-command)
      (should (string-match-p "protocol 99.*protocol 1).*\n.*M-x list-packages.*\n?.*pipx upgrade"
                              (backstaff-call-text "agent-q/list_directory" '(:path ".")))))))

(ert-deftest backstaff-server-foreign-server-is-a-clear-error ()
  (backstaff-server-tests-fails (backstaff-test-fake-command "foreign")
                                'backstaff-connection-lost "did not shake hands"))

(ert-deftest backstaff-server-never-ready-ends-at-the-deadline ()
  :tags '(check-40)
  (backstaff-test-with-server (backstaff-test-fake-command "silent")
    (backstaff-test-should-fail 'backstaff-timeout "reply within 0.5 seconds"
      (backstaff-test-call-server 'reply nil :timeout 0.5))))

(ert-deftest backstaff-server-sees-none-of-a-buffers-environment ()
  (let ((process-environment (append '("PYTHONPATH=/elsewhere" "BACKSTAFF_TEST_GLOBAL=1")
                                     process-environment)))
    (with-temp-buffer
      (setq-local process-environment (cons "BACKSTAFF_TEST_LOCAL=1" process-environment))
      (setq-local exec-path nil)
      (setq default-directory temporary-file-directory)
      (backstaff-test-with-server (backstaff-test-fake-command)
        (should (equal (backstaff-test-call-server 'environment nil)
                       (list (directory-file-name (backstaff-server-sources))
                             "BACKSTAFF_TEST_GLOBAL")))))))

(ert-deftest backstaff-server-imports-nothing-from-a-project ()
  :tags '(check-44)
  (let ((trap "open('imported', 'w').close()\nraise SystemExit('trapped')\n"))
    (backstaff-test-with-tree (mapcar (lambda (name) (cons name trap))
                                      '("sexpdata.py" "json.py" "backstaff.py"
                                        "sitecustomize.py" "pathspec.py"))
      (let ((process-environment (cons "PYTHONPATH=." process-environment)))
        (backstaff-test-with-server (backstaff-test-command)
          (should (plist-get (backstaff-call 'agent-q/list_directory '(:path ".")) :ok))
          (should-not (file-exists-p "imported")))))))


;;; Dying

(ert-deftest backstaff-server-that-died-is-started-by-the-next-call ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((pid (backstaff-server-tests-pid)))
      (backstaff-test-should-fail 'backstaff-connection-lost "last words"
        (backstaff-test-call-server 'die nil))
      (should-not (equal (backstaff-server-tests-pid) pid)))))

(ert-deftest backstaff-server-that-dies-again-and-again-says-each-time-why ()
  (backstaff-test-with-server (backstaff-test-fake-command "dying")
    (dotimes (_ 3)
      (backstaff-test-should-fail 'backstaff-connection-lost "exited with status 7:"
        (backstaff-test-call-server 'walk nil)))))

(ert-deftest backstaff-server-that-is-stuck-is-replaced ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((pid (backstaff-server-tests-pid)))
      (backstaff-test-call-server 'deaf nil)
      (dotimes (_ 2)
        (backstaff-test-should-fail 'backstaff-timeout "within"
          (backstaff-test-call-server 'reply nil :timeout 0.2)))
      (should-not (equal (backstaff-server-tests-pid) pid)))))

;; The server says so itself when four of its workers hang (safety E10).
(ert-deftest backstaff-server-that-says-it-is-stuck-is-replaced ()
  :tags '(check-E10)
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((pid (backstaff-server-tests-pid)) (next nil))
      (should-not (plist-get (backstaff-test-call-server 'stuck nil) :ok))
      (should-not (equal (setq next (backstaff-server-tests-pid)) pid))
      (let ((told nil))
        (backstaff-server-call-async 'stuck nil :success-fn (lambda (reply) (setq told reply)))
        (backstaff-test-wait-for told))
      (should-not (member (backstaff-server-tests-pid) (list pid next)))
      ;; An answer that is not a reply does not say so.
      (setq next (backstaff-server-tests-pid))
      (dolist (odd '(t "text" (:error "text") (:error (:server-stuck)) (:error)))
        (backstaff-test-call-server 'echo odd))
      (should (equal (backstaff-server-tests-pid) next)))))

(ert-deftest backstaff-server-that-is-stopped-is-replaced ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((pid (backstaff-server-tests-pid)))
      (signal-process (backstaff-server-tests-process) 'STOP)
      (backstaff-test-wait-for
       (eq (process-status (backstaff-server-tests-process)) 'stop))
      (backstaff-test-condition (backstaff-test-call-server 'reply nil :timeout 0.2))
      (should-not (equal (backstaff-server-tests-pid) pid)))))

(ert-deftest backstaff-server-may-be-called-by-the-callback-of-its-death ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((pid (backstaff-server-tests-pid)) (next nil))
      (backstaff-server-call-async
       'die nil :error-fn (lambda (_) (setq next (backstaff-server-tests-pid))))
      (backstaff-test-wait-for next)
      (should-not (equal next pid)))))

(ert-deftest backstaff-stop-fails-waiting-calls-and-ends-the-process ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((ends nil) (pid (backstaff-server-tests-pid)))
      (backstaff-server-call-async 'stall nil
                                   :error-fn (lambda (problem) (push problem ends)))
      (backstaff-stop)
      (should (equal (mapcar #'car ends) '(backstaff-connection-lost)))
      (should (string-match-p "was stopped" (cadar ends)))
      (backstaff-test-wait-for (backstaff-test-gone-p pid))
      (should (backstaff-server-tests-pid)))))

(ert-deftest backstaff-server-cancel-ends-a-call ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let* ((ends nil)
           (cancel (backstaff-server-call-async
                    'stall nil :error-fn (lambda (problem) (push (car problem) ends)))))
      (should (funcall cancel))
      (should-not (funcall cancel))
      (should (equal ends '(backstaff-cancelled))))))


;;; Log

(ert-deftest backstaff-server-log-keeps-its-end ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (backstaff-test-call-server 'chatter nil)
    (backstaff-test-condition (backstaff-test-call-server 'die nil))
    (let ((log (backstaff-test--log)))
      (should (< (length log) (* 340 1024)))
      (should (string-match-p "last words\n.*exited with status 7" log))
      (should (string-prefix-p "0123456789abcde\n" log)))))

(ert-deftest backstaff-server-log-may-be-killed ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (should (backstaff-server-tests-pid))
    (kill-buffer backstaff-server--log-buffer)
    (backstaff-test-call-server 'chatter nil)
    (should (string-match-p "0123456789abcde" (backstaff-test--log)))))

(ert-deftest backstaff-server-log-is-followed-in-a-window-that-is-not-selected ()
  (backstaff-test-clean
    (save-window-excursion
      (backstaff-server-note "first")
      (delete-other-windows)
      (let ((window (display-buffer backstaff-server--log-buffer)))
        (set-window-point window (with-current-buffer backstaff-server--log-buffer (point-max)))
        (with-current-buffer backstaff-server--log-buffer (goto-char (point-min)))
        (backstaff-server-note "second")
        (should (= (window-point window)
                   (with-current-buffer backstaff-server--log-buffer (point-max))))
        ;; Who reads elsewhere goes on reading there.
        (set-window-point window 1)
        (backstaff-server-note "third")
        (should (= (window-point window) 1))))))

(ert-deftest backstaff-restart-says-whether-the-server-started ()
  (pcase-dolist (`(,command ,regexp)
                 `((,(backstaff-test-command) "\\`The server is started anew\\'")
                   (("sh" "-c" "echo no luck >&2; exit 3")
                    "\\`Backstaff c\\(.\\|\n\\)*no luck")
                   (("/nonexistent")
                    "\\`Backstaff cannot start its server: there is no program /nonexistent\\.\nCustomize")))
    (backstaff-test-with-server command
      (cl-letf (((symbol-function 'called-interactively-p) #'always)
                (message-log-max nil))
        (should (string-match-p regexp (condition-case problem
                                           (let ((inhibit-message t))
                                             (call-interactively #'backstaff-restart))
                                         (user-error (error-message-string problem)))))))))

(ert-deftest backstaff-show-log-shows-the-log ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (save-window-excursion
      (backstaff-show-log)
      (should (equal (buffer-name (window-buffer)) backstaff-server--log-buffer)))
    (should (backstaff-server-tests-pid))
    (with-current-buffer backstaff-server--log-buffer
      (should (derived-mode-p 'special-mode))
      (should buffer-read-only)
      (should (string-match-p "connected: (:protocol 1" (buffer-string))))))

(ert-deftest backstaff-server-tools-are-asked-once-in-a-servers-life ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((tools (backstaff-tools)))
      (should (eq (backstaff-tools) tools))
      (backstaff-restart)
      (should-not (equal (backstaff-tools) tools)))))

(provide 'backstaff-server-tests)
;;; backstaff-server-tests.el ends here
