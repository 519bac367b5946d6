"""agent-q/list_directory: the contents of one directory as formatted text (contract 000).

Beyond the contract: odd names follow the one rule of `render.names`. Symbolic links and special
files are `[FILE]` rows with their own size; the data have their `:kind` and `:target`. An entry
whose status the system refuses is listed as "(size unknown)". Directories come first in every
order, and are ordered among themselves by the same key. A listing that would pass its budget ends
with the number of entries that are left out, and the data hold the same rows as the text.
"""

from dataclasses import dataclass, field
from math import inf

from backstaff.fs.budget import Budget
from backstaff.fs.entry import MODIFIED_NS, SIZE, Facts, Kind, entries_in, facts
from backstaff.render.lines import all_files, omitted, plural
from backstaff.render.names import labels, quote, show
from backstaff.result import Rows
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.agent_q._listing_rows import (
    MAX_OUTPUT_BYTES,
    SHORTEST_ROW_BYTES,
    Listed,
    by_name,
)
from backstaff.tools.agent_q._paths import opened

READING_SHARE = 0.6
"""The part of the time for reading names, and then for statuses; the rest is for ordering."""
SORT_KEYS = ("name", "size", "modified")


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools."agent-q/list_directory"]`.

    `header` names the directory by its "absolute" path or "relative" to the root, as the
    contract's usage examples and its first example do. `max_output_bytes` bounds the text.
    """

    header: str = field(default="absolute", metadata={"choices": ("absolute", "relative")})
    max_output_bytes: int = field(default=1 << 20, metadata={"limits": (256, MAX_OUTPUT_BYTES)})


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

    path: str
    show_hidden: bool
    sort_by: str


@dataclass(frozen=True, slots=True)
class Found:
    """The names in the directory, in no order; `complete` is False if the time was up first."""

    directories: list[str]
    files: list[str]
    complete: bool


def run(arguments: Arguments, context: Context) -> Result:
    """List the directory; refusals have the words of the contract's table of error cases."""
    settings, limit = context.settings, context.text_limit(context.settings.max_output_bytes)
    sort_by = arguments.sort_by.lower()
    warnings: tuple[str, ...] = ()
    if sort_by not in SORT_KEYS:
        known = ", ".join(SORT_KEYS)
        warnings = (f"Unknown sort_by {quote(arguments.sort_by)}: sorted by name (known: {known})",)
    with opened(context.root, arguments.path, "Directory") as place:
        directory = place.listing()
        found = _find(directory, arguments, context.budget)
        total = len(found.directories) + len(found.files)
        most = limit // SHORTEST_ROW_BYTES
        listed = _ordered(found, sort_by, directory, most, context.budget)
        complete = found.complete and not context.budget.expired()

        path = f"{place.relative}/" if settings.header == "relative" else place.path_as_directory
        files = plural(len(found.files), "file")
        directories = plural(len(found.directories), "directory", "directories")
        head = f"Directory: {show(path)}\nTotal: {files}, {directories}\n\n"

        def end(shown: int) -> str:
            late = "" if complete else "... the time was up before all was read\n"
            if shown == total:
                return late
            # A glob without `**` finds the files of this directory alone.
            glob = "**" if shown < len(found.directories) else "*"
            call = all_files(place.relative, glob, limit)
            more = plural(total - shown, "more entry", "more entries")
            return f"... {omitted(more, limit)}{f'; all files: {call}' if call else ''}\n{late}"

        shown, text = listed.cut(head, end, limit)
        entries = Rows({}) if context.text_only else shown.rows(directory)
    targets = (target for target in entries.columns.get("target", ()) if isinstance(target, str))
    return Result(
        text=text,
        data={
            "path": place.path_as_directory,
            "files": len(found.files),
            "directories": len(found.directories),
            "total": total,
            "shown": len(shown),
            "entries": entries,
        },
        truncated=len(shown) < total or not complete,
        warnings=warnings,
        labels=lambda: labels(show, (*shown.directories, *shown.files, *targets)),
    )


def _find(directory: int, arguments: Arguments, budget: Budget) -> Found:
    reading = budget.share(READING_SHARE)
    entries = entries_in(directory, reading)
    if not arguments.show_hidden:
        entries = [entry for entry in entries if entry[0][0] != "."]
    a_directory = Kind.DIRECTORY
    directories = [name for name, kind in entries if kind is a_directory]
    files = [name for name, kind in entries if kind is not a_directory]
    return Found(directories, files, complete=not reading.expired())


def _ordered(found: Found, sort_by: str, directory: int, most: int, budget: Budget) -> Listed:
    """The first MOST entries in their order; only these are statted where names decide it."""
    if sort_by not in ("size", "modified"):
        directories = by_name(found.directories, budget, most)
        files = by_name(found.files, budget, most - len(directories))
        return Listed(directories, files, facts((*directories, *files), directory, budget))
    reading = budget.share(READING_SHARE)
    fact = SIZE if sort_by == "size" else MODIFIED_NS

    def ordered(names: list[str]) -> list[tuple[str, Facts | None]]:
        names = by_name(names, budget)
        entries = list(zip(names, facts(names, directory, reading), strict=True))
        # The largest or newest comes first, an entry without facts last.
        return budget.ordered(entries, lambda entry: -entry[1][fact] if entry[1] else inf)

    by_fact = (*ordered(found.directories), *ordered(found.files))
    names = [name for name, _ in by_fact]
    count = len(found.directories)
    return Listed(names[:count], names[count:], [status for _, status in by_fact]).first(most)


TOOL = Tool(
    name="list_directory",
    description="List files and subdirectories in a directory. Returns names, types, and sizes.",
    parameters=(
        Parameter(
            name="path",
            type=ParameterType.STRING,
            required=True,
            description="Directory path (relative to project root)",
        ),
        Parameter(
            name="show_hidden",
            type=ParameterType.BOOLEAN,
            description="Include hidden files (default false)",
            absent=False,
        ),
        Parameter(
            name="sort_by",
            type=ParameterType.STRING,
            description="Sort by: name, size, modified (default: name)",
            absent="name",
        ),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.LISTING,
    categories=("filesystem", "navigation"),
    settings=Settings,
)
