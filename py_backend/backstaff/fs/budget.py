"""How long a call may go on: its deadline and its cancellation, looked at between entries."""

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

from backstaff.errors import Cancelled, DeadlineExceeded

DEFAULT_DEADLINE_MS = 10_000

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of one running call.

    `deadline` is in seconds of the monotonic clock; `cancelled` is set from another thread.
    """

    STRIDE: ClassVar[int] = 512
    """Entries between two looks at the clock: a look costs as much as several entries."""

    deadline: float = float("inf")
    cancelled: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def lasting(cls, milliseconds: int, cancelled: threading.Event) -> "Budget":
        """A budget that starts now and lasts so many MILLISECONDS."""
        return cls(time.monotonic() + milliseconds / 1000, cancelled)

    def expired(self) -> bool:
        """Whether the time is up. Raises `Cancelled` when the client took the call back."""
        if self.cancelled.is_set():
            raise Cancelled
        return time.monotonic() > self.deadline

    def check(self) -> None:
        """Raise `DeadlineExceeded` when the time is up, and `Cancelled` as `expired` does."""
        if self.expired():
            raise DeadlineExceeded

    def checked(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the ITEMS as long as there is time, as `check` has it."""
        for number, item in enumerate(items):
            if not number % self.STRIDE:
                self.check()
            yield item

    def at_most(self, seconds: float) -> "Budget":
        """Return the same budget with at most so many SECONDS from now."""
        return replace(self, deadline=min(self.deadline, time.monotonic() + seconds))

    def at_least(self, seconds: float) -> "Budget":
        """The same with so many SECONDS from now, even where that is more than there were."""
        return replace(self, deadline=max(self.deadline, time.monotonic() + seconds))
