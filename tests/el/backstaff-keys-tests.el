;;; backstaff-keys-tests.el --- The keys of the keymaps  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff-ui-changes)
(require 'backstaff-ui-inspector)
(require 'backstaff-ui-overview)
(require 'backstaff-ui-search)
(require 'backstaff-ui-tree)

(ert-deftest backstaff-keys-lead-to-commands ()
  (dolist (map '(backstaff-map backstaff-view-mode-map backstaff-changes-mode-map
                 backstaff-inspector-mode-map backstaff-overview-mode-map
                 backstaff-search-mode-map backstaff-tree-mode-map))
    (let ((commands nil))
      (map-keymap-internal (lambda (_ command) (when (symbolp command) (push command commands)))
                           (symbol-value map))
      (should commands)
      (dolist (command commands)
        (ert-info ((format "%s: %s" map command))
          (should (commandp command))
          (autoload-do-load (symbol-function command) command)
          (should (documentation command)))))))

(ert-deftest backstaff-keys-are-bound-nowhere-else ()
  (mapatoms
   (lambda (symbol)
     (when (and (commandp symbol) (string-prefix-p "backstaff" (symbol-name symbol)))
       (should-not (where-is-internal symbol global-map))))))

(ert-deftest backstaff-keys-of-the-base-modes-stay ()
  (dolist (mode '(backstaff-tree-mode backstaff-overview-mode backstaff-inspector-mode
                  backstaff-search-mode backstaff-changes-mode))
    ;; C-h m shows all keys of the mode.
    (should (string-search (format "\\{%s-map}" mode) (documentation mode t)))
    (with-temp-buffer
      (funcall mode)
      (pcase-dolist (`(,key . ,command) '(("g" . revert-buffer) ("q" . quit-window)
                                          ("?" . backstaff-view-keys)))
        (should (eq (key-binding key) command))))))

(provide 'backstaff-keys-tests)
;;; backstaff-keys-tests.el ends here
