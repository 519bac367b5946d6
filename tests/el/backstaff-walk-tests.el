;;; backstaff-walk-tests.el --- Answers lead nowhere that their reader cannot go  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A reader is a model or a program with some tools: it has come by one of the ways of
;; calling, and knows the tools' names and parameters from their definitions alone.  Each
;; reader provokes answers that say how to go on, and does as they say.
;;
;; A dead end is an answer that names a tool or an argument that the reader does not have,
;; or a suggested call that fails or has the same answer.  Descriptions are not walked.

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-agent-q)
(require 'backstaff-gptel)
(require 'backstaff-llm)
(require 'backstaff-mcp)

(declare-function gptel-get-preset "ext:gptel" (name))
(declare-function gptel-tool-function "ext:gptel" (tool))
(declare-function gptel-tool-name "ext:gptel" (tool))
(declare-function gptel-tool-args "ext:gptel" (tool))
(declare-function llm-tool-function "ext:llm" (tool))
(declare-function llm-tool-name "ext:llm" (tool))
(declare-function llm-tool-args "ext:llm" (tool))
(defvar gptel--known-tools)
(defvar gptel--known-presets)
(defvar gptel-tools)

(cl-defstruct (backstaff-walk (:copier nil))
  "A reader.  TOOLS are lists (ID NAME PARAMETER...) of all tools that it has.
CALL is a function of a name and a plist of arguments that returns the text.
The slots from ANSWERS on count; DEAD lists the dead ends."
  way tools call (answers 0) (pointing 0) (followed 0) dead)

;;; The project, and calls whose answers say how to go on

(defconst backstaff-walk-tests-tree
  `(("latin.txt" . "gr\xfc\xdf\n")
    ("long.txt" . ,(make-string 9000 ?y))
    ("big.txt" . ,(make-string 1200000 ?z))
    ("server.py" . ,(concat "class Server:\n"
                            (mapconcat (lambda (number)
                                         (format "    def run_%d(self):\n        return '%s'\n\n"
                                                 number (make-string 60 ?w)))
                                       (number-sequence 1 60) "")))
    ("old.py" . ,(mapconcat (lambda (number) (format "number = %d\n" number))
                            (number-sequence 1 400) ""))
    (".gitignore" . "out/\n")
    ("out" . (("needle.o" . "a needle of iron\n")))
    ("many" . ,(mapcar (lambda (number)
                         (cons (format "file_%03d.py" number)
                               (format "def start_%d():\n    return 'many words'\n" number)))
                       (number-sequence 1 150)))
    (".claude" . (("commands" . ,(mapcar (lambda (number)
                                           (cons (format "release-%02d.md" number)
                                                 "Makes a release, slowly and with care.\n"))
                                         (number-sequence 1 60))))))
  "The files of the project.")

(defconst backstaff-walk-tests-calls
  '(("workspace/read_file"
     (:path "latin.txt") (:path "long.txt") (:path "server.py" :max_lines 5) (:path "many")
     (:path "pipe") (:path "server.py" :symbol "Server") (:symbol "Nowhere")
     (:path "big.txt" :match "z") (:path "severs.py") (:path "server.py" :symbol "run_100")
     (:ranges [(:path "server.py" :max_lines 90) (:path "old.py" :max_lines 300)])
     (:path "old.py" :around 30) (:path "server.py" :start_line 999) (:ranges [(:file "old.py")]))
    ("workspace/regexp_search"
     (:pattern "start_") (:pattern "RUN_7\\b") (:pattern "run_7(") (:pattern "of iron")
     (:pattern "words" :timeout_ms 1) (:pattern "run" :include ["*.txy"]) (:pattern "*.py")
     (:pattern "run" :include ["*.py"] :root_path "many") (:pattern "a || b")
     (:pattern "def start" :output "files") (:pattern "many words nowhere else"))
    ("workspace/codebase_search"
     (:query "start many words") (:query "nothing alike" :include ["*.zz"]) (:query "run_7"))
    ("workspace/search_files"
     (:query "def run_7") (:query "needle.o") (:query "**" :kind "glob") (:query "file")
     (:query "*.c" :kind "glob") (:query "SERVER.PY" :kind "substring"))
    ("workspace/project_overview" () (:path "out") (:max_tokens 400))
    ("workspace/git_status_summary" () (:cwd "many"))
    ("workspace/git_diff" () (:path "old.py") (:path "latin.txt") (:base "nowhere")
     (:output "files"))
    ("workspace/git_log" () (:path "old.py" :lines "1-9"))
    ("workspace/outline" (:path ".") (:path "server.py") (:path "pipe"))
    ("workspace/tree" (:path "." :entry_kind "all") (:path "many" :entry_kind "all" :max_depth 1)
     (:path "."))
    ("agent-q/list_directory" (:path "many") (:path "nowhere"))
    ("agent-q/get_file_info" (:path "pipe"))
    ("forge/list_directory" (:path "."))
    ("commands/list_commands" () (:page 9))
    ("commands/search_commands" (:query "release") (:query "zzz") (:query "release" :max_results 100))
    ("commands/get_command" (:command_name "release-1"))
    ("emacs/context" ())
    ("emacs/diagnostics" () (:path "old.py"))
    ("emacs/read_buffer" (:buffer "nowhere")))
  "Tools by id, and arguments of calls for each.")

(defmacro backstaff-walk-tests-with-project (&rest body)
  "Run BODY in the project, with our server and texts of at most 2,000 bytes."
  (declare (indent 0) (debug t))
  `(progn
     (backstaff-test-needs "git" (executable-find "git"))
     (backstaff-test-require 'gptel "BACKSTAFF_GPTEL_DIR")
     (backstaff-test-require 'llm "BACKSTAFF_LLM_DIR")
     (backstaff-test-with-project backstaff-walk-tests-tree
       (let ((backstaff-agent-max-output-bytes 2000)
             (gptel--known-tools nil) (gptel--known-presets nil) (gptel-tools nil))
         (dolist (words '(("git" "init" "-q") ("git" "add" "-A")
                          ("git" "-c" "user.name=a" "-c" "user.email=a@example.org"
                           "commit" "-qm" "one")
                          ("mkfifo" "pipe")))
           (should (zerop (apply #'call-process (car words) nil nil nil (cdr words)))))
         (with-temp-file "old.py"
           (dotimes (number 400) (insert (format "number = %d\n" (* 7 number)))))
         (write-region "new\n" nil "latin.txt" nil 'silent)
         (let ((coding-system-for-write 'no-conversion))
           (write-region "gr\xfc\xdf\n" nil "latin.txt" nil 'silent))
         ,@body))))

;;; Readers

(defun backstaff-walk-tests--async (function args parameters)
  "Return the text that FUNCTION of a library hands over for ARGS, a plist.
It takes the values of PARAMETERS, the names, by position."
  (car (backstaff-test-answers
        (lambda (callback)
          (apply function callback
                 (mapcar (lambda (name) (plist-get args (intern (concat ":" name))))
                         parameters))))))

(defun backstaff-walk-tests--names (parameters)
  "Return the names of PARAMETERS, plists."
  (mapcar (lambda (one) (plist-get one :name)) parameters))

(defun backstaff-walk-tests--of-library (way objects name-of args-of function-of)
  "Return a reader by WAY, a library of agents, with its OBJECTS for tools.
NAME-OF, ARGS-OF and FUNCTION-OF are the accessors of such an object."
  (let ((ids (mapcar (lambda (tool) (cons (plist-get tool :name) (plist-get tool :id)))
                     (backstaff-agent-definitions))))
    (make-backstaff-walk
     :way way
     :tools (mapcar (lambda (object)
                      (let ((name (funcall name-of object)))
                        `(,(cdr (assoc name ids)) ,name
                          ,@(backstaff-walk-tests--names (funcall args-of object)))))
                    objects)
     :call (lambda (name args)
             (let ((object (cl-find name objects :key name-of :test #'equal)))
               (backstaff-walk-tests--async
                (funcall function-of object) args
                (backstaff-walk-tests--names (funcall args-of object))))))))

(defun backstaff-walk-tests--gptel (tools &optional chosen)
  "Return a reader with TOOLS of gptel, CHOSEN in its menu or of a preset."
  (let* ((reader (backstaff-walk-tests--of-library
                  "gptel" tools #'gptel-tool-name #'gptel-tool-args #'gptel-tool-function))
         (call (backstaff-walk-call reader)))
    (setf (backstaff-walk-call reader)
          (lambda (name args)
            (let ((gptel-tools (and chosen tools))) (funcall call name args))))
    reader))

(defun backstaff-walk-tests--llm (toolsets)
  "Return a reader with the tools of TOOLSETS of llm."
  (backstaff-walk-tests--of-library "llm" (backstaff-llm-tools toolsets)
                                    #'llm-tool-name #'llm-tool-args #'llm-tool-function))

(defun backstaff-walk-tests--agent-q ()
  "Return the reader in Agent-Q."
  (let ((root default-directory))
    (make-backstaff-walk
     :way "Agent-Q"
     :tools (cl-loop for tool in (backstaff-agent-definitions)
                     for name = (plist-get tool :name)
                     for told = (cl-find name (backstaff-agent-q-definitions) :test #'equal
                                         :key (lambda (one) (plist-get one :name)))
                     when told
                     collect `(,(plist-get tool :id) ,name
                               ,@(backstaff-walk-tests--names (plist-get told :parameters))))
     :call (lambda (name args) (backstaff-agent-q-call name (json-serialize (or args '(:a 1))) root)))))

(defun backstaff-walk-tests--epc ()
  "Return the reader that calls as a program, or from a shell."
  (make-backstaff-walk
   :way "EPC"
   :tools (mapcar (lambda (tool)
                    `(,(plist-get tool :id) ,(plist-get tool :id)
                      ,@(backstaff-walk-tests--names (plist-get tool :arguments))))
                  (backstaff-tools))
   :call (lambda (name args)
           (plist-get (backstaff-call name args (list :max-output-bytes 2000)) :text))))

(defun backstaff-walk-tests--mcp (processes option value)
  "Return a reader over MCP whose server is started with OPTION and VALUE.
The process is put in front of the list in PROCESSES, a cons cell."
  (let* ((text "") (uid 0)
         (entry (cdr (backstaff-mcp-server 'mcp-hub default-directory)))
         (command `(,(plist-get entry :command) ,@(plist-get entry :args)
                    ,@(and option (list option value))))
         (process (make-process :name "backstaff-mcp" :command command :connection-type 'pipe
                                :noquery t :sentinel #'ignore :coding 'utf-8
                                :filter (lambda (_ more) (setq text (concat text more)))))
         (ask (lambda (method params)
                (setq text "")
                (process-send-string
                 process (concat (json-serialize `(:jsonrpc "2.0" :id ,(cl-incf uid) :method ,method
                                                            :params ,params))
                                 "\n"))
                (backstaff-test-wait-for (string-suffix-p "\n" text))
                (plist-get (json-parse-string text :object-type 'plist :array-type 'list) :result)))
         (ids (mapcar (lambda (tool) (cons (plist-get tool :name) (plist-get tool :id)))
                      (backstaff-agent-definitions))))
    (push process (car processes))
    (make-backstaff-walk
     :way "MCP"
     :tools (cl-loop for tool in (plist-get (funcall ask "tools/list" #s(hash-table)) :tools)
                     for name = (plist-get tool :name)
                     collect `(,(cdr (assoc name ids)) ,name
                               ,@(cl-loop for (key) on (plist-get (plist-get tool :inputSchema)
                                                                  :properties)
                                          by #'cddr
                                          collect (substring (symbol-name key) 1))))
     :call (lambda (name args)
             (plist-get (car (plist-get (funcall ask "tools/call"
                                                 (list :name name
                                                       :arguments (or args #s(hash-table))))
                                        :content))
                        :text)))))

;;; Reading an answer

(defvar backstaff-walk-tests--tools nil
  "Lists (ID NAME PARAMETER...) of all tools that there are.")

(defvar backstaff-walk-tests--tool-regexp nil
  "Regexp for a name of any tool, which is its group.")

(defvar backstaff-walk-tests--argument-regexp nil
  "Regexp for an argument of any tool, as an answer names it; a group is the name.")

(defun backstaff-walk-tests--set-regexps ()
  "Make the regexps for names of `backstaff-walk-tests--tools'."
  (let* ((arguments (seq-uniq (cl-loop for (_ _ . names) in backstaff-walk-tests--tools
                                       append names)))
         (long (regexp-opt (cl-remove-if-not (apply-partially #'string-search "_") arguments) t))
         (short (regexp-opt (cl-remove-if (apply-partially #'string-search "_") arguments) t)))
    (setq backstaff-walk-tests--tool-regexp
          (concat "\\(?:^\\|[^[:alnum:]_/]\\)"
                  (regexp-opt (cl-loop for (id name) in backstaff-walk-tests--tools
                                       collect id collect name)
                              t)
                  "\\(?:[^[:alnum:]_]\\|$\\)")
          backstaff-walk-tests--argument-regexp
          (concat "\\(?:^\\|[^[:alnum:]_]\\)\\(?:" long "\\(?:[^[:alnum:]_]\\|$\\)\\|"
                  short "=\\|'" short "'\\)"))))

(defun backstaff-walk-tests--found (regexp text)
  "Return what the groups of REGEXP match in TEXT, each text once."
  (let ((case-fold-search nil) (start 0) (found nil))
    (while (string-match regexp text start)
      (push (or (match-string 1 text) (match-string 2 text) (match-string 3 text)) found)
      ;; The end of one name is the beginning of the next.
      (setq start (1- (match-end 0))))
    (seq-uniq found)))

(defun backstaff-walk-tests--named (text)
  "Return the tools of all that TEXT names."
  (let ((names (backstaff-walk-tests--found
                backstaff-walk-tests--tool-regexp
                ;; \"work tree\" is a word of git's.
                (replace-regexp-in-string "work tree" "" text))))
    (cl-loop for tool in backstaff-walk-tests--tools
             when (or (member (car tool) names) (member (cadr tool) names)) collect tool)))

(defun backstaff-walk-tests--value ()
  "Return the value at point in an answer, and go behind it."
  (if (looking-at "'\\([^']*\\)'\\|\\([[:alnum:]_.-]+\\)")
      (let ((word (or (match-string 1) (match-string 2))))
        (goto-char (match-end 0))
        (cond ((string-match-p "\\`[0-9]+\\'" word) (string-to-number word))
              ((equal word "true") t)
              (t word)))
    (json-parse-buffer :object-type 'plist)))

(defun backstaff-walk-tests--suggested (name args text)
  "Return the calls that TEXT suggests: lists of a tool's name and arguments.
It is the answer to a call of NAME with ARGS."
  (let ((case-fold-search nil) (calls nil) (group nil) (end nil)
        (reads (string-suffix-p "read_file" name)))
    (with-temp-buffer
      (insert text)
      (goto-char (point-min))
      (while (re-search-forward "\\([a-z_/-]+\\) {\\|\\_<\\([a-z_]+\\)=" nil t)
        (if (match-string 1)
            (let ((tool (match-string 1)))
              (backward-char)
              (push (list tool (json-parse-buffer :object-type 'plist :false-object :false)) calls))
          (let ((key (intern (concat ":" (match-string 2)))) (start (match-beginning 0)))
            ;; Such a tool lacks other arguments, which no answer can know.
            (if (looking-back "\\(?:[a-z]_[a-z_]+\\|tree\\) with [^=]*=" (line-beginning-position))
                (setq end nil)
              (unless (and end (<= (- start end) 2) (not (plist-member group key)))
                (when group (push group calls))
                (setq group nil))
              (setq group (plist-put group key (backstaff-walk-tests--value)) end (point))))))
      (when group (push group calls)))
    (cl-loop
     for call in (nreverse calls)
     collect (cond ((stringp (car call)) call)
                   ((plist-get call :ranges) (list name call))
                   ;; Lines are of the file that the answer is about.
                   ((and reads (plist-get call :start_line))
                    (list name `(:path ,(if (string-match "^\\([^ \n:]+\\): " text)
                                            (match-string 1 text)
                                          (plist-get args :path))
                                 ,@call)))
                   ;; The map's legend says \"dir\" for any directory in it.
                   ((equal (plist-get call :path) "dir") (list name '(:path "many")))
                   (t (list name (append call args)))))))

(defun backstaff-walk-tests--step (reader name args &optional before)
  "Let READER call NAME with ARGS, a plist, and do as the answer says.
BEFORE is the text that suggested the call; then nothing more is followed."
  (let* ((text (funcall (backstaff-walk-call reader) name args))
         (tools (backstaff-walk-tools reader))
         (named (backstaff-walk-tests--named text))
         (dead (lambda (problem)
                 (push (format "%s: %s %S -> %s\n%s" (backstaff-walk-way reader) name args problem text)
                       (backstaff-walk-dead reader))))
         (own (cl-find name tools :test #'equal :key #'cadr))
         (known (cl-loop for tool in (cons own named)
                         append (cddr (assoc (car tool) tools)))))
    (cl-incf (backstaff-walk-answers reader))
    (dolist (tool named)
      (unless (assoc (car tool) tools)
        (funcall dead (format "there is no %s" (cadr tool)))))
    (let ((arguments (backstaff-walk-tests--found backstaff-walk-tests--argument-regexp text)))
      (dolist (argument arguments)
        (unless (member argument known)
          (funcall dead (format "there is no argument %s" argument))))
      (if before
          (when (or (string-prefix-p "Error: " text) (equal text before)
                    (string-search "Unknown argument" text))
            (funcall dead (format "after: %s" before)))
        (when (or named arguments) (cl-incf (backstaff-walk-pointing reader)))
        (pcase-dolist (`(,next ,given) (backstaff-walk-tests--suggested name args text))
          (when (cl-find next tools :test #'equal :key #'cadr)
            (cl-incf (backstaff-walk-followed reader))
            (backstaff-walk-tests--step reader next given text)))))))

(defun backstaff-walk-tests--walk (reader)
  "Let READER make all calls for the tools that it has."
  (pcase-dolist (`(,id ,name . ,_) (backstaff-walk-tools reader))
    (let ((calls (cdr (assoc id backstaff-walk-tests-calls))))
      (should calls)
      (dolist (args calls)
        (backstaff-walk-tests--step reader name args))))
  reader)

(defun backstaff-walk-tests--report (readers)
  "Print a table of READERS by way of calling, and fail for any dead end."
  (message "%-8s %6s %8s %9s %9s %s" "way" "offers" "answers" "pointing" "followed" "dead ends")
  (pcase-dolist (`(,way . ,those) (seq-group-by #'backstaff-walk-way readers))
    (cl-flet ((sum (slot) (apply #'+ (mapcar slot those))))
      (message "%-8s %6d %8d %9d %9d %d" way (length those) (sum #'backstaff-walk-answers)
               (sum #'backstaff-walk-pointing) (sum #'backstaff-walk-followed)
               (sum (lambda (reader) (length (backstaff-walk-dead reader)))))
      (should (> (sum #'backstaff-walk-followed) 10))))
  (let ((dead (cl-loop for reader in readers append (backstaff-walk-dead reader))))
    (when dead
      (ert-fail (format "%d dead ends, among them:\n%s" (length dead)
                        (string-join (seq-take (seq-uniq dead) 12) "\n\n"))))))

(ert-deftest backstaff-walk-no-answer-leads-to-a-dead-end ()
  (backstaff-walk-tests-with-project
    (let* ((definitions (backstaff-agent-definitions))
           (backstaff-walk-tests--tools
            ;; With the arguments that models do not see.
            (cl-loop for tool in (backstaff-tools)
                     collect `(,(plist-get tool :id) ,(plist-get (plist-get tool :model) :name)
                               ,@(backstaff-walk-tests--names (plist-get tool :arguments)))))
           (toolsets (seq-uniq (mapcar (lambda (tool) (plist-get tool :toolset)) definitions)))
           (emacs-names (cl-loop for (id name) in backstaff-walk-tests--tools
                                 when (string-prefix-p "emacs/" id) collect name))
           (chosen (backstaff-gptel-register))
           (processes (list nil)))
      (backstaff-walk-tests--set-regexps)
      (unwind-protect
          (backstaff-walk-tests--report
           (mapcar
            #'backstaff-walk-tests--walk
            `(,(backstaff-walk-tests--epc)
              ,(backstaff-walk-tests--agent-q)
              ,@(mapcar (lambda (preset)
                          (backstaff-walk-tests--gptel
                           (plist-get (plist-get (gptel-get-preset preset) :tools) :append)))
                        '(backstaff backstaff-all))
              ,@(mapcar #'backstaff-walk-tests--llm `(nil ,@toolsets))
              ,(backstaff-walk-tests--mcp processes nil nil)
              ,@(mapcar (lambda (name) (backstaff-walk-tests--mcp processes "--tools" name))
                        (remove "emacs" toolsets))
              ;; One tool alone, each in another way.
              ,@(cl-loop for tool in chosen
                         for name = (gptel-tool-name tool)
                         for number from 0
                         collect (pcase (% number 3)
                                   (0 (backstaff-walk-tests--gptel (list tool) t))
                                   ((guard (or (= (% number 3) 1) (member name emacs-names)))
                                    (backstaff-walk-tests--llm name))
                                   (_ (backstaff-walk-tests--mcp processes "--tools" name)))))))
        (mapc #'delete-process (car processes))))))

(provide 'backstaff-walk-tests)
;;; backstaff-walk-tests.el ends here
