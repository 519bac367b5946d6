;;; backstaff-doctor.el --- Find out why Backstaff does not work  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-doctor' checks all that a call needs, in the order in which the
;; call needs it, and says for each failure what to do.  The report is text, to
;; be copied into a letter.
;;
;; The doctor starts a server of its own; the one that calls use is left alone.
;; Emacs is free while the report fills, and no check takes more than
;; `backstaff-doctor-limit' seconds.  Only for the start of a server on another
;; host Emacs waits, as it does for any command.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-request)

(defgroup backstaff-doctor nil
  "Find out why Backstaff does not work."
  :group 'backstaff)

(defcustom backstaff-doctor-limit 5
  "For how many seconds at most each check may go on."
  :type '(number :tag "Seconds"))

(defvar-local backstaff-doctor--directory nil
  "The directory that the report is about.")

(defvar-local backstaff-doctor--checking nil
  "Non-nil while checks go on.")

(defvar-local backstaff-doctor--connection nil
  "The connection with the doctor's own server, or nil.")

(defvar-local backstaff-doctor--checks nil
  "The lines of the report, the last one first: lists (NAME STATE TEXT ADVICE).
STATE is `ok', `note', `failed', or nil while the check goes on; or it is
`heading', and NAME is about the lines that follow.")


;;; The command

;;;###autoload
(defun backstaff-doctor ()
  "Check all that Backstaff needs, and report what is wrong and what to do.
The report fills by and by; \\<backstaff-doctor-mode-map>\\[revert-buffer] \
checks again and \\[backstaff-doctor-copy] copies it."
  (interactive)
  (let ((directory default-directory)
        (buffer (get-buffer-create "*backstaff doctor*")))
    (with-current-buffer buffer
      (unless (derived-mode-p 'backstaff-doctor-mode)
        (backstaff-doctor-mode))
      (setq backstaff-doctor--directory directory)
      (revert-buffer))
    (pop-to-buffer buffer)))

(defun backstaff-doctor-copy ()
  "Copy the report."
  (interactive nil backstaff-doctor-mode)
  (kill-new (buffer-substring-no-properties (point-min) (point-max)))
  (message "Copied the report"))

(defvar backstaff-doctor-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map special-mode-map)
    (define-key map "w" #'backstaff-doctor-copy)
    (define-key map "i" #'backstaff-install-server)
    (define-key map "v" #'backstaff-show-log)
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    map)
  "Keys of `backstaff-doctor-mode'.")

(define-derived-mode backstaff-doctor-mode special-mode "Backstaff Doctor"
  "Major mode for the report of `backstaff-doctor'.

\\{backstaff-doctor-mode-map}"
  :group 'backstaff-doctor
  (setq buffer-undo-list t
        mode-line-process '("" backstaff-request-indicator)
        backstaff-request-cancelled-function #'backstaff-doctor--stop)
  (setq-local revert-buffer-function #'backstaff-doctor--start)
  (add-hook 'kill-buffer-hook #'backstaff-doctor--stop nil t)
  (add-hook 'change-major-mode-hook #'backstaff-doctor--stop nil t)
  (add-hook 'backstaff-install-hook #'backstaff-doctor--after-install)
  (visual-line-mode))

(defun backstaff-doctor--after-install ()
  "Check again where there is a report, now that an environment was made."
  (when-let ((buffer (get-buffer "*backstaff doctor*")))
    (with-current-buffer buffer
      (revert-buffer))))

(defun backstaff-doctor--start (&rest _)
  "Begin all checks anew in the current buffer."
  (backstaff-doctor--stop)
  (setq backstaff-doctor--checking t
        backstaff-doctor--checks nil)
  (backstaff-doctor--guarded
   (lambda ()
     (backstaff-doctor--check-package)
     (backstaff-doctor--check-root)
     (when (file-remote-p backstaff-doctor--directory)
       (backstaff-doctor--note "On this machine, for local projects" 'heading))
     (backstaff-doctor--check-settings)
     (backstaff-doctor--check-running)
     (backstaff-doctor--check-program))))

(defun backstaff-doctor--stop ()
  "End the checks in the current buffer, and the doctor's own server."
  (setq backstaff-doctor--checking nil)
  (backstaff-request-cancel)
  (when-let ((connection backstaff-doctor--connection))
    (setq backstaff-doctor--connection nil)
    (backstaff-epc-close connection "the doctor is done")))

(defun backstaff-doctor--finish ()
  "End the checks, as all are done, and show the end of the log."
  (backstaff-doctor--stop)
  (backstaff-doctor--render)
  (let ((inhibit-read-only t))
    (save-excursion
      (goto-char (point-max))
      (insert "\nThe log ends with:\n\n"
              (if-let ((log (get-buffer backstaff-server-log-buffer)))
                  (with-current-buffer log
                    (save-excursion
                      (goto-char (point-max))
                      (forward-line -10)
                      (buffer-substring-no-properties (point) (point-max))))
                "(There is none.)\n"))
      (set-buffer-modified-p nil))))

(defun backstaff-doctor--guarded (function &rest arguments)
  "Call FUNCTION with ARGUMENTS; an error fails the check that goes on."
  ;; On another machine, expanding ~ would ask that one.
  (let ((default-directory "/"))
    (condition-case problem
        (apply function arguments)
      ((error quit) (backstaff-doctor--fail problem)))))

(defun backstaff-doctor--await (start continue)
  "Call START, and CONTINUE with the value that it brings later.
START gets two functions, one for a value and one for a condition, which fails
the check that goes on.  START returns a function that cancels."
  (backstaff-request-start
   (lambda (answer)
     (funcall start
              (lambda (value) (funcall answer (cons nil value)))
              (lambda (condition) (funcall answer (list condition)))))
   (pcase-lambda (`(,condition . ,value))
     (if condition (backstaff-doctor--fail condition)
       (backstaff-doctor--guarded continue value)))))

(defun backstaff-doctor--ask (connection method continue &optional seconds)
  "Call METHOD over CONNECTION and CONTINUE with the value.
No answer within SECONDS, by default `backstaff-doctor-limit', is a failure."
  (backstaff-doctor--await
   (lambda (success failure)
     (let ((call (backstaff-epc-call-async
                  connection method nil :timeout (or seconds backstaff-doctor-limit)
                  :success-fn success :error-fn failure)))
       (lambda () (backstaff-epc-cancel connection call))))
   continue))


;;; Report

(defun backstaff-doctor--note (name state &optional text advice)
  "Let the check NAME have STATE, TEXT and ADVICE, and show that.
If the last check has this NAME and goes on, this is its end."
  (pcase-let ((`(,last-name ,last-state) (car backstaff-doctor--checks)))
    (when (and (equal name last-name) (null last-state))
      (pop backstaff-doctor--checks)))
  (push (list name state text advice) backstaff-doctor--checks)
  (backstaff-doctor--render))

(defun backstaff-doctor--fail (condition)
  "Note that the check that goes on failed with CONDITION, and end all checks.
If no check goes on, the command is wrong."
  (pcase-let ((`(,name ,state) (car backstaff-doctor--checks)))
    (backstaff-doctor--note (if state "Command" name) 'failed
                            (backstaff-epc-error-text condition)
                            (backstaff-server-advice condition)))
  (backstaff-doctor--finish))

(defun backstaff-doctor--render ()
  "Write the report anew."
  (let ((inhibit-read-only t) (point (point)) (failures 0))
    (erase-buffer)
    (insert (propertize "Backstaff doctor" 'face 'bold)
            (format-time-string ", %F %T\n\n"))
    (pcase-dolist (`(,name ,state ,text ,advice) (reverse backstaff-doctor--checks))
      (insert (pcase state
                ('heading (concat "\n" (propertize name 'face 'bold)))
                ('ok (propertize "ok     " 'face 'success))
                ('note (propertize "note   " 'face 'shadow))
                ('failed (cl-incf failures) (propertize "FAILED " 'face 'error))
                (_ (propertize "...    " 'face 'shadow))))
      (unless (eq state 'heading)
        (insert (format "%-12s " name)
                (backstaff-doctor--indented (or text "being checked") 20)))
      (insert "\n")
      (when advice
        (insert (make-string 20 ?\s) "To do: "
                (backstaff-doctor--indented advice 27) "\n")))
    (insert "\n"
            (cond ((> failures 1)
                   (propertize (format "%d checks failed." failures) 'face 'error))
                  ((= failures 1) (propertize "One check failed." 'face 'error))
                  (backstaff-doctor--checking "")
                  (t (propertize "All is well." 'face 'success)))
            (if backstaff-doctor--checking "  Still checking…\n" "\n"))
    (set-buffer-modified-p nil)
    (goto-char (min point (point-max)))))

(defun backstaff-doctor--indented (text column)
  "Return TEXT with its further lines at COLUMN, and nothing invisible in it."
  (mapconcat (lambda (line) (replace-regexp-in-string "[[:cntrl:]]" "?" line))
             (split-string (substring-no-properties text) "\n")
             (concat "\n" (make-string column ?\s))))

(defun backstaff-doctor--file (name)
  "Return NAME, of a file, as the report has it."
  (backstaff-names-show (abbreviate-file-name name)))


;;; Checks that need nobody's answer

(defun backstaff-doctor--check-package ()
  "Note what Emacs and package these are, and where the server's sources are."
  (let ((package backstaff-python-package-directory)
        (sources (backstaff-python-sources)))
    (backstaff-doctor--note
     "Emacs" 'ok (format "%s, %s, %s" emacs-version system-configuration
                         (if window-system (format "window system %s" window-system)
                           "text terminal")))
    (backstaff-doctor--note
     "Package" 'ok (format "Backstaff %s in %s" backstaff-server-version
                           (if package (backstaff-doctor--file package) "no file")))
    (backstaff-doctor--note
     "Sources" (if (or sources backstaff-server-command) 'ok 'note)
     (if sources (concat "the server's are in " (backstaff-doctor--file sources))
       "the server's are not beside the package"))))

(defun backstaff-doctor--check-root ()
  "Check whether tools can look at the directory that the report is about."
  (apply
   #'backstaff-doctor--note "Root"
   (condition-case problem
       (let ((root (backstaff-root backstaff-doctor--directory)))
         (if (or (file-remote-p root) (file-accessible-directory-p root))
             (list 'ok (backstaff-doctor--file root))
           (list 'failed (concat (backstaff-doctor--file root) " cannot be entered")
                 "Make it a directory that you may read, or go to another one")))
     (backstaff-error
      (list 'failed (backstaff-epc-error-text problem) (backstaff-server-advice problem)))
     (error
      (list 'failed (error-message-string problem)
            "Check `backstaff-root-function' and `backstaff-root-directory'")))))

(defun backstaff-doctor--check-settings ()
  "Check whether the settings file can be read; the server judges what it says."
  (let* ((file (backstaff-server-settings-file-name))
         (name (backstaff-doctor--file file)))
    (apply
     #'backstaff-doctor--note "Settings"
     (cond ((file-readable-p file) (list 'note name))
           ((or backstaff-server-settings-file (file-exists-p file))
            (list 'failed (concat name " cannot be read")
                  "Check `backstaff-server-settings-file' and the file's permissions"))
           (t (list 'note (concat "none, as there is no " name)))))))

(defun backstaff-doctor--check-running ()
  "Note the state of the server that calls use."
  (apply #'backstaff-doctor--note "Running"
         (pcase (backstaff-server-status)
           ('nil '(note "no server; the next call starts one"))
           ('ended '(note "the server has ended; the next call starts another"))
           ('unresponsive '(failed "the server does not respond any more"
                                   "Type M-x backstaff-restart"))
           (pid (list 'ok (format "process %s" pid))))))


;;; The program

(defun backstaff-doctor--check-program ()
  "Look for the program that serves, then go on with a server."
  (let ((command (backstaff-server-configured-program))
        (sources (backstaff-python-sources)))
    (if command
        (backstaff-doctor--check-server (concat (string-join command " ")
                                                "\nby `backstaff-server-command'"))
      (backstaff-doctor--check-pythons
       (and sources
            (backstaff-python-with-own-environment nil
              (cl-remove-duplicates
               (assoc-delete-all
                nil
                `((,(backstaff-python-beside sources) . "in .venv beside the sources")
                  (,(backstaff-python-installed) . "made by M-x backstaff-install-server")
                  ,@(mapcar (lambda (name)
                              (cons (executable-find name) "found on `exec-path'"))
                            backstaff-python-names)))
               :key #'car :test #'equal :from-end t)))))))

(defun backstaff-doctor--check-pythons (pythons)
  "Try PYTHONS, a list of (PROGRAM . PLACE), until one can run the server.
Without any there may be a program named backstaff."
  (pcase pythons
    (`((,program . ,place) . ,others)
     (backstaff-doctor--note "Python" nil)
     (backstaff-doctor--await
      (lambda (success _failure)
        (let ((process (backstaff-python-with-own-environment nil
                         (backstaff-python-probe-async program success
                                                       backstaff-doctor-limit))))
          (lambda () (delete-process process))))
      (lambda (answer)
        (let* ((usable (backstaff-python-usable-p answer))
               (described (consp answer))
               (missing (and described (plist-get answer :missing))))
          (backstaff-doctor--note
           "Python" (if usable 'ok 'note)
           (format "%s%s, %s, %s"
                   (backstaff-doctor--file
                    (if described (plist-get answer :executable) program))
                   (if described (concat " " (plist-get answer :version)) "")
                   place
                   (cond (usable "has all libraries")
                         (missing (concat "lacks " (string-join missing ", ")))
                         (described "is older than 3.11")
                         (t answer))))
          (if (not usable)
              (backstaff-doctor--check-pythons others)
            (setq backstaff-python-found (plist-get answer :executable))
            (backstaff-doctor--check-server))))))
    (_
     (let ((program (backstaff-python-with-own-environment nil
                      (car (backstaff-server-program)))))
       (backstaff-doctor--check-server (concat (backstaff-doctor--file program)
                                               ", found on `exec-path'"))))))


;;; The server

(defun backstaff-doctor--check-server (&optional command)
  "Start a server of the doctor's own and see whether it shakes hands.
COMMAND is a description of the program, unless a Python was found for it."
  (when command
    (backstaff-doctor--note "Command" nil command))
  (backstaff-doctor--await
   (lambda (success failure)
     (setq backstaff-doctor--connection
           (backstaff-server-try
            (lambda (identity condition)
              (if condition (funcall failure condition) (funcall success identity)))
            backstaff-doctor-limit))
     #'ignore)
   (lambda (identity)
     (backstaff-doctor--note
      "Handshake" 'ok
      (format "server %s, protocol %s, Python %s"
              (plist-get identity :version) (plist-get identity :protocol)
              (or (plist-get identity :python) "unknown")))
     (backstaff-doctor--check-speed "Round trip" backstaff-doctor--connection
                                    #'backstaff-doctor--check-tools)))
  (when command
    (backstaff-doctor--note "Command" 'ok command))
  (backstaff-doctor--note "Handshake" nil))

(defun backstaff-doctor--check-speed (name connection continue)
  "Measure how long calls over CONNECTION take, as check NAME, then CONTINUE."
  (backstaff-doctor--note name nil)
  (let ((times nil) (deadline (+ (float-time) backstaff-doctor-limit)))
    (cl-labels
        ((ping ()
           (let ((start (float-time)))
             (backstaff-doctor--ask
              connection 'ping
              (lambda (_)
                (push (- (float-time) start) times)
                (if (and (< (length times) 25) (< (float-time) deadline)) (ping)
                  (setq times (sort times #'<))
                  (backstaff-doctor--note
                   name 'ok
                   (format "%.2f ms, the median of %d pings; %.2f to %.2f ms"
                           (* 1e3 (nth (/ (length times) 2) times)) (length times)
                           (* 1e3 (car times)) (* 1e3 (car (last times)))))
                  (funcall continue)))
              (max 0.01 (- deadline start))))))
      (ping))))

(defun backstaff-doctor--check-tools ()
  "Ask the doctor's server for the tools, and the policy's word on each."
  (backstaff-doctor--note "Tools" nil)
  (backstaff-doctor--ask
   backstaff-doctor--connection 'describe
   (lambda (tools)
     (if (and tools (cl-every (lambda (tool) (stringp (plist-get tool :id))) tools))
         (backstaff-doctor--note
          "Tools" 'ok
          (mapconcat (lambda (tool)
                       (concat (plist-get tool :id)
                               (pcase (plist-get tool :policy)
                                 (:allow ", allowed") (:deny ", denied")
                                 (:prompt ", asks first")
                                 (_ ", of no known policy"))))
                     tools "\n"))
       (backstaff-doctor--note "Tools" 'failed "the server describes no tools"
                               "Update the server, or check `backstaff-server-command'"))
     ;; Not in a process filter: Emacs may have to wait for a host.
     (backstaff-doctor--await
      (lambda (success _failure)
        (let ((timer (run-at-time 0 nil success nil)))
          (lambda () (cancel-timer timer))))
      (lambda (_) (backstaff-doctor--check-host))))))

(defun backstaff-doctor--check-host ()
  "Check the server that calls use on the root's host, started if need be.
That is the last check."
  (let ((host (and (eq (nth 1 (assoc "Root" backstaff-doctor--checks)) 'ok)
                   (file-remote-p (backstaff-root backstaff-doctor--directory)))))
    (if (null host)
        (backstaff-doctor--finish)
      (backstaff-doctor--note (format "On %s, for this project" host) 'heading)
      (backstaff-doctor--note "Host" nil)
      (let* ((server (backstaff-server-ensure host))
             (info (backstaff-server-start-info server)))
        (backstaff-doctor--note "Host" 'ok (concat host "\n" (plist-get info :text))
                                (plist-get info :advice))
        (backstaff-doctor--check-speed
         "To the host" (backstaff-server-connection server)
         #'backstaff-doctor--finish)))))

(provide 'backstaff-doctor)
;;; backstaff-doctor.el ends here
