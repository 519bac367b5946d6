;;; backstaff-ui-doctor.el --- Find out why Backstaff does not work  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-doctor' checks all that a call needs, in the order in which the call needs
;; it, and shows a report in a help buffer, ready to paste into a bug report.  It starts a
;; server of its own, and waits for each answer until a limit, or until C-g.

;;; Code:

(require 'cl-lib)
(require 'help-mode)
(require 'map)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-ui-path)

(declare-function backstaff-listen-servers "backstaff-listen" ())

(defconst backstaff-doctor--limit 5
  "Maximum number of seconds for each check of a server.")

(defvar backstaff-doctor--checking nil
  "The name of the check that goes on.")

;;;###autoload
(defun backstaff-doctor (&optional directory)
  "Check all that Backstaff needs, and report what is wrong and what to do.
DIRECTORY says which project is meant; the default is the current one."
  (interactive)
  (let ((directory (or directory default-directory)) (help-window-select t) (failure nil))
    (with-help-window "*backstaff doctor*"
      (with-current-buffer standard-output
        (setq help-xref-stack-item (list #'backstaff-doctor directory)
              ;; In a directory on another machine, expanding ~ would ask that one.
              default-directory "/")
        (visual-line-mode)
        (condition-case problem
            (backstaff-doctor--check-server (backstaff-doctor--check-package directory))
          ((error quit)
           (backstaff-doctor--note backstaff-doctor--checking 'failed
                                   (backstaff-epc-error-text problem)
                                   ;; The rest of the advice is to call the doctor.
                                   (replace-regexp-in-string
                                    "[;,]? else type M-x backstaff-doctor\\'" ""
                                    (string-replace "\n" " " (backstaff-server-advice problem))))))
        (setq failure (backstaff-doctor--conclude))))
    (message nil)
    (when failure
      (with-selected-window (get-buffer-window "*backstaff doctor*")
        (goto-char failure)
        (set-window-start nil (point))))
    (get-buffer "*backstaff doctor*")))

;;; Report

(defun backstaff-doctor--begin (name)
  "Say that the check NAME goes on."
  (setq backstaff-doctor--checking name)
  (message "%s" (substitute-command-keys (format "Checking: %s… (\\[keyboard-quit] stops)" name))))

(defun backstaff-doctor--note (name state text &optional advice)
  "Append to the report that the check NAME has STATE, with TEXT and ADVICE.
STATE is `ok', `note' or `failed'."
  (let ((text (backstaff-names-text (concat text (and advice (concat "\nTo do: " advice)))))
        (indentation (make-string 20 ?\s)))
    (insert
     (pcase state
       ('ok (propertize "ok     " 'face 'success))
       ('note (propertize "note   " 'face 'shadow))
       (_ (propertize "FAILED " 'face 'error)))
     (format "%-12s " name)
     (propertize (replace-regexp-in-string "\n\\(.\\)" (concat "\n" indentation "\\1") text)
                 'wrap-prefix indentation)
     "\n")))

(defun backstaff-doctor--conclude ()
  "Write the verdict above the checks and the end of the log below them.
Return the place of the first failure, or nil."
  (insert "\n")
  (insert-text-button "Copy this report" 'follow-link t
                      'action (lambda (_)
                                (kill-new (buffer-substring-no-properties (point-min) (point-max)))
                                (message "Copied the report")))
  (insert "\n\nThe log ends with:\n\n"
          (with-current-buffer (get-buffer-create backstaff-server-log-buffer)
            (save-excursion
              (goto-char (point-max))
              (forward-line -10)
              (mapconcat (lambda (line) (truncate-string-to-width line 300 nil nil t))
                         (split-string (buffer-substring-no-properties (point) (point-max)) "\n")
                         "\n"))))
  (goto-char (point-min))
  (let* ((case-fold-search nil)
         (failed (save-excursion
                   (cl-loop while (re-search-forward "^FAILED \\(.\\{12\\}\\)" nil t)
                            collect (string-trim-right (match-string 1))))))
    (insert (if (null failed) (propertize "All is well." 'face 'success)
              (propertize (format "%s failed: %s." (if (cdr failed) (format "%d checks" (length failed))
                                                     "One check")
                                  (string-join failed ", "))
                          'face 'error))
            (if failed "  Do what follows \"To do\", then type g.\n\n"
              "  M-x backstaff-overview shows the project on a page.\n\n")
            (format-time-string "Backstaff doctor, %F %T\n\n"))
    (and failed (re-search-forward "^FAILED ") (line-beginning-position))))

;;; Checks

(defun backstaff-doctor--check-package (directory)
  "Check this machine, for a project in DIRECTORY; return the project's host."
  (backstaff-doctor--begin "Package")
  (let* ((settings (backstaff-server-settings-file-name))
         (sources (backstaff-python-sources))
         (root (condition-case problem (backstaff-root directory) (error problem)))
         (host (and (stringp root) (file-remote-p root))))
    (cl-flet ((note #'backstaff-doctor--note) (file #'backstaff-path-shown))
      (note "Emacs" 'ok (format "%s, %s, %s" emacs-version system-configuration
                                (if window-system (format "window system %s" window-system)
                                  "text terminal")))
      (note "Package" 'ok (format "Backstaff %s in %s" backstaff-server-version
                                  (file (or backstaff-python-package-directory "no file"))))
      (note "Sources" (if (or sources backstaff-server-command) 'ok 'note)
            (if sources (concat "the server's are in " (file sources))
              "the server's are not beside the package"))
      (cond ((consp root)
             (note "Root" 'failed (backstaff-epc-error-text root)
                   (if (memq 'backstaff-error (get (car root) 'error-conditions))
                       (backstaff-server-advice root)
                     "Check `backstaff-root-function' and `backstaff-root-directory'")))
            ((or host (file-accessible-directory-p root)) (note "Root" 'ok (file root)))
            (t (note "Root" 'failed (concat (file root) " cannot be entered")
                     "Make it a directory that you may read, or go to another one")))
      (when (file-remote-p directory)
        (insert "\nOn this machine, for local projects\n"))
      ;; The server itself judges the settings.
      (cond ((file-readable-p settings) (note "Settings" 'note (file settings)))
            ((or backstaff-server-settings-file (file-exists-p settings))
             (note "Settings" 'failed (concat (file settings) " cannot be read")
                   "Check `backstaff-server-settings-file' and the file's permissions"))
            (t (note "Settings" 'note (concat "none, as there is no " (file settings)))))
      (pcase (backstaff-server-status)
        ('unresponsive (note "Running" 'failed "the server does not respond any more"
                             "Type M-x backstaff-restart"))
        ((and (pred integerp) pid) (note "Running" 'ok (format "process %s" pid)))
        (_ (note "Running" 'note "no server; the next call starts one")))
      (note "Agents" 'note
            (cond ((not (bound-and-true-p backstaff-listen-mode))
                   "those outside Emacs see files as on disk; with (backstaff-listen-mode 1) in\
 your init file they see unsaved text, and you are asked before they read secrets")
                  ((backstaff-listen-servers)
                   (mapconcat
                    (lambda (server)
                      (format "process %d for %s asked last at %s" (plist-get server :pid)
                              (file (plist-get server :root))
                              (format-time-string "%T" (plist-get server :last))))
                    (backstaff-listen-servers) "\n"))
                  (t "none outside Emacs is connected"))))
    host))

(defun backstaff-doctor--check-server (host)
  "Start a server of the doctor's own and check it.
If HOST is non-nil, check the server there, too; that is the one that calls use."
  (backstaff-doctor--begin "Command")
  (let* ((result nil)
         (command (backstaff-python-with-own-environment nil (backstaff-server-program)))
         (connection (backstaff-server-try (lambda (&rest answer) (setq result answer))
                                           backstaff-doctor--limit)))
    (unwind-protect
        (cl-flet ((note #'backstaff-doctor--note))
          (note "Command" 'ok (concat (string-join command " ")
                                      (and backstaff-server-command "\nby `backstaff-server-command'")))
          (backstaff-doctor--begin "Handshake")
          (while (null result)
            (accept-process-output nil 0.05))
          (pcase-let ((`(,(map :version :protocol :python) ,condition) result))
            (when condition
              (signal (car condition) (cdr condition)))
            (note "Handshake" 'ok (format "server %s, protocol %s, Python %s" version protocol
                                          (or python "unknown"))))
          (backstaff-doctor--check-speed "Round trip" connection)
          (backstaff-doctor--begin "Tools")
          (let ((tools (backstaff-epc-call connection 'describe nil :timeout backstaff-doctor--limit)))
            (unless (and tools (cl-every (lambda (tool) (stringp (plist-get tool :id))) tools))
              (signal 'backstaff-protocol-error '("the server describes no tools")))
            (note "Tools" 'ok
                  (mapconcat
                   (pcase-lambda (`(,policy . ,tools))
                     (concat (pcase policy (:allow "allowed: ") (:deny "denied: ")
                                    (:prompt "ask first: ") (_ "of no known policy: "))
                             (mapconcat (lambda (tool) (plist-get tool :id)) tools ", ")))
                   (seq-group-by (lambda (tool) (plist-get tool :policy)) tools) "\n"))))
      (backstaff-epc-close connection "the doctor is done")))
  (when host
    (insert (format "\nOn %s, for this project\n" host))
    (backstaff-doctor--begin "Host")
    (let ((server (backstaff-server-ensure host)))
      (backstaff-doctor--note
       "Host" 'ok (concat host "\n" (plist-get (backstaff-server-start-info server) :text)))
      (backstaff-doctor--check-speed "To the host" server))))

(defun backstaff-doctor--check-speed (name connection)
  "Measure how long a call over CONNECTION takes, as check NAME."
  (backstaff-doctor--begin name)
  (let ((times (cl-loop with end = (+ (float-time) backstaff-doctor--limit)
                        repeat 10 for start = (float-time) while (< start end)
                        do (backstaff-epc-call connection 'ping nil :timeout (- end start))
                        collect (* 1e3 (- (float-time) start)))))
    (backstaff-doctor--note name 'ok (format "%.2f to %.2f ms for an empty call and its answer"
                                             (apply #'min times) (apply #'max times)))))

(provide 'backstaff-ui-doctor)
;;; backstaff-ui-doctor.el ends here
