;;; backstaff-view-tests.el --- Tests of backstaff-ui-view.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-tree)
(require 'backstaff-ui-overview)
(require 'backstaff-ui-changes)
(require 'backstaff-ui-inspector)
(require 'backstaff-ui-search)
(require 'desktop)
(require 'dired)


;;; Waiting

(defun backstaff-view-tests-names ()
  "Return the names in a tree below its root, without counts."
  (mapcar (lambda (line) (car (split-string line))) (cdr (backstaff-view-test-lines))))

(defun backstaff-view-tests-cancelled ()
  "Return how many calls the fake server heard that nobody waits for."
  (length (backstaff-test-call-server 'cancellations nil :timeout 5)))

(ert-deftest backstaff-view-does-not-wait-and-says-so ()
  (backstaff-view-test-fake "silent"
    (backstaff-tree root)
    ;; A command that waited would return at the limit, with no request left.
    (should (equal mode-line-process '("" (backstaff-view--call " waiting, C-g cancels"))))
    (should backstaff-view--call)
    (backstaff-view-test-press "C-g")
    (kill-buffer)))

(ert-deftest backstaff-view-quit-cancels-on-the-server ()
  (backstaff-view-test-fake "stalling"
    (dolist (command (list #'backstaff-list-directory #'backstaff-list-entries
                           #'backstaff-tree #'backstaff-file-info))
      (let ((before (backstaff-view-tests-cancelled)))
        (funcall command root)
        (should backstaff-view--call)
        (backstaff-view-test-press "C-g")
        (should (string-match-p "was cancelled" (buffer-string)))
        (should (= (backstaff-view-tests-cancelled) (1+ before)))
        (execute-kbd-macro "g")
        (should backstaff-view--call)
        (kill-buffer)
        (should (= (backstaff-view-tests-cancelled) (+ 2 before)))))))

(ert-deftest backstaff-view-is-in-the-root ()
  (backstaff-view-test-project '(("a" . (("b" . ""))))
    (make-symbolic-link "/" (concat root "out"))
    (dolist (path '("out" "none" "a"))
      (backstaff-view-test-open #'backstaff-tree (expand-file-name path root))
      (should (eq (not (equal path "a")) (string-prefix-p "Error: " (buffer-string))))
      (should (equal default-directory root)))))

(ert-deftest backstaff-view-quit-keeps-the-text ()
  (backstaff-view-test-project '(("a.txt" . "") ("b.txt" . ""))
    (backstaff-view-test-open #'backstaff-tree root)
    (let ((before (buffer-string)))
      (execute-kbd-macro ".")
      (backstaff-view-test-press "C-g")
      (should (equal (buffer-string) before))
      (let ((quits 0))
        (cl-letf (((symbol-function 'keyboard-quit) (lambda () (cl-incf quits))))
          (execute-kbd-macro (kbd "C-g")))
        (should (= quits 1))))))

(ert-deftest backstaff-view-quit-before-the-call-is-sent-leaves-nothing-waiting ()
  (backstaff-view-test-project '(("a.txt" . ""))
    (backstaff-view-test-open #'backstaff-tree root)
    (cl-letf (((symbol-function 'backstaff-call-async)
               (lambda (&rest _) (signal 'quit nil))))
      (should-error (condition-case nil
                        (revert-buffer)
                      (quit (error "Quit")))))
    (should-not backstaff-view--call)
    (backstaff-view-test-press "g")
    (should (equal (backstaff-view-tests-names) '("a.txt")))))

(ert-deftest backstaff-view-newer-request-cancels-the-older ()
  (backstaff-view-test-fake "stalling"
    (backstaff-tree root)
    (execute-kbd-macro "ggg")
    (should backstaff-view--call)
    (should (= (backstaff-view-tests-cancelled) 3))
    (fundamental-mode)
    (should (= (backstaff-view-tests-cancelled) 4))))

(ert-deftest backstaff-view-late-answer-is-not-shown ()
  (backstaff-view-test-project '(("one" ("a" . "")) ("two" ("b" . "")))
    (backstaff-tree (expand-file-name "one" root))
    (backstaff-view-change :arguments (map-merge 'plist (backstaff-view-get :arguments)
                                                 '(:path "two")))
    (backstaff-view-test-settle)
    (should (equal (backstaff-view-tests-names) '("b")))))


;;; Failures

(ert-deftest backstaff-view-shows-that-the-server-died-and-lives-on ()
  (backstaff-view-test-fake "dying"
    (dolist (command (list #'backstaff-tree #'backstaff-overview))
      (backstaff-restart)
      (backstaff-view-test-open command root)
      (should (string-match-p
               "\\`Error: Backstaff connection lost: .*status 7:\n\\(.*\n\\)*last words\n\nType g"
               (buffer-string)))
      (let ((backstaff-server-command (backstaff-test-command)))
        (backstaff-restart)
        (backstaff-view-test-press "g"))
      (should-not (string-match-p "Error" (buffer-string)))
      (should (plist-get backstaff-view--reply :ok))
      (kill-buffer))))

(ert-deftest backstaff-view-shows-a-failure-until-it-is-mended ()
  (dolist (command (list #'backstaff-tree #'backstaff-overview))
    (backstaff-view-test-project '(("sub" ("a.txt" . "") ("b.txt" . "")))
      (backstaff-view-test-open command (expand-file-name "sub" root))
      (let ((before (buffer-string)))
        (rename-file "sub" "away")
        (backstaff-view-test-press "g")
        (should (string-match-p "\\`Error: .*\\(not found\\|does not exist\\).*\n\nType g" (buffer-string)))
        (rename-file "away" "sub")
        (backstaff-view-test-press "g")
        (should (equal (buffer-string) before))))))

(ert-deftest backstaff-view-of-a-deleted-project-says-so-and-nothing-else ()
  (backstaff-view-test-project '(("gone" ("a" . "")))
    (let* ((gone (expand-file-name "gone/" root)) (backstaff-root-directory gone))
      (backstaff-view-test-open #'backstaff-tree gone)
      (delete-directory gone t)
      (dolist (server '(alive killed))
        (ert-info ((symbol-name server))
          (when (eq server 'killed)
            (signal-process (backstaff-server-status) 'KILL)
            (backstaff-test-wait-for (null (backstaff-server-status))))
          (backstaff-view-test-press "g")
          (should (string-prefix-p (format "Error: the project root '%s' does not exist" gone)
                                   (buffer-string))))))))

(ert-deftest backstaff-view-without-a-text-shows-the-failure-until-it-is-mended ()
  (backstaff-view-test-project '(("sub" ("a" . "")))
    (let ((backstaff-server-command '("/nowhere/python")))
      (backstaff-stop)
      (backstaff-view-test-open #'backstaff-tree (expand-file-name "sub" root)))
    (should (string-prefix-p "Error: " (buffer-string)))
    (should (eq (get-text-property 1 'face) 'error))
    (backstaff-stop)
    (backstaff-view-test-press "g")
    (should (equal (backstaff-view-tests-names) '("a")))))

(ert-deftest backstaff-view-shows-that-there-is-no-server ()
  (backstaff-test-with-server '("/nowhere/python")
    (save-window-excursion
      (backstaff-view-test-open #'backstaff-tree temporary-file-directory)
      (should (string-match-p "\\`Error: Backstaff cannot start its server: .*/nowhere/python"
                              (buffer-string))))))

(ert-deftest backstaff-view-refuses-a-remote-directory ()
  (backstaff-test-clean
    (let* ((operations nil)
           (file-name-handler-alist
            `(("\\`/remote:" . ,(lambda (operation &rest arguments)
                                  (push operation operations)
                                  (pcase operation
                                    ('file-remote-p "/remote:")
                                    ((or 'file-name-as-directory 'expand-file-name
                                         'directory-file-name 'file-name-directory)
                                     (car arguments)))))
              ,@file-name-handler-alist)))
      (dolist (command (list #'backstaff-list-directory #'backstaff-list-entries
                             #'backstaff-tree #'backstaff-file-info))
        (should (string-match-p "/remote:/home/ is on another machine"
                                (error-message-string
                                 (should-error (funcall command "/remote:/home/")
                                               :type 'user-error)))))
      (should-not (cl-set-difference operations
                                     '(file-remote-p file-name-as-directory
                                       expand-file-name directory-file-name
                                       file-name-directory))))
    (should-not backstaff-server--servers)))


;;; Names and paths

(ert-deftest backstaff-view-text-has-no-properties-from-the-wire ()
  (backstaff-view-test-fake "serve"
    (let ((reply (list :ok t :text (propertize "# x\n" 'display "forged")
                       :data '(:path "." :files 0 :named 0))))
      (cl-letf (((symbol-function 'backstaff-call-async)
                 (lambda (_id _args callback &rest _)
                   (run-at-time 0 nil callback reply)
                   (list nil))))
        (backstaff-view-test-open #'backstaff-overview root)
        (should (string-prefix-p "# x" (buffer-string)))
        (should-not (text-property-not-all (point-min) (point-max) 'display nil))))))

(ert-deftest backstaff-view-failures-fit-the-window ()
  (backstaff-view-test-project nil
    (split-window-right 30)
    (backstaff-view-test-open #'backstaff-tree root)
    (backstaff-view-test-open #'backstaff-overview (expand-file-name "missing" root))
    (should (string-prefix-p "Error: " (buffer-string)))
    (should-not (or truncate-lines truncate-partial-width-windows))))

(ert-deftest backstaff-view-commands-elsewhere-say-so ()
  (with-temp-buffer
    (dolist (command '(backstaff-view-visit
                       backstaff-view-edit
                       backstaff-tree-toggle backstaff-tree-toggle-hidden
                       backstaff-changes-visit))
      (ert-info ((symbol-name command))
        (should-error (call-interactively command) :type 'user-error)))))

(ert-deftest backstaff-view-commands-belong-to-modes ()
  "In other buffers, M-x need not offer the commands of a view."
  (pcase-dolist (`(,map . ,mode) '((backstaff-view-mode-map . backstaff-view-mode)
                                   (backstaff-tree-mode-map . backstaff-tree-mode)
                                   (backstaff-overview-mode-map . backstaff-overview-mode)
                                   (backstaff-search-mode-map . backstaff-search-mode)
                                   (backstaff-changes-mode-map . backstaff-changes-mode)
                                   (backstaff-inspector-mode-map . backstaff-inspector-mode)))
    (map-keymap-internal
     (lambda (_ command)
       (when (and (symbolp command)
                  (string-match-p "\\`backstaff-\\(view\\|tree\\|overview\\|search\\|changes\\|inspector\\)-"
                                  (symbol-name command))
                  (not (eq command 'backstaff-view-keys)))
         (ert-info ((symbol-name command))
           (should (cl-some (apply-partially #'provided-mode-derived-p mode)
                            (command-modes command))))))
     (symbol-value map))))

(ert-deftest backstaff-view-shows-its-keys-on-a-page ()
  (backstaff-view-test-project '(("a.txt" . ""))
    (dolist (command (list #'backstaff-tree #'backstaff-overview
                           (lambda (_) (backstaff-search "x")) (lambda (_) (backstaff-changes))
                           (lambda (_) (backstaff-run-tool "workspace/tree" '(:path ".")))))
      (backstaff-view-test-open command root)
      (let ((mode (format-mode-line mode-name)))
        (save-window-excursion
          (execute-kbd-macro (kbd "?"))
          (with-current-buffer "*Help*"
            (should (string-search (concat "Keys of " mode) (buffer-string)))
            (should (string-match-p "^[^ ]+ +[A-Z]" (buffer-string)))
            (should (< (count-lines (point-min) (point-max)) 24))))))))

(ert-deftest backstaff-view-local-names-mean-local-files ()
  (let ((file-name-handler-alist
         '(("\\`/[^/:]+:" . ignore) ("\\.zip/" . ignore) ("\\.gz\\'" . ignore))))
    (pcase-dolist (`(,name ,expected)
                   '(("/a/b c" "/a/b c") ("/a/b.gz" "/a/b.gz")
                     ("/ssh:host:/x" "/:/ssh:host:/x") ("/ssh:x" "/:/ssh:x")
                     ("/:x" "/:/:x") ("/a\n/ssh:host:x" "/:/a\n/ssh:host:x")
                     ("/a/b.zip/c" "/:/a/b.zip/c")))
      (should (equal (backstaff-view-file-name name "/root/") expected)))))

(ert-deftest backstaff-view-paths-are-below-the-root ()
  (backstaff-test-with-tree '(("a" ("b" . "")))
    (should (equal (backstaff-view-relative root root) "."))
    (should (equal (backstaff-view-relative root (directory-file-name root)) "."))
    (should (equal (backstaff-view-relative root (concat root "a/")) "a"))
    (should (equal (backstaff-view-relative root (concat "/:" root "a/b")) "a/b"))
    (should (equal (backstaff-view-relative root "/etc") "/etc"))
    (let ((link (make-temp-name (expand-file-name "backstaff-" temporary-file-directory))))
      (make-symbolic-link root link)
      (unwind-protect
          (should (equal (backstaff-view-relative (concat link "/") (concat root "a")) "a"))
        (delete-file link)))))

(ert-deftest backstaff-view-visit-says-why-there-is-nothing-to-visit ()
  (backstaff-view-test-project '(("gone" . ""))
    (make-symbolic-link "nowhere" (concat root "link"))
    (call-process "mkfifo" nil nil nil (concat root "fifo"))
    (pcase-dolist (`(,name . ,fault) '(("link" . "does not exist") ("fifo" . "is not a regular file")))
      (should (equal (should-error (backstaff-view-visit-file name root) :type 'user-error)
                     `(user-error ,(format "%s%s %s" root name fault)))))
    (backstaff-view-test-open #'backstaff-tree root)
    (delete-file (concat root "gone"))
    (pcase-dolist (`(,name . ,fault) '(("gone" . "does not exist") ("link" . "does not exist")))
      (backstaff-view-test-go-to name)
      (should (equal (should-error (execute-kbd-macro (kbd "RET")) :type 'user-error)
                     `(user-error ,(format "%s%s %s" root name fault)))))))

(ert-deftest backstaff-view-has-a-short-name ()
  (cl-letf (((symbol-function 'backstaff-view-change) (lambda (&rest state) (setq backstaff-view-state state))))
    (pcase-dolist (`(,root . ,name) '(("/" . "/") ("/a/b/" . "b") ("/ssh:h:/a/" . "a@h")
                                      ("/a/new\nline/" . "\"new\\nline\"")))
      (save-window-excursion
        (with-current-buffer (backstaff-view-open 'backstaff-tree-mode root "workspace/tree" nil)
          (should (equal (buffer-name) (format "*backstaff tree: %s*" name)))
          (kill-buffer))))))

(ert-deftest backstaff-view-is-safe-in-a-desktop ()
  (backstaff-view-test-project '(("a" . ""))
    (dolist (command (list #'backstaff-overview #'backstaff-tree
                           #'backstaff-file-info))
      (backstaff-view-test-open command root)
      (should-not (desktop-save-buffer-p buffer-file-name (buffer-name) major-mode)))))

(ert-deftest backstaff-view-says-that-the-server-does-not-answer ()
  (backstaff-view-test-project '(("a" . "") ("d" ("b" . "")))
    (backstaff-view-test-open #'backstaff-tree root)
    (signal-process (backstaff-server-status) 'STOP)
    (unwind-protect
        (let ((backstaff-call-timeout 0.5))
          (backstaff-view-test-press "g")
          (should (string-match-p "\\`Error: Backstaff \\(call timed out\\|connection lost\\)"
                                  (buffer-string))))
      ;; The timeout may have ended the server, which is then no process any more.
      (ignore-errors (signal-process (backstaff-server-status) 'CONT)))
    (write-region "" nil "new" nil 'silent)
    (backstaff-view-test-press "g")
    (should (equal (backstaff-view-tests-names) '("d/" "b" "a" "new")))))

(ert-deftest backstaff-view-asks-before-a-link-is-followed-out-of-the-project ()
  (backstaff-view-test-project '(("in" . "inside"))
    (make-symbolic-link "in" (expand-file-name "near"))
    (let ((outside (make-temp-file "backstaff-" nil nil "outside")) (questions nil) (answer nil))
      (unwind-protect
          (cl-letf (((symbol-function 'y-or-n-p)
                     (lambda (question) (push question questions) answer)))
            (make-symbolic-link outside (expand-file-name "far"))
            (backstaff-view-test-open #'backstaff-tree root)
            (backstaff-view-test-go-to "near")
            (execute-kbd-macro (kbd "RET"))
            (should (equal (buffer-string) "inside"))
            (should-not questions)
            (backstaff-view-test-open #'backstaff-tree root)
            (backstaff-view-test-go-to "far")
            (should-error (execute-kbd-macro (kbd "RET")) :type 'user-error)
            (should (equal questions
                           (list (format "far leads out of the project, to %s.  Follow it? "
                                         (file-truename outside)))))
            (setq answer t)
            (execute-kbd-macro (kbd "RET"))
            (should (equal (buffer-string) "outside"))
            (kill-buffer))
        (delete-file outside)))))

(ert-deftest backstaff-view-is-stopped-by-no-policy ()
  (let ((backstaff-server-settings-file
         (make-temp-file "backstaff-" nil ".toml" "[policy]\ndeny = [\"workspace/*\"]
prompt = [\"agent-q/*\", \"commands/*\"]\n"))
        (backstaff-approval-function (lambda (&rest _) (ert-fail "Somebody was asked"))))
    (unwind-protect
        (backstaff-view-test-project '(("a.txt" . "") (".claude" ("commands" ("go.md" . "Go"))))
          (dolist (command (list #'backstaff-tree #'backstaff-list-directory))
            (backstaff-view-test-open command root)
            (should (string-match-p "a\\.txt" (buffer-string))))
          (backstaff-view-test-open #'backstaff-list-commands)
          (should (string-match-p "\\_<go\\_>" (buffer-string))))
      (delete-file backstaff-server-settings-file))))


;;; File info

(ert-deftest backstaff-file-info-shows-the-text ()
  (backstaff-view-test-project '(("a.txt" . "x"))
    (backstaff-view-test-open #'backstaff-file-info (expand-file-name "a.txt" root))
    (should (string-search (backstaff-call-text 'agent-q/get_file_info '(:path "a.txt"))
                           (buffer-string)))
    (should (derived-mode-p 'special-mode))
    (should buffer-read-only)
    (backstaff-view-test-open #'backstaff-file-info root)
    (should (string-match-p "Type: directory" (buffer-string)))))

(ert-deftest backstaff-file-info-asks-again-on-the-same-line ()
  (backstaff-view-test-project '(("a.txt" . "x"))
    (backstaff-view-test-open #'backstaff-file-info (expand-file-name "a.txt" root))
    (search-forward "Type:")
    (write-region "more" nil (expand-file-name "a.txt" root) nil 'silent)
    (with-current-buffer (find-file-noselect "a.txt")
      (insert "unsaved"))
    (backstaff-view-test-press "g")
    (should (looking-back "Type:" (line-beginning-position)))
    (should (string-match-p "^Buffer: a.txt (unsaved changes)$" (buffer-string)))))

(ert-deftest backstaff-file-info-is-of-the-current-file ()
  (backstaff-view-test-project '(("sub" ("a.txt" . "x")))
    (find-file "sub/a.txt")
    (execute-kbd-macro (kbd "M-x backstaff-file-info RET"))
    (backstaff-view-test-settle)
    (should (eq major-mode 'backstaff-inspector-mode))
    (should (string-search (format "File: %ssub/a.txt\n" root) (buffer-string)))
    ;; In Dired and in views it is the file at point.
    (dired (concat root "sub"))
    (dired-goto-file (concat root "sub/a.txt"))
    (execute-kbd-macro (kbd "M-x backstaff-file-info RET"))
    (backstaff-view-test-settle)
    (should (string-search (format "File: %ssub/a.txt\n" root) (buffer-string)))
    (backstaff-view-test-open #'backstaff-tree root)
    (backstaff-view-test-go-to "sub/")
    (execute-kbd-macro (kbd "M-x backstaff-file-info RET"))
    (backstaff-view-test-settle)
    (should (string-search (format "File: %ssub/\n" root) (buffer-string)))))

(ert-deftest backstaff-list-directory-shows-the-text-of-the-tool ()
  (backstaff-view-test-project '(("sub" ("a.txt" . "x")))
    (let ((default-directory (concat root "sub/")))
      (execute-kbd-macro (kbd "M-x backstaff-list-directory RET")))
    (backstaff-view-test-settle)
    (should (string-search (backstaff-call-text 'agent-q/list_directory '(:path "sub"))
                           (buffer-string)))))

(provide 'backstaff-view-tests)
;;; backstaff-view-tests.el ends here
