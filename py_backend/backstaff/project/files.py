"""The files of a project: everything below a directory that git does not ignore.

This is the walk of `fs.walk` with git's rules as its filter. In a work tree the rules are those of
the repository and the user, and a tracked file is a file of the project even where a rule would
hide it. Without git or a work tree, the `.gitignore` files from the root downwards count, and the
user's own rules; a repository further down starts with no rules but its own.

A repository within a work tree is one closed directory, as for git; it can be walked by itself.
`.git`, special files, and Emacs's own files never belong to a project: the links by which it locks
files that it has changed, and the copies that it saves by itself. Other links are leaves. Rules are
read wherever git reads them, which can be above the root. Nothing else is read there, and no answer
shows them.

The files are kept for the next call (`_Kept`). That call compares the time stamps of all
directories and rules with those on the disk, and walks again if any differs. So no answer is
stale, as far as the file system dates changes at once; a file system on a network may be late.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, repeat
from stat import S_ISDIR
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import PathError, PermissionRefused
from backstaff.fs.entry import Grouped, Kind, Named, groups_in, kind_of, lstat_or_none
from backstaff.fs.file import read
from backstaff.fs.handles import HANDLES
from backstaff.fs.root import Place
from backstaff.fs.walk import Step, Walk
from backstaff.project.configuration import default_file
from backstaff.project.git import Repository, TrackedFiles, find_repository
from backstaff.project.ignore import FILE, MAX_BYTES, Ignore, rules_of
from backstaff.project.running_git import NoGit
from backstaff.project.stamp import UNSETTLED, Stamp, is_young, settled, stamp_of

MAX_KEPT = 500_000
"""Maximum number of files and directories that are kept, of all projects.

With their stamps, 500,000 files take 80 MB.
"""

_DOT_GIT = ".git"
_LOCK = ".#"
_COPY = "#"
_AFTER_COPIES = "$"
"""In the order of code points, names that begin with `#` stand before this."""
_POINTER = b"gitdir: "
_BRANCH = b"ref: refs/heads/"
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
    the time was up and files are missing; `tracked_unknown`, that git could not name the tracked
    files, so that ignored ones are missing; `rules_cut`, that a file of rules was too long to be
    read whole. The `repository` can be asked while the place is open.
    """

    directories: Sequence[Directory]
    paths: tuple[str, ...]
    repository: Repository | NoGit
    ignored: int = 0
    expired: bool = False
    tracked_unknown: bool = False
    rules_cut: bool = False
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
    directories that hold directories or rules.
    """

    found: ProjectFiles
    basis: tuple[object, ...]
    watches: Mapping[str, Watch]


KEPT: LRUCache[tuple[str, str, bool], _Kept] = LRUCache(
    MAX_KEPT, lambda kept: len(kept.found.paths) + len(kept.found.directories)
)


def project_files(  # noqa: C901  # one thought
    place: Place, budget: Budget, *, include_ignored: bool = False
) -> ProjectFiles:
    """Walk below the directory `place`, or return the files that are kept if nothing has changed.

    With `include_ignored`, no rule counts, and repositories are entered. Raises `PathError` if
    `place` cannot be read, and `Cancelled`.
    """
    directory, begun = place.listing(), time.time_ns()
    inside = "" if place.relative == "." else f"/{place.relative}"
    project = place.path.removesuffix(inside) or "/"
    repository = find_repository(directory, project, budget)
    basis: list[object] = []
    work_tree, ignore_case = isinstance(repository, Repository) and not include_ignored, False
    ignore, ignored = Ignore(), False
    try:
        basis.append(settled(HANDLES.status(directory), begun))
        if isinstance(repository, Repository):  # the index changes whenever the tracked files do
            basis.append(settled(HANDLES.stat(repository.index, directory), begun))
    except OSError:
        basis.append(UNSETTLED)
    if not include_ignored:
        if isinstance(repository, Repository):
            configuration, depth = repository.configuration, repository.depth
            ignore_case = configuration.flag("core.ignorecase")
            users, exclude = configuration.excludes_file, repository.exclude
        else:
            depth = 0 if place.relative == "." else place.relative.count("/") + 1
            users, exclude = default_file("ignore"), "../" * depth + ".git/info/exclude"
        # The user's own file may be a link. One that came with the project may not.
        users = users and os.path.join("../" * depth, users)
        general = [content_of(users, directory, follow=True), content_of(exclude, directory)]
        names = place.path.split("/")[-depth:] if depth else []
        above = [content_of("../" * up + FILE, directory) for up in range(depth, 0, -1)]
        basis += [work_tree, ignore_case, general, names, above]
        for content in general:
            ignore = ignore.under(rules_of(content, ignore_case=ignore_case))
        for content, name in zip(above, names, strict=True):
            ignore = ignore.under(rules_of(content, ignore_case=ignore_case))
            ignored |= ignore.ignores(name, directory=True)
            ignore = ignore.below(name)
    key = (project, place.relative, include_ignored)
    kept = KEPT.get(key)
    if kept and kept.basis == (*basis,) and _is_current(kept, directory, budget):
        return replace(kept.found, repository=repository)
    tracked: TrackedFiles | NoGit = TrackedFiles()
    if work_tree and isinstance(repository, Repository):
        tracked = repository.tracked(budget)
    known = TrackedFiles() if isinstance(tracked, NoGit) else tracked
    cut = any(not rules.whole for rules, *_ in ignore.layers)
    look = _Look(repository, known, budget, include_ignored, ignore_case, cut)
    look.ahead[""] = ignore, ignored
    with Walk(directory, look.arrange, budget) as walk:
        for step, problem in walk.enter_all():
            look.note_unreadable(step, problem)
    found = ProjectFiles(
        look.directories,
        tuple(chain.from_iterable(one.paths for one in look.directories)),
        repository,
        look.ignored,
        walk.expired,
        isinstance(tracked, NoGit),
        look.rules_cut,
        look.of_emacs,
        [one for one in look.directories if one.closed],
    )
    stamps = chain.from_iterable(map(dict.values, look.watches.values()))
    steady = UNSETTLED not in basis and not any(is_young(one, begun) for one in stamps)
    if steady and not (found.expired or found.tracked_unknown):
        KEPT.put(key, _Kept(found, (*basis,), look.watches))
    return found


def content_of(file: str, directory: int, *, follow: bool = False) -> bytes:
    """The content of `file` as far as it counts; empty if it cannot be read.

    `follow` is for the files of git and of the user: a link in the tree is no file of rules.
    """
    try:
        return read(file, directory, MAX_BYTES + 1, follow=follow).head if file else b""
    except PathError:
        return b""


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


@dataclass(slots=True)
class _Look:
    """One look at the files of a project, in pre-order, and the stamps of all that it read."""

    repository: Repository | NoGit
    tracked: TrackedFiles
    budget: Budget
    include_ignored: bool
    ignore_case: bool
    rules_cut: bool
    ahead: dict[str, tuple[Ignore, bool]] = field(default_factory=dict)
    """The rules from above for each directory ahead, and whether these ignore all that is in it."""
    directories: list[Directory] = field(default_factory=list)
    ignored: int = 0
    of_emacs: dict[str, Sequence[str]] = field(default_factory=dict)
    watches: dict[str, Watch] = field(default_factory=lambda: {"": {}})

    def arrange(  # noqa: C901, PLR0912  # one thought
        self, directory: int, path: str
    ) -> Sequence[Named]:
        """Note the files in the open `directory`; return the directories to enter."""
        ignore, all_ignored = self.ahead.pop(path)
        prefix = f"{path}/" if path else ""
        status = HANDLES.status(directory)
        files, directories, links, _ = groups_in(directory, self.budget)
        self._note(path, stamp_of(status))
        has_dot_git, has_rules = False, False
        for names in filter(None, (files, directories, links)):  # no project has special files
            names.sort()
            if names[0] <= FILE:  # else all sort after the two that are looked for
                has_rules |= names is files and FILE in names
                if _DOT_GIT in names:
                    names.remove(_DOT_GIT)
                    has_dot_git = bool(path)
        closed = path in self.tracked.gitlinks
        if has_dot_git and not closed:
            if self.include_ignored or isinstance(self.repository, NoGit):
                ignore = Ignore()  # the rules start anew in a repository that is entered
            else:
                closed = self._is_closed(directory, path)
        if closed:
            self.directories.append(Directory(path, closed=Closed.REPOSITORY))
            return ()
        kept: frozenset[str] = frozenset()
        if not self.include_ignored:
            if has_rules or self.tracked.left_out:
                ignore = self._with_own_rules(ignore, directory, path, has_rules=has_rules)
            marked = links or (files and files[0] < _AFTER_COPIES)
            if emacs := self._of_emacs(files, links, prefix) if marked else []:
                own = set(emacs)
                files = [name for name in files if name not in own]
                links = [name for name in links if name not in own]
                if not all_ignored:
                    hidden = ignore.of((emacs, [], [], []), self.budget)
                    self.of_emacs[path] = [one for one in emacs if one not in hidden]
            if all_ignored or ignore.layers:
                named: Grouped = files, directories, links, []
                kept = self._leave_out(named, ignore, prefix, all_ignored=all_ignored)
        if directories:
            self.watches.setdefault(path, {})
            for name in directories:
                inner = ignore.below(name) if ignore.layers else ignore
                self.ahead[prefix + name] = inner, all_ignored or name in kept
        if links:
            files = sorted(files + links)
        paths = tuple([prefix + name for name in files])
        self.directories.append(Directory(path, paths, tuple(links)))
        return list(zip(directories, repeat(_DIRECTORY))) if directories else ()

    def _of_emacs(self, files: list[str], links: list[str], prefix: str) -> list[str]:
        """Return Emacs's own names that are not tracked.

        If Emacs has changed `a.py`, those are the link `.#a.py` and the copy `#a.py#`.
        """
        own = [one for one in links if one.startswith(_LOCK)]
        own += [one for one in files if one[1:] and one[0] == one[-1] == _COPY]
        return [one for one in own if not self.tracked.has(prefix + one)]

    def _is_closed(self, directory: int, path: str) -> bool:
        """Whether the open `directory`, which has a `.git`, is another repository for git.

        Git enters a directory with tracked files, whatever its `.git` is.
        """
        if self.tracked.below(path):
            return False
        status = lstat_or_none(_DOT_GIT, directory)
        kind = Kind.UNKNOWN if status is None else kind_of(status)
        try:
            if kind is Kind.FILE and read(_DOT_GIT, directory, len(_POINTER)).head != _POINTER:
                self._watch(directory, path, _DOT_GIT)
                return False
            if kind is Kind.DIRECTORY and all(
                (inner := lstat_or_none(f"{_DOT_GIT}/{name}", directory)) and S_ISDIR(inner.st_mode)
                for name in ("objects", "refs")
            ):
                head = read(f"{_DOT_GIT}/HEAD", directory, len(_BRANCH)).head
                if head == _BRANCH:
                    # An ordinary repository is known at sight.
                    self._watch(directory, path, _DOT_GIT, f"{_DOT_GIT}/HEAD")
                    return True
        except PathError:
            if kind is Kind.FILE:
                return True  # git takes a file that it cannot read for a repository
        # Git decides about a link, a file that names a repository, and a broken repository. Its
        # decision can change without any stamp here.
        self._note(path, UNSETTLED)
        repository = self.repository
        return isinstance(repository, Repository) and repository.is_repository(
            directory, self.budget
        )

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

    def _with_own_rules(
        self, ignore: Ignore, directory: int, path: str, *, has_rules: bool
    ) -> Ignore:
        """The rules from above, `ignore`, and those of the open `directory` itself."""
        content, name = b"", f"{path}/{FILE}" if path else FILE
        if has_rules:
            self._watch(directory, path, FILE)
            content = content_of(FILE, directory)
        elif name in self.tracked.left_out and isinstance(self.repository, Repository):
            status = lstat_or_none(FILE, directory)
            # Git opens a directory of this name, and reads nothing.
            if not (status and S_ISDIR(status.st_mode)):
                content = self.repository.content(name, self.budget)
        if not content:
            return ignore
        rules = rules_of(content, ignore_case=self.ignore_case)
        self.rules_cut |= not rules.whole
        return ignore.under(rules)

    def _leave_out(
        self, found: Grouped, ignore: Ignore, prefix: str, *, all_ignored: bool
    ) -> frozenset[str]:
        """Take the ignored names out of `found`; return those that stay, as git tracks them."""
        ignored = set().union(*found) if all_ignored else ignore.of(found, self.budget)
        if not ignored:
            return frozenset()
        tracked, directories = self.tracked, ignored.intersection(found[1])
        kept = {name for name in ignored if tracked.has(prefix + name)}
        kept |= {name for name in directories if tracked.below(prefix + name)}
        ignored -= kept
        self.ignored += len(ignored)
        for names in found:
            names[:] = [name for name in names if name not in ignored]
        return frozenset(kept)

    def note_unreadable(self, step: Step, problem: PathError) -> None:
        """Note the directory `step`, which could not be entered because of `problem`."""
        status = lstat_or_none(step.name, step.directory)
        # Only a change of permissions changes the stamp. After other failures, the next walk tries
        # again.
        watched = status is not None and isinstance(problem, PermissionRefused)
        self._note(step.path, stamp_of(status) if status and watched else UNSETTLED)
        self.directories.append(Directory(step.path, closed=Closed.UNREADABLE))
