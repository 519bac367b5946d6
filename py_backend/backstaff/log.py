"""The log, to a file or to stderr. Writing to stderr never waits.

A client may read the server's stderr late or never (a stock EPC client reads only its socket while
it waits), and writing to a full pipe would stop the server for good. So lines are dropped while the
pipe is full, and the log says how many when there is room again.
"""

import logging
import os
import select
import sys
from contextlib import suppress
from typing import IO

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
PIECE = 1024  # characters that fit into a pipe that is ready: the system promises 4096 bytes


def start(file: str | None, level: str) -> None:
    """Log messages of `level` or above to `file` (None: stderr). Raises OSError.

    A new file is the user's alone: a log names arguments. No link is followed, no pipe waited for.
    """
    logging.raiseExceptions = False  # on a full disk, do not print an error for each line
    handler: logging.StreamHandler[IO[str]] = NonBlockingHandler(sys.stderr)
    if file:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(file, flags, 0o600)
        handler = logging.StreamHandler(os.fdopen(descriptor, "a", errors="backslashreplace"))
    logging.basicConfig(handlers=[handler], level=level.upper(), format=FORMAT)


class NonBlockingHandler(logging.StreamHandler[IO[str]]):
    """Writes as much as the stream accepts at once, and drops the rest."""

    lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write `record`, after a note of the lines that were lost."""
        try:
            note = f"({self.lost} lines of the log were lost)\n" if self.lost else ""
            text = note + self.format(record) + self.terminator
            for start in range(0, len(text), PIECE):
                with suppress(ValueError):  # the stream is no file
                    if not select.select([], [self.stream], [], 0)[1]:
                        self.lost += 1
                        return
                self.stream.write(text[start : start + PIECE])
                self.flush()
            self.lost = 0
        except Exception:  # noqa: BLE001  # as in logging: a log is no reason to fail
            self.handleError(record)
