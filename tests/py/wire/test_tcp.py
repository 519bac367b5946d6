"""The server over TCP, as python-epc's own client and stock Emacs clients use it."""

import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from epc.client import EPCClient
from epc.handler import EPCError, ReturnError
from sexpdata import Symbol

from backstaff.registry import discover
from backstaff.wire.stdio import EXIT_BAD_FRAME
from backstaff.wire.tcp import MAX_SILENT
from tests.py.epc import SOURCE, Client, Start, frame, parsed, plain
from tests.py.processes import DEADLINE, as_nobody, as_root, in_child
from tests.py.servers import fitting
from tests.py.trees import Plant
from tests.py.wire.test_peer import reset

pytestmark = pytest.mark.slow

LOOPBACK = "127.0.0.1"


class Stock:
    """The client of python-epc, which needs care to be closed."""

    def __init__(self, port: int) -> None:
        logging.getLogger("epc").setLevel(logging.CRITICAL)
        self.client = EPCClient((LOOPBACK, port))

    def call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401
        return plain(self.client.call_sync(method, list(arguments), timeout=DEADLINE))

    def methods(self) -> Any:  # noqa: ANN401
        return plain(self.client.methods_sync(timeout=DEADLINE))

    def close(self) -> None:
        with suppress(OSError):
            self.client.socket.shutdown(socket.SHUT_RDWR)
        self.client.handler_thread.join(DEADLINE)
        self.client.socket.close()


@pytest.fixture
def server(tree: Plant, start: Start) -> Client:
    """A server process over TCP."""
    return start("serve", "--root", str(tree({"f": "12345", ".claude/commands/go.md": "text"})))


@pytest.fixture
def port(server: Client) -> int:
    """The port of that server."""
    return int(server.line())


@pytest.fixture
def stock(port: int) -> Iterator[Stock]:
    """A stock client that was accepted."""
    client = Stock(port)
    assert client.call("ping") is True
    yield client
    client.close()


def receive(connection: socket.socket) -> bytes:
    """Return the next frame's body, or nothing if the other end hung up."""
    with connection.makefile("rb") as stream:
        header = stream.read(6)
        return stream.read(int(header, 16)) if header else b""


def test_stock_client_calls_every_tool(stock: Stock) -> None:
    tools = discover().by_id
    for name, tool in tools.items():
        pairs = fitting(tool).items()
        arguments = [item for key, value in pairs for item in (Symbol(f":{key}"), value)]
        value = stock.call(name, arguments)
        # Without a git repository there are no changes.
        assert (value[":ok"] is True) is ("/git_" not in name), value
        assert value[":tool"] == name
        assert value[":text"]
    assert {name for name, *_ in stock.methods()} >= {*tools, "list_directory", "ping"}
    assert {tool[":id"] for tool in stock.call("describe")} == set(tools)


def test_stock_client_sees_errors(stock: Stock) -> None:
    with pytest.raises(EPCError, match="No such tool: nothing"):
        stock.call("nothing")
    with pytest.raises(ReturnError, match="cancel takes UID"):
        stock.call("cancel")
    assert stock.call("get_file_info", [Symbol(":path"), "f"])[":data"][":size"] == 5


def test_client_over_tcp_is_no_person(stock: Stock) -> None:
    reply = stock.call("get_file_info", [Symbol(":path"), "f"], [Symbol(":person"), True])
    assert reply[":error"][":message"] == "Context key 'person' counts over a pipe only, for Emacs"


def test_port_is_the_only_line_of_stdout(server: Client, port: int) -> None:
    client = Stock(port)
    client.call("list_directory", [Symbol(":path"), "."])
    client.close()
    assert server.wait() == 0
    assert server.rest() == b""
    assert server.log() == ""


def test_messages_are_never_logged(tree: Plant, start: Start) -> None:
    # python-epc would print every one of them.
    root = tree({"a-secret-name": ""})
    server = start("serve", "--root", str(root), "--log-level", "debug")
    client = Stock(int(server.line()))
    assert "a-secret-name" in client.call("list_directory", [Symbol(":path"), "."])[":text"]
    client.close()
    server.wait()
    assert "secret" not in server.log()
    assert "AutoLog" not in server.log()


def test_server_ends_with_its_client(server: Client, stock: Stock) -> None:
    stock.close()
    assert server.wait() == 0


def test_server_ends_with_a_client_that_breaks_the_stream(server: Client, port: int) -> None:
    with socket.create_connection((LOOPBACK, port), DEADLINE) as connection:
        connection.sendall(frame(b"(call 1 ping ())") + b"zzzzzz")
        assert parsed(receive(connection)) == ("return", 1, True)
        assert server.wait() == EXIT_BAD_FRAME
    assert "zzzzzz" in server.log()


@pytest.mark.check(43)
def test_second_client_is_refused(port: int, stock: Stock) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, port), DEADLINE)
    assert stock.call("ping") is True


@pytest.mark.check(43)
def test_only_the_loopback_address_is_listened_to(port: int) -> None:
    # All of 127/8 is this machine, so a server that listened everywhere would also answer there.
    for address in ("127.0.0.2", "::1"):
        with pytest.raises(OSError, match=r"."):
            socket.create_connection((address, port), DEADLINE).close()
    socket.create_connection((LOOPBACK, port), DEADLINE).close()


@pytest.mark.check(43)
@as_root
def test_other_user_is_refused_and_the_own_is_still_admitted(server: Client, port: int) -> None:
    def knock() -> bytes:
        with socket.create_connection((LOOPBACK, port), DEADLINE) as connection:
            try:
                connection.sendall(frame(b"(call 1 ping ())"))
                return receive(connection)
            except ConnectionError:
                return b""

    assert as_nobody(knock) == b""
    assert parsed(in_child(knock)) == ("return", 1, True)
    assert server.wait() == 0
    assert "refused a client of another user" in server.log()


def connected(port: int, *words: bytes) -> socket.socket:
    """A connection over which `words` were sent."""
    connection = socket.create_connection((LOOPBACK, port), DEADLINE)
    for word in words:
        connection.sendall(word)
    return connection


def hung_up(connection: socket.socket) -> bool:
    """Return True if the other end closes `connection` without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:  # it had not read everything
        return True


HTTP = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize("words", [HTTP, b"\x16\x03\x01\x02\0\x01", b"SSH-2.0-x\r\n", b"\n"])
def test_who_speaks_no_epc_is_hung_up_on_and_takes_no_place(
    server: Client, port: int, words: bytes
) -> None:
    for _ in range(3):
        with connected(port, words) as stranger:
            assert hung_up(stranger)
    Stock(port).close()
    client = Stock(port)
    assert client.call("ping") is True
    client.close()
    assert server.wait() == 0
    assert "speaks no EPC" in server.log()


def test_who_scans_the_port_does_not_end_the_server(server: Client, port: int) -> None:
    for _ in range(6):
        connected(port).close()
        reset(connected(port))
        reset(connected(port, b"GET "))  # a length would make it the client, if it is seen in time
    client = Stock(port)
    assert client.call("ping") is True
    client.close()
    assert server.wait() == 0


def test_client_is_who_speaks_first_however_many_wait_and_all_others_are_hung_up_on(
    port: int,
) -> None:
    silent = [connected(port) for _ in range(MAX_SILENT + 4)]
    try:
        assert all(map(hung_up, silent[:4]))
        speaker, *others = silent[10:]
        speaker.sendall(b"0")  # the beginning of a length is enough to see that
        assert all(map(hung_up, others + silent[4:10]))
        with pytest.raises(ConnectionRefusedError):
            connected(port)
        speaker.sendall(frame(b"(call 1 ping ())")[1:])
        assert parsed(receive(speaker)) == ("return", 1, True)
    finally:
        for connection in silent:
            connection.close()


@pytest.mark.check(43)
@as_root
def test_other_user_who_hangs_up_does_not_end_the_server(server: Client, port: int) -> None:
    def knock() -> None:
        for _ in range(6):
            reset(connected(port))
            connected(port, frame(b"(call 1 ping ())")).close()
            reset(connected(port, frame(b"(call 1 ping ())")))

    as_nobody(knock)
    client = Stock(port)
    assert client.call("ping") is True
    client.close()
    assert server.wait() == 0


def test_stray_print_does_not_reach_stdout(start: Start) -> None:
    script = f"""
import sys
sys.path[:0] = [{str(SOURCE)!r}, {str(SOURCE.parent)!r}]
from backstaff import command_line
from backstaff.tool import Result
from tests.py.servers import registry_of

def noisy(_, __):
    print("noise", flush=True)
    return Result(text="quiet", data={{}})

command_line.discover = lambda: registry_of(noisy=noisy)
command_line.main(["serve", "--root", "/"])
"""
    server = start(command=(sys.executable, "-c", script))
    client = Stock(int(server.line()))
    assert client.call("test/noisy")[":text"] == "quiet"
    client.close()
    server.wait()
    assert server.rest() == b""
    assert "noise" in server.log()
