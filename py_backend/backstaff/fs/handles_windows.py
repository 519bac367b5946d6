"""Holding directories by their real paths, where a system has no descriptors of them (SRD C-01)."""

import errno
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TypeVar

from backstaff.fs.handles import NO_FOLLOW, READ, Descriptors

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class _Held:
    path: str
    identity: tuple[int, int]


class PathHandles(Descriptors):
    """Directories held by real paths, which are checked before and after each question.

    A held directory is its strict real path and its identity (device and file number). Before each
    question about a name in it, and again after, the path must still be real, free of links and
    mount-like reparse points on all its length, and lead to the same directory. Else the answer is
    thrown away, and the question fails with "it changed while it was looked at".

    **The promise is weaker than that of `Descriptors`.** Words and links that leave the root are
    refused all the same, and a swap that lasts is noticed. But a directory that is swapped for a
    link after the first check, and swapped back before the second, can show names, sizes and times
    from outside, and for an instant contents. A program that writes in the project at that speed is
    not kept out on such a system.
    """

    def __init__(self, *, windows: bool = os.name == "nt") -> None:
        """Hold nothing yet. WINDOWS says whose names are refused."""
        self.windows = windows
        self._held: dict[int, _Held] = {}
        self._next = count(1)
        self.duplicate = self._duplicate
        self.close = self._held.__delitem__
        self.scan = self._scan
        self.status = partial(self._between, ask=os.lstat)

    def root(self, path: str) -> int:
        """Hold PATH, which has to be its own real path."""
        return self._hold(path, os.lstat(path))  # all here is by os, as above

    def enter(self, name: str, directory: int) -> int:
        """Hold NAME unless it is a link, a junction or no directory."""

        def ask(path: str) -> int:
            child = self._child(path, name)
            return self._hold(child, os.lstat(child))

        return self._between(directory, ask)

    def enter_to_list(self, name: str, directory: int) -> int:
        """Hold NAME, as there is but one way to hold it."""
        return self.enter(name, directory)

    def reopen_to_list(self, directory: int) -> int:
        """Hold it once more."""
        return self._duplicate(directory)

    def _duplicate(self, directory: int) -> int:
        return self._keep(self._held[directory])

    def _scan(self, directory: int) -> "os._ScandirIterator[str]":
        return self._between(directory, os.scandir, lambda entries: entries.close())

    def lstat(self, name: str, directory: int) -> os.stat_result:
        """The status by path."""
        return self._between(directory, lambda path: os.lstat(self._child(path, name)))

    def lstats(self, names: Iterable[str], directory: int) -> list[os.stat_result]:
        """The status of each by path."""
        return [self.lstat(name, directory) for name in names]

    def stat(self, name: str, directory: int) -> os.stat_result:
        """The status by path, following links."""
        return self._between(directory, lambda path: os.stat(self._child(path, name)))

    def readlink(self, name: str, directory: int) -> str:
        """The target by path."""
        return self._between(directory, lambda path: os.readlink(self._child(path, name)))

    def open_file(self, name: str, directory: int, *, follow: bool) -> int:
        """Open by path. The open file must be the one that was statted before."""

        def ask(path: str) -> int:
            child = self._child(path, name)
            expected = os.stat(child, follow_symlinks=follow)
            descriptor = os.open(child, READ if follow else READ | NO_FOLLOW)
            if _identity(os.fstat(descriptor)) != _identity(expected):
                os.close(descriptor)
                raise _changed()
            return descriptor

        return self._between(directory, ask, os.close)

    def accessible(self, name: str, directory: int, mode: int) -> bool:
        """Call access(2), which follows a link."""

        def ask(path: str) -> bool:
            return os.access(path if name == "." else self._child(path, name), mode)

        return self._between(directory, ask)

    def _hold(self, path: str, status: os.stat_result) -> int:
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if getattr(status, "st_file_attributes", 0) & stat.FILE_ATTRIBUTE_REPARSE_POINT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        handle = self._keep(_Held(path, _identity(status)))
        try:
            self._sure(handle)
        except OSError:
            self.close(handle)
            raise
        return handle

    def _keep(self, held: _Held) -> int:
        handle = next(self._next)
        self._held[handle] = held
        return handle

    def _between(
        self,
        directory: int,
        ask: Callable[[str], Found],
        discard: Callable[[Found], None] = lambda _: None,
    ) -> Found:
        """The answer of ASK for the path of DIRECTORY, which is checked before and after."""
        found = ask(self._sure(directory))
        try:
            self._sure(directory)
        except OSError:
            discard(found)
            raise
        return found

    def _sure(self, directory: int) -> str:
        held = self._held[directory]
        real = os.path.realpath(held.path, strict=True)
        same = os.path.normcase(real) == os.path.normcase(held.path)
        if not same or _identity(os.stat(real)) != held.identity:
            raise _changed()
        return held.path

    def _child(self, path: str, name: str) -> str:
        if self.windows and not is_plain_windows_name(name):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return os.path.join(path, name)


_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"} | {
    f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"
}


def is_plain_windows_name(name: str) -> bool:
    """Whether Windows takes NAME literally: it is no stream or device, and its end is not cut."""
    if any(sign in name for sign in ':/\\*?"<>|') or name != name.rstrip(" ."):
        return False
    return name.partition(".")[0].rstrip(" ").lower() not in _DEVICES


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _changed() -> OSError:
    return OSError(errno.ESTALE, "it changed while it was looked at")
