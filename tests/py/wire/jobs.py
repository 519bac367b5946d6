"""Jobs for workers, without a connection around them."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Doing:
    """A job that does `work` in at most `seconds`, and notes any other end."""

    work: Callable[[], None]
    seconds: float = 10
    tool_id: str = "test/doing"
    abandoned: list[int] = field(default_factory=list)
    slow: int = 0
    expired: int = 0
    rejected: int = 0

    def run(self) -> None:
        self.work()

    def allowed(self) -> float:
        return self.seconds

    def abandon(self, stuck: int, *, works: bool) -> None:
        self.abandoned.append(stuck)
        self.slow += works

    def expire(self) -> None:
        self.expired += 1

    def reject(self) -> None:
        self.rejected += 1
