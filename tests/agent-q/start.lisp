;;;; start.lisp --- A Lisp image with Swank and an Agent-Q, for the tests

;;;; SPDX-License-Identifier: GPL-3.0-or-later

;;;; sbcl --script start.lisp SWANK-LOADER FASL-FOLDER AGENT-Q
;;;;
;;;; AGENT-Q is a file that loads Agent-Q, or what stands in for it. The port of Swank goes to
;;;; standard output; the image ends when standard input does.

(in-package #:cl-user)

(require :asdf)

(destructuring-bind (swank-loader fasl-folder agent-q) (rest sb-ext:*posix-argv*)
  (handler-bind ((warning #'muffle-warning))
    (let ((*standard-output* (make-broadcast-stream))
          (*error-output* (make-broadcast-stream)))
      (load swank-loader)
      (setf (symbol-value (find-symbol "*FASL-DIRECTORY*" "SWANK-LOADER")) fasl-folder)
      (funcall (find-symbol "INIT" "SWANK-LOADER"))
      (load agent-q))))

(let ((port (let ((*standard-output* (make-broadcast-stream))
                  (*error-output* (make-broadcast-stream)))
              (funcall (find-symbol "CREATE-SERVER" "SWANK")
                       :interface "127.0.0.1" :port 0 :style :spawn :dont-close t))))
  (format t "port ~D~%" port)
  (finish-output))

(loop while (read-line *standard-input* nil))
(sb-ext:exit :abort t)
