"""A name has no effect in the text of any tool: a row is one entry, with any name."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backstaff.file_kinds import TEST_DIRECTORIES, extension
from backstaff.render.names import lossy, visible
from backstaff.result import Rows
from backstaff.server import Reply
from tests.py.attack.attackers import BUG, TOOLS, takes_path
from tests.py.attack.figures import MINUTES, tally
from tests.py.attack.transports import server_at
from tests.py.examples import examples
from tests.py.servers import fitting

pytestmark = pytest.mark.slow

# Each of these would affect a terminal, a reader of rows or an Emacs buffer if it were raw.
NASTY = (
    *(
        "new\nline",
        "cr\rlf\r\n",
        "\x1b[2J",
        "\x1b]52;c;AAAA\x07",
        "\x9b31m",
        "\t",
        "\ufeff",
        "\u3164",
    ),
    *("\u202egpj.exe", "\u2066x\u2069", "zero\u200bwidth", "sep\u2028sep\u2029", "\U000e0041tag"),
    *("[DIR]  fake", "[FILE] fake  (4.2 KB)", "x   (4.2 KB)", " lead", "trail ", "-rf", "'q'"),
    *('"q"', "a\\b", "Total: 0 files", "(3 more left out)", "name@", "sub…", "%s%n"),
    *("Error: no", "- go", "# go", "```", "| a | b |", "<script>", "&amp;", "é", "e\u0301", "日本"),
    *(
        "👩‍👧",
        "\udcff\udcfe",
        "clich\udce9",
        "\u0301mark",
        "\u00a0",
        "x" * 255,
        '#("x" 0 1 (face))',
    ),
)
ANYTHING = (
    st.binary(min_size=1, max_size=250)
    .map(lambda raw: os.fsdecode(raw.replace(b"/", b"|").replace(b"\0", b"0")))
    .filter(lambda name: not name.startswith(".") and name != "README")
)
NAMES = st.lists(st.sampled_from(NASTY) | ANYTHING, min_size=1, max_size=6, unique=True)
DEFAULT_EXCLUDES = {"node_modules", "dist", "build", "target"}


def plant(folder: Path, names: list[str]) -> Path:
    """A project with a file, a directory that holds one, and a command for each of `names`."""
    root = folder / "R"
    commands = root / ".claude" / "commands"
    commands.mkdir(parents=True)
    for name in names:
        (root / "files" / name).parent.mkdir(exist_ok=True)
        (root / "files" / name).write_text("go\n")
        (root / "folders" / name).mkdir(parents=True)
        (root / "folders" / name / "inner").write_text("go\n")
        if len(os.fsencode(name)) <= 250:
            (commands / f"{name}.md").write_text("---\ndescription: go there\n---\ngo\n")
    return root


def arguments(tool_id: str) -> Iterator[dict[str, object]]:
    """Yield arguments with which the tool names the planted entries."""
    tool = TOOLS[tool_id]
    known = {p.name for p in tool.parameters}
    wide = {"entry_kind": "all", "show_hidden": True, "page_size": 100, "max_results": 100}
    wide |= {"kind": "glob", "max_tokens": 20_000, "output": "files"}
    wide = {name: value for name, value in wide.items() if name in known}
    if "kind" in known:
        wide["query"] = "**"
    path = takes_path(tool)
    for place in ("files", "folders") if path else ("",):
        yield fitting(tool) | wide | ({path: place} if path else {})


def strings(value: object) -> Iterator[str]:
    """Every string in `value`, a reply's data."""
    match value:
        case str():
            yield str(value)
        case Rows():
            for row in value.objects():
                yield from strings(row)
        case Mapping():
            for item in value.values():
                yield from strings(item)
        case list() | tuple():
            for item in value:
                yield from strings(item)


def replies(tool_id: str, root: Path) -> list[Reply]:
    """Return the tool's text about all planted entries."""
    server = server_at(root)
    return [server.call(tool_id, given, {"json": True}) for given in arguments(tool_id)]


def lines(reply: Reply) -> int:
    """Count the lines of the text, by every character that a reader may take for a line's end."""
    return len(reply.text.splitlines())


@pytest.mark.check(24, 25, 26)
@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("tool_id", TOOLS)
@examples(1 / 10, least=MINUTES * 15)
@given(names=NAMES)
@example(names=list(NASTY[:12]))
@example(names=list(NASTY[12:24]))
@example(names=list(NASTY[24:]))
def test_text_has_one_row_for_an_entry_with_any_name(tool_id: str, names: list[str]) -> None:
    # A folder with a name such as tests has one more row in an overview, as intended.
    apart = DEFAULT_EXCLUDES | TEST_DIRECTORIES
    names = [name for name in names if not {name, name.lower()} & apart]
    # They have the same types, because an overview counts types.
    kinds = (name[name.rindex(".") :] if extension(name) else "" for name in names)
    plain = [f"{number:03}{kind}" for number, kind in enumerate(kinds)]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        odd = replies(tool_id, plant(Path(one).resolve(), names))
        even = replies(tool_id, plant(Path(other).resolve(), plain))
    tally(attacks_tried=len(names))
    long = {name for name in names if len(os.fsencode(name)) > 250}
    for found, wanted in zip(odd, even, strict=True):
        assert BUG not in found.text
        if found.text == found.json:  # the contract demands JSON with raw names
            assert len(json.loads(found.text)) == len(json.loads(wanted.text))
            continue
        assert visible(found.text) == found.text, "the text holds what nobody can see"
        if not long:
            assert lines(found) == lines(wanted), f"{found.text}\n--- but\n{wanted.text}"


# An untracked file is in no diff and no history, and codebase_search returns the best files only.
WITH_NAMES = [
    tool
    for tool in TOOLS
    if takes_path(TOOLS[tool]) and "/git_" not in tool and tool != "workspace/codebase_search"
]


@pytest.mark.parametrize("tool_id", WITH_NAMES)
@examples(1 / 6, least=MINUTES * 15)
@given(names=NAMES)
@example(names=list(NASTY))
def test_data_and_json_carry_every_name_exactly(tool_id: str, names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = plant(Path(folder).resolve(), names)
        if tool_id == "agent-q/get_file_info" or tool_id.endswith(("/read_file", "/outline")):
            server = server_at(root)
            found = [server.call(tool_id, {"path": f"files/{name}"}) for name in names]
        else:
            found = replies(tool_id, root)[:1]
    said = {path.rpartition("/")[2] for reply in found for path in strings(reply.data)}
    by_rule = tool_id in ("workspace/tree", "workspace/regexp_search")
    hidden = DEFAULT_EXCLUDES if by_rule else set()
    missing = {name for name in names if name not in said and lossy(name) not in said} - hidden
    assert not missing, missing
