;;; backstaff-python.el --- Find a Python that can run the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; This file finds the server's sources, which are shipped with this package,
;; and a Python that can run them: the one in the `.venv' beside the sources,
;; else the one that `backstaff-install-server' made, else the first on
;; `exec-path' that is 3.11 or newer.  That one needs no libraries, as an archive
;; with them lies among the sources, and it is given no others: what a system
;; has installed may be of any version.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defconst backstaff-server-version "0.1.0"
  "The version of this package, and of the server that belongs to it.")

(defconst backstaff-python-requirements
  '("bracex>=2.5,<4" "epc==0.0.5" "pathspec>=1.0,<2" "pyyaml>=6,<7" "sexpdata>=1.0.2,<2")
  "The libraries that an environment holds, in the versions the server may have.")

(defconst backstaff-python-ready-mark "backstaff-ready"
  "The file in an environment that says that all libraries are in it.")

(defconst backstaff-python--package-managers
  '(("apt-get" "sudo apt-get install python3" "sudo apt-get install python3.11")
    ("dnf" "sudo dnf install python3" "sudo dnf install python3.12")
    ("zypper" "sudo zypper install python3" "sudo zypper install python312")
    ("pacman" "sudo pacman -S python" "sudo pacman -Syu python")
    ("apk" "apk add python3" "apk upgrade python3")
    ("brew" "brew install python" "brew install python")
    ("winget" "winget install Python.Python.3.13" "winget install Python.Python.3.13"))
  "Programs that install others, each with two shell commands.
The first is for a system without a Python, the second for one whose Python is
too old.")

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
  "import sys
from importlib.util import find_spec
print('%d.%d.%d' % sys.version_info[:3], sys.executable,
      getattr(sys, '_base_executable', None) or sys.executable,
      ' '.join(name for name in ('ensurepip', 'venv') if not find_spec(name)), sep='\\n')"
  "A program with which a Python describes itself, in four lines.")

(defconst backstaff-python--patience 3
  "Seconds that a Python may take to describe itself.")

(defun backstaff-python--probe (program)
  "Let PROGRAM, a Python, describe itself; return a plist, or a string on failure.
For example (:version \"3.12.1\" :executable \"/usr/bin/python3.12\"
:base \"/usr/bin/python3.12\" :missing (\"ensurepip\")).  `:executable' is the
interpreter itself: a shim, such as pyenv's, takes more time than the server's
start.  `:base' made the environment that it is in.  `:missing' are modules
that it lacks and needs to make an environment."
  (let* ((output "") (late nil) (live t)
         (process (make-process
                   :name "backstaff-python" :noquery t :connection-type 'pipe
                   :command (list program "-I" "-c" backstaff-python--probe-program)
                   :sentinel #'ignore
                   :filter (lambda (_ text)
                             (when (< (length output) 10000)
                               (setq output (concat output text))))))
         ;; A timer runs even while the process floods Emacs with output.
         (timer (run-at-time backstaff-python--patience nil
                            (lambda ()
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
         ,missing . ,_)
       (list :version version :executable executable :base base
             :missing (split-string missing)))
      ((guard late) (format "says nothing for %s seconds" backstaff-python--patience))
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
  (and (consp answer)
       (not (version< (plist-get answer :version) "3.11"))
       (file-executable-p (plist-get answer :executable))))

(defun backstaff-python-verdict (answer)
  "Return what a user reads about the Python that gave ANSWER."
  (cond ((backstaff-python-usable-p answer) "can run the server")
        ((consp answer) "is too old: 3.11 or newer is needed")
        (t answer)))

(defun backstaff-python-problem (answers)
  "Return why no Python can run the server, and what to do, as two strings.
ANSWERS is an alist of programs and what `backstaff-python--probe' returned."
  (list (concat "there is no Python 3.11 or newer"
                (and answers ": ")
                (mapconcat (pcase-lambda (`(,program . ,answer))
                             (if (consp answer)
                                 (format "%s is %s" (plist-get answer :executable)
                                         (plist-get answer :version))
                               (concat program " " answer)))
                           answers ", "))
        (if (executable-find "uv")
            "Type M-x backstaff-install-server: uv brings a Python along"
          (pcase (cl-find-if #'executable-find backstaff-python--package-managers :key #'car)
            (`(,_ ,install ,upgrade)
             (concat "Type in a shell: "
                     (if (cl-some #'consp (mapcar #'cdr answers)) upgrade install)))
            (_ "Install Python 3.11 or newer, and let its folder be on `exec-path'")))))


;;; Finding one

(defun backstaff-python-command (sources &optional note)
  "Return a Python that can run the server in SOURCES, and its options, or nil.
NOTE is called, if non-nil, as `backstaff-python-search' calls its function."
  (let* ((beside (expand-file-name "../.venv/bin/python" sources))
         (own (or (and (file-executable-p beside) beside)
                  (backstaff-python-installed))))
    (unless (or own (and backstaff-python-found
                         (file-executable-p backstaff-python-found)))
      (setq backstaff-python-found
            (backstaff-python-search
             (lambda (program answer)
               (when note
                 (funcall note program answer))
               (and (backstaff-python-usable-p answer)
                    (plist-get answer :executable))))))
    (cond (own (list own "-I"))
          ;; Without its site-packages.
          (backstaff-python-found (list backstaff-python-found "-I" "-S")))))

(defun backstaff-python-environments ()
  "Return the directory of the environments that `backstaff-install-server' makes."
  (expand-file-name (locate-user-emacs-file "backstaff/")))

(defun backstaff-python-environment-name (version)
  "Return the name of the environment for Python VERSION, such as \"3.12\".
It has a hash of what the environment holds, as in \"py3.12-0123abcd\", so a
new version of this package goes on with an old environment that will do."
  (format "py%s-%s" version
          (substring (secure-hash 'sha256 (string-join backstaff-python-requirements " "))
                     0 8)))

(defun backstaff-python-installed ()
  "Return the newest Python that `backstaff-install-server' made, or nil.
An environment that was made in part, or holds other libraries, does not count."
  (let ((directory (backstaff-python-environments))
        (names (format "\\`%s\\'" (backstaff-python-environment-name "[0-9.]+"))))
    (cl-loop for environment in (and (file-directory-p directory)
                                     (sort (directory-files directory t names)
                                           (lambda (a b) (string-version-lessp b a))))
             for python = (expand-file-name "bin/python" environment)
             when (and (file-executable-p python)
                       (file-exists-p (expand-file-name backstaff-python-ready-mark
                                                        environment)))
             return python)))

(defun backstaff-python-old-environments ()
  "Return the environments that nothing runs in any more, as absolute names.
They hold other libraries than are needed now, or were made in part, or are for
an older Python than another one."
  (let ((directory (backstaff-python-environments))
        (used (backstaff-python-installed)))
    (cl-loop for file in (and (file-directory-p directory)
                              (directory-files directory t "\\`[^.]"))
             when (and (file-exists-p (expand-file-name "pyvenv.cfg" file))
                       ;; Its Python is a link to another place.
                       (not (and used (string-prefix-p (file-name-as-directory file)
                                                       used))))
             collect (file-name-as-directory file))))

(provide 'backstaff-python)
;;; backstaff-python.el ends here
