"""Definitions of tools, which models always read: few tokens, names that clients accept."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from backstaff.manifest import PRESET
from backstaff.registry import discover
from backstaff.tool import MODEL_TEXT_BYTES
from tests.py.mcp.session import STATELESS, Session, request
from tests.py.processes import DEADLINE
from tests.py.servers import server_at

DOCS = Path(__file__).parents[3] / "docs"
MAX_BYTES = 6500
"""Maximum size of the default tools' definitions, of which a model reads about 1,400 tokens."""
BYTES_A_TOKEN = 4
"""For English in JSON. The tokenizer o200k counts a tenth fewer tokens in these definitions."""
GPTEL = 55
"""Bytes that gptel adds to each definition, on average."""
EVERY_CLIENT_TAKES = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Several models' APIs refuse other names of tools, and then the whole request fails."""


def listed(*ids: str) -> list[dict[str, Any]]:
    """Return the tools with these `ids`, by default all, as `tools/list` gives them."""
    session = Session(server_at("/"), ids or None)
    return list(session.result("tools/list")["tools"])


def sent(*params: dict[str, Any]) -> bytes:
    """Return the answer to `tools/list` for the default tools as it is sent."""
    session = Session(server_at("/"), PRESET)
    session.say(request("tools/list", *params))
    return session.sent.get(timeout=DEADLINE)


def sizes_told(*ids: str) -> dict[str, int]:
    """Return the size in bytes of the definition of each tool, as a model reads it."""
    # Clients pass only these three fields to the model.
    seen = ("name", "description", "inputSchema")
    told = [{key: tool[key] for key in seen} for tool in listed(*ids)]
    return {tool["name"]: len(json.dumps(tool, separators=(",", ":"))) for tool in told}


@pytest.mark.parametrize("params", [{}, STATELESS], ids=["handshake", "stateless"])
def test_default_tools_are_sent_in_at_most_6500_bytes(params: dict[str, Any]) -> None:
    assert len(sent(params)) <= MAX_BYTES, sizes_told(*PRESET)


def test_first_three_tools_are_always_loaded() -> None:
    marked = [tool["name"] for tool in listed() if "_meta" in tool]
    assert sorted(marked) == ["codebase_search", "read_file", "regexp_search"]
    assert [tool["name"] for tool in listed(*PRESET)][:3] == [
        "regexp_search",
        "read_file",
        "codebase_search",
    ]
    marks = [tool["_meta"] for tool in listed() if "_meta" in tool]
    assert marks == 3 * [{"anthropic/alwaysLoad": True}]


@pytest.mark.parametrize(
    ("tool_id", "parameter"),
    [("workspace/read_file", "ranges"), ("workspace/regexp_search", "offset")],
)
def test_descriptions_give_the_limit_of_an_answer_as_it_is(tool_id: str, parameter: str) -> None:
    (tool,) = Session(server_at("/"), (tool_id,)).result("tools/list")["tools"]
    told = tool["inputSchema"]["properties"][parameter]["description"]
    assert f"{MODEL_TEXT_BYTES} bytes" in told


def test_pages_give_the_cost_of_the_tools() -> None:
    """The pages may be wrong by a twentieth."""
    by_id = discover().by_id
    for page, told, ids, around in (
        ("mcp.md", r"They cost about ([\d,]+) tokens", PRESET, 0),
        ("backstaff.org", r"=@backstaff= \| [^|]+ \| about ([\d,]+)", PRESET, GPTEL),
        ("backstaff.org", r"without those of Emacs ([\d,]+)", tuple(by_id), GPTEL),
    ):
        found = re.search(told, (DOCS / page).read_text("utf-8"))
        assert found, told
        tokens = (sum(sizes_told(*ids).values()) + around * len(ids)) / BYTES_A_TOKEN
        assert int(found[1].replace(",", "")) == pytest.approx(tokens, rel=0.05), told


def test_names_fit_every_client_and_are_those_that_agents_in_emacs_know() -> None:
    registry = discover()
    told = {str(one["id"]): one["model"]["name"] for one in registry.definitions()}  # type: ignore[index]
    names = [tool["name"] for tool in listed()]
    assert names == list(told.values())
    assert len(set(names)) == len(names)
    assert all(EVERY_CLIENT_TAKES.fullmatch(name) for name in names)


def test_no_text_of_the_default_tools_names_a_tool_that_is_not_there() -> None:
    registry = discover()
    offered = {tool["name"] for tool in listed(*PRESET)}
    others = {registry.model_name(tool_id) for tool_id in registry.by_id} - offered
    texts = json.dumps(listed(*PRESET))
    assert not [name for name in others if re.search(rf"\b{name}\b", texts)]
    assert not re.search(r"\b(workspace|commands|agent-q|forge)/", texts)


@pytest.mark.parametrize("tool", listed(), ids=lambda tool: tool["name"])
def test_schema_tells_every_argument_its_limits_and_default(tool: dict[str, Any]) -> None:
    registry = discover()
    (tool_id,) = [t for t in registry.by_id if registry.model_name(t) == tool["name"]]
    schema = tool["inputSchema"]
    assert schema["type"] == "object"
    parameters = {one.name: one for one in registry.by_id[tool_id].parameters}
    assert set(schema["properties"]) == {name for name, one in parameters.items() if not one.hidden}
    required = [name for name, one in parameters.items() if one.required]
    assert schema.get("required", []) == required
    for name, told in schema["properties"].items():
        one = parameters[name]
        assert told["description"]
        assert told["type"] == one.type
        assert told.get("enum", []) == [str(choice) for choice in one.choices]
        expected = one.default in (None, False, "", ".")  # 0 is False
        assert expected or "default" in told["description"]
        low, high = one.bounds()
        assert high is None or high >= 10**6 or str(high) in told["description"]
        assert low is None or low <= 1 or str(low) in told["description"]
