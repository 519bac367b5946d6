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

(ert-deftest backstaff-menu-has-what-the-map-has ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (let ((commands nil)
          (keys nil))
      (map-keymap (lambda (_ command) (push command commands)) backstaff-map)
      (should (memq 'backstaff-codebase-search commands))
      (add-hook 'post-command-hook #'backstaff-menu-tests-look)
      (unwind-protect
          (cl-letf (((symbol-function 'backstaff-menu-tests-look)
                     (lambda ()
                       (when transient--prefix
                         (setq keys (mapcar (lambda (suffix) (oref suffix command))
                                            transient--suffixes))))))
            (backstaff-menu-tests-type "M-m"))
        (remove-hook 'post-command-hook #'backstaff-menu-tests-look))
      (dolist (command (remq 'backstaff commands))
        (should (memq command keys))))))

(ert-deftest backstaff-menu-opens-the-views ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (let ((called nil))
      (cl-letf (((symbol-function 'backstaff-list-directory)
                 (lambda () (interactive) (setq called t))))
        (should-not (backstaff-menu-tests-type "M-m l"))
        (should called)))))


;;; Without a server

(ert-deftest backstaff-menu-fits-on-a-small-screen ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (let ((lines (split-string (backstaff-menu-tests-type "M-m") "\n")))
      (should (string-match-p (regexp-quote root) (car lines)))
      (should (< (length lines) 22))
      (dolist (line (cdr lines))
        (should (< (string-width line) 80))))))

(ert-deftest backstaff-menu-starts-no-server-and-says-what-to-do-first ()
  (backstaff-menu-tests-with '("/nowhere/python")
    (should (string-match-p "New here\\?  o shows this project on a page, d checks"
                            (backstaff-menu-tests-type "M-m")))
    (should-not backstaff-server--servers)))

(ert-deftest backstaff-menu-keys-are-those-of-the-map ()
  (backstaff-menu-tests-with (backstaff-test-command)
    (let ((screen (backstaff-menu-tests-type "M-m")))
      (map-keymap (lambda (key command)
                    (unless (eq command 'backstaff)
                      (should (string-match-p (format "\\(?:^\\|  \\) *%c [A-Z]" key) screen))))
                  backstaff-map))))

(provide 'backstaff-menu-tests)
;;; backstaff-menu-tests.el ends here
