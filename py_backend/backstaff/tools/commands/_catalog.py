"""All commands: the names of their files, and the facts at the head of each file.

A page can be counted only when every head is known, since front matter says which commands are
dependencies. So heads are cached from call to call. A head is read again when the stamp of its
file has changed, and a file that changed just now has no stamp. So no answer is out of date.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from backstaff.errors import PathError
from backstaff.fs.budget import Budget
from backstaff.fs.stamp import Recent, Stamp, settled, stamp_of
from backstaff.render.lines import plural
from backstaff.render.names import prose, quote
from backstaff.tools.commands._command import HEAD_BYTES, Command, command_of, file_label
from backstaff.tools.commands._directories import CommandDirectory

DEFAULT_TEXT_BYTES = 1 << 20
FIRST_BYTES = 4096
MAX_CACHED = 20_000
MAX_WARNINGS = 50

Cached = Mapping[str, tuple[Stamp, Command]]
"""The commands in a directory with the stamps of their files, by file name."""

CACHE: Recent[tuple[str, str], Cached] = Recent(MAX_CACHED, len)


@dataclass(slots=True)
class Catalog:
    """All commands but dependencies, in the contract's order.

    `skipped` holds a warning for each file or directory that could not be read. `complete` is
    false if the time was up before all were read.
    """

    commands: list[Command] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    complete: bool = True

    def warnings(self, shown: Sequence[Command]) -> tuple[str, ...]:
        """Return the warnings about skipped files and about the commands SHOWN."""
        warnings = self.skipped + [command.warning() for command in shown if command.problem]
        if (more := len(warnings) - MAX_WARNINGS) > 0:
            warnings[MAX_WARNINGS:] = [f"{more} more files have problems"]
        if not self.complete:
            warnings.append("The time was up before all commands were read: some are missing")
        return tuple(warnings)


def read_catalog(
    directories: Sequence[CommandDirectory], warnings: Sequence[str], budget: Budget
) -> Catalog:
    """Read every command; of several with one name, the one in the first directory counts.

    The catalog keeps the WARNINGS about directories that could not be opened.
    """
    catalog = Catalog(skipped=list(warnings))
    found: dict[str, Command] = {}
    for directory in directories:
        found |= _read_directory(directory, found, catalog, budget)
    catalog.complete = not budget.expired()
    # A dependency, too, hides the commands of its name in later directories.
    commands = [command for command in found.values() if not command.is_dependency]
    # By name without regard to case; the first sort decides between `Go` and `go`.
    commands.sort(key=itemgetter(0))
    catalog.commands = sorted(commands, key=lambda command: command.name.casefold())
    return catalog


def _read_directory(
    directory: CommandDirectory, taken: Mapping[str, Command], catalog: Catalog, budget: Budget
) -> dict[str, Command]:
    """Read the commands whose files are not TAKEN by an earlier directory, by file, in no order."""
    try:
        files = sorted(directory.files(budget))  # warnings stand in this order
    except PathError as error:
        label = quote(directory.label)
        catalog.skipped.append(f"Directory {label} cannot be read: {error.message}")
        return {}
    start = time.time_ns()
    key = directory.place.path, directory.label
    cached, found = CACHE.get(key) or {}, {}
    for file in files:
        if file in taken:
            continue
        if budget.expired():  # reading one file can take 50 milliseconds
            break
        known = cached.get(file)
        try:
            if known and stamp_of(directory.status(file)) == known[0]:
                found[file] = known
                continue
            content = directory.read(file, FIRST_BYTES)
            command, unsure = command_of(file, directory, content)
            if unsure:
                content = directory.read(file, HEAD_BYTES)
                command, _ = command_of(file, directory, content)
            found[file] = settled(content.status, start), command
        except PathError as error:
            name = file_label(directory.label, file)
            catalog.skipped.append(f"{name} is skipped: {error.message}")
    if found != cached:
        # The files that there was no time for are still worth knowing.
        CACHE.put(key, {**cached, **found} if budget.expired() else found)
    return {file: command for file, (_, command) in found.items()}


def warnings_note(warnings: Sequence[str]) -> Iterator[str]:
    """Yield a note with the number of WARNINGS and the first: a model sees only the text."""
    if warnings:
        count = plural(len(warnings), "warning", "warnings, the first")
        yield f"{count}: {prose(warnings[0])}"
