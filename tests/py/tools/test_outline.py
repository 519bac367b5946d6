"""workspace/outline, and definitions in reads and searches: beyond golden cases."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.contents.outlines import outlines
from backstaff.server import Reply
from backstaff.tools.workspace import regexp_search
from tests.py.processes import unprivileged
from tests.py.servers import server_at
from tests.py.trees import Plant

OUTLINE, READ, SEARCH = "workspace/outline", "workspace/read_file", "workspace/regexp_search"
SAVED = "def saved():\n    pass\n"
UNSAVED = "x = 1\n\n\nclass New:\n    def method(self):\n        return x\n"
SHAPES = "".join(
    f"class Shape{n}:\n    def area(self, scale: float = {n}) -> float:\n        return scale\n\n"
    for n in range(120)
)


def unsaved(name: str, text: str) -> dict[str, Any]:
    """A context with `text` in the buffer of the file `name`."""
    data = text.encode()
    item = [name, hashlib.sha256(data).hexdigest(), "utf-8-unix", base64.b64encode(data).decode()]
    return {"unsaved": [item]}


# ---------------------------------------------------------------------------- less room


def test_outline_that_is_cut_names_the_calls_that_show_the_rest(tree: Plant) -> None:
    many = "".join(f"def function_{n}():\n    pass\n\n" for n in range(300))
    files = {f"{part}/{n:02}.py": SAVED for part in ("one", "two") for n in range(40)}
    server, small = server_at(tree(files | {"many.py": many})), {"max_output_bytes": 700}
    reply = server.call(OUTLINE, {"path": "."}, small)
    assert reply.truncated
    assert "more files: give a deeper path or include]" in reply.text
    for more in ({"path": "two"}, {"include": ["two/*.py"]}):
        assert "02.py" in server.call(OUTLINE, {"path": "."} | more, small).text
    reply = server.call(OUTLINE, {"path": "many.py"}, small)
    assert reply.truncated
    assert "[300 rows have no room: read one by its name]" in reply.text
    reply = server.call(READ, {"path": "many.py", "symbol": "function_150"})
    assert "def function_150" in reply.text


# ---------------------------------------------------------------------------- unsaved text


def test_outline_is_of_the_text_that_is_not_saved(tree: Plant) -> None:
    server = server_at(tree({"src/a.py": SAVED}))
    for path in ("src/a.py", "src"):
        reply = server.call(OUTLINE, {"path": path}, unsaved("src/a.py", UNSAVED))
        assert "New" in reply.text, reply.text
        assert "saved" not in reply.text


def test_outline_of_a_file_that_is_in_emacs_alone(tree: Plant) -> None:
    server = server_at(tree({"src/b.txt": ""}))
    reply = server.call(OUTLINE, {"path": "src/a.py"}, unsaved("src/a.py", UNSAVED))
    assert reply.text == "src/a.py: 7 lines, 2 definitions\n4-6 class New\n  5-6 def method(self)\n"


@pytest.mark.parametrize("arguments", [{"symbol": "New.method"}, {"around": 6, "path": "a.py"}])
def test_read_by_structure_is_of_the_text_that_is_not_saved(
    tree: Plant, arguments: dict[str, object]
) -> None:
    server = server_at(tree({"a.py": SAVED}))
    reply = server.call(READ, arguments, unsaved("a.py", UNSAVED))
    head = "a.py: New.method, lines 5-6 of 7, not saved yet in Emacs\n"
    assert reply.text == head + "5\t    def method(self):\n6\t        return x\n"


def test_search_names_definitions_of_the_text_that_is_not_saved(tree: Plant) -> None:
    server = server_at(tree({"a.py": SAVED}))
    given = {"pattern": "return", "context_lines": 0}
    assert "in New.method 5-6:\n6: " in server.call(SEARCH, given, unsaved("a.py", UNSAVED)).text


# ---------------------------------------------------------------------------- headings, windows


def test_comment_and_head_of_a_definition_share_its_heading(tree: Plant) -> None:
    text = "class A:\n    x = 1\n\n    # Run it.\n    def run(self):\n        run()\n"
    given = {"pattern": "[Rr]un", "context_lines": 0}
    reply = server_at(tree({"a.py": text})).call(SEARCH, given)
    rows = "in A.run 4-6:\n4:     # Run it.\n5-6:     def run(self):\n6:         run()\n"
    assert f"a.py\n{rows}[" in reply.text, reply.text


def test_lines_of_a_definition_are_said_once_and_are_those_that_a_read_shows(tree: Plant) -> None:
    text = "class A:\n    x = 1\n\n    @at\n    def run(self):\n        y = 1\n\n    z = 1\n\n\n"
    text += "w = 1\n"
    server = server_at(tree({"a.py": text}))
    found = server.call(SEARCH, {"pattern": "= 1", "context_lines": 0}).text
    rows = [
        "in A 1-8:",
        "2:     x = 1",
        "in A.run 4-6:",
        "6:         y = 1",
        "8:     z = 1",
        "11: w = 1",
    ]
    assert found.splitlines()[2:-1] == rows
    assert server.call(READ, {"symbol": "A.run"}).text.startswith("a.py: A.run, lines 4-6 of ")
    window = server.call(READ, {"path": "a.py", "start_line": 6, "max_lines": 1}).text
    assert "(in A.run 4-6)" in window, window


def test_three_definitions_are_shown_whole_and_more_by_their_own_lines(tree: Plant) -> None:
    def shown(count: int, **more: int) -> str:
        text = "".join(f"# about f{at}\ndef f{at}(x):\n    return x\n\n\n" for at in range(count))
        server = server_at(tree({"a.py": text}))
        reply = server.call(SEARCH, {"pattern": r"\bf\d", "definitions": True, **more})
        return reply.text.partition("a.py\n")[2].partition("[")[0]

    first = "1- # about f0\n2-3: def f0(x):\n3-     return x\n"
    assert shown(3).startswith(f"{first}--\n6- # about f1\n"), shown(3)
    assert shown(4).startswith("2-3: def f0(x):\n7-8: def f1(x):\n"), shown(4)
    assert "3-     return x" in shown(4, context_lines=1)


def test_window_around_a_line_keeps_to_a_definition_that_is_larger(tree: Plant) -> None:
    text = "def f():\n" + "    x = 1\n" * 20 + "def g():\n    pass\n" * 20
    server = server_at(tree({"a.py": text}))
    for line, window in ((2, "1-10"), (11, "6-15"), (20, "12-21")):
        reply = server.call(READ, {"path": "a.py", "around": line, "max_lines": 10})
        assert reply.text.startswith(f"a.py: lines {window} of 62"), reply.text


# ---------------------------------------------------------------------------- secrets


def test_secret_file_is_not_outlined_nor_read_by_name_nor_found_by_name(tree: Plant) -> None:
    secret = "#!/usr/bin/python3\n" + SAVED
    root = tree({"keys/deploy.key": secret, "b.py": "def other(): pass\n"})
    server, model = server_at(root), {"for_model": True}
    for tool, arguments in (
        (OUTLINE, {"path": "keys/deploy.key"}),
        (READ, {"path": "keys/deploy.key", "symbol": "saved"}),
        (READ, {"ranges": [{"path": "keys/deploy.key"}]}),
    ):
        reply = server.call(tool, arguments, model)
        assert "def saved" not in reply.text
        assert "saved()" not in reply.text
    assert "saved" not in server.call(OUTLINE, {"path": "keys"}, model).text
    found = server.call(READ, {"symbol": "saved", "path": "b.py"}, model)
    assert "deploy" not in found.text


# ---------------------------------------------------------------------------- limits


@given(limit=st.integers(200, 6000), directory=st.booleans())
def test_outline_keeps_to_its_limit(
    tmp_path_factory: pytest.TempPathFactory,
    limit: int,
    directory: bool,  # noqa: FBT001
) -> None:
    root = tmp_path_factory.mktemp("outline")
    (root / "a.py").write_text(SHAPES)
    for number in range(40):
        (root / f"b{number}.py").write_text("def f(): pass\n")
    given = {"path": "." if directory else "a.py"}
    reply = server_at(root).call(OUTLINE, given, {"max_output_bytes": limit})
    assert len(reply.text.encode()) <= min(limit, 4096), reply.text


MISSING = re.compile(r"^\[cut at [\d,]+ bytes, missing: ranges=(\[.*\])\]$", re.MULTILINE)
"""The end of a cut answer: the next value of `ranges`."""
METHOD = "    def name{0}(self) -> int:\n        text = {0}\n        return text\n\n"


@given(limit=st.integers(600, 3000))
def test_cut_parts_keep_to_their_limit_and_name_the_ranges_that_show_the_rest(
    tmp_path_factory: pytest.TempPathFactory, limit: int
) -> None:
    root = tmp_path_factory.mktemp("parts")
    (root / "a.py").write_text(SHAPES)
    server, ranges = server_at(root), [{"path": "a.py", "symbol": f"Shape{n}"} for n in range(20)]
    shown = set[str]()
    for _ in range(20):
        reply = server.call(READ, {"ranges": ranges}, {"max_output_bytes": limit})
        assert len(reply.text.encode()) <= limit, reply.text
        shown |= set(re.findall(r"class Shape\d+|scale: float = \d+", reply.text))
        found = MISSING.search(reply.text)
        assert reply.truncated is (found is not None), reply.text
        if not found:
            break
        ranges = json.loads(found[1])
    assert len(shown) == 40, shown


def test_short_parts_come_whole_behind_long_ones(tree: Plant) -> None:
    long = "def long():\n" + "    x = 'a line of some length'\n" * 90
    server = server_at(tree({"a.py": long, "b.py": SAVED}))
    ranges = [{"path": "a.py", "start_line": 1}, {"path": "b.py", "symbol": "saved"}]
    reply = server.call(READ, {"ranges": ranges}, {"max_output_bytes": 2000})
    assert "def saved():" in reply.text, reply.text
    found = MISSING.search(reply.text)
    assert found, reply.text
    ((missing),) = json.loads(found[1])
    assert missing == {
        "path": "a.py",
        "start_line": 93 - missing["max_lines"],
        "max_lines": missing["max_lines"],
    }


def test_long_class_is_its_own_lines_and_a_row_for_each_member(tree: Plant) -> None:
    methods = "".join(map(METHOD.format, range(40)))
    server = server_at(tree({"a.py": f"# Said.\nclass Long:\n    size = 1\n\n{methods}x = 1\n"}))
    for asked in ({"symbol": "Long"}, {"path": "a.py", "around": 3}):
        reply = server.call(READ, asked)
        lines = reply.text.split("\n")
        head = "a.py: Long, lines 1-163 of 166 (its own lines, and the lines of its members)"
        assert lines[:6] == [
            *(head, "1\t# Said.", "2\tclass Long:", "3\t    size = 1"),
            *("5-7\tdef name0(self) -> int", "9-11\tdef name1(self) -> int"),
        ]
        assert lines[-2] == "[whole: start_line=1 max_lines=163]"
        assert "return text" not in reply.text
        assert reply.truncated
    assert "return text" in server.call(READ, {"path": "a.py", "max_lines": 163}).text
    assert "return text" in server.call(READ, {"symbol": "Long.name7"}).text


def test_long_function_is_whole_where_it_takes_a_third_of_the_limit(tree: Plant) -> None:
    text = "def long():\n" + "".join(f"    x = {n}\n" for n in range(200)) + "\n"
    server = server_at(tree({"a.py": text}))
    assert "    x = 199" in server.call(READ, {"symbol": "long"}, {"max_output_bytes": 16_384}).text
    small = {"max_output_bytes": 3000}
    reply = server.call(READ, {"symbol": "long"}, small)
    assert "a.py: long, lines 1-201 of 203 (its beginning)" in reply.text, reply.text
    assert "x = 10\n" in reply.text
    assert "x = 100" not in reply.text
    assert "[whole: start_line=1 max_lines=201]" in reply.text
    reply = server.call(READ, {"path": "a.py", "around": 120, "max_lines": 500}, small)
    assert "--\n105\t    x = 103\n" in reply.text, reply.text
    assert "135\t    x = 133\n[whole" in reply.text, reply.text


def test_only_lines_that_match_are_read_with_some_around(tree: Plant) -> None:
    methods = "".join(map(METHOD.format, range(40)))
    server = server_at(
        tree(
            {
                "a.py": f"class Long:\n{methods}",
                "b.txt": "one\nTWO\nthree\n",
                "large.txt": "a\n" * (1 << 20),
            }
        )
    )
    reply = server.call(READ, {"symbol": "Long", "match": "TEXT = 2$|text = 30"})
    assert reply.text.split("\n")[:3] == [
        "a.py: Long, lines 1-160 of 162 (1 line for 'TEXT = 2$|text = 30')",
        "1\tclass Long:",
        "--",
    ], reply.text
    reply = server.call(READ, {"symbol": "Long", "match": "text = 2$"})
    assert "--\n8\t        return text\n" in reply.text, reply.text
    assert "11\t        text = 2\n" in reply.text
    assert "text = 3" not in reply.text
    reply = server.call(READ, {"path": "b.txt", "match": "two"})
    assert "b.txt: lines 1-4 of 4 (1 line for 'two')\n1\tone\n2\tTWO" in reply.text
    reply = server.call(
        READ, {"ranges": [{"path": "b.txt", "match": "nothing"}, {"path": "b.txt"}]}
    )
    assert "(no line for 'nothing')" in reply.text, reply.text
    assert "3\tthree" in reply.text
    assert (
        "Argument 'match' is no regular expression"
        in server.call(READ, {"path": "b.txt", "match": "(a"}).text
    )


def test_outline_of_1500_lines_takes_about_a_thousand_tokens(tree: Plant) -> None:
    from backstaff.render.tokens import tokens

    text = SHAPES + "\n" * (1500 - SHAPES.count("\n"))
    reply = server_at(tree({"a.py": text})).call(OUTLINE, {"path": "a.py"})
    assert 500 < tokens(reply.text) <= 2000, reply.text


def test_ranges_of_which_each_fails_are_an_error(tree: Plant) -> None:
    server = server_at(tree({"a.py": SAVED}))
    both = server.call(READ, {"ranges": [{"path": "b.py"}, {"path": "a.py", "symbol": "gone"}]})
    assert both.error is not None
    assert both.error["code"] == "NOT_FOUND"
    assert "Path 'b.py' does not exist" in both.text
    assert "Path 'a.py' defines no 'gone'" in both.text
    assert not server.call(READ, {"ranges": [{"path": "b.py"}, {"path": "a.py"}]}).error


def test_secret_among_ranges_is_to_be_asked_for_alone(tree: Plant) -> None:
    server = server_at(tree({"a.py": SAVED, ".env": "hunter2\n"}))
    mixed = server.call(READ, {"ranges": [{"path": ".env"}, {"path": "a.py"}]})
    alone = server.call(READ, {"ranges": [{"path": ".env"}]})
    assert mixed.error is None
    assert alone.error is not None
    assert alone.error["code"] == "INVALID_ARGUMENT", "else one yes would be for all parts"
    for reply in (mixed, alone):
        assert "may hold secrets" in reply.text
        assert "; ask for it with path alone, so that the user can allow it" in reply.text
        assert "hunter2" not in reply.text


def test_definition_begins_on_the_same_line_for_outline_read_and_search(tree: Plant) -> None:
    head = "x = 1\n\n# About A.\n@one\nclass A:\n    y = 2\n\n"
    text = head + "    @two\n    def f(self):\n        hit\n"
    server = server_at(tree({"a.py": text}))
    assert server.call(OUTLINE, {"path": "a.py"}).text.splitlines()[1:] == [
        "3-10 class A",
        "  8-10 def f(self)",
    ]
    assert server.call(READ, {"path": "a.py", "symbol": "A"}).text.startswith(
        "a.py: A, lines 3-10 of"
    )
    assert "in A.f 8-10:\n" in server.call(SEARCH, {"pattern": "hit"}).text


def test_more_ranges_than_allowed_are_refused(tree: Plant) -> None:
    server = server_at(tree({"a.py": SAVED}))
    reply = server.call(READ, {"path": "a.py", "ranges": [{}] * 21})
    assert "Argument 'ranges' has 21 items, more than the 20 allowed" in reply.text


def test_range_that_is_no_object_is_refused_with_the_keys_of_one(tree: Plant) -> None:
    reply = server_at(tree({"a.py": SAVED})).call(READ, {"path": "a.py", "ranges": ["1-3"]})
    assert "Extra data at character 2; it is an object with some of path" in reply.text


def test_ranges_come_in_every_form_that_arguments_have(tree: Plant) -> None:
    server = server_at(tree({"a.py": SAVED}))
    as_json = server.call(READ, '{"ranges": [{"path": "a.py", "symbol": "saved"}]}')
    assert as_json.text == "a.py: saved, lines 1-2 of 3\n1\tdef saved():\n2\t    pass\n"
    plain = server.call(READ, {"ranges": [{"path": "a.py", "symbol": "saved"}]})
    assert plain.text == as_json.text
    assert "must be a list of objects" in server.call(READ, {"ranges": "a.py"}).text


# ---------------------------------------------------------------------------- searches


def test_name_that_no_file_defines_leads_to_the_search_that_finds_a_part(tree: Plant) -> None:
    server = server_at(tree({"a.py": SAVED}))
    reply = server.call(READ, {"symbol": "save"})
    assert reply.error is not None
    assert reply.error["code"] == "NOT_FOUND"
    assert "regexp_search with definitions=true finds a part of a name" in reply.text
    found = server.call(SEARCH, {"pattern": "save", "definitions": True})
    assert "1-2: def saved():" in found.text


def test_name_in_many_files_is_listed(tree: Plant) -> None:
    server = server_at(tree({f"{n:02}.py": SAVED for n in range(30)}))
    reply = server.call(READ, {"symbol": "saved"})
    assert reply.ok
    assert reply.text.startswith("At least 20 definitions have the name 'saved'")
    assert reply.data is not None
    assert len(list(reply.data["definitions"])) == 20  # type: ignore[call-overload]


def test_whole_name_is_found_behind_many_files_with_its_last_part(tree: Plant) -> None:
    files = {
        f"a/{n:03}.py": f"class C{n}:\n    def next(self):\n        pass\n" for n in range(210)
    }
    root = tree(files | {"z.py": "class Subject:\n    def next(self):\n        return 1\n"})
    reply = server_at(root).call(READ, {"symbol": "Subject.next"})
    assert reply.text.startswith("z.py: Subject.next, lines 2-3 of 4\n"), reply.text


@pytest.mark.parametrize(
    ("path", "text", "rows"),
    [
        (
            "a.rs",
            "trait Shape {\n    fn area(&self);\n}\n",
            "in Shape 1-3:\n2:     fn area(&self);\n",
        ),
        ("A.java", "interface A {\n  int area();\n}\n", "in A 1-3:\n2:   int area();\n"),
        ("a.ts", "interface A {\n  area(): number;\n}\n", "in A 1-3:\n2:   area(): number;\n"),
    ],
)
def test_method_without_a_body_is_a_definition_below_its_owner(
    tree: Plant, path: str, text: str, rows: str
) -> None:
    given = {"pattern": "area", "definitions": True, "context_lines": 0}
    reply = server_at(tree({path: text})).call(SEARCH, given)
    assert f"{path}\n{rows}[" in reply.text, reply.text


def test_match_anywhere_on_the_line_of_a_definition_counts_and_others_are_told(tree: Plant) -> None:
    start = "def start(run=None) -> Runner:\n    run()\n\n\n"
    server = server_at(tree({"a.py": start + "class Runner(Base):\n    def run(self): ...\n"}))
    for pattern, lines in (("run", ["1-2", "6"]), ("Runner", ["1-2", "5-6"]), ("Base", ["5-6"])):
        given = {"pattern": pattern, "definitions": True, "context_lines": 0}
        rows = server.call(SEARCH, given).text.splitlines()
        assert [row.partition(":")[0] for row in rows if row[0].isdigit()][1:] == lines, rows
    text = server.call(SEARCH, {"pattern": r"run\(\)", "definitions": True}).text
    told = "1 match is on no line that defines something: definitions=false"
    assert f"[{told}]" in text, text
    assert "case" not in text, text


@pytest.mark.parametrize(("count", "is_read"), [(1, True), (3, True), (4, False)])
def test_at_most_three_definitions_with_one_name_are_read_at_once(
    tree: Plant, count: int, *, is_read: bool
) -> None:
    methods = "".join(
        f"  void run({'int a, ' * n}int b) {{\n    use{n}();\n  }}\n\n\n\n\n" for n in range(count)
    )
    server = server_at(tree({"A.java": f"class A {{\n{methods}}}\n"}))
    given = {"path": "A.java", "symbol": "run"}
    reply = server.call(READ, given)
    assert [f"use{n}();" in reply.text for n in range(count)] == [is_read] * count, reply.text
    assert (f"{count} definitions have the name 'run'; give" in reply.text) is not is_read
    # Those that do not fit are listed as well.
    small = server.call(READ, given, {"max_output_bytes": 200})
    assert (small.text.startswith("3 definitions have the name 'run'; give")) is (count == 3), (
        small.text
    )


@pytest.mark.parametrize("path", [{"path": "a.py"}, {}])
def test_overloads_with_few_lines_between_are_read_together(
    tree: Plant, path: dict[str, str]
) -> None:
    overloads = "".join(
        f"@overload\ndef run(a: {kind}) -> None: ...\n\n" for kind in ("int", "str")
    )
    text = overloads + "def run(a):\n    used(a)\n\n\n" + SAVED * 9
    reply = server_at(tree({"a.py": text})).call(READ, path | {"symbol": "run"})
    assert reply.text.startswith("a.py: lines 1-8 of "), reply.text
    assert reply.text.endswith("8\t    used(a)\n"), reply.text


def test_context_unasked_stays_within_the_definition_and_begins_with_no_blank_line(
    tree: Plant,
) -> None:
    others = "".join(f"def other{n}():\n    return {n}\n\n\n" for n in range(3))
    text = f"{others}class Runner:\n\n    def run(self):\n        return 1\n\n\n{others}run()\n\n\n"
    reply = server_at(tree({"a.py": text})).call(SEARCH, {"pattern": r"run\b"})
    rows = "in Runner 13-16:\n15-16:     def run(self):\n16-         return 1\n"
    assert f"{rows}--\n" in reply.text, reply.text
    assert reply.text.count("31: run()\n[") == 1, reply.text
    asked = server_at(tree({"a.py": text})).call(SEARCH, {"pattern": r"run\b", "context_lines": 2})
    assert "13- class Runner:\n14-\n15-16: " in asked.text, asked.text


def test_names_around_matches_are_left_out_when_the_time_is_up(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(texts: dict[str, str], _: Budget) -> object:
        return outlines(texts, Budget(deadline=0))

    monkeypatch.setattr(regexp_search, "outlines", late)
    server = server_at(tree({"late.py": "def late():\n    return 'late'\n"}))
    reply = server.call(SEARCH, {"pattern": "return"})
    assert "2:     return 'late'" in reply.text
    assert reply.text.count("[the time was up before all definitions") == 1, reply.text


def test_offset_counts_only_matches_that_define_something(tree: Plant) -> None:
    server = server_at(tree({f"{n}.py": "x = saved()\n" + SAVED for n in range(9)}))
    given = {"pattern": "saved", "definitions": True, "max_results": 2, "offset": 4}
    reply = server.call(SEARCH, given)
    assert reply.data is not None
    items = list(reply.data["items"])  # type: ignore[call-overload]
    assert [(one["path"], one["line"]) for one in items] == [("4.py", 2), ("5.py", 2)]
    assert reply.data["next_offset"] == 6


def test_output_files_and_count_heed_definitions_and_tests(tree: Plant) -> None:
    files = {"a.py": SAVED * 2, "b.py": "saved()\n", "tests/c.py": SAVED}
    server = server_at(tree(files))
    given = {"pattern": "saved", "definitions": True, "exclude_tests": True}
    files_of = server.call(SEARCH, given | {"output": "files"})
    assert files_of.data is not None
    assert files_of.data["items"] == [{"path": "a.py"}]
    count = server.call(SEARCH, given | {"output": "count"})
    assert count.data is not None
    assert count.data["items"] == [{"path": "a.py", "count": 2}]


def test_directory_with_a_backslash_in_its_name_is_outlined(tree: Plant) -> None:
    server = server_at(tree({"a\\b/x.py": "def f():\n    pass\n"}))
    reply = server.call("workspace/outline", {"path": "a\\b"})
    assert reply.data is not None, reply.text
    assert [one["path"] for one in reply.data["files"]] == ["a\\b/x.py"]  # type: ignore[attr-defined]


def test_path_that_looks_like_a_heading_is_quoted(tree: Plant) -> None:
    server = server_at(tree({"in f 1-9:": "x\n", "imports: a": "x\n", "+1": "x\n"}))
    text = server.call(SEARCH, {"pattern": "x", "context_lines": 0}).text
    assert all(f'"{name}"\n' in text for name in ("in f 1-9:", "imports: a", "+1")), text


def test_file_of_many_kinds_of_bytes_is_outlined_or_refused_as_read_file_does(folder: Path) -> None:
    (folder / "a.py").write_bytes(b"def f():\r\n    pass\r\n")
    (folder / "b.py").write_bytes(b"\0" * 9)
    server = server_at(folder)
    assert "1-2 def f()" in server.call(OUTLINE, {"path": "a.py"}).text
    refused = server.call(OUTLINE, {"path": "b.py"})
    assert refused.error is not None
    assert refused.error["code"] == "BINARY_NOT_SUPPORTED"


def test_symbol_is_not_said_to_be_undefined_where_files_could_not_be_read(tree: Plant) -> None:
    root = tree({"a.py": "def other():\n    pass\n", "shut.py": "def wanted():\n    pass\n"})
    (root / "shut.py").chmod(0)

    def asked() -> Reply:
        return server_at(root).call(READ, {"symbol": "wanted"})

    reply = unprivileged(asked)
    assert not reply.ok
    assert (
        "No file that was read, in a known language, defines 'wanted' (not searched: 1 unr"
        in reply.text
    )


def test_symbol_is_not_said_to_be_undefined_where_names_are_left_out(tree: Plant) -> None:
    root = tree({"a.py": "def other():\n    pass\n", "src/build/b.py": "def wanted():\n    pass\n"})
    reply = server_at(root).call(READ, {"symbol": "wanted"})
    assert not reply.ok
    assert "(not searched: 1 in src/build/)" in reply.text
