"""The parts that a text must hold to match a pattern: one of some literals, or a run of characters.

Both come from the pattern as `re` has parsed it. This module runs in the process that matches
(`regexp.PROGRAM`).
"""

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]  # the only way to a pattern's parts
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MOST_LITERALS = 16
LONGEST_RUN = 16  # classes in a run. More leave hardly a line out, and each takes time to make.
_NEWLINE = 10
_ONE_CHARACTER = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.ANY_ALL, op.IN)
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)

parsed_by_re = parser.parse  # returns the parts of a pattern. Raises as `re` does.
Part = tuple[object, Any]  # a part of a parsed pattern: a constant of `re` and its value


def required(parts: Iterable[Part]) -> list[str]:
    """Return literals of which one is in every text that the `parts` match; [] if none is known.

    Of several such lists, it is the one whose shortest literal is the longest.
    """
    best = list[str]()

    def offer(literals: list[str]) -> None:
        nonlocal best
        shortest = min(map(len, literals), default=0)
        if len(literals) <= MOST_LITERALS and shortest > min(map(len, best), default=0):
            best = literals

    for run, kind, value in _pieces(parts, (op.LITERAL,)):
        offer(["".join(chr(code) for _, code in run)])
        if kind is op.BRANCH:
            branches = [required(branch) for branch in value[1]]
            offer([one for branch in branches for one in branch] if all(branches) else [])
        elif kind is op.SUBPATTERN and not (value[1] or value[2]):  # it sets no flags
            offer(required(value[3]))
        elif kind is op.ATOMIC_GROUP:
            offer(required(value))
        elif kind in _REPEATS and value[0]:
            offer(required(value[2]))
    return best


def runs(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Yield runs of adjacent parts that match one character each; each run is in every match."""
    for run, kind, value in _pieces(parts, _ONE_CHARACTER):
        yield run
        if kind is op.SUBPATTERN and not (value[1] or value[2]):  # it sets no flags
            yield from runs(value[3])


def _pieces(parts: Iterable[Part], kinds: Sequence[Any]) -> Iterator[tuple[list[Part], Any, Any]]:
    """Yield each run of adjacent parts of these `kinds`, and the part behind it or None."""
    run = list[Part]()
    for kind, value in parts:
        repeated: Sequence[Part] = value[2] if kind in _REPEATS and value[0] else ()
        if kind in kinds:
            run.append((kind, value))
        elif len(repeated) == 1 and repeated[0][0] in kinds:
            yield [*run, repeated[0]], None, None  # `a+` ends one run and begins another
            run = [repeated[0]]
        else:
            yield run, kind, value
            run = []
    yield run, None, None


def in_bytes(found: Iterable[Sequence[Part]], flags: int) -> bytes:
    """Return a pattern of bytes for the rarest of the runs `found` under `flags`, or b"".

    Each class lets all characters beyond ASCII through, and is rare if it has few of ASCII and no
    blank. The pattern begins with the rarest class: `re` finds that quickly.
    """
    best, least = b"", 1.0
    for run in filter(None, found):
        classes = [_ascii(kind, value, flags) for kind, value in run[:LONGEST_RUN]]
        shares = [1.0 if ord(" ") in codes else len(codes) / 128 for codes in classes]
        first = shares.index(min(shares))
        if (share := prod(shares[first:])) < least:
            ascii_only = (b"".join(rb"\x%02x" % code for code in one) for one in classes[first:])
            best = b"".join(rb"[%s\xc2-\xf4][\x80-\xbf]*" % codes for codes in ascii_only)
            least = share
    return best


def _ascii(kind: object, value: Any, flags: int) -> list[int]:  # noqa: ANN401 - as `re` has it
    """Return the ASCII characters that a part matches."""
    state = parser.State()
    state.flags = flags
    one = compiler.compile(parser.SubPattern(state, [(kind, value)]), flags)
    return [code for code in range(128) if code != _NEWLINE and one.match(chr(code))]
