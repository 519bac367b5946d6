;;; backstaff-find.el --- Visiting a file by a part of its name  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-find-file' asks the server with each key for the files that match
;; what stands in the minibuffer.  Nobody waits for the answer but a user who
;; has stopped typing: a key that is hit ends the wait, and the call too if it
;; changes the input.  The server ranks; what it puts first stays first.
;;
;; Vertico and its like show completions here as they do elsewhere; else, and
;; where icomplete or fido would, the best matches stand below the prompt.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-names)
(require 'backstaff-view)

(defcustom backstaff-find-limit 100
  "How many of the files that match are asked for."
  :type '(natnum :match (lambda (_widget value) (<= 1 value 1000)))
  :group 'backstaff)

(defcustom backstaff-find-lines 10
  "How many of the files that match stand below the prompt.
This counts where nothing else shows completions as you type."
  :type 'natnum
  :group 'backstaff)

(defvar backstaff-find--history nil
  "What was looked for.")

(cl-defstruct (backstaff-find--search (:constructor backstaff-find--make-search)
                                      (:copier nil))
  "A search of the project ROOT for what stands in the minibuffer.
INPUT is what was asked for last, and CALL the call while its answer is
awaited, with the TIMER that will say so.  NAMES are the matches as they are
shown, the best first, PATHS the paths by these names, TOTAL how many files
match, PROBLEM why none is known.  CHOSEN is the place among NAMES that a plain
minibuffer offers; -1 is none.  STEPS lead on from there among those that are
awaited, the last one first.  BUFFER is the minibuffer, with the overlays COUNT
and LIST in it."
  root input call timer names (paths (make-hash-table :test #'equal)) (total 0) problem
  (chosen 0) steps buffer count list)

(defvar-local backstaff-find--search nil
  "The search that the minibuffer is for.")


;;; Command

;;;###autoload
(defun backstaff-find-file (file &optional root)
  "Visit FILE, a path below the project ROOT.
Interactively, look for it by a part of its name: the files that match what
you type are shown as you type, the best first, without what git ignores.
Letters need not stand together, words not in their order; case counts only
where there is a capital letter."
  (interactive (let ((root (backstaff-command-root)))
                 (list (backstaff-find--read root) root)))
  (let* ((root (or root (backstaff-command-root)))
         (name (concat root file)))
    ;; A link to a directory is found like a file.
    (or (backstaff-view-visit-file name nil root)
        (dired (backstaff-view-file-name name root)))))

(defun backstaff-find--read (root)
  "Ask for a file of the project ROOT and return its path below that."
  (let ((search (backstaff-find--make-search :root root)))
    (unwind-protect
        (let ((shown (minibuffer-with-setup-hook
                         (lambda () (backstaff-find--set-up search))
                       (completing-read "Find file: "
                                        (backstaff-find--table search) nil t nil
                                        'backstaff-find--history))))
          (or (gethash shown (backstaff-find--search-paths search))
              (user-error "No file was named")))
      (backstaff-find--cancel search)
      (mapc #'delete-overlay
            (delq nil (list (backstaff-find--search-count search)
                            (backstaff-find--search-list search)))))))


;;; Asking the server

(defconst backstaff-find--patience 0.3
  "For how many seconds an answer is awaited before that is said.")

(defun backstaff-find--ask (search input)
  "Let SEARCH be for INPUT.  If it is new, the server is asked, and not awaited."
  (unless (equal input (backstaff-find--search-input search))
    (backstaff-find--cancel search)
    (setf (backstaff-find--search-input search) input
          ;; Before anything is typed, no file is the best.
          (backstaff-find--search-chosen search) (if (string-blank-p input) -1 0)
          (backstaff-find--search-steps search) nil
          (backstaff-find--search-call search)
          (backstaff-call-async "workspace/search_files"
                                (backstaff-find--arguments
                                 ;; What a name is shown as need not match it.
                                 (gethash input (backstaff-find--search-paths search)
                                          input))
                                (lambda (reply)
                                  (backstaff-find--take search input reply))
                                (list :root (backstaff-find--search-root search))))
    (setf (backstaff-find--search-timer search)
          (run-at-time backstaff-find--patience nil
                       #'backstaff-find--say-waiting search))))

(defun backstaff-find--say-waiting (search)
  "Say in the minibuffer that SEARCH waits, and that what it shows is old."
  (when (buffer-live-p (backstaff-find--search-buffer search))
    (overlay-put (backstaff-find--search-count search) 'before-string
                 (propertize "waiting… " 'face 'shadow))
    (when-let* ((list (backstaff-find--search-list search))
                (lines (overlay-get list 'after-string)))
      (overlay-put list 'after-string (propertize lines 'face 'shadow)))))

(defun backstaff-find--end-waiting (search)
  "Let SEARCH await nothing any more."
  (setf (backstaff-find--search-call search) nil)
  (when-let ((timer (backstaff-find--search-timer search)))
    (setf (backstaff-find--search-timer search) nil)
    (cancel-timer timer)))

(defun backstaff-find--arguments (input)
  "Return the arguments of a search for INPUT; with no word in it, for all."
  (append (if (string-blank-p input)
              '(:query "**" :kind "glob")
            (list :query input :kind "fuzzy"))
          (list :max_results backstaff-find-limit)))

(defun backstaff-find--take (search input reply)
  "Let SEARCH have the REPLY to its call for INPUT, if that is still wanted."
  (when (equal input (backstaff-find--search-input search))
    (let* ((data (plist-get reply :data))
           (paths (plist-get data :files))
           (names (mapcar #'backstaff-names-show paths)))
      (backstaff-find--end-waiting search)
      (setf (backstaff-find--search-names search) names
            (backstaff-find--search-total search) (or (plist-get data :total) 0)
            (backstaff-find--search-problem search)
            (cond ((not (plist-get reply :ok)) (plist-get reply :text))
                  ((null paths) (backstaff-find--nothing (plist-get data :notes)))))
      (cl-mapc (lambda (name path)
                 (puthash name path (backstaff-find--search-paths search)))
               names paths)
      (mapc (apply-partially #'backstaff-find--step search)
            (nreverse (backstaff-find--search-steps search)))
      (setf (backstaff-find--search-steps search) nil)
      (backstaff-find--show search))))

(defun backstaff-find--step (search step)
  "Let SEARCH choose what is STEP places after the chosen one, if it is there."
  (setf (backstaff-find--search-chosen search)
        (max 0 (min (1- (length (backstaff-find--search-names search)))
                    (+ (backstaff-find--search-chosen search) step)))))

(defun backstaff-find--nothing (notes)
  "Return what to say where no file matches; NOTES are the server's why."
  (string-join (cons "No file matches"
                     ;; How a model is to ask for them is not for people.
                     (mapcar (apply-partially #'string-remove-suffix
                                              ": include_ignored shows them")
                             notes))
               "; "))

(defun backstaff-find--cancel (search)
  "Take back the call of SEARCH whose answer is awaited, if there is one."
  (when-let ((call (backstaff-find--search-call search)))
    (backstaff-find--end-waiting search)
    (setf (backstaff-find--search-input search) nil)
    (backstaff-cancel call)))

(defun backstaff-find--wait (search)
  "Wait for the answer that SEARCH awaits.  A quit ends the wait."
  (while (backstaff-find--search-call search)
    (accept-process-output nil 0.05)))


;;; Completion

(defun backstaff-find--table (search)
  "Return the completion table of SEARCH: a string's completions are its matches."
  (lambda (string predicate action)
    (pcase action
      ('metadata '(metadata (category . project-file)
                            (display-sort-function . identity)
                            (cycle-sort-function . identity)))
      (`(boundaries . ,_) nil)
      ('lambda (and (gethash string (backstaff-find--search-paths search)) t))
      (_ (let ((names (backstaff-find--names search string)))
           (if action
               (seq-filter (or predicate #'identity) names)
             (cond ((equal names (list string)) t)
                   (names string))))))))

(defun backstaff-find--names (search string)
  "Return the names that match STRING in SEARCH, or nil if a key is hit first."
  (backstaff-find--ask search string)
  (while-no-input (backstaff-find--wait search))
  (unless (backstaff-find--search-call search)
    (copy-sequence (backstaff-find--search-names search))))

(defun backstaff-find--try (string table predicate _point)
  "Complete STRING in TABLE with PREDICATE only where one file matches."
  (let ((names (all-completions string table predicate)))
    (cond ((null names) nil)
          ((cdr names) (cons string (length string)))
          ((equal (car names) string) t)
          (t (cons (car names) (length (car names)))))))

(defun backstaff-find--all (string table predicate _point)
  "Return all that matches STRING in TABLE with PREDICATE."
  (all-completions string table predicate))


;;; The minibuffer

(defvar backstaff-find-words-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "SPC") #'self-insert-command)
    (define-key map (kbd "?") #'self-insert-command)
    map)
  "Keymap of `backstaff-find-file', where a blank separates words.")

(defvar backstaff-find-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map backstaff-find-words-map)
    (define-key map (kbd "RET") #'backstaff-find-exit)
    (define-key map (kbd "<down>") #'backstaff-find-next)
    (define-key map (kbd "<up>") #'backstaff-find-previous)
    (define-key map (kbd "C-n") #'backstaff-find-next)
    (define-key map (kbd "C-p") #'backstaff-find-previous)
    map)
  "Keymap of `backstaff-find-file' where nothing else shows completions.")

(defun backstaff-find--set-up (search)
  "Make the minibuffer one for SEARCH."
  (setf (backstaff-find--search-buffer search) (current-buffer)
        (backstaff-find--search-count search) (make-overlay (point-min) (point-min)))
  ;; What the server found need not begin with the input, nor hold it.
  (setq-local backstaff-find--search search
              completion-styles '(backstaff-find)
              completion-category-defaults nil
              completion-category-overrides nil
              completion-styles-alist
              (cons '(backstaff-find backstaff-find--try backstaff-find--all
                                     "What the server finds.")
                    completion-styles-alist))
  ;; While an answer is awaited icomplete drops keys, and fido looks only
  ;; among what an earlier answer told: here they stand back.
  (when (bound-and-true-p icomplete-mode)
    (setq-local icomplete-mode nil))
  (when (backstaff-find--plain-p)
    (setf (backstaff-find--search-list search)
          (make-overlay (point-max) (point-max) nil t t))
    ;; What the minibuffer has no room for is not seen, the chosen one neither.
    (setq-local max-mini-window-height (+ 2 backstaff-find-lines)))
  (use-local-map (make-composed-keymap (if (backstaff-find--plain-p)
                                           backstaff-find-map
                                         backstaff-find-words-map)
                                       (current-local-map)))
  (add-hook 'after-change-functions #'backstaff-find--forget nil t)
  (add-hook 'post-command-hook #'backstaff-find--follow nil t))

(defun backstaff-find--plain-p ()
  "Return non-nil if nothing else shows completions as one types."
  (not (or (bound-and-true-p vertico-mode)
           (bound-and-true-p mct-mode)
           (bound-and-true-p ivy-mode)
           (bound-and-true-p helm-mode))))

(defun backstaff-find--forget (&rest _change)
  "Forget what was asked for, and so what was chosen, as the input is another one.
Were it the same again before anyone is asked, that would not be seen."
  (backstaff-find--cancel backstaff-find--search)
  (setf (backstaff-find--search-input backstaff-find--search) nil))

(defun backstaff-find--follow ()
  "Ask for what stands in the minibuffer now, unless more keys are there already.
Else the server would be asked for each character of a text that is pasted."
  (unless (input-pending-p)
    (backstaff-find--ask backstaff-find--search (minibuffer-contents-no-properties))))

(defun backstaff-find--show (search)
  "Show in the minibuffer what SEARCH has found."
  (when (buffer-live-p (backstaff-find--search-buffer search))
    (overlay-put (backstaff-find--search-count search) 'before-string
                 (propertize (backstaff-find--count search) 'face 'shadow))
    (when-let ((list (backstaff-find--search-list search)))
      (with-current-buffer (backstaff-find--search-buffer search)
        (move-overlay list (point-max) (point-max)))
      (overlay-put list 'after-string (backstaff-find--lines search)))))

(defun backstaff-find--count (search)
  "Return how many files SEARCH has found, and how many of them are there.
Where these stand below the prompt, the last line says how many do not."
  (let ((there (length (backstaff-find--search-names search)))
        (total (backstaff-find--search-total search)))
    (if (or (= there total) (backstaff-find--search-list search))
        (format "%d " total)
      (format "%d of %d " there total))))

(defun backstaff-find--lines (search)
  "Return the first matches of SEARCH, a line each, with the chosen one marked."
  (let* ((names (backstaff-find--search-names search))
         (chosen (backstaff-find--search-chosen search))
         (most (backstaff-find--most-lines))
         (first (max 0 (- chosen (1- most))))
         (shown (seq-take (nthcdr first names) most))
         (rest (- (backstaff-find--search-total search) first (length shown)))
         (lines (cl-loop for name in shown and place from first
                         for line = (backstaff-find--line name)
                         collect (if (= place chosen)
                                     (propertize line 'face 'highlight)
                                   line))))
    (when (> rest 0)
      (setq lines (append lines (list (propertize (format "%d more" rest)
                                                  'face 'shadow)))))
    (unless names
      (setq lines (list (propertize (or (backstaff-find--search-problem search)
                                        "No file matches")
                                    'face 'shadow))))
    ;; The cursor stands before what is shown, not after it.
    (concat (propertize " " 'cursor t) "\n" (string-join lines "\n"))))

(defun backstaff-find--most-lines ()
  "Return how many of the files that match have room below the prompt."
  ;; The prompt, a count and a mode line take one each, a window four.
  (max 1 (min backstaff-find-lines (- (frame-height) 7))))

(defun backstaff-find--line (name)
  "Return NAME as one line, without its start if it is too long for that."
  (let ((width (1- (frame-width))))
    (if (<= (string-width name) width)
        name
      (let ((start (max 0 (- (length name) (1- width)))))
        (while (> (string-width name start) (1- width))
          (setq start (1+ start)))
        (concat "…" (substring name start))))))

(defun backstaff-find-next (&optional step)
  "Choose the next of the files that match, or the one after so many as STEP.
While they are awaited, it is one of those that will be there."
  (interactive)
  (let ((search backstaff-find--search))
    (backstaff-find--ask search (minibuffer-contents-no-properties))
    (if (backstaff-find--search-call search)
        (push (or step 1) (backstaff-find--search-steps search))
      (backstaff-find--step search (or step 1))
      (backstaff-find--show search))))

(defun backstaff-find-previous ()
  "Choose the file before the chosen one."
  (interactive)
  (backstaff-find-next -1))

(defun backstaff-find-exit ()
  "Visit the file that is chosen: the best match unless another one is.
A name that stands in the minibuffer in full goes first.  Before anything is
typed or chosen, no file is visited."
  (interactive)
  (let* ((search backstaff-find--search)
         (input (minibuffer-contents-no-properties)))
    (unless (gethash input (backstaff-find--search-paths search))
      (backstaff-find--ask search input)
      (when (and (< (backstaff-find--search-chosen search) 0)
                 (null (backstaff-find--search-steps search)))
        (user-error "Type a part of the name, or choose a file"))
      (backstaff-find--wait search)
      (let ((name (nth (backstaff-find--search-chosen search)
                       (backstaff-find--search-names search))))
        (unless name
          (user-error "%s" (or (backstaff-find--search-problem search)
                               "No file matches")))
        (delete-minibuffer-contents)
        (insert name)))
    (exit-minibuffer)))

(provide 'backstaff-find)
;;; backstaff-find.el ends here
