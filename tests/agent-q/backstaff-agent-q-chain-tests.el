;;; backstaff-agent-q-chain-tests.el --- From a real Lisp to the server and back  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make test-el' runs this: an SBCL, connected to this Emacs by SLIME,
;; has a stand-in for Agent-Q, whose tools call our own server.  Where SBCL or
;; SLIME is missing, the tests are skipped.
;;
;; BACKSTAFF_AGENT_Q may name a Lisp file that loads the real Agent-Q instead.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-agent-q)
(require 'json)
(require 'slime nil t)

(declare-function slime-connect "ext:slime"
                  (host port &optional coding-system interactive-p &rest parameters))
(declare-function slime-connected-p "ext:slime" ())
(declare-function slime-disconnect-all "ext:slime" ())
(declare-function slime-eval "ext:slime" (sexp &optional package))
(declare-function slime-eval-async "ext:slime" (sexp &optional cont package))
(defvar slime-backend)
(defvar slime-contribs)
(defvar slime-path)
(defvar slime-enable-evaluate-in-emacs)


;;; The Lisp

(defconst backstaff-chain-directory
  (file-name-directory (or load-file-name buffer-file-name))
  "Where these tests are.")

(defvar backstaff-chain-lisp nil
  "The process of the Lisp, which serves all tests.")

(defun backstaff-chain-command ()
  "Return the command for a Lisp with Swank and Agent-Q."
  (list "sbcl" "--script" (expand-file-name "start.lisp" backstaff-chain-directory)
        (expand-file-name slime-backend slime-path)
        (expand-file-name ".cache/swank/" backstaff-test-repository)
        (or (getenv "BACKSTAFF_AGENT_Q")
            (expand-file-name "stand-in.lisp" backstaff-chain-directory))))

(defun backstaff-chain-start ()
  "Start the Lisp, connect to it, and load what the tests call there."
  (let ((output ""))
    (setq backstaff-chain-lisp
          (make-process :name "lisp" :command (backstaff-chain-command)
                        :connection-type 'pipe :noquery t
                        :filter (lambda (_ text) (setq output (concat output text)))))
    ;; The first time, Swank has to be compiled.
    (backstaff-test-wait-for (string-match "^port \\([0-9]+\\)\n" output))
    (let ((slime-contribs nil))
      (slime-connect "127.0.0.1" (string-to-number (match-string 1 output))))
    (backstaff-test-wait-for (slime-connected-p))
    (slime-eval `(cl:not (cl:load ,(expand-file-name "calls.lisp" backstaff-chain-directory))))))

(defun backstaff-chain-setup ()
  "Let the Lisp's Agent-Q call us; return the message to the user."
  (let ((told nil))
    (cl-letf (((symbol-function 'message)
               (lambda (format &rest arguments)
                 (setq told (apply #'format format arguments)))))
      (backstaff-agent-q-setup)
      (backstaff-test-wait-for told))
    told))

(defmacro backstaff-chain-with-lisp (tree &rest body)
  "Run BODY with a Lisp whose Agent-Q has a project that holds TREE.
Emacs itself is elsewhere."
  (declare (indent 1) (debug t))
  `(progn
     (backstaff-test-needs "SLIME" (featurep 'slime))
     (backstaff-test-needs "Swank" (file-exists-p (expand-file-name slime-backend slime-path)))
     (backstaff-test-needs "SBCL" (executable-find "sbcl"))
     (let ((slime-enable-evaluate-in-emacs t)
           (inhibit-message t))
       (unless (process-live-p backstaff-chain-lisp)
         (backstaff-chain-start))
       (backstaff-test-with-tree ,tree
         (backstaff-test-with-server (backstaff-test-command)
           (slime-eval `(agent-q-calls:set-root ,root))
           (backstaff-chain-setup)
           ;; The user has let models look below the root, which is no project.
           (let ((default-directory "/") (backstaff--root-answers (list (cons root t))))
             ,@body))))))

(defun backstaff-chain-call (name &rest pairs)
  "Return the Lisp's answer of the tool NAME to the arguments PAIRS."
  (slime-eval `(agent-q-calls:call ,name ,@pairs)))

(defmacro backstaff-chain-with-answer (function &rest body)
  "Run BODY where every tool is FUNCTION, of its id, arguments and context."
  (declare (indent 1) (debug t))
  `(let ((function ,function))
     (cl-letf (((symbol-function 'backstaff-call)
                (lambda (&rest arguments) (list :ok t :text (apply function arguments)))))
       ,@body)))


;;; Tools

(ert-deftest backstaff-chain-setup-registers-its-contracts-and-the-essential-tools ()
  (backstaff-chain-with-lisp nil
    ;; The Lisp breaks the line where it likes.
    (should (equal (replace-regexp-in-string "[ \n]+" " " (backstaff-chain-setup))
                   "Agent-Q calls Backstaff for: (\"get_file_info\" \"list_directory\"\
 \"codebase_search\" \"git_diff\" \"git_status_summary\" \"project_overview\" \"read_file\" \"regexp_search\"\
 \"search_files\" \"tree\")"))
    (should (equal (slime-eval '(agent-q-calls:definition "list_directory"))
                   '("list_directory"
                     "List files and subdirectories in a directory. Returns names, types, and sizes."
                     ((:name "path" :type :string
                       :description "Directory path (relative to project root)")
                      (:name "show_hidden" :type :boolean
                       :description "Include hidden files (default false)")
                      (:name "sort_by" :type :string
                       :description "Sort by: name, size, modified (default: name)"))
                     ("path") :safe (:filesystem :navigation))))
    (should (equal (cl-fourth (slime-eval '(agent-q-calls:definition "get_file_info")))
                   '("path")))
    (should (equal (plist-get (car (last (cl-third (slime-eval '(agent-q-calls:definition
                                                                  "tree")))))
                              :items)
                   '(:type :string)))))

(ert-deftest backstaff-chain-tools-of-agent-q-are-replaced-and-a-broken-one-goes ()
  (backstaff-chain-with-lisp '(("a.txt" . "x\n"))
    (dolist (name '("list_directory" "read_file" "search_files"))
      (should-not (equal (backstaff-chain-call name "path" "a.txt") "Agent-Q's own answer")))
    (should-not (slime-eval '(cl:and (agent-q-calls:tool "directory_tree") t)))
    ;; It works, and nothing here does its work.
    (should (equal (backstaff-chain-call "get_project_root") "Agent-Q's own answer"))))

(ert-deftest backstaff-chain-answers-with-the-tools-text ()
  (backstaff-chain-with-lisp '(("src" ("a.lisp" . "x") (".hidden" . "")) ("日本語.txt" . ""))
    (dolist (case '(("list_directory" ("path" ".") (:path "."))
                    ("list_directory" ("path" "src" "show_hidden" t "sort_by" "SIZE")
                     (:path "src" :show_hidden t :sort_by "SIZE"))
                    ("list_directory" ("path" "src" "show_hidden" nil) (:path "src"))
                    ("get_file_info" ("path" "日本語.txt") (:path "日本語.txt"))
                    ("get_file_info" ("path" "gone") (:path "gone"))
                    ("list_directory" ("path" "../") (:path "../"))
                    ("list_directory" nil nil)
                    ("tree" ("path" "." "exclude" nil) (:path "."))
                    ("tree" ("path" "." "entry_kind" "all" "max_depth" 2 "exclude" '("日*"))
                     (:path "." :entry_kind "all" :max_depth 2 :exclude ["日*"]))
                    ("search_files" ("query" "**/*.lisp" "kind" "glob")
                     (:query "**/*.lisp" :kind "glob"))
                    ("search_files" nil nil)
                    ("read_file" ("path" "src/a.lisp" "start_line" nil) (:path "src/a.lisp"))
                    ("regexp_search" ("pattern" "x" "include" (cl:vector "*.lisp") "literal" t)
                     (:pattern "x" :include ["*.lisp"] :literal t))))
      (pcase-let ((`(,name ,pairs ,args) case))
        (should (equal (apply #'backstaff-chain-call name pairs)
                       (backstaff-call-text name args (list :root root :agent t))))))))

(ert-deftest backstaff-chain-answers-in-the-filter-too ()
  (backstaff-chain-with-lisp '(("a.txt" . "x"))
    (let ((answers nil))
      (dolist (name '("list_directory" "get_file_info"))
        (slime-eval-async `(agent-q-calls:call ,name "path" "a.txt")
          (lambda (answer) (push answer answers))))
      (backstaff-test-wait-for (= (length answers) 2))
      (should (member "Error: 'a.txt' is a file, not a directory" answers))
      (should (cl-find (format "File: %sa.txt\n" root) answers :test #'string-prefix-p)))))

(ert-deftest backstaff-chain-keeps-to-the-root-of-agent-q ()
  (backstaff-chain-with-lisp '(("inner" ("a" . "")) ("b" . ""))
    (slime-eval `(agent-q-calls:set-root ,(concat root "inner/")))
    (push (cons (concat root "inner/") t) backstaff--root-answers)
    (should (string-prefix-p (format "Directory: %sinner/\n" root)
                             (backstaff-chain-call "list_directory" "path" ".")))
    (should (equal (backstaff-chain-call "list_directory" "path" "../" "root" root)
                   (concat "Error: Path '../' is outside project root\n[Unknown argument ignored: "
                           "root; there are: path, show_hidden, sort_by]")))
    (slime-eval `(agent-q-calls:set-root ,(concat root "gone/")))
    (should (string-prefix-p "Error: " (backstaff-chain-call "list_directory" "path" ".")))))

(ert-deftest backstaff-chain-asks-before-it-looks-outside-of-a-project ()
  (backstaff-chain-with-lisp '(("inner" ("a" . "")))
    (slime-eval `(agent-q-calls:set-root ,(concat root "inner/")))
    (should (string-prefix-p "Error: No project is here, so the root would be all of "
                             (backstaff-chain-call "list_directory" "path" ".")))))

(ert-deftest backstaff-chain-many-threads-get-each-their-own-answer ()
  (let ((names (mapcar (lambda (number) (format "f%d" number)) (number-sequence 1 20))))
    (backstaff-chain-with-lisp (mapcar #'list names)
      (should (equal (slime-eval `(agent-q-calls:call-often "list_directory" ',names))
                     (mapcar (lambda (name)
                               (format "Directory: %s%s/\nTotal: 0 files, 0 directories\n\n"
                                       root name))
                             names))))))


;;; Strings

(ert-deftest backstaff-chain-strings-survive-both-ways ()
  (backstaff-chain-with-lisp nil
    (backstaff-chain-with-answer
        (lambda (_id arguments _context)
          (should (string-match-p "\\`[ -~]*\\'" arguments))
          (alist-get 'path (json-read-from-string arguments)))
      (dolist (text (list "" "plain" "\"quoted\" \\back\\\\slash\\ 'it' `tick` #|hash|# %s ~A"
                          "line\nfeed\r\n\ttab\0nul\e[31m\177" "héé 日本語 عربى e\u0301"
                          "\N{GRINNING FACE}\N{WOMAN}\u200d\N{PERSONAL COMPUTER}\U0010fffd\ufffe"
                          (apply #'concat (make-list 5000 "100 KB: \"日\\\n\N{GRINNING FACE}"))))
        (should (equal (backstaff-chain-call "list_directory" "path" text) text))))))

(ert-deftest backstaff-chain-no-name-of-an-argument-is-evaluated ()
  (backstaff-chain-with-lisp nil
    (dolist (name '("path\" \"/\") (setq backstaff-chain-pwned 1) (\""
                    "a . nil) . nil)) (setq backstaff-chain-pwned 1) (quote . ((b"
                    "backstaff-chain-interned" "backstaff-chain\n" "backstaff-chain\\"))
      (should (string-prefix-p "Directory: "
                               (backstaff-chain-call "list_directory" "path" "." name "x")))
      (should-not (intern-soft "backstaff-chain-pwned"))
      (should-not (intern-soft name)))))

(ert-deftest backstaff-chain-answer-has-a-limit ()
  (backstaff-chain-with-lisp nil
    (let ((limit (lambda (_id _arguments context)
                   (number-to-string (plist-get context :max-output-bytes)))))
      (pcase-dolist (`(,backstaff-agent-max-output-bytes . ,sent)
                     '((2000000 . "1048576") (5000 . "5000")))
        (backstaff-chain-with-answer limit
          (should (equal (backstaff-chain-call "list_directory" "path" ".") sent)))))
    (backstaff-chain-with-answer (lambda (&rest _) (make-string (* 1024 1024) ?\"))
      (should (= (length (backstaff-chain-call "list_directory" "path" ".")) 1048576)))
    (should (string-prefix-p "Directory: "
                             (backstaff-chain-call "list_directory" "path" ".")))))


;;; Values

(ert-deftest backstaff-chain-json-of-nil-depends-on-the-parameter ()
  (backstaff-chain-with-lisp nil
    (let ((parameters '((:name "flag" :type :boolean) (:name "list" :type :array)
                        (:name "text" :type :string))))
      (pcase-dolist (`(,pairs . ,json)
                     '((nil . "{}")
                       (("flag" nil "list" nil "text" nil "other" nil)
                        . "{\"flag\":false,\"list\":[],\"text\":null,\"other\":null}")
                       (("flag" t "list" '("a" "b") "text" "x")
                        . "{\"flag\":true,\"list\":[\"a\",\"b\"],\"text\":\"x\"}")
                       (("flag" :false "list" (cl:vector 1 "a" :true) "text" :null)
                        . "{\"flag\":false,\"list\":[1,\"a\",true],\"text\":null}")
                       (("text" 'cl-user::false "list" (cl:vector))
                        . "{\"text\":false,\"list\":[]}")
                       (("text" (cl:float 1.5 1.0) "other" (cl:/ 1 4))
                        . "{\"text\":1.5,\"other\":0.25}")))
        (should (equal (slime-eval `(agent-q-calls:json ',parameters ,@pairs)) json))))))


;;; Faults

(ert-deftest backstaff-chain-failures-are-texts ()
  (backstaff-chain-with-lisp nil
    (let ((backstaff-server-command '("/nowhere/python")))
      (backstaff-stop)
      (should (string-match-p "\\`Error: .*/nowhere/python"
                              (backstaff-chain-call "list_directory" "path" "."))))
    (backstaff-chain-with-answer (lambda (&rest _) (signal 'quit nil))
      (let ((debug-on-quit nil))
        (should (equal (backstaff-chain-call "list_directory" "path" ".")
                       "Error: The user cancelled the call"))))
    (should (string-prefix-p "Directory: "
                             (backstaff-chain-call "list_directory" "path" ".")))))

(ert-deftest backstaff-chain-a-server-that-dies-is-a-text ()
  (backstaff-chain-with-lisp nil
    (let ((backstaff-server-command (backstaff-test-fake-command)))
      (backstaff-restart)
      (cl-letf (((symbol-function 'backstaff-agent-q--tools)
                 (lambda () '((:name "list_directory" :id die)))))
        (should (string-match-p "\\`Error: .*connection lost: .*exited with status 7"
                                (backstaff-chain-call "list_directory" "path" ".")))))
    (backstaff-stop)
    (should (string-prefix-p "Directory: "
                             (backstaff-chain-call "list_directory" "path" ".")))))

(ert-deftest backstaff-chain-lisp-does-not-wait-for-ever ()
  (backstaff-chain-with-lisp nil
    (slime-eval '(cl:setf backstaff-agent-q:*answer-timeout* 1/2))
    (unwind-protect
        (let ((answer nil))
          (backstaff-chain-with-answer
              ;; Emacs is busy until the Lisp has given up.
              (lambda (&rest _) (backstaff-test-wait-for answer) "late")
            (slime-eval-async '(agent-q-calls:call "list_directory" "path" ".")
              (lambda (text) (setq answer text)))
            (backstaff-test-wait-for answer)
            (should (equal answer "Error: Emacs did not answer within 1/2 seconds"))))
      (slime-eval '(cl:setf backstaff-agent-q:*answer-timeout* 60)))
    (should (string-prefix-p "Directory: "
                             (backstaff-chain-call "list_directory" "path" ".")))))

(ert-deftest backstaff-chain-setup-says-why-it-failed ()
  (backstaff-chain-with-lisp nil
    (let ((backstaff-server-command '("/nowhere/python")))
      (backstaff-stop)
      (should (string-match-p "\\`Agent-Q is as it was: .*/nowhere/python"
                              (backstaff-chain-setup))))))

(ert-deftest backstaff-chain-setup-refuses-a-lisp-that-would-hang ()
  (backstaff-chain-with-lisp nil
    (let ((slime-enable-evaluate-in-emacs nil))
      (should (string-match-p "slime-enable-evaluate-in-emacs"
                              (cadr (should-error (backstaff-agent-q-setup)
                                                  :type 'user-error)))))))

(provide 'backstaff-agent-q-chain-tests)
;;; backstaff-agent-q-chain-tests.el ends here
