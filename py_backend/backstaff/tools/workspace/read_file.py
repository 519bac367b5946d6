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

`content` has the lines as the text has them, but without escapes; `cut_lines` names those of which
it has only a part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from backstaff.errors import ErrorCode, Fault, NotAFile, PathError, ToolError
from backstaff.fs.entry import Kind
from backstaff.reading import encoding as encodings
from backstaff.reading.source import TABLE, ContentError, Origin, Settings, Source, opened
from backstaff.reading.text import LineSink, TextFacts, read
from backstaff.render.lines import fitting, plural, size
from backstaff.render.names import CONTROLS, escaped, labels, quote, show
from backstaff.render.refusals import READ_FILE, refused
from backstaff.tool import ESSENTIAL, Context, Keyword, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._refusals import nearest, nearest_names

MAX_TEXT_BYTES = 4 << 20
"""No limit makes a page larger: it comes as text, data and output, and a frame holds 16 MiB."""
LINE_BYTES = 2_000
MAX_LINES = 500


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

    path: str = argument('Workspace-root-relative file path to read (e.g., "src/main.ts").')
    start_line: int = argument(
        "1-based start line of the returned window (default: 1).", default=1, minimum=1
    )
    max_lines: int = argument(
        "Maximum number of lines to return (default: 200).",
        default=200,
        minimum=1,
        maximum=MAX_LINES,
    )
    start_byte: int = argument(
        "Where in its first line the window starts: only where an answer asked for it.",
        default=0,
        minimum=0,
    )
    line_numbers: bool = argument("Put its number before each line of the text.", default=True)
    encoding: str | None = argument(
        "How to decode a file that is not UTF-8: only where an answer asked for it."
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
        """Add PIECE to the line, but keep no more than MOST bytes of it."""
        if self.left:
            self.left += size(piece)
            return
        kept = _first(piece, most - size(self.text))
        self.text += kept
        if len(kept) < len(piece):
            self.left = size(piece) - size(kept)

    def first(self, most: int) -> "Line":
        """The line with at most MOST bytes of its text."""
        text = _first(self.text, most)
        if len(text) == len(self.text):
            return self
        return Line(text, self.left + size(self.text) - size(text), self.before)


@dataclass(slots=True)
class Window:
    """Takes a text in pieces, and keeps the lines from START on, as many as COUNT.

    The first `skip` bytes of the first line are left out. It may be shown alone, so all of it is
    kept that a text of LIMIT bytes can show.
    """

    start: int
    skip: int
    count: int
    limit: int
    lines: list[Line] = field(default_factory=list)

    def take(self, text: str, first: int, last: int) -> bool:
        """Take the next piece of the text; return whether more is wanted."""
        if last < self.start:
            return True
        for number, piece in enumerate(text.split("\n"), first):
            position = number - self.start
            if 0 <= position < self.count:
                if position == len(self.lines):
                    self.lines.append(Line())
                if self.skip and not position:
                    whole = piece.encode()
                    piece = whole[self.skip :].decode(errors="ignore")  # noqa: PLW2901  # its rest
                    self.lines[0].before += len(whole) - size(piece)
                    self.skip = max(0, self.skip - len(whole))
                self.lines[position].add(piece, LINE_BYTES if position else self.limit)
        return last < self.start + self.count


def run(arguments: Arguments, context: Context) -> Result:
    """Read the window. Raises `ToolError` with the codes of read 6."""
    given = arguments.encoding
    if not arguments.path.strip():
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'path' must not be blank")
    if given is not None and not encodings.codec(given):
        problem = f"is no encoding that is known here: {quote(given)}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'encoding' {problem}")
    limit = min(context.text_limit(2 << 20), MAX_TEXT_BYTES)
    windows: list[Window] = []

    def taker() -> LineSink:
        start, skip, count = arguments.start_line, arguments.start_byte, arguments.max_lines
        windows[:] = [Window(start, skip, count, max(limit, LINE_BYTES))]
        return windows[0]

    try:
        with opened(arguments.path, context) as source:
            whole = read(source, given or "", taker)
    except ContentError as error:
        likely = " or ".join(f'encoding="{name}"' for name in error.suggestions)
        remedy = f"; call again with encoding, perhaps {likely}" if likely else ""
        message = f"Path {quote(arguments.path)} cannot be read: {error.message}{remedy}"
        raise ToolError(error.code, message, **error.details) from error
    except PathError as error:
        raise _refusal(error, arguments.path, context) from error
    lines = windows[0].lines if whole.line_count else []
    return Page(arguments, source, whole, lines, limit).result()


@dataclass(frozen=True, slots=True)
class Page:
    """The LINES of a window, to be shown in LIMIT bytes."""

    arguments: Arguments
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
            head = self._head(len(lines), controls=controls)
            around = size(head + self._more(self.whole.line_count))
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
        if shown and self.arguments.start_byte:
            window += f" from byte {self.arguments.start_byte}"
        eol = {"crlf": "CRLF", "cr": "CR only", "mixed": "mixed line ends"}.get(self.whole.eol)
        facts = [
            f"{show(self.source.path)}: {window}",
            "not saved yet in Emacs" if self.source.origin is Origin.BUFFER else None,
            self.whole.encoding if self.whole.encoding != "utf-8" else None,
            eol,
            "control characters as escapes" if controls else None,
        ]
        return ", ".join(filter(None, facts)) + "\n"

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
        return f"[more: start_line={after}]\n" if after <= self.whole.line_count else ""

    def _result(self, lines: Sequence[Line], text: str) -> Result:
        first, count = self.arguments.start_line, self.whole.line_count
        after = first + len(lines) if first + len(lines) <= count else None
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
            },
            truncated=after is not None or any(line.left for line in lines),
            labels=lambda: labels(show, [self.source.path]),
        )


def _first(text: str, most: int) -> str:
    """The first characters of TEXT that take at most MOST bytes."""
    if len(text) <= most // 4 or (len(text) <= most and size(text) <= most):
        return text
    return text[:most].encode()[:most].decode(errors="ignore")


def _refusal(error: PathError, path: str, context: Context) -> ToolError:
    """The error for ERROR in the words and codes of read 6."""
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
