"""workspace/search_files: where is X: the files below a directory whose paths match a query.

Files are regular files and links. Ignored files are left out unless `include_ignored` is given
(`fs.project_files`), and `.git` always. A query is about the path from `path` on. The answer's
paths start at the root, so that they can be passed on.

glob        the whole path, as in workspace/tree: `*.py` is at the top, `**/*.py` anywhere, `{a,b}`
            either; with regard to case. Matches stand by directory, then by name.
substring   each word of the query stands somewhere in the path.
fuzzy       the characters of each word stand in the path, in their order, with others between.

`./` and the absolute path of `path` may go before all. Words, `MAX_WORDS` at most and each once,
end at blanks, and case counts only if the query has a capital letter (smart case); else letters are
alike as Unicode folds them, so that `ss` finds `ß`. The best come first. A word is found, from best
to worst: as the whole name, with or without its extension; as the start of the name; at the start
of a word in it; elsewhere in it; across names of the path; and for fuzzy with gaps, in the name and
then in the path, the fewer runs the better. With several words, the sum counts. Ties go to the
shorter path, then to the first by directory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from backstaff.errors import DeadlineExceeded, PathError, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.git import NoGit
from backstaff.fs.ignore import MAX_LINES
from backstaff.fs.project_files import Closed, ProjectFiles, project_files
from backstaff.fs.root import Place
from backstaff.render.lines import MAX_NOTE, bracketed, shortened, size
from backstaff.render.names import labels, quote, show, word
from backstaff.search import suggestions
from backstaff.search.query import Index, Matches, Query, SearchKind, parse_glob
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.workspace._refusals import refusal

DEFAULT_TEXT_BYTES = 1 << 20
MAX_RESULTS = 1000
MAX_OFFSET = 1_000_000
MAX_NAMED = 5
"""Directories in a note."""
WALK_SHARE = 0.75
"""The part of the time in which paths are collected; the query is compared in the rest."""
LEAST_SECONDS = 0.5
"""What the query may take in any case."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is asked for."""

    query: str
    path: str
    kind: str
    include_ignored: bool
    max_results: int
    offset: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The matches on a page: their paths from the root; `total` of `searched` files match.

    `notes` are what a reader has to know of what is not there. `skipped` counts the paths after
    them that are longer than there is room for.
    """

    arguments: Arguments
    base: str
    paths: Sequence[str]
    total: int
    searched: int
    notes: Sequence[str]
    skipped: int = 0

    @property
    def next_offset(self) -> int | None:
        """Where the next page starts, if there is one."""
        here = len(self.paths) + self.skipped
        after = self.arguments.offset + here
        return after if here and after < self.total else None

    def head(self) -> str:
        """The first line of the text."""
        query, among = quote(self.arguments.query), f"{self.searched} searched in {self._where}"
        if not self.total:
            return f"No file matches {query} ({self.arguments.kind}; {among})\n"
        order = "" if self.arguments.kind == SearchKind.GLOB else ", the best first"
        return f"{_matching(self.total)} {query} ({self.arguments.kind}{order}; {among})\n"

    @property
    def _where(self) -> str:
        return show(f"{self.base}/")

    def data(self) -> dict[str, object]:
        """The page."""
        return {
            "query": self.arguments.query,
            "kind": SearchKind(self.arguments.kind),
            "path": self.base,
            "files": list(self.paths),
            "total": self.total,
            "searched": self.searched,
            "offset": self.arguments.offset,
            "next_offset": self.next_offset,
            "notes": list(self.notes),
        }


def _matching(count: int, which: str = "") -> str:
    return f"{count} {which}{'file matches' if count == 1 else 'files match'}"


def run(arguments: Arguments, context: Context) -> Result:
    """Survey the directory, search what is there, and tell a page of it."""
    Query.parse(arguments.query, arguments.kind)  # a bad query is refused before a bad path
    try:
        with context.root.directory(arguments.path) as place:
            query = Query.parse(from_there(arguments.query, place.path), arguments.kind)
            return _searched(query, arguments, context, place)
    except PathError as error:
        raise refusal(error, arguments.path) from error


def from_there(text: str, path: str) -> str:
    """TEXT without the absolute PATH of the directory that is searched, or `./`, before it."""
    below = text.removeprefix(f"{path.rstrip('/')}/").removeprefix("./")
    return below if below.strip() else text


def _searched(query: Query, arguments: Arguments, context: Context, place: Place) -> Result:
    walking = context.budget.share(WALK_SHARE)
    found = project_files(place, walking, include_ignored=arguments.include_ignored)
    index = _index(found)
    budget = context.budget.at_least(LEAST_SECONDS)
    try:
        matches = _matches(query, index, budget)
        page = matches.best(arguments.offset + arguments.max_results, budget)
    except DeadlineExceeded as error:
        raise DeadlineExceeded(_too_slow(len(index.paths))) from error
    _LATEST[:] = [matches]
    prefix = place.prefix
    paths = [prefix + path for path in page[arguments.offset :]]
    why = () if len(matches) else _why(query, arguments, context, place, found, index)
    beyond = _beyond(arguments.offset, len(matches))
    told = (*why, *beyond, *_notes(found, prefix))
    notes = [shortened(note, MAX_NOTE) for note in told]
    answer = Answer(arguments, place.relative, paths, len(matches), len(index.paths), notes)
    return _told(answer, context.text_limit(DEFAULT_TEXT_BYTES), expired=found.expired)


_LATEST: list[Matches] = []
"""The latest answer: its next page, or another query of the same files, starts here.

That saves a fifth of the time of a bare walk of 125,000 files.
"""


def _index(found: ProjectFiles) -> Index:
    """The paths that were FOUND, to search in."""
    for latest in _LATEST:
        if latest.index.paths is found.paths:
            return latest.index
    return Index(found.paths)


def _matches(query: Query, index: Index, budget: Budget) -> Matches:
    """Search INDEX, or return the latest answer to the same QUERY. Raises `DeadlineExceeded`."""
    for latest in _LATEST:
        if latest.index is index and latest.query == query:
            return latest
    return query.match(index, budget)


def _too_slow(paths: int) -> str:
    among = f"the query was compared with {paths} paths"
    return f"The time was up while {among}: give a simpler query, or a directory as path"


def _told(answer: Answer, limit: int, *, expired: bool = False) -> Result:
    """The result; its page holds no more than its text, so that the next one misses nothing."""
    notes = bracketed(answer.notes)
    rows = [f"{show(path)}\n" for path in answer.paths]
    room = limit - sum(map(size, (answer.head(), notes, _more(MAX_OFFSET, MAX_OFFSET))))
    fitting = sum(1 for cost in accumulate(map(size, rows)) if cost <= room)
    shown = replace(answer, paths=answer.paths[:fitting])
    if rows and not fitting:  # else the next page would be this one again
        shown = replace(shown, skipped=1)
        notes += f"[a path of {size(rows[0]) - 1} bytes is left out for a limit of {limit} bytes]\n"
    if shown.next_offset is not None:
        notes += _more(answer.total - shown.next_offset, shown.next_offset)
    return Result(
        text="".join((answer.head(), *rows[:fitting], notes)),
        data=shown.data(),
        truncated=shown.next_offset is not None or fitting < len(rows) or expired,
        labels=lambda: labels(show, shown.paths),
    )


def _more(count: int, offset: int) -> str:
    return f"[{count} more: offset={offset}]\n"


def _beyond(offset: int, total: int) -> Iterator[str]:
    """Why a page of some matches is empty."""
    if 0 < total <= offset:
        yield f"offset {offset} is after the last of {total}"


def _notes(found: ProjectFiles, prefix: str) -> Iterator[str]:
    """Say which directories were not searched, and why. PREFIX leads to the start."""
    if found.expired:
        yield "the time was up before all was searched: give a directory as path"
    if found.tracked_unknown:
        yield "git could not say which ignored files are tracked: they are left out"
    elif found.repository in (NoGit.REFUSED, NoGit.BROKEN, NoGit.SLOW, NoGit.TOO_MUCH):
        yield f"{found.repository}: tracked files that a rule ignores are left out"
    if found.rules_cut:
        yield f"only the first {MAX_LINES} lines of each .gitignore count"
    if unreadable := [prefix + path for path in found.closed(Closed.UNREADABLE)]:
        yield f"cannot be read: {_some(unreadable)}"
    if inner := [prefix + path for path in found.closed(Closed.REPOSITORY)]:
        yield f"repositories of their own, to be searched by giving one as path: {_some(inner)}"


def _some(paths: Sequence[str]) -> str:
    """The first of PATHS, and how many there are besides."""
    first = " ".join(f"{word(path)}/" for path in paths[:MAX_NAMED])
    return first + (f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else "")


def _why(  # noqa: PLR0913, PLR0917 - the whole situation explains
    query: Query,
    asked: Arguments,
    context: Context,
    place: Place,
    found: ProjectFiles,
    index: Index,
) -> Iterator[str]:
    """Why nothing matches, and what would."""
    hidden = found.ignored or found.closed(Closed.REPOSITORY)
    if hidden and not asked.include_ignored and not found.expired:
        walking = context.budget.share(WALK_SHARE)
        everything = _index(project_files(place, walking, include_ignored=True))
        if count := _count(query, everything, context.budget):
            yield f"{_matching(count, 'ignored ')}: include_ignored shows them"
    prefix = place.prefix
    directories = [directory.path for directory in found.directories if directory.path]
    where, budget = show(f"{place.relative}/"), context.budget.at_most(suggestions.SECONDS)
    searched = suggestions.Searched(index.paths, directories, where, budget, prefix)
    if query.globs is not None:
        reason = suggestions.explain_glob(query.text, parse_glob, searched)
    else:
        reason = _without_case(query, index, budget) or _as_glob(query, index, budget)
    if reason is None:
        reason = suggestions.nearest_names(asked.query, searched)
    if reason:
        yield reason


def _without_case(query: Query, index: Index, budget: Budget) -> str | None:
    """What words would match but for their capital letters."""
    if query.ignore_case or not (anyhow := _query(query.text.lower(), query.kind)):
        return None
    count = _count(anyhow, index, budget)
    return (
        f"{_matching(count)} without regard to case: {quote(anyhow.text, None)}" if count else None
    )


def _as_glob(query: Query, index: Index, budget: Budget) -> str | None:
    """What words would match that look like a glob, if they were meant as one."""
    if not set("*?[{") & set(query.text) or not (meant := _query(query.text, SearchKind.GLOB)):
        return None
    count = _count(meant, index, budget)
    return f"{_matching(count)} {quote(meant.text, None)} as a glob: kind=glob" if count else None


def _query(text: str, kind: str) -> Query | None:
    """TEXT as a query of KIND, if it can be one: small letters can be more than the capital."""
    try:
        return Query.parse(text, kind)
    except ToolError:
        return None


def _count(query: Query, index: Index, budget: Budget) -> int:
    """How many files of INDEX match; none where the time is up before that is known."""
    try:
        return len(query.match(index, budget))
    except DeadlineExceeded:
        return 0


TOOL = Tool(
    name="search_files",
    description=(
        "Find files by name: paths that match a query, the best first, without what git ignores."
        " Use it to learn where something is; workspace/tree shows what is around it."
    ),
    parameters=(
        Parameter(
            name="query",
            type=ParameterType.STRING,
            required=True,
            description=(
                "What to look for in paths. Case counts only where there is a capital letter;"
                " words may stand in any order. For a glob: the whole path from 'path' on,"
                " such as '**/*.py'."
            ),
        ),
        Parameter(
            name="path",
            type=ParameterType.STRING,
            default=".",
            description="Directory to search in.",
        ),
        Parameter(
            name="kind",
            type=ParameterType.STRING,
            choices=tuple(SearchKind),
            default=SearchKind.FUZZY.value,
            description="How the query is meant: fuzzy allows for gaps in a word.",
        ),
        Parameter(
            name="include_ignored",
            type=ParameterType.BOOLEAN,
            default=False,
            description="Search what git ignores, too, and repositories within.",
        ),
        Parameter(
            name="max_results",
            type=ParameterType.NUMBER,
            whole=True,
            default=50,
            minimum=1,
            maximum=MAX_RESULTS,
            description="How many paths to return.",
        ),
        Parameter(
            name="offset",
            type=ParameterType.NUMBER,
            whole=True,
            default=0,
            minimum=0,
            maximum=MAX_OFFSET,
            description="How many of the first to skip: the next page's offset is in the answer.",
        ),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "navigation", "search"),
)
