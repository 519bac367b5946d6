"""EPC frames: six hex digits of length, then so many bytes, as in `000004(ok)`. No I/O."""

import re
from collections.abc import Iterator

MAX_FRAME_BYTES = 0xFFFFFF
HEADER_BYTES = 6
_HEADER = re.compile(rb"[0-9a-fA-F]{6}")


class BadFrame(Exception):
    """The next bytes of the stream are no header, so nothing after them can be trusted."""


class FrameReader:
    """Cuts a stream of bytes into the bodies of frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add `data` and yield the bodies of the frames that it completes. Raises `BadFrame`."""
        self._buffer += data
        while len(self._buffer) >= HEADER_BYTES:
            header = bytes(self._buffer[:HEADER_BYTES])
            if not _HEADER.fullmatch(header):
                raise BadFrame(f"no frame starts with {header!r}")
            end = HEADER_BYTES + int(header, 16)
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[HEADER_BYTES:end])
            del self._buffer[:end]
            yield body


def frame(body: bytes) -> bytes:
    """Return `body` as a frame; a newline is added, and counted, as Emacs likes it."""
    length = len(body) + 1
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a frame cannot hold {length} bytes")
    return b"%06x%b\n" % (length, body)
