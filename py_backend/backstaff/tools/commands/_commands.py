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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import takewhile
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import NotADirectory, NotFound, PathError, ToolError
from backstaff.frontmatter import MAX_BYTES, parse
from backstaff.fs.entry import Kind, entries_in
from backstaff.fs.file import Content, not_a_file, read
from backstaff.fs.root import Root, components
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
NO_DESCRIPTION = "No description available"


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.list_commands]`, for all tools of the set.

    `directory` is a directory or a list of them, relative to the root or absolute (`~` is the
    user's home).
    """

    directory: tuple[str, ...] = (".claude/commands",)


class Directory(NamedTuple):
    """A directory of commands: its `label` in the settings, and its path in `root`.

    The root is the project's, or `/` where links may lead anywhere. `files` maps each
    name to its file, as `a` to `a.md`: first commands, then possible skills, as `b/SKILL.md`.
    """

    label: str
    root: Root
    relative: str
    files: Mapping[str, str]

    def label_of(self, file: str) -> str:
        """The path of `file` by the settings, quoted: `'~/skills/a/SKILL.md'`."""
        return quote(f"{self.label.rstrip('/')}/{file}")

    def read(self, file: str, limit_bytes: int) -> tuple[str, Content]:
        """Return the real path and the first bytes of `file`. Raises `PathError`."""
        with self.root.resolve(f"{self.relative}/{file}") as place:
            if place.kind is not Kind.FILE:
                raise not_a_file(place.kind)
            self.root.judge(place.relative, place.given)
            return place.path, read(place.name, place.directory, limit_bytes)


def is_no_skill(file: str, error: PathError) -> bool:
    """Return True if nothing is wrong: most directories, and links to files, are no skills."""
    return "/" in file and isinstance(error, NotFound | NotADirectory)


class Command(NamedTuple):
    """A command or skill, from the head of its file.

    `path` is the real path, and `label` the one by the settings. `last_modified` is in UTC,
    `2025-11-15T10:00:00.000Z`. `problem` is a fault in its front matter, or "".
    """

    name: str
    label: str
    path: str
    size: int
    last_modified: str
    description: str
    is_dependency: bool
    problem: str

    def order(self) -> tuple[str, str]:
        """Return the key of the contract's order: without regard to case, and `Go` before `go`."""
        return self.name.casefold(), self.name

    def facts(self, *keys: str) -> dict[str, object]:
        """Return the properties `keys` in an object of an answer."""
        return {key: getattr(self, key) for key in keys}

    def __str__(self) -> str:
        """Return the line in a text: `deploy: Roll out`."""
        return f"{word(self.name)}: {prose(self.description)}"


@contextmanager
def open_directories(context: Context) -> Iterator[tuple[list[Directory], list[str]]]:
    """Find the directories in the settings, and return them and warnings about those that fail.

    Not everyone has commands of their own, so a missing directory is no warning. Raises
    DIRECTORY_NOT_FOUND if there is no directory at all.
    """
    directories, problems, warnings = list[Directory](), list[str](), list[str]()
    with Root("/", context.root.guard) as disk:
        for label in context.settings.directory:
            try:
                directories.append(_directory(label, disk, context))
            except PathError as error:
                problems.append(refused(error, label, COMMANDS).message)
                if not isinstance(error, NotFound):
                    warnings.append(f"Commands directory {problems[-1]}")
        if not directories:
            problem = f"Commands directory {', '.join(problems)}"
            problem = problem if problems else "No directory is set"
            message = f"{problem}; see 'directory' in [tools.{TABLE}]"
            raise ToolError(DIRECTORY_NOT_FOUND, message)
        yield directories, warnings


def _directory(label: str, disk: Root, context: Context) -> Directory:
    """Find the directory `label` in the project's root, or on the `disk`. Raises `PathError`."""
    path, root = os.path.expanduser(label), context.root  # pathlib raises for an unknown user
    if path.startswith("/"):
        with disk.directory(path) as place:
            inside = root.within(components(place.path))
        root, path = (disk, path) if inside is None else (root, "/".join(inside))
    with root.directory(path) as place:
        entries = sorted(entries_in(place.listing(), context.budget))
        relative = place.relative
    shown = [(name, kind) for name, kind in entries if not name.startswith(".")]
    files = {
        name.removesuffix(MARKDOWN): name
        for name, _ in shown
        if name.endswith(MARKDOWN) and name != "README.md"  # contract 003: filtering rules
    }
    commands = set(files.values())  # a directory `a.md` is a mistake for a command
    for name, kind in shown:
        if kind in (Kind.DIRECTORY, Kind.SYMLINK) and name not in commands:
            files.setdefault(name, f"{name}/{SKILL_FILE}")
    return Directory(label, root, relative, files)


def read_commands(
    directories: Sequence[Directory], warnings: list[str], budget: Budget
) -> Iterator[tuple[Command, Content]]:
    """Yield the commands that are no dependencies, in no order, with the heads of their files.

    Adds warnings about files that cannot be used. Stops early if the time is up.
    """
    names = set[str]()  # a dependency, too, hides the commands of its name in later directories
    for directory in directories:
        for name, file in directory.files.items():
            # Reading one file can take 50 milliseconds.
            if name in names or budget.expired():
                continue
            try:
                path, content = directory.read(file, MAX_BYTES)
            except PathError as error:
                if not is_no_skill(file, error):
                    label = directory.label_of(file)
                    warnings.append(f"{label} is skipped: {error.message}")
                continue
            names.add(name)
            command = command_of(file, directory, path, content)
            if not command.is_dependency:
                yield command, content


def faults(shown: Iterable[Command]) -> list[str]:
    """Return the warnings about the front matter of the commands `shown`."""
    return [f"{one.label}: {one.problem}" for one in shown if one.problem]


def notes(warnings: Sequence[str], *, complete: bool) -> list[str]:
    """Return the facts that the text has to tell: a model does not see the warnings."""
    late = "the time was up before all commands were read: some are missing"
    count = plural(len(warnings), "warning", "warnings, the first")
    first = [f"{count}: {prose(one)}" for one in warnings[:1]]
    return [late] * (not complete) + first


_HEADS: LRUCache[bytes, tuple[str, bool, str]] = LRUCache(20_000)
"""What `_head` returns, by the digest: reading YAML takes 20 times as long as reading the file."""


def command_of(file: str, directory: Directory, path: str, content: Content) -> Command:
    """Make the command in `file` from the first `MAX_BYTES` of `content`."""
    content = content.first(MAX_BYTES)
    digest = blake2b(content.head, salt=b"%d" % content.whole).digest()
    head = _HEADS.get(digest) or _head(content)
    _HEADS.put(digest, head)
    name, status = file.partition("/")[0].removesuffix(MARKDOWN), content.status
    modified = utc(status.st_mtime_ns)
    return Command(name, directory.label_of(file), path, status.st_size, modified, *head)


def _head(content: Content) -> tuple[str, bool, str]:
    """Return the description, whether the command is a dependency, and the fault or ""."""
    document = parse(content.head, whole=content.whole)
    given = document.fields.get("description")
    words = given.split() if isinstance(given, str) else []
    words = words or first_paragraph(document.body()).split()
    description = " ".join(words) or NO_DESCRIPTION
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
