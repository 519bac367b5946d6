"""commands/list_commands: all commands, page by page (contract 003).

`is_dependency` counts only if it is true in YAML 1.2. Files that cannot be commands, or cannot be
read, are skipped with a warning. A file with broken front matter is listed even if it calls itself
a dependency. When the time is up, the answer counts only the commands found so far.
"""

import json
from dataclasses import dataclass

from backstaff.render.lines import bracketed, cut, left_out
from backstaff.tool import Context, Result, ResultKind, argument
from backstaff.tools.commands._commands import Command, CommandTool, open_library


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
    with open_library(context) as library:
        commands = sorted((one for one, _ in library.commands()), key=Command.order)
    start, pages = (number - 1) * size, -(-len(commands) // size)
    page = commands[start : start + size]
    notes = library.notes(page)

    def end(shown: int) -> str:
        missing, last = len(page) - shown, list[str]()
        if missing and shown:  # the next page is as short as the part shown, and starts behind it
            following = {"page": (start + shown) // shown + 1, "page_size": shown}
            cut_off = f"{missing} more left out for a limit of {limit} bytes"
            last = [f"{cut_off}; next page: {json.dumps(following)}"]
        elif not missing and number < pages:
            last = [f"next page: {json.dumps({'page': number + 1, 'page_size': size})}"]
        return bracketed(notes + last) + ("" if last else left_out(missing, limit))

    head = f"No commands on page {number} of {pages}\n" if commands else "There are no commands\n"
    if page:
        part = f"{start + 1}-{start + len(page)} of {len(commands)}"
        head = f"Commands {part} (page {number} of {pages})\n"
    text, shown = cut(head, [f"{command}\n" for command in page], end, limit)
    rows = [one.facts("name", "description", "size", "last_modified") for one in page]
    pagination = {"page": number, "page_size": size, "total": len(commands), "total_pages": pages}
    pagination |= {"has_next": number < pages, "has_prev": number > 1}
    return Result(
        text=text,
        data={"commands": rows, "pagination": pagination},
        truncated=shown < len(page) or library.late,
        warnings=tuple(library.warnings),
    )


TOOL = CommandTool(
    description=(
        "List all available commands in the system with pagination support. Returns command names"
        " with basic metadata, useful for browsing available commands when a specific search query"
        " is not known."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.COMMANDS,
)
