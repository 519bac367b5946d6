"""What has changed: the last commit, git's index, and the files as they are now.

Git is asked for its objects and settings alone. The files are read here, below the root and through
its descriptors. A file counts as unchanged if its status equals the one in the index, as git
compares them, or if its content has the hash in the index, after the conversion that git would do.
Where git would run a program to convert it, the file is `undecided`.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.changes.attributes import MAX_BYTES as MAX_ATTRIBUTES
from backstaff.changes.attributes import Attributes
from backstaff.changes.conversion import Conversion, conversion, oid_of
from backstaff.changes.index import (
    COLUMNS,
    GITLINK,
    LINK,
    BadIndex,
    Entry,
    Index,
    Names,
    parse,
    stamp_of,
)
from backstaff.changes.objects import (
    MAX_BYTES,
    Side,
    Unanswered,
    answered,
    between,
    blobs,
    side_of,
    tree,
)
from backstaff.changes.renames import renames
from backstaff.changes.settings import QUESTION, Settings
from backstaff.errors import DeadlineExceeded, NotFound, PathError
from backstaff.fs.entry import Kind, Named, link_target, lstat_or_none
from backstaff.fs.file import read
from backstaff.fs.handles import HANDLES
from backstaff.fs.root import Place
from backstaff.fs.walk import Walk
from backstaff.project.files import ProjectFiles, project_files
from backstaff.project.git import MAX_OUTPUT, NoGit, Repository, find_repository
from backstaff.project.packed import Closed
from backstaff.project.stamp import UNSETTLED, Stamp, settled

MAX_KEPT = 500_000
"""Entries of all indexes that are kept, each of about 150 bytes."""
MAX_COMMITS = 2
"""Commits with which an index that is kept is compared for good."""
COUNTS_LAST_LINES = (2, 44)
"""The git from which on a last line without a newline counts when files are alike."""
MAX_COMPARED = 64 << 20
"""Bytes of the largest file whose content is compared; a larger one is undecided."""

_mode = attrgetter("st_mode")
_REGULAR, _EXECUTABLE, _OWNER = 0o100644, 0o100755, 0o100
_CONFLICTS = {1: "DD", 2: "AU", 3: "UD", 4: "UA", 5: "DU", 6: "AA", 7: "UU"}
"""Git's words for a conflict, by the bits of the stages that there are."""


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs: its two sides, None where it is not there, and the path before."""

    old: Side | None
    new: Side | None
    source: str = ""
    score: int = 0
    dirty: bool = False
    """Whether a submodule has changes of its own, beside untracked files."""

    @property
    def letter(self) -> str:
        """Git's letter for it."""
        if self.source:
            return "R"
        if self.old is None or self.new is None:
            return "A" if self.old is None else "D"
        return "M" if stat.S_IFMT(self.old.mode) == stat.S_IFMT(self.new.mode) else "T"


Changes = dict[str, Change]


@dataclass(frozen=True, slots=True)
class Status:
    """All that differs: in the index, on the disk, and in neither. Paths are from the base.

    `untracked` directories end with a slash.
    """

    staged: Changes
    changed: Changes
    conflicts: Mapping[str, str]
    untracked: Sequence[str]
    undecided: Sequence[str]


@dataclass(slots=True)
class WorkTree:
    """A work tree. The `base` is its top, or the root of the call if the top is above that.

    `inside` is the path from the top to the base: "" or `a/b/`.
    """

    base: Place
    inside: str
    repository: Repository
    settings: Settings
    index: Index
    staged_since: dict[str, Changes]
    """What `staged` has found in this index, by commit."""
    budget: Budget
    _attributes: Attributes = field(init=False)

    def __post_init__(self) -> None:
        """Find the files of attributes; they are read when they are needed."""
        self._attributes = self._all_attributes()

    # -------------------------------------------------------------- the index and commits

    def staged(self, commit: str) -> Changes:
        """The differences between `commit` ("": no file) and the index.

        A file in conflict is in no index.
        """
        if commit in self.staged_since:
            return self.staged_since[commit]
        old = tree(self.repository, commit, self.inside, self.budget) if commit else set()
        start = os.fsencode(self.inside)
        new = {
            b"%06o %b %b\t%b"
            % (
                entry.mode,
                b"commit" if entry.kind == GITLINK else b"blob",
                entry.oid.hex().encode(),
                start + os.fsencode(path),
            )
            for path, entry in self.budget.checked(self.index.entries())
            if not entry.intended
        }
        before = dict(side_of(line, self.inside) for line in old - new)
        after = dict(side_of(line, self.inside) for line in new - old)
        paths = in_order(before.keys() | after.keys())
        found = {path: Change(before.get(path), after.get(path)) for path in paths}
        if len(self.staged_since) >= MAX_COMMITS:
            self.staged_since.clear()
        self.staged_since[commit] = found
        return found

    def between(self, old: str, new: str) -> Changes:
        """The differences between two commits."""
        told = between(self.repository, old, new, self.inside, self.budget)
        return {path: Change(*sides) for path, sides in told.items()}

    # -------------------------------------------------------------- the disk

    def changed(self, below: str = "") -> tuple[Changes, list[str]]:
        """The differences between the index and the disk, and the undecided paths.

        `below` is the only file or directory that counts. Raises `DeadlineExceeded`.
        """
        look = _Look(self, below)
        look.run()
        return {path: look.found[path] for path in in_order(look.found)}, look.undecided

    def converted(self, path: str, content: bytes) -> bytes | None:
        """CONTENT of the file `path` as git would store it; None if that takes a program."""
        found = self._conversion(path)
        if found.needs_program:
            return None
        entry = self.index.get(path)

        def in_index() -> bytes:
            known = blobs(self.repository, [entry.oid] if entry else [], self.budget)
            return next(iter(known.values()), b"")

        return found.to_git(content, in_index)

    def needs_program(self, path: str) -> bool:
        """Whether git would run a program to compare the file `path`."""
        return self._conversion(path).needs_program

    def _conversion(self, path: str) -> Conversion:
        attributes = self._attributes.of(self.inside + path)
        return conversion(attributes, self.settings.autocrlf, self.settings.filters)

    def is_binary(self, path: str, *contents: bytes) -> bool:
        """Return whether the `contents` of `path` are binary, by its attributes or by a NUL."""
        diff = self._attributes.of(self.inside + path).get("diff")
        if isinstance(diff, bool):
            return not diff
        return any(b"\0" in content[:8000] for content in contents)

    def _all_attributes(self) -> Attributes:
        directory = self.repository.directory

        def of_file(path: str, *, follow: bool = False) -> bytes:
            try:
                return read(path, directory, MAX_ATTRIBUTES, follow=follow).head
            except PathError:
                return b""

        def of_tree(path: str) -> bytes:
            if not path.startswith(self.inside):
                path = "../" * self.inside.count("/") + path
            else:
                path = path.removeprefix(self.inside)
            try:
                found = self._read(path, MAX_ATTRIBUTES)
            except (OSError, PathError):
                entry = self.index.get(path)
                known = blobs(self.repository, [entry.oid] if entry else [], self.budget)
                return next(iter(known.values()), b"")
            return found

        # A link at info/exclude may have been resolved.
        beside = self.repository.exclude
        beside = (
            beside
            if beside.endswith("info/exclude")
            else os.path.join(os.path.dirname(self.repository.index), "info/exclude")
        )
        info = of_file(f"{os.path.dirname(beside)}/attributes")
        general = [of_file("/etc/gitattributes", follow=True)]
        general.append(of_file(self.settings.users_attributes, follow=True))
        ignore_case = self.repository.ignore_case
        return Attributes(of_tree, general, info, ignore_case=ignore_case)

    def _read(self, path: str, most: int) -> bytes:
        """At most `most` bytes of the file `path` below the base. Raises `OSError`, `PathError`."""
        with self._parent(path) as directory:
            return read(path.rpartition("/")[2], directory, most).head

    def _target(self, path: str) -> str:
        """The target of the link `path`. Raises `OSError`."""
        with self._parent(path) as directory:
            return HANDLES.readlink(path.rpartition("/")[2], directory)

    @contextmanager
    def _parent(self, path: str) -> Iterator[int]:
        """The open directory of `path`, entered name by name and never through a link."""
        directory = HANDLES.duplicate(self.base.directory)
        try:
            for parent in path.split("/")[:-1]:
                inner = HANDLES.enter(parent, directory)
                HANDLES.close(directory)
                directory = inner
            yield directory
        finally:
            HANDLES.close(directory)

    # -------------------------------------------------------------- all together

    def status(self, project: ProjectFiles) -> Status:
        """All that differs. `project` are the files below the base."""
        if project.expired:
            raise DeadlineExceeded
        conflicts = self.index.conflicts
        staged = self.staged(self.repository.head)
        staged = {path: one for path, one in staged.items() if path not in conflicts}
        changed, undecided = self.changed()
        if self.settings.renames:
            staged = self.with_renames(staged)
            # A file in conflict that is gone can be one that was renamed.
            changed = self.with_renames(changed | self._lost())
            changed = {path: one for path, one in changed.items() if path not in conflicts}
        letters = {
            path: _CONFLICTS[sum(1 << stage - 1 for stage in conflicts[path])]
            for path in in_order(conflicts)
        }
        return Status(staged, changed, letters, self._untracked(project), undecided)

    def _lost(self) -> Changes:
        """The files in conflict of which our version is not on the disk."""
        ours = {path: one[2] for path, one in self.index.conflicts.items() if 2 in one}  # noqa: PLR2004
        lost = [path for path in ours if self.on_disk(path) is None]
        return {path: Change(Side(ours[path].mode, ours[path].oid), None) for path in lost}

    def with_renames(self, changes: Changes) -> Changes:
        """CHANGES with a renamed file in the place of one that is gone and a new one."""
        gone = {path: one.old for path, one in changes.items() if one.old and not one.new}
        new = {path: one.new for path, one in changes.items() if one.new and not one.old}
        if not gone or not new:
            return changes
        new = {path: self.with_oid(path, side) for path, side in new.items()}
        to_the_end = self.repository.version(self.budget) >= COUNTS_LAST_LINES
        found = renames(gone, new, self.contents, self.budget, to_the_end=to_the_end)
        sources = {rename.source for rename in found.values()}
        return {
            path: Change(gone[found[path].source], new[path], *found[path])
            if path in found
            else change
            for path, change in changes.items()
            if path not in sources
        }

    def on_disk(self, path: str) -> Side | None:
        """The side of the file `path` as it is on the disk now; None if there is no file."""
        try:
            with self._parent(path) as directory:
                status = lstat_or_none(path.rpartition("/")[2], directory)
        except OSError:
            return None
        return (
            Side(_mode_of(status.st_mode)) if status and not stat.S_ISDIR(status.st_mode) else None
        )

    def with_oid(self, path: str, side: Side) -> Side:
        """SIDE with its hash, for which the file `path` on the disk is read where need be."""
        if side.oid or side.kind == GITLINK:
            return side
        content = self.content(path, side)
        return side if content is None else side._replace(oid=oid_of(content, self.index.oid_bytes))

    def contents(self, sides: Iterable[tuple[str, Side]]) -> Mapping[str, bytes]:
        """The contents of `sides` as git would store them, by path, as far as they are known."""
        wanted = dict(sides)
        known = blobs(self.repository, {one.oid for one in wanted.values()}, self.budget)
        found = {}
        for path, side in wanted.items():
            if side.oid in known:
                found[path] = known[side.oid]
            elif (content := self.content(path, side)) is not None:
                found[path] = content
        return found

    def content(self, path: str, side: Side) -> bytes | None:
        """The content of the file `path` on the disk as git would store it.

        None if it is unknown.
        """
        try:
            if side.kind == LINK:
                return os.fsencode(self._target(path))
            content = self._read(path, MAX_BYTES + 1)
        except (OSError, PathError):
            return None
        return None if len(content) > MAX_BYTES else self.converted(path, content)

    def _untracked(self, project: ProjectFiles) -> Sequence[str]:
        mode = self.settings.untracked
        if mode == "no":
            return ()
        found = set[str]()
        entered = self.index.directories
        for directory in self.budget.within(project.directories):
            tracked = entered.get(directory.path)
            names = [*directory.names(), *project.locks.get(directory.path, ())]
            if tracked is not None:
                names = list(set(names).difference(tracked.names))
            prefix = f"{directory.path}/" if directory.path else ""
            if directory.closed is Closed.REPOSITORY and self.index.get(directory.path) is None:
                found.add(self._collapsed(directory.path + "/", mode))
            elif tracked is None and names and mode == "normal":
                found.add(self._collapsed(prefix + names[0], mode))
            else:
                paths = (prefix + name for name in names)
                found.update(self._collapsed(path, mode) for path in paths)
        # Git passes over a directory in the place of a file of the index.
        return [path for path in in_order(found) if not self._has(path.removesuffix("/"))]

    def _has(self, path: str) -> bool:
        return path in self.index.conflicts or self.index.get(path) is not None

    def _collapsed(self, path: str, mode: str) -> str:
        """PATH, or the first directory on its way in which nothing is tracked."""
        at = path.find("/")
        while mode == "normal" and at >= 0:
            if path[:at] not in self.index.directories:
                return path[: at + 1]
            at = path.find("/", at + 1)
        return path


def in_order(paths: Iterable[str]) -> list[str]:
    """PATHS in git's order, by their bytes."""
    return sorted(paths, key=os.fsencode)


# ------------------------------------------------------------------ the look at the disk


@dataclass(slots=True)
class _Look:
    """One look at the files of the index on the disk, or at those `below` a path."""

    work_tree: WorkTree
    below: str
    found: Changes = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)

    def run(self) -> None:
        tree, budget = self.work_tree, self.work_tree.budget
        with Walk(tree.base.directory, self._arrange, budget) as walk:
            for step, problem in walk.enter_all():
                status = lstat_or_none(step.name, step.directory)
                is_there = status is not None and stat.S_ISDIR(status.st_mode)
                self._missing(step.path, undecided=is_there)
                del problem
        if walk.expired:
            raise DeadlineExceeded
        self.undecided = in_order(self.undecided)

    def _arrange(self, directory: int, path: str) -> Sequence[Named]:
        """Look at the files in the open `directory`, and return the directories to enter."""
        names = self.work_tree.index.directories[path]
        prefix = f"{path}/" if path else ""
        if self._covers(path):
            self._look_at(names, range(len(names.names)), directory, prefix)
            return [(name, Kind.DIRECTORY) for name in names.directories]
        name, _, _ = self.below.removeprefix(prefix).partition("/")
        if prefix + name == self.below and name in names.names:
            self._look_at(names, [names.names.index(name)], directory, prefix)
        return [(name, Kind.DIRECTORY)] if name in names.directories else []

    def _covers(self, path: str) -> bool:
        return not self.below or path == self.below or path.startswith(self.below + "/")

    def _look_at(self, names: Names, which: Sequence[int], directory: int, prefix: str) -> None:
        """Compare the entries with the numbers `which` with the files in the open `directory`."""
        budget = self.work_tree.budget
        for first in range(0, len(which), budget.STRIDE):
            budget.check()
            part = which[first : first + budget.STRIDE]
            some = [names.names[number] for number in part]
            statuses: Sequence[os.stat_result | None]
            try:
                statuses = there = HANDLES.lstats(some, directory)
                stamps = list(chain.from_iterable(map(stamp_of, there)))
                expected = names.stamps[part[0] * COLUMNS : (part[-1] + 1) * COLUMNS].tolist()
                modes = set(map(_mode_of, set(map(_mode, there))))
                if stamps == expected and modes == names.modes and len(modes) == 1:
                    continue
            except OSError:  # of one of them, at least
                statuses = [lstat_or_none(name, directory) for name in some]
            for number, name, status in zip(part, some, statuses, strict=True):
                entry = self.work_tree.index.entry(names.places[number])
                self._compare(prefix + name, name, directory, entry, status)

    def _missing(self, directory: str, *, undecided: bool) -> None:
        """Note the entries below `directory`, which is gone or, if `undecided`, unreadable."""
        index = self.work_tree.index
        ahead = [directory]
        while ahead:
            path = ahead.pop()
            names = index.directories[path]
            ahead += [f"{path}/{name}" for name in names.directories]
            for name, place in zip(names.names, names.places, strict=True):
                entry, full = index.entry(place), f"{path}/{name}"
                if entry.valid or entry.skipped or not (self._covers(full)):
                    continue
                if undecided:
                    self.undecided.append(full)
                else:
                    self.found[full] = Change(Side(entry.mode, entry.oid), None)

    def _compare(  # noqa: C901, PLR0911  # one case after the other, as git has them
        self, path: str, name: str, directory: int, entry: Entry, status: os.stat_result | None
    ) -> None:
        """Compare `entry` with the file `name` in the open `directory`, of this `status`."""
        old = Side(entry.mode, entry.oid)
        if entry.valid or (entry.skipped and (status is None or not self._is_sparse())):
            return
        if status is None:
            self.found[path] = Change(old, None)
            return
        mode = _mode_of(status.st_mode)
        if entry.kind == GITLINK and not entry.intended:
            self._compare_repository(path, entry, status)
            return
        if stat.S_ISDIR(status.st_mode) and entry.kind != GITLINK:
            self.found[path] = Change(old, None)
            return
        if LINK not in (mode, entry.kind) and not self._has_modes():
            mode = entry.mode
        if entry.intended:
            self.found[path] = Change(None, Side(mode))
            return
        if mode != entry.mode:
            self.found[path] = Change(old, Side(mode))
            return
        modified, changed, size, inode = entry.stamp
        now = (
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_size & _WORD,
            status.st_ino & _WORD,
        )
        if now == (modified, changed, size, inode) and not entry.racy:
            return
        if size and size != status.st_size & _WORD:
            self.found[path] = Change(old, Side(mode))
            return
        same = self._is_same(path, name, directory, entry, status)
        if same is None:
            self.undecided.append(path)
        elif not same:
            self.found[path] = Change(old, Side(mode))

    def _is_same(
        self, path: str, name: str, directory: int, entry: Entry, status: os.stat_result
    ) -> bool | None:
        """Whether the content of the file is that of `entry`; None if that cannot be told."""
        oid_bytes = self.work_tree.index.oid_bytes
        if entry.kind == LINK:
            target = link_target(name, directory)
            return target is not None and oid_of(os.fsencode(target), oid_bytes) == entry.oid
        if status.st_size > MAX_COMPARED or not stat.S_ISREG(status.st_mode):
            return None
        try:
            content = read(name, directory, MAX_COMPARED).head
        except PathError:
            return None
        converted = self.work_tree.converted(path, content)
        return None if converted is None else oid_of(converted, oid_bytes) == entry.oid

    def _compare_repository(self, path: str, entry: Entry, status: os.stat_result) -> None:
        """Compare the submodule at `path`: its commit, and whether anything in it differs."""
        tree = self.work_tree
        old = Side(entry.mode, entry.oid)
        if not stat.S_ISDIR(status.st_mode):
            self.found[path] = Change(old, Side(_mode_of(status.st_mode)))
            return
        try:
            with tree.base.root.directory(tree.base.prefix + path) as place:
                repository = find_repository(place.listing(), tree.base.root.path, tree.budget)
                if isinstance(repository, NoGit):
                    if repository is not NoGit.NO_WORK_TREE:
                        self.undecided.append(path)
                    return
                if repository.depth:  # it was not cloned: this is the repository around
                    return
                new = Side(GITLINK, bytes.fromhex(repository.head))
                with opened(place, repository, tree.budget) as inner:
                    found = inner.status(project_files(place, tree.budget))
        except (PathError, Unanswered):
            self.undecided.append(path)
            return
        dirty = bool(found.staged or found.changed or found.conflicts)
        if new != old or dirty or found.untracked:
            self.found[path] = Change(old, new, dirty=dirty)

    def _is_sparse(self) -> bool:
        return self.work_tree.settings.flag("core.sparsecheckout", default=False)

    def _has_modes(self) -> bool:
        return self.work_tree.settings.flag("core.filemode", default=True)


_WORD = 0xFFFFFFFF


def _mode_of(mode: int) -> int:
    """The mode that git has for a file with `mode`."""
    if stat.S_ISLNK(mode):
        return LINK
    if stat.S_ISDIR(mode):
        return GITLINK
    return _EXECUTABLE if mode & _OWNER else _REGULAR


# ------------------------------------------------------------------ the start


@dataclass(frozen=True, slots=True)
class _Kept:
    """An index, and what was found in it."""

    index: Index
    staged: dict[str, Changes] = field(default_factory=dict)


@contextmanager
def opened(start: Place, repository: Repository, budget: Budget) -> Iterator[WorkTree]:
    """The work tree around the directory `start`, whose `repository` was found.

    Raises `PathError`, `Unanswered`, `DeadlineExceeded` and `Cancelled`.
    """
    if repository.foreign:
        raise Unanswered(NoGit.ELSEWHERE)
    question = repository.start(budget, *QUESTION)
    try:
        names = [] if start.relative == "." else start.relative.split("/")
        within = len(names) - repository.depth
        inside = ""
        if within < 0:
            inside = "/".join(start.root.components[within:]) + "/"
        with start.root.directory("/".join(names[:within]) if within > 0 else ".") as base:
            if isinstance(question, NoGit):
                raise Unanswered(question)
            settings = Settings.read(answered(question.answer((0, 1))))
            kept = _read_index(repository, settings, inside, budget)
            yield WorkTree(base, inside, repository, settings, kept.index, kept.staged, budget)
    finally:
        if not isinstance(question, NoGit):
            question.end()


def _read_index(repository: Repository, settings: Settings, inside: str, budget: Budget) -> _Kept:
    """The index of `repository`, which is kept until its file changes."""
    path, directory = repository.index, repository.directory

    def shared(oid: str) -> bytes:
        beside = os.path.join(os.path.dirname(path), f"sharedindex.{oid}")
        return read(beside, directory, MAX_OUTPUT).head

    now = time.time_ns()
    try:
        content = read(path, directory, 0)
        stamp = settled(content.status, now)
        kept = _KEPT.get((stamp, inside)) if stamp != UNSETTLED else None
        if kept is not None:
            return kept
        if content.status.st_size > MAX_OUTPUT:
            raise Unanswered(NoGit.TOO_MUCH)
        content = read(path, directory, MAX_OUTPUT)
        modified = content.status.st_mtime_ns
        index = parse(content.head, settings.oid_bytes, modified, inside, shared, budget)
        if index.sparse:
            told = answered(repository.listed(budget))
            index.expand(told.split(b"\0")[:-1], inside)
    except NotFound:  # nothing was added yet
        return _Kept(Index(b"", settings.oid_bytes, 0))
    except (BadIndex, PathError) as error:
        raise Unanswered(NoGit.BROKEN) from error
    found = _Kept(index)
    if settled(content.status, now) == stamp != UNSETTLED:
        _KEPT.put((stamp, inside), found)
    return found


_KEPT: LRUCache[tuple[Stamp, str], _Kept] = LRUCache(
    MAX_KEPT, lambda kept: len(kept.index.data) // 80
)
