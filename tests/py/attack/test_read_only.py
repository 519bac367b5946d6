"""Under strace: every tool, with all arguments, writes only the log and starts only git."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest

from backstaff.arguments import ParameterType
from backstaff.registry import discover
from backstaff.render.canonical import to_json
from tests.py.attack.attackers import TOOLS, random_arguments, with_a_secret
from tests.py.attack.figures import tally
from tests.py.epc import ISOLATED, Client, frame
from tests.py.mcp.session import McpClient, text

pytestmark = pytest.mark.slow

# A question mark makes strace skip a system call that the machine lacks.
CHANGING = (
    *("creat", "mkdir", "mkdirat", "mknod", "mknodat", "rename", "renameat", "renameat2", "rmdir"),
    *("unlink", "unlinkat", "link", "linkat", "symlink", "symlinkat", "truncate", "ftruncate"),
    *("chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "fallocate"),
    *("utime", "utimes", "utimensat", "futimesat", "setxattr", "lsetxattr", "fsetxattr"),
    *("removexattr", "lremovexattr", "fremovexattr", "mount", "umount2", "swapon", "sendfile"),
)
STARTING = ("execve", "execveat", "fork", "vfork")
TALKING = ("socket", "bind", "listen", "connect", "accept", "accept4")
OPENING = ("open", "openat", "openat2")
WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE")
# git only asks for its own descriptors, which it opens if they are closed.
GIT = re.compile(
    r'execve\("(?:/[\w.-]+)+/git", |v?fork\(|openat\(AT_FDCWD, "/dev/null", O_RDWR[) ]'
)
# The process that matches regular expressions is a Python that writes no bytecode.
MATCHER = re.compile(r'execve\("[^"]+", \["[^"]+", "-I", "-S", "-B", ')
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)")


def strace(folder: Path) -> tuple[tuple[str, ...], Path]:
    """Return a command that records the system calls of another; skips the test without strace."""
    program = shutil.which("strace")
    if not program:
        pytest.skip("needs strace")
    tried = subprocess.run((program, "-qq", "-o", "/dev/null", "true"), check=False)  # noqa: S603
    if tried.returncode:
        pytest.skip("needs ptrace")
    notes = folder / "strace"
    calls = ",".join(f"?{name}" for name in (*CHANGING, *STARTING, *TALKING, *OPENING))
    return (program, "-f", "-qq", "-s", "300", "-e", f"trace={calls}", "-o", str(notes)), notes


def changes(notes: Path) -> list[str]:
    """Return the system calls in `notes` that change something, or could."""
    found = []
    for line in notes.read_text(errors="replace").splitlines():
        match = CALL.match(line)
        if not match or line.endswith("= -1 ENOSYS (Function not implemented)"):
            continue
        name, rest = match.groups()
        if name not in OPENING or WRITING.search(rest):
            found.append(f"{name}({rest}")
    return found


def over_epc(client: Client, tool_id: str, arguments: dict[str, object]) -> str:
    """Return the text of a tool's reply."""
    _, _, value = client.call(tool_id, to_json(to_json(arguments)), "(:json t)")
    return str(value[":text"])


def over_mcp(client: Client, tool_id: str, arguments: dict[str, object]) -> str:
    """Return the text of a tool's result."""
    assert isinstance(client, McpClient)
    return text(client.tool(REGISTRY.model_name(tool_id), arguments))


REGISTRY = discover()
TOOLSETS = ",".join(dict.fromkeys(tool_id.partition("/")[0] for tool_id in TOOLS))
TRANSPORTS: Mapping[str, tuple[type[Client], tuple[str, ...], Callable[..., str], bytes]] = {
    "epc": (
        *(Client, ("serve", "--stdio"), over_epc),
        b"".join(map(frame, (b"not Lisp", b"(call 999 nothing ())"))),
    ),
    "mcp": (
        *(McpClient, ("mcp", "--tools", TOOLSETS), over_mcp),
        b'not JSON\n{"jsonrpc": "2.0", "id": 999, "method": "nothing"}\n',
    ),
}
"""For each: its client, the server's command, a call of a tool, and bytes that no client should
send.
"""


def call_every_tool(client: Client, call: Callable[..., str]) -> None:
    """Call each tool in many ways, right and wrong, and wait for all answers."""
    random = Random("strace")  # noqa: S311  # repeatable
    calls = 0
    for tool_id, tool in TOOLS.items():
        given = [random_arguments(tool, random) for _ in range(25)]
        flags = [p.name for p in tool.parameters if p.type is ParameterType.BOOLEAN]
        given += [given[0] | dict.fromkeys(flags, True), {"path": "../.."}, {"nonsense": "x"}]
        for arguments in given:
            assert call(client, tool_id, arguments)
            calls += 1
    tally(attacks_tried=calls)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_tool_changes_nothing_but_the_log(folder: Path, transport: str) -> None:
    client_of, serve, call, nonsense = TRANSPORTS[transport]
    root = with_a_secret(folder)
    log = folder / "log"
    options = ("--root", str(root), "--log-file", str(log), "--log-level", "debug")
    clients = []
    try:
        # Run it once before, because the interpreter caches bytecode beside our sources.
        clients.append(client_of((*ISOLATED, *serve, *options)))
        call_every_tool(clients[0], call)
        command, notes = strace(folder)
        client = client_of((*command, *ISOLATED, *serve, *options))
        clients.append(client)
        call_every_tool(client, call)
        client.write(nonsense)
        assert client.close() == 0
    finally:
        for one in clients:
            one.end()
    assert log.stat().st_size, "the log was to be written"
    started, *others = changes(notes)
    assert started.startswith("execve("), started
    logged = f'openat(AT_FDCWD, "{log}", O_WRONLY|O_CREAT|O_APPEND'
    fine = [call for call in others if call.startswith(logged) or GIT.match(call)]
    fine += [call for call in others if MATCHER.match(call)]
    assert [call for call in others if call not in fine] == []
    assert others, "the watch sees nothing"


def test_the_watch_sees_changes(folder: Path) -> None:
    command, notes = strace(folder)
    script = (
        f"import os; os.chdir({str(folder)!r}); os.mkdir('d'); open('f', 'w'); os.rename('f', 'g')"
    )
    subprocess.run((*command, sys.executable, "-IS", "-c", script), check=True)  # noqa: S603
    names = [call.partition("(")[0] for call in changes(notes)]
    assert names == ["execve", "mkdir", "openat", "rename"]
