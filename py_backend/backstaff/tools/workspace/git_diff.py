"""workspace/git_diff: what changed, as a unified diff, with the text that is not saved yet.

The diff is from one commit, or the index, to the files as they are now, to the index, or to another
commit. Git is asked for its objects alone; the files are read by this server, and nothing that the
repository names is run (contract 008). Untracked files are in no diff, as with git.

A page has whole files. One whose patch does not fit is named with its numbers of lines, and how to
ask for it alone. Alone, it is cut at a hunk.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from backstaff.changes.comparison import INDEX, Comparison, Different, Origin, Unshown, compared
from backstaff.changes.patch import Patch
from backstaff.errors import (
    DeadlineExceeded,
    ErrorCode,
    NotADirectory,
    NotFound,
    PathError,
    ToolError,
)
from backstaff.render.lines import plural, size, some_of
from backstaff.render.names import CONTROLS, escaped, labels, quote, show, word
from backstaff.tool import ESSENTIAL, Context, Keyword, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._refusals import nearest, nearest_names, refusal
from backstaff.tools.workspace._repository import commit_named, work_tree_at

DEFAULT_TEXT_BYTES, MAX_TEXT_BYTES = 1 << 20, 4 << 20
MAX_CONTEXT = 20
MAX_OFFSET = 1_000_000_000
SHARE = 4
"""A patch longer than this part of the limit, a quarter, ends no page: the next may fit."""
_WORDS = {"M": "modified", "A": "added", "D": "deleted", "R": "renamed", "T": "typechange"}


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
    if not asked.path.strip():
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'path' must not be blank")
    limit = min(context.text_limit(DEFAULT_TEXT_BYTES), MAX_TEXT_BYTES)
    try:
        with work_tree_at(asked.path, context) as (work_tree, below):
            base, target = (
                name if name in (INDEX, None) else commit_named(name, word, work_tree, context)
                for word, name in (("base", asked.base), ("target", asked.target))
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
            if below and [one.path for one in found.files] == [below]:
                context.root.judge(prefix + below, asked.path)
                found = replace(found, allowed=below)
            return Page(asked, found, prefix, limit, context).result()
    except (NotFound, NotADirectory) as error:
        near = nearest(asked.path, context)
        message = f"Path {quote(asked.path)} does not exist{nearest_names(near)}"
        raise ToolError(ErrorCode.NOT_FOUND, message, nearest=near) from error
    except PathError as error:
        raise refusal(error, asked.path, context) from error


@dataclass(slots=True)
class Page:
    """The files from the offset on, as many as fit in `limit` bytes."""

    asked: Arguments
    found: Comparison
    prefix: str
    limit: int
    context: Context
    rows: list[str] = field(default_factory=list)
    files: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def result(self) -> Result:
        """Take the files in turn until the limit or the time is reached."""
        files = self.found.files[self.asked.offset :]
        head = self._head()
        more = f"[more: offset={MAX_OFFSET}]\n"
        room = self.limit - size(head) - size(more)
        done = 0
        try:
            for one, patch in self._patches(files):
                row, item = self._row(one, patch, room if len(self.found.files) == 1 else None)
                if size(row) > room and done:
                    stub, item = self._stub(one, patch, item)
                    if self.asked.output != Output.PATCH or size(row) <= self.limit // SHARE:
                        break
                    row = stub
                    if size(row) > room:
                        break
                elif size(row) > room:
                    row, item = self._stub(one, patch, item)
                self.rows.append(row)
                self.files.append(item)
                room -= size(row)
                done += 1
        except DeadlineExceeded:
            if not done:
                raise
        next_offset = self.asked.offset + done if done < len(files) else None
        end = f"[more: offset={next_offset}]\n" if next_offset is not None else ""
        return Result(
            text=head + "".join(self.rows) + end,
            data={
                "files": self.files,
                "truncated": next_offset is not None,
                "next_offset": next_offset,
            },
            truncated=next_offset is not None,
            labels=lambda: labels(show, (str(item["path"]) for item in self.files)),
        )

    def _patches(
        self, files: Sequence[Different]
    ) -> Iterator[tuple[Different, Patch | Unshown | None]]:
        if self.asked.output == Output.FILES:
            yield from ((one, None) for one in files)
            return
        patches = self.found.patches(files, self.asked.context_lines, self.context.budget)
        yield from zip(files, patches, strict=True)

    def _head(self) -> str:
        asked, files = self.asked, self.found.files
        now = "the files as they are now" if asked.target is None else show(asked.target)
        below = "" if asked.path in (".", "") else f" below {show(asked.path)}"
        count = plural(len(files), "file") if files else "nothing"
        buffers = [self.prefix + one.path for one in files if one.origin is Origin.BUFFER]
        told = some_of(map(word, buffers), len(buffers)) or f"{len(buffers)} with long names"
        unsaved = f"; not saved, as in Emacs: {told}" if buffers else ""
        if asked.offset and asked.offset >= len(files):
            return f"No more files: {count} changed from {show(asked.base)} to {now}{below}\n"
        return f"{count} changed from {show(asked.base)} to {now}{below}{unsaved}\n"

    def _item(self, one: Different, patch: Patch | Unshown | None) -> dict[str, object]:
        told = patch if isinstance(patch, Patch) else Patch(b"")
        return {
            "path": self.prefix + one.path,
            "status": Keyword("undecided" if one.undecided else _WORDS[one.change.letter]),
            "old_path": self.prefix + one.change.source if one.change.source else None,
            "added": told.added,
            "removed": told.removed,
            "patch": None,
            "source": one.origin,
        }

    def _row(
        self, one: Different, patch: Patch | Unshown | None, alone: int | None
    ) -> tuple[str, dict[str, object]]:
        """The text of `one` and its item. `alone` is the room of a file that is the only one."""
        item = self._item(one, patch)
        name = show(self.prefix + one.path)
        if isinstance(patch, Unshown):
            return f"[{name}: not shown, {patch}]\n", item
        if patch is None or self.asked.output == Output.STAT:
            source = f"{show(self.prefix + one.change.source)} -> " if one.change.source else ""
            letter = "?" if one.undecided else one.change.letter
            counts = "" if patch is None else self._counts(patch)
            return f"{letter} {source}{name}{counts}\n", item
        item["patch"] = patch.text.decode("utf-8", "surrogateescape")
        text = self._in_text(patch.text)
        if alone is None or size(text) <= alone:
            return text, item
        kept: list[bytes] = []
        for number, hunk in enumerate(patch.hunks):
            note = self._cut(len(patch.hunks) - number)
            if size(self._in_text(b"".join((patch.head, *kept, hunk))) + note) > alone:
                break
            kept.append(hunk)
        if not kept:
            return text, item
        item["patch"] = b"".join((patch.head, *kept)).decode("utf-8", "surrogateescape")
        shown = self._in_text(b"".join((patch.head, *kept)))
        return shown + self._cut(len(patch.hunks) - len(kept)), item

    def _cut(self, left: int) -> str:
        reads = self.context.named("workspace/read_file")
        fewer = "context_lines=0 shows more, " if self.asked.context_lines else ""
        return f"[{plural(left, 'more hunk')}: {fewer}{reads} shows the file]\n"

    def _stub(
        self, one: Different, patch: Patch | Unshown | None, item: dict[str, object]
    ) -> tuple[str, dict[str, object]]:
        """The line for `one` whose patch does not fit, and its item without the patch."""
        name = self.prefix + one.path
        counts = self._counts(patch) if isinstance(patch, Patch) else ""
        remedy = "context_lines=0" if self.asked.path == name else f"path={quote(name)}"
        length = len(patch.text) if isinstance(patch, Patch) else 0
        text = f"[{show(name)}{counts}: its patch of {length} bytes has no room here: {remedy}]\n"
        return text, item | {"patch": None}

    @staticmethod
    def _counts(patch: Patch | Unshown) -> str:
        if isinstance(patch, Unshown):
            return f" ({patch})"
        return " (binary)" if patch.added is None else f" +{patch.added} -{patch.removed}"

    @staticmethod
    def _in_text(patch: bytes) -> str:
        """PATCH with escapes for controls, and without carriage returns that all lines have."""
        lines = [line for line in patch.split(b"\n") if line[:1] in (b" ", b"+", b"-")]
        body = [line for line in lines if not line.startswith((b"--- ", b"+++ "))]
        if body and all(line.endswith(b"\r") for line in body):
            patch = patch.replace(b"\r\n", b"\n")
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
