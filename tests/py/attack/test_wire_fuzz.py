"""Any bytes on the wire are answered, or only that one connection is given up."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.arguments import decode
from backstaff.errors import ToolError
from backstaff.server import Server
from backstaff.streams import MAX_REQUEST_BYTES
from backstaff.wire.frame import MAX_FRAME_BYTES
from backstaff.wire.lisp import MAX_LISP_BYTES, Unreadable, read, uid_of
from backstaff.wire.stdio import EXIT_BAD_FRAME
from tests.py.attack.attackers import BUG, TOOLS
from tests.py.attack.figures import MINUTES, tally
from tests.py.attack.wire_target import AtOnce, fed
from tests.py.epc import Client, Start, frame, parsed
from tests.py.examples import examples
from tests.py.processes import DEADLINE
from tests.py.servers import server_at

pytestmark = pytest.mark.slow

fuzzing = examples(1, least=MINUTES * 300)

# Read syntax of Lisps, and texts that sexpdata, Emacs and Python may read as their own.
PIECES = (
    *(b"(", b")", b"[", b"]", b'"', b"\\", b"'", b"`", b",", b",@", b"#", b"#.", b"#s(", b"#["),
    *(b".", b"#1=", b"#1#", b"#@9 ", b"#&3", b"?a", b"?\\C-a", b";x\n", b"|", b"\n", b" ", b"\0"),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\351", b"\\u0041", b"nil", b"t", b":false", b":null"),
    *(b"()", b":", b"1e999", b"nan", b"inf", b"1_0", b"0x1", b"-0", b"9" * 30, b"1.5", b"--1"),
    *(b":path", b'"."', b":show_hidden", b"((:path . 1))", b'"{\\"path\\":1}"', b"{}", b'"[[[["'),
    *(b"call", b"return", b"methods", b"epc-error", b"7", b"list_directory", b"cancel", b"hello"),
    *(b"describe", b"workspace/tree", b":root", b'"/"', b":deadline-ms", b":json t", b"(:exclude"),
)
METHODS = [name.encode() for name in (*TOOLS, "ping", "hello", "cancel", "none")]
lisp = st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=12).map(b"".join)
spaced = st.lists(st.sampled_from(PIECES), max_size=12).map(b" ".join)
calls = st.tuples(st.integers(0, 50), st.sampled_from(METHODS), spaced | lisp).map(
    lambda parts: b"(call %d %s (%s))" % parts
)
whole = calls | lisp | spaced | st.binary(max_size=40)
openings = st.sampled_from([b"(", b"[", b"'", b"((:a ", b'"\\"'])
nested = st.tuples(openings, st.integers(1, 3_000)).map(
    lambda parts: b"(call 3 list_directory (" + parts[0] * parts[1]
)
framed = (whole | nested).map(frame)
broken = st.sampled_from([b"zzzzzz", b"-00001", b"0x0012", b"+00012", b"\xff" * 6, b"000000"])
declared = st.tuples(st.sampled_from([b"ffffff", b"100001", b"000020"]), whole).map(b"".join)
streams = st.lists(framed | broken | declared, max_size=5).map(b"".join)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server of all tools with a small project."""
    root = tmp_path_factory.mktemp("R")
    (root / "d").mkdir()
    (root / ".claude" / "commands").mkdir(parents=True)
    (root / ".claude" / "commands" / "go.md").write_text("go")
    return server_at(root)


@fuzzing
@given(frames=st.lists(framed, min_size=1, max_size=6))
def test_every_frame_is_answered_with_any_content(server: Server, frames: list[bytes]) -> None:
    outcome = fed(server, [b"".join(frames)])
    assert not outcome.given_up
    tally(inputs_fuzzed=len(frames))


@fuzzing
@given(stream=streams, size=st.integers(1, 400))
def test_any_stream_in_any_pieces_is_answered_or_given_up(
    server: Server, stream: bytes, size: int
) -> None:
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    fed(server, chunks)
    tally(inputs_fuzzed=1)


@fuzzing
@given(body=whole | nested)
def test_reader_raises_one_error_and_names_whom_to_answer(body: bytes) -> None:
    uid = uid_of(body)
    assert uid is None or str(uid).encode() in body
    with suppress(Unreadable):
        assert read(body).uid == uid
    tally(inputs_fuzzed=1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(sorted({p.name for tool in TOOLS.values() for p in tool.parameters})),
    VALUES,
    max_size=4,
)


@fuzzing
@given(given=ARGUMENTS, tool_id=st.sampled_from([*TOOLS]))
def test_decoder_takes_any_values_or_refuses_them(given: dict[str, object], tool_id: str) -> None:
    try:
        decode(TOOLS[tool_id].parameters, given)
    except ToolError as error:
        assert error.message.isprintable(), error.message  # noqa: PT017
    tally(inputs_fuzzed=1)


@fuzzing
@given(given=ARGUMENTS, context=VALUES)
def test_every_tool_answers_any_values(server: Server, given: object, context: object) -> None:
    for tool_id in TOOLS:
        reply = server.call(tool_id, given, context)
        assert reply.text
        assert BUG not in reply.text, (tool_id, given, context)
    tally(inputs_fuzzed=len(TOOLS))


HOSTILE: dict[str, bytes] = {
    "open lists": b"(" * 500_000,
    "lists": b"(" * 250_000 + b")" * 250_000,
    "quotes": b"'" * 500_000,
    "strings": b'"a" ' * 200_000,
    "an open string": b'"' + b"\\" * 800_001,
    "octal escapes": b'"' + b"\\351" * 200_000 + b'"',
    "symbols": b"a " * 60_000,
    "a symbol": b"a" * 900_000,
    "a number": b"9" * 900_000,
    "a float": b"1." + b"9" * 900_000,
    "comments": b";\n" * 400_000,
    "backslashes": b"\\a" * 400_000,
    "keywords": b":a " * 60_000,
    "JSON lists": b'"' + b"[" * 800_000 + b'"',
    "a JSON number": b'"{\\"path\\": ' + b"9" * 800_000 + b'}"',
    "JSON keys": b'"{' + b",".join(b'\\"%d\\": 1' % n for n in range(50_000)) + b'}"',
    "an alist": b"(" + b"(a . 1) " * 20_000 + b")",
    "bytes": b"\xff" * 900_000,
}


@pytest.mark.check(32)
@pytest.mark.parametrize("kind", HOSTILE)
def test_large_hostile_request_holds_nothing_up(client: Client, kind: str) -> None:
    request = b"(call 1 list_directory (" + HOSTILE[kind] + b"))"
    assert len(request) <= MAX_LISP_BYTES
    client.send(request, b"(call 2 ping ())")
    uids = {client.receive()[1] for _ in range(2)}  # each within the client's deadline
    assert uids == {1, 2}
    tally(inputs_fuzzed=1)


@pytest.mark.check(30)
@pytest.mark.parametrize("header", [b"00000x", b"-00001", b"0x0012", b"  0012", b"\0\0\0\0\0\0"])
def test_invalid_header_ends_that_server_and_the_next_works(
    start: Start, folder: Path, header: bytes
) -> None:
    first, second = (start("serve", "--stdio", "--root", str(folder)) for _ in range(2))
    first.write(frame(b"(call 1 ping ())") + header + b"(call 2 ping ())")
    assert first.receive()[1] == 1
    assert first.wait() == EXIT_BAD_FRAME
    assert second.call("ping")[2] is True


@pytest.mark.check(30)
def test_header_of_nothing_is_passed_over_and_the_largest_is_answered(client: Client) -> None:
    client.write(b"000000" * 3)
    client.send(b"(call 1 ping ())")
    assert client.receive()[1] == 1
    body = b"(call 2 list_directory (".ljust(MAX_FRAME_BYTES, b"(")
    client.send(body, b"(call 3 ping ())")
    assert [client.receive()[1] for _ in range(2)] == [2, 3]


@pytest.mark.check(32)
def test_unreadable_request_is_answered_by_uid_or_dropped_and_the_next_works(
    client: Client,
) -> None:
    addressed = (b'(call %d x ("', b"(call %d x (", b"(call %d \xff (\xff))", b"(call %d x ())(")
    for uid, body in enumerate(addressed, 10):
        client.send(body % uid, b"(call 1 ping ())")
        answers = [client.receive() for _ in range(2)]
        assert [answer[1] for answer in answers] == [uid, 1], body
        assert answers[0][0] in ("return-error", "epc-error")
    nobody = (
        b"(call (1 2) ping ())",
        b"",
        b"nil",
        b"(",
        b"(call nil ping ())",
        b"\xff",
        b"(call 7",
    )
    for body in nobody:
        client.send(body, b"(call 1 ping ())")
        assert client.receive()[1] == 1, body


@pytest.mark.parametrize("size", [MAX_REQUEST_BYTES + 1, 9 << 20, MAX_FRAME_BYTES])
def test_request_that_is_too_large_is_refused(server: Server, size: int) -> None:
    stream = frame(b"(call 1 list_directory (".ljust(size, b"x")) + frame(b"(call 2 ping ())")
    outcome = fed(server, [stream[start : start + 65536] for start in range(0, len(stream), 65536)])
    assert outcome.answers == 2


def memory(client: Client) -> int:
    """The bytes of memory that the server holds."""
    statm = Path(f"/proc/{client.process.pid}/statm")
    if not statm.exists():
        pytest.skip("needs /proc")
    return int(statm.read_text().split()[1]) * 4096


def test_server_does_not_grow_under_hostile_frames(client: Client) -> None:
    def storm() -> Iterator[int]:
        for number in range(3):
            body = b'(call %d list_directory ("' % number
            client.send(body.ljust(9 << 20, b"x"), body.ljust(MAX_LISP_BYTES, b"x"))
            yield from (client.receive()[1] for _ in range(2))

    assert set(storm()) == set(range(3))
    before = memory(client)
    for _ in range(2):
        assert set(storm()) == set(range(3))
    grown = memory(client) - before
    tally(inputs_fuzzed=18)
    assert grown < 16 << 20, f"{grown} bytes more after 60 MB of requests"


def test_client_of_tcp_that_sends_rubbish_loses_its_connection_alone(
    start: Start, folder: Path
) -> None:
    server = start("serve", "--root", str(folder))
    address = ("127.0.0.1", int(server.line()))
    for rubbish in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"(call 1 ping ())"):
        with socket.create_connection(address, DEADLINE) as connection:
            connection.sendall(rubbish)
            with suppress(ConnectionResetError):
                assert connection.recv(100) == b""
        tally(inputs_fuzzed=1)
    with socket.create_connection(address, DEADLINE) as connection:
        connection.sendall(frame(b"(call 1 ping ())"))
        assert parsed(connection.recv(100)[6:])[1] == 1
    assert server.wait() == 0


def test_the_watch_over_answers_sees_missing_ones(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = [frame(b"(call 1 ping ())")]
    assert fed(server, stream).answers == 1
    monkeypatch.setattr(AtOnce, "submit", lambda *_: True)
    with pytest.raises(AssertionError, match="never answered"):
        fed(server, [frame(b"(call 1 list_directory ())")])
    tally(lost_answers=-1)  # that one was intended
