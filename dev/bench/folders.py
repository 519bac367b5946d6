"""The folders that are measured, made once and kept in .cache/bench (`make clean` removes them).

All files except the commands are empty, each made by one mknod(2). Files in flat folders are
sparse, because a listing must show sizes; they need no room on the disk.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

MADE = ".made"
LEAVES, FILES_IN_LEAF, FILES_ABOVE = 20, 13, 3
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY
MODE = 0o644


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of files in flat folders and in rows, of directories in a tree, and so on."""

    flat: tuple[int, ...] = (1_000, 10_000, 100_000, 200_000)
    rows: int = 50_000
    tree: tuple[int, int] = (25, 19)
    trees: int = 4
    commands: int = 10_000

    def name(self) -> str:
        """Name of these sizes."""
        return "-".join(map(str, (*self.flat, self.rows, *self.tree, self.trees, self.commands)))


FULL = Sizes()
"""A tree has 125,000 files in 10,000 directories, four of them half a million files."""
QUICK = Sizes(flat=(10, 20, 30, 40), rows=50, tree=(2, 2), trees=2, commands=10)
"""Enough to see that everything runs; the times mean nothing."""


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders that are made."""

    path: Path
    sizes: Sizes

    def flat(self, number: int) -> Path:
        """Return a flat folder, by its index among the sizes."""
        return self.path / f"flat-{number}"

    @property
    def rows(self) -> Path:
        """A flat folder for a listing in a view."""
        return self.path / "rows"

    @property
    def forest(self) -> Path:
        """The folder of all trees."""
        return self.path / "forest"

    @property
    def tree(self) -> Path:
        """One tree."""
        return self.forest / "tree-0"

    @property
    def commands(self) -> Path:
        """A project that has commands."""
        return self.path / "project"

    @property
    def heads(self) -> Path:
        """The folder of the commands themselves."""
        return self.commands / ".claude" / "commands"


def folders(cache: Path, sizes: Sizes) -> Folders:
    """Return the folders of these `sizes` below `cache`; make them if they do not exist."""
    made = Folders(cache / f"folders-{sizes.name()}", sizes)
    for number, count in enumerate(sizes.flat):
        _once(made.flat(number), partial(_flat, count))
    _once(made.rows, partial(_flat, sizes.rows))
    for number in range(sizes.trees):
        _once(made.forest / f"tree-{number}", partial(_tree, sizes.tree))
    _once(made.commands, partial(_commands, sizes.commands))
    return made


def _once(path: Path, make: Callable[[Path], None]) -> None:
    """Make the folder `path` with `make` unless it exists. Make it again if it is incomplete."""
    mark = path.with_name(path.name + MADE)
    if not mark.exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        make(path)
        mark.touch()


def _flat(count: int, path: Path) -> None:
    with _opened(path) as directory:
        for number in range(count):
            name = f"module_{number:06d}.py"
            os.mknod(name, MODE, dir_fd=directory)
            os.truncate(path / name, number * 37 % 2_000_000)


def _tree(width: tuple[int, int], path: Path) -> None:
    tops, middles = width
    for top in range(tops):
        _files(path / f"package_{top:02d}", FILES_ABOVE)
        for middle in range(middles):
            above = path / f"package_{top:02d}" / f"part_{middle:02d}"
            _files(above, FILES_ABOVE)
            for leaf in range(LEAVES):
                _files(above / f"group_{leaf:02d}", FILES_IN_LEAF)


def _files(path: Path, count: int) -> None:
    path.mkdir()
    with _opened(path) as directory:
        for number in range(count):
            os.mknod(f"file_{number:02d}.py", MODE, dir_fd=directory)


def _commands(count: int, path: Path) -> None:
    heads = path / ".claude" / "commands"
    heads.mkdir(parents=True)
    for number in range(count):
        (heads / f"command-{number:05d}.md").write_text(_command(number), "utf-8")


def _command(number: int) -> str:
    lines = (f"Step {step}: look at part {number} of the project.\n" for step in range(40))
    dependency = "true" if number % 7 == 0 else "false"
    return (
        f"---\ntitle: Command {number}\ndescription: What command {number} is good for\n"
        f"is_dependency: {dependency}\n---\n\n# Command {number}\n\n{''.join(lines)}"
    )


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    directory = os.open(path, DIRECTORY_FLAGS)
    try:
        yield directory
    finally:
        os.close(directory)
