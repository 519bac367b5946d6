"""Refuses the `path` of the workspace's tools, with the names that are most like it."""

from collections.abc import Sequence

from backstaff.errors import DeadlineExceeded, Fault, NotAFile, PathError, ToolError
from backstaff.fs.entry import Kind
from backstaff.names import suggestions
from backstaff.project.files import project_files
from backstaff.reading.text import Text, Window, read
from backstaff.render.lines import all_files, some_of
from backstaff.render.names import word
from backstaff.render.refusals import READ_FILE, WORKSPACE, Refusals, refused
from backstaff.tool import Context


def refusal(
    error: PathError, path: str, context: Context, refusals: Refusals = WORKSPACE
) -> ToolError:
    """Return the tool's error for `error`, which opening the directory `path` raised."""
    near = nearest(path, context, directories=True) if error.fault is Fault.MISSING else []
    return refused(error, path, refusals, near=nearest_names(near, "/"))


def read_text(path: str, window: Window, context: Context, encoding: str = "") -> Text:
    """Read the `window` of the file `path`. Raises `ToolError` with the codes of read 6."""
    try:
        return read(path, window, context, encoding)
    except PathError as error:
        near, kind = nearest(path, context) if error.fault is Fault.MISSING else [], ""
        if isinstance(error, NotAFile) and error.kind == Kind.DIRECTORY:
            shows = all_files(path, context.text_limit(), context.named)
            kind = "is a directory" + (f": {shows} shows what is in it" if shows else "")
        elif isinstance(error, NotAFile):
            describes = context.hint("; {} describes it", "agent-q/get_file_info")
            kind = f"is no regular file: {error.message}{describes}"
        raise refused(error, path, READ_FILE, near=nearest_names(near), kind=kind) from error


def nearest_names(near: Sequence[str], end: str = "") -> str:
    """Return `; the nearest names: src/a.py b.py` for `near`, with `end` behind each."""
    hint = some_of((word(path) + end for path in near), len(near))
    return f"; the nearest names: {hint}" if hint else ""


def nearest(path: str, context: Context, *, directories: bool = False) -> list[str]:
    """The project's files and unsaved ones, or its `directories`, with names most like `path`'s."""
    budget = context.budget.at_most(suggestions.SECONDS)
    try:
        with context.root.directory(".") as place:
            project = project_files(place, budget, include_ignored=False)
        if directories:
            paths = [one.path for one in project.directories if one.path]
        else:
            # Most unsaved texts are of files that exist, too.
            paths = list(dict.fromkeys([*project.paths, *context.unsaved]))
        return suggestions.similar(path, paths, budget)
    except (DeadlineExceeded, PathError):
        return []
