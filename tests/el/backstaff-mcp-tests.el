;;; backstaff-mcp-tests.el --- Tests of backstaff-mcp.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Each entry is used as its client would: the program is started with the
;; arguments that stand in it, and asked for its tools.
;;
;; BACKSTAFF_MCP_EL_DIR of the environment may say where mcp.el is, and on an
;; Emacs before 30 jsonrpc.el of Emacs 30; else its test is skipped.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-mcp)
(require 'json)

(defvar mcp-server-connections)
(defvar mcp-server-wait-initial-time)
(declare-function mcp-connect-server "ext:mcp" (name &rest options))
(declare-function mcp-call-tool "ext:mcp" (connection name arguments))
(declare-function mcp-stop-server "ext:mcp" (name))
(declare-function mcp--tools "ext:mcp" (connection))

(defun backstaff-mcp-tests--command (client entry)
  "Return the program and its arguments in ENTRY of CLIENT's configuration."
  (pcase client
    ('agent-shell (cons (alist-get 'command entry) (alist-get 'args entry)))
    ('mcp-hub (cons (plist-get (cdr entry) :command) (plist-get (cdr entry) :args)))
    ('copilot (let ((server (plist-get entry :backstaff)))
                (cons (plist-get server :command) (append (plist-get server :args) nil))))
    ('json (let ((server (alist-get 'backstaff (alist-get 'mcpServers
                                                          (json-read-from-string entry)))))
             (cons (alist-get 'command server) (append (alist-get 'args server) nil))))
    ('shell (split-string-and-unquote (replace-regexp-in-string "\\\\\\(.\\)" "\\1" entry)))))

(defun backstaff-mcp-tests--ask (command &rest lines)
  "Start COMMAND, send it each of LINES, and return its answers to all, parsed."
  (let* ((output "")
         (process (make-process :name "backstaff-mcp" :command command :connection-type 'pipe
                                :noquery t :sentinel #'ignore :stderr nil
                                :filter (lambda (_ text) (setq output (concat output text))))))
    (unwind-protect
        (progn
          (dolist (line lines)
            (process-send-string process (concat line "\n")))
          (backstaff-test-wait-for (>= (cl-count ?\n output) (length lines)))
          (mapcar #'json-read-from-string (split-string output "\n" t)))
      (delete-process process))))

(defun backstaff-mcp-tests--names (command)
  "Return the names of the tools that the server of COMMAND offers."
  (let ((answer (backstaff-mcp-tests--ask
                 command "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}")))
    (mapcar (lambda (tool) (alist-get 'name tool))
            (alist-get 'tools (alist-get 'result (car answer))))))

(defun backstaff-mcp-tests--full (directory toolsets)
  "Return the program and the arguments for DIRECTORY and TOOLSETS, as a list."
  (let ((entry (cdr (backstaff-mcp-server 'mcp-hub directory toolsets))))
    (cons (plist-get entry :command) (plist-get entry :args))))

(ert-deftest backstaff-mcp-every-entry-starts-a-server ()
  (backstaff-test-with-tree '(("a b'c" . (("f" . "text"))))
    (let ((backstaff-server-command nil)
          (directory (expand-file-name "a b'c" root)))
      (dolist (client '(agent-shell mcp-hub copilot json shell))
        (let* ((entry (backstaff-mcp-server client directory))
               (command (backstaff-mcp-tests--command client entry)))
          (unless (eq client 'shell)
            (should (file-name-absolute-p (car command)))
            (should (string-suffix-p "/py_backend/backstaff.sh" (cadr command)))
            (should (equal (cadr (member "--root" command)) directory)))
          (when (eq client 'shell)
            (setq command (list shell-file-name shell-command-switch entry)))
          (should (equal (backstaff-mcp-tests--names command)
                         '("regexp_search" "read_file" "codebase_search" "search_files"
                           "project_overview" "git_diff" "git_status_summary"))))))))

(ert-deftest backstaff-mcp-entries-have-the-form-of-their-client ()
  (let* ((backstaff-server-command '("/bin/echo" "x"))
         (rest (cdr (backstaff-mcp-tests--full nil nil))))
    (should (equal (backstaff-mcp-server 'agent-shell)
                   `((name . "backstaff") (command . "/bin/echo") (args . ,rest) (env))))
    (should (equal (backstaff-mcp-server 'mcp-hub)
                   `("backstaff" . (:command "/bin/echo" :args ,rest))))
    (let ((entry (backstaff-mcp-server 'copilot)))
      (should (equal entry `(:backstaff (:command "/bin/echo" :args ,(vconcat rest)))))
      ;; copilot.el hands it to its server like this.
      (should (stringp (json-serialize entry))))
    (should (string-suffix-p ",\"alwaysLoad\":true,\"deferTools\":\"never\"}}}"
                             (backstaff-mcp-server 'json)))
    (should (string-prefix-p "/bin/echo x mcp" (backstaff-mcp-server 'shell)))))

(ert-deftest backstaff-mcp-entry-carries-the-options ()
  (let ((backstaff-server-command '("/bin/echo"))
        (backstaff-server-settings-file nil))
    (should (equal (backstaff-mcp-tests--full nil nil)
                   '("/bin/echo" "mcp")))
    (setq backstaff-server-settings-file "~/c.toml")
    (should (equal (backstaff-mcp-tests--full "~/p/" '("workspace" "commands"))
                   `("/bin/echo" "mcp" "--root" ,(expand-file-name "~/p")
                     "--tools" "workspace,commands" "--config" ,(expand-file-name "~/c.toml"))))))

(ert-deftest backstaff-mcp-entry-has-the-toolsets-that-were-asked-for ()
  (backstaff-test-with-tree '()
    (let ((backstaff-server-command (backstaff-test-command)))
      (should (equal (backstaff-mcp-tests--names
                      (backstaff-mcp-tests--full root '("commands")))
                     '("get_command" "list_commands" "search_commands"))))))

(defvar agent-shell-mcp-servers)
(defvar mcp-hub-servers)
(defvar copilot-mcp-servers)

(defun backstaff-mcp-tests--blocks (language)
  "Return the blocks of code in LANGUAGE that the page about MCP has."
  (with-temp-buffer
    (insert-file-contents (expand-file-name "docs/mcp.md" backstaff-test-repository))
    (cl-loop while (re-search-forward (format "^```%s\n\\(\\(?:.*\n\\)*?\\)```$" language) nil t)
             collect (match-string 1))))

(ert-deftest backstaff-mcp-lines-in-the-document-work ()
  (let ((agent-shell-mcp-servers nil) (mcp-hub-servers nil)
        (copilot-mcp-servers '(:other (:command "x")))
        (blocks (backstaff-mcp-tests--blocks "elisp")))
    (should (= (length blocks) 3))
    ;; As if these were loaded; `let' would not bind this variable for others.
    (cl-progv '(features) (list (append '(agent-shell mcp-hub copilot) features))
      (dolist (block blocks)
        (eval (car (read-from-string block)) t)))
    (should (equal (alist-get 'name (car agent-shell-mcp-servers)) "backstaff"))
    (should (member "--root" (plist-get (cdr (assoc "backstaff" mcp-hub-servers)) :args)))
    (should (plist-get copilot-mcp-servers :other))
    (should (file-executable-p (plist-get (plist-get copilot-mcp-servers :backstaff) :command))))
  (dolist (block (backstaff-mcp-tests--blocks "json"))
    (should (equal (backstaff-mcp-tests--command 'json block) '("backstaff" "mcp")))))

(ert-deftest backstaff-mcp-errors-say-what-to-do ()
  (should (string-search "on another host"
                         (cadr (should-error (backstaff-mcp-server 'json "/ssh:h:/x")
                                             :type 'user-error))))
  (should (string-search "there are: agent-shell, mcp-hub"
                         (cadr (should-error (backstaff-mcp-server 'nothing)
                                             :type 'user-error))))
  (let ((backstaff-server-command '("no-such-program")))
    (backstaff-test-should-fail 'backstaff-start-error "no program no-such-program"
      (backstaff-mcp-server 'json))))

(ert-deftest backstaff-mcp-el-lists-and-calls-every-tool ()
  (backstaff-test-needs "mcp.el (BACKSTAFF_MCP_EL_DIR)" (getenv "BACKSTAFF_MCP_EL_DIR"))
  (let ((load-path (append (split-string (getenv "BACKSTAFF_MCP_EL_DIR") path-separator t)
                           load-path)))
    (require 'jsonrpc)
    (require 'mcp))
  (backstaff-test-with-tree '(("go" . "go") (".claude" . (("commands" . (("go.md" . "go"))))))
    (let* ((backstaff-server-command (backstaff-test-command))
           (definitions (backstaff-test-with-server (backstaff-test-command)
                          (backstaff-agent-definitions)))
           (toolsets (seq-uniq (mapcar (lambda (tool) (plist-get tool :toolset)) definitions)))
           (entry (backstaff-mcp-server 'mcp-hub root toolsets))
           (mcp-server-wait-initial-time 0)
           ;; It learns from an error that a message is not complete yet, and ERT's debugger
           ;; would have that error first.
           (debug-on-error nil))
      (unwind-protect
          (progn
            (apply #'mcp-connect-server entry)
            (let ((connection (gethash "backstaff" mcp-server-connections)))
              ;; It goes on when Emacs is idle, which a batch Emacs never is.
              (backstaff-test-wait-for (progn (mapc #'timer-event-handler timer-idle-list)
                                              (mcp--tools connection)))
              (should (equal (mapcar (lambda (tool) (plist-get tool :name))
                                     (mcp--tools connection))
                             (mapcar (lambda (tool) (plist-get tool :name)) definitions)))
              (dolist (tool definitions)
                (let ((result (mcp-call-tool connection (plist-get tool :name)
                                             (backstaff-test-fitting-arguments tool))))
                  (should (eq (plist-get result :isError) :json-false))
                  (should (equal (length (plist-get result :content)) 1))))))
        (mcp-stop-server "backstaff")))))

(provide 'backstaff-mcp-tests)
;;; backstaff-mcp-tests.el ends here
