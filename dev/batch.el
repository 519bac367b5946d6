;;; batch.el --- Settings for each Emacs that make runs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Every Emacs that the Makefile or a test starts loads this first.

;;; Code:

(defvar native-comp-eln-load-path)

;; An old compiled file must not hide its source.
(setq load-prefer-newer t)

;; Native compilation would write into the home directory.
(when (boundp 'native-comp-eln-load-path)
  (setcar native-comp-eln-load-path
          (expand-file-name "../.cache/eln/" (file-name-directory load-file-name))))

;; Where Emacs compiles to machine code, each short-lived Emacs of a test would begin to compile its
;; libraries.  By `set', because the byte compiler of Emacs 30 warns of the older names.
(dolist (variable '(native-comp-deferred-compilation comp-deferred-compilation ; Emacs 28
                    native-comp-jit-compilation                                ; and later
                    native-comp-enable-subr-trampolines comp-enable-subr-trampolines))
  (set variable nil))

(provide 'batch)
;;; batch.el ends here
