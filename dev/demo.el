;;; demo.el --- Answers of the tools, seen from Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make demo' runs this.  Like any Emacs package, it requires `backstaff' and calls
;; tools, on this repository.  The first call starts the server.  A page shows the
;; texts of a few replies; `make demo ALL=1' shows all replies whole.  Both fail if a
;; reply is not of the expected kind.

;;; Code:

(require 'backstaff)
(require 'benchmark)
(require 'cl-lib)
(require 'seq)

(defconst demo-root
  (expand-file-name "../" (file-name-directory load-file-name))
  "This repository.")

(defconst demo-example
  (list :root (expand-file-name "dev/example/" demo-root))
  "The context of a small project with a few commands.")

(defconst demo-calls
  `(("agent-q/list_directory" (:path "."))
    ("agent-q/list_directory" (:path "elisp" :sort_by "size" :show_hidden t))
    ("agent-q/get_file_info" (:path "README.md"))
    ("workspace/project_overview" (:max_tokens 300))
    ("workspace/project_overview" (:path "py_backend/backstaff/tools"))
    ("forge/list_directory" (:path "py_backend/backstaff" :max_entries 3))
    ("forge/list_directory" (:path "." :recursive t :include_dirs nil)
     (:max-output-bytes 600))
    ("workspace/tree" (:path "."))
    ("workspace/tree" (:path "py_backend" :entry_kind "all" :max_depth 4
                       :max_entries 40 :exclude ["**/__pycache__/**"]))
    ("workspace/read_file" (:path "README.md" :start_line 20 :max_lines 5))
    ("workspace/search_files" (:query "tree el"))
    ("workspace/search_files" (:query "**/fs/*.py" :kind "glob" :max_results 5))
    ("workspace/search_files" (:query "*.el" :kind "glob"))
    ,@(mapcar (lambda (page)
                `("commands/list_commands" (:page ,page :page_size 2) ,demo-example))
              '(1 2 3))
    ("commands/search_commands" (:query "test quality") ,demo-example)
    ("commands/get_command" (:command_name "review") ,demo-example))
  "Calls that succeed: a tool's id, its arguments and perhaps a context.")

(defconst demo-refusals
  `(("agent-q/list_directory" (:path "../..") "SANDBOX_VIOLATION")
    ("agent-q/list_directory" (:path "no-such-directory") "NOT_FOUND")
    ("agent-q/list_directory" (:path "README.md") "NOT_DIRECTORY")
    ("agent-q/get_file_info" (:path "no-such-file") "NOT_FOUND")
    ("agent-q/get_file_info" (:path 7) "INVALID_ARGUMENT")
    ("forge/list_directory" (:path "/etc") "SandboxViolation")
    ("forge/list_directory" (:path "." :max_depth 2) "BadArgs")
    ("forge/list_directory" (:path "README.md") "ExecutionFailed")
    ("workspace/project_overview" (:max_tokens 20) "INVALID_ARGUMENT")
    ("workspace/project_overview" (:path "README.md") "NOT_DIRECTORY")
    ("workspace/tree" (:path "." :exclude ["[a"]) "INVALID_ARGUMENT")
    ("workspace/tree" (:path "no-such-directory") "NOT_FOUND")
    ("workspace/tree" (:path "README.md") "NOT_DIRECTORY")
    ("workspace/tree" (:path "..") "SANDBOX_VIOLATION")
    ("workspace/read_file" (:path "elisp") "NOT_FILE")
    ("workspace/read_file" (:path "no-such-file") "NOT_FOUND")
    ("workspace/search_files" (:query "") "INVALID_ARGUMENT")
    ("workspace/search_files" (:query "[a" :kind "glob") "INVALID_ARGUMENT")
    ("workspace/search_files" (:query "x" :path "..") "SANDBOX_VIOLATION")
    ("commands/list_commands" (:page 0) "INVALID_PAGE" ,demo-example)
    ("commands/list_commands" (:page_size 101) "INVALID_PAGE_SIZE" ,demo-example)
    ("commands/list_commands" nil "DIRECTORY_NOT_FOUND")
    ("commands/search_commands" (:query "") "INVALID_QUERY" ,demo-example)
    ("commands/get_command" (:command_name "../README") "INVALID_COMMAND_NAME" ,demo-example)
    ("commands/get_command" (:command_name "revue") "COMMAND_NOT_FOUND" ,demo-example))
  "Calls that fail: a tool's id, arguments, the error's code, perhaps a context.")

(defconst demo-page
  `(("What a model or a person asks first"
     "workspace/project_overview" (:max_tokens 260))
    ("Files by parts of their names"
     "workspace/search_files" (:query "tree el" :max_results 4))
    ("A tree, a line for each directory"
     "workspace/tree" (:path "py_backend/backstaff/tools" :entry_kind "all"
                       :exclude ["**/__pycache__/**"]))
    ("A directory"
     "agent-q/list_directory" (:path "dev/recipes"))
    ("Commands of a project, from .claude/commands"
     "commands/list_commands" (:page 1 :page_size 2) ,demo-example)
    ("No path leads out of the project, and an error is a reply like any other"
     "agent-q/list_directory" (:path "../..")))
  "Calls on the page: a heading, a tool's id, its arguments, perhaps a context.")

(defvar demo-all nil
  "Non-nil if all replies are shown.")

(defvar demo-replies 0
  "Number of replies so far.")

(defconst demo-pings 200
  "Number of round trips to measure.")

(defvar demo-surprises 0
  "Number of replies that were not of the expected kind.")


;;; Output

(defun demo-print (format-string &rest arguments)
  "Print FORMAT-STRING, filled in with ARGUMENTS, and a newline."
  (princ (apply #'format format-string arguments))
  (terpri))

(defun demo-print-heading (text)
  "Print TEXT as the heading of a section."
  (demo-print "\n%s\n%s" text (make-string (string-width text) ?=)))

(defun demo-print-indented (text)
  "Print TEXT between blank lines."
  (demo-print "%s" (replace-regexp-in-string "^\\(.\\)" "    \\1" (string-trim-right text))))

(defun demo-print-call (id arguments context)
  "Print the call of ID with ARGUMENTS and CONTEXT as one would type it."
  (demo-print "\n%S" `(backstaff-call ,id ',arguments ,@(and context `(',context)))))

(defun demo-print-reply (reply)
  "Print REPLY: its text as a model reads it, then all of it as Lisp."
  (demo-print-indented (plist-get reply :text))
  (terpri)
  ;; The text stands above.
  (let ((rest (plist-put (copy-sequence reply) :text '…)))
    (demo-print-indented (demo-pretty rest 0))))

(defconst demo-width 110
  "Maximum width of a line of Lisp.")

(defun demo-pretty (object column)
  "Return OBJECT as Lisp text that starts at COLUMN.
A wide object has several lines: a plist has a line for each of its
keys then, another list one for each of its items."
  (let ((flat (prin1-to-string object))
        (separator (concat "\n" (make-string (1+ column) ?\s))))
    (cond ((or (atom object) (< (+ column (length flat)) demo-width)) flat)
          ((keywordp (car object))
           (format "(%s)" (mapconcat (lambda (pair) (demo-pretty-pair pair (1+ column)))
                                     (seq-partition object 2) separator)))
          (t (format "(%s)" (mapconcat (lambda (item) (demo-pretty item (1+ column)))
                                       object separator))))))

(defun demo-pretty-pair (pair column)
  "Return PAIR, a key and its value in a plist, as text that starts at COLUMN."
  (let ((flat (format "%S %S" (car pair) (cadr pair))))
    (if (< (+ column (length flat)) demo-width) flat
      (format "%S\n%s%s" (car pair) (make-string (+ column 2) ?\s)
              (demo-pretty (cadr pair) (+ column 2))))))


;;; Calls

(defun demo-call (id arguments context expected)
  "Call tool ID with ARGUMENTS and CONTEXT; print the reply if all are shown.
EXPECTED is nil for success, or the code of an error."
  (let* ((reply (backstaff-call id arguments context))
         (code (plist-get (plist-get reply :error) :code))
         (surprise (not (and (equal code expected)
                             (eq (plist-get reply :ok) (null expected))))))
    (cl-incf demo-replies)
    (when (or demo-all surprise)
      (demo-print-call id arguments context)
      (demo-print-reply reply))
    (when surprise
      (cl-incf demo-surprises)
      (demo-print "UNEXPECTED: wanted %s, got %s"
                  (or expected "success") (or code "success")))))

(defun demo-tool (tool)
  "Show TOOL, a definition of `backstaff-tools', at work."
  (let ((id (plist-get tool :id)))
    (when demo-all
      (demo-print-heading id)
      (demo-print-indented (plist-get tool :description))
      (dolist (argument (plist-get tool :arguments))
        (demo-print "    %-16s %-8s %s"
                    (plist-get argument :name)
                    (substring (symbol-name (plist-get argument :type)) 1)
                    (or (plist-get argument :description) ""))))
    (let ((calls (cl-remove id demo-calls :key #'car :test-not #'equal)))
      (pcase-dolist (`(,_ ,arguments . ,rest) calls)
        (demo-call id arguments (car rest) nil))
      (unless (or calls (not demo-all))
        (demo-print "\n(The demo holds no call of this tool.)")))))

(defun demo-unreadable-directory ()
  "Show the answer about a directory that cannot be read.
It lies in a root of its own: the caller chooses the root, never a model."
  (let* ((root (file-name-as-directory (make-temp-file "backstaff-demo" t)))
         (locked (expand-file-name "locked" root)))
    (make-directory locked)
    (set-file-modes locked 0)
    (unwind-protect
        (demo-call "agent-q/list_directory" '(:path "locked") (list :root root)
                   "PERMISSION_DENIED")
      (set-file-modes locked #o700)
      (delete-directory root t))))

(defun demo-round-trip ()
  "Measure the time from Emacs to the server and back."
  (when demo-all
    (demo-print-heading "A round trip"))
  (let ((times (sort (cl-loop repeat demo-pings
                              collect (car (benchmark-run 1 (demo-ping))))
                     #'<)))
    (demo-print "\n%d round trips from Emacs to the server: median %.3f ms, p95 %.3f ms"
                demo-pings
                (* 1e3 (nth (/ demo-pings 2) times))
                (* 1e3 (nth (/ (* 95 demo-pings) 100) times)))))

(defun demo-ping ()
  "Ping the server."
  (unless (eq (backstaff-epc-call (backstaff-server-ensure) 'ping nil :timeout 5) t)
    (cl-incf demo-surprises)))

(defun demo-show-page ()
  "Show the texts of a few replies."
  (pcase-dolist (`(,heading ,id ,arguments . ,rest) demo-page)
    (demo-print "\n%s" heading)
    (demo-print "%S" `(backstaff-call-text ,id ',arguments))
    (demo-print-indented (backstaff-call-text id arguments (car rest)))))

(defun demo-batch ()
  "Show the tools at work, call every one in every way, and leave Emacs."
  (setq demo-all (not (member (getenv "ALL") '(nil "" "0"))))
  (let ((default-directory demo-root))
    (unless demo-all
      (demo-show-page))
    (mapc #'demo-tool (backstaff-tools))
    (when demo-all
      (demo-print-heading "Errors are replies, too"))
    (pcase-dolist (`(,id ,arguments ,code . ,rest) demo-refusals)
      (demo-call id arguments (car rest) code))
    (if (zerop (user-uid))
        (when demo-all
          (demo-print "\n(Root may read everything: no permission is refused here.)"))
      (demo-unreadable-directory))
    (demo-round-trip)
    (backstaff-stop))
  (demo-print "%s"
              (if (zerop demo-surprises)
                  (format "All %d replies to calls of %s were as expected.%s" demo-replies
                          "every tool, right and wrong,"
                          (if demo-all "" "  make demo ALL=1 shows them."))
                (format "%d replies were not as expected." demo-surprises)))
  (kill-emacs (min demo-surprises 1)))

(provide 'demo)
;;; demo.el ends here
