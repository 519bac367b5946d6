"""Time stamps of files and directories: equal stamps mean that nothing has changed.

A file that changed just now has no stamp. The kernel counts the times of files in steps, so a
second change within the same step would leave the same times.
"""

import os
from collections.abc import Callable
from operator import attrgetter

RACY_NS = 20_000_000
"""Nanoseconds for which a file counts as just changed: longer than a step of the kernel's."""

Stamp = tuple[int, int, int, int, int]
UNSETTLED: Stamp = (0, 0, 0, 0, 0)
"""Stands for something that changed just now. No file on a disk has this stamp."""

stamp_of: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_size"
)


def settled(status: os.stat_result, now: int) -> Stamp:
    """The stamp of `status`, which was read at `now` or later; UNSETTLED if it is too young."""
    stamp = stamp_of(status)
    young = now - RACY_NS
    return stamp if stamp[0] < young and stamp[1] < young else UNSETTLED
