;;; backstaff-ui-inspector.el --- Run a tool and see all forms of its reply  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `backstaff-run-tool' asks for a tool and its arguments.  It shows the reply as
;; text, plist and JSON, with the bytes and an estimate of the tokens that each costs
;; an agent.  A long form is cut on the screen but measured in full.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'outline)
(require 'subr-x)
(require 'backstaff-ui-arguments)
(require 'backstaff-ui-path)
(require 'backstaff-ui-view)

(defcustom backstaff-inspector-max-characters 100000
  "The most characters to show of each form of a reply."
  :type 'natnum :group 'backstaff)

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
    (define-key map [remap keyboard-quit] #'backstaff-request-quit)
    map)
  "Keymap of `backstaff-inspector-mode'.")

(defvar-local backstaff-inspector--start nil
  "The time of the last call.")

(defvar-local backstaff-inspector--folded nil
  "The headings that were folded at the last drawing.")

(defvar backstaff-inspector--tool-history nil
  "The ids of tools that the user typed.")

(define-derived-mode backstaff-inspector-mode special-mode "Backstaff Run"
  "Major mode for the reply of a Backstaff tool, in all its forms.

\\{backstaff-inspector-mode-map}"
  :group 'backstaff
  (backstaff-view-setup
   :request (lambda (state)
              (setq backstaff-inspector--start (float-time))
              (list (plist-get state :tool) (plist-get state :arguments) '(:json t)))
   :before-draw #'backstaff-inspector--note-folds
   :draw #'backstaff-inspector--draw
   :draw-failure #'backstaff-inspector--draw
   :title (lambda (state) (format "*backstaff run: %s*" (plist-get state :tool)))
   :wrap t)
  (setq-local outline-regexp "\\* \\(?:Text\\|Plist\\|JSON\\)$"
              outline-level (lambda () 1))
  (add-to-invisibility-spec '(outline . t)))

(defun backstaff-inspector--note-folds ()
  "Note which headings are folded."
  (setq backstaff-inspector--folded nil)
  (outline-map-region (lambda ()
                        (when (outline-invisible-p (line-end-position))
                          (push (buffer-substring-no-properties (point) (line-end-position))
                                backstaff-inspector--folded)))
                      (point-min) (point-max)))

;;;###autoload
(defun backstaff-run-tool (id arguments)
  "Run the tool ID with ARGUMENTS, a plist, and show its reply in all forms.
Interactively, ask for the tool and for each argument; an empty argument is
omitted.  Tools see the project of the current directory."
  (interactive
   (let ((tool (backstaff-inspector-read-tool))
         (root (backstaff-command-root)))
     (list (plist-get tool :id)
           (backstaff-arguments-read tool root
                                     (backstaff-inspector-initial-arguments tool root)))))
  (backstaff-inspector-show id arguments '(text plist json)))

(defun backstaff-inspector-initial-arguments (tool root)
  "Return the arguments of TOOL, a definition, that the current buffer suggests.
That is the path below ROOT of the visited file, if TOOL says what a file is or
holds."
  (when-let* ((definition (cl-find-if #'backstaff-arguments-path-p
                                      (plist-get tool :arguments)))
              ((plist-get definition :required))
              ((or (eq (plist-get tool :result-kind) :file-info)
                   (plist-get tool :reads-content)))
              (file buffer-file-name)
              (path (backstaff-path-relative root file)))
    (unless (file-name-absolute-p path)
      (list (backstaff-arguments-keyword definition) path))))

(defun backstaff-inspector-show (id arguments forms)
  "Run the tool ID with ARGUMENTS and show its reply in FORMS.
FORMS is a list of `text', `plist' and `json'."
  (pop-to-buffer-same-window
   (backstaff-view-buffer 'backstaff-inspector-mode
                          (list :root (backstaff-command-root) :path "." :tool id
                                :arguments arguments :forms forms))))

(defun backstaff-inspector--tools ()
  "Return an alist of the ids and definitions of all tools."
  (mapcar (lambda (tool) (cons (plist-get tool :id) tool))
          (backstaff-prompt-call #'backstaff-tools)))

(defun backstaff-inspector-read-tool ()
  "Read the name of a tool and return its definition."
  (let* ((tools (backstaff-inspector--tools))
         (annotate (lambda (id)
                     (concat "  " (plist-get (cdr (assoc id tools)) :description))))
         (id (completing-read
              "Run tool: "
              (lambda (string predicate action)
                (if (eq action 'metadata)
                    `(metadata (category . backstaff-tool)
                               (annotation-function . ,annotate))
                  (complete-with-action action tools string predicate)))
              nil t nil 'backstaff-inspector--tool-history)))
    (or (cdr (assoc id tools))
        (user-error "There is no tool %s" id))))

(defun backstaff-inspector-edit ()
  "Edit the arguments of the call and run it again."
  (interactive nil backstaff-inspector-mode)
  (let* ((id (backstaff-view-get :tool))
         (tool (or (cdr (assoc id (backstaff-inspector--tools)))
                   (user-error "The server has no tool %s" id))))
    (let ((arguments (backstaff-arguments-read tool (backstaff-view-get :root)
                                               (backstaff-view-get :arguments))))
      ;; Who gives other arguments wants to see the answer.  `g' keeps the folds.
      (outline-show-all)
      (backstaff-view-change :arguments arguments))))

(defun backstaff-inspector-copy (text)
  "Put TEXT into the kill ring and say so."
  (kill-new text)
  (message "Copied: %s" text))

(defun backstaff-inspector-copy-lisp ()
  "Copy the call as Lisp."
  (interactive nil backstaff-inspector-mode)
  (backstaff-inspector-copy (backstaff-arguments-lisp (backstaff-view-get :tool)
                                                      (backstaff-view-get :arguments))))

(defun backstaff-inspector-copy-json ()
  "Copy the arguments of the call as JSON."
  (interactive nil backstaff-inspector-mode)
  (backstaff-inspector-copy (backstaff-arguments-json (backstaff-view-get :arguments))))

(defun backstaff-inspector--draw (reply)
  "Draw REPLY and its call."
  (let* ((seconds (- (float-time) backstaff-inspector--start))
         (forms (backstaff-view-get :forms))
         (data (plist-get reply :data))
         (print-length nil) (print-level nil) (print-escape-newlines t)
         (texts (cl-loop for form in forms
                         for text = (pcase form
                                      ('text (plist-get reply :text))
                                      ('plist (and data (prin1-to-string data)))
                                      ('json (plist-get reply :json)))
                         when text collect (cons form text))))
    (if (equal forms '(text))
        (insert (string-limit (plist-get reply :text) backstaff-inspector-max-characters))
      (insert (backstaff-arguments-lisp (backstaff-view-get :tool)
                                        (backstaff-view-get :arguments))
              "\n\n")
      (cl-flet ((line (label text &optional face)
                  (insert (propertize (format "%-10s" label) 'face 'backstaff-detail)
                          " " (if face (propertize text 'face face) text) "\n")))
        (line "Root" (backstaff-names-show
                      (abbreviate-file-name (backstaff-view-get :root))))
        (if (plist-get reply :error)
            (line "Failure" (format "%s" (plist-get (plist-get reply :error) :code))
                  'backstaff-failure)
          (line "Success" (if (plist-get reply :truncated) "but truncated"
                            "and complete")))
        (line "Time" (format "%s ms in the server, %.1f ms there and back"
                             (plist-get reply :elapsed-ms) (* 1e3 seconds)))
        (dolist (warning (plist-get reply :warnings))
          (line "Warning"
                (replace-regexp-in-string "[[:cntrl:]]+" " " (format "%s" warning))
                'warning)))
      (backstaff-inspector--draw-costs texts)
      ;; A failure has a text and nothing else.
      (dolist (form (if (plist-get reply :ok) forms (mapcar #'car texts)))
        (backstaff-inspector--draw-form form (alist-get form texts)))
      (dolist (heading backstaff-inspector--folded)
        (goto-char (point-min))
        (when (re-search-forward (concat "^" (regexp-quote heading) "$") nil t)
          (outline-hide-subtree))))))

(defun backstaff-inspector--draw-costs (texts)
  "Draw a table of the size of TEXTS, an alist by form.
English prose has about 4 bytes a token.  Names and numbers, of which most
replies consist, have about 2.5."
  (insert (propertize (format "\n%-10s %12s   %s\n" "Form" "bytes"
                              "tokens, roughly: bytes/4 to /2.5")
                      'face 'backstaff-detail))
  (pcase-dolist (`(,form . ,text) texts)
    (let ((bytes (length (encode-coding-string text 'utf-8-unix t))))
      (insert (format "%-10s %12s   %s to %s\n"
                      (backstaff-inspector--form-name form)
                      (backstaff-view-number bytes)
                      (backstaff-view-number (/ (+ bytes 3) 4))
                      (backstaff-view-number (ceiling bytes 2.5)))))))

(defun backstaff-inspector--form-name (form)
  "Return the name of FORM for headings."
  (pcase form ('text "Text") ('plist "Plist") ('json "JSON")))

(defun backstaff-inspector--draw-form (form text)
  "Draw FORM of a reply, the string TEXT or nil if there is none, below a heading."
  (insert "\n" (propertize (concat "* " (backstaff-inspector--form-name form))
                           'face 'outline-1)
          "\n")
  (let ((start (point)) (long (> (length text) backstaff-inspector-max-characters)))
    (insert (if text (string-limit text backstaff-inspector-max-characters)
              (propertize "The reply has no such form.\n" 'face 'backstaff-detail)))
    (cond ((or (null text) (eq form 'text)))
          ((or long (eq form 'plist)) (backstaff-inspector--break-lines start))
          (t (json-pretty-print start (point))))
    (unless (bolp) (insert "\n"))
    (when long
      (insert (propertize
               (format "\n… and more: %s has %s characters, see `%s'.\n"
                       (backstaff-inspector--form-name form)
                       (backstaff-view-number (length text))
                       'backstaff-inspector-max-characters)
               'face 'backstaff-detail)))))

(defun backstaff-inspector--break-lines (start)
  "Begin a line at each pair and each object from START to point, by its depth.
This is for plists, and for JSON that was cut, which cannot be parsed."
  (save-restriction
    (narrow-to-region start (point))
    (goto-char start)
    (let ((depth 0))
      ;; In this order: a string such as "a.c", a key with a value such as ":kind :file",
      ;; an opening or closing bracket, and the blank or comma where a line ends.
      (while (re-search-forward
              "\"[^\"\\]*\\(?:\\\\.[^\"\\]*\\)*\"\\|:[a-z][-a-z0-9_]*\\(?: [^ ()\"]+\\)?\\|\
\\(?2:[[({]\\)\\|\\(?3:[])}]\\)\\|\\(?1: \\)\\(?::[a-z]\\|([(:]\\)\\|\\(?1:,\\)" nil 'move)
        (cond ((match-beginning 1)
               (replace-match (concat (string-trim (match-string 1)) "\n"
                                      (make-string (max 0 depth) ?\s))
                              t t nil 1))
              ((match-beginning 2) (cl-incf depth))
              ((match-beginning 3) (cl-decf depth)))))))

(provide 'backstaff-ui-inspector)
;;; backstaff-ui-inspector.el ends here
