;;; backstaff-emacs-context.el --- The tool emacs/context  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Shows the files and the place that the user is looking at, if they are below the root:
;;
;;   Selected: src/a.c, line 12 of 340, not saved yet
;;   Region, lines 10-12:
;;   | int main(void) {
;;   …
;;   Visible files: src/a.c, README.md
;;   Not saved yet: src/a.c
;;   Last compilation: make -k in ./src/: exit [2], 1 error, 0 warnings; its buffer: *compilation*
;;
;; If the selected buffer visits no file, such as an agent's own buffer, the answer also
;; has the file that was selected last.

;;; Code:

(require 'backstaff-emacs)

(defvar compilation-arguments)
(defvar compilation-num-errors-found)
(defvar compilation-num-warnings-found)

(defconst backstaff-emacs-context-tool
  '(:id "emacs/context"
    :description "Tells what the user is looking at in Emacs: the selected file, line and region, the files that are visible or not saved yet, and the result of the last compilation. Use it when the user says 'here' or 'this'."
    :arguments nil
    :categories (:emacs :buffers)
    :function backstaff-emacs-context--run)
  "The definition of the tool emacs/context.")

(defun backstaff-emacs-context--run (_arguments context)
  "Do the work of emacs/context in CONTEXT."
  (let* ((roots (backstaff-unsaved-roots (plist-get context :root)))
         (files (backstaff-emacs-buffers roots))
         (selected (window-buffer (or (minibuffer-selected-window) (selected-window))))
         (path (backstaff-emacs-path selected roots))
         (state (cond (path (backstaff-emacs-context--state path selected))
                      (files (backstaff-emacs-context--state (caar files) (cdar files)))))
         (lines (backstaff-emacs-context--lines state))
         (other (and (not path) (backstaff-emacs-directory selected roots)
                     (substring-no-properties (buffer-name selected))))
         (visible (delete-dups
                   (cl-loop for frame in (visible-frame-list)
                            append (cl-loop for window in (window-list frame 'no-minibuffer)
                                            for path = (backstaff-emacs-path
                                                        (window-buffer window) roots)
                                            when path collect path))))
         (modified (cl-loop for (path . buffer) in files
                            when (buffer-modified-p buffer) collect path))
         (compilation (backstaff-emacs-context--compilation roots)))
    (backstaff-emacs-answer
     (min 2048 (plist-get context :limit))
     (mapcar #'list
             `(,@(if path (cdr lines)
                   (and lines (cons (concat "Last selected file: " (car lines)) (cdr lines))))
               ,@(cl-loop for (name . paths) in `(("Visible files" . ,visible)
                                                  ("Not saved yet" . ,modified))
                          collect (format "%s: %s" name
                                          (if paths (backstaff-emacs-listed paths 400) "none")))
               ,(if (null compilation) "Last compilation: none below the root"
                  (cl-destructuring-bind
                      (&key buffer directory command status errors warnings) compilation
                    (format "Last compilation: %s in %s: %s, %s, %s; its buffer: %s"
                            (backstaff-names-prose (truncate-string-to-width command 200 nil nil t))
                            (backstaff-names-show (concat "./" directory))
                            (backstaff-names-prose status)
                            (backstaff-emacs-plural errors "error")
                            (backstaff-emacs-plural warnings "warning")
                            (backstaff-names-show buffer))))))
     (lambda (_ left)
       (list (cond (path (concat "Selected: " (car lines)))
                   (other (format "Selected: %s, which visits no file"
                                  (backstaff-names-show other)))
                   (t "Selected: nothing below the root"))
             (list (and (> left 0) (format "%d more lines" left)))
             (list :selected (and path state) :last-selected (and (not path) state)
                   :selected-buffer other :visible visible :modified modified
                   :compilation compilation))))))

(defun backstaff-emacs-context--state (path buffer)
  "Return the state of BUFFER, which visits PATH, as a plist."
  (with-current-buffer buffer
    ;; Each window has a point of its own.
    (let* ((window (get-buffer-window buffer 'visible))
           (point (if window (window-point window) (point)))
           (mark (and transient-mark-mode mark-active (mark t)))
           (size 1024))                 ; maximum number of bytes of the region's text
      (save-restriction
        (widen)
        (list :path path :buffer (substring-no-properties (buffer-name))
              :line (line-number-at-pos point) :line-count (line-number-at-pos (point-max))
              :modified (buffer-modified-p)
              :region
              (and mark (/= mark point)
                   (let* ((start (min mark point))
                          (end (max mark point))
                          (text (backstaff-names-text (buffer-substring-no-properties
                                                       start (min end (+ start size))))))
                     (list :first-line (line-number-at-pos start)
                           :last-line (line-number-at-pos end)
                           :text (backstaff-lisp-tools-clipped text size)
                           :truncated (> (max (- end start) (string-bytes text)) size)))))))))

(defun backstaff-emacs-context--lines (state)
  "Return the lines that describe STATE, a plist, or nil."
  (cl-destructuring-bind (&key path line line-count modified region &allow-other-keys) state
    (when path
      (cons (format "%s, line %d of %d%s" (backstaff-names-show path) line line-count
                    (if modified ", not saved yet" ""))
            (when region
              (cl-destructuring-bind (&key first-line last-line text truncated) region
                (cons (format "Region, lines %d-%d%s:" first-line last-line
                              (if truncated ", its beginning" ""))
                      ;; Each line is marked, so that none can pass for one of ours.
                      (mapcar (apply-partially #'concat "| ")
                              (split-string (string-trim-right text "\n") "\n")))))))))

(defun backstaff-emacs-context--compilation (roots)
  "Return the last compilation below one of ROOTS as a plist, or nil.
The one whose buffer was selected last counts.  A search in files counts as no
compilation."
  (cl-loop
   for buffer in (and (featurep 'compile) (buffer-list))
   for directory = (and (buffer-local-value 'compilation-arguments buffer)
                        (not (provided-mode-derived-p (buffer-local-value 'major-mode buffer)
                                                      'grep-mode))
                        (backstaff-emacs-directory buffer roots))
   when directory
   return (with-current-buffer buffer
            (let ((command (car compilation-arguments)) (status (car-safe mode-line-process)))
              (list :buffer (substring-no-properties (buffer-name)) :directory directory
                    :command (if (stringp command) (substring-no-properties command) "a command")
                    :status (cond ((process-live-p (get-buffer-process buffer)) "still running")
                                  ;; For example ":exit [2]".
                                  ((stringp status)
                                   (string-trim (substring-no-properties status) "[: ]+"))
                                  (t "ended"))
                    :errors compilation-num-errors-found
                    :warnings compilation-num-warnings-found)))))

(provide 'backstaff-emacs-context)
;;; backstaff-emacs-context.el ends here
