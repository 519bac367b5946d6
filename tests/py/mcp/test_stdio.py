"""The server as a process that an MCP client starts, and may abandon."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstaff.manifest import PRESET
from backstaff.registry import discover
from tests.py.epc import ISOLATED, SOURCE
from tests.py.mcp.session import HELLO, STATELESS, McpClient, Serve, request, text
from tests.py.processes import DEADLINE
from tests.py.trees import Plant

pytestmark = pytest.mark.slow

WITH_MADE_UP_TOOLS = f"""
import gc, os, sys, threading
gc.disable()  # as __main__ does
sys.path[:0] = [{str(SOURCE)!r}, {str(SOURCE.parent)!r}]
from backstaff import command_line
from backstaff.mcp import stdio
from backstaff.tool import Result
from tests.py.servers import registry_of

ended = threading.Event()
busy = stdio.Workers.busy
stdio.Workers.busy = lambda self: (ended.set(), busy(self))[1]

def late(_, __):
    ended.wait()
    return Result(text="after the end", data={{}})

def hang(_, __):
    thread = threading.Thread(target=threading.Event().wait, daemon=False)
    thread.start()
    thread.join()

def noisy(_, __):
    print("x" * 100_000)
    os.write(1, b"z" * 100_000)
    sys.stdout.flush()
    os.system("echo from a child; cat")
    return Result(text="quiet", data={{}})

def collected(_, __):
    return Result(text=str(gc.isenabled()), data={{}})

command_line.discover = lambda: registry_of(
    collected=collected, hang=hang, late=late, noisy=noisy
)
stdio.FINISH_S = 0.5
command_line.main(["mcp", "--root", "/", "--tools", "test"])
"""


@pytest.fixture
def made_up(serve: Serve) -> McpClient:
    """A client of a server with tools that hang, or print to stdout."""
    return serve(command=(sys.executable, "-c", WITH_MADE_UP_TOOLS))


def names(client: McpClient) -> list[str]:
    """Return the names of the tools that the server lists."""
    return [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]


def test_server_answers_and_ends_with_its_client(serve: Serve, folder: Path) -> None:
    client = serve("--root", str(folder))
    assert client.ask("initialize", HELLO)["result"]["protocolVersion"] == "2025-11-25"
    assert client.close() == 0
    assert client.rest() == b""
    assert client.log() == ""


@pytest.mark.parametrize(
    "opening",
    [b"garbage\n", b"\0\0\0\n", b'{"jsonrpc":"2.0","id":0,"method":"nothing"}\n', b"\n\n"],
)
def test_server_that_is_opened_by_something_else_goes_on(serve: Serve, opening: bytes) -> None:
    client = serve()
    client.write(opening)
    if opening.strip():
        assert "error" in client.heard()
    assert len(names(client)) == len(PRESET)


def test_stray_output_and_children_cannot_break_the_stream(made_up: McpClient) -> None:
    for _ in range(3):
        assert text(made_up.tool("noisy")) == "quiet"
    assert made_up.close() == 0
    assert made_up.rest() == b""
    for noise in ("x" * 100_000, "z" * 100_000, "from a child"):
        assert noise in made_up.log()


def test_server_collects_garbage_though_its_start_did_not(made_up: McpClient) -> None:
    assert text(made_up.tool("collected")) == "True"


def test_server_ends_while_tools_hang_and_with_half_a_line(made_up: McpClient) -> None:
    made_up.say(*(request("tools/call", {"name": "hang"}, uid=n) for n in range(1, 20)))
    assert made_up.ask("ping")["result"] == {}
    made_up.write(b'{"jsonrpc": "2.0", "id"')
    assert made_up.close() == 0


def answered(client: McpClient) -> dict[object, dict[str, object]]:
    """Return the answers that `client` gets after it has closed its end, by id."""
    assert client.close() == 0
    messages = [json.loads(line) for line in client.rest().splitlines()]
    return {message["id"]: message["result"] for message in messages}


def test_requests_from_a_pipe_that_ends_are_all_answered(serve: Serve, tree: Plant) -> None:
    client = serve("--root", str(tree({"f": "word"})))
    given = {"name": "regexp_search", "arguments": {"pattern": "word"}}
    client.say(request("initialize", HELLO, uid=1), request("tools/call", given, uid=2))
    answers = answered(client)
    assert answers.keys() == {1, 2}
    assert "f" in text(answers[2])


def test_call_that_outlasts_the_input_is_answered(made_up: McpClient) -> None:
    made_up.say(*(request("tools/call", {"name": "late"}, uid=n) for n in range(9)))
    assert {uid: text(result) for uid, result in answered(made_up).items()} == dict.fromkeys(
        range(9), "after the end"
    )


def test_call_that_nobody_reads_does_not_keep_the_server(serve: Serve) -> None:
    patient = WITH_MADE_UP_TOOLS.replace("FINISH_S = 0.5", f"FINISH_S = {2 * DEADLINE}")
    client = serve(command=(sys.executable, "-c", patient))
    client.say(request("tools/call", {"name": "hang"}, uid=2))
    assert client.ask("ping")["result"] == {}
    assert client.process.stdout
    client.process.stdout.close()
    assert client.close() == 0


def test_server_ends_when_nobody_reads_its_answers(serve: Serve) -> None:
    client = serve()
    client.ask("ping")
    assert client.process.stdout
    client.process.stdout.close()
    client.say(request("ping"))
    assert client.wait() == 0


def test_interrupt_ends_the_server_without_a_traceback(serve: Serve) -> None:
    # A background process of a shell ignores interrupts.
    client = serve(preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    client.ask("ping")
    client.process.send_signal(signal.SIGINT)
    assert client.wait() == 130
    assert client.log() == ""


# ---------------------------------------------------------------------------- the client is killed

KILLED_CLIENT = """
import json, signal, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def call(uid, name, **given):
    params = {"name": name, "arguments": given}
    message = {"jsonrpc": "2.0", "id": uid, "method": "tools/call", "params": params}
    server.stdin.write(json.dumps(message).encode() + b"\\n")
    server.stdin.flush()
call(1, "regexp_search", pattern="word")
server.stdout.readline()
call(2, "regexp_search", pattern="(a+)+(?!.)", timeout_ms=30000)
call(3, "project_overview")
print(server.pid, flush=True)
signal.pause()  # lives until the test kills it
"""


def processes() -> Iterator[tuple[int, int]]:
    """Yield each process and its parent."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if fields[0] not in ("Z", "X"):
            yield int(stat.parent.name), int(fields[1])


def descendants(pid: int) -> set[int]:
    """Return the process `pid`, if it runs, and all its descendants."""
    pairs = list(processes())
    found = {pid} & {one for one, _ in pairs}
    while more := {one for one, parent in pairs if parent in found} - found:
        found |= more
    return found


def test_client_that_is_killed_leaves_no_orphan(tree: Plant) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc")
    root = tree({"f": "word\n" + "a" * 5000 + "!", ".git/x": ""})
    command = (sys.executable, "-c", KILLED_CLIENT, *ISOLATED, "mcp", "--root", str(root))
    client = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603
    assert client.stdout
    try:
        server = int(client.stdout.readline())
        family = descendants(server)
        assert len(family) >= 2, "the process that matches is to be among them"
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
    until = time.monotonic() + DEADLINE
    while left := family & {pid for pid, _ in processes()}:
        assert time.monotonic() < until, f"{left} of {family} are left"
        os.sched_yield()


# ---------------------------------------------------------------------------- the command line


def test_seven_tools_are_offered_by_default(serve: Serve) -> None:
    registry = discover()
    assert names(serve()) == [registry.model_name(tool_id) for tool_id in PRESET]


def test_options_choose_the_tools(serve: Serve) -> None:
    chosen = serve("--tools", "commands,forge,workspace/tree, get_command,")
    assert names(chosen) == [
        *("get_command", "list_commands", "search_commands", "forge_list_directory", "tree"),
    ]
    assert names(serve("--tools", "read_file")) == ["read_file"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--tools", "tree,nothing"), "No such tool: nothing (there are agent-q/"),
        (("--root", "/nothing/there"), "/nothing/there"),
        (("--config", "/nothing/there"), "/nothing/there"),
        (("--stdio",), "unrecognized arguments: --stdio"),
    ],
)
def test_wrong_option_is_named_on_stderr_and_ends_the_server(
    serve: Serve, options: tuple[str, ...], said: str
) -> None:
    client = serve(*options)
    assert client.wait() == 2
    assert said in client.log()
    assert "Traceback" not in client.log()
    assert client.rest() == b""


def test_root_defaults_to_the_working_directory(tree: Plant, serve: Serve) -> None:
    root = tree({"d/f": "", ".git/HEAD": ""})
    client = serve(cwd=root)
    assert "d/" in text(client.tool("project_overview", {"path": "."}))
    assert str(root) in client.ask("server/discover", STATELESS)["result"]["instructions"]


@pytest.mark.parametrize("git", [None, ".git/HEAD", "home/.git/HEAD"])
def test_root_outside_of_projects_has_to_be_named(
    tree: Plant, serve: Serve, git: str | None
) -> None:
    root = tree({"home/f": "secret words", "home/deep/g": "", **({git: ""} if git else {})})
    home, here = {"HOME": str(root / "home")}, {"path": "."}
    for place in (root / "home", *[root / "home/deep"] * (git != "home/.git/HEAD"), Path("/")):
        client = serve(cwd=place, env=home)
        result = client.tool("project_overview", here)
        assert result["isError"]
        assert text(result).startswith(f"Error: The root '{place}' is ")
        assert text(result).endswith("or name the directory: backstaff mcp --root DIR")
        told = client.ask("initialize", HELLO)["result"]["instructions"]
        assert told == text(result).removeprefix("Error: ")
        assert client.close() == 0
        assert client.log() == f"backstaff: {told}\n"
    for arguments, place in ((("--root", "."), root / "home"), (("--root", "/"), root)):
        client = serve("--tools", "tree", *arguments, cwd=place, env=home)
        assert not client.tool("tree", here)["isError"]


def test_settings_and_log_are_those_of_the_other_transport(
    tree: Plant, folder: Path, serve: Serve
) -> None:
    config = folder / "config.toml"
    config.write_text('[policy]\ndeny = ["workspace/read_file"]\n')
    config.chmod(0o600)
    log = folder / "log"
    client = serve(
        *("--root", str(tree({})), "--config", str(config), "--log-file", str(log)),
        *("--log-level", "info"),
    )
    assert "read_file" not in names(client)
    client.say({"jsonrpc": "2.0", "id": 5, "result": {}})
    client.ask("ping")
    client.close()
    assert "never asked: 5" in log.read_text()


def test_python_without_libraries_serves_every_tool(tree: Plant, serve: Serve) -> None:
    root = tree({"a": "x", ".claude/commands/go.md": "---\ndescription: go\n---\nx"})
    bare = (sys.executable, "-I", "-S", *ISOLATED[2:])
    client = serve("--root", str(root), "--tools", "list_commands,tree", command=bare)
    assert "go" in text(client.tool("list_commands"))
    assert client.tool("tree", {"path": ".", "exclude": ["{a,b}"]})["isError"] is False
