;;; bench-reading.el --- A page of a file, compared with Emacs alone  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The peer is a tool in Emacs Lisp: `insert-file-contents', which decodes the whole
;; file, and the lines of the page as a string.  Ours also hashes the whole file and
;; counts its lines.
;;
;; The same call is measured beside 20 modified buffers whose text the server knows.

;;; Code:

(require 'bench)

(defun bench-reading-lines (size)
  "Return SIZE bytes of lines of 50."
  (let ((line (concat (make-string 49 ?x) "\n")))
    (apply #'concat (make-list (/ size 50) line))))

(defun bench-reading-native (file start)
  "Return 200 lines of FILE from the line START on."
  (with-temp-buffer
    (insert-file-contents file)
    (goto-char (point-min))
    (forward-line (1- start))
    (let ((from (point)))
      (forward-line 200)
      (buffer-substring from (point)))))

(defun bench-reading-ours (file start)
  "Return 200 lines of FILE from the line START on, by our server."
  (let ((reply (backstaff-call "workspace/read_file"
                               (list :path (file-name-nondirectory file) :start_line start)
                               (list :root (file-name-directory file)))))
    (unless (plist-get reply :ok)
      (error "This is no page: %.200S" reply))
    reply))

(defun bench-reading-with-buffers (directory function)
  "Call FUNCTION beside 20 modified buffers of 100 kB of files in DIRECTORY."
  (let ((create-lockfiles nil) (buffers nil))
    (dotimes (number 20)
      (with-current-buffer (generate-new-buffer "bench")
        (setq buffer-file-name (format "%s%d.txt" directory number)
              buffer-file-coding-system 'utf-8-unix)
        (insert (bench-reading-lines 100000) (buffer-name))
        (push (current-buffer) buffers)))
    (unwind-protect (funcall function)
      (dolist (buffer buffers)
        (with-current-buffer buffer
          (set-buffer-modified-p nil))
        (kill-buffer buffer)))))

(defun bench-reading-batch ()
  "Measure, write, leave."
  (let ((directory (file-name-as-directory (make-temp-file "backstaff-bench-" t))))
    (unwind-protect
        (progn
          (bench-serve)
          (pcase-dolist (`(,name ,size ,start) '(("10kB" 10000 1) ("1MB" 1000000 10000)))
            (let ((file (concat directory name)))
              (write-region (bench-reading-lines size) nil file nil 'silent)
              (bench-measure
               (concat "reading/" name) 100
               `(("ours" . ,(lambda () (bench-reading-ours file start)))
                 ("native" . ,(lambda () (bench-reading-native file start)))))))
          (let ((page (lambda () (bench-reading-ours (concat directory "10kB") 1))))
            ;; They take turns by the hundred, because buffers come and go between.
            (dotimes (_ (bench-turns 5))
              (bench-measure "unsaved" 20 `(("alone" . ,page)))
              (bench-reading-with-buffers
               directory
               (lambda () (bench-measure "unsaved" 20 `(("ours" . ,page))))))))
      (delete-directory directory t)))
  (bench-finish))

(provide 'bench-reading)
;;; bench-reading.el ends here
