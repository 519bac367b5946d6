"""MCP over stdin and stdout, each message on a line: the server ends with its client."""

import logging
import os

from backstaff import streams
from backstaff.mcp.connection import Connection, Offer
from backstaff.server import Server
from backstaff.workers import Workers

logger = logging.getLogger(__name__)

READ_BYTES = 1 << 16
EXIT_INTERRUPTED = 130


def serve(server: Server, offer: Offer) -> int:
    """Serve until stdin ends; return the exit status. Only the main thread calls this, and once."""
    incoming, send = streams.claim()
    connection = Connection(server, offer, send, Workers())
    try:
        while data := os.read(incoming, READ_BYTES):
            connection.receive(data)
    except BrokenPipeError:
        logger.info("the client stopped reading")
    except KeyboardInterrupt:  # some clients interrupt a server before they close its stdin
        return EXIT_INTERRUPTED
    return 0
