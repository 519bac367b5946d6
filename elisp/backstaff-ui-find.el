;;; backstaff-ui-find.el --- Visit a file by a part of its name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-find-file' is a `completing-read'.  The server finds the files that
;; match the input and ranks them, so a completion style of our own passes its answer
;; on unchanged.  Vertico, icomplete and fido show the files as you type: the table
;; turns them away until the answer is there, and then calls them.  Without these,
;; TAB lists the files.  RET visits the best match.  New input cancels the call for
;; the old one.  Ivy and Helm filter candidates themselves, so they get all files.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defcustom backstaff-find-limit 100
  "The most files that `backstaff-find-file' offers, from 1 to 1000."
  :type '(natnum :match (lambda (_widget value) (<= 1 value 1000)))
  :group 'backstaff)

(defconst backstaff-find--most 20000
  "The most files for an interface that filters them itself.")
(defvar ivy-sort-functions-alist)
(defvar icomplete-compute-delay)

(defconst backstaff-find--guesses
  '(:same "other case" :case "other case" :spelling "other spelling" :folder "other directory"
    :words "some words")
  "What an interface shows beside a file that does not match, by how it was found.")

(defvar backstaff-find-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "SPC") #'self-insert-command)
    (define-key map (kbd "?") #'self-insert-command)
    map)
  "Keymap of `backstaff-find-file'.  Blanks separate words of the input.")

(defvar backstaff-find--history nil
  "The inputs of `backstaff-find-file'.")

;;;###autoload
(defun backstaff-find-file (file &optional root)
  "Visit FILE, a path below the project ROOT.
Interactively, find it by a part of its name.  The completions are the files
that match, the best first; files that git ignores are omitted.  Other letters
may stand between those of a word, and words may come in any order: \"sfp\"
finds search_files.py.  Where little matches, the files that may be meant
follow, with a word on each: a misspelt name, another case or directory, some
of the words.  RET after input that is not a file's
name visits the best match.  Before any input, files that were visited lately
come first.  Ivy and Helm match and rank the files in their own way."
  (interactive (let ((root (backstaff-command-project)))
                 (list (backstaff-find--read root) root)))
  (let* ((root (or root (backstaff-command-root)))
         (name (concat root file)))
    ;; The server finds links to directories, too.
    (or (backstaff-path-visit name root)
        (dired (backstaff-path-file-name name root)))))

(defun backstaff-find--read (root)
  "Read a file of the project ROOT and return its path."
  (let ((default-directory root)
        (recent (backstaff-find--recent root))
        (paths (make-hash-table :test #'equal)) ; by label
        (guesses (make-hash-table :test #'equal)) ; what to show beside a label
        (minibuffer nil)
        (overlay nil)                   ; shows counts before the prompt
        (requested nil)                 ; the last input sent to the server
        (answered nil)                  ; the last input with an answer
        (labels nil)                    ; the labels of the files that match it
        (turned-away nil))              ; whether an interface shall ask again
    (cl-labels
        ((search (function input limit offset &rest arguments)
           ;; A file need not match its own label.
           (let ((query (gethash input paths input)))
             (apply function "workspace/search_files"
                    `(,@(if (string-blank-p query) '(:query "**" :kind "glob")
                          (list :query query :kind "fuzzy"))
                      :max_results ,limit :offset ,offset)
                    `(,@arguments (:root ,root)))))
         (note (input reply)
           (let ((table (backstaff-names-labels reply))
                 (data (plist-get reply :data))
                 (lately (and (string-blank-p input) recent)))
             (clrhash guesses)
             (cl-loop for file in (plist-get data :files)
                      for how in (plist-get data :how)
                      for guess = (plist-get backstaff-find--guesses how)
                      when guess do (puthash (gethash file table file)
                                             (concat "  " guess) guesses))
             (setq requested input answered input
                   labels (cl-loop
                           for file in (append (and (eql (plist-get data :offset) 0) lately)
                                               (seq-difference (plist-get data :files) lately))
                           for label = (if (member file lately) (backstaff-names-show file)
                                         (gethash file table file))
                           do (puthash label file paths)
                           collect label))))
         (show (reply)
           (let ((shown (length (note requested reply)))
                 (total (or (plist-get (plist-get reply :data) :total) 0)))
             (overlay-put overlay 'before-string
                          (and (> total shown)
                               (propertize (format "%d of %d " shown total) 'face 'shadow)))
             (unless labels (tell (backstaff-find--problem reply)))
             (when-let ((window (and turned-away (get-buffer-window minibuffer t))))
               (setq turned-away nil)
               (with-selected-window window
                 (let ((icomplete-compute-delay 0))
                   (mapc #'funcall (remq t post-command-hook)))))))
         (tell (problem)
           ;; An error would throw away the keys that were typed behind it.
           (unless (equal problem "") (message "%s" problem)))
         (request-labels (input)
           (with-current-buffer minibuffer
             (let ((as-one-types throw-on-input)
                   ;; While this is non-nil, Emacs on a text terminal drops all but two
                   ;; of several keys that arrive together.
                   (throw-on-input nil))
               (unless (equal input requested)
                 (backstaff-request-cancel)
                 (setq requested input labels nil answered nil)
                 (search #'backstaff-request input backstaff-find-limit 0 #'show))
               (unless (equal input answered)
                 (when as-one-types
                   (setq turned-away t)
                   (throw as-one-types t))
                 (backstaff-request-wait))))
           (copy-sequence labels))
         (wait-for-labels (input limit offset)
           (let ((reply (search #'backstaff-prompt-call-tool
                                input limit offset)))
             (unless (or (note input reply) (> offset 0))
               (user-error "%s" (backstaff-find--problem reply)))
             (plist-get reply :data)))
         (choose (text)
           (when (string-blank-p text) (user-error "Type a part of the name, or choose a file"))
           (unless (or (gethash text paths) (and (equal text answered) labels))
             (wait-for-labels text backstaff-find-limit 0))
           (or (gethash text paths) (gethash (car labels) paths)))
         (table (string predicate action)
           (pcase action
             ('metadata `(metadata (category . project-file)
                                   (annotation-function
                                    . ,(lambda (label) (gethash label guesses)))
                                   (display-sort-function . identity)
                                   (cycle-sort-function . identity)))
             (`(boundaries . ,_) nil)
             ('lambda (and (gethash string paths) t))
             (_ (let ((found (seq-filter (or predicate #'identity) (request-labels string))))
                  (cond (action found)
                        ((equal found (list string)) t)
                        (found string))))))
         (set-up ()
           (setq minibuffer (current-buffer)
                 overlay (make-overlay (point-min) (point-min)))
           (add-hook 'minibuffer-exit-hook (lambda () (delete-overlay overlay)) nil t)
           (setq-local completion-styles '(backstaff-find)
                       completion-category-defaults nil
                       completion-category-overrides nil
                       ;; [No match] would cover the reason that `tell' shows.
                       completion-fail-discreetly t
                       ;; <down> would insert a file that does not match.
                       minibuffer-default-add-function nil)
           (let ((map (current-local-map)))
             (use-local-map (make-composed-keymap (copy-keymap backstaff-find-map) map))
             (dolist (command '(exit-minibuffer vertico-exit icomplete-fido-ret
                                icomplete-force-complete-and-exit))
               (local-set-key (vector 'remap command)
                              (lambda () (interactive)
                                (exit (or (command-remapping command nil map) command)))))))
         (exit (command)
           (when (backstaff-request-cancel) (setq requested nil))
           (let ((text (minibuffer-contents-no-properties)))
             (condition-case problem
                 ;; An interface that shows files may have one to visit before anything
                 ;; is typed.
                 (unless (and (string-blank-p text) (not (eq command #'exit-minibuffer)))
                   (choose text))
               ;; The prompt stays open.
               (user-error (tell (cadr problem)))
               (:success
                ;; Vertico then brings its files up to date.
                (setq this-command command)
                (mapc #'funcall (remq t pre-command-hook))
                (call-interactively command)))))
         (all-labels (input offset)
           (let* ((data (wait-for-labels input 1000 offset))
                  (total (plist-get data :total))
                  (next (plist-get data :next-offset)))
             (if (> total backstaff-find--most)
                 (all-labels (read-string
                              (format "%d files are too many; find file like: " total))
                             0)
               (append labels (and next (all-labels input next)))))))
      (choose (if (eq completing-read-function #'completing-read-default)
                  (minibuffer-with-setup-hook (:append #'set-up)
                    (completing-read (if (or (bound-and-true-p vertico-mode)
                                             (bound-and-true-p icomplete-mode)
                                             (bound-and-true-p fido-mode))
                                         "Find file: "
                                       "Find file (TAB lists): ")
                                     #'table nil nil nil 'backstaff-find--history))
                (let ((all (all-labels "" 0))
                      (ivy-sort-functions-alist nil))
                  (completing-read "Find file: "
                                   (lambda (string predicate action)
                                     (if (eq action 'metadata) (table string nil action)
                                       (complete-with-action action all string predicate)))
                                   nil t)))))))

(defun backstaff-find--recent (root)
  "Return the paths of 20 files below ROOT visited lately, but not the current one."
  (seq-take
   (delete-dups
    (cl-loop for name in (append (mapcar #'buffer-file-name (buffer-list))
                                 (bound-and-true-p recentf-list))
             for file = (and name (if (string-prefix-p "~" name) (expand-file-name name) name))
             when (and file (string-prefix-p root file) (not (equal file buffer-file-name))
                       ;; To look at a file on another host takes long.
                       (or (file-remote-p root) (file-exists-p file)))
             collect (substring file (length root))))
   20))

(defun backstaff-find--problem (reply)
  "Return the reason why REPLY has no files.
It is empty where there is no more to say than what icomplete says by itself."
  (if (plist-get reply :ok)
      (string-join
       (append
        ;; Fido, once it is off, leaves `icomplete-mode' on, so the hook decides.
        (unless (memq 'icomplete-minibuffer-setup minibuffer-setup-hook)
          '("No file matches"))
        ;; The remedy of a note names an argument for models.
        (mapcar (lambda (note) (plist-get note :text))
                (plist-get (plist-get reply :data) :notes)))
       "; ")
    (plist-get reply :text)))

(add-to-list 'completion-styles-alist
             '(backstaff-find backstaff-find--try backstaff-find--all
                              "All files that the server of Backstaff finds."))

(defun backstaff-find--all (string table predicate _point)
  "Return all completions of STRING in TABLE that satisfy PREDICATE."
  ;; icomplete passes a list of completions, which match already.
  (all-completions (if (functionp table) string "") table predicate))

(defun backstaff-find--try (string table predicate point)
  "Complete STRING in TABLE if one file matches and satisfies PREDICATE.
POINT is as in `completion-try-completion'."
  (pcase (backstaff-find--all string table predicate point)
    ('nil nil)
    (`(,(pred (equal string))) t)
    (`(,only) (cons only (length only)))
    (_ (cons string (length string)))))

(provide 'backstaff-ui-find)
;;; backstaff-ui-find.el ends here
