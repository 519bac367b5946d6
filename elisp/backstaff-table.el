;;; backstaff-table.el --- Tables of entries  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tables are those of `tabulated-list-mode', printed by a printer that takes
;; half the time.  A thousand rows stand at once, what is beyond follows in
;; slices, between which Emacs looks after its user.  An entry is a plist, and
;; it is the id of its row, so that a column is sorted by what a cell stands for
;; and not by its text.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'tabulated-list)
(require 'backstaff-view)

(defcustom backstaff-time-format "%Y-%m-%d %H:%M"
  "How listings show times, in the form of `format-time-string'."
  :type '(choice (const :tag "2026-01-15 14:23" "%Y-%m-%d %H:%M")
                 (const :tag "15 Jan 2026" "%d %b %Y")
                 (string :tag "Format"))
  :group 'backstaff)

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

(defun backstaff-table-less-p (property)
  "Return a predicate that compares rows by the number under PROPERTY.
Rows that lack it come first."
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

(defun backstaff-table-setup (format)
  "Let the current buffer show a table with columns according to FORMAT.
That is what `tabulated-list-format' is; it may change with the rows."
  (setq tabulated-list-format format
        tabulated-list-padding 1
        tabulated-list-printer #'backstaff-table--print-row)
  ;; The header line has more important things to say.
  (setq-local tabulated-list-use-header-line nil))

(defconst backstaff-table--slice 1000
  "How many rows are printed in one go.")

(defun backstaff-table-draw (rows)
  "Draw ROWS, each a list of an entry and a vector of cells, sorted already.
Rows that point must come back to are there on return, others may follow."
  (setq tabulated-list-entries rows)
  (tabulated-list-init-header)
  (tabulated-list-print-fake-header)
  (goto-char (point-max))
  (let ((awaited (copy-sequence backstaff-view-awaited-paths))
        (count 0))
    (while (and rows (or awaited (< count backstaff-table--slice)))
      (setq awaited (delete (plist-get (caar rows) :path) awaited)
            count (1+ count))
      (apply #'backstaff-table--print-row (pop rows)))
    (backstaff-table--print-later rows)))

(defun backstaff-table--print-later (rows)
  "Let ROWS follow soon, unless the table is printed anew before."
  (when rows
    (let ((tick (buffer-chars-modified-tick)))
      (backstaff-view-soon
       (lambda ()
         (when (= tick (buffer-chars-modified-tick))
           (backstaff-table--print-slice rows)))))))

(defun backstaff-table--print-slice (rows)
  "Append the first of ROWS and let the others follow soon."
  (let ((inhibit-read-only t)
        (gc-cons-threshold (max gc-cons-threshold backstaff-view-gc-threshold)))
    (with-silent-modifications
      (save-excursion
        (goto-char (point-max))
        (cl-loop repeat backstaff-table--slice
                 while rows
                 do (apply #'backstaff-table--print-row (pop rows)))))
    (backstaff-table--print-later rows)))

(defun backstaff-table-sorted (rows)
  "Return ROWS in the order that the table has."
  (if-let ((sorter (tabulated-list--get-sorter)))
      (sort (copy-sequence rows) sorter)
    rows))

(defun backstaff-table-set-width (column width)
  "Make the column with the index COLUMN WIDTH wide."
  (setq tabulated-list-format (copy-tree tabulated-list-format t))
  (setf (cadr (aref tabulated-list-format column)) width))

(defun backstaff-table-fitting-width (texts least others)
  "Return how wide the column with TEXTS should be, at least LEAST.
OTHERS is the width that all other columns take."
  (max least
       (min (apply #'max 0 (mapcar #'string-width texts))
            (- (backstaff-view-width) others))))

(defun backstaff-table--print-row (entry cells)
  "Insert a row with CELLS, which stands for ENTRY."
  (let ((start (point))
        (x tabulated-list-padding)
        (texts (list (make-string tabulated-list-padding ?\s))))
    (dotimes (n (length cells))
      (pcase-let ((`(,text . ,next)
                   (backstaff-table--cell n (aref cells n) x
                                          (= (1+ n) (length cells)))))
        (push text texts)
        (setq x next)))
    (apply #'insert (nreverse (cons "\n" texts)))
    (add-text-properties start (point) (list 'backstaff-entry entry
                                             'tabulated-list-id entry
                                             'tabulated-list-entry cells))))

(defun backstaff-table--cell (n text x last)
  "Return TEXT as it stands in column N from X on, and where the next begins.
LAST is non-nil if no column follows."
  (pcase-let* ((`(,name ,width ,_ . ,properties) (aref tabulated-list-format n))
               (text (if (or last (<= (string-width text) width)) text
                       (truncate-string-to-width text width nil nil "…")))
               (blanks (max 0 (- width (string-width text))))
               (gap (or (plist-get properties :pad-right) 1))
               (next (+ x width gap))
               (cell (concat
                      (and (plist-get properties :right-align)
                           (make-string blanks ?\s))
                      (backstaff-table--isolated text)
                      (unless last
                        (make-string (if (plist-get properties :right-align) gap
                                       (+ blanks gap))
                                     ?\s)))))
    (put-text-property 0 (length cell) 'tabulated-list-column-name name cell)
    (unless (or last (backstaff-table--ascii-p text))
      ;; A glyph may be wider or narrower than Emacs believes.
      (put-text-property (1- (length cell)) (length cell)
                         'display `(space :align-to ,next) cell))
    (cons cell next)))

(defun backstaff-table--ascii-p (text)
  "Return non-nil if TEXT holds ASCII alone."
  (= (length text) (string-bytes text)))

(defun backstaff-table--isolated (text)
  "Return TEXT, written from the right or not, so that it turns nothing else."
  (if (backstaff-table--ascii-p text) text
    (bidi-string-mark-left-to-right text)))

(defun backstaff-table-sort (&optional n)
  "Sort by the column at point, or by column N; once more turns it upside down."
  (interactive "P")
  (let ((gc-cons-threshold (max gc-cons-threshold backstaff-view-gc-threshold))
        (column (current-column)))
    (tabulated-list-sort n)
    ;; Else the second time would sort by another column.
    (move-to-column column)))

(provide 'backstaff-table)
;;; backstaff-table.el ends here
