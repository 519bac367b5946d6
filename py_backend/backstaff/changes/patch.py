r"""A change as git writes it: the head that names the file, and hunks of lines.

    diff --git a/src/app.py b/src/app.py
    index 3f2a1c0..9b1e4d2 100644
    --- a/src/app.py
    +++ b/src/app.py
    @@ -12,3 +12,4 @@ def run():
     context
    +added

Patches are bytes, as lines can be in any encoding. Behind `@@` stands the nearest line above that
begins with a letter, as in git without a driver for the language.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.changes.index import GITLINK
from backstaff.changes.lines import Block, blocks
from backstaff.changes.objects import Side
from backstaff.changes.porcelain import quoted
from backstaff.changes.renames import MOST
from backstaff.changes.work_tree import Change

ABBREVIATED = 7
_NAME_BYTES = 80
_NAME = re.compile(rb"[A-Za-z_$]")
_ENDLESS = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Patch:
    """The patch of one file: its head and its hunks, and the lines that it adds and removes.

    A binary file's has no numbers.
    """

    head: bytes
    hunks: Sequence[bytes] = ()
    added: int | None = None
    removed: int | None = None

    @property
    def text(self) -> bytes:
        """The whole patch."""
        return b"".join((self.head, *self.hunks))


def head_of(path: str, change: Change, *, inside: str = "") -> bytes:
    """The lines of git's about the `change` of `path`, without those that hunks need."""
    old, new = change.old, change.new
    before, after = _names(path, change, inside)
    lines = [f"diff --git {before} {after}"]
    if old and new and old.mode != new.mode:
        lines += [f"old mode {old.mode:06o}", f"new mode {new.mode:06o}"]
    elif not old and new:
        lines.append(f"new file mode {new.mode:06o}")
    elif old and not new:
        lines.append(f"deleted file mode {old.mode:06o}")
    if change.source:
        lines += [
            f"similarity index {change.score * 100 // MOST}%",
            f"rename from {quoted(inside + change.source)}",
            f"rename to {quoted(inside + path)}",
        ]
    one, other = _short(old), _short(new)
    if one != other:
        mode = f" {new.mode:06o}" if old and new and old.mode == new.mode else ""
        lines.append(f"index {one}..{other}{mode}")
    return os.fsencode("\n".join(lines) + "\n")


def _short(side: Side | None) -> str:
    return side.oid.hex()[:ABBREVIATED] if side else "0" * ABBREVIATED


def _names(path: str, change: Change, inside: str) -> tuple[str, str]:
    """The names of both sides with git's prefixes."""
    return quoted(f"a/{inside}{change.source or path}"), quoted(f"b/{inside}{path}")


def binary(path: str, change: Change, *, inside: str) -> Patch:
    """The patch of a file of which no lines are shown."""
    before, after = _names(path, change, inside)
    before, after = before if change.old else "/dev/null", after if change.new else "/dev/null"
    words = os.fsencode(f"Binary files {before} and {after} differ\n")
    return Patch(head_of(path, change, inside=inside) + words)


def of_lines(  # noqa: PLR0913  # all that a patch is made of
    path: str,
    change: Change,
    old: bytes,
    new: bytes,
    *,
    inside: str,
    context: int,
    budget: Budget,
) -> Patch:
    """The patch from `old` to `new` with so many lines of `context`. Raises `DeadlineExceeded`."""
    one, other = _lines(old), _lines(new)
    found = blocks(one, other, budget)
    head = head_of(path, change, inside=inside)
    if found:
        before, after = (_with_tab(name) for name in _names(path, change, inside))
        before, after = before if change.old else "/dev/null", after if change.new else "/dev/null"
        head += os.fsencode(f"--- {before}\n+++ {after}\n")
    removed = sum(end - start for start, end, _, _ in found)
    added = sum(end - start for _, _, start, end in found)
    return Patch(head, list(_hunks(one, other, found, context)), added, removed)


def _with_tab(name: str) -> str:
    """NAME, and behind one with a blank the tab that tells where it ends."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def subproject(side: Side | None, *, dirty: bool = False) -> bytes:
    """The line that stands for the content of a submodule."""
    if side is None:
        return b""
    return b"Subproject commit %b%b\n" % (side.oid.hex().encode(), b"-dirty" * dirty)


def is_submodule(change: Change) -> bool:
    """Whether a side of `change` is a submodule."""
    return any(side is not None and side.kind == GITLINK for side in (change.old, change.new))


def _lines(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _hunks(
    old: Sequence[bytes], new: Sequence[bytes], found: Sequence[Block], context: int
) -> Iterator[bytes]:
    """Yield the hunks: blocks with `context` around, where near ones share a hunk."""
    together: list[list[Block]] = []
    for block in found:
        if together and block[0] - together[-1][-1][1] <= 2 * context:
            together[-1].append(block)
        else:
            together.append([block])
    named, above = 0, b""
    for group in together:
        first, last = group[0], group[-1]
        before, after = min(context, first[0]), min(context, len(old) - last[1])
        start, end = first[0] - before, last[1] + after
        new_start, new_end = first[2] - before, last[3] + after
        for line in old[named:start]:
            above = line if _NAME.match(line) else above
        named = start
        name = above[:_NAME_BYTES].rstrip()
        rows = [
            b"@@ -%b +%b @@%b\n"
            % (_range(start, end), _range(new_start, new_end), b" " + name if name else b"")
        ]
        at = start
        for one, two, three, four in group:
            rows += [b" " + line for line in old[at:one]]
            rows += [b"-" + line for line in old[one:two]]
            rows += [b"+" + line for line in new[three:four]]
            at = two
        rows += [b" " + line for line in old[at:end]]
        yield b"".join(row if row.endswith(b"\n") else row + b"\n" + _ENDLESS for row in rows)


def _range(start: int, end: int) -> bytes:
    """Lines `start` to `end`, counted from 0, as a hunk names them: `3,2`."""
    length = end - start
    first = start + 1 if length else start
    return b"%d" % first if length == 1 else b"%d,%d" % (first, length)
