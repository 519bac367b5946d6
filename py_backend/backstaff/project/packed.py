r"""The files of a project by directory, the paths of each directory packed into one text.

`src/a.py` and `src/b.py` are packed as "src/a.py\0src/b.py", since a string for each path costs
more than all the rest of a walk. 125,000 paths take 5 MB packed and 13 MB as strings. Packed paths
read like any sequence, quickest in batches or in order.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

TOGETHER = 40
"""Number of directories that are unpacked together: 32 or 64 made matching 8 % slower."""
AT_ONCE = 1024
"""Number of paths between two looks at the clock: matching these takes under a millisecond."""


class Closed(StrEnum):
    """The reasons for not entering a directory."""

    REPOSITORY = "a repository of its own"
    UNREADABLE = "it cannot be read"


class Directory(NamedTuple):
    """A directory of a project: its `path` from the start, "" for the start itself.

    `packed` holds the paths of its files and links, and `links` names the links. A closed directory
    was not entered.
    """

    path: str
    packed: str = ""
    links: Sequence[str] = ()
    closed: Closed | None = None

    def paths(self) -> list[str]:
        """The paths of the files and links."""
        return self.packed.split("\0") if self.packed else []

    def names(self) -> list[str]:
        """The names of the files and links."""
        prefix = len(self.path) + 1 if self.path else 0
        return [path[prefix:] for path in self.paths()]


class PackedPaths(Sequence[str]):
    """The paths of all files and links in some directories, in order."""

    def __init__(self, directories: Sequence[Directory]) -> None:
        """Hold the paths of `directories`."""
        self.directories = directories
        self._latest: tuple[int, Sequence[str]] = (0, ())
        """The position of the first path in the directory that was read last, and its paths."""

    @cached_property
    def _starts(self) -> Sequence[int]:
        """The position of the first path in each directory, and the number of all paths."""
        counts = [len(one.paths()) for one in self.directories]
        return list(accumulate(counts, initial=0))

    def __len__(self) -> int:
        """Count the paths."""
        return self._starts[-1]

    def __getitem__(self, at: int) -> str:  # type: ignore[override]  # nobody takes a slice
        """The path at a position."""
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        at %= len(self)
        first, paths = self._latest
        if not 0 <= at - first < len(paths):
            number = bisect_right(self._starts, at) - 1
            first, paths = self._latest = self._starts[number], self.directories[number].paths()
        return paths[at - first]

    def __iter__(self) -> Iterator[str]:
        """Yield all paths."""
        return chain.from_iterable(map(Directory.paths, self.directories))

    def batches(self, *, fold: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Yield all paths, at most `AT_ONCE` in a list, after the position of the first of them.

        If `fold`, the case of the paths is folded.
        """
        for number in range(0, len(self.directories), TOGETHER):
            together = self.directories[number : number + TOGETHER]
            text = "\0".join([one.packed for one in together if one.packed])
            paths = (text.casefold() if fold else text).split("\0") if text else []
            for at in range(0, len(paths), AT_ONCE):  # often once
                yield self._starts[number] + at, paths[at : at + AT_ONCE]

    def picked(self, positions: Sequence[int]) -> list[str]:
        """The paths at `positions`, which ascend: a third of the time of one after the other."""
        picked: list[str] = []
        first, end, number, paths = 0, 0, -1, list[str]()
        for position in positions:
            if position >= end:
                number = bisect_right(self._starts, position, number + 1) - 1
                first, paths = self._starts[number], self.directories[number].packed.split("\0")
                end = first + len(paths)
            picked.append(paths[position - first])
        return picked

    def folded(self) -> "PackedPaths":
        """The same paths with Unicode's case folding: `Straße` becomes `strasse`."""
        # NUL is in no path, and folding keeps it.
        return PackedPaths([one._replace(packed=one.packed.casefold()) for one in self.directories])
