"""A client of our server over a pipe, whose answers are kept as bytes."""

import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Self

HEADER = 6
STOP_SECONDS = 10


class Epc:
    """A process that answers EPC's calls: stdin in, stdout out."""

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

    def call(self, method: str, arguments: str = "nil") -> bytes:
        """Return the reply to `method`, called with `arguments`, a Lisp list."""
        self._uid += 1
        body = f"(call {self._uid} {method} {arguments})\n".encode()
        self.requests.write(b"%06x%b" % (len(body), body))
        self.requests.flush()
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
