"""How well questions and names find the right file in three small projects: NDCG@10 and MRR.

    python -m dev.bench.ask

The projects are packages that the tests need, as they are installed. The questions are our own
(`questions.txt`), written from the projects' documentation; the right files were checked by hand.
NDCG@10 of workspace/codebase_search is 1 if the right files come first. The queries for names are
those of `dev.bench.find`, from the name of each third file, and the mean reciprocal rank (MRR) is
that of workspace/search_files. A test fails where a figure is lower than `EXPECTED` by more than
`LARGEST_FALL`.
"""

import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from math import log2
from pathlib import Path

from backstaff.registry import discover
from backstaff.server import Server
from backstaff.settings import Settings
from dev.bench.find import queries

QUESTIONS = Path(__file__).parent / "questions.txt"
PROJECTS = ("_pytest", "markdown_it", "hypothesis")
WANTED = 10
MOST = 100
EXPECTED = {
    "NDCG@10 of questions": 0.904,
    "NDCG@10 of names asked for": 1.0,
    "MRR of file names": 0.935,
}
"""The figures with pytest 9.2, markdown-it-py 4.3 and hypothesis 6.170."""
LARGEST_FALL = 0.02
Rank = tuple[str, str, int, float]
"""A project, a question, the rank of its first right file or 0, and its NDCG."""


def questions() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the project, the question and the right files of each line."""
    for line in QUESTIONS.read_text("utf-8").splitlines():
        project, _, rest = line.partition(": ")
        question, _, right = rest.rpartition(" = ")
        yield project, question, right.split()


@contextmanager
def copied() -> Iterator[dict[str, Path]]:
    """Copy the sources of the projects, because git ignores them in .venv. Yields their folders."""
    with tempfile.TemporaryDirectory(prefix="backstaff-bench-") as folder:
        for project in PROJECTS:
            spec = find_spec(project)
            if spec is None or not spec.submodule_search_locations:
                raise ValueError(f"{project} is not installed as a package")
            there = Path(spec.submodule_search_locations[0])
            for path in there.rglob("*.py"):
                copy = folder / Path(project) / path.relative_to(there)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        yield {project: Path(folder) / project for project in PROJECTS}


def ndcg(found: Sequence[str], right: Sequence[str]) -> float:
    """Return the normalized discounted cumulative gain of the first `WANTED` files."""
    gained = sum(1 / log2(rank + 2) for rank, path in enumerate(found[:WANTED]) if path in right)
    return gained / sum(1 / log2(rank + 2) for rank in range(min(WANTED, len(right))))


def ranks(folders: Mapping[str, Path]) -> Iterator[Rank]:
    """Ask each question."""
    servers = {name: Server(discover(), Settings(), str(folders[name])) for name in PROJECTS}
    for project, question, right in questions():
        found = _files(servers[project], "codebase_search", question, 3 * WANTED)
        rank = next((at for at, path in enumerate(found, 1) if path in right), 0)
        yield project, question, rank, ndcg(found, right)


def reciprocal_ranks(folders: Mapping[str, Path]) -> Iterator[float]:
    """Yield 1 / rank of the file that each query for a name means; 0 beyond `MOST`."""
    for folder in folders.values():
        server = Server(discover(), Settings(), str(folder))
        paths = sorted(str(one.relative_to(folder)) for one in folder.rglob("*.py"))
        for path in paths[::3]:
            chance = random.Random(path)  # noqa: S311 - no secret
            for _, query in queries(path, (folder / path).read_text("utf-8"), paths, chance):
                found = _files(server, "search_files", query, MOST)
                yield 1 / (found.index(path) + 1) if path in found else 0.0


def _files(server: Server, tool: str, query: str, most: int) -> list[str]:
    reply = server.call(f"workspace/{tool}", {"query": query, "max_results": most})
    if reply.data is None:
        raise ValueError(f"{query!r} is answered with {reply.text}")
    files: list[object] = list(reply.data["files"])  # type: ignore[call-overload]
    return [str(one["path"] if isinstance(one, dict) else one) for one in files]


def figures(asked: Sequence[Rank], found: Sequence[float]) -> dict[str, float]:
    """Return the figures of `ranks` and `reciprocal_ranks`, as `EXPECTED` names them."""
    names = [gain for _, question, _, gain in asked if " " not in question]
    words = [gain for _, question, _, gain in asked if " " in question]
    measured = (sum(one) / len(one) for one in (words, names, found))
    return dict(zip(EXPECTED, measured, strict=True))


def main() -> None:
    """Print the rank of each question and the figures."""
    with copied() as folders:
        asked, found = list(ranks(folders)), list(reciprocal_ranks(folders))
    for project, question, rank, gain in asked:
        print(f"{rank or '-':>3}  {gain:.2f}  {project:12}{question}")
    for name, figure in figures(asked, found).items():
        print(f"{name:30}{figure:.3f}  expected {EXPECTED[name]:.3f}")


if __name__ == "__main__":
    main()
