"""The one walk: pre-order below an open directory, by descriptor, never through a link.

Each directory is opened by its name relative to the descriptor of its parent, with O_NOFOLLOW. So a
directory that is swapped for a link meanwhile is not entered; it counts as unreadable. The caller
orders each directory and chooses those to enter, and nothing is statted. The walk holds a
descriptor for each level, `DEEPEST` at most; a deeper directory counts as unreadable.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded, PathError, path_error
from backstaff.fs.entry import Kind, Named
from backstaff.fs.handles import DEEPEST, HANDLES

Arrange = Callable[[int, str], Iterable[Named]]
"""Reads an open directory, given with its path ("" for the start), and filters and orders it.

It reads at once, raising `PathError`, but may go on ordering as the walk proceeds. If it raises
`DeadlineExceeded`, the walk shows nothing of this directory, and ends.
"""


class Step(NamedTuple):
    """One entry. `path` is relative to the start, `depth` is 1 for the start's own children."""

    name: str
    path: str
    kind: Kind
    depth: int
    directory: int


class _Level(NamedTuple):
    directory: int
    prefix: str
    entries: Iterator[Named]


@dataclass(slots=True)
class Walk:
    """An iterator over the entries below an open directory; use it as a context manager.

    After a step that is a directory, `enter` makes the walk go into it next. `expired` says that
    the time was up and entries are missing.
    """

    start: int
    arrange: Arrange
    budget: Budget
    expired: bool = False
    _levels: list[_Level] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Read the start. Raises `PathError` when it cannot be read."""
        try:
            self._push(HANDLES.duplicate(self.start), "")
        except OSError as error:
            raise path_error(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        while self._levels:
            HANDLES.close(self._levels.pop().directory)

    def __iter__(self) -> Iterator[Step]:
        """Yield the steps in pre-order. Raises `Cancelled`."""
        levels, expired = self._levels, self.budget.expired
        new = tuple.__new__  # half the cost of Step(), which calls it in the end
        while levels:
            level, depth = levels[-1], len(levels)
            directory, prefix, entries = level
            for name, kind in entries:
                if expired():
                    self.expired = True
                    return
                yield new(Step, (name, prefix + name, kind, depth, directory))
                if not levels or levels[-1] is not level:
                    break  # one was entered, or the walk was ended meanwhile
            else:
                HANDLES.close(levels.pop().directory)
        self.expired |= expired()  # the last directory may not have been read to its end

    def enter_all(self) -> Iterator[tuple[Step, PathError]]:
        """Enter every directory. Yield each directory that cannot be read, with the reason."""
        for step in self:
            if problem := self.enter(step):
                yield step, problem

    def enter(self, step: Step) -> PathError | None:
        """Enter `step`, the directory just yielded, or return the reason why it cannot be read."""
        if len(self._levels) >= DEEPEST:
            return PathError("it is too deep")
        try:
            self._push(HANDLES.enter_to_list(step.name, step.directory), step.path)
        except PathError as error:
            return error
        except OSError as error:  # a network's file system can refuse an open directory, too
            return path_error(error)
        return None

    def _push(self, directory: int, path: str) -> None:
        """Arrange the open `directory`, and keep it open if the walk goes on in it."""
        try:
            entries = self.arrange(directory, path)
        except DeadlineExceeded:
            self.expired, entries = True, ()
            self.__exit__()
        except BaseException:
            HANDLES.close(directory)
            raise
        if entries:  # most directories hold no other; an iterator counts as some
            self._levels.append(_Level(directory, f"{path}/" if path else "", iter(entries)))
        else:
            HANDLES.close(directory)
