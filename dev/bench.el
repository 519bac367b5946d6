;;; bench.el --- How fast a call is, against the stock client  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make bench' runs this.  Times of one machine say little, so all is measured
;; in one Emacs, in turns of a few calls each, and the ratio is what counts.
;; The variable CALLS of the environment says how often to call each way.

;;; Code:

(require 'backstaff)
(require 'cl-lib)
(require 'epc)

(defconst bench-root
  (expand-file-name "../" (file-name-directory load-file-name))
  "This repository.")

(defconst bench-turn 10
  "How many calls one way makes before it is the other's turn.")

(defun bench-ping-backstaff ()
  "Ask the server for a sign of life, by our own client."
  (backstaff-server-call 'ping nil :timeout 5))

(defun bench-start-stock ()
  "Start a server for the stock client and return its manager."
  (epc:start-epc (getenv "BACKSTAFF_PYTHON")
                 (list "-I"
                       (expand-file-name "py_backend/backstaff/__main__.py" bench-root)
                       "serve" "--root" bench-root)))

(defun bench-time (function)
  "Return how many milliseconds a call of FUNCTION takes."
  (let ((start (float-time)))
    (unless (eq (funcall function) t)
      (error "A ping was not answered with t"))
    (* 1e3 (- (float-time) start))))

(defun bench-times (calls &rest functions)
  "Call each of FUNCTIONS, in turns, CALLS times; return a list of times for each."
  (let ((times (mapcar #'ignore functions)))
    (mapc #'funcall functions)
    (dotimes (_ (ceiling calls bench-turn))
      (cl-loop for function in functions
               for cell on times
               do (dotimes (_ bench-turn)
                    (push (bench-time function) (car cell)))))
    times))

(defun bench-quantile (fraction times)
  "Return the value that FRACTION of TIMES do not exceed."
  (nth (floor (* fraction (1- (length times)))) (sort (copy-sequence times) #'<)))

(defun bench-print-row (name times)
  "Print the figures of the way called NAME, which took TIMES."
  (princ (format "%-24s %6d %10.3f %10.3f\n" name (length times)
                 (bench-quantile 0.5 times) (bench-quantile 0.95 times))))

(defun bench-batch ()
  "Compare a ping by our client with one by the stock client, then leave Emacs."
  (let* ((manager (bench-start-stock))
         (times (bench-times (string-to-number (or (getenv "CALLS") "300"))
                             #'bench-ping-backstaff
                             (lambda () (epc:call-sync manager 'ping nil)))))
    (epc:stop-epc manager)
    (backstaff-stop)
    (princ (format "%-24s %6s %10s %10s\n" "ping" "calls" "p50 ms" "p95 ms"))
    (cl-mapc #'bench-print-row '("backstaff-server-call" "epc:call-sync") times)
    (princ (format "ratio of the medians: %.5f (design: at most 0.001)\n"
                   (apply #'/ (mapcar (apply-partially #'bench-quantile 0.5) times))))
    (kill-emacs 0)))

(provide 'bench)
;;; bench.el ends here
