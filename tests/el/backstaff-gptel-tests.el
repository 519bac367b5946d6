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
(declare-function gptel-tool-confirm "ext:gptel" (tool))
(declare-function gptel-tool-include "ext:gptel" (tool))
(declare-function gptel-get-preset "ext:gptel" (name))
(declare-function gptel-make-fsm "ext:gptel-request" (&rest slots))
(declare-function gptel-fsm-info "ext:gptel-request" (fsm))
(declare-function gptel-fsm-state "ext:gptel-request" (fsm))
(declare-function gptel--handle-tool-use "ext:gptel-request" (fsm))
(declare-function gptel--parse-tools "ext:gptel-request" (backend tools))
(defvar gptel--known-tools)
(defvar gptel--known-presets)
(defvar gptel-confirm-tool-calls)
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
              (project-find-functions nil)
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
               do (should (eq (gptel-tool-include tool) 'call))
               do (should-not (gptel-tool-confirm tool))))
    (should (equal (gptel-tool-args (backstaff-gptel-tests-tool "list_directory"))
                   '((:name "path" :type "string"
                      :description "Directory path (relative to project root)")
                     (:name "show_hidden" :type "boolean"
                      :description "Include hidden files (default false)" :optional t)
                     (:name "sort_by" :type "string"
                      :description "Sort by: name, size, modified (default: name)" :optional t))))))

(ert-deftest backstaff-gptel-registers-again-what-gptel-has-changed ()
  (backstaff-gptel-tests-with-tools nil
    (let ((first (mapcar #'gptel-tool-args (backstaff-gptel-register)))
          (second (mapcar #'gptel-tool-args (backstaff-gptel-register))))
      (should (equal first second))
      (should (= (length (cdr (assoc "backstaff" gptel--known-tools)))
                 (length (backstaff-tools)))))))

(ert-deftest backstaff-gptel-registers-the-toolsets-it-is-told ()
  (backstaff-gptel-tests-with-tools nil
    (dolist (toolsets '("workspace" ("workspace" "forge")))
      (let ((names (mapcar #'gptel-tool-name (backstaff-gptel-register toolsets))))
        (should (member "tree" names))
        (should (equal names (mapcar (lambda (tool) (plist-get tool :name))
                                     (backstaff-agent-tools toolsets))))))))

(ert-deftest backstaff-gptel-makes-a-preset-of-the-five-best-and-one-of-all ()
  (backstaff-gptel-tests-with-tools nil
    (cl-flet ((names (preset) (mapcar #'gptel-tool-name
                                      (plist-get (plist-get (gptel-get-preset preset) :tools)
                                                 :append))))
      (let ((tools (backstaff-gptel-register)))
        (should (equal (names 'backstaff-all) (mapcar #'gptel-tool-name tools)))
        (should (equal (sort (names 'backstaff) #'string<)
                       '("project_overview" "regexp_search" "tree" "workspace_read_file"
                         "workspace_search_files"))))
      (backstaff-gptel-register "forge")
      (should (equal (names 'backstaff) (names 'backstaff-all))))))


;;; Trouble

(ert-deftest backstaff-gptel-register-warns-once-and-registers-when-the-trouble-is-over ()
  (backstaff-gptel-tests-with-tools nil
    (backstaff-test-with-warnings
      (let ((settings-file (make-temp-file "backstaff-" nil ".toml" "[policy]\nforbid = []\n"))
            (debug-on-error t))
        (unwind-protect
            (pcase-dolist (`(,words ,command ,file)
                           `(("no program /nowhere/python.*\n.*`backstaff-server-command'"
                              ("/nowhere/python") nil)
                             ("policy\\.forbid.*\n.*Mend the settings file"
                              ,backstaff-server-command ,settings-file)))
              (backstaff-stop)
              (let ((backstaff-server-command command) (backstaff-server-settings-file file)
                    (backstaff-agent--warnings nil))
                (setq warnings nil)
                (dotimes (_ 2)
                  (should-not (backstaff-gptel-register)))
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

(ert-deftest backstaff-gptel-register-warns-of-what-the-caller-has-to-mend ()
  (backstaff-gptel-tests-with-tools nil
    (backstaff-test-with-warnings
      (let ((backstaff-agent--warnings nil))
        (should-not (backstaff-gptel-register "workshop"))
        (should (string-match-p "no toolset workshop; there are: .*workspace" (car warnings)))
        (backstaff-test-without-library 'gptel
          (should-not (backstaff-gptel-register)))
        (should (string-match-p "Install gptel" (car warnings)))))))

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

(ert-deftest backstaff-gptel-asks-where-the-policy-does ()
  (backstaff-gptel-tests-with-tools
      "[policy]\nprompt = [\"agent-q/*\"]\ndeny = [\"workspace/*\"]\n"
    (backstaff-gptel-register)
    (should (gptel-tool-confirm (backstaff-gptel-tests-tool "list_directory")))
    (should-not (gptel-tool-confirm (backstaff-gptel-tests-tool "forge_list_directory")))
    (should-not (backstaff-gptel-tests-tool "tree"))
    (let* ((asked nil)
           (backstaff-approval-function (lambda (id _) (push id asked) nil)))
      (should (string-prefix-p "Directory: " (backstaff-gptel-tests-call
                                              "list_directory" "{\"path\": \".\"}")))
      (should-not asked)
      ;; Now gptel has asked nobody, so that somebody else must be.
      (let ((gptel-confirm-tool-calls nil))
        (should (string-match-p "did not approve"
                                (backstaff-gptel-tests-call
                                 "list_directory" "{\"path\": \".\"}")))
        (should (equal asked '("agent-q/list_directory")))))))


;;; The real gptel

(defun backstaff-gptel-tests-real-p ()
  "Return non-nil if this is the real gptel.
Debian has no package of it, so its tests run only where somebody has it."
  (backstaff-test-require 'gptel "BACKSTAFF_GPTEL_DIR")
  (fboundp 'gptel--handle-tool-use))

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
  ;; Debian has no package of gptel; BACKSTAFF_GPTEL_DIR says where one is.
  (skip-unless (backstaff-gptel-tests-real-p))
  (backstaff-gptel-tests-with-tools nil
    (let ((tools (backstaff-gptel-register))
          (uses (cl-loop repeat 25
                         collect '("list_directory" :path "src" :show_hidden :json-false)
                         collect '("get_file_info" :path "a.txt"))))
      (cl-loop for (listing info) on (apply #'backstaff-gptel-tests-turn tools uses) by #'cddr
               do (should (string-prefix-p (format "Directory: %ssrc/\n" root) listing))
               do (should (string-prefix-p (format "File: %sa.txt\n" root) info))))))

(ert-deftest backstaff-gptel-turn-outlives-the-server ()
  ;; Debian has no package of gptel; BACKSTAFF_GPTEL_DIR says where one is.
  (skip-unless (backstaff-gptel-tests-real-p))
  (backstaff-gptel-tests-with-tools nil
    (let ((tools (backstaff-gptel-register))
          (backstaff-server-command '("/nowhere/python")))
      (backstaff-stop)
      (dolist (result (apply #'backstaff-gptel-tests-turn tools
                             (make-list 3 '("tree" :path "."))))
        (should (string-match-p "\\`Error: .*/nowhere/python" result))))))

(ert-deftest backstaff-gptel-schema-is-the-tools-own ()
  ;; Debian has no package of gptel; BACKSTAFF_GPTEL_DIR says where one is.
  (skip-unless (backstaff-gptel-tests-real-p))
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

(provide 'backstaff-gptel-tests)
;;; backstaff-gptel-tests.el ends here
