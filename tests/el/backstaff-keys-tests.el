;;; backstaff-keys-tests.el --- The table of keys and the keymaps agree  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'backstaff-test-support)
(require 'backstaff)
(require 'backstaff-list)
(require 'backstaff-tree)
(require 'backstaff-commands)
(require 'backstaff-overview)
(require 'backstaff-find)
(require 'backstaff-inspector)

(defun backstaff-keys-tests-documented ()
  "Return what docs/keys.md says: a list of (MAP (KEY . COMMAND)...)."
  (let ((maps nil))
    (with-temp-buffer
      (insert-file-contents (expand-file-name "docs/keys.md" backstaff-test-repository))
      (while (re-search-forward
              "^| \\(?:key | `\\(.+\\)` |$\\|`\\(.+?\\)` | `\\([-a-z]+\\)`\\(.*\\) |$\\)" nil t)
        (if (match-string 1)
            (push (list (intern (match-string 1))) maps)
          (push (cons (match-string 2) (intern (match-string 3))) (cdar maps)))))
    maps))

(defun backstaff-keys-tests-bound (map)
  "Return the keys that MAP itself binds, as a list of (KEY . COMMAND)."
  (let ((keys nil))
    (map-keymap-internal
     (lambda (event command)
       (cond ((and (eq event 'remap) (keymapp command))
              (map-keymap-internal
               (lambda (original replacement)
                 (push (cons (key-description (where-is-internal
                                               original global-map t))
                             replacement)
                       keys))
               command))
             ((not (eq event 'menu-bar))
              (push (cons (key-description (vector event)) command) keys))))
     (symbol-value map))
    keys))

(defun backstaff-keys-tests-sorted (keys)
  "Return KEYS, a list of (KEY . COMMAND), in order."
  (sort (copy-sequence keys) (lambda (one other) (string< (car one) (car other)))))

(ert-deftest backstaff-keys-are-those-in-the-manual ()
  (let ((maps (backstaff-keys-tests-documented)))
    (should (equal (sort (mapcar #'car maps) #'string<)
                   '(backstaff-command-mode-map backstaff-commands-mode-map
                     backstaff-find-map backstaff-info-mode-map
                     backstaff-inspector-mode-map backstaff-list-mode-map backstaff-map
                     backstaff-overview-mode-map backstaff-table-map
                     backstaff-tree-mode-map backstaff-view-map)))
    (pcase-dolist (`(,map . ,keys) maps)
      (ert-info ((symbol-name map))
        (should (equal (backstaff-keys-tests-sorted keys)
                       (backstaff-keys-tests-sorted (backstaff-keys-tests-bound map))))))))

(ert-deftest backstaff-keys-lead-to-commands ()
  (pcase-dolist (`(,_ . ,keys) (backstaff-keys-tests-documented))
    (pcase-dolist (`(,_ . ,command) keys)
      (should (commandp command))
      (should (documentation command)))))

(ert-deftest backstaff-keys-are-bound-nowhere-else ()
  (mapatoms
   (lambda (symbol)
     (when (and (commandp symbol) (string-prefix-p "backstaff" (symbol-name symbol)))
       (should-not (where-is-internal symbol global-map))))))

(ert-deftest backstaff-keys-of-the-base-modes-stay ()
  (dolist (mode '(backstaff-list-mode backstaff-tree-mode backstaff-info-mode
                  backstaff-overview-mode
                  backstaff-commands-mode backstaff-command-mode))
    (with-temp-buffer
      (funcall mode)
      (pcase-dolist (`(,key . ,command) '(("g" . revert-buffer) ("q" . quit-window)
                                          ("?" . describe-mode)))
        (should (eq (key-binding key) command))))))

(provide 'backstaff-keys-tests)
;;; backstaff-keys-tests.el ends here
