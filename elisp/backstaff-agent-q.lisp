;;;; backstaff-agent-q.lisp --- Navigation tools for Agent-Q, answered by Backstaff

;;;; SPDX-License-Identifier: GPL-3.0-or-later

;;;; Load this after Agent-Q, then call (backstaff-agent-q:install): Emacs says which tools
;;;; there are, and each is registered with a handler that calls Emacs.
;;;;
;;;; What goes to Emacs is a form that Emacs evaluates, and SLY and SLIME print the symbols in
;;;; it unescaped. So the model's arguments travel as one string of JSON: nothing that a model
;;;; says, not even the name of an argument, is ever made a symbol.

(unless (find-package '#:agent-q.tools)
  (error "Load Agent-Q first: there is no package AGENT-Q.TOOLS"))

(defpackage #:backstaff-agent-q
  (:use #:cl)
  (:export #:install #:*answer-timeout*))

(in-package #:backstaff-agent-q)

;;; Emacs

(defvar *answer-timeout* 60
  "For how many seconds to wait for Emacs, in SBCL. It gives up on its server long before.")

(defun ask (form)
  "The value of FORM in Emacs; a string, too, if Agent-Q says that there was an error."
  #+sbcl (handler-case (sb-ext:with-timeout *answer-timeout*
                         (agent-q.tools:eval-in-emacs form))
           (sb-ext:timeout () (error "Emacs did not answer within ~A seconds" *answer-timeout*)))
  #-sbcl (agent-q.tools:eval-in-emacs form))

(defun project-root ()
  "Agent-Q's project root as the operating system names it."
  (uiop:native-namestring (truename (agent-q::ensure-project-root))))

;;; JSON

(defun write-json-character (character stream)
  "Write CHARACTER, inside a string, in ASCII."
  (let ((code (char-code character)))
    (cond ((find character "\"\\") (format stream "\\~C" character))
          ((<= 32 code 126) (write-char character stream))
          ((< code #x10000) (format stream "\\u~4,'0X" code))
          (t (multiple-value-bind (high low) (floor (- code #x10000) #x400)
               (format stream "\\u~4,'0X\\u~4,'0X" (+ #xD800 high) (+ #xDC00 low)))))))

(defun write-json-string (string stream)
  "Write STRING as JSON."
  (write-char #\" stream)
  (loop for character across string do (write-json-character character stream))
  (write-char #\" stream))

(defun write-json-array (items stream)
  "Write ITEMS, a sequence, as JSON."
  (write-char #\[ stream)
  (let ((separator nil))
    (map nil (lambda (item)
               (when separator (write-char #\, stream))
               (setf separator t)
               (write-json item stream))
         items))
  (write-char #\] stream))

(defun write-json-object (table stream &optional (write-value #'write-json-member))
  "Write TABLE as JSON; WRITE-VALUE is called with a key, its value and STREAM."
  (write-char #\{ stream)
  (let ((separator nil))
    (maphash (lambda (key value)
               (when separator (write-char #\, stream))
               (setf separator t)
               (write-json-string (princ-to-string key) stream)
               (write-char #\: stream)
               (funcall write-value key value stream))
             table))
  (write-char #\} stream))

(defun write-json-member (key value stream)
  "Write VALUE, the value of any KEY, as JSON."
  (declare (ignore key))
  (write-json value stream))

(defun word (symbol)
  "The JSON for SYMBOL: T and NIL, or what a parser has for true, false and null."
  (cond ((or (eq symbol t) (string-equal symbol "true")) "true")
        ((string-equal symbol "false") "false")
        (t "null")))

(defun write-json (value stream)
  "Write VALUE, as a parser of JSON returned it, as JSON again."
  (etypecase value
    (string (write-json-string value stream))
    (symbol (write-string (word value) stream))
    (integer (format stream "~D" value))
    (real (format stream "~F" (coerce value 'double-float)))
    (hash-table (write-json-object value stream))
    (sequence (write-json-array value stream))))

;;; Arguments

(defun parameter-type (name parameters)
  "The type of the one of PARAMETERS with NAME; NIL if there is none."
  (getf (find name parameters :key (lambda (parameter) (getf parameter :name)) :test #'equal)
        :type))

(defun arguments-json (arguments parameters)
  "ARGUMENTS, the model's, as JSON.
A parser may have NIL for false, for null and for an empty array: PARAMETERS tell what it is."
  (flet ((write-argument (name value stream)
           (case (and (null value) (parameter-type name parameters))
             (:boolean (write-string "false" stream))
             (:array (write-string "[]" stream))
             (t (write-json value stream)))))
    (with-output-to-string (stream)
      (write-json-object (or arguments (make-hash-table)) stream #'write-argument))))

;;; Tools

(defun text (answer)
  "ANSWER, which Emacs gave, if it can be a tool's."
  (if (stringp answer)
      answer
      (format nil "Error: Emacs answered ~S" answer)))

(defun handler (name parameters)
  "A function of a model's arguments that calls the tool NAME, with PARAMETERS, through Emacs."
  (lambda (arguments)
    (handler-case (text (ask `(backstaff-agent-q-call ,name
                                                      ,(arguments-json arguments parameters)
                                                      ,(project-root))))
      (error (problem) (format nil "Error: ~A" problem)))))

(defun register (definition)
  "Register the tool of DEFINITION in place of Agent-Q's own, if it has one; return the name."
  (destructuring-bind (&key name description parameters required safety-level categories)
      definition
    (agent-q.tools::register-tool
     agent-q.tools:*agent-q-registry*
     (agent-q.tools::define-tool name description parameters
                                 :required required
                                 :safety-level safety-level
                                 :categories categories
                                 :handler (handler name parameters))
     :replace t)
    name))

(defparameter *superseded* '(("directory_tree" . "tree"))
  "Each tool of Agent-Q's own that has a successor with another name, and that name.")

(defun install ()
  "Register all of Backstaff's tools for Agent-Q and return their names.
A tool of Agent-Q's own goes if its successor is there under another name."
  (let ((definitions (ask '(backstaff-agent-q-definitions))))
    (unless (consp definitions)
      (error "Emacs did not say which tools there are. ~A" definitions))
    (let ((names (mapcar #'register definitions)))
      (loop for (old . new) in *superseded*
            when (member new names :test #'equal)
              do (remhash old (agent-q.tools::registry-tools agent-q.tools:*agent-q-registry*)))
      names)))
