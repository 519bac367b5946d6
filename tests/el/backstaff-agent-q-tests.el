;;; backstaff-agent-q-tests.el --- Tests of the tools for Agent-Q, without a Lisp  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The tests with a real Lisp are in tests/agent-q/.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-agent-q)

(defvar sly-enable-evaluate-in-emacs)
(defvar slime-enable-evaluate-in-emacs)

(defmacro backstaff-agent-q-tests-with-project (tree &rest body)
  "Run BODY beside a project that holds TREE, with our own server."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-project ,tree
     (let ((default-directory "/"))
       ,@body)))

(ert-deftest backstaff-agent-q-call-answers-below-the-root-it-is-told ()
  (backstaff-agent-q-tests-with-project '(("src" ("a" . "")))
    (should (string-prefix-p (format "Directory: %ssrc/\n" root)
                             (backstaff-agent-q-call "list_directory" "{\"path\":\"src\"}" root)))
    (should (equal (backstaff-agent-q-call "list_directory" "{\"path\":\"/etc\",\"root\":\"/\"}" root)
                   (concat "Error: Path '/etc' is outside project root\n[Unknown argument ignored: "
                           "root; there are: path, show_hidden, sort_by]")))))

(ert-deftest backstaff-agent-q-call-takes-no-root-but-the-agents ()
  (backstaff-agent-q-tests-with-project nil
    (let ((default-directory root))
      (dolist (wrong '(nil "" "src" t 5))
        (should (string-match-p "\\`Error: .*not absolute"
                                (backstaff-agent-q-call "list_directory" "{\"path\":\".\"}" wrong))))
      ;; No such directory here: it is not looked for on another machine.
      (should (string-prefix-p "Error: "
                               (backstaff-agent-q-call "list_directory" "{\"path\":\".\"}"
                                                       "/ssh:nowhere.invalid:/"))))))

(ert-deftest backstaff-agent-q-call-never-signals ()
  (backstaff-agent-q-tests-with-project nil
    (let ((debug-on-error t) (debug-on-signal t))
      (pcase-dolist (`(,name ,arguments)
                     '(("list_directory" "{") ("list_directory" "[]") ("list_directory" "")
                       ("list_directory" "{\"path\":5}") ("no_such_tool" "{}") ("" "{}")
                       (nil "{}") (5 "{}") ("list_directory" 5)))
        (ert-info ((format "%S" (list name arguments)))
          (should (string-prefix-p "Error: " (backstaff-agent-q-call name arguments root))))))))

(ert-deftest backstaff-agent-q-call-leaves-no-trace-in-the-filter ()
  (backstaff-agent-q-tests-with-project nil
    (with-temp-buffer
      (insert "00002a(:eval 1 1 form)")
      (string-match "b" "abc")
      (backstaff-agent-q-call "list_directory" "{\"path\":\".\"}" root)
      (should (equal (match-beginning 0) 1))
      (should (equal (buffer-string) "00002a(:eval 1 1 form)")))))

(ert-deftest backstaff-agent-q-call-returns-a-plain-string-of-limited-size ()
  (backstaff-agent-q-tests-with-project
      (mapcar (lambda (number) (list (format "%d-日本語-%s" number (make-string 60 ?x))))
              (number-sequence 1 400))
    (let ((text (backstaff-agent-q-call "list_directory" "{\"path\":\".\"}" root)))
      (should (multibyte-string-p text))
      (should-not (text-properties-at 0 text))
      (should (<= (string-bytes text) backstaff-agent-max-output-bytes))
      (let ((backstaff-agent-max-output-bytes 1000000))
        (should (> (string-bytes (backstaff-agent-q-call "list_directory" "{\"path\":\".\"}" root))
                   (string-bytes text)))))))

(ert-deftest backstaff-agent-q-call-tells-of-an-argument-that-no-tool-has ()
  (backstaff-agent-q-tests-with-project '(("a" . ""))
    (should (string-suffix-p
             (concat "(0.0 KB)\n[Unknown argument ignored: depth;"
                     " there are: path, show_hidden, sort_by]\n")
             (backstaff-agent-q-call "list_directory" "{\"path\":\".\",\"depth\":2}" root)))))

(defun backstaff-agent-q-tests-definition (name)
  "Return the definition of the tool NAME as Agent-Q gets it."
  (cl-find name (backstaff-agent-q-definitions) :test #'equal
           :key (lambda (definition) (plist-get definition :name))))

(defconst backstaff-agent-q-tests-names
  '("get_file_info" "list_directory"
    "codebase_search" "git_diff" "git_status_summary" "project_overview" "read_file"
    "regexp_search" "search_files" "tree")
  "The tools that Agent-Q gets: its two contracts, and the essential ones.")

(ert-deftest backstaff-agent-q-definitions-are-of-the-contracts-and-the-essential-tools ()
  (backstaff-agent-q-tests-with-project nil
    (should (equal (mapcar (lambda (definition) (plist-get definition :name))
                           (backstaff-agent-q-definitions))
                   backstaff-agent-q-tests-names))
    (should (equal (backstaff-agent-q-tests-definition "list_directory")
                   '(:parameters ((:name "path" :type :string
                                   :description "Directory path (relative to project root)")
                                  (:name "show_hidden" :type :boolean
                                   :description "Include hidden files (default false)")
                                  (:name "sort_by" :type :string
                                   :description "Sort by: name, size, modified (default: name)"))
                     :name "list_directory"
                     :description "List files and subdirectories in a directory. Returns names,\
 types, and sizes."
                     :required ("path") :safety-level :safe
                     :categories (:filesystem :navigation))))))

(ert-deftest backstaff-agent-q-definitions-are-told-as-to-any-agent ()
  (backstaff-agent-q-tests-with-project nil
    (cl-letf* ((tools (backstaff-tools))
               ((symbol-function 'backstaff-tools)
                (lambda ()
                  (cons '(:id "agent-q/more" :name "more" :toolset "agent-q" :description "See a/b."
                          :arguments ((:name "depth" :type :number :description "How deep."))
                          :model (:name "more" :description "See a_b."
                                  :arguments ("How deep (default 3)")))
                        tools))))
      (let ((definition (backstaff-agent-q-tests-definition "more")))
        (should (equal (plist-get definition :description) "See a_b."))
        (should (equal (plist-get definition :parameters)
                       '((:name "depth" :type :number :description "How deep (default 3)"))))))))

(ert-deftest backstaff-agent-q-call-reaches-any-tool-that-agent-q-has ()
  (backstaff-agent-q-tests-with-project '(("a.txt" . "one\n") ("b.txt" . "two\n"))
    (pcase-dolist (`(,name ,arguments ,regexp)
                   '(("read_file" "{\"path\":\"a.txt\"}" "one")
                     ("search_files" "{\"query\":\"b\"}" "^b\\.txt$")
                     ("regexp_search" "{\"pattern\":\"tw.\"}" "two")
                     ("tree" "{\"path\":\".\",\"entry_kind\":\"all\"}" "a\\.txt")))
      (ert-info (name)
        (should (string-match-p regexp (backstaff-agent-q-call name arguments root)))))
    (dolist (name '("forge_list_directory" "workspace/tree" "get_command"))
      (should (equal (backstaff-agent-q-call name "{}" root)
                     (format "Error: Agent-Q has no tool %s" name))))))

(ert-deftest backstaff-agent-q-definition-of-an-array-tells-of-its-items ()
  (backstaff-agent-q-tests-with-project nil
    (let* ((definition (backstaff-agent-q-tests-definition "tree"))
           (parameters (plist-get definition :parameters)))
      (should (equal (plist-get definition :required) '("path")))
      (should (equal (mapcar (lambda (parameter)
                               (list (plist-get parameter :name) (plist-get parameter :type)
                                     (plist-get parameter :items)))
                             parameters)
                     '(("path" :string nil) ("entry_kind" :string nil) ("max_depth" :number nil)
                       ("max_entries" :number nil) ("include_hidden" :boolean nil)
                       ("exclude" :array (:type :string))))))))

(ert-deftest backstaff-agent-q-definitions-never-signal ()
  (backstaff-test-with-server '("/nowhere/python")
    (let ((debug-on-error t) (debug-on-signal t))
      (should (string-match-p "\\`Error: .*/nowhere/python" (backstaff-agent-q-definitions))))))

(ert-deftest backstaff-agent-q-setup-says-what-to-set ()
  (cl-flet ((problem () (cadr (should-error (backstaff-agent-q-setup) :type 'user-error))))
    (cl-letf (((symbol-function 'sly-connected-p) #'ignore)
              ((symbol-function 'slime-connected-p) #'ignore)
              ((symbol-function 'sly-eval-async) (lambda (&rest _) 'sent))
              ((symbol-function 'slime-eval-async) (lambda (&rest _) 'sent)))
      (should (string-match-p "No Lisp is connected" (problem)))
      (pcase-dolist (`(,predicate ,variable)
                     '((slime-connected-p slime-enable-evaluate-in-emacs)
                       (sly-connected-p sly-enable-evaluate-in-emacs)))
        (cl-letf (((symbol-function predicate) #'always))
          (cl-progv (list variable) '(nil)
            (should (string-match-p (symbol-name variable) (problem))))
          (cl-progv (list variable) '(t)
            (should (eq (backstaff-agent-q-setup) 'sent))))))))

(ert-deftest backstaff-agent-q-setup-speaks-to-sly-and-to-slime ()
  (dolist (client '(sly slime))
    (let ((sent nil) (said nil)
          (sly-enable-evaluate-in-emacs t) (slime-enable-evaluate-in-emacs t))
      (cl-letf (((symbol-function 'sly-connected-p) (lambda () (eq client 'sly)))
                ((symbol-function 'slime-connected-p) #'always)
                ((symbol-function 'sly-eval-async)
                 (lambda (form callback) (push form sent) (funcall callback '("" "(\"x\")"))))
                ((symbol-function 'slime-eval-async)
                 (lambda (form callback) (push form sent) (funcall callback '("" "(\"x\")"))))
                ((symbol-function 'message)
                 (lambda (format &rest arguments) (setq said (apply #'format format arguments)))))
        (backstaff-agent-q-setup))
      (should (equal said "Agent-Q calls Backstaff for: (\"x\")"))
      (pcase-let ((`((,function ,text)) sent))
        (should (eq function (if (eq client 'sly) 'slynk:eval-and-grab-output
                               'swank:eval-and-grab-output)))
        (should (string-match "(load \"\\([^\"]*\\)\")" text))
        (should (file-exists-p (match-string 1 text)))))))

(provide 'backstaff-agent-q-tests)
;;; backstaff-agent-q-tests.el ends here
