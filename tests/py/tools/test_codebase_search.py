"""workspace/codebase_search: words, the order of worth, and its text (contract 009)."""

from pathlib import Path
from typing import Any

import pytest

from backstaff.contents.scan import Scan
from backstaff.contents.words import question, question_of
from backstaff.errors import DeadlineExceeded
from backstaff.server import Reply
from tests.py.servers import server_at
from tests.py.tools.searches import as_unsaved
from tests.py.trees import GIT, Plant

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_git_settings")]

TOOL = "workspace/codebase_search"
SERVER = server_at("/")
PROJECT = {
    "src/connection.py": (
        "class Connection:\n    def close(self):\n        # Drains what is queued.\n"
        "        self.drain()\n\n    def drain(self):\n        self.queue.clear()\n"
    ),
    "src/server.py": "def serve():\n    Connection().close()\n",
    "tests/test_connection.py": "def test_close_drains_the_connection():\n    close(drain())\n" * 5,
    "docs/connection.md": "# Connection\n\nclose, drain, close, drain the connection\n",
    "zebra.py": "def unrelated():\n    pass\n",
}


def ask(root: Path, query: str, /, limit: int | None = None, **arguments: object) -> Reply:
    context = {"root": str(root), "json": True} | ({"max_output_bytes": limit} if limit else {})
    return SERVER.call(TOOL, {"query": query} | arguments, context)


def data_of(reply: Reply) -> Any:  # noqa: ANN401
    assert reply.ok, reply.text
    return reply.data


def paths(reply: Reply) -> list[str]:
    return [one["path"] for one in data_of(reply)["files"]]


# ---------------------------------------------------------------------------- words (rule 2)


@pytest.mark.parametrize(
    ("text", "words", "identifiers"),
    [
        ("How are requests routed?", ("request", "rout"), ()),
        (
            "CookieJar.filter_cookies",
            ("cooki", "jar", "filt", "cook", "filter_cookies"),
            ("filter_cookies",),
        ),
        ("where is parseHTML2 used", ("pars", "html", "parsehtml2"), ("parseHTML2",)),
        ("the", ("the",), ("the",)),
        ("how is it", ("how", "is", "it"), ()),
        ("a b", ("a", "b"), ()),
        ("größe der datei", ("größ", "der", "datei"), ()),
    ],
)
def test_words_are_split_stemmed_and_stop_words_dropped(
    text: str, words: tuple[str, ...], identifiers: tuple[str, ...]
) -> None:
    asked = question(text)
    assert (asked.words, asked.identifiers) == (words, identifiers)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\bServer\b", ("serv",)),
        (r"def (open|shut)_socket\(", ("def", "open", "shut", "socket")),
        (r"[a-z]+\d(?P<name>x)", ()),
        (r"(?i)Foo(?:Bar)?", ("foo", "bar")),
    ],
)
def test_words_of_a_pattern_are_its_literals(pattern: str, words: tuple[str, ...]) -> None:
    assert question_of(pattern, literal=False).words[: len(words)] == words


def test_stems_are_marked_and_an_identifier_is_looked_for_whole(tree: Plant) -> None:
    root = tree({"a.py": "def drain_all():\n    pass\n", "b.py": "drain\nall\n" * 9})
    reply = ask(root, "what drains in drain_all")
    assert "[words: drain drain_all]" in reply.text
    assert "[words: connect* clos*; in no file: " in ask(root, "connections closing").text
    assert paths(reply)[0] == "a.py"


# ---------------------------------------------------------------------------- the order (rule 3)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "MAX_SIZE: int = 30"),
        ("A.java", "    public static final int MAX_SIZE = 3;"),
        ("a.c", "#define MAX_SIZE 3"),
        ("a.ts", "export const MAX_SIZE = 3"),
        ("a.el", "(defconst MAX_SIZE 3)"),
    ],
)
def test_constant_that_is_named_comes_first(tree: Plant, path: str, line: str) -> None:
    users = {f"b{n}{path[1:]}": "use(MAX_SIZE)\nif x == MAX_SIZE: y\n" * 9 for n in range(9)}
    reply = ask(tree(users | {path: f"x\n{line}\n" + "filler text\n" * 99}), "MAX_SIZE")
    best = data_of(reply)["files"][0]
    assert best["path"] == path
    assert (best["definitions"][0]["kind"], best["definitions"][0]["line"]) == ("constant", 2)


def test_sources_stand_before_tests_and_documents(tree: Plant) -> None:
    found = paths(ask(tree(PROJECT), "how is a connection drained on close"))
    assert found[0] == "src/connection.py"
    assert "zebra.py" not in found
    assert {*found} == {*PROJECT} - {"zebra.py"}


def test_tests_are_left_out_on_request(tree: Plant) -> None:
    reply = ask(tree(PROJECT), "connection close", exclude_tests=True)
    assert "tests/test_connection.py" not in paths(reply)
    assert "src/connection.py" in paths(reply)


def test_definition_of_the_name_comes_first(tree: Plant) -> None:
    users = {f"a{n}.py": "connection = Widget()\nWidget.draw()\n" * 3 for n in range(20)}
    root = tree(users | {"z.py": "import x\n\nclass Widget:\n    def draw(self):\n        pass\n"})
    for query in ("Widget", "widget", "Widget.draw", "who draws the Widget_ or Widget here"):
        best = data_of(ask(root, query))["files"][0]
        assert best["path"] == "z.py", query
    assert data_of(ask(root, "Widget.draw"))["files"][0]["definitions"][0]["line"] == 4


def test_file_whose_name_alone_has_a_word_is_found(tree: Plant) -> None:
    root = tree({"rules/emphasis.py": "x = 1\n", "b.py": "emphasis\n", "c.py": "x = 1\n"})
    assert {*paths(ask(root, "emphasis with asterisks"))} == {"rules/emphasis.py", "b.py"}


def test_equal_files_stand_by_path_in_utf_16_units_and_always_alike(tree: Plant) -> None:
    names = ["\ue000.py", "\U0001f600.py", "b.py", "a/c.py"]
    root = tree(dict.fromkeys(names, "def spanner():\n    pass\n"))
    first = paths(ask(root, "spanner"))
    assert first == sorted(names, key=lambda name: name.encode("utf-16-be"))
    assert paths(ask(root, "spanner")) == first


def test_definitions_that_are_equal_on_one_line_are_an_answer(tree: Plant) -> None:
    root = tree({"a.js": "class A { spanner() { } } class A { spanner() { } }\n" * 3})
    assert paths(ask(root, "spanner")) == ["a.js"]


def test_word_beyond_ascii_is_found_in_small_and_capital_letters(tree: Plant) -> None:
    root = tree({"a.py": "größe = 1\n", "b.py": "class Größe: pass\n", "c.py": "GRÖSSE\n"})
    assert {*paths(ask(root, "größe"))} >= {"a.py", "b.py"}
    root = tree({"a.py": "öl = 1\n", "b.py": "class Öl: pass\n", "c.py": "ol\n"}, "S")
    assert {*paths(ask(root, "öl"))} == {"a.py", "b.py"}


# ---------------------------------------------------------------------------- the text


def test_whole_definition_of_a_name_stands_if_it_has_room(tree: Plant) -> None:
    root = tree({"a.py": "x = 1\ndef spanner():\n    return 'it'\n", "b.py": "spanner()\n"})
    assert "a.py\n  2: def spanner():\n  3:     return 'it'\nb.py\n" in ask(root, "spanner").text
    long = tree({"a.py": "def spanner():\n" + "    work(1)\n" * 400}, "L")
    assert "a.py\n  1-401 def spanner():\n[" in ask(long, "spanner").text
    assert "  2-3 def spanner():\n" in ask(root, "where is the spanner made").text


def test_word_that_no_file_has_is_named_with_those_looked_for(tree: Plant) -> None:
    text = ask(tree(PROJECT), "drain the submarines").text
    assert "\n[words: drain submarin*; in no file: submarin*]\n" in text
    nothing = ask(tree(PROJECT, "N"), "submarines")
    assert nothing.text.startswith("No file has a word of 'submarines', of 5 searched\n")
    assert paths(nothing) == []


def test_files_are_ten_or_up_to_thirty(tree: Plant) -> None:
    root = tree({f"{n:02}.py": "spanner\n" for n in range(40)})
    reply = ask(root, "spanner")
    assert reply.text.startswith("'spanner': best 10 of 40 files with a word, of 40 searched\n")
    assert len(paths(reply)) == 10
    assert data_of(reply)["matching_files"] == 40
    assert data_of(reply)["truncated"]
    most = ask(root, "spanner", max_results=30)
    assert len(paths(most)) == 30


@pytest.mark.parametrize("limit", [100, 500, 2000, None])
def test_text_keeps_to_its_limit_and_to_six_kibibytes(tree: Plant, limit: int | None) -> None:
    root = tree(
        {f"{n:02}.py": f"def spanner_{n}(x):\n    {'y' * 400} spanner\n" for n in range(30)}
    )
    reply = ask(root, "spanner", limit, max_results=30)
    assert len(reply.text.encode()) <= (limit or 6144)
    assert reply.truncated
    assert len(paths(reply)) == 30
    assert limit == 100 or "more left out for a limit of" in reply.text


def test_names_in_the_text_forge_no_row(tree: Plant) -> None:
    root = tree({"a\nb.py": "spanner\n", "12: x": "spanner\n"})
    assert '\n"a\\nb.py"\n' in ask(root, "spanner").text
    assert '\n"12: x"\n' in ask(root, "spanner").text


# ---------------------------------------------------------------------------- files (rule 1)


def test_files_are_those_of_regexp_search_and_the_others_are_told(tree: Plant) -> None:
    root = tree(
        {
            **GIT,
            ".gitignore": "*.log\n",
            "x.log": "spanner",
            ".env": "spanner=1",
            "a.py": "spanner",
            "build/b.py": "spanner",
            "c.bin": "\0spanner",
            "l": {"link": "a.py"},
            "src/d.py": "spanner",
        }
    )
    reply = ask(root, "spanner")
    assert paths(reply) == ["a.py", "src/d.py"]
    told = "1 ignored by git, 1 binary, 1 that may hold secrets, 1 linked, 1 in build/"
    assert f"[not searched: {told}; give a directory as root_path]" in reply.text
    assert data_of(reply)["skipped"]["secret"] == 1
    assert paths(ask(root, "spanner", root_path="src")) == ["src/d.py"]
    assert paths(ask(root, "spanner", root_path="src/d.py")) == ["src/d.py"]
    assert paths(ask(root, "spanner", include=["**/d.*"])) == ["src/d.py"]
    assert paths(ask(root, "spanner", exclude=["src/**"])) == ["a.py"]


def test_unsaved_text_is_searched_in_place_of_the_file_and_told(tree: Plant) -> None:
    root = tree({"a.py": "def spanner(): pass\n", "b.py": "x"})
    texts = {"a.py": "nothing", "b.py": "def spanner():\n    pass\n", "new/c.py": "spanner"}
    context = {"root": str(root), "unsaved": as_unsaved(texts)}
    reply = SERVER.call(TOOL, {"query": "spanner"}, context)
    assert paths(reply) == ["b.py", "new/c.py"]
    assert data_of(reply)["unsaved"] == ["a.py", "b.py", "new/c.py"]
    assert "1: def spanner():" in reply.text
    assert "[not saved, searched as in Emacs: a.py b.py new/c.py]" in reply.text


def test_files_searched_in_time_are_an_answer(tree: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    hits = Scan.hits

    def late(self: Scan, matchers: Any) -> Any:  # noqa: ANN401
        yield next(hits(self, matchers))
        raise DeadlineExceeded

    monkeypatch.setattr(Scan, "hits", late)
    reply = ask(tree({"a.py": "spanner", "b.py": "spanner", "c.py": "spanner"}), "spanner")
    assert paths(reply) == ["a.py"]
    assert "[the time was up after 1 of 3 files: give root_path or include]" in reply.text
    assert reply.truncated


# ---------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": " "},
        {"query": "--"},
        {"query": "x" * 1025},
        {"query": "x", "max_results": 0},
        {"query": "x", "max_results": 31},
        {"query": "x", "include": ["["]},
        {"query": "x", "exclude": [""]},
    ],
)
def test_bad_arguments_are_refused(tree: Plant, arguments: dict[str, object]) -> None:
    root = tree({"x": "x"})
    reply = SERVER.call(TOOL, arguments, {"root": str(root)})
    assert (reply.error or {})["code"] == "INVALID_ARGUMENT", reply.text


@pytest.mark.parametrize(
    ("root_path", "code"),
    [("nowhere", "NOT_FOUND"), ("..", "SANDBOX_VIOLATION"), ("l", "NOT_DIRECTORY")],
)
def test_bad_root_path_is_refused(tree: Plant, root_path: str, code: str) -> None:
    root = tree({"x": "x", "l": {"link": "x"}})
    assert (ask(root, "x", root_path=root_path).error or {})["code"] == code


def test_include_that_leaves_no_file_is_told_with_a_glob_that_does(tree: Plant) -> None:
    root = tree({"src/retry.ts": "retry", "src/lib/a.ts": "retry"})
    assert "[no file matches include '*.ts': '**/*.ts' matches 2 files]\n" in (
        ask(root, "retry", include=["*.ts"]).text
    )
