"""commands/list_commands: all commands, page by page (contract 003).

The text is for a model: a line that says which part of the commands follows, a line for each
command, and how to get the next page.

`is_dependency` counts only if it is true in YAML 1.2. Files that cannot be commands, or cannot be
read, are skipped with a warning. A file with broken front matter is listed even if it calls itself
a dependency. When the time is up, the answer counts only the commands found so far.
"""

import json
from dataclasses import dataclass

from backstaff.render.lines import bracketed, cut, left_out
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.commands._commands import (
    TABLE,
    Command,
    Settings,
    notes,
    open_directories,
    read_commands,
)

OUTPUT = ("name", "description", "size", "last_modified")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's input."""

    page: int = argument("Page number (1-indexed)", default=1, minimum=1, code="INVALID_PAGE")
    page_size: int = argument(
        "Number of items per page", default=50, minimum=1, maximum=100, code="INVALID_PAGE_SIZE"
    )


def run(arguments: Arguments, context: Context) -> Result:
    """Read all commands, drop the dependencies, and show one page (contract: core logic)."""
    number, size, limit = arguments.page, arguments.page_size, context.text_limit()
    with open_directories(context) as (directories, warnings):
        found = [command for command, _ in read_commands(directories, warnings, context.budget)]
    complete, commands = not context.budget.expired(), sorted(found, key=Command.order)
    start, pages = (number - 1) * size, -(-len(commands) // size)
    page = commands[start : start + size]
    pagination = {
        "page": number,
        "page_size": size,
        "total": len(commands),
        "total_pages": pages,
        "has_next": number < pages,
        "has_prev": number > 1,
    }
    told = bracketed(notes(warnings, page, complete=complete))

    def end(shown: int) -> str:
        missing, following, cut_off = len(page) - shown, {"page": number + 1, "page_size": size}, ""
        if missing and shown:  # the next page is as short as the part shown, and starts behind it
            following = {"page": (start + shown) // shown + 1, "page_size": shown}
            cut_off = f"{missing} more left out for a limit of {limit} bytes; "
        elif missing or number >= pages:
            return told + left_out(missing, limit)
        return f"{told}[{cut_off}next page: {json.dumps(following)}]\n"

    head = f"No commands on page {number} of {pages}\n" if commands else "There are no commands\n"
    if page:
        shown_part = f"{start + 1}-{start + len(page)} of {len(commands)}"
        head = f"Commands {shown_part} (page {number} of {pages})\n"
    text, shown = cut(head, [f"{command}\n" for command in page], end, limit)
    rows = [command.facts(*OUTPUT) for command in page]
    return Result(
        text=text,
        data={"commands": rows, "pagination": pagination},
        truncated=shown < len(page) or not complete,
        warnings=tuple(warnings),
    )


TOOL = Tool(
    description=(
        "List all available commands in the system with pagination support. Returns command names"
        " with basic metadata, useful for browsing available commands when a specific search query"
        " is not known."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.COMMANDS,
    categories=("commands", "discovery"),
    settings=Settings,
    table=TABLE,
)
