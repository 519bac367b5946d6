;;; backstaff-ui-table.el --- Tables of many rows  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A table is a view of a `tabulated-list-mode' that draws and sorts its rows itself, a
;; slice at a time, so that Emacs looks at the keyboard between any two slices.  The
;; first slice is drawn at once and the others by a timer.  This work is a request of the
;; buffer: what cancels a call, such as C-g, cancels it, too.
;;
;; A table of another place grows in the window.  The same place anew, or another order,
;; is drawn below the text that the user sees and replaces it when it is complete.
;;
;; Emacs is busiest when it collects garbage, so a table of 50,000 rows has few objects.
;; A row is a vector, and its cells and its entry are made when they are needed.  A line
;; of plain text has no text properties: its number says which row it shows.  The printer
;; of `tabulated-list-mode' makes fifteen intervals of properties a line, with which each
;; collection takes 0.4 s.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'tabulated-list)
(require 'backstaff-ui-request)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defcustom backstaff-time-format "%Y-%m-%d %H:%M"
  "Format of times in listings, as for `format-time-string'."
  :type '(choice (const :tag "2026-01-15 14:23" "%Y-%m-%d %H:%M")
                 (const :tag "15 Jan 2026" "%d %b %Y")
                 (string :tag "Format"))
  :group 'backstaff)

(defconst backstaff-table--slice 500
  "The most rows that are drawn, or sorted, before Emacs looks at the keyboard.
To draw them takes about 5 ms.")

(cl-defstruct (backstaff-table-row (:type vector) (:copier nil))
  "A row: the file's name, its kind, size and time, and a plist of what few rows have.
In that plist, `:target' is where a link leads, and `:path' is for a file that is
not in the directory that the buffer shows."
  name kind size modified more)

(defvar backstaff-table-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map (make-composed-keymap backstaff-view-map tabulated-list-mode-map))
    (define-key map (kbd "S") #'backstaff-table-sort)
    (define-key map [remap tabulated-list-sort] #'backstaff-table-sort)
    (define-key map [remap tabulated-list-next-column] #'backstaff-table-next-column)
    (define-key map [remap tabulated-list-previous-column] #'backstaff-table-previous-column)
    (define-key map (kbd "}") #'backstaff-table-widen)
    (define-key map (kbd "{") #'backstaff-table-narrow)
    map)
  "Keymap of all tables.  The keymap of each mode inherits it.")

(defvar-local backstaff-table--cells nil
  "Function that returns the cells of a row, a list of strings.")

(defvar-local backstaff-table--rows nil
  "The rows, in the order of the lines.")

(defvar-local backstaff-table--left nil
  "The tail of `backstaff-table--rows' that is not drawn yet.")

(defvar-local backstaff-table--drawn 0
  "The number of rows that are drawn.")

(defvar-local backstaff-table--total nil
  "The number of rows that there will be, or nil if all are there.")

(defvar-local backstaff-table--key nil
  "The sort key in whose order the rows are.")

(defvar-local backstaff-table--came nil
  "The sort key in whose order the rows come from the server.")

(defvar-local backstaff-table--wide nil
  "Non-nil if a name came that is wider than the first column could have been.")

(defvar-local backstaff-table--after #'ignore
  "Function to call when the drawing has ended or was cancelled.")

(defconst backstaff-table--variables
  '( tabulated-list-format tabulated-list-sort-key backstaff-table--rows
     backstaff-table--cells backstaff-table--left backstaff-table--drawn
     backstaff-table--total backstaff-table--key backstaff-table--came backstaff-table--wide
     backstaff-table--after)
  "The variables that belong to the text of a table.")

(defvar-local backstaff-table--merge nil
  "The `backstaff-table--merge' that goes on, or nil.")

(defvar-local backstaff-table--sought nil
  "The path that point shall go to and where it waits until that is drawn, or nil.")

(defvar-local backstaff-table--timer nil
  "The timer for the next slice, or nil.")

(defvar-local backstaff-table--answer nil
  "Function that ends the request that the work is, or nil if there is none.")

(defvar-local backstaff-table--indicator nil
  "Text for the mode line while rows are drawn or sorted, or nil.")
(put 'backstaff-table--indicator 'risky-local-variable t)

(defun backstaff-table-setup (&rest functions)
  "Make the current buffer a table; FUNCTIONS are as in `backstaff-view-setup'."
  (apply #'backstaff-view-setup
         :entry #'backstaff-table--entry
         :line #'backstaff-table--line
         ;; The text of a failure has no rows.
         :before-draw (lambda () (setq backstaff-table--rows nil))
         :variables (append backstaff-table--variables (plist-get functions :variables))
         functions)
  (setq-local tabulated-list-padding 1
              ;; The header line shows the path.
              tabulated-list-use-header-line nil
              mode-line-process (append mode-line-process '(backstaff-table--indicator))))


;;; Cells

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
  (let ((label (bidi-string-mark-left-to-right (backstaff-view-label name))))
    (if (eq face 'default) label (propertize label 'face face))))

(defun backstaff-table-less-p (value)
  "Return a predicate that compares rows by VALUE, a function.
VALUE returns the number of a row, or nil for a row that comes first."
  (lambda (one other)
    (< (or (funcall value one) -1.0e+INF) (or (funcall value other) -1.0e+INF))))

(defun backstaff-table-text-less-p (column)
  "Return a predicate that compares rows by their text in COLUMN."
  (lambda (one other)
    (string< (nth column (funcall backstaff-table--cells one))
             (nth column (funcall backstaff-table--cells other)))))

(defun backstaff-table-name-less-p (one other)
  "Return non-nil if the name of the row ONE comes before that of OTHER."
  (backstaff-path-name-less-p (backstaff-table-row-name one)
                              (backstaff-table-row-name other)))


;;; Drawing

(cl-defun backstaff-table-draw (format cells rows &key total key after)
  "Draw ROWS, a list of vectors, and call AFTER when all are drawn.
FORMAT is like `tabulated-list-format', with a predicate for each column.  The
function CELLS returns the cells of a row, a list of strings.  The first
column becomes as wide as its widest cell, as far as the window has room.

If TOTAL is non-nil, `backstaff-table-add' will bring more rows, until there
are TOTAL.  KEY is the sort key in whose order ROWS come.  AFTER is also
called when the drawing is cancelled.

What this returns is to be returned to the view; see `backstaff-view-setup'."
  (let* ((long (or total (nthcdr backstaff-table--slice rows)))
         (behind (and long (> (point) 1) (not (backstaff-view-moved-p)))))
    (setq tabulated-list-format (copy-tree format t)
          backstaff-table--rows rows
          backstaff-table--cells cells
          backstaff-table--total total
          backstaff-table--key key
          backstaff-table--came key
          backstaff-table--wide nil
          backstaff-table--sought nil
          backstaff-table--drawn 0
          backstaff-table--after (or after #'ignore))
    (backstaff-table--fit rows)
    (unless long
      (backstaff-table--order (sort rows (backstaff-table--predicate))))
    (backstaff-table--print-first)
    (when (and long (not behind) (backstaff-view-get :focus))
      (setq backstaff-table--sought
            (list (backstaff-view-get :focus)
                  ;; Meanwhile the view goes to the name in the first row.  Its position is
                  ;; counted from here, as the old text above is still to be deleted.
                  (save-excursion
                    (goto-char (point-min))
                    (forward-line)
                    (backstaff-view-go-to-name)
                    (- (point) (point-min) -1)))))
    (if (or behind (backstaff-table--more-p))
        (backstaff-table--start)
      (funcall backstaff-table--after))
    (and behind 'behind)))

(defun backstaff-table-add (rows total)
  "Add ROWS to a table that is being drawn.
TOTAL is as in `backstaff-table-draw': nil after the last rows."
  (backstaff-table--fit rows)
  (unless (or (null rows) (equal backstaff-table--key backstaff-table--came))
    (setq backstaff-table--key nil))
  (setq backstaff-table--rows (nconc backstaff-table--rows rows)
        backstaff-table--left (or backstaff-table--left rows)
        backstaff-table--total total)
  (backstaff-table--start))

(defun backstaff-table-go-on ()
  "Go on drawing after a cancellation; return nil if all is drawn."
  (when backstaff-table--left
    (backstaff-table--start)
    t))

(defun backstaff-table-busy-p ()
  "Return non-nil if rows are being drawn or sorted, or are to come."
  (and backstaff-table--answer t))

(defun backstaff-table-count (&optional kind)
  "Return the number of rows, drawn or not; those of KIND if that is given."
  (if kind (cl-count kind backstaff-table--rows :key #'backstaff-table-row-kind)
    (length backstaff-table--rows)))

(defun backstaff-table-undrawn ()
  "Return the number of rows that are not drawn."
  (length backstaff-table--left))

(defun backstaff-table--line (path)
  "Return the number of the line of PATH, or nil if it is not drawn."
  (let* ((directory (plist-get backstaff-view-state :path))
         (prefix (if (equal directory ".") "" (concat directory "/")))
         ;; To make the path of each row would take long.
         (name (and (string-prefix-p prefix path) (substring path (length prefix)))))
    (when-let ((index (cl-position-if
                       (lambda (row)
                         (if-let ((own (plist-get (backstaff-table-row-more row) :path)))
                             (equal own path)
                           (equal (backstaff-table-row-name row) name)))
                       backstaff-table--rows :end backstaff-table--drawn)))
      ;; The first line is the header.
      (+ 2 index))))

(defun backstaff-table--entry ()
  "Return the entry on the line at point, or nil."
  (let ((index (- (line-number-at-pos) 2)))
    (when-let ((row (and (>= index 0) (nth index (backstaff-view-shown 'backstaff-table--rows)))))
      (let ((name (backstaff-table-row-name row)) (more (backstaff-table-row-more row)))
        `( :path ,(or (plist-get more :path)
                      (backstaff-path-child (plist-get backstaff-view-state :path) name))
           :name ,name :kind ,(backstaff-table-row-kind row)
           :size ,(backstaff-table-row-size row) :modified ,(backstaff-table-row-modified row)
           ,@more)))))

(defun backstaff-table--fit (rows)
  "Make the first column wide enough for ROWS, or note that it should be wider."
  (let* ((first (aref tabulated-list-format 0))
         (others (cl-loop for (_ width _ . properties)
                          across (substring tabulated-list-format 1)
                          sum (+ width (or (plist-get properties :pad-right) 1))))
         (room (- (window-body-width (get-buffer-window nil t)) others 2))
         (widest (cl-loop for row in rows
                          ;; To make the cells would take ten times as long.
                          maximize (+ (string-width
                                       (backstaff-view-label (backstaff-table-row-name row)))
                                      (if-let ((target (plist-get (backstaff-table-row-more row)
                                                                  :target)))
                                          (+ 4 (string-width (backstaff-view-label target)))
                                        1))))
         (width (max 20 (cadr first) (min (or widest 0) room))))
    (when (and (> width (cadr first)) (> backstaff-table--drawn 0))
      (setq backstaff-table--wide t))
    (setf (cadr first) width)))

(defun backstaff-table--print-first ()
  "Draw the header and the first rows at point."
  (setq backstaff-table--left backstaff-table--rows
        backstaff-table--drawn 0)
  ;; A click on a heading sorts as this table does.
  (let ((tabulated-list-sort-button-map
         (let ((map (make-sparse-keymap)))
           (define-key map [mouse-1] #'backstaff-table-sort-by-click)
           (define-key map [mouse-2] #'backstaff-table-sort-by-click)
           (define-key map (kbd "RET") #'backstaff-table-sort)
           (define-key map [follow-link] 'mouse-face)
           map)))
    (tabulated-list-init-header))
  (tabulated-list-print-fake-header)
  (goto-char (point-max))
  (backstaff-table--print-slice))

(defun backstaff-table--print-slice ()
  "Draw the next rows at the end of the accessible part of the buffer."
  (goto-char (point-max))
  (cl-loop repeat backstaff-table--slice
           while backstaff-table--left
           do (backstaff-table--print-row (pop backstaff-table--left))
           (cl-incf backstaff-table--drawn)))

(defun backstaff-table--print-row (row)
  "Draw ROW at point."
  (let ((column tabulated-list-padding)
        (cells (funcall backstaff-table--cells row))
        (parts (list (make-string tabulated-list-padding ?\s))))
    (cl-loop
     for (_ width _ . properties) across tabulated-list-format
     for (cell . more) on cells
     do (let ((taken (string-width cell)))
          (when (and more (> taken width))
            (setq cell (truncate-string-to-width cell width nil nil t t)
                  taken width))
          (let ((blanks (make-string (max 0 (- width taken)) ?\s)))
            (if (plist-get properties :right-align)
                (setq parts (cl-list* cell blanks parts))
              (push cell parts)
              (when more
                ;; Where a character is not one column wide, fonts may differ.
                (push (if (= taken (length cell)) blanks
                        (propertize blanks 'display
                                    `(space :align-to ,(+ column width))))
                      parts)))))
        (when more
          (let ((pad (or (plist-get properties :pad-right) 1)))
            (push (make-string pad ?\s) parts)
            (setq column (+ column width pad)))))
    (insert (apply #'concat (nreverse (cons "\n" parts))))))


;;; The rest, slice by slice

(defun backstaff-table--predicate ()
  "Return the predicate for `tabulated-list-sort-key', and a trivial one for nil."
  (let ((less-p (nth 2 (assoc (car tabulated-list-sort-key)
                              (append tabulated-list-format nil)))))
    (cond ((null less-p) #'ignore)
          ((cdr tabulated-list-sort-key) (lambda (one other) (funcall less-p other one)))
          (t less-p))))

(defun backstaff-table--order (rows)
  "Let ROWS, sorted by `tabulated-list-sort-key', be the rows of the table."
  (setq backstaff-table--rows rows
        backstaff-table--key (copy-tree tabulated-list-sort-key)))

(defun backstaff-table--unsorted-p ()
  "Return non-nil if the rows are not in the order that the user wants."
  (and tabulated-list-sort-key (not (equal backstaff-table--key tabulated-list-sort-key))))

(defun backstaff-table--more-p ()
  "Return non-nil if there is more to be done."
  (or backstaff-table--left backstaff-table--total backstaff-table--merge
      (backstaff-view-old-end) backstaff-table--wide (backstaff-table--unsorted-p)))

(defun backstaff-table--start ()
  "Let a timer do the rest, as a request of the buffer."
  (unless backstaff-table--answer
    (let ((buffer (current-buffer)))
      (backstaff-request-start
       (lambda (answer)
         (setq backstaff-table--answer answer)
         (lambda ()
           (when (buffer-live-p buffer)
             (with-current-buffer buffer
               (backstaff-table--cancel)))))
       (lambda (_)
         (funcall backstaff-table--after)))))
  (unless backstaff-table--timer
    (setq backstaff-table--timer
          (run-at-time 0 nil #'backstaff-table--go-on (current-buffer)))))

(defun backstaff-table--go-on (buffer)
  "Do a step of the work in BUFFER, unless the user types."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (let ((typing (input-pending-p)))
        (unless typing
          (backstaff-table--step))
        (setq backstaff-table--timer
              ;; Where more rows are to come they start the timer again.
              (when (or typing backstaff-table--left
                        (and (null backstaff-table--total) (backstaff-table--more-p)))
                (run-at-time (if typing 0.01 0) nil #'backstaff-table--go-on buffer))))
      (unless (or backstaff-table--timer (backstaff-table--more-p))
        (setq backstaff-table--indicator nil)
        (funcall (prog1 backstaff-table--answer
                   (setq backstaff-table--answer nil))
                 nil))
      (force-mode-line-update))))

(defun backstaff-table--cancel ()
  "Stop the work.  An old text that the user still sees stays."
  (when backstaff-table--timer
    (cancel-timer backstaff-table--timer))
  (setq backstaff-table--timer nil
        backstaff-table--answer nil
        backstaff-table--merge nil
        backstaff-table--indicator nil)
  (when (backstaff-view-old-end)
    (backstaff-view-drop-new))
  (setq backstaff-table--total nil
        backstaff-table--wide nil
        tabulated-list-sort-key (copy-tree (or backstaff-table--key
                                               tabulated-list-sort-key)))
  (funcall backstaff-table--after))

(defun backstaff-table--step ()
  "Draw a slice, or sort one, or exchange the texts when all is done."
  (cond (backstaff-table--left
         (backstaff-table--at-end #'backstaff-table--print-slice)
         (backstaff-table--seek)
         (backstaff-table--indicate "drawing" backstaff-table--drawn))
        (backstaff-table--total)
        (backstaff-table--merge
         (pcase (backstaff-table--merge-step backstaff-table--merge)
           (`(,rows)
            (setq backstaff-table--merge nil)
            (backstaff-table--redraw rows))))
        ((backstaff-table--unsorted-p)
         (backstaff-table--indicate "sorting" nil)
         (setq backstaff-table--merge
               (backstaff-table--make-merge
                (copy-sequence backstaff-table--rows) (backstaff-table--predicate))))
        (backstaff-table--wide
         (backstaff-table--redraw backstaff-table--rows))
        ((backstaff-view-old-end)
         (backstaff-view-drop-old))))

(defun backstaff-table--seek ()
  "Go to the path that is sought when it is drawn, unless the user has moved."
  (pcase backstaff-table--sought
    (`(,path ,start)
     (when (or (/= (point) start) (backstaff-view-go-to path))
       (setq backstaff-table--sought nil)
       (dolist (window (get-buffer-window-list nil t t))
         (when (= (window-point window) start)
           (set-window-point window (point))))))))

(defun backstaff-table--indicate (verb count)
  "Let the mode line say that COUNT rows of all have had what VERB says."
  (setq backstaff-table--indicator
        (format " %s %s%s" verb
                (if count (concat (backstaff-view-number count) " of ") "")
                (backstaff-view-number
                 (or backstaff-table--total (backstaff-table-count))))))

(defun backstaff-table--at-end (function)
  "Call FUNCTION where the new text ends, without moving point."
  (with-silent-modifications
    (save-excursion
      (let ((end (backstaff-view-old-end)) (inhibit-read-only t))
        (when end
          (widen)
          (narrow-to-region end (point-max)))
        (funcall function)
        (when end
          (widen)
          (narrow-to-region (point-min) end))))))

(defun backstaff-table--redraw (rows)
  "Draw ROWS below the old text, of which they are another order."
  (unless (backstaff-view-old-end)
    (backstaff-view-keep-old))
  (setq backstaff-table--wide nil)
  (backstaff-table--at-end
   (lambda ()
     (delete-region (point-min) (point-max))
     (backstaff-table--order rows)
     (backstaff-table--print-first))))

(cl-defstruct (backstaff-table--merge
               (:constructor backstaff-table--make-merge (unsorted less-p)) (:copier nil))
  "A merge sort.  The lists in RUNS are sorted; MERGED are those of the next round.
ONE and OTHER are being merged, and OUT is, in reverse, what has been."
  unsorted less-p runs merged one other out)

(defun backstaff-table--merge-step (merge)
  "Do a part of MERGE; return a list of the sorted rows at its end, else nil.
Rows that are equal keep their order, as with `sort'."
  (cond ((backstaff-table--merge-unsorted merge)
         (let* ((run (backstaff-table--merge-unsorted merge))
                (last (nthcdr (1- backstaff-table--slice) run)))
           (setf (backstaff-table--merge-unsorted merge) (cdr last))
           (when last
             (setcdr last nil))
           (push (sort run (backstaff-table--merge-less-p merge))
                 (backstaff-table--merge-merged merge))
           nil))
        ((backstaff-table--merge-one merge)
         (ignore (backstaff-table--merge-some merge)))
        ((backstaff-table--merge-runs merge)
         (setf (backstaff-table--merge-one merge) (pop (backstaff-table--merge-runs merge))
               (backstaff-table--merge-other merge) (pop (backstaff-table--merge-runs merge)))
         nil)
        ((cdr (backstaff-table--merge-merged merge))
         (setf (backstaff-table--merge-runs merge)
               (nreverse (backstaff-table--merge-merged merge))
               (backstaff-table--merge-merged merge) nil))
        (t (list (car (backstaff-table--merge-merged merge))))))

(defun backstaff-table--merge-some (merge)
  "Merge a few slices of the two runs of MERGE."
  (let ((one (backstaff-table--merge-one merge)) (other (backstaff-table--merge-other merge))
        (out (backstaff-table--merge-out merge)) (less-p (backstaff-table--merge-less-p merge)))
    (cl-loop repeat (* 4 backstaff-table--slice)
             while (and one other)
             do (push (if (funcall less-p (car other) (car one)) (pop other) (pop one)) out))
    (unless (and one other)
      (push (nconc (nreverse out) (or one other)) (backstaff-table--merge-merged merge))
      (setq one nil other nil out nil))
    (setf (backstaff-table--merge-one merge) one
          (backstaff-table--merge-other merge) other
          (backstaff-table--merge-out merge) out)))


;;; Commands

(defun backstaff-table--starts ()
  "Return the number of the first character of each column, counted in columns."
  (unless backstaff-table--rows
    (user-error "The table has no rows"))
  (let ((start tabulated-list-padding))
    (cl-loop for (_ width _ . properties) across tabulated-list-format
             collect start
             do (cl-incf start (+ width (or (plist-get properties :pad-right) 1))))))

(defun backstaff-table--column ()
  "Return the index of the column at point, or the nearest."
  (max 0 (1- (cl-count-if (lambda (start) (<= start (current-column)))
                          (backstaff-table--starts)))))

(defun backstaff-table-next-column (&optional count)
  "Go to the next column, or with the prefix argument COUNT so many further."
  (interactive "p")
  (let ((starts (backstaff-table--starts)))
    (move-to-column (nth (max 0 (min (1- (length starts))
                                     (+ (backstaff-table--column) (or count 1))))
                         starts))))

(defun backstaff-table-previous-column (&optional count)
  "Go to the previous column, or with the prefix argument COUNT so many back."
  (interactive "p")
  (backstaff-table-next-column (- (or count 1))))

(defun backstaff-table-sort (&optional column)
  "Sort by the column at point, or the nearest; once more, upside down.
With a numeric prefix argument COLUMN, sort by that column; the first is 0."
  (interactive "P")
  (let ((nearest (backstaff-table--column)))
    (backstaff-table--sort-by
     (car (aref tabulated-list-format
                (if column (min (prefix-numeric-value column)
                                (1- (length tabulated-list-format)))
                  nearest))))))

(defun backstaff-table-sort-by-click (event)
  "Sort by the column whose heading the mouse EVENT clicked."
  (interactive "e")
  (with-current-buffer (window-buffer (posn-window (event-start event)))
    (when-let ((name (get-text-property (posn-point (event-start event))
                                        'tabulated-list-column-name)))
      (backstaff-table--sort-by name))))

(defun backstaff-table--sort-by (name)
  "Sort by the column NAME, in reverse if the rows are sorted by it."
  (setq tabulated-list-sort-key
        (cons name (and (equal name (car tabulated-list-sort-key))
                        (not (cdr tabulated-list-sort-key)))))
  (backstaff-table--redo))

(defun backstaff-table--redo ()
  "Draw the table anew, in the order and with the widths that it shall have."
  (setq backstaff-table--merge nil)
  (if (or backstaff-table--answer (nthcdr backstaff-table--slice backstaff-table--rows))
      (progn (setq backstaff-table--wide t)
             (backstaff-table--start))
    (let ((rows (sort (copy-sequence backstaff-table--rows) (backstaff-table--predicate))))
      (backstaff-view-redraw (lambda ()
                               (backstaff-table--order rows)
                               (backstaff-table--print-first))))
    (funcall backstaff-table--after)))

(defun backstaff-table-widen (&optional columns)
  "Make the column at point wider by COLUMNS, by default 1."
  (interactive "p")
  (cl-callf (lambda (width) (max 1 (+ width (or columns 1))))
      (cadr (aref tabulated-list-format (backstaff-table--column))))
  (backstaff-table--redo))

(defun backstaff-table-narrow (&optional columns)
  "Make the column at point narrower by COLUMNS, by default 1."
  (interactive "p")
  (backstaff-table-widen (- (or columns 1))))

(provide 'backstaff-ui-table)
;;; backstaff-ui-table.el ends here
