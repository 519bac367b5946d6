"""EPC over stdin and stdout: no other user can reach it, and it ends with its client."""

import logging
import os
from collections.abc import Callable
from functools import partial

from backstaff import streams
from backstaff.server import Server
from backstaff.streams import READ_BYTES
from backstaff.wire.connection import Connection
from backstaff.wire.frame import BadFrame
from backstaff.workers import Workers

logger = logging.getLogger(__name__)

EXIT_BAD_FRAME = 76


def serve(server: Server) -> int:
    """Serve until stdin ends; return the exit status. Only the main thread calls this, and once."""
    incoming, _, send = streams.take_over_stdio()
    return answer(server, partial(os.read, incoming), send)


def answer(server: Server, read: Callable[[int], bytes], send: Callable[[bytes], None]) -> int:
    """Answer the requests that `read` returns in pieces, until it returns b""."""
    connection = Connection(server, send, Workers())
    try:
        while data := read(READ_BYTES):
            connection.receive(data)
    except BadFrame as error:
        logger.error("%s: the stream cannot be trusted any more", error)  # noqa: TRY400  # no bug
        return EXIT_BAD_FRAME
    except OSError as error:
        logger.info("the client went: %s", error)
    return 0
