"""EPC over stdin and stdout: no other user can reach it, and it ends with its client."""

import logging
import os
import sys
import threading

from backstaff.server import Server
from backstaff.wire.connection import Connection
from backstaff.wire.frame import BadFrame
from backstaff.workers import Workers

logger = logging.getLogger(__name__)

READ_BYTES = 1 << 16
EXIT_BAD_FRAME = 76


def serve(server: Server) -> int:
    """Serve until stdin ends; return the exit status. Only the main thread calls this, and once."""
    # Descriptors 0 and 1 are the protocol's alone; a stray `print` goes to stderr from here on.
    incoming, outgoing = os.dup(0), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    lock = threading.Lock()

    def send(data: bytes) -> None:
        with lock:
            outgoing.write(data)
            outgoing.flush()

    connection = Connection(server, send, Workers())
    try:
        while data := os.read(incoming, READ_BYTES):
            connection.receive(data)
    except BadFrame as error:
        logger.error("%s: the stream cannot be trusted any more", error)  # noqa: TRY400  # no bug
        return EXIT_BAD_FRAME
    except BrokenPipeError:
        logger.info("the client stopped reading")
    return 0
