"""The files below a directory, ready to be searched, and those of them that match."""

import re
from bisect import bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, chain, compress, repeat
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from backstaff.fs.budget import PIECE
from backstaff.matching.words import at_start

if TYPE_CHECKING:
    from backstaff.fs.budget import Budget
    from backstaff.fs.folders import Folder
    from backstaff.matching.query import Found, Query
    from backstaff.matching.words import Rest, Word

SHORT, LARGE = 24, 2048
"""Characters of a name on average, and of all in a folder, that are searched without care.

Whether one is long would take as long to know as the care takes that it saves.
"""
TOGETHER = 512
"""Folders that are searched at once, with `PIECE` characters: no other thread runs meanwhile."""
MANY = 2
"""Files found in a folder, on average, that are better found again as a whole."""
FOLDED = 256
"""Texts that are folded at once: so few that they stay in the processor's cache."""
MAX_INDEXED = 1_000_000
"""Paths in all kept indexes together."""

Files = tuple[Iterable[int], Sequence[str]]
"""The folder of each by its number, and its name."""


@dataclass(frozen=True, slots=True, eq=False)
class Folders:
    """The folders of an index that have files, by number.

    There is what stands before the names in each, and these in one text, with a NUL before each;
    how many they are; `long` ones are such that care is to be taken. A folder with more names than
    are searched at once has several numbers, one after the other, with a part of its names each.
    """

    prefixes: Sequence[str]
    names: Sequence[str]
    counts: Sequence[int]
    long: Sequence[bool]

    def holding(self, words: "Sequence[Word]", budget: "Budget") -> "Matches":
        """The files with all WORDS in their paths. Raises `DeadlineExceeded`."""
        alike: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        states = [word.states(budget.checked(self.prefixes)) for word in words]
        for number, key in enumerate(zip(self.long, *states, strict=True)):
            alike[key].append(number)
        groups: list[Group] = []
        for (long, *those), numbers in alike.items():
            rests = [word.rest(state) for word, state in zip(words, those, strict=True)]
            missing = [rest for rest in rests if rest is not None]
            parts = self._parts(numbers, budget, long=bool(long))
            groups += [part.having(missing) for part in parts]
        return Matches(self, groups)

    def _parts(self, numbers: Sequence[int], budget: "Budget", *, long: bool) -> "Iterator[Part]":
        """The folders of these NUMBERS, as many at once as can be searched at once."""
        names = [self.names[number] for number in numbers]
        for first, end in _batches(names, TOGETHER, budget):
            some = numbers[first:end]
            yield Part(some, names[first:end], [self.counts[number] for number in some], long)

    def named(self, text: str) -> Files:
        """The files with TEXT in their names."""
        folders: list[int] = []
        found: list[str] = []
        for number, names in enumerate(self.names):
            if text in names:
                inside = [name for name in names.split("\0") if text in name]
                folders += [number] * len(inside)
                found += inside
        return folders, found

    def starting(self, text: str, budget: "Budget") -> Files:
        """The files with names that start with TEXT. Raises `DeadlineExceeded`."""
        numbers = [number for number, names in enumerate(self.names) if f"\0{text}" in names]
        whole = at_start(text).whole
        return _joined(part.by_folder(whole) for part in self._parts(numbers, budget, long=True))

    def where(self, holds: Callable[[str], object], budget: "Budget") -> "Matches":
        """The files with a path such that it HOLDS. Raises `DeadlineExceeded`."""
        groups: list[Group] = []
        both = zip(self.prefixes, self.names, strict=True)
        for number, (prefix, names) in enumerate(both):
            each = budget.checked(names.split("\0")[1:])
            found = [f"\0{name}" for name in each if holds(prefix + name)]
            if found:
                part = Part([number], ["".join(found)], [len(found)], self.long[number])
                groups.append(All(part))
        return Matches(self, groups)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some folders by number: the names in each, how many, and whether care is to be taken."""

    numbers: Sequence[int]
    names: Sequence[str]
    counts: Sequence[int]
    long: bool

    def having(self, rests: "Sequence[Rest]") -> "Group":
        """Those with names such that all RESTS find them."""
        if not rests:
            return All(self)
        ends, whole = rests[0]
        if len(rests) == 1 and ends != whole and not self.long:
            return Ends(self, re.split(f"({ends})", "".join(self.names)), whole)
        found = self.names
        for rest in rests:
            found = re.findall(rest.whole, "".join(found))
        return Whole(self, found)

    def by_folder(self, whole: str) -> Files:
        """Those that an expression for WHOLE names finds."""
        found = list(map(re.compile(whole).findall, self.names))
        folders = chain.from_iterable(map(repeat, self.numbers, map(len, found)))
        return folders, _split(chain.from_iterable(found))

    def at(self, starts: Sequence[int]) -> Iterable[int]:
        """The folder of each of the names that were found where these START in all text."""
        ends = list(accumulate(map(len, self.names)))
        return map(self.numbers.__getitem__, map(partial(bisect_right, ends), starts))


class Group(Protocol):
    """Files in folders in which the same of a query is missing."""

    @property
    def part(self) -> Part:
        """The folders."""
        ...

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def files(self) -> Files:
        """What they are; those of a folder are in order."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class All:
    """All files in a PART."""

    part: Part

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(self.part.counts)

    def files(self) -> Files:
        """What they are."""
        folders = chain.from_iterable(map(repeat, self.part.numbers, self.part.counts))
        return folders, _split(self.part.names)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Some files in a PART: the ends of their names were found, and are every other of the TEXTS.

    The expression WHOLE finds the same names.
    """

    part: Part
    texts: Sequence[str]
    whole: str

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.texts) // 2

    def files(self) -> Files:
        """What they are."""
        if _is_dense(self):
            return self.part.by_folder(self.whole)
        both = zip(self.texts[::2], self.texts[1::2], strict=False)
        names = [before[before.rfind("\0") + 1 :] + end for before, end in both]
        return self.part.at(list(accumulate(map(len, self.texts)))[:-1:2]), names


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """Some files in a PART, of which the names were FOUND as a whole."""

    part: Part
    found: Sequence[str]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.found)

    def files(self) -> Files:
        """What they are."""
        searched, starts, end = "".join(self.part.names), list[int](), 0
        for one in self.found:
            # Where it stands first it was found, as no expression would have passed over that.
            starts.append(searched.find(one, end))
            end = starts[-1] + len(one)
        return self.part.at(starts), _split(self.found)


def _is_dense(group: Group) -> bool:
    """Whether there are so many files that it is better to look for them by folder."""
    return group.count > MANY * len(group.part.numbers)


def _split(names: Iterable[str]) -> list[str]:
    return "".join(names).split("\0")[1:]


class Matches:
    """Some files of FOLDERS, as they are searched."""

    def __init__(self, folders: Folders, groups: Sequence[Group]) -> None:
        """Those of all GROUPS."""
        self.folders, self._groups = folders, [group for group in groups if group.count]
        self._count = sum(group.count for group in groups)
        self._are_few = self._count < len(folders.names)

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    @cached_property
    def files(self) -> Files:
        """What they are."""
        return _joined(group.files() for group in self._groups)

    def with_name(self, text: str) -> Files:
        """Those with TEXT in their names."""
        if self._are_few:
            return _chosen(self.files, [text in name for name in self.files[1]])
        return self.folders.named(text)

    def with_gaps(self, rest: "Rest", holds: Callable[[str], object]) -> Files:
        """Those with names that the REST of a word finds, so that it HOLDS."""
        if self._are_few:
            return _chosen(self.files, [holds(name) for name in self.files[1]])
        return _joined(_named(group, rest, holds) for group in self._groups)


def _named(group: Group, rest: "Rest", holds: Callable[[str], object]) -> Files:
    if _is_dense(group) and not (isinstance(group, Ends) and group.whole == rest.whole):
        return group.part.having([rest]).files()
    files = group.files()
    return _chosen(files, list(map(holds, files[1])))


def _chosen(files: Files, flags: Sequence[object]) -> Files:
    folders, names = files
    return compress(folders, flags), list(compress(names, flags))


def _joined(files: Iterable[Files]) -> Files:
    folders: list[int] = []
    names: list[str] = []
    for those, inside in files:
        folders.extend(those)
        names.extend(inside)
    return folders, names


class Index:
    """The files below a directory, ready to be searched.

    They stand by code point, a directory's own before those further down. The `closed` folders are
    those that nobody looked into.
    """

    def __init__(self, start: "Folder") -> None:
        """Collect the files of START."""
        self.start = start
        self.closed: list[Folder] = []
        prefixes: list[str] = []
        names: list[str] = []
        counts: list[int] = []
        long: list[bool] = []
        for folder in start:
            if folder.count:
                is_long = len(folder.listed) > min(LARGE, SHORT * folder.count)
                for some in folder.pieces():
                    prefixes.append(f"{folder.path}/" if folder.path else "")
                    names.append(some)
                    counts.append(some.count("\0"))
                    long.append(is_long)
            elif folder.unreadable or folder.repository:
                self.closed.append(folder)
        self._plain = Folders(prefixes, names, counts, long)
        self._count = sum(counts)
        self._small: Folders | None = None
        self.latest: tuple[Query, Found] | None = None

    def __len__(self) -> int:
        """How many files there are."""
        return self._count

    @cached_property
    def paths(self) -> list[str]:
        """The paths of all."""
        both = zip(self._plain.prefixes, self._plain.names, strict=True)
        return [prefix + name for prefix, names in both for name in names.split("\0")[1:]]

    def folders(self, budget: "Budget", *, folded: bool) -> Folders:
        """The folders with files, as they are to be searched; without regard to case if FOLDED.

        Raises `DeadlineExceeded`.
        """
        plain = self._plain
        if folded and self._small is None:
            prefixes = _folded(plain.prefixes, "\0", budget)
            names = _folded(plain.names, "/", budget)
            self._small = Folders(prefixes, names, plain.counts, plain.long)
        return self._small if folded and self._small else plain

    def told(self, files: Iterable[tuple[int, str]], folders: Folders) -> list[str]:
        """The paths of the FILES, each given by the number of one of FOLDERS and its name.

        Names that are the same there are told in order.
        """
        plain, ahead = self._plain, dict[int, dict[str, Iterator[str]]]()
        paths: list[str] = []
        for number, searched in files:
            name, names = searched, plain.names[number]
            if folders.names[number] is not names:
                if number not in ahead:
                    ahead[number] = _by_name(folders.names[number], names)
                name = next(ahead[number][searched])
            paths.append(plain.prefixes[number] + name)
        return paths


def _by_name(searched: str, names: str) -> dict[str, Iterator[str]]:
    """The NAMES by what they are as SEARCHED."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for one, name in zip(searched.split("\0"), names.split("\0"), strict=True):
        found[one].append(name)
    return {one: iter(some) for one, some in found.items()}


def _batches(texts: Sequence[str], most: int, budget: "Budget") -> Iterator[tuple[int, int]]:
    """The first and the end of each run of at most MOST of TEXTS that is short enough.

    Raises `DeadlineExceeded`.
    """
    first = size = 0
    for number, text in enumerate(texts):
        size += len(text)
        if number > first and (size > PIECE or number - first == most):
            budget.check()
            yield first, number
            first, size = number, len(text)
    budget.check()
    yield first, len(texts)


def _folded(texts: Sequence[str], between: str, budget: "Budget") -> list[str]:
    """TEXTS without regard to case: many at once, with something BETWEEN that is in none.

    Raises `DeadlineExceeded`.
    """
    small: list[str] = []
    for first, end in _batches(texts, FOLDED, budget):
        some = texts[first:end]
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
                self._kept.move_to_end(key)
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
