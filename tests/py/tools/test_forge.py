"""forge/list_directory against a plain model of contract 002.

Each test names the requirements (FR-, NFR-, CFG-LD-...) and scenarios (T-LD-...) that it shows.
"""

import errno
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backstaff.errors import SettingsError, ToolError
from backstaff.fs import budget
from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import load
from backstaff.tools.forge.list_directory import SAMPLE, normalized, ordered_names
from tests.py.processes import as_nobody
from tests.py.servers import server_at
from tests.py.tools.random_trees import OUTSIDE, Below, What, at, planted, starts, trees
from tests.py.trees import Plant

ID = "forge/list_directory"
SERVER = server_at("/")
FEWER = settings(max_examples=settings().max_examples // 4)

BUILT_IN = {
    "max_entries": 200,
    "max_depth": 4,
    "include_hidden": False,
    "include_files": True,
    "include_dirs": True,
    "include_symlinks": True,
    "include_other": False,
}
ENTRY_KEYS = [
    *("name", "path", "depth", "type", "size_bytes", "modified_epoch_ms", "is_hidden"),
    *("error_code", "error"),
]
KEYS = ["path", "entries", "returned", "max_entries", "truncated", "truncated_reason"]

Asked = Mapping[str, Any]
Output = dict[str, Any]


def listed(
    root: Path, context: Asked | None = None, server: Server = SERVER, /, **arguments: object
) -> Reply:
    """The reply to a call below ROOT, for the root itself unless a path is given."""
    asked = {"root": str(root), **(context or {})}
    return server.call(ID, {"path": "."} | arguments, asked)


def output(reply: Reply) -> Any:  # noqa: ANN401
    """The object that the text is, keys in their order."""
    assert reply.ok, reply.text
    return json.loads(reply.text)


def paths(reply: Reply) -> list[str]:
    return [entry["path"] for entry in output(reply)["entries"]]


def error_of(reply: Reply) -> tuple[object, object]:
    """The code and the message of a failure."""
    assert reply.error, reply.text
    assert reply.text == f"Error: {reply.error['message']}"
    assert reply.text.isprintable()
    return reply.error["code"], reply.error["message"]


# ---------------------------------------------------------------------------- a model


def model(root: Path, below: Below, arguments: Asked) -> Output:
    """The output that section 3 of the contract describes."""
    asked: dict[str, Any] = {**BUILT_IN, "recursive": False, **arguments}
    start = tuple(part for part in asked["path"].strip().split("/") if part not in ("", "."))
    asked["most"] = asked["max_depth"] if asked["recursive"] else 1
    found = list(traversal(root.joinpath(*start), at(below, start), asked))
    kept = sorted(found[: asked["max_entries"]], key=lambda entry: str(entry["path"]).encode())
    return result("/".join(start) or ".", kept, asked["max_entries"], len(found) > len(kept))


def result(path: str, entries: list[Output], most: int, cut: object) -> Output:
    return {
        "path": lossy(path),
        "entries": entries,
        "returned": len(entries),
        "max_entries": most,
        "truncated": bool(cut),
        "truncated_reason": ("max_entries" if cut is True else cut) or None,
    }


def traversal(
    directory: Path, below: Below, asked: Asked, prefix: str = "", depth: int = 1
) -> Iterator[Output]:
    """Pre-order; names by their lossy form (FR-LD-LST-05), equal ones by their bytes."""
    for name in sorted(below, key=lambda name: (lossy(name).encode(), os.fsencode(name))):
        what = below[name]
        if name.startswith(".") and not asked["include_hidden"]:
            continue
        if asked[INCLUDED_BY[type_of(what)]]:
            yield entry(directory / name, prefix + name, depth, what)
        if isinstance(what, Mapping) and depth < asked["most"]:
            yield from traversal(directory / name, what, asked, f"{prefix}{name}/", depth + 1)


INCLUDED_BY = {
    "file": "include_files",
    "dir": "include_dirs",
    "symlink": "include_symlinks",
    "other": "include_other",
}


def type_of(what: What) -> str:
    match what:
        case None:
            return "other"
        case int():
            return "file"
        case str():
            return "symlink"
        case _:
            return "dir"


def entry(there: Path, path: str, depth: int, what: What) -> Output:
    name = path.rpartition("/")[2]
    return {
        "name": lossy(name),
        "path": lossy(path),
        "depth": depth,
        "type": type_of(what),
        "size_bytes": what if isinstance(what, int) else None,
        "modified_epoch_ms": there.lstat().st_mtime_ns // 1_000_000,
        "is_hidden": name.startswith("."),
        "error_code": None,
        "error": None,
    }


def lossy(text: str) -> str:
    return re.sub("[\udc80-\udcff]", "\ufffd", text)


ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def written(value: object) -> str:
    """VALUE as canonical JSON (FR-LD-OUT-02a), without the code under test or its library."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            escaped = (ESCAPES.get(c) or (c if c >= " " else f"\\u{ord(c):04x}") for c in value)
            return f'"{"".join(escaped)}"'
        case list():
            return f"[{','.join(map(written, value))}]"
        case dict():
            return f"{{{','.join(f'{written(k)}:{written(v)}' for k, v in value.items())}}}"
    raise AssertionError(value)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Below, dict[str, Any]]:
    """A tree and arguments that fit it."""
    below = draw(trees)
    start = draw(st.just(()) | st.sampled_from(sorted(filter(speakable, starts(below)))))
    optional = {
        "max_entries": st.integers(1, 25),
        "include_hidden": st.booleans(),
        "include_files": st.booleans(),
        "include_dirs": st.booleans(),
        "include_other": st.booleans(),
    }
    chosen = draw(st.fixed_dictionaries({}, optional=optional))
    if draw(st.booleans()):
        depth = draw(st.none() | st.integers(1, 4))
        chosen |= {"recursive": True} | ({} if depth is None else {"max_depth": depth})
    path = draw(st.sampled_from(("{}", " {}/ ", "./{}", ".//{}/.")))
    return below, {"path": path.format("/".join(start) or "."), **chosen}


def speakable(path: tuple[str, ...]) -> bool:
    """Whether the contract lets the PATH be named: it has neither control characters nor `\\`."""
    return not re.search(r"[\x00-\x1f\x7f\\]", "".join(path))


@given(cases())
def test_any_tree_comes_out_as_the_contract_says(case: tuple[Below, dict[str, Any]]) -> None:
    """FR-LD-LST-01, -02, -05 to -07, FR-LD-OUT-01 to -02b, NFR-LD-REL-01, -02, NFR-LD-PORT-01."""
    below, arguments = case
    with planted(below) as root:
        reply = listed(root, {"json": True}, **arguments)
        expected = model(root, below, arguments)
        assert output(reply) == expected
        assert reply.text == reply.json == written(expected)
        assert reply.truncated == expected["truncated"]
        assert reply.warnings == ()
        assert listed(root, **arguments).text == reply.text


@FEWER
@given(cases())
def test_nothing_of_the_outside_ever_appears(case: tuple[Below, dict[str, Any]]) -> None:
    """FR-LD-VAL-09, NFR-LD-SEC-03, T-LD-08."""
    below, arguments = case
    with planted(below) as root:
        text = listed(root, **arguments | {"include_hidden": True, "recursive": True}).text
        assert OUTSIDE not in text
        assert str(root.parent) not in text


# ---------------------------------------------------------------------------- definition

SCHEMA = """{
  "type": "object",
  "properties": {
    "path": { "type": "string" },
    "recursive": { "type": "boolean", "default": false },
    "max_depth": { "type": "integer", "minimum": 1 },
    "max_entries": { "type": "integer", "minimum": 1 },
    "include_hidden": { "type": "boolean", "default": false },
    "include_files": { "type": "boolean", "default": true },
    "include_dirs": { "type": "boolean", "default": true },
    "include_symlinks": { "type": "boolean", "default": true },
    "include_other": { "type": "boolean", "default": false }
  },
  "required": ["path"]
}"""


def test_definition_is_the_contracts() -> None:
    """FR-LD-DEF-01 to -04, FR-LD-OUT-04, and the normative schema of 3.2."""
    definition = {d["id"]: d for d in discover().definitions()}[ID]
    assert definition["name"] == "list_directory"
    assert definition["description"] == "List directory entries"
    assert definition["side_effecting"] is False
    assert definition["requires_approval"] is False
    assert definition["risk"] == "low"
    assert definition["allow_truncation"] is False
    assert definition["schema_json"] == written(json.loads(SCHEMA))
    assert definition["parameters"] == json.loads(SCHEMA)


def with_config(folder: Path, toml: str) -> Server:
    """A server whose configuration file says TOML."""
    file = folder / "config.toml"
    file.write_text(toml)
    registry = discover()
    return Server(registry, load(file, registry.settings_tables()), "/")


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ('deny = ["forge/*"]', "POLICY_DENIED"),
        ('allow = ["agent-q/*"]', "POLICY_DENIED"),
        ('prompt = ["forge/list_directory"]', "APPROVAL_REQUIRED"),
    ],
)
def test_policy_of_the_user_is_respected(
    tree: Plant, tmp_path: Path, policy: str, code: str
) -> None:
    """FR-LD-DEF-05."""
    server = with_config(tmp_path, f"[policy]\n{policy}\n")
    assert error_of(listed(tree({"a": ""}), None, server))[0] == code


# ---------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": ""}, "path must not be empty"),
        ({"path": " \t\n"}, "path must not be empty"),
        ({"path": None}, "path"),
        ({"path": 5}, "path"),
        ({"path": "a\x00b"}, "control"),
        ({"path": "a\nb"}, "control"),
        ({"path": "a\x1b[2Jb"}, "control"),
        ({"path": "a\x7fb"}, "control"),
        ({"path": "a\x9bb"}, "control"),
        ({"path": "\ud800"}, "no file name"),
        ({"path": "x/" * 2049}, "longer than"),
        ({"recursive": "true"}, "recursive"),
        ({"recursive": 1}, "recursive"),
        ({"max_depth": 2}, "max_depth must be absent or 1 when recursive is false"),
        ({"max_depth": 2, "recursive": False}, "max_depth must be absent or 1"),
        ({"max_depth": 5, "recursive": True}, "max_depth must be at most 4, but it is 5"),
        ({"max_depth": 0, "recursive": True}, "max_depth"),
        ({"max_depth": -1}, "max_depth"),
        ({"max_depth": 1.5, "recursive": True}, "max_depth"),
        ({"max_depth": "1"}, "max_depth"),
        ({"max_entries": 201}, "max_entries must be at most 200, but it is 201"),
        ({"max_entries": 0}, "max_entries"),
        ({"max_entries": True}, "max_entries"),
        ({"max_entries": 1e300}, "max_entries"),
        (
            {"include_files": False, "include_dirs": False, "include_symlinks": False},
            "one of include_files, include_dirs and include_symlinks must be true",
        ),
        (
            {
                "include_files": False,
                "include_dirs": False,
                "include_symlinks": False,
                "include_other": True,
            },
            "one of include_files",
        ),
    ],
)
def test_bad_arguments_are_told_what_to_mend(
    tree: Plant, arguments: dict[str, object], said: str
) -> None:
    """FR-LD-VAL-01, -02, -04, -05, -06b, FR-LD-ERR-01."""
    code, message = error_of(listed(tree({"a": ""}), **arguments))
    assert code == "BadArgs"
    assert said in str(message)


def test_missing_path_is_a_bad_argument(tree: Plant) -> None:
    """FR-LD-VAL-01."""
    reply = SERVER.call(ID, {}, {"root": str(tree({}))})
    assert error_of(reply)[0] == "BadArgs"


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_depth": 1},
        {"max_depth": 1.0, "max_entries": 200.0},
        {"max_depth": None, "max_entries": None, "recursive": None, "include_files": None},
        {"include_files": False, "include_dirs": False},
        {"recursive": True, "max_depth": 4, "max_entries": 200},
    ],
)
def test_arguments_at_their_limits_are_taken(tree: Plant, arguments: dict[str, object]) -> None:
    """FR-LD-VAL-02, -04, -05, -06b."""
    assert listed(tree({"a": ""}), **arguments).ok


def test_recursive_without_max_depth_goes_to_the_configured_depth(tree: Plant) -> None:
    """FR-LD-VAL-03."""
    root = tree({"a/b/c/d/e/f": ""})
    assert paths(listed(root, recursive=True))[-1] == "a/b/c/d"


def test_other_entries_are_those_that_are_nothing_else(tree: Plant) -> None:
    """FR-LD-VAL-06."""
    root = tree({"p": {"fifo": True}, "f": "", "d/": None, "l": {"link": "p"}})
    assert paths(listed(root)) == ["d", "f", "l"]
    entries = output(listed(root, include_other=True))["entries"]
    assert {e["path"]: e["type"] for e in entries} == {
        "d": "dir",
        "f": "file",
        "l": "symlink",
        "p": "other",
    }
    assert next(e for e in entries if e["path"] == "p")["size_bytes"] is None


# ---------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".", "."),
        ("./", "."),
        (".//.", "."),
        ("a", "a"),
        ("  a  ", "a"),
        ("./a/", "a"),
        ("a//b///c", "a/b/c"),
        ("a\\b\\.\\c\\", "a/b/c"),
        ("a/./b/.", "a/b"),
        ("A/b", "A/b"),
        ("...", "..."),
        ("a..b", "a..b"),
        ("~", "~"),
        ("$HOME/*", "$HOME/*"),
        ("C:x", "C:x"),
        ("é/\U0001f600", "é/\U0001f600"),
    ],
)
def test_path_is_normalized(path: str, shown: str) -> None:
    """FR-LD-VAL-10, NFR-LD-PORT-01."""
    assert normalized(path) == shown


WORDS = st.sampled_from(("/", "\\", ".", "..", " ", "a", "b", "C:", "é", "\u3000", "\t", "\udcff"))


def outcome(path: str) -> str:
    """PATH normalized, or the code with which it is refused."""
    try:
        return normalized(path)
    except ToolError as error:
        return error.code


@given(st.lists(WORDS, max_size=9).map("".join))
@example("./C:/x")
@example(" /a")
@example("a /")
def test_normalized_path_is_relative_stays_below_and_stays_as_it_is(path: str) -> None:
    """FR-LD-VAL-07, -10: idempotent but for a name that begins or ends with a blank."""
    shown = outcome(path)
    if shown in ("BadArgs", "SandboxViolation"):
        return
    assert not re.match(r"/|[A-Za-z]:(/|\Z)", shown)
    assert not {"", ".."} & set(shown.split("/"))
    assert shown == "." or "." not in shown.split("/")
    assert "\\" not in shown
    if shown == shown.strip():
        assert normalized(shown) == shown


@pytest.fixture
def project(tree: Plant) -> Path:
    """A sandbox with links of every kind, and a neighbour that nobody may see."""
    tree({OUTSIDE: ""}, "outside")
    return tree(
        {
            "d/f": "",
            "d/e/g": "",
            "f": "12345",
            "in": {"link": "d"},
            "out": {"link": "../outside"},
            "up": {"link": ".."},
            "loop": {"link": "."},
            "dangling": {"link": "nothing"},
        }
    )


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../", "../outside", "d/../..", "d/..", "../R", "d\\..\\..\\x", " .. "),
        *("/", "/etc", "//etc", "\\", "\\etc", "C:", "C:/", "c:\\x", "./C:/x", "\\\\server\\share"),
        *("out", "out/", "up", "up/outside", f"out/{OUTSIDE}", "out/missing", "in/../../x"),
    ],
)
def test_path_outside_the_sandbox_is_a_violation(project: Path, path: str) -> None:
    """T-LD-03, FR-LD-VAL-07, FR-LD-ERR-02, NFR-LD-SEC-01."""
    code, message = error_of(listed(project, path=path))
    assert code == "SandboxViolation"
    assert str(project) not in str(message)


def test_missing_and_existing_outside_paths_are_answered_alike(project: Path) -> None:
    """FR-LD-ERR-02: no answer tells what is out there."""
    there, missing = (listed(project, path=f"out/{name}") for name in (OUTSIDE, "missing"))
    assert there.text == missing.text


def test_sandbox_is_asked_before_the_file_system(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FR-LD-VAL-07, NFR-LD-SEC-01: of a path that leaves in words nothing is opened."""
    opened: list[object] = []
    real = os.open

    def noting(path: Any, *arguments: Any, **options: Any) -> int:  # noqa: ANN401
        opened.append(path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", noting)
    for path in ("d/../../outside", "/etc", "C:\\x"):
        assert not listed(project, path=path).ok
    assert set(opened) == {str(project)}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("f", "path is not a directory"),
        ("f/", "path is not a directory"),
        ("missing", "path does not exist"),
        ("d/missing", "path does not exist"),
        ("f/x", "path does not exist"),
        ("dangling", "path does not exist"),
        ("x" * 256, "path does not exist"),
        ("~", "path does not exist"),
        ("/".join(["loop"] * 41), "path cannot be read: too many levels of symbolic links"),
    ],
)
def test_path_that_is_no_directory_fails_with_clear_words(
    project: Path, path: str, said: str
) -> None:
    """T-LD-02, FR-LD-VAL-08, FR-LD-ERR-03."""
    assert error_of(listed(project, path=path)) == ("ExecutionFailed", said)


def test_unreadable_path_fails_with_clear_words(tree: Plant) -> None:
    """FR-LD-VAL-08."""
    root = tree({"d/": None})
    (root / "d").chmod(0o311)
    error = as_nobody(lambda: listed(root, path="d").error)
    assert error == {
        "code": "ExecutionFailed",
        "message": "path cannot be read: permission denied",
    }


def test_link_to_a_directory_inside_can_be_listed(project: Path) -> None:
    """FR-LD-VAL-08, -10: the path stands as it was asked for."""
    reply = listed(project, path="in/")
    assert output(reply)["path"] == "in"
    assert paths(reply) == ["e", "f"]


# ---------------------------------------------------------------------------- traversal


def test_default_arguments_give_the_children_sorted(tree: Plant) -> None:
    """T-LD-01, FR-LD-LST-01, FR-LD-OUT-01."""
    root = tree({"b/x": "", "a": "12", "C": "", "é": "", ".h": ""})
    reply = output(listed(root))
    assert [(e["path"], e["depth"]) for e in reply["entries"]] == [
        ("C", 1),
        ("a", 1),
        ("b", 1),
        ("é", 1),
    ]
    assert (reply["returned"], reply["truncated"], reply["truncated_reason"]) == (4, False, None)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_recursion_gives_all_entries_down_to_max_depth(tree: Plant, depth: int) -> None:
    """T-LD-04, FR-LD-LST-02: and a cut by depth is no truncation."""
    root = tree({"a/b/c/d/e": "", "f": ""})
    reply = output(listed(root, recursive=True, max_depth=depth))
    there = ["a", "a/b", "a/b/c", "a/b/c/d"]
    assert [e["path"] for e in reply["entries"]] == [*there[:depth], "f"]
    assert [e["depth"] for e in reply["entries"]] == [*range(1, depth + 1), 1]
    assert not reply["truncated"]


def test_dot_and_dot_dot_are_no_entries(tree: Plant) -> None:
    """FR-LD-LST-03."""
    root = tree({"a/": None})
    assert paths(listed(root, recursive=True, include_hidden=True)) == ["a"]


def test_preorder_decides_what_is_kept_and_whole_paths_the_output(tree: Plant) -> None:
    """FR-LD-LST-05, FR-LD-OUT-01: "a/z" is met before "a-b", but sorts after it."""
    root = tree({"a/z": "", "a-b": "", "b": ""})
    assert paths(listed(root, recursive=True)) == ["a", "a-b", "a/z", "b"]
    assert paths(listed(root, recursive=True, max_entries=2)) == ["a", "a/z"]


def test_hidden_entries_are_omitted_and_not_entered(tree: Plant) -> None:
    """T-LD-07, T-LD-11, FR-LD-LST-06, -06a."""
    root = tree({".f": "", ".d/x": "", "a/.g": "", "a/b": "", "…": "", "-": ""})
    assert paths(listed(root, recursive=True)) == ["-", "a", "a/b", "…"]
    reply = output(listed(root, recursive=True, include_hidden=True))
    hidden = {e["path"]: e["is_hidden"] for e in reply["entries"]}
    assert {path for path, is_hidden in hidden.items() if is_hidden} == {".f", ".d", "a/.g"}
    assert ".d/x" in hidden


def test_hidden_entries_do_not_count(tree: Plant) -> None:
    """FR-LD-LST-06: filters go before the count."""
    root = tree({f".h{n}": "" for n in range(9)} | {"a": "", "b": "", "p": {"fifo": True}})
    reply = output(listed(root, max_entries=2))
    assert (reply["returned"], reply["truncated"]) == (2, False)


@pytest.mark.parametrize(("most", "cut"), [(1, True), (4, True), (5, False), (6, False)])
def test_max_entries_truncates_only_when_something_is_left(
    tree: Plant, most: int, *, cut: bool
) -> None:
    """T-LD-05, FR-LD-LST-07, FR-LD-OUT-02b."""
    reply = output(listed(tree({f"f{n}": "" for n in range(5)}), max_entries=most))
    assert reply["returned"] == len(reply["entries"]) == min(most, 5)
    assert reply["max_entries"] == most
    assert reply["truncated"] is cut
    assert reply["truncated_reason"] == ("max_entries" if cut else None)


def test_one_more_eligible_entry_is_looked_for_in_the_whole_tree(tree: Plant) -> None:
    """FR-LD-LST-07: what is not wanted does not make a listing truncated."""
    root = tree({"a/f": "", "b/c/": None, "d/": None, "z": {"fifo": True}})
    arguments = {"recursive": True, "include_dirs": False, "max_entries": 1}
    assert output(listed(root, **arguments))["truncated"] is False
    (root / "b/c/late").write_text("")
    assert output(listed(root, **arguments))["truncated"] is True


def test_links_are_listed_and_never_followed(project: Path) -> None:
    """T-LD-08, FR-LD-VAL-09, NFR-LD-SEC-03."""
    reply = output(listed(project, recursive=True))
    types = {e["path"]: e["type"] for e in reply["entries"]}
    links = {"in", "out", "up", "loop", "dangling"}
    assert {path for path, kind in types.items() if kind == "symlink"} == links
    assert not any(path.split("/")[0] in links for path in types if "/" in path)
    assert all(e["size_bytes"] is None for e in reply["entries"] if e["type"] == "symlink")
    without = paths(listed(project, recursive=True, include_symlinks=False))
    assert without == sorted(set(types) - links)


def test_directories_that_are_not_wanted_are_still_entered(project: Path) -> None:
    """FR-LD-LST-02 with include_dirs=false."""
    found = paths(listed(project, recursive=True, include_dirs=False, include_symlinks=False))
    assert found == ["d/e/g", "d/f", "f"]


def test_only_the_kinds_that_are_wanted_are_listed(project: Path) -> None:
    """FR-LD-VAL-05, -06a."""
    assert paths(listed(project, include_files=False, include_symlinks=False)) == ["d"]
    assert paths(listed(project, include_dirs=False, include_symlinks=False)) == ["f"]
    assert "in" in paths(listed(project, include_dirs=False, include_files=False))


@pytest.mark.parametrize("flags", [{}, {"include_symlinks": False}])
def test_entries_that_are_not_wanted_take_no_place_of_others(
    tree: Plant, flags: dict[str, object]
) -> None:
    """FR-LD-LST-06, -07: filters go before the count, however many there are of them."""
    root = tree({f"a{n}": {"fifo": True} for n in range(9)} | {"x": "", "y": "", "z": ""})
    reply = output(listed(root, max_entries=2, **flags))
    assert [e["path"] for e in reply["entries"]] == ["x", "y"]
    assert reply["truncated"] is True
    assert paths(listed(root, max_entries=3, **flags)) == ["x", "y", "z"]


# ---------------------------------------------------------------------------- entries


def entries_of(reply: Reply) -> dict[str, Output]:
    return {entry["path"]: entry for entry in output(reply)["entries"]}


def test_entries_tell_size_and_time_of_the_thing_itself(project: Path) -> None:
    """FR-LD-OUT-02 and the field rules of 3.5: by lstat, milliseconds cut off."""
    os.utime(project / "f", ns=(0, 1_700_000_000_123_999_999))
    os.utime(project / "in", ns=(0, 1_600_000_000_000_000_000), follow_symlinks=False)
    entries = entries_of(listed(project))
    assert (entries["f"]["size_bytes"], entries["f"]["modified_epoch_ms"]) == (5, 1_700_000_000_123)
    assert (entries["in"]["size_bytes"], entries["in"]["modified_epoch_ms"]) == (
        None,
        1_600_000_000_000,
    )
    assert entries["d"]["size_bytes"] is None


@pytest.mark.parametrize(
    ("nanoseconds", "shown"), [(0, 0), (999_999, 0), (-1, None), (-(10**15), None)]
)
def test_time_before_1970_is_null(tree: Plant, nanoseconds: int, shown: int | None) -> None:
    """The field rules of 3.5."""
    root = tree({"f": ""})
    os.utime(root / "f", ns=(0, nanoseconds))
    assert entries_of(listed(root))["f"]["modified_epoch_ms"] == shown


def test_keys_stand_in_the_order_of_the_contract(project: Path) -> None:
    """FR-LD-OUT-02a."""
    reply = output(listed(project))
    assert list(reply) == KEYS
    assert all(list(entry) == ENTRY_KEYS for entry in reply["entries"])


def test_escapes_are_the_shortest_ones_and_the_rest_is_raw(tree: Plant) -> None:
    r"""FR-LD-OUT-02a, NFR-LD-SEC-02: no control character below U+0020 stands raw."""
    odd = '"\\\b\f\n\r\t\x01\x1f\x7fé\u2028\U0001f600'
    text = listed(tree({odd: ""})).text
    name = '"\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7fé\u2028\U0001f600"'
    assert f'"entries":[{{"name":{name},"path":{name},"depth":1,' in text
    assert not re.search(r"[\x00-\x1f]", text)


def test_undecodable_name_is_lossy_in_output_and_order_but_entered_by_its_bytes(
    tree: Plant,
) -> None:
    """T-LD-09, NFR-LD-REL-02, FR-LD-LST-05, FR-LD-OUT-01."""
    root = tree({"\udce9/f": "", "\uffff": "", "z": "", "\U0001f600": "", "a\udcff": ""})
    reply = listed(root, recursive=True)
    reply.text.encode("utf-8")
    assert paths(reply) == ["a\ufffd", "z", "\ufffd", "\ufffd/f", "\uffff", "\U0001f600"]
    assert paths(listed(root, recursive=True, max_entries=4)) == [
        "a\ufffd",
        "z",
        "\ufffd",
        "\ufffd/f",
    ]
    assert output(listed(root, path="\udce9"))["path"] == "\ufffd"
    assert reply.data
    assert output(reply) == json.loads(written(plain(reply.data)))


@pytest.mark.parametrize("flags", [{}, {"include_symlinks": False}, {"include_dirs": False}])
def test_undecodable_name_is_kept_or_cut_by_its_lossy_form(
    tree: Plant, flags: dict[str, object]
) -> None:
    """T-LD-09, FR-LD-LST-05: U+FFFD comes after U+FF5E, the raw byte would come before."""
    root = tree({"\udce9/f": "", "\uff5e": ""})
    assert paths(listed(root, recursive=True, max_entries=1, **flags)) == ["\uff5e"]


def plain(data: Mapping[str, Any]) -> Output:
    """The reply's data as the contract's object, by the parts it is made of."""
    return {**data, "entries": list(data["entries"].objects())}


@pytest.mark.check(22)
def test_names_that_are_equal_after_conversion_are_both_listed_in_a_stable_order(
    tree: Plant,
) -> None:
    """T-LD-09, NFR-LD-REL-02, FR-LD-OUT-02."""
    sizes = [("\udc80/x", 9), ("\udcfe", 1), ("\udcff", 2), ("\ufffd", 3)]
    for turn, contents in enumerate((sizes, sizes[::-1])):
        root = tree({name: {"bytes": size} for name, size in contents}, f"turn-{turn}")
        entries = output(listed(root, recursive=True))["entries"]
        assert [(e["path"], e["size_bytes"]) for e in entries] == [
            ("\ufffd", None),
            ("\ufffd", 1),
            ("\ufffd", 2),
            ("\ufffd", 3),
            ("\ufffd/x", 9),
        ]


# ---------------------------------------------------------------------------- faults


@pytest.mark.check(18)
def test_directory_that_may_be_read_but_not_searched_lists_unknown_entries(tree: Plant) -> None:
    """T-LD-10, FR-LD-LST-04, FR-LD-ERR-04."""
    root = tree({"d/f": "12345", "d/e/x": "", "d/l": {"link": "f"}, "d/p": {"fifo": True}})
    (root / "d").chmod(0o444)
    directory, *entries = output(as_nobody(lambda: listed(root, recursive=True)))["entries"]
    assert directory["type"] == "dir"
    assert [e["path"] for e in entries] == ["d/e", "d/f", "d/l", "d/p"]
    assert all(e == unknown(e["path"], "permission_denied", "permission denied") for e in entries)


def unknown(path: str, code: str, message: str) -> Output:
    """An entry of which nothing can be told."""
    values = (path.rpartition("/")[2], path, path.count("/") + 1, "unknown", None, None, False)
    return dict(zip(ENTRY_KEYS, (*values, code, message), strict=True))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Makes the status of a name unavailable."""

    def fail(name: str, number: int) -> None:
        real = os.stat

        def stat(path: Any, **options: Any) -> os.stat_result:  # noqa: ANN401
            if path == name:
                raise OSError(number, os.strerror(number))
            return real(path, **options)

        monkeypatch.setattr(os, "stat", stat)

    return fail


@pytest.mark.check(17)
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOENT, "metadata_unavailable"),
        (errno.EACCES, "permission_denied"),
        (errno.EPERM, "permission_denied"),
        (errno.EIO, "io_error"),
        (errno.ESTALE, "unknown"),
    ],
)
@pytest.mark.parametrize("kind", ["x", "x/"])
def test_entry_without_metadata_is_unknown_and_the_rest_goes_on(
    tree: Plant, failing: Callable[[str, int], None], kind: str, number: int, code: str
) -> None:
    """T-LD-10, FR-LD-LST-04, FR-LD-ERR-04, and the error codes of 3.5."""
    root = tree({"a": "", kind: None if kind.endswith("/") else "", "z/y": ""})
    failing("x", number)
    entries = entries_of(listed(root, recursive=True))
    assert list(entries) == ["a", "x", "z", "z/y"]
    assert entries["x"]["error"]
    assert entries["x"] == unknown("x", code, entries["x"]["error"])
    assert all(e["error_code"] is e["error"] is None for p, e in entries.items() if p != "x")


def test_unknown_entries_are_listed_whatever_is_wanted_and_count(
    tree: Plant, failing: Callable[[str, int], None]
) -> None:
    """FR-LD-LST-04, -06."""
    root = tree({"a": "", "x": "", "y": ""})
    failing("x", errno.EIO)
    reply = output(listed(root, include_dirs=False, max_entries=2))
    assert [e["path"] for e in reply["entries"]] == ["a", "x"]
    assert reply["truncated"] is True


def test_unknown_entry_is_listed_though_files_are_not(
    tree: Plant, failing: Callable[[str, int], None]
) -> None:
    """FR-LD-LST-04: whatever was asked for."""
    failing("x", errno.EIO)
    entries = entries_of(listed(tree({"a": "", "x/": None}), include_files=False))
    assert [(path, e["type"]) for path, e in entries.items()] == [("x", "unknown")]


@pytest.mark.check(19)
@pytest.mark.parametrize("mode", [0, 0o311])
@pytest.mark.parametrize("include_dirs", [True, False])
def test_directory_that_cannot_be_read_is_one_unknown_entry_and_the_rest_goes_on(
    tree: Plant, mode: int, *, include_dirs: bool
) -> None:
    """T-LD-12, FR-LD-LST-08."""
    root = tree({"a/b/x": "", "a/c": "", "z": ""})
    (root / "a/b").chmod(mode)
    text = as_nobody(lambda: listed(root, recursive=True, include_dirs=include_dirs).text)
    entries = {e["path"]: e for e in json.loads(text)["entries"]}
    assert list(entries) == ["a", "a/b", "a/c", "z"][not include_dirs :]
    assert entries["a/b"] == unknown("a/b", "read_dir_failed", "directory cannot be read")


def test_unreadable_directory_that_is_not_entered_is_a_directory(tree: Plant) -> None:
    """FR-LD-LST-08: only what has to be read can fail to be."""
    root = tree({"a/b/": None})
    (root / "a/b").chmod(0)
    assert as_nobody(lambda: entries_of(listed(root, path="a")))["b"]["type"] == "dir"


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EMFILE, errno.EIO, errno.ELOOP])
def test_directory_that_is_gone_or_fails_when_it_is_opened_is_one_unknown_entry(
    tree: Plant, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-LD-12, FR-LD-LST-08."""
    root = tree({"a/": None, "x/y": "", "z": ""})
    real = os.open

    def opening(path: Any, *arguments: Any, **options: Any) -> int:  # noqa: ANN401
        if path == "x":
            raise OSError(number, os.strerror(number))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", opening)
    entries = entries_of(listed(root, recursive=True))
    assert list(entries) == ["a", "x", "z"]
    assert entries["x"] == unknown("x", "read_dir_failed", "directory cannot be read")


def test_time_that_is_up_fails_as_the_output_has_no_word_for_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FR-LD-ERR-03, FR-LD-OUT-02b: never a listing that looks whole."""
    whole = listed(project, recursive=True)
    failures = 0
    for moment in range(1, 60):
        ticks = count()
        clock = SimpleNamespace(monotonic=lambda ticks=ticks: next(ticks) / 1000)
        monkeypatch.setattr(budget, "time", clock)
        reply = listed(project, {"deadline_ms": moment}, recursive=True)
        if reply.text != whole.text:
            code, message = error_of(reply)
            assert code == "ExecutionFailed"
            assert str(message).startswith("the time was up before the listing was complete")
            failures += 1
    assert reply.text == whole.text
    assert failures > 1


def test_cancelled_call_is_an_error(project: Path) -> None:
    """FR-LD-ERR-01 to -03 have no word for it, so it is the server's own."""
    cancelled = threading.Event()
    cancelled.set()
    reply = SERVER.call(ID, {"path": "."}, {"root": str(project)}, cancelled)
    assert error_of(reply)[0] == "CANCELLED"


# ---------------------------------------------------------------------------- budget

SAMPLES: list[dict[str, object]] = [
    {},
    {"f": "1"},
    {"a/b/c": "", "a/é": "", "d/\U0001f600": "", "\udcff": "", 'q"\n': ""},
    {f"f{n}": "x" * n for n in range(7)} | {"d/": None, "l": {"link": "d"}},
]


@pytest.mark.check(28)
@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("most", [200, 3])
def test_every_output_budget_gives_valid_json_within_it_or_says_that_it_is_too_small(
    tree: Plant, sample: dict[str, object], most: int
) -> None:
    """T-LD-06, -13, -14, FR-LD-OUT-03, -05 to -08, NFR-LD-REL-01: at every single byte."""
    root = tree(sample)
    arguments = {"recursive": True, "max_entries": most}
    whole = output(listed(root, **arguments))
    entries = whole["entries"]
    cuts = [
        written(result(".", entries[:n], most, "max_output_bytes"))
        for n in range(len(entries) - 1, -1, -1)
    ] or [written(result(".", [], most, "max_output_bytes"))]
    candidates = [written(whole), *cuts]
    for limit in range(len(candidates[0].encode()) + 2):
        reply = listed(root, {"max_output_bytes": limit}, **arguments)
        expected = next((text for text in candidates if len(text.encode()) <= limit), None)
        if expected is None:
            code, message = error_of(reply)
            assert code == "ExecutionFailed", limit
            assert str(message).startswith("output budget too small"), limit
        else:
            assert reply.text == expected, limit
            assert reply.truncated == output(reply)["truncated"], limit
            assert reply.data, limit
            assert plain(reply.data) == output(reply), limit


@pytest.mark.parametrize(
    "context",
    [
        {"max_output_bytes": 9000, "available_capacity_bytes": 500},
        {"max_output_bytes": 500, "available_capacity_bytes": 9000},
        {"available_capacity_bytes": 500},
    ],
)
def test_smaller_of_the_two_budgets_counts(tree: Plant, context: dict[str, int]) -> None:
    """T-LD-06, FR-LD-OUT-03."""
    reply = listed(tree({f"f{n}": "" for n in range(9)}), context)
    assert 0 < output(reply)["returned"] < 9
    assert len(reply.text.encode()) <= 500
    assert output(reply)["truncated_reason"] == "max_output_bytes"


def test_output_budget_overrides_max_entries_as_the_reason(tree: Plant) -> None:
    """T-LD-14, FR-LD-OUT-07."""
    root = tree({f"f{n}": "" for n in range(9)})
    assert output(listed(root, max_entries=5))["truncated_reason"] == "max_entries"
    reply = output(listed(root, {"max_output_bytes": 500}, max_entries=5))
    assert reply["truncated_reason"] == "max_output_bytes"
    assert reply["max_entries"] == 5


# ---------------------------------------------------------------------------- configuration

FLAGS = [key for key in BUILT_IN if key.startswith("include_")]
KINDS = {
    "include_hidden": ".h",
    "include_files": "f",
    "include_dirs": "d",
    "include_symlinks": "l",
    "include_other": "p",
}


@pytest.fixture
def one_of_each(tree: Plant) -> Path:
    return tree({".h": "", "f": "", "d/": None, "l": {"link": "f"}, "p": {"fifo": True}})


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("argument", [True, False, None])
@pytest.mark.parametrize("configured", [True, False, None])
def test_flag_is_the_argument_else_the_configured_else_the_built_in_one(
    one_of_each: Path, tmp_path: Path, flag: str, *, argument: bool | None, configured: bool | None
) -> None:
    """FR-LD-VAL-06a, CFG-LD-01, -04, -05."""
    line = "" if configured is None else f"{flag}_default = {str(configured).lower()}\n"
    server = with_config(tmp_path, f"[tools.list_directory]\n{line}")
    given = {} if argument is None else {flag: argument}
    effective = next(v for v in (argument, configured, BUILT_IN[flag]) if v is not None)
    found = paths(listed(one_of_each, None, server, **given))
    assert (KINDS[flag] in found) == effective


@pytest.mark.parametrize("configured", [None, 2, 500])
@pytest.mark.parametrize("argument", [None, 1, 2, 3, 200, 201, 500, 501])
def test_configured_max_entries_is_default_and_cap(
    tree: Plant, tmp_path: Path, configured: int | None, argument: int | None
) -> None:
    """FR-LD-VAL-04, -06a, CFG-LD-01, -02, -05."""
    table = "" if configured is None else f"[tools.list_directory]\nmax_entries = {configured}\n"
    cap = configured or 200
    given = {} if argument is None else {"max_entries": argument}
    reply = listed(tree({"a": "", "b": ""}), None, with_config(tmp_path, table), **given)
    if argument and argument > cap:
        said = f"max_entries must be at most {cap}, but it is {argument}"
        assert error_of(reply) == ("BadArgs", said)
    else:
        assert output(reply)["max_entries"] == (argument or cap)


@pytest.mark.parametrize("configured", [None, 1, 6])
@pytest.mark.parametrize("argument", [None, 1, 2, 4, 5, 6, 7])
def test_configured_max_depth_is_default_and_cap(
    tree: Plant, tmp_path: Path, configured: int | None, argument: int | None
) -> None:
    """FR-LD-VAL-03, -06a, -06b, CFG-LD-01, -03, -05."""
    table = "" if configured is None else f"[tools.list_directory]\nmax_depth = {configured}\n"
    cap = configured or 4
    given = {} if argument is None else {"max_depth": argument}
    root = tree({"d/" * 9 + "f": ""})
    reply = listed(root, None, with_config(tmp_path, table), recursive=True, **given)
    if argument and argument > cap:
        said = f"max_depth must be at most {cap}, but it is {argument}"
        assert error_of(reply) == ("BadArgs", said)
    else:
        assert len(paths(reply)) == (argument or cap)


def test_the_contracts_example_is_a_valid_configuration(tmp_path: Path) -> None:
    """CFG-LD-01, -05: and it says what the built-in defaults are."""
    example = """
[tools.list_directory]
max_entries = 200
max_depth = 4
include_hidden_default = false
include_symlinks_default = true
include_files_default = true
include_dirs_default = true
include_other_default = false
"""
    configured = with_config(tmp_path, example).settings.tables["list_directory"]
    assert configured == SERVER.settings.tables["list_directory"]


@pytest.mark.parametrize(
    "line",
    [
        *("max_entries = 0", "max_entries = true", 'max_entries = "200"', "max_entries = 1.0"),
        *("max_entries = 100001", "max_depth = 0", "max_depth = 65", "max_depth = -5"),
        *("include_hidden_default = 1", 'include_files_default = "yes"', "include_hidden = true"),
        *("recursive = true", "max_depth = 1e22", "max_depth = nan", "max_depth = [4]"),
    ],
)
def test_bad_configuration_is_refused_naming_file_line_and_key(tmp_path: Path, line: str) -> None:
    """CFG-LD-01."""
    with pytest.raises(SettingsError) as caught:
        with_config(tmp_path, f"[tools.list_directory]\n\n{line}\n")
    key = line.partition(" ")[0]
    place = f"{tmp_path / 'config.toml'}:3: tools.list_directory.{key} "
    assert str(caught.value).startswith(place)


def test_configuration_inside_the_project_is_never_read(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CFG-LD-01: a project must not lift the limits that hold for it."""
    toml = "[tools.list_directory]\nmax_entries = 1\n"
    root = tree(dict.fromkeys(("config.toml", "backstaff/config.toml"), toml))
    monkeypatch.chdir(root)
    assert output(listed(root))["max_entries"] == 200


# ---------------------------------------------------------------------------- cost


@pytest.fixture
def statted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is statted from now on."""
    seen: list[object] = []
    real = os.stat

    def noting(path: Any, **options: Any) -> os.stat_result:  # noqa: ANN401
        seen.append(path)
        return real(path, **options)

    monkeypatch.setattr(os, "stat", noting)
    return seen


@pytest.fixture(scope="module")
def crowded() -> Iterator[Path]:
    """A directory with far more entries than anybody asks for."""
    with planted(
        {f"f{n:04}": 0 for n in range(2000)} | {f"d{n:03}": {} for n in range(500)}
    ) as root:
        yield root


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"include_files": False},
        {"include_files": False, "recursive": True, "max_depth": 1},
        {"include_dirs": False},
        {"include_symlinks": False},
    ],
)
def test_only_what_is_returned_is_statted(
    crowded: Path, statted: list[object], flags: dict[str, object]
) -> None:
    """NFR-LD-PERF-01: of thousands of entries, only those that are returned and one more."""
    reply = output(listed(crowded, max_entries=20, **flags))
    assert (reply["returned"], reply["truncated"]) == (20, True)
    assert len([path for path in statted if not str(path).startswith("/")]) <= 20 + 1


def test_no_more_directories_are_opened_than_entries_are_returned(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFR-LD-PERF-01."""
    wide = tree({f"d{n:03}/e/f": "" for n in range(60)}, "wide")
    deep = tree({"deep/" * 80 + "f": ""}, "deep")
    opened: list[object] = []
    real = os.open

    def noting(path: Any, *arguments: Any, **options: Any) -> int:  # noqa: ANN401
        opened.append(path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", noting)
    assert output(listed(wide, recursive=True, max_entries=5))["truncated"]
    assert len([path for path in opened if not str(path).startswith("/")]) <= 5 + 2
    opened.clear()
    assert len(paths(listed(deep, recursive=True))) == 4
    assert opened.count("deep") == 3


def calls(function: Callable[[], object]) -> int:
    """The calls that FUNCTION makes, in Python and to C."""
    count = 0

    def noting(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(noting)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


name = st.text(st.sampled_from("ab.\udce9日"), min_size=1, max_size=4)


@given(
    st.lists(name, min_size=3 * SAMPLE, unique=True) | st.lists(name, unique=True),
    st.integers(1, 3),
    st.booleans(),
)
def test_first_names_and_then_the_others_are_in_order(
    names: list[str],
    most: int,
    include_hidden: bool,  # noqa: FBT001  # as Hypothesis passes it
) -> None:
    """FR-LD-LST-05, however few of many names are wanted."""
    visible = [n for n in names if include_hidden or not n.startswith(".")]
    lossy = {n: os.fsencode(n).decode(errors="replace").encode() for n in visible}
    found = list(ordered_names(names, most, include_hidden=include_hidden))
    assert sorted(found) == sorted(visible)
    assert [lossy[n] for n in found] == sorted(lossy.values())


def test_work_grows_in_line_with_the_entries(tree: Plant, tmp_path: Path) -> None:
    """NFR-LD-PERF-02: four times the entries are no more than about four times the calls."""
    server = with_config(tmp_path, "[tools.list_directory]\nmax_entries = 800\n")
    few, many = (tree({f"f{n}": "" for n in range(count)}, str(count)) for count in (200, 800))
    listed(few, None, server)
    assert calls(lambda: listed(many, None, server)) < 4.5 * calls(
        lambda: listed(few, None, server)
    )
