"""While every tool runs, a process swaps inner entries for links to a secret, as fast as it can."""

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from backstaff.arguments import ParameterType
from backstaff.tool import Context, Result
from tests.py.attack.attackers import (
    BUG,
    SECRET,
    SWAPS,
    TOOLS,
    leak,
    random_arguments,
    swapping,
    takes_path,
    with_a_secret,
)
from tests.py.attack.figures import racing, seconds, tally
from tests.py.attack.transports import server_at
from tests.py.processes import DEADLINE
from tests.py.servers import Nothing, registry_of

pytestmark = pytest.mark.alone

FEWEST = 10
"""Minimum number of calls in a race; a loaded machine may make none in the given time."""


def attack(tool_id: str, folder: Path, swap: str, duration: float) -> Counter[str]:
    """Call the tool for this time while `swap` goes on; return the number of answers by kind."""
    root = with_a_secret(folder / swap)  # one of its own, because a swap may be left half done
    server = server_at(root)
    random = Random(f"{tool_id} {swap}")  # noqa: S311  # repeatable
    outcomes: Counter[str] = Counter()
    with racing(), swapping(SWAPS[swap], root) as swaps:
        until = time.monotonic() + duration
        while (now := time.monotonic()) < until or (
            outcomes.total() < FEWEST and now < until + DEADLINE
        ):
            if swaps() <= (outcomes.total() + 1) / 10 and now < until + DEADLINE:
                os.sched_yield()  # on a loaded machine they have to catch up
                continue
            arguments = random_arguments(TOOLS[tool_id], random)
            reply = server.call(tool_id, arguments, {"json": True})
            assert BUG not in reply.text, arguments
            outcomes[str((reply.error or {"code": "ok"})["code"])] += 1
            if leaked := leak(reply):
                tally(escapes=1)
                pytest.fail(f"{leaked!r} is in the answer to {arguments}:\n{reply.text}")
        done = swaps()
    assert done > outcomes.total() / 10, f"{done} swaps under {outcomes.total()} calls are no race"
    tally(attacks_tried=outcomes.total(), swaps=done)
    return outcomes


@pytest.mark.check(12)
@pytest.mark.parametrize("tool_id", TOOLS)
def test_no_tool_shows_a_byte_of_the_outside_while_things_are_swapped(
    folder: Path, tool_id: str
) -> None:
    outcomes: Counter[str] = Counter()
    # One fifth of the time for all tools and all swaps.
    duration = seconds(0.05, 0.2 / len(TOOLS) / len(SWAPS))
    for swap in SWAPS:
        outcomes += attack(tool_id, folder, swap, duration)
    assert outcomes["ok"], outcomes
    if takes_path(TOOLS[tool_id]):
        assert len(outcomes) > 1, "the tool met only one of the states"


@pytest.mark.check(13)
def test_entry_is_a_link_or_a_file_and_never_the_target_of_the_link(folder: Path) -> None:
    root = with_a_secret(folder)
    server = server_at(root)
    kinds: Counter[object] = Counter()
    until = time.monotonic() + seconds(1, 0.01)
    with racing(), swapping(SWAPS["a file and a link"], root):
        while time.monotonic() < until or len(kinds) < 2:
            reply = server.call("agent-q/list_directory", {"path": "d"})
            assert reply.data, reply.text
            entries: Any = reply.data["entries"]
            kinds.update(row["kind"] for row in entries.objects() if row["name"] == "big")
            assert not leak(reply), reply.text.replace(SECRET, "<secret>")
            tally(attacks_tried=1)
    assert set(kinds) <= {"file", "symlink", "unknown"}, kinds


def test_a_tool_that_checks_first_and_looks_later_is_caught(folder: Path) -> None:
    # Otherwise there was no race, and the checks above would mean nothing.
    root = with_a_secret(folder)

    def naive(_: Nothing, __: Context) -> Result:
        path = root / "d"
        if not os.path.realpath(path).startswith(f"{root}/"):
            return Result(text="outside", data={})
        return Result(text=" ".join(os.listdir(path)), data={})  # noqa: PTH208

    server = server_at(root, registry_of(naive=naive))
    until = time.monotonic() + DEADLINE
    with swapping(SWAPS["a directory and a link"], root):
        while not leak(server.call("test/naive")):
            assert time.monotonic() < until, "the race is none"


def test_every_tool_with_a_path_is_given_one_that_is_swapped() -> None:
    strings: Mapping[str, list[str]] = {
        tool_id: [p.name for p in tool.parameters if p.type is ParameterType.STRING]
        for tool_id, tool in TOOLS.items()
    }
    without = {
        tool_id: names for tool_id, names in strings.items() if not takes_path(TOOLS[tool_id])
    }
    # A tool whose path has another parameter name must be added to PATH_NAMES.
    assert all(
        set(names) <= {"command_name", "query", "pattern", "name"} for names in without.values()
    ), without
