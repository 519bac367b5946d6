"""Compare workspace/regexp_search with `git grep -P` in the clones on the command line.

Both search the files that git tracks or does not ignore, but for binary and large ones and names
that the contract excludes. A carriage return ends a line for the contract, and not for git: files
where one stands within a line are left out. Patterns are of the common dialect, made of words in
the clone. Prints each difference, and how many there are.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "py_backend"))

from backstaff.fs.contents import Unread, judged
from backstaff.registry import discover
from backstaff.server import Server
from backstaff.settings import Settings
from backstaff.tools.workspace.regexp_search import EXCLUDED, MAX_FILE_BYTES

PATTERNS = 200
FORMS = (
    *("{a}", r"\b{a}\b", "{a}|{b}", r"^\s*{a}", r"{a}\s+{b}", r"{a}[a-z_]*\(", r"[A-Z]\w+{a}"),
    *("{a}.*{b}", r"(?:{a}|{b})\.\w+", r"{a}s?\b", r"(\w)\1{a}", r"{a}(?=\()", r"(?<!\.){a}\w"),
    *(r"\d+.*{a}", "{a}$", "^{a}"),
)
Lines = set[tuple[str, int]]


def main(clones: list[str]) -> int:
    """Compare in each of CLONES; return the number of differences."""
    server = Server(discover(), Settings(), "/")
    chance = random.Random(1)  # noqa: S311 - no secret
    different = tried = 0
    for clone in map(os.path.abspath, clones):
        words = words_of(clone)
        for number in range(PATTERNS):
            a, b = chance.choice(words), chance.choice(words)
            pattern = chance.choice(FORMS).format(a=a, b=b)
            flags = "" if number % 5 else "i"
            ours, theirs = by_tool(server, clone, pattern, flags), by_git(clone, pattern, flags)
            tried += 1
            if ours != theirs:
                different += 1
                print(clone, repr(pattern), flags, sorted(ours ^ theirs)[:5])
    print(f"{tried} patterns, {different} differences")
    return different


def words_of(clone: str) -> list[str]:
    """Words that occur in CLONE, where `git grep` sees them."""
    options = ("-h", "-o", "-I", "-w", "-E", "[A-Za-z_]{3,12}")
    return sorted(set(git(clone, *options).split())) or ["the"]


def git(clone: str, *words: str) -> str:
    """What `git grep` prints."""
    command = ("git", "-C", clone, "-c", "core.quotePath=false", "grep", "--untracked", *words)
    done = subprocess.run(command, capture_output=True, check=False, text=True, errors="replace")  # noqa: S603
    return done.stdout


def by_git(clone: str, pattern: str, flags: str) -> Lines:
    """The lines that `git grep -P` finds in files that the tool searches."""
    found: Lines = set()
    case = ("-i",) if flags else ()
    for line in git(clone, "-P", "-n", "-I", "-z", *case, "-e", pattern).split("\n"):
        parts = line.split("\0")
        if len(parts) >= 3 and parts[1].isdigit() and searched(clone, parts[0]):  # noqa: PLR2004
            found.add((parts[0], int(parts[1])))
    return found


def searched(clone: str, name: str) -> bool:
    """Whether the tool searches the file NAME."""
    path = Path(clone, name)
    if path.is_symlink() or EXCLUDED & set(name.split("/")):
        return False
    data = path.read_bytes()
    alone = b"\r" in data.replace(b"\r\n", b"")
    return len(data) <= MAX_FILE_BYTES and not alone and not isinstance(judged(data), Unread)


def by_tool(server: Server, clone: str, pattern: str, flags: str) -> Lines:
    """The lines that the tool finds, on all pages."""
    found: Lines = set()
    offset: int | None = 0
    while offset is not None:
        asked = {"pattern": pattern, "flags": flags, "offset": offset, "max_results": 500}
        context = {"root": clone, "deadline_ms": 60_000}
        reply = server.call("workspace/regexp_search", asked | {"timeout_ms": 30_000}, context)
        if reply.data is None:
            raise SystemExit(f"{pattern}: {reply.text}")
        items, offset = reply.data["items"], reply.data["next_offset"]  # type: ignore[assignment]
        found.update((item["path"], item["line"]) for item in items)  # type: ignore[attr-defined]
    return {(name, number) for name, number in found if searched(clone, name)}


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
