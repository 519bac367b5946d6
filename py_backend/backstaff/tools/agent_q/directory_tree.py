"""agent-q/directory_tree: everything below a directory as an indented tree.

Rows are those of list_directory, two blanks deeper with each level: `[DIR]  name/` and `[FILE] name
(size)`. Hidden entries are shown, too. Directories come first, then names without regard to case.
The listed directory is the first row. Links and special files are `[FILE]` rows and never followed.
The row of a directory that cannot be read says so. A tree that would pass its budget ends with the
number of entries that are left out; the data hold the same rows as the text, by their paths. The
head repeats the patterns as far as they have room, and names those that exclude nothing.
"""

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

from backstaff.fs.entry import Kind, kind_of, link_target, lstat_or_none
from backstaff.fs.root import Place
from backstaff.fs.walk import Step, Walk
from backstaff.render.lines import all_files, cut, omitted, plural, size, some_of
from backstaff.render.names import MAX_ECHO, show
from backstaff.render.sizes import show_size
from backstaff.result import Keyword, Rows
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.agent_q._paths import opened
from backstaff.tools.agent_q._recursive import EXCLUDE_PATTERNS, Exclusions, Settings, arranged

REMEDY = "give a directory as path, or exclude_patterns"
LATE = "... not read to its end, as the time was up\n"


@dataclass(frozen=True, slots=True)
class Arguments:
    """A directory, relative to the root, and base names to leave out."""

    path: str
    exclude_patterns: tuple[str, ...]


class Row(NamedTuple):
    """An entry in the data; its size is in bytes, or None if the system refused its status."""

    path: str
    type: Keyword
    size: int | None
    kind: Kind
    target: str | None


@dataclass(slots=True)
class Tree:
    """The rows of the tree and their lines, as many as have room, and the counts of all entries."""

    rows: list[Row] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    total: int = 0
    directories: int = 0
    unreadable: int = 0
    expired: bool = False


def run(arguments: Arguments, context: Context) -> Result:
    """Show the tree; refusals have the words of list_directory."""
    exclusions = Exclusions.of(arguments.exclude_patterns)
    limit = context.text_limit(context.settings.max_output_bytes)
    with opened(context.root, arguments.path, "Directory") as place:
        tree = _grown(place, exclusions, limit, context)
    call = all_files(place.relative, "**", limit)
    remedy = f"{REMEDY}; all files: {call}" if call else REMEDY

    def end(shown: int) -> str:
        late, count = LATE if tree.expired else "", tree.total - shown
        more = omitted(plural(count, "more entry", "more entries"), limit, remedy)
        return f"... {more}\n{late}" if count else late

    text, shown = cut(_head(place, arguments, exclusions), tree.lines, end, limit)
    columns = zip(*tree.rows[:shown], strict=True) if shown else ((),) * len(Row._fields)
    return Result(
        text=text,
        data={
            "path": place.path_as_directory,
            "files": tree.total - tree.directories,
            "directories": tree.directories,
            "total": tree.total,
            "shown": shown,
            "unreadable": tree.unreadable,
            "notes": [note] if (note := exclusions.note()) else [],
            "entries": Rows(dict(zip(Row._fields, columns, strict=True))),
        },
        truncated=shown < tree.total or tree.expired,
    )


def _grown(place: Place, exclusions: Exclusions, limit: int, context: Context) -> Tree:
    """Walk the tree, and keep rows until their lines take more than LIMIT bytes."""
    tree, room = Tree(), limit
    arrange = arranged(exclusions, context.budget)
    with Walk(place.listing(), arrange, context.budget) as walk:
        for step in walk:
            tree.total += 1
            readable = True
            if step.kind is Kind.DIRECTORY:
                tree.directories += 1
                readable = walk.enter(step) is None
                tree.unreadable += not readable
            if room >= 0:  # nothing is statted that has no room
                row, line = _row(step, readable=readable)
                tree.rows.append(row)
                tree.lines.append(line)
                room -= size(line)
        tree.expired = walk.expired
    return tree


def _row(step: Step, *, readable: bool) -> tuple[Row, str]:
    """The row of STEP in the data, and its line in the text."""
    indent, name = "  " * step.depth, show(step.name)
    if step.kind is Kind.DIRECTORY:
        row = Row(step.path, Keyword("directory"), None, Kind.DIRECTORY, None)
        return row, f"{indent}[DIR]  {name}/{'' if readable else ' (cannot be read)'}\n"
    status = lstat_or_none(step.name, step.directory)
    kind = kind_of(status) if status else Kind.UNKNOWN
    target = link_target(step.name, step.directory) if kind is Kind.SYMLINK else None
    row = Row(step.path, Keyword("file"), status and status.st_size, kind, target)
    shown_size = show_size(status.st_size) if status else "size unknown"
    return row, f"{indent}[FILE] {name} ({shown_size})\n"


def _head(place: Place, arguments: Arguments, exclusions: Exclusions) -> str:
    """The lines before the entries: the path, the patterns, and the row of the directory itself."""
    patterns, note = arguments.exclude_patterns, exclusions.note()
    shown = (show(pattern[:MAX_ECHO] + "…" * (len(pattern) > MAX_ECHO)) for pattern in patterns)
    repeated = some_of(shown, len(patterns), between=", ", most=len(patterns))
    excluding = f"Excluding: {repeated}\n" + (f"... {note}\n" if note else "") + "\n"
    name = PurePath(place.path).name
    return (
        f"Directory tree: {show(place.path_as_directory)}\n\n"
        f"{excluding if repeated else ''}"
        f"[DIR]  {show(name) if name else ''}/\n"
    )


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
