"""commands/get_command: one whole command.

Dependencies are served, too: a command that needs one names it. The name is taken literally, as
list_commands shows it. With `.md` at its end it is taken for the file's name, unless a command has
that name.

A file of more than a mebibyte is cut, and so is one whose text and data would not fit into one
reply; the answer says so. Data and output hold the content as written, except that bytes other than
UTF-8 become U+FFFD. In the text, invisible characters stand as escapes.

In the text, everything that the tool says stands above the first blank line, and everything below
it is the file's. So no content can pass for a note of the tool.
"""

import codecs
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded, ErrorCode, NotFound, PathError, ToolError
from backstaff.fs.file import Content
from backstaff.names import suggestions
from backstaff.render.lines import fit, plural, size
from backstaff.render.names import prose, quote, show, visible
from backstaff.render.sizes import show_size
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.commands._catalog import Catalog, read_catalog
from backstaff.tools.commands._command import HEAD_BYTES, Command, command_labels, command_of
from backstaff.tools.commands._conventions import MARKDOWN, Folder
from backstaff.tools.commands._directories import (
    TABLE,
    CommandDirectory,
    Settings,
    open_directories,
)

MAX_CONTENT_BYTES = 1 << 20
MAX_JSON_BYTES = 13 << 18
"""Maximum number of bytes of the content as a JSON string: text, data and output together take up
to four times as many, and a frame holds sixteen mebibytes."""
MAX_NAME_BYTES = 255
LEAST_SIMILARITY = 0.5
INVALID_COMMAND_NAME, COMMAND_NOT_FOUND = "INVALID_COMMAND_NAME", "COMMAND_NOT_FOUND"
"""The errors of this tool."""
OUTPUT = ("path", "size", "last_modified", "description")

# Of the surrogates, only those that stand for an undecodable byte can be in a file's name.
_NOT_IN_NAMES = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\ud800-\udc7f\udd00-\udfff]|\.\.")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The name of a command."""

    command_name: str = argument(
        "Name of the command, with or without '.md'", code=INVALID_COMMAND_NAME
    )


def run(arguments: Arguments, context: Context) -> Result:
    """Find the command, read its file, and return metadata and content."""
    name, settings = arguments.command_name, context.settings
    files = None if name and settings.more_keys else _possible_files(name)
    with open_directories(context) as (directories, _):
        command, content = _find(name, files, directories, context)
    # The bytes of a last character that is cut in two are dropped.
    text, _ = codecs.utf_8_decode(content.head, "replace", content.whole)
    text, cut = text.removeprefix("\ufeff"), not content.whole
    while len(json.dumps(text)) > MAX_JSON_BYTES:
        text, cut = text[: len(text) // 2], True
    warnings, cut_note = [command.warning()] if command.problems else [], ""
    if cut:
        cut_note = f"the file has {command.size} bytes, and this is only how it begins"
        warnings.append(f"{quote(command.label)} is cut: {cut_note}")
    warning = f"Warning: {prose('; '.join(command.problems))}\n" if command.problems else ""
    head = (
        f"Command: {show(command.name)}\n"
        f"File: {show(command.path)} ({show_size(command.size)}, {command.last_modified})\n"
        f"Description: {prose(command.description)}\n{warning}"
    )
    rows = [f"{line}\n" for line in visible(text.replace("\r\n", "\n")).splitlines()]
    limit = context.text_limit(2 << 20)

    def shown(count: int) -> str:
        lines = plural(len(rows), "line")
        if count < len(rows):
            lines = f"the first {count} of {lines}, for a limit of {limit} bytes"
        notes = "; ".join(filter(None, (lines, cut_note)))
        return "".join((head, f"Content: {notes}\n\n", *rows[:count]))

    answer, count = fit(shown, len(rows), map(size, rows), limit)
    whole = {"name": command.name, "content": text, "truncated": cut}
    keys = (*OUTPUT, "modified_epoch", "folder", "is_dependency", *settings.more_keys)
    return Result(
        text=answer,
        data=whole | {"metadata": command.facts(*keys)},
        output=whole | {"metadata": command.facts(*OUTPUT, *["folder"] * settings.several)},
        truncated=cut or count < len(rows),
        warnings=tuple(warnings),
        labels=lambda: command_labels([command]),
    )


def _find(
    name: str, files: list[str] | None, directories: Sequence[CommandDirectory], context: Context
) -> tuple[Command, Content]:
    """Find the command `name`, such as `deploy`, and read it.

    In the contract's folders that is one of `files` in the first of them. With `sources` it is one
    of all that list_commands finds, such as `git:commit`, and `files` is None. There a shadowed
    command is asked for by its path: as list_commands shows it, `.claude/skills/a/SKILL.md` or
    `~/.claude/skills/a/SKILL.md`, or absolute as in the data. The path is compared with those
    found, and never opened.
    """
    failures, known = list[PathError](), list[Command]()
    catalog = read_catalog(directories, (), context.budget) if files is None else None
    if catalog:
        everything, bare = catalog.everything, name.removesuffix(MARKDOWN)
        # A file that cannot be read stands last of its name.
        known = [one for one in everything if name in (one.path, one.label)]
        known += [one for one in everything if one.name == name and not one.shadowed_by]
        known += [one for one in everything if one.name == bare and not one.shadowed_by]
    by_label = {directory.folder.label: directory for directory in directories}
    tries = [(one.file, by_label[one.folder]) for one in known[:1]]
    tries += [(file, directory) for file in files or () for directory in directories]
    for file, directory in tries:
        try:
            content = directory.read(file, MAX_CONTENT_BYTES)
            head = content.first(HEAD_BYTES)
            return known[0] if known else command_of(file, directory, head), content
        except PathError as error:
            if catalog or not isinstance(error, NotFound):
                failures.append(error)
    if failures:
        faults = (ErrorCode.PERMISSION_DENIED, ErrorCode.IO_ERROR, ErrorCode.APPROVAL_REQUIRED)
        code = failures[0].code if failures[0].code in faults else COMMAND_NOT_FOUND
        message = f"Command {quote(name)} cannot be read: {failures[0].message}"
        raise ToolError(code, message, **failures[0].details)
    raise _not_found(name, catalog or read_catalog(directories, (), context.budget), context.budget)


def _not_found(name: str, catalog: Catalog, budget: Budget) -> ToolError:
    """Return the error for `name`, with the nearest of the names that exist."""
    nearest: list[str] = []
    with suppress(DeadlineExceeded):
        known = sorted({one.name for one in catalog.everything})
        wanted, at_most = name.removesuffix(MARKDOWN), budget.at_most(suggestions.SECONDS)
        nearest = suggestions.similar(wanted, known, at_most, LEAST_SIMILARITY)
    hint = f"; did you mean {' or '.join(quote(one, None) for one in nearest)}?" if nearest else ""
    message = "; ".join((f"Command {quote(name)} not found{hint}", *catalog.nested_note()))
    return ToolError(COMMAND_NOT_FOUND, message, nearest=nearest)


def _possible_files(name: str) -> list[str]:
    """Return the files that `name` may mean: for `a.md`, first `a.md.md`, then `a.md`.

    Raises INVALID_COMMAND_NAME for anything that could not be the name of a file.
    """
    if not name:
        problem = "is empty"
    elif _NOT_IN_NAMES.search(name):
        problem = "holds a separator, '..' or a control character"
    else:
        files = [name + MARKDOWN] + [name] * name.endswith(MARKDOWN)
        if short := [file for file in files if len(os.fsencode(file)) <= MAX_NAME_BYTES]:
            return list(filter(Folder("").wants, short))
        problem = "is longer than a file's name can be"
    raise ToolError(INVALID_COMMAND_NAME, f"Argument 'command_name' {problem}")


TOOL = Tool(
    description=(
        "Get one of the project's slash commands (a prompt, not a program) by its name: its whole"
        " content, path and size. list_commands tells the names."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    preset=11,
    categories=("commands", "discovery"),
    settings=Settings,
    table=TABLE,
)
