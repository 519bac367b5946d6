"""Descriptors of open directories, and questions about single names in them.

A descriptor leads to the directory that was entered, even if that is renamed or another takes its
name. `HANDLES` is the one instance that all modules use, so that a test can count or delay each
question. The systems are Linux, macOS and the BSDs: Windows has no descriptors of directories.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

_DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LIST = os.O_RDONLY | _DIRECTORY
# O_PATH needs search permission only, so a 0311 directory can be passed through, and it touches no
# device or dead mount. Where it does not exist, a plain read-only open is the nearest thing.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | _DIRECTORY
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# Reopening "." needs search permission; reopening this name of a descriptor, on the systems that
# have it, does not.
_HELD = "/proc/self/fd/%d"
# Whether such a name leads to the open directory, whatever is renamed. Only Linux has them.
BY_DESCRIPTOR = os.path.isdir("/proc/self/fd")

MOVED = "its directories were moved meanwhile"
DEEPEST = 100  # directories that a walk holds open: four walks leave half of 1,024


class Descriptors:
    """The questions. `name` is a single name, and none is looked up twice. All raise OSError.

    So renaming at full speed did not get out of the root in millions of tries. Only these are asked
    for by paths: git's own files and its rules, which can lie above the root, and files of which
    the status is compared with an earlier one. No answer shows any of them.
    """

    # A walk calls these for every directory, and a method around them would take as long again.
    duplicate: Callable[[int], int] = staticmethod(os.dup)
    close: Callable[[int], None] = staticmethod(os.close)
    scan: "Callable[[int], os._ScandirIterator[str]]" = staticmethod(os.scandir)  # type: ignore[assignment]  # an overload
    status: Callable[[int], os.stat_result] = staticmethod(os.fstat)

    def root(self, path: str) -> int:
        """Open the directory at the real `path`."""
        return os.open(path, _PASS)

    def enter(self, name: str, directory: int) -> int:
        """Open the directory `name`, never through a link, to ask about names in it."""
        return os.open(name, _PASS, dir_fd=directory)

    def enter_to_list(self, name: str, directory: int) -> int:
        """Open the directory `name`, never through a link, to read its names."""
        return os.open(name, _LIST, dir_fd=directory)

    def reopen_to_list(self, directory: int) -> int:
        """Open `directory` once more to read its names, even without search permission."""
        try:
            return os.open(".", _LIST, dir_fd=directory)
        except PermissionError:
            if not os.path.exists(held := _HELD % directory):
                raise
            return os.open(held, _LIST & ~os.O_NOFOLLOW)

    def lstat(self, name: str, directory: int) -> os.stat_result:
        """The status of `name`, without following a link."""
        return os.stat(name, dir_fd=directory, follow_symlinks=False)

    def lstats(self, names: Iterable[str], directory: int) -> list[os.stat_result]:
        """The status of each of `names`, as `lstat` has it."""
        return [os.stat(name, dir_fd=directory, follow_symlinks=False) for name in names]

    def stat(self, name: str, directory: int) -> os.stat_result:
        """The status of `name`. A link is followed, wherever it leads."""
        return os.stat(name, dir_fd=directory)

    def readlink(self, name: str, directory: int) -> str:
        """The target of the link `name`."""
        return os.readlink(name, dir_fd=directory)

    def open_file(self, name: str, directory: int, *, follow: bool) -> int:
        """A descriptor that reads the file `name` without waiting; links only if `follow`."""
        return os.open(name, _READ if follow else _READ | os.O_NOFOLLOW, dir_fd=directory)

    def accessible(self, name: str, directory: int, mode: int) -> bool:
        """Whether access(2) grants `mode` on `name`, or on `directory` if `name` is "."."""
        if name != ".":
            return os.access(name, mode, dir_fd=directory, follow_symlinks=False)
        return os.access(".", mode, dir_fd=directory) or os.access(_HELD % directory, mode)


HANDLES = Descriptors()


class OpenDirectory(NamedTuple):
    """A directory that is held open for another program, and its real path."""

    descriptor: int
    path: str

    def __str__(self) -> str:
        """The path for the program: one to the open directory, where the system has that."""
        return _HELD % self.descriptor if BY_DESCRIPTOR else self.path

    def is_in_place(self) -> bool:
        """Whether the real path still leads to the open directory."""
        with suppress(OSError):
            if BY_DESCRIPTOR:
                return os.readlink(str(self)) == self.path
            status = os.stat(self.path, follow_symlinks=False)
            return os.path.samestat(status, HANDLES.status(self.descriptor))
        return False


def are_in_place(directories: Iterable[OpenDirectory]) -> bool:
    """Whether the paths that a program gets for `directories` lead to them."""
    return BY_DESCRIPTOR or all(one.is_in_place() for one in directories)
