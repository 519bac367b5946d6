"""Matches of a search as text for a model: each file's path once, then its lines.

    src/a.py
    40- before it
    41: the line
    57:5120: …a long line, cut around the match in column 5120…

A path that looks like one of these lines is quoted. A line with several matches stands once, unless
it was cut.
"""

import re
from collections.abc import Iterator, Sequence

from backstaff.contents.regexp_worker import Match
from backstaff.contents.scan import Found
from backstaff.render.lines import shortened, size
from backstaff.render.names import literal, show, visible

_LIKE_A_ROW = re.compile(r"\d+[:-]|--")
MOST = 300
"""Bytes of a line; a longer one is cut around its match."""


def path_in_text(path: str) -> str:
    """PATH, which no reader can take for a line of a file."""
    return literal(path) if _LIKE_A_ROW.match(path) else show(path)


def rows(found: Sequence[Found], around: int) -> list[str]:
    """The text of each match, with its file's path before the first, and AROUND lines beside it.

    It is "" for a match that the text of the one before shows.
    """
    return [row for one in found for row in _rows_of(one, around)]


def _rows_of(found: Found, around: int) -> Iterator[str]:
    last, numbers = 0, [match[0] for match in found.matches]
    shown = range(0)  # what of the last line stands in text
    head = f"{path_in_text(found.path)}\n"
    for position, match in enumerate(found.matches):
        number, start, end = match[:3]
        if number == last and start >= shown.start and end <= shown.stop:
            yield ""
            continue
        text, shown = line(match)
        before = range(max(last + 1, number - around), number)
        later = numbers[position + 1] if position + 1 < len(numbers) else number + around + 1
        after = range(number + 1, min(number + around + 1, later))
        gap = "--\n" if around and last and before.start > last + 1 else ""
        pieces = [head, gap, *_context(found, before), text, *_context(found, after)]
        yield "".join(pieces)
        head, last = "", max(number, after.stop - 1)


def _context(found: Found, numbers: range) -> Iterator[str]:
    for number in numbers:
        if number in found.lines:
            yield f"{number}- {shortened(visible(found.lines[number]), MOST)}".rstrip() + "\n"


def line(match: Match) -> tuple[str, range]:
    """The row of MATCH, and the columns from 0 that it shows."""
    number, start, end, left, length, part, _ = match
    if len(part) == length and size(part) <= MOST:
        return f"{number}: {visible(part)}\n", range(length + 1)
    # The match comes first, then half of the room is for what is before it.
    middle = _first(part[start - left : end - left], MOST)
    room = MOST - size(middle)
    before = _first(part[: start - left][::-1], room // 2)[::-1]
    after = _first(part[start - left + len(middle) :], room - size(before))
    before = _first(part[: start - left][::-1], room - size(after))[::-1]
    shown = range(start - len(before), start + len(middle) + len(after))
    first = "…" if shown.start else ""
    last = "…" if shown.stop < length else ""
    cut = visible(f"{before}{middle}{after}")
    return f"{number}:{start + 1}: {first}{cut}{last}\n", shown


def _first(text: str, most: int) -> str:
    """The first characters of TEXT that take at most MOST bytes."""
    return text.encode()[: max(0, most)].decode(errors="ignore")
