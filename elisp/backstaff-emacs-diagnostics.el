;;; backstaff-emacs-diagnostics.el --- The tool emacs/diagnostics  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Shows the findings of the checkers in Emacs for the files that are open:
;;
;;   2 problems in 1 file: 1 error, 1 warning
;;   src/a.py:7:1 error undefined name 'x' [flymake]
;;   src/a.py:9:80 warning line too long [flycheck]
;;   [1 problem below the severity warning not shown]
;;   [no checker runs in: README.md]
;;   [only files that are open in Emacs are checked]
;;
;; The checkers are Flymake and Flycheck, which also have the findings of language servers
;; from eglot and lsp-mode.  A problem that both have found is shown twice.
;;
;; No checker is started: the tool shows the results of the last check, and whether one is
;; under way.  "No errors or warnings" is said only if a check has ended.  Else the first
;; line gives the reason: "Not checked: no checker runs in: README.md".

;;; Code:

(require 'backstaff-emacs)

(declare-function flymake-diagnostics "flymake" (&optional beg end))
(declare-function flymake-diagnostic-beg "flymake" (diagnostic) t)
(declare-function flymake-diagnostic-text "flymake" (diagnostic &rest parts) t)
(declare-function flymake-diagnostic-type "flymake" (diagnostic) t)
(declare-function flymake-running-backends "flymake" ())
(declare-function flymake-reporting-backends "flymake" ())
(declare-function flymake-disabled-backends "flymake" ())
(declare-function flycheck-error-line "ext:flycheck" (error) t)
(declare-function flycheck-error-column "ext:flycheck" (error) t)
(declare-function flycheck-error-level "ext:flycheck" (error) t)
(declare-function flycheck-error-level-severity "ext:flycheck" (level))
(declare-function flycheck-error-message "ext:flycheck" (error) t)
(declare-function flycheck-error-filename "ext:flycheck" (error) t)
(defvar flycheck-current-errors)

(defconst backstaff-emacs-diagnostics-tool
  '(:id "emacs/diagnostics"
    :description "Shows the problems that Emacs's checkers (Flymake, Flycheck, eglot, lsp-mode) have found in the files that are open, also in text that is not saved yet. A problem that two checkers found is shown twice. Files that are not open are not checked."
    :arguments
    ((:name "path" :type :string
      :description "File or directory; without it, all of the project.")
     (:name "severity" :type :string :enum ("error" "warning" "note") :default "warning"
      :description "The least severe problems to show.")
     (:name "max_results" :type :integer :default 100 :minimum 1 :maximum 500
      :description "How many problems to show."))
    :categories (:emacs :diagnostics)
    :function backstaff-emacs-diagnostics--run)
  "The definition of the tool emacs/diagnostics.")

(defun backstaff-emacs-diagnostics--run (arguments context)
  "Do the work of emacs/diagnostics with ARGUMENTS in CONTEXT."
  (let* ((roots (backstaff-unsaved-roots (plist-get context :root)))
         (limit (plist-get context :limit))
         (scope (backstaff-emacs-argument-path (or (plist-get arguments :path) "") roots))
         (within (lambda (path) (or (equal scope "") (equal path scope)
                                    (string-prefix-p (concat scope "/") path))))
         (severity-of (lambda (problem) (substring (symbol-name (plist-get problem :severity)) 1)))
         (place (lambda (problem) (apply #'format "%s\0%9d%9d"
                                         (mapcar (apply-partially #'plist-get problem)
                                                 '(:path :line :column)))))
         (severity (plist-get arguments :severity))
         (wanted (member severity '("note" "warning" "error")))
         (states nil) (found nil) (hidden nil))
    (pcase-dolist (`(,path . ,buffer) (backstaff-emacs-buffers roots))
      (when (and (funcall within path) (not (backstaff-emacs-late-p)))
        (pcase-let ((`(,state . ,problems)
                     (backstaff-emacs-diagnostics--of-buffer path buffer roots)))
          (setf (alist-get state states) (append (alist-get state states) (list path)))
          (dolist (problem problems)
            (when (funcall within (plist-get problem :path))
              (if (member (funcall severity-of problem) wanted)
                  (push problem found)
                (push problem hidden)))))))
    (let* ((notes
            `(,(and hidden (format "%s below the severity %s not shown"
                                   (backstaff-emacs-plural (length hidden) "problem") severity))
              ,@(cl-loop for (state . text) in '((failed . "a checker has failed in")
                                                 (unchecked . "no checker runs in")
                                                 (waiting . "a check is under way in"))
                         for paths = (alist-get state states)
                         when paths collect (format "%s: %s" text
                                                    (backstaff-emacs-listed
                                                     paths (min 500 (/ limit 4)))))
              ,(unless (or states (equal scope ""))
                 (format "%s is not open" (backstaff-names-show scope)))))
           (checked (or found (alist-get 'checked states)))
           (head (cond ((and backstaff-emacs-cut (not found))
                        "No problem was found yet, but Emacs did not look at all")
                       ((not checked)
                        (concat "Not checked: "
                                (string-join (or (remq nil notes)
                                                 '("no file of the project is open"))
                                             "; ")))
                       ((not found)
                        (format "No %s" (pcase severity ("error" "errors")
                                               ("warning" "errors or warnings") (_ "problems"))))
                       (t (format "%s in %s: %s"
                                  (backstaff-emacs-plural (length found) "problem")
                                  (backstaff-emacs-plural
                                   (length (delete-dups (mapcar (lambda (problem)
                                                                  (plist-get problem :path))
                                                                found)))
                                   "file")
                                  (string-join
                                   (cl-loop for severity in '("error" "warning" "note")
                                            for count = (cl-count severity found :test #'equal
                                                                  :key severity-of)
                                            when (> count 0)
                                            collect (backstaff-emacs-plural count severity))
                                   ", "))))))
      (backstaff-emacs-answer
       limit (cl-loop for problem in (mapcar #'cdr (cl-sort (mapcar (lambda (problem)
                                                                 (cons (funcall place problem)
                                                                       problem))
                                                               found)
                                                       #'string< :key #'car))
                      collect (cl-destructuring-bind
                                  (&key path line column message source &allow-other-keys) problem
                                (cons (format "%s:%d:%d %s %s [%s]" (backstaff-names-show path)
                                              line column (funcall severity-of problem)
                                              message source)
                                      problem)))
       (lambda (shown left)
         (list head
               `(,(and (> left 0)
                       (format "%d more: give a path, or raise max_results or severity" left))
                 ,@(and checked notes) "only files that are open in Emacs are checked")
               (list :problems shown :problems-total (length found)
                     :problems-below (length hidden) :unchecked (alist-get 'unchecked states)
                     :waiting (alist-get 'waiting states) :failed (alist-get 'failed states))))
       :most (plist-get arguments :max-results)))))

(defun backstaff-emacs-diagnostics--of-buffer (path buffer roots)
  "Return (STATE . PROBLEMS) of BUFFER; PATH is below one of ROOTS.
STATE is `unchecked' if no checker runs there, `failed' if one has failed,
`waiting' if one has not reported yet, or `checked'.  A problem is a plist, in
which the line and the column count from 1."
  (let ((state 'unchecked) (problems nil))
    (cl-flet ((problem (path line column severity message source)
                (push (list :path path :line line :column column :severity severity
                            :message (backstaff-names-prose
                                      (truncate-string-to-width (or message "") 500 nil nil t))
                            :source source)
                      problems)))
      (backstaff-emacs-in buffer
        (when (bound-and-true-p flymake-mode)
          ;; Flymake no longer asks a checker that has signalled an error.
          (let ((running (flymake-running-backends)) (failed (flymake-disabled-backends)))
            (setq state (cond (failed 'failed)
                              ((null running) 'unchecked)
                              ((cl-set-difference running (flymake-reporting-backends)) 'waiting)
                              (t 'checked))))
          (cl-loop
           for diagnostic in (flymake-diagnostics)
           for start = (flymake-diagnostic-beg diagnostic)
           for type = (flymake-diagnostic-type diagnostic)
           until (backstaff-emacs-late-p)
           do (when (integer-or-marker-p start)
                (goto-char start)
                (problem path (line-number-at-pos) (1+ (- (point) (line-beginning-position)))
                         (or (car (memq type '(:error :warning :note)))
                             (pcase (get type 'flymake-category)
                               ('flymake-warning :warning) ('flymake-note :note) (_ :error)))
                         (flymake-diagnostic-text diagnostic) "flymake"))))
        (when (bound-and-true-p flycheck-mode)
          (setq state (pcase (bound-and-true-p flycheck-last-status-change)
                        ('no-checker state)
                        ('errored 'failed)
                        ((or 'not-checked 'running) (if (eq state 'failed) state 'waiting))
                        (_ (if (eq state 'unchecked) 'checked state))))
          (cl-loop
           for error in flycheck-current-errors
           until (backstaff-emacs-late-p)
           ;; A checker may find problems in other files; they count if they are below a root.
           for file = (flycheck-error-filename error)
           for place = (if (and file (file-name-absolute-p file))
                           (backstaff-unsaved-below file roots)
                         path)
           for level = (flycheck-error-level-severity (flycheck-error-level error))
           do (when place
                (problem place
                         (or (flycheck-error-line error) 1) (or (flycheck-error-column error) 1)
                         (cond ((>= level 100) :error) ((>= level 10) :warning) (t :note))
                         (flycheck-error-message error) "flycheck"))))))
    (cons state problems)))

(provide 'backstaff-emacs-diagnostics)
;;; backstaff-emacs-diagnostics.el ends here
