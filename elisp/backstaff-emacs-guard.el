;;; backstaff-emacs-guard.el --- Stop code of others before it does too much  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A tool may ask a back end that another package has written, such as xref's.  Some visit
;; files or start programs for their answer, which no tool may.  `backstaff-emacs-guard-call'
;; stops them before they do:
;;
;;   (backstaff-emacs-guard-call #'call-process "true")
;;   => signals (backstaff-emacs-guard-stopped "start a program")

;;; Code:

(require 'cl-lib)

(define-error 'backstaff-emacs-guard-stopped "A tool may not")

(defvar backstaff-emacs-guard--deed nil
  "What the code that is being called wanted to do and may not, or nil.")

(defun backstaff-emacs-guard-call (function &rest arguments)
  "Call FUNCTION with ARGUMENTS, but stop it before it does what no tool may.
Then signal `backstaff-emacs-guard-stopped' with the deed: \"visit a file\",
\"start a program\".  Files and programs ask for a handler of file names, or are
visited in Lisp.  A timer that runs while FUNCTION waits may do as it likes."
  (let ((backstaff-emacs-guard--deed nil)
        (file-name-handler-alist
         (cons '("" . backstaff-emacs-guard--file-handler) file-name-handler-alist)))
    (cl-letf* ((visit (symbol-function 'find-file-noselect))
               (connect (symbol-function 'open-network-stream))
               ((symbol-function 'find-file-noselect)
                (lambda (&rest arguments)
                  (backstaff-emacs-guard--stop "visit a file")
                  (apply visit arguments)))
               ((symbol-function 'open-network-stream)
                (lambda (&rest arguments)
                  (backstaff-emacs-guard--stop "connect to a host")
                  (apply connect arguments))))
      (prog1 (condition-case problem
                 (apply function arguments)
               (error (unless backstaff-emacs-guard--deed
                        (signal (car problem) (cdr problem)))))
        ;; FUNCTION may have caught our error, to find nothing or to signal another.
        (when backstaff-emacs-guard--deed
          (signal 'backstaff-emacs-guard-stopped (list backstaff-emacs-guard--deed)))))))

(defun backstaff-emacs-guard--stop (deed)
  "Stop the code that is being called before it does DEED, unless a timer does it."
  (unless (catch 'ours
            (mapbacktrace (lambda (_evaluated function &rest _)
                            (pcase function
                              ('timer-event-handler (throw 'ours t))
                              ('backstaff-emacs-guard-call (throw 'ours nil))))))
    (setq backstaff-emacs-guard--deed deed)
    (signal 'backstaff-emacs-guard-stopped (list deed))))

(defun backstaff-emacs-guard--file-handler (operation &rest arguments)
  "Do OPERATION with ARGUMENTS for a file, if a tool may do that."
  (pcase operation
    ((or 'insert-file-contents 'file-local-copy)
     (backstaff-emacs-guard--stop "read a file"))
    ;; Each process asks this for the directory to start in.
    ('unhandled-file-name-directory
     (backstaff-emacs-guard--stop "start a program"))
    ((or 'write-region 'delete-file 'rename-file 'copy-file 'make-directory 'delete-directory)
     (backstaff-emacs-guard--stop "change a file")))
  ;; Within an operation others may follow, and `load' is one of Emacs's own libraries.
  (let ((file-name-handler-alist
         (rassq-delete-all #'backstaff-emacs-guard--file-handler
                           (copy-sequence file-name-handler-alist))))
    (apply operation arguments)))

(provide 'backstaff-emacs-guard)
;;; backstaff-emacs-guard.el ends here
