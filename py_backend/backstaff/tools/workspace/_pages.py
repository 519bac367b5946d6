"""A page of an answer: as many rows as fit into the limit, and where the next page begins."""

from collections.abc import Callable, Sequence
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
    last = bracketed(notes)

    def next_offset(shown: int) -> int | None:
        done = rows[: max(shown, 1)]  # else the next page would be this one again
        after = offset + sum(row.worth for row in done)
        return after if has_more or len(done) < len(rows) else None

    def text(shown: int) -> str:
        end, following = rows[shown - 1].end if shown else "", next_offset(shown)
        if rows and not shown:
            end = f"[a match of {size(rows[0].text)} bytes is left out for {limit} bytes]\n"
        if following is not None:
            end += f"[more: offset={following}]\n"
        first = head(sum(row.worth for row in rows[:shown]), following is not None)
        return "".join((first, *(row.text for row in rows[:shown]), end, last))

    written, shown = fit(text, len(rows), (size(row.text) for row in rows), limit)
    return Page(written, shown, next_offset(shown))
