"""agent-q/list_directory: the contents of one directory as formatted text (contract 000).

Beyond the contract: odd names follow the one rule of `render.names`. Symbolic links and special
files are `[FILE]` rows with their own size; the data have their `:kind` and `:target`. An entry
whose status the system refuses has "(size unknown)". Directories come first in every order, and the
same key orders them. A listing that would pass its budget ends with the number of entries left out;
the data hold the same rows as the text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from math import inf

from backstaff.budget import Budget
from backstaff.errors import PathError
from backstaff.fs.entry import (
    MODIFIED_NS,
    SIZE,
    Facts,
    Kind,
    facts,
    groups_in,
    kinds_of,
    link_target,
)
from backstaff.fs.root import Place
from backstaff.render.lines import all_files, fit, omitted, plural, size
from backstaff.render.names import quote, show, show_all
from backstaff.render.refusals import AGENT_Q_DIRECTORY, refused
from backstaff.render.sizes import show_size
from backstaff.result import Keyword, Rows
from backstaff.tool import DEFAULT_TEXT_BYTES, Context, Result, ResultKind, Tool, argument

READING_SHARE = 0.6
"""The part of the time for reading names, and then for statuses; the rest is for ordering."""
FACTS = {"size": SIZE, "modified": MODIFIED_NS}
"""The values of `sort_by` besides "name", and the fact of each."""
MINIMUM_NAME_COLUMN = 19
"""Minimum number of columns of a file's name."""
MAX_OUTPUT_BYTES = 15 << 20
"""Maximum of the setting `max_output_bytes`: a frame holds 16 MiB."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools."agent-q/list_directory"]`; `max_output_bytes` bounds the text.

    `header` "absolute" is the path in the contract's usage examples, "relative" in its first.
    """

    header: str = field(default="absolute", metadata={"choices": ("absolute", "relative")})
    max_output_bytes: int = field(
        default=DEFAULT_TEXT_BYTES, metadata={"limits": (256, MAX_OUTPUT_BYTES)}
    )


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

    path: str = argument("Directory path (relative to project root)")
    show_hidden: bool = argument("Include hidden files (default false)", absent=False)
    sort_by: str = argument("Sort by: name, size, modified (default: name)", absent="name")


@dataclass(frozen=True, slots=True)
class Listed:
    """Entries in order, directories first, and their facts: None for an entry without a status."""

    directories: Sequence[str]
    files: Sequence[str]
    facts: Sequence[Facts | None]

    def __len__(self) -> int:
        """The number of entries."""
        return len(self.facts)

    def first(self, count: int) -> "Listed":
        """The first `count` entries."""
        directories = self.directories[:count]
        return Listed(directories, self.files[: count - len(directories)], self.facts[:count])

    def text(self) -> str:
        """The rows, each ending with a newline."""
        directories = [f"[DIR]  {label}/\n" for label in show_all(self.directories)]
        files = self._files()
        wide = max([MINIMUM_NAME_COLUMN, *(len(label) + 2 for label, _ in files)])
        rows = [f"[FILE] {label.ljust(wide)}({told})\n" for label, told in files]
        return "".join(directories + rows)

    def growth(self) -> Iterator[int]:
        """Yield the bytes that each row adds to those before it.

        The sizes of files stand in a column behind the longest name. So a name that is longer than
        all before it makes every earlier row longer.
        """
        for label in show_all(self.directories):
            yield len("[DIR]  /\n") + size(label)
        wide = MINIMUM_NAME_COLUMN
        for before, (label, told) in enumerate(self._files()):
            wider = max(wide, len(label) + 2)
            yield size(f"[FILE] {label.ljust(wider)}({told})\n") + before * (wider - wide)
            wide = wider

    def _files(self) -> list[tuple[str, str]]:
        """The name of each file and its size, as the text has them."""
        labels, facts = show_all(self.files), self.facts[len(self.directories) :]
        sizes = [show_size(one[SIZE]) if one else "size unknown" for one in facts]
        return list(zip(labels, sizes, strict=True))

    def rows(self, directory: int) -> Rows:
        """The same entries as data; `directory` is the open directory that holds them."""
        names = [*self.directories, *self.files]
        kinds, link = kinds_of(self.facts), Kind.SYMLINK
        types = [Keyword("directory")] * len(self.directories)
        return Rows(
            {
                "name": names,
                "type": types + [Keyword("file")] * len(self.files),
                "size": [facts and facts[SIZE] for facts in self.facts],
                "modified": [facts and facts[MODIFIED_NS] // 10**9 for facts in self.facts],
                "kind": kinds,
                "target": [
                    link_target(name, directory) if kind is link else None
                    for name, kind in zip(names, kinds, strict=True)
                ],
            }
        )


def run(arguments: Arguments, context: Context) -> Result:
    """List the directory; refusals have the words of the contract's table of error cases."""
    warnings: tuple[str, ...] = ()
    if arguments.sort_by.lower() not in ("name", *FACTS):
        known = ", ".join(("name", *FACTS))
        warnings = (f"Unknown sort_by {quote(arguments.sort_by)}: sorted by name (known: {known})",)
    try:
        with context.root.directory(arguments.path) as place:
            return replace(_listing(place, arguments, context), warnings=warnings)
    except PathError as error:
        raise refused(error, arguments.path, AGENT_Q_DIRECTORY) from error


def _listing(place: Place, arguments: Arguments, context: Context) -> Result:
    """Return the listing of the open directory `place`. Raises `PathError`."""
    limit, directory = context.text_limit(context.settings.max_output_bytes), place.listing()
    most = limit // len("[DIR]  x/\n")
    listed, directories, files, complete = _read(directory, arguments, most, context)
    wanted = directories + files

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
    text, count = fit(
        lambda count: head + listed.first(count).text() + end(count),
        len(listed),
        listed.growth(),
        limit,
    )
    shown = listed.first(count)
    entries = Rows({}) if context.text_only else shown.rows(directory)
    return Result(
        text=text,
        data={
            "path": place.path_as_directory,
            "files": files,
            "directories": directories,
            "total": wanted,
            "shown": len(shown),
            "entries": entries,
        },
        truncated=len(shown) < wanted or not complete,
    )


def _read(
    directory: int, arguments: Arguments, most: int, context: Context
) -> tuple[Listed, int, int, bool]:
    """Return `most` entries, the counts of directories and files, and whether all were read."""
    budget = context.budget
    reading = budget.share(READING_SHARE)
    others, inner, links, special = groups_in(directory, reading)
    others += links + special
    if not arguments.show_hidden:
        inner, others = ([name for name in names if name[0] != "."] for names in (inner, others))
    complete, directories, files = not reading.expired(), len(inner), len(others)

    if (fact := FACTS.get(arguments.sort_by.lower())) is not None:
        listed = _by_fact((inner, others), fact, directory, most, budget)
    else:  # the names alone decide which entries are shown, and no other is statted
        first = _by_name(inner, budget)[:most]
        then = _by_name(others, budget)[: most - len(first)]
        listed = Listed(first, then, list(facts((*first, *then), directory, budget)))
    return listed, directories, files, complete and not budget.expired()


def _by_name(names: list[str], budget: Budget) -> list[str]:
    """The `names` without regard to case, ties by code point; in any order if the time is up."""
    return budget.ordered(budget.ordered(names, str), str.casefold)


def _by_fact(
    groups: Sequence[list[str]], fact: int, directory: int, most: int, budget: Budget
) -> Listed:
    """List at most `most` of both `groups` of names, the largest or newest of each first."""
    reading = budget.share(READING_SHARE)

    def late(one: tuple[str, Facts | None]) -> float:
        return -one[1][fact] if one[1] else inf  # an entry without facts comes last

    found = []
    for names in groups:
        both = zip(names := _by_name(names, budget), facts(names, directory, reading), strict=True)
        # The facts of a million entries take 200 MB.
        few = len(names) <= 4 * most
        found.append(budget.ordered([*both], late) if few else nsmallest(most, both, late))
    inner, others = ([name for name, _ in group] for group in found)
    return Listed(inner, others, [facts for group in found for _, facts in group]).first(most)


TOOL = Tool(
    description="List files and subdirectories in a directory. Returns names, types, and sizes.",
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.LISTING,
    categories=("filesystem", "navigation"),
    settings=Settings,
)
