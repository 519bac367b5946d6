"""Comments, strings and here-documents that go on over lines. No line within them is code."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from backstaff.structure.language import Language

_MARGIN = re.compile(r"\n(?![ \t\n])")
LONGEST_WORD, LONGEST_MARK = 80, 30
"""Maximum number of characters of a line with a definition, and of a mark that begins a token."""
MAX_UNCLOSED = 40
"""Maximum number of tokens without an end in a text. Each is looked for in all of it."""


class Spans:
    """Finds the end of the last token that begins on a line of `text`. `lines` are its lines."""

    def __init__(self, text: str, lines: Sequence[str], language: Language) -> None:
        """Find the lines on which such a token may begin: only these are split into tokens."""
        self.text, self.lines, self.language = text, lines, language
        self.unclosed = set[str]()
        """Ends that the text has not: looking for them again would take quadratic time."""
        self.starts = [0, *accumulate(len(line) + 1 for line in lines)]
        """The places in the text at which the lines begin."""
        self._closers = dict[str, tuple[str, str] | None]()
        self._here = re.compile(language.here_document or r"(?!)")
        hints = {one.hint for one in language.all_long if one not in language.long_quotes}
        self.beginnings = self.having(hints | ({"<<"} if language.here_document else set()))
        """The lines (from 0) that hold a mark with which such a token begins."""

    def having(self, words: Iterable[str]) -> set[int]:
        """Return the lines (from 0) that hold one of `words`."""
        return {
            bisect_right(self.starts, found.start()) - 1
            for word in sorted(words)
            for found in re.finditer(re.escape(word), self.text)
        }

    def end(self, number: int) -> int:
        """Return the line (from 0) on which the last token ends that begins on line `number`."""
        text, language, start = self.text, self.language, self.starts[number]
        place = end = start
        line_end, after_here = start + len(self.lines[number]), -1
        if language.here_document and "<<" in self.lines[number]:
            after_here = self._here_documents(number, line_end)
        while (found := language.token(text, place)) and (mark := found[0]) != "\n":
            place = found.end()
            if not (closer := self._closer(mark)) or closer[0] in self.unclosed:
                continue
            # A quote around `$(cat <<END` goes on behind the here-document.
            beyond = after_here if after_here > place and closer[0] in "\"'" else place
            after = self._after(*closer, place)
            if after > line_end and beyond > place:
                after = self._after(*closer, beyond)
            if after < 0:
                continue
            if after <= line_end:
                place = after
            elif not (mark in "\"'" and language.long_quotes and self._swallows(place, after)):
                place = end = after
                if after_here > after:
                    break
        end = max(end, after_here)
        return number + text.count("\n", start, end)

    def _closer(self, mark: str) -> tuple[str, str] | None:
        """Return the end and the escape of the token that `mark` begins; None for other tokens."""
        if len(mark) > LONGEST_MARK:
            return None
        if mark not in self._closers:
            closers = (one.closer(mark) for one in self.language.all_long)
            self._closers[mark] = next(filter(None, closers), None)
        return self._closers[mark]

    def _after(self, closer: str, escape: str, place: int) -> int:
        """Return the place behind the next `closer` that is in no `escape`; -1 if there is none."""
        if len(self.unclosed) >= MAX_UNCLOSED:
            return -1
        if not escape:
            after = self.text.find(closer, place)
            after += len(closer) if after >= 0 else 0
        else:
            found = re.compile(f"{escape}|{re.escape(closer)}", re.DOTALL).finditer(
                self.text, place
            )
            after = next((one.end() for one in found if one[0] == closer), -1)
        if after < 0:
            self.unclosed.add(closer)
        return after

    def _here_documents(self, number: int, place: int) -> int:
        """Return the end of the here-documents that begin on the line that ends at `place`; or -1.

        The text of each begins behind that of the one before it.
        """
        after = -1
        for found in self._here.finditer(self.lines[number][:1000]):
            groups = found.groupdict()
            words = (groups[name] for name in ("quoted", "word") if groups.get(name) is not None)
            word = re.sub(r"[\\\"']", "", next(words, ""))
            blanks = "[ \t]*+" if groups.get("indented") is not None else ""
            if (ends := f"\n{blanks}{word}") in self.unclosed or len(self.unclosed) >= MAX_UNCLOSED:
                continue
            end = re.compile(rf"\n{blanks}{re.escape(word)}[;,)\]]*+[ \t]*+$", re.MULTILINE)
            if one := end.search(self.text, max(place, after)):
                after = one.end()
            else:
                self.unclosed.add(ends)
        return after

    def _swallows(self, start: int, end: int) -> bool:
        """Return True if a definition at the margin stands in such a string: then it is none."""
        text, rule = self.text, self.language.rule
        margins = _MARGIN.finditer(text, start, end) if self.language.resumes else ()
        return any(rule(text, found.end(), found.end() + LONGEST_WORD) for found in margins)
