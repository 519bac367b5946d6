"""The amount, duration and result of the attacks, printed at the end of the suite.

`BACKSTAFF_MINUTES` in the environment (`dev/torture MINUTES`) is the time for all attacks. Without
it, each attack is as short as it can be without losing its meaning.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

MINUTES = float(os.environ.get("BACKSTAFF_MINUTES", "0"))

FIGURES: Counter[str] = Counter()
ORDER = (
    *("attacks tried", "swaps", "seconds of race", "inputs fuzzed", "faults injected"),
    *("calls of the long run", "seconds of long run", "escapes", "hangs", "lost answers"),
)


def tally(**counts: float) -> None:
    """Add to the figures; an underscore in a name stands for a blank."""
    for name, count in counts.items():
        key = name.replace("_", " ")
        assert key in ORDER, key
        FIGURES[key] += count  # type: ignore[assignment]  # seconds have a fraction


def seconds(short: float, share: float) -> float:
    """Return the seconds of an attack: `short`, or its `share` of the given minutes."""
    return max(short, MINUTES * 60 * share)


@contextmanager
def racing() -> Iterator[None]:
    """Count the seconds of this block as a race."""
    start = time.monotonic()
    try:
        yield
    finally:
        tally(seconds_of_race=time.monotonic() - start)


def lines() -> Iterator[str]:
    """Yield the figures of the attacks that ran, one a line. The last three are always there."""
    for name in (name for name in ORDER if FIGURES[name] or name in ORDER[-3:]):
        yield f"{name:>22}  {FIGURES[name]:,.0f}"
