"""All commands: the names of their files, and the facts at the head of each file.

The number of pages is known only when every head is, because front matter says which commands are
dependencies. So heads are kept from call to call, each with the stamp of its file. A file that
changed just now has no stamp, and its head is not kept: no answer is out of date.

The contract's folders are read without their sub-folders, where files are only counted. Those of
other conventions are walked: `DEPTH` folders deep, never below a skill, whose folders hold its own
files, and never twice, because many a folder is a link to another. `MAX_EMPTY` folders without a
command end the walk.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import NotADirectory, NotFound, PathError
from backstaff.fs.entry import Kind as EntryKind
from backstaff.fs.entry import Named, entries_in, lstat_or_none
from backstaff.fs.handles import HANDLES
from backstaff.fs.secrets import Guard
from backstaff.fs.walk import Walk
from backstaff.project.stamp import Stamp, settled, stamp_of
from backstaff.render.lines import plural
from backstaff.render.names import prose, quote
from backstaff.tools.commands._command import HEAD_BYTES, Command, command_of, unreadable
from backstaff.tools.commands._conventions import DEPTH, PASSED_OVER, SKILL_FILES, Folder, Kind
from backstaff.tools.commands._directories import TABLE, CommandDirectory

MAX_CACHED = 20_000
MAX_WARNINGS = 50
MAX_EMPTY = 2000
FLAT_LINKS = 2
"""Number of links of a directory without sub-folders, on file systems that count them."""
NESTED_SECONDS = 0.2
"""Maximum number of seconds for counting commands in sub-folders."""

Cached = Mapping[str, tuple[Stamp, Command]]
"""The commands in a folder with the stamps of their files, by the path below the folder."""

CACHE: LRUCache[tuple[str, Folder, bool, Guard], Cached] = LRUCache(MAX_CACHED, len)
"""The commands by the real path of a folder, the folder, whether links in it may lead anywhere, and
which files in it may be read, because a model must not see the heads that a person has seen."""


@dataclass(slots=True)
class Catalog:
    """The commands in the contract's order; `everything` also has dependencies.

    `skipped` holds a warning for each file or directory that could not be read. `complete` is
    false if the time was up before all were read. `nested` counts the files in sub-folders that
    `sources` would add, as in `{"files": 180, "folders": 30}`. It is empty if there is none, and
    has `"more": True` if the time or `MAX_EMPTY` folders ended the count.
    """

    commands: Sequence[Command]
    everything: Sequence[Command]
    skipped: Sequence[str]
    complete: bool
    nested: Mapping[str, int]

    def warnings(self, shown: Sequence[Command]) -> tuple[str, ...]:
        """Return the warnings about skipped files and about the commands `shown`."""
        warnings = [*self.skipped, *(command.warning() for command in shown if command.problems)]
        if (more := len(warnings) - MAX_WARNINGS) > 0:
            warnings[MAX_WARNINGS:] = [f"{more} more files have problems"]
        if not self.complete:
            warnings.append("The time was up before all commands were read: some are missing")
        return tuple(warnings)

    def nested_note(self) -> Iterator[str]:
        """Yield a sentence about `nested` that says how to see those commands."""
        if self.nested:
            files, least = self.nested["files"], "at least " * ("more" in self.nested)
            yield (
                f"{least}{plural(files, 'file')} in {plural(self.nested['folders'], 'sub-folder')}"
                f" {'is' if files == 1 else 'are'} not read:"
                f' sources = "command" under [tools.{TABLE}] in the settings adds them'
            )


def read_catalog(
    directories: Sequence[CommandDirectory], warnings: Sequence[str], budget: Budget
) -> Catalog:
    """Read every command; of several with one name, the one in the first directory counts.

    In one directory, the first is the one in the fewest sub-folders, then by path. An unreadable
    command is in the answer, but hides no other. `warnings` are about directories that could not be
    opened.
    """
    walk, commands = _FolderWalk(budget, list(warnings)), list[Command]()
    for directory in directories:
        found = walk.run(directory)
        for command in sorted(found, key=lambda one: (one.file.count("/"), one.file)):
            counts = walk.first.setdefault(command.name, command)
            shadowed = counts is not command
            commands.append(command._replace(shadowed_by=counts.path) if shadowed else command)
    if walk.empty > MAX_EMPTY:
        problem = f"More than {MAX_EMPTY} folders hold no command or skill: some were not read"
        walk.skipped.append(problem)
    complete = not budget.expired()
    # By name without regard to case, and `Go` before `go`.
    everything = sorted(commands + walk.broken, key=lambda one: (one.name.casefold(), one.name))
    # A dependency, too, hides the commands of its name in later directories.
    listed = [command for command in everything if not command.is_dependency]
    return Catalog(listed, everything, walk.skipped, complete, _nested(directories, budget))


def _nested(directories: Sequence[CommandDirectory], budget: Budget) -> dict[str, int]:
    """Count the files in sub-folders of the folders that are read without them. Follow no link.

    Of more than `MAX_EMPTY` sub-folders, the first by name count.
    """
    counts: list[int] = []
    budget, cut = budget.at_most(NESTED_SECONDS), False

    def look(descriptor: int, path: str) -> Sequence[Named]:
        entries, wants = sorted(entries_in(descriptor, budget)), directory.folder.wants
        if path:
            counts.append(sum(kind is EntryKind.FILE and wants(name) for name, kind in entries))
        if path.count("/") + bool(path) >= DEPTH:
            return ()
        # `folder.md/` has a warning already.
        inner = [entry for entry in entries if entry[1] is EntryKind.DIRECTORY]
        return [one for one in inner if not (one[0] in PASSED_OVER or wants(one[0]))]

    for directory in directories:
        # A folder that cannot be read has nothing to count.
        with suppress(PathError, OSError):
            # The links save a second reading of a flat folder of 10,000 commands.
            flat = HANDLES.status(directory.descriptor).st_nlink == FLAT_LINKS
            if directory.folder.depth or flat:
                continue
            with Walk(directory.descriptor, look, budget) as walk:
                for step in walk:
                    if cut := len(counts) >= MAX_EMPTY:
                        break
                    walk.enter(step)
    if not any(counts):
        return {}
    more = {"more": True} if cut or budget.expired() else {}
    return {"files": sum(counts), "folders": sum(map(bool, counts)), **more}


@dataclass(slots=True)
class _FolderWalk:
    """The walk of one folder after the other.

    `skipped` holds warnings, `found` the commands in the folder, `cached` those of the last call,
    `broken` those that cannot be read, and `first` the command that counts for each name. `seen`
    are the real paths of the folders that were walked, and `empty` counts those that held no
    command.
    """

    budget: Budget
    skipped: list[str]
    start: int = 0
    found: dict[str, tuple[Stamp, Command]] = field(default_factory=dict)
    cached: Cached = field(default_factory=dict)
    broken: list[Command] = field(default_factory=list)
    first: dict[str, Command] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    empty: int = 0

    def run(self, top: CommandDirectory) -> list[Command]:
        """Walk the folder `top`, return its commands, and keep them for the next call."""
        key = top.path, top.folder, top.follow_links, top.root.guard
        self.start, self.found, self.cached = time.time_ns(), {}, CACHE.get(key) or {}
        pending = [("", EntryKind.DIRECTORY)]
        while pending:
            path, kind = pending.pop()
            # Links come last, because a folder with two paths is listed by its own. A link may lead
            # to a directory; only opening it shows that.
            if kind is EntryKind.SYMLINK:
                pending.insert(0, (path, EntryKind.DIRECTORY))
                continue
            if path and (self.budget.expired() or self.empty > MAX_EMPTY):
                break
            try:
                with top.opened(path) if path else nullcontext(top) as here:
                    pending += [(here.prefix + name, kind) for name, kind in self.look(here)]
            except NotADirectory:
                continue  # it leads to a file that is none of ours
            except PathError as error:
                self.skip(top, path, error)
        CACHE.put(key, {**self.cached, **self.found} if self.budget.expired() else self.found)
        return [command for _, command in self.found.values()]

    def look(self, here: CommandDirectory) -> Sequence[Named]:
        """Read the commands right in `here`, and return where to look below, the last first.

        Raises `PathError`.
        """
        folder, level = here.folder, here.prefix.count("/")
        skills, contract = folder.kind is Kind.SKILL, not folder.source
        # A folder can hold commands of two kinds, but a skill is found once.
        identity = here.path if skills and level else f"{here.path} {folder.suffix}"
        if identity in self.seen:
            return ()
        self.seen.add(identity)
        if skills and level and any(self.read(here, name) for name in SKILL_FILES):
            return ()
        entries = sorted(entries_in(here.descriptor, self.budget), reverse=True)
        files = set[str]()
        if not skills:
            # A directory `a.md` in one of the contract's folders gets a warning.
            names = (name for name, kind in entries if contract or kind is not EntryKind.DIRECTORY)
            files.update(filter(folder.wants, names))
            # Of the contract's folders, the first that has a command counts.
            earlier = self.first if contract else ()
            for name in sorted(files):
                # Reading one file can take 50 milliseconds.
                if name.removesuffix(folder.suffix) not in earlier and not self.budget.expired():
                    self.read(here, name)
        self.empty += not files
        kinds = (EntryKind.DIRECTORY, EntryKind.SYMLINK) if level < folder.depth else ()
        passed_over = files.union(PASSED_OVER)
        return [entry for entry in entries if entry[1] in kinds and entry[0] not in passed_over]

    def read(self, here: CommandDirectory, file: str) -> bool:
        """Read `file` of the directory `here`. Return False if there is no such file."""
        path = here.prefix + file
        known = self.cached.get(path)
        # Behind a link, the same file may have another path now. A link itself is read anew.
        if known and known[1].directory == here.path:
            status = lstat_or_none(file, here.descriptor)
            if status and stamp_of(status) == known[0]:
                self.found[path] = known
                return True
        try:
            content = here.read(file, HEAD_BYTES)
            command = command_of(file, here, content)
            self.found[path] = settled(content.status, self.start), command
        except PathError as error:
            status = lstat_or_none(file, here.descriptor)
            if not here.folder.source:
                self.skip(here, file, error)
            elif status is None and isinstance(error, NotFound):
                return False
            else:
                self.broken.append(unreadable(file, here, status, error))
        return True

    def skip(self, top: CommandDirectory, path: str, error: PathError) -> None:
        """Add a warning about the folder `top`, or `path` below it, which cannot be read."""
        if path:
            name = quote(f"{top.folder.label.rstrip('/')}/{path}")
            self.skipped.append(f"{name} is skipped: {error.message}")
        else:
            label = quote(top.folder.label)
            self.skipped.append(f"Directory {label} cannot be read: {error.message}")


def warnings_note(warnings: Sequence[str]) -> Iterator[str]:
    """Yield a note with the number of `warnings` and the first, as a model sees only the text."""
    if warnings:
        count = plural(len(warnings), "warning", "warnings, the first")
        yield f"{count}: {prose(warnings[0])}"
