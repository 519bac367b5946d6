;;; backstaff-install-tests.el --- Tests of backstaff-install.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; No network: python3 and uv are shell scripts here, which note how they are
;; called, and make an environment whose Python is such a script, too.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-install)
(require 'backstaff-prompt)

(defconst backstaff-install-tests-python
  "#!/bin/sh
echo \"$0 $*\" >> '%1$s/calls'
case \"$*\" in
    *find_spec*) printf '3.12.1\\n%%s\\n%%s\\n' '%1$s/bin/python3' '%1$s/bin/python3'
                 [ ! -e '%1$s/no-libraries' ] || printf 'bracex epc'
                 printf '\\n'
                 [ ! -e '%1$s/no-venv' ] || printf 'ensurepip'
                 printf '\\n' ;;
    *'-m venv'*)
        [ ! -e '%1$s/venv-fails' ] || { echo 'no room'; exit 1; }
        for directory do :; done
        rm -rf \"$directory\"
        mkdir -p \"$directory/bin\"
        cp '%1$s/made' \"$directory/bin/python\" ;;
esac
"
  "A Python that makes environments, of the folder of the test.")

(defconst backstaff-install-tests-made
  "#!/bin/sh
echo \"${0##*/} $*\" >> '%1$s/calls'
case \"$*\" in
    *'-m pip'*) [ ! -e '%1$s/pip-fails' ] || { echo 'no network'; exit 1; } ;;
    *touch*) [ ! -e '%1$s/import-fails' ] || { echo 'ImportError: bracex'; exit 1; }
             touch \"${0%%%%/bin/python}/backstaff-ready\" ;;
esac
"
  "A Python of an environment that was made.")

(defconst backstaff-install-tests-uv
  "#!/bin/sh
echo \"uv $*\" >> '%1$s/calls'
case \"$1\" in
    venv)
        for directory do :; done
        mkdir -p \"$directory/bin\"
        cp '%1$s/made' \"$directory/bin/python\" ;;
    pip) [ ! -e '%1$s/pip-fails' ] || { echo 'no network'; exit 1; } ;;
esac
"
  "A uv that makes environments, of the folder of the test.")

(defun backstaff-install-tests-write (name text)
  "Make a program NAME of TEXT, a format, in the current directory."
  (let ((file (expand-file-name name)))
    (make-directory (file-name-directory file) t)
    (write-region (format text (directory-file-name default-directory)) nil file nil 'silent)
    (set-file-modes file #o755)))

(defmacro backstaff-install-tests-with (programs &rest body)
  "Run BODY where of python3 and uv only those in PROGRAMS are there.
All questions are answered with yes and noted in `questions'."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree nil
     (backstaff-install-tests-write "made" backstaff-install-tests-made)
     (when (memq 'python ,programs)
       (backstaff-install-tests-write "bin/python3" backstaff-install-tests-python))
     (when (memq 'uv ,programs)
       (backstaff-install-tests-write "bin/uv" backstaff-install-tests-uv))
     (let* ((questions nil)
            (messages nil)
            (user-emacs-directory (expand-file-name "emacs.d/"))
            (old-exec-path exec-path)
            (old-compilation-finish compilation-finish-functions)
            (save-some-buffers-default-predicate #'ignore))
       (make-directory user-emacs-directory)
       (setq-default exec-path (list (expand-file-name "bin/")))
       (unwind-protect
           (backstaff-test-with-server nil
             (cl-letf (((symbol-function 'y-or-n-p)
                        (lambda (question) (push question questions) t))
                       ((symbol-function 'message)
                        (lambda (&rest arguments)
                          (push (apply #'format-message arguments) messages))))
               ,@body))
         (setq-default exec-path old-exec-path
                       compilation-finish-functions old-compilation-finish)))))

(defun backstaff-install-tests-install ()
  "Install, and return the text of the buffer when it is done."
  (let ((done nil))
    (save-window-excursion
      (setq-default compilation-finish-functions (list (lambda (&rest _) (setq done t))))
      (backstaff-install-server)
      (backstaff-test-wait-for done)
      (with-current-buffer "*backstaff install*"
        (buffer-substring-no-properties (point-min) (point-max))))))

(defun backstaff-install-tests-calls ()
  "Return how the programs were called, in order."
  (with-temp-buffer
    (insert-file-contents "calls")
    (split-string (buffer-string) "\n" t)))

(defun backstaff-install-tests-environment (version)
  "Return the folder that an environment of Python VERSION has."
  (format "%sbackstaff/%s-py%s/" user-emacs-directory backstaff-server-version version))


;;; Requirements

(ert-deftest backstaff-install-requirements-are-those-of-the-project ()
  (with-temp-buffer
    (insert-file-contents (expand-file-name "pyproject.toml" backstaff-test-repository))
    (search-forward "\ndependencies = [")
    (let ((end (save-excursion (search-forward "]") (point)))
          (found nil))
      (while (re-search-forward "\"\\([^\"]+\\)\"" end t)
        (push (match-string 1) found))
      (should (equal (sort found #'string<)
                     (sort (copy-sequence backstaff-install--requirements) #'string<))))))

(ert-deftest backstaff-install-requires-what-the-server-imports ()
  (should (equal (sort (mapcar (lambda (requirement)
                                 (let ((name (replace-regexp-in-string "[^a-z].*" "" requirement)))
                                   ;; The one that is imported under another name.
                                   (if (equal name "pyyaml") "yaml" name)))
                               backstaff-install--requirements)
                       #'string<)
                 backstaff-python-libraries)))


;;; Installing

(ert-deftest backstaff-install-makes-an-environment-with-venv-and-pip ()
  (backstaff-install-tests-with '(python)
    (let ((text (backstaff-install-tests-install))
          (environment (backstaff-install-tests-environment "3.12")))
      (should (string-match-p "finished" text))
      (should (string-match-p (regexp-quote "With pip, install bracex, epc, pathspec, pyyaml, sexpdata")
                              (car questions)))
      (should (string-match-p (regexp-quote (abbreviate-file-name environment)) (car questions)))
      (let ((calls (cdr (backstaff-install-tests-calls))))
        (should (= (length (member (car (last calls 3)) calls)) 3))
        (pcase-let ((`(,venv ,pip ,check) (last calls 3)))
          (should (string-suffix-p (concat "python3 -I -m venv --clear " environment) venv))
          (should (string-prefix-p "python -I -m pip install" pip))
          (dolist (requirement backstaff-install--requirements)
            (should (string-match-p (regexp-quote requirement) pip)))
          (should (string-match-p "import pathlib, sys, bracex, epc, pathspec, sexpdata, yaml" check))))
      (should (equal (backstaff-python--installed) (concat environment "bin/python")))
      (should (equal (backstaff-python-find root) (concat environment "bin/python")))
      (should (string-match-p "will run in" (car messages))))))

(ert-deftest backstaff-install-says-what-the-doctor-says-of-a-python ()
  (backstaff-install-tests-with '(python)
    (cl-letf (((symbol-function 'y-or-n-p)
               (lambda (question) (ignore (push question questions)))))
      (backstaff-install-server)
      (write-region "" nil "no-libraries" nil 'silent)
      (backstaff-install-server))
    (should (string-prefix-p "Python 3.12 lacks bracex, epc.  With pip" (car questions)))
    (should (string-prefix-p "Python 3.12 has all libraries.  With pip" (cadr questions)))))

(ert-deftest backstaff-install-prefers-uv ()
  (backstaff-install-tests-with '(python uv)
    (should (string-match-p "finished" (backstaff-install-tests-install)))
    (should (string-match-p "With uv" (car questions)))
    (let ((environment (backstaff-install-tests-environment "3.12"))
          (calls (backstaff-install-tests-calls)))
      (should (member (format "uv venv --clear --python %sbin/python3 %s" root environment) calls))
      (should (cl-some (apply-partially
                        #'string-prefix-p
                        (format "uv pip install --python %sbin/python bracex" environment))
                       calls))
      (should (equal (backstaff-python--installed) (concat environment "bin/python"))))))

(ert-deftest backstaff-install-lets-uv-bring-a-python ()
  (backstaff-install-tests-with '(uv)
    (should (string-match-p "finished" (backstaff-install-tests-install)))
    (should (string-prefix-p "uv venv --clear --python 3.13 "
                             (car (backstaff-install-tests-calls))))
    (should (equal (backstaff-python--installed)
                   (concat (backstaff-install-tests-environment "3.13") "bin/python")))))

(ert-deftest backstaff-install-touches-nothing-else ()
  (backstaff-install-tests-with '(python)
    (write-region "mine" nil (expand-file-name "init.el" user-emacs-directory) nil 'silent)
    (backstaff-install-tests-install)
    (should (equal (sort (directory-files user-emacs-directory nil "\\`[^.]") #'string<)
                   '("backstaff" "init.el")))
    (should (equal (directory-files (expand-file-name "backstaff" user-emacs-directory)
                                    nil "\\`[^.]")
                   (list (format "%s-py3.12" backstaff-server-version))))))

(ert-deftest backstaff-install-does-nothing-unasked ()
  (backstaff-install-tests-with '(python)
    (cl-letf (((symbol-function 'y-or-n-p) #'ignore))
      (backstaff-install-server))
    (should-not (get-buffer "*backstaff install*"))
    (should-not (directory-files user-emacs-directory nil "\\`[^.]"))))


;;; Failing

(ert-deftest backstaff-install-that-fails-leaves-no-environment ()
  (dolist (fault '("venv-fails" "pip-fails" "import-fails"))
    (ert-info (fault)
      (backstaff-install-tests-with '(python)
        (write-region "" nil fault nil 'silent)
        (let ((text (backstaff-install-tests-install)))
          (should (string-match-p "no room\\|no network\\|ImportError: bracex" text))
          (should (string-match-p "exited abnormally with code 1" text)))
        (should-not (backstaff-python--installed))
        (should-not (file-exists-p (backstaff-install-tests-environment "3.12")))
        (should (string-match-p "not installed" (car messages)))))))

(ert-deftest backstaff-install-can-be-tried-again-in-its-buffer ()
  (backstaff-install-tests-with '(python)
    (write-region "" nil "pip-fails" nil 'silent)
    (backstaff-install-tests-install)
    (delete-file "pip-fails")
    (let ((done nil))
      (setq-default compilation-finish-functions (list (lambda (&rest _) (setq done t))))
      (with-current-buffer "*backstaff install*"
        (save-window-excursion (recompile)))
      (backstaff-test-wait-for done)
      (should (backstaff-python--installed)))))

(ert-deftest backstaff-install-without-any-python-says-what-to-do ()
  (backstaff-install-tests-with nil
    (should (string-match-p "python3-venv"
                            (cadr (should-error (backstaff-install-server) :type 'user-error))))))

(ert-deftest backstaff-install-without-sources-is-refused ()
  (backstaff-install-tests-with '(python)
    (let ((backstaff-python-package-directory nil))
      (should-error (backstaff-install-server) :type 'user-error))))


;;; When a command needs it

(defmacro backstaff-install-tests-with-command (answers &rest body)
  "Run BODY where a user who gives ANSWERS types a command, and no Python will do.
All that the user is asked is noted in `questions'."
  (declare (indent 1) (debug t))
  `(backstaff-install-tests-with '(python)
     (write-region "" nil "no-libraries" nil 'silent)
     (make-directory "package/elisp" t)
     (make-symbolic-link (expand-file-name "py_backend" backstaff-test-repository)
                         (expand-file-name "package/py_backend"))
     (let ((answers ,answers) (noninteractive nil) (backstaff-prompt--install-declined nil)
           (backstaff-python-package-directory (expand-file-name "package/elisp/")))
       (cl-letf (((symbol-function 'y-or-n-p)
                  (lambda (question) (push question questions) (pop answers))))
         ,@body))))

(ert-deftest backstaff-install-is-offered-by-a-command-that-needs-it ()
  (backstaff-install-tests-with-command '(t)
    (let ((done nil))
      (setq-default compilation-finish-functions (list (lambda (&rest _) (setq done t))))
      (save-window-excursion
        (should (string-match-p "Type the command again"
                                (cadr (should-error (backstaff-command-root)
                                                    :type 'user-error)))))
      (backstaff-test-wait-for done))
    (should (string-match-p "\\`Python 3\\.12 lacks bracex, epc\\.  With pip, install bracex"
                            (car questions)))
    (should (backstaff-python--installed))
    (should (backstaff-command-root))
    (should (= (length questions) 1))))

(ert-deftest backstaff-install-is-offered-once-to-who-does-not-want-it ()
  (backstaff-install-tests-with-command '(nil)
    (dotimes (_ 2)
      (should (equal (backstaff-command-root) root)))
    (should (= (length questions) 1))
    (should-not (get-buffer "*backstaff install*"))))

(ert-deftest backstaff-install-is-not-offered-where-a-program-is-named ()
  (backstaff-install-tests-with-command nil
    (let ((backstaff-server-command '("/nowhere/python")))
      (should (equal (backstaff-command-root) root)))
    (should-not questions)))

(ert-deftest backstaff-install-is-not-offered-to-an-agent ()
  (backstaff-install-tests-with-command nil
    (should (string-match-p "\\`Error: Backstaff cannot start its server: found no Python"
                            (backstaff-call-text "agent-q/list_directory" '(:path "."))))
    (should-not questions)))

(ert-deftest backstaff-install-needs-a-python-that-makes-environments ()
  (backstaff-install-tests-with '(python)
    (write-region "" nil "no-venv" nil 'silent)
    (should-error (backstaff-install-server) :type 'user-error))
  (backstaff-install-tests-with '(python uv)
    (write-region "" nil "no-venv" nil 'silent)
    (should (string-match-p "finished" (backstaff-install-tests-install)))))


;;; What the server runs in

(ert-deftest backstaff-install-made-in-part-is-not-used ()
  (backstaff-install-tests-with '(python)
    (backstaff-install-tests-install)
    (let ((environment (backstaff-install-tests-environment "3.12")))
      (should (backstaff-python--installed))
      (delete-file (concat environment "backstaff-ready"))
      (should-not (backstaff-python--installed))
      (write-region "" nil (concat environment "backstaff-ready") nil 'silent)
      ;; A Python that was updated away.
      (delete-file (concat environment "bin/python"))
      (make-symbolic-link "/nowhere/python3.12" (concat environment "bin/python"))
      (should-not (backstaff-python--installed)))))

(ert-deftest backstaff-install-newest-python-of-this-version-counts ()
  (backstaff-install-tests-with nil
    (dolist (name '("0.0.9-py3.15" "1.0.0-py3.14"))
      (let ((environment (format "%sbackstaff/%s/" user-emacs-directory name)))
        (make-directory (concat environment "bin") t)
        (copy-file "made" (concat environment "bin/python"))
        (write-region "" nil (concat environment "backstaff-ready") nil 'silent)))
    (should-not (backstaff-python--installed))
    (dolist (version '("3.9" "3.12" "3.11"))
      (let ((environment (backstaff-install-tests-environment version)))
        (make-directory (concat environment "bin") t)
        (copy-file "made" (concat environment "bin/python"))
        (write-region "" nil (concat environment "backstaff-ready") nil 'silent)))
    (should (equal (backstaff-python--installed)
                   (concat (backstaff-install-tests-environment "3.12") "bin/python")))))

(provide 'backstaff-install-tests)
;;; backstaff-install-tests.el ends here
