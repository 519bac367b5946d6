"""A few threads that run calls, so that a long one never holds up a quick one."""

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

logger = logging.getLogger(__name__)

MAX_WORKERS = 4
MAX_WAITING = 256


class Workers:
    """Runs jobs in the order they come, several at once; threads are started as they are needed.

    The threads are daemons: one that is stuck in a dead file system cannot be stopped, and must
    not keep the process from ending.
    """

    def __init__(self) -> None:
        """Start with no thread at all."""
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0

    def submit(self, job: Callable[[], None]) -> bool:
        """Have JOB run soon; False, and nothing done, if too many are waiting already."""
        with self._lock:
            if self._busy - self._threads >= MAX_WAITING:
                return False
            self._busy += 1
            if self._busy > self._threads and self._threads < MAX_WORKERS:
                self._threads += 1
                threading.Thread(target=self._work, name="worker", daemon=True).start()
        self._jobs.put(job)
        return True

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                job()
            except Exception:
                logger.exception("bug while answering a call")
            finally:
                with self._lock:
                    self._busy -= 1
