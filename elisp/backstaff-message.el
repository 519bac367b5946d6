;;; backstaff-message.el --- The messages of EPC, as bytes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Writes and reads the messages of EPC as bytes, and limits their contents, size and depth.
;; A frame is six hex digits, the length of the rest in bytes, and one message,
;; an s-expression:
;;
;;   00002b(call 7 agent-q/list_directory ((:path ".")))   Emacs asks
;;   000010(return 7 VALUE)                                the peer answers
;;
;; or `return-error' and `epc-error' in place of `return'.
;;
;; `backstaff-message--scan' checks a message before `read' sees it.  It lets
;; through plain data alone, without `#', which a peer writes \u0023 in its strings.

;;; Code:

;;; Conditions, to which backstaff-epc.el adds how a call may end

(define-error 'backstaff-error "Backstaff error")
(define-error 'backstaff-protocol-error "Backstaff protocol error" 'backstaff-error)
(define-error 'backstaff-argument-error "Backstaff argument not sendable" 'backstaff-error)

;;; From bytes

;; The number of hex digits before a message is six.
(defconst backstaff-message-largest-frame #xffffff
  "The largest length that six hex digits can say.")

(defun backstaff-message-next ()
  "Take the next message off the current, unibyte buffer.
Return nil if a part of it has not come yet.  Signal a
`backstaff-protocol-error' if it is no message."
  (let ((inhibit-modification-hooks t))
    (goto-char (point-min))
    (skip-chars-forward "0-9a-f" 7)
    (cond ((= (point) 7)
           (let ((end (+ 7 (string-to-number (buffer-substring 1 7) 16))))
             (when (<= end (point-max))
               (prog1 (save-restriction
                        (narrow-to-region 7 end)
                        (backstaff-message--read))
                 (delete-region 1 end)))))
          ((not (eobp))
           (backstaff-message-refuse "expected the length of a frame, got %S"
                                     (buffer-substring 1 (min (point-max) 200)))))))

(defun backstaff-message--read ()
  "Return the message that the accessible part of the buffer is."
  ;; With the usual threshold a big answer costs half its time in collections of garbage.  The
  ;; largest that there can be takes some 100 MB until it is read.
  (let ((gc-cons-threshold (max gc-cons-threshold (* 128 1024 1024)))
        (ascii (backstaff-message--scan)))
    (condition-case problem
        ;; A string is read in three quarters of the time of a buffer.
        (or (if ascii (car (read-from-string (buffer-string)))
              (backstaff-message--with-stray-bytes
               (car (read-from-string (decode-coding-string (buffer-string) 'utf-8-unix)))))
            (error "It is empty"))
      (error (backstaff-message-refuse "a message cannot be read: %s"
                                       (error-message-string problem))))))

(defun backstaff-message--with-stray-bytes (value)
  "Return VALUE, changed in place so that all strings in it are multibyte.
To `read' a string is unibyte if all it holds is ASCII and stray bytes,
and then it is not `equal' to the name of the file, as Emacs has it."
  (cond ((stringp value) (string-to-multibyte value))
        ((consp value)
         (let ((tail value))
           (while (consp tail)
             (setcar tail (backstaff-message--with-stray-bytes (car tail)))
             (setq tail (cdr tail))))
         value)
        ((vectorp value) (vconcat (mapcar #'backstaff-message--with-stray-bytes value)))
        (t value)))

(defconst backstaff-message--max-depth 100
  "Maximum depth of a message, for the C stack of `read'.  Honest ones need 30.")

(defconst backstaff-message--max-tokens 2000000
  "Maximum number of strings and parentheses in a message.
Five million empty lists would keep `read' for eight seconds.")

(defun backstaff-message--scan ()
  "Signal a `backstaff-protocol-error' if the text is not one list of plain data.
Return non-nil if all of it is ASCII, and needs no decoding."
  (let ((depth 0) (ascii t) (left backstaff-message--max-tokens) char)
    (unless (eq (char-after) ?\()
      (backstaff-message--refuse-here "a message is not a list"))
    ;; To `read' none of these means more than a part of a number or a symbol.
    (while (progn (skip-chars-forward " \t\r\n!$%&*+./0-9:<=>@A-Z^_a-z{|}~-")
                  (setq char (char-after)))
      (forward-char)
      (when (< (setq left (1- left)) 0)
        (backstaff-message-refuse "a message has too many parts"))
      (cond
       ((eq char ?\")
        (while (progn (skip-chars-forward "^\"\\\\#\200-\377")
                      (not (eq (setq char (char-after)) ?\")))
          (cond ((null char) (backstaff-message-refuse "a string has no end"))
                ((eq char ?#) (backstaff-message--refuse-here "unexpected text"))
                ((not (eq char ?\\))
                 (setq ascii nil)
                 (skip-chars-forward "\200-\377"))
                ;; Left out are modifiers: `read' recurses on each in \C-\C-\C-.
                ((memq (char-after (1+ (point))) (eval-when-compile
                                                   (append "\"\\/abdefnrtvxuU01234567" nil)))
                 (forward-char 2))
                (t (backstaff-message--refuse-here "unexpected escape"))))
        (forward-char))
       ((or (eq char ?\() (eq char ?\[))
        (when (> (setq depth (1+ depth)) backstaff-message--max-depth)
          (backstaff-message--refuse-here "a message nests too deep")))
       ((or (eq char ?\)) (eq char ?\]))
        (when (zerop (setq depth (1- depth)))
          (skip-chars-forward " \t\r\n")
          (unless (eobp) (backstaff-message--refuse-here "text follows a message"))))
       (t (backward-char) (backstaff-message--refuse-here "unexpected text"))))
    (unless (zerop depth) (backstaff-message-refuse "a message has no end"))
    ascii))

(defun backstaff-message-refuse (format-string &rest arguments)
  "Signal a `backstaff-protocol-error' of FORMAT-STRING with ARGUMENTS."
  (signal 'backstaff-protocol-error (list (apply #'format format-string arguments))))

(defun backstaff-message--refuse-here (problem)
  "Signal a `backstaff-protocol-error' of PROBLEM, quoting the text at point."
  (backstaff-message-refuse
   "%s: %S" problem (buffer-substring (point) (min (point-max) (+ (point) 40)))))

;;; To bytes

(defvar print-integers-as-characters)

(defun backstaff-message--plain (object &optional depth)
  "Return OBJECT, found DEPTH lists deep, without any text property.
Signal a `backstaff-argument-error' if it is not plain data."
  (let* ((depth (1+ (or depth 0)))
         (inner (lambda (part) (backstaff-message--plain part depth))))
    (when (> depth backstaff-message--max-depth)
      (signal 'backstaff-argument-error '("an argument is circular or nests too deep")))
    (cond ((stringp object)
           ;; In a multibyte string `prin1' writes a stray byte as \351.
           (string-to-multibyte (substring-no-properties object)))
          ((or (symbolp object) (numberp object)) object)
          ((vectorp object) (vconcat (mapcar inner object)))
          ((proper-list-p object) (mapcar inner object))
          ;; This is a pair, or a circle, which is deep.
          ((consp object) (cons (funcall inner (car object)) (funcall inner (cdr object))))
          (t (signal 'backstaff-argument-error
                     (list (format "an argument is of type %s: %s" (type-of object)
                                   (truncate-string-to-width
                                    (format "%S" object) 100 nil nil t))))))))

(defun backstaff-message-frame (message &optional room)
  "Return MESSAGE as the bytes that go over the wire, of at most ROOM bytes."
  (let* (;; The bytes are the same whatever options the user has.
         (print-length nil) (print-level nil) (print-circle nil)
         (print-gensym nil) (print-quoted nil)
         (print-continuous-numbering nil) (print-number-table nil)
         (print-escape-newlines nil) (print-escape-control-characters nil)
         (print-escape-nonascii nil) (print-escape-multibyte nil)
         (print-integers-as-characters nil) (float-output-format nil)
         (text (prin1-to-string (backstaff-message--plain message)))
         (body (encode-coding-string (concat text "\n") 'utf-8-unix t))
         (size (length body))
         (room (or room backstaff-message-largest-frame)))
    (when (> size room)
      (signal 'backstaff-argument-error
              (list (format "the arguments make %d bytes, %d are allowed" size room))))
    (concat (format "%06x" size) body)))

(provide 'backstaff-message)
;;; backstaff-message.el ends here
