"""No tool's text exceeds its limit, with any names in the project and any arguments of a model."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from backstaff.arguments import MAX_ITEMS, Parameter, ParameterType
from backstaff.errors import ErrorCode, ToolError
from backstaff.server import MAX_MESSAGE, MAX_WARNING, MAX_WARNINGS, Reply, failure
from tests.py import servers
from tests.py.attack.attackers import BUG, PATH_NAMES, TOOLS, random_arguments
from tests.py.attack.figures import MINUTES, tally
from tests.py.attack.transports import server_at
from tests.py.epc import Client
from tests.py.processes import unprivileged
from tests.py.servers import fitting, registry_of
from tests.py.trees import Plant, plant

pytestmark = pytest.mark.slow

LEAST = 64
"""Minimum limit in bytes that every tool keeps."""
WHOLE = {"max_output_bytes": 8 << 20}
"""The context of a call whose answer is whole. Without it, a tool's own limit counts."""
CALLS = max(60, int(MINUTES * 300))
ODD = (*("日" * 80, "\U0001f525" * 60, "\x01" * 40), *("x" * 250, "#" * 200, "\udcff" * 200, "a b"))
DEEP = f"{'y' * 200}/" * 15
LONG = (
    "q" * 5000,
    "\u202e" * 900,
    "日本" * 500,
    "[" * 300,
    "a*" * 400,
    "/" * 300 + "x",
    "zzz\n" * 90,
)


def hostile(folder: Path) -> Path:
    """A project with long and odd names, unreadable folders, and broken commands."""
    content: dict[str, object] = {f"{name}/{other}": "" for name in ODD for other in ODD}
    content |= {f"deep/{DEEP}z": "", "loop": {"link": "loop"}, "go": ""}
    content |= {f".claude/commands/{name[:60]}.md": f"{name[:9]!r} " * 99 for name in ODD}
    content |= {f".claude/commands/bad{n}.md": "---\na: b: c\n---\n" for n in range(60)}
    root = plant(folder / "R", content)
    for number in range(60):
        (root / "closed" / f"{'q' * 200}{number:04}").mkdir(0o700, parents=True)
    return root


def asked(tool_id: str, random: Random) -> dict[str, object]:
    """Arguments of the tool, some of them long, and sometimes one that it does not have."""
    tool = TOOLS[tool_id]
    paths = (".", "closed", "deep", f"deep/{DEEP}", ODD[0], "loop", "..", *LONG)
    given = random_arguments(tool, random, paths)
    for parameter in tool.parameters:
        if parameter.name in given and random.random() < 0.3:
            given |= dict(_long(parameter, random))
    if random.random() < 0.1:
        given |= {f"{name}{number}": 1 for name in LONG for number in range(30)}
    if random.random() < 0.05:
        given = dict.fromkeys(LONG, 1)
    return given


def _long(parameter: Parameter, random: Random) -> Iterator[tuple[str, object]]:
    if parameter.type is ParameterType.ARRAY:
        some = random.choice([3, 60, MAX_ITEMS, MAX_ITEMS + 1])
        yield parameter.name, [random.choice((*LONG, "a/b", "*.c")) for _ in range(some)]
    elif parameter.type is ParameterType.STRING and parameter.name not in PATH_NAMES:
        yield parameter.name, random.choice((*LONG, *ODD))


def wrong(reply: Reply, whole: Reply, limit: int) -> Iterator[str]:
    """Yield the fault of `reply`, which is `whole` in `limit` bytes; empty if there is none."""
    size = len(reply.text.encode(errors="replace"))
    if size > limit:
        yield f"{size} bytes in {limit}"
    if not reply.text or BUG in reply.text:
        yield "no answer"
    if re.search(r"\b0 more", reply.text):
        yield "0 more"
    # An overview that names all files has cut nothing, even if its first line is shorter.
    # Over MCP, the warnings follow it.
    complete = re.search(r"^\[(the file is|all \d+ files are) named\]$", reply.text, re.MULTILINE)
    if reply.ok and reply.text != whole.text and not (reply.truncated or complete):
        yield "cut without a word"
    if len(reply.warnings) > MAX_WARNINGS + 1 or any(
        len(warning.encode(errors="replace")) > MAX_WARNING for warning in reply.warnings
    ):
        yield "long warnings"
    if reply.error and len(str(reply.error["message"]).encode()) > MAX_MESSAGE:
        yield "a long message"
    if reply.ok and not TOOLS[reply.tool].allow_truncation and not json.loads(reply.text)["path"]:
        yield "cut JSON"


@pytest.mark.parametrize("tool_id", TOOLS)
def test_text_keeps_within_any_budget(folder: Path, tool_id: str) -> None:
    root = hostile(folder)
    for closed in (root / "closed").iterdir():
        closed.chmod(0)

    def faults() -> list[object]:
        server, random = server_at(root), Random(tool_id)  # noqa: S311  # repeatable
        found: list[object] = []
        for _ in range(CALLS):
            given = asked(tool_id, random)
            limit = int(LEAST * 2 ** (random.random() * random.choice([2, 6, 10])))
            context = {random.choice(["max_output_bytes", "available_capacity_bytes"]): limit}
            reply = server.call(tool_id, given, context)
            found += [
                (limit, fault, given, reply.text)
                for fault in wrong(reply, server.call(tool_id, given, WHOLE), limit)
            ]
        return found

    assert not unprivileged(faults)
    tally(attacks_tried=CALLS)


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("tool_id", TOOLS)
def test_text_keeps_within_any_small_budget(folder: Path, tool_id: str) -> None:
    server = server_at(hostile(folder))
    whole = server.call(tool_id, fitting(TOOLS[tool_id]), WHOLE)
    # git is asked anew for each limit.
    for limit in range(LEAST, 1200, 53 if "/git_" in tool_id else 11):
        reply = server.call(tool_id, fitting(TOOLS[tool_id]), {"max_output_bytes": limit})
        assert not list(wrong(reply, whole, limit)), (limit, reply.text)


def test_folders_that_cannot_be_read_are_five_and_a_number(folder: Path) -> None:
    root = hostile(folder)
    for closed in (root / "closed").iterdir():
        closed.chmod(0)
    given = {"path": "closed", "entry_kind": "all"}
    reply = unprivileged(lambda: server_at(root).call("workspace/tree", given))
    assert reply.ok
    assert re.search(r"\[cannot be read: \S+ \S+ and 58 more\]\n$", reply.text), reply.text
    assert len(reply.warnings) == 60


def test_warnings_are_counted_where_there_are_too_many(tree: Plant) -> None:
    unknown = {f"argument{number}": 1 for number in range(MAX_WARNINGS + 9)}
    reply = server_at(tree({"a": ""})).call("agent-q/list_directory", {"path": "."} | unknown)
    assert len(reply.warnings) == MAX_WARNINGS + 1
    assert reply.warnings[-1] == "9 more warnings"


def test_long_echoes_are_cut(tree: Plant) -> None:
    server = server_at(tree({"a": ""}))
    long = "q" * 3000
    for tool_id, given in (
        ("workspace/search_files", {"query": "q" * 900}),
        ("workspace/tree", {"path": long}),
        ("agent-q/get_file_info", {"path": long}),
        ("workspace/tree", {"path": ".", "exclude": [long]}),
        ("agent-q/list_directory", {"path": ".", long: 1}),
        ("agent-q/list_directory", {"path": ".", "sort_by": long}),
        (long, {}),
    ):
        reply = server.call(tool_id, given)
        said = (reply.text, *reply.warnings, reply.tool)
        assert 190 < max(len(run) for one in said for run in re.findall("q+", one)) <= 200, said
        assert len(reply.text) < 2500


def test_method_that_does_not_exist_is_echoed_in_part(client: Client) -> None:
    _, _, said = client.call("m" * 100_000)
    assert said.startswith(f"No such tool: {'m' * 197}… (there are ")
    assert len(said) < 1000


def test_call_that_is_given_up_keeps_within_its_budget(tree: Plant) -> None:
    def fail(_: object, __: object) -> None:
        raise ToolError(ErrorCode.BUSY, "words " * 900)

    server = servers.server_at(tree({}), registry_of(fail=fail))  # type: ignore[arg-type]  # it only fails
    context = {"max_output_bytes": 100}
    given_up = failure("test/fail", ToolError(ErrorCode.BUSY, "words " * 900))
    for reply in (
        server.call("test/fail", None, context),
        server.fitting(given_up, server.prepare("test/fail", None, context)),
    ):
        assert len(reply.text.encode()) <= 100
        assert reply.text.startswith("Error: words words")
        assert reply.error
        assert len(str(reply.error["message"])) <= MAX_MESSAGE


def test_head_of_an_answer_without_room_is_cut_with_a_word(folder: Path) -> None:
    (folder / ("r" * 200)).mkdir()
    server = server_at(folder / ("r" * 200))
    reply = server.call("agent-q/get_file_info", {"path": "."}, {"max_output_bytes": 80})
    assert (len(reply.text.encode()), reply.text[-1], reply.truncated) == (80, "…", True)
    reply = server.call("agent-q/get_file_info", {"path": "."}, {"max_output_bytes": 330})
    assert reply.text.endswith("\n[cut to 330 bytes]\n")
    assert reply.truncated
