;;; screenshots.el --- Draw the pictures of the documentation  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make screenshots' runs this in an Emacs with a window of its own.  Each
;; scene below types keys on this repository, waits for what they shall bring
;; about and draws the frame to a file.  A scene whose command does not exist
;; is left out.
;;
;; No window manager and no other program has a part in it: Emacs draws itself.

;;; Code:

(require 'backstaff)
(require 'cl-lib)

(declare-function x-export-frames "xfns.c" (&optional frames type))

(defconst screenshots-root
  (expand-file-name "../" (file-name-directory load-file-name))
  "This repository.")

(defconst screenshots-size '(900 . 600)
  "How wide and how high a picture is, in pixels.")

(defconst screenshots-patience 20
  "For how many seconds to wait for what a scene shall bring about.")

(defconst screenshots-scenes
  '(("listing" backstaff-list-directory
     "M-x backstaff-list-directory RET C-a C-k py_backend/backstaff/ RET"
     "__main__")
    ("tree" backstaff-tree
     "M-x backstaff-tree RET C-a C-k py_backend/ RET"
     "backstaff")
    ("menu" backstaff "M-x backstaff RET" "List a directory")
    ("tool" backstaff "M-x backstaff RET W t - e a l l RET - m 2 RET"
     "entry_kind +all[^z-a]*max_depth +2")
    ("inspector" backstaff-run-tool
     "M-x backstaff RET W t - p C-a C-k py_backend RET - e a l l RET - m 2 RET RET"
     "total-files")
    ("doctor" backstaff-doctor "M-x backstaff-doctor RET" "All is well"))
  "What is drawn: a name, the command it needs, keys, and a regexp.
The picture is ready when the regexp matches in a window.")


;;; The frame

(defun screenshots-prepare ()
  "Make Emacs look its best, and the same wherever it is."
  (setq inhibit-startup-screen t
        initial-scratch-message nil
        ring-bell-function #'ignore
        use-dialog-box nil
        frame-resize-pixelwise t
        frame-title-format "Emacs"
        x-gtk-use-system-tooltips nil)
  (menu-bar-mode -1)
  (tool-bar-mode -1)
  (scroll-bar-mode -1)
  (blink-cursor-mode -1)
  (fringe-mode '(12 . 4))
  (load-theme 'modus-operandi t)
  (set-face-attribute 'default nil :family "JetBrains Mono" :height 98)
  (set-frame-position nil 0 0)
  (set-frame-size nil (car screenshots-size) (cdr screenshots-size) t))

(defun screenshots-begin ()
  "Show nothing but this repository's README."
  (delete-other-windows)
  (mapc (lambda (buffer)
          (when (string-match-p "\\`\\*backstaff" (buffer-name buffer))
            (kill-buffer buffer)))
        (buffer-list))
  (find-file (expand-file-name "README.md" screenshots-root))
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

(defun screenshots-wait (regexp)
  "Let processes and timers run until REGEXP matches in a window."
  (with-timeout (screenshots-patience (error "%S never appeared" regexp))
    (while (not (screenshots-shown-p regexp))
      (accept-process-output nil 0.05))))

(defun screenshots-save (name)
  "Draw this frame to the file of the picture NAME."
  (message nil)
  (redisplay t)
  (let ((coding-system-for-write 'binary)
        (file (expand-file-name (format "docs/screenshot-%s.png" name)
                                screenshots-root)))
    (with-temp-buffer
      (set-buffer-multibyte nil)
      (insert (x-export-frames nil 'png))
      (write-region nil nil file nil 'silent))))

(defun screenshots-scene (name command keys regexp)
  "Draw the picture NAME if there is COMMAND: type KEYS, wait for REGEXP."
  (if (not (fboundp command))
      (princ (format "screenshots: there is no %s, so no picture of it\n" command)
             #'external-debugging-output)
    (screenshots-begin)
    (setq unread-command-events (listify-key-sequence (kbd keys)))
    (run-at-time 1 nil #'screenshots-finish name regexp)
    (recursive-edit)))

(defun screenshots-finish (name regexp)
  "Draw the picture NAME once REGEXP matches, and end the scene."
  (when (input-pending-p)
    (error "The scene %s did not take all its keys" name))
  (screenshots-wait regexp)
  (screenshots-save name)
  (setq unread-command-events
        (append (listify-key-sequence (kbd "C-g C-g")) nil))
  (run-at-time 0.3 nil #'exit-recursive-edit))

(defun screenshots-draw ()
  "Draw all pictures, then leave Emacs; with failure if one is not had."
  (run-at-time 120 nil #'kill-emacs 2)
  (condition-case problem
      (progn
        (unless (fboundp 'x-export-frames)
          (error "This Emacs cannot draw itself: it lacks Cairo"))
        (screenshots-prepare)
        (dolist (scene screenshots-scenes)
          (apply #'screenshots-scene scene))
        (kill-emacs 0))
    (error
     (princ (format "screenshots: %s\n" (error-message-string problem))
            #'external-debugging-output)
     (kill-emacs 1))))

(provide 'screenshots)
;;; screenshots.el ends here
