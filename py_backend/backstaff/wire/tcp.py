"""EPC over TCP for stock clients: python-epc's server, with our connection core inside.

It listens on 127.0.0.1 only, and prints its port as the first line of stdout, where
`epc:start-epc` waits for it. It admits one client of the same user, then stops listening, and ends
with that client: the first connection that speaks EPC, as a browser's page that scans ports belongs
to the same user, too. Our own Emacs client uses stdio and needs no such care.
"""

import logging
import os
import select
import socket
import string
import sys
import threading
from pathlib import Path
from typing import Any

from epc.server import EPCServer

from backstaff.server import Server
from backstaff.wire.frame import HEADER_BYTES
from backstaff.wire.stdio import answer

logger = logging.getLogger(__name__)

MAX_SILENT = 16  # connections that wait; one more closes the oldest
TABLE = Path("/proc/net/tcp")  # Linux's table of connections
_LOCAL, _REMOTE, _STATE, _UID = 1, 2, 3, 7
_ESTABLISHED = "01"


class _Listening(EPCServer):  # type: ignore[misc]  # python-epc is untyped
    request_queue_size = MAX_SILENT  # with the default of 5, further clients wait a second each

    def client(self) -> socket.socket:
        """Wait for the first connection of this user that begins a frame, and stop listening."""
        silent: dict[socket.socket, Any] = {}
        self.socket.settimeout(0)  # accepting a connection that has gone must not wait
        while True:
            waiting = select.poll()
            for one in (self.socket, *silent):
                waiting.register(one, select.POLLIN)
            readable = [descriptor for descriptor, _ in waiting.poll()]
            for ready in [one for one in silent if one.fileno() in readable]:
                try:
                    start = ready.recv(HEADER_BYTES, socket.MSG_PEEK)
                except OSError:
                    start = b""
                address = silent.pop(ready)
                if start and all(byte in string.hexdigits.encode() for byte in start):
                    self.server_close()
                    for other in silent:
                        other.close()
                    return ready
                logger.warning("%s speaks no EPC: hung up", address)
                ready.close()
            if self.socket.fileno() in readable:
                self._let_in(silent)

    def _let_in(self, silent: dict[socket.socket, Any]) -> None:
        try:
            connection, address = self.get_request()
        except OSError as error:
            logger.warning("refused a client: %s", error)
            return
        connection.settimeout(None)  # on some systems it inherits the listener's
        if not same_user(connection):
            logger.warning("refused a client of another user at %s", address)
            connection.close()
            return
        if len(silent) == MAX_SILENT:
            silent.pop(oldest := next(iter(silent)))
            oldest.close()
        silent[connection] = address


def same_user(connection: socket.socket, table: Path = TABLE) -> bool:
    """Whether the peer, which has not closed its end, runs as this user; True without a `table`."""
    try:
        lines = table.read_text("ascii").splitlines()
    except OSError:
        return True
    try:
        here, there = (
            f"{int.from_bytes(socket.inet_aton(host), 'little'):08X}:{port:04X}"
            for host, port in (connection.getsockname(), connection.getpeername())
        )
    except OSError:  # it has hung up
        return False
    rows = [row for row in map(str.split, lines[1:]) if row[_LOCAL : _REMOTE + 1] == [there, here]]
    # For an end that is closed the table has the user 0, which is root.
    return [(row[_STATE], row[_UID]) for row in rows] == [(_ESTABLISHED, str(os.getuid()))]


def serve(server: Server) -> int:
    """Serve one client until it goes; return the exit status."""
    # python-epc's logger prints every message to stderr; ours has all that matters.
    theirs = logging.getLogger("epc")
    theirs.handlers.clear()
    theirs.setLevel(logging.CRITICAL)
    server.knows_persons = False  # anything of this user's may have connected
    listening = _Listening(("127.0.0.1", 0))
    listening.print_port(sys.stdout)
    sys.stdout = sys.stderr  # for a stray `print`
    client, lock = listening.client(), threading.Lock()
    # Three calls in flight stall 40 ms where Nagle's algorithm meets a delayed acknowledgement.
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(data: bytes) -> None:
        with lock:
            client.sendall(data)

    status = answer(server, client.recv, send)
    listening.shutdown_request(client)
    return status
