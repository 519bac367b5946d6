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
     ;; Not everybody can install Debian's elpa-epc.
     (skip-unless (featurep 'epc))
     (backstaff-test-with-tree '(("a.txt" . "x") (".claude" ("commands" ("go.md" . "# Go\n"))))
       (let* ((epc:accept-process-timeout 10)
              (inhibit-message t)
              (default-directory root)
              (,variable (epc:start-epc (backstaff-test-python)
                                        (list "-I" (backstaff-test-main) "serve"
                                              "--root" root))))
         (unwind-protect (with-timeout (20 (ert-fail "epc.el waits for ever"))
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
            (should (eq (plist-get reply :ok) t))
            (should (equal (plist-get reply :tool) (symbol-name id)))
            (should (stringp (plist-get reply :text)))))))))

(ert-deftest backstaff-stock-epc-gets-a-failure-as-a-value ()
  (backstaff-stock-epc-with-manager manager
    (let ((reply (backstaff-stock-epc-call manager 'list_directory '(:path "../"))))
      (should (plist-member reply :ok))
      (should-not (plist-get reply :ok))
      (should (equal (plist-get reply :text)
                     "Error: Path '../' is outside project root")))))

(ert-deftest backstaff-stock-epc-learns-the-methods ()
  (backstaff-stock-epc-with-manager manager
    (let ((names (mapcar #'car (epc:sync manager (epc:query-methods-deferred manager)))))
      (dolist (name '(ping hello describe cancel list_directory agent-q/list_directory))
        (should (memq name names))))))

(provide 'backstaff-stock-epc-tests)
;;; backstaff-stock-epc-tests.el ends here
