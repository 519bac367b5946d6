;;; backstaff-emacs-find-symbol.el --- The tool emacs/find_symbol  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tells where a symbol is defined or used, by the xref back end of a buffer that is open:
;;
;;   2 definitions of 'frob', asked of eglot in src/a.py
;;   src/b.py:12: def frob(x):
;;   src/c.py:40: def frob(x, y):
;;   [1 outside the workspace left out]
;;
;; With eglot, the language server is asked and Emacs goes on meanwhile.  Another back end
;; works while Emacs waits.  Some visit files or start programs for that, which no tool
;; may: they are stopped before they do, and the answer says so.
;;
;; Lines come from buffers where the file is open, else from workspace/read_file, whose
;; sandbox also sees links that lead out of the root.
;;
;; On another host only eglot is asked: its language server runs there already, and Emacs
;; is connected to it.  Another back end would ask the host for files while Emacs waits.
;; Lines of files that are not open are shown there if Backstaff's server runs there, too,
;; as this tool starts none.

;;; Code:

(require 'backstaff-emacs)
(require 'backstaff-emacs-guard)

(defvar eglot--recent-changes)
(declare-function url-unhex-string "url-util" (str &optional allow-newlines))
(declare-function eglot-managed-p "ext:eglot" ())
(declare-function eglot-current-server "ext:eglot" ())
(declare-function eglot--TextDocumentPositionParams "ext:eglot" ())
(declare-function eglot--signal-textDocument/didChange "ext:eglot" ())
(declare-function track-changes-inconsistent-state-p "ext:track-changes" ())
(declare-function jsonrpc-async-request "jsonrpc" (connection method params &rest args))
(declare-function jsonrpc-running-p "jsonrpc" (connection))
(declare-function xref-backend-definitions "xref" (backend identifier))
(declare-function xref-backend-references "xref" (backend identifier))
(declare-function xref-backend-identifier-at-point "xref" (backend))
(declare-function xref-item-location "xref" (item) t)
(declare-function xref-item-summary "xref" (item) t)
(declare-function xref-location-group "xref" (location))
(declare-function xref-location-line "xref" (location))
(declare-function xref-buffer-location-p "xref" (location) t)
(declare-function xref-buffer-location-buffer "xref" (location) t)
(declare-function xref-buffer-location-position "xref" (location) t)

(defconst backstaff-emacs-find-symbol-tool
  '(:id "emacs/find_symbol"
    :description "Finds where a symbol is defined or used, by what Emacs has for the language of a file that is open: a language server or another xref back end. Where there is none, use workspace/regexp_search."
    :arguments
    ((:name "symbol" :type :string :required t
      :description "The symbol, as it is written in the file.")
     (:name "path" :type :string
      :description "An open file in which the symbol stands; without it, the file that the user selected last.")
     (:name "line" :type :integer :minimum 1
      :description "The line of the file in which it stands; without it, the first that has it.")
     (:name "what" :type :string :enum ("definition" "references") :default "definition"
      :description "What to find."))
    :categories (:emacs :search)
    ;; The first call of all needs both.
    :libraries (project xref)
    :function backstaff-emacs-find-symbol--run)
  "The definition of the tool emacs/find_symbol.")

(defconst backstaff-emacs-find-symbol--most 100
  "How many places are shown.")

(defconst backstaff-emacs-find-symbol--longest 1000
  "Maximum length of a symbol.
Emacs refuses regexps of some ten thousand characters.")

(defconst backstaff-emacs-find-symbol--search
  (backstaff-lisp-tools-name "workspace/regexp_search")
  "The tool that finds what no back end knows.")

(defconst backstaff-emacs-find-symbol--lisp "the xref back end elisp"
  "The back end of Emacs Lisp, which knows only the Lisp that is loaded.")

(defconst backstaff-emacs-find-symbol--seconds 5
  "How long a back end may take, unless the caller waits less.")

(defconst backstaff-emacs-find-symbol--seconds-to-send 1
  "How long Emacs waits for a language server that does not read.")

(defun backstaff-emacs-find-symbol--run (arguments context done)
  "Do the work of emacs/find_symbol with ARGUMENTS in CONTEXT; call DONE later."
  (let* ((roots (backstaff-emacs-roots (plist-get context :root)))
         (files (backstaff-emacs-buffers roots))
         (given (or (plist-get arguments :path) ""))
         (path (backstaff-emacs-argument-path given roots))
         ;; The root, which a form may give where nothing was typed, is no file.
         (open (if (equal path "") (car files) (assoc path files)))
         (symbol (plist-get arguments :symbol)))
    (cond ((string-blank-p symbol)
           (backstaff-lisp-tools-fail "INVALID_ARGUMENT" "Argument 'symbol' must not be blank"))
          ((> (length symbol) backstaff-emacs-find-symbol--longest)
           (backstaff-lisp-tools-fail
            "INVALID_ARGUMENT" "Argument 'symbol' has %d characters, more than the %d allowed"
            (length symbol) backstaff-emacs-find-symbol--longest))
          ((not open)
           (backstaff-lisp-tools-fail
            "NOT_FOUND" "%s in Emacs, so nothing there knows it: use %s"
            (if (equal path "") "No file of the project is open"
              (format "File %s is not open" (backstaff-emacs-quote given)))
            backstaff-emacs-find-symbol--search)))
    (pcase-let ((`(,path . ,buffer) open))
      (funcall (if (with-current-buffer buffer
                     ;; Another eglot may lack what is called below.
                     (and (fboundp 'eglot-managed-p)
                          (fboundp 'eglot-current-server)
                          (fboundp 'eglot--signal-textDocument/didChange)
                          (fboundp 'eglot--TextDocumentPositionParams)
                          (eglot-managed-p)))
                   #'backstaff-emacs-find-symbol--ask-eglot
                 #'backstaff-emacs-find-symbol--ask-xref)
               (list :symbol symbol
                     :references (equal (plist-get arguments :what) "references")
                     :path path
                     :buffer buffer
                     :position (backstaff-emacs-find-symbol--position
                                buffer symbol (plist-get arguments :line) path)
                     :seconds (min backstaff-emacs-find-symbol--seconds
                                   (or (plist-get context :seconds)
                                       backstaff-emacs-find-symbol--seconds))
                     :root (plist-get context :root)
                     :limit (plist-get context :limit)
                     :done done)))
    ;; The answer comes later, as the lines of other files are read first.
    nil))

(defun backstaff-emacs-find-symbol--none (format &rest values)
  "Fail, as no back end can be asked; FORMAT with VALUES says why."
  (backstaff-lisp-tools-fail "NO_BACKEND" "No back end here: %s; use %s"
                             (apply #'format format values)
                             backstaff-emacs-find-symbol--search))

(defun backstaff-emacs-find-symbol--position (buffer symbol line path)
  "Return where SYMBOL stands in BUFFER, on LINE if that is given, or nil.
PATH is that of the file."
  (backstaff-emacs-in buffer
    (goto-char (point-min))
    (when line (forward-line (1- line)))
    (let ((end (and line (line-end-position))))
      (cond ((re-search-forward (concat "\\_<" (regexp-quote symbol) "\\_>") end t)
             (match-beginning 0))
            ((search-forward symbol end t) (match-beginning 0))
            (line (backstaff-lisp-tools-fail
                   "NOT_FOUND" "Symbol %s does not stand on line %d of %s"
                   (backstaff-emacs-quote symbol) line (backstaff-names-show path)))))))


;;; Eglot

(defun backstaff-emacs-find-symbol--ask-eglot (call)
  "Ask the language server of the buffer of CALL, and return before it answers."
  (cl-destructuring-bind (&key symbol references buffer position seconds done
                               &allow-other-keys)
      call
    (let ((server (with-current-buffer buffer (eglot-current-server)))
          (fail (lambda (code format &rest values)
                  (funcall done (list :code code
                                      :message (apply #'format format values))))))
      (cond ((not (and server (jsonrpc-running-p server)))
             (backstaff-lisp-tools-fail
              "BACKEND_FAILED" "The language server has ended: use %s"
              backstaff-emacs-find-symbol--search))
            ((not position)
             (backstaff-lisp-tools-fail
              "NOT_FOUND" "Symbol %s does not stand in that file: give the path of an open file\
 that has it, or use %s" (backstaff-emacs-quote symbol) backstaff-emacs-find-symbol--search)))
      (backstaff-emacs-find-symbol--send
       server buffer position
       (if references :textDocument/references :textDocument/definition)
       (and references '(:context (:includeDeclaration t)))
       :timeout seconds
       :timeout-fn
       (lambda ()
         (funcall fail "TIMEOUT" "The language server gave no answer within %s seconds;\
 try again, or use %s" seconds backstaff-emacs-find-symbol--search))
       :error-fn
       (lambda (problem)
         (funcall fail "BACKEND_FAILED" "The language server refused: %s"
                  (backstaff-names-prose
                   (truncate-string-to-width (format "%s" (plist-get problem :message))
                                             300 nil nil t))))
       :success-fn
       (lambda (answer)
         (condition-case problem
             (backstaff-emacs-find-symbol--answer
              call "eglot"
              (mapcar (lambda (location)
                        (backstaff-emacs-find-symbol--lsp-place location (plist-get call :root)))
                      ;; It is a vector of locations, one location, or null.
                      (cond ((vectorp answer) answer) (answer (list answer)))))
           (error (funcall fail "BACKEND_FAILED" "The answer of the language server cannot be\
 used: %s" (backstaff-names-prose (error-message-string problem))))))))))

(defun backstaff-emacs-find-symbol--send (server buffer position method more &rest options)
  "Send SERVER a request of METHOD for POSITION in BUFFER.
MORE are parameters, and OPTIONS are those of `jsonrpc-async-request'."
  (condition-case problem
      ;; In a buffer that is narrowed eglot 1.17, that of Emacs 30, fails to send changes.
      (backstaff-emacs-in buffer
        (goto-char position)
        (cl-letf* ((name buffer-file-name)
                   (truename (symbol-function 'file-truename))
                   ;; For each message eglot before 1.17 asks the host of the file for this.
                   ((symbol-function 'file-truename)
                    (lambda (file &rest more)
                      (if (equal file name) (car (backstaff-unsaved-file-names buffer))
                        (apply truename file more)))))
          ;; The server answers from what it was told.  Eglot tells it of changes when Emacs
          ;; is idle, and before a request; but not of those that it has seen by halves, such
          ;; as a character that an input method is still composing.
          (with-timeout (backstaff-emacs-find-symbol--seconds-to-send
                         (backstaff-emacs-find-symbol--give-up))
            (unless (and (bound-and-true-p eglot--track-changes)
                         (fboundp 'track-changes-inconsistent-state-p)
                         (track-changes-inconsistent-state-p))
              (eglot--signal-textDocument/didChange))
            (apply #'jsonrpc-async-request server method
                   (append (eglot--TextDocumentPositionParams) more)
                   ;; If eglot holds changes back, the request waits for them.  The name is
                   ;; new, as another request of the same would replace this one.
                   :deferred (make-symbol "backstaff")
                   options))))
    (backstaff-lisp-tools-failure (signal (car problem) (cdr problem)))
    ;; Such as "Process EGLOT not running: stopped".
    (error (backstaff-lisp-tools-fail
            "BACKEND_FAILED" "The language server cannot be asked: %s"
            (backstaff-names-prose (error-message-string problem))))))

(defun backstaff-emacs-find-symbol--give-up ()
  "Fail, as the language server of the current buffer reads nothing.
Emacs waits while a pipe is full, as it is after 64 KiB."
  ;; It keeps the rest of the message and sends it first when it sends again.  But eglot does not
  ;; know that, and would send the same changes twice.  With this it sends the whole text, once.
  (when (and (boundp 'eglot--recent-changes)
             (consp eglot--recent-changes))
    (setq eglot--recent-changes :emacs-messup))
  (backstaff-lisp-tools-fail
   "TIMEOUT" "The language server is busy, and did not read the latest changes within %s second;\
 try again, or use %s"
   backstaff-emacs-find-symbol--seconds-to-send backstaff-emacs-find-symbol--search))

(defun backstaff-emacs-find-symbol--lsp-place (location root)
  "Return (NAME LINE) of LOCATION, a Location or LocationLink of a language server.
NAME is nil if it is in no file.  The server runs on the host of ROOT."
  (require 'url-util)  ; eglot has loaded it; else it would take as long as all of a first call
  (let ((uri (or (plist-get location :uri) (plist-get location :targetUri)))
        (range (or (plist-get location :range) (plist-get location :targetSelectionRange))))
    (list (and (string-prefix-p "file://" uri)
               (concat (file-remote-p root)
                       (decode-coding-string (url-unhex-string (substring uri 7))
                                             'utf-8-unix)))
          (1+ (plist-get (plist-get range :start) :line)))))


;;; Other back ends

(defun backstaff-emacs-find-symbol--ask-xref (call)
  "Ask the xref back end of the buffer of CALL, and wait for its answer.
On another host none is asked, see above."
  (cl-destructuring-bind (&key buffer seconds root &allow-other-keys) call
    (when (file-remote-p root)
      (backstaff-emacs-find-symbol--none
       "eglot does not run in this buffer, and on another host nothing else is asked, as it\
 would ask that host for files while Emacs waits"))
    (pcase-let
        ((`(,backend . ,items)
          (condition-case problem
              (with-timeout (seconds (backstaff-lisp-tools-fail
                                      "TIMEOUT" "The back end gave no answer within %s seconds"
                                      seconds))
                (backstaff-emacs-in buffer
                  (backstaff-emacs-guard-call #'backstaff-emacs-find-symbol--items call)))
            (backstaff-emacs-guard-stopped
             (backstaff-emacs-find-symbol--none
              "the one of this buffer would %s for an answer" (cadr problem)))
            (backstaff-lisp-tools-failure (signal (car problem) (cdr problem)))
            (error (backstaff-lisp-tools-fail
                    "BACKEND_FAILED" "The back end failed: %s"
                    (backstaff-names-prose (error-message-string problem)))))))
      (backstaff-emacs-find-symbol--answer
       call (format "the xref back end %s" (backstaff-names-show (format "%s" backend)))
       (mapcar #'backstaff-emacs-find-symbol--xref-place items)))))

(defun backstaff-emacs-find-symbol--items (call)
  "Return a cons of the back end of the current buffer and its items for CALL."
  (cl-destructuring-bind (&key symbol references position &allow-other-keys) call
    (let ((backend nil))
      (run-hook-wrapped 'xref-backend-functions
                        (lambda (function)
                          ;; It would visit a table of tags, and ask where that is.
                          (unless (eq function 'etags--xref-backend)
                            (setq backend (funcall function)))))
      (when (or (null backend)
                ;; Without a method of its own it would start grep.
                (and references (symbolp backend)
                     (not (cl-some (lambda (specializer)
                                     (cl-find-method 'xref-backend-references nil
                                                     (list specializer t)))
                                   `((eql ,backend) (eql ',backend))))))
        (backstaff-emacs-find-symbol--none
         "Emacs knows no way to find symbols %s"
         (if references "that are used in this buffer" "of this buffer")))
      (when position (goto-char position))
      (let ((there (and position (xref-backend-identifier-at-point backend))))
        (cons backend
              (funcall (if references #'xref-backend-references #'xref-backend-definitions)
                       ;; The back end may have put its properties on it.
                       backend (if (equal there symbol) there symbol)))))))

(defun backstaff-emacs-find-symbol--xref-place (item)
  "Return (NAME LINE SUMMARY) of ITEM of xref; NAME and LINE may be nil."
  (let* ((location (xref-item-location item))
         (buffer (and (xref-buffer-location-p location)
                      (xref-buffer-location-buffer location)))
         (group (xref-location-group location)))
    (list (if buffer (car (backstaff-unsaved-file-names (or (buffer-base-buffer buffer) buffer)))
            (and (stringp group) (string-prefix-p "/" group)
                 (if (string-suffix-p ".elc" group) (substring group 0 -1) group)))
          (if buffer (with-current-buffer buffer
                       (backstaff-emacs-line (xref-buffer-location-position location)))
            (xref-location-line location))
          (xref-item-summary item))))


;;; The answer

(defun backstaff-emacs-find-symbol--answer (call by places)
  "Answer CALL with PLACES, which BY gave, once the lines of them all are read.
A place is a list (NAME LINE SUMMARY); all three may be nil."
  (let* ((root (plist-get call :root))
         (readable (backstaff-server-live-p (file-remote-p root)))
         (roots (backstaff-emacs-roots root))
         (files (backstaff-emacs-buffers roots))
         (outside 0)
         (known (make-hash-table :test #'equal))
         (within (cl-loop for (name line summary) in places
                          for path = (and name (backstaff-emacs-below name roots))
                          for key = (if line (cons path line) (list path summary))
                          do (unless path (cl-incf outside))
                          when (and path (not (gethash key known))
                                    (not (string-match-p backstaff-unsaved-secret name)))
                          do (puthash key t known)
                          and collect (list :path path :line line :text summary)))
         (shown (seq-take within backstaff-emacs-find-symbol--most))
         (unread 1)
         (read (lambda ()
                 (when (zerop (cl-decf unread))
                   (let ((here (cl-remove-if (lambda (place) (plist-get place :outside)) shown)))
                     (funcall (plist-get call :done)
                              (backstaff-emacs-find-symbol--result
                               call by here (- (length within) (length shown))
                               (+ outside (- (length shown) (length here)))
                               (and (not readable)
                                    "[lines of closed files left out: no server of ours runs there]\n"))))))))
    (dolist (place shown)
      (let ((buffer (cdr (assoc (plist-get place :path) files))))
        (cond (buffer (backstaff-emacs-find-symbol--line-of-buffer
                       place buffer (plist-get call :symbol)))
              ((and readable (plist-get place :line))
               (cl-incf unread)
               (backstaff-emacs-find-symbol--line-of-file place root read)))))
    (funcall read)))

(defun backstaff-emacs-find-symbol--line-of-buffer (place buffer symbol)
  "Put the text of PLACE, which is in BUFFER, into it, and its line if it has none.
Then that is the first form, such as (defun SYMBOL."
  (backstaff-emacs-in buffer
    (goto-char (point-min))
    (if (plist-get place :line)
        (forward-line (1- (plist-get place :line)))
      (when (re-search-forward (format "^(.*\\_<%s\\_>" (regexp-quote symbol)) nil t)
        (plist-put place :line (backstaff-emacs-line (point)))))
    (when (plist-get place :line)
      (plist-put place :text (buffer-substring-no-properties
                              (line-beginning-position)
                              (min (line-end-position) (+ (line-beginning-position) 300)))))))

(defun backstaff-emacs-find-symbol--line-of-file (place root read)
  "Put the text of PLACE, below ROOT, into it, as the server reads it; call READ."
  (backstaff-server-call-async
   "workspace/read_file"
   (list (list :path (plist-get place :path) :start_line (plist-get place :line) :max_lines 1)
         (list :root (file-name-unquote (file-local-name root)) :max-output-bytes 1000))
   :host (file-remote-p root)
   :timeout backstaff-emacs-find-symbol--seconds
   :error-fn (lambda (_condition) (funcall read))
   :success-fn
   (lambda (reply)
     (if (equal (plist-get (plist-get reply :error) :code) "SANDBOX_VIOLATION")
         (plist-put place :outside t)
       (when (plist-get reply :ok)
         (let ((line (plist-get (plist-get reply :data) :content)))
           (plist-put place :text (substring line 0 (min 300 (length line)))))))
     (funcall read))))

(defun backstaff-emacs-find-symbol--result (call by places more outside note)
  "Return the result of CALL: PLACES, MORE that were not looked at, OUTSIDE ones.
BY gave them.  NOTE is nil or the last line of the text."
  (let* ((limit (plist-get call :limit))
         (noun (if (plist-get call :references) "reference" "definition"))
         (total (+ (length places) more))
         (head (format "%s of %s, asked of %s in %s\n"
                       (if (zerop total) (format "No %s" noun)
                         (backstaff-emacs-plural total noun))
                       (backstaff-emacs-quote (plist-get call :symbol)) by
                       (backstaff-names-show (plist-get call :path))))
         (lines (backstaff-emacs-fitting
                 (mapcar (lambda (place)
                           (let ((text (plist-get place :text)) (line (plist-get place :line)))
                             (concat (backstaff-names-show (plist-get place :path))
                                     (and line (format ":%d" line))
                                     (and text (concat ": " (backstaff-names-prose text))))))
                         places)
                 (- limit (string-bytes head) (string-bytes (or note "")) 120)))
         (left (- total (length lines))))
    (list :text (concat head (mapconcat (lambda (line) (concat line "\n")) lines "")
                        (and (> left 0) (format "[%d more: use %s]\n" left
                                                backstaff-emacs-find-symbol--search))
                        (and (> outside 0)
                             (format "[%d outside the workspace left out]\n" outside))
                        (and (zerop total) (zerop outside)
                             (concat (if (equal by backstaff-emacs-find-symbol--lisp)
                                         "[Emacs knows the Lisp that it has loaded, and no other: "
                                       "[")
                                     backstaff-emacs-find-symbol--search
                                     " may find more]\n"))
                        note)
          :truncated (> left 0)
          :data (list :places (seq-take places (length lines)) :total total
                      :outside outside :back-end by))))

(provide 'backstaff-emacs-find-symbol)
;;; backstaff-emacs-find-symbol.el ends here
