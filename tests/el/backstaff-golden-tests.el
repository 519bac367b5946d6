;;; backstaff-golden-tests.el --- The golden cases, seen from Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; pytest reads the same cases.  Here they go all the way: from Emacs over the
;; wire to the server and back.

;;; Code:

(require 'backstaff-test-support)
(require 'json)

(defmacro backstaff-golden-with-cases (variable &rest body)
  "Run BODY with VARIABLE bound to the golden cases, their trees built."
  (declare (indent 1) (debug (symbolp body)))
  `(backstaff-test-with-tree nil
     ;; Times are in the zone of the server.
     (let ((process-environment (cons "TZ=UTC0" process-environment)))
       (backstaff-golden--build root)
       (let ((,variable (backstaff-golden--read (expand-file-name "cases.json"))))
         (backstaff-test-with-server (backstaff-test-command)
           ,@body)))))

(defun backstaff-golden--build (directory)
  "Build the trees of all cases below DIRECTORY."
  (with-temp-buffer
    (unless (zerop (call-process
                    (backstaff-test-python) nil t nil
                    (expand-file-name "tests/golden/build_trees.py"
                                      backstaff-test-repository)
                    directory))
      (ert-fail (list "The trees cannot be built" (buffer-string))))))

(defun backstaff-golden--read (file)
  "Return the cases in FILE as plists."
  (with-temp-buffer
    (insert-file-contents file)
    (json-parse-buffer :object-type 'plist :array-type 'list)))

(defun backstaff-golden--plain (value)
  "Return VALUE, of JSON, as Lisp that has no word for null."
  (and (not (eq value :null)) value))

(defun backstaff-golden--expected (case)
  "Return what CASE expects, as a list."
  (list (null (backstaff-golden--plain (plist-get case :error)))
        (plist-get case :tool)
        (plist-get case :text)
        (car (read-from-string (plist-get case :data)))
        (backstaff-golden--plain (plist-get case :error))
        (plist-get case :warnings)
        (plist-get case :json)))

(defun backstaff-golden--actual (reply)
  "Return what REPLY holds, in the form of `backstaff-golden--expected'."
  (list (plist-get reply :ok)
        (plist-get reply :tool)
        (plist-get reply :text)
        (plist-get reply :data)
        (plist-get (plist-get reply :error) :code)
        (plist-get reply :warnings)
        (plist-get reply :json)))

(defun backstaff-golden--check (case arguments)
  "Check that the tool of CASE replies to ARGUMENTS as CASE expects."
  (ert-info ((format "%s: %s" (plist-get case :tool) (plist-get case :name)))
    (should (equal (backstaff-golden--actual
                    (backstaff-call (plist-get case :tool) arguments
                                    (append (list :root (plist-get case :root))
                                            (plist-get case :context))))
                   (backstaff-golden--expected case)))))

(ert-deftest backstaff-golden-cases-hold-with-plists ()
  (backstaff-golden-with-cases cases
    (should cases)
    (dolist (case cases)
      (backstaff-golden--check case (plist-get case :arguments)))))

(ert-deftest backstaff-golden-cases-hold-with-json ()
  (backstaff-golden-with-cases cases
    (dolist (case cases)
      (backstaff-golden--check case (plist-get case :arguments_json)))))

(provide 'backstaff-golden-tests)
;;; backstaff-golden-tests.el ends here
