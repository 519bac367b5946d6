"""The code of a text: its comments and strings are hidden, and its braces have partners."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from backstaff.structure.language import Language, finder

GOES_ON = ("\0", "\f")
"""Beginnings of lines that go on with a string or a comment."""
MAX_UNCLOSED = 40
"""Maximum number of tokens without an end in a text. Each is looked for in all of it."""
LONGEST_WORD = 80
"""Maximum number of characters of a line at the margin that are matched with a rule."""
_COMMENTS = ("/*", "--", "=", "#|")
"""Beginnings of comments that may go on over lines."""
_MARGIN = re.compile(r"\n(?![ \t\n])")


class Code:
    r"""The `lines` of a text without its comments and strings; `text` joins them.

    A comment is blank, and a string is `"___"`. A line within a string or a here-document begins
    with `\0`. A line within a comment begins with `\f`. `bodies` have no
    blanks around them, and the `starts` of the lines are places in `text`.
    """

    def __init__(self, text: str, language: Language) -> None:
        self.source, self.language = text.replace("\0", " ").replace("\f", " "), language
        self.unclosed = set[str]()
        """Ends that the text has not: looking for them again would take quadratic time."""
        self.text = "".join(self._hidden())
        self.lines = self.text.split("\n")
        self.bodies = [*map(str.strip, self.lines)]
        self.starts = [*accumulate(map((1).__add__, map(len, self.lines)), initial=0)]
        self.closing = dict[int, int]()
        """The places of braces, each with that of its partner."""
        if language.end == "{":
            self._pair()

    def line_at(self, place: int) -> int:
        """Return the index of the line at a place of `text`."""
        return bisect_right(self.starts, place) - 1

    # One loop over the tokens, because a function for each would take twice the time.
    def _hidden(self) -> Iterator[str]:  # noqa: C901, PLR0912
        """Yield the parts of `text`."""
        text, language = self.source, self.language
        token, place, line_end, after_here = language.token, 0, -1, -1
        closers = dict[str, tuple[str, re.Pattern[str] | None]]()
        while found := token(text, place):
            start, end = found.span()
            if start > line_end >= 0 and after_here > 0:  # it stands in a here-document, or behind
                yield text[place:line_end] + "\n\0" * text.count("\n", line_end, after_here)
                place, after_here = after_here, -1
                continue
            kind = (found.lastgroup or " ")[0]
            if kind in "hl" and language.here_document and start > line_end:
                line_end = (text.find("\n", start) + 1 or len(text) + 1) - 1
                if text.find("<<", start, line_end) >= 0:
                    after_here = self._here_documents(start, line_end)
            if kind == "l":
                if (mark := found[0]) not in closers:
                    closers[mark] = language.closer(mark)
                after = self._after(*closers[mark], end)
                if after < 0 or self._swallows(mark, end, after):
                    kind = "h"
                else:
                    kind, end = "c" if mark.startswith(_COMMENTS) else kind, after
            if kind == "h":  # the text of a here-document begins below the line
                yield text[place:end]
                place = end
                continue
            if end > line_end and after_here > 0:
                end, after_here = max(end, after_here), -1
            lines = text.count("\n", start, end)
            width = (text.find("\n", start, end) if lines else end) - start
            if kind == "c":
                hidden = " " * width + "\n\f" * lines
            else:
                hidden = '"' + "_" * (width - 2) + '"' * (width > 1) + "\n\0" * lines
            yield text[place:start] + hidden
            place = end
        if after_here > place:
            yield text[place:line_end] + "\n\0" * text.count("\n", line_end, after_here)
            place = after_here
        yield text[place:]

    def _after(self, closer: str, pattern: re.Pattern[str] | None, place: int) -> int:
        """Return the place behind the next `closer`; -1 if there is none.

        It is a match of `pattern`, if that is given, because others are escaped.
        """
        if closer in self.unclosed or len(self.unclosed) >= MAX_UNCLOSED:
            return -1
        if pattern is None:
            after = self.source.find(closer, place)
            after += len(closer) if after >= 0 else 0
        else:
            found = pattern.finditer(self.source, place)
            after = next((one.end() for one in found if one[0] == closer), -1)
        if after < 0:
            self.unclosed.add(closer)
        return after

    def _here_documents(self, start: int, line_end: int) -> int:
        """Return the end of the here-documents that begin on the line from `start` on; or -1.

        The text of each begins behind that of the one before it.
        """
        after = -1
        for found in finder(self.language.here_document)(
            self.source, start, min(line_end, start + 1000)
        ):
            groups = found.groupdict()
            words = (groups[name] for name in ("quoted", "word") if groups.get(name) is not None)
            word = re.sub(r"[\\\"']", "", next(words, ""))
            blanks = "[ \t]*+" if groups.get("indented") is not None else ""
            if (ends := f"\n{blanks}{word}") in self.unclosed or len(self.unclosed) >= MAX_UNCLOSED:
                continue
            end = re.compile(rf"\n{blanks}{re.escape(word)}[;,)\]]*+[ \t]*+$", re.MULTILINE)
            if one := end.search(self.source, max(line_end, after)):
                after = one.end()
            else:
                self.unclosed.add(ends)
        return after

    def _swallows(self, mark: str, start: int, end: int) -> bool:
        """Return True if a definition at the margin stands in such a string: then it is none."""
        if not (self.language.resumes and mark in "\"'"):
            return False
        text, rule = self.source, self.language.rule
        margins = _MARGIN.finditer(text, start, end)
        return any(rule(text, found.end(), found.end() + LONGEST_WORD) for found in margins)

    def _pair(self) -> None:
        """Find the partner of each brace."""
        opened, place = list[int](), 0
        for part in self.text.split("}"):
            start = part.find("{")
            while start >= 0:
                opened.append(place + start)
                start = part.find("{", start + 1)
            place += len(part)
            if opened:
                self.closing[opened.pop()] = place
            place += 1
