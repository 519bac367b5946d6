"""Regular expressions of Python's `re`, matched in other processes that are killed at the deadline.

`re` cannot be interrupted, and no other thread runs while it matches. So nothing here looks at a
pattern; all is done by processes that run `regexp_worker`. They read the files as well, below a
directory of which they get the descriptor, so several processors search. Some processes stay for
the next calls. They end with the server, whose end of their socket closes.
"""

import marshal
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from backstaff.budget import Budget
from backstaff.contents.dialects import BadRegexp
from backstaff.contents.regexp_worker import Job, Pattern
from backstaff.errors import DeadlineExceeded, ErrorCode, ToolError

if TYPE_CHECKING:  # they take long to load, and most servers never search
    import socket
    import subprocess

_MODULES = """
errors budget globs.wildcards fs.secrets fs.handles fs.entry fs.file fs.contents
contents.requirements structure.language structure.languages structure.code structure.walker
structure.headings structure.outline contents.regexp_worker
"""
# The modules that a process runs: each imports only those before it.
PROGRAM = tuple(f"backstaff.{name}" for name in _MODULES.split())
# Number of processes that search for one call, and maximum number that wait for the next call. On
# two busy cores a waiting process compiles a pattern in .2 ms, and a new process in 70 ms.
PROCESSES = min(4, len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1)
TICK = 0.05  # seconds between two looks at a budget, and to end the job of an answered call
PIECE = 1 << 16  # bytes that are received at once
ENDS = "end the matcher"  # the name of a thread that waits for a killed process to end
LAST_SECONDS = 1.0  # after its deadline, when a process that nobody killed ends by itself

_START = """
import marshal, os, sys, types
code = b""
while len(code) < %d:
    code += os.read(0, %d - len(code)) or sys.exit()
for name, code in marshal.loads(code):
    module = sys.modules[name] = types.ModuleType(name)
    exec(code, module.__dict__)
module.main()
"""


class NoMatcher(ToolError):
    """The process that matches did not start, or has ended. Neither says anything of a pattern."""

    def __init__(self, problem: str) -> None:
        remedy = "the system may be short of memory or processes; try again"
        super().__init__(ErrorCode.IO_ERROR, f"The process that matches {problem}: {remedy}")


@dataclass(slots=True, eq=False)
class Asked:
    """A job for files from the number `first` on, of which a process has sent the `answers`."""

    job: Job
    directory: int  # its descriptor, or -1 if the texts are in the job
    first: int = 0
    answers: deque[tuple[str, Any] | ToolError | BadRegexp] = field(default_factory=deque)
    is_sent: bool = False


@dataclass(slots=True)
class Matchers:
    """The processes of a call; use it as a context manager, within `budget`."""

    budget: Budget
    workers: list["_Worker"] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Take one process. Raises `NoMatcher`."""
        self.workers = [_Worker.take()]
        return self

    def __exit__(self, *_: object) -> None:
        self.settle()
        for worker in self.workers:
            worker.give_back()

    def settle(self, least: int = 0) -> None:
        """Let the processes end jobs that nobody waits for; leave those that need over `TICK`.

        At least `least` are there then. Raises `NoMatcher`.
        """
        late = self.budget.at_most(TICK)
        with suppress(ToolError):
            while any(one.asked for one in self.workers):
                self._wait(late)
        for worker in [one for one in self.workers if one.asked]:
            self.workers.remove(worker)
            worker.give_back()
        self.workers += [_Worker.take() for _ in range(least - len(self.workers))]

    def check(self, pattern: Pattern) -> None:
        """Raise `BadRegexp` if `pattern` cannot be used, else as `answer` does."""
        try:
            self.answer([Asked(Job((pattern,)), -1)])
        except NoMatcher:  # a kept process may have been killed from outside: try a new one
            self.workers.pop().end()
            self.workers.append(_Worker.start())
            self.answer([Asked(Job((pattern,)), -1)])

    def grow(self) -> None:
        """Take a process for each processor, as far as some wait or the system starts more."""
        with suppress(NoMatcher):
            while len(self.workers) < PROCESSES and (_IDLE or len(_LIVING) < PROCESSES):
                self.workers.append(_Worker.take())

    def answer(self, jobs: Sequence[Asked]) -> tuple[str, Any]:
        """Return the next answer about the first of `jobs`, and let processes work on all of them.

        Raises `BadRegexp`, `NoMatcher`, and as a budget does.
        """
        while not jobs[0].answers:
            self.budget.check()
            # The others do not wait for a process that starts.
            alone = len(self.workers) == 1
            free = [one for one in self.workers if not one.asked and (alone or one.is_ready)]
            for worker, asked in zip(free, [one for one in jobs if not one.is_sent], strict=False):
                worker.ask(asked, self.budget.left())
            self._wait(self.budget)
        answer = jobs[0].answers.popleft()
        if isinstance(answer, ToolError | BadRegexp):
            raise answer
        return answer

    def answers(self, jobs: Sequence[Asked]) -> Iterator[tuple[str, Any]]:
        """Yield all answers about the first of `jobs`, as `answer` does."""
        word = ""
        while word != "done":
            word, value = self.answer(jobs)
            yield word, value

    def kill(self, asked: Asked) -> None:
        """End the process that works on `asked`, and take another one. Raises `NoMatcher`."""
        for worker in [one for one in self.workers if one.asked in (asked, None)]:
            if worker.asked or worker.process.poll() is not None:
                self.workers.remove(worker)
                worker.give_back()
        if not self.workers:
            self.workers.append(_Worker.take())

    def _wait(self, budget: Budget) -> None:
        """Receive the next answers, as far as some come within a tick."""
        poll, workers = select.poll(), {one.socket.fileno(): one for one in self.workers}
        for descriptor in workers:
            poll.register(descriptor, select.POLLIN)
        budget.check()
        for descriptor, _ in poll.poll(1000 * min(TICK, max(0.0, budget.left()))):
            workers[descriptor].receive()


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, our end of its socket, the job that it works on, and whether it has started."""

    process: "subprocess.Popen[bytes]"
    socket: "socket.socket"
    asked: Asked | None = None
    is_ready: bool = False
    _received: bytearray = field(default_factory=bytearray)

    @classmethod
    def take(cls) -> "_Worker":
        """Return a process that waits, or a new one."""
        with _LOCK:
            while _IDLE:
                if (worker := _IDLE.pop()).process.poll() is None:
                    return worker
                worker.end()
        return cls.start()

    @classmethod
    def start(cls) -> "_Worker":
        """Start a process without waiting for it."""
        import socket
        import subprocess

        # Nothing around it counts: neither settings, nor a project's modules. It writes no file.
        mode = f"utf8={sys.flags.utf8_mode}"  # it has to spell paths as we do
        code, own = _code(), None
        args = [sys.executable, "-I", "-S", "-B", "-W", "ignore", "-X", mode]
        args += ["-c", _START % (len(code), len(code))]
        try:
            own, its = socket.socketpair()
            with its:
                process = subprocess.Popen(  # noqa: S603 - no shell, and no word comes from a caller
                    args, stdin=its.fileno(), stdout=its.fileno(), cwd="/", start_new_session=True
                )
        except OSError as error:
            if own:
                own.close()
            raise NoMatcher(f"cannot be started ({error.strerror})") from error
        worker = cls(process, own)
        _LIVING.add(worker)
        with suppress(OSError):  # whoever waits for an answer learns of it
            own.sendall(code)
        return worker

    def ask(self, asked: Asked, seconds: float) -> None:
        """Give the process a job. That it has ended is noticed when an answer is awaited."""
        import socket

        # Nobody waits for ever, but a deadline can be infinite.
        message: tuple[Any, ...] = (*asked.job, min(seconds, 3600.0) + LAST_SECONDS)
        packed = marshal.dumps(message)
        data = len(packed).to_bytes(4) + packed
        self.asked, asked.is_sent = asked, True
        with suppress(BrokenPipeError, ConnectionResetError):
            sent = asked.directory >= 0 and socket.send_fds(self.socket, [data], [asked.directory])
            self.socket.sendall(data[sent:])

    def receive(self) -> None:
        """Receive answers for the job."""
        received = self._received
        try:
            piece = self.socket.recv(PIECE)
        except OSError:
            piece = b""
        if not piece and self.asked:
            self.asked.answers.append(self._ended())
            self.asked = None
        received += piece
        while len(received) >= (size := 4 + int.from_bytes(received[:4])):
            word, value = marshal.loads(received[4:size])  # noqa: S302
            del received[:size]
            if self.asked and word != "ready":
                self.asked.answers.append(BadRegexp(*value) if word == "bad" else (word, value))
            self.is_ready = True
            if word in {"done", "bad"}:
                self.asked = None

    def _ended(self) -> ToolError:
        """The error for a process that has closed its socket."""
        import signal
        import subprocess

        with suppress(subprocess.TimeoutExpired):
            if self.process.wait(TICK) == -signal.SIGALRM:  # its own deadline came first
                return DeadlineExceeded()
        return NoMatcher(f"has ended with status {self.process.returncode}")

    def give_back(self) -> None:
        """Keep the process for the next call. Kill it if it still works or enough others wait."""
        with _LOCK:
            if not self.asked and len(_IDLE) < PROCESSES:
                _IDLE.append(self)
                return
        self.process.kill()
        try:  # a process that hangs in a dead file system does not end
            threading.Thread(target=self.end, name=ENDS, daemon=True).start()
        except RuntimeError:
            self.end()

    def end(self) -> None:
        """Kill the process, and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        self.socket.close()
        _LIVING.discard(self)


_IDLE: list[_Worker] = []
_LIVING: set[_Worker] = set()
_LOCK = threading.Lock()


@cache
def _code() -> bytes:
    """The program, compiled. It may come from a file or, on another host, from memory."""
    loaders: list[Any] = [spec and spec.loader for spec in map(find_spec, PROGRAM)]
    codes = [loader.get_code(name) for loader, name in zip(loaders, PROGRAM, strict=True)]
    try:
        return marshal.dumps(list(zip(PROGRAM, codes, strict=True)))
    except ValueError as error:  # marshal's word for too little memory: code can be marshalled
        raise MemoryError from error
