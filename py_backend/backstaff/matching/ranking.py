"""Which of the files with the words of a query in their paths are the best.

How good a match is goes by how well each word is found, by the gaps in it, and by the length of the
path. What can surely not be among the best is not looked at any closer.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import compress, repeat
from operator import add, not_
from typing import Self

from backstaff.fs.budget import Budget
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


def best(words: Sequence[Word], matches: Matches, most: int, budget: Budget) -> list[Place]:
    """The MOST best of the MATCHES, which have all WORDS; the best first.

    Raises `DeadlineExceeded`.
    """
    if len(words) == 1:
        stages = _of_one(words[0], matches, most, budget)
    else:
        stages = _of_many(words, matches, most, budget)
    found: list[Ranked] = []
    first: list[Ranked] = []
    for more, least in stages:
        budget.check()
        found += more
        if len(found) >= min(most, len(matches)):
            first = nsmallest(most, found)
            if len(found) == len(matches) or first[-1] < least:
                break
    return [(folder, name) for *_, folder, _, name in first]


Stages = Iterator[tuple[list[Ranked], Rank]]
"""More and more matches, and the least rank that all later ones have.

Of those of one kind there are the best only, as many as are wanted.
"""


def _of_one(word: Word, matches: Matches, most: int, budget: Budget) -> Stages:
    """The MATCHES of a WORD."""
    one, prefixes = word.text, matches.folders.prefixes
    is_short = len(one) == 1  # it is likely that enough names start with it
    if is_short:
        first = _Files(prefixes, *matches.folders.starting(one, budget))
        yield _started(one, first, most), (INSIDE, 0)
    named = _Files(prefixes, *matches.with_name(one))
    first, later = named.parted([name.startswith(one) for name in named.names])
    if not is_short:
        yield _started(one, first, most), (INSIDE, 0)
    is_at_a_start = _at_a_start(one)
    after, within = later.parted([is_at_a_start(name) for name in budget.checked(later.names)])
    yield after.all_of((INSIDE, 0), most) + within.all_of((INSIDE + 1, 0), most), (ABOVE, 0)
    in_folders = "/" in one or any(one in prefix for prefix in prefixes)
    if in_folders:
        above = _Files.of(matches)
        above = above.those([one not in name for name in above.names])
        above = above.those([one in path for path in above.paths()])
        yield above.all_of((ABOVE, 0), most), (GAPS, 0)
    without = one if in_folders or named.names else None
    yield from _of_gaps(word, matches, most, budget, without=without)


def _started(one: str, first: "_Files", most: int) -> list[Ranked]:
    """The MOST best of those with names that start with ONE."""
    is_all = _is_all(one)
    whole, others = first.parted([is_all(name) for name in first.names])
    return whole.all_of((0, 0), most) + others.all_of((1, 0), most)


def _of_gaps(
    word: Word, matches: Matches, most: int, budget: Budget, *, without: str | None
) -> Stages:
    """Those of them that have not the WORD as it is; it may be in some if it is to be WITHOUT."""
    gaps, is_near = _gaps(word.text), gapped(word.text)
    near = _Files(matches.folders.prefixes, *matches.with_gaps(word.in_name(), is_near))
    if without:
        near = near.those([without not in path for path in near.paths()])
    in_near = ((GAPS, gaps(name)) for name in budget.checked(near.names))
    yield near.best(in_near, most), (GAPS + 1, 0)
    far = _Files.of(matches)
    if without:
        far = far.those([without not in path for path in far.paths()])
    if near.names:
        far = far.those([not is_near(name) for name in budget.checked(far.names)])
    in_far = ((GAPS + 1, gaps(path)) for path in budget.checked(far.paths()))
    yield far.best(in_far, most), (GAPS + 2, 0)


def _of_many(words: Sequence[Word], matches: Matches, most: int, budget: Budget) -> Stages:
    """The MATCHES of several WORDS, of which each counts."""
    texts = [word.text for word in words]
    rank, files = _ranker(texts), _Files.of(matches)
    named, others = files.parted(_all_in(texts, files.names))
    starts = [sum(map(name.startswith, texts)) for name in named.names]
    for many in sorted({*starts}, reverse=True):
        some = named.those(map(many.__eq__, starts))
        least = min(ABOVE, INSIDE * (len(texts) - many + 1))
        yield some.best(map(rank, budget.checked(some.paths())), most), (least, 0)
    whole, others = others.parted(_all_in(texts, list(others.paths())))
    yield whole.best(map(rank, budget.checked(whole.paths())), most), (GAPS, 0)
    yield others.best(map(rank, budget.checked(others.paths())), most), (GAPS + 1, 0)


def _all_in(words: Sequence[str], texts: Sequence[str]) -> Iterable[bool]:
    """Whether all WORDS are in each of TEXTS."""
    flags = [True] * len(texts)
    for one in words:  # a loop, and no `map` of `map`s, as no other thread runs in those
        flags = [flag and one in text for flag, text in zip(flags, texts, strict=True)]
    return flags


class _Files:
    """Files of folders with PREFIXES, each given by the number of its folder and its name.

    Their PLACES tell which of a folder's comes first.
    """

    def __init__(
        self,
        prefixes: Sequence[str],
        folders: Iterable[int],
        names: Sequence[str],
        places: Iterable[int] | None = None,
    ) -> None:
        self._prefixes, self._folders, self.names = prefixes, list(folders), names
        self._places = range(len(names)) if places is None else list(places)

    @classmethod
    def of(cls, matches: Matches) -> Self:
        """The MATCHES."""
        return cls(matches.folders.prefixes, *matches.files)

    def those(self, flags: Iterable[object]) -> "_Files":
        """Those with a true one of the FLAGS."""
        some = list(flags)
        folders, names = compress(self._folders, some), compress(self.names, some)
        return _Files(self._prefixes, folders, list(names), compress(self._places, some))

    def parted(self, flags: Iterable[object]) -> tuple["_Files", "_Files"]:
        """The same, and the others."""
        some = list(flags)
        return self.those(some), self.those(map(not_, some))

    def paths(self) -> Iterator[str]:
        """Yield the path of each, as it was searched."""
        return map(add, map(self._prefixes.__getitem__, self._folders), self.names)

    def all_of(self, rank: Rank, most: int) -> list[Ranked]:
        """The MOST best, where all have the same RANK."""
        return self.best(repeat(rank), most)

    def best(self, ranks: Iterable[Rank], most: int) -> list[Ranked]:
        """The MOST best, each with its one of RANKS."""
        above = map(len, map(self._prefixes.__getitem__, self._folders))
        sizes = map(add, above, map(len, self.names))
        each = zip(ranks, sizes, self._folders, self._places, self.names, strict=False)
        return [(*rank, *others) for rank, *others in nsmallest(most, each)]


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
    """Tells how many gaps there are between the characters of ONE in a text that has them so."""
    if len(one) <= PAIR:
        return lambda _: 1
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
