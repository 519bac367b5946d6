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
from threading import Lock
from typing import NamedTuple

from backstaff.errors import PathError
from backstaff.frontmatter.block import Document, parse
from backstaff.frontmatter.values import Number, Value
from backstaff.fs.budget import Budget
from backstaff.fs.file import Content
from backstaff.render.names import quote
from backstaff.tools.commands._folders import SUFFIX, Folder, Folders
from backstaff.tools.commands._paragraph import first_paragraph

FIRST_BYTES = 4096
HEAD_BYTES = 64 * 1024
MAX_DESCRIPTION = 200
MAX_TAGS, MAX_TAG = 16, 64
NO_DESCRIPTION = "No description available"
MAX_KEPT = 20_000
MAX_WARNINGS = 50
RACY_NS = 20_000_000
"""Longer than the steps in which the kernel counts the times of files."""


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
    """A command: its name, the folder that it is in, and its file."""

    name: str
    folder: Folder
    stamp: Stamp
    about: About

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.name + SUFFIX


Kept = Mapping[str, tuple[Stamp, About]]
"""What is known of the files of a folder, by their names."""


@dataclass(slots=True)
class Cache:
    """What is known of the files of each folder, by its path; the folders used last come last."""

    _folders: OrderedDict[str, Kept] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, path: str) -> Kept:
        """What is known of the files in the folder PATH."""
        with self._lock:
            return self._folders.get(path, {})

    def keep(self, path: str, kept: Kept) -> None:
        """Know KEPT, and nothing else, of the folder PATH; forget others when it gets too much."""
        with self._lock:
            self._folders[path] = kept
            self._folders.move_to_end(path)
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
        said = self.skipped + [
            f"{label(command.folder, command.file)}: {command.about.warning}"
            for command in shown
            if command.about.warning
        ]
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
    catalog.commands.sort(key=order)
    return catalog


def about(content: Content) -> tuple[About, bool]:
    """What the head of a file says, and if more of the file would say more."""
    document = parse(content.head, whole=content.whole)
    given = one_line(document.fields.get("description"))
    text, ended = (given, True) if given else first_paragraph(document.body)
    description = shortened(one_line(text)) or NO_DESCRIPTION
    unsure = not content.whole and (document.unfinished or not ended)
    return _about(document, description), unsure


def _about(document: Document, description: str) -> About:
    fields = document.fields
    return About(
        title=shortened(one_line(fields.get("title"))),
        description=description,
        tags=tuple(shortened(tag, MAX_TAG) for tag in _tags(fields.get("tags"))[:MAX_TAGS]),
        is_dependency=fields.get("is_dependency") is True,
        warning=document.warning,
    )


def _tags(value: Value) -> list[str]:
    """The tags: a list, or one text with commas; a plain number is a fine tag."""
    match value:
        case str():
            return [tag for part in value.split(",") if (tag := " ".join(part.split()))]
        case tuple():
            return [" ".join(tag.split()) for tag in value if isinstance(tag, str)]
        case _:
            return []


def one_line(value: Value) -> str:
    """VALUE on one line if it is text, else ""; a plain number is none."""
    return " ".join(value.split()) if isinstance(value, str) and type(value) is not Number else ""


def shortened(text: str, most: int = MAX_DESCRIPTION) -> str:
    """The one line TEXT in at most so many characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def stamp_of(status: os.stat_result) -> Stamp:
    """What of the STATUS changes whenever the file does."""
    return Stamp(
        status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev, status.st_ctime_ns
    )


def read_head(folder: Folder, file: str) -> tuple[Stamp, About]:
    """What FILE says of itself: from its first bytes, or from more if they do not tell."""
    content = folder.read(file, FIRST_BYTES)
    said, unsure = about(content)
    if unsure:
        content = folder.read(file, HEAD_BYTES)
        said, _ = about(content)
    return stamp_of(content.status), said


def _read_folder(
    folder: Folder, taken: AbstractSet[str], catalog: Catalog, budget: Budget
) -> list[Command]:
    """The commands in FOLDER whose files are not TAKEN by an earlier one, in no order."""
    known, kept, found = CACHE.of(folder.path), {}, []
    for file in _files(folder, catalog, budget):
        if file in taken:
            continue
        if budget.expired():
            break
        try:
            now = time.time_ns()
            stamp, said = _looked_at(folder, file, known)
        except PathError as error:
            catalog.skipped.append(f"{label(folder, file)} is skipped: {error.message}")
            continue
        found.append(Command(file.removesuffix(SUFFIX), folder, stamp, said))
        if now - stamp.changed_ns > RACY_NS:
            kept[file] = stamp, said
    catalog.complete &= not budget.expired()
    CACHE.keep(folder.path, kept if catalog.complete else {**known, **kept})
    return found


def _files(folder: Folder, catalog: Catalog, budget: Budget) -> list[str]:
    """The names in FOLDER, in the order in which warnings are to stand."""
    try:
        return sorted(folder.files(budget))
    except PathError as error:
        catalog.skipped.append(f"Directory {quote(folder.label)} cannot be read: {error.message}")
        return []


def _looked_at(folder: Folder, file: str, known: Kept) -> tuple[Stamp, About]:
    stamp = stamp_of(folder.status(file))
    seen = known.get(file)
    return seen if seen is not None and seen[0] == stamp else read_head(folder, file)


def label(folder: Folder, file: str) -> str:
    """FILE as a warning names it."""
    return quote(f"{folder.label.rstrip('/')}/{file}")


def order(command: Command) -> tuple[str, str]:
    """Without regard to case, ties by code point."""
    return command.name.casefold(), command.name
