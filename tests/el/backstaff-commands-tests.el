;;; backstaff-commands-tests.el --- Tests of backstaff-ui-find.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-find)

(defmacro backstaff-commands-tests-shown (commands &rest body)
  "Run BODY in a project that has COMMANDS, a list of (FILE . CONTENT).
Skip the test if the server has no tools for them."
  (declare (indent 1) (debug t))
  `(backstaff-view-test-project (list (list ".claude" (cons "commands" ,commands)))
     (backstaff-commands-tests-need-tools)
     ,@body))

(defun backstaff-commands-tests-need-tools ()
  "Fail if the server does not have the tools."
  (let ((ids (mapcar (lambda (tool) (plist-get tool :id)) (backstaff-tools))))
    (dolist (id '("commands/list_commands" "commands/search_commands"
                  "commands/get_command"))
      (unless (member id ids)
        (ert-fail (format "The server has no tool %s" id))))))

(defconst backstaff-commands-tests-commands
  '(("deploy.md" . "---\ndescription: Put it on the servers\n---\n# Deploy\nNow.\n")
    ("review.md" . "# Review\n\nLook at a change twice.\n")
    ("test-all.md" . "Run all tests, also the slow ones.\n"))
  "Some commands.")

(defun backstaff-commands-tests-many (count)
  "Return COUNT commands."
  (cl-loop for n from 1 to count
           collect (cons (format "c%03d.md" n) (format "Number %d.\n" n))))


;;; One command

(ert-deftest backstaff-commands-show-one ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (backstaff-view-test-open #'backstaff-find-command "deploy" root)
    (should (string-prefix-p "*backstaff command: deploy in " (buffer-name)))
    (should (string-match-p "\\`Command: deploy\n\\(.*\n\\)*# Deploy\nNow.\n"
                            (buffer-string)))
    (backstaff-view-test-press "w")
    (should (equal (current-kill 0) (concat root ".claude/commands/deploy.md")))
    (backstaff-view-test-press "RET")
    (should (equal buffer-file-name (concat root ".claude/commands/deploy.md")))))

(ert-deftest backstaff-commands-lead-to-their-file-through-a-link-to-the-root ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (let ((link (make-temp-name (expand-file-name "backstaff-" temporary-file-directory))))
      (make-symbolic-link root link)
      (unwind-protect
          (dolist (backstaff-root-directory (list root (file-name-as-directory link)))
            (backstaff-view-test-open #'backstaff-find-command "review" backstaff-root-directory)
            (backstaff-view-test-press "C-u w")
            (should (equal (current-kill 0) ".claude/commands/review.md"))
            (backstaff-view-test-press "=")
            (should (equal (backstaff-view-get :arguments) '(:path ".claude/commands/review.md")))
            (quit-window))
        (delete-file link)))))

(ert-deftest backstaff-commands-are-all-offered-and-listed-at-once ()
  (backstaff-commands-tests-shown (backstaff-commands-tests-many 230)
    (execute-kbd-macro (kbd "M-x backstaff-list-commands RET c230 RET"))
    (backstaff-view-test-settle)
    (should (string-match-p "Number 230" (buffer-string)))
    (should (with-current-buffer "*Completions*"
              (string-match-p "c001 +Number 1\\." (buffer-string))))
    (execute-kbd-macro (kbd "^ c007 RET"))
    (backstaff-view-test-settle)
    (should (string-match-p "Number 7" (buffer-string)))))

(ert-deftest backstaff-commands-show-names-and-descriptions-harmlessly ()
  (backstaff-commands-tests-shown
      `(("new\nline.md" . "Turns \u202e round.\n")
        (,(string-to-multibyte "stray-\351.md") . "It has a byte.\n"))
    (pcase-dolist (`(,label ,name ,annotation) (backstaff-commands--fetch root))
      (should-not (string-match-p "[\0-\37\u202e\200-\377]" (concat label annotation)))
      (should (equal label (backstaff-names-show name)))
      ;; The contract of get_command refuses control characters.
      (backstaff-view-test-open #'backstaff-find-command name root)
      (should-not (string-match-p "[\0-\11\13-\37\u202e\200-\377]" (buffer-string)))
      (unless (string-search "\n" name)
        (backstaff-view-test-press "o")
        (should (equal (encode-coding-string buffer-file-name 'utf-8-emacs)
                       (encode-coding-string (format "%s.claude/commands/%s.md" root name)
                                             'utf-8-emacs)))))))


;;; Completion

(ert-deftest backstaff-find-command-completes ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (execute-kbd-macro (kbd "M-x backstaff-find-command RET dep RET"))
    (backstaff-view-test-settle)
    (should (string-prefix-p "*backstaff command: deploy in " (buffer-name)))))

(ert-deftest backstaff-find-command-says-why-there-is-none ()
  (backstaff-view-test-project nil
    (cl-letf (((symbol-function 'completing-read)
               (lambda (&rest _) (ert-fail "There is nothing to prompt for"))))
      (should (equal (should-error (call-interactively #'backstaff-find-command)
                                   :type 'user-error)
                     '(user-error "No commands here yet: each is a Markdown file in the\
 project's .claude/commands")))
      (make-directory ".claude/commands" t)
      (should (equal (should-error (call-interactively #'backstaff-find-command)
                                   :type 'user-error)
                     '(user-error "There are no commands"))))))

(ert-deftest backstaff-find-command-takes-names-with-blanks ()
  (backstaff-commands-tests-shown '(("do it.md" . "One.\n") ("do this.md" . "Other.\n"))
    (execute-kbd-macro (kbd "M-x backstaff-find-command RET do SPC th TAB RET"))
    (should (equal (backstaff-view-get :tool) "do this"))))

(ert-deftest backstaff-find-command-without-a-name-says-so ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (should (string-match-p
             "Type the name of a command"
             (cadr (should-error (execute-kbd-macro
                                  (kbd "M-x backstaff-find-command RET RET"))
                                 :type 'user-error))))))

(ert-deftest backstaff-find-command-offers-skills-beside-commands ()
  (backstaff-test-with-skills
    (backstaff-view-test-project backstaff-test-skills
      (let ((commands (backstaff-commands--fetch root)))
        (should (equal (sort (mapcar #'car commands) #'string<)
                       '("bare" "commit" "hand" "odd" "pdf")))
        (should (string-match-p "Turns\\\\u202e round" (nth 2 (assoc "odd" commands))))
        ;; Of one name, that in the first directory counts.
        (backstaff-view-test-open #'backstaff-find-command (nth 1 (assoc "pdf" commands)) root)
        (should (string-match-p "description: Fills forms" (buffer-string)))))))

(ert-deftest backstaff-find-command-annotates ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt table &rest _)
                 (should (equal (sort (all-completions "" table) #'string<)
                                '("deploy" "review" "test-all")))
                 (should (string-match-p
                          "\\` +Put it on the servers\\'"
                          (funcall (plist-get completion-extra-properties :annotation-function)
                                   "deploy")))
                 "deploy")))
      (call-interactively #'backstaff-find-command)
      (should (equal (backstaff-view-get :tool) "deploy")))))

(ert-deftest backstaff-find-command-shows-names-harmlessly-and-finds-them ()
  (backstaff-commands-tests-shown '(("new\nline.md" . "Turns \u202e round.\n"))
    (execute-kbd-macro (kbd "M-x backstaff-find-command RET \"new TAB RET"))
    (should (equal (backstaff-view-get :tool) "new\nline"))))

(ert-deftest backstaff-find-command-knows-all-pages ()
  (backstaff-commands-tests-shown (backstaff-commands-tests-many 230)
    (execute-kbd-macro (kbd "M-x backstaff-find-command RET c229 RET"))
    (backstaff-view-test-settle)
    (should (string-match-p "Number 229" (buffer-string)))))

(ert-deftest backstaff-find-command-can-be-quit-while-it-waits ()
  (backstaff-view-test-fake "stalling"
    (run-at-time 0.2 nil (lambda () (setq quit-flag t)))
    (should (eq (condition-case nil
                    (let ((debug-on-quit nil))
                      (call-interactively #'backstaff-find-command))
                  (quit 'quit))
                'quit))
    (should (= (length (backstaff-test-call-server 'cancellations nil :timeout 5)) 1))))

(provide 'backstaff-commands-tests)
;;; backstaff-commands-tests.el ends here
