;;; backstaff-loaddefs.el --- The autoloads of the commands  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `make manual' writes this file; see dev/autoloads.el.

;;; Code:

(autoload 'backstaff-agent-q-call "backstaff-agent-q")
(autoload 'backstaff-agent-q-definitions "backstaff-agent-q")
(autoload 'backstaff-agent-q-setup "backstaff-agent-q" nil t)
(autoload 'backstaff-usage "backstaff-agent" nil t)
(autoload 'backstaff-gptel-register "backstaff-gptel" nil t)
(autoload 'backstaff-listen-mode "backstaff-listen" nil t)
(autoload 'backstaff-llm-tools "backstaff-llm")
(autoload 'backstaff-mcp-server "backstaff-mcp")
(add-hook 'backstaff-server-host-functions #'backstaff-remote-operate)
(autoload 'backstaff-remote-operate "backstaff-remote")
(autoload 'backstaff-changes "backstaff-ui-changes" nil t)
(autoload 'backstaff-doctor "backstaff-ui-doctor" nil t)
(autoload 'backstaff-find-file "backstaff-ui-find" nil t)
(autoload 'backstaff-run-tool "backstaff-ui-inspector" nil t)
(autoload 'backstaff-list-directory "backstaff-ui-inspector" nil t)
(autoload 'backstaff-list-entries "backstaff-ui-inspector" nil t)
(autoload 'backstaff-file-info "backstaff-ui-inspector" nil t)
(autoload 'backstaff-list-commands "backstaff-ui-inspector" nil t)
(autoload 'backstaff "backstaff-ui-menu" nil t)
(autoload 'backstaff-overview "backstaff-ui-overview" nil t)
(autoload 'backstaff-search "backstaff-ui-search" nil t)
(autoload 'backstaff-codebase-search "backstaff-ui-search" nil t)
(autoload 'backstaff-tree "backstaff-ui-tree" nil t)
(autoload 'backstaff-xref-mode "backstaff-ui-xref" nil t)
(autoload 'backstaff-find-definition "backstaff-ui-xref" nil t)

(provide 'backstaff-loaddefs)

;; Local Variables:
;; no-update-autoloads: t
;; End:
;;; backstaff-loaddefs.el ends here
