"""Time stamps of files and directories: equal stamps mean that nothing has changed.

A file that changed just now has no stamp. The kernel counts the times of files in steps, so a
second change within the same step would leave the same times.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from threading import Lock
from typing import Generic, TypeVar

RACY_NS = 20_000_000
"""Longer than such a step."""

Stamp = tuple[int, int, int, int, int]
UNSETTLED: Stamp = (0, 0, 0, 0, 0)
"""Stands for something that changed just now. No file on a disk has this stamp."""

stamp_of: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_size"
)
_MODIFIED: Callable[[Stamp], int] = itemgetter(0)
_CHANGED: Callable[[Stamp], int] = itemgetter(1)


def settled(status: os.stat_result, now: int) -> Stamp:
    """The stamp of STATUS, which was read at NOW or later; UNSETTLED if it is too young."""
    stamp = stamp_of(status)
    young = now - RACY_NS
    return stamp if stamp[0] < young and stamp[1] < young else UNSETTLED


def latest(stamps: Sequence[Stamp]) -> int:
    """The latest time in STAMPS, of which there is one at least."""
    modified, changed = max(map(_MODIFIED, stamps)), max(map(_CHANGED, stamps))
    return max(modified, changed)


Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """The values that were used last; the oldest go when all together are larger than `most`.

    Each value counts one more than its size, because a thousand empty ones take memory, too.
    """

    def __init__(self, most: int, size: Callable[[Value], int]) -> None:
        """Keep values whose SIZE together is at most MOST."""
        self.most = most
        self._size = size
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        """The value of KEY, if it is still there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep VALUE for KEY."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) + sum(map(self._size, self._values.values())) > self.most:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._values.clear()
