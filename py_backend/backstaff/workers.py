"""A few threads that run calls, so that a long one never holds up a quick one."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol, Self

logger = logging.getLogger(__name__)

MAX_WORKERS = 4
MAX_WAITING = 256
MAX_STUCK = 4
"""Stuck workers with which a server takes no more calls: each may hold a file system's locks."""
MAX_THREADS = 16
"""Workers at most, those included whose jobs were abandoned and that are still at work."""
LOOK_S = 0.25
"""Seconds between two looks at what is running."""
GRACE_S = 1.0
"""Seconds that a job may take beyond what it is allowed: answering takes time as well."""
IDLE_S = 0.005
"""Seconds of processor time between two looks below which a thread waits and does not work."""


# Only Linux and the BSDs tell the processor time of another thread.
_CLOCK_OF: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)


class Job(Protocol):
    """A call to be run by a worker; it has one answer, whoever gives it."""

    def run(self) -> None:
        """Do the work and answer."""
        ...

    def allowed(self) -> float:
        """The seconds that it may take; infinite once the answer is under way."""
        ...

    def abandon(self, stuck: int, *, works: bool) -> None:
        """Answer in place of `run`, which does not return.

        So many workers are STUCK by now; this one is not if it WORKS, and only takes too long.
        """
        ...

    def turn_away(self) -> None:
        """Answer that it will never be run, as too many workers are stuck."""
        ...


@dataclass(slots=True, eq=False)
class _Run:
    """A job that a thread has begun, and the processor time that the thread had used by then.

    `used` is that time at the last look, and `works` whether it grew before that. What was
    `abandoned` and does not work is stuck, in a system call that does not return.
    """

    job: Job
    since: float
    clock: int | None
    used: float = 0.0
    works: bool = False
    abandoned: bool = False

    @classmethod
    def of(cls, job: Job, since: float) -> Self:
        """The run of JOB that this very thread begins."""
        clock = _CLOCK_OF(threading.get_ident()) if _CLOCK_OF else None
        run = cls(job, since, clock)
        run.look()
        return run

    def look(self) -> None:
        """Find out whether the thread works."""
        if self.clock is None:
            return
        with suppress(OSError):  # the thread has ended meanwhile
            used = time.clock_gettime(self.clock)
            self.works = used - self.used > IDLE_S
            self.used = used

    @property
    def stuck(self) -> bool:
        """Whether the thread may never come back."""
        return self.abandoned and not self.works


class Workers:
    """Runs jobs in the order they come, several at once; threads are started as they are needed.

    The threads are daemons: one that is stuck in a dead file system cannot be stopped, and must
    not keep the process from ending. Its job is abandoned when it is overdue, and another thread
    takes its place (safety E10). The same holds for a thread that only takes too long, but that one
    is not counted as stuck: it comes back, and nobody is to be turned away because of it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with no thread at all. CLOCK tells seconds and never goes back."""
        self._clock = clock
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0
        self._running: set[_Run] = set()
        self._awake = threading.Event()
        self._watched = False

    @property
    def full_of_stuck(self) -> bool:
        """Whether so many workers are stuck that no more calls are taken."""
        return self._stuck >= MAX_STUCK

    @property
    def without_threads(self) -> bool:
        """Whether there is no thread at all, though calls came: the system lets none start."""
        return self._threads == 0

    @property
    def _stuck(self) -> int:
        return sum(run.stuck for run in list(self._running))

    def submit(self, job: Job) -> bool:
        """Have JOB run soon; False, and nothing done, if there is no room for it."""
        with self._lock:
            if self._busy - self._threads >= MAX_WAITING or self.full_of_stuck:
                return False
            self._busy += 1
            if not self._have_worker():
                self._busy -= 1
                return False
            self._awake.set()
        self._jobs.put(job)
        return True

    def look(self) -> None:
        """Abandon what is overdue. The watching thread does this again and again."""
        now, running = self._clock(), list(self._running)
        for run in running:
            run.look()
        for run in running:
            if not run.abandoned and now - run.since > run.job.allowed() + GRACE_S:
                self._give_up(run)
        if self.full_of_stuck:
            self._turn_away_the_waiting()

    def _have_worker(self) -> bool:
        """See to a thread for one more job; False if there is none and none can be started."""
        if not self._watched:
            self._watched = _started(self._watch, "watch")
        abandoned = sum(run.abandoned for run in list(self._running))
        most = min(MAX_WORKERS, MAX_THREADS - abandoned)
        if self._busy > self._threads and self._threads < most:
            self._threads += _started(self._work, "worker")
        return self._threads > 0

    def _give_up(self, run: _Run) -> None:
        """Put another worker in the place of RUN's, and have its job answered; or it has returned.

        RUN's worker counts as stuck unless it works.
        """
        with self._lock:
            if run not in self._running:
                return
            run.abandoned = True
            self._threads -= 1
            self._busy -= 1
            stuck = self._stuck
            if not self.full_of_stuck:
                self._have_worker()
        logger.warning("a call does not return; %d of the workers are stuck", stuck)
        run.job.abandon(stuck, works=run.works)

    def _turn_away_the_waiting(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return
            with self._lock:
                self._busy -= 1
            job.turn_away()

    def _work(self) -> None:
        while True:
            run = _Run.of(self._jobs.get(), self._clock())
            self._running.add(run)
            try:
                run.job.run()
            except Exception:
                logger.exception("bug while answering a call")
            finally:
                goes_on = self._is_done(run)
            if not goes_on:
                return

    def _is_done(self, run: _Run) -> bool:
        """Take RUN off the books; whether its thread is still wanted."""
        with self._lock:
            self._running.discard(run)
            if not run.abandoned:
                self._busy -= 1
                return True
            if self._threads >= MAX_WORKERS:
                return False
            self._threads += 1
            return True

    def _watch(self) -> None:
        while True:
            self._awake.wait()
            time.sleep(LOOK_S)  # nothing tells that a call is stuck: it has to be looked for
            self.look()
            with self._lock:
                if not (self._busy or self._running):
                    self._awake.clear()


def _started(work: Callable[[], None], name: str) -> bool:
    """Whether a thread could be started: a system has only so many."""
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError as error:
        logger.warning("%s", error)
        return False
    return True
