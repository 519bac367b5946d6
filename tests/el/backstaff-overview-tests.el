;;; backstaff-overview-tests.el --- Tests of backstaff-ui-overview.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-overview)
(require 'backstaff-ui-tree)

(declare-function evil-local-mode "ext:evil-core" (&optional argument))
(declare-function evil-normal-state "ext:evil-states" (&optional argument))

(defconst backstaff-overview-tests-tree
  '(("src" ("deep" ("a.c" . "a") ("b.c" . "b")) ("main.c" . "main")) ("README.md" . "read me")
    ("Makefile" . ""))
  "A project.")

(defmacro backstaff-overview-tests-shown (&rest body)
  "Run BODY where the overview of a project is shown."
  (declare (indent 0) (debug t))
  `(backstaff-view-test-project backstaff-overview-tests-tree
     (backstaff-view-test-open #'backstaff-overview root)
     ,@body))

(defun backstaff-overview-tests-go-to (text)
  "Go to where TEXT starts, last in the buffer."
  (goto-char (point-max))
  (search-backward text))

(defun backstaff-overview-tests-many (count)
  "Return a project of COUNT directories with a file in each."
  (mapcar (lambda (number)
            `(,(format "directory-%03d" number) (,(format "file-%03d.c" number) . "")))
          (number-sequence 1 count)))


;;; Drawing

(ert-deftest backstaff-overview-is-drawn ()
  (backstaff-overview-tests-shown
    (should (equal (backstaff-view-test-lines)
                   `(,(format "# %s  no git, 5 files in 2 dirs"
                              (file-name-nondirectory (directory-file-name root)))
                     "types: .c 3, .md 1, other 1"
                     "read first: README.md"
                     "build: Makefile"
                     "start: src/main.c"
                     "./ Makefile README.md src/"
                     "src/ main.c"
                     "src/deep/ a.c b.c"
                     "[5 of 5 files named]")))
    (should (derived-mode-p 'special-mode))
    ;; Lines wrap without arrows in the fringes.
    (should-not truncate-lines)
    (should (equal (alist-get 'continuation fringe-indicator-alist) '(nil nil)))
    (should buffer-read-only)
    (backstaff-overview-tests-go-to "src/deep/")
    (should (eq (get-text-property (point) 'face) 'backstaff-directory))))

(ert-deftest backstaff-overview-says-why-git-tells-nothing ()
  (backstaff-test-needs "git" (executable-find "git"))
  (backstaff-view-test-project '(("a.txt" . "") (".git" ("HEAD" . "ref: refs/heads/a\n") ("config" . "[core\n")
                                ("objects") ("refs")))
    (backstaff-view-test-open #'backstaff-overview root)
    (should (string-match-p "  git unknown, " (buffer-string)))
    (should (string-match-p "Nothing is known of edits: " (buffer-string)))))

(ert-deftest backstaff-overview-does-not-wait ()
  (backstaff-view-test-project backstaff-overview-tests-tree
    (backstaff-overview root)
    (with-current-buffer (window-buffer)
      (should (eq major-mode 'backstaff-overview-mode))
      (should (zerop (buffer-size)))
      (should backstaff-view--call))
    (backstaff-view-test-settle)
    (should-not (zerop (buffer-size)))))

(ert-deftest backstaff-overview-has-a-key-in-the-map ()
  (backstaff-view-test-project backstaff-overview-tests-tree
    (let ((map (make-sparse-keymap)))
      (define-key map (kbd "<f5>") backstaff-map)
      (use-local-map map)
      (execute-kbd-macro (kbd "<f5> o")))
    (backstaff-view-test-settle)
    (should (eq major-mode 'backstaff-overview-mode))))

(ert-deftest backstaff-overview-of-an-empty-project-says-so ()
  (backstaff-view-test-project nil
    (backstaff-view-test-open #'backstaff-overview root)
    (should (equal (cadr (backstaff-view-test-lines)) "./"))
    (should (string-match-p "0 files" (buffer-string)))))

(ert-deftest backstaff-overview-names-cannot-forge-a-line ()
  (backstaff-view-test-project '(("a\nsrc b" . ""))
    (make-symbolic-link "gone" "l")
    (backstaff-view-test-open #'backstaff-overview root)
    (should (member "./ \"a\\nsrc b\" l@"
                    (backstaff-view-test-lines)))))

(ert-deftest backstaff-overview-names-stand-as-in-the-text ()
  (backstaff-view-test-project '(("read me.md" . "") ("+9" . "") ("x@" . "") ("…" . "")
                                 ("two words" ("a b.c" . "") ("ab.c" . "")))
    (make-symbolic-link "gone" "a link")
    (backstaff-view-test-open #'backstaff-overview root)
    (should (member "./ \"+9\" \"a link\"@ \"read me.md\" \"x@\" \"…\" \"two words\"/"
                    (backstaff-view-test-lines)))
    (let ((text (split-string (plist-get backstaff-view--reply :text) "\n")))
      ;; The text of the first line leaves out the small number beside a directory.
      (should (member (car (last (backstaff-view-test-lines) 2)) text)))
    (backstaff-overview-tests-go-to "\"a b.c\"")
    (should (equal (backstaff-view-test-path) "two words/a b.c"))))

(ert-deftest backstaff-overview-shows-the-rest-by-the-arguments-that-its-note-names ()
  (backstaff-view-test-project (backstaff-overview-tests-many 600)
    (backstaff-view-test-open #'backstaff-overview root)
    (should (string-match-p "^\\[[0-9]+ of 600 files named; .*more by path=\"dir\" or max_tokens" (buffer-string)))
    (backstaff-view-test-press "e C-a C-k (:path SPC \"directory-001\") RET")
    (should (string-match-p "^directory-001/ file-001.c$" (buffer-string)))))

(ert-deftest backstaff-overview-names-the-files-edited-lately ()
  (backstaff-test-needs "git" (executable-find "git"))
  (backstaff-view-test-project '(("lib" ("a b.c" . "") ("b.c" . "")) ("z.c" . ""))
    (should (zerop (call-process "sh" nil nil nil "-c" "git init -q
git config user.name a; git config user.email a
for i in 1 2 3; do echo $i >lib/b.c; git add .; git commit -qm $i; done")))
    (backstaff-view-test-open #'backstaff-overview (concat root "lib"))
    (goto-char (point-min))
    (search-forward "edited lately:")
    (re-search-forward " lib/b.c")
    (backward-char)
    (should (equal (backstaff-view-test-path) "lib/b.c"))))

(ert-deftest backstaff-overview-tells-people-how-to-see-a-repository-within ()
  (backstaff-view-test-project '(("a.c" . "") ("inner" ("b.c" . "")))
    (dolist (directory (list root (concat root "inner/")))
      (let ((default-directory directory))
        (should (zerop (call-process "git" nil nil nil "init" "-q")))))
    (backstaff-view-test-open #'backstaff-overview root)
    (should (string-search "\n[dir/(git) is a repository of its own: " (buffer-string)))
    (backstaff-overview-tests-go-to "inner/(git)")
    (backstaff-view-test-press "RET")
    (should (derived-mode-p 'backstaff-tree-mode))
    (should (equal (plist-get (backstaff-view-get :arguments) :path) "inner"))))

(ert-deftest backstaff-overview-ret-visits-the-file-at-point ()
  (backstaff-overview-tests-shown
    (backstaff-overview-tests-go-to "b.c")
    (execute-kbd-macro (kbd "RET"))
    (should (equal (buffer-file-name (window-buffer)) (concat root "src/deep/b.c")))))

(ert-deftest backstaff-overview-ret-visits-a-file-of-the-head ()
  (backstaff-overview-tests-shown
    (goto-char (point-min))
    (search-forward "read first:")
    (backstaff-view-test-press "TAB")
    (execute-kbd-macro (kbd "RET"))
    (should (equal (buffer-file-name (window-buffer)) (concat root "README.md")))))

(ert-deftest backstaff-overview-ret-on-a-directory-shows-its-tree ()
  (dolist (text '("src/ main" "src/\nsrc"))
    (backstaff-overview-tests-shown
      (backstaff-overview-tests-go-to text)
      (backstaff-view-test-press "RET")
      (should (eq major-mode 'backstaff-tree-mode))
      (should (equal (plist-get (backstaff-view-get :arguments) :path) "src")))))

;; A search stops behind the name that it has found.
(ert-deftest backstaff-overview-ret-behind-a-name-visits-it ()
  (pcase-dolist (`(,keys . ,file) '(("C-s README.md RET RET" . "README.md")
                                    ("C-s main.c RET RET" . "src/main.c")
                                    ("C-s deep/ SPC a.c RET RET" . "src/deep/a.c")))
    (ert-info (keys)
      (backstaff-overview-tests-shown
        (goto-char (point-min))
        (execute-kbd-macro (kbd keys))
        (should (equal (buffer-file-name (window-buffer)) (concat root file)))))))

(ert-deftest backstaff-overview-names-are-buttons ()
  (backstaff-overview-tests-shown
    (backstaff-overview-tests-go-to "b.c")
    (should (eq (get-char-property (point) 'mouse-face) 'highlight))
    (should (get-char-property (point) 'follow-link))
    (should (eq (key-binding [mouse-2]) 'push-button))
    (execute-kbd-macro (kbd "M-x push-button RET"))
    (should (equal (buffer-file-name (window-buffer)) (concat root "src/deep/b.c")))))

;; Views leave Evil alone, and Evil's RET pushes buttons.
(ert-deftest backstaff-overview-ret-visits-in-evils-normal-state ()
  (backstaff-test-needs "Evil" (require 'evil nil t))
  (backstaff-overview-tests-shown
    (evil-local-mode)
    (evil-normal-state)
    (backstaff-overview-tests-go-to "b.c")
    (execute-kbd-macro (kbd "RET"))
    (should (equal (buffer-file-name (window-buffer)) (concat root "src/deep/b.c")))))

(ert-deftest backstaff-overview-wraps-in-a-narrow-window ()
  (backstaff-overview-tests-shown
    (split-window-right 30)
    (should-not truncate-lines)
    (should-not truncate-partial-width-windows)))

(ert-deftest backstaff-overview-ret-elsewhere-says-so ()
  (backstaff-overview-tests-shown
    (goto-char (point-min))
    (should-error (backstaff-view-visit) :type 'user-error)))

(ert-deftest backstaff-overview-g-asks-again ()
  (backstaff-overview-tests-shown
    (write-region "" nil (concat root "src/new.c") nil 'silent)
    (backstaff-view-test-press "g")
    (should (member "src/ main.c new.c" (backstaff-view-test-lines)))))

(ert-deftest backstaff-overview-tab-goes-from-name-to-name ()
  (backstaff-overview-tests-shown
    (backstaff-overview-tests-go-to "src/deep/")
    (backstaff-view-test-press "TAB")
    (should (looking-at-p "a\\.c"))
    (backstaff-view-test-press "TAB")
    (should (looking-at-p "b\\.c"))
    (backstaff-view-test-press "<backtab>")
    (should (looking-at-p "a\\.c"))
    ;; After the last name comes the first.
    (backstaff-view-test-press "TAB" "TAB")
    (should (looking-at-p "README"))
    (backstaff-view-test-press "<backtab>")
    (should (looking-at-p "b\\.c"))))

(provide 'backstaff-overview-tests)
;;; backstaff-overview-tests.el ends here
