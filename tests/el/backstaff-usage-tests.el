;;; backstaff-usage-tests.el --- Tests of backstaff-usage  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-agent-q)

(defmacro backstaff-usage-tests-with (settings &rest body)
  "Run BODY in a project without any calls of agents, with the server's SETTINGS."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree '(("a.txt" . "one\n") ("many" . (("b" . "") ("c" . ""))))
     (let ((backstaff-server-settings-file (make-temp-file "backstaff-" nil ".toml" ,settings))
           (backstaff-agent--counts (make-hash-table :test #'equal))
           (project-find-functions '(backstaff-test-project))
           (backstaff-approval-function #'ignore))
       (unwind-protect
           (backstaff-test-with-server (backstaff-test-command) ,@body)
         (delete-file backstaff-server-settings-file)))))

(defvar project-find-functions)

(defun backstaff-usage-tests--call (id &rest values)
  "Call the tool ID with VALUES by position, as gptel and llm do; return the text."
  (let ((tool (cl-find id (backstaff-agent-definitions) :test #'equal
                       :key (lambda (tool) (plist-get tool :id)))))
    (car (backstaff-test-answers
          (lambda (callback)
            (apply (backstaff-agent-function tool nil "tests") callback values))))))

(defun backstaff-usage-tests--shown ()
  "Return the text that the command shows."
  (save-window-excursion
    (backstaff-usage)
    (prog1 (with-current-buffer "*backstaff usage*" (buffer-string))
      (kill-buffer "*backstaff usage*"))))

(defun backstaff-usage-tests--row (name)
  "Return the numbers in the row NAME that the command shows."
  (let ((shown (backstaff-usage-tests--shown)))
    (should (string-match (format "^%s +\\(.*\\)$" (regexp-quote name)) shown))
    (mapcar #'string-to-number (split-string (match-string 1 shown)))))

(ert-deftest backstaff-usage-counts-calls-bytes-and-outcomes ()
  (backstaff-usage-tests-with "[policy]\nprompt = [\"workspace/tree\"]\n"
    (let* ((read (backstaff-usage-tests--call "workspace/read_file" "a.txt"))
           (missing (backstaff-usage-tests--call "workspace/read_file" "none.txt"))
           (outside (backstaff-usage-tests--call "workspace/read_file" "/etc/passwd"))
           (refused (backstaff-usage-tests--call "workspace/tree" "."))
           (cut (backstaff-usage-tests--call "workspace/search_files" "**" nil "glob" nil 1))
           (bytes (mapcar #'string-bytes (list read missing outside refused cut))))
      (should (equal (backstaff-usage-tests--row "workspace/read_file")
                     (list 3 (apply #'+ (seq-take bytes 3)) 0 1)))
      (should (equal (backstaff-usage-tests--row "workspace/tree") (list 1 (nth 3 bytes) 0 1)))
      (should (equal (backstaff-usage-tests--row "workspace/search_files")
                     (list 1 (nth 4 bytes) 1 0))))))

(ert-deftest backstaff-usage-counts-agent-q-and-no-program-and-no-person ()
  (backstaff-usage-tests-with ""
    (backstaff-call "workspace/read_file" '(:path "a.txt"))
    (backstaff-call-text "workspace/tree" '(:path ".") '(:person t))
    (should-not (string-search "workspace" (backstaff-usage-tests--shown)))
    (backstaff-agent-q-call "read_file" "{\"path\": \"a.txt\"}" root)
    (should (equal (car (backstaff-usage-tests--row "workspace/read_file")) 1))
    (backstaff-stop)
    (let ((backstaff-server-command '("/nowhere/python")))
      (should (string-prefix-p "Error: " (backstaff-agent-q-call
                                          "read_file" "{\"path\": \"a.txt\"}" root))))
    ;; Without a server nobody knows which tool has that name.
    (should (equal (car (backstaff-usage-tests--row "agent-q")) 1))))

(ert-deftest backstaff-usage-keeps-no-argument-and-no-text ()
  (backstaff-usage-tests-with ""
    (backstaff-usage-tests--call "workspace/read_file" "a.txt")
    (let ((kept (format "%S" backstaff-agent--counts)))
      (should (string-search "workspace/read_file" kept))
      (should-not (string-search "a.txt" kept))
      (should-not (string-search "one" kept)))))

(provide 'backstaff-usage-tests)
;;; backstaff-usage-tests.el ends here
