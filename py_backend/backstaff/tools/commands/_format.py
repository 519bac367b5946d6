"""Commands as the answers of the tools tell of them."""

import time
from collections.abc import Iterable, Iterator, Sequence

from backstaff.render.names import labels, prose, show, word
from backstaff.tools.commands._catalog import Command, Stamp

DEFAULT_TEXT_BYTES = 1 << 20
LAST_SHORT_YEAR = 9999


def last_modified(stamp: Stamp) -> str:
    """The time of the last modification in UTC, to the millisecond: `2025-11-15T10:00:00.000Z`.

    A year that four digits cannot hold has a sign and six digits or more, as ISO 8601 and
    JavaScript write it: `+036812-02-20T00:36:16.000Z`. A time that the system cannot break down
    stands as its epoch seconds: `@1152921504606846976`.
    """
    seconds, nanoseconds = divmod(stamp.modified_ns, 10**9)
    try:
        year, month, day, hour, minute, second, *_ = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return f"@{seconds}"
    written = f"{year:04}" if 0 <= year <= LAST_SHORT_YEAR else f"{year:+07}"
    clock = f"{hour:02}:{minute:02}:{second:02}.{nanoseconds // 10**6:03}Z"
    return f"{written}-{month:02}-{day:02}T{clock}"


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


def command_labels(commands: Iterable[Command]) -> list[tuple[str, str]]:
    """Pair the odd names and descriptions of COMMANDS with their form in text."""
    found = list(commands)
    names = (text for one in found for text in (one.name, one.path, one.folder))
    return labels(show, names) + labels(prose, [one.about.description for one in found])


def line(command: Command, *, several: bool, before: str = "", after: str = "") -> str:
    """A line of text: the name, the folder where there are SEVERAL, the description."""
    folder = f" ({show(command.folder)})" if several else ""
    return f"{before}{word(command.name)}{folder}: {prose(command.about.description)}{after}\n"
