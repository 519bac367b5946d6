;;; backstaff-table.el --- Tables of entries  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Listings and pages of commands are tables of `tabulated-list-mode'.  The id of
;; a row is its entry, a plist, so a column is sorted by the numbers in the entry.

;;; Code:

(require 'cl-lib)
(require 'tabulated-list)
(require 'backstaff-view)

(defcustom backstaff-time-format "%Y-%m-%d %H:%M"
  "How listings show times, in the form of `format-time-string'."
  :type '(choice (const :tag "2026-01-15 14:23" "%Y-%m-%d %H:%M")
                 (const :tag "15 Jan 2026" "%d %b %Y")
                 (string :tag "Format"))
  :group 'backstaff)

(defvar backstaff-table-map
  (make-composed-keymap backstaff-view-map tabulated-list-mode-map)
  "Keymap of all tables, a parent of their own.")

(defun backstaff-table-time (seconds)
  "Return SECONDS since the epoch as people read them; empty for nil."
  (if seconds
      (condition-case nil
          (format-time-string backstaff-time-format seconds)
        (error (format "@%s" seconds)))
    ""))

(defun backstaff-table-size (bytes)
  "Return the size BYTES as people read it; empty for nil."
  (if bytes (file-size-human-readable bytes) ""))

(defun backstaff-table-name (name face)
  "Return NAME, from the reply that is shown, as a cell in FACE."
  (propertize (bidi-string-mark-left-to-right (backstaff-view-label name))
              'face face 'backstaff-name t))

(defun backstaff-table-less-p (property)
  "Return a predicate that compares rows by the number under PROPERTY.
Rows without one come first."
  (lambda (one other)
    (< (or (plist-get (car one) property) -1.0e+INF)
       (or (plist-get (car other) property) -1.0e+INF))))

(defun backstaff-table-name-less-p (one other)
  "Return non-nil if the row ONE comes before OTHER, names without regard to case."
  (let ((name (plist-get (car one) :name))
        (other-name (plist-get (car other) :name)))
    (pcase (compare-strings name nil nil other-name nil nil t)
      ('t (string< name other-name))
      (order (< order 0)))))

(defun backstaff-table-draw (format rows)
  "Draw ROWS, each a list of an entry and a vector of cells.
FORMAT is like `tabulated-list-format'.  The first column becomes as wide as
its cells if the window has room for it and for the others."
  (let ((others (cl-loop for (_ width _ . properties) across (substring format 1)
                         sum (+ width (or (plist-get properties :pad-right) 1))))
        (widths (mapcar (lambda (row) (string-width (aref (cadr row) 0))) rows)))
    (setq tabulated-list-format (copy-tree format t)
          tabulated-list-entries rows
          tabulated-list-padding 1)
    ;; The header line has more important things to say.
    (setq-local tabulated-list-use-header-line nil)
    (setf (cadr (aref tabulated-list-format 0))
          (max 20 (min (apply #'max 0 widths)
                       (- (window-body-width (get-buffer-window nil t)) others 2))))
    (tabulated-list-init-header)
    (tabulated-list-print)))

(provide 'backstaff-table)
;;; backstaff-table.el ends here
