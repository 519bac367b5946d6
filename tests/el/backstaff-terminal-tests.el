;;; backstaff-terminal-tests.el --- The screen of a real terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The screen as a user of a text terminal sees it.

;;; Code:

(require 'backstaff-terminal-fixtures)

(ert-deftest backstaff-terminal-shows-a-tree-that-folds ()
  (backstaff-terminal-test-in-emacs
      100 24 '(("src" ("deep" ("a.c" . "")) ("日本.c" . "")) ("new\nline\e[31m" . "")
               ("שלום" . "") ("zz" . ""))
      '(progn (delete-other-windows) (backstaff-tree default-directory) (delete-other-windows))
    (backstaff-terminal-test-wait-for "zz$")
    ;; The mode line comes after the text, and says until then that the buffer waits.
    (let ((screen (backstaff-terminal-test-wait-for "(Tree Outl)")))
      (should (string-match-p " 6 names " (nth 1 screen)))
      (should (cl-find "  \"new\\nline\\u001b[31m\"" screen :test #'equal))
      ;; Emacs writes it from the right, and nothing else.
      (should (cl-find "  םולש" screen :test #'equal)))
    (backstaff-terminal-test-press "M-<" "n" "n" "Tab")
    (backstaff-terminal-test-wait-for "^      a.c$")
    (backstaff-terminal-test-press "M-<" "n" "Tab")
    (let ((screen (backstaff-terminal-test-wait-for "^  src/ 2 …$")))
      (should (equal (nth 4 screen) "  \"new\\nline\\u001b[31m\"")))))

(ert-deftest backstaff-terminal-has-room-for-the-whole-menu ()
  (backstaff-terminal-test-in-emacs 80 24 '(("a.txt" . ""))
      '(progn (require 'backstaff-ui-menu) (message "Here"))
    (backstaff-terminal-test-wait-for "^Here$")
    (backstaff-terminal-test-press "M-x" "backstaff" "Enter")
    (let ((screen (backstaff-terminal-test-wait-for " S Stop")))
      (should (cl-some (apply-partially #'string-prefix-p "Backstaff ") screen))
      ;; The last entry of each column.
      (dolist (entry '(" g Changes since" " a Answers to a question" " i A file's type, size, times"))
        (should (cl-some (apply-partially #'string-search entry) screen))))))

(ert-deftest backstaff-terminal-shows-an-overview-from-its-first-line ()
  (backstaff-terminal-test-in-emacs
      ;; The window of the overview has four lines, which end above the map.
      80 14 '(("README.md" . "") ("Makefile" . "") ("src" ("main.c" . "")))
      '(backstaff-overview default-directory)
    (backstaff-terminal-test-wait-for "no git, ")
    (let ((screen (backstaff-terminal-test-wait-for "*backstaff overview")))
      (should (cl-find "types:" screen :test #'string-prefix-p))
      (should-not (cl-find "./ " screen :test #'string-prefix-p)))
    ;; It does so in a window that becomes larger, where the page has room.
    (backstaff-terminal-test-press "C-x" "1")
    (let ((screen (backstaff-terminal-test-wait-for "^src/ main.c")))
      (should (string-match-p "^# .*no git, " (nth 1 screen))))))

(defconst backstaff-terminal-test-without-server
  '(progn (setq backstaff-server-command '("/nonexistent/python"))
          (global-set-key (kbd "C-c b") backstaff-map)
          (message "Here"))
  "What makes an Emacs that can start no server.")

(ert-deftest backstaff-terminal-shows-why-no-file-is-found ()
  (backstaff-terminal-test-in-emacs 80 24 '(("a.txt" . "")) backstaff-terminal-test-without-server
    (backstaff-terminal-test-wait-for "^Here$")
    (backstaff-terminal-test-press "C-c" "b" "f" "a" "Tab")
    (backstaff-terminal-test-wait-for "Find file: a \\[Backstaff cannot start its server")))

(ert-deftest backstaff-terminal-shows-what-to-do-in-a-small-report ()
  (backstaff-terminal-test-in-emacs 80 24 '(("a.txt" . "")) backstaff-terminal-test-without-server
    (backstaff-terminal-test-wait-for "^Here$")
    (backstaff-terminal-test-press "C-c" "b" "d")
    (backstaff-terminal-test-wait-for "^FAILED Command ")
    (backstaff-terminal-test-wait-for "^ +To do: Customize `?")))

(ert-deftest backstaff-terminal-shows-the-report-of-the-doctor ()
  (backstaff-terminal-test-in-emacs
      80 50 '(("a.txt" . ""))
      '(progn (backstaff-doctor) (delete-other-windows))
    (let ((screen (backstaff-terminal-test-wait-for "^\\(All\\|Not all\\) is well")))
      (should (cl-find "All is well." screen :test #'string-prefix-p))
      (should (cl-some (apply-partially #'string-match-p "(Help.*Wrap)")
                       screen)))))

(ert-deftest backstaff-terminal-shows-definitions-in-their-order ()
  (backstaff-terminal-test-in-emacs
      80 24 '(("a.py" . "def prune(): pass\n\nclass Server:\n    def run(self): pass\n"))
      '(progn (global-set-key (kbd "C-c b") backstaff-map) (message "Here"))
    (backstaff-terminal-test-wait-for "^Here$")
    (backstaff-terminal-test-press "C-c" "b" "s" "r" "u" "Tab" "Tab")
    (let ((screen (backstaff-terminal-test-wait-for "prune.*a.py:1")))
      ;; The place stands beside the name once, and not in front of it.
      (should (cl-find-if (apply-partially #'string-match-p "Server\\.run +a\\.py:4") screen))
      (should-not (cl-find-if (apply-partially #'string-match-p "a\\.py:4:Server") screen)))
    (backstaff-terminal-test-press "Enter")
    (backstaff-terminal-test-wait-for "^    def run")))

;;; The tutorial

(defun backstaff-terminal-test-tutorial ()
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

(defun backstaff-terminal-test-type (keys)
  "Press KEYS, as Emacs calls them, with words of text among them."
  (let ((before nil))
    (dolist (word (split-string keys " "))
      (pcase word
        ("RET" (backstaff-terminal-test-press "Enter"))
        ("TAB" (backstaff-terminal-test-press "Tab"))
        ((pred (string-match-p "\\`[CM]-.\\'")) (backstaff-terminal-test-press word))
        ;; A letter alone is a key, and longer words are a text with blanks.
        (_ (backstaff-terminal-test-press "-l" (if before (concat " " word) word))))
      (setq before (> (length word) 3)))))

(ert-deftest backstaff-terminal-shows-what-the-tutorial-says ()
  (backstaff-test-needs "git" (executable-find "git"))
  (pcase-let ((`(,shell ,lisp ,steps) (backstaff-terminal-test-tutorial)))
    (should (> (length steps) 16))
    (backstaff-terminal-test-in-emacs 120 40 nil
        `(progn (setenv "HOME" (directory-file-name default-directory))
                (setq backstaff-root-directory nil)
                ,lisp)
      (let ((process-environment (cons (concat "HOME=" (directory-file-name root))
                                       process-environment)))
        (should (zerop (call-process "sh" nil nil nil "-ec" shell))))
      (backstaff-terminal-test-wait-for "scratch")
      (pcase-dolist (`(,kind ,text) steps)
        (if (equal kind "Type")
            (backstaff-terminal-test-type text)
          (backstaff-terminal-test-wait-for (regexp-quote text)))))))

(provide 'backstaff-terminal-tests)
;;; backstaff-terminal-tests.el ends here
