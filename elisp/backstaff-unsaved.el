;;; backstaff-unsaved.el --- Texts that are not saved yet, for the server  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A tool that reads files should see the same text as the user.  So a call of such a
;; tool names the modified buffers that visit files below its root, each with the SHA-256
;; of its text, encoded as saving would encode it (but without the newline that some
;; modes add at the end).  If the server does not know a digest, it asks for the text, which
;; then goes to it in pieces, and the call is made again.  A digest is computed once a change.
;;
;; Text leaves no root: a buffer that visits a file elsewhere is never sent, nor one
;; whose file is encrypted or holds credentials.
;;
;; A call also names the coding systems of saved files that are visited and not in
;; UTF-8, as in (("old.txt" "iso-latin-1")), so that the server can decode them.

;;; Code:

(require 'backstaff-names)
(require 'backstaff-server)

(defcustom backstaff-send-unsaved-text t
  "Whether tools that read files get the text of modified buffers.
If nil, they read the files on the disk."
  :type 'boolean :group 'backstaff
  :package-version '(backstaff . "0.1.0"))

(defconst backstaff-unsaved--most-bytes (* 4 1024 1024)
  "Maximum number of bytes of text that a call names; the server refuses more.")

(defconst backstaff-unsaved--most-codings 200
  "Maximum number of coding systems of saved files that a call names.")

(defconst backstaff-unsaved--remote-room (* 32 1024)
  "Maximum number of bytes that names take in a call to another host.
A request over a network has at most 64 KiB, so that the pipe to ssh takes it
at once: Emacs would wait for a full pipe, and on a dead network for ever.
The rest is for arguments.")

(defconst backstaff-unsaved--piece (* 60 1024)
  "Maximum number of characters of a piece, in Base64, for the same reason.")

(defconst backstaff-unsaved-most-seconds 5
  "Maximum number of seconds for which pieces are sent for a call.
After that the files on the disk count, and the next call sends the rest.")

(defvar backstaff-unsaved-deadline nil
  "The time after which no more texts are looked at, as `float-time', or nil.
The others are left out, and the next look goes on with them.  The longest
step, the digest of a text of 4 MiB, takes some 25 ms more.")

(defvar backstaff-unsaved-true-root nil
  "A root whose name has no links in it, so that the disk is not asked, or nil.")

(defconst backstaff-unsaved--secret
  (rx (or (: ".gpg" eos) "/.authinfo" "/.netrc"))
  "Regexp for files whose text never leaves Emacs: their names after a slash.")

(defun backstaff-unsaved-plain-name (name)
  "Return NAME, a file's, without the marks that Emacs adds to names of copies.
For example \".env\" for \".env~\", \".env.~1~\" and \"#.env#\".  The server's
fs/secrets.py does the same."
  (if (string-match "\\(\\`\\|/\\)#\\([^/]*\\)#\\'" name)
      (concat (substring name 0 (match-end 1)) (match-string 2 name))
    (replace-regexp-in-string "\\(?:\\(?:\\.~[0-9]+\\)?~\\|#\\)\\'" "" name t t)))

(defun backstaff-unsaved-secret-p (name)
  "Return non-nil if the text of a file called NAME never leaves Emacs."
  (let ((case-fold-search t))
    (string-match-p backstaff-unsaved--secret (concat "/" (backstaff-unsaved-plain-name name)))))

(defvar-local backstaff-unsaved--known nil
  "The text of this buffer when encoded: ((TICK . SET) CODING DIGEST SIZE).
It is right while the buffer's modification tick is TICK, and SET is its
`buffer-file-coding-system'.")

(defun backstaff-unsaved-file-names (buffer)
  "Return the names of the file that BUFFER visits, a list, or nil.
The true name, which has no links in it, comes before the given one.
This handles strings only: a primitive for file names could call a handler,
which may start a program or ask another host."
  (when-let* ((name (buffer-local-value 'buffer-file-name buffer))
              (true (or (buffer-local-value 'buffer-file-truename buffer) name)))
    ;; Emacs abbreviates true names: "~/a", and since Emacs 29 "/ssh:host:~/a".
    (list (cond ((string-prefix-p "~/" true) (concat (expand-file-name "~/") (substring true 2)))
                ((string-match-p "\\`/[^/:]+:[^/]*~/" true) name)
                (t true))
          name)))

(defun backstaff-unsaved-roots (root)
  "Return the names of the directory ROOT, a list.
They are the given one and, on this host, the true one, which on another host
would cost a round trip."
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
  (and backstaff-send-unsaved-text
       (buffer-modified-p)
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

(defun backstaff-unsaved--state ()
  "Return what a change of the current buffer's text or coding system changes."
  (cons (buffer-chars-modified-tick) buffer-file-coding-system))

(defun backstaff-unsaved-late-p ()
  "Return non-nil after `backstaff-unsaved-deadline'."
  (and backstaff-unsaved-deadline (> (float-time) backstaff-unsaved-deadline)))

(defvar backstaff-unsaved--encoded nil
  "The text that was encoded last: (BUFFER STATE CODING POSITION PARTS).
It is nil if there was no `backstaff-unsaved-deadline'.
POSITION is where the rest of it begins.  PARTS has the bytes before, the last
ones first.")

(defun backstaff-unsaved--encode ()
  "Return the coding and the bytes with which saving would write this buffer.
They are a cons, or nil if `backstaff-unsaved-deadline' comes first: the next
call goes on where this one has stopped."
  (let* ((state (backstaff-unsaved--state))
         (given (or buffer-file-coding-system 'utf-8-unix))
         ;; Saving writes plain newlines where the coding leaves them open.
         (eol (if (integerp (coding-system-eol-type given)) (coding-system-eol-type given) 0))
         (utf-8 (coding-system-change-eol-conversion 'utf-8 eol))
         (begun (and (eq (car backstaff-unsaved--encoded) (current-buffer))
                     (equal (nth 1 backstaff-unsaved--encoded) state)
                     (cddr backstaff-unsaved--encoded)))
         (coding (cond (begun (car begun))
                       ((eq (coding-system-base given) 'undecided) utf-8)
                       ((coding-system-change-eol-conversion given eol))))
         (start (if begun (nth 1 begun) 1))
         (parts (nth 2 begun)))
    (save-restriction
      (widen)
      (while (and (< start (point-max)) (not (backstaff-unsaved-late-p)))
        ;; A part takes some 5 ms.  Other codings than these may begin each with a mark.
        (let ((end (if (and (memq (coding-system-type coding) '(utf-8 charset))
                            (not (coding-system-get coding :bom)))
                       (min (point-max) (+ start 100000))
                     (point-max))))
          (if (and (not (eq coding utf-8)) (unencodable-char-position start end coding))
              (setq coding utf-8 start 1 parts nil)
            (push (encode-coding-string (buffer-substring-no-properties start end) coding) parts)
            (setq start end))))
      (when (and (= start (point-max)) (or (null parts) (cdr parts)))
        (setq parts (list (apply #'concat (reverse parts)))))
      (setq backstaff-unsaved--encoded
            (and backstaff-unsaved-deadline (list (current-buffer) state coding start parts)))
      (and (= start (point-max)) (cons coding (car parts))))))

(defun backstaff-unsaved--look ()
  "Return (CODING DIGEST SIZE) of the text of the current buffer.
CODING is the coding system that saving the buffer would use.  Return nil if
`backstaff-unsaved-deadline' comes first; the next call does the rest."
  (let ((state (backstaff-unsaved--state)))
    (unless (equal state (car backstaff-unsaved--known))
      (when-let* ((encoded (backstaff-unsaved--encode)) ((not (backstaff-unsaved-late-p))))
        (setq backstaff-unsaved--known (list state (car encoded)
                                             (secure-hash 'sha256 (cdr encoded))
                                             (length (cdr encoded))))))
    (and (equal state (car backstaff-unsaved--known)) (cdr backstaff-unsaved--known))))

(defun backstaff-unsaved-text (digest)
  "Return the bytes of the text with DIGEST that a context named, or nil.
It is also nil if `backstaff-unsaved-deadline' comes first."
  (cl-loop for buffer in (buffer-list)
           when (equal digest (nth 2 (buffer-local-value 'backstaff-unsaved--known buffer)))
           return (with-current-buffer buffer
                    (and (equal (nth 1 (backstaff-unsaved--look)) digest)
                         (cdr (backstaff-unsaved--encode))))))

(defun backstaff-unsaved--buffers (root)
  "Return lists (NAME BUFFER UNSAVED) of files below ROOT for a server.
UNSAVED is non-nil if the buffer's text counts, and else only its coding system."
  (let ((roots (backstaff-unsaved-roots root)) (host (file-remote-p root)))
    (cl-loop
     for buffer in (buffer-list)
     ;; Most buffers visit no file, and that is found out soonest.
     when (buffer-local-value 'buffer-file-name buffer)
     append (with-current-buffer buffer
              (let ((unsaved (backstaff-unsaved--eligible-p)))
                (when-let* (((or unsaved (backstaff-unsaved--coding-to-name)))
                            ;; On another host, where true names are not known, the given name
                            ;; counts as well.  The server there follows no link that leads
                            ;; elsewhere.
                            (name (cl-loop for name in (backstaff-unsaved-file-names buffer)
                                           thereis (backstaff-unsaved-below name roots)
                                           while host)))
                  (list (list name buffer unsaved))))))))

(defun backstaff-unsaved-context (method root)
  "Return the texts in buffers that belong to a call of METHOD about ROOT.
The value is a plist:

`:items'     (NAME DIGEST CODING) for each text that is not saved
`:codings'   (NAME CODING) for saved files that are not in UTF-8
`:left-out'  the names of files whose texts are too much
`:late'      non-nil if the time, `backstaff-unsaved-deadline', was up for some
`:host'      the host of ROOT"
  (let* ((host (file-remote-p root))
         (room (if host backstaff-unsaved--remote-room most-positive-fixnum))
         (total 0) (items nil) (codings nil) (left-out nil) (late nil))
    (pcase-dolist (`(,name ,buffer ,unsaved)
                   (and (or (eq backstaff-server-content-readers 'unknown)
                            (cl-some (lambda (id) (or (equal id method)
                                                      (string-suffix-p (concat "/" method) id)))
                                     backstaff-server-content-readers))
                        (backstaff-unsaved--buffers root)))
      (with-current-buffer buffer
        (pcase-let* ((cost (+ (string-bytes name) 120)) ; with digest, coding, parentheses
                     (`(,coding ,digest ,size)
                      (and unsaved (<= (buffer-size) backstaff-unsaved--most-bytes)
                           (or (backstaff-unsaved--look) (progn (setq late t) nil)))))
          (cond
           ((and digest (<= cost room) (<= (+ total size) backstaff-unsaved--most-bytes)
                 (< (length items) 1000)) ; the server refuses more
            (cl-incf total size)
            (cl-decf room cost)
            (push (list name digest (symbol-name coding)) items))
           (t
            (when unsaved (push name left-out))
            (when-let ((coding (and (length< codings backstaff-unsaved--most-codings)
                                    (<= cost room) (backstaff-unsaved--coding-to-name))))
              (cl-decf room cost)
              (push (list name coding) codings)))))))
    (list :items items :codings codings :left-out left-out :late late :host host)))

(defun backstaff-unsaved-pieces (texts names)
  "Return the pieces (DIGEST SIZE OFFSET BASE64) of those of TEXTS with NAMES.
TEXTS is a `backstaff-unsaved-context'."
  (cl-loop
   for (name digest) in (plist-get texts :items)
   for bytes = (and (member name names) (backstaff-unsaved-text digest))
   for data = (base64-encode-string (or bytes "") t)
   when bytes
   append (or (cl-loop for start from 0 below (length data) by backstaff-unsaved--piece
                       for end = (min (length data) (+ start backstaff-unsaved--piece))
                       ;; The offset counts bytes, three for four characters.
                       collect (list digest (length bytes) (/ (* 3 start) 4)
                                     (substring data start end)))
              (list (list digest 0 0 "")))))

(defun backstaff-unsaved-pieces-left (pieces have)
  "Return the PIECES that are to be sent once the first is answered.
HAVE, the answer, is the number of bytes of that text that the server has: more
than the first piece has if an earlier call was given up."
  (cl-remove-if (lambda (piece)
                  (and (equal (car piece) (caar pieces)) (natnump have) (< (nth 2 piece) have)))
                (cdr pieces)))

(defun backstaff-unsaved-without (texts pieces)
  "Return TEXTS, a `backstaff-unsaved-context', without those that lack PIECES.
Their files are among `:left-out'."
  (let ((texts (copy-sequence texts)))
    (dolist (item (plist-get texts :items) texts)
      (when (assoc (cadr item) pieces)
        (plist-put texts :items (remq item (plist-get texts :items)))
        (plist-put texts :left-out (cons (car item) (plist-get texts :left-out)))))))

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
A warning, which is also the last line of the text, names the files whose texts
were left out, so that the disk answered for them."
  (if-let ((note (backstaff-unsaved--note texts)))
      (let ((reply (copy-sequence reply)))
        (plist-put reply :text (format "%s\n[%s]\n"
                                       (string-trim-right (plist-get reply :text) "\n") note))
        (plist-put reply :warnings (append (plist-get reply :warnings) (list note))))
    reply))

(defun backstaff-unsaved-add-state (reply root)
  "Return REPLY with the state of the buffer that visits its file.
ROOT is the root of the call.  The data get `:buffer', the buffer's name, and
`:buffer-modified'.  If there are unsaved changes, the text gets a last line
such as \"Buffer: a.c (unsaved changes)\".  Replies of other tools and about
files without a buffer do not change."
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
