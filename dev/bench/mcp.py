"""Our MCP server, one of the SDK with the same tools, and the file system server from npm.

`python -m dev.bench.mcp` prints the size of the definitions and of some answers for a model.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from dev.bench import servers
from dev.bench.client import Mcp
from dev.bench.folders import Folders
from dev.bench.timing import Measures, in_turns

SDK = servers.REPOSITORY / ".cache" / "mcp" / "sdk-2" / "bin" / "python"
PEER = Path(__file__).parent / "peers" / "mcp_sdk.py"
BYTES_A_TOKEN = 4


def ours(root: Path) -> list[str]:
    """Return the command that starts our MCP server for `root`."""
    return [*servers.PYTHON, str(servers.MAIN), "mcp", "--root", str(root)]


def sdk_command(tools: Path) -> list[str] | str:
    """Return the command of an SDK server that lists the `tools` of that file; or the reason."""
    if not SDK.exists():
        return "the Python package mcp is not installed (dev/setup mcp)"
    return [str(SDK), str(PEER), str(tools)]


def measure(made: Folders, turns: int, npm: list[str] | str) -> Measures:
    """Measure the time from a start to the list of tools, in which a client's user waits."""
    root = made.flat(0)
    tools = made.path / "tools.json"
    with Mcp(ours(root)) as server:
        tools.write_text(json.dumps(server.ask("tools/list", {})))
    sdk = sdk_command(tools)
    ways: dict[str, Callable[[], object]] = {"ours": partial(listed, ours(root))}
    if not isinstance(sdk, str):
        ways["sdk"] = partial(listed, sdk)
    if not isinstance(npm, str):
        ways["mcp"] = partial(listed, [*npm, str(root)])
    return {"mcp-start": in_turns(turns, ways)}


def listed(command: list[str]) -> None:
    """Start a server, ask for its tools, and end it."""
    server = Mcp(command)
    try:
        if not server.ask("tools/list", {})["tools"]:
            raise RuntimeError(f"{command} lists no tools")
    finally:
        server.process.kill()
        server.__exit__(None, None, None)


def costs(root: Path, npm: list[str]) -> None:
    """Print the sizes of definitions and answers of both servers, about `root`."""
    with Mcp(ours(root)) as server, Mcp([*npm, str(root)]) as peer:
        for name, one in (("ours", server), ("npm", peer)):
            tools = one.ask("tools/list", {})["tools"]
            told = [{k: tool[k] for k in ("name", "description", "inputSchema")} for tool in tools]
            text = json.dumps(told, separators=(",", ":"))
            show(f"definitions of {len(tools)} tools, {name}", text)
        everything = {"entry_kind": "all", "max_entries": 1000}
        folder = "py_backend/backstaff"
        show("a file, ours", server.call("read_file", path="README.md"))
        show("a file, npm", peer.call("read_text_file", path=str(root / "README.md")))
        show("a directory, ours", server.call("tree", path=folder, max_depth=1, **everything))
        show("a directory, npm", peer.call("list_directory", path=str(root / folder)))
        show("the tree, ours", server.call("tree", path=".", max_depth=12, **everything))
        show("the tree, npm", peer.call("directory_tree", path=str(root)))
        found = server.call("search_files", query="**/*.el", kind="glob", max_results=200)
        show("files called *.el, ours", found)
        show("files called *.el, npm", peer.call("search_files", path=str(root), pattern="**/*.el"))


def show(what: str, text: str) -> None:
    """Print the bytes of `text`, and about how many tokens they are."""
    size = len(text.encode())
    print(f"{what:34} {size:9,} bytes  {size // BYTES_A_TOKEN:8,} tokens")


if __name__ == "__main__":
    command = servers.mcp_command(servers.REPOSITORY / ".cache" / "bench")
    if isinstance(command, str):
        sys.exit(command)
    # Only files that git tracks, because the peer also shows .git, .venv and .cache. The copy is
    # not below .cache, because git ignores that.
    with TemporaryDirectory() as folder:
        copied = f"git archive HEAD | tar x -C '{folder}'"
        subprocess.run(copied, shell=True, check=True, cwd=servers.REPOSITORY)  # noqa: S602  # ours
        costs(Path(folder).resolve(), command)
