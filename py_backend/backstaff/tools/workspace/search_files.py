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
from backstaff.render.lines import bracketed, fit, plural, size, some_of
from backstaff.render.names import quote, show, word
from backstaff.result import Note, NoteKind
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._not_searched import not_walked
from backstaff.tools.workspace._refusals import refusal

MAX_RESULTS, MAX_OFFSET = 1000, 1_000_000
FEW = 3
"""Maximum number of matches of a glob with a note about deeper globs."""
WALK_SHARE, MIN_SECONDS = 0.75, 0.5
"""The part of the time for collecting paths, and the least seconds for the query."""


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
    total, page = len(matches) + best.guesses, [path for _, path in best.files[asked.offset :]]
    head = _head(asked, base, len(matches), total, len(project.paths))
    why = _reason(asked.query, matches, total, prefix, budget.at_most(suggestions.SECONDS))
    notes = [Note(NoteKind.PATTERN, why)] if why else []
    if not matches and project.ignored:
        ignored = f"{plural(project.ignored, 'name is', 'names are')} ignored by git"
        notes.insert(0, Note(NoteKind.IGNORED, ignored, "include_ignored searches them"))
    notes += not_walked(project, prefix)
    limit, rows = context.text_limit(), [f"{show(prefix + path)}\n" for path in page]

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
        return "".join((head, *rows[:shown], bracketed(notes), end))

    # The data hold no more paths than the text, so a reader of either goes on at `next_offset`.
    answer, shown = fit(page_text, len(rows), map(size, rows), limit)
    next_offset = offset(shown)
    return Result(
        text=answer,
        data={
            "query": asked.query,
            "kind": query.kind,
            "path": base,
            "files": [prefix + path for path in page[:shown]],
            "total": total,
            "searched": len(project.paths),
            "offset": asked.offset,
            "next_offset": next_offset,
            "notes": [note.data() for note in notes],
        },
        truncated=next_offset is not None or shown < len(rows) or project.expired,
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
