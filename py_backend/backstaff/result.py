"""The parts of results, beside plain mappings, lists and scalars."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat


class Keyword(str):
    """A word of a closed set: a keyword in Lisp, a string in JSON, as a StrEnum's members are."""

    __slots__ = ()


class Verbatim(dict[str, object]):
    """A mapping whose keys are a contract's names; writers keep `max_depth` as it is."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """A language's form of a row, such as "(", " " and ")" for Lisp.

    `label` writes a column's key. `column` writes its values: each, or one text for all of them.
    """

    start: str
    between: str
    end: str
    label: Callable[[str], str]
    column: Callable[[Sequence[object]], Iterable[str] | str]


@dataclass(frozen=True, slots=True)
class Rows:
    """An array of objects, kept by columns so that a writer works on a whole column at once.

    `columns` maps a snake_case key to its values, all of one length. Values are str, int, bool,
    None or words of a closed set.
    """

    columns: Mapping[str, Sequence[object]]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))

    def written(self, form: RowFormat) -> Iterator[str]:
        """Yield each row in the FORM."""
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
