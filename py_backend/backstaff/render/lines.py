"""Text of whole lines within a limit of bytes."""

from collections.abc import Sequence
from itertools import accumulate


def fitted(head: str, lines: Sequence[str], notes: str, limit: int) -> tuple[str, bool]:
    """HEAD, LINES and NOTES in at most LIMIT bytes, and if that is all.

    Where they take more, lines are left out from the end, and a last line tells how many.
    """
    whole = "".join((head, *lines, notes))
    if _bytes(whole) <= limit:
        return whole, True
    cut = "[{} more lines left out for a limit of {} bytes]\n"
    room = limit - _bytes(head + notes + cut.format(len(lines), limit))
    fitting = sum(1 for cost in accumulate(map(_bytes, lines)) if cost <= room)
    left_out = cut.format(len(lines) - fitting, limit)
    return "".join((head, *lines[:fitting], notes, left_out)), False


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
