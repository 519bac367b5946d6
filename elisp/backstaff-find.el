;;; backstaff-find.el --- Visit a file by a part of its name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-find-file' is a `completing-read'.  The server finds the files that
;; match the input and ranks them, so a completion style of our own passes its answer
;; on unchanged.  Vertico, icomplete and fido show the files as you type.  Without
;; these, TAB lists them.  RET visits the best match.  A key ends the wait for an
;; answer, and new input cancels the call for the old input.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-view)

(defcustom backstaff-find-limit 100
  "The most files that `backstaff-find-file' offers, from 1 to 1000."
  :type '(natnum :match (lambda (_widget value) (<= 1 value 1000)))
  :group 'backstaff)

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
may stand between those of a word, and words may come in any order.  Case
counts for words with a capital letter.  RET after input that is not a file's
name visits the best match."
  (interactive (let ((root (backstaff-command-root)))
                 (list (backstaff-find--read root) root)))
  (let* ((root (or root (backstaff-command-root)))
         (name (concat root file)))
    ;; The server finds links to directories, too.
    (or (backstaff-view-visit-file name nil root)
        (dired (backstaff-view-file-name name root)))))

(defun backstaff-find--read (root)
  "Read a file of the project ROOT and return its path."
  (let ((default-directory root)
        (paths (make-hash-table :test #'equal)) ; by label
        (minibuffer nil)
        (overlay nil)                   ; shows counts before the prompt
        (requested nil)                 ; the last input sent to the server
        (labels nil))                   ; the labels of the files that match it
    (cl-labels
        ((search (function input &rest arguments)
           ;; A file need not match its own label.
           (let ((query (gethash input paths input)))
             (apply function "workspace/search_files"
                    `(,@(if (string-blank-p query) '(:query "**" :kind "glob")
                          (list :query query :kind "fuzzy"))
                      :max_results ,backstaff-find-limit)
                    `(,@arguments (:root ,root)))))
         (note (input reply)
           (let ((table (backstaff-names-labels reply)))
             (setq requested input
                   labels (cl-loop for file in (plist-get (plist-get reply :data) :files)
                                   for label = (gethash file table file)
                                   do (puthash label file paths)
                                   collect label))))
         (show (reply)
           (let ((shown (length (note requested reply)))
                 (total (or (plist-get (plist-get reply :data) :total) 0)))
             (overlay-put overlay 'before-string
                          (and (> total shown)
                               (propertize (format "%d of %d " shown total) 'face 'shadow)))
             (unless labels (message "%s" (backstaff-find--problem reply)))))
         (request-labels (input)
           (with-current-buffer minibuffer
             (unless (equal input requested)
               (backstaff-request-cancel)
               (setq requested input labels nil)
               (search #'backstaff-request input #'show))
             (backstaff-request-wait))
           (copy-sequence labels))
         (wait-for-labels (input)
           (let ((reply (search #'backstaff-call input)))
             (or (note input reply) (user-error "%s" (backstaff-find--problem reply)))))
         (choose (text)
           (when (string-blank-p text) (user-error "Type a part of the name, or choose a file"))
           (gethash (cond ((gethash text paths) text)
                          ((and (equal text requested) labels) (car labels))
                          (t (car (wait-for-labels text))))
                    paths))
         (table (string predicate action)
           (pcase action
             ('metadata '(metadata (category . project-file)
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
                       ;; <down> would insert a file that does not match.
                       minibuffer-default-add-function nil)
           (use-local-map (make-composed-keymap (copy-keymap backstaff-find-map)
                                                (current-local-map)))
           (local-set-key [remap exit-minibuffer] #'exit))
         (exit ()
           (interactive)
           (when (backstaff-request-cancel) (setq requested nil))
           ;; The prompt shows an error until the next key, and stays open.
           (setq-local minibuffer-message-timeout nil)
           (choose (minibuffer-contents-no-properties))
           (exit-minibuffer)))
      (choose (if (eq completing-read-function #'completing-read-default)
                  (minibuffer-with-setup-hook (:append #'set-up)
                    (completing-read "Find file: " #'table nil nil nil
                                     'backstaff-find--history))
                ;; Ivy and Helm fetch candidates once and filter them.
                (completing-read "Find file: "
                                 (wait-for-labels (read-string "Find file like: "))
                                 nil t))))))

(defun backstaff-find--problem (reply)
  "Return the reason why REPLY has no files."
  (if (plist-get reply :ok)
      (string-join (cons "No file matches"
                         ;; The rest of the note names an argument for models.
                         (mapcar (apply-partially #'string-remove-suffix
                                                  ": include_ignored shows them")
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

(provide 'backstaff-find)
;;; backstaff-find.el ends here
