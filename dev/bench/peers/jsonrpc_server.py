"""A minimal JSON-RPC server, a peer of our wire: it answers every request with true."""

import json
import sys
from typing import BinaryIO

LENGTH = b"content-length:"


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer until `incoming` ends."""
    length = 0
    while line := incoming.readline():
        if line.lower().startswith(LENGTH):
            length = int(line[len(LENGTH) :])
        elif not line.strip():
            request = json.loads(incoming.read(length))
            body = json.dumps({"jsonrpc": "2.0", "id": request.get("id"), "result": True}).encode()
            outgoing.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            outgoing.flush()


serve(sys.stdin.buffer, sys.stdout.buffer)
