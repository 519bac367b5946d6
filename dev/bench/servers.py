"""Whole processes: the time from a start to the first answer, and the memory of an answer."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from backstaff.wire.frame import MAX_FRAME_BYTES
from dev.bench.client import Epc
from dev.bench.folders import Folders
from dev.bench.timing import Measures, in_turns

REPOSITORY = Path(__file__).parents[2]
SOURCES = REPOSITORY / "py_backend"
MAIN = SOURCES / "backstaff" / "__main__.py"
LIBRARIES = SOURCES / "libraries.zip"
PYTHON = (os.path.realpath(sys.executable), "-I", "-S")
"""The Python of a default installation: only the libraries beside the sources."""
WHOLE = f"(:max-output-bytes {MAX_FRAME_BYTES} :deadline-ms 120000)"
FIRST = '(:path "." :max_entries 200)'
BOUNDED = '(:path "." :entry_kind "all" :max_depth 12 :max_entries 1000)'


def ours(root: Path) -> Epc:
    """Return a new server of ours for `root`."""
    return Epc([*PYTHON, str(MAIN), "serve", "--stdio", "--root", str(root)])


def measure(folders: Folders, turns: int) -> Measures:
    """Measure starts and memory."""
    return {
        "start": in_turns(
            turns,
            {
                "ours": partial(_first_answer, folders.flat(0)),
                "python": partial(subprocess.run, [PYTHON[0], "-c", "pass"], check=True),
            },
        ),
        "memory": {
            "bounded-forest": [_growth(folders.forest, "workspace/tree", BOUNDED)],
            "bounded-tree": [_growth(folders.tree, "workspace/tree", BOUNDED)],
            "first": [_growth(folders.flat(3), "forge/list_directory", FIRST)],
            "listing": [_growth(folders.flat(3), "agent-q/list_directory", '(:path ".")')],
        },
    }


def _first_answer(root: Path) -> None:
    server = ours(root)
    server.tool("agent-q/list_directory", '(:path ".")')
    server.process.kill()
    server.__exit__(None, None, None)


def _growth(root: Path, tool: str, arguments: str) -> float:
    """Return by how many bytes one call raises the maximum memory of a fresh server."""
    with ours(root) as server:
        server.tool("agent-q/get_file_info", '(:path ".")')
        before = server.peak()
        server.tool(tool, arguments, WHOLE)
        return float(max(server.peak() - before, 1))
