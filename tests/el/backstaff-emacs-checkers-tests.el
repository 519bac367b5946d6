;;; backstaff-emacs-checkers-tests.el --- Tests of diagnostics  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The checkers are Flymake, a real language server behind eglot (pylsp, from
;; the folder of the tests' Python), and a fake one.
;; The tests of a checker that is not installed are skipped.

;;; Code:

(require 'backstaff-test-support)
(require 'flymake)
(require 'backstaff-emacs)
(require 'backstaff-emacs-fixtures)

(declare-function eglot "ext:eglot" (&rest arguments))
(declare-function eglot--guess-contact "ext:eglot" (&optional interactive))
(declare-function eglot-managed-p "ext:eglot" ())
(defvar eglot-events-buffer-size)
(defvar eglot-server-programs)
(defvar eglot-sync-connect)

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


;;; emacs/diagnostics

(ert-deftest backstaff-emacs-diagnostics-without-a-checker-say-so ()
  (backstaff-test-with-buffers '(("a.txt" . "x") ("src" ("b.txt" . "x")))
    (should (equal (backstaff-emacs-tests-text "diagnostics")
                   (concat "Not checked\n"
                           backstaff-emacs-checkers-tests-open)))
    (backstaff-emacs-tests-visit "a.txt")
    (backstaff-emacs-tests-visit "src/b.txt")
    (should (equal (backstaff-emacs-tests-text "diagnostics")
                   (concat "Not checked\n[no checker runs in: a.txt, src/b.txt]\n"
                           backstaff-emacs-checkers-tests-open)))
    (should (equal (backstaff-emacs-tests-text "diagnostics" :path "src/")
                   (concat "Not checked\n[no checker runs in: src/b.txt]\n"
                           backstaff-emacs-checkers-tests-open)))
    (dolist (path '("src/c.txt" "no/such/file.py"))
      (should (equal (backstaff-emacs-tests-text "diagnostics" :path path)
                     (concat "Not checked\n" backstaff-emacs-checkers-tests-open))))
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
                       (concat "Not checked\n[a checker has failed in: a.txt]\n"
                               backstaff-emacs-checkers-tests-open)))
        ;; Another checker works.
        (setq-local flymake-diagnostic-functions
                    (list broken
                          (lambda (report &rest _)
                            (funcall report (list (flymake-make-diagnostic
                                                   (current-buffer) 1 2 :error "bad"))))))
        (flymake-start)
        (should (equal (backstaff-emacs-tests-text "diagnostics")
                       (concat "Problems: 1\na.txt:1:1 error bad\n"
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
                     (concat "Problems: 4\n"
                             "a.txt:1:1 error %s\\u202e\\u001b\n"
                             "a.txt:1:1 note first\n"
                             "a.txt:2:2 error w\n"
                             "a.txt:3:2 warning third of two lines\n"
                             backstaff-emacs-checkers-tests-open)))
      (should (equal (list (point) (point-min) (point-max)) '(6 5 7)))
      (should (equal (backstaff-emacs-tests-text "diagnostics" :max_results 1)
                     (concat "Problems: 4\n"
                             "a.txt:1:1 error %s\\u202e\\u001b\n"
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
                     (concat "Not checked\n[a check is under way in: b.txt]\n"
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
                     (concat "Problems: 1\n"
                             "a.py:5:24 error pyflakes: undefined name 'undefined_name'\n"
                             backstaff-emacs-checkers-tests-open))))))

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
      (list (backstaff-test-python) "-I"
            (expand-file-name "fake-servers/fake_language_server.py" backstaff-test-directory))
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
                    (emacs/diagnostics :path "/ssh:nowhere.invalid:/x")))
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
                    (should-not deeds))
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

(provide 'backstaff-emacs-checkers-tests)
;;; backstaff-emacs-checkers-tests.el ends here
