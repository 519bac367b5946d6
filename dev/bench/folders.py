"""The folders that are measured, made once and kept in .cache/bench (`make clean` removes them).

All files except the commands are empty. Files in flat folders are sparse, because a listing must
show sizes; they need no room on the disk.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

MADE = ".made"
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY
COMMAND = """---
title: Command {0}
description: A command for {0} things
is_dependency: {1}
---

# Command {0}

"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of files in flat folders, of directories in a tree, and of commands."""

    flat: tuple[int, ...] = (1_000, 10_000, 100_000, 200_000)
    tree: tuple[int, int] = (25, 19)
    commands: int = 10_000


FULL = Sizes()
"""A tree has 125,000 files in 10,000 directories."""
QUICK = Sizes(flat=(10, 20, 30, 40), tree=(2, 2), commands=10)
"""Enough to see that everything runs; the times mean nothing."""


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders below `path`."""

    path: Path

    def flat(self, number: int) -> Path:
        """Return a flat folder, by its index among the sizes."""
        return self.path / f"flat-{number}"

    @property
    def tree(self) -> Path:
        """A deep tree."""
        return self.path / "tree"

    @property
    def commands(self) -> Path:
        """A project that has commands in .claude/commands."""
        return self.path / "project"


def folders(cache: Path, sizes: Sizes) -> Folders:
    """Return the folders of these `sizes` below `cache`; make them if they do not exist."""
    made = Folders(cache / f"folders-{abs(hash(sizes))}")
    for number, count in enumerate(sizes.flat):
        _once(made.flat(number), partial(_files, count=count))
    _once(made.tree, lambda path: _tree(path, *sizes.tree))
    _once(made.commands, lambda path: _commands(path, sizes.commands))
    return made


def _once(path: Path, make: Callable[[Path], None]) -> None:
    """Make the folder `path` with `make` unless it exists. Make it again if it is incomplete."""
    mark = path.with_name(path.name + MADE)
    if not mark.exists():
        shutil.rmtree(path, ignore_errors=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        mark.touch()


def _files(path: Path, count: int) -> None:
    """Make the folder `path` with `count` sparse files."""
    path.mkdir()
    for number in range(count):
        name = path / f"module_{number:06d}.py"
        name.touch()
        os.truncate(name, number * 37 % 2_000_000)


def _tree(path: Path, tops: int, middles: int) -> None:
    """Make a tree of three levels: 3 files in each upper directory, and 13 in each of 20 leaves."""
    path.mkdir()
    for top in range(tops):
        above = path / f"package_{top:02d}"
        _files(above, 3)
        for middle in range(middles):
            _files(above / f"part_{middle:02d}", 3)
            for leaf in range(20):
                _files(above / f"part_{middle:02d}" / f"group_{leaf:02d}", 13)


def _commands(path: Path, count: int) -> None:
    heads = path / ".claude" / "commands"
    heads.mkdir(parents=True)
    body = "".join(f"Step {step}: look at another part of the project.\n" for step in range(40))
    for number in range(count):
        head = COMMAND.format(number, "true" if number % 7 == 0 else "false")
        (heads / f"command-{number:05d}.md").write_text(head + body, "utf-8")
