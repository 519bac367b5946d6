r"""A whole file as text, piece by piece: decoded, hashed, its lines counted, and no text kept.

`\r\n` counts as `\n`, and lines end at `\n` (read 1). A lone `\r` ends no line, except in a text
without any `\n`, of an old Macintosh (search 1).
"""

import codecs
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Protocol

from backstaff.errors import DeadlineExceeded
from backstaff.reading.encoding import HEAD_BYTES, candidates, kind, suggestions
from backstaff.reading.source import PIECE_BYTES, ContentError, Origin, Source

REVISION_DIGITS = 16
"""Number of hex digits of a text's SHA-256 that name its state."""
SAMPLE_BYTES = 2 << 10
"""Bytes before and behind an undecodable one, from which likely encodings are found."""
BINARY_NOT_SUPPORTED, ENCODING_UNKNOWN = "BINARY_NOT_SUPPORTED", "ENCODING_UNKNOWN"


class LineSink(Protocol):
    """Takes the text that it wants."""

    def take(self, text: str, first: int, last: int) -> bool:
        r"""Take the next piece of the text; return whether more is wanted.

        It begins somewhere in line `first` and ends in line `last`. Its lines end with `\n` only.
        """


@dataclass(frozen=True, slots=True)
class TextFacts:
    """The facts about a whole text. `eol` is `lf`, `crlf`, `cr`, `mixed` or `none`.

    An empty text has no line; one that ends with a newline has an empty last line (read 1).
    """

    byte_length: int
    line_count: int
    encoding: str
    eol: str
    revision: str


def read(source: Source, encoding: str, taker: Callable[[], LineSink]) -> TextFacts:
    """Read `source` in the first encoding that fits; `taker` makes a new `LineSink` for each try.

    `encoding` comes from the caller, or is "". Raises `ContentError` with the codes of read 6.
    """
    failures, sure = list[tuple[str, int]](), source.origin is Origin.BUFFER
    try:
        head = b"".join(islice(source.pieces(), 1 + HEAD_BYTES // PIECE_BYTES))[:HEAD_BYTES]
        for name in candidates(head, source.coding, encoding, sure=sure):
            try:
                facts = _decoded(source, name, taker())
                # Only at the end of a text is it known to have no line feed: it is read again.
                return facts if facts.eol != "cr" else _decoded(source, name, taker(), "\r")
            except _Undecodable as error:
                failures.append((name, error.offset))
        if b"\0" not in head:
            raise _unknown(source, failures)
    except DeadlineExceeded as error:
        problem = "the time was up before its lines were counted: allow the call more time"
        raise DeadlineExceeded(f"The file was not read, as {problem}") from error
    offset, told = head.index(b"\0"), kind(head)
    looks = f"; it begins like {told}" if told else ""
    problem = f"it is binary: byte {offset} is NUL{looks}"
    raise ContentError(BINARY_NOT_SUPPORTED, problem, offset=offset, kind=told or None)


class _Undecodable(Exception):
    """The byte at `offset` cannot be decoded."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self.offset = offset


def _decoded(source: Source, name: str, taker: LineSink, end: str = "\n") -> TextFacts:
    r"""Read `source` in the encoding `name`. Its lines end at `end`; with "\n", also at `\r\n`."""
    digest, size, empty, wanted = hashlib.sha256(), 0, True, True
    crlf = carriage_returns = newlines = 0
    decoder, held = codecs.getincrementaldecoder(name)("strict"), ""
    for piece, is_last in chain(((piece, False) for piece in source.pieces()), [(b"", True)]):
        digest.update(piece)
        pending = len(decoder.getstate()[0])
        try:
            text = held + decoder.decode(piece, is_last)
        except UnicodeError as error:  # UTF-16 without a byte order mark has no `start`
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            raise _Undecodable(size - pending + start) from None
        size += len(piece)
        held = "\r" if text.endswith("\r") and not is_last else ""  # a `\n` may follow
        text = text.removesuffix(held)
        empty = empty and not text
        if "\r" in text:
            crlf += text.count("\r\n")
            carriage_returns += text.count("\r")
            text = text.replace("\r" if end == "\r" else "\r\n", "\n")
        first = newlines + 1
        newlines += text.count("\n")
        wanted = wanted and taker.take(text, first, newlines + 1)
    line_feeds = newlines - crlf if end == "\n" else 0
    ends = {"crlf": crlf, "cr": carriage_returns - crlf, "lf": line_feeds}
    found = [name_of_end for name_of_end, count in ends.items() if count]
    return TextFacts(
        byte_length=size,
        line_count=0 if empty else newlines + 1,
        encoding=name,
        eol="none" if not found else found[0] if len(found) == 1 else "mixed",
        revision=digest.hexdigest()[:REVISION_DIGITS],
    )


def _unknown(source: Source, failures: list[tuple[str, int]]) -> ContentError:
    """The error for a text in none of the encodings that `failures` name, each with an offset."""
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
