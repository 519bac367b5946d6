"""A work tree whose changes git tells, and the contents of its files, read through the root."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from stat import S_IFMT
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.errors import PathError
from backstaff.fs.file import read
from backstaff.fs.handles import HANDLES
from backstaff.fs.root import Place
from backstaff.project.git import Repository, find_repository
from backstaff.project.running_git import QUIET, GitFailed, Unanswered

MAX_BYTES = 4 << 20
"""Maximum number of bytes of a file whose content is shown."""
LINK, GITLINK = 0o120000, 0o160000
_ODD = re.compile(r"/(?:\.{1,2}|\.git|(?=/[^/]))/", re.IGNORECASE)
"""Matches a name that no file of a work tree has: git itself writes none into an index."""
_ESCAPES = {number: f"\\{number:03o}" for number in (*range(32), 127)} | {
    ord(one): f"\\{letter}" for one, letter in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)
}
_ATTRIBUTES = ("filter", "working-tree-encoding", "text", "eol")


class Side(NamedTuple):
    """A file on one side of a comparison. The hash is "" where only the disk has the content."""

    mode: int
    oid: str


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs: git's letter, its two sides, None where it is not there.

    `source` is the path before, of a renamed or copied file. `origin` says where the new text is:
    "disk", "buffer", or "" for git. `texts` are both, as git stores them, if it writes no patch.
    """

    letter: str
    old: Side | None
    new: Side | None
    source: str = ""
    origin: str = ""
    texts: tuple[bytes, bytes] | None = None

    @property
    def is_submodule(self) -> bool:
        """Whether it is a change of a submodule alone."""
        return {S_IFMT(side.mode) for side in (self.old, self.new) if side} == {GITLINK}


UNDECIDED = Change("?", None, None, origin="disk")
"""The change of a file that cannot be compared."""
Changes = dict[str, Change]
"""Changes by path from the base, in git's order."""


def in_order(paths: Iterable[str]) -> list[str]:
    """`paths` in git's order, by their bytes."""
    return sorted(paths, key=os.fsencode)


@dataclass(frozen=True, slots=True)
class WorkTree:
    """A work tree. The `base` is its top, or the root of the call if the top is above that.

    The `repository` is that around the base. `nested` is the number of work trees around this
    submodule that are looked at.
    """

    base: Place
    repository: Repository
    nested: int = 0

    @property
    def inside(self) -> str:
        """The path from the top to the base: "" or `a/b/`."""
        return self.repository.inside

    @property
    def head(self) -> str:
        """The latest commit, or the empty tree before the first."""
        return self.repository.head or self.oid(b"", "tree")

    def oid(self, content: bytes, kind: str = "blob") -> str:
        """The hash of git's object with this `content`."""
        head = f"{kind} {len(content)}\0".encode()
        return hashlib.new(self.repository.object_format, head + content).hexdigest()

    def from_base(self, path: str) -> str:
        """A `path` of git's, from the base. Raises `Unanswered` if no file can have its name."""
        if _ODD.search(f"/{path}/"):
            raise Unanswered(GitFailed("the index or a commit has a name such as '..'"))
        return path.removeprefix(self.inside)

    def listing(self, *sections: str) -> list[str]:
        """Git's words for a list of changes, with renames by the first of the `sections`."""
        values, words = self.repository.values, list[str]()
        for name in ("renames", "renamelimit"):
            keys = [key for section in sections if (key := f"{section}.{name}") in values]
            words += ["-c", f"diff.{name}={values[keys[0]]}"] if keys else []
        return [*words, "diff", "--raw", "-z", "--no-abbrev", *QUIET]

    def parsed(self, listed: bytes, *, disk: bool = False) -> Changes:
        """The changes `listed` by git; with `disk` a new side without a hash is the disk's."""
        changes: Changes = {}
        parts = iter(os.fsdecode(listed).split("\0")[:-1])
        for facts in parts:  # such as ":100644 100755 6d3c... 9b1e... M", then the path
            path = next(parts)
            *fields, letter = facts[1:].split(" ")
            source, path = (path, next(parts)) if letter[0] in "RC" else ("", path)
            old, new = (
                Side(int(mode, 8), oid.strip("0") and oid) if int(mode, 8) else None
                for mode, oid in zip(fields[:2], fields[2:], strict=True)
            )
            path, source = self.from_base(path), self.from_base(source)
            if letter != "U" or path not in changes:
                origin = "disk" if disk and new and not new.oid else ""
                changes[path] = Change(letter[0], old, new, source, origin)
        return changes

    def attributes(self, paths: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
        """The attributes of `paths` that decide how git reads a file."""
        found = dict[str, dict[str, str]]()
        if given := b"".join(os.fsencode(f"{self.inside}{path}\0") for path in paths):
            words = ("check-attr", "-z", "--stdin", *_ATTRIBUTES)
            parts = iter(self.repository.entries(*words, given=given))
            for path, name, value in zip(parts, parts, parts, strict=True):
                found.setdefault(path.removeprefix(self.inside), {})[name] = value
        return found

    def needs_program(self, attributes: Mapping[str, str]) -> bool:
        """Whether git reads a file with these `attributes` by the help of a program."""
        keys = (f"filter.{attributes['filter']}.{key}" for key in ("clean", "process"))
        encoding = attributes["working-tree-encoding"].upper().replace("-", "")
        plain = ("", "UTF8", "SET", "UNSET", "UNSPECIFIED")
        return any(map(self.repository.values.get, keys)) or encoding not in plain

    def content(self, path: str, mode: int) -> bytes | None:
        """The content of the file `path` on the disk, or of a link; None if it cannot be read."""
        parent, _, name = (self.base.prefix + path).rpartition("/")
        try:
            with self.base.root.directory(parent or ".") as place:
                if place.relative != (parent or "."):
                    return None  # a link on the way leads elsewhere
                if S_IFMT(mode) == LINK:
                    with suppress(OSError):  # with core.symlinks=false, a file has its target
                        return os.fsencode(HANDLES.readlink(name, place.directory))
                content = read(name, place.directory, MAX_BYTES)
        except (OSError, PathError):
            return None
        return content.head if content.whole else None

    def blobs(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """The contents of the blobs `names`, such as a hash or `HEAD:a.py`, that are there."""
        wanted = [name for name in names if name and "\n" not in name]
        if not wanted:
            return {}
        found, given = dict[str, bytes](), os.fsencode("\n".join(wanted) + "\n")
        with suppress(Unanswered):
            words = ("cat-file", "--batch")
            told = self.repository.ask(*words, given=given, sees="files", fine=(0, 128))
            stream = BytesIO(told)
            for name in wanted:  # git ends at an object that it cannot read
                facts = re.fullmatch(rb"[0-9a-f]+ (\w+) (\d+)\n", stream.readline())
                content = stream.read(int(facts[2])) if facts else b""
                if facts and stream.read(1) and facts[1] == b"blob":
                    found[name] = content
        return found


@contextmanager
def opened(start: Place, budget: Budget) -> Iterator[WorkTree]:
    """The work tree around the directory `start`. Raises `PathError` and `Unanswered`."""
    repository = find_repository(start, budget)
    names = [] if start.relative == "." else start.relative.split("/")
    within, inside = len(names) - repository.inside.count("/"), ""
    if within < 0:
        inside = "/".join(start.root.components[within:]) + "/"
    with start.root.directory("/".join(names[:within]) if within > 0 else ".") as base:
        yield WorkTree(base, replace(repository, inside=inside))


def quoted(path: str, *, blanks: bool = False) -> str:
    r"""`path` as git prints it with core.quotePath=false: `"a\tb"`; with `blanks` also `"a b"`."""
    escapes = path.translate(_ESCAPES)
    return f'"{escapes}"' if escapes != path or (blanks and " " in path) else path
