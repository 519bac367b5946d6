"""Queries: which paths match.

A query is a glob, or words. A word matches as a substring, or fuzzily: `parnod` matches
`parse_node.py`, because its characters appear there in order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import compress
from types import MappingProxyType
from typing import Self

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded, ErrorCode, ToolError
from backstaff.globs.globs import BadGlob, Globs, compile_globs
from backstaff.names.guesses import MOST, Guesses
from backstaff.names.ranking import (
    CLOSE,
    MatchKind,
    Ranked,
    Ranking,
    is_whole_name,
    name_of,
    subsequence,
)

MAX_QUERY_CHARACTERS = 1024
MAX_WORDS = 16
MIN_RANKED = 300
"""Minimum number of matches to rank at once, so that the next pages need no ranking."""
GUESS_SECONDS = 1.0
"""Maximum number of seconds for all guesses."""
FEW = 5
"""Minimum number of close matches that make guesses needless."""
Heat = Mapping[str, float]
"""The weight of recent edits, by path."""
NO_HEAT: Heat = MappingProxyType({})
AT_ONCE = 1024
"""Number of paths between two looks at the clock: matching these takes under a millisecond."""


class SearchKind(StrEnum):
    """How to read a query."""

    FUZZY = "fuzzy"
    SUBSTRING = "substring"
    GLOB = "glob"


@dataclass(frozen=True)
class Index:
    """The paths to search, in the order that breaks ties."""

    paths: Sequence[str]

    @cached_property
    def folded(self) -> Sequence[str]:
        """The same paths with their case folded."""
        return list(map(str.casefold, self.paths))

    def best(
        self, query: "Query", positions: Sequence[int], heat: Heat, count: int, budget: Budget
    ) -> list[Ranked]:
        """Return the `count` best of the matching `positions`. Raises `DeadlineExceeded`."""
        originals = [self.paths[position] for position in positions]
        compared = list(map(str.casefold, originals)) if query.ignore_case else originals
        ranking = Ranking(query.words, compared, originals, heat)
        found = ranking.best(count, budget)
        return [(how, positions[number]) for how, number in found]


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    `words` are distinct, and case-folded where `ignore_case` holds. `globs` replaces them for a
    glob.
    """

    text: str
    kind: SearchKind
    words: Sequence[str] = field(compare=False)
    ignore_case: bool = field(compare=False)
    globs: Globs | None = field(compare=False)

    @classmethod
    def parse(cls, text: str, kind: str) -> Self:
        """Parse `text`. Raises INVALID_ARGUMENT."""
        if not text.strip():
            raise _invalid("is empty")
        if len(text) > MAX_QUERY_CHARACTERS:
            raise _invalid(f"is longer than {MAX_QUERY_CHARACTERS} characters")
        if "\0" in text:
            raise _invalid("holds a NUL character, which is in no path")
        if kind == SearchKind.GLOB:
            return cls(text, SearchKind.GLOB, (), ignore_case=False, globs=parse_glob(text))
        ignore_case = text == text.lower()
        words = tuple(dict.fromkeys((text.casefold() if ignore_case else text).split()))
        if len(words) > MAX_WORDS:
            raise _invalid(f"has {len(words)} words, more than {MAX_WORDS}")
        return cls(text, SearchKind(kind), words, ignore_case, None)

    def match(self, index: Index, budget: Budget) -> "Matches":
        """Find the paths of `index` that match. Raises `DeadlineExceeded`."""
        if self.globs is not None:
            return Matches(index, self, self.globs.files(index.paths, budget))
        paths, positions = index.folded if self.ignore_case else index.paths, list[int]()
        whole, is_begun = list[int](), False
        # The longest word first: it leaves the fewest paths for the others.
        in_order = sorted(self.words, key=len, reverse=True)
        tests = list(map(self._test, in_order))
        found: Sequence[int]
        for start in budget.checked(range(0, len(paths), AT_ONCE), 1):
            left = paths[start : start + AT_ONCE]
            found = range(start, start + len(left))
            for test in tests:
                holds = list(map(test, left))
                found, left = list(compress(found, holds)), list(compress(left, holds))
            positions += found
            if self.kind is SearchKind.FUZZY:
                for word in in_order:
                    holds = [word in path for path in left]
                    found, left = list(compress(found, holds)), list(compress(left, holds))
                whole += found
                is_begun = is_begun or any(map(self._begins, left))
        # Beside a name that begins so, scattered letters are an accident.
        positions = whole if is_begun else positions
        return Matches(index, self, positions)

    def _begins(self, path: str) -> bool:
        """Return whether the name of `path` holds all words, and begins with one of them."""
        name = name_of(path)
        return name.startswith(tuple(self.words)) and all(word in name for word in self.words)

    def _test(self, word: str) -> Callable[[str], object]:
        """Return a function that says whether `word` matches a path."""
        if self.kind is SearchKind.SUBSTRING:
            return lambda path: word in path
        return subsequence(word).match


@dataclass(slots=True)
class Matches:
    """The positions of the paths that match a query, and the guesses beside them.

    `guesses_cut` says that the time for guesses was up; then the next `best` guesses anew.
    """

    index: Index
    query: Query
    positions: Sequence[int]
    _ranked: Sequence[Ranked] = field(default=())
    _guesses: list[Ranked] | None = None
    guesses_cut: bool = False

    def __len__(self) -> int:
        """Count the matches."""
        return len(self.positions)

    def best(self, count: int, budget: Budget, heat: Heat = NO_HEAT) -> list[tuple[MatchKind, str]]:
        """Return the `count` best paths, the best first, and how each was found.

        `heat` breaks ties.
        All matches of a glob are equally good, so they keep the order of the index. Raises
        `DeadlineExceeded`.
        """
        paths = self.index.paths
        if self.query.globs is not None:
            return [(MatchKind.GLOB, paths[position]) for position in self.positions[:count]]
        ranked = self._ranked  # read once: another call may replace it meanwhile
        if len(ranked) < min(count, len(self.positions)):
            most = max(count, MIN_RANKED)
            ranked = self._ranked = self.index.best(self.query, self.positions, heat, most, budget)
        if self.query.kind is SearchKind.FUZZY:
            if self._guesses is None or self.guesses_cut:
                guesses: list[Ranked] = []
                self._guesses, self.guesses_cut = guesses, True
                with suppress(DeadlineExceeded):
                    guesses += self._guess(ranked, heat, budget.at_most(GUESS_SECONDS))
                    self.guesses_cut = False
            ranked = _merged(ranked, self._guesses)
        return [(how, paths[position]) for how, position in ranked[:count]]

    def guesses(self) -> int:
        """Count the guesses of `best` that match in no other way."""
        matching = set(self.positions) if self._guesses else set()
        return sum(position not in matching for _, position in self._guesses or ())

    def _guess(self, ranked: Sequence[Ranked], heat: Heat, budget: Budget) -> Iterator[Ranked]:
        """Yield guesses, until `FEW` files are found by them or are close matches in `ranked`.

        The step SAME is always made, because `Config` means `config.rs` where no file has that
        name.
        """
        known = {position for how, position in ranked if how in CLOSE}
        for how, guess in self._guesses_by_step(ranked, heat, budget, alone=not known):
            if len(known) >= FEW and how is not MatchKind.SAME:
                return
            for position in guess():
                if how is MatchKind.SAME or position not in known:
                    known.add(position)
                    yield how, position

    def _guesses_by_step(
        self, ranked: Sequence[Ranked], heat: Heat, budget: Budget, *, alone: bool
    ) -> Sequence[tuple[MatchKind, Callable[[], Sequence[int]]]]:
        """Return the steps to try in this order; `alone` says that no match is close."""
        index, query = self.index, self.query
        guesses = Guesses(query.text, index.paths, lambda: index.folded, heat, budget)
        steps: list[tuple[MatchKind, Callable[[], Sequence[int]]]] = []
        if not query.ignore_case:
            if not (ranked and is_whole_name(query.text, index.paths[ranked[0][1]])):
                steps.append((MatchKind.SAME, guesses.same_name))
            steps.append((MatchKind.CASE, lambda: self._without_case(heat, budget)))
        if alone:
            if len(query.words) == 1 and sum(how is MatchKind.INITIALS for how, _ in ranked) < FEW:
                steps.append((MatchKind.SPELLING, guesses.misspelt))
            steps.append((MatchKind.FOLDER, guesses.elsewhere))
            if not ranked or len(query.words) > 1 or not query.ignore_case:
                steps.append((MatchKind.WORDS, guesses.some_words))
        return steps

    def _without_case(self, heat: Heat, budget: Budget) -> Sequence[int]:
        """Return the best positions that match closely without regard to case."""
        words = tuple(word.casefold() for word in self.query.words)
        query = Query(self.query.text, SearchKind.FUZZY, words, ignore_case=True, globs=None)
        found = query.match(self.index, budget).positions
        ranked = self.index.best(query, found, heat, MOST, budget)
        return [position for how, position in ranked if how in (*CLOSE, MatchKind.INITIALS)]


def _merged(ranked: Sequence[Ranked], guesses: Sequence[Ranked]) -> Sequence[Ranked]:
    """Return the `ranked` and the `guesses` in the order of their kinds, the surest first."""
    number = {kind: number for number, kind in enumerate(MatchKind)}
    merged: dict[int, MatchKind] = {}
    for kind, position in sorted((*ranked, *guesses), key=lambda found: number[found[0]]):
        merged.setdefault(position, kind)
    return [(kind, position) for position, kind in merged.items()]


def parse_glob(text: str) -> Globs:
    """Compile the glob `text`; `./` may stand before it. Raises INVALID_ARGUMENT."""
    try:
        return compile_globs((text,))
    except BadGlob as error:
        raise _invalid(f"is no glob: {error}") from error


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
