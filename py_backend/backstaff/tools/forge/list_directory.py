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
from functools import partial
from heapq import nsmallest
from typing import Any, NamedTuple

from backstaff.errors import PathError, ToolError
from backstaff.fs.entry import Kind, Named, facts_of, lstat, names_in
from backstaff.fs.root import Place
from backstaff.fs.walk import Step, Walk
from backstaff.render.canonical import to_json
from backstaff.render.lines import cut, size
from backstaff.render.names import lossy, quote
from backstaff.render.refusals import FORGE, refused
from backstaff.result import Keyword, Rows
from backstaff.tool import Context, Result, ResultKind, Tool, argument

# The SRD's errors (3.7), and the words of its output (3.5).
_BAD_ARGS, _SANDBOX_VIOLATION, _FAILED = "BadArgs", "SandboxViolation", "ExecutionFailed"
_FILE, _DIR, _SYMLINK = Keyword("file"), Keyword("dir"), Keyword("symlink")
_OTHER, _UNKNOWN = Keyword("other"), Keyword("unknown")
_MAX_ENTRIES, _MAX_OUTPUT_BYTES = Keyword("max_entries"), Keyword("max_output_bytes")

_TYPES = {stat.S_IFREG: _FILE, stat.S_IFDIR: _DIR, stat.S_IFLNK: _SYMLINK}
_ERRORS = {  # an entry's `error_code` and `error`
    errno.EACCES: ("permission_denied", "permission denied"),
    errno.EPERM: ("permission_denied", "permission denied"),
    errno.EIO: ("io_error", "input/output error"),
    errno.ENOENT: ("metadata_unavailable", "entry vanished"),
}
_OTHER_ERROR = ("unknown", "metadata unavailable")

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:(/|\Z)")


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


_count = partial(argument, integer=True, minimum=1)


def _flag(help: str, name: str, *, default: bool = True) -> Any:  # noqa: A002, ANN401
    return argument(help=help, default=default, setting=f"include_{name}_default")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The normative schema (3.2), without descriptions; an omitted `max_depth` is None."""

    path: str = argument(help="Directory, relative to the project root; '.' is the root.")
    recursive: bool = argument(help="List what is below its directories, too.", default=False)
    max_depth: int | None = _count(
        help="How deep to list with recursive (default: as deep as the settings allow)."
    )
    max_entries: int = _count(
        help="How many entries to list (default: as many as the settings allow).",
        setting="max_entries",
    )
    include_hidden: bool = _flag("List names that start with a dot.", "hidden", default=False)
    include_files: bool = _flag("List regular files.", "files")
    include_dirs: bool = _flag("List directories.", "dirs")
    include_symlinks: bool = _flag("List symbolic links, as links.", "symlinks")
    include_other: bool = _flag("List sockets, devices and the like.", "other", default=False)


class Entry(NamedTuple):
    """An entry object, with the fields and their order of the SRD (3.5)."""

    name: str
    path: str
    depth: int
    type: Keyword
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
        raise refused(error, path, FORGE) from error

    def totals(shown: int) -> dict[str, object]:
        why = reason if shown == len(entries) else _MAX_OUTPUT_BYTES  # FR-LD-OUT-07
        return {
            "returned": shown,
            "max_entries": arguments.max_entries,
            "truncated": why is not None,
            "truncated_reason": why,
        }

    limit = context.text_limit()
    objects = [to_json(entry._asdict()) for entry in entries]
    text, shown = cut(
        f'{{"path":{to_json(path)},"entries":[',
        [f",{one}" if number else one for number, one in enumerate(objects)],
        lambda shown: "]," + to_json(totals(shown)).removeprefix("{"),
        limit,
    )
    if size(text) > limit:  # FR-LD-OUT-08
        raise ToolError(_FAILED, f"output budget too small for an empty listing: {limit} bytes")
    rows = Rows(dict(zip(Entry._fields, zip(*entries[:shown], strict=True), strict=False)))
    data = {"path": path, "entries": rows} | totals(shown)
    return Result(text=text, data=data, truncated=data["truncated"] is True)


def _effective_depth(arguments: Arguments, settings: Settings) -> int:
    """The depth to list. Raises BadArgs for arguments that contradict each other or a cap."""
    recursive, depth, entries = arguments.recursive, arguments.max_depth, arguments.max_entries
    types = arguments.include_files, arguments.include_dirs, arguments.include_symlinks
    caps, is_for_nothing = (settings.max_depth, settings.max_entries), depth not in (None, 1)
    faults = {  # FR-LD-VAL-02, -06b, -04, -05
        "max_depth must be absent or 1 when recursive is false": not recursive and is_for_nothing,
        f"max_depth must be at most {caps[0]}, but it is {depth}": (depth or 1) > caps[0],
        f"max_entries must be at most {caps[1]}, but it is {entries}": entries > caps[1],
        "one of include_files, include_dirs and include_symlinks must be true": not any(types),
    }
    for fault in (words for words, holds in faults.items() if holds):
        raise ToolError(_BAD_ARGS, fault)
    return (depth or caps[0]) if recursive else 1  # FR-LD-VAL-03


def normalized(path: str) -> str:
    """Return `path` for the output (FR-LD-VAL-10): `src/a` for ` ./src//a/`. Raises `ToolError`."""
    text = path.strip().replace("\\", "/")
    # `strip` takes some control characters for white space.
    if _CONTROL.search(text) or not set("\x1c\x1d\x1e\x1f").isdisjoint(path):
        raise ToolError(_BAD_ARGS, "path must not hold control characters")
    if not text:
        raise ToolError(_BAD_ARGS, "path must not be empty")  # FR-LD-VAL-01
    parts = [part for part in text.split("/") if part not in ("", ".")]
    normal = "/".join(parts) or "."
    if text.startswith("/") or _DRIVE.match(normal) or ".." in parts:
        message = f"path {quote(path)} is outside the sandbox: it must be relative, without '..'"
        raise ToolError(_SANDBOX_VIOLATION, message)
    return normal


def _listed(
    place: Place, depth: int, arguments: Arguments, context: Context
) -> tuple[list[Entry], Keyword | None]:
    """The entries down to `depth`, in the order of the output, and the reason if there are more."""
    kept, reason, budget = list[Entry](), None, context.budget
    included = {
        _FILE: arguments.include_files,
        _DIR: arguments.include_dirs,
        _SYMLINK: arguments.include_symlinks,
        _OTHER: arguments.include_other,
        _UNKNOWN: True,
    }

    def arrange(directory: int, _path: str) -> Iterator[Named]:
        # Only names are read. The walk below stats each entry, even if its type is not wanted: an
        # entry without metadata is always listed (FR-LD-LST-04), and only lstat finds it.
        names = names_in(directory, budget)
        budget.check()
        if not arguments.include_hidden:  # FR-LD-LST-06
            names = [name for name in names if name[0] != "."]
        ordered = ordered_names(names, arguments.max_entries - len(kept) + 1)
        return ((name, Kind.UNKNOWN) for name in ordered)

    with Walk(place.listing(), arrange, budget) as walk:
        for step in walk:
            entry = _entry(step)
            if entry.type == _DIR and step.depth < depth and walk.enter(step) is not None:
                # FR-LD-LST-08
                entry = _unknown(step, "read_dir_failed", "directory cannot be read")
            if not included[entry.type]:
                continue
            if len(kept) == arguments.max_entries:
                reason = _MAX_ENTRIES
                break
            kept.append(entry)
        else:
            if walk.expired:
                words = "the time was up before the listing was complete; list a smaller directory"
                raise ToolError(_FAILED, words)
    return sorted(kept, key=lambda entry: lossy(entry.path)), reason  # FR-LD-OUT-01


def ordered_names(names: list[str], most: int) -> Iterator[str]:
    """Return `names` in order (FR-LD-LST-05): the first `most` quickly, and then the others."""
    together = "".join(names)  # the SRD leaves open the order of names that are equal as `lossy`
    key = None if lossy(together) == together else lambda name: (lossy(name), name)
    yield from nsmallest(most, names, key=key)
    yield from sorted(names, key=key)[most:]


def _entry(step: Step) -> Entry:
    name, path, _, depth, directory = step
    try:
        mode, size, modified = facts_of(lstat(name, directory))
    except OSError as refusal:  # FR-LD-LST-04
        return _unknown(step, *_ERRORS.get(refusal.errno or 0, _OTHER_ERROR))
    kind = _TYPES.get(stat.S_IFMT(mode), _OTHER)
    size_bytes = size if kind == _FILE else None
    milliseconds = modified // 10**6 if modified >= 0 else None
    return Entry(name, path, depth, kind, size_bytes, milliseconds, name[0] == ".")


def _unknown(step: Step, code: str, error: str) -> Entry:
    name, path, _, depth, _ = step
    return Entry(name, path, depth, _UNKNOWN, None, None, name[0] == ".", Keyword(code), error)


TOOL = Tool(
    description="List directory entries",
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.JSON,
    categories=("filesystem", "navigation"),
    allow_truncation=False,
    invalid=_BAD_ARGS,
    settings=Settings,
    table="list_directory",
)
