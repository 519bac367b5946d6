;;; backstaff-unsaved.el --- Texts that are not saved yet, for the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A tool that reads files should see what the user sees.  So a call of such a tool
;; names the modified buffers that visit files below its root, each with the SHA-256
;; of the bytes that saving it would write.  The bytes travel with the first call
;; that names a digest, and not again.  If the server does not know a digest, it says
;; so, and the call is made once more with all bytes.
;;
;; A digest is computed once a change, so a call with twenty modified buffers that
;; stay the same costs twenty comparisons of a number.
;;
;; Text leaves no root: a buffer that visits a file elsewhere is never sent, nor one
;; whose file is encrypted or holds credentials.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff-names)
(require 'backstaff-server)

(defcustom backstaff-send-unsaved-text t
  "Whether tools that read files get the text of modified buffers.
If nil, they answer with what is on the disk."
  :type 'boolean
  :group 'backstaff)

(defconst backstaff-unsaved--most-bytes (* 4 1024 1024)
  "How many bytes of text a call may name; the server refuses more.")

(defconst backstaff-unsaved--most-remote-bytes (* 32 1024)
  "How many bytes of text travel to another host with one call.
In Base64 they fit in the largest request that goes over a network.")

(defconst backstaff-unsaved--secret
  (rx (or (: ".gpg" eos) (: (or bos "/") (or ".authinfo" ".netrc") (* nonl) eos)))
  "What the names of files match whose text never leaves Emacs.")

(defvar-local backstaff-unsaved--known nil
  "What saving this buffer would write: ((TICK . SET) CODING DIGEST SIZE).
It is right while the buffer's modification tick is TICK, and SET is its
`buffer-file-coding-system'.")

(defvar backstaff-unsaved--sent (make-hash-table :test #'equal)
  "The texts that were sent, as keys (HOST . DIGEST).
A server that has forgotten one asks for it.")

(defun backstaff-unsaved-file-names (buffer)
  "Return the names of the file that BUFFER visits, a list, or nil.
The true name, which has no links in it, comes before the given one.
This handles strings only: a primitive for file names could call a handler,
which may start a program or ask another host."
  (when-let ((name (buffer-local-value 'buffer-file-name buffer)))
    (let ((true-name (or (buffer-local-value 'buffer-file-truename buffer) name)))
      (list (if (string-prefix-p "~/" true-name)
                (concat (expand-file-name "~/") (substring true-name 2))
              true-name)
            name))))

(defun backstaff-unsaved--relative (roots)
  "Return the name of the current buffer's file below one of ROOTS, or nil.
ROOTS are names of the same directory, absolute, each with a slash at its end."
  (cl-loop for name in (backstaff-unsaved-file-names (current-buffer))
           thereis (cl-loop for root in roots
                            when (string-prefix-p root name)
                            return (substring name (length root)))))

(defun backstaff-unsaved--eligible-p ()
  "Return non-nil if the current buffer has a text that a server may get."
  (and buffer-file-name
       (not (buffer-base-buffer)) ; the base buffer has the same text
       (buffer-modified-p)
       (not buffer-file-format)
       (let ((name (file-local-name buffer-file-name)))
         ;; A handler such as that for .gz writes other bytes than the text's.
         (not (or (find-file-name-handler name 'write-region)
                  (string-match-p backstaff-unsaved--secret name))))))

(defun backstaff-unsaved--coding ()
  "Return the coding system that saving the current buffer would use."
  (let* ((coding (or buffer-file-coding-system 'utf-8-unix))
         (eol (coding-system-eol-type coding))
         (base (coding-system-base coding)))
    (when (or (eq base 'undecided)
              (save-restriction
                (widen)
                (unencodable-char-position (point-min) (point-max) coding)))
      (setq coding 'utf-8))
    ;; Saving writes plain newlines where the coding leaves them open.
    (coding-system-change-eol-conversion coding (if (integerp eol) eol 0))))

(defun backstaff-unsaved--bytes (coding)
  "Return the bytes that saving the current buffer in CODING would write."
  (save-restriction
    (widen)
    (encode-coding-string (buffer-substring-no-properties (point-min) (point-max))
                          coding)))

(defun backstaff-unsaved--look ()
  "Return (CODING DIGEST SIZE) of what saving the current buffer would write."
  (let ((state (cons (buffer-chars-modified-tick) buffer-file-coding-system)))
    (unless (equal state (car backstaff-unsaved--known))
      (let* ((coding (backstaff-unsaved--coding))
             (bytes (backstaff-unsaved--bytes coding)))
        (setq backstaff-unsaved--known
              (list state coding (secure-hash 'sha256 bytes) (length bytes)))))
    (cdr backstaff-unsaved--known)))

(defun backstaff-unsaved--read-by-p (method)
  "Return non-nil if the tool METHOD reads files, or if that is not known yet."
  (or (eq backstaff-server-content-readers 'unknown)
      (cl-some (lambda (id) (or (equal id method)
                                (string-suffix-p (concat "/" method) id)))
               backstaff-server-content-readers)))

(defun backstaff-unsaved-context (method root &optional all)
  "Return what a call of METHOD about ROOT says of texts that are not saved.
It is a plist: `:items' for the server, `:bytes' that are sent with them, and
`:left-out', the names of files whose texts are too much.  With ALL, send the
bytes of each text, also if they were sent before."
  (let* ((items nil) (total 0) (carried 0) (left-out nil)
         (host (file-remote-p root))
         ;; The true name of a directory on another host would cost a round trip.
         (roots (if host (list root) (delete-dups (list (file-truename root) root)))))
    (when (and backstaff-send-unsaved-text (backstaff-unsaved--read-by-p method))
      (dolist (buffer (buffer-list))
        (with-current-buffer buffer
          (when-let ((name (and (backstaff-unsaved--eligible-p)
                                (backstaff-unsaved--relative roots))))
            (pcase-let* ((`(,coding ,digest ,size)
                          (if (> (buffer-size) backstaff-unsaved--most-bytes)
                              (list nil nil (buffer-size))
                            (backstaff-unsaved--look)))
                         (key (cons host digest))
                         ;; Until the server has said which tools read files, it
                         ;; gets no text: one of them asks for it.
                         (carry (and (listp backstaff-server-content-readers)
                                     (or all (not (gethash key backstaff-unsaved--sent))))))
              (if (or (> (+ total size) backstaff-unsaved--most-bytes)
                      (and carry host
                           (> (+ carried size) backstaff-unsaved--most-remote-bytes)))
                  (progn (push name left-out)
                         ;; The next call may have room for it.
                         (remhash key backstaff-unsaved--sent))
                (cl-incf total size)
                (when carry
                  (cl-incf carried size)
                  (when (> (hash-table-count backstaff-unsaved--sent) 1000)
                    (clrhash backstaff-unsaved--sent))
                  (puthash key t backstaff-unsaved--sent))
                (push `(,name ,digest ,(symbol-name coding)
                        ,@(and carry (list (base64-encode-string
                                            (backstaff-unsaved--bytes coding) t))))
                      items)))))))
    (list :items items :bytes carried :left-out left-out)))

(defun backstaff-unsaved-needed-p (reply)
  "Return non-nil if REPLY says that the server lacks a text."
  (equal (plist-get (plist-get reply :error) :code) "UNSAVED_NEEDED"))

(defun backstaff-unsaved-told (reply texts)
  "Return REPLY with what TEXTS, a `backstaff-unsaved-context', cost and lack.
`:unsaved-bytes' counts the bytes that were sent with the call.  A warning,
which is also the last line of the text, names the files whose texts were left
out, so that the disk answered for them."
  (let ((left-out (plist-get texts :left-out))
        (reply (copy-sequence reply)))
    (when (> (plist-get texts :bytes) 0)
      (setq reply (plist-put reply :unsaved-bytes (plist-get texts :bytes))))
    (when left-out
      (let ((told (format "unsaved changes too long to send, so the disk counts for %d: %s"
                          (length left-out)
                          ;; A name can have 4,096 bytes, and the text has a budget.
                          (truncate-string-to-width
                           (mapconcat #'backstaff-names-show left-out " ") 100 nil nil t))))
        (setq reply (plist-put reply :warnings
                               (append (plist-get reply :warnings) (list told)))
              reply (plist-put reply :text
                               (concat (string-trim-right (plist-get reply :text) "\n")
                                       "\n[" told "]\n")))))
    reply))

(provide 'backstaff-unsaved)
;;; backstaff-unsaved.el ends here
