"""The cost of workspace/git_status_summary and workspace/git_diff beside git in one work tree.

The tree is that of the search in files, all of them in one commit, and `CHANGED` files have changed
since. Git's index has the status of each file. Git starts for each comparison; the server keeps
running, except where its first call is timed. Other rows time the first comparison after `git
add` of a file and after a commit. Before anything is timed, both must give the same answer.
"""

import subprocess
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from backstaff.wire.frame import MAX_FRAME_BYTES
from dev.bench import content, search, servers
from dev.bench.client import Epc
from dev.bench.timing import Measures, in_turns, seconds

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
            found = {
                f"changes/{name}": in_turns(
                    turns, {"ours": partial(ours, server, tool), "git": partial(git, root, *words)}
                )
                for name, (tool, words) in ways.items()
            }
            for when in ("first", "after add", "after commit"):
                times: dict[str, list[float]] = {"ours": [], "git": []}
                found[f"changes/status {when}"] = times
                for turn in range(turns):
                    if when != "first":
                        (root / "new.txt").write_text(f"{when} {turn}\n", "utf-8")
                        git(root, "add", "new.txt")
                    if when == "after commit":
                        git(root, *ME, "commit", "-q", "-m", "more", "new.txt")
                    times["git"].append(seconds(partial(git, root, *STATUS)))
                    with servers.ours(root) if when == "first" else nullcontext(server) as asked:
                        ask = partial(ours, asked, "git_status_summary")
                        times["ours"].append(seconds(ask))
            return found


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
