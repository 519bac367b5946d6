"""A few threads that run calls, so that a slow one never holds up a quick one.

Nobody knows in advance which call is slow. So calls run side by side up to a limit, and a tool of
which no call runs does not wait for a place.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from queue import SimpleQueue
from typing import Self

from backstaff.errors import Cancelled, ErrorCode, ToolError
from backstaff.server import Call, Reply, Server

logger = logging.getLogger(__name__)

MAX_COMPUTING = 8
"""Maximum number of calls that use the processor, beside the first of each tool.

One thread of Python runs at a time: beside 8 that compute, a quick call was 33 ms late at the
median, beside 4 of them 17 ms, beside 32 of them 51 ms.
"""
MAX_IDLE = 4
"""Maximum number of threads that wait for the next call, because to start one takes time."""
MAX_WAITING = 256
"""Maximum number of calls that wait for a thread."""
MAX_STUCK = 4
"""Maximum number of stuck workers: each may hold locks, so a server refuses calls then."""
MAX_THREADS = 48
"""Maximum number of threads, including those that still work on abandoned calls."""
CHECK_S = 0.25
"""Seconds between two checks of the running calls."""
GRACE_S = 1.0
"""Seconds that a call may take beyond its own limit, or after it is cancelled, to return."""
WAITS_S = 0.005
"""A thread that uses less processor time than this between two checks waits, as for a process."""
HANGS_S = 0.0001
"""A thread that uses less than this hangs in a system call.

One that waits for its turn among busy threads asks for it every 0.5 ms, which takes 2 ms in all.
"""

# Only Linux and the BSDs measure the processor time of another thread.
_CLOCK_OF: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)


@dataclass(slots=True, eq=False, kw_only=True)
class RunningCall:
    """A call for a worker, which is answered once: by its worker or by the watcher.

    `uid` is the client's name for it. `answer` sends a reply unless one has been sent. The call
    arrived at `since`. The check that first saw it cancelled was at `dropped`. `cpu_clock` measures
    the processor time of its thread, None if unknown. That time was `cpu_s` seconds at the last
    check, and `used_s` of them were used since the check before; None if there was none.
    """

    uid: int | str
    call: Call
    server: Server
    answer: Callable[[Self, Reply], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    answered: bool = False
    since: float = 0.0
    dropped: float = inf
    cpu_clock: int | None = None
    cpu_s: float = 0.0
    used_s: float | None = None
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

    def measure(self) -> None:
        """Measure how much processor time the thread has used since the last check."""
        if self.cpu_clock is None:
            return
        with suppress(OSError):  # the thread has ended meanwhile
            now = time.clock_gettime(self.cpu_clock)
            self.used_s, self.cpu_s = now - self.cpu_s, now

    @property
    def computes(self) -> bool:
        """Whether the thread uses the processor, as far as is known."""
        return self.used_s is None or self.used_s > WAITS_S

    @property
    def hangs(self) -> bool:
        """Whether the thread is in a system call that may never return, as far as is known."""
        return self.used_s is None or self.used_s < HANGS_S

    @property
    def stuck(self) -> bool:
        """Whether the call was abandoned, and its thread hangs."""
        return self.abandoned and self.hangs


class Workers:
    """Runs calls, several at once, on threads that start as needed.

    The threads are daemons: one that hangs in a dead file system cannot be stopped, and must not
    keep the process from ending. An overdue call is abandoned, and another thread takes the place
    of its own. A thread that still works returns in the end, so it does not count as stuck.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with no thread. `clock` returns seconds and never goes back."""
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: list[RunningCall] = []
        self._running: set[RunningCall] = set()
        self._begun: SimpleQueue[RunningCall] = SimpleQueue()
        """Calls that run, until a thread takes them."""
        self._threads = 0
        self._idle = 0
        self._awake = threading.Event()
        self._watched = False

    @property
    def saturated(self) -> bool:
        """Whether so many workers are stuck that the server takes no more calls."""
        return self._stuck >= MAX_STUCK

    @property
    def _stuck(self) -> int:
        return sum(run.stuck for run in list(self._running))

    def submit(self, run: RunningCall) -> bool:
        """Run `run` as soon as it may. If there is no room for it, fail it and return False."""
        with self._lock:
            problem = _saturated() if self.saturated else None
            if len(self._waiting) >= MAX_WAITING:
                message = "Too many calls are waiting; try again when some are answered"
                problem = problem or ToolError(ErrorCode.BUSY, message)
            if not problem:
                self._watched = self._watched or started(self._watch, "watch")
                run.since = self._clock()
                self._waiting.append(run)
                self._begin()
                # A call that waits is begun when another one is done. Is there one that will be?
                if run not in self._waiting or not all(one.abandoned for one in self._running):
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
        live = [run for run in self._running if not run.abandoned]
        places = MAX_COMPUTING - sum(run.computes for run in live)
        tools = {run.tool_id for run in live}
        for run in list(self._waiting):
            if places <= 0 and run.tool_id in tools:
                continue
            if not self._idle:
                if self._threads >= MAX_THREADS or not started(self._work, "worker"):
                    return
                self._threads += 1
                self._idle += 1
            self._idle -= 1
            places -= 1
            tools.add(run.tool_id)
            self._waiting.remove(run)
            self._running.add(run)
            self._begun.put(run)

    def _work(self) -> None:
        goes_on = True
        while goes_on:
            run = self._begun.get()
            run.cpu_s = time.thread_time()
            run.cpu_clock = _CLOCK_OF(threading.get_ident()) if _CLOCK_OF else None
            try:
                run.run()
            except Exception:
                logger.exception("bug while answering a call")
            finally:
                with self._lock:
                    self._running.discard(run)
                    goes_on = self._idle < MAX_IDLE
                    self._idle += goes_on
                    self._threads -= not goes_on
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
            run.measure()
        for run in running:
            if run.abandoned or not run.is_overdue(now):
                continue
            with self._lock:
                if run not in self._running:  # the call is done by now
                    continue
                run.abandoned = True
                stuck = self._stuck
            logger.warning("a call does not return; %d of the workers are stuck", stuck)
            message = _NO_ANSWER if run.hangs else _TOO_LONG
            details = {"server_stuck": True} if stuck >= MAX_STUCK else {}
            code = ErrorCode.DEADLINE_EXCEEDED if run.allowed() else ErrorCode.CANCELLED
            run.fail(ToolError(code, message, stuck_workers=stuck, **details))
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


_TOO_LONG = (
    "The call took too long and was abandoned; ask for less, such as a smaller directory, or allow"
    " it more time"
)
_NO_ANSWER = (
    "The file system gave no answer in the time allowed, and the call was abandoned; something may"
    " be wrong with a disk or a mounted share below that path"
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
