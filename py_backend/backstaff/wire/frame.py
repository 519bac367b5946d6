"""EPC frames: six hex digits of length, then so many bytes, as in `000004(ok)`. No I/O."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_FRAME_BYTES = 0xFFFFFF
"""The largest length that six hex digits can write."""
MAX_REQUEST_BYTES = 8 << 20
"""The largest request: 4 MiB of unsaved text take 5.6 in Base64."""
HEADER_BYTES = 6
KEPT_BYTES = 256
"""Number of bytes kept of a request that is too large: its uid is among them."""

_HEADER = re.compile(rb"[0-9a-fA-F]{6}")


class BadFrame(Exception):
    """The next bytes of the stream are no header, so nothing after them can be trusted."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes of one message. `excess` is the length of one too large to be kept, else 0."""

    body: bytes
    excess: int = 0


@dataclass(slots=True)
class FrameReader:
    """Cuts a stream of bytes into frames."""

    _buffer: bytearray = field(default_factory=bytearray)
    _skipping: int = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add `data` and yield the frames that it completes. Raises `BadFrame`."""
        self._buffer += data
        while True:
            skipped = min(self._skipping, len(self._buffer))
            del self._buffer[:skipped]
            self._skipping -= skipped
            if self._skipping or len(self._buffer) < HEADER_BYTES:
                return
            header = bytes(self._buffer[:HEADER_BYTES])
            if not _HEADER.fullmatch(header):
                raise BadFrame(f"no frame starts with {header!r}")
            length = int(header, 16)
            too_large = length > MAX_REQUEST_BYTES
            end = HEADER_BYTES + (KEPT_BYTES if too_large else length)
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[HEADER_BYTES:end])
            # The rest of a request that is too large may not have come yet.
            self._skipping = HEADER_BYTES + length
            yield Frame(body, length if too_large else 0)


def frame(body: bytes) -> bytes:
    """Return `body` as a frame; a newline is added, and counted, as Emacs likes it."""
    length = len(body) + 1
    if length > MAX_FRAME_BYTES:
        raise ValueError(f"a frame cannot hold {length} bytes")
    return b"%06x%b\n" % (length, body)
