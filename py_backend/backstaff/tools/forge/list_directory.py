"""forge/list_directory: a listing as one canonical JSON object, bounded every way (contract 002).

Two orders are at work. Traversal goes in pre-order, names by their UTF-8 bytes in each directory
(SRD FR-LD-LST-05), and decides which entries are kept; the output is sorted by whole path
(FR-LD-OUT-01). Exactly `max_entries` entries and not one more is not
truncated: one more eligible entry is looked for. A cut by depth is no truncation.

Beyond the SRD: a directory that cannot be read stands once, as `unknown`, in the place of its own
entry; when the time is up the call fails, as the output has no word for that; a drive (`C:/`) is an
absolute path on every system. `_bytes` budgets default to 1 MiB where the caller gives none.
"""

import errno
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from heapq import nsmallest
from itertools import accumulate, chain, repeat
from typing import NamedTuple

from backstaff.errors import (
    InvalidPath,
    NotADirectory,
    NotFound,
    OutsideRoot,
    PathError,
    ToolError,
)
from backstaff.fs.budget import Budget
from backstaff.fs.entry import Kind, Named, facts_of, lstat, names_in
from backstaff.fs.root import Place
from backstaff.fs.walk import Arrange, Step, Walk
from backstaff.render.canonical import rows_to_json, to_json
from backstaff.render.names import labels, lossy, quote, show
from backstaff.result import Rows
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool

DEFAULT_OUTPUT_BYTES = 1 << 20
ONLY_CHILDREN = 1
SAMPLE = 16
"""How many times as many names as are wanted tell nearly where the last of these stands."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SEPARATORS = re.compile(r"[\x1c-\x1f]")
"""Control characters that `str.strip` takes for white space; Unicode does not."""
_DRIVE = re.compile(r"[A-Za-z]:(/|\Z)")


class Code(StrEnum):
    """The SRD's errors (3.7)."""

    BAD_ARGS = "BadArgs"
    SANDBOX_VIOLATION = "SandboxViolation"
    EXECUTION_FAILED = "ExecutionFailed"


class Type(StrEnum):
    """An entry's `type` (3.5)."""

    FILE = "file"
    DIR = "dir"
    SYMLINK = "symlink"
    OTHER = "other"
    UNKNOWN = "unknown"

    __hash__ = str.__hash__  # as `Kind`'s


class Reason(StrEnum):
    """An output's `truncated_reason` (3.5)."""

    MAX_ENTRIES = "max_entries"
    MAX_OUTPUT_BYTES = "max_output_bytes"


class Failure(StrEnum):
    """An entry's `error_code` (3.5)."""

    METADATA_UNAVAILABLE = "metadata_unavailable"
    PERMISSION_DENIED = "permission_denied"
    READ_DIR_FAILED = "read_dir_failed"
    IO_ERROR = "io_error"
    UNKNOWN = "unknown"


_TYPES = {stat.S_IFREG: Type.FILE, stat.S_IFDIR: Type.DIR, stat.S_IFLNK: Type.SYMLINK}
_ERRORS = {
    errno.EACCES: (Failure.PERMISSION_DENIED, "permission denied"),
    errno.EPERM: (Failure.PERMISSION_DENIED, "permission denied"),
    errno.EIO: (Failure.IO_ERROR, "input/output error"),
    errno.ENOENT: (Failure.METADATA_UNAVAILABLE, "entry vanished"),
}
_OTHER_ERROR = (Failure.UNKNOWN, "metadata unavailable")


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.list_directory]` (CFG-LD-01 to -05): caps, and defaults of omitted arguments."""

    max_entries: int = field(default=200, metadata={"limits": (1, 100_000)})
    max_depth: int = field(default=4, metadata={"limits": (1, 64)})
    include_hidden_default: bool = False
    include_symlinks_default: bool = True
    include_files_default: bool = True
    include_dirs_default: bool = True
    include_other_default: bool = False


@dataclass(frozen=True, slots=True)
class Arguments:
    """As the normative schema (3.2); `max_depth` is None where it was omitted."""

    path: str
    recursive: bool
    max_depth: int | None
    max_entries: int
    include_hidden: bool
    include_files: bool
    include_dirs: bool
    include_symlinks: bool
    include_other: bool

    @property
    def types(self) -> frozenset[Type]:
        """The types that are wanted; `unknown` always is."""
        asked = {
            Type.FILE: self.include_files,
            Type.DIR: self.include_dirs,
            Type.SYMLINK: self.include_symlinks,
            Type.OTHER: self.include_other,
            Type.UNKNOWN: True,
        }
        return frozenset(kind for kind, wanted in asked.items() if wanted)


class Entry(NamedTuple):
    """An entry object; fields and their order are the SRD's."""

    name: str
    path: str
    depth: int
    type: Type
    size_bytes: int | None
    modified_epoch_ms: int | None
    is_hidden: bool
    error_code: Failure | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The output object, its entries sorted."""

    path: str
    entries: list[Entry]
    max_entries: int
    reason: Reason | None

    def head(self) -> str:
        """The JSON before the entries."""
        return f'{{"path":{to_json(self.path)},"entries":['

    def tail(self) -> str:
        """The JSON after the entries."""
        rest = self.data()
        del rest["path"], rest["entries"]
        return "]," + to_json(rest).removeprefix("{")

    def rows(self) -> Rows:
        """The entries as data."""
        columns = zip(*self.entries, strict=True) if self.entries else repeat(())
        return Rows(dict(zip(Entry._fields, columns, strict=False)))

    def data(self) -> dict[str, object]:
        """The object, keys in the SRD's order."""
        return {
            "path": self.path,
            "entries": self.rows(),
            "returned": len(self.entries),
            "max_entries": self.max_entries,
            "truncated": self.reason is not None,
            "truncated_reason": self.reason,
        }


def run(arguments: Arguments, context: Context) -> Result:
    """List, and fit the listing into the output budget. Errors are the SRD's three."""
    depth = _depth(arguments, context.settings)
    _check(arguments, context.settings)
    path = normalized(arguments.path)
    try:
        with context.root.directory(path) as place:
            listing = _listed(place, path, depth, arguments, context)
    except PathError as error:
        raise _refusal(error) from error
    text, listing = _fitted(listing, context.text_limit(DEFAULT_OUTPUT_BYTES))
    return Result(
        text=text,
        data=listing.data(),
        truncated=listing.reason is not None,
        labels=lambda: labels(show, chain.from_iterable(e[:2] for e in listing.entries)),
    )


def _depth(arguments: Arguments, settings: Settings) -> int:
    """The effective depth (FR-LD-VAL-02, -03, -06b)."""
    asked = arguments.max_depth
    if not arguments.recursive:
        if asked not in (None, ONLY_CHILDREN):
            raise _bad("max_depth must be absent or 1 when recursive is false")
        return ONLY_CHILDREN
    if asked is not None and asked > settings.max_depth:
        raise _bad(f"max_depth must be at most {settings.max_depth}, but it is {asked}")
    return settings.max_depth if asked is None else asked


def _check(arguments: Arguments, settings: Settings) -> None:
    if arguments.max_entries > settings.max_entries:  # FR-LD-VAL-04
        cap = settings.max_entries
        raise _bad(f"max_entries must be at most {cap}, but it is {arguments.max_entries}")
    if not (arguments.include_files or arguments.include_dirs or arguments.include_symlinks):
        # FR-LD-VAL-05
        raise _bad("one of include_files, include_dirs and include_symlinks must be true")


def normalized(path: str) -> str:
    """PATH as the output shows it (FR-LD-VAL-10), relative; raises BadArgs or SandboxViolation."""
    text = path.strip().replace("\\", "/")
    if _CONTROL.search(text) or _SEPARATORS.search(path):
        raise _bad("path must not hold control characters")
    if not text:
        raise _bad("path must not be empty")  # FR-LD-VAL-01
    parts = [part for part in text.split("/") if part not in ("", ".")]
    normal = "/".join(parts) or "."
    if text.startswith("/") or _DRIVE.match(normal) or ".." in parts:
        message = f"path {quote(path)} is outside the sandbox: it must be relative, without '..'"
        raise ToolError(Code.SANDBOX_VIOLATION, message)
    return normal


def _bad(message: str) -> ToolError:
    return ToolError(Code.BAD_ARGS, message)


def _refusal(error: PathError) -> ToolError:
    """ERROR as one of the SRD's (FR-LD-VAL-08, FR-LD-ERR-02, -03)."""
    match error:
        case OutsideRoot():
            return ToolError(Code.SANDBOX_VIOLATION, "path leads outside the sandbox")
        case InvalidPath():
            return _bad(error.message)
        case NotADirectory(last=True):
            words = "path is not a directory"
        case NotFound() | NotADirectory():
            words = "path does not exist"
        case _:
            words = f"path cannot be read: {error.message}"
    return ToolError(Code.EXECUTION_FAILED, words)


def _listed(place: Place, path: str, depth: int, arguments: Arguments, context: Context) -> Listing:
    kept: list[Entry] = []
    arrange = _arranger(arguments, kept, context.budget)
    with Walk(place.listing(), arrange, context.budget) as walk:
        for entry in _eligible(walk, depth, arguments):
            if len(kept) == arguments.max_entries:
                return _sorted(path, kept, arguments, Reason.MAX_ENTRIES)
            kept.append(entry)
        if walk.expired:
            message = "the time was up before the listing was complete; list a smaller directory"
            raise ToolError(Code.EXECUTION_FAILED, message)
    return _sorted(path, kept, arguments, None)


def _sorted(path: str, kept: list[Entry], arguments: Arguments, reason: Reason | None) -> Listing:
    entries = sorted(kept, key=lambda entry: lossy(entry.path))  # FR-LD-OUT-01
    return Listing(path, entries, arguments.max_entries, reason)


def _arranger(arguments: Arguments, kept: list[Entry], budget: Budget) -> Arrange:
    """What leaves hidden entries out (FR-LD-LST-06) and orders (-05) the entries of a directory.

    Only the names are read. Every entry is statted later, also one whose type is not wanted: an
    entry without metadata is listed whatever is wanted (FR-LD-LST-04), and only lstat tells it.
    """

    def arrange(directory: int, _path: str) -> Iterator[Named]:
        most = arguments.max_entries - len(kept) + 1
        names = names_in(directory, budget)
        budget.check()
        ordered = ordered_names(names, most, include_hidden=arguments.include_hidden)
        return ((name, Kind.UNKNOWN) for name in ordered)

    return arrange


def ordered_names(names: list[str], most: int, *, include_hidden: bool) -> Iterator[str]:
    """NAMES in order, the first MOST quickly and the others, if they are asked for, too."""
    key = None if _decodable(names) else _order
    few = names if key else _few(names, most, include_hidden=include_hidden)
    yield from nsmallest(most, _visible(few, include_hidden=include_hidden), key=key)
    yield from sorted(_visible(names, include_hidden=include_hidden), key=key)[most:]


def _few(names: list[str], most: int, *, include_hidden: bool) -> list[str]:
    """Some of NAMES, among them the first MOST visible ones, if there are so many.

    The last of so many among a few names is no earlier than the last of so many among all, and to
    compare each with that costs a third of keeping a heap.
    """
    sample = sorted(_visible(names[: SAMPLE * most], include_hidden=include_hidden))
    if len(sample) < most:
        return names
    bound = sample[most - 1]
    return [name for name in names if name <= bound]


def _visible(names: list[str], *, include_hidden: bool) -> list[str]:
    return names if include_hidden else [name for name in names if name[0] != "."]


def _decodable(names: list[str]) -> bool:
    """Whether the names' own order is that of their UTF-8 bytes: no lossy conversion, that is."""
    joined = "".join(names)
    try:
        return joined.isascii() or bool(joined.encode())
    except UnicodeEncodeError:
        return False


def _order(name: str) -> tuple[str, str]:
    """Sort by code point, which is the order of UTF-8 bytes, after lossy conversion.

    Names that are equal then sort by Python's own string: the undecodable byte FF (U+DCFF) stands
    before a real U+FFFD. The SRD leaves this open; it only has to be the same each time.
    """
    return lossy(name), name


def _eligible(walk: Walk, depth: int, arguments: Arguments) -> Iterator[Entry]:
    """The entries that count, in traversal order, statted; enters directories as it goes."""
    types = arguments.types
    for step in walk:
        entry = _entry(step)
        if entry.type is Type.DIR and step.depth < depth and walk.enter(step) is not None:
            # FR-LD-LST-08
            entry = _failed(step, Failure.READ_DIR_FAILED, "directory cannot be read")
        if entry.type in types:
            yield entry


def _entry(step: Step) -> Entry:
    name, path, _, depth, directory = step
    try:
        mode, size, modified = facts_of(lstat(name, directory))
    except OSError as error:  # FR-LD-LST-04
        return _failed(step, *_ERRORS.get(error.errno or 0, _OTHER_ERROR))
    kind = _TYPES.get(stat.S_IFMT(mode), Type.OTHER)
    size_bytes = size if kind is Type.FILE else None
    milliseconds = modified // 10**6 if modified >= 0 else None
    hidden = name[0] == "."
    return Entry(name, path, depth, kind, size_bytes, milliseconds, hidden)


def _failed(step: Step, code: Failure, message: str) -> Entry:
    hidden = step.name.startswith(".")
    return Entry(step.name, step.path, step.depth, Type.UNKNOWN, None, None, hidden, code, message)


def _fitted(listing: Listing, limit: int) -> tuple[str, Listing]:
    """The JSON in at most LIMIT bytes, and the listing that it shows (FR-LD-OUT-03 to -08)."""
    bodies = rows_to_json(listing.rows())
    text = listing.head() + ",".join(bodies) + listing.tail()
    if len(text.encode()) <= limit:
        return text, listing
    ends = list(accumulate(len(body.encode()) + 1 for body in bodies))
    for count in range(bisect_right(ends, limit), -1, -1):
        cut = replace(listing, entries=listing.entries[:count], reason=Reason.MAX_OUTPUT_BYTES)
        text = cut.head() + ",".join(bodies[:count]) + cut.tail()
        if len(text.encode()) <= limit:
            return text, cut
    message = f"output budget too small for an empty listing: {limit} bytes"
    raise ToolError(Code.EXECUTION_FAILED, message)


def _flag(name: str, *, default: bool) -> Parameter:
    return Parameter(
        name=name, type=ParameterType.BOOLEAN, default=default, setting=f"{name}_default"
    )


TOOL = Tool(
    name="list_directory",
    description="List directory entries",
    parameters=(
        Parameter(name="path", type=ParameterType.STRING, required=True),
        Parameter(name="recursive", type=ParameterType.BOOLEAN, default=False),
        Parameter(name="max_depth", type=ParameterType.INTEGER, minimum=1),
        Parameter(name="max_entries", type=ParameterType.INTEGER, minimum=1, setting="max_entries"),
        _flag("include_hidden", default=False),
        _flag("include_files", default=True),
        _flag("include_dirs", default=True),
        _flag("include_symlinks", default=True),
        _flag("include_other", default=False),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.JSON,
    categories=("filesystem", "navigation"),
    allow_truncation=False,
    invalid=Code.BAD_ARGS,
    settings=Settings,
    table="list_directory",
)
