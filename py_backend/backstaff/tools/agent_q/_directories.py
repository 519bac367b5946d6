"""Directories as Agent-Q's tools read them: the refusals, the order, and the names left out.

A pattern of `exclude_patterns` is about base names, at any depth and of any kind: the name itself,
`*suffix` or `prefix*`, and `*` for every name. As in Agent-Q, any other pattern with a star matches
no name. A note names such patterns, and patterns with a slash.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import nsmallest
from typing import Literal

from backstaff.budget import Budget
from backstaff.errors import PathError
from backstaff.fs.entry import Kind, Named, entries_in
from backstaff.fs.root import Place, Root
from backstaff.fs.walk import Arrange
from backstaff.render.lines import some_of
from backstaff.render.names import quote
from backstaff.render.refusals import AGENT_Q_DIRECTORY, AGENT_Q_FILE, refused

MAX_OUTPUT_BYTES = 15 << 20
EXCLUDE_PATTERNS = "Names to leave out: 'name', '*suffix' or 'prefix*', e.g. ['.git', '*.o']"
"""Describes the argument `exclude_patterns`."""

_USABLE = re.compile(r"\*[^*/]*|[^*/]+\*?")


@contextmanager
def opened(root: Root, path: str, noun: Literal["Directory", "File"]) -> Iterator[Place]:
    """Hold `path` below `root` open. As a "File" it may be of any kind.

    Raises `ToolError` if it cannot be opened, and for a `PathError` while it is in use.
    """
    of_directory = noun == "Directory"
    try:
        with root.directory(path) if of_directory else root.resolve(path) as place:
            yield place
    except PathError as error:
        words = AGENT_Q_DIRECTORY if of_directory else AGENT_Q_FILE
        raise refused(error, path, words) from error


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


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The names to leave out. The patterns in `idle` match no name."""

    names: frozenset[str]
    prefixes: tuple[str, ...]
    suffixes: tuple[str, ...]
    idle: tuple[str, ...]

    @classmethod
    def of(cls, patterns: tuple[str, ...]) -> "Exclusions":
        """Sort the `patterns` of a model by their form."""
        usable = [pattern for pattern in patterns if _USABLE.fullmatch(pattern)]
        return cls(
            names=frozenset(pattern for pattern in usable if "*" not in pattern),
            prefixes=tuple(pattern[:-1] for pattern in usable if pattern.endswith("*")),
            suffixes=tuple(pattern[1:] for pattern in usable if pattern.startswith("*")),
            idle=tuple(pattern for pattern in patterns if not _USABLE.fullmatch(pattern)),
        )

    def match(self, name: str) -> bool:
        """Whether `name` is left out."""
        return name in self.names or name.startswith(self.prefixes) or name.endswith(self.suffixes)

    def note(self) -> str | None:
        """Name the patterns that match no name, if any: `'a/b' excludes nothing: a pattern ...`."""
        if not self.idle:
            return None
        count = len(self.idle)
        shown = some_of(map(quote, self.idle), count, between=", ") or f"{count} patterns"
        verb = "excludes" if count == 1 else "exclude"
        words = "a pattern is a name, '*suffix' or 'prefix*', without a slash"
        return f"{shown} {verb} nothing: {words}"


def arranged(exclusions: Exclusions, budget: Budget) -> Arrange:
    """Make the function that reads a directory in the order of list_directory."""

    def arrange(directory: int, _path: str) -> list[Named]:
        # The first look at the clock drops a directory that was not read to its end.
        entries = budget.checked(entries_in(directory, budget))
        kinds = {name: kind for name, kind in entries if not exclusions.match(name)}
        directories = [name for name, kind in kinds.items() if kind is Kind.DIRECTORY]
        files = [name for name, kind in kinds.items() if kind is not Kind.DIRECTORY]
        names = by_name(directories, budget) + by_name(files, budget)
        return [(name, kinds[name]) for name in names]

    return arrange
