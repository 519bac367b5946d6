"""agent-q/list_directory: the contents of one directory as formatted text (contract 000).

Beyond the contract: odd names follow the one rule of `render.names`; symbolic links and special
files are `[FILE]` rows with their own size, their `:kind` and `:target` stand in the data; an entry
of which the system tells no status is listed as "(size unknown)". Directories come first in every
order, and are ordered among themselves by the same key. A listing that would pass its budget ends
with a line that tells how many entries are left out; the data then hold the same rows.
"""

from dataclasses import dataclass, field, replace

from backstaff.errors import PathError
from backstaff.fs.budget import Budget
from backstaff.fs.entry import MODIFIED_NS, SIZE, Facts, Kind, entries_in, facts
from backstaff.fs.root import Place
from backstaff.render.lines import all_files, size
from backstaff.render.names import labels, quote, show
from backstaff.result import Rows
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.agent_q._listing_rows import SHORTEST_ROW_BYTES, Listed, by_name
from backstaff.tools.agent_q._refusals import directory_refusal
from backstaff.tools.agent_q._text_page import MAX_OUTPUT_BYTES

READING_SHARE = 0.6
"""The part of the time in which names are read, and then statuses; they are ordered in the rest."""
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
    """As the contract's table of parameters."""

    path: str
    show_hidden: bool
    sort_by: str


@dataclass(frozen=True, slots=True)
class Found:
    """The names in the directory, in no order; `complete` is False if the time was up first."""

    directories: list[str]
    files: list[str]
    complete: bool

    @property
    def total(self) -> int:
        """How many names were found."""
        return len(self.directories) + len(self.files)


def run(arguments: Arguments, context: Context) -> Result:
    """List the directory; refusals are worded as the contract's table of error cases."""
    try:
        with context.root.directory(arguments.path) as place:
            return _listing(place, arguments, context)
    except PathError as error:
        raise directory_refusal(error, arguments.path) from error


def _listing(place: Place, arguments: Arguments, context: Context) -> Result:
    directory = place.listing()
    found = _find(directory, arguments, context)
    limit = context.text_limit(context.settings.max_output_bytes)
    most = limit // SHORTEST_ROW_BYTES
    listed = _ordered(found, arguments.sort_by.lower(), directory, most, context.budget)
    found = replace(found, complete=found.complete and not context.budget.expired())
    header = _header(place, found, context.settings.header)
    shown, text = _cut(listed, header, _Tail(found, place.relative, limit))
    entries = Rows({}) if context.text_only else shown.rows(directory)
    targets = (target for target in entries.columns.get("target", ()) if isinstance(target, str))
    return Result(
        text=text,
        data={
            "path": _absolute(place),
            "files": len(found.files),
            "directories": len(found.directories),
            "total": found.total,
            "shown": len(shown),
            "entries": entries,
        },
        truncated=len(shown) < found.total or not found.complete,
        warnings=_warnings(arguments),
        labels=lambda: labels(show, (*shown.directories, *shown.files, *targets)),
    )


def _find(directory: int, arguments: Arguments, context: Context) -> Found:
    budget = context.budget.share(READING_SHARE)
    entries = entries_in(directory, budget)
    if not arguments.show_hidden:
        entries = [entry for entry in entries if entry[0][0] != "."]
    a_directory = Kind.DIRECTORY
    directories = [name for name, kind in entries if kind is a_directory]
    files = [name for name, kind in entries if kind is not a_directory]
    return Found(directories, files, complete=not budget.expired())


def _ordered(found: Found, sort_by: str, directory: int, most: int, budget: Budget) -> Listed:
    """The first MOST entries in their order; only those are statted where the names decide it."""
    if sort_by in ("size", "modified"):
        return _by_status(found, sort_by, directory, budget).first(most)
    directories = by_name(found.directories, budget, most)
    files = by_name(found.files, budget, most - len(directories))
    return Listed(directories, files, facts((*directories, *files), directory, budget))


def _by_status(found: Found, sort_by: str, directory: int, budget: Budget) -> Listed:
    fact = SIZE if sort_by == "size" else MODIFIED_NS
    reading = budget.share(READING_SHARE)

    def ordered(names: list[str]) -> list[tuple[str, Facts | None]]:
        names = by_name(names, budget)
        both = list(zip(names, facts(names, directory, reading), strict=True))
        return budget.ordered(both, lambda one: _largest_first(one[1], fact))

    directories, files = ordered(found.directories), ordered(found.files)
    return Listed(
        [name for name, _ in directories],
        [name for name, _ in files],
        [told for _, told in (*directories, *files)],
    )


def _largest_first(told: Facts | None, fact: int) -> int:
    """A key by which what could not be told comes last."""
    return 1 if told is None else -told[fact]


def _cut(listed: Listed, header: str, tail: "_Tail") -> tuple[Listed, str]:
    """The entries that fit, and the text: HEADER, their rows, and the lines of TAIL."""
    room, total = tail.limit - size(header), tail.found.total
    if len(listed) == total:
        rows = listed.whole(room - size(tail.lines(listed)))
        if rows is not None:
            return listed, header + rows + tail.lines(listed)
    shown, rows = listed.cut(room - size(tail.lines(listed.first(0))))
    return shown, header + rows + tail.lines(shown)


@dataclass(frozen=True, slots=True)
class _Tail:
    """The last lines of the listing of what was FOUND in the directory PATH."""

    found: Found
    path: str
    limit: int

    def lines(self, shown: Listed) -> str:
        """What they say where only so much is SHOWN."""
        lines, count = "", self.found.total - len(shown)
        if count:
            below = len(shown.directories) < len(self.found.directories)
            noun = "entry" if count == 1 else "entries"
            call = all_files(self.path, "**" if below else "*", self.limit)
            remedy = f"; all files: {call}" if call else ""
            lines += f"... {count} more {noun} left out for a limit of {self.limit} bytes{remedy}\n"
        if not self.found.complete:
            lines += "... the time was up before all was read\n"
        return lines


def _header(place: Place, found: Found, form: str) -> str:
    path = _absolute(place) if form == "absolute" else _relative(place)
    files, directories = len(found.files), len(found.directories)
    counts = (
        f"{files} {'file' if files == 1 else 'files'}, "
        f"{directories} {'directory' if directories == 1 else 'directories'}"
    )
    return f"Directory: {show(path)}\nTotal: {counts}\n\n"


def _absolute(place: Place) -> str:
    return place.path_as_directory


def _relative(place: Place) -> str:
    return place.relative + "/"


def _warnings(arguments: Arguments) -> tuple[str, ...]:
    if arguments.sort_by.lower() in SORT_KEYS:
        return ()
    known = ", ".join(SORT_KEYS)
    return (f"Unknown sort_by {quote(arguments.sort_by)}: sorted by name (known: {known})",)


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
