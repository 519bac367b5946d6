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

from backstaff.errors import NotAFile, PathError
from backstaff.fs.file import read_listed
from backstaff.fs.handles import HANDLES
from backstaff.fs.secrets import Guard

MAX_FILE_BYTES = 1 << 20
"""Maximum number of bytes of a file that is read, unless the settings have another."""


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
    _parents: str = ""
    _directories: list[int] = field(default_factory=list)
    """The open directories of the names in `_parents`."""
    _here: int = field(init=False)
    """The descriptor of the innermost open directory: the start if none is open."""

    def __enter__(self) -> Self:
        """Open nothing yet: directories are opened when a file needs them."""
        self._here = self.start
        return self

    def __exit__(self, *_: object) -> None:
        self._close(0)

    def data(self, path: str) -> bytes | str:
        """The bytes of the file `path`, relative to the start; or the `Unread` reason.

        A listing has just called `path` a file or a link.
        """
        secret = self.guard.globs and self.guard.hides(self.prefix + path)
        known = Unread.SECRET if secret else self.texts.get(path)
        if known is not None:
            return known
        parents, _, name = path.rpartition("/")
        try:
            if parents != self._parents:
                self._enter(parents)
            data = read_listed(name, self._here, MAX_FILE_BYTES)
        except NotAFile as error:
            return Unread.LINK if error.kind == "symlink" else Unread.SPECIAL
        except PathError:
            return Unread.UNREADABLE
        except OSError as error:
            if error.errno == ELOOP:
                return Unread.LINK
            return Unread.GONE if isinstance(error, FileNotFoundError) else Unread.UNREADABLE
        return Unread.TOO_LARGE if data is None else data

    def exists(self, path: str) -> bool:
        """Whether anything has the name `path`."""
        parents, _, name = path.rpartition("/")
        try:
            self._enter(parents)
            return bool(HANDLES.lstat(name, self._here))
        except OSError:
            return False

    def _enter(self, parents: str) -> None:
        """Open the directory `parents`, a path relative to the start. Raises `OSError`."""
        names = parents.split("/") if parents else []
        same = len(commonprefix([names, self._parents.split("/")]))  # noqa: RUF071  # of lists
        self._close(same)
        for name in names[same:]:
            self._here = HANDLES.enter(name, self._here)
            self._directories.append(self._here)
            self._parents = f"{self._parents}/{name}" if self._parents else name

    def _close(self, kept: int) -> None:
        """Close all except the first `kept` of the open directories."""
        for directory in self._directories[kept:]:
            HANDLES.close(directory)
        del self._directories[kept:]
        self._here = self._directories[-1] if self._directories else self.start
        self._parents = "/".join(self._parents.split("/")[:kept])
