;;; bench-flight.el --- Many calls at once, compared with one after the other  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Client and server work at the same time here, each on a processor of its own.

;;; Code:

(require 'bench)
(require 'bench-wire)

(defun bench-flight-pings (count)
  "Have COUNT pings in flight at once and wait for all."
  (let ((left count)
        (process (backstaff-epc--process
                  (backstaff-server-ensure))))
    (dotimes (_ count)
      (backstaff-server-call-async
       'ping nil :success-fn (lambda (_) (setq left (1- left))) :timeout 10))
    (while (> left 0)
      (accept-process-output process 0.05 nil t))))

(defun bench-flight-batch ()
  "Measure, write, leave."
  (bench-serve)
  (dolist (count '(50 100))
    (bench-measure (format "in-flight/%d" count) 20
                   `(("ours" . ,(lambda () (bench-flight-pings count)))
                     ("single" . ,(lambda () (dotimes (_ count) (bench-wire-ping)))))
                   :per count))
  (bench-finish))

(provide 'bench-flight)
;;; bench-flight.el ends here
