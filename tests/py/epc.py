"""The client's end of EPC, as small as possible: frames over pipes, with a deadline on each."""

import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
import sexpdata

import backstaff
from tests.py.attack.figures import tally
from tests.py.processes import DEADLINE

SOURCE = Path(backstaff.__file__).parents[1]
MAIN = SOURCE / "backstaff" / "__main__.py"
ISOLATED = (sys.executable, "-I", str(MAIN))
HEADER = 6

Answer = tuple[str, int, Any]
"""Kind, uid and value of a message, its Lisp read by sexpdata."""


def frame(body: bytes) -> bytes:
    """Return `body` as one frame, made without the code under test."""
    return f"{len(body):06x}".encode() + body


def parsed(body: bytes) -> Answer:
    """Return the message in `body`."""
    kind, uid, value = sexpdata.loads(body.decode())
    return kind.value(), uid, plain(value)


def plain(value: object) -> Any:  # noqa: ANN401
    """Return `value` with its plists as mappings and its keywords as strings such as ":file"."""
    match value:
        case sexpdata.Symbol():
            return value.value()
        case [sexpdata.Symbol() as first, *_] if first.value().startswith(":") and _paired(value):
            return {key.value(): plain(item) for key, item in zip(*[iter(value)] * 2, strict=True)}
        case list():
            return [plain(item) for item in value]
        case _:
            return value


def _paired(value: Sequence[object]) -> bool:
    keys = value[::2]
    return len(value) % 2 == 0 and all(
        isinstance(key, sexpdata.Symbol) and key.value().startswith(":") for key in keys
    )


class Client:
    """A server process and the pipes to it."""

    def __init__(self, command: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
        """Start `command`; `options` are those of `subprocess.Popen`."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # `end` closes it
        self._buffer = bytearray()
        self._uid = 0
        self.process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            **options,
        )

    def send(self, *bodies: bytes) -> None:
        """Send each of `bodies` in a frame, all at once."""
        self.write(b"".join(map(frame, bodies)))

    def write(self, data: bytes) -> None:
        """Send `data` unchanged.

        A write of more than a pipe holds ends early if this process is stopped or frozen meanwhile.
        """
        assert self.process.stdin
        while data:
            data = data[self.process.stdin.write(data) :]

    def call(self, method: str, *arguments: str) -> Answer:
        """Call `method` with `arguments`, each written in Lisp, and wait for the answer."""
        self._uid += 1
        self.send(f"(call {self._uid} {method} ({' '.join(arguments)}))".encode())
        answer = self.receive()
        assert answer[1] == self._uid, answer
        return answer

    def receive(self) -> Answer:
        """Return the next message."""
        return parsed(self.receive_bytes())

    def receive_bytes(self) -> bytes:
        """Return the next frame's body."""
        return self._take(int(self._take(HEADER), 16))

    def line(self) -> str:
        """Return the next line of stdout."""
        data = b""
        while not data.endswith(b"\n"):
            data += self._take(1)
        return data.decode()

    def _take(self, count: int) -> bytes:
        until = time.monotonic() + DEADLINE
        while len(self._buffer) < count:
            data = self._read(until)
            if not data:
                pytest.fail(f"the server went; exit {self.process.wait(DEADLINE)}\n{self.log()}")
            self._buffer += data
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _read(self, until: float) -> bytes:
        assert self.process.stdout
        descriptor = self.process.stdout.fileno()
        ready, _, _ = select.select([descriptor], [], [], max(0, until - time.monotonic()))
        if not ready:
            tally(hangs=1)
            pytest.fail(
                f"no answer in {DEADLINE} s; so far {bytes(self._buffer[:200])!r}\n{self.log()}"
            )
        return os.read(descriptor, 1 << 20)

    def close(self) -> int:
        """End the connection; return the exit status of the server, which must end by itself."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        """Return the exit status of the server, which must be about to end."""
        try:
            return self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the server goes on without its client\n{self.log()}")

    def rest(self) -> bytes:
        """Return the rest of stdout, once the server has ended."""
        assert self.process.stdout
        rest: bytes = self.process.stdout.read()
        return bytes(self._buffer) + rest

    def log(self) -> str:
        """Return the server's stderr."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def end(self) -> None:
        """End the process, whatever the test did."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._log):
            assert stream
            stream.close()


class Start(Protocol):
    """Starts a server for one test."""

    def __call__(self, *arguments: str, command: tuple[str, ...] = ..., **options: Any) -> Client:  # noqa: ANN401
        """Start `command` with `arguments`."""
        ...
