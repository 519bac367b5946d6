"""The patch of one file: git's, or one of our own for the text of a buffer.

Git reads a file on the disk by its path, which others can swap meanwhile. So its patch is shown
only if the root's own descriptors find each of its new lines in the file, too (`shows_only`).
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import Match, SequenceMatcher

from backstaff.budget import Budget
from backstaff.changes.work_tree import Change, quoted
from backstaff.contents.outlines import outline

MAX_PLACES = 1 << 21  # pairs of equal lines that one step of a comparison looks at, at most
_HUNK = re.compile(rb"(?m)^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_AT_HUNK = re.compile(rb"(?m)^(?=@@ )")
_ENDLESS = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Patch:
    """The patch of one file: its head and its hunks, and the numbers of lines added and removed.

    A binary file's has no numbers. That of a file of another type has a second head, in a hunk.
    """

    head: bytes = b""
    hunks: Sequence[bytes] = ()
    added: int | None = None
    removed: int | None = None
    missing: str = ""  # why there is no patch

    @property
    def text(self) -> bytes:
        """The whole patch."""
        return b"".join((self.head, *self.hunks))


def read(text: bytes) -> Patch:
    """The patch `text` of git's."""
    # Git's line for a file in conflict stands between patches of others.
    text = re.sub(rb"(?m)^\* Unmerged path .*\n", b"", text)
    if re.search(rb"(?m)^Binary files ", text):
        return Patch(text)
    head, *hunks = _AT_HUNK.split(text)
    lengths = [(int(old or 1), int(new or 1)) for old, _, new in _HUNK.findall(text)]
    same = len(re.findall(rb"(?m)^ ", text))
    return Patch(head, hunks, sum(b for _, b in lengths) - same, sum(a for a, _ in lengths) - same)


def shows_only(patch: bytes, content: bytes) -> bool:
    """Whether each line of the new text that git's `patch` shows is a line of `content`.

    Line ends and the values of `$Id$` may differ, as git converts these.
    """
    lines = _plain(content + b"\n").split(b"\n")  # a carriage return may end it
    for hunk in _AT_HUNK.split(_plain(patch))[1:]:
        body = hunk.partition(b"\ndiff --git ")[0].split(b"\n")[1:]
        new = [line[1:] for line in body if line[:1] in (b"+", b" ")]
        first = int(hunk.split(b" ", 3)[2].partition(b",")[0]) - 1  # 2 in `@@ -1,2 +3,4 @@`
        if new and new != lines[first : first + len(new)]:
            return False
    return True


def _plain(text: bytes) -> bytes:
    return re.sub(rb"\$Id:[^$\n]*\$", b"$Id$", text.replace(b"\r\n", b"\n"))


def with_definitions(patch: Patch, path: str, new: bytes, budget: Budget) -> Patch:
    """`patch` with the definition around the first change of each hunk behind its range.

    `new` is the text after the change. Git's own line stays where no definitions are known.
    """
    known = outline(new.decode("utf-8", "replace"), path, budget) if patch.hunks else None
    if not known or known.problem:
        return patch
    hunks = []
    for hunk in patch.hunks:
        head, *body = hunk.split(b"\n")
        first = int(head.split(b" ", 3)[2].partition(b",")[0])
        same = next((at for at, line in enumerate(body) if line[:1] in (b"+", b"-")), 0)
        follows = next((line for line in body[same:] if line[:1] != b"-"), b"")
        # Lines that are only removed were in the definition of the line before them.
        around = known.around(first + same - (follows[:1] != b"+"))
        name = around.qualified.encode("utf-8", "replace")[:80].rstrip() if around else b""
        head = head[: head.index(b"@@", 2) + 2] + b" " * bool(name) + name
        hunks.append(b"\n".join((head, *body)))
    return replace(patch, hunks=hunks)


def made(change: Change, inside: str, path: str, context: int, budget: Budget) -> Patch:
    """The patch of a submodule, or of a `change` that has its texts. Raises `DeadlineExceeded`.

    Paths are relative to `inside`, "" or `a/b/`. Hunks have `context` lines around each change.
    """
    source, path = inside + (change.source or path), inside + path
    before, after = quoted(f"a/{source}"), quoted(f"b/{path}")
    modes = [f"{side.mode:06o}" if side.mode else "" for side in (change.old, change.new)]
    oids = [side.oid or "0" * 7 for side in (change.old, change.new)]
    short = [oid[:7] for oid in oids]
    head = [f"diff --git {before} {after}"]
    if modes[0] != modes[1]:
        words = ("old mode", "new mode") if all(modes) else ("deleted file mode", "new file mode")
        head += [f"{word} {mode}" for word, mode in zip(words, modes, strict=True) if mode]
    if change.source:
        how = "copy" if change.letter == "C" else "rename"
        head += ["similarity index 100%"] * (short[0] == short[1])
        head += [f"{how} from {quoted(source)}", f"{how} to {quoted(path)}"]
    if short[0] != short[1]:
        head += [f"index {'..'.join(short)}" + f" {modes[0]}" * (modes[0] == modes[1])]
    pairs = zip(oids, modes, strict=True)
    texts = change.texts or [f"Subproject commit {a}\n".encode() * bool(b) for a, b in pairs]
    before, after = before if modes[0] else "/dev/null", after if modes[1] else "/dev/null"
    hunks = b""
    if any(b"\0" in text[:8000] for text in texts):
        head.append(f"Binary files {before} and {after} differ")
    elif hunks := b"".join(_hunks(texts, context, budget)):
        # A tab ends a name with a blank, even a quoted one.
        before, after = (name + "\t" * (" " in name) for name in (before, after))
        head += [f"--- {before}", f"+++ {after}"]
    return read(os.fsencode("\n".join(head) + "\n") + hunks)


def _hunks(texts: Sequence[bytes], context: int, budget: Budget) -> Iterator[bytes]:
    """Yield the hunks between two texts, as long as there is time."""
    old, new = (re.findall(rb"[^\n]*\n|[^\n]+", text) for text in texts)
    most = max(1, MAX_PLACES // (len(old) + 1))
    common = {line for line, count in Counter(new).items() if count > most}
    matcher = SequenceMatcher(common.__contains__, old, new, autojunk=False)
    longest = matcher.find_longest_match

    def longest_in_time(*within: int) -> Match:
        budget.check()
        return longest(*within)

    vars(matcher)["find_longest_match"] = longest_in_time
    for group in matcher.get_grouped_opcodes(context):
        (_, a, _, b, _), (_, _, c, _, d) = group[0], group[-1]
        rows = [b"@@ -%b +%b @@\n" % (_range(a, c), _range(b, d))]
        for tag, one, two, three, four in group:
            rows += [(b" " if tag == "equal" else b"-") + line for line in old[one:two]]
            rows += [b"+" + line for line in new[three:four] if tag != "equal"]
        yield b"".join(row if row.endswith(b"\n") else row + b"\n" + _ENDLESS for row in rows)


def _range(start: int, end: int) -> bytes:
    """Lines `start` to `end`, counted from 0, as a hunk names them: `3,2`."""
    return (b"%d,%d" % (start + (end > start), end - start)).removesuffix(b",1")
