;;; backstaff-terminal-tests.el --- The screen of a real terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; tmux is the terminal: an Emacs runs in it, keys are sent to it, and its
;; screen is read.

;;; Code:

(require 'backstaff-test-support)

(defvar backstaff-terminal-tests-socket nil
  "The name of the socket of the tmux that the test runs.")

(defun backstaff-terminal-tests-tmux (&rest arguments)
  "Run tmux with ARGUMENTS and return what it prints."
  (with-temp-buffer
    (let ((process-environment
           (append '("LANG=C.UTF-8" "LC_ALL=C.UTF-8" "TERM=xterm-256color" "TMUX")
                   process-environment))
          (coding-system-for-read 'utf-8)
          (coding-system-for-write 'utf-8))
      (unless (zerop (apply #'call-process "tmux" nil t nil "-u" "-f" "/dev/null"
                            "-L" backstaff-terminal-tests-socket arguments))
        (ert-fail (list "tmux failed" arguments (buffer-string)))))
    (buffer-string)))

(defun backstaff-terminal-tests-pty-p ()
  "Return non-nil if the system gives out pseudo-terminals.
A container or a chroot may have none, and Emacs then makes do with a pipe."
  (let ((process (make-process :name "pty" :command '("true") :connection-type 'pty
                               :sentinel #'ignore)))
    (prog1 (process-tty-name process)
      (delete-process process))))

(defun backstaff-terminal-tests-screen ()
  "Return the lines on the screen."
  (mapcar #'string-trim-right
          (split-string (backstaff-terminal-tests-tmux "capture-pane" "-p") "\n")))

(defun backstaff-terminal-tests-wait-for (regexp)
  "Wait until a line on the screen matches REGEXP, and return the screen."
  (let ((screen nil))
    (condition-case failure
        (backstaff-test-wait-for
         (cl-some (apply-partially #'string-match-p regexp)
                  (setq screen (backstaff-terminal-tests-screen))))
      (ert-test-failed (ert-fail (list regexp screen (cdr failure)))))
    screen))

(defun backstaff-terminal-tests-press (&rest keys)
  "Press KEYS, as tmux calls them."
  (apply #'backstaff-terminal-tests-tmux "send-keys" keys))

(defmacro backstaff-terminal-tests-in-emacs (width height tree form &rest body)
  "Run BODY while an Emacs in a terminal of WIDTH x HEIGHT has evaluated FORM.
It runs in a project that holds TREE."
  (declare (indent 4) (debug t))
  `(progn
     ;; Not everybody can install tmux, and a container may have no devpts.
     (backstaff-test-needs "tmux" (executable-find "tmux"))
     (backstaff-test-needs "a pseudo-terminal" (backstaff-terminal-tests-pty-p))
     (backstaff-test-with-tree ,tree
       (let ((backstaff-terminal-tests-socket (format "backstaff-%d-%s" (emacs-pid)
                                                      (file-name-nondirectory
                                                       (directory-file-name root)))))
         (unwind-protect
             (progn (backstaff-terminal-tests-start root ,width ,height ,form)
                    ,@body)
           ;; tmux fails if it has ended already, together with its Emacs.
           (ignore-errors (backstaff-terminal-tests-tmux "kill-server")))))))

(defun backstaff-terminal-tests-start (root width height form)
  "Start Emacs on FORM, in ROOT, in a terminal of WIDTH x HEIGHT."
  (backstaff-terminal-tests-tmux
   "new-session" "-d" "-x" (number-to-string width) "-y" (number-to-string height)
   "-c" root
   (mapconcat #'shell-quote-argument
              (list (expand-file-name invocation-name invocation-directory)
                    "-Q" "-nw" "-L" (expand-file-name "elisp" backstaff-test-repository)
                    "--eval" (prin1-to-string
                              `(setq backstaff-server-command ',(backstaff-test-command)
                                     inhibit-startup-screen t
                                     load-prefer-newer t
                                     default-directory ,root
                                     backstaff-root-directory ,root))
                    "-l" "backstaff" "--eval" (prin1-to-string form))
              " ")))

(ert-deftest backstaff-terminal-shows-a-tree-that-folds ()
  (backstaff-terminal-tests-in-emacs
      100 24 '(("src" ("deep" ("a.c" . "")) ("日本.c" . "")) ("new\nline\e[31m" . "")
               ("שלום" . "") ("zz" . ""))
      '(progn (delete-other-windows) (backstaff-tree default-directory) (delete-other-windows))
    (backstaff-terminal-tests-wait-for "zz$")
    ;; The mode line comes after the text, and says until then that the buffer waits.
    (let ((screen (backstaff-terminal-tests-wait-for "(Tree Outl)")))
      (should (string-match-p "names to depth" (nth 1 screen)))
      (should (cl-find "  \"new\\nline\\u001b[31m\"" screen :test #'equal))
      ;; Emacs writes it from the right, and nothing else.
      (should (cl-find "  םולש" screen :test #'equal)))
    (backstaff-terminal-tests-press "M-<" "d" "3" "Enter")
    (backstaff-terminal-tests-wait-for "^      a.c$")
    (backstaff-terminal-tests-press "M-<" "n" "Tab")
    (let ((screen (backstaff-terminal-tests-wait-for "^  src/ 2 …$")))
      (should (equal (nth 4 screen) "  \"new\\nline\\u001b[31m\"")))))

(ert-deftest backstaff-terminal-has-room-for-the-whole-menu ()
  (backstaff-terminal-tests-in-emacs 80 24 '(("a.txt" . ""))
      '(progn (require 'backstaff-ui-menu) (message "Here"))
    (backstaff-terminal-tests-wait-for "^Here$")
    (backstaff-terminal-tests-press "M-x" "backstaff" "Enter")
    (let ((screen (backstaff-terminal-tests-wait-for " S Stop")))
      (should (cl-some (apply-partially #'string-prefix-p "Backstaff ") screen))
      ;; The last entry of each column.
      (dolist (entry '(" g Changes since" " / Text in files" " i A file's type, size, times"))
        (should (cl-some (apply-partially #'string-search entry) screen))))))

(ert-deftest backstaff-terminal-shows-an-overview-from-its-first-line ()
  (backstaff-terminal-tests-in-emacs
      ;; The window of the overview has four lines, which end above the map.
      80 14 '(("README.md" . "") ("Makefile" . "") ("src" ("main.c" . "")))
      '(backstaff-overview default-directory)
    (backstaff-terminal-tests-wait-for "no git, ")
    (let ((screen (backstaff-terminal-tests-wait-for "*backstaff overview")))
      (should (cl-find "types:" screen :test #'string-prefix-p))
      (should-not (cl-find "./ " screen :test #'string-prefix-p)))
    ;; It does so in a window that becomes larger, where the page has room.
    (backstaff-terminal-tests-press "C-x" "1")
    (let ((screen (backstaff-terminal-tests-wait-for "^src/ main.c")))
      (should (string-match-p "^# .*no git, " (nth 1 screen))))))

(defconst backstaff-terminal-tests-without-server
  '(progn (setq backstaff-server-command '("/nonexistent/python"))
          (global-set-key (kbd "C-c b") backstaff-map)
          (message "Here"))
  "What makes an Emacs that can start no server.")

(ert-deftest backstaff-terminal-shows-why-no-file-is-found ()
  (backstaff-terminal-tests-in-emacs 80 24 '(("a.txt" . "")) backstaff-terminal-tests-without-server
    (backstaff-terminal-tests-wait-for "^Here$")
    (backstaff-terminal-tests-press "C-c" "b" "f" "a" "Tab")
    (backstaff-terminal-tests-wait-for "Find file.*: a \\[Backstaff cannot start its server")))

(ert-deftest backstaff-terminal-shows-what-to-do-in-a-small-report ()
  (backstaff-terminal-tests-in-emacs 80 24 '(("a.txt" . "")) backstaff-terminal-tests-without-server
    (backstaff-terminal-tests-wait-for "^Here$")
    (backstaff-terminal-tests-press "C-c" "b" "d")
    (backstaff-terminal-tests-wait-for "^FAILED Command ")
    (backstaff-terminal-tests-wait-for "^ +To do: Customize `?")))

(ert-deftest backstaff-terminal-shows-the-report-of-the-doctor ()
  (backstaff-terminal-tests-in-emacs
      80 50 '(("a.txt" . ""))
      '(progn (backstaff-doctor) (delete-other-windows))
    (let ((screen (backstaff-terminal-tests-wait-for "^\\(All is well\\|.*failed: .*\\)\\.  ")))
      (should (cl-find "All is well." screen :test #'string-prefix-p))
      (should (cl-some (apply-partially #'string-match-p "(Help.*Wrap)")
                       screen)))))

(ert-deftest backstaff-terminal-shows-definitions-in-their-order ()
  (backstaff-terminal-tests-in-emacs
      80 24 '(("a.py" . "def prune(): pass\n\nclass Server:\n    def run(self): pass\n"))
      '(progn (setq backstaff-use-consult nil) (global-set-key (kbd "C-c b") backstaff-map)
              (message "Here"))
    (backstaff-terminal-tests-wait-for "^Here$")
    (backstaff-terminal-tests-press "C-c" "b" "s" "r" "u" "Tab" "Tab")
    (let ((screen (backstaff-terminal-tests-wait-for "prune.*a.py:1")))
      ;; The place stands beside the name once, and not in front of it.
      (should (cl-find-if (apply-partially #'string-match-p "Server\\.run +a\\.py:4") screen))
      (should-not (cl-find-if (apply-partially #'string-match-p "a\\.py:4:Server") screen)))
    (backstaff-terminal-tests-press "Enter")
    (backstaff-terminal-tests-wait-for "^    def run")))

;;; The tutorial

(defun backstaff-terminal-tests-tutorial ()
  "Return the tutorial of the manual: (SHELL LISP STEPS).
SHELL is its code, and LISP binds the key.  STEPS is a list of (\"Type\" KEYS) and
\(\"See\" TEXT)."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "docs/backstaff.org" backstaff-test-repository))
    (re-search-forward "^(global-set-key ")
    (forward-line 0)
    (let ((lisp (read (current-buffer))) (shell nil) (steps nil))
      (re-search-forward "^\\* Tutorial$")
      (narrow-to-region (point) (save-excursion (re-search-forward "^\\* ") (point)))
      (re-search-forward "^#\\+begin_src sh\n\\(\\(?:.*\n\\)*?\\)#\\+end_src$")
      (setq shell (match-string 1))
      (goto-char (point-min))
      (while (re-search-forward "^- \\(Type\\|See\\) :: [~=]\\(.+\\)[~=]$" nil t)
        (push (list (match-string 1) (match-string 2)) steps))
      (list shell lisp (nreverse steps)))))

(defun backstaff-terminal-tests-type (keys)
  "Press KEYS, as Emacs calls them, with words of text among them."
  (let ((before nil))
    (dolist (word (split-string keys " "))
      (pcase word
        ("RET" (backstaff-terminal-tests-press "Enter"))
        ("TAB" (backstaff-terminal-tests-press "Tab"))
        ((pred (string-match-p "\\`[CM]-.\\'")) (backstaff-terminal-tests-press word))
        ;; A letter alone is a key, and longer words are a text with blanks.
        (_ (backstaff-terminal-tests-press "-l" (if before (concat " " word) word))))
      (setq before (> (length word) 3)))))

(ert-deftest backstaff-terminal-shows-what-the-tutorial-says ()
  (backstaff-test-needs "git" (executable-find "git"))
  (pcase-let ((`(,shell ,lisp ,steps) (backstaff-terminal-tests-tutorial)))
    (should (> (length steps) 16))
    (backstaff-terminal-tests-in-emacs 120 40 nil
        `(progn (setenv "HOME" (directory-file-name default-directory))
                (setq backstaff-root-directory nil)
                ,lisp)
      (let ((process-environment (cons (concat "HOME=" (directory-file-name root))
                                       process-environment)))
        (should (zerop (call-process "sh" nil nil nil "-ec" shell))))
      (backstaff-terminal-tests-wait-for "scratch")
      (pcase-dolist (`(,kind ,text) steps)
        (if (equal kind "Type")
            (backstaff-terminal-tests-type text)
          (backstaff-terminal-tests-wait-for (regexp-quote text)))))))

(provide 'backstaff-terminal-tests)
;;; backstaff-terminal-tests.el ends here
