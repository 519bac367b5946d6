"""Every command there is: what its file is called, and what the head of the file says of it.

All heads have to be known before a page can be counted, as a dependency is one by its front matter.
So they are kept from call to call, each with what the file system said of the file when it was
read: path, modification, size and inode decide whether it is read again, and the time of the last
change of the inode, too, which nobody can set back. What is not yet old enough to be told from a
later change by its times is not kept. So nothing that is shown is stale.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter, itemgetter
from threading import Lock
from typing import NamedTuple

from backstaff.errors import PathError
from backstaff.frontmatter.block import parse
from backstaff.frontmatter.values import Value
from backstaff.fs.budget import Budget
from backstaff.fs.file import Content
from backstaff.render.names import quote
from backstaff.tools.commands._directories import SUFFIX, Folder, Folders

FIRST_BYTES = 4096
HEAD_BYTES = 64 * 1024
MAX_DESCRIPTION = 200
MAX_TAGS, MAX_TAG = 16, 64
NO_DESCRIPTION = "No description available"
MAX_KEPT = 20_000
MAX_WARNINGS = 50
RACY_NS = 20_000_000
"""Longer than the steps in which the kernel counts the times of files."""


_STAMP = attrgetter("st_mtime_ns", "st_size", "st_ino", "st_dev", "st_ctime_ns")


class About(NamedTuple):
    """What a command's file says of itself; `warning` is empty or tells what is wrong with it."""

    title: str
    description: str
    tags: tuple[str, ...]
    is_dependency: bool
    warning: str


class Stamp(NamedTuple):
    """What the file system says of a file; it changes whenever the content does."""

    modified_ns: int
    size: int
    inode: int
    device: int
    changed_ns: int


class Command(NamedTuple):
    """A command: its name, its folder (the label and the path), and its file."""

    name: str
    folder: str
    directory: str
    stamp: Stamp
    about: About

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.name + SUFFIX

    @property
    def path(self) -> str:
        """Where its file is."""
        return f"{self.directory.rstrip('/')}/{self.file}"

    def warning(self) -> str:
        """What is wrong with its file, which is named."""
        return f"{label(self.folder, self.file)}: {self.about.warning}"


Kept = Mapping[str, Command]
"""The commands of a folder, by the names of their files."""


@dataclass(slots=True)
class Cache:
    """The commands in each folder that was read; the folders that were asked for last come last."""

    _folders: OrderedDict[tuple[str, str], Kept] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, folder: Folder) -> Kept:
        """The commands that are known in FOLDER."""
        key = folder.path, folder.label
        with self._lock:
            if key in self._folders:
                self._folders.move_to_end(key)
            return self._folders.get(key, {})

    def keep(self, folder: Folder, kept: Kept) -> None:
        """Know the commands KEPT and no others in FOLDER; forget others if that is too much."""
        with self._lock:
            self._folders.pop((folder.path, folder.label), None)
            self._folders[folder.path, folder.label] = kept
            while sum(map(len, self._folders.values())) > MAX_KEPT:
                self._folders.popitem(last=False)


CACHE = Cache()


@dataclass(slots=True)
class Catalog:
    """All commands, dependencies too, in the contract's order; `complete` if time sufficed."""

    commands: list[Command] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    complete: bool = True

    @property
    def primary(self) -> list[Command]:
        """Those that are for users: no dependencies."""
        return [command for command in self.commands if not command.about.is_dependency]

    def warnings(self, shown: Sequence[Command]) -> Iterator[str]:
        """What is to be said of files that were skipped, and of the commands SHOWN."""
        said = self.skipped + [command.warning() for command in shown if command.about.warning]
        yield from said[:MAX_WARNINGS]
        if len(said) > MAX_WARNINGS:
            yield f"{len(said) - MAX_WARNINGS} more files have problems"
        if not self.complete:
            yield "The time was up before all commands were read: some are missing"


def read_catalog(folders: Folders, budget: Budget) -> Catalog:
    """Every command in the FOLDERS; of several with one name, the one in the earliest of them."""
    catalog = Catalog(skipped=list(folders.warnings))
    taken: set[str] = set()
    for folder in folders:
        found = _read_folder(folder, taken, catalog, budget)
        taken.update(command.file for command in found)
        catalog.commands += found
    catalog.commands.sort(key=itemgetter(0))  # of the names, which decide where the next key ties
    catalog.commands.sort(key=lambda command: command.name.casefold())
    return catalog


def _about(content: Content) -> tuple[About, bool]:
    """What the head of a file says, and if more of the file would say more."""
    fields, _, warning, unfinished = document = parse(content.head, whole=content.whole)
    description, ended = _one_line(fields.get("description")), True
    if not description:
        from backstaff.tools.commands._paragraph import first_paragraph

        text, ended = first_paragraph(document.body())
        description = " ".join(text.split()) or NO_DESCRIPTION
    said = About(
        _shortened(_one_line(fields["title"])) if "title" in fields else "",
        _shortened(description),
        tuple(_tags(fields["tags"])) if "tags" in fields else (),
        # Broken front matter hides nothing: who wrote it may have meant something else.
        fields.get("is_dependency") is True and not warning,
        warning,
    )
    return said, not content.whole and (unfinished or not ended)


def _tags(value: Value) -> Iterator[str]:
    """The first tags: of a list, or of one text with commas; a plain number is a fine tag."""
    given = value.split(",") if isinstance(value, str) else value
    if isinstance(given, Sequence):
        tags = (" ".join(tag.split()) for tag in given if isinstance(tag, str))
        yield from islice((_shortened(tag, MAX_TAG) for tag in tags if tag), MAX_TAGS)


def _one_line(value: Value) -> str:
    """VALUE on one line if it is text, else ""; a plain number is none."""
    return " ".join(value.split()) if type(value) is str else ""


def _shortened(text: str, most: int = MAX_DESCRIPTION) -> str:
    """The one line TEXT in at most so many characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def command_of(file: str, folder: Folder, content: Content) -> tuple[Command, bool]:
    """The command in FILE by what was read of it, and if more of the file would say more."""
    said, unsure = _about(content)
    name, stamp = file.removesuffix(SUFFIX), Stamp._make(_STAMP(content.status))
    return Command(name, folder.label, folder.path, stamp, said), unsure


def _read_folder(
    folder: Folder, taken: AbstractSet[str], catalog: Catalog, budget: Budget
) -> list[Command]:
    """The commands in FOLDER whose files are not TAKEN by an earlier one, in no order."""
    files = [file for file in _files(folder, catalog, budget) if file not in taken]
    known, found, unchanged = CACHE.of(folder), [], 0
    start = time.time_ns()
    for file, looked in folder.statuses(files, budget):
        command = known.get(file)
        if command and not isinstance(looked, PathError) and _STAMP(looked) == command.stamp:
            found.append(command)
            unchanged += 1
            continue
        if budget.expired():  # to read one can take 50 milliseconds
            break
        try:
            found.append(_afresh(file, folder, looked, command))
        except PathError as error:
            named = label(folder.label, file)
            catalog.skipped.append(f"{named} is skipped: {error.message}")
    catalog.complete &= not budget.expired()
    if not unchanged == len(known) == len(found):
        settled = (command for command in found if start - command.stamp.changed_ns > RACY_NS)
        unseen = {} if catalog.complete else known
        CACHE.keep(folder, {**unseen, **{command.file: command for command in settled}})
    return found


def _afresh(
    file: str, folder: Folder, looked: os.stat_result | PathError, known: Command | None
) -> Command:
    """The command in FILE, read from its first bytes, or from more if they do not tell."""
    if isinstance(looked, PathError):
        beyond = folder.status_beyond(file, looked)
        if known is not None and _STAMP(beyond) == known.stamp:
            return known
        content = folder.read(file, FIRST_BYTES)
    else:
        content = folder.read(file, FIRST_BYTES, looked)
    command, unsure = command_of(file, folder, content)
    return command_of(file, folder, folder.read(file, HEAD_BYTES))[0] if unsure else command


def _files(folder: Folder, catalog: Catalog, budget: Budget) -> list[str]:
    """The names in FOLDER, in the order in which warnings are to stand."""
    try:
        return sorted(folder.files(budget))
    except PathError as error:
        catalog.skipped.append(f"Directory {quote(folder.label)} cannot be read: {error.message}")
        return []


def label(folder: str, file: str) -> str:
    """FILE in the FOLDER of this label, as a warning names it."""
    return quote(f"{folder.rstrip('/')}/{file}")
