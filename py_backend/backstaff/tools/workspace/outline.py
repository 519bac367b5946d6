"""workspace/outline: the definitions of a file, or of each file below a directory.

A file's text has a row for each definition, nested by two blanks, with the lines it takes. These
begin with the comments and decorators above it, as those that workspace/read_file shows:

    src/app.py: 812 lines, 73 definitions
    34-605 class Base
      60-62 def corrected(self, node)

A directory's has a line for each file, with the names that it defines and those of members:

    src/errors.py 141: ErrorCode, ToolError(__init__), refusal

Either text fits into `DEFAULT_TEXT_BYTES`, or the caller's limit where that is less: with shorter
rows, then with names alone, then with fewer levels. The last line counts the definitions that are
left out, and says how to see them. The files are those of a search of contents.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import NamedTuple

from backstaff.contents.choice import Rules
from backstaff.contents.outlines import outlines
from backstaff.errors import DeadlineExceeded, NotADirectory, NotFound, PathError
from backstaff.fs.entry import Kind
from backstaff.reading.text import TABLE, Settings, Window
from backstaff.render.lines import bracketed, counted, cut, fitting, shortened, size
from backstaff.render.names import show, visible
from backstaff.structure.language import CONTAINERS
from backstaff.structure.outline import Definition, Outline
from backstaff.tool import Context, Result, Tool, argument
from backstaff.tools.workspace._matches import path_in_text
from backstaff.tools.workspace._refusals import read_text, refusal
from backstaff.tools.workspace._searched import rules_of, searched
from backstaff.tools.workspace._symbols import definition_data, own_line, span_of

DEFAULT_TEXT_BYTES = 4096  # at most (contract 007)
MAX_DEFINITIONS = 20_000  # of all files together, in the data
TOGETHER = 64  # files that the processes get at once
WIDTHS = (100, 60, 0)  # bytes of a definition's line, from try to try; 0 is the name alone
NAMES = ((30, 12), (20, 6), (12, 3), (12, 0), (6, 0), (3, 0))  # in a line, and members of each


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's parameters."""

    path: str = argument("A file, or a directory to look below.")
    include: tuple[str, ...] = argument("Globs, for a directory.", absent=())
    depth: int | None = argument("Levels of nesting.", minimum=1)


class Outlined(NamedTuple):
    """A file and its definitions down to the depth that was asked for."""

    path: str
    line_count: int
    definitions: Sequence[Definition] = ()
    total: int = 0  # also counts the deeper ones
    problem: str = ""  # why they are not known


def run(arguments: Arguments, context: Context) -> Result:
    """Find the definitions. Raises `ToolError`."""
    limit = min(context.text_limit(DEFAULT_TEXT_BYTES), DEFAULT_TEXT_BYTES)
    rules = rules_of(arguments.include)
    try:
        with context.root.resolve(arguments.path) as place:
            directory = place.relative if place.kind is Kind.DIRECTORY else ""
        if directory:
            return _of_directory(directory, rules, limit, arguments.depth, context)
    except (NotFound, NotADirectory):
        pass  # the text may be a buffer's that has no file yet
    except PathError as error:
        raise refusal(error, arguments.path, context) from error
    file = read_text(arguments.path, Window(1, 0, 0, whole=True), context)
    found = _outlined(file.path, file.line_count, file.outline, arguments.depth)
    written, is_cut = _rows(found, limit)
    return _result([found], written, truncated=is_cut)


def _outlined(path: str, line_count: int, made: Outline | None, depth: int | None) -> Outlined:
    if made is None:
        return Outlined(path, line_count)
    kept = [one for one in made.definitions if depth is None or one.depth < depth]
    return Outlined(path, line_count, kept, len(made.definitions), made.problem)


def _of_directory(
    directory: str, rules: Rules, limit: int, depth: int | None, context: Context
) -> Result:
    budget, found, late = context.budget, list[Outlined](), list[str]()
    below = "" if directory == "." else f"{directory}/"
    try:
        with searched(directory, rules, context, budget) as files:
            for at in range(0, len(files.choice.files), TOGETHER):
                paths = budget.checked(files.choice.files[at : at + TOGETHER], stride=8)
                whole = {below + path: files.text(path) for path in paths}
                made = dict(outlines(whole, budget))
                for path, content in whole.items():
                    count = content.count("\n") + 1  # as workspace/read_file counts
                    found.append(_outlined(path, count, made[path], depth))
    except DeadlineExceeded:
        late = ["the time was up before all files were read: give a deeper path or include"]
    unknown = [f"no definitions: {show(one.path)} {one.problem}" for one in found if one.problem]
    known = [one for one in found if one.definitions]
    others = sum(not (one.definitions or one.problem) for one in found)
    notes = [f"{counted(others, 'file')} without known definitions"] * bool(others)
    total = sum(len(one.definitions) for one in known)
    where = f" in {show(below)}" if below else ""
    head = f"{counted(total, 'definition')} in {counted(len(known), 'file')}{where}\n"
    end = bracketed(notes + unknown + late)
    written, is_cut = _lines(known, len(below), limit - size(head) - size(end))
    return _result(known, head + written + end, truncated=is_cut or bool(unknown + late))


def _result(found: Sequence[Outlined], written: str, *, truncated: bool) -> Result:
    kept = found[: fitting((len(one.definitions) for one in found), MAX_DEFINITIONS)]
    truncated = truncated or len(kept) < len(found)
    files = [
        {"path": one.path, "line_count": one.line_count}
        | {"definitions": [definition_data(each) for each in one.definitions]}
        for one in kept
    ]
    return Result(text=written, data={"files": files, "truncated": truncated}, truncated=truncated)


def _rows(found: Outlined, limit: int) -> tuple[str, bool]:
    """Return the text of a file in `limit` bytes, and True if whole rows are left out."""
    head = f"{path_in_text(found.path)}: {counted(found.line_count, 'line')}"
    if found.problem:
        name = show(found.path.rpartition("/")[2])
        return f"{head}\n[no definitions: {name} {found.problem}]\n", True
    total, asked = found.total, len(found.definitions)
    known = counted(total, "definition") if total else "no definitions that are known here"
    head = f"{head}, {known}\n"
    deepest, shown = max((one.depth for one in found.definitions), default=0), found.definitions
    for level in range(deepest, -1, -1):
        shown = [one for one in found.definitions if one.depth <= level]
        left = total - len(shown)
        note = bracketed([f"{left:,} deeper ones left out: read one by its name"] * (left > 0))
        for width in WIDTHS:
            rows = [f"{'  ' * one.depth}{span_of(one)} {own_line(one, width)}\n" for one in shown]
            if sum(map(size, rows)) + size(head) + size(note) <= limit:
                return "".join((head, *rows, note)), len(shown) < asked
    return _merged(head, shown, total, limit), True


def _merged(head: str, shown: Sequence[Definition], total: int, limit: int) -> str:
    """Return rows that stand for several neighbours each: `59-104 create … delete (4)`."""
    note = bracketed([f"{total:,} rows have no room: read one by its name"])
    room, several, rows = limit - size(head) - size(note), 1, list[str]()
    while several <= len(shown) and (not rows or sum(map(size, rows)) > room):
        several *= 2
        groups = [shown[at : at + several] for at in range(0, len(shown), several)]
        rows = [
            f"{those[0].first_line}-{those[-1].last_line} {_short(those[0])} … {_short(those[-1])}"
            f" ({len(those)})\n"
            for those in groups
        ]
    return "".join((head, *rows[: fitting(map(size, rows), room)], note))


def _short(one: Definition) -> str:
    return shortened(visible(one.name), WIDTHS[1])


def _lines(found: Sequence[Outlined], prefix: int, limit: int) -> tuple[str, bool]:
    """Return the text of files in `limit` bytes, and True if any name is left out."""
    for names, members in NAMES:
        lines = [_line(one, prefix, names, members) for one in found]
        if sum(map(size, lines)) <= limit:
            return "".join(lines), any("…" in line for line in lines)

    def end(shown: int) -> str:
        left = counted(len(lines) - shown, "more file")
        return bracketed([f"{left}: give a deeper path or include"] * (shown < len(lines)))

    return cut("", lines, end, limit)[0], True


def _line(found: Outlined, prefix: int, names: int, members: int) -> str:
    """Return a line like `errors.py 141: ErrorCode, ToolError(__init__)`; `prefix` is cut off."""
    definitions, parts = found.definitions, list[str]()
    tops = [at for at, one in enumerate(definitions) if not one.depth]
    for at in tops[:names]:
        one = definitions[at]
        below = takewhile(lambda after: after.depth, islice(definitions, at + 1, None))
        inner = [visible(after.name) for after in below if after.depth == 1]
        has_members = members and inner and one.kind in CONTAINERS
        shown = " ".join(inner[:members]) + " …" * (len(inner) > members)
        parts.append(_short(one) + (f"({shown})" if has_members else ""))
    left = len(tops) - len(parts)
    told = ", ".join(parts) + (f", … {left} more" if left else "")
    return f"{path_in_text(found.path[prefix:])} {found.line_count}: {told}\n"


TOOL = Tool(
    "Lists the definitions of a file, or of each file in a directory, with their line ranges.",
    arguments=Arguments,
    run=run,
    categories=("filesystem", "navigation"),
    reads_content=True,
    settings=Settings,
    table=TABLE,
)
