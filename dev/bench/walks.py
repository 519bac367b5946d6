"""The walk, the bounded listing and the commands, in this process, compared with bare Python.

A walk here yields the names and kinds of every directory. The peer that recurses over os.scandir is
the plainest program that does the same.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import yaml

from backstaff.budget import Budget
from backstaff.fs.entry import Kind, Named, entries_in
from backstaff.fs.walk import Walk
from backstaff.globs.globs import Globs, compile_globs
from backstaff.registry import discover
from backstaff.server import Server
from backstaff.settings import Settings
from backstaff.structure.outline import outline
from backstaff.tools.commands import _commands
from dev.bench.folders import Folders
from dev.bench.timing import Measures, in_turns, seconds

HEAD_BYTES = 4096
OUTLINE_SECONDS = 0.06
GLOBS = (
    *("**/node_modules/**", "**/.git/**", "**/*.pyc", "**/build/**", "**/dist/**", "*.log"),
    *("**/__pycache__/**", "**/target/**", "**/*.min.js", "**/part_0[0-3]/**"),
    *("package_0?/vendor", "**/*.{tmp,bak}"),
)


def measure(folders: Folders, turns: int) -> Measures:
    """Measure walks, bounded listings and commands."""
    server = Server(discover(), Settings(), str(folders.path))
    first = partial(_answered, server, "forge/list_directory", {"path": ".", "max_entries": 200})
    flat = folders.flat(3)
    return {
        "walk": in_turns(turns, _walks(folders.tree)),
        "bounded": in_turns(
            turns, {"ours": partial(first, flat), "listdir": partial(os.listdir, flat)}
        ),
        "commands": _listed(server, folders, turns),
        "outline": {"ours": [_outlined() for _ in range(turns)], "limit": [OUTLINE_SECONDS]},
    }


def _outlined() -> float:
    """Return the seconds in which the definitions of a MiB of Python are found."""
    texts, size = [], 0
    for path in sorted(Path(os.__file__).parent.glob("*.py")):
        texts.append(path.read_text("utf-8", "replace"))
        size += len(texts[-1])
        if size > 1 << 20:
            break
    start = time.process_time()
    for text in texts:
        outline(text, "a.py", Budget())
    return (time.process_time() - start) * (1 << 20) / size


def _answered(server: Server, tool: str, arguments: dict[str, object], root: Path) -> object:
    reply = server.call(tool, arguments, {"root": str(root)})
    if not reply.ok:
        raise RuntimeError(reply.text)
    return reply


def _walks(tree: Path) -> dict[str, Callable[[], object]]:
    return {
        "ours": lambda: _opened(tree, partial(_walked, None)),
        "scandir": lambda: _scandir(str(tree), []),
        "globs": lambda: _opened(tree, partial(_walked, compile_globs(GLOBS))),
    }


def _opened(path: Path, walk: Callable[[int, Budget], object]) -> object:
    start = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return walk(start, Budget())
    finally:
        os.close(start)


def _walked(globs: Globs | None, start: int, budget: Budget) -> object:
    """Walk by directories, without the paths that the `globs` match; these are not entered."""
    found: list[tuple[str, list[Named]]] = []
    directory_kind = Kind.DIRECTORY

    def arrange(directory: int, path: str) -> list[Named]:
        entries = entries_in(directory, budget)
        if globs is not None:
            names = [name for name, _ in entries]
            gone = globs.among(f"{path}/" if path else "", names, budget)
            entries = [entry for entry in entries if entry[0] not in gone]
        found.append((path, entries))
        return [entry for entry in entries if entry[1] is directory_kind]

    with Walk(start, arrange, budget) as walk:
        for step in walk:
            walk.enter(step)
    return found


def _scandir(path: str, found: list[tuple[str, list[tuple[str, str]]]]) -> object:
    with os.scandir(path) as entries:
        named = [(entry.name, _kind(entry)) for entry in entries]
    found.append((path, named))
    for name, kind in named:
        if kind == "directory":
            _scandir(f"{path}/{name}", found)
    return found


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "symlink" if entry.is_symlink() else "unknown"


def _listed(server: Server, folders: Folders, turns: int) -> dict[str, list[float]]:
    """Measure cold, warm and bare in turns, so that each warm call follows a cold one."""
    times: dict[str, list[float]] = {"heads": [], "yaml": [], "cold": [], "warm": []}
    listed = partial(_answered, server, "commands/list_commands", {}, folders.commands)
    for _ in range(turns):
        times["heads"].append(seconds(partial(_heads, folders.commands / ".claude" / "commands")))
        times["yaml"].append(seconds(partial(_parsed, folders.commands / ".claude" / "commands")))
        _commands._KEPT.clear()  # noqa: SLF001  # as in a new server
        times["cold"].append(seconds(listed))
        times["warm"].append(seconds(listed))
    return times


def _parsed(path: Path) -> None:
    """Parse the front matter of each file in `path`."""
    for file in path.iterdir():
        head = file.read_bytes()[:HEAD_BYTES]
        yaml.safe_load(head.split(b"\n---", 1)[0].removeprefix(b"---"))


def _heads(path: Path) -> None:
    """Read the first bytes of each file in `path`."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for name in os.listdir(directory):  # noqa: PTH208  # by descriptor, as ours
        descriptor = os.open(name, os.O_RDONLY, dir_fd=directory)
        os.read(descriptor, HEAD_BYTES)
        os.close(descriptor)
    os.close(directory)
