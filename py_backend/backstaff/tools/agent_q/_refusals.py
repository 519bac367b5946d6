"""The words in which Agent-Q's tools refuse a path. `noun` is "Directory" or "File"."""

from backstaff.errors import (
    InvalidPath,
    NotADirectory,
    NotFound,
    OutsideRoot,
    PathError,
    PermissionRefused,
    ToolError,
)
from backstaff.render.names import quote


def directory_refusal(error: PathError, path: str) -> ToolError:
    """ERROR where a directory was needed: `f` and `f/` name a file, and `f/x` names nothing."""
    if isinstance(error, NotADirectory) and error.last:
        return ToolError(error.code, f"{quote(path)} is a file, not a directory")
    return refusal(error, path, "Directory")


def refusal(error: PathError, path: str, noun: str) -> ToolError:
    """ERROR as the contracts' error tables put it, PATH echoed as it was given.

    Outside goes before not found (list_directory 5, get_file_info 3 and 4); a path *through* a
    file names nothing that exists. What the tables leave open says what the system said.
    """
    match error:
        case OutsideRoot():
            words = f"Path {quote(path)} is outside project root"
        case NotFound() | NotADirectory():
            words = f"{noun} {quote(path)} not found"
        case InvalidPath():
            words = f"Argument 'path' is no path: {error.message}"
        case PermissionRefused():
            words = f"Cannot read {noun.lower()} {quote(path)}"
        case _:
            words = f"Cannot read {noun.lower()} {quote(path)}: {error.message}"
    return ToolError(error.code, words)
