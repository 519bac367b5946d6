"""Texts of whole lines within a limit of bytes, and notes about the lines that have no room."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice, takewhile

from backstaff.render.names import word
from backstaff.result import Note

LEAST = 64  # the lowest limit in bytes: there is room for a note such as `[cut to 64 bytes]`
MAX_NOTE = 1000  # bytes of a note: a path in it can have thousands
EXAMPLES, MAX_EXAMPLES = 5, 500  # examples in a note, and of their bytes in all
MAX_CALL, CALL_SHARE = 500, 4  # bytes of another call's name, and one in this many of the limit
_UNITS = ((1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"))


def size(text: str) -> int:
    """The bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def show_size(size: int) -> str:
    """Return `size` bytes with a decimal, rounded half up: 1280 is "1.3 KB", the smallest unit."""
    divisor, unit = next((pair for pair in _UNITS if size >= pair[0]), (1 << 10, "KB"))
    tenths = (20 * size + divisor) // (2 * divisor)
    return f"{tenths // 10}.{tenths % 10} {unit}"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return `count` with its noun: `1 file`, `2 files`, or with `nouns` `2 directories`."""
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


def counted(count: int, noun: str, nouns: str = "") -> str:
    """Return `plural` with the digits in groups of three: `1,204 files`."""
    return f"{count:,} {plural(count, noun, nouns).partition(' ')[2]}"


def cut(head: str, rows: Sequence[str], end: Callable[[int], str], limit: int) -> tuple[str, int]:
    """Return `head`, the first of `rows` and an end in `limit` bytes, and the number of rows.

    `end` makes the end from that number. `head` and the end stay whole, whatever their size.
    """
    return fit(lambda n: "".join((head, *rows[:n], end(n))), len(rows), map(size, rows), limit)


def fit(text: Callable[[int], str], most: int, sizes: Iterable[int], limit: int) -> tuple[str, int]:
    """Return the text with as many rows as fit in `limit` bytes, `most` at most, and their number.

    `text` makes the text from a number of rows. `sizes` are the bytes that each row adds to it.
    """
    if size(whole := text(most)) <= limit:
        return whole, most
    shown = fitting(sizes, limit - size(text(0)))
    # The end is a few bytes longer or shorter than that of the text without any row.
    while shown + 1 < most and size(text(shown + 1)) <= limit:
        shown += 1
    while size(part := text(shown)) > limit and shown:
        shown -= 1
    return part, shown


def fitting(sizes: Iterable[float], room: float) -> int:
    """Return how many of the first `sizes` fit in `room` together: two of 3, 4 and 5 in 8."""
    return sum(1 for _ in takewhile(lambda total: total <= room, accumulate(sizes)))


def left_out(count: int, limit: int, remedy: str = "") -> str:
    """The last line of a cut text: `[3 more lines left out for a limit of 500 bytes: ...]`."""
    return bracketed([omitted(plural(count, "more line"), limit, remedy)]) if count else ""


def omitted(things: str, limit: int, remedy: str = "") -> str:
    """Return `3 more files left out for a limit of 500 bytes: ...`; `things` is `3 more files`."""
    return f"{things} left out for a limit of {limit} bytes" + (f": {remedy}" if remedy else "")


def clipped(text: str, limit: int) -> str:
    """Return the first lines of `text`, or a part of one, that fit, and `[cut to 500 bytes]`."""
    limit = max(limit, LEAST)
    if size(text) <= limit:
        return text
    note = f"[cut to {limit} bytes]\n"
    lines = [f"{line}\n" for line in text.split("\n")]
    shown = fitting(map(size, lines), limit - len(note))
    return "".join((*lines[:shown], note)) if shown else shortened(lines[0][:-1] + "…", limit)


def shortened(text: str, most: int) -> str:
    """Return `text` in at most `most` bytes; `…` at its end stands for the rest."""
    return text if size(text) <= most else first_bytes(text, most - len("…".encode())) + "…"


def first_bytes(text: str, most: int) -> str:
    """Return the first characters of `text` that take at most `most` bytes."""
    if len(text) <= most // 4 or (len(text) <= most and size(text) <= most):
        return text
    most = max(most, 0)
    return text[:most].encode(errors="replace")[:most].decode(errors="ignore")


def bracketed(notes: Iterable[Note | str]) -> str:
    """Return a line for each of `notes`: `[there may be more: raise max_results (at most 100)]`."""
    return "".join(f"[{shortened(str(note), MAX_NOTE)}]\n" for note in notes)


def some_of(words: Iterable[str], count: int, *, between: str = " ", most: int = EXAMPLES) -> str:
    """Return some of `words`, as `src/a.c src/b.c and 3 more`; "" if the first has no room."""
    first = list(islice(words, most))
    shown = fitting(map(size, first), MAX_EXAMPLES)
    more = f" and {count - shown} more" if count > shown else ""
    return between.join(first[:shown]) + more if shown else ""


def paths_in_a_note(paths: Sequence[str], end: str = "") -> str:
    """Some of `paths` with `end` behind, and the number of others: `src/ b/ and 3 more`."""
    shown = some_of((word(path) + end for path in paths), len(paths))
    return shown or f"{len(paths)} with long names"


def all_files(path: str, limit: int, named: Callable[[str], str]) -> str | None:
    """Return the call of workspace/search_files for all files below `path`, if there is room."""
    # JSON with escapes keeps any name on one line.
    arguments = {"path": path, "query": "**", "kind": "glob", "include_ignored": True}
    call = f"{(name := named('workspace/search_files'))} {json.dumps(arguments)}"
    return call if name and len(call) <= min(MAX_CALL, limit // CALL_SHARE) else None
