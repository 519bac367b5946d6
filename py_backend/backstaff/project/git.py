"""Asking the real git about a work tree, in a clean repository around the real one.

The clean repository comes with this package: a directory without settings, hooks, attributes and
references (`clean/`). Git takes it for the common part of the repository (`GIT_COMMON_DIR`), and
has the real index, objects and `HEAD`. So nothing that the repository's configuration names exists
for git, even if the configuration changes during the call. A few values are handed on.

Only two questions go to the real repository, and neither of them reads a file of the work tree:
its place with its settings, and its references. Git's directories are opened first, and git
gets the open ones, so that none is swapped for another meanwhile.
"""

import atexit
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import PurePath
from shutil import rmtree
from tempfile import mkdtemp
from typing import Literal

from backstaff.budget import Budget
from backstaff.errors import PathError
from backstaff.fs.file import read
from backstaff.fs.handles import HANDLES
from backstaff.fs.root import Place
from backstaff.project import running_git
from backstaff.project.running_git import (
    GitFailed,
    NoGit,
    RunningGit,
    Unanswered,
    answers,
    is_program,
    started,
)

FIRST_SECONDS = 1.0
"""Maximum number of seconds for git's first answer, which takes milliseconds."""
MAX_NAMED = 1 << 12
"""Maximum number of bytes of a file that names other directories."""

_SPLIT = GitFailed(
    "its index is split, and git cannot read it without a change of file times:"
    " `git update-index --no-split-index` ends that"
)
_MOVED = GitFailed("its directories were moved meanwhile")
_PLACES = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin")
_CLEAN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clean")
_PARTS = (
    *("HEAD", "config", "config.worktree", "commondir", "index", "packed-refs", "shallow", "info"),
    *("info/grafts", "logs", "refs", "objects"),
)
_SHARED = re.compile(r"sharedindex\.((?:[0-9a-f]{2})+)")
_GITLINK = b"\0\0\xe0\0"
"""The mode of a submodule as it stands in an index."""
_OF_THE_USER = ("global", "system")
_BETWEEN = "--//"
"""A word that git repeats between its answers; no real path has two slashes together."""
_QUESTION = (
    *("rev-parse", "--is-inside-work-tree", "--show-cdup", _BETWEEN, "--absolute-git-dir"),
    *(_BETWEEN, "--git-common-dir", _BETWEEN),
    *("--default", "HEAD"),  # before the first commit, git prints nothing for it
)
_SETTINGS = ("config", "-z", "--show-scope", "--list")
_HANDED_ON = (
    *("filemode", "autocrlf", "eol", "ignorecase", "symlinks", "trustctime", "checkstat"),
    *("precomposeunicode", "sparsecheckout", "sparsecheckoutcone", "attributesfile"),
)
"""The settings in `core` that a git in the clean repository has, too."""
_FALSE = re.compile(r"|false|no|off|\s*[-+]?(0x)?0+[kmg]?", re.IGNORECASE)
_APART = {"GIT_INDEX_FILE": f"{_CLEAN}/no-index"}
_QUIET = ("-c", f"core.attributesFile={os.devnull}")
_OURS = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


Sees = Literal["objects", "index", "attributes", "files", "references"]
"""What a git has: the objects alone, or as well the index, the files of attributes, or all files.

It has no index with the attributes alone, or it would read a file in place of its object. For a
question about its references alone, it is in the real repository.
"""


@dataclass(frozen=True, slots=True)
class Held:
    """A directory that is held open, and its real path."""

    descriptor: int
    path: str

    def __str__(self) -> str:
        """The path by which git gets the directory: the open one, where the system has that."""
        return f"/proc/self/fd/{self.descriptor}" if running_git.BY_DESCRIPTOR else self.path

    def is_there(self) -> bool:
        """Whether the path still leads to the open directory."""
        with suppress(OSError):
            if running_git.BY_DESCRIPTOR:
                return os.readlink(str(self)) == self.path
            status = os.stat(self.path, follow_symlinks=False)
            return os.path.samestat(status, HANDLES.status(self.descriptor))
        return False


@dataclass(frozen=True, slots=True)
class Repository:
    """The work tree around a place. It can be asked while the place is open, within the `budget`.

    `inside` is the path from the top of the work tree to the place: "" or `a/b/`. `values` are the
    settings, the last of each name. `head` is the latest commit, "" before the first. `excludes`
    are git's options for the files of ignore rules.
    """

    program: str
    top: Held
    git: Held
    common: Held
    objects: Held
    inside: str
    values: Mapping[str, str]
    head: str
    excludes: tuple[str, ...]
    budget: Budget

    def below(self, *paths: str) -> list[str]:
        """Git's words for all below the `paths` from the place; without any, below the place."""
        full = [(self.inside + path).rstrip("/") for path in paths or ("",)]
        return ["--", *(f":(top,literal){path}" for path in full if path)]

    def start(
        self, *words: str, sees: Sees = "objects", given: bytes = b"", budget: Budget | None = None
    ) -> RunningGit:
        """Start git with `words`, and `given` as its input. Raises `Unanswered`."""
        has_index, has_files = sees in ("index", "files"), sees in ("attributes", "files")
        if has_index and self.is_split:
            raise Unanswered(_SPLIT)
        clean = clean_directory(self.object_format)
        environment = {"GIT_DIR": str(self.git), "GIT_OBJECT_DIRECTORY": str(self.objects)}
        environment["GIT_WORK_TREE"] = "." if has_files else clean
        environment |= _unlockable_index(self.git) if has_index else _APART
        if sees == "references":
            words = (*_QUIET, *words)
        else:
            words = (*self.handed_on, *words)
            shallow = f"{self.common}/shallow" if self.is_shallow else os.devnull
            environment |= {"GIT_COMMON_DIR": clean, "GIT_SHALLOW_FILE": shallow, **_OURS}
        at = str(self.top) if has_files else clean
        held, budget = [one.descriptor for one in self._held], budget or self.budget
        return started(self.program, at, budget, words, environment, given=given, held=held)

    def ask(
        self,
        *words: str,
        sees: Sees = "objects",
        given: bytes = b"",
        fine: tuple[int, ...] = (0,),
        budget: Budget | None = None,
    ) -> bytes:
        """The output of such a git, if its exit status is `fine`. Raises `Unanswered`."""
        return self.answers([self.start(*words, sees=sees, given=given, budget=budget)], fine)[0]

    def entries(self, *words: str, given: bytes = b"", budget: Budget | None = None) -> list[str]:
        """Git's answer about files, or the index, split at each NUL. Raises `Unanswered`."""
        told = self.ask(*words, sees="files", given=given, budget=budget)
        return os.fsdecode(told).split("\0")[:-1]

    def answers(self, starting: Iterable[RunningGit], fine: tuple[int, ...] = (0,)) -> list[bytes]:
        """The outputs of such gits, if nothing was swapped meanwhile. Raises `Unanswered`."""
        found = answers(starting, fine)
        self.require_in_place()
        return found

    def require_in_place(self) -> None:
        """Raise `Unanswered` if git got a path that leads to another directory by now."""
        if not running_git.BY_DESCRIPTOR and not all(one.is_there() for one in self._held):
            raise Unanswered(_MOVED)

    @property
    def object_format(self) -> str:
        """The kind of hashes, "sha1" or "sha256"."""
        return self.values.get("extensions.objectformat", "sha1").lower()

    @property
    def handed_on(self) -> list[str]:
        """The options that give a git in the clean repository its settings."""
        keys = (f"core.{name}" for name in _HANDED_ON)
        settings = (f"{key}={self.values[key]}" for key in keys if key in self.values)
        return [word for setting in settings for word in ("-c", setting)]

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Whether the setting `key` is on: any value that git does not read as false."""
        value = self.values.get(key)
        return default if value is None else not _FALSE.fullmatch(value)

    @property
    def _held(self) -> tuple[Held, ...]:
        return self.top, self.git, self.common, self.objects

    @property
    def is_shallow(self) -> bool:
        """Whether the history is cut, as in a shallow clone."""
        return os.path.exists(f"{self.common.path}/shallow")

    @property
    def has_own_attributes(self) -> bool:
        """Whether its `info/attributes` has lines, which do not count here."""
        content = _read(f"{self.common.path}/info/attributes")
        return any(line.strip() and line[:1] != b"#" for line in content.splitlines())

    @property
    def is_split(self) -> bool:
        """Whether the index names a shared one beside it (gitformat-index, "Split index").

        Git sets the time of a shared index whenever it reads one, and nothing here changes a file.
        """
        with suppress(OSError):  # it is gone, as git itself will say
            shared = filter(None, map(_SHARED.fullmatch, os.listdir(self.git.path)))
            return any(bytes.fromhex(one[1]) in self._index() for one in shared)
        return False

    @property
    def has_gitlinks(self) -> bool:
        """Whether there can be submodules in the index. It seldom says so where there is none."""
        return _GITLINK in self._index()

    def _index(self) -> bytes:
        return _read("index", self.git.descriptor, running_git.MAX_OUTPUT)

    def branch(self, budget: Budget) -> str | NoGit:
        """The name of the branch, even before its first commit; "" if `head` is detached."""
        words = ("symbolic-ref", "--quiet", "--short", "HEAD")
        try:
            answer = self.ask(*words, sees="references", fine=(0, 1), budget=budget)
        except Unanswered as error:
            return error.why
        return os.fsdecode(answer.removesuffix(b"\n"))


def _unlockable_index(git: Held) -> dict[str, str]:
    """Name the index of the directory `git` by a path that leaves no room for `.lock` behind it.

    A `git diff` that finds files with another time and the same text would write the index, in
    spite of GIT_OPTIONAL_LOCKS. It goes on if it cannot make the lock.
    """
    longest = os.pathconf("/", "PC_PATH_MAX") - 1
    return {"GIT_INDEX_FILE": f"{git}{'index':/>{longest - len(os.fsencode(str(git)))}}"}


@cache
def clean_directory(object_format: str) -> str:
    """The clean common directory. A server that runs from memory makes one, and removes it."""
    path = os.path.join(_CLEAN, object_format)
    if not os.path.isdir(f"{path}/refs") and object_format in ("sha1", "sha256"):
        path = mkdtemp(prefix="backstaff-")
        atexit.register(rmtree, path, ignore_errors=True)
        os.mkdir(f"{path}/refs")
        with open(f"{path}/config", "w", encoding="ascii") as file:
            file.write("[core]\nrepositoryformatversion=1\n[extensions]\n")
            file.write(f"objectFormat={object_format}\n")
    return path


def find_repository(place: Place, budget: Budget) -> Repository:
    """The work tree around the directory `place`. A git inside the root is not run.

    Raises `Unanswered`.
    """
    root, here = place.root.path, Held(place.directory, place.path)
    program = _program(root, os.environ.get("PATH", ""))
    above = (place.path, *map(str, PurePath(place.path).parents))
    dot_gits = [one for folder in above if os.path.lexists(one := os.path.join(folder, ".git"))]
    if not dot_gits:  # git need not be started to say so
        raise Unanswered(NoGit.NO_WORK_TREE)
    if not program:
        raise Unanswered(NoGit.ABSENT)
    first, held = budget.at_most(FIRST_SECONDS), [place.directory]
    facts, printed = answers(
        started(program, str(here), first, (*_QUIET, *words), _APART, held=held)
        for words in (_QUESTION, _SETTINGS)
    )
    is_inside, git, common, head = (
        part.removesuffix("\n").removeprefix("\n") for part in os.fsdecode(facts).split(_BETWEEN)
    )
    if not is_inside.startswith("true"):
        raise Unanswered(NoGit.NO_WORK_TREE)
    names = place.path.split("/")
    depth = is_inside.count("../")
    top = "/".join(names[: len(names) - depth]) or "/"
    common = _real(os.path.join(place.path, common))
    values = _settings(printed, top)
    # Open the directories first and judge them then, so that nobody can swap them in between.
    opened, *parts = (_opened(path, place) for path in (top, git, common, f"{common}/objects"))
    # A file `.git` can only have led there.
    led = (one for one in dot_gits if _real(one) == git or os.path.isfile(one))
    owner = os.path.dirname(next(led, "")) or git
    # A core.worktree that came with a project can name any directory above it.
    is_wide = opened.path != top or not (is_within(top, owner) or is_within(top, root))
    if is_wide or _leads_out([one.path for one in parts], owner, root, values):
        raise Unanswered(NoGit.ELSEWHERE)
    inside = "".join(f"{name}/" for name in names[len(names) - depth :])
    excludes = _excludes(values["core.excludesfile"], common, top, root)
    at, shared, objects = parts
    return Repository(program, opened, at, shared, objects, inside, values, head, excludes, budget)


def _real(path: str) -> str:
    """The real path of `path`. Raises `Unanswered` if a link on the way is being changed."""
    try:
        return os.path.realpath(path)
    except OSError as error:
        raise Unanswered(_MOVED) from error


def _opened(path: str, place: Place) -> Held:
    """The directory at `path`, which `place` closes. Raises `Unanswered` if it is elsewhere."""
    real = _real(path)
    try:
        held = Held(place.keep_open(HANDLES.root(real)), real)
    except OSError as error:
        raise Unanswered(GitFailed(f"git failed: {error.strerror}")) from error
    if not held.is_there():
        raise Unanswered(_MOVED)
    return held


def _settings(printed: bytes, top: str) -> dict[str, str]:
    """The last value of each setting that git has `printed` in the work tree at `top`.

    A project may name a file of its own as core.excludesFile, and no other file of the user's.
    """
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    files = {"core.excludesfile": "ignore", "core.attributesfile": "attributes"}
    values = {key: f"{folder}/git/{name}" for key, name in files.items()}
    parts = iter(os.fsdecode(printed).split("\0")[:-1])
    for scope, setting in zip(parts, parts, strict=False):  # "global", "core.worktree\n/a"
        key, is_valued, value = setting.partition("\n")
        if key in files:
            value = os.path.expanduser(value)
            is_own = is_within(_real(os.path.join(top, value)), top)
            if scope not in _OF_THE_USER and not (is_own and key == "core.excludesfile"):
                continue
        values[key] = value if is_valued else "true"
    return values


def _excludes(users: str, common: str, top: str, root: str) -> tuple[str, ...]:
    """Git's options for the ignore rules, the weakest first; `users` is core.excludesFile.

    Git follows a link at info/exclude, such as `.git/info/exclude -> ../../ignore`. One that leads
    out of the work tree does not count, because the hidden names would tell its lines.
    """
    exclude = _real(f"{common}/info/exclude")
    own = any(is_within(exclude, place) for place in (common, top, root))
    files = [os.path.join(top, users) if users else "", exclude if own else ""]
    named = (f"--exclude-from={file}" for file in files if os.path.isfile(file))
    return ("--exclude-per-directory=.gitignore", *named)


def _leads_out(
    directories: Sequence[str], owner: str, root: str, values: Mapping[str, str]
) -> bool:
    """Whether a part of the repository in the directory `owner` lies neither in it nor in `root`.

    The `directories` are git's, the common one, and that of the objects. A repository outside may
    own this work tree, as that of a linked work tree or of a submodule does: then it names it, by
    `gitdir` or core.worktree. Nobody writes that into a repository of the user's, so all of it is
    the user's own.
    """

    def is_ours(path: str) -> bool:
        real = _real(path)
        return is_within(real, owner) or is_within(real, root)

    git, common, objects = directories
    if not is_ours(git):
        return not _names(git, owner, values.get("core.worktree", ""))
    parts = [common, objects, *(f"{at}/{part}" for at in {git, common} for part in _PARTS)]
    if not all(map(is_ours, parts)):
        return True
    # Of the objects, a link at a single one is harmless, because its name tells its content.
    deep = [f"{common}/refs", f"{git}/refs", f"{git}/logs", f"{common}/logs"]
    deep += [f"{objects}/info", f"{objects}/pack"]
    links = chain(*map(_links, deep), _links(objects, levels=0))
    return not all(map(is_ours, chain(links, _alternates(objects))))


def _links(at: str, levels: int = 50) -> Iterator[str]:
    """Yield the links below `at`."""
    with suppress(OSError), os.scandir(at) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield entry.path
            elif levels and entry.is_dir():
                yield from _links(entry.path, levels - 1)


def _alternates(objects: str, levels: int = 5) -> Iterator[str]:
    """Yield the other directories of objects that `objects` names, and those that these name.

    "/" stands for names that are not read here: quoted, in a long file, or at too many levels.
    """
    content = _read(f"{objects}/info/alternates")
    if content and (len(content) == MAX_NAMED or b'"' in content or not levels):
        yield "/"
        return
    for line in content.splitlines():
        if line and not line.startswith(b"#"):
            path = os.path.join(objects, os.fsdecode(line))
            yield path
            yield from _alternates(path, levels - 1)


def _read(path: str, directory: int = -1, most: int = MAX_NAMED) -> bytes:
    """The first bytes of a file of git's, at a `path` that may begin at the open `directory`.

    Empty if there is no such file.
    """
    try:
        return read(path, directory, most, follow=True).head
    except PathError:
        return b""


def _names(git: str, owner: str, worktree: str) -> bool:
    """Whether the repository `git` says that its work tree is `owner`."""
    if worktree and _real(os.path.join(git, worktree)) == owner:
        return True
    named = _read(f"{git}/gitdir")
    # Since git 2.48 it can be relative to the git directory. To git, a NUL ends it.
    path = os.fsdecode(named.partition(b"\0")[0].rstrip(b"\n"))
    return bool(path) and _real(os.path.join(git, path)) == f"{owner}/.git"


def is_within(path: str, project: str) -> bool:
    """Whether the absolute `path` is `project` or lies below it."""
    return os.path.commonpath((path, project)) == project


def _program(root: str, path: str) -> str | None:
    """The git in a directory of the system, else the first one on `path` outside `root`."""
    system = [f"{folder}/git" for folder in _PLACES]
    others = [f"{folder}/git" for folder in path.split(":") if folder.startswith("/")]
    outside = (other for other in others if not is_within(_real(other), root))
    return next(filter(is_program, chain(system, outside)), None)  # most need no look outside
