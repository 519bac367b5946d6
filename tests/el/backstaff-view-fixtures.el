;;; backstaff-view-fixtures.el --- Fixtures for tests of views  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A test presses keys in the selected window, like a user, and reads the text
;; there.  After each key it waits for the answer.

;;; Code:

(require 'cl-lib)
(require 'backstaff-test-support)
(require 'backstaff-ui-view)
(require 'backstaff-ui-view)

(defmacro backstaff-view-test-project (tree &rest body)
  "Run BODY in a project that holds TREE, with our own server and one window."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree ,tree
     (backstaff-test-with-server (backstaff-test-command)
       (backstaff-view-test--in-window root (lambda () ,@body)))))

(defmacro backstaff-view-test-fake (start &rest body)
  "Run BODY with a fake server that fails in the way START, in a new directory."
  (declare (indent 1) (debug t))
  `(backstaff-test-with-tree nil
     (backstaff-test-with-server (backstaff-test-fake-command ,start)
       (backstaff-view-test--in-window root (lambda () ,@body)))))

(defun backstaff-view-test--in-window (root body)
  "Call BODY; then restore the windows and kill buffers of files in ROOT."
  (unwind-protect
      (save-window-excursion
        (let ((backstaff-root-directory root)
              (default-directory root)
              (inhibit-message t))
          (delete-other-windows)
          (switch-to-buffer (generate-new-buffer "*backstaff home*"))
          (setq default-directory root)
          (funcall body)))
    (dolist (buffer (buffer-list))
      (when (string-search root (or (buffer-file-name buffer) ""))
        (with-current-buffer buffer
          (set-buffer-modified-p nil)
          (kill-buffer))))))

(defun backstaff-view-test-plant-many (count)
  "Make COUNT empty files in `default-directory', from file-0001 on."
  (should (zerop (call-process "sh" nil nil nil "-c"
                               (format "seq -f file-%%04g %d | xargs touch" count)))))

(defun backstaff-view-test-wait ()
  "Wait until the current buffer has its answers."
  (backstaff-test-wait-for (not backstaff-view--call)))

(defun backstaff-view-test-settle ()
  "Wait until the buffer of the selected window has its answers."
  (set-buffer (window-buffer))
  (backstaff-view-test-wait))

(defun backstaff-view-test-open (function &rest arguments)
  "Call FUNCTION with ARGUMENTS, wait for its view, and make that current."
  (apply function arguments)
  (backstaff-view-test-settle))

(defun backstaff-view-test-press (&rest keys)
  "Press KEYS, each a string for `kbd', and wait for the view."
  (dolist (key keys)
    (execute-kbd-macro (kbd key))
    (backstaff-view-test-settle)))

(defun backstaff-view-test-go-to (text)
  "Go to the name on the first line that has TEXT in it."
  (goto-char (point-min))
  (search-forward text)
  (goto-char (next-single-char-property-change (1- (line-beginning-position)) 'backstaff-entry
                                               nil (line-end-position))))

(defun backstaff-view-test-lines ()
  "Return the visible lines, without folded ones."
  (let ((text ""))
    (save-excursion
      (goto-char (point-min))
      (while (not (eobp))
        (let ((next (next-char-property-change (point))))
          (unless (invisible-p (point))
            (setq text (concat text (buffer-substring-no-properties
                                     (point) next))))
          (goto-char next))))
    (split-string text "\n" t "[ \t]+\\(?:$\\|\n\\)")))

(defun backstaff-view-test-header ()
  "Return the header line."
  (substring-no-properties (string-replace "%%" "%" header-line-format)))

(defun backstaff-view-test-path ()
  "Return the path of the entry at point."
  (plist-get (backstaff-view-entry) :path))

(defmacro backstaff-view-test-messages (&rest body)
  "Run BODY and return the messages it shows, the first first."
  (declare (indent 0) (debug t))
  `(let ((messages nil))
     (cl-letf (((symbol-function 'message)
                (lambda (format &rest arguments)
                  (when format
                    (push (apply #'format format arguments) messages)))))
       ,@body)
     (nreverse messages)))

(provide 'backstaff-view-fixtures)
;;; backstaff-view-fixtures.el ends here
