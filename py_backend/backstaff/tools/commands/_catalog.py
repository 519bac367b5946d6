"""All commands: the names of their files, and the facts at the head of each file.

A page can be counted only when every head is known, since front matter says which commands are
dependencies. So heads are cached from call to call. A head is read again when the stamp of its
file has changed, and a file that changed just now has no stamp. So no answer is out of date.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from backstaff.errors import PathError
from backstaff.frontmatter.block import parse
from backstaff.frontmatter.values import Value
from backstaff.fs.budget import Budget
from backstaff.fs.file import Content
from backstaff.fs.stamp import Recent, Stamp, settled, stamp_of
from backstaff.render.names import quote
from backstaff.tools.commands._directories import SUFFIX, CommandDirectory

FIRST_BYTES = 4096
HEAD_BYTES = 64 * 1024
MAX_DESCRIPTION = 200
MAX_TAGS, MAX_TAG = 16, 64
NO_DESCRIPTION = "No description available"
MAX_CACHED = 20_000
MAX_WARNINGS = 50


class Command(NamedTuple):
    """A command, from the head of its file.

    `folder` is the label of its directory, and `directory` the real path. `warning` says what is
    wrong with the file, or is empty.
    """

    name: str
    folder: str
    directory: str
    size: int
    modified_ns: int
    title: str
    description: str
    tags: tuple[str, ...]
    is_dependency: bool
    warning: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.name + SUFFIX

    @property
    def path(self) -> str:
        """The path of its file."""
        return f"{self.directory.rstrip('/')}/{self.file}"

    @property
    def modified_epoch(self) -> int:
        """The time of modification in seconds, as Emacs takes times."""
        return self.modified_ns // 10**9


Cached = Mapping[str, tuple[Stamp, Command]]
"""The commands in a directory with the stamps of their files, by file name."""

CACHE: Recent[tuple[str, str], Cached] = Recent(MAX_CACHED, len)


@dataclass(slots=True)
class Catalog:
    """All commands, dependencies too, in the contract's order.

    `skipped` holds a warning for each file or directory that could not be read. `complete` is
    false if the time was up before all were read.
    """

    commands: list[Command] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    complete: bool = True

    @property
    def primary(self) -> list[Command]:
        """The commands for users, without dependencies."""
        return [command for command in self.commands if not command.is_dependency]

    def warnings(self, shown: Sequence[Command]) -> Iterator[str]:
        """Yield the warnings about skipped files and about the commands SHOWN."""
        warnings = self.skipped + [file_warning(command) for command in shown if command.warning]
        yield from warnings[:MAX_WARNINGS]
        if len(warnings) > MAX_WARNINGS:
            yield f"{len(warnings) - MAX_WARNINGS} more files have problems"
        if not self.complete:
            yield "The time was up before all commands were read: some are missing"


def read_catalog(
    directories: Sequence[CommandDirectory], warnings: Sequence[str], budget: Budget
) -> Catalog:
    """Read every command; of several with one name, the one in the first directory counts.

    The catalog keeps the WARNINGS about directories that could not be opened.
    """
    catalog = Catalog(skipped=list(warnings))
    taken: set[str] = set()
    for directory in directories:
        found = _read_directory(directory, taken, catalog, budget)
        taken.update(command.file for command in found)
        catalog.commands += found
    # By name without regard to case; the first sort decides between `Go` and `go`.
    catalog.commands.sort(key=itemgetter(0))
    catalog.commands.sort(key=lambda command: command.name.casefold())
    return catalog


def _read_directory(
    directory: CommandDirectory, taken: AbstractSet[str], catalog: Catalog, budget: Budget
) -> list[Command]:
    """Read the commands whose files are not TAKEN by an earlier directory, in no order."""
    try:
        files = sorted(directory.files(budget))  # warnings stand in this order
    except PathError as error:
        label = quote(directory.label)
        catalog.skipped.append(f"Directory {label} cannot be read: {error.message}")
        files = []
    start = time.time_ns()
    key = directory.place.path, directory.label
    cached, found = CACHE.get(key) or {}, {}
    for file, status in directory.statuses([name for name in files if name not in taken], budget):
        known = cached.get(file)
        try:
            if isinstance(status, PathError):
                raise status
            if known and stamp_of(status) == known[0]:
                found[file] = known
                continue
            if budget.expired():  # reading one file can take 50 milliseconds
                break
            content = directory.read(file, FIRST_BYTES)
            command, unsure = command_of(file, directory, content)
            if unsure:
                content = directory.read(file, HEAD_BYTES)
                command, _ = command_of(file, directory, content)
            found[file] = settled(content.status, start), command
        except PathError as error:
            name = file_label(directory.label, file)
            catalog.skipped.append(f"{name} is skipped: {error.message}")
    in_time = not budget.expired()
    catalog.complete &= in_time
    if found != cached:
        # The files that there was no time for are still worth knowing.
        CACHE.put(key, found if in_time else {**cached, **found})
    return [command for _, command in found.values()]


def command_of(file: str, directory: CommandDirectory, content: Content) -> tuple[Command, bool]:
    """Make the command in FILE from CONTENT, and say whether more content could change it."""
    document = parse(content.head, whole=content.whole)
    fields = document.fields
    description, ended = _one_line(fields.get("description")), True
    if not description:
        # Most commands have a description, and this import takes milliseconds.
        from backstaff.tools.commands._paragraph import first_paragraph

        paragraph, ended = first_paragraph(document.body())
        description = " ".join(paragraph.split()) or NO_DESCRIPTION
    command = Command(
        name=file.removesuffix(SUFFIX),
        folder=directory.label,
        directory=directory.place.path,
        size=content.status.st_size,
        modified_ns=content.status.st_mtime_ns,
        title=_shortened(_one_line(fields.get("title"))),
        description=_shortened(description),
        tags=tuple(islice(_tags(fields.get("tags")), MAX_TAGS)),
        # Broken front matter hides no command: its author may have meant something else.
        is_dependency=fields.get("is_dependency") is True and not document.warning,
        warning=document.warning,
    )
    return command, not content.whole and (document.unfinished or not ended)


def _tags(value: Value) -> Iterator[str]:
    """Yield the tags in a list, or in a text such as `ops, deploy`. A number can be a tag."""
    items = value.split(",") if isinstance(value, str) else value
    if isinstance(items, Sequence):
        tags = (" ".join(item.split()) for item in items if isinstance(item, str))
        yield from (_shortened(tag, MAX_TAG) for tag in tags if tag)


def _one_line(value: Value) -> str:
    """Return VALUE on one line if it is text, and "" for anything else, such as a `Number`."""
    return " ".join(value.split()) if type(value) is str else ""


def _shortened(line: str, most: int = MAX_DESCRIPTION) -> str:
    return line if len(line) <= most else line[: most - 3] + "..."


def file_label(folder: str, file: str) -> str:
    """Name FILE in the FOLDER of this label, as in a warning: `'.claude/commands/a.md'`."""
    return quote(f"{folder.rstrip('/')}/{file}")


def file_warning(command: Command) -> str:
    """Return the warning about the file of COMMAND, with its name."""
    return f"{file_label(command.folder, command.file)}: {command.warning}"
