"""The registry: it finds every tool, and no improper one."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstaff import tools
from backstaff.registry import Registry, discover, table
from tests.py.servers import saying, tool

PROPER = """
from backstaff.tool import ResultKind, Tool

TOOL = Tool(
    name={name!r}, description={description!r}, parameters=(), arguments=dict,
    run=None, result_kind=ResultKind.TEXT,
)
"""


@pytest.fixture
def toolset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an empty toolset `made-up`, the only one there is."""
    folder = tmp_path / "made_up"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.setattr(tools, "__path__", [str(tmp_path)])
    yield folder
    for name in [name for name in sys.modules if name.startswith("backstaff.tools.made_up")]:
        del sys.modules[name]


def write(folder: Path, file: str, name: str, description: str = "Does nothing.") -> None:
    (folder / f"{file}.py").write_text(PROPER.format(name=name, description=description))


def test_all_tools_are_found() -> None:
    found = discover()
    folder = Path(tools.__file__).parent
    files = [path for path in folder.glob("*/*.py") if not path.name.startswith("_")]
    ids = {f"{path.parent.name.replace('_', '-')}/{path.stem}" for path in files}
    assert set(found.by_id) == ids >= {"agent-q/list_directory", "agent-q/get_file_info"}
    assert list(found.by_id) == sorted(ids)


def test_file_is_a_tool_and_its_place_is_the_id(toolset: Path) -> None:
    write(toolset, "walk", "walk")
    (toolset / "_shared.py").write_text("not even Python")
    (toolset / "notes.txt").write_text("")
    assert list(discover().by_id) == ["made-up/walk"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must define TOOL"),
        ("TOOL = 3", "must define TOOL"),
        (PROPER.format(name="run", description="x"), "TOOL.name is 'run', but the file says"),
        (PROPER.format(name="walk", description=""), "no description"),
    ],
)
def test_improper_tool_stops_the_start(toolset: Path, text: str, words: str) -> None:
    (toolset / "walk.py").write_text(text)
    with pytest.raises(TypeError, match=words) as caught:
        discover()
    assert "made_up.walk" in str(caught.value)


def registry(*ids: str) -> Registry:
    return Registry({name: tool(saying(name), name.partition("/")[2]) for name in ids})


def test_bare_name_is_the_tool_that_alone_has_it() -> None:
    found = registry("a/one", "b/two")
    assert found.aliases == {"one": "a/one", "two": "b/two"}
    assert found.find("one") == ("a/one", found.by_id["a/one"])
    assert found.find("a/one") == found.find("one")


def test_bare_name_of_several_is_agent_q_s() -> None:
    assert registry("a/one", "agent-q/one", "z/one").aliases == {"one": "agent-q/one"}


def test_bare_name_of_several_others_is_nobody_s() -> None:
    found = registry("a/one", "b/one")
    assert found.aliases == {}
    assert found.find("one") is None


@pytest.mark.parametrize("name", ["", "x", "/", "a/", "a/two", "__class__", "A/one"])
def test_unknown_name_is_not_found(name: str) -> None:
    assert registry("a/one").find(name) is None


def test_settings_table_is_the_contract_s_or_the_id() -> None:
    found = discover()
    names = {table(name, what) for name, what in found.by_id.items()}
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
