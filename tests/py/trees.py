"""Directory trees for tests: their entries, and access to them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from backstaff.project.packed import Directory, PackedPaths
from tests.golden.cases import make

Content = Mapping[str, object]
"""Paths and their contents: a string, None for a directory, `{"link": TARGET}`, ...; see
`tests.golden.cases.make`."""


class Plant(Protocol):
    """Makes a tree; two trees of one test are neighbours."""

    def __call__(self, content: Content, name: str = "R") -> Path: ...


def plant(root: Path, content: Content) -> Path:
    """Make `content` below `root` and return `root`."""
    root.mkdir(parents=True, exist_ok=True)
    for name, what in content.items():
        make(root / name, what)
    return root


def packed(files: Mapping[str, Sequence[str]]) -> PackedPaths:
    """Return the paths of `files`, the names by directory, in pre-order."""
    directories = list[Directory]()
    for path, names in files.items():
        paths = [f"{path}/{name}" if path else name for name in names]
        directories.append(Directory(path, "\0".join(paths)))
    return PackedPaths(directories)
