"""Parts of all attacks: a project with a secret beside it, all tools, and a check for leaks.

Everything outside carries the secret: in names, in contents, in sizes and in times. The tools come
from the registry, so a new tool is attacked without any change here.
"""

import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from backstaff.arguments import Parameter, ParameterType
from backstaff.registry import discover
from backstaff.server import Reply
from backstaff.tool import Tool
from backstaff.wire.lisp import PLAIN, write
from tests.py.fs.test_races import exchange, meanwhile
from tests.py.servers import FITTING, fitting
from tests.py.trees import plant

TOOLS: Mapping[str, Tool[Any]] = discover().by_id
SECRET = "top-secret"  # noqa: S105  # a made-up secret
SECRET_SIZE = 7_654_321
SECRET_TIME = 1_111_111_111
"""2005-03-18 UTC. No other file has this time or this size."""
MARKS = tuple(
    mark.encode()
    for mark in (SECRET, str(SECRET_SIZE), "7.3 MB", str(SECRET_TIME), "2005-03-18", "2005-03-17")
)
BUG = "failed unexpectedly"
"""The code of a reply after a bug."""
PATHS = ("d", "d/sub", "d/same", ".", "d/sub/../same", "d/./", "l", "d/sub/../sub")
PATH_NAMES = ("path", "cwd", "directory", "folder", "file", "root", "root_path", "start")


def with_a_secret(folder: Path) -> Path:
    """A root with links to a folder outside with the same entries, so each step finds a path."""
    outside = plant(
        folder / "outside",
        {
            f"{SECRET}.md": f"# {SECRET}",
            "same": SECRET,
            "big": {"bytes": SECRET_SIZE},
            f"sub/{SECRET}": SECRET,
            "sub/same": SECRET,
            "commands/go.md": f"---\ndescription: {SECRET}\n---\ngo {SECRET}",
            f"commands/{SECRET}.md": f"go {SECRET}",
            ".claude/commands/go.md": f"---\ndescription: {SECRET}\n---\ngo {SECRET}",
            f".claude/commands/{SECRET}.md": f"go {SECRET}",
        },
    )
    for path in (outside, *outside.rglob("*")):
        os.utime(path, (SECRET_TIME, SECRET_TIME))
    return plant(
        folder / "R",
        {
            "d/same": "x",
            "d/sub/same": "x",
            "d/big": "x",
            "d/to-big": {"link": str(outside / "big")},
            "d/to-sub": {"link": str(outside / "sub")},
            "l": {"link": str(outside)},
            ".claude/commands/go.md": "---\ndescription: fine\n---\ngo on",
            ".claude/commands/other.md": "go away",
            ".claude/commands/to-go.md": {"link": str(outside / "commands" / "go.md")},
            ".claude/to-commands": {"link": str(outside / "commands")},
            "to-claude": {"link": str(outside / ".claude")},
        },
    )


SWAPS: Mapping[str, Callable[[Path], None]] = {
    "a directory and a link": lambda root: exchange(root / "d", root / "l"),
    "a directory below and a link": lambda root: exchange(root / "d/sub", root / "d/to-sub"),
    "a file and a link": lambda root: exchange(root / "d/big", root / "d/to-big"),
    "a file and a directory": lambda root: exchange(root / "d/same", root / "d/sub"),
    "the folder of commands and a link": lambda root: exchange(
        root / ".claude/commands", root / ".claude/to-commands"
    ),
    "the folder above it and a link": lambda root: exchange(root / ".claude", root / "to-claude"),
    "a command and a link": lambda root: exchange(
        root / ".claude/commands/go.md", root / ".claude/commands/to-go.md"
    ),
    "a directory and the outside": lambda root: exchange(
        root / "d/sub", root.parent / "outside" / "empty"
    ),
}


@contextmanager
def swapping(swap: Callable[[Path], None], root: Path) -> Iterator[Callable[[], int]]:
    """Let another process repeat `swap` in `root` as fast as it can; yields the count so far."""
    (root.parent / "outside" / "empty").mkdir(exist_ok=True)
    # A cast view writes a number at once. `struct.pack_into` writes zeros first, which a reader can
    # see.
    with mmap.mmap(-1, 8) as shared, memoryview(shared) as plain, plain.cast("Q") as count:

        def step() -> None:
            swap(root)
            count[0] += 1

        with meanwhile(step):
            yield lambda: count[0]


def leak(reply: Reply) -> str:
    """Return the parts of `reply` that show the secret: text, data, JSON, error and warnings."""
    said = write(replace(reply, elapsed_ms=0).fields(), PLAIN)
    return ", ".join(mark.decode() for mark in MARKS if mark in said)


def takes_path(tool: Tool[Any]) -> str:
    """Return the name of the parameter of `tool` that is a path; empty if it has none."""
    return next((p.name for p in tool.parameters if p.name in PATH_NAMES), "")


def random_arguments(
    tool: Tool[Any], random: Random, paths: Sequence[str] = PATHS
) -> dict[str, object]:
    """Arguments that let `tool` do everything it can."""
    return {
        p.name: _random_value(p, random, paths, FITTING | fitting(tool))
        for p in tool.parameters
        if p.required or random.random() < 0.6
    }


def _random_value(
    parameter: Parameter, random: Random, paths: Sequence[str], known: Mapping[str, object]
) -> object:
    low, high = parameter.limits or (parameter.minimum or 0, parameter.maximum or 200)
    match parameter.type:
        case ParameterType.BOOLEAN:
            return random.random() < 0.8
        case ParameterType.ARRAY:
            return random.choice([[], ["**/none"]])
        case ParameterType.STRING if parameter.choices:
            return random.choice(parameter.choices)
        case ParameterType.STRING if parameter.name in PATH_NAMES:
            return random.choice(paths)
        case ParameterType.STRING:
            return known.get(parameter.name, "name")
        case _:
            # The work that fits into a millisecond differs from call to call.
            few = [] if parameter.name == "timeout_ms" else [low, min(high, low + 3)]
            return random.choice([high, *few])
