"""python-epc's server as its documentation shows it: the peer of our wire for the stock client."""

from epc.server import ThreadingEPCServer


def ping() -> bool:
    """Answer at once."""
    return True


server = ThreadingEPCServer(("localhost", 0))
server.register_function(ping)
server.print_port()
server.serve_forever()
