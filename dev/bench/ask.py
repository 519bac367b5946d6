"""How well questions and names find the right file in three small projects: NDCG@10 and MRR.

    python -m dev.bench.ask

The projects are packages that the tests need, as they are installed. The questions are our own
(`questions.txt`), written from the projects' documentation; the right files were checked by hand.
NDCG@10 of workspace/codebase_search is 1 if the right files come first. Each third file has queries
made from its path, with seeded random numbers. The mean reciprocal rank (MRR) of the file that such
a query means is that of workspace/search_files, and 1 if the file always comes first; fzf gets the
same queries. A test fails where a figure is lower than `EXPECTED` by more than `LARGEST_FALL`.
"""

import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from math import log2
from pathlib import Path

from backstaff.registry import discover
from backstaff.server import Server
from backstaff.settings import Settings

QUESTIONS = Path(__file__).parent / "questions.txt"
PROJECTS = ("_pytest", "markdown_it", "hypothesis")
WANTED = 10
MOST = 100
EXPECTED = {
    "NDCG@10 of questions": 0.914,
    "NDCG@10 of names asked for": 1.0,
    "MRR of file names": 0.935,
}
"""The figures with pytest 9.2, markdown-it-py 4.3 and hypothesis 6.170."""
LARGEST_FALL = 0.02
SHORTEST_STEM = 5
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_]+")
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


def reciprocal_ranks(folders: Mapping[str, Path]) -> Iterator[tuple[float, float]]:
    """Yield 1 / rank of the file that each query for a name means, ours and fzf's; 0 beyond `MOST`.

    Both search the same files. Without fzf its figure is 0.
    """
    has_fzf = shutil.which("fzf") is not None
    for folder in folders.values():
        server = Server(discover(), Settings(), str(folder))
        paths = sorted(str(one.relative_to(folder)) for one in folder.rglob("*.py"))
        for path in paths[::3]:
            for query in queries(path, paths, random.Random(path)):  # noqa: S311 - no secret
                ours = _files(server, "search_files", query, MOST)
                theirs = fzf(paths, query) if has_fzf else []
                yield _reciprocal(ours, path), _reciprocal(theirs, path)


def _reciprocal(found: Sequence[str], path: str) -> float:
    return 1 / (found.index(path) + 1) if path in found else 0.0


def fzf(paths: Sequence[str], query: str) -> list[str]:
    """Return the best `MOST` of `paths` by fzf."""
    command = ("fzf", "--scheme=path", "--filter", query)
    # Its status is 1 if nothing matches.
    answer = subprocess.run(  # noqa: S603
        command, input="\n".join(paths), capture_output=True, text=True, check=False
    )
    return answer.stdout.splitlines()[:MOST]


def _files(server: Server, tool: str, query: str, most: int) -> list[str]:
    reply = server.call(f"workspace/{tool}", {"query": query, "max_results": most})
    if reply.data is None:
        raise ValueError(f"{query!r} is answered with {reply.text}")
    files: list[object] = list(reply.data["files"])  # type: ignore[call-overload]
    return [str(one["path"] if isinstance(one, dict) else one) for one in files]


def figures(asked: Sequence[Rank], found: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return the figures of `ranks` and `reciprocal_ranks`, as `EXPECTED` names them."""
    names = [gain for _, question, _, gain in asked if " " not in question]
    words = [gain for _, question, _, gain in asked if " " in question]
    measured = (sum(one) / len(one) for one in (words, names, [ours for ours, _ in found]))
    return dict(zip(EXPECTED, measured, strict=True))


def queries(path: str, paths: Sequence[str], chance: random.Random) -> Iterator[str]:
    """Yield queries for `path` among `paths`, as agents and people type them."""
    parent, _, name = path.rpartition("/")
    stem = name.lstrip(".").partition(".")[0] or name
    folder = parent.rpartition("/")[2]
    words = [word.lower() for word in _WORDS.findall(stem)]
    letters = "".join(words)
    yield name
    yield stem.lower()
    if folder:
        yield f"{folder}/{name}"
        others = sorted({one.rpartition("/")[0].rpartition("/")[2] for one in paths} - {"", folder})
        if others:
            yield f"{chance.choice(others)}/{name}"
        yield folder[:3].lower() + stem[:5].lower()
        start = chance.randrange(max(1, len(letters) - 3))
        yield f"{stem.lower()[start:][:5].strip('-_.') or letters} {folder[:4].lower()}"
    if len(words) >= 3:  # noqa: PLR2004 - two letters are no query
        yield "".join(word[0] for word in words)
    elif len(words) == 2:  # noqa: PLR2004
        yield words[0][:2] + words[1][:2]
    if len(letters) >= SHORTEST_STEM:
        gone = chance.sample(range(1, len(letters)), 1 + len(letters) // 10)
        yield "".join(c for n, c in enumerate(letters) if n not in gone)
        yield _misspelt(stem.lower(), chance)


def _misspelt(stem: str, chance: random.Random) -> str:
    """Return `stem` with one edit: a letter missing, added or changed, or two letters swapped."""
    while True:
        at, letter = chance.randrange(1, len(stem) - 1), chance.choice("abcdefghijklmnopqrstuvwxyz")
        edited = chance.choice(
            (
                stem[:at] + stem[at + 1 :],
                stem[:at] + letter + stem[at:],
                stem[:at] + letter + stem[at + 1 :],
                stem[:at] + stem[at + 1] + stem[at] + stem[at + 2 :],
            )
        )
        if edited != stem:
            return edited


def main() -> None:
    """Print the rank of each question and the figures."""
    with copied() as folders:
        asked, found = list(ranks(folders)), list(reciprocal_ranks(folders))
    for project, question, rank, gain in asked:
        print(f"{rank or '-':>3}  {gain:.2f}  {project:12}{question}")
    for name, figure in figures(asked, found).items():
        print(f"{name:30}{figure:.3f}  expected {EXPECTED[name]:.3f}")
    print(f"{'the same by fzf':30}{sum(theirs for _, theirs in found) / len(found):.3f}")


if __name__ == "__main__":
    main()
