"""The words in which the tools that are ours alone refuse a `path`."""

from collections.abc import Sequence

from backstaff.errors import (
    DeadlineExceeded,
    InvalidPath,
    NotADirectory,
    NotFound,
    OutsideRoot,
    PathError,
    ToolError,
)
from backstaff.names import suggestions
from backstaff.project.files import project_files
from backstaff.render.lines import some_of
from backstaff.render.names import quote, word
from backstaff.tool import Context


def refusal(error: PathError, path: str, context: Context) -> ToolError:
    """The tool's error for ERROR, met on the way to the directory PATH, named as it was given."""
    match error:
        case OutsideRoot():
            words = "is outside the workspace"
        case NotADirectory(last=True):
            words = "is not a directory: give the directory that it is in"
        case NotFound(dangling=True):
            words = "is a link whose target does not exist"
        case NotFound() | NotADirectory():
            words = no_directory(path, context)
        case InvalidPath():
            words = f"cannot be used: {error.message}"
        case _:
            words = f"cannot be read: {error.message}"
    return ToolError(error.code, f"Path {quote(path)} {words}", **error.details)


def no_directory(path: str, context: Context) -> str:
    """`does not exist; the nearest names: src/build/`, of the directories most like PATH."""
    return does_not_exist(nearest(path, context, directories=True), "/")


def does_not_exist(near: Sequence[str], end: str = "") -> str:
    """`does not exist; the nearest names: src/a.py b.py`, where NEAR are such paths.

    END stands behind each.
    """
    hint = some_of((word(path) + end for path in near), len(near))
    return "does not exist" + (f"; the nearest names: {hint}" if hint else "")


def nearest(path: str, context: Context, *, directories: bool = False) -> list[str]:
    """The project's files and unsaved ones, or its DIRECTORIES, with names most like PATH's."""
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
