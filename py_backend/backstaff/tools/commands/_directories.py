"""The directories of commands: those in the settings, opened, and reading files in them.

A relative directory belongs to the project: it and every link in it stay within the root. An
absolute one, or one that begins with `~`, was chosen by the user, so links in it may lead anywhere.
An absolute path that leads into the project belongs to the project all the same.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from backstaff.errors import NotADirectory, NotAFile, NotFound, OutsideRoot, PathError, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.entry import Kind, names_in
from backstaff.fs.file import Content, not_a_file, read, regular
from backstaff.fs.root import Place, Root
from backstaff.render.names import quote
from backstaff.tool import Context

TABLE = "list_commands"
SUFFIX = ".md"
README = "README.md"
DIRECTORY_NOT_FOUND = "DIRECTORY_NOT_FOUND"
"""The contract's error code where no directory of commands exists."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.list_commands]`, for all tools of the set.

    `directory` is a directory or a list of them, relative to the root or absolute (`~` is the
    user's home). If two hold a command of the same name, the first in the list counts.
    """

    directory: str | tuple[str, ...] = ".claude/commands"

    @property
    def directories(self) -> tuple[str, ...]:
        """The setting as a list."""
        return (self.directory,) if isinstance(self.directory, str) else self.directory

    @property
    def several(self) -> bool:
        """Whether answers have to say which directory a command comes from."""
        return len(self.directories) > 1


@dataclass(frozen=True, slots=True)
class CommandDirectory:
    """An open directory of commands.

    `label` is its path in the settings: `~/.claude/commands`. The links in it stay within `root`,
    unless `follow_links` is true: then they may lead anywhere.
    """

    label: str
    place: Place
    descriptor: int
    root: Root
    follow_links: bool

    def files(self, budget: Budget) -> list[str]:
        """Return the names of the command files, in no order. Raises `PathError`."""
        return list(filter(is_command_file, names_in(self.descriptor, budget)))

    def status(self, file: str) -> os.stat_result:
        """Return the status of FILE or of its target. Raises `PathError`."""
        try:
            return regular(file, self.descriptor, follow=self.follow_links)
        except NotAFile as error:
            with self._target(file, error) as target:
                return target.status

    def read(self, file: str, most: int) -> Content:
        """Read at most MOST bytes of FILE or of its target. Raises `PathError`."""
        try:
            return read(file, self.descriptor, most, follow=self.follow_links)
        except NotAFile as error:
            with self._target(file, error) as target:
                return read(target.name, target.directory, most)

    @contextmanager
    def _target(self, file: str, error: NotAFile) -> Iterator[Place]:
        """Open the regular file within the root to which FILE leads. Raises ERROR if it is no link.

        Raises another `PathError` if the link cannot be followed.
        """
        if error.kind != Kind.SYMLINK:
            raise error
        with self.root.resolve(f"{self.place.relative}/{file}") as target:
            if target.kind is not Kind.FILE:
                raise not_a_file(target.kind)
            yield target


@contextmanager
def open_directories(context: Context) -> Iterator[tuple[list[CommandDirectory], list[str]]]:
    """Open the directories in the settings; the list of warnings is about those that fail.

    Raises DIRECTORY_NOT_FOUND if none can be opened.
    """
    with ExitStack() as stack:
        opened, problems, warnings = [], [], []
        for label in context.settings.directories:
            try:
                opened.append(_open(label, context.root, stack))
            except PathError as error:
                problems.append(problem := _problem(label, error))
                # Not everyone has commands of their own, so a missing directory is normal.
                if not isinstance(error, NotFound):
                    warnings.append(f"Commands directory {problem}")
        if not opened:
            listed = ", ".join(problems)
            said = f"Commands directory {listed}" if problems else "No directory is set"
            raise ToolError(DIRECTORY_NOT_FOUND, f"{said}; see 'directory' in [tools.{TABLE}]")
        yield opened, warnings


def is_command_file(name: str) -> bool:
    """Whether a file of this NAME would be a command (contract: filtering rules)."""
    return name.endswith(SUFFIX) and not name.startswith(".") and name != README


def _open(label: str, root: Root, stack: ExitStack) -> CommandDirectory:
    path, follow_links = os.path.expanduser(label), False  # pathlib raises for an unknown user
    if path.startswith("/"):
        own = stack.enter_context(Root(path))
        path = own.path
        if root.within(own.components) is None:
            path, root, follow_links = "", own, True
    place = stack.enter_context(root.directory(path))
    return CommandDirectory(label, place, place.listing(), root, follow_links)


def _problem(label: str, error: PathError) -> str:
    match error:
        case OutsideRoot():
            words = "is outside the project: if that is meant, write it as an absolute path"
        case NotADirectory(last=True):
            words = "is not a directory"
        case NotFound() | NotADirectory():
            words = "does not exist"
        case _:
            words = f"cannot be read: {error.message}"
    return f"{quote(label)} {words}"
