"""A command: the facts at the head of its file, and how answers show them."""

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from backstaff.frontmatter.block import parse
from backstaff.frontmatter.values import Value
from backstaff.fs.file import Content
from backstaff.render.names import labels, prose, quote, show, word
from backstaff.tools.commands._directories import SUFFIX, CommandDirectory

HEAD_BYTES = 64 * 1024
MAX_DESCRIPTION = 200
MAX_TAGS, MAX_TAG = 16, 64
NO_DESCRIPTION = "No description available"
LAST_SHORT_YEAR = 9999


class Command(NamedTuple):
    """A command, from the head of its file.

    `folder` is the label of its directory, and `directory` the real path. `problem` names a
    fault in the file, or is empty.
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
    problem: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.name + SUFFIX

    @property
    def path(self) -> str:
        """The path of its file."""
        return f"{self.directory.rstrip('/')}/{self.file}"

    @property
    def last_modified(self) -> str:
        """The time of modification: `2025-11-15T10:00:00.000Z`."""
        return utc(self.modified_ns)

    @property
    def modified_epoch(self) -> int:
        """The same in seconds, as Emacs takes times."""
        return self.modified_ns // 10**9

    def facts(self, *keys: str) -> dict[str, object]:
        """Return the properties KEYS in an object of an answer."""
        return {key: getattr(self, key) for key in keys}

    def summary(self, *, several: bool) -> str:
        """Return `deploy: Roll out`, or with SEVERAL directories `deploy (docs): Roll out`."""
        folder = f" ({show(self.folder)})" if several else ""
        return f"{word(self.name)}{folder}: {prose(self.description)}"

    def warning(self) -> str:
        """Return the problem with the name of the file."""
        return f"{file_label(self.folder, self.file)}: {self.problem}"


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
        title=_shortened(_one_line(fields.get("title")), MAX_DESCRIPTION),
        description=_shortened(description, MAX_DESCRIPTION),
        tags=tuple(islice(_tags(fields.get("tags")), MAX_TAGS)),
        # Broken front matter hides no command: its author may have meant something else.
        is_dependency=fields.get("is_dependency") is True and not document.warning,
        problem=document.warning,
    )
    return command, not content.whole and (document.unfinished or not ended)


def _tags(value: Value) -> Iterator[str]:
    """Yield the tags in a list, or in a text (`ops, deploy`). A number can be a tag."""
    items = value.split(",") if isinstance(value, str) else value
    if isinstance(items, Sequence):
        tags = (" ".join(item.split()) for item in items if isinstance(item, str))
        yield from (_shortened(tag, MAX_TAG) for tag in tags if tag)


def _one_line(value: Value) -> str:
    """Return VALUE on one line if it is text, and "" for anything else, also for a `Number`."""
    return " ".join(value.split()) if type(value) is str else ""


def _shortened(line: str, most: int) -> str:
    return line if len(line) <= most else line[: most - 3] + "..."


def utc(nanoseconds: int) -> str:
    """Format a time in UTC, to the millisecond: `2025-11-15T10:00:00.000Z`.

    A year that four digits cannot hold has a sign and six digits or more, as ISO 8601 and
    JavaScript write it: `+036812-02-20T00:36:16.000Z`. A time that the system cannot break down
    stands as its epoch seconds: `@1152921504606846976`.
    """
    seconds, rest = divmod(nanoseconds, 10**9)
    try:
        year, month, day, hour, minute, second, *_ = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return f"@{seconds}"
    written = f"{year:04}" if 0 <= year <= LAST_SHORT_YEAR else f"{year:+07}"
    clock = f"{hour:02}:{minute:02}:{second:02}.{rest // 10**6:03}Z"
    return f"{written}-{month:02}-{day:02}T{clock}"


def file_label(folder: str, file: str) -> str:
    """Name FILE in the FOLDER of this label, as in a warning: `'.claude/commands/a.md'`."""
    return quote(f"{folder.rstrip('/')}/{file}")


def command_labels(commands: Sequence[Command]) -> list[tuple[str, str]]:
    """Pair the odd names and descriptions of COMMANDS with their form in text."""
    names = (text for one in commands for text in (one.name, one.path, one.folder))
    return labels(show, names) + labels(prose, [one.description for one in commands])
