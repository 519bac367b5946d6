"""Starting git so that nothing of a repository runs, and reading its answer within bounds.

A repository can be hostile. Its configuration names programs, such as hooks and a pager, and git
may fetch missing objects. So git is run by an absolute path outside the project, without a shell or
terminal, in an environment of our own, and everything is switched off that starts a program or
writes. Git gets the directory as a descriptor. Output and time are bounded, and a git that passes
its bounds is killed.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from typing import IO, TYPE_CHECKING

from backstaff.budget import Budget

if TYPE_CHECKING:
    import subprocess

MAX_OUTPUT = 1 << 27
"""Maximum number of bytes that git may print."""
MAX_ERRORS = 1 << 12
MAX_SECONDS = 5.0
"""Maximum number of seconds for an answer: half a million files take less."""
TICK = 0.05
"""Seconds between two looks at whether the call was cancelled."""
HELD = "/proc/self/fd/%d"
"""The path of an open directory."""
NOWHERE = "/proc"
"""A directory in which nobody can make a file."""
NO_INDEX = {"GIT_INDEX_FILE": f"{NOWHERE}/none"}
"""Variables for a git that reads no index: to read a split one sets the time of a file."""

_TIMEOUTS = ("/usr/bin/timeout", "/bin/timeout")
_CHUNK = 1 << 16
_KEPT = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
"""Variables that say where the user's own configuration is. No other variable reaches git."""
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # else a look at the index may write it
    "GIT_NO_LAZY_FETCH": "1",
    # A git from before 2024 does not know the line above. It starts a `git fetch`, which writes the
    # configuration, and then a command that the repository names. So git finds no other program,
    # and this list of protocols goes before any `protocol.*.allow` of a repository.
    "GIT_EXEC_PATH": NOWHERE,
    "PATH": NOWHERE,
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "/bin/false",
    "GIT_PAGER": "cat",
    "GIT_ATTR_NOSYSTEM": "1",
    # A small object can be made of a huge one, and git holds both in memory.
    "GIT_ALLOC_LIMIT": "256m",
    "LC_ALL": "C",  # `_meaning` reads git's messages
}
_OVERRIDES = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.untrackedCache=false",
    "log.showSignature=false",
    "blame.ignoreRevsFile=",
    "mailmap.file=",
    "mailmap.blob=",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
)
_MEANINGS = (
    (b"dubious ownership", "REFUSED"),
    (b"unsafe repository", "REFUSED"),
    (b"not a git repository", "NO_WORK_TREE"),
    (b"in a work tree", "NO_WORK_TREE"),
    (b"cannot use bare repository", "NO_WORK_TREE"),
)


class NoGit(StrEnum):
    """The reason why git does not answer, as the end of a sentence."""

    ABSENT = "git is not installed"
    UNSUPPORTED = "git is asked only on Linux"
    NO_WORK_TREE = "it is not in a git work tree"
    ELSEWHERE = "its git directory is elsewhere, and belongs to another work tree"
    REFUSED = "git refuses this repository, as it belongs to someone else"
    BROKEN = "git failed"
    SLOW = "git took too long"
    TOO_MUCH = "git answered too much"

    @property
    def hides(self) -> bool:
        """Whether there may be a work tree all the same, about which git says nothing."""
        return self not in (NoGit.NO_WORK_TREE, NoGit.ELSEWHERE)


@dataclass(slots=True)
class RunningGit:
    """A git that is running. Take its answer, or end it."""

    _process: "subprocess.Popen[bytes]"
    _budget: Budget

    def answer(self, fine: tuple[int, ...]) -> bytes | NoGit:
        """The output, if the exit status is among `fine`. Raises `Cancelled`."""
        import selectors
        import subprocess

        until = monotonic() + MAX_SECONDS
        pipes = filter(None, (self._process.stdout, self._process.stderr))
        printed = {pipe.fileno(): bytearray() for pipe in pipes}
        output, complaint = printed.values()
        try:
            with selectors.DefaultSelector() as selector:
                for pipe in printed:
                    selector.register(pipe, selectors.EVENT_READ)
                while selector.get_map():
                    if self._budget.expired() or monotonic() > until:
                        return NoGit.SLOW
                    for key, _ in selector.select(TICK):
                        if not (chunk := os.read(key.fd, _CHUNK)):
                            selector.unregister(key.fd)
                        printed[key.fd] += chunk
                    del complaint[MAX_ERRORS:]
                    if len(output) > MAX_OUTPUT:
                        return NoGit.TOO_MUCH
            if self._process.wait(1) in fine:
                return bytes(output)
        except subprocess.TimeoutExpired:
            return NoGit.SLOW
        except OSError:
            return NoGit.BROKEN
        finally:
            self.end()
        return next((NoGit[why] for words, why in _MEANINGS if words in complaint), NoGit.BROKEN)

    def end(self) -> None:
        """Kill git if it still runs, and all that it has started."""
        import signal

        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def started(  # noqa: PLR0913, PLR0917  # all that a process is started with
    program: str,
    directory: int,
    budget: Budget,
    words: tuple[str, ...],
    given: bytes,
    environment: Mapping[str, str],
) -> RunningGit | NoGit:
    """Start the git `program` in the open `directory` with `words`, and `given` as its input."""
    import subprocess  # it takes long to load, and nobody waits for git at the start

    overrides = [word for override in _OVERRIDES for word in ("-c", override)]
    # timeout(1) ends a git that hangs when this server was killed meanwhile.
    timeout = next(filter(is_program, _TIMEOUTS), None)
    guard = [timeout, "-s", "KILL", str(int(MAX_SECONDS) + 1)] if timeout else []
    kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
    try:
        with _input(given) as source:
            process = subprocess.Popen(  # noqa: S603 - no shell, and no word comes from a caller
                [*guard, program, "--no-pager", *overrides, *words],
                cwd=HELD % directory,
                env={**_ENVIRONMENT, **kept, **environment},
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
    except OSError:
        return NoGit.BROKEN
    return RunningGit(process, budget)


def _input(given: bytes) -> IO[bytes]:
    """A file with the bytes `given`. It is in memory: git may answer before it has read all."""
    if not given:
        return open(os.devnull, "rb")  # not DEVNULL, which is opened for writing, too
    file = os.fdopen(os.memfd_create("git"), "w+b")
    file.write(given)
    file.seek(0)
    return file


def is_program(path: str) -> bool:
    """Whether the file `path` can be run."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except OSError:
        return False
