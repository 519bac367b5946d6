"""Definitions that are found without a grammar, beside those of tree-sitter's grammars."""

import json
from random import Random

import pytest

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded
from backstaff.structure import walker
from backstaff.structure.code import Code
from backstaff.structure.languages import LANGUAGES, MAX_CHARACTERS, MAX_LINES, language_of
from backstaff.structure.outline import Outline, outline
from tests.py.structure.answers import ANSWERS, FIXTURES, Known, pairs

ANSWERED: dict[str, list[Known]] = {
    name: [Known(*one) for one in found]
    for name, found in json.loads(ANSWERS.read_text("utf-8")).items()
}
UNANSWERED = {"tricky.org": "org", "tricky.scala": "generic"}
"""Fixtures in languages that have no answers."""


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
    assert not missing
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


def test_blank_line_above_an_adornment_is_no_heading_of_rst() -> None:
    assert names(outlined("a.rst", "  \n====\n\nAb\n==\n")) == ["Ab"]


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
    [
        "impl Next for Work {",
        "impl<'a> Next<&'a str> for Work<'a> {",
        "impl<'a> Next for Work<'a>\nwhere\n{",
        "impl Work {",
    ],
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
        ("a.cs", "/// Said.\n[\n    A,\n    B(1)\n]\nclass F {\n}\n"),
    ],
)
def test_comment_above_belongs_to_the_definition_as_a_whole(path: str, head: str) -> None:
    (one,) = outlined(path, "x = 1;\n\n" + head).definitions
    assert one.first_line == 3 + head.startswith("<?php"), one


def test_labels_and_the_end_of_a_class_belong_to_no_function_below() -> None:
    text = "class A {\npublic:\n int x;\n int g() { return 2; }\n};\ninline int f() { return 1; }\n"
    made = outlined("a.hpp", text)
    assert [(one.qualified, one.first_line, one.last_line) for one in made.definitions] == [
        ("A", 1, 5),
        ("A.g", 4, 4),
        ("f", 6, 6),
    ]
    inner = made.around(4)
    assert inner is not None
    assert inner.qualified == "A.g"


@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        (
            "a.py",
            'def f():\n    """Said.\n\n    More.\n    """\n    # x\n    return "# y"\n',
            [2, 3, 4, 5, 6],
        ),
        ("a.py", 'def f():\n    """Said."""\n    x = 1  # said\n', [2]),
        ("a.js", "/**\n * Said.\n */\nf(); // said\n// more\n", [1, 2, 3, 5]),
        ("a.rs", "//! Said.\nfn f() {\n    /* a\n    b */\n}\n", [1, 3, 4]),
        ("a.ex", '@doc "x"\n# a\n@doc """\nb\n"""\n', [2]),
    ],
)
def test_lines_of_comments_and_docstrings_are_known(path: str, text: str, lines: list[int]) -> None:
    made = outlined(path, text)
    assert [at for at in range(1, text.count("\n") + 2) if made.in_comment(at)] == lines


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


# ---------------------------------------------------------------------------- one case each

Q = '"' * 4
ONE_LINE = [  # a line, and the name that it defines
    ("a.cpp", "[[nodiscard]] int f() {", "f"),
    ("a.cpp", 'template <class T> [[deprecated("x[0]")]] inline T f(T x) {', "f"),
    ("a.cpp", "template <typename T> requires A<T> && B<T>", ""),
    ("a.cpp", "class [[nodiscard]] A {", "A"),
    ("a.cpp", "struct alignas(8) A final : B {", "A"),
    ("a.cpp", "class EXPORTED(x) A {", "A"),
    ("a.cpp", "URL::URL(int x) : y(x) {", "URL::URL"),
    ("a.cpp", 'extern "C" int f(int x) {', "f"),
    ("a.cpp", "void List<K, V<W>>::add(K key) {", "List::add"),
    ("a.cpp", "enum class A : int;", ""),
    ("a.cpp", "concept Big = sizeof(T) > 8;", "Big"),
    ("a.cpp", "TEST(A, b) {", "TEST(A, b)"),
    ("a.c", "[[maybe_unused]] static int f(void) {", "f"),
    ("a.c", "__attribute__((noreturn)) void f(int x) {", "f"),
    ("a.c", "AP_DECLARE(int) f(int x) {", "f"),
    ("a.c", "PyAPI_FUNC(struct a *) f(void) {", "f"),
    ("a.c", "int (*f(int x))(int) {", "f"),
    ("a.c", "void (*signal(int sig, void (*func)(int)))(int) {", "signal"),
    ("A.java", "@Test void f() {", ""),
    ("a.rs", "#[test] fn f() {", "f"),
    ("a.rs", "#[derive(A, B)] pub struct F {", "F"),
    ("a.rs", "#[cfg(test)] mod tests {", "tests"),
    ("a.php", "#[Test] public function f() {", "f"),
    ("a.php", "#[A(b: [1])] final class F {", "F"),
    ("a.ts", "@Component({a: (1), b: ')'}) export class F {", "F"),
    ("a.py", "async def f(x):", "f"),
    ("a.kt", "@A(b = [1]) fun <T : B<T>> f(x: T) {", "f"),
    ("a.kt", "suspend fun `a b`() {", "a b"),
    ("a.swift", "@discardableResult public func f() {", "f"),
    ("a.swift", "func `in`() {", "in"),
    ("a.swift", "static func <= (a: A, b: A) -> Bool {", "<="),
    ("a.ex", "defmacrop f(x) do", "f"),
    ("a.ex", "def f?(x) when x > 1, do: x", "f?"),
    ("a.cs", "[A] [B(1)] public sealed class F {", "F"),
    ("a.go", "func (a *A[T]) F() {", "F"),
    ("a.lua", 't["x y"] = function(a)', 't["x y"]'),
    ("a.lua", "a.b[1].c[d] = function(a)", "a.b[1].c[d]"),
    ("a.lua", "local x = t[function() end]", ""),
    ("a.cpp", "struct A<long double>::B {", "A<long double>::B"),
    ("a.js", 'const x = { "a b"() {', ""),
]
IN_CLASS = [  # a line in a class A, and the name that it defines
    ("a.cpp", "URL", "URL(int x) : y(x) { }", "URL"),
    ("a.cpp", "URL", "~URL() { }", "~URL"),
    ("a.cpp", "A", "[[nodiscard]] bool empty() const { return true; }", "empty"),
    ("a.cpp", "A", "template <class T> explicit A(T x) { }", "A"),
    ("a.cs", "A", "[Fact] public void F() { }", "F"),
    ("a.cs", "A", '[Theory, InlineData("]")] public async Task F() { }', "F"),
    ("a.cs", "A", "public (int, string) F(int x) => (x, null);", "F"),
    ("a.cs", "A", "public List<A<B, (C X, D Y)>> F<T>(int x) { }", "F"),
    ("A.java", "A", '@Test @Tag("a") public void f() { }', "f"),
    ("A.java", "A", "public <R> R f(B<R> x) { }", "f"),
    ("A.java", "A", "public void\n      f(B<R> x) {\n  }", "f"),
    ("a.cpp", "A", "static std::string\n  f(B<R> x) {\n  }", "f"),
    ("a.cs", "A", "B F()\n#pragma x y\n  => new(1);", "F"),
    ("a.ts", "A", '@HostListener("x", ["y"]) onX() {\n  }', "onX"),
    ("a.ts", "A", "@Dec() private async f(): Promise<void> {\n  }", "f"),
    ("a.ts", "A", '"f g" () {\n  }', '"f g"'),
    ("a.js", "A", "async * [Symbol.f] () {\n  }", "[Symbol.f]"),
    ("a.swift", "A", "required convenience init?(x: Int) { }", "init"),
    ("a.swift", "A", "deinit { }", "deinit"),
    ("a.swift", "A", "public subscript<T>(x: T) -> Int { 1 }", "subscript"),
    ("a.kt", "A", "companion object {\n  }", "companion"),
    ("a.kt", "A", "constructor(x: Int) : this() {\n  }", "constructor"),
]


@pytest.mark.parametrize(("path", "line", "name"), ONE_LINE)
def test_definition_behind_attributes_and_modifiers_is_found(
    path: str, line: str, name: str
) -> None:
    opens = line.endswith("do" if path.endswith(".ex") else "(a)")
    last = "end\n" if path.endswith((".ex", ".lua")) and opens else "}\n" * line.endswith("{")
    found = outlined(path, f"{line}\n  x\n{last}").definitions
    assert [one.name for one in found] == [name] * bool(name)


@pytest.mark.parametrize(("path", "owner", "line", "name"), IN_CLASS)
def test_member_behind_attributes_and_modifiers_is_found(
    path: str, owner: str, line: str, name: str
) -> None:
    made = outlined(path, f"class {owner} {{\n  {line}\n}}{';' * path.endswith('.cpp')}\n")
    assert names(made) == [owner, f"{owner}.{name}"]


def test_members_of_a_nameless_namespace_are_found() -> None:
    inner = "void f(int x) {{\n{0}}}\n"
    assert names(outlined("a.cpp", f"namespace {{\n{inner.format('')}}}\n")) == ["f"]
    text = "namespace a {\n  namespace {\n\n    void f(int x) {\n    }\n  }\n}\n"
    assert names(outlined("a.cpp", text)) == ["a", "a.f"]


def test_initializers_over_lines_define_nothing() -> None:
    made = outlined("a.cpp", "A::A(int x)\n    : y(x),\n      z(x) {}\n\nA::~A() {}\n")
    assert names(made) == ["A::A", "A::~A"]


def test_brace_of_an_enum_on_its_own_line_is_no_constant() -> None:
    made = outlined("A.java", "enum A\n{\n  B(1),\n  C(2) {\n  };\n\n  A(int x) {\n  }\n}\n")
    assert names(made) == ["A", "A.A"]


def test_constructor_ends_above_the_next_one() -> None:
    made = outlined("a.kt", "constructor(a: B) : this(\n  c,\n)\nprivate constructor(d: E) {\n}\n")
    assert [(one.line, one.last_line, one.depth) for one in made.definitions] == [
        *((1, 3, 0), (4, 5, 0)),
    ]


def test_function_behind_brackets_is_found_by_its_key() -> None:
    made = outlined("a.lua", 't["x y"].z = function()\nend\n')
    assert made.named("z") == made.named("t.x y.z") == made.named('t["x y"].z') != []


@pytest.mark.parametrize(
    ("path", "text", "last"),
    [
        ("a.c", "void f(void)\n{\ng();\nh();\n}\nint i;\n", 5),
        ("a.sh", "f() {\n  x=$(cat <<EOF\ntext\nEOF\n)\n  more\n}\n", 7),
        ("a.sh", "f() {\n  cat <<End-Of-X\n}\nEnd-Of-X\n}\n", 5),
        ("a.sh", "f() {\n  cat <<A <<'B b'\n}\nA\n}\nB b\n}\n", 7),
        ("a.sh", 'f() {\n  cat <<-"END OF"\n}\n\tEND OF\n}\n', 5),
        ("a.sh", 'f() {\n  x="$(a "b" | c \'d\')"\n  y="$(e "1\n2" | g "h")"\n}\n', 5),
        ("a.php", "<?php\nfunction f() {\n  g(<<<E\n}\nE\n);\n}\n", 7),
        ("a.rb", "def f\n  g(<<~A, <<~B)\nend\n  A\nend\n  B\nend\n", 7),
        (
            "a.cs",
            f"class A {{\n  int F() {{\n    var a = {Q}\n  }}\n    {Q[1:]} x\n    {Q};\n  }}\n}}\n",
            8,
        ),
        ("a.cpp", 'void f() {\n  auto a = R"x(\n}\n)" )x";\n}\n', 5),
        ("a.cpp", "F::F(B x)\n    : y{x},\n      C<D>{1}\n{\n}\nint i;\n", 5),
        ("a.sh", 'f() {\n  x=${a:-${b}} y="${c[@]+"$d"}"\n}\n', 3),
        ("a.pl", "# it's\nsub f {\n  $x{'}'} = 1; # }\n}\n1;\n", 4),
        ("a.rs", 'fn f() {\n    let a = r###"\n}\n"# "###;\n}\n', 5),
        ("a.swift", 'func f() {\n  let a = #"""\n}\n""" "#\n"""#\n}\n', 6),
        ("a.kt", "fun f(\n  a: () -> A = { b() },\n  c: B = {}\n) {\n  d\n}\n", 6),
        ("a.kt", "class F\nprivate constructor(\n  a: B,\n) : C {\n  d\n}\n", 6),
        ("a.swift", "func f(\n  x: Int)\nthrows -> A\n{\n  1\n}\n", 6),
        ("a.ex", 'def f(x) do\n  """\nend\n  """\nend\n', 5),
        ("a.js", "/* export */ function f() {\n  return 1;\n}\nf();\n", 3),
    ],
)
def test_definition_ends_where_it_ends(path: str, text: str, last: int) -> None:
    one = outlined(path, text).definitions[0]
    assert (one.name.lower()[:1], one.last_line) == ("a" if path == "a.cs" else "f", last)


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

    walker.Walk("x = 1\n" * 20_000, LANGUAGES["python"]).run(Counting())
    assert Counting.looks == 21


def test_time_that_is_up_ends_the_pass() -> None:
    with pytest.raises(DeadlineExceeded):
        outline("x = 2\n", "late.py", Budget(deadline=0))


# ---------------------------------------------------------------------------- any text

PARTS = (
    *(
        "\n",
        "\n",
        "  ",
        "\t",
        "x",
        "f(",
        ") {",
        "}",
        "{",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "=> ",
        "= ",
    ),
    *(
        '"',
        "'",
        "`",
        '"""',
        "/*",
        "*/",
        "//",
        "#",
        "--",
        "<<A\n",
        "A\n",
        "$(",
        "\\",
        "'\\n'",
        "#if",
    ),
    *(
        "class A",
        "def f",
        "fn f",
        "function f",
        "func f",
        "end\n",
        "do\n",
        "<!--",
        "(defun a",
        "\0",
    ),
)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_lines_of_hidden_code_are_those_of_the_text(language: str) -> None:
    random, facts = Random(language), LANGUAGES[language]  # noqa: S311
    for _ in range(300):
        text = "".join(random.choices(PARTS, k=60))
        code = Code(text, facts)
        for line, own in zip(code.lines, text.split("\n"), strict=True):
            if len(line) == len(own) and line[:1] not in ("\0", "\f"):  # hidden ones differ
                pairs = zip(line, own, strict=True)
                assert all(a in (b, *' "_\0\f') for a, b in pairs), (text, line)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_definitions_of_any_text_lie_within_it_and_within_each_other(language: str) -> None:
    path = "a" + LANGUAGES[language].files.split()[0]
    random = Random(language)  # noqa: S311
    for _ in range(300):
        text = "".join(random.choices(PARTS, k=60))
        made = outline(text, path, Budget())
        for one in made.definitions if made else ():
            assert 1 <= one.first_line <= one.line <= one.last_line <= text.count("\n") + 1, text
            if one.parent >= 0:
                assert made is not None
                around = made.definitions[one.parent]
                assert around.line <= one.line <= around.last_line, text
