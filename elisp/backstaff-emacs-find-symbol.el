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

;;; Code:

(require 'backstaff-emacs)

(declare-function url-unhex-string "url-util" (str &optional allow-newlines))
(declare-function eglot-managed-p "ext:eglot" ())
(declare-function eglot-current-server "ext:eglot" ())
(declare-function eglot--TextDocumentPositionParams "ext:eglot" ())
(declare-function eglot--signal-textDocument/didChange "ext:eglot" ())
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
    :function backstaff-emacs-find-symbol--run)
  "The definition of the tool emacs/find_symbol.")

(defconst backstaff-emacs-find-symbol--most 100
  "How many places are shown.")

(defconst backstaff-emacs-find-symbol--search
  (backstaff-lisp-tools-name "workspace/regexp_search")
  "The tool that finds what no back end knows.")

(defconst backstaff-emacs-find-symbol--seconds 5
  "How long a back end may take, unless the caller waits less.")

(defun backstaff-emacs-find-symbol--run (arguments context done)
  "Do the work of emacs/find_symbol with ARGUMENTS in CONTEXT; call DONE later."
  (let* ((roots (backstaff-emacs-roots (plist-get context :root)))
         (files (backstaff-emacs-buffers roots))
         (path (plist-get arguments :path))
         (relative (backstaff-emacs-argument-path (or path "") roots))
         ;; The root, which a form may give where nothing was typed, is no file.
         (open (if (equal relative "") (car files) (assoc relative files)))
         (symbol (plist-get arguments :symbol))
         (what (if (equal (plist-get arguments :what) "references") :references :definition))
         (seconds (min backstaff-emacs-find-symbol--seconds
                       (or (plist-get context :seconds)
                           backstaff-emacs-find-symbol--seconds))))
    (cond ((string-blank-p symbol)
           (backstaff-lisp-tools-fail "INVALID_ARGUMENT" "Argument 'symbol' must not be blank"))
          ((not open)
           (backstaff-lisp-tools-fail
            "NOT_FOUND" "%s in Emacs, so nothing there knows it: use %s"
            (if (equal relative "") "No file of the project is open"
              (format "File %s is not open" (backstaff-emacs-quote path)))
            backstaff-emacs-find-symbol--search))
          ;; Eglot and others would ask the host for the true names of files.
          ((file-remote-p (plist-get context :root))
           (backstaff-emacs-find-symbol--none "for a file on another host")))
    (let* ((buffer (cdr open))
           (position (backstaff-emacs-find-symbol--position
                      buffer symbol (plist-get arguments :line) (car open)))
           (finish (lambda (by places)
                     (backstaff-emacs-find-symbol--lines
                      (list :symbol symbol :what what :by by :path (car open)
                            :roots roots :context context :done done)
                      places))))
      (if (with-current-buffer buffer (and (fboundp 'eglot-managed-p) (eglot-managed-p)))
          (backstaff-emacs-find-symbol--ask-eglot buffer position symbol what seconds
                                                  finish done)
        (backstaff-emacs-find-symbol--ask-xref buffer position symbol what seconds finish))
      ;; The lines of other files are not read yet.
      nil)))

(defun backstaff-emacs-find-symbol--none (where)
  "Fail, as no back end can be asked WHERE."
  (backstaff-lisp-tools-fail
   "NO_BACKEND" "No back end here: Emacs knows no way to find symbols %s; use %s"
   where backstaff-emacs-find-symbol--search))

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

(defun backstaff-emacs-find-symbol--ask-eglot (buffer position symbol what seconds finish done)
  "Ask the language server of BUFFER for WHAT of SYMBOL, which stands at POSITION.
FINISH gets the places, or DONE a failure, within SECONDS."
  (with-current-buffer buffer
    (let* ((server (and (fboundp 'eglot-current-server) (eglot-current-server)))
           (fail (lambda (code format &rest values)
                   (funcall done (list :code code
                                       :message (apply #'format format values)))))
           (request
            (lambda (method more)
              (backstaff-emacs-find-symbol--request
               server method
               (append (save-excursion
                         (save-restriction
                           (widen)
                           (goto-char position)
                           (and (fboundp 'eglot--TextDocumentPositionParams)
                                (eglot--TextDocumentPositionParams))))
                       more)
               ;; While the server has not been told of the last changes, the request waits
               ;; for eglot to do so.  The name is new, as one of the same would replace this.
               :deferred (make-symbol "backstaff")
               :timeout seconds
               :timeout-fn
               (lambda ()
                 (funcall fail "TIMEOUT" "The language server gave no answer within %s seconds;\
 try again, or use %s" seconds backstaff-emacs-find-symbol--search))
               :error-fn
               (lambda (problem)
                 (funcall fail "BACKEND_FAILED" "The language server refused: %s"
                          (backstaff-names-prose
                           (truncate-string-to-width
                            (format "%s" (plist-get problem :message)) 300 nil nil t))))
               :success-fn
               (lambda (answer)
                 (condition-case problem
                     (funcall finish "eglot"
                              (mapcar #'backstaff-emacs-find-symbol--lsp-place
                                      (cond ((vectorp answer) (append answer nil))
                                            (answer (list answer)))))
                   (error (funcall fail "BACKEND_FAILED" "The answer of the language server\
 cannot be used: %s" (backstaff-names-prose (error-message-string problem))))))))))
      (cond ((not (and server (jsonrpc-running-p server)))
             (backstaff-lisp-tools-fail
              "BACKEND_FAILED" "The language server has ended: use %s"
              backstaff-emacs-find-symbol--search))
            ((not position)
             (backstaff-lisp-tools-fail
              "NOT_FOUND" "Symbol %s does not stand in that file: give the path of an open file\
 that has it, or use %s" (backstaff-emacs-quote symbol) backstaff-emacs-find-symbol--search))
            ((eq what :references)
             (funcall request :textDocument/references
                      '(:context (:includeDeclaration t))))
            (t (funcall request :textDocument/definition nil)))
      ;; Eglot tells the server of changes when Emacs is idle, which it is not in a command.
      (run-at-time (/ seconds 5.0) nil
                   (lambda ()
                     (when (and (buffer-live-p buffer) (not (current-idle-time)))
                       (with-current-buffer buffer
                         (when (and (eglot-managed-p) (jsonrpc-running-p server)
                                    (fboundp 'eglot--signal-textDocument/didChange))
                           (eglot--signal-textDocument/didChange)))))))))

(defun backstaff-emacs-find-symbol--request (&rest arguments)
  "Call `jsonrpc-async-request' with ARGUMENTS, and fail if it cannot send."
  (condition-case problem
      (apply #'jsonrpc-async-request arguments)
    ;; Such as "Process EGLOT not running: stopped".
    (error (backstaff-lisp-tools-fail
            "BACKEND_FAILED" "The language server cannot be asked: %s"
            (backstaff-names-prose (error-message-string problem))))))

(defun backstaff-emacs-find-symbol--lsp-place (location)
  "Return (NAME LINE) of LOCATION, a Location or LocationLink of a language server.
NAME is nil if it is in no file."
  (require 'url-util)  ; eglot has loaded it; else it would take as long as all of a first call
  (let ((uri (or (plist-get location :uri) (plist-get location :targetUri)))
        (range (or (plist-get location :range) (plist-get location :targetSelectionRange))))
    (list (and (string-prefix-p "file://" uri)
               (decode-coding-string (url-unhex-string (substring uri 7)) 'utf-8-unix))
          (1+ (plist-get (plist-get range :start) :line)))))


;;; Other back ends

(define-error 'backstaff-emacs-find-symbol-stopped "A tool may not")

(defvar backstaff-emacs-find-symbol--stopped nil
  "What the back end that is being asked wanted to do and may not, or nil.")

(defun backstaff-emacs-find-symbol--ask-xref (buffer position symbol what seconds finish)
  "Ask the xref back end of BUFFER for WHAT of SYMBOL, which stands at POSITION.
POSITION may be nil.  FINISH gets the places within SECONDS."
  (require 'xref)
  (pcase-let*
      ((backstaff-emacs-find-symbol--stopped nil)
       (`(,backend . ,items)
        (condition-case problem
            (with-timeout (seconds (backstaff-lisp-tools-fail
                                    "TIMEOUT" "The back end gave no answer within %s seconds"
                                    seconds))
              (backstaff-emacs-in buffer
                (backstaff-emacs-find-symbol--guarded
                 (lambda ()
                   (backstaff-emacs-find-symbol--items position symbol what)))))
          (backstaff-lisp-tools-failure (signal (car problem) (cdr problem)))
          (error
           (unless backstaff-emacs-find-symbol--stopped
             (backstaff-lisp-tools-fail "BACKEND_FAILED" "The back end failed: %s"
                                        (backstaff-names-prose
                                         (error-message-string problem))))))))
    (when backstaff-emacs-find-symbol--stopped
      (backstaff-lisp-tools-fail
       "NO_BACKEND" "No back end here: the one of this buffer would %s for an answer;\
 use %s" backstaff-emacs-find-symbol--stopped backstaff-emacs-find-symbol--search))
    (funcall finish (format "the xref back end %s" (backstaff-names-show
                                                     (format "%s" backend)))
             (mapcar #'backstaff-emacs-find-symbol--xref-place items))))

(defun backstaff-emacs-find-symbol--items (position symbol what)
  "Return the back end of the current buffer, and its items for WHAT of SYMBOL.
SYMBOL stands at POSITION, if that is non-nil."
  (let ((backend nil))
    (run-hook-wrapped 'xref-backend-functions
                      (lambda (function)
                        ;; It would visit a table of tags, and ask where that is.
                        (unless (eq function 'etags--xref-backend)
                          (setq backend (funcall function)))))
    (when (or (null backend)
              ;; Without a method of its own it would start grep.
              (and (eq what :references) (symbolp backend)
                   (not (cl-some (lambda (specializer)
                                   (cl-find-method 'xref-backend-references nil
                                                   (list specializer t)))
                                 `((eql ,backend) (eql ',backend))))))
      (backstaff-emacs-find-symbol--none
       (if (eq what :references) "that are used in this buffer" "of this buffer")))
    (when position (goto-char position))
    (let ((there (and position (xref-backend-identifier-at-point backend))))
      (cons backend
            (funcall (if (eq what :references) #'xref-backend-references
                       #'xref-backend-definitions)
                     ;; The back end may have put its properties on it.
                     backend (if (equal there symbol) there symbol))))))

(defun backstaff-emacs-find-symbol--guarded (function)
  "Call FUNCTION, but stop it before it visits a file or starts a program.
Both ask for a handler of file names, or are in Lisp.  A timer that runs while
FUNCTION waits may do as it likes."
  (let ((file-name-handler-alist
         (cons '("" . backstaff-emacs-find-symbol--file-handler) file-name-handler-alist)))
    (cl-letf* ((visit (symbol-function 'find-file-noselect))
               (connect (symbol-function 'open-network-stream))
               ((symbol-function 'find-file-noselect)
                (lambda (&rest arguments)
                  (backstaff-emacs-find-symbol--stop "visit a file")
                  (apply visit arguments)))
               ((symbol-function 'open-network-stream)
                (lambda (&rest arguments)
                  (backstaff-emacs-find-symbol--stop "connect to a host")
                  (apply connect arguments))))
      (funcall function))))

(defun backstaff-emacs-find-symbol--file-handler (operation &rest arguments)
  "Do OPERATION with ARGUMENTS for a file, if a tool may do that."
  (pcase operation
    ((or 'insert-file-contents 'file-local-copy)
     (backstaff-emacs-find-symbol--stop "read a file"))
    ;; Each process asks this for the directory to start in.
    ('unhandled-file-name-directory
     (backstaff-emacs-find-symbol--stop "start a program"))
    ((or 'write-region 'delete-file 'rename-file 'copy-file 'make-directory 'delete-directory)
     (backstaff-emacs-find-symbol--stop "change a file")))
  ;; Within an operation others may follow, and `load' is one of Emacs's own libraries.
  (let ((file-name-handler-alist
         (rassq-delete-all #'backstaff-emacs-find-symbol--file-handler
                           (copy-sequence file-name-handler-alist))))
    (apply operation arguments)))

(defun backstaff-emacs-find-symbol--stop (deed)
  "Stop the back end before it does DEED, unless a timer wants to do it."
  (unless (catch 'ours
            (mapbacktrace (lambda (_evaluated function &rest _)
                            (pcase function
                              ('timer-event-handler (throw 'ours t))
                              ('backstaff-emacs-find-symbol--guarded (throw 'ours nil))))))
    ;; The back end may catch the error and say that it found nothing.
    (setq backstaff-emacs-find-symbol--stopped deed)
    (signal 'backstaff-emacs-find-symbol-stopped (list deed))))

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

(defun backstaff-emacs-find-symbol--lines (call places)
  "Get the lines of PLACES and call the `:done' of CALL with the result.
CALL is a plist of what the result tells.  A place is (NAME LINE SUMMARY)."
  (let* ((roots (plist-get call :roots))
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
         (open 1)
         (close (lambda ()
                  (when (zerop (cl-decf open))
                    (funcall (plist-get call :done)
                             (backstaff-emacs-find-symbol--result
                              call (cl-remove-if (lambda (place) (plist-get place :outside))
                                                 shown)
                              (- (length within) (length shown))
                              (+ outside (cl-count-if (lambda (place)
                                                        (plist-get place :outside))
                                                      shown))))))))
    (dolist (place shown)
      (let ((buffer (cdr (assoc (plist-get place :path) files))))
        (cond (buffer (backstaff-emacs-find-symbol--line-of-buffer
                       place buffer (plist-get call :symbol)))
              ((plist-get place :line)
               (cl-incf open)
               (backstaff-emacs-find-symbol--line-of-file
                place (plist-get (plist-get call :context) :root) close)))))
    (funcall close)))

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

(defun backstaff-emacs-find-symbol--line-of-file (place root close)
  "Put the text of PLACE, below ROOT, into it, as the server reads it.
Then call CLOSE."
  (backstaff-server-call-async
   "workspace/read_file"
   (list (list :path (plist-get place :path) :start_line (plist-get place :line) :max_lines 1)
         (list :root (file-name-unquote root) :max-output-bytes 1000))
   :timeout backstaff-emacs-find-symbol--seconds
   :error-fn (lambda (_condition) (funcall close))
   :success-fn
   (lambda (reply)
     (if (equal (plist-get (plist-get reply :error) :code) "SANDBOX_VIOLATION")
         (plist-put place :outside t)
       (when (plist-get reply :ok)
         (let ((line (plist-get (plist-get reply :data) :content)))
           (plist-put place :text (substring line 0 (min 300 (length line)))))))
     (funcall close))))

(defun backstaff-emacs-find-symbol--result (call places more outside)
  "Return the result of CALL: PLACES, MORE that were not looked at, OUTSIDE ones."
  (let* ((limit (plist-get (plist-get call :context) :limit))
         (noun (if (eq (plist-get call :what) :references) "reference" "definition"))
         (total (+ (length places) more))
         (head (format "%s of %s, asked of %s in %s\n"
                       (if (zerop total) (format "No %s" noun)
                         (backstaff-emacs-plural total noun))
                       (backstaff-emacs-quote (plist-get call :symbol)) (plist-get call :by)
                       (backstaff-names-show (plist-get call :path))))
         (lines (backstaff-emacs-fitting
                 (mapcar (lambda (place)
                           (let ((text (plist-get place :text)) (line (plist-get place :line)))
                             (concat (backstaff-names-show (plist-get place :path))
                                     (and line (format ":%d" line))
                                     (and text (concat ": " (backstaff-names-prose text))))))
                         places)
                 (- limit (string-bytes head) 120)))
         (left (- total (length lines))))
    (list :text (concat head (mapconcat (lambda (line) (concat line "\n")) lines "")
                        (and (> left 0) (format "[%d more: use %s]\n" left
                                                backstaff-emacs-find-symbol--search))
                        (and (> outside 0)
                             (format "[%d outside the workspace left out]\n" outside))
                        (and (zerop total) (zerop outside)
                             (format "[%s may find more]\n"
                                     backstaff-emacs-find-symbol--search)))
          :truncated (> left 0)
          :data (list :places (seq-take places (length lines)) :total total
                      :outside outside :back-end (plist-get call :by)))))

(provide 'backstaff-emacs-find-symbol)
;;; backstaff-emacs-find-symbol.el ends here
