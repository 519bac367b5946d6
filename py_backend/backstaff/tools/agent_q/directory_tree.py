"""agent-q/directory_tree: everything below a directory as an indented tree.

Rows are `[DIR]  name/` and `[FILE] name (size)`, in the order of list_directory, two blanks deeper
with each level, hidden ones too. The listed directory is the first row. Links and special files are
`[FILE]` rows and never followed. The row of a directory that cannot be read says so. `.git` is not
opened unless it is the path, as thousands of objects would fill the answer. A tree that would pass
its budget ends with the number of entries left out; the data hold the same rows as the text, by
their paths. The head lists the patterns, and then the patterns that exclude nothing.
"""

from dataclasses import dataclass, field

from backstaff.fs.entry import Kind, kind_of, link_target, lstat_or_none
from backstaff.fs.root import Place
from backstaff.fs.walk import Step, Walk
from backstaff.render.lines import all_files, cut, omitted, plural, size, some_of
from backstaff.render.names import MAX_ECHO, show
from backstaff.render.sizes import show_size
from backstaff.tool import Context, Keyword, Result, ResultKind, Tool, argument
from backstaff.tools.agent_q._directories import (
    EXCLUDE_PATTERNS,
    MAX_OUTPUT_BYTES,
    Exclusions,
    arranged,
    opened,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """`max_output_bytes` bounds the text. Emacs's adapters for agents have the same default."""

    max_output_bytes: int = field(default=1 << 14, metadata={"limits": (256, MAX_OUTPUT_BYTES)})


@dataclass(frozen=True, slots=True)
class Arguments:
    """A directory, relative to the root, and base names to leave out."""

    path: str = argument("Directory path (relative to project root, default: '.')", absent=".")
    exclude_patterns: tuple[str, ...] = argument(EXCLUDE_PATTERNS, absent=())


def run(arguments: Arguments, context: Context) -> Result:
    """Show the tree; refusals have the words of list_directory."""
    exclusions = Exclusions.of(arguments.exclude_patterns)
    limit = context.text_limit(context.settings.max_output_bytes)
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    total = directories = unreadable = 0
    arrange, room = arranged(exclusions, context.budget), limit
    with (
        opened(context.root, arguments.path, "Directory") as place,
        Walk(place.listing(), arrange, context.budget) as walk,
    ):
        for step in walk:
            closed = ""
            total += 1
            if step.kind is Kind.DIRECTORY:
                directories += 1
                if step.name == ".git":
                    closed = " (not opened: give it as path)"
                elif walk.enter(step) is not None:
                    closed = " (cannot be read)"
                    unreadable += 1
            if room >= 0:  # later entries are only counted, not statted
                row, line = _row(step, closed)
                rows.append(row)
                lines.append(line)
                room -= size(line)

    call = all_files(place.relative, "**", limit, context.named)
    remedy = "give a directory as path, or exclude_patterns"
    remedy += f"; all files: {call}" if call else ""

    def end(shown: int) -> str:
        late = "... not read to its end, as the time was up\n" if walk.expired else ""
        more = omitted(plural(total - shown, "more entry", "more entries"), limit, remedy)
        return f"... {more}\n{late}" if shown < total else late

    text, shown = cut(_head(place, arguments, exclusions), lines, end, limit)
    return Result(
        text=text,
        data={
            "path": place.path_as_directory,
            "files": total - directories,
            "directories": directories,
            "total": total,
            "shown": shown,
            "unreadable": unreadable,
            "notes": [note] if (note := exclusions.note()) else [],
            "entries": rows[:shown],
        },
        truncated=shown < total or walk.expired,
    )


def _row(step: Step, closed: str) -> tuple[dict[str, object], str]:
    """The row of `step` in the data, and its line in the text.

    `closed` says why it was not entered. A size is in bytes, or None if the system refused it.
    """
    kind, status, told = step.kind, None, f"[DIR]  {show(step.name)}/{closed}"
    if step.kind is not Kind.DIRECTORY:
        status = lstat_or_none(step.name, step.directory)
        kind = kind_of(status) if status else Kind.UNKNOWN
        taken = show_size(status.st_size) if status else "size unknown"
        told = f"[FILE] {show(step.name)} ({taken})"
    row: dict[str, object] = {
        "path": step.path,
        "type": Keyword("directory" if step.kind is Kind.DIRECTORY else "file"),
        "size": status and status.st_size,
        "kind": kind,
        "target": link_target(step.name, step.directory) if kind is Kind.SYMLINK else None,
    }
    return row, f"{'  ' * step.depth}{told}\n"


def _head(place: Place, arguments: Arguments, exclusions: Exclusions) -> str:
    """The lines before the entries: the path, the patterns, and the row of the directory itself."""
    patterns, note = arguments.exclude_patterns, exclusions.note()
    shown = (show(pattern[:MAX_ECHO] + "…" * (len(pattern) > MAX_ECHO)) for pattern in patterns)
    repeated = some_of(shown, len(patterns), between=", ", most=len(patterns))
    excluding = f"Excluding: {repeated}\n" + (f"... {note}\n" if note else "") + "\n"
    path, name = show(place.path_as_directory), place.path.rpartition("/")[2]
    row = f"[DIR]  {show(name) if name else ''}/\n"
    return f"Directory tree: {path}\n\n{excluding if repeated else ''}{row}"


TOOL = Tool(
    description=(
        "Get everything below a small directory as an indented tree with sizes, in the format of"
        " Agent-Q. Names can be excluded, such as .git or *.fasl."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "navigation"),
    settings=Settings,
)
