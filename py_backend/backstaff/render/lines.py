"""Text of whole lines within a limit of bytes, and notes that are never longer than they may be."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice

from backstaff.render.names import word

LEAST = 64
"""Bytes in which something can be said: a lower limit is taken for this one."""
MAX_NOTE = 1000
"""Bytes of a note at most: a path in it can have thousands."""
EXAMPLES = 5
MAX_EXAMPLES = 500
"""How many examples stand in a note, and what all of them may take."""
REMEDY_SHARE = 4
"""A call to make instead stands in a text where it takes no more than this part of its limit."""


def fitted(
    head: str,
    lines: Sequence[str],
    notes: str,
    limit: int,
    last: Callable[[int], str] | None = None,
) -> tuple[str, int]:
    """HEAD, LINES and NOTES in LIMIT bytes, and the number of lines that are shown.

    Where all take more, lines are left out from the end. HEAD and NOTES stay, even if they alone
    take more: `clipped` cuts those. LAST makes the end of the text from the number of lines shown;
    by default it tells how many are left out.
    """
    end = last or (lambda shown: left_out(len(lines) - shown, limit))
    whole = "".join((head, *lines, notes, end(len(lines))))
    if size(whole) <= limit:
        return whole, len(lines)
    longest = max(map(size, map(end, range(min(len(lines), 2)))), default=0)
    room = limit - size(head + notes) - longest
    shown = sum(1 for cost in accumulate(map(size, lines)) if cost <= room)
    while shown and size(head + notes + end(shown)) + sum(map(size, lines[:shown])) > limit:
        shown -= 1  # numbers in the end can be longer than they were
    return "".join((head, *lines[:shown], notes, end(shown))), shown


def left_out(count: int, limit: int, remedy: str = "") -> str:
    """The line that tells of COUNT lines without room in LIMIT bytes; nothing for none."""
    if not count:
        return ""
    noun, end = "line" if count == 1 else "lines", f": {remedy}" if remedy else ""
    return f"[{count} more {noun} left out for a limit of {limit} bytes{end}]\n"


def clipped(text: str, limit: int) -> str:
    """TEXT in at most LIMIT bytes: the first lines that fit, and a last one that says so.

    Where there is no room for one line, it is the beginning of the first. A limit below `LEAST` is
    taken for that.
    """
    limit = max(limit, LEAST)
    if size(text) <= limit:
        return text
    said = f"[cut to {limit} bytes]\n"
    first, *others = text.split("\n")
    lines = [f"{line}\n" for line in (first, *others)]
    fitting = sum(1 for cost in accumulate(map(size, lines)) if cost <= limit - len(said))
    return "".join(lines[:fitting]) + said if fitting else _beginning(first, limit)


def shortened(text: str, most: int) -> str:
    """TEXT in at most MOST bytes, with `…` at its end if that is not all."""
    return text if size(text) <= most else _beginning(text, most)


def _beginning(text: str, most: int) -> str:
    """The first characters of TEXT and `…`, MOST bytes in all."""
    kept = text.encode(errors="replace")[: most - len("…".encode())]
    return kept.decode(errors="ignore") + "…"


def size(text: str) -> int:
    """The bytes of TEXT."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def bracketed(notes: Iterable[str]) -> str:
    """A line for each of NOTES: `[there may be more: raise max_results (at most 100)]`."""
    return "".join(f"[{shortened(note, MAX_NOTE)}]\n" for note in notes)


def some_of(words: Iterable[str], count: int, *, between: str = " ", most: int = EXAMPLES) -> str:
    """The first of WORDS, MOST at most and as far as they have room, and how many of COUNT remain.

    For example `src/a.c src/b.c and 3 more`; empty if the first has no room.
    """
    first = list(islice(words, most))
    shown = sum(1 for taken in accumulate(map(size, first)) if taken <= MAX_EXAMPLES)
    more = f" and {count - shown} more" if count > shown else ""
    return between.join(first[:shown]) + more if shown else ""


def directories_in_a_note(paths: Sequence[str]) -> str:
    """Some of PATHS, and how many there are besides."""
    return some_of(map(word, paths), len(paths)) or f"{len(paths)} with long names"


def all_files(path: str, query: str, limit: int) -> str | None:
    """The call that lists, page by page, the files below PATH that the glob QUERY matches.

    For example `workspace/search_files {"path": "src", "query": "*.c", "kind": "glob", ...}`. None
    where it takes too much of a text of LIMIT bytes.
    """
    # Escapes, so that any name stands on one line and comes back as it is.
    arguments = {"path": path, "query": query, "kind": "glob", "include_ignored": True}
    call = f"workspace/search_files {json.dumps(arguments)}"
    taken = len(call) + (query == "*")  # as much as `**`: which of these it is is decided later
    return call if taken <= min(MAX_NOTE // 2, limit // REMEDY_SHARE) else None
