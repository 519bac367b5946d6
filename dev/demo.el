;;; demo.el --- Answers of the tools, seen from Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make demo' runs this.  Like any Emacs package, it requires `backstaff' and calls
;; tools, on this repository.  The first call starts the server.  A page shows the
;; texts of a few replies.  Then each tool is called, right and wrong; the demo fails if
;; a reply is not of the expected kind.

;;; Code:

(require 'backstaff)
(require 'benchmark)
(require 'cl-lib)

(defconst demo-root
  (expand-file-name "../" (file-name-directory load-file-name))
  "This repository.")

(defconst demo-example
  (list :root (expand-file-name "dev/example/" demo-root))
  "The context of a small project with a few commands.")

(defconst demo-calls
  `(("agent-q/list_directory" (:path "elisp" :sort_by "size" :show_hidden t))
    ("agent-q/get_file_info" (:path "README.md"))
    ("commands/get_command" (:command_name "review") ,demo-example)
    ("commands/list_commands" (:page 2 :page_size 2) ,demo-example)
    ("commands/search_commands" (:query "test quality") ,demo-example)
    ("forge/list_directory" (:path "py_backend/backstaff" :max_entries 3))
    ("workspace/codebase_search" (:query "where is a path that leaves the root refused"))
    ("workspace/git_diff" (:summary t))
    ("workspace/git_log" (:max_results 3))
    ("workspace/git_status_summary" nil)
    ("workspace/outline" (:path "elisp/backstaff.el"))
    ("workspace/project_overview" (:path "py_backend/backstaff/tools"))
    ("workspace/read_file" (:path "README.md" :start_line 20 :max_lines 5))
    ("workspace/regexp_search" (:pattern "def main"))
    ("workspace/search_files" (:query "**/fs/*.py" :kind "glob"))
    ("workspace/tree" (:path "py_backend" :entry_kind "all" :exclude ["**/__pycache__/**"])))
  "Calls that succeed: a tool's id, its arguments and perhaps a context.")

(defconst demo-refusals
  `(("agent-q/list_directory" (:path "../..") "SANDBOX_VIOLATION")
    ("agent-q/get_file_info" (:path "no-such-file") "NOT_FOUND")
    ("agent-q/get_file_info" (:path 7) "INVALID_ARGUMENT")
    ("forge/list_directory" (:path "/etc") "SandboxViolation")
    ("workspace/tree" (:path "." :exclude ["[a"]) "INVALID_ARGUMENT")
    ("workspace/read_file" (:path "elisp") "NOT_FILE")
    ("commands/list_commands" (:page 0) "INVALID_PAGE" ,demo-example)
    ("commands/get_command" (:command_name "revue") "COMMAND_NOT_FOUND" ,demo-example))
  "Calls that fail: a tool's id, arguments, the error's code, perhaps a context.")

(defconst demo-page
  `(("A model asks first: what is here?"
     "workspace/project_overview" (:max_tokens 260))
    ("A question in plain words: the best places, without an index"
     "workspace/codebase_search"
     (:query "where is a symbolic link refused that leaves the root" :root_path "py_backend"
      :max_results 2))
    ("A search: each line is below its definition, and the last row counts the files left out"
     "workspace/regexp_search" (:pattern "O_NOFOLLOW" :root_path "py_backend" :max_results 3))
    ("Text of a buffer that is not saved"
     "workspace/regexp_search" (:pattern "zebra" :include ["README.md"]))
    ("The listing that Agent-Q knows"
     "agent-q/list_directory" (:path "dev/recipes"))
    ("No path leads out of the project, and an error is a reply like any other"
     "agent-q/list_directory" (:path "../..")))
  "Calls on the page: a heading, a tool's id, its arguments.")

(defvar demo-replies 0
  "Number of replies so far.")

(defvar demo-surprises 0
  "Number of replies that were not of the expected kind.")

(defun demo-print (format-string &rest arguments)
  "Print FORMAT-STRING, filled in with ARGUMENTS, and a newline."
  (princ (apply #'format format-string arguments))
  (terpri))

(defun demo-show-page ()
  "Show the texts of a few replies, beside a buffer that is not saved."
  (with-current-buffer (find-file-noselect "README.md")
    (insert "A zebra is in this buffer, and not in the file.\n"))
  (pcase-dolist (`(,heading ,id ,arguments) demo-page)
    (demo-print "\n%s\n%S\n%s" heading `(backstaff-call-text ,id ',arguments)
                (replace-regexp-in-string
                 "^\\(.\\)" "    \\1"
                 (string-trim-right (backstaff-call-text id arguments)))))
  (with-current-buffer "README.md"
    (set-buffer-modified-p nil)
    (kill-buffer)))

(defun demo-call (id arguments context expected)
  "Call tool ID with ARGUMENTS and CONTEXT, and print a reply of another kind.
EXPECTED is nil for success, or the code of an error."
  (let* ((reply (backstaff-call id arguments context))
         (code (plist-get (plist-get reply :error) :code)))
    (cl-incf demo-replies)
    (unless (and (equal code expected) (eq (plist-get reply :ok) (null expected)))
      (cl-incf demo-surprises)
      (demo-print "UNEXPECTED: %S\nwanted %s, got %S" (list id arguments)
                  (or expected "success") reply))))

(defun demo-round-trips ()
  "Print the time of round trips from Emacs to the server and back."
  (let* ((ping (lambda () (backstaff-epc-call (backstaff-server-ensure) 'ping nil :timeout 5)))
         (times (sort (cl-loop repeat 200 collect (car (benchmark-run 1 (funcall ping)))) #'<)))
    (demo-print "\n200 round trips from Emacs to the server: median %.3f ms, p95 %.3f ms"
                (* 1e3 (nth 100 times)) (* 1e3 (nth 190 times)))))

(defun demo-batch ()
  "Show the tools at work, call every one, right and wrong, and leave Emacs."
  (let ((default-directory demo-root))
    (demo-show-page)
    (dolist (tool (backstaff-tools))
      (let ((id (plist-get tool :id)))
        (unless (or (assoc id demo-calls) (string-prefix-p "emacs/" id))
          (cl-incf demo-surprises)
          (demo-print "UNEXPECTED: the demo has no call of %s" id))))
    (pcase-dolist (`(,id ,arguments . ,rest) demo-calls)
      (when (or (executable-find "git") (not (string-match-p "/git_" id)))
        (demo-call id arguments (car rest) nil)))
    (pcase-dolist (`(,id ,arguments ,code . ,rest) demo-refusals)
      (demo-call id arguments (car rest) code))
    (demo-round-trips)
    (backstaff-stop))
  (if (zerop demo-surprises)
      (demo-print "All %d replies to calls of every tool, right and wrong, were as expected."
                  demo-replies)
    (demo-print "%d replies were not as expected." demo-surprises))
  (kill-emacs (min demo-surprises 1)))

(provide 'demo)
;;; demo.el ends here
