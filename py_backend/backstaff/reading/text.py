r"""A whole file as text, piece by piece: decoded, hashed, its lines counted, and none of it kept.

`\r\n` counts as `\n`, and lines end at `\n` (read 1). A lone `\r` ends no line.
"""

import codecs
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from backstaff.errors import DeadlineExceeded
from backstaff.reading.encoding import HEAD_BYTES, candidates, kind, suggestions
from backstaff.reading.source import ContentError, Source

REVISION_DIGITS = 16
SAMPLE_BYTES = 2 << 10
"""Bytes before and behind an undecodable one that tell the likely encodings."""
BINARY_NOT_SUPPORTED, ENCODING_UNKNOWN = "BINARY_NOT_SUPPORTED", "ENCODING_UNKNOWN"

Take = Callable[[str, int], None]
"""Takes the next piece of a text, whose lines end with `\\n` only, and how many end in it."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What there is to know of a whole text. `eol` is `lf`, `crlf`, `cr`, `mixed` or `none`.

    An empty text has no line; one that ends with a newline has an empty last line (read 1).
    """

    byte_length: int
    line_count: int
    encoding: str
    eol: str
    revision: str


def read(source: Source, encoding: str, taker: Callable[[], Take]) -> Whole:
    """Read SOURCE in the first encoding that fits; TAKER makes a new `Take` for each try.

    ENCODING is what the caller says, or "". Raises `ContentError` with the codes of read 6.
    """
    try:
        return _read(source, encoding, taker)
    except DeadlineExceeded as error:
        problem = "the time was up before its lines were counted: allow the call more time"
        raise DeadlineExceeded(f"The file was not read, as {problem}") from error


def _read(source: Source, encoding: str, taker: Callable[[], Take]) -> Whole:
    head = b"".join(islice(source.pieces(), 1))[:HEAD_BYTES]
    failures = []
    for name in candidates(head, source.coding, encoding):
        try:
            return _decoded(source, name, taker())
        except _Undecodable as error:
            failures.append((name, error.offset))
    if b"\0" in head:
        raise _binary(head)
    raise _unknown(source, failures)


class _Undecodable(Exception):
    """The byte at `offset` is not in the encoding."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self.offset = offset


def _decoded(source: Source, name: str, take: Take) -> Whole:
    digest, size, empty = hashlib.sha256(), 0, True
    ends = {"crlf": 0, "cr": 0, "lf": 0}
    held = ""  # a `\r` at the end of a piece: a `\n` may follow
    decoder = codecs.getincrementaldecoder(name)("strict")
    for piece, final in _with_last(source.pieces()):
        digest.update(piece)
        before = size - len(decoder.getstate()[0])
        size += len(piece)
        try:
            text = held + decoder.decode(piece, final)
        except UnicodeDecodeError as error:
            raise _Undecodable(before + error.start) from None
        held = "\r" if text.endswith("\r") and not final else ""
        if held:
            text = text[:-1]
        empty = empty and not text
        if "\r" in text:
            crlf = text.count("\r\n")
            ends["crlf"] += crlf
            ends["cr"] += text.count("\r") - crlf
            text = text.replace("\r\n", "\n")
            ends["lf"] -= crlf
        newlines = text.count("\n")
        ends["lf"] += newlines
        take(text, newlines)
    found = [end for end, count in ends.items() if count]
    return Whole(
        byte_length=size,
        line_count=0 if empty else ends["lf"] + ends["crlf"] + 1,
        encoding=name,
        eol="none" if not found else found[0] if len(found) == 1 else "mixed",
        revision=digest.hexdigest()[:REVISION_DIGITS],
    )


def _with_last(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each of PIECES, then an empty one that is the last."""
    for piece in pieces:
        yield piece, False
    yield b"", True


def _binary(head: bytes) -> ContentError:
    offset, told = head.index(b"\0"), kind(head)
    looks = f"; it begins like {told}" if told else ""
    problem = f"it is binary: byte {offset} is NUL{looks}"
    return ContentError(BINARY_NOT_SUPPORTED, problem, offset=offset, kind=told or None)


def _unknown(source: Source, failures: list[tuple[str, int]]) -> ContentError:
    """The error for a text in none of the encodings that FAILURES name, each with an offset."""
    offset = max(offset for name, offset in failures if name.startswith("utf-8"))
    start, position, sample = max(0, offset - SAMPLE_BYTES), 0, b""
    for piece in source.pieces():
        sample += piece[max(0, start - position) : max(0, offset + SAMPLE_BYTES - position)]
        position += len(piece)
        if position > offset + SAMPLE_BYTES:
            break
    likely = suggestions(sample)
    tried = "".join(
        f" nor {name} (byte {at})" for name, at in failures if not name.startswith("utf-8")
    )
    problem = f"its encoding is not known: it is not UTF-8 (byte {offset}){tried}"
    return ContentError(ENCODING_UNKNOWN, problem, offset=offset, suggestions=likely)
