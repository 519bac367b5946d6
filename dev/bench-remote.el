;;; bench-remote.el --- A project on another host, against native TRAMP  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `dev/bench-remote' runs this below tests/remote/host.py and records its output: one
;; tree at a round trip of 80 ms, by the tools and natively.

;;; Code:

(require 'cl-lib)
(require 'backstaff)
(require 'backstaff-remote)
(require 'tramp)
(require 'tramp-cmds)

(setq tramp-persistency-file-name nil
      tramp-verbose 1)

(defconst bench-remote-host "/ssh:host:" "The host.")

(defconst bench-remote-main
  (expand-file-name "../py_backend/backstaff/__main__.py"
                    (file-name-directory (or load-file-name buffer-file-name)))
  "The server's own file.")

(defvar bench-remote-root nil "The tree, as it is called there.")

(defun bench-remote-tell (command)
  "Tell the proxy before the host COMMAND."
  (let* ((answered nil)
         (process (make-network-process
                   :name "control" :host "127.0.0.1" :noquery t
                   :service (string-to-number (getenv "BACKSTAFF_TEST_CONTROL"))
                   :filter (lambda (_ _) (setq answered t)))))
    (process-send-string process (concat command "\n"))
    (while (not answered) (accept-process-output process 0.05 nil t))
    (delete-process process)))

(defun bench-remote-plant (root)
  "Make 2,000 files in 211 directories below ROOT."
  (dotimes (one 10)
    (dotimes (two 20)
      (let ((place (format "%stree/d%d/e%d/" root one two)))
        (make-directory place t)
        (dotimes (three 10)
          (write-region "" nil (format "%sf%d.txt" place three) nil 'silent))))))

(defun bench-remote-call (id args)
  "Call the tool ID with ARGS there; fail unless it succeeds."
  (let ((reply (backstaff-call id args (list :root bench-remote-root))))
    (unless (plist-get reply :ok)
      (error "%s" (plist-get reply :text)))
    reply))

(defun bench-remote-walk ()
  "Return the number of files in the whole tree there, with their paths."
  (cl-loop for offset = 0 then (plist-get data :next-offset)
           while offset
           for data = (plist-get (bench-remote-call
                                  "workspace/search_files"
                                  `(:path "tree" :query "**" :kind "glob" :max_results 1000
                                    :offset ,offset))
                                 :data)
           sum (length (plist-get data :files))))

(defun bench-remote-native ()
  "Return the number of files in the tree by TRAMP, with nothing in its cache."
  (tramp-flush-directory-properties (tramp-dissect-file-name bench-remote-root) "/")
  (length (directory-files-recursively (concat bench-remote-root "tree") "")))

(defun bench-remote-step (call function)
  "Print CALL, the first lines of FUNCTION's value, and the seconds that it took."
  (let* ((start (float-time)) (text (funcall function)))
    (princ (format "> %s\n%s\n[%.2f s]\n\n" call
                   (string-join (seq-take (split-string text "\n") 6) "\n")
                   (- (float-time) start)))))

(defun bench-remote-session ()
  "Show one tree by the tools and natively."
  (princ (format "2,000 files in 211 directories on another host, at a round trip of 80 ms.
Recorded by `dev/bench-remote'; Emacs %s, TRAMP %s, connected already.\n\n"
                 emacs-version tramp-version))
  (let ((args '(:path "tree" :max_entries 1000 :entry_kind "all")))
    (dolist (note '("the first call starts the server there, and sends its code" "again"))
      (bench-remote-step
       (format "(backstaff-call \"workspace/tree\" '%S)   ; %s" args note)
       (lambda () (plist-get (bench-remote-call "workspace/tree" args) :text)))))
  (bench-remote-step
   "(backstaff-call \"workspace/search_files\" '(:path \"tree\" :query \"**\" …))   ; two pages"
   (lambda () (format "%d files" (bench-remote-walk))))
  (bench-remote-step
   "(directory-files-recursively \"/ssh:host:…/tree\" \"\")   ; native TRAMP"
   (lambda () (format "%d files" (bench-remote-native)))))

(defun bench-remote-batch ()
  "Record the session, and leave Emacs."
  (let ((root (file-name-as-directory (file-truename (make-temp-file "bench" t)))))
    (unwind-protect
        (progn
          (setq backstaff-server-command
                (list (getenv "BACKSTAFF_PYTHON") "-I" bench-remote-main)
                ;; The interpreter itself; a wrapper found first would cost time.
                backstaff-remote-python (getenv "BACKSTAFF_PYTHON")
                bench-remote-root (concat bench-remote-host root))
          (bench-remote-plant root)
          (unless (file-exists-p (concat bench-remote-host "/"))
            (error "There is no connection"))
          (bench-remote-tell "delay 0.04")
          (bench-remote-session))
      (delete-directory root t)))
  (kill-emacs 0))

(provide 'bench-remote)
;;; bench-remote.el ends here
