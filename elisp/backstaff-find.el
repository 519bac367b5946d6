;;; backstaff-find.el --- Visiting a file by a part of its name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-find-file' is a `completing-read' whose candidates are the files
;; that the server finds for the whole input, the best first.  Matching and ranking
;; are the server's, so a completion style of its own takes the answer as it is.
;; Whatever shows completions as you type shows these: Vertico, icomplete, fido.
;; Else TAB lists them, and RET visits the best.  A key ends the wait for an answer,
;; and another input supersedes the call.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-request)
(require 'backstaff-view)

(defcustom backstaff-find-limit 100
  "How many of the files that match are asked for."
  :type '(natnum :match (lambda (_widget value) (<= 1 value 1000)))
  :group 'backstaff)

(defvar backstaff-find-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "SPC") #'self-insert-command)
    (define-key map (kbd "?") #'self-insert-command)
    map)
  "Keymap of `backstaff-find-file', where a blank separates words.")

(defvar backstaff-find--history nil
  "What was looked for.")

;;;###autoload
(defun backstaff-find-file (file &optional root)
  "Visit FILE, a path below the project ROOT.
Interactively, look for it by a part of its name: the completions are the
files that match, the best first, without those that git ignores.  Letters
need not stand together, words not in their order; case counts only where
there is a capital letter.  Input that is no file's name visits the best match."
  (interactive (let ((root (backstaff-command-root)))
                 (list (backstaff-find--read root) root)))
  (let* ((root (or root (backstaff-command-root)))
         (name (concat root file)))
    ;; A link to a directory is found like a file.
    (or (backstaff-view-visit-file name nil root)
        (dired (backstaff-view-file-name name root)))))

(defun backstaff-find--read (root)
  "Ask for a file of the project ROOT and return its path below that."
  (let ((default-directory root)
        (paths (make-hash-table :test #'equal)) ; by their labels
        (minibuffer nil)
        (overlay nil)                   ; before the prompt
        (asked nil)                     ; the input that was asked for last
        (labels nil))                   ; the files that match it
    (cl-labels
        ((call (function input &rest arguments)
           ;; A label need not match the query that finds its file.
           (let ((query (gethash input paths input)))
             (apply function "workspace/search_files"
                    `(,@(if (string-blank-p query) '(:query "**" :kind "glob")
                          (list :query query :kind "fuzzy"))
                      :max_results ,backstaff-find-limit)
                    `(,@arguments (:root ,root)))))
         (take (reply)
           (let ((odd (backstaff-names-labels reply)))
             (setq labels (mapcar (lambda (file)
                                    (let ((label (gethash file odd file)))
                                      (puthash label file paths)
                                      label))
                                  (plist-get (plist-get reply :data) :files)))))
         (show (reply)
           (take reply)
           (let ((shown (length labels))
                 (total (or (plist-get (plist-get reply :data) :total) 0)))
             (overlay-put overlay 'before-string
                          (and (> total shown)
                               (propertize (format "%d of %d " shown total) 'face 'shadow)))
             (unless labels
               (message "%s" (backstaff-find--problem reply)))))
         (ask (input)
           (with-current-buffer minibuffer
             (unless (equal input asked)
               (backstaff-request-cancel)
               (setq asked input
                     labels nil)
               (call #'backstaff-request input #'show))
             (backstaff-request-wait))
           (copy-sequence labels))
         (await (input)
           (let ((reply (call #'backstaff-call input)))
             (or (take reply)
                 (user-error "%s" (backstaff-find--problem reply)))))
         (table (string predicate action)
           (pcase action
             ('metadata '(metadata (category . project-file)
                                   (display-sort-function . identity)
                                   (cycle-sort-function . identity)))
             (`(boundaries . ,_) nil)
             ('lambda (and (gethash string paths) t))
             (_ (let ((found (seq-filter (or predicate #'identity) (ask string))))
                  (cond (action found)
                        ((equal found (list string)) t)
                        (found string))))))
         (complete ()
           (unwind-protect
               (minibuffer-with-setup-hook
                   (:append (lambda ()
                              (setq minibuffer (current-buffer)
                                    overlay (make-overlay (point-min) (point-min)))
                              (setq-local completion-styles '(backstaff-find)
                                          completion-category-defaults nil
                                          completion-category-overrides nil)
                              (use-local-map (make-composed-keymap
                                              backstaff-find-map (current-local-map)))))
                 (completing-read "Find file: " #'table nil nil nil
                                  'backstaff-find--history))
             (when overlay
               (delete-overlay overlay)))))
      (let ((text (if (eq completing-read-function #'completing-read-default)
                      (complete)
                    ;; Ivy and Helm ask for candidates once, and narrow these.
                    (completing-read "Find file: " (await (read-string "Find file like: "))
                                     nil t))))
        (when (string-blank-p text)
          (user-error "Type a part of the name, or choose a file"))
        (gethash (cond ((gethash text paths) text)
                       ((and (equal text asked) labels) (car labels))
                       (t (car (await text))))
                 paths)))))

(defun backstaff-find--problem (reply)
  "Return why there is no file in REPLY."
  (if (plist-get reply :ok)
      (string-join (cons "No file matches"
                         ;; This says how a model is to ask for them.
                         (mapcar (apply-partially #'string-remove-suffix
                                                  ": include_ignored shows them")
                                 (plist-get (plist-get reply :data) :notes)))
                   "; ")
    (plist-get reply :text)))

(add-to-list 'completion-styles-alist
             '(backstaff-find backstaff-find--try backstaff-find--all
                              "Whatever the server of Backstaff finds."))

(defun backstaff-find--all (string table predicate _point)
  "Return all that matches STRING in TABLE with PREDICATE."
  ;; icomplete passes a list of completions on: these match already.
  (all-completions (if (functionp table) string "") table predicate))

(defun backstaff-find--try (string table predicate point)
  "Complete STRING in TABLE with PREDICATE only where one file matches.
POINT is passed on."
  (pcase (backstaff-find--all string table predicate point)
    ('nil nil)
    (`(,(pred (equal string))) t)
    (`(,only) (cons only (length only)))
    (_ (cons string (length string)))))

(provide 'backstaff-find)
;;; backstaff-find.el ends here
