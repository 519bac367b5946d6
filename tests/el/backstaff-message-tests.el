;;; backstaff-message-tests.el --- Tests of backstaff-message.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-epc)
(require 'backstaff-message)


;;; Messages to a peer

(defun backstaff-message-tests-sent (argument)
  "Return the text in which ARGUMENT reaches the peer."
  (backstaff-test-with-connection peer
    (backstaff-epc-call peer 'source (list argument))))

(ert-deftest backstaff-message-print-options-do-not-matter ()
  (let ((print-length 1) (print-level 1) (print-circle t) (print-quoted t)
        (print-escape-newlines t) (print-escape-nonascii t) (print-gensym t)
        (print-escape-multibyte t) (float-output-format "%.1f")
        (shared (list "é\n" ''q)))
    (should (equal (backstaff-message-tests-sent
                    (list shared shared 1.25 (make-symbol "s")))
                   "(((\"é\n\" (quote q)) (\"é\n\" (quote q)) 1.25 s))"))))

(ert-deftest backstaff-message-strings-lose-their-properties ()
  (let ((bold (propertize "b" 'face 'bold))
        (wide (propertize "é" 'face 'bold)))
    (should (equal (backstaff-message-tests-sent
                    `(,bold [,wide (,bold . ,wide)] ((:path . ,bold))))
                   "((\"b\" [\"é\" (\"b\" . \"é\")] ((:path . \"b\"))))"))))

(ert-deftest backstaff-message-stray-bytes-are-octal ()
  (let ((names (list "clich\351" (string-to-multibyte "clich\351") "\\351" "é"))
        (sent "((\"clich\\351\" \"clich\\351\" \"\\\\351\" \"é\"))"))
    (should (equal (backstaff-message-tests-sent names) sent))
    ;; The output of `prin1' depends on the buffer that is current.
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (should (equal (backstaff-message-tests-sent names) sent)))))


;;; Messages from a peer

(defun backstaff-message-tests-read (text)
  "Return what TEXT, a unibyte string, is read as in a frame."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert (format "%06x" (length text)) text)
    (backstaff-message-next)))

(ert-deftest backstaff-message-plain-data-is-read ()
  (pcase-dolist
      (`(,text . ,value)
       '(("(return 1 nil)\n" . (return 1 nil))
         ("(return 1 (:a -1.5e3 . b))" . (return 1 (:a -1500.0 . b)))
         ("(return 1 [1 (2)])" . (return 1 [1 (2)]))
         ("(return 1 \"\\u0023 (\\\"\\\\\\n'?;`,\")" . (return 1 "# (\"\\\n'?;`,"))
         ("(return 1 \"\\\\C-\\\\C-\")" . (return 1 "\\C-\\C-"))
         ("(return 1 \"\303\251\")" . (return 1 "é"))
         ("(return 1 (\"\\u00e9\" \"\\U0001F600\"))" . (return 1 ("é" "\N{GRINNING FACE}")))))
    (should (equal (backstaff-message-tests-read text) value))))

(ert-deftest backstaff-message-deepest-message-is-read ()
  (should (backstaff-message-tests-read
           (concat (make-string 100 ?\() (make-string 100 ?\))))))

(ert-deftest backstaff-message-other-than-plain-data-is-not-read ()
  :tags '(check-36)
  (pcase-dolist
      (`(,problem . ,texts)
       `(("nests too deep"
          ,(concat (make-string 1000000 ?\() (make-string 1000000 ?\)))
          ,(concat (make-string 101 ?\() (make-string 101 ?\)))
          ,(concat "(" (make-string 1000000 ?\[)))
         ("unexpected text"
          "(return 1 #s(hash-table size 4000000000))" "(return 1 #1=(#1#))"
          "(return 1 #(\"x\" 0 1 (display t)))" "(return 1 #[0 \"\" []])"
          "(return 1 \"#\")" "(return 1 #$)" "(return 1 #.(ding))" "(return 1 a#)"
          ,(concat "(return 1 " (make-string 1000000 ?') "a)")
          ,(concat "(return 1 " (make-string 1000000 ?`) "a)")
          "(return 1 ,a)" "(return 1 ?\")" "(return 1 ;b\n2)" "(return 1 \\()"
          "(return 1 ?\\C-\\C-a)" "(return 1 \303\251)")
         ("unexpected escape"
          ,(concat "(return 1 \"" (apply #'concat (make-list 100000 "\\C-")) "a\")")
          "(return 1 \"\\^a\")" "(return 1 \"\\N{BULLET}\")" "(return 1 \"\\M-a\")"
          "(return 1 \"2\\")
         ("text follows" "(return 1 2) 3" "(return 1 2)(return 2 3)" "(return 1 2))"
          "(return 1 2) ;")
         ("not a list" "" "return" "\"(return 1 2)\"" " (return 1 2)")
         ("has no end" "(return 1 2" "(return 1 \"2)")
         ("cannot be read" "()" "(return 1 (1 . 2 3))" "(return 1 [2))"
          "(return 1 \"\\U99999999\")")))
    (dolist (text texts)
      (ert-info ((truncate-string-to-width text 60))
        (backstaff-test-should-fail 'backstaff-protocol-error problem
          (backstaff-message-tests-read text))))))

(ert-deftest backstaff-message-damaged-message-is-read-or-refused ()
  (let ((honest (string-to-unibyte
                 "(return 1 (:ok t :text \"a\\nb \\u00e9\" :data ((:size 1 :x nil) [2 3])))\n"))
        (bytes "()[]\"\\#'`,;?.CM-^:x0\n\303\377")
        (refused 0))
    ;; The same damage each time.
    (random "backstaff")
    (dotimes (_ 5000)
      (let ((text (copy-sequence honest)))
        (dotimes (_ (1+ (random 4)))
          (aset text (random (length text)) (aref bytes (random (length bytes)))))
        (condition-case nil
            (backstaff-message-tests-read text)
          (backstaff-protocol-error (cl-incf refused)))))
    (should (< 2000 refused 5000))))

(ert-deftest backstaff-message-with-too-many-parts-is-refused ()
  (pcase-dolist (`(,part . ,tokens) '(("()" . 2) ("[]" . 2) ("\"\"" . 1)))
    (dolist (count '(300 301))
      ;; With the parentheses around it a message of 300 parts is just small enough.
      (let ((backstaff-message--max-tokens (+ 2 (* 300 tokens)))
            (text (concat "(" (apply #'concat (make-list count part)) ")")))
        (if (= count 300)
            (should (= (length (backstaff-message-tests-read text)) 300))
          (should (string-search "too many parts"
                                 (cadr (should-error (backstaff-message-tests-read text)
                                                     :type 'backstaff-protocol-error)))))))))

(provide 'backstaff-message-tests)
;;; backstaff-message-tests.el ends here
