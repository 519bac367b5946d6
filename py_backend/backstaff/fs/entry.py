"""The entries of one open directory: names with kinds, and their status on demand.

Every function takes an open descriptor and single names, so no path is looked up again.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from itertools import islice
from operator import attrgetter

from backstaff.budget import Budget
from backstaff.errors import path_error
from backstaff.fs.handles import HANDLES


class Kind(StrEnum):
    """The kind of a directory entry, by lstat: a link is a link wherever it points."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    FIFO = "fifo"
    SOCKET = "socket"
    CHARACTER_DEVICE = "character-device"
    BLOCK_DEVICE = "block-device"
    UNKNOWN = "unknown"

    __hash__ = str.__hash__  # an enumeration's own is slow, and is called for each entry


_KINDS = {
    stat.S_IFREG: Kind.FILE,
    stat.S_IFDIR: Kind.DIRECTORY,
    stat.S_IFLNK: Kind.SYMLINK,
    stat.S_IFIFO: Kind.FIFO,
    stat.S_IFSOCK: Kind.SOCKET,
    stat.S_IFCHR: Kind.CHARACTER_DEVICE,
    stat.S_IFBLK: Kind.BLOCK_DEVICE,
}


def kind_of(status: os.stat_result) -> Kind:
    """The kind in an lstat."""
    return _KINDS.get(stat.S_IFMT(status.st_mode), Kind.UNKNOWN)


# The kinds that a directory itself tells apart: special files are UNKNOWN.
GROUPS = (Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK, Kind.UNKNOWN)
Named = tuple[str, Kind]  # a name and its kind, one of `GROUPS`


def groups_in(directory: int, budget: Budget) -> tuple[list[str], ...]:
    """The names in the open `directory` for each of `GROUPS`, in no order; nothing is statted.

    Ends when the time is up. Raises `Cancelled`, and `PathError` for an unreadable directory.
    """
    found: tuple[list[str], ...] = ([], [], [], [])
    files, directories, links, special = found
    try:
        with HANDLES.scan(directory) as entries:
            while not budget.expired() and (some := [*islice(entries, budget.STRIDE)]):
                for entry in some:
                    if entry.is_file(follow_symlinks=False):
                        files.append(entry.name)
                    elif entry.is_dir(follow_symlinks=False):
                        directories.append(entry.name)
                    elif entry.is_symlink():
                        links.append(entry.name)
                    else:
                        special.append(entry.name)
    except OSError as error:
        raise path_error(error) from error
    return found


def names_in(directory: int, budget: Budget) -> list[str]:
    """The names that `groups_in` reads, without their kinds."""
    found = list[str]()
    try:
        with HANDLES.scan(directory) as entries:
            while not budget.expired() and (some := [*islice(entries, budget.STRIDE)]):
                found += [entry.name for entry in some]
    except OSError as error:
        raise path_error(error) from error
    return found


def entries_in(directory: int, budget: Budget) -> list[Named]:
    """The names that `groups_in` reads, each with its kind."""
    groups = zip(GROUPS, groups_in(directory, budget), strict=True)
    return [(name, kind) for kind, names in groups for name in names]


Facts = tuple[int, int, int]  # of `facts_of`: a status takes thirty times as much room
MODE, SIZE, MODIFIED_NS = range(3)
facts_of = attrgetter("st_mode", "st_size", "st_mtime_ns")
lstat = HANDLES.lstat


def lstat_or_none(name: str, directory: int) -> os.stat_result | None:
    """The status of `name` in the open `directory`; None if the system refuses it."""
    with suppress(OSError):
        return lstat(name, directory)
    return None


def facts(names: Sequence[str], directory: int, budget: Budget) -> Iterator[Facts | None]:
    """Yield the facts of each of `names`; None if the system refuses them or the time is up."""
    late = False
    for number, name in enumerate(names):
        late = late or (not number % budget.STRIDE and budget.expired())
        try:
            yield None if late else facts_of(lstat(name, directory))
        except OSError:
            yield None


def kinds_of(entries: Sequence[Facts | None]) -> list[Kind]:
    """The kind in the facts of each entry; UNKNOWN for None."""
    return [_KINDS.get(stat.S_IFMT(one[MODE]) if one else 0, Kind.UNKNOWN) for one in entries]


def link_target(name: str, directory: int) -> str | None:
    """The target of the link `name` in the open `directory`; None if it is no link any more."""
    with suppress(OSError):
        return HANDLES.readlink(name, directory)
    return None


RACY_NS, COARSE_NS = 20_000_000, 2_100_000_000
"""Nanoseconds in which a second change could leave the same times: more than a step of the kernel's
clock, and of a file system that keeps whole seconds, or every other one as FAT does."""

# The times and the identity of a file: with an equal one nothing has changed, as far as dated.
Stamp = tuple[int, int, int, int, int]
_DATED = ("st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_size")
stamp_of: Callable[[os.stat_result], Stamp] = attrgetter(*_DATED)


def stamp_at(path: str, directory: int = -1) -> Stamp | None:
    """The stamp of `path`, links followed, below the open `directory` if relative; None if gone."""
    with suppress(OSError):
        return stamp_of(HANDLES.stat(path, directory))
    return None


def is_young(stamp: Stamp, now: int) -> bool:
    """Return True if the file changed so shortly before `now` that another change may not show."""
    modified, changed = stamp[0], stamp[1]
    is_coarse = not (modified % 1_000_000_000 and changed % 1_000_000_000)
    return max(modified, changed) >= now - (COARSE_NS if is_coarse else RACY_NS)


def are_settled(stamps: Iterable[Stamp | None], now: int) -> bool:
    """Return True if a change after `now` shows in each of the `stamps`."""
    return not any(stamp and is_young(stamp, now) for stamp in stamps)


def in_order(path: str) -> bytes:
    """The key of a path in the order of answers, by UTF-16 code units."""
    return path.encode("utf-16-be", "surrogatepass")


def up_to(last: str) -> Callable[[str], bool]:
    """Return a test whether a path is `last` or stands before it, in the order of answers."""
    if last.isascii():  # then code points have the same order
        return last.__ge__
    end = in_order(last)
    return lambda path: in_order(path) <= end
