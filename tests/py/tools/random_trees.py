"""Random trees for comparing a tool with a model: the same description makes one and judges it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st

Below = Mapping[str, "What"]
What = Below | int | str | None
"""The entry of a name: a directory's entries, a file's size, a link's target, or a fifo."""

FOLDERS = ("a", "a", "b", "é", "x y", "\udcff", ".h", "node_modules")
NAMES = (
    *("a", "b", "B", "c.log", "é", "\uff5e", "\U0001f600", "x y", "n\nl", 'q"', "@", "ab"),
    *("a@", "s…", "-", "[DIR]", "*", "back\\slash", "tab\t", "\x7f", "\udcff", "\udcfe", "\udce9t"),
    *(".h", ".git", "node_modules", "dist", "build", "target", ".vscode", ".DS_Store"),
)
OUTSIDE = "secret-of-the-outside"
TARGETS = ("..", "../outside", f"../outside/{OUTSIDE}", ".", "a", "missing", "/", "/etc/passwd")

folders = st.lists(st.sampled_from(FOLDERS), max_size=3)
leaves: st.SearchStrategy[What] = (
    st.integers(0, 2000) | st.sampled_from(TARGETS) | st.just({}) | st.none()
)
branches = st.tuples(folders, st.sampled_from(NAMES), leaves)


def grown(branches: list[tuple[list[str], str, What]]) -> Below:
    """The tree of these `branches`; of two at one place the first stays, but a folder wins."""
    tree: dict[str, Any] = {}
    for folders, name, leaf in branches:
        here = tree
        for folder in folders:
            if not isinstance(here.get(folder), dict):
                here[folder] = {}
            here = here[folder]
        here.setdefault(name, {} if leaf == {} else leaf)
    return tree


trees = st.lists(branches, min_size=3, max_size=20).map(grown)


@contextmanager
def planted(below: Below) -> Iterator[Path]:
    """A root with the entries `below` it, and beside it a folder that nobody may see."""
    with TemporaryDirectory(prefix="backstaff-") as folder:
        top = Path(folder).resolve()
        plant(top / "outside", {OUTSIDE: 1})
        yield plant(top / "R", below)


def plant(directory: Path, below: Below) -> Path:
    """Make `directory` with the entries `below` it."""
    directory.mkdir()
    for name, what in below.items():
        path = directory / name
        match what:
            case None:
                os.mkfifo(path)
            case int():
                path.write_bytes(b"x" * what)
            case str():
                path.symlink_to(what)
            case _:
                plant(path, what)
    return directory


def starts(below: Below, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of each directory."""
    yield path
    for name, what in below.items():
        if isinstance(what, Mapping):
            yield from starts(what, (*path, name))


def at(below: Below, path: tuple[str, ...]) -> Below:
    """The entries below the directory at `path`."""
    for name in path:
        inner = below[name]
        assert isinstance(inner, Mapping)
        below = inner
    return below
