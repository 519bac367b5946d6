"""The contents of many files below a directory, for a search in them.

A path is followed name by name from the open start, by descriptor and never through a link. The
directories on the way to a file stay open for the next one, so callers pass paths in an order in
which those of a directory stand together, such as a sorted list.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from errno import ELOOP
from os.path import commonprefix
from typing import Self

from backstaff.errors import NotAFile
from backstaff.fs.file import read_listed
from backstaff.fs.handles import HANDLES
from backstaff.fs.secrets import Guard

MAX_FILE_BYTES = 1 << 20  # bytes of a file that is read, unless the settings have another


class Unread(StrEnum):
    """Reasons for which the content of a file is no text to search."""

    LINK = "link"
    SPECIAL = "special"
    GONE = "gone"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too-large"
    BINARY = "binary"
    UNDECODABLE = "undecodable"
    SECRET = "secret"  # noqa: S105  # a reason, not a password


@dataclass(slots=True)
class Contents:
    """Reads files below the open directory `start`; use it as a context manager.

    `texts` take the place of files. No file that may hold secrets is read, and its text is not
    handed out: the `guard` looks at paths with `prefix` before them.
    """

    start: int
    guard: Guard
    prefix: str
    texts: Mapping[str, bytes | str] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)  # of directories on the way to the last file
    _open: list[int] = field(default_factory=list)  # the start, and these directories

    def __enter__(self) -> Self:
        self._open = [self.start]
        return self

    def __exit__(self, *_: object) -> None:
        self._close(0)

    def data(self, path: str) -> bytes | str:
        """The bytes of `path`, which a listing has just called a file or a link; or the reason."""
        secret = self.guard.globs and self.guard.hides(self.prefix + path)
        known = Unread.SECRET if secret else self.texts.get(path)
        if known is not None:
            return known
        try:
            data = read_listed(*self._found(path), MAX_FILE_BYTES)
        except NotAFile:
            return Unread.SPECIAL
        except OSError as error:
            if error.errno == ELOOP:
                return Unread.LINK
            return Unread.GONE if isinstance(error, FileNotFoundError) else Unread.UNREADABLE
        return Unread.TOO_LARGE if data is None else data

    def exists(self, path: str) -> bool:
        """Whether anything has the name `path`."""
        try:
            return bool(HANDLES.lstat(*self._found(path)))
        except OSError:
            return False

    def _found(self, path: str) -> tuple[str, int]:
        """Return the name of the file `path`, and the open directory it is in. Raises `OSError`."""
        *parents, name = path.split("/")
        if parents != self._names:
            self._close(len(commonprefix([parents, self._names])))  # noqa: RUF071  # of lists
            for parent in parents[len(self._names) :]:
                self._open.append(HANDLES.enter(parent, self._open[-1]))
                self._names.append(parent)
        return name, self._open[-1]

    def _close(self, kept: int) -> None:
        """Close all except the first `kept` of the directories below the start."""
        for directory in self._open[kept + 1 :]:
            HANDLES.close(directory)
        del self._open[kept + 1 :], self._names[kept:]
