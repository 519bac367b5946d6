;;; backstaff-ui-consult.el --- Search as you type, with Consult  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Where Consult is loaded, `backstaff-search' asks for the pattern with this: it shows
;; the matches as you type, and the place of the chosen one.  Text behind a second #
;; filters the matches that are shown, as in `consult-grep'.

;;; Code:

(require 'cl-lib)
(require 'backstaff-names)
(require 'backstaff-ui-prompt)
(require 'backstaff-ui-search)

(declare-function consult--dynamic-collection "ext:consult" t t)
(declare-function consult--grep-state "ext:consult" t)
(declare-function consult--lookup-member "ext:consult" t)
(declare-function consult--read "ext:consult" t)

(defconst backstaff-consult--most 200
  "Maximum number of matches that are shown.")

;;;###autoload
(defun backstaff-consult-search (root arguments)
  "Visit a match below ROOT; ARGUMENTS are those of the search but its pattern."
  (let ((default-directory root))
    (consult--read
     (consult--dynamic-collection
      (lambda (input) (backstaff-consult--candidates input root arguments)))
     :prompt "Search for Python regexp: "
     :category 'consult-grep
     :require-match t
     :sort nil
     :lookup #'consult--lookup-member
     :group (lambda (candidate transform)
              (let ((file (get-text-property 0 'consult--prefix-group candidate)))
                (if transform (substring candidate (1+ (length file))) file)))
     :state (consult--grep-state)
     :add-history (thing-at-point 'symbol)
     :history 'backstaff-search-history)))

(defun backstaff-consult--candidates (input root arguments)
  "Return the matches of INPUT below ROOT as lines of a grep.
ARGUMENTS are those of the search.  There are none while INPUT is no regular
expression."
  (let ((reply (backstaff-prompt-call-tool
                "workspace/regexp_search"
                `(:pattern ,input :flags ,(if (isearch-no-upper-case-p input t) "i" "")
                  :max_results ,backstaff-consult--most ,@(cddr arguments))
                (list :root root)))
        (last nil))
    (cl-loop for item in (plist-get (plist-get reply :data) :items)
             for path = (plist-get item :path)
             for place = (cons path (plist-get item :line))
             unless (or (equal place last) (string-search "\n" path))
             collect (concat (propertize path 'face 'consult-file 'consult--prefix-group path)
                             ":"
                             (propertize (number-to-string (cdr place))
                                         'face 'consult-line-number)
                             ":" (backstaff-names-text (plist-get item :line-text)))
             do (setq last place))))

(provide 'backstaff-ui-consult)
;;; backstaff-ui-consult.el ends here
