"""All commands: the names of their files, and the facts at the head of each file.

The number of pages is known only when every head is, because front matter says which commands are
dependencies. So heads are kept from call to call. A head is read again if the stamp of its file
has changed, and a file that changed just now has no stamp: no answer is out of date.

The contract's folders are read without their sub-folders. Those of other conventions are walked:
`DEPTH` folders deep, never below a skill, whose folders hold its own files, and never twice,
because many a folder is a link to another. `MAX_EMPTY` folders without a command end the walk.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from operator import itemgetter

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.errors import NotADirectory, NotFound, PathError, path_error
from backstaff.fs.entry import Kind as EntryKind
from backstaff.fs.entry import Named, entries_in, lstat_or_none
from backstaff.fs.handles import HANDLES
from backstaff.fs.secrets import Guard
from backstaff.fs.walk import Walk
from backstaff.project.stamp import Stamp, settled, stamp_of
from backstaff.render.lines import plural
from backstaff.render.names import prose, quote
from backstaff.tools.commands._command import (
    HEAD_BYTES,
    Command,
    command_of,
    file_label,
    unreadable,
)
from backstaff.tools.commands._conventions import DEPTH, PASSED_OVER, SKILL_FILES, Folder, Kind
from backstaff.tools.commands._directories import TABLE, CommandDirectory

FIRST_BYTES = 4096
MAX_CACHED = 20_000
MAX_WARNINGS = 50
MAX_EMPTY = 2000
FLAT_LINKS = 2
"""Number of links of a directory without sub-folders, on file systems that count them."""
NESTED_SECONDS = 0.2
"""Maximum number of seconds for counting commands in sub-folders."""

Cached = Mapping[str, tuple[Stamp, Command]]
"""The commands in a folder with the stamps of their files, by the path below the folder."""

Listed = Mapping[str, tuple[Stamp, Sequence[Named]]]
"""The entries of a folder, and of those below it, with their stamps, by the path below it."""

Key = tuple[str, Folder, bool, Guard]
"""The real path of a folder, the folder, whether links in it may lead anywhere, and which files in
it may be read, because a model must not see the heads that a person has seen."""
CACHE: LRUCache[Key, Cached] = LRUCache(MAX_CACHED, len)
LISTED: LRUCache[Key, Listed] = LRUCache(MAX_CACHED, len)


@dataclass(slots=True)
class Catalog:
    """The commands in the contract's order; `everything` also has dependencies.

    `skipped` holds a warning for each file or directory that could not be read. `complete` is
    false if the time was up before all were read. `first` has the command that counts for each
    name. `seen` are the real paths of the folders that were walked, and `empty` counts those that
    held no command.
    """

    commands: list[Command] = field(default_factory=list)
    everything: list[Command] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    complete: bool = True
    first: dict[str, Command] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    empty: int = 0

    def warnings(self, shown: Sequence[Command]) -> tuple[str, ...]:
        """Return the warnings about skipped files and about the commands `shown`."""
        warnings = self.skipped + [command.warning() for command in shown if command.problems]
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
    catalog = Catalog(skipped=list(warnings))
    commands = _walked(directories, catalog, budget)
    catalog.complete = not budget.expired()
    # By name without regard to case; the first sort decides between `Go` and `go`.
    commands.sort(key=itemgetter(0))
    catalog.everything = sorted(commands, key=lambda command: command.name.casefold())
    # A dependency, too, hides the commands of its name in later directories.
    catalog.commands = [one for one in catalog.everything if not one.is_dependency]
    return catalog


def nested(directories: Sequence[CommandDirectory], budget: Budget) -> dict[str, object]:
    """Count the files in sub-folders that `sources` would add: `{"files": 180, "folders": 30}`.

    The contract's folders are read without their sub-folders, so these files are missing from
    every answer. Links are not followed. The mapping is empty if there is no such file, and has
    `"more": True` if the time or `MAX_EMPTY` folders ended the count.
    """
    counts: list[int] = []
    budget = budget.at_most(NESTED_SECONDS)

    def look(descriptor: int, path: str) -> Sequence[Named]:
        entries = entries_in(descriptor, budget)
        if path:
            names = (name for name, kind in entries if kind is EntryKind.FILE)
            counts.append(sum(map(directory.folder.wants, names)))
        if path.count("/") + bool(path) >= DEPTH or len(counts) > MAX_EMPTY:
            return ()
        return [
            (name, kind)
            for name, kind in entries
            # `folder.md/` has a warning already.
            if kind is EntryKind.DIRECTORY
            and not (name in PASSED_OVER or directory.folder.wants(name))
        ]

    for directory in directories:
        if directory.folder.depth:
            continue  # it is read with its sub-folders
        # A folder that cannot be read has nothing to count.
        with suppress(PathError, OSError):
            # This saves a second reading of a flat folder of 10,000 commands.
            if HANDLES.status(directory.descriptor).st_nlink == FLAT_LINKS:
                continue
            with Walk(directory.descriptor, look, budget) as walk:
                for _ in walk.enter_all():
                    pass
    if not any(counts):
        return {}
    cut = {"more": True} if budget.expired() or len(counts) > MAX_EMPTY else {}
    return {"files": sum(counts), "folders": sum(map(bool, counts)), **cut}


def nested_note(counts: Mapping[str, object]) -> Iterator[str]:
    """Yield a sentence about `counts`, of `nested`, that says how to see those commands."""
    if counts:
        files, folders = (int(str(counts[key])) for key in ("files", "folders"))
        least = "at least " * ("more" in counts)
        yield (
            f"{least}{plural(files, 'file')} in {plural(folders, 'sub-folder')}"
            f" {'is' if files == 1 else 'are'} not read:"
            f' sources = "command" under [tools.{TABLE}] in the settings adds them'
        )


def _read_file(
    directory: CommandDirectory,
    file: str,
    cached: Cached,
    found: MutableMapping[str, tuple[Stamp, Command]],
    start: int,
) -> None:
    """Put the command in `file` into `found`, from `cached` if unchanged. Raises `PathError`."""
    path = directory.prefix + file
    known = cached.get(path)
    if known and stamp_of(directory.status(file)) == known[0]:
        if known[1].directory != directory.path:  # a link on the way leads to it by another path
            known = known[0], known[1]._replace(directory=directory.path)
        found[path] = known
        return
    content = directory.read(file, FIRST_BYTES)
    command, unsure = command_of(file, directory, content)
    if unsure:
        content = directory.read(file, HEAD_BYTES)
        command, _ = command_of(file, directory, content)
    found[path] = settled(content.status, start), command


@dataclass(slots=True)
class _FolderWalk:
    """The walk of the folder `top` and all below it, which fills `found` and `broken`.

    `links` are the paths of links that may lead to directories. They are opened one at a time,
    because each holds descriptors.
    """

    top: CommandDirectory
    catalog: Catalog
    budget: Budget
    start: int = 0
    found: dict[str, tuple[Stamp, Command]] = field(default_factory=dict)
    broken: list[Command] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    listings: dict[str, tuple[Stamp, Sequence[Named]]] = field(default_factory=dict)
    cached: Cached = field(default_factory=dict)
    listed: Listed = field(default_factory=dict)

    @property
    def contract(self) -> bool:
        """Whether the folder is read as the contract has it: without sources in the settings."""
        return not self.top.folder.source

    def run(self) -> None:
        """Walk the folder, and keep the findings for the next call."""
        folder, catalog = self.top.folder, self.catalog
        key, self.start = self.top.cache_key(), time.time_ns()
        self.cached, self.listed = CACHE.get(key) or {}, LISTED.get(key) or {}
        try:
            self.enter(self.top)
        except PathError as error:
            label = quote(folder.label)
            catalog.skipped.append(f"Directory {label} cannot be read: {error.message}")
        for path in self.links:  # it grows meanwhile
            if self.budget.expired() or catalog.empty > MAX_EMPTY:
                break
            try:
                with self.top.opened(path) as here:
                    self.enter(here)
            except NotADirectory:
                continue  # it leads to a file that is none of ours
            except PathError as error:
                self.skip(path, error)
        late = self.budget.expired()
        if self.found != self.cached:
            CACHE.put(key, {**self.cached, **self.found} if late else self.found)
        if self.listings != self.listed:
            LISTED.put(key, {**self.listed, **self.listings} if late else self.listings)

    def enter(self, here: CommandDirectory) -> None:
        """Walk the directory `here`, but follow no link. Raises `PathError`."""

        def arrange(descriptor: int, path: str) -> Iterable[Named]:
            return self.look(here.below(path, descriptor) if path else here)

        with Walk(here.descriptor, arrange, self.budget) as walk:
            for step, error in walk.enter_all():
                path = here.prefix + step.path
                if step.kind is EntryKind.SYMLINK:
                    self.links.append(path)
                else:
                    self.skip(path, error)

    def look(self, here: CommandDirectory) -> Iterable[Named]:
        """Read the commands right in `here`, and return where to look below. Raises `PathError`."""
        folder, catalog = here.folder, self.catalog
        skills, level = folder.kind is Kind.SKILL, here.prefix.count("/")
        # A folder can hold commands of two kinds, but a skill is found once.
        identity = here.path if skills and level else f"{here.path} {folder.suffix}"
        if identity in catalog.seen:
            return ()
        catalog.seen.add(identity)
        if skills and level and any(self.read(here, name) for name in SKILL_FILES):
            return ()
        entries = self.entries(here)
        if skills:
            files = set[str]()
            entries = self.changed(entries, here)
        else:
            # A directory `a.md` in one of the contract's folders gets a warning.
            contract = self.contract
            names = (name for name, kind in entries if contract or kind is not EntryKind.DIRECTORY)
            files = set(filter(folder.wants, names))
            # Of the contract's folders, the first that has a command counts.
            earlier = catalog.first if contract else ()
            for name in sorted(files):
                # Reading one file can take 50 milliseconds.
                if name.removesuffix(folder.suffix) not in earlier and not self.budget.expired():
                    self.read(here, name)
        catalog.empty += not files
        # A link may lead to a directory; only opening it shows that.
        below = [
            (name, kind)
            for name, kind in entries
            if (kind is EntryKind.DIRECTORY or kind is EntryKind.SYMLINK)
            and name not in files
            and name not in PASSED_OVER
        ]
        enough = level >= folder.depth or not below
        return () if enough else takewhile(lambda _: catalog.empty <= MAX_EMPTY, below)

    def entries(self, here: CommandDirectory) -> Sequence[Named]:
        """Return the entries of `here`, from the last call if none came or went."""
        try:
            status = HANDLES.status(here.descriptor)
        except OSError as error:
            raise path_error(error) from error
        known = self.listed.get(here.prefix)
        if known is None or known[0] != stamp_of(status):
            known = settled(status, self.start), sorted(entries_in(here.descriptor, self.budget))
        if not self.budget.expired():  # else names may be missing
            self.listings[here.prefix] = known
        return known[1]

    def changed(self, entries: Sequence[Named], here: CommandDirectory) -> list[Named]:
        """Find the unchanged skills in `here`, and return the other `entries`.

        Without this, the second listing of 5,000 skills takes twice as long.
        """
        others: list[Named] = []
        # Behind a link, the same file may have another path now.
        seen, linked = self.catalog.seen, bool(here.prefix)
        file, enter, lstat, close = SKILL_FILES[0], HANDLES.enter, HANDLES.lstat, HANDLES.close
        for entry in self.budget.within(entries):
            path = f"{here.prefix}{entry[0]}/{file}"
            known, same = self.cached.get(path), False
            if known:
                try:
                    directory = enter(entry[0], here.descriptor)
                    try:
                        same = stamp_of(lstat(file, directory)) == known[0]
                    finally:
                        close(directory)
                except OSError:
                    pass  # the walk will give the reason
            if (
                not known
                or not same
                or (linked and known[1].directory != f"{here.path}/{entry[0]}")
            ):
                others.append(entry)
            elif known[1].directory not in seen:
                seen.add(known[1].directory)
                self.found[path] = known
        return others

    def read(self, here: CommandDirectory, file: str) -> bool:
        """Read `file` of the directory `here`. Return False if there is no such file."""
        try:
            _read_file(here, file, self.cached, self.found, self.start)
        except PathError as error:
            status = lstat_or_none(file, here.descriptor)
            if self.contract:
                self.skip(file, error)
            elif status is None and isinstance(error, NotFound):
                return False
            else:
                self.broken.append(unreadable(file, here, status, error))
        return True

    def skip(self, path: str, error: PathError) -> None:
        """Add a warning about the directory `path`, which cannot be read."""
        name = file_label(self.top.label, path)
        self.catalog.skipped.append(f"{name} is skipped: {error.message}")


def _walked(
    directories: Sequence[CommandDirectory], catalog: Catalog, budget: Budget
) -> list[Command]:
    """Read the commands in `directories` and below; mark those that are not the first of a name.

    In one directory, the first is the one in the fewest sub-folders, then by path. An unreadable
    command is in the answer, but hides no other.
    """
    commands: list[Command] = []
    broken: list[Command] = []
    for directory in directories:
        walk = _FolderWalk(directory, catalog, budget)
        walk.run()
        broken += walk.broken
        # The order of `found` depends on the cache that the last call left.
        for path in sorted(sorted(walk.found), key=lambda path: path.count("/")):
            _, command = walk.found[path]
            counts = catalog.first.setdefault(command.name, command)
            shadowed = counts is not command
            commands.append(command._replace(shadowed_by=counts.path) if shadowed else command)
    if catalog.empty > MAX_EMPTY:
        problem = f"More than {MAX_EMPTY} folders hold no command or skill: some were not read"
        catalog.skipped.append(problem)
    return commands + broken


def warnings_note(warnings: Sequence[str]) -> Iterator[str]:
    """Yield a note with the number of `warnings` and the first, as a model sees only the text."""
    if warnings:
        count = plural(len(warnings), "warning", "warnings, the first")
        yield f"{count}: {prose(warnings[0])}"
