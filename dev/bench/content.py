"""What workspace/regexp_search costs beside ripgrep in the same tree.

The tree is that of the search for names, with lines of words in each file, some of them in UTF-8.
Both have searched there before, so what the system can keep of the files is in its memory. All
ways but `first-100` count the matches of each file: both then read all files and print little.
Ripgrep uses all processors, and does not sort. For the first hundred, it is waited for 100 lines.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

from backstaff.registry import discover
from backstaff.server import Server, enable_garbage_collection
from backstaff.settings import Settings
from dev.bench import search
from dev.bench.timing import Measures, in_turns

LINES_A_FILE = 60
SIZES = (3_000, 125_000)
PATTERNS = {
    "literal": "needle_[0-9]+ =",
    "class": r"[A-Z]\w+_needle\b",
    "alternation": "needle_6|window_needle_2",
    "no-literal": r"\b[a-z]+[-_]\d\d+\b",
}
MOST = 500
RG = ("rg", "--no-config", "--hidden")


def measure(turns: int, sizes: tuple[int, ...] = SIZES) -> Measures:
    """Searches in trees of these SIZES; ripgrep's too, where it is installed."""
    enable_garbage_collection()  # as in the server
    measures: Measures = {}
    for number, files in enumerate(sizes):
        with tempfile.TemporaryDirectory() as folder:
            search.make_tree(Path(folder), files)
            _fill(Path(folder))
            for name, times in _measured(folder, turns):
                measures[f"content/{number}/{name}"] = times
    return measures


def _measured(folder: str, turns: int) -> Iterator[tuple[str, dict[str, list[float]]]]:
    server = Server(discover(), Settings(), folder)
    has_rg = shutil.which("rg") is not None
    for name, pattern in PATTERNS.items():
        ways = {"ours": partial(ours, server, pattern, "count", MOST)}
        if has_rg:
            ways["rg"] = partial(rg, folder, pattern)
        yield name, in_turns(turns, ways)
    ways = {"ours": partial(ours, server, "window", "content", 100)}
    if has_rg:
        ways["rg"] = partial(first_of_rg, folder, "window", 100)
    yield "first-100", in_turns(turns, ways)


def _fill(folder: Path) -> None:
    """Write lines of words into each file; in one of 60 stands a needle."""
    chance = Random(2)  # noqa: S311 - no secret
    vocabulary = [f"{a}_{b}" for a in search.WORDS for b in search.WORDS] + ["naïve", "“so”", "="]
    texts = [
        "\n".join(" ".join(chance.choices(vocabulary, k=6)) for _ in range(LINES_A_FILE))
        for _ in range(40)
    ]
    for number, path in enumerate(sorted(folder.rglob("*.*"))):
        needle = f"needle_{number} = Window_needle\n" if not number % 60 else "\n"
        path.write_text(needle + texts[number % len(texts)], "utf-8")


def ours(server: Server, pattern: str, output: str, most: int) -> int:
    """Call the tool; how many matches or files there are, up to MOST."""
    arguments = {"pattern": pattern, "output": output, "max_results": most, "timeout_ms": 30_000}
    reply = server.call("workspace/regexp_search", arguments, {"deadline_ms": 30_000})
    items = (reply.data or {}).get("items")
    if not isinstance(items, list) or not items:
        raise ValueError(reply.text)
    return len(items)


def rg(root: str, pattern: str) -> int:
    """Let ripgrep do that."""
    command = (*RG, "--count", "-e", pattern, root)
    return len(subprocess.run(command, capture_output=True, check=True).stdout)  # noqa: S603


def first_of_rg(root: str, pattern: str, lines: int) -> int:
    """Wait for so many LINES of ripgrep."""
    with subprocess.Popen((*RG, "-n", "-e", pattern, root), stdout=subprocess.PIPE) as process:  # noqa: S603
        for _ in range(lines):
            if process.stdout is None or not process.stdout.readline():
                raise ValueError(f"few lines match {pattern}")
        process.kill()
    return lines
