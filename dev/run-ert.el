;;; run-ert.el --- Run the ERT tests in batch  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; dev/ert runs this, with the test files on the command line:
;;
;;   emacs --batch -L elisp -L tests/el -l dev/run-ert.el -f run-ert-batch FILE...
;;
;; Variables of the environment:
;;
;; SELECTOR         the tests to run, a selector of ERT's as Lisp: t, the name of
;;                  a test, or a regexp as a string; t by default
;; BACKSTAFF_SUITE  the name of this run, "ert" by default
;; BACKSTAFF_CLAIMS a directory.  Several Emacsen that name the same directory
;;                  share the files: each file is run by the first that comes
;;
;; A test that cannot run is skipped with a reason that says "needs X"; see
;; `backstaff-test-needs'.  The skipped tests of a run are in
;; .cache/skipped/SUITE.tsv, a line NEED<TAB>TEST for each, and the seconds of each
;; test are in .cache/ert/SUITE.tsv, a line SECONDS<TAB>TEST.

;;; Code:

(require 'ert)
(require 'backtrace)
(require 'seq)

;; Tests put functions of their own in the place of primitives.  Emacs 28 then loads the
;; compiler to machine code, even if it is off, in the middle of the test.
(when (featurep 'native-compile)
  (require 'comp))

(defconst run-ert-cache
  (expand-file-name "../.cache/" (file-name-directory load-file-name))
  "Where the results are written.")

(defvar run-ert--results nil
  "The results so far, each a list (TEST RESULT), the last first.")

(defun run-ert--claim (file)
  "Return non-nil if this Emacs is the first that wants to run FILE."
  (let ((claims (getenv "BACKSTAFF_CLAIMS")))
    (or (null claims)
        (condition-case nil
            (progn (make-directory (expand-file-name (file-name-nondirectory file) claims))
                   t)
          (file-already-exists nil)))))

(defun run-ert--known (selector)
  "Return SELECTOR with nil for the name of a test that is not loaded, or not yet.
ERT takes such a name for an error."
  (cond ((memq selector '(t nil)) selector)
        ((and (symbolp selector) (not (keywordp selector)))
         (and (ert-test-boundp selector) selector))
        ((memq (car-safe selector) '(and or not))
         (cons (car selector) (mapcar #'run-ert--known (cdr selector))))
        (t selector)))

(defun run-ert--need (result)
  "Return what the skipped test of RESULT needs, or nil if it does not say so."
  (let ((reason (cadr (ert-test-result-with-condition-condition result))))
    (and (stringp reason)
         (string-match "\\`needs \\([^\t\n]+\\)\\'" reason)
         (match-string 1 reason))))

(defun run-ert--good-p (test result)
  "Return non-nil if RESULT is as TEST expects, or a skip that names a need."
  (if (ert-test-skipped-p result)
      (run-ert--need result)
    (ert-test-result-expected-p test result)))

(defun run-ert--report (test result)
  "Print RESULT of TEST, which is not as it should be."
  (message "FAILED %s" (ert-test-name test))
  (when (ert-test-result-with-condition-p result)
    (pcase-dolist (`(,prefix . ,info)
                   (reverse (ert-test-result-with-condition-infos result)))
      (message "  %s%s" prefix info))
    (let ((backtrace-line-length 200))
      (message "%s" (backtrace-to-string
                     ;; The remaining frames called the test, and are the same for all.
                     (seq-take-while (lambda (frame)
                                       (not (eq (backtrace-frame-fun frame)
                                                'ert--run-test-internal)))
                                     (ert-test-result-with-condition-backtrace result)))))
    (let ((print-length 30) (print-level 8))
      (message "%s" (pp-to-string (ert-test-result-with-condition-condition result)))))
  (when (ert-test-skipped-p result)
    (message "A test that is skipped has to say what it needs: `backstaff-test-needs'")))

(defun run-ert--listen (event &rest arguments)
  "Note the result of each test: EVENT and ARGUMENTS are those of ERT."
  (pcase (cons event arguments)
    (`(test-ended ,_stats ,test ,result)
     (push (list test result) run-ert--results)
     (unless (run-ert--good-p test result)
       (run-ert--report test result)))
    (`(run-ended ,_stats ,aborted)
     (when aborted
       (message "The run was stopped")
       (kill-emacs 2)))))

(defun run-ert--write (folder function)
  "Write to a file in FOLDER what FUNCTION returns for each test and its result.
FUNCTION returns the first column of a line, or nil for no line."
  (let ((file (expand-file-name (format "%s/%s.tsv" folder (or (getenv "BACKSTAFF_SUITE") "ert"))
                                run-ert-cache)))
    (make-directory (file-name-directory file) t)
    (with-temp-file file
      (pcase-dolist (`(,test ,result) (reverse run-ert--results))
        (when-let ((first (funcall function result)))
          (insert (format "%s\t%s\n" first (ert-test-name test))))))))

(defun run-ert-batch ()
  "Run the tests of the files on the command line, and exit.
Print only failures and how many tests there were."
  (let ((selector (read (or (getenv "SELECTOR") "t")))
        (files (or command-line-args-left (error "No files to run")))
        (seen nil))
    (setq command-line-args-left nil)
    (dolist (file (mapcar #'expand-file-name files))
      (when (run-ert--claim file)
        (load file nil t t)
        (let ((tests (seq-difference (ert-select-tests (run-ert--known selector) t) seen #'eq)))
          (setq seen (append tests seen))
          (ert-run-tests `(member ,@(mapcar #'ert-test-name tests)) #'run-ert--listen))))
    (run-ert--write "ert" (lambda (result) (format "%.2f" (ert-test-result-duration result))))
    (run-ert--write "skipped" (lambda (result)
                                (and (ert-test-skipped-p result) (run-ert--need result))))
    (let ((failures (seq-count (lambda (entry) (not (apply #'run-ert--good-p entry)))
                               run-ert--results))
          (skipped (seq-count (lambda (entry) (ert-test-skipped-p (cadr entry))) run-ert--results)))
      (message "%s: %d tests, %d skipped, %d failed" (or (getenv "BACKSTAFF_SUITE") "ert")
               (length run-ert--results) skipped failures)
      ;; No test has this name: an error.  If files are shared, dev/ert checks it.
      (when (and (null run-ert--results) (null (getenv "BACKSTAFF_CLAIMS")))
        (message "No test matches SELECTOR=%S" selector)
        (kill-emacs 1))
      (kill-emacs (if (zerop failures) 0 1)))))

(provide 'run-ert)
;;; run-ert.el ends here
