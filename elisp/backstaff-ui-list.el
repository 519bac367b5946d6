;;; backstaff-ui-list.el --- Listings of directories, and facts about files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-list-directory' shows the entries of a directory, as Agent-Q's tool
;; lists them.  `backstaff-list-entries' shows them as Forge's tool does, with
;; the directories below on request.  `backstaff-file-info' shows the type, size,
;; times and permissions of one, and whether a buffer has unsaved changes of it.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'subr-x)
(require 'backstaff-names)
(require 'backstaff-ui-table)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defvar backstaff-list-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map backstaff-table-map)
    (define-key map (kbd ".") #'backstaff-view-toggle-hidden)
    (define-key map (kbd "+") #'backstaff-list-more)
    (define-key map (kbd "t") #'backstaff-view-list-or-tree)
    map)
  "Keymap of `backstaff-list-mode'.")

(defconst backstaff-list--page-bytes (* 96 1024)
  "Bytes of text of a page, some 2,800 entries.
To read the answer takes Emacs a hundredth of a second.")

(defconst backstaff-list--forge-bytes (* 384 1024)
  "Bytes of text of a new listing of Forge's, which has no pages.")

(defconst backstaff-list--usual-rows 50000
  "The number of rows after which a listing asks for no more pages by itself.")

(defconst backstaff-list--most-bytes (* 12 1024 1024)
  "Bytes of text of a listing of Forge, at most; a reply has little more room.")

(defvar-local backstaff-list--data nil
  "The data of the last page.")

;;;###autoload
(define-derived-mode backstaff-list-mode tabulated-list-mode "Listing"
  "Major mode for listings of a directory.

\\{backstaff-list-mode-map}"
  :group 'backstaff
  (backstaff-table-setup
   :request
   (lambda (state)
     (let ((path (plist-get state :path))
           (hidden (plist-get state :hidden)))
       (list (plist-get state :tool)
             (if (backstaff-list--forge-p state)
                 ;; Forge's tool strips blanks from both ends of a path.  "./"
                 ;; and "/" protect those of a name.
                 `(:path ,(if (equal path ".") path (concat "./" path "/"))
                   :recursive ,(plist-get state :recursive)
                   :include_hidden ,hidden
                   :include_other t)
               `(:path ,path :show_hidden ,hidden))
             (if (backstaff-list--forge-p state)
                 (list :max-output-bytes (or (plist-get state :bytes)
                                             backstaff-list--forge-bytes))
               (list :max-output-bytes backstaff-list--page-bytes
                     :after (or (plist-get state :after) ""))))))
   :draw #'backstaff-list--draw
   :variables '(backstaff-list--data)
   :title (lambda (state)
            (backstaff-view-title (if (backstaff-list--forge-p state) "entries" "list")
                                  state))
   :defaults (lambda () (list :tool "agent-q/list_directory"
                              :hidden backstaff-show-hidden))
   :open (lambda (entry)
           (backstaff-view-move :path (plist-get entry :path) :bytes nil :rows nil
                                ;; A link may lead out of the project.
                                :try (eq (plist-get entry :kind) :symlink))))
  (setq tabulated-list-sort-key (list "Name")))

;;;###autoload
(defun backstaff-list-directory (directory)
  "Show the files and directories in DIRECTORY.
Links that lead out of the project are not followed.  With a prefix argument,
list the root of the project without asking."
  (interactive (list (if current-prefix-arg (backstaff-command-root)
                       (backstaff-read-directory "List directory: "))))
  (backstaff-view-open-file 'backstaff-list-mode (file-name-as-directory directory)
                            :tool "agent-q/list_directory"))

;;;###autoload
(defun backstaff-list-entries (directory &optional recursive)
  "Show the entries of DIRECTORY with the tool of Forge.
If RECURSIVE is non-nil, also show those of the directories below; this is
the prefix argument.  The server's settings limit their number and depth."
  (interactive (list (backstaff-read-directory "List directory: ")
                     current-prefix-arg))
  (backstaff-view-open-file 'backstaff-list-mode (file-name-as-directory directory)
                            :tool "forge/list_directory"
                            :recursive (and recursive t)))

(defun backstaff-list--forge-p (state)
  "Return non-nil if the tool of STATE is Forge's."
  (equal (plist-get state :tool) "forge/list_directory"))

(defun backstaff-list--rows (data)
  "Return a row for each entry in DATA, of Agent-Q's or Forge's reply."
  (mapcar
   (lambda (entry)
     (let* ((forge (plist-get entry :path))
            (kind (pcase (plist-get entry (if forge :type :kind))
                    (:dir :directory)
                    (kind kind)))
            (milliseconds (plist-get entry :modified-epoch-ms)))
       (make-backstaff-table-row
        :name (or forge (plist-get entry :name)) :kind kind
        :size (and (not (eq kind :directory)) (plist-get entry (if forge :size-bytes :size)))
        :modified (if milliseconds (floor milliseconds 1000) (plist-get entry :modified))
        :more (cl-loop for key in '(:target :error)
                       for value = (plist-get entry key)
                       when value append (list key value)))))
   (plist-get data :entries)))

(defun backstaff-list--cells (row)
  "Return the cells of ROW."
  (let* ((kind (backstaff-table-row-kind row)) (more (backstaff-table-row-more row))
         (target (plist-get more :target)))
    (list (concat (backstaff-table-name (backstaff-table-row-name row)
                                        (backstaff-view-kind-face kind))
                  (if target (propertize (concat " -> " (backstaff-view-label target))
                                         'face 'backstaff-detail)
                    (backstaff-view-kind-suffix kind)))
          (pcase kind
            (:directory "dir")
            (:symlink "link")
            (:character-device "char")
            (:block-device "block")
            (:unknown "?")
            (_ (substring (symbol-name kind) 1)))
          (backstaff-table-size (backstaff-table-row-size row))
          (or (plist-get more :error)
              (backstaff-table-time (backstaff-table-row-modified row))))))

(defun backstaff-list--name-less-p (one other)
  "Return non-nil if the row ONE comes before OTHER, sorted by name.
Directories come first, also in reverse order.  In a recursive listing they
come before their own entries."
  (cl-flet ((directory-p (row) (eq (backstaff-table-row-kind row) :directory)))
    (cond ((or (plist-get backstaff-view-state :recursive)
               (eq (directory-p one) (directory-p other)))
           (backstaff-table-name-less-p one other))
          ;; In reverse order `tabulated-list-mode' exchanges the rows.
          ((cdr tabulated-list-sort-key) (directory-p other))
          (t (directory-p one)))))

(defun backstaff-list--draw (reply)
  "Draw the listing in REPLY, and ask for the next page if there is one."
  (setq backstaff-list--data (plist-get reply :data))
  (let ((rows (backstaff-list--rows backstaff-list--data)))
    (prog1 (backstaff-table-draw
            `[("Name" 20 backstaff-list--name-less-p)
              ("Type" 6 ,(backstaff-table-text-less-p 1))
              ("Size" 7 ,(backstaff-table-less-p #'backstaff-table-row-size)
               :right-align t :pad-right 2)
              ("Modified" 16 ,(backstaff-table-less-p #'backstaff-table-row-modified))]
            #'backstaff-list--cells rows
            :total (backstaff-list--to-come (length rows))
            :key (unless (backstaff-list--forge-p backstaff-view-state) (list "Name"))
            :after #'backstaff-list--describe)
      (when (backstaff-table-busy-p)
        (backstaff-list--describe))
      (backstaff-list--fetch))))

(defun backstaff-list--to-come (count)
  "Return how many rows there will be if COUNT have come, or nil if these are all."
  (let ((total (plist-get backstaff-list--data :total))
        (most (or (backstaff-view-get :rows) backstaff-list--usual-rows)))
    (and total (plist-get backstaff-list--data :entries)
         (< count (min total most))
         (min total most))))

(defun backstaff-list--fetch ()
  "Request the page behind the last one and add it to the listing, if there is one."
  (when (backstaff-list--to-come (backstaff-table-count))
    (let ((last (car (last (plist-get backstaff-list--data :entries)))))
      (backstaff-view-call
       (map-merge 'plist backstaff-view-state
                  (list :after (concat (plist-get last :name)
                                       (and (eq (plist-get last :kind) :directory) "/"))))
       (lambda (reply)
         (if (not (plist-get reply :ok))
             (progn (message "%s" (plist-get reply :text))
                    (backstaff-table-add nil nil))
           (setq backstaff-list--data (plist-get reply :data))
           (backstaff-names-labels reply backstaff-view-labels)
           (let ((rows (backstaff-list--rows backstaff-list--data)))
             (backstaff-table-add
              rows (backstaff-list--to-come (+ (backstaff-table-count) (length rows))))
             (backstaff-list--fetch))))))))

(defun backstaff-list--describe ()
  "Write the header line and the notes of the listing."
  (let* ((data backstaff-list--data)
         (shown (backstaff-table-count))
         (hidden (backstaff-view-get :hidden))
         (left-out (unless (backstaff-table-busy-p) (backstaff-list--left-out)))
         (directories (or (plist-get data :directories)
                          (cl-count :dir (plist-get data :entries)
                                    :key (lambda (entry) (plist-get entry :type)))))
         (links (backstaff-table-count :symlink))
         ;; The tools count all that is no directory as a file.
         (files (- (or (plist-get data :files) (- shown directories)) links)))
    (backstaff-view-set-header
     (backstaff-view-get :path)
     (and left-out "CUT")
     (string-join
      (delq nil (list (or (backstaff-view-count files "file" "files") "no file")
                      (backstaff-view-count links "link" "links")
                      (or (backstaff-view-count directories "directory" "directories")
                          "no directory")))
      ", ")
     (and (backstaff-view-get :recursive) "recursive")
     (if hidden "hidden shown" "hidden off"))
    (backstaff-view-set-notes
     (cond ((> shown 0) nil)
           (hidden "The directory is empty")
           (t (substitute-command-keys "Nothing to show; \\[backstaff-view-toggle-hidden]\
 shows hidden files")))
     left-out)))

(defun backstaff-list--left-out ()
  "Return a note on the entries that are not shown and how to see them, or nil."
  (let* ((data backstaff-list--data)
         (shown (- (backstaff-table-count) (backstaff-table-undrawn)))
         (total (plist-get data :total)))
    (when (or (plist-get data :truncated) (and total (< shown total)))
      (substitute-command-keys
       (if total
           (format "… %d of %d left out: \\[backstaff-list-more] asks for more"
                   (- total shown) total)
         (format "… stopped at %d entries: %s, \\[backstaff-view-visit] on a\
 directory starts there" shown
                 (if (eq (plist-get data :truncated-reason) :max-entries)
                     "the server's settings allow no more (max_entries under\
 [tools.list_directory])"
                   "\\[backstaff-list-more] asks for more")))))))

(defun backstaff-list-more ()
  "Show more of a listing that was cut, or go on drawing it."
  (interactive nil backstaff-list-mode)
  (let ((data backstaff-list--data)
        (bytes (or (backstaff-view-get :bytes) backstaff-list--forge-bytes)))
    (cond
     ((backstaff-table-busy-p) (user-error "More is on its way; C-g stops it"))
     ((backstaff-table-go-on))
     ((not (backstaff-list--left-out))
      (user-error "The listing is complete"))
     ((backstaff-list--forge-p backstaff-view-state)
      (cond ((eq (plist-get data :truncated-reason) :max-entries)
             (user-error "The server's settings allow no more: raise max_entries under\
 [tools.list_directory] in %s, then M-x backstaff-restart"
                         (abbreviate-file-name (backstaff-server-settings-file-name))))
            ((>= bytes backstaff-list--most-bytes)
             (user-error "A reply has no room for more")))
      (backstaff-view-change :bytes (min (* 4 bytes) backstaff-list--most-bytes) :try t))
     (t
      (backstaff-view-change :rows (+ (backstaff-table-count) backstaff-list--usual-rows)
                             :try t)))))


;;; One file

(defvar backstaff-info-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "^") #'backstaff-info-list)
    map)
  "Keymap of `backstaff-info-mode'.")

;;;###autoload
(define-derived-mode backstaff-info-mode backstaff-view-mode "File-Info"
  "Major mode for the type, size and times of a file or directory.

\\{backstaff-info-mode-map}"
  :group 'backstaff
  (backstaff-view-setup
   :request (lambda (state)
              (list "agent-q/get_file_info" (list :path (plist-get state :path))))
   :draw (lambda (reply)
           (insert (substring-no-properties (plist-get reply :text)))
           (goto-char (point-min))
           (while (re-search-forward "^[A-Z][a-z]+:" nil t)
             (put-text-property (match-beginning 0) (match-end 0) 'face 'backstaff-path))
           (let ((path (plist-get backstaff-view-state :path)))
             (setq backstaff-view-subject
                   (list :path path :kind (plist-get (plist-get reply :data) :kind)))
             (backstaff-view-set-header path)))
   :draw-failure #'backstaff-info--draw-failure
   :title (apply-partially #'backstaff-view-title "info")
   :open (lambda (entry)
           (backstaff-view-switch 'backstaff-list-mode (plist-get entry :path)))))

(defun backstaff-info--draw-failure (reply)
  "Draw REPLY, a failure; for a link, add what the listing or the tree knows of it."
  (let* ((path (plist-get backstaff-view-state :path))
         (entry (plist-get backstaff-view-state :entry))
         (target (plist-get entry :target)))
    (when (and (eq (plist-get entry :kind) :symlink) (equal (plist-get entry :path) path))
      (insert (propertize "Link:" 'face 'backstaff-path) " " (backstaff-names-show path))
      (when target
        (insert "\n" (propertize "Leads to:" 'face 'backstaff-path) " "
                (backstaff-names-show target)))
      (insert "\n\nThe tools tell nothing of a file that is missing or outside of the project.\n\n")
      (setq backstaff-view-subject (list :path path :kind :symlink)))
    (save-excursion
      (backstaff-view-insert-text (plist-get reply :text) 'backstaff-failure))
    (backstaff-view-set-header path (if backstaff-view-subject "link" "failed"))))

;;;###autoload
(defun backstaff-file-info (file)
  "Show the type, size, times and permissions of FILE."
  (interactive
   (list (read-file-name
          (format-prompt "Describe file"
                         (and buffer-file-name
                              (backstaff-names-show
                               (file-name-nondirectory buffer-file-name))))
          (backstaff-directory) buffer-file-name t)))
  (let ((name (expand-file-name file)))
    ;; The root of a project belongs to it, not to a project around it.
    (backstaff-view-open-file 'backstaff-info-mode
                              (if (and (not (file-remote-p name)) (file-directory-p name))
                                  (file-name-as-directory name)
                                name))))

(defun backstaff-info-list ()
  "List the directory of the file."
  (interactive nil backstaff-info-mode)
  (backstaff-view-switch 'backstaff-list-mode
                         (or (backstaff-path-parent (backstaff-view-get :path)) ".")))

(provide 'backstaff-ui-list)
;;; backstaff-ui-list.el ends here
