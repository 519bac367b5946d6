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
left out, and says how to see them. A file in an unknown language has no definitions.

The files are those of a search of contents: none that git ignores, but unsaved ones of Emacs. Files
that may hold secrets are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from backstaff.contents.choice import Rules, choose
from backstaff.contents.outlines import outlines
from backstaff.errors import (
    DeadlineExceeded,
    ErrorCode,
    NotADirectory,
    NotFound,
    PathError,
    ToolError,
)
from backstaff.fs.entry import Kind
from backstaff.fs.root import Place
from backstaff.globs.globs import BadGlob, compile_globs
from backstaff.project.files import project_files
from backstaff.reading.text import TABLE, Settings, Window
from backstaff.render.lines import bracketed, counted, fit, fitting, shortened, size
from backstaff.render.names import show, visible
from backstaff.structure.language import CONTAINERS
from backstaff.structure.outline import Definition, Outline
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._matches import path_in_text
from backstaff.tools.workspace._refusals import read_text, refusal
from backstaff.tools.workspace._symbols import definition_data, own_line, span_of
from backstaff.tools.workspace._texts import EXCLUDED, contents_of, text, unsaved_texts

DEFAULT_TEXT_BYTES = 4096
"""Maximum number of bytes of a text (contract 007)."""
MAX_DEFINITIONS = 20_000
"""Maximum number of definitions of all files together in the data."""
TOGETHER = 64
"""Number of files that the processes get at once."""
WIDTHS = (100, 60, 0)
"""Maximum number of bytes of a definition's line in a row, from try to try; 0 is the name alone."""
NAMES = ((30, 12), (20, 6), (12, 3), (12, 0), (6, 0), (3, 0))
"""Maximum number of names in the line of a file, and of members of each, from try to try."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's parameters."""

    path: str = argument("A file, or a directory to look below.")
    include: tuple[str, ...] = argument("Globs, for a directory.", absent=())
    depth: int | None = argument("Levels of nesting.", minimum=1)


@dataclass(frozen=True, slots=True)
class Outlined:
    """A file and its definitions. `deeper` counts those below the depth that was asked for.

    With a `problem` they are not known.
    """

    path: str
    line_count: int
    definitions: Sequence[Definition]
    deeper: int
    problem: str = ""

    def data(self) -> dict[str, object]:
        """Return it for the data of an answer."""
        definitions = [definition_data(one) for one in self.definitions]
        return {"path": self.path, "line_count": self.line_count, "definitions": definitions}


def run(arguments: Arguments, context: Context) -> Result:
    """Find the definitions. Raises `ToolError`."""
    limit = min(context.text_limit(DEFAULT_TEXT_BYTES), DEFAULT_TEXT_BYTES)
    try:
        globs = compile_globs(arguments.include) if arguments.include else None
        with context.root.resolve(arguments.path) as place:
            if place.kind is Kind.DIRECTORY:
                rules = Rules(EXCLUDED, place.prefix, globs, None)
                return _of_directory(place, rules, limit, arguments, context)
    except BadGlob as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'include': {error}") from error
    except (NotFound, NotADirectory):
        pass  # the text may be a buffer's that has no file yet
    except PathError as error:
        raise refusal(error, arguments.path, context) from error
    file = read_text(arguments.path, Window(1, 0, 0, whole=True), context)
    found = _outlined(file.path, file.text, arguments.depth, file.outline)
    found = found or Outlined(file.path, file.line_count, (), 0)
    written, is_cut = _rows(found, limit)
    return _result([found], written, truncated=is_cut)


def _result(found: Sequence[Outlined], written: str, *, truncated: bool) -> Result:
    kept = found[: fitting((len(one.definitions) for one in found), MAX_DEFINITIONS)]
    truncated = truncated or len(kept) < len(found)
    return Result(
        text=written,
        data={"files": [one.data() for one in kept], "truncated": truncated},
        truncated=truncated,
    )


# ------------------------------------------------------------------ reading


def _outlined(path: str, content: str, depth: int | None, made: Outline | None) -> Outlined | None:
    """Return the outline of the file `path` with this `content`; None if none is known."""
    if made is None:
        return None
    kept = [one for one in made.definitions if depth is None or one.depth < depth]
    count = content.count("\n") + 1 if content else 0  # as workspace/read_file counts
    return Outlined(path, count, kept, len(made.definitions) - len(kept), made.problem)


def _of_directory(
    place: Place, rules: Rules, limit: int, arguments: Arguments, context: Context
) -> Result:
    found, others, late, prefix = list[Outlined](), 0, list[str](), place.prefix
    texts = unsaved_texts(prefix, context)
    budget = context.budget
    with contents_of(place, texts) as contents:
        new = [path for path in texts if not contents.exists(path)]
        try:
            files = choose(project_files(place, budget), rules, budget, new).files
            for at in range(0, len(files), TOGETHER):
                whole = {
                    prefix + path: text(path, contents)
                    for path in budget.checked(files[at : at + TOGETHER], stride=8)
                }
                made = dict(outlines(whole, budget))
                for path, content in whole.items():
                    one = _outlined(path, content, arguments.depth, made[path])
                    if one and one.problem:
                        late.append(_unknown(path, one.problem))
                    elif one and one.definitions:
                        found.append(one)
                    else:
                        others += 1
        except DeadlineExceeded:
            late.append("the time was up before all files were read: give a deeper path or include")
    notes = [f"{counted(others, 'file')} without known definitions"] * (others > 0) + late
    total = sum(len(one.definitions) for one in found)
    below = "" if place.relative == "." else f" in {show(f'{place.relative}/')}"
    head = f"{counted(total, 'definition')} in {counted(len(found), 'file')}{below}\n"
    room = limit - size(head) - size(bracketed(notes))
    written, is_cut = _lines(found, len(prefix), room)
    return _result(found, head + written + bracketed(notes), truncated=is_cut or bool(late))


# ------------------------------------------------------------------ the text


def _rows(found: Outlined, limit: int) -> tuple[str, bool]:
    """Return the text of a file in `limit` bytes, and True if whole rows are left out."""
    total = len(found.definitions) + found.deeper
    lines = counted(found.line_count, "line")
    known = counted(total, "definition") if total else "no definitions that are known here"
    head = f"{path_in_text(found.path)}: {lines}, {known}\n"
    if found.problem:
        name = found.path.rpartition("/")[2]
        return f"{path_in_text(found.path)}: {lines}\n[{_unknown(name, found.problem)}]\n", True
    deepest = max((one.depth for one in found.definitions), default=0)
    for level in range(deepest, -1, -1):
        shown = [one for one in found.definitions if one.depth <= level]
        left = total - len(shown)
        note = bracketed([f"{left:,} deeper ones left out: read one by its name"] * (left > 0))
        for width in WIDTHS:
            rows = [_row(one, width) for one in shown]
            if sum(map(size, rows)) + size(head) + size(note) <= limit:
                return "".join((head, *rows, note)), left > found.deeper
    return _merged(head, shown, total, limit), True


def _unknown(path: str, problem: str) -> str:
    return f"no definitions: {show(path)} {problem}"


def _row(one: Definition, width: int) -> str:
    return f"{'  ' * one.depth}{span_of(one)} {own_line(one, width)}\n"


def _short(one: Definition) -> str:
    return shortened(visible(one.name), WIDTHS[1])


def _merged(head: str, shown: Sequence[Definition], total: int, limit: int) -> str:
    """Return rows that stand for several neighbours each: `59-104 create … delete (4)`."""
    several = 2
    note = bracketed([f"{total:,} rows have no room: read one by its name"])
    while True:
        groups = [shown[at : at + several] for at in range(0, len(shown), several)]
        rows = [
            f"{those[0].first_line}-{those[-1].last_line} {_short(those[0])} … {_short(those[-1])}"
            f" ({len(those)})\n"
            for those in groups
        ]
        if sum(map(size, rows)) + size(head) + size(note) <= limit or several > len(shown):
            return "".join((head, *rows[: fitting(map(size, rows), limit - size(head))], note))
        several *= 2


def _lines(found: Sequence[Outlined], prefix: int, limit: int) -> tuple[str, bool]:
    """Return the text of files in `limit` bytes, and True if any name is left out.

    The first `prefix` characters of a path are those of the directory.
    """
    for names, members in NAMES:
        lines = [_line(one, prefix, names, members) for one in found]
        if sum(map(size, lines)) <= limit:
            is_cut = any("…" in line for line in lines)
            return "".join(lines), is_cut

    def cut(shown: int) -> str:
        left = len(lines) - shown
        more = f"{counted(left, 'more file')}: give a deeper path or include"
        return "".join(lines[:shown]) + bracketed([more] * bool(left))

    return fit(cut, len(lines), map(size, lines), limit)[0], True


def _line(found: Outlined, prefix: int, names: int, members: int) -> str:
    """Return a line like `errors.py 141: ErrorCode, ToolError(__init__)`.

    It has at most so many `names`, with so many `members` each.
    """
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
    description=(
        "Lists the definitions of a file, or of each file in a directory, with their line ranges."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "navigation"),
    reads_content=True,
    settings=Settings,
    table=TABLE,
)
