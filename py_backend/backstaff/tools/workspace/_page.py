"""The part of all matches that a page shows, and how many of each file."""

from collections.abc import Sequence
from dataclasses import dataclass

Count = tuple[str, int]
"""A file with matches, and their number."""


@dataclass(frozen=True, slots=True)
class Share:
    """A page shows `shown` matches of a file after the first `passed`, and counts `folded`."""

    path: str
    passed: int
    shown: int
    folded: int


def page_of(
    counts: Sequence[Count], offset: int, room: int, *, most: int
) -> tuple[list[Share], bool]:
    """Return the shares of the page of at most `room` matches after the first `offset`.

    The second value is True if matches are left for later pages. Where not all have room, each file
    shows at most `most`, and the page counts its others, which no later page shows.
    """
    shares, has_more = list[Share](), False
    fits = len(counts) == 1 or sum(count for _, count in counts) - offset <= room
    for path, count in counts:
        passed = min(offset, count)
        offset -= passed
        shown = min(count - passed, room, room if fits else most)
        room -= shown
        folded = count - passed - shown if shown == most and not fits else 0
        if shown:
            shares.append(Share(path, passed, shown, folded))
        has_more = has_more or count > passed + shown + folded
    return shares, has_more
