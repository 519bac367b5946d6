"""The words in which the tools that are ours alone refuse a `path`."""

from backstaff.errors import (
    InvalidPath,
    NotADirectory,
    NotFound,
    OutsideRoot,
    PathError,
    ToolError,
)
from backstaff.render.names import quote


def refusal(error: PathError, path: str) -> ToolError:
    """The tool's error for ERROR, met on the way to PATH, which is named as it was given."""
    match error:
        case OutsideRoot():
            words = "is outside the workspace"
        case NotADirectory(last=True):
            words = "is not a directory: give the directory that it is in"
        case NotFound(dangling=True):
            words = "is a link whose target does not exist"
        case NotFound() | NotADirectory():
            words = "does not exist"
        case InvalidPath():
            words = f"cannot be used: {error.message}"
        case _:
            words = f"cannot be read: {error.message}"
    return ToolError(error.code, f"Path {quote(path)} {words}")
