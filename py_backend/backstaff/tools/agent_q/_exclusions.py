"""What Agent-Q's recursive tools share: which names they leave out, and their order.

A pattern of `exclude_patterns` is about base names, at any depth and of any kind: the name itself,
`*suffix` or `prefix*`, and `*` for every name. Nothing else is special, so any other pattern that
holds a star fits no name, as in Agent-Q; of such a one, and one with a slash, `note` tells.
"""

from dataclasses import dataclass

from backstaff.fs.budget import Budget
from backstaff.fs.entry import Kind, Named, entries_in
from backstaff.fs.walk import Arrange
from backstaff.render.lines import some_of
from backstaff.render.names import quote
from backstaff.tool import Parameter, ParameterType
from backstaff.tools.agent_q._listing_rows import by_name

EXCLUDE_PATTERNS = Parameter(
    name="exclude_patterns",
    type=ParameterType.ARRAY,
    description="Names to leave out: 'name', '*suffix' or 'prefix*', e.g. ['.git', '*.o']",
    absent=(),
)


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The names to leave out; `idle` are the patterns that fit none."""

    names: frozenset[str]
    prefixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    idle: tuple[str, ...]

    @classmethod
    def of(cls, patterns: tuple[str, ...]) -> "Exclusions":
        """The PATTERNS as a model gives them."""
        usable = [pattern for pattern in patterns if _fits_a_name(pattern)]
        return cls(
            names=frozenset(pattern for pattern in usable if "*" not in pattern),
            prefixes=tuple(p[:-1] for p in usable if p.endswith("*")),
            suffixes=tuple(p[1:] for p in usable if p.startswith("*")),
            idle=tuple(pattern for pattern in patterns if not _fits_a_name(pattern)),
        )

    @property
    def some(self) -> bool:
        """Whether any name is left out."""
        return bool(self.names or self.prefixes or self.suffixes)

    def match(self, name: str) -> bool:
        """Whether NAME is to be left out."""
        return name in self.names or name.startswith(self.prefixes) or name.endswith(self.suffixes)

    def note(self) -> str | None:
        """What a caller should know of patterns that do nothing, if there are any."""
        if not self.idle:
            return None
        count = len(self.idle)
        shown = some_of(map(quote, self.idle), count, between=", ") or f"{count} patterns"
        verb = "excludes" if count == 1 else "exclude"
        words = "a pattern is a name, '*suffix' or 'prefix*', without a slash"
        return f"{shown} {verb} nothing: {words}"


def _fits_a_name(pattern: str) -> bool:
    stars = pattern.count("*")
    at_an_end = pattern.startswith("*") or pattern.endswith("*")
    return bool(pattern) and "/" not in pattern and (not stars or (stars == 1 and at_an_end))


def arranged(exclusions: Exclusions, budget: Budget) -> Arrange:
    """Reads a directory in the order of list_directory, without what EXCLUSIONS match."""

    def arrange(directory: int, _path: str) -> list[Named]:
        entries = entries_in(directory, budget)
        if exclusions.some:
            checked = budget.checked(entries)
            entries = [entry for entry in checked if not exclusions.match(entry[0])]
        budget.check()  # if not all was read, nothing of it is shown
        inner, file = Kind.DIRECTORY, Kind.FILE
        kinds = {name: kind for name, kind in entries if kind is not file}
        directories = by_name([name for name, kind in entries if kind is inner], budget)
        files = by_name([name for name, kind in entries if kind is not inner], budget)
        return [(name, kinds.get(name, file)) for name in (*directories, *files)]

    return arrange
