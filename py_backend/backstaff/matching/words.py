"""The words of a query, and how they are found in paths: as they are, or with gaps."""

import re
from collections.abc import Callable
from typing import Protocol

LONG = 32
"""Characters of a `GappedWord` at most: there is an expression for each rest of it."""
RETRIED = 32
"""A long name is tried again from further on only if fewer characters are left of it."""


class Finder(Protocol):
    """Finds what stands in names that have a NUL between; a match ends where its name does.

    Without a group it is only about a name that has been looked through in vain.
    """

    def __call__(self, string: str, pos: int = 0, /) -> "re.Match[str] | None":
        """The first match from POS on."""
        ...


_TO_THE_END = "[^\0]*+()"


def _nowhere(_names: str, _from: int = 0, /) -> None:
    return None


class Word(Protocol):
    """A word of a query: what of it has to be in a file's name tells what stands before that."""

    def after(self, prefix: str, long: bool, /) -> Finder | None:  # noqa: FBT001 - is called for each directory
        """Finds in the names after PREFIX what is missing in that; None if nothing is.

        Names can be LONG: then the cost is linear in their length, else it is the square of it.
        """
        ...


class WholeWord:
    """A word that stands in a path without gaps."""

    def __init__(self, text: str) -> None:
        """Look for TEXT."""
        self._text = text
        above, slash, start = text.rpartition("/")
        self._above = above + slash
        self._start = re.compile(f"(?<![^\0]){re.escape(start)}{_TO_THE_END}").search
        self._somewhere = re.compile(re.escape(text) + _TO_THE_END).search

    def after(self, prefix: str, _long: bool, /) -> Finder | None:  # noqa: FBT001 - as `Word` has it
        """See `Word.after`; it is linear in any case."""
        if self._text in prefix:
            return None
        if not self._above:
            return self._somewhere
        return self._start if prefix.endswith(self._above) else _nowhere


class GappedWord:
    """A word whose characters stand in a path in their order, others between."""

    def __init__(self, text: str) -> None:
        """Look for TEXT."""
        self._text = text
        self._rests: dict[int, Finder | None] = {len(text): None}
        self._rests_in_long_names = self._rests.copy()

    def after(self, prefix: str, long: bool, /) -> Finder | None:  # noqa: FBT001 - as `Word` has it
        """See `Word.after`: as much as can be is before the name."""
        found = at = 0
        for character in self._text:
            at = prefix.find(character, at) + 1
            if not at:
                break
            found += 1
        rests = self._rests_in_long_names if long else self._rests
        if found not in rests:
            rests[found] = _gapped_in_names(self._text[found:], long=long)
        return rests[found]


def _gapped_in_names(text: str, *, long: bool) -> Finder:
    """Finds TEXT with gaps. If not from where its first character is first, then from nowhere.

    To pass over the rest of a LONG name, that has to be found, too; for others it does not pay.
    """
    if "/" in text:
        return _nowhere
    rest = _each("[^{0}\0]*+{0}", text[1:]) + _TO_THE_END
    rest = f"(?:{rest}|[^\0]{{{RETRIED},}}+)" if long else rest
    return re.compile(re.escape(text[0]) + rest).search


def gapped(one: str, *, grouped: bool = False) -> "Callable[..., re.Match[str] | None]":
    """Finds the characters of ONE with gaps between, GROUPED or not. Nothing is tried twice."""
    first, gap = "[^{0}]*+{0}", "([^{0}]*+){0}" if grouped else "[^{0}]*+{0}"
    return re.compile(_each(first, one[0]) + _each(gap, one[1:])).match


def _each(pattern: str, text: str) -> str:
    """The PATTERN with each character of TEXT in it."""
    return "".join(map(pattern.format, map(re.escape, text)))
