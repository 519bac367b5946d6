;;; backstaff-arguments-tests.el --- Tests of backstaff-ui-arguments.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-ui-arguments)
(require 'json)

(defconst backstaff-arguments-tests-tool
  '(:id "zoo/feed" :arguments
    ((:name "path" :type :string :description "Where" :required t)
     (:name "food" :type :string)
     (:name "kind" :type :string :enum ("all" "some") :default "some")
     (:name "amount" :type :integer :minimum 1 :maximum 9)
     (:name "hungry" :type :boolean :default t)
     (:name "animals" :type :array :items :string)))
  "A tool with arguments of every type.")

(defun backstaff-arguments-tests-definition (name)
  "Return the definition of the argument NAME."
  (cl-find name (plist-get backstaff-arguments-tests-tool :arguments)
           :key (lambda (definition) (plist-get definition :name)) :test #'equal))

(defun backstaff-arguments-tests-read (name keys &optional current root)
  "Return what is read for the argument NAME if the user types KEYS.
CURRENT and ROOT are as in `backstaff-arguments-read-one'."
  (backstaff-test-typing keys
    (backstaff-arguments-read-one (backstaff-arguments-tests-definition name)
                                  (or root temporary-file-directory) current)))


;;; Reading

(ert-deftest backstaff-arguments-are-read-by-type ()
  (pcase-dolist (`(,name ,keys . ,expected)
                 '(("food" "o a t s RET" . "oats") ("food" "RET")
                   ("kind" "a TAB RET" . "all") ("kind" "RET")
                   ("amount" "7 RET" . 7) ("amount" "RET")
                   ("hungry" "n o RET" . :false) ("hungry" "y TAB RET" . t) ("hungry" "RET")
                   ("animals" "a SPC , RET b RET RET" "a ," "b") ("animals" "RET")))
    (ert-info ((format "%s: %s" name keys))
      (should (equal (backstaff-arguments-tests-read name keys) expected)))))

(ert-deftest backstaff-arguments-that-are-wrong-are-asked-for-again ()
  (pcase-dolist (`(,keys ,expected ,problem)
                 '(("0 RET C-a C-k 3 RET" 3 "at least 1")
                   ("1 0 RET C-a C-k 3 RET" 3 "at most 9")
                   ("2 . 5 RET C-a C-k 3 RET" 3 "whole number")
                   ("x RET C-a C-k 3 RET" 3 "a number")))
    (let ((prompts nil))
      (cl-letf* ((read (symbol-function 'read-from-minibuffer))
                 ((symbol-function 'read-from-minibuffer)
                  (lambda (prompt &rest arguments)
                    (push prompt prompts)
                    (apply read prompt arguments))))
        (should (equal (backstaff-arguments-tests-read "amount" keys) expected))
        (should (= (length prompts) 2))
        (should (string-match-p problem (car prompts)))))))

(ert-deftest backstaff-arguments-required-path-is-the-root-when-empty ()
  (should (equal (backstaff-arguments-tests-read "path" "RET") ".")))

(ert-deftest backstaff-arguments-are-all-read-and-the-empty-left-out ()
  (should (equal (backstaff-test-typing "s r c RET RET a l l RET 3 RET RET c a t RET RET"
                   (backstaff-arguments-read backstaff-arguments-tests-tool
                                             temporary-file-directory))
                 '(:path "src" :kind "all" :amount 3 :animals ("cat")))))

(ert-deftest backstaff-arguments-can-be-edited ()
  (let ((current '(:path "src" :food "oats" :kind "all" :amount 3 :hungry :false
                   :animals ("cat" "dog"))))
    (should (equal (backstaff-test-typing "RET RET RET RET RET RET RET RET"
                     (backstaff-arguments-read backstaff-arguments-tests-tool
                                               temporary-file-directory current))
                   current))
    (should (equal (backstaff-test-typing
                       "/ a RET C-a C-k RET C-a C-k RET C-a C-k 4 RET C-a C-k RET s RET RET RET"
                     (backstaff-arguments-read backstaff-arguments-tests-tool
                                               temporary-file-directory current))
                   '(:path "src/a" :amount 4 :animals ("cats" "dog"))))))


;;; Paths

(defun backstaff-arguments-tests-complete (string root)
  "Return all completions of STRING, a path below ROOT, sorted."
  (sort (all-completions string (backstaff-arguments--path-table root)) #'string<))

(defmacro backstaff-arguments-tests-in (tree &rest body)
  "Run BODY in a project that holds TREE, with our own server."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree ,tree
     (backstaff-test-with-server (backstaff-test-command) ,@body)))

(ert-deftest backstaff-arguments-paths-are-completed-below-the-root ()
  (backstaff-arguments-tests-in '(("src" ("deep" ("x.el" . "")) ("~tilde" ("y" . "")))
                                  ("sun.txt" . "") (".hid" . ""))
    (should (equal (backstaff-arguments-tests-complete "." root) '(".hid")))
    (should (equal (backstaff-arguments-tests-complete "" root) '(".hid" "src/" "sun.txt")))
    (should (equal (backstaff-arguments-tests-complete "src/" root) '("src/deep/" "src/~tilde/")))
    (should (equal (backstaff-arguments-tests-read "path" "s r TAB d TAB x TAB RET" nil root)
                   "src/deep/x.el"))
    (should (equal (backstaff-arguments-tests-complete "src/~tilde/" root) '("src/~tilde/y")))))

(ert-deftest backstaff-arguments-paths-are-not-completed-outside-of-the-root ()
  (backstaff-arguments-tests-in '(("in" ("a" . "")) ("out" ("b" . "")))
    (make-symbolic-link "../out" (expand-file-name "in/link"))
    (make-symbolic-link "nowhere" (expand-file-name "in/dangling"))
    (let ((inner (expand-file-name "in/")))
      (should (equal (backstaff-arguments-tests-complete "" inner) '("a" "dangling" "link")))
      (dolist (path (list "../" "link/" "dangling/" "/" "~/" root "a/../../" "missing/"))
        (ert-info (path)
          (should-not (backstaff-arguments-tests-complete path inner)))))))

(defvar backstaff-arguments-tests-operations nil
  "What a handler of file names was asked to do.")

(defun backstaff-arguments-tests-handler (operation &rest _)
  "Note OPERATION."
  (push operation backstaff-arguments-tests-operations)
  nil)

(ert-deftest backstaff-arguments-paths-are-completed-without-a-question ()
  (backstaff-arguments-tests-in '(("a" . ""))
    (cl-letf (((symbol-function 'backstaff-server-call)
               (lambda (&rest _)
                 '(:ok nil :text "Error: asks first" :error (:code "APPROVAL_REQUIRED"))))
              ((symbol-function 'y-or-n-p) (lambda (_) (ert-fail "Somebody was asked"))))
      (let ((noninteractive nil))
        (should-not (backstaff-arguments-tests-complete "" root))))))

(ert-deftest backstaff-arguments-paths-reach-no-handler ()
  (backstaff-arguments-tests-in '(("a" . ""))
    (setq backstaff-arguments-tests-operations nil)
    (let ((file-name-handler-alist '(("\\`/remote:" . backstaff-arguments-tests-handler))))
      (should (equal (backstaff-arguments-tests-read
                      "path" "/ r e m o t e : h o s t : / TAB e TAB RET" nil root)
                     "/remote:host:/e"))
      (should-not backstaff-arguments-tests-operations))))


;;; Writing

(ert-deftest backstaff-arguments-are-written-as-lisp-that-can-be-read ()
  (let ((arguments '(:path "a\n\"b\"" :hungry :false :animals ("x" "y") :amount 3)))
    (should (equal (read (backstaff-arguments-lisp "zoo/feed" arguments))
                   `(backstaff-call "zoo/feed" ',arguments)))))

(ert-deftest backstaff-arguments-are-written-as-json ()
  (should (equal (backstaff-arguments-json
                  '(:path "é\n" :hungry :false :show t :animals ("x" "y") :amount 3))
                 "{\"path\":\"é\\n\",\"hungry\":false,\"show\":true,\
\"animals\":[\"x\",\"y\"],\"amount\":3}"))
  (should (equal (backstaff-arguments-json nil) "{}")))

(provide 'backstaff-arguments-tests)
;;; backstaff-arguments-tests.el ends here
