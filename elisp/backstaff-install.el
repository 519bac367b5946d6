;;; backstaff-install.el --- Make a Python environment for the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server's sources are shipped with this package and run where they are;
;; what a system may lack is the libraries.  `backstaff-install-server' makes
;; a Python environment that has them: with uv, if that is installed, else
;; with the modules venv and pip.
;;
;; An environment is a folder of its own below `user-emacs-directory', named
;; for the version of the package and that of Python, so that an update of
;; either makes a new one.  Nothing else is touched.  The environment is used
;; from the moment when its last step has imported all libraries, and marked
;; it; one that was made in part never is.

;;; Code:

(require 'cl-lib)
(require 'compile)
(require 'subr-x)
(require 'backstaff-server)

(defconst backstaff-install--requirements
  '("bracex>=2.5,<4" "epc==0.0.5" "pathspec>=1.0,<2" "pyyaml>=6,<7" "sexpdata>=1.0.2,<2")
  "The libraries that the server needs, in the versions it is tested with.")

(defconst backstaff-install--fallback-version "3.13"
  "The version of Python that uv is to bring where there is none that fits.")

(defvar-local backstaff-install--environment nil
  "The folder that the buffer is about.")
(put 'backstaff-install--environment 'permanent-local t)


;;; Command

;;;###autoload
(defun backstaff-install-server ()
  "Make a Python environment with the libraries that the server needs.
Ask first, then go on in a buffer of its own.  The next time the server
starts it runs in this environment, unless `backstaff-server-command' names
another."
  (interactive)
  (unless (backstaff-server--sources)
    (user-error "The server's sources are not beside this package"))
  (backstaff-server--with-own-environment nil
    (pcase-let* ((uv (executable-find "uv"))
                 (`(,version . ,python) (backstaff-install--python uv))
                 (environment (backstaff-server--environment version)))
      (when (y-or-n-p (backstaff-install--question uv version environment))
        (backstaff-install--start
         (backstaff-install--command uv (or python version) environment)
         environment)))))

(defun backstaff-install--question (uv version environment)
  "Return the question whether to make ENVIRONMENT.
UV is non-nil if uv will do it, VERSION that of Python."
  (format "With %s, install %s for Python %s in %s? "
          (if uv "uv" "pip")
          (mapconcat (lambda (requirement)
                       (replace-regexp-in-string "[=<>].*" "" requirement))
                     backstaff-install--requirements ", ")
          version (abbreviate-file-name environment)))


;;; Python

(defun backstaff-install--probe (uv)
  "Return a program with which a Python says its version and where it is.
It says nothing if it cannot make the environment; with UV it need not be
able to, as Debian's is not without the package python3-venv."
  (format "import sys
from importlib.util import find_spec
if sys.version_info >= (3, 11) and all(map(find_spec, %s)):
    print('%%d.%%d' %% sys.version_info[:2])
    print(getattr(sys, '_base_executable', None) or sys.executable)"
          (if uv "[]" "['ensurepip', 'venv']")))

(defun backstaff-install--python (uv)
  "Return the version and the name of a Python to make an environment with.
If UV is non-nil there may be no name: uv brings a Python along."
  (or (cl-some (lambda (name)
                 (when-let ((program (executable-find name)))
                   (backstaff-install--parse
                    (backstaff-server--ask-python
                     program (backstaff-install--probe uv)))))
               backstaff-server--python-names)
      (and uv (list backstaff-install--fallback-version))
      (user-error "There is neither uv nor a Python 3.11 or newer that has \
the modules venv and ensurepip (Debian: python3-venv)")))

(defun backstaff-install--parse (answer)
  "Return the version and the name in ANSWER, of a Python, or nil."
  (pcase (split-string answer "\n" t)
    (`(,(and version (pred (string-match-p "\\`3\\.[0-9]+\\'")))
       ,(and python (pred file-executable-p)))
     (cons version python))))


;;; Steps

(defun backstaff-install--command (uv python environment)
  "Return a shell command that makes ENVIRONMENT with PYTHON, by UV if non-nil."
  (let ((own (expand-file-name "bin/python" environment)))
    (mapconcat
     (lambda (step) (mapconcat #'shell-quote-argument step " "))
     (append
      (if uv
          `((,uv "venv" "--clear" "--python" ,python ,environment)
            (,uv "pip" "install" "--python" ,own
                 ,@backstaff-install--requirements))
        `((,python "-I" "-m" "venv" "--clear" ,environment)
          (,own "-I" "-m" "pip" "install" "--disable-pip-version-check"
                ,@backstaff-install--requirements)))
      `((,own "-I" "-c" ,(backstaff-install--last-step))))
     " && ")))

(defun backstaff-install--last-step ()
  "Return a program that marks its environment if all libraries are there."
  (format "import pathlib, sys, %s; pathlib.Path(sys.prefix, '%s').touch(); \
print('Ready:', sys.prefix)"
          (string-join backstaff-server--libraries ", ")
          backstaff-server--ready-mark))

(define-derived-mode backstaff-install-mode compilation-mode "Backstaff Install"
  "Major mode for the making of a Python environment for Backstaff."
  :group 'backstaff
  (setq-local compilation-error-regexp-alist nil)
  (add-hook 'compilation-finish-functions #'backstaff-install--finish nil t))

(defun backstaff-install--start (command environment)
  "Run COMMAND, which makes ENVIRONMENT, and return its buffer."
  (let ((default-directory (backstaff-server--environments))
        ;; Neither colours nor lines that overwrite themselves.
        (process-connection-type nil)
        (compilation-environment (cons "NO_COLOR=1" compilation-environment)))
    (make-directory default-directory t)
    (with-current-buffer (compilation-start command #'backstaff-install-mode
                                            (lambda (_) "*backstaff install*"))
      (setq backstaff-install--environment environment)
      (current-buffer))))

(defun backstaff-install--finish (buffer outcome)
  "Tell how the making in BUFFER ended, with OUTCOME, a string.
What was made in part is deleted."
  (with-current-buffer buffer
    (let ((environment backstaff-install--environment))
      (cond ((string-prefix-p "finished" outcome)
             (backstaff-stop)
             (message "Backstaff will run in %s from now on"
                      (abbreviate-file-name environment)))
            (t
             ;; Without its mark nobody uses what may remain of it.
             (ignore-errors (delete-directory environment t))
             (message "Backstaff was not installed: see %s"
                      (buffer-name buffer)))))))

(provide 'backstaff-install)
;;; backstaff-install.el ends here
