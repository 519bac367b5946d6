"""Commands as the answers of the tools tell of them, and texts that keep within their bytes."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from backstaff.render.names import prose, show, word
from backstaff.tools.commands._catalog import Command, Stamp

DEFAULT_TEXT_BYTES = 1 << 20
_EPOCH = datetime.fromtimestamp(0, UTC)
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
_LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


def last_modified(stamp: Stamp) -> str:
    """The time of the last modification in UTC, to the millisecond."""
    milliseconds = min(max(stamp.modified_ns // 10**6, _EARLIEST), _LATEST)
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def modified_epoch(stamp: Stamp) -> int:
    """The same in seconds, as Emacs wants times."""
    return stamp.modified_ns // 10**9


def folder_in_output(command: Command, *, several: bool) -> dict[str, object]:
    """The folder as an output of a contract tells it: only where there are SEVERAL."""
    return {"folder": command.folder} if several else {}


def line(command: Command, *, several: bool, before: str = "", after: str = "") -> str:
    """A line of text: the name, the folder where there are SEVERAL, the description."""
    folder = f" ({show(command.folder)})" if several else ""
    return f"{before}{word(command.name)}{folder}: {prose(command.about.description)}{after}\n"


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
