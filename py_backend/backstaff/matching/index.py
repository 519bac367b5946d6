"""The files below a directory, ready to be searched, and those of them that match."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, compress
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backstaff.fs.folders import Folder
    from backstaff.matching.query import Query
    from backstaff.matching.words import Word

SHORT, LARGE = 24, 4096
"""Characters of names: of a short one, and of all in a directory that is searched without care."""
FOLDED = 256
"""Texts that are folded at once: so few that they stay in the processor's cache."""
MAX_INDEXED = 1_000_000
"""Paths in all kept indexes together."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Some files of an index: their places, and their paths as they were searched; of a glob none.

    They stand in order.
    """

    numbers: Sequence[int]
    texts: Sequence[str] = ()

    def __len__(self) -> int:
        """How many there are."""
        return len(self.numbers)

    def where(self, holds: Callable[[str], object]) -> "Matches":
        """Those whose paths are such that it HOLDS."""
        flags = list(map(holds, self.texts))
        return Matches(list(compress(self.numbers, flags)), list(compress(self.texts, flags)))


class Index:
    """The files below a directory, ready to be searched: each is known by its place.

    They stand by code point, a directory's own before those further down. The `closed` folders are
    those that nobody looked into.

    What of a word stands in the path of a directory is the same for all files in it, and is looked
    for once; the rest of it is looked for in all their names at once.
    """

    def __init__(self, start: "Folder") -> None:
        """Collect the files of START."""
        self.start = start
        self.closed: list[Folder] = []
        prefixes: list[str] = []
        names: list[str] = []
        counts: list[int] = []
        self._long: list[bool] = []
        for folder in start:
            if folder.count:
                prefixes.append(f"{folder.path}/" if folder.path else "")
                names.append(folder.listed)
                counts.append(folder.count)
                self._long.append(len(folder.listed) > min(LARGE, SHORT * folder.count))
            elif folder.unreadable or folder.repository:
                self.closed.append(folder)
        self._firsts = [0, *accumulate(counts)]
        self._plain = prefixes, names
        self.latest: tuple[Query, Matches] | None = None
        self.ranked: tuple[Query, list[int]] | None = None

    def __len__(self) -> int:
        """How many files there are."""
        return self._firsts[-1]

    def path(self, number: int) -> str:
        """The path of the file at the place NUMBER, from the start."""
        at = bisect_right(self._firsts, number) - 1
        prefixes, names = self._plain
        return prefixes[at] + names[at].split("\0")[number - self._firsts[at]]

    @cached_property
    def paths(self) -> list[str]:
        """The paths of all."""
        return _paths(*self._plain)

    def everything(self, *, folded: bool) -> Matches:
        """All files, as if they had been searched for."""
        return Matches(range(len(self)), _paths(*self._small) if folded else self.paths)

    @cached_property
    def _small(self) -> tuple[list[str], list[str]]:
        """What stands before the names of each folder, and these, without regard to case."""
        prefixes, names = self._plain
        return _folded(prefixes, "\0"), _folded(names, "/")

    def holding(self, word: "Word", *, folded: bool) -> Matches:
        """The files with WORD in their paths; without regard to case if FOLDED."""
        numbers: list[int] = []
        texts: list[str] = []
        after = word.after
        by_folder = self._small if folded else self._plain
        for prefix, names, first, long in zip(*by_folder, self._firsts, self._long, strict=False):
            search = after(prefix, long)
            if search is None:
                inside = names.split("\0")
                numbers += range(first, first + len(inside))
                texts += [prefix + name for name in inside]
                continue
            number, at, match = first, 0, search(names)
            while match is not None:
                start, end = match.span()
                if match.lastindex:
                    number += names.count("\0", at, start)
                    numbers.append(number)
                    texts.append(prefix + names[names.rfind("\0", 0, start) + 1 : end])
                    at = start
                match = search(names, end)
        return Matches(numbers, texts)


def _paths(prefixes: Sequence[str], names: Sequence[str]) -> list[str]:
    by_folder = zip(prefixes, names, strict=True)
    return [prefix + name for prefix, listed in by_folder for name in listed.split("\0")]


def _folded(texts: Sequence[str], between: str) -> list[str]:
    """TEXTS without regard to case: many at once, with something BETWEEN that is in none."""
    small: list[str] = []
    for first in range(0, len(texts), FOLDED):
        some = texts[first : first + FOLDED]
        joined = between.join(some)
        folded = joined.casefold()
        small += some if folded == joined else folded.split(between)
    return small


@dataclass(slots=True)
class Indexes:
    """The indexes of surveys that were searched, the latest last."""

    _kept: OrderedDict[tuple[str, bool], Index] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, key: tuple[str, bool], start: "Folder") -> Index:
        """The index of START, the kept one if that is the very same survey."""
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept.start is start:
            return kept
        made = Index(start)
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while sum(map(len, self._kept.values())) > MAX_INDEXED:
                self._kept.popitem(last=False)
        return made

    def forget(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()
