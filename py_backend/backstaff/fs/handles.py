"""How directories are held, and names in them are asked about: one class for each way.

A *handle* is a number that stands for one held directory. `Descriptors`, the way of every POSIX
system, holds the directory itself, so that whatever is renamed or swapped meanwhile, the handle
leads to the directory that was entered. Systems without descriptors of directories hold real paths
(`fs.handles_windows`).

`HANDLES` is the way of this system. All other modules of `fs` ask only it, by handle and single
name, so that none of them has to know which of the two it is.
"""

import os
from collections.abc import Callable, Iterable
from typing import Protocol

# Whether a flag exists is a matter of the system; one that does not exist cannot be asked for.
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = (
    getattr(os, "O_DIRECTORY", 0)
    | NO_FOLLOW
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_LIST = os.O_RDONLY | _DIRECTORY
# O_PATH needs search permission only (a 0311 directory can be passed through) and touches no
# device or dead mount; where it does not exist, a plain read-only open is the nearest thing.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _DIRECTORY
READ = (
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
            return os.open(held, _LIST & ~NO_FOLLOW)

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
        return os.open(name, READ if follow else READ | NO_FOLLOW, dir_fd=directory)

    def accessible(self, name: str, directory: int, mode: int) -> bool:
        """What faccessat(2) says."""
        if name != ".":
            return os.access(name, mode, dir_fd=directory, follow_symlinks=False)
        return os.access(".", mode, dir_fd=directory) or os.access(_HELD % directory, mode)


def has_descriptors() -> bool:
    """Whether this system can hold directories by descriptor."""
    by_directory = {os.open, os.stat, os.readlink, os.access} <= os.supports_dir_fd
    return by_directory and os.scandir in os.supports_fd and hasattr(os, "O_DIRECTORY")


def _of_this_system() -> Handles:
    if has_descriptors():
        return Descriptors()
    from backstaff.fs.handles_windows import PathHandles

    return PathHandles()


HANDLES: Handles = _of_this_system()
"""The way of this system."""
