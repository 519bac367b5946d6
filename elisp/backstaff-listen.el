;;; backstaff-listen.el --- Answer the servers of agents outside Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; An agent that speaks MCP starts a server of its own, `backstaff mcp'.  With
;; `backstaff-listen-mode' Emacs listens on a Unix socket, by which such a server gets facts
;; that only Emacs has.  The folder's name depends on the user's id alone, so neither a
;; project nor the environment can name another one.
;;
;; The server speaks first, in the frames of backstaff-message.el, and may call the four
;; methods below.  Their arguments are data, of which Emacs evaluates nothing.  A root or
;; path is compared as a string, and no primitive for files gets it.  The text of a file that
;; may hold secrets goes only to the connection by which the user was asked.

;;; Code:

(require 'server)                       ; for `server-ensure-safe-dir'
(require 'backstaff)
(require 'backstaff-emacs)

(defconst backstaff-listen--answer-bytes (* 192 1024)
  "Maximum number of bytes of an answer, because a socket takes no more at once.")

(defconst backstaff-listen--seconds 0.02
  "Seconds after which no part of an answer begins; a tool has twice the time.
Emacs also hangs up on a server that does not read for so long.")

(defconst backstaff-listen--grant-seconds 10
  "Seconds for which a yes counts, and a question that its server asks no more.")

;;; The socket

(defvar backstaff-listen--process nil "The process that listens, or nil.")

(defun backstaff-listen--folder ()
  "Return the folder of the sockets of this user's Emacsen."
  (let* ((uid (user-real-uid)) (run (format "/run/user/%d" uid)))
    (if (eql (file-attribute-user-id (file-attributes run 'integer)) uid)
        (concat run "/backstaff")
      (format "/tmp/backstaff-listen-%d" uid))))

;;;###autoload
(define-minor-mode backstaff-listen-mode
  "Let agents that run outside of Emacs see facts that only Emacs has.
They get the text of modified buffers that visit files of their project, and
the tools whose work Emacs does.  You are asked here before one of them reads a
file that may hold secrets.  Nothing has to be set in an agent that starts
\"backstaff mcp\".

Only processes of yours can connect.  Emacs evaluates nothing that they send."
  :global t :group 'backstaff
  (backstaff-listen--stop)
  (when backstaff-listen-mode
    (condition-case problem
        (backstaff-listen--start)
      ;; An error would end the user's init file.
      (error (setq backstaff-listen-mode nil)
             (display-warning 'backstaff (format "Agents outside of Emacs cannot reach it: %s"
                                                 (error-message-string problem)))))))

(defun backstaff-listen--start ()
  "Listen."
  (let* ((folder (backstaff-listen--folder))
         (file (expand-file-name (format "emacs-%d" (emacs-pid)) folder)))
    ;; It must be a directory of ours that nobody else may enter.
    (server-ensure-safe-dir folder)
    (dolist (name (directory-files folder nil "\\`emacs-[0-9]+\\'"))
      ;; Emacsen that were killed have left theirs.
      (let ((pid (string-to-number (string-remove-prefix "emacs-" name))))
        (when (or (= pid (emacs-pid)) (not (process-attributes pid)))
          (delete-file (expand-file-name name folder)))))
    (with-file-modes #o600
      (setq backstaff-listen--process
            (make-network-process
             :name "backstaff-listen" :server 16 :family 'local :service file :coding 'binary
             :noquery t :filter #'backstaff-listen--receive :sentinel #'ignore
             :log (lambda (_listener server _message)
                    (process-put server :last (float-time))
                    ;; Keep 32 connections: the connection that was silent longest ends.
                    (mapc #'delete-process (nthcdr 32 (backstaff-listen--connections))))
             :plist (list :file file))))
    (add-hook 'kill-emacs-hook #'backstaff-listen--stop)))

(defun backstaff-listen--stop ()
  "Listen no longer, and hang up."
  (when-let ((listener backstaff-listen--process))
    (setq backstaff-listen--process nil)
    ;; An error must not keep Emacs from ending; the next Emacs removes the file.
    (ignore-errors (delete-file (process-get listener :file)))
    (mapc #'delete-process (cons listener (backstaff-listen--connections)))))

(defun backstaff-listen--connections ()
  "Return the connections of servers, the latest request first."
  (cl-sort (cl-loop for process in (process-list)
                    when (and (eq (process-filter process) #'backstaff-listen--receive)
                              (eq (process-status process) 'open))
                    collect process)
           #'> :key (lambda (server) (process-get server :last))))

(defun backstaff-listen-servers ()
  "Return the servers that are connected, the latest request first.
Each is a plist that has `:root', `:pid', and `:last', the time when it asked."
  (cl-remove nil (mapcar #'process-plist (backstaff-listen--connections))
             :key (lambda (server) (plist-get server :root))))

;;; Requests

(defun backstaff-listen--receive (server chunk)
  "Keep CHUNK from SERVER for a timer: a filter can neither wait nor be quit."
  (process-put server :bytes (concat (process-get server :bytes) chunk))
  (if (> (length (process-get server :bytes)) (* 256 1024))
      (backstaff-listen--hang-up server "it asks too much at once")
    (run-at-time 0 nil #'backstaff-listen--serve server)))

(defun backstaff-listen--hang-up (server problem)
  "End the connection of SERVER because of PROBLEM."
  (backstaff-server-note (concat "hung up on a server: " problem))
  (delete-process server))

(defun backstaff-listen--serve (server)
  "Answer the next request of SERVER, and set a timer for the one after."
  (condition-case problem
      (when (process-live-p server)
        (pcase (with-temp-buffer
                 (set-buffer-multibyte nil)
                 (insert (process-get server :bytes))
                 (prog1 (backstaff-message-next)
                   (process-put server :bytes (buffer-string))))
          ('nil)
          (`(call ,(and uid (pred natnump)) ,method ,(and args (pred listp)))
           (let ((frame (backstaff-listen--answer server uid method args)))
             ;; Emacs would wait for ever for a server that does not read.
             (with-timeout (backstaff-listen--seconds (error "It does not read"))
               (process-send-string server frame)))
           (run-at-time 0 nil #'backstaff-listen--serve server))
          (_ (error "A request is no call"))))
    (error (backstaff-listen--hang-up server (error-message-string problem)))))

(defun backstaff-listen--answer (server uid method args)
  "Return the frame that answers the call UID of SERVER: METHOD with ARGS."
  (process-put server :last (float-time))
  (condition-case problem
      (let* ((inhibit-quit nil) (throw-on-input nil)
             ;; Otherwise a text of a megabyte brings on several collections.
             (gc-cons-threshold (max gc-cons-threshold (* 16 1024 1024)))
             (function (pcase method
                         ('hello #'backstaff-listen--hello) ('unsaved #'backstaff-listen--unsaved)
                         ('run #'backstaff-listen--run) ('ask #'backstaff-listen--ask)
                         (_ (error "There is no such method"))))
             (backstaff-unsaved-true-root (process-get server :root))
             (backstaff-unsaved-deadline (+ (float-time) backstaff-listen--seconds))
             (backstaff-emacs-cut nil)
             (backstaff-emacs-more-secrets (process-get server :secrets)))
        (unless (or (eq method 'hello) backstaff-unsaved-true-root)
          (error "The method hello comes first"))
        (backstaff-message-frame (list 'return uid (apply function server args))
                                 backstaff-listen--answer-bytes))
    ((error quit) (backstaff-message-frame
                   (list 'return-error uid (error-message-string problem))))))

;;; Methods

(defun backstaff-listen--hello (server root pid names globs)
  "Note the ROOT, a true name, and the process PID for which SERVER asks.
NAMES has pairs of a tool's id and its name for models.  GLOBS are files that
may hold secrets besides Emacs's own.  The answer has the tools whose work Emacs
does, and the number of buffers that visit files below the root."
  (unless (and (stringp root) (string-prefix-p "/" root) (natnump pid) (listp names)
               (cl-every #'stringp globs)
               (not (string-match-p "\0\\|//\\|/\\.\\.?\\(?:/\\|\\'\\)\\|\\`/[^/]*:" root)))
    (error "The root must be the true name of a directory here"))
  (let ((root (concat (string-remove-suffix "/" root) "/")))
    (when (cl-some (lambda (home) (string-prefix-p root home))
                   (list (expand-file-name "~/") (file-name-as-directory (file-truename "~/"))))
      (error "A home directory, or one above it, is no root"))
    (process-put server :root root)
    (process-put server :pid pid)
    (process-put server :names names)
    ;; A server can hide more files, and excepts none.
    (process-put server :secrets (cl-remove-if (apply-partially #'string-prefix-p "!") globs))
    (list :tools (backstaff-lisp-tools-definitions)
          :visits (length (backstaff-emacs-buffers (list root))))))

(defun backstaff-listen--unsaved (server wanted secret)
  "Return to SERVER the texts of modified buffers below its root.
The answer has all digests, and the next bytes of the texts in WANTED: pairs of
a digest and the number of bytes that the server has.  `:more' says that the
time was up before all was done.  The user was asked about the file SECRET."
  (let* ((root (process-get server :root))
         (texts (backstaff-unsaved-context nil root))
         (items (cl-remove-if
                 (lambda (item)
                   (and (backstaff-emacs-secret-p (list (concat root (car item))) (list root))
                        (not (and (equal (car item) secret)
                                  (backstaff-listen--question-p server 'granted t t secret)))))
                 (plist-get texts :items)))
         (room (* 64 1024))             ; the maximum number of bytes of text
         (pieces nil))
    (pcase-dolist (`(,digest ,start) wanted)
      (when-let* (((and (> room 0) (natnump start)
                        (cl-find digest items :key #'cadr :test #'equal)))
                  (piece (backstaff-unsaved-piece digest start room)))
        (cl-decf room (- (nth 1 piece) start))
        (push piece pieces)))
    (list :items items :codings (plist-get texts :codings) :left-out (plist-get texts :left-out)
          :pieces pieces :more (and (or (plist-get texts :late) (and wanted (null pieces))) t))))

(defun backstaff-listen--run (server id args limit secret offer)
  "Run the tool ID in Lisp for SERVER with ARGS that the server has checked.
The text has at most LIMIT bytes.  If the user types meanwhile, the answer is
`:later'.  SECRET is nil if nobody was asked.  OFFER names the model's tools."
  (let* ((tool (or (backstaff-lisp-tools-find id) (error "There is no such tool")))
         (grant (backstaff-listen--question-p server 'granted id args secret))
         (backstaff-server-model-names (process-get server :names))
         (cut "[cut: Emacs did not look at all that it has, because that takes too long]\n")
         ;; The last part of a tool's work is short.
         (backstaff-unsaved-deadline (+ (float-time) (* 2 backstaff-listen--seconds)))
         (reply (while-no-input
                  (backstaff-lisp-tools-run
                   tool (list :text "" :data args)
                   `(:root ,(process-get server :root) :text-only t :offer ,offer
                           :max-output-bytes ,(min (- limit (string-bytes cut))
                                                   (/ backstaff-listen--answer-bytes 2))
                           ,@(and grant (list :approved t)))))))
    (if (not (and reply (listp reply))) :later
      (when grant
        (setf (nth 1 grant) nil))       ; a yes is for one call
      (let ((problem (plist-get reply :error)))
        (list :text (concat (plist-get reply :text) (and backstaff-emacs-cut cut))
              :code (plist-get problem :code) :secret (plist-get problem :secret))))))

;;; Questions

;; A question is a list (CALL STATE TIME).  CALL is (ID ARGS SECRET).  STATE is `:later' while the
;; user is asked, then the answer.  Once the server has an answer, it is `granted' or nil.  TIME
;; is when the server asked last.

(defun backstaff-listen--question-p (server state &rest call)
  "Return the question of SERVER in STATE about CALL: ID, ARGS and SECRET.
STATE and parts of CALL may be t for any.  Return nil if it is too old."
  (cl-find-if (lambda (question)
                (and (cl-every (lambda (wanted found) (or (eq wanted t) (equal wanted found)))
                               (cons state call) (cons (nth 1 question) (car question)))
                     (< (- (float-time) (nth 2 question)) backstaff-listen--grant-seconds)))
              (process-get server :questions)))

(defun backstaff-listen--ask (server id args secret)
  "Return whether SERVER may run the tool ID with ARGS, or read the file SECRET.
SECRET may be empty.  The answer is `:later', t, `:refused', `:late' or
`:unasked'; after the first one the server asks again."
  (unless (and (stringp id) (string-match-p "\\`[a-z_/-]+\\'" id) (stringp secret))
    (error "There is no such tool"))
  (let* ((question (backstaff-listen--question-p server t id args secret))
         (state (nth 1 question)))
    (when (memq state '(nil granted))   ; each call is asked about
      (setq question (list (list id args secret) nil nil) state :later)
      (process-put server :questions (cons question (seq-take (process-get server :questions) 31)))
      (run-at-time 0 nil #'backstaff-listen--decide server question
                   (+ (float-time) (min 60 backstaff-call-timeout))))
    (setf (cdr question) (list (pcase state (:later :later) ('t 'granted)) (float-time)))
    state))

(defun backstaff-listen--decide (server question deadline)
  "Ask the user the QUESTION of SERVER until DEADLINE.
Come back while the user is busy and the server asks."
  (pcase-let* ((`((,id ,args ,secret) ,_ ,asked) question)
               (backstaff-approval-deadline deadline)
               (backstaff-approval-question
                (backstaff-approval-question-about
                 "An agent outside Emacs asks: let" id args (and (not (equal secret "")) secret)
                 (process-get server :root)))
               (answer (and (process-live-p server)
                            (< (- (float-time) asked) backstaff-listen--grant-seconds)
                            (condition-case nil
                                (let ((throw-on-input nil))
                                  (funcall backstaff-approval-function id args))
                              ((error quit) nil)))))
    (if (eq answer :busy)
        (run-at-time 0.1 nil #'backstaff-listen--decide server question deadline)
      (setf (nth 1 question)
            (if (memq answer '(:late :unasked)) answer (or (and answer t) :refused))))))

(provide 'backstaff-listen)
;;; backstaff-listen.el ends here
