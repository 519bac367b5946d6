;;; backstaff-list.el --- Listings of directories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-list-directory' shows what is in a directory, as Agent-Q's tool
;; lists it; `backstaff-list-entries' as Forge's does, perhaps recursively.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-table)
(require 'backstaff-view)

(defvar backstaff-list-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map backstaff-table-map)
    (define-key map (kbd ".") #'backstaff-view-toggle-hidden)
    (define-key map (kbd "+") #'backstaff-list-more)
    (define-key map (kbd "t") #'backstaff-list-tree)
    map)
  "Keymap of `backstaff-list-mode'.")

(defconst backstaff-list--format
  `[("Name" 20 backstaff-list--name-less-p)
    ("Type" 6 t)
    ("Size" 7 ,(backstaff-table-less-p :size) :right-align t :pad-right 2)
    ("Modified" 16 ,(backstaff-table-less-p :modified))]
  "The columns of a listing.")

(defconst backstaff-list--usual-bytes (* 1024 1024)
  "How many bytes of text a listing may have if nobody asks for more.")

(defconst backstaff-list--most-bytes (* 12 1024 1024)
  "How many bytes of text may be asked for; little more fits in one answer.")

(define-derived-mode backstaff-list-mode tabulated-list-mode "Listing"
  "Major mode for the files and directories in a directory.

\\{backstaff-list-mode-map}"
  :group 'backstaff
  (backstaff-view-setup
   :request #'backstaff-list--request
   :draw #'backstaff-list--draw
   :title (lambda (state)
            (backstaff-view-title (if (backstaff-list--forge-p state) "entries" "list")
                                  state))
   :defaults (lambda () (list :tool "agent-q/list_directory"
                              :hidden backstaff-show-hidden))
   :open (lambda (entry)
           (backstaff-view-change :path (plist-get entry :path) :bytes nil
                                  ;; A link may lead out of the project.
                                  :try (eq (plist-get entry :kind) :symlink)))
   :bookmark 'backstaff-list-jump)
  (setq tabulated-list-sort-key (list "Name")))

;;;###autoload
(defun backstaff-list-directory (directory)
  "Show the files and directories in DIRECTORY.
Nothing is followed out of the project that DIRECTORY is in.  With a prefix
argument take the root of the project without asking."
  (interactive (list (if current-prefix-arg (backstaff-command-root)
                       (backstaff-read-directory "List directory: "))))
  (backstaff-view-open-file 'backstaff-list-mode (file-name-as-directory directory)
                            :tool "agent-q/list_directory"))

;;;###autoload
(defun backstaff-list-entries (directory &optional recursive)
  "Show the entries of DIRECTORY, of the directories in it too if RECURSIVE.
The listing is Forge's: the settings of the server limit the number of its
entries and its depth.  With a prefix argument it is recursive."
  (interactive (list (backstaff-read-directory "List directory: ")
                     current-prefix-arg))
  (backstaff-view-open-file 'backstaff-list-mode (file-name-as-directory directory)
                            :tool "forge/list_directory"
                            :recursive (and recursive t)))

;;;###autoload
(defun backstaff-list-jump (bookmark)
  "Show the listing that BOOKMARK stands for."
  (backstaff-view-jump 'backstaff-list-mode bookmark))

(defun backstaff-list--forge-p (state)
  "Return non-nil if the tool of STATE is Forge's."
  (equal (plist-get state :tool) "forge/list_directory"))

(defun backstaff-list--request (state)
  "Return the tool, the arguments and the context that STATE stands for."
  (let ((path (plist-get state :path))
        (hidden (plist-get state :hidden)))
    (list (plist-get state :tool)
          (if (backstaff-list--forge-p state)
              ;; Forge's tool strips blanks off the ends of a path: here they
              ;; are not at an end.
              `(:path ,(if (equal path ".") path (concat "./" path "/"))
                :recursive ,(plist-get state :recursive)
                :include_hidden ,hidden
                :include_other t)
            `(:path ,path :show_hidden ,hidden))
          (list :max-output-bytes (or (plist-get state :bytes)
                                      backstaff-list--usual-bytes)))))

(defun backstaff-list--entry (entry)
  "Return ENTRY, as either tool has it, in one form."
  (let* ((forge (plist-get entry :path))
         (name (or forge (plist-get entry :name)))
         (kind (plist-get entry (if forge :type :kind)))
         (milliseconds (plist-get entry :modified-epoch-ms)))
    (list :name name
          :path (backstaff-view-child (backstaff-view-get :path) name)
          :kind (if (eq kind :dir) :directory kind)
          :size (and (not (eq kind :directory))
                     (plist-get entry (if forge :size-bytes :size)))
          :modified (if milliseconds (floor milliseconds 1000)
                      (plist-get entry :modified))
          :target (plist-get entry :target)
          :problem (plist-get entry :error))))

(defun backstaff-list--row (entry)
  "Return the row of a table that stands for ENTRY."
  (let* ((kind (plist-get entry :kind))
         (target (plist-get entry :target))
         (suffix (if target (propertize (concat " -> " (backstaff-view-label target))
                                        'face 'backstaff-detail)
                   (backstaff-view-kind-suffix kind))))
    (list entry
          (vector
           (concat (backstaff-table-name (plist-get entry :name)
                                         (backstaff-view-kind-face kind))
                   suffix)
           (pcase kind
             (:directory "dir")
             (:symlink "link")
             (:character-device "char")
             (:block-device "block")
             (:unknown "?")
             (_ (substring (symbol-name kind) 1)))
           (backstaff-table-size (plist-get entry :size))
           (or (plist-get entry :problem)
               (backstaff-table-time (plist-get entry :modified)))))))

(defun backstaff-list--name-less-p (one other)
  "Return non-nil if the row ONE comes before OTHER, sorted by name.
Directories come first, upside down too, unless the listing is recursive:
there each stands before what is in it."
  (cl-flet ((directory-p (row) (eq (plist-get (car row) :kind) :directory)))
    (cond ((or (plist-get backstaff-view-state :recursive)
               (eq (directory-p one) (directory-p other)))
           (backstaff-table-name-less-p one other))
          ;; Upside down we are called with the rows exchanged.
          ((cdr tabulated-list-sort-key) (directory-p other))
          (t (directory-p one)))))

(defun backstaff-list--draw (reply)
  "Draw the listing in REPLY."
  (let* ((data (plist-get reply :data))
         (entries (mapcar #'backstaff-list--entry (plist-get data :entries)))
         (hidden (backstaff-view-get :hidden))
         (left-out (backstaff-list--left-out data))
         (directories (or (plist-get data :directories)
                          (cl-count :directory entries
                                    :key (lambda (entry) (plist-get entry :kind)))))
         (files (or (plist-get data :files) (- (length entries) directories))))
    (backstaff-table-draw backstaff-list--format (mapcar #'backstaff-list--row entries))
    (backstaff-view-set-header
     (backstaff-view-get :path)
     (and left-out "CUT")
     (concat (or (backstaff-view-count files "file" "files") "no file") ", "
             (or (backstaff-view-count directories "directory" "directories")
                 "no directory"))
     (and (backstaff-view-get :recursive) "recursive")
     (if hidden "hidden shown" "hidden off"))
    (backstaff-view-set-notes
     (cond (entries nil)
           (hidden "Nothing is in here")
           (t (substitute-command-keys "Nothing to show; \\[backstaff-view-toggle-hidden]\
 shows what is hidden")))
     left-out)))

(defun backstaff-list--left-out (data)
  "Return a line that says what DATA leave out and how to see it, or nil."
  (let ((shown (length (plist-get data :entries)))
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

(defun backstaff-list-tree ()
  "Show the directory as a tree."
  (interactive nil backstaff-list-mode)
  (backstaff-view-switch 'backstaff-tree-mode (backstaff-view-get :path)
                         :hidden (backstaff-view-get :hidden)))

(defun backstaff-list-more ()
  "Ask for more of a listing that was cut."
  (interactive nil backstaff-list-mode)
  (let ((data (plist-get backstaff-view-reply :data))
        (bytes (or (backstaff-view-get :bytes) backstaff-list--usual-bytes)))
    (cond ((not (backstaff-list--left-out data))
           (user-error "All is shown"))
          ((eq (plist-get data :truncated-reason) :max-entries)
           (user-error "The server's settings allow no more: raise max_entries under\
 [tools.list_directory] in %s, then M-x backstaff-restart"
                       (abbreviate-file-name (backstaff-server-settings-file-name))))
          ((>= bytes backstaff-list--most-bytes)
           (user-error "No answer can hold more")))
    (backstaff-view-change :bytes (min (* 4 bytes) backstaff-list--most-bytes)
                           :try t)))

(provide 'backstaff-list)
;;; backstaff-list.el ends here
