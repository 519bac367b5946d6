"""A few threads that run calls, so that a slow one never holds up a quick one.

Nobody knows in advance which call is slow. So calls run side by side up to a limit, and a tool of
which no call runs does not wait for a place. A watcher abandons calls that do not return.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from queue import SimpleQueue
from typing import Self

from backstaff.errors import Cancelled, ErrorCode, ToolError
from backstaff.server import Call, Reply, Server

logger = logging.getLogger(__name__)

MAX_RUNNING = 32
"""Maximum number of calls at a time, beside the first of each tool.

Most calls wait for a process or a disk. Beside 32 that compute, a quick call was 51 ms late at the
median, because one thread of Python runs at a time.
"""
MAX_THREADS, MAX_WAITING = 48, 256
MAX_STUCK = 4
"""Maximum number of stuck workers: each may hold locks, so a server refuses calls then."""
CHECK_S, GRACE_S = 0.25, 1.0
"""Seconds between two checks of the running calls, and seconds that a call may take beyond its own
limit, or after it is cancelled, to return."""


@dataclass(slots=True, eq=False, kw_only=True)
class RunningCall:
    """A call for a worker, which is answered once: by its worker or by the watcher.

    `uid` is the client's name for it. `answer` sends a reply unless one has been sent. The call
    arrived at `since`. The check that first saw it cancelled was at `dropped`. `abandoned` says
    that it did not return in time: its thread is stuck.
    """

    uid: int | str
    call: Call
    server: Server
    answer: Callable[[Self, Reply], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    answered: bool = False
    since: float = 0.0
    dropped: float = inf
    abandoned: bool = False

    @property
    def tool_id(self) -> str:
        """The tool that is called."""
        return self.call.tool_id

    def run(self) -> None:
        """Run the call and answer."""
        self.answer(self, self.server.run(self.call, self.cancelled))

    def fail(self, error: ToolError) -> None:
        """Answer with `error`: the call hangs or will never begin. A worker that returns stops."""
        self.cancelled.set()
        self.answer(self, self.server.fail(self.call, error))

    def allowed(self) -> float:
        """Return how many seconds from its arrival the call may take."""
        # A client that reads slowly holds a worker up, but that is no stuck file system.
        if self.answered:
            return inf
        return 0 if self.cancelled.is_set() else self.call.deadline_ms / 1000

    def is_overdue(self, now: float) -> bool:
        """Whether the call's time was up, or the call was cancelled, `GRACE_S` seconds ago."""
        if allowed := self.allowed():
            return now - self.since > allowed + GRACE_S
        self.dropped = min(self.dropped, now)
        return now - self.dropped > GRACE_S


class Workers:
    """Runs calls, several at once, on threads that start as needed and then wait for more.

    The threads are daemons: one that hangs in a dead file system cannot be stopped, and must not
    keep the process from ending. An overdue call is abandoned, and another thread takes the place
    of its own.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with no thread. `clock` returns seconds and never goes back."""
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: list[RunningCall] = []
        self._running: set[RunningCall] = set()
        self._begun: SimpleQueue[RunningCall] = SimpleQueue()
        """Calls that run, until a thread takes them."""
        self._threads = self._idle = 0
        self._awake = threading.Event()
        self._watched = False

    @property
    def saturated(self) -> bool:
        """Whether so many workers are stuck that the server takes no more calls."""
        return self._stuck >= MAX_STUCK

    @property
    def _stuck(self) -> int:
        return sum(run.abandoned for run in list(self._running))

    def submit(self, run: RunningCall) -> bool:
        """Run `run` as soon as it may. If there is no room for it, fail it and return False."""
        with self._lock:
            if self.saturated:
                problem = _saturated()
            elif len(self._waiting) >= MAX_WAITING:
                message = "Too many calls are waiting; try again when some are answered"
                problem = ToolError(ErrorCode.BUSY, message)
            else:
                self._watched = self._watched or started(self._watch, "watch")
                run.since = self._clock()
                self._waiting.append(run)
                self._begin()
                # A call that waits is begun when another one is done. Is there one that will be?
                if run not in self._waiting or self._stuck < len(self._running):
                    self._awake.set()
                    return True
                self._waiting.remove(run)
                message = (
                    "The system lets the server start no thread for the call: this user has as many"
                    " processes as the limit allows (ulimit -u); try again when some have ended"
                )
                problem = ToolError(ErrorCode.BUSY, message)
        run.fail(problem)
        return False

    def _begin(self) -> None:
        """Give a thread to each waiting call that may run. The lock is held."""
        tools = [run.tool_id for run in self._running if not run.abandoned]
        for run in list(self._waiting):
            if len(tools) >= MAX_RUNNING and run.tool_id in tools:
                continue
            if not self._idle:
                if self._threads >= MAX_THREADS or not started(self._work, "worker"):
                    return
                self._threads += 1
                self._idle += 1
            self._idle -= 1
            tools.append(run.tool_id)
            self._waiting.remove(run)
            self._running.add(run)
            self._begun.put(run)

    def _work(self) -> None:
        while True:
            run = self._begun.get()
            try:
                run.run()
            except Exception:
                logger.exception("bug while answering a call")
            finally:
                with self._lock:
                    self._running.discard(run)
                    self._idle += 1
                    self._begin()

    def _watch(self) -> None:
        while True:
            self._awake.wait()
            time.sleep(CHECK_S)  # no event says that a call is overdue
            self.check_deadlines()
            with self._lock:
                if not (self._waiting or self._running):
                    self._awake.clear()

    def check_deadlines(self) -> None:
        """Abandon the overdue calls, and answer those that have waited too long.

        If too many workers are stuck, these are all.
        """
        now, running = self._clock(), list(self._running)
        for run in running:
            if run.abandoned or not run.is_overdue(now):
                continue
            with self._lock:
                if run not in self._running:  # the call is done by now
                    continue
                run.abandoned = True
                stuck = self._stuck
            logger.warning("a call does not return; %d of the workers are stuck", stuck)
            details = {"server_stuck": True} if stuck >= MAX_STUCK else {}
            code = ErrorCode.DEADLINE_EXCEEDED if run.allowed() else ErrorCode.CANCELLED
            run.fail(ToolError(code, _NO_ANSWER, stuck_workers=stuck, **details))
        with self._lock:
            if not (full := self.saturated):
                self._begin()
            late = [run for run in self._waiting if full or now - run.since > run.allowed()]
            self._waiting = [run for run in self._waiting if run not in late]
        for run in late:
            error: ToolError = _saturated() if full else Cancelled()
            if not full and (allowed := run.allowed()):
                message = (
                    f"The call waited {allowed * 1000:.0f} ms behind other calls, and then its time"
                    " was up; make fewer calls at once, or allow it more time"
                )
                error = ToolError(ErrorCode.DEADLINE_EXCEEDED, message)
            run.fail(error)


_NO_ANSWER = (
    "The call gave no answer in the time allowed and was abandoned: ask for less, such as a smaller"
    " directory, or allow it more time; or else something is wrong with a disk or a mounted share"
    " below that path"
)


def _saturated() -> ToolError:
    message = (
        "This server takes no more calls, as too many hang in a file system that gives no answer;"
        " start a new one (in Emacs the next call does)"
    )
    return ToolError(ErrorCode.SERVER_STUCK, message, server_stuck=True)


def started(work: Callable[[], None], name: str) -> bool:
    """Start a thread. Return False if the system allows no more."""
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError as error:
        logger.warning("%s", error)
        return False
    return True
