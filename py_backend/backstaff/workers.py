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

from backstaff.errors import Cancelled, DeadlineExceeded, ErrorCode, ToolError
from backstaff.server import Call, Reply, Server, failure

logger = logging.getLogger(__name__)

# One thread of Python runs at a time: beside 8 that compute, a quick call is 33 ms late.
MAX_COMPUTING = 8  # calls that use the processor, beside the first of each tool
MAX_WAITING = 256  # calls that wait for a thread
MAX_STUCK = 4  # stuck workers: each may hold locks, so a server refuses calls then
MAX_THREADS = 48  # with those of abandoned calls; none ends, because to start one takes time
CHECK_S = 0.25  # between two checks of the running calls
GRACE_S = 1.0  # that a call may take beyond its own limit, or after it is cancelled, to return
WAITS_S = 0.005  # a thread that computes less between two checks waits, as for a process
# A thread that computes less hangs in a system call: to wait for its turn takes one 2 ms in all.
HANGS_S = 0.0001

# Only Linux and the BSDs measure the processor time of another thread.
_CLOCK_OF: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)


@dataclass(slots=True, eq=False, kw_only=True)
class RunningCall:
    """A call for a worker, which is answered once: by its worker or by the watcher."""

    uid: int | str  # the client's name for it
    call: Call
    server: Server
    encode: "Callable[[RunningCall, Reply], bytes]"  # makes a reply the whole message to `send`
    send: Callable[[bytes], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    answered: threading.Lock = field(default_factory=threading.Lock)
    due: float = inf  # when its time is up
    cpu_clock: int | None = None  # measures the processor time of its thread
    cpu_s: float = 0.0  # of that time at the last check
    # What the thread did between the last two checks: as far as is known it does both.
    computes: bool = True
    hangs: bool = True  # in a system call that may never return
    abandoned: bool = False  # it is overdue, and still runs

    def run(self) -> None:
        """Run the call, again each time that a person has said yes to it, and answer."""
        while True:
            reply = self.server.run(self.call, self.cancelled)
            self.due = inf  # a person, or a client that reads slowly, may take longer than the call
            approved = self.server.approved(self.call, reply, self.cancelled)
            if isinstance(approved, Reply):
                break
            self.call, self.due = approved, time.monotonic() + approved.deadline_ms / 1000
        self.answer(approved)

    def fail(self, error: ToolError) -> None:
        """Answer with `error`: the call hangs or will never begin. A worker that returns stops."""
        self.cancelled.set()
        self.answer(self.server.fitting(failure(self.call.tool_id, error), self.call))

    def answer(self, reply: Reply) -> None:
        """Send `reply`, unless there was an answer before."""
        message = self.encode(self, reply)
        if self.answered.acquire(blocking=False):
            try:
                self.send(message)
            except OSError as error:
                logger.info("the client went before the answer to %s: %s", self.uid, error)

    def check(self) -> None:
        """Measure the processor time that the thread has used since the last check."""
        if self.cpu_clock is not None:
            with suppress(OSError):  # the thread has ended meanwhile
                used_s = time.clock_gettime(self.cpu_clock) - self.cpu_s
                self.cpu_s += used_s
                self.computes, self.hangs = used_s > WAITS_S, used_s < HANGS_S


class Workers:
    """Runs calls, several at once, on threads that start as needed.

    The threads are daemons: one that hangs in a dead file system cannot be stopped. An overdue call
    is abandoned, and another thread takes the place of its own.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock  # it returns seconds and never goes back
        self._changed = threading.Condition()  # held while the calls change
        self._waiting: list[RunningCall] = []
        self._running: set[RunningCall] = set()
        self._unanswered: set[RunningCall] = set()
        self._begun: SimpleQueue[RunningCall] = SimpleQueue()  # until a thread takes them
        self._threads = 0
        threading.Thread(target=self._watch, name="watch", daemon=True).start()

    def stuck(self) -> int:
        """Return how many threads hang with calls that were abandoned."""
        return sum(run.abandoned and run.hangs for run in self._running.copy())

    def submit(self, run: RunningCall) -> None:
        """Run `run` as soon as it may. If there is no room for it, fail it."""
        if self.stuck() >= MAX_STUCK:
            run.fail(_SATURATED)
        elif len(self._waiting) >= MAX_WAITING:
            run.fail(_FULL)
        else:
            with self._changed:
                run.due = self._clock() + run.call.deadline_ms / 1000
                self._unanswered.add(run)
                self._waiting.append(run)
                self._begin()
                self._changed.notify()

    def cancel(self, uid: object, *, silently: bool = False) -> bool:
        """Cancel the calls `uid`; return whether there was one. With `silently`, none answers."""
        meant = [run for run in self._unanswered.copy() if run.uid == uid]
        for run in meant:
            run.cancelled.set()
            run.due = min(run.due, self._clock())
            if silently and run.answered.acquire(blocking=False):
                self._unanswered.discard(run)
        return bool(meant)

    def busy(self) -> bool:
        """Return whether an answer is still to be sent."""
        return bool(self._unanswered)

    def _begin(self) -> None:
        """Give a thread to each waiting call that may run. `_changed` is held."""
        live = [run for run in self._running if not run.abandoned]
        places = MAX_COMPUTING - sum(run.computes for run in live)
        tools = {run.call.tool_id for run in live}
        for run in list(self._waiting):
            if places <= 0 and run.call.tool_id in tools:
                continue
            if self._threads == len(self._running):  # none is idle
                if self._threads >= MAX_THREADS:
                    return
                try:
                    threading.Thread(target=self._work, name="worker", daemon=True).start()
                except RuntimeError as error:  # the watcher tries again
                    logger.warning("%s", error)
                    return
                self._threads += 1
            places -= 1
            tools.add(run.call.tool_id)
            self._waiting.remove(run)
            self._running.add(run)
            self._begun.put(run)

    def _work(self) -> None:
        while True:
            run = self._begun.get()
            run.cpu_s = time.thread_time()
            run.cpu_clock = _CLOCK_OF(threading.get_ident()) if _CLOCK_OF else None
            try:
                run.run()
            except Exception:
                logger.exception("bug while answering a call")
            finally:
                self._unanswered.discard(run)
                with self._changed:
                    self._running.discard(run)
                    self._begin()
            del run  # its texts would stay until this thread has another one

    def _watch(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._running)
            time.sleep(CHECK_S)  # no event says that a call is overdue
            self.check_deadlines()

    def check_deadlines(self) -> None:
        """Abandon the overdue calls, and answer those that wait too long or for stuck workers."""
        now, failed = self._clock(), list[tuple[RunningCall, ToolError]]()
        with self._changed:
            for run in self._running:
                run.check()
            for run in self._running:
                if run.abandoned or now <= run.due + GRACE_S:
                    continue
                run.abandoned = True
                stuck = self.stuck()
                logger.warning("a call does not return; %d of the workers are stuck", stuck)
                details = {"server_stuck": True} if stuck >= MAX_STUCK else {}
                is_gone, message = run.cancelled.is_set(), _NO_ANSWER if run.hangs else _TOO_LONG
                code = ErrorCode.CANCELLED if is_gone else ErrorCode.DEADLINE_EXCEEDED
                failed.append((run, ToolError(code, message, stuck_workers=stuck, **details)))
            if self.stuck() >= MAX_STUCK:
                failed += [(run, _SATURATED) for run in self._waiting]
                self._waiting = []
            else:
                self._begin()
                failed += [(run, _late(run)) for run in self._waiting if now >= run.due]
                self._waiting = [run for run in self._waiting if now < run.due]
        for run, error in failed:
            run.fail(error)
            self._unanswered.discard(run)


_TOO_LONG = (
    "The call took too long and was abandoned; ask for less, such as a smaller directory, or allow"
    " it more time"
)
_NO_ANSWER = (
    "The file system gave no answer in the time allowed, and the call was abandoned; something may"
    " be wrong with a disk or a mounted share below that path"
)
_SATURATED = ToolError(
    ErrorCode.SERVER_STUCK,
    "This server takes no more calls, as too many hang in a file system that gives no answer;"
    " start a new one (in Emacs the next call does)",
    server_stuck=True,
)
_FULL = ToolError(ErrorCode.BUSY, "Too many calls are waiting; try again when some are answered")


def _late(run: RunningCall) -> ToolError:
    waited = f"waited {run.call.deadline_ms} ms behind other calls, and then its time was up"
    remedy = "make fewer calls at once, or allow it more time"
    late = DeadlineExceeded(f"The call {waited}; {remedy}")
    return Cancelled() if run.cancelled.is_set() else late
