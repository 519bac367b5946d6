"""Ids of tools by facts that a start needs: to import them all would double its time.

`make manual` writes this file from the tools, and from the list of Emacs's own.
"""

READS_CONTENT = (
    "workspace/codebase_search",
    "workspace/git_diff",
    "workspace/git_status_summary",
    "workspace/outline",
    "workspace/read_file",
    "workspace/regexp_search",
)
PRESET = (
    "workspace/project_overview",
    "workspace/tree",
    "workspace/search_files",
    "workspace/read_file",
    "workspace/regexp_search",
    "workspace/codebase_search",
    "workspace/outline",
    "workspace/git_status_summary",
    "workspace/git_diff",
    "commands/list_commands",
    "commands/get_command",
)
CLIENT_TOOLS = (
    "emacs/context",
    "emacs/diagnostics",
    "emacs/find_symbol",
    "emacs/read_buffer",
)
