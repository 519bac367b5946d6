;;; autoloads.el --- Write elisp/backstaff-loaddefs.el  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make manual' runs this.  backstaff-loaddefs.el has an autoload for each form below a
;; cookie, that is, the comment ;;;###autoload, in elisp/.  backstaff-server.el requires it,
;; so that elisp/ alone on `load-path' is enough.  Package managers make autoloads of their
;; own from the same cookies; ours have no docstrings, and are the same in every Emacs.

;;; Code:

(require 'cl-lib)

(defconst autoloads-folder
  (expand-file-name "../elisp/" (file-name-directory (or load-file-name buffer-file-name)))
  "The folder of the package.")

(defun autoloads--of-form (form library)
  "Return the autoload for FORM, a definition in LIBRARY.
Return any other FORM as it is."
  (pcase form
    (`(define-derived-mode ,name . ,_) `(autoload ',name ,library))
    (`(define-minor-mode ,name . ,_) `(autoload ',name ,library nil t))
    (`(,(or 'defun 'cl-defun) ,name ,_ . ,body)
     (if (assq 'interactive body) `(autoload ',name ,library nil t) `(autoload ',name ,library)))
    (`(defalias ',name . ,_) `(autoload ',name ,library))
    (_ form)))

(defun autoloads--of-file (file)
  "Return the autoloads for FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (cl-loop while (re-search-forward "^;;;###autoload *" nil t)
             collect (autoloads--of-form (read (current-buffer)) (file-name-base file)))))

(defun autoloads-text ()
  "Return the contents of backstaff-loaddefs.el."
  ;; The files that backstaff.el requires are loaded before this one.
  (concat ";;; backstaff-loaddefs.el --- The autoloads of the commands  -*- lexical-binding: t; -*-\n\n"
          ";; SPDX-License-Identifier: GPL-3.0-or-later\n\n"
          ";;; Commentary:\n\n;; `make manual' writes this file; see dev/autoloads.el.\n\n;;; Code:\n\n"
          (mapconcat (lambda (form) (let ((print-quoted t)) (prin1-to-string form)))
                     (cl-mapcan #'autoloads--of-file
                                (directory-files autoloads-folder t
                                                 "\\`backstaff-\\(agent\\|gptel\\|listen\\|llm\\|mcp\\|ui\\|remote\\).*\\.el\\'"))
                     "\n")
          "\n\n(provide 'backstaff-loaddefs)\n\n"
          ;; Package managers take no autoloads from here.  (As one string, Emacs would take
          ;; the words for variables of this file.)
          ";; Local " "Variables:\n;; no-update-autoloads: t\n;; End:\n"
          ";;; backstaff-loaddefs.el ends here\n"))

(defun autoloads-batch ()
  "Write backstaff-loaddefs.el if its contents change.
Otherwise the compiled files would be older than their sources."
  (let ((file (expand-file-name "backstaff-loaddefs.el" autoloads-folder))
        (text (autoloads-text)))
    (with-temp-buffer
      (when (file-exists-p file)
        (insert-file-contents file))
      (unless (equal (buffer-string) text)
        (write-region text nil file nil 'silent)))))

(provide 'autoloads)
;;; autoloads.el ends here
