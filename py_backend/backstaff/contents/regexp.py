"""Regular expressions of Python's `re`, matched in another process that is killed at the deadline.

`re` cannot be interrupted, and no other thread runs while it matches. So nothing here looks at a
pattern; all is done by a process that runs `regexp_worker`. Two such processes stay
for the next calls, and another one takes the place of one that was killed. They end with the
server, whose end of their stdin closes.

Texts go there through memory that both share, where the system has such, and else through stdin. So
this process reads the next files while that one searches.
"""

import marshal
import mmap
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from backstaff.budget import Budget
from backstaff.contents.dialects import BadRegexp
from backstaff.errors import DeadlineExceeded, ErrorCode, ToolError

if TYPE_CHECKING:  # it takes long to load, and most servers never search
    import subprocess

PROGRAM = ("backstaff.contents.requirements", "backstaff.contents.regexp_worker")
"""The modules that a process runs, the first for the second to import."""
MAX_IDLE = 2
"""Maximum number of processes that wait for the next call."""
# A pattern is compiled in .2 ms by one that waits, and in 70 ms by a new one, on two busy cores.
TICK = 0.05
"""Seconds between two looks at a budget."""
PIECE = 1 << 16
"""Number of bytes that are read at once."""
SHARED = 1 << 21
"""Number of bytes of the memory that a process shares; longer texts go through stdin."""
REPLACES = "replace the matcher"
"""The name of a thread that starts a process in place of one that was killed."""
LAST_SECONDS = 1.0
"""A process that nobody killed at its deadline ends by itself so many seconds later."""

_START = """
import marshal, sys, types
for name, code in marshal.loads(sys.stdin.buffer.read(%d)):
    module = sys.modules[name] = types.ModuleType(name)
    exec(code, module.__dict__)
module.main()
"""


class NoMatcher(ToolError):
    """The process that matches did not start, or has ended. Neither says anything of a pattern."""

    def __init__(self, problem: str) -> None:
        remedy = "the system may be short of memory or processes; try again"
        super().__init__(ErrorCode.IO_ERROR, f"The process that matches {problem}: {remedy}")


@dataclass(slots=True)
class Regexp:
    """`pattern` in a separate process; use it as a context manager, within `budget`.

    More patterns can be compiled, each with a number of its own; `pattern` has 0.
    """

    pattern: str
    ignore_case: bool
    budget: Budget
    _worker: "_Worker" = field(init=False)

    def __enter__(self) -> Self:
        """Compile the pattern. Raises as `answer` does."""
        self._worker = _Worker.take()
        try:
            try:
                self._compile_first()
            except NoMatcher:  # someone may have ended one that waited
                self._worker.end()
                self._worker = _Worker.start()
                self._compile_first()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _compile_first(self) -> None:
        self.compile(0, self.pattern, ignore_case=self.ignore_case)

    def __exit__(self, *_: object) -> None:
        """Give the process back, or end it if it still works."""
        self._worker.give_back()

    def compile(self, number: int, pattern: str, *, ignore_case: bool) -> None:
        """Give `pattern` this `number`. Raises as `answer` does."""
        self._ask("compile", number, pattern, ignore_case)
        self.answer()

    def search(
        self,
        texts: Sequence[bytes],
        output: str,
        skipped: int,
        most: int,
        numbers: Sequence[int] = (0,),
    ) -> None:
        """Let the process search `texts` for the first of the patterns with these `numbers`.

        All has to be answered about those before. Then `candidates` has to be called, and `answer`
        for each of the first texts that it returns.
        """
        sizes, together = list(map(len, texts)), b"\n".join(texts)
        shared = self._worker.share(together)
        self._ask("search", list(numbers), sizes, shared, output, skipped, most)

    def candidates(self) -> tuple[list[tuple[int, str]], list[int], list[int]]:
        """Return which texts are none, with the reason, and those where a line can match.

        The last are those where a line can match one of the other patterns. Texts are counted from
        0. Raises as `answer` does.
        """
        unread, numbers, others = self.answer()
        self._worker.owes += len(numbers)
        return unread, numbers, others

    def answer(self) -> Any:  # noqa: ANN401 - of one of three questions
        """Wait for an answer, such as one from `regexp_worker.found_in`.

        Raises `BadRegexp`, `NoMatcher`, `DeadlineExceeded` and `Cancelled`.
        """
        try:
            word, value = self._worker.receive(self.budget)
        except OSError as error:
            raise NoMatcher(f"cannot be heard ({error.strerror})") from error
        if word == "bad":
            raise BadRegexp(*value)
        return value

    def _ask(self, *words: object) -> None:
        self.budget.check()
        # Nobody waits for ever, but a deadline can be infinite.
        seconds = min(self.budget.left(), 3600.0)
        self._worker.send((*words, seconds + LAST_SECONDS))


@dataclass(slots=True, eq=False)
class _Worker:
    """A process that matches, the memory that it shares, and how many answers it still owes."""

    process: "subprocess.Popen[bytes]"
    shared: mmap.mmap | None
    owes: int = 0
    _received: bytearray = field(default_factory=bytearray)

    @classmethod
    def take(cls) -> Self:
        """Return a process that waits, or a new one."""
        with _LOCK:
            while _IDLE:
                if (worker := _IDLE.pop()).process.poll() is None:
                    return worker  # type: ignore[return-value]  # there is no other class
                worker.end()
        return cls.start()

    @classmethod
    def start(cls) -> Self:
        """Start a process without waiting for it."""
        import subprocess

        # Nothing around it counts: neither settings, nor a project's modules. It writes no file.
        command = [sys.executable, "-I", "-S", "-B", "-W", "ignore", "-X", "utf8"]
        descriptor, shared = _shared_memory()
        try:
            code = _code()
            process = subprocess.Popen(  # noqa: S603 - no shell, and no word comes from a caller
                [*command, "-c", _START % len(code), str(descriptor)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd="/",
                start_new_session=True,
                pass_fds=() if shared is None else (descriptor,),
            )
        except OSError as error:
            raise NoMatcher(f"cannot be started ({error.strerror})") from error
        finally:
            if shared is not None:
                os.close(descriptor)
        worker = cls(process, shared)
        worker._write(code)
        return worker

    def share(self, data: bytes) -> bytes | None:
        """Put `data` into the shared memory; or return them if they have to be sent."""
        if self.shared is None or len(data) > SHARED:
            return data
        self.shared[: len(data)] = data
        return None

    def send(self, message: tuple[Any, ...]) -> None:
        """Ask for an answer. That a process has ended is noticed when one is awaited."""
        packed = marshal.dumps(message)
        self.owes += 1
        self._write(len(packed).to_bytes(4) + packed)

    def receive(self, budget: Budget) -> tuple[str, Any]:
        """The answer. Raises `DeadlineExceeded` and `Cancelled`, and `NoMatcher` if it ended."""
        answer = marshal.loads(self._read(int.from_bytes(self._read(4, budget)), budget))  # noqa: S302
        # After a bad one no other comes.
        self.owes = 0 if answer[0] == "bad" else self.owes - 1
        return answer  # type: ignore[no-any-return]

    def give_back(self) -> None:
        """Keep it for the next call. One that still works is killed, and another started."""
        if not self.owes:
            self.keep()
            return
        self.process.kill()
        try:  # that a process has ended and another started is nothing to wait for
            threading.Thread(target=self._replace, name=REPLACES, daemon=True).start()
        except RuntimeError:
            self._replace()

    def _replace(self) -> None:
        self.end()
        with suppress(NoMatcher):  # then the next call tries again
            _Worker.start().keep()

    def keep(self) -> None:
        """Let it wait for the next call; or end it if enough others do."""
        with _LOCK:
            if len(_IDLE) < MAX_IDLE:
                _IDLE.append(self)
                return
        self.end()

    def end(self) -> None:
        """Kill the process, and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        for pipe in self.process.stdin, self.process.stdout:
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        if self.shared is not None:
            self.shared.close()

    def _read(self, size: int, budget: Budget) -> bytes:
        received = self._received
        if len(received) < size:
            self._receive(size, budget)
        found = bytes(received[:size])
        del received[:size]
        return found

    def _receive(self, size: int, budget: Budget) -> None:
        """Wait for at least `size` bytes."""
        import selectors

        if self.process.stdout is None:
            raise ValueError("the process was started without pipes")
        pipe = self.process.stdout.fileno()
        # Unlike others, it takes no descriptor of its own.
        with getattr(selectors, "PollSelector", selectors.DefaultSelector)() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while len(self._received) < size:
                budget.check()
                if selector.select(min(TICK, max(0.0, budget.left()))):
                    if not (piece := os.read(pipe, max(size, PIECE))):
                        raise self._ended()
                    self._received += piece

    def _ended(self) -> ToolError:
        """The error for a process that has closed its stdout."""
        import signal
        import subprocess

        try:
            status = self.process.wait(TICK)
        except subprocess.TimeoutExpired:
            return NoMatcher("has closed its output")
        if status >= 0:
            return NoMatcher(f"ended with status {status}")
        if status == -getattr(signal, "SIGALRM", 0):  # its own deadline came first
            return DeadlineExceeded()
        return NoMatcher(f"was ended by {signal.Signals(-status).name}")

    def _write(self, data: bytes) -> None:
        if self.process.stdin is None:
            raise ValueError("the process was started without pipes")
        with suppress(OSError):  # whoever waits for an answer learns of it
            while data:
                data = data[os.write(self.process.stdin.fileno(), data) :]


_IDLE: list[_Worker] = []
_LOCK = threading.Lock()


def _shared_memory() -> tuple[int, mmap.mmap | None]:
    """Memory that has a descriptor; -1 and None where the system has none."""
    if not hasattr(os, "memfd_create"):
        return -1, None
    descriptor = -1
    try:
        descriptor = os.memfd_create("backstaff")
        os.ftruncate(descriptor, SHARED)
        return descriptor, mmap.mmap(descriptor, SHARED)
    except OSError:
        if descriptor >= 0:
            os.close(descriptor)
        return -1, None


@cache
def _code() -> bytes:
    """The program, compiled. It may come from a file or, on another host, from memory."""
    loaders: list[Any] = [spec and spec.loader for spec in map(find_spec, PROGRAM)]
    codes = [loader.get_code(name) for loader, name in zip(loaders, PROGRAM, strict=True)]
    try:
        return marshal.dumps(list(zip(PROGRAM, codes, strict=True)))
    except ValueError as error:  # marshal's word for too little memory: code can be marshalled
        raise MemoryError from error
