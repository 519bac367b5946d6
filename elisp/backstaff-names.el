;;; backstaff-names.el --- Labels for odd file names  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A name with a newline, an escape sequence, marks that reverse the direction of writing, or
;; bytes that are no character could look like another name or like two.  The texts of replies
;; have JSON string literals for such names; `backstaff-names-show' makes the same.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defun backstaff-names--visible-p (character)
  "Return non-nil if CHARACTER is visible and leaves the text's direction alone."
  (or (<= ?\s character ?~)
      (not (or (memq (get-char-code-property character 'general-category)
                     '(Cc Cf Cs Cn Co Zl Zp Zs))
               ;; Unicode calls these invisible ones letters and marks.
               (string-match-p "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\
\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]" (string character))))))

(defun backstaff-names-show (name)
  "Return the label of NAME: NAME itself or a JSON string literal.
A name with a newline becomes \"a\\nb\" in quotes, and one that starts with a
blank becomes \" a\"."
  (let ((name (string-to-multibyte (substring-no-properties name))))
    ;; Most names are plain, and views have hundreds.
    (if (and (or (string-match-p "\\`[ -~]*\\'" name)
                 (cl-every #'backstaff-names--visible-p name))
             (not (string-match-p "[\"\\]\\|  \\|\\`[ [(<'-]\\| \\'\\|\\`\\'" name))
             (not (memq (get-char-code-property (aref name 0) 'general-category) '(Mn Mc Me))))
        name
      (concat "\"" (mapconcat #'backstaff-names--escaped name "") "\""))))

(defun backstaff-names-show-file (name)
  "Return the label of NAME, an absolute file name: \"~/src/\"."
  ;; A handler of another host would ask that host.
  (let ((file-name-handler-alist nil))
    (backstaff-names-show (abbreviate-file-name (file-name-unquote name)))))

(defun backstaff-names--escaped (character)
  "Return CHARACTER as in a JSON string literal."
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

(defconst backstaff-names--controls
  (rx (any (0 . 8) (#x0b . #x1f) (#x7f . #x9f) (#x202a . #x202e) (#x2066 . #x2069)
           (#x3fff80 . #x3fffff)))
  "Characters that drive a terminal or turn the direction of text, and stray bytes.")

(defun backstaff-names-text (text)
  "Return TEXT of a buffer with escapes for control characters and stray bytes.
Other invisible characters stay, because who edits the file needs them."
  (replace-regexp-in-string backstaff-names--controls
                            (lambda (found) (backstaff-names--escaped (aref found 0)))
                            (string-to-multibyte (substring-no-properties text)) t t))

(defun backstaff-names-prose (text)
  "Return TEXT, a message of another program, on one line.
All invisible characters except the blank are escaped."
  (mapconcat (lambda (character)
               (if (backstaff-names--visible-p character) (string character)
                 (backstaff-names--escaped character)))
             (replace-regexp-in-string
              "[ \t\r\n\f]+" " "
              (string-trim (string-to-multibyte (substring-no-properties text))) t t)
             ""))

(provide 'backstaff-names)
;;; backstaff-names.el ends here
