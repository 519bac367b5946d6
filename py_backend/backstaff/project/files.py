"""The files of a project: everything below a directory that git does not ignore.

This is the walk of `fs.walk` without the names that git ignores: a tracked file counts even where a
rule would hide it. Without a work tree all files count, and `not_applied` says so where there is a
`.gitignore`. A repository within is one closed directory. `.git`, special files, Emacs's locks
(`.#a.py`) and copies (`#a.py#`) never count.

They are kept for the next call, which walks again if a stamp of a directory or of rules differs on
the disk. So no answer is stale, unless the file system of a network dates changes late.
"""

import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain, pairwise, repeat
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import DeadlineExceeded, PermissionRefused, Unanswered
from backstaff.fs import entry
from backstaff.fs.entry import Kind, Named, Stamp, are_settled, groups_in, stamp_at, stamp_of
from backstaff.fs.handles import HANDLES
from backstaff.fs.root import Place
from backstaff.fs.walk import Walk
from backstaff.project.git import Repository, find_repository

MAX_KEPT = 500_000  # files and directories that are kept, of all projects: 80 MB
# The longest list by git, in seconds and as a part of the walk's: a fifo below makes git wait.
LIST_SECONDS, LIST_SHARE = 5.0, 0.5


class Closed(StrEnum):
    """The reasons for not entering a directory."""

    REPOSITORY = "a repository of its own"
    UNREADABLE = "it cannot be read"


class Directory(NamedTuple):
    """A directory of a project."""

    path: str  # from the start, "" for the start itself
    paths: Sequence[str] = ()  # those of its files and links, by code point
    links: Sequence[str] = ()  # the names of the links
    closed: Closed | None = None  # why it was not entered
    ignored: int = 0  # number of names that git ignores; an ignored directory is one name


class Changed(Exception):
    """A project has changed since the files that were kept of it were found."""


@dataclass(frozen=True, slots=True, eq=False)
class ProjectFiles:
    """The files below a directory. Paths are relative to it."""

    directories: Sequence[Directory]  # all of them, in pre-order
    paths: tuple[str, ...]  # their files and links
    repository: Repository | str  # can be asked while the place is open; else why there is none
    expired: bool = False  # the time was up, and files are missing
    not_applied: str = ""  # why no `.gitignore` counts, though there is one
    unconfirmed: tuple["_Look", int, Budget] | None = None  # the look that kept files are of

    @property
    def ignored(self) -> int:
        """The number of names that git ignores."""
        return sum(one.ignored for one in self.directories)

    def confirm(self, last: str = "") -> None:
        """Raise `Changed` if there may be other files up to the path `last`; "" is for all."""
        if not self.unconfirmed:
            return
        look, directory, budget = self.unconfirmed
        with suppress(OSError, DeadlineExceeded):
            early = [*look.stamps]
            if last:
                keys, paths = look.ordered
                early = paths[: bisect_right(keys, entry.in_order(last))]
            met = map(stamp_of, HANDLES.lstats([*budget.checked(early)], directory))
            if [*met] == [*map(look.stamps.__getitem__, early)]:
                return
        raise Changed

    def closed(self, why: Closed) -> list[str]:
        """The directories that were not entered because of `why`."""
        return [one.path for one in self.directories if one.closed is why]


_Kept = tuple[ProjectFiles, tuple[object, ...], "_Look"]  # with the basis the look started from
KEPT: LRUCache[tuple[str, str, bool], _Kept] = LRUCache(
    MAX_KEPT, lambda kept: len(kept[0].paths) + len(kept[0].directories)
)


def project_files(
    place: Place, budget: Budget, *, include_ignored: bool = False, lazily: bool = False
) -> ProjectFiles:
    """Walk below the directory `place`, or return the files that are kept if nothing has changed.

    With `include_ignored`, no rule counts, and repositories are entered. With `lazily`, the caller
    has to `confirm` the answer. Raises `PathError` if `place` cannot be read, and `Cancelled`.
    """
    directory, begun, why = place.listing(), time.time_ns(), ""
    repository: Repository | str
    try:
        repository = find_repository(place, budget)
    except Unanswered as error:
        repository = why = error.why
    git = None if include_ignored or isinstance(repository, str) else repository
    files = ["."]
    if git:
        files += ["../" * up + ".gitignore" for up in range(git.inside.count("/"), 0, -1)]
        files += [*git.rules, f"{git.git}/index"]
    stamps = [stamp_at(file, directory) for file in files]
    basis = (why, git and (git.inside, *git.excludes, *git.handed_on), *stamps)
    key = (place.root.path, place.relative, include_ignored)
    look = _Look(git, budget, include_ignored)
    kept, known, last = KEPT.get(key) or (None, (), look)
    # A new index, as after `git add`, seldom changes the names that git hides.
    if kept and (known == basis or (known[:-1] == basis[:-1] and look.hides_like(last))):
        if are_settled(stamps[-1:], begun):
            KEPT.put(key, (kept, basis, last))
        found = replace(kept, repository=repository, unconfirmed=(last, directory, budget))
        with suppress(Changed):
            if not lazily:
                found.confirm()
            return found if lazily else replace(found, unconfirmed=None)
    with Walk(directory, look.arrange, budget) as walk:
        for step, problem in walk.enter_all():
            look.directories.append(Directory(step.path, closed=Closed.UNREADABLE))
            # Only new permissions change a stamp. After other failures, the next walk tries again.
            look.is_steady &= isinstance(problem, PermissionRefused)
    paths = tuple(chain.from_iterable(one.paths for one in look.directories))
    not_applied = (look.unanswered or why) if look.has_rules and not include_ignored else ""
    found = ProjectFiles(look.directories, paths, repository, walk.expired, not_applied)
    # A git that failed may answer the next call.
    is_whole = look.is_steady and not (walk.expired or look.unanswered)
    if is_whole and are_settled(chain(stamps, look.stamps.values()), begun):
        KEPT.put(key, (found, basis, look))
    return found


@dataclass
class _Look:
    """One look at the files of a project, in pre-order, and the stamps of all that it read."""

    git: Repository | None
    budget: Budget
    include_ignored: bool
    directories: list[Directory] = field(default_factory=list)
    stamps: dict[str, Stamp] = field(default_factory=dict)  # of directories and rules, by path
    is_steady: bool = True
    has_rules: bool = False
    unanswered: str = ""  # why git gave no list, perhaps a fifo: another would take as long again

    def hides_like(self, last: "_Look") -> bool:
        """Whether git hides the same names, and closes the same directories, as at the `last`."""
        if not self.git or self.has_gitlinks or self.hidden != last.hidden:
            return False
        return ("within" not in vars(last) or self.within == last.within) and not self.unanswered

    @cached_property
    def ordered(self) -> tuple[list[bytes], list[str]]:
        """Keys and paths of the stamps by directory, because its rules count for all in it."""
        folders = ((one.removesuffix("/HEAD").rpartition("/")[:2], one) for one in self.stamps)
        pairs = sorted((entry.in_order("".join(folder)), one) for folder, one in folders)
        return [key for key, _ in pairs], [one for _, one in pairs]

    @cached_property
    def has_gitlinks(self) -> bool:
        return self.git is not None and replace(self.git).has_gitlinks  # a copy keeps the index

    @cached_property
    def hidden(self) -> Mapping[str, set[str]]:
        """The names that git ignores, by directory.

        Git names an ignored directory `a/`. It names one of which all files are ignored one by one
        before these. Who starts in an ignored directory wants its files, so no rule hides them.
        """
        found, inside = defaultdict[str, set[str]](set), self.git.inside if self.git else ""
        for path, after in pairwise([*self._listed("--others", "--ignored", "--directory"), ""]):
            if not (path.endswith("/") and (after.startswith(path) or inside.startswith(path))):
                above, _, name = path.removeprefix(inside).rstrip("/").rpartition("/")
                found[above].add(name)
        return found

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
        try:
            if not self.git or self.unanswered:
                return []
            words = ("ls-files", "-z", *options, *self.git.excludes, *self.git.below())
            budget = self.budget.share(LIST_SHARE).at_most(LIST_SECONDS)
            return replace(self.git, budget=budget).entries(*words)
        except Unanswered as error:
            self.unanswered = error.why
            return []

    def arrange(self, directory: int, path: str) -> Sequence[Named]:
        """Note the files in the open `directory`; return the directories to enter."""
        prefix, ignored = f"{path}/" if path else "", 0
        files, directories, links, _ = groups = [*map(sorted, groups_in(directory, self.budget))]
        watched = [".gitignore"] if ".gitignore" in files else []
        self.has_rules |= bool(watched)
        if dot_git := next((names for names in groups[:3] if ".git" in names), None):
            dot_git.remove(".git")
        is_closed = False
        if path and self.git and (dot_git is not None or self.has_gitlinks):
            is_closed = path in self.within
            if dot_git is not None and not is_closed:
                # Git enters a directory with tracked files, whatever its `.git` is.
                is_closed = f"{path}/" in self.within or bool(self.unanswered)
                # A link or a file names a repository, and nothing here changes with that one.
                watched += [".git"]
                with suppress(OSError):  # it is mended or broken by its HEAD, in place
                    watched += [".git/HEAD"] * bool(HANDLES.lstat(".git/HEAD", directory))
                self.is_steady &= dot_git is directories
        if is_closed:
            files, directories, links = [], [], []
        if not self.include_ignored:
            links = [name for name in links if not name.startswith(".#")]
            files = [name for name in files if not name[0] == name[-1] == "#" != name]
        if hidden := self.hidden.get(path):
            ignored = len(hidden.intersection(files + links + directories))
            for names in (files, links, directories):
                names[:] = [name for name in names if name not in hidden]
        watched += directories
        try:
            stamps = map(stamp_of, HANDLES.lstats([*self.budget.checked(watched)], directory))
            self.stamps.update(zip([prefix + name for name in watched], stamps, strict=True))
        except OSError:  # one is gone by now
            self.is_steady = False
        paths = tuple([prefix + name for name in (sorted(files + links) if links else files)])
        why = Closed.REPOSITORY if is_closed else None
        self.directories.append(Directory(path, paths, tuple(links), why, ignored))
        return list(zip(directories, repeat(Kind.DIRECTORY)))
