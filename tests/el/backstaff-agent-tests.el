;;; backstaff-agent-tests.el --- Tests of backstaff-agent.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-agent)

(defvar project-find-functions)

(defmacro backstaff-agent-tests-with-settings (text &rest body)
  "Run BODY in a project, with our own server and TEXT as its settings."
  (declare (indent 1) (debug t))
  `(let ((backstaff-server-settings-file (make-temp-file "backstaff-" nil ".toml" ,text)))
     (unwind-protect (backstaff-test-with-project nil ,@body)
       (delete-file backstaff-server-settings-file))))

(defun backstaff-agent-tests-tool (id)
  "Return the tool ID as agents get it."
  (cl-find id (backstaff-agent-tools) :key (lambda (tool) (plist-get tool :id)) :test #'equal))

(defun backstaff-agent-tests-names (&optional toolsets)
  "Return an alist of the ids and names of the tools of TOOLSETS."
  (mapcar (lambda (tool) (cons (plist-get tool :id) (plist-get tool :name)))
          (backstaff-agent-tools toolsets)))

(defun backstaff-agent-tests-call (id &rest values)
  "Call the tool ID with VALUES, as an agent does, and return the text."
  (car (backstaff-test-answers
        (lambda (callback)
          (apply (backstaff-agent-function (backstaff-agent-tests-tool id) nil "tests")
                 callback values)))))

(defun backstaff-agent-tests-ask (id args callback)
  "Call the tool ID with ARGS, a plist, as an agent does; CALLBACK gets the text."
  (apply (backstaff-agent-function
          (list :id id :arguments (cl-loop for (key) on args by #'cddr
                                           collect (list :name (substring (symbol-name key) 1))))
          nil "tests")
         callback (cl-loop for (_ value) on args by #'cddr collect value)))

(defun backstaff-agent-tests-calling (id &optional args)
  "Return a function of a callback that calls the tool ID with ARGS."
  (lambda (callback) (backstaff-agent-tests-ask id args callback)))


;;; Tools

(ert-deftest backstaff-agent-tools-have-names-of-their-own ()
  (backstaff-test-with-project nil
    (let ((names (backstaff-agent-tests-names)))
      (should (equal (mapcar #'car names)
                     (mapcar (lambda (tool) (plist-get tool :id)) (backstaff-tools))))
      (should-not (cl-set-difference names (cl-delete-duplicates names :key #'cdr :test #'equal)))
      (should (equal (cdr (assoc "agent-q/list_directory" names)) "list_directory"))
      (should (equal (cdr (assoc "forge/list_directory" names)) "forge_list_directory")))))

(ert-deftest backstaff-agent-name-of-a-tool-does-not-depend-on-the-others ()
  (backstaff-test-with-project nil
    (let ((all (backstaff-agent-tests-names)))
      (should (equal (cdr (assoc "workspace/search_files" all)) "search_files"))
      (should (equal (cdr (assoc "workspace/tree" all)) "tree"))
      (dolist (toolsets '("agent-q" "forge" "workspace" ("forge" "agent-q") ("agent-q" "workspace")))
        (let ((names (backstaff-agent-tests-names toolsets)))
          (should names)
          (should-not (cl-set-difference names all :test #'equal)))))))

(ert-deftest backstaff-agent-descriptions-name-tools-as-the-model-knows-them ()
  (backstaff-test-with-project nil
    (let ((ids (regexp-opt (mapcar (lambda (tool) (plist-get tool :id)) (backstaff-tools)))))
      (cl-loop for tool in (backstaff-agent-tools)
               for described in (backstaff-tools)
               do (dolist (key '(:id :toolset :policy :parameters))
                    (should (equal (plist-get tool key) (plist-get described key))))
               do (should-not (string-match-p ids (plist-get tool :description)))
               do (dolist (parameter (plist-get tool :arguments))
                    (should-not (string-match-p ids (plist-get parameter :description))))))
    (should (equal (plist-get (backstaff-agent-tests-tool "forge/list_directory") :description)
                   "List directory entries"))))

(ert-deftest backstaff-agent-answers-name-tools-as-the-model-knows-them ()
  (backstaff-test-with-project '(("a" . "x"))
    (pcase-dolist (`(,id ,args ,for-models ,for-people)
                   '(("workspace/read_file" (:path ".")
                      ": search_files {\"path\": \"\\.\", .*} shows what is in it"
                      ": workspace/search_files {\"path\": \"\\.\", .*} shows what is in it")
                     ("emacs/read_buffer" (:buffer "workspace/tree")
                      "no buffer 'workspace/tree'.*; emacs_context names buffers; read_file reads"
                      "; emacs/context names buffers; workspace/read_file reads")))
      (ert-info (id)
        (backstaff-agent-tools)
        (let ((text (car (backstaff-test-answers (backstaff-agent-tests-calling id args)))))
          (should (string-match-p for-models text))
          (should-not (text-properties-at 0 text)))
        (let ((message (plist-get (plist-get (backstaff-call id args) :error) :message)))
          (should (string-match-p for-people message)))))))

(ert-deftest backstaff-agent-unknown-argument-is-the-last-line-of-the-text ()
  (backstaff-test-with-project '(("a" . "x") ("src" ("b" . "x")))
    (pcase-dolist (`(,id . ,args)
                   '(("workspace/regexp_search" :pattern "x" :path "src" :max_files 3)
                     ("agent-q/list_directory" :path "." :max_files 3)
                     ("emacs/context" :path "src" :max_files 3)))
      (ert-info (id)
        ;; A program reads the warnings, and a person reads its text.
        (should-not (string-match-p "Unknown" (plist-get (backstaff-call id args) :text)))
        (dolist (text (list (backstaff-call-text id args)
                            (car (backstaff-test-answers
                                  (lambda (callback)
                                    (backstaff-agent-tests-ask id args callback))))))
          (should (string-match-p "[^\n]\n\\[Unknown argument ignored: [^]]*max_files[^]]*\\]\n\\'"
                                  text))
          (should (eq (and (string-match-p "\\`[^[]*src/b" text) t)
                      (equal id "workspace/regexp_search"))))
        ;; The tool's own note about the rest comes before this one.
        (let ((text (backstaff-call-text id args '(:max-output-bytes 900))))
          (should (<= (string-bytes text) 900))
          (should (string-match-p "max_files\\(, path\\)?\\(; there are: .*\\)?\\]\n\\'" text)))))
    (should (string-suffix-p "\n[Unknown argument ignored: max_files, path; there are: none]\n"
                             (backstaff-call-text "emacs/context" '(:path "src" :max_files 3))))
    (should (equal (backstaff-call-text "forge/list_directory" '(:path "src" :max_files 3))
                   (backstaff-call-text "forge/list_directory" '(:path "src"))))))

(ert-deftest backstaff-agent-policy-names-tools-as-the-model-knows-them ()
  (backstaff-agent-tests-with-settings
      "[policy]\ndeny = [\"emacs/context\"]\nprompt = [\"workspace/read_file\"]\n"
    (backstaff-agent-tools)
    (let ((backstaff-approval-function (lambda (_id _args) nil)))
      (pcase-dolist (`(,id . ,said)
                     '(("emacs/context" . "denies the tool emacs_context\\'")
                       ("workspace/read_file" . "of the call of read_file\\'")))
        (should (string-match-p said (car (backstaff-test-answers
                                           (backstaff-agent-tests-calling
                                            id '(:path "a"))))))))))

(ert-deftest backstaff-agent-objects-in-a-list-have-their-properties ()
  (backstaff-test-with-project nil
    (let ((tool (cl-find "workspace/read_file" (backstaff-agent-tools) :test #'equal
                         :key (lambda (tool) (plist-get tool :id)))))
      (should (equal (plist-get (cl-find "ranges" (backstaff-agent-parameters tool) :test #'equal
                                         :key (lambda (one) (plist-get one :name)))
                                :items)
                     '(:type object
                       :properties (:path (:type "string") :start_line (:type "number")
                                    :max_lines (:type "number") :symbol (:type "string")
                                    :around (:type "number") :match (:type "string"))))))))

(ert-deftest backstaff-agent-every-argument-has-its-whole-description ()
  (backstaff-test-with-project nil
    (dolist (tool (backstaff-agent-tools))
      (cl-loop for told in (backstaff-agent-parameters tool)
               for parameter in (plist-get tool :arguments)
               for text = (plist-get told :description)
               do (ert-info ((format "%s %s" (plist-get tool :id) told))
                    (should (string-match-p "[a-z]" text))
                    (unless (member (plist-get parameter :default) '(nil 0 "" "."))
                      (should (string-match-p "\\<default\\>" text)))
                    ;; No model tries others than those between.
                    (dolist (key '(:minimum :maximum))
                      (when-let ((limit (plist-get parameter key)))
                        (when (< 1 limit 1000000)
                          (should (string-match-p (format "\\<%d\\>" limit) text))))))))))

(ert-deftest backstaff-agent-descriptions-give-the-limit-of-an-answer ()
  (backstaff-test-with-project nil
    (pcase-dolist (`(,limit ,text) '((24576 "24576 bytes") (4000 "4000 bytes")))
      (let ((backstaff-agent-max-output-bytes limit))
        (pcase-dolist (`(,id ,name) '(("workspace/read_file" "ranges")
                                      ("workspace/regexp_search" "offset")))
          (should (string-search
                   text (plist-get (cl-find name (plist-get (backstaff-agent-tests-tool id) :arguments)
                                            :test #'equal
                                            :key (lambda (one) (plist-get one :name)))
                                   :description))))))))

(ert-deftest backstaff-agent-unknown-toolset-is-named ()
  (backstaff-test-with-project nil
    (let ((problem (should-error (backstaff-agent-tools '("forge" "forget")) :type 'user-error)))
      (should (string-match-p "no toolset and no tool forget" (cadr problem))))))

(ert-deftest backstaff-agent-denied-tools-are-left-out ()
  (backstaff-agent-tests-with-settings
      "[policy]\ndeny = [\"agent-q/*\"]\nprompt = [\"workspace/tree\"]\n"
    (let ((names (backstaff-agent-tests-names)))
      (should-not (assoc "agent-q/list_directory" names))
      (should (equal (cdr (assoc "forge/list_directory" names)) "forge_list_directory")))
    (should-not (backstaff-agent-tools "agent-q"))
    (should (eq (plist-get (backstaff-agent-tests-tool "workspace/tree") :policy) :prompt))))

(ert-deftest backstaff-agent-parameters-are-typed ()
  (backstaff-test-with-project nil
    (should (equal (backstaff-agent-parameters (backstaff-agent-tests-tool "workspace/tree"))
                   '((:name "path" :type string :description "Directory path in workspace.")
                     (:name "entry_kind" :type string
                      :description "Node types to include (default: directory)."
                      :enum ["directory" "all"] :optional t)
                     (:name "max_depth" :type number
                      :description "Maximum traversal depth (default: 3; at most 12)" :optional t)
                     (:name "max_entries" :type number
                      :description "Maximum node count (default: 100; at most 1000)" :optional t)
                     (:name "include_hidden" :type boolean
                      :description "Include dot-prefixed entries (default: false)." :optional t)
                     (:name "exclude" :type array :description "Glob patterns to exclude paths."
                      :items (:type string) :optional t))))))

(ert-deftest backstaff-agent-parameters-are-fresh ()
  (backstaff-test-with-project nil
    (let* ((tool (backstaff-agent-tests-tool "workspace/tree"))
           (before (copy-tree (backstaff-agent-parameters tool) t)))
      (dolist (parameter (backstaff-agent-parameters tool))
        (aset (plist-get parameter :name) 0 ?X)
        (when-let ((enum (plist-get parameter :enum)))
          (aset (aref enum 0) 0 ?X)
          (aset enum 1 "spoilt"))
        (when-let ((items (plist-get parameter :items)))
          (setf (plist-get items :type) "string"))
        (setf (plist-get parameter :type) "spoilt"))
      (should (equal (backstaff-agent-parameters tool) before))
      (should (equal (plist-get (car (plist-get tool :arguments)) :name) "path")))))


;;; Arguments

(ert-deftest backstaff-agent-missing-arguments-are-left-out ()
  (let ((parameters '((:name "path" :type :string :required t) (:name "flag" :type :boolean)
                      (:name "list" :type :array))))
    (pcase-dolist (`(,values . ,args)
                   '((("a" t ["x"]) . (:path "a" :flag t :list ["x"]))
                     (("a" nil nil) . (:path "a"))
                     (("a" :null :null) . (:path "a"))
                     (("a" :json-false []) . (:path "a" :flag :false :list []))
                     (("a" :false) . (:path "a" :flag :false))
                     ((nil) . nil)))
      (cl-letf (((symbol-function 'backstaff-call-async)
                 (lambda (_id given &rest _) (should (equal given args)))))
        (apply (backstaff-agent-function (list :id "a/b" :arguments parameters) nil "tests")
               #'ignore values)))))

(ert-deftest backstaff-agent-values-reach-the-tool ()
  (backstaff-test-with-project '(("a" ("b" . "") (".c" . "")) (".d" . "") ("e.log" . ""))
    (should (equal (backstaff-agent-tests-call "workspace/tree" "." "all" 2 nil :json-false
                                               ["**/b" "*.log"])
                   (backstaff-call-text "workspace/tree"
                                        '(:path "." :entry_kind "all" :max_depth 2
                                          :exclude ("**/b" "*.log")))))
    (should (string-match-p "\\.d" (backstaff-agent-tests-call "workspace/tree" "." "all" nil nil t)))
    (should (string-match-p
             "\"path\":\"e.log\""
             (backstaff-agent-tests-call "forge/list_directory" "." nil nil nil nil nil)))
    (should-not (string-match-p
                 "e.log"
                 (backstaff-agent-tests-call "forge/list_directory" "." nil nil nil nil :json-false)))
    (should (string-match-p "\\`Error: .*path"
                            (backstaff-agent-tests-call "agent-q/list_directory" nil)))))


;;; Calls

(ert-deftest backstaff-agent-root-is-taken-when-the-model-calls ()
  (backstaff-test-with-project '(("one" ("a" . "")) ("two" ("b" . "")))
    (let ((function (backstaff-agent-function
                     (backstaff-agent-tests-tool "agent-q/list_directory") nil "tests")))
      (should (equal (apply #'backstaff-test-answers
                            (mapcar (lambda (name)
                                      (lambda (callback)
                                        (let ((default-directory (concat root name)))
                                          (funcall function callback "."))))
                                    '("one/" "two/")))
                     (mapcar (lambda (names)
                               (format "Directory: %s%s\nTotal: 1 file, 0 directories\n\n%s"
                                       root (car names) (cdr names)))
                             '(("one/" . "[FILE] a                  (0.0 KB)\n")
                               ("two/" . "[FILE] b                  (0.0 KB)\n"))))))))

(ert-deftest backstaff-agent-text-is-limited-by-the-option ()
  (backstaff-test-with-project
      (mapcar (lambda (number) (list (format "%03d-%s" number (make-string 60 ?x))))
              (number-sequence 1 400))
    (let ((whole (backstaff-call-text "agent-q/list_directory" '(:path "."))))
      (should (> (string-bytes whole) 20000))
      (dolist (limit '(1000 24576))
        (let ((backstaff-agent-max-output-bytes limit))
          (dolist (id '("agent-q/list_directory" "forge/list_directory"))
            (let ((text (backstaff-agent-tests-call id ".")))
              (should (<= (/ limit 2) (string-bytes text) limit))
              (when (equal id "forge/list_directory")
                (should (eq (plist-get (json-parse-string text :object-type 'plist) :truncated)
                            t)))))))
      (let ((backstaff-agent-max-output-bytes 1000000))
        (should (equal (backstaff-agent-tests-call "agent-q/list_directory" ".") whole))))))

(ert-deftest backstaff-agent-message-names-the-library-whose-callback-fails ()
  (backstaff-test-with-project '(("a" . ""))
    (let ((function (backstaff-agent-function
                     (backstaff-agent-tests-tool "agent-q/list_directory") nil "gptel"))
          (told nil))
      (cl-letf (((symbol-function 'message)
                 (lambda (format &rest values) (push (apply #'format format values) told))))
        (funcall function (lambda (_) (signal 'wrong-type-argument '(gptel-tool nil))) ".")
        (backstaff-test-wait-for told))
      (should (equal told '("gptel's callback for agent-q/list_directory failed:\
 Wrong type argument: gptel-tool, nil"))))))


;;; Roots and secrets

(defconst backstaff-agent-tests--no-project
  "\\`Error: No project is here, so the root would be all of .*, and the user has not allowed\
 that; ask the user to go to a file of a project (or M-x cd), or to set backstaff-root-directory\\'"
  "Beginning of the answer to a model if there is no project.")

(ert-deftest backstaff-agent-without-a-project-is-refused-where-nobody-can-be-asked ()
  (backstaff-test-with-project '((".authinfo" . "hunter2") ("a" . "plain"))
    (require 'backstaff-agent-q)
    (let ((project-find-functions nil)
          (tools '("workspace/read_file" "agent-q/list_directory" "emacs/context")))
      (dolist (id tools)
        (should (string-match-p backstaff-agent-tests--no-project
                                (backstaff-agent-tests-call id "a"))))
      (should (string-match-p backstaff-agent-tests--no-project
                              (backstaff-agent-q-call "read_file" "{\"path\": \"a\"}" root)))
      ;; A person may call anything.
      (should (plist-get (backstaff-call "workspace/read_file" '(:path "a") '(:person t)) :ok))
      (let ((backstaff-root-directory root))
        (should (string-match-p "plain" (backstaff-agent-tests-call "workspace/read_file" "a")))
        (should (string-match-p "plain" (backstaff-agent-q-call
                                         "read_file" "{\"path\": \"a\"}" root))))
      (let ((project-find-functions '(backstaff-test-project)))
        (should (string-match-p "plain" (backstaff-agent-tests-call "workspace/read_file" "a")))))))

(ert-deftest backstaff-agent-in-a-project-is-not-asked-about ()
  (backstaff-test-with-project '(("a" . "plain") (".git" ("HEAD" . "ref: refs/heads/x\n")))
    (let ((project-find-functions '(project-try-vc)))
      (should (string-match-p "plain" (backstaff-agent-tests-call "workspace/read_file" "a"))))))

(ert-deftest backstaff-agent-home-in-git-is-no-project-by-whatever-name ()
  (backstaff-test-with-project '(("a" . "plain") (".git" ("HEAD" . "ref: refs/heads/x\n"))
                                 ("docs" ("b" . "")) ("me" ("c" . "")))
    (let* ((project-find-functions '(project-try-vc))
           (link (make-temp-name (directory-file-name root)))
           (read (lambda (directory)
                   (let ((default-directory directory))
                     (backstaff-agent-tests-call "workspace/read_file" "a")))))
      (make-symbolic-link (directory-file-name root) link)
      (unwind-protect
          ;; A directory in which homes are is wider than a home.
          (dolist (home (list root link (concat link "/") (concat root "me") (concat link "/me/")))
            (let ((process-environment (cons (concat "HOME=" home) process-environment)))
              (dolist (directory (list root (concat root "docs/") (concat link "/")
                                       (concat link "/docs/")))
                (ert-info ((format "home %s, in %s" home directory))
                  (should (string-match-p backstaff-agent-tests--no-project
                                          (funcall read directory)))
                  ;; The rule for people is the same.
                  (should-not (backstaff-project-p (backstaff-root directory)))))))
        (delete-file link))
      (should (string-match-p "plain" (funcall read (concat root "docs/")))))))

(ert-deftest backstaff-agent-user-is-asked-once-for-a-directory-without-a-project ()
  (dolist (answer '(t nil))
    (backstaff-test-with-project '(("a" . "plain"))
      (let* ((project-find-functions nil) (questions nil)
             (backstaff-approval-function
              (lambda (&rest _) (push backstaff-approval-question questions)
                ;; Other calls come meanwhile.
                (accept-process-output nil 0.3)
                answer))
             (function (backstaff-agent-function
                        (backstaff-agent-tests-tool "workspace/read_file") nil "tests"))
             (call (lambda (callback) (funcall function callback "a"))))
        (dotimes (_ 2)
          (dolist (text (backstaff-test-answers call call call))
            (should (string-match-p (if answer "plain" backstaff-agent-tests--no-project) text))))
        (should (equal questions (list (format "No project is here.  Let models look at all below %s? "
                                               (abbreviate-file-name root)))))))))

(ert-deftest backstaff-agent-question-names-the-file-that-may-hold-secrets ()
  (dolist (settings '("" "[policy]\nprompt = [\"*\"]\n"))
    (backstaff-agent-tests-with-settings settings
      (write-region "hunter2" nil ".env" nil 'silent)
      (make-symbolic-link ".env" "notes.txt")
      (let* ((questions nil) (answer t)
             (backstaff-approval-function
              (lambda (&rest _) (push backstaff-approval-question questions) answer))
             (here (abbreviate-file-name root))
             (secret (format "Let workspace/read_file read \".env\" in %s, which may hold secrets? "
                             here))
             (tool (backstaff-agent-tests-tool "workspace/read_file"))
             (read (lambda ()
                     (setq questions nil)
                     (car (backstaff-test-answers
                           (lambda (callback)
                             (funcall (backstaff-agent-function tool nil "tests")
                                      callback "notes.txt")))))))
        (should (string-match-p "hunter2" (funcall read)))
        (should (equal (car questions) secret))
        (should (equal (cdr questions)
                       (and (not (equal settings ""))
                            (list (format "Let workspace/read_file run with (:path \"notes.txt\") in %s? "
                                          here)))))
        (setq answer nil)
        (should (string-match-p "did not approve" (funcall read)))
        (setq answer :unasked)
        (should (string-match-p (if (equal settings "")
                                    "\\`Error: Path 'notes.txt' cannot be read: its target '.env' may\
 hold secrets; the user can allow it in Emacs, or change secrets below \\[policy\\] in"
                                  "\\`Error: The tool read_file needs the approval of a person")
                                (funcall read)))))))

(ert-deftest backstaff-agent-arguments-make-no-person-of-a-model ()
  (backstaff-agent-tests-with-settings "[policy]\ndeny = [\"workspace/tree\"]\n"
    (write-region "hunter2" nil ".env" nil 'silent)
    (dolist (args '((:path ".env" :person t) (:path ".env" :approved t :secret ".env")
                    "{\"path\": \".env\", \"person\": true}"))
      (dolist (id '("workspace/read_file" "workspace/tree"))
        (let ((text (car (backstaff-test-answers (backstaff-agent-tests-calling id args)))))
          (should (string-prefix-p "Error: " text))
          (should-not (string-match-p "hunter2" text)))))
    (should (plist-get (backstaff-call "workspace/tree" '(:path ".") '(:person t)) :ok))))

(ert-deftest backstaff-agent-calls-never-signal ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((debug-on-error t))
      (pcase-dolist (`(,regexp ,id ,args)
                     `(("connection lost" die nil) ("protocol error" junk nil)
                       ("within 0.3 seconds" stall nil) ("no such thing" refuse nil)
                       ("not sendable" reply (:path ,(current-buffer))) ("" 5 nil)))
        (ert-info ((format "%S" id))
          ;; The others must not be cut short while a server starts.
          (let ((backstaff-call-timeout (if (eq id 'stall) 0.3 10)))
            (should (string-match-p
                     (concat "\\`Error: .*" regexp)
                     (car (backstaff-test-answers (backstaff-agent-tests-calling id args))))))
          (backstaff-restart))))))

(ert-deftest backstaff-agent-trouble-with-the-root-is-a-text ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((debug-on-quit nil))
      (pcase-dolist (`(,text . ,function)
                     `(("Error: Symbol’s value as variable is void: no-such-root"
                        . ,(lambda (_) (signal 'void-variable '(no-such-root))))
                       ("Error: The user cancelled the call" . ,(lambda (_) (signal 'quit nil)))))
        (let ((project-find-functions (list function))
              (text-quoting-style 'curve))
          (should (equal (backstaff-test-answers (backstaff-agent-tests-calling 'reply))
                         (list text))))))))

(ert-deftest backstaff-agent-server-that-cannot-start-is-a-text ()
  (backstaff-test-with-server '("/nowhere/python")
    (should (string-match-p "\\`Error: .*/nowhere/python"
                            (car (backstaff-test-answers
                                  (backstaff-agent-tests-calling 'reply)))))))

(ert-deftest backstaff-agent-answers-once-though-quit-late ()
  (let ((answers nil) (debug-on-quit nil))
    (cl-letf (((symbol-function 'backstaff-server-call-async)
               (cl-function
                (lambda (_method _args &key success-fn &allow-other-keys)
                  (run-at-time 0 nil success-fn '(:ok t :text "an answer"))
                  (signal 'quit nil)))))
      (backstaff-agent-tests-ask 'reply nil (lambda (text) (push text answers)))
      (should-not answers)
      (backstaff-test-wait-for answers)
      (accept-process-output nil 0.05)
      (should (= (length answers) 1)))))

(ert-deftest backstaff-agent-error-in-a-callback-is-the-callers-alone ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((inhibit-message t) (debug-on-error nil) (calls 0))
      (backstaff-agent-tests-ask 'reply nil (lambda (_) (cl-incf calls) (error "Mine")))
      (should (equal (backstaff-test-answers (backstaff-agent-tests-calling 'reply))
                     '("as text")))
      (should (= calls 1)))))


;;; Stress

(ert-deftest backstaff-agent-fifty-calls-at-once-get-each-their-own-answer ()
  (let ((names (mapcar (lambda (number) (format "d%d" number)) (number-sequence 1 50))))
    (backstaff-test-with-project (mapcar #'list names)
      (should (equal (apply #'backstaff-test-answers
                            (mapcar (lambda (name)
                                      (backstaff-agent-tests-calling 'agent-q/list_directory
                                                                     (list :path name)))
                                    names))
                     (mapcar (lambda (name)
                               (format "Directory: %s%s/\nTotal: 0 files, 0 directories\n\n"
                                       root name))
                             names))))))

(ert-deftest backstaff-agent-quit-in-one-call-leaves-the-others-alone ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((texts (backstaff-test-answers
                  (backstaff-agent-tests-calling 'stall)
                  (lambda (callback)
                    (run-at-time 0.1 nil (lambda () (setq quit-flag t)))
                    (should (equal (backstaff-call-text 'stall nil)
                                   "Error: The user cancelled the call"))
                    (backstaff-agent-tests-ask 'reply nil callback))
                  (backstaff-agent-tests-calling 'stall)
                  ;; Only this lets the server answer those that stall.
                  (backstaff-agent-tests-calling 'echo))))
      (should (equal (nth 1 texts) "as text"))
      (should (= (length (backstaff-test-call-server 'cancellations nil :timeout 5)) 1)))))

(ert-deftest backstaff-agent-dead-server-answers-every-call-with-text ()
  (backstaff-test-with-server (backstaff-test-fake-command)
    (let ((texts (apply #'backstaff-test-answers
                        (append (make-list 50 (backstaff-agent-tests-calling 'stall))
                                (list (backstaff-agent-tests-calling 'die))))))
      (dolist (text texts)
        (should (string-match-p "\\`Error: Backstaff connection lost: .*status 7" text))))
    (should (equal (backstaff-test-answers (backstaff-agent-tests-calling 'reply))
                   '("as text")))))

(ert-deftest backstaff-agent-killed-server-loses-no-call ()
  (backstaff-test-with-project nil
    (backstaff-call-text 'agent-q/list_directory '(:path "."))
    (let* ((process (backstaff-epc--process
                     (backstaff-server-ensure)))
           (calling (backstaff-agent-tests-calling 'agent-q/list_directory '(:path ".")))
           (texts (apply #'backstaff-test-answers
                         (append (make-list 25 calling)
                                 (list (lambda (callback)
                                         (signal-process process 'KILL)
                                         (funcall calling callback)))
                                 (make-list 25 calling)))))
      (dolist (text texts)
        (should (string-match-p "\\`\\(Directory: \\|Error: Backstaff connection lost: \\)" text)))
      (should (string-prefix-p "Directory: " (car (backstaff-test-answers calling)))))))

(provide 'backstaff-agent-tests)
;;; backstaff-agent-tests.el ends here
