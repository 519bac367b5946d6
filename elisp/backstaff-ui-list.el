;;; backstaff-ui-list.el --- Listings of directories  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-list-directory' shows the entries of a directory, as Agent-Q's tool
;; lists them.  `backstaff-list-entries' shows them as Forge's tool does, with
;; the directories below on request.
;;
;; The server sorts.  A listing shows 1,000 rows at first, and 1,000 more with each +.
;; They are drawn in pieces.  Between two pieces Emacs reads the keys that the user types.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'subr-x)
(require 'backstaff-names)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defcustom backstaff-time-format "%Y-%m-%d %H:%M"
  "Format of times in listings, as for `format-time-string'."
  :type '(choice (const :tag "2026-01-15 14:23" "%Y-%m-%d %H:%M")
                 (const :tag "15 Jan 2026" "%d %b %Y")
                 (string :tag "Format"))
  :group 'backstaff)

(defconst backstaff-list--page 1000
  "Number of rows that a new listing has at most, and + adds.")

(defconst backstaff-list--piece 250
  "Number of rows that are drawn at once.")

(defconst backstaff-list--most-sought 50000
  "Maximum number of rows that are drawn to reach the file that point goes to.")

(defconst backstaff-list--bytes '(:page #x18000 :whole #x30000 :forge #x60000)
  "Maximum bytes of text of a reply.
A page by name has about 2,800 entries, and the next page follows it.  In
another order there is one reply, with at most about 5,500 entries.")

(defvar backstaff-list-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map (make-composed-keymap backstaff-view-map tabulated-list-mode-map))
    (define-key map (kbd "S") #'backstaff-list-sort)
    (define-key map [remap tabulated-list-sort] #'backstaff-list-sort)
    (define-key map [remap tabulated-list-col-sort] #'backstaff-list-sort-by-click)
    (define-key map (kbd ".") #'backstaff-view-toggle-hidden)
    (define-key map (kbd "+") #'backstaff-list-more)
    (define-key map (kbd "t") #'backstaff-view-list-or-tree)
    map)
  "Keymap of `backstaff-list-mode'.")

(defvar-local backstaff-list--waiting nil
  "The entries of the last reply that are not drawn.")

(defvar-local backstaff-list--last nil
  "The last entry of the last reply.")

(defvar-local backstaff-list--shown 0
  "Number of rows that are drawn.")

(defvar-local backstaff-list--seeking nil
  "Non-nil while rows are drawn to reach the file that point goes to.")

;;;###autoload
(define-derived-mode backstaff-list-mode tabulated-list-mode "Listing"
  "Major mode for listings of a directory.

\\{backstaff-list-mode-map}"
  :group 'backstaff
  (backstaff-view-setup
   :request #'backstaff-list--request
   :draw #'backstaff-list--draw
   :title (lambda (state)
            (backstaff-view-title (if (backstaff-list--forge-p state) "entries" "list")
                                  state))
   :defaults (lambda () (list :tool "agent-q/list_directory" :sort "name"
                              :rows backstaff-list--page :hidden backstaff-show-hidden))
   :open (lambda (entry)
           (list major-mode :path (plist-get entry :path) :rows backstaff-list--page)))
  (setq tabulated-list-padding 1
        tabulated-list-format (vector (list "Name" 20 t) '("Type" 6 nil)
                                      '("Size" 7 t :right-align t :pad-right 2)
                                      '("Modified" 16 t))
        ;; A column that becomes wider draws the same rows anew.
        tabulated-list-entries
        (lambda ()
          (save-excursion
            (goto-char (point-min))
            (cl-loop until (eobp)
                     collect (list (tabulated-list-get-id) (tabulated-list-get-entry))
                     do (forward-line))))))

;;;###autoload
(defun backstaff-list-directory (directory)
  "Show the files and directories in DIRECTORY.
Links that lead out of the project are not followed.  Interactively this is the
current directory, with point on the current file; with a prefix argument, ask."
  (interactive (list (backstaff-list--read)))
  (backstaff-view-open-directory 'backstaff-list-mode directory
                                 :tool "agent-q/list_directory"))

;;;###autoload
(defun backstaff-list-entries (directory &optional recursive)
  "Show the entries of DIRECTORY with the tool of Forge.
If RECURSIVE is non-nil, also show those of the directories below; this is
the prefix argument, with which the command asks for the directory.  The
server's settings limit their number and depth."
  (interactive (list (backstaff-list--read) current-prefix-arg))
  (backstaff-view-open-directory 'backstaff-list-mode directory
                                 :tool "forge/list_directory"
                                 :recursive (and recursive t)))

(defun backstaff-list--read ()
  "Return the current directory, or with a prefix argument ask for one."
  (if current-prefix-arg (backstaff-read-directory "List directory: ")
    (backstaff-directory)))

(defun backstaff-list--forge-p (state)
  "Return non-nil if the tool of STATE is Forge's."
  (equal (plist-get state :tool) "forge/list_directory"))

(defun backstaff-list--paged-p (state)
  "Return non-nil if the server has pages of the listing of STATE."
  (and (equal (plist-get state :sort) "name") (not (plist-get state :reverse))
       (not (backstaff-list--forge-p state))))

(defun backstaff-list--request (state)
  "Return the call for STATE."
  (let ((path (plist-get state :path)) (hidden (plist-get state :hidden)))
    (if (backstaff-list--forge-p state)
        ;; Forge's tool strips blanks from both ends of a path.  "./" and "/"
        ;; protect those of a name.
        `("forge/list_directory"
          (:path ,(if (equal path ".") path (concat "./" path "/"))
           :recursive ,(plist-get state :recursive)
           :include_hidden ,hidden :include_other t)
          (:max-output-bytes ,(plist-get backstaff-list--bytes :forge)))
      `("agent-q/list_directory"
        (:path ,path :show_hidden ,hidden :sort_by ,(plist-get state :sort))
        (:max-output-bytes ,(plist-get backstaff-list--bytes
                                       (if (backstaff-list--paged-p state) :page :whole))
         :after ,(or (plist-get state :after) ""))))))


;;; Drawing

(defun backstaff-list--row (raw)
  "Return the entry and the cells for RAW, an entry in a reply of either tool."
  (let* ((forge (plist-get raw :path)) (name (or forge (plist-get raw :name)))
         (kind (pcase (plist-get raw (if forge :type :kind))
                 (:dir :directory)
                 (kind kind)))
         (size (and (not (eq kind :directory)) (plist-get raw (if forge :size-bytes :size))))
         (modified (if-let ((milliseconds (plist-get raw :modified-epoch-ms)))
                       (floor milliseconds 1000)
                     (plist-get raw :modified))))
    (list (list :path (backstaff-path-child (plist-get backstaff-view-state :path) name)
                :name name :kind kind)
          (vector (concat (propertize (backstaff-view-label name) 'backstaff-name t
                                      'face (backstaff-view-kind-face kind))
                          (if-let ((target (plist-get raw :target)))
                              (propertize (concat " -> " (backstaff-view-label target))
                                          'face 'shadow)
                            (backstaff-view-kind-suffix kind)))
                  (pcase kind
                    (:directory "dir")
                    (:symlink "link")
                    (:character-device "char")
                    (:block-device "block")
                    (:unknown "?")
                    (_ (substring (symbol-name kind) 1)))
                  (if size (file-size-human-readable size) "")
                  (or (plist-get raw :error)
                      (condition-case nil
                          (format-time-string backstaff-time-format modified)
                        (error (format "@%s" modified))))))))

(defun backstaff-list--draw (reply)
  "Draw the first rows of the listing in REPLY."
  (let* ((entries (plist-get (plist-get reply :data) :entries)) (state backstaff-view-state)
         (focus (plist-get state :focus))
         (room (- (window-body-width (get-buffer-window nil t)) 35))
         (widest (cl-loop for entry in entries repeat backstaff-list--page
                          for target = (plist-get entry :target)
                          maximize (+ (string-width (backstaff-view-label
                                                     (or (plist-get entry :path)
                                                         (plist-get entry :name))))
                                      (if target (+ 4 (string-width target)) 1)))))
    (when (plist-get state :reverse)
      ;; Directories stay first.
      (setq entries (mapcan (lambda (group) (nreverse (cdr group)))
                            (seq-group-by (lambda (entry) (eq (plist-get entry :kind) :directory))
                                          entries))))
    (setf (nth 1 (aref tabulated-list-format 0)) (max 20 (min (or widest 0) room)))
    (setq backstaff-list--shown 0
          backstaff-list--last (car (last entries))
          backstaff-list--waiting entries
          backstaff-list--seeking (and focus (equal (backstaff-path-parent focus)
                                                    (plist-get state :path))))
    ;; The rows come sorted.
    (let ((tabulated-list-sort-key
           (and (not (backstaff-list--forge-p state))
                (cons (capitalize (plist-get state :sort)) (plist-get state :reverse)))))
      (tabulated-list-init-header))
    (backstaff-list--go-on)))

(defun backstaff-list--go-on ()
  "Draw a piece of the rows that wait, and arrange for the next piece."
  (let* ((end (point-max)) (inhibit-read-only t)
         ;; To collect garbage takes longer than to draw a piece.
         (gc-cons-threshold (max gc-cons-threshold (* 32 1024 1024)))
         (wanted (if backstaff-list--seeking backstaff-list--most-sought
                   (plist-get backstaff-view-state :rows))))
    (with-silent-modifications
      (save-excursion
        (goto-char end)
        (cl-loop repeat (min backstaff-list--piece (- wanted backstaff-list--shown))
                 while backstaff-list--waiting
                 do (apply #'tabulated-list-print-entry
                           (backstaff-list--row (pop backstaff-list--waiting)))
                 (cl-incf backstaff-list--shown))))
    (backstaff-view-seek end)
    ;; The row is drawn, or the user moved point.
    (when (and backstaff-list--seeking (null backstaff-view-sought))
      (setq backstaff-list--seeking nil wanted (plist-get backstaff-view-state :rows)))
    (cl-callf max (plist-get backstaff-view-state :rows) backstaff-list--shown)
    (backstaff-list--describe)
    (cond ((>= backstaff-list--shown wanted))
          (backstaff-list--waiting
           (run-at-time 0 nil #'backstaff-list--later (current-buffer) backstaff-view-reply))
          ((and backstaff-list--last (backstaff-list--left)
                (backstaff-list--paged-p backstaff-view-state))
           (backstaff-view-call
            `(:after ,(concat (plist-get backstaff-list--last :name)
                              (and (eq (plist-get backstaff-list--last :kind) :directory) "/"))
              ,@backstaff-view-state)
            (lambda (reply)
              (if (not (plist-get reply :ok))
                  (progn (message "%s" (plist-get reply :text))
                         (setf (plist-get backstaff-view-state :rows) backstaff-list--shown))
                (backstaff-names-labels reply backstaff-view-labels)
                (setq backstaff-list--waiting (plist-get (plist-get reply :data) :entries)
                      backstaff-list--last (car (last backstaff-list--waiting)))
                (backstaff-list--go-on))))))))

(defun backstaff-list--later (buffer reply)
  "Go on in BUFFER, if it still shows REPLY."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (when (eq reply backstaff-view-reply)
        (backstaff-list--go-on)))))

(defun backstaff-list--left ()
  "Return the number of entries that are not shown, t if it is unknown, or nil."
  (let* ((data (plist-get backstaff-view-reply :data))
         (total (or (plist-get data :total) (length (plist-get data :entries)))))
    (cond ((< backstaff-list--shown total) (- total backstaff-list--shown))
          ((plist-get data :total) nil)
          (t (plist-get data :truncated)))))

(defun backstaff-list--describe ()
  "Write the counts into the mode line, and a note on entries that are not shown."
  (let* ((data (plist-get backstaff-view-reply :data))
         (left (backstaff-list--left))
         (hidden (backstaff-view-get :hidden))
         (directories (or (plist-get data :directories)
                          (cl-count :dir (plist-get data :entries)
                                    :key (lambda (entry) (plist-get entry :type)))))
         ;; Links and the like count as files.
         (files (or (plist-get data :files) (- backstaff-list--shown directories))))
    (setq mode-line-process
          (list "" 'backstaff-request-indicator " "
                (string-join
                 (delq nil (list (and left "CUT")
                                 (or (backstaff-view-count files "file" "files") "no file")
                                 (backstaff-view-count directories "directory" "directories")
                                 (and (backstaff-view-get :recursive) "recursive")
                                 (if hidden "hidden shown" "hidden off")))
                 ", ")))
    (backstaff-view-set-notes
     (cond ((> backstaff-list--shown 0) nil)
           (hidden "The directory is empty")
           (t (substitute-command-keys "Nothing to show; \\[backstaff-view-toggle-hidden]\
 shows hidden files")))
     (and left (concat (format "… %s shown%s: " (backstaff-view-number backstaff-list--shown)
                               (if (numberp left)
                                   (format ", %s more" (backstaff-view-number left))
                                 ""))
                       (or (backstaff-list--remedy)
                           (substitute-command-keys "\\[backstaff-list-more] shows more")))))))

(defun backstaff-list--remedy ()
  "Return advice on the rows that + cannot show, or nil."
  (let ((forge (backstaff-list--forge-p backstaff-view-state)))
    (cond ((or backstaff-list--waiting (backstaff-list--paged-p backstaff-view-state)) nil)
          ((not forge) "Only the listing by name has all")
          ((eq (plist-get (plist-get backstaff-view-reply :data) :truncated-reason) :max-entries)
           (format "The settings allow no more: raise max_entries under\
 [tools.list_directory] in %s, then M-x backstaff-restart"
                   (abbreviate-file-name (backstaff-server-settings-file-name))))
          (t "A reply has no room for more"))))


;;; Commands

(defun backstaff-list-more ()
  "Show the next thousand rows of a long listing."
  (interactive nil backstaff-list-mode)
  (unless (backstaff-list--left)
    (user-error "The listing is complete"))
  (when-let ((remedy (backstaff-list--remedy)))
    (user-error "%s" remedy))
  (let* ((rows (plist-get backstaff-view-state :rows))
         (drawing (or backstaff-list--seeking (< backstaff-list--shown rows))))
    (setf (plist-get backstaff-view-state :rows) (+ rows backstaff-list--page))
    (unless drawing
      (backstaff-list--go-on))))

(defun backstaff-list-sort (&optional column)
  "Sort by the column at point, the largest or newest first.
Once more turns the order upside down.  With a numeric prefix argument COLUMN,
sort by that column; the first is 0."
  (interactive "P" backstaff-list-mode)
  (backstaff-list--sort-by
   (if column (car (aref tabulated-list-format (min 3 (prefix-numeric-value column))))
     (or (get-text-property (point) 'tabulated-list-column-name) "Name"))))

(defun backstaff-list-sort-by-click (event)
  "Sort by the column whose heading the mouse EVENT clicked."
  (interactive "e" backstaff-list-mode)
  (let ((place (event-start event)))
    (with-current-buffer (window-buffer (posn-window place))
      (backstaff-list--sort-by (get-text-property (cdr (posn-string place))
                                                  'tabulated-list-column-name
                                                  (car (posn-string place)))))))

(defun backstaff-list--sort-by (name)
  "Sort by the column NAME, or turn the order upside down if it is sorted so."
  (when (backstaff-list--forge-p backstaff-view-state)
    (user-error "Forge's tool sorts by path alone; backstaff-list-directory sorts"))
  (when (equal name "Type")
    (user-error "The server sorts by name, size and time"))
  (let ((again (equal (downcase name) (backstaff-view-get :sort))))
    (when (and again (backstaff-list--left))
      (user-error "Only a complete listing can be turned upside down; + shows more"))
    (backstaff-view-change :sort (downcase name) :rows backstaff-list--page
                           :reverse (and again (not (backstaff-view-get :reverse))))))

(provide 'backstaff-ui-list)
;;; backstaff-ui-list.el ends here
