r"""workspace/read_file: a window of lines of a text file, or of the unsaved buffer in its place.

Lines end at `\n`, `\r\n` counts as one, and a file that ends with a newline has an empty last line
(read 1). The text has a head, the lines with their numbers, and what to call next:

    src/app.py: lines 41-80 of 812
    41<TAB>def run():
    ...
    [more: start_line=81]

A line of more than `LINE_BYTES` is cut, and its end names the window of one line that shows more: a
page of one line gets the whole limit. If that is too little as well, the line's end names the byte
of it, in UTF-8, at which the next page begins: `start_byte` is beyond the contract.

With `symbol` the lines are those of a definition with that name, comments and decorators above it
included; with `around`, of the innermost definition that holds a line. `ranges` asks for several
parts at once, which are answered in order: where the limit cuts one, it is the last that is shown.
Then the data have a list `ranges`, with what a call for each would have, or its `error`.

`content` has the lines as the text has them, but without escapes; `cut_lines` names those of which
it has only a part.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from backstaff.errors import ErrorCode, Fault, NotAFile, PathError, ToolError
from backstaff.fs.entry import Kind
from backstaff.reading import encoding as encodings
from backstaff.reading.source import TABLE, ContentError, Origin, Settings, Source, opened
from backstaff.reading.text import LineSink, TextFacts, read
from backstaff.render.lines import fitting, plural, shortened, size, some_of
from backstaff.render.names import CONTROLS, escaped, labels, quote, show, visible
from backstaff.render.refusals import READ_FILE, refused
from backstaff.structure.outline import MAX_CHARACTERS, outline
from backstaff.tool import ESSENTIAL, Context, Keyword, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._matches import path_in_text
from backstaff.tools.workspace._ranges import (
    DEFAULT_LINES,
    MAX_LINES,
    MAX_RANGES,
    File,
    Part,
    Range,
    Several,
    head,
    merged,
    parts,
)
from backstaff.tools.workspace._refusals import nearest, nearest_names
from backstaff.tools.workspace._symbols import Defined, definition_data, lines_of

MAX_TEXT_BYTES = 4 << 20
"""No limit makes a page larger: it comes as text, data and output, and a frame holds 16 MiB."""
LINE_BYTES = 2_000
MAX_LEFT_OUT, MAX_NAME, MAX_NAMES = 5, 60, 500
"""Definitions that the end of a cut part names, the bytes of each name, and those of all."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

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
        'Read the definition of this name, such as "Server.run"; without path, wherever it is.',
        absent="",
    )
    around: int | None = argument(
        "Read the definition that holds this line.", minimum=1, whole=True
    )
    ranges: tuple[Range, ...] = argument(
        'Read up to 20 parts at once: objects with "symbol", "around", or "start_line" and'
        ' "max_lines", and "path" where that is another file.',
        absent=(),
    )
    start_byte: int = argument(
        "Where in its first line the window starts: only where an answer asked for it.",
        default=0,
        minimum=0,
        hidden=True,
    )
    line_numbers: bool = argument(
        "Put its number before each line of the text.", default=True, hidden=True
    )
    encoding: str | None = argument(
        "How to decode a file that is not UTF-8: only where an answer asked for it.", hidden=True
    )


@dataclass(slots=True)
class Line:
    """The first characters of a line of the window; `left` bytes of it, in UTF-8, follow them.

    `before` bytes of it, which `start_byte` skips, go before them.
    """

    text: str = ""
    left: int = 0
    before: int = 0

    def add(self, piece: str, most: int) -> None:
        """Add `piece` to the line, but keep no more than `most` bytes of it."""
        if self.left:
            self.left += size(piece)
            return
        kept = _first(piece, most - size(self.text))
        self.text += kept
        if len(kept) < len(piece):
            self.left = size(piece) - size(kept)

    def first(self, most: int) -> "Line":
        """The line with at most `most` bytes of its text."""
        text = _first(self.text, most)
        if len(text) == len(self.text):
            return self
        return Line(text, self.left + size(self.text) - size(text), self.before)


@dataclass(slots=True)
class Window:
    """Takes a text in pieces, and keeps the lines from `start` on, as many as `count`.

    The first `skip` bytes of the first line are left out. It may be shown alone, so all of it is
    kept that a text of `limit` bytes can show. Where `all_text` is a list, it gets all of the text.
    """

    start: int
    skip: int
    count: int
    limit: int
    lines: list[Line] = field(default_factory=list)
    all_text: list[str] | None = None

    def take(self, text: str, first: int, last: int) -> bool:
        """Take the next piece of the text; return whether more is wanted."""
        if self.all_text is not None:
            self.all_text.append(text)
        if last < self.start:
            return True
        for number, piece in enumerate(text.split("\n"), first):
            position = number - self.start
            if 0 <= position < self.count:
                if position == len(self.lines):
                    self.lines.append(Line())
                if self.skip and not position:
                    whole = piece.encode()
                    piece = whole[self.skip :].decode(errors="ignore")  # its rest  # noqa: PLW2901  # its rest
                    self.lines[0].before += len(whole) - size(piece)
                    self.skip = max(0, self.skip - len(whole))
                self.lines[position].add(piece, LINE_BYTES if position else self.limit)
        return self.all_text is not None or last < self.start + self.count


def run(arguments: Arguments, context: Context) -> Result:
    """Read the window. Raises `ToolError` with the codes of read 6."""
    _check(arguments)
    limit = min(context.text_limit(2 << 20), MAX_TEXT_BYTES)
    files: dict[str, tuple[File, Sequence[Line]]] = {}
    of = Range(
        arguments.path,
        arguments.start_line,
        arguments.max_lines,
        arguments.symbol,
        arguments.around,
    )

    def page(part: Part, lines: Sequence[Line], room: int) -> Page:
        asked = replace(arguments, start_line=part.start)
        return Page(asked, part, part.file.source, part.file.whole, lines, room)

    def read_whole(path: str) -> File:
        """Read the file `path` once for all parts of it."""
        if path not in files:
            start, count = arguments.start_line, arguments.max_lines
            window = Window(start, arguments.start_byte, count, max(limit, LINE_BYTES))
            is_plain = not (arguments.ranges or of.symbol or of.around)
            given = arguments.encoding or ""
            files[path] = read_text(
                path, window, context, encoding=given, whole=not is_plain or start > 1
            )
        return files[path][0]

    def lines_of_part(part: Part) -> Sequence[Line]:
        window = Window(part.start, 0, part.last - part.start + 1, max(limit, LINE_BYTES))
        window.take(part.file.text, 1, part.file.whole.line_count)
        return window.lines

    if not arguments.ranges:
        try:
            found = parts(of, read_whole, context)
        except Several as error:
            return _list(error.head, error.found)
        if len(found) == 1:
            is_plain = not (of.symbol.strip() or of.around)
            lines = files[of.path][1] if is_plain else lines_of_part(found[0])
            return page(found[0], lines, limit).result()
        several = [Defined(one.file.source.path, one.definition) for one in found if one.definition]
        answers: list[Part | ToolError] = list(merged(found))
    else:
        several = []
        answers = list(_answers(arguments, read_whole, context))
    return _together(
        answers, lambda part, room: page(part, lines_of_part(part), room), limit, several
    )


def _together(
    answers: Sequence[Part | ToolError],
    page: Callable[[Part, int], "Page"],
    limit: int,
    several: Sequence[Defined],
) -> Result:
    """The pages of `answers`, one after the other, in `limit` bytes together.

    `page` makes one that has some room. If `several` definitions of one name do not fit, they are
    told.
    """
    texts, data, truncated, left = list[str](), list[dict[str, object]](), False, limit

    def end(left_out: int) -> str:
        parts = f": {plural(left_out, 'part')} left out, ask for them again" if left_out else ""
        return f"[cut at {limit:,} bytes{parts}]\n"

    for number, answer in enumerate(answers):
        room = max(left - size(end(len(answers))), 0)
        is_cut = False
        if isinstance(answer, ToolError):
            text = f"[{answer.message}]\n"
            one: dict[str, object] = {"error": {"code": answer.code, "message": answer.message}}
        else:
            result = page(answer, room).result()
            text, one, is_cut = result.text, dict(result.data), bool(result.data["truncated"])
            truncated = truncated or result.truncated
        has_room = not texts or size(text) <= room
        if has_room:
            left -= size(text)
            texts.append(text)
            data.append(one)
        if is_cut or not has_room:
            texts.append(end(len(answers) - number - has_room))
            truncated = True
            break
    if truncated and several:
        return _list(f"{len(several)} definitions have that name", several)
    paths = [one.file.source.path for one in answers if isinstance(one, Part)]
    return Result(
        text="".join(texts),
        data={"ranges": data, "truncated": truncated},
        truncated=truncated,
        labels=lambda: labels(show, paths),
    )


def _list(head: str, found: Sequence[Defined]) -> Result:
    """Where the definitions `found` are, which are too many or too large to be read at once."""
    rows = [f"{path_in_text(one.path)} {lines_of(one.definition)}\n" for one in found]
    data = [{"path": one.path} | definition_data(one.definition) for one in found]
    return Result(
        text=f"{head}; give path and the whole name, or start_line:\n" + "".join(rows),
        data={"definitions": data},
        labels=lambda: labels(show, [one.path for one in found]),
    )


def _check(arguments: Arguments) -> None:
    given, asked = arguments.encoding, arguments
    if given is not None and not encodings.codec(given):
        problem = f"is no encoding that is known here: {quote(given)}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'encoding' {problem}")
    ways = [bool(asked.symbol.strip()), asked.around is not None, bool(asked.ranges)]
    if sum(ways) > 1:
        message = "Of the arguments 'symbol', 'around' and 'ranges' one call takes one"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, message)
    if len(asked.ranges) > MAX_RANGES:
        problem = f"has {len(asked.ranges)} items, more than the {MAX_RANGES} allowed"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'ranges' {problem}")


def _answers(
    arguments: Arguments, read_whole: Callable[[str], File], context: Context
) -> Iterator[Part | ToolError]:
    """Yield the parts that the ranges mean, those that touch as one, or why there is none."""
    found: list[Part] = []
    for asked in arguments.ranges:
        try:
            one = replace(asked, path=asked.path or arguments.path)
            found += parts(one, read_whole, context)
        except ToolError as error:
            yield from merged(found)
            found = []
            yield error
    yield from merged(found)


def read_text(
    path: str, window: Window, context: Context, *, encoding: str = "", whole: bool = True
) -> tuple[File, Sequence[Line]]:
    """Read the file `path`, and the lines of `window`; all of its text, too, where `whole`.

    No text is kept that is too large for an outline. Raises `ToolError` with the codes of read 6.
    """
    windows: list[Window] = []

    def taker() -> LineSink:
        kept = list[str]() if whole and source.size <= MAX_CHARACTERS else None
        windows[:] = [replace(window, lines=[], all_text=kept)]
        return windows[0]

    try:
        with opened(path, context) as source:
            read_of = read(source, encoding, taker)
    except ContentError as error:
        likely = " or ".join(f'encoding="{name}"' for name in error.suggestions)
        remedy = f"; call again with encoding, perhaps {likely}" if likely else ""
        message = f"Path {quote(path)} cannot be read: {error.message}{remedy}"
        raise ToolError(error.code, message, **error.details) from error
    except PathError as error:
        raise _refusal(error, path, context) from error
    text = "".join(windows[0].all_text or ())
    made = outline(text, source.path, context.budget) if text else None
    return File(source, read_of, text, made), windows[0].lines if read_of.line_count else []


@dataclass(frozen=True, slots=True)
class Page:
    """The `lines` of a window, to be shown in `limit` bytes."""

    arguments: Arguments
    part: Part
    source: Source
    whole: TextFacts
    lines: Sequence[Line]
    limit: int

    def result(self) -> Result:
        """As many of the lines as fit, and the call that shows the next (read 2)."""
        lines = [line.first(LINE_BYTES) for line in self.lines]
        text = self._text(lines)
        if len(lines) > 1 and size(text) > self.limit:
            # The longest head and last line there can be, as both have numbers of what is shown.
            controls = any(CONTROLS.search(line.text) for line in lines)
            first = self._head(len(lines), controls=controls)
            around = size(first + self._more(self.whole.line_count)) + self._room_for_names()
            sizes = (size(self._row(at, line)) for at, line in enumerate(lines))
            lines = lines[: max(1, fitting(sizes, self.limit - around))]
            text = self._text(lines)
        if len(lines) == 1:
            lines = [self._alone()]
            text = self._text(lines)
        return self._result(lines, text)

    def _alone(self) -> Line:
        """The first line, with as much of it as the limit allows."""
        line = self.lines[0]
        if size(self._text([line])) <= self.limit:
            return line
        low, high = 0, len(line.text)
        while low < high:  # escapes take room, so how much fits is found by trying
            middle = (low + high + 1) // 2
            if size(self._text([line.first(size(line.text[:middle]))])) <= self.limit:
                low = middle
            else:
                high = middle - 1
        return line.first(size(line.text[:low]))

    def _text(self, lines: Sequence[Line]) -> str:
        rows = [self._row(at, line, alone=len(lines) == 1) for at, line in enumerate(lines)]
        controls = any(CONTROLS.search(line.text) for line in lines)
        after = self.arguments.start_line + len(lines)
        return self._head(len(lines), controls=controls) + "".join(rows) + self._more(after)

    def _head(self, shown: int, *, controls: bool) -> str:
        first, count = self.arguments.start_line, self.whole.line_count
        if not count:
            window = "empty, 0 lines"
        elif not shown:
            window = f"no line {first}, as there are {plural(count, 'line')}"
        elif shown == 1:
            window = f"line {first} of {count}"
        else:
            window = f"lines {first}-{first + shown - 1} of {count}"
        if shown and self.part.inside:
            window += f" (in {lines_of(self.part.inside)})"
        if shown and self.arguments.start_byte:
            window += f" from byte {self.arguments.start_byte}"
        eol = {"crlf": "CRLF", "cr": "CR only", "mixed": "mixed line ends"}.get(self.whole.eol)
        facts = [
            f"{show(self.source.path)}: {head(self.part)}{window}",
            "not saved yet in Emacs" if self.source.origin is Origin.BUFFER else None,
            self.whole.encoding if self.whole.encoding != "utf-8" else None,
            eol,
            "control characters as escapes" if controls else None,
        ]
        above = "".join(f"{one.line}- {visible(one.text)}\n" for one in self.part.around)
        return ", ".join(filter(None, facts)) + "\n" + above

    def _row(self, at: int, line: Line, *, alone: bool = False) -> str:
        number = self.arguments.start_line + at
        mark = f"{number}\t" if self.arguments.line_numbers else ""
        end = ""
        if line.left and alone and not line.text:
            end = f"[+{line.left} bytes left out for a limit of {self.limit} bytes]"
        elif self.arguments.start_byte and not (at or line.text or line.left):
            end = f"[the line has only {plural(line.before, 'byte')}]"
        elif line.left:
            end = f"[+{line.left} bytes: start_line={number} max_lines=1"
            skipped = 0 if at else self.arguments.start_byte
            # Alone it has had all the room there is, so the next page begins where it ends.
            after = skipped + size(line.text) if alone or skipped else 0
            end += f" start_byte={after}]" if after else "]"
        return f"{mark}{CONTROLS.sub(escaped, line.text)}{end}\n"

    def _more(self, after: int) -> str:
        if after > self._last():
            return ""
        return f"[more: start_line={after}{self._names(after)}]\n"

    def _is_part(self) -> bool:
        """Whether no line after the last that was asked for is wanted."""
        return bool(self.arguments.ranges or self.part.definition)

    def _last(self) -> int:
        """The last line that can follow."""
        return self.part.last if self._is_part() else self.whole.line_count

    def _room_for_names(self) -> int:
        """The bytes for the definitions that are left out of a part."""
        return min(MAX_NAMES, self.limit // 4) * self._is_part()

    def _names(self, after: int) -> str:
        """The definitions from line `after` on that are left out of a part: `; run 40-97, ...`."""
        if not self._is_part() or not self.part.file.outline:
            return ""
        left = [
            f"{shortened(visible(one.name), MAX_NAME)} {one.line}-{one.last_line}"
            for one in self.part.file.outline.definitions
            if after <= one.line <= self.part.last
        ]
        return f"; left out: {some_of(left, len(left), between=', ', most=MAX_LEFT_OUT)}" * bool(
            left
        )

    def _result(self, lines: Sequence[Line], text: str) -> Result:
        first, count = self.arguments.start_line, self.whole.line_count
        after = first + len(lines) if first + len(lines) <= self._last() else None
        cut = [
            first + at
            for at, line in enumerate(lines)
            if line.left or (self.arguments.start_byte and not at)
        ]
        return Result(
            text=text,
            data={
                "path": self.source.path,
                "content": "\n".join(line.text for line in lines),
                "truncated": after is not None,
                "next_start_line": after,
                "meta": {
                    "byte_length": self.whole.byte_length,
                    "line_count": count,
                    "returned_line_count": len(lines),
                    "mtime_ms": self.source.mtime_ms,
                },
                "source": self.source.origin,
                "encoding": self.whole.encoding,
                "eol": Keyword(self.whole.eol),
                "revision": self.whole.revision,
                "cut_lines": cut,
            }
            | (
                {"definition": definition_data(self.part.definition)}
                if self.part.definition
                else {}
            ),
            truncated=after is not None or any(line.left for line in lines),
            labels=lambda: labels(show, [self.source.path]),
        )


def _first(text: str, most: int) -> str:
    """The first characters of `text` that take at most `most` bytes."""
    if len(text) <= most // 4 or (len(text) <= most and size(text) <= most):
        return text
    return text[:most].encode()[:most].decode(errors="ignore")


def _refusal(error: PathError, path: str, context: Context) -> ToolError:
    """The error for `error` in the words and codes of read 6."""
    near = nearest(path, context) if error.fault is Fault.MISSING else []
    kind = ""
    if isinstance(error, NotAFile) and error.kind == Kind.DIRECTORY:
        shows = f"{context.named('workspace/tree')} shows what is in it"
        kind = f'is a directory: {shows} with entry_kind="all"'
    elif isinstance(error, NotAFile):
        describes = f"{context.named('agent-q/get_file_info')} describes it"
        kind = f"is no regular file: {error.message}; {describes}"
    refusal = refused(error, path, READ_FILE, near=nearest_names(near), kind=kind)
    # The file that a link without a target is to lead to has another name than the link.
    if error.fault in {Fault.MISSING, Fault.DANGLING}:
        refusal.details["nearest"] = near
    return refusal


TOOL = Tool(
    description=(
        "Reads a UTF-8 text file in the workspace and returns a line-limited content window."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    preset=4,
    categories=(
        ESSENTIAL,
        "filesystem",
    ),
    reads_content=True,
    settings=Settings,
    table=TABLE,
)
