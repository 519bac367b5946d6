;;; batch.el --- How make runs Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Every Emacs that the Makefile starts loads this first.

;;; Code:

(defvar native-comp-eln-load-path)

;; A compiled file that someone left behind must not hide its source.
(setq load-prefer-newer t)

;; Where Emacs compiles to machine code, it would write into the home directory.
(when (boundp 'native-comp-eln-load-path)
  (setcar native-comp-eln-load-path
          (expand-file-name "../.cache/eln/" (file-name-directory load-file-name))))

(provide 'batch)
;;; batch.el ends here
