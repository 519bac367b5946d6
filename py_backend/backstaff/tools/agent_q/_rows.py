"""The rows of Agent-Q's listings, `[DIR]  name/` and `[FILE] name (1.2 KB)`; how many fit."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from backstaff.fs.entry import Kind, kind_of, link_target
from backstaff.render.names import show, width
from backstaff.render.sizes import show_size
from backstaff.render.values import Rows, Word

MINIMUM_NAME_COLUMN = 19
SHORTEST_ROW_BYTES = len("[DIR]  x/\n")
ROW_BYTES_IN_DATA = 84
"""What an entry costs in the data beside its name and target."""
REPLY_BYTES = 15 << 20
"""What the text and the data of a reply may cost together, below what one frame can hold."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Entries in the order of the listing, directories first. Status None: it could not be told."""

    directories: Sequence[str]
    files: Sequence[str]
    statuses: Sequence[os.stat_result | None]

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self.statuses)

    def first(self, count: int) -> "Listed":
        """The first COUNT of them."""
        directories = self.directories[:count]
        return Listed(directories, self.files[: count - len(directories)], self.statuses[:count])

    def text(self) -> str:
        """The rows, each ending with a newline."""
        directories = [f"[DIR]  {show(name)}/\n" for name in self.directories]
        labels = [show(name) for name in self.files]
        widths = [width(label) for label in labels]
        column = _column(max(widths, default=0))
        files = [
            f"[FILE] {label}{' ' * (column - taken)}{size}\n"
            for label, taken, size in zip(labels, widths, self._sizes(), strict=True)
        ]
        return "".join(directories + files)

    def cut(self, limit: int) -> tuple["Listed", str]:
        """As many of the first entries as fit, and their rows in at most LIMIT bytes.

        What fits is also bounded by what one reply can hold, text and data together.
        """
        text = self.text()
        if len(text.encode(errors="replace")) <= limit and self._sent(text) <= REPLY_BYTES:
            return self, text
        fitting = takewhile(lambda cost: cost[0] <= limit and cost[1] <= REPLY_BYTES, self._costs())
        shown = self.first(sum(1 for _ in fitting))
        return shown, shown.text()

    def rows(self, directory: int) -> Rows:
        """The same entries as data; DIRECTORY is the open directory that they are in."""
        names = [*self.directories, *self.files]
        kinds = [kind_of(status) if status else Kind.UNKNOWN for status in self.statuses]
        return Rows(
            {
                "name": names,
                "type": [Word("directory")] * len(self.directories)
                + [Word("file")] * len(self.files),
                "size": [status and status.st_size for status in self.statuses],
                "modified": [status and status.st_mtime_ns // 10**9 for status in self.statuses],
                "kind": kinds,
                "target": [
                    link_target(name, directory) if kind is Kind.SYMLINK else None
                    for name, kind in zip(names, kinds, strict=True)
                ],
            }
        )

    def _sizes(self) -> Iterator[str]:
        for status in self.statuses[len(self.directories) :]:
            yield f"({show_size(status.st_size)})" if status else "(size unknown)"

    def _sent(self, text: str) -> int:
        names = "".join((*self.directories, *self.files))
        return len(self) * ROW_BYTES_IN_DATA + wire_bytes(names) + wire_bytes(text)

    def _costs(self) -> Iterator[tuple[int, int]]:
        """For each entry: what the rows up to it cost in bytes of text, and of the whole reply.

        The column of the sizes moves with the longest name so far, and with it every row before.
        """
        fixed = padded = longest = sent = 0
        for name in self.directories:
            fixed += len(f"[DIR]  {show(name)}/\n".encode())
            sent += ROW_BYTES_IN_DATA + 2 * wire_bytes(name)
            yield fixed, fixed + sent
        for name, size in zip(self.files, self._sizes(), strict=True):
            label = show(name)
            taken = width(label)
            fixed += len(f"[FILE] {label}{size}\n".encode()) - taken
            sent += ROW_BYTES_IN_DATA + 2 * wire_bytes(name)
            padded, longest = padded + 1, max(longest, taken)
            rows = fixed + padded * _column(longest)
            yield rows, rows + sent


def _column(longest: int) -> int:
    return max(MINIMUM_NAME_COLUMN, longest + 2)


def wire_bytes(text: str) -> int:
    """What TEXT may cost on the wire, where everything that is not ASCII becomes an escape."""
    return len(text) if text.isascii() else 10 * len(text)
