;;; bench.el --- Measure in turns, write down the times  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The common code of the Emacs parts of `make bench'.  Times of one machine say
;; little, so the ways of doing a thing take turns, one call each, in one Emacs.
;; Every single time is written down, by way.
;;
;; The variable BENCH_OUT of the environment names the file to write.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'backstaff)

(defconst bench-directory
  (expand-file-name "../" (getenv "BENCH_EMACS_DIRECTORY"))
  "The folder of the bench.")

(defconst bench-python (list (getenv "BACKSTAFF_PYTHON") "-I" "-S")
  "The interpreter of our server and of the peers, which has no libraries.
So a default installation starts its own.")

(defvar bench--measures nil
  "The measures so far: measures with ways with lists of seconds.")

(defun bench-folder (name)
  "Return the generated folder NAME, with a slash."
  (file-name-as-directory
   (expand-file-name name (getenv "BENCH_FOLDERS"))))

(defun bench-peer (file &rest arguments)
  "Return the command that runs the peer in FILE with ARGUMENTS."
  (append bench-python (list (expand-file-name file bench-directory))
          arguments))

(defun bench-serve (&optional root file)
  "Serve ROOT, else the repository; FILE is our server's, else the product's."
  (backstaff-stop)
  (setq backstaff-root-directory (or root (getenv "BENCH_REPOSITORY"))
        backstaff-server-command
        (if file (bench-peer file) (append bench-python (list (getenv "BENCH_MAIN")))))
  (backstaff-epc-call (backstaff-server-ensure) 'ping nil :timeout 10))

(defun bench-time (function)
  "Return the seconds that a call of FUNCTION takes."
  (let ((start (current-time)))
    (funcall function)
    (float-time (time-since start))))

(defun bench-turns (turns)
  "Return TURNS, or 1 in a quick run, which only shows that everything runs."
  (if (equal (getenv "BENCH_TURNS") "quick") 1 turns))

(defun bench-measure (measure turns ways &rest options)
  "Write down under MEASURE the times of each of WAYS, in TURNS turns.
WAYS are conses of a name and a function.  Each is called once before, and a
turn is one call of each.  OPTIONS are `:collect', to collect garbage before
each call and outside of its time, and `:per', how many calls each is."
  (mapc (lambda (way) (funcall (cdr way))) ways)
  (dotimes (_ (bench-turns turns))
    (dolist (way ways)
      (when (plist-get options :collect)
        (garbage-collect))
      (bench-note measure (car way)
                  (/ (bench-time (cdr way)) (or (plist-get options :per) 1))))))

(defun bench-note (measure way seconds)
  "Write down that WAY took SECONDS in MEASURE."
  (let ((ways (or (assoc measure bench--measures)
                  (car (push (list measure) bench--measures)))))
    (push seconds (alist-get way (cdr ways) nil nil #'equal))))

(defun bench-finish ()
  "Write the measures to the file BENCH_OUT and leave Emacs."
  (backstaff-stop)
  (let ((json-encoding-pretty-print nil)
        (coding-system-for-write 'utf-8-unix))
    (write-region
     (json-encode
      (cl-loop for (measure . ways) in bench--measures
               collect (cons measure
                             (cl-loop for (way . times) in ways
                                      collect (cons way (vconcat (reverse times)))))))
     nil (getenv "BENCH_OUT") nil 'silent))
  (kill-emacs 0))

(provide 'bench)
;;; bench.el ends here
