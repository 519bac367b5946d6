"""commands/list_commands: all commands, page by page (contract 003).

The text is for a model: a line that says which part of the commands follows, a line for each
command, and how to get the next page. The data add to the contract's output the time of
modification as a number, and the path of the file.

docs/contracts.md says how cases are decided that the contract leaves open. Besides, `is_dependency`
counts only if it is true in YAML 1.2. Files that cannot be commands, or cannot be read, are skipped
with a warning. A file with broken front matter is listed even if it calls itself a dependency. A
page after the last is empty. When the time is up, the answer counts only the commands found so far.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from backstaff.render.lines import bracketed, cut, left_out
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.commands._commands import (
    TABLE,
    Settings,
    open_directories,
    read_catalog,
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
    with open_directories(context) as (directories, problems):
        catalog = read_catalog(directories, problems, context.budget)
    commands, start = catalog.commands, (number - 1) * size
    page, pages = commands[start : start + size], -(-len(commands) // size)
    pagination = {
        "page": number,
        "page_size": size,
        "total": len(commands),
        "total_pages": pages,
        "has_next": number < pages,
        "has_prev": number > 1,
    }
    warnings = catalog.warnings(page)
    last = bracketed(catalog.notes(warnings))
    text, shown = cut(
        _head(pagination, len(page)),
        [f"{command}\n" for command in page],
        lambda shown: last + _next_page(pagination, shown, len(page) - shown, limit),
        limit,
    )
    more = ("modified_epoch", "path")
    return Result(
        text=text,
        data={
            "commands": [command.facts(*OUTPUT, *more) for command in page],
            "pagination": pagination,
        },
        output={
            "commands": [command.facts(*OUTPUT) for command in page],
            "pagination": pagination,
        },
        truncated=shown < len(page) or not catalog.complete,
        warnings=warnings,
    )


def _head(pagination: Mapping[str, int], count: int) -> str:
    """Return the first line of a page of `count` commands: `Commands 1-50 of 70 (page 1 of 2)`."""
    number, total, pages = (pagination[key] for key in ("page", "total", "total_pages"))
    first = (number - 1) * pagination["page_size"] + 1
    if count:
        return f"Commands {first}-{first + count - 1} of {total} (page {number} of {pages})\n"
    return f"No commands on page {number} of {pages}\n" if total else "There are no commands\n"


def _next_page(pagination: Mapping[str, int], shown: int, missing: int, limit: int) -> str:
    """Say how to get the commands after those `shown`: `[next page: {"page": 2, "page_size": 50}]`.

    If `limit` left out the `missing` last commands of this page, the next page is as short as the
    part shown. It starts with the first command left out, or with some of those shown.
    """
    number, size, words = pagination["page"] + 1, pagination["page_size"], "next page"
    if missing and shown:
        number, size = ((number - 2) * size + shown) // shown + 1, shown
        words = f"{missing} more left out for a limit of {limit} bytes; next page"
    elif missing or not pagination["has_next"]:
        return left_out(missing, limit)
    return f"[{words}: {json.dumps({'page': number, 'page_size': size})}]\n"


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
