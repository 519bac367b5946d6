;;; backstaff-emacs-checkers-tests.el --- Tests of diagnostics and symbols  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The checkers are Flymake and Flycheck, a real language server behind eglot (pylsp, from
;; the folder of the tests' Python), a fake one that is late or dead.
;; The tests of a checker that is not installed are skipped.

;;; Code:

(require 'backstaff-test-support)
(require 'flymake)
(require 'xref)
(require 'backstaff-emacs)
(require 'backstaff-emacs-fixtures)

(declare-function eglot "ext:eglot" (&rest arguments))
(declare-function eglot--guess-contact "ext:eglot" (&optional interactive))
(declare-function eglot-current-server "ext:eglot" ())
(declare-function eglot-managed-p "ext:eglot" ())
(declare-function flycheck-buffer "ext:flycheck" ())
(declare-function flycheck-error-new-at "ext:flycheck" (line column &rest keys))
(declare-function flycheck-mode "ext:flycheck" (&optional arg))
(declare-function jsonrpc--process "jsonrpc" (connection))
(defvar eglot--change-idle-timer)
(defvar eglot-events-buffer-size)
(defvar eglot-server-programs)
(defvar eglot-sync-connect)
(defvar flycheck-check-syntax-automatically)
(defvar flycheck-current-errors)
(defvar flycheck-last-status-change)

(defconst backstaff-emacs-checkers-tests-open "[only files that are open in Emacs are checked]\n"
  "The last line of each answer of emacs/diagnostics.")

(defun backstaff-emacs-checkers-tests-flymake (&rest problems)
  "Let Flymake find PROBLEMS, lists (START END TYPE TEXT), in the current buffer."
  (setq-local flymake-diagnostic-functions
              (list (lambda (report &rest _)
                      (funcall report
                               (mapcar (lambda (problem)
                                         (apply #'flymake-make-diagnostic (current-buffer)
                                                problem))
                                       problems)))))
  (let ((flymake-start-on-flymake-mode nil))
    (flymake-mode 1))
  (flymake-start))

(defun backstaff-emacs-checkers-tests-flycheck (&rest problems)
  "Let Flycheck have found PROBLEMS, lists for `flycheck-error-new-at'."
  (setq-local flycheck-check-syntax-automatically nil)
  (flycheck-mode 1)
  (setq flycheck-last-status-change 'finished
        flycheck-current-errors (mapcar (lambda (problem)
                                          (apply #'flycheck-error-new-at problem))
                                        problems)))


;;; emacs/diagnostics

(ert-deftest backstaff-emacs-diagnostics-without-a-checker-say-so ()
  (backstaff-test-with-buffers '(("a.txt" . "x") ("src" ("b.txt" . "x")))
    (should (equal (backstaff-emacs-tests-text "diagnostics")
                   (concat "Not checked: no file of the project is open\n"
                           backstaff-emacs-checkers-tests-open)))
    (backstaff-emacs-tests-visit "a.txt")
    (backstaff-emacs-tests-visit "src/b.txt")
    (should (equal (backstaff-emacs-tests-text "diagnostics")
                   (concat "Not checked: no checker runs in: a.txt, src/b.txt\n"
                           backstaff-emacs-checkers-tests-open)))
    (should (equal (backstaff-emacs-tests-text "diagnostics" :path "src/")
                   (concat "Not checked: no checker runs in: src/b.txt\n"
                           backstaff-emacs-checkers-tests-open)))
    (dolist (path '("src/c.txt" "no/such/file.py"))
      (should (equal (backstaff-emacs-tests-text "diagnostics" :path path)
                     (format "Not checked: %s is not open\n%s" path
                             backstaff-emacs-checkers-tests-open))))
    ;; A check that found nothing in one file says nothing of the other.
    (with-current-buffer (backstaff-emacs-tests-visit "a.txt")
      (backstaff-emacs-checkers-tests-flymake))
    (should (equal (backstaff-emacs-tests-text "diagnostics")
                   (concat "No problems\n[no checker runs in: src/b.txt]\n"
                           backstaff-emacs-checkers-tests-open)))))

(defun backstaff-emacs-checkers-tests-broken (&rest _)
  "Fail, as a checker of Flymake."
  (error "No compiler"))

(ert-deftest backstaff-emacs-diagnostics-name-files-whose-checker-failed ()
  (backstaff-test-with-buffers '(("a.txt" . "x") ("b.txt" . "x"))
    (let ((warning-minimum-log-level :emergency) (inhibit-message t)
          (broken #'backstaff-emacs-checkers-tests-broken))
      (with-current-buffer (backstaff-emacs-tests-visit "a.txt")
        (setq-local flymake-diagnostic-functions (list broken))
        (let ((flymake-start-on-flymake-mode nil))
          (flymake-mode 1))
        (flymake-start)
        (should (equal (backstaff-emacs-tests-text "diagnostics")
                       (concat "Not checked: a checker has failed in: a.txt\n"
                               backstaff-emacs-checkers-tests-open)))
        ;; Another checker works.
        (setq-local flymake-diagnostic-functions
                    (list broken
                          (lambda (report &rest _)
                            (funcall report (list (flymake-make-diagnostic
                                                   (current-buffer) 1 2 :error "bad"))))))
        (flymake-start)
        (should (equal (backstaff-emacs-tests-text "diagnostics")
                       (concat "1 problem in 1 file\na.txt:1:1 error bad [flymake]\n"
                               "[a checker has failed in: a.txt]\n"
                               backstaff-emacs-checkers-tests-open)))
        (should (equal (plist-get (plist-get (backstaff-call 'emacs/diagnostics nil) :data)
                                  :failed)
                       '("a.txt")))))))

(ert-deftest backstaff-emacs-diagnostics-of-flymake-alone ()
  (backstaff-test-with-buffers '(("a.txt" . "one\ntwo\nthree\n") ("b.txt" . "x"))
    (with-current-buffer (backstaff-emacs-tests-visit "a.txt")
      (put 'backstaff-emacs-checkers-tests-type 'flymake-category 'flymake-error)
      (backstaff-emacs-checkers-tests-flymake
       '(10 11 :warning "third\nof two lines") '(6 7 backstaff-emacs-checkers-tests-type "w")
       '(1 2 :note "first") '(1 2 :error "%s\u202e\e"))
      (goto-char 6)
      (narrow-to-region 5 7)
      (should (equal (backstaff-emacs-tests-text "diagnostics")
                     (concat "4 problems in 1 file\n"
                             "a.txt:1:1 error %s\\u202e\\u001b [flymake]\n"
                             "a.txt:1:1 note first [flymake]\n"
                             "a.txt:2:2 error w [flymake]\n"
                             "a.txt:3:2 warning third of two lines [flymake]\n"
                             backstaff-emacs-checkers-tests-open)))
      (should (equal (list (point) (point-min) (point-max)) '(6 5 7)))
      (should (equal (backstaff-emacs-tests-text "diagnostics" :max_results 1)
                     (concat "4 problems in 1 file\n"
                             "a.txt:1:1 error %s\\u202e\\u001b [flymake]\n"
                             "[3 more: give a path, or raise max_results]\n"
                             backstaff-emacs-checkers-tests-open)))
      (let ((data (plist-get (backstaff-call 'emacs/diagnostics nil) :data)))
        (should (equal (plist-get data :problems-total) 4))
        (should (equal (plist-get (nth 1 (plist-get data :problems)) :severity) :note))))
    ;; A checker that has not reported yet.
    (with-current-buffer (backstaff-emacs-tests-visit "b.txt")
      (setq-local flymake-diagnostic-functions (list #'ignore))
      (flymake-mode 1)
      (flymake-start)
      (should (equal (backstaff-emacs-tests-text "diagnostics" :path "b.txt")
                     (concat "Not checked: a check is under way in: b.txt\n"
                             backstaff-emacs-checkers-tests-open))))))

(ert-deftest backstaff-emacs-diagnostics-of-flycheck-alone-and-of-both ()
  (backstaff-test-needs "Flycheck" (require 'flycheck nil t))
  (backstaff-test-with-buffers '(("a.txt" . "one\ntwo\nthree\n") ("b.txt" . "x"))
    (with-current-buffer (backstaff-emacs-tests-visit "a.txt")
      (backstaff-emacs-checkers-tests-flycheck
       '(2 3 warning "line too long") '(1 nil error "undefined name 'x'")
       (list 3 1 'info "elsewhere" :filename (expand-file-name "b.txt" root))
       (list 3 1 'error "outside" :filename "/etc/passwd"))
      (should (equal (backstaff-emacs-tests-text "diagnostics")
                     (concat "3 problems in 2 files\n"
                             "a.txt:1:1 error undefined name 'x' [flycheck]\n"
                             "a.txt:2:3 warning line too long [flycheck]\n"
                             "b.txt:3:1 note elsewhere [flycheck]\n"
                             backstaff-emacs-checkers-tests-open)))
      ;; Flymake says the same of the first line in other words.
      (backstaff-emacs-checkers-tests-flymake
       '(1 2 :warning "pyflakes: undefined name 'x'") '(5 6 :warning "unused"))
      (should (equal (backstaff-emacs-tests-text "diagnostics")
                     (concat "5 problems in 2 files\n"
                             "a.txt:1:1 warning pyflakes: undefined name 'x' [flymake]\n"
                             "a.txt:1:1 error undefined name 'x' [flycheck]\n"
                             "a.txt:2:1 warning unused [flymake]\n"
                             "a.txt:2:3 warning line too long [flycheck]\n"
                             "b.txt:3:1 note elsewhere [flycheck]\n"
                             backstaff-emacs-checkers-tests-open))))
    (with-current-buffer (backstaff-emacs-tests-visit "b.txt")
      (backstaff-emacs-checkers-tests-flycheck)
      (setq flycheck-last-status-change 'no-checker)
      (should (string-match-p "^\\[no checker runs in: b.txt\\]$"
                              (backstaff-emacs-tests-text "diagnostics")))
      (setq flycheck-last-status-change 'errored)
      (should (equal (backstaff-emacs-tests-text "diagnostics" :path "b.txt")
                     (concat "Not checked: a checker has failed in: b.txt\n"
                             backstaff-emacs-checkers-tests-open)))
      (setq flycheck-last-status-change 'running)
      (should (string-match-p "^\\[a check is under way in: b.txt\\]$"
                              (backstaff-emacs-tests-text "diagnostics"))))))

(ert-deftest backstaff-emacs-diagnostics-of-a-check-by-flycheck ()
  (backstaff-test-needs "Flycheck" (require 'flycheck nil t))
  (backstaff-test-with-buffers '(("a.txt" . "one\ntwo\n"))
    (with-current-buffer (backstaff-emacs-tests-visit "a.txt")
      (eval '(flycheck-define-checker backstaff-emacs-checkers-tests
               "Complain of the second line."
               :command ("sh" "-c" "echo 2:1: bad")
               :error-patterns ((error line-start line ":" column ": " (message) line-end))
               :modes text-mode)
            t)
      (setq-local flycheck-checker 'backstaff-emacs-checkers-tests
                  flycheck-check-syntax-automatically nil)
      (flycheck-mode 1)
      (flycheck-buffer)
      (backstaff-test-wait-for (memq flycheck-last-status-change '(finished errored)))
      (should (equal (backstaff-emacs-tests-text "diagnostics")
                     (concat "1 problem in 1 file\na.txt:2:1 error bad [flycheck]\n"
                             backstaff-emacs-checkers-tests-open))))))


;;; Eglot

(defmacro backstaff-emacs-checkers-tests-with-eglot (tree command &rest body)
  "Run BODY in a.py of a project with TREE; its language server is COMMAND."
  (declare (indent 2) (debug t))
  `(progn
     ;; Emacs has it from version 29 on.
     (backstaff-test-needs "eglot" (require 'eglot nil t))
     (backstaff-test-with-buffers ,tree
       (make-directory (expand-file-name ".git" root))
       (let ((eglot-server-programs (list (cons 'python-mode ,command)))
             (eglot-sync-connect 20)
             (eglot-events-buffer-size 0)
             (inhibit-message t))
         (with-current-buffer (backstaff-emacs-tests-visit "a.py")
           (apply #'eglot (eglot--guess-contact))
           (should (eglot-managed-p))
           ;; Flymake starts by itself where a window shows the buffer.
           (flymake-start)
           (unwind-protect (progn ,@body)
             (backstaff-emacs-tests-end-eglot)))))))

(defun backstaff-emacs-checkers-tests-tell-changes ()
  "Let eglot send changes, as it does in an idle Emacs, which batch is not."
  (timer-event-handler (backstaff-test-wait-for eglot--change-idle-timer)))

(ert-deftest backstaff-emacs-eglot-with-a-real-server ()
  (let ((server (expand-file-name "pylsp" (file-name-directory (backstaff-test-python)))))
    (backstaff-test-needs "pylsp beside the Python of the tests" (file-executable-p server))
    (backstaff-emacs-checkers-tests-with-eglot
        '(("a.py" . "import b\n\n\ndef f():\n    return b.frob(1) + undefined_name\n")
          ("b.py" . "# é\ndef frob(x):\n    return x\n"))
        (list server)
      (backstaff-test-wait-for (flymake-diagnostics))
      ;; Eglot feeds Flymake, and the answer has the problem once.
      (should (equal (replace-regexp-in-string
                      " :" ":" (backstaff-emacs-tests-text "diagnostics")) ; Flymake 1.4
                     (concat "1 problem in 1 file\n"
                             "a.py:5:24 error pyflakes: undefined name 'undefined_name' [flymake]\n"
                             backstaff-emacs-checkers-tests-open)))
      ;; At first the server loads its files, which on a busy machine outlasts a call.
      (backstaff-test-wait-for
       (plist-get (backstaff-call 'emacs/find_symbol '(:symbol "frob" :path "a.py")) :ok))
      (should (equal (backstaff-emacs-tests-text "find_symbol" :symbol "frob" :path "a.py")
                     "1 definition of 'frob', asked of eglot in a.py\nb.py:2: def frob(x):\n"))
      (should (equal (backstaff-emacs-tests-text "find_symbol" :symbol "frob" :path "a.py"
                                                 :what "references")
                     (concat "2 references of 'frob', asked of eglot in a.py\n"
                             "a.py:5: return b.frob(1) + undefined_name\nb.py:2: def frob(x):\n")))
      ;; The server learns of changes first, also in a buffer that is narrowed.
      (goto-char (point-min))
      (insert "\n\n")
      (backstaff-emacs-checkers-tests-tell-changes)
      (narrow-to-region 1 2)
      (should (equal (backstaff-emacs-tests-text "find_symbol" :symbol "f" :path "a.py")
                     "1 definition of 'f', asked of eglot in a.py\na.py:6: def f():\n"))
      ;; A place outside the root is left out: this is in Python's own library.
      (widen)
      (goto-char (point-max))
      (insert "import os\nos.getcwd()\n")
      (backstaff-emacs-checkers-tests-tell-changes)
      (let ((reply (backstaff-call 'emacs/find_symbol
                                   '(:symbol "os" :path "a.py"))))
        (should (equal (plist-get reply :text)
                       "No definition of 'os', asked of eglot in a.py\n\
[1 outside the workspace left out]\n"))
        (should-not (string-match-p "/lib" (format "%S" reply)))))))

(ert-deftest backstaff-emacs-eglot-answers-that-lead-out-are-dropped ()
  (let ((out (make-temp-file "backstaff-out" nil ".py" "secret = 1\n")))
    (unwind-protect
        (backstaff-emacs-checkers-tests-with-eglot
            '(("a.py" . "frob\n") ("b.py" . "one\n\u202e%s two\n") (".netrc" . "secret\n"))
            (let ((here default-directory))
              (make-symbolic-link out (expand-file-name "link.py" here))
              (backstaff-emacs-tests-language-server
               "prompt" (list (concat here "link.py") 1) (list out 1)
               (list (concat here "../x.py") 1) (list (concat here ".netrc") 1)
               (list (concat here "b.py") 2) (list (concat here "b.py") 2)
               (list (concat here "gone.py") 7)))
          (should (equal (backstaff-emacs-tests-text "find_symbol" :symbol "frob" :path "a.py")
                         (concat "2 definitions of 'frob', asked of eglot in a.py\n"
                                 "b.py:2: \\u202e%s two\ngone.py:7: frob\n"
                                 "[3 outside the workspace left out]\n"))))
      (delete-file out))))

(ert-deftest backstaff-emacs-eglot-malformed-answer-is-an-error ()
  (backstaff-emacs-checkers-tests-with-eglot
      '(("a.py" . "frob\n"))
      (list "env" "PLACES=[{\"uri\": 5}]" (backstaff-test-python) "-I"
            (expand-file-name "fake-servers/fake_language_server.py" backstaff-test-directory)
            "prompt")
    (should (equal (car (backstaff-emacs-tests-error "find_symbol" :symbol "frob" :path "a.py"))
                   "BACKEND_FAILED"))))

(ert-deftest backstaff-emacs-eglot-slow-and-dead-servers-hold-nobody-up ()
  :tags '(clock)
  (dolist (way '("late" "never" "ends" stopped))
    (let ((backstaff-emacs-find-symbol--seconds (if (equal way "late") 10 0.3)))
      (ert-info ((format "%s" way))
        (backstaff-emacs-checkers-tests-with-eglot
            '(("a.py" . "frob\n"))
            (backstaff-emacs-tests-language-server
             (if (stringp way) way "prompt") (list (concat default-directory "a.py") 1))
          (let ((process (jsonrpc--process (eglot-current-server)))
                (gaps nil))
            (when (eq way 'stopped)
              (signal-process process 'SIGSTOP))
            (let ((reply
                   (backstaff-test-with-gaps gaps
                     (backstaff-test-call-later
                      'emacs/find_symbol '(:symbol "frob" :path "a.py")))))
              (should (equal (backstaff-test-code reply)
                             (pcase way ("late" nil) ("never" "TIMEOUT")
                               (_ "BACKEND_FAILED"))))
              (backstaff-emacs-checkers-tests-judge
               (format "find_symbol, language server %s" way) gaps))
            (when (eq way 'stopped)
              (signal-process process 'SIGCONT))))))))

(defun backstaff-emacs-checkers-tests-judge (what gaps)
  "Print the longest of GAPS, in seconds, during WHAT; it must be no wait.
The promise is 50 ms, but the machine of the tests may be busy."
  (let ((inhibit-message nil))
    (message "%s: longest gap of a 10 ms timer %.0f ms" what (* 1000 (apply #'max gaps))))
  (should (< (apply #'max gaps) 0.5)))

(defun backstaff-emacs-checkers-tests-state ()
  "Return what no tool may change: buffers, windows, processes, positions."
  (append
   (list (process-list) (current-window-configuration) (selected-window)
         (window-start) (window-point) (mark t) mark-active)
   (mapcar (lambda (buffer)
             (with-current-buffer buffer
               (list buffer (buffer-name) (point) (point-min) (point-max)
                     major-mode (buffer-modified-p) (buffer-chars-modified-tick)
                     (overlays-in (point-min) (point-max)))))
           ;; The logs are not the user's: ours, eglot's of its messages, and that of the native
           ;; compiler, which works beside us on whatever a new home has not compiled.
           (cl-remove-if (lambda (buffer)
                           (string-match-p (concat "\\` \\|\\`\\*\\(?:EGLOT\\|backstaff\\|Messages"
                                                   "\\|Native-compile\\|Async-native-compile\\)")
                                           (buffer-name buffer)))
                         (buffer-list)))))

(ert-deftest backstaff-emacs-tools-look-and-do-nothing-else ()
  :tags '(clock)
  (backstaff-emacs-checkers-tests-with-eglot
      `(("a.py" . "import b\nfrob\n") ("b.py" . ,(make-string 1000000 ?x))
        ("big.txt" . ,(apply #'concat (make-list 100000 "a line of a large file\n")))
        ("c.el" . "(defun c ())\n"))
      (backstaff-emacs-tests-language-server
       "prompt" (list (concat default-directory "b.py") 1)
       (list (concat default-directory "a.py") 2))
    (switch-to-buffer (current-buffer))
    (dolist (name '("big.txt" "b.py" "c.el"))
      (switch-to-buffer (backstaff-emacs-tests-visit name))
      (narrow-to-region 2 9)
      (goto-char 3))
    (kill-buffer "b.py")
    (backstaff-emacs-checkers-tests-flymake '(3 4 :error "bad"))
    (push-mark 5 t t)
    (switch-to-buffer (get-buffer-create "*shell*"))
    (setq default-directory root)
    (insert "text\n")
    (switch-to-buffer "c.el")
    (let* ((deeds nil)
           (note (lambda (deed)
                   (lambda (&rest _)
                     ;; jsonrpc encodes in buffers of its own, and logs in those of eglot.
                     (unless (string-match-p "\\` \\|\\`\\*EGLOT" (buffer-name))
                       (push (list deed (current-buffer)) deeds))
                     nil)))
           (hooks '(find-file-hook find-file-not-found-functions change-major-mode-hook
                    after-change-major-mode-hook prog-mode-hook python-mode-hook
                    emacs-lisp-mode-hook before-change-functions after-change-functions
                    first-change-hook window-configuration-change-hook
                    window-selection-change-functions window-buffer-change-functions
                    buffer-list-update-hook kill-buffer-hook activate-mark-hook
                    deactivate-mark-hook flymake-diagnostic-functions before-save-hook))
           (functions '(find-file-noselect run-mode-hooks hack-local-variables
                        open-network-stream set-auto-mode compilation-start flymake-start
                        load))
           (calls '((emacs/context) (emacs/read_buffer :buffer "*shell*") (emacs/diagnostics)
                    (emacs/diagnostics :path "/ssh:nowhere.invalid:/x")
                    (emacs/find_symbol :symbol "frob" :path "a.py")
                    (emacs/find_symbol :symbol "frob" :path "a.py" :what "references")
                    (emacs/find_symbol :symbol "c" :path "c.el")))
           (backstaff-approval-function #'always))
      ;; The first calls load libraries.
      (pcase-dolist (`(,id . ,args) calls)
        (backstaff-test-call-later id args))
      (let* ((before (backstaff-emacs-checkers-tests-state))
             (default (mapcar (lambda (hook) (and (boundp hook) (default-value hook))) hooks))
             (file-name-handler-alist
              ;; Each process asks for the directory to start in.
              (cons (cons "" (lambda (operation &rest arguments)
                               (when (memq operation '(unhandled-file-name-directory
                                                       insert-file-contents))
                                 (push operation deeds))
                               (let ((inhibit-file-name-handlers
                                      (mapcar #'cdr file-name-handler-alist))
                                     (inhibit-file-name-operation operation))
                                 (apply operation arguments))))
                    file-name-handler-alist)))
        (unwind-protect
            (progn
              (dolist (hook hooks) (add-hook hook (funcall note hook)))
              (dolist (function functions)
                (advice-add function :before (funcall note function)
                            '((name . backstaff-emacs-checkers-tests))))
              (pcase-dolist (`(,id . ,args) calls)
                (let* ((gaps nil)
                       (reply (progn (setq deeds nil)
                                     (backstaff-test-with-gaps gaps
                                       (backstaff-test-call-later id args))))
                       (deeds deeds))
                  (ert-info ((format "%S %S %S" id args reply))
                    (should (equal (backstaff-test-code reply)
                                   (and (equal (plist-get args :path) "/ssh:nowhere.invalid:/x")
                                        "SANDBOX_VIOLATION")))
                    ;; A back end may read files, see the tool's description.
                    (should-not (cl-remove-if
                                 (lambda (deed)
                                   (and (eq id 'emacs/find_symbol)
                                        (memq (if (consp deed) (car deed) deed)
                                              '(insert-file-contents buffer-list-update-hook))))
                                 deeds)))
                  (backstaff-emacs-checkers-tests-judge (format "%S" (cons id args)) gaps))))
          (dolist (function functions)
            (advice-remove function 'backstaff-emacs-checkers-tests))
          (cl-loop for hook in hooks
                   for value in default
                   do (set-default hook value)))
        (let ((after (backstaff-emacs-checkers-tests-state)))
          ;; Emacs 29 has renamed it.
          (should (funcall (if (fboundp 'window-configuration-equal-p)
                               'window-configuration-equal-p
                             'compare-window-configurations)
                           (nth 1 before) (nth 1 after)))
          (setf (nth 1 before) nil (nth 1 after) nil)
          ;; Each difference by itself, so that a failure shows it.
          (should-not (cl-set-exclusive-or before after :test #'equal)))))))


;;; Other back ends

(ert-deftest backstaff-emacs-find-symbol-asks-the-back-end-of-lisp ()
  (backstaff-test-with-buffers '(("a.el" . "(defun backstaff-made-up (x)\n  x)\n\n(backstaff-made-up 1)\n"))
    (with-current-buffer (backstaff-emacs-tests-visit "a.el")
      (load (expand-file-name "a.el" root) nil t)
      (should (equal (backstaff-emacs-tests-text "find_symbol" :symbol "backstaff-made-up")
                     (concat "1 definition of 'backstaff-made-up', asked of elisp in a.el\na.el:1: (defun backstaff-made-up)\n")))
      (should (equal (backstaff-emacs-tests-text "find_symbol" :symbol "find-file")
                     (concat "No definition of 'find-file', asked of elisp in a.el\n[1 outside the workspace left out]\n")))
      (goto-char (point-max))
      (insert "(defun backstaff-not-loaded ())\n")
      (should (equal (backstaff-emacs-tests-text "find_symbol" :symbol "backstaff-not-loaded")
                     (concat "No definition of 'backstaff-not-loaded', asked of elisp in a.el\n[workspace/regexp_search may find more]\n")))
      ;; It would start grep.
      (pcase-let ((`(,code ,message)
                   (backstaff-emacs-tests-error "find_symbol" :symbol "backstaff-made-up"
                                                :what "references")))
        (should (equal code "NO_BACKEND"))
        (should (string-match-p "use workspace/regexp_search" message))))))

(ert-deftest backstaff-emacs-find-symbol-says-where-nobody-can-be-asked ()
  (backstaff-test-with-buffers '(("a.txt" . "one\ntwo") ("b.txt" . "x"))
    (should (string-match-p "No file of the project is open"
                            (cadr (backstaff-emacs-tests-error "find_symbol" :symbol "x"))))
    (backstaff-emacs-tests-visit "a.txt")
    (pcase-dolist (`(,code ,words . ,args)
                   `(("NO_BACKEND" "No back end here" :symbol "two")
                   ("NO_BACKEND" "No back end here" :symbol "two" :path ".")
                     ("NOT_FOUND" "File 'b.txt' is not open" :symbol "x" :path "b.txt")
                     ("INVALID_ARGUMENT" "from 1 to 1000 characters" :symbol " ")
                     ("INVALID_ARGUMENT" "from 1 to 1000 characters" :symbol ,(make-string 100000 ?x))))
      (pcase-let ((`(,code2 ,message) (apply #'backstaff-emacs-tests-error "find_symbol" args)))
        (should (equal code2 code))
        (should (string-match-p words message))))))

(defvar backstaff-emacs-checkers-tests-deed nil
  "What the back end in tests does: a function of the symbol.")

(cl-defmethod xref-backend-definitions ((_backend (eql made-up)) identifier)
  "Do as `backstaff-emacs-checkers-tests-deed' with IDENTIFIER."
  (funcall backstaff-emacs-checkers-tests-deed identifier))

(cl-defmethod xref-backend-identifier-at-point ((_backend (eql made-up)))
  "Return nil."
  nil)

(ert-deftest backstaff-emacs-back-end-that-fails-or-is-slow-is-an-error ()
  (backstaff-test-with-buffers '(("a.txt" . "frob\n") ("b.txt" . "frob\n"))
    (with-current-buffer (backstaff-emacs-tests-visit "a.txt")
      (add-hook 'xref-backend-functions (lambda () 'made-up) nil t)
      (backstaff-tools)                 ; this starts the server
      (let ((backstaff-emacs-checkers-tests-deed (lambda (_) (car 'atom))))
        (should (string-match-p "failed: Wrong type argument"
                                (cadr (backstaff-emacs-tests-error "find_symbol" :symbol "frob")))))
      ;; The user types meanwhile.
      (let ((backstaff-emacs-checkers-tests-deed (lambda (_) (throw throw-on-input t))))
        (should (equal (car (backstaff-emacs-tests-error "find_symbol" :symbol "frob"))
                       "TIMEOUT")))
      ;; It waits for ever.
      (let ((backstaff-emacs-find-symbol--seconds 0.3)
            (backstaff-emacs-checkers-tests-deed
             (lambda (_) (while t (accept-process-output nil 0.01)))))
        (should (equal (backstaff-emacs-tests-error "find_symbol" :symbol "frob")
                       '("TIMEOUT" "The user typed, or the back end gave no answer within 0.3 seconds; \
try again; use workspace/regexp_search")))))))

(ert-deftest backstaff-emacs-find-symbol-shows-a-hundred-places ()
  (backstaff-test-with-buffers '(("a.txt" . "frob\n") ("b.txt" . "one\ntwo\n"))
    (with-current-buffer (backstaff-emacs-tests-visit "a.txt")
      (add-hook 'xref-backend-functions (lambda () 'made-up) nil t)
      (let* ((name (expand-file-name "b.txt" root))
             (backstaff-emacs-checkers-tests-deed
              (lambda (symbol)
                (cl-loop for line from 1 to 150
                         collect (xref-make (format "%s %d" symbol line)
                                            (xref-make-file-location name line 0)))))
             (text (backstaff-emacs-tests-text "find_symbol" :symbol "frob")))
        (should (string-prefix-p "150 definitions of 'frob'" text))
        (should (string-match-p "\nb.txt:1: frob 1\nb.txt:2: frob 2\n" text))
        (should (string-suffix-p "[50 more: use workspace/regexp_search]\n" text))
        (should (= (length (split-string text "\n" t)) 102))))))

(provide 'backstaff-emacs-checkers-tests)
;;; backstaff-emacs-checkers-tests.el ends here
