"""What a text needs to hold a match of a pattern: literals, and the pattern in the words of RE2.

Both are read off the pattern as `re` has parsed it. The process that matches gets this module's
code alone, so it imports only the standard library.
"""

import sys
from itertools import groupby
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]  # the only way to a pattern's parts
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MOST_LITERALS = 16
MAX_REPEAT = 1000
"""The most repetitions that RE2 counts."""

_NEWLINE = 10
_NOTHING = r"[^\x00-\x7f]"
_BEYOND = r"[\x80-\xff]+"
_FOLDED = "\u0130\u0131\u017f\u212a"
"""What differs from the letters i, k, s only by its case, and is not ASCII."""
_ONE_CHARACTER = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.ANY_ALL, op.IN)
_ANCHORS = {
    op.AT_BEGINNING: "(?m:^)",
    op.AT_BEGINNING_STRING: "(?m:^)",
    op.AT_END: "(?m:$)",
    op.AT_END_STRING: "(?m:$)",
    op.AT_BOUNDARY: r"\b",
}


def parsed_by_re(pattern: str, flags: int) -> Any:  # noqa: ANN401 - as `re` has it
    """The parts of PATTERN. Raises what `re` raises."""
    return parser.parse(pattern, flags)


class Required:
    """Literals, one of which is in every text that a pattern matches.

    `run` collects the characters of a literal, `best` is the best set of literals so far: the one
    whose shortest literal is the longest.
    """

    def __init__(self) -> None:
        self.best: list[str] = []
        self.run = ""

    def offer(self, literals: list[str]) -> None:
        """Keep LITERALS if they are better than the best."""
        if len(literals) <= MOST_LITERALS and min(map(len, literals), default=0) > min(
            map(len, self.best), default=0
        ):
            self.best = literals

    def end_run(self) -> None:
        """The next part is no single character."""
        self.offer([self.run])
        self.run = ""

    def add(self, kind: object, value: Any) -> None:  # noqa: ANN401 - as `re` has it
        """Look at one part of a parsed pattern."""
        if kind is op.LITERAL:
            self.run += chr(value)
            return
        self.end_run()
        if kind is op.BRANCH:
            branches = [required(branch) for branch in value[1]]
            if all(branches):
                self.offer([literal for branch in branches for literal in branch])
        elif kind is op.SUBPATTERN and not (value[1] or value[2]):  # it sets no flags
            self.offer(required(value[3]))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT) and value[0]:
            self.offer(required(value[2]))
        elif kind is op.ATOMIC_GROUP:
            self.offer(required(value))


def required(parts: Any) -> list[str]:  # noqa: ANN401 - as `re` has it
    """The literals of which each match of a parsed pattern has one; none if there are no such."""
    found = Required()
    for kind, value in parts:
        found.add(kind, value)
    found.end_run()
    return found.best


class Linear:
    """A parsed pattern in the words of RE2, for texts in UTF-8 where each line ends with LF.

    `exact` finds in lines of ASCII what the original finds there; it is "" where RE2 cannot.
    `loose` matches in each line that the original matches in, of any characters, and in others.
    What RE2 does not know, such as what is ahead, is left out of it. What a class of characters
    holds, `re` itself says.
    """

    def __init__(self, parsed: Any, flags: int) -> None:  # noqa: ANN401 - as `re` has it
        """Translate what was PARSED under FLAGS."""
        # After an empty match, `re` looks for another one in the same place.
        self._is_exact, self._is_loose = parsed.getwidth()[0] > 0, False
        exact = self._words(parsed, flags)
        self.exact = exact if self._is_exact else ""
        self._is_loose = True
        self.loose = self._words(parsed, flags)

    def _words(self, parts: Any, flags: int) -> str:  # noqa: ANN401 - as `re` has it
        return "".join(f"(?:{self._word(kind, value, flags)})" for kind, value in parts)

    def _word(self, kind: object, value: Any, flags: int) -> str:  # noqa: ANN401, PLR0911 - a table
        if kind in _ONE_CHARACTER:
            return _class(kind, value, flags, is_loose=self._is_loose)
        if kind is op.BRANCH:
            return "|".join(self._words(branch, flags) for branch in value[1])
        if kind is op.SUBPATTERN:
            return self._words(value[3], (flags | value[1]) & ~value[2])
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            low, high, repeated = value
            # RE2 may leave the last empty turn of a loop out.
            self._is_exact &= repeated.getwidth()[0] > 0 and _counts(low) and _counts(high)
            times = f"{{{min(low, MAX_REPEAT)},{high if high <= MAX_REPEAT else ''}}}"
            lazy = "?" if kind is op.MIN_REPEAT else ""
            return f"(?:{self._words(repeated, flags)}){times}{lazy}"
        if kind is op.AT and value in _ANCHORS:
            # For RE2, no letter beyond ASCII is part of a word.
            return "" if value is op.AT_BOUNDARY and self._is_loose else _ANCHORS[value]
        self._is_exact = False
        if kind is op.POSSESSIVE_REPEAT:
            return self._word(op.MAX_REPEAT, value, flags)
        if kind is op.ATOMIC_GROUP:
            return self._words(value, flags)
        if kind is op.GROUPREF_EXISTS:
            return "|".join(self._words(branch or (), flags) for branch in value[1:])
        return r"[^\n]*" if kind is op.GROUPREF else ""


def _counts(times: Any) -> bool:  # noqa: ANN401 - as `re` has it
    return times <= MAX_REPEAT or times is op.MAXREPEAT


def _class(kind: object, value: Any, flags: int, *, is_loose: bool) -> str:  # noqa: ANN401 - as `re` has it
    """The class of the ASCII characters that one character of a parsed pattern stands for.

    If it IS_LOOSE, bytes beyond ASCII are in it if any such character may be.
    """
    state = parser.State()
    state.flags = flags
    one = compiler.compile(parser.SubPattern(state, [(kind, value)]), flags)
    codes = [code for code in range(128) if code != _NEWLINE and one.match(chr(code))]
    ranges = []
    for _, run in groupby(enumerate(codes), lambda item: item[1] - item[0]):
        (_, first), *_, (_, last) = [*run] * 2
        ranges.append(rf"\x{first:02x}-\x{last:02x}")
    within = f"[{''.join(ranges)}]" if ranges else _NOTHING
    if is_loose and (_names_beyond(kind, value) or any(map(one.match, _FOLDED))):
        return f"{within}|{_BEYOND}"
    return within


def _names_beyond(kind: object, value: Any) -> bool:  # noqa: ANN401 - as `re` has it
    """Whether more than single characters of ASCII and ranges of these are named."""
    if kind is op.IN:
        return any(_names_beyond(*part) for part in value)
    last = value[1] if kind is op.RANGE else value if kind is op.LITERAL else sys.maxunicode
    return bool(last > 127)  # noqa: PLR2004  # the last of ASCII
