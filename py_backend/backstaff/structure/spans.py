"""Comments and strings that go on over lines. No line within them is code."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from backstaff.structure.language import Language

_MARGIN = re.compile(r"\n(?![ \t\n])")
LONGEST_WORD = 80
MAX_UNCLOSED = 40
"""Maximum number of here-documents without an end in a text. Each is looked for in all of it."""


class Spans:
    """Finds the end of the last token that begins on a line of `text`. `lines` are its lines."""

    def __init__(self, text: str, lines: Sequence[str], language: Language) -> None:
        """Find the lines on which such a token may begin: only these are split into tokens."""
        self.text, self.lines, self.language = text, lines, language
        self.unclosed = set[str]()
        """Marks and words without an end: looking for them again would take quadratic time."""
        self.starts = [0, *accumulate(len(line) + 1 for line in lines)]
        """The places in the text at which the lines begin."""
        self._here = re.compile(language.here_document or r"(?!)").search
        marks = [mark for mark in language.all_long if mark not in language.long_quotes]
        self.beginnings = {
            bisect_right(self.starts, found.start()) - 1
            for mark in marks + ["<<"] * bool(language.here_document)
            for found in re.finditer(re.escape(mark), text)
        }
        """The lines (from 0) that hold a mark with which such a token begins."""

    def end(self, number: int) -> int:
        """Return the line (from 0) on which the last token ends that begins on line `number`."""
        text, language = self.text, self.language
        start = place = end = self.starts[number]
        while (found := language.token(text, place)) and (mark := found[0]) != "\n":
            place = found.end()
            if mark not in language.all_long or mark in self.unclosed:
                continue
            after = language.all_long[mark].end(text, place)
            if after < 0:
                self.unclosed.add(mark)
            elif text.find("\n", place, after) < 0:
                place = after
            elif not (mark in language.long_quotes and self._swallows(place, after)):
                place = end = after
        last = number + text.count("\n", start, end)
        here = self._here(self.lines[number]) if last == number else None
        if here and here[1] not in self.unclosed and len(self.unclosed) < MAX_UNCLOSED:
            word = re.compile(rf"^[ \t]*+{here[1]}[;,)]*+[ \t]*+$", re.MULTILINE)
            if found := word.search(text, self.starts[number + 1]):
                return bisect_right(self.starts, found.start()) - 1
            self.unclosed.add(here[1])
        return last

    def _swallows(self, start: int, end: int) -> bool:
        """Return True if a definition at the margin stands in such a string: then it is none."""
        text, rule = self.text, self.language.rule
        margins = _MARGIN.finditer(text, start, end) if self.language.resumes else ()
        return any(rule(text, found.end(), found.end() + LONGEST_WORD) for found in margins)
