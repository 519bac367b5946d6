"""Every way in and out, through every tool with a path: one that leaves the root is refused."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from backstaff.server import Reply
from tests.py.attack.attackers import BUG, SECRET, TOOLS, leak, takes_path, with_a_secret
from tests.py.attack.figures import tally
from tests.py.attack.transports import Attacked, server_at
from tests.py.servers import fitting
from tests.py.trees import plant

WITH_PATH = [tool_id for tool_id, tool in TOOLS.items() if takes_path(tool)]
NO_LINK = {"workspace/tree", "workspace/regexp_search", "workspace/codebase_search"}
"""Tools whose contract does not accept a link as the start directory."""
OUTSIDE = {"SANDBOXVIOLATION"}
INVALID = {"INVALIDARGUMENT", "BADARGS"}
STATUS = "workspace/git_status_summary"
ABSENT = ({"NOTFOUND", "EXECUTIONFAILED"}, {"NOTDIRECTORY"})
"""The codes for a missing entry; the second are those of `STATUS`, by its contract."""
every_tool = pytest.mark.parametrize("tool_id", WITH_PATH)


@pytest.fixture
def root(folder: Path) -> Path:
    """A project with links to a secret beside it."""
    root = with_a_secret(folder)
    outside = folder / "outside"
    links = {
        "in": "d",
        "abs": str(root / "d"),
        "round": f"../{root.name}/d",
        "up": "..",
        "up2": "d/../..",
        "to-proc": "/proc/self/root/etc",
        "chained": "l",
        "d/out": "../../outside/sub",
        "slashed": "../outside/",
        "gone": "../outside/nothing",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (folder / f"{root.name}-evil").mkdir()
    (folder / f"{root.name}-evil" / "x").write_text(SECRET)
    (outside / "x").write_text(SECRET)
    return root


@pytest.fixture
def server(root: Path) -> Attacked:
    """A server of all tools at that root."""
    return server_at(root)


def asked(server: Attacked, tool_id: str, path: str) -> Reply:
    """Return the tool's answer about `path`, which must not show the secret."""
    tool = TOOLS[tool_id]
    arguments = fitting(tool) | {takes_path(tool): path}
    reply = server.call(tool_id, arguments, {"json": True})
    tally(attacks_tried=1)
    if leaked := leak(reply):
        tally(escapes=1)
        pytest.fail(f"{path!r} shows {leaked!r}:\n{reply.text}")
    assert BUG not in reply.text, path
    return reply


def code(reply: Reply) -> str:
    """Return the code of the error of `reply` in one spelling; empty if there is none."""
    return str((reply.error or {"code": ""})["code"]).replace("_", "").upper()


def to_answer(tool_id: str, directory: str) -> str:
    """Return `directory`, or the file in it for a tool whose path is that of a file."""
    tool = TOOLS[tool_id]
    reads_file = tool.reads_content and takes_path(tool) == "path"
    return f"{directory.rstrip('/')}/same" if reads_file else directory


def codes(server: Attacked, tool_id: str, paths: Iterable[str]) -> dict[str, str]:
    """Return the answer for each of `paths`."""
    return {path: code(asked(server, tool_id, path)) for path in paths}


def all_in(found: dict[str, str], wanted: set[str]) -> None:
    """Each answer must be one of `wanted`."""
    assert set(found.values()) <= wanted, {p: c for p, c in found.items() if c not in wanted}


@pytest.mark.check(1)
@pytest.mark.usefixtures("transport")
@every_tool
def test_words_that_leave_are_outside(server: Attacked, tool_id: str) -> None:
    up = ("..", "../", "../.", "d/../..", "d/../../", "../outside", "../outside/x", "nothing/../..")
    down = ("/", "//etc", "/..", "/etc", "/.//..//", "./../outside", "d/sub/../../../outside")
    all_in(codes(server, tool_id, (*up, *down)), OUTSIDE)


@pytest.mark.check(2)
@pytest.mark.usefixtures("transport")
@every_tool
def test_link_to_the_outside_is_outside_with_any_rest_of_the_path(
    server: Attacked, tool_id: str
) -> None:
    for link in ("l", "chained", "slashed", "d/out", "up", "up2", "gone"):
        tails = ("", "/", "/.", "/x", "/nonexistent", "/sub/..")
        found = codes(server, tool_id, (f"{link}{tail}" for tail in tails))
        all_in(found, OUTSIDE)
    # The words must not say whether the entry exists.
    there, nothing = (asked(server, tool_id, f"l/{name}").text for name in ("x", "y"))
    assert there.replace("/x", "/y") == nothing


@pytest.mark.check(3)
@every_tool
def test_link_that_ends_inside_is_followed(server: Attacked, tool_id: str) -> None:
    for path in ("in", "in/", "abs", "in/sub", "round"):
        reply = asked(server, tool_id, to_answer(tool_id, path))
        assert reply.ok or tool_id in NO_LINK, path
    # The contracts of two tools refuse paths that others follow; neither may find something else.
    assert code(asked(server, tool_id, to_answer(tool_id, "../R/d"))) in {"", *OUTSIDE}


@pytest.mark.check(4)
@every_tool
def test_neighbour_with_the_same_prefix_is_outside(
    server: Attacked, root: Path, tool_id: str
) -> None:
    evil = f"{root}-evil"
    paths = (
        evil,
        f"{evil}/x",
        f"../{root.name}-evil/x",
        f"{root}/../{root.name}-evil",
        f"{evil}/.",
    )
    all_in(codes(server, tool_id, paths), OUTSIDE)


@pytest.mark.check(5)
@every_tool
def test_magic_link_of_the_process_is_outside(server: Attacked, tool_id: str) -> None:
    paths = (
        "/proc/self/root/etc",
        "/proc/self/cwd",
        "to-proc",
        "to-proc/passwd",
        "/proc/self/fd/0",
    )
    all_in(codes(server, tool_id, paths), OUTSIDE)


@pytest.mark.check(6)
@every_tool
def test_links_in_a_circle_end_at_once(server: Attacked, root: Path, tool_id: str) -> None:
    for name, target in (("a", "b"), ("b", "a"), ("self", "self"), ("deep", "deep/x")):
        (root / name).symlink_to(target)
    for number in range(41):
        (root / f"chain{number}").symlink_to(f"chain{number + 1}" if number < 40 else "d")
    start = time.process_time()
    for path in ("a", "b/x", "self/", "deep", "chain0"):
        reply = asked(server, tool_id, path)
        assert not reply.ok, path
    assert (time.process_time() - start) / 5 < 0.1, "ten times what is allowed, of the processor"
    reply = asked(server, tool_id, to_answer(tool_id, "chain1"))
    assert reply.ok or tool_id in NO_LINK


@pytest.mark.check(7)
@every_tool
def test_path_too_long_for_the_system_is_no_way_out(
    server: Attacked, root: Path, tool_id: str
) -> None:
    # `long` is a link whose target is as long as the system allows; the rest of the path is too
    # much.
    steps = "/".join(["d/.."] * 700)
    (root / "long").symlink_to(f"{steps[:4000]}/d")
    for path in (f"long/{'./' * 140}../../outside", f"{steps}/../outside", f"{'d/../' * 800}../x"):
        assert code(asked(server, tool_id, path)) in {*OUTSIDE, *INVALID}, path[:40]


@pytest.mark.check(8)
@every_tool
@pytest.mark.parametrize("path", ["  ", "a\0b", "\ud800", "x" * 5_000, "a/" * 2_500])
def test_text_that_is_not_a_path_is_an_invalid_argument(
    server: Attacked, tool_id: str, path: str
) -> None:
    reply = asked(server, tool_id, path)
    blank = {"NOTFOUND", "EXECUTIONFAILED", ""} if not path.strip() else set()
    assert code(reply) in INVALID | blank, reply.text
    assert "Traceback" not in reply.text


@pytest.mark.check(9)
@every_tool
def test_component_of_256_characters_is_not_there(server: Attacked, tool_id: str) -> None:
    all_in(
        codes(server, tool_id, ("x" * 256, f"d/{'é' * 128}/y", "x" * 255)),
        ABSENT[tool_id == STATUS],
    )


@pytest.mark.check(10)
@every_tool
def test_names_are_literal(server: Attacked, root: Path, tool_id: str) -> None:
    for path in ("~root", "$HOME", "C:\\x", "[d]*", "d*", "~", "%USERPROFILE%", "$(id)", "d;ls"):
        # One contract takes a backslash for a slash, and then a drive for an absolute path.
        drive = OUTSIDE if path == "C:\\x" and tool_id == "forge/list_directory" else set()
        assert code(asked(server, tool_id, path)) in ABSENT[tool_id == STATUS] | drive, path
    assert code(asked(server, tool_id, "/ssh:h:/x")) in OUTSIDE
    for path in ("~root", "$HOME"):
        plant(root / path, {"same": ""})
        assert asked(server, tool_id, to_answer(tool_id, path)).ok, path


@pytest.mark.check(11)
@every_tool
def test_file_with_a_slash_is_no_directory(server: Attacked, tool_id: str) -> None:
    for path in ("d/same/", "d/same/.", "d/same/x", "d/same/./x"):
        reply = asked(server, tool_id, path)
        # One contract normalizes the path first, and then looks.
        assert not reply.ok or (tool_id == "forge/list_directory" and path[-1] in "/."), path
        assert code(reply) not in OUTSIDE, path


@pytest.mark.check(14)
@every_tool
def test_root_that_is_renamed_is_a_clear_error(server: Attacked, root: Path, tool_id: str) -> None:
    place = to_answer(tool_id, "d")
    assert asked(server, tool_id, place).ok
    root.rename(root.parent / "elsewhere")
    reply = asked(server, tool_id, place)
    assert not reply.ok
    assert "root" in reply.text
    (root.parent / "elsewhere").rename(root)
    assert asked(server, tool_id, place).ok
    root.rename(root.parent / "elsewhere")
    root.symlink_to("outside")
    asked(server_at(root.parent / "elsewhere"), tool_id, place)


@pytest.mark.check(16)
@every_tool
def test_nothing_leads_out_of_a_root_with_magic_links_in_it(tool_id: str) -> None:
    server = server_at("/proc")
    for path in ("self/root", "self/root/etc", "self/cwd", "self/fd", "self/exe", "1/root"):
        reply = asked(server, tool_id, path)
        inside = path == "self/fd"
        assert reply.ok is (inside and reply.ok), path
        assert "passwd" not in reply.text


@pytest.mark.parametrize(
    "name",
    [
        "../../outside/x",
        "/etc/passwd",
        "../go",
        "l/x",
        "..",
        ".",
        "to-go",
        "\0",
        "\ud800",
        "x" * 5_000,
    ],
)
def test_name_of_a_command_is_no_path(server: Attacked, name: str) -> None:
    reply = server.call("commands/get_command", {"command_name": name}, {"json": True})
    tally(attacks_tried=1)
    assert not reply.ok
    assert not leak(reply), reply.text
    assert BUG not in reply.text


@pytest.mark.parametrize("tool_id", TOOLS)
def test_twins_by_case_and_by_normal_form_are_two_things(folder: Path, tool_id: str) -> None:
    names = ("\u00e9", "e\u0301", "\u00c9", "E", "e")
    for name in names:
        (folder / name).mkdir(exist_ok=True)
        (folder / name / f"in-{name}").touch()
    if len(os.listdir(folder)) < len(names):  # noqa: PTH208
        pytest.skip("needs a file system with case")
    tool = TOOLS[tool_id]
    if not takes_path(tool) or tool_id == STATUS:  # its answer is about the whole work tree
        assert not leak(server_at(folder).call(tool_id, fitting(tool)))
        return
    texts = {
        server_at(folder).call(tool_id, fitting(tool) | {takes_path(tool): n}).text for n in names
    }
    assert len(texts) == len(names)
