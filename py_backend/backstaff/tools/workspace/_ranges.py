"""The parts of files that a read asks for: by lines, by the name of a definition, around a line."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from backstaff.errors import ErrorCode, ToolError
from backstaff.render.names import quote
from backstaff.structure.outline import Definition
from backstaff.tool import Context, argument
from backstaff.tools.workspace._excerpt import Excerpt, excerpt_of, matching
from backstaff.tools.workspace._symbols import (
    MAX_FOUND,
    Defined,
    in_project,
    listed,
    near,
)
from backstaff.tools.workspace._window import DEFAULT_LINES, GAP, MAX_LINES, MAX_TOGETHER, File


@dataclass(frozen=True, slots=True)
class Range:
    """An item of `ranges`. A call without ranges is one as well."""

    path: str = argument("A file.", absent="")
    start_line: int = argument("Its first line.", absent=1, minimum=1)
    max_lines: int = argument("Lines.", absent=DEFAULT_LINES, limits=(1, MAX_LINES))
    symbol: str = argument("A definition.", absent="")
    around: int | None = argument("A line of one.", minimum=1)
    match: str = argument("A regexp.", absent="")


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of `file` from `start` to `last`: those of `definition`, or a window.

    The definition `inside` goes on at the first line of the window. The definitions `around` begin
    above it. Where there is an `excerpt`, only its lines are shown.
    """

    file: File
    start: int
    last: int
    definition: Definition | None = None
    inside: Definition | None = None
    around: Sequence[Definition] = ()
    excerpt: Excerpt | None = None

    @property
    def lines(self) -> range:
        """The numbers of its lines."""
        return range(self.start, self.last + 1)

    def asked(self, start: int | None = None) -> dict[str, object]:
        """Return an item of `ranges` that asks for it, or for its lines from `start` on."""
        path: dict[str, object] = {"path": self.file.source.path}
        if self.definition and start is None:
            return path | {"symbol": self.definition.qualified}
        first = self.start if start is None else start
        return path | {"start_line": first, "max_lines": min(self.last - first + 1, MAX_LINES)}

    def touches(self, other: "Part") -> bool:
        """Return True if at most `GAP` lines of one file, whose text is kept, are between them."""
        gap = max(self.start, other.start) - min(self.last, other.last) - 1
        is_one_file = self.file.source.path == other.file.source.path
        are_whole = not (self.excerpt or other.excerpt)
        return gap <= GAP and is_one_file and are_whole and bool(self.file.text)


class Several(ToolError):
    """More definitions were found with a name than are read at once."""

    def __init__(self, symbol: str, found: Sequence[Defined]) -> None:
        least = "At least " if len(found) == MAX_FOUND else ""
        self.head = f"{least}{len(found)} definitions have the name {quote(symbol)}"
        message = f"{self.head}: {listed(found)}; give path and the whole name"
        super().__init__(ErrorCode.INVALID_ARGUMENT, message)
        self.found = found


def answers(
    ranges: Sequence[Range], path: str, read: Callable[[str], File], context: Context, limit: int
) -> Iterator[Part | ToolError]:
    """Yield the parts that `ranges` ask for, or their errors. Parts that touch become one.

    `path` is the file of a range without a path, and `limit` that of the answer in bytes.
    """
    found: list[Part] = []
    for asked in ranges:
        try:
            found += parts(replace(asked, path=asked.path or path), read, context, limit)
        except ToolError as error:
            yield from merged(found)
            found = []
            is_secret = error.code == ErrorCode.APPROVAL_REQUIRED
            remedy = "; ask for it with path alone, so that the user can allow it" * is_secret
            yield ToolError(error.code, error.message + remedy)
    yield from merged(found)


def parts(asked: Range, read: Callable[[str], File], context: Context, limit: int) -> list[Part]:
    """Return the parts that `asked` asks for; `read` reads a file. Raises `ToolError`.

    Where `match` is given, or a definition is long for the `limit`, a part has an excerpt.
    """
    found = _parts(asked, read, context)
    for number, one in enumerate(found):
        excerpt: Excerpt | None
        if asked.match.strip():
            excerpt = matching(one.file, one.lines, one.definition, asked.match, context)
        else:
            excerpt = excerpt_of(one.file, one.lines, one.definition, asked.around, limit)
        if excerpt:
            found[number] = replace(one, excerpt=excerpt)
    return found


def _parts(asked: Range, read: Callable[[str], File], context: Context) -> list[Part]:
    if not (asked.symbol.strip() or asked.path.strip()):
        message = "Argument 'path' is missing; without it, give 'symbol' or 'ranges'"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, message)
    if asked.symbol.strip() and not asked.path:
        found, unread = in_project(asked.symbol, context)
        if not found and unread:
            message = f"No file that was read defines {quote(asked.symbol)}: {unread}; try again"
            raise ToolError(ErrorCode.NOT_FOUND, message)
        if not found:
            problem = f"No file of the project defines {quote(asked.symbol)}"
            words = "; {} with definitions=true finds a part of a name"
            remedy = context.hint(words, "workspace/regexp_search")
            message = f"{problem}, in the languages that are known{remedy}"
            raise ToolError(ErrorCode.NOT_FOUND, message)
        if len({(one.path, one.definition.qualified) for one in found}) > 1:
            raise Several(asked.symbol, found)
        # With the whole name: the file may define others whose names end alike.
        asked = replace(asked, path=found[0].path, symbol=found[0].definition.qualified)
    file = read(asked.path)
    if asked.symbol.strip():
        return [_of(file, one) for one in _named(asked.symbol, file, context)]
    if asked.around is not None:
        return [_around(asked.around, asked.max_lines, file, asked.path)]
    count = file.whole.line_count
    is_all = asked.match.strip() and (asked.start_line, asked.max_lines) == (1, DEFAULT_LINES)
    last = count if is_all else min(asked.start_line + asked.max_lines - 1, count)
    return [Part(file, asked.start_line, last, inside=_going_on(file, asked.start_line, last))]


def _of(file: File, definition: Definition) -> Part:
    return Part(file, definition.first_line, definition.last_line, definition)


def _named(symbol: str, file: File, context: Context) -> Sequence[Definition]:
    path = file.source.path
    if file.outline is None or not file.outline.definitions:
        problem = "has no definitions that are known here"
        if file.outline and file.outline.problem:
            problem = f"has no definitions, because it {file.outline.problem}"
        problem += ": give start_line and max_lines"
        raise ToolError(ErrorCode.NOT_FOUND, f"Path {quote(path)} {problem}")
    found = file.outline.named(symbol)
    if not found:
        message = f"Path {quote(path)} defines no {quote(symbol)}"
        likely = near(file.outline, symbol, context.budget)
        elsewhere = listed(in_project(symbol, context)[0])
        message += f"; the nearest names: {likely}" if likely else ""
        message += f"; it is defined in {elsewhere}" if elsewhere else ""
        raise ToolError(ErrorCode.NOT_FOUND, message)
    if len(found) > MAX_TOGETHER:
        raise Several(symbol, [Defined(path, one) for one in found])
    return found


def _around(line: int, most: int, file: File, path: str) -> Part:
    count = file.whole.line_count
    if line > count:
        problem = f"has no line {line}, as it has {count}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Path {quote(path)} {problem}")
    found = file.outline.around(line) if file.outline else None
    if found and found.last_line - found.first_line < most:
        return _of(file, found)
    low, high = (found.first_line, found.last_line) if found else (1, count)
    start = max(low, min(line - most // 2, high - most + 1))
    above = (*file.outline.above(found), found) if file.outline and found else ()
    heads = [one for one in above if one.line < start]
    return Part(file, start, min(count, start + most - 1), around=heads)


def _going_on(file: File, start: int, last: int) -> Definition | None:
    """Return the definition that goes on at `start` and fills most of the lines up to `last`."""
    found = file.outline.around(start) if file.outline and start > 1 else None
    if found is None or found.line >= start:
        return None
    within = min(found.last_line, last) - start + 1
    return found if within * 2 > last - start + 1 else None


def merged(found: Sequence[Part]) -> Iterator[Part]:
    """Yield the parts `found`. Parts of a file that touch become one, in the place of the first."""
    left = list(found)
    while left:
        part = left.pop(0)
        while other := next(filter(part.touches, left), None):
            left.remove(other)
            start, last = min(part.start, other.start), max(part.last, other.last)
            within = part.definition if (start, last) == (part.start, part.last) else None
            part = Part(part.file, start, last, within, _going_on(part.file, start, last))
        yield part
