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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import NotADirectory, NotAFile, NotFound, PathError, ToolError
from backstaff.frontmatter import MAX_BYTES, parse
from backstaff.fs.entry import Kind, entries_in, lstat_or_none
from backstaff.fs.file import Content, read
from backstaff.fs.root import Place, Root, components
from backstaff.fs.stamps import Stamp, is_young, stamp_of
from backstaff.render.lines import plural
from backstaff.render.names import prose, quote, word
from backstaff.render.refusals import COMMANDS, refused
from backstaff.tool import Context

TABLE = "list_commands"
MARKDOWN, SKILL_FILE = ".md", "SKILL.md"
DIRECTORY_NOT_FOUND = "DIRECTORY_NOT_FOUND"
"""The contract's error code where no directory of commands exists."""
MAX_DESCRIPTION = 200
"""Maximum number of characters of a description."""
MAX_KEPT = 20_000
"""Maximum number of commands that are kept, each some 600 bytes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.list_commands]`, for all tools of the set.

    `directory` is a directory or a list of them, relative to the root or absolute (`~` is the
    user's home).
    """

    directory: tuple[str, ...] = (".claude/commands",)


class Command(NamedTuple):
    """A command or skill, from the head of its file.

    `label` is the path by the settings, such as `~/skills/a/SKILL.md`, and `path` the real one.
    `problem` is a fault in its front matter, or "".
    """

    name: str
    label: str
    path: str
    size: int
    stamp: Stamp
    description: str
    is_dependency: bool
    problem: str

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
        """Return the line in a text: `deploy: Roll out`."""
        return f"{word(self.name)}: {prose(self.description)}"


class Directory(NamedTuple):
    """An open directory of commands: its `label` in the settings, and its `place`.

    The place is in the project's root, or in `/` where links may lead anywhere. `files` maps each
    name to its file, as `a` to `a.md`: first commands, then possible skills, as `b/SKILL.md`.
    """

    label: str
    place: Place
    files: Mapping[str, str]

    def stamp(self, file: str) -> Stamp | None:
        """Return the stamp of `file`; None if it is a skill or no regular file."""
        status = None if "/" in file else lstat_or_none(file, self.place.directory)
        return stamp_of(status) if status and stat.S_ISREG(status.st_mode) else None

    def read(self, name: str, most: int) -> tuple[str, Content]:
        """Return the real path of the command `name`, and at most `most` bytes of its file.

        Raises `PathError`.
        """
        place, file = self.place, self.files[name]
        relative, root = place.prefix + file, place.root
        if self.stamp(file):
            root.judge(relative, relative)
            return place.path_as_directory + file, read(file, place.directory, most)
        with root.resolve(relative) as found:
            if found.kind is not Kind.FILE:
                raise NotAFile(found.kind)
            root.judge(found.relative, relative)
            return found.path, read(found.name, found.directory, most)

    def command(self, name: str, most: int = MAX_BYTES) -> tuple[Command, Content]:
        """Return the command `name`, and what `read` does. Raises `PathError`."""
        path, content = self.read(name, most)
        status, head = content.status, _head(content.first(MAX_BYTES))
        label = f"{self.label}/{self.files[name]}"
        return Command(name, label, path, status.st_size, stamp_of(status), *head), content


_KEPT: LRUCache[tuple[object, ...], dict[str, Command]] = LRUCache(MAX_KEPT, len)
"""The commands of the directories read last, by file. One with another stamp is read again."""


@contextmanager
def open_directories(context: Context) -> Iterator[tuple[list[Directory], list[str]]]:
    """Find the directories in the settings, and return them and warnings about those that fail.

    Not everyone has commands of their own, so a missing directory is no warning. Raises
    DIRECTORY_NOT_FOUND if there is no directory at all.
    """
    directories, problems, warnings = list[Directory](), list[str](), list[str]()
    with Root("/", context.root.guard) as disk, ExitStack() as stack:
        for label in context.settings.directory:
            path, root = os.path.expanduser(label), context.root  # pathlib fails for unknown users
            try:
                if path.startswith("/"):
                    with disk.directory(path) as place:
                        inside = root.within(components(place.path))
                    root, path = (disk, path) if inside is None else (root, "/".join(inside))
                place = stack.enter_context(root.directory(path))
                files = _files(place.listing(), context.budget)
            except PathError as error:
                problems.append(refused(error, label, COMMANDS).message)
                if not isinstance(error, NotFound):
                    warnings.append(f"Commands directory {problems[-1]}")
            else:
                directories.append(Directory(label.rstrip("/"), place, files))
        if not directories:
            all_of_them = f"Commands directory {', '.join(problems)}"
            problem = all_of_them if problems else "No directory is set"
            message = f"{problem}; see 'directory' in [tools.{TABLE}]"
            raise ToolError(DIRECTORY_NOT_FOUND, message)
        yield directories, warnings


def _files(directory: int, budget: Budget) -> dict[str, str]:
    """Return the `files` of the open `directory`."""
    files = dict[str, str]()
    shown = [one for one in sorted(entries_in(directory, budget)) if not one[0].startswith(".")]
    for name, _ in shown:
        if name.endswith(MARKDOWN) and name != "README.md":
            files[name.removesuffix(MARKDOWN)] = name
    for name, kind in shown:  # a directory `a.md` is a mistake for a command
        if kind in (Kind.DIRECTORY, Kind.SYMLINK) and not name.endswith(MARKDOWN):
            files.setdefault(name, f"{name}/{SKILL_FILE}")
    return files


def read_commands(
    directories: Sequence[Directory], warnings: list[str], budget: Budget
) -> Iterator[tuple[Command, Directory]]:
    """Yield the commands that are no dependencies, in no order, with their directories.

    Adds warnings about files that cannot be used. Stops early if the time is up.
    """
    names = set[str]()  # a dependency, too, hides the commands of its name in later directories
    for directory in directories:
        place = directory.place
        key = directory.label, place.root.path, place.path, place.root.guard
        kept, settled, begun = _KEPT.get(key) or {}, dict[str, Command](), time.time_ns()
        for name, file in directory.files.items():
            # Reading one file can take 50 milliseconds.
            if name in names or budget.expired():
                continue
            command = kept.get(file)
            if command and command.stamp == directory.stamp(file):
                settled[file] = command
            else:
                try:
                    command, _ = directory.command(name)
                except PathError as error:
                    if not is_no_skill(file, error):
                        label = quote(f"{directory.label}/{file}")
                        warnings.append(f"{label} is skipped: {error.message}")
                    continue
                if not is_young(command.stamp, begun):
                    settled[file] = command
            names.add(name)
            if not command.is_dependency:
                yield command, directory
        _KEPT.put(key, settled)


def is_no_skill(file: str, error: PathError) -> bool:
    """Return True if nothing is wrong: most directories, and links to files, are no skills."""
    return "/" in file and isinstance(error, NotFound | NotADirectory)


def notes(warnings: list[str], shown: Iterable[Command], *, complete: bool) -> list[str]:
    """Return the facts that the text has to tell: a model does not see the warnings.

    Adds warnings about the front matter of the commands `shown`.
    """
    warnings += [f"{quote(one.label)}: {one.problem}" for one in shown if one.problem]
    late = "the time was up before all commands were read: some are missing"
    count = plural(len(warnings), "warning", "warnings, the first")
    return [late] * (not complete) + [f"{count}: {prose(one)}" for one in warnings[:1]]


def _head(content: Content) -> tuple[str, bool, str]:
    """Return the description, whether the command is a dependency, and the fault or ""."""
    document = parse(content.head, whole=content.whole)
    given = document.fields.get("description")
    words = given.split() if isinstance(given, str) else []
    words = words or first_paragraph(document.body()).split()
    description = " ".join(words) or "No description available"
    if len(description) > MAX_DESCRIPTION:
        description = description[: MAX_DESCRIPTION - 3] + "..."
    # Broken front matter hides no command: its author may have meant something else.
    is_dependency = document.fields.get("is_dependency") is True and not document.warning
    return description, is_dependency, document.warning


_HIDDEN = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.MULTILINE)
"""Matches code between fences, and comments."""
_HEADING = re.compile(
    r"^ {0,3}#{1,6}(?:[ \t].*)?$|^.*\n(?:=+|--+)[ \t]*$|^(?:[-*_=][ \t]*){3,}$", re.MULTILINE
)
"""Matches headings, one with its underline, and rules."""
_OTHER = re.compile(r"[-+*](?:\s|\Z)|[0-9]{1,9}[.)](?:\s|\Z)|[<>|]|\[[^]]+\]:")
"""The line begins code, a list, HTML, a quote, a table or a link definition."""


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a Markdown `text`, its lines as they stand there, or "".

    Anything else than a heading lasts up to the next blank line. Links and emphasis stay.
    """
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
    """Format a time in UTC, to the millisecond: `2025-11-15T10:00:00.000Z`.

    A time that the calendar does not have stands as its epoch seconds: `@1152921504606846976`.
    """
    seconds, rest = divmod(nanoseconds, 10**9)
    try:
        time = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
    except (OverflowError, ValueError, OSError):
        return f"@{seconds}"
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
