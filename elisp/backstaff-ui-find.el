;;; backstaff-ui-find.el --- Find a file by parts of its path  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server finds the candidates for the input and ranks them, so a completion style of our own
;; passes them on unchanged.  Vertico, icomplete and fido show the candidates as you
;; type; a key ends the wait for the answer to the old input.  Without these, TAB lists the
;; candidates.  `backstaff-find-read' is for files and for definitions.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-prompt)

(declare-function consult--dynamic-collection "ext:consult" t t)
(declare-function consult--grep-state "ext:consult" t)
(declare-function consult--lookup-member "ext:consult" t)
(declare-function consult--read "ext:consult" t)

(defconst backstaff-find--limit 100
  "Maximum number of files that `backstaff-find-file' offers.")

(defconst backstaff-find--guesses
  '( :same "In another case" :spelling "Spelt in another way"
     :folder "In another directory" :words "With some of the words")
  "The title above the files that do not match, by the way they were found.")

(defvar backstaff-find--history nil
  "The inputs of `backstaff-find-file'.")

(defun backstaff-find-read (prompt answer history &rest metadata)
  "Ask with PROMPT for a candidate that the server finds, and return it.
ANSWER is called with the input, and returns a list of candidates, the best
first, or a string that says why there is none.  A candidate is a string.  If
its property `backstaff-query' is not nil, ANSWER gets this instead when the
candidate is the input.  RET after other input returns the best candidate, and
after blank input nil.  HISTORY is the variable of the history.  METADATA are
more completion metadata, such as (category . file)."
  (let ((known (make-hash-table :test #'equal)) (answered nil) (candidates nil) (problem nil))
    (cl-labels
        ((tell ()
           ;; An error would throw away the keys that were typed behind it.
           (when problem (ignore (message "%s" problem))))
         (candidates (input)
           (unless (equal input answered)
             (setq answered nil)
             (let* ((old (gethash input known))
                    (answer (funcall answer (or (and old (get-text-property 0 'backstaff-query old))
                                                input))))
               (setq candidates (and (listp answer) answer)
                     problem (and (stringp answer) answer))
               (dolist (candidate candidates)
                 (puthash (substring-no-properties candidate) candidate known))
               (tell)
               (setq answered input)))
           (copy-sequence candidates))
         (table (string _predicate action)
           (pcase action
             ('metadata `(metadata (display-sort-function . identity)
                                   (cycle-sort-function . identity) ,@metadata))
             (`(boundaries . ,_) nil)
             ('t (candidates string))
             ;; RET takes any input that some candidate matches.  After such an input the first
             ;; TAB would list nothing.
             ('lambda (and (not (string-blank-p string))
                           (not (eq this-command 'completion-at-point)) ; TAB
                           (if (candidates string) t (tell))))
             (_ (and (candidates string) string))))
         (set-up ()
           (setq-local completion-styles '(backstaff-find)
                       completion-category-defaults nil
                       completion-category-overrides nil
                       completions-group t
                       ;; [No match] would cover the reason.
                       completion-fail-discreetly t
                       ;; <down> would insert a candidate that does not match.
                       minibuffer-default-add-function nil)
           (backstaff-prompt-allow-blanks)))
      (let* ((completion-styles-alist
              (cons '(backstaff-find backstaff-find--try backstaff-find--all
                                     "All candidates that the server of Backstaff finds.")
                    completion-styles-alist))
             (text (minibuffer-with-setup-hook (:append #'set-up)
                     ;; Ivy and Helm would match anew, and need all candidates for that.
                     (completing-read-default prompt #'table nil t nil history))))
        (cond ((gethash text known))
              ((not (string-blank-p text)) (car (candidates text))))))))

(defun backstaff-find--all (string table predicate _point)
  "Return all completions of STRING in TABLE that satisfy PREDICATE."
  ;; icomplete passes a list of completions, which match already.
  (all-completions (if (functionp table) string "") table predicate))

(defun backstaff-find--try (string table predicate point)
  "Complete STRING in TABLE if one candidate matches and satisfies PREDICATE.
POINT is as in `completion-try-completion'."
  (pcase (backstaff-find--all string table predicate point)
    ('nil nil)
    (`(,(pred (equal string))) t)
    (`(,only) (cons only (length only)))
    (_ (cons string (length string)))))

(defun backstaff-find-line (path line text)
  "Return LINE of PATH with TEXT as a candidate such as \"src/a.py:4:TEXT\".
It has the faces by which `consult-grep' and Embark know its parts."
  (concat (propertize path 'face 'consult-file 'consult--prefix-group path) ":"
          (propertize (number-to-string line) 'face 'consult-line-number) ":"
          (backstaff-names-text text)))

(defun backstaff-find-with-consult (prompt root answer history &rest options)
  "Ask with PROMPT for a `backstaff-find-line', and show each in its file.
ANSWER and HISTORY are as in `backstaff-find-read'.  The files are below ROOT.
OPTIONS are those of `consult--read', which like all functions for Consult's
asynchronous commands has no public name."
  (let ((default-directory root))
    (apply #'consult--read
           (consult--dynamic-collection
            (lambda (input)
              (let ((candidates (funcall answer input)))
                (if (listp candidates) candidates (ignore (message "%s" candidates))))))
           :prompt prompt :history history :category 'consult-grep :require-match t :sort nil
           :lookup #'consult--lookup-member :state (consult--grep-state)
           :add-history (backstaff-prompt-default) options)))


;;; Files

;;;###autoload
(defun backstaff-find-file (file &optional root)
  "Visit FILE, a path below the project ROOT.
Interactively, find it by a part of its name.  The completions are the files
that match, the best first; files that git ignores are omitted.  Other letters
may stand between those of a word, and words may come in any order: \"sfp\"
finds search_files.py.  If few files match, similar names follow in groups of
their own.  RET after input that is not a file's name visits the best match.
Before any input, recently visited files come first, and RET visits the last."
  (interactive (let ((root (backstaff-command-project)))
                 (list (backstaff-find--read-file root) root)))
  (let* ((root (or root (backstaff-command-root)))
         (name (concat root file)))
    ;; The server also finds links to directories.
    (or (backstaff-path-visit name root)
        (dired (backstaff-path-file-name name root)))))

(defun backstaff-find--read-file (root)
  "Read a file of the project ROOT and return its path."
  (let* ((recent (backstaff-find--recent root)) (total 0)
         (answer
          (lambda (input)
            (pcase-let*
                ((blank (string-blank-p input))
                 ((map :ok :text :data)
                  (backstaff-prompt-call-tool
                   "workspace/search_files"
                   (list :query (if blank "**" input) :kind (if blank "glob" "fuzzy")
                         :max_results backstaff-find--limit)
                   (list :root root)))
                 ;; The server knows only the files that were saved.
                 (more (cl-loop for file in recent
                                when (or blank (and (get-file-buffer (concat root file))
                                                    (not (file-exists-p (concat root file)))
                                                    (cl-loop for word in (split-string input)
                                                             always (string-search word file))))
                                collect file)))
              (setq total (or (plist-get data :total) 0))
              (or (cl-loop for file in (append more (seq-difference (plist-get data :files) more))
                           for how = (unless more (plist-get data :how)) then (cdr how)
                           collect (propertize (backstaff-names-show file) 'backstaff-query file
                                               'backstaff-how (car how)))
                  (if ok
                      ;; The remedy of a note names an argument for models.
                      (mapconcat (lambda (note) (plist-get note :text))
                                 (cons '(:text "No file matches") (plist-get data :notes)) "; ")
                    (string-remove-prefix "Error: " text))))))
         (group (lambda (label transform)
                  (cond (transform label)
                        ((plist-get backstaff-find--guesses
                                    (get-text-property 0 'backstaff-how label)))
                        ((> total backstaff-find--limit)
                         (format "The first %d of %d" backstaff-find--limit total)))))
         (file (backstaff-find-read
                (if (or (bound-and-true-p vertico-mode) (bound-and-true-p icomplete-mode)
                        (bound-and-true-p fido-mode))
                    "Find file: "
                  (format-prompt "Find file; TAB lists" (car recent)))
                answer 'backstaff-find--history
                '(category . project-file) (cons 'group-function group))))
    (cond (file (get-text-property 0 'backstaff-query file))
          ((car recent))
          (t (user-error "Type a part of the name, or choose a file")))))

(defun backstaff-find--recent (root)
  "Return the paths of the last 20 files visited below ROOT.
The current file is not one of them; a new file that is not saved yet is."
  (seq-take
   (delete-dups
    (cl-loop for name in (append (mapcar #'buffer-file-name (buffer-list))
                                 (bound-and-true-p recentf-list))
             for file = (and name (if (string-prefix-p "~" name) (expand-file-name name) name))
             for path = (cond ((or (null file) (equal file buffer-file-name)) nil)
                              ((string-prefix-p root file) (substring file (length root)))
                              ;; The root, or the file, may have been reached by a link.
                              ((not (or (file-remote-p root) (file-remote-p file)))
                               (backstaff-path-relative root file)))
             when (and path (not (string-prefix-p "/" path))
                       ;; Another host would take long to look.
                       (or (file-remote-p root) (get-file-buffer file) (file-exists-p file)))
             collect path))
   20))

(provide 'backstaff-ui-find)
;;; backstaff-ui-find.el ends here
