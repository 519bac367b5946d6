"""Queries: which paths match.

A query is a glob, or words. A word matches as a substring, or fuzzily: `parnod` matches
`parse_node.py`, because its characters appear there in order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress
from operator import itemgetter
from typing import NamedTuple, Self
from unicodedata import normalize

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import ErrorCode, ToolError
from backstaff.globs.globs import BadGlob, Globs, compile_globs
from backstaff.names.ranking import MatchKind, Ranking, name_of, subsequence
from backstaff.names.suggestions import elsewhere, misspelt

MAX_QUERY_CHARACTERS, MAX_WORDS = 1024, 16
MIN_RANKED = 300  # matches that are ranked at least, so that each page has the same guesses
FEW = 5  # names with these initials, from which on one edit is less likely
AT_ONCE = 1024  # paths between two looks at the clock: matching these takes under a millisecond
MAX_KEPT = 250_000  # paths in all matches that are kept for their next pages


class SearchKind(StrEnum):
    """How to read a query."""

    FUZZY = "fuzzy"
    SUBSTRING = "substring"
    GLOB = "glob"


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: its `words` are distinct and case-folded; `globs` replaces them."""

    text: str
    kind: SearchKind
    words: Sequence[str]
    globs: Globs | None = None

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
            try:
                return cls(text, SearchKind.GLOB, (), compile_globs((text,)))
            except BadGlob as error:
                raise _invalid(f"is no glob: {error}") from error
        text = composed(text)
        words = tuple(dict.fromkeys(text.casefold().split()))
        if len(words) > MAX_WORDS:
            raise _invalid(f"has {len(words)} words, more than {MAX_WORDS}")
        return cls(text, SearchKind(kind), words)

    def match(self, all_paths: Sequence[str], budget: Budget) -> "Matches":
        """Find the paths that match; their order breaks ties. Raises `DeadlineExceeded`."""
        if self.globs is not None:
            return Matches(all_paths, (), self, self.globs.files(all_paths, budget))
        if kept := _KEPT.get(key := (id(all_paths), self)):
            return kept
        # The longest word first: it leaves the fewest paths for the others.
        in_order = sorted(self.words, key=len, reverse=True)
        tests = [subsequence(word).match for word in in_order]
        fuzzy, begins = self.kind is SearchKind.FUZZY, tuple(self.words)
        paths, gapped, whole = list[str](), list[int](), list[int]()
        found: Sequence[int]
        for start in budget.checked(range(0, len(all_paths), AT_ONCE), 1):
            # No path holds a NUL, and together they are folded in a quarter of the time.
            together = "\0".join(all_paths[start : start + AT_ONCE])
            left = composed(together).casefold().split("\0")
            paths += left
            found = range(start, start + len(left))
            if fuzzy:
                for test in tests:
                    fits = list(map(test, left))
                    found, left = list(compress(found, fits)), list(compress(left, fits))
                gapped += found
            for word in in_order:
                holds = [word in path for path in left]
                found, left = list(compress(found, holds)), list(compress(left, holds))
            whole += found
            # Beside a name that holds all words and begins with one, scattered letters mislead.
            fuzzy = fuzzy and not any(
                name.startswith(begins) and all(word in name for word in begins)
                for name in map(name_of, left)
            )
        matches = Matches(all_paths, paths, self, gapped if fuzzy else whole)
        _KEPT.put(key, matches)
        return matches


class Best(NamedTuple):
    """The best files, each with the way it was found; the number of guesses among all."""

    files: Sequence[tuple[MatchKind, str]]
    guesses: int = 0


@dataclass(frozen=True, slots=True)
class Matches:
    """The positions of the `paths` that match a query; `folded` are the paths as they compare."""

    paths: Sequence[str]
    folded: Sequence[str]
    query: Query
    positions: Sequence[int]

    def __len__(self) -> int:
        return len(self.positions)

    def best(self, count: int, budget: Budget, heat: Mapping[str, float] | None = None) -> Best:
        """Return the `count` best paths and guesses; `heat`, the recent edits, breaks ties."""
        paths, query = self.paths, self.query
        if query.globs is not None:  # all are equally good, and keep the order of the index
            return Best([(MatchKind.GLOB, paths[at]) for at in self.positions[:count]])
        ranking = Ranking(query.words, self.folded, paths, heat or {})
        found = ranking.best(self.positions, max(count, MIN_RANKED), budget)
        initials = sum(how is MatchKind.INITIALS for how, _ in found)
        guesses = list[int]()
        if query.kind is SearchKind.FUZZY and not any(how <= MatchKind.PATH for how, _ in found):
            kind = MatchKind.SPELLING
            if "/" in query.text:
                kind, guesses = MatchKind.FOLDER, elsewhere(query.text, self.folded, budget)
            elif len(query.words) == 1 and initials < FEW:
                guesses = misspelt(query.text, self.folded, budget)
            found += [(kind, at) for at in guesses]
        merged = dict[int, MatchKind]()
        for how, at in sorted(found, key=itemgetter(0)):
            merged.setdefault(at, how)
        others = len(set(guesses).difference(self.positions)) if guesses else 0
        return Best([(how, paths[at]) for at, how in merged.items()][:count], others)


# The latest matches. They hold their paths, so that no others get their `id`.
_KEPT: LRUCache[tuple[int, Query], Matches] = LRUCache(MAX_KEPT, lambda kept: len(kept.paths))


def composed(text: str) -> str:
    """Return `text` with composed letters, as macOS writes `é` in two characters."""
    return text if text.isascii() else normalize("NFC", text)


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
