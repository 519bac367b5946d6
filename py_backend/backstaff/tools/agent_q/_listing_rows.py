"""The rows of Agent-Q's listings, `[DIR]  name/` and `[FILE] name (1.2 KB)`; how many fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import takewhile

from backstaff.fs.budget import Budget
from backstaff.fs.entry import MODIFIED_NS, SIZE, Facts, Kind, kinds_of, link_target
from backstaff.render.names import show, show_all, width, widths
from backstaff.render.sizes import show_sizes
from backstaff.result import Keyword, Rows

MINIMUM_NAME_COLUMN = 19
SHORTEST_ROW_BYTES = len("[DIR]  x/\n")


@dataclass(frozen=True, slots=True)
class Listed:
    """Entries in the order of the listing, directories first; of some no facts could be told."""

    directories: Sequence[str]
    files: Sequence[str]
    facts: Sequence[Facts | None]

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self.facts)

    def first(self, count: int) -> "Listed":
        """The first COUNT of them."""
        directories = self.directories[:count]
        return Listed(directories, self.files[: count - len(directories)], self.facts[:count])

    def text(self) -> str:
        """The rows, each ending with a newline."""
        directories = [f"[DIR]  {label}/\n" for label in show_all(self.directories)]
        labels = show_all(self.files)
        taken = widths(labels)
        column = _column(max(taken, default=0))
        files = [
            f"[FILE] {label}{' ' * (column - columns)}({size})\n"
            for label, columns, size in zip(labels, taken, self._sizes(), strict=True)
        ]
        return "".join(directories + files)

    def whole(self, limit: int) -> str | None:
        """Return the rows if they fit in LIMIT bytes."""
        text = self.text()
        return text if len(text.encode(errors="replace")) <= limit else None

    def cut(self, limit: int) -> tuple["Listed", str]:
        """Return as many of the first entries as fit in LIMIT bytes, and their rows."""
        shown = self.first(
            sum(1 for _ in takewhile(lambda size: size <= limit, self._sizes_so_far()))
        )
        return shown, shown.text()

    def rows(self, directory: int) -> Rows:
        """The same entries as data; DIRECTORY is the open directory that they are in."""
        names = [*self.directories, *self.files]
        kinds = kinds_of(self.facts)
        link = Kind.SYMLINK
        return Rows(
            {
                "name": names,
                "type": [Keyword("directory")] * len(self.directories)
                + [Keyword("file")] * len(self.files),
                "size": [facts and facts[SIZE] for facts in self.facts],
                "modified": [facts and facts[MODIFIED_NS] // 10**9 for facts in self.facts],
                "kind": kinds,
                "target": [
                    link_target(name, directory) if kind is link else None
                    for name, kind in zip(names, kinds, strict=True)
                ],
            }
        )

    def _sizes(self) -> list[str]:
        told = self.facts[len(self.directories) :]
        shown = show_sizes(facts[SIZE] if facts else 0 for facts in told)
        if None not in told:
            return shown
        return [size if facts else "size unknown" for size, facts in zip(shown, told, strict=True)]

    def _sizes_so_far(self) -> Iterator[int]:
        """Yield for each entry the size in bytes of all rows up to it.

        The column of the sizes moves with the longest name so far, and with it every row before.
        """
        fixed = padded = longest = 0
        for name in self.directories:
            fixed += len(f"[DIR]  {show(name)}/\n".encode())
            yield fixed
        for name, size in zip(self.files, self._sizes(), strict=True):
            label = show(name)
            columns = width(label)
            fixed += len(f"[FILE] {label}({size})\n".encode()) - columns
            padded, longest = padded + 1, max(longest, columns)
            yield fixed + padded * _column(longest)


def by_name(names: list[str], budget: Budget, most: int | None = None) -> list[str]:
    """The first MOST of NAMES, or all, without regard to case, ties by code point.

    When the time is up, not all of many names are looked at.
    """
    if most is not None and len(names) > 4 * most:
        return nsmallest(most, budget.within(names), key=_folded_first)
    if len(names) > budget.AT_ONCE:
        return budget.ordered(names, _folded_first)[:most]
    return sorted(sorted(names), key=str.casefold)[:most]  # faster than to make pairs


def _folded_first(name: str) -> tuple[str, str]:
    return name.casefold(), name


def _column(longest: int) -> int:
    return max(MINIMUM_NAME_COLUMN, longest + 2)
