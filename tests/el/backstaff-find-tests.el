;;; backstaff-find-tests.el --- Visiting a file by a part of its name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'backstaff-ui-find)
(require 'backstaff-test-support)
(require 'backstaff-view-fixtures)

(defconst backstaff-find-tests-tree
  '((".git" . (("HEAD" . "ref: refs/heads/main\n") ("objects") ("refs")))
    (".gitignore" . "*.o\n")
    ("README.md" . "")
    ("src" . (("parser.c" . "") ("binary.o" . "") ("print_tree.c" . "")))
    ("tests" . (("test_parser.c" . ""))))
  "A project in which several names are alike.")

(defun backstaff-find-tests-file ()
  "Return the name of the file that the current buffer visits, below the root."
  (file-relative-name (buffer-file-name) backstaff-root-directory))

(defun backstaff-find-tests-type (keys)
  "Call the command and type KEYS; return the file that is visited then."
  (backstaff-test-typing keys (call-interactively #'backstaff-find-file))
  (set-buffer (window-buffer))
  (backstaff-find-tests-file))

(defmacro backstaff-find-tests-at-prompt (keys &rest body)
  "Type KEYS at the prompt, then run BODY there, and give up."
  (declare (indent 1) (debug t))
  `(let ((ran nil))
     (cl-letf (((symbol-function 'backstaff-find-tests-look)
                (lambda ()
                  (interactive)
                  ,@body
                  (setq ran t)
                  (abort-recursive-edit))))
       (define-key minibuffer-local-map [f12] 'backstaff-find-tests-look)
       (unwind-protect
           (condition-case nil
               (backstaff-test-typing (concat ,keys " <f12>")
                 (call-interactively #'backstaff-find-file))
             (quit nil))
         (define-key minibuffer-local-map [f12] nil)))
     (should ran)))

(defmacro backstaff-find-tests-under (library mode &rest body)
  "Run BODY under MODE of LIBRARY; skip the test if Emacs lacks it."
  (declare (indent 2) (debug t))
  `(progn
     (backstaff-test-needs ,(capitalize (symbol-name library)) (require ',library nil t))
     (,mode)
     (unwind-protect (progn ,@body)
       (,mode -1))))

(defun backstaff-find-tests-completions ()
  "Return the minibuffer's completions as an interface shows them."
  (let ((completions (completion-all-sorted-completions)))
    (when completions
      (setcdr (last completions) nil))
    completions))

(defun backstaff-find-tests-problem (keys)
  "Return what RET after KEYS says."
  (cadr (should-error (backstaff-find-tests-type (concat keys " RET")) :type 'user-error)))


;;; Visiting

(ert-deftest backstaff-find-file-visits-the-best-match ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "parser RET") "src/parser.c"))
    (should (equal (backstaff-find-tests-type "tstprs RET") "tests/test_parser.c"))
    (should (equal (backstaff-find-tests-type "c tree RET") "src/print_tree.c"))))

(ert-deftest backstaff-find-file-takes-blanks-between-words-as-they-are ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "tree SPC src RET") "src/print_tree.c"))
    (backstaff-find-tests-at-prompt "READ SPC md ?"
      (should (equal (minibuffer-contents-no-properties) "READ md?")))))

(ert-deftest backstaff-find-file-visits-nothing-before-anything-is-typed ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (string-match-p
             "Type a part"
             (cadr (should-error (backstaff-find-tests-type "RET") :type 'user-error))))
    (should (equal (backstaff-find-tests-problem "SPC") "Type a part of the name"))))

(ert-deftest backstaff-find-file-opens-the-directory-that-a-link-leads-to ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (make-symbolic-link "src" (concat backstaff-root-directory "link"))
    (backstaff-test-typing "link RET" (call-interactively #'backstaff-find-file))
    (with-current-buffer (window-buffer)
      (should (derived-mode-p 'dired-mode))
      (should (equal (file-name-nondirectory (directory-file-name default-directory))
                     "link")))))

;; While a buffer has changes, Emacs keeps a link such as ".#a.c" beside its file.
(ert-deftest backstaff-find-file-leaves-out-the-links-that-lock-files ()
  (backstaff-view-test-project '(("src" ("a.c" . "")) ("x.#a.c" . ""))
    (make-symbolic-link "me@host.1:2" (expand-file-name "src/.#a.c"))
    (make-symbolic-link "me@host.1:2" (expand-file-name ".#b.c"))
    (backstaff-find-tests-at-prompt "c"
      (should (equal (sort (all-completions "c" minibuffer-completion-table) #'string<)
                     '("src/a.c" "x.#a.c"))))))

(ert-deftest backstaff-find-file-lists-the-matches-at-the-first-tab ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (when (get-buffer "*Completions*")
      (kill-buffer "*Completions*"))
    (backstaff-find-tests-at-prompt "parser TAB"
      (should (equal (minibuffer-contents) "parser"))
      (with-current-buffer "*Completions*"
        (should (string-match-p "src/parser\\.c\\(.*\n?\\)*tests/test_parser\\.c" (buffer-string)))))))

(ert-deftest backstaff-find-file-visits-a-name-that-stands-in-full ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "README.md RET") "README.md"))
    (should (equal (backstaff-find-tests-type "M-p RET") "README.md"))))

(ert-deftest backstaff-find-file-completes-the-only-match ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "prtree TAB RET") "src/print_tree.c"))))

(ert-deftest backstaff-find-file-completes-to-a-name-that-it-finds ()
  (backstaff-view-test-project '(("back\\slash.txt" . "here"))
    (backstaff-find-tests-at-prompt "slash TAB"
      (should (equal (minibuffer-contents-no-properties) "\"back\\\\slash.txt\""))
      (should (equal (backstaff-find-tests-completions)
                     (list (minibuffer-contents-no-properties)))))
    (backstaff-find-tests-type "slash TAB RET")
    (should (equal (buffer-string) "here"))))

(ert-deftest backstaff-find-file-visits-names-of-all-kinds ()
  (let ((odd (string-to-multibyte "na\351.txt")))
    (backstaff-view-test-project nil
      (dolist (name (list "sp ace\nx.txt" "\"quoted\".txt" odd "a\u202eb.txt"))
        (let ((file (concat root name)))
          (write-region "here" nil file nil 'silent)
          (dolist (keys '("txt RET" "txt TAB RET"))
            (backstaff-find-tests-type keys)
            (should (equal (buffer-string) "here"))
            (should (equal (encode-coding-string (buffer-file-name) 'utf-8-emacs)
                           (encode-coding-string file 'utf-8-emacs)))
            (kill-buffer))
          (delete-file file))))))

(ert-deftest backstaff-find-file-says-why-nothing-matches ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-problem "zzzz")
                     "No file matches; 1 name is ignored by git"))
    (let ((problem (backstaff-find-tests-problem "binary.o")))
      (should (string-prefix-p "No file matches; 1 name is ignored by git" problem))
      (should-not (string-match-p "include_ignored" problem)))
    (should (equal (car (last (backstaff-view-test-messages
                                (backstaff-find-tests-at-prompt "zzzz"
                                  (should-not (backstaff-find-tests-completions))))))
                   "No file matches; 1 name is ignored by git"))))

(ert-deftest backstaff-find-file-says-what-is-wrong ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (string-match-p "longer than"
                            (backstaff-find-tests-problem
                             (make-string 2000 ?x))))))

(ert-deftest backstaff-find-file-says-in-plain-words-that-no-server-starts ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (let ((backstaff-server-command '("/nonexistent/python")))
      (backstaff-stop)
      (let ((problem (backstaff-find-tests-problem "parser")))
        (should (string-prefix-p "Backstaff cannot start its server: " problem))
        (should (string-search "/nonexistent/python.\nCustomize `backstaff-server-command'"
                               problem))
        (should-not (string-search "\"" problem))))))

(ert-deftest backstaff-find-file-offers-nothing-that-does-not-match ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (backstaff-find-tests-at-prompt "parser"
      (should-error (call-interactively (key-binding (kbd "<down>"))) :type 'user-error)
      (should (equal (minibuffer-contents-no-properties) "parser")))))


;;; Completions

(ert-deftest backstaff-find-file-keeps-the-order-of-the-server ()
  (backstaff-view-test-project '(("a" ("a_tree.c" . "") ("x_tree_of.c" . "")) ("tree.c" . "")
                                 ("z" ("tree.c" . "") ("treed.c" . "")))
    (backstaff-find-tests-at-prompt "tree"
      (let ((names '("tree.c" "z/tree.c" "z/treed.c" "a/a_tree.c" "a/x_tree_of.c"))
            (inhibit-message nil))
        (should (equal (backstaff-find-tests-completions) names))
        (minibuffer-completion-help)
        (with-current-buffer "*Completions*"
          (goto-char (point-min))
          (dolist (name names)
            (should (search-forward name nil t))))))))

(ert-deftest backstaff-find-file-completes-to-all-files-at-first ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (backstaff-find-tests-at-prompt ""
      (should (equal (sort (backstaff-find-tests-completions) #'string<)
                     '(".gitignore" "README.md" "src/parser.c" "src/print_tree.c"
                       "tests/test_parser.c"))))))

(ert-deftest backstaff-find-file-is-filtered-by-no-style-of-the-user ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (let ((completion-styles '(basic partial-completion))
          (completion-category-overrides '((project-file (styles basic)))))
      (backstaff-find-tests-at-prompt "c SPC tree"
        (should (equal (backstaff-find-tests-completions) '("src/print_tree.c"))))
      ;; As fido does.
      (let ((minibuffer-setup-hook (list (lambda () (setq-local completion-styles '(flex))))))
        (backstaff-find-tests-at-prompt "c SPC tree"
          (should (equal (backstaff-find-tests-completions) '("src/print_tree.c"))))))))

(ert-deftest backstaff-find-file-asks-nothing-before-an-answer-is-needed ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (let ((asked nil)
          (call (symbol-function 'backstaff-call-async)))
      (cl-letf (((symbol-function 'backstaff-call-async)
                 (lambda (id args &rest others)
                   (push (plist-get args :query) asked)
                   (apply call id args others))))
        (should (equal (backstaff-find-tests-type "parser RET") "src/parser.c")))
      (should (equal asked '("parser"))))))


;;; Waiting

(defmacro backstaff-find-tests-quit-p (&rest body)
  "Run BODY; return non-nil if it is quit."
  (declare (indent 0) (debug t))
  `(condition-case nil
       (let ((debug-on-quit nil) (inhibit-quit nil)) ,@body nil)
     (quit t)))

(ert-deftest backstaff-find-file-waits-until-a-key-if-files-are-shown-as-you-type ()
  (backstaff-view-test-fake "stalling"
    (backstaff-find-tests-at-prompt ""
      (let ((typed nil))
        (run-at-time 0.1 nil (lambda () (setq typed t)))
        (cl-letf (((symbol-function 'input-pending-p) (lambda (&rest _) typed)))
          (should (eq (catch 'typed
                        (let ((throw-on-input 'typed))
                          (all-completions "x" minibuffer-completion-table)))
                      t)))))
    (should (= (length (backstaff-test-call-server 'cancellations nil :timeout 5)) 1))))

(ert-deftest backstaff-find-file-says-that-it-waits ()
  (backstaff-view-test-fake "stalling"
    (should (string-match-p
             "\\`Waiting for an answer… (C-g cancels)\\'"
             (car (backstaff-view-test-messages
                    (backstaff-find-tests-at-prompt ""
                      (let ((timer (run-at-time 0 0.02 (lambda ()
                                                         (when messages (setq quit-flag t))))))
                        (unwind-protect
                            (backstaff-find-tests-quit-p
                             (all-completions "x" minibuffer-completion-table))
                          (cancel-timer timer))))))))))

(ert-deftest backstaff-find-file-can-be-quit-while-it-waits ()
  (backstaff-view-test-fake "stalling"
    (backstaff-find-tests-at-prompt ""
      (run-at-time 0.2 nil (lambda () (setq quit-flag t)))
      (should (backstaff-find-tests-quit-p
               (all-completions "x" minibuffer-completion-table))))
    (should (= (length (backstaff-test-call-server 'cancellations nil :timeout 5)) 1))))


;;; Interfaces

(declare-function vertico-mode "ext:vertico" (&optional argument))
(defvar vertico-mode)
(defvar vertico--candidates)
(defvar vertico--index)

(ert-deftest backstaff-find-file-shows-files-as-one-types-with-vertico ()
  (backstaff-find-tests-under vertico vertico-mode
    (backstaff-view-test-project backstaff-find-tests-tree
      (backstaff-find-tests-at-prompt "c SPC tree"
        (backstaff-test-wait-for (equal vertico--candidates '("src/print_tree.c"))))
      (should (equal (backstaff-find-tests-problem "zzzz")
                     "No file matches; 1 name is ignored by git")))))

(ert-deftest backstaff-find-file-loses-no-key-of-a-burst-with-vertico ()
  (backstaff-find-tests-under vertico vertico-mode
    (backstaff-view-test-project backstaff-find-tests-tree
      (should (equal (backstaff-find-tests-type "parser RET") "src/parser.c"))
      (should (equal (backstaff-find-tests-type "parser <down> RET") "tests/test_parser.c"))
      (should (equal (backstaff-find-tests-type "c tree TAB RET") "src/print_tree.c")))))

(ert-deftest backstaff-find-file-shows-files-as-one-types-with-fido ()
  (backstaff-find-tests-under icomplete fido-mode
    (backstaff-view-test-project backstaff-find-tests-tree
      ;; icomplete leaves keyboard macros alone.
      (cl-letf (((symbol-function 'icomplete-simple-completing-p) #'always))
        (backstaff-find-tests-at-prompt "c SPC tree"
          (backstaff-test-wait-for
           (cl-some (lambda (overlay)
                      (string-match-p "src/print_tree\\.c"
                                      (or (overlay-get overlay 'after-string) "")))
                    (overlays-in (point-min) (1+ (point-max))))))
        (should (equal (backstaff-find-tests-type "parser RET") "src/parser.c"))
        (should (equal (backstaff-find-tests-type "parser C-. RET") "tests/test_parser.c"))
        (should (equal (backstaff-find-tests-problem "zzzz")
                     "No file matches; 1 name is ignored by git"))))))

(ert-deftest backstaff-find-file-leaves-the-matching-to-the-server-under-ivy-and-helm ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (let ((completing-read-function (lambda (&rest _) (ert-fail "Another interface asks"))))
      (should (equal (backstaff-find-tests-type "tstprs RET") "tests/test_parser.c")))))

(provide 'backstaff-find-tests)
;;; backstaff-find-tests.el ends here
