"""The budget of a call: by itself, and in every tool."""

import os
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Self

import pytest

from backstaff import budget as budget_module
from backstaff import server as server_module
from backstaff.budget import DEFAULT_DEADLINE_MS, Budget
from backstaff.errors import Cancelled, DeadlineExceeded, ErrorCode, ToolError
from backstaff.fs.handles import Descriptors
from backstaff.fs.root import Root
from backstaff.registry import discover
from backstaff.tool import Context, Result
from tests.py.project.repositories import committed
from tests.py.servers import fitting, server_at
from tests.py.trees import Plant

REGISTRY = discover()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A clock of budgets that stands still."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(budget_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


# ---------------------------------------------------------------------------- a budget


def test_budget_lasts_as_long_as_it_was_given(clock: SimpleNamespace) -> None:
    budget = Budget(clock.now + 0.25, threading.Event())
    clock.now += 0.25
    assert not budget.expired()
    clock.now += 0.001
    assert budget.expired()


def test_budget_without_a_deadline_never_expires(clock: SimpleNamespace) -> None:
    clock.now = 1e300
    assert not Budget().expired()


def test_budget_for_required_work_lasts(clock: SimpleNamespace) -> None:
    budget = Budget(clock.now + 0.25, threading.Event())
    clock.now += 1
    assert not budget.at_least(0.5).expired()
    assert Budget(clock.now + 9).at_least(0.5).deadline == clock.now + 9
    clock.now += 0.6
    assert budget.at_least(0).deadline == clock.now


def test_items_end_with_the_time(clock: SimpleNamespace) -> None:
    budget = Budget(clock.now + 1, threading.Event())
    assert list(budget.checked("abc")) == ["a", "b", "c"]
    clock.now += 2
    items = iter("abc")
    with pytest.raises(DeadlineExceeded):
        next(budget.checked(items))
    assert next(items) == "b"


def test_cancelled_budget_raises_whether_or_not_time_is_left(clock: SimpleNamespace) -> None:
    cancelled = threading.Event()
    budget = Budget(clock.now + 0.25, cancelled)
    cancelled.set()
    with pytest.raises(Cancelled) as caught:
        budget.expired()
    assert caught.value.code == ErrorCode.CANCELLED
    clock.now += 1
    with pytest.raises(Cancelled):
        budget.expired()


def test_budgets_are_not_cancelled_together() -> None:
    one, other = Budget(), Budget()
    one.cancelled.set()
    assert not other.expired()


# ---------------------------------------------------------------------------- every tool


@pytest.fixture
def full(tree: Plant) -> Path:
    """A root in which every tool finds something."""
    commands = {f".claude/commands/{name}.md": "text" for name in ("go", "a", "b", "c", "d")}
    return tree({f"d{n}/f": "" for n in range(5)} | commands)


@pytest.fixture
def entries_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were read from directories so far."""
    read: list[str] = []
    real = os.scandir

    class Reading:
        def __init__(self, directory: int) -> None:
            self.entries = real(directory)

        def __enter__(self) -> Self:
            return self

        def __iter__(self) -> Iterator[os.DirEntry[str]]:
            for entry in self.entries:
                read.append(entry.name)
                yield entry

        def __exit__(self, *_: object) -> None:
            self.close()

        def close(self) -> None:
            self.entries.close()

    monkeypatch.setattr(Descriptors, "scan", Reading)
    return read


def ran(tool_id: str, root: Path, budget: Budget) -> Result | ToolError:
    """Return the tool's answer."""
    tool = REGISTRY.by_id[tool_id]
    settings = tool.settings()
    given = fitting(tool)
    values = {
        p.name: given.get(p.name, getattr(settings, p.setting) if p.setting else p.default)
        for p in tool.parameters
    }
    absent = {p.name: p.absent for p in tool.parameters if values[p.name] is None}
    with Root(str(root)) as opened:
        try:
            context = Context(root=opened, budget=budget, settings=settings)
            return tool.run(tool.arguments(**values | absent), context)
        except ToolError as error:
            return error


@pytest.mark.parametrize("tool_id", REGISTRY.by_id)
def test_deadline_that_is_past_gives_an_answer_before_anything_is_read(
    full: Path, tool_id: str, entries_read: list[str]
) -> None:
    answer = ran(tool_id, full, Budget(deadline=0))
    assert entries_read == []
    assert answer.message if isinstance(answer, ToolError) else answer.text


@pytest.mark.parametrize("tool_id", REGISTRY.by_id)
def test_cancelled_call_gives_an_answer_before_anything_is_read(
    full: Path, tool_id: str, entries_read: list[str]
) -> None:
    cancelled = threading.Event()
    cancelled.set()
    reply = server_at(full).call(tool_id, fitting(REGISTRY.by_id[tool_id]), cancelled=cancelled)
    assert entries_read == []
    assert reply.error
    assert reply.error["code"] == ErrorCode.CANCELLED


def test_count_of_read_names_is_true(full: Path, entries_read: list[str]) -> None:
    assert isinstance(ran("agent-q/list_directory", full, Budget()), Result)
    assert len(entries_read) == 6


def test_server_gives_each_call_the_default_deadline_or_the_callers(
    full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def noting(deadline: float, cancelled: threading.Event) -> Budget:
        given.append(deadline)
        return Budget(deadline, cancelled)

    monkeypatch.setattr(server_module, "Budget", noting)
    monkeypatch.setattr(server_module, "time", SimpleNamespace(monotonic=lambda: 100.0))
    server = server_at(full)
    server.call("workspace/tree", {"path": "."})
    server.call("workspace/tree", {"path": "."}, {"deadline_ms": 7})
    assert given == [100 + DEFAULT_DEADLINE_MS / 1000, 100.007]


@pytest.mark.parametrize("tool_id", sorted(set(REGISTRY.by_id) - {"agent-q/get_file_info"}))
def test_time_that_is_up_at_any_moment_gives_an_answer_that_says_so(
    full: Path, tool_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = server_at(committed(full) if "/git_" in tool_id else full)
    given = fitting(REGISTRY.by_id[tool_id])
    untimed = server.call(tool_id, given)
    # The last has enough for a slow matcher, for which the clock is read more often.
    for moment in (*range(1, 60), 1_000_000):
        ticks = count()
        clock = SimpleNamespace(monotonic=lambda t=ticks: next(t) / 1000)
        monkeypatch.setattr(budget_module, "time", clock)
        monkeypatch.setattr(server_module, "time", clock)
        reply = server.call(tool_id, given, {"deadline_ms": moment})
        complete = (reply.ok, reply.data) == (True, untimed.data)
        # Git may have too little time to count lines, though enough for the commits.
        says_so = "the time was up" in reply.text or "it takes too long" in reply.text
        assert complete or says_so, (moment, reply.text)
    assert complete, reply.text
