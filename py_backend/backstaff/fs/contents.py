"""The contents of many files below a directory, for a search in them.

A path is followed name by name from the open start, by descriptor and never through a link. The
directories on the way to a file stay open for the next one, so files come in an order in which
those of a directory stand together, as in a sorted list.
"""

from codecs import BOM_UTF8
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from errno import ELOOP
from typing import Self

from backstaff.errors import NotAFile, PathError
from backstaff.fs.file import read_listed
from backstaff.fs.handles import HANDLES

HEAD = 8192
"""A NUL in so many first bytes says that a file is binary."""


class Unread(StrEnum):
    """Why the content of a file is no text to search."""

    LINK = "link"
    SPECIAL = "special"
    GONE = "gone"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too-large"
    BINARY = "binary"
    UNDECODABLE = "undecodable"


@dataclass(slots=True)
class Contents:
    """Reads files below the open directory `start`; use it as a context manager.

    `most` is the size in bytes of the largest file that is read. `codings` names the encodings that
    are known of files that are not UTF-8, by path.
    """

    start: int
    most: int
    codings: Mapping[str, str] = field(default_factory=dict)
    _parents: str = ""
    _directories: list[int] = field(default_factory=list)
    """The open directories of the names in `_parents`."""
    _here: int = field(init=False)
    """The last of them, or the start."""

    def __enter__(self) -> Self:
        """Directories are opened as files need them."""
        self._here = self.start
        return self

    def __exit__(self, *_: object) -> None:
        """Close every directory that is still open."""
        self._close(0)

    def data(self, path: str) -> bytes | Unread:
        """The bytes of the file PATH, relative to the start; or the reason why there are none.

        They are a text as from `judged` if the encoding is known. A listing has just called PATH a
        file or a link.
        """
        parents, _, name = path.rpartition("/")
        try:
            if parents != self._parents:
                self._enter(parents)
            data = read_listed(name, self._here, self.most)
        except NotAFile as error:
            return Unread.LINK if error.kind == "symlink" else Unread.SPECIAL
        except PathError:
            return Unread.UNREADABLE
        except OSError as error:
            if error.errno == ELOOP:
                return Unread.LINK
            return Unread.GONE if isinstance(error, FileNotFoundError) else Unread.UNREADABLE
        if data is None:
            return Unread.TOO_LARGE
        return judged(data, "utf-8", self.codings[path]) if path in self.codings else data

    def exists(self, path: str) -> bool:
        """Whether anything has the name PATH."""
        parents, _, name = path.rpartition("/")
        try:
            self._enter(parents)
            return bool(HANDLES.lstat(name, self._here))
        except OSError:
            return False

    def _enter(self, parents: str) -> None:
        """Be in the directory PARENTS, a path relative to the start. Raises `OSError`."""
        names = parents.split("/") if parents else []
        same = 0
        for new, old in zip(names, self._parents.split("/"), strict=False):
            if new != old:
                break
            same += 1
        self._close(same)
        for name in names[same:]:
            self._here = HANDLES.enter(name, self._here)
            self._directories.append(self._here)
            self._parents = f"{self._parents}/{name}" if self._parents else name

    def _close(self, kept: int) -> None:
        """Leave all but the first KEPT of the open directories."""
        for directory in self._directories[kept:]:
            HANDLES.close(directory)
        del self._directories[kept:]
        self._here = self._directories[-1] if self._directories else self.start
        self._parents = "/".join(self._parents.split("/")[:kept])


def judged(data: bytes, *codings: str) -> bytes | Unread:
    """The text of DATA, in the first of CODINGS that fits, else UTF-8; or why they are no text.

    It is in UTF-8 without a byte order mark, and a line feed ends each line.
    """
    if data.find(b"\0", 0, HEAD) >= 0:
        return Unread.BINARY
    for name in dict.fromkeys((*codings, "utf-8")):  # Python knows not all codings of Emacs
        with suppress(LookupError, UnicodeDecodeError):
            text = data if data.isascii() else data.decode(name).encode(errors="replace")
            return text.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return Unread.UNDECODABLE


def is_plain(data: bytes) -> bool:
    """Whether DATA, one text or several, surely are the text that `judged` would make of each."""
    if b"\0" in data or b"\r" in data:
        return False
    try:
        return data.isascii() or "\ufeff" not in data.decode()
    except UnicodeDecodeError:
        return False
