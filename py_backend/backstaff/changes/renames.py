"""Renamed files: a file that is gone and a new one with the same content, or most of it.

The rules are git's: the same content first; then a name that only one file of each kind has, with
three quarters of the content; then the pairs that are most alike, from a half on.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from stat import S_ISREG
from typing import NamedTuple

from backstaff.changes.objects import Changes, Side, in_groups
from backstaff.changes.work_tree import WorkTree

MOST = 60_000
HALF, MOSTLY = MOST // 2, MOST * 3 // 4
MAX_PAIRS = 20_000
"""Maximum number of pairs that are compared; with more, only the same content counts."""
COUNTS_LAST_LINES = (2, 44)
"""The first version of git for which a last line without a newline counts in renamed files."""
_CANDIDATES = 4
"""Number of old files that are considered for each new one."""
_PIECE = 64


class Rename(NamedTuple):
    """The old path, and how alike both are, of `MOST`."""

    source: str
    score: int


def with_renames(tree: WorkTree, changes: Changes) -> Changes:
    """Return `changes` with renames: the entries of `old.py`, gone, and `new.py` become one.

    Raises `Unanswered` and `DeadlineExceeded`.
    """
    gone = {path: one.old for path, one in changes.items() if one.old and not one.new}
    new = {path: one.new for path, one in changes.items() if one.new and not one.old}
    if not gone or not new:
        return changes
    # To read a file of `MAX_BYTES`, and to hash it, takes some milliseconds.
    new = {path: tree.with_oid(path, new[path]) for path in tree.budget.checked(new, 8)}
    found = _renames(tree, gone, new)
    sources = {rename.source for rename in found.values()}
    return {
        path: replace(change, old=gone[found[path].source], new=new[path], **found[path]._asdict())
        if path in found
        else change
        for path, change in changes.items()
        if path not in sources
    }


def _renames(
    tree: WorkTree, gone: Mapping[str, Side], new: Mapping[str, Side]
) -> dict[str, Rename]:
    """The files among `new` that were renamed, by path, from those that are `gone`.

    Both are in git's order.
    """
    found = _same(gone, new)
    used = {one.source for one in found.values()}
    sources = {p: s for p, s in gone.items() if p not in used and S_ISREG(s.mode)}
    targets = {p: s for p, s in new.items() if p not in found and S_ISREG(s.mode)}
    if not sources or not targets or len(sources) * len(targets) > MAX_PAIRS:
        return found
    old, fresh = _pieces(tree, sources), _pieces(tree, targets)
    by_name, new_by_name = _unique(old), _unique(fresh)
    for name in by_name.keys() & new_by_name.keys():
        source, path = by_name[name], new_by_name[name]
        score = old[source].likeness(fresh[path])
        if score >= MOSTLY:
            found[path] = Rename(source, score)
            del old[source], fresh[path]
    candidates: list[tuple[int, bool, str, str]] = []
    for path in tree.budget.checked(fresh, 8):
        best: list[tuple[int, bool, str]] = []
        for source, pieces in old.items():
            one = (pieces.likeness(fresh[path]), _name(source) == _name(path), source)
            if one[0] >= HALF and len(best) < _CANDIDATES:
                best.append(one)
            elif one[0] >= HALF:  # in the place of the worst
                worst = min(range(_CANDIDATES), key=lambda at: best[at][:2])
                best[worst] = max(best[worst], one, key=lambda one: one[:2])
        candidates += [(*one, path) for one in best]
    used = set()
    for score, _, source, path in sorted(candidates, key=lambda one: (-one[0], -one[1])):
        if path not in found and source not in used:
            used.add(source)
            found[path] = Rename(source, score)
    return found


def _same(gone: Mapping[str, Side], new: Mapping[str, Side]) -> dict[str, Rename]:
    """The files with the very content of one that is gone, if possible of the same name."""
    found: dict[str, Rename] = {}
    by_oid: dict[bytes, list[str]] = defaultdict(list)
    for path, side in gone.items():
        by_oid[side.oid].append(path)
    for path, side in new.items():
        same = [
            source
            for source in by_oid.get(side.oid, ())
            if gone[source].mode == side.mode or (S_ISREG(gone[source].mode) and S_ISREG(side.mode))
        ]
        if same and side.oid:
            source = next((one for one in same if _name(one) == _name(path)), same[0])
            by_oid[side.oid].remove(source)
            found[path] = Rename(source, MOST)
    return found


def _unique(paths: Iterable[str]) -> dict[str, str]:
    """The `paths` by name, if only one has it."""
    paths = list(paths)
    counts = Counter(map(_name, paths))
    return {name: path for path in paths if counts[name := _name(path)] == 1}


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _pieces(tree: WorkTree, sides: Mapping[str, Side]) -> dict[str, "_Pieces"]:
    """The contents of `sides` in pieces, by path, as far as they are known."""
    to_the_end = tree.repository.version(tree.budget) >= COUNTS_LAST_LINES
    found = {}
    groups = in_groups(list(sides), lambda path: (sides[path].oid,), tree.repository, tree.budget)
    for some, known in groups:
        for path in tree.budget.checked(some, 8):
            side = sides[path]
            text = known[side.oid] if side.oid in known else tree.content(path, side)
            if text is not None:
                is_text = not tree.is_binary(path, text)
                found[path] = _Pieces(text, is_text=is_text, to_the_end=to_the_end)
    return found


class _Pieces:
    """A content in pieces: its lines, cut at 64 bytes; counted by their bytes."""

    def __init__(self, content: bytes, *, is_text: bool, to_the_end: bool) -> None:
        self.size = len(content)
        if is_text:
            content = content.replace(b"\r\n", b"\n")
        self.counts: Counter[bytes] = Counter()
        *lines, last = content.split(b"\n")
        for line in (*(line + b"\n" for line in lines), last):
            for start in range(0, len(line), _PIECE):
                piece = line[start : start + _PIECE]
                if to_the_end or len(piece) == _PIECE or piece.endswith(b"\n"):
                    self.counts[piece] += len(piece)

    def likeness(self, new: "_Pieces") -> int:
        """How much of the larger of both is in the other, of `MOST`."""
        largest, smallest = max(self.size, new.size), min(self.size, new.size)
        if largest * (MOST - HALF) < (largest - smallest) * MOST or not new.size:
            return 0
        common = (self.counts & new.counts).total()
        return common * MOST // largest
