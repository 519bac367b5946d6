"""The text and the data of workspace/tree beyond contract 001, for models and for people."""

import json
import re
from typing import Any

import pytest
from hypothesis import given

from tests.py.tools.random_trees import Below, planted
from tests.py.tools.tree_calls import FEWER, cases, data_of, nodes, tree_of
from tests.py.trees import Plant

WORD = re.compile(r'("(?:[^"\\]|\\.)*"|[^ "]+?)(/…|/|@|)(?:[ ]|$)')
KINDS = {"/…": "directory", "/": "directory", "@": "symlink", "": "file"}


def words(line: str) -> list[tuple[str, str]]:
    """The names of a `line`, read as a client would, with the marks after them."""
    found = list(WORD.finditer(line))
    assert "".join(match[0] for match in found) == line
    return [(json.loads(m[1]) if m[1].startswith('"') else m[1], m[2]) for m in found]


def told(text: str) -> dict[str, str]:
    """The path and mark of each node that the lines of `text` name."""
    marks: dict[str, str] = {}
    for line in text.split("\n")[1:-1]:
        if not line.startswith("["):
            (directory, slash), *names = words(line)
            assert slash == "/"
            prefix = "" if directory == "." else f"{directory}/"
            # A line with missing names ends with their number: a name such as +1 is quoted.
            if re.search(r" (\+\d+|…)$", line):
                names.pop()
            marks |= {prefix + name: mark for name, mark in names}
    return marks


@FEWER
@given(cases())
def test_every_line_of_the_text_reads_back_to_existing_paths(
    case: tuple[Below, dict[str, Any]],
) -> None:
    below, arguments = case
    with planted(below) as root:
        reply = tree_of(root, **arguments)
        marks = told(reply.text)
        for path in marks:
            (root / path).lstat()
    _, *rest = nodes(data_of(reply)["root"])
    assert {path: KINDS[mark] for path, mark in marks.items()} == {
        n["path"]: n["kind"] for n in rest
    }
    # The limit may fall before a directory is opened: it is the last node then, and not truncated.
    unopened = {node["path"] for node in rest if "truncated" in node}
    if data_of(reply)["limit_reached"] and rest and rest[-1]["kind"] == "directory":
        unopened.add(rest[-1]["path"])
    assert {path for path, mark in marks.items() if mark == "/…"} == unopened
    assert reply.text.endswith("\n")
    assert re.sub("[\n ]", "", reply.text).isprintable()


def test_text_names_the_children_of_each_directory_on_a_line_of_its_own(tree: Plant) -> None:
    root = tree({"a/b/c": "", "a/x y": "", "d/": None, "l": {"link": "a"}, "@": "", "n\nl": ""})
    assert tree_of(root, entry_kind="all", max_depth=2).text == (
        "Tree of ./ with 4 directories, 3 files, 1 symlink, itself included\n"
        './ a/ d/ "@" "n\\nl" l@\n'
        'a/ b/… "x y"\n'
        "[dir/… is not opened: give it as path, or raise max_depth (at most 12)]\n"
    )


def test_text_names_the_cut_and_the_remedy(tree: Plant) -> None:
    root = tree({"a/b/c": "", "d/e": "", "f": "", "g": ""})
    assert tree_of(root, entry_kind="all", max_depth=1, max_entries=4).text == (
        "Tree of ./ with 3 directories, 1 file, itself included\n"
        "./ a/… d/… f +1\n"
        "[stopped at max_entries 4: there may be more; raise it (at most 1000)]\n"
        "[dir/… is not opened: give it as path, or raise max_depth (at most 12)]\n"
    )
    assert tree_of(root, entry_kind="all", max_entries=3).text == (
        "Tree of ./ with 3 directories, itself included\n"
        "./ a/ +3\n"
        "a/ b/…\n"
        "[stopped at max_entries 3: there may be more; raise it (at most 1000)]\n"
        "[a line that ends with +N or … misses names: give its directory as path with"
        " max_depth=1, max_entries=1000]\n"
        "[dir/… is not opened: give it as path]\n"
    )


def test_file_that_is_called_like_a_count_is_quoted(tree: Plant) -> None:
    root = tree({"+6": "", "+x": ""})
    assert './ "+6" +x\n' in tree_of(root, entry_kind="all").text


def test_count_of_missing_names_adds_those_that_the_budget_cuts(tree: Plant) -> None:
    root = tree({f"file-{number}": "" for number in range(50)})
    reply = tree_of(root, {"max_output_bytes": 600}, entry_kind="all", max_entries=40)
    line = reply.text.splitlines()[1]
    *shown, end = line.split()[1:]
    assert end == f"+{50 - len(shown)}", reply.text


def test_names_that_are_never_shown_are_said(tree: Plant) -> None:
    root = tree({"build/x": "", "src/dist/y": "", "src/a": "", ".git/HEAD": ""})
    note = "[left out by rule: build src/dist; give one as path to see it]\n"
    assert tree_of(root, entry_kind="all").text.endswith(note)
    below = tree_of(root, path="src", entry_kind="all").text
    assert "[left out by rule: src/dist; give one as path to see it]\n" in below
    assert tree_of(root, path="src/dist", entry_kind="all").text.splitlines()[1] == "src/dist/ y"
    hidden = tree_of(root, entry_kind="all", include_hidden=True).text
    assert "[left out by rule: .git build src/dist;" in hidden


def test_data_count_the_missing_names_and_the_json_is_the_contracts(tree: Plant) -> None:
    root = tree({"a/b/c": "", "a/b/d": "", "a/x": "", "e": "", "f": "", "build/": None})
    reply = tree_of(root, entry_kind="all", max_entries=4)
    assert reply.data is not None
    assert reply.data["missing"] == [
        {"path": ".", "count": 2},
        {"path": "a", "count": 1},
        {"path": "a/b", "count": 1},
    ]
    assert reply.data["left_out"] == ["build"]
    assert json.loads(str(reply.json)).keys() == data_of(reply).keys()


def test_remedy_raises_no_depth_beyond_the_maximum(tree: Plant) -> None:
    text = tree_of(tree({"d/" * 13: None}), max_depth=12).text
    assert text.endswith("[dir/… is not opened: give it as path]\n")


def test_text_of_a_whole_tree_says_of_no_cut(tree: Plant) -> None:
    assert "[" not in tree_of(tree({"a/b": "", "c": ""}), entry_kind="all").text


SAMPLES: list[dict[str, object]] = [
    {},
    {f"d{n}/f{m}": "" for n in range(4) for m in range(3)},
    {"n\nl/é/x y": "", "\U0001f600/…": "", "b/\udcff": "", "link": {"link": "b"}},
    {"a/b/c/d/e": "", "f/g/h/i": ""},
]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("arguments", [{}, {"max_entries": 4}])
def test_every_text_budget_keeps_whole_names_and_says_how_many_lines_are_left_out(
    tree: Plant, sample: dict[str, object], arguments: dict[str, object]
) -> None:
    root = tree(sample)
    whole = tree_of(root, entry_kind="all", **arguments)
    every = [line.split(" ") for line in whole.text.splitlines() if not line.startswith("[")]
    kept_before = 0
    for limit in range(64, len(whole.text.encode()) + 2):
        reply = tree_of(root, {"max_output_bytes": limit}, entry_kind="all", **arguments)
        assert reply.data == whole.data
        assert len(reply.text.encode()) <= limit
        if reply.text == whole.text:
            continue
        assert reply.truncated
        lines = reply.text.splitlines()
        if lines[-1] == f"[cut to {limit} bytes]" or not lines[1:]:
            continue  # no room for all notes
        names = [line.split(" ") for line in lines if not line.startswith("[")]
        *above, last = names
        assert above == every[: len(above)]
        full = every[len(above)]
        if last != full:
            assert last[:-1] == full[: len(last) - 1]
            assert last[-1] == "…" or int(last[-1]) > 0
        left_out = len(every) - len(names)
        noun = "line" if left_out == 1 else "lines"
        said = f"[{left_out} more {noun} left out for a limit of {limit} bytes: give a directory"
        assert (said in reply.text) == bool(left_out)
        kept = sum(map(len, names))
        assert kept >= kept_before
        kept_before = kept
    room = {"max_output_bytes": len(whole.text.encode())}
    assert tree_of(root, room, entry_kind="all", **arguments).text == whole.text


def test_smaller_of_the_two_budgets_counts(tree: Plant) -> None:
    root = tree({f"d{n}/e/": None for n in range(40)})
    context = {"max_output_bytes": 100_000, "available_capacity_bytes": 300}
    assert "limit of 300 bytes" in tree_of(root, context).text


def test_no_note_names_a_mark_that_no_line_has(tree: Plant) -> None:
    root = tree({f"directory-{number}/below/f": "" for number in range(9)})
    for limit in range(100, 600, 7):
        text = tree_of(root, {"max_output_bytes": limit}, max_depth=2).text
        *rows, _ = (line for line in text.split("\n") if not line.startswith("["))
        assert ("[a line that ends with …" in text) <= any(row.endswith(" …") for row in rows)
