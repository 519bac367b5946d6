;;; backstaff-python.el --- Find a Python that can run the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; This file finds the server's sources, which are shipped with this package,
;; and a Python 3.11 or newer that can run them.  It takes the first of:
;;
;; 1. the `.venv' beside the sources,
;; 2. python3, python3.14 and so on, on variable `exec-path',
;; 3. a Python that uv, pyenv or Homebrew has installed, such as
;;    ~/.pyenv/versions/3.12.1/bin/python3.
;;
;; No library has to be installed, because an archive with all of them is among
;; the sources.  The system's own libraries are not used, because they may have
;; any version.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defconst backstaff-server-version "0.1.0"
  "The version of this package, and of the server that belongs to it.")

(defconst backstaff-python--names
  '("python3" "python3.14" "python3.13" "python3.12" "python3.11")
  "Names of a Python on variable `exec-path', in the order in which they are tried.")

(defconst backstaff-python--places
  '(("UV_PYTHON_INSTALL_DIR" "~/.local/share/uv/python" "cpython-3.*/bin/python3")
    ("PYENV_ROOT" "~/.pyenv" "versions/3.*/bin/python3")
    ("HOMEBREW_PREFIX" "/opt/homebrew" "bin/python3*")
    ("HOMEBREW_PREFIX" "/home/linuxbrew/.linuxbrew" "bin/python3*")
    ("HOMEBREW_PREFIX" "/usr/local" "bin/python3*"))
  "Where Pythons are that are not on variable `exec-path'.
Each is a variable of the environment that names a directory, the directory
that is used if the variable is not set, and a wildcard below it.  For example,
an Emacs that the Dock of macOS has started lacks Homebrew's directory.")

(defconst backstaff-python--installers
  '(("uv" "uv python install")
    ("brew" "brew install python")
    ("pyenv" "pyenv install 3.13")
    ("apt-get" "sudo apt-get install python3" "sudo apt-get install python3.11")
    ("dnf" "sudo dnf install python3" "sudo dnf install python3.12")
    ("zypper" "sudo zypper install python3" "sudo zypper install python312")
    ("pacman" "sudo pacman -S python" "sudo pacman -Syu python")
    ("apk" "apk add python3" "apk upgrade python3")
    ("winget" "winget install Python.Python.3.13"))
  "Programs that install a Python, each with a shell command.
If there are two, the second is for a system whose Python is too old.")

(defvar backstaff-python-package-directory
  (and load-file-name (file-name-directory load-file-name))
  "The directory that this package was loaded from, or nil.")

(defvar backstaff-python-found nil
  "The Python that runs the server, or nil until one was found.")

(defmacro backstaff-python-with-own-environment (directory &rest body)
  "Run BODY in DIRECTORY, or /, with the environment that Emacs started with.
A buffer may have the PATH of its project.  No variable of the environment
whose name starts with PYTHON counts."
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

(defconst backstaff-python--patience 3
  "Maximum number of seconds that a Python may take to describe itself.")

(defun backstaff-python--probe (program)
  "Run PROGRAM, a Python, and return its description, or a string on failure.
For example (:version \"3.12.1\" :executable \"/usr/bin/python3.12\").
`:executable' is the interpreter itself, because a shim, such as pyenv's, takes
longer to start than the server."
  (let* ((output "") (late nil) (live t)
         (process (make-process
                   :name "backstaff-python" :noquery t :connection-type 'pipe
                   :command (list program "-I" "-c"
                                  "import sys; print('%d.%d.%d' % sys.version_info[:3]); \
print(sys.executable)")
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
         ,(and executable (pred file-name-absolute-p)) . ,_)
       (list :version version :executable executable))
      ((guard late) (format "says nothing for %s seconds" backstaff-python--patience))
      (_ "does not answer as Python does"))))

(defun backstaff-python--candidates ()
  "Return all programs that may be a Python, without duplicates."
  (delete-dups
   (append
    (delq nil (mapcar #'executable-find backstaff-python--names))
    (cl-loop for (variable directory pattern) in backstaff-python--places
             append (seq-filter
                     (lambda (file) (and (string-match-p "python[0-9.]*\\'" file)
                                         (file-executable-p file)))
                     (sort (file-expand-wildcards
                            (expand-file-name pattern (or (getenv variable) directory)) t)
                           (lambda (one other) (string-version-lessp other one))))))))

(defun backstaff-python-usable-p (answer)
  "Return non-nil if the Python that gave ANSWER can run the server."
  (and (consp answer)
       (not (version< (plist-get answer :version) "3.11"))
       (file-executable-p (plist-get answer :executable))))

(defun backstaff-python-problem (answers)
  "Return why no Python can run the server, and what to do, as two strings.
ANSWERS is an alist of programs and their descriptions."
  (list (concat "there is no Python 3.11 or newer"
                (and answers ": ")
                (mapconcat (pcase-lambda (`(,program . ,answer))
                             (if (consp answer)
                                 (format "%s is %s" (plist-get answer :executable)
                                         (plist-get answer :version))
                               (concat program " " answer)))
                           answers ", "))
        (pcase (cl-find-if #'executable-find backstaff-python--installers :key #'car)
          (`(,_ ,install . ,upgrade)
           (concat "Type in a shell: "
                   (or (and (cl-some #'consp (mapcar #'cdr answers)) (car upgrade)) install)))
          (_ "Install Python 3.11 or newer, and let its folder be on `exec-path'"))))

(defun backstaff-python-command (sources &optional note)
  "Return a Python that can run the server in SOURCES, and its options, or nil.
The function NOTE is called with each program that is tried and its
description."
  (let ((beside (expand-file-name "../.venv/bin/python" sources)))
    (if (file-executable-p beside)
        (list beside "-I")
      (unless (and backstaff-python-found (file-executable-p backstaff-python-found))
        (setq backstaff-python-found
              (cl-loop for program in (backstaff-python--candidates)
                       for answer = (backstaff-python--probe program)
                       do (when note (funcall note program answer))
                       when (backstaff-python-usable-p answer)
                       return (plist-get answer :executable))))
      ;; -S leaves the system's libraries out.
      (and backstaff-python-found (list backstaff-python-found "-I" "-S")))))

(provide 'backstaff-python)
;;; backstaff-python.el ends here
