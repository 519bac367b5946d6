"""The code of a text: its comments and strings are hidden, and its braces have partners."""

import re
from itertools import accumulate, repeat
from operator import add

from backstaff.structure.language import Language, finder

MAX_UNCLOSED = 40
"""Maximum number of tokens without an end in a text. Each is looked for in all of it."""


class Code:
    r"""The `lines` of a text without its comments and strings; `text` joins them.

    A comment is blank, and a string is `"___"`. A line within a string or a here-document begins
    with `\0`. A line within a comment begins with `\f`. `bodies` have no
    blanks around them, and the `starts` of the lines are places in `text`.
    """

    def __init__(self, text: str, language: Language) -> None:
        self.source, self.language = text.replace("\0", " ").replace("\f", " "), language
        self.unclosed = set[re.Pattern[str]]()
        """Ends that the text has not: looking for them again would take quadratic time."""
        self.text = "".join(self._hidden())
        self.lines = self.text.split("\n")
        self.bodies = [*map(str.strip, self.lines)]
        self.starts = [*accumulate(map(add, map(len, self.lines), repeat(1)), initial=0)]
        self.closing = dict[int, int]()
        """The places of braces, each with that of its partner."""
        opened, place = list[int](), 0
        for part in self.text.split("{") if language.end == "{" else ():
            at = part.find("}")
            while at >= 0:
                if opened:
                    self.closing[opened.pop()] = place + at
                at = part.find("}", at + 1)
            place += len(part) + 1
            opened.append(place - 1)

    # One loop over the tokens, because a function for each would take twice the time.
    def _hidden(self) -> list[str]:  # noqa: C901
        """Return the parts of `text`."""
        text, language, parts = self.source, self.language, list[str]()
        place, limit, line_end, below = 0, len(text), -1, -1
        closers, has_here = dict[str, re.Pattern[str]](), "<<" in text
        while (found := language.token(text, place, limit)) or limit < len(text):
            if not found:  # `below` the line stands a here-document
                parts.append(text[place:limit] + "\n\0" * text.count("\n", limit, below))
                place, limit = below, len(text)
                continue
            (start, end), kind = found.span(), (found.lastgroup or " ")[0]
            if kind in "hl" and language.here_document and has_here and start > line_end:
                line_end = (text.find("\n", start) + 1 or len(text) + 1) - 1
                if (below := self._here_documents(start, line_end)) > 0:
                    limit = line_end
            if kind == "l":
                if (mark := found[0]) not in closers:
                    closers[mark] = language.closer(found)
                if (after := self._after(closers[mark], end)) < 0:
                    kind = "h"
                else:  # a comment begins with `/*`, `--`, `=` or `#|`
                    kind, end = "c" if mark[0] in "/-=#" and mark[-1] != '"' else kind, after
            if end > limit:
                end, limit = max(end, below), len(text)
            hidden = text[start:end]
            lines = hidden.count("\n") if "\n" in hidden else 0
            width = hidden.find("\n") if lines else end - start
            if kind == "c":
                hidden = " " * width + "\n\f" * lines
            elif kind != "h":
                hidden = '"' + "_" * (width - 2) + '"' * (width > 1) + "\n\0" * lines
            parts += text[place:start], hidden
            place = end
        return [*parts, text[place:]]

    def _after(self, end: re.Pattern[str], place: int) -> int:
        """Return the place behind the next match of `end` with its group; -1 if there is none."""
        if self.unclosed and (end in self.unclosed or len(self.unclosed) >= MAX_UNCLOSED):
            return -1
        for found in end.finditer(self.source, place):
            if found.lastindex:
                return found.end()
        self.unclosed.add(end)
        return -1

    def _here_documents(self, start: int, line_end: int) -> int:
        """Return the end of the here-documents that begin on the line from `start` on; or -1.

        The text of each begins behind that of the one before it.
        """
        after = -1
        begun = finder(self.language.here_document)
        for found in begun(self.source, start, min(line_end, start + 1000)):
            word = re.escape(re.sub(r"[\\\"']", "", found["word"]).strip())
            blanks = "" if found["indented"] is None else "[ \t]*+"
            end = re.compile(rf"(\n{blanks}{word}[;,)\]]*+[ \t]*+$)", re.MULTILINE)
            after = max(after, self._after(end, max(line_end, after)))
        return after
