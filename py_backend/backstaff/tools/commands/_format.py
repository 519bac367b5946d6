"""How the answers of the tools show a command."""

import time
from collections.abc import Iterable, Iterator, Sequence

from backstaff.render.names import labels, prose, show, word
from backstaff.tools.commands._catalog import Command

DEFAULT_TEXT_BYTES = 1 << 20
LAST_SHORT_YEAR = 9999


def last_modified(modified_ns: int) -> str:
    """Format a time in UTC, to the millisecond: `2025-11-15T10:00:00.000Z`.

    A year that four digits cannot hold has a sign and six digits or more, as ISO 8601 and
    JavaScript write it: `+036812-02-20T00:36:16.000Z`. A time that the system cannot break down
    stands as its epoch seconds: `@1152921504606846976`.
    """
    seconds, nanoseconds = divmod(modified_ns, 10**9)
    try:
        year, month, day, hour, minute, second, *_ = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return f"@{seconds}"
    written = f"{year:04}" if 0 <= year <= LAST_SHORT_YEAR else f"{year:+07}"
    clock = f"{hour:02}:{minute:02}:{second:02}.{nanoseconds // 10**6:03}Z"
    return f"{written}-{month:02}-{day:02}T{clock}"


def warnings_note(warnings: Sequence[str]) -> Iterator[str]:
    """Yield a note with the number of WARNINGS and the first: a model sees only the text."""
    if warnings:
        noun = "warning" if len(warnings) == 1 else "warnings, the first"
        yield f"{len(warnings)} {noun}: {prose(warnings[0])}"


def command_labels(commands: Iterable[Command]) -> list[tuple[str, str]]:
    """Pair the odd names and descriptions of COMMANDS with their form in text."""
    found = list(commands)
    names = (text for one in found for text in (one.name, one.path, one.folder))
    return labels(show, names) + labels(prose, [one.description for one in found])


def summary(command: Command, *, several: bool) -> str:
    """Return `deploy: Roll out`, or with SEVERAL directories `deploy (.claude/commands): Roll out`."""
    folder = f" ({show(command.folder)})" if several else ""
    return f"{word(command.name)}{folder}: {prose(command.description)}"
