"""The registry: it finds every tool, and refuses a wrong one."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from backstaff import tools
from backstaff.errors import ErrorCode, ToolError
from backstaff.registry import Registry, discover
from backstaff.tool import ESSENTIAL, Tool
from tests.py.processes import DEADLINE
from tests.py.servers import saying, tool

MAX_DEFINITION_BYTES = 6600
"""Maximum size of the essential tools' definitions in gptel: 1,650 tokens, at four bytes each."""
PROPER = """
from backstaff.tool import NoSettings, ResultKind, Tool

TOOL = Tool(
    description='Does nothing.', arguments=NoSettings, run=None, result_kind=ResultKind.TEXT,
)
"""


@pytest.fixture
def toolset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an empty toolset `made-up`, the only one."""
    folder = tmp_path / "made_up"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.setattr(tools, "__path__", [str(tmp_path)])
    yield folder
    for name in [name for name in sys.modules if name.startswith("backstaff.tools.made_up")]:
        del sys.modules[name]


def write(folder: Path, name: str) -> None:
    (folder / f"{name}.py").write_text(PROPER)


def test_all_tools_are_found() -> None:
    found = discover()
    folder = Path(tools.__file__).parent
    files = [path for path in folder.glob("*/*.py") if not path.name.startswith("_")]
    ids = {f"{path.parent.name.replace('_', '-')}/{path.stem}" for path in files}
    assert set(found.by_id) == ids >= {"agent-q/list_directory", "agent-q/get_file_info"}
    assert list(found.by_id) == sorted(ids)


def test_file_is_a_tool_and_its_place_is_the_id(toolset: Path) -> None:
    write(toolset, "walk")
    (toolset / "_shared.py").write_text("not even Python")
    (toolset / "notes.txt").write_text("")
    assert list(discover().by_id) == ["made-up/walk"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no attribute 'TOOL'"),
        ("not even Python", "SyntaxError: invalid syntax (walk.py, line 1)"),
        ("import backstaff.nothing", "No module named 'backstaff.nothing'"),
    ],
)
def test_improper_tool_is_reported_wherever_it_is_needed_and_the_others_go_on(
    toolset: Path, text: str, words: str
) -> None:
    (toolset / "walk.py").write_text(text)
    write(toolset, "run")
    found = discover()
    assert list(found.by_id) == ["made-up/run", "made-up/walk"]
    assert found.id_of("walk") == "made-up/walk"
    for need in (lambda: found.by_id["made-up/walk"], found.definitions, found.settings_tables):
        with pytest.raises(ToolError) as caught:
            need()
        assert caught.value.code == ErrorCode.INTERNAL
        assert caught.value.message.startswith("The tool made-up/walk cannot be used: ")
        assert words in caught.value.message
    assert found.by_id["made-up/run"].description == "Does nothing."


def test_every_tool_can_be_used() -> None:
    for tool_id, found in discover().by_id.items():
        assert found.definition(tool_id)["id"] == tool_id
        assert found.description


def test_all_threads_get_the_same_tool(toolset: Path) -> None:
    write(toolset, "walk")
    found = discover()
    together = threading.Barrier(4)

    def ask(_: int) -> Tool[Any]:
        together.wait(DEADLINE)
        return found.by_id["made-up/walk"]

    with ThreadPoolExecutor(4) as pool:
        assert len({id(tool) for tool in pool.map(ask, range(4))}) == 1


STARTED = """
import sys
sys.path.insert(0, {source!r})
from backstaff import command_line
from backstaff.wire import stdio
status = command_line.main(["call", "get_file_info", '{{"path": "."}}', "--format", "json"])
assert status == 0
print("\\n", *sys.modules)
"""


def test_start_imports_only_modules_of_the_first_call(tmp_path: Path) -> None:
    script = STARTED.format(source=str(Path(tools.__file__).parents[2]))
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE,
        env=environment,
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    tool_modules = {name for name in loaded if name.startswith("backstaff.tools.")}
    assert {name for name in tool_modules if not name.rpartition(".")[2].startswith("_")} == {
        "backstaff.tools.agent_q",
        "backstaff.tools.agent_q.get_file_info",
    }
    assert not loaded & {"epc", "pathlib", "pathspec", "shutil", "tomllib", "yaml"}


def registry(*ids: str) -> Registry:
    return Registry({name: tool(saying(name), name.partition("/")[2]) for name in ids})


def test_bare_name_is_the_tool_that_alone_has_it() -> None:
    found = registry("a/one", "b/two")
    assert found.aliases == {"one": "a/one", "two": "b/two"}
    assert found.id_of("one") == "a/one"
    assert found.id_of("a/one") == "a/one"


def test_bare_name_of_several_is_agent_q_s() -> None:
    assert registry("a/one", "agent-q/one", "z/one").aliases == {"one": "agent-q/one"}


def test_name_for_models_is_accepted() -> None:
    found = registry("a/one", "agent-q/one", "a-b/two")
    for tool_id in found.by_id:
        assert found.id_of(found.model_name(tool_id)) == tool_id
    assert found.id_of("a_one") == "a/one"


def test_bare_name_of_several_others_is_nobody_s() -> None:
    found = registry("a/one", "b/one")
    assert found.aliases == {}
    with pytest.raises(ToolError, match=r"^No such tool: one \(there are "):
        found.id_of("one")


@pytest.mark.parametrize("name", ["", "x", "/", "a/", "a/two", "__class__", "A/one"])
def test_unknown_name_is_not_found(name: str) -> None:
    with pytest.raises(ToolError, match=r"^No such tool: "):
        registry("a/one").id_of(name)


def test_settings_table_is_the_contract_s_or_the_id() -> None:
    found = discover()
    names = {tool.table or name for name, tool in found.by_id.items()}
    assert set(found.settings_tables()) == names
    assert "agent-q/list_directory" in names


def test_definition_is_word_for_word_the_contract_s() -> None:
    definitions = {definition["id"]: definition for definition in discover().definitions()}
    listing = definitions["agent-q/list_directory"]
    assert listing["name"] == "list_directory"
    assert listing["toolset"] == "agent-q"
    assert listing["description"] == (
        "List files and subdirectories in a directory. Returns names, types, and sizes."
    )
    assert listing["parameters"] == {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "Directory path (relative to project root)",
            },
            "show_hidden": {
                "type": "boolean",
                "description": "Include hidden files (default false)",
            },
            "sort_by": {
                "type": "string",
                "description": "Sort by: name, size, modified (default: name)",
            },
        },
        "required": ["path"],
    }
    assert listing["required"] == ["path"]
    assert (listing["safety_level"], listing["categories"]) == (
        "safe",
        ["filesystem", "navigation"],
    )
    info = definitions["agent-q/get_file_info"]
    assert info["description"] == (
        "Get detailed information about a file or directory including size, timestamps,"
        " and permissions."
    )
    assert info["required"] == ["path"]
    assert (info["safety_level"], info["categories"]) == ("safe", ["filesystem", "navigation"])


def test_every_tool_is_read_only_by_its_definition() -> None:
    for definition in discover().definitions():
        assert definition["side_effecting"] is False, definition["id"]
        assert definition["safety_level"] == "safe", definition["id"]


def test_every_argument_is_described_even_if_the_contract_omits_it() -> None:
    definitions = {definition["id"]: definition for definition in discover().definitions()}
    for tool_id, definition in definitions.items():
        for argument in definition["arguments"]:  # type: ignore[attr-defined]
            assert argument["description"], f"{tool_id}: {argument['name']}"
    depth = {
        tool_id: next(
            argument
            for argument in definitions[tool_id]["arguments"]  # type: ignore[attr-defined]
            if argument["name"] == "max_depth"
        )
        for tool_id in ("forge/list_directory", "workspace/tree")
    }
    assert depth["forge/list_directory"]["minimum"] == 1
    assert "maximum" not in depth["forge/list_directory"]
    # The contract publishes no limits of these; the server enforces them.
    assert (depth["workspace/tree"]["minimum"], depth["workspace/tree"]["maximum"]) == (0, 12)
    published = definitions["workspace/tree"]["parameters"]["properties"]  # type: ignore[index]
    assert "maximum" not in published["max_depth"]


def test_name_for_models_is_the_bare_one_only_where_that_is_the_tool() -> None:
    found = registry("a/one", "agent-q/one", "b/two", "b-c/two", "b/three")
    assert {name: found.model_name(name) for name in found.by_id} == {
        "a/one": "a_one",
        "agent-q/one": "one",
        "b/two": "b_two",
        "b-c/two": "b_c_two",
        "b/three": "three",
    }


def test_models_read_the_names_of_tools_that_they_know() -> None:
    by_id = {
        "a/one": tool(saying("1"), "b/two, a/one or docs/one"),
        "b/two": tool(saying("2")),
        "agent-q/one": tool(saying("3")),
    }
    told = [definition["model"] for definition in Registry(by_id).definitions()]
    assert told[0] == {
        "name": "a_one",
        "description": "A tool called two, a_one or docs/one.",
        "arguments": [],
    }


def test_models_read_every_argument_whole() -> None:
    for tool_id, definition in {d["id"]: d for d in discover().definitions()}.items():
        texts = definition["model"]["arguments"]  # type: ignore[index]
        for argument, text in zip(definition["arguments"], texts, strict=True):  # type: ignore[call-overload]
            assert argument["description"].rstrip(".)") in text, tool_id
            assert argument.get("default") in (None, False, "", ".") or "default" in text, (
                tool_id,
                text,
            )
            # That a count is no less than 1 and less than a million, no model needs to read.
            if 1 < argument.get("maximum", 0) < 10**6:
                assert str(argument["maximum"]) in text, (tool_id, text)


def as_gptel_sends(definition: dict[str, Any]) -> dict[str, Any]:
    """Return `definition` as an item of `tools` in a request to OpenAI's interface."""
    told, properties = definition["model"], {}
    for one, text in zip(definition["arguments"], told["arguments"], strict=True):
        if not one.get("hidden"):
            more = {"enum": one["enum"]} if "enum" in one else {}
            items = definition["parameters"]["properties"][one["name"]].get("items")
            more |= {"items": items} if items else {}
            properties[one["name"]] = {"type": str(one["type"]), "description": text} | more
    parameters = {
        "type": "object",
        "properties": properties,
        "required": definition["required"],
        "additionalProperties": False,
    }
    function = {"name": told["name"], "description": told["description"], "parameters": parameters}
    return {"type": "function", "function": function}


def test_essential_tools_are_few_and_cost_little_in_each_turn() -> None:
    told: list[Any] = discover().definitions()
    essential = [one for one in told if ESSENTIAL in one["categories"]]
    assert len(essential) == 7
    texts = [as_gptel_sends(one) for one in essential]
    assert len(json.dumps(texts, separators=(",", ":"))) <= MAX_DEFINITION_BYTES
