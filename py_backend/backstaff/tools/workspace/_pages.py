"""A page of an answer: as many rows as fit into the limit, and where the next page begins."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from backstaff.render.lines import bracketed, fit, size
from backstaff.result import Note


class Row(NamedTuple):
    """The text of an item; the `end` of a page whose last row this is; and how many items it is."""

    text: str
    end: str = ""
    worth: int = 1


class Page(NamedTuple):
    """The text, how many rows it has, and the offset of the next page; None if there is none."""

    text: str
    shown: int
    next_offset: int | None


def page(  # noqa: PLR0913 - the parts of an answer, and its limits
    head: Callable[[int, bool], str],
    rows: Sequence[Row],
    notes: Sequence[Note],
    limit: int,
    offset: int,
    *,
    has_more: bool,
) -> Page:
    """Return the page of the first of `rows`, which are the items from `offset` on.

    `head` makes its beginning from the number of items in it, and from True if others follow. With
    `has_more`, others follow even the last of `rows`.
    """
    texts, last = [row.text for row in rows], bracketed(notes)
    worth = list(accumulate((row.worth for row in rows), initial=0))  # of the first rows

    def next_offset(shown: int) -> int | None:
        done = min(max(shown, 1), len(rows))  # else the next page would be this one again
        return offset + worth[done] if has_more or done < len(rows) else None

    def text(shown: int) -> str:
        end, following = rows[shown - 1].end if shown else "", next_offset(shown)
        if rows and not shown:
            end = f"[a match of {size(texts[0])} bytes is left out for {limit} bytes]\n"
        if following is not None:
            end += f"[more: offset={following}]\n"
        first = head(worth[shown], following is not None)
        return "".join((first, *texts[:shown], end, last))

    written, shown = fit(text, len(rows), map(size, texts), limit)
    return Page(written, shown, next_offset(shown))
