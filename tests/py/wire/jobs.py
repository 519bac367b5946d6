"""Jobs for workers, without a connection around them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from backstaff.errors import ErrorCode, ToolError


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

    def fail(self, error: ToolError) -> None:
        match error.details:
            case {"stuck_workers": int() as stuck}:
                self.abandoned.append(stuck)
                self.slow += "took too long" in error.message
            case _:
                self.expired += error.code == ErrorCode.DEADLINE_EXCEEDED
                self.rejected += error.code in (ErrorCode.BUSY, ErrorCode.SERVER_STUCK)
