"""`python -m dev.bench.soak`: mixed calls; fails if the server's memory or descriptors grow.

The calls repeat in one order, so any two rounds are alike. In the first rounds caches fill and the
allocator settles. After them, memory must stay the same.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from dev.bench.client import Epc
from dev.bench.folders import FULL, QUICK, Folders, folders
from dev.bench.servers import BOUNDED, FIRST, REPOSITORY, ours

WARM_ROUNDS = 20
ALLOWED_GROWTH = 4 << 20
"""Maximum growth in bytes, from the median of the first quarter of rounds to that of the last."""
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class State:
    """The server's state after a round: bytes of memory, descriptors."""

    memory: int
    descriptors: int


def rounds(server: Epc, made: Folders) -> Iterator[State]:
    """Make each of the calls once, again and again; yield the server's state after each round."""
    calls = (
        ("agent-q/list_directory", '(:path ".")', made.flat(1)),
        ("agent-q/list_directory", '(:path "." :sort_by "modified")', made.flat(0)),
        ("agent-q/get_file_info", '(:path ".")', made.path),
        ("forge/list_directory", FIRST, made.flat(1)),
        ("forge/list_directory", '(:path "." :recursive t)', made.tree),
        ("workspace/tree", BOUNDED, made.tree),
        ("workspace/tree", '(:path "." :exclude ("**/*.py" "a/{b,c}"))', made.tree),
        ("commands/list_commands", "nil", made.commands),
    )
    while True:
        for tool, arguments, root in calls:
            server.tool(tool, arguments, f'(:root "{root}")')
        server.call("ping")
        server.call("cancel", "(1)")
        failed = server.call("agent-q/list_directory", '((:path "../.."))')
        if b"(:ok nil " not in failed[:40]:
            raise RuntimeError(f"a path outside is answered with {failed[:200]!r}")
        yield State(server.resident(), server.descriptors())


def growth(states: Sequence[State]) -> str:
    """Return the problem with the `states`, one a round; empty if there is none."""
    if len({state.descriptors for state in states}) > 1:
        counts = sorted({state.descriptors for state in states})
        return f"descriptors vary between rounds that are alike: {counts}"
    quarter = max(1, len(states) // 4)
    first, last = (
        median(state.memory for state in part) for part in (states[:quarter], states[-quarter:])
    )
    grown = round(last - first)
    return f"memory grew by {grown} bytes" if grown > ALLOWED_GROWTH else ""


def soak(seconds: float, cache: Path, *, quick: bool) -> tuple[list[State], str]:
    """Return the states of at least one round in `seconds` seconds, and the problem with them."""
    made = folders(cache, QUICK if quick else FULL)
    states: list[State] = []
    with ours(made.path) as server:
        running = rounds(server, made)
        for _ in range(WARM_ROUNDS):
            next(running)
        end = time.monotonic() + seconds
        while not states or time.monotonic() < end:
            states.append(next(running))
    return states, growth(states)


def main() -> int:
    """Soak. The exit status says whether the server grew."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    states, wrong = soak(options.minutes * MINUTE, REPOSITORY / ".cache" / "bench", quick=False)
    memory = [state.memory >> 10 for state in states]
    print(
        f"{len(states)} rounds, {memory[0]} KiB at first, {memory[-1]} KiB at last,"
        f" {max(memory)} KiB at most, {states[-1].descriptors} descriptors: {wrong or 'no growth'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
