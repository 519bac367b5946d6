"""Symbolic links in a directory that another program reads, and the places that they lead to."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.fs.entry import Stamp, are_settled, stamp_at

# The links and directories in a directory, with its stamp: to compare that of each of the 256 of
# git's objects takes .6 ms, and to list them 4.
_KEPT: LRUCache[str, tuple[Stamp | None, Sequence[str], Sequence[str]]] = LRUCache(1 << 14)


def real_path(path: str) -> str:
    """The real path; if nothing is there, `path`. The system itself follows 40 links at most."""
    return os.path.realpath(path) if os.path.exists(path) else path


def links_below(at: str, budget: Budget) -> Iterator[str]:
    """Yield the paths of all links below the directory `at`. Raises `DeadlineExceeded`."""
    for folder in budget.checked(folders := [at], 16):
        begun, stamp = time.time_ns(), stamp_at(folder)
        last, links, inner = _KEPT.get(folder) or (None, [], [])
        if stamp != last:
            with suppress(OSError), os.scandir(folder) as entries:
                named = [(one.path, one.is_symlink(), one.is_dir()) for one in entries]
                links = [path for path, is_link, _ in named if is_link]
                inner = [path for path, is_link, is_folder in named if is_folder and not is_link]
                if are_settled([stamp], begun):
                    _KEPT.put(folder, (stamp, links, inner))
        yield from links
        folders += inner
