;;; backstaff-ui-path.el --- Paths below a root, and the files they name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A path is below the root of a project, such as "src/a.c"; the root itself is ".".  It
;; has the file's exact bytes.  `backstaff-path-visit' is the one place where a person
;; opens a file that a tool named.

;;; Code:

(require 'subr-x)
(require 'backstaff-names)

(defun backstaff-path-relative (root file)
  "Return the path of FILE below ROOT, such as \"src/a.c\".
A file outside of ROOT keeps its absolute name, which the tools refuse."
  (let ((name (directory-file-name (file-name-unquote (expand-file-name file)))))
    (cl-flet ((below (root name)
                (cond ((equal (file-name-as-directory name) root) ".")
                      ((string-prefix-p root name) (substring name (length root))))))
      (or (below root name)
          (below (file-truename root) (file-truename name))
          name))))

(defun backstaff-path-absolute (root path &optional directory)
  "Return the absolute name of PATH, a path below ROOT or an absolute name.
If DIRECTORY is non-nil, the name ends with a slash."
  (if (equal path ".") (if directory root (directory-file-name root))
    ;; An absolute path is as the host has it.
    (concat (if (string-prefix-p "/" path) (file-remote-p root) root) path
            (and directory "/"))))

(defun backstaff-path-shown (name)
  "Return NAME, an absolute file name, as a buffer's name shows it: \"~/src/\"."
  ;; A handler of another host would ask that host.
  (backstaff-names-show (let ((file-name-handler-alist nil)) (abbreviate-file-name name))))

(defun backstaff-path-file-name (name root)
  "Return NAME, an absolute file name, quoted against handlers of its directory.
Otherwise a directory called \"ssh:host:\" or \"a.zip\" would lead to another
machine or into an archive, and so would \"/ssh:host:\" after a newline.
Handlers of the file itself, such as decompression, do their work.  NAME is on
the host of ROOT."
  (let* ((host (or (file-remote-p root) ""))
         (local (string-remove-prefix host name))
         (directory (substring local 0 (1+ (string-match "/[^/]*\\'" local)))))
    (if (or (and (equal host "") (string-match-p "^/[^/]*:" local))
            (not (eq (find-file-name-handler (concat host directory) 'expand-file-name)
                     (and (not (equal host ""))
                          (find-file-name-handler host 'expand-file-name)))))
        (concat host "/:" local)
      name)))

(defun backstaff-path-buffer (file root)
  "Return the buffer that visits FILE, an absolute name, or nil for a directory.
ROOT is the root of its project.  Ask before a link is followed out of ROOT."
  (let* ((name (backstaff-path-file-name file root))
         (true-name (file-truename name))
         ;; In Emacs 28 `file-regular-p' misses a name that cannot be decoded.
         (attributes (file-attributes true-name)))
    (unless (or (null attributes)
                (file-in-directory-p true-name (backstaff-path-file-name root root))
                (y-or-n-p (format "%s leads out of the project, to %s.  Follow it? "
                                  (backstaff-names-show (file-name-nondirectory file))
                                  (backstaff-names-show (file-name-unquote true-name)))))
      (user-error "The link was not followed"))
    (pcase (and attributes (aref (file-attribute-modes attributes) 0))
      (?d nil)
      (?- (find-file-noselect name))
      ;; Tools also read the text of a new file before it is saved.
      ((and 'nil (guard (get-file-buffer name))) (get-file-buffer name))
      ('nil (user-error (if (file-symlink-p name) "%s is a broken link" "%s does not exist")
                        (backstaff-names-show file)))
      ;; Opening a fifo may block forever, and a device may do anything.
      (_ (user-error "%s is not a regular file" (backstaff-names-show file))))))

(defun backstaff-path-visit (path root &optional other-window)
  "Visit PATH, a path below ROOT, in another window if OTHER-WINDOW is non-nil.
Show a directory, or a link to one, with Dired.  Ask before a link is followed
out of ROOT."
  (let* ((name (backstaff-path-absolute root path)) (buffer (backstaff-path-buffer name root)))
    (if (null buffer)
        (funcall (if other-window #'dired-other-window #'dired) (backstaff-path-file-name name root))
      (funcall (if other-window #'switch-to-buffer-other-window #'pop-to-buffer-same-window) buffer))))

(provide 'backstaff-ui-path)
;;; backstaff-ui-path.el ends here
