;;; backstaff-emacs-find-symbol.el --- The tool emacs/find_symbol  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finds where a symbol is defined or used, by the xref back end of a buffer that is open,
;; which with eglot asks the language server:
;;
;;   2 definitions of 'frob', asked of eglot in src/a.py
;;   src/b.py:12: def frob(x):
;;   src/c.py:40: def frob(x, y):
;;   [1 outside the workspace left out]
;;
;; Emacs waits while the back end works.  If the user types meanwhile, it is stopped, and
;; asked again half a second later.  It is also asked later while eglot has changes for the
;; language server, which eglot sends when Emacs is idle.
;;
;; Unlike the other tools, this one cannot promise that nothing else happens.  A back end
;; may read files or start a program for its answer.  Two that do more are not asked: that
;; of tags tables, which asks the user for one, and any but a language server's for
;; references, because it may start grep.  If a language server stops reading while
;; eglot sends it changes, the wait ends in the midst of that, and eglot may send the same
;; changes again later.
;;
;; For a project on another host no back end is asked, because it would read that host's
;; files over the network while Emacs waits.

;;; Code:

(require 'xref)
(require 'backstaff-emacs)

(declare-function eglot-current-server "ext:eglot" ())
(declare-function jsonrpc-connection-ready-p "jsonrpc" (connection what))

(defconst backstaff-emacs-find-symbol-tool
  '(:id "emacs/find_symbol"
    :description "Finds where a symbol is defined or used. Asks the back end that Emacs has for the language of an open file, such as a language server, which may read other files and, if it hangs, may get the user's last changes twice. For a project on another host, and where there is no back end, use workspace/regexp_search."
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

(defconst backstaff-emacs-find-symbol--seconds 5
  "Maximum number of seconds that a back end may take.")

(defun backstaff-emacs-find-symbol--fail (code format &rest values)
  "Fail with CODE and FORMAT with VALUES, and point to the search in texts."
  (backstaff-lisp-tools-fail
   code "%s" (concat (apply #'format format values)
                     (backstaff-lisp-tools-hint "; use %s" "workspace/regexp_search"))))

(defun backstaff-emacs-find-symbol--run (arguments context)
  "Do the work of emacs/find_symbol with ARGUMENTS in CONTEXT."
  (let* ((roots (backstaff-unsaved-roots (plist-get context :root)))
         (files (backstaff-emacs-buffers roots))
         (given (or (plist-get arguments :path) ""))
         (path (backstaff-emacs-argument-path given roots))
         ;; The root, which a form may give where nothing was typed, is no file.
         (open (if (equal path "") (car files) (assoc path files)))
         (symbol (plist-get arguments :symbol))
         (most 1000)                    ; Emacs refuses regexps of some ten thousand characters
         (seconds (min backstaff-emacs-find-symbol--seconds
                       (or (plist-get context :seconds) backstaff-emacs-find-symbol--seconds)))
         (late (lambda ()
                 (backstaff-emacs-find-symbol--fail
                  "TIMEOUT" "The back end gave no answer within %s seconds; try again" seconds))))
    (cond ((string-blank-p symbol)
           (backstaff-lisp-tools-fail "INVALID_ARGUMENT" "Argument 'symbol' must not be blank"))
          ((> (length symbol) most)
           (backstaff-lisp-tools-fail
            "INVALID_ARGUMENT" "Argument 'symbol' has %d characters, more than the %d allowed"
            (length symbol) most))
          ((file-remote-p (plist-get context :root))
           (backstaff-emacs-find-symbol--fail
            "NO_BACKEND" "No back end here: the project is on another host"))
          ((not open)
           (backstaff-emacs-find-symbol--fail
            "NOT_FOUND" "%s in Emacs, so nothing there knows it"
            (if (equal path "") "No file of the project is open"
              (format "File %s is not open" (backstaff-emacs-quote given))))))
    (condition-case problem
        (let ((result (while-no-input
                        (with-timeout (seconds (funcall late))
                          (or (with-current-buffer (cdr open)
                                (and (eq (xref-find-backend) 'eglot)
                                     (fboundp 'eglot-current-server)
                                     (not (jsonrpc-connection-ready-p (eglot-current-server)
                                                                      'xref))))
                              (backstaff-emacs-find-symbol--result
                               arguments open roots (plist-get context :limit)))))))
          ;; It is t if the user has typed, or if the language server lacks the last changes.
          (when (and (eq result t) (> (float-time) (+ (plist-get context :begun) seconds)))
            (funcall late))
          result)
      (backstaff-lisp-tools-failure (signal (car problem) (cdr problem)))
      (error (backstaff-lisp-tools-fail "BACKEND_FAILED" "The back end failed: %s"
                                        (backstaff-names-prose (error-message-string problem)))))))

(defun backstaff-emacs-find-symbol--items (symbol references line path)
  "Return a cons of the back end of the current buffer and the items it finds.
SYMBOL stands on LINE, or somewhere if that is nil, and PATH is the buffer's
file.  The items are places of its definition, or REFERENCES."
  (goto-char (point-min))
  (forward-line (1- (or line 1)))
  (let* ((end (and line (line-end-position)))
         (found (or (re-search-forward (concat "\\_<" (regexp-quote symbol) "\\_>") end t)
                    (search-forward symbol end t)))
         (backend (xref-find-backend))
         (server (memq backend '(xref-lsp eglot))))
    (cond
     (found (goto-char (match-beginning 0)))
     ((or line server)
      (backstaff-emacs-find-symbol--fail
       "NOT_FOUND" "Symbol %s does not stand on line %s of %s: give the path of an open file\
 and a line that have it" (backstaff-emacs-quote symbol) (or line "1 or later")
 (backstaff-names-show path))))
    (when (or (memq backend '(nil etags)) (and references (not server)))
      (backstaff-emacs-find-symbol--fail
       "NO_BACKEND" "No back end here: Emacs knows no way to find %s of this buffer"
       (if references "where symbols are used" "symbols")))
    (cons backend
          (let ((there (and found (xref-backend-identifier-at-point backend))))
            (funcall (if references #'xref-backend-references #'xref-backend-definitions)
                     ;; The back end may have put its properties on it.
                     backend (if (equal there symbol) there symbol))))))

(defun backstaff-emacs-find-symbol--result (arguments open roots limit)
  "Return the result of a call with ARGUMENTS, of at most LIMIT bytes.
OPEN has the path below ROOTS and the buffer of the file that is asked in."
  (pcase-let*
      ((symbol (plist-get arguments :symbol))
       (references (equal (plist-get arguments :what) "references"))
       (`(,backend . ,items) (backstaff-emacs-in (cdr open)
                               (backstaff-emacs-find-symbol--items
                                symbol references (plist-get arguments :line) (car open))))
       (outside 0)
       ;; The wait for the answer took no time of Emacs's.
       (backstaff-unsaved-deadline (and backstaff-unsaved-deadline (+ 0.02 (float-time))))
       (rows
        (cl-loop
         for item in items
         until (backstaff-emacs-late-p)
         for (name line) = (backstaff-emacs-find-symbol--place (xref-item-location item))
         ;; A link that leads out of the root does not count.
         for below = (and name (backstaff-unsaved-below name roots)
                          (let ((file-name-handler-alist nil))
                            (backstaff-unsaved-below (file-truename name) roots)))
         for text = (string-limit (or (xref-item-summary item) "") 300)
         if (null below) do (cl-incf outside)
         else unless (backstaff-emacs-secret-p (list name) roots)
         collect (cons (format "%s%s: %s" (backstaff-names-show below)
                               (if line (format ":%d" line) "") (backstaff-names-prose text))
                       (list :path below :line line :text text))))
       (rows (delete-dups rows))
       (by (if (eq backend 'eglot) "eglot"
             (format "the xref back end %s" (backstaff-names-show (format "%s" backend)))))
       (noun (if references "reference" "definition")))
    (backstaff-emacs-answer
     limit
     (format "%s of %s, asked of %s in %s"
             (if rows (backstaff-emacs-plural (length rows) noun) (format "No %s" noun))
             (backstaff-emacs-quote symbol) by (backstaff-names-show (car open)))
     rows
     :most 100
     :more (concat "%d more" (backstaff-lisp-tools-hint ": use %s" "workspace/regexp_search"))
     :notes (list (and (> outside 0) (format "%d outside the workspace left out" outside))
                  (unless items
                    (backstaff-lisp-tools-hint "%s may find more" "workspace/regexp_search")))
     :data (lambda (places)
             (list :places places :total (length rows) :outside outside :back-end by)))))

(defun backstaff-emacs-find-symbol--place (location)
  "Return the name of the file of LOCATION, of xref, and the line; both may be nil."
  (let* ((group (xref-location-group location))
         (name (and (stringp group) (string-prefix-p "/" group)
                    (if (string-suffix-p ".elc" group) (substring group 0 -1) group)))
         (line (unless (xref-buffer-location-p location) (xref-location-line location)))
         (buffer (cond (line nil)
                       ((xref-buffer-location-p location) (xref-buffer-location-buffer location))
                       ;; Where Lisp is defined, a search in its file says.
                       (name (get-file-buffer name)))))
    (if (null buffer) (list name line)
      (backstaff-emacs-in buffer
        (list (car (backstaff-unsaved-file-names (or (buffer-base-buffer) (current-buffer))))
              (line-number-at-pos (xref-location-marker location) t))))))

(provide 'backstaff-emacs-find-symbol)
;;; backstaff-emacs-find-symbol.el ends here
