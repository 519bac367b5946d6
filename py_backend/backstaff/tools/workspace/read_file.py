r"""workspace/read_file: a window of lines of a text file, or of the unsaved buffer in its place.

Lines end at `\n`, `\r\n` counts as one, and a file that ends with a newline has an empty last line
(read 1). The text has a head, the lines with their numbers, and the call that shows more:

    src/app.py: lines 41-80 of 812
    41<TAB>def run():
    ...
    [more: start_line=81]

A line of more than `LINE_BYTES` is cut, and its end names the window of one line that shows more,
because a page of one line gets the whole limit.

`symbol` reads the definition of that name, with the comments and decorators above it. `around`
reads the innermost definition that holds a line. A long definition stands for itself by some of its
lines, and `match` chooses the lines of a part (`_parts`); both end with the call that reads all:

    src/app.py: Server, lines 33-197 of 812 (its own lines, and the lines of its members)
    33<TAB>class Server:
    41-80<TAB>def run(self)
    [whole: start_line=33 max_lines=165]

`ranges` reads several parts at once, in order. Parts that take little of the limit come whole. The
others share the rest, and where it ends, the answer names the missing ones as the next `ranges`.
The data have a list `ranges` then, of which each item has the data of a call for it alone or its
`error`, and a list `missing`. Where all parts fail, the call does.

`content` has the same lines, without escapes; `cut_lines` names those of which it has only a part.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from backstaff.errors import ErrorCode, ToolError
from backstaff.reading import encoding as encodings
from backstaff.reading.text import LINE_BYTES, TABLE, Line, Settings, Text, Window
from backstaff.render.lines import fit, plural, size, some_of
from backstaff.render.names import CONTROLS, escaped, quote, show, visible
from backstaff.tool import MODEL_TEXT_BYTES, Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._matches import path_in_text
from backstaff.tools.workspace._parts import (
    DEFAULT_LINES,
    MAX_LEFT_OUT,
    MAX_LINES,
    MAX_RANGES,
    MAX_TEXT_BYTES,
    MEMBER_BYTES,
    NAMED_BYTES,
    NAMES_SHARE,
    SHORT_SHARE,
    Part,
    Range,
    Several,
    answers,
    merged,
    parts,
)
from backstaff.tools.workspace._refusals import read_text
from backstaff.tools.workspace._symbols import (
    Defined,
    definition_data,
    lines_of,
    own_line,
    span_of,
)


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
        "Definition to read, such as Server.run; without path, wherever it is.",
        absent="",
    )
    around: int | None = argument("A line: read the definition around it.", minimum=1)
    match: str = argument("Only lines that match this regexp.", absent="")
    ranges: tuple[Range, ...] = argument(
        f"Several reads in one call, of any files: up to {MAX_RANGES} parts"
        " {path, symbol|around|start_line, max_lines, match},"
        f" {MODEL_TEXT_BYTES} bytes in all.",
        absent=(),
    )
    line_numbers: bool = argument(
        "Put its number before each line of the text.", default=True, hidden=True
    )
    encoding: str | None = argument("As an answer names it.")


def run(arguments: Arguments, context: Context) -> Result:
    """Read the window. Raises `ToolError` with the codes of read 6."""
    asked, encoding = arguments, arguments.encoding or ""
    _check(asked)
    is_window = not any((asked.symbol.strip(), asked.around, asked.ranges, asked.match.strip()))
    limit = min(context.text_limit(2 << 20), MAX_TEXT_BYTES)
    room, files = max(limit, LINE_BYTES), dict[str, Text]()

    def read_once(path: str) -> Text:
        if path not in files:
            is_whole = not is_window or asked.start_line > 1
            window = Window(asked.start_line, asked.max_lines, room, is_whole)
            files[path] = read_text(path, window, context, encoding)
        return files[path]

    def page(part: Part, left: int) -> Result:
        file, lines = part.file, part.file.lines
        numbers = part.chosen if part.about else part.lines
        if file.text and not is_window:
            text = file.text.split("\n")
            # The first line may be shown alone, in all of the limit.
            lines = [Line(text[at - 1]).first(room) for at in numbers]
        elif not is_window and part.lines:  # it is too large to be kept
            window = Window(part.start, len(part.lines), room)
            lines = read_text(file.path, window, context, encoding).lines
        return Page(asked, part, left).result(dict(zip(numbers, lines, strict=False)))

    if asked.ranges:
        return _together(
            list(answers(asked.ranges, asked.path, read_once, context, limit)), page, limit
        )
    one = Range(
        asked.path, asked.start_line, asked.max_lines, asked.symbol, asked.around, asked.match
    )
    try:
        found = parts(one, read_once, context, limit)
    except Several as error:
        return _list(error.head, error.found)
    if len(found) == 1:
        return page(found[0], limit)
    together = _together(list(merged(found)), page, limit)
    if not together.data["missing"]:
        return together
    several = [Defined(each.file.path, each.definition) for each in found if each.definition]
    return _list(f"{len(several)} definitions have that name", several)


def _check(asked: Arguments) -> None:
    given, count = asked.encoding, len(asked.ranges)
    ways = bool(asked.symbol.strip()), asked.around is not None, bool(asked.ranges)
    problem = ""
    if given is not None and not encodings.codec(given):
        problem = f"Argument 'encoding' is no encoding that is known here: {quote(given)}"
    elif sum(ways) > 1:
        problem = "Of the arguments 'symbol', 'around' and 'ranges' one call takes one"
    elif asked.match.strip() and asked.ranges:
        problem = "Argument 'match' stands in an item of 'ranges', where these are given"
    elif count > MAX_RANGES:
        problem = f"Argument 'ranges' has {count} items, more than the {MAX_RANGES} allowed"
    if problem:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, problem)


def _together(
    found: Sequence[Part | ToolError], page: Callable[[Part, int], Result], limit: int
) -> Result:
    """Return the pages of `found`, one after the other, in `limit` bytes together.

    `page` makes a page in the bytes that are left. Raises `ToolError` if there is none.
    """
    errors = [one for one in found if isinstance(one, ToolError)]
    if len(errors) == len(found):
        code, message = errors[0].code, "; ".join(dict.fromkeys(one.message for one in errors))
        # A secret among several parts is not asked for, because a yes is about one file.
        is_secret = code == ErrorCode.APPROVAL_REQUIRED
        raise ToolError(ErrorCode.INVALID_ARGUMENT if is_secret else code, message)
    pages = [
        page(one, limit)
        if isinstance(one, Part)
        else Result(
            text=f"[{one.message}]\n", data={"error": {"code": one.code, "message": one.message}}
        )
        for one in found
    ]
    # A page that is cut at the limit would be longer.
    is_cut = [one.data.get("next_start_line") is not None for one in pages]
    sizes = [limit + 1 if cut else size(one.text) for one, cut in zip(pages, is_cut, strict=True)]
    left, reserved, short = limit, 0, limit // SHORT_SHARE
    if sum(sizes) > limit:
        long = [taken for taken in sizes if taken > short]
        reserved = min(NAMED_BYTES * (1 + len(long)), limit // 4)  # for the names of missing ones
        left -= min(limit, sum(sizes) - sum(long) + reserved)
    shown, missing, used = list[Result](), list[object](), 0
    for part, whole, taken in zip(found, pages, sizes, strict=True):
        is_short, one = taken <= short and used + taken <= limit - reserved, whole
        if isinstance(part, Part) and not is_short and taken > left:
            if left < short and shown:
                missing.append(part.asked())
                continue
            one = page(part, max(left, 0))
            after = one.data["next_start_line"]
            missing += [part.asked(after)] if isinstance(after, int) else []
        left -= 0 if is_short else size(one.text)
        used += size(one.text)
        shown.append(one)
    truncated = bool(missing) or any(one.truncated for one in shown)
    return Result(
        text="".join(one.text for one in shown) + _missing(missing, limit, limit - used),
        data={"ranges": [one.data for one in shown], "missing": missing, "truncated": truncated},
        truncated=truncated,
    )


def _missing(parts: Sequence[object], limit: int, room: int) -> str:
    """Return the line that names the `parts` that an answer lacks, as the next `ranges`.

    It counts those for which the `room` in bytes is too little.
    """

    def line(named: int) -> str:
        literal = visible(json.dumps(parts[:named], ensure_ascii=False))
        more = f" and {plural(len(parts) - named, 'part')}" if named < len(parts) else ""
        which = f"ranges={literal}{more}" if named else plural(len(parts), "part")
        return f"[cut at {limit:,} bytes, missing: {which}]\n"

    shown = next((at for at in range(len(parts), 0, -1) if size(line(at)) <= room), 0)
    return line(shown) if parts else ""


def _list(head: str, found: Sequence[Defined]) -> Result:
    """List where the definitions `found` are: too many or too large to be read at once."""
    rows = [f"{path_in_text(one.path)} {lines_of(one.definition)}\n" for one in found]
    data = [{"path": one.path} | definition_data(one.definition) for one in found]
    return Result(
        text=f"{head}; give path and the whole name, or start_line:\n" + "".join(rows),
        data={"definitions": data},
    )


@dataclass(frozen=True, slots=True)
class Page:
    """A part, to be shown in `limit` bytes."""

    asked: Arguments
    part: Part
    limit: int

    def result(self, given: Mapping[int, Line]) -> Result:
        """Return as many of the lines `given` as fit, and the call that shows more (read 2)."""
        part = self.part
        lines = {at: line.first(LINE_BYTES) for at, line in given.items()}
        rows = [(at, self._row(at, line)) for at, line in lines.items()]
        rows += [
            (one.line, f"{span_of(one)}\t{own_line(one, MEMBER_BYTES)}\n") for one in part.members
        ]
        rows.sort()
        if part.about and not part.members:  # something is left out between lines that are apart
            for number in range(len(rows) - 1, 0, -1):
                if rows[number][0] > rows[number - 1][0] + 1:
                    rows[number] = rows[number][0], f"--\n{rows[number][1]}"

        def text(count: int) -> str:
            after = rows[count][0] if count < len(rows) else part.last + 1
            shown = [line for at, line in lines.items() if at < after]
            return self._text([row for _, row in rows[:count]], shown, after)

        written, count = fit(text, len(rows), (size(row) for _, row in rows), self.limit)
        if lines and count <= 1 and not part.about:  # the first line gets the whole limit
            first, alone = part.start, given[part.start]

            def page(kept: int) -> str:
                line = alone.first(kept)
                return self._text([self._row(first, line, alone=True)], [line], first + 1)

            # Escapes take room, so the number of bytes that fit is found by trying.
            sizes = range(size(alone.text) + 1)
            most = max(0, bisect_right(sizes, self.limit, key=lambda kept: size(page(kept))) - 1)
            written, count, lines[first] = page(most), 1, alone.first(most)
        after = rows[count][0] if count < len(rows) else part.last + 1
        following = after if after <= self._last() else None
        lines = {at: line for at, line in lines.items() if at < after}
        is_cut = bool(part.about) or following is not None
        file = part.file
        data: dict[str, object] = {
            "path": file.path,
            "content": "\n".join(line.text for line in lines.values()),
            "truncated": is_cut,
            "next_start_line": following,
            "meta": {
                "byte_length": file.byte_length,
                "line_count": file.line_count,
                "returned_line_count": len(lines),
                "mtime_ms": file.mtime_ms,
            },
            "source": file.source,
            "encoding": file.encoding,
            "eol": file.eol,
            "revision": file.revision,
            "cut_lines": [at for at, line in lines.items() if line.left],
        }
        if part.definition:
            data["definition"] = definition_data(part.definition)
        truncated = is_cut or any(line.left for line in lines.values())
        return Result(text=written, data=data, truncated=truncated)

    def _text(self, rows: Sequence[str], lines: Sequence[Line], after: int) -> str:
        """Return the text with these `rows`, in which `lines` stand; the line `after` follows."""
        part, file = self.part, self.part.file
        shown = f"lines {part.start}-{(part.last if part.about else after - 1)}"
        window = f"{shown} of {file.line_count}"
        if not file.line_count:
            window = "empty, 0 lines"
        elif part.start > file.line_count or not (lines or part.about):
            window = f"no line {part.start}, as there are {plural(file.line_count, 'line')}"
        elif part.about:
            window += f" ({part.about})"
        elif after == part.start + 1:
            window = f"line {part.start} of {file.line_count}"
        if lines and part.inside and not part.about:
            window += f" (in {lines_of(part.inside)})"
        name = f"{visible(part.definition.qualified)}, " if part.definition else ""
        facts = [
            f"{show(file.path)}: {name}{window}",
            "not saved yet in Emacs" if file.source == "buffer" else None,
            file.encoding if file.encoding != "utf-8" else None,
            {"crlf": "CRLF", "cr": "CR only", "mixed": "mixed line ends"}.get(file.eol),
            "control characters as escapes" * any(CONTROLS.search(one.text) for one in lines),
        ]
        around = () if part.about else part.around
        above = [f"{one.line}- {visible(one.text)}\n" for one in around]
        return "".join((", ".join(filter(None, facts)), "\n", *above, *rows, self._more(after)))

    def _row(self, number: int, line: Line, *, alone: bool = False) -> str:
        mark = f"{number}\t" if self.asked.line_numbers else ""
        end = ""
        if line.left and alone:
            end = f"[+{line.left} bytes left out for a limit of {self.limit} bytes]"
        elif line.left:
            end = f"[+{line.left} bytes: start_line={number} max_lines=1]"
        return f"{mark}{CONTROLS.sub(escaped, line.text)}{end}\n"

    def _more(self, after: int) -> str:
        """Return the call that shows more and, for a part, the definitions that it lacks."""
        part, made = self.part, self.part.file.outline
        if part.about and part.lines:
            more = f"; from here on: start_line={after}" if after <= part.last else ""
            most = min(len(part.lines), MAX_LINES)
            return f"[whole: start_line={part.start} max_lines={most}{more}]\n"
        if after > self._last():
            return ""
        left = [
            f"{visible(one.name)} {span_of(one)}"
            for one in (made.definitions if made and self._is_part() else ())
            if after <= one.line <= part.last
        ]
        names = some_of(left, len(left), between=", ", most=MAX_LEFT_OUT)
        told = f"; left out: {names}" if names and size(names) <= self.limit // NAMES_SHARE else ""
        return f"[more: start_line={after}{told}]\n"

    def _is_part(self) -> bool:
        """Return True if no line is wanted after the last one that was asked for."""
        part = self.part
        return bool(self.asked.ranges or self.asked.symbol or part.definition or part.about)

    def _last(self) -> int:
        """Return the last line that can follow."""
        return self.part.last if self._is_part() else self.part.file.line_count


TOOL = Tool(
    description=(
        "Reads a UTF-8 text file in the workspace and returns a line-limited content window."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    preset=2,
    categories=("filesystem",),
    reads_content=True,
    settings=Settings,
    table=TABLE,
)
