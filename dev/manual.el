;;; manual.el --- Write the manual's reference, and the manual as Info  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make manual' runs this on docs/backstaff.org.  Commands, keys and options
;; come from the Elisp.  Each is written between a line BEGIN and a line END.

;;; Code:

(require 'cl-lib)
(require 'ox-texinfo)
(require 'subr-x)

(declare-function backstaff-lisp-tools-find "backstaff-lisp-tools" (id))
(defvar backstaff-lisp-tools)

(defconst manual-project
  (expand-file-name "../" (file-name-directory load-file-name))
  "This repository.")


;;; Commands, keys and options, read from the Elisp

(defun manual-load ()
  "Load all files of the package; return their names, in order."
  (let ((files (directory-files (expand-file-name "elisp" manual-project)
                                t "\\`backstaff.*\\.el\\'")))
    (dolist (file files files)
      (require (intern (file-name-base file))))))

(defun manual-names (regexp)
  "Return the symbols that group 1 of REGEXP finds in the package, in order."
  (let ((names nil))
    (dolist (file (manual-load) (nreverse names))
      (with-temp-buffer
        (insert-file-contents file)
        (while (re-search-forward regexp nil t)
          (push (intern (match-string 1)) names))))))

(defun manual-marked-up (text)
  "Return TEXT of a docstring as Org: names and keys between tildes."
  (let* ((text-quoting-style 'grave)
         (plain (substitute-command-keys
                 (replace-regexp-in-string "\\\\`\\([^'\n]+\\)'" "`\\1'" text t)))
         (parts nil))
    ;; Emacs puts keys in a face.
    (while (not (string-empty-p plain))
      (let* ((face (get-text-property 0 'face plain))
             (end (or (next-single-property-change 0 'face plain) (length plain)))
             (part (substring-no-properties plain 0 end)))
        (push (if face (format "~%s~" part) part) parts)
        (setq plain (substring plain end))))
    (replace-regexp-in-string "`\\([^`'\n]+\\)'" "~\\1~"
                              (string-join (nreverse parts)))))

(defun manual-first-line (command)
  "Return the first line of the docstring of COMMAND.
A command of Emacs itself gets \"(Emacs's own)\": its docstring differs from
version to version."
  (if (string-prefix-p "backstaff" (symbol-name command))
      (manual-marked-up
       (string-remove-suffix "." (car (split-string (documentation command t) "\n"))))
    "(Emacs's own)"))

(defun manual-table (columns rows)
  "Return ROWS, lists of texts, as a table of Org.
COLUMNS are the widths of the columns for Texinfo, as parts of a line."
  (concat "#+attr_texinfo: :columns " columns "\n"
          (mapconcat (lambda (row) (format "| %s |" (string-join row " | "))) rows "\n")))

(defun manual-commands ()
  "Return the commands that a user calls by name, as a table of Org."
  (manual-table ".4 .6"
                (mapcar (lambda (command)
                          (list (format "~%s~" command) (manual-first-line command)))
                        (sort (seq-filter
                               (lambda (name)
                                 (and (commandp name)
                                      (not (string-suffix-p "-mode" (symbol-name name)))))
                               (manual-names
                                "^;;;###autoload\\(?: (autoload '\\|\n([-a-z]+ \\)\\(?1:backstaff[^ \n]*\\)"))
                              #'string<))))

(defun manual-options ()
  "Return the options as a list of Org."
  (mapconcat (lambda (option)
               (format "- ~%s~ (~%S~) ::\n%s" option
                       (eval (car (get option 'standard-value)) t)
                       (replace-regexp-in-string
                        "^\\(.\\)" "  \\1"
                        (manual-marked-up
                         (documentation-property option 'variable-documentation t)))))
             (sort (manual-names "^(defcustom \\([^ \n]+\\)") #'string<)
             "\n"))

(defun manual-keys ()
  "Return the keys of `backstaff-map' as a table of Org."
  (manual-load)
  (let ((keys nil))
    (map-keymap-internal (lambda (event command)
                           (push (list (format "~%s~" (key-description (vector event)))
                                       (format "~%s~" command) (manual-first-line command))
                                 keys))
                         (symbol-value 'backstaff-map))
    (manual-table ".15 .4 .45" (sort keys (lambda (one other) (string< (car one) (car other)))))))


;;; Tools in Lisp

(defun manual-emacs-tools ()
  "Return the tools in Lisp, with their descriptions, as a list of Org."
  (manual-load)
  (mapconcat (pcase-lambda (`(,id . ,_))
               (with-temp-buffer
                 (insert (format "- =%s= :: %s" id
                                 (plist-get (symbol-value (backstaff-lisp-tools-find id)) :description)))
                 (let ((fill-column 118) (fill-prefix "  ") (sentence-end-double-space nil))
                   (fill-region-as-paragraph (point-min) (point-max)))
                 (buffer-string)))
             backstaff-lisp-tools "\n"))


;;; The files

(defun manual-file (name)
  "Return the file NAME of the documents."
  (expand-file-name name (expand-file-name "docs/" manual-project)))

(defun manual-fill (name text)
  "Put TEXT between this buffer's lines BEGIN and END of NAME."
  (goto-char (point-min))
  (unless (re-search-forward
           (format "^# BEGIN %s\\b.*\n\\(\\(?:.*\n\\)*?\\)# END %s$" name name) nil t)
    (error "The manual has no room for %s" name))
  (replace-match (format "\n%s\n\n" text) t t nil 1))

(defun manual-insert ()
  "Insert the manual into this buffer, with an up-to-date reference."
  (insert-file-contents (manual-file "backstaff.org"))
  (manual-fill "emacs-tools" (manual-emacs-tools))
  (manual-fill "commands" (manual-commands))
  (manual-fill "options" (manual-options))
  (manual-fill "keys" (manual-keys)))

;; An archive of the package has the manual as Info.  Package managers that know Org, such as
;; package-vc with `:doc', make it themselves.

(defun manual-info (folder)
  "Write the manual as an Info file, and `dir', into FOLDER.
This needs makeinfo and install-info (Debian: texinfo)."
  (let* ((default-directory (file-name-as-directory (expand-file-name folder)))
         (exec-path (append exec-path '("/usr/sbin")))
         (texinfo (with-current-buffer (find-file-noselect (manual-file "backstaff.org") t)
                    (unwind-protect (org-export-as 'texinfo)
                      (kill-buffer)))))
    (with-temp-file "backstaff.texi"
      (insert texinfo))
    (dolist (command '(("makeinfo" "--no-split" "--output=backstaff.info" "backstaff.texi")
                       ("install-info" "backstaff.info" "dir")))
      (with-temp-buffer
        (unless (eq 0 (apply #'call-process (car command) nil t nil (cdr command)))
          (error "%s: %s" (car command) (buffer-string)))))
    (delete-file "backstaff.texi")))

(defun manual-info-batch ()
  "Write the Info file into the folder that the command line names."
  (manual-info (pop command-line-args-left)))

(defun manual-batch ()
  "Write the reference into the manual."
  (let ((coding-system-for-write 'utf-8-unix))
    (with-temp-buffer
      (manual-insert)
      (write-region nil nil (manual-file "backstaff.org") nil 'silent))))

(provide 'manual)
;;; manual.el ends here
