;;; batch.el --- Settings for each Emacs that make runs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Every Emacs that the Makefile starts loads this first.

;;; Code:

(defvar native-comp-eln-load-path)

;; An old compiled file must not hide its source.
(setq load-prefer-newer t)

;; Native compilation would write into the home directory.
(when (boundp 'native-comp-eln-load-path)
  (setcar native-comp-eln-load-path
          (expand-file-name "../.cache/eln/" (file-name-directory load-file-name))))

(provide 'batch)
;;; batch.el ends here
