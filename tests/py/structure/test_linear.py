"""No text makes an outline take more than linear time, however the expressions read it.

The processor's time is measured, because no test can count the steps of an expression. A text that
takes little is linear enough. For any other, four times the text has to take less than nine times
the time, where quadratic work takes sixteen.
"""

import signal
import time
from collections.abc import Iterator
from itertools import product
from types import FrameType

import pytest

from backstaff.budget import Budget
from backstaff.structure.languages import LANGUAGES
from backstaff.structure.outline import outline

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")

CHARACTERS = 24_000
ENOUGH_S = 0.06
"""Seconds for `CHARACTERS` that no work of more than linear time is content with."""
MOST_S = 1.0
"""Seconds after which a pass is stopped: thirty times the slowest linear one's."""
GROWTH = 9
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


def texts() -> Iterator[tuple[str, str, str]]:
    """Yield the beginning of a text, what is repeated, and the ending."""
    for beginning, unit in product(BEGINNINGS, UNITS):
        yield beginning, unit, ""
    for unit, ending in product(UNITS, ("\n", ";\n", " {\n", "\n}\n")):
        yield "", unit * (398 // len(unit)) + ending, ""
    for beginning, unit in product(BEGINNINGS[1:], UNITS):
        yield "", (beginning + unit * ((390 - len(beginning)) // len(unit)) + "\n"), ""


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_no_repetition_takes_more_than_linear_time(name: str) -> None:
    path = "a" + LANGUAGES[name].files.split()[0]
    for beginning, unit, ending in texts():

        def text(size: int, *parts: str) -> str:
            start, middle, end = parts
            return start + middle * (size // len(middle)) + end

        parts = beginning, unit, ending
        if seconds(text(CHARACTERS, *parts), path) <= ENOUGH_S:
            continue
        assert seconds(text(CHARACTERS, *parts), path) < MOST_S, (beginning, unit[:60])
        # Another process may have slowed this one: the least of several times counts.
        # Each text is another one, because the last outlines are kept.
        few, many = (
            min(seconds(text(size, *parts) + "\n" * count, path) for count in range(1, 4))
            for size in (CHARACTERS, 4 * CHARACTERS)
        )
        assert many < max(GROWTH * few, ENOUGH_S * 4), (beginning, unit[:60], few, many)
