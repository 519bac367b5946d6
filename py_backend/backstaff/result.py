"""What results are made of, beside plain mappings, lists and scalars."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat


class Keyword(str):
    """A word of a closed set: a keyword in Lisp, a string in JSON. So is a StrEnum's member."""

    __slots__ = ()


class Verbatim(dict[str, object]):
    """A mapping whose keys are names from a contract: no writer may restyle them."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """How a language writes a row: what stands around and between its cells, and in each.

    `label` writes a column's key, `column` its values: each as a string, or all as the same one.
    """

    start: str
    between: str
    end: str
    label: Callable[[str], str]
    column: Callable[[Sequence[object]], Iterable[str] | str]


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

    def written(self, form: RowFormat) -> Iterator[str]:
        """Each row in the FORM."""
        labels = map(form.label, self.columns)
        columns = list(map(form.column, self.columns.values()))
        cells = (
            _literal(label) + (_literal(texts) if isinstance(texts, str) else "%s")
            for label, texts in zip(labels, columns, strict=True)
        )
        row = form.start + form.between.join(cells) + form.end
        varying = [texts for texts in columns if not isinstance(texts, str)]
        return map(row.__mod__, zip(*varying, strict=True) if varying else repeat((), len(self)))

    def objects(self) -> Iterator[dict[str, object]]:
        """Yield each row as a mapping."""
        keys = tuple(self.columns)
        for row in zip(*self.columns.values(), strict=True):
            yield dict(zip(keys, row, strict=True))


def _literal(text: str) -> str:
    return text.replace("%", "%%")
