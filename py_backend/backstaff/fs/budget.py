"""How long a call may go on: its deadline and its cancellation, looked at between entries."""

import threading
import time
from dataclasses import dataclass, field
from typing import ClassVar

from backstaff.errors import Cancelled

DEFAULT_DEADLINE_MS = 10_000


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
