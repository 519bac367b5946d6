;;; backstaff-changes-tests.el --- Tests of backstaff-ui-changes.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-changes)

(defun backstaff-changes-tests-git (&rest words)
  "Run git with WORDS in `default-directory'."
  (should (zerop (apply #'call-process "git" nil nil nil
                        "-c" "user.name=a" "-c" "user.email=a@example.org" words))))

(defconst backstaff-changes-tests-lines
  (mapconcat (lambda (number) (format "line %d\n" number)) (number-sequence 1 30) "")
  "The text of a file.")

(defmacro backstaff-changes-tests-with (&rest body)
  "Run BODY in a project with a commit of the files a.txt and gone.txt."
  (declare (indent 0) (debug t))
  `(progn
     (backstaff-test-needs "git" (executable-find "git"))
     (backstaff-view-test-project `(("a.txt" . ,backstaff-changes-tests-lines) ("gone.txt" . "gone\n"))
       (let ((create-lockfiles nil))
         (backstaff-changes-tests-git "init" "-q" "-b" "main")
         (backstaff-changes-tests-git "add" "-A")
         (backstaff-changes-tests-git "commit" "-qm" "one")
         (unwind-protect (progn ,@body)
           (dolist (buffer (buffer-list))
             (when (string-prefix-p "*backstaff changes" (buffer-name buffer))
               (kill-buffer buffer))))))))

(defun backstaff-changes-tests-edit (line text)
  "Insert TEXT before LINE of a.txt, and do not save it."
  (with-current-buffer (find-file-noselect (expand-file-name "a.txt" backstaff-root-directory))
    (goto-char (point-min))
    (forward-line (1- line))
    (insert text)))

(defun backstaff-changes-tests-go-to (text)
  "Go to the first line that begins with TEXT."
  (goto-char (point-min))
  (re-search-forward (concat "^" (regexp-quote text)))
  (beginning-of-line))

(ert-deftest backstaff-changes-list-files-that-ret-visits ()
  (backstaff-changes-tests-with
    (backstaff-changes-tests-git "mv" "gone.txt" "went -> away.txt")
    (write-region "" nil "new\nline.txt" nil 'quiet)
    (make-directory "sub")
    (write-region "" nil "sub/é \"x\".txt" nil 'quiet)
    (backstaff-changes-tests-edit 5 "first\n")
    (backstaff-view-test-open #'backstaff-changes)
    (should (equal (seq-take (backstaff-view-test-lines) 5)
                   '("R  gone.txt -> went -> away.txt" "?? \"new\\nline.txt\"" "?? sub/"
                     "not saved: a.txt" "Changes since HEAD:")))
    (dolist (file '("went -> away.txt" "new\nline.txt" "a.txt"))
      (ert-info (file)
        (backstaff-view-test-open #'backstaff-changes)
        (goto-char (point-min))
        (should (backstaff-view-go-to (if (equal file "a.txt") file (concat root file))))
        (backstaff-view-test-press "RET")
        (should (equal buffer-file-name (concat root file)))))
    ;; A directory without a tracked file is listed as one.
    (backstaff-view-test-open #'backstaff-changes)
    (backstaff-changes-tests-go-to "?? sub/")
    (backstaff-view-test-press "RET")
    (should (derived-mode-p 'dired-mode))
    ;; The keys of `diff-mode' lead to the files of the diff alone.
    (backstaff-view-test-open #'backstaff-changes)
    (goto-char (point-min))
    (execute-kbd-macro (kbd "N"))
    (should (looking-at-p "diff \\|---"))))

(ert-deftest backstaff-changes-below-the-top-of-a-repository-are-those-of-the-root ()
  (backstaff-changes-tests-with
    (make-directory "sub")
    (write-region "" nil "sub/new.txt" nil 'quiet)
    (write-region "" nil "other.txt" nil 'quiet)
    (let* ((backstaff-root-directory (concat root "sub/")) (default-directory backstaff-root-directory))
      (backstaff-view-test-open #'backstaff-changes)
      (should (string-prefix-p "?? sub/\nNo changes" (buffer-string)))
      (goto-char (point-min))
      (backstaff-view-test-press "RET")
      (should (equal default-directory (concat root "sub/"))))))

(ert-deftest backstaff-changes-list-a-thousand-files-and-count-the-rest ()
  (backstaff-changes-tests-with
    (backstaff-view-test-plant-many 1002)
    (backstaff-view-test-open #'backstaff-changes)
    (should (equal (last (backstaff-view-test-lines) 3)
                   '("?? file-1000" "[2 more files]" "No changes since HEAD:")))))

(ert-deftest backstaff-changes-show-unsaved-text ()
  (backstaff-changes-tests-with
    (backstaff-changes-tests-edit 20 "new\n")
    (backstaff-view-test-open #'backstaff-changes)
    (should (equal (buffer-name) (format "*backstaff changes: %s*"
                                         (file-name-nondirectory (directory-file-name root)))))
    (should (equal default-directory root))
    (should (derived-mode-p 'diff-mode))
    (should (string-match-p "\\`not saved: a\\.txt\nChanges since HEAD:\ndiff " (buffer-string)))
    (should (string-match-p "^@@ -17,6 \\+17,7 @@.*\n\\( line.*\n\\)\\{3\\}\\+new\n"
                            (buffer-string)))))

(ert-deftest backstaff-changes-ret-visits-the-line-in-the-buffer ()
  (backstaff-changes-tests-with
    (backstaff-changes-tests-edit 25 "second\n")
    (backstaff-changes-tests-edit 5 "first\nmore\n")
    (dolist (text '("first" "more" "second"))
      (ert-info (text)
        (backstaff-view-test-open #'backstaff-changes)
        (backstaff-changes-tests-go-to (concat "+" text))
        (backstaff-view-test-press "RET")
        (should (equal (buffer-name) "a.txt"))
        (should (looking-at-p (concat text "$")))))
    ;; Context and the head of a hunk have lines, too.
    (backstaff-view-test-open #'backstaff-changes)
    (backstaff-changes-tests-go-to " line 27")
    (backstaff-view-test-press "RET")
    (should (looking-at-p "line 27$"))))

(ert-deftest backstaff-changes-ret-on-a-removed-line-visits-its-place ()
  (backstaff-changes-tests-with
    (with-current-buffer (find-file-noselect "a.txt")
      (goto-char (point-min))
      (forward-line 9)
      (delete-region (point) (progn (forward-line 2) (point))))
    (backstaff-view-test-open #'backstaff-changes)
    (backstaff-changes-tests-go-to "-line 11")
    (backstaff-view-test-press "RET")
    (should (looking-at-p "line 12$"))))

(ert-deftest backstaff-changes-ret-visits-a-file-whose-lines-are-not-shown ()
  (backstaff-changes-tests-with
    (write-region (make-string 3000000 ?x) nil (concat root "a.txt") nil 'quiet)
    (backstaff-view-test-open #'backstaff-changes)
    (backstaff-changes-tests-go-to "[a.txt: no lines")
    (backstaff-view-test-press "RET")
    (should (equal buffer-file-name (concat root "a.txt")))))

(ert-deftest backstaff-changes-of-many-files-say-where-the-rest-begins ()
  (backstaff-changes-tests-with
    (dotimes (n 4)
      (with-temp-file (concat root (format "f%d" n))
        (dotimes (line 2000)
          (insert (make-string 40 ?x) (format "%d\n" line)))))
    (backstaff-changes-tests-git "add" "-A")
    (backstaff-view-test-open #'backstaff-changes)
    (should (string-match "^\\[more files: type e and add :offset \\([0-9]+\\)\\]$" (buffer-string)))
    (let ((offset (match-string 1 (buffer-string))))
      (should-not (string-match-p "^diff .* b/f3$" (buffer-string)))
      (execute-kbd-macro (kbd (format "e C-e C-b SPC :offset SPC %s RET" offset)))
      (backstaff-view-test-settle)
      (should (string-match-p "^diff .* b/f[123]$" (buffer-string))))))

(ert-deftest backstaff-changes-ret-elsewhere-says-so ()
  (backstaff-changes-tests-with
    (delete-file (concat root "gone.txt"))
    (backstaff-view-test-open #'backstaff-changes)
    (goto-char (point-min))
    (should-error (backstaff-changes-visit) :type 'user-error)
    (backstaff-changes-tests-go-to "-gone")
    (should-error (backstaff-changes-visit) :type 'user-error)))

(ert-deftest backstaff-changes-g-asks-again-and-stays-on-the-line ()
  (backstaff-changes-tests-with
    (backstaff-view-test-open #'backstaff-changes)
    (should (equal (backstaff-view-test-lines)
                   '("No changes since HEAD:")))
    (backstaff-changes-tests-edit 3 "new\n")
    (backstaff-view-test-press "g")
    (should (string-match-p "^\\+new$" (buffer-string)))
    (backstaff-changes-tests-go-to "+new")
    (let ((line (line-number-at-pos)))
      (backstaff-view-test-press "g")
      (should (= (line-number-at-pos) line)))))

(ert-deftest backstaff-changes-that-were-cancelled-at-first-are-asked-for-again ()
  (backstaff-changes-tests-with
    (backstaff-changes)
    (backstaff-view-test-press "C-g")
    (should (string-match-p "was cancelled" (buffer-string)))
    (backstaff-view-test-press "g")
    (should (string-match-p "since HEAD:" (buffer-string)))))

(ert-deftest backstaff-changes-e-compares-with-another-commit ()
  (backstaff-changes-tests-with
    (write-region "b\n" nil (concat root "b.txt") nil 'quiet)
    (backstaff-changes-tests-git "add" "b.txt")
    (backstaff-view-test-open #'backstaff-changes)
    (should (string-match-p "^\\+b$" (buffer-string)))
    (goto-char (point-max))
    (backstaff-view-test-press "e M-DEL index RET")
    (should (bobp))
    (should-not (string-match-p "^\\+b$" (buffer-string)))
    (should (string-match-p "since index" (buffer-string)))
    (backstaff-view-test-press "e M-DEL nowhere RET")
    (should (string-match-p "\\`Error: .*nowhere" (buffer-string)))))

(ert-deftest backstaff-changes-have-the-keys-of-a-diff ()
  (backstaff-changes-tests-with
    (backstaff-changes-tests-edit 25 "second\n")
    (backstaff-changes-tests-edit 5 "first\n")
    (backstaff-view-test-open #'backstaff-changes)
    (should buffer-read-only)
    (goto-char (point-min))
    (dolist (text '("@@ -2" "@@ -22"))
      (execute-kbd-macro (kbd "n"))
      (should (looking-at-p text)))
    (should (eq (key-binding (kbd "N")) 'diff-file-next))))

(ert-deftest backstaff-changes-without-a-repository-say-so ()
  (backstaff-view-test-project '(("a.txt" . ""))
    (backstaff-view-test-open #'backstaff-changes)
    (should (string-match-p "no git repository" (buffer-string)))))

(ert-deftest backstaff-changes-next-error-visits-hunk-after-hunk ()
  (backstaff-changes-tests-with
    (backstaff-changes-tests-edit 25 "second\n")
    (backstaff-changes-tests-edit 5 "first\n")
    (backstaff-view-test-open #'backstaff-changes)
    (goto-char (point-min))
    (dolist (line '(2 23))
      (next-error)
      (with-current-buffer (window-buffer)
        (should (equal (list (buffer-name) (line-number-at-pos)) (list "a.txt" line)))))))

(ert-deftest backstaff-changes-do-not-wait ()
  (backstaff-changes-tests-with
    (backstaff-changes)
    (should (derived-mode-p 'backstaff-changes-mode))
    (should (zerop (buffer-size)))
    (backstaff-view-test-settle)
    (should-not (zerop (buffer-size)))))

(provide 'backstaff-changes-tests)
;;; backstaff-changes-tests.el ends here
