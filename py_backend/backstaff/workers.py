"""A few threads that run calls, so that a slow one never holds up a quick one.

Nobody knows in advance which call is slow. So a call holds one of `MAX_WORKERS` places only while
it is young, and then another one may start. A tool of which no call runs does not wait for a place.
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

MAX_WORKERS = 4
"""Maximum number of young calls, and of threads that wait for the next call."""
YOUNG_S = 0.05
"""Seconds for which a call is young."""
MAX_COMPUTING = 8
"""Maximum number of calls that use the processor: one thread of Python runs at a time."""
MAX_RUNNING = 32
"""Maximum number of calls that run, including those that wait for a process or a disk.

The first call of each tool runs beyond this and beyond `MAX_COMPUTING`.
"""
MAX_WAITING = 256
MAX_STUCK = 4
"""Maximum number of stuck workers: each may hold locks, so a server refuses calls then."""
MAX_THREADS = 48
"""Maximum number of threads, including those that still work on abandoned calls."""
CHECK_S = 0.25
"""Seconds between two checks of the running calls."""
GRACE_S = 1.0
"""Seconds that a call may take beyond its own limit, or after it is cancelled, to return."""
IDLE_S = 0.005
"""A thread that uses less processor time than this between two checks waits."""

# Only Linux and the BSDs measure the processor time of another thread.
_CLOCK_OF: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)


@dataclass(slots=True, eq=False, kw_only=True)
class RunningCall:
    """A call for a worker, which is answered once: by its worker or by the watcher.

    `uid` is the client's name for it. `answer` sends a reply unless one has been sent. The call
    arrived at `since`, and began at `began`. The check that first saw it cancelled was at
    `dropped`. `cpu_clock` measures the processor time of its thread, None if unknown. `used` is
    that time at the last check; `works` says whether it grew since the check before. `waits` says
    that the call is old enough to know, and that it waits for something else, such as a process
    that matches.
    """

    uid: int | str
    call: Call
    server: Server
    answer: Callable[[Self, Reply], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    answered: bool = False
    since: float = 0.0
    began: float = 0.0
    dropped: float = inf
    cpu_clock: int | None = None
    used: float = 0.0
    works: bool = False
    waits: bool = False
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
        """Measure whether the thread works."""
        if self.cpu_clock is None:
            return
        with suppress(OSError):  # the thread has ended meanwhile
            used = time.clock_gettime(self.cpu_clock)
            self.works = used - self.used > IDLE_S
            self.used = used

    @property
    def stuck(self) -> bool:
        """Whether the thread hangs in a system call that may never return."""
        return self.abandoned and not self.works


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
        """Jobs that run, until a thread takes them."""
        self._threads = 0
        self._idle = 0
        self._awake = threading.Event()
        self._crowded = threading.Event()
        """Set while any call waits."""
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
                # Else no thread will ever take the call, now or when another one is done.
                if self._idle or not all(one.abandoned for one in self._running):
                    if self._waiting:
                        self._crowded.set()
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

    def check_deadlines(self) -> None:
        """Abandon the overdue calls, and look at the waiting ones."""
        now, running = self._clock(), list(self._running)
        for run in running:
            run.measure()
            known = run.cpu_clock is not None and now - run.began > YOUNG_S
            run.waits = known and not run.works
        for run in running:
            if run.abandoned or not run.is_overdue(now):
                continue
            with self._lock:
                if run not in self._running:  # the call is done by now
                    continue
                run.abandoned = True
                stuck = self._stuck
            logger.warning("a call does not return; %d of the workers are stuck", stuck)
            message = (
                "The call took too long and was abandoned; ask for less, such as a smaller"
                " directory, or allow it more time"
                if run.works
                else "The file system gave no answer in the time allowed, and the call was"
                " abandoned; something may be wrong with a disk or a mounted share below that path"
            )
            details = {"server_stuck": True} if stuck >= MAX_STUCK else {}
            code = ErrorCode.DEADLINE_EXCEEDED if run.allowed() else ErrorCode.CANCELLED
            run.fail(ToolError(code, message, stuck_workers=stuck, **details))
        self.check_waiting()

    def check_waiting(self) -> None:
        """Let the calls begin that may by now, and answer those that have waited too long.

        If too many workers are stuck, these are all.
        """
        with self._lock:
            if not (full := self.saturated):
                self._begin()
            now = self._clock()
            late = [run for run in self._waiting if full or now - run.since > run.allowed()]
            self._waiting = [run for run in self._waiting if run not in late]
            if not self._waiting:
                self._crowded.clear()
        for run in late:
            error: ToolError = _saturated() if full else Cancelled()
            if not full and (allowed := run.allowed()):
                message = (
                    f"The call waited {allowed * 1000:.0f} ms behind other calls, and then its time"
                    " was up; make fewer calls at once, or allow it more time"
                )
                error = ToolError(ErrorCode.DEADLINE_EXCEEDED, message)
            run.fail(error)

    def _begin(self) -> None:
        """Give a thread to each waiting call that may run. The lock is held."""
        now = self._clock()
        live = [run for run in self._running if not run.abandoned]
        young = sum(now - run.began < YOUNG_S for run in live)
        computing = sum(not run.waits for run in live)
        places = min(MAX_WORKERS - young, MAX_COMPUTING - computing, MAX_RUNNING - len(live))
        tools = {run.tool_id for run in self._running}
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
            run.began = now
            self._waiting.remove(run)
            self._running.add(run)
            self._begun.put(run)

    def _work(self) -> None:
        goes_on = True
        while goes_on:
            run = self._begun.get()
            run.cpu_clock = _CLOCK_OF(threading.get_ident()) if _CLOCK_OF else None
            run.measure()
            try:
                run.run()
            except Exception:
                logger.exception("bug while answering a call")
            finally:
                with self._lock:
                    self._running.discard(run)
                    goes_on = self._idle < MAX_WORKERS
                    self._idle += goes_on
                    self._threads -= not goes_on
                    self._begin()

    def _watch(self) -> None:
        while True:
            self._awake.wait()
            until = self._clock() + CHECK_S  # no event says that a call is stuck
            while (left := until - self._clock()) > 0:
                if self._crowded.wait(left):
                    time.sleep(min(left, YOUNG_S))  # no event says that a call is young no more
                    self.check_waiting()
            self.check_deadlines()
            with self._lock:
                if not (self._waiting or self._running):
                    self._awake.clear()


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
