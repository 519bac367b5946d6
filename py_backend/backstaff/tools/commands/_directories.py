"""The folders that commands live in: those of the setting, opened, with what may be read in them.

A relative folder is the project's: it and every link in it stay within the root. An absolute one,
or one that begins with `~`, was chosen by the person whose settings these are, and may be anywhere;
what is a link in there leads where that person wants. Only where such a path comes to lie in the
project is it the project's after all.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum

from backstaff.errors import NotADirectory, NotAFile, NotFound, OutsideRoot, PathError, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.entry import Kind, names_in
from backstaff.fs.file import Content, not_a_file, read, regular, regulars
from backstaff.fs.root import Place, Root
from backstaff.render.names import quote
from backstaff.tool import Context

TABLE = "list_commands"
SUFFIX = ".md"
NO_COMMAND = "README.md"


class Code(StrEnum):
    """The contract's error for a folder that is not there."""

    DIRECTORY_NOT_FOUND = "DIRECTORY_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.list_commands]`, for all tools of the set.

    `directory` is a folder or a list of folders, relative to the root or absolute (`~` is the
    user's home). Of two commands with one name the one in the earlier folder counts.
    """

    directory: str | tuple[str, ...] = ".claude/commands"

    @property
    def directories(self) -> tuple[str, ...]:
        """The folders."""
        return (self.directory,) if isinstance(self.directory, str) else self.directory


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder. `label` is what the settings call it; `free` that links may lead anywhere."""

    label: str
    place: Place
    directory: int
    root: Root
    free: bool

    @property
    def path(self) -> str:
        """Its real path."""
        return self.place.path

    def files(self, budget: Budget) -> list[str]:
        """The names of what may be commands by their names, in no order. Raises `PathError`."""
        names = names_in(self.directory, budget)
        return [name for name in names if name.endswith(SUFFIX) and is_command_file(name)]

    def statuses(
        self, files: Sequence[str], budget: Budget
    ) -> Iterator[tuple[str, os.stat_result | PathError]]:
        """What the system says of each of FILES, or why it is no regular file; until time is up."""
        return regulars(files, self.directory, budget, follow=self.free)

    def status_beyond(self, file: str, error: PathError) -> os.stat_result:
        """The status of what FILE leads to, if ERROR says that it is a link. Raises `PathError`."""
        with self._beyond(file, error) as target:
            return regular(target.name, target.directory)

    def read(self, file: str, most: int, looked: os.stat_result | None = None) -> Content:
        """At most MOST bytes of the regular FILE. Raises `PathError`.

        LOOKED is what `statuses` says of it, if that was asked just now.
        """
        try:
            return read(file, self.directory, most, follow=self.free, looked=looked)
        except NotAFile as error:
            with self._beyond(file, error) as target:
                return read(target.name, target.directory, most)

    @contextmanager
    def _beyond(self, file: str, error: PathError) -> Iterator[Place]:
        """The regular file to which the link FILE leads within the root; else raise ERROR."""
        if not isinstance(error, NotAFile) or error.kind != Kind.SYMLINK:
            raise error
        with self.root.resolve(f"{self.place.relative}/{file}") as target:
            if target.kind is not Kind.FILE:
                raise not_a_file(target.kind)
            yield target


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders that could be opened, the first first, and what is to be said of the others."""

    folders: Sequence[Folder]
    warnings: Sequence[str]
    several: bool

    def __iter__(self) -> Iterator[Folder]:
        """The folders in the order in which their commands count."""
        return iter(self.folders)

    def labelled(self, label: str) -> Folder:
        """The folder that the settings call LABEL."""
        return next(folder for folder in self.folders if folder.label == label)


def is_command_file(name: str) -> bool:
    """Whether a file of this NAME would be a command (filtering rules)."""
    return name.endswith(SUFFIX) and not name.startswith(".") and name != NO_COMMAND


@contextmanager
def open_folders(context: Context) -> Iterator[Folders]:
    """The folders of the settings. Raises DIRECTORY_NOT_FOUND if there is none of them."""
    directories = context.settings.directories
    with ExitStack() as stack:
        folders, failures = [], []
        for directory in directories:
            try:
                folders.append(_opened(directory, context.root, stack))
            except PathError as error:
                failures.append((directory, error))
        if not folders:
            raise _not_found(failures)
        yield Folders(folders, tuple(_warnings(failures)), several=len(directories) > 1)


def _warnings(failures: Sequence[tuple[str, PathError]]) -> Iterator[str]:
    """What is to be said of folders that are missed among others: nothing if they do not exist."""
    for directory, error in failures:
        if not isinstance(error, NotFound):
            yield f"Commands directory {_said(directory, error)}"


def _opened(directory: str, root: Root, stack: ExitStack) -> Folder:
    path = os.path.expanduser(directory)  # pathlib raises for an unknown user
    if not path.startswith("/"):
        return _folder(directory, path, root, stack, free=False)
    own = stack.enter_context(Root(path))
    if root.within(own.components) is not None:
        return _folder(directory, own.path, root, stack, free=False)
    return _folder(directory, "", own, stack, free=True)


def _folder(label: str, path: str, root: Root, stack: ExitStack, *, free: bool) -> Folder:
    place = stack.enter_context(root.directory(path))
    return Folder(label, place, place.listing(), root, free)


def _not_found(failures: Sequence[tuple[str, PathError]]) -> ToolError:
    said = ", ".join(_said(directory, error) for directory, error in failures)
    where = f"see 'directory' in [tools.{TABLE}]"
    message = f"Commands directory {said}; {where}" if said else f"No directory is set; {where}"
    return ToolError(Code.DIRECTORY_NOT_FOUND, message)


def _said(directory: str, error: PathError) -> str:
    match error:
        case OutsideRoot():
            words = "is outside the project: if that is meant, write it as an absolute path"
        case NotADirectory(last=True):
            words = "is not a directory"
        case NotFound() | NotADirectory():
            words = "does not exist"
        case _:
            words = f"cannot be read: {error.message}"
    return f"{quote(directory)} {words}"
