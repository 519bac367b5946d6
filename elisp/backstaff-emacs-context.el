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

(defvar compilation-last-buffer)

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
         (compilation (backstaff-emacs-context--compilation roots))
         (listed (lambda (paths)
                   (if paths (backstaff-emacs-some (mapcar #'backstaff-names-show paths) 400)
                     "none")))
         (whole (concat
                 (cond (path "Selected: ")
                       (other (format "Selected: %s, which visits no file\n"
                                      (backstaff-names-show other)))
                       (t "Selected: nothing below the root\n"))
                 (and state
                      (concat (unless path "Last selected file: ")
                              (backstaff-emacs-context--lines state)))
                 "Visible files: " (funcall listed visible)
                 "\nNot saved yet: " (funcall listed modified)
                 "\nLast compilation: "
                 (if (null compilation) "none below the root\n"
                   (cl-destructuring-bind
                       (&key buffer directory command running status errors warnings) compilation
                     (format "%s in %s: %s, %s, %s; its buffer: %s\n"
                             (backstaff-names-prose
                              (truncate-string-to-width (or command "a command") 200 nil nil t))
                             (backstaff-names-show (concat "./" directory))
                             (cond (running "still running")
                                   (status (backstaff-names-prose status))
                                   (t "ended"))
                             (backstaff-emacs-plural errors "error")
                             (backstaff-emacs-plural warnings "warning")
                             (backstaff-names-show buffer))))))
         (text (backstaff-lisp-tools-clipped whole (min 2048 (plist-get context :limit)))))
    (list :text text
          :truncated (not (eq text whole))
          :data (list :selected (and path state) :last-selected (and (not path) state)
                      :selected-buffer other :visible visible :modified modified
                      :compilation compilation))))

(defun backstaff-emacs-context--state (path buffer)
  "Return the state of BUFFER, which visits PATH, as a plist."
  (with-current-buffer buffer
    ;; Each window has a point of its own.
    (let* ((window (get-buffer-window buffer 'visible))
           (point (if window (window-point window) (point)))
           (mark (and transient-mark-mode mark-active (mark t)))
           (size 1024))                 ; maximum number of bytes of the region's text
      (list :path path :buffer (substring-no-properties (buffer-name))
            :line (line-number-at-pos point t)
            :line-count (save-restriction (widen) (line-number-at-pos (point-max)))
            :modified (buffer-modified-p)
            :region
            (and mark (/= mark point)
                 (save-restriction
                   (widen)
                   (let* ((start (min mark point))
                          (end (max mark point))
                          (text (backstaff-names-text (buffer-substring-no-properties
                                                       start (min end (+ start size))))))
                     (list :first-line (line-number-at-pos start)
                           :last-line (line-number-at-pos end)
                           :text (backstaff-lisp-tools-clipped text size)
                           :truncated (> (max (- end start) (string-bytes text)) size)))))))))

(defun backstaff-emacs-context--lines (state)
  "Return the lines that describe STATE."
  (cl-destructuring-bind (&key path line line-count modified region &allow-other-keys) state
    (concat (format "%s, line %d of %d%s\n" (backstaff-names-show path) line line-count
                    (if modified ", not saved yet" ""))
            (and region
                 (cl-destructuring-bind (&key first-line last-line text truncated) region
                   (format "Region, lines %d-%d%s:\n%s\n" first-line last-line
                           (if truncated ", its beginning" "")
                           ;; Each line is marked, so that none can pass for one of ours.
                           (replace-regexp-in-string "^" "| " (string-trim-right text "\n")
                                                     t t)))))))

(defun backstaff-emacs-context--compilation (roots)
  "Return the last compilation below one of ROOTS as a plist, or nil.
Of several, the compilation that was started last counts if it is below a root,
and otherwise the one whose buffer was selected last.  A search in files counts
as no compilation, although its matches count as errors."
  (when-let ((buffer (cl-find-if
                      (lambda (buffer)
                        (with-current-buffer buffer
                          (and (bound-and-true-p compilation-arguments)
                               (not (derived-mode-p 'grep-mode))
                               (backstaff-emacs-directory buffer roots))))
                      (if (buffer-live-p (bound-and-true-p compilation-last-buffer))
                          (cons compilation-last-buffer (buffer-list))
                        (buffer-list)))))
    (with-current-buffer buffer
      (let ((running (process-live-p (get-buffer-process buffer)))
            (command (car-safe (bound-and-true-p compilation-arguments)))
            (status (car-safe mode-line-process)))
        (list :buffer (substring-no-properties (buffer-name))
              :directory (backstaff-emacs-directory buffer roots)
              :command (and (stringp command) (substring-no-properties command))
              :running (and running t)
              :status (and (not running) (stringp status)
                           ;; For example ":exit [2]".
                           (string-trim (substring-no-properties status) "[: ]+"))
              :errors (or (bound-and-true-p compilation-num-errors-found) 0)
              :warnings (or (bound-and-true-p compilation-num-warnings-found) 0))))))

(provide 'backstaff-emacs-context)
;;; backstaff-emacs-context.el ends here
