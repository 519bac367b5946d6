;;; bench-find.el --- The answers of project-find-file  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The completions of a fresh Emacs for the category of `project-find-file', in the usual
;; order of an interface: shorter ones first, then by letters.

;;; Code:

(require 'json)
(require 'minibuffer)
(require 'project)

(defun bench-find-answer (query paths)
  "Return the hundred best completions of QUERY among PATHS."
  (let* ((metadata '(metadata (category . project-file)))
         (table (lambda (string predicate action)
                  (if (eq action 'metadata) metadata
                    (complete-with-action action paths string predicate))))
         (found (completion-all-completions query table nil (length query) metadata)))
    (when found (setcdr (last found) nil))
    (seq-take (sort (mapcar #'substring-no-properties found)
                    (lambda (a b)
                      (if (= (length a) (length b)) (string< a b) (< (length a) (length b)))))
              100)))

(defun bench-find-batch ()
  "Answer the queries in the file that the command line names."
  (let* ((given (json-read-file (pop command-line-args-left)))
         (paths (append (alist-get 'paths given) nil)))
    (princ (json-encode
            (vconcat (mapcar (lambda (query) (vconcat (bench-find-answer query paths)))
                             (alist-get 'queries given)))))))

(provide 'bench-find)
;;; bench-find.el ends here
