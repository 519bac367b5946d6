"""Compare workspace/regexp_search with `git grep -P` in the clones on the command line.

Both search the files that git tracks or does not ignore, except binary and large files and names
that the contract excludes. With `--untracked`, git leaves out tracked files that a rule ignores, so
it is asked about tracked files separately. In a file without line feeds, a carriage return ends a
line for the contract and not for git, so such files are left out. `(*UCP)` makes git treat letters
beyond ASCII as letters. `-a` ignores attributes that call a text binary. Patterns are of the common
dialect, made of words in the clone. Each is searched in each mode: lines, files, and the number of
matches in each file. Prints each difference, and their number for each clone.
"""

import os
import random
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "py_backend"))

from backstaff.contents.regexp_worker import judged
from backstaff.fs.contents import MAX_FILE_BYTES
from backstaff.registry import discover
from backstaff.server import Server
from backstaff.settings import Settings
from backstaff.tools.workspace._texts import EXCLUDED

PATTERNS = 200
FORMS = (
    *("{a}", r"\b{a}\b", "{a}|{b}", r"^\s*{a}", r"{a}\s+{b}", r"{a}[a-z_]*\(", r"[A-Z]\w+{a}"),
    *("{a}.*{b}", r"(?:{a}|{b})\.\w+", r"{a}s?\b", r"(\w)\1{a}", r"{a}(?=\()", r"(?<!\.){a}\w"),
    *(r"\d+.*{a}", "{a}$", "^{a}"),
)
Found = dict[str, object]
"""The results, by mode."""


def main(clones: list[str]) -> int:
    """Compare in each of `clones`; return the number of differences."""
    server = Server(discover(), Settings(), "/")
    chance = random.Random(1)  # noqa: S311 - no secret
    different = 0
    for clone in map(os.path.abspath, clones):
        words, before = words_of(clone), different
        for number in range(PATTERNS):
            a, b = chance.choice(words), chance.choice(words)
            pattern = chance.choice(FORMS).format(a=a, b=b)
            flags = "" if number % 5 else "i"
            ours, theirs = by_tool(server, clone, pattern, flags), by_git(clone, pattern, flags)
            for mode, found in theirs.items():
                if ours[mode] != found:
                    different += 1
                    print(clone, repr(pattern), flags, mode, ours[mode], found)
        print(f"{clone}: {PATTERNS} patterns in each mode, {different - before} differences")
    return different


def words_of(clone: str) -> list[str]:
    """Return words that occur in `clone`, in files that `git grep` searches."""
    options = ("--untracked", "-h", "-o", "-I", "-w", "-E", "[A-Za-z_]{3,12}")
    return sorted(set(git(clone, *options).split())) or ["the"]


def git(clone: str, *words: str) -> str:
    """Return the output of `git grep`."""
    command = ("git", "-C", clone, "-c", "core.quotePath=false", "grep", *words)
    done = subprocess.run(command, capture_output=True, check=False, text=True, errors="replace")  # noqa: S603
    return done.stdout


def by_git(clone: str, pattern: str, flags: str) -> Found:
    """Return the results of `git grep -P` in files that the tool searches. No match is empty."""
    case = ("-i",) if flags else ()
    lines: dict[str, list[tuple[str, int]]] = {}
    for which in ((), ("--untracked",)):
        found: dict[str, list[tuple[str, int]]] = {}
        wanted = git(clone, *which, "-P", "-n", "-o", "-a", "-z", *case, "-e", f"(*UCP){pattern}")
        for line in wanted.split("\n"):
            name, *parts = line.split("\0")
            if len(parts) > 1 and parts[0].isdigit() and searched(clone, name):
                found.setdefault(name, []).append((name, int(parts[0])))
        lines |= found
    counts = Counter({name: len(found) for name, found in lines.items()})
    every = {place for found in lines.values() for place in found}
    return {"content": every, "files": set(counts), "count": counts}


@cache
def searched(clone: str, name: str) -> bool:
    """Return True if the tool searches the file `name`."""
    path = Path(clone, name)
    if path.is_symlink() or EXCLUDED & set(name.split("/")):
        return False
    data = path.read_bytes()
    is_old = b"\r" in data and b"\n" not in data
    return len(data) <= MAX_FILE_BYTES and not is_old and isinstance(judged(data), bytes)


def by_tool(server: Server, clone: str, pattern: str, flags: str) -> Found:
    """Return the tool's results, of all pages."""
    lines = pages(server, clone, {"pattern": pattern, "flags": flags})
    files = pages(server, clone, {"pattern": pattern, "flags": flags, "output": "files"})
    counts = pages(server, clone, {"pattern": pattern, "flags": flags, "output": "count"})
    return {
        "content": {
            (item["path"], item["line"]) for item in lines if searched(clone, item["path"])
        },
        "files": {item["path"] for item in files if searched(clone, item["path"])},
        "count": Counter(
            {item["path"]: item["count"] for item in counts if searched(clone, item["path"])}
        ),
    }


def pages(server: Server, clone: str, asked: dict[str, object]) -> list[Any]:
    """Return the items of all pages."""
    found: list[Any] = []
    offset: Any = 0
    while offset is not None:
        page = asked | {"offset": offset, "max_results": 500, "timeout_ms": 30_000}
        reply = server.call("workspace/regexp_search", page, {"root": clone, "deadline_ms": 60_000})
        if reply.data is None:
            raise SystemExit(f"{asked}: {reply.text}")
        found += reply.data["items"]  # type: ignore[arg-type]
        offset = reply.data["next_offset"]
    return found


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
