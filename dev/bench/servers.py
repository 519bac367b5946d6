"""Whole processes: start-up time and memory, with the MCP server as a peer."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from backstaff.wire.frame import MAX_FRAME_BYTES
from dev.bench.client import Epc, Mcp
from dev.bench.folders import Folders
from dev.bench.timing import Measures, in_turns

REPOSITORY = Path(__file__).parents[2]
SOURCES = REPOSITORY / "py_backend"
MAIN = SOURCES / "backstaff" / "__main__.py"
LIBRARIES = SOURCES / "libraries.zip"
PYTHON = (os.path.realpath(sys.executable), "-I", "-S")
"""The Python of a default installation: only the libraries beside the sources."""
UNCAPPED = Path(__file__).parent / "peers" / "uncapped.py"
MCP = "@modelcontextprotocol/server-filesystem"
MCP_ENTRY = Path("node_modules") / MCP / "dist" / "index.js"
INSTALL_SECONDS = 120
WHOLE = f"(:max-output-bytes {MAX_FRAME_BYTES} :deadline-ms 120000)"
BOUNDED = '(:path "." :entry_kind "all" :max_depth 12 :max_entries 1000)'
FIRST = '(:path "." :max_entries 200)'


def ours(root: Path, program: Path = MAIN, python: Sequence[str] = PYTHON) -> Epc:
    """Return the command of our server for `root`, run by `python`."""
    return Epc([*python, str(program), "serve", "--stdio", "--root", str(root)])


def mcp_command(cache: Path) -> list[str] | str:
    """Return the command of the MCP server, installed in `cache` if needed; or the reason."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not (node and npm):
        return "node and npm are not installed"
    where = cache / "mcp"
    if not (where / MCP_ENTRY).exists():
        where.mkdir(parents=True, exist_ok=True)
        command = [
            npm,
            "install",
            "--silent",
            "--no-fund",
            "--no-audit",
            "--prefix",
            str(where),
            MCP,
        ]
        try:
            subprocess.run(command, check=True, timeout=INSTALL_SECONDS, capture_output=True)  # noqa: S603
        except (subprocess.SubprocessError, OSError) as error:
            return f"npm could not install it: {error}"
    return [node, str(where / MCP_ENTRY)]


def measure(folders: Folders, turns: int, mcp: list[str] | str) -> Measures:
    """Measure everything. `mcp` is the MCP server's command, or the reason why there is none."""
    starts: dict[str, Callable[[], object]] = {
        "ours": partial(_first_answer, folders.flat(0)),
        "python": partial(subprocess.run, [PYTHON[0], "-c", "pass"], check=True),
    }
    if not isinstance(mcp, str):
        starts["mcp"] = partial(_first_of_mcp, mcp, folders.flat(0))
    return {
        "start": in_turns(turns, starts),
        "tree-peers": _tree_peers(folders.tree, mcp),
        "scale": _scale(folders),
        "memory": _memory(folders),
    }


def _first_answer(root: Path) -> None:
    server = ours(root)
    server.tool("agent-q/list_directory", '(:path ".")')
    server.process.kill()
    server.__exit__(None, None, None)


def _first_of_mcp(command: list[str], root: Path) -> None:
    server = Mcp([*command, str(root)])
    server.call("list_directory", path=str(root))
    server.process.kill()
    server.__exit__(None, None, None)


def _tree_peers(tree: Path, mcp: list[str] | str) -> dict[str, list[float]]:
    with ours(tree, UNCAPPED) as server:
        ways: dict[str, Callable[[], object]] = {
            "ours": lambda: server.tool("bench/tree", context=WHOLE)
        }
        if isinstance(mcp, str):
            return in_turns(2, ways)
        with Mcp([*mcp, str(tree)]) as peer:
            ways["mcp"] = lambda: peer.call("directory_tree", path=str(tree))
            return in_turns(2, ways)


def _scale(folders: Folders) -> dict[str, list[float]]:
    """Measure whole and bounded answers by size. 200,000 entries do not fit into one reply."""
    with ours(folders.forest, UNCAPPED) as server:
        in_tree = f'(:root "{folders.tree}" {WHOLE[1:]}'
        ways: dict[str, Callable[[], object]] = {
            "forest": lambda: server.tool("bench/tree", context=WHOLE),
            "tree": lambda: server.tool("bench/tree", context=in_tree),
            "bounded-forest": lambda: server.tool("workspace/tree", BOUNDED),
            "bounded-tree": lambda: server.tool("workspace/tree", BOUNDED, in_tree),
            "flat-200000": partial(_listed, server, folders.flat(3)),
            "flat-100000": partial(_listed, server, folders.flat(2)),
            "flat-10000": partial(_listed, server, folders.flat(1)),
            "first-200000": lambda: server.tool(
                "forge/list_directory", FIRST, f'(:root "{folders.flat(3)}")'
            ),
        }
        return in_turns(1, ways)


def _listed(server: Epc, root: Path) -> bytes:
    """Return a listing, as much of it as fits into a reply."""
    return server.tool("agent-q/list_directory", '(:path ".")', f'(:root "{root}" {WHOLE[1:]}')


def _memory(folders: Folders) -> dict[str, list[float]]:
    """Return by how many bytes one call raises the maximum memory of a fresh server."""
    return {
        "bounded-forest": [_growth(folders.forest, "workspace/tree", BOUNDED)],
        "bounded-tree": [_growth(folders.tree, "workspace/tree", BOUNDED)],
        "forest": [_growth(folders.forest, "bench/tree")],
        "tree": [_growth(folders.tree, "bench/tree")],
        "first": [_growth(folders.flat(3), "forge/list_directory", FIRST)],
        "listing": [_growth(folders.flat(3), "agent-q/list_directory", '(:path ".")')],
    }


def _growth(root: Path, tool: str, arguments: str = "nil") -> float:
    with ours(root, UNCAPPED) as server:
        server.tool("agent-q/get_file_info", '(:path ".")')
        before = server.peak()
        server.tool(tool, arguments, WHOLE)
        return float(max(server.peak() - before, 1))
