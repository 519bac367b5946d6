"""Opens the `path` argument of Agent-Q's tools, and refuses it in the words of their contracts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from backstaff.errors import (
    InvalidPath,
    NotADirectory,
    NotFound,
    OutsideRoot,
    PathError,
    PermissionRefused,
    ToolError,
)
from backstaff.fs.root import Place, Root
from backstaff.render.names import quote


@contextmanager
def opened(root: Root, path: str, noun: Literal["Directory", "File"]) -> Iterator[Place]:
    """PATH below ROOT, held open. As a "File" it may be of any kind.

    Raises `ToolError` for a path that cannot be opened, and for a `PathError` while it is in use.
    """
    try:
        with root.directory(path) if noun == "Directory" else root.resolve(path) as place:
            yield place
    except PathError as error:
        raise refusal(error, path, noun) from error


def refusal(error: PathError, path: str, noun: Literal["Directory", "File"]) -> ToolError:
    """The tool's error for ERROR, met on the way to PATH."""
    return ToolError(error.code, _words(error, path, noun), **error.details)


def _words(error: PathError, path: str, noun: str) -> str:
    """ERROR as the contracts' error tables put it, with PATH as it was given.

    The tables leave some errors open: there the words of the system follow.
    """
    match error:
        case OutsideRoot():
            return f"Path {quote(path)} is outside project root"
        case NotADirectory(last=True) if noun == "Directory":  # `f` and `f/`, where f is a file
            return f"{quote(path)} is a file, not a directory"
        case NotFound() | NotADirectory():  # `f/x` does not exist
            return f"{noun} {quote(path)} not found"
        case InvalidPath():
            return f"Argument 'path' is no path: {error.message}"
        case PermissionRefused():
            return f"Cannot read {noun.lower()} {quote(path)}"
        case _:
            return f"Cannot read {noun.lower()} {quote(path)}: {error.message}"
