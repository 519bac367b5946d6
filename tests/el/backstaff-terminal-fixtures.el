;;; backstaff-terminal-fixtures.el --- An Emacs in a real terminal  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; tmux is the terminal: an Emacs runs in it, keys are sent to it, and its
;; screen is read.

;;; Code:

(require 'backstaff-test-support)

(defvar backstaff-terminal-test-socket nil
  "The name of the socket of the tmux that the test runs.")

(defun backstaff-terminal-test-tmux (&rest arguments)
  "Run tmux with ARGUMENTS and return what it prints."
  (with-temp-buffer
    (let ((process-environment
           (append '("LANG=C.UTF-8" "LC_ALL=C.UTF-8" "TERM=xterm-256color" "TMUX")
                   process-environment))
          (coding-system-for-read 'utf-8)
          (coding-system-for-write 'utf-8))
      (unless (zerop (apply #'call-process "tmux" nil t nil "-u" "-f" "/dev/null"
                            "-L" backstaff-terminal-test-socket arguments))
        (ert-fail (list "tmux failed" arguments (buffer-string)))))
    (buffer-string)))

(defun backstaff-terminal-test-pty-p ()
  "Return non-nil if the system gives out pseudo-terminals.
A container or a chroot may have none, and Emacs then makes do with a pipe."
  (let ((process (make-process :name "pty" :command '("true") :connection-type 'pty
                               :sentinel #'ignore)))
    (prog1 (process-tty-name process)
      (delete-process process))))

(defun backstaff-terminal-test-screen ()
  "Return the lines on the screen."
  (mapcar #'string-trim-right
          (split-string (backstaff-terminal-test-tmux "capture-pane" "-p") "\n")))

(defun backstaff-terminal-test-wait-for (regexp)
  "Wait until a line on the screen matches REGEXP, and return the screen."
  (let ((screen nil))
    (condition-case failure
        (backstaff-test-wait-for
         (progn
           (accept-process-output nil 0.03) ; each look starts a process
           (cl-some (apply-partially #'string-match-p regexp)
                    (setq screen (backstaff-terminal-test-screen)))))
      (ert-test-failed (ert-fail (list regexp screen (cdr failure)))))
    screen))

(defun backstaff-terminal-test-press (&rest keys)
  "Press KEYS, as tmux calls them."
  (apply #'backstaff-terminal-test-tmux "send-keys" keys))

(defmacro backstaff-terminal-test-in-emacs (width height tree form &rest body)
  "Run BODY while an Emacs in a terminal of WIDTH x HEIGHT has evaluated FORM.
It runs in a project that holds TREE."
  (declare (indent 4) (debug t))
  `(progn
     ;; Not everybody can install tmux, and a container may have no devpts.
     (backstaff-test-needs "tmux" (executable-find "tmux"))
     (backstaff-test-needs "a pseudo-terminal" (backstaff-terminal-test-pty-p))
     (backstaff-test-with-tree ,tree
       (let ((backstaff-terminal-test-socket (format "backstaff-%d-%s" (emacs-pid)
                                                      (file-name-nondirectory
                                                       (directory-file-name root)))))
         (unwind-protect
             (progn (backstaff-terminal-test-start root ,width ,height ,form)
                    ,@body)
           (backstaff-terminal-test-end))))))

(defun backstaff-terminal-test-end ()
  "End tmux and its Emacs.
Wait for the Emacs, because it saves changed buffers when its terminal ends."
  ;; tmux fails if it has ended already, together with its Emacs.
  (when-let ((pid (ignore-errors
                    (string-to-number
                     (backstaff-terminal-test-tmux "display-message" "-p" "#{pane_pid}")))))
    (backstaff-terminal-test-tmux "kill-server")
    (backstaff-test-wait-for (backstaff-test-gone-p pid))))

(defun backstaff-terminal-test-emacs (root form &rest arguments)
  "Return a command, with ARGUMENTS, for an Emacs that evaluates FORM in ROOT."
  `(,(expand-file-name invocation-name invocation-directory)
    "-Q" ,@arguments "-l" ,(expand-file-name "dev/batch.el" backstaff-test-repository)
    "-L" ,(expand-file-name "elisp" backstaff-test-repository)
    "--eval" ,(prin1-to-string
               `(setq backstaff-server-command ',(backstaff-test-command)
                      inhibit-startup-screen t
                      default-directory ,root
                      backstaff-root-directory ,root))
    "-l" "backstaff" "--eval" ,(prin1-to-string form)))

(defun backstaff-terminal-test-start (root width height form)
  "Start Emacs on FORM, in ROOT, in a terminal of WIDTH x HEIGHT."
  (backstaff-terminal-test-tmux
   "new-session" "-d" "-x" (number-to-string width) "-y" (number-to-string height)
   "-c" root
   ;; For others Emacs loads a library, which it begins to compile to machine code.
   (concat "TERM=vt100 exec "
           (mapconcat #'shell-quote-argument (backstaff-terminal-test-emacs root form "-nw") " "))))

(provide 'backstaff-terminal-fixtures)
;;; backstaff-terminal-fixtures.el ends here
