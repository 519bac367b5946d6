;;; backstaff-doctor.el --- Find out why Backstaff does not work  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-doctor' looks at all that must be right for a call to be
;; answered, in the order in which it must be, and says for each thing that is
;; not what to do.  The report is text, to be copied into a letter.
;;
;; It starts a server of its own, beside the one that may be running, which
;; is left alone.  Nothing waits: the report fills while one goes on, and no
;; check takes more than `backstaff-doctor-limit' seconds.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff)

(declare-function backstaff-remote-facts-text "backstaff-remote" (facts))
(declare-function backstaff-remote-patience "backstaff-remote" ())


;;; Options

(defgroup backstaff-doctor nil
  "Find out why Backstaff does not work."
  :group 'backstaff)

(defcustom backstaff-doctor-limit 5
  "For how many seconds at most each check may go on."
  :type '(number :tag "Seconds"))

(defconst backstaff-doctor--pings 25
  "How many round trips are measured.")

(defconst backstaff-doctor--log-lines 10
  "How many lines of the log are in the report.")


;;; Checks

(cl-defstruct (backstaff-doctor--check
               (:constructor backstaff-doctor--make-check)
               (:copier nil))
  "A line of the report.
STATE is `ok', `note', `failed', or nil while nothing is known; or it is
`heading', and NAME says what the lines below it are about."
  (name nil :read-only t)
  (state nil)
  (text nil)
  (advice nil))

(cl-defstruct (backstaff-doctor--run
               (:constructor backstaff-doctor--make-run)
               (:copier nil))
  "One round of checks, shown in BUFFER.
CHECKS come in the order of the report.  SERVER is the one that is being
looked at.  CLEANUPS are functions that end what is under way."
  (buffer nil :read-only t)
  (directory nil :read-only t)
  (checks nil)
  (server nil)
  (cleanups nil)
  (log "")
  (done nil))

(defvar-local backstaff-doctor--run nil
  "The round of checks that the buffer shows.")

(defun backstaff-doctor--add (run name)
  "Add a check called NAME to RUN and return it."
  (let ((check (backstaff-doctor--make-check :name name)))
    (setf (backstaff-doctor--run-checks run)
          (append (backstaff-doctor--run-checks run) (list check)))
    (backstaff-doctor--render run)
    check))

(defun backstaff-doctor--settle (run check state text &optional advice)
  "Note that CHECK of RUN ended in STATE, with TEXT and perhaps ADVICE."
  (setf (backstaff-doctor--check-state check) state
        (backstaff-doctor--check-text check) text
        (backstaff-doctor--check-advice check) advice)
  (backstaff-doctor--render run))

(defun backstaff-doctor--tell (run name state text &optional advice)
  "Add a check called NAME to RUN that ended in STATE; TEXT and ADVICE say how."
  (backstaff-doctor--settle run (backstaff-doctor--add run name)
                            state text advice))


;;; Advice

(defconst backstaff-doctor--advice
  '(("the network may be down"
     . "See whether that host is up and the network between is, by ssh or ping; \
then type M-x backstaff-connect in a directory of that host")
    ("on this machine: "
     . "Type M-x backstaff-install-server, which makes a Python environment \
here; what runs on a host is collected with it")
    ("needs Python 3\\.11 or newer on"
     . "Install one on that host; if it is there by another name, customize \
`backstaff-remote-python'")
    ("cannot be started on"
     . "See in the log what that host says, and whether ssh, sudo or su does \
by hand; then type M-x backstaff-connect in a directory of that host")
    ("\\.toml\\b\\|settings file"
     . "Mend the settings file where it says, then type M-x backstaff-restart")
    ("update the older"
     . "Update the older of the two, Emacs's package or the server, then \
type M-x backstaff-restart")
    ("is not a list of strings"
     . "Customize `backstaff-server-command' to be a list of strings, or nil \
to have the program found")
    ("No module named\\|ModuleNotFoundError\\|ImportError\\|lacks "
     . "Type M-x backstaff-install-server, which makes a Python environment \
with all libraries")
    ("no program\\|[Nn]o such file\\|cannot be started"
     . "Customize `backstaff-server-command' to name a program that exists, \
or set it to nil to have one found")
    ("did not shake hands\\|length of a frame\\|no list\\|not a list\\|\
not the form\\|cannot be read\\|unexpected\\|no reply\\|nests too deep"
     . "The program speaks, but not as Backstaff's server does: see what \
`backstaff-server-command' starts, and that it prints nothing but frames")
    ("seconds"
     . "The program runs and does not answer; see what it waits for with \
M-x backstaff-show-log, and whether the machine is overloaded")
    ("exited with status\\|killed by signal\\|closed the connection\\|lost"
     . "The program ended by itself; its last words are above and in \
M-x backstaff-show-log.  If a library is missing, type \
M-x backstaff-install-server"))
  "What to do about a failure, by a regexp that matches its text.")

(defun backstaff-doctor--advice-on (text)
  "Return what to do about the failure that TEXT tells of."
  (or (cl-loop for (regexp . advice) in backstaff-doctor--advice
               when (string-match-p regexp text) return advice)
      "Read the log: M-x backstaff-show-log"))

(defun backstaff-doctor--fail (run check condition)
  "Note that CHECK of RUN ended in CONDITION, and what to do about it."
  (let ((text (backstaff-epc-error-text condition)))
    (backstaff-doctor--settle run check 'failed text
                              (backstaff-doctor--advice-on text))))


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
      (backstaff-doctor--start directory))
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
    map)
  "Keys of `backstaff-doctor-mode'.")

(define-derived-mode backstaff-doctor-mode special-mode "Backstaff Doctor"
  "Major mode for the report of `backstaff-doctor'.

\\{backstaff-doctor-mode-map}"
  :group 'backstaff-doctor
  (setq buffer-undo-list t)
  (setq-local revert-buffer-function
              (lambda (&rest _)
                (backstaff-doctor--start
                 (backstaff-doctor--run-directory backstaff-doctor--run))))
  (add-hook 'kill-buffer-hook #'backstaff-doctor--stop nil t)
  (add-hook 'change-major-mode-hook #'backstaff-doctor--stop nil t)
  (visual-line-mode))

(defun backstaff-doctor--start (directory)
  "Begin a new round of checks in the current buffer, about DIRECTORY."
  (backstaff-doctor--stop)
  (let ((run (backstaff-doctor--make-run :buffer (current-buffer)
                                         :directory directory))
        ;; Were it on another machine, expanding ~ would ask that one.
        (default-directory "/"))
    (setq backstaff-doctor--run run)
    (backstaff-doctor--check-emacs run)
    (backstaff-doctor--check-package run)
    (backstaff-doctor--check-root run)
    (when (file-remote-p directory)
      (backstaff-doctor--tell
       run "On this machine, for local projects" 'heading nil))
    (backstaff-doctor--check-settings run)
    (backstaff-doctor--check-running run)
    (backstaff-server--with-own-environment (backstaff-server--sources)
      (backstaff-doctor--check-command run))))

(defun backstaff-doctor--stop ()
  "End the round of checks that is under way in the current buffer, if any."
  (when backstaff-doctor--run
    (let ((run backstaff-doctor--run))
      (setq backstaff-doctor--run nil)
      (backstaff-doctor--clean-up run))))

(defun backstaff-doctor--clean-up (run)
  "End what is under way for RUN."
  (mapc #'funcall (backstaff-doctor--run-cleanups run))
  (setf (backstaff-doctor--run-cleanups run) nil))

(defun backstaff-doctor--current-p (run)
  "Return non-nil if somebody still waits for RUN."
  (let ((buffer (backstaff-doctor--run-buffer run)))
    (and (buffer-live-p buffer)
         (eq (buffer-local-value 'backstaff-doctor--run buffer) run))))

(defun backstaff-doctor--finish (run)
  "Note that all checks of RUN have ended."
  (when (backstaff-doctor--current-p run)
    (setf (backstaff-doctor--run-log run) (backstaff-doctor--log-tail)
          (backstaff-doctor--run-done run) t)
    (backstaff-doctor--clean-up run)
    (backstaff-doctor--render run)))


;;; Report

(defun backstaff-doctor--render (run)
  "Write the report of RUN anew."
  (when (backstaff-doctor--current-p run)
    (with-current-buffer (backstaff-doctor--run-buffer run)
      (let ((inhibit-read-only t) (point (point)))
        (erase-buffer)
        (insert (propertize "Backstaff doctor" 'face 'bold)
                (format-time-string ", %F %T\n\n"))
        (mapc #'backstaff-doctor--insert (backstaff-doctor--run-checks run))
        (insert "\n" (backstaff-doctor--summary run) "\n")
        (when (backstaff-doctor--run-done run)
          (insert "\nThe log ends with:\n\n" (backstaff-doctor--run-log run)))
        (set-buffer-modified-p nil)
        (goto-char (min point (point-max)))))))

(defconst backstaff-doctor--state-names
  '((ok "ok" success) (note "note" shadow) (failed "FAILED" error)
    (nil "..." shadow))
  "How the states of checks are written, and in what faces.")

(defun backstaff-doctor--insert (check)
  "Insert a line for CHECK, and what to do if it failed."
  (if (eq (backstaff-doctor--check-state check) 'heading)
      (insert "\n" (propertize (backstaff-doctor--check-name check) 'face 'bold)
              "\n")
    (backstaff-doctor--insert-line check)))

(defun backstaff-doctor--insert-line (check)
  "Insert a line for CHECK, which is no heading."
  (pcase-let ((`(,word ,face)
               (alist-get (backstaff-doctor--check-state check)
                          backstaff-doctor--state-names)))
    (insert (propertize (format "%-7s" word) 'face face)
            (format "%-12s " (backstaff-doctor--check-name check))
            (backstaff-doctor--indented
             (or (backstaff-doctor--check-text check) "being checked") 20)
            "\n")
    (when-let ((advice (backstaff-doctor--check-advice check)))
      (insert (make-string 20 ?\s) "To do: "
              (backstaff-doctor--indented advice 27) "\n"))))

(defun backstaff-doctor--indented (text column)
  "Return TEXT with its further lines at COLUMN, and nothing invisible in it."
  (mapconcat (lambda (line) (replace-regexp-in-string "[[:cntrl:]]" "?" line))
             (split-string (substring-no-properties text) "\n")
             (concat "\n" (make-string column ?\s))))

(defun backstaff-doctor--summary (run)
  "Return how the checks of RUN came out, in a sentence."
  (let ((failures (cl-count 'failed (backstaff-doctor--run-checks run)
                            :key #'backstaff-doctor--check-state)))
    (concat (cond ((> failures 1)
                   (propertize (format "%d checks failed." failures)
                               'face 'error))
                  ((= failures 1)
                   (propertize "One check failed." 'face 'error))
                  ((backstaff-doctor--run-done run)
                   (propertize "All is well." 'face 'success))
                  (t ""))
            (if (backstaff-doctor--run-done run) "" "  Still checking…"))))

(defun backstaff-doctor--log-tail ()
  "Return the last lines of the log."
  (if-let ((buffer (get-buffer backstaff-server--log-buffer)))
      (with-current-buffer buffer
        (save-excursion
          (goto-char (point-max))
          (forward-line (- backstaff-doctor--log-lines))
          (buffer-substring-no-properties (point) (point-max))))
    "(There is none.)\n"))

(defun backstaff-doctor--file (name)
  "Return NAME, of a file, as the report has it."
  (backstaff-names-show (abbreviate-file-name name)))


;;; Checks that need nobody's answer

(defun backstaff-doctor--check-emacs (run)
  "Add to RUN what Emacs this is."
  (let ((fits (not (version< emacs-version "28.1"))))
    (backstaff-doctor--tell
     run "Emacs" (if fits 'ok 'failed)
     (format "%s, %s, %s" emacs-version system-configuration
             (if window-system (format "window system %s" window-system)
               "text terminal"))
     (unless fits "Update Emacs to 28.1 or newer"))))

(defun backstaff-doctor--check-package (run)
  "Add to RUN what package this is, and whether the server is beside it."
  (backstaff-doctor--tell
   run "Package" 'ok
   (format "Backstaff %s in %s" backstaff-server-version
           (if backstaff-server--directory
               (backstaff-doctor--file backstaff-server--directory)
             "no file")))
  (let ((sources (backstaff-server--sources)))
    (backstaff-doctor--tell
     run "Sources" (if (or sources backstaff-server-command) 'ok 'note)
     (if sources (concat "the server's are in "
                         (backstaff-doctor--file sources))
       "the server's are not beside the package"))))

(defun backstaff-doctor--check-root (run)
  "Add to RUN whether tools can look at the directory it is about."
  (condition-case problem
      (let ((root (backstaff-root (backstaff-doctor--run-directory run))))
        (if (or (file-remote-p root) (file-accessible-directory-p root))
            (backstaff-doctor--tell run "Root" 'ok
                                    (backstaff-doctor--file root))
          (backstaff-doctor--tell
           run "Root" 'failed
           (concat (backstaff-doctor--file root) " cannot be entered")
           "Make it a directory that you may read, or go to another one")))
    (backstaff-remote-directory
     (backstaff-doctor--tell
      run "Root" 'failed (backstaff-epc-error-text problem)
      "Type M-x backstaff-connect there; or M-x cd to a local directory, or \
customize `backstaff-root-directory'"))
    (error
     (backstaff-doctor--tell
      run "Root" 'failed (backstaff-epc-error-text problem)
      "Check `backstaff-root-function' and `backstaff-root-directory'"))))

(defun backstaff-doctor--check-settings (run)
  "Add to RUN where the server's settings are."
  (let* ((file (backstaff-server-settings-place))
         (name (backstaff-doctor--file file)))
    (cond ((file-readable-p file)
           ;; Whether they are right, the server says.
           (backstaff-doctor--tell run "Settings" 'note name))
          ((or backstaff-server-settings-file (file-exists-p file))
           (backstaff-doctor--tell
            run "Settings" 'failed (concat name " cannot be read")
            "Check `backstaff-server-settings-file' and the file's \
permissions"))
          (t
           (backstaff-doctor--tell
            run "Settings" 'note
            (concat "none, as there is no " name))))))

(defun backstaff-doctor--check-running (run)
  "Add to RUN what is known of the server that Emacs uses."
  (let* ((server backstaff-server--current)
         (connection (and server (backstaff-server--connection server))))
    (cond ((null connection)
           (backstaff-doctor--tell run "Running" 'note
                                   "no server; the next call starts one"))
          ((backstaff-epc-unresponsive-p connection)
           (backstaff-doctor--tell run "Running" 'failed
                                   "the server does not respond any more"
                                   "Type M-x backstaff-restart"))
          ((backstaff-epc-live-p connection)
           (backstaff-doctor--tell
            run "Running" 'ok
            (format "process %s"
                    (process-id (backstaff-epc--process connection)))))
          (t
           (backstaff-doctor--tell
            run "Running" 'note
            "the server has ended; the next call starts another")))))


;;; Program

(defun backstaff-doctor--check-command (run)
  "Find out what program RUN is to start, then go on with what it needs."
  (condition-case problem
      (let ((command (backstaff-server--configured-command))
            (sources (backstaff-server--sources)))
        (cond (command (backstaff-doctor--check-configured run command))
              (sources (backstaff-doctor--check-pythons
                        run (backstaff-doctor--pythons sources)))
              (t (backstaff-doctor--check-installed run))))
    (backstaff-error
     (backstaff-doctor--fail run (backstaff-doctor--add run "Command") problem)
     (backstaff-doctor--finish run))))

(defun backstaff-doctor--check-configured (run command)
  "Go on in RUN with COMMAND, which the user named."
  (let ((program (executable-find (car command)))
        (check (backstaff-doctor--add run "Command")))
    (if program
        (progn
          (backstaff-doctor--settle
           run check 'ok
           (format "%s\nby `backstaff-server-command'"
                   (string-join command " ")))
          (backstaff-doctor--check-server run))
      (backstaff-doctor--settle
       run check 'failed
       (format "there is no program %s, which `backstaff-server-command' names"
               (car command))
       (backstaff-doctor--advice-on "no program"))
      (backstaff-doctor--finish run))))

(defun backstaff-doctor--check-installed (run)
  "Go on in RUN with the program named backstaff, if there is one."
  (let ((check (backstaff-doctor--add run "Command"))
        (program (executable-find "backstaff")))
    (cond (program
           (backstaff-doctor--settle run check 'ok
                                     (concat (backstaff-doctor--file program)
                                             ", found on `exec-path'"))
           (backstaff-doctor--check-server run))
          (t
           (backstaff-doctor--settle
            run check 'failed
            (if (backstaff-server--sources)
                "there is no Python that can run the server"
              "there are neither the server's sources nor a program backstaff")
            (if (backstaff-server--sources)
                (backstaff-doctor--advice-on "lacks ")
              "Reinstall the package, with its folder py_backend, or \
customize `backstaff-server-command'"))
           (backstaff-doctor--finish run)))))

(defun backstaff-doctor--pythons (sources)
  "Return the Pythons that may run SOURCES, as a list of (HOW . PROGRAM)."
  (cl-remove-duplicates
   (cl-remove nil
              (append
               (list (cons "in .venv beside the sources"
                           (backstaff-server--own-python sources))
                     (cons "made by M-x backstaff-install-server"
                           (backstaff-server--made-python)))
               (mapcar (lambda (name)
                         (cons "found on `exec-path'" (executable-find name)))
                       backstaff-server--python-names))
              :key #'cdr)
   :key #'cdr :test #'equal :from-end t))

(defun backstaff-doctor--check-pythons (run pythons)
  "Try PYTHONS, a list of (HOW . PROGRAM), and go on in RUN with one that fits."
  (pcase pythons
    ('nil (backstaff-doctor--check-installed run))
    (`((,how . ,program) . ,rest)
     (let ((check (backstaff-doctor--add run "Python")))
       (backstaff-doctor--ask-python
        run program
        (lambda (answer problem)
          (if (backstaff-doctor--judge-python run check how program
                                              answer problem)
              (backstaff-doctor--check-server run)
            (backstaff-server--with-own-environment (backstaff-server--sources)
              (backstaff-doctor--check-pythons run rest)))))))))

(defconst backstaff-doctor--probe
  (format "import sys
from importlib.util import find_spec
print('%%d.%%d.%%d' %% sys.version_info[:3])
print(sys.executable)
print(*[name for name in '%s'.split() if not find_spec(name)])"
          (string-join backstaff-server--libraries " "))
  "A program with which a Python says its version, its name and what it lacks.")

(defun backstaff-doctor--judge-python (run check how program answer problem)
  "Note in CHECK of RUN what PROGRAM, found in the way HOW, is good for.
ANSWER is what it said of itself, or nil, and then PROBLEM says why.
Return non-nil if it can run the server."
  (pcase (and answer (split-string answer "\n"))
    (`(,(and version (pred (string-match-p "\\`[0-9.]+\\'"))) ,executable . ,rest)
     (let* ((missing (split-string (or (car rest) "")))
            (fits (and (null missing) (not (version< version "3.11"))
                       (file-executable-p executable)))
            (place (format "%s %s, %s" (backstaff-doctor--file executable)
                           version how)))
       (backstaff-doctor--settle
        run check (if fits 'ok 'note)
        (concat place
                (cond (fits ", has all libraries")
                      (missing (concat ", lacks "
                                       (string-join missing ", ")))
                      (t ", is older than 3.11"))))
       (when fits
         (setq backstaff-server--python executable))))
    (_
     (backstaff-doctor--settle
      run check 'note
      (format "%s, %s, %s" (backstaff-doctor--file program) how
              (or problem "does not say what it is")))
     nil)))

(defun backstaff-doctor--ask-python (run program callback)
  "Let PROGRAM, a Python, describe itself, and go on in RUN with CALLBACK.
That is called with what it printed, or with nil and a text that says why
there is nothing."
  (let* ((output "") (ended nil) (timer nil) (process nil)
         (end (lambda (answer problem)
                (unless ended
                  (setq ended t)
                  (cancel-timer timer)
                  (delete-process process)
                  (when (backstaff-doctor--current-p run)
                    (funcall callback answer problem))))))
    (setq timer (run-at-time backstaff-doctor-limit nil end nil
                             (format "says nothing for %s seconds"
                                     backstaff-doctor-limit))
          process (make-process
                   :name "backstaff-doctor" :noquery t :connection-type 'pipe
                   :command (list program "-I" "-c" backstaff-doctor--probe)
                   :filter (lambda (_ text) (setq output (concat output text)))
                   :sentinel (lambda (process _)
                               (unless (process-live-p process)
                                 (funcall end (string-trim output) nil)))))
    (push (lambda () (setq ended t) (cancel-timer timer)
            (delete-process process))
          (backstaff-doctor--run-cleanups run))))


;;; Server

(defun backstaff-doctor--check-server (run)
  "Start a server of RUN's own and see whether it shakes hands."
  (let ((check (backstaff-doctor--add run "Handshake")))
    (condition-case problem
        (let* ((backstaff-server--current nil)
               (server (backstaff-server--start nil))
               (connection (backstaff-server--connection server)))
          (setf (backstaff-doctor--run-server run) server)
          (push (lambda ()
                  (backstaff-epc-close connection "the doctor is done"))
                (backstaff-doctor--run-cleanups run))
          (backstaff-doctor--ask
           run check 'hello (backstaff-doctor--greeting)
           (lambda (identity)
             (backstaff-doctor--settle
              run check 'ok (backstaff-doctor--identity-text identity))
             (backstaff-doctor--check-round-trip run))))
      (backstaff-error
       (backstaff-doctor--fail run check problem)
       (backstaff-doctor--finish run)))))

(defun backstaff-doctor--greeting ()
  "Return the arguments of a handshake."
  `((:client "emacs" :version ,backstaff-server-version
     :protocol ,backstaff-server--protocol :escapes t)))

(defun backstaff-doctor--identity-text (identity)
  "Return what a server's IDENTITY says, as text."
  (format "server %s, protocol %s, Python %s"
          (plist-get identity :version) (plist-get identity :protocol)
          (or (plist-get identity :python) "unknown")))

(defun backstaff-doctor--ask (run check method args continue &optional limit)
  "Call METHOD with ARGS for CHECK of RUN, and go on with CONTINUE.
That is called with the value.  A failure is noted in CHECK, and is the end
of RUN, as is no answer within LIMIT seconds."
  (condition-case problem
      (backstaff-epc-call-async
       (backstaff-server--connection (backstaff-doctor--run-server run))
       method args
       :timeout (or limit backstaff-doctor-limit)
       :success-fn (lambda (value)
                     (when (backstaff-doctor--current-p run)
                       (condition-case problem
                           (funcall continue value)
                         (error
                          (backstaff-doctor--fail run check problem)
                          (backstaff-doctor--finish run)))))
       :error-fn (lambda (condition)
                   (when (backstaff-doctor--current-p run)
                     (backstaff-doctor--fail run check condition)
                     (backstaff-doctor--finish run))))
    (backstaff-error
     (backstaff-doctor--fail run check problem)
     (backstaff-doctor--finish run))))

(defun backstaff-doctor--check-round-trip (run)
  "Measure in RUN how long a call takes at least."
  (backstaff-doctor--ping run (backstaff-doctor--add run "Round trip") nil
                          (+ (float-time) backstaff-doctor-limit)
                          (lambda () (backstaff-doctor--check-tools run))))

(defun backstaff-doctor--ping (run check times deadline continue)
  "Ping the server of RUN for CHECK until enough TIMES are known, or DEADLINE.
Then go on with CONTINUE."
  (let ((start (float-time)))
    (if (or (>= (length times) backstaff-doctor--pings)
            (and times (>= start deadline)))
        (progn (backstaff-doctor--settle
                run check 'ok (backstaff-doctor--times-text times))
               (funcall continue))
      (backstaff-doctor--ask
       run check 'ping nil
       (lambda (_)
         (backstaff-doctor--ping run check
                                 (cons (- (float-time) start) times)
                                 deadline continue))
       (max 0.01 (- deadline start))))))

(defun backstaff-doctor--times-text (times)
  "Return what TIMES, in seconds, come to, as text."
  (let ((sorted (sort (copy-sequence times) #'<)))
    (format "%.2f ms, the median of %d pings; %.2f to %.2f ms"
            (* 1e3 (nth (/ (length sorted) 2) sorted)) (length sorted)
            (* 1e3 (car sorted)) (* 1e3 (car (last sorted))))))

(defun backstaff-doctor--check-tools (run)
  "Ask the server of RUN for its tools and what the policy says of each."
  (let ((check (backstaff-doctor--add run "Tools")))
    (backstaff-doctor--ask
     run check 'describe nil
     (lambda (tools)
       (if (and tools (cl-every (lambda (tool)
                                  (stringp (plist-get tool :id)))
                                tools))
           (backstaff-doctor--settle run check 'ok
                                     (backstaff-doctor--tools-text tools))
         (backstaff-doctor--settle
          run check 'failed "the server describes no tools"
          "Update the server, or check `backstaff-server-command'"))
       (backstaff-doctor--check-host run)))))

(defun backstaff-doctor--tools-text (tools)
  "Return a line for each of TOOLS, with what the policy says of it."
  (mapconcat (lambda (tool)
               (format "%s, %s" (plist-get tool :id)
                       (pcase (plist-get tool :policy)
                         (:allow "allowed") (:deny "denied")
                         (:prompt "asks first")
                         (_ "of no known policy"))))
             tools "\n"))


;;; Another host

(defun backstaff-doctor--check-host (run)
  "Look at the server on the host that RUN is about, and end RUN.
That is the one that calls use; it is started if there is none."
  (let ((host (and (eq (backstaff-doctor--state run "Root") 'ok)
                   (file-remote-p (backstaff-root (backstaff-doctor--run-directory
                                                   run))))))
    (if (null host)
        (backstaff-doctor--finish run)
      (backstaff-doctor--tell run (format "On %s, for this project" host)
                              'heading nil)
      (let ((check (backstaff-doctor--add run "Host")))
        (condition-case problem
            (let ((server (backstaff-server-ensure host)))
              (setf (backstaff-doctor--run-server run) server)
              (backstaff-doctor--ask
               run check 'ping nil
               (lambda (_)
                 (backstaff-doctor--told-host
                  run check host (backstaff-server--facts server)))
               (backstaff-remote-patience)))
          (backstaff-error
           (backstaff-doctor--fail run check problem)
           (backstaff-doctor--finish run)))))))

(defun backstaff-doctor--told-host (run check host facts)
  "Note in CHECK of RUN that the server on HOST, of which FACTS tell, answers."
  (backstaff-doctor--settle
   run check 'ok (format "%s\n%s" host (backstaff-remote-facts-text facts))
   (backstaff-doctor--host-advice facts))
  (backstaff-doctor--check-host-trip run host facts))

(defun backstaff-doctor--state (run name)
  "Return the state of the check of RUN that is called NAME."
  (backstaff-doctor--check-state
   (cl-find name (backstaff-doctor--run-checks run)
            :key #'backstaff-doctor--check-name :test #'equal)))

(defun backstaff-doctor--host-advice (facts)
  "Return what would make the start that FACTS tell of quicker, or nil."
  (cond ((eq (plist-get facts :way) 'tramp)
         "Nothing, if the host is reached by several hops, sudo or su; else \
see in the log why the session without a terminal failed: its calls are as \
quick, its start is not a second login")
        ((equal (plist-get facts :sources) "uncached")
         "Let ~/.cache/backstaff on that host be a directory of yours alone \
(chmod 700), so that the sources need not be sent at each start")))

(defun backstaff-doctor--check-host-trip (run host facts)
  "Measure in RUN how long a call to HOST takes; FACTS tell of its server."
  (backstaff-doctor--ping
   run (backstaff-doctor--add run "To the host") nil
   (+ (float-time) backstaff-doctor-limit)
   (lambda ()
     (when (backstaff-doctor--keystrokes-obscured-p host facts)
       (backstaff-doctor--tell
        run "Keystrokes" 'note
        "ssh delays what is typed on a terminal, and what goes to this server \
counts as typed: up to 20 ms a call"
        (format "Write \"ObscureKeystrokeTiming no\" for %s into ~/.ssh/config"
                (file-remote-p (concat host "/") 'host))))
     (backstaff-doctor--finish run))))

(defun backstaff-doctor--keystrokes-obscured-p (host facts)
  "Return non-nil if ssh delays small requests to the server of FACTS on HOST.
Versions from 9.5 on do, on a terminal, unless told not to."
  (and (eq (plist-get facts :way) 'tramp)
       (member (file-remote-p (concat host "/") 'method) '("ssh" "sshx" "scp" "scpx"))
       (with-temp-buffer
         (setq default-directory "/")
         (and (ignore-errors ; as there may be no ssh by this name
                (call-process "ssh" nil t nil "-G" (file-remote-p (concat host "/") 'host)))
              (progn (goto-char (point-min))
                     (re-search-forward "^obscurekeystroketiming \\(?:yes\\|int\\)"
                                        nil t))))))

(provide 'backstaff-doctor)
;;; backstaff-doctor.el ends here
