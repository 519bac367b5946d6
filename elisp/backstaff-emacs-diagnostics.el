;;; backstaff-emacs-diagnostics.el --- The tool emacs/diagnostics  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Shows the findings of the checkers in Emacs for the files that are open:
;;
;;   2 problems in 1 file: 1 error, 1 warning
;;   src/a.py:7:1 error undefined name 'x' [flymake]
;;   src/a.py:9:80 warning line too long [flycheck]
;;   [1 note below the severity warning is not shown]
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
         (path-of (lambda (problem) (plist-get problem :path)))
         (reports (cl-loop for (path . buffer) in (backstaff-emacs-buffers roots)
                           until (backstaff-emacs-late-p)
                           when (funcall within path)
                           collect (cons path (backstaff-emacs-diagnostics--of-buffer
                                               path buffer roots))))
         (severity (plist-get arguments :severity))
         (wanted (memq (intern (concat ":" severity)) '(:note :warning :error)))
         (place (lambda (one) (format "%s\0%9d%9d" (plist-get one :path) (plist-get one :line)
                                      (plist-get one :column))))
         (problems (mapcar #'cdr
                           (cl-sort (cl-loop for (_ _ problems) in reports
                                             append (cl-loop for one in problems
                                                             when (funcall within (plist-get one :path))
                                                             collect (cons (funcall place one) one)))
                                    #'string< :key #'car)))
         (found (cl-remove-if-not (lambda (one) (memq (plist-get one :severity) wanted)) problems))
         (hidden (cl-set-difference problems found))
         (failed nil)
         (named (lambda (text paths)
                  (and paths (format "%s: %s" text
                                     (backstaff-emacs-some (mapcar #'backstaff-names-show paths)
                                                           (min 500 (/ limit 4)))))))
         (in-state (lambda (state)
                     (cl-loop for (path one) in reports when (eq one state) collect path)))
         (unchecked (funcall in-state 'unchecked))
         (waiting (funcall in-state 'waiting))
         (checked (funcall in-state 'checked))
         (notes nil))
    (cl-loop for (path _ _ . failures) in (reverse reports)
             do (dolist (failure failures)
                  (push path (alist-get failure failed nil nil #'equal))))
    (setq notes
          (delq nil
                `(,(and hidden (format "%s below the severity %s %s not shown"
                                       (backstaff-emacs-diagnostics--counts hidden) severity
                                       (if (cdr hidden) "are" "is")))
                  ,@(cl-loop for (failure . paths) in failed
                             collect (funcall named (concat failure " in") paths))
                  ,(funcall named "no checker runs in" unchecked)
                  ,(funcall named "a check is under way in" waiting)
                  ,(unless (or reports (equal scope ""))
                     (format "%s is not open" (backstaff-names-show scope))))))
    (backstaff-emacs-answer
     limit
     (cond ((and backstaff-emacs-cut (null found))
            "No problem was found yet, but Emacs did not look at all")
           ((not checked)
            (concat "Not checked: "
                    (string-join (or notes '("no file of the project is open")) "; ")))
           ((null found)
            (format "No %s%s"
                    (pcase severity
                      ("error" "errors") ("warning" "errors or warnings") (_ "problems"))
                    (if failed " from the checkers that work" "")))
           (t (format "%s in %s: %s" (backstaff-emacs-plural (length found) "problem")
                      (backstaff-emacs-plural
                       (length (delete-dups (mapcar path-of found))) "file")
                      (backstaff-emacs-diagnostics--counts found))))
     (cl-loop for problem in found
              collect (cons (cl-destructuring-bind
                                (&key path line column severity message source) problem
                              (format "%s:%d:%d %s %s [%s]" (backstaff-names-show path) line column
                                      (substring (symbol-name severity) 1) message source))
                            problem))
     :most (plist-get arguments :max-results)
     :more "%d more: give a path, or raise max_results or severity"
     :notes `(,@(and checked notes) "only files that are open in Emacs are checked")
     :data (lambda (shown)
             (list :problems shown :problems-total (length found)
                   :problems-below (length hidden)
                   :unchecked unchecked :waiting waiting :failed failed)))))

(defun backstaff-emacs-diagnostics--counts (problems)
  "Return the number of PROBLEMS of each severity: \"2 errors, 1 note\"."
  (string-join
   (cl-loop for severity in '(:error :warning :note)
            for number = (cl-count severity problems
                                   :key (lambda (one) (plist-get one :severity)))
            when (> number 0)
            collect (backstaff-emacs-plural number (substring (symbol-name severity) 1)))
   ", "))

(defun backstaff-emacs-diagnostics--of-buffer (path buffer roots)
  "Return (STATE PROBLEMS . FAILURES) of BUFFER; PATH is below one of ROOTS.
STATE is `checked', `unchecked' if no checker runs there, `failed' if all of
them have failed, or `waiting' if one has not reported yet.  A problem is a
plist, in which the line and the column count from 1.  FAILURES are texts about
the checkers that have failed."
  (let ((checked nil) (waiting nil) (problems nil) (failures nil))
    (cl-flet ((problem (path line column severity message source)
                (push (list :path path :line line :column column :severity severity
                            :message (backstaff-names-prose
                                      (truncate-string-to-width (or message "") 500 nil nil t))
                            :source source)
                      problems)))
      (backstaff-emacs-in buffer
        (when (bound-and-true-p flymake-mode)
          ;; Flymake no longer asks a checker that has signalled an error.
          (let* ((disabled (flymake-disabled-backends))
                 (running (cl-set-difference (flymake-running-backends) disabled)))
            (setq failures (cl-loop for backend in disabled
                                    collect (format "Flymake has disabled %s, which failed,"
                                                    (if (symbolp backend)
                                                        (backstaff-names-show (symbol-name backend))
                                                      "a checker")))
                  checked (and running t)
                  waiting (cl-set-difference running (flymake-reporting-backends))))
          (goto-char (point-min))
          (cl-loop
           with line = 1
           for diagnostic in (flymake-diagnostics)
           for start = (flymake-diagnostic-beg diagnostic)
           for type = (flymake-diagnostic-type diagnostic)
           until (backstaff-emacs-late-p)
           when (integer-or-marker-p start)
           do (let ((last (point)))
                ;; Most come in order, so each line is counted once.
                (goto-char start)
                (forward-line 0)
                (setq line (funcall (if (< (point) last) #'- #'+) line (count-lines last (point)))))
           and do (problem path line (1+ (- (min start (point-max)) (point)))
                           (or (car (memq type '(:error :warning :note)))
                               (pcase (get type 'flymake-category)
                                 ('flymake-warning :warning) ('flymake-note :note) (_ :error)))
                           (flymake-diagnostic-text diagnostic) "flymake")))
        (when (bound-and-true-p flycheck-mode)
          (pcase (bound-and-true-p flycheck-last-status-change)
            ('no-checker)
            ('errored (push "a check of Flycheck has failed" failures))
            (status (setq checked t
                          waiting (or waiting (memq status '(not-checked running))))))
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
                (problem place (or (flycheck-error-line error) 1)
                         (or (flycheck-error-column error) 1)
                         (cond ((>= level 100) :error) ((>= level 10) :warning) (t :note))
                         (flycheck-error-message error) "flycheck"))))))
    (cl-list* (cond (checked (if waiting 'waiting 'checked)) (failures 'failed) (t 'unchecked))
              (nreverse problems) failures)))

(provide 'backstaff-emacs-diagnostics)
;;; backstaff-emacs-diagnostics.el ends here
