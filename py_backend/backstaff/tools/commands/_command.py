"""A command or skill: the facts at the head of its file, and how answers show them."""

import re
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from backstaff.frontmatter.block import parse
from backstaff.frontmatter.values import Value
from backstaff.fs.file import Content
from backstaff.render.names import labels, prose, quote, show, word
from backstaff.tools.commands._directories import MARKDOWN

HEAD_BYTES = 64 * 1024
MAX_DESCRIPTION, MAX_SKILL_DESCRIPTION = 200, 1024
MAX_TAGS, MAX_TAG = 16, 64
MAX_LINES = 2_000
"""Maximum number of lines of the body in which a first paragraph is looked for."""
NO_DESCRIPTION = "No description available"
LAST_SHORT_YEAR = 9999


class Command(NamedTuple):
    """A command, from the head of its file.

    `folder` is the directory as the settings name it, `file` the path in it (`commit.md`,
    `pdf/SKILL.md`), and `path` the real path. `problems` are the faults in its front matter.
    `model_invocable` is true for a skill with a `description`, unless its author says otherwise.
    """

    name: str
    folder: str
    file: str
    path: str
    size: int
    modified_ns: int
    title: str
    description: str
    tags: tuple[str, ...]
    is_dependency: bool
    model_invocable: bool
    problems: tuple[str, ...]

    @property
    def label(self) -> str:
        """The path of its file by the settings: `.claude/commands/a.md`, `~/skills/a/SKILL.md`."""
        return f"{self.folder.rstrip('/')}/{self.file}"

    @property
    def last_modified(self) -> str:
        """The time of modification: `2025-11-15T10:00:00.000Z`."""
        return utc(self.modified_ns)

    @property
    def modified_epoch(self) -> int:
        """The same in seconds, as Emacs takes times."""
        return self.modified_ns // 10**9

    def facts(self, *keys: str) -> dict[str, object]:
        """Return the properties `keys` in an object of an answer."""
        return {key: getattr(self, key) for key in keys}

    def summary(self, *, several: bool) -> str:
        """Return `deploy: Roll out`, or with `several` directories `deploy (docs): Roll out`."""
        folder = f" ({show(self.folder)})" if several else ""
        return f"{word(self.name)}{folder}: {prose(_shortened(self.description, MAX_DESCRIPTION))}"

    def warning(self) -> str:
        """Return the problems with the name of the file."""
        return f"{quote(self.label)}: {'; '.join(self.problems)}"


def command_of(file: str, folder: str, path: str, content: Content) -> Command:
    """Make the command in `file` of `folder` from `content`, its first `HEAD_BYTES`."""
    document = parse(content.head, whole=content.whole)
    fields, skill = document.fields, "/" in file
    given = _one_line(fields.get("description"))
    description = given or _one_line(first_paragraph(document.body())) or NO_DESCRIPTION
    silent = str(fields.get("disable-model-invocation")).lower() == "true"
    return Command(
        name=file.partition("/")[0] if skill else file.removesuffix(MARKDOWN),
        folder=folder,
        file=file,
        path=path,
        size=content.status.st_size,
        modified_ns=content.status.st_mtime_ns,
        title=_shortened(_one_line(fields.get("title")), MAX_DESCRIPTION),
        description=_shortened(description, MAX_SKILL_DESCRIPTION if skill else MAX_DESCRIPTION),
        tags=tuple(islice(_tags(fields.get("tags")), MAX_TAGS)),
        # Broken front matter hides no command: its author may have meant something else.
        is_dependency=fields.get("is_dependency") is True and not document.warning,
        model_invocable=skill and bool(given) and not silent,
        problems=(document.warning,) if document.warning else (),
    )


_HEADING_OR_RULE = re.compile(r"#{1,6}(?: |\Z)|(?:[-*_][ \t]*){3,}\Z")
_ITEM_QUOTE_OR_ROW = re.compile(r"[-+*](?:\s|\Z)|>|\|")
_NO_TEXT = re.compile(rf"{_ITEM_QUOTE_OR_ROW.pattern}|[0-9]{{1,9}}[.)](?:\s|\Z)|<|\[[^]]+\]:")
"""A line that starts so is no paragraph, and neither are the lines behind it up to a blank one."""
_FENCE_OR_COMMENT = re.compile(r"```|~~~|<!--")
_UNDERLINE = re.compile(r"=+|-+|[-:| \t]*-[-:| \t]*")
"""A line that makes a heading, or the head of a table, of the lines above it."""


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a Markdown `text`, its lines as they stand there, or "".

    That is no heading, list, quote, code, table, HTML, comment or link definition. A rule by lines
    decides: a list or quote ends at the next blank line, and an indented line begins no paragraph.
    Only `MAX_LINES` lines are read. Links and emphasis stay as written.
    """
    paragraph, in_other, end = list[str](), False, ""
    for line in text.split("\n", MAX_LINES)[:MAX_LINES]:
        start = line.strip()
        opening = _FENCE_OR_COMMENT.match(start)
        alone = opening or _HEADING_OR_RULE.match(start)
        if end:
            end = "" if end in start else end
        elif paragraph and _UNDERLINE.fullmatch(start):
            paragraph, in_other = [], "|" in start
        elif paragraph and (not start or alone or _ITEM_QUOTE_OR_ROW.match(start)):
            break
        elif opening:
            mark = "-->" if opening[0] == "<!--" else opening[0]
            end = "" if mark in start[len(opening[0]) :] else mark
        elif not start or alone:
            in_other = False
        elif paragraph or not (in_other or line[0].isspace() or _NO_TEXT.match(start)):
            paragraph.append(start)
        else:
            in_other = in_other or bool(_NO_TEXT.match(start))
    return "\n".join(paragraph)


def _tags(value: Value) -> Iterator[str]:
    """Yield the tags in a list, or in a text (`ops, deploy`). A number can be a tag."""
    items = value.split(",") if isinstance(value, str) else value
    if isinstance(items, Sequence):
        tags = (" ".join(item.split()) for item in items if isinstance(item, str))
        yield from (_shortened(tag, MAX_TAG) for tag in tags if tag)


def _one_line(value: Value) -> str:
    """Return `value` on one line if it is text, and "" for anything else, also for a `Number`."""
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


def command_labels(commands: Sequence[Command]) -> list[tuple[str, str]]:
    """Pair the odd names and descriptions of `commands` with their form in text."""
    names = [text for one in commands for text in (one.name, one.path, one.folder)]
    return labels(show, names) + labels(prose, [one.description for one in commands])
