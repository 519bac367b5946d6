"""The folders below an open directory, with what is not ignored in them; made anew on a change.

A walk goes by descriptor, never through a link, and looks at every directory; but it reads only
those that are not as it knows them. Device, inode and both times of a directory change whenever a
name in it does; a `.gitignore` has a stamp of its own, as its content may change alone. A directory
that changed just before the walk that reads it, or since, has no stamp that could tell it from a
later change, and is read again the next time.

Folders are never changed once they are made, so calls can share them.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import compress
from operator import attrgetter, eq, is_
from stat import S_ISDIR
from typing import Self

from backstaff.errors import PathError
from backstaff.fs.budget import PIECE, Budget
from backstaff.fs.entry import Grouped, Kind, groups_in, kind_of, look, refusal
from backstaff.fs.file import read
from backstaff.fs.handles import DEEPEST, HANDLES
from backstaff.fs.ignore import FILE, MAX_BYTES, Ignore, rules_of

RACY_NS = 20_000_000
"""Longer than the steps in which the kernel counts the times of files."""

LOOK = 32
"""Directories between two looks at the clock."""

_DOT_GIT = ".git"
_POINTER = b"gitdir: "
_HEAD = b"ref: refs/heads/"

Stamp = tuple[int, int, int, int, int]
"""What the file system says of something; it changes whenever the content does."""
UNSETTLED: Stamp = (0, 0, 0, 0, 0)
"""The stamp of what changed just now: it is like no other, nor like itself."""


exactly: Callable[[os.stat_result], Stamp] = attrgetter(
    "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_size"
)
"""What a settled stamp is compared with."""


def stamp(status: os.stat_result, now: int) -> Stamp:
    """The stamp that STATUS, as it was found at NOW or later, is."""
    told = exactly(status)
    settled = now - RACY_NS
    return told if told[0] < settled and told[1] < settled else UNSETTLED


_NOTHING: frozenset[str] = frozenset()
_NO_RULES = Ignore()


# Not frozen, as that takes thrice the time to make; but nobody changes one that is finished.
@dataclass(slots=True, eq=False)
class Folder:
    """A directory: its `path` from the start ("" for the start), and what in it is not ignored.

    `listed` are its files and links, with a NUL before each, as one text takes a third of the room
    that the names would; `count` is how many. `links` are those that are links, `directories` the
    rest, all by code point; `below` are the folders of the directories, in the same order.
    `ignored` counts what was left out as ignored in here and below, a directory being one, and
    `size` all names. Nothing is known of what is in an `unreadable` one, nor in a `repository`, one
    of its own in a work tree.

    The rest is what it was made from: it is the same while this is. `stamp` is the directory's,
    `rules` its `.gitignore`'s if it has one; `above` is what its parent ignores, by identity, and
    `ignore` what it ignores itself. In a `hidden` folder, everything is ignored but what is
    tracked. The rules start `anew` in a repository that is entered. `left_out` is what is ignored
    in the folder itself.
    """

    name: str
    path: str
    listed: str = ""
    count: int = 0
    links: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    below: tuple["Folder", ...] = ()
    ignored: int = 0
    size: int = 1
    unreadable: bool = False
    repository: bool = False
    stamp: Stamp = UNSETTLED
    rules: Stamp | None = None
    above: Ignore = _NO_RULES
    ignore: Ignore = _NO_RULES
    hidden: bool = False
    anew: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The files and links that are `listed`."""
        return [name for some in self.pieces() for name in some.split("\0")[1:]]

    def pieces(self) -> Iterator[str]:
        """What is `listed`, taken apart before names: no other thread runs while one is split."""
        start, listed = 0, self.listed
        while len(listed) - start > PIECE and (end := listed.find("\0", start + PIECE)) > 0:
            yield listed[start:end]
            start = end
        yield listed[start:]

    def within(self, name: str) -> str:
        """The path of NAME in here."""
        return f"{self.path}/{name}" if self.path else name

    def __iter__(self) -> Iterator["Folder"]:
        """Yield this folder and all below it, in pre-order."""
        waiting = [self]
        while waiting:
            folder = waiting.pop()
            yield folder
            if folder.below:
                waiting.extend(reversed(folder.below))


_UNKNOWN = Folder("", "")


@dataclass(frozen=True, slots=True)
class Tracked:
    """What the index of git says about paths that the rules and the disk tell otherwise.

    `files` are tracked though a rule would hide them, and `folders` the directories that they are
    in. `entered` are directories with tracked files in them and a repository of their own: git goes
    into these. Into `gitlinks`, submodules, it does not, even without a repository there. `rules`
    is the content of `.gitignore` files that a sparse checkout left out, by their directory.
    """

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    entered: frozenset[str] = frozenset()
    gitlinks: frozenset[str] = frozenset()
    rules: Mapping[str, bytes] = field(default_factory=dict)

    def differing(self, other: Self) -> frozenset[str]:
        """Return the directories of which OTHER says something else, and all above them."""
        places = self.entered ^ other.entered | self.gitlinks ^ other.gitlinks
        rules = self.rules.keys() | other.rules.keys()
        places |= {path for path in rules if self.rules.get(path) != other.rules.get(path)}
        inside = {f"{path}/" if path else "" for path in places}
        return self.of((self.files ^ other.files) | inside).folders | places

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


@dataclass(slots=True)
class _Frame:
    """A directory that the walk is in, and the names of the directories in it that are still ahead.

    `known` are the folders of these as they were before, by name; `there` are names of what is not
    left out though it is ignored. The `folder` itself can be `kept`: then others have it, too.
    Those in `same` are as they were, and need not be entered.
    """

    folder: Folder
    directory: int
    known: Mapping[str, Folder]
    there: AbstractSet[str]
    kept: bool
    ahead: Iterator[str]
    same: frozenset[str] = _NOTHING
    below: list[Folder] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        folder: Folder,
        directory: int,
        known: Folder | None,
        there: AbstractSet[str],
        same: Iterable[str] = (),
    ) -> Self:
        """The frame of a FOLDER, which is open as DIRECTORY and was KNOWN so."""
        before = {one.name: one for one in known.below} if known else {}
        kept, ahead = folder is known, iter(folder.directories)
        return cls(folder, directory, before, there, kept, ahead, frozenset(same))

    def inherited(self) -> Iterator[Folder]:
        """The folders that are known, and inherit what they did."""
        above, all_hidden, there = self.folder.ignore, self.folder.hidden, self.there
        for one in map(self.known.get, self.folder.directories):
            hidden = all_hidden or (one is not None and one.name in there)
            if one is not None and one.above is above and one.hidden is hidden:
                yield one

    def pass_over(self) -> None:
        """Take the directories ahead for unreadable ones."""
        folder = self.folder
        for name in self.ahead:
            hidden = folder.hidden or name in self.there
            self.below.append(Folder(name, folder.within(name), unreadable=True, hidden=hidden))

    def finished(self) -> Folder:
        """The folder with all below it: the very one that was known, if nothing is new."""
        folder, below = self.folder, self.below
        if len(folder.below) == len(below) and all(map(is_, folder.below, below)):
            return folder
        size, ignored = folder.size, folder.ignored
        for known in folder.below:
            size -= known.size
            ignored -= known.ignored
        for one in below:
            size += one.size
            ignored += one.ignored
        finished = replace(folder) if self.kept else folder
        finished.below, finished.size, finished.ignored = tuple(below), size, ignored
        return finished


@dataclass(slots=True)
class FolderWalk:
    """One pass over a tree; with `everything`, whatever the rules say.

    In a `work_tree`, `tracked` is there whatever the rules say, and a repository within is not
    entered; elsewhere it is, and the rules start anew in it. The folders with a path in `again` are
    read in any case. Afterwards, `hides_more` tells that a folder leaves out what it did not leave
    out when it was known, and `expired` that the time was up and folders are missing.
    """

    budget: Budget
    everything: bool = False
    work_tree: bool = False
    ignore_case: bool = False
    is_repository: Callable[[int], bool] = lambda _: False
    tracked: Tracked = field(default_factory=Tracked)
    again: frozenset[str] = frozenset()
    hides_more: bool = False
    expired: bool = False
    _settled: int = field(default_factory=lambda: time.time_ns() - RACY_NS)

    def run(self, start: int, known: Folder | None, above: Ignore, *, hidden: bool) -> Folder:
        """The folder of the open directory START, which was KNOWN so, with all below it.

        ABOVE is what holds in it by rules from elsewhere; in a HIDDEN one only what is tracked is
        there. Raises `PathError` if START cannot be read, unless the time is up, and `Cancelled`.
        """
        new = Folder("", "")
        new.above, new.hidden = above, hidden
        if self.budget.expired():
            self.expired = True
            return new
        try:
            entered = self._entered(new, HANDLES.duplicate(start), known)
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
                    if len(frames) == DEEPEST:
                        deeper.pass_over()
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
        if not frame.known:
            return self._read_next(frame)
        folder, parent, below, there = frame.folder, frame.directory, frame.below, frame.there
        above, all_hidden, before, same = folder.ignore, folder.hidden, frame.known, frame.same
        for name in frame.ahead:
            if name in same:
                below.append(before[name])
                continue
            if self.budget.expired():
                self.expired = True
                return None
            new = Folder(name, folder.within(name))
            new.above, new.hidden = above, all_hidden or name in there
            try:
                directory = HANDLES.enter_to_list(name, parent)
                entered = self._entered(new, directory, before.get(name))
            except (OSError, PathError):
                entered = Folder(name, new.path, unreadable=True, hidden=new.hidden)
            if isinstance(entered, _Frame):
                return entered
            below.append(entered)
        return None

    def _read_next(self, frame: _Frame) -> _Frame | None:
        """The same where nothing is known: the loop in which a first walk spends its time."""
        folder, parent, below, there = frame.folder, frame.directory, frame.below, frame.there
        above, all_hidden, prefix = folder.ignore, folder.hidden, folder.within("")
        enter, read, close = HANDLES.enter_to_list, self._read, HANDLES.close
        for at, name in enumerate(frame.ahead):
            if not at % LOOK and self.budget.expired():
                self.expired = True
                return None
            new = Folder(name, prefix + name)
            new.above, new.hidden = above, all_hidden or name in there
            try:
                directory = enter(name, parent)
                try:
                    inner = read(new, directory, None)
                except BaseException:
                    close(directory)
                    raise
                if new.directories:
                    return _Frame.of(new, directory, None, inner)
                close(directory)
            except (OSError, PathError):
                new = Folder(name, new.path, unreadable=True, hidden=new.hidden)
            below.append(new)
        return None

    def _entered(self, new: Folder, directory: int, known: Folder | None) -> _Frame | Folder:
        """The open DIRECTORY as it is KNOWN or as it is; it stays open only if others are in it.

        The NEW folder tells where it is and what it inherits.
        """
        try:
            if known is not None and self._is_same(known, new, directory):
                new, same = known, self._same(known.below, directory)
                if len(same) < len(known.below):
                    hidden = {one.name for one in known.below if one.hidden}
                    return _Frame.of(known, directory, known, hidden, same)
            else:
                there = self._read(new, directory, known)
                if new.directories:
                    frame = _Frame.of(new, directory, known, there)
                    frame.same = frozenset(self._same(list(frame.inherited()), directory))
                    return frame
        except BaseException:
            HANDLES.close(directory)
            raise
        HANDLES.close(directory)
        return new

    def _same(self, folders: Sequence[Folder], parent: int) -> list[str]:
        """Those of FOLDERS in PARENT that are as they were and have nothing to be entered for.

        They inherit what they did.
        """
        same: list[str] = []
        if self.again:
            folders = [one for one in folders if one.path not in self.again]
        for first in range(0, len(folders), LOOK):
            if self.budget.expired():
                break
            some = folders[first : first + LOOK]
            leaves = [one for one in some if not one.directories and one.rules is None]
            names = [one.name for one in leaves]
            try:
                stamps = list(map(exactly, HANDLES.lstats(names, parent)))
            except OSError:
                continue  # one of them is gone: each is entered, which tells
            before = [one.stamp for one in leaves]
            same += names if stamps == before else compress(names, map(eq, stamps, before))
        return same

    def _is_same(self, known: Folder, new: Folder, directory: int) -> bool:
        alike = new.above is known.above and new.hidden is known.hidden
        if not alike or new.path in self.again:
            return False
        if exactly(HANDLES.status(directory)) != known.stamp:
            return False
        if known.rules is None:
            return True
        of_rules = look(FILE, directory)
        return of_rules is not None and exactly(of_rules) == known.rules

    def _read(self, new: Folder, directory: int, known: Folder | None) -> AbstractSet[str]:
        """Fill the NEW folder from DIRECTORY; tell what is there in it though it is ignored."""
        # As `stamp` has it, which would be one more call for each directory.
        told, settled = exactly(HANDLES.status(directory)), self._settled
        new.stamp = told if told[0] < settled and told[1] < settled else UNSETTLED
        found = groups_in(directory, self.budget)
        files, directories, links = found
        files.sort()
        directories.sort()
        there: AbstractSet[str] = _NOTHING
        # The first of the names tells whether any of them is one that git looks at.
        if (
            (links or new.above.layers or new.hidden)
            or (files and files[0] <= FILE)
            or (directories and directories[0] <= _DOT_GIT)
            or (known is not None and known.rules is not None)
            or new.path in self.tracked.gitlinks
            or new.path in self.tracked.rules
        ):
            there = self._rule(new, directory, known, found)
        else:
            new.ignore = new.above
        if links:
            files, new.links = sorted(files + links), tuple(sorted(links))
        new.listed, new.directories = "\0".join(["", *files]), tuple(directories)
        new.count = count = len(files)
        new.size = 1 + count + len(directories) + len(new.left_out)
        return there

    def _rule(
        self, new: Folder, directory: int, known: Folder | None, found: Grouped
    ) -> AbstractSet[str]:
        """Take out of what was FOUND what is not to be seen; tell what stays though it is ignored.

        What the NEW folder ignores is set, too.
        """
        inner = _take_away(_DOT_GIT, found) and bool(new.path)
        gitlink = new.path in self.tracked.gitlinks
        if self.work_tree and (inner or gitlink) and new.path not in self.tracked.entered:
            # Whether a `.git` makes a repository is not told by the stamp of its directory.
            new.stamp = UNSETTLED
            if gitlink or self._holds_repository(directory):
                new.repository = True
                self.hides_more |= known is None or not known.repository
                for names in found:
                    names.clear()
                return _NOTHING
        new.anew = inner and not self.work_tree
        new.rules, new.ignore = self._rules(new, directory, found[0], known)
        if not (new.hidden or new.ignore.layers):
            return _NOTHING
        there = self._leave_out(new, found)
        self.hides_more |= not set(new.left_out).issubset(known.left_out if known else ())
        return there

    def _holds_repository(self, directory: int) -> bool:
        """Whether the `.git` in DIRECTORY makes it a repository.

        An ordinary one, a directory with all that it needs, is known at sight. Git decides about
        all others: a link, a file that says where the repository is, a broken one.
        """
        status = look(_DOT_GIT, directory)
        kind = Kind.UNKNOWN if status is None else kind_of(status)
        try:
            if kind is Kind.FILE and read(_DOT_GIT, directory, len(_POINTER)).head != _POINTER:
                return False
            if kind is Kind.DIRECTORY and all(
                (inner := look(f"{_DOT_GIT}/{name}", directory)) and S_ISDIR(inner.st_mode)
                for name in ("objects", "refs")
            ):
                head = read(f"{_DOT_GIT}/HEAD", directory, len(_HEAD)).head
                if head == _HEAD:
                    return True
        except PathError:
            if kind is Kind.FILE:
                return True  # git takes a file that it cannot read for a repository
        return self.is_repository(directory)

    def _leave_out(self, new: Folder, found: Grouped) -> AbstractSet[str]:
        """Take out of what was FOUND what the NEW folder ignores; tell what of that stays."""
        ignored = set().union(*found) if new.hidden else new.ignore.of(found, self.budget)
        tracked, (_, directories, _) = self.tracked, found
        there = {name for name in ignored if new.within(name) in tracked.files}
        there |= {n for n in ignored.intersection(directories) if new.within(n) in tracked.folders}
        ignored -= there
        for names in found if ignored else ():
            names[:] = [name for name in names if name not in ignored]
        new.left_out, new.ignored = tuple(ignored), len(ignored)
        return there

    def _rules(
        self, new: Folder, directory: int, files: list[str], known: Folder | None
    ) -> tuple[Stamp | None, Ignore]:
        """The stamp of the NEW folder's own rules, if it has some, and what it ignores by all.

        These start anew in a repository.
        """
        if self.everything:
            return None, new.above
        rules, content = None, self.tracked.rules.get(new.path, b"")
        if FILE in files:
            rules, content = _own_rules(directory)
        before = known or _UNKNOWN
        alike = before.above is new.above and before.anew is new.anew and not before.repository
        alike &= new.path not in self.again
        if alike and rules == before.rules != UNSETTLED:
            return rules, before.ignore
        ignore = _NO_RULES if new.anew else new.above.below(new.name) if new.path else new.above
        if content:
            ignore = ignore.under(rules_of(content, ignore_case=self.ignore_case))
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
