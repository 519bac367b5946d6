"""Texts of whole lines within a limit of bytes, and notes about the lines that have no room."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice, takewhile

from backstaff.render.names import word
from backstaff.result import Note

LEAST = 64
"""The lowest limit in bytes: there is room for a note such as `[cut to 64 bytes]`."""
MAX_NOTE = 1000
"""Bytes of a note at most: a path in it can have thousands."""
EXAMPLES = 5
MAX_EXAMPLES = 500
"""The number of examples in a note, and their bytes in all."""
REMEDY_SHARE = 4
"""A text names another call where that takes at most this part, a quarter, of the limit."""


def size(text: str) -> int:
    """The bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def plural(count: int, noun: str, nouns: str = "") -> str:
    """COUNT with its noun: `1 file`, `2 files`, or with `nouns` `2 directories`."""
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def counted(count: int, noun: str, nouns: str = "") -> str:
    """The same with the digits in groups of three: `1,204 files`."""
    return f"{count:,} {plural(count, noun, nouns).partition(' ')[2]}"


def cut(
    head: str,
    rows: Sequence[str],
    end: Callable[[int], str],
    limit: int,
    *,
    longest: bool = False,
) -> tuple[str, int]:
    """Return `head`, the first of `rows` and an end in `limit` bytes, and the number of rows.

    `end` makes the end from that number. `head` and the end stay whole, even if they alone take
    more than `limit` bytes. With `longest`, a cut leaves room for the longest end, whose numbers
    have more digits, so a higher limit never shows less.
    """

    def text(shown: int) -> str:
        return "".join((head, *rows[:shown], end(shown)))

    whole = text(len(rows))
    if size(whole) <= limit:
        return whole, len(rows)
    reserve = max(size(end(0)), size(end(min(1, len(rows))))) if longest else 0
    shown = fitting(map(size, rows), limit - size(head) - reserve)
    while size(part := text(shown)) > limit and shown:
        shown -= 1
    return part, shown


def fitting(sizes: Iterable[float], room: float) -> int:
    """How many of the first `sizes` fit in `room` together: two of 3, 4 and 5 in 8."""
    return sum(1 for _ in takewhile(lambda total: total <= room, accumulate(sizes)))


def left_out(count: int, limit: int, remedy: str = "") -> str:
    """The last line of a cut text: `[3 more lines left out for a limit of 500 bytes: `remedy`]`."""
    return bracketed([omitted(plural(count, "more line"), limit, remedy)]) if count else ""


def omitted(things: str, limit: int, remedy: str = "") -> str:
    """`3 more files left out for a limit of 500 bytes: REMEDY`; `things` is `3 more files`."""
    return f"{things} left out for a limit of {limit} bytes" + (f": {remedy}" if remedy else "")


def clipped(text: str, limit: int) -> str:
    """TEXT in at most `limit` bytes: the first lines that fit, and `[cut to 500 bytes]`.

    Where no line fits, the answer is the beginning of the first. The limit is at least `LEAST`.
    """
    limit = max(limit, LEAST)
    if size(text) <= limit:
        return text
    note = f"[cut to {limit} bytes]\n"
    lines = [f"{line}\n" for line in text.split("\n")]
    shown = fitting(map(size, lines), limit - len(note))
    return "".join((*lines[:shown], note)) if shown else shortened(lines[0][:-1] + "…", limit)


def shortened(text: str, most: int) -> str:
    """TEXT in at most `most` bytes; `…` at its end stands for the rest."""
    if size(text) <= most:
        return text
    kept = text.encode(errors="replace")[: most - len("…".encode())]
    return kept.decode(errors="ignore") + "…"


def bracketed(notes: Iterable[Note | str]) -> str:
    """A line for each of `notes`: `[there may be more: raise max_results (at most 100)]`."""
    return "".join(f"[{shortened(str(note), MAX_NOTE)}]\n" for note in notes)


def some_of(words: Iterable[str], count: int, *, between: str = " ", most: int = EXAMPLES) -> str:
    """The first of `words`, at most `most` of them, and how many of `count` remain.

    For example `src/a.c src/b.c and 3 more`. The answer is "" if the first word has no room.
    """
    first = list(islice(words, most))
    shown = fitting(map(size, first), MAX_EXAMPLES)
    more = f" and {count - shown} more" if count > shown else ""
    return between.join(first[:shown]) + more if shown else ""


def directories_in_a_note(paths: Sequence[str]) -> str:
    """Some of `paths` and the number of the others: `src/a src/b and 3 more`."""
    return some_of(map(word, paths), len(paths)) or f"{len(paths)} with long names"


def all_files(path: str, query: str, limit: int, named: Callable[[str], str]) -> str | None:
    """The call that lists, page by page, the files below `path` that the glob `query` matches.

    For example `workspace/search_files {"path": "src", "query": "*.c", "kind": "glob", ...}`. The
    answer is None if the call takes too much of a text of `limit` bytes. `named` is the context's.
    """
    # JSON with escapes keeps any name on one line.
    arguments = {"path": path, "query": query, "kind": "glob", "include_ignored": True}
    call = f"{named('workspace/search_files')} {json.dumps(arguments)}"
    taken = len(call) + (query == "*")  # as much as `**`: list_directory decides late which it is
    return call if taken <= min(MAX_NOTE // 2, limit // REMEDY_SHARE) else None
