;;; backstaff-unsaved-tests.el --- Tests of texts that are not saved  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'hexl)
(require 'tar-mode)
(require 'backstaff-test-support)

(defmacro backstaff-unsaved-tests-with (tree &rest body)
  "Run BODY with our server, in a directory with TREE; kill the buffers visited."
  (declare (indent 1) (debug t))
  `(let ((before (buffer-list)))
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
  "Return the text of the file PATH and where it is from.
The text is without its last newline."
  (let ((reply (backstaff-call 'workspace/read_file (list :path path))))
    (ert-info ((format "%S" reply))
      (should (plist-get reply :ok))
      (list (string-remove-suffix "\n" (plist-get (plist-get reply :data) :content))
            (string-remove-prefix ":" (format "%s" (plist-get (plist-get reply :data) :source)))))))

(defmacro backstaff-unsaved-tests-far (name &rest body)
  "Run BODY in a buffer that visits the file NAME on a host that is not there.
Nothing here asks the host.  The function `texts' returns the texts of a call."
  (declare (indent 1) (debug t))
  `(let ((backstaff-server-content-readers '("workspace/read_file"))
         (far "/ssh:nowhere.invalid:/p/"))
     (backstaff-test-with-files buffers (list (concat far ,name))
       (with-current-buffer (car buffers)
         (cl-flet ((texts () (backstaff-unsaved-context "workspace/read_file" far)))
           ,@body)))))

(ert-deftest backstaff-unsaved-text-is-read-in-place-of-the-disk ()
  (backstaff-unsaved-tests-with '(("a.txt" . "old\n"))
    (should (equal (backstaff-unsaved-tests-read "a.txt") '("old" "disk")))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "new "))
    (should (equal (backstaff-unsaved-tests-read "a.txt") '("new old" "buffer")))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "er"))
    (should (equal (backstaff-unsaved-tests-read "a.txt") '("new erold" "buffer")))
    (backstaff-unsaved-tests-editing "a.txt"
      (let ((inhibit-message t)) (save-buffer)))
    (should (equal (backstaff-unsaved-tests-read "a.txt") '("new erold" "disk")))))

(ert-deftest backstaff-unsaved-text-is-read-by-the-first-call ()
  "Nobody has told Emacs yet which tools read files."
  (backstaff-unsaved-tests-with '(("a.txt" . "old\n"))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "new "))
    (let ((backstaff-server-content-readers 'unknown))
      (should (equal (backstaff-unsaved-tests-read "a.txt") '("new old" "buffer"))))))

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
    (should (equal (backstaff-unsaved-tests-read "d/new.txt") '("born" "buffer")))))

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
          (let ((bytes (cdr (backstaff-unsaved--encode))))
            (should (equal (backstaff-unsaved-tests-read "a.txt")
                           '("grün\nzwei" "buffer")))
            (let ((inhibit-message t)
                  (coding-system-require-warning nil))
              (save-buffer))
            (should (equal (with-temp-buffer
                             (set-buffer-multibyte nil)
                             (insert-file-contents-literally (expand-file-name "a.txt" root))
                             (buffer-string))
                           bytes))))))))

;; contract 010 rule 3: Emacs computes for at most 50 ms at a time.
(ert-deftest backstaff-unsaved-text-below-a-deadline-is-one-that-takes-little-time ()
  (backstaff-unsaved-tests-far "a.txt"
    (insert (make-string backstaff-unsaved--most-characters ?x))
    (let ((backstaff-unsaved-deadline 0))
      (should (plist-get (texts) :late)))
    (let ((backstaff-unsaved-deadline (+ (float-time) 3600)))
      (should (= (length (plist-get (texts) :items)) 1))
      (insert "x")
      (should (equal (plist-get (texts) :left-out) '("a.txt"))))
    (should (= (length (plist-get (texts) :items)) 1))))

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
            (backstaff-call 'agent-q/get_file_info '(:path "."))
            (should (equal (names "workspace/read_file") '("a.txt")))
            (should-not (names "workspace/tree"))))
      (delete-file secret))))

(ert-deftest backstaff-unsaved-text-that-saving-would-not-write-stays-in-emacs ()
  (backstaff-unsaved-tests-with '(("data.txt" . "Zbcdef\n") ("in" ("b.txt" . "member\n")))
    (call-process "tar" nil nil nil "-cf" "a.tar" "in/b.txt")
    (cl-flet ((sent () (mapcar #'car (plist-get (backstaff-unsaved-context "workspace/read_file" root)
                                                :items))))
      (backstaff-unsaved-tests-editing "data.txt"
        (insert "x")
        (should (equal (sent) '("data.txt")))
        (setq buffer-undo-list t)       ; else Hexl asks
        (let ((inhibit-message t)) (hexl-mode))
        (set-buffer-modified-p t)
        (should-not (sent))
        (should (equal (backstaff-unsaved-tests-read "data.txt") '("Zbcdef" "disk")))
        (hexl-mode-exit)
        (set-buffer-modified-p t)
        (should (equal (sent) '("data.txt")))
        (set-buffer-modified-p nil))
      (let ((inhibit-message t))
        (backstaff-unsaved-tests-editing "a.tar"
          (should (derived-mode-p 'tar-mode))
          (set-buffer-modified-p t)
          (should-not (sent))
          ;; A member's buffer has a name below the root that no file has.
          (goto-char (point-min))
          (with-current-buffer (save-window-excursion (tar-extract) (current-buffer))
            (set-buffer-modified-p t)
            (should-not (sent))
            (set-buffer-modified-p nil)
            (kill-buffer)))))))

(ert-deftest backstaff-unsaved-text-of-a-link-that-leads-out-stays-in-emacs ()
  (let ((secret (make-temp-file "backstaff-outside-" nil ".txt" "outside\n")))
    (unwind-protect
        (backstaff-unsaved-tests-with '(("d" ("a.txt" . "a\n")))
          (make-symbolic-link secret "out.txt")
          (make-symbolic-link "d/a.txt" "in.txt")
          (dolist (file '("out.txt" "in.txt"))
            (backstaff-unsaved-tests-editing file
              (insert "changed ")))
          (should (equal (mapcar #'car (plist-get (backstaff-unsaved-context
                                                   "workspace/read_file" root)
                                                  :items))
                         '("d/a.txt")))
          (should (equal (car (backstaff-unsaved-tests-read "in.txt")) "changed a")))
      (delete-file secret))))

(ert-deftest backstaff-unsaved-text-that-is-too-long-is-a-warning ()
  (backstaff-unsaved-tests-with '(("a.txt" . "a\n") ("long.txt" . "disk\n"))
    (backstaff-call 'agent-q/get_file_info '(:path "."))
    (backstaff-unsaved-tests-editing "long.txt"
      (insert (make-string (1+ backstaff-unsaved--most-bytes) ?x)))
    (let ((reply (backstaff-call 'workspace/read_file '(:path "long.txt"))))
      (should (string-match-p "disk" (plist-get reply :text)))
      (should (string-match-p "\n\\[unsaved changes too long to send.*: long\\.txt\\]\n\\'"
                              (plist-get reply :text)))
      (should (= (length (plist-get reply :warnings)) 1)))))

(ert-deftest backstaff-unsaved-note-counts-as-a-part-of-the-limit ()
  (backstaff-unsaved-tests-with `(("a.txt" . ,(apply #'concat (make-list 150 "line\n")))
                                  ("long.txt" . ""))
    (backstaff-call 'agent-q/get_file_info '(:path "."))
    (backstaff-unsaved-tests-editing "long.txt"
      (insert (make-string (1+ backstaff-unsaved--most-bytes) ?x)))
    (cl-loop for limit from 250 to 600 by 7
             for reply = (backstaff-call 'workspace/read_file '(:path "a.txt")
                                         (list :max-output-bytes limit))
             do (ert-info ((format "%d: %S" limit reply))
                  (should (string-match-p "long\\.txt\\]\n\\'" (plist-get reply :text)))
                  (should (<= (string-bytes (plist-get reply :text)) limit))))))

(ert-deftest backstaff-unsaved-text-goes-in-pieces ()
  (backstaff-unsaved-tests-far "d/a.txt"
    (insert (make-string 100000 ?x))
    (let* ((digest (secure-hash 'sha256 (buffer-string)))
           (piece (lambda (start) (backstaff-unsaved-piece digest start))))
      (should (equal (plist-get (texts) :items) `(("d/a.txt" ,digest "utf-8-unix"))))
      (pcase-dolist (`(,start ,bytes) '((0 46080) (46080 46080) (92160 7840) (100000 0) (200000 0)))
        (pcase-let ((`(,named ,size ,offset ,data) (funcall piece start)))
          (should (equal (list named size offset (length (base64-decode-string data)))
                         (list digest 100000 (min start 100000) bytes))))
        (should (backstaff-message-frame (list 'call 1000000 'keep_text (funcall piece start))
                                         backstaff-epc--max-remote-request)))
      (should-not (backstaff-unsaved-piece (secure-hash 'sha256 "other") 0))
      ;; It is encoded again after that of another buffer.
      (setq backstaff-unsaved--last nil)
      (should (funcall piece 0))
      (erase-buffer)
      (setq backstaff-unsaved--last nil)
      (should-not (funcall piece 0))
      (should (equal (cdr (backstaff-unsaved-piece (nth 1 (car (plist-get (texts) :items))) 0))
                     '(0 0 ""))))))

(ert-deftest backstaff-unsaved-text-that-changes-while-it-is-sent-counts-as-it-is-then ()
  (backstaff-unsaved-tests-with '(("a.txt" . "old\n"))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "new ")
      (let ((typed 0) (piece (symbol-function 'backstaff-unsaved-piece)))
        (cl-letf (((symbol-function 'backstaff-unsaved-piece)
                   (lambda (&rest arguments)
                     (prog1 (apply piece arguments)
                       (when (< (cl-incf typed) 3)
                         (insert "er "))))))
          (should (equal (backstaff-unsaved-tests-read "a.txt") '("new old" "buffer"))))
        (should (equal (backstaff-unsaved-tests-read "a.txt") '("new er old" "buffer")))))))

(ert-deftest backstaff-unsaved-text-goes-on-where-the-server-has-it ()
  (backstaff-unsaved-tests-with '(("a.txt" . ""))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert (make-string 100000 ?x))
      (backstaff-unsaved-context "workspace/read_file" root)
      (let ((starts nil) (piece (symbol-function 'backstaff-unsaved-piece)))
        (backstaff-test-call-server 'keep_text (funcall piece (car backstaff-unsaved--last) 0))
        (cl-letf (((symbol-function 'backstaff-unsaved-piece)
                   (lambda (digest start)
                     (push start starts)
                     (funcall piece digest start))))
          (should (equal (cdr (backstaff-unsaved-tests-read "a.txt")) '("buffer"))))
        (should (equal (reverse starts) '(0 46080 92160)))
        ;; The server had the first one.
        (should (= 2 (length (cl-remove 0 starts))))))))

(ert-deftest backstaff-unsaved-text-that-comes-too-late-is-a-warning ()
  (backstaff-unsaved-tests-far "a.txt"
    (insert (make-string 100000 ?x))
    (let* ((texts (texts))
           (without (backstaff-unsaved-without texts (list (nth 1 (car (plist-get texts :items)))))))
      (should-not (plist-get without :items))
      (should (equal (plist-get without :left-out) '("a.txt")))
      (should (equal (plist-get (backstaff-unsaved-without texts nil) :items)
                     (plist-get texts :items))))))

(ert-deftest backstaff-unsaved-names-leave-room-for-arguments ()
  (let ((backstaff-server-content-readers '("workspace/read_file"))
        (far "/ssh:nowhere.invalid:/p/"))
    (backstaff-test-with-files buffers
        (cl-loop for number below 300 collect (format "%s%0100d.txt" far number))
      (dolist (buffer buffers)
        (with-current-buffer buffer
          (insert (buffer-name))))
      (let ((texts (backstaff-unsaved-context "workspace/read_file" far)))
        (should (< (length (prin1-to-string (plist-get texts :items))) (* 40 1024)))
        (should (= (+ (length (plist-get texts :items))
                      (length (plist-get texts :left-out)))
                   300))
        (should (> (length (plist-get texts :items)) 50))))))

(ert-deftest backstaff-unsaved-text-that-stays-the-same-is-not-encoded-again ()
  (backstaff-unsaved-tests-with '(("a.txt" . "a\n"))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "new "))
    (backstaff-unsaved-tests-read "a.txt")
    (cl-letf (((symbol-function 'backstaff-unsaved--encode)
               (lambda () (ert-fail "The text was encoded again"))))
      (should (equal (backstaff-unsaved-tests-read "a.txt") '("new a" "buffer"))))))

(ert-deftest backstaff-unsaved-text-is-that-of-the-buffer-after-any-edit ()
  (backstaff-unsaved-tests-with nil
    (backstaff-test-edits-are-read root root)))

(ert-deftest backstaff-unsaved-text-that-stays-the-same-is-sent-once ()
  (backstaff-unsaved-tests-with nil
    (backstaff-test-with-files buffers
        (cl-loop for number below 20 collect (format "%s%d.txt" root number))
      (dolist (buffer buffers)
        (with-current-buffer buffer
          (insert (make-string 100000 ?x) (buffer-name))))
      (backstaff-call 'agent-q/get_file_info '(:path "."))
      (cl-flet ((read () (backstaff-unsaved-tests-read "7.txt")))
        (should (> (apply #'+ (backstaff-test-sent #'read)) 2000000))
        (let ((sent (backstaff-test-sent #'read)))
          (should (= (length sent) 1))
          (should (< (car sent) 4000)))))))

(ert-deftest backstaff-unsaved-text-is-decoded-as-the-buffer-is-coded ()
  "Its bytes may be UTF-8 by chance."
  (backstaff-unsaved-tests-with '(("a.txt" . ""))
    (backstaff-unsaved-tests-editing "a.txt"
      (insert "\u00c3\u00a4")
      (setq buffer-file-coding-system 'latin-1-unix)
      (should (equal (backstaff-unsaved-tests-read "a.txt") '("\u00c3\u00a4" "buffer")))
      (erase-buffer)
      (insert "\u65e5\u672c")
      (setq buffer-file-coding-system 'iso-2022-jp-unix)
      (should (equal (backstaff-unsaved-tests-read "a.txt")
                     '("\u65e5\u672c" "buffer"))))))


;;; The codings of saved files

(ert-deftest backstaff-unsaved-saved-file-is-decoded-as-its-buffer-is ()
  (backstaff-unsaved-tests-with '(("a.txt" . "gr\374n\n") ("b.txt" . "\374\n"))
    (let ((coding-system-for-read 'latin-1-dos))
      (find-file-noselect "a.txt"))
    (let ((reply (backstaff-call 'workspace/read_file '(:path "a.txt"))))
      (should (equal (plist-get (plist-get reply :data) :content) "grün\n"))
      (should (equal (plist-get (plist-get reply :data) :encoding) "latin-1")))
    (should (equal (plist-get (plist-get (backstaff-call 'workspace/read_file
                                                         '(:path "b.txt"))
                                         :error)
                              :code)
                   "ENCODING_UNKNOWN"))))

(ert-deftest backstaff-unsaved-only-codings-that-tell-something-are-sent ()
  (backstaff-unsaved-tests-with '(("a.txt" . "a"))
    (backstaff-call 'agent-q/get_file_info '(:path "."))
    (backstaff-test-with-files buffers (list (concat root "a.txt"))
      (with-current-buffer (car buffers)
        (dolist (case '((utf-8-unix) (utf-8-with-signature-dos) (undecided-unix) (us-ascii)
                        (utf-16le-with-signature) (no-conversion) (raw-text-unix) (nil)
                        (latin-1-dos . "iso-latin-1") (koi8-r-unix . "cyrillic-koi8")
                        (utf-16le-unix . "utf-16le") (sjis-mac . "japanese-shift-jis")))
          (setq buffer-file-coding-system (car case))
          (dolist (method '("workspace/read_file" "workspace/tree"))
            (ert-info ((format "%s %s" case method))
              (should (equal (plist-get (backstaff-unsaved-context method root) :codings)
                             (and (cdr case) (equal method "workspace/read_file")
                                  `(("a.txt" ,(cdr case)))))))))))))

(ert-deftest backstaff-unsaved-codings-have-a-bound ()
  (backstaff-unsaved-tests-with nil
    (backstaff-test-with-files buffers
        (cl-loop for number below 1050 collect (format "%s%d.txt" root number))
      (dolist (buffer buffers)
        (with-current-buffer buffer
          (setq buffer-file-coding-system 'latin-1)))
      (should (< 500 (length (plist-get (backstaff-unsaved-context "workspace/read_file" root)
                                        :codings))
                 1000)))))

(provide 'backstaff-unsaved-tests)
;;; backstaff-unsaved-tests.el ends here
