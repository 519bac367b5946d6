"""agent-q/search_files: the paths of the files below a directory that a glob pattern matches.

`*` and `?` stay within a name, `**/` spans any number of directories, and everything else is
literal, brackets and braces too. A pattern without a slash is about base names, at any depth
(`*.lisp` finds all Lisp files); any other is about the whole path. Paths in patterns and answers
are relative to the searched directory. Hidden files, links and special files are found, too, but no
directories. A name that `exclude_patterns` match is neither found nor entered. An incomplete answer
ends with lines that say so, and an answer without files with the reason.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from backstaff.errors import ErrorCode, ToolError
from backstaff.fs.entry import Kind
from backstaff.fs.root import Place
from backstaff.fs.walk import Walk
from backstaff.globs.globs import BadGlob, Globs, compile_globs
from backstaff.names import suggestions
from backstaff.render.lines import (
    MAX_NOTE,
    all_files,
    cut,
    omitted,
    paths_in_a_note,
    plural,
    shortened,
    size,
)
from backstaff.render.names import quote, show, word
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.agent_q._directories import (
    EXCLUDE_PATTERNS,
    MAX_OUTPUT_BYTES,
    Exclusions,
    arranged,
    opened,
)

_LITERAL = re.compile(r"([\[\]{}\\])")


@dataclass(frozen=True, slots=True)
class Settings:
    """`max_output_bytes` bounds the text."""

    max_output_bytes: int = field(default=1 << 20, metadata={"limits": (256, MAX_OUTPUT_BYTES)})


@dataclass(frozen=True, slots=True)
class Arguments:
    """A glob pattern, the directory to search, and base names to leave out."""

    pattern: str = argument("Glob pattern, e.g. '*.lisp' or 'src/**/*.md'")
    path: str = argument("Directory to search (relative to project root, default: '.')", absent=".")
    exclude_patterns: tuple[str, ...] = argument(EXCLUDE_PATTERNS, absent=())


@dataclass(slots=True)
class Search:
    """The files found, as many as have room, and the other paths seen before the first of them."""

    entries: list[dict[str, object]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    total: int = 0
    others: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    expired: bool = False


def run(arguments: Arguments, context: Context) -> Result:
    """Search; refusals have the words of list_directory."""
    pattern, globs = quote(arguments.pattern), _globs(arguments.pattern)
    exclusions = Exclusions.of(arguments.exclude_patterns)
    limit = context.text_limit(context.settings.max_output_bytes)
    with opened(context.root, arguments.path, "Directory") as place:
        search = _search(place, globs, exclusions, limit, context)
        closed = paths_in_a_note(search.unreadable) if search.unreadable else None
        about = [
            "not searched to its end, as the time was up" if search.expired else None,
            f"cannot be read: {closed}" if closed else None,
            exclusions.note(),
        ]
        if not search.total:
            about += _why(search, place, globs, arguments, context)
        notes = [shortened(note, MAX_NOTE) for note in about if note]
    note_lines = "".join(f"... {note}\n" for note in notes)
    call = all_files(place.relative, _as_glob(arguments.pattern), limit, context.named)
    remedy = "narrow the pattern, give a path, or exclude_patterns"
    remedy += f"; all of them: {call}" if call else ""

    def end(shown: int) -> str:
        more = omitted(plural(search.total - shown, "more file"), limit, remedy)
        return (f"... {more}\n" if shown < search.total else "") + note_lines

    head = f"No files found matching pattern {pattern}\n"
    if search.total:
        head = f"Found {plural(search.total, 'file')} matching {pattern}:\n\n"
    text, shown = cut(head, search.lines, end, limit)
    return Result(
        text=text if search.total else text.removesuffix("\n"),
        data={
            "path": place.path_as_directory,
            "total": search.total,
            "shown": shown,
            "unreadable": len(search.unreadable),
            "notes": notes,
            "entries": search.entries[:shown],
        },
        truncated=shown < search.total or search.expired,
    )


def _globs(pattern: str) -> Globs:
    """Compile `pattern`. Raises INVALID_ARGUMENT."""
    try:
        return compile_globs((_as_glob(pattern),))
    except BadGlob as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'pattern': {error}") from error


def _as_glob(pattern: str) -> str:
    """Return `pattern` as a glob on whole paths; only `*`, `**` and `?` are special in it."""
    literal = _LITERAL.sub(r"\\\1", pattern)
    anywhere = literal if "/" in pattern or not pattern else f"**/{literal}"
    return anywhere.removeprefix("./")


def _search(
    place: Place, globs: Globs, exclusions: Exclusions, limit: int, context: Context
) -> Search:
    """Walk the directory, and keep files until their lines take more than `limit` bytes."""
    search, room, budget = Search(), limit, context.budget
    with Walk(place.listing(), arranged(exclusions, budget), budget) as walk:
        for step in walk:
            _, path, kind, _, _ = step
            if kind is Kind.DIRECTORY:
                if walk.enter(step):
                    search.unreadable.append(path)
                if not search.total:
                    search.directories.append(path)
            elif globs.match(path):
                search.total += 1
                if room >= 0:
                    search.entries.append({"path": path, "kind": kind})
                    search.lines.append(f"  {show(path)}\n")
                    room -= size(search.lines[-1])
            elif not search.total:
                search.others.append(path)
        search.expired = walk.expired
    return search


def _why(
    search: Search, place: Place, globs: Globs, arguments: Arguments, context: Context
) -> Iterator[str]:
    """Say why no file was found, and name a pattern or argument that finds some."""
    if _LITERAL.search(arguments.pattern):
        yield "only * and ? and **/ are special in a pattern, brackets and braces are not"
    if search.expired:
        return
    if arguments.exclude_patterns:
        # Search again with nothing excluded, but not for long.
        budget = context.budget.at_most(suggestions.SECONDS)
        with Walk(place.listing(), arranged(Exclusions.of(()), budget), budget) as walk:
            for step in walk:
                if step.kind is Kind.DIRECTORY:
                    walk.enter(step)
                elif globs.match(step.path):
                    yield f"exclude_patterns leave out what matches, such as {word(step.path)}"
                    return
    where = show(f"{place.relative}/")
    budget = context.budget.at_most(suggestions.SECONDS)
    searched = suggestions.Searched(search.others, budget)
    reason = suggestions.nearest_glob(arguments.pattern, _globs, searched)
    reason = reason or suggestions.nearest_names(arguments.pattern, searched)
    others = len(search.others)
    count = plural(others, "file was", "files were") if others else "no files were"
    yield reason or f"{count} searched in {where}"


TOOL = Tool(
    description=(
        "List all files that a glob pattern matches: * and ? within a name, **/ across directories."
        " '*.lisp' finds all Lisp files, 'src/**/*.md' the Markdown files below src."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "search"),
    settings=Settings,
)
