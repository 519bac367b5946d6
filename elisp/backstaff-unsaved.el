;;; backstaff-unsaved.el --- Texts that are not saved yet, for the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A tool that reads files sees the same text as the user.  A call of such a tool names the
;; modified buffers that visit files below its root, each with the SHA-256 of its text, encoded
;; as saving would encode it.  If the server does not know a digest, it asks for the text,
;; which then goes to it in pieces, and the call is made again.
;;
;; A buffer that visits a file elsewhere is never sent, nor one whose file is encrypted or
;; holds credentials.

;;; Code:

(require 'backstaff-names)
(require 'backstaff-server)

(defconst backstaff-unsaved--most-bytes (* 4 1024 1024)
  "Maximum number of bytes of text that a call names; the server refuses more.")

(defconst backstaff-unsaved--most-characters 700000
  "Maximum number of characters of a text below a `backstaff-unsaved-deadline'.
Emacs encodes 700,000 characters in 40 ms.")

(defconst backstaff-unsaved-most-seconds 5
  "Maximum number of seconds for which pieces are sent for a call.")

(defvar backstaff-unsaved-deadline nil
  "The time after which no more texts are looked at, as `float-time', or nil.
The others are left out, and the next look goes on with them.")

(defvar backstaff-unsaved-true-root nil
  "A root whose name has no links in it, so that the disk is not asked, or nil.")

(defconst backstaff-unsaved--secret
  (rx (or (: ".gpg" eos) "/.authinfo" "/.netrc"))
  "Regexp for files whose text never leaves Emacs: their names after a slash.")

(defun backstaff-unsaved-plain-name (name)
  "Return NAME, a file's, without the marks that Emacs adds to names of copies.
It is \".env\" for \".env~\", \".env.~1~\" and \"#.env#\", as in fs/secrets.py."
  (if (string-match "\\(\\`\\|/\\)#\\([^/]*\\)#\\'" name)
      (concat (substring name 0 (match-end 1)) (match-string 2 name))
    (replace-regexp-in-string "\\(?:\\(?:\\.~[0-9]+\\)?~\\|#\\)\\'" "" name t t)))

(defun backstaff-unsaved-secret-p (name)
  "Return non-nil if the text of a file called NAME never leaves Emacs."
  (let ((case-fold-search t))
    (string-match-p backstaff-unsaved--secret (concat "/" (backstaff-unsaved-plain-name name)))))

(defvar-local backstaff-unsaved--known nil
  "The text of this buffer when encoded: ((TICK . SET) CODING DIGEST SIZE).
It is right while TICK and SET are the buffer's tick and coding system.")

(defun backstaff-unsaved-file-names (buffer)
  "Return the names of the file that BUFFER visits: the true and the given one.
This handles strings: a primitive for file names could call a handler, which may
start a program or ask another host.  Only the home on a host is asked for once."
  (when-let* ((name (buffer-local-value 'buffer-file-name buffer))
              (true (or (buffer-local-value 'buffer-file-truename buffer) name)))
    ;; Emacs abbreviates true names: "~/a", and since Emacs 29 "/ssh:host:~/a".
    (list (cond ((string-prefix-p "~/" true) (concat (expand-file-name "~/") (substring true 2)))
                ((and (string-match "\\`\\(/[^/:]+:[^/]*\\)~/" true)
                      (backstaff-server-connected-p (match-string 1 true)))
                 (let ((rest (substring true (match-end 0))) (home (concat (match-string 1 true) "~/")))
                   (concat (backstaff-server-once (list 'home home)
                                                  (lambda () (expand-file-name home)))
                           rest)))
                (t true))
          name)))

(defun backstaff-unsaved-roots (root)
  "Return the true and the given name of the directory ROOT, a list.
On another host the true name would cost a round trip, so it is left out."
  (if (or (equal root backstaff-unsaved-true-root) (file-remote-p root)) (list root)
    (delete-dups (list (let ((file-name-handler-alist nil)) (file-truename root)) root))))

(defun backstaff-unsaved-below (name roots)
  "Return NAME, an absolute file name, as it is below one of ROOTS, or nil.
The root itself is \"\", with a slash at the end of NAME or without."
  (let ((name (string-remove-prefix "/:" name)))
    (unless (string-match-p "/\\.\\.?\\(?:/\\|\\'\\)" name)
      (cl-loop for root in roots
               thereis (cond ((string-prefix-p root name) (substring name (length root)))
                             ((equal (concat name "/") root) ""))))))

(defun backstaff-unsaved--eligible-p ()
  "Return non-nil if the current buffer has a text that a server may get.
It visits a file, so it is no indirect buffer; its base buffer has the text."
  (and (buffer-modified-p)
       (not buffer-file-format)
       ;; Saving would write another text: Hexl shows a dump, and tar-mode a listing.
       (not (or write-contents-functions (remq t write-region-annotate-functions)))
       ;; The member of an archive has a name that no file has.
       (not (or (bound-and-true-p archive-subfile-mode) (bound-and-true-p tar-subfile-mode)))
       (let ((name (file-local-name buffer-file-name)))
         ;; A handler such as that for .gz writes other bytes than the text's.
         (not (or (find-file-name-handler name 'write-region)
                  (backstaff-unsaved-secret-p name))))))

(defun backstaff-unsaved--coding-to-name ()
  "Return the name of the current buffer's coding system if a server needs it.
It needs none for UTF-8, nor for a file that begins with a byte order mark."
  (when-let ((coding buffer-file-coding-system))
    (unless (or (memq (coding-system-type coding) '(utf-8 undecided raw-text))
                (eq (coding-system-base coding) 'us-ascii)
                (coding-system-get coding :bom))
      (symbol-name (coding-system-base coding)))))

(defun backstaff-unsaved-late-p ()
  "Return non-nil after `backstaff-unsaved-deadline'."
  (and backstaff-unsaved-deadline (> (float-time) backstaff-unsaved-deadline)))

(defun backstaff-unsaved--encode ()
  "Return the coding and the bytes with which saving would write this buffer."
  (let* ((given (or buffer-file-coding-system 'utf-8-unix))
         ;; Saving writes plain newlines where the coding leaves them open.
         (eol (if (integerp (coding-system-eol-type given)) (coding-system-eol-type given) 0))
         (utf-8 (coding-system-change-eol-conversion 'utf-8 eol)))
    (save-restriction
      (widen)
      (let ((coding (if (or (eq (coding-system-base given) 'undecided)
                            (unencodable-char-position (point-min) (point-max) given))
                        utf-8
                      (coding-system-change-eol-conversion given eol))))
        (cons coding (encode-coding-string
                      (buffer-substring-no-properties (point-min) (point-max)) coding))))))

(defvar backstaff-unsaved--last nil
  "A cons of the digest and the bytes of the text that was encoded last.")

(defun backstaff-unsaved--look ()
  "Return (CODING DIGEST SIZE) of the text of the current buffer, as saved.
Return nil if that is not known yet after `backstaff-unsaved-deadline'."
  (let ((state (cons (buffer-chars-modified-tick) buffer-file-coding-system)))
    (unless (or (equal state (car backstaff-unsaved--known)) (backstaff-unsaved-late-p))
      (pcase-let* ((`(,coding . ,bytes) (backstaff-unsaved--encode))
                   (digest (secure-hash 'sha256 bytes)))
        (setq backstaff-unsaved--last (cons digest bytes)
              backstaff-unsaved--known (list state coding digest (length bytes)))))
    (and (equal state (car backstaff-unsaved--known)) (cdr backstaff-unsaved--known))))

(defun backstaff-unsaved-piece (digest start &optional most)
  "Return the piece (DIGEST SIZE START BASE64) of a text that a context named.
It has MOST bytes, by default as many as a request to another host can have.
Return nil if the text has changed, or after the deadline."
  (unless (equal digest (car backstaff-unsaved--last))
    (cl-loop for buffer in (buffer-list)
             when (equal digest (nth 2 (buffer-local-value 'backstaff-unsaved--known buffer)))
             return (with-current-buffer buffer
                      (setq backstaff-unsaved--known nil)
                      (backstaff-unsaved--look))))
  (when (equal digest (car backstaff-unsaved--last))
    (let* ((bytes (cdr backstaff-unsaved--last)) (start (min start (length bytes))))
      (list digest (length bytes) start
            (base64-encode-string
             (substring bytes start (min (length bytes) (+ start (or most (* 45 1024))))) t)))))

(defun backstaff-unsaved-context (method root)
  "Return the texts in buffers that belong to a call of METHOD about ROOT.
If METHOD is nil, it may be any.  The value is a plist:

`:items'     (NAME DIGEST CODING) for each text that is not saved
`:codings'   (NAME CODING) for saved files that are not in UTF-8
`:left-out'  the names of files whose texts are too much
`:late'      non-nil if the time, `backstaff-unsaved-deadline', was up for some
`:host'      the host of ROOT"
  (let* ((host (file-remote-p root)) (roots (backstaff-unsaved-roots root))
         ;; Bytes for names, and 120 for the digest of each.  A request to another host has 64 KiB
         ;; at most, with the arguments; here there are fewer than the 1,000 texts that a server takes.
         (room (if host (* 32 1024) 120000))
         (total 0) (items nil) (codings nil) (left-out nil) (late nil))
    (dolist (buffer (and (or (null method) (eq backstaff-server-content-readers 'unknown)
                             ;; A tool may be called without the name of its toolset.
                             (cl-some (lambda (id) (or (equal id method)
                                                       (string-suffix-p (concat "/" method) id)))
                                      backstaff-server-content-readers))
                         (buffer-list)))
      ;; Most buffers visit no file, and that is found out soonest.
      (when (buffer-local-value 'buffer-file-name buffer)
        (with-current-buffer buffer
          (let* ((unsaved (backstaff-unsaved--eligible-p))
                 (saved-in (backstaff-unsaved--coding-to-name))
                 ;; On another host, where true names are not known, the given name counts as
                 ;; well; the server there follows no link out of the root.
                 (name (and (or unsaved saved-in)
                            (cl-loop for name in (backstaff-unsaved-file-names buffer)
                                     thereis (backstaff-unsaved-below name roots)
                                     while host)))
                 (cost (+ (string-bytes (or name "")) 120))
                 (fits (<= cost room)))
            (pcase (and name unsaved
                        (<= (buffer-size) (if backstaff-unsaved-deadline
                                              backstaff-unsaved--most-characters
                                            backstaff-unsaved--most-bytes))
                        (or (backstaff-unsaved--look) (progn (setq late t) nil)))
              ((and `(,coding ,digest ,size)
                    (guard (and fits (<= (+ total size) backstaff-unsaved--most-bytes))))
               (cl-incf total size)
               (cl-decf room cost)
               (push (list name digest (symbol-name coding)) items))
              ((guard name)
               (when unsaved (push name left-out))
               (when (and saved-in fits)
                 (cl-decf room cost)
                 (push (list name saved-in) codings))))))))
    (list :items items :codings codings :left-out left-out :late late :host host)))

(defun backstaff-unsaved-without (texts digests)
  "Return TEXTS, a `backstaff-unsaved-context', without those with DIGESTS.
The files of these are among `:left-out'."
  (let ((late (cl-remove-if-not (lambda (item) (member (cadr item) digests))
                                (plist-get texts :items))))
    `(:items ,(cl-set-difference (plist-get texts :items) late)
      :left-out ,(append (mapcar #'car late) (plist-get texts :left-out)) ,@texts)))

(defun backstaff-unsaved--note (texts)
  "Return a sentence that names the files that TEXTS leaves out, or nil."
  (when-let ((left-out (plist-get texts :left-out)))
    (format "unsaved changes too long to send, so the disk counts for %d: %s"
            (length left-out)
            ;; A name can have 4,096 bytes, and the text of a reply has a limit.
            (truncate-string-to-width
             (mapconcat #'backstaff-names-show left-out " ") 100 nil nil t))))

(defun backstaff-unsaved-room (limit texts)
  "Return the part of LIMIT, in bytes, for an answer beside the note on TEXTS.
A limit too small for both is for the answer."
  (let ((note (backstaff-unsaved--note texts)))
    (if (and note (natnump limit) (> limit (* 2 (string-bytes note))))
        (- limit (string-bytes note) (length "\n[]\n"))
      limit)))

(defun backstaff-unsaved-noted (reply texts)
  "Return REPLY with a note about TEXTS, a `backstaff-unsaved-context'.
It names the files whose texts were left out, as a warning and as the last line."
  (if-let ((note (backstaff-unsaved--note texts)))
      (let ((reply (copy-sequence reply)))
        (plist-put reply :text (format "%s\n[%s]\n"
                                       (string-trim-right (plist-get reply :text) "\n") note))
        (plist-put reply :warnings (append (plist-get reply :warnings) (list note))))
    reply))

(defun backstaff-unsaved-add-state (reply root)
  "Return REPLY with the state of the buffer that visits its file below ROOT.
The data get `:buffer', its name, and `:buffer-modified', and the text gets a
last line if there are unsaved changes.  Replies of other tools do not change."
  (when-let* (((equal (plist-get reply :tool) "agent-q/get_file_info"))
              (path (concat (file-remote-p root) (plist-get (plist-get reply :data) :path)))
              (buffer (cl-find path (buffer-list) :test #'member
                               :key #'backstaff-unsaved-file-names))
              (name (substring-no-properties (buffer-name buffer)))
              (text (plist-get reply :text)))
    (plist-put reply :data (append (plist-get reply :data)
                                   (list :buffer name
                                         :buffer-modified (buffer-modified-p buffer))))
    (when (buffer-modified-p buffer)
      (plist-put reply :text (format "%s\nBuffer: %s (unsaved changes)%s"
                                     (string-remove-suffix "\n" text) (backstaff-names-show name)
                                     (if (string-suffix-p "\n" text) "\n" "")))))
  reply)

(provide 'backstaff-unsaved)
;;; backstaff-unsaved.el ends here
