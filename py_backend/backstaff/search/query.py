"""Queries: which paths match.

A query is a glob, or words. A word matches as a substring, or fuzzily: `parnod` matches
`parse_node.py`, because its characters appear there in order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import compress
from typing import Self

from backstaff.errors import ErrorCode, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.globs import BadGlob, Globs, compile_globs
from backstaff.search.guesses import elsewhere, misspelt, nearest, some_words
from backstaff.search.ranking import Found, How, best, subsequence

MAX_QUERY_CHARACTERS = 1024
MAX_WORDS = 16
MIN_RANKED = 300
"""Matches ranked at once: the next pages of an answer then need no ranking."""
BATCH = 4096
"""Paths between two looks at the clock. Matching that many takes about a millisecond."""


FOLDED = 256
"""Paths folded at once: so few often hold no capital letter at all, and need no copy."""


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
        """The same paths with Unicode's case folding: `Straße` becomes `strasse`."""
        folded: list[str] = []
        for start in range(0, len(self.paths), FOLDED):
            # Folding many at once is fast. NUL is in no path, and folding keeps it.
            batch = self.paths[start : start + FOLDED]
            together = "\0".join(batch)
            small = together.lower() if together.isascii() else together.casefold()
            folded += batch if small == together else small.split("\0")
        return folded


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
        """Parse TEXT. Raises INVALID_ARGUMENT."""
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
        """Find the paths of INDEX that match. Raises `DeadlineExceeded`."""
        if self.globs is not None:
            return Matches(index, self, self.globs.files(index.paths, budget))
        paths = index.folded if self.ignore_case else index.paths
        found: Sequence[int] = range(len(paths))
        # The longest word first: it leaves the fewest paths for the others.
        for word in sorted(self.words, key=len, reverse=True):
            found = self._with_word(word, paths, found, budget)
        return Matches(index, self, found)

    def _with_word(
        self, word: str, paths: Sequence[str], candidates: Sequence[int], budget: Budget
    ) -> list[int]:
        """Keep the CANDIDATES, positions in PATHS, whose path matches WORD."""
        found: list[int] = []
        matches = subsequence(word).match
        for start in range(0, len(candidates), BATCH):
            budget.check()
            batch = candidates[start : start + BATCH]
            if isinstance(candidates, range):
                texts = paths[start : start + BATCH]
            else:
                texts = [paths[position] for position in batch]
            holds: Iterable[object] = (
                [word in text for text in texts]
                if self.kind is SearchKind.SUBSTRING
                else map(matches, texts)
            )
            found += compress(batch, holds)
        return found


@dataclass(slots=True)
class Matches:
    """The paths of an index that match a query, by their positions, and the guesses beside them."""

    index: Index
    query: Query
    positions: Sequence[int]
    _ranked: Sequence[Found] = field(default=())
    _guesses: Sequence[Found] | None = None

    def __len__(self) -> int:
        """Count the matches."""
        return len(self.positions)

    def best(self, count: int, heat: Mapping[str, float], budget: Budget) -> list[tuple[How, str]]:
        """Return the COUNT best paths, the best first, and how each was found. HEAT breaks ties.

        All matches of a glob are equally good, so they keep the order of the index. Raises
        `DeadlineExceeded`.
        """
        paths = self.index.paths
        if self.query.globs is not None:
            return [(How.GLOB, paths[position]) for position in self.positions[:count]]
        ranked = self._ranked  # read once: another call may replace it meanwhile
        if len(ranked) < min(count, len(self.positions)):
            words, folded = self.query.words, self.index.folded
            compared = folded if self.query.ignore_case else paths
            most = max(count, MIN_RANKED)
            ranked = best(words, compared, paths, self.positions, heat, most, budget)
            self._ranked = ranked
        if self.query.kind is SearchKind.FUZZY:
            if self._guesses is None:
                self._guesses = list(self._guess(ranked, heat, budget))
            ranked = merged(ranked, self._guesses)
        return [(how, paths[position]) for how, position in ranked[:count]]

    def guesses(self) -> int:
        """The number of guesses of `best` that match in no other way."""
        matching = set(self.positions)
        return sum(position not in matching for _, position in self._guesses or ())

    def _guess(
        self, ranked: Sequence[Found], heat: Mapping[str, float], budget: Budget
    ) -> Iterator[Found]:
        """Yield guesses where few of the RANKED matches are close ones."""
        index, query = self.index, self.query
        originals, folded, text = index.paths, index.folded, query.text

        def order(position: int) -> tuple[float, int]:
            return -heat.get(originals[position], 0.0), len(originals[position])

        known = {position for how, position in ranked if how in CLOSE}
        steps: list[tuple[How, Callable[[], Iterable[int]]]] = []
        if not known and len(query.words) == 1:
            word = query.words[0].casefold()
            steps.append((How.SPELLING, lambda: misspelt(word, folded, order, budget)))
        if not query.ignore_case:
            steps.append((How.CASE, lambda: self._without_case(heat, budget)))
        if not known:
            path = text.strip().casefold()
            steps.append((How.FOLDER, lambda: elsewhere(path, folded, order, budget)))
            if not ranked or not query.ignore_case or len(query.words) > 1:
                steps.append((How.WORDS, lambda: some_words(text, folded, order, budget)))
            if not ranked:
                steps.append((How.NEAREST, lambda: nearest(text, folded, order, budget)))
        for how, guess in steps:
            if len(known) >= FEW:
                return
            for position in guess():
                if position not in known:
                    known.add(position)
                    yield how, position

    def _without_case(self, heat: Mapping[str, float], budget: Budget) -> Sequence[int]:
        query = Query(self.query.text.lower(), SearchKind.SUBSTRING, tuple(self.query.text.casefold().split()), True, None)
        query = Query.parse(self.query.text.lower(), SearchKind.FUZZY)
        matches = query.match(self.index, budget)
        ranked = best(query.words, self.index.folded, self.index.paths, matches.positions, heat, MIN_RANKED, budget)
        return [position for how, position in ranked if how in CLOSE][:20]


CLOSE = (How.NAME, How.PATH, How.INITIALS)
FEW = 5


def merged(ranked: Sequence[Found], guesses: Sequence[Found]) -> list[Found]:
    """RANKED with GUESSES: those of the spelling go before all that match in scattered pieces."""
    early = [one for one in guesses if one[0] is How.SPELLING]
    there = {position for _, position in early}
    close = [one for one in ranked if one[0] in CLOSE]
    far = [one for one in ranked[len(close) :] if one[1] not in there]
    there.update(position for _, position in ranked)
    late = [one for one in guesses if one[1] not in there]
    return [*close, *early, *far, *late]


def parse_glob(text: str) -> Globs:
    """Compile the glob TEXT; `./` may stand before it. Raises INVALID_ARGUMENT."""
    try:
        return compile_globs((text,))
    except BadGlob as error:
        raise _invalid(f"is no glob: {error}") from error


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
