"""The tools for commands: limits of time and of bytes."""

from collections.abc import Iterator
from typing import Any

import pytest

from backstaff.budget import Budget
from backstaff.fs.root import Root
from backstaff.tool import Context, Result
from backstaff.tools.commands import _commands, list_commands, search_commands
from tests.py.tools.commands.project import GET, LIST, SEARCH, Project


@pytest.fixture
def context(project: Project) -> Iterator[Context]:
    """A context whose time is up."""
    with Root(str(project.root)) as root:
        yield Context(root=root, budget=Budget(deadline=0), settings=_commands.Settings())


def test_when_the_time_is_up_the_answer_is_partial_and_says_so(
    project: Project, context: Context
) -> None:
    project.write("a.md", "Text.")
    answers: list[Result] = [
        list_commands.run(list_commands.Arguments(1, 50), context),
        search_commands.run(search_commands.Arguments("text", 10), context),
    ]
    for answer in answers:
        assert answer.truncated
        assert "the time was up" in answer.text
    assert project.names() == ["a"]


@pytest.mark.parametrize("tool", [LIST, SEARCH, GET])
def test_the_text_keeps_within_its_bytes_by_whole_lines(project: Project, tool: str) -> None:
    for number in range(30):
        project.write(f"command_{number:02}.md", "A text.\n" * 30)
    given: dict[str, dict[str, Any]] = {
        LIST: {},
        SEARCH: {"query": "command", "max_results": 30},
        GET: {"command_name": "command_00"},
    }
    whole = project.call(tool, **given[tool])
    assert not whole.truncated
    for limit in range(600, len(whole.text.encode()) + 2, 37):
        reply = project.call(tool, {"max_output_bytes": limit}, **given[tool])
        assert len(reply.text.encode()) <= limit
        cut = {line for line in reply.text.splitlines() if f" for a limit of {limit} bytes" in line}
        assert reply.truncated == bool(cut) == (reply.text != whole.text)
        assert set(reply.text.splitlines()) - cut <= set(whole.text.splitlines())
