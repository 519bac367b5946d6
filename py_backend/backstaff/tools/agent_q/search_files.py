"""agent-q/search_files: the paths of the files below a directory that a glob pattern matches.

`*` and `?` stay within a name, `**/` spans any number of directories, and everything else is
literal, brackets and braces too. A pattern without a slash is about base names, at any depth
(`*.lisp` finds all Lisp files); any other is about the whole path, relative to the directory that
is searched, as the paths of the answer are. Links and special files are files and never followed;
hidden files are searched, too; only directories are not found. What `exclude_patterns` match is
neither found nor entered. An answer that would pass its budget, or that is not complete for another
reason, ends with lines that say so; one without a file, with a line that says why.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from backstaff.errors import ErrorCode, PathError, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.entry import Kind, Named
from backstaff.fs.globs import BadGlob, Globs, compile_globs
from backstaff.fs.root import Place
from backstaff.fs.walk import Arrange, Walk
from backstaff.render.lines import (
    MAX_NOTE,
    all_files,
    directories_in_a_note,
    shortened,
)
from backstaff.render.names import quote, show, word
from backstaff.result import Rows
from backstaff.search import suggestions
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.agent_q._exclusions import EXCLUDE_PATTERNS, Exclusions, arranged
from backstaff.tools.agent_q._refusals import directory_refusal
from backstaff.tools.agent_q._text_page import Page, Settings, left_out

REMEDY = "narrow the pattern, give a path, or exclude_patterns"

_LITERAL = re.compile(r"([\[\]{}\\])")


@dataclass(frozen=True, slots=True)
class Arguments:
    """What to find, below which directory, and base names to leave out."""

    pattern: str
    path: str
    exclude_patterns: tuple[str, ...]


class Row(NamedTuple):
    """A file that was found, as the data have it; `path` is relative to the searched directory."""

    path: str
    kind: Kind


@dataclass(slots=True)
class Search:
    """What was found so far, and which directories could not be searched.

    `files` and `directories` are all that was seen, until the first file is found.
    """

    page: Page[Row]
    files: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    expired: bool = False


def run(arguments: Arguments, context: Context) -> Result:
    """Search; refusals are worded as list_directory's."""
    globs = _globs(arguments.pattern)
    try:
        with context.root.directory(arguments.path) as place:
            return _answer(place, globs, arguments, context)
    except PathError as error:
        raise directory_refusal(error, arguments.path) from error


def _globs(pattern: str) -> Globs:
    """PATTERN, compiled. Raises INVALID_ARGUMENT."""
    try:
        return compile_globs((_as_glob(pattern),))
    except BadGlob as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'pattern': {error}") from error


def _as_glob(pattern: str) -> str:
    """PATTERN as a glob on whole paths, with everything literal but `*`, `**` and `?`."""
    literal = _LITERAL.sub(r"\\\1", pattern)
    anywhere = literal if "/" in pattern or not pattern else f"**/{literal}"
    return anywhere.removeprefix("./")


def _answer(place: Place, globs: Globs, arguments: Arguments, context: Context) -> Result:
    exclusions = Exclusions.of(arguments.exclude_patterns)
    limit = context.text_limit(context.settings.max_output_bytes)
    search = Search(Page(limit))
    _search(search, place, globs, exclusions, context)
    why = () if search.page.total else _why(search, place, exclusions, arguments, context)
    notes = tuple(shortened(note, MAX_NOTE) for note in (*_notes(search, exclusions), *why))
    call = all_files(place.relative, _as_glob(arguments.pattern), limit)
    remedy = f"{REMEDY}; all of them: {call}" if call else REMEDY
    return Result(
        text=_text(search, arguments.pattern, notes, limit, remedy),
        data=_data(search, place, notes),
        truncated=bool(search.page.left_out) or search.expired,
    )


def _text(search: Search, pattern: str, notes: tuple[str, ...], limit: int, remedy: str) -> str:
    head, lines = _head(search, pattern), "".join(f"... {note}\n" for note in notes)
    if not search.page.total:
        return (head + lines).removesuffix("\n")

    def tail(missing: int) -> str:
        noun = "file" if missing == 1 else "files"
        return left_out(missing, noun, limit, remedy) + lines

    return search.page.finish(head, tail)


def _data(search: Search, place: Place, notes: tuple[str, ...]) -> dict[str, object]:
    rows = search.page.rows
    return {
        "path": place.path_as_directory,
        "total": search.page.total,
        "shown": len(rows),
        "unreadable": len(search.unreadable),
        "notes": list(notes),
        "entries": Rows({"path": [row.path for row in rows], "kind": [row.kind for row in rows]}),
    }


def _search(
    search: Search, place: Place, globs: Globs, exclusions: Exclusions, context: Context
) -> None:
    page = search.page
    arrange, matching = _matched(globs, arranged(exclusions, context.budget), context.budget)
    with Walk(place.listing(), arrange, context.budget) as walk:
        for step in walk:
            _, path, kind, _, _ = step
            if kind is Kind.DIRECTORY:
                if walk.enter(step):
                    search.unreadable.append(path)
                if not page.total:
                    search.directories.append(path)
            elif path in matching:
                matching.remove(path)
                page.add(f"  {show(path)}\n", Row(path, kind))
            elif not page.total:
                search.files.append(path)
    search.expired = walk.expired


def _matched(globs: Globs, arrange: Arrange, budget: Budget) -> tuple[Arrange, set[str]]:
    """The same as ARRANGE, and a set for the paths of the files ahead that GLOBS match."""
    matching: set[str] = set()

    def matched(directory: int, path: str) -> Iterable[Named]:
        entries = list(arrange(directory, path))
        prefix = f"{path}/" if path else ""
        files = [name for name, kind in entries if kind is not Kind.DIRECTORY]
        matching.update(prefix + name for name in globs.among(prefix, files, budget))
        return entries

    return matched, matching


def _head(search: Search, pattern: str) -> str:
    total = search.page.total
    if not total:
        return f"No files found matching pattern {quote(pattern)}\n"
    return f"Found {total} {'file' if total == 1 else 'files'} matching {quote(pattern)}:\n\n"


def _notes(search: Search, exclusions: Exclusions) -> Iterator[str]:
    """What a model should know of an answer that lacks something."""
    if search.expired:
        yield "not searched to its end, as the time was up"
    if unreadable := search.unreadable:
        yield f"cannot be read: {directories_in_a_note(unreadable)}"
    if note := exclusions.note():
        yield note


def _why(
    search: Search,
    place: Place,
    exclusions: Exclusions,
    arguments: Arguments,
    context: Context,
) -> Iterator[str]:
    """Why nothing was found, and what would be."""
    if _LITERAL.search(arguments.pattern):
        yield "only * and ? and **/ are special in a pattern, brackets and braces are not"
    if search.expired:
        return
    if path := _excluded(place, exclusions, arguments, context):
        yield f"exclude_patterns leave out what matches, such as {word(path)}"
        return
    where = show(f"{place.relative}/")
    budget = context.budget.at_most(suggestions.SECONDS)
    searched = suggestions.Searched(search.files, search.directories, where, budget)
    if reason := suggestions.explain_glob(arguments.pattern, _globs, searched):
        yield reason
    elif near := suggestions.nearest_names(arguments.pattern, searched):
        yield near
    else:
        count = len(search.files)
        yield f"{count or 'no'} {'file was' if count == 1 else 'files were'} searched in {where}"


def _excluded(
    place: Place, exclusions: Exclusions, arguments: Arguments, context: Context
) -> str | None:
    """A file that would be found if nothing were excluded, unless the search for it takes long."""
    if not exclusions.some:
        return None
    budget = context.budget.at_most(suggestions.SECONDS)
    globs = _globs(arguments.pattern)
    with Walk(place.listing(), arranged(Exclusions.of(()), budget), budget) as walk:
        for step in walk:
            if step.kind is Kind.DIRECTORY:
                walk.enter(step)
            elif globs.match(step.path):
                return step.path
    return None


TOOL = Tool(
    name="search_files",
    description=(
        "Find files by a glob pattern: * and ? within a name, **/ across directories."
        " '*.lisp' finds all Lisp files, 'src/**/*.md' the Markdown files below src."
    ),
    parameters=(
        Parameter(
            name="pattern",
            type=ParameterType.STRING,
            required=True,
            description="Glob pattern, e.g. '*.lisp' or 'src/**/*.md'",
        ),
        Parameter(
            name="path",
            type=ParameterType.STRING,
            description="Directory to search (relative to project root, default: '.')",
            absent=".",
        ),
        EXCLUDE_PATTERNS,
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "search"),
    settings=Settings,
)
