;;; backstaff-docs-tests.el --- What the documents show works  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The code is run as it stands in the document.  It calls the program
;; backstaff, which is where the Python of the tests is.

;;; Code:

(require 'backstaff-test-support)

(declare-function manual-insert "ext:manual" ())
(declare-function manual-file "ext:manual" (name))
(declare-function manual-hash "ext:manual" ())
(declare-function manual-info-file "ext:manual" (name))
(declare-function manual-info-hash "ext:manual" ())
(load (expand-file-name "dev/manual.el" backstaff-test-repository) nil t)

(defun backstaff-docs-blocks (language)
  "Return the blocks of code in LANGUAGE that the manual has."
  (with-temp-buffer
    (insert-file-contents (manual-file "backstaff.org"))
    (let ((blocks nil))
      (while (re-search-forward
              (format "^#\\+begin_src %s\n\\(\\(?:.*\n\\)*?\\)#\\+end_src$" language) nil t)
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
  (backstaff-test-needs "epc" (locate-library "epc"))
  (backstaff-test-with-tree '(("a.txt" . "x"))
    (let ((blocks (backstaff-docs-blocks "elisp")))
      (should (= (length blocks) 1))
      (let ((output (backstaff-docs-run (car blocks))))
        (should (string-prefix-p
                 (format "Directory: %s\nTotal: 1 file, 0 directories\n\n[FILE] a.txt " root)
                 output))
        (should (string-match-p "^workspace/tree: Returns a workspace tree" output))))))

;;; The reference

(ert-deftest backstaff-docs-manual-says-what-the-code-says ()
  (let ((written (with-temp-buffer
                   (insert-file-contents (manual-file "backstaff.org"))
                   (buffer-string))))
    (with-temp-buffer
      (manual-insert)
      (unless (equal (buffer-string) written)
        (ert-fail "docs/backstaff.org is out of date: make manual")))))

(ert-deftest backstaff-docs-readme-names-each-tool-in-lisp ()
  (require 'backstaff-emacs)
  (with-temp-buffer
    (insert-file-contents (expand-file-name "README.md" backstaff-test-repository))
    (should (search-forward "In Emacs there are four more" nil t))
    (let ((ids (mapcar #'car backstaff-lisp-tools)))
      (should (= (length ids) 4))
      (dolist (id ids)
        (should (save-excursion (search-forward (format "`%s`" id) nil t)))))))

;; Each version of Org exports a little differently, so the export is not repeated.
(ert-deftest backstaff-docs-texinfo-is-that-of-the-manual ()
  (with-temp-buffer
    (insert-file-contents (manual-file "backstaff.texi"))
    (forward-line)
    (unless (looking-at-p (regexp-quote (manual-hash)))
      (ert-fail "docs/backstaff.texi is out of date: make manual"))))

;; Nor does each makeinfo write the same.
(ert-deftest backstaff-docs-info-file-is-that-of-the-texinfo ()
  (with-temp-buffer
    (insert-file-contents (manual-info-file "dir"))
    (unless (search-forward (manual-info-hash) nil t)
      (ert-fail "elisp/backstaff.info is out of date: make manual, where makeinfo is installed"))))

(ert-deftest backstaff-docs-lisp-can-be-read ()
  (dolist (code (backstaff-docs-blocks "emacs-lisp"))
    (should (read (format "(progn %s)" code)))))

(provide 'backstaff-docs-tests)
;;; backstaff-docs-tests.el ends here
