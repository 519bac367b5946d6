"""The time of workspace/search_files, compared with a bare walk of the same tree.

The tree looks like a large project: a dozen files a directory, four levels. It is in a temporary
directory, because git ignores the other folders of the bench. `cold` is the first search of all.
The others find the tree unchanged, so they cost the check of the tree and the search. Each turn
measures everything once, in one order.
"""

import os
import random
import tempfile
from functools import partial
from itertools import product
from pathlib import Path

from backstaff.fs.root import Root
from backstaff.project import files as project_files
from backstaff.start import collect_garbage
from backstaff.tool import Context
from backstaff.tools.workspace import search_files
from dev.bench.timing import Measures, seconds

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
FILES_A_DIRECTORY = 13
WORDS = (
    *("buffer", "window", "frame", "parse", "token", "tree", "node", "list"),
    *("map", "read", "write", "test", "core", "init", "wire"),
)
ENDINGS = ("py", "el", "md", "c", "h", "txt", "json", "lisp")
QUERIES = {
    "cold": ("fuzzy", "parnod", 0),
    "second-page": ("fuzzy", "parnod", 50),
    "other-query": ("fuzzy", "wiretok", 0),
}


def measure(files: int, turns: int) -> Measures:
    """Measure searches in a tree of `files` files, and the bare walk."""
    collect_garbage()  # as in the server
    with tempfile.TemporaryDirectory() as folder:
        make_tree(Path(folder), files)
        times: dict[str, list[float]] = {name: [] for name in ("walk", *QUERIES)}
        for _ in range(turns):
            times["walk"].append(seconds(partial(bare_walk, folder)))
            forget()
            for name, query in QUERIES.items():
                times[name].append(seconds(partial(search, folder, *query)))
    return {"search": times}


def make_tree(root: Path, files: int) -> None:
    """Make `files` files below `root`, always the same ones."""
    chance = random.Random(1)  # noqa: S311 - no secret
    made = 0
    for a, b, c in product(range(1000), range(31), range(31)):
        folder = root / f"{WORDS[a % 9]}{a}" / f"{WORDS[b % 11]}{b}" / f"{WORDS[c % 13]}{c}"
        folder.mkdir(parents=True)
        for number in range(FILES_A_DIRECTORY):
            name = f"{chance.choice(WORDS)}_{chance.choice(WORDS)}{number}"
            (folder / f"{name}.{chance.choice(ENDINGS)}").touch()
            made += 1
            if made == files:
                return


def bare_walk(root: str) -> int:
    """Count names and kinds of everything below `root`, by descriptor and through no link.

    A search that is safe from swapped directories has to do at least this.
    """
    start = os.open(root, DIRECTORY)
    try:
        return _below(start)
    finally:
        os.close(start)


def _below(directory: int) -> int:
    with os.scandir(directory) as entries:
        named = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    count = len(named)
    for name, is_directory in named:
        if is_directory:
            inner = os.open(name, DIRECTORY, dir_fd=directory)
            try:
                count += _below(inner)
            finally:
                os.close(inner)
    return count


def search(root: str, kind: str, query: str, offset: int) -> int:
    """Search as a call does; return the number of files that match."""
    arguments = search_files.Arguments(
        query=query, path=".", kind=kind, include_ignored=False, max_results=50, offset=offset
    )
    with Root(root) as opened:
        total = search_files.run(arguments, Context(root=opened)).data["total"]
    return int(str(total))


def forget() -> None:
    """Empty the caches, as in a server that has just started."""
    project_files.KEPT.clear()
