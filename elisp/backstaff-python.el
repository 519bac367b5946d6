;;; backstaff-python.el --- Find a Python for the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The sources shipped with this package are run by the first Python 3.11 or newer of these:
;; `.venv/bin/python' beside the sources; python3, python3.14 and so on, on variable
;; `exec-path'; a Python that uv, pyenv or Homebrew has installed, such as
;; ~/.pyenv/versions/3.12.1/bin/python3.
;;
;; To learn its version, a Python has to be started, and it may hang.  So a small shell script
;; tries one after the other and becomes the first that fits.  The server is started by
;; that script, and Emacs waits for nothing.
;;
;; No library has to be installed, because an archive with all of them is among
;; the sources.  The system's own are not used: they may have any version.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

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

(defvar backstaff-python-package-directory
  (and load-file-name (file-name-directory load-file-name))
  "The directory that this package was loaded from, or nil.")

(defvar backstaff-python-found nil
  "The Python that `backstaff-python-wait' has found, or nil.")

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

(defvar backstaff-python--patience 3
  "Maximum number of seconds that a Python may take to describe itself.")

(defconst backstaff-python--probe
  "import sys; print('%d.%d.%d' % sys.version_info[:3]); print(sys.executable)"
  "The program by which a Python describes itself.
It names the interpreter, because a shim, such as pyenv's, starts slowly.")

(defconst backstaff-python-advice
  "Install Python 3.11 or newer, for example by apt-get install python3 or brew install python,\
 or let backstaff-server-command name a program"
  "Advice for a user whose machine has no recent Python.")

(defconst backstaff-python--script
  (concat "
seconds=$1 probe=$2; shift 2
while [ $# -gt 0 ] && [ \"$1\" != -- ]; do
  answer=$({ \"$1\" -I -S -c \"$probe\" </dev/null 2>/dev/null & python=$!
    { sleep \"$seconds\"; kill -9 $python; } >/dev/null 2>&1 & killer=$!
    wait $python; [ $? -ne 137 ] || echo late; kill $killer; } 2>/dev/null | head -n 2)
  version=$(echo \"$answer\" | head -n 1) python=$(echo \"$answer\" | tail -n 1)
  [ -x \"$python\" ] || [ \"$version\" = late ] || version=
  case $version in
    3.1[1-9].*|3.[2-9][0-9].*)
      while [ \"$1\" != -- ]; do shift; done
      shift; exec \"$python\" \"$@\";;
    late) problem=\"says nothing for $seconds seconds\";;
    [23].*) problem=\"is $version and too old: 3.11 or newer is needed\";;
    *) problem='does not answer as Python does';;
  esac
  echo \"$1 $problem\" >&2; shift
done
printf 'there is no Python 3.11 or newer\n%s\n' '" backstaff-python-advice "' >&2; exit 3
")
  "The shell script that becomes the first Python that fits.
Its arguments are seconds, a program, candidates, \"--\", and Python's arguments.")

(defun backstaff-python--candidates ()
  "Return the programs that may be a Python, the best first."
  (delete-dups
   (append
    (delq nil (mapcar #'executable-find
                      '("python3" "python3.14" "python3.13" "python3.12" "python3.11")))
    (cl-loop for (variable directory pattern) in backstaff-python--places
             for files = (file-expand-wildcards
                          (expand-file-name pattern (or (getenv variable) directory)) t)
             append (cl-remove-if-not
                     (lambda (file) (and (string-match-p "python[0-9.]*\\'" file)
                                         (file-executable-p file)))
                     (sort files #'string-version-lessp))))))

(defun backstaff-python-command (sources)
  "Return the start of a command that runs a Python for the server in SOURCES.
If none was found before, the command looks for one when it runs."
  (let ((beside (expand-file-name "../.venv/bin/python" sources)))
    (cond ((file-executable-p beside) (list beside "-I"))
          ;; -S leaves the system's libraries out.
          ((and backstaff-python-found (file-executable-p backstaff-python-found))
           (list backstaff-python-found "-I" "-S"))
          (t `("/bin/sh" "-c" ,backstaff-python--script "backstaff"
               ,(number-to-string backstaff-python--patience) ,backstaff-python--probe
               ,@(backstaff-python--candidates) "--" "-I" "-S")))))

(defun backstaff-python-shown (command)
  "Return COMMAND, a list, for people to read, without the script that looks."
  (remove backstaff-python--probe (remove backstaff-python--script command)))

(defun backstaff-python-wait (sources &optional note)
  "Look for a Python for the server in SOURCES, and keep it for later commands.
Return nil, or a text that says why there is none.  Emacs waits, a few seconds
for each Python that hangs.  The function NOTE, if given, is called with each
program that is tried and an answer: its problem, a string, or a plist such as
\(:version \"3.12.1\" :executable \"/usr/bin/python3.12\")."
  (let ((command (backstaff-python-command sources)))
    (when (member backstaff-python--script command)
      (let* ((output (with-temp-buffer
                       (apply #'call-process (car command) nil t nil
                              (append (cdr command) (list "-c" backstaff-python--probe)))
                       (buffer-string)))
             (lines (delete backstaff-python-advice (split-string output "\n" t)))
             (python (car (last lines))) (version (cadr (reverse lines)))
             (found (file-name-absolute-p (or python "")))
             (problems (butlast lines (if found 2 1))))
        (when note
          (dolist (line problems)
            (when-let ((program (cl-find-if (lambda (it) (string-prefix-p (concat it " ") line))
                                            command)))
              (funcall note program (substring line (1+ (length program))))))
          (when found
            (funcall note python (list :version version :executable python))))
        (if found (prog1 nil (setq backstaff-python-found python))
          (string-join (cons python problems) "\n"))))))

(provide 'backstaff-python)
;;; backstaff-python.el ends here
