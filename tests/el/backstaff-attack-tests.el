;;; backstaff-attack-tests.el --- Attacks on the client, and the death of Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-epc)

(defvar backstaff-attack-tests-caught nil
  "Non-nil once something that an evil server sent was evaluated.")


;;; An evil server

(defconst backstaff-attack-tests-payloads
  (let ((form "(setq backstaff-attack-tests-caught t)"))
    (list
     (format "#.%s" form) (format "#s(hash-table data (a #.%s))" form)
     (format "#(\"x\" 0 1 (display (when %s . \"y\")))" form)
     (format "#(\"x\" 0 1 (keymap (keymap (t . (lambda () %s)))))" form)
     "#[0 \"\\300\\207\" [t] 1]" "#[(x) \"\" [] 0]" "#@4294967295 x" "#@00" "#$" "#'car"
     "#1=(1 . #1#)" "#1=[#1# #1#]" "#s(hash-table size 4000000000)" "#&4000000000\"\""
     "#x1" "#b1" "#24r1" "##" "#_x" "#!" "#^[nil nil nil]" "#^^[1 0 nil]" "#<buffer x>"
     (format ",%s" form) (format "`(,%s)" form) (format "'%s" form) (format "?%s" form)
     (concat "\"" (make-string 101 ?\\) "C-a\"") "?\\C-\\M-x" "\"\\M-a\"" "\"\\N{U+1}\""
     (make-string 200 ?\() (make-string 200 ?\[) "\"" ")" "(" "]"))
  "What a server may write in place of a value that is none.")

(ert-deftest backstaff-attack-evil-value-is-refused-and-nothing-evaluated ()
  :tags '(check-36)
  (setq backstaff-attack-tests-caught nil)
  (dolist (payload backstaff-attack-tests-payloads)
    (ert-info ((truncate-string-to-width payload 60))
      (backstaff-test-with-connection peer
        (let ((problem (backstaff-test-condition
                         (backstaff-epc-call
                          peer 'raw (list (format "(return %%d (:ok t :text %s))" payload))
                          :timeout 5))))
          (should (eq (car problem) 'backstaff-protocol-error)))
        (should-not (backstaff-epc-live-p peer)))
      (should-not backstaff-attack-tests-caught))))

(ert-deftest backstaff-attack-forms-in-plain-data-stay-data ()
  (setq backstaff-attack-tests-caught nil)
  (backstaff-test-with-connection peer
    (let* ((form "(setq backstaff-attack-tests-caught t)")
           (value (backstaff-epc-call
                   peer 'raw
                   (list (format "(return %%d (:ok t :text \"%s\" :data (eval %s) :error (lambda nil %s)))"
                                 form form form)))))
      (should (equal (plist-get value :text) form))
      (should-not (text-properties-at 0 (plist-get value :text)))
      (should (equal (car (plist-get value :data)) 'eval))
      (should-not backstaff-attack-tests-caught))))

(defun backstaff-attack-tests-read-cost (text)
  "Return the seconds that Emacs is busy with a message of TEXT, read or refused."
  (backstaff-test-with-connection peer
    (let ((body (format "(return 7 %s)\n" text)))
      (backstaff-test-seconds
        (backstaff-epc--receive peer (format "%06x%s" (length body) body))))))

(ert-deftest backstaff-attack-gigantic-atoms-hold-nothing-up ()
  (dolist (text (list (make-string 1000000 ?9)
                      (concat "-" (make-string 1000000 ?9))
                      (concat "1." (make-string 1000000 ?9))
                      (concat "1e" (make-string 1000000 ?9))
                      (concat "1" (make-string 1000000 ?0) ".0e-1000000")
                      (make-string 2000000 ?a)
                      (concat "\"" (make-string 2000000 ?x) "\"")))
    (ert-info ((truncate-string-to-width text 20))
      ;; Some are read and some refused; in time, all are.
      (should (< (backstaff-attack-tests-read-cost text) 10)))))

(ert-deftest backstaff-attack-damaged-frames-neither-hang-nor-enter-the-debugger ()
  (random "backstaff")
  (let* ((debug-on-error t) (broken 0)
         (body "(return 1 (:ok t :text \"a\\nb \\u00e9\" :data (:n 1)))\n")
         (honest (string-to-unibyte (format "%06x%s" (length body) body))))
    (dotimes (_ 300)
      (let ((bytes (copy-sequence honest)))
        (dotimes (_ (1+ (random 3)))
          (aset bytes (random (length bytes)) (random 256)))
        (backstaff-test-with-connection peer
          ;; In pieces, as a pipe may give them.
          (let ((cut (random (length bytes))))
            (backstaff-epc--receive peer (substring bytes 0 cut))
            (backstaff-epc--receive peer (substring bytes cut)))
          (unless (backstaff-epc-live-p peer)
            (cl-incf broken)))))
    ;; How many of the damages are harmless depends on the random numbers of this Emacs.
    (should (< 0 broken 300))))


;;; Emacs is killed

(defun backstaff-attack-tests-kill-emacs (program &rest arguments)
  "Kill an Emacs with a server at once, and wait until the server is gone.
PROGRAM and ARGUMENTS, Lisp, make the child Emacs print the server's pid."
  (let* ((output "") (pid nil)
         (child (make-process
                 :name "backstaff-child-emacs" :connection-type 'pipe :noquery t
                 :command (append arguments
                                  (list (expand-file-name invocation-name invocation-directory)
                                        "-q" "--no-site-file" "--batch"
                                        "-f" "package-initialize"
                                        "-L" (expand-file-name "elisp" backstaff-test-repository)
                                        "--eval" (format "%S" program)))
                 :filter (lambda (_ text) (setq output (concat output text))))))
    (backstaff-test-wait-for (string-match "server \\([0-9]+\\)\n" output))
    (setq pid (string-to-number (match-string 1 output)))
    (should-not (backstaff-test-gone-p pid))
    (signal-process (string-to-number
                     (progn (string-match "emacs \\([0-9]+\\)" output)
                            (match-string 1 output)))
                    'KILL)
    (unwind-protect
        (backstaff-test-wait-for (backstaff-test-gone-p pid))
      (delete-process child))))

(defun backstaff-attack-tests-with-stdio ()
  "Return a program that has our client start a server, and then works on."
  `(progn (require 'backstaff)
          (setq backstaff-server-command ',(backstaff-test-command))
          (backstaff-call 'agent-q/list_directory '(:path "."))
          (message "emacs %d server %d" (emacs-pid)
                   (process-id (backstaff-epc--process
                                (cdr (assoc nil backstaff-server--servers)))))
          ;; This Emacs lives until the test kills it.
          (while t (accept-process-output))))

(defun backstaff-attack-tests-with-tcp ()
  "Return a program that has the stock client start a server, and then works on."
  `(progn (require 'epc)
          (let ((manager (epc:start-epc ,(backstaff-test-python)
                                        '("-I" ,(backstaff-test-main) "serve"))))
            (epc:call-sync manager 'ping nil)
            (message "emacs %d server %d" (emacs-pid)
                     (process-id (epc:manager-server-process manager))))
          ;; This Emacs lives until the test kills it.
          (while t (accept-process-output))))

(ert-deftest backstaff-attack-killed-emacs-leaves-no-server-on-a-pipe ()
  :tags '(check-41)
  (should (backstaff-attack-tests-kill-emacs (backstaff-attack-tests-with-stdio)))
  (when (executable-find "setsid")
    (should (backstaff-attack-tests-kill-emacs (backstaff-attack-tests-with-stdio)
                                               "setsid" "--wait"))))

(ert-deftest backstaff-attack-killed-emacs-leaves-no-server-over-tcp ()
  :tags '(check-41)
  (should (backstaff-attack-tests-kill-emacs (backstaff-attack-tests-with-tcp))))

(provide 'backstaff-attack-tests)
;;; backstaff-attack-tests.el ends here
