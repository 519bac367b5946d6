;;; backstaff-buffer-state.el --- What buffers know of a file  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server describes a file as it is on disk.  A reply of Agent-Q's
;; get_file_info says, too, which buffer visits the file, and whether it has
;; changes that are not saved.  `backstaff-reply-functions' calls this.

;;; Code:

(require 'cl-lib)
(require 'backstaff-names)

(defun backstaff-buffer-state-add (reply root)
  "Return REPLY with the state of the buffer that visits the file it describes.
ROOT is that of the call.  The data get `:buffer', the buffer's name, and
`:buffer-modified'.  If there are unsaved changes, a last line of the text
says so.  A reply about anything else is returned as it is."
  (let ((buffer (and (equal (plist-get reply :tool) "agent-q/get_file_info")
                     (backstaff-buffer-state--visiting
                      (concat (file-remote-p root)
                              (plist-get (plist-get reply :data) :path))))))
    (when buffer
      (let ((modified (buffer-modified-p buffer))
            (name (substring-no-properties (buffer-name buffer)))
            (text (plist-get reply :text)))
        (plist-put reply :data (append (plist-get reply :data)
                                       (list :buffer name :buffer-modified modified)))
        (when modified
          (plist-put reply :text
                     (format (if (string-suffix-p "\n" text)
                                 "%sBuffer: %s (unsaved changes)\n"
                               "%s\nBuffer: %s (unsaved changes)")
                             text (backstaff-names-show name))))))
    reply))

(defun backstaff-buffer-state--visiting (path)
  "Return a buffer that visits the file PATH, an absolute name, or nil.
This compares strings, as PATH must not reach a primitive that handles
file names: one of them might start a program for it."
  (let ((home (expand-file-name "~/")))
    (cl-find-if
     (lambda (buffer)
       (when-let ((name (buffer-local-value 'buffer-file-name buffer)))
         (let ((true-name (or (buffer-local-value 'buffer-file-truename buffer) "")))
           (or (string= path name)
               (string= path
                        (if (string-prefix-p "~/" true-name)
                            (concat home (substring true-name 2))
                          true-name))))))
     (buffer-list))))

(provide 'backstaff-buffer-state)
;;; backstaff-buffer-state.el ends here
