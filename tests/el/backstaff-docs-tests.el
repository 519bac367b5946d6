;;; backstaff-docs-tests.el --- What the documents show works  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The code is run as it stands in the document.  It calls the program
;; backstaff, which is where the Python of the tests is.

;;; Code:

(require 'backstaff-test-support)

(defun backstaff-docs-blocks (document language)
  "Return the blocks of code in LANGUAGE that DOCUMENT, a file of docs/, has."
  (with-temp-buffer
    (insert-file-contents (expand-file-name (concat "docs/" document)
                                            backstaff-test-repository))
    (let ((blocks nil))
      (while (re-search-forward (format "^```%s\n\\(\\(?:.*\n\\)*?\\)```$" language) nil t)
        (push (match-string 1) blocks))
      (nreverse blocks))))

(defun backstaff-docs-run (code)
  "Run CODE, Emacs Lisp, with the program backstaff on the path; return its output."
  (let* ((folder (file-name-directory (backstaff-test-python)))
         (exec-path (cons folder exec-path))
         (inhibit-message t))
    (unless (executable-find "backstaff")
      (ert-fail "There is no program backstaff beside the Python of the tests"))
    (with-timeout (30 (ert-fail "It takes for ever"))
      (with-output-to-string
        (eval (car (read-from-string (format "(progn %s)" code))) t)))))

(ert-deftest backstaff-docs-epc-lisp-runs ()
  ;; Not everybody can install Debian's elpa-epc.
  (skip-unless (locate-library "epc"))
  (backstaff-test-with-tree '(("a.txt" . "x"))
    (let ((blocks (backstaff-docs-blocks "epc.md" "elisp")))
      (should (= (length blocks) 1))
      (let ((output (backstaff-docs-run (car blocks))))
        (should (string-prefix-p
                 (format "Directory: %s\nTotal: 1 file, 0 directories\n\n[FILE] a.txt " root)
                 output))
        (should (string-match-p "^workspace/tree: Returns a workspace tree" output))))))

(provide 'backstaff-docs-tests)
;;; backstaff-docs-tests.el ends here
