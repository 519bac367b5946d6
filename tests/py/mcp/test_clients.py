"""Clients by others: each lists the tools of our server and calls every one of them.

`dev/setup mcp` installs them below .cache/mcp. The tests of a missing one are skipped. mcp.el is in
tests/el/backstaff-mcp-tests.el.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from backstaff.mcp.connection import HANDSHAKE_VERSIONS, STATELESS_VERSION
from backstaff.registry import discover
from tests.py.epc import ISOLATED
from tests.py.mcp.session import (
    HELLO,
    META,
    STATELESS,
    McpClient,
    Message,
    Serve,
    notification,
    request,
)
from tests.py.project.repositories import committed
from tests.py.servers import fitting
from tests.py.trees import Plant

pytestmark = pytest.mark.slow

PEERS = Path(__file__).parent / "peers"
CACHE = Path(__file__).parents[3] / ".cache" / "mcp"
SECONDS = 120
REGISTRY = discover()
TOOLSETS = ",".join(dict.fromkeys(tool_id.partition("/")[0] for tool_id in REGISTRY.by_id))


@pytest.fixture
def root(tree: Plant) -> Path:
    """A project in which every tool finds something."""
    command = "---\ndescription: go on\n---\ngo\n"
    return committed(tree({"go": "go\n", ".claude/commands/go.md": command}))


def server(root: Path) -> list[str]:
    """Return the command of a server with all tools."""
    return [*ISOLATED, "mcp", "--root", str(root), "--tools", TOOLSETS]


def python(version: int) -> str:
    """Return a Python with the SDK of that `version`; skips the test without it."""
    program = CACHE / f"sdk-{version}" / "bin" / "python"
    if not (program.parent / "mcp").exists():
        pytest.skip(f"needs the MCP SDK {version}")
    return str(program)


def printed(*command: str, **options: Any) -> str:  # noqa: ANN401
    """Return the output of `command`, which must not fail."""
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, timeout=SECONDS, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


@pytest.mark.parametrize(
    ("sdk", "mode", "version"),
    [
        (1, "", "2025-11-25"),
        (2, "legacy", "2025-11-25"),
        (2, "auto", STATELESS_VERSION),
        (2, STATELESS_VERSION, STATELESS_VERSION),
    ],
)
def test_python_sdk_lists_and_calls_every_tool(
    root: Path, sdk: int, mode: str, version: str
) -> None:
    calls = [
        [REGISTRY.model_name(tool_id), fitting(tool)] for tool_id, tool in REGISTRY.by_id.items()
    ]
    asked = {"command": server(root), "calls": calls, "mode": mode}
    answers = json.loads(printed(python(sdk), str(PEERS / f"sdk_{sdk}.py"), json.dumps(asked)))
    assert answers["version"] == version
    assert answers["tools"] == [name for name, _ in calls]
    assert answers["errors"] == [False] * len(calls)
    assert all(len(texts) == 1 and texts[0] for texts in answers["texts"])
    assert answers["unknown"].startswith("No such tool: nothing (there are ")
    if mode != STATELESS_VERSION:  # this client never asks for the server's description
        assert str(root) in answers["instructions"]


@pytest.mark.parametrize(
    ("opening", "answered"),
    [
        ([request("server/discover", STATELESS)], True),
        ([request("server/discover")], True),
        (["garbage"], True),
        (["", "{"], True),
        ([request("nothing", {})], True),
        ([notification("nothing")], False),
    ],
    ids=["discover", "discover without _meta", "garbage", "half", "unknown", "notification"],
)
@pytest.mark.parametrize("mode", ["handshake", "stateless"])
def test_opener_of_any_kind_lists_and_calls_every_tool(
    serve: Serve,
    root: Path,
    opening: list[object],
    answered: bool,  # noqa: FBT001
    mode: str,
) -> None:
    client = serve("--root", str(root), "--tools", TOOLSETS)
    for line in opening:
        client.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
    if answered:
        assert client.heard().keys() & {"result", "error"}
    more = STATELESS if mode == "stateless" else {}
    if not more:
        assert "result" in client.ask("initialize", HELLO)
        client.say(notification("notifications/initialized"))
    listed = client.ask("tools/list", more)["result"]["tools"]
    assert len(listed) == len(REGISTRY.by_id)
    for tool_id, tool in REGISTRY.by_id.items():
        given = {"name": REGISTRY.model_name(tool_id), "arguments": fitting(tool)}
        assert client.ask("tools/call", given | more)["result"]["isError"] is False


# ---------------------------------------------------------------------------- by the schemas


def conversation(client: McpClient, version: str) -> list[tuple[str, str, Message]]:
    """Return a server's messages of all kinds, each with `version` and the method it answers."""
    said: list[tuple[str, str, Message]] = []
    more = STATELESS if version == STATELESS_VERSION else {}

    def hear(method: str) -> None:
        said.append((version, method, client.heard()))

    def ask(method: str, params: object) -> None:
        client.say(request(method, params))
        hear(method)

    if more:
        ask("server/discover", more)
        wrong = {"_meta": STATELESS["_meta"] | {f"{META}protocolVersion": "2031-01-01"}}
        ask("tools/list", wrong)
    else:
        ask("initialize", HELLO | {"protocolVersion": version})
        ask("ping", None)
    ask("tools/list", more)
    for tool_id, tool in REGISTRY.by_id.items():
        name = REGISTRY.model_name(tool_id)
        for given in (fitting(tool), {"path": "../..", "nonsense": "x"}):
            ask("tools/call", {"name": name, "arguments": given, **more})
    for method, params in (
        *(("tools/call", {"name": "nothing", **more}), ("tools/list", {"cursor": "x", **more})),
        *(("nothing", more), ("tools/call", {"name": "tree", "arguments": [], **more})),
    ):
        ask(method, params)
    client.write(b"garbage\n[]\n" + b'{"id": 3, "method": 4}\n')
    for _ in range(3):
        hear("")
    return said


def test_every_message_is_valid_by_the_schema_of_its_version(serve: Serve, root: Path) -> None:
    said = []
    # The models come from the two newest schemas; older ones have no additional fields.
    for version in (HANDSHAKE_VERSIONS[-1], STATELESS_VERSION):
        client = serve("--root", str(root), "--tools", TOOLSETS)
        said += conversation(client, version)
    assert not any("method" in message for _, _, message in said)
    assert sum("error" in message for _, _, message in said) >= 12
    wrong = printed(
        python(2), str(PEERS / "validate.py"), input=json.dumps(said), env=dict(os.environ)
    )
    assert wrong == ""
    # Otherwise this would check nothing.
    bad = {"jsonrpc": "2.0", "id": 1, "result": {"content": 7}}
    broken = [(v, "tools/call", bad) for v in (HANDSHAKE_VERSIONS[-1], STATELESS_VERSION)]
    found = printed(python(2), str(PEERS / "validate.py"), input=json.dumps(broken))
    assert found.count("\n") == len(broken)
