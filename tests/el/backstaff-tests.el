;;; backstaff-tests.el --- Tests of backstaff.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cus-edit)
(require 'wid-edit)
(require 'backstaff-test-support)
(require 'backstaff)
(require 'lisp-mnt)

(defvar project-find-functions)

(defmacro backstaff-tests-with-fake (start &rest body)
  "Run BODY with a fake server that fails in the way START, if any."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-server (backstaff-test-fake-command ,start)
     ,@body))


;;; The package

(ert-deftest backstaff-version-stands-in-one-place ()
  (let ((file (expand-file-name "elisp/backstaff.el" backstaff-test-repository)))
    (should (equal (lm-version file) backstaff-server-version))))

(ert-deftest backstaff-load-is-light-and-does-nothing ()
  (with-temp-buffer
    (call-process (expand-file-name invocation-name invocation-directory) nil t nil
                  "-Q" "--batch"
                  "-L" (expand-file-name "elisp" backstaff-test-repository)
                  "--eval" "(setq before (list timer-list (buffer-list) post-command-hook
                                               kill-emacs-hook file-name-handler-alist))"
                  "-l" "backstaff"
                  "--eval" "(prin1 (list (process-list)
                                   (equal before (list timer-list (buffer-list) post-command-hook
                                                       kill-emacs-hook file-name-handler-alist))
                                   (mapcar #'featurep '(project json tramp transient backstaff-list))
                                   (autoloadp (symbol-function 'backstaff-list-directory))))")
    (should (equal (buffer-string) "(nil t (nil nil nil nil nil) t)"))))

(declare-function autoloads-text "ext:autoloads" ())
(load (expand-file-name "dev/autoloads.el" backstaff-test-repository) nil t)

(ert-deftest backstaff-loaddefs-are-those-of-the-cookies ()
  (with-temp-buffer
    (insert-file-contents (expand-file-name "elisp/backstaff-loaddefs.el" backstaff-test-repository))
    (unless (equal (buffer-string) (autoloads-text))
      (ert-fail "Type: make manual"))))

(ert-deftest backstaff-autoloads-suffice-to-bind-the-map ()
  (let ((folder (file-name-as-directory (make-temp-file "backstaff-autoloads-" t)))
        (emacs (expand-file-name invocation-name invocation-directory)))
    (unwind-protect
        (with-temp-buffer
          (dolist (file (directory-files (expand-file-name "elisp" backstaff-test-repository)
                                         t "\\.el\\'"))
            (copy-file file folder))
          (call-process emacs nil nil nil "-Q" "--batch" "--eval"
                        (format "(if (fboundp 'loaddefs-generate) (loaddefs-generate %1$S %2$S)
                                   (make-directory-autoloads %1$S %2$S))"
                                folder (concat folder "made-autoloads.el")))
          (call-process
           emacs nil t nil "-Q" "--batch" "-L" folder "-l" "made-autoloads"
           "--eval" "(global-set-key (kbd \"C-c b\") backstaff-map)"
           "--eval" "(global-set-key (kbd \"C-c c\") 'backstaff-map)"
           ;; Where there is use-package.
           "--eval" "(when (require 'use-package nil t)
                       (eval '(use-package backstaff :bind-keymap (\"C-c d\" . backstaff-map))))"
           "--eval" "(map-keymap (lambda (_ command) (unless (commandp command) (print command)))
                                 backstaff-map)"
           "--eval" "(prin1 (list (featurep 'backstaff) (key-binding (kbd \"C-c b t\"))
                                  (key-binding (kbd \"C-c c t\"))))"
           "--eval" "(let ((map backstaff-map))
                       (require 'backstaff)
                       (prin1 (list (eq map backstaff-map)
                                    (eq map (indirect-function 'backstaff-map)))))")
          (should (equal (buffer-string) "(nil backstaff-tree backstaff-tree)(t t)")))
      (delete-directory folder t))))


;;; Root

(ert-deftest backstaff-root-is-the-projects ()
  (backstaff-test-with-tree '((".git" ("HEAD" . "ref: refs/heads/main\n"))
                              ("src" ("deep" ("a" . ""))))
    (should (equal (file-truename (backstaff-root "src/deep/")) root))
    (let ((default-directory (expand-file-name "src/")))
      (should (equal (file-truename (backstaff-root)) root)))))

(ert-deftest backstaff-root-outside-of-projects-is-the-directory ()
  (backstaff-test-with-tree '(("src" ("a" . "")))
    (let ((project-find-functions nil))
      (should (equal (backstaff-root) root))
      (should (equal (backstaff-root (concat "/:" root "src"))
                     (expand-file-name "src/"))))))

(defvar backstaff-tests-trap nil
  "What a project's file would set if it were evaluated.")

(ert-deftest backstaff-root-lets-a-project-evaluate-nothing ()
  (backstaff-test-with-tree '((".git" ("HEAD" . "ref: refs/heads/main\n"))
                              (".dir-locals.el" . "((nil . ((eval . (setq backstaff-tests-trap t)))))"))
    (setq backstaff-tests-trap nil)
    (should (equal (file-truename (backstaff-root)) root))
    (should-not backstaff-tests-trap)))

(ert-deftest backstaff-root-can-be-chosen ()
  (let ((project-find-functions
         (list (lambda (directory) (cons 'transient (concat directory "inner"))))))
    (should (equal (backstaff-root "/some/where/") "/some/where/inner/"))
    (let ((backstaff-root-directory "/fixed"))
      (should (equal (backstaff-root "/some/where/") "/fixed/")))))

(defvar backstaff-tests-operations nil
  "The operations that a file name handler was asked to perform.")

(defun backstaff-tests-handler (operation &rest arguments)
  "Note OPERATION and do the least for it with ARGUMENTS."
  (push operation backstaff-tests-operations)
  (pcase operation
    ('file-remote-p "/remote:")
    ('expand-file-name (car arguments))
    (_ nil)))

(defmacro backstaff-tests-with-remote (&rest body)
  "Run BODY with names that start with /remote: handled, and each use noted."
  (declare (indent 0) (debug t))
  `(let ((file-name-handler-alist
          (cons '("\\`/remote:" . backstaff-tests-handler) file-name-handler-alist)))
     (setq backstaff-tests-operations nil)
     ,@body))

(ert-deftest backstaff-remote-directories-are-refused-untouched ()
  (backstaff-tests-with-fake nil
    (backstaff-tests-with-remote
      (let ((default-directory "/remote:/home/"))
        (backstaff-test-should-fail 'backstaff-remote-directory
            "/remote:/home/ is on another machine"
          (backstaff-call 'reply nil))
        (should (equal (backstaff-test-code (backstaff-test-call-later 'reply nil))
                       "REMOTE_DIRECTORY"))
        (should (string-match-p "\\`Error: .*another machine"
                                (backstaff-call-text 'reply nil))))
      (backstaff-test-should-fail 'backstaff-remote-directory "another machine"
        (backstaff-call 'reply nil '(:root "/remote:/home/")))
      (let ((project-find-functions (list (lambda (_) '(transient . "/remote:/home/")))))
        (backstaff-test-should-fail 'backstaff-remote-directory "another machine"
          (backstaff-call 'reply nil)))
      (should (equal (delete-dups backstaff-tests-operations) '(file-remote-p))))
    (should-not backstaff-server--servers)))


;;; Calls

(ert-deftest backstaff-call-takes-every-form-of-id-and-arguments ()
  (backstaff-test-with-project '(("src" ("a.el" . "1")))
    (let ((expected (format "Directory: %ssrc/\nTotal: 1 file, 0 directories\n
[FILE] a.el               (0.0 KB)\n" root)))
      (dolist (id '(agent-q/list_directory "agent-q/list_directory" list_directory))
        (dolist (args (list '(:path "src") '((path . "src")) "{\"path\": \"src\"}"
                            (list :path (propertize "src" 'face 'bold)
                                  :show_hidden :false)))
          (let ((reply (backstaff-call id args)))
            (should (plist-get reply :ok))
            (should (equal (plist-get reply :tool) "agent-q/list_directory"))
            (should (equal (plist-get reply :text) expected))
            (should (equal (plist-get (plist-get reply :data) :files) 1))))))))

(ert-deftest backstaff-call-returns-a-tools-failure ()
  (backstaff-test-with-project nil
    (let ((reply (backstaff-call 'agent-q/list_directory '(:path "../"))))
      (should (backstaff-test-code reply))
      (should (equal (plist-get reply :text)
                     "Error: Path '../' is outside project root")))))

(ert-deftest backstaff-call-takes-the-root-of-the-callers-directory ()
  (backstaff-test-with-project '(("one" ("a" . "")) ("two" ("b" . "")))
    (let ((project-find-functions nil) (replies nil))
      (dolist (name '("one" "two"))
        (let ((default-directory (expand-file-name (file-name-as-directory name))))
          (backstaff-call-async 'agent-q/list_directory '(:path ".")
                                (lambda (reply) (push reply replies)))))
      (backstaff-test-wait-for (= (length replies) 2))
      (should (equal (sort (mapcar (lambda (reply)
                                     (plist-get (plist-get reply :data) :path))
                                   replies)
                           #'string<)
                     (list (concat root "one/") (concat root "two/"))))
      (should (equal (plist-get (plist-get (backstaff-call 'agent-q/list_directory
                                                           '(:path ".")
                                                           `(:root ,(concat root "two")))
                                           :data)
                                :path)
                     (concat root "two/"))))))

(ert-deftest backstaff-arguments-cannot-move-the-root ()
  (backstaff-test-with-project nil
    (let ((reply (backstaff-call 'agent-q/list_directory '(:path "/etc" :root "/"))))
      (should (equal (plist-get reply :text)
                     "Error: Path '/etc' is outside project root")))))

(ert-deftest backstaff-call-changes-none-of-its-arguments ()
  (backstaff-test-with-project nil
    (let* ((context (list :max-output-bytes 4000))
           (args (list :path (propertize "." 'face 'bold)))
           (before (copy-tree (list context args))))
      (backstaff-call 'agent-q/list_directory args context)
      (should (equal-including-properties (list context args) before)))))

(ert-deftest backstaff-call-signals-an-answer-that-is-no-reply ()
  (backstaff-tests-with-fake nil
    (backstaff-test-should-fail 'backstaff-protocol-error "no reply"
      (backstaff-call 'echo nil))
    (should (equal (backstaff-test-code (backstaff-test-call-later 'echo nil))
                   "PROTOCOL_ERROR"))))

(ert-deftest backstaff-every-name-can-be-opened ()
  :tags '(check-35)
  (let ((names (list "plain" "with blank" "new\nline" "esc\e[31m" "\"quoted\"" "back\\351"
                     "日本語" "emoji-\N{GRINNING FACE}" "é" "#hash#" "'quote" "(paren"
                     (string-to-multibyte "stray-\351") (string-to-multibyte "\377\376")
                     (concat "é" (string-to-multibyte "\351")))))
    (backstaff-test-with-project (mapcar (lambda (name) (cons name name)) names)
      (let ((entries (plist-get (plist-get (backstaff-call 'agent-q/list_directory
                                                           '(:path "."))
                                           :data)
                                :entries)))
        (should (equal (sort (mapcar (lambda (entry) (plist-get entry :name)) entries)
                             #'string<)
                       (sort (copy-sequence names) #'string<)))
        (dolist (entry entries)
          (let* ((name (plist-get entry :name))
                 (data (plist-get (backstaff-call 'agent-q/get_file_info
                                                  (list :path name))
                                  :data)))
            (should (file-exists-p (expand-file-name name)))
            (should (equal (plist-get data :path) (expand-file-name name)))
            (should (equal (plist-get data :size) (plist-get entry :size)))))))))


;;; Calls that fail

(ert-deftest backstaff-async-failures-are-replies ()
  (pcase-dolist (`(,code ,id . ,args)
                 `(("CONNECTION_LOST" die) ("PROTOCOL_ERROR" junk) ("TIMEOUT" stall)
                   ("REMOTE_ERROR" refuse) ("INVALID_ARGUMENT" reply ,(current-buffer))))
    (backstaff-tests-with-fake nil
      (let ((backstaff-call-timeout (if (equal code "TIMEOUT") 0.3 10)))
        (ert-info (code)
          (should (equal (backstaff-test-code (backstaff-test-call-later id args)) code)))))))

(ert-deftest backstaff-call-waits-for-a-deadline-that-is-later ()
  "A search may take 30 seconds, and its server says then how far it came."
  (let ((backstaff-call-timeout 15) (waits nil))
    (cl-letf (((symbol-function 'backstaff-server-call-async)
               (cl-function (lambda (_method _args &key timeout &allow-other-keys)
                              (push timeout waits)
                              #'ignore))))
      (dolist (context '(nil (:deadline-ms 31000) (:deadline-ms 1000)))
        (backstaff-call-async "workspace/regexp_search" nil #'ignore context)))
    (should (equal (mapcar #'floor (reverse waits)) '(15 34 15)))))

(ert-deftest backstaff-async-call-of-a-server-that-cannot-start-is-a-reply ()
  (backstaff-test-with-server '("/nowhere/python")
    (should (equal (backstaff-test-code (backstaff-test-call-later 'reply nil))
                   "CONNECTION_LOST"))))

(ert-deftest backstaff-async-call-that-cannot-be-sent-is-one-reply ()
  (backstaff-tests-with-fake nil
    (backstaff-call 'reply nil)
    (let ((replies nil) (others nil))
      (backstaff-call-async 'stall nil (lambda (reply) (push reply others)))
      (cl-letf (((symbol-function 'process-send-string) (lambda (&rest _) (error "Broken pipe"))))
        (backstaff-call-async 'reply nil (lambda (reply) (push reply replies))))
      (should-not replies)
      (backstaff-test-wait-for (and replies others))
      (should-not (accept-process-output nil 0.05))
      (should (equal (mapcar #'backstaff-test-code replies) '("CONNECTION_LOST")))
      (should (equal (mapcar #'backstaff-test-code others) '("CONNECTION_LOST"))))))

(ert-deftest backstaff-async-cancelled-call-is-a-reply ()
  (backstaff-tests-with-fake nil
    (let* ((replies nil)
           (handle (backstaff-call-async 'stall nil (lambda (reply) (push reply replies)))))
      (should (backstaff-cancel handle))
      (should-not (backstaff-cancel handle))
      (backstaff-test-wait-for replies)
      (should (equal (mapcar #'backstaff-test-code replies) '("CANCELLED"))))))

(ert-deftest backstaff-async-cancelled-call-is-a-reply-though-a-filter-throws ()
  "Another package's filter runs while the server learns of the end of the call."
  (backstaff-tests-with-fake nil
    (let* ((replies nil)
           (handle (backstaff-call-async 'stall nil (lambda (reply) (push reply replies)))))
      (cl-letf (((symbol-function 'process-send-string) (lambda (&rest _) (throw 'out nil))))
        (catch 'out (backstaff-cancel handle)))
      (backstaff-test-wait-for replies)
      (should (equal (mapcar #'backstaff-test-code replies) '("CANCELLED"))))))

(ert-deftest backstaff-call-times-out-after-the-option ()
  (backstaff-tests-with-fake nil
    (let ((backstaff-call-timeout 0.2))
      (backstaff-test-should-fail 'backstaff-timeout "within 0.2 seconds"
        (backstaff-call 'stall nil)))))


;;; Text

(ert-deftest backstaff-call-text-returns-plain-text ()
  (backstaff-tests-with-fake nil
    (let ((text (backstaff-call-text 'reply nil)))
      (should (equal text "as text"))
      (should-not (text-properties-at 0 text)))))

(ert-deftest backstaff-call-text-never-signals ()
  (pcase-dolist (`(,regexp ,id ,args)
                 `(("connection lost" die nil)
                   ("did not answer stall within 0.3 seconds" stall nil)
                   ("no such thing" refuse nil)
                   ("protocol error" junk nil)
                   ("not sendable" reply ,(current-buffer))
                   ("lost" 5 nil) ("lost" nil nil)))
    (backstaff-tests-with-fake nil
      (let ((debug-on-error t) (debug-on-signal t) (debug-on-quit t)
            (backstaff-call-timeout (if (eq id 'stall) 0.3 15)))
        (ert-info ((format "%S" id))
          (should (string-match-p (concat "\\`Error: .*" regexp)
                                  (backstaff-call-text id args))))))))

(ert-deftest backstaff-call-text-turns-a-quit-into-text ()
  (backstaff-tests-with-fake nil
    (dolist (inhibit-quit '(nil t))
      (run-at-time 0.2 nil (lambda () (setq quit-flag t)))
      (should (equal (backstaff-call-text 'stall nil)
                     "Error: The user cancelled the call"))
      (should-not quit-flag))))

(ert-deftest backstaff-call-text-works-in-another-filter ()
  (backstaff-test-with-project '(("a" . ""))
    (let* ((texts nil)
           (other (make-process
                   :name "backstaff-other" :command '("cat") :connection-type 'pipe
                   :noquery t :buffer (generate-new-buffer "*backstaff-other*") :sentinel #'ignore
                   :filter
                   (lambda (process _text)
                     (with-current-buffer (process-buffer process)
                       (push (list inhibit-quit (buffer-size)
                                   (backstaff-call-text "list_directory" '(:path ".")))
                             texts))))))
      (process-send-string other "once\n")
      (backstaff-test-wait-for texts)
      (should (equal (butlast (car texts)) '(t 0)))
      (should (string-match-p "^\\[FILE\\] a " (car (last (car texts))))))))


;;; Buffers

(defun backstaff-tests-info (path)
  "Return the reply of get_file_info for PATH."
  (backstaff-call 'agent-q/get_file_info (list :path path)))

(defmacro backstaff-tests-with-visited (file variable &rest body)
  "Run BODY with VARIABLE bound to a buffer that visits FILE."
  (declare (indent 2) (debug (form symbolp body)))
  `(let ((,variable (find-file-noselect ,file)))
     (unwind-protect (progn ,@body)
       (with-current-buffer ,variable
         (set-buffer-modified-p nil)
         (kill-buffer)))))

(ert-deftest backstaff-file-info-knows-no-buffer-where-there-is-none ()
  (backstaff-test-with-project '(("a.txt" . ""))
    (let ((data (plist-get (backstaff-tests-info "a.txt") :data)))
      (should-not (plist-member data :buffer))
      (should-not (plist-member data :buffer-modified)))))

(ert-deftest backstaff-file-info-names-the-buffer ()
  (backstaff-test-with-project '(("a.txt" . "x"))
    (backstaff-tests-with-visited "a.txt" buffer
      (let* ((saved (backstaff-tests-info "a.txt"))
             (unsaved (with-current-buffer buffer
                        (insert "more")
                        (backstaff-tests-info "a.txt"))))
        (should-not (string-match-p "Buffer" (plist-get saved :text)))
        (should (equal (plist-get (plist-get saved :data) :buffer) "a.txt"))
        (should (plist-member (plist-get saved :data) :buffer-modified))
        (should-not (plist-get (plist-get saved :data) :buffer-modified))
        (should (equal (plist-get unsaved :text)
                       (concat (plist-get saved :text)
                               "Buffer: a.txt (unsaved changes)\n")))
        (should (eq (plist-get (plist-get unsaved :data) :buffer-modified) t))))))

(ert-deftest backstaff-file-info-finds-a-buffer-that-came-through-a-link ()
  (backstaff-test-with-project '(("real" ("a.txt" . "x")))
    (make-symbolic-link "real" (expand-file-name "link"))
    (backstaff-tests-with-visited "link/a.txt" buffer
      (should (equal (plist-get (plist-get (backstaff-tests-info "link/a.txt") :data)
                                :buffer)
                     (buffer-name buffer))))))

(ert-deftest backstaff-file-info-finds-a-buffer-below-home ()
  (backstaff-test-with-tree '(("a.txt" . ""))
    (let ((process-environment
           (cons (concat "HOME=" (directory-file-name root)) process-environment)))
      (with-temp-buffer
        (setq buffer-file-name "/elsewhere/a.txt"
              buffer-file-truename "~/a.txt")
        (unwind-protect
            (should (equal (plist-get (plist-get (backstaff-unsaved-add-state
                                                  (list :tool "agent-q/get_file_info" :text ""
                                                        :data (list :path (concat root "a.txt")))
                                                  root)
                                                 :data)
                                      :buffer)
                           (buffer-name)))
          (setq buffer-file-name nil))))))

(ert-deftest backstaff-models-paths-reach-no-handler ()
  (backstaff-test-with-project '(("a.txt" . ""))
    (backstaff-tests-with-visited "a.txt" buffer
      (backstaff-tests-with-remote
        (dolist (tool '(agent-q/get_file_info agent-q/list_directory))
          (should (backstaff-test-code (backstaff-call tool '(:path "/remote:/etc")))))
        (backstaff-unsaved-add-state '(:tool "agent-q/get_file_info" :text ""
                                      :data (:path "/remote:/etc"))
                                    root)
        (should-not backstaff-tests-operations)))))


;;; Approval

(defmacro backstaff-tests-with-policy (answer &rest body)
  "Run BODY where every tool needs approval, and ANSWER is what the user says.
In it `asked' is a list of the questions to the user."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree '(("a.txt" . "a"))
     (let* ((backstaff-server-settings-file
             (make-temp-file "backstaff-" nil ".toml" "[policy]\nprompt = [\"*\"]\n"))
            (asked nil)
            (backstaff-approval-function
             (lambda (id args) (push (list id args) asked) ,answer)))
       (unwind-protect
           (backstaff-test-with-server (backstaff-test-command) ,@body)
         (delete-file backstaff-server-settings-file)))))

(ert-deftest backstaff-approved-call-runs ()
  (backstaff-tests-with-policy t
    (should (plist-get (backstaff-call 'agent-q/list_directory '(:path ".")) :ok))
    (should (equal asked '(("agent-q/list_directory" (:path ".")))))))

(ert-deftest backstaff-refused-call-answers-with-the-refusal ()
  (backstaff-tests-with-policy nil
    (should (equal (backstaff-test-code
                    (backstaff-call 'agent-q/list_directory '(:path ".")))
                   "APPROVAL_REFUSED"))
    (should (string-prefix-p "Error: The user did not approve of the call of list_directory"
                             (backstaff-call-text "list_directory" '(:path "."))))))

(ert-deftest backstaff-approval-is-asked-for-asynchronous-calls-too ()
  (backstaff-tests-with-policy t
    (should (plist-get (backstaff-test-call-later 'agent-q/list_directory '(:path ".")) :ok))
    (should (= (length asked) 1))))

(ert-deftest backstaff-refused-asynchronous-call-answers-once ()
  (backstaff-tests-with-policy nil
    (should (equal (backstaff-test-code
                    (backstaff-test-call-later 'agent-q/list_directory '(:path ".")))
                   "APPROVAL_REFUSED"))))

(ert-deftest backstaff-quit-at-the-question-is-a-refusal ()
  ;; ERT lets no handler see a quit unless this is nil.
  (backstaff-tests-with-policy (let ((debug-on-quit nil)) (signal 'quit nil))
    (should (equal (backstaff-test-code
                    (backstaff-test-call-later 'agent-q/list_directory '(:path ".")))
                   "APPROVAL_REFUSED"))
    (should (equal (backstaff-call-text 'agent-q/list_directory '(:path "."))
                   "Error: The user cancelled the call"))))

(ert-deftest backstaff-quit-while-a-server-starts-is-a-reply ()
  "A server on another host may be started in a timer, after a question."
  (backstaff-tests-with-policy t
    (let ((debug-on-quit nil)           ; else ERT lets no handler see a quit
          (texts nil) (start (symbol-function 'backstaff-server-ensure)))
      (backstaff-call 'workspace/tree '(:path ".") '(:person t))
      (cl-letf (((symbol-function 'backstaff-server-ensure)
                 (lambda (&optional host)
                   (if asked (signal 'quit nil) (funcall start host)))))
        (dotimes (_ 3)
          (backstaff-call-async 'agent-q/list_directory '(:path ".")
                                (lambda (reply) (push (plist-get reply :text) texts))))
        (backstaff-test-wait-for (cddr texts))
        (should (equal texts (make-list 3 "Error: The user cancelled the call")))))))

(ert-deftest backstaff-call-that-nobody-was-asked-about-keeps-the-servers-words ()
  (backstaff-tests-with-policy :unasked
    ;; The text is for a model, which knows the tool by this name.
    (should (string-prefix-p "Error: The tool list_directory needs the approval"
                             (backstaff-call-text "list_directory" '(:path "."))))
    (should (equal (backstaff-test-code
                    (backstaff-test-call-later 'agent-q/list_directory '(:path ".")))
                   "APPROVAL_REQUIRED"))))

(ert-deftest backstaff-model-cannot-approve-of-itself ()
  (backstaff-tests-with-policy nil
    (should (equal (backstaff-test-code
                    (backstaff-call 'agent-q/list_directory '(:path "." :approved t)))
                   "APPROVAL_REFUSED"))))


;;; Options

(ert-deftest backstaff-options-take-the-values-that-the-code-knows ()
  (pcase-dolist (`(,option . ,values) '((backstaff-call-timeout 1 0.5)
                                        (backstaff-server-settings-file nil "a.toml")
                                        (backstaff-server-command nil ("python3" "-m" "backstaff"))
                                        (backstaff-root-directory nil "/tmp/")))
    (dolist (value values)
      (ert-info ((format "%s %S" option value))
        (should (widget-apply (widget-convert (custom-variable-type option)) :match value))))))

;;; Misuse

(ert-deftest backstaff-unknown-context-key-is-a-warning ()
  (backstaff-test-with-project '(("a.txt" . "a"))
    (should (equal (plist-get (backstaff-call 'list_directory '(:path ".") '(:foo 1)) :warnings)
                   '("Unknown context key ignored: foo")))))

(ert-deftest backstaff-root-that-is-no-string-is-refused ()
  (should (equal (should-error (backstaff-call 'list_directory nil '(:root 7)))
                 '(backstaff-argument-error "7 is no root"))))

(ert-deftest backstaff-callback-that-is-no-function-is-refused ()
  (should (equal (should-error (backstaff-call-async 'list_directory nil nil))
                 '(backstaff-argument-error "nil is no callback"))))

(ert-deftest backstaff-unknown-tool-is-answered-with-the-known-ones ()
  (backstaff-test-with-project '(("a.txt" . "a"))
    (should (string-match-p "No such tool: nosuch (there are agent-q/get_file_info, "
                            (backstaff-call-text "nosuch" nil)))))

(provide 'backstaff-tests)
;;; backstaff-tests.el ends here
