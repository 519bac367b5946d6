;;; backstaff-ui-menu.el --- A menu of all commands  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The menu asks the server for nothing, so it opens at once.

;;; Code:

(require 'transient)
(require 'backstaff)

(defun backstaff-menu--title ()
  "Return what stands above the menu: the root, and what to do first."
  (concat (propertize "Backstaff " 'face 'transient-heading)
          (propertize (condition-case problem
                          (abbreviate-file-name (backstaff-root))
                        (error (backstaff-epc-error-text problem)))
                      'face 'shadow)
          (unless (backstaff-server-status)
            "\nNew here?  o shows this project on a page, d checks the installation.")))

;;;###autoload (autoload 'backstaff "backstaff-ui-menu" nil t)
(transient-define-prefix backstaff ()
  "Look at the current project with Backstaff."
  ;; All of it fits in 24 lines of 80 columns.
  [:description backstaff-menu--title
   ["Look around"
    ("o" "Overview on a page" backstaff-overview)
    ("t" "Tree" backstaff-tree)
    ("g" "Changes since the last commit" backstaff-changes)]
   ["Find"
    ("f" "File by its name" backstaff-find-file)
    ("s" "Definition by its name" backstaff-find-definition)
    ("/" "Text in files" backstaff-search)
    ("a" "Answers to a question in the code" backstaff-codebase-search)]]
  [["Agents"
    ("x" "Run a tool as agents do" backstaff-run-tool)
    ("p" "Give gptel the tools" backstaff-gptel-register)
    ("c" "Slash commands for agents" backstaff-list-commands)
    ("l" "List a directory, as Agent-Q" backstaff-list-directory)
    ("e" "List a directory, as JSON" backstaff-list-entries)
    ("i" "A file's type, size, times" backstaff-file-info)
    ("u" "Usage: how often agents called" backstaff-usage)
    ("L" "Listen to agents outside Emacs" backstaff-listen-mode)]
   ["Server"
    ("d" "Doctor: find what is wrong" backstaff-doctor)
    ("v" "View the log" backstaff-show-log)
    ("r" "Restart" backstaff-restart)
    ("S" "Stop" backstaff-stop)]])

(provide 'backstaff-ui-menu)
;;; backstaff-ui-menu.el ends here
