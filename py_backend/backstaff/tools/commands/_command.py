"""A command: the facts at the head of its file, and how answers show them."""

import os
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from backstaff.errors import PathError
from backstaff.frontmatter.block import KEYS, parse
from backstaff.frontmatter.values import Value
from backstaff.fs.file import Content
from backstaff.render.names import labels, prose, quote, show, word
from backstaff.tools.commands._conventions import SKILL_FILES, TOML, Kind, Scope
from backstaff.tools.commands._directories import CommandDirectory

HEAD_BYTES = 64 * 1024
MAX_DESCRIPTION, MAX_SKILL_DESCRIPTION = 200, 1024
MAX_TAGS, MAX_TAG = 16, 64
MAX_NAME, MAX_SKILL_NAME = 200, 64
NO_DESCRIPTION = "No description available"
LAST_SHORT_YEAR = 9999

MORE_FIELDS = (
    *(*KEYS, "name", "argument-hint"),
    *("disable-model-invocation", "user-invocable", "user-invokable"),
)
"""The fields of front matter that conventions besides the contract read."""


class Command(NamedTuple):
    """A command, from the head of its file.

    `folder` is the label of its folder, `file` the path below that (`git/commit.md`), and
    `directory` the real path of the directory that holds the file. `problems` are the faults in it.
    The fields from `kind` on belong to conventions besides the contract; `shadowed_by` is the path
    of the command that counts for this one's name.
    """

    name: str
    folder: str
    file: str
    directory: str
    size: int
    modified_ns: int
    title: str
    description: str
    tags: tuple[str, ...]
    is_dependency: bool
    problems: tuple[str, ...]
    kind: Kind
    source: str
    scope: Scope
    namespace: str
    argument_hint: str | None
    user_invocable: bool
    model_invocable: bool
    shadowed_by: str | None = None

    @property
    def path(self) -> str:
        """The path of its file."""
        return f"{self.directory.rstrip('/')}/{self.file.rpartition('/')[2]}"

    @property
    def label(self) -> str:
        """The path of its file as answers show it: `.claude/skills/a/SKILL.md`, `~/.claude/...`."""
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
        """Return `deploy: Roll out`, or with `several` directories `deploy (docs): Roll out`.

        A shadowed command has its path, which get_command takes, because its name means another.
        The contract's folders have no place for problems in a row.
        """
        where = f"{show(self.label)}, shadowed" if self.shadowed_by else show(self.folder)
        folder = f" ({where})" if several else ""
        description = prose(_shortened(self.description, MAX_DESCRIPTION))
        marked = self.problems if self.source else ()
        mark = f" [problem: {prose('; '.join(marked))}]" if marked else ""
        return f"{word(self.name)}{folder}: {description}{mark}"

    def warning(self) -> str:
        """Return the problems with the name of the file."""
        return f"{quote(self.label)}: {'; '.join(self.problems)}"


def command_of(file: str, directory: CommandDirectory, content: Content) -> Command:
    """Make the command in `file` from `content`, its first `HEAD_BYTES`."""
    if directory.folder.suffix == TOML:
        from backstaff.tools.commands._toml import document_of

        document = document_of(content)
    else:
        # In the contract's own folders only the contract's fields count.
        keys = MORE_FIELDS if directory.folder.source else KEYS
        document = parse(content.head, whole=content.whole, keys=keys)
    description = _one_line(document.fields.get("description"))
    if not description:
        # Most commands have a description, and this import takes milliseconds.
        from backstaff.tools.commands._paragraph import first_paragraph

        description = _one_line(first_paragraph(document.body())) or NO_DESCRIPTION
    command = _command(file, directory, content.status, document.fields, description)
    if document.warning:
        # Broken front matter hides no command: its author may have meant something else.
        problems = (document.warning, *command.problems)
        command = command._replace(problems=problems, is_dependency=False)
    return command


def unreadable(
    file: str, directory: CommandDirectory, status: os.stat_result | None, error: PathError
) -> Command:
    """Make the command for a `file` with this `status` that `error` keeps from being read."""
    command = _command(file, directory, status, {}, NO_DESCRIPTION)
    problems = (f"it cannot be read: {error.message}",)
    return command._replace(problems=problems, user_invocable=False)


def _command(
    file: str,
    directory: CommandDirectory,
    status: os.stat_result | None,
    fields: Mapping[str, Value],
    description: str,
) -> Command:
    """Make the command in `file` from the `fields` of its front matter.

    A model may invoke a skill, and a command of Claude Code, that has a `description`.
    """
    folder, below = directory.folder, directory.prefix + file
    skill, parts = folder.kind is Kind.SKILL, below.removesuffix(folder.suffix).split("/")
    problems, given = list[str](), _one_line(fields.get("description"))
    stated = fields.get("name") if folder.kind is not Kind.COMMAND else None
    name = " ".join(stated.split()) if isinstance(stated, str) else ""
    if skill:
        parts = below.split("/")[-2:-1]
        problems += _skill_problems(name, f"{directory.path}/{file}", given)
    hint = fields.get("argument-hint")
    if isinstance(hint, tuple):  # `argument-hint: [file]` is a list in YAML
        hint = f"[{', '.join(item for item in hint if isinstance(item, str))}]"
    hidden = _says(fields, "user-invocable", "false") or _says(fields, "user-invokable", "false")
    invocable = skill or (folder.source == "claude" and folder.kind is Kind.COMMAND)
    silent = _says(fields, "disable-model-invocation", "true")
    most = MAX_SKILL_DESCRIPTION if skill else MAX_DESCRIPTION
    return Command(
        name=_shortened(name, MAX_NAME) or ":".join(parts),
        folder=folder.label,
        file=below,
        directory=directory.path,
        size=status.st_size if status else 0,
        modified_ns=status.st_mtime_ns if status else 0,
        title=_shortened(_one_line(fields.get("title")), MAX_DESCRIPTION),
        description=_shortened(description, most),
        tags=tuple(islice(_tags(fields.get("tags")), MAX_TAGS)),
        is_dependency=fields.get("is_dependency") is True,
        problems=tuple(problems),
        kind=folder.kind,
        source=folder.source,
        scope=Scope.USER if directory.follow_links else Scope.PROJECT,
        namespace=":".join(parts[:-1]),
        argument_hint=_shortened(_one_line(hint), MAX_DESCRIPTION) or None,
        user_invocable=not hidden,
        model_invocable=invocable and bool(given) and not silent,
    )


def _skill_problems(name: str, path: str, description: str) -> Iterator[str]:
    """Yield the faults of the skill at `path` by the specification of Agent Skills."""
    *_, folder, file = path.split("/")
    if file != SKILL_FILES[0]:
        yield f"the file is named {file}, and most agents read only {SKILL_FILES[0]}"
    normal = unicodedata.normalize("NFKC", name[: MAX_NAME + 1])
    if not name:
        yield "it has no name in its front matter"
    elif (
        len(normal) > MAX_SKILL_NAME
        or normal != normal.lower()
        or not all(part.isalnum() for part in normal.split("-"))
    ):
        yield f"the name is not 1 to {MAX_SKILL_NAME} lower-case letters, digits, single hyphens"
    elif normal != unicodedata.normalize("NFKC", folder):
        yield f"the name {quote(name)} is not that of its folder"
    if not description:
        yield "it has no description in its front matter, so no model is offered it"
    elif len(description) > MAX_SKILL_DESCRIPTION:
        yield f"the description is longer than {MAX_SKILL_DESCRIPTION} characters"


def _says(fields: Mapping[str, Value], key: str, word: str) -> bool:
    """Whether the field `key` is `word`, "true" or "false", as a truth value or in quotes."""
    return key in fields and str(fields[key]).lower() == word


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
    names += [text for one in commands for text in (one.namespace, one.shadowed_by or "")]
    names += [one.label for one in commands if one.shadowed_by]
    texts = [text for one in commands for text in (one.description, *one.problems)]
    texts += [one.argument_hint or "" for one in commands]
    return labels(show, names) + labels(prose, texts)
