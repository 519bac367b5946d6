;;; backstaff-inspector-tests.el --- Tests of backstaff-ui-inspector.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-ui-inspector)
(require 'backstaff-view-fixtures)
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
    (backstaff-test-wait-for (not backstaff-view--call))
    (should-not (buffer-modified-p))
    (buffer-substring-no-properties (point-min) (point-max))))

(defun backstaff-inspector-tests-type (keys)
  "Type KEYS in the selected window and return the text of the inspector then."
  (let ((minibuffer-message-timeout 0))
    (execute-kbd-macro (kbd keys)))
  (backstaff-inspector-tests-text (window-buffer)))


;;; The reply

(ert-deftest backstaff-run-tool-suggests-the-visited-file ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((buffer (find-file (expand-file-name "src/a.el" root))))
      (unwind-protect
          (should (string-match-p
                   "(backstaff-call \"workspace/read_file\" '(:path \"a.el\"))"
                   (backstaff-inspector-tests-type
                    "M-x backstaff-run-tool RET workspace/read_file RET RET")))
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
                       (should (< (length (funcall annotate id)) 260))
                       (should-not (string-search "\n" (funcall annotate id)))))
                   "workspace/tree"))))
      (backstaff-inspector--read-tool))))

(ert-deftest backstaff-run-tool-asks-and-shows-text-and-data ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((text (backstaff-inspector-tests-type
                 "M-x backstaff-run-tool RET forge/li TAB RET C-a C-k (:path SPC \"src\" SPC :recursive SPC t) RET")))
      (should (string-match-p
               "(backstaff-call \"forge/list_directory\" '(:path \"src\" :recursive t))" text))
      (should (string-match-p (concat "Root +" (regexp-quote root)) text))
      (should (string-match-p "Reply +complete" text))
      (should (string-match-p "Reply +complete after [0-9]+ ms$" text))
      (let ((reply (backstaff-call "forge/list_directory" '(:path "src" :recursive t))))
        (should (string-search (concat "\n\n" (plist-get reply :text)) text))
        (should (string-match "\nData\n\n" text))
        (should (equal (read (substring text (match-end 0))) (plist-get reply :data)))))))

(ert-deftest backstaff-run-tool-takes-json ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((text (backstaff-inspector-tests-type
                 "M-x backstaff-run-tool RET workspace/tree RET C-a C-k {\"path\":\"src\",\"entry_kind\":\"all\"} RET")))
      (should (string-match-p "Reply +complete" text))
      (should (string-match-p "src/ a.el b.el" text)))))

(ert-deftest backstaff-list-entries-shows-what-the-tool-gives-a-model ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((text (backstaff-inspector-tests-type "M-x backstaff-list-entries RET")))
      (should (string-search (plist-get backstaff-view--reply :text) text))
      (should (string-search "c.txt" text)))))

(ert-deftest backstaff-list-commands-shows-names-and-descriptions ()
  (backstaff-view-test-project '((".claude" ("commands" ("go.md" . "Look at a change twice.\n"))))
    (backstaff-view-test-open #'backstaff-list-commands)
    (should (string-match-p "go.*\n?.*Look at a change twice" (buffer-string)))
    (backstaff-view-test-press "e RET")
    (should (string-match-p "(backstaff-call \"commands/list_commands\"" (buffer-string)))))

(ert-deftest backstaff-inspector-shows-a-failure ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((text (backstaff-inspector-tests-text
                 (backstaff-run-tool "workspace/tree" '(:path "../")))))
      (should (string-match-p "Reply +failed: SANDBOX_VIOLATION" text))
      (should (string-match-p "^Error: " text))
      (should-not (string-match-p "^Data" text)))))

(ert-deftest backstaff-inspector-shows-cuts-and-warnings ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (let ((text (backstaff-inspector-tests-text
                 (backstaff-run-tool "forge/list_directory"
                                     '(:path "." :max_entries 1 :nonsense 1)))))
      (should (string-match-p "Reply +truncated" text))
      (should (string-match-p "^Warning +.*nonsense" text)))))

(ert-deftest backstaff-inspector-shows-a-server-that-fails ()
  (pcase-dolist (`(,command ,code) `((("/nowhere/python") "CONNECTION_LOST")
                                     (,(backstaff-test-fake-command "noisy") "PROTOCOL_ERROR")))
    (backstaff-inspector-tests-with command
      (should (string-match-p (concat "Reply +failed: " code)
                              (backstaff-inspector-tests-text
                               (backstaff-run-tool "workspace/tree" '(:path "."))))))))

(ert-deftest backstaff-inspector-does-not-lay-out-long-data ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (write-region (make-string 16000 ?x) nil (concat backstaff-root-directory "long.txt") nil 'quiet)
    (let ((text (backstaff-inspector-tests-text
                 (backstaff-run-tool "workspace/read_file" '(:path "long.txt")))))
      (should (string-match-p "\nData\n\n[0-9]+ characters, which are too many to show\n\\'" text)))))

(ert-deftest backstaff-inspector-counts-bytes ()
  (with-temp-buffer
    (setq backstaff-view-state '(:tool "a" :root "/"))
    (backstaff-inspector--draw (list :ok t :text "aé日" :elapsed-ms 1))
    (should (string-match-p "^Length +6 bytes$" (buffer-string)))))


;;; Keys

(ert-deftest backstaff-inspector-runs-again-and-edits ()
  (backstaff-inspector-tests-with (backstaff-test-command)
    (backstaff-inspector-tests-text
     (backstaff-run-tool "agent-q/list_directory" '(:path ".")))
    (write-region "" nil (expand-file-name "new.txt") nil 'silent)
    (should (string-match-p "new\\.txt" (backstaff-inspector-tests-type "g")))
    (let ((text (backstaff-inspector-tests-type "e C-a C-k (:path SPC \"src\") RET")))
      (should (string-match-p "'(:path \"src\"))" text))
      (should (string-match-p "b\\.el" text)))))

;;; Waiting

(ert-deftest backstaff-inspector-does-not-wait-and-can-be-cancelled ()
  (backstaff-inspector-tests-with (backstaff-test-fake-command)
    (let ((buffer (backstaff-run-tool "stall" nil)))
      ;; A command that waited would return at the limit, with no request left.
      (with-current-buffer buffer
        (should backstaff-view--call))
      (should (string-match-p "Reply +failed: CANCELLED"
                              (backstaff-inspector-tests-type "C-g")))
      (with-current-buffer buffer
        (should-not backstaff-view--call))
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
                                                                 :size i :kind :file))))))
    (with-temp-buffer
      (setq backstaff-view-state '(:tool "a" :root "/"))
      (should (< (backstaff-test-work (backstaff-inspector--draw reply)) 2)))))


;;; Reading arguments

(defconst backstaff-arguments-tests-tool
  '(:id "zoo/feed" :arguments
    ((:name "path" :type :string :description "Where" :required t)
     (:name "food" :type :string :description "What")
     (:name "amount" :type :integer :minimum 1 :required t)
     (:name "hungry" :type :boolean :required t)
     (:name "animals" :type :array :items :string :required t)))
  "A tool with arguments of every type.")

(defun backstaff-arguments-tests-read (keys &optional current)
  "Return what is read for the arguments of a tool if the user types KEYS.
CURRENT are the arguments to edit."
  (cl-letf (((symbol-function 'backstaff-tools) (lambda () (list backstaff-arguments-tests-tool))))
    (backstaff-test-typing keys (backstaff-view-read-arguments "zoo/feed" current))))

(ert-deftest backstaff-arguments-that-a-tool-needs-stand-there-to-edit ()
  (let ((template (backstaff-inspector--template backstaff-arguments-tests-tool "/")))
    (should (equal (backstaff-arguments-tests-read "RET" template)
                   '(:path "." :amount "" :hungry "" :animals "")))
    ;; Point is where the first value ends.
    (should (equal (plist-get (backstaff-arguments-tests-read "/ a RET" template) :path) "./a")))
  (should (equal (backstaff-arguments-tests-read ":food SPC 1 RET") '(:food 1)))
  (should (equal (backstaff-arguments-tests-read "0 RET" '(:amount 1)) '(:amount 10))))

(ert-deftest backstaff-arguments-are-a-plist-or-json ()
  (pcase-dolist (`(,keys . ,expected) '(("()" . nil)
                                        ("(:food SPC \"oats\")" . (:food "oats"))
                                        ("{\"food\":[1],\"hungry\":false}" . (:food (1) :hungry :false))))
    (should (equal (backstaff-arguments-tests-read (concat "C-a C-k " keys " RET")) expected)))
  (dolist (wrong '("oats" "(:food" "(:food)" "{\"food\""))
    (should (string-match-p "no plist such as"
                            (cadr (should-error (backstaff-arguments-tests-read
                                                 (concat "C-a C-k " wrong " RET"))
                                                :type 'user-error))))))

;;; Writing

(ert-deftest backstaff-arguments-are-written-as-lisp-that-can-be-read ()
  (dolist (arguments '((:path "a\n\"b\"" :hungry :false :animals ("x" "y") :amount 3) nil))
    (with-temp-buffer
      (setq backstaff-view-state (list :tool "zoo/feed" :arguments arguments :root "/"))
      (backstaff-inspector--draw '(:ok t :text "" :elapsed-ms 1))
      (goto-char (point-min))
      (should (equal (read (current-buffer))
                     `(backstaff-call "zoo/feed" ,(and arguments (list 'quote arguments)))))
      (should (looking-at-p "\n\n")))))

(provide 'backstaff-inspector-tests)
;;; backstaff-inspector-tests.el ends here
