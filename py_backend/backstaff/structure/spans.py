"""Comments and strings that begin on one line and end on another: no line in them is code."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from backstaff.structure.language import Language

LONGEST_WORD = 80
"""Characters of a line that may end a here-document."""


class Spans:
    """Finds where the tokens end that begin on a line of TEXT, whose lines are LINES."""

    def __init__(self, text: str, lines: Sequence[str], language: Language) -> None:
        """Find the lines on which such a token may begin: few are looked at token by token."""
        self.text, self.lines, self.language = text, lines, language
        self.unclosed = set[str]()
        """Marks without an end: they begin nothing from there on, else the time were quadratic."""
        self._line, self._offset = 0, 0
        self._ends: dict[str, list[int]] = {}
        """The lines of one word, by it; for here-documents."""
        self._here = re.compile(language.here_document or r"(?!)").search
        marks = [mark for mark in language.all_long if mark not in language.long_quotes]
        self.beginnings = set[int]()
        """The lines (from 0) that hold a mark with which such a token begins."""
        for mark in marks + ["<<"] * bool(language.here_document):
            line = seen = 0
            place = text.find(mark)
            while place >= 0:
                line += text.count("\n", seen, place)
                self.beginnings.add(line)
                seen = place
                place = text.find("\n", place)
                place = text.find(mark, place) if place >= 0 else -1

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
        """Whether a definition at the margin stands in such a string: then it is none."""
        place = self.text.find("\n", start, end) + 1 if self.language.resumes else 0
        while place:
            is_margin = self.text[place : place + 1] not in " \t\n"
            if is_margin and self.language.rule(self.text, place, place + LONGEST_WORD):
                return True
            place = self.text.find("\n", place, end) + 1
        return False

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
