"""Reading the head of one file: a regular file or nothing, never waiting, never more than asked.

What a name stands for is looked at before it is opened, as opening alone can do something to a
device; then it is opened without waiting for a writer, a carrier or a lease, and looked at again,
as it may have been replaced in between. Reading a fifo, a terminal or `/dev/zero` so comes to an
error in any case.
"""

import os
import stat
from dataclasses import dataclass

from backstaff.errors import NotAFile
from backstaff.fs.entry import Kind, kind_of, refusal

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Content:
    """The first bytes of a file, its status just before they were read, and if that is `whole`."""

    head: bytes
    status: os.stat_result
    whole: bool

    def first(self, most: int) -> "Content":
        """The same with at most MOST bytes."""
        return Content(self.head[:most], self.status, self.whole and len(self.head) <= most)


def regular(name: str, directory: int, *, follow: bool = False) -> os.stat_result:
    """The status of the regular file NAME in the open DIRECTORY. Raises `PathError`.

    A link is not a regular file, unless FOLLOW lets it stand for what it leads to, wherever that
    is: so FOLLOW is for folders that a person has chosen, and never for what came with a project.
    """
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=follow)
    except OSError as error:
        raise refusal(error) from error
    return _insist(status)


def read(name: str, directory: int, most: int, *, follow: bool = False) -> Content:
    """At most MOST bytes of the regular file NAME in the open DIRECTORY. Raises `PathError`."""
    regular(name, directory, follow=follow)
    flags = _FLAGS if follow else _FLAGS | os.O_NOFOLLOW
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
        try:
            status = _insist(os.fstat(descriptor))
            head = _first(descriptor, most)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise refusal(error) from error
    return Content(head, status, whole=len(head) < most or status.st_size <= most)


def _insist(status: os.stat_result) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        raise not_a_file(kind_of(status))
    return status


def not_a_file(kind: Kind) -> NotAFile:
    """The error for something of this KIND where a regular file was needed."""
    return NotAFile(f"it is a {kind.replace('-', ' ')}", kind=kind)


def _first(descriptor: int, most: int) -> bytes:
    """The first MOST bytes; the system may give them in pieces."""
    head = os.read(descriptor, most)
    while head and len(head) < most and (more := os.read(descriptor, most - len(head))):
        head += more
    return head
