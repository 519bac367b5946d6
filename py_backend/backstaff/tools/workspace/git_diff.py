"""workspace/git_diff: the changes as a unified diff, with the text that is not saved yet.

A page has whole files. One whose patch does not fit is named with its numbers of lines, and how to
ask for it alone. Alone, it is cut at a hunk. Untracked files are in no diff, as with git.
"""

import sys
from dataclasses import dataclass, replace

from backstaff.changes.comparison import INDEX, Comparison, compared
from backstaff.changes.patch import Patch
from backstaff.errors import DeadlineExceeded
from backstaff.render.lines import cut, paths_in_a_note, plural, size
from backstaff.render.names import CONTROLS, escaped, quote, show, visible
from backstaff.tool import Context, Keyword, Result, Tool, argument
from backstaff.tools.workspace._repository import commit_named, work_tree_at

DEFAULT_TEXT_BYTES, MAX_TEXT_BYTES = 1 << 20, 4 << 20
MAX_CONTEXT, MAX_OFFSET = 20, 1_000_000_000
_WORDS = "modified added deleted renamed copied typechange unmerged undecided"
_STATUS = dict(zip("MADRCTU?", map(Keyword, _WORDS.split()), strict=True))  # by git's letters


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

    path: str = argument("File or directory.", default=".")
    base: str = argument('A commit or branch, or "index" for what is staged.', default="HEAD")
    target: str | None = argument(
        'A commit, or "index" (default: the files as they are now, also unsaved).'
    )
    context_lines: int = argument("Lines around each change.", default=3, limits=(0, MAX_CONTEXT))
    output: str = argument(
        "The patch (default), the names of files, or counts of lines.",
        default="patch",
        choices=("patch", "files", "stat"),
    )
    offset: int = argument(
        "How many to skip: an answer names it.", default=0, limits=(0, MAX_OFFSET)
    )


def run(asked: Arguments, context: Context) -> Result:
    """Compare, and show as many files as the limit has room for."""
    with work_tree_at(asked.path, context) as (work_tree, below):
        base, target = (
            name if name in (INDEX, None) else commit_named(name, which, work_tree)
            for which, name in (("base", asked.base), ("target", asked.target))
        )
        prefix, repository = work_tree.base.prefix, work_tree.repository
        start = f"{prefix}{below}/" if below else prefix
        texts = {
            path.removeprefix(prefix): text.data
            for path, text in context.unsaved.items()
            if f"{path}/".startswith(start)
        }
        lines = {"files": None, "stat": 0}.get(asked.output, asked.context_lines)
        found = compared(work_tree, base or "", target, below, texts, context=lines)
        if below and not (found.files or repository.entries("ls-files", *repository.below(below))):
            with context.root.resolve(asked.path):
                pass  # it is there, and git knows nothing of it
        if below in found.files:
            context.root.judge(prefix + below, asked.path)
        return _page(asked, found, context)


def _page(asked: Arguments, found: Comparison, context: Context) -> Result:
    """Show the files from the offset on, in turn until the limit or the time is reached."""
    limit = min(context.text_limit(DEFAULT_TEXT_BYTES), MAX_TEXT_BYTES)
    prefix, count, head = found.tree.base.prefix, len(found.files), _head(asked, found, context)
    room = limit - size(head) - size(f"[more: offset={MAX_OFFSET}]\n")
    rows, files = list[str](), list[dict[str, object]]()
    try:
        for path, change, patch in found.patches(asked.offset):
            name, source = prefix + path, prefix + change.source if change.source else None
            shown, text = show(name), None
            counts = " (binary)" * bool(patch.head)
            counts = counts if patch.added is None else f" +{patch.added} -{patch.removed}"
            if patch.missing:
                row = f"[{shown}: not shown, {patch.missing}]\n"
            elif asked.output != "patch":
                row = f"{change.letter} {f'{show(source)} -> ' if source else ''}{shown}{counts}\n"
            else:
                row, text = _written(patch, room if count == 1 else sys.maxsize, asked, context)
            if size(row) > room:
                if rows:
                    break  # it is the first of the next page
                remedy = f"path={quote(name)}" if asked.path != name else "context_lines=0"
                why = f"its patch of {size(row)} bytes has no room here: {remedy}"
                row, text = f"[{shown}{counts}: {why}]\n", None
            rows.append(row)
            room -= size(row)
            file: dict[str, object] = {
                "path": name,
                "status": _STATUS[change.letter],
                "old_path": source,
                "added": patch.added,
                "removed": patch.removed,
                "patch": text,
                "source": Keyword(change.origin) if change.origin else None,
            }
            files.append(file)
    except DeadlineExceeded:
        if not rows:
            raise
    done = asked.offset + len(rows)
    more = done < count
    return Result(
        text="".join((head, *rows)) + f"[more: offset={done}]\n" * more,
        data={"files": files, "truncated": more, "next_offset": done if more else None},
        truncated=more,
    )


def _head(asked: Arguments, found: Comparison, context: Context) -> str:
    now = "the files as they are now" if asked.target is None else show(asked.target)
    within = "" if asked.path in (".", "") else f" in {show(asked.path)}"
    count = plural(len(found.files), "file") if found.files else "nothing"
    about = f"{count} changed{within} from {show(asked.base)} to {now}"
    if asked.target is None:  # else a reader takes a new file for no change
        lister = context.hint(", {} lists them", "workspace/git_status_summary")
        about += f"; untracked files are left out{lister}"
    if asked.offset and asked.offset >= len(found.files):
        return f"No more files: {about}\n"
    prefix = found.tree.base.prefix
    buffers = [prefix + path for path, one in found.files.items() if one.origin == "buffer"]
    unsaved = f"; not saved, as in Emacs: {paths_in_a_note(buffers)}" if buffers else ""
    return f"{about}{unsaved}\n"


def _written(patch: Patch, limit: int, asked: Arguments, context: Context) -> tuple[str, str]:
    """`patch` in the text and in the data: the hunks that fit in `limit` bytes, or all."""
    texts = [part.decode("utf-8", "replace") for part in (patch.head, *patch.hunks)]
    head, *hunks = (CONTROLS.sub(escaped, text) for text in texts)
    head = visible(head)  # a name in it could forge a row
    remedy = ": context_lines=0 shows more" * bool(asked.context_lines)
    remedy += context.hint(", {} shows the file", "workspace/read_file")

    def end(count: int) -> str:
        return f"[{plural(len(hunks) - count, 'more hunk')}{remedy}]\n" * (count < len(hunks))

    text, kept = cut(head, hunks, end, limit)
    if not kept:
        text, kept = "".join((head, *hunks)), len(hunks)
    shown = replace(patch, hunks=patch.hunks[:kept])
    return text, shown.text.decode("utf-8", "surrogateescape")


TOOL = Tool(
    "Shows what changed: unsaved text against the last commit, or one commit or range.",
    arguments=Arguments,
    run=run,
    categories=("git",),
    reads_content=True,
    preset=6,
)
