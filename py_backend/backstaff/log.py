"""The log: to a file, or to stderr, for which nobody is ever kept waiting.

Whoever started the server may not read its stderr just now, or not at all (a stock EPC client reads
nothing but its socket while it waits). Writing to a full pipe would then stop the server for good,
so what has no room there is dropped, and the log says so when there is room again.
"""

import errno
import logging
import os
import select
import sys
from typing import IO

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
PIECE = 1024
"""Characters that surely find room in a pipe that is ready: the system promises 4096 bytes."""


def start(file: str | None, level: str) -> None:
    """Log what is of LEVEL or above to FILE (None: stderr). Raises OSError if it cannot be opened.

    A new file is the user's alone, as a log names paths and what was asked. A link is not followed,
    and a pipe that nobody reads is not waited for. A log that cannot be written later, as on a full
    disk, is no reason to say so for each line.
    """
    logging.raiseExceptions = False
    handler = logging.StreamHandler(_opened(file)) if file else Unwaiting(sys.stderr)
    logging.basicConfig(handlers=[handler], level=level.upper(), format=FORMAT)


def _opened(file: str) -> IO[str]:
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        return open(
            file,
            "a",
            errors="backslashreplace",
            opener=lambda path, more: os.open(path, more | flags, 0o600),
        )
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, "the log is a link, and none is followed", file) from error


class Unwaiting(logging.StreamHandler[IO[str]]):
    """Writes to a stream as far as it takes something at once, and drops the rest."""

    lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write RECORD, after a word on those that were lost."""
        try:
            text = self.format(record) + self.terminator
            if self.lost and self._write(f"({self.lost} lines of the log were lost)\n"):
                self.lost = 0
            self.lost += not self._write(text)
        except Exception:  # noqa: BLE001  # as in logging: a log is no reason to fail
            self.handleError(record)

    def _write(self, text: str) -> bool:
        """Whether all of TEXT could be written."""
        for start in range(0, len(text), PIECE):
            if not self._has_room():
                return False
            self.stream.write(text[start : start + PIECE])
            self.flush()
        return True

    def _has_room(self) -> bool:
        try:
            return bool(select.select([], [self.stream], [], 0)[1])
        except (OSError, ValueError):  # no descriptor, or a system that asks only sockets
            return True
