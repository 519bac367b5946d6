"""Git's objects, asked for by their hashes, and the changes between two states.

A repository can hold objects that are not as long as they say, or of which a small one is made of a
huge one. Git ends when it needs too much memory or time (`project.git`), and then the objects are
as if they were missing.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from stat import S_IFMT, S_ISDIR, S_ISLNK, S_IXUSR
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.changes.index import GITLINK, LINK
from backstaff.project.git import Repository
from backstaff.project.running_git import NoGit

MAX_BYTES = 4 << 20
"""Maximum number of bytes of a file whose content is compared or shown."""


MAX_CHANGES = 300_000
"""Maximum number of files that differ, each of about a kilobyte of memory."""
MAX_BROKEN = 8
"""Maximum number of broken objects in a call: git ends at each."""
_EVEN_BROKEN = (0, 128)
_REGULAR, _EXECUTABLE = 0o100644, 0o100755


class Side(NamedTuple):
    """A file on one side of a comparison. The hash is empty where only its content tells it."""

    mode: int
    oid: bytes = b""

    @property
    def kind(self) -> int:
        """The mode without permissions."""
        return self.mode & 0o170000


class Origin(StrEnum):
    """The place that the new text of a file comes from."""

    DISK = "disk"
    BUFFER = "buffer"


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs: its two sides, None where it is not there, and the path before.

    A `dirty` submodule has changes of its own, beside untracked files. `origin` is None if both
    sides are git's. The sides of an `undecided` file cannot be compared.
    """

    old: Side | None
    new: Side | None
    source: str = ""
    score: int = 0
    dirty: bool = False
    origin: Origin | None = None
    undecided: bool = False

    @property
    def letter(self) -> str:
        """Git's letter for it; "?" if it is undecided."""
        if self.undecided or self.source:
            return "?" if self.undecided else "R"
        if self.old is None or self.new is None:
            return "A" if self.old is None else "D"
        return "M" if S_IFMT(self.old.mode) == S_IFMT(self.new.mode) else "T"


Changes = dict[str, Change]
"""Changes by path, in git's order."""


def in_order(paths: Iterable[str]) -> list[str]:
    """`paths` in git's order, by their bytes."""
    return sorted(paths, key=os.fsencode)


def mode_of(mode: int) -> int:
    """The mode that git has for a file with `mode`: a directory can only be a submodule."""
    if S_ISLNK(mode):
        return LINK
    if S_ISDIR(mode):
        return GITLINK
    return _EXECUTABLE if mode & S_IXUSR else _REGULAR


class Unanswered(Exception):
    """Git did not answer, for the reason `why`."""

    def __init__(self, why: NoGit) -> None:
        super().__init__(why)
        self.why = why


def answered(answer: bytes | NoGit) -> bytes:
    """Return `answer` if git gave one. Raises `Unanswered`."""
    if isinstance(answer, NoGit):
        raise Unanswered(answer)
    return answer


def blobs(repository: Repository, oids: Iterable[bytes], budget: Budget) -> Mapping[bytes, bytes]:
    """The contents of the blobs `oids` that are there and no longer than `MAX_BYTES`."""
    names = {oid.hex(): oid for oid in oids if any(oid)}
    found: dict[bytes, bytes] = {}
    pending = list(names)

    def ask(option: str) -> bytes | NoGit:
        given = "".join(f"{name}\n" for name in pending).encode()
        return repository.ask(budget, "cat-file", option, fine=_EVEN_BROKEN, given=given)

    for _ in range(MAX_BROKEN):
        if not pending:
            break
        answer = ask("--batch")
        if isinstance(answer, NoGit):  # one of them is too much
            told = answered(ask("--batch-check")).decode("ascii", "replace")
            facts = [line.split(" ") for line in told.splitlines()]
            is_small = (one[1:2] == ["blob"] and int(one[2]) <= MAX_BYTES for one in facts)
            pending = [one[0] for one, small in zip(facts, is_small, strict=True) if small]
            answer = ask("--batch")
        content = b"" if isinstance(answer, NoGit) else answer
        at = done = 0
        while (end := content.find(b"\n", at)) >= 0:
            name, *about = content[at:end].split(b" ")
            at = end + 1
            if len(about) == 2:  # noqa: PLR2004  # else it says "missing"
                size = int(about[1])
                if at + size >= len(content):
                    break
                if about[0] == b"blob" and size <= MAX_BYTES:
                    found[names[name.decode()]] = content[at : at + size]
                at += size + 1
            done += 1
        pending = pending[done + 1 :]  # git ended at the next one, which is broken
    return found
