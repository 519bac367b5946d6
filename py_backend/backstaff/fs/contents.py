"""The contents of many files below a directory, for a search of what is in them.

A path is followed name by name from the open start, by descriptor and never through a link. The
directories on the way to a file stay open for the next one, so files come in an order in which
those of a directory stand together, as in a sorted list.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from backstaff.errors import NotAFile, PathError, path_error
from backstaff.fs.file import read
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
    _names: list[str] = field(default_factory=list)
    _directories: list[int] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Nothing: directories are opened as files need them."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close every directory that is still open."""
        self._close(0)

    def text(self, path: str) -> bytes | Unread:
        """The UTF-8 text of the file PATH, relative to the start; or the reason why it is none."""
        *parents, name = path.split("/")
        try:
            directory = self._enter(parents)
            data, _, whole = read(name, directory, self.most, all_or_none=True)
        except NotAFile as error:
            return Unread.LINK if error.kind == "symlink" else Unread.SPECIAL
        except PathError as error:
            return Unread.GONE if error.code == "NOT_FOUND" else Unread.UNREADABLE
        if not whole:
            return Unread.TOO_LARGE
        known = self.codings.get(path)
        return judged(data, "utf-8", known) if known else judged(data)

    def _enter(self, parents: Sequence[str]) -> int:
        """The open directory of these names. Raises `PathError`."""
        same = 0
        while same < min(len(parents), len(self._names)) and parents[same] == self._names[same]:
            same += 1
        self._close(same)
        for name in parents[same:]:
            try:
                self._directories.append(HANDLES.enter(name, self._here()))
            except OSError as error:
                raise path_error(error) from error
            self._names.append(name)
        return self._here()

    def _here(self) -> int:
        return self._directories[-1] if self._directories else self.start

    def _close(self, kept: int) -> None:
        while len(self._directories) > kept:
            HANDLES.close(self._directories.pop())
            self._names.pop()


def judged(data: bytes, *codings: str) -> bytes | Unread:
    """DATA, in the first of CODINGS that fits, else UTF-8, as UTF-8; or why they are no text."""
    if data.find(b"\0", 0, HEAD) >= 0:
        return Unread.BINARY
    if data.isascii():
        return data
    for name in dict.fromkeys((*codings, "utf-8")):  # Python knows not all codings of Emacs
        with suppress(LookupError, UnicodeDecodeError):
            text = data.decode(name)
            return data if name == "utf-8" else text.encode(errors="replace")
    return Unread.UNDECODABLE
