;;; backstaff-server.el --- The server process of Backstaff  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; One server serves all of Emacs; each call names the root of its project.  The first call
;; starts it, and the next one if it has died.  A root on another host has a server there.
;; A host is a string such as "/ssh:host:", as `file-remote-p' returns it; nil is this host.
;;
;; The program runs in the directory of its sources and isolated from the environment, so no
;; file or setting of a project counts.  A shell script among the sources that are shipped
;; with this package, py_backend/backstaff.sh, finds a Python that is 3.11 or newer.

;;; Code:

(require 'xdg)
(require 'backstaff-epc)

(defconst backstaff-server-version "0.1.0"
  "The version of this package, and of the server that belongs to it.")

(defcustom backstaff-server-command nil
  "The program that serves, and its arguments, as a list of strings.
For example (\"/opt/venv/bin/python\" \"-m\" \"backstaff\"); the arguments
\"serve\" and \"--stdio\" are appended.  If nil, look for the sources
shipped with this package and a Python that can run them, then for a program
named backstaff.  It gets no variable whose name starts with PYTHON."
  :type '(choice (const :tag "Look for it" nil) (repeat :tag "Program and arguments" string))
  :group 'backstaff :risky t :package-version '(backstaff . "0.1.0"))

(defcustom backstaff-server-settings-file nil
  "The file with the server's settings, in TOML.
If nil, it is backstaff/config.toml, if that exists.  A relative name is below
the user's configuration folder, such as ~/.config.  Settings are read when the
server starts."
  :type '(choice (const :tag "The usual one" nil) file)
  :group 'backstaff :risky t :package-version '(backstaff . "0.1.0"))

(defun backstaff-server-settings-file-name ()
  "Return the file that the server reads its settings from if it exists."
  (expand-file-name (or backstaff-server-settings-file "backstaff/config.toml")
                    (xdg-config-home)))

;;; Conditions

(define-error 'backstaff-start-error "Backstaff cannot start its server" 'backstaff-connection-lost)
(define-error 'backstaff-remote-directory "Backstaff root out of reach"
  '(backstaff-error user-error))

(defconst backstaff-server--advice
  '((backstaff-timeout . "The program runs and does not answer: read M-x backstaff-show-log")
    (backstaff-protocol-error
     . "It speaks, but not as Backstaff's server does: see `backstaff-server-command'")
    (backstaff-remote-directory
     . "Visit a file there, which connects; or type M-x cd to a local directory")
    (backstaff-connection-lost
     . "It ended by itself: if its last words mention the settings file, correct that file")
    (backstaff-error . "Read the log: M-x backstaff-show-log"))
  "Advice for each condition that brings none of its own.")

(defun backstaff-server-advice (condition)
  "Return advice for a user about CONDITION, which `condition-case' bound.
A `backstaff-error' may bring it as a second string, behind the text."
  (let ((kinds (get (car condition) 'error-conditions)))
    (or (and (memq 'backstaff-error kinds) (nth 2 condition))
        (alist-get (or (cl-find-if (lambda (kind) (assq kind backstaff-server--advice)) kinds)
                       'backstaff-error)
                   backstaff-server--advice))))

(defun backstaff-error-text (condition)
  "Return the text of a reply that CONDITION ended, without properties.
If no server starts, the text includes advice."
  (concat "Error: " (if (memq 'quit (get (car condition) 'error-conditions))
                        "The user cancelled the call"
                      (string-to-multibyte (substring-no-properties
                                            (backstaff-epc-error-text condition))))
          (and (memq 'backstaff-start-error (get (car condition) 'error-conditions))
               (concat ".\n" (backstaff-server-advice condition)))))

;;; Log

(defconst backstaff-server--log-buffer "*backstaff log*"
  "The buffer with the server's standard error and our own notes.")

(defun backstaff-server--log (text)
  "Append TEXT to the log."
  (with-current-buffer (get-buffer-create backstaff-server--log-buffer)
    (let ((inhibit-read-only t) (inhibit-modification-hooks t))
      (setq buffer-undo-list t)
      (save-excursion
        (goto-char (point-max))
        ;; A window that shows the end goes on showing it.
        (insert-before-markers text)
        (when (> (buffer-size) (* 320 1024))
          (goto-char (- (point-max) (* 256 1024)))
          (delete-region (point-min) (line-beginning-position 2)))))))

(defun backstaff-server-note (text)
  "Append TEXT to the log as a note of our own."
  (backstaff-server--log (format "%s Emacs: %s\n" (format-time-string "%F %T") text)))

;;;###autoload
(defun backstaff-show-log ()
  "Show what the server wrote to its log, and how it started and ended."
  (interactive)
  (pop-to-buffer backstaff-server--log-buffer)
  (special-mode))

;;; The program

(defvar backstaff-server-package-directory
  (and load-file-name (file-name-directory load-file-name))
  "The directory that this package was loaded from, or nil.")

(defun backstaff-server-sources ()
  "Return the directory of the server's sources, or nil."
  (when-let* ((package backstaff-server-package-directory)
              (library (expand-file-name "backstaff-server.el" package)))
    ;; A package manager may have linked the library.
    (cl-loop for file in (list library (file-truename library))
             for directory = (file-name-directory file)
             for script = (locate-file "py_backend/backstaff.sh"
                                       (list (expand-file-name "../" directory) directory))
             when script return (file-name-directory script))))

(defmacro backstaff-server-with-own-environment (directory &rest body)
  "Run BODY in DIRECTORY, or /, with the environment that Emacs started with.
A buffer may have the PATH of its project.  Programs look for others on variable
`exec-path'.  No variable of the environment whose name starts with PYTHON
counts."
  (declare (indent 1) (debug t))
  `(let* ((default-directory (or ,directory "/"))
          (exec-path (default-value 'exec-path))
          (process-environment
           (cons (concat "PATH=" (mapconcat #'directory-file-name (remq nil exec-path)
                                            path-separator))
                 (cl-remove-if (apply-partially #'string-prefix-p "PYTHON")
                               (default-value 'process-environment)))))
     ,@body))

(defun backstaff-server-program ()
  "Return the absolute name of the program that serves, and its first arguments.
Signal a `backstaff-start-error' if there is none."
  (let* ((sources (backstaff-server-sources))
         (command (cond (backstaff-server-command)
                        ;; These are sure to have the version of this package.
                        (sources (list "/bin/sh" (expand-file-name "backstaff.sh" sources)))
                        (t '("backstaff"))))
         (program (or (executable-find (car command))
                      (signal 'backstaff-start-error
                              (list (format "there is no program %s" (car command))
                                    "Customize `backstaff-server-command'; or set it to nil, and\
 install this package with its folder py_backend, or the program by pipx install backstaff")))))
    (cons program (cdr command))))

;;; One server

(defvar backstaff-server-host-functions nil
  "Hook for what TRAMP is needed for: functions of an operation and its arguments.

`shell-p' DIRECTORY  can a server start at DIRECTORY?  Do not connect.
`start' HOST  start a server, and return a plist when it is ready: `:process'
    speaks EPC, `:output' has its output since then, `:text' is for the log.
`look-up' FUNCTION DIRECTORY  return the value of FUNCTION, called with
    DIRECTORY once until `backstaff-restart'.")

(defun backstaff-server-on-host (operation &rest arguments)
  "Do OPERATION of `backstaff-server-host-functions' with ARGUMENTS."
  (apply #'run-hook-with-args-until-success 'backstaff-server-host-functions
         operation arguments))

(defconst backstaff-server--protocol 1 "The version of the protocol of both.")

(cl-defstruct (backstaff-server (:include backstaff-epc-connection)
                                (:constructor backstaff-server--make) (:copier nil))
  "A server process and the connection with it.
START-INFO is the plist of the operation `start' on another host."
  start-info)

(defvar backstaff-server--servers nil
  "An alist of (HOST . SERVER), the last that was started there, dead or alive.")

(defvar backstaff-server-content-readers 'unknown
  "The ids of the tools that read files, or `unknown' before a handshake.")

;; `make manual' writes the list.
(defvar backstaff-server-secrets
  '(;; BEGIN secrets

    ".authinfo*" ".netrc*" "_netrc" ".pgpass" ".my.cnf" ".git-credentials"
    ".config/git/credentials" ".git/config" ".git/config.worktree" ".git/modules/"
    ".git/worktrees/*/config.worktree" ".ssh/" ".gnupg/" ".password-store/" "id_rsa"
    "id_dsa" "id_ecdsa*" "id_ed25519*" ".env" ".env.*" ".envrc" ".npmrc" ".pypirc"
    ".htpasswd" ".vault-token" ".aws/credentials" ".azure/" ".config/gcloud/"
    ".config/gh/hosts.yml" ".kube/config" ".docker/config.json" ".cargo/credentials*"
    ".gem/credentials" ".terraformrc" "*.pem" "*.key" "*.p12" "*.pfx" "*.ppk" "*.jks"
    "*.keystore" "*.kdbx" "*.keyring" "*.keychain" "*.keychain-db" "keyrings/" "!*.pub"
    "!.env.example" "!.env.sample" "!.env.template" "!.env.dist"

    ;; END secrets
    )
  "Globs of the files that may hold secrets; those with a \"!\" are exceptions.
These are the server's own ones until a handshake brings those of the settings.")

(defun backstaff-server-status ()
  "Return the process id of this host's server, or nil if none lives."
  (when-let ((server (cdr (assoc nil backstaff-server--servers))))
    (and (backstaff-epc-live-p server) (process-id (backstaff-server-process server)))))

(defun backstaff-server--launch (host)
  "Start a server on HOST and return it."
  (let ((server (backstaff-server--make
                 :name (if host (format "the server on %s" host) "the server") :remote host
                 :log-function #'backstaff-server-note)))
    (condition-case problem
        (if (null host) (backstaff-server--launch-here server)
          (let ((started (backstaff-server-on-host 'start host)))
            (setf (backstaff-server-start-info server) started
                  (backstaff-server-process server) (plist-get started :process))
            (backstaff-epc-connect server (plist-get started :output))))
      ((error quit)
       (funcall (backstaff-server-stderr-function server))
       (backstaff-server-note (error-message-string problem))
       (if (cl-intersection '(backstaff-error quit) (get (car problem) 'error-conditions))
           (signal (car problem) (cdr problem))
         (signal 'backstaff-start-error (list (error-message-string problem))))))
    server))

(defun backstaff-server--launch-here (server)
  "Start the program of SERVER on this host."
  (backstaff-server-with-own-environment (backstaff-server-sources)
    (let* ((command (append (backstaff-server-program) '("serve" "--stdio")
                            (and backstaff-server-settings-file
                                 (list "--config" (backstaff-server-settings-file-name)))))
           (last-words "")
           (buffer (generate-new-buffer " *backstaff stderr*" t)) ; the pipe dies with it
           (stderr (make-pipe-process
                    :name "backstaff-stderr" :buffer buffer :noquery t :coding 'utf-8-unix
                    :sentinel #'ignore
                    :filter (lambda (_process text)
                              (setq last-words (string-limit (concat last-words text) 2000 t))
                              (backstaff-server--log text)))))
      (set-process-thread stderr nil)
      (setf (backstaff-server-stderr-function server)
            (lambda ()
              ;; A child of the server, now dead, may hold the pipe open.
              (accept-process-output stderr 0.2 nil t)
              (kill-buffer buffer)
              (string-join (last (split-string last-words "\n" t) 8) "\n")))
      (backstaff-server-note (format "starting %S" command))
      (setf (backstaff-server-process server)
            (make-process :name "backstaff" :buffer nil :command command :noquery t
                          :connection-type 'pipe :coding 'binary :stderr stderr))
      (backstaff-epc-connect server))))

(defun backstaff-server--shake-hands (server)
  "Shake hands with SERVER before any call; close the connection on failure."
  (cl-flet ((fail (text advice)
              (backstaff-epc-close server text 'backstaff-start-error advice)))
    (backstaff-epc-call-async
     server 'hello `((:client "emacs" :version ,backstaff-server-version :escapes t))
     :success-fn
     (lambda (identity)               ; of another program it may be no plist
       (if (not (eql (plist-get identity :protocol) backstaff-server--protocol))
           (fail (format "Emacs has Backstaff %s (protocol %d), the server is %s (protocol %s)"
                         backstaff-server-version backstaff-server--protocol
                         (or (plist-get identity :version) "something else")
                         (plist-get identity :protocol))
                 "Update the older one: Emacs's package by M-x list-packages RET, U and x;\
 the server by pipx upgrade backstaff, or as you installed it.  Then type M-x backstaff-restart")
         (setq backstaff-server-content-readers (plist-get identity :reads-content)
               backstaff-server-secrets (plist-get identity :secrets))
         (backstaff-server-note (format "connected: %S" identity))))
     :error-fn
     (lambda (condition)
       (fail (format "it did not shake hands: %s" (backstaff-epc-error-text condition))
             ;; Every server of ours answers, so it is another program.
             (backstaff-server-advice
              (if (eq (car condition) 'backstaff-remote-error) '(backstaff-protocol-error)
                condition)))))))

(defun backstaff-server--stop (reason)
  "Stop all servers, and fail the calls under way for REASON."
  (pcase-dolist (`(,_ . ,server) backstaff-server--servers)
    (backstaff-epc-close server reason))
  (setq backstaff-server--servers nil))

;;; Other hosts

(defvar backstaff-server--known (make-hash-table :test #'equal)
  "Values that are found once until `backstaff-restart'.")

(defun backstaff-server-once (key function)
  "Return the value that FUNCTION returned for KEY when it was called first."
  (let ((known (gethash key backstaff-server--known 'unknown)))
    (if (eq known 'unknown) (puthash key (funcall function) backstaff-server--known)
      known)))

(defun backstaff-server-connected-p (directory)
  "Return non-nil if Emacs is connected to the host of DIRECTORY, a remote name."
  ;; TRAMP would look up the home directory for a mere host, perhaps for ever.
  (file-remote-p (concat directory (and (string-suffix-p ":" directory) "/")) nil t))

(defun backstaff-server-check-host (directory)
  "Signal a `backstaff-remote-directory' if no server can start at DIRECTORY.
DIRECTORY is remote, and Emacs has to be connected to its host."
  (let ((shell (backstaff-server-on-host 'shell-p directory)))
    (unless (and shell (backstaff-server-connected-p directory))
      (signal 'backstaff-remote-directory
              (list (format "%s is on another machine, and %s" directory
                            (if shell
                                "Emacs is not connected to it: visit a file there"
                              "Backstaff cannot start a server there")))))))

;;; The server

(defun backstaff-server-ensure (&optional host)
  "Return the server on HOST, started if there is none that lives.
On this host nothing waits for the start: calls wait behind the handshake.
Signal a `backstaff-connection-lost' if the start fails."
  (let ((server (alist-get host backstaff-server--servers nil nil #'equal)))
    (when (and server (backstaff-epc-unresponsive-p server))
      (backstaff-epc-close server "the server does not respond any more"))
    (unless (and server (backstaff-epc-live-p server))
      (setq server (backstaff-server--launch host))
      (setf (alist-get host backstaff-server--servers nil nil #'equal) server)
      (backstaff-server--shake-hands server))
    server))

(cl-defun backstaff-server-call-async (method args &key success-fn error-fn timeout host)
  "Call METHOD, a tool, with ARGS on HOST; return a function that cancels it.
Start the server if need be.  SUCCESS-FN, ERROR-FN and TIMEOUT are as in
`backstaff-epc-call-async'."
  (let* ((server (backstaff-server-ensure host))
         (uid (backstaff-epc-call-async
               server method args :error-fn error-fn :timeout timeout
               :success-fn
               (lambda (reply)
                 ;; The next call starts another one.
                 (when (plist-get (plist-get reply :error) :server-stuck)
                   (backstaff-epc-close server "the server hangs in a dead file system"))
                 (funcall success-fn reply)))))
    (lambda () (backstaff-epc-cancel server uid))))

(defvar backstaff-server-described nil
  "A cons of the server that described its tools last, and the description.")

(defvar backstaff-server-model-names nil
  "An alist of ids of tools and their names for the model of another server.")

(defun backstaff-server-model-name (id)
  "Return the name that models know of the tool ID; ID if none was described."
  (let ((tool (cl-find id (cdr backstaff-server-described) :test #'equal
                       :key (lambda (tool) (plist-get tool :id)))))
    (or (cadr (assoc id backstaff-server-model-names))
        (plist-get (plist-get tool :model) :name)
        id)))

;;;###autoload
(defun backstaff-stop ()
  "Stop the server, here and on other hosts; the next call starts it again."
  (interactive)
  (backstaff-server--stop "the server was stopped")
  (when (called-interactively-p 'interactive) (message "The server is stopped")))

;;;###autoload
(defun backstaff-restart ()
  "Stop the server and start it anew, looking for the program afresh.
A message says when it is there, or why it is not.  Those on other hosts are
stopped too; the next call there starts one."
  (interactive)
  (backstaff-server--stop "the server was restarted")
  (clrhash backstaff-server--known)
  (if (not (called-interactively-p 'interactive)) (backstaff-server-ensure)
    (condition-case problem
        (progn (backstaff-epc-call (backstaff-server-ensure) 'ping nil)
               (message "The server is started anew"))
      ;; The command loop shows a `user-error' as it is.
      (backstaff-error (user-error "%s.\n%s" (backstaff-epc-error-text problem)
                                   (backstaff-server-advice problem))))))

(provide 'backstaff-server)
;;; backstaff-server.el ends here
