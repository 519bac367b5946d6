"""Calls for workers, without a connection around them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from backstaff.errors import ErrorCode, ToolError
from backstaff.workers import RunningCall


@dataclass(eq=False)
class Doing(RunningCall):
    """A call that does `work` in at most `seconds`, and notes any other end."""

    work: Callable[[], None]
    seconds: float = 10
    tool_id: str = "test/doing"
    ends: list[int] = field(default_factory=list)
    """The number of stuck workers each time that it was abandoned."""
    slow: int = 0
    expired: int = 0
    rejected: int = 0
    uid: int | str = field(default=0, kw_only=True)
    call: Any = field(init=False)
    server: Any = field(default=None, kw_only=True)
    encode: Any = field(default=None, kw_only=True)
    send: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.call = SimpleNamespace(tool_id=self.tool_id, deadline_ms=self.seconds * 1000)

    def run(self) -> None:
        self.work()

    def fail(self, error: ToolError) -> None:
        match error.details:
            case {"stuck_workers": int() as stuck}:
                self.ends.append(stuck)
                self.slow += "took too long" in error.message
            case _:
                self.expired += error.code == ErrorCode.DEADLINE_EXCEEDED
                self.rejected += error.code in (ErrorCode.BUSY, ErrorCode.SERVER_STUCK)
