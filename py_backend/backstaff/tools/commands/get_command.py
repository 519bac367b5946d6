"""commands/get_command: one command, whole.

Dependencies are served: a command that needs one names it. The name is the one that list_commands
tells, literally; with `.md` at its end it is taken for the file's, unless a command is called so.
A file of more than a mebibyte is cut, and so is one of which a reply could not hold the text and
the data; the answer says so. The data and the output hold the content as it is written, but for
what is not UTF-8; in the text, whatever is invisible stands as an escape.

In the text everything that the tool says stands above the first blank line, also how much of the
content follows; all below it is the file's. So no content can pass for a note of the tool.
"""

import codecs
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from backstaff.errors import (
    DeadlineExceeded,
    NotFound,
    PathError,
    PermissionRefused,
    ToolError,
    Unreachable,
)
from backstaff.fs.budget import Budget
from backstaff.fs.file import Content
from backstaff.render.names import prose, quote, show, visible
from backstaff.render.sizes import show_size
from backstaff.search import suggestions
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.commands._catalog import HEAD_BYTES, Command, command_of, label
from backstaff.tools.commands._directories import (
    SUFFIX,
    TABLE,
    Folders,
    Settings,
    is_command_file,
    open_folders,
)
from backstaff.tools.commands._format import (
    command_labels,
    folder_in_output,
    last_modified,
    modified_epoch,
)

MAX_CONTENT_BYTES = 1 << 20
DEFAULT_TEXT_BYTES = 2 << 20
MAX_WRITTEN = 13 << 18
"""What the content may cost as a JSON string: text, data and output together take four times that,
and a frame holds sixteen mebibytes."""
MAX_NAME_BYTES = 255
LEAST_ALIKE = 0.5

# Of the surrogates only those that stand for a byte of a name can be in one.
_NO_NAME = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\ud800-\udc7f\udd00-\udfff]|\.\.|\A\Z")


class Code(StrEnum):
    """The errors of this tool."""

    INVALID_COMMAND_NAME = "INVALID_COMMAND_NAME"
    COMMAND_NOT_FOUND = "COMMAND_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is asked for."""

    command_name: str


def run(arguments: Arguments, context: Context) -> Result:
    """Find the command by its name, in the folders in their order, and hand it over."""
    name = arguments.command_name
    _check(name)
    with open_folders(context) as folders:
        command, content = _found(name, folders, context.budget)
        return _result(command, content, context, several=folders.several)


def _check(name: str) -> None:
    """Raise unless NAME could be one: it is a name, and never a path."""
    if _NO_NAME.search(name):
        words = "holds a separator, '..' or a control character" if name else "is empty"
        raise ToolError(Code.INVALID_COMMAND_NAME, f"Argument 'command_name' {words}")
    if not list(_files(name)):
        words = "is longer than a file's name can be"
        raise ToolError(Code.INVALID_COMMAND_NAME, f"Argument 'command_name' {words}")


def _files(name: str) -> Iterator[str]:
    """The names of the files that NAME may mean, what list_commands calls so first."""
    for file in (name + SUFFIX, name):
        if file.endswith(SUFFIX) and len(os.fsencode(file)) <= MAX_NAME_BYTES:
            yield file


def _found(name: str, folders: Folders, budget: Budget) -> tuple[Command, Content]:
    """The command NAME and the beginning of its file."""
    failures: list[PathError] = []
    for file in filter(is_command_file, _files(name)):
        for folder in folders:
            try:
                content = folder.read(file, MAX_CONTENT_BYTES)
            except NotFound:
                continue
            except PathError as error:
                failures.append(error)
                continue
            return command_of(file, folder, content.first(HEAD_BYTES))[0], content
    raise _unreadable(name, failures[0]) if failures else _missing(name, folders, budget)


def _unreadable(name: str, error: PathError) -> ToolError:
    """The error for a NAME that something has, but no file that can be read."""
    faults = (PermissionRefused, Unreachable)
    code = error.code if isinstance(error, faults) else Code.COMMAND_NOT_FOUND
    return ToolError(code, f"Command {quote(name)} cannot be read: {error.message}")


def _missing(name: str, folders: Folders, budget: Budget) -> ToolError:
    """The error for a NAME that nothing has, with the nearest names."""
    names = sorted({file.removesuffix(SUFFIX) for file in _all_files(folders, budget)})
    nearest: list[str] = []
    with suppress(DeadlineExceeded):
        hurried = budget.at_most(suggestions.SECONDS)
        nearest = suggestions.similar(name.removesuffix(SUFFIX), names, hurried, LEAST_ALIKE)
    meant = " or ".join(quote(one, None) for one in nearest)
    hint = f"; did you mean {meant}?" if nearest else ""
    message = f"Command {quote(name)} not found{hint}"
    return ToolError(Code.COMMAND_NOT_FOUND, message, nearest=nearest)


def _all_files(folders: Folders, budget: Budget) -> Iterator[str]:
    for folder in folders:
        with suppress(PathError):
            yield from folder.files(budget)


def _result(command: Command, content: Content, context: Context, *, several: bool) -> Result:
    text, cut = _written(content)
    metadata = {
        "path": command.path,
        "size": command.stamp.size,
        "last_modified": last_modified(command.stamp),
        "description": command.about.description,
    }
    more = {
        "modified_epoch": modified_epoch(command.stamp),
        "folder": command.folder,
        "is_dependency": command.about.is_dependency,
    }
    told = metadata | folder_in_output(command, several=several)
    whole = {"name": command.name, "content": text, "truncated": cut}
    shown, whole_text = _text(command, text, cut=cut, limit=context.text_limit(DEFAULT_TEXT_BYTES))
    return Result(
        text=shown,
        data=whole | {"metadata": metadata | more},
        output=whole | {"metadata": told},
        truncated=cut or not whole_text,
        warnings=tuple(_warnings(command, cut=cut)),
        labels=lambda: command_labels([command]),
    )


def _written(content: Content) -> tuple[str, bool]:
    """The content as text, and whether it was cut."""
    text, _ = codecs.utf_8_decode(content.head, "replace", content.whole)
    text, cut = text.removeprefix("\ufeff"), not content.whole
    while len(json.dumps(text)) > MAX_WRITTEN:
        text, cut = text[: len(text) // 2], True
    return text, cut


def _text(command: Command, content: str, *, cut: bool, limit: int) -> tuple[str, bool]:
    """What the file is, a line each, a blank line, and the content; and if that is all of it."""
    warning = f"Warning: {prose(command.about.warning)}\n" if command.about.warning else ""
    head = (
        f"Command: {show(command.name)}\n"
        f"File: {show(command.path)} ({show_size(command.stamp.size)},"
        f" {last_modified(command.stamp)})\n"
        f"Description: {prose(command.about.description)}\n{warning}Content: "
    )
    lines = [f"{line}\n" for line in visible(content.replace("\r\n", "\n")).splitlines()]
    counted = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
    end = f"; {_cut_note(command)}\n\n" if cut else "\n\n"
    whole = "".join((head, counted, end, *lines))
    if _bytes(whole) <= limit:
        return whole, True
    part = f"the first {{}} of {counted}, for a limit of {limit} bytes"
    room = limit - _bytes(head + part.format(len(lines)) + end)
    kept = sum(1 for cost in accumulate(map(_bytes, lines)) if cost <= room)
    return "".join((head, part.format(kept), end, *lines[:kept])), False


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def _cut_note(command: Command) -> str:
    return f"the file has {command.stamp.size} bytes, and this is only how it begins"


def _warnings(command: Command, *, cut: bool) -> Iterator[str]:
    if command.about.warning:
        yield command.warning()
    if cut:
        yield f"{label(command.folder, command.file)} is cut: {_cut_note(command)}"


TOOL = Tool(
    name="get_command",
    description=(
        "Get one command by its name: its whole content, and its path, size, modification time and"
        " description. list_commands and search_commands tell the names."
    ),
    parameters=(
        Parameter(
            name="command_name",
            type=ParameterType.STRING,
            required=True,
            description="Name of the command, with or without '.md'",
            code=Code.INVALID_COMMAND_NAME,
        ),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("commands", "discovery"),
    settings=Settings,
    table=TABLE,
)
