"""The rows of Agent-Q's listings, `[DIR]  name/` and `[FILE] name (1.2 KB)`, and their order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from backstaff.budget import Budget
from backstaff.fs.entry import MODIFIED_NS, SIZE, Facts, Kind, kinds_of, link_target
from backstaff.render.lines import size
from backstaff.render.names import show_all, widths
from backstaff.render.sizes import show_size
from backstaff.result import Keyword, Rows

MAX_OUTPUT_BYTES = 15 << 20
MINIMUM_NAME_COLUMN = 19


@dataclass(frozen=True, slots=True)
class Listed:
    """Entries in order, directories first, and their facts: None for an entry without a status."""

    directories: Sequence[str]
    files: Sequence[str]
    facts: Sequence[Facts | None]

    def __len__(self) -> int:
        """The number of entries."""
        return len(self.facts)

    def first(self, count: int) -> "Listed":
        """The first `count` entries."""
        directories = self.directories[:count]
        return Listed(directories, self.files[: count - len(directories)], self.facts[:count])

    def text(self) -> str:
        """The rows, each ending with a newline."""
        directories = [f"[DIR]  {label}/\n" for label in show_all(self.directories)]
        files = self._files()
        wide = max([MINIMUM_NAME_COLUMN, *(columns + 2 for _, columns, _ in files)])
        rows = [f"[FILE] {label}{' ' * (wide - taken)}({told})\n" for label, taken, told in files]
        return "".join(directories + rows)

    def growth(self) -> Iterator[int]:
        """Yield the bytes that each row adds to those before it.

        The sizes of files stand in a column behind the longest name. So a name that is longer than
        all before it makes every earlier row longer.
        """
        for label in show_all(self.directories):
            yield len("[DIR]  /\n") + size(label)
        wide = MINIMUM_NAME_COLUMN
        for before, (label, columns, told) in enumerate(self._files()):
            wider = max(wide, columns + 2)
            row = len("[FILE] ()\n") + size(label) - columns + wider + len(told)
            yield row + before * (wider - wide)
            wide = wider

    def _files(self) -> list[tuple[str, int, str]]:
        """The name of each file, the columns that it takes, and the size, as the text has them."""
        labels, facts = show_all(self.files), self.facts[len(self.directories) :]
        sizes = [show_size(one[SIZE]) if one else "size unknown" for one in facts]
        return list(zip(labels, widths(labels), sizes, strict=True))

    def rows(self, directory: int) -> Rows:
        """The same entries as data; `directory` is the open directory that holds them."""
        names = [*self.directories, *self.files]
        kinds, link = kinds_of(self.facts), Kind.SYMLINK
        types = [Keyword("directory")] * len(self.directories)
        return Rows(
            {
                "name": names,
                "type": types + [Keyword("file")] * len(self.files),
                "size": [facts and facts[SIZE] for facts in self.facts],
                "modified": [facts and facts[MODIFIED_NS] // 10**9 for facts in self.facts],
                "kind": kinds,
                "target": [
                    link_target(name, directory) if kind is link else None
                    for name, kind in zip(names, kinds, strict=True)
                ],
            }
        )


def name_key(name: str) -> tuple[str, str]:
    """The key that orders `name`."""
    return name.casefold(), name


def by_name(names: list[str], budget: Budget, most: int | None = None) -> list[str]:
    """The first `most` of `names`, or all, without regard to case, ties by code point.

    If the time is up, only the names that were compared until then count.
    """
    if most is not None and len(names) > 4 * most:
        return nsmallest(most, budget.within(names), key=name_key)
    if len(names) > budget.AT_ONCE:
        return budget.ordered(names, name_key)[:most]
    return sorted(sorted(names), key=str.casefold)[:most]  # faster than a sort by pairs
