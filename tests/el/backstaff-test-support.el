;;; backstaff-test-support.el --- Fixtures for the tests of Backstaff  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Every fixture cleans up after its body: the processes, timers and buffers
;; that appeared during it must be gone at its end, or the test fails.  When a
;; test fails, the log of the server is printed.
;;
;; The variable BACKSTAFF_PYTHON of the environment says which Python runs the
;; servers.  BACKSTAFF_GPTEL_DIR and BACKSTAFF_LLM_DIR may say where the real
;; gptel and llm are, and their libraries, as folders with colons between; else
;; fakes stand in, unless the real ones are on `load-path'.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'subr-x)
;; A test that binds a variable must not be the first to load the library that defines it.
(require 'project)
(require 'tramp)
(require 'backstaff)
(require 'backstaff-remote)

(defconst backstaff-test-directory
  (file-name-directory (or load-file-name buffer-file-name))
  "Where the tests are.")

(defconst backstaff-test-repository
  (expand-file-name "../../" backstaff-test-directory)
  "The whole project.")

(defun backstaff-test-python ()
  "Return the Python that runs the servers."
  (or (getenv "BACKSTAFF_PYTHON")
      (executable-find "python3")
      (ert-fail "There is no Python; BACKSTAFF_PYTHON names one")))

(defun backstaff-test-main ()
  "Return the file that starts our own server."
  (or (getenv "BACKSTAFF_MAIN")
      (expand-file-name "py_backend/backstaff/__main__.py" backstaff-test-repository)))

(defun backstaff-test-command ()
  "Return the command for our own server, as `backstaff-server-command' has it."
  (list (backstaff-test-python) "-I" (backstaff-test-main)))

(defun backstaff-test-fake-command (&optional start)
  "Return the command for a fake server that fails in the way START, if any."
  (list (backstaff-test-python) "-I"
        (expand-file-name "fake-servers/fake_server.py" backstaff-test-directory)
        (or start "serve")))

(defun backstaff-test-require (library variable)
  "Load LIBRARY from the folders that VARIABLE of the environment names.
Without these it may be anywhere on `load-path', and else is the fake."
  (let ((load-path
         (append (and (getenv variable)
                      (split-string (getenv variable) path-separator t))
                 load-path
                 (list (expand-file-name "fakes" backstaff-test-directory)))))
    (require library)))

(defun backstaff-test-needs (noun found)
  "Skip the test, which needs NOUN, unless FOUND is non-nil; return FOUND.
NOUN is such as \"Evil\", and a run counts the skipped tests by it."
  (or found (ert-skip (concat "needs " noun))))


;;; Waiting

(defmacro backstaff-test-wait-for (condition)
  "Let processes and timers run until CONDITION holds; return its value.
Fail after a minute, which is much even on a busy machine."
  (declare (debug t))
  (let ((value (make-symbol "value")))
    `(with-timeout (60 (ert-fail (list "This never came true" ',condition)))
       (let (,value)
         (while (not (setq ,value ,condition))
           (accept-process-output nil 0.01))
         ,value))))

(defun backstaff-test-gone-p (pid)
  "Return non-nil once the process PID has ended.
The first process of a container may leave a zombie of it for ever."
  (member (alist-get 'state (process-attributes pid)) '(nil "Z")))

(defun backstaff-test-time ()
  "Return the time in seconds, less those in which Emacs waited for a processor.
The result does not depend on how busy the machine is, if the system counts
them."
  (let* ((file-name-handler-alist nil)
         (facts (with-temp-buffer
                  ;; Only Linux has the file.  Without it nothing is subtracted.
                  (ignore-errors (insert-file-contents-literally "/proc/self/schedstat"))
                  (split-string (buffer-string)))))
    (- (float-time) (/ (string-to-number (or (nth 1 facts) "0")) 1e9))))

(defmacro backstaff-test-with-gaps (variable &rest body)
  "Run BODY and return its value.
VARIABLE is set to the seconds between the runs of a timer every 10 ms."
  (declare (indent 1) (debug (symbolp body)))
  (let ((last (make-symbol "last")) (timer (make-symbol "timer")))
    `(let* ((,last (backstaff-test-time))
            (note (lambda ()
                    (let ((now (backstaff-test-time)))
                      (push (- now ,last) ,variable)
                      (setq ,last now))))
            (,timer (run-at-time 0 0.01 note)))
       (unwind-protect (prog1 (progn ,@body) (funcall note))
         (cancel-timer ,timer)))))

(defmacro backstaff-test-work (&rest body)
  "Run BODY and return the seconds of the processor that Emacs needed for it.
Unlike the time by the clock, that is the same on a busy machine."
  (declare (indent 0) (debug t))
  (let ((start (make-symbol "start")))
    `(let ((,start (get-internal-run-time)))
       ,@body
       (float-time (time-subtract (get-internal-run-time) ,start)))))

(defmacro backstaff-test-seconds (&rest body)
  "Run BODY and return how many seconds it took."
  (declare (indent 0) (debug t))
  (let ((start (make-symbol "start")))
    `(let ((,start (float-time)))
       ,@body
       (- (float-time) ,start))))

(defun backstaff-test-answers (&rest calls)
  "Make CALLS, functions of a callback, at once, and return the answer to each.
Each callback must be called once, with text, and not before the call that
it belongs to has returned."
  (let ((answers (make-vector (length calls) nil))
        (returned (make-vector (length calls) nil))
        (early nil))
    (cl-loop for call in calls
             for index from 0
             do (let ((index index))
                  (funcall call (lambda (&rest arguments)
                                  (unless (aref returned index)
                                    (push arguments early))
                                  (push arguments (aref answers index))))
                  (aset returned index t)))
    (backstaff-test-wait-for (cl-every #'identity answers))
    (should-not early)
    (mapcar (lambda (told)
              (should (equal (mapcar #'length told) '(1)))
              (should (stringp (caar told)))
              (caar told))
            answers)))


;;; Replies

(cl-defun backstaff-test-call-server (method args &key (timeout 15))
  "Return the value of METHOD, called with ARGS, from the server of this host.
The call is one of a tool; no text of a buffer goes along."
  (backstaff-epc-await
   (backstaff-server-ensure)
   (lambda (success-fn error-fn)
     (backstaff-server-call-async method args :timeout timeout
                                  :success-fn success-fn :error-fn error-fn))))

(defun backstaff-test-code (reply)
  "Return the error code of REPLY, or nil if it is good; a failure must be whole."
  (should (plist-member reply :ok))
  (unless (plist-get reply :ok)
    (let ((problem (plist-get reply :error)))
      ;; Advice may follow.
      (should (string-prefix-p (concat "Error: " (plist-get problem :message))
                               (plist-get reply :text)))
      (plist-get problem :code))))

(defun backstaff-test-call-later (id args &optional context)
  "Call the tool ID with ARGS in CONTEXT without waiting; return its one reply."
  (let ((replies nil))
    (backstaff-call-async id args (lambda (reply) (push reply replies)) context)
    (should-not replies)
    (backstaff-test-wait-for replies)
    (should (= (length replies) 1))
    (car replies)))


;;; Keys

(defun backstaff-test--call-typing (keys body)
  "Call BODY from a command while KEYS are typed, and return its value."
  (let* ((value nil)
         (map (make-sparse-keymap))
         (minor-mode-map-alist (cons (cons t map) minor-mode-map-alist))
         (enable-recursive-minibuffers t)
         ;; In batch Emacs sleeps where else it would wait for a key.
         (minibuffer-message-timeout 0))
    (define-key map [f13] (lambda () (interactive) (setq value (funcall body))))
    (execute-kbd-macro (vconcat [f13] (kbd keys)))
    value))

(defmacro backstaff-test-typing (keys &rest body)
  "Run BODY while the user types KEYS, a string for `kbd'; return its value."
  (declare (indent 1) (debug t))
  `(backstaff-test--call-typing ,keys (lambda () ,@body)))


;;; Cleaning up

(defun backstaff-test--log ()
  "Return the text of the log."
  (if-let ((buffer (get-buffer "*backstaff log*")))
      (with-current-buffer buffer (buffer-string))
    ""))

(defun backstaff-test--ours-p (thing)
  "Return non-nil if THING, a process or a buffer, was made by our code."
  (string-match-p "backstaff" (if (processp thing) (process-name thing)
                                (or (buffer-name thing) ""))))

(defun backstaff-test--remains ()
  "Return the processes, buffers and timers of ours that there are."
  (append (cl-remove-if-not #'backstaff-test--ours-p (process-list))
          (cl-remove-if-not #'backstaff-test--ours-p (buffer-list))
          (cl-remove-if-not (lambda (timer)
                              (string-prefix-p
                               "backstaff" (format "%s" (timer--function timer))))
                            timer-list)))

(defun backstaff-test--call-clean (body)
  "Call BODY; then end the server and check that nothing of ours is left."
  (let ((value nil)
        (passed nil)
        (before (process-list)))
    (unwind-protect
        (setq value (funcall body)
              passed t)
      (backstaff-stop)
      (mapc #'delete-process (cl-set-difference (process-list) before))
      (unless passed
        (message "--- log\n%s---" (backstaff-test--log)))
      (dolist (buffer (cl-remove-if-not #'backstaff-test--ours-p (buffer-list)))
        (unless (string-prefix-p " " (buffer-name buffer))
          (kill-buffer buffer))))
    (should-not (backstaff-test--remains))
    value))

(defmacro backstaff-test-clean (&rest body)
  "Run BODY with no server at first; then check that it leaves nothing."
  (declare (indent 0) (debug t))
  `(let ((backstaff-server--servers nil)
         ;; Each server says it, and the last one may have been a fake.
         (backstaff-server-content-readers 'unknown))
     (backstaff-test--call-clean (lambda () ,@body))))


;;; Fixtures

(defun backstaff-test--plant (tree directory)
  "Make in DIRECTORY what TREE says, as `backstaff-test-with-tree' has it."
  (make-directory directory t)
  (pcase-dolist (`(,name . ,content) tree)
    (let ((file (expand-file-name name directory)))
      (if (listp content)
          (backstaff-test--plant content file)
        (let ((coding-system-for-write 'no-conversion))
          (write-region content nil file nil 'silent))))))

(defmacro backstaff-test-with-tree (tree &rest body)
  "Run BODY in a new directory that holds TREE.
TREE is a list of (NAME . CONTENT); CONTENT is a string for a file, a list
like TREE for a directory."
  (declare (indent 1) (debug t))
  `(let* ((root (file-name-as-directory
                 (file-truename (make-temp-file "backstaff-test-" t))))
          (default-directory root)
          (backstaff--root-answers nil))
     (unwind-protect
         (progn (backstaff-test--plant ,tree root)
                ,@body)
       (delete-directory root t))))

(defmacro backstaff-test-with-server (command &rest body)
  "Run BODY with COMMAND as `backstaff-server-command'."
  (declare (indent 1) (debug t))
  `(let ((backstaff-server-command ,command)
         (backstaff-call-timeout 10))
     (backstaff-test-clean ,@body)))

(defvar project-find-functions)

(defmacro backstaff-test-with-project (tree &rest body)
  "Run BODY in a directory that holds TREE, with our server.
The root of a call is the directory in which it is made.  That is the user's
choice, so no model has to ask."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree ,tree
     (backstaff-test-with-server (backstaff-test-command)
       (let ((project-find-functions '(backstaff-test-project)))
         ,@body))))

(defun backstaff-test-project (directory)
  "Return a project whose root is DIRECTORY, for `project-find-functions'."
  (cons 'transient directory))

(defmacro backstaff-test-with-buffers (tree &rest body)
  "Run BODY with our server in a project with TREE; kill the buffers it makes.
The project is the root of each call."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree ,tree
     (backstaff-test-with-server (backstaff-test-command)
       (let ((backstaff-root-directory root))
         (save-window-excursion
           (backstaff-test-killing-buffers ,@body))))))

(defmacro backstaff-test-killing-buffers (&rest body)
  "Run BODY, and kill the buffers that it has made, whatever they hold."
  (declare (indent 0) (debug t))
  `(let ((before (buffer-list))
         (create-lockfiles nil))
     (unwind-protect (progn ,@body)
       (dolist (buffer (cl-set-difference (buffer-list) before))
         ;; Those of the server hold its process.
         (when (and (buffer-live-p buffer)
                    (not (string-prefix-p " " (buffer-name buffer))))
           (with-current-buffer buffer
             (set-buffer-modified-p nil)
             (let ((kill-buffer-hook nil) (kill-buffer-query-functions nil))
               (kill-buffer buffer))))))))

(defmacro backstaff-test-with-connection (variable &rest body)
  "Run BODY with VARIABLE bound to a connection with a fake server."
  (declare (indent 1) (debug (symbolp body)))
  `(backstaff-test-clean
     (let ((,variable (backstaff-test-connect)))
       (unwind-protect (progn ,@body)
         (backstaff-epc-close ,variable "the test is over")))))

(defvar backstaff-test-notes nil
  "What the connection of `backstaff-test-connect' noted, the last first.")

(defun backstaff-test-connect ()
  "Return a connection with a fake server."
  (let* ((errors "")
         (stderr (make-pipe-process
                  :name "backstaff-stderr" :noquery t :sentinel #'ignore
                  :buffer (get-buffer-create "*backstaff-test-stderr*")
                  :filter (lambda (_ text) (setq errors (concat errors text))))))
    (setq backstaff-test-notes nil)
    (backstaff-epc-connect
     (backstaff-epc-make-connection
      :process (make-process :name "backstaff-fake" :command (backstaff-test-fake-command)
                             :connection-type 'pipe :coding 'binary :noquery t
                             :stderr stderr)
      :name "the fake server"
      :log-function (lambda (text) (push text backstaff-test-notes))
      :stderr-function
      (lambda ()
        (while (accept-process-output stderr 0.05 nil t))
        (delete-process stderr)
        (substring errors (max 0 (- (length errors) 200))))))))

(defmacro backstaff-test-condition (&rest body)
  "Run BODY and return the `backstaff-error', or the quit, that it ends in."
  (declare (indent 0) (debug t))
  (let ((problem (make-symbol "problem")))
    `(condition-case ,problem
         (progn ,@body (ert-fail "No condition was signalled"))
       ((backstaff-error quit) ,problem))))

(defmacro backstaff-test-should-fail (symbol regexp &rest body)
  "Check that BODY ends in condition SYMBOL, or a child, with a text like REGEXP."
  (declare (indent 2) (debug t))
  (let ((problem (make-symbol "problem")))
    `(let ((,problem (backstaff-test-condition ,@body)))
       (should (memq ,symbol (get (car ,problem) 'error-conditions)))
       (should (string-match-p ,regexp (backstaff-epc-error-text ,problem))))))

(defconst backstaff-test-fitting
  '(:path "." :pattern "[!-~]*" :query "go" :command_name "go")
  "A value for some required arguments, in a tree with a command named go.")

(defun backstaff-test-fitting-arguments (tool)
  "Return arguments with which TOOL, a definition, answers."
  (cl-loop for name in (if (equal (plist-get tool :id) "workspace/read_file")
                           '("path")    ; or a symbol, or ranges
                         (plist-get tool :required))
           for keyword = (intern (concat ":" name))
           append (list keyword
                        (or (and (eq keyword :path) (plist-get tool :reads-content)
                                 ".claude/commands/go.md")
                            ;; The pattern of other tools is a glob.
                            (and (eq keyword :pattern)
                                 (equal (plist-get tool :name) "regexp_search") ".*")
                            (plist-get backstaff-test-fitting keyword)
                            (backstaff-test--value-of-type tool name)))))

(defun backstaff-test--value-of-type (tool name)
  "Return a value for the argument NAME of TOOL, by its type."
  (let ((argument (cl-find name (plist-get tool :arguments) :test #'equal
                           :key (lambda (argument) (plist-get argument :name)))))
    (pcase (format "%s" (plist-get argument :type))
      ("string" "go")
      ("boolean" t)
      ("array" ["go"])
      (_ 1))))

;;; Buffers that are edited

(defconst backstaff-test-edits
  (string-to-number (or (getenv "BACKSTAFF_EDITS") "60"))
  "How many random edits are tried (BACKSTAFF_EDITS in the environment).")

(defmacro backstaff-test-with-files (variable names &rest body)
  "Run BODY with VARIABLE bound to buffers that visit files with NAMES.
Nothing is read from these files, so they may be on another host."
  (declare (indent 2) (debug (symbolp form body)))
  `(let ((create-lockfiles nil)
         (,variable nil))
     (unwind-protect
         (progn
           (dolist (name ,names)
             (with-current-buffer (generate-new-buffer (file-name-nondirectory name))
               (setq buffer-file-name name
                     buffer-file-coding-system 'utf-8-unix)
               (push (current-buffer) ,variable)))
           (setq ,variable (nreverse ,variable))
           ,@body)
       (dolist (buffer ,variable)
         (with-current-buffer buffer
           (setq buffer-file-name nil)
           (set-buffer-modified-p nil))
         (kill-buffer buffer)))))

(defun backstaff-test--edit ()
  "Change something in the current buffer, and keep it short."
  (goto-char (+ (point-min) (random (1+ (buffer-size)))))
  (if (zerop (random 3))
      (delete-region (point) (min (point-max) (+ (point) (random 9))))
    (insert (nth (random 6) '("ä" "line\n" "\n" "tab\t" "z" "€"))))
  (when (> (buffer-size) 1000)
    (delete-region 1 900)))

(defun backstaff-test-edits-are-read (root place)
  "Check that tools read what buffers of files in PLACE hold, after any edit.
PLACE is the name of the local directory ROOT, which may be that on a host."
  (dolist (modified '(0 1 20))
    (random "backstaff") ; the same edits each time
    (backstaff-test-with-files buffers
        (cl-loop for number below (max modified 1)
                 collect (format "%s%d.txt" place number))
      (cl-loop for buffer in buffers
               for codings = '(utf-8-unix iso-8859-15-dos utf-16le-with-signature-unix
                               utf-8-with-signature-dos iso-8859-15-unix)
               then (append (cdr codings) (list (car codings)))
               do (with-current-buffer buffer
                    (setq buffer-file-coding-system (car codings))
                    (insert "new")))
      (dotimes (edit backstaff-test-edits)
        (with-current-buffer (nth (random (length buffers)) buffers)
          (backstaff-test--edit)
          (let ((name (file-name-nondirectory buffer-file-name)))
            (when (zerop modified)
              (let ((coding-system-for-write buffer-file-coding-system))
                (write-region nil nil (expand-file-name name root) nil 'silent))
              (set-buffer-modified-p nil))
            (let* ((reply (backstaff-call 'workspace/read_file
                                          (list :path name :max_lines 500)
                                          (list :root place)))
                   (data (plist-get reply :data)))
              (ert-info ((format "edit %d, %d modified: %S" edit modified reply))
                (should (equal (plist-get data :content) (buffer-string)))
                (should (equal (format "%s" (plist-get data :source))
                               (if (zerop modified) ":disk" ":buffer")))))))))))

(defun backstaff-test-sent (function)
  "Call FUNCTION; return the lengths of all that was sent to processes meanwhile."
  (let* ((lengths nil)
         (note (lambda (_process text) (push (string-bytes text) lengths))))
    (advice-add 'process-send-string :before note)
    (unwind-protect (funcall function)
      (advice-remove 'process-send-string note))
    (nreverse lengths)))


;;; Warnings

(defmacro backstaff-test-with-warnings (&rest body)
  "Run BODY with `warnings' bound to the texts that it warns of, the last first."
  (declare (indent 0) (debug t))
  `(let ((warnings nil) (inhibit-message t))
     (cl-letf (((symbol-function 'display-warning)
                (lambda (type text &rest _)
                  (should (eq type 'backstaff))
                  (push text warnings))))
       ,@body)))

(defmacro backstaff-test-without-library (library &rest body)
  "Run BODY as if LIBRARY, a symbol, were not installed."
  (declare (indent 1) (debug t))
  `(cl-letf* ((require (symbol-function 'require))
              ((symbol-function 'require)
               (lambda (feature &rest more)
                 (if (eq feature ,library)
                     (unless (cadr more) (signal 'file-missing '("Cannot open load file")))
                   (apply require feature more)))))
     ,@body))

(provide 'backstaff-test-support)
;;; backstaff-test-support.el ends here
