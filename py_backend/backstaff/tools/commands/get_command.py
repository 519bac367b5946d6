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
from itertools import product

from backstaff.budget import Budget
from backstaff.errors import (
    DeadlineExceeded,
    ErrorCode,
    NotADirectory,
    NotFound,
    PathError,
    ToolError,
)
from backstaff.fs.file import Content
from backstaff.names import suggestions
from backstaff.render.lines import fit, plural, size
from backstaff.render.names import prose, quote, show, visible
from backstaff.render.sizes import show_size
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.commands._catalog import read_catalog
from backstaff.tools.commands._command import HEAD_BYTES, Command, command_labels, command_of
from backstaff.tools.commands._directories import (
    MARKDOWN,
    TABLE,
    CommandDirectory,
    Settings,
    files_of,
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
    settings = context.settings
    with open_directories(context) as (directories, _):
        command, content = _find(arguments.command_name, directories, context.budget)
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
    keys = (*OUTPUT, "modified_epoch", "folder", "is_dependency")
    return Result(
        text=answer,
        data=whole | {"metadata": command.facts(*keys)},
        output=whole | {"metadata": command.facts(*OUTPUT, *["folder"] * settings.several)},
        truncated=cut or count < len(rows),
        warnings=tuple(warnings),
        labels=lambda: command_labels([command]),
    )


def _find(
    name: str, directories: Sequence[CommandDirectory], budget: Budget
) -> tuple[Command, Content]:
    """Find the command or skill `name`, and read it. Raises `ToolError`."""
    names, failures = _possible_names(name), list[PathError]()
    for possible, directory in product(names, directories):
        for file in files_of(possible):
            try:
                path, content = directory.read(file, MAX_CONTENT_BYTES)
            except PathError as error:
                # A file or a directory may have the name of a skill and be none.
                if not isinstance(error, NotFound | NotADirectory):
                    failures.append(error)
                continue
            head = content.first(HEAD_BYTES)
            return command_of(file, directory.label, path, head), content
    if failures:
        faults = (ErrorCode.PERMISSION_DENIED, ErrorCode.IO_ERROR, ErrorCode.APPROVAL_REQUIRED)
        code = failures[0].code if failures[0].code in faults else COMMAND_NOT_FOUND
        message = f"Command {quote(name)} cannot be read: {failures[0].message}"
        raise ToolError(code, message, **failures[0].details)
    nearest: list[str] = []
    with suppress(DeadlineExceeded):
        everything = read_catalog(directories, (), budget).everything
        known = sorted({one.name for one in everything})
        wanted, at_most = name.removesuffix(MARKDOWN), budget.at_most(suggestions.SECONDS)
        nearest = suggestions.similar(wanted, known, at_most, LEAST_SIMILARITY)
    hint = f"; did you mean {' or '.join(quote(one, None) for one in nearest)}?" if nearest else ""
    raise ToolError(COMMAND_NOT_FOUND, f"Command {quote(name)} not found{hint}", nearest=nearest)


def _possible_names(name: str) -> list[str]:
    """Return the names of commands that `name` may mean: for `a.md`, first `a.md`, then `a`.

    Raises INVALID_COMMAND_NAME for anything that could not be the name of a file.
    """
    if not name:
        problem = "is empty"
    elif _NOT_IN_NAMES.search(name):
        problem = "holds a separator, '..' or a control character"
    else:
        names = dict.fromkeys((name, name.removesuffix(MARKDOWN)))
        if short := [one for one in names if len(os.fsencode(one + MARKDOWN)) <= MAX_NAME_BYTES]:
            return short
        problem = "is longer than a file's name can be"
    raise ToolError(INVALID_COMMAND_NAME, f"Argument 'command_name' {problem}")


TOOL = Tool(
    description=(
        "Get one of the project's slash commands (a prompt, not a program) by its name: its whole"
        " content, path and size."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("commands", "discovery"),
    settings=Settings,
    table=TABLE,
)
