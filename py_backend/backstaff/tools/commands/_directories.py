"""The directories of commands: those in the settings, opened, and reading files in them.

A relative directory belongs to the project: it and every link in it stay within the root. An
absolute one, or one that begins with `~`, was chosen by the user, so links in it may lead anywhere.
An absolute path that leads into the project belongs to the project all the same.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from backstaff.errors import NotAFile, NotFound, PathError, ToolError
from backstaff.fs.entry import Kind as EntryKind
from backstaff.fs.file import Content, not_a_file, read
from backstaff.fs.root import Root
from backstaff.render.refusals import COMMANDS, refused
from backstaff.tool import Context
from backstaff.tools.commands._conventions import Folder, Kind, folders

TABLE = "list_commands"
ALL = "all"
DIRECTORY_NOT_FOUND = "DIRECTORY_NOT_FOUND"
"""The contract's error code where no directory of commands exists."""
MORE_KEYS = (
    *("kind", "source", "scope", "namespace", "argument_hint"),
    *("user_invocable", "model_invocable", "shadowed_by", "problems"),
)
"""The facts of a command in the data where `sources` is set. The contract has none of them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.list_commands]`, for all tools of the set.

    `directory` is a directory or a list of them, relative to the root or absolute (`~` is the
    user's home). If two hold a command of the same name, the first in the list counts.

    `sources` adds the commands of other agents: "all", or some of the kinds "skill", "command" and
    "prompt". Without it, the tools follow the contract and do no more.
    """

    directory: str | tuple[str, ...] = ".claude/commands"
    sources: str | tuple[str, ...] = field(default=(), metadata={"choices": (ALL, *Kind)})

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories as a list."""
        return (self.directory,) if isinstance(self.directory, str) else self.directory

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that `sources` adds."""
        given = (self.sources,) if isinstance(self.sources, str) else self.sources
        return tuple(Kind) if ALL in given else given

    @property
    def several(self) -> bool:
        """Whether answers have to say which directory a command comes from."""
        return bool(self.kinds) or len(self.directories) > 1

    @property
    def more_keys(self) -> tuple[str, ...]:
        """The facts that data hold besides those of the contract's folders."""
        return MORE_KEYS if self.kinds else ()


class CommandDirectory(NamedTuple):
    """An open directory of commands, or one below it.

    `path` is its real path, and `relative` that from the project's `root`. `prefix` is its path
    below the folder: "" for the folder itself, `git/` for one below. The links in it stay within
    the root, unless `follow_links` is true: then they may lead anywhere.
    """

    folder: Folder
    root: Root
    follow_links: bool
    path: str
    relative: str
    descriptor: int
    prefix: str = ""

    @contextmanager
    def opened(self, path: str) -> Iterator["CommandDirectory"]:
        """Open the directory `path` below, through links if allowed. Raises `PathError`."""
        below = f"{self.relative}/{path}"
        with ExitStack() as stack:
            text = f"{self.path}/{path}" if self.follow_links else below
            found = _open(self.folder, text, self.root, stack)
            relative = below if found.follow_links else found.relative
            yield found._replace(prefix=f"{self.prefix}{path}/", relative=relative)

    def read(self, file: str, most: int) -> Content:
        """Read at most `most` bytes of `file`, `a.md` or `git/a.md`, or of its target.

        Raises `PathError`.
        """
        if "/" in file:
            parent, _, name = file.rpartition("/")
            with self.opened(parent) as directory:
                return directory.read(name, most)
        given = f"{self.relative}/{file}"
        self.root.judge(given.removeprefix("./"), given)
        try:
            return read(file, self.descriptor, most, follow=self.follow_links)
        except NotAFile as error:
            if error.kind != EntryKind.SYMLINK:
                raise
        # A link may lead to a regular file within the root.
        with self.root.resolve(given) as target:
            if target.kind is not EntryKind.FILE:
                raise not_a_file(target.kind)
            self.root.judge(target.relative, given)
            return read(target.name, target.directory, most)


@contextmanager
def open_directories(context: Context) -> Iterator[tuple[list[CommandDirectory], list[str]]]:
    """Open the directories in the settings, and return them and warnings about those that fail.

    Raises DIRECTORY_NOT_FOUND if none can be opened.
    """
    settings = context.settings
    with ExitStack() as stack:
        opened, problems, warnings, missing = [], [], [], []
        for folder in folders(settings.directories, settings.kinds):
            try:
                path = os.path.expanduser(folder.label)  # pathlib raises for an unknown user
                opened.append(_open(folder, path, context.root, stack))
            except PathError as error:
                problem = refused(error, folder.label, COMMANDS).message
                problems.append(problem)
                # Not everyone has commands of their own, so a missing directory is normal.
                if isinstance(error, NotFound):
                    missing.append(folder.label)
                else:
                    warnings.append(f"Commands directory {problem}")
        if not opened:
            listed = ", ".join(problems)
            problem = f"Commands directory {listed}" if problems else "No directory is set"
            if settings.kinds:
                problem = "Neither the project nor the user has a folder of commands or skills"
            message = f"{problem}; see 'directory' in [tools.{TABLE}]"
            raise ToolError(DIRECTORY_NOT_FOUND, message, missing=missing)
        yield opened, warnings


def _open(folder: Folder, path: str, root: Root, stack: ExitStack) -> CommandDirectory:
    """Open the directory `path` for `folder`; the `stack` closes it. Raises `PathError`.

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
    return CommandDirectory(folder, root, follow_links, place.path, place.relative, listing)
