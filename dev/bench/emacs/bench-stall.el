;;; bench-stall.el --- The longest time that a view keeps Emacs busy  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A timer is due every 10 ms while a tree of 50,000 files, of which it shows the most that
;; it can, is opened, refreshed and filtered.  The longest time between two of its runs is the
;; longest time without reading a key.  The peer is Dired, which reads and draws all at once.
;;
;; This runs in a terminal, because drawing on the screen counts.

;;; Code:

(require 'bench)
(require 'backstaff-ui-tree)

(defconst bench-stall-period 0.01
  "Seconds between two runs of the timer.")

(defconst bench-stall-limit 0.1
  "Maximum number of seconds that people do not notice.")

(defun bench-stall--longest (function)
  "Call FUNCTION; return the longest stall until the buffer waits for nothing.
This is a pair of seconds: by the clock, and of the processor for Emacs."
  (let* ((clock (float-time)) (processor (bench-stall--processor))
         (longest 0) (busiest 0)
         (timer (run-at-time
                 0 bench-stall-period
                 (lambda ()
                   (let ((now (float-time)) (used (bench-stall--processor)))
                     (setq longest (max longest (- now clock)) clock now
                           busiest (max busiest (- used processor)) processor used))))))
    (unwind-protect
        (progn (funcall function)
               ;; `sit-for' waits for a key, and only then Emacs draws the screen, which
               ;; counts.  No event follows the drawing, so three periods follow the reply.
               (while (progn (sit-for bench-stall-period) backstaff-view--calls))
               (sit-for (* 3 bench-stall-period)))
      (cancel-timer timer))
    (cons longest busiest)))

(defun bench-stall--processor ()
  "Return the seconds of processor time of this Emacs."
  (float-time (get-internal-run-time)))

(defun bench-stall--measure ()
  "Measure our tree, and Dired's listing."
  (bench-serve (bench-folder "rows"))
  (dotimes (_ (bench-turns 3))
    (let ((stalls (list (bench-stall--longest
                         (lambda () (backstaff-tree backstaff-root-directory))))))
      (dolist (keys '("g" "." "x *7 RET"))
        (push (bench-stall--longest (lambda () (execute-kbd-macro (kbd keys)))) stalls))
      (kill-buffer)
      (bench-note "stall" "ours" (apply #'max (mapcar #'car stalls)))
      (bench-note "stall" "ours-processor" (apply #'max (mapcar #'cdr stalls))))
    (bench-note "stall" "dired"
                (car (bench-stall--longest (lambda () (dired backstaff-root-directory)))))
    (kill-buffer)))

(defun bench-stall-batch ()
  "Measure, write, leave."
  (setq inhibit-startup-screen t)
  ;; Native compilation would run in processes of its own.
  (set (if (boundp 'native-comp-jit-compilation) 'native-comp-jit-compilation
         'native-comp-deferred-compilation)
       nil)
  (condition-case problem
      (bench-stall--measure)
    ;; An error would leave this Emacs waiting for a key.
    (error (message "bench-stall: %s" (error-message-string problem))
           (kill-emacs 1)))
  (bench-note "stall" "limit" bench-stall-limit)
  (bench-finish))

(provide 'bench-stall)
;;; bench-stall.el ends here
