r"""A change as git writes it: the head that names the file, and hunks of lines.

    diff --git a/src/app.py b/src/app.py
    index 3f2a1c0..9b1e4d2 100644
    --- a/src/app.py
    +++ b/src/app.py
    @@ -12,3 +12,4 @@ Server.run
     context
    +added

Patches are bytes, because lines can be in any encoding. Behind `@@` stands the definition around
the change (`structure`). In a language that is not known it is the nearest line above that begins
with a letter, as in git.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.changes.lines import Block, blocks
from backstaff.changes.objects import Change
from backstaff.changes.porcelain import quoted
from backstaff.changes.renames import MOST
from backstaff.contents.outlines import outline

ABBREVIATED = 7
_NAME_BYTES = 80
_AHEAD = 150
"""Number of lines behind the last change in which decorators and signatures can end."""
_NAME = re.compile(rb"[A-Za-z_$]")
_ENDLESS = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Patch:
    """The patch of one file: its head and its hunks, and the numbers of lines added and removed.

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


def patch_of(  # noqa: PLR0913  # all that a patch is made of
    path: str,
    change: Change,
    texts: tuple[bytes, bytes],
    *,
    inside: str,
    is_binary: bool,
    context: int | None,
    budget: Budget,
) -> Patch:
    """The patch of the `change` of `path`, whose old and new `texts` are as git stores them.

    `inside` stands before each path. Hunks have `context` lines around each change; if that is
    None, there are none. Raises `DeadlineExceeded`.
    """
    old, new = change.old, change.new
    before, after = quoted(f"a/{inside}{change.source or path}"), quoted(f"b/{inside}{path}")
    head = [f"diff --git {before} {after}"]
    if old and new and old.mode != new.mode:
        head += [f"old mode {old.mode:06o}", f"new mode {new.mode:06o}"]
    elif not old and new:
        head.append(f"new file mode {new.mode:06o}")
    elif old and not new:
        head.append(f"deleted file mode {old.mode:06o}")
    if change.source:
        head += [
            f"similarity index {change.score * 100 // MOST}%",
            f"rename from {quoted(inside + change.source)}",
            f"rename to {quoted(inside + path)}",
        ]
    one, other = (
        side.oid.hex()[:ABBREVIATED] if side else "0" * ABBREVIATED for side in (old, new)
    )
    if one != other:
        mode = f" {new.mode:06o}" if old and new and old.mode == new.mode else ""
        head.append(f"index {one}..{other}{mode}")
    before, after = before if old else "/dev/null", after if new else "/dev/null"
    if is_binary:
        head.append(f"Binary files {before} and {after} differ")
        return Patch(os.fsencode("\n".join(head) + "\n"))
    lines, new_lines = map(_lines, texts)
    found = blocks(lines, new_lines, budget)
    if found:
        # A tab ends a name with a blank, even a quoted one.
        tabs = ("\t" if " " in name else "" for name in (before, after))
        head += [f"--- {before}{next(tabs)}", f"+++ {after}{next(tabs)}"]
    hunks = list[bytes]()
    if context is not None:
        names = _names(path, lines, new_lines, found, context, budget)
        hunks = list(_hunks(lines, new_lines, found, context, names))
    removed = sum(end - start for start, end, _, _ in found)
    added = sum(end - start for _, _, start, end in found)
    return Patch(os.fsencode("\n".join(head) + "\n"), hunks, added, removed)


def _lines(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _names(  # noqa: PLR0913, PLR0917  # both texts, and where they differ
    path: str,
    old: Sequence[bytes],
    new: Sequence[bytes],
    found: Sequence[Block],
    context: int,
    budget: Budget,
) -> Iterator[bytes]:
    """Yield the name of the definition around each block in `found`; empty if there is none."""
    known = None
    if old and new and found:
        # To know the definitions before the last change takes little of the text behind it.
        above = b"".join(new[: found[-1][3] + _AHEAD])
        known = outline(above.decode("utf-8", "replace"), path, budget)
    at, above = 0, b""
    for start, _, new_start, new_end in found:
        if known and not known.problem:
            # If lines are only removed, the line before them was in the same definition.
            around = known.around(new_start + (new_start < new_end))
            name = around.qualified.encode("utf-8", "replace") if around else b""
        else:
            for line in old[at : max(start - context, 0)]:
                above = line if _NAME.match(line) else above
            at, name = max(at, start - context), above
        yield name[:_NAME_BYTES].rstrip()


def _hunks(
    old: Sequence[bytes],
    new: Sequence[bytes],
    found: Sequence[Block],
    context: int,
    names: Iterator[bytes],
) -> Iterator[bytes]:
    """Yield the hunks: blocks with `context` lines around, where near ones share a hunk."""
    together: list[tuple[bytes, list[Block]]] = []
    for block, name in zip(found, names, strict=True):
        if together and block[0] - together[-1][1][-1][1] <= 2 * context:
            together[-1][1].append(block)
        else:
            together.append((name, [block]))
    for name, group in together:
        first, last = group[0], group[-1]
        before, after = min(context, first[0]), min(context, len(old) - last[1])
        start, end = first[0] - before, last[1] + after
        ranges = _range(start, end), _range(first[2] - before, last[3] + after)
        rows = [b"@@ -%b +%b @@%b\n" % (*ranges, b" " + name if name else b"")]
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
