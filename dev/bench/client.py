"""Servers over a pipe: ours by EPC, the MCP server by JSON-RPC."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HEADER = 6
STOP_SECONDS = 10


class Piped:
    """A process that answers requests: stdin in, stdout out."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start `command`."""
        self.process = subprocess.Popen(  # noqa: S603  # the commands are the bench's own
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        if self.process.stdin is None or self.process.stdout is None:
            raise ValueError("pipes were asked for")
        self.requests, self.answers = self.process.stdin, self.process.stdout
        self._uid = 0

    def __enter__(self) -> Self:
        """Do nothing: it runs already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process by closing its stdin."""
        self.requests.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.answers.close()

    def exchange(self, request: bytes) -> None:
        """Send `request`."""
        self.requests.write(request)
        self.requests.flush()

    def peak(self) -> int:
        """Maximum memory so far, in bytes."""
        return self._status("VmHWM") * 1024

    def resident(self) -> int:
        """Current memory, in bytes."""
        return self._status("VmRSS") * 1024

    def descriptors(self) -> int:
        """Number of open files."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def _status(self, key: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == key:
                return int(value.split()[0])
        raise KeyError(key)


class Epc(Piped):
    """Our server. Answers are kept as bytes."""

    def call(self, method: str, arguments: str = "nil") -> bytes:
        """Return the reply to `method`, called with `arguments`, a Lisp list."""
        self._uid += 1
        body = f"(call {self._uid} {method} {arguments})\n".encode()
        self.exchange(b"%06x%b" % (len(body), body))
        answer = self.answers.read(int(self.answers.read(HEADER), 16))
        if not answer.startswith(b"(return %d " % self._uid):
            raise RuntimeError(f"{method} is answered with {answer[:200]!r}")
        return answer

    def tool(self, tool: str, arguments: str = "nil", context: str = "nil") -> bytes:
        """Return the answer of a `tool`. Raises an error if it failed."""
        answer = self.call(tool, f"({arguments} {context})")
        if b" (:ok t " not in answer[:40]:
            raise RuntimeError(f"{tool} is answered with {answer[:200]!r}")
        return answer


class Mcp(Piped):
    """An MCP server after the handshake."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start `command` and shake hands."""
        super().__init__(command)
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        self.ask("initialize", hello | {"clientInfo": {"name": "bench", "version": "0"}})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> str:
        """Return the text of the tool's answer."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text: str = result["content"][0]["text"]
        if result.get("isError"):
            raise RuntimeError(f"{tool} is answered with {text[:200]}")
        return text

    def ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return the result of `method`."""
        self._uid += 1
        self._send({"jsonrpc": "2.0", "id": self._uid, "method": method, "params": parameters})
        while line := self.answers.readline():
            answer = json.loads(line)
            if answer.get("id") == self._uid and "result" in answer:
                result: dict[str, Any] = answer["result"]
                return result
        raise RuntimeError(f"{method} is not answered")

    def _send(self, message: dict[str, Any]) -> None:
        self.exchange(json.dumps(message).encode() + b"\n")
