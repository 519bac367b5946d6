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
    "workspace/regexp_search",
    "workspace/read_file",
    "workspace/codebase_search",
    "workspace/search_files",
    "workspace/project_overview",
    "workspace/git_diff",
    "workspace/git_status_summary",
)
CLIENT_TOOLS = ("emacs/context", "emacs/diagnostics", "emacs/read_buffer")
