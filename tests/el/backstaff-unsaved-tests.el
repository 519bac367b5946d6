;;; backstaff-unsaved-tests.el --- Tests of texts that are not saved  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)

(defmacro backstaff-unsaved-tests-with (tree &rest body)
  "Run BODY with our server, in a directory with TREE; kill the buffers visited."
  (declare (indent 1) (debug t))
  `(let ((before (buffer-list)))
     (clrhash backstaff-unsaved--sent)
     (backstaff-test-with-tree ,tree
       (backstaff-test-with-server (backstaff-test-command)
         (let ((backstaff-root-directory root)
               (create-lockfiles nil))
           (unwind-protect (progn ,@body)
             (dolist (buffer (buffer-list))
               (unless (memq buffer before)
                 (when (buffer-local-value 'buffer-file-name buffer)
                   (with-current-buffer buffer (set-buffer-modified-p nil))
                   (kill-buffer buffer))))))))))

(defmacro backstaff-unsaved-tests-editing (file &rest body)
  "Run BODY in a buffer that visits FILE."
  (declare (indent 1) (debug t))
  `(with-current-buffer (find-file-noselect ,file)
     ,@body))

(defun backstaff-unsaved-tests-read (path)
  "Return the text of the file PATH, where it is from, and the bytes sent for it.
The text is without its last newline."
  (let ((reply (backstaff-call 'workspace/read_file (list :path path))))
    (ert-info ((format "%S" reply))
      (should (plist-get reply :ok))
      (list (string-remove-suffix "\n" (plist-get (plist-get reply :data) :content))
            (string-remove-prefix ":" (format "%s" (plist-get (plist-get reply :data) :source)))
            (plist-get reply :unsaved-bytes)))))

(ert-deftest backstaff-unsaved-text-is-read-in-place-of-the-disk ()
  (backstaff-unsaved-tests-with '(("a.txt" . "old\n"))
    (should (equal (backstaff-unsaved-tests-read "a.txt") '("old" "disk" nil)))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "new "))
    (should (equal (backstaff-unsaved-tests-read "a.txt") '("new old" "buffer" 8)))
    ;; The bytes travel once a change.
    (should (equal (backstaff-unsaved-tests-read "a.txt") '("new old" "buffer" nil)))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "er"))
    (should (equal (backstaff-unsaved-tests-read "a.txt") '("new erold" "buffer" 10)))
    (backstaff-unsaved-tests-editing "a.txt"
      (let ((inhibit-message t)) (save-buffer)))
    (should (equal (backstaff-unsaved-tests-read "a.txt") '("new erold" "disk" nil)))))

(ert-deftest backstaff-unsaved-text-is-read-by-the-first-call ()
  "Nobody has told Emacs yet which tools read files."
  (backstaff-unsaved-tests-with '(("a.txt" . "old\n"))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "new "))
    (let ((backstaff-server-content-readers 'unknown))
      (should (equal (backstaff-unsaved-tests-read "a.txt") '("new old" "buffer" 8))))))

(ert-deftest backstaff-unsaved-text-is-read-asynchronously-by-a-new-server ()
  (backstaff-unsaved-tests-with '(("a.txt" . "old\n"))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "new "))
    (backstaff-unsaved-tests-read "a.txt")
    (backstaff-restart)
    (let ((reply nil))
      (backstaff-call-async 'workspace/read_file '(:path "a.txt")
                            (lambda (answer) (setq reply answer)))
      (backstaff-test-wait-for reply)
      (should (plist-get reply :ok))
      (should (equal (plist-get (plist-get reply :data) :content) "new old\n")))))

(ert-deftest backstaff-unsaved-text-of-a-file-that-does-not-exist-is-read ()
  (backstaff-unsaved-tests-with '(("d" ("a.txt" . "x")))
    (backstaff-unsaved-tests-editing "d/new.txt"
      (insert "born\n"))
    (should (equal (backstaff-unsaved-tests-read "d/new.txt") '("born" "buffer" 5)))))

(ert-deftest backstaff-unsaved-text-counts-whole-where-the-buffer-is-narrowed ()
  (backstaff-unsaved-tests-with '(("a.txt" . "one\ntwo\n"))
    (backstaff-unsaved-tests-editing "a.txt"
      (goto-char (point-max))
      (insert "three\n")
      (narrow-to-region 1 4)
      (should (equal (car (backstaff-unsaved-tests-read "a.txt")) "one\ntwo\nthree"))
      (let ((indirect (make-indirect-buffer (current-buffer) "backstaff-indirect" t)))
        (unwind-protect
            (progn (with-current-buffer indirect
                     (widen)
                     (goto-char (point-max))
                     (insert "four\n"))
                   (should (equal (car (backstaff-unsaved-tests-read "a.txt"))
                                  "one\ntwo\nthree\nfour")))
          (kill-buffer indirect))))))

(ert-deftest backstaff-unsaved-text-is-encoded-as-it-would-be-saved ()
  (backstaff-unsaved-tests-with '(("a.txt" . "x\n"))
    (dolist (coding '(utf-8-dos latin-1-unix utf-16le-with-signature-unix
                      utf-8-with-signature-unix undecided-unix iso-8859-15-dos))
      (backstaff-unsaved-tests-editing "a.txt"
        (erase-buffer)
        (insert "grün\nzwei\n")
        (setq buffer-file-coding-system coding)
        (ert-info ((format "%s" coding))
          (let ((bytes (backstaff-unsaved--bytes (backstaff-unsaved--coding))))
            (should (equal (butlast (backstaff-unsaved-tests-read "a.txt"))
                           '("grün\nzwei" "buffer")))
            (let ((inhibit-message t)
                  (coding-system-require-warning nil))
              (save-buffer))
            (should (equal (with-temp-buffer
                             (set-buffer-multibyte nil)
                             (insert-file-contents-literally (expand-file-name "a.txt" root))
                             (buffer-string))
                           bytes))))))))

(ert-deftest backstaff-unsaved-text-stays-in-emacs-where-it-must ()
  (let ((secret (make-temp-file "backstaff-outside-" nil ".txt" "outside\n")))
    (unwind-protect
        (backstaff-unsaved-tests-with '(("a.txt" . "a\n") (".authinfo" . "machine x\n")
                                        ("b.gz" . "b\n"))
          (dolist (file (list secret "a.txt" ".authinfo" "b.gz"))
            (let ((auto-mode-alist nil)
                  (file-name-handler-alist nil))
              (backstaff-unsaved-tests-editing file
                (insert "changed "))))
          (cl-flet ((names (method)
                      (mapcar #'car (plist-get (backstaff-unsaved-context method root)
                                               :items))))
            (backstaff-call 'agent-q/get_project_root nil)
            (should (equal (names "workspace/read_file") '("a.txt")))
            (should-not (names "workspace/tree"))
            (let ((backstaff-send-unsaved-text nil))
              (should-not (names "workspace/read_file"))
              (should (equal (backstaff-unsaved-tests-read "a.txt") '("a" "disk" nil))))))
      (delete-file secret))))

(ert-deftest backstaff-unsaved-text-that-is-too-long-is-told ()
  (backstaff-unsaved-tests-with '(("a.txt" . "a\n") ("long.txt" . "disk\n"))
    (backstaff-call 'agent-q/get_project_root nil)
    (backstaff-unsaved-tests-editing "long.txt"
      (insert (make-string (1+ backstaff-unsaved--most-bytes) ?x)))
    (let ((reply (backstaff-call 'workspace/read_file '(:path "long.txt"))))
      (should (string-match-p "disk" (plist-get reply :text)))
      (should (string-match-p "\n\\[unsaved changes too long to send.*: long\\.txt\\]\n\\'"
                              (plist-get reply :text)))
      (should (= (length (plist-get reply :warnings)) 1)))))

(ert-deftest backstaff-unsaved-text-for-another-host-is-told-if-it-is-too-long ()
  "Nothing here asks the host, so the test needs none."
  (clrhash backstaff-unsaved--sent)
  (let ((backstaff-server-content-readers '("workspace/read_file"))
        (long (1+ backstaff-unsaved--most-remote-bytes)))
    (cl-flet ((texts ()
                (backstaff-unsaved-context "workspace/read_file" "/ssh:nowhere.invalid:/p/")))
      (with-temp-buffer
        (setq buffer-file-name "/ssh:nowhere.invalid:/p/d/a.txt")
        (unwind-protect
            (progn
              (insert (make-string long ?x))
              (dotimes (_ 2)
                (should (equal (texts) '(:items nil :bytes 0 :left-out ("d/a.txt")))))
              (delete-char -1)
              (let ((texts (texts)))
                (should (= (plist-get texts :bytes) (1- long)))
                (should (equal (mapcar #'car (plist-get texts :items)) '("d/a.txt")))
                (should (equal (plist-get texts :left-out) nil))))
          (setq buffer-file-name nil)
          (set-buffer-modified-p nil))))))

(ert-deftest backstaff-unsaved-text-that-stays-the-same-is-not-encoded-again ()
  (backstaff-unsaved-tests-with '(("a.txt" . "a\n"))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "new "))
    (backstaff-unsaved-tests-read "a.txt")
    (cl-letf (((symbol-function 'backstaff-unsaved--bytes)
               (lambda (_) (ert-fail "The text was encoded again"))))
      (should (equal (backstaff-unsaved-tests-read "a.txt") '("new a" "buffer" nil))))))

(ert-deftest backstaff-unsaved-text-is-that-of-the-buffer-after-any-edit ()
  (backstaff-unsaved-tests-with '(("0.txt" . "one\ntwo\n") ("1.txt" . "") ("2.txt" . "x"))
    (random "backstaff") ; the same edits each time
    (cl-loop repeat 60
             for file = (format "%d.txt" (random 3))
             do
             (backstaff-unsaved-tests-editing file
               (goto-char (+ (point-min) (random (1+ (buffer-size)))))
               (if (zerop (random 3))
                   (delete-region (point) (min (point-max) (+ (point) (random 9))))
                 (insert (nth (random 5) '("ä" "line\n" "\n" "tab\t" "z")))))
             (let ((text (with-current-buffer (get-file-buffer file) (buffer-string))))
               (should (equal (plist-get (plist-get (backstaff-call 'workspace/read_file
                                                                    (list :path file))
                                                    :data)
                                         :content)
                              text))))))

(provide 'backstaff-unsaved-tests)
;;; backstaff-unsaved-tests.el ends here
