r"""workspace/read_file: a window of lines of a text file, or of the unsaved buffer in its place.

Lines end at `\n`, `\r\n` counts as one, and a file that ends with a newline has an empty last line
(read 1). The text has a head, the lines with their numbers, and the call that shows more:

    src/app.py: lines 41-80 of 812
    41<TAB>def run():
    ...
    [more: start_line=81]

A line of more than `LINE_BYTES` is cut, and its end names the window of one line that shows more,
because a page of one line gets the whole limit. If that is too little as well, the line's end names
the byte, in UTF-8, at which the next page begins: `start_byte` is beyond the contract.

`symbol` reads the definition of that name, with the comments and decorators above it. `around`
reads the innermost definition that holds a line. `ranges` reads several parts at once, in order:
the limit cuts only the last one that is shown. The data have a list `ranges` then, and each item
has the data of a call for it alone, or its `error`.

`content` has the same lines, without escapes; `cut_lines` names those of which it has only a part.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backstaff.errors import ErrorCode, ToolError
from backstaff.reading import encoding as encodings
from backstaff.reading.source import TABLE, Origin, Settings
from backstaff.render.lines import fit, plural, shortened, size, some_of
from backstaff.render.names import CONTROLS, escaped, labels, quote, show, visible
from backstaff.tool import ESSENTIAL, Context, Keyword, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._matches import path_in_text
from backstaff.tools.workspace._ranges import (
    DEFAULT_LINES,
    MAX_LINES,
    MAX_RANGES,
    Part,
    Range,
    Several,
    answers,
    merged,
    parts,
)
from backstaff.tools.workspace._symbols import Defined, definition_data, lines_of
from backstaff.tools.workspace._window import LINE_BYTES, File, Line, Window, read_text

MAX_TEXT_BYTES = 4 << 20
"""Maximum number of bytes of a text. It is sent three times, and a frame holds 16 MiB."""
MAX_LEFT_OUT, MAX_NAME, NAMES_SHARE = 5, 60, 4
"""Maximum number of definitions that the end of a cut part names, of the bytes of a name, and the
part of the limit, a quarter, that the names take."""


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
        "Read the whole definition of this name, such as Server.run in a search's heading;"
        " without path, wherever it is.",
        absent="",
    )
    around: int | None = argument("Read the definition that holds this line.", minimum=1)
    ranges: tuple[Range, ...] = argument(
        "Read up to 20 parts at once: objects with symbol, around, or start_line and max_lines,"
        " and path where that is another file.",
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


def run(arguments: Arguments, context: Context) -> Result:
    """Read the window. Raises `ToolError` with the codes of read 6."""
    asked, encoding = arguments, arguments.encoding or ""
    _check(asked)
    is_window = not (asked.symbol.strip() or asked.around is not None or asked.ranges)
    limit = min(context.text_limit(2 << 20), MAX_TEXT_BYTES)
    room, files = max(limit, LINE_BYTES), dict[str, File]()

    def read_once(path: str) -> File:
        if path not in files:
            window = Window(asked.start_line, asked.start_byte, asked.max_lines, room)
            whole = not is_window or asked.start_line > 1
            files[path] = read_text(path, window, context, encoding, whole=whole)
        return files[path]

    def page(part: Part, left: int) -> Result:
        file, lines = part.file, part.file.lines
        if not is_window:
            window = Window(part.start, 0, part.last - part.start + 1, room)
            if file.text or not file.whole.line_count:
                window.take(file.text, 1, file.whole.line_count)
                lines = window.lines
            else:  # too large to be kept
                lines = read_text(file.source.path, window, context, encoding).lines
        return Page(asked, part, lines, left).result()

    if asked.ranges:
        return _together(list(answers(asked.ranges, asked.path, read_once, context)), page, limit)
    one = Range(asked.path, asked.start_line, asked.max_lines, asked.symbol, asked.around)
    try:
        found = parts(one, read_once, context)
    except Several as error:
        return _list(error.head, error.found)
    if len(found) == 1:
        return page(found[0], limit)
    together = _together(list(merged(found)), page, limit)
    if not together.truncated:
        return together
    several = [Defined(each.file.source.path, each.definition) for each in found if each.definition]
    return _list(f"{len(several)} definitions have that name", several)


def _check(asked: Arguments) -> None:
    given = asked.encoding
    if given is not None and not encodings.codec(given):
        problem = f"is no encoding that is known here: {quote(given)}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'encoding' {problem}")
    ways = bool(asked.symbol.strip()), asked.around is not None, bool(asked.ranges)
    if sum(ways) > 1:
        message = "Of the arguments 'symbol', 'around' and 'ranges' one call takes one"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, message)
    if len(asked.ranges) > MAX_RANGES:
        problem = f"has {len(asked.ranges)} items, more than the {MAX_RANGES} allowed"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'ranges' {problem}")


def _together(
    found: Sequence[Part | ToolError], page: Callable[[Part, int], Result], limit: int
) -> Result:
    """Return the pages of `found`, one after the other, in `limit` bytes together.

    `page` makes a page in the bytes that are left.
    """
    texts, data, truncated, left = list[str](), list[dict[str, object]](), False, limit

    def end(left_out: int) -> str:
        parts_left = f": {plural(left_out, 'part')} left out, ask for them again"
        return f"[cut at {limit:,} bytes{parts_left if left_out else ''}]\n"

    for number, answer in enumerate(found):
        room = max(left - size(end(len(found))), 0)
        is_cut = False
        if isinstance(answer, ToolError):
            text = f"[{answer.message}]\n"
            one: dict[str, object] = {"error": {"code": answer.code, "message": answer.message}}
        else:
            result = page(answer, room)
            text, one, is_cut = result.text, dict(result.data), bool(result.data["truncated"])
            truncated = truncated or result.truncated
        has_room = not texts or size(text) <= room
        if has_room:
            left -= size(text)
            texts.append(text)
            data.append(one)
        if is_cut or not has_room:
            texts.append(end(len(found) - number - has_room))
            truncated = True
            break
    paths = [one.file.source.path for one in found if isinstance(one, Part)]
    return Result(
        text="".join(texts),
        data={"ranges": data, "truncated": truncated},
        truncated=truncated,
        labels=lambda: labels(show, paths),
    )


def _list(head: str, found: Sequence[Defined]) -> Result:
    """List where the definitions `found` are: too many or too large to be read at once."""
    rows = [f"{path_in_text(one.path)} {lines_of(one.definition)}\n" for one in found]
    data = [{"path": one.path} | definition_data(one.definition) for one in found]
    return Result(
        text=f"{head}; give path and the whole name, or start_line:\n" + "".join(rows),
        data={"definitions": data},
        labels=lambda: labels(show, [one.path for one in found]),
    )


@dataclass(frozen=True, slots=True)
class Page:
    """The `lines` of a part, to be shown in `limit` bytes."""

    asked: Arguments
    part: Part
    lines: Sequence[Line]
    limit: int

    def result(self) -> Result:
        """Return as many of the lines as fit, and the call that shows the next (read 2)."""
        source, whole = self.part.file.source, self.part.file.whole
        lines, text = [line.first(LINE_BYTES) for line in self.lines], ""
        if len(lines) > 1:
            sizes = (size(self._row(at, line)) for at, line in enumerate(lines))
            text, shown = fit(lambda n: self._text(lines[:n]), len(lines), sizes, self.limit)
            lines = lines[: max(1, shown)]
        if len(lines) == 1:  # it gets the whole limit
            alone = self.lines[0]

            def taken(kept: int) -> int:
                return size(self._text([alone.first(kept)]))

            # Escapes take room, so the number of bytes that fit is found by trying.
            most = bisect_right(range(size(alone.text) + 1), self.limit, key=taken) - 1
            lines = [alone.first(max(0, most))]
        if len(lines) < 2:  # noqa: PLR2004  # several lines have their text already
            text = self._text(lines)
        first = self.part.start
        after = first + len(lines) if first + len(lines) <= self._last() else None
        definition = self.part.definition
        data = {
            "path": source.path,
            "content": "\n".join(line.text for line in lines),
            "truncated": after is not None,
            "next_start_line": after,
            "meta": {
                "byte_length": whole.byte_length,
                "line_count": whole.line_count,
                "returned_line_count": len(lines),
                "mtime_ms": source.mtime_ms,
            },
            "source": source.origin,
            "encoding": whole.encoding,
            "eol": Keyword(whole.eol),
            "revision": whole.revision,
            "cut_lines": [
                first + at
                for at, line in enumerate(lines)
                if line.left or (self.asked.start_byte and not at)
            ],
        }
        return Result(
            text=text,
            data=data | ({"definition": definition_data(definition)} if definition else {}),
            truncated=after is not None or any(line.left for line in lines),
            labels=lambda: labels(show, [source.path]),
        )

    def _text(self, lines: Sequence[Line]) -> str:
        rows = [self._row(at, line, alone=len(lines) == 1) for at, line in enumerate(lines)]
        return "".join((self._head(lines), *rows, self._more(len(lines))))

    def _head(self, lines: Sequence[Line]) -> str:
        source, whole, first = self.part.file.source, self.part.file.whole, self.part.start
        if not whole.line_count:
            window = "empty, 0 lines"
        elif not lines:
            window = f"no line {first}, as there are {plural(whole.line_count, 'line')}"
        elif len(lines) == 1:
            window = f"line {first} of {whole.line_count}"
        else:
            window = f"lines {first}-{first + len(lines) - 1} of {whole.line_count}"
        if lines and self.part.inside:
            window += f" (in {lines_of(self.part.inside)})"
        if self.part.outside:
            window += f" (line {self.part.outside} is in no definition)"
        if lines and self.asked.start_byte:
            window += f" from byte {self.asked.start_byte}"
        definition = self.part.definition
        name = f"{visible(definition.qualified)}, " if definition else ""
        controls = any(CONTROLS.search(line.text) for line in lines)
        facts = [
            f"{show(source.path)}: {name}{window}",
            "not saved yet in Emacs" if source.origin is Origin.BUFFER else None,
            whole.encoding if whole.encoding != "utf-8" else None,
            {"crlf": "CRLF", "cr": "CR only", "mixed": "mixed line ends"}.get(whole.eol),
            "control characters as escapes" if controls else None,
        ]
        above = "".join(f"{one.line}- {visible(one.text)}\n" for one in self.part.around)
        return ", ".join(filter(None, facts)) + "\n" + above

    def _row(self, at: int, line: Line, *, alone: bool = False) -> str:
        number = self.part.start + at
        mark = f"{number}\t" if self.asked.line_numbers else ""
        end = ""
        if line.left and alone and not line.text:
            end = f"[+{line.left} bytes left out for a limit of {self.limit} bytes]"
        elif self.asked.start_byte and not (at or line.text or line.left):
            end = f"[the line has only {plural(line.before, 'byte')}]"
        elif line.left:
            skipped = 0 if at else self.asked.start_byte
            # A line alone had the whole limit, so the next page begins where it ends.
            after = skipped + size(line.text) if alone or skipped else 0
            byte = f" start_byte={after}" if after else ""
            end = f"[+{line.left} bytes: start_line={number} max_lines=1{byte}]"
        return f"{mark}{CONTROLS.sub(escaped, line.text)}{end}\n"

    def _more(self, shown: int) -> str:
        """Return the call that shows more and, for a part, the definitions that it lacks."""
        after, made = self.part.start + shown, self.part.file.outline
        if after > self._last():
            return ""
        left = [
            f"{shortened(visible(one.name), MAX_NAME)} {one.first_line}-{one.last_line}"
            for one in (made.definitions if made and self._is_part() else ())
            if after <= one.line <= self.part.last
        ]
        names = some_of(left, len(left), between=", ", most=MAX_LEFT_OUT)
        told = f"; left out: {names}" if names and size(names) <= self.limit // NAMES_SHARE else ""
        return f"[more: start_line={after}{told}]\n"

    def _is_part(self) -> bool:
        """Return True if no line is wanted after the last one that was asked for."""
        return bool(self.asked.ranges or self.asked.symbol or self.part.definition)

    def _last(self) -> int:
        """Return the last line that can follow."""
        return self.part.last if self._is_part() else self.part.file.whole.line_count


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
