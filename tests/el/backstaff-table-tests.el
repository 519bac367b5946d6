;;; backstaff-table-tests.el --- Tests of backstaff-ui-table.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-view-fixtures)
(require 'backstaff-ui-list)
(require 'backstaff-ui-table)

(defconst backstaff-table-tests-count 1130
  "The number of files in a listing that takes many slices and several pages.")

(defmacro backstaff-table-tests-long (&rest body)
  "Run BODY in a project of many files, on pages of some 280 rows.
The size of a file is the lower the higher its number, and some are equal."
  (declare (indent 0) (debug t))
  `(backstaff-view-test-project nil
     (cl-loop for n from 1 to backstaff-table-tests-count
              do (write-region (make-string (% (- 9999 n) 97) ?x) nil
                               (format "file-%04d" n) nil 'silent))
     (let ((backstaff-list--page-bytes 10000))
       ,@body)))

(defun backstaff-table-tests-steps ()
  "Let the table that was asked for come; return the rows that each step drew."
  (let ((steps nil) (before 0))
    (cl-flet ((note (&rest _)
                (push (- backstaff-table--drawn before) steps)
                (setq before backstaff-table--drawn)))
      (advice-add 'backstaff-table--print-slice :before
                  (lambda (&rest _) (setq before backstaff-table--drawn))
                  '((name . before)))
      (advice-add 'backstaff-table--print-slice :after #'note '((name . after)))
      (unwind-protect
          (backstaff-view-test-settle)
        (advice-remove 'backstaff-table--print-slice 'before)
        (advice-remove 'backstaff-table--print-slice 'after)))
    (nreverse steps)))

(defun backstaff-table-tests-sorted (value)
  "Return the names in the table, sorted all at once by VALUE of a row."
  (mapcar #'backstaff-table-row-name
          (sort (copy-sequence backstaff-table--rows) (backstaff-table-less-p value))))

(defmacro backstaff-table-tests-until (condition)
  "Let the work go on until CONDITION holds, while it is not at its end."
  (declare (debug t))
  `(progn (backstaff-test-wait-for ,condition)
          (should (backstaff-table-busy-p))))

(ert-deftest backstaff-table-draws-few-rows-a-step-and-all-in-order ()
  (backstaff-table-tests-long
    (backstaff-list-directory root)
    (let ((steps (backstaff-table-tests-steps)))
      (should (<= (apply #'max steps) backstaff-table--slice))
      (should (= (apply #'+ steps) backstaff-table-tests-count))
      (should (equal (backstaff-view-test-names)
                     (cl-loop for n from 1 to backstaff-table-tests-count
                              collect (format "file-%04d" n)))))
    (should (equal (backstaff-view-test-name) "file-0001"))
    ;; Each object costs time in every collection of garbage.
    (should (cl-every #'vectorp backstaff-table--rows))
    (goto-char (point-min))
    (forward-line)
    (should-not (next-property-change (point)))
    (should-not (text-properties-at (point)))
    (should-not backstaff-table--indicator)
    (should-not (buffer-narrowed-p))
    (should (string-match-p " 1130 files, no directory · hidden off\\'"
                            (backstaff-view-test-header)))))

(ert-deftest backstaff-table-says-how-far-it-is ()
  (backstaff-table-tests-long
    (backstaff-list-directory root)
    (backstaff-table-tests-until backstaff-table--indicator)
    (should (string-match-p "\\` drawing [0-9,]+ of 1,130\\'" backstaff-table--indicator))
    (should (memq 'backstaff-table--indicator mode-line-process))
    (backstaff-view-test-settle)))

(ert-deftest backstaff-table-sorts-in-slices-as-if-at-once ()
  (backstaff-table-tests-long
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-go-to "file-0777")
    (let* ((expected (backstaff-table-tests-sorted #'backstaff-table-row-size))
           (before (backstaff-view-test-names))
           (looks nil) ; at the size of a row, in each step
           (begin (lambda (_) (push 0 looks)))
           (look (lambda (_) (cl-incf (car looks)))))
      (advice-add 'backstaff-table--merge-step :before begin)
      (unwind-protect
          (progn (execute-kbd-macro (kbd "C-u 2 S"))
                 (should (equal (backstaff-view-test-names) before))
                 (backstaff-test-wait-for looks)
                 (advice-add 'backstaff-table-row-size :before look)
                 (backstaff-view-test-settle))
        (advice-remove 'backstaff-table--merge-step begin)
        (advice-remove 'backstaff-table-row-size look))
      ;; No step takes more comparisons, of two sizes each, than to sort one slice.
      (should (< 0 (apply #'max looks)
                 (* 2 backstaff-table--slice (log backstaff-table--slice 2))))
      (should (equal (backstaff-view-test-names) expected))
      (should (equal (backstaff-view-test-name) "file-0777"))
      (backstaff-view-test-press "g")
      (should (equal (backstaff-view-test-names) expected))
      (should (equal (backstaff-view-test-name) "file-0777")))))

(ert-deftest backstaff-table-that-is-refreshed-shows-the-old-rows-until-all-are-there ()
  (backstaff-table-tests-long
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-go-to "file-1100")
    (let ((before (backstaff-view-test-names)))
      (write-region "" nil (expand-file-name "aaa" root) nil 'silent)
      (execute-kbd-macro (kbd "g"))
      (backstaff-table-tests-until backstaff-table--indicator)
      (should (equal (backstaff-view-test-names) before))
      (should (equal (backstaff-view-test-name) "file-1100"))
      (backstaff-view-test-settle)
      (should (equal (backstaff-view-test-names) (cons "aaa" before)))
      (should (equal (backstaff-view-test-name) "file-1100")))))

(ert-deftest backstaff-table-refresh-or-sort-that-is-quit-keeps-the-old-rows ()
  (backstaff-table-tests-long
    (backstaff-view-test-open #'backstaff-list-directory root)
    (let ((before (list (buffer-string) (backstaff-view-test-header) tabulated-list-sort-key)))
      (dolist (keys '("g" "C-u 2 S"))
        (execute-kbd-macro (kbd keys))
        (backstaff-table-tests-until backstaff-table--indicator)
        (execute-kbd-macro (kbd "C-g"))
        (should-not (or (backstaff-table-busy-p) backstaff-table--timer (buffer-narrowed-p)))
        (should (equal (list (buffer-string) (backstaff-view-test-header)
                             tabulated-list-sort-key)
                       before))))))

(ert-deftest backstaff-table-drawing-that-is-quit-says-what-is-left-and-goes-on ()
  (backstaff-table-tests-long
    (backstaff-list-directory root)
    (backstaff-table-tests-until backstaff-table--indicator)
    (execute-kbd-macro (kbd "C-g"))
    (let ((shown (length (backstaff-view-test-names))))
      (should (< 0 shown backstaff-table-tests-count))
      (should (string-match-p (format "… %d of 1130 left out"
                                      (- backstaff-table-tests-count shown))
                              (backstaff-view-test-notes)))
      (backstaff-view-test-press "+")
      (while (string-match-p "left out" (backstaff-view-test-notes))
        (should (< shown (setq shown (length (backstaff-view-test-names)))))
        (backstaff-view-test-press "+"))
      (should (= (length (backstaff-view-test-names)) backstaff-table-tests-count)))))

(ert-deftest backstaff-table-goes-to-a-far-row-unless-the-user-has-moved ()
  (dolist (keys '(nil "n"))
    (backstaff-table-tests-long
      (switch-to-buffer
       (backstaff-view-buffer 'backstaff-list-mode
                              (list :root root :path "." :focus "file-1120")))
      (when keys
        (backstaff-test-wait-for (backstaff-view-entry))
        (execute-kbd-macro (kbd keys)))
      (backstaff-view-test-settle)
      (should (equal (backstaff-view-test-name) (if keys "file-0002" "file-1120"))))))

(ert-deftest backstaff-table-that-is-killed-leaves-no-timer ()
  (backstaff-table-tests-long
    (backstaff-list-directory root)
    (backstaff-table-tests-until backstaff-table--indicator)
    (kill-buffer)
    (should-not (cl-find 'backstaff-table--go-on timer-list :key #'timer--function))))

(ert-deftest backstaff-table-waits-while-the-user-types ()
  (backstaff-table-tests-long
    (let ((typing t))
      (cl-letf (((symbol-function 'input-pending-p) (lambda (&rest _) typing)))
        (backstaff-list-directory root)
        ;; The first page is drawn by the reply itself, the second waits for a timer.
        (backstaff-test-wait-for (and backstaff-table--timer backstaff-table--left))
        (let ((drawn backstaff-table--drawn))
          (should (< 0 drawn backstaff-table-tests-count))
          (dotimes (_ 3)
            (cancel-timer backstaff-table--timer)
            (backstaff-table--go-on (current-buffer)))
          (should (= backstaff-table--drawn drawn)))
        (setq typing nil)
        (backstaff-view-test-settle)))
    (should (= (length (backstaff-view-test-names)) backstaff-table-tests-count))))

(ert-deftest backstaff-table-sorts-by-the-column-that-point-is-in-or-next-to ()
  (backstaff-view-test-project '(("a" . "12") ("b" . "1"))
    (set-file-times (expand-file-name "a" root) 1000000000)
    (set-file-times (expand-file-name "b" root) 1000000001)
    (backstaff-view-test-open #'backstaff-list-directory root)
    (pcase-dolist (`(,column . ,name) '((0 . "Name") (3 . "Name") (24 . "Type") (31 . "Size")
                                        (40 . "Modified") (1000 . "Modified")))
      (backstaff-view-test-go-to "a  ")
      (setq tabulated-list-sort-key '("None"))
      (if (= column 1000) (end-of-line) (move-to-column column))
      (backstaff-view-test-press "S")
      (should (equal tabulated-list-sort-key (list name))))))

(ert-deftest backstaff-table-columns-become-wider-and-narrower ()
  (backstaff-view-test-project '(("a" . "12"))
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-press "C-u 5 }")
    (should (equal (cadr (aref tabulated-list-format 0)) 25))
    (should (string-match-p "^ a \\{25\\}file" (buffer-string)))
    (backstaff-view-test-press "C-u 3 {")
    (should (string-match-p "^ a \\{22\\}file" (buffer-string)))))

(ert-deftest backstaff-table-columns-are-reached-by-keys ()
  (backstaff-view-test-project '(("a" . "12") ("b" . ""))
    (backstaff-view-test-open #'backstaff-list-directory root)
    (backstaff-view-test-go-to "b  ")
    (cl-flet ((press (keys)
                (execute-kbd-macro (kbd keys))
                (list (backstaff-view-test-name) (current-column))))
      (should (equal (mapcar #'press '("M-<right>" "M-<right>" "M-<right>" "M-<right>"
                                       "M-<left>" "C-u 9 M-<left>" "M-<left>"))
                     '(("b" 22) ("b" 29) ("b" 38) ("b" 38) ("b" 29) ("b" 1) ("b" 1)))))))

(ert-deftest backstaff-table-text-of-a-failure-has-no-rows ()
  (backstaff-view-test-project '(("d" ("a" . "") ("b" . "")))
    (backstaff-view-test-open #'backstaff-list-directory (expand-file-name "d"))
    (delete-directory (expand-file-name "d" root) t)
    (backstaff-view-test-press "g")
    (goto-char (point-min))
    (dotimes (_ 3)
      (forward-line)
      (should-not (backstaff-view-entry)))
    (dolist (keys '("S" "C-u 1 S" "}" "M-<right>"))
      (should-error (execute-kbd-macro (kbd keys)) :type 'user-error))))

(provide 'backstaff-table-tests)
;;; backstaff-table-tests.el ends here
