;;; backstaff-find-tests.el --- Visiting a file by a part of its name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'icomplete)
(require 'backstaff-find)
(require 'backstaff-test-support)
(require 'backstaff-view-fixtures)

(defconst backstaff-find-tests-tree
  '((".gitignore" . "*.o\n")
    ("README.md" . "")
    ("src" . (("parser.c" . "") ("parser.o" . "") ("print_tree.c" . "")))
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

(defmacro backstaff-find-tests-shown (keys &rest body)
  "Type KEYS at the prompt, then run BODY there, and give up."
  (declare (indent 1) (debug t))
  `(let ((ran nil))
     (cl-letf (((symbol-function 'backstaff-find-tests-look)
                (lambda ()
                  (interactive)
                  (backstaff-find--follow)
                  (backstaff-find--wait backstaff-find--search)
                  (let ((search backstaff-find--search)) ,@body)
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

(defun backstaff-find-tests-marked (search)
  "Return the line below the prompt that is marked as chosen in SEARCH, or nil."
  (let* ((lines (overlay-get (backstaff-find--search-list search) 'after-string))
         (start (text-property-any 0 (length lines) 'face 'highlight lines)))
    (and start
         (substring-no-properties
          lines start (next-single-property-change start 'face lines (length lines))))))

(defun backstaff-find-tests-lines (search)
  "Return what stands below the prompt in SEARCH, a list of lines."
  (cdr (split-string (substring-no-properties
                      (overlay-get (backstaff-find--search-list search) 'after-string))
                     "\n")))


;;; Visiting

(ert-deftest backstaff-find-file-visits-the-best-match ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "parser RET") "src/parser.c"))
    (should (equal (backstaff-find-tests-type "tstprs RET") "tests/test_parser.c"))
    (should (equal (backstaff-find-tests-type "c tree RET") "src/print_tree.c"))))

(ert-deftest backstaff-find-file-visits-the-chosen-match ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "parser RET") "src/parser.c"))
    (let ((names nil))
      (backstaff-find-tests-shown "parser"
        (setq names (backstaff-find--search-names search))
        (backstaff-find-next)
        (should (= (backstaff-find--search-chosen search) 1))
        (backstaff-find-next)
        (should (= (backstaff-find--search-chosen search) 1))
        (backstaff-find-previous)
        (should (= (backstaff-find--search-chosen search) 0))
        (backstaff-find-next)
        (catch 'exit (backstaff-find-exit))
        (should (equal (minibuffer-contents-no-properties) (nth 1 names))))
      (should (equal names '("src/parser.c" "tests/test_parser.c"))))))

(ert-deftest backstaff-find-file-takes-blanks-between-words-as-they-are ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "tree SPC src RET") "src/print_tree.c"))
    (backstaff-find-tests-shown "READ SPC md"
      (should (equal (minibuffer-contents-no-properties) "READ md"))
      (should (equal (backstaff-find--search-names search) '("README.md"))))))

(ert-deftest backstaff-find-file-visits-nothing-before-anything-is-typed ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (backstaff-find-tests-shown ""
      (should (backstaff-find--search-names search))
      (should-not (backstaff-find-tests-marked search))
      (should-error (backstaff-find-exit) :type 'user-error)
      (backstaff-find-next)
      (should (equal (backstaff-find-tests-marked search) ".gitignore"))
      (catch 'exit (backstaff-find-exit))
      (should (equal (minibuffer-contents-no-properties) ".gitignore")))))

(ert-deftest backstaff-find-file-visits-what-is-chosen-before-the-answer-is-there ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "parser <down> RET") "tests/test_parser.c"))
    (should (equal (backstaff-find-tests-type "parser <down> <down> <down> RET")
                   "tests/test_parser.c"))
    (should (equal (backstaff-find-tests-type "parser <down> <up> <up> RET")
                   "src/parser.c"))
    (should (equal (backstaff-find-tests-type "<down> <down> RET") "README.md"))
    ;; Each step ends at the last one, as it does where they are there.
    (should (equal (backstaff-find-tests-type "parser <down> <down> <down> <up> RET")
                   "src/parser.c"))
    ;; A choice is one of what was there, and not of what comes then.
    (should (equal (backstaff-find-tests-type "parse <down> r RET") "src/parser.c"))
    (cl-letf (((symbol-function 'input-pending-p) (lambda (&rest _) t)))
      (should (equal (backstaff-find-tests-type "parser <down> x DEL RET")
                     "src/parser.c")))))

(ert-deftest backstaff-find-file-opens-the-directory-that-a-link-leads-to ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (make-symbolic-link "src" (concat backstaff-root-directory "link"))
    (backstaff-test-typing "link RET" (call-interactively #'backstaff-find-file))
    (with-current-buffer (window-buffer)
      (should (derived-mode-p 'dired-mode))
      (should (equal (file-name-nondirectory (directory-file-name default-directory))
                     "link")))))

(ert-deftest backstaff-find-file-visits-a-name-that-stands-in-full ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "README.md RET") "README.md"))))

(ert-deftest backstaff-find-file-completes-the-only-match ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (should (equal (backstaff-find-tests-type "prtree TAB RET") "src/print_tree.c"))))

(ert-deftest backstaff-find-file-completes-to-a-name-that-it-finds ()
  (backstaff-view-test-project '(("back\\slash.txt" . "here"))
    (backstaff-find-tests-shown "slash TAB"
      (should (equal (minibuffer-contents-no-properties) "\"back\\\\slash.txt\""))
      (should (equal (backstaff-find--search-names search)
                     (list (minibuffer-contents-no-properties)))))
    (backstaff-find-tests-type "slash TAB RET")
    (should (equal (buffer-string) "here"))))

(ert-deftest backstaff-find-file-visits-names-of-all-kinds ()
  (let ((odd (string-to-multibyte "na\351.txt")))
    (backstaff-view-test-project nil
      (dolist (name (list "sp ace\nx.txt" "\"quoted\".txt" odd "a\u202eb.txt"))
        (let ((file (concat root name)))
          (write-region "here" nil file nil 'silent)
          (backstaff-find-tests-type "txt RET")
          (should (equal (buffer-string) "here"))
          (should (equal (encode-coding-string (buffer-file-name) 'utf-8-emacs)
                         (encode-coding-string file 'utf-8-emacs)))
          (kill-buffer)
          (delete-file file))))))

(ert-deftest backstaff-find-file-visits-nothing-where-nothing-matches ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (backstaff-find-tests-shown "zzzz"
      (should (equal (backstaff-find-tests-lines search) '("No file matches")))
      (should-error (backstaff-find-exit) :type 'user-error))))

(ert-deftest backstaff-find-file-tells-why-nothing-matches ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (backstaff-find-tests-shown "parser.o"
      (let ((said (car (backstaff-find-tests-lines search))))
        (should (string-prefix-p "No file matches; 1 ignored file matches" said))
        (should-not (string-match-p "include_ignored" said))))
    (backstaff-find-tests-shown "parsing.c"
      (should (string-match-p "nearest names: src/parser\\.c"
                              (car (backstaff-find-tests-lines search)))))))

(ert-deftest backstaff-find-file-tells-what-is-wrong ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (backstaff-find-tests-shown "x"
      (let ((input (make-string 2000 ?x)))
        (backstaff-find--ask search input)
        (backstaff-find--wait search)
        (should (string-match-p "longer than" (car (backstaff-find-tests-lines search))))))))


;;; What is shown

(ert-deftest backstaff-find-file-shows-the-matches-below-the-prompt ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (backstaff-find-tests-shown "parser"
      (should (equal (backstaff-find-tests-lines search)
                     '("src/parser.c" "tests/test_parser.c")))
      (should (equal (backstaff-find--count search) "2 ")))))

(ert-deftest backstaff-find-file-shows-all-files-at-first ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (backstaff-find-tests-shown ""
      (should (equal (sort (backstaff-find-tests-lines search) #'string<)
                     '(".gitignore" "README.md" "src/parser.c" "src/print_tree.c"
                       "tests/test_parser.c"))))))

(ert-deftest backstaff-find-file-tells-how-many-are-left-out ()
  (backstaff-view-test-project nil
    (backstaff-view-test-plant-many 250)
    (let ((backstaff-find-limit 20)
          (backstaff-find-lines 3))
      (backstaff-find-tests-shown "file"
        (should (equal (backstaff-find--count search) "250 "))
        (should (equal (backstaff-find-tests-lines search)
                       '("file-0001" "file-0002" "file-0003" "247 more")))))))

(ert-deftest backstaff-find-file-lists-completions-in-the-order-of-the-server ()
  (backstaff-view-test-project '(("a" ("a_tree.c" . "") ("x_tree_of.c" . "")) ("tree.c" . "")
                                 ("z" ("tree.c" . "") ("treed.c" . "")))
    (backstaff-find-tests-shown "tree"
      (let ((names (backstaff-find--search-names search))
            (inhibit-message nil))
        (should (equal names '("tree.c" "z/tree.c" "z/treed.c" "a/a_tree.c" "a/x_tree_of.c")))
        (minibuffer-completion-help)
        (with-current-buffer "*Completions*"
          (goto-char (point-min))
          (dolist (name names)
            (should (search-forward name nil t))))))))

(ert-deftest backstaff-find-file-shows-the-chosen-one-in-a-low-frame ()
  (backstaff-view-test-project nil
    (backstaff-view-test-plant-many 30)
    (cl-letf (((symbol-function 'frame-height) (lambda (&rest _) 10)))
      (backstaff-find-tests-shown "file"
        (should (equal (backstaff-find-tests-lines search)
                       '("file-0001" "file-0002" "file-0003" "27 more")))
        (backstaff-find-next 4)
        (should (equal (backstaff-find-tests-lines search)
                       '("file-0003" "file-0004" "file-0005" "25 more")))))))

(ert-deftest backstaff-find-file-gives-each-name-one-line ()
  (let ((long (concat (make-string 200 ?x) "/日本語.txt")))
    (backstaff-view-test-project `((,(make-string 200 ?x) ("日本語.txt" . "here")))
      (cl-letf (((symbol-function 'frame-width) (lambda (&rest _) 21)))
        (backstaff-find-tests-shown "txt"
          (should (equal (backstaff-find-tests-lines search)
                         '("…xxxxxxxx/日本語.txt")))
          (should (equal (backstaff-find--search-names search) (list long))))
        (should (equal (backstaff-find-tests-type "txt RET") long))))))

(ert-deftest backstaff-find-file-forgets-what-was-asked-before ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (backstaff-find-tests-shown "parser"
      (backstaff-find--ask search "tree")
      (backstaff-find--take search "parser" '(:ok t :data (:files ("old") :total 1)))
      (backstaff-find--wait search)
      (should (equal (backstaff-find-tests-lines search) '("src/print_tree.c"))))))

(defvar vertico-mode)

(ert-deftest backstaff-find-file-serves-what-shows-completions ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (let ((vertico-mode t))
      (backstaff-find-tests-shown "tree c"
        (should-not (backstaff-find--search-list search))
        (should (equal (completion-all-sorted-completions) '("src/print_tree.c" . 0)))
        (should (equal (completion-metadata-get
                        (completion-metadata "" minibuffer-completion-table nil)
                        'category)
                       'project-file))))))

(ert-deftest backstaff-find-file-lets-icomplete-stand-back ()
  (let ((was icomplete-mode))
    (unwind-protect
        (dolist (mode '(icomplete-mode fido-mode))
          (funcall mode 1)
          (backstaff-view-test-project backstaff-find-tests-tree
            (execute-kbd-macro (kbd "M-x backstaff-find-file RET tree SPC c RET"))
            (should (equal (buffer-name (window-buffer)) "print_tree.c"))
            (kill-buffer "print_tree.c"))
          (should icomplete-mode)
          (funcall mode -1))
      (icomplete-mode (if was 1 -1)))))


;;; Waiting

(ert-deftest backstaff-find-file-awaits-no-answer-while-keys-are-hit ()
  (backstaff-view-test-fake "stalling"
    (let* ((search (backstaff-find--make-search :root root))
           (table (backstaff-find--table search))
           (answer (while-no-input
                     (run-at-time 0.2 nil (lambda () (throw 'key 'key)))
                     (catch 'key (all-completions "x" table)))))
      (should (eq answer 'key))
      (should (backstaff-find--search-call search))
      (backstaff-find--ask search "xy")
      (backstaff-find--cancel search)
      (should (= (length (backstaff-server-call 'cancellations nil :timeout 5)) 2)))))

(ert-deftest backstaff-find-file-asks-once-for-keys-that-come-at-once ()
  (backstaff-view-test-project backstaff-find-tests-tree
    (let ((asked nil)
          (call (symbol-function 'backstaff-call-async)))
      (cl-letf (((symbol-function 'input-pending-p)
                 (lambda (&rest _)
                   (not (equal (minibuffer-contents-no-properties) "parser"))))
                ((symbol-function 'backstaff-call-async)
                 (lambda (tool arguments &rest others)
                   (push (plist-get arguments :query) asked)
                   (apply call tool arguments others))))
        (should (equal (backstaff-find-tests-type "parser RET") "src/parser.c")))
      (should (equal asked '("parser"))))))

(ert-deftest backstaff-find-file-says-that-it-waits ()
  (backstaff-view-test-fake "stalling"
    (with-temp-buffer
      (let* ((count (make-overlay (point-min) (point-min)))
             (list (make-overlay (point-max) (point-max)))
             (search (backstaff-find--make-search :root root :buffer (current-buffer)
                                                  :count count :list list))
             (deadline (+ (float-time) 10)))
        (overlay-put list 'after-string (concat "\n" (propertize "old" 'face 'highlight)))
        (backstaff-find--ask search "x")
        (should-not (overlay-get count 'before-string))
        (while (and (not (overlay-get count 'before-string))
                    (< (float-time) deadline))
          (accept-process-output nil 0.05))
        (should (equal (overlay-get count 'before-string) "waiting… "))
        (should-not (backstaff-find-tests-marked search))
        (should (equal (backstaff-find-tests-lines search) '("old")))
        (backstaff-find--cancel search)))))

(ert-deftest backstaff-find-file-ends-its-call-when-the-user-quits ()
  (backstaff-view-test-fake "stalling"
    (should-not (backstaff-test-typing "x C-g"
                  (call-interactively #'backstaff-find-file)
                  'visited))
    (should (= (length (backstaff-server-call 'cancellations nil :timeout 5)) 2))))

(provide 'backstaff-find-tests)
;;; backstaff-find-tests.el ends here
