;;; backstaff-arguments.el --- The arguments of a tool, as a person gives them  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A tool's definition, as `backstaff-tools' returns it, says what arguments
;; it takes.  Here is what it takes to read these from a person, whatever the
;; tool: `backstaff-arguments-read' asks for all of them, one after the other,
;; and `backstaff-arguments-read-one' for one.
;;
;; A value is a string, a number, t or `:false', or a list of strings.  Nil is
;; no value: the argument is left out of the call.
;;
;; Paths are strings for the server to judge.  Completion looks at local
;; directories below the root and nowhere else, and whatever is typed reaches
;; no handler of remote file names.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(declare-function json-encode "json" (object))
(declare-function backstaff-call "backstaff" (id args &optional context))

(defvar backstaff-arguments-history nil
  "What was typed for arguments, the last first.")


;;; Definitions

(defun backstaff-arguments-keyword (definition)
  "Return the keyword under which the argument of DEFINITION is passed."
  (intern (concat ":" (plist-get definition :name))))

(defun backstaff-arguments-path-p (definition)
  "Return non-nil if the argument of DEFINITION is a path below the root."
  (and (equal (plist-get definition :name) "path")
       (eq (plist-get definition :type) :string)))

(defun backstaff-arguments-missing (tool arguments)
  "Return the definitions of what TOOL requires and ARGUMENTS do not have."
  (cl-remove-if (lambda (definition)
                  (or (not (plist-get definition :required))
                      (plist-member arguments
                                    (backstaff-arguments-keyword definition))))
                (plist-get tool :arguments)))

(defun backstaff-arguments-value-text (value)
  "Return VALUE, of an argument, as people read it."
  (pcase value
    ('t "yes")
    ((or 'nil :false) "no")
    ((pred stringp) value)
    ((pred consp) (mapconcat #'prin1-to-string value " "))
    (_ (format "%s" value))))

(defun backstaff-arguments-default-text (definition)
  "Return what stands for the argument of DEFINITION while it is left out."
  (cond ((plist-get definition :required) "required")
        ((plist-member definition :default)
         (concat "default "
                 (backstaff-arguments-value-text
                  (plist-get definition :default))))
        (t "omitted")))


;;; Reading

(defun backstaff-arguments-read (tool root &optional current)
  "Read the arguments of TOOL, a definition, and return them as a plist.
Paths are below ROOT.  CURRENT is a plist of what is to be edited."
  (cl-loop for definition in (plist-get tool :arguments)
           for keyword = (backstaff-arguments-keyword definition)
           for value = (backstaff-arguments-read-one
                        definition root (plist-get current keyword))
           when value append (list keyword value)))

(defun backstaff-arguments-read-one (definition root current)
  "Read a value for the argument of DEFINITION; nil if it is to be left out.
A path is below ROOT.  CURRENT is the value to edit, or nil."
  (let ((value nil) (problem nil))
    (while (progn
             (setq value (backstaff-arguments--read-typed
                          definition root current problem)
                   problem (backstaff-arguments--problem definition value))
             problem)
      (setq current (or value current)))
    value))

(defun backstaff-arguments--read-typed (definition root current problem)
  "Read a value for the argument of DEFINITION as its type wants it.
ROOT and CURRENT are as in `backstaff-arguments-read-one'.  PROBLEM is what
was wrong with the last try, or nil."
  (let ((prompt (lambda (hint)
                  (backstaff-arguments--prompt definition hint problem))))
    (pcase definition
      ((pred (lambda (definition) (plist-get definition :enum)))
       (backstaff-arguments--read-choice
        (funcall prompt nil) (plist-get definition :enum) current))
      ((pred backstaff-arguments-path-p)
       (backstaff-arguments--read-path
        prompt root current (plist-get definition :required)))
      (_
       (pcase (plist-get definition :type)
         (:boolean (backstaff-arguments--read-boolean
                    (funcall prompt "yes or no") current))
         ((or :number :integer)
          (backstaff-arguments--read-number (funcall prompt nil) current))
         (:array (backstaff-arguments--read-list prompt current))
         (_ (backstaff-arguments--read-string
             (funcall prompt nil) current)))))))

(defun backstaff-arguments--prompt (definition hint problem)
  "Return a prompt for the argument of DEFINITION.
HINT says more of what to type, PROBLEM what was wrong before; both may be
nil.  What the tool says of its argument stands in a line of its own."
  (let ((description (plist-get definition :description)))
    (concat (and description
                 (propertize (concat (substring-no-properties description) "\n")
                             'face 'shadow))
            (and problem (propertize (concat problem ".  ") 'face 'error))
            (plist-get definition :name)
            (format " (%s): "
                    (string-join
                     (delq nil (list (backstaff-arguments-default-text
                                     definition)
                                    hint))
                     ", ")))))

(defun backstaff-arguments--problem (definition value)
  "Return what is wrong with VALUE for the argument of DEFINITION, or nil."
  (let ((minimum (plist-get definition :minimum))
        (maximum (plist-get definition :maximum)))
    (cond ((null value)
           (and (plist-get definition :required) "It is required"))
          ((not (memq (plist-get definition :type) '(:number :integer))) nil)
          ((not (numberp value)) "It must be a number")
          ((and (eq (plist-get definition :type) :integer)
                (not (integerp value)))
           "It must be a whole number")
          ((and minimum (< value minimum))
           (format "It must be at least %s" minimum))
          ((and maximum (> value maximum))
           (format "It must be at most %s" maximum)))))

(defun backstaff-arguments--read-string (prompt current)
  "Read a string with PROMPT, where CURRENT stands; nil if it is empty."
  (let ((text (read-from-minibuffer
               prompt (and current (format "%s" current)) nil nil
               'backstaff-arguments-history)))
    (and (not (string-empty-p text)) (substring-no-properties text))))

(defun backstaff-arguments--read-number (prompt current)
  "Read a number with PROMPT, where CURRENT stands; nil if it is empty.
What is no number is returned as a string."
  (when-let ((text (backstaff-arguments--read-string prompt current)))
    (setq text (string-trim text))
    (if (string-match-p "\\`-?[0-9]+\\(?:\\.[0-9]+\\)?\\'" text)
        (string-to-number text)
      text)))

(defun backstaff-arguments--read-choice (prompt choices current)
  "Read one of CHOICES with PROMPT, where CURRENT stands; nil if it is empty."
  (let ((choice (completing-read prompt choices nil t current
                                 'backstaff-arguments-history)))
    (and (not (string-empty-p choice)) (substring-no-properties choice))))

(defun backstaff-arguments--read-boolean (prompt current)
  "Read t or `:false' with PROMPT, where CURRENT stands; nil if it is empty."
  (pcase (backstaff-arguments--read-choice
          prompt '("yes" "no")
          (and current (backstaff-arguments-value-text current)))
    ("yes" t)
    ("no" :false)))

(defun backstaff-arguments--read-list (prompt current)
  "Read strings one by one until an empty one; return a list of them.
PROMPT is called with a hint and returns a prompt.  The items of CURRENT
stand there to be edited."
  (let ((items nil) (item nil))
    (while (setq item (backstaff-arguments--read-string
                       (funcall prompt (format "%d, empty ends"
                                               (1+ (length items))))
                       (pop current)))
      (push item items))
    (nreverse items)))


;;; Paths

(defun backstaff-arguments--read-path (prompt root current required)
  "Read a path below ROOT where CURRENT stands.
PROMPT is called with a hint and returns a prompt.  An empty one is the
root if REQUIRED is non-nil, and else nil."
  (let* ((default-directory root)
         (path (completing-read
                (funcall prompt (and required "empty is the root"))
                (backstaff-arguments--path-table root) nil nil
                current 'backstaff-arguments-history)))
    (cond ((not (string-empty-p path)) (substring-no-properties path))
          (required "."))))

(defun backstaff-arguments--path-table (root)
  "Return a completion table of the paths below ROOT."
  (lambda (string predicate action)
    (let* ((file-name-handler-alist (and (file-remote-p root)
                                         file-name-handler-alist))
           (directory (substring string 0 (backstaff-arguments--name-start
                                           string))))
      (pcase action
        ('metadata '(metadata (category . file)))
        (`(boundaries . ,suffix)
         `(boundaries ,(length directory)
                      . ,(or (string-match-p "/" suffix) (length suffix))))
        (_
         (let ((value (complete-with-action
                       action (backstaff-arguments--names root directory)
                       (substring string (length directory)) predicate)))
           (if (stringp value) (concat directory value) value)))))))

(defun backstaff-arguments--name-start (path)
  "Return where the last name in PATH starts."
  (if (string-match "[^/]*\\'" path) (match-beginning 0) 0))

(defun backstaff-arguments--names (root directory)
  "Return the names in DIRECTORY, which is relative to ROOT and ends with /.
Nothing outside of ROOT has any.  On another host the server is asked."
  (cond
   ((or (string-prefix-p "/" directory)
        (member ".." (split-string directory "/")))
    nil)
   ((file-remote-p root)
    (backstaff-arguments--remote-names root directory))
   (t
    (let ((place (concat root directory)))
      ;; What cannot be read has no names to offer; completion shall not fail.
      (and (ignore-errors (file-in-directory-p place root))
           (let ((completion-ignored-extensions nil)
                 (completion-regexp-list nil))
             (cl-set-difference
              (ignore-errors (file-name-all-completions "" place))
              '("./" "../") :test #'equal)))))))

(defun backstaff-arguments--remote-names (root directory)
  "Return the names in DIRECTORY below ROOT, as the server there tells them."
  (condition-case nil
      (mapcar (lambda (entry)
                (concat (plist-get entry :name)
                        (and (eq (plist-get entry :kind) :directory) "/")))
              (plist-get
               (plist-get (backstaff-call "agent-q/list_directory"
                                          (list :path (concat "./" directory)
                                                :show_hidden t)
                                          (list :root root))
                          :data)
               :entries))
    (backstaff-error nil)))


;;; Writing

(defun backstaff-arguments-lisp (id arguments)
  "Return the call of the tool ID with ARGUMENTS as one types it in Lisp."
  (let ((print-length nil) (print-level nil) (print-escape-newlines t))
    (format "(backstaff-call %S '%S)" id arguments)))

(defun backstaff-arguments-json (arguments)
  "Return ARGUMENTS, a plist, as a model would give them, in JSON."
  (require 'json)
  (if arguments
      (json-encode (cl-loop for (keyword value) on arguments by #'cddr
                            collect (cons (substring (symbol-name keyword) 1)
                                          (backstaff-arguments--json value))))
    "{}"))

(defun backstaff-arguments--json (value)
  "Return VALUE in the form in which json.el takes it."
  (pcase value
    (:false :json-false)
    ((pred listp) (vconcat value))
    (_ value)))

(provide 'backstaff-arguments)
;;; backstaff-arguments.el ends here
