;;; backstaff-ui-xref.el --- Definitions and uses of a name, without an index  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server finds definitions in the text of a project's files, unsaved text included,
;; without tags or a language server.  `backstaff-xref-mode' gives them to xref, and
;; `backstaff-find-definition' completes a name and calls xref with it.

;;; Code:

(require 'xref)
(require 'backstaff-ui-find)

(declare-function consult-xref--preview "ext:consult-xref" (display))

(defconst backstaff-xref--limit 500
  "Maximum number of definitions or uses in one answer of the server.")

(defconst backstaff-xref--prose '("adoc" "md" "org" "rst" "texi" "txt")
  "Extensions of files of prose, whose headings and words follow all code.")

(defvar backstaff-xref--history nil "The names of definitions that the user typed.")

;;; The search for definitions

(defun backstaff-xref--search (root pattern flags &rest arguments)
  "Return the data of a search in ROOT for PATTERN with FLAGS and ARGUMENTS."
  (pcase-let (((map :ok :data :text)
               (backstaff-view-wait-for
                "workspace/regexp_search"
                `( :pattern ,pattern :flags ,flags :context_lines 0
                   :max_results ,backstaff-xref--limit ,@arguments)
                root)))
    (if ok data (user-error "%s" (string-remove-prefix "Error: " text)))))

(defun backstaff-xref--rank (word name path)
  "Return how well the definition NAME in the file PATH answers to WORD.
The best is 0: the name is WORD.  Headings of prose follow all code."
  (let ((last (or (car (last (split-string name "[.:#/]" t))) "")) (case-fold-search nil))
    (+ (if (member (file-name-extension path) backstaff-xref--prose) 10 0)
       (cond ((equal (downcase word) (downcase last)) 0)
             ((string-prefix-p word last t) 1)
             ;; "Name" begins a word in getName.
             ((string-match-p (format "\\(?:\\b\\|_\\)%s\\|[a-z0-9]%s" (regexp-quote word)
                                      (regexp-quote (upcase-initials word)))
                              name)
              2)
             (t 3)))))

(defun backstaff-xref--definitions (root text)
  "Return the definitions in ROOT whose names have the words of TEXT.
The last word is in the name itself, and the others may be in the names around
it: both \"server run\" and \"Server.run\" find Server.run.  Each is a plist
\=(:rank :name :path :line :column :match :line-text), the best first."
  (when-let* ((words (split-string text "[ \t]+\\|\\.\\|::" t)) (word (car (last words))))
    (let* ((case-fold-search (isearch-no-upper-case-p text nil))
           (flags (if case-fold-search "i" ""))
           (data (backstaff-xref--search root word flags :literal t :definitions t))
           (data (if (not (plist-get data :next-offset)) data
                   ;; Of very many, those that begin with the word are the better half.
                   (backstaff-xref--search root (concat "\\b" (backstaff-view-quote-regexp word))
                                           flags :definitions t))))
      (cl-sort
       (cl-loop
        for item in (plist-get data :items)
        for name = (or (plist-get (plist-get item :enclosing) :qualified) "")
        ;; Other words of the line may match, such as a parameter.
        when (cl-loop for word in words always (string-match-p (regexp-quote word) name))
        collect `( :name ,name
                   ;; A heading may have several words.
                   :rank ,(if (equal name text) 0 (backstaff-xref--rank word name (plist-get item :path)))
                   ,@item))
       #'< :key (lambda (definition) (plist-get definition :rank))))))

;;; The backend of xref

;;;###autoload
(define-minor-mode backstaff-xref-mode
  "Let xref find definitions and uses in any project, by their text.
Then \\[xref-find-definitions], \\[xref-find-references] and
\\[xref-find-apropos] need neither tags nor a language server.
Eglot, Emacs Lisp and other modes with a backend of their own keep it, and so
does a table of tags that you have visited."
  :global t :group 'backstaff :package-version '(backstaff . "0.1.0")
  (if backstaff-xref-mode (add-hook 'xref-backend-functions #'backstaff-xref--backend)
    (remove-hook 'xref-backend-functions #'backstaff-xref--backend)))

(defun backstaff-xref--backend ()
  "Return `backstaff' in a project whose files the server can see, or else nil."
  (unless (or tags-file-name tags-table-list)
    (ignore-error backstaff-error
      (and (backstaff-project-p (backstaff-root)) 'backstaff))))

(defun backstaff-xref--make-all (root places)
  "Return the xrefs of PLACES, matches in the project ROOT, one for each line."
  (mapcar (pcase-lambda ((map :path :line :column :match :line-text))
            (xref-make-match (backstaff-names-text (or line-text ""))
                             (xref-make-file-location
                              (backstaff-view-file-name (concat root path) root) line
                              (1- (or column 1)))
                             (length match)))
          (cl-remove-duplicates places :test #'equal :from-end t
                                :key (pcase-lambda ((map :path :line)) (list path line)))))

(cl-defmethod xref-backend-identifier-completion-table ((_backend (eql backstaff)))
  "Return no names: `backstaff-find-definition' completes them."
  nil)

(cl-defmethod xref-backend-definitions ((_backend (eql backstaff)) identifier)
  "Return the definitions whose name is IDENTIFIER.
A heading counts where nothing else has the name."
  (let* ((root (backstaff-root)) (all (backstaff-xref--definitions root identifier))
         (best (plist-get (car all) :rank)))
    (when (member best '(0 10))
      (backstaff-xref--make-all
       root (seq-filter (lambda (one) (equal best (plist-get one :rank))) all)))))

(cl-defmethod xref-backend-references ((_backend (eql backstaff)) identifier)
  "Return the matches of IDENTIFIER as a word, those in prose last."
  (let* ((root (backstaff-root)) (cut nil)
         (pattern (format "(?<!\\w)%s(?!\\w)" (backstaff-view-quote-regexp identifier)))
         (prose (mapcar (apply-partially #'concat "**/*.") backstaff-xref--prose))
         (uses (cl-loop for files in '(:exclude :include)
                        for data = (backstaff-xref--search root pattern "" files prose)
                        when (plist-get data :next-offset) do (setq cut t)
                        append (plist-get data :items))))
    (when cut
      (message "Only the first %d uses are shown; M-x backstaff-search shows all"
               backstaff-xref--limit))
    (backstaff-xref--make-all root uses)))

(cl-defmethod xref-backend-apropos ((_backend (eql backstaff)) pattern)
  "Return the definitions that have the words of PATTERN in their names."
  (let ((root (backstaff-root)))
    (backstaff-xref--make-all root (backstaff-xref--definitions root pattern))))

;;; A name with completion

;;;###autoload
(defun backstaff-find-definition (name)
  "Visit the definition of NAME in the project.
Interactively, complete the name; RET takes the first, which is the best.  Of
several words the last is in the name itself, and the others may be in the names
around it: \"server run\" finds Server.run.  Case counts only for a capital
letter.  If several definitions have the name, xref lists them.  With Consult
you see each in its file; see `backstaff-use-consult'.  \\`M-,' returns to the
place that you leave."
  (interactive (list (backstaff-xref--read (backstaff-command-root))))
  (let ((xref-backend-functions (list (lambda () 'backstaff))))
    (xref-find-definitions name)))

(defun backstaff-xref--read (root)
  "Read the name of a definition in the project ROOT."
  (let* ((default (backstaff-view-default-input))
         (consult (and (backstaff-view-consult-p) (require 'consult-xref)
                       (consult-xref--preview #'switch-to-buffer)))
         (definition (apply-partially #'get-text-property 0 'backstaff-definition)))
    (substring-no-properties
     (backstaff-find-read
      (format-prompt "Definition" default) default
      (lambda (input)
        (backstaff-xref--candidates (if (string-blank-p input) (or default "") input) root))
      'backstaff-xref--history 'identifier
      :annotate (lambda (name)
                  (pcase-let (((map :path :line) (funcall definition name)))
                    (propertize (format "  %s:%d" (backstaff-names-show path) line)
                                'face 'completions-annotations)))
      :state (and consult
                  (lambda (action name)
                    (funcall consult action
                             (and name (car (backstaff-xref--make-all
                                             root (list (funcall definition name))))))))))))

(defun backstaff-xref--candidates (text root)
  "Return the names of definitions in ROOT that TEXT finds, or why there is none."
  (condition-case problem
      (or (delete-dups
           (mapcar (lambda (definition)
                     (propertize (plist-get definition :name) 'backstaff-definition definition))
                   (backstaff-xref--definitions root text)))
          (format "No definition in the files searched has %s in its name" text))
    (user-error (cadr problem))))

(provide 'backstaff-ui-xref)
;;; backstaff-ui-xref.el ends here
