"""The directories of commands: those in the settings, opened, and reading files in them.

A directory holds commands as `NAME.md`, Agent Skills as `NAME/SKILL.md`, or both; of one name, the
command counts. Hidden entries and README.md are neither. Deeper files are never looked at.

A relative directory belongs to the project: it and every link in it stay within the root. An
absolute one, or one that begins with `~`, was chosen by the user, so links in it may lead anywhere.
An absolute path that leads into the project belongs to the project all the same.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from backstaff.errors import NotAFile, NotFound, PathError, ToolError
from backstaff.fs.entry import Kind as EntryKind
from backstaff.fs.file import Content, not_a_file, read
from backstaff.fs.root import Root
from backstaff.render.refusals import COMMANDS, refused
from backstaff.tool import Context

TABLE = "list_commands"
MARKDOWN, SKILL_FILE = ".md", "SKILL.md"
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
        """The directories as a list."""
        return (self.directory,) if isinstance(self.directory, str) else self.directory

    @property
    def several(self) -> bool:
        """Whether answers have to say which directory a command comes from."""
        return len(self.directories) > 1


def is_command(name: str) -> bool:
    """Whether a file of this `name` is a command (contract 003: filtering rules)."""
    return name.endswith(MARKDOWN) and not name.startswith(".") and name != "README.md"


def files_of(name: str) -> Iterator[str]:
    """Yield the files that a command or skill `name` may have: `a.md`, then `a/SKILL.md`."""
    if is_command(name + MARKDOWN):
        yield name + MARKDOWN
    if not name.startswith(".") and not is_command(name):
        yield f"{name}/{SKILL_FILE}"


class CommandDirectory(NamedTuple):
    """An open directory of commands, or the folder of a skill in it.

    `label` is its path in the settings, `path` its real path, and `relative` that from the
    project's `root`. The links in it stay within the root, unless `follow_links` is true: then they
    may lead anywhere.
    """

    label: str
    root: Root
    follow_links: bool
    path: str
    relative: str
    descriptor: int

    @contextmanager
    def skill_folder(self, name: str) -> Iterator["CommandDirectory"]:
        """Open the directory `name` in it, through links if allowed. Raises `PathError`."""
        below = f"{self.relative}/{name}"
        with ExitStack() as stack:
            path = f"{self.path}/{name}" if self.follow_links else below
            folder = _open(self.label, path, self.root, stack)
            # A secret is judged by the path that leads to it from the user's directory.
            yield folder._replace(relative=below) if folder.follow_links else folder

    def path_of(self, name: str) -> str:
        """The real path of the entry `name`, or of the link with that name."""
        return f"{self.path.rstrip('/')}/{name}"

    def read(self, file: str, limit_bytes: int) -> tuple[str, Content]:
        """Return the path (`path_of`) and the first bytes of `file` or `NAME/SKILL.md`.

        Raises `PathError`.
        """
        if "/" in file:
            folder, _, name = file.partition("/")
            with self.skill_folder(folder) as directory:
                return directory.read(name, limit_bytes)
        path, given = self.path_of(file), f"{self.relative}/{file}"
        self.root.judge(given.removeprefix("./"), given)
        try:
            return path, read(file, self.descriptor, limit_bytes, follow=self.follow_links)
        except NotAFile as error:
            if error.kind != EntryKind.SYMLINK:
                raise
        # A link may lead to a regular file within the root.
        with self.root.resolve(given) as target:
            if target.kind is not EntryKind.FILE:
                raise not_a_file(target.kind)
            self.root.judge(target.relative, given)
            return path, read(target.name, target.directory, limit_bytes)


@contextmanager
def open_directories(context: Context) -> Iterator[tuple[list[CommandDirectory], list[str]]]:
    """Open the directories in the settings, and return them and warnings about those that fail.

    Raises DIRECTORY_NOT_FOUND if none can be opened.
    """
    with ExitStack() as stack:
        opened, problems, warnings, missing = [], [], [], []
        for label in context.settings.directories:
            try:
                path = os.path.expanduser(label)  # pathlib raises for an unknown user
                opened.append(_open(label, path, context.root, stack))
            except PathError as error:
                problem = refused(error, label, COMMANDS).message
                problems.append(problem)
                # Not everyone has commands of their own, so a missing directory is normal.
                if isinstance(error, NotFound):
                    missing.append(label)
                else:
                    warnings.append(f"Commands directory {problem}")
        if not opened:
            listed = ", ".join(problems)
            problem = f"Commands directory {listed}" if problems else "No directory is set"
            message = f"{problem}; see 'directory' in [tools.{TABLE}]"
            raise ToolError(DIRECTORY_NOT_FOUND, message, missing=missing)
        yield opened, warnings


def _open(label: str, path: str, root: Root, stack: ExitStack) -> CommandDirectory:
    """Open the directory `path`; the `stack` closes it. Raises `PathError`.

    A `~` in `path` is a name like any other: a project may hold one.
    """
    place_root, follow_links = root, False
    if path.startswith("/"):
        own = stack.enter_context(Root(path, root.guard))
        path = own.path
        if root.within(own.components) is None:
            path, place_root, follow_links = "", own, True
    place = stack.enter_context(place_root.directory(path))
    listing = place.listing()
    return CommandDirectory(label, root, follow_links, place.path, place.relative, listing)
