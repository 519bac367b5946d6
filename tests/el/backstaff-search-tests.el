;;; backstaff-search-tests.el --- Tests of backstaff-search.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-search)

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
     (with-current-buffer (format "*backstaff search: %s*" ,pattern)
       (backstaff-request-wait)
       (unwind-protect (progn ,@body)
         (kill-buffer)))))

(ert-deftest backstaff-search-shows-lines-and-what-was-not-searched ()
  (backstaff-search-tests-found "run"
    (should (derived-mode-p 'grep-mode))
    (should (equal (cddr (split-string (buffer-string) "\n"))
                   '("README:1:Run it" "src/a.c:1:int run;" "src/a.c:2:run run" ""
                     "[not searched: nothing]" "Search finished" "")))))

(ert-deftest backstaff-search-leads-next-error-to-the-lines ()
  (backstaff-search-tests-found "run run"
    (let ((next-error-last-buffer (current-buffer)))
      (save-window-excursion
        (next-error 1 t)
        (with-current-buffer (backstaff-search-tests-visited)
          (should (equal (line-number-at-pos) 2))
          (kill-buffer))))))

(ert-deftest backstaff-search-heeds-case-where-there-is-a-capital-letter ()
  (backstaff-search-tests-found "Run"
    (should (equal (nth 2 (split-string (buffer-string) "\n")) "README:1:Run it"))
    (should-not (string-match-p "a\\.c" (buffer-string)))))

(ert-deftest backstaff-search-says-what-is-wrong ()
  (backstaff-search-tests-found "(a"
    (should (string-match-p "is no regular expression" (buffer-string)))))

(ert-deftest backstaff-search-returns-at-once-and-is-cancelled ()
  (backstaff-view-test-project backstaff-search-tests-tree
    (backstaff-search "run" root)
    (with-current-buffer "*backstaff search: run*"
      (should-not (string-match-p "finished" (buffer-string)))
      (backstaff-request-quit)
      (should (string-match-p "Search cancelled" (buffer-string)))
      (kill-buffer))))

(provide 'backstaff-search-tests)
;;; backstaff-search-tests.el ends here
