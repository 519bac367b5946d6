"""The texts of a directory's files, with those that Emacs has not saved in the place of files."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from backstaff.contents.regexp_worker import judged
from backstaff.fs.contents import MAX_FILE_BYTES, Contents, Unread
from backstaff.fs.root import Place
from backstaff.reading.encoding import codec
from backstaff.tool import Context

EXCLUDED = frozenset((".git", "node_modules", "dist", "build", "target", ".vscode"))
"""Names of directories and files that no search looks into, as its contract has it."""
Value = TypeVar("Value")


def unsaved_texts(prefix: str, context: Context) -> dict[str, bytes | str]:
    """Return the unsaved texts by the path from the directory with this `prefix`."""
    return {
        path: Unread.TOO_LARGE.value
        if len(one.data) > MAX_FILE_BYTES
        else judged(one.data, *filter(None, [codec(one.coding)]))
        for path, one in _below(prefix, context.unsaved)
    }


def contents_of(place: Place, texts: Mapping[str, bytes | str]) -> Contents:
    """Return the contents of the files below `place`, with `texts` in the place of some."""
    return Contents(place.directory, place.root.guard, place.prefix, texts)


def codings(prefix: str, context: Context) -> dict[str, str]:
    """The encodings that are known of files that are not UTF-8, by the same path."""
    return {path: codec(one) for path, one in _below(prefix, context.codings)}


def text(path: str, contents: Contents, codings: Mapping[str, str]) -> str | None:
    """The text of the file `path`; None if it has none or cannot be read."""
    data = contents.data(path)
    if isinstance(data, bytes):
        data = judged(data, *filter(None, ["utf-8", codings.get(path, "")]))
    return data.decode() if isinstance(data, bytes) else None


def _below(prefix: str, named: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """Return `named` for the paths below the directory `prefix`, as paths from there."""
    return ((one[len(prefix) :], named[one]) for one in named if one.startswith(prefix))
