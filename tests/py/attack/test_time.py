"""No call goes on after its deadline, with any project and any arguments of a model.

The tests have a clock of their own for budgets. Each observed step of work advances it by a
millisecond, so nothing here depends on the speed of a machine.
"""

import os
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from backstaff import budget as budget_module
from backstaff import server as server_module
from backstaff.arguments import MAX_ITEMS, ParameterType
from backstaff.budget import Budget
from backstaff.errors import Cancelled
from backstaff.frontmatter import parse
from backstaff.fs.handles import HANDLES, Descriptors
from backstaff.globs.globs import STRIDE, Globs, compile_globs
from backstaff.server import Reply
from backstaff.tools.commands import _commands
from backstaff.tools.workspace import _best_map
from backstaff.tools.workspace._best_map import Survey
from tests.py.attack.attackers import TOOLS
from tests.py.servers import fitting, server_at
from tests.py.trees import Plant

pytestmark = pytest.mark.slow

LISTS = [
    (tool_id, parameter.name)
    for tool_id, tool in TOOLS.items()
    for parameter in tool.parameters
    if parameter.type is ParameterType.ARRAY
]


class Clock(SimpleNamespace):
    """A clock that advances only with observed work."""

    now: float

    def costing(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return `work` as a function that takes a millisecond of this clock."""

        def worked(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            self.now += 0.001
            return work(*arguments, **options)

        return worked


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock(now=100.0)
    time_ = SimpleNamespace(monotonic=lambda: clock.now)
    monkeypatch.setattr(budget_module, "time", time_)
    monkeypatch.setattr(server_module, "time", time_)
    return clock


def ended_in_time(clock: Clock, call: Callable[[], Reply], *, more_ms: int) -> Reply:
    """Return the reply to `call`, which has 100 ms and may notice the end up to that much later."""
    start = clock.now
    reply = call()
    took = (clock.now - start) * 1000
    assert 50 < took <= 100 + more_ms, f"{took:.0f} ms"
    return reply


def number_of(reply: Reply, key: str) -> int:
    """Return the number that the data of `reply` have under `key`."""
    assert reply.data
    number = reply.data[key]
    assert isinstance(number, int)
    return number


# ---------------------------------------------------------------------------- arguments of a model


@pytest.mark.parametrize(("tool_id", "name"), LISTS)
def test_list_of_a_model_has_a_thousand_items_at_most(tree: Plant, tool_id: str, name: str) -> None:
    root = tree({"a": ""})
    given = fitting(TOOLS[tool_id]) | {name: [f"*q{number}" for number in range(MAX_ITEMS + 1)]}
    reply = server_at(root).call(tool_id, given)
    assert reply.text == f"Error: Argument '{name}' has 1001 items, more than the 1000 allowed"


def test_globs_are_compared_while_there_is_time(
    tree: Plant, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f"a{number:04}": "" for number in range(3000)})
    monkeypatch.setattr(Globs, "match", clock.costing(Globs.match))
    given = {"path": ".", "exclude": ["a*b"], "entry_kind": "all"}
    reply = ended_in_time(
        clock,
        lambda: server_at(root).call("workspace/tree", given, {"deadline_ms": 100}),
        more_ms=STRIDE,
    )
    assert reply.truncated
    assert "as the time was up" in reply.text


def test_globs_that_are_compared_hear_that_the_call_is_taken_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancelled, matched = threading.Event(), list[str]()

    def match(_: Globs, path: str) -> bool:
        matched.append(path)
        cancelled.set()
        return False

    monkeypatch.setattr(Globs, "match", match)
    with pytest.raises(Cancelled):
        compile_globs(("a*b",)).among("", ["a"] * 1000, Budget(cancelled=cancelled))
    assert len(matched) == STRIDE


# ---------------------------------------------------------------------------- contents of a project


def test_files_are_counted_in_a_part_of_the_time_and_the_map_is_drawn_in_the_rest(
    tree: Plant, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f"d{number:03}/f": "" for number in range(300)})
    enter = clock.costing(HANDLES.enter_to_list)
    monkeypatch.setattr(Descriptors, "enter_to_list", lambda _, *given: enter(*given))
    items = _best_map._items  # noqa: SLF001

    def costly(there: Survey) -> Iterator[tuple[float, bool, str, str]]:
        for item in items(there):
            clock.now += 0.001 * (not item[3])  # each directory is an item without a file
            yield item

    monkeypatch.setattr(_best_map, "_items", costly)
    reply = ended_in_time(
        clock,
        lambda: server_at(root).call("workspace/project_overview", {}, {"deadline_ms": 100}),
        more_ms=40,
    )
    assert reply.ok, reply.text
    assert reply.truncated
    assert "[the time was up: not everything is counted]" in reply.text
    assert 45 < number_of(reply, "files") < 150  # one directory a millisecond


def test_paths_are_collected_in_a_part_of_the_time_and_compared_in_the_rest(
    tree: Plant, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f"d{number:03}/f": "" for number in range(300)})
    enter = clock.costing(HANDLES.enter_to_list)
    monkeypatch.setattr(Descriptors, "enter_to_list", lambda _, *given: enter(*given))
    reply = ended_in_time(
        clock,
        lambda: server_at(root).call(
            "workspace/search_files", {"query": "f"}, {"deadline_ms": 100}
        ),
        more_ms=0,
    )
    assert reply.ok
    assert 50 < number_of(reply, "searched") < 150


def test_statuses_are_asked_while_there_is_time(
    tree: Plant, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f"{number:04}": "" for number in range(2000)})
    monkeypatch.setattr(os, "stat", clock.costing(os.stat))
    reply = ended_in_time(
        clock,
        lambda: server_at(root).call(
            "agent-q/list_directory", {"path": ".", "sort_by": "size"}, {"deadline_ms": 100}
        ),
        more_ms=Budget.STRIDE,
    )
    assert reply.ok
    assert reply.truncated
    assert reply.text.count("(size unknown)") > 1000
    assert "the time was up" in reply.text


def test_each_command_that_has_to_be_read_is_a_look_at_the_clock(
    tree: Plant, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f".claude/commands/{number:04}.md": f"a{number}" for number in range(300)})
    monkeypatch.setattr(_commands, "parse", clock.costing(parse))
    reply = ended_in_time(
        clock,
        lambda: server_at(root).call("commands/list_commands", {}, {"deadline_ms": 100}),
        more_ms=1,
    )
    assert reply.ok
    assert "[the time was up before all commands were read: some are missing]" in reply.text


# ---------------------------------------------------------------------------- other threads


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """Maximum number of items that are sorted in one step."""
    monkeypatch.setattr(Budget, "AT_ONCE", 5000)
    return Budget.AT_ONCE


@pytest.mark.parametrize("count", [10, 10_001])
def test_many_items_are_ordered_as_few_are(few: int, count: int) -> None:
    assert few < 10_001
    items = [(number * 7919) % count for number in range(count)]
    assert Budget().ordered(items, lambda item: -(item // 3)) == sorted(
        items, key=lambda item: -(item // 3)
    )


def test_no_more_items_are_sorted_at_once_than_others_can_wait_for(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sorts: list[int] = []

    def noting(items: Any, **options: Any) -> list[Any]:  # noqa: ANN401
        found = list(items)
        sorts.append(len(found))
        return sorted(found, **options)

    monkeypatch.setattr(budget_module, "sorted", noting, raising=False)
    Budget().ordered([str(number) for number in range(few * 4)], str)
    assert 0 < max(sorts) < few


def test_items_stay_as_they_are_when_the_time_is_up(few: int) -> None:
    items = list(range(few * 2))[::-1]
    assert Budget(deadline=0).ordered(items, int) == items
