;;; bench-tree.el --- A whole tree, compared with Emacs alone  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The limits of the contracts are far below a whole tree.  So our side is a server with the
;; same walk and the same text, but without limits: peers/uncapped.py.

;;; Code:

(require 'bench)

(defconst bench-tree-turns 3
  "Number of walks for each way.")

(defun bench-tree-native-list (directory)
  "Return all files below DIRECTORY."
  (directory-files-recursively directory ""))

(defun bench-tree-native-text (directory)
  "Return the tree below DIRECTORY as text, a line a directory."
  (with-temp-buffer
    (bench-tree--insert directory ".")
    (buffer-string)))

(defun bench-tree--insert (directory path)
  "Insert a line for DIRECTORY, as PATH, and for each one below it.
In Emacs only the attributes distinguish a directory from a link to one."
  (let ((entries (sort (directory-files-and-attributes directory nil nil t)
                       (lambda (a b) (string< (car a) (car b)))))
        (below nil))
    (insert path "/")
    (cl-loop for (name . attributes) in entries
             unless (string-prefix-p "." name)
             do (insert " " name)
             (pcase (file-attribute-type attributes)
               ('t (insert "/")
                   (push name below))
               ((pred stringp) (insert "@"))))
    (insert "\n")
    (dolist (name (nreverse below))
      (bench-tree--insert (concat directory name "/") (concat path "/" name)))))

(defun bench-tree--ours (id)
  "Return the reply of the tool ID, which must be whole."
  (let ((reply (backstaff-call id nil (list :max-output-bytes (ash 15 20)))))
    (if (and (plist-get reply :ok) (not (plist-get reply :truncated)))
        reply
      (error "This is no whole reply: %.200S" reply))))

(defun bench-tree-batch ()
  "Measure, write, leave."
  (let ((directory (bench-folder "forest/tree-0")))
    (bench-serve directory "peers/uncapped.py")
    (bench-measure "tree" bench-tree-turns
                   `(("list" . ,(lambda () (bench-tree--ours "bench/paths")))
                     ("text" . ,(lambda () (bench-tree--ours "bench/tree")))
                     ("native-list" . ,(lambda () (bench-tree-native-list directory)))
                     ("native-text" . ,(lambda () (bench-tree-native-text directory))))
                   :collect t))
  (bench-finish))

(provide 'bench-tree)
;;; bench-tree.el ends here
