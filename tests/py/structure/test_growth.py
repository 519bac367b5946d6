"""The time of each language's expressions grows linearly with the text, however hostile it is."""

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from types import FrameType

import pytest

from backstaff.budget import Budget
from backstaff.structure.blocks import blocks
from backstaff.structure.headings import HEADINGS, sections
from backstaff.structure.language import LONGEST, Language
from backstaff.structure.languages import LANGUAGES

CHARACTERS = 1 << 15
"""Length of a text in which a quadratic expression of few steps shows."""
SECONDS = 0.3
"""Processor time after which the growth is measured. A text of such a length takes .04 s."""
NAMES = {language: name for name, language in LANGUAGES.items()}
GROWTH = 8
"""Maximum ratio of the times of a text and of one a quarter as long; 16 if they are quadratic."""
PIECES = (
    *("\\a", "\\\\", "\\\n", "a", " ", "\t", "\n", "\n\n", "=", ":", ";", ",", ".", "&", "<", ">"),
    *("(", ")", "[", "]", "{", "}", "()", "{}", "${", "$", "/", "*", "#", "@", "@a(", "'", '"'),
    *("# ", "* ", "- ", "```", "~~~", "<!--", "-->", "==", "#+begin_a\n", ".. a::\n", "`a`"),
    *("a:", "a(", "a b ", "A ", "a.", "a::", "<a", "a = ", "=> ", "-> ", "if(", "new a{", "[["),
)


class TooSlow(Exception):
    """A text took longer than its limit."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` after so much processor time. A match in `re` looks at signals, too."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def beginnings(language: Language) -> list[str]:
    """Return pieces of text that begin each of the language's tokens and definitions."""
    keywords = re.findall(r"[a-z]{2,}", " ".join((*language.rules, language.modifiers)))
    marks = (*language.all_long, *language.long_quotes, *language.comments, *language.quotes)
    ends = (token.close for token in language.all_long.values())
    return [*dict.fromkeys((*marks, *ends, "<<A", "<<~A", *(f"{word} " for word in keywords)))]


def seconds_for(text: str, language: Language, limit: float) -> float:
    begun = time.process_time()
    with limited(limit):
        if (name := NAMES[language]) in HEADINGS:
            sections(text, name)
        else:
            blocks(text, language, Budget())
    return time.process_time() - begun


def is_linear(beginning: str, piece: str, language: Language) -> bool:
    """Return True if `piece` repeated behind `beginning` takes time in proportion to its length."""

    def text(characters: int) -> str:
        return beginning + piece * (characters // len(piece))

    try:
        seconds_for(text(CHARACTERS), language, SECONDS)
    except TooSlow:
        try:
            quarter = seconds_for(text(CHARACTERS // 4), language, 30)
            return seconds_for(text(CHARACTERS), language, 30) < GROWTH * max(quarter, 0.01)
        except TooSlow:
            return False
    return True


@pytest.mark.parametrize("name", LANGUAGES)
def test_hostile_repetition_takes_linear_time(name: str) -> None:
    language = LANGUAGES[name]
    first = beginnings(language)
    pieces = [*dict.fromkeys((*PIECES, *first))]
    pairs = [*product(("", *first), pieces), *product(("",), map("".join, product(first, PIECES)))]
    assert [pair for pair in pairs if not is_linear(*pair, language)] == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_one_line_of_backslashes_in_each_string_takes_linear_time(name: str) -> None:
    language = LANGUAGES[name]
    openings = [mark + bracket for mark in language.all_long for bracket in ("{", "(", "[", "${")]
    assert [one for one in openings if not is_linear(f"{one}\n", "\\-", language)] == []
    assert LONGEST < CHARACTERS
