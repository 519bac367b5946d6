;;; backstaff-names.el --- How the names of files stand in text  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A name is data: it may hold a newline, an escape sequence, marks that turn
;; the direction of writing, bytes that are no character.  Shown as it is, it
;; could pass for another name, or for two.
;;
;; The server has one rule for that, and this is the same rule: a plain,
;; visible name stands bare; any other stands as a JSON string literal in which
;; whatever is invisible is written as an escape.

;;; Code:

(require 'subr-x)

(defconst backstaff-names--invisible
  (concat "\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f"
          "\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
          "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164"
          (string #xd800 ?- #xdfff) "\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
          "\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd"
          "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
          "\U000e0000-\U000e0fff"
          (mapconcat (lambda (plane)
                       (string (+ (* plane #x10000) #xfffe)
                               (+ (* plane #x10000) #xffff)))
                     (number-sequence 1 16) "")
          ;; What is no character, and bytes that are part of none: regexps
          ;; know no range that holds both.
          (string #x110000 ?- #x3fff7f #x3fff80 ?- #x3fffff))
  "What cannot be seen, or turns what can, for use between brackets.
The server has the same table.  It is written out as the one that Unicode
has changes with the version of Emacs.")

(defconst backstaff-names--invisible-regexp
  (concat "[" backstaff-names--invisible "]")
  "What matches a character that cannot be seen.")

(defconst backstaff-names--plain-regexp
  (let ((first "A-Za-z0-9_.+@,~!#$%&*/:;=?^{}|`)>"))
    (concat "\\`[]" first "][][" first "(<'-]*\\'"))
  "What matches the plain ones among the names in ASCII without a blank.")

(defconst backstaff-names--odd-regexp
  (concat "[\"\\" backstaff-names--invisible "]"
          "\\|  \\|\\`[] [(<'-]\\| \\'\\|\\`\\'")
  "What matches names that cannot stand bare, but for some.
The rest are those that begin with a mark that combines with what is before.")

(defconst backstaff-names--short-escapes
  '((?\" . "\\\"") (?\\ . "\\\\") (?\n . "\\n") (?\r . "\\r") (?\t . "\\t")
    (?\f . "\\f") (?\b . "\\b"))
  "The escapes of JSON that have a letter.")

(defun backstaff-names-show (name)
  "Return NAME as it stands in text: bare, or as a JSON string literal."
  (if (backstaff-names-plain-p name)
      name
    (backstaff-names-quote name)))

(defun backstaff-names-word (name)
  "Return NAME as one word of a line of names.
It is quoted, too, where a blank or what may stand behind a word would
mislead."
  (if (and (backstaff-names-plain-p name)
           (not (string-match-p " \\|[@/…]\\'" name)))
      name
    (backstaff-names-quote name)))

(defun backstaff-names-plain-p (name)
  "Return non-nil if NAME can stand in text as it is."
  (let ((case-fold-search nil))
    (or (string-match-p backstaff-names--plain-regexp name)
        (not (or (string-match-p backstaff-names--odd-regexp
                                 (string-to-multibyte name))
                 (memq (get-char-code-property (aref name 0) 'general-category)
                       '(Mn Mc Me)))))))

(defun backstaff-names-quote (name)
  "Return NAME as a JSON string literal that holds nothing invisible."
  (concat "\"" (backstaff-names--escape
                (string-to-multibyte name)
                (concat "[\"\\" backstaff-names--invisible "]"))
          "\""))

(defun backstaff-names--escape (text regexp)
  "Return TEXT with each character that matches REGEXP as an escape."
  (let ((case-fold-search nil))
    (replace-regexp-in-string
     regexp (lambda (match)
              (mapconcat #'backstaff-names--escape-character match ""))
     text t t)))

(defun backstaff-names--escape-character (character)
  "Return the escape of JSON that stands for CHARACTER."
  (cond ((alist-get character backstaff-names--short-escapes))
        ((or (<= #xd800 character #xdfff) (> character #x10ffff))
         (mapconcat (lambda (byte) (format "\\udc%02x" byte))
                    (encode-coding-string (string character) 'utf-8-emacs) ""))
        ((<= character #xffff) (format "\\u%04x" character))
        (t (let ((offset (- character #x10000)))
             (format "\\u%04x\\u%04x" (+ #xd800 (ash offset -10))
                     (+ #xdc00 (logand offset #x3ff)))))))

;;; Prose

(defconst backstaff-names--blank-regexp
  (concat "[ \t-\r\u001c-\u001f\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f"
          "\u205f\u3000]+")
  "What matches blanks of all kinds.")

(defconst backstaff-names--joined-regexp
  (concat "\\([\u203c\u2049\u2122-\u27bf\u2934-\u2b55\u3030\u303d\u3297\u3299"
          "\U0001f000-\U0001faff]\ufe0f?\u200d?\\)\\|"
          backstaff-names--invisible-regexp)
  "What matches a part of an emoji, or a character that cannot be seen.")

(defun backstaff-names-prose (text)
  "Return TEXT, which somebody wrote freely, on one line.
Whatever is invisible stands as an escape, but for what joins the parts of
an emoji."
  (let ((case-fold-search nil)
        (line (string-trim (replace-regexp-in-string
                            backstaff-names--blank-regexp " "
                            (string-to-multibyte (substring-no-properties text))
                            t t))))
    (replace-regexp-in-string
     backstaff-names--joined-regexp
     (lambda (match)
       (if (match-beginning 1) match
         (backstaff-names--escape match backstaff-names--invisible-regexp)))
     line t t)))

(provide 'backstaff-names)
;;; backstaff-names.el ends here
