"""The files of a project: everything below a directory that git does not ignore.

This is the walk of `fs.walk`, without the names that git ignores. Git lists these: by its rules, a
tracked file is a file of the project even where a rule would hide it. Without git or a work tree
all files count, and `not_applied` says so where there is a `.gitignore`.

A repository within a work tree is one closed directory, as for git; it can be walked by itself.
`.git`, special files, and Emacs's own files never belong to a project: the links by which it locks
files that it has changed, and the copies that it saves by itself. Other links are leaves.

The files are kept for the next call (`_Kept`). That call compares the time stamps of all
directories and rules with those on the disk, and walks again if any differs. So no answer is
stale, as far as the file system dates changes at once; a file system on a network may be late.
"""

import os
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain, pairwise, repeat
from stat import S_ISDIR
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import PathError, PermissionRefused
from backstaff.fs.entry import Kind, Named, groups_in, lstat_or_none
from backstaff.fs.handles import HANDLES
from backstaff.fs.root import Place
from backstaff.fs.walk import Step, Walk
from backstaff.project.git import Repository, find_repository
from backstaff.project.running_git import GitFailed, NoGit
from backstaff.project.stamp import UNSETTLED, Stamp, is_young, settled, stamp_of

MAX_KEPT = 500_000
"""Maximum number of files and directories that are kept, of all projects.

With their stamps, 500,000 files take 80 MB.
"""

LIST_SECONDS = 5.0
"""Maximum number of seconds for git's list of ignored names: half a million files take less."""
LIST_SHARE = 0.5
"""The part of a walk's time that git may take: a fifo in a repository below makes it wait."""

_DOT_GIT = ".git"
_RULES = ".gitignore"
_LOCK = ".#"
_COPY = "#"
_AFTER_COPIES = "$"
"""In the order of code points, names that begin with `#` stand before this."""
_DIRECTORY = Kind.DIRECTORY


class Closed(StrEnum):
    """The reasons for not entering a directory."""

    REPOSITORY = "a repository of its own"
    UNREADABLE = "it cannot be read"


class Directory(NamedTuple):
    """A directory of a project: its `path` from the start, "" for the start itself.

    `paths` are those of its files and links, by code point, and `links` names the links. A closed
    directory was not entered.
    """

    path: str
    paths: Sequence[str] = ()
    links: Sequence[str] = ()
    closed: Closed | None = None

    def names(self) -> list[str]:
        """The names of the files and links."""
        prefix = len(self.path) + 1 if self.path else 0
        return [path[prefix:] for path in self.paths]


@dataclass(frozen=True, slots=True, eq=False)
class ProjectFiles:
    """The files below a directory. Paths are relative to it.

    `directories` are all directories, in pre-order. `paths` has their files and links. `ignored`
    counts the names that were left out, where an ignored directory is one name. `expired` says that
    the time was up and files are missing; `not_applied`, why no `.gitignore` counts, though there
    is one. The `repository` can be asked while the place is open.
    """

    directories: Sequence[Directory]
    paths: tuple[str, ...]
    repository: Repository | NoGit
    ignored: int = 0
    expired: bool = False
    not_applied: NoGit | None = None
    of_emacs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Emacs's own files in each directory, as far as no rule ignores them."""
    not_entered: Sequence[Directory] = ()
    """The closed ones of `directories`, because each call asks for them several times."""

    def closed(self, why: Closed) -> list[str]:
        """The directories that were not entered because of `why`."""
        return [one.path for one in self.not_entered if one.closed is why]


Watch = dict[str, Stamp]
"""The stamps of some names in a directory, which has changed if any of them has another one."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The files of a project, with everything that they depend on.

    `basis` has the stamps and the rules from which the walk started. `watches` has, by path, all
    directories that hold directories or rules. Git has `told` the ignored names, with an index of
    this stamp; None if the walk needed to know more of the index.
    """

    found: ProjectFiles
    basis: tuple[object, ...]
    watches: Mapping[str, Watch]
    index: Stamp | None
    told: bytes | NoGit | None


KEPT: LRUCache[tuple[str, str, bool], _Kept] = LRUCache(
    MAX_KEPT, lambda kept: len(kept.found.paths) + len(kept.found.directories)
)


def project_files(place: Place, budget: Budget, *, include_ignored: bool = False) -> ProjectFiles:
    """Walk below the directory `place`, or return the files that are kept if nothing has changed.

    With `include_ignored`, no rule counts, and repositories are entered. Raises `PathError` if
    `place` cannot be read, and `Cancelled`.
    """
    directory, begun = place.listing(), time.time_ns()
    repository = find_repository(place, budget)
    git = repository if isinstance(repository, Repository) and not include_ignored else None
    basis: list[object] = [_stamp(".", directory, begun)]
    index = _stamp("index", git.git.descriptor, begun) if git else None
    if git:
        above = ("../" * up + _RULES for up in range(git.depth, 0, -1))
        rules = (option.removeprefix("--exclude-from=") for option in git.excludes[1:])
        basis += [git.inside, git.excludes, git.configuration.handed_on()]
        basis += [_stamp(file, directory, begun) for file in (*above, *rules)]
    else:
        basis.append(repository if isinstance(repository, NoGit) else "")
    key = (place.root.path, place.relative, include_ignored)
    look = _Look(git, budget, include_ignored)
    kept, told = KEPT.get(key), None
    if kept and kept.basis == (*basis,):
        if kept.index != index and kept.told is not None:
            told = look.ask()  # the index changed, but perhaps no ignored name
        is_same = kept.index == index or (told is not None and told == kept.told)
        if is_same and _is_current(kept, directory, budget):
            found = kept.found
            if kept.index != index:  # a ranking is kept for the same `paths`, and knows the edits
                found = replace(found, paths=(*found.paths,))
            if index != UNSETTLED:
                KEPT.put(key, replace(kept, found=found, index=index))
            return replace(found, repository=repository)
    if git and told is None:
        told = look.ask()
    look.hide(told or b"")
    why = told if isinstance(told, NoGit) else repository if isinstance(repository, NoGit) else None
    with Walk(directory, look.arrange, budget) as walk:
        for step, problem in walk.enter_all():
            look.note_unreadable(step, problem)
    found = ProjectFiles(
        look.directories,
        tuple(chain.from_iterable(one.paths for one in look.directories)),
        repository,
        look.ignored,
        walk.expired,
        why if look.has_rules and not include_ignored else None,
        look.of_emacs,
        [one for one in look.directories if one.closed],
    )
    stamps = chain.from_iterable(map(dict.values, look.watches.values()))
    steady = UNSETTLED not in (*basis, index) and not any(is_young(one, begun) for one in stamps)
    # A git that failed may answer the next call, unless it waits for a fifo that stays there.
    if steady and not found.expired and (not git or why is None or look.endless):
        is_enough = git and not git.has_gitlinks and "tracked" not in vars(look)
        KEPT.put(key, _Kept(found, (*basis,), look.watches, index, told if is_enough else None))
    return found


def _stamp(file: str, directory: int, now: int) -> Stamp | None:
    """The stamp of `file`, which may lie above the open `directory`; None if there is none."""
    try:
        return settled(HANDLES.stat(file, directory), now)
    except FileNotFoundError:
        return None
    except OSError:
        return UNSETTLED


def _is_current(kept: _Kept, directory: int, budget: Budget) -> bool:
    """Whether a walk of the open `directory`, the start of `kept`, would find the same."""
    entered: dict[str, list[Named]] = {path: [] for path in kept.watches}
    for path in filter(None, kept.watches):  # in pre-order, as the walk was
        above, _, name = path.rpartition("/")
        entered[above].append((name, _DIRECTORY))

    def compare(opened: int, path: str) -> Sequence[Named]:
        watch = kept.watches[path]
        names = watch if len(watch) < budget.STRIDE else budget.within(watch)
        stamps = [stamp_of(status) for status in HANDLES.lstats(names, opened)]
        if stamps != list(watch.values()):
            raise PathError("it has changed")
        return entered[path]

    try:
        with Walk(directory, compare, budget) as walk:
            return not any(True for _ in walk.enter_all()) and not walk.expired
    except (OSError, PathError):
        return False


@dataclass(frozen=True, slots=True)
class _Tracked:
    """The paths in git's index below a place, in the order of their bytes, and its submodules."""

    names: Sequence[bytes] = ()
    gitlinks: frozenset[str] = frozenset()

    def has(self, path: str, *, below: bool = False) -> bool:
        """Whether the index names `path`, or with `below` anything below that directory."""
        name = os.fsencode(path) + b"/" * below
        at = bisect_left(self.names, name)
        first = self.names[at : at + 1]
        return first == [name] or (below and any(one.startswith(name) for one in first))


@dataclass
class _Look:
    """One look at the files of a project, in pre-order, and the stamps of all that it read."""

    git: Repository | None
    budget: Budget
    include_ignored: bool
    hidden: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The ignored names in each directory."""
    all_hidden: bool = False
    """Whether all names are ignored that no tracked file has."""
    directories: list[Directory] = field(default_factory=list)
    ignored: int = 0
    has_rules: bool = False
    endless: bool = False
    """Whether git waits for a file of rules that never ends, such as a fifo."""
    of_emacs: dict[str, Sequence[str]] = field(default_factory=dict)
    watches: dict[str, Watch] = field(default_factory=lambda: {"": {}})

    def ask(self) -> bytes | NoGit:
        """Git's list of the names that it ignores."""
        git = self.git
        if not git or git.is_split:
            return GitFailed("the index is split, see `git update-index --no-split-index`")
        words = ("ls-files", "-z", "--others", "--ignored", "--directory", *git.excludes)
        budget = self.budget.share(LIST_SHARE).at_most(LIST_SECONDS)
        return git.ask(budget, *words, *git.below, files=True)

    def hide(self, told: bytes | NoGit) -> None:
        """Leave out the names that git has `told`.

        Git names an ignored directory `a/`. It also names one so in which all files are ignored
        one by one, and then these, so that a rule for the directory has nothing behind it.
        """
        git = self.git
        if not git or isinstance(told, NoGit):
            return
        paths = os.fsdecode(told).split("\0")[:-1]
        for path, after in pairwise([*paths, ""]):
            is_directory = path.endswith("/")
            if is_directory and git.inside.startswith(path):
                self.all_hidden = True
            elif not (is_directory and after.startswith(path)):
                above, _, name = path.removeprefix(git.inside).rstrip("/").rpartition("/")
                self.hidden[above].add(name)

    @cached_property
    def tracked(self) -> _Tracked:
        """The index; empty if git does not tell."""
        git = self.git
        if not git or git.is_split:
            return _Tracked()
        told = git.ask(self.budget, "ls-files", "-z", "--stage", *git.below, files=True)
        start, names, gitlinks = os.fsencode(git.inside), [], []
        for entry in () if isinstance(told, NoGit) else told.split(b"\0")[:-1]:
            facts, _, name = entry.partition(b"\t")
            names.append(name.removeprefix(start))
            if facts.startswith(b"160000 "):
                gitlinks.append(os.fsdecode(names[-1]))
        return _Tracked(names, frozenset(gitlinks))

    @cached_property
    def gitlinks(self) -> frozenset[str]:
        """The submodules."""
        return self.tracked.gitlinks if self.git and self.git.has_gitlinks else frozenset()

    def arrange(self, directory: int, path: str) -> Sequence[Named]:
        """Note the files in the open `directory`; return the directories to enter."""
        prefix = f"{path}/" if path else ""
        status = HANDLES.status(directory)
        files, directories, links, special = groups_in(directory, self.budget)
        self._note(path, stamp_of(status))
        has_dot_git = False
        for names in filter(None, (files, directories, links)):  # no project has special files
            names.sort()
            if names[0] <= _RULES and _DOT_GIT in names:  # else all sort after the two
                names.remove(_DOT_GIT)
                has_dot_git = bool(path)
        if files and files[0] <= _RULES and _RULES in files:
            self.has_rules = True
            self._watch(directory, path, _RULES)
        self.endless |= _RULES in special
        if self._is_closed(directory, path, has_dot_git=has_dot_git):
            self.directories.append(Directory(path, closed=Closed.REPOSITORY))
            return ()
        own = self._of_emacs(files, links, prefix)
        hidden = self._hidden(path, (files, links, directories))
        if shown := sorted(own - hidden):
            self.of_emacs[path] = shown
        self.ignored += len((hidden - own).intersection((*files, *links, *directories)))
        if left_out := hidden | own:
            files, links, directories = (
                [name for name in names if name not in left_out]
                for names in (files, links, directories)
            )
        if directories:
            self.watches.setdefault(path, {})
        if links:
            files = sorted(files + links)
        paths = tuple([prefix + name for name in files])
        self.directories.append(Directory(path, paths, tuple(links)))
        return list(zip(directories, repeat(_DIRECTORY))) if directories else ()

    def _hidden(self, path: str, found: Iterable[Sequence[str]]) -> set[str]:
        """The names in the directory `path` that git ignores, among those `found` there."""
        if not self.all_hidden:
            return self.hidden.get(path, set())
        prefix, tracked = f"{path}/" if path else "", self.tracked
        return {
            name
            for name in chain.from_iterable(found)
            if not tracked.has(prefix + name) and not tracked.has(prefix + name, below=True)
        }

    def _of_emacs(self, files: Sequence[str], links: Sequence[str], prefix: str) -> set[str]:
        """Return Emacs's own names that are not tracked.

        If Emacs has changed `a.py`, those are the link `.#a.py` and the copy `#a.py#`.
        """
        if self.include_ignored or not (links or (files and files[0] < _AFTER_COPIES)):
            return set()
        own = [one for one in links if one.startswith(_LOCK)]
        own += [one for one in files if one[1:] and one[0] == one[-1] == _COPY]
        return {one for one in own if not self.tracked.has(prefix + one)}

    def _is_closed(self, directory: int, path: str, *, has_dot_git: bool) -> bool:
        """Whether the open `directory` is another repository for git.

        Git enters a directory with tracked files, whatever its `.git` is.
        """
        if path in self.gitlinks:
            return True
        git = self.git
        if not (has_dot_git and git) or self.tracked.has(path, below=True):
            return False
        status = lstat_or_none(_DOT_GIT, directory)
        if status and S_ISDIR(status.st_mode):
            self._watch(directory, path, _DOT_GIT)
        else:  # a link or a file names it, and nothing here changes with the repository
            self._note(path, UNSETTLED)
        name = git.inside + path
        words = ("ls-files", "-z", "--others", "--", f":(top,literal){name}")
        told = git.ask(self.budget.at_most(1), *words, files=True)
        return told == os.fsencode(f"{name}/\0")

    def _note(self, path: str, stamp: Stamp) -> None:
        """Note the `stamp` of the directory `path`, with those of its neighbours."""
        if path:  # that of the start is part of the basis
            above, _, name = path.rpartition("/")
            self.watches[above][name] = stamp

    def _watch(self, directory: int, path: str, *names: str) -> None:
        """Watch `names` in the open `directory` at `path`, too."""
        watch = self.watches.setdefault(path, {})
        for name in names:
            status = lstat_or_none(name, directory)
            watch[name] = stamp_of(status) if status else UNSETTLED

    def note_unreadable(self, step: Step, problem: PathError) -> None:
        """Note the directory `step`, which could not be entered because of `problem`."""
        status = lstat_or_none(step.name, step.directory)
        # Only a change of permissions changes the stamp. After other failures, the next walk tries
        # again.
        watched = status is not None and isinstance(problem, PermissionRefused)
        self._note(step.path, stamp_of(status) if status and watched else UNSETTLED)
        self.directories.append(Directory(step.path, closed=Closed.UNREADABLE))
