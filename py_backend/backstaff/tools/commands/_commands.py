"""The commands of a project and its user: Markdown files in the directories that the settings name.

A directory holds commands as `NAME.md`, Agent Skills as `NAME/SKILL.md` (agentskills.io), or both;
of one name, the command counts, and of several directories the first. Hidden entries and README.md
are neither (contract 003: filtering rules). Deeper files are never looked at.

A relative directory belongs to the project: it and every link in it stay within the root. An
absolute one, or one that begins with `~`, was chosen by the user, so links in it may lead anywhere.
An absolute path that leads into the project belongs to the project all the same.
"""

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import NotADirectory, NotAFile, NotFound, PathError, ToolError
from backstaff.frontmatter import MAX_BYTES, parse
from backstaff.fs.entry import Kind, Stamp, entries_in, is_young, lstat_or_none, stamp_of
from backstaff.fs.file import Content, read
from backstaff.fs.root import Place, Root, components
from backstaff.render.lines import plural
from backstaff.render.names import prose, quote, word
from backstaff.render.refusals import COMMANDS, refused
from backstaff.tool import Context, Tool

TABLE = "list_commands"
MARKDOWN = ".md"
MAX_DESCRIPTION = 200  # characters
MAX_KEPT = 20_000  # commands, each some 600 bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.list_commands]`, for all tools of the set: one directory or several."""

    directory: tuple[str, ...] = (".claude/commands",)


CommandTool = partial(Tool, categories=("commands", "discovery"), settings=Settings, table=TABLE)


class Command(NamedTuple):
    """A command or skill, from the head of its file."""

    name: str
    label: str  # the path by the settings
    path: str
    size: int
    stamp: Stamp
    is_young: bool  # if so, a later change of the file may not show in its `stamp`
    description: str
    is_dependency: bool
    problem: str  # a fault in the head, or ""

    @property
    def last_modified(self) -> str:
        """The time in UTC."""
        return utc(self.stamp[0])

    def order(self) -> tuple[str, str]:
        """Return the key of the contract's order: without regard to case, and `Go` before `go`."""
        return self.name.casefold(), self.name

    def facts(self, *keys: str) -> dict[str, object]:
        """Return the properties `keys` in an object of an answer."""
        return {key: getattr(self, key) for key in keys}

    def __str__(self) -> str:
        return f"{word(self.name)}: {prose(self.description)}"


class Directory(NamedTuple):
    """An open directory of commands, with its `label` in the settings."""

    label: str
    place: Place
    files: Mapping[str, str]  # of each name, as `a.md` of `a`; first commands, then possible skills

    def stamp(self, name: str) -> Stamp | None:
        """Return the stamp of the command `name`; None if it is a skill or no regular file."""
        file = self.files[name]
        status = None if "/" in file else lstat_or_none(file, self.place.directory)
        return stamp_of(status) if status and stat.S_ISREG(status.st_mode) else None

    def read(self, name: str, most: int) -> tuple[str, Content]:
        """Return the real path of `name`, and at most `most` bytes of it. Raises `PathError`."""
        place, file = self.place, self.files[name]
        relative, root = place.prefix + file, place.root
        if self.stamp(name):  # a third faster than by `resolve`
            root.judge(relative, relative)
            return place.path_as_directory + file, read(file, place.directory, most)
        with root.resolve(relative) as found:
            if found.kind is not Kind.FILE:
                raise NotAFile(found.kind)
            root.judge(found.relative, relative)
            return found.path, read(found.name, found.directory, most)

    def command(self, name: str, most: int = MAX_BYTES) -> tuple[Command, Content]:
        """Return the command `name`, and what `read` does. Raises `PathError`."""
        begun, label = time.time_ns(), f"{self.label}/{self.files[name]}"
        path, content = self.read(name, most)
        size, stamp, head = content.status.st_size, stamp_of(content.status), _head(content)
        return Command(name, label, path, size, stamp, is_young(stamp, begun), *head), content

    def is_no_skill(self, name: str, error: PathError) -> bool:
        """Return True if nothing is wrong: most directories, and links to files, are no skills."""
        return "/" in self.files[name] and isinstance(error, NotFound | NotADirectory)


_KEPT: LRUCache[tuple[object, ...], dict[str, Command]] = LRUCache(MAX_KEPT, len)
"""The commands of the directories read last, by name. One with another stamp is read again."""


@dataclass(slots=True)
class Library:
    """The open directories, and `warnings` about what fails. `late`: the time was up too soon."""

    directories: list[Directory]
    warnings: list[str]
    budget: Budget
    late: bool = False

    def commands(self) -> Iterator[tuple[Command, Directory]]:
        """Yield the commands that are no dependencies, in no order, with their directories."""
        names = set[str]()  # a dependency, too, hides the commands of its name in later directories
        for directory in self.directories:
            place = directory.place
            key = directory.label, place.root.path, place.path, place.root.guard
            kept, met = _KEPT.get(key) or {}, dict[str, Command]()
            for name, file in directory.files.items():
                # Reading one file can take 50 milliseconds.
                if name in names or self.budget.expired():
                    continue
                command = kept.get(name)
                if not command or command.is_young or command.stamp != directory.stamp(name):
                    try:
                        command, _ = directory.command(name)
                    except PathError as error:
                        if not directory.is_no_skill(name, error):
                            label = quote(f"{directory.label}/{file}")
                            self.warnings.append(f"{label} is skipped: {error.message}")
                        continue
                met[name] = command
                names.add(name)
                if not command.is_dependency:
                    yield command, directory
            _KEPT.put(key, met)
        self.late = self.budget.expired()

    def notes(self, shown: Iterable[Command]) -> list[str]:
        """Return what the text tells, as a model sees no warnings; add those about `shown`."""
        self.warnings += [f"{quote(one.label)}: {one.problem}" for one in shown if one.problem]
        late = "the time was up before all commands were read: some are missing"
        count = plural(len(self.warnings), "warning", "warnings, the first")
        return [late] * self.late + [f"{count}: {prose(one)}" for one in self.warnings[:1]]


@contextmanager
def open_library(context: Context) -> Iterator[Library]:
    """Open the directories in the settings. Raises DIRECTORY_NOT_FOUND if none can be used."""
    library, problems = Library([], [], context.budget), list[str]()
    with Root("/", context.root.guard) as disk, ExitStack() as stack:
        for label in context.settings.directory:
            path, root = os.path.expanduser(label), context.root  # pathlib fails for unknown users
            try:
                found = (disk if path.startswith("/") else root).directory(path)
                place = stack.enter_context(found)
                if (inside := root.within(components(place.path))) is not None:
                    place = stack.enter_context(root.directory("/".join(inside)))
                files = _files(place.listing(), context.budget)
            except PathError as error:
                problems.append(refused(error, label, COMMANDS).message)
                if not isinstance(error, NotFound):  # not everyone has commands of their own
                    library.warnings.append(f"Commands directory {problems[-1]}")
            else:
                library.directories.append(Directory(label.rstrip("/"), place, files))
        if not library.directories:
            told = f"Commands directory {', '.join(problems)}" * bool(problems)
            message = f"{told or 'No directory is set'}; see 'directory' in [tools.{TABLE}]"
            raise ToolError("DIRECTORY_NOT_FOUND", message)  # the contract's code
        yield library


def _files(directory: int, budget: Budget) -> dict[str, str]:
    """Return the `files` of the open `directory`."""
    shown = sorted(one for one in entries_in(directory, budget) if not one[0].startswith("."))
    markdown = [name for name, _ in shown if name.endswith(MARKDOWN) and name != "README.md"]
    files = {name.removesuffix(MARKDOWN): name for name in markdown}
    for name, kind in shown:  # a directory `a.md` is a mistake for a command
        if kind in (Kind.DIRECTORY, Kind.SYMLINK) and not name.endswith(MARKDOWN):
            files.setdefault(name, f"{name}/SKILL.md")
    return files


def _head(content: Content) -> tuple[str, bool, str]:
    """Return the description, whether the command is a dependency, and the fault or ""."""
    head, _, whole = content.first(MAX_BYTES)
    document = parse(head, whole=whole)
    given = document.fields.get("description")
    words = given.split() if isinstance(given, str) else []
    words = words or first_paragraph(document.body()).split()
    text = " ".join(words) or "No description available"
    if len(text) > MAX_DESCRIPTION:
        text = text[: MAX_DESCRIPTION - 3] + "..."
    # Broken front matter hides no command: its author may have meant something else.
    is_dependency = document.fields.get("is_dependency") is True and not document.warning
    return text, is_dependency, document.warning


_HIDDEN = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.MULTILINE)
"""Matches code between fences, and comments."""
_HEADING = re.compile(  # headings, one with its underline, and rules
    r"^ {0,3}#{1,6}(?:[ \t].*)?$|^.*\n(?:=+|--+)[ \t]*$|^(?:[-*_=][ \t]*){3,}$", re.MULTILINE
)
_OTHER = re.compile(r"[-+*](?:\s|\Z)|[0-9]{1,9}[.)](?:\s|\Z)|[<>|]|\[[^]]+\]:")
"""The line begins code, a list, HTML, a quote, a table or a link definition."""


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a Markdown `text`, its lines as they stand there, or ""."""
    goes_on = "    "  # the blanks that make code of a line, or the next block of a list
    for block in re.split(r"\n\s*\n", _HEADING.sub("\n", _HIDDEN.sub("", text))):
        first, *others = block.strip("\n").split("\n")
        is_other = first.startswith(("\t", goes_on)) or _OTHER.match(first.strip())
        if first.strip() and not is_other:
            lines = map(str.strip, (first, *others))
            return "\n".join(takewhile(lambda line: line and not _OTHER.match(line), lines))
        goes_on = " " if first.strip() else goes_on
    return ""


def utc(nanoseconds: int) -> str:
    """Return `2025-11-15T10:00:00.000Z`, or beyond the calendar `@1152921504606846976`, seconds."""
    try:
        time = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return f"@{nanoseconds // 10**9}"
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
