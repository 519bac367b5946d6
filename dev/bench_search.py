"""What workspace/search_files costs, as ratios to a plain walk of the same tree in the same run.

    python dev/bench_search.py [FILES]

A tree of so many files (125,000 if not said) is made in a temporary directory; it is of the kind
that a large project is: a dozen files a directory, four levels. `cold` is the first search there
is; the others find the tree as the one before left it, so their cost is that of making sure of it,
and of searching. Each round measures everything once, in one order; medians are compared.
"""

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from backstaff.fs import survey
from backstaff.fs.root import Root
from backstaff.tool import Context
from backstaff.tools.workspace import search_files

FILES = 125_000
FILES_A_DIRECTORY = 13
ROUNDS = 9
WORDS = (
    *("buffer", "window", "frame", "parse", "token", "tree", "node", "list"),
    *("map", "read", "write", "test", "core", "init", "wire"),
)
ENDINGS = ("py", "el", "md", "c", "h", "txt", "json", "lisp")
QUERIES = {
    "cold": ("fuzzy", "parnod", 0),
    "same query, second page": ("fuzzy", "parnod", 50),
    "fuzzy, other query": ("fuzzy", "wiretok", 0),
    "fuzzy, one letter": ("fuzzy", "w", 0),
    "fuzzy, two words": ("fuzzy", "tree map", 0),
    "substring": ("substring", "tree_map", 0),
    "glob, by ending": ("glob", "**/*.el", 0),
    "glob, by name": ("glob", "**/tree_map*.py", 0),
}


def make_tree(root: Path, files: int) -> None:
    """Make that many FILES below ROOT, and the same ones each time."""
    chance = random.Random(1)  # noqa: S311 - no secret
    made = 0
    for a, b, c in _places():
        folder = root / f"{WORDS[a % 9]}{a}" / f"{WORDS[b % 11]}{b}" / f"{WORDS[c % 13]}{c}"
        folder.mkdir(parents=True)
        for number in range(FILES_A_DIRECTORY):
            name = f"{chance.choice(WORDS)}_{chance.choice(WORDS)}{number}"
            (folder / f"{name}.{chance.choice(ENDINGS)}").touch()
            made += 1
            if made == files:
                return


def _places() -> Iterator[tuple[int, int, int]]:
    return ((a, b, c) for a in range(1000) for b in range(31) for c in range(31))


def plain_walk(root: str) -> int:
    """Collect the path of every file with os.scandir, as everybody does, and count them."""
    found: list[str] = []
    waiting = [root]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    found.append(entry.path)
    return len(found)


def search(root: str, kind: str, query: str, offset: int) -> int:
    """Search as a call would; how many files match."""
    arguments = search_files.Arguments(
        query=query, path=".", kind=kind, include_ignored=False, max_results=50, offset=offset
    )
    with Root(root) as opened:
        total = search_files.run(arguments, Context(root=opened)).data["total"]
    return int(str(total))


def forget() -> None:
    """Let what is kept go, as in a server that has just started."""
    survey.forget()
    search_files.INDEXES.forget()


def timed(action: Callable[[], int]) -> float:
    """The seconds that ACTION takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ratios(root: str) -> dict[str, float]:
    """What each search costs, times a plain walk."""
    walks: list[float] = []
    costs: dict[str, list[float]] = {name: [] for name in QUERIES}
    for _ in range(ROUNDS):
        walks.append(timed(lambda: plain_walk(root)))
        forget()
        for name, query in QUERIES.items():
            kind, text, offset = query
            costs[name].append(
                timed(lambda kind=kind, text=text, offset=offset: search(root, kind, text, offset))  # type: ignore[misc]
            )
    walk = statistics.median(walks)
    return {name: statistics.median(cost) / walk for name, cost in costs.items()}


def main() -> None:
    """Print the ratios."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    with tempfile.TemporaryDirectory() as folder:
        make_tree(Path(folder), files)
        time.sleep(0.1)  # what has just changed is not kept
        for name, ratio in ratios(folder).items():
            print(f"{name:28} {ratio:5.2f} x a plain walk of {files} files")


if __name__ == "__main__":
    main()
