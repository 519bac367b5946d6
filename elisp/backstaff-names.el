;;; backstaff-names.el --- How names stand in text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A name may hold a newline, an escape sequence, marks that turn the direction of
;; writing, or bytes that are no character.  Shown as it is, it could pass for
;; another name, or for two.  The server says how the odd names of a reply stand in
;; text; `backstaff-names-show' is for other names, as those of buffers and roots.

;;; Code:

(require 'cl-lib)

(defun backstaff-names-labels (reply &optional table)
  "Return a hash table of the labels in REPLY, by the exact names.
A name that is not in the table is its own label.  With TABLE, add to it."
  (let ((table (or table (make-hash-table :test #'equal))))
    (pcase-dolist (`(,name ,label) (plist-get reply :labels))
      (puthash name label table))
    table))

(defun backstaff-names--visible-p (character)
  "Return non-nil if CHARACTER can be seen, and turns no text around."
  (or (<= ?\s character ?~)
      (not (or (memq (get-char-code-property character 'general-category)
                     '(Cc Cf Cs Cn Co Zl Zp Zs))
               ;; Unicode calls these letters and marks.
               (string-match-p "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\
\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]" (string character))))))

(defun backstaff-names-show (name)
  "Return NAME as it stands in text.
That is NAME itself, or a JSON string literal: \"a\\nb\" for a name with a
newline, \" a\" for one that starts with a blank."
  (let ((name (string-to-multibyte (substring-no-properties name))))
    (if (and (cl-every #'backstaff-names--visible-p name)
             (not (string-match-p "[\"\\]\\|  \\|\\`[ [(<'-]\\| \\'\\|\\`\\'" name))
             (not (memq (get-char-code-property (aref name 0) 'general-category)
                        '(Mn Mc Me))))
        name
      (concat "\"" (mapconcat #'backstaff-names--escaped name "") "\""))))

(defun backstaff-names--escaped (character)
  "Return CHARACTER as it stands in a JSON string literal."
  (cond ((cdr (assq character '((?\" . "\\\"") (?\\ . "\\\\") (?\n . "\\n") (?\r . "\\r")
                                (?\t . "\\t") (?\f . "\\f") (?\b . "\\b")))))
        ((backstaff-names--visible-p character) (string character))
        ((or (<= #xd800 character #xdfff) (> character #x10ffff))
         (mapconcat (lambda (byte) (format "\\udc%02x" byte))
                    (encode-coding-string (string character) 'utf-8-emacs) ""))
        ((<= character #xffff) (format "\\u%04x" character))
        (t (let ((offset (- character #x10000)))
             (format "\\u%04x\\u%04x" (+ #xd800 (ash offset -10))
                     (+ #xdc00 (logand offset #x3ff)))))))

(provide 'backstaff-names)
;;; backstaff-names.el ends here
