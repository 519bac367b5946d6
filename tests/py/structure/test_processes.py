"""Outlines are made by processes that can be killed, and the server only reads their answers."""

import os
import signal
from collections import deque

import pytest

from backstaff.budget import Budget
from backstaff.contents import outlines, regexp
from backstaff.errors import Cancelled, DeadlineExceeded
from backstaff.structure.outline import Outline, outline
from tests.py.servers import server_at
from tests.py.structure.answers import ANSWERS, FIXTURES
from tests.py.trees import Plant

GOOD = "def good():\n    pass\n"
BAD = "bypass = 1\n" + "x = (\n" * 40_000
"""Its outline takes a tenth of a second."""


@pytest.fixture(autouse=True)
def no_outlines_are_kept() -> None:
    outlines.KEPT.clear()


@pytest.fixture
def little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one text take too long: the process for it does not get enough time to start."""
    ordinary = outlines.next_outline

    def hurried(jobs: deque[regexp.Asked], matchers: regexp.Matchers, limit: float) -> Outline:
        is_bad = BAD.encode() in jobs[0].job.texts.values()
        return ordinary(jobs, matchers, 0.001 if is_bad else limit)

    monkeypatch.setattr(outlines, "next_outline", hurried)


def test_outline_of_a_process_is_that_of_the_pass() -> None:
    paths = [path for path in sorted(FIXTURES.iterdir()) if path != ANSWERS]
    texts = {path.name: path.read_text("utf-8") for path in paths}
    made = dict(outlines.outlines(texts, Budget()))
    assert made == {name: outline(text, name, Budget()) for name, text in texts.items()}
    assert dict(outlines.outlines({"a.txt": "def f(): pass\n"}, Budget())) == {"a.txt": None}


def test_outline_in_many_answers_is_whole() -> None:
    text = "".join(f"def f{n}():\n    pass\n" for n in range(4_000))
    made = outlines.outline(text, "a.py", Budget())
    assert made is not None
    assert [one.name for one in made.definitions] == [f"f{n}" for n in range(4_000)]


@pytest.mark.usefixtures("little_time")
def test_text_that_takes_too_long_is_named_and_the_others_are_answered() -> None:
    made = dict(outlines.outlines({"a.py": GOOD, "bad.py": BAD, "z.py": GOOD + "\n"}, Budget()))
    problems = {path: one and one.problem for path, one in made.items()}
    assert problems == {"a.py": "", "bad.py": "took too long", "z.py": ""}
    assert all(one.definitions for one in made.values() if one and not one.problem)


@pytest.mark.usefixtures("little_time")
@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("outline", {"path": "bad.py"}, "[no definitions: bad.py took too long]"),
        ("outline", {"path": "."}, "good.py 3: good"),
        ("outline", {"path": "."}, "no definitions: bad.py took too long"),
        ("regexp_search", {"pattern": "pass"}, "no definitions: bad.py took too long"),
        ("regexp_search", {"pattern": "pass"}, "in good 1-2:"),
        ("read_file", {"path": "bad.py", "symbol": "x"}, "because it took too long"),
        ("read_file", {"path": "bad.py", "start_line": 3, "max_lines": 1}, "3\tx = ("),
    ],
)
def test_answer_says_that_definitions_are_missing_and_has_the_rest(
    tree: Plant, tool: str, arguments: dict[str, object], text: str
) -> None:
    server = server_at(tree({"bad.py": BAD, "good.py": GOOD}))
    assert text in server.call(f"workspace/{tool}", arguments).text


def test_process_that_ended_is_replaced() -> None:
    assert outlines.outline(GOOD, "a.py", Budget()) is not None
    for worker in regexp._IDLE:  # noqa: SLF001  # nobody but a test looks at them
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
    made = outlines.outline(GOOD, "b.py", Budget())
    assert made is not None
    assert made.definitions


def test_time_of_the_call_and_its_end_count() -> None:
    with pytest.raises(DeadlineExceeded):
        outlines.outline(GOOD, "a.py", Budget(deadline=0))
    budget = Budget()
    budget.cancelled.set()
    with pytest.raises(Cancelled):
        outlines.outline(GOOD, "a.py", budget)


def test_server_itself_walks_over_no_text(tree: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        pytest.fail("the server walks over a text")

    monkeypatch.setattr("backstaff.structure.outline.Walk", never)
    monkeypatch.setattr("backstaff.structure.outline.sections", never)
    server = server_at(tree({"good.py": GOOD, "a.md": "# Title\n\ngood\n"}))
    for tool, arguments in (
        ("outline", {"path": "."}),
        ("regexp_search", {"pattern": "good", "definitions": True}),
        ("read_file", {"symbol": "good"}),
        ("read_file", {"path": "good.py", "around": 2}),
        ("read_file", {"path": "a.md", "symbol": "Title"}),
    ):
        assert "good" in server.call(f"workspace/{tool}", arguments).text
