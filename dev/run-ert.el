;;; run-ert.el --- Run the ERT tests in batch  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make test-el' runs this, with the test files loaded before.  The variable
;; SELECTOR of the environment says which tests: t, the name of one, or a
;; regexp as a Lisp string.

;;; Code:

(require 'ert)

(defun run-ert-batch ()
  "Run the tests that SELECTOR names, tersely but for failures, and exit.
That no test has this name is a failure, too: it is a slip, not a success."
  (let ((selector (read (or (getenv "SELECTOR") "t")))
        (ert-quiet t)
        (ert-batch-backtrace-right-margin 110))
    (unless (ert-select-tests selector t)
      (message "No test matches SELECTOR=%S" selector)
      (kill-emacs 1))
    (ert-run-tests-batch-and-exit selector)))

(provide 'run-ert)
;;; run-ert.el ends here
