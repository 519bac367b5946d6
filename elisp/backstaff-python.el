;;; backstaff-python.el --- Find a Python for the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The sources shipped with this package are run by a small shell script among them,
;; py_backend/backstaff.sh.  It tries one Python after the other, as each may hang, and
;; becomes the first that is 3.11 or newer.  So Emacs waits for nothing.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defvar backstaff-python-package-directory
  (and load-file-name (file-name-directory load-file-name))
  "The directory that this package was loaded from, or nil.")

(defmacro backstaff-python-with-own-environment (directory &rest body)
  "Run BODY in DIRECTORY, or /, with the environment that Emacs started with.
A buffer may have the PATH of its project.  Programs look for others on variable
`exec-path'.  No variable of the environment whose name starts with PYTHON
counts."
  (declare (indent 1) (debug t))
  `(let* ((default-directory (or ,directory "/"))
          (exec-path (default-value 'exec-path))
          (process-environment
           (cons (concat "PATH=" (mapconcat #'directory-file-name (remq nil exec-path)
                                            path-separator))
                 (cl-remove-if (apply-partially #'string-prefix-p "PYTHON")
                               (default-value 'process-environment)))))
     ,@body))

(defun backstaff-python-sources ()
  "Return the directory of the server's sources, or nil."
  (when-let* ((package backstaff-python-package-directory)
              (library (expand-file-name "backstaff-python.el" package)))
    ;; A package manager may have linked the library.
    (cl-loop for file in (list library (file-truename library))
             for directory = (file-name-directory file)
             for script = (locate-file "py_backend/backstaff.sh"
                                       (list (expand-file-name "../" directory) directory))
             when script return (file-name-directory script))))

(provide 'backstaff-python)
;;; backstaff-python.el ends here
