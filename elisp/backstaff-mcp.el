;;; backstaff-mcp.el --- The tools for agents that speak MCP  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A client that speaks the Model Context Protocol starts a server of its own.
;; `backstaff-mcp-server' returns the entry for the client's configuration, which starts the
;; server as Emacs does: on a Python by its absolute name, isolated.

;;; Code:

(require 'json)
(require 'backstaff)

;;;###autoload
(defun backstaff-mcp-server (client &optional directory toolsets)
  "Return the entry of CLIENT's configuration that starts a server of MCP.
CLIENT is a symbol:

`agent-shell'  an element of `agent-shell-mcp-servers';
`mcp-hub'      an element of `mcp-hub-servers', for gptel through mcp.el;
`copilot'      a plist to put in front of `copilot-mcp-servers';
`json'         a string, an object of JSON as in .mcp.json, whose keys
               `alwaysLoad' and `deferTools' make Claude Code and the Copilot
               CLI show all tools to the model at once;
`shell'        a string to type after \"claude mcp add backstaff --\".

The tools look at nothing outside of DIRECTORY, by default the one in which
the client starts the server.  TOOLSETS is the name of a toolset, such as
\"commands\", or a list of names; by default those that a model needs.
The option that names the settings counts as it is now.
Signal a `backstaff-start-error' if the server cannot start."
  (when (and directory (file-remote-p directory))
    (user-error "%s is on another host; a server of MCP runs on this one" directory))
  (pcase-let* ((root (and directory (file-name-unquote
                                     (directory-file-name (expand-file-name directory)))))
               (`(,program . ,arguments)
                (backstaff-server-with-own-environment (backstaff-server-sources)
                  `(,@(backstaff-server-program) "mcp"
                    ,@(and root (list "--root" root))
                    ,@(and toolsets (list "--tools" (string-join (ensure-list toolsets) ",")))
                    ,@(and backstaff-server-settings-file
                           (list "--config" (backstaff-server-settings-file-name))))))
               (entry `(:command ,program :args ,(vconcat arguments))))
    (pcase client
      ('agent-shell `((name . "backstaff") (command . ,program) (args . ,arguments) (env . ())))
      ('mcp-hub `("backstaff" :command ,program :args ,arguments))
      ('copilot `(:backstaff ,entry))
      ('json (json-encode `(:mcpServers
                           (:backstaff (,@entry :alwaysLoad t :deferTools "never")))))
      ('shell (mapconcat #'shell-quote-argument (cons program arguments) " "))
      (_ (user-error "No client %s; there are: agent-shell, mcp-hub, copilot, json, shell"
                     client)))))

(provide 'backstaff-mcp)
;;; backstaff-mcp.el ends here
