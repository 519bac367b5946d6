"""EPC over stdin and stdout: no other user can reach it, and it ends with its client."""

import logging
import os

from backstaff import streams
from backstaff.server import Server
from backstaff.wire.connection import Connection
from backstaff.wire.frame import BadFrame
from backstaff.workers import Workers

logger = logging.getLogger(__name__)

READ_BYTES = 1 << 16
EXIT_BAD_FRAME = 76


def serve(server: Server) -> int:
    """Serve until stdin ends; return the exit status. Only the main thread calls this, and once."""
    incoming, _, send = streams.take_over_stdio()
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
