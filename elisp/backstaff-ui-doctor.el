;;; backstaff-ui-doctor.el --- Find out why Backstaff does not work  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-doctor' checks all that a call needs, in that order, by the server that calls
;; use.  Its report is ready to paste into a bug report.

;;; Code:

(require 'help-mode)
(require 'backstaff-ui-view)

(declare-function backstaff-listen-servers "backstaff-listen" ())

(defconst backstaff-doctor--limit 5
  "Maximum number of seconds for each check of a server.")

;;;###autoload
(defun backstaff-doctor (&optional directory)
  "Check all that Backstaff needs, and report what is wrong and what to do.
DIRECTORY says which project is meant; the default is the current one."
  (interactive)
  (let ((directory (or directory default-directory)) (help-window-select t) (case-fold-search nil))
    (with-help-window "*backstaff doctor*"
      (with-current-buffer standard-output
        (setq help-xref-stack-item (list #'backstaff-doctor directory)
              ;; In a directory on another machine, expanding ~ would ask that one.
              default-directory "/")
        (visual-line-mode)
        (backstaff-doctor--check-all directory)
        (setq default-directory directory)
        (goto-char (point-min))
        (insert (if (save-excursion (re-search-forward "^FAILED " nil t))
                    "Not all is well.  Do what follows \"To do\", then type g.\n"
                  "All is well.  M-x backstaff-overview shows the project on a page.\n")
                (format-time-string "Backstaff doctor, %F %T\n\n"))
        ;; The window shows the end of the first advice, and with it the check above.
        (when (re-search-forward "^ +To do: .*" nil t)
          (set-marker help-window-point-marker (point)))))
    (message nil)
    (get-buffer "*backstaff doctor*")))

(defun backstaff-doctor--run (name function)
  "Write the text that FUNCTION returns into the report, as check NAME.
If it fails, write why and what to do, and return nil."
  (message "%s" (substitute-command-keys (format "Checking: %s… (\\[keyboard-quit] stops)" name)))
  (let* ((problem nil) (indentation (make-string 20 ?\s))
         (text (condition-case condition (funcall function)
                 ((error quit)
                  (setq problem t)
                  (concat (backstaff-epc-error-text condition) "\nTo do: "
                          (string-replace "\n" " " (backstaff-server-advice condition)))))))
    (insert (if problem (propertize "FAILED " 'face 'error) (propertize "ok     " 'face 'success))
            (format "%-12s " name)
            (propertize (replace-regexp-in-string "\n\\(.\\)" (concat "\n" indentation "\\1")
                                                  (backstaff-names-text text))
                        'wrap-prefix indentation)
            "\n")
    (not problem)))

(defmacro backstaff-doctor--check (name &rest body)
  "Run BODY as the check NAME; see `backstaff-doctor--run'."
  (declare (indent 1))
  `(backstaff-doctor--run ,name (lambda () ,@body)))

(defun backstaff-doctor--check-all (directory)
  "Check what calls need, for a project in DIRECTORY."
  (let ((host nil) (connection nil))
    (backstaff-doctor--check "Emacs"
      (format "%s, %s, %s\nBackstaff %s in %s" emacs-version system-configuration
              (or window-system "text terminal") backstaff-server-version
              (backstaff-names-show-file (or backstaff-server-package-directory "no file"))))
    (backstaff-doctor--check "Root"
      (let ((root (backstaff-root directory)))
        (setq host (file-remote-p root))
        (unless (or host (file-accessible-directory-p root))
          (signal 'backstaff-error
                  (list (concat (backstaff-names-show-file root) " cannot be entered")
                        "Make it a directory that you may read, or go to another one")))
        (backstaff-names-show-file root)))
    (when host (insert "\nOn this machine, for local projects\n"))
    ;; The server itself judges the settings.
    (backstaff-doctor--check "Settings"
      (let ((file (backstaff-server-settings-file-name)))
        (concat (if (file-exists-p file) "" "none, as there is no ")
                (backstaff-names-show-file file))))
    (backstaff-doctor--check "Agents"
      (cond ((not (bound-and-true-p backstaff-listen-mode))
             "those outside Emacs see files as on disk; with (backstaff-listen-mode 1) in your\
 init file they see unsaved text, and you are asked before they read secrets")
            ((backstaff-listen-servers)
             (mapconcat (pcase-lambda ((map :pid :root :last))
                          (format "process %d for %s asked last at %s" pid
                                  (backstaff-names-show-file root) (format-time-string "%T" last)))
                        (backstaff-listen-servers) "\n"))
            (t "none outside Emacs is connected")))
    ;; Each of these needs the one before.
    (and
     (backstaff-doctor--check "Command"
       (string-join (backstaff-server-with-own-environment nil (backstaff-server-program)) " "))
     (backstaff-doctor--check "Handshake"
       (setq connection (backstaff-server-ensure))
       (pcase-let (((map :version :protocol :python :pid)
                    (backstaff-epc-call connection 'hello '((:client "doctor" :escapes t))
                                        :timeout backstaff-doctor--limit)))
         (format "server %s, protocol %s, Python %s, process %s"
                 version protocol (or python "unknown") pid)))
     (backstaff-doctor--check "Tools"
       (let ((ids (mapcar (lambda (tool) (plist-get tool :id))
                          (backstaff-epc-call connection 'describe nil
                                              :timeout backstaff-doctor--limit))))
         (unless (and ids (cl-every #'stringp ids))
           (signal 'backstaff-protocol-error '("the server describes no tools")))
         (string-join ids ", ")))
     host
     (backstaff-doctor--check "Host"
       (insert (format "\nOn %s, for this project\n" host))
       (setq connection (backstaff-server-ensure host))
       (concat host "\n" (plist-get (backstaff-server-start-info connection) :text))))))

(provide 'backstaff-ui-doctor)
;;; backstaff-ui-doctor.el ends here
