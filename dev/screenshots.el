;;; screenshots.el --- Draw the pictures of the documentation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; dev/screenshots runs this in an Emacs with a window of its own.  Each
;; scene below types keys on this repository, waits for what they shall bring
;; about and draws the frame to a file.  A scene whose command does not exist
;; is left out.
;;
;; No window manager and no other program has a part in it: Emacs draws itself.
;;
;; Times, sizes and process ids differ each time.  So docs/screenshots.txt has a hash of
;; what each picture shows, numbers and blanks left out, and a picture that would show the
;; same is left as it is.  Delete a picture to have it drawn whatever it shows.

;;; Code:

(require 'backstaff)
(require 'cl-lib)

(defvar backstaff-tree-depth)
(defvar transient-enable-popup-navigation)
(defvar transient-mode-line-format)

(declare-function x-export-frames "xfns.c" (&optional frames type))

(defconst screenshots-root
  (expand-file-name "../" (file-name-directory load-file-name))
  "This repository.")

(defconst screenshots-columns 100
  "How wide a picture is, but for the fringes, in characters.")

(defconst screenshots-patience 20
  "For how many seconds to wait for what a scene shall bring about.")

;; No picture is higher than what it shows.
(defconst screenshots-scenes
  '(("listing" backstaff-list-directory 17
     "M-x backstaff-list-directory RET C-a C-k ./ RET"
     "pyproject.toml")
    ("tree" backstaff-tree 28
     "C-u M-x backstaff-tree RET C-a C-k py_backend/backstaff/ RET x **/__pycache__ RET"
     "server\\.py")
    ("search" backstaff-search 27
     "C-u M-x backstaff-search RET C-a C-k py_backend RET class SPC .*Enum RET"
     "finished")
    ("menu" backstaff 22 "M-x backstaff RET" "List a directory")
    ("inspector" backstaff-run-tool 28
     "M-x backstaff-run-tool RET workspace/tree RET C-a C-k py_backend/backstaff/tools RET all RET RET RET RET **/__pycache__ RET"
     "total-files")
    ("doctor" backstaff-doctor 34 "M-x backstaff-doctor RET" "All is well"))
  "What is drawn: a name, the command it needs, lines, keys, and a regexp.
The picture is that many lines high.  It is ready when the regexp
matches in a window.")


;;; The frame

(defun screenshots-prepare ()
  "Make Emacs look its best, and the same wherever it is."
  (setq inhibit-startup-screen t
        initial-scratch-message nil
        ring-bell-function #'ignore
        use-dialog-box nil
        frame-resize-pixelwise t
        cursor-in-non-selected-windows nil
        echo-keystrokes 0
        ;; The copy in the other Debian is no repository of git's, so it is no project by itself.
        backstaff-root-directory screenshots-root
        backstaff-tree-depth 1
        pop-up-windows nil
        transient-enable-popup-navigation nil
        transient-mode-line-format nil
        enable-local-variables nil
        make-backup-files nil)
  ;; A block would hide the letter below it.
  (setq-default cursor-type 'bar)
  (blink-cursor-mode -1)
  (modify-frame-parameters nil '((menu-bar-lines . 0) (tool-bar-lines . 0)
                                 (vertical-scroll-bars) (left-fringe . 10)
                                 (right-fringe . 10)))
  (load-theme 'modus-operandi t)
  (set-face-attribute 'default nil :family "JetBrains Mono" :height 110)
  ;; A box makes a mode line higher than a line, and cuts the one above it.
  (set-face-attribute 'mode-line nil :box nil)
  (set-face-attribute 'fringe nil :background (face-background 'default))
  (set-frame-position nil 0 0))

(defun screenshots-begin (lines)
  "Show nothing but a source file of this repository, in LINES lines."
  (set-frame-size nil screenshots-columns lines)
  (delete-other-windows)
  (mapc (lambda (buffer)
          (when (string-match-p "\\`\\*backstaff" (buffer-name buffer))
            (kill-buffer buffer)))
        (buffer-list))
  (find-file (expand-file-name "py_backend/backstaff/server.py" screenshots-root))
  (setq default-directory screenshots-root)
  (goto-char (point-min)))


;;; Scenes

(defun screenshots-shown-p (regexp)
  "Return non-nil if REGEXP matches in a window of this frame."
  (cl-some (lambda (window)
             (with-current-buffer (window-buffer window)
               (save-excursion
                 (goto-char (point-min))
                 (re-search-forward regexp nil t))))
           (window-list nil 'no-minibuffer)))

(defun screenshots-hash ()
  "Return a hash of this frame's texts and their faces, without numbers and blanks."
  (cl-flet ((without-numbers (text)
              (replace-regexp-in-string "[0-9][0-9.,:]*\\|[ \n]+" "" text)))
    (secure-hash
     'sha1
     (prin1-to-string
      (mapcar (lambda (window)
                (with-selected-window window
                  (let ((text (buffer-substring (window-start) (window-end nil t))))
                    (cons (mapcar #'without-numbers
                                  (list (format-mode-line header-line-format)
                                        (format-mode-line mode-line-format)))
                          (mapcar (pcase-lambda (`(,start ,end ,properties))
                                    (list (without-numbers
                                           (substring-no-properties text start end))
                                          (plist-get properties 'face)))
                                  (object-intervals text))))))
              (window-list nil 'no-minibuffer))))))

(defun screenshots-save (name)
  "Draw this frame to the file of the picture NAME, if that shows something else."
  (message nil)
  (redisplay t)
  (let* ((coding-system-for-write 'binary)
         (file (expand-file-name (format "docs/screenshot-%s.png" name)
                                 screenshots-root))
         (hashes (expand-file-name "docs/screenshots.txt" screenshots-root))
         (line (format "%s %s\n" name (screenshots-hash))))
    (with-temp-buffer
      (when (file-exists-p hashes)
        (insert-file-contents hashes))
      (unless (and (file-exists-p file) (search-forward line nil t))
        (goto-char (point-min))
        (flush-lines (format "^%s " (regexp-quote name)))
        (insert line)
        (sort-lines nil (point-min) (point-max))
        (write-region nil nil hashes nil 'silent)
        (erase-buffer)
        (set-buffer-multibyte nil)
        (insert (x-export-frames nil 'png))
        (write-region nil nil file nil 'silent)))))

(defun screenshots-play (scenes)
  "Draw the first of SCENES and then the others, then leave Emacs."
  (pcase scenes
    ('nil (kill-emacs 0))
    (`((,name ,command . ,_) . ,rest)
     (if (fboundp command)
         (screenshots-scene scenes)
       (princ (format "screenshots: no picture %s, as there is no %s\n" name command)
              #'external-debugging-output)
       (screenshots-play rest)))))

(defun screenshots-scene (scenes)
  "Type the keys of the first of SCENES, and draw it when it is ready."
  (pcase-let ((`((,_ ,_ ,lines ,keys ,_) . ,_) scenes))
    (screenshots-begin lines)
    (screenshots-type (listify-key-sequence (kbd keys))
                      #'screenshots-poll scenes
                      (+ (float-time) screenshots-patience))))

(defun screenshots-type (keys function &rest arguments)
  "Type KEYS and then call FUNCTION with ARGUMENTS.
One is typed after the other: a menu that redraws itself at the first key
of a sequence forgets those that came with it."
  (cond ((null keys)
         (apply #'screenshots-later 0.5 function arguments))
        (t
         (unless unread-command-events
           (setq unread-command-events (list (pop keys))))
         (apply #'screenshots-later 0.02 #'screenshots-type
                keys function arguments))))

(defun screenshots-later (seconds function &rest arguments)
  "Call FUNCTION with ARGUMENTS in SECONDS, and let it fail loudly.
What happens between is the command loop, which takes the keys."
  (run-at-time seconds nil
               (lambda ()
                 (condition-case problem
                     (apply function arguments)
                   (error (screenshots-fail problem))))))

(defun screenshots-poll (scenes deadline)
  "Draw the first of SCENES if it is ready, or look again until DEADLINE."
  (pcase-let ((`((,name ,_ ,_ ,_ ,regexp) . ,rest) scenes))
    (cond ((screenshots-shown-p regexp)
           (screenshots-save name)
           (screenshots-type (listify-key-sequence (kbd "C-g C-g C-g"))
                             #'screenshots-play rest))
          ((> (float-time) deadline)
           (error "%S never appeared" regexp))
          (t
           (screenshots-later 0.2 #'screenshots-poll scenes deadline)))))

(defun screenshots-draw ()
  "Draw all pictures, then leave Emacs; with failure if one is not had."
  (screenshots-later 0.5 (lambda ()
                           (unless (fboundp 'x-export-frames)
                             (error "This Emacs cannot draw itself: it lacks Cairo"))
                           (screenshots-prepare)
                           (screenshots-play screenshots-scenes))))

(defun screenshots-fail (problem)
  "Leave Emacs because of PROBLEM, an error."
  (princ (format "screenshots: %s; keys left: %S; on the screen is:\n%s\n"
                 (error-message-string problem) unread-command-events
                 (mapconcat (lambda (window)
                              (with-current-buffer (window-buffer window)
                                (buffer-substring (window-start window)
                                                  (min (point-max)
                                                       (+ (window-start window) 2000)))))
                            (window-list nil t) "\n----\n"))
         #'external-debugging-output)
  (kill-emacs 1))

(provide 'screenshots)
;;; screenshots.el ends here
