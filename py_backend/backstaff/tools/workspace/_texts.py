"""The texts of a directory's files, with those that Emacs has not saved in the place of files."""

from collections.abc import Mapping

from backstaff.contents.regexp_worker import judged
from backstaff.fs.contents import MAX_FILE_BYTES, Contents, Unread
from backstaff.fs.root import Place
from backstaff.reading.encoding import codec
from backstaff.tool import Context

EXCLUDED = frozenset((".git", "node_modules", "dist", "build", "target", ".vscode"))
"""Names of directories and files that no search looks into, as its contract has it."""


def unsaved_texts(prefix: str, context: Context) -> dict[str, bytes | str]:
    """Return the unsaved texts by the path from the directory with this `prefix`."""
    return {
        path[len(prefix) :]: Unread.TOO_LARGE.value
        if len(one.data) > MAX_FILE_BYTES
        else judged(one.data, *filter(None, [codec(one.coding)]))
        for path, one in context.unsaved.items()
        if path.startswith(prefix)
    }


def contents_of(place: Place, texts: Mapping[str, bytes | str]) -> Contents:
    """Return the contents of the files below `place`, with `texts` in the place of some."""
    return Contents(place.directory, place.root.guard, place.prefix, texts)


def text(path: str, contents: Contents) -> str:
    """The text of the file `path`; "" if it is no text or cannot be read."""
    data = contents.data(path)
    data = judged(data) if isinstance(data, bytes) else ""
    return data.decode() if isinstance(data, bytes) else ""
