"""MCP over stdin and stdout, each message on a line: the server ends with its client."""

import logging
import os
import select
import time
from collections.abc import Sequence

from backstaff import streams
from backstaff.mcp.connection import Connection
from backstaff.server import Server
from backstaff.streams import READ_BYTES
from backstaff.workers import Workers

logger = logging.getLogger(__name__)

EXIT_INTERRUPTED = 130  # after SIGINT, as shells have it
FINISH_S = 80.0  # for the last calls once stdin has ended: a yes takes up to 65, then a call 11
CHECK_MS = 20  # between two checks whether the last calls are answered


def serve(server: Server, tools: Sequence[str], problem: str) -> int:
    """Serve `tools` until stdin ends; return the exit status. Only the main thread calls this.

    It waits for the last answers, as in `printf ... | backstaff mcp`, unless nobody can read them.
    """
    incoming, outgoing, send = streams.take_over_stdio()
    workers = Workers()
    connection = Connection(server, tools, problem, send, workers)
    try:
        try:
            while data := os.read(incoming, READ_BYTES):
                connection.receive(data)
        except BrokenPipeError:
            logger.info("the client stopped reading")
        reader = select.poll()
        reader.register(outgoing, 0)  # poll reports errors always
        until = time.monotonic() + FINISH_S
        while workers.busy() and time.monotonic() < until and not reader.poll(CHECK_MS):
            pass
    except KeyboardInterrupt:  # some clients interrupt a server before they close its stdin
        return EXIT_INTERRUPTED
    return 0
