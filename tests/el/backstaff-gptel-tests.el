;;; backstaff-gptel-tests.el --- Tests of the tools for gptel  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These run with a fake gptel, or with the real one; see
;; backstaff-test-support.el.  The last need the real one.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-gptel)

(declare-function gptel-tool-function "ext:gptel" (tool))
(declare-function gptel-tool-name "ext:gptel" (tool))
(declare-function gptel-tool-description "ext:gptel" (tool))
(declare-function gptel-tool-args "ext:gptel" (tool))
(declare-function gptel-tool-async "ext:gptel" (tool))
(declare-function gptel-tool-category "ext:gptel" (tool))
(declare-function gptel-tool-include "ext:gptel" (tool))
(declare-function gptel-get-preset "ext:gptel" (name))
(declare-function gptel-make-fsm "ext:gptel-request" (&rest slots))
(declare-function gptel-fsm-info "ext:gptel-request" (fsm))
(declare-function gptel-fsm-state "ext:gptel-request" (fsm))
(declare-function gptel-make-openai "ext:gptel-openai" (name &rest slots))
(declare-function gptel-make-anthropic "ext:gptel-anthropic" (name &rest slots))
(declare-function gptel-make-gemini "ext:gptel-gemini" (name &rest slots))
(declare-function gptel-request "ext:gptel-request" (&optional prompt &rest options))
(declare-function gptel--handle-tool-use "ext:gptel-request" (fsm))
(declare-function gptel--apply-preset "ext:gptel" (preset &optional setter))
(declare-function gptel--parse-tools "ext:gptel-request" (backend tools))
(defvar gptel--known-tools)
(defvar gptel--known-presets)
(defvar gptel-backend)
(defvar gptel-confirm-tool-calls)
(defvar gptel-model)
(defvar gptel-tools)
(defvar gptel-use-curl)
(defvar gptel-use-tools)
(defvar project-find-functions)

(defmacro backstaff-gptel-tests-with-tools (settings &rest body)
  "Run BODY in a project where gptel knows nothing.
SETTINGS are the server's, a string, or nil."
  (declare (indent 1) (debug t))
  `(progn
     (backstaff-test-require 'gptel "BACKSTAFF_GPTEL_DIR")
     (backstaff-test-with-tree '(("a.txt" . "") ("src" ("b.txt" . "")))
       (let* ((gptel--known-tools nil)
              (gptel--known-presets nil)
              (gptel-confirm-tool-calls 'auto)
              (project-find-functions '(backstaff-test-project))
              (settings ,settings)
              (backstaff-server-settings-file
               (and settings (make-temp-file "backstaff-" nil ".toml" settings))))
         (unwind-protect
             (backstaff-test-with-server (backstaff-test-command) ,@body)
           (when settings (delete-file backstaff-server-settings-file)))))))

(defun backstaff-gptel-tests-tool (name)
  "Return the tool NAME that gptel knows."
  (cdr (assoc name (cdr (assoc "backstaff" gptel--known-tools)))))

(defun backstaff-gptel-tests-values (tool args)
  "Return the values in ARGS, a plist, in the order that TOOL wants them in."
  (mapcar (lambda (arg) (plist-get args (intern (concat ":" (plist-get arg :name)))))
          (gptel-tool-args tool)))

(defun backstaff-gptel-tests-call (name json)
  "Return the answer of the tool NAME to the arguments JSON, called as gptel does."
  (let ((tool (backstaff-gptel-tests-tool name)))
    (car (backstaff-test-answers
          (lambda (callback)
            (apply (gptel-tool-function tool) callback
                   (backstaff-gptel-tests-values
                    tool (json-parse-string json :object-type 'plist :null-object nil
                                            :false-object :json-false))))))))


;;; Registration

(ert-deftest backstaff-gptel-registers-every-tool ()
  (backstaff-gptel-tests-with-tools nil
    (let ((tools (backstaff-gptel-register)))
      (should (equal (mapcar #'gptel-tool-name tools)
                     (mapcar (lambda (tool) (plist-get tool :name)) (backstaff-agent-tools))))
      (cl-loop for tool in tools
               for described in (backstaff-agent-tools)
               do (should (eq tool (backstaff-gptel-tests-tool (gptel-tool-name tool))))
               do (should (equal (gptel-tool-description tool)
                                 (plist-get described :description)))
               do (should (equal (gptel-tool-category tool) "backstaff"))
               do (should (gptel-tool-async tool))
               do (should (eq (gptel-tool-include tool) 'call))))
    (should (equal (gptel-tool-args (backstaff-gptel-tests-tool "list_directory"))
                   '((:name "path" :type "string"
                      :description "Directory path (relative to project root)")
                     (:name "show_hidden" :type "boolean"
                      :description "Include hidden files (default false)" :optional t)
                     (:name "sort_by" :type "string"
                      :description "Sort by: name, size, modified (default: name)" :optional t))))))

(ert-deftest backstaff-gptel-registers-again-tools-that-gptel-has-changed ()
  (backstaff-gptel-tests-with-tools nil
    (let ((first (mapcar #'gptel-tool-args (backstaff-gptel-register)))
          (second (mapcar #'gptel-tool-args (backstaff-gptel-register))))
      (should (equal first second))
      (should (= (length (cdr (assoc "backstaff" gptel--known-tools)))
                 (length (backstaff-tools)))))))

(ert-deftest backstaff-gptel-registers-the-given-toolsets ()
  (backstaff-gptel-tests-with-tools nil
    (dolist (toolsets '("workspace" ("workspace" "forge")))
      (let ((names (mapcar #'gptel-tool-name (backstaff-gptel-register toolsets))))
        (should (member "tree" names))
        (should (equal names (mapcar (lambda (tool) (plist-get tool :name))
                                     (backstaff-agent-tools toolsets))))))))

(ert-deftest backstaff-gptel-makes-a-preset-of-the-seven-best-and-one-of-all ()
  (backstaff-gptel-tests-with-tools nil
    (cl-flet ((names (preset) (mapcar #'gptel-tool-name
                                      (plist-get (plist-get (gptel-get-preset preset) :tools)
                                                 :append))))
      (let ((tools (backstaff-gptel-register)))
        (should (equal (names 'backstaff-all) (mapcar #'gptel-tool-name tools)))
        (should (equal (sort (names 'backstaff) #'string<)
                       '("codebase_search" "git_diff" "git_status_summary" "project_overview"
                         "read_file" "regexp_search" "search_files"))))
      (backstaff-gptel-register "forge")
      (should (equal (names 'backstaff) (names 'backstaff-all))))))

(ert-deftest backstaff-gptel-presets-add-no-tool-twice ()
  (backstaff-gptel-tests-with-tools nil
    (let ((tools (backstaff-gptel-register)))
      ;; As in "@backstaff @backstaff-all".
      (let ((gptel-tools nil))
        (dolist (preset '(backstaff backstaff-all))
          (let ((spec (plist-get (gptel-get-preset preset) :tools)))
            (setq gptel-tools (funcall (plist-get spec :function)
                                       (append gptel-tools (plist-get spec :append))))))
        (should (= (length gptel-tools) (length tools)))))))

(ert-deftest backstaff-gptel-adds-no-tool-twice-for-two-presets ()
  (backstaff-gptel-tests-needs-real)
  (backstaff-gptel-tests-with-tools nil
    (let ((tools (backstaff-gptel-register)) (gptel-tools nil))
      (dolist (preset '(backstaff backstaff-all))
        (gptel--apply-preset preset (lambda (symbol value) (set symbol value))))
      (should (equal (sort (mapcar #'gptel-tool-name gptel-tools) #'string<)
                     (sort (mapcar #'gptel-tool-name tools) #'string<))))))


;;; Trouble

(ert-deftest backstaff-gptel-register-warns-and-registers-when-the-trouble-is-over ()
  (backstaff-gptel-tests-with-tools nil
    (backstaff-test-with-warnings
      (let ((settings-file (make-temp-file "backstaff-" nil ".toml" "[policy]\nforbid = []\n"))
            (debug-on-error t))
        (unwind-protect
            (pcase-dolist (`(,words ,command ,file)
                           `(("no program /nowhere/python.*\n.*`backstaff-server-command'"
                              ("/nowhere/python") nil)
                             ("policy\\.forbid is not known"
                              ,backstaff-server-command ,settings-file)))
              (backstaff-stop)
              (let ((backstaff-server-command command) (backstaff-server-settings-file file))
                (setq warnings nil)
                (should-not (backstaff-gptel-register))
                (should (equal (length warnings) 1))
                (should (string-match-p words (car warnings)))
                (should (string-match-p "M-x backstaff-gptel-register" (car warnings)))
                (should-not gptel--known-presets)))
          (delete-file settings-file)))
      (backstaff-restart)
      (setq warnings nil)
      (should (call-interactively #'backstaff-gptel-register))
      (should (gptel-get-preset 'backstaff))
      (should-not warnings))))

(ert-deftest backstaff-gptel-register-warns-the-caller-of-its-mistakes ()
  (backstaff-gptel-tests-with-tools nil
    (backstaff-test-with-warnings
      (should-not (backstaff-gptel-register "workshop"))
      (should (string-match-p "no toolset and no tool workshop" (car warnings)))
      (backstaff-test-without-library 'gptel
        (should-not (backstaff-gptel-register)))
      (should (string-match-p "Install gptel" (car warnings))))))

(ert-deftest backstaff-gptel-register-can-be-quit ()
  (backstaff-test-require 'gptel "BACKSTAFF_GPTEL_DIR")
  (backstaff-test-with-warnings
    (cl-letf (((symbol-function 'backstaff-tools) (lambda () (signal 'quit nil))))
      (let ((debug-on-quit nil))
        (should (eq (condition-case nil (backstaff-gptel-register) (quit 'quit)) 'quit)))
      (should-not warnings))))


;;; Calls

(ert-deftest backstaff-gptel-tools-answer ()
  (backstaff-gptel-tests-with-tools nil
    (backstaff-gptel-register)
    (should (string-prefix-p (format "Directory: %ssrc/\nTotal: 1 file" root)
                             (backstaff-gptel-tests-call
                              "list_directory" "{\"path\": \"src\", \"show_hidden\": false}")))
    (should (string-match-p "\"path\":\"a.txt\""
                            (backstaff-gptel-tests-call
                             "forge_list_directory" "{\"path\": \".\", \"max_depth\": null}")))
    (should-not (string-match-p "a.txt"
                                (backstaff-gptel-tests-call
                                 "forge_list_directory"
                                 "{\"path\": \".\", \"include_files\": false}")))
    (should (equal (backstaff-gptel-tests-call "list_directory" "{\"path\": \"/etc\"}")
                   "Error: Path '/etc' is outside project root"))
    (should (string-prefix-p "Error: " (backstaff-gptel-tests-call "tree" "{\"path\": 5}")))))


;;; Policy

(ert-deftest backstaff-gptel-user-is-asked-where-the-policy-says-so ()
  (backstaff-gptel-tests-with-tools
      "[policy]\nprompt = [\"agent-q/*\"]\ndeny = [\"workspace/*\"]\n"
    (backstaff-gptel-register)
    (should-not (backstaff-gptel-tests-tool "tree"))
    (let* ((asked nil) (answer nil)
           (backstaff-approval-function (lambda (id _) (push id asked) answer))
           (call (lambda () (setq asked nil)
                   (backstaff-gptel-tests-call "list_directory" "{\"path\": \".\"}"))))
      (should (string-match-p "did not approve" (funcall call)))
      (should (equal asked '("agent-q/list_directory")))
      (setq answer t)
      (should (string-prefix-p "Directory: " (funcall call)))
      (write-region "[policy]\ndeny = [\"agent-q/list_directory\"]\n"
                    nil backstaff-server-settings-file nil 'silent)
      (backstaff-restart)
      (should (string-match-p "policy of this server denies" (funcall call))))))


;;; The real gptel

(defun backstaff-gptel-tests-needs-real ()
  "Skip the test unless this is the real gptel, of which Debian has no package."
  (backstaff-test-require 'gptel "BACKSTAFF_GPTEL_DIR")
  (backstaff-test-needs "gptel (BACKSTAFF_GPTEL_DIR)" (fboundp 'gptel--handle-tool-use)))

(defun backstaff-gptel-tests-turn (tools &rest uses)
  "Let gptel run USES, each a name and arguments, of TOOLS; return the results."
  (let ((fsm (gptel-make-fsm
              :state 'TOOL :table nil :handlers nil
              :info (list :buffer (current-buffer) :backend t :tools tools :callback #'ignore
                          :tool-use (mapcar (lambda (use)
                                              (list :name (car use) :args (cdr use)))
                                            uses)))))
    (gptel--handle-tool-use fsm)
    ;; gptel leaves the state once, when all tools have answered.
    (backstaff-test-wait-for (plist-get (gptel-fsm-info fsm) :history))
    (should (equal (plist-get (gptel-fsm-info fsm) :history) '(TOOL)))
    (mapcar (lambda (use) (plist-get use :result))
            (plist-get (gptel-fsm-info fsm) :tool-use))))

(ert-deftest backstaff-gptel-fifty-calls-in-one-turn ()
  (backstaff-gptel-tests-needs-real)
  (backstaff-gptel-tests-with-tools nil
    (let ((tools (backstaff-gptel-register))
          (uses (cl-loop repeat 25
                         collect '("list_directory" :path "src" :show_hidden :json-false)
                         collect '("get_file_info" :path "a.txt"))))
      (cl-loop for (listing info) on (apply #'backstaff-gptel-tests-turn tools uses) by #'cddr
               do (should (string-prefix-p (format "Directory: %ssrc/\n" root) listing))
               do (should (string-prefix-p (format "File: %sa.txt\n" root) info))))))

(ert-deftest backstaff-gptel-turn-outlives-the-server ()
  (backstaff-gptel-tests-needs-real)
  (backstaff-gptel-tests-with-tools nil
    (let ((tools (backstaff-gptel-register))
          (backstaff-server-command '("/nowhere/python")))
      (backstaff-stop)
      (dolist (result (apply #'backstaff-gptel-tests-turn tools
                             (make-list 3 '("tree" :path "."))))
        (should (string-match-p "\\`Error: .*/nowhere/python" result))))))

(ert-deftest backstaff-gptel-schema-is-the-tools-own ()
  (backstaff-gptel-tests-needs-real)
  (backstaff-gptel-tests-with-tools nil
    (let ((parsed (json-parse-string
                   (json-serialize
                    (gptel--parse-tools 'any-backend (backstaff-gptel-register))
                    :null-object :null :false-object :json-false)
                   :object-type 'plist :array-type 'list)))
      (cl-loop for tool in (mapcar (lambda (entry) (plist-get entry :function)) parsed)
               for described in (backstaff-agent-tools)
               for schema = (plist-get tool :parameters)
               for properties = (plist-get schema :properties)
               do (should (equal (plist-get tool :description)
                                 (plist-get described :description)))
               do (should (equal (plist-get schema :required) (plist-get described :required)))
               do (should (equal (mapcar (lambda (argument)
                                           (list (intern (concat ":" (plist-get argument :name)))
                                                 (plist-get argument :type)
                                                 (plist-get argument :description)
                                                 (plist-get argument :enum)))
                                         (plist-get described :arguments))
                                 (cl-loop for (key property) on properties by #'cddr
                                          collect (list key
                                                        (intern (concat ":" (plist-get property :type)))
                                                        (plist-get property :description)
                                                        (plist-get property :enum)))))))))

(ert-deftest backstaff-gptel-models-see-the-parts-of-ranges ()
  (backstaff-gptel-tests-needs-real)
  (dolist (library '(gptel-anthropic gptel-gemini))
    (backstaff-test-require library "BACKSTAFF_GPTEL_DIR"))
  (backstaff-gptel-tests-with-tools nil
    (backstaff-gptel-register "workspace")
    (let ((tool (backstaff-gptel-tests-tool "read_file")))
      ;; The first is as for OpenAI.
      (dolist (backend (list 'any-backend (gptel-make-anthropic "one" :key "none")
                             (gptel-make-gemini "two" :key "none")))
        (let ((json (json-serialize (vconcat (gptel--parse-tools backend (list tool)))
                                    :null-object :null :false-object :json-false)))
          (ert-info (json)
            (should (string-search
                     "\"items\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\
\"start_line\":{\"type\":\"number\"},\"max_lines\":{\"type\":\"number\"},\
\"symbol\":{\"type\":\"string\"},\"around\":{\"type\":\"number\"},\
\"match\":{\"type\":\"string\"}}}" json)))))
      (should (equal (backstaff-gptel-tests-call
                      "read_file"
                      "{\"ranges\": [{\"path\": \"a.txt\"}, {\"path\": \"src/b.txt\"}]}")
                     "a.txt: empty, 0 lines\nsrc/b.txt: empty, 0 lines\n")))))

(defun backstaff-gptel-tests--model (calls requests)
  "Start a model on loopback and return its process, a server.
It answers the first request with CALLS, each a tool's name and its arguments,
and each other one with \"Done\".  REQUESTS is a list with one element, in
front of which each request is put, parsed."
  (make-network-process
   :name "backstaff-model" :server t :host 'local :service t :family 'ipv4 :coding 'binary
   :filter
   (lambda (process text)
     (let ((text (concat (process-get process :text) text)))
       (process-put process :text text)
       (when (and (string-match "\r\n\r\n" text)
                  (let ((start (match-end 0)) (case-fold-search t))
                    (string-match "^content-length: \\([0-9]+\\)" text)
                    (and (= (length text) (+ start (string-to-number (match-string 1 text))))
                         (push (json-parse-string (substring text start)
                                                  :object-type 'plist :array-type 'list)
                               (car requests)))))
         (let ((body (encode-coding-string
                      (json-serialize
                       (backstaff-gptel-tests--answer
                        (and (null (cdar requests)) calls)))
                      'utf-8)))
           (process-send-string
            process
            (format "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
Connection: close\r\nContent-Length: %d\r\n\r\n%s" (length body) body))
           (delete-process process)))))))

(defun backstaff-gptel-tests--answer (calls)
  "Return what OpenAI's interface answers: CALLS of tools, or \"Done\"."
  (let ((message
         (if (null calls) '(:role "assistant" :content "Done")
           (list :role "assistant" :content :null
                 :tool_calls
                 (vconcat (cl-loop for (name . arguments) in calls
                                   for number from 1
                                   collect `(:id ,(format "call-%d" number) :type "function"
                                             :function (:name ,name
                                                        :arguments ,(json-serialize
                                                                     arguments)))))))))
    `(:id "1" :object "chat.completion" :model "fake"
      :choices [(:index 0 :message ,message :finish_reason "stop")]
      :usage (:prompt_tokens 1 :completion_tokens 1 :total_tokens 2))))

(ert-deftest backstaff-gptel-session-uses-all-tools-of-emacs-in-one-turn ()
  (backstaff-gptel-tests-needs-real)
  (backstaff-test-require 'gptel-openai "BACKSTAFF_GPTEL_DIR")
  (backstaff-gptel-tests-with-tools nil
    (let* ((requests (list nil))
           (answer nil)
           (backstaff-approval-function #'always)
           (model (backstaff-gptel-tests--model
                   '(("emacs_context") ("emacs_read_buffer" :buffer "*backstaff shell*")
                     ("emacs_diagnostics" :path "src"))
                   requests))
           (gptel-use-curl nil)
           (gptel-backend (gptel-make-openai "fake"
                            :host (format "127.0.0.1:%d" (process-contact model :service))
                            :protocol "http" :key "none" :models '(fake)))
           (gptel-model 'fake)
           (gptel-use-tools t)
           (gptel-tools (backstaff-gptel-register "emacs"))
           (files (list (find-file-noselect "a.txt") (find-file-noselect "src/b.txt")
                        (get-buffer-create "*backstaff shell*"))))
      (unwind-protect
          (with-temp-buffer
            (setq default-directory root)
            (with-current-buffer (car files) (insert "frob"))
            (with-current-buffer (nth 2 files)
              (setq default-directory root)
              (insert "$ make\n"))
            (gptel-request "What am I looking at?"
              :buffer (current-buffer) :stream nil
              :callback (lambda (response _info)
                          (when (or (stringp response) (null response))
                            (setq answer (list response)))))
            (backstaff-test-wait-for answer)
            (should (equal answer '("Done")))
            (should (equal (length (car requests)) 2))
            (let ((told (cl-loop for message in (plist-get (caar requests) :messages)
                                 when (equal (plist-get message :role) "tool")
                                 collect (plist-get message :content))))
              (should (equal (length told) 4))
              (cl-loop for words in '("^Not saved yet: a\\.txt$"
                                      "\\`\"?\\*backstaff shell\\*\"? in \\./: lines 1-2 of 2\n1\t\\$ make"
                                      "no checker runs in: src/b\\.txt"
                                      "No back end here: [^;]*\\'") ; as no search is offered
                       for text in told
                       do (should (string-match-p words text)))))
        (delete-process model)
        (dolist (buffer files)
          (with-current-buffer buffer (set-buffer-modified-p nil))
          (kill-buffer buffer))))))

(provide 'backstaff-gptel-tests)
;;; backstaff-gptel-tests.el ends here
