"""A status: all that differs in the index, on the disk, and in neither.

A file of the index is unchanged if its status on the disk equals the one in the index, as git
compares them, or if its content has the hash in the index, after the conversion that git would do.
"""

import gc
import os
import signal
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from mmap import mmap
from operator import attrgetter

from backstaff.budget import Budget
from backstaff.changes.conversion import oid_of
from backstaff.changes.index import COLUMNS, GITLINK, LINK, Entry, Names, stamp_of
from backstaff.changes.objects import (
    MAX_CHANGES,
    Change,
    Changes,
    Side,
    Unanswered,
    in_order,
    mode_of,
)
from backstaff.changes.renames import with_renames
from backstaff.changes.work_tree import WorkTree, opened
from backstaff.errors import DeadlineExceeded, PathError
from backstaff.fs.entry import Kind, Named, link_target, lstat_or_none
from backstaff.fs.file import read
from backstaff.fs.handles import DEEPEST, HANDLES
from backstaff.fs.walk import Walk
from backstaff.project.files import Closed, ProjectFiles, project_files
from backstaff.project.git import find_repository
from backstaff.project.running_git import NoGit

MAX_COMPARED = 64 << 20
"""Maximum number of bytes of a file whose content is compared; a larger one is undecided."""
MAX_NESTED = 16
"""Maximum number of submodules within each other that are looked into.

Real ones are a few levels deep. Each level asks git, and holds up to `DEEPEST` directories open.
"""
HELPED_FROM = 2 << 20
"""Number of bytes of an index from which a second process helps: about 20,000 files."""

_CONFLICTS = {1: "DD", 2: "AU", 3: "UD", 4: "UA", 5: "DU", 6: "AA", 7: "UU"}
"""Git's words for a conflict, by the bits of the stages that there are."""
_WORD = 0xFFFFFFFF
_mode = attrgetter("st_mode")


@dataclass(frozen=True, slots=True)
class Status:
    """All that differs, with paths from the base; `untracked` directories end with a slash."""

    staged: Changes
    changed: Changes
    conflicts: Mapping[str, str]
    untracked: Sequence[str]
    undecided: Sequence[str]


def status_of(tree: WorkTree, project: ProjectFiles) -> Status:
    """The status of the work `tree`, whose files are those of the `project`.

    Raises `Unanswered` and `DeadlineExceeded`.
    """
    if project.expired:
        raise DeadlineExceeded
    conflicts = tree.index.conflicts
    staged = tree.staged(tree.repository.head)
    staged = {path: one for path, one in staged.items() if path not in conflicts}
    changed, undecided = differences(tree)
    configuration = tree.repository.configuration
    if configuration.flag(
        "status.renames", default=configuration.flag("diff.renames", default=True)
    ):
        staged = with_renames(tree, staged)
        # To git, a file in conflict can be either end of a rename: our version, if it is gone, or
        # the file that is there.
        for path, stages in conflicts.items():
            here, ours = tree.on_disk(path), stages.get(2)
            if here not in (None, Side(GITLINK)):
                changed[path] = Change(None, here)
            elif ours:
                changed[path] = Change(Side(ours.mode, ours.oid), None)
        changed = with_renames(tree, {path: changed[path] for path in in_order(changed)})
        changed = {path: one for path, one in changed.items() if path not in conflicts}
    letters = {
        path: _CONFLICTS[sum(1 << stage - 1 for stage in conflicts[path])]
        for path in in_order(conflicts)
    }
    return Status(staged, changed, letters, _untracked(tree, project), undecided)


def _untracked(tree: WorkTree, project: ProjectFiles) -> Sequence[str]:
    configuration, key = tree.repository.configuration, "status.showuntrackedfiles"
    if not configuration.flag(key, default=True):
        return ()
    each = configuration.values.get(key, "").lower() == "all"
    found = set[str]()
    entered = tree.index.directories

    def collapsed(path: str) -> str:
        """`path`, or the first directory on its way in which nothing is tracked."""
        at = path.find("/")
        while at >= 0 and not each:
            if path[:at] not in entered:
                return path[: at + 1]
            at = path.find("/", at + 1)
        return path

    for directory in tree.budget.within(project.directories):
        tracked = entered.get(directory.path)
        names = [*directory.names(), *project.of_emacs.get(directory.path, ())]
        if tracked is not None:
            names = list(set(names).difference(tracked.names))
        prefix = f"{directory.path}/" if directory.path else ""
        if directory.closed is Closed.REPOSITORY and tree.index.get(directory.path) is None:
            found.add(collapsed(directory.path + "/"))
        elif tracked is None and names and not each:
            found.add(collapsed(prefix + names[0]))
        else:
            found.update(collapsed(prefix + name) for name in names)
    # Git passes over a directory in the place of a file of the index.
    return [path for path in in_order(found) if not tree.index.has(path.removesuffix("/"))]


def differences(tree: WorkTree, below: str = "") -> tuple[Changes, list[str]]:
    """The differences between the index and the disk, and the undecided paths.

    `below` is the only file or directory that counts. Raises `DeadlineExceeded`.
    """
    look = _Look(tree, below)
    with look.helped(), Walk(tree.base.directory, look.arrange, tree.budget) as walk:
        for step, _ in walk.enter_all():  # those that cannot be entered
            status = lstat_or_none(step.name, step.directory)
            is_there = status is not None and stat.S_ISDIR(status.st_mode)
            look.miss(step.path, undecided=is_there)
    if walk.expired:
        raise DeadlineExceeded
    return {path: look.found[path] for path in in_order(look.found)}, in_order(look.undecided)


@dataclass(slots=True)
class _Look:
    """One look at the files of the index on the disk, or at those `below` a path."""

    tree: WorkTree
    below: str
    found: Changes = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)
    unchanged: Callable[[str], int] = lambda _: False
    """Whether the second process has found everything below a directory unchanged."""

    @contextmanager
    def helped(self) -> Iterator[None]:
        """Let a second process look from the end on, and mark the directories without a change.

        The kernel takes most of the time, as it is asked about each file. Two threads of Python
        take longer than one, because each waits for the other after every file. The second process
        takes no lock, runs no program, and writes its marks alone. A directory that it does not
        mark is looked at here.
        """
        directories = self.tree.index.directories
        numbers = {path: number for number, path in enumerate(directories)}
        marks = mmap(-1, len(numbers))  # shared by both

        def mark(path: str, directory: int, depth: int = 1) -> bool:
            names = directories[path]
            whole = depth < DEEPEST or not names.directories  # the walk goes no deeper
            for name in reversed(names.directories if whole else ()):
                try:
                    inner = HANDLES.enter_to_list(name, directory)
                except OSError:
                    whole = False
                    continue
                whole &= mark(f"{path}/{name}".lstrip("/"), inner, depth + 1)
                HANDLES.close(inner)
            starts = self.tree.budget.checked(range(0, len(names.names), Budget.STRIDE), 1)
            whole = whole and not any(
                self._changed(names, at, at + Budget.STRIDE, directory) for at in starts
            )
            marks[numbers[path]] = whole
            return whole

        second = -1
        if not self.below and len(self.tree.index.data) > HELPED_FROM:
            with suppress(OSError):  # there are too many processes, or there is too little memory
                second = os.fork()
        if second == 0:
            try:
                gc.disable()  # to collect an object of the server's can have effects
                mark("", self.tree.base.directory)
            finally:
                os._exit(0)
        self.unchanged = lambda path: marks[numbers[path]]
        try:
            yield
        finally:
            if second > 0:
                with suppress(OSError):  # where SIGCHLD is ignored, it may be gone
                    os.kill(second, signal.SIGKILL)
                    os.waitpid(second, 0)

    def arrange(self, directory: int, path: str) -> Iterable[Named]:
        """Look at the files in the open `directory`, and return the directories to enter."""
        names = self.tree.index.directories[path]
        prefix = f"{path}/" if path else ""
        if self._covers(path):
            for at in self.tree.budget.checked(range(0, len(names.names), Budget.STRIDE), 1):
                self._look_at(names, at, at + Budget.STRIDE, directory, prefix)
            inner = names.directories
            ahead = ((n, Kind.DIRECTORY) for n in inner if not self.unchanged(prefix + n))
            return ahead if inner else ()
        name, _, _ = self.below.removeprefix(prefix).partition("/")
        if prefix + name == self.below and (number := names.number(name)) is not None:
            self._look_at(names, number, number + 1, directory, prefix)
        return [(name, Kind.DIRECTORY)] if name in names.directories else []

    def _covers(self, path: str) -> bool:
        return not self.below or path == self.below or path.startswith(self.below + "/")

    def _look_at(self, names: Names, first: int, last: int, directory: int, prefix: str) -> None:
        """Compare the entries `first` to `last` with the files in the open `directory`."""
        statuses = self._changed(names, first, last, directory)
        for at, status in enumerate(statuses, first):
            entry, name = self.tree.index.entry(names.places[at]), names.names[at]
            self._compare(prefix + name, name, directory, entry, status)

    def _changed(
        self, names: Names, first: int, last: int, directory: int
    ) -> Sequence[os.stat_result | None]:
        """The statuses of the files of these entries; none if all are as in the index."""
        some = names.names[first:last]
        try:
            there = HANDLES.lstats(some, directory)
        except OSError:  # of one of them, at least
            return [lstat_or_none(name, directory) for name in some]
        stamps = list(chain.from_iterable(map(stamp_of, there)))
        modes = set(map(mode_of, set(map(_mode, there))))
        is_same = stamps == names.stamps[first * COLUMNS : last * COLUMNS].tolist()
        return () if is_same and modes == names.modes and len(modes) == 1 else there

    def miss(self, directory: str, *, undecided: bool) -> None:
        """Note the entries below `directory`, which is gone, or `undecided`: it cannot be read."""
        index = self.tree.index
        ahead = [directory]
        while ahead:
            path = ahead.pop()
            names = index.directories[path]
            ahead += [f"{path}/{name}" for name in names.directories]
            for name, place in zip(names.names, names.places, strict=True):
                entry, full = index.entry(place), f"{path}/{name}"
                if entry.valid or entry.skipped or not self._covers(full):
                    continue
                if undecided:
                    self.undecided.append(full)
                else:
                    self._differ(full, Side(entry.mode, entry.oid), None)

    def _differ(
        self, path: str, old: Side | None, new: Side | None, *, dirty: bool = False
    ) -> None:
        change = Change(old, new, dirty=dirty)
        if not self.tree.is_hidden(path, change):
            self.found[path] = change
            if len(self.found) > MAX_CHANGES:
                raise Unanswered(NoGit.TOO_MUCH)

    def _compare(  # noqa: C901  # one case after the other, as git has them
        self, path: str, name: str, directory: int, entry: Entry, status: os.stat_result | None
    ) -> None:
        """Compare `entry` with the file `name` in the open `directory`, of this `status`."""
        configuration = self.tree.repository.configuration
        old = Side(entry.mode, entry.oid)
        is_sparse = configuration.flag("core.sparsecheckout")
        if entry.valid or (entry.skipped and (status is None or not is_sparse)):
            return
        if status is None:
            self._differ(path, old, None)
            return
        mode = mode_of(status.st_mode)
        if entry.kind == GITLINK:
            if mode == GITLINK:
                self._compare_repository(path, None if entry.intended else old)
            elif self.tree.ignored_in(path) != "all":
                self._differ(path, old, Side(mode))
            return
        if mode == GITLINK:
            self._differ(path, old, None)
            return
        if LINK not in (mode, entry.kind) and not configuration.flag("core.filemode", default=True):
            mode = entry.mode
        if entry.intended:
            self._differ(path, None, Side(mode))
            return
        size = status.st_size & _WORD
        now = (status.st_mtime_ns, status.st_ctime_ns, size, status.st_ino & _WORD)
        if mode == entry.mode and now == entry.stamp and not entry.racy:
            return
        same: bool | None = mode == entry.mode and entry.stamp[2] in (0, size)
        if same:
            same = self._is_same(path, name, directory, entry, status)
        if same is None:
            self.undecided.append(path)
        elif not same:
            self._differ(path, old, Side(mode))

    def _is_same(
        self, path: str, name: str, directory: int, entry: Entry, status: os.stat_result
    ) -> bool | None:
        """Whether the content of the file is that of `entry`; None if it cannot be compared."""
        self.tree.budget.check()  # the files of one directory can take minutes
        oid_bytes = self.tree.index.oid_bytes
        if entry.kind == LINK:
            target = link_target(name, directory)
            return target is not None and oid_of(os.fsencode(target), oid_bytes) == entry.oid
        if status.st_size > MAX_COMPARED or not stat.S_ISREG(status.st_mode):
            return None
        try:
            content = read(name, directory, MAX_COMPARED).head
        except PathError:
            return None
        converted = self.tree.converted(path, content)
        return None if converted is None else oid_of(converted, oid_bytes) == entry.oid

    def _compare_repository(  # noqa: C901  # one case after the other
        self, path: str, old: Side | None
    ) -> None:
        """Compare the submodule at `path`: its latest commit, and the files in it."""
        tree = self.tree
        ignored = tree.ignored_in(path)
        if ignored == "all":
            return
        if tree.nested == MAX_NESTED:
            self.undecided.append(path)
            return
        try:
            with tree.base.root.directory(tree.base.prefix + path) as place:
                repository = find_repository(place.listing(), tree.base.root.path, tree.budget)
                if old is None:  # only its name is in the index
                    head = "" if isinstance(repository, NoGit) else repository.head
                    self._differ(path, None, Side(GITLINK, bytes.fromhex(head)))
                    return
                if isinstance(repository, NoGit):
                    if repository is not NoGit.NO_WORK_TREE:
                        self.undecided.append(path)
                    return
                if repository.depth:  # it was not cloned: this is the repository around
                    return
                # Before its first commit, git compares its files alone.
                new = Side(GITLINK, bytes.fromhex(repository.head)) if repository.head else old
                dirty, untracked, unknown = False, False, False
                if ignored != "dirty":
                    with opened(place, repository, tree.budget) as inner:
                        inner.nested = tree.nested + 1
                        found = status_of(inner, project_files(place, tree.budget))
                    unknown = bool(found.undecided)
                    dirty = bool(found.staged or found.changed or found.conflicts)
                    untracked = bool(found.untracked) and ignored != "untracked"
                    dirty |= untracked and ignored == "none"  # else a diff passes over them
        except (PathError, Unanswered):
            self.undecided.append(path)
            return
        if new != old or dirty or untracked:
            self._differ(path, old, new, dirty=dirty)
        elif unknown:
            self.undecided.append(path)
