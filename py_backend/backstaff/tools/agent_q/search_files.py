"""agent-q/search_files: the paths of the files below a directory that a glob pattern matches.

`*` and `?` stay within a name, `**/` spans any number of directories, and everything else is
literal, brackets and braces too. A pattern without a slash is about base names, at any depth
(`*.lisp` finds all Lisp files); any other is about the whole path, relative to the directory that
is searched, as the paths of the answer are. Links and special files are files and never followed;
hidden files are searched, too; only directories are not found. What `exclude_patterns` match is
neither found nor entered. An answer that would pass its budget, or that is not complete for another
reason, ends with lines that say so.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from backstaff.errors import ErrorCode, NotADirectory, PathError, ToolError
from backstaff.fs.entry import Kind
from backstaff.fs.globs import BadGlob, Globs, compile_globs
from backstaff.fs.root import Place
from backstaff.fs.walk import Walk
from backstaff.render.names import quote, show, word
from backstaff.render.values import Rows
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.agent_q._below import EXCLUDE_PATTERNS, Exclusions, arranged
from backstaff.tools.agent_q._page import Page, Settings, left_out
from backstaff.tools.agent_q._rows import REPLY_BYTES
from backstaff.tools.agent_q._words import directory_refusal

REMEDY = "narrow the pattern, give a path, or exclude_patterns"
LATE = "... not searched to its end, as the time was up\n"
MAX_UNREADABLE_SHOWN = 5

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
    """What was found so far, and which directories could not be searched."""

    page: Page[Row]
    unreadable: list[str] = field(default_factory=list)
    expired: bool = False


def run(arguments: Arguments, context: Context) -> Result:
    """Search; refusals are worded as list_directory's."""
    globs = _globs(arguments.pattern)
    try:
        with context.root.resolve(arguments.path) as place:
            return _answer(place, globs, arguments, context)
    except PathError as error:
        raise directory_refusal(error, arguments.path) from error


def _globs(pattern: str) -> Globs:
    """PATTERN, compiled, with everything literal but `*`, `**` and `?`."""
    literal = _LITERAL.sub(r"\\\1", pattern)
    anywhere = literal if "/" in pattern or not pattern else f"**/{literal}"
    try:
        return compile_globs((anywhere.removeprefix("./"),))
    except BadGlob as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'pattern': {error}") from error


def _answer(place: Place, globs: Globs, arguments: Arguments, context: Context) -> Result:
    if place.kind is not Kind.DIRECTORY:
        raise NotADirectory("it is not a directory", last=True)
    exclusions = Exclusions.of(arguments.exclude_patterns)
    limit = min(context.text_limit(context.settings.max_output_bytes), REPLY_BYTES)
    search = Search(Page(limit))
    _search(search, place, globs, exclusions, context)

    def tail(missing: int) -> str:
        noun = "file" if missing == 1 else "files"
        return left_out(missing, noun, limit, REMEDY) + "".join(_notes(search, arguments.pattern))

    text = search.page.finish(_head(search, arguments.pattern), tail)
    return Result(
        text=text if search.page.total else text.removesuffix("\n"),
        data={
            "path": place.path.rstrip("/") + "/",
            "total": search.page.total,
            "shown": len(search.page.rows),
            "unreadable": len(search.unreadable),
            "entries": Rows(
                {
                    "path": [row.path for row in search.page.rows],
                    "kind": [row.kind for row in search.page.rows],
                }
            ),
        },
        truncated=bool(search.page.left_out) or search.expired,
        warnings=tuple(exclusions.warnings()),
    )


def _search(
    search: Search, place: Place, globs: Globs, exclusions: Exclusions, context: Context
) -> None:
    with Walk(place.listing(), arranged(exclusions, context.budget), context.budget) as walk:
        for step in walk:
            if step.kind is Kind.DIRECTORY:
                if walk.enter(step):
                    search.unreadable.append(step.path)
            elif globs.match(step.path):
                search.page.add(f"  {show(step.path)}\n", Row(step.path, step.kind), step.path)
    search.expired = walk.expired


def _head(search: Search, pattern: str) -> str:
    total = search.page.total
    if not total:
        return f"No files found matching pattern {quote(pattern)}\n"
    return f"Found {total} {'file' if total == 1 else 'files'} matching {quote(pattern)}:\n\n"


def _notes(search: Search, pattern: str) -> Iterator[str]:
    """What else a model should know of an answer that lacks something."""
    if search.expired:
        yield LATE
    if unreadable := search.unreadable:
        shown = " ".join(map(word, unreadable[:MAX_UNREADABLE_SHOWN]))
        more = len(unreadable) - MAX_UNREADABLE_SHOWN
        yield f"... cannot be read: {shown}{f' and {more} more' if more > 0 else ''}\n"
    if not search.page.total and _LITERAL.search(pattern):
        yield "... only * and ? and **/ are special in a pattern, brackets and braces are not\n"


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
