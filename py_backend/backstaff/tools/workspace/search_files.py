"""workspace/search_files: the files below a directory whose paths match a query.

Files are regular files and links. Ignored files are left out unless `include_ignored` is given
(`project.files`), and `.git` always is. A query is about the path below `path`. The paths of the
answer start at the root, so a caller can pass them on.

glob        the whole path, as in workspace/tree: `*.py` is at the top, `**/*.py` anywhere, `{a,b}`
            either; with regard to case. Matches are in order of directory, then name.
substring   each word of the query stands somewhere in the path.
fuzzy       the characters of each word stand in the path, in their order, with others between. The
            surest way to find a file comes first (`MatchKind`), then the better fit.

Beside a name that holds all words and begins with one of them, only paths that hold all words whole
are an answer: with gaps, other paths match by accident. Of equals, the file that people edited more
in the last 1,000 commits comes first. Words end at blanks. Case does not matter, except in a glob:
letters are equal as Unicode folds them, so `ss` finds `ß`.
"""

from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded, PathError
from backstaff.names import suggestions
from backstaff.names.query import Matches, Query, SearchKind
from backstaff.project.edits import Edits, edits
from backstaff.project.files import project_files
from backstaff.render.lines import plural, some_of
from backstaff.render.names import quote, show, word
from backstaff.result import Note, NoteKind
from backstaff.tool import Context, Result, Tool, argument
from backstaff.tools.workspace._not_searched import not_walked
from backstaff.tools.workspace._pages import Row, page
from backstaff.tools.workspace._refusals import refusal

MAX_RESULTS, MAX_OFFSET = 1000, 1_000_000
FEW = 3  # maximum number of matches of a glob with a note about deeper globs
WALK_SHARE, MIN_SECONDS = 0.75, 0.5  # of the time, for the paths; seconds for the query


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
        "How many to skip: an answer names it.", default=0, minimum=0, maximum=MAX_OFFSET
    )


def run(arguments: Arguments, context: Context) -> Result:
    """Search the files of the directory, and return a page of the matches."""
    asked, budget = arguments, context.budget
    query = Query.parse(asked.query, asked.kind)  # a bad query is refused before a bad path
    try:
        with context.root.directory(asked.path) as place:
            walking, everything = budget.share(WALK_SHARE), asked.include_ignored
            project = project_files(place, walking, include_ignored=everything)
            base, prefix = place.relative, place.prefix
            comparing = budget.at_least(MIN_SECONDS)
            matches = query.match(project.paths, comparing)
            several = len(matches) != 1 and query.globs is None
            known = edits(place, project.repository, comparing) if several else Edits()
            best = matches.best(asked.offset + asked.max_results, comparing, known.heat)
    except PathError as error:
        raise refusal(error, asked.path, context) from error
    except DeadlineExceeded as error:
        among = f"the query was compared with {len(project.paths)} paths"
        problem = f"The time was up while {among}: give a simpler query, or a directory as path"
        raise DeadlineExceeded(problem) from error
    total, paths = len(matches) + best.guesses, [path for _, path in best.files[asked.offset :]]
    notes = list[Note]()
    if not matches and project.ignored:
        ignored = f"{plural(project.ignored, 'name is', 'names are')} ignored by git"
        notes.append(Note(NoteKind.IGNORED, ignored, "include_ignored searches them"))
    why = _reason(asked.query, matches, total, prefix, budget.at_most(suggestions.SECONDS))
    notes += [Note(NoteKind.PATTERN, why)] * bool(why)
    notes += not_walked(project, prefix)
    first = _head(asked, base, len(matches), total, len(project.paths))
    rows = [Row(f"{show(prefix + path)}\n") for path in paths]
    is_early = bool(rows) and asked.offset + len(rows) < total
    limit = context.text_limit()
    written = page(lambda *_: first, rows, notes, limit, asked.offset, has_more=is_early)
    # The data hold no more paths than the text, so a reader of either goes on at `next_offset`.
    return Result(
        text=written.text,
        data={
            "query": asked.query,
            "kind": query.kind,
            "path": base,
            "files": [prefix + path for path in paths[: written.shown]],
            "total": total,
            "searched": len(project.paths),
            "offset": asked.offset,
            "next_offset": written.next_offset,
            "notes": [note.data() for note in notes],
        },
        truncated=is_early or written.shown < len(rows) or project.expired,
    )


def _reason(text: str, matches: Matches, total: int, prefix: str, budget: Budget) -> str:
    """Say why nothing matches: which glob would match more, or which names are like the query."""
    paths, reason = matches.paths, ""
    if matches.query.globs is not None:
        reason = suggestions.deeper_glob(text, paths, budget) if len(matches) <= FEW else ""
    elif not matches and set("*?[{") & set(text):
        glob = text if "/" in text else f"**/{text}"
        reason = f"the query reads as a glob: {quote(glob, None)} with kind=glob"
    if not (reason or total):
        near = suggestions.similar(text, paths, budget)
        shown = some_of((word(prefix + one) for one in near), len(near))
        reason = f"the nearest names: {shown}" * bool(shown)
    return reason


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
    "Find files by a part of their name or path, not by content, best first: words, initials"
    " ('rfw' for read_from_wire.py), misspellings.",
    arguments=Arguments,
    run=run,
    preset=4,
    categories=("filesystem", "navigation", "search"),
)
