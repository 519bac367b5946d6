"""The deadline and the cancellation of a call, which every loop looks at."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from heapq import merge
from typing import Any, ClassVar, TypeVar

from backstaff.errors import Cancelled, DeadlineExceeded

DEFAULT_DEADLINE_MS = 10_000  # of a call, unless its client sets another
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a call: `deadline` is of the monotonic clock, `cancelled` set by any thread."""

    STRIDE: ClassVar[int] = 512  # entries between two looks at the clock: each costs as several
    AT_ONCE: ClassVar[int] = 200_000  # entries that are sorted in one call

    deadline: float = float("inf")
    cancelled: threading.Event = field(default_factory=threading.Event)

    def expired(self) -> bool:
        """Whether the time is up. Raises `Cancelled` when the client took the call back."""
        if self.cancelled.is_set():
            raise Cancelled
        return time.monotonic() > self.deadline

    def left(self) -> float:
        """The seconds that are left, less than 0 when the time is up."""
        return self.deadline - time.monotonic()

    def check(self) -> None:
        """Raise `DeadlineExceeded` when the time is up, and `Cancelled` as `expired` does."""
        if self.expired():
            raise DeadlineExceeded

    def checked(self, items: Iterable[Item], stride: int = STRIDE) -> Iterator[Item]:
        """Yield the `items`, and `check` before each `stride`, which is work of 0.1 s at most."""
        for number, item in enumerate(items):
            if not number % stride:
                self.check()
            yield item

    def at_most(self, seconds: float) -> "Budget":
        """Return the same budget with at most so many `seconds` from now."""
        return replace(self, deadline=min(self.deadline, time.monotonic() + seconds))

    def within(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the `items` as long as there is time. Raises `Cancelled`."""
        with suppress(DeadlineExceeded):
            yield from self.checked(items)

    def ordered(self, items: Sequence[Item], key: Callable[[Item], Any]) -> list[Item]:
        """Return `items` sorted: in pieces, because to sort a million stops all other threads."""
        if len(items) <= self.AT_ONCE:
            return sorted(items, key=key)
        step = self.AT_ONCE // 8
        starts = range(0, len(items), step)
        pieces = [[] if self.expired() else sorted(items[at : at + step], key=key) for at in starts]
        merged = list(self.within(merge(*pieces, key=key)))
        return merged if len(merged) == len(items) else list(items)

    def share(self, part: float) -> "Budget":
        """The same, but with `part` of the time that is left: 0.6 of 10 seconds ends after 6."""
        return self.at_most(part * self.left())

    def at_least(self, seconds: float) -> "Budget":
        """The same with at least so many `seconds` from now, even past the deadline."""
        return replace(self, deadline=max(self.deadline, time.monotonic() + seconds))
