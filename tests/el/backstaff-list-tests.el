;;; backstaff-list-tests.el --- Tests of backstaff-ui-list.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'mule-util)
(require 'backstaff-view-fixtures)
(require 'backstaff-ui-list)
(require 'project)
(require 'backstaff-ui-tree)

(defconst backstaff-list-tests-tree
  `(("big.bin" . ,(make-string 3000 ?x)) ("Small" . "12") (".hidden" . "")
    ("sub" ("inner" ("deep.txt" . "")) ("x" . "")) ("also" ("y" . "")))
  "A project.")


;;; Rows and facts

(ert-deftest backstaff-list-shows-a-table ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (set-file-times (expand-file-name "big.bin" root) (encode-time 0 23 14 15 1 2026))
    (backstaff-view-test-open #'backstaff-list-directory root)
    (should (derived-mode-p 'tabulated-list-mode))
    (should buffer-read-only)
    (should truncate-lines)
    (should (equal (backstaff-view-test-names) '("also" "sub" "big.bin" "Small")))
    (backstaff-view-test-go-to "big.bin")
    (should (equal (buffer-substring-no-properties
                    (line-beginning-position) (line-end-position))
                   " big.bin              file      2.9k  2026-01-15 14:23"))
    (should-not (get-text-property (point) 'face))
    (backstaff-view-test-go-to "sub/")
    (should (eq (get-text-property (point) 'face) 'dired-directory))
    (should (equal (backstaff-view-test-header) "2 files, 2 directories, hidden off"))
    (should (string-match-p " Name .* Type +Size +Modified" (format "%s" header-line-format)))
    (should (equal (backstaff-view-test-notes) ""))
    (should (equal default-directory root))))

(ert-deftest backstaff-list-opens-at-the-first-entry ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (backstaff-view-test-open #'backstaff-list-directory root)
    (should (equal (backstaff-view-test-name) "also"))
    (backstaff-view-test-press "n" "n")
    (should (equal (backstaff-view-test-name) "big.bin"))
    (backstaff-view-test-press "p")
    (should (equal (backstaff-view-test-name) "sub"))))

(ert-deftest backstaff-list-directory-offers-the-one-that-the-file-is-in ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (dolist (keys '("M-x backstaff-list-directory RET"
                    "C-u M-x backstaff-list-directory RET RET"
                    "C-u M-x backstaff-tree RET RET"
                    "C-u M-x backstaff-overview RET RET"))
      (find-file (expand-file-name "sub/x" root))
      (execute-kbd-macro (kbd keys))
      (backstaff-view-test-settle)
      (ert-info (keys :prefix "Keys: ")
        (should (equal (plist-get backstaff-view-state :path) "sub"))))))

(ert-deftest backstaff-list-and-tree-start-at-the-file-that-the-user-comes-from ()
  (backstaff-view-test-project '(("a" ("b" ("c" ("d" ("deep" . "") ("zz" . "")))))
                                 ("e" ("f" . "")))
    (let ((backstaff-root-function (lambda (_) root)) (backstaff-root-directory nil)
          (backstaff-tree-depth 2))
      (dolist (open (list #'backstaff-list-directory #'backstaff-tree))
        (find-file (expand-file-name "a/b/c/d/zz" root))
        (backstaff-view-test-open open (if (eq open #'backstaff-tree) root default-directory))
        (should (equal (plist-get (backstaff-view--entry) :path) "a/b/c/d/zz"))
        ;; Point also goes there from one view to the next, and from Dired.
        (backstaff-view-test-open #'backstaff-tree root)
        (should (equal (plist-get (backstaff-view--entry) :path) "a/b/c/d/zz"))
        (dired-jump nil (expand-file-name "a/b/c/d/deep" root))
        (backstaff-view-test-open #'backstaff-list-directory default-directory)
        (should (equal (backstaff-view-test-name) "deep"))))))

(ert-deftest backstaff-list-shows-the-project-that-is-switched-to ()
  (backstaff-view-test-project '(("here") ("one" (".git" ("HEAD" . "ref: refs/heads/main\n"))
                                          ("in" ("x" . ""))))
    (let ((backstaff-root-directory nil)
          (default-directory (expand-file-name "here/"))
          (project-switch-commands 'backstaff-list-directory)
          (project-list-file (expand-file-name "projects"))
          (one (expand-file-name "one/")))
      (cl-letf (((symbol-function 'switch)
                 (lambda () (interactive) (project-switch-project one))))
        (execute-kbd-macro (kbd "M-x switch RET")))
      (backstaff-view-test-settle)
      (should (equal (backstaff-view-test-names) '("in")))
      (should (equal (plist-get backstaff-view-state :root) one)))))

(ert-deftest backstaff-list-reuses-its-buffer ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (backstaff-view-test-open #'backstaff-list-directory root)
    (let ((first (current-buffer)))
      (backstaff-view-test-press ".")
      (backstaff-view-test-open #'backstaff-list-directory root)
      (should (eq (current-buffer) first))
      (should (member ".hidden" (backstaff-view-test-names))))))

(ert-deftest backstaff-list-of-nothing-says-so ()
  (backstaff-view-test-project nil
    (backstaff-view-test-open #'backstaff-list-directory root)
    (should (string-match-p "Nothing to show; \\. shows" (backstaff-view-test-notes)))
    (backstaff-view-test-press ".")
    (should (string-match-p "The directory is empty" (backstaff-view-test-notes)))
    (should-error (execute-kbd-macro (kbd "RET")) :type 'user-error)))


;;; Sorting

(ert-deftest backstaff-list-sorts-by-name-size-and-time-the-largest-and-newest-first ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (set-file-times (expand-file-name "Small" root) 1000000000)
    (set-file-times (expand-file-name "sub" root) 1000000001)
    (set-file-times (expand-file-name "also" root) 1200000000)
    (set-file-times (expand-file-name "big.bin" root) 999999999)
    (backstaff-view-test-open #'backstaff-list-directory root)
    (should (equal (backstaff-view-test-name) "also"))
    (backstaff-view-test-press "S")
    (should (equal (backstaff-view-test-names) '("sub" "also" "Small" "big.bin")))
    (should (equal (backstaff-view-test-name) "also"))
    (backstaff-view-test-press "C-u 2 S")
    (should (equal (last (backstaff-view-test-names) 2) '("big.bin" "Small")))
    (backstaff-view-test-press "C-u 3 S")
    (should (equal (backstaff-view-test-names) '("also" "sub" "Small" "big.bin")))
    (backstaff-view-test-press "C-u 3 S")
    (should (equal (backstaff-view-test-names) '("sub" "also" "big.bin" "Small")))
    (backstaff-view-test-press "g")
    (should (equal (backstaff-view-test-names) '("sub" "also" "big.bin" "Small")))
    (goto-char (point-min))
    (dolist (keys '("C-u 1 S" "C-u S" "S"))
      (ert-info (keys)
        (should (string-match-p "Go to a name, size or time"
                                (cadr (should-error (execute-kbd-macro (kbd keys))
                                                    :type 'user-error))))))))

(ert-deftest backstaff-list-sorts-by-the-column-at-point-and-back ()
  (backstaff-view-test-project '(("a" . "12") ("b" . "1") ("c" . "123"))
    (backstaff-view-test-open #'backstaff-list-directory root)
    (search-forward "file")
    (search-forward "2")
    (should (string-match-p " Name ▼" (format "%s" header-line-format)))
    (dolist (names '(("c" "a" "b") ("b" "a" "c") ("c" "a" "b")))
      (backstaff-view-test-press "S")
      (should (string-match-p "Size [▼▲]" (format "%s" header-line-format)))
      (should (equal (backstaff-view-test-names) names)))))

(ert-deftest backstaff-list-columns-become-wider-and-keep-their-order ()
  (backstaff-view-test-project '(("a" . "12") ("b" . "1") ("c" . "123"))
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-press "C-u 2 S" "C-u 5 }")
    (should (equal (backstaff-view-test-names) '("c" "a" "b")))
    (should (string-match-p "^ a \\{25\\}file" (buffer-string)))))


;;; Moving

(ert-deftest backstaff-list-goes-down-and-up ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (backstaff-view-test-open #'backstaff-list-directory root)
    (let ((buffer (current-buffer)))
      (backstaff-view-test-go-to "sub/")
      (backstaff-view-test-press "RET" "RET")
      (should (eq (current-buffer) buffer))
      (should (equal (backstaff-view-test-names) '("deep.txt")))
      (should (equal default-directory (concat root "sub/inner/")))
      (should (string-suffix-p "/sub/inner/*" (buffer-name)))
      (backstaff-view-test-press "^")
      (should (equal (backstaff-view-test-name) "inner"))
      (backstaff-view-test-press "^")
      (should (equal (backstaff-view-test-name) "sub"))
      (should-error (execute-kbd-macro "^") :type 'user-error)
      (should (equal (backstaff-view-test-name) "sub")))))

(ert-deftest backstaff-list-and-its-tree-lead-to-each-other ()
  (backstaff-view-test-project (cons '("bare") backstaff-list-tests-tree)
    (pcase-dolist (`(,command ,path . ,names) '((backstaff-list-directory "" "sub" "Small")
                                                (backstaff-list-directory "sub" "inner" "x")
                                                (backstaff-list-directory "bare" nil)))
      (dolist (name names)
        (ert-info ((format "%s %s %s" command path name))
          (backstaff-view-test-open command (expand-file-name path root))
          (when name
            (backstaff-view-test-go-to name))
          (let ((listing (current-buffer)))
            (backstaff-view-test-press "t")
            (should (eq major-mode 'backstaff-tree-mode))
            (backstaff-view-test-press "t")
            (should (eq (current-buffer) listing))
            (should (equal (backstaff-view-test-name) name))))))))

(ert-deftest backstaff-list-visits-a-file ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-go-to "Small")
    (backstaff-view-test-press "RET")
    (should (equal buffer-file-name (concat root "Small")))
    (should (equal (buffer-string) "12"))))

(ert-deftest backstaff-list-follows-links-and-opens-no-fifo ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (make-symbolic-link "sub" (expand-file-name "to-directory" root))
    (make-symbolic-link "Small" (expand-file-name "to-file" root))
    (make-symbolic-link "nowhere" (expand-file-name "to-nothing" root))
    (call-process "mkfifo" nil nil nil (expand-file-name "fifo" root))
    (backstaff-view-test-open #'backstaff-list-directory root)
    (should (string-match-p "^ to-file -> Small +link " (buffer-string)))
    (dolist (name '("fifo" "to-nothing"))
      (backstaff-view-test-go-to name)
      (should-error (execute-kbd-macro (kbd "RET")) :type 'user-error))
    (backstaff-view-test-go-to "to-directory")
    (backstaff-view-test-press "RET")
    (should (equal (backstaff-view-test-names) '("inner" "x")))
    (backstaff-view-test-press "^")
    (backstaff-view-test-go-to "to-file")
    (backstaff-view-test-press "RET")
    (should (equal (buffer-string) "12"))))

(ert-deftest backstaff-list-refresh-stays-on-the-entry ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-go-to "Small")
    (let ((other (split-window)))
      (set-window-point other (save-excursion
                                (backstaff-view-test-go-to "sub/")
                                (point)))
      (write-region "" nil (expand-file-name "aaa" root) nil 'silent)
      (make-directory (expand-file-name "aa" root))
      (backstaff-view-test-press "g")
      (should (equal (backstaff-view-test-name) "Small"))
      (with-selected-window other
        (should (equal (backstaff-view-test-name) "sub")))
      (delete-file (expand-file-name "Small" root))
      (let ((line (line-number-at-pos)))
        (backstaff-view-test-press "g")
        (should (= (line-number-at-pos) line))))))

(ert-deftest backstaff-list-copies-and-leads-on ()
  (backstaff-view-test-project backstaff-list-tests-tree
    (backstaff-view-test-open #'backstaff-list-directory (expand-file-name "sub" root))
    (backstaff-view-test-go-to "x")
    (backstaff-view-test-press "w")
    (should (equal (current-kill 0) (concat root "sub/x")))
    (backstaff-view-test-press "C-u w")
    (should (equal (current-kill 0) "sub/x"))
    (backstaff-view-test-press "=")
    (should (eq major-mode 'backstaff-inspector-mode))
    (should (string-search (format "File: %ssub/x\n" root) (buffer-string)))
    (backstaff-view-test-press "q" "t")
    (should (eq major-mode 'backstaff-tree-mode))
    (should (equal (plist-get backstaff-view-state :path) "sub"))
    (backstaff-view-test-press "t")
    (should (eq major-mode 'backstaff-list-mode))))


;;; Names

(defconst backstaff-list-tests-names
  (list "new\nline" "esc\e[31m" "bidi\u202etxt" "emoji-\N{GRINNING FACE}" "日本語" "עברית"
        "\"quoted\"" "back\\slash" " blank " "100%s" "#hash#" "-dash" "[b]" "ssh:host:x"
        (string-to-multibyte "stray-\351") (concat "é" (string-to-multibyte "\351"))
        "~home" "$HOME" "a*?")
  "Names that are hard on a program.")

(defun backstaff-list-tests-visited (command name)
  "Check that COMMAND on the root leads to the file NAME, and shows it harmlessly."
  (backstaff-view-test-open command default-directory)
  (should-not (string-match-p "[\0-\11\13-\37\u202e\200-\377]" (buffer-string)))
  (backstaff-view-test-go-to (backstaff-names-show name))
  (should (= (line-number-at-pos)
             (line-number-at-pos (line-end-position))))
  (backstaff-view-test-press "RET")
  (should (equal (encode-coding-string (file-name-unquote buffer-file-name) 'utf-8-emacs)
                 (encode-coding-string (expand-file-name name default-directory)
                                       'utf-8-emacs)))
  (should (equal (buffer-string) "it")))

(ert-deftest backstaff-list-visits-names-by-their-bytes ()
  (backstaff-view-test-project (mapcar (lambda (name) (cons name "it"))
                                       backstaff-list-tests-names)
    (dolist (name backstaff-list-tests-names)
      (ert-info ((format "%S" name))
        (let ((default-directory root))
          (backstaff-list-tests-visited #'backstaff-list-directory name))))))

(ert-deftest backstaff-list-goes-into-directories-with-odd-names ()
  (backstaff-view-test-project (mapcar (lambda (name) (list name (cons "in" "")))
                                       backstaff-list-tests-names)
    (dolist (name backstaff-list-tests-names)
      (ert-info ((format "%S" name))
        (backstaff-view-test-open #'backstaff-list-directory root)
        (backstaff-view-test-go-to (backstaff-names-show name))
        (backstaff-view-test-press "RET")
        (should (equal (backstaff-view-test-names) '("in")))
        (backstaff-view-test-press "^")
        (should (equal (backstaff-view-test-name) name))))))


;;; Size

;; A reply has some twenty entries, a page has six rows, and three are drawn at once.
(defmacro backstaff-list-tests-long (&rest body)
  "Run BODY in a project of 60 files, in which pages are short."
  (declare (indent 0) (debug t))
  `(backstaff-view-test-project (cl-loop for n below 60
                                         collect (cons (format "f%03d" n) (make-string n ?x)))
     (let ((backstaff-list--page 6) (backstaff-list--piece 3)
           (backstaff-list--bytes 900))
       ,@body)))

(defun backstaff-list-tests-shown ()
  "Wait until no more rows are drawn, and return the number of rows."
  (let ((count -1))
    (while (/= count (setq count (length (backstaff-view-test-names))))
      (accept-process-output nil 0.05)
      (backstaff-view-test-settle))
    count))

(ert-deftest backstaff-list-shows-a-page-and-asks-for-more ()
  (backstaff-list-tests-long
    (backstaff-view-test-open #'backstaff-list-directory root)
    (should (= (backstaff-list-tests-shown) 6))
    (should (string-match-p "CUT, 60 files" (backstaff-view-test-header)))
    (should (equal (backstaff-view-test-notes) "… 6 shown, 54 more: + shows more\n"))
    (backstaff-view-test-press "n" "+")
    (should (<= 12 (backstaff-list-tests-shown) 17))
    (should (equal (backstaff-view-test-name) "f001"))
    (while (< (backstaff-list-tests-shown) 60)
      (backstaff-view-test-press "+"))
    (should (equal (backstaff-view-test-names)
                   (cl-loop for n below 60 collect (format "f%03d" n))))
    (should (equal (backstaff-view-test-name) "f001"))
    (should (equal (backstaff-view-test-notes) ""))
    (should-error (execute-kbd-macro "+") :type 'user-error)
    ;; All are shown again, with point where it was.
    (dolist (place '("f057" nil))
      (if place (backstaff-view-test-go-to place) (goto-char (point-max)))
      (backstaff-view-test-press "g")
      (should (= (backstaff-list-tests-shown) 60))
      (should (equal (backstaff-view-test-name) place)))
    (should (eobp))
    (backstaff-view-test-press "C-u 0 S")
    (backstaff-list-tests-shown)
    (should (eobp))
    ;; Where the file of point is gone, point stays on the line.
    (backstaff-view-test-press "C-u 0 S")
    (backstaff-list-tests-shown)
    (backstaff-view-test-go-to "f040")
    (delete-file (expand-file-name "f040" root))
    (backstaff-view-test-press "g")
    (backstaff-list-tests-shown)
    (should (equal (backstaff-view-test-name) "f041"))))

(ert-deftest backstaff-list-of-another-directory-begins-with-a-page ()
  (backstaff-view-test-project
      (list (cons "sub" (cl-loop for n below 30 collect (cons (format "f%03d" n) ""))))
    (let ((backstaff-list--page 6) (backstaff-list--piece 3))
      (backstaff-view-test-open #'backstaff-list-directory (expand-file-name "sub" root))
      (backstaff-view-test-press "+")
      (should (= (backstaff-list-tests-shown) 12))
      (backstaff-view-test-press "^" "RET")
      (should (= (backstaff-list-tests-shown) 6)))))

(ert-deftest backstaff-list-that-failed-has-no-more-rows ()
  (backstaff-view-test-project nil
    (backstaff-view-test-open #'backstaff-list-directory (expand-file-name "missing" root))
    (should-error (execute-kbd-macro "+") :type 'user-error)))

(ert-deftest backstaff-list-draws-no-more-than-a-piece-at-once ()
  (backstaff-list-tests-long
    (let ((drawn nil) (buffer nil) (draw (symbol-function 'backstaff-list--insert)))
      (cl-letf (((symbol-function 'backstaff-list--insert)
                 (lambda (wanted)
                   (let ((before (length tabulated-list-entries)))
                     (funcall draw wanted)
                     (push (- (length tabulated-list-entries) before) drawn)))))
        (find-file "f044")
        (backstaff-view-test-open #'backstaff-list-directory root)
        (setq buffer (current-buffer))
        (backstaff-list-tests-shown))
      (should (eq (current-buffer) buffer))
      (should (= (apply #'max drawn) 3))
      ;; The piece with the file that the user comes from is the last.
      (should (equal (backstaff-view-test-name) "f044"))
      (should (<= 45 (apply #'+ drawn) 50)))))

(ert-deftest backstaff-list-leaves-point-where-the-user-moved-it ()
  (backstaff-list-tests-long
    (find-file "f044")
    (let ((later (symbol-function 'backstaff-list--go-on)) (moved nil))
      (cl-letf (((symbol-function 'backstaff-list--go-on)
                 (lambda (&rest arguments)
                   ;; The first rows are drawn, and that of f044 is not.
                   (unless moved
                     (setq moved t)
                     (execute-kbd-macro "n"))
                   (apply later arguments))))
        (backstaff-list-directory root)
        (set-buffer (window-buffer))
        (backstaff-test-wait-for moved)
        (backstaff-list-tests-shown)
        (should (equal (backstaff-view-test-name) "f001"))))))

(ert-deftest backstaff-list-rows-that-come-later-move-no-other-window ()
  (backstaff-list-tests-long
    (find-file "f044")
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-list-tests-shown)
    (let ((other (split-window)))
      (set-window-point other (save-excursion (backstaff-view-test-go-to "f001") (point)))
      (backstaff-view-test-press "g")
      (backstaff-list-tests-shown)
      (should (equal (backstaff-view-test-name) "f044"))
      (with-selected-window other
        (should (equal (backstaff-view-test-name) "f001"))))))

(ert-deftest backstaff-list-later-rows-keep-the-columns ()
  (backstaff-view-test-project (append (cl-loop for n below 6 collect (cons (format "f%d" n) ""))
                                       (list (cons (make-string 40 ?x) "")))
    (let ((backstaff-list--piece 3) (go-on (symbol-function 'backstaff-list--go-on)))
      (cl-letf (((symbol-function 'backstaff-list--go-on)
                 (lambda (wanted)
                   (goto-char (point-min))
                   (funcall go-on wanted))))
        (backstaff-view-test-open #'backstaff-list-directory root))
      (should (= (nth 1 (aref tabulated-list-format 0)) 20)))))

(ert-deftest backstaff-list-in-another-window-begins-at-its-first-name ()
  (backstaff-view-test-project '(("src" ("a.c" . "") ("b.c" . "")))
    (find-file "src/b.c")
    (dolist (key '("RET" "o"))
      (backstaff-view-test-open #'backstaff-list-directory root)
      (backstaff-view-test-press key)
      (should (equal (backstaff-view-test-name) "a.c"))
      (delete-other-windows)
      (switch-to-buffer (get-file-buffer (expand-file-name "src/b.c" root))))))

(ert-deftest backstaff-list-rows-of-no-file-that-is-sought-leave-point-alone ()
  (backstaff-list-tests-long
    (find-file "f044")
    (let ((draw (symbol-function 'backstaff-list--insert)) (places nil))
      (cl-letf (((symbol-function 'backstaff-list--insert)
                 (lambda (wanted)
                   (push (point) places)
                   (funcall draw wanted))))
        (backstaff-view-test-open #'backstaff-list-directory root)
        (backstaff-list-tests-shown))
      (should (> (length places) 9))
      ;; Point waits on the first name until the row of f044 is there.
      (should (equal (delete-dups (butlast places)) '(2))))))

(ert-deftest backstaff-list-in-another-order-says-that-the-one-by-name-has-all ()
  (backstaff-list-tests-long
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-press "C-u 2 S")
    ;; A reply in this order is longer than one by name.
    (setq backstaff-list--bytes 1600)
    (backstaff-view-test-press "C-u 2 S")
    (should (equal (car (backstaff-view-test-names)) "f000"))
    (setq backstaff-list--bytes 450)
    (backstaff-view-test-press "C-u 2 S")
    (should (equal (car (backstaff-view-test-names)) "f059"))
    (should (string-search "Only a complete listing"
                           (string-join (backstaff-view-test-messages
                                          (backstaff-view-test-press "C-u 2 S")))))
    (should (equal (car (backstaff-view-test-names)) "f059"))
    (while (progn (backstaff-list-tests-shown)
                  (not (string-match-p "Only the listing by name has all"
                                       (backstaff-view-test-notes))))
      (backstaff-view-test-press "+"))
    (should (< 12 (backstaff-list-tests-shown) 60))
    (should-error (execute-kbd-macro "+") :type 'user-error)))

(ert-deftest backstaff-list-fits-a-narrow-window ()
  (backstaff-view-test-project `((,(make-string 90 ?n) . "") ("short" . ""))
    (let ((window (split-window-right 56)))
      (ignore window)
      (backstaff-view-test-open #'backstaff-list-directory root)
      (should (<= (window-body-width) 56))
      (backstaff-view-test-go-to "nnn")
      ;; The end of the name is there, and shown as an ellipsis.
      (should (looking-at "n+ +file"))
      (let* ((cut (next-single-property-change (point) 'display))
             (end (next-single-property-change cut 'display)))
        (should (equal (get-text-property cut 'display) (truncate-string-ellipsis)))
        (should (<= (- (line-end-position) (- end cut)) (+ (line-beginning-position) 56))))
      (backstaff-view-test-press "w")
      (should (equal (current-kill 0) (concat root (make-string 90 ?n)))))))


;;; Up, and between listing and tree

(ert-deftest backstaff-list-goes-up-without-a-project ()
  (backstaff-view-test-project '(("photos" ("2026" ("a.jpg" . ""))) ("b.txt" . ""))
    (let ((backstaff-root-directory nil)
          (photos (expand-file-name "photos/" root)))
      (backstaff-view-test-open #'backstaff-list-directory (expand-file-name "2026/" photos))
      (backstaff-view-test-press "^")
      (should (equal default-directory photos))
      (should (equal (backstaff-view-test-name) "2026"))
      (backstaff-view-test-press "^")
      (should (equal default-directory root))
      (should (equal (backstaff-view-test-name) "photos")))))

(ert-deftest backstaff-list-says-where-the-project-ends ()
  (backstaff-view-test-project '(("d" ("f" . "")) (".git" ("HEAD" . "")))
    (let ((backstaff-root-directory nil)
          (project-find-functions (list (lambda (_) (cons 'transient root)))))
      (backstaff-view-test-open #'backstaff-list-directory (expand-file-name "d/" root))
      (backstaff-view-test-press "^")
      (should (equal default-directory root))
      (should (string-search (abbreviate-file-name root)
                             (cadr (should-error (backstaff-view-up) :type 'user-error)))))))

(ert-deftest backstaff-list-and-tree-use-their-buffers-again ()
  (backstaff-view-test-project '(("d" ("f" . "")) ("g" . ""))
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-press "t" "t" "t" "t" "t")
    (dolist (mode '(backstaff-list-mode backstaff-tree-mode))
      (should (= (cl-count mode (buffer-list)
                           :key (lambda (buffer) (buffer-local-value 'major-mode buffer)))
                 1)))))

(ert-deftest backstaff-list-keeps-point-on-the-file-through-everything ()
  (backstaff-view-test-project '(("d" ("f" . "")) ("a" . "xxx") ("m" . "x") ("z" . "xx"))
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-go-to "m   ")
    (dolist (keys '("g" "t" "t" "g"))
      (backstaff-view-test-press keys)
      (ert-info ((format "after %s: %s" keys (buffer-string)))
        (should (equal (backstaff-view-test-name) "m"))))
    ;; Sort by size.
    (move-to-column 30)
    (backstaff-view-test-press "S")
    (should (equal (plist-get (backstaff-view--entry) :name) "m"))))

(declare-function evil-mode "ext:evil-core" (&optional argument))

(ert-deftest backstaff-list-keys-go-before-those-of-evil ()
  (backstaff-test-needs "Evil" (require 'evil nil t))
  (unwind-protect
      (backstaff-view-test-project '(("d" ("f" . "")))
        (evil-mode)
        (backstaff-view-test-open #'backstaff-list-directory root)
        (should (eq (bound-and-true-p evil-state) 'motion))
        (pcase-dolist (`(,key . ,command) '(("RET" . backstaff-view-visit)
                                            ("^" . backstaff-view-up)
                                            ("t" . backstaff-view-list-or-tree)
                                            ("q" . quit-window)
                                            ("+" . backstaff-list-more)))
          (should (eq (key-binding (kbd key)) command)))
        (backstaff-view-test-press "t")
        (should (eq (key-binding (kbd "TAB")) 'backstaff-tree-toggle)))
    (evil-mode -1)))

(provide 'backstaff-list-tests)
;;; backstaff-list-tests.el ends here
