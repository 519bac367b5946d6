"""A query, and the files that match it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from backstaff.errors import ErrorCode, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.globs import BadGlob, Globs, compile_globs
from backstaff.matching.index import Index, Matches
from backstaff.matching.ranking import best
from backstaff.matching.words import LONG, GappedWord, WholeWord, Word

MAX_QUERY_CHARACTERS = 1024
MAX_WORDS = 16
RANKED = 300
"""How many matches are ranked at least."""


class SearchKind(StrEnum):
    """How a query is meant."""

    FUZZY = "fuzzy"
    SUBSTRING = "substring"
    GLOB = "glob"


class Query:
    """A query, taken apart. Raises INVALID_ARGUMENT."""

    def __init__(self, text: str, kind: str) -> None:
        """Read TEXT as KIND says."""
        if not text.strip():
            raise _invalid("is empty")
        if len(text) > MAX_QUERY_CHARACTERS:
            raise _invalid(f"is longer than {MAX_QUERY_CHARACTERS} characters")
        if "\0" in text:
            raise _invalid("holds a NUL character, which is in no path")
        self.text, self.kind = text, SearchKind(kind)
        self.globs = globs(text) if self.kind is SearchKind.GLOB else None
        self.folded = text == text.lower() and self.globs is None
        # What is asked for twice is no more than once.
        self.words = list(dict.fromkeys((text.casefold() if self.folded else text).split()))
        if self.globs is None and len(self.words) > MAX_WORDS:
            raise _invalid(f"has {len(self.words)} words, more than {MAX_WORDS}")

    def found(self, index: Index, budget: Budget) -> "Found":
        """The files of INDEX that match; those of the last query are known.

        Raises `DeadlineExceeded`.
        """
        latest = index.latest
        if latest is not None and latest[0].text == self.text and latest[0].kind is self.kind:
            return latest[1]
        found: Found
        if self.globs is not None:
            paths = index.paths
            found = InOrder([paths[number] for number in self.globs.files(paths, budget)])
        else:
            words = self._longest_first()
            found = ByRank(index, words, self._matches(index, words, budget))
        index.latest = (self, found)
        return found

    def _longest_first(self) -> Sequence[Word]:
        kind = WholeWord if self.kind is SearchKind.SUBSTRING else GappedWord
        return list(map(kind, sorted(self.words, key=len, reverse=True)))

    def _matches(self, index: Index, words: Sequence[Word], budget: Budget) -> Matches:
        folders = index.folders(budget, folded=self.folded)
        if len(words[0].text) > LONG:
            tests = [word.stands_in() for word in words]
            return folders.where(lambda path: all(test(path) for test in tests), budget)
        return folders.holding(words, budget)


class Found(Protocol):
    """The files that match a query."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def best(self, most: int, budget: Budget) -> Sequence[str]:
        """The paths of the MOST best, the best first. Raises `DeadlineExceeded`."""
        ...


@dataclass(frozen=True, slots=True)
class InOrder:
    """Those of a glob: each is as good as the others."""

    paths: Sequence[str]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.paths)

    def best(self, most: int, budget: Budget) -> Sequence[str]:  # noqa: ARG002 - they are there
        """The paths of the first."""
        return self.paths[:most]


@dataclass(slots=True)
class ByRank:
    """Those of INDEX with WORDS in their paths: the MATCHES, the best of which are RANKED."""

    index: Index
    words: Sequence[Word]
    matches: Matches
    ranked: Sequence[str] = ()

    def __len__(self) -> int:
        """How many there are."""
        return len(self.matches)

    def best(self, most: int, budget: Budget) -> Sequence[str]:
        """The paths of the MOST best, the best first. Raises `DeadlineExceeded`.

        More than are asked for are ranked, so that the next page need not do it again.
        """
        ranked = self.ranked  # another call may put fewer there
        if len(ranked) < min(most, len(self.matches)):
            places = best(self.words, self.matches, max(most, RANKED), budget)
            ranked = self.ranked = self.index.told(places, self.matches.folders)
        return ranked[:most]


def globs(text: str) -> Globs:
    """The glob that TEXT is. Raises INVALID_ARGUMENT."""
    try:
        return compile_globs((text.removeprefix("./"),))
    except BadGlob as error:
        raise _invalid(f"is no glob: {error}") from error


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
