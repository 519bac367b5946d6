"""The time of workspace/regexp_search and of ripgrep, if both read all files of a tree.

The tree is that of the search for names, with lines of words in each file, some of them in UTF-8.
One file in 1,000 has a needle, so no answer is full before the last file is read. Before anything
is timed, `require_same_work` checks this: each way counts the files that it searched, and all found
the same matches. Only in `first-100` both stop early: ripgrep after any 100 lines, and the tool
after the first 100 by path. In `question`, ripgrep counts the lines with one of three words, and
codebase_search weighs all files for these.

Both have searched the tree before, so the system has the files in memory if it can. Ripgrep uses
all processors, does not sort, and starts a new process each time. The server runs already.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

import sexpdata

from backstaff.wire.frame import MAX_FRAME_BYTES
from dev.bench import search, servers
from dev.bench.client import Epc
from dev.bench.timing import Measures, in_turns

LINES_A_FILE = 60
FILES_A_NEEDLE = 1_000
SIZES = (3_000, 125_000)
PATTERNS = {
    "no-match": "no_such_name",
    "literal": "needle_[0-9]+ =",
    "alternation": "needle_[0-9]+|open_socket|close_socket|flush_cache|drop_table",
    "ignore-case": "(?i)window_needle",
    "class": r"[A-Z]\w+_needle\b",
    "no-literal": r"[a-z]+[-_]\d\d+",
}
WORDS = ("needle", "window", "socket")
MOST = 500
"""Maximum number of files that one answer names; no pattern matches in more."""
LIMIT_SECONDS = 30
"""Maximum time that the tool allows a search."""
RG = ("rg", "--no-config", "--hidden")
Read = tuple[int, int, int]
"""Numbers of files that were read, of files that match, and of matches."""


def measure(turns: int, sizes: tuple[int, ...] = SIZES) -> Measures:
    """Search trees of these `sizes` with the tool, and with ripgrep if it is installed.

    A search that does not end within `LIMIT_SECONDS` takes `inf` seconds.
    """
    measures: Measures = {}
    for number, files in enumerate(sizes):
        with tempfile.TemporaryDirectory() as folder:
            search.make_tree(Path(folder), files)
            fill(Path(folder))
            for name, times in _measured(Path(folder), files, turns):
                measures[f"content/{number}/{name}"] = times
    return measures


def _measured(root: Path, files: int, turns: int) -> Iterator[tuple[str, dict[str, list[float]]]]:
    has_rg = shutil.which("rg")
    with servers.ours(root) as server:
        for name, pattern in PATTERNS.items():
            read = {"ours": partial(ours, server, pattern)}
            ways: dict[str, Callable[[], object]] = {**read}
            if has_rg:
                read["rg"] = partial(read_by_rg, root, pattern)
                ways["rg"] = partial(rg, root, pattern)
            require_same_work(files, read)
            yield name, in_turns(turns, ways)
        ways = {"ours": partial(first_of_ours, server, "window")}
        if has_rg:
            ways["rg"] = partial(first_of_rg, root, "window")
        yield "first-100", in_turns(turns, ways)
        ways = {"ours": partial(question_of_ours, server)}
        if has_rg:
            ways["rg"] = partial(rg, root, "|".join(WORDS), "-i")
        yield "question", in_turns(turns, ways)


def require_same_work(files: int, ways: Mapping[str, Callable[[], Read]]) -> None:
    """Check that all `ways` read the same. Raises `ValueError`.

    They differ, for example, if one has read 2,999 of 3,000 `files`. A way that takes too long is
    passed over.
    """
    read = {}
    for name, way in ways.items():
        with suppress(TimeoutError):
            read[name] = way()
    if len(set(read.values())) > 1 or any(count != files for count, *_ in read.values()):
        raise ValueError(f"not the same work in {files} files: {read}")


def fill(folder: Path) -> None:
    """Write lines of words into each file."""
    chance = Random(2)  # noqa: S311 - no secret
    vocabulary = [f"{a}_{b}" for a in search.WORDS for b in search.WORDS] + ["naïve", "“so”", "="]
    texts = [
        "\n".join(" ".join(chance.choices(vocabulary, k=6)) for _ in range(LINES_A_FILE))
        for _ in range(40)
    ]
    for number, path in enumerate(sorted(folder.rglob("*.*")), 10):
        is_chosen = number % FILES_A_NEEDLE == 10  # noqa: PLR2004 - the first number
        needle = f"needle_{number} = Window_needle\n" if is_chosen else "\n"
        path.write_text(needle + texts[number % len(texts)], "utf-8")


def ours(server: Epc, pattern: str) -> Read:
    """Make the tool count the matches of each file. Raises `TimeoutError`."""
    answer = _asked(server, pattern, "count", MOST)
    items = re.findall(rb":count (\d+)", answer)
    scanned = re.search(rb":scanned-files (\d+)", answer)
    if scanned is None or b":truncated t" in answer:
        raise ValueError(f"this is not all: {answer[:200]!r}")
    return int(scanned[1]), len(items), sum(map(int, items))


def first_of_ours(server: Epc, pattern: str, lines: int = 100) -> bytes:
    """Make the tool find `lines` lines."""
    answer = _asked(server, pattern, "content", lines)
    if answer.count(b":line ") != lines:
        raise ValueError(f"few lines match {pattern}")
    return answer


def question_of_ours(server: Epc) -> bytes:
    """Make the tool find the best files for a question."""
    arguments = f'(:query "how are {" ".join(WORDS)} handled")'
    answer = server.call("workspace/codebase_search", f"({arguments} (:deadline-ms 30000))")
    if b" (:ok t " not in answer[:40]:
        raise RuntimeError(f"the question is answered with {answer[:200]!r}")
    return answer


def _asked(server: Epc, pattern: str, output: str, most: int) -> bytes:
    arguments = (
        f'(:pattern {sexpdata.dumps(pattern)} :output "{output}" :max_results {most}'
        f" :timeout_ms {LIMIT_SECONDS * 1000})"
    )
    context = f"(:deadline-ms {LIMIT_SECONDS * 1000} :max-output-bytes {MAX_FRAME_BYTES})"
    answer = server.call("workspace/regexp_search", f"({arguments} {context})")
    if b':code "TIMEOUT"' in answer:
        raise TimeoutError
    if b" (:ok t " not in answer[:40]:
        raise RuntimeError(f"the search is answered with {answer[:200]!r}")
    return answer


def rg(root: Path, pattern: str, *options: str) -> str:
    """Make ripgrep do the same, with additional `options`."""
    command = (*RG, "--count-matches", *options, "-e", pattern, str(root))
    # The status is 1 if nothing matches.
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603


def read_by_rg(root: Path, pattern: str) -> Read:
    """Return the counts of a ripgrep run. Counting costs time, which is not measured."""
    told = rg(root, pattern, "--stats")
    counts = re.findall(r":(\d+)$", told, re.MULTILINE)
    searched = re.search(r"^(\d+) files searched$", told, re.MULTILINE)
    return int(searched[1]) if searched else 0, len(counts), sum(map(int, counts))


def first_of_rg(root: Path, pattern: str, lines: int = 100) -> None:
    """Wait for `lines` lines of ripgrep."""
    with subprocess.Popen((*RG, "-n", "-e", pattern, root), stdout=subprocess.PIPE) as process:  # noqa: S603
        if process.stdout is None or len(list(islice(process.stdout, lines))) < lines:
            raise ValueError(f"few lines match {pattern}")
        process.kill()
