;;; Directory local variables.  See Info node `(emacs) Directory Variables'.

((nil . ((indent-tabs-mode . nil)
         (sentence-end-double-space . t)))
 (emacs-lisp-mode . ((fill-column . 80)
                     (package-lint-main-file . "backstaff.el")))
 (python-mode . ((fill-column . 100)))
 (makefile-mode . ((indent-tabs-mode . t))))
