"""The parts of files that a read asks for: by lines, by the name of a definition, around a line.

A long definition stands for itself by some of its lines, and `match` chooses the lines of a part
(contract 007). A long class shows its own lines and a row for each member. A long function shows
its beginning, and the lines around the one that was asked for.

The limits of all that workspace/read_file reads stand here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from backstaff.contents.dialects import BadRegexp, translated
from backstaff.contents.outlines import lines_matching
from backstaff.errors import ErrorCode, ToolError
from backstaff.reading.text import Text
from backstaff.render.lines import plural, size
from backstaff.render.names import quote
from backstaff.structure.language import CONTAINERS
from backstaff.structure.outline import Definition
from backstaff.tool import Context, argument
from backstaff.tools.workspace._symbols import (
    MAX_FOUND,
    Defined,
    in_project,
    listed,
    near,
)

DEFAULT_LINES, MAX_LINES = 200, 500
"""The default and the maximum of `max_lines`."""
MAX_RANGES = 20
"""Maximum number of items of `ranges`."""
MAX_TEXT_BYTES = 4 << 20
"""Maximum number of bytes of a text. It is sent three times, and a frame holds 16 MiB."""
MEMBER_BYTES = 100
"""Maximum number of bytes of a member's own line in the row for it."""
MAX_TOGETHER = 3
"""Maximum number of definitions with one name that are read at once; more are listed."""
GAP = 3
"""Maximum number of lines between two parts of a file that become one part."""
LONG = 100
"""Maximum number of lines of a definition that is shown whole in any case."""
WHOLE_SHARE = 3
"""A long function is shown whole in a third of the limit of the answer."""
BEGINNING, AROUND, NEAR = 20, 15, 3
"""Number of lines at the beginning of a long function; on each side of a line that was asked for;
and on each side of one that matches."""
SHORT_SHARE = 10
"""A part that takes a tenth of the limit comes whole, wherever it stands."""
NAMED_BYTES = 100
"""Number of bytes that are kept for the name of a missing part."""
MAX_LEFT_OUT, NAMES_SHARE = 5, 4
"""Maximum number of definitions that the end of a cut part names, and the part of the limit, a
quarter, that they take."""


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
    above it. An excerpt has words `about` it, and shows the lines `chosen` and the `members`.
    """

    file: Text
    start: int
    last: int
    definition: Definition | None = None
    inside: Definition | None = None
    around: Sequence[Definition] = ()
    about: str = ""
    chosen: Sequence[int] = ()
    members: Sequence[Definition] = ()

    @property
    def lines(self) -> range:
        """The numbers of its lines."""
        return range(self.start, self.last + 1)

    def asked(self, start: int | None = None) -> dict[str, object]:
        """Return an item of `ranges` that asks for it, or for its lines from `start` on."""
        path: dict[str, object] = {"path": self.file.path}
        if self.definition and start is None:
            return path | {"symbol": self.definition.qualified}
        first = self.start if start is None else start
        most = min(max(self.last - first + 1, 1), MAX_LINES)
        return path | {"start_line": first, "max_lines": most}

    def touches(self, other: "Part") -> bool:
        """Return True if at most `GAP` lines of one file, whose text is kept, are between them."""
        gap = max(self.start, other.start) - min(self.last, other.last) - 1
        are_whole = not (self.about or other.about) and bool(self.file.text)
        return gap <= GAP and self.file.path == other.file.path and are_whole


class Several(ToolError):
    """More definitions were found with a name than are read at once."""

    def __init__(self, symbol: str, found: Sequence[Defined]) -> None:
        least = "At least " if len(found) == MAX_FOUND else ""
        self.head = f"{least}{len(found)} definitions have the name {quote(symbol)}"
        message = f"{self.head}: {listed(found)}; give path and the whole name"
        super().__init__(ErrorCode.INVALID_ARGUMENT, message)
        self.found = found


def answers(
    ranges: Sequence[Range], path: str, read: Callable[[str], Text], context: Context, limit: int
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


def parts(asked: Range, read: Callable[[str], Text], context: Context, limit: int) -> list[Part]:
    """Return the parts that `asked` asks for; `read` reads a file. Raises `ToolError`.

    Where `match` is given, or a definition is long for the `limit`, a part is an excerpt.
    """
    found = _parts(asked, read, context)
    if asked.match.strip():
        return [_matching(one, asked.match, context) for one in found]
    return [_shortened(one, asked.around, limit) for one in found]


def _shortened(part: Part, around: int | None, limit: int) -> Part:
    """Return the excerpt that stands for `part`, or `part` itself if it is not long.

    `around` is the line that was asked for, and `limit` that of the answer in bytes.
    """
    definition, outline, lines = part.definition, part.file.outline, part.lines
    if definition is None or outline is None or len(lines) <= LONG:
        return part
    text = part.file.text.split("\n")
    members = [one for one in outline.definitions if outline.above(one)[-1:] == [definition]]
    if members or definition.kind in CONTAINERS:
        within = {at for one in members for at in range(one.first_line, one.last_line + 1)}
        own = [at for at in lines if at not in within and text[at - 1].strip()]
        about = "its own lines, and the lines of its members"
        return replace(part, about=about, chosen=own, members=members)
    if size("\n".join(text[lines.start - 1 : lines.stop - 1])) < limit // WHOLE_SHARE:
        return part
    shown, about = {*lines[: definition.line - lines.start + BEGINNING]}, "its beginning"
    if around is not None:
        shown |= {at for at in range(around - AROUND, around + AROUND + 1) if at in lines}
        about += f", and lines around {around}"
    return replace(part, about=about, chosen=sorted(shown))


def _matching(part: Part, pattern: str, context: Context) -> Part:
    """Return the excerpt of the lines that `pattern` matches, those near them, and the head.

    Raises `ToolError` if it is no regular expression, or takes too long.
    """
    file, lines = part.file, part.lines
    if file.line_count and not file.text:
        problem = f"Path {quote(file.path)} is too large for 'match'"
        remedy = context.hint(": {} searches it", "workspace/regexp_search")
        raise ToolError(ErrorCode.INVALID_ARGUMENT, problem + remedy)
    try:
        words, ignore_case = translated(pattern), pattern == pattern.lower()
        found = lines_matching(file.text, words, context.budget, ignore_case=ignore_case)
    except BadRegexp as error:
        problem = f"Argument 'match' is no regular expression: {error}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, problem) from error
    numbers = [at for at in found if at in lines]
    shown = {near for at in numbers for near in range(at - NEAR, at + NEAR + 1) if near in lines}
    shown |= {part.definition.line} if part.definition else set()
    count = plural(len(numbers), "line") if numbers else "no line"
    return replace(part, about=f"{count} for {quote(pattern)}", chosen=sorted(shown))


def _parts(asked: Range, read: Callable[[str], Text], context: Context) -> list[Part]:
    if not (asked.symbol.strip() or asked.path.strip()):
        message = "Argument 'path' is missing; without it, give 'symbol' or 'ranges'"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, message)
    if asked.symbol.strip() and not asked.path:
        found, unread = in_project(asked.symbol, context)
        if not found and unread:
            message = f"No file that was read defines {quote(asked.symbol)}: {unread}"
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
    count = file.line_count
    is_all = asked.match.strip() and (asked.start_line, asked.max_lines) == (1, DEFAULT_LINES)
    last = count if is_all else min(asked.start_line + asked.max_lines - 1, count)
    return [Part(file, asked.start_line, last, inside=_going_on(file, asked.start_line, last))]


def _of(file: Text, definition: Definition) -> Part:
    return Part(file, definition.first_line, definition.last_line, definition)


def _named(symbol: str, file: Text, context: Context) -> Sequence[Definition]:
    path = file.path
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


def _around(line: int, most: int, file: Text, path: str) -> Part:
    count = file.line_count
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


def _going_on(file: Text, start: int, last: int) -> Definition | None:
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
