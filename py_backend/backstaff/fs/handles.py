"""How directories are held, and names in them are asked about: one class for each way.

A *handle* is a number that stands for one held directory. `Descriptors`, the way of every POSIX
system, holds the directory itself, so that whatever is renamed or swapped meanwhile, the handle
leads to the directory that was entered. `Names` is the strict fallback for systems that have no
descriptors of directories (Windows; SRD C-01): it holds a real path and promises less.

`HANDLES` is the way of this system. All other modules of `fs` ask only it, by handle and single
name, so that none of them has to know which of the two it is.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol, TypeVar

Found = TypeVar("Found")

# Whether a flag exists is a matter of the system; one that does not exist cannot be asked for.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = (
    getattr(os, "O_DIRECTORY", 0)
    | _NO_FOLLOW
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_LIST = os.O_RDONLY | _DIRECTORY
# O_PATH needs search permission only (a 0311 directory can be passed through) and touches no
# device or dead mount; where it does not exist, a plain read-only open is the nearest thing.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _DIRECTORY
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
# "." can be named only with search permission, which reading a directory and asking about it do not
# take; this name for a descriptor, where the system has it, takes none.
_HELD = "/proc/self/fd/%d"

DEEPEST = 100
"""Directories that one walk holds at once: four walks leave others more than half of 1,024."""


class Handles(Protocol):
    """A way of holding directories. Everything raises OSError; no NAME holds a separator."""

    def root(self, path: str) -> int:
        """Hold the directory at the real PATH."""
        ...

    def enter(self, name: str, directory: int) -> int:
        """Hold the directory NAME, never through a link, for whatever stands in it."""
        ...

    def enter_to_list(self, name: str, directory: int) -> int:
        """Hold the directory NAME, never through a link, for reading its names."""
        ...

    def reopen_to_list(self, directory: int) -> int:
        """Hold DIRECTORY once more, for reading its names."""
        ...

    def duplicate(self, directory: int, /) -> int:
        """Hold DIRECTORY once more."""
        ...

    def close(self, directory: int, /) -> None:
        """Let DIRECTORY go."""
        ...

    def scan(self, directory: int, /) -> "os._ScandirIterator[str]":
        """The entries of DIRECTORY, which is held for reading its names."""
        ...

    def status(self, directory: int, /) -> os.stat_result:
        """The status of DIRECTORY itself."""
        ...

    def lstat(self, name: str, directory: int) -> os.stat_result:
        """The status of NAME itself, be it a link."""
        ...

    def lstats(self, names: Iterable[str], directory: int) -> list[os.stat_result]:
        """The status of each of NAMES itself; raises OSError at the first that has none."""
        ...

    def stat(self, name: str, directory: int) -> os.stat_result:
        """The status of what NAME leads to, wherever that is."""
        ...

    def readlink(self, name: str, directory: int) -> str:
        """What the link NAME holds."""
        ...

    def open_file(self, name: str, directory: int, *, follow: bool) -> int:
        """A descriptor that reads the file NAME without waiting; links only if FOLLOW."""
        ...

    def accessible(self, name: str, directory: int, mode: int) -> bool:
        """Whether access(2) grants MODE on NAME itself, or on DIRECTORY if NAME is "."."""
        ...


_scan: Callable[[int], "os._ScandirIterator[str]"] = os.scandir


class Descriptors:
    """Descriptors of directories: what was entered stays what it is, whatever is swapped.

    No name is ever looked up twice, and none is looked up by more than one component. Against
    somebody who renames at full speed: no escape in millions of tries (safety 3.2).
    """

    # A walk calls these for every directory, and a method around them would take as long again.
    duplicate = staticmethod(os.dup)
    close = staticmethod(os.close)
    scan = staticmethod(_scan)
    status = staticmethod(os.fstat)

    def root(self, path: str) -> int:
        """Open the directory at the real PATH."""
        return os.open(path, _PASS)

    def enter(self, name: str, directory: int) -> int:
        """Open NAME to pass through it; search permission is enough."""
        return os.open(name, _PASS, dir_fd=directory)

    def enter_to_list(self, name: str, directory: int) -> int:
        """Open NAME for reading."""
        return os.open(name, _LIST, dir_fd=directory)

    def reopen_to_list(self, directory: int) -> int:
        """Open DIRECTORY for reading; also one that may be read and not searched."""
        try:
            return os.open(".", _LIST, dir_fd=directory)
        except PermissionError:
            held = _HELD % directory
            if not os.path.exists(held):
                raise
            return os.open(held, _LIST & ~_NO_FOLLOW)

    def lstat(self, name: str, directory: int) -> os.stat_result:
        """What fstatat(2) says."""
        return os.stat(name, dir_fd=directory, follow_symlinks=False)

    def lstats(self, names: Iterable[str], directory: int) -> list[os.stat_result]:
        """What fstatat(2) says of each."""
        ask = os.stat
        return [ask(name, dir_fd=directory, follow_symlinks=False) for name in names]

    def stat(self, name: str, directory: int) -> os.stat_result:
        """What fstatat(2) says, links followed."""
        return os.stat(name, dir_fd=directory)

    def readlink(self, name: str, directory: int) -> str:
        """What readlinkat(2) says."""
        return os.readlink(name, dir_fd=directory)

    def open_file(self, name: str, directory: int, *, follow: bool) -> int:
        """Open relative to DIRECTORY."""
        return os.open(name, _READ if follow else _READ | _NO_FOLLOW, dir_fd=directory)

    def accessible(self, name: str, directory: int, mode: int) -> bool:
        """What faccessat(2) says."""
        if name != ".":
            return os.access(name, mode, dir_fd=directory, follow_symlinks=False)
        return os.access(".", mode, dir_fd=directory) or os.access(_HELD % directory, mode)


@dataclass(frozen=True, slots=True)
class _Held:
    path: str
    identity: tuple[int, int]


@dataclass(slots=True)
class Names:
    """The strict fallback of safety S12: real paths, made sure of before and after each question.

    A held directory is its strict real path and its identity (device and file number). Before each
    question about a name in it, and again after, the path must still be real, free of links and
    mount-like reparse points on all its length, and lead to that very directory; else the answer is
    thrown away and the question fails ("it changed while it was looked at").

    **The promise is weaker than that of `Descriptors`.** Words and links that leave the root are
    refused all the same, and a swap that lasts is noticed; but a directory that is swapped for a
    link after the look before, and swapped back before the look after, can show names, sizes and
    times, and for an instant contents, from outside. Whoever can write in the project at that speed
    is not kept out on such a system.
    """

    windows: bool = os.name == "nt"
    _held: dict[int, _Held] = field(default_factory=dict)
    _next: "count[int]" = field(default_factory=lambda: count(1))

    def root(self, path: str) -> int:
        """Hold PATH, which has to be its own real path."""
        return self._hold(path, os.lstat(path))  # all here is by os, as above

    def enter(self, name: str, directory: int) -> int:
        """Hold NAME unless it is a link, a junction or no directory."""

        def look(path: str) -> int:
            child = self._child(path, name)
            return self._hold(child, os.lstat(child))

        return self._between(directory, look)

    def enter_to_list(self, name: str, directory: int) -> int:
        """Hold NAME, as there is but one way to hold it."""
        return self.enter(name, directory)

    def reopen_to_list(self, directory: int) -> int:
        """Hold it once more."""
        return self.duplicate(directory)

    def duplicate(self, directory: int) -> int:
        """Hold it once more."""
        return self._keep(self._held[directory])

    def close(self, directory: int) -> None:
        """Forget the handle."""
        del self._held[directory]

    def scan(self, directory: int) -> "os._ScandirIterator[str]":
        """Scan by path."""
        return self._between(directory, os.scandir, lambda entries: entries.close())

    def status(self, directory: int) -> os.stat_result:
        """The status of the directory that is made sure of."""
        return self._between(directory, os.lstat)

    def lstat(self, name: str, directory: int) -> os.stat_result:
        """The status by path."""
        return self._between(directory, lambda path: os.lstat(self._child(path, name)))

    def lstats(self, names: Iterable[str], directory: int) -> list[os.stat_result]:
        """The status of each by path."""
        return [self.lstat(name, directory) for name in names]

    def stat(self, name: str, directory: int) -> os.stat_result:
        """The status of what the path leads to."""
        return self._between(directory, lambda path: os.stat(self._child(path, name)))

    def readlink(self, name: str, directory: int) -> str:
        """The target by path."""
        return self._between(directory, lambda path: os.readlink(self._child(path, name)))

    def open_file(self, name: str, directory: int, *, follow: bool) -> int:
        """Open by path; what was opened must be what was looked at."""

        def look(path: str) -> int:
            child = self._child(path, name)
            expected = os.stat(child, follow_symlinks=follow)
            descriptor = os.open(child, _READ if follow else _READ | _NO_FOLLOW)
            if _identity(os.fstat(descriptor)) != _identity(expected):
                os.close(descriptor)
                raise _changed()
            return descriptor

        return self._between(directory, look, os.close)

    def accessible(self, name: str, directory: int, mode: int) -> bool:
        """What access(2) says of the path; of a link it is what is said of its target."""

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
        """What ASK says of the path of DIRECTORY, which is made sure of before and after."""
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
    """Whether NAME means on Windows a thing of this name: no stream, device, or cut ending."""
    if any(sign in name for sign in ':/\\*?"<>|') or name != name.rstrip(" ."):
        return False
    return name.partition(".")[0].rstrip(" ").lower() not in _DEVICES


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _changed() -> OSError:
    return OSError(errno.ESTALE, "it changed while it was looked at")


def has_descriptors() -> bool:
    """Whether this system can hold directories by descriptor."""
    by_directory = {os.open, os.stat, os.readlink, os.access} <= os.supports_dir_fd
    return by_directory and os.scandir in os.supports_fd and hasattr(os, "O_DIRECTORY")


HANDLES: Handles = Descriptors() if has_descriptors() else Names()
"""The way of this system."""
