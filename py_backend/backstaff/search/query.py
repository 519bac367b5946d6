"""Queries: which paths match.

A query is a glob, or words. A word matches as a substring, or fuzzily: `parnod` matches
`parse_node.py`, because its characters appear there in order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import compress
from typing import Self

from backstaff.errors import ErrorCode, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.globs import BadGlob, Globs, compile_globs
from backstaff.fs.packed import PackedPaths
from backstaff.search.ranking import best, subsequence

MAX_QUERY_CHARACTERS = 1024
MAX_WORDS = 16
MIN_RANKED = 300
"""Matches ranked at once: the next pages of an answer then need no ranking."""
BATCH = 1024
"""Paths between two looks at the clock. Matching that many takes about a millisecond."""


class SearchKind(StrEnum):
    """How to read a query."""

    FUZZY = "fuzzy"
    SUBSTRING = "substring"
    GLOB = "glob"


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

    def match(self, paths: PackedPaths, budget: Budget) -> "Matches":
        """Find those of PATHS that match. Raises `DeadlineExceeded`."""
        if self.globs is not None:
            return Matches(paths, self, self.globs.files(paths, budget))
        positions: list[int] = []
        texts: list[str] = []
        # The longest word first: it leaves the fewest paths for the others.
        tests = [self._test(word) for word in sorted(self.words, key=len, reverse=True)]
        for start in range(0, len(paths), BATCH):
            budget.check()
            stop = start + BATCH
            batch = paths.folded(start, stop) if self.ignore_case else paths[start:stop]
            found: Sequence[int] = range(start, start + len(batch))
            for test in tests:
                holds = list(map(test, batch))
                found, batch = list(compress(found, holds)), list(compress(batch, holds))
            positions += found
            texts += batch
        return Matches(paths, self, positions, texts)

    def _test(self, word: str) -> Callable[[str], object]:
        """A function that says whether WORD matches a path."""
        if self.kind is SearchKind.SUBSTRING:
            return lambda path: word in path
        return subsequence(word).match


@dataclass(slots=True)
class Matches:
    """Those of `paths` that match a query, by their `positions`.

    `texts` are what was compared with the words: the same paths, folded where case does not matter.
    """

    paths: PackedPaths
    query: Query
    positions: Sequence[int]
    texts: Sequence[str] = ()
    _ranked: Sequence[int] = field(default=())

    def __len__(self) -> int:
        """Count the matches."""
        return len(self.positions)

    def best(self, count: int, budget: Budget) -> list[str]:
        """Return the COUNT best paths, the best first. Raises `DeadlineExceeded`.

        All matches of a glob are equally good, so they keep their order.
        """
        if self.query.globs is not None:
            ranked = self.positions
        else:
            ranked = self._ranked  # read once: another call may replace it meanwhile
            if len(ranked) < min(count, len(self.positions)):
                order = best(self.query.words, self.texts, max(count, MIN_RANKED), budget)
                ranked = self._ranked = [self.positions[number] for number in order]
        return [self.paths[position] for position in ranked[:count]]


def parse_glob(text: str) -> Globs:
    """Compile the glob TEXT; `./` may stand before it. Raises INVALID_ARGUMENT."""
    try:
        return compile_globs((text,))
    except BadGlob as error:
        raise _invalid(f"is no glob: {error}") from error


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
