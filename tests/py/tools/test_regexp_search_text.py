"""workspace/regexp_search: its text, its pages, and unsaved text in it."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.errors import DeadlineExceeded
from backstaff.tools.workspace import regexp_search
from backstaff.tools.workspace._matches import MOST, line
from backstaff.tools.workspace.regexp_search import Search
from tests.py.tools.searches import SERVER, TOOL, data_of, found, search, unsaved
from tests.py.trees import GIT, Plant

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_git_settings")]

# ---------------------------------------------------------------------------- the text


@given(
    st.text("ab é😀\t\x1b\u202e", max_size=700),
    st.integers(0, 700),
    st.integers(0, 400),
)
def test_line_is_cut_around_its_match(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    row, shown = line((1, start, end, 0, len(text), text, start))
    assert shown.start <= start <= shown.stop
    assert row.startswith(("1: ", f"1:{start + 1}: "))
    assert "\n" not in row[:-1]
    assert "\x1b" not in row
    assert len(text[shown.start : shown.stop].encode()) <= MOST


def test_lines_that_are_asked_for_are_at_most_ten(tree: Plant) -> None:
    root = tree({"t": "".join(f"line {number}\n" for number in range(1, 41))})

    def shown(lines: int) -> tuple[int, int]:
        text = search(root, "line 20$", context_lines=lines).text
        numbers = [int(found[1]) for found in re.finditer(r"(?m)^(\d+)[:-]", text)]
        return numbers[0], numbers[-1]

    assert shown(2) == (18, 22)
    assert shown(0) == (20, 20)
    assert shown(10) == (10, 30)
    assert "must be from 0 to 10" in search(root, "line 20$", context_lines=35).text
    described = {one.name: one.described() for one in regexp_search.TOOL.parameters}
    assert "at most 10" in described["context_lines"]


# ---------------------------------------------------------------------------- a full page


def told(root: Path, pattern: str, /, **arguments: object) -> str:
    """The answer as a model gets it."""
    return SERVER.call(
        TOOL, {"pattern": pattern} | arguments, {"root": str(root), "text_only": True}
    ).text


MANY = {"a.py": "hit\n" * 70, "b.py": "hit\n" * 9, "c.py": "hit\n" * 40, "d.py": "hit\n" * 3}


def matches_by_file(text: str) -> dict[str, int]:
    files: dict[str, int] = {}
    for row in text.splitlines():
        if re.fullmatch(r"\w[\w-]*(/[\w-]+)*[.\w]+", row):
            files[row] = 0
        elif re.match(r"\d+: ", row):
            files[[*files][-1]] += 1
    return files


def test_files_share_a_page_that_has_no_room_for_all_matches(tree: Plant) -> None:
    root = tree(MANY)
    text = told(root, "hit")
    assert matches_by_file(text) == {"a.py": 20, "b.py": 9, "c.py": 20, "d.py": 3}
    assert text.startswith(
        "122 matches in 4 files, the most telling files first, for /hit/ (4 files searched)\n"
    )
    assert "20: hit\n+50 more in this file: give it as root_path\n" in text
    assert "[more:" not in text


def test_match_that_is_only_counted_is_on_the_page_of_its_file(tree: Plant) -> None:
    root = tree(MANY)
    seen = matches_by_file(told(root, "hit", root_path="a.py", max_results=500))
    assert seen == {"a.py": 70}


def test_full_page_shows_the_first_matches_of_each_file_and_names_where_it_ends(
    tree: Plant,
) -> None:
    root = tree(MANY)
    text = told(root, "hit", max_results=25)
    assert [*matches_by_file(text).items()] == [("a.py", 10), ("c.py", 10), ("b.py", 5)]
    first = "in 4 files, the most telling files first, for /hit/ (4 files searched)\n"
    assert text.startswith(f"Matches 1-115 of 122 {first}")
    assert "+60 more in this file: give it as root_path\nc.py" in text
    assert "[more: offset=115]\n" in text
    rest = told(root, "hit", max_results=25, offset=115)
    assert matches_by_file(rest) == {"b.py": 4, "d.py": 3}
    assert rest.startswith(f"Matches 116-122 of 122 {first}")


def test_file_that_defines_a_name_comes_first_on_a_page_that_cannot_hold_all(tree: Plant) -> None:
    users = {f"a{number}.py": "x = Server()\ny = Server\n" for number in range(20)}
    tests = {f"tests/test_{number}.py": "Server\n" * 30 for number in range(9)}
    root = tree({**users, **tests, "z/core.py": "class Server:\n    pass\n"})
    for pattern in ("Server", r"\bServer\b", "Server|[xyz]Server"):
        text = told(root, pattern)
        assert next(iter(matches_by_file(text))) == "z/core.py", text
        assert "of 311 in 30 files, the most telling files first, for " in text
    in_small_letters = told(root, "server", literal=True, flags="i")
    assert next(iter(matches_by_file(in_small_letters))) == "z/core.py"
    assert found(root, "Server", max_results=50)[0][0] == "a0.py", "the data are by path"
    assert told(root, "Server", root_path="z") == (
        "1 match in 1 file for /Server/ (1 file searched in z/)\n"
        "z/core.py\n1-2: class Server:\n2-     pass\n[not searched: nothing]\n"
    )


def test_order_of_worth_holds_where_bytes_and_not_matches_are_too_many(tree: Plant) -> None:
    long = {f"a{number}.py": f"Server = {'x' * 200}\n" for number in range(20)}
    root = tree({**long, "z.py": "class Server:\n    pass\n"})
    context = {"root": str(root), "text_only": True, "max_output_bytes": 2000}
    text = SERVER.call(TOOL, {"pattern": "Server"}, context).text
    assert text.startswith("Matches 1-9 of 21 in 21 files, the most telling files first, for ")
    assert text.splitlines()[1] == "z.py"
    whole = told(root, "Server")
    assert whole.startswith("21 matches in 21 files for /Server/"), "all have room: by path"


def test_pages_by_worth_hold_each_match_once_and_say_if_the_order_is_new(tree: Plant) -> None:
    root = tree({f"f{n:02}.py": "hit\n" * (n % 4 + 1) + "other\n" * n for n in range(60)})
    seen, offset = list[str](), 0
    while True:
        text = told(root, "hit", max_results=20, offset=offset)
        assert "the order is new" not in text
        seen += matches_by_file(text)
        following = re.search(r"\[more: offset=(\d+)", text)
        if not following:
            break
        offset = int(following[1])
    assert {*seen} == {f"f{n:02}.py" for n in range(60)}
    told(root, "hit", max_results=20)
    (root / "f00.py").write_text("hit\n" * 9)
    text = told(root, "hit", max_results=20, offset=20)
    assert "[files have changed since the page before, so the order is new: offset=0]" in text


@pytest.mark.parametrize("given", [{"definitions": True}, {"exclude_tests": True}])
def test_order_of_worth_is_that_of_wanted_matches(tree: Plant, given: dict[str, object]) -> None:
    files = {f"a{n:02}.py": f"def run_{n}():\n    Server.run()\n" for n in range(25)}
    root = tree({**files, "z.py": "class Server:\n    def run(self):\n        pass\n"})
    text = told(root, "run", max_results=20, **given)
    assert text.splitlines()[1] == "z.py", text
    assert text.startswith("Matches 1-")
    assert ", the most telling files first, for /run/" in text


@pytest.mark.parametrize("output", ["files", "count"])
def test_files_are_listed_by_worth_where_a_page_cannot_hold_all(tree: Plant, output: str) -> None:
    users = {f"a{number}.py": "Server\n" for number in range(20)}
    root = tree({**users, "z.py": "class Server:\n    pass\n"})
    text = told(root, "Server", output=output, max_results=10)
    assert text.startswith("Files 1-10 of 21 with matches, the most telling files first, for ")
    assert text.splitlines()[1].startswith("z.py")
    assert "\n[more: offset=10]\n" in text


def test_pattern_without_words_keeps_the_order_of_paths(tree: Plant) -> None:
    root = tree({"a.py": "1\n" * 30, "b.py": "class X:\n    22\n"})
    text = told(root, r"\d", max_results=20)
    assert text.startswith("Matches 1-")
    assert "telling" not in text


def test_files_stand_by_path_where_the_time_is_up_before_all_are_weighed(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise DeadlineExceeded

    monkeypatch.setattr(Search, "_by_worth", late)
    text = told(tree(MANY), "hit")
    assert [*matches_by_file(text)] == ["a.py", "b.py", "c.py"]
    assert "[the time was up before all files were weighed, so they stand by path: give" in text
    assert "[more: offset=119]\n" in text, "d.py was not counted"
    rest = told(tree(MANY, "S"), "hit", offset=119)
    assert [*matches_by_file(rest)] == ["d.py"]


def test_unsaved_text_counts_for_the_order_of_worth(tree: Plant) -> None:
    root = tree({f"a{number}.py": "Server\n" * 5 for number in range(25)} | {"z.py": ""})
    reply = unsaved(root, "Server", {"z.py": "class Server:\n    pass\n"}, text_only=True)
    assert reply.text.splitlines()[1] == "z.py", reply.text


def test_only_file_with_matches_is_paged_and_so_are_all_for_a_program(tree: Plant) -> None:
    root = tree({"a.py": "hit\n" * 30, "b.py": "none"})
    text = told(root, "hit", max_results=20)
    assert matches_by_file(text) == {"a.py": 20}
    assert "[more: offset=20]\n" in text
    assert len(found(tree(MANY), "hit", max_results=30)) == 30
    assert {item[0] for item in found(tree(MANY), "hit", max_results=30)} == {"a.py"}


def test_imports_share_a_row_among_many_matches(tree: Plant) -> None:
    lines = "import budget\nfrom budget import Budget\nx = 1\nbudget = 2\nimport budget.x\n"
    root = tree(
        {
            "a.py": lines,
            "b.py": "budget\n" * 9,
            "c.md": "import budget\n",
            "d.py": "import budget\n",
        }
    )
    text = told(root, "budget")
    assert "a.py\n4: budget = 2\nimports: 1 2 5\nb.py\n" in text
    assert "c.md\ndocs: 1\nd.py\nimports: 1\n" in text
    assert "1: import budget\n2: from" in told(root, "budget", include=["a.py"]), "few are shown"
    whole = told(root, "budget", context_lines=1)
    assert "imports:" not in whole


def test_imports_are_shown_where_the_pattern_aims_at_them(tree: Plant) -> None:
    root = tree(
        {"a.py": "from budget import Budget\nimport budget\nbudget()\n", "b.py": "budget\n" * 9}
    )
    text = told(root, "import .udget|budget\\(|budget$")
    assert "a.py\n1: from budget import Budget\n2: import budget\n3: budget()\nb.py\n" in text


def test_matches_in_comments_and_docstrings_share_a_row_below_those_in_code(tree: Plant) -> None:
    doc = "/**\n * hit\n * hit too\n */\nfunction a() {\n  hit();\n}\n// hit\n"
    python = 'def hit():\n    """Say hit.\n\n    hit\n    """\n    hit  # hit\n'
    root = tree({"a.js": doc, "b.py": python, "c.py": "# hit\n" * 2, "d.py": "hit\n" * 3})
    text = told(root, "hit")
    assert text.startswith(
        "14 matches in 4 files for /hit/ (4 files searched)\n"
        "a.js\nin a 1-7:\n6:   hit();\ncomments: 2 3 8\n"
        "b.py\n1-6: def hit():\n6:     hit  # hit\ncomments: 2 4\n"
        "c.py\ncomments: 1 2\nd.py\n"
    ), text
    assert "1: # hit\n2: # hit\n" in told(root, "hit", include=["c.py"])


def test_page_that_ends_within_a_file_has_the_rows_that_matches_before_its_end_share(
    tree: Plant,
) -> None:
    root = tree({"a.py": "# hit\n" + "hit = 'a long enough line'\n# hit\n" * 40})
    seen, text, offset = set[int](), "[more: offset=0]", 0
    while f"[more: offset={offset}" in text and len(seen) < 200:
        given = {"pattern": "hit", "offset": offset}
        limits = {"root": str(root), "text_only": True, "max_output_bytes": 600}
        text = SERVER.call(TOOL, given, limits).text
        numbers = re.findall(r"^(\d+): |^comments: ([\d ]+)", text, re.MULTILINE)
        new = {int(one) for pair in numbers for part in pair for one in part.split()}
        assert not new & seen
        assert new, text
        seen |= new
        offset = len(seen)
    assert seen == set(range(1, 82))


def test_tests_and_documents_share_a_row_among_many_matches_in_code(tree: Plant) -> None:
    root = tree(
        {
            "README.md": "# A\nhit\n\nhit\n",
            "a.rs": "fn a() {\n    hit\n}\n\n#[cfg(test)]\nmod tests {\n    hit\n    hit\n}\n",
            "notes.txt": "hit\n",
            "tests/test_a.py": "def test_hit():\n    hit\n    hit\n" + "hit\n" * 30,
        }
    )
    text = told(root, "hit")
    twenty = " ".join(map(str, range(1, 21)))
    assert text.startswith(
        "39 matches in 4 files for /hit/ (4 files searched)\n"
        "README.md\ndocs: 2 4\n"
        "a.rs\nin a 1-3:\n2:     hit\ntests: 7 8\n"
        "notes.txt\n1: hit\n"
        f"tests/test_a.py\ntests: {twenty} and 13 more\n["
    ), text
    whole = told(root, "hit", context_lines=1)
    assert "tests: " not in whole, "lines around matches were asked for"


@pytest.mark.parametrize("include", [["tests/*"], ["*.md"]])
def test_tests_or_documents_are_shown_where_no_other_code_matches(
    tree: Plant, include: list[str]
) -> None:
    root = tree({"a.py": "hit\n", "b.md": "hit\n" * 20, "tests/test_a.py": "hit\n" * 20})
    text = told(root, "hit", include=include)
    assert text.count(": hit\n") == 20, text


@pytest.mark.parametrize("limit", [64, 100, 300, 1000, 5000])
def test_text_keeps_to_its_limit(tree: Plant, limit: int) -> None:
    root = tree({f"{n}": f"x {'y' * 400}\n" * 5 for n in range(9)})
    reply = SERVER.call(TOOL, {"pattern": "x"}, {"root": str(root), "max_output_bytes": limit})
    assert len(reply.text.encode()) <= limit


def test_columns_count_utf_16_units_in_the_json(tree: Plant) -> None:
    reply = search(tree({"t": "😀é x"}), "x")
    assert data_of(reply)["items"][0]["column"] == 4
    assert '"column":5' in str(reply.json)
    assert '"took_ms":' in str(reply.json)


# ---------------------------------------------------------------------------- unsaved text


def test_unsaved_text_is_searched_in_place_of_the_file_and_told(tree: Plant) -> None:
    root = tree({**GIT, "a": "on disk\n", "b": "on disk\n", ".gitignore": "c\n", "c": ""})
    reply = unsaved(
        root, "on disk|new", {"a": "new text", "d/e": "new", "c": "new", "dist/x": "new"}
    )
    paths = [item["path"] for item in data_of(reply)["items"]]
    assert paths == ["a", "b", "d/e"]
    assert data_of(reply)["unsaved"] == ["a", "d/e"]
    assert "[not saved, searched as in Emacs: a d/e]" in reply.text
    assert data_of(unsaved(root, "é", {"a": "é"}, "iso-8859-1-unix"))["items"][0]["path"] == "a"


def test_notes_in_the_data_have_their_remedy_apart(tree: Plant) -> None:
    root = tree({"a.txt": "Needle\n", "build/b": "x", "dist/c": "x"})
    case, not_searched = data_of(search(root, "needle"))["notes"]
    assert case == {
        "kind": "case",
        "text": "1 file matches without regard to case",
        "remedy": "flags=i",
    }
    assert not_searched == {
        "kind": "not-searched",
        "text": "not searched: 2 in build/ dist/",
        "remedy": "give a directory as root_path",
    }
    assert (
        "[not searched: 2 in build/ dist/; give a directory as root_path]" in search(root, "x").text
    )
