"""commands/list_commands: all commands, page by page (contract 003).

The text is for a model: what part of the commands this is, a line for each of them, and how to get
the next page. The data add to the contract's output when each command was modified as a number,
where its file is, and the folder it comes from as the settings call it; the output has the folder
only where several are configured.

What the contract leaves open: a description is one line of at most 200 characters; `is_dependency`
counts only if it is true in YAML 1.2; files that cannot be commands or cannot be read are skipped
with a warning, and one whose front matter is broken is listed with one, even if it calls itself a
dependency; a page after the last is empty. When the time is up, the commands found so far are all
that are counted, and it is said.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from backstaff.render.lines import bracketed, fitted, left_out
from backstaff.result import Rows
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.commands._catalog import Command, read_catalog
from backstaff.tools.commands._directories import TABLE, Settings, open_folders
from backstaff.tools.commands._format import (
    DEFAULT_TEXT_BYTES,
    command_labels,
    counted,
    folder_in_output,
    last_modified,
    line,
    modified_epoch,
)

MAX_PAGE_SIZE = 100


class Code(StrEnum):
    """The contract's errors for arguments."""

    INVALID_PAGE = "INVALID_PAGE"
    INVALID_PAGE_SIZE = "INVALID_PAGE_SIZE"


@dataclass(frozen=True, slots=True)
class Arguments:
    """As the contract's input schema."""

    page: int
    page_size: int


@dataclass(frozen=True, slots=True)
class Page:
    """The commands on one page of TOTAL ones."""

    commands: Sequence[Command]
    number: int
    size: int
    total: int

    @property
    def count(self) -> int:
        """How many pages there are."""
        return -(-self.total // self.size)

    @property
    def has_next(self) -> bool:
        """Whether there are more pages."""
        return self.number < self.count

    def pagination(self) -> dict[str, object]:
        """The contract's pagination object."""
        return {
            "page": self.number,
            "page_size": self.size,
            "total": self.total,
            "total_pages": self.count,
            "has_next": self.has_next,
            "has_prev": self.number > 1,
        }

    def head(self) -> str:
        """The first line of the text."""
        if self.commands:
            first = (self.number - 1) * self.size + 1
            last = first + len(self.commands) - 1
            return f"Commands {first}-{last} of {self.total} (page {self.number} of {self.count})\n"
        if not self.total:
            return "There are no commands\n"
        pages = "is 1 page" if self.count == 1 else f"are {self.count} pages"
        return f"No commands on page {self.number}: there {pages} for all {self.total}\n"


def run(arguments: Arguments, context: Context) -> Result:
    """Scan, drop dependencies, sort, cut out the page (core logic)."""
    with open_folders(context) as folders:
        catalog = read_catalog(folders, context.budget)
        page = _page(catalog.primary, arguments)
        warnings = tuple(catalog.warnings(page.commands))
        notes = bracketed((*_notes(complete=catalog.complete), *counted(warnings)))
        lines = [line(command, several=folders.several) for command in page.commands]
        limit = context.text_limit(DEFAULT_TEXT_BYTES)
        text, shown = fitted(page.head(), lines, notes, limit, partial(_next, page, limit))
        return Result(
            text=text,
            data={"commands": _rows(page.commands), "pagination": page.pagination()},
            output=_output(page, several=folders.several),
            truncated=shown < len(lines) or not catalog.complete,
            warnings=warnings,
            labels=lambda: command_labels(page.commands),
        )


def _page(commands: Sequence[Command], arguments: Arguments) -> Page:
    start = (arguments.page - 1) * arguments.page_size
    shown = commands[start : start + arguments.page_size]
    return Page(shown, arguments.page, arguments.page_size, len(commands))


def _notes(*, complete: bool) -> Iterator[str]:
    """What is missing."""
    if not complete:
        yield "the time was up before all commands were read: some are missing"


def _next(page: Page, limit: int, shown: int) -> str:
    """How to go on after so many commands of PAGE that are SHOWN in LIMIT bytes.

    Where that is not all, pages as short as this one begin with the next, or some before it.
    """
    missing, number, size = len(page.commands) - shown, page.number + 1, page.size
    if not (missing and shown):
        if missing or not page.has_next:
            return left_out(missing, limit)
        words = "next page"
    else:
        number, size = ((page.number - 1) * size + shown) // shown + 1, shown
        words = f"{missing} more left out for a limit of {limit} bytes; next page"
    return f"[{words}: {json.dumps({'page': number, 'page_size': size})}]\n"


def _output(page: Page, *, several: bool) -> dict[str, object]:
    """The contract's output object."""
    commands = [
        {
            "name": command.name,
            "description": command.about.description,
            "size": command.stamp.size,
            "last_modified": last_modified(command.stamp),
            **folder_in_output(command, several=several),
        }
        for command in page.commands
    ]
    return {"commands": commands, "pagination": page.pagination()}


def _rows(commands: Sequence[Command]) -> Rows:
    return Rows(
        {
            "name": [command.name for command in commands],
            "description": [command.about.description for command in commands],
            "size": [command.stamp.size for command in commands],
            "last_modified": [last_modified(command.stamp) for command in commands],
            "modified_epoch": [modified_epoch(command.stamp) for command in commands],
            "path": [command.path for command in commands],
            "folder": [command.folder for command in commands],
        }
    )


TOOL = Tool(
    name="list_commands",
    description=(
        "List all available commands in the system with pagination support. Returns command names"
        " with basic metadata, useful for browsing available commands when a specific search query"
        " is not known."
    ),
    parameters=(
        Parameter(
            name="page",
            type=ParameterType.NUMBER,
            whole=True,
            description="Page number (1-indexed)",
            default=1,
            minimum=1,
            code=Code.INVALID_PAGE,
        ),
        Parameter(
            name="page_size",
            type=ParameterType.NUMBER,
            whole=True,
            description="Number of items per page",
            default=50,
            minimum=1,
            maximum=MAX_PAGE_SIZE,
            code=Code.INVALID_PAGE_SIZE,
        ),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.COMMANDS,
    categories=("commands", "discovery"),
    settings=Settings,
    table=TABLE,
)
