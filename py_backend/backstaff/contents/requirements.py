"""The parts that a text must hold to match a pattern: one of some literals, or a run of characters.

Both come from the pattern as `re` has parsed it. This module runs in the process that matches
(`regexp.PROGRAM`).
"""

import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from math import prod
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]  # the only way to a pattern's parts
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MOST_LITERALS = 16
LONGEST_RUN = 16
"""Maximum number of classes in a run. More leave hardly a line out, and each takes time to make."""

_NEWLINE = 10
_FIRST, _OTHERS = r"\xc2-\xf4", r"[\x80-\xbf]*"
"""The first and the other bytes of a character that is not ASCII, in UTF-8."""
FOLDED = "\u0130\u0131\u017f\u212a"
"""The characters beyond ASCII that are i, s or k in another case."""
_ONE_CHARACTER = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.ANY_ALL, op.IN)
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)

Part = tuple[object, Any]
"""A part of a parsed pattern: a constant of `re` and its value."""


def parsed_by_re(pattern: str, flags: int) -> Any:  # noqa: ANN401 - as `re` has it
    """Return the parts of `pattern`. Raises as `re` does."""
    return parser.parse(pattern, flags)


class Required:
    """The parts that are in every text that a pattern matches.

    One of `literals` is in it. Of several such sets, it is the one whose shortest literal is the
    longest. Each of `runs` is in it: adjacent parts that match one character each.
    """

    def __init__(self, parts: Iterable[Part]) -> None:
        """Look at the `parts` of a parsed pattern."""
        self.literals: list[str] = []
        self.runs: list[list[Part]] = []
        self._literal, self._run = "", list[Part]()
        for kind, value in parts:
            self._add(kind, value)
        self._end_run()

    def _offer(self, literals: list[str]) -> None:
        """Keep `literals` if they are better than the best."""
        if len(literals) <= MOST_LITERALS and min(map(len, literals), default=0) > min(
            map(len, self.literals), default=0
        ):
            self.literals = literals

    def _end_literal(self) -> None:
        self._offer([self._literal])
        self._literal = ""

    def _end_run(self) -> None:
        self._end_literal()
        if self._run:
            self.runs.append(self._run)
        self._run = []

    def _add(self, kind: object, value: Any) -> None:  # noqa: ANN401 - as `re` has it
        if kind in _ONE_CHARACTER:
            self._run.append((kind, value))
            if kind is op.LITERAL:
                self._literal += chr(value)
            else:
                self._end_literal()
            return
        repeated: Sequence[Part] = value[2] if kind in _REPEATS and value[0] else ()
        if len(repeated) == 1 and repeated[0][0] in _ONE_CHARACTER:
            # `a+` ends one run and begins another.
            self._add(*repeated[0])
            self._end_run()
            self._add(*repeated[0])
            return
        self._end_run()
        if kind is op.BRANCH:
            branches = [Required(branch).literals for branch in value[1]]
            if all(branches):
                self._offer([literal for branch in branches for literal in branch])
            return
        if kind is op.SUBPATTERN and not (value[1] or value[2]):  # it sets no flags
            repeated = value[3]
        elif kind is op.ATOMIC_GROUP:
            repeated = value
        inner = Required(repeated)
        self._offer(inner.literals)
        self.runs += inner.runs


def in_bytes(runs: Iterable[Sequence[Part]], flags: int) -> bytes:
    """Return a pattern of bytes for the rarest of `runs` under `flags`, or b"".

    It matches in each line of UTF-8 that holds the run. A class counts as rare if it has few
    characters and no blank. The pattern begins with the rarest class: `re` finds that quickly.
    """
    best, least = "", 1.0
    for run in runs:
        if len(run) == 1 and run[0][0] is op.LITERAL:
            continue  # it is found faster as a literal
        classes = [_class(kind, value, flags) for kind, value in run[:LONGEST_RUN]]
        shares = [1.0 if ord(" ") in codes else len(codes) / 128 for codes, _ in classes]
        first = shares.index(min(shares))
        if (share := prod(shares[first:])) < least:
            best, least = "".join(map(_expression, classes[first:])), share
    return best.encode()


def _class(kind: object, value: Any, flags: int) -> tuple[list[int], bool]:  # noqa: ANN401 - as `re` has it
    """Return the ASCII characters that a part matches, and whether it may match others."""
    state = parser.State()
    state.flags = flags
    one = compiler.compile(parser.SubPattern(state, [(kind, value)]), flags)
    codes = [code for code in range(128) if code != _NEWLINE and one.match(chr(code))]
    return codes, _names_beyond(kind, value) or any(map(one.match, FOLDED))


def _expression(characters: tuple[list[int], bool]) -> str:
    codes, beyond = characters
    ranges = []
    for _, run in groupby(enumerate(codes), lambda item: item[1] - item[0]):
        (_, first), *_, (_, last) = [*run] * 2
        ranges.append(rf"\x{first:02x}-\x{last:02x}")
    if beyond:
        return f"[{''.join(ranges)}{_FIRST}]{_OTHERS}"
    return f"[{''.join(ranges)}]" if ranges else "(?!)"


def _names_beyond(kind: object, value: Any) -> bool:  # noqa: ANN401 - as `re` has it
    """Whether a part names more than characters of ASCII and ranges of these."""
    if kind is op.IN:
        return any(_names_beyond(*part) for part in value)
    last = value[1] if kind is op.RANGE else value if kind is op.LITERAL else sys.maxunicode
    return bool(last > 127)  # noqa: PLR2004  # the last of ASCII
