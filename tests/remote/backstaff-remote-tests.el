;;; backstaff-remote-tests.el --- Tests of backstaff-remote.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-remote-support)
(require 'backstaff-ui-doctor)
(require 'backstaff-emacs-fixtures)
(require 'backstaff-ui-tree)



;;; Calls

(ert-deftest backstaff-remote-every-tool-answers-as-it-does-here ()
  (backstaff-remote-test-both-ways
    ;; Three tools are about a git repository.
    (dolist (words '(("init" "-q") ("add" "-A")
                     ("-c" "user.name=a" "-c" "user.email=a@b" "commit" "-qm" "All")))
      (should (zerop (apply #'call-process "git" nil nil nil "-C" root words))))
    ;; The tools of Emacs itself answer from buffers, wherever the root is.
    (dolist (tool (cl-remove-if (lambda (tool) (backstaff-lisp-tools-find (plist-get tool :id)))
                                (backstaff-tools)))
      (let* ((id (plist-get tool :id))
             (arguments (backstaff-test-fitting-arguments tool))
             (here (backstaff-call id arguments (list :root root)))
             (there (backstaff-call id arguments (list :root far))))
        (ert-info (id)
          (should (plist-get here :ok))
          (dolist (key '(:ok :tool :text :data :truncated :warnings))
            (should (equal (plist-get here key) (plist-get there key)))))))))

(ert-deftest backstaff-remote-outside-of-a-project-is-outside-on-a-host-too ()
  (dolist (project-first '(nil t))
    (backstaff-remote-test-on "/fake::"
      (clrhash backstaff-server--known)
      (let ((project-find-functions '(project-try-vc)))
        (dolist (directory (list far (concat far "src/") "/fake::/" "/fake::~/"))
          (ert-info ((format "%s, asked before: %s" directory project-first))
            (let ((default-directory directory))
              (when project-first
                (should-not (backstaff-project-p directory)))
              (should (equal (backstaff-test-code
                              (backstaff-call "workspace/tree" '(:path ".") '(:agent t)))
                             "APPROVAL_REQUIRED"))
              ;; The rule for people is the same.
              (should-not (backstaff-project-p (backstaff-root))))))))))

(ert-deftest backstaff-remote-project-is-one-for-models-too ()
  (backstaff-remote-test-on "/fake::"
    (make-directory (concat root ".git"))
    (write-region "ref: refs/heads/main\n" nil (concat root ".git/HEAD") nil 'silent)
    (let ((default-directory (concat far "src/"))
          (project-find-functions '(project-try-vc)))
      (clrhash backstaff-server--known)
      (should (plist-get (backstaff-call "workspace/tree" '(:path ".") '(:agent t)) :ok)))))

(ert-deftest backstaff-remote-one-server-serves-all-roots-of-a-connection ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((pid (backstaff-remote-test-pid far)))
      (should (string-match-p "a.txt" (backstaff-remote-test-list far)))
      (should (string-match-p "b.py" (backstaff-remote-test-list (concat far "src/"))))
      (should (string-match-p "a.txt" (backstaff-remote-test-list root)))
      (should (equal (backstaff-remote-test-pid far) pid))
      (should (equal (delq nil (mapcar #'car backstaff-server--servers))
                     (list backstaff-remote-test-ssh)))
      (should (backstaff-epc-live-p (cdr (assoc nil backstaff-server--servers)))))))

(ert-deftest backstaff-remote-exact-names-come-back ()
  (backstaff-remote-test-both-ways
    (let* ((file-name-coding-system 'utf-8-unix)
           (names (list "two\nlines" "#hash" "\U0001f600" "quote\"" "\303\251"
                        (string-to-multibyte "latin-\351"))))
      (dolist (name names)
        (let ((coding-system-for-write 'no-conversion))
          (write-region "" nil (concat root "src/deep/" name) nil 'silent)))
      (let ((here (backstaff-call "agent-q/list_directory" '(:path "src/deep")
                                  (list :root root)))
            (there (backstaff-call "agent-q/list_directory" '(:path "src/deep")
                                   (list :root far))))
        (should (= (length (plist-get (plist-get there :data) :entries)) 7))
        (should (equal (plist-get here :data) (plist-get there :data)))))))

(ert-deftest backstaff-remote-request-may-hold-any-character ()
  (backstaff-remote-test-both-ways
    ;; On a terminal that is not raw these stop, end or hang the server.
    (let* ((path (concat (apply #'string (number-sequence 1 31))
                         "\177" (make-string 50000 ?x)))
           (here (backstaff-call "workspace/tree" (list :path path) (list :root root)))
           (there (backstaff-call "workspace/tree" (list :path path) (list :root far))))
      (should-not (plist-get there :ok))
      (should (equal (plist-get here :text) (plist-get there :text)))
      (should (backstaff-remote-test-list far)))))

(ert-deftest backstaff-remote-search-of-contents-is-one-round-trip ()
  (backstaff-remote-test-both-ways
    (should (backstaff-remote-test-list far))  ; the server runs
    (let* ((requests 0)
           (count (lambda (&rest _) (cl-incf requests)))
           (reply (unwind-protect
                      (progn
                        ;; TRAMP's requests would count, too.
                        (advice-add 'process-send-string :before count)
                        (backstaff-call "workspace/regexp_search" '(:pattern "l.h|^c$")
                                        (list :root far)))
                    (advice-remove 'process-send-string count))))
      (should (equal requests 1))
      (should (equal (mapcar (lambda (item) (plist-get item :path))
                             (plist-get (plist-get reply :data) :items))
                     '("a.txt" "src/deep/c"))))))

(ert-deftest backstaff-remote-large-request-is-refused-here ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-test-should-fail 'backstaff-argument-error "65536 are allowed"
      (backstaff-call "workspace/tree" (list :path (make-string 70000 ?x))
                      (list :root far)))
    (should (backstaff-remote-test-list far))))

(ert-deftest backstaff-remote-argument-that-names-a-host-is-a-path ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((reply (backstaff-call "agent-q/list_directory"
                                 '(:path "/ssh:other:/etc") (list :root far))))
      (should-not (plist-get reply :ok))
      (should-not (file-remote-p "/ssh:other:/" nil t))
      (should (equal (delq nil (mapcar #'car backstaff-server--servers))
                     (list backstaff-remote-test-ssh))))))

(ert-deftest backstaff-remote-buffer-of-the-file-there-counts ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((here (generate-new-buffer "a.txt"))
          (info (lambda ()
                  (plist-get (backstaff-call "agent-q/get_file_info" '(:path "a.txt")
                                             (list :root far))
                             :text))))
      (unwind-protect
          (with-current-buffer here
            (setq buffer-file-name (concat root "a.txt"))
            (set-buffer-modified-p t)
            (should-not (string-match-p "Buffer:" (funcall info)))
            (setq buffer-file-name (concat far "a.txt"))
            (should (string-match-p "Buffer: .*unsaved" (funcall info))))
        (with-current-buffer here
          (setq buffer-file-name nil)
          (set-buffer-modified-p nil))
        (kill-buffer here)))))

(defun backstaff-remote-tests-meanwhile-p ()
  "Return non-nil if what runs is what Emacs does while our code waits.
For example eglot, told of a problem, looks for the buffer of its file."
  (catch 'found
    (mapbacktrace
     (lambda (_evaluated function &rest _)
       (cond ((memq function '(timer-event-handler jsonrpc--process-filter))
              (throw 'found t))
             ;; Ours, but not this one.
             ((and (symbolp function)
                   (string-prefix-p "backstaff-" (symbol-name function))
                   (not (string-prefix-p "backstaff-remote-tests-" (symbol-name function))))
              (throw 'found nil)))))
    nil))

(defun backstaff-remote-tests-questions (function)
  "Call FUNCTION; return what our code asks of another host meanwhile."
  (let* ((asked nil)
         (remote-file-name-inhibit-cache t) ; TRAMP has to ask for whatever it is asked
         (note (lambda (&rest command)
                 (unless (backstaff-remote-tests-meanwhile-p) (push command asked)))))
    (advice-add 'tramp-send-command :before note)
    (advice-add 'tramp-maybe-open-connection :before note)
    (unwind-protect (funcall function)
      (advice-remove 'tramp-send-command note)
      (advice-remove 'tramp-maybe-open-connection note))
    asked))

(defmacro backstaff-remote-tests-quiet (&rest body)
  "Run BODY, in which our code may ask nothing of another host."
  (declare (indent 0) (debug t))
  `(should-not (backstaff-remote-tests-questions (lambda () ,@body))))

(ert-deftest backstaff-remote-questions-count-but-for-those-of-others ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((ask (lambda () (file-exists-p (concat far "a.txt"))))
          (answer nil))
      (should (backstaff-remote-tests-questions ask))
      (should-not (backstaff-remote-tests-questions
                   (lambda ()
                     (run-at-time 0 nil (lambda () (setq answer (funcall ask))))
                     (backstaff-test-wait-for answer)))))))

(ert-deftest backstaff-remote-emacs-tools-know-buffers-below-the-home-directory ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-test-killing-buffers
      (let* ((home (expand-file-name (concat backstaff-remote-test-ssh "~/")))
             (context (list :root (concat home "p/"))))
        (make-directory (concat home "p"))
        (make-symbolic-link (file-local-name home) (concat home "p/link"))
        (with-current-buffer (find-file-noselect (concat home "p/a.txt"))
          (insert "alpha")
          ;; As Emacs 29 and later have it.
          (setq buffer-file-truename (concat backstaff-remote-test-ssh "~/p/a.txt")))
        (with-current-buffer (find-file-noselect (concat home "p/link/secret.txt"))
          (insert "secret"))
        (backstaff-tools)
        (backstaff-remote-tests-quiet
          (should (string-match-p "^Not saved yet: a\\.txt$"
                                  (plist-get (backstaff-call 'emacs/context nil context)
                                             :text))))))))


(ert-deftest backstaff-remote-settings-go-along ()
  (backstaff-remote-test-both-ways
    (let ((backstaff-server-settings-file (concat root "policy.toml")))
      (write-region "[policy]\ndeny = [\"forge/*\"]\n" nil
                    backstaff-server-settings-file nil 'silent)
      (let ((reply (backstaff-call "forge/list_directory" '(:path ".") (list :root far))))
        (should (equal (backstaff-test-code reply) "POLICY_DENIED"))
        (should (backstaff-remote-test-list far))))))

(ert-deftest backstaff-remote-mistake-in-the-settings-is-a-clear-error ()
  (backstaff-remote-test-both-ways
    (let ((backstaff-server-settings-file (concat root "policy.toml")))
      (write-region "[policy]\ndeny = 7\n" nil
                    backstaff-server-settings-file nil 'silent)
      (let ((problem (backstaff-test-condition (backstaff-remote-test-list far))))
        (should (string-match-p "settings sent by Emacs:2: policy.deny"
                                (backstaff-epc-error-text problem)))))))


;;; Other ways to another place

(defun backstaff-remote-tests-elsewhere (host)
  "Check calls on HOST, which is this machine in the end."
  (backstaff-remote-test-on host
    (should (string-match-p "a.txt" (backstaff-remote-test-list far)))
    (let* ((path (concat (apply #'string (number-sequence 1 31)) (make-string 9000 ?x)))
           (reply (backstaff-call "workspace/tree" (list :path path) (list :root far))))
      (should (equal (plist-get reply :text)
                     (plist-get (backstaff-call "workspace/tree" (list :path path)
                                                (list :root root))
                                :text))))))

(ert-deftest backstaff-remote-works-through-a-login-of-any-kind ()
  (backstaff-remote-tests-elsewhere (file-remote-p (format "/fake:%s:/" (system-name)))))

(ert-deftest backstaff-remote-works-through-su ()
  (backstaff-test-needs "root, of whom su asks no password" (zerop (user-uid)))
  (backstaff-remote-tests-elsewhere (file-remote-p "/su::/")))

(ert-deftest backstaff-remote-works-through-sudo ()
  ;; Where the name of the host does not resolve, sudo waits for it.
  (backstaff-test-needs "sudo that asks no password and is quick"
                        (and (executable-find "sudo")
                             (executable-find "timeout")
                             (eql 0 (call-process "timeout" nil nil nil
                                                  "5" "sudo" "-n" "true"))))
  (backstaff-remote-tests-elsewhere (file-remote-p "/sudo::/")))

(ert-deftest backstaff-remote-works-over-several-hops ()
  (backstaff-remote-test-needs-host)
  (let ((tramp-default-proxies-alist nil))
    (backstaff-remote-tests-elsewhere "/ssh:host|ssh:other:")))


;;; Views

(ert-deftest backstaff-remote-tree-shows-where-it-is-and-visits-there ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((buffer (backstaff-remote-test-shown (backstaff-tree far))) (visited nil))
      (unwind-protect
          (with-current-buffer buffer
            (should (equal (buffer-name) (format "*backstaff tree: %s@%s*"
                                                  (file-name-nondirectory (directory-file-name far))
                                                  (file-remote-p far 'host))))
            (should (equal default-directory far))
            (should (backstaff-view-go-to "a.txt"))
            (backstaff-view-visit)
            (setq visited (get-file-buffer (concat far "a.txt")))
            (should visited)
            (should (equal (with-current-buffer visited (buffer-string)) "alpha")))
        (when visited (kill-buffer visited))))))

(ert-deftest backstaff-remote-views-name-files-of-the-host ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (should (equal (backstaff-view-file-name (backstaff-view--absolute far "src/b.py") far)
                   (concat far "src/b.py")))
    ;; An absolute name in a reply is the host's, whatever it looks like.
    (dolist (path '("/etc/x" "/ssh:other:/etc/x" "/sudo::/x"))
      (should (equal (backstaff-view-file-name (backstaff-view--absolute far path) far)
                     (concat "/ssh:host:" path)))
      (should (equal (file-remote-p (backstaff-view--absolute far path)) "/ssh:host:")))))

(ert-deftest backstaff-remote--root-is-looked-for-once ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let* ((asked 0)
           (project-find-functions
            (list (lambda (_) (cl-incf asked) (cons 'transient far))))
           (default-directory (concat far "src/")))
      (dotimes (_ 3)
        (should (equal (backstaff-root) far)))
      (should (= asked 1))
      (backstaff-restart)
      (should (equal (backstaff-root) far))
      (should (= asked 2)))))

(ert-deftest backstaff-remote-doctor-explains-the-host ()
  (backstaff-remote-test-both-ways
    (let ((default-directory far)
          (project-find-functions '(backstaff-test-project)))
      (save-window-excursion
        (backstaff-doctor)
        (with-current-buffer "*backstaff doctor*"
          (backstaff-test-wait-for (string-match-p "^All is well" (buffer-string)))
          (dolist (regexp `("^ok +Host +/ssh:host:$"
                            "Python 3\\.[0-9]+, sources \\(?:sent\\|cached\\)"))
            (should (string-match-p regexp (buffer-string))))
          ;; The place of each word must be plain.
          (should (string-match-p
                   "^ok +Root +/ssh:host:.*\n\nOn this machine, .*\n\\(?:.*\n\\)+\nOn /ssh:host:, .*\nok +Host "
                   (buffer-string))))))))

(ert-deftest backstaff-remote-doctor-says-why-the-host-has-no-server ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((default-directory far)
          (backstaff-remote-python "python-that-is-not-there")
          (project-find-functions '(backstaff-test-project)))
      (save-window-excursion
        (backstaff-doctor)
        (with-current-buffer "*backstaff doctor*"
          (backstaff-test-wait-for (string-match-p "^FAILED +Host" (buffer-string)))
          (should (string-match-p
                   "^FAILED +Host +Backstaff cannot start its server: on /ssh:host:, .*is no Python 3\\.11 or newer.*\n +To do: Install one on that host"
                   (buffer-string))))))))

(ert-deftest backstaff-remote-is-loaded-for-remote-roots-alone ()
  (with-temp-buffer
    (call-process (expand-file-name invocation-name invocation-directory) nil t nil
                  "-Q" "--batch" "-L" (expand-file-name "elisp" backstaff-test-repository)
                  "-l" "backstaff"
                  "--eval" (format "(setq backstaff-server-command '%S)"
                                   (backstaff-test-command))
                  "--eval" "(backstaff-call-text 'agent-q/list_directory '(:path \".\"))"
                  "--eval" "(prin1 (mapcar #'featurep '(tramp backstaff-remote)))")
    (should (equal (buffer-string) "(nil nil)"))))

(provide 'backstaff-remote-tests)
;;; backstaff-remote-tests.el ends here
