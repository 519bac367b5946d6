;;; backstaff-install-tests.el --- Tests of backstaff-ui-install.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; No network: python3 and uv are shell scripts here, which note how they are
;; called, and make an environment whose Python is such a script, too.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-ui-install)
(require 'backstaff-ui-prompt)

(defconst backstaff-install-tests-python
  "#!/bin/sh
echo \"$0 $*\" >> '%1$s/calls'
case \"$*\" in
    *find_spec*) printf '%%s\\n%%s\\n%%s\\n' \"$(cat '%1$s/version' 2>/dev/null || echo 3.12.1)\" '%1$s/bin/python3' '%1$s/bin/python3'
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
  (format "%sbackstaff/%s/" user-emacs-directory
          (backstaff-python-environment-name version)))

(defun backstaff-install-tests-make (name)
  "Make an environment called NAME, as if it had been installed."
  (let ((environment (format "%sbackstaff/%s/" user-emacs-directory name)))
    (make-directory (concat environment "bin") t)
    (copy-file "made" (concat environment "bin/python"))
    (write-region "" nil (concat environment "pyvenv.cfg") nil 'silent)
    (write-region "" nil (concat environment backstaff-python-ready-mark) nil 'silent)
    environment))


;;; Requirements

(ert-deftest backstaff-install-requires-what-the-server-imports ()
  (should (equal (sort (mapcar (lambda (requirement)
                                 (let ((name (replace-regexp-in-string "[^a-z].*" "" requirement)))
                                   ;; The one that is imported under another name.
                                   (if (equal name "pyyaml") "yaml" name)))
                               backstaff-python-requirements)
                       #'string<)
                 backstaff-install--libraries)))


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
          (dolist (requirement backstaff-python-requirements)
            (should (string-match-p (regexp-quote requirement) pip)))
          (should (string-match-p "import pathlib, sys, bracex, epc, pathspec, sexpdata, yaml" check))))
      (should (equal (backstaff-python-installed) (concat environment "bin/python")))
      (should (equal (backstaff-python-command root)
                     (list (concat environment "bin/python") "-I")))
      (should (string-match-p "runs in" (car messages))))))

(ert-deftest backstaff-install-says-what-the-doctor-says-of-a-python ()
  (backstaff-install-tests-with '(python)
    (cl-letf (((symbol-function 'y-or-n-p)
               (lambda (question) (ignore (push question questions)))))
      (backstaff-install-server))
    (should (string-prefix-p "Python 3.12 can run the server.  With pip" (car questions)))))

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
      (should (equal (backstaff-python-installed) (concat environment "bin/python"))))))

(ert-deftest backstaff-install-lets-uv-bring-a-python ()
  (backstaff-install-tests-with '(uv)
    (should (string-match-p "finished" (backstaff-install-tests-install)))
    (should (string-prefix-p "uv venv --clear --python 3.13 "
                             (car (backstaff-install-tests-calls))))
    (should (equal (backstaff-python-installed)
                   (concat (backstaff-install-tests-environment "3.13") "bin/python")))))

(ert-deftest backstaff-install-touches-nothing-else ()
  (backstaff-install-tests-with '(python)
    (write-region "mine" nil (expand-file-name "init.el" user-emacs-directory) nil 'silent)
    (backstaff-install-tests-install)
    (should (equal (sort (directory-files user-emacs-directory nil "\\`[^.]") #'string<)
                   '("backstaff" "init.el")))
    (should (equal (directory-files (expand-file-name "backstaff" user-emacs-directory)
                                    nil "\\`[^.]")
                   (list (backstaff-python-environment-name "3.12"))))))

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
        (should-not (backstaff-python-installed))
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
      (should (backstaff-python-installed)))))

(ert-deftest backstaff-install-without-sources-is-refused ()
  (backstaff-install-tests-with '(python)
    (let ((backstaff-python-package-directory nil))
      (should-error (backstaff-install-server) :type 'user-error))))


;;; When a command needs it

(defmacro backstaff-install-tests-with-command (answers &rest body)
  "Run BODY where a user who gives ANSWERS types a command, and Python is too old.
All that the user is asked is noted in `questions'."
  (declare (indent 1) (debug t))
  `(backstaff-install-tests-with '(python uv)
     (write-region "3.9.18" nil "version" nil 'silent)
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
    (should (string-match-p "\\`Python 3\\.13 comes with uv\\.  With uv, install bracex"
                            (car questions)))
    (should (backstaff-python-installed))
    (should (backstaff-command-root))
    (should (= (length questions) 1))))

(ert-deftest backstaff-install-is-offered-by-the-menu ()
  (require 'backstaff-ui-menu)
  (backstaff-install-tests-with-command '(t)
    (let ((done nil))
      (setq-default compilation-finish-functions (list (lambda (&rest _) (setq done t))))
      (save-window-excursion
        (should (string-match-p "Type the command again"
                                (cadr (should-error (backstaff) :type 'user-error)))))
      (backstaff-test-wait-for done))
    (should (backstaff-python-installed))))

(ert-deftest backstaff-install-is-offered-once-to-who-does-not-want-it ()
  (backstaff-install-tests-with-command '(nil)
    (dotimes (_ 2)
      (should (equal (backstaff-command-root) root)))
    (should (= (length questions) 1))
    (should-not (get-buffer "*backstaff install*"))))

(ert-deftest backstaff-install-is-not-offered-where-it-cannot-help ()
  (backstaff-install-tests-with-command nil
    (delete-file "bin/uv")
    (should (equal (backstaff-command-root) root))
    (should-not questions)))

(ert-deftest backstaff-install-a-command-that-asks-first-names-what-helps ()
  (require 'backstaff-ui-commands)
  (require 'backstaff-ui-inspector)
  (backstaff-install-tests-with-command nil
    (delete-file "bin/uv")
    (dolist (command '(backstaff-run-tool backstaff-find-command))
      (ert-info ((symbol-name command))
        (let ((text (cadr (should-error (call-interactively command) :type 'user-error))))
          (should (string-match-p "there is no Python 3\\.11 or newer.*\\.  Install Python" text))
          (should-not (string-match-p "\"" text)))))))

(ert-deftest backstaff-install-is-not-offered-where-a-program-is-named ()
  (backstaff-install-tests-with-command nil
    (let ((backstaff-server-command '("/nowhere/python")))
      (should (equal (backstaff-command-root) root)))
    (should-not questions)))

(ert-deftest backstaff-install-is-not-offered-to-an-agent ()
  (backstaff-install-tests-with-command nil
    (should (string-match-p "\\`Error: Backstaff cannot start its server: there is no Python"
                            (backstaff-call-text "agent-q/list_directory" '(:path "."))))
    (should-not questions)))

(ert-deftest backstaff-install-is-not-offered-where-python-is-new-enough ()
  (backstaff-install-tests-with-command nil
    (delete-file "version")
    (should (equal (backstaff-command-root) root))
    (should-not questions)))


;;; What helps where it cannot be made

(ert-deftest backstaff-install-needs-a-python-that-makes-environments ()
  (backstaff-install-tests-with '(python)
    (write-region "" nil "no-venv" nil 'silent)
    (backstaff-install-tests-write "bin/apt-get" "#!/bin/sh\n")
    (should (equal (cadr (should-error (backstaff-install-server) :type 'user-error))
                   "Python 3.12.1 lacks ensurepip: type in a shell: sudo apt-get install\
 python3-venv.  (The server needs no environment.)")))
  (backstaff-install-tests-with '(python uv)
    (write-region "" nil "no-venv" nil 'silent)
    (should (string-match-p "finished" (backstaff-install-tests-install)))))

(ert-deftest backstaff-install-tells-the-version-that-is-too-old-and-what-helps ()
  (pcase-dolist (`(,manager . ,command) '(("apt-get" . "sudo apt-get install python3.11")
                                          ("brew" . "brew install python")))
    (backstaff-install-tests-with '(python)
      (write-region "3.9.18" nil "version" nil 'silent)
      (backstaff-install-tests-write (concat "bin/" manager) "#!/bin/sh\n")
      (should (equal (cadr (should-error (backstaff-install-server) :type 'user-error))
                     (format "There is no environment to be made: there is no Python 3.11\
 or newer: %sbin/python3 is 3.9.18.  Type in a shell: %s" root command))))))

(ert-deftest backstaff-install-without-a-package-manager-says-what-is-needed ()
  (backstaff-install-tests-with nil
    (should (string-suffix-p "Install Python 3.11 or newer, and let its folder be on `exec-path'"
                             (cadr (should-error (backstaff-install-server)
                                                 :type 'user-error))))))


;;; What the server runs in

(ert-deftest backstaff-install-made-in-part-is-not-used ()
  (backstaff-install-tests-with '(python)
    (backstaff-install-tests-install)
    (let ((environment (backstaff-install-tests-environment "3.12")))
      (should (backstaff-python-installed))
      (delete-file (concat environment "backstaff-ready"))
      (should-not (backstaff-python-installed))
      (write-region "" nil (concat environment "backstaff-ready") nil 'silent)
      ;; A Python that was updated away.
      (delete-file (concat environment "bin/python"))
      (make-symbolic-link "/nowhere/python3.12" (concat environment "bin/python"))
      (should-not (backstaff-python-installed)))))

(ert-deftest backstaff-install-newest-python-with-these-libraries-counts ()
  (backstaff-install-tests-with nil
    (dolist (name '("0.1.0-py3.15" "py3.14-00000000"))
      (backstaff-install-tests-make name))
    (should-not (backstaff-python-installed))
    (dolist (version '("3.9" "3.12" "3.11"))
      (backstaff-install-tests-make (backstaff-python-environment-name version)))
    (should (equal (backstaff-python-installed)
                   (concat (backstaff-install-tests-environment "3.12") "bin/python")))))

(ert-deftest backstaff-install-of-a-new-version-with-the-same-libraries-is-none ()
  (backstaff-install-tests-with '(python)
    (backstaff-install-tests-install)
    (let ((backstaff-server-version "9.9.9"))
      (should (backstaff-python-installed)))
    (let ((backstaff-python-requirements '("bracex>=9")))
      (should-not (backstaff-python-installed)))))

(ert-deftest backstaff-install-offers-to-delete-what-is-not-used ()
  (backstaff-install-tests-with nil
    (should-error (backstaff-remove-environments) :type 'user-error)
    (let ((used (backstaff-install-tests-make (backstaff-python-environment-name "3.12")))
          (old (backstaff-install-tests-make "0.1.0-py3.12"))
          (mine (format "%sbackstaff/mine/" user-emacs-directory)))
      (make-directory mine)
      (should (equal (backstaff-python-old-environments) (list old)))
      (backstaff-remove-environments)
      (should (equal questions (list (format "Delete %s? " (abbreviate-file-name old)))))
      (should-not (file-exists-p old))
      (should (file-exists-p used))
      (backstaff-remove-environments t)
      (should-not (file-exists-p used))
      (should (file-exists-p mine)))))

(provide 'backstaff-install-tests)
;;; backstaff-install-tests.el ends here
