;;;; calls.lisp --- What the tests do in the Lisp image

;;;; SPDX-License-Identifier: GPL-3.0-or-later

(defpackage #:agent-q-calls
  (:use #:cl)
  (:export #:tool #:definition #:set-root #:call #:call-often #:json))

(in-package #:agent-q-calls)

(defun tool (name)
  "The tool NAME in Agent-Q's registry."
  (gethash name (agent-q.tools::registry-tools agent-q.tools:*agent-q-registry*)))

(defun definition (name)
  "What a model is told of the tool NAME, as a list."
  (let ((tool (tool name)))
    (flet ((slot (reader) (funcall (find-symbol reader "CL-LLM-PROVIDER") tool)))
      (mapcar #'slot '("TOOL-NAME" "TOOL-DESCRIPTION" "TOOL-PARAMETERS" "TOOL-REQUIRED-PARAMS"
                       "TOOL-SAFETY-LEVEL" "TOOL-CATEGORIES")))))

(defun set-root (root)
  "Make ROOT Agent-Q's project root."
  (setf agent-q:*project-root* (pathname root))
  t)

(defun arguments (pairs)
  "A hash table of PAIRS, names and values by turns, as a parser of JSON makes one."
  (let ((table (make-hash-table :test #'equal)))
    (loop for (name value) on pairs by #'cddr
          do (setf (gethash name table) value))
    table))

(defun call (name &rest pairs)
  "The answer of the tool NAME to the arguments PAIRS."
  (funcall (cl-llm-provider::tool-handler (tool name)) (arguments pairs)))

(defun call-often (name paths)
  "The answers of the tool NAME, called in a thread of its own for each of PATHS."
  (let* ((connection swank::*emacs-connection*)
         (threads (mapcar (lambda (path)
                            (sb-thread:make-thread
                             (lambda ()
                               (swank::with-connection (connection)
                                 (call name "path" path)))))
                          paths)))
    (mapcar #'sb-thread:join-thread threads)))

(defun json (parameters &rest pairs)
  "The arguments PAIRS of a tool with PARAMETERS as they travel."
  (funcall (find-symbol "ARGUMENTS-JSON" "BACKSTAFF-AGENT-Q") (arguments pairs) parameters))
