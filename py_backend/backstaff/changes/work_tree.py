"""A work tree: its last commit, git's index, and the files as they are now.

Git is asked for its objects and settings alone. The files are read here, below the root and through
its descriptors. If git would run a program to convert a file, the file is `undecided`.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.changes.attributes import Attributes
from backstaff.changes.conversion import Conversion, conversion, oid_of
from backstaff.changes.index import GITLINK, LINK, BadIndex, Index, parse
from backstaff.changes.objects import (
    MAX_BYTES,
    MAX_CHANGES,
    Change,
    Changes,
    Side,
    Unanswered,
    answered,
    blobs,
    in_order,
    mode_of,
)
from backstaff.errors import NotAFile, NotFound, PathError
from backstaff.fs.entry import Kind, lstat_or_none
from backstaff.fs.file import read
from backstaff.fs.handles import HANDLES
from backstaff.fs.root import Place
from backstaff.project.files import content_of
from backstaff.project.git import Repository
from backstaff.project.ignore import MAX_BYTES as MAX_RULES
from backstaff.project.running_git import MAX_OUTPUT, NoGit
from backstaff.project.stamp import UNSETTLED, Stamp, settled

MAX_KEPT = 500_000
"""Maximum number of entries in the indexes that are kept, and of the changes kept with them.

An entry takes about 150 bytes, and a change about a kilobyte.
"""
MAX_COMMITS = 2
"""Maximum number of commits whose differences from an index are kept with it."""
_OF_THE_SYSTEM = "/etc/gitattributes"
_SUBMODULES = (
    *("config", "-z", "--file", "-", "--no-includes", "--get-regexp"),
    r"^submodule\..*\.(path|ignore)$",
)


@dataclass(slots=True)
class WorkTree:
    """A work tree. The `base` is its top, or the root of the call if the top is above that.

    `inside` is the path from the top to the base: "" or `a/b/`.
    """

    base: Place
    inside: str
    repository: Repository
    index: Index
    staged_since: dict[str, Changes]
    """The differences that `staged` has found, by commit."""
    budget: Budget
    nested: int = 0
    """Number of work trees around this submodule that are looked at."""
    _attributes: Attributes = field(init=False)
    _ignored: dict[str, str] | None = None

    def __post_init__(self) -> None:
        """Read the files of attributes that are for all paths."""
        repository, directory = self.repository, self.repository.directory
        users = repository.configuration.attributes_file
        general = [content_of(file, directory, follow=True) for file in (_OF_THE_SYSTEM, users)]
        exclude = repository.exclude
        if not exclude.endswith("info/exclude"):  # it was a link, and has been resolved
            exclude = os.path.join(os.path.dirname(repository.index), "info/exclude")
        info = content_of(f"{os.path.dirname(exclude)}/attributes", directory)
        ignore_case = repository.configuration.flag("core.ignorecase")
        self._attributes = Attributes(self._rules, general, info, ignore_case=ignore_case)

    # -------------------------------------------------------------- the index and commits

    def staged(self, commit: str) -> Changes:
        """The differences between `commit` ("": no file) and the index.

        A file in conflict is in no index. Raises `Unanswered`.
        """
        if (kept := self.staged_since.get(commit)) is not None:
            return kept
        # The files below the base, such as b"100644 blob 6d3c...\ta/b.c".
        words = ["ls-tree", "-r", "-z", "--full-tree", commit]
        words += ["--", self.inside] if self.inside else []
        told = answered(self.repository.ask(self.budget, *words)) if commit else b""
        old = set(filter(None, told.split(b"\0")))
        start = os.fsencode(self.inside)
        new = {
            b"%06o %b %b\t%b"
            % (
                entry.mode,
                b"commit" if entry.kind == GITLINK else b"blob",
                entry.oid.hex().encode(),
                start + os.fsencode(path),
            )
            for path, entry in self.budget.checked(self.index.entries())
            if not entry.intended
        }
        if len(old ^ new) > MAX_CHANGES:
            raise Unanswered(NoGit.TOO_MUCH)
        before, after = dict[str, Side](), dict[str, Side]()
        for lines, sides in ((old - new, before), (new - old, after)):
            for line in lines:
                facts, _, path = line.partition(b"\t")
                mode, _, oid = facts.decode().split(" ")
                sides[self._from_base(path)] = Side(int(mode, 8), bytes.fromhex(oid))
        paths = in_order(before.keys() | after.keys())
        found = {path: Change(before.get(path), after.get(path)) for path in paths}
        if len(self.staged_since) >= MAX_COMMITS:
            self.staged_since.clear()
        self.staged_since[commit] = found
        return found

    def between(self, old: str, new: str) -> Changes:
        """The differences between two commits. Raises `Unanswered`."""
        below = ("--", f":(top,literal){self.inside}") if self.inside else ()
        words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--full-index")
        quiet = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--no-relative")
        told = answered(self.repository.ask(self.budget, *words, *quiet, old, new, *below))
        parts = told.split(b"\0")  # such as b":100644 100755 6d3c... 9b1e... M", then the path
        if len(parts) > 2 * MAX_CHANGES:
            raise Unanswered(NoGit.TOO_MUCH)
        found = {}
        for facts, path in zip(parts[0::2], parts[1::2], strict=False):
            fields = facts.lstrip(b":").decode().split(" ")
            one, other = (
                Side(int(mode, 8), bytes.fromhex(oid)) if int(mode, 8) else None
                for mode, oid in zip(fields[:2], fields[2:4], strict=True)
            )
            found[self._from_base(path)] = Change(one, other)
        return found

    def _from_base(self, path: bytes) -> str:
        return os.fsdecode(path).removeprefix(self.inside)

    # -------------------------------------------------------------- contents

    def conversion(self, path: str) -> Conversion:
        """The conversion of the file `path` on its way to git."""
        return conversion(self._attributes.of(self.inside + path), self.repository.configuration)

    def converted(self, path: str, content: bytes) -> bytes | None:
        """`content` of the file `path` as git would store it; None if that takes a program."""
        found = self.conversion(path)
        if found.needs_program:
            return None
        return found.to_git(content, lambda: self._in_index(path))

    def is_binary(self, path: str, content: bytes) -> bool:
        """Whether the `content` of the file `path` is binary, by its attributes or a NUL."""
        diff = self._attributes.of(self.inside + path).get("diff")
        if isinstance(diff, bool):
            return not diff
        return b"\0" in content[:8000]

    def _rules(self, path: str) -> bytes:
        """The content of the file of rules `path`, from the top: if it is gone, in the index."""
        if path.startswith(self.inside):
            path = path.removeprefix(self.inside)
        else:
            path = "../" * self.inside.count("/") + path
        try:
            with self._parent(path) as directory:
                return read(path.rpartition("/")[2], directory, MAX_RULES + 1).head
        except (OSError, PathError) as error:
            if isinstance(error, NotAFile) and error.kind == Kind.DIRECTORY:
                return b""  # git opens a directory of this name, and reads nothing
            entry = self.index.get(path)
            is_cone = self.repository.configuration.flag("core.sparsecheckoutcone")
            return b"" if entry and entry.skipped and is_cone else self._in_index(path)

    def _in_index(self, path: str) -> bytes:
        entry = self.index.get(path) or self.index.conflicts.get(path, {}).get(2)
        known = blobs(self.repository, [entry.oid] if entry else [], self.budget)
        return next(iter(known.values()), b"")

    def ignored_in(self, path: str) -> str:
        """The changes that do not count in the submodule `path`.

        They are "untracked" files, "dirty" for all but other commits, or "all"; "none" is such a
        setting, and "" if there is none.
        """
        configuration = self.repository.configuration
        if self._ignored is None:
            rules = b"" if ".gitmodules" in self.index.conflicts else self._rules(".gitmodules")
            asked = self.repository.ask(self.budget, *_SUBMODULES, given=rules, fine=(0, 1))
            if asked is NoGit.BROKEN:  # the file has another form
                asked = b""
            values: dict[str, str] = {}
            for setting in os.fsdecode(answered(asked)).split("\0")[:-1]:
                key, _, value = setting.partition("\n")
                values.setdefault(key, value)
            known = {**values, **configuration.values}
            self._ignored = {
                place.rstrip("/"): known[ignore]
                for key, place in values.items()
                if key.endswith(".path") and (ignore := f"{key[:-5]}.ignore") in known
            }
        general = configuration.values.get("diff.ignoresubmodules", "")
        return self._ignored.get(self.inside + path, general)

    def is_hidden(self, path: str, change: Change) -> bool:
        """Whether `change` is one of a submodule of which git shows no change."""
        kinds = {side.kind for side in (change.old, change.new) if side}
        return kinds == {GITLINK} and self.ignored_in(path) == "all"

    @contextmanager
    def _parent(self, path: str) -> Iterator[int]:
        """The open directory of `path`, entered name by name and never through a link."""
        directory = HANDLES.duplicate(self.base.directory)
        try:
            for parent in path.split("/")[:-1]:
                inner = HANDLES.enter(parent, directory)
                HANDLES.close(directory)
                directory = inner
            yield directory
        finally:
            HANDLES.close(directory)

    def on_disk(self, path: str) -> Side | None:
        """The side of `path` as it is on the disk now, without a hash; None if nothing is there."""
        try:
            with self._parent(path) as directory:
                status = lstat_or_none(path.rpartition("/")[2], directory)
        except OSError:
            return None
        return Side(mode_of(status.st_mode)) if status else None

    def with_oid(self, path: str, side: Side) -> Side:
        """`side` with its hash; if it has none, the file `path` on the disk is read."""
        if side.oid or side.kind == GITLINK:
            return side
        content = self.content(path, side)
        return side if content is None else side._replace(oid=oid_of(content, self.index.oid_bytes))

    def content(self, path: str, side: Side) -> bytes | None:
        """The content of the file `path` on the disk as git would store it.

        None if it is unknown.
        """
        try:
            with self._parent(path) as directory:
                name = path.rpartition("/")[2]
                if side.kind == LINK:
                    return os.fsencode(HANDLES.readlink(name, directory))
                content = read(name, directory, MAX_BYTES + 1).head
        except (OSError, PathError):
            return None
        return None if len(content) > MAX_BYTES else self.converted(path, content)


# ------------------------------------------------------------------ the start


@dataclass(frozen=True, slots=True)
class _Kept:
    """An index, and its differences from commits."""

    index: Index
    staged: dict[str, Changes] = field(default_factory=dict)


@contextmanager
def opened(start: Place, repository: Repository, budget: Budget) -> Iterator[WorkTree]:
    """The work tree around the directory `start`, whose `repository` was found.

    Raises `PathError`, `Unanswered`, `DeadlineExceeded` and `Cancelled`.
    """
    if repository.foreign:
        raise Unanswered(NoGit.ELSEWHERE)
    if not repository.configuration.known:
        raise Unanswered(NoGit.BROKEN)
    names = [] if start.relative == "." else start.relative.split("/")
    within, inside = len(names) - repository.depth, ""
    if within < 0:
        inside = "/".join(start.root.components[within:]) + "/"
    with start.root.directory("/".join(names[:within]) if within > 0 else ".") as base:
        kept = _read_index(repository, inside, budget)
        yield WorkTree(base, inside, repository, kept.index, kept.staged, budget)


def _read_index(repository: Repository, inside: str, budget: Budget) -> _Kept:
    """The index of `repository`. It is kept until its file changes."""
    path, directory = repository.index, repository.directory
    is_sha256 = repository.configuration.values.get("extensions.objectformat") == "sha256"
    oid_bytes = 32 if is_sha256 else 20

    def shared(oid: str) -> bytes:
        beside = os.path.join(os.path.dirname(path), f"sharedindex.{oid}")
        try:
            return read(beside, directory, MAX_OUTPUT).head
        except NotFound as error:  # else it would look as if nothing was added yet
            raise BadIndex("its shared index is not there") from error

    now = time.time_ns()
    try:
        content = read(path, directory, 0)
        stamp = settled(content.status, now)
        kept = _KEPT.get((stamp, inside)) if stamp != UNSETTLED else None
        if kept is not None:
            return kept
        if content.status.st_size > MAX_OUTPUT:
            raise Unanswered(NoGit.TOO_MUCH)
        content = read(path, directory, MAX_OUTPUT)
        modified = content.status.st_mtime_ns
        index = parse(content.head, oid_bytes, modified, inside, shared, budget)
        if index.sparse:
            words = ("ls-files", "-z", "--stage", "--full-name", ":/")
            told = answered(repository.ask(budget, *words, environment={}))
            index.expand(told.split(b"\0")[:-1], inside)
    except NotFound:  # nothing was added yet
        return _Kept(Index(b"", oid_bytes, 0))
    except (BadIndex, PathError) as error:
        raise Unanswered(NoGit.BROKEN) from error
    found = _Kept(index)
    if settled(content.status, now) == stamp != UNSETTLED:
        _KEPT.put((stamp, inside), found)
    return found


_KEPT: LRUCache[tuple[Stamp, str], _Kept] = LRUCache(
    MAX_KEPT, lambda kept: len(kept.index.data) // 80 + sum(map(len, kept.staged.values()))
)
