"""Which of the files with the words of a query in their paths are the best.

How good a match is goes by how well each word is found, by the gaps in it, and by the length of the
path. What can surely not be among the best is not looked at any closer.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import compress, count
from operator import add, not_
from typing import Self

from backstaff.matching.index import Matches
from backstaff.matching.words import Word, gapped

INSIDE, ABOVE, GAPS = 2, 4, 5
"""How badly a word is found: within the file's name, in a directory only, or with gaps in it."""
PAIR = 2
"""Characters of a word that has one gap if it has any."""

Place = tuple[int, str]
"""The number of a folder, and a name in it."""
Rank = tuple[int, int]
"""How badly words were found, and their gaps."""
Ranked = tuple[int, int, int, int, int, str]
"""The rank of a file, the length of its path, its folder, its place there, and its name."""


def best(words: Sequence[Word], matches: Matches, most: int) -> list[Place]:
    """The MOST best of the MATCHES, which have all WORDS; the best first."""
    if len(words) == 1:
        stages = _of_one(words[0], matches, most)
    else:
        stages = _of_many([word.text for word in words], matches)
    first: list[Ranked] = []
    for found, least in stages:
        if len(found) >= min(most, len(matches)):
            first = nsmallest(most, found)
            if len(found) == len(matches) or first[-1] < least:
                break
    return [(folder, name) for *_, folder, _, name in first]


def _of_one(word: Word, matches: Matches, most: int) -> Iterator[tuple[list[Ranked], Rank]]:
    """More and more of the MATCHES of a WORD, and the least rank that all others have.

    Of those of one rank, the MOST best.
    """
    one, prefixes = word.text, matches.folders.prefixes
    if len(one) == 1:  # it is likely that enough names start with it
        yield _started(one, _Files(prefixes, *matches.folders.starting(one)), most), (INSIDE, 0)
    is_near = gapped(one)
    inside = _Files(prefixes, *matches.named(word.in_name(), is_near))
    named, near = inside.parted([one in name for name in inside.names])
    first, later = named.parted([name.startswith(one) for name in named.names])
    found = _started(one, first, most)
    yield found, (INSIDE, 0)
    after, within = later.parted(map(_at_a_start(one), later.names))
    found += after.shortest((INSIDE, 0), most) + within.shortest((INSIDE + 1, 0), most)
    yield found, (ABOVE, 0)
    if "/" in one or one in "\0".join(prefixes):
        near, _ = near.parted([one not in path for path in near.paths()])
        above, _ = _Files.of(matches).parted_by_path(lambda a, name: one in a and one not in name)
        found += above.shortest((ABOVE, 0), most)
    yield found, (GAPS, 0)
    gaps = _gaps(one)
    if len(one) == PAIR:
        found += near.shortest((GAPS, 1), most)
    else:
        found += near.ranked((GAPS, gaps(name)) for name in near.names)
    yield found, (GAPS + 1, 0)
    far, _ = _Files.of(matches).parted_by_path(lambda a, name: one not in a and not is_near(name))
    found += far.ranked((GAPS + 1, gaps(path)) for path in far.paths())
    yield found, (GAPS + 2, 0)


def _started(one: str, first: "_Files", most: int) -> list[Ranked]:
    """The MOST best of those with names that start with ONE."""
    whole, others = first.parted(map(_is_all(one), first.names))
    return whole.shortest((0, 0), most) + others.shortest((1, 0), most)


def _of_many(words: Sequence[str], matches: Matches) -> Iterator[tuple[list[Ranked], Rank]]:
    """The same for several words, of which each counts."""
    rank, files = _ranker(words), _Files.of(matches)
    named = files.parted([all(one in name for one in words) for name in files.names])[0]
    yield named.ranked(map(rank, named.paths())), (ABOVE, 0)
    whole = files.parted([all(one in path for one in words) for path in files.paths()])[0]
    yield whole.ranked(map(rank, whole.paths())), (GAPS, 0)
    yield files.ranked(map(rank, files.paths())), (GAPS + 1, 0)


class _Files:
    """Files of folders with PREFIXES, each given by the number of its folder and its name."""

    def __init__(self, prefixes: Sequence[str], folders: list[int], names: list[str]) -> None:
        self._prefixes, self._folders, self.names = prefixes, folders, names

    @classmethod
    def of(cls, matches: Matches) -> Self:
        """The MATCHES."""
        return cls(matches.folders.prefixes, *matches.files())

    def parted(self, flags: Iterable[object]) -> tuple["_Files", "_Files"]:
        """Those with a true one of the FLAGS, and the others."""
        some = list(map(bool, flags))
        if not any(some):
            return self._those(()), self
        if all(some):
            return self, self._those(())
        return self._those(some), self._those(list(map(not_, some)))

    def parted_by_path(self, holds: Callable[[str, str], object]) -> tuple["_Files", "_Files"]:
        """Those such that it HOLDS of their path and their name, and the others."""
        return self.parted(map(holds, self.paths(), self.names))

    def _those(self, flags: Sequence[bool]) -> "_Files":
        folders, names = compress(self._folders, flags), compress(self.names, flags)
        return _Files(self._prefixes, list(folders), list(names))

    def paths(self) -> Iterator[str]:
        """Yield the path of each, as it was searched."""
        prefixes = self._prefixes
        return (prefixes[at] + name for at, name in zip(self._folders, self.names, strict=True))

    def shortest(self, rank: Rank, most: int) -> list[Ranked]:
        """The MOST best, where all have the same RANK."""
        folders, names = self._folders, self.names
        above = map(len, map(self._prefixes.__getitem__, folders))
        first = nsmallest(most, zip(map(add, above, map(len, names)), folders, count()))
        return [(*rank, size, folder, at, names[at]) for size, folder, at in first]

    def ranked(self, ranks: Iterable[Rank]) -> list[Ranked]:
        """Each with its one of RANKS."""
        prefixes = self._prefixes
        files = zip(ranks, count(), self._folders, self.names)
        return [
            (way, gaps, len(prefixes[folder]) + len(name), folder, at, name)
            for (way, gaps), at, folder, name in files
        ]


def _ranker(words: Sequence[str]) -> Callable[[str], Rank]:
    """Tells how badly the words are found in a path, and their gaps."""
    searches = [(one, gapped(one), _gaps(one), _at_a_start(one)) for one in words]

    def rank(path: str) -> Rank:
        name = path[path.rfind("/") + 1 :]
        way = gaps = 0
        for one, search, runs, starts in searches:
            if one in path:
                way += _way(one, name, starts)
            elif search(name):
                way += GAPS
                gaps += runs(name)
            else:
                way += GAPS + 1
                gaps += runs(path)
        return way, gaps

    return rank


def _gaps(one: str) -> Callable[[str], int]:
    """Tells how many gaps there are between the characters of ONE in a text that has them."""
    search, most = gapped(one, grouped=True), len(one) - 1

    def gaps(text: str) -> int:
        found = search(text)
        return most - found.groups().count("") if found else most

    return gaps


def _way(one: str, name: str, starts: Callable[[str], object]) -> int:
    """How well the word ONE, which is in the path, is found in its NAME; 0 is best.

    STARTS tells whether it is anywhere the start of a word.
    """
    at = name.find(one)
    if at < 0:
        return ABOVE
    if at == 0:
        return 0 if one in {name, name.rpartition(".")[0]} else 1
    return INSIDE if starts(name) else INSIDE + 1


def _is_all(one: str) -> Callable[[str], object]:
    """Tells of a name whether ONE is the whole of it, with or without its extension."""
    return re.compile(rf"{re.escape(one)}(?:\.[^.]*)?").fullmatch


def _at_a_start(one: str) -> "Callable[[str], re.Match[str] | None]":
    """Finds ONE after what is neither letter nor digit."""
    return re.compile(rf"[\W_]{re.escape(one)}").search
