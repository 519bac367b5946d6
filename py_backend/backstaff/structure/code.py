"""The code of a text: its comments and strings are hidden, and its braces have partners."""

import re
from itertools import accumulate

from backstaff.structure.language import Language, finder

MAX_UNCLOSED = 40  # tokens without an end in a text, at most: each is looked for in all of it
_STRINGS = [f'"{"_" * (width - 2)}"'[:width] for width in range(100)]  # by width


class Code:
    r"""The `lines` of a text without its comments and strings; `text` joins them.

    A comment is blank, and a string is `"___"`. A line within a string or a here-document begins
    with `\0`. A line within a comment begins with `\f`. `bodies` have no
    blanks around them, and the `starts` of the lines are places in `text`.
    """

    def __init__(self, text: str, language: Language) -> None:
        self.source, self.language = text.replace("\0", " ").replace("\f", " "), language
        # Ends that the text has not: looking for them again would take quadratic time.
        self.unclosed = set[re.Pattern[str]]()
        self.text = "".join(self._hidden())
        self.lines = self.text.split("\n")
        self.bodies = [*map(str.strip, self.lines)]
        self.starts = [*accumulate([len(line) + 1 for line in self.lines], initial=0)]
        self.closing = dict[int, int]()  # the places of braces, each with that of its partner
        find, unclosed = self.text.find, list[int]()
        opening, closing = find("{"), find("}") if language.end == "{" else -1
        while closing >= 0:
            while 0 <= opening < closing:
                unclosed.append(opening)
                opening = find("{", opening + 1)
            if unclosed:
                self.closing[unclosed.pop()] = closing
            closing = find("}", closing + 1)

    # One loop over the tokens, because a function for each would take twice the time.
    def _hidden(self) -> list[str]:  # noqa: C901, PLR0912
        text, language, parts = self.source, self.language, [""]
        place, limit, line_end, below = 0, len(text), -1, -1
        closers, has_here = dict[str, re.Pattern[str]](), language.here_document and "<<" in text
        while place < len(text):
            for found in language.tokens(text, place, limit):
                start, end = found.span()
                if not (kind := found.lastgroup):  # a string on one line, as most are
                    width = end - start
                    hidden = _STRINGS[width] if width < len(_STRINGS) else f'"{"_" * (width - 2)}"'
                    parts += text[place:start], hidden
                    place = end
                    continue
                if is_long := (kind := kind[0]) in "hl":
                    if has_here and start > line_end:
                        line_end = (text.find("\n", start) + 1 or len(text) + 1) - 1
                        if (below := self._here_documents(start, line_end)) > 0:
                            limit = line_end
                    if kind == "l":
                        if (mark := found[0]) not in closers:
                            closers[mark] = language.closer(found)
                        if (after := self._after(closers[mark], end)) < 0:
                            kind = "h"
                        else:  # a comment begins with `/*`, `--`, `=` or `#|`
                            kind, end = "c" if mark[0] in "/-=#" and mark[-1] != '"' else "", after
                    if end > limit:
                        end, limit = max(end, below), len(text)
                lines = text.count("\n", start, end)
                width = (text.find("\n", start) if lines else end) - start
                hidden = " " * width if kind == "c" else f'"{"_" * (width - 2)}"'[:width]
                hidden += ("\n\f" if kind == "c" else "\n\0") * lines
                parts += text[place:start], text[start:end] if kind == "h" else hidden
                place = end
                if is_long:
                    break
            else:
                if limit == len(text):
                    break
                # `below` the line stands a here-document
                parts.append(text[place:limit] + "\n\0" * text.count("\n", limit, below))
                place, limit = below, len(text)
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
        """Return the end of the here-documents that begin on the line from `start` on; or -1."""
        after, begun = -1, finder(self.language.here_document)
        for found in begun(self.source, start, min(line_end, start + 1000)):
            word = re.escape(re.sub(r"[\\\"']", "", found["word"]).strip())
            blanks = "" if found["indented"] is None else "[ \t]*+"
            end = re.compile(rf"(\n{blanks}{word}[;,)\]]*+[ \t]*+$)", re.MULTILINE)
            after = max(after, self._after(end, max(line_end, after)))  # one behind the other
        return after
