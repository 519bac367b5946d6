;;; backstaff-keys-tests.el --- The keys of the keymaps  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)

(declare-function manual-load "ext:manual" ())
(declare-function manual-keys "ext:manual" (map))
(defvar manual-maps)
(load (expand-file-name "dev/manual.el" backstaff-test-repository) nil t)
(manual-load)

(ert-deftest backstaff-keys-are-all-in-the-manual ()
  (mapatoms
   (lambda (symbol)
     (when (and (string-match-p "\\`backstaff-[^-].*-map\\'" (symbol-name symbol))
                (not (string-search "--" (symbol-name symbol))) ; of a prompt
                (boundp symbol) (keymapp (symbol-value symbol))
                (manual-keys symbol))
       (should (assq symbol manual-maps))))))

(ert-deftest backstaff-keys-lead-to-commands ()
  (pcase-dolist (`(,map . ,_) manual-maps)
    (ert-info ((symbol-name map))
      (should (manual-keys map))
      (pcase-dolist (`(,key . ,command) (manual-keys map))
        (should-not (string-empty-p key))
        (should (commandp command))
        (should (documentation command))))))

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
