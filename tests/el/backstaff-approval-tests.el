;;; backstaff-approval-tests.el --- Questions before a tool runs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The question is the real one, in a real terminal.  The file "answer" has the text that the
;; model got.

;;; Code:

(require 'backstaff-terminal-fixtures)

(defconst backstaff-approval-tests-prompt "which may hold secrets\\? (yes or no)"
  "Regexp for the line of the screen on which the question takes keys.")

(defun backstaff-approval-tests-call (&optional file)
  "Return a form that lets a model read .env and writes what it got to FILE.
Tests read the question as fast as a machine can, unless they have set how fast."
  `(progn
     (require 'backstaff-approval)
     (when (equal backstaff-approval--reading-seconds 0.5)
       (setq backstaff-approval--reading-seconds 0))
     (backstaff-call-async "workspace/read_file" '(:path ".env")
                           (lambda (reply)
                             (write-region (plist-get reply :text) nil ,(or file "answer") nil
                                           'silent))
                           '(:agent t :text-only t))))

(defmacro backstaff-approval-tests-asked (form &rest body)
  "Run BODY in a terminal where a model has asked for .env.
The user writes a text.  FORM is evaluated before."
  (declare (indent 1) (debug t))
  `(backstaff-terminal-test-in-emacs 160 24 '((".env" . "API_KEY=hunter2\n") ("text" . ""))
       (list 'progn '(find-file "text") ,form '(setq backstaff-call-timeout 60)
             (backstaff-approval-tests-call))
     ;; Until Emacs reads keys, the terminal itself would take C-s.
     (backstaff-terminal-test-wait-for "(Fundamental)")
     ,@body))

(defconst backstaff-approval-tests-patient
  '(progn
     (require 'backstaff-approval)
     (setq backstaff-approval--quiet-seconds 3600)
     (run-at-time 0 0.05 (lambda ()
                           (when (file-exists-p "go")
                             (setq backstaff-approval--quiet-seconds 0.2)
                             (write-region "" nil "gone" nil 'silent)
                             (delete-file "go")))))
  "What lets a question wait for a key until `backstaff-approval-tests-go'.
However busy the machine is, keys of the test come in time.")

(defun backstaff-approval-tests-go ()
  "Let a question come after a moment without a key, from the next key on."
  (write-region "" nil "go" nil 'silent)
  (backstaff-test-wait-for (file-exists-p "gone")))

(defun backstaff-approval-tests-answer (&optional file)
  "Return what the model got, which is in FILE; wait for it."
  (let ((file (or file "answer")))
    (backstaff-test-wait-for (and (file-exists-p file)
                                  (> (file-attribute-size (file-attributes file)) 0)))
    (with-temp-buffer
      (insert-file-contents file)
      (buffer-string))))

(ert-deftest backstaff-approval-takes-the-whole-word-whatever-the-options ()
  (dolist (option '((ignore)
                    (setq use-short-answers t)
                    (setq use-dialog-box nil use-short-answers t)
                    (fset 'yes-or-no-p #'y-or-n-p)
                    (setq last-nonmenu-event nil)))
    (ert-info ((format "%S" option))
      (backstaff-approval-tests-asked option
        (dolist (keys '("" "y" "n" "yellow" "YES" "yes please"))
          (ert-info (keys)
            ;; A key ends the time for which the message of the last answer stays.
            (backstaff-terminal-test-press "-l" keys)
            (backstaff-terminal-test-wait-for
             (concat backstaff-approval-tests-prompt (and (> (length keys) 0) " ") keys "$"))
            (backstaff-terminal-test-press "Enter")
            (backstaff-terminal-test-wait-for "Please type the whole word")
            (should-not (file-exists-p "answer"))))
        (backstaff-terminal-test-press "-l" "yes")
        (backstaff-terminal-test-press "Enter")
        (should (string-search "hunter2" (backstaff-approval-tests-answer)))))))

(ert-deftest backstaff-approval-takes-no-yes-that-comes-with-the-question ()
  (backstaff-approval-tests-asked '(progn (require 'backstaff-approval)
                                          (setq backstaff-approval--reading-seconds 3600))
    (backstaff-terminal-test-wait-for backstaff-approval-tests-prompt)
    (backstaff-terminal-test-press "-l" "yes")
    (backstaff-terminal-test-press "Enter")
    (backstaff-terminal-test-wait-for "That yes came with the question")
    (should-not (file-exists-p "answer"))
    (backstaff-terminal-test-wait-for (concat backstaff-approval-tests-prompt "$"))
    (backstaff-terminal-test-press "no" "Enter")
    (should (string-search "did not approve" (backstaff-approval-tests-answer)))))

(ert-deftest backstaff-approval-is-refused-by-no-and-by-a-quit ()
  (dolist (keys '(("n" "o" "Enter") ("C-g")))
    (backstaff-approval-tests-asked nil
      (backstaff-terminal-test-wait-for backstaff-approval-tests-prompt)
      (apply #'backstaff-terminal-test-press keys)
      (should (string-search "did not approve" (backstaff-approval-tests-answer))))))

(ert-deftest backstaff-approval-leaves-a-fast-line-to-the-users-text ()
  (backstaff-approval-tests-asked
      (append backstaff-approval-tests-patient
              ;; It is announced though the user has just begun.
              '((advice-add 'backstaff-approval--typing-p :override #'input-pending-p)))
    (backstaff-terminal-test-wait-for "In a moment: Let workspace/read_file read")
    (backstaff-approval-tests-go)
    (backstaff-terminal-test-press "-l" "yes")
    (backstaff-terminal-test-press "Enter")
    (backstaff-terminal-test-wait-for "\\`yes$")
    (backstaff-terminal-test-wait-for backstaff-approval-tests-prompt)
    (should-not (file-exists-p "answer"))))

(ert-deftest backstaff-approval-takes-no-key-from-the-queue ()
  (backstaff-approval-tests-asked
      '(progn
         (global-set-key (kbd "<f5>")
                         (lambda ()
                           (interactive)
                           (write-region "" nil "begun" nil 'silent)
                           (redisplay)
                           ;; The command stays busy until the keys are in the queue.  It
                           ;; reads none, so only the file can tell it.
                           (while (not (file-exists-p "go")) (sleep-for 0.01))))
         (setq unread-command-events (list 'f5)))
    (backstaff-test-wait-for (file-exists-p "begun"))
    (backstaff-terminal-test-press "-l" "yes")
    (backstaff-terminal-test-press "Enter")
    (write-region "" nil "go")
    (backstaff-terminal-test-wait-for "\\`yes$")
    (backstaff-terminal-test-wait-for backstaff-approval-tests-prompt)
    (should-not (file-exists-p "answer"))))

(ert-deftest backstaff-approval-waits-for-the-users-own-minibuffer-search-and-macro ()
  (pcase-dolist (`(,begin ,sign ,end) '((("M-x") "M-x" ("C-g")) (("C-s") "I-search" ("Enter"))
                                        (("C-x" "(") "Defining" ("C-x" ")"))
                                        (("C-x") "C-x-" ("C-g"))))
    (ert-info (sign)
      (backstaff-terminal-test-in-emacs 160 24 '((".env" . "API_KEY=hunter2\n") ("text" . ""))
          `(progn
             (find-file "text")
             (require 'backstaff-approval)
             (setq backstaff-call-timeout 60 backstaff-approval--quiet-seconds 0 echo-keystrokes 0.01)
             (defvar told nil)
             (advice-add 'backstaff-approval-ask :filter-return (lambda (answer) (setq told answer)))
             (run-at-time 0 0.05 (lambda ()
                                   (when told
                                     (write-region "" nil (format "%s" told) nil 'silent)
                                     (setq told nil))
                                   (when (file-exists-p "go")
                                     (delete-file "go")
                                     ,(backstaff-approval-tests-call)))))
        (backstaff-terminal-test-wait-for "(Fundamental)")
        (apply #'backstaff-terminal-test-press begin)
        (backstaff-terminal-test-wait-for sign)
        (unless (equal begin '("C-x"))
          (backstaff-terminal-test-press "-l" "yes")
          (backstaff-terminal-test-wait-for "yes"))
        (write-region "" nil "go" nil 'silent)
        ;; The question was to be asked, and was put off.
        (backstaff-test-wait-for (file-exists-p ":busy"))
        (apply #'backstaff-terminal-test-press end)
        (backstaff-terminal-test-wait-for backstaff-approval-tests-prompt)
        (should-not (file-exists-p "answer"))))))

(ert-deftest backstaff-approval-questions-come-one-after-the-other ()
  (backstaff-approval-tests-asked (backstaff-approval-tests-call "other")
    (dolist (word '("yes" "no"))
      (backstaff-terminal-test-wait-for "In a moment: ")
      (backstaff-terminal-test-wait-for backstaff-approval-tests-prompt)
      (backstaff-terminal-test-press "-l" word)
      (backstaff-terminal-test-press "Enter"))
    ;; The server may answer the second call first.
    (let ((answers (list (backstaff-approval-tests-answer) (backstaff-approval-tests-answer "other"))))
      (should (= (cl-count-if (apply-partially #'string-search "hunter2") answers) 1))
      (should (= (cl-count-if (apply-partially #'string-search "did not approve") answers) 1)))))

(ert-deftest backstaff-approval-without-an-answer-in-time-is-a-refusal ()
  (backstaff-approval-tests-asked
      ;; The time begins with the question, because a machine may be slow to come to it.
      '(progn (require 'backstaff-approval)
              (advice-add 'backstaff-approval--read :around
                          (lambda (read question)
                            (let ((backstaff-approval-deadline (+ (float-time) 1)))
                              (funcall read question)))))
    (backstaff-terminal-test-wait-for backstaff-approval-tests-prompt)
    (should (string-search "did not answer within 60 seconds" (backstaff-approval-tests-answer)))))


;;; In a frame

(ert-deftest backstaff-approval-in-a-frame-is-no-dialog ()
  (backstaff-test-needs "Xvfb" (executable-find "Xvfb"))
  (backstaff-test-needs "an Emacs with frames" (fboundp 'x-create-frame))
  (backstaff-test-with-tree '((".env" . "API_KEY=hunter2\n"))
    (let* ((number "")
           (screen (make-process :name "xvfb" :noquery t :command '("Xvfb" "-displayfd" "1")
                                 :stderr (generate-new-buffer " *xvfb*") :sentinel #'ignore
                                 :filter (lambda (_ text) (setq number (concat number text)))))
           (emacs nil))
      (unwind-protect
          (let ((process-environment (copy-sequence process-environment)))
            (backstaff-test-wait-for (string-suffix-p "\n" number))
            (setenv "DISPLAY" (concat ":" (string-trim number)))
            (setq emacs
                  (make-process
                   :name "emacs" :noquery t :sentinel #'ignore
                   :command
                   (backstaff-terminal-test-emacs
                    root
                    `(let ((answers '("\r" "y\r" "yellow\r" "yes\r")))
                       (setq backstaff-call-timeout 60)
                       (dolist (dialog '(x-popup-dialog x-popup-menu))
                         (advice-add dialog :before
                                     (lambda (&rest _) (write-region "" nil "dialog"))))
                       (add-hook 'minibuffer-setup-hook
                                 (lambda ()
                                   (write-region (concat (minibuffer-prompt) "\n") nil "prompts" t)
                                   (setq unread-command-events
                                         (listify-key-sequence (pop answers)))))
                       ,(backstaff-approval-tests-call)))))
            (should (string-search "hunter2" (backstaff-approval-tests-answer)))
            (should-not (file-exists-p "dialog"))
            ;; The question came again after each wrong answer.
            (should (= 4 (length (split-string (backstaff-approval-tests-answer "prompts")
                                               "\n" t)))))
        (when emacs (delete-process emacs))
        (delete-process screen)))))


(ert-deftest backstaff-approval-leaves-a-quit-to-the-user-who-has-not-seen-the-question ()
  (let ((noninteractive nil) (inhibit-quit t) (reached nil))
    (cl-letf (((symbol-function 'backstaff-approval--typing-p)
               (lambda () (setq quit-flag t) t))
              ((symbol-function 'read-from-minibuffer)
               (lambda (&rest _) (ert-fail "Somebody was asked"))))
      ;; A timer asks, and the key came while it looked whether the user types.
      (let ((call (backstaff--make-call :method "a/b" :args '(:path ".") :context '(:root "/")
                                        :finish #'ignore :fail #'ignore)))
        (backstaff--ask call '(:error (:code "APPROVAL_REQUIRED")) nil)
        (setq reached (list quit-flag (backstaff--call-ended call))
              quit-flag nil)
        (funcall (backstaff--call-stop call))))
    (should (equal reached '(t nil)))))


;;; Without a terminal

(ert-deftest backstaff-approval-asks-nobody-where-nobody-can-answer ()
  (cl-letf (((symbol-function 'read-from-minibuffer)
             (lambda (&rest _) (ert-fail "Somebody was asked"))))
    (should (eq (backstaff-approval-ask "a/b" '(:path ".")) :unasked))
    (let ((noninteractive nil))
      (let ((backstaff-approval-caller-waits t))
        (should (eq (backstaff-approval-ask "a/b" '(:path ".")) :unasked))))))

(defun backstaff-approval-tests-prompt-for (args)
  "Return the prompt for a call of a tool with ARGS."
  (let ((noninteractive nil) (prompt nil) (backstaff-approval--reading-seconds 0))
    (cl-letf (((symbol-function 'sit-for) #'always)
              ((symbol-function 'backstaff-approval--typing-p) #'ignore)
              ((symbol-function 'read-from-minibuffer)
               (lambda (text &rest _) (setq prompt text) "yes")))
      (should (eq (backstaff-approval-ask "a/b" args) t)))
    prompt))

(ert-deftest backstaff-approval-names-the-tool-and-its-arguments ()
  (should (equal (backstaff-approval-tests-prompt-for '(:path "x"))
                 "Let a/b run with (:path \"x\")? (yes or no) ")))

(ert-deftest backstaff-approval-question-cannot-be-forged-by-the-arguments ()
  (should (string-match-p
           "\\`Let a/b run with (:path \"x[ -~]*…?\\? (yes or no) \\'"
           (backstaff-approval-tests-prompt-for '(:path "x\n\n\u202eLet c/d\e[31m run? ")))))

(provide 'backstaff-approval-tests)
;;; backstaff-approval-tests.el ends here
