"""A query, and the files that match it."""

import re
from collections.abc import Sequence
from enum import StrEnum

from backstaff.errors import ErrorCode, ToolError
from backstaff.fs.globs import BadGlob, Globs, compile_globs
from backstaff.matching.index import Index, Matches
from backstaff.matching.ranking import best
from backstaff.matching.words import LONG, GappedWord, WholeWord, gapped

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

    def matches(self, index: Index) -> Matches:
        """Which files of INDEX match, in order.

        What was searched for last is known; so what goes on from there starts from there.
        """
        latest = index.latest
        if latest is not None and latest[0].text == self.text and latest[0].kind is self.kind:
            return latest[1]
        if self.globs is not None:
            found = Matches(self.globs.files(index.paths))
        elif latest is not None and self._goes_on(latest[0]):
            found = self._with(self.words, latest[1])
        else:
            longest, *others = sorted(self.words, key=len, reverse=True)
            found = self._with(others, self._holding(longest, index))
        index.latest = (self, found)
        return found

    def _holding(self, one: str, index: Index) -> Matches:
        if self.kind is SearchKind.SUBSTRING:
            return index.holding(WholeWord(one), folded=self.folded)
        if len(one) > LONG:
            return self._with([one], index.everything(folded=self.folded))
        return index.holding(GappedWord(one), folded=self.folded)

    def _goes_on(self, other: "Query") -> bool:
        """Whether all that matches this one matches the OTHER."""
        alike = self.kind is other.kind and self.folded is other.folded
        whole = len(self.words) == len(other.words) < MAX_WORDS
        return alike and whole and all(map(str.startswith, self.words, other.words))

    def _with(self, words: Sequence[str], found: Matches) -> Matches:
        """Those FOUND that have the WORDS, too."""
        fuzzy = self.kind is SearchKind.FUZZY
        for one in words:
            found = found.where(gapped(one) if fuzzy else re.compile(re.escape(one)).search)
        return found

    def best(self, index: Index, matches: Matches, most: int) -> Sequence[int]:
        """The MOST best of the MATCHES in INDEX by their places, the best first.

        More than are asked for are ranked, so that the next page need not do it again.
        """
        if self.globs is not None:
            return matches.numbers[:most]
        latest = index.ranked
        if latest is None or latest[0].text != self.text or latest[0].kind is not self.kind:
            latest = None
        if latest is None or len(latest[1]) < min(most, len(matches)):
            ranked = best(self.words, matches.texts, max(most, RANKED))
            latest = index.ranked = self, [matches.numbers[at] for at in ranked]
        return latest[1][:most]


def globs(text: str) -> Globs:
    """The glob that TEXT is. Raises INVALID_ARGUMENT."""
    try:
        return compile_globs((text.removeprefix("./"),))
    except BadGlob as error:
        raise _invalid(f"is no glob: {error}") from error


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
