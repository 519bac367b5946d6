"""Which of the files below a directory match a query, and which of these are the best."""

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import nsmallest
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING

from backstaff.errors import ErrorCode, ToolError
from backstaff.fs.globs import BadGlob, Globs, compile_globs

if TYPE_CHECKING:
    from backstaff.fs.folders import Folder

MAX_QUERY_CHARACTERS = 1024
MAX_WORDS = 16
RANKED = 300
"""How many matches are ranked at least."""
SAMPLE = 256
"""How many paths tell which characters are rare."""
MAX_INDEXED = 1_000_000
"""Paths in all kept indexes together."""

RAREST = 3
"""How many characters a path must hold before it is looked at closely."""
INSIDE, ABOVE, GAPS = 2, 4, 5
"""How badly a word is found: within the file's name, in a directory only, or with gaps in it."""


class SearchKind(StrEnum):
    """How a query is meant."""

    FUZZY = "fuzzy"
    SUBSTRING = "substring"
    GLOB = "glob"


class Index:
    """The files below a directory, ready to be searched: each is known by its place.

    They stand by code point, a directory's own before those further down.
    """

    def __init__(self, start: "Folder") -> None:
        """Collect the files of START."""
        self.start = start
        self._folders = [folder for folder in start if folder.names]
        self._ends = list(accumulate(len(folder.names) for folder in self._folders))
        self._texts: dict[bool, list[str]] = {}
        self.latest: tuple[Query, list[int]] | None = None
        self.ranked: tuple[Query, list[int]] | None = None

    def __len__(self) -> int:
        """How many files there are."""
        return self._ends[-1] if self._ends else 0

    def path(self, number: int) -> str:
        """The path of the file at the place NUMBER, from the start."""
        at = bisect_right(self._ends, number)
        return _prefix(self._folders[at]) + self._folders[at].names[number - self._ends[at]]

    def texts(self, *, folded: bool) -> list[str]:
        """The paths of all, or without regard to case if FOLDED; made when first asked for."""
        if folded not in self._texts:
            joined = _joined(self._folders)
            small = joined.casefold() if folded else joined
            if folded and small == joined:  # one list is enough
                self._texts = dict.fromkeys((True, False), self._texts.get(False) or _apart(joined))
            else:
                self._texts[folded] = _apart(small)
        return self._texts[folded]


def _prefix(folder: "Folder") -> str:
    return f"{folder.path}/" if folder.path else ""


def _joined(folders: "Sequence[Folder]") -> str:
    """The paths of all files, with a NUL between, as that is in no name: joined at once."""
    named = ((_prefix(folder), folder.names) for folder in folders)
    return "\0".join([prefix + f"\0{prefix}".join(names) for prefix, names in named])


def _apart(joined: str) -> list[str]:
    return joined.split("\0") if joined else []


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


class Query:
    """A query, taken apart. Raises INVALID_ARGUMENT."""

    def __init__(self, text: str, kind: str) -> None:
        """Read TEXT as KIND says."""
        if not text.strip():
            raise _invalid("is empty")
        if len(text) > MAX_QUERY_CHARACTERS:
            raise _invalid(f"is longer than {MAX_QUERY_CHARACTERS} characters")
        self.text, self.kind = text, SearchKind(kind)
        self.globs = globs(text) if self.kind is SearchKind.GLOB else None
        self.folded = text == text.lower() and self.globs is None
        self.words = (text.casefold() if self.folded else text).split()[:MAX_WORDS]

    def matches(self, index: Index) -> list[int]:
        """Which paths of INDEX match, by their places, in order.

        What was searched for last is known; so what goes on from there starts from there.
        """
        latest = index.latest
        if latest is not None and latest[0].text == self.text and latest[0].kind is self.kind:
            return latest[1]
        if self.globs is not None:
            found = self.globs.files(index.texts(folded=False))
        else:
            texts = index.texts(folded=self.folded)
            goes_on = latest is not None and self._goes_on(latest[0])
            among: Sequence[int] = latest[1] if latest and goes_on else range(len(texts))
            if self.kind is SearchKind.FUZZY:
                among = _narrowed("".join(self.words), texts, among)
            for one in self.words:
                among = self._with(one, texts, among)
            found = list(among)
        index.latest = (self, found)
        return found

    def _goes_on(self, other: "Query") -> bool:
        """Whether all that matches this one matches the OTHER."""
        alike = self.kind is other.kind and self.folded is other.folded
        whole = len(self.words) == len(other.words) < MAX_WORDS
        return alike and whole and all(map(str.startswith, self.words, other.words))

    def _with(self, one: str, texts: Sequence[str], among: Sequence[int]) -> list[int]:
        if self.kind is SearchKind.SUBSTRING or len(one) == 1:
            return [number for number in among if one in texts[number]]
        found = _gapped(one).search
        return [number for number in among if found(texts[number])]

    def best(self, index: Index, matches: Sequence[int], most: int) -> list[int]:
        """The MOST best of the MATCHES in INDEX, the best first.

        More than are asked for are ranked, so that the next page need not do it again.
        """
        if self.globs is not None:
            return list(matches[:most])
        latest = index.ranked
        if latest is None or latest[0].text != self.text or latest[0].kind is not self.kind:
            latest = None
        if latest is None or len(latest[1]) < min(most, len(matches)):
            latest = index.ranked = self, self._ranked(index, matches, max(most, RANKED))
        return latest[1][:most]

    def _ranked(self, index: Index, matches: Sequence[int], most: int) -> list[int]:
        """The MOST best of MATCHES; what can surely not be among them is not ranked."""
        texts = index.texts(folded=self.folded)
        rank = _ranker(self.words)
        best: list[tuple[int, ...]] = []
        for among, least in self._stages(texts, matches):
            if len(among) >= most or least is None:
                best = nsmallest(most, ((*rank(texts[number]), number) for number in among))
                if least is None or best[-1][0] < least:
                    break
        return [number for *_, number in best]

    def _stages(
        self, texts: Sequence[str], matches: Sequence[int]
    ) -> Iterator[tuple[Sequence[int], int | None]]:
        """More and more of MATCHES, each with the least way that all the others have (`_way`)."""
        whole = matches
        for one in self.words:
            whole = [number for number in whole if one in texts[number]]
        named = whole
        for one in self.words:
            named = [n for n in named if texts[n].find(one, texts[n].rfind("/") + 1) >= 0]
        if len(self.words) == 1:
            only, *_ = self.words
            first = [n for n in named if texts[n].startswith(only, texts[n].rfind("/") + 1)]
            yield first, INSIDE
        yield named, ABOVE
        yield whole, GAPS
        if len(self.words) == 1:
            found = _gapped(only).search
            near = [n for n in matches if found(texts[n], texts[n].rfind("/") + 1)]
            yield sorted({*whole, *near}), GAPS + 1
        yield matches, None


def _narrowed(letters: str, texts: Sequence[str], among: Sequence[int]) -> Sequence[int]:
    """Those AMONG which hold the rarest characters of LETTERS, so that few have to be tried."""
    some = [texts[number] for number in among[:: len(among) // SAMPLE + 1]]
    common = {
        character: sum(character in text for text in some) for character in sorted(set(letters))
    }
    for character in sorted(common, key=common.__getitem__)[:RAREST]:
        among = [number for number in among if character in texts[number]]
    return among


Rank = tuple[int, int, int]


def _ranker(words: Sequence[str]) -> Callable[[str], Rank]:
    """Tells how bad a match a path is: how its words were found, their gaps, and its length."""
    gapped = [(one, _gapped(one, grouped=True).search) for one in words]

    def rank(path: str) -> Rank:
        start = path.rfind("/") + 1
        way = gaps = 0
        for one, search in gapped:
            if one in path:
                way += _way(one, path[start:])
                continue
            found = search(path, start)
            way += GAPS + (found is None)
            found = found or search(path)
            gaps += sum(map(bool, found.groups())) if found else len(one)
        return way, gaps, len(path)

    return rank


def _way(one: str, name: str) -> int:
    """How well the word ONE, which is in the path, is found in its NAME; 0 is best."""
    at = name.find(one)
    if at < 0:
        return ABOVE
    if at == 0:
        return 0 if len(one) == len(name) or name[: name.rfind(".")] == one else 1
    while at > 0:
        if not name[at - 1].isalnum():
            return INSIDE
        at = name.find(one, at + 1)
    return INSIDE + 1


def _gapped(one: str, *, grouped: bool = False) -> "re.Pattern[str]":
    """Finds the characters of ONE with gaps between, GROUPED or not. Nothing is tried twice."""
    gap = "([^{0}]*+){0}" if grouped else "[^{0}]*+{0}"
    return re.compile(re.escape(one[0]) + "".join(gap.format(re.escape(c)) for c in one[1:]))


def globs(text: str) -> Globs:
    """The glob that TEXT is. Raises INVALID_ARGUMENT."""
    try:
        return compile_globs((text.removeprefix("./"),))
    except BadGlob as error:
        raise _invalid(f"is no glob: {error}") from error


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
