"""Reading the head of one regular file, without waiting and never more than asked for.

The name is statted before it is opened, as opening alone can do something to a device, and again
when it is open, as another file may have taken the name in between. So a fifo, a terminal or
`/dev/zero` always ends in an error.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from backstaff.errors import NotAFile, PathError, path_error
from backstaff.fs.entry import kind_of
from backstaff.fs.handles import HANDLES

Opened = tuple[int, os.stat_result]  # a descriptor that reads a regular file, and its status


class Content(NamedTuple):
    """The first bytes of a file, and its status just before. `whole` says that they are all."""

    head: bytes
    status: os.stat_result
    whole: bool

    def first(self, most: int) -> "Content":
        """The same with at most `most` bytes."""
        return Content(self.head[:most], self.status, self.whole and len(self.head) <= most)


def read(name: str, directory: int, most: int, *, follow: bool = False) -> Content:
    """At most `most` bytes of the file `name` in the open `directory`. Raises `PathError`."""
    with opened(name, directory, follow=follow) as (descriptor, status):
        head = _first(descriptor, min(most, status.st_size))
    return Content(head, status, status.st_size <= most)


def head_of(path: str, most: int, directory: int = -1, *, follow: bool = True) -> bytes:
    """At most `most` bytes of a file of another program's; empty if it cannot be read."""
    with suppress(PathError):
        return read(path, directory, most, follow=follow).head
    return b""


def copy_in_memory(content: Content) -> int:
    """A descriptor of a copy with the time of the file, which nobody can swap: Linux has these.

    By its name, a program that makes a lock file beside it finds no directory for that.
    """
    copy = os.memfd_create("no/directory")
    with open(copy, "wb", closefd=False) as file:  # it has no path
        file.write(content.head)
    os.utime(copy, ns=(content.status.st_atime_ns, content.status.st_mtime_ns))
    return copy


def read_listed(name: str, directory: int, most: int) -> bytes | None:
    """All of the file `name`, or None if it has more than `most` bytes. Raises also `OSError`.

    A listing of the open `directory` has just called it a regular file, so it is not statted before
    it is opened. If anything else has the name by now, it is neither waited for nor read.
    """
    descriptor = HANDLES.open_file(name, directory, follow=False)
    try:
        size = _require_regular(os.fstat(descriptor)).st_size
        return None if size > most else _first(descriptor, size)
    finally:
        os.close(descriptor)


@contextmanager
def opened(name: str, directory: int, *, follow: bool = False) -> Iterator[Opened]:
    """Open the regular file `name` in the open `directory`.

    With `follow` a link counts as its target, wherever that is: never in a directory of a project.
    Raises `PathError`, even if reading fails meanwhile.
    """
    try:
        _require_regular((HANDLES.stat if follow else HANDLES.lstat)(name, directory))
        descriptor = HANDLES.open_file(name, directory, follow=follow)
        try:
            yield descriptor, _require_regular(os.fstat(descriptor))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise path_error(error) from error


def _require_regular(status: os.stat_result) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        raise NotAFile(kind_of(status))
    return status


def _first(descriptor: int, most: int) -> bytes:
    """The first `most` bytes; the system may give them in pieces, or fewer."""
    head = os.read(descriptor, most)
    while len(head) < most and (more := os.read(descriptor, most - len(head))):
        head += more
    return head
