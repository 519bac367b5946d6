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
Case does not matter, except in a glob: letters are equal as Unicode folds them, so `ss` finds `ß`.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from backstaff.errors import DeadlineExceeded, PathError
from backstaff.fs.root import Place
from backstaff.names import suggestions
from backstaff.names.query import Best, Matches, Query, SearchKind
from backstaff.project.edits import Edits, edits
from backstaff.project.files import Closed, ProjectFiles, project_files
from backstaff.render.lines import (
    MAX_NOTE,
    bracketed,
    fit,
    plural,
    shortened,
    size,
    some_of,
)
from backstaff.render.names import quote, show, word
from backstaff.result import Note, NoteKind
from backstaff.tool import Context, Keyword, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._not_searched import not_walked
from backstaff.tools.workspace._refusals import refusal

MAX_RESULTS = 1000
MAX_OFFSET = 1_000_000
FEW = 3
"""Maximum number of matches of a glob with a note about deeper globs."""
IGNORED_SECONDS = 0.5
"""Maximum number of seconds for ignored files, where no other file matches."""
WALK_SHARE = 0.75
"""The part of the time for collecting paths; the rest is for the query."""
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


def run(arguments: Arguments, context: Context) -> Result:
    """Search the files of the directory, and return a page of the matches."""
    asked = arguments
    Query.parse(asked.query, asked.kind)  # a bad query is refused before a bad path
    try:
        with context.root.directory(asked.path) as place:
            walking = context.budget.share(WALK_SHARE)
            project = project_files(place, walking, include_ignored=asked.include_ignored)
            search = Search(asked, context, place, project)
            matches, best = search.best()
            query, base, prefix = matches.query, place.relative, place.prefix
            notes = list(search.reasons(matches, best))
    except PathError as error:
        raise refusal(error, asked.path, context) from error
    total, page = len(matches) + best.guesses, best.files[asked.offset :]
    if 0 < total <= asked.offset:
        text = f"offset {asked.offset} is after the last of {total}"
        notes.insert(0, Note(NoteKind.PATTERN, text))
    if best.is_cut:
        remedy = "there may be more, so ask again"
        notes.append(Note(NoteKind.TIME, "the time for guesses was up", remedy))
    notes += not_walked(project, prefix)
    notes = [replace(note, text=shortened(note.text, MAX_NOTE)) for note in notes]
    # A person who types a name wants no other tool, so the data do not name one.
    hint = context.hint("{} searches what is in files", "workspace/regexp_search")
    is_wanted = project.paths and not matches and query.globs is None
    hints = [hint] if hint and is_wanted else []
    limit = context.text_limit()
    head, rows, before = _head(asked, base, len(matches), total, len(project.paths)), [], None
    for how, path in page:
        is_new = query.kind is SearchKind.FUZZY and how is not before
        rows.append(f"[{how.heading}]\n" * is_new + f"{show(prefix + path)}\n")
        before = how

    def offset(shown: int) -> int | None:
        """Where the next page begins; None if there is none."""
        after = asked.offset + max(shown, 1)  # else the next page would be this one again
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
            "query": asked.query,
            "kind": query.kind,
            "path": base,
            "files": paths,
            "how": [Keyword(how) for how, _ in page[:shown]],
            "total": total,
            "searched": len(project.paths),
            "offset": asked.offset,
            "next_offset": next_offset,
            "notes": [note.data() for note in notes],
        },
        truncated=next_offset is not None or shown < len(rows) or project.expired,
    )


@dataclass(frozen=True, slots=True)
class Search:
    """A search of the files of `project`, which are below `place`."""

    asked: Arguments
    context: Context
    place: Place
    project: ProjectFiles

    def best(self) -> tuple[Matches, Best]:
        """Return all matches, and the best up to the end of the page. Raises `DeadlineExceeded`."""
        asked, project, budget = self.asked, self.project, self.context.budget
        budget = budget.at_least(MIN_SECONDS)
        query = Query.parse(from_there(asked.query, self.place.path), asked.kind)
        try:
            matches = query.match(project.paths, budget)
            several = len(matches) != 1 and query.globs is None
            known = edits(self.place, project.repository, budget) if several else Edits()
            return matches, matches.best(asked.offset + asked.max_results, budget, known.heat)
        except DeadlineExceeded as error:
            among = f"the query was compared with {len(project.paths)} paths"
            problem = f"The time was up while {among}: give a simpler query, or a directory as path"
            raise DeadlineExceeded(problem) from error

    def reasons(self, matches: Matches, best: Best) -> Iterator[Note]:
        """Say why nothing matches, or which glob would match more."""
        query, paths, reason = matches.query, self.project.paths, ""
        budget = self.context.budget.at_most(suggestions.SECONDS)
        if not matches:
            yield from self._ignored(query)
        if query.globs is not None:
            reason = suggestions.deeper_glob(query.text, paths, budget) * (len(matches) <= FEW)
        elif not matches and set("*?[{") & set(query.text):
            glob = query.text if "/" in query.text else f"**/{query.text}"
            reason = f"the query reads as a glob: {quote(glob, None)} with kind=glob"
        if not (reason or matches or best.guesses):
            near = suggestions.similar(query.text, paths, budget)
            shown = some_of((word(self.place.prefix + one) for one in near), len(near))
            reason = f"the nearest names: {shown}" * bool(shown)
        if reason:
            yield Note(NoteKind.PATTERN, reason)

    def _ignored(self, query: Query) -> Iterator[Note]:
        """Say how many ignored files match `query`, which no other file does.

        An environment or a cache in the project may hold more files than there is time for.
        """
        hidden = self.project.ignored or self.project.closed(Closed.REPOSITORY)
        if not hidden or self.asked.include_ignored or self.project.expired:
            return
        budget, count = self.context.budget.at_most(IGNORED_SECONDS), 0
        walked = project_files(self.place, budget.share(WALK_SHARE), include_ignored=True)
        with suppress(DeadlineExceeded):
            count = len(query.match(walked.paths, budget))
        text = plural(count, "ignored file matches", "ignored files match")
        text = "at least " * walked.expired + text
        if count or walked.expired:
            text = text if count else "not all ignored files were searched"
            yield Note(NoteKind.IGNORED, text, "include_ignored shows them")


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
    found = f"{plural(matching, 'file matches', 'files match')} {quote(asked.query)}{more}"
    return f"{found} ({asked.kind}{order}; {among})\n"


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
