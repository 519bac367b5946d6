;;; backstaff-names-tests.el --- Tests of backstaff-names.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Emacs and the server must show a name alike.  So the server's own function is
;; asked about every name in the golden cases, and about every character that
;; could be trouble.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-names)
(require 'json)

(defconst backstaff-names-tests--program "
import base64, os, sys
sys.path.insert(0, sys.argv[1])
from backstaff.render import names
show = getattr(names, sys.argv[2])
for line in sys.stdin.buffer:
    text = os.fsdecode(base64.b64decode(line))
    print(base64.b64encode(show(text).encode()).decode())
" "A program that reads names and prints what a function makes of them.")

(defun backstaff-names-tests--ask (function names)
  "Return what the server's FUNCTION makes of NAMES."
  (with-temp-buffer
    (dolist (name names)
      (insert (base64-encode-string (encode-coding-string name 'utf-8-emacs) t)
              "\n"))
    (let ((status (call-process-region
                   nil nil (backstaff-test-python) t t nil
                   "-I" "-X" "utf8" "-c" backstaff-names-tests--program
                   (expand-file-name "py_backend" backstaff-test-repository)
                   function)))
      (should (eq status 0)))
    (mapcar (lambda (line) (decode-coding-string (base64-decode-string line)
                                                 'utf-8))
            (split-string (buffer-string) "\n" t))))

(defun backstaff-names-tests--check (names)
  "Check that NAMES stand in text, and as words of it, as the server has it."
  (pcase-dolist (`(,theirs . ,ours) '(("show" . backstaff-names-show)
                                      ("word" . backstaff-names-word)))
    (let ((expected (backstaff-names-tests--ask theirs names)))
      (should (= (length expected) (length names)))
      (cl-mapc (lambda (name shown)
                 (unless (equal (funcall ours name) shown)
                   (ert-fail (list ours name (funcall ours name) shown))))
               names expected))))

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
    ;; A surrogate and what is no Unicode, whose bytes Emacs takes for characters.
    (list (string #xd800) (string ?a #x110000)))))

(ert-deftest backstaff-names-know-the-same-characters-as-the-server ()
  (backstaff-names-tests--check
   (cl-loop for (from . to) in '((1 . #x3200) (#xd7a0 . #xd7ff) (#xe000 . #xe010)
                                 (#xfb00 . #xffff) (#x110b0 . #x110d0)
                                 (#x13420 . #x13450) (#x1bc90 . #x1bcb0)
                                 (#x1d160 . #x1d180) (#x1f000 . #x1f0ff)
                                 (#x1fff0 . #x20001) (#xdfff0 . #xe1001)
                                 (#x10fff0 . #x10ffff))
            nconc (cl-loop for character from from to to
                           unless (eq character ?/)
                           collect (string ?a character)))))

(ert-deftest backstaff-names-that-begin-with-a-mark-are-quoted ()
  (backstaff-names-tests--check
   (cl-loop for (from . to) in '((1 . #x5ff) (#x20d0 . #x20f0) (#xfe20 . #xfe2f))
            nconc (cl-loop for character from from to to
                           unless (eq character ?/)
                           collect (string character ?a)))))

(ert-deftest backstaff-names-do-not-depend-on-case-fold-search ()
  (let ((case-fold-search t))
    (should (equal (backstaff-names-show "aK") "aK"))
    (should (equal (backstaff-names-show "ÿ") "ÿ"))))

(ert-deftest backstaff-names-prose-stands-on-one-line ()
  (should (equal (backstaff-names-prose " two\n lines\u2028 \e[1m b\u200b ")
                 "two lines \\u001b[1m b\\u200b"))
  (should (equal (backstaff-names-prose "👨\u200d👩 a\u200db ☀\ufe0f")
                 "👨\u200d👩 a\\u200db ☀\ufe0f"))
  (should-not (text-properties-at 0 (backstaff-names-prose
                                     (propertize "x" 'display "y")))))

(ert-deftest backstaff-names-prose-stands-as-the-server-writes-it ()
  (let ((texts (list "a  b" "\t\nx\n" "\e" "👨\u200d👩\u200d👧" "x\u200d" "☀\ufe0f\u200d"
                     "a\u00a0b\u3000c" "\u202eevil" "☀\u200d\ufe0f")))
    (should (equal (mapcar #'backstaff-names-prose texts)
                   (backstaff-names-tests--ask "prose" texts)))))

(provide 'backstaff-names-tests)
;;; backstaff-names-tests.el ends here
