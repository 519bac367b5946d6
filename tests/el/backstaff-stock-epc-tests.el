;;; backstaff-stock-epc-tests.el --- Any EPC client can call every tool  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The client here is epc.el, whose protocol ours is, over TCP as it wants it.

;;; Code:

(require 'backstaff-test-support)
(require 'epc nil t)

(declare-function epc:start-epc "ext:epc" (server-prog server-args))
(declare-function epc:stop-epc "ext:epc" (mngr))
(declare-function epc:sync "ext:epc" (mngr d))
(declare-function epc:call-deferred "ext:epc" (mngr method-name args))
(declare-function epc:query-methods-deferred "ext:epc" (mngr))
(defvar epc:accept-process-timeout)
(defvar epc:debug-out)

(defmacro backstaff-stock-epc-with-manager (variable &rest body)
  "Run BODY with VARIABLE bound to epc.el's manager of our server."
  (declare (indent 1) (debug (symbolp body)))
  `(progn
     (backstaff-test-needs "epc" (featurep 'epc))
     (backstaff-test-with-tree '(("a.txt" . "x") (".claude" ("commands" ("go.md" . "# Go\n"))))
       (let* ((epc:accept-process-timeout 10)
              (inhibit-message t)
              (default-directory root)
              (,variable (epc:start-epc (backstaff-test-python)
                                        (list "-I" (backstaff-test-main) "serve"
                                              "--root" root))))
         (unwind-protect (with-timeout (60 (ert-fail "epc.el waits for ever"))
                           ,@body)
           (epc:stop-epc ,variable))))))

(defun backstaff-stock-epc-call (manager method &rest arguments)
  "Call METHOD with ARGUMENTS over MANAGER and return its value."
  (epc:sync manager (epc:call-deferred manager method arguments)))

(ert-deftest backstaff-stock-epc-shakes-hands ()
  (backstaff-stock-epc-with-manager manager
    (should (eq (backstaff-stock-epc-call manager 'ping) t))
    (let ((identity (backstaff-stock-epc-call manager 'hello)))
      (should (equal (plist-get identity :protocol) 1))
      (should (equal (file-truename (plist-get identity :root)) root)))))

(ert-deftest backstaff-stock-epc-calls-every-tool ()
  (backstaff-stock-epc-with-manager manager
    (let ((tools (backstaff-stock-epc-call manager 'describe)))
      (should tools)
      (dolist (tool tools)
        (let* ((id (intern (plist-get tool :id)))
               (reply (backstaff-stock-epc-call
                       manager id (backstaff-test-fitting-arguments tool))))
          (ert-info ((format "%s: %S" id reply))
            ;; The project is in no git repository.
            (should (eq (plist-get reply :ok) (not (string-search "/git_" (symbol-name id)))))
            (should (equal (plist-get reply :tool) (symbol-name id)))
            (should (stringp (plist-get reply :text)))))))))

(ert-deftest backstaff-stock-epc-gets-a-failure-as-a-value ()
  (backstaff-stock-epc-with-manager manager
    (let ((reply (backstaff-stock-epc-call manager 'list_directory '(:path "../"))))
      (should (plist-member reply :ok))
      (should-not (plist-get reply :ok))
      (should (equal (plist-get reply :text)
                     "Error: Path '../' is outside project root")))))

(ert-deftest backstaff-stock-epc-may-send-text-properties ()
  "A string out of a buffer has them, and `prin1' writes them."
  (backstaff-stock-epc-with-manager manager
    (cl-flet ((text (string) (propertize string 'face 'bold 'more (list "x" [y] (point-marker))))
              (tree (arguments) (plist-get (backstaff-stock-epc-call
                                            manager 'workspace/tree arguments)
                                           :text)))
      (let ((plain (tree '(:path "." :entry_kind "all" :exclude ("a.txt")))))
        (should (string-prefix-p "Tree of ./ with 1 directory" plain))
        (dolist (arguments (list (list :path (text ".") :entry_kind (text "all")
                                       :exclude (list (text "a.txt")))
                                 (list :path (concat (text ".") "/") :entry_kind "all"
                                       :exclude (vector (text "a.txt") (text "b")))
                                 (list (cons 'path (text ".")) (cons (text "entry_kind") "all")
                                       (list "exclude" (text "a.txt")))
                                 (text "{\"path\":\".\",\"entry_kind\":\"all\",\"exclude\":[\"a.txt\"]}")))
          (should (equal (tree arguments) plain)))))))

(ert-deftest backstaff-stock-epc-is-told-what-cannot-be-sent ()
  (backstaff-stock-epc-with-manager manager
    (should (string-match-p
             "the request holds '#<buffer'"
             (condition-case error
                 (format "%S" (backstaff-stock-epc-call
                               manager 'list_directory (list :path (current-buffer))))
               (error (format "%S" error)))))
    (should (eq (backstaff-stock-epc-call manager 'ping) t))))

(ert-deftest backstaff-stock-epc-learns-the-methods ()
  (backstaff-stock-epc-with-manager manager
    (let ((names (mapcar #'car (epc:sync manager (epc:query-methods-deferred manager)))))
      (dolist (name '(ping hello describe cancel list_directory agent-q/list_directory))
        (should (memq name names))))))

(provide 'backstaff-stock-epc-tests)
;;; backstaff-stock-epc-tests.el ends here
