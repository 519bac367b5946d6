r"""A whole file as text, piece by piece: decoded, hashed, its lines counted, and no text kept.

`\r\n` counts as `\n`, and lines end at `\n` (read 1). A lone `\r` ends no line, except in a text
without any `\n`, of an old Macintosh (search 1).

The counts of a large file, and places to begin at within it, are kept until the stamp of the file
changes. So its second page takes milliseconds, like a page of a small file.
"""

import codecs
import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from operator import attrgetter
from typing import Protocol

from backstaff.cache import LRUCache
from backstaff.errors import DeadlineExceeded
from backstaff.project.stamp import UNSETTLED, Stamp
from backstaff.reading.encoding import HEAD_BYTES, candidates, kind, suggestions
from backstaff.reading.source import ContentError, Origin, Source

REVISION_DIGITS = 16
SAMPLE_BYTES = 2 << 10
"""Bytes before and behind an undecodable one, from which likely encodings are found."""
BINARY_NOT_SUPPORTED, ENCODING_UNKNOWN = "BINARY_NOT_SUPPORTED", "ENCODING_UNKNOWN"
MARK_BYTES = 1 << 20
"""Number of bytes between two places to begin at. A smaller file has none."""
MAX_MARKS = 4096
"""Maximum number of places for all files together: four files of a gibibyte, some 700 KiB."""


class LineSink(Protocol):
    """Takes the text that it wants, from the line `start` on."""

    start: int

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


@dataclass(frozen=True, slots=True)
class Checkpoint:
    r"""A place to begin reading at: `offset` bytes are before it, and it is in the line `number`.

    `state` is the decoder's there. `held` is a `\r` that was decoded but not yet given out, or "".
    """

    offset: int
    number: int
    state: tuple[bytes, int]
    held: str


BEGINNING = Checkpoint(0, 1, (b"", 0), "")


@dataclass(frozen=True, slots=True)
class CachedText:
    """The facts about a text, and places within it, in their order."""

    whole: TextFacts
    marks: list[Checkpoint]


_KNOWN: LRUCache[tuple[Stamp, str, str], CachedText] = LRUCache(
    MAX_MARKS, lambda known: len(known.marks)
)


def read(source: Source, encoding: str, taker: Callable[[], LineSink]) -> TextFacts:
    """Read `source` in the first encoding that fits; `taker` makes a new `LineSink` for each try.

    `encoding` comes from the caller, or is "". Raises `ContentError` with the codes of read 6.
    """
    key = (source.stamp(), source.coding, encoding)
    settled = key[0] != UNSETTLED
    try:
        known = _KNOWN.get(key) if settled else None
        if not known or not _taken(source, known, taker()) or source.stamp() != key[0]:
            known = _read(source, encoding, taker)
            if settled and len(known.marks) > 1 and source.stamp() == key[0]:
                _KNOWN.put(key, known)
    except DeadlineExceeded as error:
        problem = "the time was up before its lines were counted: allow the call more time"
        raise DeadlineExceeded(f"The file was not read, as {problem}") from error
    return known.whole


def _taken(source: Source, known: CachedText, taker: LineSink) -> bool:
    """Let `taker` take its lines from the mark before them on.

    Return False if the file cannot be decoded any more, because it has changed.
    """
    before = bisect_left(known.marks, taker.start, key=attrgetter("number")) - 1
    mark = known.marks[max(0, before)]
    number = mark.number
    try:
        end = "\r" if known.whole.eol == "cr" else "\n"
        for text, after in _texts(source.pieces(mark.offset), known.whole.encoding, mark, end):
            if not taker.take(_with_newlines(text, end), number, after.number):
                break
            number = after.number
    except _Undecodable:
        return False
    return True


def _read(source: Source, encoding: str, taker: Callable[[], LineSink]) -> CachedText:
    head = b"".join(islice(source.pieces(0), 1))[:HEAD_BYTES]
    failures = []
    sure = source.origin is Origin.BUFFER
    for name in candidates(head, source.coding, encoding, sure=sure):
        try:
            known = _decoded(source, name, taker())
            # Only at the end of a text is it known to have no line feed, so it is read again.
            return known if known.whole.eol != "cr" else _decoded(source, name, taker(), "\r")
        except _Undecodable as error:
            failures.append((name, error.offset))
    if b"\0" in head:
        offset, told = head.index(b"\0"), kind(head)
        looks = f"; it begins like {told}" if told else ""
        problem = f"it is binary: byte {offset} is NUL{looks}"
        raise ContentError(BINARY_NOT_SUPPORTED, problem, offset=offset, kind=told or None)
    raise _unknown(source, failures)


class _Undecodable(Exception):
    """The byte at `offset` cannot be decoded."""

    def __init__(self, offset: int) -> None:
        super().__init__()
        self.offset = offset


def _with_newlines(text: str, end: str) -> str:
    r"""Return `text` with `\n` at the end of each line; `end` is "\r" or "\n"."""
    return text.replace("\r", "\n") if end == "\r" else text.replace("\r\n", "\n")


def _decoded(source: Source, name: str, taker: LineSink, end: str = "\n") -> CachedText:
    digest, size, empty, wanted = hashlib.sha256(), 0, True, True
    crlf = carriage_returns = 0
    marks = [BEGINNING]

    def hashed() -> Iterator[bytes]:
        nonlocal size
        for piece in source.pieces(0):
            digest.update(piece)
            size += len(piece)
            yield piece

    number = BEGINNING.number
    for text, after in _texts(hashed(), name, BEGINNING, end):
        empty = empty and not text
        if "\r" in text:
            crlf += text.count("\r\n")
            carriage_returns += text.count("\r")
            text = _with_newlines(text, end)  # noqa: PLW2901  # the same text
        wanted = wanted and taker.take(text, number, after.number)
        number = after.number
        if after.offset >= marks[-1].offset + MARK_BYTES:
            marks.append(after)
    newlines = number - BEGINNING.number
    line_feeds = newlines - crlf if end == "\n" else 0
    ends = {"crlf": crlf, "cr": carriage_returns - crlf, "lf": line_feeds}
    found = [end for end, count in ends.items() if count]
    whole = TextFacts(
        byte_length=size,
        line_count=0 if empty else newlines + 1,
        encoding=name,
        eol="none" if not found else found[0] if len(found) == 1 else "mixed",
        revision=digest.hexdigest()[:REVISION_DIGITS],
    )
    return CachedText(whole, marks)


def _texts(
    pieces: Iterable[bytes], name: str, mark: Checkpoint, end: str
) -> Iterator[tuple[str, Checkpoint]]:
    r"""Yield the text of each of `pieces`, which begin at `mark`, and the mark at its end.

    Lines end at `end`. A `\r\n` is never split between two texts.
    """
    decoder = codecs.getincrementaldecoder(name)("strict")
    if mark is not BEGINNING:
        decoder.setstate(mark.state)
    last = [(b"", True)]
    for piece, final in chain(((piece, False) for piece in pieces), last):
        pending = len(decoder.getstate()[0])
        try:
            text = mark.held + decoder.decode(piece, final)
        except UnicodeDecodeError as error:
            raise _Undecodable(mark.offset - pending + error.start) from None
        held = "\r" if text.endswith("\r") and not final else ""  # a `\n` may follow
        text = text.removesuffix(held)
        mark = Checkpoint(
            mark.offset + len(piece), mark.number + text.count(end), decoder.getstate(), held
        )
        yield text, mark


def _unknown(source: Source, failures: list[tuple[str, int]]) -> ContentError:
    """The error for a text in none of the encodings that `failures` name, each with an offset."""
    offset = max(offset for name, offset in failures if name.startswith("utf-8"))
    start, position, sample = max(0, offset - SAMPLE_BYTES), 0, b""
    for piece in source.pieces(0):
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
