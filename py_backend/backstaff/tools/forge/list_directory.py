"""forge/list_directory: a listing as one canonical JSON object, bounded every way (contract 002).

There are two orders. The walk goes in pre-order, names by their UTF-8 bytes in each directory (SRD
FR-LD-LST-05), and decides which entries are kept. The output is sorted by path (FR-LD-OUT-01). A
listing of exactly `max_entries` entries is truncated only if there is one more eligible entry. A
cut by depth is no truncation.

Beyond the SRD: a directory that cannot be read stands once, as `unknown`, in the place of its own
entry. When the time is up the call fails, as the output has no word for that. A drive (`C:/`) is an
absolute path on every system. The output is at most 1 MiB if the caller sets no limit.
"""

import errno
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import nsmallest
from typing import NamedTuple

from backstaff.errors import (
    InvalidPath,
    NotADirectory,
    NotFound,
    OutsideRoot,
    PathError,
    ToolError,
)
from backstaff.fs.entry import Kind, Named, facts_of, lstat, names_in
from backstaff.fs.root import Place
from backstaff.fs.walk import Step, Walk
from backstaff.render.canonical import rows_to_json, to_json
from backstaff.render.lines import cut, size
from backstaff.render.names import labels, lossy, quote, show
from backstaff.result import Keyword, Rows
from backstaff.tool import Context, Result, ResultKind, Tool, argument

DEFAULT_OUTPUT_BYTES = 1 << 20
SAMPLE = 16
"""A sample of 16 times the wanted names shows nearly where the last of them stands."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SEPARATORS = re.compile(r"[\x1c-\x1f]")
"""Control characters that `str.strip` removes as white space."""
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


_TYPES = {stat.S_IFREG: Type.FILE, stat.S_IFDIR: Type.DIR, stat.S_IFLNK: Type.SYMLINK}
# An entry's `error_code` and `error` (3.5).
_ERRORS = {
    errno.EACCES: ("permission_denied", "permission denied"),
    errno.EPERM: ("permission_denied", "permission denied"),
    errno.EIO: ("io_error", "input/output error"),
    errno.ENOENT: ("metadata_unavailable", "entry vanished"),
}
_OTHER_ERROR = ("unknown", "metadata unavailable")
# An output's `truncated_reason` (3.5).
_MAX_ENTRIES, _MAX_OUTPUT_BYTES = Keyword("max_entries"), Keyword("max_output_bytes")


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
    """The normative schema (3.2); `max_depth` is None if it was omitted."""

    path: str = argument()
    recursive: bool = argument(default=False)
    max_depth: int | None = argument(integer=True, minimum=1)
    max_entries: int = argument(integer=True, minimum=1, setting="max_entries")
    include_hidden: bool = argument(default=False, setting="include_hidden_default")
    include_files: bool = argument(default=True, setting="include_files_default")
    include_dirs: bool = argument(default=True, setting="include_dirs_default")
    include_symlinks: bool = argument(default=True, setting="include_symlinks_default")
    include_other: bool = argument(default=False, setting="include_other_default")


class Entry(NamedTuple):
    """An entry object, with the fields and their order of the SRD (3.5)."""

    name: str
    path: str
    depth: int
    type: Type
    size_bytes: int | None
    modified_epoch_ms: int | None
    is_hidden: bool
    error_code: Keyword | None = None
    error: str | None = None


def run(arguments: Arguments, context: Context) -> Result:
    """List, and fit the listing into the output budget. Errors are the SRD's three."""
    depth = _effective_depth(arguments, context.settings)
    path = normalized(arguments.path)
    try:
        with context.root.directory(path) as place:
            entries, reason = _listed(place, depth, arguments, context)
    except PathError as error:
        raise _refusal(error) from error

    def totals(shown: int) -> dict[str, object]:
        why = reason if shown == len(entries) else _MAX_OUTPUT_BYTES  # FR-LD-OUT-07
        return {
            "returned": shown,
            "max_entries": arguments.max_entries,
            "truncated": why is not None,
            "truncated_reason": why,
        }

    limit, objects = context.text_limit(DEFAULT_OUTPUT_BYTES), rows_to_json(_rows(entries))
    text, shown = cut(
        f'{{"path":{to_json(path)},"entries":[',
        [f",{entry}" if number else entry for number, entry in enumerate(objects)],
        lambda shown: "]," + to_json(totals(shown)).removeprefix("{"),
        limit,
    )
    if size(text) > limit:  # FR-LD-OUT-08
        message = f"output budget too small for an empty listing: {limit} bytes"
        raise ToolError(Code.EXECUTION_FAILED, message)
    listed = entries[:shown]
    return Result(
        text=text,
        data={"path": path, "entries": _rows(listed)} | totals(shown),
        truncated=totals(shown)["truncated"] is True,
        labels=lambda: labels(show, (text for entry in listed for text in entry[:2])),
    )


def _effective_depth(arguments: Arguments, settings: Settings) -> int:
    """The depth to list. Raises BadArgs for arguments that contradict each other or a cap."""
    depth = arguments.max_depth
    if not arguments.recursive and depth not in (None, 1):  # FR-LD-VAL-02
        raise _bad("max_depth must be absent or 1 when recursive is false")
    if depth is not None and depth > settings.max_depth:  # FR-LD-VAL-06b
        raise _bad(f"max_depth must be at most {settings.max_depth}, but it is {depth}")
    if arguments.max_entries > settings.max_entries:  # FR-LD-VAL-04
        cap = settings.max_entries
        raise _bad(f"max_entries must be at most {cap}, but it is {arguments.max_entries}")
    if not (arguments.include_files or arguments.include_dirs or arguments.include_symlinks):
        # FR-LD-VAL-05
        raise _bad("one of include_files, include_dirs and include_symlinks must be true")
    if not arguments.recursive:
        return 1
    return settings.max_depth if depth is None else depth  # FR-LD-VAL-03


def normalized(path: str) -> str:
    """PATH as the output shows it (FR-LD-VAL-10): `src/a` for ` ./src//a/`. Raises `ToolError`."""
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
    """ERROR as an error of the SRD (FR-LD-VAL-08, FR-LD-ERR-02, -03)."""
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


def _listed(
    place: Place, depth: int, arguments: Arguments, context: Context
) -> tuple[list[Entry], Keyword | None]:
    """The entries down to DEPTH, in the order of the output, and the reason if there are more."""
    kept: list[Entry] = []
    reason, budget = None, context.budget
    included = {
        Type.FILE: arguments.include_files,
        Type.DIR: arguments.include_dirs,
        Type.SYMLINK: arguments.include_symlinks,
        Type.OTHER: arguments.include_other,
        Type.UNKNOWN: True,
    }

    def arrange(directory: int, _path: str) -> Iterator[Named]:
        # Only names are read. The walk below stats each entry, even if its type is not wanted: an
        # entry without metadata is listed in any case (FR-LD-LST-04), and only lstat finds it.
        names = names_in(directory, budget)
        budget.check()
        most = arguments.max_entries - len(kept) + 1
        ordered = ordered_names(names, most, include_hidden=arguments.include_hidden)
        return ((name, Kind.UNKNOWN) for name in ordered)

    with Walk(place.listing(), arrange, budget) as walk:
        for step in walk:
            entry = _entry(step)
            if entry.type is Type.DIR and step.depth < depth and walk.enter(step) is not None:
                # FR-LD-LST-08
                code, message = Keyword("read_dir_failed"), "directory cannot be read"
                entry = Entry(*entry[:3], Type.UNKNOWN, None, None, entry.is_hidden, code, message)
            if not included[entry.type]:
                continue
            if len(kept) == arguments.max_entries:
                reason = _MAX_ENTRIES
                break
            kept.append(entry)
        else:
            if walk.expired:
                words = "the time was up before the listing was complete; list a smaller directory"
                raise ToolError(Code.EXECUTION_FAILED, words)
    return sorted(kept, key=lambda entry: lossy(entry.path)), reason  # FR-LD-OUT-01


def ordered_names(names: list[str], most: int, *, include_hidden: bool) -> Iterator[str]:
    """NAMES in order (FR-LD-LST-05, -06): the first MOST quickly, and then the others.

    The order is by code point, as that of UTF-8 bytes, after lossy conversion. The SRD leaves open
    how names that are equal then stand: the undecodable byte FF (U+DCFF) goes before a real U+FFFD.
    """

    def visible(names: list[str]) -> list[str]:
        return names if include_hidden else [name for name in names if name[0] != "."]

    few = names
    key = None
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        key = _lossy_order
    else:
        # The last of the first MOST names in a sample stands no earlier than that in all names. A
        # comparison of each name with it takes a third of the time of a heap.
        sample = sorted(visible(names[: SAMPLE * most]))
        if len(sample) >= most:
            bound = sample[most - 1]
            few = [name for name in names if name <= bound]
    yield from nsmallest(most, visible(few), key=key)
    yield from sorted(visible(names), key=key)[most:]


def _lossy_order(name: str) -> tuple[str, str]:
    return lossy(name), name


def _entry(step: Step) -> Entry:
    name, path, _, depth, directory = step
    hidden = name[0] == "."
    try:
        mode, size, modified = facts_of(lstat(name, directory))
    except OSError as refusal:  # FR-LD-LST-04
        code, error = _ERRORS.get(refusal.errno or 0, _OTHER_ERROR)
        return Entry(name, path, depth, Type.UNKNOWN, None, None, hidden, Keyword(code), error)
    kind = _TYPES.get(stat.S_IFMT(mode), Type.OTHER)
    size_bytes = size if kind is Type.FILE else None
    milliseconds = modified // 10**6 if modified >= 0 else None
    return Entry(name, path, depth, kind, size_bytes, milliseconds, hidden)


def _rows(entries: list[Entry]) -> Rows:
    fields = enumerate(Entry._fields)
    return Rows({field: [entry[i] for entry in entries] for i, field in fields})


TOOL = Tool(
    description="List directory entries",
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.JSON,
    categories=("filesystem", "navigation"),
    allow_truncation=False,
    invalid=Code.BAD_ARGS,
    settings=Settings,
    table="list_directory",
)
