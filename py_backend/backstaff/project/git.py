"""Asking git about an open directory: a few questions that only read.

Git's answers are names, which the callers look for in the open directory. A failure is an answer
as well: a `NoGit`, and the caller does without. `running_git` says how git is started.
"""

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Self

from backstaff.budget import Budget
from backstaff.errors import PathError
from backstaff.fs.file import read
from backstaff.project.configuration import QUESTION, Configuration, is_within
from backstaff.project.running_git import (
    HELD,
    MAX_OUTPUT,
    NO_INDEX,
    NOWHERE,
    NoGit,
    is_program,
    started,
)

FIRST_SECONDS = 1.0
"""Maximum number of seconds for git's first answer, which takes milliseconds."""

_PLACES = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin")
_VERSION = re.compile(rb"(\d+)\.(\d+)")
_VERSIONS: dict[str, tuple[int, ...]] = {}
"""Git's versions, by the path of the program."""
_FILES = (
    *("HEAD", "config", "config.worktree", "commondir", "index", "packed-refs", "shallow"),
    *("info/grafts", "objects/info/alternates"),
)
_SHARED = re.compile(r"sharedindex\.((?:[0-9a-f]{2})+)")
_OF_A_REPOSITORY = (".git", "HEAD")
"""The name in a work tree, and the one in a bare repository or a `.git` directory."""
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
_EACH_COMMIT = "--format=tformat:%x00%an%x00"
_BOT = re.compile(
    rb"\bbot\b|(dependa|renovate-)bot|^(renovate|github-actions|pre-commit-ci)", re.IGNORECASE
)


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

    `depth` is the number of levels of the directory below the top of the work tree. `index` and
    `exclude` (info/exclude) are paths as git names them, absolute or relative to the directory.
    `head` is the latest commit, "" before the first. A `foreign` repository lies outside of the
    work tree and does not name it. A `.git` that came with a project can lead to any repository of
    the user's, whose branch and history are not the project's.
    """

    program: str
    directory: int
    depth: int = 0
    index: str = ""
    exclude: str = ""
    configuration: Configuration = field(default_factory=Configuration)
    foreign: bool = False
    head: str = ""

    def branch(self, budget: Budget) -> str | NoGit:
        """The name of the branch, even before its first commit; "" if `head` is detached."""
        if self.foreign:
            return NoGit.ELSEWHERE
        answer = self.ask(budget, "symbolic-ref", "--quiet", "--short", "HEAD", fine=(0, 1))
        return answer if isinstance(answer, NoGit) else os.fsdecode(answer.removesuffix(b"\n"))

    def tracked(self, budget: Budget) -> "TrackedFiles | NoGit":
        """The index below the directory. Some of its files may be gone.

        With a split index these are the files of the latest commit: git sets the time of a shared
        index whenever it reads one, and nothing here changes a file. `left_out` is then unknown,
        so a `.gitignore` that a sparse checkout left out does not count.
        """
        index = os.path.join(HELD % self.directory, self.index)
        if _is_endless(index):
            return NoGit.BROKEN
        if not _is_split(index, self.directory):
            answer = self.ask(budget, "ls-files", "-z", "-t", "--stage", environment={})
            return answer if isinstance(answer, NoGit) else TrackedFiles.parse(answer)
        if not self.head:
            return TrackedFiles()
        answer = self.ask(budget, "ls-tree", "-r", "-z", self.head)
        if isinstance(answer, NoGit):
            return answer
        return TrackedFiles.parse(b"H " + answer.replace(b"\0", b"\0H ").removesuffix(b"H "))

    def is_repository(self, directory: int, budget: Budget) -> bool:
        """Return whether git takes the `.git` in the open `directory` for a repository."""
        if _holds_endless(os.path.join(HELD % directory, ".git")):
            return False
        inner, budget = replace(self, directory=directory), budget.at_most(FIRST_SECONDS)
        answer = inner.ask(budget, "rev-parse", "--resolve-git-dir", ".git")
        return not isinstance(answer, NoGit)

    def ask(
        self,
        budget: Budget,
        *words: str,
        fine: tuple[int, ...] = (0,),
        given: bytes = b"",
        environment: Mapping[str, str] = NO_INDEX,
    ) -> bytes | NoGit:
        """The output of git with `words` and the input `given`, if its exit status is `fine`.

        The `words` must make git read its objects, references and configuration alone, or its index
        if the `environment` names no other. A file that git reads in the work tree can make it run
        a program.
        """
        asked = started(self.program, self.directory, budget, words, given, environment)
        return asked if isinstance(asked, NoGit) else asked.answer(fine)

    def ask_apart(self, budget: Budget, *words: str, given: bytes = b"") -> bytes | NoGit:
        """The output of git with `words` that make it look for attributes and authors' names.

        Git would read them in the work tree. So it gets another one, in which nobody can put a
        file.
        """
        at = os.path.join(HELD % self.directory, os.path.dirname(self.index))
        try:
            apart = {"GIT_DIR": os.path.realpath(at), "GIT_WORK_TREE": NOWHERE, **NO_INDEX}
        except OSError:
            return NoGit.BROKEN
        return self.ask(budget, "-C", NOWHERE, *words, given=given, environment=apart)

    def version(self, budget: Budget) -> tuple[int, ...]:
        """The version of git, such as (2, 39); all zero if it does not tell."""
        if self.program not in _VERSIONS:
            told = self.ask(budget, "version")
            found = _VERSION.search(told) if isinstance(told, bytes) else None
            _VERSIONS[self.program] = tuple(map(int, found.groups())) if found else (0, 0)
        return _VERSIONS[self.program]

    def content(self, path: str, budget: Budget) -> bytes:
        """The content of the file `path` in the index; empty if git does not tell."""
        content = self.ask(budget, "cat-file", "blob", f":./{path}", environment={})
        return b"" if isinstance(content, NoGit) else content

    def commits(self, most: int, budget: Budget) -> list[list[str]] | NoGit:
        """The files below the directory that the `most` latest commits touched, the latest first.

        Paths are relative to the directory; files that are gone are among them. A commit with none,
        such as a merge, is an empty list, and so is one of a bot.
        """
        if self.foreign:
            return NoGit.ELSEWHERE
        words = ("--name-only", "--no-renames", "--relative", _EACH_COMMIT, "-z", f"-n{most}")
        quiet = ("--no-ext-diff", "--no-textconv", "--no-mailmap", "--diff-merges=off")
        below = ("--", ".") if self.depth else ()
        answer = self.ask(budget, "log", *words, *quiet, "-O/dev/null", *below)
        if isinstance(answer, NoGit):
            return answer
        return [
            [] if _BOT.search(author) else list(map(os.fsdecode, paths))
            for (author,), paths in log_entries(answer, 1)
        ]


def find_repository(directory: int, project: str, budget: Budget) -> Repository | NoGit:
    """The work tree around the open `directory`. A git inside `project`, a path, is not run."""
    git_directory = _git_directory(directory)
    if not git_directory or _holds_endless(os.path.join(HELD % directory, git_directory)):
        return NoGit.BROKEN if git_directory else NoGit.NO_WORK_TREE
    program = _program(project, os.environ.get("PATH", ""))
    if program is None or not os.path.exists(HELD % directory):
        return NoGit.UNSUPPORTED if program else NoGit.ABSENT
    bare, budget = Repository(program, directory), budget.at_most(FIRST_SECONDS)
    question = started(program, directory, budget, _QUESTION, b"", {})
    if isinstance(question, NoGit):
        return question
    try:  # two processes work at the same time
        values = bare.ask(budget, *QUESTION, fine=(0, 1))
        facts = question.answer((0,))
    finally:
        question.end()
    if isinstance(facts, NoGit):
        return facts
    try:
        return _described(bare, os.fsdecode(facts), values)
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


def _is_split(index: str, directory: int) -> bool:
    """Whether the file `index` names a shared index beside it (gitformat-index, "Split index")."""
    try:
        beside = filter(None, map(_SHARED.fullmatch, os.listdir(os.path.dirname(index))))
        if not (shared := [bytes.fromhex(name[1]) for name in beside]):
            return False
        content = read(index, directory, MAX_OUTPUT, follow=True)
    except (OSError, PathError):
        return False
    return content.whole and any(name in content.head for name in shared)


def _described(bare: Repository, answer: str, values: bytes | NoGit) -> Repository | NoGit:
    """`bare` with git's `answer` to `_QUESTION`, and the `values` of its configuration."""
    # A newline in the path of the work tree stands as NUL until the lines are split.
    here = os.readlink(HELD % bare.directory)
    for end in (at for at in range(len(here), 0, -1) if here[at - 1] == "\n"):
        answer = answer.replace(here[:end], here[: end - 1] + "\0")
    lines = answer.removesuffix("\n").split("\n")
    inside, *facts = [line.replace("\0", "\n") for line in lines]
    if inside != "true":
        return NoGit.NO_WORK_TREE
    if len(facts) not in (5, 6):
        return NoGit.BROKEN
    up, index, exclude, git_directory, top, *head = facts
    # Git follows a link at info/exclude, such as `.git/info/exclude -> ../../ignore`. Whoever reads
    # the rules follows none, so its target stands for a link that stays in the work tree.
    target = os.path.realpath(os.path.join(HELD % bare.directory, exclude))
    link = os.path.islink(os.path.join(HELD % bare.directory, exclude))
    # A git from before 2020 has no --show-scope, and fails.
    configuration = Configuration()
    if isinstance(values, bytes):
        configuration = Configuration.read(values, top)
    worktree = configuration.values.get("core.worktree", "")
    return replace(
        bare,
        depth=up.count("../"),
        index=index,
        exclude=target if link and is_within(target, top) else exclude,
        configuration=configuration,
        foreign=not _is_own(bare.directory, git_directory, top, worktree),
        head="".join(head),
    )


def _is_own(directory: int, git_directory: str, top: str, worktree: str) -> bool:
    """Whether `git_directory` lies in the work tree at `top` around `directory`, or names it.

    A submodule's names it by core.worktree, that of a linked work tree by a file `gitdir`.
    """
    if is_within(git_directory, top):
        return True
    if worktree and os.path.realpath(os.path.join(git_directory, worktree)) == top:
        return True
    try:
        named = read(f"{git_directory}/gitdir", directory, 1 << 12, follow=True).head
    except PathError:
        return False
    # Since git 2.48 it can be relative to the git directory. To git, a NUL ends it.
    path = os.fsdecode(named.partition(b"\0")[0].rstrip(b"\n"))
    return os.path.realpath(os.path.join(git_directory, path)) == f"{top}/.git"


def _program(project: str, path: str) -> str | None:
    """The git in a directory of the system, else the first one on `path` outside `project`."""
    system = [f"{folder}/git" for folder in _PLACES]
    others = [f"{folder}/git" for folder in path.split(":") if folder.startswith("/")]
    outside = (other for other in others if not is_within(os.path.realpath(other), project))
    return next(filter(is_program, chain(system, outside)), None)  # most need no look outside


def log_entries(log: bytes, fields: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield the fields and paths of each commit in a `log` of `git log -z --name-only`.

    Its format has a NUL before each of so many `fields`, and one behind the last. Between its NULs
    stand: nothing, the fields, nothing, then the paths, the first after a newline. A path is never
    empty, so no name of a file can pass for an author.
    """
    parts = iter(log.split(b"\0"))
    next(parts)
    for first in parts:
        found = [first, *islice(parts, fields - 1)]
        next(parts, None)
        paths = list(iter(lambda: next(parts, b""), b""))
        paths[:1] = [path.removeprefix(b"\n") for path in paths[:1]]
        yield found, paths
