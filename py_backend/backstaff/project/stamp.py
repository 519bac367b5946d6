"""Time stamps of files and directories: equal stamps mean that nothing has changed.

A file that changed just now has no stamp. The kernel counts the times of files in steps, so a
second change within the same step would leave the same times.
"""

import os
from collections.abc import Callable
from operator import attrgetter

RACY_NS = 20_000_000
"""Nanoseconds for which a file counts as just changed: longer than a step of the kernel's."""
COARSE_NS = 2_100_000_000
"""The same for a file system that keeps whole seconds, or every other one as FAT does."""
_SECOND_NS = 1_000_000_000

Stamp = tuple[int, int, int, int, int]
UNSETTLED: Stamp = (0, 0, 0, 0, 0)
"""Stands for something that changed just now. No file on a disk has this stamp."""

stamp_of: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_size"
)


def is_young(stamp: Stamp, now: int) -> bool:
    """Return True if the file changed so shortly before `now` that another change may not show.

    A time of whole seconds may come from a file system that keeps no others.
    """
    modified, changed = stamp[0], stamp[1]
    is_coarse = not (modified % _SECOND_NS and changed % _SECOND_NS)
    return max(modified, changed) >= now - (COARSE_NS if is_coarse else RACY_NS)


def settled(status: os.stat_result, now: int) -> Stamp:
    """The stamp of `status`, which was read at `now` or later; UNSETTLED if it is too young."""
    stamp = stamp_of(status)
    return UNSETTLED if is_young(stamp, now) else stamp
