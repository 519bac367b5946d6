"""Any step of a call may fail: there is an answer, nothing stays open, and the next call works."""

import errno
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, repeat, takewhile
from pathlib import Path
from traceback import walk_stack
from typing import Any

import pytest

from backstaff.contents.regexp import ENDS
from backstaff.fs.handles import DEEPEST, Descriptors
from backstaff.project import files as project_files
from backstaff.server import Reply, Server
from tests.py.attack.attackers import BUG, TOOLS, takes_path, with_a_secret
from tests.py.attack.figures import tally
from tests.py.epc import ISOLATED, SOURCE, Client, Start, frame
from tests.py.processes import DEADLINE, in_child
from tests.py.servers import fitting, server_at
from tests.py.trees import plant

pytestmark = pytest.mark.slow

FAULTS = (
    *(errno.EACCES, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOENT, errno.ESTALE),
    *(errno.ELOOP, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ENOMEM, errno.ETIMEDOUT),
)
STEPS = ("open", "stat", "lstat", "readlink", "scandir", "access", "read", "fstat", "dup")


@pytest.fixture
def root(folder: Path) -> Path:
    """A project in which every tool finds something."""
    return with_a_secret(folder)


@pytest.fixture
def server(root: Path) -> Server:
    """A server of all tools at that root."""
    return server_at(root)


def everything(tool_id: str) -> dict[str, object]:
    """Return arguments with which the tool goes deep."""
    wide = {"recursive": True, "entry_kind": "all", "include_hidden": True, "show_hidden": True}
    known = {parameter.name for parameter in TOOLS[tool_id].parameters}
    return fitting(TOOLS[tool_id]) | {name: wide[name] for name in wide if name in known}


def called(server: Server, tool_id: str) -> Reply:
    """Return the reply without the parts that differ in each call."""
    reply = server.call(tool_id, everything(tool_id), {"json": True})
    json = re.sub('"took_ms":[0-9]+', "", reply.json) if reply.json else None
    return replace(reply, elapsed_ms=0, json=json)


Place = tuple[object, ...]
"""A system call by its name and the lines of the program that lead to it."""


@contextmanager
def watching(place: Place | None = None, nth: int = 1, number: int = 0) -> Iterator[list[Place]]:
    """Yield the places of the system calls; the `nth` at `place` fails with error `number`."""
    seen = list[Place]()
    real = {name: getattr(os, name) for name in STEPS}
    # These are bound to the class, because the walk calls them for every directory.
    bound = {name: getattr(Descriptors, name) for name in ("scan", "status", "duplicate")}

    def watched(name: str) -> Callable[..., Any]:
        def ask(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            lines = ((frame.f_code, line) for frame, line in walk_stack(None))
            seen.append((name, *takewhile(lambda at: at[0] is not called.__code__, lines)))
            if seen[-1] == place and seen.count(place) == nth:
                raise OSError(number, os.strerror(number))
            return (real | bound)[name](*arguments, **options)

        return ask

    for name in STEPS:
        setattr(os, name, watched(name))
    for name in bound:
        setattr(Descriptors, name, staticmethod(watched(name)))
    try:
        yield seen
    finally:
        for name, function in bound.items():
            setattr(Descriptors, name, staticmethod(function))
        for name, function in real.items():
            setattr(os, name, function)


def descriptors() -> int:
    """Return the number of open descriptors, once no process is being ended."""
    for thread in threading.enumerate():
        if thread.name == ENDS:
            thread.join(DEADLINE)
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


# A fault inside `Popen` itself leaves a git behind, which ends by itself.
@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
@pytest.mark.check(17)
@pytest.mark.parametrize("tool_id", TOOLS)
def test_fault_at_any_step_is_an_answer_and_leaves_nothing_open(
    server: Server, tool_id: str
) -> None:
    whole = called(server, tool_id)
    assert whole.ok, whole.text
    before = descriptors()
    with watching() as seen:
        called(server_at(server.root, server.registry), tool_id)
    places = Counter(seen)
    assert len(places) > 3, "hardly anything was asked"
    for turn, number in enumerate(FAULTS):
        # In a loop, the second time fails as well, in one way for each place.
        again = [place for place in [*places][turn :: len(FAULTS)] if places[place] > 1]
        for place, nth in chain(zip(places, repeat(1)), zip(again, repeat(2))):
            with watching(place, nth, number) as seen:
                reply = called(server_at(server.root, server.registry), tool_id)
            tally(faults_injected=seen.count(place) >= nth)
            where = f"{os.strerror(number)} at {place}"
            assert BUG not in reply.text, where
            assert reply.text.strip(), where
            assert descriptors() == before, where
        if number == errno.EACCES:
            # A directory stays unreadable until its permissions change, which does not happen here.
            project_files.KEPT.clear()
        assert called(server, tool_id) == whole, f"after {number} the next call is another"


@pytest.mark.check(20)
@pytest.mark.parametrize("tool_id", TOOLS)
def test_few_descriptors_are_enough_and_fewer_are_an_answer(server: Server, tool_id: str) -> None:
    def within(spare: int) -> tuple[bool, str]:
        called(server, tool_id)  # load late imports now
        # Open descriptors stay open. A limit counts numbers, and free ones may be among the others.
        *free, limit = [os.dup(0) for _ in range(spare + 1)]
        for number in (*free, limit):
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        reply = called(server, tool_id)
        return reply.ok, reply.text

    needed = 20 if "/git_" in tool_id else 10  # a process of git also has pipes
    for spare in range(needed + 2):
        ok, text = in_child(lambda spare=spare: within(spare))  # type: ignore[misc]
        tally(faults_injected=1)
        assert text
        assert BUG not in text
        assert ok or spare < needed, text


FRESH = """
import os, resource, sys
from backstaff.registry import discover
from backstaff.server import Server
from backstaff.settings import Settings
limit, bounds, tool_id, arguments, root = sys.argv[1:]
server = Server(discover(), Settings(), root)
server.registry.by_id[tool_id]
for bound in map(int, bounds.split()):
    if child := os.fork():
        print(bound, os.waitpid(child, 0)[1], flush=True)
        continue
    if limit == "AS":  # more bytes than there are now
        bound += int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (bound, bound))
    print(server.call(tool_id, arguments).text, flush=True)
    os._exit(0)
"""
"""Processes with few resources, in each of which a call is the first to need some modules."""


@pytest.mark.parametrize("tool_id", TOOLS)
@pytest.mark.parametrize(
    ("limit", "bounds"),
    [("NOFILE", range(3, 15)), ("AS", [1 << 18, 1 << 20, 1 << 21, 1 << 22, 1 << 24])],
)
def test_first_call_with_few_resources_is_answered(
    root: Path, tool_id: str, limit: str, bounds: Sequence[int]
) -> None:
    (root / ".gitignore").write_text("*.log\n/a/**/b\n")
    arguments = json.dumps(fitting(TOOLS[tool_id]))
    each = " ".join(map(str, bounds))
    command = (sys.executable, "-c", FRESH, limit, each, tool_id, arguments, str(root))
    done = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603
    tally(faults_injected=len(bounds))
    texts = re.split(r"^(\d+) 0\n", done.stdout, flags=re.MULTILINE)
    assert texts[1::2] == each.split(), done.stdout + done.stderr
    assert all(text.strip() for text in texts[:-1]), done.stdout
    assert BUG not in done.stdout, done.stderr


@pytest.mark.parametrize("now", [0.0, 1e12])
@pytest.mark.parametrize("tool_id", TOOLS)
def test_jump_of_the_clock_changes_nothing(
    server: Server, tool_id: str, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = called(server, tool_id)
    jumps = iter([now])
    for name, jumped in (("time", now), ("time_ns", int(now * 1e9))):
        monkeypatch.setattr(time, name, lambda jumped=jumped: next(jumps, jumped))
    assert called(server, tool_id) == whole
    tally(faults_injected=1)


@pytest.mark.check(21)
@pytest.mark.parametrize("tool_id", TOOLS)
def test_fifo_socket_or_device_holds_no_tool_up(root: Path, server: Server, tool_id: str) -> None:
    commands = root / ".claude" / "commands"
    for place in (root / "d" / "odd", commands / "odd.md", commands / "later.md"):
        os.mkfifo(place)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(commands / "s.md"))
        if os.getuid() == 0:
            os.mknod(commands / "zero.md", 0o20644, os.makedev(1, 5))
            os.mknod(root / "d" / "zero", 0o20644, os.makedev(1, 5))
        reply = called(server, tool_id)
        assert reply.ok, reply.text
        if takes_path(TOOLS[tool_id]):
            for path in ("d/odd", "d/odd/", ".claude/commands/s.md"):
                asked = server.call(tool_id, fitting(TOOLS[tool_id]) | {"path": path})
                assert BUG not in asked.text
        else:
            for name in ("odd", "s", "zero"):
                asked = server.call(tool_id, fitting(TOOLS[tool_id]) | {"command_name": name})
                assert BUG not in asked.text
    tally(faults_injected=5)


# ---------------------------------------------------------------------------- the process


def test_full_disk_for_the_log_is_no_hindrance(start: Start, root: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    options = ("--root", str(root), "--log-file", "/dev/full", "--log-level", "debug")
    client = start("serve", "--stdio", *options)
    for uid in range(500):
        client.send(b"(call %d x (" % uid)
        assert client.receive()[1] == uid
    assert client.call("list_directory", '(:path "d")')[2][":ok"] is True
    assert client.close() == 0
    assert client.log() == "", "nobody needs to know it five hundred times"
    tally(faults_injected=500)


def test_stderr_that_nobody_reads_stops_nothing(root: Path) -> None:
    # Stock EPC clients read only the socket while they wait for an answer.
    with subprocess.Popen(  # noqa: S603
        (*ISOLATED, "serve", "--stdio", "--root", str(root)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        watchdog = threading.Timer(DEADLINE, process.kill)
        watchdog.start()
        for _ in range(3_000):
            process.stdin.write(frame(b"unreadable"))
        process.stdin.write(frame(b"(call 7 ping ())"))
        process.stdin.flush()
        assert process.stdout.read(6) == b"00000d"
        watchdog.cancel()
        said = os.read(process.stderr.fileno(), 1 << 16)
        assert said.count(b"unreadable request") > 10
        process.stdin.write(frame(b"unreadable"))
        process.stdin.write(frame(b"(call 8 ping ())"))
        process.stdin.flush()
        assert process.stdout.read(13 + 6)
        assert b"lines of the log were lost" in os.read(process.stderr.fileno(), 1 << 16)
        process.stdin.close()
        assert process.wait(DEADLINE) == 0
    tally(faults_injected=3_000)


HANGING = f"""
import sys, threading, logging
sys.path[:0] = [{str(SOURCE)!r}, {str(SOURCE.parent)!r}]
from backstaff import command_line
from backstaff.tool import Result
from tests.py.servers import registry_of, saying

def dead(_, __):
    threading.Event().wait()

def holding(_, __):
    logging.getLogger().handlers[0].acquire()
    threading.Event().wait()

def spinning(_, __):
    while True:
        pass

runs = dict(dead=dead, holding=holding, spinning=spinning, fine=saying("fine"))
command_line.discover = lambda: registry_of(**runs)
command_line.main(["serve", *sys.argv[1:], "--root", "/"])
"""


@pytest.mark.parametrize("tool_id", TOOLS)
def test_tree_of_many_levels_does_not_take_all_descriptors(
    folder: Path, tool_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = plant(folder, {".claude/commands/go.md": "", "d/" * (3 * DEEPEST) + "f": ""})
    server = server_at(levels)
    server.call(tool_id, everything(tool_id))  # the process that matches patterns stays
    before, held = descriptors(), [0]

    def enter(_: Descriptors, name: str, directory: int) -> int:
        held.append(descriptors() - before)
        return real(_, name, directory)

    real = Descriptors.enter_to_list
    monkeypatch.setattr(Descriptors, "enter_to_list", enter)
    for _ in range(2):
        assert server.call(tool_id, everything(tool_id)).ok
    assert max(held) <= DEEPEST + 10
    assert descriptors() == before


@pytest.fixture
def hanging(start: Start) -> Client:
    """A server with a tool that hangs for ever, and one that also holds the log's lock.

    It does not inherit an ignored SIGHUP, which the suite has under nohup.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        return start("--stdio", command=(sys.executable, "-c", HANGING))
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_signal_ends_a_busy_server(hanging: Client, number: int) -> None:
    hanging.send(*(b"(call %d test/dead ())" % uid for uid in range(1, 9)))
    assert hanging.call("ping")[0] == "return"
    hanging.process.send_signal(number)
    assert hanging.wait() == -number
    tally(faults_injected=1)


def test_server_ends_with_its_client_though_the_log_is_held(hanging: Client) -> None:
    hanging.send(b"(call 1 test/holding ())", b"(call 2 test/fine ())")
    assert hanging.receive()[1] == 2
    assert hanging.close() == 0


def test_calls_of_stuck_workers_are_answered_and_the_client_is_asked_to_move(
    hanging: Client,
) -> None:
    hanging.send(*(b"(call %d test/dead (nil (:deadline-ms 1)))" % uid for uid in range(1, 5)))
    answers = [hanging.receive() for _ in range(4)]
    assert {uid for _, uid, _ in answers} == {1, 2, 3, 4}
    errors = [value[":error"] for _, _, value in answers]
    assert {error[":code"] for error in errors} == {"DEADLINE_EXCEEDED"}
    assert sum(":server-stuck" in error for error in errors) == 1
    _, _, value = hanging.call("test/fine", "nil")
    assert value[":error"][":code"] == "SERVER_STUCK"
    assert hanging.call("ping")[2] is True
    assert hanging.close() == 0
    tally(faults_injected=4)


def test_calls_that_go_on_for_ever_turn_no_other_call_away(hanging: Client) -> None:
    hanging.send(*(b"(call %d test/spinning (nil (:deadline-ms 1)))" % uid for uid in range(1, 6)))
    hanging.send(b"(call 6 test/fine ())")
    answers = {uid: value for _, uid, value in (hanging.receive() for _ in range(6))}
    assert answers.pop(6)[":text"] == "fine"
    for value in answers.values():
        assert value[":error"][":message"].startswith("The call took too long"), value
    assert hanging.call("test/fine", "nil")[2][":ok"] is True
    assert hanging.close() == 0
    tally(faults_injected=5)


def test_client_that_stops_reading_is_no_broken_pipe_for_the_log(hanging: Client) -> None:
    hanging.call("ping")
    assert hanging.process.stdout
    hanging.process.stdout.close()
    hanging.send(*(b"(call %d test/fine ())" % uid for uid in range(1, 50)))
    hanging.close()
    assert "Traceback" not in hanging.log()
    tally(faults_injected=1)
