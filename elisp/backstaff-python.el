;;; backstaff-python.el --- Find a Python that can run the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; This file finds the server's sources, which are shipped with this package,
;; and a Python that can run them: the one in the `.venv' beside the sources,
;; else the one that `backstaff-install-server' made, else the first on
;; `exec-path' that is 3.11 or newer and has the libraries.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defconst backstaff-server-version "0.1.0"
  "The version of this package, and of the server that belongs to it.")

(defconst backstaff-python-libraries '("bracex" "epc" "pathspec" "sexpdata" "yaml")
  "The libraries that the server imports, by the names it imports them under.")

(defconst backstaff-python-ready-mark "backstaff-ready"
  "The file in an environment that says that all libraries are in it.")

(defvar backstaff-python-package-directory
  (and load-file-name (file-name-directory load-file-name))
  "The directory that this package was loaded from, or nil.")

(defvar backstaff-python-found nil
  "The Python on variable `exec-path' that runs the server, once it was found.")

(defmacro backstaff-python-with-own-environment (directory &rest body)
  "Run BODY in DIRECTORY, or /, with the environment that Emacs started with.
A buffer may have a project's PATH, and no PYTHON variable shall take effect."
  (declare (indent 1) (debug t))
  `(let ((default-directory (or ,directory "/"))
         (exec-path (default-value 'exec-path))
         (process-environment
          (cl-remove-if (apply-partially #'string-prefix-p "PYTHON")
                        (default-value 'process-environment))))
     ,@body))

(defun backstaff-python-sources ()
  "Return the directory of the server's sources, or nil."
  (when-let* ((package backstaff-python-package-directory)
              (library (expand-file-name "backstaff-python.el" package))
              (main
               (cl-loop for file in (list library
                                          ;; A package manager may have linked it.
                                          (file-truename library))
                        for directory = (file-name-directory file)
                        thereis (locate-file "py_backend/backstaff/__main__.py"
                                             (list (expand-file-name "../" directory)
                                                   directory)))))
    (expand-file-name "../" (file-name-directory main))))


;;; Asking a Python

(defconst backstaff-python--probe-program
  (format "import sys
from importlib.util import find_spec
def missing(names):
    return ' '.join(name for name in names.split() if not find_spec(name))
print('%%d.%%d.%%d' %% sys.version_info[:3], sys.executable,
      getattr(sys, '_base_executable', None) or sys.executable,
      missing('%s'), missing('ensurepip venv'), sep='\\n')"
          (string-join backstaff-python-libraries " "))
  "A program with which a Python describes itself, in five lines.")

(defun backstaff-python--probe (program)
  "Let PROGRAM, a Python, describe itself; return a plist, or a string on failure.
For example (:version \"3.12.1\" :executable \"/usr/bin/python3.12\"
:base \"/usr/bin/python3.12\" :missing (\"epc\") :makes-environments t).
`:executable' is the interpreter itself: a shim, such as pyenv's, takes more
time than the server's start.  `:base' made the environment that it is in."
  (let* ((output "") (late nil) (live t)
         (process (make-process
                   :name "backstaff-python" :noquery t :connection-type 'pipe
                   :command (list program "-I" "-c" backstaff-python--probe-program)
                   :sentinel #'ignore
                   :filter (lambda (_ text)
                             (when (< (length output) 10000)
                               (setq output (concat output text))))))
         ;; A timer runs even while the process floods Emacs with output.
         (timer (run-at-time 3 nil (lambda ()
                                     (setq late t)
                                     (delete-process process)))))
    (unwind-protect
        (while (progn (setq live (process-live-p process))
                      (or (accept-process-output process 0.05 nil t) live)))
      (cancel-timer timer)
      (delete-process process))
    (pcase (split-string output "\n")
      (`(,(and version (pred (string-match-p "\\`3\\.[0-9.]+\\'")))
         ,(and executable (pred file-name-absolute-p))
         ,(and base (pred file-name-absolute-p))
         ,missing ,missing-modules . ,_)
       (list :version version :executable executable :base base
             :missing (split-string missing)
             :makes-environments (string-empty-p missing-modules)))
      ((guard late) "says nothing for 3 seconds")
      (_ "does not answer as Python does"))))

(defun backstaff-python-search (function)
  "Return the first non-nil value of FUNCTION for a Python on variable `exec-path'.
FUNCTION gets a program and what `backstaff-python--probe' returns for it."
  (cl-loop for name in '("python3" "python3.14" "python3.13" "python3.12" "python3.11")
           for program = (executable-find name)
           thereis (and program
                        (funcall function program (backstaff-python--probe program)))))

(defun backstaff-python-usable-p (answer)
  "Return non-nil if the Python that gave ANSWER can run the server."
  (and (consp answer) (null (plist-get answer :missing))
       (not (version< (plist-get answer :version) "3.11"))
       (file-executable-p (plist-get answer :executable))))


;;; Finding one

(defun backstaff-python-find (sources &optional note)
  "Return a Python that can run the server in SOURCES, or nil.
NOTE is called, if non-nil, as `backstaff-python-search' calls its function."
  (let ((beside (expand-file-name "../.venv/bin/python" sources)))
    (or (and (file-executable-p beside) beside)
        (backstaff-python--installed)
        (and backstaff-python-found (file-executable-p backstaff-python-found)
             backstaff-python-found)
        (setq backstaff-python-found
              (backstaff-python-search
               (lambda (program answer)
                 (when note
                   (funcall note program answer))
                 (and (backstaff-python-usable-p answer)
                      (plist-get answer :executable))))))))

(defun backstaff-python-environments ()
  "Return the directory of the environments that `backstaff-install-server' makes.
Their names, as \"0.1.0-py3.12\", have the versions of package and Python."
  (expand-file-name (locate-user-emacs-file "backstaff/")))

(defun backstaff-python--installed ()
  "Return the newest Python that `backstaff-install-server' made, or nil.
An environment that was made in part, or for another version, does not count."
  (let ((directory (backstaff-python-environments))
        (prefix (format "\\`%s-py" (regexp-quote backstaff-server-version))))
    (cl-loop for environment in (and (file-directory-p directory)
                                     (sort (directory-files directory t prefix)
                                           (lambda (a b) (string-version-lessp b a))))
             for python = (expand-file-name "bin/python" environment)
             when (and (file-executable-p python)
                       (file-exists-p (expand-file-name backstaff-python-ready-mark
                                                        environment)))
             return python)))

(provide 'backstaff-python)
;;; backstaff-python.el ends here
