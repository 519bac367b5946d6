;;; ways_in.el --- A first session with a fresh installation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; dev/ways_in.py loads this after the lines of a user's init.el.  It does the first
;; steps of a user, and fails if they need a step by hand.

;;; Code:

(require 'cl-lib)
(require 'info)

(defvar backstaff-map)
(defvar backstaff-python-package-directory)
(declare-function backstaff-call "backstaff" (id args &optional context))
(declare-function backstaff-doctor "backstaff-ui-doctor" ())
(declare-function backstaff-server-program "backstaff-server" ())
(declare-function backstaff-stop "backstaff-server" ())
(declare-function backstaff "backstaff-ui-menu" ())

(defun ways-in-check (fact what)
  "Leave Emacs if FACT is nil, with a message about WHAT."
  (unless fact
    (message "ways-in: not so: %s" what)
    (kill-emacs 1)))

(defun ways-in-session (compiled manual)
  "Make a first call in the current directory, and print how long it took.
COMPILED says whether the package's files must be compiled, and MANUAL whether
its manual must be found."
  (ways-in-check (commandp 'backstaff) "M-x backstaff is a command")
  (ways-in-check (keymapp 'backstaff-map) "backstaff-map can be bound")
  (require 'backstaff)
  (let ((reply (backstaff-call "agent-q/list_directory" '(:path ".")
                               (list :root default-directory)))
        (seconds (float-time (time-since before-init-time))))
    (ways-in-check (plist-get reply :ok) (plist-get reply :text))
    (princ (format "answer %.2f\n" seconds)))
  (princ (format "program %s\n" (mapconcat #'identity (backstaff-server-program) " ")))
  (let* ((sources (directory-files backstaff-python-package-directory t
                                   "\\`backstaff\\(-[a-z-]+\\)?\\.el\\'"))
         (uncompiled (cl-remove-if (lambda (file)
                                     (or (file-exists-p (concat file "c"))
                                         (string-match-p "-\\(pkg\\|autoloads\\)\\.el\\'" file)))
                                   sources)))
    (ways-in-check (> (length sources) 20) "the package is whole")
    (ways-in-check (not (and compiled uncompiled)) (format "%S is compiled" uncompiled)))
  (ways-in-check (file-exists-p (expand-file-name "backstaff-agent-q.lisp"
                                                  backstaff-python-package-directory))
                 "Agent-Q's file in Lisp comes along")
  (when manual
    ;; Like C-h i d m Backstaff RET.
    (info)
    (Info-directory)
    (ways-in-check (= 1 (how-many "^\\* Backstaff:" (point-min)))
                   "Info's directory has the manual once")
    (Info-menu "Backstaff")
    (ways-in-check (search-forward "M-x backstaff-doctor" nil t) "Info shows the manual"))
  (with-current-buffer (backstaff-doctor)
    (with-timeout (30 (ways-in-check nil (concat "the doctor is done:\n" (buffer-string))))
      (while (string-match-p "Still checking" (format "%s" header-line-format))
        (accept-process-output nil 0.05)))
    (ways-in-check (string-match-p "^All is well" (buffer-string)) (buffer-string)))
  (backstaff-stop))

(provide 'ways_in)
;;; ways_in.el ends here
