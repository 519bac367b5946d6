;;; backstaff.el --- Read-only navigation tools for agents and people  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Backstaff authors

;; Author: The Backstaff authors
;; URL: https://github.com/backstaff/backstaff
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: files, tools, processes
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tools that look at a project and cannot change it, for agents and for the people
;; beside them.  They run in a Python process.  No path leads out of the project, and
;; every answer has a limit.  It is a text, fit for a model, and data.
;;
;; Programs call `backstaff-call', `backstaff-call-async', `backstaff-call-text'
;; and `backstaff-tools'.  People start with M-x backstaff-tree.  No key is bound:
;; `backstaff-map' waits for it.

;;; Code:

(require 'backstaff-approval)
(require 'backstaff-lisp-tools)
(require 'backstaff-loaddefs)
(require 'backstaff-server)
(require 'backstaff-unsaved)

(declare-function project-root "project" (project))

;;; Options

(defgroup backstaff nil
  "Read-only navigation tools for agents and people."
  :group 'tools
  :prefix "backstaff-"
  :link '(url-link "https://github.com/backstaff/backstaff"))

(defcustom backstaff-call-timeout 15
  "Maximum number of seconds to wait for the answer to a call.
A question to you about a call waits as long.  The start of a server on another
host does not count; see `backstaff-remote-start-limit'."
  :type '(number :tag "Seconds") :package-version '(backstaff . "0.1.0"))

(defcustom backstaff-root-directory nil
  "The directory that tools may look at, whatever the project is.
If nil, it is the root of the project, as `project-current' finds it.  For a
directory on another host that is looked for once until `backstaff-restart'."
  :type '(choice (const :tag "The project's" nil) directory) :risky t
  :package-version '(backstaff . "0.1.0"))

;;; Keys

;; The autoloads hold the whole map, as a variable and as a prefix command, to bind either.
;;;###autoload
(defvar backstaff-map
  (let ((map (make-sparse-keymap)))
    (dolist (binding '(("m" . backstaff) ("x" . backstaff-run-tool) ("d" . backstaff-doctor)
                       ("l" . backstaff-list-directory) ("e" . backstaff-list-entries)
                       ("o" . backstaff-overview) ("g" . backstaff-changes) ("a" . backstaff-codebase-search)
                       ("t" . backstaff-tree) ("i" . backstaff-file-info)
                       ("c" . backstaff-list-commands) ("f" . backstaff-find-file)
                       ("s" . backstaff-find-definition) ("/" . backstaff-search)
                       ("v" . backstaff-show-log) ("r" . backstaff-restart)))
      (define-key map (car binding) (cdr binding)))
    map)
  "Keymap of the commands, for you to bind to a key that you like.
For example: (global-set-key (kbd \"C-c b\") backstaff-map)")
;;;###autoload
(defalias 'backstaff-map backstaff-map)

;;; Root

(defun backstaff--project-root (directory)
  "Return the root of the project that DIRECTORY is in, or nil."
  ;; To learn how a submodule counts, project.el would evaluate the project's
  ;; own .dir-locals.el, unasked.
  (let ((enable-dir-local-variables nil))
    (when-let ((project (project-current nil directory)))
      (project-root project))))

(defvar backstaff--root-answers nil
  "The user's answers: directories outside of projects, and t if models may look.")

(defun backstaff-project-p (root)
  "Return non-nil if ROOT is a project's root, or `backstaff-root-directory'.
A directory with a home below it is none: some keep their dotfiles in git."
  (or (and backstaff-root-directory (equal (file-name-unquote root) (backstaff-root)))
      (and (backstaff--look-up root #'backstaff--project-root)
           (not (backstaff--look-up root #'backstaff--holds-home-p)))))

(defun backstaff--look-up (directory function)
  "Return the value of FUNCTION, called with DIRECTORY; on another host, once."
  (if (file-remote-p directory) (backstaff-server-on-host 'look-up function directory)
    (funcall function directory)))

(defun backstaff--holds-home-p (directory)
  "Return non-nil if the home on DIRECTORY's host is DIRECTORY or below it.
True names are compared, as \"/home\" may be a link."
  (let* ((host (file-remote-p directory))
         ;; A local name such as /ssh:host: is quoted.
         (file-name-handler-alist (and host file-name-handler-alist))
         (true-name (lambda (name) (file-name-as-directory (file-truename name))))
         (directory (funcall true-name (file-name-unquote directory)))
         ;; A user on a host may have no home there.
         (home (ignore-errors (funcall true-name (concat host "~/")))))
    (or (equal directory (concat host "/"))
        (and home (string-prefix-p directory home)))))

(defun backstaff-directory ()
  "Return the current directory, or that of the project just switched to."
  ;; Since Emacs 29 project.el no longer binds `default-directory' to it.
  (or (bound-and-true-p project-current-directory-override) default-directory))

(defun backstaff-root (&optional directory)
  "Return the absolute root for a call made in DIRECTORY.
DIRECTORY defaults to `backstaff-directory'.  If Emacs is not connected to its
host, signal a `backstaff-remote-directory'; `backstaff-command-root' asks."
  (let* ((directory (or directory (backstaff-directory)))
         ;; `expand-file-name' may connect to a host.
         (directory (if (file-remote-p directory) directory (expand-file-name directory))))
    (file-name-unquote
     (backstaff--checked-root
      (or backstaff-root-directory
          (backstaff--look-up directory #'backstaff--project-root)
          directory)))))

(defun backstaff--checked-root (root)
  "Return ROOT, a directory, in full, if it is one that tools may look at."
  (unless (stringp root)
    (signal 'backstaff-argument-error (list (format "%S is no root" root))))
  (when (file-remote-p root) (backstaff-server-check-host root))
  (file-name-as-directory (expand-file-name root)))

;;; Calls

(defconst backstaff--codes
  '((backstaff-connection-lost . "CONNECTION_LOST")
    (backstaff-timeout . "TIMEOUT")
    (backstaff-protocol-error . "PROTOCOL_ERROR")
    (backstaff-remote-error . "REMOTE_ERROR")
    (backstaff-cancelled . "CANCELLED") (quit . "CANCELLED")
    (backstaff-argument-error . "INVALID_ARGUMENT")
    (backstaff-remote-directory . "REMOTE_DIRECTORY")
    (error . "INTERNAL_ERROR"))
  "The codes in replies of conditions and their children.")

(cl-defstruct (backstaff--call (:constructor backstaff--make-call) (:copier nil))
  "A call of a tool, from its start to its end; the handle of `backstaff-cancel'.
METHOD is the tool's id, a string, and TOOL its symbol if Lisp has it.  ARGS
and CONTEXT are as in `backstaff-call'.  When the call ends, FINISH is called
with the reply, or FAIL with a condition, and ENDED is non-nil.  STOP ends the
step under way.  WAITS is non-nil if Emacs waits for the end."
  method tool args context finish fail ended (stop #'ignore) waits)

(defun backstaff-call (id args &optional context)
  "Call the tool ID with ARGS, wait, and return the reply, a plist.
ID is a string or a symbol such as `agent-q/list_directory'.  ARGS is chosen
by a model: a plist (:path \"src\"), an alist, or a string of JSON.  CONTEXT
is not: a plist of `:root' (default: `backstaff-root' of the directory that is
current now), `:max-output-bytes' and such.  With `:person' the user typed the
call, which no policy stops; with `:agent' a model made it, which needs a
project for its root, or the user's leave.

If the tool fails, the reply's `:ok' is nil.  A call that needs approval is
refused unless `backstaff-approval-function' is your own: Emacs asks nobody
while it waits.  Signal a `backstaff-error' if there is no reply within
`backstaff-call-timeout' seconds, or if the server is lost or sends no reply."
  (let ((method (format "%s" id)) (context (backstaff--context context)))
    (backstaff-epc-await
     (backstaff-server-ensure (unless (assoc method backstaff-lisp-tools)
                                (file-remote-p (plist-get context :root))))
     (lambda (finish fail)
       (let ((call (backstaff--make-call
                    :method method :tool (backstaff-lisp-tools-find method) :args args
                    :context context :finish finish :fail fail :waits t)))
         (backstaff--begin call)
         (lambda () (backstaff-cancel call)))))))

(defun backstaff-call-async (id args callback &optional context)
  "Call the tool ID with ARGS and return at once.
CALLBACK is called exactly once, later, with the reply: the plist that
`backstaff-call' returns for the same ID, ARGS and CONTEXT.  An error there
is a reply here, with `:ok' nil and a code such as CONNECTION_LOST, TIMEOUT
or CANCELLED.

Return a handle for `backstaff-cancel'."
  (unless (functionp callback)
    (signal 'backstaff-argument-error (list (format "%S is no callback" callback))))
  (let* ((method (format "%s" id))
         ;; A timer calls it, because it may do anything, and this may be a process filter.
         (finish (lambda (reply)
                   (run-at-time 0 nil (lambda () (let ((throw-on-input nil))
                                                   (funcall callback reply))))))
         (fail (lambda (condition)
                 (funcall finish
                          (backstaff--error-reply
                           method
                           (cl-loop for symbol in (get (car condition) 'error-conditions)
                                    thereis (alist-get symbol backstaff--codes))
                           (backstaff-epc-error-text condition)
                           (backstaff-error-text condition)))))
         (call (backstaff--make-call :method method :args args :finish finish :fail fail))
         (throw-on-input nil))
    (condition-case problem
        (progn
          (setf (backstaff--call-tool call) (backstaff-lisp-tools-find method)
                (backstaff--call-context call) (backstaff--context context))
          (backstaff--begin call))
      ;; A quit may come while a server starts, or when the call is on its way.
      ((error quit) (backstaff--end call fail problem)))
    call))

(defun backstaff-cancel (call)
  "Cancel CALL, which `backstaff-call-async' returned.
Its callback gets a reply with the code CANCELLED.  Return nil if the call had
ended before."
  (backstaff--end call (backstaff--call-fail call)
                  (list 'backstaff-cancelled
                        (format "%s was cancelled" (backstaff--call-method call)))))

;;; Steps of a call

(defun backstaff--end (call function value)
  "End CALL: call its FUNCTION with VALUE.  Return nil if it had ended before."
  (unless (backstaff--call-ended call)
    (setf (backstaff--call-ended call) t)
    (funcall function value)
    (funcall (backstaff--call-stop call))
    t))

(defun backstaff--guarded (call function &rest arguments)
  "Call FUNCTION with ARGUMENTS, a step of CALL, unless the call has ended.
An error or a quit ends the call.  No key ends the step, even inside of
somebody's `while-no-input'; CALL would never end."
  (unless (backstaff--call-ended call)
    (condition-case problem
        (let ((throw-on-input nil)) (apply function arguments))
      ((error quit) (backstaff--end call (backstaff--call-fail call) problem)))))

(defun backstaff--later (call seconds function &rest arguments)
  "Call FUNCTION with ARGUMENTS, a step of CALL, after SECONDS.
A process filter may neither ask nor send."
  (let ((timer (apply #'run-at-time seconds nil #'backstaff--guarded call function arguments)))
    (setf (backstaff--call-stop call) (lambda () (cancel-timer timer)))))

(defun backstaff--request (call name arguments success timeout host)
  "Send the request NAME with ARGUMENTS to HOST, as a step of CALL.
SUCCESS gets the answer; without one in TIMEOUT seconds CALL fails."
  (setf (backstaff--call-stop call)
        (backstaff-server-call-async
         name arguments :timeout timeout :host host
         :success-fn (apply-partially #'backstaff--guarded call success)
         :error-fn (apply-partially #'backstaff--end call (backstaff--call-fail call)))))

(defun backstaff--begin (call)
  "Judge the root of CALL, then let the server or Lisp do the work."
  (let* ((method (backstaff--call-method call)) (context (backstaff--call-context call))
         (tool (backstaff--call-tool call)) (refusal (backstaff--root-refusal method context)))
    (cond
     (refusal (backstaff--later call 0 #'backstaff--judge call refusal))
     (tool
      (backstaff--request
       call "check" (backstaff-lisp-tools-check tool (backstaff--call-args call) context)
       (lambda (checked)
         (backstaff--later
          call 0
          (lambda ()
            ;; In a timer nothing can be quit, unless it says so.  Keys that were typed before
            ;; do not count.
            (let ((inhibit-quit nil) (quit-flag nil))
              (backstaff--judge call (if (not (plist-get checked :ok)) checked
                                       (backstaff-lisp-tools-run tool checked context)))))))
       backstaff-call-timeout nil))
     (t (backstaff--send call (backstaff-unsaved-context method (plist-get context :root)) 0)))))

(defun backstaff--send (call texts tries)
  "Send CALL with unsaved TEXTS, of which the server asked for some TRIES times."
  (let ((context (backstaff--call-context call)) (method (backstaff--call-method call)))
    (backstaff--request
     call method
     (list (backstaff--call-args call)
           ;; Of two values of a key the server takes the first, as Lisp does.
           `(:root ,(file-name-unquote (file-local-name (plist-get context :root)))
             ,@(when-let ((limit (plist-get context :max-output-bytes)))
                 ;; The note on the texts takes a part of it.
                 (list :max-output-bytes (backstaff-unsaved-room limit texts)))
             ,@(cl-loop for (key value) on context by #'cddr
                        unless (eq key :agent) append (list key value))
             :unsaved ,(plist-get texts :items) :codings ,(plist-get texts :codings)))
     (lambda (reply)
       (unless (and (listp reply) (plist-member reply :ok) (stringp (plist-get reply :text)))
         (signal 'backstaff-protocol-error '("the answer of a tool is no reply")))
       (let ((problem (plist-get reply :error)))
         (if (and (equal (plist-get problem :code) "UNSAVED_NEEDED") (< tries 3))
             ;; The user may have typed meanwhile.
             (let ((texts (backstaff-unsaved-context method (plist-get context :root))))
               (backstaff--later
                call 0 #'backstaff--send-texts call texts
                (delete-dups (cl-loop for (name digest) in (plist-get texts :items)
                                      when (member name (plist-get problem :names))
                                      collect digest))
                0 (1+ tries) (+ (float-time) backstaff-unsaved-most-seconds)))
           (backstaff--judge call (backstaff-unsaved-noted reply texts)))))
     ;; A search may take longer.
     (max backstaff-call-timeout (/ (or (plist-get context :deadline-ms) 0) 900.0))
     (plist-get texts :host))))

(defun backstaff--send-texts (call texts digests start tries deadline)
  "Send those of TEXTS with DIGESTS, the first one from START on, then CALL itself.
TRIES is as in `backstaff--send'.  After DEADLINE no text is sent.
A piece waits while another request is being sent.  Emacs runs timers meanwhile,
so several calls would else send pieces inside of one another, without end."
  (let* ((late (> (float-time) deadline)) (waits (and backstaff-epc-sending (not late)))
         (piece (and digests (not late) (not waits)
                     (backstaff-unsaved-piece (car digests) start))))
    (cond (waits
           (backstaff--later call 0.01 #'backstaff--send-texts call texts digests start
                             tries deadline))
          (piece
           (backstaff--request
            call 'keep_text piece
            (lambda (have)
              ;; The server may have more than this piece, from a call that was given up.
              (let ((more (and (natnump have) (< start have (nth 1 piece)))))
                (backstaff--later call 0 #'backstaff--send-texts call texts
                                  (if more digests (cdr digests)) (if more have 0)
                                  tries deadline)))
            backstaff-call-timeout (plist-get texts :host)))
          (late (backstaff--send call (backstaff-unsaved-without texts digests) tries))
          ;; If a text has changed meanwhile, the server asks again.
          (t (backstaff--send call texts tries)))))

(defun backstaff--judge (call reply)
  "End CALL with REPLY, or ask the user if it says that the call needs approval."
  (let* ((context (backstaff--call-context call)) (problem (plist-get reply :error))
         (root (plist-get problem :root)))
    (if (and (equal (plist-get problem :code) "APPROVAL_REQUIRED")
             (if root (not (assoc root backstaff--root-answers))
               (not (and (plist-get context :approved)
                         (equal (plist-get context :secret)
                                (or (plist-get problem :secret) ""))))))
        (backstaff--later call 0 #'backstaff--ask call reply
                          (+ (float-time) backstaff-call-timeout))
      (backstaff--end call (backstaff--call-finish call)
                      (if (plist-get reply :ok)
                          (backstaff-unsaved-add-state reply (plist-get context :root))
                        reply)))))

(defvar backstaff--asking nil "Non-nil while the user is asked about a call.")

(defun backstaff--ask (call reply deadline)
  "Ask until DEADLINE whether CALL may run, as REPLY demands.
Come back while the user is busy.  Questions are asked one at a time, except
for a caller that waits."
  (let* ((context (backstaff--call-context call)) (waits (backstaff--call-waits call))
         (method (backstaff--call-method call)) (finish (backstaff--call-finish call))
         (problem (plist-get reply :error)) (root (plist-get problem :root))
         ;; Meanwhile the user may have answered for another call.
         (known (and root (assoc root backstaff--root-answers))))
    (pcase (cond (known (cdr known))
                 ((and backstaff--asking (not waits)) :busy)
                 (t (condition-case nil
                        (let* ((backstaff--asking t) (args (backstaff--call-args call))
                               (directory (plist-get context :root))
                               (backstaff-approval-caller-waits waits)
                               (backstaff-approval-deadline deadline)
                               (backstaff-approval-question
                                (if root
                                    (format "No project is here.  Let models look at all below %s? "
                                            (backstaff-names-show-file directory))
                                  (backstaff-approval-question-about
                                   "Let" method args (plist-get problem :secret) directory)))
                               (answer (funcall backstaff-approval-function method args)))
                          ;; An answer about a root counts for the session.
                          (when (and root (not (memq answer '(:unasked :busy :late))))
                            (push (cons root (and answer t)) backstaff--root-answers))
                          answer)
                      (quit (when waits (signal 'quit nil))))))
      (:busy (backstaff--later call 0.1 #'backstaff--ask call reply deadline))
      ((and answer (or :late (and 'nil (guard (not root)))))
       (backstaff--end
        call finish
        (backstaff--error-reply
         method "APPROVAL_REFUSED"
         (format (if (null answer) "The user did not approve of the call of %s"
                   "The user did not answer within %2$s seconds whether %1$s may run, so it was\
 refused; ask the user to watch for the question, then call again")
                 (if (plist-get context :text-only) (backstaff-server-model-name method) method)
                 backstaff-call-timeout))))
      ((or :unasked 'nil) (backstaff--end call finish reply))
      (_ (unless root
           ;; A user who lets a tool run has not let it read a file that may hold secrets.
           (setf (backstaff--call-context call)
                 `(:approved t :secret ,(or (plist-get problem :secret) "") ,@context)))
         (backstaff--begin call)))))

(defun backstaff--root-refusal (id context)
  "Return the reply that refuses an agent's call of ID with the root of CONTEXT.
Return nil if agents may look there."
  (when-let* ((given (and (plist-get context :agent) (plist-get context :root)))
              (root (file-name-unquote given)))
    (unless (or (cdr (assoc root backstaff--root-answers)) (backstaff-project-p given))
      (let ((reply (backstaff--error-reply
                    id "APPROVAL_REQUIRED"
                    (format "No project is here, so the root would be all of %s, and the user\
 has not allowed that; ask the user to go to a file of a project (or M-x cd), or to set\
 backstaff-root-directory" (backstaff-names-show-file root)))))
        (plist-put (plist-get reply :error) :root root)
        reply))))

;;; Text and definitions

(defun backstaff-call-text (id args &optional context)
  "Call the tool ID with ARGS and return the text of its reply.
ID, ARGS and CONTEXT are as in `backstaff-call'.  The server sends no data.
The text is for a model: it ends with a note about arguments that the tool
does not have: \"[Unknown argument ignored: depth; there are: path]\".

Never signal anything: an error or a quit is a text that starts with
\"Error: \".  This may be called even from another package's process filter."
  (let ((debug-on-signal nil))
    (condition-case problem
        (plist-get (backstaff-call id args `(:text-only t ,@context)) :text)
      ((error quit) (backstaff-error-text problem)))))

(defun backstaff-tools ()
  "Return the definitions of all tools, a list of plists.
Each has `:id', `:name', `:toolset', `:description', `:parameters',
`:arguments', `:safety-level' and more.  The server is asked once."
  (let ((server (backstaff-server-ensure)))
    (unless (eq (car backstaff-server-described) server)
      (setq backstaff-server-described
            (cons server (backstaff-epc-call server 'describe
                                             (list (backstaff-lisp-tools-definitions))
                                             :timeout backstaff-call-timeout))))
    (cdr backstaff-server-described)))

(defun backstaff--context (context)
  "Return CONTEXT with the root and a deadline.
The deadline is before Emacs's, so that the server can still answer."
  (let ((root (plist-get context :root)))
    `(:root ,(if root (backstaff--checked-root root) (backstaff-root))
      ,@context
      :deadline-ms ,(max 1 (floor (* 900 backstaff-call-timeout))))))

(defun backstaff--error-reply (id code message &optional text)
  "Return the reply, with TEXT, to a call of ID that failed with CODE and MESSAGE."
  (list :ok nil :tool (format "%s" id)
        :text (or text (concat "Error: " message)) :data nil
        :error (list :code code :message message)
        :truncated nil :warnings nil :elapsed-ms 0))

(provide 'backstaff)
;;; backstaff.el ends here
