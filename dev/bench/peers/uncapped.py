"""Our server without the limits of the contracts, so that a whole tree can be measured.

`bench/paths` returns every path below the root. `bench/tree` is workspace/tree without limits of
depth and entries, and only its text. The walk, the text, the wire and the sandbox are the
product's.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "py_backend"))
sys.path.append(f"{sys.path[0]}/libraries.zip")

from backstaff import command_line, registry
from backstaff.budget import Budget
from backstaff.fs.entry import Kind, Named, entries_in
from backstaff.fs.walk import Walk
from backstaff.tool import Context, Result, ResultKind, Tool
from backstaff.tools.workspace import tree

MANY = 10**9


@dataclass(frozen=True, slots=True)
class Nothing:
    """No arguments."""


def folders_below(start: int, budget: Budget) -> list[tuple[str, list[Named]]]:
    """Return every directory below the open `start`, with the names and kinds in it."""
    found: list[tuple[str, list[Named]]] = []
    directory_kind = Kind.DIRECTORY

    def arrange(directory: int, path: str) -> list[Named]:
        entries = entries_in(directory, budget)
        found.append((path, entries))
        return [entry for entry in entries if entry[1] is directory_kind]

    with Walk(start, arrange, budget) as walk:
        for step in walk:
            walk.enter(step)
    return found


def run_paths(_: Nothing, context: Context) -> Result:
    """Return every path; the text has their number."""
    with context.root.resolve(".") as place:
        found = folders_below(place.listing(), context.budget)
    paths = [
        f"{path}/{name}" if path else name for path, entries in found for name, _ in sorted(entries)
    ]
    return Result(text=f"{len(paths)} paths", data={"paths": paths})


def run_tree(_: Nothing, context: Context) -> Result:
    """Return the text of the whole tree, without the data."""
    everything = tree.Arguments(
        path=".",
        entry_kind="all",
        max_depth=MANY,
        max_entries=MANY,
        include_hidden=False,
        exclude=(),
        left_out=tree.LeftOut.CONTRACT,
        count_closed=False,
    )
    return replace(tree.run(everything, context), data={}, labels=list)


def tool(name: str, run: Callable[[Nothing, Context], Result]) -> Tool[Nothing]:
    """Return the tool of this `name` without parameters."""
    return Tool(
        description=name,
        arguments=Nothing,
        run=run,
        result_kind=ResultKind.TEXT,
    )


def discover() -> registry.Registry:
    """The product's tools and these two."""
    ours = {"bench/paths": tool("paths", run_paths), "bench/tree": tool("tree", run_tree)}
    return registry.Registry({**registry.discover().by_id, **ours})


if __name__ == "__main__":
    vars(command_line)["discover"] = discover
    sys.exit(command_line.main())
