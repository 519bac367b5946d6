;;; backstaff-server.el --- The server process of Backstaff  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One server serves all of Emacs: a call brings the root of its project
;; along.  It starts with the first call, which stands behind the handshake,
;; and lives until Emacs ends or `backstaff-stop' is typed.  For a root on
;; another host there is one there, started by backstaff-remote-start.el; a host
;; is named as `file-remote-p' names it, and nil is this one.
;;
;; The program is looked for in this order:
;;
;; 1. `backstaff-server-command', if that is non-nil;
;; 2. the sources shipped beside this file, run by the Python in the `.venv'
;;    beside them, or by the one that `backstaff-install-server' made, or by
;;    the first Python on `exec-path' that is recent enough and has the
;;    libraries;
;; 3. a program named `backstaff' on `exec-path'.
;;
;; It runs in the folder of its sources and isolated from the environment, so
;; that no file of a project that is looked at is ever run, and none of its
;; settings is ever heeded.
;;
;; A server that has died is started again by the next call.  If the new one
;; dies as well before it has answered any tool's call, then that is where it
;; ends, and the log has to be read: `backstaff-show-log'.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-epc)

(declare-function backstaff-remote-forget "backstaff-remote" ())
(declare-function backstaff-remote-start-launch "backstaff-remote-start" (server host))
(declare-function backstaff-remote-start-forget "backstaff-remote-start" ())

(defconst backstaff-server-version "0.1.0"
  "The version of this package, and of the server that belongs to it.")


;;; Options

(defcustom backstaff-server-command nil
  "The program that serves, and its arguments, as a list of strings.
For example (\"/opt/venv/bin/python\" \"-m\" \"backstaff\"); what it shall do
is appended.  If nil, look for the sources shipped with this package and a
Python that can run them, then for a program named backstaff.

No variable of the environment whose name starts with PYTHON reaches it."
  :type '(choice (const :tag "Look for it" nil)
                 (repeat :tag "Program and arguments" string))
  :risky t
  :group 'backstaff)

(defcustom backstaff-server-settings-file nil
  "The file with the server's settings, in TOML.
If nil, the server looks for config.toml in the folder backstaff below the
user's configuration folder, and does without if there is none.  Settings
are read when the server starts."
  :type '(choice (const :tag "The usual one" nil) file)
  :group 'backstaff
  :risky t)


;;; Finding the program

(defconst backstaff-server--directory
  (let ((file (or load-file-name buffer-file-name)))
    (and file (file-name-directory file)))
  "Where this library was loaded from.")

(defconst backstaff-server--python-names
  '("python3" "python3.14" "python3.13" "python3.12" "python3.11")
  "The names under which a Python that is recent enough is looked for.")

(defconst backstaff-server--libraries '("bracex" "epc" "pathspec" "sexpdata" "yaml")
  "The libraries that the server imports, by the names it imports them under.")

(defconst backstaff-server--probe
  (format "import sys
from importlib.util import find_spec
if sys.version_info >= (3, 11) and all(map(find_spec, '%s'.split())):
    print(sys.executable)"
          (string-join backstaff-server--libraries " "))
  "A program with which a Python that can run the server says where it is.
A shim, as pyenv puts on the path, costs more than the whole start of the
server, so it is taken only to find the real interpreter.")

(defvar backstaff-server--python nil
  "The Python that was found to fit, so as to look for it only once.")

(defmacro backstaff-server--with-own-environment (directory &rest body)
  "Run BODY in DIRECTORY, with the environment that the server shall have.
That is Emacs's own: a buffer may have a project's PATH and PYTHONPATH."
  (declare (indent 1) (debug t))
  `(let ((default-directory (or ,directory "/"))
         (exec-path (default-value 'exec-path))
         (process-environment
          (cl-remove-if (apply-partially #'string-prefix-p "PYTHON")
                        (default-value 'process-environment))))
     ,@body))

(defun backstaff-server--sources ()
  "Return the folder of the server's sources, or nil."
  (when backstaff-server--directory
    (let ((here (expand-file-name "backstaff-server.el"
                                  backstaff-server--directory)))
      ;; A package manager may link the files into a folder of its own.
      (cl-loop for file in (list here (file-truename here))
               thereis (cl-loop
                        for name in '("../py_backend/" "py_backend/")
                        for folder = (expand-file-name
                                      name (file-name-directory file))
                        when (file-exists-p
                              (expand-file-name "backstaff/__main__.py" folder))
                        return folder)))))

(defun backstaff-server--program ()
  "Return the program that serves, and its first arguments.
Signal a `backstaff-connection-lost' if there is none."
  (or (backstaff-server--configured-command)
      (backstaff-server--shipped-command)
      (backstaff-server--installed-command)
      (backstaff-server--no-command)))

(defun backstaff-server--command ()
  "Return the server's command, a list of strings.
Signal a `backstaff-connection-lost' if there is none."
  (append (backstaff-server--program)
          '("serve" "--stdio")
          (and backstaff-server-settings-file
               (list "--config"
                     (expand-file-name backstaff-server-settings-file)))))

(defun backstaff-server-settings-place ()
  "Return the file that the server reads its settings from if it exists."
  (let ((default-directory "/"))
    (expand-file-name
     (or backstaff-server-settings-file
         (expand-file-name
          "backstaff/config.toml"
          (let ((folder (getenv "XDG_CONFIG_HOME")))
            (if (member folder '(nil "")) "~/.config" folder)))))))

(defun backstaff-server--configured-command ()
  "Return what `backstaff-server-command' stands for, or nil."
  (when backstaff-server-command
    (unless (and (listp backstaff-server-command)
                 (cl-every #'stringp backstaff-server-command))
      (signal 'backstaff-connection-lost
              '("`backstaff-server-command' is not a list of strings")))
    (let ((program (car backstaff-server-command)))
      (cons (if (file-name-absolute-p program) (expand-file-name program)
              program)
            (cdr backstaff-server-command)))))

(defun backstaff-server--shipped-command ()
  "Return a command for the sources beside this file, or nil."
  (when-let ((sources (backstaff-server--sources))
             (python (backstaff-server--find-python sources)))
    (list python "-I" (expand-file-name "backstaff/__main__.py" sources))))

(defun backstaff-server--installed-command ()
  "Return a command for the program named backstaff, or nil."
  (when-let ((program (executable-find "backstaff")))
    (list program)))

(defun backstaff-server--no-command ()
  "Signal that no server was found, and say what would help."
  (signal 'backstaff-connection-lost
          (list (concat
                 (if (backstaff-server--sources)
                     (format "found no Python 3.11 or newer that has the libraries\
 %s; type M-x backstaff-install-server, run make setup beside the sources, or"
                             (string-join backstaff-server--libraries ", "))
                   "found neither the server's sources nor a program named\
 backstaff;")
                 " customize `backstaff-server-command'"))))

(defun backstaff-server--find-python (sources)
  "Return a Python that can run the server in SOURCES, or nil."
  (or (backstaff-server--own-python sources)
      (backstaff-server--made-python)
      (and backstaff-server--python
           (file-executable-p backstaff-server--python)
           backstaff-server--python)
      (setq backstaff-server--python
            (cl-some #'backstaff-server--fitting-python
                     backstaff-server--python-names))))

(defun backstaff-server--own-python (sources)
  "Return the Python of the environment beside SOURCES, or nil."
  (let ((python (expand-file-name "../.venv/bin/python" sources)))
    (and (file-executable-p python) python)))

(defun backstaff-server--fitting-python (name)
  "Return the interpreter that a program called NAME leads to, if it fits."
  (when-let ((program (executable-find name))
             (answer (backstaff-server--ask-python
                      program backstaff-server--probe)))
    (and (file-name-absolute-p answer) (file-executable-p answer)
         answer)))

(defun backstaff-server--ask-python (program script)
  "Return what PROGRAM, a Python, prints for SCRIPT within three seconds."
  (with-temp-buffer
    (let ((process (make-process
                    :name "backstaff-probe" :buffer (current-buffer)
                    :command (list program "-I" "-c" script)
                    :connection-type 'pipe :noquery t :sentinel #'ignore))
          (deadline (+ (float-time) 3)))
      (unwind-protect
          (while (and (process-live-p process) (< (float-time) deadline))
            (accept-process-output process 0.05 nil t))
        (accept-process-output process 0 nil t)
        (delete-process process))
      (string-trim (buffer-string)))))


;;; Environments made for this package

(defconst backstaff-server--ready-mark "backstaff-ready"
  "The file that an environment has once all that it needs is in it.")

(defun backstaff-server--environments ()
  "Return the folder of the Python environments made for this package."
  (expand-file-name (locate-user-emacs-file "backstaff/")))

(defun backstaff-server--environment (python-version)
  "Return the folder of an environment with Python PYTHON-VERSION.
It belongs to this version of the package alone: an update makes its own."
  (expand-file-name (format "%s-py%s/" backstaff-server-version python-version)
                    (backstaff-server--environments)))

(defun backstaff-server--made-python ()
  "Return the newest Python that `backstaff-install-server' made, or nil.
One that was made in part does not count, nor one for another version."
  (let* ((folder (backstaff-server--environments))
         (prefix (concat backstaff-server-version "-py"))
         (names (and (file-directory-p folder)
                     (cl-remove-if-not
                      (apply-partially #'string-prefix-p prefix)
                      (directory-files folder)))))
    (cl-loop for name in (sort names (lambda (a b) (string-version-lessp b a)))
             for environment = (expand-file-name name folder)
             for python = (expand-file-name "bin/python" environment)
             when (and (file-executable-p python)
                       (file-exists-p (expand-file-name
                                       backstaff-server--ready-mark
                                       environment)))
             return python)))


;;; Log

(defconst backstaff-server--log-buffer "*backstaff-log*"
  "Where the server's standard error and our own remarks go.")

(defconst backstaff-server--log-size (* 256 1024)
  "How many characters of the log are kept.")

(defun backstaff-server--log (text)
  "Append TEXT, a piece of the log as it came, to the log."
  (with-current-buffer (get-buffer-create backstaff-server--log-buffer)
    (let ((inhibit-read-only t)
          (inhibit-modification-hooks t)
          (follow (eobp)))
      (setq buffer-undo-list t)
      (save-excursion
        (save-restriction
          (widen)
          (goto-char (point-max))
          (insert text)
          (backstaff-server--cut-log)))
      (when follow
        (goto-char (point-max))))))

(defun backstaff-server--cut-log ()
  "Delete the oldest lines of the current buffer if there are far too many."
  (when (> (buffer-size) (+ backstaff-server--log-size
                            (/ backstaff-server--log-size 4)))
    (goto-char (- (point-max) backstaff-server--log-size))
    (delete-region (point-min) (line-beginning-position 2))))

(defun backstaff-server--note (text)
  "Append TEXT to the log as a remark of our own."
  (backstaff-server--log
   (format "%s Emacs: %s\n" (format-time-string "%F %T") text)))

;;;###autoload
(defun backstaff-show-log ()
  "Show what the server wrote to its log, and how it started and ended."
  (interactive)
  (with-current-buffer (get-buffer-create backstaff-server--log-buffer)
    (unless (derived-mode-p 'special-mode)
      (special-mode))
    (display-buffer (current-buffer))))


;;; One server

(defconst backstaff-server--protocol 1
  "The version of the protocol that both have to speak.")

(cl-defstruct (backstaff-server
               (:constructor backstaff-server--make)
               (:conc-name backstaff-server--)
               (:copier nil))
  "A server process.
PROVEN is non-nil once it has answered a tool's call.  SECOND-TRY is
non-nil if it took the place of one that had died.  STARTED is when.  STUCK is non-nil once
it has said that too many calls hang in a file system that is dead.  FACTS,
a plist, tell how one on another host was started."
  (connection nil)
  (stderr nil)
  (last-words "")
  (second-try nil :read-only t)
  (started (float-time) :read-only t)
  (proven nil)
  (stuck nil)
  (tools nil)
  (facts nil))

(defvar backstaff-server--pause 60
  "How many seconds after its start a server that died twice is tried again.
One project that brings it down must not take the tools from all others.")

(defvar backstaff-server--current nil
  "The server on this host that was started last, dead or alive.")

(defvar backstaff-server--elsewhere nil
  "Those on other hosts, as an alist of (HOST . SERVER).")

(defun backstaff-server--at (host)
  "Return the server on HOST that was started last, dead or alive."
  (if host (cdr (assoc host backstaff-server--elsewhere))
    backstaff-server--current))

(defun backstaff-server-connected-p (name)
  "Return non-nil if Emacs is connected to the host of NAME, a remote file.
NAME may be that of a host.  TRAMP would take that for the home directory
there, and look it up, which may take for ever."
  (file-remote-p (if (string-suffix-p ":" name) (concat name "/") name) nil t))

(defun backstaff-server--start (second-try &optional host)
  "Start a server on HOST and return it; SECOND-TRY if the last one died.
This does not wait for it: what is sent now stands behind the handshake."
  (let ((server (backstaff-server--make :second-try second-try)))
    (cond (host
           (require 'backstaff-remote-start)
           (backstaff-remote-start-launch server host)
           (setf (alist-get host backstaff-server--elsewhere nil nil #'equal)
                 server))
          (t
           (setf (backstaff-server--stderr server)
                 (backstaff-server--make-stderr server)
                 (backstaff-server--connection server)
                 (backstaff-server--launch server)
                 backstaff-server--current
                 server)
           (backstaff-server--greet server)))
    server))

(defun backstaff-server--forget (server host)
  "Know no more of SERVER, which never was ready on HOST."
  (when (eq server (backstaff-server--at host))
    (setf (alist-get host backstaff-server--elsewhere nil 'remove #'equal)
          nil)))

(defun backstaff-server--make-stderr (server)
  "Return a process that takes what SERVER writes to its standard error."
  (let* ((buffer (generate-new-buffer " *backstaff-stderr*" t))
         (process (make-pipe-process
                   :name "backstaff-stderr" :buffer buffer :noquery t
                   :coding 'utf-8-unix :sentinel #'ignore
                   :filter (lambda (_process text)
                             (backstaff-server--hear server text)))))
    ;; A pipe process insists on a buffer, and dies with it.
    (set-process-buffer process nil)
    (kill-buffer buffer)
    (set-process-thread process nil)
    process))

(defun backstaff-server--hear (server text)
  "Keep TEXT, which SERVER wrote to its standard error."
  (let ((words (concat (backstaff-server--last-words server) text)))
    (setf (backstaff-server--last-words server)
          (substring words (max 0 (- (length words) 2000)))))
  (backstaff-server--log text))

(defun backstaff-server--launch (server)
  "Start the process of SERVER and return the connection with it."
  (backstaff-server--with-own-environment (backstaff-server--sources)
    (condition-case problem
        (let ((command (backstaff-server--command)))
          (backstaff-server--note (format "starting %S" command))
          ;; Else it is a child of Emacs that fails to become the program.
          (unless (executable-find (car command))
            (error "There is no program %s" (car command)))
          (backstaff-epc-connect
           (make-process :name "backstaff" :buffer nil :command command
                         :connection-type 'pipe :coding 'binary :noquery t
                         :stderr (backstaff-server--stderr server))
           :log-function #'backstaff-server--note
           :stderr-function
           (lambda () (backstaff-server--collect-words server))))
      (error
       (delete-process (backstaff-server--stderr server))
       (backstaff-server--note (error-message-string problem))
       (if (eq (car problem) 'backstaff-connection-lost)
           (signal (car problem) (cdr problem))
         (signal 'backstaff-connection-lost
                 (list (format "the server cannot be started: %s"
                               (error-message-string problem)))))))))

(defun backstaff-server--collect-words (server)
  "Return the last lines that SERVER, now dead, wrote to its standard error.
A child of the server may hold the pipe open, so this waits little.  On a
terminal of another host there is none."
  (when-let ((stderr (backstaff-server--stderr server)))
    ;; What floods it keeps the inner wait from returning; a timer ends that.
    (let ((end (run-at-time 0.2 nil #'delete-process stderr)))
      (while (process-live-p stderr)
        (accept-process-output stderr 0.02 nil t))
      (cancel-timer end)))
  (let ((lines (split-string (backstaff-server--last-words server) "\n" t)))
    (string-join (last lines 8) "\n")))

(defun backstaff-server--greet (server)
  "Shake hands with SERVER, ahead of all else."
  (let ((connection (backstaff-server--connection server)))
    (backstaff-epc-call-async
     connection 'hello `((:client "emacs" :version ,backstaff-server-version
                          :protocol ,backstaff-server--protocol :escapes t))
     :success-fn (lambda (identity)
                   (backstaff-server--check-identity connection identity))
     :error-fn (lambda (condition)
                 (backstaff-epc-close
                  connection (format "the server did not shake hands: %s"
                                     (backstaff-epc-error-text condition)))))))

(defun backstaff-server--check-identity (connection identity)
  "Close CONNECTION unless the server's IDENTITY is what we need."
  (if (backstaff-server--compatible-p identity)
      (backstaff-server--note (format "connected: %S" identity))
    (backstaff-epc-close
     connection
     (format "Emacs has Backstaff %s (protocol %d), the server is %s; update\
 the older one, check `backstaff-server-command', then type\
 M-x backstaff-restart"
             backstaff-server-version backstaff-server--protocol
             (backstaff-server--identity-text identity)))))

(defun backstaff-server--identity-text (identity)
  "Return the versions in IDENTITY, which a server sent, as text."
  ;; It may be anything, and `plist-get' signals on what is no list.
  (if (and (listp identity) (stringp (ignore-errors
                                       (plist-get identity :version))))
      (format "%s (protocol %s)" (plist-get identity :version)
              (plist-get identity :protocol))
    "something else"))

(defun backstaff-server--compatible-p (identity)
  "Return non-nil if a server of IDENTITY understands us, and we it.
Before version 1.0 the second number counts as the first does after it."
  (let ((version (ignore-errors ; as it may be no plist at all
                   (plist-get identity :version))))
    (and (stringp version)
         (eql (plist-get identity :protocol) backstaff-server--protocol)
         (equal (backstaff-server--major version)
                (backstaff-server--major backstaff-server-version)))))

(defun backstaff-server--major (version)
  "Return the part of VERSION, a string, that must be the same on both sides."
  (and (string-match "\\`\\(0\\.[0-9]+\\|[1-9][0-9]*\\)\\." version)
       (match-string 1 version)))

(defun backstaff-server--stop (reason)
  "Stop all servers, and fail what is under way for REASON."
  (dolist (server (cons backstaff-server--current
                        (mapcar #'cdr backstaff-server--elsewhere)))
    (when server
      (backstaff-epc-close (backstaff-server--connection server) reason)))
  (setq backstaff-server--current nil
        backstaff-server--elsewhere nil))


;;; The server

(defun backstaff-server-ensure (&optional host)
  "Return the server on HOST, started if there is none that lives.
Signal a `backstaff-connection-lost' if it cannot be."
  (let ((server (backstaff-server--at host)))
    (cond ((null server) (backstaff-server--start nil host))
          ((backstaff-server--usable-p server) server)
          ((or (backstaff-server--proven server)
               (not (backstaff-server--second-try server))
               (> (- (float-time) (backstaff-server--started server))
                  backstaff-server--pause))
           (backstaff-server--start t host))
          (t (signal 'backstaff-connection-lost
                     '("the server was started anew and died again; see why\
 with M-x backstaff-show-log, then type M-x backstaff-restart, or wait a\
 minute"))))))

(defun backstaff-server--usable-p (server)
  "Return non-nil if SERVER lives and listens; end it if it only lives."
  (let ((connection (backstaff-server--connection server)))
    (cond ((backstaff-epc-unresponsive-p connection)
           (backstaff-epc-close connection "the server does not respond any more"))
          ((backstaff-server--stuck server)
           (backstaff-epc-close connection "the server hangs in a dead file system")))
    (backstaff-epc-live-p connection)))

(defun backstaff-server--heed (server reply)
  "Note that SERVER has answered, and whether its REPLY says that it is stuck.
Then the next call starts another one; nobody waits for the old one's end."
  (setf (backstaff-server--proven server) t)
  (when (ignore-errors ; as it may be no plist at all
          (plist-get (plist-get reply :error) :server-stuck))
    (setf (backstaff-server--stuck server) t)))

(cl-defun backstaff-server-call (method args &key timeout host)
  "Call METHOD, a tool, with ARGS on HOST and return its value.
Start the server if need be.  Signal a `backstaff-error' if there is no
value within TIMEOUT seconds."
  (let* ((server (backstaff-server-ensure host))
         (reply (backstaff-epc-call (backstaff-server--connection server)
                                    method args :timeout timeout)))
    (backstaff-server--heed server reply)
    reply))

(cl-defun backstaff-server-call-async
    (method args &key success-fn error-fn timeout host)
  "Call METHOD, a tool, with ARGS on HOST and return at once.
Start the server if need be.  SUCCESS-FN, ERROR-FN and TIMEOUT are as in
`backstaff-epc-call-async'.  Return a handle for `backstaff-server-cancel'."
  (let* ((server (backstaff-server-ensure host))
         (connection (backstaff-server--connection server)))
    (cons connection
          (backstaff-epc-call-async
           connection method args
           :success-fn (lambda (value)
                         (backstaff-server--heed server value)
                         (funcall success-fn value))
           :error-fn error-fn :timeout timeout))))

(defun backstaff-server-cancel (handle)
  "Cancel the asynchronous call HANDLE; return nil if it had ended before."
  (backstaff-epc-cancel (car handle) (cdr handle)))

(defun backstaff-server-tools (timeout)
  "Return the server's description of its tools, asked for once in its life.
Signal a `backstaff-error' if none comes within TIMEOUT seconds."
  (let ((server (backstaff-server-ensure)))
    (or (backstaff-server--tools server)
        (setf (backstaff-server--tools server)
              (backstaff-epc-call (backstaff-server--connection server)
                                  'describe nil :timeout timeout)))))

(cl-defun backstaff-server-tools-async (&key success-fn error-fn timeout)
  "Ask what `backstaff-server-tools' returns and return at once.
SUCCESS-FN, ERROR-FN and TIMEOUT are as in `backstaff-epc-call-async', but
SUCCESS-FN is called before this returns if the answer is known already."
  (let ((server (backstaff-server-ensure)))
    (if-let ((tools (backstaff-server--tools server)))
        (funcall success-fn tools)
      (backstaff-epc-call-async
       (backstaff-server--connection server) 'describe nil
       :success-fn (lambda (tools)
                     (setf (backstaff-server--tools server) tools)
                     (funcall success-fn tools))
       :error-fn error-fn :timeout timeout))))

;;;###autoload
(defun backstaff-stop ()
  "Stop the server, here and on other hosts; the next call starts it again."
  (interactive)
  (let ((running (or backstaff-server--current backstaff-server--elsewhere)))
    (backstaff-server--stop "the server was stopped")
    (when (called-interactively-p 'interactive)
      (message (if running "The server is stopped" "There was no server")))))

;;;###autoload
(defun backstaff-restart ()
  "Stop the server and start it anew, looking for the program afresh.
Those on other hosts are stopped too; the next call there starts one."
  (interactive)
  (backstaff-server--stop "the server was restarted")
  (setq backstaff-server--python nil)
  (when (featurep 'backstaff-remote)
    (backstaff-remote-forget))
  (when (featurep 'backstaff-remote-start)
    (backstaff-remote-start-forget))
  (backstaff-server--start nil)
  (when (called-interactively-p 'interactive)
    (message "The server is started anew")))

(provide 'backstaff-server)
;;; backstaff-server.el ends here
