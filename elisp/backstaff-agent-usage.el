;;; backstaff-agent-usage.el --- Figures of the agents' calls  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; M-x backstaff-usage shows how often agents called each tool in this Emacs, which a
;; report of a bug needs.  The figures are in memory alone: nothing is written or sent,
;; and no argument and no text is kept.
;;
;; Agents beside Emacs, which speak MCP, have servers of their own and are not counted.

;;; Code:

(require 'backstaff)

(defvar backstaff-agent-usage--counts (make-hash-table :test #'equal)
  "The figures by the ids of tools: lists (CALLS BYTES CUT REFUSED FAILED).")

(defvar backstaff-agent-usage--since (current-time)
  "The time from which on calls are counted.")

(defun backstaff-agent-usage-count (id reply)
  "Count an agent's call of the tool ID that got REPLY, and return its text.
Refused is a call that the policy, the user or the sandbox did not allow;
another one without an answer has failed.  Cut is an answer that lacks
something, for the limit in bytes or another one."
  (let* ((text (plist-get reply :text))
         (code (plist-get (plist-get reply :error) :code))
         (refused (member code '("POLICY_DENIED" "APPROVAL_REQUIRED" "APPROVAL_REFUSED"
                                 "SANDBOX_VIOLATION")))
         (failed (not (or refused (plist-get reply :ok)))))
    (puthash id
             (cl-mapcar #'+ (gethash id backstaff-agent-usage--counts '(0 0 0 0 0))
                        (list 1 (string-bytes text) (if (plist-get reply :truncated) 1 0)
                              (if refused 1 0) (if failed 1 0)))
             backstaff-agent-usage--counts)
    text))

;;;###autoload
(defun backstaff-usage ()
  "Show how often agents in this Emacs called each tool, and how the calls ended.
The figures are those of gptel, llm and Agent-Q since Backstaff was loaded."
  (interactive)
  (let ((help-window-select t) (rows nil))
    (maphash (lambda (id counts) (push (cons id counts) rows)) backstaff-agent-usage--counts)
    (setq rows (sort rows (lambda (one other) (string< (car one) (car other)))))
    (with-help-window "*backstaff usage*"
      (princ (format-time-string "Calls of agents in this Emacs since %F %T\n\n"
                                 backstaff-agent-usage--since))
      (if (null rows) (princ "No agent has called a tool yet.\n")
        (princ (format "%-30s %6s %9s %6s %8s %7s\n" "tool" "calls" "bytes" "cut" "refused" "failed"))
        (dolist (row `(,@rows
                       ("all" ,@(apply #'cl-mapcar #'+ (mapcar #'cdr rows)))))
          (princ (apply #'format "%-30s %6d %9d %6d %8d %7d\n" row)))))))

(provide 'backstaff-agent-usage)
;;; backstaff-agent-usage.el ends here
