"""Two states of a work tree, file by file: commits, the index, and the files as they are now.

The text of a buffer that is not saved stands for its file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from backstaff.budget import Budget
from backstaff.changes.conversion import oid_of
from backstaff.changes.index import GITLINK, LINK
from backstaff.changes.objects import Side, blobs
from backstaff.changes.patch import Patch, binary, of_lines, subproject
from backstaff.changes.work_tree import Change, Changes, WorkTree, in_order

INDEX = "index"
AT_ONCE = 200
"""Files whose contents are asked for together."""


class Origin(StrEnum):
    """Where the new text of a file comes from."""

    DISK = "disk"
    BUFFER = "buffer"


class Unshown(StrEnum):
    """Why the lines of a file are not shown."""

    SECRET = "it may hold secrets: a person has to allow it"  # noqa: S105  # no password
    UNDECIDED = "a filter or an encoding would have to run to compare it"
    TOO_LARGE = "it is larger than 4 MiB, or git cannot read it"


@dataclass(frozen=True, slots=True)
class Different:
    """A file that differs. `origin` is None if both sides are git's."""

    path: str
    change: Change
    origin: Origin | None = None
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """The files that differ below a path, in git's order; `texts` are those of buffers."""

    work_tree: WorkTree
    files: Sequence[Different]
    texts: Mapping[str, bytes]
    allowed: str = ""
    """A file that may hold secrets, and that a person has allowed to be shown."""

    def patches(
        self, files: Sequence[Different], context: int, budget: Budget
    ) -> Iterator[Patch | Unshown]:
        """Yield the patch of each of `files`, or why there is none. Raises `DeadlineExceeded`."""
        for first in range(0, len(files), AT_ONCE):
            some = files[first : first + AT_ONCE]
            open_files = [one for one in some if self._unshown(one) is None]
            sides = [side for one in open_files for side in _of_git(one)]
            known = blobs(self.work_tree.repository, {side.oid for side in sides}, budget)
            for one in some:
                yield self._unshown(one) or self._patch(one, known, context, budget)

    def _unshown(self, one: Different) -> Unshown | None:
        base = self.work_tree.base
        paths = {one.path, one.change.source} - {"", self.allowed}
        if any(map(base.hides, paths)):
            return Unshown.SECRET
        return Unshown.UNDECIDED if one.undecided else None

    def _patch(
        self, one: Different, known: Mapping[bytes, bytes], context: int, budget: Budget
    ) -> Patch | Unshown:
        change, inside = one.change, self.work_tree.inside
        if change.letter == "T":  # git tells that one file is gone and another is there
            old_half = replace(one, change=Change(change.old, None), origin=None)
            halves = [old_half, replace(one, change=Change(None, change.new))]
            patches = [self._patch(half, known, context, budget) for half in halves]
            gone, new = patches
            if isinstance(gone, Unshown) or isinstance(new, Unshown):
                return Unshown.TOO_LARGE
            return Patch(gone.text + new.text, (), new.added, gone.removed)
        old, new_text = self._old(change.old, known), self._new(one, known)
        if old is None or new_text is None:
            return Unshown.TOO_LARGE
        is_link = change.new is not None and change.new.kind == LINK
        if not is_link and old != new_text and self.work_tree.is_binary(one.path, old, new_text):
            return binary(one.path, change, inside=inside)
        return of_lines(
            one.path, change, old, new_text, inside=inside, context=context, budget=budget
        )

    @staticmethod
    def _old(side: Side | None, known: Mapping[bytes, bytes]) -> bytes | None:
        if side is None or side.kind == GITLINK:
            return subproject(side)
        return known.get(side.oid)

    def _new(self, one: Different, known: Mapping[bytes, bytes]) -> bytes | None:
        side = one.change.new
        if side is None or side.kind == GITLINK:
            return subproject(side, dirty=one.change.dirty)
        if one.origin is Origin.BUFFER:
            return self.work_tree.converted(one.path, self.texts[one.path])
        if one.origin is Origin.DISK:
            return self.work_tree.content(one.path, side)
        return known.get(side.oid)


def _of_git(one: Different) -> Iterator[Side]:
    """Yield the sides of which git has the content."""
    if one.change.old:
        yield one.change.old
    if one.change.new and one.origin is None:
        yield one.change.new


def compared(
    work_tree: WorkTree,
    base: str,
    target: str | None,
    below: str,
    texts: Mapping[str, bytes],
) -> Comparison:
    """Compare `base` with `target`, each the hash of a commit or `INDEX`.

    None: the files as they are.
    `below` is the only file or directory that counts, "" for all. `texts` are those of buffers.
    Paths are from the base of the `work_tree`. Raises `Unanswered` and `DeadlineExceeded`.
    """
    if target is not None:
        changes = _of_git_alone(work_tree, base, target)
        below_it = {path: one for path, one in changes.items() if _is_below(path, below)}
        renamed = work_tree.with_renames(below_it)
        return Comparison(work_tree, [Different(p, one) for p, one in renamed.items()], {})
    mine = {path: text for path, text in texts.items() if _is_below(path, below)}
    changes, origins, undecided = _with_disk(work_tree, base, below, mine)
    renamed = work_tree.with_renames(changes)
    found = [Different(path, one, origins.get(path)) for path, one in renamed.items()]
    for path in undecided:
        entry = work_tree.index.get(path)
        side = Side(entry.mode, entry.oid) if entry else None
        found.append(Different(path, Change(side, side), Origin.DISK, undecided=True))
    order = {path: number for number, path in enumerate(in_order(one.path for one in found))}
    return Comparison(work_tree, sorted(found, key=lambda one: order[one.path]), mine)


def _of_git_alone(work_tree: WorkTree, base: str, target: str) -> Changes:
    if base == target:
        return {}
    if INDEX not in (base, target):
        return work_tree.between(base, target)
    staged = work_tree.staged(base if target == INDEX else target)
    staged = {p: one for p, one in staged.items() if p not in work_tree.index.conflicts}
    if target == INDEX:
        return staged
    return {path: Change(one.new, one.old) for path, one in staged.items()}


def _with_disk(
    work_tree: WorkTree, base: str, below: str, texts: Mapping[str, bytes]
) -> tuple[Changes, dict[str, Origin], list[str]]:
    """The changes from `base` to the files as they are, their origins, and undecided paths."""
    index = work_tree.index
    staged = {} if base == INDEX else work_tree.staged(base)
    changed, undecided = work_tree.changed(below)
    conflicts = [path for path in index.conflicts if _is_below(path, below)]
    paths = {path for path in staged if _is_below(path, below)}
    paths |= {*changed, *conflicts, *(path for path in texts if _is_tracked(work_tree, path))}
    found: Changes = {}
    origins: dict[str, Origin] = {}
    for path in work_tree.budget.checked(in_order(paths), 8):
        entry = index.get(path)
        in_index = Side(entry.mode, entry.oid) if entry and not entry.intended else None
        ours = index.conflicts.get(path, {}).get(2)
        if base == INDEX and ours:
            old: Side | None = Side(ours.mode, ours.oid)
        else:
            old = staged[path].old if path in staged else in_index
        if path in conflicts:
            new = work_tree.on_disk(path)
        else:
            new = changed[path].new if path in changed else in_index
        is_here = path in changed or path in conflicts
        if path in texts and (old or new or entry):
            text = work_tree.converted(path, texts[path])
            if text is None:
                undecided.append(path)
                continue
            mode = next((s.mode for s in (new, in_index, old) if s and s.kind != GITLINK), 0o100644)
            new = Side(mode, oid_of(text, index.oid_bytes))
            origins[path] = Origin.BUFFER
        elif new and is_here:
            new = work_tree.with_oid(path, new)
            origins[path] = Origin.DISK
            if not new.oid and work_tree.needs_program(path):
                undecided.append(path)
                continue
        dirty = path in changed and changed[path].dirty
        if old != new or dirty:
            found[path] = Change(old, new, dirty=dirty)
    return found, origins, undecided


def _is_tracked(work_tree: WorkTree, path: str) -> bool:
    return work_tree.index.get(path) is not None or path in work_tree.index.conflicts


def _is_below(path: str, below: str) -> bool:
    return not below or path == below or path.startswith(f"{below}/")
