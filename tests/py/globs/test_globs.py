"""The glob language: matches, refusals, and no pattern that costs time."""

import re
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.globs.globs import (
    MAX_ECHO,
    MAX_EXPANSIONS,
    MAX_PATTERN_CHARACTERS,
    MAX_PATTERNS,
    BadGlob,
    compile_globs,
)
from tests.py.examples import examples
from tests.py.globs import glob_model
from tests.py.processes import DEADLINE, in_child

MOST_SECONDS_A_MATCH = 0.05


def matches(pattern: str, path: str) -> bool:
    return compile_globs((pattern,)).match(path)


# ---------------------------------------------------------------------------- the language


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("x", "x"),
        ("x/", "x"),
        ("*.log", "a.log"),
        ("*", ".hidden"),
        ("**/*.log", "a.log"),
        ("**/*.log", "a/b/c.log"),
        ("**/node_modules/**", "node_modules"),
        ("**/node_modules/**", "a/node_modules"),
        ("**/node_modules/**", "a/node_modules/b/c"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/y/b"),
        ("a/**", "a"),
        ("a/**", "a/b\nc"),
        ("**", "a\nb/c"),
        ("a?c", "a\nc"),
        ("[ab]x", "bx"),
        ("[!a]x", "bx"),
        ("[^a]x", "bx"),
        ("[a-c]", "b"),
        ("[a-]", "-"),
        ("[]a]", "]"),
        ("[!]a]", "b"),
        ("[\\]]", "]"),
        ("[a\\-c]", "-"),
        ("[a&&b]", "&"),
        ("[+--]", ","),
        ("[[]", "["),
        ("[[a]]", "a]"),
        ("app/[[...slug]]/page.tsx", "app/s]/page.tsx"),
        ("[[id]]/*.ts", "d]/a.ts"),
        ("[]", "[]"),
        ("[!]", "[!]"),
        ("a[/]b", "a[/]b"),
        ("**/[a/b]", "x/[a/b]"),
        ("./x", "x"),
        ("./*.log", "a.log"),
        ("./**/x", "a/x"),
        ("!x", "!x"),
        ("{a,b}.c", "b.c"),
        ("{a,{b,c}d}", "cd"),
        ("{a,b/**}", "b/x"),
        ("{,x}a", "a"),
        ("{a}", "{a}"),
        ("{a\\,b,c}", "a,b"),
        ("{1..3}", "2"),
        ("{a..c}", "b"),
        ("\\*", "*"),
        ("\\{a\\}", "{a}"),
        ("a\\/b", "a/b"),
        ("**\\/b", "a/b"),
        ("***", "a"),
        ("a**b", "axxb"),
        ("t?", "t\udce9"),
        ("[\udc80-\udcff]", "\udce9"),
        ("\U0001f600*", "\U0001f600.txt"),
        ("${a,b}", "${a,b}"),
    ],
)
def test_pattern_matches(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("x", "a/x"),
        ("x", "x/a"),
        ("x", "X"),
        ("*.log", "a/b.log"),
        ("*", "a/b"),
        ("?", "a/b"),
        ("a?b", "a/b"),
        ("a[!x]b", "a/b"),
        ("a[+-9]b", "a/b"),
        ("a[/]b", "a/b"),
        ("[[a]]", "a"),
        ("././x", "x"),
        ("!x", "x"),
        ("!x", "a"),
        ("a/*", "a"),
        ("a/**/b", "a/xb"),
        ("a**b", "a/b"),
        ("**/x/**", "a/xy"),
        ("[a\\-c]", "b"),
        ("[!a]", "a"),
        ("a//b", "a/b"),
        ("**//**", "a/b"),
        ("/a", "a"),
        ("\\*", "a"),
        ("\\**", "a"),
        ("{a,b}", "{a,b}"),
        ("{,x}", "a"),
        ("t\\351", "t\udce9"),
    ],
)
def test_pattern_does_not_match(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


def test_one_matching_pattern_of_several_is_enough() -> None:
    globs = compile_globs(("x", "**/*.o", "x"))
    assert globs.match("a/b.o")
    assert not globs.match("a/b.c")


PIECES = (
    *(
        "a",
        "b",
        "a",
        "b",
        "/",
        "/",
        "*",
        "*",
        "**",
        "**/",
        "/**",
        "?",
        ".",
        "\n",
        "é",
        "\udcff",
        "-",
    ),
    *(
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-c]",
        "[]a]",
        "[a\\]]",
        "[\udc80-\udcff]",
        "[!\n]",
        "[.-0]",
        "[-a]",
    ),
    *("./", "[/]", "[[", "]]"),
    *("{a,b}", "{a,*}", "{,b}", "{a/b,**}", "{a,{b,?}}", "{", "}", ",", "[", "]", "\\", "!", "^"),
)
patterns = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=7)
    .map("".join)
    .filter(lambda text: text != "./")  # which is empty
)
PATH_PIECES = (*"aaabb//", "ab", ".a", "-", "\n", "é", "\udcff", "{", "]", "*", "\\", "c")
paths = (
    st.lists(st.sampled_from(PATH_PIECES), min_size=1, max_size=6)
    .map("".join)
    .map(lambda text: "/".join(filter(None, text.split("/"))))
    .filter(bool)
)


def expected(pattern: str, path: str) -> bool | str:
    try:
        return glob_model.matches(pattern, path)
    except ValueError:
        return "refused"


def actual(pattern: str, path: str) -> bool | str:
    try:
        return matches(pattern, path)
    except BadGlob as error:
        assert_names_it(error, pattern)
        return "refused"


def assert_names_it(error: BadGlob, pattern: str) -> None:
    assert repr(pattern) in str(error)
    assert str(error).isprintable()


@examples(3)
@given(patterns, st.lists(paths, min_size=1, max_size=4))
@example("**/a*b/**", ["x/a\nb"])
@example("[!-a]", ["-", "a"])
def test_patterns_match_like_a_plain_model(pattern: str, paths: list[str]) -> None:
    if ".." in pattern:  # possibly a sequence, which the model does not know
        return
    assert {path: actual(pattern, path) for path in paths} == {
        path: expected(pattern, path) for path in paths
    }


@examples(2)
@given(
    st.lists(patterns, min_size=1, max_size=3),
    st.one_of(st.just(""), paths),
    st.lists(paths.filter(lambda path: "/" not in path), min_size=1, max_size=6),
)
@example(["**/a/**"], "x/a", ["b", "a"])
@example(["a/**/b/**"], "a/c", ["b", "c"])
@example(["a/"], "a", ["b"])
@example(["**"], "", ["b"])
def test_names_of_a_directory_match_as_each_path_does(
    several: list[str], directory: str, names: list[str]
) -> None:
    try:
        globs = compile_globs(tuple(several))
    except BadGlob:
        return
    prefix = f"{directory}/" if directory else ""
    assert globs.among(prefix, names, Budget()) == {
        name for name in names if globs.match(prefix + name)
    }


def as_pattern(path: str, holes: list[bool]) -> str:
    """Return a pattern that matches `path`, with a wildcard for each character with a hole."""
    plain = "".join(c if c == "/" else f"\\{c}" for c in path)
    pieces = re.findall(r"\\.|/", plain, re.DOTALL)
    wild = [
        "?" if hole and piece != "/" else piece
        for piece, hole in zip(pieces, holes * len(pieces), strict=False)
    ]
    return "".join(wild)


@given(paths, st.lists(st.booleans(), min_size=1, max_size=4))
def test_an_escaped_path_with_holes_matches_itself(path: str, holes: list[bool]) -> None:
    pattern = as_pattern(path, holes)
    assert matches(pattern, path)
    assert matches(f"**/{pattern}/**", f"x/{path}/y")
    assert not matches(pattern, f"x/{path}")


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "pattern",
    [
        "\0",
        "a\0b",
        "[",
        "[a",
        "a]",
        "][",
        "[a/b",
        "a/b]",
        "[a]]",
        "[a\\]",
        "{",
        "}",
        "{a",
        "a}",
        "{a,b}}",
        "}{",
        "{a,{b}",
        "[z-a]",
        "[a\n-\t]",
        "[[:alpha:]]",
        "[a[:digit:]b]",
        "\\",
        "a\\",
        "a/\\",
        "x" * (MAX_PATTERN_CHARACTERS + 1),
        "{a,b}" * 20,
        "{1..100000000}",
        f"{{1..{MAX_EXPANSIONS + 1}}}",
        "{1..99999999999999999999999999}" * 2 + "{a,b}" * 20,
        "{" * 300 + "a" + "}" * 300,
        "[z-\n]\x1b\u202e\udcff",
    ],
)
def test_bad_pattern_is_refused_and_named_on_one_line(pattern: str) -> None:
    with pytest.raises(BadGlob) as caught:
        compile_globs(("fine", pattern))
    named = pattern if len(pattern) <= MAX_ECHO else pattern[:MAX_ECHO] + "..."
    assert_names_it(caught.value, named)


@pytest.mark.parametrize("pattern", ["", "./"])
def test_empty_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadGlob, match="empty"):
        compile_globs(("a", pattern))


def test_too_many_patterns_are_refused() -> None:
    most = tuple(f"x{n}" for n in range(MAX_PATTERNS))
    assert compile_globs(most).match("x7")
    with pytest.raises(BadGlob, match=f"{MAX_PATTERNS + 1} patterns"):
        compile_globs((*most, "y"))


def test_braces_that_only_together_stand_for_too_many_patterns_are_refused() -> None:
    with pytest.raises(BadGlob, match=f"more than {MAX_EXPANSIONS}"):
        compile_globs((f"{{1..{MAX_EXPANSIONS}}}", "x"))


def test_as_many_alternatives_as_are_allowed_work() -> None:
    assert matches(f"{{1..{MAX_EXPANSIONS}}}", str(MAX_EXPANSIONS))


def test_pattern_of_the_greatest_length_works() -> None:
    assert matches("?" * MAX_PATTERN_CHARACTERS, "a" * MAX_PATTERN_CHARACTERS)


# ---------------------------------------------------------------------------- cost

HOSTILE_PATTERNS = (
    "*a" * 5 + "b",
    "*a" * 127 + "b",
    "*a" * 500 + "*b",
    "*?" * 60 + "b",
    "*?" * 60,
    "?*" * 120 + "[!a]",
    "*[ab]" * 60 + "*[!ab]",
    "*[!b]*a" * 80 + "b",
    "*" * 1000 + "b",
    "**/" * 300 + "b",
    "**/a/" * 200 + "b",
    "**/*a*/" * 140 + "b",
    "**/*a*a*a*b/" * 80 + "**",
    "a/**/" * 200 + "b/**",
    "*a*/" * 250 + "b",
    "**/" + "a/" * 500 + "b",
    "**/" + "*a/" * 100 + "b",
    "{*a,{*a,{*a,{*a,*a}*a}*a}*a}*a*b",
    "{*a*,**/*a*}/" * 4 + "b",
    "{**/,*a}" * 4 + "b",
    "\\*a*" * 200 + "b",
)
HOSTILE_PATHS = (
    "a" * 255,
    "ab" * 127,
    "*a" * 127,
    "a/" * 2047 + "a",
    "a/" * 2047 + "b",
    ("a" * 255 + "/") * 15 + "a" * 255,
    ("aab" * 85 + "/") * 15 + "c",
    "/".join(["a" * 7] * 512),
)


def slow_matches() -> list[tuple[str, str, float]]:
    """The patterns and paths that took too long, in seconds of this process."""
    signal.alarm(DEADLINE)  # do not wait for an exponential one
    slow = []
    for pattern in HOSTILE_PATTERNS:
        globs = compile_globs((pattern,))
        globs.match("")  # it is made at the first question
        for path in HOSTILE_PATHS:
            seconds = MOST_SECONDS_A_MATCH + 1
            for _ in range(5):  # a virtual machine that is paused counts the pause as work
                start = time.process_time()
                globs.match(path)
                seconds = min(seconds, time.process_time() - start)
                if seconds <= MOST_SECONDS_A_MATCH:
                    break
            else:
                slow.append((pattern[:60], path[:60], seconds))
    return slow


def test_no_pattern_is_slow_on_any_path() -> None:
    assert in_child(slow_matches) == []


TWO_IMPORTS = """
import sys, threading
import _frozen_importlib as importing
from backstaff.globs.globs import compile_globs

other = threading.Thread(target=lambda: compile_globs(("*.c",)))

def meet(event, arguments):
    # This thread is importing pathspec; let the other want it now.
    if event == "import" and arguments[0].startswith("pathspec.") and not other.ident:
        other.start()
        while other.ident not in importing._blocking_on:
            pass

sys.addaudithook(meet)
compile_globs(("*.o",))
other.join()
"""


def test_two_threads_that_need_patterns_first_both_get_them() -> None:
    done = subprocess.run(  # noqa: S603  # the program of this test
        [sys.executable, "-c", TWO_IMPORTS],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
