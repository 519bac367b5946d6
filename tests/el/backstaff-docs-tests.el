;;; backstaff-docs-tests.el --- The examples of the documents work  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The code is run as it stands in the document.  It calls the program
;; backstaff, which is where the Python of the tests is.

;;; Code:

(require 'backstaff-test-support)
(require 'cl-lib)

(declare-function manual-insert "ext:manual" ())
(declare-function manual-file "ext:manual" (name))
(declare-function manual-info "ext:manual" (folder))
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
    (with-timeout (60 (ert-fail "It takes for ever"))
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
      (cl-mapc (lambda (in-file now)
                 (unless (equal in-file now)
                   (ert-fail (list "docs/backstaff.org is out of date: make manual"
                                   :in-file in-file :now now))))
               (split-string written "\n")
               (split-string (buffer-string) "\n"))
      (should (equal (buffer-string) written)))))

(ert-deftest backstaff-docs-manual-becomes-info ()
  (backstaff-test-needs "makeinfo" (executable-find "makeinfo"))
  (backstaff-test-with-tree nil
    (manual-info root)
    (should (equal (directory-files root nil "\\`[^.]") '("backstaff.info" "dir")))
    (with-temp-buffer
      (insert-file-contents (expand-file-name "dir" root))
      (should (search-forward "(backstaff)")))))


;;; Lisp

(defconst backstaff-docs-packages '(use-package straight-use-package elpaca)
  "Macros of other packages, whose arguments are no code.")

(defun backstaff-docs-forms (code)
  "Return the forms of CODE, without calls of `backstaff-docs-packages'.
Nor is data among them, which begins with a keyword."
  (cl-remove-if (lambda (form)
                  (or (memq (car-safe form) backstaff-docs-packages)
                      (keywordp (car-safe form))))
                (read (format "(%s)" code))))

(defun backstaff-docs-warnings (forms)
  "Return what the compiler says of FORMS but that it does not know a name.
The names of others are unknown here, and words in capitals are the reader's."
  (let* ((warnings nil)
         (byte-compile-log-warning-function
          (lambda (text &rest _)
            (unless (string-match-p "not known to be defined\\|free variable" text)
              (push text warnings)))))
    (byte-compile `(lambda () ,@forms))
    warnings))

(ert-deftest backstaff-docs-lisp-names-what-there-is ()
  (mapc #'require '(backstaff-gptel backstaff-llm backstaff-mcp backstaff-ui-changes backstaff-ui-inspector
                      backstaff-ui-overview backstaff-ui-search backstaff-ui-tree))
  (let ((blocks (backstaff-docs-blocks "emacs-lisp")))
    (should blocks)
    (dolist (code blocks)
      (ert-info (code)
        (with-temp-buffer
          (insert code)
          (goto-char (point-min))
          (while (re-search-forward "\\_<backstaff[a-z-]*\\_>" nil t)
            (let ((name (intern (match-string 0))))
              ;; In a string or a comment it may be anything.
              (unless (nth 8 (syntax-ppss))
                (should (or (fboundp name) (boundp name) (featurep name)))))))))))

(ert-deftest backstaff-docs-lisp-calls-with-arguments-that-fit ()
  ;; That the compiler is heard here.
  (should (backstaff-docs-warnings '((backstaff-call))))
  (dolist (code (backstaff-docs-blocks "emacs-lisp"))
    (ert-info (code)
      (should-not (backstaff-docs-warnings (backstaff-docs-forms code))))))

(provide 'backstaff-docs-tests)
;;; backstaff-docs-tests.el ends here
