;;; backstaff-ui-overview.el --- A project on one page  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-overview' shows the page that a model gets about a project: the files
;; to read first, those that build it, those edited lately, and a map of the most
;; important directories, one line for each.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defconst backstaff-overview--most-tokens 20000
  "The most tokens that the tool allows.")

(defcustom backstaff-overview-tokens 1000
  "Length of a new overview, in a model's tokens.
\\<backstaff-overview-mode-map>\\[backstaff-overview-more] doubles it in a buffer."
  :type 'integer
  :group 'backstaff)

(defvar backstaff-overview-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "TAB") #'forward-button)
    (define-key map (kbd "<backtab>") #'backward-button)
    (define-key map (kbd "v") #'backstaff-overview-enter)
    (define-key map (kbd "l") #'backstaff-view-list)
    (define-key map (kbd "t") #'backstaff-overview-tree)
    (define-key map (kbd "+") #'backstaff-overview-more)
    map)
  "Keymap of `backstaff-overview-mode'.")

;;;###autoload
(define-derived-mode backstaff-overview-mode backstaff-view-mode "Overview"
  "Major mode for a project on one page.
A line shows a directory and names in it.  In \"lib/(9) +4 .py\", lib/ has 9
files that are not named, and 4 more .py files are beside it.

\\{backstaff-overview-mode-map}"
  :group 'backstaff
  (backstaff-view-setup
   :request (lambda (state)
              (list "workspace/project_overview"
                    (list :path (plist-get state :path)
                          :max_tokens (plist-get state :tokens))))
   :draw #'backstaff-overview--draw
   :title (apply-partially #'backstaff-view-title "overview")
   :defaults (lambda () (list :tokens backstaff-overview-tokens))
   :open (lambda (_) (backstaff-overview-tree))
   :wrap t))

;;;###autoload
(defun backstaff-overview (directory)
  "Show DIRECTORY on one page: the files to read first, and where people work.
Interactively this is the root of the project; with a prefix argument, ask."
  (interactive (list (if current-prefix-arg
                         (backstaff-read-directory "Overview of directory: ")
                       (backstaff-command-project))))
  (backstaff-view-open-file 'backstaff-overview-mode (file-name-as-directory directory)))

(defun backstaff-overview--draw (reply)
  "Draw the overview in REPLY."
  (let ((data (plist-get reply :data)))
    (cl-flet ((line (label separator texts)
                (when texts
                  (let ((start (point)))
                    (insert (propertize (format "%-15s" (concat label ":"))
                                        'face 'backstaff-detail)
                            (string-join texts separator) "\n")
                    (put-text-property start (point) 'wrap-prefix (make-string 15 ?\s)))))
              (files (key)
                (mapcar (lambda (path) (backstaff-overview--name path path :file))
                        (plist-get data key))))
      (line "types" ", "
            (mapcar (lambda (type) (format "%s %d" (or (plist-get type :kind) "other")
                                           (plist-get type :files)))
                    (plist-get data :types)))
      (line "read first" " " (files :read-first))
      (line "build" " " (files :build))
      (line "test" " " (append (plist-get data :test-commands)
                               (mapcar (lambda (one) (let ((path (plist-get one :path)))
                                         (backstaff-overview--name path path :directory)))
                                       (plist-get data :tests))))
      (line "start" " " (files :start))
      (line "edited lately" " " (files :edited)))
    (unless (bobp)
      (insert "\n"))
    (mapc #'backstaff-overview--draw-directory (plist-get data :map))
    ;; The header and the notes.
    (let* ((files (plist-get data :files))
           (named (plist-get data :named))
           (branch (plist-get data :branch)))
      (backstaff-view-set-header
       (plist-get data :path)
       (cond ((null branch)
              ;; A warning says why.
              (if (plist-get backstaff-view-reply :warnings) "git unknown" "no git"))
             ((equal branch "") "git, no branch")
             (t (concat "git " (backstaff-view-label branch))))
       (or (backstaff-view-count files "file" "files") "no files")
       (backstaff-view-count (plist-get data :directories) "directory" "directories")
       (and (< named files) (format "%d named" named)))
      (apply #'backstaff-view-set-notes
             (and (< named files)
                  (format "… %d of %d files not named: dir/(9) holds 9 of them,\
 +9 are 9 more" (- files named) files))
             (and (< named files)
                  (substitute-command-keys
                   "\\[backstaff-overview-more] names more,\
 \\[backstaff-view-visit] on a directory opens it,\
 \\[backstaff-overview-enter] shows an overview of it"))
             (append (mapcar (lambda (note) (plist-get note :text)) (plist-get data :notes))
                     (and (cl-some (lambda (line)
                                     (cl-find "git" (plist-get line :collapsed)
                                              :test #'equal
                                              :key (lambda (inner)
                                                     (plist-get inner :closed))))
                                   (plist-get data :map))
                          (list (substitute-command-keys
                                 "\\[backstaff-overview-enter] on a dir/(git) shows\
 that repository"))))))))

(defun backstaff-overview--name (name path kind)
  "Return NAME as a button for the file PATH of KIND."
  (propertize (concat (backstaff-view-label name) (backstaff-view-kind-suffix kind))
              'face (backstaff-view-kind-face kind)
              'backstaff-name t
              'button t 'category 'backstaff-name ; buttons need a category
              'backstaff-place (list :path path :name name :kind kind)))

(defun backstaff-overview--draw-directory (line)
  "Draw LINE of the map: a directory and names in it."
  (let* ((start (point))
         (path (plist-get line :path))
         (more (plist-get line :more-directories)))
    (cl-flet* ((detail (format &rest arguments)
                 (propertize (apply #'format format arguments) 'face 'backstaff-detail))
               (file (name)
                 (backstaff-overview--name
                  name (backstaff-path-child path name)
                  (if (member name (plist-get line :links)) :symlink :file)))
               (omitted (count)
                 (detail (if (plist-get count :kind) "+%d %s" "+%d")
                         (plist-get count :files) (plist-get count :kind)))
               (collapsed (directory)
                 (let ((inner (plist-get directory :path)))
                   (concat (backstaff-overview--name
                            ;; A label stands for the whole path only.
                            (if (equal inner (backstaff-view-label inner))
                                (string-remove-prefix (concat path "/") inner)
                              inner)
                            inner :directory)
                           (detail "(%s)" (or (plist-get directory :closed)
                                              (plist-get directory :files)))))))
      (insert (string-join
               `(,(backstaff-overview--name path path :directory)
                 ,@(mapcar #'file (plist-get line :names))
                 ,@(mapcar #'omitted (plist-get line :omitted))
                 ,@(mapcar #'collapsed (plist-get line :collapsed))
                 ,@(unless (zerop more)
                     (list (detail "+%d dirs (%d)" more (plist-get line :more-files)))))
               " ")
              "\n"))
    (add-text-properties start (point)
                         `(wrap-prefix "    "
                           backstaff-entry (:path ,path :name ,path :kind :directory)))))

(defun backstaff-overview-enter ()
  "Show the overview of the directory at point in this buffer."
  (interactive nil backstaff-overview-mode)
  (backstaff-view-entry-at-point)
  (backstaff-view-change :path (backstaff-view-directory)))

(defun backstaff-overview-tree ()
  "Show the directory at point, or the one of the file at point, as a tree."
  (interactive nil backstaff-overview-mode)
  (backstaff-view-entry-at-point)
  (backstaff-view-switch 'backstaff-tree-mode (backstaff-view-directory)))

(defun backstaff-overview-more ()
  "Request an overview of twice as many tokens."
  (interactive nil backstaff-overview-mode)
  (let ((data (plist-get backstaff-view-reply :data))
        (tokens (backstaff-view-get :tokens)))
    (when (and data (= (plist-get data :named) (plist-get data :files)))
      (user-error "All files are named"))
    (when (>= tokens backstaff-overview--most-tokens)
      (user-error "The tool allows no longer overview"))
    (backstaff-view-change :tokens (min (* 2 tokens) backstaff-overview--most-tokens))))

(provide 'backstaff-ui-overview)
;;; backstaff-ui-overview.el ends here
