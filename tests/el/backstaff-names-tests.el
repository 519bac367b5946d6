;;; backstaff-names-tests.el --- Tests of backstaff-names.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Emacs shows names of its own as the server shows those in its replies.  So the
;; server's function is asked about every name in the golden cases.  Of single
;; characters Emacs must escape at least those that the server escapes: the tables
;; of Unicode differ with the version.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-names)
(require 'json)

(defconst backstaff-names-tests--program "
import base64, os, sys
sys.path.insert(0, sys.argv[1])
from backstaff.render.names import show
for line in sys.stdin.buffer:
    text = os.fsdecode(base64.b64decode(line))
    print(base64.b64encode(show(text).encode()).decode())
" "A program that reads names and prints how the server shows them.")

(defun backstaff-names-tests--ask (names)
  "Return how the server shows NAMES."
  (with-temp-buffer
    (dolist (name names)
      (insert (base64-encode-string (encode-coding-string name 'utf-8-emacs) t)
              "\n"))
    (let ((status (call-process-region
                   nil nil (backstaff-test-python) t t nil
                   "-I" "-X" "utf8" "-c" backstaff-names-tests--program
                   (expand-file-name "py_backend" backstaff-test-repository))))
      (should (eq status 0)))
    (let ((shown (mapcar (lambda (line) (decode-coding-string (base64-decode-string line)
                                                              'utf-8))
                         (split-string (buffer-string) "\n" t))))
      (should (= (length shown) (length names)))
      shown)))

(defun backstaff-names-tests--check (names)
  "Check that NAMES are shown as the server shows them."
  (cl-mapc (lambda (name shown)
             (unless (equal (backstaff-names-show name) shown)
               (ert-fail (list name (backstaff-names-show name) shown))))
           names (backstaff-names-tests--ask names)))

(defun backstaff-names-tests--check-caution (names)
  "Check that each of NAMES that the server quotes is quoted, and as safe."
  (cl-mapc (lambda (name shown)
             (unless (equal name shown)
               (let ((ours (backstaff-names-show name)))
                 (should (string-prefix-p "\"" ours))
                 (should-not (cl-set-difference (append ours nil) (append shown nil))))))
           names (backstaff-names-tests--ask names)))

(defun backstaff-names-tests--golden ()
  "Return the names in the data of all golden cases."
  (let ((names nil))
    (dolist (file (directory-files (expand-file-name "tests/golden"
                                                     backstaff-test-repository)
                                   t "\\.json\\'"))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward ":name \\(\\\\\"\\(?:\\\\\\\\.\\|[^\"]\\)*\\\\\"\\)"
                                  nil t)
          (let ((literal (json-parse-string (format "\"%s\"" (match-string 1)))))
            (push (string-to-multibyte (car (read-from-string literal)))
                  names)))))
    (delete-dups names)))

(ert-deftest backstaff-names-are-shown-as-the-server-shows-them ()
  (let ((names (backstaff-names-tests--golden)))
    (should (> (length names) 30))
    (backstaff-names-tests--check names)))

(ert-deftest backstaff-names-of-all-shapes-are-shown-as-the-server-shows-them ()
  (backstaff-names-tests--check
   (append
    (list "" " " "a b" "a  b" " a" "a " "\"" "\\" "a\"b" "a\\b" "#a" "%s" "-" "--x"
          "a-b" "a@" "a/" "a/b" "a…" "+9" "[a" "]a" "(a" ")a" "<a" ">a" "'a" "a'" "`a" "new\nline" "tab\t"
          "\e[31mred" "\u202etxt" "日本語" "עברית" "👨‍👩‍👧" "\U000e0041")
    (mapcar #'string-to-multibyte '("\351" "a\377b" "\200\201"))
    ;; A surrogate and characters outside of Unicode, whose bytes Emacs takes for characters.
    (list (string #xd800) (string ?a #x110000)))))

(ert-deftest backstaff-names-escape-all-that-the-server-escapes ()
  (backstaff-names-tests--check-caution
   (cl-loop for (from . to) in '((1 . #x3200) (#xd7a0 . #xd7ff) (#xe000 . #xe010)
                                 (#xfb00 . #xffff) (#x110b0 . #x110d0)
                                 (#x13420 . #x13450) (#x1bc90 . #x1bcb0)
                                 (#x1d160 . #x1d180) (#x1f000 . #x1f0ff)
                                 (#x1fff0 . #x20001) (#xdfff0 . #xe1001)
                                 (#x10fff0 . #x10ffff))
            nconc (cl-loop for character from from to to
                           unless (eq character ?/)
                           collect (string ?a character)))))

(ert-deftest backstaff-names-of-ordinary-writing-stay-bare ()
  (dolist (name '("a b.txt" "été" "日本語" "עברית" "Ωμέγα" "русский" "ไทย" "हिन्दी" "☀" "😀"))
    (should (equal (backstaff-names-show name) name))))

(ert-deftest backstaff-names-that-begin-with-a-mark-are-quoted ()
  (backstaff-names-tests--check-caution
   (cl-loop for (from . to) in '((1 . #x5ff) (#x20d0 . #x20f0) (#xfe20 . #xfe2f))
            nconc (cl-loop for character from from to to
                           unless (eq character ?/)
                           collect (string character ?a)))))

(ert-deftest backstaff-names-do-not-depend-on-case-fold-search ()
  (let ((case-fold-search t))
    (should (equal (backstaff-names-show "aK") "aK"))
    (should (equal (backstaff-names-show "ÿ") "ÿ"))))

(provide 'backstaff-names-tests)
;;; backstaff-names-tests.el ends here
