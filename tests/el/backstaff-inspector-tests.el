;;; backstaff-inspector-tests.el --- Tests of backstaff-ui-inspector.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-ui-inspector)
(require 'backstaff-view-fixtures)
(require 'json)
(require 'project)

(defmacro backstaff-inspector-tests-with (command &rest body)
  "Run BODY in a project with COMMAND for a server, and one window."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree '(("src" ("a.el" . "1") ("b.el" . "2")) ("c.txt" . "3"))
     (backstaff-test-with-server ,command
       (save-window-excursion
         (delete-other-windows)
         (with-temp-buffer
           (switch-to-buffer (current-buffer))
           (setq default-directory root)
           (let ((project-find-functions nil)
                 (inhibit-message t)
                 (kill-ring nil))
             ,@body))))))

(defun backstaff-inspector-tests-text (buffer)
  "Return the text of BUFFER once the call is over."
  (with-current-buffer buffer
    (backstaff-test-wait-for (not backstaff-request--pending))
    (should-not (buffer-modified-p))
    (buffer-substring-no-properties (point-min) (point-max))))

(defun backstaff-inspector-tests-type (keys)
  "Type KEYS in the selected window and return the text of the inspector then."
  (let ((minibuffer-message-timeout 0))
    (execute-kbd-macro (kbd keys)))
  (backstaff-inspector-tests-text (window-buffer)))

(defun backstaff-inspector-tests-section (heading text)
  "Return what TEXT has below HEADING."
  (should (string-match (format "^\\* %s\n\\(\\(?:.\\|\n\\)*?\\)\\(?:\n\\* \\|\\'\\)" heading) text))
  (match-string 1 text))


;;; The reply

(ert-deftest backstaff-run-tool-suggests-the-visited-file ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((buffer (find-file (expand-file-name "src/a.el" root))))
      (unwind-protect
          (should (string-match-p
                   "(backstaff-call \"workspace/read_file\" '(:path \"a.el\"))"
                   (backstaff-inspector-tests-type
                    "M-x backstaff-run-tool RET workspace/read_file RET RET RET RET RET RET RET RET RET")))
        (kill-buffer buffer)))))

(ert-deftest backstaff-run-tool-takes-a-part-of-a-name-and-shows-first-sentences ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (should (equal (plist-get (backstaff-test-typing "project_o TAB RET"
                                (backstaff-inspector--read-tool))
                              :id)
                   "workspace/project_overview"))
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_ table &rest _)
                 (let ((annotate (plist-get completion-extra-properties :annotation-function)))
                   (dolist (id (all-completions "" table))
                     (ert-info (id)
                       (should (< (length (funcall annotate id)) 240))
                       (should-not (string-search "\n" (funcall annotate id)))))
                   "workspace/tree"))))
      (backstaff-inspector--read-tool))))

(ert-deftest backstaff-run-tool-asks-and-shows-all-forms ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((text (backstaff-inspector-tests-type
                 "M-x backstaff-run-tool RET forge/li TAB RET src RET y RET RET RET RET RET RET RET")))
      (should (string-match-p
               "(backstaff-call \"forge/list_directory\" '(:path \"src\" :recursive t))" text))
      (should (string-match-p (concat "Root +" (regexp-quote root)) text))
      (should (string-match-p "Success +and complete" text))
      (should (string-match-p "Time +[0-9]+ ms in the server, [0-9.]+ ms there and back" text))
      (let* ((reply (backstaff-call "forge/list_directory" '(:path "src" :recursive t)
                                    '(:json t)))
             (json-object-type 'plist) (json-array-type 'list) (json-false nil) (json-null nil))
        (should (equal (backstaff-inspector-tests-section "Text" text)
                       (concat (plist-get reply :text) "\n")))
        (should (equal (read (backstaff-inspector-tests-section "Plist" text))
                       (plist-get reply :data)))
        (should (equal (json-read-from-string (backstaff-inspector-tests-section "JSON" text))
                       (json-read-from-string (plist-get reply :json))))
        (should (string-match-p
                 (format "JSON +%d +%d to %d" (string-bytes (plist-get reply :json))
                         (/ (+ 3 (string-bytes (plist-get reply :json))) 4)
                         (ceiling (string-bytes (plist-get reply :json)) 2.5))
                 text))))))

(ert-deftest backstaff-list-entries-shows-what-forges-tool-gives-a-model ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (dolist (keys '("M-x backstaff-list-entries RET" "C-u M-x backstaff-list-entries RET RET"))
      (let ((text (backstaff-inspector-tests-type keys)))
        (should (string-match-p "(backstaff-call \"forge/list_directory\"" text))
        (should (string-search (plist-get backstaff-view-reply :text) text))
        (should (eq (null (string-match-p "^C-u" keys)) (null (string-match-p "src/a.el" text))))
        (quit-window)))))

(ert-deftest backstaff-inspector-shows-a-failure ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((text (backstaff-inspector-tests-text
                 (backstaff-run-tool "workspace/tree" '(:path "../")))))
      (should (string-match-p "Failure +SANDBOX_VIOLATION" text))
      (should (string-match-p "^Error: " text))
      (should-not (string-match-p "^\\* Plist" text)))))

(ert-deftest backstaff-inspector-shows-cuts-and-warnings ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((text (backstaff-inspector-tests-text
                 (backstaff-run-tool "forge/list_directory"
                                     '(:path "." :max_entries 1 :nonsense 1)))))
      (should (string-match-p "Success +but truncated" text))
      (should (string-match-p "^Warning +.*nonsense" text)))))

(ert-deftest backstaff-inspector-shows-a-server-that-fails ()
  (pcase-dolist (`(,command ,code) `((("/nowhere/python") "CONNECTION_LOST")
                                     (,(backstaff-test-fake-command "noisy") "PROTOCOL_ERROR")))
    (backstaff-inspector-tests-with command
      (should (string-match-p (concat "Failure +" code)
                              (backstaff-inspector-tests-text
                               (backstaff-run-tool "workspace/tree" '(:path "."))))))))

(ert-deftest backstaff-inspector-measures-in-full-a-form-it-shows-in-part ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let* ((backstaff-inspector--most-characters 40)
           (text (backstaff-inspector-tests-text
                  (backstaff-run-tool "agent-q/list_directory" '(:path "."))))
           (reply (backstaff-call "agent-q/list_directory" '(:path "."))))
      (should (string-match-p (format "Text +%d " (string-bytes (plist-get reply :text))) text))
      (dolist (form '("Text" "Plist" "JSON"))
        (let ((section (backstaff-inspector-tests-section form text)))
          (should (string-match-p "… and [0-9]+ more characters" section))
          (should (< (length section) 150))))
      (should (< (length text) 1000)))))

(ert-deftest backstaff-inspector-counts-bytes-and-tokens ()
  (pcase-dolist (`(,text . ,costs) `(("aé日" . "6   2 to 3") ("" . "0   0 to 0")
                                     (,(make-string 10001 ?x) . "10001   2501 to 4001")
                                     (,(make-string 999 ?x) . "999   250 to 400")
                                     (,(make-string 1234567 ?x)
                                      . "1234567   308642 to 493827")))
    (with-temp-buffer
      (setq backstaff-view-state '(:tool "a" :root "/"))
      (backstaff-inspector--draw (list :ok t :text text :elapsed-ms 1) 1.0)
      (should (string-match-p (format "^Text +%s\n" costs) (buffer-string))))))

(defun backstaff-inspector-tests-form (text)
  "Return how a form of a reply is shown that is TEXT."
  (with-temp-buffer
    (backstaff-inspector--insert-form text t)
    (buffer-string)))

(ert-deftest backstaff-inspector-lays-out-any-plist-so-that-it-can-be-read ()
  (dolist (object `((:a 1 :b "x\ny" :c nil :d ,(make-string 100 ?x) :e (1 2 (:f "é")))
                    (:entries ,(cl-loop for i below 30 collect `(:name ,(format "n%d" i) :size ,i)))
                    ((:files ,(make-list 200 "item")) (:a 1) ,(make-list 20 'item))))
    (let ((text (backstaff-inspector-tests-form (prin1-to-string object))))
      (should (equal (read text) object))
      (should (string-match-p "\n." text))
      (should-not (string-search "\t" text)))))

(ert-deftest backstaff-inspector-shows-a-pair-on-a-line ()
  (should (equal (backstaff-inspector-tests-form
                  (concat "(:path \"a (:b) \\\"\" :kind :file :in (:name :text :path) :none nil"
                          " :entries ((:name \"x\" :size 1) (:name \"y\" :tags (\"s\" \"t\")))"
                          " :root (:dirs 0))"))
                 "\
(:path \"a (:b) \\\"\"
 :kind :file
 :in
 (:name :text
  :path)
 :none nil
 :entries
 ((:name \"x\"
   :size 1)
  (:name \"y\"
   :tags (\"s\" \"t\")))
 :root
 (:dirs 0))
"))
  (should (equal (backstaff-inspector-tests-form "{\"b\":[{\"z\":1,\"a\":null}],\"a\":2}")
                 "\
{\"b\":[{\"z\":1,
   \"a\":null}],
 \"a\":2}
")))

(ert-deftest backstaff-inspector-lays-out-any-json-so-that-it-is-the-same ()
  (let ((json-object-type 'alist) (json-false :false) (json-null :null))
    (dolist (json '("{}" "[]" "{\"a\":\"},{\\\"\\\\\",\"b\":[{\"c\":[1,2]},{\"d\":{}}]}"
                    "[{\"a\":1.5,\"e\":null},{\"b\":false,\"c\":\"é\\u202e\"}]"))
      (should (equal (json-read-from-string (backstaff-inspector-tests-form json))
                     (json-read-from-string json))))))

(ert-deftest backstaff-inspector-breaks-cut-json-between-its-objects ()
  (let ((backstaff-inspector--most-characters 22))
    (pcase-dolist (`(,text ,shown)
                   '(("[{\"a\":\"},x\"},{\"b\":\"c\\\"\"}]" "[{\"a\":\"},x\"},\n {\"b\":\"c\\\"\n")
                     ("((:a \") (\") (:b 2) (:c 3) (:d 4))" "((:a \") (\")\n (:b 2)\n (:c\n")))
      (should (string-prefix-p (concat shown "\n… and ") (backstaff-inspector-tests-form text)))))
  ;; A string may be long.
  (let ((text (concat "{\"a\":\"" (make-string 99000 ?\") (make-string 9000 ?x) "\"}")))
    (should (backstaff-inspector-tests-form text))))


;;; Keys

(ert-deftest backstaff-inspector-runs-again-and-edits ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (backstaff-inspector-tests-text
     (backstaff-run-tool "agent-q/list_directory" '(:path ".")))
    (write-region "" nil (expand-file-name "new.txt") nil 'silent)
    (should (string-match-p "new\\.txt" (backstaff-inspector-tests-type "g")))
    (let ((text (backstaff-inspector-tests-type "e C-a C-k src RET RET RET")))
      (should (string-match-p "'(:path \"src\"))" text))
      (should (string-match-p "b\\.el" text)))))

(ert-deftest backstaff-inspector-copies-and-folds ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (backstaff-inspector-tests-text
     (backstaff-run-tool "agent-q/list_directory" '(:path "." :show_hidden t)))
    (backstaff-inspector-tests-type "w")
    (should (equal (car kill-ring)
                   "(backstaff-call \"agent-q/list_directory\" '(:path \".\" :show_hidden t))"))
    (backstaff-inspector-tests-type "W")
    (should (equal (car kill-ring) "{\"path\":\".\",\"show_hidden\":true}"))
    (backstaff-inspector-tests-type "n TAB")
    (with-current-buffer (window-buffer)
      (should (looking-at "\\* Text"))
      (should (invisible-p (line-end-position))))))

;;; Waiting

(ert-deftest backstaff-inspector-does-not-wait-and-can-be-cancelled ()
  (backstaff-inspector-tests-with (backstaff-test-fake-command)
    (let ((buffer (backstaff-run-tool "stall" nil)))
      ;; A command that waited would return at the limit, with no request left.
      (with-current-buffer buffer
        (should backstaff-request--pending))
      (should (string-match-p "\\`Cancelled\n\nType g"
                              (backstaff-inspector-tests-type "C-g")))
      (with-current-buffer buffer
        (should-not backstaff-request--pending))
      (should (equal (length (backstaff-test-call-server 'cancellations nil)) 1)))))

(ert-deftest backstaff-inspector-quit-keeps-the-shown-reply ()
  (backstaff-inspector-tests-with (backstaff-test-fake-command)
    (let ((text (backstaff-inspector-tests-text (backstaff-run-tool "reply" nil))))
      (backstaff-view-change :tool "stall")
      (should (equal (backstaff-inspector-tests-type "C-g") text)))))

(ert-deftest backstaff-inspector-forgets-a-call-with-its-buffer ()
  (backstaff-inspector-tests-with (backstaff-test-fake-command)
    (with-current-buffer (backstaff-run-tool "stall" nil)
      (kill-buffer)
      (should (= (length (backstaff-test-call-server 'cancellations nil)) 1)))))

(ert-deftest backstaff-inspector-shows-the-last-of-two-calls ()
  (backstaff-inspector-tests-with (backstaff-test-fake-command)
    (let ((buffer (backstaff-run-tool "stall" nil)))
      (with-current-buffer buffer
        (backstaff-view-change :tool "reply"))
      (should (string-match-p "as text" (backstaff-inspector-tests-text buffer)))
      (should (string-match-p "^(backstaff-call \"reply\" nil)"
                              (backstaff-inspector-tests-text buffer))))))

(ert-deftest backstaff-inspector-lays-a-long-reply-out-in-no-time ()
  :tags '(clock)
  (let ((reply (list :ok t :text (make-string 3000000 ?x) :elapsed-ms 1
                     :data (list :entries (cl-loop for i below 20000
                                                   collect (list :name (format "name-%d" i)
                                                                 :size i :kind :file)))
                     :json (concat "[" (mapconcat (lambda (i) (format "{\"name\":\"n%d\"}" i))
                                                  (number-sequence 1 50000) ",")
                                   "]"))))
    (with-temp-buffer
      (setq backstaff-view-state '(:tool "a" :root "/"))
      (should (< (backstaff-test-work (backstaff-inspector--draw reply 1.0)) 2)))))



;;; Reading arguments

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

(defun backstaff-arguments-tests-read (name keys)
  "Return what is read for the argument NAME if the user types KEYS."
  (backstaff-test-typing keys
    (backstaff-inspector--read-argument (backstaff-arguments-tests-definition name) nil)))


;;; Reading

(ert-deftest backstaff-arguments-are-read-by-type ()
  (pcase-dolist (`(,name ,keys . ,expected)
                 '(("food" "o a t s RET" . "oats") ("food" "RET")
                   ("kind" "a TAB RET" . "all") ("kind" "RET")
                   ("amount" "7 RET" . 7) ("amount" "RET")
                   ("hungry" "n o RET" . :false) ("hungry" "y TAB RET" . t) ("hungry" "RET")
                   ("animals" "\"a SPC ,\" SPC b RET" "a ," "b") ("animals" "RET")))
    (ert-info ((format "%s: %s" name keys))
      (should (equal (backstaff-arguments-tests-read name keys) expected)))))

(ert-deftest backstaff-arguments-that-are-wrong-are-left-to-the-server ()
  (pcase-dolist (`(,keys . ,expected) '(("0 RET" . 0) ("2 . 5 RET" . 2.5) ("x RET" . "x")))
    (should (equal (backstaff-arguments-tests-read "amount" keys) expected)))
  (backstaff-test-with-project '(("a.txt" . ""))
    (dolist (wrong '(0 2.5 "x"))
      (let ((reply (backstaff-call 'commands/list_commands (list :page wrong))))
        (should (string-match-p "page" (plist-get reply :text)))
        (should-not (plist-get reply :ok))))))

(ert-deftest backstaff-arguments-required-path-is-the-root-when-empty ()
  (should (equal (backstaff-arguments-tests-read "path" "RET") ".")))

(ert-deftest backstaff-arguments-are-all-read-and-the-empty-left-out ()
  (should (equal (backstaff-test-typing "s r c RET RET a l l RET 3 RET RET c a t RET"
                   (backstaff-inspector--read-arguments backstaff-arguments-tests-tool))
                 '(:path "src" :kind "all" :amount 3 :animals ("cat")))))

(ert-deftest backstaff-arguments-can-be-edited ()
  (let ((current '(:path "src" :food "oats" :kind "all" :amount 3 :hungry :false
                   :animals ("cat" "dog"))))
    (should (equal (backstaff-test-typing "RET RET RET RET RET RET"
                     (backstaff-inspector--read-arguments backstaff-arguments-tests-tool current))
                   current))
    (should (equal (backstaff-test-typing
                       "/ a RET C-a C-k RET C-a C-k RET C-a C-k 4 RET C-a C-k RET s RET"
                     (backstaff-inspector--read-arguments backstaff-arguments-tests-tool current))
                   '(:path "src/a" :amount 4 :animals ("cat" "dogs"))))))


;;; Paths

(defvar backstaff-arguments-tests-operations nil
  "What a handler of file names was asked to do.")

(defun backstaff-arguments-tests-handler (operation &rest _)
  "Note OPERATION."
  (push operation backstaff-arguments-tests-operations)
  nil)

(ert-deftest backstaff-arguments-paths-reach-no-handler ()
  (setq backstaff-arguments-tests-operations nil)
  (let ((file-name-handler-alist '(("\\`/remote:" . backstaff-arguments-tests-handler))))
    (should (equal (backstaff-arguments-tests-read
                    "path" "/ r e m o t e : h o s t : / e RET")
                   "/remote:host:/e"))
    (should-not backstaff-arguments-tests-operations)))


;;; Writing

(ert-deftest backstaff-arguments-are-written-as-lisp-that-can-be-read ()
  (dolist (arguments '((:path "a\n\"b\"" :hungry :false :animals ("x" "y") :amount 3) nil))
    (let ((backstaff-view-state (list :tool "zoo/feed" :arguments arguments)))
      (should (equal (read (backstaff-inspector--lisp))
                     `(backstaff-call "zoo/feed" ,(and arguments (list 'quote arguments))))))))

(ert-deftest backstaff-arguments-are-written-as-json ()
  (pcase-dolist (`(,arguments . ,json)
                 '(((:path "é\n" :hungry :false :show t :animals ("x" "y") :amount 3)
                    . "{\"path\":\"é\\n\",\"hungry\":false,\"show\":true,\
\"animals\":[\"x\",\"y\"],\"amount\":3}")
                   (nil . "{}")))
    (let ((backstaff-view-state (list :arguments arguments)))
      (backstaff-inspector-copy-json)
      (should (equal (current-kill 0) json)))))

(provide 'backstaff-inspector-tests)
;;; backstaff-inspector-tests.el ends here
