"""workspace/git_diff: the changes as a unified diff, with the text that is not saved yet.

The diff is from one commit, or the index, to the files as they are now, to the index, or to another
commit. Git is asked for its objects alone; the files are read by this server, and nothing that the
repository names is run (contract 008). Untracked files are in no diff, as with git.

A page has whole files. One whose patch does not fit is named with its numbers of lines, and how to
ask for it alone. Alone, it is cut at a hunk.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice

from backstaff.changes.comparison import INDEX, Comparison, Unshown, compared
from backstaff.changes.objects import Change, Origin
from backstaff.changes.patch import Patch
from backstaff.errors import DeadlineExceeded
from backstaff.render.lines import cut, plural, size, some_of
from backstaff.render.names import CONTROLS, escaped, labels, quote, show, word
from backstaff.tool import ESSENTIAL, Context, Keyword, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._repository import commit_named, work_tree_at

DEFAULT_TEXT_BYTES, MAX_TEXT_BYTES = 1 << 20, 4 << 20
MAX_CONTEXT = 20
MAX_OFFSET = 1_000_000_000
SHARE = 4
"""Share of the limit, one in this many: a longer patch ends no page, because the next may fit."""
_WORDS = {
    "M": "modified",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "T": "typechange",
    "?": "undecided",
}


class Output(StrEnum):
    """The forms of an answer."""

    PATCH = "patch"
    FILES = "files"
    STAT = "stat"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's table of parameters."""

    path: str = argument("File or directory below which changes count.", default=".")
    base: str = argument(
        'A commit, branch or tag to compare with; "index" for what is staged.', default="HEAD"
    )
    target: str | None = argument(
        'Absent: the files as they are now, unsaved buffers included. "index": what is staged.'
        " Else a commit."
    )
    context_lines: int = argument("Lines around each change.", default=3, limits=(0, MAX_CONTEXT))
    output: str = argument(
        'Answer with a "patch", the names of "files", or with the lines of each ("stat").',
        default=Output.PATCH.value,
        choices=tuple(Output),
    )
    offset: int = argument(
        "Files to skip: only where an answer asked for it.", default=0, limits=(0, MAX_OFFSET)
    )


def run(asked: Arguments, context: Context) -> Result:
    """Compare, and show as many files as the limit has room for."""
    limit = min(context.text_limit(DEFAULT_TEXT_BYTES), MAX_TEXT_BYTES)
    with work_tree_at(asked.path, context) as (work_tree, below):
        base, target = (
            name if name in (INDEX, None) else commit_named(name, which, work_tree, context)
            for which, name in (("base", asked.base), ("target", asked.target))
        )
        prefix = work_tree.base.prefix
        texts = {
            path.removeprefix(prefix): text.data
            for path, text in context.unsaved.items()
            if path.startswith(prefix)
        }
        found = compared(work_tree, base or "", target, below, texts)
        there = not below or below in work_tree.index.directories or found.files
        if not there and work_tree.index.get(below) is None:
            with context.root.resolve(asked.path):
                pass  # it is there, and git knows nothing of it
        if below and list(found.files) == [below]:
            context.root.judge(prefix + below, asked.path)
            found = replace(found, allowed=below)
        return Page(asked, found, prefix, limit, context).result()


@dataclass(frozen=True, slots=True)
class Page:
    """The files from the offset on, as many as fit in `limit` bytes."""

    asked: Arguments
    found: Comparison
    prefix: str
    limit: int
    context: Context

    def result(self) -> Result:
        """Take the files in turn until the limit or the time is reached."""
        offset, count = self.asked.offset, len(self.found.files)
        head = self._head()
        room = self.limit - size(head) - size(f"[more: offset={MAX_OFFSET}]\n")
        rows, files = list[str](), list[dict[str, object]]()
        names = islice(self.found.files.items(), offset, None)
        patches: Iterable[tuple[str, Change, Patch | Unshown | None]]
        patches = ((path, change, None) for path, change in names)
        if self.asked.output != Output.FILES:
            lines = None if self.asked.output == Output.STAT else self.asked.context_lines
            patches = self.found.patches(offset, lines, self.context.budget)
        try:
            for path, change, patch in patches:
                row, item = self._row(path, change, patch, room if count == 1 else None)
                if size(row) > room:
                    # A short one is the first of the next page; a long one may not fit there.
                    is_long = self.asked.output == Output.PATCH and size(row) > self.limit // SHARE
                    if rows and not is_long:
                        break
                    name = self.prefix + path
                    counts = _counts(patch) if isinstance(patch, Patch) else ""
                    length = len(patch.text) if isinstance(patch, Patch) else 0
                    remedy = f"path={quote(name)}" if self.asked.path != name else "context_lines=0"
                    why = f"its patch of {length} bytes has no room here: {remedy}"
                    row, item["patch"] = f"[{show(name)}{counts}: {why}]\n", None
                    if rows and size(row) > room:
                        break
                rows.append(row)
                files.append(item)
                room -= size(row)
        except DeadlineExceeded:
            if not rows:
                raise
        done = offset + len(rows)
        next_offset = done if done < count else None
        end = f"[more: offset={next_offset}]\n" if next_offset is not None else ""
        return Result(
            text=head + "".join(rows) + end,
            data={
                "files": files,
                "truncated": next_offset is not None,
                "next_offset": next_offset,
            },
            truncated=next_offset is not None,
            labels=lambda: labels(show, (str(item["path"]) for item in files)),
        )

    def _head(self) -> str:
        asked, files = self.asked, self.found.files
        now = "the files as they are now" if asked.target is None else show(asked.target)
        within = "" if asked.path in (".", "") else f" in {show(asked.path)}"
        count = plural(len(files), "file") if files else "nothing"
        about = f"{count} changed{within} from {show(asked.base)} to {now}"
        if not files and asked.target is None:  # else a reader takes a new file for no change
            about += f"; {self.context.named('workspace/git_status_summary')} lists untracked files"
        if asked.offset and asked.offset >= len(files):
            return f"No more files: {about}\n"
        buffers = [self.prefix + p for p, one in files.items() if one.origin is Origin.BUFFER]
        told = some_of(map(word, buffers), len(buffers)) or f"{len(buffers)} with long names"
        return about + (f"; not saved, as in Emacs: {told}\n" if buffers else "\n")

    def _row(
        self, path: str, change: Change, patch: Patch | Unshown | None, alone: int | None
    ) -> tuple[str, dict[str, object]]:
        """The text of a file and its item. `alone` is the room of a file that is the only one."""
        told = patch if isinstance(patch, Patch) else Patch(b"")
        source = self.prefix + change.source if change.source else None
        item: dict[str, object] = {
            "path": self.prefix + path,
            "status": Keyword(_WORDS[change.letter]),
            "old_path": source,
            "added": told.added,
            "removed": told.removed,
            "patch": None,
            "source": change.origin,
        }
        name = show(self.prefix + path)
        if isinstance(patch, Unshown):
            return f"[{name}: not shown, {patch}]\n", item
        if patch is None or self.asked.output == Output.STAT:
            before = f"{show(source)} -> " if source else ""
            counts = "" if patch is None else _counts(patch)
            return f"{change.letter} {before}{name}{counts}\n", item
        lines = [line for line in patch.text.split(b"\n") if line[:1] in (b" ", b"+", b"-")]
        body = [line for line in lines if not line.startswith((b"--- ", b"+++ "))]
        strip = bool(body) and all(line.endswith(b"\r") for line in body)
        shown, whole = patch, _in_text(patch.text, strip=strip)
        if alone is not None and size(whole) > alone:  # as many hunks as have room
            reads = self.context.named("workspace/read_file")
            fewer = "context_lines=0 shows more, " if self.asked.context_lines else ""

            def end(kept: int) -> str:
                left = plural(len(patch.hunks) - kept, "more hunk")
                return f"[{left}: {fewer}{reads} shows the file]\n"

            hunks = [_in_text(hunk, strip=strip) for hunk in patch.hunks]
            text, kept = cut(_in_text(patch.head, strip=strip), hunks, end, alone)
            if kept:
                shown, whole = replace(patch, hunks=patch.hunks[:kept]), text
        item["patch"] = shown.text.decode("utf-8", "surrogateescape")
        return whole, item


def _counts(patch: Patch) -> str:
    return " (binary)" if patch.added is None else f" +{patch.added} -{patch.removed}"


def _in_text(patch: bytes, *, strip: bool) -> str:
    """`patch` with escapes for controls; if `strip` is true, without carriage returns."""
    patch = patch.replace(b"\r\n", b"\n") if strip else patch
    return CONTROLS.sub(escaped, patch.decode("utf-8", "replace"))


TOOL = Tool(
    description=(
        "Shows what changed: unsaved text against the last commit, or one commit or range."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=(ESSENTIAL, "git"),
    reads_content=True,
    preset=8,
)
