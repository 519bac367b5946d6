"""How much was attacked, for how long, and what came of it; printed when the suite is over.

`BACKSTAFF_MINUTES` in the environment (`dev/torture MINUTES`) says how long it may all take;
without it each attack is as short as it can be and still mean something.
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
    """How long an attack may go on: `short`, or its `share` of the minutes that were given."""
    return max(short, MINUTES * 60 * share)


@contextmanager
def racing() -> Iterator[None]:
    """Count the seconds that this takes as a race."""
    start = time.monotonic()
    try:
        yield
    finally:
        tally(seconds_of_race=time.monotonic() - start)


def lines() -> Iterator[str]:
    """The figures of the attacks that ran, one a line; the last three always."""
    for name in (name for name in ORDER if FIGURES[name] or name in ORDER[-3:]):
        yield f"{name:>22}  {FIGURES[name]:,.0f}"
