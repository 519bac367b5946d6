;;; lint-elisp.el --- Compile and lint the Elisp, and mean it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make lint' runs this.  By themselves, checkdoc and check-declare exit with
;; success after a finding, and so does the byte compiler after a warning.  Here
;; each finding is a failure.
;;
;;   emacs -Q --batch -L elisp -l dev/lint-elisp.el -f lint-elisp-compile FILE
;;   emacs    --batch -L elisp -l dev/lint-elisp.el -f lint-elisp-package FILE...
;;
;; A file of the package needs a fresh Emacs: a file that forgets a `require' compiles
;; well after another has loaded the library.  Tests and tools are compiled in one
;; Emacs, because each of them is loaded in many ways anyway.

;;; Code:

(require 'cl-lib)
(require 'bytecomp)
(require 'checkdoc)
(require 'check-declare)

(declare-function package-lint-buffer "ext:package-lint" (&optional buffer))
(defvar package-lint-main-file)
(defvar package-archive-contents)
(defvar jka-compr-verbose)

(defvar lint-elisp--findings 0
  "Number of findings so far.")

(defun lint-elisp--count (&rest _)
  "Count one finding."
  (cl-incf lint-elisp--findings))

;; The byte compiler, checkdoc and check-declare all report through this.
(advice-add 'display-warning :before #'lint-elisp--count)

(defun lint-elisp--exit ()
  "Leave Emacs, with success only if nothing was found."
  (kill-emacs (if (zerop lint-elisp--findings) 0 1)))

(defun lint-elisp--files ()
  "Return the files named on the command line, as absolute names."
  (or (mapcar #'expand-file-name command-line-args-left)
      (error "No files to lint")))


;;; Byte compiler

(defun lint-elisp--byte-compile (file)
  "Byte-compile FILE and throw the result away.
An .elc that stayed beside its source would be loaded when it is stale."
  (let* ((output (make-temp-file "lint-elisp" nil ".elc"))
         (byte-compile-dest-file-function (lambda (_) output)))
    (unwind-protect
        (unless (eq (byte-compile-file file) t)
          (lint-elisp--count))
      (delete-file output))))

(defun lint-elisp-compile ()
  "Byte-compile the files on the command line; a warning is a failure."
  (mapc #'lint-elisp--byte-compile (lint-elisp--files))
  (lint-elisp--exit))


;;; Conventions of a package

(defconst lint-elisp--main-file
  (expand-file-name "../elisp/backstaff.el" (file-name-directory load-file-name))
  "The file that holds the headers of the package.")

(defconst lint-elisp--outdated
  "This makes the package uninstallable in all released Emacs versions."
  "A finding of package-lint 0.16 about Emacs 28, which it believes unreleased.")

(defun lint-elisp--package-findings (file)
  "Return the findings of package-lint in FILE: a list of (LINE COLUMN TYPE TEXT)."
  (with-temp-buffer
    (insert-file-contents file t)
    (emacs-lisp-mode)
    (cl-remove lint-elisp--outdated (package-lint-buffer)
               :key #'cl-fourth :test #'equal)))

(defun lint-elisp--package-lint (file)
  "Report and count the findings of package-lint in FILE."
  (pcase-dolist (`(,line ,column ,type ,text) (lint-elisp--package-findings file))
    (lint-elisp--count)
    (message "%s:%d:%d: %s: %s"
             (file-relative-name file) line column type text)))

(defun lint-elisp-package ()
  "Check docstrings, declarations and headers of the files on the command line."
  (require 'package-lint)
  (let ((files (lint-elisp--files))
        (package-lint-main-file lint-elisp--main-file)
        ;; The archives are not asked, because the network may be absent.
        (package-archive-contents nil)
        ;; This check takes any word of the first line for its verb, and rejects
        ;; "Return the text that it prints."
        (checkdoc-verb-check-experimental-flag nil)
        (enable-dir-local-variables nil)
        (jka-compr-verbose nil))
    (mapc #'checkdoc-file files)
    (apply #'check-declare-files files)
    (mapc #'lint-elisp--package-lint files))
  (lint-elisp--exit))

(provide 'lint-elisp)
;;; lint-elisp.el ends here
