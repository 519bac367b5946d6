"""The first rows of a long answer, as many as fit, and how many do not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

MAX_OUTPUT_BYTES = 15 << 20
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Settings:
    """The table of a tool whose text `max_output_bytes` bounds."""

    max_output_bytes: int = field(default=1 << 20, metadata={"limits": (256, MAX_OUTPUT_BYTES)})


@dataclass(slots=True)
class Page(Generic[Row]):
    """Lines of text within LIMIT bytes, each with the row that stands for it in the data.

    It takes rows until one does not fit, and only counts from there on: what it keeps is bounded
    by the answer.
    """

    limit: int
    rows: list[Row] = field(default_factory=list)
    total: int = 0
    full: bool = False
    _lines: list[str] = field(default_factory=list)
    _text: int = 0

    @property
    def left_out(self) -> int:
        """How many rows are not in the answer."""
        return self.total - len(self.rows)

    def skip(self) -> None:
        """Count a row that comes when no more are taken."""
        self.total += 1

    def add(self, line: str, row: Row) -> None:
        """Take ROW with its LINE, if it fits."""
        self.total += 1
        text = self._text + _bytes(line)
        self.full = self.full or text > self.limit
        if not self.full:
            self.rows.append(row)
            self._lines.append(line)
            self._text = text

    def finish(self, head: str, tail: Callable[[int], str]) -> str:
        """HEAD, the lines and TAIL of the number left out; no line stays that has no room."""
        while self._lines and _bytes(head + tail(self.left_out)) + self._text > self.limit:
            self.rows.pop()
            self._text -= _bytes(self._lines.pop())
        return "".join((head, *self._lines, tail(self.left_out)))


def left_out(count: int, noun: str, limit: int, remedy: str) -> str:
    """The line that tells of COUNT rows that had no room, and the REMEDY; nothing for none."""
    if not count:
        return ""
    return f"... {count} more {noun} left out for a limit of {limit} bytes: {remedy}\n"


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
