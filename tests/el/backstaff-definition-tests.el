;;; backstaff-definition-tests.el --- Visiting a definition by its name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-ui-find)
(require 'backstaff-test-support)
(require 'backstaff-view-fixtures)

(defconst backstaff-definition-tests-tree
  '(("a.py" . "import b\n\nclass Server:\n    def run(self):\n        pass\n")
    ("b.py" . "def stop(server):\n    pass\n\ndef runner():\n    pass\n"))
  "A project with definitions.")

(defun backstaff-definition-tests-type (keys)
  "Call the command, type KEYS, and return the name of the file and the line."
  (backstaff-test-typing keys (call-interactively #'backstaff-find-definition))
  (set-buffer (window-buffer))
  (list (file-name-nondirectory (buffer-file-name))
        (buffer-substring (line-beginning-position) (line-end-position))))

(ert-deftest backstaff-definition-goes-to-the-only-one ()
  (backstaff-view-test-project backstaff-definition-tests-tree
    (should (equal (backstaff-definition-tests-type "top RET")
                   '("b.py" "def stop(server):")))))

(ert-deftest backstaff-definition-of-several-is-chosen-by-completion ()
  (backstaff-view-test-project backstaff-definition-tests-tree
    (should (equal (backstaff-definition-tests-type "run RET runne TAB RET")
                   '("b.py" "def runner():")))
    (should (equal (backstaff-definition-tests-type "run RET Serv TAB RET")
                   '("a.py" "    def run(self):")))))

(ert-deftest backstaff-definition-is-one-by-its-name-alone ()
  (backstaff-view-test-project backstaff-definition-tests-tree
    (should (equal (backstaff-definition-tests-type "Server RET") '("a.py" "class Server:")))
    ;; The parameter of `stop' has the name as well.
    (should (equal (backstaff-definition-tests-type "server RET Server SPC TAB RET")
                   '("a.py" "class Server:")))))

(ert-deftest backstaff-definition-with-a-capital-is-visited-as-any-file ()
  (backstaff-view-test-project backstaff-definition-tests-tree
    (let* ((seen nil)
           (find-file-hook (list (lambda () (push case-fold-search seen)))))
      (backstaff-definition-tests-type "Server RET")
      (should (equal seen '(t))))))

(ert-deftest backstaff-definition-has-all-words-in-its-name ()
  (backstaff-view-test-project backstaff-definition-tests-tree
    (should (equal (backstaff-definition-tests-type "Serv SPC run RET")
                   '("a.py" "    def run(self):")))
    (should (equal (cadr (should-error (backstaff-definition-tests-type "run SPC stop RET")
                                       :type 'user-error))
                   "No definition in the project has run and stop in its name"))))

(ert-deftest backstaff-definition-that-is-not-saved-yet-is-found ()
  (backstaff-view-test-project backstaff-definition-tests-tree
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

(ert-deftest backstaff-definition-says-that-there-is-none ()
  (backstaff-view-test-project backstaff-definition-tests-tree
    (should (equal (cadr (should-error (backstaff-definition-tests-type "nothing RET")
                                       :type 'user-error))
                   "No definition in the project has nothing in its name"))
    (should (equal (cadr (should-error (backstaff-find-definition " ") :type 'user-error))
                   "Type a part of the name"))))

(provide 'backstaff-definition-tests)
;;; backstaff-definition-tests.el ends here
