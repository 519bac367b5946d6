"""The rows of Agent-Q's listings, `[DIR]  name/` and `[FILE] name (1.2 KB)`; how many fit."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import takewhile
from stat import S_ISLNK

from backstaff.fs.budget import Budget
from backstaff.fs.entry import MODE, MODIFIED_NS, SIZE, Facts, Kind, kinds_of, link_target
from backstaff.render.names import show, show_all, width, widths
from backstaff.render.sizes import show_sizes
from backstaff.render.values import Rows, Word
from backstaff.tool import Context

MINIMUM_NAME_COLUMN = 19
SHORTEST_ROW_BYTES = len("[DIR]  x/\n")
ROW_BYTES_IN_DATA = 84
"""What an entry costs in the data beside its name and target."""
LONGEST_ESCAPE = len(r"\U0001f600")
LONGEST_BYTE = len(r"\u0023")
REPLY_BYTES = 15 << 20
"""What the text and the data of a reply may cost together, below what one frame can hold."""
WITH_JSON = 3
"""That part of it is left where the data are wanted as JSON, too, which costs a little more."""

_PLAIN = re.compile(r"[\n !$-\[\]-~]*")


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

    def whole(self, limit: int, reply: int) -> str | None:
        """The rows, if they fit in LIMIT bytes, and text and data together in REPLY bytes."""
        text = self.text()
        fits = len(text.encode(errors="replace")) <= limit and self._sent(text) <= reply
        return text if fits else None

    def cut(self, limit: int, reply: int) -> tuple["Listed", str]:
        """As many of the first entries as fit, as `whole` has it, and their rows."""
        fitting = takewhile(lambda cost: cost[0] <= limit and cost[1] <= reply, self._costs())
        shown = self.first(sum(1 for _ in fitting))
        return shown, shown.text()

    def rows(self, directory: int) -> Rows:
        """The same entries as data; DIRECTORY is the open directory that they are in."""
        names = [*self.directories, *self.files]
        kinds = kinds_of(self.facts)
        link = Kind.SYMLINK
        return Rows(
            {
                "name": names,
                "type": [Word("directory")] * len(self.directories)
                + [Word("file")] * len(self.files),
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

    def _sent(self, text: str) -> int:
        names = "".join((*self.directories, *self.files))
        links = [facts for facts in self.facts if facts and S_ISLNK(facts[MODE])]
        targets = sum(map(_target_bytes, links))
        return len(self) * ROW_BYTES_IN_DATA + wire_bytes(names) + wire_bytes(text) + targets

    def _costs(self) -> Iterator[tuple[int, int]]:
        """For each entry: what the rows up to it cost in bytes of text, and of the whole reply.

        The column of the sizes moves with the longest name so far, and with it every row before.
        """
        fixed = padded = longest = sent = 0
        for name in self.directories:
            fixed += len(f"[DIR]  {show(name)}/\n".encode())
            sent += ROW_BYTES_IN_DATA + 2 * wire_bytes(name)
            yield fixed, fixed + sent
        told = self.facts[len(self.directories) :]
        for name, size, facts in zip(self.files, self._sizes(), told, strict=True):
            label = show(name)
            taken = width(label)
            fixed += len(f"[FILE] {label}({size})\n".encode()) - taken
            sent += ROW_BYTES_IN_DATA + 2 * wire_bytes(name) + _target_bytes(facts)
            padded, longest = padded + 1, max(longest, taken)
            rows = fixed + padded * _column(longest)
            yield rows, rows + sent


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


def reply_bytes(context: Context) -> int:
    """What text and data of the reply to a call may cost together."""
    return REPLY_BYTES // WITH_JSON if context.json else REPLY_BYTES


def _column(longest: int) -> int:
    return max(MINIMUM_NAME_COLUMN, longest + 2)


def wire_bytes(text: str) -> int:
    """What TEXT may cost on the wire, where whatever is not plain ASCII becomes an escape."""
    return len(text) if _PLAIN.fullmatch(text) else LONGEST_ESCAPE * len(text)


def _target_bytes(facts: Facts | None) -> int:
    """What the target of a link may cost, as long as its size tells; nothing for anything else."""
    if facts is None or not S_ISLNK(facts[MODE]):
        return 0
    return LONGEST_BYTE * facts[SIZE]
