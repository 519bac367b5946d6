"""Guesses: which files a query may mean that matches none, or only letters in their order.

The mean reciprocal rank of each step on the histories of nine projects stands in docs/design.md;
`python -m dev.bench.ask` measures it anew.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from backstaff.budget import Budget
from backstaff.names.ranking import is_whole_name, name_of

MOST = 20
"""Maximum number of guesses."""
SHORTEST, LONGEST = 4, 64
"""Correct only words of 4 to 64 characters: shorter ones are one edit away from too many names."""
# MRR of names with letters dropped .920 with 4, .911 with 5, .890 with 8.


@dataclass(frozen=True, slots=True)
class Guesses:
    """The files that `text` may mean among `paths`; `folded` has the paths in small letters.

    `heat` says how much some of them were edited recently, and decides among guesses that are
    equally good. Each method returns the positions of at most `MOST` paths, and raises
    `DeadlineExceeded`.
    """

    text: str
    paths: Sequence[str]
    folded: Sequence[str]
    heat: Mapping[str, float]
    budget: Budget

    def misspelt(self) -> list[int]:
        """Return names with a part that is one edit away from the text.

        Whole names come first, then beginnings. An edit is a character that is missing, new or
        another one, or two that are swapped.
        """
        text = self.text.casefold()
        if not SHORTEST <= len(text) <= LONGEST:
            return []
        # An edit does not change both the characters before the middle and those behind it.
        middle = (len(text) - 1) // 2
        first, last = text[:middle], text[middle + 1 :]
        search = re.compile(rf"(?:{'|'.join(_edits(text))})(?P<ends>(?:\.[^.]*)?$)?").search
        near = ((at, path) for at, path in self._folded() if first in path or last in path)
        return self._nearest(
            (0 if found.start() else -1 - (found["ends"] is not None), at)
            for at, path in near
            if (found := search(name_of(path)))
        )

    def elsewhere(self) -> list[int]:
        """Return files with the last name in the text, those below more of its folders first."""
        *folders, name = self.text.strip().casefold().rstrip("/").split("/")
        wanted = set(folders)
        if not (folders and name):
            return []
        return self._nearest(
            (-len(wanted.intersection(path.split("/"))), at)
            for at, path in self._folded()
            if name in path and is_whole_name(name, path)
        )

    def _folded(self) -> Iterator[tuple[int, str]]:
        return enumerate(self.budget.checked(self.folded))

    def _nearest(self, ranks: Iterable[tuple[int, int]]) -> list[int]:
        """Return the positions of the lowest `ranks`.

        Among equal ones, the file with most edits comes first, then the shortest path.
        """
        keys = (
            (rank, -self.heat.get(path := self.paths[at], 0.0), len(path), at)
            for rank, at in self.budget.checked(ranks)
        )
        return [at for *_, at in nsmallest(MOST, keys)]


def _edits(text: str) -> Iterator[str]:
    """Yield regexes that together match `text` after one edit."""
    for at, character in enumerate(text):
        before, behind = re.escape(text[:at]), re.escape(text[at + 1 :])
        yield f"{before}.?{behind}"  # another one, or none
        yield rf"{before}[^\W_]{re.escape(character)}{behind}"  # a new `_` is no misspelling
        if behind:
            yield before + re.escape(text[at + 1] + character + text[at + 2 :])
