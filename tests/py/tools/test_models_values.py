"""Every tool takes values in the forms in which models and their clients send them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstaff.arguments import Parameter, ParameterType
from backstaff.registry import discover
from backstaff.server import Reply
from tests.py.servers import fitting, server_at
from tests.py.trees import Plant

TOOLS = discover().by_id
MODEL = {"text_only": True}
FITTING = {
    ParameterType.NUMBER: 3,
    ParameterType.INTEGER: 3,
    ParameterType.BOOLEAN: True,
    ParameterType.ARRAY: ["*.py"],
}


def optional(tool_id: str) -> Iterator[Parameter]:
    given = fitting(TOOLS[tool_id])
    return (one for one in TOOLS[tool_id].parameters if one.name not in given)


@pytest.fixture
def root(tree: Plant) -> Path:
    return tree({"f": "word\n", "src/a.py": "def f():\n    pass\n", ".claude/commands/go.md": "x"})


def result(reply: Reply) -> tuple[object, object]:
    return reply.text, reply.error and reply.error["code"]


@pytest.mark.parametrize("tool_id", TOOLS)
def test_strings_of_values_mean_the_values(root: Path, tool_id: str) -> None:
    server, needed = server_at(root), fitting(TOOLS[tool_id])
    for one in optional(tool_id):
        if one.type is ParameterType.STRING or one.items or one.name == "timeout_ms":
            continue
        value = FITTING[one.type]
        low, high = one.bounds()
        if isinstance(value, int) and not isinstance(value, bool):
            value = min(max(value, low or 0), high or value)
        sent = json.dumps(value)
        plain = server.call(tool_id, {**needed, one.name: value}, MODEL)
        assert result(server.call(tool_id, {**needed, one.name: sent}, MODEL)) == result(plain)
        refused = server.call(tool_id, {**needed, one.name: sent})
        assert not refused.ok, "a program's call is refused"
        assert f"'{one.name}' must be" in refused.text


@pytest.mark.parametrize("tool_id", TOOLS)
def test_empty_values_of_all_optional_arguments_are_absent_ones(root: Path, tool_id: str) -> None:
    server, needed = server_at(root), fitting(TOOLS[tool_id])
    empty: dict[str, object] = {}
    for one in optional(tool_id):
        number = one.type in {ParameterType.NUMBER, ParameterType.INTEGER}
        empty[one.name] = 0 if number and (one.bounds()[0] or 0) > 0 else ""
    plain = server.call(tool_id, needed, MODEL)
    assert result(server.call(tool_id, {**needed, **empty}, MODEL)) == result(plain)


@pytest.mark.parametrize(
    ("tool_id", "arguments"),
    [
        ("workspace/read_file", {"file_path": "src/a.py"}),
        ("workspace/regexp_search", {"pattern": "(", "path_": "src"}),
        ("workspace/tree", {"path": "missing", "depth": 3}),
        ("agent-q/list_directory", {"path": ".", "show_hidden": "perhaps", "sort": 3}),
    ],
)
def test_failure_names_the_unknown_arguments_and_those_that_there_are(
    root: Path, tool_id: str, arguments: dict[str, object]
) -> None:
    server = server_at(root)
    unknown = next(name for name in arguments if name not in known(tool_id))
    reply = server.call(tool_id, arguments, MODEL)
    assert reply.error is not None
    last = reply.text.splitlines()[-1]
    assert last.startswith(f"[Unknown argument ignored: {unknown}; there are: ")
    assert TOOLS[tool_id].parameters[0].name in last
    assert "Unknown" not in server.call(tool_id, arguments).text, "a program reads warnings"


def known(tool_id: str) -> set[str]:
    return {one.name for one in TOOLS[tool_id].parameters}


def test_unknown_name_in_a_part_is_told_with_the_right_ones(root: Path) -> None:
    reply = server_at(root).call("workspace/read_file", {"ranges": [{"end_line": 3}]}, MODEL)
    assert (
        "there is no end_line; it is an object with some of path, start_line, max_lines"
        in reply.text
    )


def test_parts_may_be_one_object_or_json(root: Path) -> None:
    server, part = server_at(root), {"path": "src/a.py", "start_line": "2"}
    for ranges in (part, [part], json.dumps([part]), [json.dumps(part)], json.dumps(part)):
        reply = server.call("workspace/read_file", {"ranges": ranges}, MODEL)
        assert "2\t    pass" in reply.text, (ranges, reply.text)
