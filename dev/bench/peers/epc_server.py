"""The server of python-epc, as in its documentation: the peer of our wire for the stock client."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "py_backend" / "libraries.zip"))

from epc.server import ThreadingEPCServer


def ping() -> bool:
    """Answer at once."""
    return True


server = ThreadingEPCServer(("localhost", 0))
server.register_function(ping)
server.print_port()
server.serve_forever()
