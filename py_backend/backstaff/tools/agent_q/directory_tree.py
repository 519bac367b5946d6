"""agent-q/directory_tree: everything below a directory as an indented tree.

Rows are those of list_directory, two blanks deeper with each level: `[DIR]  name/` and `[FILE] name
(size)`, hidden ones too; directories first, then by name without regard to case. The listed
directory is the first row. Links and special files are `[FILE]` rows and never followed; a
directory that cannot be read says so on its row. A tree that would pass its budget ends with a line
that tells how many entries are left out; the data hold the same rows, by their paths. The patterns
are echoed as far as they have room, and a line below them names those that exclude nothing.
"""

from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from backstaff.errors import PathError
from backstaff.fs.entry import Kind, kind_of, link_target, lstat_or_none
from backstaff.fs.root import Place
from backstaff.fs.walk import Step, Walk
from backstaff.render.lines import all_files, some_of
from backstaff.render.names import MAX_ECHO, show
from backstaff.render.sizes import show_size
from backstaff.result import Keyword, Rows
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.agent_q._exclusions import EXCLUDE_PATTERNS, Exclusions, arranged
from backstaff.tools.agent_q._refusals import directory_refusal
from backstaff.tools.agent_q._text_page import Page, Settings, left_out

REMEDY = "give a directory as path, or exclude_patterns"
LATE = "... not read to its end, as the time was up\n"


@dataclass(frozen=True, slots=True)
class Arguments:
    """A directory, relative to the root, and base names to leave out."""

    path: str
    exclude_patterns: tuple[str, ...]


class Row(NamedTuple):
    """An entry, as the data have it; sizes are in bytes, None where the system told none."""

    path: str
    type: Keyword
    size: int | None
    kind: Kind
    target: str | None


@dataclass(slots=True)
class Tree:
    """The tree as it grows."""

    page: Page[Row]
    directories: int = 0
    unreadable: int = 0
    expired: bool = False


def run(arguments: Arguments, context: Context) -> Result:
    """Show the tree; refusals are worded as list_directory's."""
    try:
        with context.root.directory(arguments.path) as place:
            return _answer(place, arguments, context)
    except PathError as error:
        raise directory_refusal(error, arguments.path) from error


def _answer(place: Place, arguments: Arguments, context: Context) -> Result:
    exclusions = Exclusions.of(arguments.exclude_patterns)
    limit = context.text_limit(context.settings.max_output_bytes)
    tree = Tree(Page(limit))
    _grow(tree, place, exclusions, context)

    call = all_files(place.relative, "**", limit)
    remedy = f"{REMEDY}; all files: {call}" if call else REMEDY

    def tail(missing: int) -> str:
        noun = "entry" if missing == 1 else "entries"
        return left_out(missing, noun, limit, remedy) + (LATE if tree.expired else "")

    text = tree.page.finish(_head(place, arguments, exclusions), tail)
    return Result(
        text=text,
        data={
            "path": _absolute(place),
            "files": tree.page.total - tree.directories,
            "directories": tree.directories,
            "total": tree.page.total,
            "shown": len(tree.page.rows),
            "unreadable": tree.unreadable,
            "notes": [note] if (note := exclusions.note()) else [],
            "entries": _rows(tree.page.rows),
        },
        truncated=bool(tree.page.left_out) or tree.expired,
    )


def _grow(tree: Tree, place: Place, exclusions: Exclusions, context: Context) -> None:
    with Walk(place.listing(), arranged(exclusions, context.budget), context.budget) as walk:
        for step in walk:
            readable = True
            if step.kind is Kind.DIRECTORY:
                tree.directories += 1
                readable = walk.enter(step) is None
                tree.unreadable += not readable
            if tree.page.full:
                tree.page.skip()
            else:
                _show(tree.page, step, readable=readable)
    tree.expired = walk.expired


def _show(page: Page[Row], step: Step, *, readable: bool) -> None:
    """Add the row of STEP; only here is anything statted."""
    indent = "  " * step.depth
    if step.kind is Kind.DIRECTORY:
        row = Row(step.path, Keyword("directory"), None, Kind.DIRECTORY, None)
        label = f"[DIR]  {show(step.name)}/" + ("" if readable else " (cannot be read)")
    else:
        row = _file(step)
        size = "size unknown" if row.size is None else show_size(row.size)
        label = f"[FILE] {show(step.name)} ({size})"
    page.add(f"{indent}{label}\n", row)


def _file(step: Step) -> Row:
    status = lstat_or_none(step.name, step.directory)
    if status is None:
        return Row(step.path, Keyword("file"), None, Kind.UNKNOWN, None)
    kind = kind_of(status)
    target = link_target(step.name, step.directory) if kind is Kind.SYMLINK else None
    return Row(step.path, Keyword("file"), status.st_size, kind, target)


def _head(place: Place, arguments: Arguments, exclusions: Exclusions) -> str:
    name = PurePath(place.path).name
    return (
        f"Directory tree: {show(_absolute(place))}\n\n"
        f"{_excluding(arguments, exclusions)}"
        f"[DIR]  {show(name) if name else ''}/\n"
    )


def _excluding(arguments: Arguments, exclusions: Exclusions) -> str:
    """The patterns as they were given, and which of them do nothing."""
    patterns, note = arguments.exclude_patterns, exclusions.note()
    shown = (show(pattern[:MAX_ECHO] + "…" * (len(pattern) > MAX_ECHO)) for pattern in patterns)
    echoed = some_of(shown, len(patterns), between=", ", most=len(patterns))
    if not echoed:
        return ""
    return f"Excluding: {echoed}\n" + (f"... {note}\n" if note else "") + "\n"


def _absolute(place: Place) -> str:
    return place.path_as_directory


def _rows(rows: list[Row]) -> Rows:
    columns = zip(*rows, strict=True) if rows else ((),) * len(Row._fields)
    return Rows(dict(zip(Row._fields, columns, strict=True)))


TOOL = Tool(
    name="directory_tree",
    description=(
        "Get everything below a directory as an indented tree with sizes, to learn how a project"
        " is laid out. Names can be excluded, such as .git or *.fasl."
    ),
    parameters=(
        Parameter(
            name="path",
            type=ParameterType.STRING,
            description="Directory path (relative to project root, default: '.')",
            absent=".",
        ),
        EXCLUDE_PATTERNS,
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "navigation"),
    settings=Settings,
)
