;;; backstaff-inspector.el --- See what an agent sees of a tool  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-run-tool' asks for a tool and its arguments, and shows the reply
;; in all its forms, text, plist and JSON, with what each would cost an agent:
;; its bytes, and a rough count of tokens.  In a wide window the forms stand
;; side by side.
;;
;; Nothing waits: the call runs while one goes on, and C-g in the buffer ends
;; it.  A long reply is shown in part, and measured in full.

;;; Code:

(require 'cl-lib)
(require 'outline)
(require 'subr-x)
(require 'backstaff)
(require 'backstaff-arguments)


;;; Options and faces

(defgroup backstaff-inspector nil
  "What an agent sees of a tool."
  :group 'backstaff)

(defcustom backstaff-inspector-column-width 60
  "How many columns a form of the reply needs at least beside another.
A window that is twice as wide shows two, one three times as wide three."
  :type 'natnum)

(defcustom backstaff-inspector-max-characters 100000
  "How many characters of each form of a reply to show."
  :type 'natnum)

(defface backstaff-inspector-heading '((t :inherit outline-1))
  "Face of what stands above each form of a reply.")

(defface backstaff-inspector-label '((t :inherit shadow))
  "Face of the names of figures.")

(defface backstaff-inspector-failure '((t :inherit error))
  "Face of what went wrong.")


;;; State

(cl-defstruct (backstaff-inspector--request
               (:constructor backstaff-inspector--make-request)
               (:copier nil))
  "A call to be shown: the tool ID with ARGUMENTS below ROOT.
FORMS are those of the reply that are wanted, of `text', `plist', `json'."
  (id nil :read-only t)
  (arguments nil :read-only t)
  (root nil :read-only t)
  (forms '(text plist json) :read-only t))

(defvar-local backstaff-inspector--request nil
  "What the buffer shows.")

(defvar-local backstaff-inspector--call nil
  "The call under way for this buffer, as `backstaff-call-async' returned it.")

(defvar-local backstaff-inspector--progress nil
  "The timer that will say that the call under way takes its time.")

(defvar backstaff-inspector--tool-history nil
  "The tools that were run, the last first.")


;;; Commands

;;;###autoload
(defun backstaff-run-tool (id arguments)
  "Run the tool ID with ARGUMENTS, a plist, and show its reply in all forms.
Interactively, ask for the tool and for what it takes; what is left empty
is left out.  Tools see the project that the current directory is in."
  (interactive
   (let ((tool (backstaff-inspector--read-tool)))
     (list (plist-get tool :id)
           (backstaff-arguments-read tool (backstaff-command-root)))))
  (backstaff-inspector-show id arguments))

(defun backstaff-inspector-show (id arguments &optional forms root)
  "Run the tool ID with ARGUMENTS below ROOT and show its reply in FORMS.
FORMS is a list of `text', `plist' and `json', by default all of them."
  (let ((buffer (get-buffer-create (format "*backstaff run: %s*" id)))
        (root (or root (backstaff-command-root))))
    (with-current-buffer buffer
      (unless (derived-mode-p 'backstaff-inspector-mode)
        (backstaff-inspector-mode))
      (setq default-directory root
            backstaff-inspector--request
            (backstaff-inspector--make-request
             :id id :arguments arguments :root root
             :forms (or forms '(text plist json)))))
    ;; As wide as can be, for the sake of the columns.
    (pop-to-buffer buffer '(display-buffer-same-window))
    (backstaff-inspector--split (selected-window))
    (backstaff-inspector--run)
    buffer))

(defun backstaff-inspector--read-tool ()
  "Read the name of a tool and return its definition."
  (let* ((tools (backstaff-tools))
         (ids (mapcar (lambda (tool) (plist-get tool :id)) tools))
         (id (completing-read "Run tool: "
                              (backstaff-inspector--tool-table ids tools)
                              nil t nil 'backstaff-inspector--tool-history)))
    (or (backstaff-inspector--tool id)
        (user-error "There is no tool %s" id))))

(defun backstaff-inspector--tool-table (ids tools)
  "Return a completion table of IDS that tells what TOOLS are good for."
  (let ((annotate (lambda (id)
                    (concat "  " (plist-get
                                  (cl-find id tools :test #'equal
                                           :key (lambda (tool)
                                                  (plist-get tool :id)))
                                  :description)))))
    (lambda (string predicate action)
      (if (eq action 'metadata)
          `(metadata (category . backstaff-tool)
                     (annotation-function . ,annotate))
        (complete-with-action action ids string predicate)))))

(defun backstaff-inspector--tool (id)
  "Return the definition of the tool ID, or nil."
  (cl-find id (backstaff-tools) :test #'equal
           :key (lambda (tool) (plist-get tool :id))))

(defun backstaff-inspector-edit ()
  "Edit the arguments of the call that is shown, and run it again."
  (interactive nil backstaff-inspector-mode)
  (let* ((request backstaff-inspector--request)
         (id (backstaff-inspector--request-id request))
         (root (backstaff-inspector--request-root request))
         (tool (or (backstaff-inspector--tool id)
                   (user-error "The server has no tool %s" id))))
    (setq backstaff-inspector--request
          (backstaff-inspector--make-request
           :id id :root root
           :arguments (backstaff-arguments-read
                       tool root
                       (backstaff-inspector--request-arguments request))
           :forms (backstaff-inspector--request-forms request)))
    (backstaff-inspector--run)))

(defun backstaff-inspector-copy-lisp ()
  "Copy the call that is shown, as Lisp."
  (interactive nil backstaff-inspector-mode)
  (backstaff-inspector--copy
   (backstaff-arguments-lisp
    (backstaff-inspector--request-id backstaff-inspector--request)
    (backstaff-inspector--request-arguments backstaff-inspector--request))))

(defun backstaff-inspector-copy-json ()
  "Copy the arguments of the call that is shown, as JSON."
  (interactive nil backstaff-inspector-mode)
  (backstaff-inspector--copy
   (backstaff-arguments-json
    (backstaff-inspector--request-arguments backstaff-inspector--request))))

(defun backstaff-inspector--copy (text)
  "Put TEXT into the kill ring and say so."
  (kill-new text)
  (message "Copied: %s" text))

(defun backstaff-inspector-cancel ()
  "Cancel the call that is under way, or quit as usual."
  (interactive nil backstaff-inspector-mode)
  (if backstaff-inspector--call
      (backstaff-cancel backstaff-inspector--call)
    (keyboard-quit)))

(defun backstaff-inspector-quit ()
  "Bury the buffer and delete the windows that were made for it."
  (interactive nil backstaff-inspector-mode)
  (let ((buffer (current-buffer)))
    (mapc #'delete-window (backstaff-inspector--extra-windows buffer))
    (quit-window nil (get-buffer-window buffer))))


;;; Mode

(defvar backstaff-inspector-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map special-mode-map)
    (define-key map "e" #'backstaff-inspector-edit)
    (define-key map "w" #'backstaff-inspector-copy-lisp)
    (define-key map "W" #'backstaff-inspector-copy-json)
    (define-key map "n" #'outline-next-visible-heading)
    (define-key map "p" #'outline-previous-visible-heading)
    (define-key map (kbd "TAB") #'outline-cycle)
    (define-key map (kbd "<backtab>") #'outline-cycle-buffer)
    (define-key map [remap quit-window] #'backstaff-inspector-quit)
    (define-key map [remap keyboard-quit] #'backstaff-inspector-cancel)
    map)
  "Keys of `backstaff-inspector-mode'.")

(define-derived-mode backstaff-inspector-mode special-mode "Backstaff Run"
  "Major mode for the reply of a Backstaff tool, in all its forms.

\\{backstaff-inspector-mode-map}"
  :group 'backstaff-inspector
  (setq truncate-lines t
        buffer-undo-list t
        bidi-paragraph-direction 'left-to-right)
  (setq-local outline-regexp "\\* \\(?:Text\\|Plist\\|JSON\\)$"
              outline-level (lambda () 1)
              revert-buffer-function
              (lambda (&rest _) (backstaff-inspector--run)))
  (add-hook 'kill-buffer-hook #'backstaff-inspector--forget nil t)
  (add-hook 'change-major-mode-hook #'backstaff-inspector--forget nil t))


;;; Running

(defun backstaff-inspector--run ()
  "Call the tool that the current buffer is about, and show the reply."
  (backstaff-inspector--forget)
  (pcase-let* ((buffer (current-buffer))
               (request backstaff-inspector--request)
               ((cl-struct backstaff-inspector--request id arguments root)
                request)
               (start (float-time)))
    (setq mode-line-process ":run"
          backstaff-inspector--progress
          (run-at-time 0.5 nil #'message
                       "Waiting for %s…  C-g in its buffer cancels" id)
          backstaff-inspector--call
          (backstaff-call-async
           id arguments
           (lambda (reply)
             (backstaff-inspector--receive buffer request reply
                                           (- (float-time) start)))
           (list :root root :json t)))
    (force-mode-line-update)))

(defun backstaff-inspector--receive (buffer request reply seconds)
  "Show REPLY to REQUEST, which took SECONDS, in BUFFER if that still wants it."
  (when (and (buffer-live-p buffer)
             (eq (buffer-local-value 'backstaff-inspector--request buffer)
                 request)
             (buffer-local-value 'backstaff-inspector--call buffer))
    (with-current-buffer buffer
      (backstaff-inspector--end-progress)
      (setq backstaff-inspector--call nil)
      (backstaff-inspector--insert request reply seconds)
      (backstaff-inspector--place-windows))))

(defun backstaff-inspector--forget ()
  "Cancel the call that is under way for the current buffer, if any."
  (backstaff-inspector--end-progress)
  (when backstaff-inspector--call
    (backstaff-cancel (prog1 backstaff-inspector--call
                        (setq backstaff-inspector--call nil)))))

(defun backstaff-inspector--end-progress ()
  "Say no more that the current buffer is waiting."
  (setq mode-line-process nil)
  (force-mode-line-update)
  (when backstaff-inspector--progress
    (cancel-timer backstaff-inspector--progress)
    (setq backstaff-inspector--progress nil)))


;;; Cost

(defun backstaff-inspector--bytes (text)
  "Return how many bytes TEXT is on any wire."
  (length (encode-coding-string text 'utf-8-unix t)))

(defun backstaff-inspector--tokens (bytes)
  "Return a rough range of how many tokens BYTES are, as text.
Prose in English comes near four bytes a token, names and numbers, which
answers are full of, nearer to two and a half."
  (format "%s to %s"
          (backstaff-inspector--number (/ (+ bytes 3) 4))
          (backstaff-inspector--number (ceiling bytes 2.5))))

(defun backstaff-inspector--number (number)
  "Return NUMBER as text, with a comma between thousands."
  (let ((text (number-to-string number)))
    (while (string-match "\\`\\([0-9]+\\)\\([0-9]\\{3\\}\\)" text)
      (setq text (replace-match "\\1,\\2" t nil text)))
    text))


;;; Forms

(defun backstaff-inspector--print (object)
  "Return OBJECT as text, on one line and in full."
  (let ((print-length nil) (print-level nil) (print-escape-newlines t))
    (prin1-to-string object)))

(defun backstaff-inspector--texts (forms reply)
  "Return an alist of those of FORMS that REPLY has, each as a string."
  (cl-loop for form in forms
           for text = (pcase form
                        ('text (plist-get reply :text))
                        ('plist (and-let* ((data (plist-get reply :data)))
                                  (backstaff-inspector--print data)))
                        ('json (plist-get reply :json)))
           when text collect (cons form text)))

(defun backstaff-inspector--form-name (form)
  "Return the name of FORM, as it stands in headings."
  (pcase form ('text "Text") ('plist "Plist") ('json "JSON")))

(defun backstaff-inspector--insert-form (form text data)
  "Insert FORM of a reply below a heading, laid out and perhaps cut.
TEXT is the form as a string, or nil if there is none, DATA the plist."
  (insert "\n" (propertize (concat "* " (backstaff-inspector--form-name form))
                           'face 'backstaff-inspector-heading)
          "\n")
  (let ((start (point)))
    (pcase form
      ((guard (null text))
       (insert (propertize "The reply has no such form.\n"
                           'face 'backstaff-inspector-label)))
      ('text (insert (backstaff-inspector--head text)))
      ('plist (backstaff-inspector--insert-plist data))
      ('json (backstaff-inspector--insert-json
              (backstaff-inspector--head text))))
    (unless (bolp) (insert "\n"))
    (backstaff-inspector--cut form start (length text))))

(defun backstaff-inspector--head (text)
  "Return as much of TEXT as is shown, without properties."
  (substring-no-properties
   text 0 (min (length text) backstaff-inspector-max-characters)))

(defun backstaff-inspector--cut (form start size)
  "Delete what is too long of FORM, from START to point, and say so.
SIZE is how many characters FORM has."
  (when (> size backstaff-inspector-max-characters)
    (delete-region (min (point) (+ start backstaff-inspector-max-characters))
                   (point))
    (insert (propertize
             (format "\n… and more: %s has %s characters, see `%s'.\n"
                     (backstaff-inspector--form-name form)
                     (backstaff-inspector--number size)
                     'backstaff-inspector-max-characters)
             'face 'backstaff-inspector-label))))


;;; Layout of a plist

(defun backstaff-inspector--insert-plist (object)
  "Insert OBJECT, broken into lines where it is too wide for one.
Stop when more is inserted than is shown."
  (let ((limit (+ (point) backstaff-inspector-max-characters)))
    (catch 'backstaff-inspector-full
      (backstaff-inspector--insert-lisp object 0 limit))))

(defun backstaff-inspector--insert-lisp (object column limit)
  "Insert OBJECT, which starts at COLUMN, as Lisp.
Beyond the position LIMIT leave by a `throw'."
  (when (> (point) limit)
    (throw 'backstaff-inspector-full nil))
  (let ((flat (backstaff-inspector--print object)))
    (cond ((or (atom object)
               (<= (+ column (length flat)) backstaff-inspector-column-width))
           (insert flat))
          ((keywordp (car object))
           (backstaff-inspector--insert-pairs object (1+ column) limit))
          (t
           (backstaff-inspector--insert-items object (1+ column) limit)))))

(defun backstaff-inspector--insert-pairs (plist column limit)
  "Insert PLIST, whose keys start at COLUMN; LIMIT is where to stop."
  (insert "(")
  (cl-loop for (key value) on plist by #'cddr
           for first = t then nil
           do (unless first (insert "\n" (make-string column ?\s)))
           (insert (backstaff-inspector--print key))
           (backstaff-inspector--insert-value
            value (+ column (length (symbol-name key)) 1) (+ column 2) limit))
  (insert ")"))

(defun backstaff-inspector--insert-value (value column below limit)
  "Insert VALUE at COLUMN if it has room there, else at BELOW, a line further.
LIMIT is where to stop."
  (if (or (atom value)
          (<= (+ column (length (backstaff-inspector--print value)))
              backstaff-inspector-column-width))
      (setq below nil))
  (insert (if below (concat "\n" (make-string below ?\s)) " "))
  (backstaff-inspector--insert-lisp value (or below column) limit))

(defun backstaff-inspector--insert-items (list column limit)
  "Insert LIST, whose items start at COLUMN; LIMIT is where to stop."
  (insert "(")
  (cl-loop for item in list
           for first = t then nil
           do (unless first (insert "\n" (make-string column ?\s)))
           (backstaff-inspector--insert-lisp item column limit))
  (insert ")"))


;;; Layout of JSON

(defun backstaff-inspector--insert-json (json)
  "Insert JSON, perhaps cut off, broken into lines between its objects.
Emacs is slow to show a line as long as canonical JSON is."
  (let ((start (point)) (depth 0))
    (insert json)
    (save-restriction
      (narrow-to-region start (point))
      (goto-char start)
      (while (progn (skip-chars-forward "^\"{}[],") (not (eobp)))
        (pcase (char-after)
          (?\" (backstaff-inspector--skip-json-string))
          ((or ?{ ?\[)
           (backstaff-inspector--break-json-before depth)
           (forward-char)
           (cl-incf depth))
          ((or ?} ?\]) (forward-char) (cl-decf depth))
          (_ (forward-char)
             (when (= depth 1) (insert "\n ")))))
      (goto-char (point-max)))))

(defun backstaff-inspector--break-json-before (depth)
  "Break the line before the object at point, DEPTH deep, if it is an item."
  (when (and (eq (char-after) ?{) (memq (char-before) '(?\[ ?,)))
    (insert "\n" (make-string depth ?\s))))

(defun backstaff-inspector--skip-json-string ()
  "Move behind the string that starts at point."
  (forward-char)
  (while (progn (skip-chars-forward "^\"\\\\")
                (eq (char-after) ?\\))
    (forward-char (min 2 (- (point-max) (point)))))
  (unless (eobp) (forward-char)))


;;; The buffer

(defun backstaff-inspector--insert (request reply seconds)
  "Replace the buffer's text with REPLY to REQUEST, which took SECONDS."
  (let* ((inhibit-read-only t)
         (forms (backstaff-inspector--request-forms request))
         (texts (backstaff-inspector--texts forms reply)))
    (erase-buffer)
    (if (equal forms '(text))
        (insert (backstaff-inspector--head (plist-get reply :text)))
      (backstaff-inspector--insert-call request)
      (backstaff-inspector--insert-outcome reply seconds)
      (backstaff-inspector--insert-costs texts)
      ;; A failure has a text and nothing else.
      (dolist (form (if (plist-get reply :ok) forms (mapcar #'car texts)))
        (backstaff-inspector--insert-form form (alist-get form texts)
                                          (plist-get reply :data))))
    (set-buffer-modified-p nil)
    (goto-char (point-min))))

(defun backstaff-inspector--insert-call (request)
  "Insert what REQUEST asks for."
  (pcase-let (((cl-struct backstaff-inspector--request id arguments root)
               request))
    (insert (backstaff-arguments-lisp id arguments) "\n\n")
    (backstaff-inspector--insert-line
     "Root" (backstaff-names-show (abbreviate-file-name root)))))

(defun backstaff-inspector--insert-line (label text &optional face)
  "Insert a line of LABEL and TEXT, that in FACE."
  (insert (propertize (format "%-10s" label) 'face 'backstaff-inspector-label)
          " " (if face (propertize text 'face face) text) "\n"))

(defun backstaff-inspector--insert-outcome (reply seconds)
  "Insert how the call went that ended with REPLY after SECONDS."
  (let ((failure (plist-get reply :error))
        (warnings (plist-get reply :warnings)))
    (if failure
        (backstaff-inspector--insert-line
         "Failure" (format "%s" (plist-get failure :code))
         'backstaff-inspector-failure)
      (backstaff-inspector--insert-line
       "Success" (if (plist-get reply :truncated)
                     "but truncated" "and complete")))
    (backstaff-inspector--insert-line
     "Time" (format "%s ms in the server, %.1f ms there and back"
                    (plist-get reply :elapsed-ms) (* 1e3 seconds)))
    (dolist (warning warnings)
      (backstaff-inspector--insert-line
       "Warning" (backstaff-inspector--one-line warning) 'warning))))

(defun backstaff-inspector--one-line (text)
  "Return TEXT, which came from the server, on one line."
  (replace-regexp-in-string "[[:cntrl:]]+" " " (format "%s" text)))

(defun backstaff-inspector--insert-costs (texts)
  "Insert a table of what each of TEXTS, by form, would cost an agent."
  (insert (propertize (format "\n%-10s %12s   %s\n" "Form" "bytes"
                              "tokens, roughly: bytes/4 to /2.5")
                      'face 'backstaff-inspector-label))
  (pcase-dolist (`(,form . ,text) texts)
    (let ((bytes (backstaff-inspector--bytes text)))
      (insert (format "%-10s %12s   %s\n"
                      (backstaff-inspector--form-name form)
                      (backstaff-inspector--number bytes)
                      (backstaff-inspector--tokens bytes))))))


;;; Windows

(defun backstaff-inspector--extra-windows (buffer)
  "Return the windows of the selected frame that were made for BUFFER."
  (cl-remove-if-not (lambda (window)
                      (and (window-parameter window 'backstaff-inspector)
                           (window-parent window)))
                    (get-buffer-window-list buffer nil)))

(defun backstaff-inspector--split (window)
  "Split WINDOW, which shows the current buffer, into one for each form.
There are only as many as have room side by side."
  (mapc #'delete-window (backstaff-inspector--extra-windows (current-buffer)))
  (let* ((forms (length (backstaff-inspector--request-forms
                         backstaff-inspector--request)))
         (room (/ (window-total-width window)
                  (max 1 backstaff-inspector-column-width)))
         (columns (max 1 (min forms room)))
         (width (/ (window-total-width window) columns)))
    (dotimes (_ (1- columns))
      (setq window (split-window window width 'right))
      (set-window-buffer window (current-buffer))
      (set-window-parameter window 'backstaff-inspector t))))

(defun backstaff-inspector--place-windows ()
  "Let each window of the current buffer show a form of its own.
The first starts at the top and has the last if there is no other."
  (let ((buffer (current-buffer))
        (starts (backstaff-inspector--starts)))
    (dolist (window (get-buffer-window-list buffer nil t))
      (unless (window-parameter window 'backstaff-inspector)
        (set-window-point window (point-min))
        (set-window-start window (point-min))))
    (cl-loop for window in (sort (backstaff-inspector--extra-windows buffer)
                                 (lambda (a b) (< (window-left-column a)
                                                  (window-left-column b))))
             for start in (cdr starts)
             do (set-window-point window start)
             (set-window-start window start))))

(defun backstaff-inspector--starts ()
  "Return where the forms start in the current buffer."
  (save-excursion
    (goto-char (point-min))
    (cl-loop while (re-search-forward (concat "^" outline-regexp) nil t)
             collect (match-beginning 0))))

(provide 'backstaff-inspector)
;;; backstaff-inspector.el ends here
