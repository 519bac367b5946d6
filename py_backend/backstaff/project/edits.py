"""Edits: which files people worked on recently, by git's history.

A commit of many files, such as an import, does not count, because it does not show where people
work. Other files that do not count are those of the only commit, and generated ones.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import Unanswered
from backstaff.file_kinds import is_generated
from backstaff.fs.root import Place
from backstaff.project.git import Repository
from backstaff.project.running_git import QUIET

COMMITS, BULK = 1000, 100  # commits to read, and files of a commit that counts, at most
# The mean reciprocal rank of a file by four words of a commit's subject was .30 with 1,000 commits
# and .29 with 300. With 1,000 it was .27 for 100 files a commit, and .25 for 10.
_TOUCHED = ("log", "-z", "--name-only", "--no-renames", "--format=tformat:%x00", f"-n{COMMITS}")


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits of files below a place by their paths; files that are gone are among them."""

    commits: Sequence[Sequence[str]] = ()  # the files that each commit touched, the latest first
    heat: Mapping[str, int] = field(default_factory=dict)  # how many of these touched a file
    unknown: str = ""  # why git tells nothing


_KEPT: LRUCache[tuple[str, str, bool], Edits] = LRUCache(8)  # a commit's history is fixed


def edits(place: Place, repository: Repository | str, budget: Budget) -> Edits:
    """The edits below `place` in the `COMMITS` latest commits; the last answers are kept."""
    if isinstance(repository, str):
        return Edits(unknown=repository)
    repository, told = replace(repository, budget=budget), b""
    try:
        key = (place.path, head := repository.latest_commit(), repository.is_shallow)
        if kept := _KEPT.get(key):
            return kept
        if head:
            told = repository.ask(*_TOUCHED, *QUIET, head, *repository.below())
    except Unanswered as error:
        return Edits(unknown=error.why)
    # Two NULs and a newline stand before the paths of a commit, and a NUL behind each.
    parts = budget.within(os.fsdecode(told).split("\0\0\n")[1:])
    listed = [part.rstrip("\0").split("\0") for part in parts]
    start, several = len(repository.inside), listed if len(listed) > 1 else []
    commits = [[f for path in one if not is_generated(f := path[start:])] for one in several]
    commits = [one for one in commits if 0 < len(one) <= BULK]
    found = Edits(commits, Counter(chain.from_iterable(commits)))
    _KEPT.put(key, found)
    return found
