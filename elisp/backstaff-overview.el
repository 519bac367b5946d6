;;; backstaff-overview.el --- What a project is, on a page  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-overview' shows what a model is told of a project: what to read
;; first, what builds it, what was edited lately, and a map, one line a
;; directory, of the directories that matter most.  Every name leads where it
;; says: RET visits a file and opens a directory.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-view)


;;; Options

(defgroup backstaff-overview nil
  "Overviews of projects."
  :group 'backstaff
  :prefix "backstaff-overview-")

(defconst backstaff-overview--most-tokens 20000
  "How many tokens an overview can have; the tool knows no more.")

(defcustom backstaff-overview-tokens 1000
  "How many tokens of a model a new overview may take.
\\<backstaff-overview-mode-map>\\[backstaff-overview-more] doubles them."
  :type 'integer)


;;; Mode

(defvar backstaff-overview-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'backstaff-overview-visit)
    (define-key map (kbd "o") #'backstaff-overview-visit-other-window)
    (define-key map (kbd "TAB") #'backstaff-overview-next-name)
    (define-key map (kbd "<backtab>") #'backstaff-overview-previous-name)
    (define-key map (kbd "n") #'next-line)
    (define-key map (kbd "p") #'previous-line)
    (define-key map (kbd "v") #'backstaff-overview-enter)
    (define-key map (kbd "^") #'backstaff-view-up)
    (define-key map (kbd "l") #'backstaff-overview-list)
    (define-key map (kbd "t") #'backstaff-overview-tree)
    (define-key map (kbd "+") #'backstaff-overview-more)
    (define-key map (kbd "=") #'backstaff-view-info)
    (define-key map (kbd "w") #'backstaff-view-copy-path)
    (define-key map [remap keyboard-quit] #'backstaff-view-quit)
    map)
  "Keymap of `backstaff-overview-mode'.")

(define-derived-mode backstaff-overview-mode special-mode "Overview"
  "Major mode for what a project is, on a page.
A line is a directory with the names in it; a directory that is followed by a
number holds so many files that are not named.

\\{backstaff-overview-mode-map}"
  :group 'backstaff-overview
  (backstaff-view-setup :request #'backstaff-overview--request
                        :draw #'backstaff-overview--draw
                        :title (apply-partially #'backstaff-view-title "overview")
                        :wrap t))

;;;###autoload
(defun backstaff-overview (directory)
  "Show what the project is that DIRECTORY is in, or what DIRECTORY is in it.
Interactively this is the root of the project, or with a prefix argument a
directory that is asked for."
  (interactive
   (list (if current-prefix-arg
             (backstaff-read-directory "Overview of directory: ")
           (backstaff-command-root))))
  (let ((root (backstaff-command-root (file-name-as-directory directory))))
    (backstaff-view-open 'backstaff-overview-mode
                         (list :root root
                               :path (backstaff-view-relative root directory))
                         (list :tokens backstaff-overview-tokens))))

(defun backstaff-overview--request (state)
  "Return the tool and the arguments that STATE stands for."
  (list "workspace/project_overview"
        (list :path (plist-get state :path)
              :max_tokens (plist-get state :tokens))))


;;; Drawing

(defun backstaff-overview--draw (reply)
  "Draw the overview in REPLY."
  (let ((data (plist-get reply :data)))
    (backstaff-overview--draw-head data)
    (dolist (line (plist-get data :map))
      (backstaff-overview--draw-line line))
    (backstaff-overview--tell data)))

(defun backstaff-overview--draw-head (data)
  "Draw what DATA says of the whole project."
  (let ((start (point)))
    (when-let ((types (plist-get data :types)))
      (insert (backstaff-overview--label "types")
              (mapconcat #'backstaff-overview--counted types ", ") "\n"))
    (backstaff-overview--draw-files "read first" (plist-get data :read-first))
    (backstaff-overview--draw-files "build" (plist-get data :build))
    (backstaff-overview--draw-files "edited lately" (plist-get data :edited))
    (unless (= (point) start)
      (insert "\n"))))

(defun backstaff-overview--label (text)
  "Return TEXT as what stands before a line."
  (propertize (format "%-15s" (concat text ":")) 'face 'backstaff-detail))

(defun backstaff-overview--counted (type)
  "Return TYPE, a kind of files with their number, as text."
  (format "%d %s" (plist-get type :files) (or (plist-get type :kind) "other")))

(defun backstaff-overview--draw-files (label paths)
  "Draw a line of PATHS of files, if there are any, with LABEL."
  (when paths
    (let ((start (point)))
      (insert (backstaff-overview--label label)
              (mapconcat (lambda (path) (backstaff-overview--name path path :file))
                         paths " ")
              "\n")
      (put-text-property start (point) 'wrap-prefix (make-string 15 ?\s)))))

(defun backstaff-overview--draw-line (line)
  "Draw LINE of the map: a directory and what is in it."
  (let ((start (point))
        (path (plist-get line :path)))
    (insert (string-join
             `(,(propertize (concat (backstaff-overview--word path) "/")
                            'face 'backstaff-directory 'backstaff-name t)
               ,@(backstaff-overview--files line)
               ,@(mapcar #'backstaff-overview--omitted (plist-get line :omitted))
               ,@(mapcar (apply-partially #'backstaff-overview--collapsed path)
                         (plist-get line :collapsed))
               ,@(backstaff-overview--folded line))
             " ")
            "\n")
    (add-text-properties start (point)
                         `(wrap-prefix "    "
                           backstaff-entry (:path ,path :name ,path :kind :directory)))))

(defun backstaff-overview--files (line)
  "Return the files that LINE of the map names, as texts."
  (let ((links (plist-get line :links)))
    (mapcar (lambda (name)
              (backstaff-overview--name
               name (backstaff-view-child (plist-get line :path) name)
               (if (member name links) :symlink :file)))
            (plist-get line :names))))

(defun backstaff-overview--omitted (count)
  "Return COUNT of files that are not named as text."
  (propertize (concat (format "+%d" (plist-get count :files))
                      (and (plist-get count :kind)
                           (concat " " (plist-get count :kind))))
              'face 'backstaff-detail))

(defun backstaff-overview--collapsed (above directory)
  "Return DIRECTORY, below the path ABOVE, with what it holds, as text."
  (let* ((path (plist-get directory :path))
         (files (plist-get directory :files))
         (name (if (equal above ".") path
                 (string-remove-prefix (concat above "/") path))))
    (concat (backstaff-overview--name name path :directory)
            (propertize (format "(%s)" (or (plist-get directory :closed) files)) 'face 'backstaff-detail))))

(defun backstaff-overview--folded (line)
  "Return a list of the text that counts the directories LINE does not name."
  (let ((number (plist-get line :more-directories)))
    (unless (zerop number)
      (list (propertize (format "+%d dirs (%d)" number (plist-get line :more-files))
                        'face 'backstaff-detail)))))

(defun backstaff-overview--name (name path kind)
  "Return NAME as text that stands for the file PATH of KIND."
  (propertize (concat (backstaff-overview--word name)
                      (backstaff-view-kind-suffix kind))
              'face (backstaff-view-kind-face kind)
              'backstaff-name t
              'backstaff-place (list :path path :name name :kind kind)))

(defun backstaff-overview--word (name)
  "Return NAME as a word of a line, which is no count."
  (if (string-match-p "\\`\\+[[:digit:]]+\\'" name)
      (backstaff-names-quote name)
    (backstaff-names-word name)))

(defun backstaff-overview--tell (data)
  "Tell what DATA says that is not in the text."
  (let* ((files (plist-get data :files))
         (left-out (- files (plist-get data :named)))
         (branch (plist-get data :branch)))
    (backstaff-view-set-header
     (plist-get data :path)
     (cond ((null branch) "no git")
           ((equal branch "") "git, no branch")
           (t (concat "git " (backstaff-names-show branch))))
     (or (backstaff-view-count files "file" "files") "no files")
     (backstaff-view-count (plist-get data :directories) "directory" "directories")
     (and (> left-out 0) (format "%d named" (plist-get data :named))))
    (backstaff-view-set-notes
     (append (and (> left-out 0)
                  (list (format "… %d of %d files not named: dir/(9) holds 9\
 of them, +9 are 9 more" left-out files)
                        (substitute-command-keys
                         "\\[backstaff-overview-more] names more,\
 \\[backstaff-overview-visit] on a directory opens it,\
 \\[backstaff-overview-enter] shows an overview of it")))
             (plist-get data :notes)
             (and (backstaff-overview--repository-p data)
                  (list (substitute-command-keys
                         "\\[backstaff-overview-enter] on a dir/(git) shows\
 what is in it")))))))

(defun backstaff-overview--repository-p (data)
  "Return non-nil if the map in DATA has a repository that it does not show."
  (cl-some (lambda (line)
             (cl-some (lambda (directory)
                        (equal (plist-get directory :closed) "git"))
                      (plist-get line :collapsed)))
           (plist-get data :map)))


;;; Commands

(defun backstaff-overview-visit (&optional other-window)
  "Visit the file at point, or show the directory at point as a tree.
Visit it in another window if OTHER-WINDOW is non-nil."
  (interactive nil backstaff-overview-mode)
  (let* ((entry (backstaff-view-some-entry))
         (path (plist-get entry :path)))
    (or (backstaff-view-visit path (plist-get entry :kind) other-window)
        (backstaff-tree-open (plist-get backstaff-view-state :root) path))))

(defun backstaff-overview-visit-other-window ()
  "Visit the file at point in another window."
  (interactive nil backstaff-overview-mode)
  (backstaff-overview-visit t))

(defun backstaff-overview--directory ()
  "Return the path of the directory at point, or of the one the file is in."
  (let ((entry (backstaff-view-some-entry)))
    (if (eq (plist-get entry :kind) :directory)
        (plist-get entry :path)
      (or (backstaff-view-parent (plist-get entry :path)) "."))))

(defun backstaff-overview-enter ()
  "Show the overview of the directory at point in this buffer."
  (interactive nil backstaff-overview-mode)
  (backstaff-view-enter (backstaff-overview--directory)))

(defun backstaff-overview-list ()
  "List the directory at point, or the one that the file at point is in."
  (interactive nil backstaff-overview-mode)
  (let ((path (plist-get (backstaff-view-some-entry) :path)))
    (backstaff-list-open (plist-get backstaff-view-state :root)
                         (backstaff-overview--directory) :focus path)))

(defun backstaff-overview-tree ()
  "Show the directory at point as a tree, or the one the file at point is in."
  (interactive nil backstaff-overview-mode)
  (backstaff-tree-open (plist-get backstaff-view-state :root)
                       (backstaff-overview--directory)))

(defun backstaff-overview-more ()
  "Ask for an overview of twice as many tokens."
  (interactive nil backstaff-overview-mode)
  (let* ((data (plist-get backstaff-view-reply :data))
         (tokens (plist-get (backstaff-view-latest-state) :tokens)))
    (when (and data (= (plist-get data :named) (plist-get data :files)))
      (user-error "All files are named"))
    (when (>= tokens backstaff-overview--most-tokens)
      (user-error "No overview can be longer"))
    (backstaff-view-ask
     (backstaff-view-with :tokens (min (* 2 tokens)
                                       backstaff-overview--most-tokens)))))

(defun backstaff-overview-next-name ()
  "Go to the next name."
  (interactive nil backstaff-overview-mode)
  (let* ((end (if (get-text-property (point) 'backstaff-name)
                  (next-single-property-change (point) 'backstaff-name nil (point-max))
                (point)))
         (next (text-property-any end (point-max) 'backstaff-name t)))
    (goto-char (or next (user-error "There is no other name below")))))

(defun backstaff-overview-previous-name ()
  "Go to the previous name."
  (interactive nil backstaff-overview-mode)
  (let ((place (point)))
    (while (progn
             (setq place (previous-single-property-change
                          place 'backstaff-name nil (point-min)))
             (not (or (get-text-property place 'backstaff-name)
                      (= place (point-min))))))
    (if (and (< place (point)) (get-text-property place 'backstaff-name))
        (goto-char place)
      (user-error "There is no other name above"))))

(provide 'backstaff-overview)
;;; backstaff-overview.el ends here
