"""A call while it runs: the job for the workers that every protocol of ours makes of it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Self

from backstaff.errors import Cancelled, ErrorCode, ToolError
from backstaff.server import Call, Reply, Server
from backstaff.workers import MAX_STUCK, Workers


@dataclass(slots=True, eq=False, kw_only=True)
class RunningCall:
    """A job for the workers: a call that is answered once, by its worker or by the watcher.

    `uid` is the client's name for it. `answer` sends a reply unless one has been sent.
    """

    uid: int | str
    call: Call
    server: Server
    workers: Workers
    answer: Callable[[Self, Reply], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    answered: bool = False

    @property
    def tool_id(self) -> str:
        """The tool that is called."""
        return self.call.tool_id

    def start(self) -> bool:
        """Give the call to the workers, or answer that it will never run."""
        accepted = self.workers.submit(self)
        if not accepted:
            self.reject()
        return accepted

    def run(self) -> None:
        """Run the call and answer."""
        self.answer(self, self.server.run(self.call, self.cancelled))

    def _fail(self, error: ToolError) -> None:
        self.answer(self, self.server.fail(self.call, error))

    def allowed(self) -> float:
        """Return how many seconds from its arrival the call may take."""
        # A client that reads slowly holds a worker up, but that is no stuck file system.
        if self.answered:
            return inf
        return 0 if self.cancelled.is_set() else self.call.deadline_ms / 1000

    def abandon(self, stuck: int, *, works: bool) -> None:
        """Answer in place of the worker, which does not return."""
        code = ErrorCode.CANCELLED if self.cancelled.is_set() else ErrorCode.DEADLINE_EXCEEDED
        self.cancelled.set()  # should the worker ever return, it stops
        message = (
            "The call took too long and was abandoned; ask for less, such as a smaller directory,"
            " or allow it more time"
            if works
            else "The file system gave no answer in the time allowed, and the call was abandoned;"
            " something may be wrong with a disk or a mounted share below that path"
        )
        saturated = {"server_stuck": True} if stuck >= MAX_STUCK else {}
        self._fail(ToolError(code, message, stuck_workers=stuck, **saturated))

    def expire(self) -> None:
        """Answer that the time was up, or the call was cancelled, before it began."""
        if self.cancelled.is_set():
            error: ToolError = Cancelled()
        else:
            message = (
                f"The call waited {self.call.deadline_ms} ms behind other calls, and then its time"
                " was up; make fewer calls at once, or allow it more time"
            )
            error = ToolError(ErrorCode.DEADLINE_EXCEEDED, message)
        self._fail(error)

    def reject(self) -> None:
        """Answer that the call will never run."""
        if self.workers.saturated:
            message = (
                "This server takes no more calls, as too many hang in a file system that gives no"
                " answer; start a new one (in Emacs the next call does)"
            )
            error = ToolError(ErrorCode.SERVER_STUCK, message, server_stuck=True)
        elif self.workers.without_threads:
            message = (
                "The system lets the server start no thread for the call: this user has as many"
                " processes as the limit allows (ulimit -u); try again when some have ended"
            )
            error = ToolError(ErrorCode.BUSY, message)
        else:
            message = "Too many calls are waiting; try again when some are answered"
            error = ToolError(ErrorCode.BUSY, message)
        self._fail(error)
