"""What results are made of, beside plain mappings, lists and scalars."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


class Word(str):
    """A word of a closed set: a keyword in Lisp, a string in JSON. So is a StrEnum's member."""

    __slots__ = ()


class Verbatim(dict[str, object]):
    """A mapping whose keys are names from a contract: no writer may restyle them."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A table, kept by columns so that a writer can work on a whole column at once.

    `columns` maps a snake_case key to its values, all of one length. It stands for an array of
    objects, in JSON and in Lisp. Values are str, int, bool, None or words of a closed set.
    """

    columns: Mapping[str, Sequence[object]]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()), ()))

    def objects(self) -> Iterator[dict[str, object]]:
        """Yield each row as a mapping."""
        keys = tuple(self.columns)
        for row in zip(*self.columns.values(), strict=True):
            yield dict(zip(keys, row, strict=True))
