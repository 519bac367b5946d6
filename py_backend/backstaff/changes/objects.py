"""Git's objects, asked for by their hashes, and the changes between two states.

A repository can hold objects that are not as long as they say, or of which a small one is made of a
huge one. Git ends when it needs too much memory or time (`project.git`), and then the objects are
as if they were missing.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from stat import S_IFMT, S_ISDIR, S_ISLNK, S_IXUSR
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.changes.index import GITLINK, LINK
from backstaff.project.git import Repository
from backstaff.project.running_git import MAX_OUTPUT, NoGit

MAX_BYTES = 4 << 20
"""Maximum number of bytes of a file whose content is compared or shown."""
MAX_CHANGES = 300_000
"""Maximum number of files that differ, each of about a kilobyte of memory."""
MAX_BROKEN = 8
"""Maximum number of broken objects in a call: git ends at each."""
AT_ONCE = 200
"""Number of files whose contents are asked for together."""
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
    """The contents of the blobs `oids` that are there and no longer than `MAX_BYTES`.

    Raises `Unanswered` with TOO_MUCH if together they are too long.
    """
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
            small = [one for one in facts if one[1:2] == ["blob"] and int(one[2]) <= MAX_BYTES]
            if sum(int(one[2]) for one in small) > MAX_OUTPUT // 2:
                raise Unanswered(NoGit.TOO_MUCH)
            pending = [one[0] for one in small]
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


def in_groups(
    paths: Sequence[str],
    oids: Callable[[str], Iterable[bytes]],
    repository: Repository,
    budget: Budget,
) -> Iterator[tuple[Sequence[str], Mapping[bytes, bytes]]]:
    """Yield `paths` in groups, each with the contents of the blobs that `oids` names for it.

    A group is as small as it has to be for its contents to have room.
    """
    at, count = 0, AT_ONCE
    while some := paths[at : at + count]:
        try:
            known = blobs(repository, set(chain.from_iterable(map(oids, some))), budget)
        except Unanswered as error:
            if error.why is not NoGit.TOO_MUCH or count == 1:
                raise
            count = max(1, count // 8)
            continue
        yield some, known
        at += count
