"""The literals of which a text must hold one to match a pattern.

They come from the pattern as `re` has parsed it. This module runs in the process that matches
(`regexp.PROGRAM`).
"""

from collections.abc import Iterable, Sequence
from re import _constants as op  # type: ignore[attr-defined]  # the only way to a pattern's parts
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MOST_LITERALS = 16
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)

Part = tuple[object, Any]
"""A part of a parsed pattern: a constant of `re` and its value."""


def parsed_by_re(pattern: str, flags: int) -> Any:  # noqa: ANN401 - as `re` has it
    """Return the parts of `pattern`. Raises as `re` does."""
    return parser.parse(pattern, flags)


def required(parts: Iterable[Part]) -> list[str]:
    """Return literals of which one is in every text that the `parts` match; [] if none is known.

    Of several such lists, it is the one whose shortest literal is the longest.
    """
    best, literal = list[str](), ""

    def offer(literals: list[str]) -> None:
        nonlocal best
        shortest = min(map(len, literals), default=0)
        if len(literals) <= MOST_LITERALS and shortest > min(map(len, best), default=0):
            best = literals

    for kind, value in parts:
        if kind is op.LITERAL:
            literal += chr(value)
            continue
        repeated: Sequence[Part] = value[2] if kind in _REPEATS and value[0] else ()
        if len(repeated) == 1 and repeated[0][0] is op.LITERAL:
            # `a+` ends one literal and begins another.
            character = chr(repeated[0][1])
            offer([literal + character])
            literal = character
            continue
        offer([literal])
        literal = ""
        if kind is op.BRANCH:
            branches = [required(branch) for branch in value[1]]
            offer([one for branch in branches for one in branch] if all(branches) else [])
        elif kind is op.SUBPATTERN and not (value[1] or value[2]):  # it sets no flags
            offer(required(value[3]))
        elif kind is op.ATOMIC_GROUP:
            offer(required(value))
        else:
            offer(required(repeated))
    offer([literal])
    return best
