"""The user at the other end of a loopback connection."""

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstaff.wire.tcp import TABLE, same_user

HEAD = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n"
)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's and the client's end of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        server, _ = listening.accept()
        with client, server:
            yield server, client


def listed(address: tuple[str, int]) -> str:
    """Return `address` as in the kernel's table on a little-endian machine."""
    assert address[0] == "127.0.0.1"
    return f"0100007F:{address[1]:04X}"


def table(tmp_path: Path, *rows: tuple[str, str, int], state: str = "01") -> Path:
    """Return a table of `rows`: local address, remote address, user."""
    path = tmp_path / "tcp"
    queues = "00000000:00000000 00:00000000 00000000"
    lines = [
        f"  {number}: {local} {remote} {state} {queues} {user:5} 0 77\n"
        for number, (local, remote, user) in enumerate(rows)
    ]
    path.write_text(HEAD + "".join(lines))
    return path


Ends = tuple[socket.socket, socket.socket]


def test_kernel_tells_that_this_process_is_its_own_peer(ends: Ends) -> None:
    assert same_user(ends[0])
    assert same_user(ends[1])


def test_owner_of_the_peer_s_end_decides(ends: Ends, tmp_path: Path) -> None:
    server, client = ends
    here, there = listed(server.getsockname()), listed(client.getsockname())
    me, other = os.getuid(), os.getuid() + 1
    assert same_user(server, table(tmp_path, (here, there, other), (there, here, me)))
    assert not same_user(server, table(tmp_path, (here, there, me), (there, here, other)))


def test_peer_that_is_not_listed_is_a_stranger(ends: Ends, tmp_path: Path) -> None:
    server, client = ends
    here, there = listed(server.getsockname()), listed(client.getsockname())
    assert not same_user(server, table(tmp_path))
    assert not same_user(server, table(tmp_path, (here, there, os.getuid())))
    assert not same_user(server, table(tmp_path, (there, "0100007F:0001", os.getuid())))


def test_peer_that_is_listed_twice_is_a_stranger(ends: Ends, tmp_path: Path) -> None:
    server, client = ends
    here, there = listed(server.getsockname()), listed(client.getsockname())
    rows = [(there, here, os.getuid()), (there, here, os.getuid() + 1)]
    assert not same_user(server, table(tmp_path, *rows))


@pytest.mark.parametrize("state", ["02", "04", "05", "06", "08", "0B"])
def test_peer_whose_end_is_not_open_is_a_stranger(ends: Ends, tmp_path: Path, state: str) -> None:
    """For a closed end, the kernel always reports user 0."""
    server, client = ends
    here, there = listed(server.getsockname()), listed(client.getsockname())
    row = (there, here, os.getuid())
    assert same_user(server, table(tmp_path, row))
    assert not same_user(server, table(tmp_path, row, state=state))


def test_peer_that_has_closed_is_a_stranger(ends: Ends) -> None:
    ends[1].close()
    assert not same_user(ends[0])


def test_peer_that_has_reset_the_connection_is_a_stranger(ends: Ends) -> None:
    server, client = ends
    reset(client)
    assert not same_user(server)


def reset(connection: socket.socket) -> None:
    """Hang up abruptly."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_nothing_is_known_without_a_table(ends: Ends, tmp_path: Path) -> None:
    assert same_user(ends[0], tmp_path / "nothing")


def test_table_is_the_kernel_s() -> None:
    assert Path("/proc/net/tcp") == TABLE
