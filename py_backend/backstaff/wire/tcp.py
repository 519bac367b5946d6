"""EPC over TCP for stock clients: python-epc's server, with our connection core inside.

It listens on 127.0.0.1 only, and prints its port as the first line of stdout, where
`epc:start-epc` waits for it. It admits the first client of the same user, then stops listening, and
ends with that client. Our own Emacs client uses stdio and needs no such care.
"""

import logging
import socket
import sys
import threading

from epc.server import EPCServer

from backstaff.server import Server
from backstaff.wire.peer import same_user
from backstaff.wire.stdio import answer

logger = logging.getLogger(__name__)

CLIENT_S = 60.0
"""Maximum number of seconds until a client comes: whoever starts a server may die before."""


class _Listening(EPCServer):  # type: ignore[misc]  # python-epc is untyped
    def client(self, seconds: float = CLIENT_S) -> socket.socket | None:
        """Return the first connection of this user, and stop listening.

        Return None if for so many `seconds` nobody has come.
        """
        self.socket.settimeout(seconds)
        while True:
            try:
                connection, address = self.get_request()
            except TimeoutError:
                return None
            except OSError as error:  # it has hung up
                logger.warning("refused a client: %s", error)
                continue
            if same_user(connection):
                self.server_close()
                connection.settimeout(None)  # on some systems it inherits the listener's
                return connection  # type: ignore[no-any-return]  # as above
            logger.warning("refused a client of another user at %s", address)
            connection.close()


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
    if client is None:
        logger.warning("no client came: the server ends")
        return 0
    # Three calls in flight stall 40 ms where Nagle's algorithm meets a delayed acknowledgement.
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(data: bytes) -> None:
        with lock:
            client.sendall(data)

    status = answer(server, client.recv, send)
    listening.shutdown_request(client)
    return status
