;;; backstaff-emacs-diagnostics.el --- The tool emacs/diagnostics  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Tells what the checkers in Emacs say of the files that are open:
;;
;;   2 problems in 1 file: 1 error, 1 warning
;;   src/a.py:7:1 error undefined name 'x' [flymake]
;;   src/a.py:9:80 warning line too long [flycheck]
;;   [no checker runs in: README.md]
;;   [only files that are open in Emacs are checked]
;;
;; Flymake has what eglot was told by a language server, and Flycheck or Flymake what
;; lsp-mode was told.  So a problem may be told twice in slightly different words; of
;; those on one line, one whose message is a part of another's is the same.
;;
;; No checker is started: what the last check found is shown, and whether one is under
;; way.  "No errors or warnings" is said only where a check has ended.  Else the first line
;; says why nothing was checked:
;;
;;   Not checked: no checker runs in: README.md
;;
;; Notes name the checkers that failed and count the problems that are not shown:
;;
;;   No errors or warnings from the checkers that work
;;   [2 notes below the severity warning are not shown]
;;   [Flymake has disabled elisp-flymake-byte-compile, which failed, in: a.el]

;;; Code:

(require 'backstaff-emacs)
(require 'warnings)

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
(declare-function flycheck-error-message "ext:flycheck" (error) t)
(declare-function flycheck-error-filename "ext:flycheck" (error) t)
(declare-function lsp-diagnostics "ext:lsp-mode" (&optional current-workspace))
(defvar flycheck-current-errors)
(defvar flycheck-last-status-change)

(defconst backstaff-emacs-diagnostics-tool
  '(:id "emacs/diagnostics"
    :description "Shows the problems that Emacs's checkers (Flymake, Flycheck, eglot, lsp-mode) have found in the files that are open, also in text that is not saved yet. Files that are not open are not checked."
    :arguments
    ((:name "path" :type :string
      :description "File or directory to tell of; without it, all of the project.")
     (:name "severity" :type :string :enum ("error" "warning" "note") :default "warning"
      :description "The least severe problems to show.")
     (:name "max_results" :type :integer :default 100 :minimum 1 :maximum 500
      :description "How many problems to show."))
    :categories (:emacs :diagnostics)
    :function backstaff-emacs-diagnostics--run)
  "The definition of the tool emacs/diagnostics.")

(defconst backstaff-emacs-diagnostics--severities '(:error :warning :note)
  "The severities, the worst first.")

(defun backstaff-emacs-diagnostics--run (arguments context _done)
  "Do the work of emacs/diagnostics with ARGUMENTS in CONTEXT."
  (let* ((roots (backstaff-emacs-roots (plist-get context :root)))
         (scope (backstaff-emacs-argument-path (or (plist-get arguments :path) "") roots))
         (within (lambda (path) (or (equal scope "") (equal path scope)
                                    (string-prefix-p (concat scope "/") path))))
         (files (cl-remove-if-not within (backstaff-emacs-buffers roots) :key #'car))
         (wanted (memq (intern (concat ":" (plist-get arguments :severity)))
                       (reverse backstaff-emacs-diagnostics--severities)))
         (found nil) (hidden nil) (unchecked nil) (waiting nil) (failed nil) (checked nil))
    (pcase-dolist (`(,path . ,buffer) (reverse files))
      (pcase-let ((`(,state ,problems . ,failures)
                   (backstaff-emacs-diagnostics--of-buffer path buffer roots)))
        (pcase state
          ('failed)
          ('unchecked (push path unchecked))
          ('waiting (push path waiting))
          (_ (setq checked t)))
        (dolist (failure failures)
          (push path (alist-get failure failed nil nil #'equal)))
        (setq found (nconc problems found))))
    (setq found (cl-remove-if-not
                 (lambda (problem) (funcall within (plist-get problem :path)))
                 (backstaff-emacs-diagnostics--once
                  (nconc (backstaff-emacs-diagnostics--of-lsp roots) found)))
          ;; A language server tells lsp-mode of files, too, that are not open.
          checked (or checked found))
    (cl-flet ((shown-p (problem) (memq (plist-get problem :severity) wanted)))
      (setq hidden (cl-remove-if #'shown-p found)
            found (cl-remove-if-not #'shown-p found)))
    (backstaff-emacs-diagnostics--result
     found hidden (plist-get arguments :severity) checked unchecked waiting failed
     (and (null files) scope) (plist-get arguments :max-results) (plist-get context :limit))))

(defun backstaff-emacs-diagnostics--problem (path line column severity message source)
  "Return a problem: LINE and COLUMN of PATH count from 1, and SOURCE is a string."
  (list :path path :line line :column column :severity severity
        :message (backstaff-names-prose
                  (truncate-string-to-width (or message "") 500 nil nil t))
        :sources (list source)))

(defun backstaff-emacs-diagnostics--of-buffer (path buffer roots)
  "Return (STATE PROBLEMS . FAILURES) of BUFFER; PATH is below one of ROOTS.
STATE is nil, `unchecked' if no checker runs there, `failed' if all that should
have failed, or `waiting' if one has not reported yet.  FAILURES are texts that
tell which checkers have failed."
  (let ((checked nil) (waiting nil) (problems nil) (failures nil))
    (backstaff-emacs-in buffer
      (when (bound-and-true-p flymake-mode)
        (let* ((disabled (flymake-disabled-backends))
               (running (cl-set-difference (flymake-running-backends) disabled)))
          ;; Flymake asks a checker that has signalled an error no more.
          (setq failures (mapcar (lambda (backend)
                                   (format "Flymake has disabled %s, which failed,"
                                           (if (symbolp backend)
                                               (backstaff-names-show (symbol-name backend))
                                             "a checker")))
                                 disabled)
                checked (and running t)
                waiting (cl-set-difference running (flymake-reporting-backends))
                problems (backstaff-emacs-diagnostics--of-flymake path))))
      (when (bound-and-true-p flycheck-mode)
        (let ((status (bound-and-true-p flycheck-last-status-change)))
          (pcase status
            ('no-checker)
            ('errored (push "a check of Flycheck has failed" failures))
            (_ (setq checked t
                     waiting (or waiting (memq status '(not-checked running))))))
          (setq problems
                (nconc (cl-loop for error in flycheck-current-errors
                                for problem = (backstaff-emacs-diagnostics--of-flycheck
                                               error path roots)
                                when problem collect problem)
                       problems))))
      (when (bound-and-true-p lsp-mode)
        (setq checked t)))
    (cl-list* (cond (checked (and waiting 'waiting)) (failures 'failed) (t 'unchecked))
              problems failures)))

(defun backstaff-emacs-diagnostics--of-flymake (path)
  "Return the problems that Flymake has found in the current buffer, of PATH."
  ;; They are sorted, so that each line is counted once.
  (let ((line 1) (last (point-min)))
    (cl-loop
     for diagnostic in (cl-sort (cl-remove-if-not
                                 (lambda (diagnostic)
                                   (integer-or-marker-p (flymake-diagnostic-beg diagnostic)))
                                 (flymake-diagnostics))
                                #'< :key #'flymake-diagnostic-beg)
     for start = (min (flymake-diagnostic-beg diagnostic) (point-max))
     for type = (flymake-diagnostic-type diagnostic)
     do (goto-char start)
     (cl-incf line (count-lines last (line-beginning-position)))
     (setq last (line-beginning-position))
     collect (backstaff-emacs-diagnostics--problem
              path line (1+ (- start last))
              (or (car (memq type backstaff-emacs-diagnostics--severities))
                  (pcase (get type 'flymake-category)
                    ('flymake-error :error) ('flymake-warning :warning)
                    ('flymake-note :note))
                  (let ((level (get type 'severity)))
                    (cond ((not (numberp level)) :error)
                          ((>= level (warning-numeric-level :error)) :error)
                          ((>= level (warning-numeric-level :warning)) :warning)
                          (t :note))))
              (flymake-diagnostic-text diagnostic) "flymake"))))

(defun backstaff-emacs-diagnostics--of-flycheck (error path roots)
  "Return the problem of Flycheck's ERROR in the buffer of PATH, or nil.
A checker may tell of other files; they count if they are below one of ROOTS."
  (let* ((file (flycheck-error-filename error))
         (path (cond ((null file) path)
                     ((file-name-absolute-p file) (backstaff-emacs-below file roots))
                     (t path))))
    (and path
         (backstaff-emacs-diagnostics--problem
          path (or (flycheck-error-line error) 1) (or (flycheck-error-column error) 1)
          (pcase (flycheck-error-level error)
            ('error :error) ('warning :warning) ('info :note)
            (level (let ((severity (get level 'flycheck-error-severity)))
                     (cond ((not (numberp severity)) :error)
                           ((>= severity 100) :error) ((>= severity 10) :warning)
                           (t :note)))))
          (flycheck-error-message error) "flycheck"))))

(defun backstaff-emacs-diagnostics--of-lsp (roots)
  "Return the problems below ROOTS that language servers have told lsp-mode."
  (let ((problems nil))
    (when (and (fboundp 'lsp-diagnostics) (not (autoloadp (symbol-function 'lsp-diagnostics))))
      (cl-labels ((get (key object)
                    ;; By an option of lsp-mode, its objects are plists or tables.
                    (if (hash-table-p object) (gethash key object)
                      (plist-get object (intern (concat ":" key))))))
        (maphash
         (lambda (file diagnostics)
           (when-let ((path (and (not (backstaff-emacs-secret-p (list file) roots))
                                 (backstaff-emacs-below file roots))))
             (dolist (one (append diagnostics nil))
               (let ((start (get "start" (get "range" one))))
                 (push (backstaff-emacs-diagnostics--problem
                        path (1+ (get "line" start)) (1+ (get "character" start))
                        (pcase (get "severity" one) (1 :error) (2 :warning) ((or 3 4) :note)
                               (_ :error))
                        (get "message" one) "lsp")
                       problems)))))
         (lsp-diagnostics))))
    problems))

(defun backstaff-emacs-diagnostics--once (problems)
  "Return PROBLEMS sorted, each once."
  (let ((kept nil)
        (rank (lambda (problem) (length (memq (plist-get problem :severity)
                                              backstaff-emacs-diagnostics--severities)))))
    (dolist (problem (sort problems
                           (lambda (one other)
                             (let ((a (plist-get one :path)) (b (plist-get other :path))
                                   (line (plist-get one :line))
                                   (line2 (plist-get other :line)))
                               (cond ((not (equal a b)) (string< a b))
                                     ((/= line line2) (< line line2))
                                     (t (< (plist-get one :column)
                                           (plist-get other :column))))))))
      (let ((same (cl-loop
                   for earlier in kept
                   while (and (equal (plist-get earlier :path) (plist-get problem :path))
                              (= (plist-get earlier :line) (plist-get problem :line)))
                   when (backstaff-emacs-diagnostics--same-p
                         (plist-get earlier :message) (plist-get problem :message))
                   return earlier)))
        (if (not same) (push problem kept)
          (plist-put same :sources (sort (cl-union (plist-get same :sources)
                                                   (plist-get problem :sources) :test #'equal)
                                         #'string<))
          (when (> (funcall rank problem) (funcall rank same))
            (plist-put same :severity (plist-get problem :severity)))
          (when (> (length (plist-get problem :message)) (length (plist-get same :message)))
            (plist-put same :message (plist-get problem :message))))))
    (nreverse kept)))

(defun backstaff-emacs-diagnostics--same-p (one other)
  "Return non-nil if the message ONE is a part of OTHER, or OTHER of ONE."
  (if (> (length one) (length other))
      (backstaff-emacs-diagnostics--same-p other one)
    (if (string-empty-p one) (string-empty-p other)
      (string-match-p (regexp-quote one) other))))

(defun backstaff-emacs-diagnostics--result
    (found hidden severity checked unchecked waiting failed closed most limit)
  "Return the result that shows MOST of the problems FOUND in LIMIT bytes.
HIDDEN are those below SEVERITY.  CHECKED is nil where no check has ended.
UNCHECKED and WAITING are paths of files, and FAILED is an alist of failures
and paths.  CLOSED is nil, or the path that was asked for if no file there is
open; \"\" is the whole project."
  (let* ((counts (lambda (problems)
                   (string-join
                    (cl-loop for severity in backstaff-emacs-diagnostics--severities
                             for number = (cl-count severity problems
                                                    :key (lambda (one)
                                                           (plist-get one :severity)))
                             when (> number 0)
                             collect (backstaff-emacs-plural
                                      number (substring (symbol-name severity) 1)))
                    ", ")))
         (files (length (seq-uniq (mapcar (lambda (one) (plist-get one :path)) found))))
         (named (lambda (what paths)
                  (and paths
                       (list (format "%s: %s" what
                                     (backstaff-emacs-some
                                      (mapcar #'backstaff-names-show paths)
                                      (min 500 (/ limit 4))))))))
         (notes (append (and hidden
                             (list (format "%s below the severity %s %s not shown"
                                           (funcall counts hidden) severity
                                           (if (cdr hidden) "are" "is"))))
                        (cl-loop for (failure . paths) in failed
                                 append (funcall named (concat failure " in") paths))
                        (funcall named "no checker runs in" unchecked)
                        (funcall named "a check is under way in" waiting)
                        (and closed (not (equal closed ""))
                             (list (format "%s is not open" (backstaff-names-show closed))))))
         (head (cond
                ((not checked)
                 (prog1 (format "Not checked: %s\n"
                                (string-join (or notes '("no file of the project is open"))
                                             "; "))
                   (setq notes nil)))
                ((null found)
                 (format "No %s%s\n"
                         (pcase severity
                           ("error" "errors") ("warning" "errors or warnings") (_ "problems"))
                         (if failed " from the checkers that work" "")))
                (t
                 (format "%s in %s: %s\n" (backstaff-emacs-plural (length found) "problem")
                         (backstaff-emacs-plural files "file") (funcall counts found)))))
         (notes (mapconcat (lambda (note) (format "[%s]\n" note))
                           (append notes '("only files that are open in Emacs are checked"))
                           ""))
         (lines (backstaff-emacs-fitting
                 (mapcar (lambda (one)
                           (format "%s:%d:%d %s %s [%s]"
                                   (backstaff-names-show (plist-get one :path))
                                   (plist-get one :line) (plist-get one :column)
                                   (substring (symbol-name (plist-get one :severity)) 1)
                                   (plist-get one :message)
                                   (string-join (plist-get one :sources) ", ")))
                         (seq-take found most))
                 (- limit (string-bytes head) (string-bytes notes) 80)))
         (left (- (length found) (length lines))))
    (list :text (concat head (mapconcat (lambda (line) (concat line "\n")) lines "")
                        (and (> left 0)
                             (format "[%d more: give a path, or raise max_results or severity]\n"
                                     left))
                        notes)
          :truncated (> left 0)
          :data (list :problems (seq-take found (length lines)) :problems-total (length found)
                      :problems-below (length hidden)
                      :unchecked unchecked :waiting waiting :failed failed))))

(provide 'backstaff-emacs-diagnostics)
;;; backstaff-emacs-diagnostics.el ends here
