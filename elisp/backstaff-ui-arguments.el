;;; backstaff-ui-arguments.el --- Read a tool's arguments from the user  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A tool's definition, as `backstaff-tools' returns it, describes its arguments.  A
;; value is a string, a number, t or `:false', or a list of strings.  Nil omits the
;; argument from the call.  Paths are plain strings here.  The server checks and
;; completes them, so a typed path reaches no handler of file names.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'subr-x)
(require 'backstaff)

(defvar backstaff-arguments--history nil
  "The values that the user typed.")

(defun backstaff-arguments-keyword (definition)
  "Return the keyword of the argument of DEFINITION, such as `:path'."
  (intern (concat ":" (plist-get definition :name))))

(defun backstaff-arguments-path-p (definition)
  "Return non-nil if the argument of DEFINITION is a path below the root."
  (and (equal (plist-get definition :name) "path")
       (eq (plist-get definition :type) :string)))

(defun backstaff-arguments-value-text (value)
  "Return VALUE of an argument as text for people, such as \"yes\" for t."
  (pcase value
    ('t "yes")
    ((or 'nil :false) "no")
    ("" "\"\"")
    ((pred stringp) value)
    ((pred consp) (mapconcat #'prin1-to-string value " "))
    (_ (format "%s" value))))

(defun backstaff-arguments-default-text (definition)
  "Return a text for the argument of DEFINITION without a value."
  (let ((default (plist-member definition :default)))
    (cond ((plist-get definition :required) "required")
          (default (concat "default " (backstaff-arguments-value-text (cadr default))))
          (t "omitted"))))

(defun backstaff-arguments-read (tool root &optional current)
  "Read the arguments of TOOL, a definition, and return them as a plist.
Paths are below ROOT.  CURRENT is a plist of values to edit."
  (cl-loop for definition in (plist-get tool :arguments)
           for keyword = (backstaff-arguments-keyword definition)
           for value = (backstaff-arguments-read-one
                        definition root (plist-get current keyword))
           when value append (list keyword value)))

(defun backstaff-arguments-read-one (definition root current)
  "Read a value for the argument of DEFINITION; nil omits it.
A path is below ROOT.  CURRENT is the value to edit, or nil."
  (let ((value nil) (problem nil))
    (while (setq value (backstaff-arguments--read-typed definition root current problem)
                 problem (backstaff-arguments--problem definition value))
      (setq current (or value current)))
    value))

(defun backstaff-arguments--problem (definition value)
  "Return a text if VALUE does not suit the argument of DEFINITION, or nil."
  (let ((type (plist-get definition :type))
        (minimum (plist-get definition :minimum))
        (maximum (plist-get definition :maximum)))
    (cond ((null value)
           (and (plist-get definition :required) "It is required"))
          ((not (memq type '(:number :integer))) nil)
          ((not (numberp value)) "It must be a number")
          ((and (eq type :integer) (not (integerp value))) "It must be a whole number")
          ((and minimum (< value minimum)) (format "It must be at least %s" minimum))
          ((and maximum (> value maximum)) (format "It must be at most %s" maximum)))))

(defun backstaff-arguments--read-typed (definition root current problem)
  "Read a value for the argument of DEFINITION, in a way for its type.
ROOT and CURRENT are as in `backstaff-arguments-read-one'.  PROBLEM says why
the last value did not suit, or is nil."
  (cl-labels
      ((prompt (hint &optional rule)
         (let ((description (plist-get definition :description)))
           (concat (and description
                        (propertize (concat (substring-no-properties description) "\n")
                                    'face 'shadow))
                   (and problem (propertize (concat problem ".  ") 'face 'error))
                   (plist-get definition :name)
                   (format " (%s%s): "
                           (or rule (backstaff-arguments-default-text definition))
                           (if hint (concat ", " hint) "")))))
       (text (string)
         (and (not (string-empty-p string)) (substring-no-properties string)))
       (read-text (hint current)
         (text (read-from-minibuffer (prompt hint) (and current (format "%s" current))
                                     nil nil 'backstaff-arguments--history)))
       (choose (hint choices current &optional free rule)
         (text (completing-read (prompt hint rule) choices nil (not free) current
                                'backstaff-arguments--history))))
    (pcase (plist-get definition :type)
      ((guard (plist-get definition :enum))
       (choose nil (plist-get definition :enum) current))
      ((guard (backstaff-arguments-path-p definition))
       (let ((required (plist-get definition :required)))
         (or (choose nil (backstaff-arguments--path-table root) current 'free
                     (and required (null current) "empty is the root"))
             (and required "."))))
      (:boolean
       (pcase (choose "yes or no" '("yes" "no")
                      (and current (backstaff-arguments-value-text current)))
         ("yes" t)
         ("no" :false)))
      ((or :number :integer)
       (let ((number (read-text nil current)))
         (if (string-match-p "\\`[ \t]*-?[0-9]+\\(?:\\.[0-9]+\\)?[ \t]*\\'" (or number ""))
             (string-to-number number)
           number)))
      (:array
       (cl-loop for count from 1
                for item = (read-text (format "%d, empty ends" count) (pop current))
                while item collect item))
      (_ (read-text nil current)))))

(defun backstaff-arguments--path-table (root)
  "Return a completion table of the paths below ROOT.
The server lists the directory that was typed so far."
  (completion-table-dynamic
   (lambda (path)
     (unless (string-prefix-p "/" path)
       (let* ((directory (replace-regexp-in-string "[^/]*\\'" "" path))
              (backstaff-approval-function (lambda (&rest _) :unasked))
              (reply (ignore-error backstaff-error
                       (backstaff-call "agent-q/list_directory"
                                       (list :path (concat "./" directory) :show_hidden t)
                                       (list :root root :person t)))))
         (mapcar (lambda (entry)
                   (concat directory (plist-get entry :name)
                           (and (eq (plist-get entry :kind) :directory) "/")))
                 (plist-get (plist-get reply :data) :entries)))))))

(defun backstaff-arguments-lisp (id arguments)
  "Return the call of the tool ID with ARGUMENTS as a Lisp expression."
  (let ((print-length nil) (print-level nil) (print-escape-newlines t))
    (format "(backstaff-call %S '%S)" id arguments)))

(defun backstaff-arguments-json (arguments)
  "Return ARGUMENTS, a plist, as a JSON object."
  (if arguments
      (json-encode (cl-loop for (keyword value) on arguments by #'cddr
                            collect (cons (substring (symbol-name keyword) 1)
                                          (pcase value
                                            (:false :json-false)
                                            ((pred listp) (vconcat value))
                                            (_ value)))))
    "{}"))

(provide 'backstaff-ui-arguments)
;;; backstaff-ui-arguments.el ends here
