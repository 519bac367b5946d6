"""workspace/search_files: the files found, their order, and the notes about others."""

import json
import os
import string
from pathlib import Path
from typing import Any

import pytest

from backstaff.budget import Budget
from backstaff.names import suggestions
from backstaff.render.names import show
from backstaff.server import Reply
from tests.py.processes import NOBODY, as_root, unprivileged
from tests.py.project.repositories import commit_each, git
from tests.py.servers import server_at
from tests.py.trees import GIT, Plant

pytestmark = pytest.mark.usefixtures("own_git_settings")
SERVER = server_at("/")


def search(root: Path, query: str, /, **arguments: object) -> Reply:
    context = {"root": str(root), "json": True}
    return SERVER.call("workspace/search_files", {"query": query} | arguments, context)


def data_of(reply: Reply) -> Any:  # noqa: ANN401
    assert reply.ok, reply.text
    return reply.data


def found(root: Path, query: str, /, **arguments: object) -> list[str]:
    return list(data_of(search(root, query, **arguments))["files"])


def rows(reply: Reply) -> list[str]:
    return [line for line in reply.text.splitlines()[1:] if not line.startswith("[")]


def notes(reply: Reply) -> list[str]:
    return [line for line in reply.text.splitlines() if line.startswith("[")]


# ---------------------------------------------------------------------------- found files


PROJECT = {
    "README.md": "",
    "src/tree.py": "",
    "src/tree_map.py": "",
    "src/map_tree.py": "",
    "src/subtree.py": "",
    "src/tree/walk.py": "",
    "src/tokens_read_early.py": "",
    "docs/Tree.md": "",
}


def test_best_come_first(tree: Plant) -> None:
    root = tree(PROJECT)
    assert found(root, "tree") == [
        "src/tree.py",
        "docs/Tree.md",
        "src/tree_map.py",
        "src/map_tree.py",
        "src/subtree.py",
        "src/tree/walk.py",
    ]
    assert found(root, "tre ear")[0] == "src/tokens_read_early.py"


def test_substring_allows_no_gaps(tree: Plant) -> None:
    everything = found(tree(PROJECT), "tree", kind="substring")
    assert "src/tokens_read_early.py" not in everything
    assert len(everything) == 6


def test_case_does_not_matter(tree: Plant) -> None:
    root = tree(PROJECT)
    assert found(root, "TREE") == found(root, "tree")
    assert found(root, "README") == found(root, "readme") == ["README.md"]


def test_words_stand_in_any_order(tree: Plant) -> None:
    root = tree(PROJECT)
    assert found(root, "py map") == ["src/map_tree.py", "src/tree_map.py"]
    assert found(root, "walk src", kind="substring") == ["src/tree/walk.py"]


def test_fewer_runs_are_better(tree: Plant) -> None:
    root = tree({"p_o_v.c": "", "po_v.c": "", "pxoxv.c": ""})
    assert found(root, "pov") == ["po_v.c", "p_o_v.c", "pxoxv.c"]


def test_glob_is_about_the_whole_path(tree: Plant) -> None:
    root = tree(PROJECT)
    assert found(root, "*.md", kind="glob") == ["README.md"]
    assert found(root, "**/*.md", kind="glob") == ["README.md", "docs/Tree.md"]
    assert found(root, "./src/{map,sub}*", kind="glob") == ["src/map_tree.py", "src/subtree.py"]
    assert found(root, "src/**", kind="glob", max_results=100) == sorted(
        (path for path in PROJECT if path.startswith("src/")),
        key=lambda path: (path.count("/"), path),
    )


def test_query_is_about_what_is_below_the_path(tree: Plant) -> None:
    root = tree(PROJECT)
    assert found(root, "*.py", kind="glob", path="src/tree") == ["src/tree/walk.py"]
    assert found(root, "src", path="src") == []
    assert found(root, "walk", path=str(root / "src/")) == ["src/tree/walk.py"]


def test_absolute_path_is_a_guess(tree: Plant) -> None:
    root = tree(PROJECT)
    assert found(root, f"{root}/src/tree.py") == ["src/tree.py"]


def test_word_that_is_given_again_counts_once(tree: Plant) -> None:
    root = tree(PROJECT)
    assert found(root, " ".join(["tree", "map"] * 20)) == found(root, "tree map")


def test_ignored_files_are_found_on_request(tree: Plant) -> None:
    root = tree({**GIT, ".gitignore": "*.o\nbuild/\n", "x.o": "", "build/x.c": "", "x.c": ""})
    assert found(root, "x") == ["x.c"]
    assert found(root, "x", include_ignored=True) == ["x.c", "x.o", "build/x.c"]


def test_links_are_found_and_special_files_are_not(tree: Plant) -> None:
    root = tree({"x1": {"link": "/etc"}, "x2": {"fifo": True}, "x3/y": ""})
    assert found(root, "x") == ["x1", "x3/y"]


def test_names_of_any_bytes_are_found(tree: Plant) -> None:
    root = tree({"na\udce9.txt": "", "new\nline.txt": "", "\U0001f600.txt": ""})
    reply = search(root, "txt")
    assert sorted(data_of(reply)["files"]) == sorted(os.listdir(root))  # noqa: PTH208
    assert rows(reply) == [show(name) for name in data_of(reply)["files"]]
    assert found(root, "\udce9") == ["na\udce9.txt"]


def test_guesses_are_no_matches_and_stand_below_their_step(tree: Plant) -> None:
    root = tree({"lib/walk.py": "", "other/walk.py": ""})
    reply = search(root, "app/walk.py")
    assert reply.text == (
        "No file matches 'app/walk.py' exactly: 2 guesses (fuzzy; 2 searched in ./)\n"
        "lib/walk.py\nother/walk.py\n"
    )
    one = search(root, "wlak.py").text.splitlines()[0]
    assert one == "No file matches 'wlak.py' exactly: 2 guesses (fuzzy; 2 searched in ./)"
    assert data_of(reply)["total"] == 2
    page = search(root, "app/walk.py", max_results=1)
    assert notes(page) == ["[more: offset=1]"]
    assert found(root, "app/walk.py", offset=1) == ["other/walk.py"]


def test_of_equals_the_file_edited_of_late_comes_first(tree: Plant) -> None:
    root = tree({"a/index.ts": "", "b/index.ts": "", "c/lock/yarn.lock": "", "d/index.lock": ""})
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "all")
    assert found(root, "index.ts") == ["a/index.ts", "b/index.ts"]
    (root / "b/index.ts").write_text("x")
    git(root, "commit", "-q", "-a", "-m", "b")
    assert found(root, "index.ts") == ["b/index.ts", "a/index.ts"]


def test_edit_counts_as_much_after_nine_hundred_others(tree: Plant) -> None:
    root = tree({})
    git(root, "init", "-q", "-b", "main")
    both, b = ["a/index.ts", "b/index.ts"], ["b/index.ts"]
    commit_each(root, [both, b, b, *[["other"]] * 900])
    assert found(root, "index.ts") == ["b/index.ts", "a/index.ts"]
    (root / "a/index.ts").write_text("x")
    git(root, "commit", "-q", "-a", "-m", "a")
    assert found(root, "index.ts") == ["b/index.ts", "a/index.ts"]


# ---------------------------------------------------------------------------- pages and text


def test_pages_hold_everything_once(tree: Plant) -> None:
    root = tree({f"d{number % 3}/file{number}": "" for number in range(25)})
    seen, offset = list[str](), 0
    while True:
        reply = search(root, "file", max_results=7, offset=offset)
        seen += data_of(reply)["files"]
        following = data_of(reply)["next_offset"]
        assert reply.truncated is (following is not None)
        assert (f"[more: offset={following}]" in notes(reply)) is reply.truncated
        if following is None:
            break
        offset = int(str(following))
    assert seen == found(root, "file", max_results=100)
    assert len(set(seen)) == 25


def test_text_and_data_of_a_page_end_alike(tree: Plant) -> None:
    root = tree({f"folder/file{number}": "" for number in range(70)})
    for limit in range(64, 900, 11):
        context = {"root": str(root), "max_output_bytes": limit}
        reply = SERVER.call("workspace/search_files", {"query": "f"}, context)
        shown = reply.text.splitlines()[1:]
        files = list(data_of(reply)["files"])
        assert [line for line in shown if not line.startswith("[")] == files, limit
        assert data_of(reply)["next_offset"] == (len(files) or 1)
        assert reply.truncated
        assert len(reply.text.encode()) <= limit or not files


def test_path_without_room_is_told_and_the_next_page_starts_after_it(tree: Plant) -> None:
    root = tree({"file/" + "x" * 200: "", "file/y": "", "file/z": ""})
    context = {"root": str(root), "max_output_bytes": 200}
    reply = SERVER.call("workspace/search_files", {"query": "**", "kind": "glob"}, context)
    assert reply.truncated
    assert reply.text.endswith(
        "[a match of 206 bytes is left out for 200 bytes]\n[more: offset=1]\n"
    )
    rest = {"query": "**", "kind": "glob", "offset": 1}
    reply = SERVER.call("workspace/search_files", rest, context)
    assert data_of(reply)["files"] == ["file/y", "file/z"]
    assert not reply.truncated


def test_head_tells_how_many_match_of_how_many(tree: Plant) -> None:
    root = tree(PROJECT)
    heads = [
        search(root, query, **how).text.splitlines()[0]
        for query, how in (
            ("walk", {}),
            ("tree", {"kind": "substring", "path": "src"}),
            ("**/*.md", {"kind": "glob"}),
            ("zz\n", {}),
        )
    ]
    assert heads == [
        "1 file matches 'walk' (fuzzy, the best first; 8 searched in ./)",
        "5 files match 'tree' (substring, the best first; 6 searched in src/)",
        "2 files match '**/*.md' (glob; 8 searched in ./)",
        'No file matches "zz\\n" (fuzzy; 8 searched in ./)',
    ]


def test_offset_after_the_last_finds_no_more(tree: Plant) -> None:
    reply = search(tree({"a": ""}), "a", offset=5)
    assert reply.text == "1 file matches 'a' (fuzzy, the best first; 1 searched in ./)\n"
    assert (data_of(reply)["files"], data_of(reply)["next_offset"]) == ([], None)


def test_json_is_the_data(tree: Plant) -> None:
    reply = search(tree({"a": "", "b": ""}), "a")
    assert json.loads(reply.json or "") == {
        "query": "a",
        "kind": "fuzzy",
        "path": ".",
        "files": ["a"],
        "total": 1,
        "searched": 2,
        "offset": 0,
        "next_offset": None,
        "notes": [],
    }


# ---------------------------------------------------------------------------- nothing found


def test_that_git_ignores_names_is_told_where_nothing_matches(tree: Plant) -> None:
    root = tree({**GIT, ".gitignore": "*.o\n", "main.o": "", "x": ""})
    told = "[1 name is ignored by git: include_ignored searches them]"
    assert notes(search(root, "main"))[0] == told
    assert notes(search(root, "x")) == []
    assert found(root, "main", include_ignored=True) == ["main.o"]


def test_glob_that_would_match_deeper_is_told(tree: Plant) -> None:
    assert notes(search(tree(PROJECT), "*.py", kind="glob")) == ["['**/*.py' matches 6 files]"]


def test_glob_that_matches_few_files_and_more_deeper_is_told(tree: Plant) -> None:
    root = tree({"a.el": "", "src/b.el": "", "src/c.el": "", "src/lib/d.el": "", "one.md": ""})
    few = search(root, "*.el", kind="glob")
    assert notes(few) == ["['**/*.el' matches 4 files]"]
    assert data_of(few)["files"] == ["a.el"]
    told = ["['src/**/*.el' matches 3 files]"]
    assert notes(search(root, "src/*.el", kind="glob")) == told
    for glob in ("**/*.el", "**/d.el", "*.md"):
        assert notes(search(root, glob, kind="glob")) == []


@pytest.mark.parametrize(
    ("glob", "told"),
    [
        ("src", ["['src/**' matches 3 files]"]),
        ("src/", ["['src/**' matches 3 files]"]),
        ("docs/", []),
        ("a*b", ["['**/a*b' matches 1 file]"]),
        ("srcs/*.c", ["[the nearest names: src/deep/a.c]"]),
    ],
)
def test_glob_that_matches_nothing_is_told_with_one_that_does(
    tree: Plant, glob: str, told: list[str]
) -> None:
    root = tree({"src/main.c": "", "src/deep/a.c": "", "src/a b": "", "docs/": None})
    assert notes(search(root, glob, kind="glob")) == told


def test_words_that_are_a_glob_are_told(tree: Plant) -> None:
    root = tree(PROJECT)
    for query, glob in (("**/*.md", "**/*.md"), ("*.md", "**/*.md")):
        told = [f"[the query reads as a glob: '{glob}' with kind=glob]"]
        assert notes(search(root, query)) == told


def test_examples_in_a_note_are_few_and_short(tree: Plant) -> None:
    long = "".join(first + last for first in "abcdefghij" for last in "klmnopqrst")
    root = tree({f"{number}{long}": "" for number in range(9)})
    (note,) = notes(search(root, f"x{long}", kind="substring"))
    assert note.startswith("[the nearest names: 0akal")
    assert note.endswith("jt and 3 more]")


def test_what_is_said_in_the_text_is_no_warning_too(tree: Plant) -> None:
    root = tree({"x": "", "inner/main": ""})
    git(root, "init", "-q")
    git(root / "inner", "init", "-q")
    for query in ("x", "main"):
        reply = search(root, query)
        assert reply.warnings == ()
        for note, line in zip(data_of(reply)["notes"], notes(reply), strict=True):
            assert line.startswith(f"[{note['text'][:20]}")
            assert note["remedy"] in line
        assert "1 repository within" in notes(reply)[-1]


@pytest.mark.parametrize(("query", "kind"), [("parser2.py", "substring"), ("*.py", "glob")])
def test_reasons_are_looked_for_only_in_time(
    tree: Plant, monkeypatch: pytest.MonkeyPatch, query: str, kind: str
) -> None:
    root = tree({"src/parser.py": ""})
    assert notes(search(root, query, kind=kind))
    monkeypatch.setattr(suggestions, "SECONDS", -1)
    assert not notes(search(root, query, kind=kind))


def test_nearest_names_are_told(tree: Plant) -> None:
    root = tree({"src/parser.py": "", "src/walker.py": "", "doc/a b.txt": ""})
    assert notes(search(root, "parser2.py", kind="substring")) == [
        "[the nearest names: src/parser.py]"
    ]
    assert notes(search(root, "a bc.txt", kind="glob")) == ['[the nearest names: "doc/a b.txt"]']
    assert notes(search(root, "pasrer2.py")) == ["[the nearest names: src/parser.py]"]
    assert notes(search(root, "parsxr.py")) == []  # the answer has a guess
    assert notes(search(root, "qqq")) == []


def test_repository_within_is_told(tree: Plant) -> None:
    root = tree({"x": "", "inner/main": ""})
    git(root, "init", "-q")
    git(root / "inner", "init", "-q")
    told = notes(search(root, "main"))
    assert told[-1] == "[not searched: 1 repository within: inner/; give a directory as path]"
    assert found(root, "main", path="inner") == ["inner/main"]


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"query": ""}, "INVALID_ARGUMENT", "Argument 'query' is empty"),
        ({"query": " \t"}, "INVALID_ARGUMENT", "Argument 'query' is empty"),
        ({"query": "x" * 1025}, "INVALID_ARGUMENT", "is longer than 1024 characters"),
        (
            {"query": " ".join("abcdefghijklmnopq")},
            "INVALID_ARGUMENT",
            "has 17 words, more than 16",
        ),
        ({"query": "[a", "kind": "glob"}, "INVALID_ARGUMENT", "is no glob"),
        ({"query": "{a,b}" * 9 + "c" * 99, "kind": "glob"}, "INVALID_ARGUMENT", "32768 char"),
        ({"query": "x", "kind": "regex"}, "INVALID_ARGUMENT", "kind"),
        ({"query": "x", "max_results": 0}, "INVALID_ARGUMENT", "max_results"),
        ({"query": "x", "offset": -1}, "INVALID_ARGUMENT", "offset"),
        ({"query": "x", "path": "no"}, "NOT_FOUND", "Path 'no' does not exist"),
        ({"query": "x", "path": "broken"}, "NOT_FOUND", "is a link whose target does not exist"),
        ({"query": "x", "path": "a"}, "NOT_DIRECTORY", "Path 'a' is not a directory"),
        ({"query": "x", "path": ".."}, "SANDBOX_VIOLATION", "is outside the workspace"),
        ({"query": "x", "path": "out"}, "SANDBOX_VIOLATION", "is outside the workspace"),
        ({"query": "x", "path": "\0"}, "INVALID_ARGUMENT", "cannot be used"),
    ],
)
def test_bad_input_is_refused(
    tree: Plant, arguments: dict[str, object], code: str, words: str
) -> None:
    root = tree({"a": "", "out": {"link": "/etc"}, "broken": {"link": "gone"}})
    reply = SERVER.call("workspace/search_files", arguments, {"root": str(root)})
    assert (reply.error or {}).get("code") == code, reply.text
    assert words in reply.text


@pytest.mark.parametrize(
    ("tool", "argument", "given"),
    [
        ("search_files", "path", {"query": "x"}),
        ("regexp_search", "root_path", {"pattern": "x"}),
        ("tree", "path", {}),
        ("project_overview", "path", {}),
    ],
)
def test_missing_directory_is_told_with_those_of_the_nearest_names(
    tree: Plant, tool: str, argument: str, given: dict[str, str]
) -> None:
    root = tree({"src/build/a": "", "src/bild.c": "", "x y/build tools/b": ""})
    for path, near in (
        ("src/bild", "; the nearest names: src/build/"),
        ("build-tools/", '; the nearest names: "x y/build tools"/ src/build/'),
        ("zzz", ""),
    ):
        reply = SERVER.call(f"workspace/{tool}", given | {argument: path}, {"root": str(root)})
        assert (reply.error or {}).get("code") == "NOT_FOUND"
        assert reply.text == f"Error: Path '{path}' does not exist{near}"


def test_query_that_grows_without_its_capitals_is_answered(tree: Plant) -> None:
    # One character in capitals is two in small letters, which makes the query too long.
    assert found(tree(PROJECT), "\u0130" * 1024) == []


@pytest.mark.parametrize(
    ("query", "kind"), [("tree", "fuzzy"), ("tree map", "substring"), ("**/*.py", "glob")]
)
def test_query_that_takes_too_long_is_given_up(
    tree: Plant, monkeypatch: pytest.MonkeyPatch, query: str, kind: str
) -> None:
    root = tree(PROJECT)
    with monkeypatch.context() as patch:
        patch.setattr(Budget, "at_least", lambda *_: Budget(deadline=0))
        reply = search(root, query, kind=kind)
    assert (reply.error or {}).get("code") == "DEADLINE_EXCEEDED"
    assert "while the query was compared with 8 paths: give a simpler query" in reply.text
    assert found(root, query, kind=kind)


def test_query_that_is_hard_to_match_takes_no_time(tree: Plant) -> None:
    root = tree({f"{letter * 200}/{letter * 200}": "" for letter in string.ascii_lowercase})
    assert found(root, "a" * 900 + "b") == []
    assert found(root, "**/" + "*a" * 200 + "b", kind="glob") == []


def test_directory_in_a_note_can_be_given_as_path(tree: Plant) -> None:
    root = tree({"sub/inner/f": "", "sub/a": ""})
    git(root, "init", "-q")
    git(root / "sub/inner", "init", "-q")
    (note,) = notes(search(root, "a", path="sub"))
    path = note.partition(": ")[2].partition(": ")[2].partition("/;")[0]
    assert found(root, "f", path=path) == ["sub/inner/f"]


def test_closed_directory_is_named_from_the_root(tree: Plant) -> None:
    root = tree({"sub/locked/f": "", "sub/a": ""})
    (root / "sub/locked").chmod(0)

    def told() -> list[str]:
        return notes(search(root, "a", path="sub"))

    assert unprivileged(told) == ["[not searched: 1 directory that is unreadable (sub/locked/)]"]


@as_root
def test_repository_of_another_user_is_told(tree: Plant) -> None:
    root = tree({"x": "", ".gitignore": "kept\n", "kept": ""})
    git(root, "init", "-q")
    git(root, "add", "-f", ".")
    os.chown(root, NOBODY, NOBODY)
    (note,) = notes(search(root, "x"))
    assert "; .gitignore is not applied, because git says: detected dubious ownership" in note


def test_words_that_stand_joined_in_a_name_find_it_first(tree: Plant) -> None:
    fixtures = {f"caddytest/reverse_proxy_{n}.txt": "" for n in range(30)}
    root = tree(fixtures | {"modules/reverseproxy/reverseproxy.go": "", "reverse/my_proxy.go": ""})
    assert found(root, "reverse proxy")[0] == "modules/reverseproxy/reverseproxy.go"
    assert found(root, "proxy reverse")[0] != "modules/reverseproxy/reverseproxy.go"


def test_tests_stand_lower_unless_the_words_ask_for_them(tree: Plant) -> None:
    root = tree({"tests/parse_tree.py": "", "source/long/folder/parse_tree.py": ""})
    assert found(root, "parse tree")[0] == "source/long/folder/parse_tree.py"
    assert found(root, "tests parse tree") == ["tests/parse_tree.py"]
    assert found(root, "parse_tree.py")[0] == "tests/parse_tree.py", "one word means a name"


def test_composed_and_decomposed_letters_are_equal(tree: Plant) -> None:
    names = ["Abscha\u0308tzung.txt", "\u00c9t\u00e9.txt"]
    root = tree(dict.fromkeys(names, ""))
    for query in ("Absch\u00e4tzung", "Abscha\u0308tzung", "absch\u00e4tz"):
        assert found(root, query) == [names[0]], ascii(query)
    for query in ("E\u0301te\u0301", "e\u0301te\u0301.txt", "\u00e9t\u00e9"):
        assert found(root, query) == [names[1]], ascii(query)
