"""The cost of workspace/git_status_summary and workspace/git_diff beside git in one work tree.

The tree is that of the search in files, all of them in one commit, and `CHANGED` files have changed
since. Both have compared the tree before, so git's index has the status of each file, and the
server has read the index. Git starts for each comparison; the server keeps running. Before anything
is timed, both must give the same answer.
"""

import subprocess
import tempfile
from functools import partial
from pathlib import Path

from backstaff.wire.frame import MAX_FRAME_BYTES
from dev.bench import content, search, servers
from dev.bench.client import Epc
from dev.bench.timing import Measures, in_turns

CHANGED = 100
CONTEXT = f"(:deadline-ms 60000 :max-output-bytes {MAX_FRAME_BYTES})"
STATUS = ("-c", "core.quotePath=false", "status", "--porcelain=v1", "--branch")
ME = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")


def measure(files: int, turns: int) -> Measures:
    """Measure the status and the diff of a work tree of `files` files."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        search.make_tree(root, files)
        content.fill(root)
        git(root, "init", "-q", "-b", "main")
        git(root, "add", "-A")
        git(root, *ME, "commit", "-q", "-m", "one")
        for path in sorted(root.rglob("*_*.*"))[:: max(1, files // CHANGED)][:CHANGED]:
            lines = path.read_text("utf-8").split("\n")
            path.write_text("\n".join([*lines[:9], "new", *lines[9:40], *lines[42:]]), "utf-8")
        told = git(root, *STATUS)
        with servers.ours(root) as server:
            if told.count(b"\n M ") != ours(server, "git_status_summary").count(b"\n M "):
                raise ValueError("the status is not git's")
            diffs = git(root, "diff", "HEAD"), ours(server, "git_diff")
            if diffs[0].count(b"\ndiff --git ") + 1 != diffs[1].count(b":status :modified"):
                raise ValueError("the files of the diff are not git's")
            ways = {
                "status": ("git_status_summary", STATUS),
                "diff": ("git_diff", ("diff", "HEAD")),
            }
            return {
                f"changes/{name}": in_turns(
                    turns, {"ours": partial(ours, server, tool), "git": partial(git, root, *words)}
                )
                for name, (tool, words) in ways.items()
            }


def git(root: Path, *words: str) -> bytes:
    """The output of git in `root`."""
    command = ("git", "--no-optional-locks", "-C", str(root), *words)
    return subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603


def ours(server: Epc, tool: str) -> bytes:
    """The answer of the workspace's `tool`."""
    answer = server.call(f"workspace/{tool}", f"(() {CONTEXT})")
    if b" (:ok t " not in answer[:40]:
        raise RuntimeError(f"the call is answered with {answer[:200]!r}")
    return answer
