"""agent-q/list_directory: the contents of one directory as formatted text (contract 000).

Beyond the contract: odd names follow the one rule of `render.names`. Symbolic links and special
files are `[FILE]` rows with their own size; the data have their `:kind` and `:target`. An entry
whose status the system refuses has "(size unknown)". Directories come first in every order. A
listing that would pass its budget ends with the number of entries left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import chain
from math import inf

from backstaff.budget import Budget
from backstaff.errors import PathError
from backstaff.fs import entry
from backstaff.fs.root import Place
from backstaff.render.lines import all_files, fit, omitted, plural, show_size, size
from backstaff.render.names import quote, show, show_all
from backstaff.render.refusals import AGENT_Q_DIRECTORY, refused
from backstaff.result import Keyword, Rows
from backstaff.tool import DEFAULT_TEXT_BYTES, Context, Result, ResultKind, Tool, argument

READING_SHARE = 0.6  # of the time for names, and then for statuses; the rest is for ordering
FACTS = {"size": entry.SIZE, "modified": entry.MODIFIED_NS}  # by `sort_by`, except for "name"
MINIMUM_NAME_COLUMN = 19

Entry = tuple[str, entry.Facts | None]  # a name, and its facts if the system tells them


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools."agent-q/list_directory"]`; `max_output_bytes` bounds the text: a frame holds 16 MiB.

    `header` "absolute" is the path in the contract's usage examples, "relative" in its first.
    """

    header: str = field(default="absolute", metadata={"choices": ("absolute", "relative")})
    max_output_bytes: int = field(default=DEFAULT_TEXT_BYTES, metadata={"limits": (256, 15 << 20)})


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

    path: str = argument("Directory path (relative to project root)")
    show_hidden: bool = argument("Include hidden files (default false)", absent=False)
    sort_by: str = argument("Sort by: name, size, modified (default: name)", absent="name")


def run(arguments: Arguments, context: Context) -> Result:
    """List the directory; refusals have the words of the contract's table of error cases."""
    try:
        with context.root.directory(arguments.path) as place:
            return _listing(place, arguments, context)
    except PathError as error:
        raise refused(error, arguments.path, AGENT_Q_DIRECTORY) from error


def _listing(place: Place, arguments: Arguments, context: Context) -> Result:
    """Return the listing of the open directory `place`. Raises `PathError`."""
    limit, directory = context.text_limit(context.settings.max_output_bytes), place.listing()
    budget, sort_by, warnings = context.budget, arguments.sort_by.lower(), tuple[str, ...]()
    if sort_by not in ("name", *FACTS):
        known = ", ".join(("name", *FACTS))
        warnings = (f"Unknown sort_by {quote(arguments.sort_by)}: sorted by name (known: {known})",)
    reading = budget.share(READING_SHARE)
    regular, folders, *more = entry.groups_in(directory, reading)
    groups = [folders, [*regular, *chain(*more)]]
    if not arguments.show_hidden:
        groups = [[name for name in names if name[0] != "."] for names in groups]
    complete, (directories, files) = not reading.expired(), map(len, groups)
    wanted = directories + files
    most = limit // len("[DIR]  x/\n")
    entries, inner = _sorted(groups, FACTS.get(sort_by), directory, most, budget)
    complete = complete and not budget.expired()

    def end(shown: int) -> str:
        late = "" if complete else "... the time was up before all was read\n"
        if shown == wanted:
            return late
        call = all_files(place.relative, limit, context.named)
        more = omitted(plural(wanted - shown, "more entry", "more entries"), limit)
        return f"... {more}{f'; all files: {call}' if call else ''}\n{late}"

    relative = context.settings.header == "relative"
    path = show(f"{place.relative}/" if relative else place.path_as_directory)
    counts = f"{plural(files, 'file')}, {plural(directories, 'directory', 'directories')}"
    head = f"Directory: {path}\nTotal: {counts}\n\n"
    labels = show_all([name for name, _ in entries])
    told = [show_size(one[entry.SIZE]) if one else "size unknown" for _, one in entries[inner:]]

    def listing(count: int) -> str:
        shown = labels[inner:count]
        wide = max([MINIMUM_NAME_COLUMN, *(len(label) + 2 for label in shown)])
        rows = [f"[DIR]  {label}/\n" for label in labels[: min(inner, count)]]
        rows += [f"[FILE] {one.ljust(wide)}({of})\n" for one, of in zip(shown, told, strict=False)]
        return "".join((head, *rows, end(count)))

    def growth() -> Iterator[int]:
        yield from (len("[DIR]  /\n") + size(label) for label in labels[:inner])
        wide = MINIMUM_NAME_COLUMN
        for before, (label, of) in enumerate(zip(labels[inner:], told, strict=True)):
            # A name that is longer than all before it makes every earlier row longer.
            wider = max(wide, len(label) + 2)
            yield size(f"[FILE] {label.ljust(wider)}({of})\n") + before * (wider - wide)
            wide = wider

    text, shown = fit(listing, len(entries), growth(), limit)
    rows = Rows({}) if context.text_only else _rows(entries[:shown], inner, directory)
    return Result(
        text=text,
        data={
            "path": place.path_as_directory,
            "files": files,
            "directories": directories,
            "total": wanted,
            "shown": shown,
            "entries": rows,
        },
        truncated=shown < wanted or not complete,
        warnings=warnings,
    )


def _rows(entries: Sequence[Entry], inner: int, directory: int) -> Rows:
    """The data of `entries` of the open `directory`; the first `inner` are directories."""
    kinds = entry.kinds_of([facts for _, facts in entries])
    links = [kind is entry.Kind.SYMLINK for kind in kinds]
    both = zip(entries, links, strict=True)
    columns: dict[str, Sequence[object]] = {
        "name": [name for name, _ in entries],
        "type": [Keyword("directory" if n < inner else "file") for n in range(len(entries))],
        "size": [facts and facts[entry.SIZE] for _, facts in entries],
        "modified": [facts and facts[entry.MODIFIED_NS] // 10**9 for _, facts in entries],
        "kind": kinds,
        "target": [entry.link_target(one[0], directory) if link else None for one, link in both],
    }
    return Rows(columns)


def _sorted(
    groups: Sequence[list[str]], fact: int | None, directory: int, most: int, budget: Budget
) -> tuple[list[Entry], int]:
    """Return at most `most` entries of both `groups`, and how many are of the first.

    Of each group the largest or newest comes first; by name is without regard to case, ties by code
    point. They are in any order if the time is up.
    """
    entries, inner = list[Entry](), 0
    reading = budget.share(READING_SHARE) if fact else budget

    def late(one: Entry) -> float:
        return -one[1][fact or 0] if one[1] else inf  # an entry without facts comes last

    for group in groups:
        inner, room = len(entries), most - len(entries)
        names = budget.ordered(budget.ordered(group, str), str.casefold)
        if not fact:  # the names alone decide which entries are shown: no other is statted
            names = names[:room]
        both = zip(names, entry.facts(names, directory, reading), strict=True)
        if not fact:
            entries += both
        elif len(names) <= 4 * most:
            entries += budget.ordered([*both], late)[:room]
        else:  # the facts of a million entries take 200 MB
            entries += nsmallest(room, both, late)
    return entries, inner


TOOL = Tool(
    description="List files and subdirectories in a directory. Returns names, types, and sizes.",
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.LISTING,
    categories=("filesystem", "navigation"),
    settings=Settings,
)
