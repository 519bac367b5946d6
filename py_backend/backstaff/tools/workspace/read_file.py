r"""workspace/read_file: a window of lines of a text file, or of the unsaved buffer in its place.

The text has a head, the lines with their numbers, and the call that shows more:

    src/app.py: lines 41-80 of 812
    41<TAB>def run():
    ...
    [more: start_line=81]

A line of more than `LINE_BYTES` is cut, and its end names the window of one line that shows more,
because a page of one line gets the whole limit. A long definition stands for itself by some of its
lines, and `match` chooses the lines of a part (`_parts`); both end with the call that reads all:

    src/app.py: Server, lines 33-197 of 812 (its own lines, and the lines of its members)
    33<TAB>class Server:
    41-80<TAB>def run(self)
    [whole: start_line=33 max_lines=165]

Of several `ranges`, those that take little of the limit come whole. The others share the rest, and
where it ends, the answer names the missing ones as the next `ranges`. The data have a list `ranges`
then, of which each item has the data of a call for it alone or its `error`, and a list `missing`.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from backstaff.errors import ErrorCode, ToolError
from backstaff.reading import encoding as encodings
from backstaff.reading.text import LINE_BYTES, TABLE, Line, Settings, Text, Window
from backstaff.render.lines import fit, plural, size, some_of
from backstaff.render.names import CONTROLS, escaped, quote, show, visible
from backstaff.tool import MODEL_TEXT_BYTES, Context, Result, Tool, argument
from backstaff.tools.workspace._parts import MAX_LINES, Part, Range, Several, answers, merged, parts
from backstaff.tools.workspace._refusals import read_text
from backstaff.tools.workspace._symbols import definition_data, lines_of, own_line, span_of

DEFAULT_TEXT_BYTES, MAX_TEXT_BYTES = 2 << 20, 4 << 20  # sent three times; a frame holds 16 MiB
MAX_RANGES = 20  # items of `ranges`
SHORT_SHARE = 10  # a part that takes a tenth of the limit comes whole, wherever it stands
NAMED_BYTES = 100  # that are kept for the name of a missing part
MEMBER_BYTES = 100  # at most of a member's own line in the row for it
MAX_LEFT_OUT, NAMES_SHARE = 5, 4  # definitions that a cut part names, in a quarter of the limit
ENDS = {"crlf": "CRLF", "cr": "CR only", "mixed": "mixed line ends"}


@dataclass(frozen=True, slots=True)
class Arguments(Range):
    """The contract's table of parameters."""

    ranges: tuple[Range, ...] = argument(
        f"Several reads in one call, of any files: up to {MAX_RANGES} parts"
        f" {{path, symbol|around|start_line, max_lines, match}}, {MODEL_TEXT_BYTES} bytes in all.",
        absent=(),
    )
    line_numbers: bool = argument(
        "Put its number before each line of the text.", default=True, hidden=True
    )
    encoding: str | None = argument("As an answer names it.")


def run(asked: Arguments, context: Context) -> Result:
    """Read the window. Raises `ToolError` with the codes of read 6."""
    _check(asked)
    is_window = not any((asked.symbol.strip(), asked.around, asked.ranges, asked.match.strip()))
    limit = min(context.text_limit(DEFAULT_TEXT_BYTES), MAX_TEXT_BYTES)
    room = max(limit, LINE_BYTES)  # of the first line, which may be shown alone

    def read(path: str, start: int, count: int, *, whole: bool) -> Text:
        return read_text(path, Window(start, count, room, whole), context, asked.encoding or "")

    @cache
    def read_once(path: str) -> Text:
        whole = not is_window or asked.start_line > 1
        return read(path, asked.start_line, asked.max_lines, whole=whole)

    def page(part: Part, left: int) -> Result:
        file, numbers = part.file, part.chosen if part.about else part.lines
        if is_window:
            lines = file.lines
        elif file.text:
            text = file.text.split("\n")
            lines = [Line(text[at - 1]).first(room) for at in numbers]
        else:  # it is too large to be kept
            lines = read(file.path, part.start, len(part.lines), whole=False).lines
        return Page(asked, part, left).result(dict(zip(numbers, lines, strict=False)))

    if asked.ranges:
        each = answers(asked.ranges, asked.path, read_once, context, limit)
        return _together(list(each), page, limit)
    try:
        found = parts(asked, read_once, context, limit)
    except Several as error:
        return error.listing()
    if len(found) == 1:
        return page(found[0], limit)
    together = _together(list(merged(found)), page, limit)
    if not together.data["missing"]:
        return together
    several = [(each.file.path, each.definition) for each in found if each.definition]
    return Several(asked.symbol, several).listing()


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
    """Return the pages of `found` in `limit` bytes. Raises `ToolError` if all are errors."""
    errors = [one for one in found if isinstance(one, ToolError)]
    if len(errors) == len(found):
        message = "; ".join(dict.fromkeys(one.message for one in errors))
        raise ToolError(errors[0].code, message)
    pages = [page(one, limit) if isinstance(one, Part) else _told(one) for one in found]
    # A page that is cut would be longer.
    sizes = [limit + 1 if one.data.get("next_start_line") else size(one.text) for one in pages]
    short, room = limit // SHORT_SHARE, limit
    is_long = [isinstance(one, Part) and sizes[at] > short for at, one in enumerate(found)]
    if sum(sizes) > limit:  # the names of missing parts need some of it
        room -= min(NAMED_BYTES * (1 + sum(is_long)), limit // 4)
    shown, missing = dict[int, Result](), dict[int, object]()
    for at in sorted(range(len(found)), key=is_long.__getitem__):  # errors and short ones first
        part, one = found[at], pages[at]
        if isinstance(part, Part) and sizes[at] > room:
            if room < short and shown:
                missing[at] = part.asked()
                continue
            one = page(part, max(room, 0))
            if isinstance(after := one.data["next_start_line"], int):
                missing[at] = part.asked(after)
        room -= size(one.text)
        shown[at] = one
    answer, left = [shown[at] for at in sorted(shown)], [missing[at] for at in sorted(missing)]
    text = "".join(one.text for one in answer)
    truncated = bool(left) or any(one.truncated for one in answer)
    return Result(
        text=text + _missing(left, limit, limit - size(text)),
        data={"ranges": [one.data for one in answer], "missing": left, "truncated": truncated},
        truncated=truncated,
    )


def _told(error: ToolError) -> Result:
    data = {"error": {"code": error.code, "message": error.message}}
    return Result(text=f"[{error.message}]\n", data=data)


def _missing(parts: Sequence[object], limit: int, room: int) -> str:
    """Return the line with the `parts` that an answer lacks, as the next `ranges` or counted."""

    def line(named: int) -> str:
        literal = visible(json.dumps(parts[:named], ensure_ascii=False))
        more = f" and {plural(len(parts) - named, 'part')}" if named < len(parts) else ""
        which = f"ranges={literal}{more}" if named else plural(len(parts), "part")
        return f"[cut at {limit:,} bytes, missing: {which}]\n"

    shown = next((at for at in range(len(parts), 0, -1) if size(line(at)) <= room), 0)
    return line(shown) if parts else ""


@dataclass(frozen=True, slots=True)
class Page:
    """A part, to be shown in `limit` bytes."""

    asked: Arguments
    part: Part
    limit: int

    def result(self, given: Mapping[int, Line]) -> Result:
        """Return as many of the lines `given` as fit, and the call that shows more (read 2)."""
        part, file = self.part, self.part.file
        lines = {at: line.first(LINE_BYTES) for at, line in given.items()}
        is_excerpt = bool(part.about) and not part.members
        rows = list[tuple[int, str]]()
        for at, line in lines.items():
            gap = "--\n" * (is_excerpt and bool(rows) and at - 1 not in lines)
            rows.append((at, gap + self._row(at, line)))
        for one in part.members:
            rows.append((one.line, f"{span_of(one)}\t{own_line(one, MEMBER_BYTES)}\n"))
        rows.sort()

        def after(count: int) -> int:
            return rows[count][0] if count < len(rows) else part.last + 1

        def text(count: int) -> str:
            shown = [line for at, line in lines.items() if at < after(count)]
            return self._text([row for _, row in rows[:count]], shown, after(count))

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
        following = after(count) if after(count) <= part.end() else None
        lines = {at: line for at, line in lines.items() if at < after(count)}
        is_cut = bool(part.about) or following is not None
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
        return Result(text=written, data=data, truncated=is_cut or bool(data["cut_lines"]))

    def _text(self, rows: Sequence[str], lines: Sequence[Line], after: int) -> str:
        """Return the text with these `rows`, in which `lines` stand; the line `after` follows."""
        part, file = self.part, self.part.file
        last = part.last if part.about else after - 1
        window = f"lines {part.start}-{last} of {file.line_count}"
        if not file.line_count:
            window = "empty, 0 lines"
        elif part.start > file.line_count or not (lines or part.about):
            window = f"no line {part.start}, as there are {plural(file.line_count, 'line')}"
        elif part.about:
            window += f" ({part.about})"
        elif last == part.start:
            window = f"line {part.start} of {file.line_count}"
        above = list[str]()
        if not part.about:
            window += f" (in {lines_of(part.inside)})" if lines and part.inside else ""
            above = [f"{one.line}- {visible(one.text)}\n" for one in part.around]
        name = f"{visible(part.definition.qualified)}, " if part.definition else ""
        facts = [
            f"{show(file.path)}: {name}{window}",
            "not saved yet in Emacs" if file.source == "buffer" else None,
            file.encoding if file.encoding != "utf-8" else None,
            ENDS.get(file.eol),
            "control characters as escapes" * any(CONTROLS.search(one.text) for one in lines),
        ]
        return "".join((", ".join(filter(None, facts)), "\n", *above, *rows, self._more(after)))

    def _row(self, number: int, line: Line, *, alone: bool = False) -> str:
        mark = f"{number}\t" if self.asked.line_numbers else ""
        rest = f": start_line={number} max_lines=1"
        if alone:
            rest = f" left out for a limit of {self.limit} bytes"
        end = f"[+{line.left} bytes{rest}]" if line.left else ""
        return f"{mark}{CONTROLS.sub(escaped, line.text)}{end}\n"

    def _more(self, after: int) -> str:
        """Return the call that shows more and, for a part, the definitions that it lacks."""
        part, made = self.part, self.part.file.outline
        if part.about and part.lines:
            more = f"; from here on: start_line={after}" if after <= part.last else ""
            most = min(len(part.lines), MAX_LINES)
            return f"[whole: start_line={part.start} max_lines={most}{more}]\n"
        if after > part.end():
            return ""
        known = made.definitions if made and not part.goes_on else ()
        left = [f"{visible(x.name)} {span_of(x)}" for x in known if after <= x.line <= part.last]
        names = some_of(left, len(left), between=", ", most=MAX_LEFT_OUT)
        told = f"; left out: {names}" if names and size(names) <= self.limit // NAMES_SHARE else ""
        return f"[more: start_line={after}{told}]\n"


TOOL = Tool(
    "Reads a UTF-8 text file in the workspace and returns a line-limited content window.",
    arguments=Arguments,
    run=run,
    preset=2,
    categories=("filesystem",),
    reads_content=True,
    settings=Settings,
    table=TABLE,
)
