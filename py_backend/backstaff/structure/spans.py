"""Comments and strings that go on over lines. No line within them is code."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from backstaff.structure.language import Language

_MARGIN = re.compile(r"\n(?![ \t\n])")
LONGEST_WORD = 80
"""Maximum number of characters of a line that ends a here-document."""


class Spans:
    """Finds the end of the last token that begins on a line of `text`. `lines` are its lines."""

    def __init__(self, text: str, lines: Sequence[str], language: Language) -> None:
        """Find the lines on which such a token may begin: only these are split into tokens."""
        self.text, self.lines, self.language = text, lines, language
        self.unclosed = set[str]()
        """Marks without an end. They begin no token again, or the time would be quadratic."""
        self._line, self._offset = 0, 0
        self._ends: dict[str, list[int]] = {}
        """The lines that are one word, by the word. They end here-documents."""
        self._here = re.compile(language.here_document or r"(?!)").search
        marks = [*language.all_long, *["<<"] * bool(language.here_document)]
        marks = [mark for mark in marks if mark in text and mark not in language.long_quotes]
        self.beginnings = {at for mark in marks for at, line in enumerate(lines) if mark in line}
        """The lines (from 0) that hold a mark with which such a token begins."""

    def end(self, number: int) -> int:
        """Return the line (from 0) on which the last token ends that begins on line `number`.

        Lines are asked for in their order.
        """
        text, language = self.text, self.language
        self._offset += sum(map(len, self.lines[self._line : number])) + number - self._line
        self._line = number
        start = place = end = self._offset
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
        if last == number and (found := self._here(self.lines[number])):
            return self._end_of_here_document(number, found[1])
        return last

    def _swallows(self, start: int, end: int) -> bool:
        """Return True if a definition at the margin stands in such a string: then it is none."""
        text, rule = self.text, self.language.rule
        margins = _MARGIN.finditer(text, start, end) if self.language.resumes else ()
        return any(rule(text, found.end(), found.end() + LONGEST_WORD) for found in margins)

    def _end_of_here_document(self, number: int, word: str) -> int:
        if not self._ends:
            self._ends[""] = []  # so that it is done once, even if there are none
            for at, line in enumerate(self.lines):
                last = line.strip().rstrip(";,)") if len(line) < LONGEST_WORD else ""
                if last.isidentifier():
                    self._ends.setdefault(last, []).append(at)
        places = self._ends.get(word, [])
        after = bisect_right(places, number)
        return places[after] if after < len(places) else number
