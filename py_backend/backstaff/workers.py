"""A few threads that run calls, so that a long one never holds up a quick one."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol

logger = logging.getLogger(__name__)

MAX_WORKERS = 4
MAX_WAITING = 256
MAX_STUCK = 4
"""Stuck workers with which a server takes no more calls: each may hold a file system's locks."""
MAX_THREADS = 16
"""Threads at most, with those that still work on abandoned jobs."""
CHECK_S = 0.25
"""Seconds between two checks of the running jobs."""
GRACE_S = 1.0
"""Seconds that a job may take beyond its own limit: answering takes time as well."""
IDLE_S = 0.005
"""A thread that uses less processor time than this between two checks waits."""

# Only Linux and the BSDs measure the processor time of another thread.
_CLOCK_OF: Callable[[int], int] | None = getattr(time, "pthread_getcpuclockid", None)


class Job(Protocol):
    """A call for a worker. It gets one answer, from `run`, `abandon` or `reject`."""

    def run(self) -> None:
        """Do the work and answer."""

    def allowed(self) -> float:
        """Return how many seconds the job may take: 0 once cancelled, infinite once answered."""

    def abandon(self, stuck: int, *, works: bool) -> None:
        """Answer in place of `run`, which does not return.

        STUCK counts the stuck workers. This one counts too, unless it WORKS but takes too long.
        """

    def reject(self) -> None:
        """Answer that the job will never run."""


@dataclass(slots=True, eq=False)
class _Run:
    """A job on its thread. `cpu_clock` measures the thread's processor time, None if unknown.

    `used` is that time at the last check; `works` says whether it grew since the check before.
    """

    job: Job
    since: float
    cpu_clock: int | None
    used: float = 0.0
    works: bool = False
    abandoned: bool = False

    def measure(self) -> None:
        """Find out whether the thread works."""
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
    """Runs jobs in the order they come, several at once, on threads that start as needed.

    The threads are daemons: one that hangs in a dead file system cannot be stopped, and must not
    keep the process from ending. An overdue job is abandoned, and another thread takes the place
    of its own. A thread that still works returns in the end, so it does not count as stuck.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with no thread. CLOCK returns seconds and never goes back."""
        self._clock = clock
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0
        self._running: set[_Run] = set()
        self._awake = threading.Event()
        self._watched = False

    @property
    def saturated(self) -> bool:
        """Whether so many workers are stuck that the server takes no more calls."""
        return self._stuck >= MAX_STUCK

    @property
    def without_threads(self) -> bool:
        """Whether calls came but the system lets no thread start."""
        return self._threads == 0

    @property
    def _stuck(self) -> int:
        return sum(run.stuck for run in list(self._running))

    def submit(self, job: Job) -> bool:
        """Put JOB in the queue. Return False, and do nothing, if there is no room for it."""
        with self._lock:
            if self._busy - self._threads >= MAX_WAITING or self.saturated:
                return False
            self._busy += 1
            if not self._have_worker():
                self._busy -= 1
                return False
            self._awake.set()
        self._jobs.put(job)
        return True

    def check_deadlines(self) -> None:
        """Abandon the overdue jobs, and reject the waiting ones if too many workers are stuck."""
        now, running = self._clock(), list(self._running)
        for run in running:
            run.measure()
        for run in running:
            if run.abandoned or now - run.since <= run.job.allowed() + GRACE_S:
                continue
            with self._lock:
                if run not in self._running:  # the job is done by now
                    continue
                run.abandoned = True
                self._threads -= 1
                self._busy -= 1
                stuck = self._stuck
                if not self.saturated:
                    self._have_worker()
            logger.warning("a call does not return; %d of the workers are stuck", stuck)
            run.job.abandon(stuck, works=run.works)
        while self.saturated:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return
            with self._lock:
                self._busy -= 1
            job.reject()

    def _have_worker(self) -> bool:
        """Start a thread if one more job needs it. Return whether there is any."""
        if not self._watched:
            self._watched = _started(self._watch, "watch")
        abandoned = sum(run.abandoned for run in list(self._running))
        most = min(MAX_WORKERS, MAX_THREADS - abandoned)
        if self._busy > self._threads and self._threads < most:
            self._threads += _started(self._work, "worker")
        return self._threads > 0

    def _work(self) -> None:
        goes_on = True
        while goes_on:
            job = self._jobs.get()
            cpu_clock = _CLOCK_OF(threading.get_ident()) if _CLOCK_OF else None
            run = _Run(job, self._clock(), cpu_clock)
            run.measure()
            self._running.add(run)
            try:
                job.run()
            except Exception:
                logger.exception("bug while answering a call")
            finally:
                goes_on = self._is_done(run)

    def _is_done(self, run: _Run) -> bool:
        """Unregister RUN. Return whether its thread should take another job."""
        with self._lock:
            self._running.discard(run)
            if not run.abandoned:
                self._busy -= 1
            elif self._threads < MAX_WORKERS:
                self._threads += 1
            else:
                return False
            return True

    def _watch(self) -> None:
        while True:
            self._awake.wait()
            time.sleep(CHECK_S)  # no event says that a call is stuck
            self.check_deadlines()
            with self._lock:
                if not (self._busy or self._running):
                    self._awake.clear()


def _started(work: Callable[[], None], name: str) -> bool:
    """Start a thread. Return False if the system allows no more."""
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError as error:
        logger.warning("%s", error)
        return False
    return True
