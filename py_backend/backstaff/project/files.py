"""The files of a project: everything below a directory that git does not ignore.

This is the walk of `fs.walk`, without the names that git ignores. Git lists these: by its rules, a
tracked file is a file of the project even where a rule would hide it. Without git or a work tree
all files count, and `not_applied` says so where there is a `.gitignore`.

A repository within a work tree is one closed directory, as for git; it can be walked by itself.
`.git`, special files, and Emacs's own files never belong to a project: the links by which it locks
files that it has changed (`.#a.py`), and the copies that it saves by itself (`#a.py#`). Other links
are leaves.

The files are kept for the next call (`_Kept`). That call compares the time stamps of all
directories and rules with those on the disk, and walks again if any differs. So no answer is
stale, as far as the file system dates changes at once; a file system on a network may be late.
A search that may end early compares only as far as it comes (`ProjectFiles.confirm`).
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from itertools import chain, pairwise, repeat
from operator import attrgetter
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
from backstaff.project.running_git import NoGit, Unanswered

MAX_KEPT = 500_000
"""Maximum number of files and directories that are kept, of all projects.

With their stamps, 500,000 files take 80 MB.
"""

RACY_NS = 20_000_000
"""Nanoseconds for which a file counts as just changed: longer than a step of the kernel's clock.

A second change within the same step would leave the same times.
"""
COARSE_NS = 2_100_000_000
"""The same for a file system that keeps whole seconds, or every other one as FAT does."""
_SECOND_NS = 1_000_000_000

LIST_SECONDS = 5.0
"""Maximum number of seconds for git's list of ignored names: half a million files take less."""
LIST_SHARE = 0.5
"""The part of a walk's time that git may take: a fifo in a repository below makes it wait."""

_DOT_GIT = ".git"
_RULES = ".gitignore"
_DIRECTORY = Kind.DIRECTORY


class Closed(StrEnum):
    """The reasons for not entering a directory."""

    REPOSITORY = "a repository of its own"
    UNREADABLE = "it cannot be read"


class Directory(NamedTuple):
    """A directory of a project: its `path` from the start, "" for the start itself.

    `paths` are those of its files and links, by code point, and `links` names the links. `ignored`
    counts the names that git ignores, where an ignored directory is one name. A closed directory
    was not entered.
    """

    path: str
    paths: Sequence[str] = ()
    links: Sequence[str] = ()
    closed: Closed | None = None
    ignored: int = 0

    def names(self) -> list[str]:
        """The names of the files and links."""
        prefix = len(self.path) + 1 if self.path else 0
        return [path[prefix:] for path in self.paths]


class Changed(Exception):
    """A project has changed since the files that were kept of it were found."""


@dataclass(frozen=True, slots=True, eq=False)
class ProjectFiles:
    """The files below a directory. Paths are relative to it.

    `directories` are all directories, in pre-order. `paths` has their files and links. `expired`
    says that the time was up and files are missing; `not_applied`, why no `.gitignore` counts,
    though there is one. The `repository` can be asked, and kept files can be confirmed by
    `is_current`, while the place is open.
    """

    directories: Sequence[Directory]
    paths: tuple[str, ...]
    repository: Repository | NoGit
    expired: bool = False
    not_applied: NoGit | None = None
    is_current: Callable[[str], bool] | None = None

    @property
    def ignored(self) -> int:
        """The number of names that git ignores."""
        return sum(one.ignored for one in self.directories)

    def confirm(self, last: str = "") -> None:
        """Raise `Changed` if there may be other files up to the path `last`; "" is for all."""
        if self.is_current and not self.is_current(last):
            raise Changed

    def until(self, last: str) -> "ProjectFiles":
        """Return a copy that has only the directories in which a path up to `last` may lie."""
        is_early = up_to(last)
        within = [one for one in self.directories if not one.path or is_early(f"{one.path}/")]
        return replace(self, directories=within)

    def closed(self, why: Closed) -> list[str]:
        """The directories that were not entered because of `why`."""
        return [one.path for one in self.directories if one.closed is why]


Stamp = tuple[int, int, int, int, int]
"""The times and the identity of a file: equal stamps mean that nothing has changed."""
UNSETTLED: Stamp = (0, 0, 0, 0, 0)
"""Stands for something that changed just now. No file on a disk has this stamp."""
stamp_of: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_size"
)

Watch = dict[str, Stamp]
"""The stamps of some names in a directory, which has changed if any of them has another one."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The files of a project, with everything that they depend on.

    `basis` has the stamps of the index and the rules from which the walk started. `watches` has, by
    path, all directories that hold directories or rules.
    """

    found: ProjectFiles
    basis: tuple[object, ...]
    watches: dict[str, Watch]


KEPT: LRUCache[tuple[str, str, bool], _Kept] = LRUCache(
    MAX_KEPT, lambda kept: len(kept.found.paths) + len(kept.found.directories)
)


def in_order(path: str) -> bytes:
    """The key of a path in the order of answers, by UTF-16 code units."""
    return path.encode("utf-16-be", "surrogatepass")


def up_to(last: str) -> Callable[[str], bool]:
    """Return a test whether a path is `last` or stands before it, in the order of answers."""
    if last.isascii():  # then code points have the same order
        return last.__ge__
    end = in_order(last)
    return lambda path: in_order(path) <= end


def project_files(
    place: Place, budget: Budget, *, include_ignored: bool = False, lazily: bool = False
) -> ProjectFiles:
    """Walk below the directory `place`, or return the files that are kept if nothing has changed.

    With `include_ignored`, no rule counts, and repositories are entered. With `lazily`, the caller
    has to `confirm` the answer. Raises `PathError` if `place` cannot be read, and `Cancelled`.
    """
    directory, begun = place.listing(), time.time_ns()
    repository: Repository | NoGit
    try:
        repository = find_repository(place, budget)
    except Unanswered as error:
        repository = error.why
    git = repository if isinstance(repository, Repository) and not include_ignored else None
    basis: list[object] = [_stamp(".", directory, begun)]
    if git:
        above = ("../" * up + _RULES for up in range(git.inside.count("/"), 0, -1))
        rules = (option.removeprefix("--exclude-from=") for option in git.excludes[1:])
        basis += [git.inside, git.excludes, git.handed_on]
        basis += [_stamp(file, directory, begun) for file in (*above, *rules)]
        basis.append(_stamp("index", git.git.descriptor, begun))
    else:
        basis.append(repository if isinstance(repository, NoGit) else "")
    key = (place.root.path, place.relative, include_ignored)
    kept = KEPT.get(key)
    if kept and kept.basis == (*basis,):
        is_current = partial(_is_current, kept, directory, budget)
        if lazily:
            return replace(kept.found, repository=repository, is_current=is_current)
        if is_current(""):
            return replace(kept.found, repository=repository)
    look = _Look(git, budget, include_ignored)
    look.hide(git.inside if git else "")
    why = look.unanswered or (repository if isinstance(repository, NoGit) else None)
    with Walk(directory, look.arrange, budget) as walk:
        for step, problem in walk.enter_all():
            look.note_unreadable(step, problem)
    found = ProjectFiles(
        look.directories,
        tuple(chain.from_iterable(one.paths for one in look.directories)),
        repository,
        walk.expired,
        why if look.has_rules and not include_ignored else None,
    )
    stamps = chain.from_iterable(map(dict.values, look.watches.values()))
    steady = UNSETTLED not in basis and not any(is_young(one, begun) for one in stamps)
    # A git that failed may answer the next call.
    if steady and not found.expired and not look.unanswered:
        KEPT.put(key, _Kept(found, (*basis,), look.watches))
    return found


def _stamp(file: str, directory: int, now: int) -> Stamp | None:
    """The stamp of `file`, which may lie above the open `directory`; None if there is none."""
    try:
        stamp = stamp_of(HANDLES.stat(file, directory))
    except FileNotFoundError:
        return None
    except OSError:
        return UNSETTLED
    return UNSETTLED if is_young(stamp, now) else stamp


def is_young(stamp: Stamp, now: int) -> bool:
    """Return True if the file changed so shortly before `now` that another change may not show.

    A time of whole seconds may come from a file system that keeps no others.
    """
    modified, changed = stamp[0], stamp[1]
    is_coarse = not (modified % _SECOND_NS and changed % _SECOND_NS)
    return max(modified, changed) >= now - (COARSE_NS if is_coarse else RACY_NS)


def _is_current(kept: _Kept, directory: int, budget: Budget, last: str) -> bool:
    """Whether a walk of the open `directory`, the start of `kept`, would find the same.

    Unless `last` is "", only directories count that may hold a path up to `last`.
    """
    is_early = up_to(last)

    def compare(opened: int, path: str) -> Sequence[Named]:
        watch, prefix = kept.watches[path], f"{path}/" if path else ""
        names = watch if len(watch) < budget.STRIDE else budget.within(watch)
        stamps = [stamp_of(status) for status in HANDLES.lstats(names, opened)]
        if stamps != list(watch.values()):
            raise PathError("it has changed")
        entered = [name for name in watch if prefix + name in kept.watches]
        if last:
            entered = [name for name in entered if is_early(f"{prefix}{name}/")]
        return list(zip(entered, repeat(_DIRECTORY)))

    try:
        with Walk(directory, compare, budget) as walk:
            return not any(True for _ in walk.enter_all()) and not walk.expired
    except (OSError, PathError):
        return False


@dataclass
class _Look:
    """One look at the files of a project, in pre-order, and the stamps of all that it read."""

    git: Repository | None
    budget: Budget
    include_ignored: bool
    hidden: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The ignored names in each directory."""
    unanswered: NoGit | None = None
    """The reason why git gave no answer, perhaps a fifo: it would take as long again."""
    has_gitlinks: bool = False
    directories: list[Directory] = field(default_factory=list)
    has_rules: bool = False
    watches: dict[str, Watch] = field(default_factory=lambda: {"": {}})

    def hide(self, inside: str) -> None:
        """Leave out the names that git ignores; `inside` is the path from the top to the start.

        Git names an ignored directory `a/`. It also names one so in which all files are ignored
        one by one, and then these, so that a rule for the directory has nothing behind it. Who
        starts in an ignored directory wants its files, so no rule hides them.
        """
        listed = self._listed("--others", "--ignored", "--directory")
        for path, after in pairwise([*listed, ""]):
            is_around = after.startswith(path) or inside.startswith(path)
            if not (path.endswith("/") and is_around):
                above, _, name = path.removeprefix(inside).rstrip("/").rpartition("/")
                self.hidden[above].add(name)
        self.has_gitlinks = not self.unanswered and self.git is not None and self.git.has_gitlinks

    @cached_property
    def within(self) -> set[str]:
        """The repositories within: `a` is a submodule, and `a/` another one."""
        found, inside = set[str](), self.git.inside if self.git else ""
        for line in self._listed("-t", "--stage", "--others"):  # "? a/", or "H 160000 6d3c... 0\ta"
            facts, _, path = line.partition("\t" if line[0] != "?" else " ")
            if path.endswith("/") or facts[2:].startswith("160000 "):
                found.add(path.removeprefix(inside))
        return found

    def _listed(self, *options: str) -> list[str]:
        """The names that git lists, from the top of the work tree; none if it does not answer."""
        if not self.git or self.unanswered:
            return []
        words = ("ls-files", "-z", *options, *self.git.excludes, *self.git.below())
        try:
            budget = self.budget.share(LIST_SHARE).at_most(LIST_SECONDS)
            return self.git.entries(*words, budget=budget)
        except Unanswered as error:
            self.unanswered = error.why
            return []

    def arrange(self, directory: int, path: str) -> Sequence[Named]:
        """Note the files in the open `directory`; return the directories to enter."""
        prefix = f"{path}/" if path else ""
        self._note(path, stamp_of(HANDLES.status(directory)))
        files, directories, links, _ = map(sorted, groups_in(directory, self.budget))
        groups = files, links, directories
        if _RULES in files:
            self.has_rules = True
            self._watch(directory, path, _RULES)
        if path and self._is_closed(directory, path, any(_DOT_GIT in names for names in groups)):
            self.directories.append(Directory(path, closed=Closed.REPOSITORY))
            return ()
        left_out = {_DOT_GIT}
        if not self.include_ignored:
            left_out |= {name for name in links if name.startswith(".#")}
            left_out |= {name for name in files if name[0] == name[-1] == "#" and name != "#"}
        hidden = self.hidden.get(path, set()) - left_out
        ignored = len(hidden.intersection(chain(*groups))) if hidden else 0
        left_out |= hidden
        files, links, directories = (
            [name for name in names if name not in left_out] for names in groups
        )
        if directories:
            self.watches.setdefault(path, {})
        if links:
            files = sorted(files + links)
        paths = tuple([prefix + name for name in files])
        self.directories.append(Directory(path, paths, tuple(links), None, ignored))
        return list(zip(directories, repeat(_DIRECTORY))) if directories else ()

    def _is_closed(self, directory: int, path: str, has_dot_git: bool) -> bool:  # noqa: FBT001
        """Whether the open `directory` is another repository for git.

        Git enters a directory with tracked files, whatever its `.git` is.
        """
        if not self.git or not (has_dot_git or self.has_gitlinks):
            return False
        if path in self.within or not has_dot_git:
            return path in self.within
        status = lstat_or_none(_DOT_GIT, directory)
        if status and S_ISDIR(status.st_mode):
            self._watch(directory, path, _DOT_GIT)
        else:  # a link or a file names it, and nothing here changes with the repository
            self._note(path, UNSETTLED)
        return f"{path}/" in self.within or self.unanswered is not None

    def _note(self, path: str, stamp: Stamp) -> None:
        """Note the `stamp` of the directory `path`, with those of its neighbours."""
        if path:  # that of the start is part of the basis
            above, _, name = path.rpartition("/")
            self.watches[above][name] = stamp

    def _watch(self, directory: int, path: str, name: str) -> None:
        """Watch `name` in the open `directory` at `path`, too."""
        status = lstat_or_none(name, directory)
        self.watches.setdefault(path, {})[name] = stamp_of(status) if status else UNSETTLED

    def note_unreadable(self, step: Step, problem: PathError) -> None:
        """Note the directory `step`, which could not be entered because of `problem`."""
        status = lstat_or_none(step.name, step.directory)
        # Only a change of permissions changes the stamp. After other failures, the next walk tries
        # again.
        watched = status is not None and isinstance(problem, PermissionRefused)
        self._note(step.path, stamp_of(status) if status and watched else UNSETTLED)
        self.directories.append(Directory(step.path, closed=Closed.UNREADABLE))
