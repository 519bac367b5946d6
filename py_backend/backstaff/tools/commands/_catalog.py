"""All commands: the names of their files, and the facts at the head of each file.

The number of pages is known only when every head is, because front matter says which commands are
dependencies. So heads are kept from call to call, each with the stamp of its file. A file that
changed just now has no stamp, and its head is not kept: no answer is out of date.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import NotADirectory, NotFound, PathError
from backstaff.fs.entry import Kind, entries_in, lstat_or_none
from backstaff.fs.secrets import Guard
from backstaff.project.stamp import Stamp, settled, stamp_of
from backstaff.render.lines import plural
from backstaff.render.names import prose, quote
from backstaff.tools.commands._command import HEAD_BYTES, Command, command_of
from backstaff.tools.commands._directories import (
    MARKDOWN,
    SKILL_FILE,
    CommandDirectory,
    is_command,
)

MAX_CACHED = 20_000
MAX_WARNINGS = 50

Cached = Mapping[str, tuple[Stamp, Command]]
"""The commands in a directory with the stamps of their files, by the path in the directory."""

CACHE: LRUCache[tuple[str, str, bool, Guard], Cached] = LRUCache(MAX_CACHED, len)
"""The commands by the label and real path of a directory, whether links in it may lead anywhere,
and which files in it may be read, because a model must not see the heads that a person has seen."""


@dataclass(slots=True)
class Catalog:
    """The commands in the contract's order; `everything` also has dependencies.

    `skipped` holds a warning for each file or directory that could not be read. `complete` is
    false if the time was up before all were read.
    """

    commands: Sequence[Command]
    everything: Sequence[Command]
    skipped: Sequence[str]
    complete: bool

    def warnings(self, shown: Sequence[Command]) -> tuple[str, ...]:
        """Return the warnings about skipped files and about the commands `shown`."""
        warnings = [*self.skipped, *(command.warning() for command in shown if command.problems)]
        if (more := len(warnings) - MAX_WARNINGS) > 0:
            warnings[MAX_WARNINGS:] = [f"{more} more files have problems"]
        if not self.complete:
            warnings.append("The time was up before all commands were read: some are missing")
        return tuple(warnings)


def read_catalog(
    directories: Sequence[CommandDirectory], warnings: Sequence[str], budget: Budget
) -> Catalog:
    """Read every command; of several with one name, the one in the first directory counts.

    `warnings` are about directories that could not be opened.
    """
    skipped, by_name = list(warnings), dict[str, Command]()
    for directory in directories:
        by_name = _read_directory(directory, by_name, skipped, budget) | by_name
    # By name without regard to case, and `Go` before `go`.
    everything = sorted(by_name.values(), key=lambda one: (one.name.casefold(), one.name))
    # A dependency, too, hides the commands of its name in later directories.
    listed = [command for command in everything if not command.is_dependency]
    return Catalog(listed, everything, skipped, not budget.expired())


def _read_directory(
    top: CommandDirectory, earlier: Mapping[str, Command], skipped: list[str], budget: Budget
) -> dict[str, Command]:
    """Return the commands in `top` by name, without those that `earlier` has.

    Adds a warning to `skipped` for each entry that cannot be read.
    """
    key = top.label, top.path, top.follow_links, top.root.guard
    start, cached, kept = time.time_ns(), CACHE.get(key) or {}, dict[str, tuple[Stamp, Command]]()
    by_name = dict[str, Command]()
    try:
        entries = sorted(entries_in(top.descriptor, budget))
    except PathError as error:
        skipped.append(f"Directory {quote(top.label)} cannot be read: {error.message}")
        return by_name
    # A directory `a.md` is a mistake, and gets a warning as a file that cannot be read does.
    files = [(name.removesuffix(MARKDOWN), name) for name, _ in entries if is_command(name)]
    files += [
        (name, f"{name}/{SKILL_FILE}")
        for name, kind in entries
        if kind in (Kind.DIRECTORY, Kind.SYMLINK) and name[0] != "." and not is_command(name)
    ]
    for name, file in files:
        # Reading one file can take 50 milliseconds.
        if name in earlier or name in by_name or budget.expired():
            continue
        try:
            folder, _, leaf = file.rpartition("/")
            with top.skill_folder(folder) if folder else nullcontext(top) as here:
                # Behind a link, the same file may have another path now. A link is read anew.
                known = cached.get(file)
                if known and known[1].path == here.path_of(leaf):
                    status = lstat_or_none(leaf, here.descriptor)
                    if status and stamp_of(status) == known[0]:
                        kept[file], by_name[name] = known, known[1]
                        continue
                path, content = here.read(leaf, HEAD_BYTES)
        except PathError as error:
            # Most directories, and links to files, are no skills.
            if not (folder and isinstance(error, NotFound | NotADirectory)):
                label = quote(f"{top.label.rstrip('/')}/{folder or file}")
                skipped.append(f"{label} is skipped: {error.message}")
            continue
        by_name[name] = command_of(file, top.label, path, content)
        kept[file] = settled(content.status, start), by_name[name]
    CACHE.put(key, {**cached, **kept} if budget.expired() else kept)
    return by_name


def warnings_note(warnings: Sequence[str]) -> Iterator[str]:
    """Yield a note with the number of `warnings` and the first, as a model sees only the text."""
    if warnings:
        count = plural(len(warnings), "warning", "warnings, the first")
        yield f"{count}: {prose(warnings[0])}"
