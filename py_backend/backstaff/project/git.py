"""Asking the real git about a work tree, in a clean repository around the real one.

The clean repository comes with this package: a directory without settings, hooks and attributes
(`clean/`). Git takes it for the common part of the repository (`GIT_COMMON_DIR`), and has the real
index, objects and references. The values of a few settings, such as core.autocrlf, are handed on.
Only the place and the settings are asked for in the real repository, which reads no file of the
work tree. Git gets its directories open, so that none is swapped.
"""

import atexit
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Literal

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import DeadlineExceeded, NoGit, PathError, Unanswered
from backstaff.fs import handles
from backstaff.fs.entry import Stamp, are_settled, stamp_at
from backstaff.fs.file import Content, copy_in_memory, head_of, read
from backstaff.fs.handles import OpenDirectory
from backstaff.fs.links import links_below, real_path
from backstaff.fs.root import Place, is_within
from backstaff.programs import MAX_OUTPUT, RunningProgram, answers, program_outside
from backstaff.project.running_git import hardened

FIRST_SECONDS = 1.0  # at most, for git's first answer, which takes milliseconds
# Bytes of a file that names others; directories of objects; references that name another one.
MAX_NAMED, MAX_STORES, MAX_REFERENCES = 4096, 64, 6
_CLEAN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clean")
# All that git reads in its directory, without the files of directories.
_PARTS = "HEAD config config.worktree commondir index packed-refs shallow info logs refs"
_SPLIT = "its index is split, and git would touch it: `git update-index --no-split-index` ends that"
_SHARED = re.compile(r"sharedindex\.([0-9a-f]{40})")
_LINK = re.compile(rb"(?s)link(?=.{4}(.{20}))")
_QUESTIONS = (  # git repeats `--//`, because no real path has two slashes together
    "rev-parse --is-inside-work-tree --show-prefix --// --absolute-git-dir --// --git-common-dir",
    "config -z --show-scope --show-origin --list",
)
# The settings that a git in the clean repository has, too.
_HANDED_ON = re.compile(
    r"core\.(filemode|autocrlf|eol|ignorecase|symlinks|trustctime|checkstat|precomposeunicode"
    r"|sparsecheckout(cone)?|attributesfile)|(diff|status)\.rename(s|limit)|status\.showuntrackedfiles"
)
_REMOTES = r"config -z --file - --no-includes --get-regexp ^(branch|remote)\."
_FALSE = re.compile(r"|false|no|off|\s*[-+]?(0x)?0+[kmg]?", re.IGNORECASE)
_OURS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_WORK_TREE": "."}

# What a git has. It has no index with the attributes alone, else it reads a file for its object.
Sees = Literal["objects", "index", "attributes", "files"]
# The top, the path from there, git's directory, its common part, the settings, and the remotes.
Facts = tuple[str, str, str, str, Mapping[str, str], Sequence[tuple[str, str]]]
_FACTS: LRUCache[tuple[object, ...], tuple[Facts, Mapping[str, Stamp | None]]] = LRUCache(64)


@dataclass(frozen=True)
class Repository:
    """The work tree around a place. It can be asked while the place is open."""

    place: Place
    program: str
    top: OpenDirectory
    git: OpenDirectory
    common: OpenDirectory
    objects: OpenDirectory
    inside: str  # the path from the top of the work tree to the place: "" or `a/b/`
    branch: str | None  # "" if `HEAD` is detached, None if it is in a table of references
    values: Mapping[str, str]  # the settings, the last of each name
    remotes: Sequence[tuple[str, str]]  # the settings of branches and remotes, each in turn
    rules: Sequence[str]  # the files of ignore rules beside those of directories
    budget: Budget

    def below(self, *paths: str) -> list[str]:
        """Git's words for all below the `paths` from the place; without any, below the place."""
        full = [(self.inside + path).rstrip("/") for path in paths or ("",)]
        return ["--", *(f":(top,literal){path}" for path in full if path)]

    def start(self, *words: str, sees: Sees = "objects", given: bytes = b"") -> RunningProgram:
        """Start git with `words`, and `given` as its input. Raises `Unanswered`."""
        has_index, has_files = sees in ("index", "files"), sees in ("attributes", "files")
        held = [self.top, self.git, self.common, self.objects]
        if has_index and self.is_split:
            raise Unanswered(_SPLIT)
        clean = clean_directory(self.object_format, self.values.get("extensions.refstorage", ""))
        environment = {"GIT_DIR": str(self.git), "GIT_OBJECT_DIRECTORY": str(self.objects), **_OURS}
        environment |= {"GIT_COMMON_DIR": clean, "GIT_SHALLOW_FILE": f"{self.common}/shallow"}
        # A `git diff` that finds files with another time and the same text would write the index,
        # in spite of GIT_OPTIONAL_LOCKS, if it can make the lock beside it. There is no directory
        # for that, or the path is as long as can be, without room for `.lock` behind it.
        if has_index and not handles.BY_DESCRIPTOR:
            longest = os.pathconf("/", "PC_PATH_MAX") - 1 - len(os.fsencode(str(self.git)))
            environment["GIT_INDEX_FILE"] = f"{self.git}{'index':/>{longest}}"
        elif has_index and self.index and self.index.whole:
            held += [OpenDirectory(self._copy, "")]
            environment["GIT_INDEX_FILE"] = str(held[-1])
        elif has_index and os.path.lexists(f"{self.git.path}/index"):
            raise Unanswered("its index is no file, too large, or cannot be read")
        # Settings of the upstream of the branch, or of any in a table of references.
        branch = ".*" if self.branch is None else re.escape(self.branch)
        ours = re.compile(rf"(?s)branch\.{branch}\.(remote|merge)|remote\..*\.fetch")
        pairs = (pair for pair in self.remotes if ours.fullmatch(pair[0]))
        for number, (key, value) in enumerate(pairs):
            environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
            environment["GIT_CONFIG_COUNT"] = str(number + 1)
        git = hardened(self.program, (*self.handed_on, *words), environment)
        at = self.top if has_files else clean
        return RunningProgram(*git, at, self.budget, given=given, held=held)

    def ask(
        self, *words: str, sees: Sees = "objects", given: bytes = b"", fine: tuple[int, ...] = (0,)
    ) -> bytes:
        """The output of such a git, if its exit status is `fine`. Raises `Unanswered`."""
        return b"".join(self.start(*words, sees=sees, given=given).pieces(fine))

    def entries(self, *words: str, given: bytes = b"") -> list[str]:
        """Git's answer about files, or the index, split at each NUL. Raises `Unanswered`."""
        return os.fsdecode(self.ask(*words, sees="files", given=given)).split("\0")[:-1]

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Whether the setting `key` is on: any value that git does not read as false."""
        return not _FALSE.fullmatch(self.values[key]) if key in self.values else default

    def latest_commit(self) -> str:
        """The commit at `HEAD`; "" before the first. Raises `Unanswered`."""
        words = ("rev-parse", "--verify", "--quiet", "HEAD")
        return self.ask(*words, fine=(0, 1)).decode().strip()

    @property
    def object_format(self) -> str:
        """The kind of hashes, "sha1" or "sha256"."""
        return self.values.get("extensions.objectformat", "sha1").lower()

    @property
    def excludes(self) -> list[str]:
        """The options that give `git ls-files` its rules."""
        return ["--exclude-per-directory=.gitignore", *map("--exclude-from={}".format, self.rules)]

    @property
    def handed_on(self) -> list[str]:
        """The options that give a git in the clean repository its settings."""
        keys = filter(_HANDED_ON.fullmatch, self.values)
        return [word for key in keys for word in ("-c", f"{key}={self.values[key]}")]

    @property
    def is_shallow(self) -> bool:
        """Whether the history is cut, as in a shallow clone."""
        return os.path.exists(f"{self.common.path}/shallow")

    @property
    def is_split(self) -> bool:
        """Whether the index names a shared one (gitformat-index), of which git sets the time."""
        with suppress(OSError):  # it is gone, as git itself will say
            shared = set(_SHARED.findall(" ".join(os.listdir(self.git.path))))
            if shared and self.index:
                links = _LINK.findall(self.index.head)
                return not self.index.whole or any(one.hex() in shared for one in links)
        return False

    @property
    def has_gitlinks(self) -> bool:
        """Whether there can be submodules in the index. It seldom says so where there is none."""
        index = self.index.head if self.index else b""
        modes = re.finditer(b"\0\0[\xe0-\xef]", index)  # at 36 + 8n; anywhere in version 4
        return any(not (one.start() - 36) % 8 or index[7:8] == b"\4" for one in modes)

    @cached_property
    def index(self) -> Content | None:
        """The index, at most `MAX_OUTPUT` bytes of it; None if there is none, or a link."""
        with suppress(PathError):
            return read("index", self.git.descriptor, MAX_OUTPUT)
        return None

    @cached_property
    def _copy(self) -> int:
        return self.place.keep_open(copy_in_memory(self.index)) if self.index else -1


@cache
def clean_directory(object_format: str, references: str = "") -> str:
    """The clean common directory. One is made, and removed, for a server that runs from memory."""
    path = os.path.join(_CLEAN, object_format)
    is_whole = os.path.isdir(f"{path}/refs") and references != "reftable"
    if object_format in ("sha1", "sha256") and not is_whole:
        path = mkdtemp(prefix="backstaff-")
        atexit.register(rmtree, path, ignore_errors=True)
        os.mkdir(f"{path}/refs")
        text = f"[core]\nrepositoryformatversion=1\n[extensions]\nobjectFormat={object_format}\n"
        text += "refStorage=reftable\n" * (references == "reftable")
        Path(path, "config").write_text(text, "ascii")
    return path


def has_lines(path: str) -> bool:
    """Whether a file of attributes or rules has more than comments."""
    return bool(re.search(rb"(?m)^(?!#).*\S", head_of(path, MAX_OUTPUT)))


def find_repository(place: Place, budget: Budget) -> Repository:
    """The work tree around the directory `place`. Raises `Unanswered`."""
    try:
        return _found(place, budget)
    except (OSError, ValueError) as error:  # a link is being changed, or a NUL is in a name
        raise Unanswered(f"git failed: {getattr(error, 'strerror', 'a name has a NUL')}") from error
    except DeadlineExceeded as error:
        raise Unanswered(NoGit.SLOW) from error


def _found(place: Place, budget: Budget) -> Repository:
    root = place.root.path
    above = (place.path, *map(str, Path(place.path).parents))
    dot_gits = [one for folder in above if os.path.lexists(one := os.path.join(folder, ".git"))]
    if not dot_gits:  # git need not be started to say so
        raise Unanswered(NoGit.NO_WORK_TREE)
    if not (program := program_outside(root, "git")):
        raise Unanswered(NoGit.ABSENT)
    needed = (os.path.isdir(f"{one}/{name}") for one in dot_gits for name in ("refs", "objects"))
    key = (program, place.path, *map(real_path, dot_gits), *needed)
    facts, stamps = _FACTS.get(key) or (None, {})
    checked = budget.checked(stamps.items())
    if not facts or any(stamp_at(file) != stamp for file, stamp in checked):
        begun, (facts, files) = time.time_ns(), _facts(program, place, dot_gits, budget)
        stamps = {file: stamp_at(file) for file in set(files)}
        if are_settled(stamps.values(), begun):
            _FACTS.put(key, (facts, stamps))
    top, inside, git, common, values, remotes = facts
    # Open the directories first and judge them then, so that nobody can swap them in between.
    tree, at, shared, objects = map(place.hold, (top, git, common, f"{common}/objects"))
    # A file `.git` can only have led there.
    led = next((one for one in dot_gits if real_path(one) == git or os.path.isfile(one)), "")
    ours, held = (os.path.dirname(led), root), (tree, at, shared, objects)
    if not led or tree.path != top or _leads_out(held, ours, values, budget):
        raise Unanswered(NoGit.ELSEWHERE)
    head, text = "", head_of("HEAD", MAX_NAMED, at.descriptor, follow=False)
    for _ in range(MAX_REFERENCES):
        if text.startswith(b"ref:"):
            head = os.fsdecode(text[4:].strip())
            if ".." in head or not head.startswith("refs/"):  # it can be a link to any file
                raise Unanswered("its HEAD leads to a name that is not in refs/")
            text = head_of(f"{shared.path}/{head}", MAX_NAMED)
    # Git follows a link at a file of rules, such as `.git/info/exclude -> ../../ignore`. One that
    # leads out of the work tree does not count, because the hidden names would tell its lines.
    files = filter(has_lines, (values["core.excludesfile"], f"{shared.path}/info/exclude"))
    real, own = [(file, real_path(file)) for file in files], (shared.path, top, root)
    rules = [its for file, its in real if not is_within(file, *own) or is_within(its, *own)]
    branch = None if "extensions.refstorage" in values else head.removeprefix("refs/heads/")
    return Repository(place, program, *held, inside, branch, values, remotes, rules, budget)


def _facts(
    program: str, place: Place, dot_gits: Sequence[str], budget: Budget
) -> tuple[Facts, Iterable[str]]:
    """Git's answers about the `place`, and the files that they come from, if these exist."""
    first, here = budget.at_most(FIRST_SECONDS), OpenDirectory(place.directory, place.path)

    def start(question: str, given: bytes = b"") -> RunningProgram:
        git = hardened(program, question.split(), {})
        return RunningProgram(*git, here, first, held=[here], given=given)

    told, listed = answers(map(start, _QUESTIONS))
    there, git, common = os.fsdecode(told).removesuffix("\n").split("\n--//\n")
    if not there.startswith("true\n"):
        raise Unanswered(NoGit.NO_WORK_TREE)
    top = f"{here.path}/".removesuffix(inside := there[5:]).rstrip("/") or "/"
    shared, home = place.hold(os.path.join(here.path, common)), os.path.expanduser("~")
    # An answer shows names of branches: none of settings that came by a link or from elsewhere.
    config = head_of("config", MAX_OUTPUT, shared.descriptor, follow=False)
    given = b"".join(start(_REMOTES, config).pieces((0, 1))) if config else b""
    remotes = [one.partition("\n")[::2] for one in os.fsdecode(given).split("\0")[:-1]]
    own = f"{os.environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git"
    values = {"core.excludesfile": f"{own}/ignore", "core.attributesfile": f"{own}/attributes"}
    files = [f"{own}/config", f"{home}/.gitconfig", "/etc/gitconfig", f"{shared.path}/config"]
    files += [os.environ.get(f"GIT_CONFIG_{which}", "") for which in ("GLOBAL", "SYSTEM")]
    # The time of a directory `.git` changes with the index, and these facts do not.
    files += [one for one in dot_gits if not os.path.isdir(one)]
    files += [*(f"{one}/HEAD" for one in dot_gits), f"{git}/HEAD", f"{git}/config.worktree"]
    files += [f"{git}/commondir", os.path.join(os.path.dirname(program), "../etc/gitconfig")]
    parts = iter(os.fsdecode(listed).split("\0")[:-1])
    # Such as "global", "file:/home/a/.gitconfig", "core.worktree\n/a".
    for scope, origin, setting in first.checked(zip(parts, parts, parts, strict=False), 1):
        key, is_valued, value = setting.partition("\n")
        source = os.path.join(top, origin.removeprefix("file:"))
        files.append(source)
        counts, is_users = True, scope in ("global", "system")
        if key.startswith("include"):
            files.append(os.path.join(os.path.dirname(source), os.path.expanduser(value)))
        if key in ("core.excludesfile", "core.attributesfile"):
            value = os.path.join(top, os.path.expanduser(value))
            # A project may name a file of its own for its rules, and no other file of the user's.
            counts = is_users or (key == "core.excludesfile" and is_within(real_path(value), top))
        if counts:
            values[key] = value if is_valued else "true"
    return (top, inside, git, shared.path, values, remotes), files


def _leads_out(
    held: Sequence[OpenDirectory], ours: tuple[str, str], values: Mapping[str, str], budget: Budget
) -> bool:
    """Whether a part of a repository lies in neither of the directories `ours`.

    The work tree, git's directory, its common part and the objects are `held`. Those of a linked
    work tree or a submodule can lie outside if git's directory names this work tree, by `gitdir`
    or core.worktree, because nobody writes that into another repository of the user's.
    """
    top, git, common, objects = (one.path for one in held)
    if not is_within(top, *ours):  # a core.worktree that came with a project can name any above
        return True
    if is_within(git, *ours):
        parts, stores = list[str](), _stores(objects)
        for at in {git, common}:
            parts += [f"{at}/{part}" for part in _PARTS.split()]
            parts += chain(links_below(f"{at}/logs", budget), links_below(f"{at}/refs", budget))
        for at in stores:
            parts += links_below(at, budget)
        parts = [common, *stores, *filter(os.path.islink, parts)]
        return not all(is_within(real_path(one), *ours) for one in budget.checked(parts, 16))
    # To git, a NUL ends the name. Since git 2.48 it can be relative to the git directory.
    named = os.fsdecode(head_of(f"{git}/gitdir", MAX_NAMED).partition(b"\0")[0].rstrip(b"\n"))
    is_linked = named and real_path(os.path.join(git, named)) == f"{ours[0]}/.git"
    worktree = values.get("core.worktree")
    is_named = worktree and real_path(os.path.join(git, worktree)) == ours[0]
    return not (is_linked or is_named)


def _stores(objects: str) -> list[str]:
    """`objects` and the directories that files `info/alternates` name, as `../../b.git/objects`."""
    stores = [objects]
    for one in stores:
        content = head_of(f"{one}/info/alternates", MAX_NAMED)
        # Nobody follows quoted names, a long file of names, or very many of them.
        if len(content) == MAX_NAMED or b'"' in content or len(stores) > MAX_STORES:
            return ["/"]
        named = {os.path.join(one, os.fsdecode(line)) for line in content.split(b"\n") if line}
        stores += set(map(real_path, named)).difference(stores)
    return stores
