"""Whole processes: the time from a start to the first answer."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from dev.bench.client import Epc
from dev.bench.folders import Folders
from dev.bench.timing import Measures, in_turns

REPOSITORY = Path(__file__).parents[2]
SOURCES = REPOSITORY / "py_backend"
MAIN = SOURCES / "backstaff" / "__main__.py"
LIBRARIES = SOURCES / "libraries.zip"
PYTHON = (os.path.realpath(sys.executable), "-I", "-S")
"""The Python of a default installation: only the libraries beside the sources."""


def ours(root: Path) -> Epc:
    """Return a new server of ours for `root`."""
    return Epc([*PYTHON, str(MAIN), "serve", "--stdio", "--root", str(root)])


def measure(folders: Folders, turns: int) -> Measures:
    """Measure starts."""
    return {
        "start": in_turns(
            turns,
            {
                "ours": partial(_first_answer, folders.flat(0)),
                "python": partial(subprocess.run, [PYTHON[0], "-c", "pass"], check=True),
            },
        ),
    }


def _first_answer(root: Path) -> None:
    server = ours(root)
    server.tool("agent-q/list_directory", '(:path ".")')
    server.process.kill()
    server.__exit__(None, None, None)
