"""commands/get_command: one whole command.

Dependencies are served, too: a command that needs one names it. The name is taken literally, as
list_commands shows it. With `.md` at its end it is taken for the file's name, unless a command has
that name. A file of more than `MAX_CONTENT_BYTES` is cut, and the answer says so. The data hold the
content as written, except that bytes other than UTF-8 become U+FFFD. In the text, invisible
characters stand as escapes.

In the text, everything that the tool says stands above the first blank line, and everything below
it is the file's. So no content can pass for a note of the tool.
"""

import codecs
from dataclasses import dataclass
from itertools import product

from backstaff.errors import DeadlineExceeded, Fault, PathError, ToolError
from backstaff.fs.file import Content
from backstaff.render.lines import fit, plural, show_size, size
from backstaff.render.names import prose, quote, show, visible
from backstaff.tool import Context, Result, argument
from backstaff.tools.commands._commands import MARKDOWN, Command, CommandTool, open_library

MAX_CONTENT_BYTES = 1 << 19  # up to six times as an escape, thrice: a frame holds 16 MiB
COMMAND_NOT_FOUND = "COMMAND_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The name of a command."""

    command_name: str = argument("Name of the command, with or without '.md'")


def run(arguments: Arguments, context: Context) -> Result:
    """Find the command, read its file, and return metadata and content."""
    command, content = _find(arguments.command_name, context)
    # The bytes of a last character that is cut in two are dropped.
    written, _ = codecs.utf_8_decode(content.head, "replace", content.whole)
    written = written.removeprefix("\ufeff")
    cut = f"the file has {command.size} bytes, and this is only how it begins"
    problems = [command.problem] * bool(command.problem) + [cut] * (not content.whole)
    head = (
        f"Command: {show(command.name)}\n"
        f"File: {show(command.path)} ({show_size(command.size)}, {command.last_modified})\n"
        f"Description: {prose(command.description)}\n"
        + "".join(f"Warning: {prose(problem)}\n" for problem in problems)
    )
    rows = [f"{line}\n" for line in visible(written.replace("\r\n", "\n")).splitlines()]
    limit = context.text_limit()

    def shown(count: int) -> str:
        lines = plural(len(rows), "line")
        if count < len(rows):
            lines = f"the first {count} of {lines}, for a limit of {limit} bytes"
        return "".join((head, f"Content: {lines}\n\n", *rows[:count]))

    text, count = fit(shown, len(rows), map(size, rows), limit)
    return Result(
        text=text,
        data={
            "name": command.name,
            "content": written,
            "truncated": not content.whole,
            "metadata": command.facts("path", "size", "last_modified", "description"),
        },
        truncated=not content.whole or count < len(rows),
        warnings=tuple(f"{quote(command.label)}: {one}" for one in problems),
    )


def _find(name: str, context: Context) -> tuple[Command, Content]:
    """Find and read `a.md`: the command in `a.md.md`, or else in `a.md`. Raises `ToolError`."""
    failure = None
    with open_library(context) as library:
        names = (name, name.removesuffix(MARKDOWN))
        for possible, directory in product(names, library.directories):
            if possible in directory.files:
                try:
                    return directory.command(possible, MAX_CONTENT_BYTES)
                except PathError as error:
                    if not directory.is_no_skill(possible, error):
                        failure = failure or error
    if failure:
        code = failure.code if failure.fault in (Fault.DENIED, Fault.OTHER) else COMMAND_NOT_FOUND
        message = f"Command {quote(name)} cannot be read: {failure.message}"
        raise ToolError(code, message, **failure.details)
    if context.budget.expired():
        raise DeadlineExceeded("When the time was up, not all directories had been listed")
    names_told = context.hint(": {} tells the names", "commands/list_commands")
    raise ToolError(COMMAND_NOT_FOUND, f"Command {quote(name)} not found{names_told}")


TOOL = CommandTool(
    description=(
        "Get one of the project's slash commands (a prompt, not a program) by its name: its whole"
        " content, path and size."
    ),
    arguments=Arguments,
    run=run,
)
