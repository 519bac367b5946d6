"""The user at the other end of a loopback connection, from Linux's table of connections."""

import os
import socket
from pathlib import Path

TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _STATE, _UID = 1, 2, 3, 7
_ESTABLISHED = "01"


def same_user(connection: socket.socket, table: Path = TABLE) -> bool:
    """Whether the peer of the IPv4 loopback `connection` runs as this process's user.

    Its end must still be open: for a closed one the table has 0, which is root. Without a `table`
    (not on Linux) the answer is True: then only the loopback address and the single admitted client
    protect the server.
    """
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
    peers = [
        (fields[_STATE], int(fields[_UID]))
        for fields in map(str.split, lines[1:])
        if (fields[_LOCAL], fields[_REMOTE]) == (there, here)
    ]
    return peers == [(_ESTABLISHED, os.getuid())]
