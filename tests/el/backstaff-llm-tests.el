;;; backstaff-llm-tests.el --- Tests of the tools for llm  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; These run with a fake llm, or with the real one; see
;; backstaff-test-support.el.  The last need the real one.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-llm)

(declare-function llm-tool-function "ext:llm" (tool))
(declare-function llm-tool-name "ext:llm" (tool))
(declare-function llm-tool-description "ext:llm" (tool))
(declare-function llm-tool-args "ext:llm" (tool))
(declare-function llm-tool-async "ext:llm" (tool))
(declare-function llm-make-chat-prompt "ext:llm" (content &rest slots))
(declare-function llm-provider-utils-openai-arguments "ext:llm-provider-utils" (args))
(declare-function llm-provider-utils-execute-tool-uses "ext:llm-provider-utils"
                  (provider prompt tool-uses multi-output partial-result success-callback
                            error-callback))
(declare-function make-llm-provider-utils-tool-use "ext:llm-provider-utils" (&rest slots))
(declare-function make-llm-openai-compatible "ext:llm-openai" (&rest slots))
(defvar project-find-functions)

(defmacro backstaff-llm-tests-with-tools (&rest body)
  "Run BODY in a project, with llm and our own server."
  (declare (indent 0) (debug t))
  `(progn
     (backstaff-test-require 'llm "BACKSTAFF_LLM_DIR")
     (backstaff-test-with-tree '(("a.txt" . "") ("src" ("b.txt" . "")))
       (let ((project-find-functions '(backstaff-test-project)))
         (backstaff-test-with-server (backstaff-test-command) ,@body)))))

(defun backstaff-llm-tests-tool (name)
  "Return the tool NAME, as llm's object."
  (cl-find name (backstaff-llm-tools) :key #'llm-tool-name :test #'equal))

(defun backstaff-llm-tests-call (name &rest values)
  "Return the answer of the tool NAME to VALUES."
  (car (backstaff-test-answers
        (lambda (callback)
          (apply (llm-tool-function (backstaff-llm-tests-tool name)) callback values)))))


;;; Objects

(ert-deftest backstaff-llm-tools-warn-where-there-are-none ()
  (backstaff-test-with-warnings
    (backstaff-test-without-library 'llm
      (should-not (backstaff-llm-tools)))
    (should (string-match-p "Install llm" (car warnings)))
    (backstaff-test-require 'llm "BACKSTAFF_LLM_DIR")
    (backstaff-test-with-server '("/nowhere/python")
      (should-not (backstaff-llm-tools)))
    (should (= (length warnings) 2))
    (should (string-match-p "/nowhere/python.*\n.*\nThen call `backstaff-llm-tools'"
                            (car warnings)))))

(ert-deftest backstaff-llm-tools-are-objects-of-llm ()
  (backstaff-llm-tests-with-tools
    (let ((tools (backstaff-llm-tools)))
      (should (equal (mapcar #'llm-tool-name tools)
                     (mapcar (lambda (tool) (plist-get tool :name)) (backstaff-agent-tools))))
      (should (equal (mapcar #'llm-tool-description tools)
                     (mapcar (lambda (tool) (plist-get tool :description))
                             (backstaff-agent-tools))))
      (should (cl-every #'llm-tool-async tools)))
    (should (equal (llm-tool-args (backstaff-llm-tests-tool "list_directory"))
                   '((:name "path" :type string
                      :description "Directory path (relative to project root)")
                     (:name "show_hidden" :type boolean
                      :description "Include hidden files (default false)" :optional t)
                     (:name "sort_by" :type string
                      :description "Sort by: name, size, modified (default: name)" :optional t))))
    (should (equal (mapcar #'llm-tool-name (backstaff-llm-tools '("workspace" "forge")))
                   (mapcar (lambda (tool) (plist-get tool :name))
                           (backstaff-agent-tools '("workspace" "forge")))))))

(ert-deftest backstaff-llm-tools-are-fresh ()
  (backstaff-llm-tests-with-tools
    (let ((before (copy-tree (mapcar #'llm-tool-args (backstaff-llm-tools)) t)))
      (dolist (tool (backstaff-llm-tools))
        (dolist (arg (llm-tool-args tool))
          (setf (plist-get arg :type) "spoilt")))
      (should (equal (mapcar #'llm-tool-args (backstaff-llm-tools)) before)))))

(ert-deftest backstaff-llm-false-is-heard-where-true-is-the-default ()
  (backstaff-llm-tests-with-tools
    (let ((args (llm-tool-args (backstaff-llm-tests-tool "forge_list_directory"))))
      (should (equal (cl-find "include_files" args :test #'equal
                              :key (lambda (arg) (plist-get arg :name)))
                     '(:name "include_files" :type string
                       :description "List regular files (default true)"
                       :optional t :enum ["true" "false"])))
      (should (equal (cl-find "include_hidden" args :test #'equal
                              :key (lambda (arg) (plist-get arg :name)))
                     '(:name "include_hidden" :type boolean
                       :description "List names that start with a dot."
                       :optional t))))
    (dolist (value '(nil :null t "true"))
      (should (string-match-p "a.txt" (backstaff-llm-tests-call "forge_list_directory"
                                                                "." nil nil nil nil value))))
    (dolist (value '("false" :false :json-false))
      (should-not (string-match-p "a.txt" (backstaff-llm-tests-call "forge_list_directory"
                                                                    "." nil nil nil nil value))))))


;;; Calls

(ert-deftest backstaff-llm-tools-answer ()
  (backstaff-llm-tests-with-tools
    (should (string-prefix-p (format "Directory: %ssrc/\nTotal: 1 file" root)
                             (backstaff-llm-tests-call "list_directory" "src" nil :null)))
    (should (equal (backstaff-llm-tests-call "list_directory" "/etc")
                   "Error: Path '/etc' is outside project root"))))


;;; The real llm

(defun backstaff-llm-tests-needs-real ()
  "Skip the test unless this is the real llm, of which Debian has no package."
  (backstaff-test-require 'llm "BACKSTAFF_LLM_DIR")
  ;; Without the real llm, loading this library fails, and the test is skipped.
  (backstaff-test-needs "llm (BACKSTAFF_LLM_DIR)"
                        (ignore-errors (backstaff-test-require 'llm-openai "BACKSTAFF_LLM_DIR"))))

(defun backstaff-llm-tests-turn (&rest uses)
  "Let llm run USES, each a name and an alist of arguments; return the results."
  (let* ((outcome nil)
         (provider (make-llm-openai-compatible :url "http://localhost/"))
         (prompt (llm-make-chat-prompt "?" :tools (backstaff-llm-tools)))
         (tool-uses (mapcar (lambda (use)
                              (make-llm-provider-utils-tool-use
                               :id "id" :name (car use) :args (copy-tree (cdr use))))
                            uses)))
    (llm-provider-utils-execute-tool-uses
     provider prompt tool-uses nil nil
     (lambda (results) (push results outcome))
     (lambda (&rest problem) (ert-fail problem)))
    (backstaff-test-wait-for outcome)
    (should (= (length outcome) 1))
    (car outcome)))

(ert-deftest backstaff-llm-turn-of-many-calls ()
  ;; Debian has no package of llm; BACKSTAFF_LLM_DIR says where one is.
  (backstaff-llm-tests-needs-real)
  (backstaff-llm-tests-with-tools
    (let ((results (apply #'backstaff-llm-tests-turn
                          (cl-loop repeat 25
                                   collect '("list_directory" (path . "src") (show_hidden . :false))
                                   collect '("forge_list_directory"
                                             (path . ".") (include_files . "false"))))))
      (should (= (length results) 50))
      (pcase-dolist (`(,name . ,text) results)
        (if (equal name "list_directory")
            (should (string-prefix-p (format "Directory: %ssrc/\n" root) text))
          (should (string-match-p "\"path\":\"src\"" text))
          (should-not (string-match-p "a.txt" text)))))))

(ert-deftest backstaff-llm-schema-is-the-tools-own ()
  ;; Debian has no package of llm; BACKSTAFF_LLM_DIR says where one is.
  (backstaff-llm-tests-needs-real)
  (backstaff-llm-tests-with-tools
    (cl-loop for tool in (backstaff-llm-tools)
             for described in (backstaff-agent-tools)
             for schema = (json-parse-string
                           (json-serialize (llm-provider-utils-openai-arguments
                                            (llm-tool-args tool)))
                           :object-type 'plist :array-type 'list)
             do (should (equal (plist-get schema :required) (plist-get described :required)))
             do (should (equal (cl-loop for (_ property) on (plist-get schema :properties) by #'cddr
                                        collect (plist-get property :description))
                               (mapcar (lambda (argument) (plist-get argument :description))
                                       (plist-get described :arguments)))))))

(provide 'backstaff-llm-tests)
;;; backstaff-llm-tests.el ends here
