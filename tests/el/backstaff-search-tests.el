;;; backstaff-search-tests.el --- Tests of backstaff-ui-search.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-search)

(declare-function wgrep-finish-edit "wgrep")

(defconst backstaff-search-tests-tree
  '(("src" ("a.c" . "int run;\nrun run\n") ("b.c" . "no\n")) ("README" . "Run it\n"))
  "A project.")

(defun backstaff-search-tests-visited ()
  "Return the buffer that visits src/a.c."
  (or (get-buffer "a.c") (error "No buffer visits it")))

(defmacro backstaff-search-tests-found (pattern &rest body)
  "Run BODY in the buffer of a search for PATTERN that is over."
  (declare (indent 1) (debug t))
  `(backstaff-view-test-project backstaff-search-tests-tree
     (backstaff-search ,pattern root)
     (with-current-buffer (backstaff-search--buffer ,pattern root)
       (backstaff-request-wait)
       (unwind-protect (progn ,@body)
         (kill-buffer)))))

(defun backstaff-search-tests-lines ()
  "Return the lines of the buffer below its head, up to an empty one."
  (let ((lines (nthcdr 4 (split-string (string-replace "\0" ":" (buffer-string)) "\n"))))
    (cl-subseq lines 0 (cl-position "" lines :test #'equal))))

(ert-deftest backstaff-search-shows-lines-and-what-was-not-searched ()
  (backstaff-search-tests-found "run"
    (should (derived-mode-p 'grep-mode))
    (should (equal (backstaff-search-tests-lines)
                   '("README:1:Run it" "src/a.c:1:int run;" "src/a.c:2:run run")))
    (should (string-suffix-p "\n[not searched: nothing]\nSearch finished\n" (buffer-string)))))

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
                               (backstaff-search "run" nil t)
                               (backstaff-request-wait)
                               (current-buffer)))
                           '("one/p" "two/p" "one/p"))))
      (unwind-protect
          (progn
            (should (equal (mapcar #'buffer-name (butlast buffers))
                           '("*backstaff search: run in p*" "*backstaff search: run in p*<2>")))
            (should (eq (car buffers) (nth 2 buffers)))
            (cl-loop for buffer in buffers for file in '("a" "b" "a")
                     do (with-current-buffer buffer
                          (should (string-match-p (format "^%s\0" file) (buffer-string))))))
        (mapc #'kill-buffer (butlast buffers))))))

(ert-deftest backstaff-search-visits-the-next-match-from-its-heading ()
  (backstaff-search-tests-found "run"
    (save-window-excursion
      (switch-to-buffer (current-buffer))
      (pcase-dolist (`(,line ,name ,column) '((1 "README" 0) (4 "README" 0) (6 "a.c" 4)))
        (with-current-buffer (backstaff-search--buffer "run" root)
          (goto-char (point-min))
          (forward-line (1- line))
          (execute-kbd-macro (kbd "RET")))
        (with-current-buffer (window-buffer)
          (should (equal (list (buffer-name) (current-column)) (list name column)))
          (kill-buffer))
        (switch-to-buffer (backstaff-search--buffer "run" root)))
      (goto-char (point-max))
      (should (equal (cadr (should-error (backstaff-search-visit) :type 'user-error))
                     "No match is on this line or below it")))))

(ert-deftest backstaff-search-offers-no-word-of-its-own-heading ()
  (backstaff-search-tests-found "run"
    (cl-flet ((default ()
                (cl-letf (((symbol-function 'read-from-minibuffer)
                           (lambda (&rest arguments) (or (nth 5 arguments) ""))))
                  (car (backstaff-search--read)))))
      (goto-char (point-min))
      (should (equal (thing-at-point 'symbol t) "Search"))
      (should (equal (cadr (should-error (default) :type 'user-error))
                     "Give a regular expression"))
      (search-forward "int ru")
      (should (equal (default) "run")))))

(ert-deftest backstaff-search-heeds-case-where-there-is-a-capital-letter ()
  (backstaff-search-tests-found "Run"
    (should (equal (backstaff-search-tests-lines) '("README:1:Run it"))))
  (backstaff-search-tests-found "run\\S"
    (should (equal (backstaff-search-tests-lines) '("src/a.c:1:int run;"))))
  (backstaff-search-tests-found "Run"
    (execute-kbd-macro "c")
    (backstaff-request-wait)
    (should (equal (length (backstaff-search-tests-lines)) 3))))

(ert-deftest backstaff-search-says-what-is-wrong-and-what-a-person-can-do ()
  (backstaff-search-tests-found "(a"
    (should (string-match-p "is no regular expression.* or t, which looks for the text"
                            (buffer-string)))
    (should-not (string-search "literal" (buffer-string)))
    (should (string-suffix-p "\nSearch failed\n" (buffer-string)))))

(ert-deftest backstaff-search-says-that-nothing-matches-and-why ()
  (backstaff-search-tests-found "int\\|Run"
    (should (equal (backstaff-search-tests-lines) '("No matches")))
    (should (string-search "2 files match as Emacs's regexp: in Python it is /int|Run/"
                           (buffer-string)))))

(ert-deftest backstaff-search-says-which-key-does-what-a-note-advises ()
  (backstaff-view-test-project '(("a" . "run\n") ("build" ("b" . "x")))
    (backstaff-search "RUN" root)
    (with-current-buffer (window-buffer)
      (backstaff-request-wait)
      (should (string-search "[1 file matches without regard to case: c searches so]"
                             (buffer-string)))
      (should (string-search "[not searched: 1 in build/: d searches one directory]"
                             (buffer-string)))
      (kill-buffer))))

(ert-deftest backstaff-search-changes-how-it-searches ()
  (backstaff-search-tests-found "u."
    (should (equal (length (backstaff-search-tests-lines)) 3))
    (execute-kbd-macro "t")
    (backstaff-request-wait)
    (should (equal (backstaff-search-tests-lines) '("No matches")))
    (should (string-prefix-p "Search for the text u." (buffer-string)))
    (execute-kbd-macro "t")
    (backstaff-search-in-directory (expand-file-name "src"))
    (backstaff-request-wait)
    (should (equal (length (backstaff-search-tests-lines)) 2))))

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

(ert-deftest backstaff-search-reads-a-pattern-or-text ()
  (with-temp-buffer
    (insert "a.c")
    (dolist (case '((nil "b|c" ("b|c")) (nil "" ("a\\.c")) (t "" ("a.c" . t))))
      (cl-letf (((symbol-function 'thing-at-point) (lambda (&rest _) "a.c"))
                ((symbol-function 'read-from-minibuffer)
                 (lambda (_prompt _initial map &rest _)
                   (when (car case)
                     (call-interactively (lookup-key map (kbd "M-r"))))
                   (cadr case))))
        (should (equal (list (backstaff-search--read)) (cddr case)))))))

(ert-deftest backstaff-search-says-in-the-prompt-how-it-will-search ()
  (let ((prompts nil))
    (define-key minibuffer-local-map [f12]
                (lambda () (interactive)
                  (push (or (get-char-property (point-min) 'display)
                            (minibuffer-prompt))
                        prompts)))
    (unwind-protect
        (should (equal (backstaff-test-typing "<f12> M-r <f12> M-r <f12> x M-r RET"
                         (backstaff-search--read))
                       '("x" . t)))
      (define-key minibuffer-local-map [f12] nil))
    (should (equal (mapcar #'substring-no-properties prompts)
                   '("Search for Python regexp (M-r: text): "
                     "Search for text (M-r: Python regexp): "
                     "Search for Python regexp (M-r: text): ")))))

(ert-deftest backstaff-search-shows-the-pattern-as-it-was-typed ()
  (dolist (pattern '("x\\by{" "\"a\"" "a  b"))
    (backstaff-search-tests-found pattern
      (should (string-prefix-p (format "Search for the Python regexp %s in " pattern)
                               (buffer-string))))))

(ert-deftest backstaff-search-returns-at-once-and-is-cancelled ()
  (backstaff-view-test-project backstaff-search-tests-tree
    (backstaff-search "run" root)
    (should (eq (window-buffer) (backstaff-search--buffer "run" root)))
    (with-current-buffer (backstaff-search--buffer "run" root)
      (should-not (string-match-p "finished" (buffer-string)))
      (backstaff-request-quit)
      (should (string-match-p "Search cancelled" (buffer-string)))
      (kill-buffer))))

(ert-deftest backstaff-search-keeps-what-came-before-a-file-without-end ()
  (backstaff-view-test-project
      `(("a" . ,(apply #'concat (make-list 12 "ax\n"))) ("b" . ,(concat (make-string 60 ?a) "b\n")))
    (let ((backstaff-search--milliseconds 300))
      (backstaff-search "(a|aa)+(?=x)" root)
      (with-current-buffer (window-buffer)
        (backstaff-request-wait)
        (should (equal (length (backstaff-search-tests-lines)) 10))
        (should (string-match-p "file 2 of 2, b, with.*d searches one directory" (buffer-string)))
        (kill-buffer))
      (make-directory (expand-file-name "in" root))
      (copy-file (expand-file-name "b" root) (expand-file-name "in/b" root))
      (backstaff-search "(a|aa)+(?=x)" (expand-file-name "in" root))
      (with-current-buffer (window-buffer)
        (backstaff-request-wait)
        (should (string-match-p "file 1 of 1, in/b, with.*d searches one dir" (buffer-string)))
        (should-not (string-search "include" (buffer-string)))
        (kill-buffer)))))

(provide 'backstaff-search-tests)
;;; backstaff-search-tests.el ends here
