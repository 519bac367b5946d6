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
    counts: Sequence[Count], offset: int, room: int, *, least: int = 0
) -> tuple[list[Share], bool]:
    """Return the shares of the page of at most `room` matches after the first `offset`.

    The second value is True if matches are left for later pages. If `least` is not 0, several files
    share a page that has no room for all of their matches. Then each shows the same number, if it
    has as many: `least`, or more where there is room. The page counts its others, which no later
    page shows.
    """
    waiting = list[tuple[str, int, int]]()
    for path, count in counts:
        passed = min(offset, count)
        offset -= passed
        if count > passed:
            waiting.append((path, passed, count - passed))
    is_shared = least > 0 and len(waiting) > 1 and sum(count for *_, count in waiting) > room
    most = least if is_shared else room
    while is_shared and sum(min(count, most + 1) for *_, count in waiting) <= room:
        most += 1
    shares, has_more = list[Share](), False
    for path, passed, count in waiting:
        shown = min(count, most, room)
        room -= shown
        folded = count - shown if is_shared and shown == min(count, most) else 0
        if shown:
            shares.append(Share(path, passed, shown, folded))
        has_more = has_more or count > shown + folded
    return shares, has_more
