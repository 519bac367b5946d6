"""Queries: which paths match.

A query is a glob, or words. A word matches as a substring, or fuzzily: `parnod` matches
`parse_node.py`, because its characters appear there in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import compress
from operator import itemgetter
from types import MappingProxyType
from typing import Self
from unicodedata import normalize

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded, ErrorCode, ToolError
from backstaff.globs.globs import BadGlob, Globs, compile_globs
from backstaff.names.ranking import (
    CLOSE,
    MatchKind,
    Ranked,
    Ranking,
    name_of,
    subsequence,
)
from backstaff.names.suggestions import elsewhere, misspelt

MAX_QUERY_CHARACTERS = 1024
MAX_WORDS = 16
MIN_RANKED = 300
"""Minimum number of matches that are ranked, so that the guesses are the same for each page."""
GUESS_SECONDS = 1.0
"""Maximum number of seconds for all guesses."""
FEW = 5
"""Minimum number of names with these initials that are more likely than one edit."""
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


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    `words` are distinct and case-folded. `globs` replaces them for a glob.
    """

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
        paths = [composed(path).casefold() for path in budget.checked(all_paths)]
        # The longest word first: it leaves the fewest paths for the others.
        in_order = sorted(self.words, key=len, reverse=True)
        tests = [subsequence(word).match for word in in_order]
        fuzzy, begins = self.kind is SearchKind.FUZZY, tuple(self.words)
        gapped, whole = list[int](), list[int]()
        found: Sequence[int]
        for start in budget.checked(range(0, len(paths), AT_ONCE), 1):
            left = paths[start : start + AT_ONCE]
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
            # Beside a name that holds all words and begins with one, scattered letters are an
            # accident.
            fuzzy = fuzzy and not any(
                name.startswith(begins) and all(word in name for word in begins)
                for name in map(name_of, left)
            )
        return Matches(all_paths, paths, self, gapped if fuzzy else whole)


@dataclass(frozen=True, slots=True)
class Best:
    """The best files, each with the way it was found; the number of guesses among all.

    `is_cut` says that the time for guesses was up.
    """

    files: Sequence[tuple[MatchKind, str]]
    guesses: int = 0
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Matches:
    """The positions of the `paths` that match a query.

    `folded` are the same paths with composed letters (`é` is one character) and their case folded.
    """

    paths: Sequence[str]
    folded: Sequence[str]
    query: Query
    positions: Sequence[int]

    def __len__(self) -> int:
        """Count the matches."""
        return len(self.positions)

    def best(self, count: int, budget: Budget, heat: Heat = NO_HEAT) -> Best:
        """Return the `count` best paths, the best first, with guesses beside the matches.

        `heat` breaks ties. All matches of a glob are equally good, so they keep the order of the
        index. Raises `DeadlineExceeded`.
        """
        paths, matching = self.paths, self.positions
        if self.query.globs is not None:
            return Best([(MatchKind.GLOB, paths[position]) for position in matching[:count]])
        ranking = Ranking(self.query.words, self.folded, paths, heat)
        ranked = ranking.best(matching, max(count, MIN_RANKED), budget)
        guesses, is_cut = list[Ranked](), self.query.kind is SearchKind.FUZZY
        if is_cut:
            with suppress(DeadlineExceeded):
                guesses.extend(self._guess(ranked, budget.at_most(GUESS_SECONDS)))
                is_cut = False
        known = set(matching) if guesses else set()
        others = sum(position not in known for _, position in guesses)
        merged: dict[int, MatchKind] = {}
        for kind, position in sorted((*ranked, *guesses), key=itemgetter(0)):
            merged.setdefault(position, kind)
        files = [(kind, paths[position]) for position, kind in merged.items()]
        return Best(files[:count], others, is_cut)

    def _guess(self, ranked: Sequence[Ranked], budget: Budget) -> Iterator[Ranked]:
        """Yield guesses, unless a match in `ranked` is close."""
        if any(how in CLOSE for how, _ in ranked):
            return
        text, folded = self.query.text, self.folded
        initials = sum(how is MatchKind.INITIALS for how, _ in ranked)
        if "/" in text:
            yield from ((MatchKind.FOLDER, at) for at in elsewhere(text, folded, budget))
        elif len(self.query.words) == 1 and initials < FEW:
            yield from ((MatchKind.SPELLING, at) for at in misspelt(text, folded, budget))


def composed(text: str) -> str:
    """Return `text` with composed letters, as macOS writes `é` in two characters."""
    return text if text.isascii() else normalize("NFC", text)


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
