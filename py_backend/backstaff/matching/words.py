"""The words of a query, and how they are found in paths: as they are, or with gaps.

What of a word is in the path of a directory is the same for all files in it: its *state* there.
What is missing then, the rest, has to be in their names. These are searched many at once, in one
text with a NUL before each: an expression for that starts within a name and goes to the end of it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

LONG = 32
"""Characters of a word at most of which the rests are looked for.

There is an expression for each, and it may look at each character of a name as often as it has
characters itself.
"""

_TO_THE_END = "[^\0]*+"
# No name has a slash; but a class of three characters is a table, which is faster than two.
_UP_TO = "[^{0}\0/]*+{0}"


class Rest(NamedTuple):
    """Finds names with something: their ends, which is faster, or the whole ones with their NUL.

    For ends, it can take the square of a name's length.
    """

    ends: str
    whole: str


class Word(Protocol):
    """A word of a query."""

    text: str

    def states(self, prefixes: Iterable[str], /) -> Sequence[int]:
        """What of it is in each of PREFIXES."""
        ...

    def rest(self, state: int, /) -> Rest | None:
        """Finds names with what is missing in that STATE; None if nothing is."""
        ...

    def in_name(self) -> Rest:
        """Finds names with all of it."""
        ...

    def stands_in(self) -> Callable[[str], object]:
        """Tells of a path whether all of it is there."""
        ...


class WholeWord:
    """A word that stands in a path without gaps."""

    _INSIDE, _MISSING, _STARTED, _NOT_STARTED = range(4)

    def __init__(self, text: str) -> None:
        """Look for TEXT."""
        above, slash, start = text.rpartition("/")
        self.text, self._above, self._start = text, above + slash, start

    def states(self, prefixes: Iterable[str], /) -> Sequence[int]:
        """See `Word.states`."""
        text = self.text
        if not self._above:
            return [self._INSIDE if text in prefix else self._MISSING for prefix in prefixes]
        return [self._INSIDE if text in prefix else self._across(prefix) for prefix in prefixes]

    def _across(self, prefix: str) -> int:
        return self._STARTED if prefix.endswith(self._above) else self._NOT_STARTED

    def rest(self, state: int, /) -> Rest | None:
        """See `Word.rest`."""
        if state == self._INSIDE:
            return None
        return self.in_name() if state == self._MISSING else self._after(state)

    def _after(self, state: int) -> Rest:
        return at_start(self._start) if state == self._STARTED else _NOWHERE

    def in_name(self) -> Rest:
        """See `Word.in_name`."""
        text, first, others = map(re.escape, (self.text, self.text[0], self.text[1:]))
        before = f"\0[^{first}\0/]*+"
        # A group that is repeated possessively fails where it should not (Python 3.11.2).
        before += f"(?:{first}(?!{others})[^{first}\0/]*+)*" if others else ""
        return Rest(text + _TO_THE_END, before + text + _TO_THE_END)

    def stands_in(self) -> Callable[[str], object]:
        """See `Word.stands_in`."""
        text = self.text
        return lambda path: text in path


class GappedWord:
    """A word whose characters stand in a path in their order, others between."""

    def __init__(self, text: str) -> None:
        """Look for TEXT."""
        self.text = text

    def states(self, prefixes: Iterable[str], /) -> Sequence[int]:
        """See `Word.states`: how many characters; as many as can be are before the name."""
        found: list[int] = []
        size, first, others = len(self.text), self.text[0], list(enumerate(self.text))[1:]
        for prefix in prefixes:
            at = prefix.find(first) + 1
            if not at:
                found.append(0)
                continue
            for number, character in others:
                at = prefix.find(character, at) + 1
                if not at:
                    found.append(number)
                    break
            else:
                found.append(size)
        return found

    def rest(self, state: int, /) -> Rest | None:
        """See `Word.rest`."""
        rest = self.text[state:]
        return _gapped_in_name(rest) if rest else None

    def in_name(self) -> Rest:
        """See `Word.in_name`."""
        return _gapped_in_name(self.text)

    def stands_in(self) -> Callable[[str], object]:
        """See `Word.stands_in`."""
        return gapped(self.text)


_NOWHERE = Rest("(?!)", "(?!)")


def at_start(text: str) -> Rest:
    """Finds names that start with TEXT."""
    whole = f"\0{re.escape(text)}{_TO_THE_END}"
    return Rest(whole, whole)


def _gapped_in_name(text: str) -> Rest:
    if "/" in text:
        return _NOWHERE
    others = _each(_UP_TO, text[1:]) + _TO_THE_END
    return Rest(re.escape(text[0]) + others, "\0" + _each(_UP_TO, text[0]) + others)


def gapped(one: str, *, grouped: bool = False) -> "Callable[..., re.Match[str] | None]":
    """Finds the characters of ONE with gaps between, GROUPED or not. Nothing is tried twice."""
    first, gap = "[^{0}]*+{0}", "([^{0}]*+){0}" if grouped else "[^{0}]*+{0}"
    return re.compile(_each(first, one[0]) + _each(gap, one[1:])).match


def _each(pattern: str, text: str) -> str:
    """The PATTERN with each character of TEXT in it."""
    return "".join(map(pattern.format, map(re.escape, text)))
