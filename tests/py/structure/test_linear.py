"""No text makes an outline take more than linear time, however the expressions read it.

The test measures the processor's time, because nothing counts the steps of an expression. A text
that takes little is linear enough. For any other, twice the text has to take less than three times
the time, because quadratic work takes four times.
"""

import re
import signal
import time
from collections.abc import Callable, Iterator
from itertools import islice, product
from random import Random
from types import FrameType

import pytest

from backstaff.budget import Budget
from backstaff.structure.languages import EXAMPLES, LANGUAGES
from backstaff.structure.outline import outline
from tests.py.examples import times

pytestmark = pytest.mark.slow

FEW, CHARACTERS = 4_000, 24_000
"""Numbers of characters of a first try, and of one that is compared with twice as many."""
FEW_ENOUGH_S, ENOUGH_S = 0.008, 0.06
"""Seconds for these that no work of more than linear time is content with."""
MOST_S = 2.0
"""Seconds after which a pass is stopped: thirty times the slowest linear one's."""
GROWTH = 3
BEGINNINGS = (
    *("", "x = ", "q{{", "q(", "qw[", '"', "'", "`", "${", "`${", "/*", "(", "<<A ", "= /", "@a("),
    *("template <", "void f(", "class A<", "impl<", "const f = (", "const f: ", "[a(", "#[", "[["),
    *("def ", "fn ", "type X = ", "__attribute__((", "%w(", "~S(", '"""', "(defun ", "m/", "A("),
    *('$"', '@"', "r#", "<!--", "=begin\n", "\\"),
)
UNITS = (
    *(
        "\\-",
        "\\\\",
        "\\",
        "{",
        "}",
        "{}",
        "(",
        ")",
        "()",
        "[",
        "[]",
        "<",
        "<a>",
        "<a, ",
        ">",
        "${",
    ),
    *("'", '"', "`", "/", "/*", "*/", "//", "#", "a", "a ", "a.", "a::", "a, ", "=", "=> ", "= ("),
    *("@a(", "@a ", "[a] ", "a(", "({", "))", "A_B(", " ", "\t", "-", "<<A", "<<-'A' ", "|", "&"),
    *("#{", "\\(", ": ", "?", "x = (", "do ", "end ", "%w(", "public ", "const ", "!a!", "$#"),
)


LINES = (
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
        "}\n",
    ),
    *(
        "# a\n",
        "a\n---\n",
        "namespace a {\n",
        "\tx(){\n \ty(){\n",
        "x = '''\n",
        "@a\n",
        "=head\n",
        "<!--\n",
    ),
    *(
        "=begin\n",
        "(defun a ()\n",
        '(defun "a\n',
        "--[[\n",
        "#|\n",
        "end\n",
        'r#"\n',
        "q({\n",
        "<<~A x <<-B\n",
    ),
    *(
        "def a do\n",
        "]\n @a\n",
        'R"a(\n',
        "[=[\n",
        "public:\n",
        "type (\n",
        "int f(a)\nint a;\n",
        "case x:\n",
    ),
    *(
        "function a(b){return b.map(c=>({d:`g${h}`}))}",
        "'\\",
        '"\\',
        "`\\",
        "f(\n{\n}\n",
        "x = a =>\n",
        "\n",
        " \n",
    ),
)


class TooLongError(Exception):
    """The text takes longer than any linear work."""


def seconds(text: str, path: str) -> float:
    """Return the processor's time for the outline of `text`."""

    def late(_: int, __: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, MOST_S)
    start = time.process_time()
    try:
        outline(text, path, Budget())
    except TooLongError:
        return MOST_S
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return time.process_time() - start


def texts() -> Iterator[tuple[str, str]]:
    """Yield the beginning of a text, and the piece that is repeated."""
    for beginning, unit in product(BEGINNINGS, UNITS):
        yield beginning, unit
    for unit, ending in product(UNITS, ("\n", ";\n", " {\n", "\n}\n")):
        yield "", unit * (398 // len(unit)) + ending
    for beginning, unit in product(BEGINNINGS[1:], UNITS):
        yield "", (beginning + unit * ((390 - len(beginning)) // len(unit)) + "\n")
    for line in LINES:
        yield "", line


def shapes(size: int) -> Iterator[str]:
    """Yield texts of about `size` characters that no repetition makes."""
    deep = int((2 * size) ** 0.5)
    yield "".join(f"{' ' * n}def f():\n" for n in range(deep))
    yield "".join(f"{' ' * n}class f(x) {{\n" for n in range(deep, 0, -1))
    yield "".join(f"{' ' * n})\n{' ' * n}def f():\n" for n in range(deep // 2, 0, -1))
    yield "".join(
        f'cat <<A{n}\nR"a{n}(\n[{"=" * (n % 90)}[\nr{"#" * (n % 90)}"\n' for n in range(size // 60)
    )
    characters = "{}()[]\"'`/*#<>=;:\n\n\t  abc\\"
    yield "".join(Random(1).choices(characters, k=size))  # noqa: S311


def check(made: Callable[[int], str], path: str, what: object) -> None:
    if seconds(made(FEW), path) <= FEW_ENOUGH_S:
        return
    few, many = MOST_S, MOST_S
    # Another process may slow this one: the least time of up to four counts.
    for _ in range(4):
        few = min(few, seconds(made(CHARACTERS), path))
        if few <= ENOUGH_S:
            return
        many = min(many, seconds(made(2 * CHARACTERS), path))
        if few < MOST_S and many < GROWTH * few:
            return
    pytest.fail(f"{what}: {few} s, and {many} s for twice as much")


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_no_text_takes_more_than_linear_time(name: str) -> None:
    path = "a" + LANGUAGES[name].files.split()[0]
    # A language takes every other text, its neighbours take the rest; a deeper profile takes all.
    every = 2 if times(1) <= 150 else 1
    for start, unit in islice(texts(), sorted(LANGUAGES).index(name) % every, None, every):
        check(lambda size, s=start, u=unit: s + u * (size // len(u)), path, (start, unit[:60]))  # type: ignore[misc]
    for number in range(len([*shapes(FEW)])):
        check(lambda size, n=number: [*shapes(size)][n], path, number)  # type: ignore[misc]


def test_each_expression_matches_its_examples() -> None:
    for pattern, examples in EXAMPLES:
        for text, name in examples.items():
            found = re.match(pattern, text)
            assert found, (pattern, text)
            assert not name or found[found.lastindex or 0] == name, (pattern, text)
