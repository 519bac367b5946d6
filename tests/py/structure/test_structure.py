"""Definitions that are found without a grammar, beside those of tree-sitter's grammars."""

import json
import sys
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType
from typing import Any, NamedTuple, SupportsIndex

import pytest

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded
from backstaff.structure import blocks
from backstaff.structure.headings import sections
from backstaff.structure.language import Long
from backstaff.structure.languages import LANGUAGES, language_of
from backstaff.structure.outline import MAX_CHARACTERS, MAX_LINES, Outline, outline
from dev.structure_oracle import ANSWERS, FIXTURES, Known, pairs

ANSWERED: dict[str, list[Known]] = {
    name: [Known(*one) for one in found]
    for name, found in json.loads(ANSWERS.read_text("utf-8")).items()
}
UNANSWERED = {"tricky.org": "org", "tricky.scala": "generic"}
"""Fixtures in languages for which the script in `dev/` has no grammar."""
MISSED = {"Tricky.java": {"Point 67"}}
"""Definitions that are not found: a constructor without parentheses."""
HEADINGS = ("markdown", "org", "rst")


def outlined(path: str, text: str) -> Outline:
    made = outline(text, path, Budget())
    assert made is not None, path
    return made


def of_fixture(name: str) -> Outline:
    return outlined(name, (FIXTURES / name).read_text("utf-8"))


def names(made: Outline) -> list[str]:
    return [one.qualified for one in made.definitions]


# ---------------------------------------------------------------------------- against an oracle


@pytest.mark.parametrize("name", ANSWERED)
def test_definitions_and_their_last_lines_are_those_of_the_grammar(name: str) -> None:
    ours, theirs = list(of_fixture(name).definitions), ANSWERED[name]
    found = pairs(ours, theirs)
    missing = {f"{one.name} {one.line}" for at, one in enumerate(theirs) if at not in found}
    assert missing == MISSED.get(name, set())
    for mine, at in zip(ours, found, strict=True):
        if at is not None:
            assert mine.last_line == theirs[at].last, mine
            assert mine.first_line <= theirs[at].first, mine


@pytest.mark.parametrize("name", ANSWERED)
def test_nothing_is_called_a_definition_in_strings_comments_and_calls(name: str) -> None:
    assert not [one for one in names(of_fixture(name)) if "text" in one.lower().split(".")]
    assert not [one for one in names(of_fixture(name)) if "comment" in one.lower()]
    assert not [one for one in names(of_fixture(name)) if "not" in one.lower().split("_")]


def test_every_language_has_a_fixture() -> None:
    fixtures = [path.name for path in FIXTURES.iterdir() if path != ANSWERS]
    assert {language_of(name, "") for name in fixtures} == set(LANGUAGES)
    assert set(fixtures) == ANSWERED.keys() | UNANSWERED.keys()


def test_org_has_its_headings_as_definitions() -> None:
    made = of_fixture("tricky.org")
    assert [(one.name, one.line, one.last_line, one.depth) for one in made.definitions] == [
        ("First", 3, 10, 0),
        ("TODO Second                                                     :tag:", 5, 10, 1),
        ("Third", 7, 10, 2),
        ("Last", 11, 12, 0),
    ]


def test_language_without_facts_of_its_own_is_found_by_common_words() -> None:
    found = [
        (one.qualified, one.line, one.last_line) for one in of_fixture("tricky.scala").definitions
    ]
    assert found == [
        ("Point", 4, 12),
        ("Point.length", 5, 5),
        ("Point.move", 7, 11),
        ("Registry", 14, 20),
        ("Registry.find", 17, 19),
        ("Shape", 22, 24),
        ("Shape.area", 23, 23),
    ]


# ---------------------------------------------------------------------------- names and lines


def test_names_around_belong_to_the_qualified_name() -> None:
    assert "Base.Inner.method" in names(of_fixture("tricky.py"))
    assert "Point.Move" in names(of_fixture("tricky.go"))
    assert "Stack.Push" in names(of_fixture("tricky.go"))
    assert {"Shapes.Shape.made", "Shapes.Shape.parsed"} <= set(names(of_fixture("tricky.rb")))
    assert {"Wrapper.area", "Point.new", "Point.load.inner"} <= set(names(of_fixture("tricky.rs")))


@pytest.mark.parametrize("symbol", ["Base.Inner.method", "Inner.method", "Inner::method", "method"])
@pytest.mark.parametrize("joint", [".", "::", "#", "/"])
def test_end_of_the_qualified_name_finds_it_in_any_spelling(symbol: str, joint: str) -> None:
    (one,) = of_fixture("tricky.py").named(symbol.replace("::", ".").replace(".", joint))
    assert one.qualified == "Base.Inner.method"


@pytest.mark.parametrize(
    "head",
    ["impl Next for Work {", "impl<'a> Next for Work<'a>\nwhere\n{", "impl Work {"],
)
def test_functions_of_an_impl_belong_to_its_type(head: str) -> None:
    text = f"{head}\n    fn next() {{\n    }}\n}}\n"
    assert names(outlined("a.rs", text)) == ["Work", "Work.next"]


def test_part_of_a_name_is_no_name() -> None:
    made = of_fixture("tricky.py")
    assert made.named("metho") == made.named("Outer.method") == made.named("") == []


def test_names_with_a_colon_or_a_slash_in_them_are_found_whole() -> None:
    made = outlined("a.lisp", "(defun a/b ()\n  1)\n(defun b ()\n  2)\n")
    assert [one.name for one in made.named("a/b")] == ["a/b"]


def test_innermost_definition_around_each_line() -> None:
    made = outlined(
        "a.py", "x = 1\n\n# Said.\n@one\nclass A:\n    def b(self):\n        pass\n\n    c = 2\n"
    )
    around = [made.around(line) for line in range(1, 10)]
    assert [one and one.qualified for one in around] == [
        *(None, None, "A", "A", "A", "A.b", "A.b", "A", "A"),
    ]
    inner = made.around(7)
    assert inner is not None
    assert [one.name for one in made.above(inner)] == ["A"]


def test_head_over_several_lines_and_decorators_belong_to_the_definition() -> None:
    (one,) = of_fixture("tricky.py").named("long_head")
    assert (one.first_line, one.line) == (20, 23)


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("a.js", "/**\n * Said.\n *\n * @param a\n */\nfunction f(a) {\n}\n"),
        ("a.c", "/*\n *\tSaid.\n *\n */\nint f(int a)\n{\n}\n"),
        ("a.php", "<?php\n/**\n * Said.\n */\n#[Pure]\nfunction f($a) {\n}\n"),
        ("a.rs", "/// Said.\n#[must_use]\nfn f() {\n}\n"),
    ],
)
def test_comment_above_belongs_to_the_definition_as_a_whole(path: str, head: str) -> None:
    (one,) = outlined(path, "x = 1;\n\n" + head).definitions
    assert one.first_line == 3 + head.startswith("<?php"), one


@pytest.mark.parametrize("name", ["operator_of", "my_operator", "operators"])
def test_name_with_operator_in_it_is_a_name(name: str) -> None:
    made = outlined("a.cpp", f"int {name}(int a) {{\n}}\nbool operator==(A a) {{\n}}\n")
    assert names(made) == [name, "operator=="]


@pytest.mark.parametrize(
    ("path", "text", "tests"),
    [
        ("a.py", "def test_a():\n    pass\ndef b():\n    pass\n", ["test_a"]),
        ("a.go", "func TestA(t *testing.T) {\n}\nfunc Tested() {\n}\n", ["TestA"]),
        (
            "a.rs",
            "#[cfg(test)]\nmod checks {\n}\n#[test]\nfn a() {\n}\nfn b() {\n}\n",
            ["checks", "a"],
        ),
        ("a.el", "(ert-deftest a ()\n  1)\n(defun b ()\n  1)\n", ["a"]),
        ("A.java", "class A {\n  @Test\n  void a() {\n  }\n  void b() {\n  }\n}\n", ["a"]),
    ],
)
def test_tests_in_sources_are_known(path: str, text: str, tests: list[str]) -> None:
    assert [one.name for one in outlined(path, text).definitions if one.is_test] == tests


# ---------------------------------------------------------------------------- languages


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a.py", "", "python"),
        ("src/A.PY", "", "python"),
        ("run", "#!/usr/bin/env python3\n", "python"),
        ("run", "#!/bin/sh -e\n", "shell"),
        ("run", "; -*- mode: emacs-lisp -*-\n", "elisp"),
        ("run", "// -*- C++ -*-\n", "cpp"),
        ("a.h", "int f(void);\n", "c"),
        ("a.h", "namespace a {\n", "cpp"),
        ("Rakefile", "", "ruby"),
        ("notes", "def f(): pass\n", ""),
        ("a.txt", "#!/bin/sh\n", ""),
        (".py", "", ""),
        ("a.unknown", "def f():\n", ""),
    ],
)
def test_language_is_told_by_the_name_else_by_the_first_line(
    path: str, text: str, language: str
) -> None:
    assert language_of(path, text) == language


def test_nothing_is_said_of_an_unknown_language() -> None:
    assert outline("def f():\n    pass\n", "a.txt", Budget()) is None


def test_nothing_is_said_of_a_text_over_the_limits() -> None:
    line = "def f(): pass\n"
    assert outline(line * MAX_LINES, "a.py", Budget()) is not None
    assert outline(line * (MAX_LINES + 1), "a.py", Budget()) is None
    assert outline("#" * (MAX_CHARACTERS + 1), "a.py", Budget()) is None


@pytest.mark.parametrize("name", sorted(ANSWERED.keys() | UNANSWERED.keys()))
def test_text_that_is_cut_anywhere_still_has_an_outline(name: str) -> None:
    text = (FIXTURES / name).read_text("utf-8")
    for cut in range(0, len(text), 41):
        lines = text[:cut].count("\n") + 1
        assert all(one.last_line <= lines for one in outlined(name, text[:cut]).definitions)


def test_template_of_cpp_that_is_cut_defines_nothing() -> None:
    assert not outlined("a.cpp", "template <\ntemplate <").definitions


def test_ends_of_lines_and_a_mark_at_the_beginning_change_nothing() -> None:
    text = (FIXTURES / "tricky.py").read_text("utf-8")
    assert names(outlined("a.py", "\ufeff" + text.replace("\n", "\r\n"))) == names(
        outlined("a.py", text)
    )


# ---------------------------------------------------------------------------- bounds


def test_clock_is_looked_at_every_thousand_lines() -> None:
    class Counting(Budget):
        looks = 0

        def check(self) -> None:
            Counting.looks += 1

    blocks.blocks("x = 1\n" * 20_000, LANGUAGES["python"], Counting())
    assert Counting.looks == 21


def test_time_that_is_up_ends_the_pass() -> None:
    with pytest.raises(DeadlineExceeded):
        outline("x = 2\n", "late.py", Budget(deadline=0))


def hostile(size: int) -> Iterator[tuple[str, str]]:
    """Yield texts of about `size` characters that take a careless pass quadratic time."""
    deep = int((2 * size) ** 0.5)
    yield "deeper and deeper", "".join(f"{' ' * n}def f():\n" for n in range(deep))
    yield (
        "shallower and shallower",
        "".join(f"{' ' * n}class f(x) {{\n" for n in range(deep, 0, -1)),
    )
    yield (
        "brackets above",
        "".join(f"{' ' * n})\n{' ' * n}def f():\n" for n in range(deep // 2, 0, -1)),
    )
    for unit in (
        *("a", "{", "(", " ", "'", "/*", "<", "[", "#", "=", "a.", "\\", "((", "/**/", "$'"),
        *(
            "{\n",
            "(\n",
            "f(\n",
            "/* x\n",
            '"\n',
            "'\\\n",
            '"""\n',
            "`\n",
            "cat <<A\n",
            "cat <<A b\n",
        ),
        *("# a\n", "a\n---\n", "namespace a {\n", "}\n", "\tx(){\n \ty(){\n", "x = '''\n", "@a\n"),
        *(
            "=head\n",
            "=begin\n",
            "(defun a ()\n",
            '(defun "a\n',
            "--[[\n",
            "#|\n",
            "end\n",
            'r#"\n',
        ),
        "template " + "<" * 90 + "\n",
        "const x = " + "(a" * 90 + "\n",
        "const x:" + "=>" * 90 + "\n",
        "public " * 50 + "\n",
        "impl " + "<a" * 90 + "\n",
        "x = /[" * 30 + "\n",
        *("q{{}", "q({\n", "m/a", "= /a\n", "s!a\n", "x = "),
        "function a(b){return b.map(c=>({d:`g${h}`}))}",
    ):
        yield unit, unit * (size // len(unit))
    characters = "{}()[]\"'`/*#<>=;:\n\n\t  abc\\"
    yield "noise", "".join(Random(1).choices(characters, k=size))  # noqa: S311


class Scanned(str):
    """A text that counts the characters that its methods look at."""

    __slots__ = ()
    steps = 0

    def find(
        self, sub: str, start: SupportsIndex | None = 0, end: SupportsIndex | None = None
    ) -> int:
        found = super().find(sub, start, end)
        stop = len(self) if end is None else int(end)
        Scanned.steps += (found if found >= 0 else stop) - int(start or 0)
        return found

    def count(
        self, x: str, start: SupportsIndex | None = 0, end: SupportsIndex | None = None
    ) -> int:
        Scanned.steps += (len(self) if end is None else int(end)) - int(start or 0)
        return super().count(x, start, end)


def counting(match: Callable[..., Any]) -> Callable[..., Any]:
    """Return `match`, the method of a pattern, so that it counts the characters it looks at."""

    def counted(text: str, at: int = 0, *rest: int) -> Any:  # noqa: ANN401
        found = match(text, at, *rest)
        Scanned.steps += (found.end() if found else len(text)) - at
        return found

    return counted


class Counted(NamedTuple):
    """A long token that counts the characters up to its end."""

    long: Long

    def end(self, text: str, place: int) -> int:
        after = self.long.end(str(text), place)
        Scanned.steps += (after if after >= 0 else len(text)) - place
        return after


def steps(text: str, name: str) -> int:
    """Return the calls of the pass over `text`, and the characters of the text it looks at."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    Scanned.steps = 0
    sys.setprofile(count)
    try:
        if name in HEADINGS:
            sections(Scanned(text), name)
        else:
            blocks.blocks(Scanned(text), LANGUAGES[name], Budget())
    finally:
        sys.setprofile(None)
    return calls + Scanned.steps


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let expressions that walk the whole text count their steps."""
    for language in LANGUAGES.values():
        long = {mark: Counted(one) for mark, one in language.long.items()}
        monkeypatch.setitem(language.__dict__, "token", counting(language.token))
        monkeypatch.setitem(language.__dict__, "long", long)


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_work_grows_no_faster_than_the_text(name: str) -> None:
    for (what, small), (_, large) in zip(hostile(4_000), hostile(16_000), strict=True):
        # A text that one token covers takes fewer steps than it has characters.
        few, many = max(steps(small, name), len(small)), steps(large, name)
        assert many <= 6 * few + 1000, (what, few, many)


@pytest.mark.parametrize("end", ["};", "} name;", "}"])
def test_the_end_of_a_class_is_no_decorator_of_the_function_below(end: str) -> None:
    members = "public:\n int x;\n int g() { return 2; }\n"
    text = f"class A {{\n{members}{end}\ninline int f() {{ return 1; }}\n"
    made = outlined("a.hpp", text)
    assert {one.qualified: (one.first_line, one.last_line) for one in made.definitions} == {
        "A": (1, 5), "A.g": (4, 4), "f": (6, 6),
    }  # fmt: skip
    owner = made.around(4)
    assert owner is not None
    assert owner.qualified == "A.g"


def test_first_lines_of_classes_and_functions_are_in_order() -> None:
    text = "".join(
        f"class C{n} {{\npublic:\n  C{n}() {{}}\n}};\n\n"
        f"inline int\nf{n}(int a)\n{{\n  return a;\n}}\n"
        for n in range(20)
    )
    first = [one.first_line for one in outlined("a.hpp", text).definitions]
    assert first == sorted(first)
