"""What is below a directory and not ignored: one walk for all who ask, kept and never stale.

The rules are git's (`fs.ignore`). In a work tree they are those of the repository and the user,
and what is tracked is there even where a rule would hide it: git says which files that is. Where
there is no git or no work tree, the `.gitignore` files from the root downwards count, and the
user's own rules; in a repository further down its own alone. Rules are read wherever git reads
them, which can be above the root; they are the only thing that is, and nothing of them is told.

A repository within a work tree is one entry and is not entered, as with git; it can be surveyed by
itself. `.git` is never there, special files are not, and links are leaves.

A survey is kept for the next call, which looks at every directory again but reads only those that
have changed (`fs.folders`). The index of git has a stamp, too, and the rules from outside of the
tree are read anew each time. So nothing is stale, as far as the file system tells of changes at
once; one on a network may be late in that, with whatever else it is asked.
"""

import os
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from threading import Lock

from backstaff.errors import PathError
from backstaff.fs.budget import Budget
from backstaff.fs.file import read
from backstaff.fs.folders import UNSETTLED, Folder, FolderWalk, Stamp, Tracked, stamp
from backstaff.fs.git import Asked, NoGit, Repository, default_excludes, find_repository
from backstaff.fs.handles import HANDLES
from backstaff.fs.ignore import FILE, MAX_BYTES, Ignore, rules_of
from backstaff.fs.root import Place

__all__ = ["Folder", "Survey", "survey"]

MAX_KEPT = 1_000_000
"""Entries in all kept surveys together."""

MAX_ROUNDS = 10
"""Repositories within repositories that hold tracked files: each level takes a round."""

_AFTER_SLASH = b"0"


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What was found: the `start` with all below it, and the `repository` it is in or why none.

    The repository can be asked while the place that was surveyed is open. `expired` tells that the
    time was up and folders are missing; `uncertain`, that git could not say which ignored files are
    tracked, so those are missing.
    """

    start: Folder
    repository: Repository | NoGit
    expired: bool = False
    uncertain: bool = False

    @property
    def unread_rules(self) -> bool:
        """Whether a file of rules was too long to be read whole."""
        ruled = (one for one in self.start if one.rules is not None or one is self.start)
        return any(not rules.whole for folder in ruled for rules, _ in folder.ignore.layers)


def survey(place: Place, budget: Budget, *, everything: bool = False) -> Survey:
    """What is below the directory PLACE and not ignored; or EVERYTHING, but for `.git`.

    Raises `PathError` if PLACE cannot be read, and `Cancelled`.
    """
    directory = place.listing()
    project = _project(place)
    repository = find_repository(directory, project, budget)
    key = (project, place.relative, everything)
    kept = _CACHE.get(key)
    ground = _EVERYTHING if everything else _ground(place, directory, repository)
    if kept is not None and kept.ground == ground:
        ground = kept.ground
    making = _Making(directory, repository, ground, budget, kept)
    made = making.run()
    if not (making.expired or making.uncertain):
        _CACHE.put(key, made)
    return Survey(made.start, repository, making.expired, making.uncertain)


def _project(place: Place) -> str:
    """The path of the root that PLACE was found in."""
    inside = "" if place.relative == "." else f"/{place.relative}"
    return place.path.removesuffix(inside) or "/"


@dataclass(frozen=True, slots=True)
class _Ground:
    """The rules from outside of a survey; equal ones say the same.

    `hidden` tells that the start is itself ignored, so that only what is tracked is there.
    """

    work_tree: bool = False
    ignore_case: bool = False
    names: tuple[str, ...] = ()
    contents: tuple[bytes, ...] = ()
    everything: bool = False
    hidden: bool = field(default=False, compare=False)
    ignore: Ignore = field(default_factory=Ignore, compare=False)


_EVERYTHING = _Ground(everything=True)


def _ground(place: Place, directory: int, repository: Repository | NoGit) -> _Ground:
    if isinstance(repository, Repository):
        depth, case = repository.depth, repository.ignore_case
        users, exclude = repository.excludes_file, repository.exclude
    else:
        depth, case = 0 if place.relative == "." else place.relative.count("/") + 1, False
        users, exclude = default_excludes(), "../" * depth + ".git/info/exclude"
    if users and not users.startswith("/"):
        users = "../" * depth + users
    names = tuple(place.path.split("/")[-depth:]) if depth else ()
    # The user's own file may be a link; one that came with the project may not.
    general = [_content(users, directory, follow=True), _content(exclude, directory)]
    above = [_content("../" * up + FILE, directory) for up in range(depth, 0, -1)]
    ignore, hidden = _combined(general, above, names, ignore_case=case)
    return _Ground(
        isinstance(repository, Repository),
        case,
        names,
        (*general, *above),
        hidden=hidden,
        ignore=ignore,
    )


def _combined(
    general: list[bytes], above: list[bytes], names: tuple[str, ...], *, ignore_case: bool
) -> tuple[Ignore, bool]:
    """The rules in a directory, and if it is ignored itself.

    The GENERAL files are for the top, each of those ABOVE for the directory that holds the next of
    NAMES; a later one goes before an earlier one.
    """
    ignore, hidden = Ignore(), False
    for content in general:
        ignore = ignore.under(rules_of(content, ignore_case=ignore_case))
    for content, name in zip(above, names, strict=True):
        ignore = ignore.under(rules_of(content, ignore_case=ignore_case))
        hidden |= ignore.ignores(name, directory=True)
        ignore = ignore.below(name)
    return ignore, hidden


def _content(file: str, directory: int, *, follow: bool = False) -> bytes:
    """What FILE holds, as far as it counts; nothing if it cannot be read.

    FOLLOW is for files of git and of the user; a link in the tree is no file with rules.
    """
    try:
        return read(file, directory, MAX_BYTES + 1, follow=follow).head if file else b""
    except PathError:
        return b""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A survey as it was made, with all that it depends on; `index` is the stamp of git's."""

    start: Folder
    ground: _Ground
    tracked: Tracked = field(default_factory=Tracked)
    index: Stamp = UNSETTLED


_Key = tuple[str, str, bool]


@dataclass(slots=True)
class _Cache:
    """The surveys that were made, the latest last; the oldest go when they are too large."""

    _kept: OrderedDict[_Key, _Kept] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: _Key) -> _Kept | None:
        """What is kept for KEY."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: _Key, kept: _Kept) -> None:
        """Keep this, and forget the oldest if that is too much."""
        with self._lock:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            while sum(one.start.size for one in self._kept.values()) > MAX_KEPT:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()


_CACHE = _Cache()


def forget() -> None:
    """Keep nothing of what was surveyed."""
    _CACHE.clear()


@dataclass(slots=True)
class _Making:
    """A survey in the making."""

    directory: int
    repository: Repository | NoGit
    ground: _Ground
    budget: Budget
    kept: _Kept | None
    expired: bool = False
    uncertain: bool = False

    def run(self) -> _Kept:
        """Walk, while git tells what is tracked if that can be new; again, for what is hidden."""
        if not isinstance(self.repository, Repository) or self.ground.everything:
            return _Kept(self._folder(self._walk(Tracked()), self._known), self.ground)
        index = _index(self.repository)
        asked = self.repository.tracked(self.budget) if self._is_new(index) else None
        try:
            return self._made(self.repository, index, asked)
        finally:
            if isinstance(asked, Asked):
                asked.end()

    def _is_new(self, index: Stamp) -> bool:
        return self.kept is None or index == UNSETTLED or index != self.kept.index

    def _made(self, repository: Repository, index: Stamp, asked: Asked | NoGit | None) -> _Kept:
        """What is tracked and hidden is new only where the index is, or where more is left out."""
        before = Tracked() if self.kept is None else self.kept.tracked
        walk = self._walk(before)
        start = self._folder(walk, self._known)
        if self.expired or not (self._is_new(index) or walk.hides_more):
            return _Kept(start, self.ground, before, index)
        names = self._names(repository.tracked(self.budget) if asked is None else asked)
        if names is None:
            return _Kept(start, self.ground, before, index)
        # What is entered at last can hold repositories, links to modules and rules of its own.
        for _ in range(MAX_ROUNDS):
            tracked = self._exceptions(names, before, start, repository)
            if tracked == before:
                break
            start = self._folder(self._walk(tracked, tracked.differing(before) | {""}), start)
            before = tracked
        return _Kept(start, self.ground, before, index)

    def _exceptions(
        self, names: Sequence[bytes], before: Tracked, start: Folder, repository: Repository
    ) -> Tracked:
        """Where the tracked NAMES say otherwise than START, which was walked knowing BEFORE."""
        hidden = _hidden(names, before, start)
        folders = [os.fsencode(folder.path) for folder in start if folder.path]
        closed = {os.fsencode(folder.path) for folder in start if folder.repository}
        closed |= set(map(os.fsencode, before.entered))
        entered = {path for path in closed if _has_below(path, names)}
        exact = [path for path in folders if _has(path, names)]
        links = repository.gitlinks(exact, self.budget) if exact else []
        ruled = (folder.within(FILE) for folder in start if folder.rules is None)
        missing = [path for path in map(os.fsencode, ruled) if _has(path, names)]
        rules = repository.left_out(missing, self.budget) if missing else {}
        if isinstance(links, NoGit) or isinstance(rules, NoGit):
            self.uncertain = True
            return before
        return replace(
            hidden,
            entered=frozenset(map(os.fsdecode, entered)),
            gitlinks=frozenset(map(os.fsdecode, links)),
            rules={os.fsdecode(path.rpartition(b"/")[0]): text for path, text in rules.items()},
        )

    @property
    def _known(self) -> Folder | None:
        return None if self.kept is None else self.kept.start

    def _walk(self, tracked: Tracked, again: frozenset[str] = frozenset()) -> FolderWalk:
        ground = self.ground
        return FolderWalk(
            budget=self.budget,
            everything=ground.everything,
            work_tree=ground.work_tree,
            ignore_case=ground.ignore_case,
            is_repository=self._is_repository,
            tracked=tracked,
            again=again,
        )

    def _is_repository(self, directory: int) -> bool:
        repository = self.repository
        return isinstance(repository, Repository) and repository.is_repository(
            directory, self.budget
        )

    def _folder(self, walk: FolderWalk, known: Folder | None) -> Folder:
        ground = self.ground
        start = walk.run(self.directory, known, ground.ignore, hidden=ground.hidden)
        # What was read last can have been cut short, too.
        self.expired |= walk.expired or self.budget.expired()
        return start

    def _names(self, asked: Asked | NoGit) -> list[bytes] | None:
        """What git tells; None if it cannot."""
        names = asked if isinstance(asked, NoGit) else asked.names()
        if isinstance(names, NoGit):
            self.uncertain = True
            return None
        return names


def _has(path: bytes, names: Sequence[bytes]) -> bool:
    """Whether PATH is among NAMES, which are in the order of their bytes."""
    at = bisect_left(names, path)
    return at < len(names) and names[at] == path


def _has_below(path: bytes, names: Sequence[bytes]) -> bool:
    """Whether any of NAMES lies below PATH."""
    at = bisect_left(names, path + b"/")
    return at < len(names) and names[at].startswith(path + b"/")


def _hidden(names: Sequence[bytes], before: Tracked, start: Folder) -> Tracked:
    """Those of the tracked NAMES that a rule hides below START, which was walked knowing BEFORE.

    NAMES are in the order of their bytes.
    """
    left_out = (folder.within(name) for folder in start for name in folder.left_out)
    # These are seen for the sake of something in them that was tracked; now it may be another.
    seen = (folder.path for folder in start if folder.hidden)
    paths = map(os.fsencode, chain(before.files, left_out, seen))
    return Tracked.of(os.fsdecode(name) for path in paths for name in _at(path, names))


def _at(path: bytes, names: Sequence[bytes]) -> Iterator[bytes]:
    """Those of NAMES that are PATH or below it."""
    exact, first, end = (bisect_left(names, path + what) for what in (b"", b"/", _AFTER_SLASH))
    yield from (name for name in names[exact : exact + 1] if name == path)
    yield from names[first:end]


def _index(repository: Repository) -> Stamp:
    """The stamp of git's list of what is tracked."""
    now = time.time_ns()
    try:
        return stamp(HANDLES.stat(repository.index, repository.directory), now)
    except OSError:
        return UNSETTLED
