"""Frames: how a stream of bytes is cut, and which frames are invalid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.wire.frame import (
    MAX_FRAME_BYTES,
    BadFrame,
    FrameReader,
    frame,
)

bodies = st.lists(st.binary(max_size=40), max_size=6)


def cut(*pieces: bytes) -> list[bytes]:
    """Return the frames in `pieces`, fed one after the other."""
    reader = FrameReader()
    return [whole for piece in pieces for whole in reader.feed(piece)]


def header(length: int) -> bytes:
    return f"{length:06x}".encode()


@given(bodies, st.data())
def test_frames_come_out_alike_however_the_stream_is_cut(
    sent: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(header(len(body)) + body for body in sent)
    places = data.draw(st.lists(st.integers(0, len(stream))).map(sorted))
    pieces = [stream[i:j] for i, j in zip([0, *places], [*places, len(stream)], strict=True)]
    assert cut(*pieces) == sent
    assert cut(*(bytes([byte]) for byte in stream)) == cut(stream)


@given(st.binary(max_size=1000))
def test_written_frame_is_read_back(body: bytes) -> None:
    assert cut(frame(body)) == [body + b"\n"]


def test_header_counts_the_newline() -> None:
    assert frame(b"(a)") == b"000004(a)\n"


@pytest.mark.parametrize("digits", [b"00000a", b"00000A"])
def test_hexadecimal_digits_may_be_of_either_case(digits: bytes) -> None:
    assert cut(digits + b"0123456789") == [b"0123456789"]


@pytest.mark.parametrize(
    "bad",
    [
        b"zzzzzz",
        b"-00001",
        b"+00012",
        b"0x0012",
        b"00_012",
        b" 00012",
        b"00012\n",
        b"(call ",
        b"00\x00012",
    ],
)
def test_invalid_header_ends_the_stream(bad: bytes) -> None:
    assert cut(bad[:5]) == []
    with pytest.raises(BadFrame) as caught:
        cut(bad)
    assert repr(bad[:6]) in str(caught.value)


def test_frames_before_a_bad_header_are_still_read() -> None:
    reader = FrameReader()
    frames = reader.feed(header(1) + b"a" + b"zzzzzz")
    assert next(frames) == b"a"
    with pytest.raises(BadFrame):
        next(frames)


def test_largest_frame_is_read() -> None:
    body = b"a" * MAX_FRAME_BYTES
    assert cut(header(len(body)) + body) == [body]


def test_body_that_no_frame_can_hold_is_refused() -> None:
    assert frame(b"a" * (MAX_FRAME_BYTES - 1)).startswith(b"ffffff")
    with pytest.raises(ValueError, match="16777216"):
        frame(b"a" * MAX_FRAME_BYTES)
