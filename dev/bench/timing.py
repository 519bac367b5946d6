"""Times, measured in turns: a ratio of medians from one run says more than any single time."""

import gc
import time
from collections.abc import Callable, Mapping
from math import inf
from statistics import median, quantiles

Ways = Mapping[str, Callable[[], object]]
"""The ways of doing one thing, by name."""
Measures = dict[str, dict[str, list[float]]]
"""All measures: by measure and way, each single time in seconds, or bytes of memory."""


def in_turns(turns: int, ways: Ways) -> dict[str, list[float]]:
    """Return the seconds of each of `ways` in `turns` interleaved turns, after a first one."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        seconds(way)
    for _ in range(turns):
        for name, way in ways.items():
            gc.collect()
            times[name].append(seconds(way))
    return times


def seconds(way: Callable[[], object]) -> float:
    """Return the seconds of a call of `way`; `inf` if it raises `TimeoutError`."""
    start = time.perf_counter()
    try:
        result = way()
    except TimeoutError:
        return inf
    taken = time.perf_counter() - start
    del result  # after the time was taken
    return taken


def p50(times: list[float]) -> float:
    """Return the median."""
    return median(times)


def p95(times: list[float]) -> float:
    """Return the value that 95 of 100 do not exceed."""
    return quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
