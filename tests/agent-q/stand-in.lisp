;;;; stand-in.lisp --- What of Agent-Q its tools touch

;;;; SPDX-License-Identifier: GPL-3.0-or-later

;;;; The packages, names and conventions are those of Agent-Q and of the library cl-llm-provider
;;;; beneath it; what they do is as little as will do. Some tools of Agent-Q's own stand in the
;;;; registry, so that a test can tell which are replaced.

(defpackage #:cl-llm-provider
  (:use #:cl)
  (:export #:define-tool #:tool-name #:tool-description #:tool-parameters #:tool-required-params
           #:tool-safety-level #:tool-categories #:tool-handler))

(defpackage #:cl-llm-provider.tools
  (:use #:cl #:cl-llm-provider)
  (:export #:make-tool-registry #:registry-tools #:register-tool #:find-tool))

(defpackage #:agent-q
  (:use #:cl)
  (:export #:*project-root*))

(defpackage #:agent-q.tools
  (:use #:cl)
  (:import-from #:cl-llm-provider #:define-tool)
  (:import-from #:cl-llm-provider.tools #:make-tool-registry #:register-tool #:registry-tools)
  (:export #:*agent-q-registry* #:eval-in-emacs))

(in-package #:cl-llm-provider)

(defstruct (tool (:constructor make-tool (name description parameters required-params
                                          safety-level categories handler)))
  name description parameters required-params safety-level categories handler)

(defun define-tool (name description parameters
                    &key required (safety-level :safe) categories handler)
  "A tool, which is in no registry yet."
  (make-tool name description parameters required safety-level categories handler))

(in-package #:cl-llm-provider.tools)

(defstruct (registry (:constructor make-tool-registry (&key name)))
  name
  (tools (make-hash-table :test #'equal)))

(defun find-tool (registry name)
  "The tool in REGISTRY with NAME, or nil."
  (gethash name (registry-tools registry)))

(defun register-tool (registry tool &key replace)
  "Put TOOL into REGISTRY; one with its name must only be there if it may be REPLACEd."
  (when (and (find-tool registry (tool-name tool)) (not replace))
    (error "The tool ~S is registered already" (tool-name tool)))
  (setf (gethash (tool-name tool) (registry-tools registry)) tool))

(in-package #:agent-q)

(defvar *project-root* nil
  "The folder that tools may look at.")

(defun ensure-project-root ()
  "The root, which a test has set."
  (or *project-root* (error "No project root configured")))

(in-package #:agent-q.tools)

(defvar *agent-q-registry* (make-tool-registry :name "agent-q"))

(defun eval-in-emacs (form)
  "The value of FORM in Emacs; an error is a string."
  (handler-case (funcall (find-symbol "EVAL-IN-EMACS" "SWANK") form)
    (error (problem) (format nil "Error evaluating in Emacs: ~A" problem))))

(dolist (name '("list_directory" "read_file" "search_files" "directory_tree" "get_project_root"))
  (register-tool *agent-q-registry*
                 (define-tool name "Agent-Q's own" nil
                   :handler (constantly "Agent-Q's own answer"))))
