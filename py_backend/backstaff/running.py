"""A call while it runs: the job for the workers that every protocol of ours makes of it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Self

from backstaff.errors import ToolError
from backstaff.server import Call, Reply, Server


@dataclass(slots=True, eq=False, kw_only=True)
class RunningCall:
    """A job for the workers: a call that is answered once, by its worker or by the watcher.

    `uid` is the client's name for it. `answer` sends a reply unless one has been sent.
    """

    uid: int | str
    call: Call
    server: Server
    answer: Callable[[Self, Reply], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    answered: bool = False

    @property
    def tool_id(self) -> str:
        """The tool that is called."""
        return self.call.tool_id

    def run(self) -> None:
        """Run the call and answer."""
        self.answer(self, self.server.run(self.call, self.cancelled))

    def fail(self, error: ToolError) -> None:
        """Answer with `error`. A worker that returns later stops."""
        self.cancelled.set()
        self.answer(self, self.server.fail(self.call, error))

    def allowed(self) -> float:
        """Return how many seconds from its arrival the call may take."""
        # A client that reads slowly holds a worker up, but that is no stuck file system.
        if self.answered:
            return inf
        return 0 if self.cancelled.is_set() else self.call.deadline_ms / 1000
