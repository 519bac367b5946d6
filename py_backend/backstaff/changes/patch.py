"""The patch of one file: git's, or one of our own for the text of a buffer.

Git reads a file on the disk by its path, which others can swap meanwhile. So its patch is shown
only if the root's own descriptors find each of its new lines in the file, too (`shows_only`).
"""

import difflib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from backstaff.budget import Budget
from backstaff.changes.porcelain import quoted
from backstaff.changes.work_tree import Change
from backstaff.contents.outlines import outline

ABBREVIATED = 7
MAX_PLACES = 1 << 21
"""Maximum number of pairs of equal lines that one step of a comparison looks at."""
_NAME_BYTES = 80
_AHEAD = 150
"""Number of lines behind the last change in which decorators and signatures can end."""
_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@[^\n]*\n")
ID = re.compile(rb"\$Id:[^$\n]*\$")
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


def read(text: bytes) -> Patch:
    """The patch `text` of git's. One of a file of another type has two heads, and no hunks."""
    parts = re.split(rb"(?m)^(?=diff --git )", text)[1:]
    if len(parts) > 1:
        both = list(map(read, parts))
        added, removed = (
            sum(filter(None, n)) for n in zip(*((p.added, p.removed) for p in both), strict=True)
        )
        return Patch(text, (), added, removed)
    head, *hunks = re.split(rb"(?m)^(?=@@ )", text)
    if re.search(rb"(?m)^Binary files ", head):
        return Patch(text)
    lines = b"".join(hunks)
    added, removed = (len(re.findall(rb"(?m)^" + sign, lines)) for sign in (rb"\+", b"-"))
    return Patch(head, hunks, added, removed)


def shows_only(patch: bytes, content: bytes) -> bool:
    """Whether each line of the new text that git's `patch` shows is a line of `content`.

    Line ends and the values of `$Id$` may differ, as git converts these.
    """

    def plain(line: bytes) -> bytes:
        return ID.sub(b"$Id$", line.removesuffix(b"\r"))

    lines = content.split(b"\n")
    for hunk in re.split(rb"(?m)^(?=@@ )", patch)[1:]:
        if found := _HUNK.match(hunk):
            body = hunk[found.end() :].partition(b"\ndiff --git ")[0].split(b"\n")
            new = [line[1:] for line in body if line[:1] in (b"+", b" ")]
            first = max(int(found[1]) - 1, 0)
            there = lines[first : first + len(new)]
            if new != there and list(map(plain, new)) != list(map(plain, there)):
                return False
    return True


def with_definitions(patch: Patch, path: str, new: bytes, budget: Budget) -> Patch:
    """`patch` with the definition around the first change of each hunk behind its range.

    `new` is the text after the change. Git's own line stays where no definitions are known.
    """
    starts = [_changed_line(hunk) for hunk in patch.hunks]
    if not starts or patch.added is None:
        return patch
    # To know the definitions before the last change takes little of the text behind it.
    above = b"".join(_lines(new)[: starts[-1][0] + _AHEAD])
    known = outline(above.decode("utf-8", "replace"), path, budget)
    if not known or known.problem:
        return patch
    hunks = []
    for hunk, (line, at) in zip(patch.hunks, starts, strict=True):
        around = known.around(line)
        name = around.qualified.encode("utf-8", "replace")[:_NAME_BYTES].rstrip() if around else b""
        hunks.append(hunk[:at] + (b" " + name if name else b"") + hunk[hunk.index(b"\n") :])
    return replace(patch, hunks=hunks)


def _changed_line(hunk: bytes) -> tuple[int, int]:
    """The first new line of a hunk that is changed, counted from 1, and the end of its range.

    If lines are only removed there, it is the line before them: it was in the same definition.
    """
    found = _HUNK.match(hunk)
    if not found:
        return 1, 0
    body = hunk[found.end() :].split(b"\n")
    same = next((at for at, line in enumerate(body) if line[:1] in (b"+", b"-")), 0)
    removed = next((at for at, line in enumerate(body[same:]) if line[:1] != b"-"), 0)
    line = int(found[1]) + same - (body[same + removed][:1] != b"+")
    return line, hunk.index(b"@@", 2) + 2


def made(  # noqa: PLR0913  # all that a patch is made of
    path: str,
    change: Change,
    texts: tuple[bytes, bytes],
    *,
    inside: str,
    context: int,
    budget: Budget,
) -> Patch:
    """The patch of the `change` of `path`, whose old and new `texts` are as git stores them.

    `inside` stands before each path. Hunks have `context` lines around each change. Raises
    `DeadlineExceeded`.
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
        head += [f"rename from {quoted(inside + change.source)}"]
        head += [f"rename to {quoted(inside + path)}"]
    one, other = (side.oid[:ABBREVIATED] if side else "0" * ABBREVIATED for side in (old, new))
    if one != other:
        mode = f" {new.mode:06o}" if old and new and old.mode == new.mode else ""
        head.append(f"index {one}..{other}{mode}")
    before, after = before if old else "/dev/null", after if new else "/dev/null"
    if any(b"\0" in text[:8000] for text in texts):
        head.append(f"Binary files {before} and {after} differ")
        return Patch(os.fsencode("\n".join(head) + "\n"))
    lines, new_lines = map(_lines, texts)
    hunks = [] if lines == new_lines else list(_hunks(lines, new_lines, context, budget))
    if hunks:
        # A tab ends a name with a blank, even a quoted one.
        tabs = ("\t" if " " in name else "" for name in (before, after))
        head += [f"--- {before}{next(tabs)}", f"+++ {after}{next(tabs)}"]
    return read(os.fsencode("\n".join(head) + "\n") + b"".join(hunks))


def _lines(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def oid_of(content: bytes, object_format: str) -> str:
    """The hash of a blob of git's with this `content`."""
    return hashlib.new(object_format, b"blob %d\0" % len(content) + content).hexdigest()


class _Matcher(difflib.SequenceMatcher[bytes]):
    """Compares two lists of lines as long as there is time."""

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes], budget: Budget) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._budget = budget
        most = max(1, MAX_PLACES // (len(old) + 1))
        places: dict[bytes, list[int]] = self.__dict__["b2j"]  # its types do not declare it
        for line in [line for line, found in places.items() if len(found) > most]:
            del places[line]  # it stands almost everywhere, and tells no place

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        """Do the same as the standard library. Raises `DeadlineExceeded`."""
        self._budget.check()
        return super().find_longest_match(alo, ahi, blo, bhi)


def _hunks(
    old: Sequence[bytes], new: Sequence[bytes], context: int, budget: Budget
) -> Iterator[bytes]:
    """Yield the hunks, with `context` lines around each change."""
    shortest = min(len(old), len(new))
    start = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    left = shortest - start
    end = next((at for at in range(left) if old[-1 - at] != new[-1 - at]), left)
    matcher = _Matcher(old[start : len(old) - end], new[start : len(new) - end], budget)
    blocks = [
        (start + a, start + b, start + c, start + d)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]
    groups: list[list[tuple[int, int, int, int]]] = []
    for block in blocks:
        if groups and block[0] - groups[-1][-1][1] <= 2 * context:
            groups[-1].append(block)
        else:
            groups.append([block])
    for group in groups:
        first, last = group[0], group[-1]
        before, after = min(context, first[0]), min(context, len(old) - last[1])
        at, until = first[0] - before, last[1] + after
        ranges = _range(at, until), _range(first[2] - before, last[3] + after)
        rows = [b"@@ -%b +%b @@\n" % ranges]
        for one, two, three, four in group:
            rows += [b" " + line for line in old[at:one]]
            rows += [b"-" + line for line in old[one:two]]
            rows += [b"+" + line for line in new[three:four]]
            at = two
        rows += [b" " + line for line in old[at:until]]
        yield b"".join(row if row.endswith(b"\n") else row + b"\n" + _ENDLESS for row in rows)


def _range(start: int, end: int) -> bytes:
    """Lines `start` to `end`, counted from 0, as a hunk names them: `3,2`."""
    length = end - start
    first = start + 1 if length else start
    return b"%d" % first if length == 1 else b"%d,%d" % (first, length)
