;;; backstaff-tree-tests.el --- Tests of backstaff-ui-tree.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-tree)
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
     (let ((backstaff-tree--depth 2))
       (backstaff-view-test-open #'backstaff-tree root)
       ,@body)))

(defun backstaff-tree-tests-lines ()
  "Return the visible lines of the tree except the first."
  (cdr (backstaff-view-test-lines)))

(defconst backstaff-tree-tests-drawn
  '("  doc/ 1" "    manual.md" "  src/ 3" "    deep/ …" "    a.c" "    b.c" "  README" "  error.log")
  "The project as it is drawn at first.")

(defun backstaff-tree-tests-toggle (text)
  "Press TAB on the first line that has TEXT in it."
  (backstaff-view-test-go-to text)
  (backstaff-view-test-press "TAB"))


;;; Drawing

(ert-deftest backstaff-tree-is-drawn ()
  (backstaff-tree-tests-shown
    (should (equal (car (backstaff-view-test-lines)) "./ 4"))
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))
    (should (derived-mode-p 'special-mode))
    (should buffer-read-only)
    (should (equal (backstaff-view-test-header) " 8 names  e edits, ? shows the keys  (:path \".\" :max_depth 2)"))
    (backstaff-view-test-go-to "src/")
    (should (eq (get-text-property (point) 'face) 'backstaff-directory))))

(ert-deftest backstaff-tree-names-the-root-of-the-file-system ()
  (backstaff-view-test-project nil
    (let ((backstaff-root-directory "/")
          (backstaff-tree--depth 0))
      (backstaff-view-test-open #'backstaff-tree "/")
      (should (string-match-p "\\`\\./\\( [0-9]+\\)? …\\'" (buffer-string)))
      (should (equal (buffer-name) "*backstaff tree: /*")))))

(ert-deftest backstaff-tree-starts-at-the-project-that-is-switched-to ()
  (backstaff-view-test-project '(("one" (".git" ("HEAD" . "ref: refs/heads/main\n"))
                                  ("in.txt" . "")))
    (let ((backstaff-root-directory nil)
          (project-switch-commands 'backstaff-tree))
      (project-switch-project (expand-file-name "one/"))
      (backstaff-view-test-settle)
      (should (equal (backstaff-view-test-lines) '("./ 1" "  in.txt"))))))

(ert-deftest backstaff-tree-shows-names-harmlessly-and-visits-them ()
  (let ((names (list "new\nline" "esc\e[31m" "bidi\u202etxt" "emoji-\N{GRINNING FACE}"
                     "日本語" (string-to-multibyte "stray-\351") "ssh:host:x" " b ")))
    (backstaff-view-test-project (mapcar (lambda (name) (list name (cons name "it"))) names)
      (backstaff-view-test-open #'backstaff-tree root)
      (should-not (string-match-p "[\0-\11\13-\37\u202e\200-\377]" (buffer-string)))
      (dolist (name names)
        (ert-info ((format "%S" name))
          (let ((backstaff-tree--depth 2))
            (backstaff-view-test-open #'backstaff-tree root))
          (should (backstaff-view-go-to (concat name "/" name)))
          (should (looking-at-p (regexp-quote (backstaff-names-show name))))
          (backstaff-view-test-press "RET")
          (should (equal (buffer-string) "it"))
          (should (equal (encode-coding-string (file-name-unquote buffer-file-name)
                                               'utf-8-emacs)
                         (encode-coding-string (concat root name "/" name)
                                               'utf-8-emacs))))))))

(ert-deftest backstaff-tree-opens-at-the-current-file ()
  (backstaff-view-test-project '(("a" ("b" ("c" . "") ("d" . "")) ("e" . "")) ("f" ("g" . "")))
    (find-file "a/b/d")
    (backstaff-view-test-open #'backstaff-tree root)
    (should (equal (backstaff-tree-tests-lines)
                   '("  a/ 2" "    b/ 2" "      c" "      d" "    e" "  f/ 1" "    g")))
    (should (equal (backstaff-view-test-path) "a/b/d"))
    (should (= (point) (window-point)))
    (backstaff-view-test-press "g")
    (should (equal (backstaff-view-test-path) "a/b/d"))))


;;; Folding

(ert-deftest backstaff-tree-folds-and-unfolds ()
  (backstaff-tree-tests-shown
    (backstaff-tree-tests-toggle "src/")
    (should (equal (backstaff-tree-tests-lines)
                   '("  doc/ 1" "    manual.md" "  src/ 3" "  README" "  error.log")))
    (should (equal (backstaff-view-test-path) "src"))
    (backstaff-tree-tests-toggle "src/")
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))
    ;; A file has nothing to fold.
    (backstaff-view-test-go-to "README")
    (backstaff-view-test-press "TAB")
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))

(ert-deftest backstaff-tree-directory-opens-with-ret-and-the-mouse ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "src/")
    (should (get-char-property (point) 'follow-link))
    (backstaff-view-test-press "RET")
    (should (equal (nth 3 (backstaff-tree-tests-lines)) "  README"))
    (push-button)
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))

(ert-deftest backstaff-tree-hides-nothing-behind-the-last-name ()
  (backstaff-tree-tests-shown
    (dolist (key '("TAB" "TAB"))
      (goto-char (point-min))
      (backstaff-view-test-press key))
    (should-not (invisible-p (1- (point-max))))
    (should-not (eq (char-before (point-max)) ?\n))))

(ert-deftest backstaff-tree-folds-all ()
  (backstaff-tree-tests-shown
    (goto-char (point-min))
    (backstaff-view-test-press "<backtab>")
    (should (= (length (backstaff-view-test-lines)) 1))
    (backstaff-view-test-press "<backtab>" "<backtab>")
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))

(ert-deftest backstaff-tree-unfolds-for-a-search ()
  (backstaff-tree-tests-shown
    (backstaff-tree-tests-toggle "src/")
    (goto-char (point-min))
    (backstaff-view-test-press "C-s b . c RET")
    (should (equal (backstaff-view-test-path) "src/b.c"))
    (should-not (invisible-p (1- (point))))
    (backstaff-view-test-press "RET")
    (should (equal buffer-file-name (concat root "src/b.c")))))

(ert-deftest backstaff-tree-loads-directories-below-its-depth ()
  (backstaff-tree-tests-shown
    (backstaff-tree-tests-toggle "deep/")
    (should (equal (backstaff-view-test-path) "src/deep"))
    (should (equal (cl-subseq (backstaff-tree-tests-lines) 3 6)
                   '("    deep/ 1" "      er/ …" "    a.c")))
    (backstaff-tree-tests-toggle "er/")
    (backstaff-tree-tests-toggle "est/")
    (should (equal (cl-subseq (backstaff-tree-tests-lines) 3 7)
                   '("    deep/ 1" "      er/ 1" "        est/ 1" "          bottom.txt")))
    ;; The way to the file of point is open again after another request.
    (backstaff-view-test-go-to "bottom.txt")
    (backstaff-view-test-press "g")
    (should (equal (backstaff-view-test-path) "src/deep/er/est/bottom.txt"))
    (backstaff-view-test-press "RET")
    (should (equal (buffer-string) "b"))))

(ert-deftest backstaff-tree-loads-a-directory-once ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "deep/")
    (dotimes (_ 2)
      (backstaff-tree-toggle))
    (backstaff-view-test-wait)
    (should (equal (cl-subseq (backstaff-tree-tests-lines) 3 6)
                   '("    deep/ 1" "      er/ …" "    a.c")))))

(ert-deftest backstaff-tree-stays-if-the-directory-to-open-has-vanished ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "deep/")
    (delete-directory (expand-file-name "src/deep" root) t)
    (should (string-match-p "does not exist"
                            (car (last (backstaff-view-test-messages
                                         (backstaff-view-test-press "TAB"))))))
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))

(ert-deftest backstaff-tree-shows-the-first-levels-of-too-many-names ()
  (backstaff-view-test-project nil
    (make-directory "many")
    (let ((default-directory (expand-file-name "many/")))
      (backstaff-view-test-plant-many 1100))
    (backstaff-view-test-open #'backstaff-tree root)
    (should (equal (backstaff-tree-tests-lines) '("  many/ …")))
    ;; Of a single directory the first thousand are there, and its line counts all.
    (backstaff-view-test-open #'backstaff-tree (expand-file-name "many"))
    (should (string-search " names, not all " (backstaff-view-test-header)))
    (should (equal (car (backstaff-view-test-lines)) "many/ 1100"))))


;;; Choosing the files

(ert-deftest backstaff-tree-shows-and-hides-dot-files ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "b.c")
    (backstaff-view-test-press ".")
    (should (member "  .dot/ 1" (backstaff-tree-tests-lines)))
    (should (string-search ":include_hidden t" (backstaff-view-test-header)))
    ;; Point stays on its file.
    (should (equal (backstaff-view-test-path) "src/b.c"))
    (backstaff-view-test-press ".")
    (should (equal (backstaff-tree-tests-lines) backstaff-tree-tests-drawn))))

(ert-deftest backstaff-tree-arguments-are-edited ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-press "e C-a C-k (:path SPC \".\" SPC :max_depth SPC 4) RET")
    (should (member "        est/ …" (backstaff-tree-tests-lines)))
    (backstaff-view-test-press "e C-a C-k (:max_depth SPC 40) RET")
    (should (string-match-p "\\`Error: .*\n\nType g" (buffer-string)))
    (backstaff-view-test-press
     "e C-a C-k {\"path\":\".\",\"max_depth\":2,\"exclude\":[\"**/*.{log,md}\",\"src/**\"]} RET")
    (should (equal (backstaff-tree-tests-lines) '("  doc/" "  README")))
    (should (string-search ":exclude (\"**/*.{log,md}\" \"src/**\")" (backstaff-view-test-header)))))


;;; Places

(ert-deftest backstaff-tree-opens-a-link-to-a-directory-with-dired ()
  (backstaff-tree-tests-shown
    (make-symbolic-link "src" (concat root "link"))
    (backstaff-view-test-press "g")
    (backstaff-view-test-go-to "link@")
    (execute-kbd-macro (kbd "RET"))
    (with-current-buffer (window-buffer)
      (should (eq major-mode 'dired-mode))
      (kill-buffer))))

(ert-deftest backstaff-tree-other-window-keeps-the-tree ()
  (backstaff-tree-tests-shown
    (backstaff-view-test-go-to "README")
    (execute-kbd-macro (kbd "C-x 4 4 RET"))
    (should (equal (buffer-file-name (window-buffer)) (concat root "README")))
    (should (get-buffer-window (format "*backstaff tree: %s*" (file-name-nondirectory
                                                              (directory-file-name root)))))))

(provide 'backstaff-tree-tests)
;;; backstaff-tree-tests.el ends here
