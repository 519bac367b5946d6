;;; backstaff-search-tests.el --- Tests of backstaff-ui-search.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-search)

(declare-function wgrep-finish-edit "wgrep")

(defvar backstaff-search-tests-tree
  '(("src" ("a.c" . "int run;\nrun run\n") ("b.c" . "no\n")) ("README" . "Run it\n"))
  "A project.")

(defun backstaff-search-tests-name (root)
  "Return the name of the buffer of searches below ROOT."
  (format "*backstaff search: %s*" (file-name-nondirectory (directory-file-name root))))

(defun backstaff-search-tests-visited ()
  "Return the buffer that visits src/a.c."
  (or (get-buffer "a.c") (error "No buffer visits it")))

(defmacro backstaff-search-tests-found (pattern &rest body)
  "Run BODY in the buffer of a search for PATTERN that is over."
  (declare (indent 1) (debug t))
  `(backstaff-view-test-project backstaff-search-tests-tree
     (backstaff-search ,pattern)
     (with-current-buffer (backstaff-search-tests-name root)
       (backstaff-view-test-wait)
       (unwind-protect (progn ,@body)
         (kill-buffer)))))

(defun backstaff-search-tests-lines (&optional all)
  "Return the lines that name a file, up to an empty one; or ALL as they are seen."
  (let ((lines (split-string (buffer-substring-no-properties (point-min) (point-max)) "\n")))
    (setq lines (cl-subseq lines 0 (cl-position "" lines :test #'equal)))
    (if all (mapcar (lambda (line) (replace-regexp-in-string "\\`.*\0" "" line)) lines)
      (cl-loop for line in lines
               when (string-search "\0" line) collect (string-replace "\0" ":" line)))))

(defun backstaff-search-tests-press (keys)
  "Press KEYS and wait for the matches."
  (switch-to-buffer (current-buffer))
  (execute-kbd-macro (kbd keys))
  (backstaff-view-test-wait))

(ert-deftest backstaff-search-shows-lines-and-counts-files-that-were-not-searched ()
  (backstaff-search-tests-found "run"
    (should (derived-mode-p 'grep-mode))
    (should (equal (backstaff-search-tests-lines)
                   '("README:1:Run it" "src/a.c:1:int run;" "src/a.c:2:run run")))
    (should (string-match-p "\n\n\\[not searched: nothing]\nSearch finished\n\\'"
                            (buffer-string)))))

(ert-deftest backstaff-search-groups-by-file-and-counts-in-one-line ()
  (backstaff-search-tests-found "run"
    (should (equal (backstaff-search-tests-lines t)
                   '("README" "1:Run it" "src/a.c" "1:int run;" "2:run run")))
    ;; The name of the file in the line is there for `next-error'.
    (goto-char (point-min))
    (search-forward "src/a.c\0")
    (should (invisible-p (1- (point))))
    (should (equal (backstaff-view-test-header)
                   " Matches: 4, files: 2  e edits, ? shows the keys  (:pattern \"run\")"))))

(ert-deftest backstaff-search-names-the-definition-around-a-match ()
  (let ((backstaff-search-tests-tree
         '(("a.py" . "y = x\ndef f(x):\n    return x\n\ndef g():\n    return x\nz = x\n"))))
    (backstaff-search-tests-found "x"
      (should (equal (backstaff-search-tests-lines t)
                     '("a.py" "1:y = x" "2:def f(x):" "3:    return x" "in g" "6:    return x"
                       "at top level" "7:z = x"))))))

(ert-deftest backstaff-search-shows-a-match-far-along-a-long-line ()
  (let ((backstaff-search-tests-tree
         `(("a.js" . ,(concat (make-string 1500 ?x) "needle\nneedle\n")))))
    (backstaff-search-tests-found "needle"
      (should (equal (mapcar #'string-width (backstaff-search-tests-lines t)) '(4 1002 8)))
      (should (string-suffix-p "Search finished\n" (buffer-string))))))

(ert-deftest backstaff-search-arguments-are-edited ()
  (backstaff-search-tests-found "run"
    (pcase-dolist (`(,arguments ,header . ,lines)
                   '(("(:pattern SPC \"u.\" SPC :literal SPC t)" "(:pattern \"u.\" :literal t)")
                     ("(:pattern SPC \"run\" SPC :flags SPC \"\" SPC :root_path SPC \"src\")"
                      ":flags \"\" :root_path \"src\")" "src/a.c:1:int run;" "src/a.c:2:run run")
                     ("{\"pattern\":\"r\",\"include\":[\"**/*.{el,py}\",\"README\"]}"
                      ":include (\"**/*.{el,py}\" \"README\"))" "README:1:Run it")))
      (ert-info (arguments)
        (backstaff-search-tests-press (concat "e C-a C-k " arguments " RET"))
        (should (equal (backstaff-search-tests-lines) lines))
        (should (string-search header (backstaff-view-test-header)))))
    ;; Point is behind the pattern.
    (backstaff-search "runx")
    (backstaff-view-test-wait)
    (backstaff-search-tests-press "e DEL ; RET")
    (should (equal (backstaff-search-tests-lines) '("src/a.c:1:int run;")))
    (backstaff-search-tests-press "e C-a C-k (:pattern SPC \"run\" SPC :nonsense SPC 1) RET")
    (should (string-search "[Unknown argument ignored: nonsense" (buffer-string)))))

(ert-deftest backstaff-search-leads-next-error-to-the-match ()
  (backstaff-search-tests-found "run;"
    (let ((next-error-last-buffer (current-buffer)))
      (save-window-excursion
        (next-error 1 t)
        (with-current-buffer (backstaff-search-tests-visited)
          (should (equal (line-number-at-pos) 1))
          (should (equal (current-column) 4))
          (kill-buffer))))))

(ert-deftest backstaff-search-of-another-project-has-a-buffer-of-its-own ()
  (backstaff-view-test-project '(("one" ("p" ("a" . "run"))) ("two" ("p" ("b" . "run"))))
    (let ((buffers (mapcar (lambda (name)
                             (let ((backstaff-root-directory
                                    (file-name-as-directory (expand-file-name name root))))
                               (backstaff-search "run")
                               (backstaff-view-test-wait)
                               (current-buffer)))
                           '("one/p" "two/p" "one/p"))))
      (unwind-protect
          (progn
            (should (equal (mapcar #'buffer-name (butlast buffers))
                           '("*backstaff search: p*" "*backstaff search: p*<2>")))
            (should (eq (car buffers) (nth 2 buffers)))
            (cl-loop for buffer in buffers for file in '("a" "b" "a")
                     do (with-current-buffer buffer
                          (should (string-match-p (format "^%s\0" file) (buffer-string))))))
        (mapc #'kill-buffer (butlast buffers))))))

(ert-deftest backstaff-search-visits-the-match-and-nothing-from-a-heading ()
  (backstaff-search-tests-found "run"
    (save-window-excursion
      (switch-to-buffer (current-buffer))
      (goto-char (point-min))
      (should-error (compile-goto-error) :type 'user-error)
      (re-search-forward "^src/a\\.c\0")
      (beginning-of-line)
      (execute-kbd-macro (kbd "RET"))
      (with-current-buffer (window-buffer)
        (should (equal (list (buffer-name) (current-column)) '("a.c" 4)))
        (kill-buffer)))))

(ert-deftest backstaff-search-heeds-case-where-there-is-a-capital-letter ()
  (backstaff-search-tests-found "Run"
    (should (equal (backstaff-search-tests-lines) '("README:1:Run it"))))
  (backstaff-search-tests-found "run\\S"
    (should (equal (backstaff-search-tests-lines) '("src/a.c:1:int run;"))))
  (backstaff-search-tests-found "Run"
    (backstaff-search-tests-press "e SPC DEL \" SPC :flags SPC \"i\") C-k RET")
    (should (equal (length (backstaff-search-tests-lines)) 3))))

(ert-deftest backstaff-search-says-what-is-wrong-and-what-a-person-can-do ()
  (backstaff-search-tests-found "(a"
    (should (string-match-p "\\`\n.*missing ).*:literal t " (buffer-string)))
    (should (string-suffix-p "\nSearch failed\n" (buffer-string)))))

(ert-deftest backstaff-search-says-that-nothing-matches ()
  (backstaff-search-tests-found "int\\|Run"
    (should (equal (backstaff-search-tests-lines t) '("No matches")))
    (should (string-suffix-p "Search finished\n" (buffer-string)))))

(ert-deftest backstaff-search-names-the-arguments-for-the-advice-of-a-note ()
  (backstaff-view-test-project '(("a" . "run\n") ("build" ("b" . "x")))
    (backstaff-search "RUN")
    (with-current-buffer (window-buffer)
      (backstaff-view-test-wait)
      (should (string-search "[1 file matches without regard to case, :flags \"i\"]"
                             (buffer-string)))
      (should (string-search "[not searched: 1 in build/, give a directory as root_path]"
                             (buffer-string)))
      (kill-buffer))))

(ert-deftest backstaff-search-is-edited-with-wgrep ()
  (backstaff-test-needs "wgrep" (require 'wgrep nil t))
  (backstaff-search-tests-found "int run"
    (call-interactively (key-binding (kbd "C-c C-p")))
    (goto-char (point-min))
    (search-forward "int run;")
    (insert "ning;")
    (wgrep-finish-edit)
    (with-current-buffer (backstaff-search-tests-visited)
      (should (string-prefix-p "int run;ning;\n" (buffer-string)))
      (set-buffer-modified-p nil)
      (kill-buffer))))

(ert-deftest backstaff-search-reads-a-pattern ()
  (cl-letf (((symbol-function 'thing-at-point) (lambda (&rest _) "a.c")))
    (pcase-dolist (`(,keys . ,read) '(("b|c RET" . "b|c") ("RET" . "a\\.c")))
      (should (equal (backstaff-test-typing keys
                       (backstaff-search--read "Search" #'backstaff-view-quote-regexp))
                     read))))
  (with-temp-buffer
    (should-error (backstaff-test-typing "RET" (backstaff-search--read "Search" #'identity))
                  :type 'user-error)))

(ert-deftest backstaff-search-returns-at-once-and-is-cancelled ()
  (backstaff-view-test-project backstaff-search-tests-tree
    (backstaff-search "run")
    (should (eq (window-buffer) (get-buffer (backstaff-search-tests-name root))))
    (with-current-buffer (get-buffer (backstaff-search-tests-name root))
      (should-not (string-match-p "finished" (buffer-string)))
      (should backstaff-view--call)
      (backstaff-view-quit)
      (backstaff-view-test-wait)
      (should (string-match-p "was cancelled" (buffer-string)))
      (revert-buffer)
      (backstaff-view-test-wait)
      (should (string-match-p "Matches: 4, " header-line-format))
      (kill-buffer))))

(ert-deftest backstaff-search-says-which-file-takes-too-long-and-what-helps ()
  :tags '(clock)
  (backstaff-view-test-project
      `(("in" ("b" . ,(concat (make-string 60 ?a) "b\n"))))
    (let ((backstaff-search--milliseconds 600))
      (backstaff-search "(a|aa)+(?=x)")
      (with-current-buffer (window-buffer)
        (backstaff-view-test-wait)
        (should (string-match-p "file 1 of 1, in/b; give a root_path" (buffer-string)))
        (kill-buffer)))))

;;; Consult

(declare-function consult--grep-state "ext:consult" t)
(defvar icomplete-mode)

(ert-deftest backstaff-search-shows-matches-as-one-types-with-consult ()
  (backstaff-test-needs "Consult" (require 'consult nil t))
  (backstaff-view-test-project backstaff-search-tests-tree
    (let ((asked nil) (current-prefix-arg nil) (icomplete-mode t))
      (cl-letf (((symbol-function 'consult--read)
                 (lambda (_ &rest options) (push options asked) nil)))
        (call-interactively #'backstaff-search))
      (should (eq (plist-get (car asked) :category) 'consult-grep)))
    (backstaff-test-typing "run RET"
      (let ((current-prefix-arg '(4)))
        (call-interactively #'backstaff-search)))
    (with-current-buffer (backstaff-search-tests-name root)
      (backstaff-view-test-wait)
      (should (string-search "Search finished" (buffer-string)))
      (kill-buffer))
    (let ((found (backstaff-search--candidates
                  "u." root)))
      (should (equal (mapcar #'substring-no-properties found)
                     '("README:1:Run it" "src/a.c:1:int run;" "src/a.c:2:run run")))
      ;; Consult's own functions lead to the place, and preview it.
      (let ((default-directory root))
        (funcall (consult--grep-state) 'return (nth 2 found)))
      (should (equal (list (file-name-nondirectory buffer-file-name) (line-number-at-pos))
                     '("a.c" 2))))
    (should (equal (backstaff-search--candidates
                    "(a" root)
                   "Argument 'pattern' is no regular expression: missing ), unterminated\
 subpattern (at character 1)"))))

(ert-deftest backstaff-search-uses-consult-by-an-option-and-with-a-completion-on-the-screen ()
  (backstaff-view-test-project backstaff-search-tests-tree
    (pcase-dolist (`(,backstaff-use-consult . ,icomplete-mode) '((nil . t) (t . nil)))
      (backstaff-test-typing "run RET" (call-interactively #'backstaff-search))
      (should (eq major-mode 'backstaff-search-mode)))))

;;; Places and copies

(ert-deftest backstaff-search-of-a-project-uses-one-buffer ()
  (backstaff-search-tests-found "run"
    (let ((buffer (current-buffer)))
      (backstaff-search "int")
      (backstaff-view-test-wait)
      (should (eq buffer (window-buffer)))
      (should (equal (backstaff-search-tests-lines) '("src/a.c:1:int run;"))))))

(ert-deftest backstaff-search-shows-a-new-query-from-the-top-and-the-same-one-where-it-was ()
  (backstaff-search-tests-found "run"
    (switch-to-buffer (current-buffer))
    (goto-char (point-min))
    (search-forward "int run")
    (let ((place (list (line-number-at-pos) (current-column))))
      (backstaff-search-tests-press "g")
      (should (equal (list (line-number-at-pos) (current-column)) place)))
    (goto-char (point-max))
    (backstaff-search-tests-press "e DEL RET")
    (should (bobp))
    (should (= (window-start) (point-min)))))

(ert-deftest backstaff-search-keeps-its-place-among-many-matches ()
  (backstaff-view-test-project `(("a" . ,(apply #'concat (make-list 300 "hit\n"))))
    (backstaff-view-test-open #'backstaff-search "hit")
    (goto-char (point-min))
    (forward-line 250)
    (backstaff-search-tests-press "g")
    (should (= (line-number-at-pos) 251))
    (kill-buffer)))

(ert-deftest backstaff-search-copies-lines-as-they-are-seen ()
  (backstaff-search-tests-found "int"
    (copy-region-as-kill (point-min) (point-max))
    (should (string-prefix-p "src/a.c\n1:int run;\n" (current-kill 0)))))

(ert-deftest backstaff-search-recompile-searches-again ()
  (backstaff-search-tests-found "run"
    (write-region "run\n" nil "new.c" nil 'silent)
    (let ((compile-command "touch made"))
      (should (equal (cadr (should-error (recompile) :type 'user-error)) "Searching again")))
    (backstaff-view-test-wait)
    (should (member "new.c:1:run" (backstaff-search-tests-lines)))
    (should-not (file-exists-p "made"))))

(ert-deftest backstaff-search-offers-the-region-or-the-symbol ()
  (with-temp-buffer
    (let ((transient-mark-mode t))
      (insert "doom|init end")
      (should (equal (backstaff-view-default-input) "end"))
      (set-mark (point-min))
      (goto-char 10)
      (should (equal (backstaff-view-default-input) "doom|init"))
      (setq mark-active nil)
      ;; Here the comment's slashes are a symbol.
      (with-syntax-table (make-syntax-table)
        (modify-syntax-entry ?/ "_")
        (insert " // ")
        (backward-char 2)
        (should (equal (thing-at-point 'symbol t) "//"))
        (should-not (backstaff-view-default-input))))))

(ert-deftest backstaff-search-quotes-its-default-for-python ()
  (let ((backstaff-search-tests-tree '(("a" . "doom|init (x-y) é's\nother\n"))))
    (dolist (text '("doom|init" "(x-y)" "é's"))
      (backstaff-search-tests-found (backstaff-view-quote-regexp text)
        (should (equal (length (backstaff-search-tests-lines)) 1))))))

;;; Questions

(ert-deftest backstaff-codebase-search-shows-the-best-places-for-a-question ()
  (backstaff-view-test-project
      '(("net" ("conn.py" . "class Connection:\n    def close(self):\n        # drained before it is closed\n        self.drain()\n")
         ("other.py" . "def open():\n    pass\n"))
        ("notes.txt" . "drain\n"))
    (backstaff-test-typing "how SPC is SPC a SPC connection SPC drained RET"
      (call-interactively #'backstaff-codebase-search))
    (with-current-buffer (window-buffer)
      (backstaff-view-test-wait)
      (should (eq major-mode 'backstaff-search-mode))
      (let ((lines (backstaff-search-tests-lines t)))
        (should (equal (car lines) "net/conn.py"))
        (should (member "in Connection.close" lines))
        (should (member "3:        # drained before it is closed" lines))
        ;; A file without a definition is a place as well.
        (should (member "notes.txt" lines)))
      (should (string-match-p "files: 2 .*how is a connection drained" header-line-format))
      (should (string-match-p "^\\[words: .*drain" (buffer-string)))
      (goto-char (point-min))
      (search-forward "3:  ")
      (execute-kbd-macro (kbd "RET")))
    (with-current-buffer (window-buffer)
      (should (equal (list (buffer-name) (line-number-at-pos)) '("conn.py" 3))))))

(ert-deftest backstaff-codebase-search-is-edited-and-narrowed ()
  (let ((backstaff-search-tests-tree '(("a.py" . "def drain():\n    pass\n") ("b.el" . "(defun drain ())\n"))))
    (backstaff-search-tests-found "x"
      (backstaff-codebase-search "drain")
      (backstaff-view-test-wait)
      (should (equal (length (backstaff-search-tests-lines)) 2))
      (backstaff-search-tests-press "e SPC it RET")
      (should (equal (plist-get (backstaff-view-get :arguments) :query) "drain it"))
      (backstaff-search-tests-press
       "e C-a C-k {\"query\":\"drain\",\"include\":[\"**/*.py\"]} RET")
      (should (equal (backstaff-search-tests-lines) '("a.py:1:def drain():"))))))

(provide 'backstaff-search-tests)
;;; backstaff-search-tests.el ends here
