;;; llm.el --- The part of llm that a tool meets  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Names and signatures are those of llm 0.31.

;;; Code:

(require 'cl-lib)

(cl-defstruct llm-tool
  "A tool."
  function name description args async)

(cl-defun llm-make-tool (&key function name description args async &allow-other-keys)
  "Return a tool of FUNCTION, NAME, DESCRIPTION, ARGS and ASYNC."
  (dolist (argument args)
    (cl-check-type (plist-get argument :type) symbol))
  (make-llm-tool :function function :name name :description description
                 :args args :async async))

(provide 'llm)
;;; llm.el ends here
