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
         (other (and (not path) (backstaff-emacs-directory selected roots)
                     (substring-no-properties (buffer-name selected))))
         (place (cond (path (backstaff-emacs-context--place path selected))
                      (files (backstaff-emacs-context--place (caar files) (cdar files)))))
         (visible (delete-dups
                   (cl-loop for frame in (visible-frame-list)
                            append (cl-loop for window in (window-list frame 'no-minibuffer)
                                            for path = (backstaff-emacs-path
                                                        (window-buffer window) roots)
                                            when path collect path))))
         (modified (cl-loop for (path . buffer) in files
                            when (buffer-modified-p buffer) collect path))
         (listed (lambda (paths) (if paths (backstaff-emacs-listed paths 400) "none")))
         (compilation (backstaff-emacs-context--compilation roots))
         (lines `(,@(cond (path (list (concat "Selected: " (car place))))
                          (t `(,(if other (format "Selected: %s, which visits no file"
                                                  (backstaff-names-show other))
                                  "Selected: nothing below the root")
                               ,@(and place (list (concat "Last selected file: " (car place)))))))
                  ,@(cdr place)
                  ,(concat "Visible files: " (funcall listed visible))
                  ,(concat "Not saved yet: " (funcall listed modified))
                  ,(concat "Last compilation: " (or compilation "none below the root")))))
    (backstaff-emacs-answer
     (min 2048 (plist-get context :limit)) (mapcar #'list (cdr lines))
     (lambda (_ left)
       (list (car lines)
             (list (and (> left 0) (format "%d more lines" left)))
             (list :selected path :last-selected (caar files) :selected-buffer other
                   :visible visible :modified modified :compilation compilation))))))

(defun backstaff-emacs-context--place (path buffer)
  "Return lines about the place in BUFFER, which visits PATH, and its region."
  (with-current-buffer buffer
    ;; Each window has a point of its own.
    (let* ((window (get-buffer-window buffer 'visible))
           (point (if window (window-point window) (point)))
           (mark (and transient-mark-mode mark-active (mark t)))
           (size 1024))                 ; maximum number of bytes of the region's text
      (save-restriction
        (widen)
        (cons (format "%s, line %d of %d%s" (backstaff-names-show path)
                      (line-number-at-pos point) (line-number-at-pos (point-max))
                      (if (buffer-modified-p) ", not saved yet" ""))
              (when (and mark (/= mark point))
                (let* ((start (min mark point)) (end (max mark point))
                       (text (backstaff-names-text (buffer-substring-no-properties
                                                    start (min end (+ start size))))))
                  (cons (format "Region, lines %d-%d%s:" (line-number-at-pos start)
                                (line-number-at-pos end)
                                (if (> (max (- end start) (string-bytes text)) size)
                                    ", its beginning" ""))
                        ;; Each line is marked, so that none can pass for one of ours.
                        (mapcar (apply-partially #'concat "| ")
                                (split-string (string-trim-right
                                               (backstaff-lisp-tools-clipped text size) "\n")
                                              "\n"))))))))))

(defun backstaff-emacs-context--compilation (roots)
  "Return a description of the last compilation below one of ROOTS, or nil.
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
              (format "%s in %s: %s, %s, %s; its buffer: %s"
                      (backstaff-names-prose
                       (truncate-string-to-width (if (stringp command) command "a command")
                                                 200 nil nil t))
                      (backstaff-names-show (concat "./" directory))
                      (cond ((process-live-p (get-buffer-process buffer)) "still running")
                            ;; For example ":exit [2]".
                            ((stringp status)
                             (backstaff-names-prose (string-trim status "[: ]+")))
                            (t "ended"))
                      (backstaff-emacs-plural compilation-num-errors-found "error")
                      (backstaff-emacs-plural compilation-num-warnings-found "warning")
                      (backstaff-names-show (buffer-name)))))))

(provide 'backstaff-emacs-context)
;;; backstaff-emacs-context.el ends here
