;;; backstaff-install.el --- Make a Python environment for the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server's sources run where they are, beside this package; what a system
;; may lack is the libraries.  `backstaff-install-server' makes a Python
;; environment with them, by uv, if that is installed, or by venv and pip.
;;
;; Each version of the package and of Python has its own environment, below
;; `user-emacs-directory'.  The last step imports all libraries and marks the
;; environment; without the mark it is not used.

;;; Code:

(require 'compile)
(require 'subr-x)
(require 'backstaff-server)

(defconst backstaff-install--requirements
  '("bracex>=2.5,<4" "epc==0.0.5" "pathspec>=1.0,<2" "pyyaml>=6,<7" "sexpdata>=1.0.2,<2")
  "The libraries that the server needs, in the versions it is tested with.")

(defvar-local backstaff-install--environment nil
  "The directory that the buffer is about.")
(put 'backstaff-install--environment 'permanent-local t)

;;;###autoload
(defun backstaff-install-server ()
  "Make a Python environment with the libraries that the server needs.
Ask first, then go on in a buffer of its own.  The next time the server
starts it runs in this environment, unless `backstaff-server-command' names
another.  Return nil if the user does not want it."
  (interactive)
  (unless (backstaff-python-sources)
    (user-error "The server's sources are not beside this package"))
  (backstaff-python-with-own-environment nil
    (pcase-let* ((uv (executable-find "uv"))
                 (`(,version ,python ,verdict) (backstaff-install--python uv))
                 (directory (backstaff-python-environments))
                 (environment (format "%s%s-py%s/" directory
                                      backstaff-server-version version))
                 ;; Neither colours nor lines that overwrite themselves.
                 (process-connection-type nil)
                 (compilation-environment (cons "NO_COLOR=1" compilation-environment)))
      (when (y-or-n-p
             (format "Python %s %s.  With %s, install %s for the server in %s? "
                     version verdict (if uv "uv" "pip")
                     (mapconcat (lambda (requirement)
                                  (replace-regexp-in-string "[=<>].*" "" requirement))
                                backstaff-install--requirements ", ")
                     (abbreviate-file-name environment)))
        (make-directory directory t)
        (with-current-buffer
            (let ((default-directory directory))
              (compilation-start
               (backstaff-install--command uv (or python version) environment)
               #'backstaff-install-mode (lambda (_) "*backstaff install*")))
          (setq backstaff-install--environment environment)
          (current-buffer))))))

(defun backstaff-install-python-verdict (answer)
  "Return what a user reads about the Python that gave ANSWER."
  (cond ((backstaff-python-usable-p answer) "has all libraries")
        ((not (consp answer)) answer)
        ((plist-get answer :missing)
         (concat "lacks " (string-join (plist-get answer :missing) ", ")))
        (t "is older than 3.11")))

(defun backstaff-install--python (uv)
  "Return version, name and verdict of a Python to make an environment with.
With UV there may be no name, as uv brings a Python along; and Python need not
have the modules for it, as Debian's has not without the package python3-venv."
  (or (backstaff-python-search
       (lambda (_program answer)
         (let ((version (and (consp answer) (plist-get answer :version))))
           (and version (not (version< version "3.11"))
                (or uv (plist-get answer :makes-environments))
                (file-executable-p (plist-get answer :base))
                (list (replace-regexp-in-string "\\.[0-9]+\\'" "" version)
                      (plist-get answer :base) (backstaff-install-python-verdict answer))))))
      (and uv '("3.13" nil "comes with uv"))
      (user-error "There is neither uv nor a Python 3.11 or newer that has \
the modules venv and ensurepip (Debian: python3-venv)")))

(defun backstaff-install--command (uv python environment)
  "Return a shell command that makes ENVIRONMENT with PYTHON, by UV if non-nil."
  (let ((own (expand-file-name "bin/python" environment)))
    (mapconcat
     (lambda (step) (mapconcat #'shell-quote-argument step " "))
     `(,@(if uv
             `((,uv "venv" "--clear" "--python" ,python ,environment)
               (,uv "pip" "install" "--python" ,own ,@backstaff-install--requirements))
           `((,python "-I" "-m" "venv" "--clear" ,environment)
             (,own "-I" "-m" "pip" "install" "--disable-pip-version-check"
                   ,@backstaff-install--requirements)))
       (,own "-I" "-c"
             ,(format "import pathlib, sys, %s; pathlib.Path(sys.prefix, '%s').touch(); \
print('Ready:', sys.prefix)"
                      (string-join backstaff-python-libraries ", ")
                      backstaff-python-ready-mark)))
     " && ")))

(define-derived-mode backstaff-install-mode compilation-mode "Backstaff Install"
  "Major mode for the making of a Python environment for Backstaff."
  :group 'backstaff
  (setq-local compilation-error-regexp-alist nil
              compilation-scroll-output t)
  (add-hook 'compilation-finish-functions
            (lambda (buffer outcome)
              (let ((environment (buffer-local-value 'backstaff-install--environment
                                                     buffer)))
                (cond ((string-prefix-p "finished" outcome)
                       (backstaff-stop)
                       (message "Backstaff will run in %s from now on"
                                (abbreviate-file-name environment))
                       (when-let ((doctor (get-buffer "*backstaff doctor*")))
                         (with-current-buffer doctor
                           (revert-buffer))))
                      (t
                       ;; If it cannot be deleted, it still lacks the mark of a whole
                       ;; environment, so nobody uses it.
                       (ignore-errors (delete-directory environment t))
                       (message "Backstaff was not installed: see %s"
                                (buffer-name buffer))))))
            nil t))

(provide 'backstaff-install)
;;; backstaff-install.el ends here
