;;; manual.el --- Write the manual's reference, Texinfo and Info  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make manual' runs this on docs/backstaff.org.  Commands, keys and options
;; come from the Elisp.  Each is written between a line BEGIN and a line END.
;; Then Org makes docs/backstaff.texi, and makeinfo makes elisp/backstaff.info.
;; The Info file is beside the Lisp, and so is the file `dir' that package
;; managers look for: every way of installing the package includes both.
;;
;; Versions of Org write different Texinfo.  So the first line of the Texinfo
;; holds the manual's hash, by which any Emacs sees if it is up to date.  For the
;; same reason `dir' holds the hash of the Texinfo and the Info file.

;;; Code:

(require 'cl-lib)
(require 'ox-texinfo)
(require 'subr-x)

(declare-function backstaff-lisp-tools-find "backstaff-lisp-tools" (id))
(defvar backstaff-lisp-tools)

(defconst manual-project
  (expand-file-name "../" (file-name-directory load-file-name))
  "This repository.")

(defconst manual-maps
  '((backstaff-map "The commands, below a key of yours")
    (backstaff-view-mode-map "In overviews and trees")
    (backstaff-overview-mode-map "Overviews")
    (backstaff-tree-mode-map "Trees")
    (backstaff-inspector-mode-map "A tool's reply")
    (backstaff-search-mode-map "Lines that match")
    (backstaff-changes-mode-map "Changes"))
  "The keymaps, each with the heading of its table.")


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

(defun manual-keys (map)
  "Return the keys that MAP itself binds: a list of (KEY . COMMAND), in order."
  (let ((keys nil))
    (map-keymap-internal
     (lambda (event command)
       (cond ((and (eq event 'remap) (keymapp command))
              (map-keymap-internal
               (lambda (original replacement)
                 (push (cons (key-description
                              ;; The last is a click on a heading, as that is where it works.
                              (cl-some (lambda (map) (car (last (where-is-internal original (list map)))))
                                       (list global-map)))
                             replacement)
                       keys))
               command))
             ((not (eq event 'menu-bar))
              (push (cons (key-description (vector event)) command) keys))))
     (symbol-value map))
    ;; MAP may bind a key and also replace the command that the key ran before: list it once.
    (sort (delete-dups keys) (lambda (one other) (string< (car one) (car other))))))

(defun manual-keymaps ()
  "Return the keys of all maps, a section of Org with a table for each."
  (manual-load)
  (mapconcat
   (pcase-lambda (`(,map ,heading))
     (format "*** %s\n\n~%s~:\n\n%s" heading map
             (manual-table ".15 .4 .45"
                           (mapcar (pcase-lambda (`(,key . ,command))
                                     (list (format "~%s~" key) (format "~%s~" command)
                                           (manual-first-line command)))
                                   (manual-keys map)))))
   manual-maps "\n\n"))


;;; Tools in Lisp

(defun manual-emacs-tools ()
  "Return the tools in Lisp as sections of Org.
The form is that of the server's tools, which dev/reference.py writes."
  (manual-load)
  (mapconcat
   (pcase-lambda (`(,id . ,_))
     (let ((tool (backstaff-lisp-tools-find id)))
       (format "*** =%s=\n\n#+begin_example\n%s#+end_example" id
               (mapconcat (pcase-lambda (`(,indent . ,text)) (manual-wrapped indent text))
                          (cons (cons "    " (plist-get tool :description))
                                (mapcar (lambda (argument)
                                          (cons "      " (manual-argument argument)))
                                        (plist-get tool :arguments)))
                          ""))))
   backstaff-lisp-tools "\n\n"))

(defun manual-argument (argument)
  "Return ARGUMENT of a tool in Lisp as a line, with its type and limits."
  (format "%s (%s)  %s" (plist-get argument :name)
          (string-join
           (delq nil
                 (list (substring (symbol-name (plist-get argument :type)) 1)
                       (cond ((plist-get argument :required) "required")
                             ((not (plist-member argument :default)) "optional")
                             (t (format "default %s"
                                        (pcase (plist-get argument :default)
                                          (:false "false")
                                          (value (format "%S" value))))))
                       (and (plist-get argument :enum)
                            (concat "one of " (string-join (plist-get argument :enum) " ")))
                       (and (plist-get argument :minimum)
                            (format "minimum %s" (plist-get argument :minimum)))
                       (and (plist-get argument :maximum)
                            (format "maximum %s" (plist-get argument :maximum)))))
           ", ")
          (plist-get argument :description)))

(defun manual-wrapped (indent text)
  "Return TEXT behind INDENT, in lines of 90 columns.
All but the first stand four columns deeper."
  (with-temp-buffer
    (insert indent text "\n")
    (let ((fill-column 90) (fill-prefix (concat indent "    ")) (sentence-end-double-space nil))
      (fill-region-as-paragraph (point-min) (point-max)))
    (buffer-string)))


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
  (manual-fill "keys" (manual-keymaps)))

(defun manual-hash ()
  "Return the mark of the Texinfo with the SHA-1 of its source."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally (manual-file "backstaff.org"))
    (format "@c Made by `make manual' from backstaff.org, whose SHA-1 is %s"
            (secure-hash 'sha1 (current-buffer)))))

(defun manual-texinfo ()
  "Return the Texinfo of the manual, marked with its source and the version of Org.
Each version of Org exports a little differently."
  (let ((org-export-with-broken-links nil)
        (org-confirm-babel-evaluate nil))
    (with-temp-buffer
      (insert (with-current-buffer (find-file-noselect (manual-file "backstaff.org") t)
                (unwind-protect (org-export-as 'texinfo)
                  (kill-buffer))))
      ;; The first line must be Texinfo's own.
      (goto-char (point-min))
      (forward-line)
      (insert (format "%s, with Org %s\n" (manual-hash) (org-version)))
      (buffer-string))))

(defun manual-info-file (name)
  "Return the file NAME beside the Lisp."
  (expand-file-name name (expand-file-name "elisp/" manual-project)))

(defun manual-info-hash ()
  "Return the line that marks `dir' with the SHA-1 of Texinfo and Info file."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally (manual-file "backstaff.texi"))
    (insert-file-contents-literally (manual-info-file "backstaff.info"))
    (format "Made by `make manual'; the SHA-1 of backstaff.info and backstaff.texi is %s\n"
            (secure-hash 'sha1 (current-buffer)))))

(defun manual-run (program &rest arguments)
  "Run PROGRAM with ARGUMENTS beside the Lisp; an error shows its output."
  (with-temp-buffer
    (setq default-directory (manual-info-file ""))
    (unless (eq 0 (apply #'call-process program nil t nil arguments))
      (error "%s: %s" program (buffer-string)))))

(defun manual-makeinfo (file)
  "Write the Info file of the Texinfo to FILE."
  (manual-run "makeinfo" "--no-split" (concat "--output=" file) (manual-file "backstaff.texi")))

(defun manual-write-info ()
  "Write the Info file and `dir', which Emacs reads to offer it."
  (let ((directory (manual-info-file "dir"))
        (exec-path (append exec-path '("/usr/sbin"))))
    (manual-makeinfo "backstaff.info")
    ;; install-info keeps existing lines.
    (when (file-exists-p directory)
      (delete-file directory))
    (manual-run "install-info" "backstaff.info" "dir")
    (with-temp-file directory
      (insert-file-contents directory)
      ;; Info does not show text above the first node.
      (search-forward "\n\^_")
      (backward-char)
      (insert (manual-info-hash)))))

(defun manual-batch ()
  "Write the reference into the manual, then the Texinfo, then the Info file."
  (let ((coding-system-for-write 'utf-8-unix))
    (with-temp-buffer
      (manual-insert)
      (write-region nil nil (manual-file "backstaff.org") nil 'silent))
    (let ((texinfo (manual-texinfo)))
      (with-temp-file (manual-file "backstaff.texi")
        (insert texinfo)))
    (if (executable-find "makeinfo")
        (manual-write-info)
      (message "manual: WITHOUT elisp/backstaff.info: makeinfo is missing (Debian: texinfo)"))))

(provide 'manual)
;;; manual.el ends here
