;;; backstaff-ui-list.el --- Listings of directories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-list-directory' shows the entries of a directory, as Agent-Q's tool
;; lists them.  The server sorts.  A listing shows 1,000 rows at first, and 1,000 more with each +.
;; They are drawn in pieces.  Between two pieces Emacs reads the keys that the user types.

;;; Code:

(require 'backstaff-ui-view)

(defconst backstaff-list--page 1000
  "Number of rows that a new listing has at most, and + adds.")

(defconst backstaff-list--piece 250
  "Number of rows that are drawn at once.")

(defconst backstaff-list--bytes #x18000
  "Maximum bytes of text of a reply by name, some 2,500 entries; others follow it.
In another order there is one reply, which may be twice as long.")

(defvar backstaff-list-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map (make-composed-keymap backstaff-view-map tabulated-list-mode-map))
    (define-key map (kbd "S") #'backstaff-list-sort)
    (define-key map [remap tabulated-list-col-sort] #'backstaff-list-sort)
    (define-key map (kbd ".") #'backstaff-view-toggle-hidden)
    (define-key map (kbd "+") #'backstaff-list-more)
    (define-key map (kbd "t") #'backstaff-view-list-or-tree)
    map)
  "Keymap of `backstaff-list-mode'.")

(defvar-local backstaff-list--waiting nil
  "The entries of the last reply that are not drawn.")

;;;###autoload
(define-derived-mode backstaff-list-mode tabulated-list-mode "Listing"
  "Major mode for listings of a directory."
  (backstaff-view-setup
   :request
   (pcase-lambda ((map :path :hidden :order :after))
     (list "agent-q/list_directory"
           (list :path path :show_hidden hidden :sort_by (downcase (car order)))
           (list :after (or after "")
                 :max-output-bytes (* backstaff-list--bytes (if (equal order '("Name")) 1 2)))))
   :draw #'backstaff-list--draw
   :defaults (lambda () (list :order '("Name") :hidden backstaff-show-hidden))
   :open (lambda (entry) (list major-mode :path (plist-get entry :path))))
  (setq tabulated-list-padding 1
        ;; The server sorts, and a predicate that is always nil leaves its order alone.
        tabulated-list-format
        (vector (list "Name" 20 #'ignore) (list "Type" 6 nil)
                (list "Size" 7 #'ignore :right-align t :pad-right 2)
                (list "Modified" 16 #'ignore))))

;;;###autoload
(defun backstaff-list-directory (directory)
  "Show the files and directories in DIRECTORY.
Links that lead out of the project are not followed.  Interactively this is the
current directory, with point on the current file; with a prefix argument, ask."
  (interactive (list (backstaff-read-directory "List directory: " #'backstaff-directory)))
  (backstaff-view-open-directory 'backstaff-list-mode directory))

;;; Drawing

(defun backstaff-list--row (raw)
  "Return the entry and the cells for RAW, an entry in a reply."
  (pcase-let* (((map :name :kind :size :modified :target :error) raw)
               (`(,face ,suffix) (backstaff-view-kind kind)))
    (list (list :path (backstaff-path-child (plist-get backstaff-view-state :path) name)
                :name name :kind kind)
          (vector (concat (propertize (backstaff-names-show name) 'backstaff-name t 'face face)
                          (if target
                              (propertize (concat " -> " (backstaff-names-show target))
                                          'face 'shadow)
                            suffix))
                  (alist-get kind '((:directory . "dir") (:symlink . "link") (:unknown . "?")
                                    (:character-device . "char") (:block-device . "block"))
                             (substring (symbol-name kind) 1))
                  (if (and size (not (eq kind :directory))) (file-size-human-readable size) "")
                  (or error
                      (condition-case nil
                          (format-time-string "%Y-%m-%d %H:%M" modified)
                        (error (format "@%s" modified))))))))

(defun backstaff-list--draw (reply)
  "Draw the first rows of the listing in REPLY."
  (pcase-let* (((map :data :truncated) reply) ((map :entries) data)
               ((map :order :path) backstaff-view-state) (`(,column . ,reversed) order)
               (old tabulated-list-entries))
    (when (and reversed truncated)
      (message "Only a complete listing can be turned upside down; by name, it has all entries")
      (setq reversed nil)
      (setf (plist-get backstaff-view-state :order) (list column)))
    (setq tabulated-list-entries nil
          tabulated-list-sort-key (cons column reversed)
          backstaff-list--waiting
          (if (not reversed) entries
            ;; Directories stay first.
            (mapcan (lambda (group) (nreverse (cdr group)))
                    (seq-group-by (lambda (entry) (eq (plist-get entry :kind) :directory))
                                  entries))))
    ;; A listing keeps the pages that + has added.
    (backstaff-list--insert
     (if (equal path (backstaff-path-parent (or (plist-get (caar old) :path) "/")))
         (max (length old) backstaff-list--page)
       backstaff-list--page))))

(defun backstaff-list--insert (wanted)
  "Draw a piece of the rows that wait, and go on until WANTED rows are drawn."
  (let* ((inhibit-read-only t)
         ;; To collect garbage takes longer than to draw.
         (gc-cons-threshold (max gc-cons-threshold (* 32 1024 1024)))
         (rows (mapcar #'backstaff-list--row
                       (seq-take backstaff-list--waiting backstaff-list--piece))))
    (unless tabulated-list-entries
      (setf (nth 1 (aref tabulated-list-format 0))
            (max 20 (min (cl-loop for (_ cells) in (or rows '(("" [""])))
                                  maximize (string-width (aref cells 0)))
                         (- (window-body-width (get-buffer-window nil t)) 35))))
      (tabulated-list-init-header))
    (setq backstaff-list--waiting (nthcdr backstaff-list--piece backstaff-list--waiting)
          ;; A column that becomes wider draws them anew.
          tabulated-list-entries (nconc tabulated-list-entries rows))
    (with-silent-modifications
      (save-excursion
        (goto-char (point-max))
        (dolist (row rows)
          (apply #'tabulated-list-print-entry row))))
    (backstaff-list--describe)
    (backstaff-request-start
     (lambda (answer)
       (let ((timer (run-at-time 0 nil answer nil)))
         (lambda () (cancel-timer timer))))
     (lambda (_) (backstaff-list--go-on wanted)))))

(defun backstaff-list--go-on (wanted)
  "Draw more rows, if there are less than WANTED or a point waits for its row."
  (let ((shown (length tabulated-list-entries)) (end (point-max))
        (directory (plist-get backstaff-view-state :path)))
    (when (or (< shown wanted)
              ;; The file of point is looked for in 2,000 rows.  In a larger buffer, a garbage
              ;; collection between two pieces takes over 100 ms.
              (and (< shown 2000)
                   (cl-loop for (_ path) in backstaff-view-sought
                            thereis (and path (equal (backstaff-path-parent path) directory)))))
      (cond (backstaff-list--waiting
             (backstaff-list--insert wanted)
             (backstaff-view-go-to-sought end))
            ((and (backstaff-list--left) (backstaff-list--more-p))
             (pcase-let (((map :name :kind) (caar (last tabulated-list-entries))))
               (backstaff-view-call
                `(:after ,(concat name (and (eq kind :directory) "/")) ,@backstaff-view-state)
                (lambda (reply)
                  (setq backstaff-list--waiting (plist-get (plist-get reply :data) :entries))
                  (if backstaff-list--waiting (backstaff-list--go-on wanted)
                    (message "%s" (plist-get reply :text)))))))))))

(defun backstaff-list--left ()
  "Return the number of entries that are not shown, or nil."
  ;; A failed reply has no data.
  (let ((left (- (or (plist-get (plist-get backstaff-view-reply :data) :total) 0)
                 (length tabulated-list-entries))))
    (and (> left 0) left)))

(defun backstaff-list--describe ()
  "Write the counts into the mode line, and a note on entries that are not shown."
  (pcase-let (((map :files :directories) (plist-get backstaff-view-reply :data))
              (shown (length tabulated-list-entries)) (left (backstaff-list--left))
              (hidden (backstaff-view-get :hidden)))
    (setq mode-line-process
          (list "" 'backstaff-request-indicator
                ;; Links and the like count as files.
                (format " %s%d %s, %d %s, hidden %s" (if left "CUT, " "")
                        files (ngettext "file" "files" files)
                        directories (ngettext "directory" "directories" directories)
                        (if hidden "shown" "off"))))
    (backstaff-view-set-notes
     (substitute-command-keys
      (cond (left (format "… %d shown, %d more: %s" shown left
                          (if (backstaff-list--more-p) "\\[backstaff-list-more] shows more"
                            "Only the listing by name has all")))
            ((> shown 0) nil)
            (hidden "The directory is empty")
            (t "Nothing to show; \\[backstaff-view-toggle-hidden] shows hidden files"))))))

(defun backstaff-list--more-p ()
  "Return non-nil if + can show more rows."
  (or backstaff-list--waiting (equal (plist-get backstaff-view-state :order) '("Name"))))

(defun backstaff-list-more ()
  "Show the next thousand rows of a long listing."
  (interactive nil backstaff-list-mode)
  (unless (backstaff-list--left)
    (user-error "The listing is complete"))
  (unless (backstaff-list--more-p)
    (user-error "Only the listing by name has all"))
  ;; A page that is asked for replaces the one before.
  (backstaff-request-cancel)
  (backstaff-list--go-on (+ (length tabulated-list-entries) backstaff-list--page)))

(defun backstaff-list-sort (column &optional click)
  "Sort by the column at point, the largest or newest first.
Once more turns the order upside down.  With a numeric prefix argument COLUMN,
sort by that column; the first is 0.  CLICK is the place of a click on a
heading."
  (interactive (list current-prefix-arg
                     (and (mouse-event-p last-input-event) (event-start last-input-event))))
  (with-current-buffer (if click (window-buffer (posn-window click)) (current-buffer))
    (let ((name (cond (click (get-text-property (cdr (posn-string click))
                                                'tabulated-list-column-name
                                                (car (posn-string click))))
                      (column (car (elt (append tabulated-list-format nil)
                                        (prefix-numeric-value column))))
                      (t (get-text-property (point) 'tabulated-list-column-name))))
          (order (backstaff-view-get :order)))
      (unless (nth 2 (assoc name (append tabulated-list-format nil)))
        (user-error "Go to a name, size or time to sort by it, or type M-0, M-2 or M-3 before S"))
      (backstaff-view-change
       :order (cons name (and (equal name (car order)) (not (cdr order))))))))

(provide 'backstaff-ui-list)
;;; backstaff-ui-list.el ends here
