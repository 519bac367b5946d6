"""Jobs for workers, without a connection around them."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Doing:
    """A job that does WORK, may take so many seconds, and notes how it ended otherwise."""

    work: Callable[[], None]
    seconds: float = 10
    abandoned: list[int] = field(default_factory=list)
    slow: int = 0
    turned_away: int = 0

    def run(self) -> None:
        self.work()

    def allowed(self) -> float:
        return self.seconds

    def abandon(self, stuck: int, *, works: bool) -> None:
        self.abandoned.append(stuck)
        self.slow += works

    def turn_away(self) -> None:
        self.turned_away += 1
