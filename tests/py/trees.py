"""Directory trees for tests: their entries, and access to them."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

from backstaff.errors import NoGit
from backstaff.project.files import Directory, ProjectFiles
from tests.golden.cases import make

Content = Mapping[str, object]
"""Paths and their contents: a string, None for a directory, `{"link": TARGET}`, ...; see
`tests.golden.cases.make`."""


SETTLED_NS = 40_000_000
"""Nanoseconds after which a file's time shows each change: the limit of the files that are kept."""
GIT: Content = {".git/HEAD": "ref: refs/heads/main\n", ".git/objects/": None, ".git/refs/": None}
"""The files that make a tree a work tree of git, without a commit."""


class Plant(Protocol):
    """Makes a tree; two trees of one test are neighbours."""

    def __call__(self, content: Content, name: str = "R") -> Path: ...


def plant(root: Path, content: Content) -> Path:
    """Make `content` below `root` and return `root`."""
    root.mkdir(parents=True, exist_ok=True)
    for name, what in content.items():
        make(root / name, what)
    return root


def settle(root: Path) -> None:
    """Wait until the latest change below `root` is old enough to have a stamp."""
    probe = root.parent / "clock"
    while True:
        probe.write_text("")
        newest = max(path.lstat().st_ctime_ns for path in (root, *root.rglob("*")))
        if probe.stat().st_ctime_ns - newest > SETTLED_NS:
            return


def project_of(files: Mapping[str, Sequence[str]]) -> ProjectFiles:
    """Return the project of `files`, the names by directory, in pre-order."""
    directories = [
        Directory(path, [f"{path}/{name}" if path else name for name in names])
        for path, names in files.items()
    ]
    paths = tuple(chain.from_iterable(one.paths for one in directories))
    return ProjectFiles(directories, paths, NoGit.NO_WORK_TREE)
