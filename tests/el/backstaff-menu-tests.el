;;; backstaff-menu-tests.el --- Tests of backstaff-ui-menu.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-ui-menu)
(require 'project)

(defvar backstaff-menu-tests-screen nil
  "The text of the menu after the last command, or nil if it is not open.")

(defun backstaff-menu-tests-look ()
  "Note what the menu shows."
  (setq backstaff-menu-tests-screen
        (and transient--prefix
             (with-current-buffer transient--buffer-name
               (buffer-substring-no-properties (point-min) (point-max))))))

(defun backstaff-menu-tests-type (keys)
  "Type KEYS and return the text of the menu that is open then, if any.
After that the menu is closed: it does not outlive a keyboard macro."
  (setq backstaff-menu-tests-screen nil)
  (let ((minibuffer-message-timeout 0))
    (add-hook 'post-command-hook #'backstaff-menu-tests-look 100)
    (unwind-protect (execute-kbd-macro (kbd keys))
      (remove-hook 'post-command-hook #'backstaff-menu-tests-look)
      (when transient--prefix
        (transient--emergency-exit))))
  backstaff-menu-tests-screen)

(defmacro backstaff-menu-tests-with (command &rest body)
  "Run BODY in a project, with COMMAND for a server and the menu on M-m."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree '(("src" ("a.el" . "1") (".hidden" . "")) ("b.txt" . "2"))
     (backstaff-test-with-server ,command
       (save-window-excursion
         (with-temp-buffer
           (setq default-directory root)
           (switch-to-buffer (current-buffer))
           (let ((project-find-functions nil)
                 (transient-show-popup t)
                 (kill-ring nil)
                 (inhibit-message t)
                 (map (make-sparse-keymap)))
             (define-key map (kbd "M-m") #'backstaff)
             (use-local-map map)
             ,@body))))))

(defvar backstaff-menu-tests-answered 'not-loaded
  "Whether the server had answered when a library of the menu was loaded.")

(ert-deftest backstaff-menu-loads-its-commands-while-the-server-starts ()
  (let ((file (make-temp-file "backstaff-menu" nil ".el"
                              "(setq backstaff-menu-tests-answered
      (backstaff-server-answered backstaff-server--current))
(defun backstaff-menu-tests-late () (interactive))"))
        (backstaff-map (make-sparse-keymap))
        (backstaff-menu-tests-answered 'not-loaded))
    (autoload 'backstaff-menu-tests-late file nil t)
    (define-key backstaff-map "a" 'backstaff-menu-tests-late)
    (define-key backstaff-map "b" (make-sparse-keymap))
    (unwind-protect
        (backstaff-menu-tests-with (backstaff-test-command)
          (should (string-match-p "agent-q" (backstaff-menu-tests-type "M-m")))
          (should-not backstaff-menu-tests-answered)
          (should-not (autoloadp (symbol-function 'backstaff-menu-tests-late))))
      (fmakunbound 'backstaff-menu-tests-late)
      (delete-file file))))

(defun backstaff-menu-tests-request ()
  "Return the id, the arguments and the forms that were last asked for."
  (with-current-buffer (window-buffer)
    (should (derived-mode-p 'backstaff-inspector-mode))
    (backstaff-test-wait-for (not backstaff-request--pending))
    (mapcar (apply-partially #'plist-get backstaff-view-state)
            '(:tool :arguments :forms))))


;;; Keys

(defun backstaff-menu-tests-keys (&rest ids)
  "Return the keys of tools that have IDS."
  (mapcar (lambda (entry) (cons (plist-get (cdr entry) :id) (car entry)))
          (backstaff-menu--tools-with-keys (mapcar (lambda (id) (list :id id)) ids))))

(ert-deftest backstaff-menu-keys-come-from-the-names ()
  (should (equal (backstaff-menu-tests-keys "workspace/tree" "agent-q/list_directory"
                                            "agent-q/get_file_info")
                 '(("agent-q/get_file_info" . "Ag") ("agent-q/list_directory" . "Al")
                   ("workspace/tree" . "Wt")))))

(ert-deftest backstaff-menu-keys-are-all-different-and-stay ()
  (let ((before (backstaff-menu-tests-keys "zoo/feed" "zoo/feed_all" "zoo/find" "zebra/feed"))
        (after (backstaff-menu-tests-keys "zoo/feed" "zoo/feed_all" "zoo/find" "zebra/feed"
                                          "zoo/zz" "zoo/furnish")))
    (should (equal before '(("zebra/feed" . "Zf") ("zoo/feed" . "Ze")
                            ("zoo/feed_all" . "Za") ("zoo/find" . "Zi"))))
    (dolist (entry before)
      (should (member entry after)))
    (should (= (length (delete-dups (mapcar #'cdr after))) 6))))

(ert-deftest backstaff-menu-keys-suffice-for-very-many-tools ()
  (let* ((ids (cl-loop for i below 100 collect (format "zoo/t%d" i)))
         (keys (mapcar #'cdr (apply #'backstaff-menu-tests-keys ids))))
    (should (= (length (delete-dups keys)) 100))))

(ert-deftest backstaff-menu-keys-of-odd-ids-are-keys ()
  (should (equal (mapcar #'cdr (backstaff-menu-tests-keys "7/9" "lone" "été/œuf"))
                 '("X9" "Ll" "Tu"))))

(ert-deftest backstaff-menu-argument-keys-start-with-a-dash ()
  (cl-letf* ((shown nil)
             ((symbol-function 'backstaff-menu--entry)
              (lambda (_prefix key &rest _) (push key shown)))
             (backstaff-menu--tool
              '(:id "x/y" :arguments ((:name "path") (:name "pattern") (:name "pa")))))
    (backstaff-menu--argument-entries nil)
    (should (equal (nreverse shown) '("-p" "-a" "-b")))))


;;; The menu

(ert-deftest backstaff-menu-shows-every-tool-and-what-there-is ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (let ((screen (backstaff-menu-tests-type "M-m")))
      (should (string-match-p (regexp-quote root) screen))
      (pcase-dolist (`(,letter . ,toolset)
                     '(("A" . "agent-q") ("C" . "commands") ("E" . "emacs") ("F" . "forge")
                       ("W" . "workspace")))
        (should (string-match-p (concat letter " " toolset) screen))
        (let ((tools (backstaff-menu-tests-type (concat "M-m " letter))))
          (dolist (tool (backstaff-tools))
            (should (eq (and (string-match-p (regexp-quote (plist-get tool :id)) tools) t)
                        (string-prefix-p (concat toolset "/") (plist-get tool :id)))))))
      (dolist (line '("l List a directory" "i File info" "r Restart" "d Doctor" "n Install"))
        (should (string-match-p line screen))))))

(ert-deftest backstaff-menu-has-what-the-map-has ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (let ((commands nil)
          (keys nil))
      (map-keymap (lambda (_ command) (push command commands)) backstaff-map)
      (should (memq 'backstaff-find-command commands))
      (add-hook 'post-command-hook #'backstaff-menu-tests-look)
      (unwind-protect
          (cl-letf (((symbol-function 'backstaff-menu-tests-look)
                     (lambda ()
                       (when transient--prefix
                         (setq keys (mapcar (lambda (suffix) (oref suffix command))
                                            transient--suffixes))))))
            (backstaff-menu-tests-type "M-m"))
        (remove-hook 'post-command-hook #'backstaff-menu-tests-look))
      (dolist (command (delq 'backstaff commands))
        (should (memq command keys))))))

(ert-deftest backstaff-menu-has-a-new-tool-by-itself ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (setf (backstaff-server-definitions (backstaff-server-ensure))
          '((:id "zoo/feed" :description "Feed it" :policy :prompt
             :arguments ((:name "amount" :type :integer :default 3)))))
    (should (string-match-p "Z zoo" (backstaff-menu-tests-type "M-m")))
    (should (string-match-p "f zoo/feed asks first" (backstaff-menu-tests-type "M-m Z")))
    (let ((screen (backstaff-menu-tests-type "M-m Z f")))
      (should (string-match-p "zoo/feed\n.*\n\nFeed it\n" screen))
      (should (string-match-p "-a amount  default 3" screen)))))

(ert-deftest backstaff-menu-opens-the-views ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (let ((called nil))
      (cl-letf (((symbol-function 'backstaff-list-directory)
                 (lambda () (interactive) (setq called t))))
        (should-not (backstaff-menu-tests-type "M-m l"))
        (should called)))))


;;; Without a server

(ert-deftest backstaff-menu-opens-without-a-server-and-says-why ()
  (pcase-dolist (`(,command ,regexp)
                 `((("/nowhere/python") "/nowhere/python")
                   (,(backstaff-test-fake-command "fail") "No module named")
                   (,(backstaff-test-fake-command "noisy") "Welcome")
                   (,(backstaff-test-fake-command "other-version") "M-x \\(package-upgrade\\|list-packages\\)")))
    (ert-info ((format "%S" command))
      (backstaff-menu-tests-with command
        (let ((screen (backstaff-menu-tests-type "M-m")))
          (should (string-match-p regexp screen))
          (should (string-match-p "v View the log" screen))
          (should (string-match-p "d Doctor" screen))
          (should (string-match-p "Then type g" screen))
          ;; What would fail, too, is not offered.
          (should-not (string-match-p "o Overview" screen)))))))

(ert-deftest backstaff-menu-leads-a-newcomer-to-the-overview ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (should (string-match-p "New here\\?  o shows this project on a page"
                            (backstaff-menu-tests-type "M-m")))
    (should-not (string-match-p "New here" (backstaff-menu-tests-type "M-m")))))

(ert-deftest backstaff-menu-works-once-what-was-missing-is-there ()
  (backstaff-menu-tests-with '("/nowhere/python")
    (should-not (string-match-p "o Overview" (backstaff-menu-tests-type "M-m")))
    (setq backstaff-server-command (backstaff-test-command))
    (let ((screen (backstaff-menu-tests-type "M-m")))
      (should (string-match-p "o Overview" screen))
      (should (string-match-p "W workspace" screen)))))

(ert-deftest backstaff-menu-does-not-wait-for-a-silent-server ()
  :tags '(clock)
  (backstaff-menu-tests-with (backstaff-test-fake-command "silent")
    (let* ((backstaff-menu--patience 0.5)
           (screen nil)
           (seconds (backstaff-test-seconds
                      (setq screen (backstaff-menu-tests-type "M-m")))))
      (should (< seconds 1))
      (should (string-match-p "did not answer describe within 0.5 seconds" screen)))))

(ert-deftest backstaff-menu-can-be-quit-while-it-waits ()
  (backstaff-menu-tests-with (backstaff-test-fake-command "silent")
    (run-at-time 0.2 nil (lambda () (setq quit-flag t)))
    (should (< (backstaff-test-seconds
                 (condition-case nil
                     (let ((debug-on-quit nil))
                       (backstaff-menu-tests-type "M-m")
                       (ert-fail "It was not quit"))
                   (quit nil)))
               1))
    (should-not transient--prefix)))

(ert-deftest backstaff-menu-asks-again ()
  (backstaff-menu-tests-with '("/nowhere/python")
    (should-not (string-match-p "W workspace" (backstaff-menu-tests-type "M-m g")))
    (let ((times 0))
      (cl-letf* ((ask (symbol-function 'backstaff-tools))
                 ((symbol-function 'backstaff-tools)
                  (lambda (&rest arguments)
                    (when (= (cl-incf times) 2)
                      (setq backstaff-server-command (backstaff-test-command)))
                    (apply ask arguments))))
        (should (string-match-p "W workspace" (backstaff-menu-tests-type "M-m g")))
        (should (= times 2))))))

(ert-deftest backstaff-menu-survives-a-server-that-describes-nonsense ()
  (dolist (method '("describe=echo" "describe=source" "describe=die" "describe=refuse"
                    "describe=names"))
    (ert-info (method)
      (backstaff-menu-tests-with (backstaff-test-fake-command method)
        (should (string-match-p "d Doctor" (backstaff-menu-tests-type "M-m")))))))


;;; Arguments and running

(ert-deftest backstaff-menu-sets-arguments-of-every-type ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (let ((screen (backstaff-menu-tests-type
                   "M-m W t - p C-a C-k s r TAB RET - e a l l RET - m 2 RET - i - x * . p RET RET")))
      (dolist (line '("-p path  +src/" "-e entry_kind  +all" "-m max_depth +2"
                      "-i include_hidden +yes" "-x exclude +\"\\*\\.p\""
                      "-a max_entries +default 100"))
        (should (string-match-p line screen))))))

(ert-deftest backstaff-menu-runs-a-tool-with-arguments ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (should-not (backstaff-menu-tests-type
                 "M-m W t - p C-a C-k s r TAB RET - e a l l RET - m 2 RET - i - x * . p RET RET RET"))
    (should (equal (backstaff-menu-tests-request)
                   '("workspace/tree"
                     (:path "src/" :entry_kind "all" :max_depth 2 :include_hidden t
                      :exclude ("*.p"))
                     (text plist json))))
    (with-current-buffer (window-buffer)
      (should (string-match-p "\\.hidden" (buffer-string))))))

(ert-deftest backstaff-menu-starts-with-the-current-directory-and-file ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (let ((backstaff-root-directory root))
      (setq default-directory (expand-file-name "src/"))
      (should (string-match-p "-p path +src$" (backstaff-menu-tests-type "M-m A l")))
      (setq buffer-file-name (expand-file-name "a.el"))
      (unwind-protect
          (dolist (keys '("M-m A g" "M-m A r" "M-m W r"))
            (ert-info (keys)
              (should (string-match-p "-p path +src/a.el$" (backstaff-menu-tests-type keys)))))
        (setq buffer-file-name nil)))))

(ert-deftest backstaff-menu-shows-the-text-alone ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (backstaff-menu-tests-type "M-m A l t")
    (should (equal (car (last (backstaff-menu-tests-request))) '(text)))
    (with-current-buffer (window-buffer)
      (should (equal (buffer-string)
                     (backstaff-call-text "agent-q/list_directory" '(:path ".")))))))

(ert-deftest backstaff-menu-asks-for-what-is-required-and-missing ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (should (string-match-p "-p path +required"
                            (backstaff-menu-tests-type "M-m W t - p C-a C-k RET")))
    (backstaff-menu-tests-type "M-m W t - p C-a C-k RET RET s r c RET")
    (should (equal (cadr (backstaff-menu-tests-request)) '(:path "src")))))

(ert-deftest backstaff-menu-toggles-booleans ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (pcase-dolist (`(,keys ,line)
                   '(("F l - r" "recursive +yes") ("F l - r - r" "recursive +default no")
                     ("F l - f" "include_files +no") ("F l - f - f" "include_files +default yes")
                     ("A l - s" "show_hidden +yes") ("A l - s - s" "show_hidden +no")
                     ("A l - s - s - s" "show_hidden +omitted")))
      (should (string-match-p line (backstaff-menu-tests-type (concat "M-m " keys)))))))

(ert-deftest backstaff-menu-quit-in-a-prompt-keeps-the-value ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (should (string-match-p "max_depth +2"
                            (backstaff-menu-tests-type "M-m W t - m 2 RET - m 7 C-g")))))

(ert-deftest backstaff-menu-copies-the-call-and-stays ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (should (backstaff-menu-tests-type "M-m F l - f w"))
    (should (equal (car kill-ring)
                   "(backstaff-call \"forge/list_directory\" '(:path \".\" :include_files :false))"))
    (should (plist-get (eval (read (car kill-ring)) t) :ok))
    (should (backstaff-menu-tests-type "M-m F l - f j"))
    (should (equal (car kill-ring) "{\"path\":\".\",\"include_files\":false}"))))

(ert-deftest backstaff-menu-quitting-one-returns-to-the-one-before ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (should (string-match-p "-p path" (backstaff-menu-tests-type "M-m W t")))
    (should (string-match-p "t workspace/tree" (backstaff-menu-tests-type "M-m W t C-g")))
    (should (string-match-p "l List a directory" (backstaff-menu-tests-type "M-m W t C-g C-g")))
    (should-not (backstaff-menu-tests-type "M-m W t C-g C-g C-g"))))

(ert-deftest backstaff-menu-commands-are-not-offered-elsewhere ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (backstaff-menu-tests-type "M-m W t")
    (dolist (name '("backstaff-menu:workspace/tree" "backstaff-menu:workspace/tree:path"))
      (should (commandp (intern-soft name)))
      (should (eq (get (intern-soft name) 'completion-predicate) #'ignore)))))

(provide 'backstaff-menu-tests)
;;; backstaff-menu-tests.el ends here
