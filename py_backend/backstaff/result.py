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
class Rows:
    """An array of objects, kept by columns so that a writer works on a whole column at once.

    `columns` maps a snake_case key to its values, all of one length. Values are str, int, bool,
    None or words of a closed set.
    """

    columns: Mapping[str, Sequence[object]]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))

    def written(
        self,
        marks: Sequence[str],
        label: Callable[[str], str],
        column: Callable[[Sequence[object]], Iterable[str] | str],
    ) -> Iterator[str]:
        """Yield each row between MARKS: `( )` for Lisp, `{,}` for JSON.

        LABEL writes a column's key. COLUMN writes its values: each, or one text for all of them.
        """
        start, between, end = marks
        written = {label(key): column(values) for key, values in self.columns.items()}
        cells = (
            _literal(key) + (_literal(texts) if isinstance(texts, str) else "%s")
            for key, texts in written.items()
        )
        row = start + between.join(cells) + end
        varying = [texts for texts in written.values() if not isinstance(texts, str)]
        return map(row.__mod__, zip(*varying, strict=True) if varying else repeat((), len(self)))

    def objects(self) -> Iterator[dict[str, object]]:
        """Yield each row as a mapping."""
        for row in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, row, strict=True))


def _literal(text: str) -> str:
    return text.replace("%", "%%")
