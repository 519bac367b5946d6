"""EPC over TCP for stock clients: python-epc's server, with our connection core inside.

It listens on 127.0.0.1 alone, prints its port as the first line of stdout (what `epc:start-epc`
waits for), admits one client of the same user, then stops listening, and ends with that client.
Our own Emacs client uses stdio, which needs no such care.
"""

import logging
import socket
import sys
import threading
from typing import Any

from epc.handler import EPCHandler
from epc.server import EPCServer

from backstaff.server import Server
from backstaff.wire.connection import Connection
from backstaff.wire.frame import BadFrame
from backstaff.wire.peer import same_user
from backstaff.wire.workers import Workers

logger = logging.getLogger(__name__)

READ_BYTES = 1 << 16


class _Handler(EPCHandler):  # type: ignore[misc]  # python-epc is untyped
    # Three calls in flight stall 40 ms where Nagle's algorithm meets a delayed acknowledgement.
    disable_nagle_algorithm = True

    server: "_OneClient"
    connection: socket.socket

    def handle(self) -> None:
        lock = threading.Lock()

        def send(data: bytes) -> None:
            with lock:
                self.connection.sendall(data)

        connection = Connection(self.server.answering, send, Workers())
        try:
            while data := self.connection.recv(READ_BYTES):
                connection.receive(data)
        except BadFrame as error:
            logger.error("%s: the client is dropped", error)  # noqa: TRY400  # no bug of ours
        except OSError as error:
            logger.info("the client went: %s", error)
        finally:
            connection.close()


class _OneClient(EPCServer):  # type: ignore[misc]  # python-epc is untyped
    admitted = False

    def __init__(self, answering: Server) -> None:
        super().__init__(("127.0.0.1", 0), RequestHandlerClass=_Handler)
        self.answering = answering

    def verify_request(self, request: socket.socket, client_address: Any) -> bool:  # noqa: ANN401
        if not same_user(request):
            logger.warning("refused a client of another user at %s", client_address)
            return False
        self.admitted = True
        self.server_close()
        return True


def serve(server: Server) -> int:
    """Serve one client until it goes; return the exit status."""
    _silence_python_epc()
    listening = _OneClient(server)
    listening.print_port(sys.stdout)
    sys.stdout = sys.stderr  # where a stray `print` goes from here on
    while not listening.admitted:
        listening.handle_request()
    return 0


def _silence_python_epc() -> None:
    """Its logger prints every message to stderr; what is worth telling, we log ourselves."""
    theirs = logging.getLogger("epc")
    theirs.handlers.clear()
    theirs.setLevel(logging.CRITICAL)
