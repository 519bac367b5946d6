"""EPC frames: six hex digits that tell a length in bytes, then so many bytes. No I/O."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_FRAME_BYTES = 0xFFFFFF
"""What six hex digits can tell."""
MAX_REQUEST_BYTES = 1 << 20
HEADER_BYTES = 6
KEPT_BYTES = 256
"""What is kept of a request that is too large: enough to read whom to answer."""

_HEADER = re.compile(rb"[0-9a-fA-F]{6}")


class BadFrame(Exception):
    """The stream cannot be trusted any more: its next bytes are no header."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message's bytes. `excess` tells how long it was if it was too large to be kept."""

    body: bytes
    excess: int = 0


@dataclass(slots=True)
class FrameReader:
    """Cuts a stream of bytes into frames."""

    _buffer: bytearray = field(default_factory=bytearray)
    _skipping: int = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take in DATA and yield the frames that are whole now. Raises `BadFrame`."""
        self._buffer += data
        while True:
            self._skip()
            if self._skipping or len(self._buffer) < HEADER_BYTES:
                return
            length = self._length()
            if length > MAX_REQUEST_BYTES:
                if len(self._buffer) < HEADER_BYTES + KEPT_BYTES:
                    return
                self._skipping = HEADER_BYTES + length
                yield Frame(bytes(self._buffer[HEADER_BYTES : HEADER_BYTES + KEPT_BYTES]), length)
            elif len(self._buffer) < HEADER_BYTES + length:
                return
            else:
                body = bytes(self._buffer[HEADER_BYTES : HEADER_BYTES + length])
                del self._buffer[: HEADER_BYTES + length]
                yield Frame(body)

    def _skip(self) -> None:
        skipped = min(self._skipping, len(self._buffer))
        if skipped:
            del self._buffer[:skipped]
            self._skipping -= skipped

    def _length(self) -> int:
        header = bytes(self._buffer[:HEADER_BYTES])
        if not _HEADER.fullmatch(header):
            raise BadFrame(f"no frame starts with {header!r}")
        return int(header, 16)


def frame(body: bytes) -> bytes:
    """BODY as a frame; a newline is added, and counted, as Emacs likes it."""
    length = len(body) + 1
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a frame cannot hold {length} bytes")
    return b"%06x%b\n" % (length, body)
