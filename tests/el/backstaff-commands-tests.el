;;; backstaff-commands-tests.el --- Tests of backstaff-ui-commands.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-commands)

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


;;; Listing

(ert-deftest backstaff-commands-are-listed ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (backstaff-view-test-open #'backstaff-list-commands)
    (should (equal (backstaff-view-test-names) '("deploy" "review" "test-all")))
    (should (member "review                Look at a change twice." (backstaff-view-test-lines)))
    (should (string-match-p "3 commands" (backstaff-view-test-header)))))

(ert-deftest backstaff-commands-show-one ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (backstaff-view-test-open #'backstaff-list-commands)
    (backstaff-view-test-go-to "deploy")
    (backstaff-view-test-press "w")
    (should (equal (current-kill 0) (concat root ".claude/commands/deploy.md")))
    (backstaff-view-test-press "RET")
    (should (eq major-mode 'backstaff-command-mode))
    (should (equal (buffer-name) "*backstaff command: deploy*"))
    (should (string-match-p "\\`Command: deploy\n\\(.*\n\\)*# Deploy\nNow.\n"
                            (buffer-string)))
    (backstaff-view-test-press "RET")
    (should (equal buffer-file-name (concat root ".claude/commands/deploy.md")))))

(ert-deftest backstaff-commands-lead-back-and-forth ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (backstaff-view-test-open #'backstaff-list-commands)
    (backstaff-view-test-go-to "review")
    (backstaff-view-test-press "RET" "w")
    (should (equal (current-kill 0) (concat root ".claude/commands/review.md")))
    (backstaff-view-test-press "^")
    (should (eq major-mode 'backstaff-commands-mode))
    (should (equal (backstaff-view-test-name) "review"))
    (backstaff-view-test-press "o")
    (should (equal buffer-file-name (concat root ".claude/commands/review.md")))))

(ert-deftest backstaff-commands-lead-to-their-directory ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (let ((link (make-temp-name (expand-file-name "backstaff-" temporary-file-directory))))
      (make-symbolic-link root link)
      (unwind-protect
          (dolist (backstaff-root-directory (list root (file-name-as-directory link)))
            (dolist (keys '(("=") ("RET" "=")))
              (backstaff-view-test-open #'backstaff-list-commands)
              (backstaff-view-test-go-to "review")
              (backstaff-view-test-press "C-u w")
              (should (equal (current-kill 0) ".claude/commands/review.md"))
              (apply #'backstaff-view-test-press keys)
              (should (eq major-mode 'backstaff-inspector-mode))
              (should (equal (backstaff-view-get :arguments)
                             '(:path ".claude/commands/review.md")))
              (quit-window)))
        (delete-file link)))))

(ert-deftest backstaff-commands-are-searched-only-where-there-are-some ()
  (backstaff-view-test-project nil
    (backstaff-view-test-open #'backstaff-list-commands)
    (should (equal (should-error (execute-kbd-macro (kbd "s it RET")) :type 'user-error)
                   '(user-error "There are no commands to search")))))

(ert-deftest backstaff-commands-are-all-in-one-buffer ()
  (backstaff-commands-tests-shown (backstaff-commands-tests-many 230)
    (backstaff-view-test-open #'backstaff-list-commands)
    (backstaff-test-wait-for (= (length (backstaff-view-test-names)) 230))
    (should (string-match-p "230 commands" (backstaff-view-test-header)))
    (should (equal (backstaff-view-test-name) "c001"))
    (backstaff-view-test-go-to "c230")
    (backstaff-view-test-press "RET")
    (should (string-match-p "Number 230" (buffer-string)))
    ;; The way back leads to the same line.
    (backstaff-view-test-press "^")
    (backstaff-test-wait-for (equal (backstaff-view-test-name) "c230"))))

(ert-deftest backstaff-commands-are-searched ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (backstaff-view-test-open #'backstaff-list-commands)
    (backstaff-view-test-press "s slow SPC tests RET")
    (should (equal (backstaff-view-test-names) '("test-all")))
    (should (string-match-p "1 command of 3 for slow tests" (backstaff-view-test-header)))
    (backstaff-view-test-press "^")
    (should (= (length (backstaff-view-test-names)) 3))
    (should-error (execute-kbd-macro "^") :type 'user-error)
    (backstaff-view-test-press "s RET")
    (should (string-match-p "\\`Error: Argument 'query' is empty" (buffer-string)))
    (backstaff-view-test-press "^")
    (should (= (length (backstaff-view-test-names)) 3))))

(ert-deftest backstaff-commands-without-a-folder-say-so ()
  (backstaff-view-test-project nil
    (backstaff-commands-tests-need-tools)
    (backstaff-view-test-open #'backstaff-list-commands)
    (should (string-match-p "\\`There are no commands here.  Put Markdown files into .claude/"
                            (buffer-string)))
    (should (string-match-p "no command" (backstaff-view-test-header)))
    (make-directory (expand-file-name ".claude/commands" root) t)
    (backstaff-view-test-press "g")
    (should (string-match-p "There are no commands" (backstaff-view-test-notes)))))

(ert-deftest backstaff-commands-tell-of-those-in-sub-folders ()
  (backstaff-commands-tests-shown '(("git" ("commit.md" . "Commit.\n") ("push.md" . "Push.\n"))
                                    ("flat.md" . "Flat.\n"))
    (backstaff-view-test-open #'backstaff-list-commands)
    (should (equal (backstaff-view-test-names) '("flat")))
    (should (string-match-p "2 files in 1 sub-folder: not read unless" (backstaff-view-test-notes)))
    (delete-file (expand-file-name ".claude/commands/flat.md" root))
    (backstaff-view-test-press "g")
    (should (string-match-p "There are no commands" (backstaff-view-test-notes)))
    (should (string-match-p "2 files in 1 sub-folder" (backstaff-view-test-notes)))))

(ert-deftest backstaff-commands-show-names-and-descriptions-harmlessly ()
  (backstaff-commands-tests-shown
      `(("new\nline.md" . "Turns \u202e round.\n")
        (,(string-to-multibyte "stray-\351.md") . "It has a byte.\n"))
    (backstaff-view-test-open #'backstaff-list-commands)
    (should-not (string-match-p "[\0-\11\13-\37\u202e\200-\377]" (buffer-string)))
    (dolist (name (list "new\nline" (string-to-multibyte "stray-\351")))
      (backstaff-view-test-open #'backstaff-list-commands)
      (backstaff-view-test-go-to (backstaff-names-show name))
      (backstaff-view-test-press "o")
      (should (equal (encode-coding-string buffer-file-name 'utf-8-emacs)
                     (encode-coding-string (format "%s.claude/commands/%s.md" root name)
                                           'utf-8-emacs))))))


;;; Completion

(ert-deftest backstaff-find-command-completes ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (execute-kbd-macro (kbd "M-x backstaff-find-command RET dep RET"))
    (backstaff-view-test-settle)
    (should (equal (buffer-name) "*backstaff command: deploy*"))))

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
             "Type a name; M-x backstaff-list-commands"
             (cadr (should-error (execute-kbd-macro
                                  (kbd "M-x backstaff-find-command RET RET"))
                                 :type 'user-error))))))

(ert-deftest backstaff-commands-show-kinds-and-what-is-shadowed ()
  (backstaff-test-with-sources
    (backstaff-view-test-project backstaff-test-skills
      (backstaff-view-test-open #'backstaff-list-commands)
      (should (equal (backstaff-view-test-names) '("bare" "git:commit" "hand" "odd" "pdf" "pdf")))
      (let ((lines (string-join (backstaff-view-test-lines) "\n")))
        (dolist (line '("^git:commit +command in \\.claude/commands; Commit it\\."
                        "^odd +skill in \\.agents/skills; <file> Turns\\\\u202e round"
                        "^bare +skill in \\.claude/skills; it has no name.*; Nothing said\\."
                        "^pdf +skill in \\.agents/skills; Fills forms"
                        "^pdf +skill in \\.claude/skills; shadowed by \\.agents/skills/pdf/SKILL\\.md; Other"))
          (should (string-match-p line lines))))
      ;; One that is shadowed shows itself, not what counts in its place.
      (goto-char (point-max))
      (forward-line -1)
      (while (not (equal (backstaff-view-test-name) "pdf")) (forward-line -1))
      (backstaff-view-test-press "RET")
      (should (string-match-p "description: Other" (buffer-string)))
      (should (equal (plist-get backstaff-view-subject :path) ".claude/skills/pdf/SKILL.md"))
      (backstaff-view-test-press "^" "s commit RET")
      (should (equal (backstaff-view-test-names) '("git:commit")))
      (backstaff-view-test-press "RET")
      (should (string-match-p "Commit it" (buffer-string))))))

(ert-deftest backstaff-find-command-completes-what-counts ()
  (backstaff-test-with-sources
    (backstaff-view-test-project backstaff-test-skills
      (should (equal (mapcar #'cadr (backstaff-commands--fetch root))
                     '("bare" "git:commit" "hand" "odd" "pdf"))))))

(ert-deftest backstaff-find-command-annotates ()
  (backstaff-commands-tests-shown backstaff-commands-tests-commands
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt table &rest _)
                 (let ((metadata (completion-metadata "" table nil)))
                   (should (eq (completion-metadata-get metadata 'category)
                               'backstaff-command))
                   (should (equal (sort (all-completions "" table) #'string<)
                                  '("deploy" "review" "test-all")))
                   (should (string-match-p
                            "\\` +Put it on the servers\\'"
                            (funcall (completion-metadata-get metadata 'annotation-function)
                                     "deploy")))
                   "deploy"))))
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
    (should (= (length (backstaff-server-call 'cancellations nil :timeout 5)) 1))))

(provide 'backstaff-commands-tests)
;;; backstaff-commands-tests.el ends here
