;;; backstaff-ui-doctor.el --- Find out why Backstaff does not work  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-doctor' checks all that a call needs, in the order in which the call needs
;; it.  The report is plain text, ready to paste into a bug report.  The doctor starts a
;; server of its own, and Emacs is free while that starts.  For answers the doctor waits,
;; and for the start of a server on another host, as any command does.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-prompt)

(defconst backstaff-doctor--limit 5
  "Maximum number of seconds for each check of a server.")

(defvar-local backstaff-doctor--checking nil
  "The name of the check that goes on.")

(defvar backstaff-doctor-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map special-mode-map)
    (define-key map "w" #'backstaff-doctor-copy)
    (define-key map "o" #'backstaff-overview)
    (define-key map "v" #'backstaff-show-log)
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    map)
  "Keys of `backstaff-doctor-mode'.")

(define-derived-mode backstaff-doctor-mode special-mode "Backstaff Doctor"
  "Major mode for the report of `backstaff-doctor'."
  :group 'backstaff
  (setq buffer-undo-list t mode-line-process '("" backstaff-request-indicator)
        backstaff-request-cancelled-function (lambda () (backstaff-doctor--fail '(quit))))
  (setq-local revert-buffer-function (lambda (&rest _) (backstaff-doctor--check-all)))
  (visual-line-mode))

;;;###autoload
(defun backstaff-doctor ()
  "Check all that Backstaff needs, and report what is wrong and what to do.
The report grows step by step; \\<backstaff-doctor-mode-map>\\[revert-buffer] \
checks again and \\[backstaff-doctor-copy] copies it."
  (interactive)
  (let ((directory default-directory))
    (pop-to-buffer "*backstaff doctor*")
    (unless (derived-mode-p 'backstaff-doctor-mode)
      (backstaff-doctor-mode))
    (setq default-directory directory)
    (revert-buffer)
    (current-buffer)))

(defun backstaff-doctor-copy ()
  "Copy the report."
  (interactive nil backstaff-doctor-mode)
  (kill-new (buffer-substring-no-properties (point-min) (point-max)))
  (message "Copied the report"))

;;; Report

(defun backstaff-doctor--begin (name)
  "Show that the check NAME goes on."
  (setq backstaff-doctor--checking name
        header-line-format (format " Still checking: %s…" name))
  (redisplay))

(defun backstaff-doctor--insert (&rest strings)
  "Append STRINGS to the report."
  (with-silent-modifications
    (save-excursion
      (goto-char (point-max))
      (apply #'insert strings))))

(defun backstaff-doctor--note (name state text &optional advice)
  "Append to the report that the check NAME has STATE, with TEXT and ADVICE.
STATE is `ok', `note' or `failed'."
  (let ((text (backstaff-names-text (concat text (and advice (concat "\nTo do: " advice)))))
        (indentation (make-string 20 ?\s)))
    (backstaff-doctor--insert
     (pcase state
       ('ok (propertize "ok     " 'face 'success))
       ('note (propertize "note   " 'face 'shadow))
       (_ (propertize "FAILED " 'face 'error)))
     (format "%-12s " name)
     (propertize (replace-regexp-in-string "\n\\(.\\)" (concat "\n" indentation "\\1") text)
                 'wrap-prefix indentation)
     "\n")))

(defun backstaff-doctor--fail (condition)
  "Note that the check that goes on failed with CONDITION, and end the report."
  (backstaff-doctor--note backstaff-doctor--checking 'failed
                          (backstaff-epc-error-text condition)
                          (backstaff-server-advice condition))
  (backstaff-doctor--conclude))

(defun backstaff-doctor--conclude ()
  "End the report with the names of the failed checks and the end of the log."
  (let* ((case-fold-search nil) (first nil)
         (failed (save-excursion
                   (goto-char (point-min))
                   (cl-loop while (re-search-forward "^FAILED \\(.\\{12\\}\\)" nil t)
                            do (setq first (or first (match-beginning 0)))
                            collect (string-trim-right (match-string 1)))))
         (count (if (cdr failed) (format "%d checks" (length failed)) "One check"))
         (verdict (if failed (propertize (format "%s failed: %s." count (string-join failed ", "))
                                         'face 'error)
                    (propertize "All is well." 'face 'success))))
    ;; The report is longer than a small window.
    (setq header-line-format (concat " " verdict))
    (backstaff-doctor--insert
     "\n" verdict "\n\n"
     (substitute-command-keys
      (if failed "Do what follows \"To do\", then type \\[revert-buffer]."
        "Type \\[backstaff-overview] to see the project on a page."))
     "\n\nThe log ends with:\n\n"
     (with-current-buffer (get-buffer-create backstaff-server-log-buffer)
       (save-excursion
         (goto-char (point-max))
         (forward-line -10)
         (buffer-substring-no-properties (point) (point-max)))))
    ;; The first failure has to be on the screen, unless the user reads elsewhere already.
    (when (and first (bobp))
      (goto-char first)
      (dolist (window (get-buffer-window-list nil nil t))
        (set-window-point window (point))
        (set-window-start window (line-beginning-position -1) t)))))

(defmacro backstaff-doctor--guarded (&rest body)
  "Run BODY; an error fails the check that goes on, and ends the report."
  (declare (indent 0) (debug t))
  ;; In a directory on another machine, expanding ~ would ask that one.
  `(let ((default-directory "/"))
     (condition-case problem
         (progn ,@body)
       ((error quit) (backstaff-doctor--fail problem)))))

;;; Checks

(defun backstaff-doctor--check-all ()
  "Begin all checks anew in the current buffer.
The last of those here starts a server, which answers later."
  (backstaff-request-cancel)
  (let ((directory default-directory))
    (with-silent-modifications
      (erase-buffer))
    (backstaff-doctor--insert (propertize "Backstaff doctor" 'face 'bold)
                              (format-time-string ", %F %T\n\n"))
    (backstaff-doctor--guarded
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
            (backstaff-doctor--insert "\nOn this machine, for local projects\n"))
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
            (_ (note "Running" 'note "no server; the next call starts one"))))
        (backstaff-doctor--start-server host)))))

(defun backstaff-doctor--start-server (host)
  "Start a server of the doctor's own, which answers later; HOST is the project's."
  (backstaff-doctor--begin "Command")
  ;; The Python found before may not work any more.
  (setq backstaff-python-found nil)
  (let ((connection nil)
        (command
         (backstaff-python-with-own-environment nil
           (backstaff-server-program
            (lambda (program answer)
              (let ((usable (consp answer)))
                (backstaff-doctor--note
                 "Python" (if usable 'ok 'note)
                 (if (stringp answer) (concat (backstaff-path-shown program) " " answer)
                   (format "%s is %s and %s" (backstaff-path-shown (plist-get answer :executable))
                           (plist-get answer :version)
                           (if usable "can run the server"
                             "too old: 3.11 or newer is needed"))))))))))
    (backstaff-request-start
     (lambda (answer)
       (setq connection (backstaff-server-try (lambda (&rest result) (funcall answer result))
                                              backstaff-doctor--limit))
       (lambda () (backstaff-epc-close connection "the doctor was stopped")))
     (pcase-lambda (`(,identity ,condition))
       (backstaff-doctor--check-server connection identity condition host)))
    (backstaff-doctor--note
     "Command" 'ok (concat (string-join command " ")
                           (and backstaff-server-command "\nby `backstaff-server-command'")))
    (backstaff-doctor--begin "Handshake")))

(defun backstaff-doctor--check-server (connection identity condition host)
  "Check the doctor's server over CONNECTION, and end the report.
The server has shaken hands as IDENTITY, or failed with CONDITION.  If HOST is
non-nil, check the server there, too; that is the one that calls use."
  (unwind-protect
      (backstaff-doctor--guarded
        (when condition
          (signal (car condition) (cdr condition)))
        (backstaff-doctor--note
         "Handshake" 'ok
         (format "server %s, protocol %s, Python %s"
                 (plist-get identity :version) (plist-get identity :protocol)
                 (or (plist-get identity :python) "unknown")))
        (backstaff-doctor--check-speed "Round trip" connection)
        (backstaff-doctor--begin "Tools")
        (let ((tools (backstaff-epc-call connection 'describe nil
                                         :timeout backstaff-doctor--limit)))
          (unless (and tools (cl-every (lambda (tool) (stringp (plist-get tool :id))) tools))
            (signal 'backstaff-protocol-error '("the server describes no tools")))
          (backstaff-doctor--note
           "Tools" 'ok
           (mapconcat (pcase-lambda (`(,policy . ,tools))
                        (concat (pcase policy (:allow "allowed: ") (:deny "denied: ")
                                       (:prompt "ask first: ") (_ "of no known policy: "))
                                (mapconcat (lambda (tool) (plist-get tool :id)) tools ", ")))
                      (seq-group-by (lambda (tool) (plist-get tool :policy)) tools) "\n")))
        (when host
          (backstaff-doctor--insert (format "\nOn %s, for this project\n" host))
          (backstaff-doctor--begin "Host")
          (let ((server (backstaff-server-ensure host)))
            (backstaff-doctor--note
             "Host" 'ok
             (concat host "\n" (plist-get (backstaff-server-start-info server) :text)))
            (backstaff-doctor--check-speed "To the host" server)))
        (backstaff-doctor--conclude))
    (backstaff-epc-close connection "the doctor is done")))

(defun backstaff-doctor--check-speed (name connection)
  "Measure how long a call over CONNECTION takes, as check NAME."
  (backstaff-doctor--begin name)
  (let ((times (cl-loop with end = (+ (float-time) backstaff-doctor--limit)
                        repeat 10 for start = (float-time) while (< start end)
                        do (backstaff-epc-call connection 'ping nil :timeout (- end start))
                        collect (* 1e3 (- (float-time) start)))))
    (backstaff-doctor--note
     name 'ok (format "%.2f to %.2f ms for an empty call and its answer"
                      (apply #'min times) (apply #'max times)))))

(provide 'backstaff-ui-doctor)
;;; backstaff-ui-doctor.el ends here
