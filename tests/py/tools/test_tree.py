"""workspace/tree against a plain model of contract 001, and each point of its section 11 (DoD)."""

import errno
import json
import os
import re
import threading
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff import budget, server
from backstaff.registry import discover
from backstaff.server import Reply
from backstaff.tools.workspace.tree import DEFAULT_EXCLUDES, MAX_DEPTH, MAX_ENTRIES
from tests.py.globs import glob_model
from tests.py.processes import unprivileged
from tests.py.replies import code
from tests.py.tools.random_trees import OUTSIDE, Below, What, at, planted
from tests.py.tools.tree_calls import (
    FEWER,
    SERVER,
    Asked,
    Node,
    cases,
    data_of,
    nodes,
    paths,
    tree_of,
)
from tests.py.trees import Plant

DEFAULTS = {"entry_kind": "directory", "max_depth": 3, "max_entries": 100, "include_hidden": False}
ORDER = ("directory", "file", "symlink")

# ---------------------------------------------------------------------------- a model


class Full(Exception):
    """The greatest number of nodes."""


def model(below: Below, arguments: Asked) -> dict[str, object]:
    """TreeOutput (4.2) as sections 3 to 7 describe it."""
    asked: dict[str, Any] = {**DEFAULTS, "exclude": [], **arguments}
    start = tuple(part for part in asked["path"].split("/") if part not in ("", "."))
    root = node_of(start[-1] if start else ".", "/".join(start) or ".", 0, "directory")
    found = [root]

    def check() -> None:
        if len(found) == asked["max_entries"]:
            raise Full

    def fill(parent: Node, inside: Below, prefix: str) -> None:
        if parent["depth"] == asked["max_depth"]:
            parent["truncated"] = True
            return
        for name, what in ordered(inside):
            if shown(name, what, prefix + name, asked):
                node = node_of(name, prefix + name, parent["depth"] + 1, str(kind_of(what)))
                parent.setdefault("children", []).append(node)
                found.append(node)
                check()
                if isinstance(what, Mapping):
                    fill(node, what, f"{prefix}{name}/")

    limit_reached = False
    try:
        check()
        fill(root, at(below, start), "".join(f"{name}/" for name in start))
    except Full:
        limit_reached = True
    totals = [sum(node["kind"] == kind for node in found) for kind in ORDER]
    return {
        "root": root,
        "limit_reached": limit_reached,
        "scanned_entries": len(found),
        "total_dirs": totals[0],
        "total_files": totals[1],
        "total_symlinks": totals[2],
    }


def node_of(name: str, path: str, depth: int, kind: str) -> Node:
    return {"name": name, "path": path, "depth": depth, "kind": kind}


def kind_of(what: What) -> str | None:
    match what:
        case None:
            return None
        case int():
            return "file"
        case str():
            return "symlink"
        case _:
            return "directory"


def ordered(inside: Below) -> list[tuple[str, What]]:
    """Directories, files, links; each by UTF-16 code units (3.1); special files are no nodes."""

    def units(name: str) -> list[int]:
        raw = name.encode("utf-16-be", "surrogatepass")
        return [int.from_bytes(raw[i : i + 2]) for i in range(0, len(raw), 2)]

    return [
        (name, inside[name])
        for kind in ORDER
        for name in sorted((n for n in inside if kind_of(inside[n]) == kind), key=units)
    ]


def shown(name: str, what: What, path: str, asked: Asked) -> bool:
    """The filters, in the order of section 7."""
    if name in DEFAULT_EXCLUDES or any(glob_model.matches(glob, path) for glob in asked["exclude"]):
        return False
    if name.startswith(".") and not asked["include_hidden"]:
        return False
    return asked["entry_kind"] == "all" or isinstance(what, Mapping)


def canonical(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\udc80-\udcff]", "\ufffd", text)


@given(cases())
def test_any_tree_comes_out_as_the_contract_says(case: tuple[Below, dict[str, Any]]) -> None:
    below, arguments = case
    with planted(below) as root:
        reply = tree_of(root, **arguments)
        expected = model(below, arguments)
        assert data_of(reply) == expected
        assert reply.json == canonical(expected)
        assert reply.truncated == expected["limit_reached"]
        assert reply.warnings == ()
        assert tree_of(root, **arguments).json == reply.json


@FEWER
@given(cases(), st.integers(1, 12))
def test_a_smaller_max_entries_gives_the_first_nodes_of_a_larger_one(
    case: tuple[Below, dict[str, Any]], fewer: int
) -> None:
    below, arguments = case
    with planted(below) as root:
        larger = paths(tree_of(root, **arguments | {"max_entries": 1000}))
        smaller = paths(tree_of(root, **arguments | {"max_entries": fewer}))
    assert smaller == larger[:fewer]


@FEWER
@given(cases())
def test_directories_at_max_depth_and_no_others_are_truncated(
    case: tuple[Below, dict[str, Any]],
) -> None:
    below, arguments = case
    depth = arguments.get("max_depth", DEFAULTS["max_depth"])
    with planted(below) as root:
        reply = tree_of(root, **arguments | {"max_entries": 1000})
    for node in nodes(data_of(reply)["root"]):
        at_depth = node["kind"] == "directory" and node["depth"] == depth
        assert node.get("truncated", "absent") == (True if at_depth else "absent")
        assert node.get("children", "absent") != []


@FEWER
@given(cases())
def test_json_form_survives_a_reader_and_a_writer_byte_for_byte(
    case: tuple[Below, dict[str, Any]],
) -> None:
    below, arguments = case
    with planted(below) as root:
        text = tree_of(root, **arguments).json
    assert text
    assert json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) == text


@FEWER
@given(cases())
def test_nothing_of_the_outside_ever_appears(case: tuple[Below, dict[str, Any]]) -> None:
    below, arguments = case
    with planted(below) as root:
        reply = tree_of(root, **arguments | {"include_hidden": True, "max_depth": 12})
        assert OUTSIDE not in f"{reply.text}{reply.json}{reply.data}"
        assert str(root.parent) not in f"{reply.text}{reply.json}{reply.data}"


# ---------------------------------------------------------------------------- done


@pytest.fixture
def project(tree: Plant) -> Path:
    """A workspace with something of everything."""
    tree({OUTSIDE: ""}, "outside")
    return tree(
        {
            "src/lib/deep/deeper/f": "",
            "src/main.py": "",
            "docs/": None,
            "README.md": "",
            "in": {"link": "src"},
            "out": {"link": "../outside"},
            "dangling": {"link": "nothing"},
        }
    )


def kinds(reply: Reply) -> set[str]:
    return {str(node["kind"]) for node in nodes(data_of(reply)["root"])}


def test_dod_01_existing_directory_gives_its_root_and_at_least_one_scanned_entry(
    project: Path,
) -> None:
    for path in (".", "src", "docs"):
        data = data_of(tree_of(project, path=path))
        assert data["root"]["kind"] == "directory"
        assert data["root"]["depth"] == 0
        assert data["scanned_entries"] >= 1


def test_dod_02_without_entry_kind_there_are_directories_only(project: Path) -> None:
    reply = tree_of(project)
    assert reply.json == tree_of(project, entry_kind="directory").json
    assert kinds(reply) == {"directory"}
    assert data_of(reply)["total_files"] == data_of(reply)["total_symlinks"] == 0


def test_dod_03_entry_kind_all_gives_files_and_symlinks(project: Path) -> None:
    reply = tree_of(project, entry_kind="all")
    assert kinds(reply) == {"directory", "file", "symlink"}
    assert data_of(reply)["total_files"] == 2
    assert data_of(reply)["total_symlinks"] == 3


def test_dod_04_max_depth_0_gives_the_root_alone(project: Path) -> None:
    data = data_of(tree_of(project, max_depth=0, entry_kind="all"))
    root = {"name": ".", "path": ".", "depth": 0, "kind": "directory", "truncated": True}
    assert data["root"] == root
    assert data["scanned_entries"] == 1


def test_dod_05_directories_cut_by_max_depth_are_truncated(project: Path) -> None:
    data = data_of(tree_of(project, max_depth=2))
    cut = {node["path"] for node in nodes(data["root"]) if "truncated" in node}
    assert cut == {"src/lib"}


@pytest.mark.parametrize("most", range(1, 12))
def test_dod_06_max_entries_sets_limit_reached_and_nothing_more_comes(
    project: Path, most: int
) -> None:
    there = 10
    reply = tree_of(project, max_entries=most, entry_kind="all")
    data = data_of(reply)
    assert len(paths(reply)) == data["scanned_entries"] == min(most, there)
    assert data["limit_reached"] == (most <= there)


def test_dod_07_the_same_input_gives_the_same_order(tree: Plant) -> None:
    names = [f"{name}{n}" for n in range(20) for name in ("d", "D", "é")]
    one = tree({f"{name}/": None for name in names}, "one")
    other = tree({f"{name}/": None for name in reversed(names)}, "other")
    assert paths(tree_of(one)) == paths(tree_of(other)) == paths(tree_of(one))
    assert paths(tree_of(one)) == [".", *sorted(names)]


@pytest.mark.parametrize("path", [".", "src", "./src/lib/", "src//lib/deep", "docs/../src"])
def test_dod_08_paths_are_relative_to_the_workspace_and_never_absolute(
    project: Path, path: str
) -> None:
    found = paths(tree_of(project, path=path, entry_kind="all"))
    assert not any(p.startswith("/") or ".." in p.split("/") for p in found)
    assert all((project / p).lstat() for p in found)
    assert found[0] == os.path.normpath(path)


def test_dod_08_absolute_path_of_the_workspace_gives_relative_paths(project: Path) -> None:
    assert paths(tree_of(project, path=str(project / "src")))[:2] == ["src", "src/lib"]


def test_dod_09_symlinks_are_nodes_and_their_targets_are_not(project: Path) -> None:
    reply = tree_of(project, entry_kind="all", max_depth=12)
    links = [node for node in nodes(data_of(reply)["root"]) if node["kind"] == "symlink"]
    assert [node["path"] for node in links] == ["dangling", "in", "out"]
    assert all(set(node) == {"name", "path", "depth", "kind"} for node in links)
    assert not any(path.startswith(("in/", "out/")) for path in paths(reply))
    assert OUTSIDE not in reply.text


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("README.md", "NOT_DIRECTORY"),
        ("README.md/", "NOT_DIRECTORY"),
        ("in", "NOT_DIRECTORY"),
        ("in/", "NOT_DIRECTORY"),
        ("dangling", "NOT_DIRECTORY"),
        ("missing", "NOT_FOUND"),
        ("README.md/x", "NOT_FOUND"),
        ("src/missing/x", "NOT_FOUND"),
        ("x" * 256, "NOT_FOUND"),
        ("..", "SANDBOX_VIOLATION"),
        ("../outside", "SANDBOX_VIOLATION"),
        ("src/../../outside", "SANDBOX_VIOLATION"),
        ("/etc", "SANDBOX_VIOLATION"),
        ("out", "SANDBOX_VIOLATION"),
        ("out/missing", "SANDBOX_VIOLATION"),
        ("", "INVALID_ARGUMENT"),
        ("a\0b", "INVALID_ARGUMENT"),
        ("\ud800", "INVALID_ARGUMENT"),
        ("x/" * 2049, "INVALID_ARGUMENT"),
    ],
)
def test_dod_10_errors_have_the_codes_of_the_contract(
    project: Path, path: str, wanted: str
) -> None:
    reply = tree_of(project, path=path)
    assert code(reply) == wanted
    assert reply.text.isprintable()
    assert str(project) not in reply.text


def test_dod_10_special_file_is_no_directory(tree: Plant) -> None:
    assert code(tree_of(tree({"p": {"fifo": True}}), path="p")) == "NOT_DIRECTORY"


def test_dod_11_tool_is_registered_by_id_and_by_name() -> None:
    registry = discover()
    assert registry.id_of("workspace/tree") == registry.id_of("tree") == "workspace/tree"
    assert "workspace/tree" in {d["id"] for d in registry.definitions()}


DEFINITION = """{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "Directory path in workspace."},
    "entry_kind": {
      "type": "string",
      "enum": ["directory", "all"],
      "default": "directory",
      "description": "Node types to include (default: directory)."
    },
    "max_depth": {
      "type": "number",
      "default": 3,
      "description": "Maximum traversal depth (default: 3)."
    },
    "max_entries": {
      "type": "number",
      "default": 100,
      "description": "Maximum node count (default: 100)."
    },
    "include_hidden": {
      "type": "boolean",
      "default": false,
      "description": "Include dot-prefixed entries (default: false)."
    },
    "exclude": {
      "type": "array",
      "items": {"type": "string"},
      "description": "Glob patterns to exclude paths."
    }
  },
  "required": ["path"]
}"""


def test_dod_12_definition_is_that_of_section_4_4_word_for_word() -> None:
    definition = {d["id"]: d for d in discover().definitions()}["workspace/tree"]
    assert definition["name"] == "tree"
    assert (
        definition["description"]
        == "Returns a workspace tree: directories only or directories with files."
    )
    assert definition["schema_json"] == json.dumps(json.loads(DEFINITION), separators=(",", ":"))
    assert definition["parameters"] == json.loads(DEFINITION)
    assert not definition["side_effecting"]
    assert not definition["requires_approval"]


# ---------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": None},
        {"path": 1},
        {"entry_kind": "file"},
        {"entry_kind": "ALL"},
        {"entry_kind": True},
        {"max_depth": -1},
        {"max_depth": MAX_DEPTH + 1},
        {"max_depth": 1.5},
        {"max_depth": float("nan")},
        {"max_depth": "3"},
        {"max_depth": True},
        {"max_entries": 0},
        {"max_entries": MAX_ENTRIES + 1},
        {"max_entries": 1e400},
        {"include_hidden": "yes"},
        {"include_hidden": 1},
        {"exclude": "*.log"},
        {"exclude": [1]},
        {"exclude": [""]},
        {"exclude": ["a", "[a"]},
        {"exclude": ["{a,b"]},
        {"exclude": ["a\0"]},
        {"exclude": ["a"] * 101},
        {"exclude": ["{1..100000000}"]},
    ],
)
def test_bad_arguments_are_refused_before_the_file_system_is_touched(
    project: Path, arguments: dict[str, object]
) -> None:
    reply = tree_of(project, **{"path": "missing"} | arguments)
    assert code(reply) == "INVALID_ARGUMENT"
    assert next(iter(arguments)) in reply.text
    assert reply.text.isprintable()


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_depth": 0},
        {"max_depth": MAX_DEPTH},
        {"max_depth": 3.0},
        {"max_entries": 1},
        {"max_entries": MAX_ENTRIES},
        {"exclude": []},
        {"exclude": None, "max_depth": None, "entry_kind": None, "include_hidden": None},
    ],
)
def test_arguments_at_their_limits_are_taken(project: Path, arguments: dict[str, object]) -> None:
    assert tree_of(project, **arguments).ok


def test_defaults_are_three_levels_and_a_hundred_nodes(tree: Plant) -> None:
    root = tree({f"d{n:03}/a/b/c/": None for n in range(40)})
    assert data_of(tree_of(root)) == data_of(
        tree_of(root, entry_kind="directory", max_depth=3, max_entries=100, include_hidden=False)
    )
    assert data_of(tree_of(root))["scanned_entries"] == 100
    assert max(node["depth"] for node in nodes(data_of(tree_of(root))["root"])) == 3


def test_root_itself_is_never_filtered(tree: Plant) -> None:
    root = tree({".git/a/": None, "x/": None})
    assert paths(tree_of(root, path=".git")) == [".git", ".git/a"]
    assert paths(tree_of(root, path="x", exclude=["x"])) == ["x"]


@pytest.mark.parametrize("pattern", ["./a/*.c", "a/[[...slug]]/*.c", "a/[b]/*.c"])
def test_patterns_as_a_shell_takes_them_exclude(tree: Plant, pattern: str) -> None:
    root = tree({"a/x.c": "", "a/s]/x.c": "", "a/b/x.c": "", "x.c": ""})
    gone = {"./a/*.c": "a/x.c", "a/[[...slug]]/*.c": "a/s]/x.c", "a/[b]/*.c": "a/b/x.c"}
    whole = paths(tree_of(root, entry_kind="all"))
    reply = tree_of(root, entry_kind="all", exclude=[pattern])
    assert paths(reply) == [path for path in whole if path != gone[pattern]]
    assert reply.warnings == ()


def test_exclude_that_can_match_is_not_warned_of(tree: Plant) -> None:
    patterns = ["x/", "**/", "./x", "\\!x", "a!", "...", "[!a]", "**/..x/**"]
    assert tree_of(tree({"x": ""}), exclude=patterns).warnings == ()


@pytest.mark.parametrize("name", sorted(DEFAULT_EXCLUDES))
@pytest.mark.parametrize("content", [None, "", {"link": "nothing"}])
def test_default_excludes_hold_at_any_depth_and_for_any_kind(
    tree: Plant, name: str, content: object
) -> None:
    end = "" if content is not None else "/"
    root = tree({f"{name}{end}": content, f"a/b/{name}{end}": content, f"{name}x": ""})
    found = paths(tree_of(root, entry_kind="all", include_hidden=True))
    assert found == [".", "a", "a/b", f"{name}x"]


def test_default_excludes_are_those_of_the_contract() -> None:
    named = {".git", "node_modules", "dist", "build", "target", ".vscode", ".DS_Store"}
    assert named == DEFAULT_EXCLUDES


def test_names_sort_by_utf_16_code_units(tree: Plant) -> None:
    names = ["B", "a", "é", "\U0001f600", "\udcff", "\uff5e"]
    root = tree({f"{name}/": None for name in reversed(names)} | {"0": "", "1": {"link": "0"}})
    assert paths(tree_of(root, entry_kind="all")) == [".", *names, "0", "1"]


def test_special_files_are_no_nodes(tree: Plant) -> None:
    root = tree({"p": {"fifo": True}, "f": ""})
    assert paths(tree_of(root, entry_kind="all")) == [".", "f"]


# ---------------------------------------------------------------------------- faults and bounds


def unreadable(root: Path, **arguments: object) -> tuple[object, str, tuple[str, ...], object]:
    """The answer to a user without privileges."""
    reply = unprivileged(lambda: tree_of(root, **arguments))
    return reply.data and data_of(reply), reply.text, reply.warnings, reply.error


@pytest.mark.parametrize("mode", [0, 0o311])
def test_unreadable_directory_is_a_node_without_children_and_a_warning(
    tree: Plant, mode: int
) -> None:
    root = tree({"a/x/": None, "b/x/": None})
    (root / "a").chmod(mode)
    data, text, warnings, _ = unreadable(root)
    assert data == model({"a": {}, "b": {"x": {}}}, {"path": "."})
    assert warnings == ("Directory 'a' cannot be read: its children are missing",)
    assert text.endswith("[cannot be read: a]\n")


def test_unreadable_directory_at_max_depth_is_not_looked_into(tree: Plant) -> None:
    root = tree({"a/": None})
    (root / "a").chmod(0)
    data, _, warnings, _ = unreadable(root, max_depth=1)
    assert data == model({"a": {}}, {"path": ".", "max_depth": 1})
    assert warnings == ()


def test_unreadable_root_is_an_error_that_says_so(tree: Plant) -> None:
    root = tree({"a/": None})
    (root / "a").chmod(0)
    _, text, _, error = unreadable(root, path="a")
    assert isinstance(error, dict)
    assert error["code"] == "INTERNAL"
    assert text == "Error: Path 'a' cannot be read: permission denied"


def test_directory_that_vanishes_while_the_tree_is_read_is_a_node_and_a_warning(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a/": None, "b/x/": None})
    real = os.open

    def vanishing(path: str, flags: int, *mode: int, dir_fd: int | None = None) -> int:
        if path == "a":
            (root / "a").rmdir()
        return real(path, flags, *mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", vanishing)
    reply = tree_of(root)
    assert paths(reply) == [".", "a", "b", "b/x"]
    assert len(reply.warnings) == 1


def test_fault_of_the_system_in_a_directory_never_fails_the_call(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a/": None, "b/x/": None})
    real = os.open

    def failing(path: str, flags: int, *mode: int, dir_fd: int | None = None) -> int:
        if path == "a":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(path, flags, *mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", failing)
    assert paths(tree_of(root)) == [".", "a", "b", "b/x"]


def test_time_that_is_up_gives_the_tree_so_far_and_says_so(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a/b/": None, "c/d/": None})
    whole = paths(tree_of(root))
    partial = set()
    for moment in range(1, 40):
        ticks = count()
        clock = SimpleNamespace(monotonic=lambda ticks=ticks: next(ticks) / 1000)
        monkeypatch.setattr(budget, "time", clock)
        monkeypatch.setattr(server, "time", clock)
        reply = tree_of(root, {"deadline_ms": moment})
        found = paths(reply)
        assert found == [path for path in whole if path in found]
        if found != whole:
            assert reply.truncated
            assert reply.warnings == ("The time was up before the tree was complete",)
            assert "[stopped as the time was up: " in reply.text
            assert not data_of(reply)["limit_reached"]
            partial.add(len(found))
    assert found == whole
    assert not reply.truncated
    assert len(partial) > 1


def test_cancelled_call_is_an_error(project: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    context = {"root": str(project)}
    reply = SERVER.call("workspace/tree", {"path": "."}, context, cancelled)
    assert code(reply) == "CANCELLED"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The names that are opened from now on."""
    paths: list[object] = []
    real = os.open

    def noting(path: object, *arguments: Any, **options: Any) -> int:  # noqa: ANN401
        paths.append(path)
        return real(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", noting)
    return paths


@pytest.mark.check(15)
def test_deep_tree_costs_no_more_than_its_first_levels(tree: Plant, opened: list[object]) -> None:
    root = tree({"deep/" * 80 + "f": ""})
    opened.clear()
    reply = tree_of(root, max_depth=MAX_DEPTH, max_entries=MAX_ENTRIES)
    assert data_of(reply)["scanned_entries"] == MAX_DEPTH + 1
    assert opened.count("deep") == MAX_DEPTH - 1


def test_wide_tree_costs_no_more_than_the_nodes_that_are_returned(
    tree: Plant, opened: list[object]
) -> None:
    root = tree({f"d{n:03}/e/": None for n in range(200)})
    opened.clear()
    assert data_of(tree_of(root, max_entries=10))["limit_reached"]
    assert len([path for path in opened if str(path).startswith("d")]) <= 10


def test_nothing_is_statted_for_a_node(tree: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({f"d{n}/f": "" for n in range(50)} | {"l": {"link": "d1"}})
    statted = []
    real = os.stat

    def noting(path: Any, **options: Any) -> os.stat_result:  # noqa: ANN401
        statted.append(path)
        return real(path, **options)

    monkeypatch.setattr(os, "stat", noting)
    assert data_of(tree_of(root, entry_kind="all", max_entries=1000))["scanned_entries"] == 102
    assert not [path for path in statted if not str(path).startswith("/")]
