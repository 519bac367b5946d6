"""Agent-Q's project root, and its recursive tools against plain models."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.fs.root import Root
from backstaff.names import suggestions
from backstaff.render.names import show
from backstaff.render.sizes import show_size
from backstaff.server import Reply
from backstaff.tool import Context, Tool
from backstaff.tools.agent_q import directory_tree, search_files
from tests.py.examples import examples
from tests.py.processes import unprivileged
from tests.py.replies import code
from tests.py.servers import server_at
from tests.py.tools.random_trees import OUTSIDE, Below, planted, trees
from tests.py.trees import Plant

FEWER = examples(1 / 3)
RECURSIVE = ("directory_tree", "search_files")


def asked(root: Path, name: str, context: object = None, **arguments: object) -> Reply:
    """The reply of the tool `name` below `root`; search_files finds everything by default."""
    everything = {"pattern": "*"} if name == "search_files" else {}
    return server_at(root).call(f"agent-q/{name}", everything | arguments, context)


def shown_tree(root: Path, context: object = None, **arguments: object) -> Reply:
    return asked(root, "directory_tree", context, **arguments)


def found(root: Path, pattern: str, context: object = None, **arguments: object) -> Reply:
    return asked(root, "search_files", context, pattern=pattern, **arguments)


def entries(reply: Reply) -> list[dict[str, Any]]:
    """The rows of the data."""
    assert reply.data, reply.text
    rows = reply.data["entries"]
    assert isinstance(rows, list)
    return rows


def paths(reply: Reply) -> list[str]:
    return [row["path"] for row in entries(reply)]


# ---------------------------------------------------------------------------- the project root


@pytest.mark.parametrize(
    ("content", "method", "words", "marker"),
    [
        ({".git/": None, "a.asd": ""}, "git", "Git repository root (.git directory)", ".git"),
        ({".git": "gitdir: /x"}, "git", "Git repository root (.git file)", ".git"),
        ({".git": {"link": "x"}}, "git", "Git repository root (.git symlink)", ".git"),
        (
            {".git": {"fifo": True}},
            "configured",
            "Given by the client (no .git and no .asd file found there)",
            None,
        ),
        ({"z.asd": "", "a.asd": ""}, "asdf", "ASDF system directory", "a.asd"),
        (
            {"a.asd/": None, "src/b.asd": ""},
            "configured",
            "Given by the client (no .git and no .asd file found there)",
            None,
        ),
        (
            {"inner/.git/": None},
            "configured",
            "Given by the client (no .git and no .asd file found there)",
            None,
        ),
    ],
)
def test_root_says_how_it_is_known(
    tree: Plant, content: Mapping[str, object], method: str, words: str, marker: str | None
) -> None:
    root = tree(content)
    reply = asked(root, "get_project_root")
    assert reply.text == f"Project root: {root}/\n\nDetection method: {words}"
    assert reply.data == {"path": f"{root}/", "method": method, "marker": marker}


def test_root_below_a_repository_is_not_that_repository(tree: Plant) -> None:
    root = tree({".git/": None, "src/a": ""})
    assert (
        "Given by the client (no .git and no .asd file found there)"
        in asked(root / "src", "get_project_root").text
    )


def test_root_is_the_trusted_sides_whatever_a_model_says(tree: Plant) -> None:
    root = tree({"inner/": None})
    arguments = {"path": "inner", "root": "/etc"}
    reply = server_at(root).call("agent-q/get_project_root", arguments)
    assert reply.text.startswith(f"Project root: {root}/\n")
    elsewhere = asked(root, "get_project_root", {"root": str(root / "inner")})
    assert elsewhere.text.startswith(f"Project root: {root}/inner/\n")


def test_root_that_cannot_be_read_is_still_named(tree: Plant) -> None:
    root = tree({"a.asd": ""})
    root.chmod(0o311)
    reply = unprivileged(lambda: asked(root, "get_project_root"))
    assert "Given by the client (no .git and no .asd file found there)" in reply.text
    root.chmod(0o755)


def test_odd_root_is_one_visible_line(tree: Plant) -> None:
    root = tree({}, "a\n\nDetection method: forged")
    assert asked(root, "get_project_root").text.count("\n") == 2


# ---------------------------------------------------------------------------- models

PATTERNS = (
    "a",
    ".git",
    "*.log",
    "a*",
    "*",
    "*b*",
    "**",
    "",
    "x/y",
    "node_modules",
    "é*",
    "*\udcff",
)
patterns = st.lists(st.sampled_from(PATTERNS), max_size=3)


def left_out(name: str, exclude: list[str]) -> bool:
    """Whether a pattern is the name, or ends or begins with a star and the rest fits."""
    for pattern in exclude:
        if pattern == "*" or (pattern == name and "*" not in pattern):
            return True
        if re.fullmatch(r"\*[^*]+", pattern) and name.endswith(pattern[1:]):
            return True
        if re.fullmatch(r"[^*]+\*", pattern) and name.startswith(pattern[:-1]):
            return True
    return False


def walked(below: Below, exclude: list[str], above: str = "") -> Iterator[tuple[str, object]]:
    """Everything `below` in order, with its path."""

    def order(name: str) -> tuple[bool, str, str]:
        return not isinstance(below[name], Mapping), name.casefold(), name

    for name in sorted(below, key=order):
        if not left_out(name, exclude):
            what = below[name]
            yield f"{above}{name}", what
            if isinstance(what, Mapping):
                yield from walked(what, exclude, f"{above}{name}/")


def tree_text(root: Path, below: Below, exclude: list[str]) -> str:
    """The answer of directory_tree."""
    rows = [f"[DIR]  {root.name}/\n"]
    for path, what in walked(below, exclude):
        if ".git" in path.split("/")[:-1]:
            continue
        name = show(path.rpartition("/")[2])
        size = show_size((root / path).lstat().st_size)
        row = f"[DIR]  {name}/" if isinstance(what, Mapping) else f"[FILE] {name} ({size})"
        closed = " (not opened: give it as path)" if row == "[DIR]  .git/" else ""
        rows.append("  " * (path.count("/") + 1) + row + closed + "\n")
    return f"Directory tree: {root}/\n\n{excluding(exclude)}" + "".join(rows)


def excluding(exclude: list[str]) -> str:
    """The lines about the patterns: all are echoed, and those without effect are named."""
    if not exclude:
        return ""
    idle = [pattern for pattern in exclude if pattern in ("*b*", "**", "", "x/y")]
    verb = "excludes" if len(idle) == 1 else "exclude"
    told = f"... {', '.join(map(repr, idle))} {verb} nothing: {FORMS}\n" if idle else ""
    return f"Excluding: {', '.join(map(show, exclude))}\n{told}\n"


def test_git_is_opened_only_as_the_path(tree: Plant) -> None:
    root = tree({".git/objects/ab": "", "src/.git": "", "src/a": ""})
    reply = shown_tree(root)
    assert "  [DIR]  .git/ (not opened: give it as path)\n  [DIR]  src/\n" in reply.text
    assert reply.data is not None
    assert reply.data["total"] == 4, reply.text
    assert "objects/\n" in shown_tree(root, path=".git").text


FORMS = "a pattern is a name, '*suffix' or 'prefix*', without a slash"


@given(below=trees, exclude=patterns)
def test_tree_is_that_of_the_model(below: Below, exclude: list[str]) -> None:
    with planted(below) as root:
        reply = shown_tree(root, exclude_patterns=exclude)
        assert reply.text == tree_text(root, below, exclude)
        assert OUTSIDE not in reply.text
        assert paths(reply) == [path for path, _ in walked(below, exclude)]
        assert not reply.truncated


def fits(pattern: str, path: str) -> bool:
    """Whether `pattern`, of segments of letters, `?`, `*` and `**`, fits `path`; by trying all."""
    if "/" not in pattern:
        return segment_fits(pattern, path.rpartition("/")[2])
    return segments_fit(pattern.split("/"), path.split("/"))


def segments_fit(pattern: list[str], names: list[str]) -> bool:
    if not pattern:
        return not names
    first, *rest = pattern
    if first == "**":
        if not rest:
            return bool(names)
        return any(segments_fit(rest, names[start:]) for start in range(len(names)))
    return bool(names) and segment_fits(first, names[0]) and segments_fit(rest, names[1:])


def segment_fits(pattern: str, name: str) -> bool:
    regex = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern)
    return re.fullmatch(regex, name, re.DOTALL) is not None


segments = st.text(st.sampled_from("ab.cé@*?[]{}\\,g"), min_size=1, max_size=5) | st.just("**")
globs = st.lists(segments, min_size=1, max_size=3).map("/".join)


@given(below=trees, pattern=globs, exclude=patterns)
def test_search_finds_the_same_as_the_model(below: Below, pattern: str, exclude: list[str]) -> None:
    with planted(below) as root:
        reply = found(root, pattern, exclude_patterns=exclude)
        expected = [
            path
            for path, what in walked(below, exclude)
            if not isinstance(what, Mapping) and fits(pattern, path)
        ]
        assert paths(reply) == expected
        lines = [line for line in reply.text.splitlines() if line.startswith("  ")]
        assert lines == [f"  {show(path)}" for path in expected]
        many = f"Found {len(expected)} file{'' if len(expected) == 1 else 's'} matching "
        assert reply.text.startswith(many if expected else "No files found matching pattern ")


# ---------------------------------------------------------------------------- forms


def test_search_has_the_words_of_agent_q(tree: Plant) -> None:
    root = tree({"a.lisp": "", "src/b.lisp": "", "src/c.el": ""})
    assert found(root, "*.lisp").text == (
        "Found 2 files matching '*.lisp':\n\n  src/b.lisp\n  a.lisp\n"
    )
    assert found(root, "*.el").text == "Found 1 file matching '*.el':\n\n  src/c.el\n"
    assert found(root, "*.md").text == (
        "No files found matching pattern '*.md'\n... 3 files were searched in ./"
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src/*.lisp", ["src/b.lisp"]),
        ("**/*.lisp", ["src/tools/c.lisp", "src/b.lisp", "a.lisp"]),
        ("**/tools/*.lisp", ["src/tools/c.lisp"]),
        ("src/**", ["src/tools/c.lisp", "src/b.lisp"]),
        ("**", ["src/tools/c.lisp", "src/b.lisp", "a.lisp", "x[1].md"]),
        ("*i*", ["src/tools/c.lisp", "src/b.lisp", "a.lisp"]),
        ("?.lisp", ["src/tools/c.lisp", "src/b.lisp", "a.lisp"]),
        ("./a.lisp", ["a.lisp"]),
        ("x[1].md", ["x[1].md"]),
        ("tools", []),
    ],
)
def test_patterns_that_agent_q_promises_work(
    tree: Plant, pattern: str, expected: list[str]
) -> None:
    root = tree({"a.lisp": "", "src/b.lisp": "", "src/tools/c.lisp": "", "x[1].md": ""})
    assert paths(found(root, pattern)) == expected


def test_search_is_relative_to_its_path(tree: Plant) -> None:
    root = tree({"src/tools/c.lisp": "", "tools/d.lisp": ""})
    reply = found(root, "tools/*.lisp", path="src")
    assert paths(reply) == ["tools/c.lisp"]
    assert reply.data
    assert reply.data["path"] == f"{root}/src/"


def test_brackets_without_a_match_are_explained(tree: Plant) -> None:
    root = tree({"a.ts": ""})
    assert found(root, "*.{ts,js}").text == (
        "No files found matching pattern '*.{ts,js}'\n"
        "... only * and ? and **/ are special in a pattern, brackets and braces are not\n"
        "... the nearest names: a.ts"
    )


def test_patterns_that_exclude_nothing_are_named_beside_files_found(tree: Plant) -> None:
    root = tree({"a.c": ""})
    idle = ["*a*", "b/c", *"12345"]
    many = [f"{name}*x" for name in idle]
    assert found(root, "*", exclude_patterns=["*a*", "b"]).text == (
        f"Found 1 file matching '*':\n\n  a.c\n... '*a*' excludes nothing: {FORMS}\n"
    )
    last = found(root, "*", exclude_patterns=many).text.splitlines()[-1]
    assert last.endswith(f"'3*x' and 2 more exclude nothing: {FORMS}")
    assert found(root, "*", exclude_patterns=["b"]).text.endswith("  a.c\n")


def test_search_among_excluded_files_ends_in_time(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"x/a.c": "", "y": ""})
    assert "exclude_patterns leave out" in found(root, "*.c", exclude_patterns=["x"]).text
    monkeypatch.setattr(suggestions, "SECONDS", -1)
    assert found(root, "*.c", exclude_patterns=["x"]).text.endswith("... 1 file was searched in ./")


def test_reasons_are_looked_for_only_in_time(tree: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.c": ""})
    assert "without regard to case" in found(root, "*.C").text
    monkeypatch.setattr(suggestions, "SECONDS", -1)
    assert found(root, "*.C").text.endswith("... 1 file was searched in ./")


def test_reasons_keep_within_any_limit(tree: Plant) -> None:
    root = tree({f"d/{number}{'a' * 90}": "" for number in range(9)})
    whole = found(root, "d/*A", exclude_patterns=["x/y"]).text
    head, *rest = whole.splitlines()
    shown = set()
    for limit in range(64, len(whole) + 2):
        text = found(root, "d/*A", {"max_output_bytes": limit}, exclude_patterns=["x/y"]).text
        assert len(text) <= limit
        assert text == whole or text.endswith(f"\n[cut to {limit} bytes]\n")
        shown.add(text.removesuffix(f"\n[cut to {limit} bytes]\n"))
    assert shown == {head, f"{head}\n{rest[0]}", whole}


def test_pattern_that_cannot_be_used_is_refused(tree: Plant) -> None:
    root = tree({"a": ""})
    for pattern in ("", "a\0", "x" * 2000):
        reply = found(root, pattern)
        assert code(reply) == "INVALID_ARGUMENT"
        assert "Argument 'pattern': " in reply.text
    assert code(server_at(root).call("agent-q/search_files", {})) == "INVALID_ARGUMENT"


def test_pattern_is_echoed_on_one_visible_line(tree: Plant) -> None:
    for pattern in ("a'b\n  forged", "\u202e*", "it's"):
        reply = found(tree({"a": ""}), pattern)
        head, *_ = reply.text.split("\n")
        assert head.isprintable()
        assert json.dumps(pattern) in head


def test_pattern_of_many_stars_costs_no_time(tree: Plant) -> None:
    root = tree({"a" * 250: ""})
    assert paths(found(root, "*a" * 60 + "*b")) == []


def test_link_is_a_file_and_is_not_followed(tree: Plant) -> None:
    outside = tree({"secret": "x" * 9999}, "outside")
    root = tree({"l": {"link": str(outside)}, "up": {"link": "."}})
    assert paths(found(root, "*")) == ["l", "up"]
    rows = entries(shown_tree(root))
    assert [(row["path"], row["kind"], row["target"]) for row in rows] == [
        ("l", "symlink", str(outside)),
        ("up", "symlink", "."),
    ]
    assert "secret" not in shown_tree(root).text


def test_tree_of_the_file_systems_root_has_a_row_for_it() -> None:
    context = {"root": "/", "max_output_bytes": 300}
    reply = server_at("/").call("agent-q/directory_tree", {"exclude_patterns": ["*"]}, context)
    assert reply.text == "Directory tree: /\n\nExcluding: *\n\n[DIR]  /\n"


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("name", RECURSIVE)
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../x", "Path '../x' is outside project root"),
        ("out", "Path 'out' is outside project root"),
        ("gone", "Directory 'gone' not found"),
        ("f/gone", "Directory 'f/gone' not found"),
        ("f", "'f' is a file, not a directory"),
        ("f/", "'f/' is a file, not a directory"),
        ("a\0", "Argument 'path' is no path: the path holds a NUL character"),
    ],
)
def test_path_is_refused_in_the_familys_words(
    tree: Plant, name: str, path: str, words: str
) -> None:
    root = tree({"f": "", "out": {"link": "/etc"}})
    assert asked(root, name, path=path).text == f"Error: {words}"


@pytest.mark.parametrize("name", RECURSIVE)
def test_directory_that_cannot_be_read_is_reported(tree: Plant, name: str) -> None:
    root = tree({"closed/f": "", "open/g": ""})
    (root / "closed").chmod(0o000)
    reply = unprivileged(lambda: asked(root, name))
    refused = unprivileged(lambda: asked(root, name, path="closed"))
    (root / "closed").chmod(0o755)
    assert refused.text == "Error: Cannot read directory 'closed'"
    assert reply.data
    assert reply.data["unreadable"] == 1
    told = {
        "directory_tree": "\n  [DIR]  closed/ (cannot be read)\n  [DIR]  open/\n",
        "search_files": "\n  open/g\n... cannot be read: closed\n",
    }
    assert told[name] in reply.text


# ---------------------------------------------------------------------------- budget


@pytest.fixture
def project(tree: Plant) -> Path:
    """A root with names of different lengths at different depths."""
    return tree(
        {
            "日本語/a/b/c/": None,
            "日本語/with  blanks\n": "x" * 3000,
            "long/" + "z" * 120: "",
            "long/short": "",
            "l": {"link": "long/" + "z" * 120},
            **{f"many/{number:02}": "" for number in range(40)},
        }
    )


@pytest.mark.parametrize("name", RECURSIVE)
def test_text_keeps_within_any_limit_in_whole_rows(project: Path, name: str) -> None:
    whole = asked(project, name)
    size = len(whole.text.encode())
    every = whole.text.splitlines()
    shown: dict[bool, list[int]] = {False: [], True: []}
    for limit in (*range(0, size, 3), size, size + 1):
        reply = asked(project, name, {"max_output_bytes": limit})
        assert reply.data
        count, total = len(entries(reply)), reply.data["total"]
        assert paths(reply) == paths(whole)[:count]
        assert reply.truncated == (count < len(entries(whole)))
        assert total == len(entries(whole))
        assert len(reply.text.encode()) <= max(limit, 64)
        *kept, last = reply.text.splitlines()
        if last == f"[cut to {max(limit, 64)} bytes]" or not kept:
            assert not count
        elif reply.truncated:
            assert kept == every[: len(kept)]
            assert last.startswith(f"... {len(entries(whole)) - count} more ")
            assert f"left out for a limit of {limit} bytes: " in last
        else:
            assert reply.text == whole.text
        shown[": workspace/search_files" in reply.text].append(count)
        assert (limit < size) == reply.truncated
    for with_remedy in (False, True):
        assert shown[with_remedy] == sorted(shown[with_remedy]), "a higher limit shows less"
    assert (shown[False][0], shown[False][-1]) == (0, len(entries(whole)))


def test_nothing_is_statted_that_is_not_shown(tree: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({f"{number:03}": "" for number in range(300)})
    looked: list[str] = []
    monkeypatch.setattr(directory_tree, "lstat_or_none", lambda name, _: looked.append(name))
    reply = shown_tree(root, {"max_output_bytes": 500})
    assert len(entries(reply)) <= len(looked) < 30


def run_late(tool: Tool[Any], root: Path) -> Any:  # noqa: ANN401
    """The result of `tool` when its time is up before it begins."""
    values = {p.name: "*" if p.required else p.absent for p in tool.parameters}
    with Root(str(root)) as opened:
        settings = tool.settings()
        context = Context(root=opened, budget=Budget(deadline=0), settings=settings)
        return tool.run(tool.arguments(**values), context)


def test_late_answers_say_so(tree: Plant) -> None:
    root = tree({"a": ""})
    late = run_late(directory_tree.TOOL, root)
    assert late.truncated
    assert late.text.endswith("[DIR]  R/\n... not read to its end, as the time was up\n")
    late = run_late(search_files.TOOL, root)
    assert late.truncated
    assert late.text == (
        "No files found matching pattern '*'\n... not searched to its end, as the time was up"
    )


@pytest.mark.parametrize("name", [*RECURSIVE, "get_project_root"])
def test_cancelled_call_says_so(tree: Plant, name: str) -> None:
    cancelled = threading.Event()
    cancelled.set()
    reply = server_at(tree({"f": ""})).call(f"agent-q/{name}", {"pattern": "*"}, None, cancelled)
    assert code(reply) == "CANCELLED"


@FEWER
@given(below=trees, exclude=patterns, limit=st.integers(0, 2000))
def test_rows_in_the_text_are_those_in_the_data(
    below: Below, exclude: list[str], limit: int
) -> None:
    with planted(below) as root:
        for name in RECURSIVE:
            reply = asked(root, name, {"max_output_bytes": limit}, exclude_patterns=exclude)
            rows = [line for line in reply.text.splitlines() if line.startswith("  ")]
            assert len(rows) == len(entries(reply))
