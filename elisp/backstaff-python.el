;;; backstaff-python.el --- Find the program that serves  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The program that serves is the first of these:
;;
;; 1. `backstaff-server-command', if that is non-nil;
;; 2. the sources shipped with this package, which are sure to have its version, run by
;;    the first Python 3.11 or newer of these: `.venv/bin/python' beside the sources;
;;    python3, python3.14 and so on, on variable `exec-path'; a Python that uv, pyenv or
;;    Homebrew has installed, such as ~/.pyenv/versions/3.12.1/bin/python3;
;; 3. a program named `backstaff' on variable `exec-path'.
;;
;; No library has to be installed, because an archive with all of them is among
;; the sources.  The system's own are not used: they may have any version.

;;; Code:

(require 'backstaff-epc)

(defcustom backstaff-server-command nil
  "The program that serves, and its arguments, as a list of strings.
For example (\"/opt/venv/bin/python\" \"-m\" \"backstaff\"); the arguments
\"serve\" and \"--stdio\" are appended.  If nil, look for the sources
shipped with this package and a Python that can run them, then for a program
named backstaff.

No variable of the environment whose name starts with PYTHON reaches it."
  :type '(choice (const :tag "Look for it" nil) (repeat :tag "Program and arguments" string))
  :group 'backstaff :risky t)

(define-error 'backstaff-start-error "Backstaff cannot start its server"
  'backstaff-connection-lost)

(defconst backstaff-server-version "0.1.0"
  "The version of this package, and of the server that belongs to it.")

(defconst backstaff-python--places
  '(("UV_PYTHON_INSTALL_DIR" "~/.local/share/uv/python" "cpython-3.*/bin/python3")
    ("PYENV_ROOT" "~/.pyenv" "versions/3.*/bin/python3")
    ("HOMEBREW_PREFIX" "/opt/homebrew" "bin/python3*")
    ("HOMEBREW_PREFIX" "/home/linuxbrew/.linuxbrew" "bin/python3*")
    ("HOMEBREW_PREFIX" "/usr/local" "bin/python3*"))
  "Places of Pythons that are not on variable `exec-path'.
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
    ("apk" "apk add python3" "apk upgrade python3"))
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
              (library (expand-file-name "backstaff-python.el" package)))
    ;; A package manager may have linked the library.
    (cl-loop for file in (list library (file-truename library))
             for directory = (file-name-directory file)
             for main = (locate-file "py_backend/backstaff/__main__.py"
                                     (list (expand-file-name "../" directory) directory))
             when main return (expand-file-name "../" (file-name-directory main)))))

(defconst backstaff-python--patience 3
  "Maximum number of seconds that a Python may take to describe itself.")

(defun backstaff-python--probe (program)
  "Run PROGRAM, a Python, and return its description, or a string on failure.
For example (:version \"3.12.1\" :executable \"/usr/bin/python3.12\").
`:executable' is the interpreter itself, because a shim, such as pyenv's, takes
longer to start than the server."
  (let* ((output "")
         (process (make-process
                   :name "backstaff-python" :noquery t :connection-type 'pipe
                   :command (list program "-I" "-c"
                                  "import sys; print('%d.%d.%d' % sys.version_info[:3]); \
print(sys.executable)")
                   :sentinel #'ignore
                   :filter (lambda (_ text)
                             (when (< (length output) 10000)
                               (setq output (concat output text)))))))
    (unwind-protect
        (backstaff-epc-wait process backstaff-python--patience #'ignore)
      (delete-process process))
    (pcase (split-string output "\n")
      (`(,(and version (pred (string-match-p "\\`3\\.[0-9.]+\\'")))
         ,(and executable (pred file-name-absolute-p)) . ,_)
       (list :version version :executable executable))
      ((guard (process-get process 'backstaff-late))
       (format "says nothing for %s seconds" backstaff-python--patience))
      (_ "does not answer as Python does"))))

(defun backstaff-python-usable-p (answer)
  "Return non-nil if the Python that gave ANSWER can run the server."
  (and (consp answer)
       (not (version< (plist-get answer :version) "3.11"))
       (file-executable-p (plist-get answer :executable))))

(defun backstaff-python--command (sources note)
  "Return a Python that can run the server in SOURCES, and its options, or nil.
The function NOTE is called with each program that is tried and its
description."
  (let ((beside (expand-file-name "../.venv/bin/python" sources)))
    (if (file-executable-p beside)
        (list beside "-I")
      (unless (and backstaff-python-found (file-executable-p backstaff-python-found))
        (setq backstaff-python-found
              (cl-loop
               for program in
               (delete-dups
                (append
                 (delq nil (mapcar #'executable-find '("python3" "python3.14" "python3.13"
                                                       "python3.12" "python3.11")))
                 (cl-loop for (variable directory pattern) in backstaff-python--places
                          append (seq-filter
                                  (lambda (file) (and (string-match-p "python[0-9.]*\\'" file)
                                                      (file-executable-p file)))
                                  (sort (file-expand-wildcards
                                         (expand-file-name pattern (or (getenv variable) directory))
                                         t)
                                        (lambda (one other) (string-version-lessp other one)))))))
               for answer = (backstaff-python--probe program)
               do (funcall note program answer)
               when (backstaff-python-usable-p answer)
               return (plist-get answer :executable))))
      ;; -S leaves the system's libraries out.
      (and backstaff-python-found (list backstaff-python-found "-I" "-S")))))

(defun backstaff-server-program (&optional note)
  "Return the program that serves, and its first arguments.
Signal a `backstaff-start-error' if there is none.  The function NOTE, if
given, is called with each Python that is tried and its description."
  (let* ((command backstaff-server-command)
         (sources (backstaff-python-sources))
         (answers nil)
         (python (and sources (not command)
                      (backstaff-python--command
                       sources (lambda (program answer)
                                 (push (cons program answer) answers)
                                 (when note (funcall note program answer)))))))
    (cond
     ((not (and (listp command) (cl-every #'stringp command)))
      (signal 'backstaff-start-error
              '("`backstaff-server-command' is not a list of strings"
                "Customize `backstaff-server-command' to be a list of strings,\
 or nil to have the program found")))
     (command (cons (if (file-name-absolute-p (car command)) (expand-file-name (car command))
                      (car command))
                    (cdr command)))
     (python (append python (list (expand-file-name "backstaff/__main__.py" sources))))
     ((executable-find "backstaff") (list (executable-find "backstaff")))
     ((null sources)
      (signal 'backstaff-start-error
              '("found neither the server's sources nor a program named backstaff"
                "Type in a shell: pipx install backstaff; or install the package anew,\
 with its folder py_backend; or customize `backstaff-server-command'")))
     (t
      (signal
       'backstaff-start-error
       (list (concat "there is no Python 3.11 or newer"
                     (and answers ": ")
                     (mapconcat (pcase-lambda (`(,program . ,answer))
                                  (if (stringp answer) (concat program " " answer)
                                    (format "%s is %s" (plist-get answer :executable)
                                            (plist-get answer :version))))
                                (reverse answers) ", "))
             (pcase (cl-find-if #'executable-find backstaff-python--installers :key #'car)
               (`(,_ ,install . ,upgrade)
                (concat "Type in a shell: "
                        (or (and (cl-some #'consp (mapcar #'cdr answers)) (car upgrade)) install)))
               (_ "Install Python 3.11 or newer, and let its folder be on `exec-path'"))))))))

(provide 'backstaff-python)
;;; backstaff-python.el ends here
