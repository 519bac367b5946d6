;;; backstaff-ui-buffer-state.el --- Unsaved changes in replies about files  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The server describes a file on disk.  To replies of Agent-Q's get_file_info this
;; adds the buffer that visits the file, and whether the buffer has unsaved changes.
;; `backstaff-reply-functions' calls it.

;;; Code:

(require 'cl-lib)
(require 'backstaff-names)
(require 'backstaff-unsaved)

;;;###autoload (add-hook 'backstaff-reply-functions #'backstaff-buffer-state-add)
;;;###autoload
(defun backstaff-buffer-state-add (reply root)
  "Return REPLY with the state of the buffer that visits its file.
ROOT is the root of the call.  The data get `:buffer', the buffer's name, and
`:buffer-modified'.  If there are unsaved changes, the text gets a last line
such as \"Buffer: a.c (unsaved changes)\".  Replies of other tools and about
files without a buffer do not change."
  (when-let* (((equal (plist-get reply :tool) "agent-q/get_file_info"))
              (path (concat (file-remote-p root) (plist-get (plist-get reply :data) :path)))
              (buffer (cl-find-if (lambda (buffer)
                                    (member path (backstaff-unsaved-file-names buffer)))
                                  (buffer-list)))
              (name (substring-no-properties (buffer-name buffer)))
              (text (plist-get reply :text)))
    (plist-put reply :data (append (plist-get reply :data)
                                   (list :buffer name
                                         :buffer-modified (buffer-modified-p buffer))))
    (when (buffer-modified-p buffer)
      (plist-put reply :text
                 (format (if (string-suffix-p "\n" text) "%sBuffer: %s (unsaved changes)\n"
                           "%s\nBuffer: %s (unsaved changes)")
                         text (backstaff-names-show name)))))
  reply)

(provide 'backstaff-ui-buffer-state)
;;; backstaff-ui-buffer-state.el ends here
