"""Stamps of files: with equal ones nothing has changed, as far as the file system dates changes."""

import os
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter

from backstaff.fs.handles import HANDLES

RACY_NS, COARSE_NS = 20_000_000, 2_100_000_000
"""Nanoseconds in which a second change could leave the same times: more than a step of the kernel's
clock, and of a file system that keeps whole seconds, or every other one as FAT does."""

Stamp = tuple[int, int, int, int, int]
"""The times and the identity of a file."""
stamp_of: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_size"
)


def stamp_at(path: str, directory: int = -1) -> Stamp | None:
    """The stamp of `path`, from the open `directory` if it is relative; None if nothing is there.

    A link is followed.
    """
    with suppress(OSError):
        return stamp_of(HANDLES.stat(path, directory))
    return None


def is_young(stamp: Stamp, now: int) -> bool:
    """Return True if the file changed so shortly before `now` that another change may not show."""
    modified, changed = stamp[0], stamp[1]
    is_coarse = not (modified % 1_000_000_000 and changed % 1_000_000_000)
    return max(modified, changed) >= now - (COARSE_NS if is_coarse else RACY_NS)
