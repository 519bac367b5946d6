"""A client's end of MCP, for a connection in this process or a server process."""

import json
from collections.abc import Mapping, Sequence
from queue import SimpleQueue
from typing import Any, Protocol

from backstaff.mcp.connection import STATELESS_VERSION, Connection
from backstaff.server import Server
from backstaff.workers import Workers
from tests.py.epc import ISOLATED, Client
from tests.py.processes import DEADLINE

Message = dict[str, Any]
META = "io.modelcontextprotocol/"
STATELESS: Message = {
    "_meta": {
        f"{META}protocolVersion": STATELESS_VERSION,
        f"{META}clientCapabilities": {},
        f"{META}clientInfo": {"name": "tests", "version": "1"},
    }
}
"""The params of a request that names its version."""
HELLO: Message = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}
"""The params of `initialize`."""


def request(method: str, params: object = None, uid: object = 1) -> Message:
    """A request; without params if they are None."""
    message = {"jsonrpc": "2.0", "id": uid, "method": method}
    return message if params is None else message | {"params": params}


def notification(method: str, **params: object) -> Message:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


class Session:
    """A connection, and the messages that it sent."""

    def __init__(
        self,
        server: Server,
        tools: Sequence[str] | None = None,
        workers: Workers | None = None,
        problem: str = "",
    ) -> None:
        """Offer `tools` of `server`, by default all."""
        self.sent: SimpleQueue[bytes] = SimpleQueue()
        ids = list(server.registry.by_id) if tools is None else tools
        self.connection = Connection(server, ids, problem, self.sent.put, workers or Workers())

    def say(self, *messages: object) -> None:
        """Send `messages`, each on a line of its own."""
        for message in messages:
            self.connection.receive(json.dumps(message).encode() + b"\n")

    def heard(self) -> Message:
        """Return the next message."""
        line = self.sent.get(timeout=DEADLINE)
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert line.isascii()
        return dict(json.loads(line))

    def ask(self, method: str, params: object = None) -> Message:
        """Return the answer to a request."""
        self.say(request(method, params))
        answer = self.heard()
        assert answer["id"] == 1
        return answer

    def result(self, method: str, params: object = None) -> Message:
        """Return the result of a request that must not fail."""
        return dict(self.ask(method, params)["result"])

    def error(self, method: str, params: object = None) -> tuple[int, str]:
        """Return the code and the message of a request that must fail."""
        error = self.ask(method, params)["error"]
        return error["code"], error["message"]

    def call(self, name: str, arguments: Mapping[str, object] | None = None) -> Message:
        """Return the result of calling the tool `name`."""
        return self.result("tools/call", {"name": name, "arguments": arguments or {}})

    def silent(self) -> bool:
        """Return True if the connection has sent nothing more."""
        return self.sent.empty()


def text(result: Message) -> str:
    """Return the text of a call's `result`, which has one block."""
    (block,) = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


class McpClient(Client):
    """A server process that speaks MCP."""

    def say(self, *messages: object) -> None:
        """Send `messages`, each on a line of its own."""
        self.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def heard(self) -> Message:
        """Return the next message."""
        return dict(json.loads(self.line()))

    def ask(self, method: str, params: object = None) -> Message:
        """Return the answer to a request."""
        self.say(request(method, params))
        return self.heard()

    def tool(self, name: str, arguments: Mapping[str, object] | None = None) -> Message:
        """Return the result of calling the tool `name`."""
        given = {"name": name, "arguments": arguments or {}}
        return dict(self.ask("tools/call", given)["result"])


class Serve(Protocol):
    """Starts an MCP server for one test."""

    def __call__(
        self,
        *arguments: str,
        command: tuple[str, ...] = ISOLATED,
        **options: Any,  # noqa: ANN401
    ) -> McpClient:
        """Start `command` with `arguments`; `options` are those of `subprocess.Popen`."""
        ...
