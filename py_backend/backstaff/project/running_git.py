"""Starting git within limits of memory, time and output, so that nothing of a repository runs.

A repository can be hostile: its configuration names programs, and git may fetch missing objects. So
git is run by an absolute path outside the project, without a terminal, in an environment of our
own, where it finds no other program. A git that passes its limits is killed.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from shutil import which
from typing import IO

from backstaff.budget import Budget
from backstaff.errors import NoGit, Unanswered

MAX_OUTPUT, MAX_ERRORS = 1 << 27, 1 << 12  # bytes that git may print, and that are read of errors
MAX_SECONDS, TICK = 30, 0.05  # a git's life, also without this server; between looks at the call
MAX_KIBIBYTES = 2 << 20  # memory of a git, of which half a million files take a quarter
# Whether an open directory has a path that leads to it, whatever is renamed. Only Linux has.
BY_DESCRIPTOR = os.path.isdir("/proc/self/fd")
QUIET = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
"""Git's options for all that compares: no program of the repository, and no git in a submodule."""

_KEPT = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
"""Variables that say where the user's own configuration is. No other variable reaches git."""
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # else a look at the index may write it
    "GIT_INDEX_FILE": "/dev/no-index",  # only some questions are about the index
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # A git from before 2024 does not know the line above. It starts a `git fetch`, which writes the
    # configuration and runs a command that the repository names. So git can find no other program:
    # no program for a transport or a password. GIT_ALLOW_PROTOCOL overrides `protocol.*.allow`.
    "GIT_EXEC_PATH": "/dev/null",
    "PATH": "/dev/null",
    "GIT_ALLOW_PROTOCOL": "none",
    # A small object can be made of a huge one, and git holds both in memory.
    "GIT_ALLOC_LIMIT": "256m",
    "MALLOC_ARENA_MAX": "2",  # else each thread reserves 64 MiB of the limit
    "LC_ALL": "C",  # `reason` reads git's messages
}
_OVERRIDES = (
    *("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.untrackedCache=false"),
    *("core.attributesFile=/dev/null",),
    *("core.packedGitWindowSize=32m", "core.packedGitLimit=256m", "core.quotePath=false"),
    *("core.safecrlf=false", "log.mailmap=false", "safe.bareRepository=explicit"),
)


_MEANINGS = (  # of git's words: a reason, or a remedy
    ("not a git repository|in a work tree|cannot use bare repository", NoGit.NO_WORK_TREE),
    ("out of memory|memory exhausted|mmap failed|cannot allocate|to allocate", NoGit.TOO_MUCH),
    ("unknown repository extension|expected git repo version", "a newer git reads it"),
    (r"bad (config|numeric|boolean)|invalid (mode|value)", "mend the configuration"),
    (
        "unable to read|bad object|could not|missing|unable to find|cannot (obtain|read)|fetch",
        "an object is not here: a partial clone leaves some out, and nothing is fetched",
    ),
)


def reason(complaint: bytes) -> str:
    """The reason in git's `complaint`, with a remedy where one is known."""
    text = re.sub(r"[^\x21-\x7e]+", " ", complaint.decode("ascii", "replace"))
    text = text.strip().removeprefix("fatal: ").removeprefix("error: ")[:300]
    text = re.sub("[^ ]*/{9}.*", "the index cannot be read", text)  # git cuts what follows its path
    meaning = next((its for words, its in _MEANINGS if re.search(f"(?i){words}", text)), "")
    if isinstance(meaning, NoGit):
        return meaning
    return f"git says: {text}{f' ({meaning})' * bool(meaning)}" if text else "git failed"


class RunningGit:
    """A git that is running. Take its output, or end it."""

    def __init__(  # noqa: PLR0913  # all that a process is started with
        self,
        program: str,
        at: str,
        budget: Budget,
        words: Sequence[str],
        environment: Mapping[str, str],
        given: bytes = b"",
        held: Sequence[int] = (),
    ) -> None:
        """Start git in the directory `at`, with `given` as its input and the descriptors `held`.

        Raises `Unanswered`.
        """
        import subprocess  # it takes long to load, and nobody waits for git at the start
        from threading import Thread

        limits = ["/bin/sh", "-c", 'ulimit -v "$0" 2>/dev/null; exec "$@"', str(MAX_KIBIBYTES)]
        overrides = [word for override in _OVERRIDES for word in ("-c", override)]
        kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
        try:
            if timeout := which("timeout", path="/usr/bin:/bin"):  # in case this server is killed
                limits += [timeout, "-s", "KILL", str(MAX_SECONDS + 1)]
            with open(os.devnull, "rb") as nothing:  # subprocess.DEVNULL is for writing, too
                self.process = subprocess.Popen(  # noqa: S603 - the shell reads no word of a caller
                    [*limits, program, "--no-pager", *overrides, *words],
                    cwd=at,
                    env={**kept, **_ENVIRONMENT, **environment},
                    stdin=subprocess.PIPE if given else nothing,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=held,
                    start_new_session=True,
                )
        except OSError as error:
            raise Unanswered("git could not be started") from error
        self.budget = budget

        def feed(pipe: IO[bytes]) -> None:
            with suppress(BrokenPipeError), pipe:  # git may need no more of it
                pipe.write(given)

        if self.process.stdin:
            Thread(target=feed, args=(self.process.stdin,), daemon=True).start()

    def pieces(self, fine: tuple[int, ...] = (0,)) -> Iterator[bytes]:
        """Yield the output as it comes. Whoever stops earlier ends git.

        Raises `Unanswered` if the exit status is not among `fine`, and `Cancelled`.
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
                        chunk = os.read(key.fd, 1 << 16)
                        if not chunk:
                            selector.unregister(key.fileobj)
                        elif key.fileobj is self.process.stderr:
                            complaint += chunk[: MAX_ERRORS - len(complaint)]
                        elif (size := size + len(chunk)) > MAX_OUTPUT:
                            raise Unanswered(NoGit.TOO_MUCH)
                        else:
                            yield chunk
            if self.process.wait(1) not in fine:
                raise Unanswered(reason(bytes(complaint)))
        except (OSError, subprocess.SubprocessError) as error:
            raise Unanswered("git failed") from error
        finally:
            self.end()

    def end(self) -> None:
        """Kill git if it still runs, and all that it has started."""
        import signal

        with suppress(OSError), self.process:  # it closes its pipes, and is waited for
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)


def answers(starting: Iterable[RunningGit], fine: tuple[int, ...] = (0,)) -> list[bytes]:
    """The whole outputs of gits that run at the same time. Raises `Unanswered`."""
    running = list[RunningGit]()
    with ExitStack() as ends:
        for git in starting:
            running.append(git)
            ends.callback(git.end)  # it has to end, even if the next cannot start
        return [b"".join(git.pieces(fine)) for git in running]
