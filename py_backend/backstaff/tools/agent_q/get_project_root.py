"""agent-q/get_project_root: the directory that bounds every tool, and how it was found.

The client chooses the root, and nothing above it is read. So the detection method comes from the
root itself, in Agent-Q's order and words: it is a git repository's (`.git` is there: a directory,
or the file of a linked work tree), or a Lisp system's (a `*.asd` file is there), or it is the
client's choice.
"""

from contextlib import suppress
from dataclasses import dataclass

from backstaff.errors import PathError
from backstaff.fs.entry import Kind, groups_in, kind_of, lstat_or_none
from backstaff.render.names import show
from backstaff.result import Keyword
from backstaff.tool import Context, Result, ResultKind, Tool
from backstaff.tools.agent_q._directories import opened


@dataclass(frozen=True, slots=True)
class Arguments:
    """None: a model does not choose the root."""


def run(_: Arguments, context: Context) -> Result:
    """Name the root, and the entry in it that decided the method."""
    # Whether a setting or a buffer's directory decided, only the client knows.
    words = "Given by the client (no .git and no .asd file found there)"
    method, marker = "configured", None
    with opened(context.root, ".", "Directory") as place:
        status = lstat_or_none(".git", place.directory)
        kind = kind_of(status) if status else None
        if kind in (Kind.DIRECTORY, Kind.FILE, Kind.SYMLINK):
            method, words, marker = "git", f"Git repository root (.git {kind})", ".git"
        else:
            with suppress(PathError):  # a root that cannot be read has no Lisp system
                files = groups_in(place.listing(), context.budget)[0]
                marker = min((name for name in files if name.endswith(".asd")), default=None)
            if marker:
                method, words = "asdf", "ASDF system directory"
    path = place.path_as_directory
    return Result(
        text=f"Project root: {show(path)}\n\nDetection method: {words}",
        data={"path": path, "method": Keyword(method), "marker": marker},
    )


TOOL = Tool(
    description=(
        "Get the project root, the directory that no file operation leaves, and how it was"
        " determined."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "configuration"),
)
