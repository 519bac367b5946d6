"""Asking git about an open directory: a few questions that only read.

A repository can be hostile. Its configuration names programs, such as hooks and a pager, and git
may fetch missing objects. So git is run by an absolute path outside the project, without a shell or
terminal, in an environment of our own, and everything is switched off that starts a program or
writes. Git gets the directory as a descriptor. Its answers are names, which the callers look for in
the open directory. Output and time are bounded, and a git that passes its bounds is killed.

A failure is an answer, too: a `NoGit`, and the caller does without.
"""

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from time import monotonic
from typing import IO, TYPE_CHECKING, Self

from backstaff.budget import Budget

if TYPE_CHECKING:
    import subprocess

MAX_OUTPUT = 1 << 27
MAX_ERRORS = 1 << 12
MAX_SECONDS = 5.0
"""Half a million files take less. A fifo in the place of a file of git's takes for ever."""
FIRST_SECONDS = 1.0
"""Git answers the first question in milliseconds, or something is wrong with the repository."""
TICK = 0.05
"""Seconds between two looks at whether the call was cancelled."""

_PLACES = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin")
_HELD = "/proc/self/fd/%d"
_TIMEOUTS = ("/usr/bin/timeout", "/bin/timeout")
_CHUNK = 1 << 16
_NOWHERE = "/proc"
"""A directory in which nobody can make a file."""
_NO_INDEX = {"GIT_INDEX_FILE": f"{_NOWHERE}/none"}
_KEPT = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
"""Variables that say where the user's own configuration is. No other variable reaches git."""
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # else a look at the index may write it
    "GIT_NO_LAZY_FETCH": "1",
    # A git from before 2024 does not know the line above, and fetches by a command that the
    # repository names. This list goes before any `protocol.*.allow` of a repository.
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
    "PATH": "/usr/bin:/bin",
}
NO_MORE: Mapping[str, str] = {}
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


class NoGit(StrEnum):
    """Why git does not answer, in words that can end a sentence."""

    ABSENT = "git is not installed"
    UNSUPPORTED = "git can be asked on Linux alone"
    NO_WORK_TREE = "it is not in a git work tree"
    ELSEWHERE = "its git directory is elsewhere, and belongs to another work tree"
    REFUSED = "git refuses this repository, as it belongs to someone else"
    BROKEN = "git failed"
    SLOW = "git took too long"
    TOO_MUCH = "git answered too much"

    @property
    def hides(self) -> bool:
        """Whether there may be a work tree all the same, of which git tells nothing."""
        return self not in (NoGit.NO_WORK_TREE, NoGit.ELSEWHERE)


@dataclass(frozen=True, slots=True)
class TrackedFiles:
    """The index of git below a directory. Paths are relative to it.

    `names` are all paths in the order of their bytes. `gitlinks` are the submodules among them, and
    `left_out` the files that a sparse checkout does not put on the disk.
    """

    names: Sequence[bytes] = ()
    gitlinks: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, listed: bytes) -> Self:
        r"""Read `listed`, such as b"H 100644 6d3c... 0\ta/b.c\0": tag, mode, blob, stage, path."""
        names: list[bytes] = []
        gitlinks: list[str] = []
        left_out: list[str] = []
        for entry in listed.split(b"\0")[:-1]:
            facts, _, name = entry.partition(b"\t")
            names.append(name)
            if facts.startswith(b"S "):
                left_out.append(os.fsdecode(name))
            if facts.startswith(b"160000 ", 2):
                gitlinks.append(os.fsdecode(name))
        return cls(names, frozenset(gitlinks), frozenset(left_out))

    def has(self, path: str) -> bool:
        """Whether the index names `path`."""
        name = os.fsencode(path)
        at = bisect_left(self.names, name)
        return self.names[at : at + 1] == [name]

    def below(self, path: str) -> bool:
        """Whether the index names anything below the directory `path`."""
        prefix = os.fsencode(path) + b"/"
        at = bisect_left(self.names, prefix)
        return any(name.startswith(prefix) for name in self.names[at : at + 1])


@dataclass(frozen=True, slots=True)
class Repository:
    """The work tree around an open directory. It can be asked while the directory is open.

    `depth` says how many levels the directory lies below the top of the work tree. `index` and
    `exclude` (info/exclude) are paths as git names them, absolute or relative to the directory;
    `excludes_file` (core.excludesFile) is absolute or relative to the top, or empty. `head` is the
    latest commit, "" before the first. A `foreign`
    repository lies outside of the work tree and does not name it. A `.git` that came with a project
    can lead to any repository of the user's, whose branch and history are not the project's.
    """

    program: str
    directory: int
    depth: int
    index: str
    exclude: str
    excludes_file: str
    ignore_case: bool
    foreign: bool = False
    head: str = ""

    def branch(self, budget: Budget) -> str | NoGit:
        """The name of the branch, even before its first commit; "" if `head` is detached."""
        if self.foreign:
            return NoGit.ELSEWHERE
        answer = _ask(self, budget, "symbolic-ref", "--quiet", "--short", "HEAD", fine=(0, 1))
        return answer if isinstance(answer, NoGit) else os.fsdecode(answer.removesuffix(b"\n"))

    def tracked(self, budget: Budget) -> "TrackedFiles | NoGit":
        """The index below the directory. Some of its files may be gone.

        With a split index these are the files of the latest commit: git sets the time of a shared
        index whenever it reads one, and nothing here changes a file.
        """
        index = os.path.join(_HELD % self.directory, self.index)
        if _is_endless(index):
            return NoGit.BROKEN
        if not _is_split(index):
            answer = _ask(self, budget, "ls-files", "-z", "-t", "--stage")
            return answer if isinstance(answer, NoGit) else TrackedFiles.parse(answer)
        if not self.head:
            return TrackedFiles()
        answer = _ask(self, budget, "ls-tree", "-r", "-z", self.head)
        if isinstance(answer, NoGit):
            return answer
        return TrackedFiles.parse(b"H " + answer.replace(b"\0", b"\0H ").removesuffix(b"H "))

    def is_repository(self, directory: int, budget: Budget) -> bool:
        """Return whether git takes the `.git` in the open `directory` for a repository."""
        if _holds_endless(os.path.join(_HELD % directory, ".git")):
            return False
        inner, budget = replace(self, directory=directory), budget.at_most(FIRST_SECONDS)
        answer = _ask(inner, budget, "rev-parse", "--resolve-git-dir", ".git")
        return not isinstance(answer, NoGit)

    def start(self, budget: Budget, *words: str, given: bytes = b"") -> "RunningGit | NoGit":
        """Start git with `words` and the input `given`. Take its answer, or end it.

        The `words` must make git read its objects, references or configuration alone. What git
        reads in the work tree can make it run something. It gets no index: whoever reads a split
        one sets the time of a file.
        """
        return _started(self, budget, words, given, _NO_INDEX)

    def ask(
        self, budget: Budget, *words: str, fine: tuple[int, ...] = (0,), given: bytes = b""
    ) -> bytes | NoGit:
        """The output of git with `words` (`start`), if the exit status is among `fine`."""
        asked = self.start(budget, *words, given=given)
        return asked if isinstance(asked, NoGit) else asked.answer(fine)

    def listed(self, budget: Budget) -> bytes | NoGit:
        """The mode, blob, stage and path of all files, by git, in an index that is not split."""
        return _ask(self, budget, "ls-files", "-z", "--stage", "--full-name")

    def blame(self, commit: str, first: int, last: int, path: str, budget: Budget) -> bytes | NoGit:
        """Return the blame of lines `first` to `last` of `path` as of `commit` (porcelain).

        Git reads attributes and names of authors in the work tree. So it gets another one, in which
        nobody can put a file.
        """
        at = os.path.join(_HELD % self.directory, os.path.dirname(self.index))
        apart = {"GIT_DIR": os.path.realpath(at), "GIT_WORK_TREE": _NOWHERE, **_NO_INDEX}
        options = ("--porcelain", "--no-textconv", f"-L{first},{last}")
        words = ("-C", _NOWHERE, "blame", *options, commit, "--", path)
        asked = _started(self, budget, words, environment=apart)
        return asked if isinstance(asked, NoGit) else asked.answer((0,))

    def version(self, budget: Budget) -> tuple[int, ...]:
        """The version of git, such as (2, 39); all zero if it does not tell."""
        if self.program not in _VERSIONS:
            told = _ask(self, budget, "version")
            found = _VERSION.search(told) if isinstance(told, bytes) else None
            _VERSIONS[self.program] = tuple(map(int, found.groups())) if found else (0, 0)
        return _VERSIONS[self.program]

    def content(self, path: str, budget: Budget) -> bytes:
        """The content of the file `path` in the index; empty if git does not tell."""
        content = _ask(self, budget, "cat-file", "blob", f":./{path}")
        return b"" if isinstance(content, NoGit) else content

    def commits(self, most: int, budget: Budget) -> list[list[str]] | NoGit:
        """The files below the directory that the `most` latest commits touched, the latest first.

        Paths are relative to the directory; files that are gone are among them. A commit with none,
        such as a merge, is an empty list, and so is one of a bot.
        """
        if self.foreign:
            return NoGit.ELSEWHERE
        words = ("--name-only", "--no-renames", "--relative", _EACH_COMMIT, "-z", f"-n{most}")
        quiet = (
            "--no-ext-diff",
            "--no-textconv",
            "--no-mailmap",
            "--diff-merges=off",
            "-O/dev/null",
        )
        below = ("--", ".") if self.depth else ()
        answer = _ask(self, budget, "log", *words, *quiet, *below)
        return answer if isinstance(answer, NoGit) else list(_commits(answer))


def find_repository(directory: int, project: str, budget: Budget) -> Repository | NoGit:
    """The work tree around the open `directory`. A git inside `project`, a path, is not run."""
    git_directory = _git_directory(directory)
    if not git_directory or _holds_endless(os.path.join(_HELD % directory, git_directory)):
        return NoGit.BROKEN if git_directory else NoGit.NO_WORK_TREE
    program = _program(project, os.environ.get("PATH", ""))
    if program is None or not os.path.exists(_HELD % directory):
        return NoGit.UNSUPPORTED if program else NoGit.ABSENT
    bare = Repository(program, directory, 0, "", "", "", ignore_case=False)
    budget = budget.at_most(FIRST_SECONDS)
    question = _started(bare, budget, _QUESTION)
    if isinstance(question, NoGit):
        return question
    try:  # two processes work at the same time
        values = _ask(bare, budget, *_SETTINGS, fine=(0, 1))
        facts = question.answer((0,))
    finally:
        question.end()
    if isinstance(facts, NoGit):
        return facts
    # A git from before 2020 has no --show-scope, and fails.
    told = "" if isinstance(values, NoGit) else os.fsdecode(values)
    try:
        return _described(bare, os.fsdecode(facts), told)
    except OSError:
        return NoGit.BROKEN


def _git_directory(directory: int) -> str | None:
    """The git directory in the open `directory` or the nearest above, as a path from `directory`.

    It is a `.git`, or a directory that has a `HEAD` itself. None means that there is neither, so
    git need not be started to say that there is no repository. In doubt the path leads to none.
    """

    def identity(path: str) -> tuple[int, int]:
        status = os.stat(path, dir_fd=directory)
        return status.st_dev, status.st_ino

    above = "."
    try:
        top = identity("/")
        while True:
            for name in _OF_A_REPOSITORY:
                try:
                    os.stat(f"{above}/{name}", dir_fd=directory, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                return f"{above}/{name}" if name == ".git" else above
            if identity(above) == top:
                return None
            above += "/.."
    except OSError:
        return above


def _is_endless(path: str) -> bool:
    """Whether to read the file `path` may take for ever, as with a fifo or a device."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _holds_endless(git_directory: str) -> bool:
    """Whether one of the files that git reads first in `git_directory` is endless."""
    return any(_is_endless(f"{git_directory}/{name}") for name in _FILES)


def _is_split(index: str) -> bool:
    """Whether the file `index` names a shared index beside it (gitformat-index, "Split index")."""
    try:
        beside = filter(None, map(_SHARED.fullmatch, os.listdir(os.path.dirname(index))))
        if not (shared := [bytes.fromhex(name[1]) for name in beside]):
            return False
        if os.path.getsize(index) > MAX_OUTPUT:
            return False
        with open(index, "rb") as file:
            content = file.read()
    except OSError:
        return False
    return any(name in content for name in shared)


_VERSION = re.compile(rb"(\d+)\.(\d+)")
_VERSIONS: dict[str, tuple[int, ...]] = {}
"""By the path of the program."""
_FILES = (
    *("HEAD", "config", "config.worktree", "commondir", "index", "packed-refs", "shallow"),
    *("info/grafts", "objects/info/alternates"),
)
_SHARED = re.compile(r"sharedindex\.((?:[0-9a-f]{2})+)")
_OF_A_REPOSITORY = (".git", "HEAD")
"""A work tree has the first; a bare repository, and a `.git` directory, the second."""
_QUESTION = (
    "rev-parse",
    "--is-inside-work-tree",
    "--show-cdup",
    *("--git-path", "index"),
    *("--git-path", "info/exclude"),
    "--absolute-git-dir",
    "--show-toplevel",
    *("--default", "HEAD"),  # before the first commit, git prints nothing for it
)
_KEYS = r"^core\.(excludesfile|ignorecase|worktree)$"
_SETTINGS = ("config", "-z", "--show-scope", "--type=path", "--get-regexp", _KEYS)
_OF_THE_USER = ("global", "system")
_EACH_COMMIT = "--format=tformat:%x00%an%x00"
_BOT = re.compile(
    rb"\bbot\b|(dependa|renovate-)bot|^(renovate|github-actions|pre-commit-ci)", re.IGNORECASE
)
_TRUE = ("", "true", "yes", "on", "1")


def _described(bare: Repository, answer: str, values: str) -> Repository | NoGit:
    """BARE with git's `answer` to `_QUESTION`, and the `values` that `_SETTINGS` printed."""
    # A newline in the path of the work tree stands as NUL until the lines are split.
    here = os.readlink(_HELD % bare.directory)
    for end in (at for at in range(len(here), 0, -1) if here[at - 1] == "\n"):
        answer = answer.replace(here[:end], here[: end - 1] + "\0")
    lines = answer.removesuffix("\n").split("\n")
    inside, *facts = [line.replace("\0", "\n") for line in lines]
    if inside != "true":
        return NoGit.NO_WORK_TREE
    if len(facts) not in (5, 6):
        return NoGit.BROKEN
    up, index, exclude, git_directory, top, *head = facts
    settings: list[tuple[str, str, str]] = []
    parts = iter(values.split("\0")[:-1])
    for scope, setting in zip(parts, parts, strict=False):  # such as "global", "core.worktree\n/a"
        key, _, value = setting.partition("\n")
        settings.append((scope, key, value))
    core = {key: value for _, key, value in settings}
    # A project's own setting may name a file of the project's, and no other file of the user's.
    mine = [
        value
        for scope, key, value in settings
        if key == "core.excludesfile"
        and (scope in _OF_THE_USER or _is_within(os.path.realpath(os.path.join(top, value)), top))
    ]
    return Repository(
        program=bare.program,
        directory=bare.directory,
        depth=up.count("../"),
        index=index,
        exclude=_resolved(exclude, bare.directory, top),
        excludes_file=mine[-1] if mine else default_excludes(),
        ignore_case=core.get("core.ignorecase", "no").lower() in _TRUE,
        foreign=not _is_own(git_directory, top, core.get("core.worktree", "")),
        head="".join(head),
    )


def _resolved(exclude: str, directory: int, top: str) -> str:
    """Return the file that `exclude`, a path from the open `directory`, leads to as a link.

    Git follows a link at info/exclude, such as `.git/info/exclude -> ../../ignore`. Whoever reads
    the rules follows none, so a link that leaves the work tree at `top` is returned as it is.
    """
    path = os.path.join(_HELD % directory, exclude)
    if not os.path.islink(path):
        return exclude
    target = os.path.realpath(path)
    return target if _is_within(target, top) else exclude


def _is_own(git_directory: str, top: str, worktree: str) -> bool:
    """Whether `git_directory` lies in the work tree at `top`, or names it.

    A submodule's names it by core.worktree, that of a linked work tree by a file `gitdir`.
    """
    if _is_within(git_directory, top):
        return True
    if worktree and os.path.realpath(os.path.join(git_directory, worktree)) == top:
        return True
    try:
        with open(f"{git_directory}/gitdir", encoding="utf-8", errors="surrogateescape") as file:
            return os.path.realpath(file.read(1 << 12).rstrip("\n")) == f"{top}/.git"
    except OSError:
        return False


def default_excludes() -> str:
    """Where git looks for the user's own rules unless told otherwise (gitignore(5))."""
    home, configuration = os.environ.get("HOME"), os.environ.get("XDG_CONFIG_HOME")
    if configuration:
        return f"{configuration}/git/ignore"
    return f"{home}/.config/git/ignore" if home else ""


@lru_cache(maxsize=16)
def _program(project: str, path: str) -> str | None:
    """The git in a directory of the system, else the first one on `path` outside `project`."""
    system = [f"{folder}/git" for folder in _PLACES]
    others = [f"{folder}/git" for folder in path.split(":") if folder.startswith("/")]
    outside = (other for other in others if not _is_within(os.path.realpath(other), project))
    return next(filter(_is_program, (*system, *outside)), None)


def _is_within(path: str, project: str) -> bool:
    return os.path.commonpath((path, project)) == project


def _is_program(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except OSError:
        return False


def _commits(answer: bytes) -> Iterator[list[str]]:
    """Yield the paths of each commit in the output of `git log -z --name-only` (`_EACH_COMMIT`).

    Between its NULs stand: nothing, the author, nothing, then the paths, the first after a newline.
    A path is never empty, so no name of a file can pass for an author.
    """
    parts = iter(answer.split(b"\0"))
    next(parts)
    for author in parts:
        next(parts, None)
        files = [os.fsdecode(part) for part in iter(lambda: next(parts, b""), b"")]
        told = files and not _BOT.search(author)
        yield [files[0].removeprefix("\n"), *files[1:]] if told else []


@dataclass(slots=True)
class RunningGit:
    """A git that is running. Take its answer, or end it."""

    _process: "subprocess.Popen[bytes]"
    _budget: Budget
    _until: float = 0.0

    def answer(self, fine: tuple[int, ...]) -> bytes | NoGit:
        """The output, if the exit status is among `fine`. Raises `Cancelled`."""
        out, errors = self._process.stdout, self._process.stderr
        if out is None or errors is None:
            raise ValueError("git was started without pipes")
        self._until = monotonic() + MAX_SECONDS
        printed = {out.fileno(): bytearray(), errors.fileno(): bytearray()}
        output, complaint = printed.values()
        try:
            trouble = self._read(printed, output, complaint) or self._wait()
        except OSError:
            trouble = NoGit.BROKEN
        finally:
            self.end()
        if trouble is not None:
            return trouble
        return bytes(output) if self._process.returncode in fine else _meaning(bytes(complaint))

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

    def _read(
        self, printed: dict[int, bytearray], output: bytearray, complaint: bytearray
    ) -> NoGit | None:
        """Read both pipes into `printed` until they are closed.

        Of the `complaint`, the beginning.
        """
        import selectors

        with selectors.DefaultSelector() as selector:
            for pipe in printed:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                if self._is_late():
                    return NoGit.SLOW
                for key, _ in selector.select(TICK):
                    if not (chunk := os.read(key.fd, _CHUNK)):
                        selector.unregister(key.fd)
                    printed[key.fd] += chunk
                del complaint[MAX_ERRORS:]
                if len(output) > MAX_OUTPUT:
                    return NoGit.TOO_MUCH
        return None

    def _wait(self) -> NoGit | None:
        import subprocess

        while True:
            try:
                self._process.wait(TICK)
            except subprocess.TimeoutExpired:
                if self._is_late():
                    return NoGit.SLOW
            else:
                return None

    def _is_late(self) -> bool:
        return self._budget.expired() or monotonic() > self._until


def _ask(
    repository: Repository, budget: Budget, *words: str, fine: tuple[int, ...] = (0,)
) -> bytes | NoGit:
    asked = _started(repository, budget, words)
    return asked if isinstance(asked, NoGit) else asked.answer(fine)


def _started(
    repository: Repository,
    budget: Budget,
    words: tuple[str, ...],
    given: bytes = b"",
    environment: Mapping[str, str] = NO_MORE,
) -> RunningGit | NoGit:
    import subprocess  # it takes long to load, and nobody waits for git at the start

    overrides = [word for override in _OVERRIDES for word in ("-c", override)]
    # timeout(1) ends a git that hangs when this server was killed meanwhile.
    guard = next(
        (
            [path, "-s", "KILL", str(int(MAX_SECONDS) + 1)]
            for path in _TIMEOUTS
            if _is_program(path)
        ),
        [],
    )
    kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
    try:
        with _input(given) as source:
            process = subprocess.Popen(  # noqa: S603 - no shell, and no word comes from a caller
                [*guard, repository.program, "--no-pager", *overrides, *words],
                cwd=_HELD % repository.directory,
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


_NO_WORK_TREE = (b"not a git repository", b"in a work tree", b"cannot use bare repository")


def _meaning(errors: bytes) -> NoGit:
    if b"dubious ownership" in errors or b"unsafe repository" in errors:
        return NoGit.REFUSED
    if any(words in errors for words in _NO_WORK_TREE):
        return NoGit.NO_WORK_TREE
    return NoGit.BROKEN
