"""Two states of a work tree, file by file: commits, the index, and the files as they are now.

The text of a buffer that is not saved stands for its file.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from stat import S_ISREG

from backstaff.budget import Budget
from backstaff.changes.conversion import oid_of
from backstaff.changes.index import GITLINK
from backstaff.changes.objects import Change, Changes, Origin, Side, in_groups, in_order
from backstaff.changes.patch import Patch, patch_of
from backstaff.changes.renames import with_renames
from backstaff.changes.status import differences
from backstaff.changes.work_tree import WorkTree

INDEX = "index"


class Unshown(StrEnum):
    """The reason why the lines of a file are not shown."""

    SECRET = "it may hold secrets: a person has to allow it"  # noqa: S105  # no password
    UNDECIDED = "a filter or an encoding would have to run to compare it, or it cannot be read"
    TOO_LARGE = "it is larger than 4 MiB, or git cannot read it"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The files that differ below a path, in git's order; `texts` are those of buffers."""

    work_tree: WorkTree
    files: Changes
    texts: Mapping[str, bytes]
    allowed: str = ""
    """A file that may hold secrets, but that a person has allowed to be shown."""

    def patches(
        self, first: int, context: int | None, budget: Budget
    ) -> Iterator[tuple[str, Change, Patch | Unshown]]:
        """Yield the files from the `first` on, each with its patch or the reason for none.

        Without a `context`, patches have no hunks. Raises `DeadlineExceeded`.
        """

        def oids(path: str) -> Iterable[bytes]:
            change = self.files[path]
            sides = (change.old, None if change.origin else change.new)
            return () if self._unshown(path) else (side.oid for side in sides if side)

        paths = list(self.files)[first:]
        for some, known in in_groups(paths, oids, self.work_tree.repository, budget):
            for path in some:
                change, why = self.files[path], self._unshown(path)
                yield path, change, why or self._patch(path, change, known, context, budget)

    def _unshown(self, path: str) -> Unshown | None:
        change, hides = self.files[path], self.work_tree.base.hides
        if any(map(hides, {path, change.source} - {"", self.allowed})):
            return Unshown.SECRET
        return Unshown.UNDECIDED if change.undecided else None

    def _patch(
        self,
        path: str,
        change: Change,
        known: Mapping[bytes, bytes],
        context: int | None,
        budget: Budget,
    ) -> Patch | Unshown:
        if change.letter == "T":  # to git, one file is gone and another is there
            halves = replace(change, new=None, origin=None), replace(change, old=None)
            gone, added = (self._patch(path, half, known, context, budget) for half in halves)
            if isinstance(gone, Unshown) or isinstance(added, Unshown):
                return Unshown.TOO_LARGE
            return Patch(gone.text + added.text, (), added.added, gone.removed)
        old = self._text(path, change.old, None, known)
        new = self._text(path, change.new, change.origin, known, dirty=change.dirty)
        if old is None or new is None:
            return Unshown.TOO_LARGE
        sides = (
            (change.source or path, change.old, old),
            (path, change.new, new),
        )
        is_binary = old != new and any(
            self.work_tree.is_binary(name, text)
            for name, side, text in sides
            if side and S_ISREG(side.mode)
        )
        return patch_of(
            path,
            change,
            (old, new),
            inside=self.work_tree.inside,
            is_binary=is_binary,
            context=context,
            budget=budget,
        )

    def _text(
        self,
        path: str,
        side: Side | None,
        origin: Origin | None,
        known: Mapping[bytes, bytes],
        *,
        dirty: bool = False,
    ) -> bytes | None:
        if side is None:
            return b""
        if side.kind == GITLINK:
            return b"Subproject commit %b%b\n" % (side.oid.hex().encode(), b"-dirty" * dirty)
        if origin is Origin.BUFFER:
            return self.work_tree.converted(path, self.texts[path])
        return self.work_tree.content(path, side) if origin else known.get(side.oid)


def compared(
    work_tree: WorkTree, base: str, target: str | None, below: str, texts: Mapping[str, bytes]
) -> Comparison:
    """Compare `base` with `target`, each the hash of a commit or `INDEX`.

    If `target` is None, it is the files as they are, where `texts` are those of buffers. `below` is
    the only file or directory that counts, "" for all. Paths are from the base of the `work_tree`.
    Raises `Unanswered` and `DeadlineExceeded`.
    """

    def is_below(path: str) -> bool:
        return not below or path == below or path.startswith(f"{below}/")

    if target is None:
        texts = {path: text for path, text in texts.items() if is_below(path)}
        conflicts = [path for path in work_tree.index.conflicts if is_below(path)]
        staged = {} if base == INDEX else work_tree.staged(base)
        staged = {path: one for path, one in staged.items() if is_below(path)}
        changes = _with_disk(work_tree, base, below, staged, conflicts, texts)
    elif base == target:
        changes = {}
    elif INDEX not in (base, target):
        changes = work_tree.between(base, target)
    else:
        changes = work_tree.staged(base if target == INDEX else target)
        changes = {p: one for p, one in changes.items() if p not in work_tree.index.conflicts}
        if base == INDEX:
            changes = {path: Change(one.new, one.old) for path, one in changes.items()}
    shown = {
        path: one
        for path, one in changes.items()
        if is_below(path) and not work_tree.is_hidden(path, one)
    }
    return Comparison(work_tree, with_renames(work_tree, shown), texts)


def _with_disk(  # noqa: C901, PLR0913, PLR0917  # all that a file can come from
    work_tree: WorkTree,
    base: str,
    below: str,
    staged: Changes,
    conflicts: Sequence[str],
    texts: Mapping[str, bytes],
) -> Changes:
    """The changes from `base` to the files; `staged` are those from `base` to the index."""
    index = work_tree.index
    changed, undecided = differences(work_tree, below)
    tracked = [path for path in texts if index.has(path)]
    paths = {*staged, *changed, *undecided, *conflicts, *tracked}
    found: Changes = {}
    for path in work_tree.budget.checked(in_order(paths), 8):
        entry = index.get(path)
        in_index = Side(entry.mode, entry.oid) if entry and not entry.intended else None
        stages = index.conflicts.get(path, {})
        ours = Side(stages[2].mode, stages[2].oid) if 2 in stages else None  # noqa: PLR2004
        old, new, dirty, origin = in_index, in_index, False, None
        # The old side of a name alone (`git add --intent-to-add`) can be an empty file.
        known = changed if base == INDEX else staged
        if path in known:
            old = known[path].old
        elif base == INDEX:
            old = ours or in_index
        if path in conflicts:
            new = work_tree.on_disk(path)
            if new == Side(GITLINK):  # a directory, in which no repository is looked at
                new = ours if ours and ours.kind == GITLINK else None
        elif path in changed:
            new, dirty = changed[path].new, changed[path].dirty
        unknown = path in undecided
        if path in texts and (old or new or entry):
            text = work_tree.converted(path, texts[path])
            unknown, origin = text is None, Origin.BUFFER
            mode = next((s.mode for s in (new, in_index, old) if s and s.kind != GITLINK), 0o100644)
            new = Side(mode, b"" if text is None else oid_of(text, index.oid_bytes))
        elif new and (path in changed or path in conflicts):
            new, origin = work_tree.with_oid(path, new), Origin.DISK
            unknown = not new.oid and work_tree.conversion(path).needs_program
        if unknown:
            side = Side(entry.mode, entry.oid) if entry else None
            found[path] = Change(side, side, origin=Origin.DISK, undecided=True)
        elif old != new or dirty:
            found[path] = Change(old, new, dirty=dirty, origin=origin)
    return found
