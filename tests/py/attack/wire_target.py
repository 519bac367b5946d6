"""The target of a fuzzer of the wire, and the conditions that always hold.

`fed` takes any bytes. The connection answers every call whose number can be read, once, in a
readable frame; or it gives the connection up. It raises nothing else and keeps nothing. A
connection that it has not given up answers the next question.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import sexpdata

from backstaff.server import Server
from backstaff.wire.connection import Connection
from backstaff.wire.frame import HEADER_BYTES, MAX_FRAME_BYTES, BadFrame
from backstaff.workers import RunningCall, Workers
from tests.py.attack.figures import tally
from tests.py.epc import frame

HEADER = re.compile(rb"[0-9a-fA-F]{6}")
ADDRESSED = re.compile(rb"\s*\(\s*([a-z-]+)\s+([0-9]{1,15})(?=[\s)])")
ANSWERS = (b"return", b"return-error", b"epc-error")
PING = 999_999_999_999_999


class AtOnce(Workers):
    """Workers that run a job while it is submitted, so that a fuzzer need not wait."""

    def submit(self, run: RunningCall) -> None:
        """Run `run`."""
        run.run()


class Outcome(NamedTuple):
    """The result of a stream: the number of answers, and True if the connection was given up."""

    answers: int
    given_up: bool


def fed(server: Server, chunks: Sequence[bytes]) -> Outcome:
    """Feed `chunks` to a connection; fails if a condition does not hold."""
    sent: list[bytes] = []
    connection = Connection(server, sent.append, AtOnce())
    stream, given_up = b"".join(chunks), False
    try:
        for chunk in chunks:
            connection.receive(chunk)
            assert kept(connection) <= MAX_FRAME_BYTES + HEADER_BYTES, "the buffer grows"
    except BadFrame:
        given_up = True
    answered = Counter(map(answer_to, bodies(b"".join(sent))))
    must, may, complete = expected(stream)
    assert answered - may - must == Counter(), f"answers to nobody: {answered - may - must}"
    tally(lost_answers=(must - answered).total())
    assert must - answered == Counter(), f"never answered: {must - answered}"
    assert given_up is (complete is None), stream[:100]
    if complete:
        sent.clear()
        connection.receive(frame(b"(call %d ping ())" % PING))
        answers = list(map(answer_to, bodies(b"".join(sent))))
        assert answers == [PING], "the next question is not answered"
    return Outcome(answered.total(), given_up)


def kept(connection: Connection) -> int:
    """Return the bytes that the connection keeps for later."""
    return len(connection._frames._buffer)  # noqa: SLF001  # internal state must not grow


def answer_to(body: bytes | None) -> int:
    """Return the uid of the answer in the `body` of a frame, which must be readable."""
    assert body is not None, "a broken frame was sent"
    kind, uid, _ = sexpdata.loads(body.decode())
    assert kind.value().encode() in ANSWERS
    number: int = uid
    return number


def expected(stream: bytes) -> tuple[Counter[int], Counter[int], bool | None]:
    """Return the uids that `stream` must and may have answered, and if it ends with a whole frame.

    The last is None for a broken frame. This is a slow and simple reader of frames of its own.
    """
    must, may = Counter[int](), Counter[int]()
    for body in bodies(stream):
        if body is None:
            return must, may, None
        if match := ADDRESSED.match(body):
            (may if match[1] in ANSWERS else must)[int(match[2])] += 1
    return must, may, ends_whole(stream)


def bodies(stream: bytes) -> Iterator[bytes | None]:
    """Yield each whole frame in `stream`, None for a broken one."""
    while len(stream) >= HEADER_BYTES:
        if not HEADER.fullmatch(stream[:HEADER_BYTES]):
            yield None
            return
        length = int(stream[:HEADER_BYTES], 16)
        rest = stream[HEADER_BYTES:]
        if len(rest) >= length:
            yield rest[:length]
        stream = rest[length:]


def ends_whole(stream: bytes) -> bool:
    """Return True if the last frame in `stream` is complete."""
    while len(stream) >= HEADER_BYTES:
        length = int(stream[:HEADER_BYTES], 16)
        if len(stream) < HEADER_BYTES + length:
            return False
        stream = stream[HEADER_BYTES + length :]
    return not stream
