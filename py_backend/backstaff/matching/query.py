"""A query, and the files that match it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from backstaff.errors import ErrorCode, ToolError
from backstaff.fs.globs import BadGlob, Globs, compile_globs
from backstaff.matching.index import Index, Matches
from backstaff.matching.ranking import best
from backstaff.matching.words import LONG, GappedWord, WholeWord, Word, gapped

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
        self.words = (text.casefold() if self.folded else text).split()[:MAX_WORDS]

    def found(self, index: Index) -> "Found":
        """The files of INDEX that match; those of the last query are known."""
        latest = index.latest
        if latest is not None and latest[0].text == self.text and latest[0].kind is self.kind:
            return latest[1]
        found: Found
        if self.globs is not None:
            paths = index.paths
            found = InOrder([paths[number] for number in self.globs.files(paths)])
        else:
            words = self._longest_first()
            found = ByRank(index, words, self._matches(index, words))
        index.latest = (self, found)
        return found

    def _longest_first(self) -> Sequence[Word]:
        kind = WholeWord if self.kind is SearchKind.SUBSTRING else GappedWord
        return list(map(kind, sorted(self.words, key=len, reverse=True)))

    def _matches(self, index: Index, words: Sequence[Word]) -> Matches:
        folders = index.folders(folded=self.folded)
        if self.kind is SearchKind.FUZZY and len(words[0].text) > LONG:
            tests = [gapped(word.text) for word in words]
            return folders.where(lambda path: all(test(path) for test in tests))
        return folders.holding(words)


class Found(Protocol):
    """The files that match a query."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def best(self, most: int) -> Sequence[str]:
        """The paths of the MOST best, the best first."""
        ...


@dataclass(frozen=True, slots=True)
class InOrder:
    """Those of a glob: each is as good as the others."""

    paths: Sequence[str]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.paths)

    def best(self, most: int) -> Sequence[str]:
        """The paths of the first."""
        return self.paths[:most]


@dataclass(slots=True)
class ByRank:
    """Those of INDEX with WORDS in their paths: the MATCHES."""

    index: Index
    words: Sequence[Word]
    matches: Matches
    _ranked: Sequence[str] = ()

    def __len__(self) -> int:
        """How many there are."""
        return len(self.matches)

    def best(self, most: int) -> Sequence[str]:
        """The paths of the MOST best, the best first.

        More than are asked for are ranked, so that the next page need not do it again.
        """
        if len(self._ranked) < min(most, len(self.matches)):
            ranked = best(self.words, self.matches, max(most, RANKED))
            self._ranked = self.index.told(ranked, self.matches.folders)
        return self._ranked[:most]


def globs(text: str) -> Globs:
    """The glob that TEXT is. Raises INVALID_ARGUMENT."""
    try:
        return compile_globs((text.removeprefix("./"),))
    except BadGlob as error:
        raise _invalid(f"is no glob: {error}") from error


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
