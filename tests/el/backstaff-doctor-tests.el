;;; backstaff-doctor-tests.el --- Tests of backstaff-ui-doctor.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-ui-doctor)
(require 'project)

(defmacro backstaff-doctor-tests-with (command &rest body)
  "Run BODY in a project with COMMAND for a server, settings out of sight."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree '(("project" ("a.txt" . "")) ("config" ("readme" . "")))
     (let ((process-environment (cons (concat "XDG_CONFIG_HOME=" root "config")
                                      process-environment))
           (user-emacs-directory root)
           (project-find-functions nil)
           (kill-ring nil)
           (inhibit-message t)
           (backstaff-doctor--limit 10))
       (backstaff-test-with-server ,command
         (save-window-excursion
           (let ((default-directory (expand-file-name "project/")))
             ,@body))))))

(defun backstaff-doctor-tests-report ()
  "Return the report of the doctor."
  (with-current-buffer (backstaff-doctor)
    (should (derived-mode-p 'help-mode))
    (should-not (buffer-modified-p))
    (buffer-substring-no-properties (point-min) (point-max))))

(defun backstaff-doctor-tests-check (name report)
  "Return the state, the text and the advice of the check NAME in REPORT."
  (should (string-match (format "^\\(ok\\|note\\|FAILED\\) +%s +\\(\\(?:.\\|\n \\)*\\)" name)
                        report))
  (let ((state (match-string 1 report))
        (text (replace-regexp-in-string "[ \n]+" " " (match-string 2 report))))
    (if (string-match " To do: " text)
        (list state (substring text 0 (match-beginning 0)) (substring text (match-end 0)))
      (list state text nil))))


;;; All is well

(ert-deftest backstaff-doctor-finds-our-own-server-well ()
  (backstaff-doctor-tests-with (backstaff-test-command)
    (let ((report (backstaff-doctor-tests-report)))
      (should (string-match-p "\\`All is well\\.  M-x backstaff-overview shows the project" report))
      (should-not (string-match-p "FAILED\\|To do:" report))
      (pcase-dolist (`(,name ,regexp)
                     `(("Emacs" ,(regexp-quote emacs-version))
                       ("Emacs" ,(concat "Backstaff " (regexp-quote backstaff-server-version)))
                       ("Root" "/project/")
                       ("Settings" "none, as there is no .*/config/backstaff/config.toml")
                       ("Agents" "backstaff-listen-mode 1") ("Command" "/__main__\\.py")
                       ("Handshake" "server 0\\.1\\.0, protocol 1, Python 3\\.")
                       ("Tools" "agent-q/.*workspace/tree")))
        (ert-info (name)
          (should (string-match-p regexp (nth 1 (backstaff-doctor-tests-check name report)))))))))

(ert-deftest backstaff-doctor-leaves-the-server-in-use-alone ()
  (backstaff-doctor-tests-with (backstaff-test-command)
    (backstaff-call "agent-q/list_directory" '(:path "."))
    (let ((server (cdr (assoc nil backstaff-server--servers))))
      (should (string-suffix-p (format "process %d" (process-id (backstaff-epc--process server)))
                               (nth 1 (backstaff-doctor-tests-check
                                       "Handshake" (backstaff-doctor-tests-report)))))
      (should (eq (cdr (assoc nil backstaff-server--servers)) server))
      (should (backstaff-epc-live-p server)))))

;;; Faults

(defun backstaff-doctor-tests-fails (command name text advice)
  "Check that with COMMAND the check NAME fails with TEXT and ADVICE, regexps."
  (ert-info ((format "%S" (last command)))
    (backstaff-doctor-tests-with command
      (let ((report nil)
            (backstaff-doctor--limit (if (string-search "silent" (format "%S" command)) 0.3 60))
            ;; So that one that never answers is soon known for it.  To start takes longer.
            (hasten (lambda (check &rest _)
                      (when (and (equal check name) (string-search "within" text))
                        (setq backstaff-doctor--limit 0.3)))))
        (advice-add 'backstaff-doctor--run :before hasten)
        (unwind-protect
            (setq report (backstaff-doctor-tests-report))
          (advice-remove 'backstaff-doctor--run hasten))
        (pcase-let ((`(,state ,actual-text ,actual-advice)
                     (backstaff-doctor-tests-check name report)))
          (should (equal state "FAILED"))
          (should (string-match-p text actual-text))
          (should (string-match-p advice actual-advice)))
        (should (string-match-p "\\`Not all is well\\.  Do what follows \"To do\", then type g" report))))))

(ert-deftest backstaff-doctor-knows-every-way-to-fail-at-the-start ()
  (pcase-dolist (`(,start . ,expected)
                 '(("silent" "within [0-9.]+ seconds" "does not answer")
                   ("fail" "No module named 'sexpdata'" "correct that file")
                   ("exit" "exited with status 0" "ended by itself")
                   ("other-protocol" "the server is 0\\.1\\.0 (protocol 2)" "package")
                   ("foreign" "did not shake hands" "not as Backstaff's server does")
                   ("noisy" "got \"Welcome!" "not as Backstaff's server does")))
    (apply #'backstaff-doctor-tests-fails (backstaff-test-fake-command start)
           "Handshake" expected)))

(ert-deftest backstaff-doctor-knows-every-way-to-fail-at-a-call ()
  (pcase-dolist (`(,method . ,expected)
                 '(("stall" "within [0-9.]+ seconds" "does not answer")
                   ("die" "exited with status 7:.*last words" "ended by itself")
                   ("hang-up" "lost\\|closed\\|exited\\|within" ".")
                   ("junk" "got \"Traceb" "not as Backstaff's server does")
                   ("half" "within [0-9.]+ seconds" "does not answer")
                   ("refuse" "no such thing" "Read the log")
                   ("misuse" "no such method" "Read the log")))
    (apply #'backstaff-doctor-tests-fails
           (backstaff-test-fake-command (concat "describe=" method)) "Tools" expected)))

(ert-deftest backstaff-doctor-knows-a-server-that-describes-nonsense ()
  (pcase-dolist (`(,method ,text) '(("largest" ".") ("names" ".") ("die" ".") ("stall" "within")))
    (backstaff-doctor-tests-fails (backstaff-test-fake-command (concat "describe=" method))
                                  "Tools" text ".")))

(ert-deftest backstaff-doctor-knows-a-program-that-is-not-there ()
  (backstaff-doctor-tests-fails '("/nowhere/python") "Command" "no program /nowhere/python"
                                "Customize `backstaff-server-command'"))

(ert-deftest backstaff-doctor-knows-a-command-that-is-none ()
  (backstaff-doctor-tests-fails "python -m backstaff" "Command" "Wrong type argument: listp"
                                "Read the log"))

(ert-deftest backstaff-doctor-knows-settings-that-are-wrong ()
  (backstaff-doctor-tests-with (backstaff-test-command)
    (write-region "[policy]\nforbid = 1\n" nil (expand-file-name "../settings.toml") nil 'silent)
    (let ((backstaff-server-settings-file (expand-file-name "../settings.toml")))
      (pcase-let ((`(,state ,text ,advice)
                   (backstaff-doctor-tests-check "Handshake" (backstaff-doctor-tests-report))))
        (should (equal state "FAILED"))
        (should (string-match-p "settings\\.toml:2: .*forbid" text))
        (should (string-match-p "correct that file" advice))
        ;; The user has called the doctor already.
        (should-not (string-match-p "backstaff-doctor" advice))))))

(ert-deftest backstaff-doctor-knows-settings-that-are-missing ()
  (backstaff-doctor-tests-with (backstaff-test-command)
    (let* ((backstaff-server-settings-file "/nowhere/settings.toml")
           (report (backstaff-doctor-tests-report)))
      (should (string-match-p "no /nowhere/settings.toml"
                              (nth 1 (backstaff-doctor-tests-check "Settings" report))))
      (should (equal (car (backstaff-doctor-tests-check "Handshake" report)) "FAILED")))))

(ert-deftest backstaff-doctor-refuses-remote-directories-untouched ()
  (backstaff-doctor-tests-with (backstaff-test-command)
    (let* ((operations nil)
           (file-name-handler-alist
            (cons (cons "\\`/remote:"
                        (lambda (operation &rest arguments)
                          (push operation operations)
                          (pcase operation
                            ('file-remote-p "/remote:")
                            ((or 'expand-file-name 'abbreviate-file-name) (car arguments)))))
                  file-name-handler-alist))
           (report (let ((default-directory "/remote:/home/"))
                     (backstaff-doctor-tests-report))))
      (pcase-let ((`(,state ,text ,advice)
                   (backstaff-doctor-tests-check "Root" report)))
        (should (equal state "FAILED"))
        (should (string-match-p "another machine" text))
        (should (string-match-p "Visit a file there" advice)))
      (should (equal (delete-dups operations) '(file-remote-p))))))

(ert-deftest backstaff-doctor-knows-a-root-that-is-not-there ()
  (backstaff-doctor-tests-with (backstaff-test-command)
    (let* ((backstaff-root-directory "/nowhere/")
           (report (backstaff-doctor-tests-report)))
      (should (equal (car (backstaff-doctor-tests-check "Root" report)) "FAILED")))))


;;; Pythons

(ert-deftest backstaff-doctor-without-any-python-gives-advice ()
  (backstaff-doctor-tests-with nil
    (let ((old-exec-path exec-path)
          (backstaff-server-package-directory (expand-file-name "../package/elisp/")))
      (make-directory (expand-file-name "../package/py_backend") t)
      (copy-file (expand-file-name "py_backend/backstaff.sh" backstaff-test-repository)
                 (expand-file-name "../package/py_backend/"))
      (make-directory (expand-file-name "../bin"))
      (dolist (name '("sh" "dirname" "head" "tail" "sleep"))
        (make-symbolic-link (executable-find name) (expand-file-name name "../bin")))
      (dolist (name '("python3" "python3.14" "python3.13" "python3.12" "python3.11"))
        (let ((file (expand-file-name name "../bin")))
          (write-region "#!/bin/sh\nprintf '3.9.18\\n/bin/sh\\n'\n" nil file nil 'silent)
          (set-file-modes file #o755)))
      (setq-default exec-path (list (expand-file-name "../bin/")))
      (pcase-let ((`(,state ,text ,_)
                   (unwind-protect
                       (backstaff-doctor-tests-check "Handshake" (backstaff-doctor-tests-report))
                     (setq-default exec-path old-exec-path))))
        (should (equal state "FAILED"))
        (should (string-match-p "bin/python3.13 is 3\\.9\\.18 and too old" text))
        (should (string-match-p "there is no Python 3\\.11 or newer: install one" text))))))

(ert-deftest backstaff-doctor-without-sources-gives-advice ()
  (backstaff-doctor-tests-with nil
    (let ((backstaff-server-package-directory nil) (exec-path nil) (path exec-path))
      (setq-default exec-path nil)
      (unwind-protect
          (should (string-match-p "py_backend"
                                  (nth 2 (backstaff-doctor-tests-check
                                          "Command" (backstaff-doctor-tests-report)))))
        (setq-default exec-path path)))))


;;; The buffer

(ert-deftest backstaff-doctor-shows-the-first-failure ()
  (backstaff-doctor-tests-with '("/nowhere/python")
    (let ((backstaff-root-directory "/nowhere/root/"))
      (should (string-match-p "FAILED Command " (backstaff-doctor-tests-report)))
      (with-selected-window (get-buffer-window "*backstaff doctor*")
        (should (looking-back "FAILED +Root .*\n +To do: Make it a directory .*" nil))))))

(ert-deftest backstaff-doctor-is-stopped-by-a-quit ()
  (backstaff-doctor-tests-with (backstaff-test-fake-command "silent")
    (run-at-time 0.5 nil (lambda () (setq quit-flag t)))
    (should (equal (car (let ((debug-on-quit nil) (inhibit-quit nil))
                          (backstaff-doctor-tests-check "Handshake" (backstaff-doctor-tests-report))))
                   "FAILED"))))

(ert-deftest backstaff-doctor-checks-again ()
  (backstaff-doctor-tests-with '("/nowhere/python")
    (should (string-match-p "^Not all is well" (backstaff-doctor-tests-report)))
    (setq backstaff-server-command (backstaff-test-command))
    (with-selected-window (get-buffer-window "*backstaff doctor*")
      (execute-kbd-macro (kbd "g"))
      (should (string-match-p "^All is well" (buffer-string))))))

(ert-deftest backstaff-doctor-writes-nothing-that-drives-a-terminal ()
  (with-temp-buffer
    (backstaff-doctor--run "Check" (lambda () "a\e[31m\nb\nTo do: do\nit"))
    (let ((indentation (make-string 20 ?\s)))
      (should (equal (buffer-string)
                     (concat "ok     Check        a\\u001b[31m\n" indentation "b\n" indentation
                             "To do: do\n" indentation "it\n")))
      (should (equal (get-text-property 21 'wrap-prefix) indentation)))))

(provide 'backstaff-doctor-tests)
;;; backstaff-doctor-tests.el ends here
