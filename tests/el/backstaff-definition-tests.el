;;; backstaff-definition-tests.el --- Tests of backstaff-ui-xref.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-ui-xref)
(require 'backstaff-test-support)
(require 'backstaff-view-fixtures)

(defconst backstaff-definition-tests-tree
  '(("a.py" . "import b\n\nclass Server:\n    def run(self):\n        pass\n")
    ("b.py" . "def stop(server):\n    pass\n\ndef runner():\n    pass\n\ndef rerun():\n    run()\n"))
  "A project with definitions.")

(defmacro backstaff-definition-tests-with (tree &rest body)
  "Run BODY in a project with TREE."
  (declare (indent 1) (debug t))
  `(let ((xref-prompt-for-identifier nil) (xref-after-jump-hook nil))
     (backstaff-view-test-project ,tree ,@body)))

(defun backstaff-definition-tests-here ()
  "Return the name of the visited file and the line of point."
  (set-buffer (window-buffer))
  (list (file-name-nondirectory (buffer-file-name))
        (buffer-substring (line-beginning-position) (line-end-position))))

(defun backstaff-definition-tests-type (keys)
  "Call the command, type KEYS, and return the name of the file and the line."
  (backstaff-test-typing keys (call-interactively #'backstaff-find-definition))
  (backstaff-definition-tests-here))

(defun backstaff-definition-tests-names (text)
  "Return the names and places of the definitions that TEXT finds, in order."
  (mapcar (lambda (definition)
            (format "%s %s:%d" (plist-get definition :name) (plist-get definition :path)
                    (plist-get definition :line)))
          (backstaff-xref--definitions default-directory text)))


;;; By name

(ert-deftest backstaff-definition-goes-to-the-only-one ()
  (backstaff-definition-tests-with backstaff-definition-tests-tree
    (should (equal (backstaff-definition-tests-type "top RET")
                   '("b.py" "def stop(server):")))))

(ert-deftest backstaff-definition-with-the-exact-name-comes-first ()
  (backstaff-definition-tests-with
      `(("a.go" . "package a\n\nfunc prune() {}\nfunc rerun() {}\nfunc doRun() {}\nfunc re_run() {}\n")
        ("b.py" . "def runner():\n    pass\n\nclass Server:\n    def run(self):\n        pass\n")
        ("docs.rst" . "Run\n===\n\nText.\n"))
    (should (equal (mapcar (lambda (line) (car (split-string line)))
                           (backstaff-definition-tests-names "run"))
                   '("Server.run" "runner" "doRun" "re_run" "prune" "rerun" "Run")))
    (should (equal (backstaff-definition-tests-type "run RET") '("b.py" "    def run(self):")))))

(ert-deftest backstaff-definition-completions-keep-their-order-and-say-where-they-are ()
  (backstaff-definition-tests-with backstaff-definition-tests-tree
    (let ((metadata nil) (all nil))
      (cl-letf (((symbol-function 'completing-read-default)
                 (lambda (_prompt table &rest _)
                   (setq all (all-completions "run" table)
                         metadata (completion-metadata "run" table nil))
                   "run")))
        (call-interactively #'backstaff-find-definition))
      (should (equal (mapcar #'substring-no-properties all) '("Server.run" "runner" "rerun")))
      ;; Embark acts on the name with M-. and M-?.
      (should (eq (completion-metadata-get metadata 'category) 'identifier))
      (should (eq (completion-metadata-get metadata 'display-sort-function) #'identity))
      (should (equal (substring-no-properties
                      (funcall (completion-metadata-get metadata 'annotation-function) (car all)))
                     "  a.py:4")))
    (should (equal (backstaff-definition-tests-here) '("a.py" "    def run(self):")))
    (should (equal (backstaff-definition-tests-type "runne TAB RET") '("b.py" "def runner():")))))

(ert-deftest backstaff-definition-of-a-name-that-several-have-is-chosen-with-xref ()
  (backstaff-definition-tests-with '(("a.py" . "def go(): pass\n") ("b.py" . "def go(): pass\n"))
    (backstaff-test-typing "go RET" (call-interactively #'backstaff-find-definition))
    (with-current-buffer "*xref*"
      (should (string-match-p "a\\.py\n.*def go.*\n\\(.*/\\)?b\\.py\n.*def go" (buffer-string))))))

(ert-deftest backstaff-definition-offers-the-name-at-point ()
  (backstaff-definition-tests-with backstaff-definition-tests-tree
    (find-file "b.py")
    (search-forward "    run")
    (should (equal (backstaff-definition-tests-type "RET") '("a.py" "    def run(self):")))
    ;; The place that was left is kept.
    (execute-kbd-macro (kbd "M-,"))
    (should (equal (cadr (backstaff-definition-tests-here)) "    run()"))))

(ert-deftest backstaff-definition-may-be-a-heading-of-several-words ()
  (backstaff-definition-tests-with '(("notes.md" . "# Notes\n\n## How to run it\n\nText.\n") ("a.py" . "def rerun(): pass\n"))
    (should (equal (backstaff-definition-tests-type "how SPC run TAB RET") '("notes.md" "## How to run it")))))

(ert-deftest backstaff-definition-moves-no-point-where-nothing-is-chosen ()
  (backstaff-definition-tests-with backstaff-definition-tests-tree
    (insert "  text")
    (let ((before (list (point) (buffer-name))))
      (should-error (backstaff-test-typing "RET" (call-interactively #'backstaff-find-definition))
                    :type 'user-error)
      (should (equal (list (point) (buffer-name)) before)))))

(ert-deftest backstaff-definition-has-all-words-in-its-name ()
  (backstaff-definition-tests-with backstaff-definition-tests-tree
    (dolist (keys '("Serv SPC run RET" "Server.run RET"))
      (should (equal (backstaff-definition-tests-type keys) '("a.py" "    def run(self):"))))
    (should (equal (backstaff-definition-tests-names "server") '("Server a.py:3")))
    (should (equal (cadr (should-error (backstaff-definition-tests-type "run SPC stop RET")
                                       :type 'user-error))
                   "No definition in the files searched has run stop in its name"))
    (should (equal (cadr (should-error (backstaff-test-typing "SPC RET"
                                         (call-interactively #'backstaff-find-definition))
                                       :type 'user-error))
                   "Type a part of the name"))))

(ert-deftest backstaff-definition-with-a-capital-is-visited-as-any-file ()
  (backstaff-definition-tests-with backstaff-definition-tests-tree
    (let* ((seen nil)
           (find-file-hook (list (lambda () (push case-fold-search seen)))))
      (backstaff-definition-tests-type "Server RET")
      (should (equal seen '(t))))))

(ert-deftest backstaff-definition-that-is-not-saved-yet-is-found ()
  (backstaff-definition-tests-with backstaff-definition-tests-tree
    (with-current-buffer (find-file-noselect (expand-file-name "b.py" root))
      (goto-char (point-min))
      (insert "def brand_new():\n    pass\n\n"))
    (should (equal (backstaff-definition-tests-type "brand RET")
                   '("b.py" "def brand_new():")))
    (set-buffer-modified-p nil)
    ;; A new file is in its buffer alone.
    (with-current-buffer (find-file-noselect (expand-file-name "c.py" root))
      (insert "def newest():\n    pass\n"))
    (should (equal (backstaff-definition-tests-type "newest RET") '("c.py" "def newest():")))
    (set-buffer-modified-p nil)))

(ert-deftest backstaff-definition-of-very-many-is-found-by-its-exact-name ()
  (backstaff-definition-tests-with
      `(("a.py" . ,(mapconcat (lambda (n) (format "def zz_%d_run(): pass\n" n)) (number-sequence 1 30) ""))
        ("b.py" . "def run(): pass\n"))
    (let ((backstaff-xref--limit 10))
      (should (equal (car (backstaff-definition-tests-names "run")) "run b.py:1")))))

;;; Consult

(defvar icomplete-mode)

(ert-deftest backstaff-definition-is-shown-in-its-file-with-consult-before-it-is-chosen ()
  (backstaff-test-needs "Consult" (require 'consult nil t))
  (backstaff-definition-tests-with backstaff-definition-tests-tree
    (let ((icomplete-mode t) (home (current-buffer)) (seen nil))
      (cl-letf (((symbol-function 'consult--read)
                 (lambda (_ &rest options)
                   (let ((state (plist-get options :state))
                         (candidates (backstaff-xref--candidates "run" root)))
                     (should (eq (plist-get options :category) 'identifier))
                     (should (equal (substring-no-properties
                                     (funcall (plist-get options :annotate) (car candidates)))
                                    "  a.py:4"))
                     (dolist (candidate (list (nth 1 candidates) nil))
                       (funcall state 'preview candidate)
                       (push (buffer-substring (line-beginning-position) (line-end-position)) seen))
                     (should (eq (current-buffer) home))
                     (nth 2 candidates)))))
        (call-interactively #'backstaff-find-definition))
      (should (equal seen '("" "def runner():")))
      (should (equal (backstaff-definition-tests-here) '("b.py" "def rerun():"))))
    ;; Without a completion that is on the screen, Consult would show nothing.
    (let ((icomplete-mode nil))
      (should (equal (backstaff-definition-tests-type "runne RET") '("b.py" "def runner():"))))))

;;; xref

(defmacro backstaff-definition-tests-in-mode (tree &rest body)
  "Run BODY in a project with TREE, while `backstaff-xref-mode' is on."
  (declare (indent 1) (debug t))
  `(backstaff-definition-tests-with ,tree
     (backstaff-xref-mode)
     (unwind-protect (progn ,@body)
       (backstaff-xref-mode -1))))

(defun backstaff-definition-tests-items (function name)
  "Return the places and summaries that FUNCTION of the backend finds for NAME."
  (mapcar (lambda (item)
            (let ((marker (xref-location-marker (xref-item-location item))))
              (with-current-buffer (marker-buffer marker)
                (list (file-name-nondirectory buffer-file-name) (line-number-at-pos marker)
                      (save-excursion (goto-char marker) (current-column))
                      (xref-item-summary item)))))
          (funcall function 'backstaff name)))

(ert-deftest backstaff-xref-mode-serves-files-without-another-backend ()
  (backstaff-definition-tests-with backstaff-definition-tests-tree
    (let ((tags-file-name nil) (tags-table-list nil))
      (should (eq (xref-find-backend) 'etags))
      (backstaff-xref-mode)
      (unwind-protect
          (progn
            (should (eq (xref-find-backend) 'backstaff))
            (with-temp-buffer
              (setq default-directory root)
              (emacs-lisp-mode)
              (should (eq (xref-find-backend) 'elisp)))
            ;; The user's own tags are exact.
            (let ((tags-file-name "TAGS"))
              (should (eq (xref-find-backend) 'etags)))
            (let ((backstaff-root-directory nil) (project-find-functions nil))
              (should (eq (xref-find-backend) 'etags))))
        (backstaff-xref-mode -1))
      (should (eq (xref-find-backend) 'etags)))))

(ert-deftest backstaff-xref-finds-definitions-of-the-name-at-point ()
  (backstaff-definition-tests-in-mode backstaff-definition-tests-tree
    (find-file "b.py")
    (search-forward "    run")
    (execute-kbd-macro (kbd "M-."))
    (should (equal (backstaff-definition-tests-here) '("a.py" "    def run(self):")))
    (should (= (current-column) 8))
    (execute-kbd-macro (kbd "M-,"))
    (should (equal (cadr (backstaff-definition-tests-here)) "    run()"))))

(ert-deftest backstaff-xref-finds-uses-and-apropos ()
  (backstaff-definition-tests-in-mode backstaff-definition-tests-tree
    (with-current-buffer (find-file-noselect "b.py")
      (goto-char (point-max))
      (insert "    x = run or run\n")
      (set-buffer-modified-p t))
    (should (equal (backstaff-definition-tests-items #'xref-backend-references "run")
                   '(("a.py" 4 8 "    def run(self):") ("b.py" 8 4 "    run()")
                     ("b.py" 9 8 "    x = run or run"))))
    (should (equal (mapcar #'cadr (backstaff-definition-tests-items #'xref-backend-apropos "run"))
                   '(4 4 7)))
    (should-not (xref-backend-definitions 'backstaff "ru"))))

(ert-deftest backstaff-xref-shows-several-definitions-as-any-backend-does ()
  (backstaff-definition-tests-in-mode '(("a.py" . "def go(): pass\n") ("b.py" . "def go(): pass\n"))
    (xref-find-definitions "go")
    (with-current-buffer "*xref*"
      (should (string-match-p "a\\.py\n.*def go.*\n\\(.*/\\)?b\\.py\n.*def go" (buffer-string))))))

(ert-deftest backstaff-xref-says-what-is-wrong ()
  (backstaff-definition-tests-in-mode backstaff-definition-tests-tree
    (let ((backstaff-server-command '("/nonexistent/python")))
      (backstaff-stop)
      (should (string-match-p "cannot start its server"
                              (cadr (should-error (xref-find-definitions "run")
                                                  :type 'user-error)))))))

(provide 'backstaff-definition-tests)
;;; backstaff-definition-tests.el ends here
