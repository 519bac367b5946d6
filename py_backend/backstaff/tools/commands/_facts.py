"""Commands as the answers of the tools tell of them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

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


def counted(warnings: Sequence[str]) -> Iterator[str]:
    """A note for the text, where a model sees no others: how many WARNINGS, and the first."""
    if warnings:
        noun = "warning" if len(warnings) == 1 else "warnings, the first"
        yield f"{len(warnings)} {noun}: {prose(warnings[0])}"


def folder_in_output(command: Command, *, several: bool) -> dict[str, object]:
    """The folder as an output of a contract tells it: only where there are SEVERAL."""
    return {"folder": command.folder} if several else {}


def line(command: Command, *, several: bool, before: str = "", after: str = "") -> str:
    """A line of text: the name, the folder where there are SEVERAL, the description."""
    folder = f" ({show(command.folder)})" if several else ""
    return f"{before}{word(command.name)}{folder}: {prose(command.about.description)}{after}\n"
