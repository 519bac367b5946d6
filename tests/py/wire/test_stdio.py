"""The server as a process that speaks over stdin and stdout."""

import os
import sys
from pathlib import Path

import pytest

from backstaff.wire.stdio import EXIT_BAD_FRAME
from tests.py.epc import ISOLATED, MAIN, SOURCE, Client, Start, frame
from tests.py.trees import Plant

LARGE = 2 << 20

WITH_MADE_UP_TOOLS = f"""
import gc, os, sys, threading
gc.disable()  # as __main__ does
sys.path[:0] = [{str(SOURCE)!r}, {str(SOURCE.parent)!r}]
from backstaff import command_line
from backstaff.tool import Result
from tests.py.servers import registry_of

letters = iter("abcdefghijklmnop")

def large(_, __):
    return Result(text=next(letters) * {LARGE}, data={{}})

def hang(_, __):
    thread = threading.Thread(target=threading.Event().wait, daemon=False)
    thread.start()
    thread.join()

def noisy(_, __):
    print("x" * 100_000)
    sys.stdout.write("y" * 100_000)
    os.write(1, b"z" * 100_000)
    sys.stdout.flush()
    os.system("echo from a child")
    return Result(text="quiet", data={{}})

def collected(_, __):
    return Result(text=str(gc.isenabled()), data={{}})

command_line.discover = lambda: registry_of(
    collected=collected, hang=hang, large=large, noisy=noisy
)
command_line.main(["serve", "--stdio", "--root", "/"])
"""


@pytest.fixture
def made_up(start: Start) -> Client:
    """A client of a server with tools that hang, or print to stdout."""
    return start(command=(sys.executable, "-c", WITH_MADE_UP_TOOLS))


def test_server_answers_and_ends_with_its_client(client: Client) -> None:
    assert client.call("ping") == ("return", 1, True)
    assert client.close() == 0
    assert client.rest() == b""
    assert client.log() == ""


def test_server_collects_garbage_though_its_start_did_not(made_up: Client) -> None:
    assert made_up.call("test/collected")[2][":text"] == "True"


def test_stdout_carries_frames_and_nothing_else(client: Client) -> None:
    client.send(*(f"(call {uid} ping ())".encode() for uid in range(100)))
    answers = {client.receive() for _ in range(100)}
    assert answers == {("return", uid, True) for uid in range(100)}
    client.close()
    assert client.rest() == b""


def test_server_ends_while_tools_hang(made_up: Client) -> None:
    made_up.send(*(f"(call {uid} test/hang ())".encode() for uid in range(1, 20)))
    assert made_up.call("ping")[0] == "return"
    assert made_up.close() == 0


@pytest.mark.check(31)
def test_server_ends_with_half_a_frame(client: Client) -> None:
    client.call("ping")
    client.write(b"0000ff(call 2 ping")
    assert client.close() == 0


def test_server_ends_when_nobody_reads_its_answers(client: Client) -> None:
    client.call("ping")
    assert client.process.stdout
    client.process.stdout.close()
    client.send(b"(call 2 ping ())")
    assert client.wait() == 0


@pytest.mark.check(39)
def test_stray_output_cannot_break_a_frame(made_up: Client) -> None:
    for _ in range(3):
        _, _, value = made_up.call("test/noisy")
        assert value[":text"] == "quiet"
    made_up.close()
    assert made_up.rest() == b""
    for noise in ("x" * 100_000, "y" * 100_000, "z" * 100_000, "from a child"):
        assert noise in made_up.log()


@pytest.mark.check(30)
@pytest.mark.parametrize("header", [b"zzzzzz", b"-00001", b"0x0012", b"+00012", b"00_012"])
def test_bad_header_ends_the_server(client: Client, header: bytes) -> None:
    client.write(frame(b"(call 1 ping ())") + header)
    assert client.receive() == ("return", 1, True)
    assert client.wait() == EXIT_BAD_FRAME == 76
    assert client.rest() == b""
    assert repr(header) in client.log()
    assert "Traceback" not in client.log()


@pytest.mark.check(34)
def test_large_answers_at_the_same_time_stay_whole(made_up: Client) -> None:
    uids = range(1, 17)
    made_up.send(*(f"(call {uid} test/large ())".encode() for uid in uids))
    answers = [made_up.receive() for _ in uids]
    assert {uid for _, uid, _ in answers} == set(uids)
    texts = [value[":text"] for _, _, value in answers]
    assert {len(text) for text in texts} == {LARGE}
    assert all(text == text[0] * LARGE for text in texts), "answers were mixed"
    assert len({text[0] for text in texts}) == len(uids)


@pytest.mark.check(29)
def test_one_undecodable_name_among_many_is_no_obstacle(tree: Plant, start: Start) -> None:
    root = tree({f"f{number:04}": "" for number in range(1_200)})
    (root / os.fsdecode(b"clich\xe9.txt")).touch()
    client = start("serve", "--stdio", "--root", str(root))
    _, _, value = client.call("list_directory", '(:path ".")')
    names = [entry[":name"] for entry in value[":data"][":entries"]]
    assert len(names) == 1_201
    assert "clich\ufffd.txt" in names
    assert '[FILE] "clich\\udce9.txt"' in value[":text"]


def test_oversize_request_is_answered_and_skipped(client: Client) -> None:
    client.send(b"(call 7 ping " + b"x" * (2 << 20) + b")", b"(call 8 ping ())")
    kind, uid, text = client.receive()
    assert (kind, uid) == ("return-error", 7)
    assert "2097166 bytes" in text
    assert client.receive() == ("return", 8, True)


@pytest.mark.check(43)
def test_nothing_listens(client: Client) -> None:
    client.call("ping")
    folder = Path(f"/proc/{client.process.pid}/fd")
    if not folder.exists():
        pytest.skip("needs /proc")
    opened = [str(path.readlink()) for path in folder.iterdir()]
    assert any(target.startswith("pipe:") for target in opened)
    assert not any(target.startswith("socket:") for target in opened)


TRAP = "from pathlib import Path\nPath(__file__ + '.imported').touch()\n"


@pytest.mark.check(44)
def test_code_of_the_project_is_never_imported(tree: Plant, start: Start) -> None:
    modules = ("sexpdata", "json", "sitecustomize", "usercustomize", "backstaff", "argparse")
    root = tree({f"{name}.py": TRAP for name in modules})
    environment = {**os.environ, "PYTHONPATH": f".:{root}"}
    traps = start(command=(sys.executable, "-c", "import json"), cwd=root, env=environment)
    traps.wait()
    sprung = set(root.glob("*.imported"))
    assert {path.name for path in sprung} >= {"json.py.imported"}, "the traps are none"
    for path in sprung:
        path.unlink()

    client = start("serve", "--stdio", "--root", ".", cwd=root, env=environment)
    _, _, value = client.call("list_directory", '(:path ".")')
    assert value[":data"][":path"] == f"{root}/"
    assert client.close() == 0
    assert list(root.glob("*.imported")) == []


def test_names_are_bytes_under_any_locale(tree: Plant, start: Start) -> None:
    environment = {**os.environ, "LC_ALL": "C"}
    ascii_python = (sys.executable, "-X", "utf8=0")
    told = start(
        command=(*ascii_python, "-c", "import sys; print(sys.getfilesystemencoding())"),
        env=environment,
    )
    if told.line() == "utf-8\n":
        pytest.skip("needs a locale without UTF-8")
    root = tree({})
    for name in (b"clich\xe9", "日本".encode()):
        (root / os.fsdecode(name)).write_bytes(name)
    arguments = ("serve", "--stdio", "--root", str(root))
    client = start(*arguments, command=(*ascii_python, "-I", str(MAIN)), env=environment)
    assert client.call("hello", "(:escapes t)")[0] == "return"
    client.send('(call 2 get_file_info ((:path "日本")))'.encode())
    assert rb'/R/\u65e5\u672c" :type :file :size 6 ' in client.receive_bytes()
    client.send(rb'(call 3 get_file_info ((:path "clich\351")))')
    assert b'/R/clich\xe9" :type :file :size 6 ' in client.receive_bytes()


def test_root_defaults_to_the_working_directory(tree: Plant, start: Start) -> None:
    root = tree({"f": ""})
    client = start("serve", "--stdio", cwd=root)
    assert client.call("hello", "nil")[2][":root"] == f"{root}/"


def test_log_goes_to_a_file_when_asked(tree: Plant, start: Start) -> None:
    folder = tree({})
    log = folder / "log"
    options = ("--log-file", str(log), "--log-level", "info")
    client = start("serve", "--stdio", "--root", str(folder), *options, command=ISOLATED)
    client.send(b"(return 1 nil)", b"(call 2 ping ())")
    client.receive()
    client.close()
    assert "never asked" in log.read_text()
    assert client.log() == ""
