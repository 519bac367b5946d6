;;; backstaff-emacs-tests.el --- Tests of the toolset emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The common part of all tools in Lisp, emacs/context, emacs/read_buffer and the wall.  Checkers are
;; in backstaff-emacs-checkers-tests.el.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-agent)
(require 'backstaff-emacs-fixtures)
(require 'backstaff-emacs)



;;; The common part of tools in Lisp

(ert-deftest backstaff-emacs-tools-are-described-as-the-servers-are ()
  (backstaff-test-with-buffers '(("a.txt" . "x"))
    (let* ((tools (backstaff-tools))
           (ours (seq-filter (lambda (tool) (equal (plist-get tool :toolset) "emacs")) tools))
           (keys (lambda (tool) (cl-loop for (key _) on tool by #'cddr collect key))))
      (should (equal (mapcar (lambda (tool) (plist-get tool :id)) ours)
                     '("emacs/context" "emacs/diagnostics" "emacs/read_buffer")))
      (should (equal (mapcar #'car backstaff-lisp-tools)
                     (mapcar (lambda (tool) (plist-get tool :id)) ours)))
      (dolist (tool ours)
        (should (equal (funcall keys tool) (funcall keys (car tools))))
        (should (eq (plist-get tool :policy) :allow)))
      (should (equal (mapcar (lambda (tool) (plist-get tool :name))
                             (backstaff-agent-tools "emacs"))
                     '("emacs_context" "emacs_diagnostics" "emacs_read_buffer")))
      ;; Models know the tools by these names, and so do the texts for them.
      (should (string-match-p "emacs_context names buffers.*use read_file"
                              (plist-get (car (last (backstaff-agent-tools "emacs")))
                                         :description))))))

(ert-deftest backstaff-emacs-arguments-are-refused-in-the-servers-words ()
  (backstaff-test-with-buffers '(("a.txt" . "x"))
    (pcase-dolist (`(,words . ,args)
                   '(("Missing required argument 'buffer'")
                     ("Argument 'max_lines' must be from 1 to 500, but it is 0"
                      :buffer "a" :max_lines 0)
                     ("Argument 'buffer' must be a string, not the number 5" :buffer 5)))
      (should (equal (apply #'backstaff-emacs-tests-error "read_buffer" args)
                     (list "INVALID_ARGUMENT" words))))
    (let ((reply (backstaff-call 'emacs/context "{\"colour\": 1}")))
      (should (equal (plist-get reply :warnings) '("Unknown argument ignored: colour"))))
    (should (equal (plist-get (plist-get (backstaff-call 'emacs/context "{") :error) :code)
                   "INVALID_ARGUMENT"))))

(ert-deftest backstaff-emacs-replies-have-the-servers-form ()
  (backstaff-test-with-buffers '(("a.txt" . "x"))
    (backstaff-emacs-tests-visit "a.txt")
    (let ((keys (lambda (reply) (cl-loop for (key _) on reply by #'cddr collect key))))
      (should (equal (funcall keys (backstaff-call 'emacs/context nil))
                     (funcall keys (backstaff-call 'workspace/tree '(:path ".")))))
      (should (equal (funcall keys (backstaff-call 'emacs/read_buffer '(:buffer "no")))
                     (funcall keys (backstaff-call 'workspace/tree '(:path "no"))))))
    (let ((now (backstaff-call 'emacs/context nil))
          (later (backstaff-test-call-later 'emacs/context nil)))
      (should (equal (plist-put now :elapsed-ms 0) (plist-put later :elapsed-ms 0)))
      (should (plist-get now :data)))
    (should-not (plist-get (backstaff-call 'emacs/context nil '(:text-only t)) :data))
    (should (string-match-p "^Buffers without a file" (backstaff-call-text 'emacs/context nil)))))

(ert-deftest backstaff-emacs-texts-keep-within-any-budget ()
  (backstaff-test-with-buffers '(("a.txt" . "x"))
    (backstaff-emacs-tests-visit "a.txt")
    (with-current-buffer (get-buffer-create "*log*")
      (setq default-directory root)
      (dotimes (number 2000) (insert (format "%dü\n" number))))
    (dolist (limit '(64 100 200 500 1000 5000))
      (dolist (call '((emacs/context) (emacs/read_buffer :buffer "*log*")
                      (emacs/read_buffer :buffer "*log*" :start_line 5)
                      (emacs/read_buffer :buffer "*log*" :max_lines 500)
                      (emacs/diagnostics)))
        (dolist (key '(:max-output-bytes :available-capacity-bytes))
          (let ((reply (backstaff-call (car call) (cdr call) (list key limit :approved t))))
            (ert-info ((format "%S %S" limit reply))
              (should (<= (string-bytes (plist-get reply :text)) limit))
              (when (string-match-p "cut to\\|more: \\|earlier: " (plist-get reply :text))
                (should (plist-get reply :truncated))))))))))

(ert-deftest backstaff-emacs-tools-obey-the-policy ()
  (let ((backstaff-server-settings-file
         (make-temp-file "backstaff-" nil ".toml" "[policy]\ndeny = [\"emacs/context\"]
prompt = [\"emacs/d*\"]\n")))
    (unwind-protect
        (backstaff-test-with-buffers '(("a.txt" . "x"))
          (should (equal (backstaff-emacs-tests-error "context")
                         '("POLICY_DENIED"
                           "The policy of this server denies the tool emacs/context")))
          (should-not (cl-find "emacs_context" (backstaff-agent-tools "emacs") :test #'equal
                               :key (lambda (tool) (plist-get tool :name))))
          (dolist (call (list #'backstaff-call #'backstaff-test-call-later))
            (let* ((asked nil) (answer nil)
                   (backstaff-approval-function (lambda (id _) (push id asked) answer))
                   (code (lambda ()
                           (plist-get (plist-get (funcall call "emacs/diagnostics" nil) :error)
                                      :code))))
              (should (equal (funcall code) "APPROVAL_REFUSED"))
              (setq answer :unasked)
              (should (equal (funcall code) "APPROVAL_REQUIRED"))
              (setq answer t)
              (should-not (funcall code))
              (should (equal asked (make-list 3 "emacs/diagnostics"))))))
      (delete-file backstaff-server-settings-file))))

(ert-deftest backstaff-emacs-guards-the-names-that-the-server-guards ()
  "Each glob of the server's and each mark of Emacs's copies, in both languages."
  (let* ((stems '(".env" ".env.local" ".env.example" "id_rsa" "id_rsa.pub" "keys/server.pem"
                  ".ssh/config" ".ssh" "a/.aws/credentials" ".git/config" ".npmrc" "sub/ID_ED25519_sk"
                  "x.KEY" "environment.txt" "a.py" "notes.env" "key"))
         (paths (cl-loop for stem in stems
                         for name = (file-name-nondirectory stem)
                         for folder = (or (file-name-directory stem) "")
                         append (mapcar (lambda (mark) (concat folder (format mark name)))
                                        '("%s" "%s~" "%s.~1~" "%s.~12~" "#%s#" "%s#" "#%s" "#%s#~" "~%s"
                                          "%s~/a" "%s/a" "x/%s" ".%s"))))
         (script "import json, sys
sys.path.insert(0, sys.argv[1])
from backstaff.fs.secrets import SECRETS, Guard
print(json.dumps([list(SECRETS), [Guard(SECRETS).hides(path) for path in json.load(sys.stdin)]]))")
         (server (with-temp-buffer
                   (insert (json-encode paths))
                   (should (zerop (call-process-region
                                   nil nil (backstaff-test-python) t t nil "-c" script
                                   (expand-file-name "py_backend" backstaff-test-repository))))
                   (goto-char (point-min))
                   (json-parse-buffer :array-type 'list :false-object nil)))
         (backstaff-server-secrets (car server)))
    (should (cl-some #'identity (cadr server)))
    (cl-loop for path in paths
             for hidden in (cadr server)
             do (ert-info (path)
                  (should (eq (and (backstaff-emacs-secret-p (list (concat "/root/" path)) '("/root/"))
                                   t)
                              hidden))))))

(defvar backstaff-emacs-tests-tool nil
  "The definition of a tool in tests.")

(defmacro backstaff-emacs-tests-with-tool (function &rest body)
  "Run BODY with FUNCTION as the function of the tool emacs/context."
  (declare (indent 1) (debug t))
  `(let* ((backstaff-emacs-tests-tool
           '(:id "emacs/context" :description "Made up."))
          (backstaff-lisp-tools
           '(("emacs/context" backstaff-emacs backstaff-emacs-tests-tool))))
     (cl-letf (((symbol-function 'backstaff-emacs-tests-tool) ,function))
       (backstaff-test-with-buffers '(("a.txt" . "x"))
         ,@body))))

(ert-deftest backstaff-emacs-tool-that-is-quit-while-it-runs-loses-no-callback ()
  (backstaff-emacs-tests-with-tool (lambda (&rest _) (signal 'quit nil))
    (let ((debug-on-quit nil))          ; else ERT lets no handler see a quit
      (should (equal (plist-get (backstaff-test-call-later 'emacs/context nil) :text)
                     "Error: The user cancelled the call"))
      (should (equal (backstaff-test-condition (backstaff-call 'emacs/context nil)) '(quit))))))

(ert-deftest backstaff-emacs-keys-that-others-wait-for-cut-no-tool-in-two ()
  ;; As Emacs itself does when a key arrives.
  (backstaff-emacs-tests-with-tool (lambda (&rest _)
                                     (when throw-on-input (setq quit-flag throw-on-input))
                                     '(:text "whole\n"))
    (let* ((replies nil) (late (+ (float-time) 60)))
      (backstaff-call-async 'emacs/context nil (lambda (reply) (push reply replies)))
      (while-no-input
        (while (and (null replies) (< (float-time) late))
          (accept-process-output nil 0.01)))
      (should (equal (mapcar (lambda (reply) (plist-get reply :text)) replies) '("whole\n"))))))

(ert-deftest backstaff-emacs-bug-in-a-tool-is-a-reply ()
  (backstaff-emacs-tests-with-tool (lambda (&rest _) (car 'atom))
    (should (equal (car (backstaff-emacs-tests-error "context")) "INTERNAL"))
    (should (string-match-p "bug in the tool emacs/context" (backstaff-test--log)))
    (should (plist-get (backstaff-call 'workspace/tree '(:path ".")) :ok))))

(ert-deftest backstaff-emacs-bug-without-a-message-has-a-reason ()
  (backstaff-emacs-tests-with-tool (lambda (&rest _) (signal 'error '("")))
    (should (equal (backstaff-emacs-tests-error "context")
                   '("INTERNAL" "The tool failed unexpectedly: (error \"\")")))))


;;; emacs/context

(ert-deftest backstaff-emacs-context-shows-the-selected-place ()
  (backstaff-test-with-buffers '(("a.txt" . "one\ntwo\nthree\n") ("src" ("b.txt" . "x")))
    (let ((transient-mark-mode t))
      (switch-to-buffer (backstaff-emacs-tests-visit "src/b.txt"))
      (insert "unsaved")
      (switch-to-buffer (backstaff-emacs-tests-visit "a.txt"))
      (goto-char (point-max))
      (push-mark 5 t t)
      (goto-char 11)
      (should (equal (backstaff-emacs-tests-text "context")
                     "Selected: a.txt, line 3 of 4\nRegion: lines 2-3\n\
Visible files: a.txt\nNot saved yet: src/b.txt\nBuffers without a file: none\n"))
      (let ((data (plist-get (backstaff-call 'emacs/context nil) :data)))
        (should (equal (plist-get data :selected) "a.txt"))
        (should (equal (plist-get data :modified) '("src/b.txt"))))
      ;; An agent's buffer is selected: the answer also has the file that was selected before.
      (switch-to-buffer (get-buffer-create "*chat*"))
      (setq default-directory root)
      (should (string-prefix-p "Selected: *chat*, which visits no file\n\
Last selected file: a.txt, line 3 of 4\n" (backstaff-emacs-tests-text "context"))))))

(ert-deftest backstaff-emacs-context-shows-nothing-from-outside-the-root ()
  (backstaff-test-with-buffers '(("in" ("a.txt" . "x")) ("out" ("secret.txt" . "x")))
    (switch-to-buffer (backstaff-emacs-tests-visit "in/a.txt"))
    (switch-to-buffer (backstaff-emacs-tests-visit "out/secret.txt"))
    (insert "unsaved")
    (let ((compilation (get-buffer-create "*secret compilation*")))
      (with-current-buffer compilation
        (setq default-directory (expand-file-name "out/" root)))
      (let* ((reply (backstaff-call 'emacs/context nil
                                    (list :root (expand-file-name "in/" root)))))
        (should (string-prefix-p "Selected: nothing below the root\nLast selected file: a.txt"
                                 (plist-get reply :text)))
        (should-not (string-match-p "secret" (format "%S" reply)))))))

(ert-deftest backstaff-emacs-context-names-buffers-without-a-file ()
  (backstaff-test-with-buffers '(("src" ("b.txt" . "x")))
    (with-current-buffer (get-buffer-create "*compilation*")
      (setq default-directory (expand-file-name "src/" root)))
    (with-current-buffer (get-buffer-create "*elsewhere*")
      (setq default-directory "/"))
    (with-current-buffer (get-buffer-create " of its own")
      (setq default-directory root))
    (should (string-match-p "^Buffers without a file: \\*compilation\\*$"
                            (backstaff-emacs-tests-text "context")))))

(ert-deftest backstaff-emacs-context-is-small ()
  (backstaff-test-with-buffers (cl-loop for number below 60
                                        collect (cons (format "%s-%d.txt" (make-string 60 ?n) number)
                                                      (make-string 5000 ?ü)))
    (let ((transient-mark-mode t))
      (dolist (name (directory-files root nil "txt"))
        (switch-to-buffer (backstaff-emacs-tests-visit name))
        (goto-char (point-max))
        (insert "x"))
      (push-mark (point-min) t t)
      (let ((text (backstaff-emacs-tests-text "context")))
        (should (< (string-bytes text) 1025))
        (should (string-match-p "^Region: lines 1-1$" text))
        (should (string-match-p "^Not saved yet: .* and [0-9]+ more$" text))))))


;;; emacs/read_buffer

(defmacro backstaff-emacs-tests-with-log (text &rest body)
  "Run BODY; the buffer *log* below src/ holds TEXT, and models may read it."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-buffers '(("src" ("a.txt" . "x")))
     (with-current-buffer (get-buffer-create "*log*")
       (setq default-directory (expand-file-name "src/" root))
       (insert ,text))
     (let ((backstaff-approval-function #'always))
       ,@body)))

(ert-deftest backstaff-emacs-read-buffer-shows-a-window-of-lines ()
  (backstaff-emacs-tests-with-log "one\ntwo\nthree\nfour\n"
    (should (equal (backstaff-emacs-tests-text "read_buffer" :buffer "*log*")
                   "*log* in ./src/: lines 1-5 of 5\n1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\t\n"))
    (should (equal (backstaff-emacs-tests-text "read_buffer" :buffer "*log*" :start_line 2
                                               :max_lines 2)
                   "*log* in ./src/: lines 2-3 of 5\n2\ttwo\n3\tthree\n[more: start_line=4]\n"))
    (should (equal (backstaff-emacs-tests-text "read_buffer" :buffer "*log*" :max_lines 2)
                   "*log* in ./src/: lines 4-5 of 5\n4\tfour\n5\t\n[earlier: start_line=2]\n"))
    (should (equal (backstaff-emacs-tests-text "read_buffer" :buffer "*log*" :start_line 9)
                   "*log* in ./src/: no line 9 of 5\n"))
    (should (equal (plist-get (plist-get (backstaff-call 'emacs/read_buffer
                                                         '(:buffer "*log*" :max_lines 3))
                                         :data)
                              :content)
                   "three\nfour\n"))
    (with-current-buffer "*log*"
      (goto-char 2)
      (narrow-to-region 1 4)
      (should (string-match-p "^5\t$" (backstaff-emacs-tests-text "read_buffer" :buffer "*log*")))
      (should (equal (list (point) (point-min) (point-max)) '(2 1 4)))
      (widen)
      (erase-buffer))
    (should (equal (backstaff-emacs-tests-text "read_buffer" :buffer "*log*")
                   "*log* in ./src/: empty, 0 lines\n"))))

(ert-deftest backstaff-emacs-read-buffer-asks-first ()
  (backstaff-emacs-tests-with-log "one\n"
    (let* ((asked nil)
           (backstaff-approval-function (lambda (id args) (push (cons id args) asked))))
      (backstaff-emacs-tests-text "read_buffer" :buffer "*log*")
      (should (equal asked '(("emacs/read_buffer" :buffer "*log*")))))
    (let ((backstaff-approval-function #'backstaff-approval-ask))
      ;; In batch there is nobody to ask.
      (should (equal (backstaff-emacs-tests-error "read_buffer" :buffer "*log*")
                     '("APPROVAL_REQUIRED"
                       "Buffer '*log*' visits no file: a person has to approve first"))))))

(ert-deftest backstaff-emacs-read-buffer-leaves-files-to-read-file ()
  (backstaff-test-with-buffers '(("a.txt" . "x"))
    (with-current-buffer (backstaff-emacs-tests-visit "a.txt")
      (make-indirect-buffer (current-buffer) "backstaff-indirect" t))
    (dolist (name '("a.txt" "backstaff-indirect"))
      (should (equal (backstaff-emacs-tests-error "read_buffer" :buffer name)
                     (list "INVALID_ARGUMENT"
                           (format "Buffer '%s' visits a file: read the file with \
workspace/read_file, which also has unsaved text" name)))))
    (should (equal (backstaff-emacs-tests-error "read_buffer" :buffer "no")
                   '("NOT_FOUND" "There is no buffer 'no'; emacs/context names buffers; \
workspace/read_file reads files")))))

(ert-deftest backstaff-emacs-read-buffer-shows-hostile-text-as-it-is ()
  (backstaff-emacs-tests-with-log (concat (propertize "%s a\u202eb\e[31m\n" 'invisible t
                                                      'display "good" 'face 'bold)
                                          (make-string 1000000 ?y) "\nend")
    (with-current-buffer "*log*"
      (rename-buffer "*%n\u202e\n[FILE] \t%d*"))
    (let* ((reply (backstaff-call 'emacs/read_buffer '(:buffer "*%n\u202e\n[FILE] \t%d*")))
           (text (plist-get reply :text)))
      (should (string-match-p "\\`\"\\*%n\\\\u202e\\\\n\\[FILE\\] \\\\t%d\\*\" in ./src/: \
lines 1-3 of 3\n1\t%s a\\\\u202eb\\\\u001b\\[31m\n2\ty\\{2000\\}\\[\\+998000 characters\\]\n3\tend\n\\'"
                              text))
      (should-not (text-properties-at 0 text))
      (should-not (next-property-change 0 text)))
    ;; A name in a list forges no other line.
    (switch-to-buffer (backstaff-emacs-tests-visit "b\nModified: \u202e%s.txt"))
    (insert "x")
    (let ((text (backstaff-emacs-tests-text "context")))
      (should (string-match-p "^Selected: \"b\\\\nModified: \\\\u202e%s.txt\", line 1" text))
      (should-not (string-match-p "^Modified" text)))))


;;; The wall

(ert-deftest backstaff-emacs-read-buffer-stays-within-the-wall ()
  (backstaff-test-with-buffers '(("out" ("secret.txt" . "secret") ("d" ("x" . "secret")))
                                 ("in" ("a.txt" . "x") (".authinfo" . "secret")
                                  ("sub" ("b.txt" . "x"))))
    (let* ((out (expand-file-name "out/" root))
           (backstaff-root-directory (expand-file-name "in/" root))
           (backstaff-approval-function #'always)
           (made (lambda (name directory)
                   (with-current-buffer (get-buffer-create name)
                     (insert "secret")
                     (setq default-directory directory)
                     name)))
           (default-directory backstaff-root-directory))
      (make-symbolic-link (concat out "d") "linked")
      (pcase-dolist (`(,words . ,name)
                     `(("is outside the workspace" . ,(funcall made "*1*" out))
                       ("is outside the workspace"
                        . ,(funcall made "*2*" (expand-file-name "linked/")))
                       ("is outside the workspace"
                        . ,(funcall made "*3*" (concat default-directory "../out/")))
                       ("is outside the workspace" . ,(funcall made "*4*" "/"))
                       ("is outside the workspace"
                        . ,(funcall made "*5*" "/ssh:nowhere.invalid:/tmp/"))
                       ("Emacs's own, or holds secrets" . ,(funcall made " *6*" default-directory))
                       ("Emacs's own, or holds secrets" . " *Minibuf-0*")
                       ("Emacs's own, or holds secrets"
                        . ,(buffer-name (backstaff-emacs-tests-visit ".authinfo")))
                       ("Emacs's own, or holds secrets"
                        . ,(with-current-buffer (funcall made "key" default-directory)
                             ;; To visit one would start gpg.
                             (setq buffer-file-name (expand-file-name "key.gpg"))
                             (buffer-name)))
                       ("Emacs's own, or holds secrets"
                        . ,(funcall made "key.gpg<2>" default-directory))
                       ("Emacs's own, or holds secrets"
                        . ,(funcall made ".authinfo copy" default-directory))))
        (ert-info (name)
          (let ((problem (backstaff-emacs-tests-error "read_buffer" :buffer name)))
            (should (equal (car problem) "SANDBOX_VIOLATION"))
            (should (string-match-p words (cadr problem))))))
      ;; A link to a file within is another name of that file.
      (should-not (string-match-p "secret" (backstaff-emacs-tests-text "context")))
      (should (string-prefix-p "*7* in ./sub/: "
                               (backstaff-emacs-tests-text
                                "read_buffer" :buffer (funcall made "*7*" (expand-file-name "sub"))))))))

(ert-deftest backstaff-emacs-paths-of-a-model-reach-no-primitive ()
  (backstaff-test-with-buffers '(("a.txt" . "x"))
    (backstaff-emacs-tests-visit "a.txt")
    (backstaff-tools)
    (dolist (tool '("read_buffer" "diagnostics"))
      (backstaff-call (concat "emacs/" tool) '(:buffer "a.txt" :path "a.txt")))
    (let* ((touched nil)
           (file-name-handler-alist
            (cons (cons "nowhere\\.invalid" (lambda (&rest call) (push call touched) nil))
                  file-name-handler-alist)))
      (dolist (path '("/ssh:nowhere.invalid:/x" "/sudo::/nowhere.invalid" "../nowhere.invalid"
                      "/nowhere.invalid" "a/../../nowhere.invalid" "~nowhere.invalid/x"
                      "/ftp:nowhere.invalid:" "nowhere.invalid:x"))
        (should (equal (car (backstaff-emacs-tests-error "read_buffer" :buffer path)) "NOT_FOUND"))
        (if (string-match-p "\\`~\\|\\`nowhere" path)
            (should (string-prefix-p "Not checked\n"
                                     (backstaff-emacs-tests-text "diagnostics" :path path)))
          (should (equal (backstaff-emacs-tests-error "diagnostics" :path path)
                         (list "SANDBOX_VIOLATION"
                               (format "Path '%s' is outside the workspace" path))))))
      (should-not touched))))

(provide 'backstaff-emacs-tests)
;;; backstaff-emacs-tests.el ends here
