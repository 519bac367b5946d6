;;; backstaff-tree-tests.el --- Tests of backstaff-ui-tree.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-tree)
(require 'backstaff-ui-list)
(require 'imenu)
(require 'project)

(defconst backstaff-tree-tests-tree
  '(("src" ("deep" ("er" ("est" ("bottom.txt" . "b")))) ("a.c" . "") ("b.c" . ""))
    ("doc" ("manual.md" . "")) (".dot" ("in" . "")) ("README" . "read me")
    ("error.log" . ""))
  "A project.")

(defmacro backstaff-tree-tests-shown (&rest body)
  "Run BODY where the tree of a project is shown, two levels deep."
  (declare (indent 0) (debug t))
  `(backstaff-view-test-project backstaff-tree-tests-tree
     (let ((backstaff-tree-depth 2))
       (backstaff-view-test-open #'backstaff-tree root)
       ,@body)))

(defun backstaff-tree-tests-lines ()
  "Return the visible lines of the tree except the first."
  (cdr (backstaff-view-test-lines)))

(defconst backstaff-tree-tests-drawn
  '("├─ doc/" "│  └─ manual.md" "├─ src/" "│  ├─ deep/ … 1" "│  ├─ a.c"
    "│  └─ b.c" "├─ README" "└─ error.log")
  "The project as it is drawn at first.")


;;; Drawing

(ert-deftest backstaff-tree-names-the-root-of-the-file-system ()
  (backstaff-view-test-project nil
    (let ((backstaff-root-directory "/")
          (backstaff-tree-depth 0))
      (backstaff-view-test-open #'backstaff-tree "/")
      (should (equal (backstaff-view-test-lines) '("/ …"))))))

(ert-deftest backstaff-tree-is-drawn ()
  (backstaff-tree-tests-shown
    (should (equal (car (backstaff-view-test-lines))
                   (concat (file-name-nondirectory (directory-file-name root)) "/")))
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))
    (should (derived-mode-p 'special-mode))
    (should buffer-read-only)
    (should (equal (backstaff-view-test-header)
                   " 8 names to depth 2 · hidden off"))
    (backstaff-view-test-go-to "src/")
    (should (eq (get-text-property (point) 'face) 'dired-directory))
    (should (eq (get-text-property (line-beginning-position) 'face)
                'shadow))))

(ert-deftest backstaff-tree-starts-at-the-project-that-is-switched-to ()
  (backstaff-view-test-project '(("one" (".git" ("HEAD" . "ref: refs/heads/main\n"))
                                  ("in.txt" . "")))
    (let ((backstaff-root-directory nil)
          (project-switch-commands 'backstaff-tree))
      (project-switch-project (expand-file-name "one/"))
      (backstaff-view-test-settle)
      (should (equal (backstaff-view-test-lines) '("one/" "└─ in.txt"))))))

(ert-deftest backstaff-tree-shows-names-harmlessly-and-visits-them ()
  (let ((names (list "new\nline" "esc\e[31m" "bidi\u202etxt" "emoji-\N{GRINNING FACE}"
                     "日本語" (string-to-multibyte "stray-\351") "ssh:host:x" " b ")))
    (backstaff-view-test-project (mapcar (lambda (name) (list name (cons name "it"))) names)
      (backstaff-view-test-open #'backstaff-tree root)
      (should-not (string-match-p "[\0-\11\13-\37\u202e\200-\377]" (buffer-string)))
      (dolist (name names)
        (ert-info ((format "%S" name))
          (backstaff-view-test-open #'backstaff-tree root)
          (backstaff-view-test-press "C-u 2 d")
          (should (backstaff-view--go-to (concat name "/" name)))
          (should (looking-at-p (regexp-quote (backstaff-names-show name))))
          (backstaff-view-test-press "RET")
          (should (equal (buffer-string) "it"))
          (should (equal (encode-coding-string (file-name-unquote buffer-file-name)
                                               'utf-8-emacs)
                         (encode-coding-string (concat root name "/" name)
                                               'utf-8-emacs))))))))

(ert-deftest backstaff-tree-shows-warnings ()
  (backstaff-tree-tests-shown
    (let ((reply (append '(:warnings ("Directory 'doc' cannot be read"))
                         backstaff-view-reply)))
      (cl-letf (((symbol-function 'backstaff-call-async)
                 (lambda (_id _args callback &rest _)
                   (run-at-time 0 nil callback reply)
                   nil)))
        (backstaff-view-test-press "g")))
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))
    (should (equal (backstaff-view-test-notes) "Directory 'doc' cannot be read\n"))))


;;; Folding

(ert-deftest backstaff-tree-opens-as-many-levels-as-fit-the-window ()
  (pcase-dolist (`(,height . ,lines)
                 '((7 "├─ a/" "│  ├─ b/" "│  │  ├─ c" "│  │  └─ d" "│  └─ e" "└─ f")
                   (6 "├─ a/" "│  ├─ b/" "│  └─ e" "└─ f")
                   (5 "├─ a/" "│  ├─ b/" "│  └─ e" "└─ f")
                   (4 "├─ a/" "└─ f")
                   ;; The first level is seen in any case.
                   (1 "├─ a/" "└─ f")))
    (ert-info ((number-to-string height))
      (backstaff-view-test-project '(("a" ("b" ("c" . "") ("d" . "")) ("e" . "")) ("f" . ""))
        (cl-letf (((symbol-function 'window-body-height) (lambda (&rest _) height)))
          (backstaff-view-test-open #'backstaff-tree root)
          (should (equal (backstaff-tree-tests-lines) lines)))
        ;; A tree that the user has seen stays as it is, and so do its folds.
        (cl-letf (((symbol-function 'window-body-height) (lambda (&rest _) 99)))
          (backstaff-view-test-press "g")
          (should (equal (backstaff-tree-tests-lines) lines)))))))

(ert-deftest backstaff-tree-that-does-not-fit-opens-the-way-to-the-current-file ()
  (backstaff-view-test-project '(("a" ("b" ("c" . "") ("d" . "")) ("e" . "")) ("f" ("g" . "")))
    (find-file "a/b/d")
    (cl-letf (((symbol-function 'window-body-height) (lambda (&rest _) 3)))
      (backstaff-view-test-open #'backstaff-tree root))
    (should (equal (backstaff-tree-tests-lines)
                   '("├─ a/" "│  ├─ b/" "│  │  ├─ c" "│  │  └─ d" "│  └─ e" "└─ f/")))
    (should (equal (backstaff-view-test-name) "d"))))

(ert-deftest backstaff-tree-folds-and-unfolds ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "src/")
    (backstaff-view-test-press "TAB")
    (should (equal (backstaff-tree-tests-lines)
                   '("├─ doc/" "│  └─ manual.md" "├─ src/" "├─ README" "└─ error.log")))
    (backstaff-view-test-go-to "src/")
    (backstaff-view-test-press "g")
    (should (equal (nth 2 (backstaff-tree-tests-lines)) "├─ src/"))
    (should (equal (nth 3 (backstaff-tree-tests-lines)) "├─ README"))
    (backstaff-view-test-go-to "src/")
    (backstaff-view-test-press "TAB")
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))
    (backstaff-view-test-go-to "README")
    (should-error (execute-kbd-macro (kbd "TAB")) :type 'user-error)))

(ert-deftest backstaff-tree-folds-and-unfolds-all ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "b.c")
    (backstaff-view-test-press "<backtab>")
    (should (equal (backstaff-view-test-name) "src"))
    (should (equal (backstaff-tree-tests-lines)
                   '("├─ doc/" "├─ src/" "├─ README" "└─ error.log")))
    (backstaff-view-test-press "<backtab>")
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))

(ert-deftest backstaff-tree-that-failed-has-nothing-to-close ()
  (backstaff-view-test-project nil
    (backstaff-view-test-open #'backstaff-tree (expand-file-name "missing" root))
    (let ((text (buffer-string)))
      (dolist (keys '("TAB" "<backtab>" "+"))
        (should-error (execute-kbd-macro (kbd keys)) :type 'user-error))
      (should (equal (buffer-string) text)))))

(ert-deftest backstaff-tree-opens-a-directory-as-it-was ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-press "d 9 RET")
    (dolist (name '("─ deep/" "─ src/" "─ src/"))
      (backstaff-view-test-go-to name)
      (backstaff-view-test-press "TAB"))
    (dolist (keys '(() ("g")))
      (apply #'backstaff-view-test-press keys)
      (should (equal (cl-subseq (backstaff-tree-tests-lines) 2 5)
                     '("├─ src/" "│  ├─ deep/" "│  ├─ a.c"))))))

(ert-deftest backstaff-tree-commands-act-on-the-visible-row ()
  (backstaff-view-test-project '(("aa" ("b" . "")) ("zz" ("in" ("c" . ""))))
    (backstaff-view-test-open #'backstaff-tree root)
    (pcase-dolist (`(,path ,row ,end) '(("aa" "aa/" "─ b") ("zz/in" "in/" "") ("zz" "zz/" "")
                                        ("." "/" "")))
      (backstaff-view-test-go-to row)
      (backstaff-view-test-press "TAB")
      (goto-char (point-max))
      (unless (equal end "")
        (search-backward end)
        (end-of-line))
      (backstaff-view-test-press "C-u w")
      (should (equal (current-kill 0) path)))
    (should (= (length (backstaff-view-test-lines)) 1))
    (backstaff-view-test-press "g")
    (should (equal (plist-get (backstaff-view--entry) :path) "."))
    (should (= (length (backstaff-view-test-lines)) 1))
    (goto-char (point-max))
    (backstaff-view-test-press "TAB")
    (should (equal (backstaff-tree-tests-lines) '("├─ aa/" "└─ zz/")))))

(ert-deftest backstaff-tree-other-window-opens-the-visible-row ()
  (backstaff-view-test-project '(("zz" ("in" ("a.c" . ""))))
    (backstaff-view-test-open #'backstaff-tree root)
    (backstaff-view-test-go-to "in/")
    (backstaff-view-test-press "TAB")
    (goto-char (point-max))
    (backstaff-view-test-press "o")
    (should (eq major-mode 'backstaff-tree-mode))
    (should (equal (plist-get backstaff-view-state :path) "zz/in"))))

(ert-deftest backstaff-tree-folds-survive-until-the-children-come ()
  (backstaff-tree-tests-shown
    (dolist (keys '(("TAB") ("TAB" "g" "g")))
      (backstaff-view-test-go-to "deep/")
      (apply #'backstaff-view-test-press keys))
    (should (equal (cl-subseq (backstaff-tree-tests-lines) 3 5)
                   '("│  ├─ deep/ … 1" "│  ├─ a.c")))
    ;; A new depth forgets which directories were opened.
    (backstaff-view-test-press "d 2 RET")
    (backstaff-view-test-go-to "deep/ …")
    (backstaff-view-test-press "TAB")
    (should (equal (cl-subseq (backstaff-tree-tests-lines) 3 5)
                   '("│  ├─ deep/" "│  │  └─ er/ … 1")))))

(ert-deftest backstaff-tree-of-a-folded-directory-is-open ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "src/")
    (backstaff-view-test-press "TAB" "RET")
    (should (equal (backstaff-view-test-lines)
                   '("src/" "├─ deep/" "│  └─ er/ … 1" "├─ a.c" "└─ b.c")))
    (should (equal (backstaff-view-test-name) "src"))))

(ert-deftest backstaff-tree-folds-survive-a-failure-and-other-directories ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "src/")
    (backstaff-view-test-press "TAB")
    (cl-letf (((symbol-function 'backstaff-call-async)
               (lambda (_id _args callback &rest _)
                 (run-at-time 0 nil callback
                              '(:ok nil :text "Error: odd" :error (:code "INTERNAL")))
                 nil)))
      (backstaff-view-test-press "g")
      (should (equal (nth 3 (backstaff-tree-tests-lines)) "├─ README")))
    (backstaff-view-test-press "g")
    (should (equal (nth 3 (backstaff-tree-tests-lines)) "├─ README"))
    (backstaff-view-test-go-to "doc/")
    (backstaff-view-test-press "RET" "^")
    (should (equal (nth 3 (backstaff-tree-tests-lines)) "├─ README"))))

(ert-deftest backstaff-tree-notes-stand-below-a-folded-directory ()
  (backstaff-view-test-project `(("z" ,@(cl-loop for n below 6 collect (cons (format "f%d" n) ""))))
    (let ((backstaff-tree--entries 4))
      (backstaff-view-test-open #'backstaff-tree root)
      (backstaff-view-test-go-to "─ z/")
      (backstaff-view-test-press "TAB")
      (should (equal (car (last (backstaff-tree-tests-lines))) "   └─ … 3 more"))
      (backstaff-view-test-press "TAB")
      (should (equal (backstaff-tree-tests-lines) '("└─ z/")))
      (should (string-prefix-p "\n+ shows more" (overlay-get backstaff-view--notes 'after-string))))))

(ert-deftest backstaff-tree-unfolds-for-a-search ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-press "<backtab>")
    (goto-char (point-min))
    (backstaff-view-test-press "C-s b . c RET")
    (should (equal (backstaff-view-test-name) "b.c"))
    ;; Point is at the end of the folded text.
    (should-not (invisible-p (1- (point))))))


(ert-deftest backstaff-tree-keeps-folds-while-files-are-hidden ()
  (backstaff-view-test-project '(("lib" ("a" . "")) ("src" ("in" ("b" . "")) ("c" . "")))
    (backstaff-view-test-open #'backstaff-tree root)
    (dolist (name '("─ lib/" "─ src/"))
      (backstaff-view-test-go-to name)
      (backstaff-view-test-press "TAB"))
    (let ((lines (backstaff-view-test-lines)))
      (should (= (length lines) 3))
      (backstaff-view-test-press "e" "e")
      (should (equal (backstaff-view-test-lines) lines)))))

(ert-deftest backstaff-tree-unfolds-its-root-from-the-end ()
  (backstaff-tree-tests-shown
    (goto-char (point-min))
    (backstaff-view-test-press "TAB")
    (goto-char (point-max))
    (backstaff-view-test-press "TAB")
    (should (equal (plist-get (backstaff-view--entry) :path) "."))
    (should (> (length (backstaff-view-test-lines)) 1))))


;;; Deeper

(ert-deftest backstaff-tree-opens-directories-below-its-depth ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "deep/")
    (backstaff-view-test-press "TAB")
    (should (equal (backstaff-view-test-name) "deep"))
    (should (equal (cl-subseq (backstaff-tree-tests-lines) 3 6)
                   '("│  ├─ deep/" "│  │  └─ er/ … 1" "│  ├─ a.c")))
    (backstaff-view-test-go-to "er/")
    (backstaff-view-test-press "TAB")
    (should (equal (nth 5 (backstaff-tree-tests-lines)) "│  │     └─ est/ … 1"))
    (backstaff-view-test-go-to "est/")
    (backstaff-view-test-press "TAB")
    (should (equal (nth 6 (backstaff-tree-tests-lines)) "│  │        └─ bottom.txt"))
    ;; An opened directory stays open.
    (backstaff-view-test-go-to "bottom.txt")
    (backstaff-view-test-press "g")
    (should (equal (nth 6 (backstaff-tree-tests-lines)) "│  │        └─ bottom.txt"))
    (backstaff-view-test-go-to "bottom.txt")
    (backstaff-view-test-press "RET")
    (should (equal (buffer-string) "b"))))

(ert-deftest backstaff-tree-stays-if-the-directory-to-open-has-vanished ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "deep/")
    (delete-directory (expand-file-name "src/deep" root) t)
    (should (string-match-p "does not exist"
                            (car (last (backstaff-view-test-messages
                                         (backstaff-view-test-press "TAB"))))))
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))

(ert-deftest backstaff-tree-says-that-a-directory-is-empty ()
  (backstaff-view-test-project '(("empty"))
    (backstaff-view-test-open #'backstaff-tree root)
    (backstaff-view-test-go-to "empty/")
    (should (equal (car (last (backstaff-view-test-messages
                                (backstaff-view-test-press "TAB"))))
                   "empty/ has no entries to show"))))

(ert-deftest backstaff-tree-says-only-once-that-a-directory-is-empty ()
  (backstaff-view-test-project '(("a" ("empty")))
    (let ((backstaff-tree-depth 2))
      (backstaff-view-test-open #'backstaff-tree root)
      (backstaff-view-test-go-to "empty/")
      (backstaff-view-test-press "TAB")
      (should-not (backstaff-view-test-messages (backstaff-view-test-press "g")))
      (should (equal (car (last (backstaff-view-test-lines))) "   └─ empty/"))
      (should (equal (backstaff-view-test-messages (backstaff-view-test-press "TAB"))
                     '("a/empty/ has no entries to show"))))))


;;; Choosing the files

(ert-deftest backstaff-tree-toggles-files ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "src/")
    (backstaff-view-test-press "e")
    (should (equal (backstaff-tree-tests-lines) '("├─ doc/" "└─ src/" "   └─ deep/ … 1")))
    (should (equal (backstaff-view-test-name) "src"))
    (backstaff-view-test-press "e")
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))

(ert-deftest backstaff-tree-sets-its-depth ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-press "d 1 RET")
    (should (equal (backstaff-tree-tests-lines)
                   '("├─ doc/ … 1" "├─ src/ … 3" "├─ README" "└─ error.log")))
    (backstaff-view-test-press "C-u 5 d")
    (should (member "│  │        └─ bottom.txt" (backstaff-tree-tests-lines)))
    (should (string-match-p "max_depth"
                            (car (last (backstaff-view-test-messages
                                         (backstaff-view-test-press "C-u 13 d"))))))
    (should (member "│  │        └─ bottom.txt" (backstaff-tree-tests-lines)))))

(ert-deftest backstaff-tree-excludes ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-press "x *.log RET" "x *.c SPC x/none RET")
    (should (equal (backstaff-tree-tests-lines)
                   '("├─ doc/" "│  └─ manual.md" "├─ src/" "│  └─ deep/ … 1" "└─ README")))
    (should (string-match-p (regexp-quote "without **/*.log **/*.c x/none")
                            (backstaff-view-test-header)))
    (let ((messages (backstaff-view-test-messages
                      (backstaff-view-test-press "x [a RET"))))
      (should (string-match-p "Error: Argument 'exclude'" (car (last messages)))))
    (should (equal (plist-get backstaff-view-state :exclude) '("**/*.log" "**/*.c" "x/none")))
    (backstaff-view-test-press "C-u x")
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))

(ert-deftest backstaff-tree-says-that-the-limit-is-reached ()
  (backstaff-view-test-project (cl-loop for n below 30 collect (cons (format "f%02d" n) ""))
    (let ((backstaff-tree--entries 10))
      (backstaff-view-test-open #'backstaff-tree root)
      (should (= (length (backstaff-tree-tests-lines)) 10))
      (should (equal (car (last (backstaff-tree-tests-lines))) "└─ … 21 more"))
      (should (string-match-p "CUT · " (backstaff-view-test-header)))
      (should (equal (backstaff-view-test-notes) "+ shows more, d and x make the tree smaller\n"))
      (backstaff-view-test-go-to "f05")
      (backstaff-view-test-press "+")
      (should (= (length (backstaff-tree-tests-lines)) 20))
      (should (equal (backstaff-view-test-name) "f05"))
      (backstaff-view-test-press "+")
      (should (= (length (backstaff-tree-tests-lines)) 30))
      (should (equal (backstaff-view-test-notes) "")))))

(ert-deftest backstaff-tree-counts-names-in-closed-directories-and-shown-files ()
  (backstaff-view-test-project '(("full" ("a" . "") ("b" ("c" . "")) (".d" . "")) ("none") ("e" . ""))
    (let ((backstaff-tree-depth 1))
      (backstaff-view-test-open #'backstaff-tree root)
      (should (equal (backstaff-tree-tests-lines) '("├─ full/ … 2" "├─ none/" "└─ e")))
      (should (string-match-p " 3 names to depth 1 ·" (backstaff-view-test-header)))
      (backstaff-view-test-press ".")
      (should (equal (car (backstaff-tree-tests-lines)) "├─ full/ … 3"))
      (backstaff-view-test-press "." "n" "TAB")
      (should (equal (cl-subseq (backstaff-tree-tests-lines) 0 3)
                     '("├─ full/" "│  ├─ b/ … 1" "│  └─ a")))
      (should (string-match-p " 5 names to depth 1 ·" (backstaff-view-test-header))))))

(ert-deftest backstaff-tree-that-does-not-fit-shows-all-siblings-first ()
  (backstaff-view-test-project
      (cl-loop for n below 12
               collect (cons (format "d%02d" n)
                             (cl-loop for m below 4 collect (cons (format "f%d" m) ""))))
    (let ((backstaff-tree--entries 20))
      (backstaff-view-test-open #'backstaff-tree root)
      (should (equal (backstaff-tree-tests-lines)
                     (cl-loop for n below 12
                              collect (format "%s d%02d/ … 4" (if (= n 11) "└─" "├─") n))))
      (should (string-match-p "depth 1 of 3" (backstaff-view-test-header)))
      (should-not (string-match-p "CUT" (backstaff-view-test-header)))
      ;; With twice as many, and twice again, all have room.
      (backstaff-view-test-press "+" "+")
      (should (= (length (backstaff-tree-tests-lines)) (+ 12 (* 12 4))))
      (should-not (string-match-p "of 3" (backstaff-view-test-header)))
      (should (string-search "complete"
                             (cadr (should-error (backstaff-tree-more) :type 'user-error)))))))

(ert-deftest backstaff-tree-names-the-files-it-leaves-out-and-shows-them-on-demand ()
  (backstaff-view-test-project '(("build" ("out.o" . "")) ("src" ("a.c" . "") ("b.o" . ""))
                                 (".gitignore" . "*.o\n"))
    (backstaff-view-test-open #'backstaff-tree root)
    (should (string-match-p "left out: build" (backstaff-view-test-header)))
    (should-not (member "├─ build/" (backstaff-tree-tests-lines)))
    (backstaff-view-test-press "G")
    (should (member "├─ build/" (backstaff-tree-tests-lines)))
    (should (string-match-p "nothing left out" (backstaff-view-test-header)))
    (backstaff-view-test-press "G")
    (should (string-match-p "ignored left out: b.o out.o" (backstaff-view-test-header)))
    (should-not (string-match-p "b\\.o" (string-join (backstaff-tree-tests-lines))))
    (delete-file "src/b.o")
    (delete-directory "build" t)
    (backstaff-view-test-press "g")
    (should (string-suffix-p " · ignored left out" (backstaff-view-test-header)))
    (backstaff-view-test-press "G")
    (should (string-suffix-p " · hidden off" (backstaff-view-test-header)))))

(ert-deftest backstaff-tree-has-no-more-than-a-thousand-entries ()
  (backstaff-view-test-project nil
    (backstaff-view-test-plant-many 1005)
    (let ((backstaff-tree--entries 600))
      (backstaff-view-test-open #'backstaff-tree root)
      (backstaff-view-test-press "+")
      (should (= (length (backstaff-tree-tests-lines)) 1000))
      (should (equal (car (last (backstaff-tree-tests-lines))) "└─ … 6 more"))
      (should (string-search "RET on a directory starts there"
                             (cadr (should-error (execute-kbd-macro "+") :type 'user-error)))))))

(ert-deftest backstaff-tree-says-where-a-deeper-part-was-cut ()
  (backstaff-view-test-project `(("d" ("e" ,@(cl-loop for n below 30
                                                      collect (cons (format "f%02d" n) "")))))
    (let ((backstaff-tree--entries 10)
          (backstaff-tree-depth 2))
      (backstaff-view-test-open #'backstaff-tree root)
      (should (equal (backstaff-view-test-notes) ""))
      (backstaff-view-test-go-to "─ e/")
      (backstaff-view-test-press "TAB")
      (should (member "      └─ … 21 more" (backstaff-tree-tests-lines)))
      (should (string-match-p "CUT · " (backstaff-view-test-header)))
      (backstaff-view-test-press "+" "+")
      (should (equal (backstaff-view-test-notes) ""))
      (should (= (length (backstaff-tree-tests-lines)) 32)))))


;;; Moving

(ert-deftest backstaff-tree-moves ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-press "n" "n")
    (should (equal (backstaff-view-test-name) "manual.md"))
    (backstaff-view-test-press "p")
    (should (equal (backstaff-view-test-name) "doc"))
    (backstaff-view-test-go-to "src/")
    (backstaff-view-test-press "RET")
    (should (equal (car (backstaff-view-test-lines)) "src/"))
    (should (equal (nth 1 (backstaff-view-test-lines)) "├─ deep/"))
    (should (equal default-directory (concat root "src/")))
    (backstaff-view-test-press "^")
    (should (equal (backstaff-view-test-name) "src"))
    (should-error (execute-kbd-macro "^") :type 'user-error)))

(ert-deftest backstaff-tree-leads-on ()
  (backstaff-tree-tests-shown
    (make-symbolic-link "src" (expand-file-name "link" root))
    (backstaff-view-test-press "g")
    (backstaff-view-test-go-to "a.c")
    (backstaff-view-test-press "w")
    (should (equal (current-kill 0) (concat root "src/a.c")))
    (let ((tree (current-buffer)))
      (backstaff-view-test-press "=")
      (should (eq major-mode 'backstaff-inspector-mode))
      (pcase-dolist (`(,key . ,names) '(("l" "deep" "a.c" "b.c")
                                        ("t" "doc" "src" "error.log" "link" "README")))
        (switch-to-buffer tree)
        (backstaff-view-test-press key)
        (should (eq major-mode 'backstaff-list-mode))
        (should (equal (backstaff-view-test-names) names)))
      (switch-to-buffer tree)
      (backstaff-view-test-go-to "link@")
      (backstaff-view-test-press "RET")
      (should (eq major-mode 'backstaff-list-mode))
      (should (equal (backstaff-view-test-names) '("deep" "a.c" "b.c")))
      (switch-to-buffer tree)
      (backstaff-view-test-go-to "README")
      (backstaff-view-test-press "o")
      (should (equal (buffer-string) "read me")))))

(ert-deftest backstaff-tree-fits-a-narrow-window ()
  (backstaff-tree-tests-shown
    (split-window-right 30)
    (backstaff-view-test-press "g")
    (should truncate-lines)
    (should (<= (window-width) 30))
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))


;;; Imenu and bookmarks

(ert-deftest backstaff-tree-has-an-index-of-directories ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-press "<backtab>")
    (let ((index (funcall imenu-create-index-function)))
      (should (equal (mapcar #'car index) '("." "doc" "src" "src/deep")))
      (imenu (assoc "src/deep" index))
      (should (equal (backstaff-view-test-name) "deep"))
      (should-not (invisible-p (point))))))

(ert-deftest backstaff-tree-index-is-right-after-a-redraw ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-press "<backtab>")
    (dotimes (_ 2)
      (imenu (assoc "src/deep" (imenu--make-index-alist t)))
      (should (equal (backstaff-view-test-name) "deep"))
      (backstaff-view-test-press "g"))))

(ert-deftest backstaff-tree-index-has-a-directory-on-the-last-line ()
  (backstaff-view-test-project '(("a" ("b")))
    (backstaff-view-test-open #'backstaff-tree root)
    (should (equal (mapcar #'car (funcall imenu-create-index-function)) '("." "a" "a/b")))))

(provide 'backstaff-tree-tests)
;;; backstaff-tree-tests.el ends here
