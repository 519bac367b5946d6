"""The folders below an open directory, with what is not ignored in them; made anew on a change.

A walk goes by descriptor, never through a link, and looks at every directory; but it reads only
those that are not as it knows them. Device, inode and both times of a directory change whenever a
name in it does; a `.gitignore` has a stamp of its own, as its content may change alone. A directory
that changed just before it was read has no stamp that could tell it from a later change, and is
read again the next time.

Folders are never changed once they are made, so calls can share them.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from operator import attrgetter, is_
from typing import Self

from backstaff.errors import NotAFile, PathError
from backstaff.fs.budget import Budget
from backstaff.fs.entry import Grouped, Kind, Named, groups_in, look, lstat, refusal
from backstaff.fs.file import read
from backstaff.fs.handles import HANDLES
from backstaff.fs.ignore import FILE, MAX_BYTES, Ignore, Rules

RACY_NS = 20_000_000
"""Longer than the steps in which the kernel counts the times of files."""

_DOT_GIT = ".git"
_POINTER = b"gitdir: "
_IN_GIT = ("HEAD", "objects", "refs")

Stamp = tuple[int, int, int, int, int]
"""What the file system says of something; it changes whenever the content does."""
UNSETTLED: Stamp = (0, 0, 0, 0, 0)
"""The stamp of what changed just now: it is like no other, nor like itself."""


exactly: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_size"
)
"""What a settled stamp is compared with."""


def stamp(status: os.stat_result, now: int) -> Stamp:
    """The stamp that STATUS, as it was found at NOW, is."""
    told = exactly(status)
    settled = now - RACY_NS
    return told if told[0] < settled and told[1] < settled else UNSETTLED


_NOTHING: frozenset[str] = frozenset()


# None of these is frozen, as that takes thrice the time to make; but nobody changes one.
@dataclass(slots=True, eq=False)
class Facts:
    """What a folder was made from: it is the same while these are.

    `stamp` is the directory's, `rules` its `.gitignore`'s if it has one; `above` is what its parent
    ignores, by identity, and `ignore` what it ignores itself. In a `hidden` folder, everything is
    ignored but what is tracked. The rules start `anew` in a repository that is entered. `ignored`
    counts what is left out in the folder itself.
    """

    stamp: Stamp
    rules: Stamp | None
    above: Ignore
    ignore: Ignore
    hidden: bool
    anew: bool
    ignored: int

    def same(self, stamp: Stamp, above: Ignore, hidden: bool) -> bool:  # noqa: FBT001 - is called for each directory
        """Whether a directory with this STAMP, and in the same circumstances, is as it was."""
        return stamp == self.stamp and above is self.above and hidden is self.hidden


_NO_FACTS = Facts(UNSETTLED, None, Ignore(), Ignore(), hidden=False, anew=False, ignored=0)


@dataclass(slots=True, eq=False)
class Folder:
    """A directory: its `path` from the start ("" for the start), and what in it is not ignored.

    `names` are its files and links, `links` those that are links, `directories` the rest, each by
    code point; `below` are the folders of the directories, in the same order. `files` counts the
    files and links in here and below, `ignored` what was left out as ignored in here and below, a
    directory being one, and `size` all names. Nothing is known of what is in an `unreadable` one,
    nor in a `repository`, one of its own in a work tree.
    """

    name: str
    path: str
    names: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    below: tuple["Folder", ...] = ()
    files: int = 0
    ignored: int = 0
    size: int = 1
    unreadable: bool = False
    repository: bool = False
    facts: Facts = field(default=_NO_FACTS, repr=False)

    @property
    def entries(self) -> list[Named]:
        """All names with their kinds (FILE, DIRECTORY, SYMLINK), by code point."""
        kinds = dict.fromkeys(self.names, Kind.FILE)
        kinds.update(dict.fromkeys(self.links, Kind.SYMLINK))
        kinds.update(dict.fromkeys(self.directories, Kind.DIRECTORY))
        return sorted(kinds.items())

    def __iter__(self) -> Iterator["Folder"]:
        """Yield this folder and all below it, in pre-order."""
        waiting = [self]
        while waiting:
            folder = waiting.pop()
            yield folder
            if folder.below:
                waiting.extend(reversed(folder.below))


@dataclass(frozen=True, slots=True)
class Tracked:
    """The tracked files that a rule would hide, and the directories that they are in."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()

    @classmethod
    def of(cls, files: Iterable[str]) -> Self:
        """These FILES, and every directory above one of them, but for the start."""
        files = frozenset(files)
        folders: set[str] = set()
        for file in files:
            parent = file.rpartition("/")[0]
            while parent and parent not in folders:
                folders.add(parent)
                parent = parent.rpartition("/")[0]
        return cls(files, frozenset(folders))

    def __contains__(self, path: str) -> bool:
        """Whether PATH is there in spite of the rules."""
        return path in self.files or path in self.folders


@dataclass(slots=True, eq=False)
class _Here:
    """A directory that is open: where it is, how it is known, and what it inherits."""

    name: str
    path: str
    directory: int
    known: Folder | None
    above: Ignore
    hidden: bool

    def within(self, name: str) -> str:
        """The path of NAME in here."""
        return f"{self.path}/{name}" if self.path else name


@dataclass(slots=True)
class _Frame:
    """A directory that the walk is in, and the directories in it that are still ahead."""

    folder: Folder
    directory: int
    ahead: Iterator[tuple[str, Folder | None, bool]]
    below: list[Folder] = field(default_factory=list)

    def finished(self) -> Folder:
        """The folder with all below it: the very one that was known, if nothing is new."""
        folder, below = self.folder, self.below
        if len(folder.below) == len(below) and all(map(is_, folder.below, below)):
            return folder
        return replace(
            folder,
            below=tuple(below),
            files=len(folder.names) + sum(one.files for one in below),
            ignored=folder.facts.ignored + sum(one.ignored for one in below),
            size=_size(folder) + sum(one.size for one in below),
        )


def _size(folder: Folder) -> int:
    return 1 + len(folder.names) + len(folder.directories)


@dataclass(slots=True)
class FolderWalk:
    """One pass over a tree; with `everything`, whatever the rules say.

    In a `work_tree`, `tracked` is there whatever the rules say, and a repository within is not
    entered; elsewhere it is, and the rules start anew in it. The folders with a path in `again` are
    read in any case. Afterwards, `new_rules` tells that a `.gitignore` came, went or changed, and
    `expired` that the time was up and folders are missing.
    """

    budget: Budget
    everything: bool = False
    work_tree: bool = False
    ignore_case: bool = False
    tracked: Tracked = field(default_factory=Tracked)
    again: frozenset[str] = frozenset()
    new_rules: bool = False
    expired: bool = False

    def run(self, start: int, known: Folder | None, above: Ignore, *, hidden: bool) -> Folder:
        """The folder of the open directory START, which was KNOWN so, with all below it.

        ABOVE is what holds in it by rules from elsewhere; in a HIDDEN one only what is tracked is
        there. Raises `PathError` if START cannot be read, and `Cancelled`.
        """
        try:
            entered = self._entered(_Here("", "", HANDLES.duplicate(start), known, above, hidden))
        except OSError as error:
            raise refusal(error) from error
        if isinstance(entered, Folder):
            return entered
        frames = [entered]
        try:
            while True:
                frame = frames[-1]
                if (deeper := self._enter_next(frame)) is not None:
                    frames.append(deeper)
                    continue
                HANDLES.close(frames.pop().directory)
                if not frames:
                    return frame.finished()
                frames[-1].below.append(frame.finished())
        finally:
            for frame in frames:
                HANDLES.close(frame.directory)

    def _enter_next(self, frame: _Frame) -> _Frame | None:
        """Go over the directories ahead in FRAME, up to the first that others are in."""
        above, prefix = frame.folder.facts.ignore, frame.folder.path
        prefix = f"{prefix}/" if prefix else ""
        parent, below, expired = frame.directory, frame.below, self.budget.expired
        for name, known, hidden in frame.ahead:
            if expired():
                self.expired = True
                return None
            if known is not None and self._is_same_leaf(known, parent, above, hidden):
                below.append(known)
                continue
            try:
                directory = HANDLES.enter_to_list(name, parent)
                entered = self._entered(_Here(name, prefix + name, directory, known, above, hidden))
            except (OSError, PathError):
                entered = Folder(name, prefix + name, unreadable=True)
            if isinstance(entered, _Frame):
                return entered
            below.append(entered)
        return None

    def _is_same_leaf(self, known: Folder, parent: int, above: Ignore, hidden: bool) -> bool:  # noqa: FBT001 - is called for each directory
        """Whether there is nothing in KNOWN to be entered for, and it is as it was."""
        facts = known.facts
        if known.directories or facts.rules is not None or known.path in self.again:
            return False
        try:
            return facts.same(exactly(lstat(known.name, parent)), above, hidden)
        except OSError:
            return False

    def _entered(self, here: _Here) -> _Frame | Folder:
        """A directory as it is known or as it is; it stays open only if others are in it."""
        old: Folder | None = here.known
        there: AbstractSet[str] = _NOTHING
        try:
            if old is None or not self._is_same(old, here):
                folder, there = self._read(here)
            else:
                folder = old
        except BaseException:
            HANDLES.close(here.directory)
            raise
        if not folder.directories:
            HANDLES.close(here.directory)
            return folder
        if folder is old:
            ahead = [(one.name, one, one.facts.hidden) for one in old.below]
            return _Frame(folder, here.directory, iter(ahead))
        by_name = {one.name: one for one in old.below} if old else {}
        names = folder.directories
        fresh = [(name, by_name.get(name), here.hidden or name in there) for name in names]
        return _Frame(folder, here.directory, iter(fresh))

    def _is_same(self, known: Folder, here: _Here) -> bool:
        status = HANDLES.status(here.directory)
        if here.path in self.again or not known.facts.same(
            exactly(status), here.above, here.hidden
        ):
            return False
        if known.facts.rules is None:
            return True
        of_rules = look(FILE, here.directory)
        return of_rules is not None and exactly(of_rules) == known.facts.rules

    def _read(self, here: _Here) -> tuple[Folder, AbstractSet[str]]:
        """The folder, without those below it, and what is there though it is ignored."""
        now, status = time.time_ns(), HANDLES.status(here.directory)
        found = groups_in(here.directory, self.budget)
        inner = _take_away(_DOT_GIT, found) and bool(here.path)
        if inner and self.work_tree and _is_repository(here.directory):
            return Folder(here.name, here.path, repository=True), _NOTHING
        # Whether a `.git` makes a repository is not told by the stamp of the directory it is in.
        own = UNSETTLED if inner and self.work_tree else stamp(status, now)
        anew = inner and not self.work_tree
        rules, ignore = self._rules(here, found.files, anew=anew)
        there, count = self._leave_out(here, found, ignore)
        files, directories, links = found
        size = 1 + len(files) + len(directories) + len(links)
        files.sort()
        folder = Folder(here.name, here.path, tuple(files))
        folder.files, folder.ignored, folder.size = size - 1 - len(directories), count, size
        folder.facts = Facts(own, rules, here.above, ignore, here.hidden, anew, count)
        if links:
            folder.names, folder.links = tuple(sorted(files + links)), tuple(sorted(links))
        if directories:
            folder.directories = tuple(sorted(directories))
        return folder, there

    def _leave_out(
        self, here: _Here, found: Grouped, ignore: Ignore
    ) -> tuple[AbstractSet[str], int]:
        """Take out of what was FOUND what is ignored; tell what of that stays, and how much not."""
        if not (here.hidden or ignore.layers):
            return _NOTHING, 0
        ignored = set().union(*found) if here.hidden else ignore.of(found, self.budget)
        there = {one for one in ignored if here.within(one) in self.tracked}
        ignored -= there
        for names in found:
            names[:] = [name for name in names if name not in ignored]
        return there, len(ignored)

    def _rules(self, here: _Here, files: list[str], *, anew: bool) -> tuple[Stamp | None, Ignore]:
        """The stamp of the folder's own rules, if it has some, and what it ignores by all rules.

        These start ANEW in a repository.
        """
        if self.everything:
            return None, here.above
        rules, content = None, b""
        if FILE in files:
            rules, content = _own_rules(here.directory)
        known = _NO_FACTS if here.known is None else here.known.facts
        if not (rules or known.rules or anew or here.above.layers):
            return None, here.above  # as in most directories where nothing is ignored
        if known.above is here.above and rules == known.rules != UNSETTLED and anew is known.anew:
            return rules, known.ignore
        self.new_rules |= rules is not None or known.rules is not None
        ignore = Ignore() if anew else here.above.below(here.name) if here.path else here.above
        if content:
            ignore = ignore.under(Rules(content, ignore_case=self.ignore_case))
        return rules, ignore


def _take_away(name: str, found: Grouped) -> bool:
    """Take NAME out of what was FOUND, and tell whether it was there."""
    for names in found:
        if name in names:
            names.remove(name)
            return True
    return False


def _own_rules(directory: int) -> tuple[Stamp, bytes]:
    """The stamp and the content of the `.gitignore` in DIRECTORY; empty if it cannot be read."""
    now = time.time_ns()
    try:
        content = read(FILE, directory, MAX_BYTES + 1)
    except PathError:
        return UNSETTLED, b""
    return stamp(content.status, now), content.head


def _is_repository(directory: int) -> bool:
    """Whether the `.git` in DIRECTORY makes it a repository, going by what git looks for first.

    That is a directory with what every repository has, or a file that says where it is.
    """
    try:
        if read(_DOT_GIT, directory, len(_POINTER)).head == _POINTER:
            return True
    except NotAFile as error:
        if error.kind is not Kind.DIRECTORY:
            return False
    except PathError:
        return False
    statuses = [look(f"{_DOT_GIT}/{name}", directory) for name in _IN_GIT]
    return None not in statuses
