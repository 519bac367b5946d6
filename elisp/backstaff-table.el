;;; backstaff-table.el --- Tables of entries  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Listings and pages of commands are tables of `tabulated-list-mode'.  The id of a
;; row is its entry, such as (:path "src/a.c" :kind :file :size 12).  Columns of
;; numbers are sorted by the entry, not by the text of the cell.

;;; Code:

(require 'cl-lib)
(require 'tabulated-list)
(require 'backstaff-view)

(defcustom backstaff-time-format "%Y-%m-%d %H:%M"
  "Format of times in listings, as for `format-time-string'."
  :type '(choice (const :tag "2026-01-15 14:23" "%Y-%m-%d %H:%M")
                 (const :tag "15 Jan 2026" "%d %b %Y")
                 (string :tag "Format"))
  :group 'backstaff)

(defvar backstaff-table-map
  (make-composed-keymap backstaff-view-map tabulated-list-mode-map)
  "Keymap of all tables.  The keymap of each mode inherits it.")

(defun backstaff-table-time (seconds)
  "Return SECONDS since the epoch as a date and time; nil gives \"\"."
  (if seconds
      (condition-case nil
          (format-time-string backstaff-time-format seconds)
        (error (format "@%s" seconds)))
    ""))

(defun backstaff-table-size (bytes)
  "Return the size BYTES in a short form such as \"1.2k\"; nil gives \"\"."
  (if bytes (file-size-human-readable bytes) ""))

(defun backstaff-table-name (name face)
  "Return a cell in FACE for NAME, a name from the reply."
  (propertize (bidi-string-mark-left-to-right (backstaff-view-label name))
              'face face 'backstaff-name t))

(defun backstaff-table-less-p (property)
  "Return a predicate that compares rows by PROPERTY, a number in the entry.
Rows without the number come first."
  (lambda (one other)
    (< (or (plist-get (car one) property) -1.0e+INF)
       (or (plist-get (car other) property) -1.0e+INF))))

(defun backstaff-table-name-less-p (one other)
  "Return non-nil if the name of the row ONE comes before that of OTHER.
Case counts only between names that are equal otherwise."
  (let ((name (plist-get (car one) :name))
        (other-name (plist-get (car other) :name)))
    (pcase (compare-strings name nil nil other-name nil nil t)
      ('t (string< name other-name))
      (order (< order 0)))))

(defun backstaff-table-draw (format rows)
  "Draw ROWS, each a list of an entry and a vector of cells.
FORMAT is like `tabulated-list-format'.  The first column becomes as wide as
its widest cell, as far as the window has room for all columns."
  (let ((others (cl-loop for (_ width _ . properties) across (substring format 1)
                         sum (+ width (or (plist-get properties :pad-right) 1))))
        (widths (mapcar (lambda (row) (string-width (aref (cadr row) 0))) rows)))
    (setq tabulated-list-format (copy-tree format t)
          tabulated-list-padding 1)
    ;; The header line shows the path.
    (setq-local tabulated-list-use-header-line nil)
    (setf (cadr (aref tabulated-list-format 0))
          (max 20 (min (apply #'max 0 widths)
                       (- (window-body-width (get-buffer-window nil t)) others 2))))
    (tabulated-list-init-header)
    ;; To print 10,000 rows takes a quarter of a second, so the first come first.
    (when (and backstaff-view-moved (nthcdr 1000 rows))
      (when-let ((sorter (tabulated-list--get-sorter)))
        (setq rows (sort rows sorter)))
      (let ((tabulated-list-entries (seq-take rows 200)))
        (tabulated-list-print))
      (redisplay))
    (setq tabulated-list-entries rows)
    (tabulated-list-print)))

(provide 'backstaff-table)
;;; backstaff-table.el ends here
