"""A few threads that run calls, so that a long one never holds up a quick one."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol

logger = logging.getLogger(__name__)

MAX_WORKERS = 4
MAX_WAITING = 256
MAX_STUCK = 4
"""Stuck workers with which a server takes no more calls: each may hold a file system's locks."""
LOOK_S = 0.25
"""Seconds between two looks at what is running."""
GRACE_S = 1.0
"""Seconds that a job may take beyond what it is allowed: answering takes time as well."""


class Job(Protocol):
    """A call to be run by a worker; it has one answer, whoever gives it."""

    def run(self) -> None:
        """Do the work and answer."""
        ...

    def allowed(self) -> float:
        """The seconds that it may take; infinite once the answer is under way."""
        ...

    def abandon(self, stuck: int) -> None:
        """Answer in place of `run`, which does not return; so many workers are STUCK by now."""
        ...

    def turn_away(self) -> None:
        """Answer that it will never be run, as too many workers are stuck."""
        ...


@dataclass(slots=True, eq=False)
class _Run:
    job: Job
    since: float
    abandoned: bool = False


class Workers:
    """Runs jobs in the order they come, several at once; threads are started as they are needed.

    The threads are daemons: one that is stuck in a dead file system cannot be stopped, and must
    not keep the process from ending. Its job is abandoned when it is overdue, and another thread
    takes its place (safety E10).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with no thread at all. CLOCK tells seconds and never goes back."""
        self._clock = clock
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0
        self._running: set[_Run] = set()
        self._stuck = 0
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
        now = self._clock()
        late = [
            run
            for run in list(self._running)
            if not run.abandoned and now - run.since > run.job.allowed() + GRACE_S
        ]
        for run in late:
            stuck = self._give_up(run)
            if stuck:
                logger.warning("a call does not return; %d of the workers are stuck", stuck)
                run.job.abandon(stuck)
        if self.full_of_stuck:
            self._turn_away_the_waiting()

    def _have_worker(self) -> bool:
        """See to a thread for one more job; False if there is none and none can be started."""
        if not self._watched:
            self._watched = _started(self._watch, "watch")
        if self._busy > self._threads and self._threads < MAX_WORKERS:
            self._threads += _started(self._work, "worker")
        return self._threads > 0

    def _give_up(self, run: _Run) -> int:
        """Count the worker of RUN as stuck and put another in its place; 0 if it has returned."""
        with self._lock:
            if run not in self._running:
                return 0
            run.abandoned = True
            self._stuck += 1
            self._threads -= 1
            self._busy -= 1
            if not self.full_of_stuck:
                self._have_worker()
            return self._stuck

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
            run = _Run(self._jobs.get(), self._clock())
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
            self._stuck -= 1
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
                if not self._busy:
                    self._awake.clear()


def _started(work: Callable[[], None], name: str) -> bool:
    """Whether a thread could be started: a system has only so many."""
    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError as error:
        logger.warning("%s", error)
        return False
    return True
