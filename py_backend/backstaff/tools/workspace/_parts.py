"""The parts of files that a read asks for: by lines, by the name of a definition, around a line.

A long definition stands for itself by some of its lines, and `match` chooses the lines of a part
(contract 007). A long class shows its own lines and a row for each member. A long function shows
its beginning, and the lines around the one that was asked for.
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
from backstaff.tool import Context, Result, argument
from backstaff.tools.workspace import _symbols
from backstaff.tools.workspace._matches import path_in_text

DEFAULT_LINES, MAX_LINES = 200, 500  # of `max_lines`
MAX_TOGETHER = 3  # definitions with one name that are read at once; more are listed
GAP = 3  # lines between two parts of a file that become one
LONG = 100  # lines of a definition that is shown whole in any case
WHOLE_SHARE = 3  # a longer function is shown whole if it takes a third of the limit
BEGINNING, AROUND, NEAR = 20, 15, 3  # lines of a long function, around one, around a match


@dataclass(frozen=True, slots=True)
class Range:
    """What to read of a file: an item of `ranges`, or a call without these."""

    path: str = argument(
        'Workspace-root-relative file path to read (e.g., "src/main.ts").', absent=""
    )
    start_line: int = argument(
        "1-based start line of the returned window (default: 1).", default=1, minimum=1
    )
    max_lines: int = argument(
        "Maximum number of lines to return (default: 200).",
        default=DEFAULT_LINES,
        minimum=1,
        maximum=MAX_LINES,
    )
    symbol: str = argument(
        "Definition to read, such as Server.run; without path, wherever it is.", absent=""
    )
    around: int | None = argument("A line: read the definition around it.", minimum=1)
    match: str = argument("Only lines that match this regexp.", absent="")


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of `file` from `start` to `last`: those of `definition`, or a window."""

    file: Text
    start: int
    last: int
    definition: Definition | None = None
    inside: Definition | None = None  # it goes on at the first line of the window
    around: Sequence[Definition] = ()  # they begin above the window
    about: str = ""  # words about an excerpt, which shows the lines `chosen` and the `members`
    chosen: Sequence[int] = ()
    members: Sequence[Definition] = ()
    goes_on: bool = False  # the lines behind the last one may be asked for next

    @property
    def lines(self) -> range:
        """The numbers of its lines, of which an excerpt shows the `chosen` ones alone."""
        return range(self.start, self.last + 1)

    def end(self) -> int:
        """Return the last line that can be shown after a part of it."""
        return self.file.line_count if self.goes_on else self.last

    def asked(self, start: int | None = None) -> dict[str, object]:
        """Return an item of `ranges` that asks for it, or for its lines from `start` on."""
        if self.definition and start is None:
            return {"path": self.file.path, "symbol": self.definition.qualified}
        first = start or self.start
        most = min(max(self.last - first + 1, 1), MAX_LINES)
        return {"path": self.file.path, "start_line": first, "max_lines": most}

    def touches(self, other: "Part") -> bool:
        """Return True if at most `GAP` lines of one file, whose text is kept, are between them."""
        gap = max(self.start, other.start) - min(self.last, other.last) - 1
        are_whole = not (self.about or other.about) and bool(self.file.text)
        return gap <= GAP and self.file.path == other.file.path and are_whole


class Several(ToolError):
    """More definitions of `symbol` are `found` than are read at once."""

    def __init__(self, symbol: str, found: Sequence[_symbols.Defined]) -> None:
        least = "At least " * (len(found) == _symbols.MAX_FOUND)
        self.head = f"{least}{len(found)} definitions have the name {quote(symbol)}"
        self.found = found
        message = f"{self.head}: {_symbols.listed(found)}; give path and the whole name"
        super().__init__(ErrorCode.INVALID_ARGUMENT, message)

    def listing(self) -> Result:
        """Return an answer that lists them, for a call that asks for nothing else."""
        rows = [f"{path_in_text(path)} {_symbols.lines_of(one)}\n" for path, one in self.found]
        data = [{"path": path} | _symbols.definition_data(one) for path, one in self.found]
        head = f"{self.head}; give path and the whole name, or start_line:\n"
        return Result(text=head + "".join(rows), data={"definitions": data})


def answers(
    ranges: Sequence[Range], path: str, read: Callable[[str], Text], context: Context, limit: int
) -> Iterator[Part | ToolError]:
    """Yield the parts of `ranges`, or their errors; `path` is the file of one without a path."""
    found: list[Part] = []
    for asked in ranges:
        try:
            one = parts(replace(asked, path=asked.path or path), read, context, limit)
            found += [replace(part, goes_on=False) for part in one]
        except ToolError as error:
            yield from merged(found)
            found = []
            if error.code == ErrorCode.APPROVAL_REQUIRED:  # a yes is about one file
                remedy = "; ask for it with path alone, so that the user can allow it"
                yield ToolError(ErrorCode.INVALID_ARGUMENT, error.message + remedy)
            else:
                yield error
    yield from merged(found)


def parts(asked: Range, read: Callable[[str], Text], context: Context, limit: int) -> list[Part]:
    """Return the parts that `asked` asks for, some as excerpts. Raises `ToolError`."""
    found = _parts(asked, read, context)
    if asked.match.strip():
        return [_matching(one, asked.match, context) for one in found]
    return [_shortened(one, asked.around, limit) for one in found]


def _shortened(part: Part, around: int | None, limit: int) -> Part:
    """Return the excerpt that stands for `part`, or `part` itself if it is not long."""
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
    if size("\n".join(text[part.start - 1 : part.last])) < limit // WHOLE_SHARE:
        return part
    shown, about = {*lines[: definition.line - part.start + BEGINNING]}, "its beginning"
    if around is not None:
        shown |= {at for at in range(around - AROUND, around + AROUND + 1) if at in lines}
        about += f", and lines around {around}"
    return replace(part, about=about, chosen=sorted(shown))


def _matching(part: Part, pattern: str, context: Context) -> Part:
    """Return the excerpt of the lines that `pattern` matches, those near them, and the head."""
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
    about = f"{plural(len(numbers), 'line') if numbers else 'no line'} for {quote(pattern)}"
    return replace(part, about=about, chosen=sorted(shown), goes_on=False)


def _parts(asked: Range, read: Callable[[str], Text], context: Context) -> list[Part]:
    if not (asked.symbol.strip() or asked.path.strip()):
        message = "Argument 'path' is missing; without it, give 'symbol' or 'ranges'"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, message)
    if not asked.path:
        found, unread = _symbols.in_project(asked.symbol, context)
        if not found:
            words = "; {} with definitions=true finds a part of a name"
            remedy = context.hint(words, "workspace/regexp_search")
            problem = f"No file that was read, in a known language, defines {quote(asked.symbol)}"
            raise ToolError(ErrorCode.NOT_FOUND, f"{problem} ({unread}){remedy}")
        if len({(path, one.qualified) for path, one in found}) > 1:
            raise Several(asked.symbol, found)
        path, one = found[0]
        # With the whole name: the file may define others whose names end alike.
        asked = replace(asked, path=path, symbol=one.qualified)
    file = read(asked.path)
    if asked.symbol.strip():
        named = _named(asked.symbol, file, context)
        return [Part(file, one.first_line, one.last_line, one) for one in named]
    if asked.around is not None:
        return [_around(asked.around, asked.max_lines, file, asked.path)]
    start, count = asked.start_line, file.line_count
    is_all = asked.match.strip() and (start, asked.max_lines) == (1, DEFAULT_LINES)
    last = count if is_all else min(start + asked.max_lines - 1, count)
    return [Part(file, start, last, inside=_inside(file, start, last), goes_on=True)]


def _named(symbol: str, file: Text, context: Context) -> Sequence[Definition]:
    outline, subject = file.outline, f"Path {quote(file.path)}"
    if outline is None or not outline.definitions:
        why = f", because it {outline.problem}" if outline and outline.problem else ""
        problem = f"{subject} has no definitions{why or ' that are known here'}"
        raise ToolError(ErrorCode.NOT_FOUND, f"{problem}: give start_line and max_lines")
    found = outline.named(symbol)
    if not found:
        likely = _symbols.near(outline, symbol, context.budget)
        elsewhere, _ = _symbols.in_project(symbol, context)
        message = f"{subject} defines no {quote(symbol)}"
        message += f"; the nearest names: {likely}" if likely else ""
        message += f"; it is defined in {_symbols.listed(elsewhere)}" if elsewhere else ""
        raise ToolError(ErrorCode.NOT_FOUND, message)
    if len(found) > MAX_TOGETHER:
        raise Several(symbol, [(file.path, one) for one in found])
    return found


def _around(line: int, most: int, file: Text, path: str) -> Part:
    count, outline = file.line_count, file.outline
    if line > count:
        problem = f"Path {quote(path)} has no line {line}, as it has {count}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, problem)
    found = outline.around(line) if outline else None
    if outline is None or found is None:
        start = max(1, min(line - most // 2, count - most + 1))
        return Part(file, start, min(count, start + most - 1), goes_on=True)
    if found.last_line - found.first_line < most:
        return Part(file, found.first_line, found.last_line, found)
    start = max(found.first_line, min(line - most // 2, found.last_line - most + 1))
    heads = [one for one in (*outline.above(found), found) if one.line < start]
    return Part(file, start, start + most - 1, around=heads, goes_on=True)


def _inside(file: Text, start: int, last: int) -> Definition | None:
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
            part = Part(part.file, start, last, within, _inside(part.file, start, last))
        yield part
