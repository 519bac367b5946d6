"""Paths packed into a few texts, since a string for each costs more than all the rest of a walk.

125,000 paths take 5 MB packed and 13 MB as strings. Not making these strings saves a tenth of a
first search. Packed paths read like any sequence, quickest in slices or in order.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Self, overload

AT_ONCE = 256
"""Paths a text, where they do not come by directory."""


class PackedPaths(Sequence[str]):
    r"""A sequence of paths; `src/a.py` and `src/b.py` are packed as "src/a.py\0src/b.py"."""

    __slots__ = ("_latest", "_length", "_starts", "_texts")

    def __init__(
        self, texts: list[str] | None = None, starts: list[int] | None = None, length: int = 0
    ) -> None:
        """Hold nothing yet; or TEXTS, with the positions at which they start, and their LENGTH."""
        self._texts = texts or []
        self._starts = starts or []
        self._length = length
        self._latest: tuple[int, Sequence[str]] = (0, ())
        """The position of the first path in the text that was read last, and its paths."""

    @classmethod
    def of(cls, paths: Sequence[str]) -> Self:
        """Pack PATHS."""
        packed = cls()
        for start in range(0, len(paths), AT_ONCE):
            packed.add("", paths[start : start + AT_ONCE])
        return packed

    def add(self, prefix: str, names: Sequence[str]) -> tuple[int, int]:
        """Append the paths of NAMES: PREFIX, such as `src/`, stands before each.

        Return the position of the first of them, and the one after the last.
        """
        first = self._length
        if names:
            self._texts.append(prefix + f"\0{prefix}".join(names))
            self._starts.append(first)
            self._length += len(names)
        return first, self._length

    def __len__(self) -> int:
        """Count the paths."""
        return self._length

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """The path, or the list of paths, at a position or slice."""
        if isinstance(at, slice):
            start, stop, step = at.indices(self._length)
            return self.batch(start, stop)[::step] if step > 0 else list(self)[at]
        if not -self._length <= at < self._length:
            raise IndexError(at)
        at %= self._length
        first, paths = self._latest
        if not 0 <= at - first < len(paths):
            number = bisect_right(self._starts, at) - 1
            first, paths = self._starts[number], self._texts[number].split("\0")
            self._latest = first, paths
        return paths[at - first]

    def folded(self) -> Self:
        """The same paths with Unicode's case folding: `Straße` becomes `strasse`."""
        # NUL is in no path, and folding keeps it.
        return type(self)([text.casefold() for text in self._texts], self._starts, self._length)

    def picked(self, positions: Sequence[int]) -> list[str]:
        """The paths at POSITIONS, which ascend: a third of the time of one after the other."""
        picked: list[str] = []
        first, end, number, paths = 0, 0, -1, list[str]()
        for position in positions:
            if position >= end:
                number = bisect_right(self._starts, position, number + 1) - 1
                first, paths = self._starts[number], self._texts[number].split("\0")
                end = first + len(paths)
            picked.append(paths[position - first])
        return picked

    def __iter__(self) -> Iterator[str]:
        """Yield all paths."""
        return chain.from_iterable(text.split("\0") for text in self._texts)

    def batch(self, start: int, stop: int, *, fold: bool = False) -> list[str]:
        """The paths from START to before STOP; if FOLD, with their case folded."""
        stop = min(stop, self._length)
        if start >= stop:
            return []
        first = bisect_right(self._starts, start) - 1
        text = "\0".join(self._texts[first : bisect_left(self._starts, stop)])
        before = self._starts[first]
        return (text.casefold() if fold else text).split("\0")[start - before : stop - before]
