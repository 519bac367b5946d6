"""workspace/search_files: the files below a directory whose paths match a query.

Files are regular files and links. Ignored files are left out unless `include_ignored` is given
(`project.files`), and `.git` always is. A query is about the path below `path`; `./` and the
absolute path of `path` may stand before it. The paths of the answer start at the root, so a caller
can pass them on.

glob        the whole path, as in workspace/tree: `*.py` is at the top, `**/*.py` anywhere, `{a,b}`
            either; with regard to case. Matches are in order of directory, then name.
substring   each word of the query stands somewhere in the path.
fuzzy       the characters of each word stand in the path, in their order, with others between. The
            answer goes in steps, and names the step (`how`) of each file (`MatchKind`).

Beside a name that holds all words and begins with one of them, only paths that hold all words whole
are an answer: with gaps, other paths match by accident.
In a step, the better fit comes first (`names.ranking`), and of equals the file that people edited
more in the last 1,000 commits. Words end at blanks; at most `MAX_WORDS` different ones count.
Case matters only if the query has a capital letter (smart case). Otherwise letters are equal as
Unicode folds them: `ss` finds `ß`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from backstaff.budget import Budget
from backstaff.errors import Cancelled, DeadlineExceeded, PathError, ToolError
from backstaff.fs.root import Place
from backstaff.names import suggestions
from backstaff.names.query import Index, Matches, Query, SearchKind, parse_glob
from backstaff.names.ranking import MatchKind
from backstaff.names.suggestions import Searched
from backstaff.project.edits import Edits, edits
from backstaff.project.files import Closed, ProjectFiles, project_files
from backstaff.project.running_git import NoGit
from backstaff.render.lines import (
    MAX_NOTE,
    bracketed,
    fit,
    paths_in_a_note,
    plural,
    shortened,
    size,
)
from backstaff.render.names import labels, quote, show
from backstaff.result import Note, NoteKind
from backstaff.tool import Context, Keyword, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._refusals import refusal

DEFAULT_TEXT_BYTES = 1 << 20
MAX_RESULTS = 1000
MAX_OFFSET = 1_000_000
FEW = 3
"""Maximum number of matches of a glob with a note about deeper globs."""
WALK_SHARE = 0.75
"""The part of the time for collecting paths; the rest is for the query."""
IGNORED_SECONDS = 0.5
"""Maximum number of seconds for ignored files, where no other file matches."""
MIN_SECONDS = 0.5
"""Minimum number of seconds for the query."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A query, the directory to search, and the page of the matches."""

    query: str = argument("Parts of a path; as a glob, the whole path below 'path': '**/*.py'.")
    path: str = argument("Directory.", default=".")
    kind: str = argument(
        "fuzzy (default) guesses and ranks; the others are literal.",
        choices=tuple(SearchKind),
        default=SearchKind.FUZZY.value,
    )
    include_ignored: bool = argument("Also what git ignores.", default=False)
    max_results: int = argument("Paths to return.", default=50, minimum=1, maximum=MAX_RESULTS)
    offset: int = argument(
        "How many to skip: an answer names it.",
        default=0,
        minimum=0,
        maximum=MAX_OFFSET,
    )


_LATEST: list[tuple[str, Matches]] = []
"""The latest commit and answer. Its next page, or another query of the same files, starts here.

That saves a fifth of the time of a bare walk of 125,000 files.
"""


def run(arguments: Arguments, context: Context) -> Result:
    """Search the files of the directory, and return a page of the matches."""
    Query.parse(arguments.query, arguments.kind)  # a bad query is refused before a bad path
    try:
        with context.root.directory(arguments.path) as place:
            walking = context.budget.share(WALK_SHARE)
            found = project_files(place, walking, include_ignored=arguments.include_ignored)
            matches, page = _search(place, found, arguments, context.budget.at_least(MIN_SECONDS))
            total = len(matches) + matches.guesses()
            base, prefix = place.relative, place.prefix
            notes = list(_why(place, found, matches, arguments, context))
    except PathError as error:
        raise refusal(error, arguments.path, context) from error
    if 0 < total <= arguments.offset:
        text = f"offset {arguments.offset} is after the last of {total}"
        notes.insert(0, Note(NoteKind.PATTERN, text))
    if matches.guesses_cut:
        remedy = "there may be more, so ask again"
        notes.append(Note(NoteKind.TIME, "the time for guesses was up", remedy))
    notes += _not_searched(found, prefix)
    notes = [replace(note, text=shortened(note.text, MAX_NOTE)) for note in notes]
    # A person who types a name wants no other tool, so the data do not name one.
    hint = context.hint("{} searches what is in files", "workspace/regexp_search")
    is_wanted = found.paths and not matches and matches.query.globs is None
    hints = [hint] if hint and is_wanted else []
    limit = context.text_limit(DEFAULT_TEXT_BYTES)
    head, rows, before = _head(arguments, base, len(matches), total, len(found.paths)), [], None
    for how, path in page:
        is_new = matches.query.kind is SearchKind.FUZZY and how is not before
        rows.append(f"[{how.heading}]\n" * is_new + f"{show(prefix + path)}\n")
        before = how

    def offset(shown: int) -> int | None:
        """Where the next page begins; None if there is none."""
        after = arguments.offset + max(shown, 1)  # else the next page would be this one again
        return after if rows and after < total else None

    def page_text(shown: int) -> str:
        end, following = "", offset(shown)
        if rows and not shown:
            length = size(rows[0]) - 1
            end = f"[a path of {length} bytes is left out for a limit of {limit} bytes]\n"
        if following is not None:
            end += f"[{total - following} more: offset={following}]\n"
        return "".join((head, *rows[:shown], bracketed([*notes, *hints]), end))

    # The data hold no more paths than the text, so a reader of either goes on at `next_offset`.
    answer, shown = fit(page_text, len(rows), map(size, rows), limit)
    next_offset, paths = offset(shown), [prefix + path for _, path in page[:shown]]
    return Result(
        text=answer,
        data={
            "query": arguments.query,
            "kind": matches.query.kind,
            "path": base,
            "files": paths,
            "how": [Keyword(how) for how, _ in page[:shown]],
            "total": total,
            "searched": len(found.paths),
            "offset": arguments.offset,
            "next_offset": next_offset,
            "notes": [note.data() for note in notes],
        },
        truncated=next_offset is not None or shown < len(rows) or found.expired,
        labels=lambda: labels(show, paths),
    )


def _search(
    place: Place, found: ProjectFiles, asked: Arguments, budget: Budget
) -> tuple[Matches, list[tuple[MatchKind, str]]]:
    """Return all matches and the page that is asked for. Raises `DeadlineExceeded`."""
    query = Query.parse(from_there(asked.query, place.path), asked.kind)
    head = "" if isinstance(found.repository, NoGit) else found.repository.head
    kept = [latest for latest in _LATEST if latest[1].index.paths is found.paths]
    index = kept[0][1].index if kept else Index(found.paths)
    try:
        same = [matches for at, matches in kept if (at, matches.query) == (head, query)]
        matches = same[0] if same else query.match(index, budget)
        several = len(matches) != 1 and query.globs is None
        known = edits(place, found.repository, budget) if several else Edits()
        page = matches.best(asked.offset + asked.max_results, budget, known.heat)
    except DeadlineExceeded as error:
        among = f"the query was compared with {len(index.paths)} paths"
        problem = f"The time was up while {among}: give a simpler query, or a directory as path"
        raise DeadlineExceeded(problem) from error
    _LATEST[:] = [(head, matches)]
    return matches, page[asked.offset :]


def from_there(text: str, path: str) -> str:
    """Return `text` without the absolute `path` of the searched directory, or `./`, before it."""
    below = text.removeprefix(f"{path.rstrip('/')}/").removeprefix("./")
    return below if below.strip() else text


def _head(asked: Arguments, base: str, matching: int, total: int, searched: int) -> str:
    among = f"{searched} searched in {show(f'{base}/')}"
    guesses = plural(total - matching, "guess", "guesses") if total > matching else ""
    if not matching:
        exactly = f" exactly: {guesses}" if guesses else ""
        return f"No file matches {quote(asked.query)}{exactly} ({asked.kind}; {among})\n"
    more = f", and {guesses}" if guesses else ""
    order = "" if asked.kind == SearchKind.GLOB else ", the best first"
    found = f"{_matching(matching)} {quote(asked.query)}{more}"
    return f"{found} ({asked.kind}{order}; {among})\n"


def _matching(count: int, which: str = "") -> str:
    return plural(count, f"{which}file matches", f"{which}files match")


# ---------------------------------------------------------------------------- notes


def _why(
    place: Place, found: ProjectFiles, matches: Matches, asked: Arguments, context: Context
) -> Iterator[Note]:
    """Say why nothing matches, or which glob would match more."""
    index, query = matches.index, matches.query
    if not matches:
        hidden = found.ignored or found.closed(Closed.REPOSITORY)
        if hidden and not asked.include_ignored and not found.expired:
            yield from _ignored(place, query, context.budget.at_most(IGNORED_SECONDS))
        budget = context.budget.at_most(suggestions.SECONDS)
        searched = Searched(index.paths, budget, place.prefix)
        if reason := _reason(query, index, searched, guessed=matches.guesses() > 0):
            yield Note(NoteKind.PATTERN, reason)
    elif query.globs is not None and len(matches) <= FEW:
        budget = context.budget.at_most(suggestions.SECONDS)
        count = partial(_count, kind=SearchKind.GLOB, index=index, budget=budget)
        if deeper := suggestions.shallow_glob(query.text, count):
            yield Note(NoteKind.PATTERN, deeper)


def _not_searched(found: ProjectFiles, prefix: str) -> Iterator[Note]:
    """Say which files were not searched, and why. `prefix` stands before each path."""
    if found.expired:
        text, remedy = "the time was up before all was searched", "give a directory as path"
        yield Note(NoteKind.TIME, text, remedy)
    if found.not_applied:
        yield Note(NoteKind.RULE, f".gitignore is not applied, because {found.not_applied}")
    if unreadable := [prefix + path for path in found.closed(Closed.UNREADABLE)]:
        yield Note(NoteKind.UNREADABLE, f"cannot be read: {paths_in_a_note(unreadable, '/')}")
    if inner := [prefix + path for path in found.closed(Closed.REPOSITORY)]:
        text = "repositories of their own, to be searched by giving one as path"
        yield Note(NoteKind.REPOSITORY, f"{text}: {paths_in_a_note(inner, '/')}")


def _ignored(place: Place, query: Query, budget: Budget) -> Iterator[Note]:
    """Say how many ignored files match `query`, which no other file does.

    An environment or a cache in the project may hold more files than there is time for.
    """
    walked = project_files(place, budget.share(WALK_SHARE), include_ignored=True)
    count = _count(query.text, query.kind, Index(walked.paths), budget)
    text = "at least " * walked.expired + _matching(count, "ignored ")
    if count or walked.expired:
        text = text if count else "not all ignored files were searched"
        yield Note(NoteKind.IGNORED, text, "include_ignored shows them")


def _reason(query: Query, index: Index, searched: Searched, *, guessed: bool) -> str | None:
    """Say why nothing in `index` matches `query`, and which query would find something.

    If the answer holds guesses (`guessed`), it needs no similar names.
    """
    text, reason, budget = query.text, None, searched.budget
    if query.globs is not None:
        # Globs of other tools count from the workspace.
        rebased = text.removeprefix(searched.prefix)
        reason = suggestions.nearest_glob(text, parse_glob, searched, rebased)
    elif query.kind is SearchKind.SUBSTRING and (
        count := _count(text.lower(), query.kind, index, budget)
    ):
        reason = f"{_matching(count)} without regard to case: {quote(text.lower(), None)}"
    elif set("*?[{") & set(text):
        # A glob is about the whole path, so `*.py` may find nothing where `**/*.py` does.
        for glob in dict.fromkeys((text, f"**/{text}")):
            if count := _count(glob, SearchKind.GLOB, index, budget):
                reason = f"{_matching(count)} {quote(glob, None)} as a glob: kind=glob"
                break
    return reason if reason or guessed else suggestions.nearest_names(text, searched)


def _count(text: str, kind: str, index: Index, budget: Budget) -> int:
    """Count the files in `index` that `text` matches as a query of `kind`.

    The count is 0 if `text` cannot be one, such as an unbalanced glob, or if the time was up.
    """
    try:
        return len(Query.parse(text, kind).match(index, budget))
    except Cancelled:
        raise
    except ToolError:
        return 0


TOOL = Tool(
    description=(
        "Find files by a part of their name or path, not by content, best first: words, initials"
        " ('rfw' for read_from_wire.py), misspellings."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    preset=4,
    categories=("filesystem", "navigation", "search"),
)
