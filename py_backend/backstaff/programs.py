"""Running another program, which is git, within limits of memory, time and output.

It gets no terminal, and of this server only the environment and the directories that are given. A
program that passes its limits is killed, with all that it has started.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from shutil import which
from typing import IO

from backstaff.budget import Budget
from backstaff.errors import NoGit, Unanswered, reason_of
from backstaff.fs.handles import MOVED, OpenDirectory, are_in_place
from backstaff.fs.root import is_within

_PLACES = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin")
MAX_OUTPUT, MAX_ERRORS = 1 << 27, 1 << 12  # bytes that it may print, and that are read of errors
MAX_SECONDS, TICK = 30, 0.05  # its life, also without this server; between looks at the call
MAX_KIBIBYTES = 2 << 20  # its memory, of which git takes a quarter for half a million files


def program_outside(root: str, name: str) -> str | None:
    """The path of the program `name`: the system's, else the first on PATH not inside `root`."""
    folders = [one for one in os.environ.get("PATH", "").split(":") if one.startswith("/")]
    outside = (one for one in folders if not is_within(os.path.realpath(f"{one}/{name}"), root))
    return which(name, path=":".join((*_PLACES, *outside)))


class RunningProgram:
    """A program that is running. Take its output, or end it."""

    def __init__(  # noqa: PLR0913  # all that a process is started with
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        at: OpenDirectory | str,
        budget: Budget,
        *,
        given: bytes = b"",
        held: Sequence[OpenDirectory] = (),
    ) -> None:
        """Start `command` in the directory `at`, with `given` as its input and others `held` open.

        Raises `Unanswered`.
        """
        import subprocess  # it takes long to load, and nobody waits for a program at the start
        from threading import Thread

        limits = ["/bin/sh", "-c", 'ulimit -v "$0" 2>/dev/null; exec "$@"', str(MAX_KIBIBYTES)]
        try:
            if timeout := which("timeout", path="/usr/bin:/bin"):  # in case this server is killed
                limits += [timeout, "-s", "KILL", str(MAX_SECONDS + 1)]
            with open(os.devnull, "rb") as nothing:  # subprocess.DEVNULL is for writing, too
                self.process = subprocess.Popen(  # noqa: S603 - the shell reads no word of a caller
                    [*limits, *command],
                    cwd=str(at),
                    env=environment,
                    stdin=subprocess.PIPE if given else nothing,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=[one.descriptor for one in held],
                    start_new_session=True,
                )
        except OSError as error:
            raise Unanswered("git could not be started") from error
        self.budget, self.held = budget, held

        def feed(pipe: IO[bytes]) -> None:
            with suppress(BrokenPipeError), pipe:  # the program may need no more of it
                pipe.write(given)

        try:
            if self.process.stdin:
                Thread(target=feed, args=(self.process.stdin,), daemon=True).start()
        except RuntimeError as error:  # there is no room for a thread
            self.end()
            raise Unanswered("git could not be started") from error

    def pieces(self, fine: tuple[int, ...] = (0,)) -> Iterator[bytes]:
        """Yield the output as it comes. Whoever stops earlier ends the program.

        Raises `Cancelled`, and `Unanswered` if the exit status is not among `fine`, or if the path
        that it got for a directory led to another one meanwhile.
        """
        import selectors
        import subprocess

        budget, size, complaint = self.budget.at_most(MAX_SECONDS), 0, bytearray()
        try:
            with selectors.DefaultSelector() as selector:
                for pipe in filter(None, (self.process.stdout, self.process.stderr)):
                    selector.register(pipe, selectors.EVENT_READ)
                while selector.get_map():
                    if budget.expired():
                        raise Unanswered(NoGit.SLOW)
                    for key, _ in selector.select(TICK):
                        size += len(chunk := os.read(key.fd, 1 << 16))
                        if size > MAX_OUTPUT or not are_in_place(self.held):
                            raise Unanswered(NoGit.TOO_MUCH if size > MAX_OUTPUT else MOVED)
                        if not chunk:
                            selector.unregister(key.fileobj)
                        elif key.fileobj is self.process.stderr:
                            complaint += chunk[: MAX_ERRORS - len(complaint)]
                        else:
                            yield chunk
            if self.process.wait(1) not in fine:
                raise Unanswered(reason_of(bytes(complaint)))
        except (OSError, subprocess.SubprocessError) as error:
            raise Unanswered("git failed") from error
        finally:
            self.end()

    def end(self) -> None:
        """Kill the program if it still runs, and all that it has started."""
        import signal

        with suppress(OSError), self.process:  # it closes its pipes, and is waited for
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)


def answers(starting: Iterable[RunningProgram], fine: tuple[int, ...] = (0,)) -> list[bytes]:
    """The whole outputs of programs that run at the same time. Raises as `pieces` does."""
    running = list[RunningProgram]()
    with ExitStack() as ends:
        for program in starting:
            running.append(program)
            ends.callback(program.end)  # it has to end, even if the next cannot start
        return [b"".join(program.pieces(fine)) for program in running]
