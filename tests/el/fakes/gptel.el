;;; gptel.el --- The part of gptel that a tool meets  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Names, signatures and manners are those of gptel 0.9.9: it changes the
;; list of arguments that it is given, keeps tools by category and name, and
;; resolves the tools of a preset when that is applied.

;;; Code:

(require 'cl-lib)

(defvar gptel-confirm-tool-calls 'auto
  "Whether to ask before a tool is called.")

(defvar gptel--known-tools nil
  "An alist of categories, each an alist of names and tools.")

(defvar gptel--known-presets nil
  "An alist of presets.")

(cl-defstruct (gptel-tool (:constructor gptel--make-tool)
                          (:copier nil))
  "A tool."
  function name description args async category confirm (include t))

(defun gptel-make-tool (&rest slots)
  "Make and keep a tool of SLOTS."
  (dolist (key '(:function :name :description :args))
    (unless (plist-member slots key)
      (error "A tool lacks %s" key)))
  (mapc #'gptel--spoil-argument (plist-get slots :args))
  (let ((tool (apply #'gptel--make-tool slots)))
    (setf (alist-get (gptel-tool-name tool)
                     (alist-get (gptel-tool-category tool) gptel--known-tools
                                nil nil #'equal)
                     nil nil #'equal)
          tool)))

(defun gptel--spoil-argument (argument)
  "Make the type of ARGUMENT, and of its items, a string, in place."
  (setf (plist-get argument :type) (symbol-name (plist-get argument :type)))
  (when-let ((items (plist-get argument :items)))
    (gptel--spoil-argument items)))

(defun gptel-make-preset (name &rest keys)
  "Keep KEYS as the preset NAME."
  (setf (alist-get name gptel--known-presets) keys))

(defun gptel-get-preset (name)
  "Return the preset NAME."
  (alist-get name gptel--known-presets))

(provide 'gptel)
;;; gptel.el ends here
