"""Our server with what the contracts bound left unbounded, so that a whole tree can be measured.

`bench/paths` returns each path in a tree with its kind; `bench/tree` the text of workspace/tree
with neither depth nor entries limited. Walk, text, wire and sandbox are the product's.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "py_backend"))

from backstaff.__main__ import main
from backstaff.fs.budget import Budget
from backstaff.fs.entry import Kind, Named, entries_in
from backstaff.fs.walk import Walk
from backstaff.render.values import Rows
from backstaff.tool import Context, Result, ResultKind, Tool, NoSettings
from backstaff.tools.workspace import tree

MANY = 10**9


def run_paths(_: NoSettings, context: Context) -> Result:
    """Every path below the root, and what it is."""
    paths, kinds = walked(context.root.resolve("."), context.budget)
    return Result(text=f"{len(paths)} paths", data={"paths": paths, "kinds": ""})
