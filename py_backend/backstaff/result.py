"""The parts of results, beside plain mappings, lists and scalars."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Keyword(str):
    """A word of a closed set: like members of a StrEnum, a keyword in Lisp, a string in JSON."""

    __slots__ = ()


class Verbatim(dict[str, object]):
    """A mapping whose keys are a contract's names; writers keep `max_depth` as it is."""


class NoteKind(StrEnum):
    """Kinds of notes. A client chooses its own words for a remedy by the kind."""

    CASE = "case"  # letters in another case would match
    IGNORED = "ignored"  # git ignores the files that are asked for
    LIMIT = "limit"  # a limit of entries or bytes leaves something out
    LITERAL = "literal"  # the pattern would match as plain text
    NOT_SEARCHED = "not-searched"  # files were not looked at
    PATTERN = "pattern"  # a pattern has not the effect that is meant, or another one would
    TIME = "time"  # the time was up
    UNSAVED = "unsaved"  # unsaved texts took the place of files


@dataclass(frozen=True, slots=True)
class Note:
    """A fact about an answer, and the `remedy`: `stopped as the time was up: give a directory`."""

    kind: NoteKind
    text: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return the line. After a colon in the fact, a semicolon separates the remedy."""
        between = "; " if ": " in self.text else ": "
        return self.text + (between + self.remedy if self.remedy else "")

    def data(self) -> dict[str, object]:
        """Return the parts for programs."""
        return {"kind": self.kind, "text": self.text, "remedy": self.remedy}


@dataclass(frozen=True, slots=True)
class Rows:
    """An array of objects, kept by columns so that a writer works on a whole column at once.

    Each snake_case key has values of one length: str, int, bool, None or words of a closed set.
    """

    columns: Mapping[str, Sequence[object]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def objects(self) -> Iterator[dict[str, object]]:
        """Yield each row as a mapping."""
        for row in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, row, strict=True))
