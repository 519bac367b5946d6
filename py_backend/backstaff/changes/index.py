"""Git's index as a file: its entries, with the status of each file when git last compared it.

Git has no command that prints this status quickly, and a git that reads a split index sets the time
of a file. So the file is read here, in the formats 2 to 4 of gitformat-index(5). Nothing in it is
trusted: an index that does not fit its format raises `BadIndex`.

An entry takes about 150 bytes: the file is kept as it is, and the names by directory.
"""

import hashlib
import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from struct import Struct, error
from typing import NamedTuple

from backstaff.budget import Budget

LINK, GITLINK, SPARSE_DIRECTORY = 0o120000, 0o160000, 0o040000
MAX_PATHS = 1 << 28
"""Maximum number of bytes of all paths together: an index can make much of few bytes."""
A_DIRECTORY = 1000
"""Number of bytes that a directory takes beside its path."""
NANO = 10**9
stamp_of = attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino")
"""The columns of `Names.stamps`. A file with other stamps is looked at more closely."""
COLUMNS = 4

_HEADER = Struct(">4s2I")
_STATUS = Struct(">10I")
_FLAGS = Struct(">H")
_WORD = Struct(">I")
_LENGTH = 0xFFF
_VALID, _EXTENDED, _STAGE = 0x8000, 0x4000, 12
_SKIPPED, _INTENDED = 0x4000, 0x2000
_NO_STAMP = (0,) * COLUMNS


class BadIndex(Exception):
    """Git would not read the file as an index."""


class Entry(NamedTuple):
    """One entry: the mode and hash of its content, and the file that git compared with it.

    `stamp` is that of the file, in the columns of `stamp_of`. A `racy` file may have been written
    once more within the same second as the index. A `valid` entry counts as unchanged, because the
    user says so. A `skipped` one need not be on the disk, for example in a sparse checkout. An
    `intended` one has only its name in the index (`git add --intent-to-add`).
    """

    mode: int
    oid: bytes
    stage: int
    stamp: tuple[int, int, int, int]
    racy: bool
    valid: bool
    skipped: bool
    intended: bool

    @property
    def kind(self) -> int:
        """The mode without permissions: a file's, `LINK` or `GITLINK`."""
        return self.mode & 0o170000


@dataclass(slots=True)
class Names:
    """The entries in one directory: their names, their places in the file, and their stamps.

    `modes` are those of the entries. `directories` are the names of the inner directories that have
    entries. `numbers` has the position of each name in `names`; `number` makes it when it is first
    called.
    """

    names: list[str] = field(default_factory=list)
    places: "array[int]" = field(default_factory=lambda: array("L"))
    stamps: "array[int]" = field(default_factory=lambda: array("q"))
    modes: set[int] = field(default_factory=set)
    directories: list[str] = field(default_factory=list)
    numbers: dict[str, int] | None = None

    def number(self, name: str) -> int | None:
        """The position of the entry `name` in `names`, of several the first; None without one."""
        if self.numbers is None:  # a loop over the names would take long if many are asked for
            backward = range(len(self.names) - 1, -1, -1)
            self.numbers = dict(zip(reversed(self.names), backward, strict=True))
        return self.numbers.get(name)


@dataclass(slots=True)
class Index:
    """The entries by directory, "" for the top, and the conflicts by path and stage."""

    data: bytes
    oid_bytes: int
    racy_from: int
    directories: dict[str, Names] = field(default_factory=lambda: {"": Names()})
    conflicts: dict[str, dict[int, Entry]] = field(default_factory=dict)
    room: int = MAX_PATHS
    """Number of bytes that are left for directories."""
    sparse: bool = False
    """Whether it has entries for whole directories (`git sparse-checkout --sparse-index`)."""

    def entry(self, place: int) -> Entry:
        """The entry at `place` of the file."""
        after = place + _STATUS.size + self.oid_bytes
        flags = _FLAGS.unpack_from(self.data, after)[0]
        more = _FLAGS.unpack_from(self.data, after + 2)[0] if flags & _EXTENDED else 0
        changed_s, changed_ns, modified_s, modified_ns, _, inode, mode, _, _, size = (
            _STATUS.unpack_from(self.data, place)
        )
        modified = modified_s * NANO + modified_ns
        return Entry(
            mode,
            self.data[place + _STATUS.size : after],
            flags >> _STAGE & 3,
            (modified, changed_s * NANO + changed_ns, size, inode),
            modified >= self.racy_from,
            bool(flags & _VALID),
            bool(more & _SKIPPED),
            bool(more & _INTENDED),
        )

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Yield the path and the entry of each file without a conflict, by directory."""
        for directory, found in self.directories.items():
            prefix = f"{directory}/" if directory else ""
            for name, place in zip(found.names, found.places, strict=True):
                yield prefix + name, self.entry(place)

    def get(self, path: str) -> Entry | None:
        """The entry of `path`, if there is one and no conflict."""
        directory, _, name = path.rpartition("/")
        found = self.directories.get(directory)
        number = found.number(name) if found else None
        return None if found is None or number is None else self.entry(found.places[number])

    def has(self, path: str) -> bool:
        """Whether there is an entry of `path`, even in conflict."""
        return path in self.conflicts or self.get(path) is not None

    def add(self, path: str, place: int) -> None:
        """Add the entry of `path` at `place`."""
        entry = self.entry(place)
        if entry.kind == SPARSE_DIRECTORY:
            self.sparse = True
            return
        directory, _, name = path.rpartition("/")
        if not name or not {"", ".", "..", ".git"}.isdisjoint(path.split("/")):
            raise BadIndex(path)
        found = self.directories.get(directory) or self._directory(directory)
        if entry.stage:
            self.conflicts.setdefault(path, {})[entry.stage] = entry
            return
        found.names.append(name)
        found.places.append(place)
        found.numbers = None
        found.modes.add(entry.mode)
        doubtful = entry.racy or entry.valid or entry.skipped or entry.intended
        # The directory of a submodule has the same stamp after a commit there.
        is_equal = not doubtful and entry.kind != GITLINK
        found.stamps.extend(entry.stamp if is_equal else _NO_STAMP)

    def expand(self, lines: Iterable[bytes], inside: str) -> None:
        r"""Add the files of directories that have a single entry (a sparse index).

        `lines` are all files by git, such as b"100644 6d3c... 0\ta/b.c".
        """
        added, place = dict[str, bytes](), len(self.data)
        for line in lines:
            facts, _, name = line.partition(b"\t")
            path = os.fsdecode(name)
            inner = path.removeprefix(inside)
            if path.startswith(inside) and facts.endswith(b" 0") and self.get(inner) is None:
                mode, oid, _ = facts.decode().split(" ")
                status = _STATUS.pack(*_NO_STAMP, 0, 0, int(mode, 8), 0, 0, 0)
                flags = _FLAGS.pack(_EXTENDED) + _FLAGS.pack(_SKIPPED)
                added[inner] = status + bytes.fromhex(oid) + flags
        self.data += b"".join(added.values())
        for path, record in added.items():
            self.add(path, place)
            place += len(record)

    def _directory(self, path: str) -> Names:
        """Make the directory `path`, and those above."""
        made = self.directories[path] = Names()
        is_new = True
        while is_new:
            self.room -= len(path) + A_DIRECTORY
            if self.room < 0:
                raise BadIndex("its directories take too much memory")
            path, _, name = path.rpartition("/")
            is_new = path not in self.directories
            self.directories.setdefault(path, Names()).directories.append(name)
        return made


def parse(  # noqa: PLR0913, PLR0917  # the file, its facts, and the part that is read
    data: bytes,
    oid_bytes: int,
    modified_ns: int,
    inside: str,
    shared: Callable[[str], bytes],
    budget: Budget,
) -> Index:
    """Read the entries below `inside` ("" or `a/b/`) of `data`, an index of time `modified_ns`.

    `oid_bytes` is the length of a hash: 20 for SHA-1. A split index names another one by its hash,
    which `shared` returns. Raises `BadIndex`, `DeadlineExceeded` and `Cancelled`.
    """
    try:
        places, extensions = _parse(data, oid_bytes, budget)
        if link := extensions.get(b"link"):
            base = shared(link[:oid_bytes].hex())
            data, places = _joined(data, places, base, link[oid_bytes:], oid_bytes, budget)
        index = Index(data, oid_bytes, modified_ns // NANO * NANO)  # git compares seconds
        start = os.fsencode(inside)
        for path, place in budget.checked(places):
            if path.startswith(start):
                index.add(os.fsdecode(path[len(start) :]), place)
    except (error, IndexError, ValueError, OverflowError) as problem:
        raise BadIndex(str(problem)) from problem
    return index


_Places = list[tuple[bytes, int]]
"""The path of each entry and its place in the file."""


def _parse(data: bytes, oid_bytes: int, budget: Budget) -> tuple[_Places, dict[bytes, bytes]]:
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise BadIndex("it is in no format that is known here")
    end = len(data) - oid_bytes
    checksum = data[end:]
    algorithm = hashlib.sha1 if oid_bytes == 20 else hashlib.sha256  # noqa: PLR2004
    if any(checksum) and algorithm(data[:end]).digest() != checksum:  # index.skipHash leaves zeros
        raise BadIndex("its checksum is wrong")
    at, path, places = _HEADER.size, b"", list[tuple[bytes, int]]()
    room = MAX_PATHS
    fixed = _STATUS.size + oid_bytes + _FLAGS.size
    for _ in budget.checked(range(count)):
        start, at = at, at + fixed
        flags = _FLAGS.unpack_from(data, at - _FLAGS.size)[0]
        at += 2 if flags & _EXTENDED else 0
        if version == 4:  # noqa: PLR2004
            dropped = data[at] & 0x7F  # a number of variable length, as in a pack
            while data[at] & 0x80:
                at += 1
                dropped = (dropped + 1 << 7) + (data[at] & 0x7F)
            at += 1
            stop = data.index(b"\0", at, end)
            path = path[: len(path) - dropped] + data[at:stop]
            at = stop + 1
        else:
            length = flags & _LENGTH
            stop = data.index(b"\0", at + length, end)
            path = data[at:stop]
            at = stop + 8 - (stop - start) % 8
        places.append((path, start))
        room -= len(path)
        if room < 0:
            raise BadIndex("its paths are too long")
    extensions = {}
    while at < end:
        name, size = data[at : at + 4], _WORD.unpack_from(data, at + 4)[0]
        if at + 8 + size > end or not (name[:1].isupper() or name in (b"link", b"sdir")):
            raise BadIndex("it has an extension that is not known here")
        extensions[name] = data[at + 8 : at + 8 + size]
        at += 8 + size
    return places, extensions


def _joined(  # noqa: PLR0913, PLR0917  # two indexes, and how they are joined
    data: bytes, places: _Places, base: bytes, link: bytes, oid_bytes: int, budget: Budget
) -> tuple[bytes, _Places]:
    """The entries of a split index: its own, and those of `base` without the replaced ones."""
    shared, _ = _parse(base, oid_bytes, budget)
    deleted, at = _bits(link, 0, len(shared)) if link else (set[int](), 0)
    replaced, _ = _bits(link, at, len(shared)) if link else (set[int](), 0)
    # The replacements come first in the index, in order, and have no names.
    own = iter(places)
    kept = []
    for number, (path, place) in budget.checked(enumerate(shared)):
        if number in replaced:
            name, new = next(own, (b"?", 0))
            if name:
                raise BadIndex("a replacement is not there")
            kept.append((path, new))
        elif number not in deleted:
            kept.append((path, len(data) + place))
    return data + base, sorted([*kept, *own])


def _bits(data: bytes, at: int, most: int) -> tuple[set[int], int]:
    """The numbers of the bits that are set in an EWAH bitmap at `at`, and the place behind it.

    It may have `most` bits.
    """
    size, words = Struct(">2I").unpack_from(data, at)
    values = Struct(f">{words}Q").unpack_from(data, at + 8)
    bits, number, position = set[int](), 0, 0
    while position < words:
        run = values[position]
        repeated, literals = run >> 1 & 0xFFFFFFFF, run >> 33
        if number + 64 * (repeated + literals) > min(size, most) + 64:
            raise BadIndex("a bitmap is too long")
        if run & 1:
            bits.update(range(number, number + 64 * repeated))
        number += 64 * repeated
        for word in values[position + 1 : position + 1 + literals]:
            bits.update(number + bit for bit in range(64) if word >> bit & 1)
            number += 64
        position += 1 + literals
    return bits, at + 12 + 8 * words
