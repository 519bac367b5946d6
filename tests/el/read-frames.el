;;; read-frames.el --- Frames as our client reads them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; tests/py/wire/test_lisp_in_emacs.py runs this: the frames in a file are read as the client
;; reads them, and the values are printed so plainly that no reader's escapes are needed:
;; a string as (s CODE...), a list as (l ITEM...), a symbol as (y CODE...), a number as it is.

;;; Code:

(require 'backstaff-message)

(defun read-frames--plain (value)
  "Return VALUE in the plain form."
  (cond ((null value) '(l))
        ((stringp value) (cons 's (append (string-to-multibyte value) nil)))
        ((symbolp value) (cons 'y (append (symbol-name value) nil)))
        ((consp value) (cons 'l (mapcar #'read-frames--plain value)))
        (t value)))

(defun read-frames-batch ()
  "Print what the frames in the file named on the command line hold, a line each."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally (pop command-line-args-left))
    (let (message)
      (while (setq message (backstaff-message-next))
        (princ (format "%S\n" (read-frames--plain message)))))))

(provide 'read-frames)
;;; read-frames.el ends here
