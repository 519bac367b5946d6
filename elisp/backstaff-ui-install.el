;;; backstaff-ui-install.el --- Make a Python environment for the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server's sources run where they are, beside this package, and any Python
;; 3.11 or newer runs them as it is.  `backstaff-install-server' makes a Python
;; environment for those who want one: uv can bring a Python where there is none
;; that is new enough, and the libraries in an environment may have compiled parts.
;; It is made by uv, if that is installed, or by venv and pip.
;;
;; An environment lies below `user-emacs-directory'.  Its name tells what it holds,
;; so a new version of this package needs no new one unless it needs other
;; libraries; `backstaff-remove-environments' deletes what is not used any more.
;; The last step of making one imports all libraries and marks it; without the
;; mark it is not used.

;;; Code:

(require 'compile)
(require 'subr-x)
(require 'backstaff-server)

(defconst backstaff-install--libraries '("bracex" "epc" "pathspec" "sexpdata" "yaml")
  "The libraries that the server imports, by the names it imports them under.")

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
    (user-error "The server's sources are not beside this package: its folder py_backend is missing"))
  (backstaff-python-with-own-environment nil
    (pcase-let* ((uv (executable-find "uv"))
                 (`(,version ,python ,verdict) (backstaff-install--python uv))
                 (directory (backstaff-python-environments))
                 (environment (concat directory
                                      (backstaff-python-environment-name version) "/"))
                 ;; Neither colours nor lines that overwrite themselves.
                 (process-connection-type nil)
                 (compilation-environment (cons "NO_COLOR=1" compilation-environment)))
      (when (y-or-n-p
             (format "Python %s %s.  With %s, install %s for the server in %s? "
                     version verdict (if uv "uv" "pip")
                     (mapconcat (lambda (requirement)
                                  (replace-regexp-in-string "[=<>].*" "" requirement))
                                backstaff-python-requirements ", ")
                     (abbreviate-file-name environment)))
        (make-directory directory t)
        (with-current-buffer
            (let ((default-directory directory))
              (compilation-start
               (backstaff-install--command uv (or python version) environment)
               #'backstaff-install-mode (lambda (_) "*backstaff install*")))
          (setq backstaff-install--environment environment)
          (current-buffer))))))

(defun backstaff-install--python (uv)
  "Return version, name and verdict of a Python to make an environment with.
With UV there may be no name, as uv brings a Python along; and Python need not
have the modules for it, as Debian's has not without the package python3-venv."
  (or (backstaff-python-search
       (lambda (_program answer)
         (let ((version (and (consp answer) (plist-get answer :version))))
           (and version (not (version< version "3.11"))
                (or uv (null (plist-get answer :missing)))
                (file-executable-p (plist-get answer :base))
                (list (replace-regexp-in-string "\\.[0-9]+\\'" "" version)
                      (plist-get answer :base) (backstaff-python-verdict answer))))))
      (and uv '("3.13" nil "comes with uv"))
      (backstaff-install--refuse)))

(defun backstaff-install--refuse ()
  "Say why there is no Python to make an environment with, and what to do."
  (let* ((answers nil)
         (usable (backstaff-python-search
                  (lambda (program answer)
                    (push (cons program answer) answers)
                    (and (backstaff-python-usable-p answer) answer)))))
    (if usable
        ;; The server runs all the same.
        (user-error "Python %s lacks %s: type in a shell: %s.  (The server needs no environment.)"
                    (plist-get usable :version)
                    (string-join (plist-get usable :missing) " and ")
                    (if (executable-find "apt-get") "sudo apt-get install python3-venv"
                      "pip install uv"))
      (apply #'user-error "There is no environment to be made: %s.  %s"
             (backstaff-python-problem (nreverse answers))))))

(defun backstaff-install--command (uv python environment)
  "Return a shell command that makes ENVIRONMENT with PYTHON, by UV if non-nil."
  (let ((own (expand-file-name "bin/python" environment)))
    (mapconcat
     (lambda (step) (mapconcat #'shell-quote-argument step " "))
     `(,@(if uv
             `((,uv "venv" "--clear" "--python" ,python ,environment)
               (,uv "pip" "install" "--python" ,own ,@backstaff-python-requirements))
           `((,python "-I" "-m" "venv" "--clear" ,environment)
             (,own "-I" "-m" "pip" "install" "--disable-pip-version-check"
                   ,@backstaff-python-requirements)))
       (,own "-I" "-c"
             ,(format "import pathlib, sys, %s; pathlib.Path(sys.prefix, '%s').touch(); \
print('Ready:', sys.prefix)"
                      (string-join backstaff-install--libraries ", ")
                      backstaff-python-ready-mark)))
     " && ")))

;;;###autoload
(defun backstaff-remove-environments (&optional all)
  "Delete the environments that the server runs in no more, after asking.
With a prefix argument, ALL, delete the one it runs in, too; the server then
runs on a Python of the system."
  (interactive "P")
  (let ((directories (append (backstaff-python-old-environments)
                             (when-let ((python (and all (backstaff-python-installed))))
                               (list (expand-file-name "../../" python))))))
    (unless directories
      (user-error "There is no old environment in %s"
                  (abbreviate-file-name (backstaff-python-environments))))
    (when (y-or-n-p (format "Delete %s? "
                            (mapconcat #'abbreviate-file-name directories ", ")))
      (when all
        (backstaff-stop))
      (dolist (directory directories)
        (delete-directory directory t))
      (message "Deleted %s" (mapconcat #'abbreviate-file-name directories ", ")))))

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
                       (message "Backstaff runs in %s from now on; M-x backstaff goes on%s"
                                (abbreviate-file-name environment)
                                (if (backstaff-python-old-environments)
                                    "; M-x backstaff-remove-environments deletes old ones"
                                  ""))
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

(provide 'backstaff-ui-install)
;;; backstaff-ui-install.el ends here
