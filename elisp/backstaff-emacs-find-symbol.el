;;; backstaff-emacs-find-symbol.el --- The tool emacs/find_symbol  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finds where a symbol is defined or used, by the xref back end of a buffer that visits a
;; file, which with eglot asks the language server:
;;
;;   2 definitions of 'frob', asked of eglot in src/a.py
;;   src/b.py:12: def frob(x):
;;   src/c.py:40: def frob(x, y):
;;   [1 outside the workspace left out]
;;
;; Emacs waits while the back end works, until the user types.  Unlike the other tools, this
;; one cannot promise that nothing else happens.  A back end may read files or start a
;; program for its answer.  Two that do more are not asked: that of tags tables, which asks
;; the user for one, and any but a language server's for references, because it may start
;; grep.  For a project on another host no back end is asked, because it would read that
;; host's files over the network.

;;; Code:

(require 'xref)
(require 'backstaff-emacs)

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

(defconst backstaff-emacs-find-symbol--seconds 2
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
         (symbol (plist-get arguments :symbol)))
    (cond ((or (string-blank-p symbol) (length> symbol 1000))
           (backstaff-lisp-tools-fail
            "INVALID_ARGUMENT" "Argument 'symbol' must have from 1 to 1000 characters"))
          ((file-remote-p (plist-get context :root))
           (backstaff-emacs-find-symbol--fail
            "NO_BACKEND" "No back end here: the project is on another host"))
          ((not open)
           (backstaff-emacs-find-symbol--fail
            "NOT_FOUND" "%s in Emacs, so nothing there knows it"
            (if (equal path "") "No file of the project is open"
              (format "File %s is not open" (backstaff-emacs-quote given))))))
    (pcase-let*
        ((references (equal (plist-get arguments :what) "references"))
         (`(,backend . ,items)
          (backstaff-emacs-find-symbol--ask symbol references (plist-get arguments :line) open))
         (`(,rows . ,outside) (backstaff-emacs-find-symbol--rows items roots files))
         (noun (if references "reference" "definition"))
         (search "workspace/regexp_search"))
      (backstaff-emacs-answer
       (plist-get context :limit) rows
       (lambda (places left)
         (list (format "%s of %s, asked of %s in %s"
                       (if rows (backstaff-emacs-plural (length rows) noun) (format "No %s" noun))
                       (backstaff-emacs-quote symbol) backend (backstaff-names-show (car open)))
               (list (and (> left 0) (concat (format "%d more" left)
                                             (backstaff-lisp-tools-hint ": use %s" search)))
                     (and (> outside 0) (format "%d outside the workspace left out" outside))
                     (unless items (backstaff-lisp-tools-hint "%s may find more" search)))
               (list :places places :total (length rows) :outside outside
                     :back-end (format "%s" backend))))
       :most 100))))

(defun backstaff-emacs-find-symbol--ask (symbol references line open)
  "Return a cons of the back end of a buffer and the items that it finds.
SYMBOL stands on LINE, or somewhere if that is nil.  OPEN is a cons of the path
and the buffer.  The items are places of the definition, or REFERENCES."
  (backstaff-emacs-in (cdr open)
    (goto-char (point-min))
    (forward-line (1- (or line 1)))
    (let* ((end (and line (line-end-position)))
           (found (or (re-search-forward (concat "\\_<" (regexp-quote symbol) "\\_>") end t)
                      (search-forward symbol end t)))
           (backend (xref-find-backend))
           (server (memq backend '(xref-lsp eglot)))
           (function (if references #'xref-backend-references #'xref-backend-definitions)))
      (cond ((and (not found) (or line server))
             (backstaff-emacs-find-symbol--fail
              "NOT_FOUND" "Symbol %s does not stand on line %s of %s: give the path of an open\
 file and a line that have it" (backstaff-emacs-quote symbol) (or line "1 or later")
 (backstaff-names-show (car open))))
            ((or (memq backend '(nil etags)) (and references (not server)))
             (backstaff-emacs-find-symbol--fail
              "NO_BACKEND" "No back end here: Emacs knows no way to find %s of this buffer"
              (if references "where symbols are used" "symbols"))))
      (when found (goto-char (match-beginning 0)))
      (pcase (condition-case problem
                 (while-no-input
                   (with-timeout (backstaff-emacs-find-symbol--seconds t)
                     ;; The back end may have put its properties on the symbol at point.
                     (let ((there (and found (xref-backend-identifier-at-point backend))))
                       (funcall function backend (if (equal there symbol) there symbol)))))
               (error (backstaff-lisp-tools-fail
                       "BACKEND_FAILED" "The back end failed: %s"
                       (backstaff-names-prose (error-message-string problem)))))
        ('t (backstaff-emacs-find-symbol--fail
             "TIMEOUT" "The user typed, or the back end gave no answer within %s seconds; try again"
             backstaff-emacs-find-symbol--seconds))
        (items (cons backend items))))))

(defun backstaff-emacs-find-symbol--rows (items roots files)
  "Return a cons of rows for ITEMS of xref and the number of those outside ROOTS.
FILES is an alist of paths and the buffers that visit them."
  (let ((outside 0) (rows nil)
        ;; The wait for the answer took no time of Emacs's.
        (backstaff-unsaved-deadline (and backstaff-unsaved-deadline (+ 0.02 (float-time)))))
    (while (and items (not (backstaff-emacs-late-p)))
      (let* ((item (pop items))
             (location (xref-item-location item))
             (name (xref-location-group location))
             (name (if (string-suffix-p ".elc" name) (substring name 0 -1) name))
             (path (and (string-prefix-p "/" name) (backstaff-unsaved-below name roots)
                        ;; A link that leads out of the root does not count.
                        (let ((file-name-handler-alist nil))
                          (backstaff-unsaved-below (file-truename name) roots))))
             (buffer (cdr (assoc path files)))
             ;; Lisp has no line until its file is visited.
             (line (or (and (not (xref-buffer-location-p location)) (xref-location-line location))
                       (and buffer
                            (backstaff-emacs-in buffer
                              (line-number-at-pos (xref-location-marker location) t)))))
             (text (string-limit (or (xref-item-summary item) "") 300)))
        (cond ((null path) (cl-incf outside))
              ((not (backstaff-emacs-secret-p (list name) roots))
               (push (cons (format "%s%s: %s" (backstaff-names-show path)
                                   (if line (format ":%d" line) "") (backstaff-names-prose text))
                           (list :path path :line line :text text))
                     rows)))))
    (cons (delete-dups (nreverse rows)) outside)))

(provide 'backstaff-emacs-find-symbol)
;;; backstaff-emacs-find-symbol.el ends here
