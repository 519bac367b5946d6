"""The walk, the bounded listing and the commands, in this process, compared with bare Python.

A walk here yields the names and kinds of every directory. The peer that recurses over os.scandir is
the plainest program that does the same.
"""

import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from backstaff.budget import Budget
from backstaff.fs.entry import Kind, Named, entries_in
from backstaff.fs.walk import Walk
from backstaff.globs.globs import Globs, compile_globs
from backstaff.registry import discover
from backstaff.server import Server
from backstaff.settings import Settings
from backstaff.tools.commands._commands import TABLE
from backstaff.tools.commands._commands import Settings as CommandSettings
from dev.bench.folders import Folders
from dev.bench.peers.uncapped import folders_below
from dev.bench.timing import Measures, in_turns

HEAD_BYTES = 4096
GLOBS = (
    "**/node_modules/**",
    "**/.git/**",
    "**/*.pyc",
    "**/build/**",
    "**/dist/**",
    "**/__pycache__/**",
    "*.log",
    "**/target/**",
    "**/*.min.js",
    "**/part_0[0-3]/**",
    "package_0?/vendor",
    "**/*.{tmp,bak}",
)


def measure(folders: Folders, turns: int) -> Measures:
    """Measure walks, bounded listings and commands."""
    server = _server(folders)
    first = partial(_answered, server, "forge/list_directory", {"path": ".", "max_entries": 200})
    flat = folders.flat(3)
    return {
        "walk": in_turns(turns, _walks(folders.tree)),
        "bounded": in_turns(
            turns, {"ours": partial(first, flat), "listdir": partial(os.listdir, flat)}
        ),
        "commands": _commands(server, folders.commands, folders.heads, "", turns),
        "skills": _commands(
            _server(folders, directory=".agents/skills"),
            *(folders.skills, folders.skill_heads, "/SKILL.md", turns),
        ),
    }


def _server(folders: Folders, directory: str = ".claude/commands") -> Server:
    tables = {TABLE: CommandSettings(directory)}
    return Server(discover(), Settings(tables), str(folders.path))


def _answered(server: Server, tool: str, arguments: dict[str, object], root: Path) -> object:
    reply = server.call(tool, arguments, {"root": str(root)})
    if not reply.ok:
        raise RuntimeError(reply.text)
    return reply


def _walks(tree: Path) -> dict[str, Callable[[], object]]:
    return {
        "ours": lambda: _opened(tree, folders_below),
        "scandir": lambda: _scandir(str(tree), []),
        "find": lambda: subprocess.run(["find", tree], stdout=subprocess.DEVNULL, check=True),  # noqa: S603, S607
        "globs": lambda: _opened(tree, partial(_pruned, compile_globs(GLOBS))),
        "steps": lambda: _opened(tree, _stepped),
    }


def _opened(path: Path, walk: Callable[[int, Budget], object]) -> object:
    start = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return walk(start, Budget())
    finally:
        os.close(start)


def _pruned(globs: Globs, start: int, budget: Budget) -> object:
    """Walk without the paths that the `globs` match; such directories are not entered."""
    found: list[tuple[str, list[Named]]] = []
    directory_kind = Kind.DIRECTORY

    def arrange(directory: int, path: str) -> list[Named]:
        entries = entries_in(directory, budget)
        if gone := globs.among(f"{path}/" if path else "", [name for name, _ in entries], budget):
            entries = [entry for entry in entries if entry[0] not in gone]
        found.append((path, entries))
        return [entry for entry in entries if entry[1] is directory_kind]

    with Walk(start, arrange, budget) as walk:
        for step in walk:
            walk.enter(step)
    return found


def _stepped(start: int, budget: Budget) -> object:
    """Walk entry by entry, like the tools that stop at a limit."""
    found = []
    with Walk(start, lambda directory, _: entries_in(directory, budget), budget) as walk:
        for step in walk:
            found.append((step.path, step.kind))
            if step.kind is Kind.DIRECTORY:
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


def _commands(
    server: Server, project: Path, heads: Path, file: str, turns: int
) -> dict[str, list[float]]:
    """Measure ours and bare in turns. `file` is appended to each name: "" or "/SKILL.md"."""
    listed = partial(_answered, server, "commands/list_commands", {}, project)
    return in_turns(turns, {"heads": partial(_heads, heads, file), "ours": listed})


def _heads(path: Path, file: str) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    for name in os.listdir(directory):  # noqa: PTH208  # by descriptor, as ours
        descriptor = os.open(name + file, os.O_RDONLY, dir_fd=directory)
        os.read(descriptor, HEAD_BYTES)
        os.close(descriptor)
    os.close(directory)
