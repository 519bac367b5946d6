;;; backstaff-remote-unsaved-tests.el --- Tests of unsaved text on another host  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-remote-support)


(ert-deftest backstaff-remote-unsaved-text-is-that-of-the-buffer-after-any-edit ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-test-edits-are-read root far)))

(ert-deftest backstaff-remote-read-takes-one-round-trip ()
  "TRAMP asks the host nothing.  A new text takes two more."
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-remote-test-list far)
    (backstaff-test-with-files buffers (list (concat far "a.txt") (concat far "new.txt"))
      (cl-flet ((read ()
                  (let ((reply (backstaff-call 'workspace/read_file '(:path "a.txt")
                                               (list :root far))))
                    (should (plist-get reply :ok))
                    (plist-get (plist-get reply :data) :content))))
        (should (equal (read) "alpha"))
        (should (= (length (backstaff-test-sent #'read)) 1))
        (dolist (buffer buffers)
          (with-current-buffer buffer
            (insert "beta" (make-string 5000 ?\n))))
        ;; The call, the text, which both buffers have, and the call again.
        (should (= (length (backstaff-test-sent #'read)) 3))
        (should (string-prefix-p "beta" (read)))
        (let ((sent (backstaff-test-sent #'read)))
          (should (= (length sent) 1))
          (should (< (car sent) 1000)))))))

(ert-deftest backstaff-remote-long-unsaved-text-goes-ahead-in-pieces ()
  (backstaff-remote-test-both-ways
    (backstaff-remote-test-list far)
    (backstaff-test-with-files buffers (list (concat far "a.txt"))
      (with-current-buffer (car buffers)
        (dotimes (line 30000)
          (insert (format "line %d\n" line)))
        (let* ((bytes (buffer-size)) (reply nil)
               (read (lambda (start)
                       (setq reply (backstaff-call
                                    'workspace/read_file
                                    (list :path "a.txt" :start_line start :max_lines 1)
                                    (list :root far)))
                       (should (plist-get reply :ok))
                       (plist-get (plist-get reply :data) :content)))
               (sent (backstaff-test-sent
                      (lambda () (should (equal (funcall read 29000) "line 28999"))))))
          ;; The call, all pieces, and the call again.
          (should (= (length sent) (+ 2 (ceiling bytes 46080))))
          (should (< (apply #'max sent) (* 64 1024)))
          (let ((sent (backstaff-test-sent (lambda () (funcall read 1)))))
            (should (= (length sent) 1))
            (should (< (car sent) 1000))))))))

(ert-deftest backstaff-remote-long-unsaved-text-goes-ahead-of-calls-at-once ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-remote-test-list far)
    (backstaff-test-with-files buffers (list (concat far "a.txt") (concat far "b.txt"))
      (dolist (buffer buffers)
        (with-current-buffer buffer
          (insert (buffer-name) (make-string 300000 ?x))))
      (let* ((replies nil) (depth 0) (deepest 0)
             (backstaff-unsaved-most-seconds 60) ; the machine may be busy
             (count (lambda (send &rest arguments)
                      (let ((depth-before depth))
                        (setq depth (1+ depth)
                              deepest (max deepest depth))
                        (unwind-protect (apply send arguments)
                          (setq depth depth-before))))))
        (advice-add 'backstaff-epc-call-async :around count)
        (unwind-protect
            (progn
              (dolist (name '("a.txt" "b.txt" "a.txt" "b.txt"))
                (backstaff-call-async 'workspace/read_file (list :path name)
                                      (lambda (reply) (push reply replies))
                                      (list :root far)))
              (backstaff-test-wait-for (= (length replies) 4)))
          (advice-remove 'backstaff-epc-call-async count))
        ;; While Emacs sends a piece it runs timers, but none sends another piece.
        (should (<= deepest 4))
        (dolist (reply replies)
          (ert-info ((format "%.300S" reply))
            (should (plist-get reply :ok))
            (should (string-match-p "not saved yet in Emacs" (plist-get reply :text)))))))))

(ert-deftest backstaff-remote-long-unsaved-text-may-be-cancelled-on-its-way ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-remote-test-list far)
    (backstaff-test-with-files buffers (list (concat far "a.txt"))
      (with-current-buffer (car buffers)
        (insert (make-string 1000000 ?x))
        (dolist (pieces '(1 5))
          (let* ((replies nil) (answered 0)
                 (count (lambda (&rest _) (cl-incf answered)))
                 (handle (backstaff-call-async 'workspace/read_file '(:path "a.txt")
                                               (lambda (reply) (push reply replies))
                                               (list :root far))))
            (advice-add 'backstaff-unsaved-piece :after count)
            (unwind-protect
                (backstaff-test-wait-for (> answered pieces)) ; the next one follows the answer
              (advice-remove 'backstaff-unsaved-piece count))
            (should (backstaff-cancel handle))
            (should-not (backstaff-cancel handle))
            (backstaff-test-wait-for replies)
            (should (equal (mapcar (lambda (reply)
                                     (backstaff-test-code reply))
                                   replies)
                           '("CANCELLED")))))
        ;; It is whole at last.
        (let ((reply (backstaff-call 'workspace/read_file '(:path "a.txt")
                                     (list :root far))))
          (ert-info ((format "%.500S" reply))
            (should (eq (plist-get (plist-get reply :data) :source) :buffer))))))))

(ert-deftest backstaff-remote-unsaved-text-on-a-slow-line-is-a-warning-and-goes-on ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (backstaff-remote-test-list far)
    (backstaff-test-with-files buffers (list (concat far "a.txt"))
      (with-current-buffer (car buffers)
        (insert (make-string 300000 ?x))
        (let* ((backstaff-unsaved-most-seconds 0.0)
               (read (lambda ()
                       (backstaff-call 'workspace/read_file '(:path "a.txt")
                                       (list :root far))))
               (reply (funcall read)))
          ;; Nothing of it gets there in no time at all.
          (should (equal (plist-get (plist-get reply :data) :content) "alpha"))
          (should (string-match-p "the disk counts for 1: a\\.txt" (plist-get reply :text)))
          (let ((texts (backstaff-unsaved-context "workspace/read_file" far)))
            (dolist (start '(0 46080))
              (backstaff-epc-call (backstaff-remote-test-server far) 'keep_text
                                  (backstaff-unsaved-piece (nth 1 (car (plist-get texts :items)))
                                                           start))))
          (let* ((backstaff-unsaved-most-seconds 20)
                 (sent (backstaff-test-sent (lambda () (setq reply (funcall read))))))
            (should (eq (plist-get (plist-get reply :data) :source) :buffer))
            ;; The second piece was there, so it was left out.
            (should (= (length sent) (1+ (ceiling 300000 46080))))))))))

(ert-deftest backstaff-remote-saved-file-is-decoded-as-its-buffer-is ()
  (backstaff-remote-test-on backstaff-remote-test-ssh
    (let ((coding-system-for-write 'latin-1-unix))
      (write-region "grün" nil (concat root "a.txt") nil 'silent))
    (backstaff-test-with-files buffers (list (concat far "a.txt"))
      (with-current-buffer (car buffers)
        (setq buffer-file-coding-system 'latin-1-unix))
      (should (equal (plist-get (plist-get (backstaff-call 'workspace/read_file
                                                           '(:path "a.txt")
                                                           (list :root far))
                                           :data)
                                :content)
                     "grün")))))

;;; backstaff-remote-unsaved-tests.el ends here
