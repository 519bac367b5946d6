;;; backstaff-list.el --- Listings of directories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-list-directory' shows what is in a directory, the way Agent-Q's
;; tool tells it; `backstaff-list-entries' the way Forge's does, recursively if
;; it is asked to.  Both are tables that sort by any column, and in both one can
;; go on: down, up, to the tree, to a file.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-table)
(require 'backstaff-view)

(declare-function bookmark-prop-get "bookmark" (bookmark-name-or-record prop))

(defvar backstaff-list-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'backstaff-list-visit)
    (define-key map (kbd "o") #'backstaff-list-visit-other-window)
    (define-key map (kbd "^") #'backstaff-view-up)
    (define-key map (kbd ".") #'backstaff-view-toggle-hidden)
    (define-key map (kbd "+") #'backstaff-list-more)
    (define-key map (kbd "=") #'backstaff-view-info)
    (define-key map (kbd "t") #'backstaff-list-tree)
    (define-key map (kbd "w") #'backstaff-view-copy-path)
    (define-key map (kbd "S") #'backstaff-table-sort)
    (define-key map [remap keyboard-quit] #'backstaff-view-quit)
    map)
  "Keymap of `backstaff-list-mode'.")

(defconst backstaff-list--format
  `[("Name" 20 backstaff-list--name-less-p)
    ("Type" 6 t)
    ("Size" 7 ,(backstaff-table-less-p :size) :right-align t :pad-right 2)
    ("Modified" 16 ,(backstaff-table-less-p :modified))]
  "The columns of a listing.")

(defconst backstaff-list--other-columns 36
  "How much of a line is not the name's.")

(define-derived-mode backstaff-list-mode tabulated-list-mode "Listing"
  "Major mode for the files and directories in a directory.
RET visits the file at point, or shows the directory at point in this
buffer.

\\{backstaff-list-mode-map}"
  :group 'backstaff
  (backstaff-view-setup :request #'backstaff-list--request
                        :draw #'backstaff-list--draw
                        :title #'backstaff-list--title)
  (backstaff-table-setup backstaff-list--format)
  (setq tabulated-list-sort-key (cons "Name" nil))
  (setq-local bookmark-make-record-function #'backstaff-list--bookmark))

;;;###autoload
(defun backstaff-list-directory (directory)
  "Show the files and directories in DIRECTORY.
Nothing is followed out of the project that DIRECTORY is in.  With a prefix
argument take the root of the project without asking."
  (interactive (list (backstaff-list--read-directory current-prefix-arg)))
  (backstaff-list--open directory "agent-q/list_directory"))

;;;###autoload
(defun backstaff-list-entries (directory &optional recursive)
  "Show the entries of DIRECTORY, of the directories in it too if RECURSIVE.
The listing is Forge's: it ends at a number of entries and at a depth that
the settings of the server say.  With a prefix argument it is recursive."
  (interactive (list (backstaff-list--read-directory nil) current-prefix-arg))
  (backstaff-list--open directory "forge/list_directory"
                        :recursive (and recursive t)))

(defun backstaff-list--read-directory (root)
  "Ask for a directory; or return the root of the project if ROOT is non-nil."
  (if root (backstaff-command-root)
    (backstaff-read-directory "List directory: ")))

(defun backstaff-list--open (directory tool &rest more)
  "Show what TOOL tells of DIRECTORY; MORE is the rest of the state."
  (let ((root (backstaff-command-root (file-name-as-directory directory))))
    (apply #'backstaff-list-open root (backstaff-view-relative root directory)
           :tool tool more)))

(defun backstaff-list-open (root path &rest more)
  "Show what is in the directory PATH below ROOT; MORE is the rest of the state."
  (backstaff-view-open 'backstaff-list-mode `(:root ,root :path ,path ,@more)
                       (list :tool "agent-q/list_directory"
                             :hidden backstaff-show-hidden)))

(defun backstaff-list--title (state)
  "Return the name of a buffer that shows STATE."
  (backstaff-view-title (if (backstaff-list--forge-p state) "entries" "list")
                        state))


;;; Calls

(defconst backstaff-list--usual-bytes (* 1024 1024)
  "How many bytes of text a listing may have if nobody asks for more.")

(defconst backstaff-list--most-bytes (* 12 1024 1024)
  "How many bytes of text may be asked for.
A little more fits in one answer, and no listing is as long.")

(defun backstaff-list--forge-p (state)
  "Return non-nil if the tool of STATE is Forge's."
  (equal (plist-get state :tool) "forge/list_directory"))

(defun backstaff-list--request (state)
  "Return the tool, the arguments and the context that STATE stands for."
  (let ((bytes (list :max-output-bytes (or (plist-get state :bytes)
                                           backstaff-list--usual-bytes))))
    (if (backstaff-list--forge-p state)
        (list (plist-get state :tool) (backstaff-list--forge-arguments state)
              bytes)
      (list (plist-get state :tool)
            (list :path (plist-get state :path)
                  :show_hidden (plist-get state :hidden))
            bytes))))

(defun backstaff-list--forge-arguments (state)
  "Return the arguments of Forge's tool that STATE stands for."
  `(:path ,(backstaff-list--forge-path (plist-get state :path))
    :recursive ,(plist-get state :recursive)
    :include_hidden ,(plist-get state :hidden)
    :include_other t))

(defun backstaff-list--forge-path (path)
  "Return PATH as Forge's tool takes it.
It strips blanks off the ends of what it is given: there they are no ends."
  (if (equal path ".") path (concat "./" path "/")))


;;; Entries

(defun backstaff-list--entries (data)
  "Return the entries in DATA, of either tool, in one form."
  (let ((directory (plist-get backstaff-view-state :path)))
    (mapcar (if (backstaff-list--forge-p backstaff-view-state)
                (apply-partially #'backstaff-list--forge-entry directory)
              (apply-partially #'backstaff-list--agent-q-entry directory))
            (plist-get data :entries))))

(defun backstaff-list--agent-q-entry (directory entry)
  "Return ENTRY, which Agent-Q's tool found in DIRECTORY, in our form."
  (let ((name (plist-get entry :name))
        (kind (plist-get entry :kind)))
    (list :name name
          :path (backstaff-view-child directory name)
          :kind kind
          :size (and (not (eq kind :directory)) (plist-get entry :size))
          :modified (plist-get entry :modified)
          :target (plist-get entry :target))))

(defun backstaff-list--forge-entry (directory entry)
  "Return ENTRY, which Forge's tool found below DIRECTORY, in our form."
  (let ((path (plist-get entry :path))
        (type (plist-get entry :type))
        (milliseconds (plist-get entry :modified-epoch-ms)))
    (list :name path
          :path (backstaff-view-child directory path)
          :kind (if (eq type :dir) :directory type)
          :size (plist-get entry :size-bytes)
          :modified (and milliseconds (floor milliseconds 1000))
          :problem (plist-get entry :error))))

(defun backstaff-list--name-less-p (one other)
  "Return non-nil if the row ONE comes before OTHER, sorted by name.
Directories come first, upside down too, unless the listing is recursive:
there each stands before what is in it."
  (let ((directory (eq (plist-get (car one) :kind) :directory)))
    (cond ((or (plist-get backstaff-view-state :recursive)
               (eq directory (eq (plist-get (car other) :kind) :directory)))
           (backstaff-table-name-less-p one other))
          ;; Upside down we are called with the rows exchanged.
          ((cdr tabulated-list-sort-key) (not directory))
          (t directory))))


;;; Drawing

(defun backstaff-list--draw (reply)
  "Draw the listing in REPLY."
  (let* ((data (plist-get reply :data))
         (rows (mapcar #'backstaff-list--row (backstaff-list--entries data))))
    (backstaff-table-set-width
     0 (backstaff-table-fitting-width
        (mapcar (lambda (row) (aref (cadr row) 0)) rows)
        20 backstaff-list--other-columns))
    (backstaff-table-draw (backstaff-list--sorted rows))
    (backstaff-list--tell data rows (plist-get reply :warnings))))

(defun backstaff-list--sorted (rows)
  "Return ROWS in the order that the table has."
  (if (and (equal tabulated-list-sort-key '("Name"))
           (not (backstaff-list--forge-p backstaff-view-state)))
      ;; As they come.
      rows
    (backstaff-table-sorted rows)))

(defun backstaff-list--row (entry)
  "Return the row of a table that stands for ENTRY."
  (list entry (vector (backstaff-list--name-cell entry)
                      (backstaff-list--type (plist-get entry :kind))
                      (backstaff-table-size (plist-get entry :size))
                      (or (plist-get entry :problem)
                          (backstaff-table-time (plist-get entry :modified))))))

(defun backstaff-list--name-cell (entry)
  "Return the name of ENTRY as the table shows it."
  (let* ((kind (plist-get entry :kind))
         (target (plist-get entry :target))
         (name (propertize (backstaff-names-show (plist-get entry :name))
                           'face (backstaff-view-kind-face kind)
                           'backstaff-name t)))
    (cond (target (concat name (propertize
                                (concat " -> " (backstaff-names-show target))
                                'face 'backstaff-detail)))
          ((memq kind '(:directory :symlink))
           (concat name (backstaff-view-kind-suffix kind)))
          (t name))))

(defun backstaff-list--type (kind)
  "Return the word for KIND."
  (pcase kind
    (:directory "dir")
    (:symlink "link")
    (:character-device "char")
    (:block-device "block")
    (:unknown "?")
    (_ (substring (symbol-name kind) 1))))

(defun backstaff-list--tell (data rows warnings)
  "Tell around ROWS what DATA say of the whole, and WARNINGS."
  (let ((hidden (plist-get backstaff-view-state :hidden))
        (left-out (backstaff-list--left-out data)))
    (backstaff-view-set-header
     (plist-get backstaff-view-state :path)
     (and left-out "CUT")
     (backstaff-list--counts data rows)
     (and (plist-get backstaff-view-state :recursive) "recursive")
     (if hidden "hidden shown" "hidden off"))
    (backstaff-view-set-notes
     (append (and (null rows)
                  (list (if hidden "Nothing is in here"
                          (substitute-command-keys
                           "Nothing to show; \\[backstaff-view-toggle-hidden]\
 shows what is hidden"))))
             (and left-out (list left-out))
             warnings))))

(defun backstaff-list--counts (data rows)
  "Return a text that counts what DATA, shown as ROWS, tell of."
  (let* ((all (length rows))
         (counted (cl-count :directory rows
                            :key (lambda (row) (plist-get (car row) :kind))))
         (directories (or (plist-get data :directories) counted))
         (files (or (plist-get data :files) (- all counted))))
    (string-join
     (list (or (backstaff-view-count files "file" "files") "no file")
           (or (backstaff-view-count directories "directory" "directories")
               "no directory"))
     ", ")))

(defun backstaff-list--left-out (data)
  "Return a line that says what DATA leave out and how to see it, or nil."
  (let* ((shown (length (plist-get data :entries)))
         (total (plist-get data :total)))
    (when (or (plist-get data :truncated) (and total (< shown total)))
      (substitute-command-keys
       (if total
           (format "… %d of %d left out: \\[backstaff-list-more] asks for more"
                   (- total shown) total)
         (backstaff-list--stopped shown (plist-get data :truncated-reason)))))))

(defun backstaff-list--stopped (shown reason)
  "Return a line that says that Forge's listing stopped at SHOWN for REASON."
  (concat (format "… stopped at %d entries: " shown)
          (if (eq reason :max-entries)
              "the server's settings allow no more (max_entries under\
 [tools.list_directory])"
            "\\[backstaff-list-more] asks for more")
          ", \\[backstaff-list-visit] on a directory starts there"))


;;; Commands

(defun backstaff-list-visit (&optional other-window)
  "Visit the file at point, or show the directory at point in this buffer.
Visit it in another window if OTHER-WINDOW is non-nil."
  (interactive nil backstaff-list-mode)
  (let ((entry (backstaff-view-some-entry))
        (path (backstaff-view-entry-path)))
    (or (backstaff-view-visit path (plist-get entry :kind) other-window)
        (let ((state (backstaff-view-with :path path :bytes nil)))
          (if (eq (plist-get entry :kind) :symlink)
              ;; It may lead out of the project.
              (backstaff-view-try state)
            (backstaff-view-ask state))))))

(defun backstaff-list-visit-other-window ()
  "Visit the file at point in another window."
  (interactive nil backstaff-list-mode)
  (backstaff-list-visit t))

(defun backstaff-list-tree ()
  "Show the directory as a tree."
  (interactive nil backstaff-list-mode)
  (backstaff-tree-open (plist-get backstaff-view-state :root)
                       (plist-get backstaff-view-state :path)
                       :hidden (plist-get backstaff-view-state :hidden)))

(defun backstaff-list-more ()
  "Ask for more of a listing that was cut."
  (interactive nil backstaff-list-mode)
  (let ((data (plist-get backstaff-view-reply :data)))
    (unless (backstaff-list--left-out data)
      (user-error "All is shown"))
    (when (eq (plist-get data :truncated-reason) :max-entries)
      (user-error "The server's settings allow no more: raise max_entries under\
 [tools.list_directory] in %s, then M-x backstaff-restart"
                  (abbreviate-file-name (backstaff-server-settings-file-name))))
    (backstaff-list--ask-for-bytes)))

(defun backstaff-list--ask-for-bytes ()
  "Ask for the same listing with room for more."
  (let ((bytes (or (plist-get backstaff-view-state :bytes)
                   backstaff-list--usual-bytes)))
    (when (>= bytes backstaff-list--most-bytes)
      (user-error "No answer can hold more"))
    (backstaff-view-try
     (backstaff-view-with :bytes (min (* 4 bytes)
                                      backstaff-list--most-bytes)))))


;;; Bookmarks

(defun backstaff-list--bookmark ()
  "Return a bookmark of this listing."
  (backstaff-view-bookmark #'backstaff-list-jump))

;;;###autoload
(defun backstaff-list-jump (bookmark)
  "Show the listing that BOOKMARK stands for."
  (set-buffer (backstaff-view-buffer
               'backstaff-list-mode
               (bookmark-prop-get bookmark 'backstaff-state))))

(provide 'backstaff-list)
;;; backstaff-list.el ends here
